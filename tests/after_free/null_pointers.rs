//! Null pointers in whole programs: a read of a pointer that its thread follows can see 0. It is predicted from runs in
//! which it saw the pointer, and the program dies of it live.

use crate::program::{POLICIES, Program, place};
use std::collections::BTreeSet;

/// The programs in which a pointer can be null, and their harmless twins.
const PROGRAMS: [(&str, &str); 2] = [
    ("pointer_cleared", "pointer_cleared_together"),
    ("pointer_too_early", "pointer_looked_at"),
];

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("after_free", test, name)
}

/// The places of the witnessed null pointers of the recorded run, and the exit status.
fn analyzed(program: &Program) -> (Vec<BTreeSet<String>>, i32) {
    let outcome = program.witness(&["analyze", "trace.bin", "--json", "--find", "null-pointer"]);
    let results: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let pairs = results["pairs"].as_array().unwrap().iter();
    let found = pairs.map(|pair| {
        assert_eq!(
            (&pair["verdict"], &pair["kind"]),
            (&"witnessed".into(), &"null-pointer".into())
        );
        BTreeSet::from([place(&pair["a"]), place(&pair["b"])])
    });
    (found.collect(), outcome.status)
}

#[test]
fn null_pointers_are_predicted_and_the_program_dies_of_them() {
    for (name, _) in PROGRAMS {
        let program = compiled("null", name);
        let expected = BTreeSet::from([program.line("use"), program.line("clear")]);
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (found, status) = analyzed(&program);
            if found.is_empty() {
                // The run died of it, or its thread went another way.
                assert_eq!(status, 0, "{name} {policy:?}");
                continue;
            }
            hits += 1;
            assert_eq!((found, status), (vec![expected.clone()], 66), "{name} {policy:?}");
            program.check(1);
            let live = program.live(&["--witness", "1"]);
            let confirmed = "CONFIRMED: witness 1: the thread reads 0, and the program dies of it";
            assert!(live.stdout.contains(confirmed), "{name} {policy:?}: {}", live.stdout);
            assert_eq!(live.status, 66, "{name} {policy:?}");
        }
        assert!(hits > 0, "{name}: found in no run");
    }
}

#[test]
fn their_twins_have_no_null_pointers() {
    for (_, twin) in PROGRAMS {
        let program = compiled("null-twins", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            assert_eq!(analyzed(&program), (Vec::new(), 0), "{twin} {policy:?}");
        }
    }
}

#[test]
fn reports_name_null_pointers() {
    let program = compiled("null-report", "pointer_cleared");
    program.record(POLICIES[0], &[]);
    let report = program.witness(&["analyze", "trace.bin", "--find", "null-pointer"]);
    for line in [
        "WARNING: witness: null pointer (witnessed)",
        "Read of size 8 at ",
        "── another value: this would read 0",
        "1 null pointer witnessed",
    ] {
        assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
    }
    let sarif = program.witness(&["analyze", "trace.bin", "--find", "null-pointer", "--report", "sarif"]);
    let sarif: serde_json::Value = serde_json::from_str(&sarif.stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "null-pointer");
    // Nobody is told of them who did not ask.
    let others = program.witness(&["analyze", "trace.bin"]);
    assert_eq!(others.status, 0, "{}", others.stdout);
}
