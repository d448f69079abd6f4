//! Reports of confirmed warnings: the pairs that they mean, and who warned.

use crate::command::witness;
use crate::recorded::{compile, folder, record, reports};
use serde_json::Value;
use std::fs;

#[test]
fn every_form_says_who_warned() {
    let folder = folder("exports");
    let trace = record(&folder, "wrong_lock");
    let report = reports().join("wrong_lock.helgrind").display().to_string();
    fs::write(folder.join("more"), "nowhere.c:1 wrong_lock.c:28\n").expect("a list");
    let said = witness(
        &folder,
        &[
            "confirm",
            &trace,
            &report,
            "more",
            "--report",
            "sarif=r.sarif",
            "--report",
            "junit=r.xml",
            "--report",
            "html=r.html",
            "--report",
            "json=r.json",
            "--report",
            "github=r.txt",
        ],
    );
    assert_eq!(said.status, 66, "{}", said.stderr);
    assert!(
        said.stdout
            .contains("SUMMARY: witness: 2 warnings: 1 witnessed, 0 refuted, 1 unknown"),
        "{}",
        said.stdout
    );
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let text = |result: &Value| result["message"]["text"].as_str().expect("a text").to_owned();
    assert!(
        text(&results[0]).contains("Warned of by Helgrind at "),
        "{}",
        results[0]
    );
    let open = results
        .iter()
        .find(|result| result["kind"] == "open")
        .expect("the warning that nothing answers");
    assert!(text(open).contains("not in this trace: access: nowhere.c:1"), "{open}");
    assert!(read("r.xml").contains("<skipped"), "what is unknown is skipped");
    assert!(read("r.html").contains("warned of by Helgrind at ") && read("r.html").contains("nowhere.c:1"));
    assert!(read("r.txt").starts_with("::error file="), "{}", read("r.txt"));
    let json: Value = serde_json::from_str(&read("r.json")).expect("JSON");
    assert_eq!(json["schema"], "witness-confirm/1");

    fs::write(folder.join("supp"), "race:holds_a\n").expect("suppressions");
    let quiet = witness(&folder, &["confirm", &trace, &report, "--suppressions", "supp"]).expect(0);
    assert!(
        quiet.contains("SUMMARY: witness: 0 warnings: 0 witnessed, 0 refuted, 0 unknown, 1 suppressed"),
        "{quiet}"
    );
}

#[test]
fn the_same_functions_race_once_for_each_variable() {
    let folder = folder("exports-variables");
    let trace = record(&folder, "wrong_lock");
    let results = witness(&folder, &["analyze", &trace, "--json"]).expect(66);
    let results: Value = serde_json::from_str(&results).expect("results");
    let races = results["races"].as_array().expect("races");
    assert_eq!(races.len(), 2, "`plain` and `nested`: {races:?}");
    assert_ne!(races[0]["id"], races[1]["id"]);
}

#[test]
fn run_writes_reports_too() {
    let folder = folder("exports-run");
    compile(&folder, "wrong_lock", &[]);
    let arguments = [
        "run",
        "--no-live",
        "-o",
        "t.bin",
        "--report",
        "json=r.json",
        "--",
        "./wrong_lock",
    ];
    witness(&folder, &arguments).expect(66);
    let known = fs::read_to_string(folder.join("r.json")).expect("results");
    assert!(known.contains("witness-results/2"));
    let again = ["run", "-o", "t.bin", "--baseline", "r.json", "--", "./wrong_lock"];
    let said = witness(&folder, &again).expect(0);
    assert!(said.contains("2 in the baseline") && !said.contains("Live:"), "{said}");
}

#[test]
fn a_race_that_was_warned_of_in_a_loop_does_not_fill_the_reports() {
    let folder = folder("exports-loop");
    let trace = record(&folder, "wrong_lock");
    let equal = "wrong_lock.c:19 wrong_lock.c:28\n".repeat(5_000);
    let elsewhere: String = (0..5_000).map(|line| format!("b.c:{} b.c:7\n", line + 1)).collect();
    fs::write(folder.join("list"), equal + &elsewhere).expect("a list");
    let arguments = [
        "confirm",
        &trace,
        "list",
        "--report",
        "text=r.txt",
        "--report",
        "sarif=r.sarif",
    ];
    witness(&folder, &[&arguments[..], &["--report", "html=r.html"]].concat()).expect(66);
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a report");
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    let message = sarif["runs"][0]["results"][0]["message"]["text"]
        .as_str()
        .expect("a text");
    assert!(message.contains("list at list:10, 4990 more."), "{message}");
    assert!(read("r.txt").contains(", list:21, and 4979 more\n"));
    let page = read("r.html");
    assert!(page.contains("3000 more pairs are left out"), "{}", page.len());
}

#[test]
fn answers_are_a_baseline_for_later_ones() {
    let folder = folder("exports-baseline");
    let ask = |trace: &str, report: &str, baseline: &str| {
        let report = reports().join(report).display().to_string();
        let json = format!("json={trace}.json");
        let mut arguments = vec!["confirm", trace, &report, "--report", &json];
        arguments.extend(
            (!baseline.is_empty())
                .then_some(["--baseline", baseline])
                .into_iter()
                .flatten(),
        );
        witness(&folder, &arguments)
    };
    let trace = record(&folder, "wrong_lock");
    ask(&trace, "wrong_lock.gcc.tsan", "").expect(66);
    let quiet = ask(&trace, "wrong_lock.helgrind", "wrong_lock.bin.json").expect(0);
    assert!(quiet.contains("0 unknown, 1 in the baseline"), "{quiet}");
    // And for a whole analysis, of the other race in it.
    ask(&trace, "wrong_lock.gcc.tsan", "").expect(66);
    let rest = witness(&folder, &["analyze", &trace, "--baseline", "wrong_lock.bin.json"]).expect(66);
    assert!(
        rest.contains("1 data race witnessed") && rest.contains("1 in the baseline"),
        "{rest}"
    );
    // A race beside a refuted warning is known as well.
    let trace = record(&folder, "bank_account");
    ask(&trace, "bank_account.clang.tsan", "").expect(66);
    ask(&trace, "bank_account.clang.tsan", "bank_account.bin.json").expect(0);
}
