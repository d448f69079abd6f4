//! Null and stale pointers in whole programs: a read of a pointer that its thread follows can see 0, or the address of
//! what was freed. It is predicted from runs in which it saw another pointer, and live the program dies of it, or uses
//! what is gone.

use crate::program::{POLICIES, Program, place};
use std::collections::BTreeSet;
use std::path::Path;

/// A kind of pointers.
struct Bad {
    kind: &'static str,
    /// What a live run says.
    confirmed: &'static str,
    /// What the line of the row's other access is marked with.
    other: &'static str,
    /// The programs that have one, and their harmless twins.
    programs: &'static [(&'static str, &'static str)],
}

const NULL: Bad = Bad {
    kind: "null-pointer",
    confirmed: "CONFIRMED: witness 1: the thread reads 0, and the program dies of it",
    other: "clear",
    programs: &[
        ("pointer_cleared", "pointer_cleared_together"),
        ("pointer_too_early", "pointer_looked_at"),
        ("pointer_atomic", "pointer_atomic_looked_at"),
        ("pointer_pushed", "pointer_stored"),
    ],
};

const STALE: Bad = Bad {
    kind: "stale-pointer",
    confirmed: "CONFIRMED: witness 1: the thread reads the address of what was freed, and ",
    other: "free",
    programs: &[
        ("stale_atomic", "stale_atomic_joined"),
        ("stale_cache", "stale_cache_looked"),
        ("stale_config", "stale_config_swapped"),
        ("stale_grown", "stale_grown_at_once"),
        ("stale_list", "stale_list_at_once"),
        ("stale_loaded", "stale_loaded_joined"),
        ("stale_mapping", "stale_mapping_first"),
        ("stale_published", "stale_published_at_once"),
        ("stale_stack", "stale_stack_taken_back"),
    ],
};

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("after_free", test, name)
}

/// The places of what is witnessed of the recorded run, and the exit status.
fn analyzed(program: &Program, kind: &str) -> (Vec<BTreeSet<String>>, i32) {
    let outcome = program.witness(&["analyze", "trace.bin", "--json", "--find", kind]);
    let results: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let pairs = results["pairs"].as_array().unwrap().iter();
    let found = pairs.map(|pair| {
        assert_eq!((&pair["verdict"], &pair["kind"]), (&"witnessed".into(), &kind.into()));
        // The end of a stack is nowhere in the program.
        let places = [&pair["a"], &pair["b"]]
            .into_iter()
            .filter(|access| !access["file"].is_null());
        places.map(place).collect()
    });
    (found.collect(), outcome.status)
}

fn are_predicted_and_shown_live(bad: &Bad) {
    for (name, _) in bad.programs {
        let program = compiled("pointers", name);
        let mut expected = BTreeSet::from([program.line("use")]);
        if *name != "stale_stack" {
            expected.insert(program.line(bad.other));
        }
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (found, status) = analyzed(&program, bad.kind);
            if found.is_empty() {
                // The run died of it, or its thread went another way.
                assert_eq!(status, 0, "{name} {policy:?}");
                continue;
            }
            hits += 1;
            assert_eq!((found, status), (vec![expected.clone()], 66), "{name} {policy:?}");
            program.check(1);
            let live = program.live(&["--witness", "1"]);
            assert!(
                live.stdout.contains(bad.confirmed),
                "{name} {policy:?}: {}",
                live.stdout
            );
            assert_eq!(live.status, 66, "{name} {policy:?}");
        }
        assert!(hits > 0, "{name}: found in no run");
    }
}

fn twins_have_none(bad: &Bad) {
    for (_, twin) in bad.programs {
        let program = compiled("pointers", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            assert_eq!(analyzed(&program, bad.kind), (Vec::new(), 0), "{twin} {policy:?}");
        }
    }
}

#[test]
fn null_pointers_are_predicted_and_the_program_dies_of_them() {
    are_predicted_and_shown_live(&NULL);
}

#[test]
fn stale_pointers_are_predicted_and_the_program_uses_what_is_gone() {
    are_predicted_and_shown_live(&STALE);
}

/// In C, `atomic_load` copies what it returns to the stack without optimization; in C++, `load` is a function then.
#[test]
fn atomic_pointers_are_followed_however_they_are_compiled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/after_free/programs");
    let all = [
        (&NULL, "pointer_atomic.c", "pointer_atomic_looked_at.c"),
        (&NULL, "pointer_atomic.cpp", "pointer_atomic_looked_at.cpp"),
        (&STALE, "stale_loaded.c", "stale_loaded_joined.c"),
    ];
    for (bad, source, twin) in all {
        for level in ["-O0", "-O1", "-O2"] {
            let compiled = |source: &str| {
                let name = format!("after_free-compiled{level}-{source}");
                Program::compile(&name, &folder.join(source), &[level.to_owned()])
            };
            let program = compiled(source);
            program.record(POLICIES[0], &[]);
            let (found, status) = analyzed(&program, bad.kind);
            assert_eq!((found.len(), status), (1, 66), "{source} {level}: {found:?}");
            let live = program.live(&["--witness", "1"]);
            assert!(live.stdout.contains(bad.confirmed), "{source} {level}: {}", live.stdout);
            let twin = compiled(twin);
            for policy in POLICIES {
                twin.record(policy, &[]);
                assert_eq!(
                    analyzed(&twin, bad.kind),
                    (Vec::new(), 0),
                    "{source} {level} {policy:?}"
                );
            }
        }
    }
}

#[test]
fn twins_have_no_bad_pointers() {
    twins_have_none(&NULL);
    twins_have_none(&STALE);
}

#[test]
fn a_mapping_that_is_gone_kills_the_program() {
    let program = compiled("gone", "stale_mapping");
    program.record(POLICIES[0], &[]);
    assert_eq!(analyzed(&program, STALE.kind).1, 66);
    let live = program.live(&["--witness", "1"]);
    let died = "the thread reads the address of what was freed, and the program dies of it";
    assert!(live.stdout.contains(died), "{}", live.stdout);
}

/// What the thread used in the recorded run is looked for in what uses after free are, and nothing else.
#[test]
fn a_use_after_free_is_no_stale_pointer() {
    for name in ["session", "lookup", "grow"] {
        let program = compiled("use", name);
        for policy in POLICIES {
            program.record(policy, &[]);
            assert_eq!(analyzed(&program, STALE.kind), (Vec::new(), 0), "{name} {policy:?}");
        }
    }
}

#[test]
fn reports_name_bad_pointers() {
    for (bad, name, lines) in [
        (
            &NULL,
            "pointer_cleared",
            [
                "WARNING: witness: null pointer (witnessed)",
                "Read of size 8 at ",
                "── another value: this would read 0",
                "1 null pointer witnessed",
            ],
        ),
        (
            &STALE,
            "stale_config",
            [
                "WARNING: witness: stale pointer (witnessed)",
                "Read of size 8 at ",
                "── stale pointer: this would read 0x",
                "1 stale pointer witnessed",
            ],
        ),
    ] {
        let program = compiled("reports", name);
        program.record(POLICIES[0], &[]);
        let report = program.witness(&["analyze", "trace.bin", "--find", bad.kind]);
        for line in lines {
            assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
        }
        let sarif = program.witness(&["analyze", "trace.bin", "--find", bad.kind, "--report", "sarif"]);
        let sarif: serde_json::Value = serde_json::from_str(&sarif.stdout).unwrap();
        assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], bad.kind);
        // Nobody is told of them who did not ask.
        let others = program.witness(&["analyze", "trace.bin"]);
        assert_eq!(others.status, 0, "{}", others.stdout);
    }
}
