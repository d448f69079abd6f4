//! Lock orders that ThreadSanitizer and Helgrind warn of, decided by `witness confirm`. The reports are of these tools'
//! real runs.

use super::command::{run, witness};
use super::compiled;
use super::program::POLICIES;
use std::path::Path;

/// A program, the reports that warn of it, and the verdict and its reason.
const WARNINGS: [(&str, &[&str], &str, Option<&str>); 7] = [
    (
        "two_locks",
        &["gcc.tsan", "helgrind", "helgrind.xml"],
        "witnessed",
        None,
    ),
    // Helgrind gives one of the three acquisitions.
    (
        "three_locks",
        &["gcc.tsan", "helgrind", "helgrind.xml"],
        "witnessed",
        None,
    ),
    ("reader_and_writer", &["gcc.tsan", "helgrind"], "witnessed", None),
    ("two_locks_gate", &["gcc.tsan", "helgrind"], "refuted", Some("lockset")),
    (
        "two_locks_handshake",
        &["gcc.tsan", "helgrind"],
        "refuted",
        Some("must-happen-before"),
    ),
    ("spin_and_trylock", &["helgrind"], "refuted", Some("attempt")),
    // Readers wait for nobody here; behind a waiting writer they would.
    ("readers", &["gcc.tsan", "helgrind"], "unknown", Some("no cycle")),
];

fn report(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deadlocks/reports");
    folder.join(name).display().to_string()
}

#[test]
fn warnings_of_lock_orders_are_decided() {
    for (name, reports, verdict, reason) in WARNINGS {
        let program = compiled("confirm", name);
        for policy in POLICIES {
            program.record(policy, &[]);
            for kind in reports {
                let arguments = ["confirm", "trace.bin", &report(&format!("{name}.{kind}")), "--json"];
                let said = run(&program.folder, witness().args(arguments)).unwrap();
                let results: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
                let warnings = results["warnings"].as_array().unwrap();
                let context = format!("{name} {kind} {policy:?}: {results:#}");
                assert_eq!(warnings.len(), 1, "{context}");
                assert_eq!(warnings[0]["verdict"], verdict, "{context}");
                assert_eq!(warnings[0]["reason"].as_str(), reason, "{context}");
                let status = match verdict {
                    "witnessed" => 66,
                    "refuted" => 0,
                    _ => 3,
                };
                assert_eq!(said.status, status, "{context}");
            }
        }
    }
}

#[test]
fn the_deadlock_of_a_warning_is_in_every_report_and_shown_live() {
    let program = compiled("confirm-live", "two_locks");
    program.record(POLICIES[0], &[]);
    let tsan = report("two_locks.gcc.tsan");
    let confirm = |form: &str| {
        let arguments = ["confirm", "trace.bin", &tsan, "--report", form];
        run(&program.folder, witness().args(arguments)).unwrap().stdout
    };
    let text = confirm("text");
    for line in [
        "WITNESSED: ",
        "  acquisition of a lock by thread T1: first /tmp/demo/two_locks.c:10, in pthread_mutex_lock\n",
        "  Thread 1 waits for mutex b, which thread 2 holds:\n",
        "── deadlock: these wait for each other\n",
        "SUMMARY: witness: 1 warning: 1 witnessed, 0 refuted, 0 unknown\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    for form in ["sarif", "junit", "github"] {
        assert!(
            confirm(form).contains("thread 1 waits for mutex b at "),
            "{form}: {}",
            confirm(form)
        );
    }
    let html = confirm("html");
    for part in [
        "Deadlock: threads wait for ",
        "warned of by ThreadSanitizer at ",
        "<strong>1</strong> deadlock<",
        ">waits for mutex a<",
    ] {
        assert!(html.contains(part), "{part:?} is not in {html}");
    }
    let live = [
        "replay",
        "trace.bin",
        "--store",
        "trace.bin.confirmed",
        "--witness",
        "1",
        "--live",
    ];
    let live = run(&program.folder, witness().args(live)).unwrap();
    assert!(live.stdout.contains("CONFIRMED: witness 1: "), "{}", live.stdout);
    // Suppressed as the tool itself would.
    std::fs::write(program.folder.join("supp"), "deadlock:second\n").unwrap();
    let hidden = ["confirm", "trace.bin", &tsan, "--suppressions", "supp"];
    let hidden = run(&program.folder, witness().args(hidden)).unwrap();
    assert_eq!(hidden.status, 0, "{}", hidden.stdout);
    assert!(!hidden.stdout.contains("WITNESSED"), "{}", hidden.stdout);
}

#[test]
fn a_run_is_made_for_a_deadlock_that_the_first_one_does_not_show() {
    let program = compiled("confirm-run", "two_locks");
    let tsan = report("two_locks.gcc.tsan");
    let arguments = ["confirm", "--run", &tsan, "--", "./program"];
    let said = run(&program.folder, witness().args(arguments)).unwrap();
    assert_eq!(said.status, 66, "{} {}", said.stdout, said.stderr);
    // Nobody takes these two locks in this program.
    let elsewhere = report("three_locks.gcc.tsan");
    let arguments = ["confirm", "--run", "--runs", "3", &elsewhere, "--", "./program"];
    let said = run(&program.folder, witness().args(arguments)).unwrap();
    assert_eq!(said.status, 3, "{} {}", said.stdout, said.stderr);
    assert!(said.stdout.contains("not in this trace: "), "{}", said.stdout);
}

#[test]
fn a_run_that_ended_in_the_deadlock_answers_the_warning() {
    let program = compiled("confirm-ended", "two_locks");
    let ended = (0..200).any(|seed: u32| {
        program.record(&["--policy", "random", "--seed", &seed.to_string()], &[]);
        let info = run(&program.folder, witness().args(["info", "trace.bin"])).unwrap();
        info.stdout.contains("ended in a deadlock")
    });
    assert!(ended, "no run ended in its deadlock");
    for kind in ["gcc.tsan", "helgrind", "helgrind.xml"] {
        let arguments = ["confirm", "trace.bin", &report(&format!("two_locks.{kind}"))];
        let said = run(&program.folder, witness().args(arguments)).unwrap();
        assert_eq!(said.status, 66, "{}", said.stdout);
        assert!(
            said.stdout.contains("the recorded run itself ended in this deadlock\n"),
            "{}",
            said.stdout
        );
    }
    // Another lock is none of its two.
    let other = report("three_locks.gcc.tsan");
    let said = run(&program.folder, witness().args(["confirm", "trace.bin", &other])).unwrap();
    assert_eq!(said.status, 3, "{}", said.stdout);
}
