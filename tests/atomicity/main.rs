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
use std::path::Path;

/// The programs in which something can come between, and their harmless twins.
const PROGRAMS: [(&str, &str); 10] = [
    ("bank", "bank_held"),
    ("registry", "registry_gate"),
    ("double_fetch", "double_fetch_once"),
    ("append", "append_held"),
    ("lazy", "lazy_checked"),
    ("counter", "counter_retried"),
    ("iterate", "iterate_gate"),
    ("reference", "reference_counted"),
    ("speed", "speed_once"),
    ("stock", "stock_held"),
];

/// The programs in which a pair of variables can be torn, and their harmless twins. Each has a design.
const PAIRS: [(&str, &str); 2] = [("angles", "angles_locked"), ("derived", "derived_snapshot")];

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

/// The design of a program.
fn design_of(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/atomicity/programs");
    folder.join(format!("{name}.design")).display().to_string()
}

/// An analysis of the recorded run with a design.
fn analyzed_by(program: &Program, design: &str) -> (Value, i32) {
    let outcome = program.witness(&["analyze", "trace.bin", "--design", design, "--json"]);
    assert_eq!(outcome.stderr, "");
    (serde_json::from_str(&outcome.stdout).unwrap(), outcome.status)
}

/// The places of a pair that is torn.
fn torn(results: &Value) -> Vec<[String; 4]> {
    let all = results["atomicity_violations"].as_array();
    let of_pairs = all.into_iter().flatten().filter(|row| row["between_too"].is_object());
    let witnessed = of_pairs.filter(|row| row["verdict"] == "witnessed");
    witnessed
        .map(|row| ["first", "between", "between_too", "second"].map(|which| place(&row[which])))
        .collect()
}

#[test]
fn torn_pairs_are_predicted_and_shown_live() {
    for (name, _) in PAIRS {
        let program = compiled("torn", name);
        let expected = ["first", "of_first", "of_second", "second"].map(|mark| program.line(mark));
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = analyzed_by(&program, &design_of(name));
            let found = torn(&results);
            assert_eq!(found, std::slice::from_ref(&expected), "{name} {policy:?}");
            assert_eq!(status, 66, "{name} {policy:?}");
            hits += 1;
            program.check(1);
            let live = program.live(&[]);
            assert_eq!(live.status, 66, "{name} {policy:?}: {}", live.stdout);
            assert!(
                live.stdout.contains("CONFIRMED: witness 1: "),
                "{name}: {}",
                live.stdout
            );
        }
        assert_eq!(hits, POLICIES.len());
    }
}

#[test]
fn their_twins_are_not_torn() {
    for (_, twin) in PAIRS {
        let program = compiled("untorn", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = analyzed_by(&program, &design_of(twin));
            assert_eq!((torn(&results), status), (Vec::new(), 0), "{twin} {policy:?}");
        }
    }
}

#[test]
fn a_pair_that_the_program_compares_needs_no_name() {
    let flags = ["-fsanitize-coverage=trace-cmp".to_owned()];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/atomicity/programs");
    for (name, hits) in [("mirrored", 1), ("angles_locked", 0)] {
        let program = Program::compile(
            &format!("atomicity-mined-{name}"),
            &folder.join(format!("{name}.c")),
            &flags,
        );
        program.record(POLICIES[0], &[]);
        let (results, _) = analyzed(&program);
        assert_eq!(torn(&results).len(), hits, "{name}: {results:#}");
        let rows = results["atomicity_violations"].as_array().unwrap();
        let mined = rows
            .iter()
            .find(|row| row["region"] == "compared")
            .expect("it is mined");
        let both: Vec<&str> = mined["stated"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(both, ["angle", "mirror"]);
        let verdict = if hits > 0 { "witnessed" } else { "refuted" };
        assert_eq!(mined["verdict"], verdict, "{name}");
    }
}

#[test]
fn what_a_file_calls_atomic_is_a_region() {
    let program = compiled("named", "stock");
    program.record(POLICIES[0], &[]);
    let lines = ["first", "second"].map(|mark| program.line(mark).rsplit_once(':').unwrap().1.to_owned());
    for atomic in ["reserve".to_owned(), format!("stock.c:{}-{}", lines[0], lines[1])] {
        std::fs::write(program.folder.join("design"), format!("atomic: {atomic}\n")).unwrap();
        let (results, status) = analyzed_by(&program, "design");
        assert_eq!(status, 66);
        let row = &results["atomicity_violations"][0];
        assert_eq!(row["region"], "atomic");
        // The program marks it as well, and that is more precise.
        assert_eq!(row["stated"][0], "reservation");
    }
    let unmarked = compiled("named", "reserve");
    unmarked.record(POLICIES[0], &[]);
    assert_eq!(
        analyzed(&unmarked).1,
        0,
        "it is the thread's own function, and no region"
    );
    let lines = ["first", "second"].map(|mark| unmarked.line(mark).rsplit_once(':').unwrap().1.to_owned());
    for (atomic, expected) in [
        ("reserve".to_owned(), 66),
        (format!("reserve.c:{}-{}", lines[0], lines[1]), 66),
        (format!("reserve.c:{}", lines[0]), 0),
        ("deliver".to_owned(), 0),
    ] {
        std::fs::write(unmarked.folder.join("design"), format!("atomic: {atomic}\n")).unwrap();
        let (results, status) = analyzed_by(&unmarked, "design");
        assert_eq!(status, expected, "{atomic}");
        if expected == 66 {
            let expected = atomic.clone();
            assert_eq!(results["atomicity_violations"][0]["stated"][0], expected);
        }
    }
}

#[test]
fn priorities_and_reality_refute_by_the_file() {
    let program = compiled("by_file", "speed");
    program.record(POLICIES[0], &[]);
    let with = |design: &str| {
        std::fs::write(program.folder.join("design"), design).unwrap();
        let (results, status) = analyzed_by(&program, "design");
        let row = &results["atomicity_violations"][0];
        (
            row["reason"].as_str().map(str::to_owned),
            status,
            row["explanation"].to_string(),
        )
    };
    let (reason, status, explanation) = with("priority: control 2\npriority: measure 1\n");
    assert_eq!((reason.as_deref(), status), (Some("priority, by your file"), 0));
    assert!(explanation.contains("by lines 1 and 2 of your file"), "{explanation}");
    let (reason, ..) = with("priority: control 1\npriority: measure 1\n");
    assert_eq!(reason.as_deref(), Some("priority, by your file"));
    assert_eq!(with("priority: control 1\npriority: measure 2\n").1, 66);
    assert_eq!(with("priority: control 1\n").1, 66);
    let (reason, status, explanation) = with("apart: control measure\n");
    assert_eq!((reason.as_deref(), status), (Some("reality, by your file"), 0));
    assert!(explanation.contains("by line 1 of your file"), "{explanation}");
    // Who takes a lock in between may wait for it.
    let waits = compiled("by_file", "bank");
    waits.record(POLICIES[0], &[]);
    std::fs::write(
        waits.folder.join("design"),
        "priority: withdraw 2\npriority: close_account 1\n",
    )
    .unwrap();
    assert_eq!(analyzed_by(&waits, "design").1, 66);
}

#[test]
fn a_slice_leaves_what_a_variable_depends_on() {
    let program = compiled("slice", "speed");
    program.record(POLICIES[0], &[]);
    for (variable, expected) in [("torque", 66), ("speed", 0)] {
        std::fs::write(program.folder.join("design"), format!("slice: {variable}\n")).unwrap();
        let (results, status) = analyzed_by(&program, "design");
        assert_eq!(status, expected, "{variable}: {results:#}");
    }
}

#[test]
fn a_design_is_refused_with_its_line_and_what_it_names_in_vain_is_said() {
    let program = compiled("design", "speed");
    program.record(POLICIES[0], &[]);
    let with = |design: &str| {
        std::fs::write(program.folder.join("design"), design).unwrap();
        program.witness(&["analyze", "trace.bin", "--design", "design"])
    };
    let refused = with("atomic: compute\natomc: compute\n");
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("design:2: `atomc: compute`: expected"),
        "{}",
        refused.stderr
    );
    let missing = with("atomic: nowhere\nredundant: speed copy\npriority: nobody 1\n");
    for said in [
        "witness: design:1: trace.bin accesses nothing in nowhere\n",
        "witness: design:2: trace.bin accesses no variable copy\n",
        "witness: design:3: trace.bin has no thread nobody\n",
    ] {
        assert!(missing.stderr.contains(said), "{}", missing.stderr);
    }
    let absent = program.witness(&["analyze", "trace.bin", "--design", "absent"]);
    assert_eq!(absent.status, 2);
    assert!(absent.stderr.contains("cannot read absent"), "{}", absent.stderr);
}

#[test]
fn reports_have_both_variables() {
    let program = compiled("reports", "angles");
    program.record(POLICIES[0], &[]);
    let design = design_of("angles");
    let of = |form: &str| {
        let report = program.witness(&["analyze", "trace.bin", "--design", &design, "--report", form]);
        assert_eq!(report.status, 66, "{form}: {}", report.stdout);
        report.stdout
    };
    let text = of("text");
    for line in [
        "WARNING: witness: torn pair (witnessed)",
        "reads angle and mirror, which stand for the same by your file\n",
        "── torn pair: event ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (results, _) = analyzed_by(&program, &design);
    let id = results["atomicity_violations"][0]["id"].as_str().unwrap();
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["relatedLocations"].as_array().unwrap().len(), 3);
    assert_eq!(result["partialFingerprints"]["witnessRace/v1"], id);
    assert!(of("junit").contains("type=\"atomicity violation\""));
    assert!(of("csv").contains(id));
    assert!(of("github").contains("title=atomicity violation::"));
    assert!(of("html").contains("Torn pair"));
    std::fs::write(program.folder.join("supp"), "atomicity:steer\n").unwrap();
    let hidden = program.witness(&["analyze", "trace.bin", "--design", &design, "--suppressions", "supp"]);
    assert_eq!(hidden.status, 0, "{}", hidden.stdout);
    let replayed = program.witness(&["replay", "trace.bin"]);
    assert!(
        replayed
            .stdout
            .contains("then the second read is next, and exactly one"),
        "{}",
        replayed.stdout
    );
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
