//! Uses after free in whole programs, through the command line: those of `programs` that have one, and their harmless
//! twins.
//!
//! Each is recorded under several policies. In some of the runs the use comes before the free, or would have: from
//! these, the other order is predicted at the marked lines, accepted by the checker, and shown live. None is predicted
//! of the twins.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

mod advisories;
mod pointers;

use command::{run, witness};
use program::{POLICIES, Program, place};
use std::collections::BTreeSet;

/// The programs in which something is used after it was freed, and their harmless twins.
const PROGRAMS: [(&str, &str); 12] = [
    ("session", "session_counted"),
    ("callback", "callback_removed"),
    ("two_workers", "two_workers_both"),
    ("lookup", "lookup_again"),
    ("answer", "answer_kept"),
    ("descriptor", "descriptor_checked"),
    ("mapping", "mapping_joined"),
    ("mutex_inside", "mutex_inside_joined"),
    ("grow", "grow_again"),
    ("mutex_destroyed", "mutex_destroyed_flag"),
    ("semaphore_destroyed", "semaphore_destroyed_both"),
    ("condition_destroyed", "condition_destroyed_empty"),
];

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("after_free", test, name)
}

/// The witnessed pairs of an analysis of the recorded run: of which kind, and where.
fn analyzed(program: &Program) -> (Vec<(String, BTreeSet<String>)>, i32) {
    let (results, status) = program.analyzed();
    let pairs = results["pairs"].as_array().unwrap().iter();
    let witnessed = pairs.filter(|pair| pair["verdict"] == "witnessed");
    let found = witnessed.map(|pair| {
        let kind = pair["kind"].as_str().unwrap().to_owned();
        (kind, BTreeSet::from([place(&pair["a"]), place(&pair["b"])]))
    });
    (found.collect(), status)
}

/// What is used only behind its destruction, made anew, is no candidate of what is asked about uses after free alone.
#[test]
fn what_is_made_anew_is_not_used_after_free() {
    let program = compiled("anew", "mutex_made_anew");
    for policy in POLICIES {
        program.record(policy, &[]);
        let outcome = program.witness(&["analyze", "trace.bin", "--json", "--find", "use-after-free"]);
        let results: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(outcome.status, 0, "{policy:?}");
        assert_eq!(results["pairs"].as_array().map(Vec::len), Some(0), "{policy:?}");
    }
}

/// A run of an exploration that shows several things is analyzed once.
#[test]
fn an_exploration_tells_of_races_and_uses_after_free_of_the_same_runs() {
    let program = compiled("counted", "counted");
    let file = program.file();
    let explored = program.witness(&["explore", "-o", "runs", "--", file.to_str().unwrap()]);
    assert_eq!(explored.status, 66, "{}{}", explored.stdout, explored.stderr);
    for kind in ["data race (witnessed", "use after free (witnessed"] {
        assert!(explored.stdout.contains(kind), "{}", explored.stdout);
    }
}

/// In the order of creation nobody frees it. A run of the exploration does, and ThreadSanitizer's report of such a run is
/// not refuted by one that has no such free.
#[test]
fn what_another_run_uses_after_free_is_told_by_an_exploration_and_not_refuted() {
    let program = compiled("explored", "freed_unless_used");
    program.record(POLICIES[0], &[]);
    let outcome = program.witness(&["analyze", "trace.bin"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stdout);
    let (used, freed) = (program.line("use"), program.line("free"));
    let report = format!(
        "WARNING: ThreadSanitizer: heap-use-after-free (pid=1)
  Write of size 4 at 0x7b0400000000 by thread T1 (mutexes: write M0):
    #0 user {used} (program+0x127e)

  Previous write of size 8 at 0x7b0400000000 by thread T2 (mutexes: write M0):
    #0 free ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:706 (libtsan.so.2+0x47e82)
    #1 closer {freed} (program+0x131e)

SUMMARY: ThreadSanitizer: heap-use-after-free {used} in user
"
    );
    std::fs::write(program.folder.join("report"), report).unwrap();
    let outcome = program.witness(&["confirm", "trace.bin", "report"]);
    assert_eq!(outcome.status, 3, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("UNKNOWN"), "{}", outcome.stdout);
    let file = program.file();
    let explored = program.witness(&["explore", "-o", "runs", "--", file.to_str().unwrap()]);
    assert_eq!(explored.status, 66, "{}", explored.stdout);
    assert!(
        explored.stdout.contains("use after free (witnessed)"),
        "{}",
        explored.stdout
    );
}

#[test]
fn uses_after_free_are_predicted_and_shown_live() {
    for (name, _) in PROGRAMS {
        let program = compiled("found", name);
        let expected = BTreeSet::from([program.line("use"), program.line("free")]);
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (found, status) = analyzed(&program);
            let hit = found
                .iter()
                .any(|(kind, places)| kind == "use-after-free" && *places == expected);
            if !hit {
                // The free came first, and what the other thread read then kept it from the use, or killed it.
                assert_eq!((found, status), (Vec::new(), 0), "{name} {policy:?}");
                continue;
            }
            hits += 1;
            assert_eq!(status, 66, "{name} {policy:?}");
            program.check(1);
            let live = program.live(&["--witness", "1"]);
            assert_eq!(live.status, 66, "{name} {policy:?}: {}", live.stdout);
            let confirmed = "CONFIRMED: witness 1: the memory is freed, and the access of it is pending";
            assert!(live.stdout.contains(confirmed), "{name} {policy:?}: {}", live.stdout);
        }
        assert!(hits > 0, "{name}: {expected:?} was found in no run");
    }
}

/// Where there are more instances than are asked about one by one, the others are not passed over.
#[test]
fn one_of_many_instances_is_found() {
    let program = compiled("many", "stale_among_many");
    let expected = BTreeSet::from([program.line("use"), program.line("free")]);
    for seed in ["1", "2"] {
        program.record(&["--policy", "random", "--seed", seed], &[]);
        let (found, status) = analyzed(&program);
        assert_eq!(found, [("use-after-free".to_owned(), expected.clone())], "seed {seed}");
        assert_eq!(status, 66, "seed {seed}");
    }
}

#[test]
fn a_second_free_uses_what_the_first_has_freed() {
    let program = compiled("twice", "session_closed_twice");
    program.record(POLICIES[0], &[]);
    let (found, status) = analyzed(&program);
    let places = BTreeSet::from([program.line("free"), program.line("again")]);
    assert_eq!(found, [("use-after-free".to_owned(), places)]);
    assert_eq!(status, 66);
    let live = program.live(&["--witness", "1"]);
    assert_eq!(live.status, 66, "{}", live.stdout);
}

#[test]
fn their_twins_have_none() {
    let twins = PROGRAMS.into_iter().map(|(_, twin)| twin);
    // What is freed in the place of a block that was freed before need not be that block.
    for twin in twins.chain(["no_bytes"]) {
        let program = compiled("twins", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            assert_eq!(analyzed(&program), (Vec::new(), 0), "{twin} {policy:?}");
        }
    }
}

#[test]
fn the_report_has_the_use_the_free_and_the_allocation() {
    let program = compiled("report", "session");
    program.record(POLICIES[0], &[]);
    let report = program.witness(&["analyze", "trace.bin"]);
    for line in [
        "WARNING: witness: use after free (witnessed)",
        "  Free of size 4 at ",
        " by thread 2:",
        " by thread 1, after that:",
        "bytes into it, allocated by thread 0 (main):",
        "── use after free: event ",
        "; 1 use after free witnessed\n",
    ] {
        assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
    }
    let sarif = program.witness(&["analyze", "trace.bin", "--report", "sarif"]);
    let sarif: serde_json::Value = serde_json::from_str(&sarif.stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "use-after-free");
}

#[test]
fn the_program_goes_on_with_the_use_if_it_is_to() {
    let program = compiled("on", "session");
    program.record(POLICIES[0], &[]);
    let live = program.live(&["--first", "b"]);
    assert!(
        live.stdout.contains("went on with b (a was already done)"),
        "{}",
        live.stdout
    );
}

#[test]
fn run_finds_what_one_recording_does_not_show() {
    let program = compiled("run", "lookup");
    let all = run(
        &program.folder,
        witness()
            .args(["run", "--policy", "random", "--seed", "1", "-o", "run.bin", "--"])
            .arg(program.file()),
    );
    let all = all.unwrap();
    assert!(all.stdout.contains("use after free"), "{}", all.stdout);
    assert!(all.stdout.contains(": confirmed live"), "{}", all.stdout);
    assert_eq!(all.status, 66, "{}", all.stdout);
}

#[test]
fn a_warning_of_a_use_after_free_under_a_lock_is_true() {
    let program = compiled("warned", "session");
    program.record(POLICIES[0], &[]);
    let (user, freer) = (program.line("use"), program.line("free"));
    let report = format!(
        "WARNING: ThreadSanitizer: heap-use-after-free (pid=1)\n  \
         Read of size 4 at 0x7b0400000000 by thread T1 (mutexes: write M0):\n    #0 serve {user} (session+0x123e)\n\n  \
         Previous write of size 8 at 0x7b0400000000 by thread T2 (mutexes: write M0):\n    \
         #0 free <null> (libtsan.so.2+0x3f0e6)\n    #1 hang_up {freer} (session+0x12af)\n\n\
         SUMMARY: ThreadSanitizer: heap-use-after-free {user} in serve\n==================\n"
    );
    std::fs::write(program.folder.join("tsan.log"), report).unwrap();
    let said = program.witness(&["confirm", "trace.bin", "tsan.log"]);
    assert!(
        said.stdout.contains("WITNESSED: tsan.log:1: heap-use-after-free"),
        "{}",
        said.stdout
    );
    assert_eq!(said.status, 66, "{}", said.stdout);
}
