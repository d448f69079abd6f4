//! Violations of orders in whole programs, through the command line: those of `programs` that have one, and their
//! harmless twins.
//!
//! Each is recorded under several policies. In some of the runs the access at the line `first` comes before that at the
//! line `early`: from these, the other order is predicted, accepted by the checker, and shown live. None is predicted
//! of the twins.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

use program::{POLICIES, Program, place};
use std::collections::BTreeSet;

/// The programs that read memory before another thread has initialized it, and their harmless twins.
const PROGRAMS: [(&str, &str); 8] = [
    ("config", "config_joined"),
    ("job", "job_numbered"),
    ("table", "table_checked"),
    ("parts", "parts_posted"),
    ("gate", "gate_open"),
    ("handler", "handler_met"),
    ("buffer", "buffer_awaited"),
    ("instance", "instance_once"),
];

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("order", test, name)
}

/// The witnessed pairs of an analysis: of which kind, and where.
fn analyzed(program: &Program, arguments: &[&str]) -> (Vec<(String, BTreeSet<String>)>, i32) {
    let outcome = program.witness(&[&["analyze", "trace.bin", "--json"], arguments].concat());
    let results: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let pairs = results["pairs"].as_array().unwrap().iter();
    let witnessed = pairs.filter(|pair| pair["verdict"] == "witnessed");
    let found = witnessed.map(|pair| {
        let kind = pair["kind"].as_str().unwrap().to_owned();
        (kind, BTreeSet::from([place(&pair["a"]), place(&pair["b"])]))
    });
    (found.collect(), outcome.status)
}

#[test]
fn memory_that_is_read_too_early_is_found_and_shown_live() {
    for (name, _) in PROGRAMS {
        let program = compiled("found", name);
        let expected = BTreeSet::from([program.line("first"), program.line("early")]);
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (found, status) = analyzed(&program, &["--find", "order"]);
            if found.is_empty() {
                // It was read too early, in this very run.
                assert_eq!(status, 0, "{name} {policy:?}");
                continue;
            }
            hits += 1;
            for (kind, places) in &found {
                assert_eq!((kind.as_str(), places), ("order", &expected), "{name} {policy:?}");
            }
            assert_eq!(status, 66, "{name} {policy:?}");
            program.check(1);
            let live = program.live(&["--witness", "1"]);
            assert_eq!(live.status, 66, "{name} {policy:?}: {}", live.stdout);
            let confirmed = "CONFIRMED: witness 1: the access is pending, and what has to come first has not happened";
            assert!(live.stdout.contains(confirmed), "{name} {policy:?}: {}", live.stdout);
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
            assert_eq!(
                analyzed(&program, &["--find", "order"]),
                (Vec::new(), 0),
                "{twin} {policy:?}"
            );
        }
    }
}

#[test]
fn orders_that_are_named_are_violated_or_kept() {
    for (name, violated) in [("log", true), ("log_posted", false)] {
        let program = compiled("named", name);
        let (first, early) = (program.line("first"), program.line("early"));
        for policy in POLICIES {
            program.record(policy, &[]);
            let (found, status) = analyzed(&program, &["--order", &first, &early]);
            let orders: Vec<_> = found.into_iter().filter(|(kind, _)| kind == "order").collect();
            let expected = BTreeSet::from([first.clone(), early.clone()]);
            match violated {
                true => assert_eq!(
                    (orders, status),
                    (vec![("order".to_owned(), expected)], 66),
                    "{policy:?}"
                ),
                false => assert_eq!((orders, status), (Vec::new(), 0), "{policy:?}"),
            }
            if violated {
                let live = program.live(&["--witness", "1"]);
                assert_eq!(live.status, 66, "{policy:?}: {}", live.stdout);
            }
        }
        // Functions and variables are places, too.
        let (_, by_function) = analyzed(&program, &["--order", "open_log", "write_log"]);
        let (_, by_variable) = analyzed(&program, &["--order", "opened", "written"]);
        assert_eq!(by_variable, if violated { 66 } else { 0 });
        assert_eq!(by_function, 66, "both begin with a lock, at once");
    }
}

#[test]
fn what_is_not_there_is_said() {
    let program = compiled("missing", "log");
    program.record(POLICIES[0], &[]);
    let outcome = program.witness(&["analyze", "trace.bin", "--order", "closed", "written"]);
    assert_eq!(outcome.status, 3, "a typo is no all-clear: {}", outcome.stdout);
    let said = "witness: --order closed before written: trace.bin accesses nothing at closed";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    for command in [
        &["explain", "trace.bin", "open_log", "write_log"][..],
        &["plan", "trace.bin"],
    ] {
        let outcome = program.witness(&[command, &["--order", "opened", "written"]].concat());
        assert_eq!(outcome.status, 2, "{command:?}: {}", outcome.stdout);
    }
}

#[test]
fn every_report_has_the_violation() {
    let program = compiled("report", "config");
    program.record(POLICIES[0], &[]);
    let order = ["analyze", "trace.bin", "--find", "order"];
    let report = program.witness(&order);
    for line in [
        "WARNING: witness: order violation (witnessed)",
        "  Write of size 8 at ",
        " by thread 2, before that:",
        "── order violation: event ",
        "SUMMARY: witness: 1 order violation witnessed, ",
    ] {
        assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
    }
    for (form, said) in [
        ("sarif", "\"ruleId\":\"order-violation\""),
        ("html", "has to come before it"),
        ("junit", "order"),
        ("github", "order violation"),
        ("csv", "order"),
        ("json", "\"order\": \"initialization\""),
    ] {
        let outcome = program.witness(&[&order[..], &["--report", form]].concat());
        assert_eq!(outcome.status, 66, "{form}");
        assert!(outcome.stdout.contains(said), "{form}: {}", outcome.stdout);
    }
}

#[test]
fn a_violation_is_suppressed_and_known_like_a_race() {
    let program = compiled("hidden", "config");
    program.record(POLICIES[0], &[]);
    let order = ["analyze", "trace.bin", "--find", "order"];
    let results = program.witness(&[&order[..], &["--json"]].concat()).stdout;
    std::fs::write(program.folder.join("known.json"), results).unwrap();
    std::fs::write(program.folder.join("hide.supp"), "race_top:serve\n").unwrap();
    for (options, said) in [
        (["--baseline", "known.json"], "in the baseline"),
        (["--suppressions", "hide.supp"], "suppressed"),
    ] {
        let outcome = program.witness(&[&order[..], &options].concat());
        assert_eq!(outcome.status, 0, "{said}: {}", outcome.stdout);
        assert!(outcome.stdout.contains(said), "{said}: {}", outcome.stdout);
    }
}

#[test]
fn the_program_goes_on_with_the_access_if_it_is_to() {
    let program = compiled("on", "config");
    program.record(POLICIES[0], &[]);
    program.witness(&["analyze", "trace.bin", "--find", "order"]);
    let live = program.witness(&["replay", "trace.bin", "--live", "--first", "b"]);
    let died = "went on with b (a was still to come): the program ended with signal: 11";
    assert!(live.stdout.contains(died), "{}", live.stdout);
}

#[test]
fn shards_and_runs_look_for_it_too() {
    let program = compiled("parts", "config");
    program.record(POLICIES[0], &[]);
    let whole = program.witness(&["analyze", "trace.bin", "--find", "order", "--json"]);
    std::fs::remove_dir_all(program.folder.join("trace.bin.witnesses")).unwrap();
    assert_eq!(program.witness(&["plan", "trace.bin", "--find", "order"]).status, 0);
    assert_eq!(program.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status, 0);
    let merged = program.witness(&["merge", "trace.bin", "--json"]);
    assert_eq!((merged.stdout, merged.status), (whole.stdout, 66));
    let file = program.file().to_str().unwrap();
    for arguments in [
        ["--find", "order", "--runs", "1"],
        ["--find", "races,order", "--runs", "1"],
    ] {
        let run = program.witness(&[&["run", "-o", "run.bin"], &arguments[..], &["--", file]].concat());
        assert_eq!(run.status, 66, "{}", run.stdout);
        assert!(run.stdout.contains("1 confirmed live"), "{}", run.stdout);
    }
}
