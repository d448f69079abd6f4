//! Atomicity violations in whole programs, through the command line: those of `programs` that have one, and their
//! harmless twins.
//!
//! Each is recorded under several policies. From the runs in which the two accesses that belong together came one after
//! the other, the one between them is predicted at the marked lines, accepted by the checker, and shown live. None is
//! predicted of the twins.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

use command::{run, witness};
use program::{POLICIES, Program, place};
use serde_json::Value;

/// The programs in which something can come between, and their harmless twins.
const PROGRAMS: [(&str, &str); 8] = [
    ("bank", "bank_held"),
    ("registry", "registry_gate"),
    ("double_fetch", "double_fetch_once"),
    ("append", "append_held"),
    ("lazy", "lazy_checked"),
    ("counter", "counter_retried"),
    ("iterate", "iterate_gate"),
    ("reference", "reference_counted"),
];

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("atomicity", test, name)
}

/// An analysis of the recorded run for atomicity violations.
fn analyzed(program: &Program) -> (Value, i32) {
    let outcome = program.witness(&["analyze", "trace.bin", "--find", "atomicity", "--json"]);
    (serde_json::from_str(&outcome.stdout).unwrap(), outcome.status)
}

/// The places of the witnessed ones.
fn witnessed(results: &Value) -> Vec<[String; 3]> {
    let all = results["atomicity_violations"].as_array();
    let witnessed = all.into_iter().flatten().filter(|row| row["verdict"] == "witnessed");
    witnessed
        .map(|row| ["first", "between", "second"].map(|which| place(&row[which])))
        .collect()
}

#[test]
fn atomicity_violations_are_predicted_and_shown_live() {
    for (name, _) in PROGRAMS {
        let program = compiled("found", name);
        let expected = ["first", "between", "second"].map(|mark| program.line(mark));
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = analyzed(&program);
            let found = witnessed(&results);
            if !found.contains(&expected) {
                // What would come between came first, or came between then and there.
                assert_eq!((found, status), (Vec::new(), 0), "{name} {policy:?}");
                continue;
            }
            hits += 1;
            assert_eq!(status, 66, "{name} {policy:?}");
            for number in 1..=found.len() {
                program.check(number);
            }
            let live = program.live(&[]);
            assert_eq!(live.status, 66, "{name} {policy:?}: {}", live.stdout);
            let confirmed = live.stdout.matches("CONFIRMED: witness ").count();
            assert_eq!(confirmed, found.len(), "{name} {policy:?}: {}", live.stdout);
        }
        assert!(hits > 0, "{name}: {expected:?} was found in no run");
    }
}

#[test]
fn their_twins_have_none() {
    for (_, twin) in PROGRAMS {
        let program = compiled("twins", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = analyzed(&program);
            assert_eq!((witnessed(&results), status), (Vec::new(), 0), "{twin} {policy:?}");
        }
    }
}

#[test]
fn a_check_that_is_made_again_is_asked_about_if_any_region_is() {
    let program = compiled("again", "lazy_checked");
    program.record(POLICIES[0], &[]);
    let any = program.witness(&["analyze", "trace.bin", "--find", "atomicity", "--regions", "any"]);
    assert_eq!(any.status, 66, "{}", any.stdout);
    assert!(any.stdout.contains("1 atomicity violation witnessed"), "{}", any.stdout);
}

#[test]
fn nobody_looks_for_them_who_is_not_asked() {
    let program = compiled("unasked", "bank");
    program.record(POLICIES[0], &[]);
    let report = program.witness(&["analyze", "trace.bin"]);
    assert_eq!(report.status, 0, "{}", report.stdout);
    assert!(!report.stdout.contains("atomicity violation"), "{}", report.stdout);
}

#[test]
fn reports_have_the_three_accesses_and_the_region() {
    let program = compiled("reports", "bank");
    program.record(POLICIES[0], &[]);
    let of = |form: &str| {
        let report = program.witness(&["analyze", "trace.bin", "--find", "atomicity", "--report", form]);
        assert_eq!(report.status, 66, "{form}: {}", report.stdout);
        report.stdout
    };
    let text = of("text");
    for line in [
        "WARNING: witness: atomicity violation (witnessed)",
        "  Read of size 4 at ",
        " by thread 2, after that:",
        " by thread 1, after that:",
        "  Thread 1 gives mutex lock back and takes it again in between\n",
        "── atomicity violation: event ",
        "SUMMARY: witness: 1 atomicity violation witnessed\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (results, _) = analyzed(&program);
    let row = &results["atomicity_violations"][0];
    assert_eq!(row["kind"], "atomicity-violation");
    assert_eq!(
        (row["region"].as_str(), row["lock"].as_str()),
        (Some("section"), Some("mutex lock"))
    );
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "atomicity-violation");
    assert_eq!(result["relatedLocations"].as_array().unwrap().len(), 2);
    assert_eq!(result["partialFingerprints"]["witnessRace/v1"], row["id"]);
    assert!(of("junit").contains("type=\"atomicity violation\""));
    assert!(of("csv").contains(&format!(
        ",atomicity violation,{},1,balance,",
        row["id"].as_str().unwrap()
    )));
    assert!(of("github").contains("title=atomicity violation::"));
    assert!(of("html").contains("Atomicity violation on"));
}

#[test]
fn explain_is_asked_about_three_accesses() {
    let program = compiled("explain", "bank");
    program.record(POLICIES[0], &[]);
    let [first, between, second] = ["first", "between", "second"].map(|mark| program.line(mark));
    let shown = program.witness(&["explain", "trace.bin", &first, &between, &second]);
    assert_eq!(shown.status, 66, "{}", shown.stdout);
    assert!(
        shown.stdout.contains("── atomicity violation: event "),
        "{}",
        shown.stdout
    );
    let functions = program.witness(&["explain", "trace.bin", "withdraw", "close_account", "balance"]);
    assert_eq!(functions.status, 66, "{}", functions.stdout);
    let twin = compiled("explain", "bank_held");
    twin.record(POLICIES[0], &[]);
    let refuted = twin.witness(&["explain", "trace.bin", "withdraw", "close_account", "withdraw"]);
    assert_eq!(refuted.status, 0, "{}", refuted.stdout);
    assert!(refuted.stdout.contains(": lockset\n"), "{}", refuted.stdout);
    let nothing = program.witness(&["explain", "trace.bin", "withdraw", "main", "withdraw"]);
    assert_eq!(nothing.status, 2, "{}", nothing.stdout);
    assert!(
        nothing.stderr.contains("no two successive accesses"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn suppressions_and_baselines_hide_them() {
    let program = compiled("hidden", "bank");
    program.record(POLICIES[0], &[]);
    let with = |option: &str, file: &str| {
        let report = program.witness(&["analyze", "trace.bin", "--find", "atomicity", option, file]);
        assert_eq!(report.status, 0, "{}", report.stdout);
        report.stdout
    };
    std::fs::write(program.folder.join("supp"), "atomicity:close_account\n").unwrap();
    assert!(with("--suppressions", "supp").contains("1 suppressed"));
    let (results, _) = analyzed(&program);
    std::fs::write(program.folder.join("known.json"), results.to_string()).unwrap();
    assert!(with("--baseline", "known.json").contains("1 in the baseline"));
    std::fs::write(program.folder.join("other"), "race:close_account\n").unwrap();
    let report = program.witness(&["analyze", "trace.bin", "--find", "atomicity", "--suppressions", "other"]);
    assert_eq!(report.status, 66, "{}", report.stdout);
}

#[test]
fn the_program_goes_on_with_the_second_if_it_is_to() {
    let program = compiled("on", "bank");
    program.record(POLICIES[0], &[]);
    analyzed(&program);
    let live = program.live(&["--first", "b"]);
    let on = "went on with b (a was already done): the program ended with exit status: 0";
    assert!(live.stdout.contains(on), "{}", live.stdout);
}

#[test]
fn run_finds_what_one_recording_does_not_show() {
    let program = compiled("run", "counter");
    let all = run(
        &program.folder,
        witness()
            .args([
                "run",
                "--find",
                "atomicity",
                "--policy",
                "random",
                "--seed",
                "1",
                "-o",
                "run.bin",
                "--",
            ])
            .arg(program.file()),
    );
    let all = all.unwrap();
    assert!(
        all.stdout.contains("witness 1: atomicity violation at "),
        "{}",
        all.stdout
    );
    assert!(all.stdout.contains(": confirmed live"), "{}", all.stdout);
    assert_eq!(all.status, 66, "{}", all.stdout);
}

#[test]
fn exploration_looks_at_its_runs_for_them() {
    let program = compiled("explore", "bank");
    let all = run(
        &program.folder,
        witness()
            .args(["explore", "--find", "atomicity", "-o", "all", "--"])
            .arg(program.file()),
    );
    let all = all.unwrap();
    assert!(all.stdout.contains("1 atomicity violation witnessed"), "{}", all.stdout);
    assert_eq!(all.status, 66, "{}", all.stdout);
}
