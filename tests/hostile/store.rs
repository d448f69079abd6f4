//! What lies beside a trace, forged.

use crate::command::run;
use crate::place::Place;
use serde_json::{Value, json};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use trace_format::{MemRange, ObjectInfo, ObjectKind, Op, ProgramEnd, ThreadId, ThreadInfo, TraceFile};
use witness::analyze::{Options, Shard, Unfollowed, prepare};
use witness::results;
use witness::store::{self, Binding, Plan};
use witness::trace::Trace;

/// What is made of the line of a shard or journal: a race that cannot be seen.
fn refuted(line: &str) -> String {
    let at = line.find('{').expect("an object");
    let mut content: Value = serde_json::from_str(&line[at..]).expect("an object");
    if let Some(verdict) = content.pointer_mut("/decision/pair/verdict") {
        *verdict = json!({ "Refuted": { "CommonLock": { "lock": 0, "acquired": [null, null] } } });
    }
    sealed(&line[..at], &content.to_string())
}

/// A line with the right checksum, and the seal that it had.
fn sealed(head: &str, json: &str) -> String {
    let rest = format!("{}{json}", head.get(9..).unwrap_or_default());
    format!("{:08x} {rest}\n", crc32c::crc32c(rest.as_bytes()))
}

fn forge(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file");
    let forged: String = text.lines().map(refuted).collect();
    fs::write(path, &forged).expect("a file");
    forged
}

#[test]
fn a_forged_shard_refutes_nothing() {
    let place = Place::new("forged-shard");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    place.witness(&["merge", "trace.bin"]).status(66);
    forge(&place.path("trace.bin.witnesses/shards/1-of-1.decisions"));
    let outcome = place.witness(&["merge", "trace.bin"]).status(2);
    assert!(outcome.stderr.contains("--trust"), "{outcome:?}");
    assert!(outcome.stderr.contains("1-of-1.decisions"), "{outcome:?}");
}

/// What lies in the place of a shard and bears no seal of the user's keeps no worker from deciding it.
#[test]
fn a_forged_shard_is_not_done() {
    let place = Place::new("forged-shard-of-workers");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    let work = ["analyze", "trace.bin", "--any-shard-of", "2"];
    place.witness(&work).status(0);
    let shard = "trace.bin.witnesses/shards/1-of-2.decisions";
    let good = fs::read_to_string(place.path(shard)).expect("a shard");
    // With the seals that the lines had, and with none.
    let unsealed = |line: &str| sealed("-------- - ", &line[line.find('{').expect("an object")..]);
    let without_seals: String = good.lines().map(unsealed).collect();
    for forged in [forge(&place.path(shard)), without_seals] {
        assert_ne!(forged, good);
        fs::write(place.path(shard), &forged).expect("a file");
        let trusting = place.witness(&[&work[..], &["--trust"]].concat()).status(0);
        assert!(!trusting.stderr.contains("1-of-2"), "{trusting:?}");
        assert_eq!(fs::read_to_string(place.path(shard)).expect("a shard"), forged);
        let outcome = place.witness(&work).status(0);
        assert!(outcome.stderr.contains("1-of-2.decisions"), "{outcome:?}");
        assert!(!outcome.stderr.contains("2-of-2.decisions"), "{outcome:?}");
        assert_eq!(fs::read_to_string(place.path(shard)).expect("a shard"), good);
        place.witness(&["merge", "trace.bin"]).status(66);
    }
    // Those who cannot tell whose plan it is believe one another: otherwise each would put aside what another has done.
    let of_another =
        |command: &mut std::process::Command| run(command.env("XDG_STATE_HOME", place.path("other"))).status(0);
    let outcome = of_another(&mut place.command(&work));
    assert!(!outcome.stderr.contains("decided anew"), "{outcome:?}");
}

#[test]
fn shards_of_others_are_named_and_believed_if_the_user_says_so() {
    let place = Place::new("foreign-shard");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    for (shard, state) in [("1/2", "state"), ("2/2", "of-another-machine")] {
        let mut command = place.command(&["analyze", "trace.bin", "--shard", shard]);
        run(command.env("XDG_STATE_HOME", place.path(state))).status(0);
    }
    let outcome = place.witness(&["merge", "trace.bin"]).status(2);
    assert!(
        outcome.stderr.contains("2-of-2.decisions") && !outcome.stderr.contains("1-of-2.decisions"),
        "{outcome:?}"
    );
    let outcome = place.witness(&["merge", "trace.bin", "--trust"]).status(66);
    assert!(outcome.stderr.contains("2-of-2.decisions"), "{outcome:?}");
}

#[test]
fn events_beyond_the_trace_are_an_error() {
    let place = Place::new("stray-shard");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    let path = place.path("trace.bin.witnesses/shards/1-of-1.decisions");
    let text = fs::read_to_string(&path).expect("a shard");
    for stray in [
        json!({ "MustHappenBefore": [4_000_000_000_u32] }),
        json!({ "VariableLock": { "taken": [0, 99_999] } }),
    ] {
        let forged = text.lines().map(|line| {
            let at = line.find('{').expect("an object");
            let mut content: Value = serde_json::from_str(&line[at..]).expect("an object");
            if let Some(verdict) = content.pointer_mut("/decision/pair/verdict") {
                *verdict = json!({ "Refuted": stray });
            }
            sealed(&line[..at], &content.to_string())
        });
        fs::write(&path, forged.collect::<String>()).expect("a file");
        let outcome = place.witness(&["merge", "trace.bin", "--trust"]).status(2);
        assert!(outcome.stderr.contains("does not have"), "{outcome:?}");
    }
}

/// A shard can say that it is one of billions: they are not listed, and one that cannot be is damaged.
#[test]
fn missing_shards_are_counted_and_not_all_named() {
    let place = Place::new("billions-of-shards");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    let path = place.path("trace.bin.witnesses/shards/1-of-1.decisions");
    let text = fs::read_to_string(&path).expect("a shard");
    for (shard, said) in [
        ([1, u32::MAX], "2/4294967295, 3/4294967295"),
        ([1, u32::MAX], "and 4294967278 more"),
        ([7, 1], "the file is damaged or incomplete"),
        ([0, 0], "the file is damaged or incomplete"),
    ] {
        let mut lines = text.lines();
        let header = lines.next().expect("a header");
        let at = header.find('{').expect("an object");
        let mut content: Value = serde_json::from_str(&header[at..]).expect("an object");
        content["header"]["shard"] = json!(shard);
        let forged = sealed(&header[..at], &content.to_string());
        let rest: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(&path, forged + &rest).expect("a file");
        let merge = ["merge", "trace.bin", "--trust"];
        let outcome = place.witness(&merge).status(2);
        assert!(outcome.stderr.contains(said), "{outcome:?}");
        assert!(outcome.stderr.len() < 2_000, "{} bytes", outcome.stderr.len());
    }
}

#[test]
fn a_forged_journal_decides_nothing() {
    let place = Place::new("forged-journal");
    place.record();
    // The decisions of a shard of the same plan are those of a journal.
    place.witness(&["plan", "trace.bin"]).status(0);
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    let forged = forge(&place.path("trace.bin.witnesses/shards/1-of-1.decisions"));
    let lines: Vec<&str> = forged.lines().collect();
    let journal = lines[..lines.len() - 1].join("\n") + "\n";
    fs::write(place.path("trace.bin.witnesses/journal"), journal).expect("a file");
    place.witness(&["analyze", "trace.bin"]).status(66);
}

#[test]
fn forged_results_are_not_used() {
    let place = Place::new("forged-results");
    place.record();
    place.witness(&["analyze", "trace.bin"]).status(66);
    let path = place.path("trace.bin.witnesses/results.json");
    let text = fs::read_to_string(&path).expect("results");
    let mut results: Value = serde_json::from_str(&text).expect("an object");
    for pair in results["pairs"].as_array_mut().expect("pairs") {
        pair["verdict"] = json!("refuted");
    }
    for count in results["summary"]
        .as_object_mut()
        .expect("counts")
        .values_mut()
        .filter(|count| count.is_number())
    {
        *count = json!(0);
    }
    fs::write(&path, results.to_string()).expect("a file");
    let outcome = place.witness(&["replay", "trace.bin"]).status(66);
    assert!(outcome.stderr.contains("not stored here by you"), "{outcome:?}");
    // What was stored anew is used again.
    let outcome = place.witness(&["replay", "trace.bin"]).status(66);
    assert!(!outcome.stderr.contains("not stored here by you"), "{outcome:?}");
}

#[test]
fn results_of_one_trace_are_none_of_another() {
    let place = Place::new("other-results");
    place.record();
    place.witness(&["analyze", "trace.bin"]).status(66);
    // Another trace with the same name.
    place
        .witness(&[
            "record",
            "-o",
            "trace.bin",
            "--policy",
            "random",
            "--seed",
            "7",
            "--",
            "./racy",
        ])
        .status(0);
    place.witness(&["replay", "trace.bin"]).status(66);
}

#[test]
fn malformed_schedules_end_with_2() {
    let place = Place::new("schedules");
    place.record();
    place.witness(&["analyze", "trace.bin"]).status(66);
    let good = fs::read_to_string(place.path("trace.bin.witnesses/1.sched")).expect("a schedule");
    let mut changed = 0;
    for (number, _) in good.match_indices(|letter: char| letter.is_ascii_digit()) {
        for with in ["999999999", "4294967295", "18446744073709551616", "-1"] {
            let text = format!("{}{with}{}", &good[..number], &good[number + 1..]);
            fs::write(place.path("bad.sched"), text).expect("a file");
            for arguments in [
                &["replay", "trace.bin", "--schedule", "bad.sched"][..],
                &["check", "trace.bin", "bad.sched"],
            ] {
                let outcome = place.witness(arguments);
                assert!(matches!(outcome.status, 0 | 1 | 2 | 66), "{outcome:?}");
                changed += usize::from(outcome.status == 2);
            }
        }
    }
    assert!(changed > 10, "{changed}");
}

/// Each line of a shard may be the user's own, and one of them stand there in place of another.
#[test]
fn a_pair_that_a_shard_leaves_out_is_missed() {
    let place = Place::new("short-shard");
    place.record();
    crate::bombs::crowded(&place, "crowd.bin", 6);
    place.witness(&["plan", "crowd.bin"]).status(0);
    place.witness(&["analyze", "crowd.bin", "--shard", "1/1"]).status(0);
    let path = place.path("crowd.bin.witnesses/shards/1-of-1.decisions");
    let text = fs::read_to_string(&path).expect("a shard");
    let lines: Vec<&str> = text.lines().collect();
    let decisions = 1..lines.len() - 1;
    assert!(decisions.len() > 2, "{text}");
    let merge = |order: &[usize], status: i32| {
        let forged: String = order.iter().map(|&line| format!("{}\n", lines[line])).collect();
        fs::write(&path, forged).expect("a file");
        place.witness(&["merge", "crowd.bin"]).status(status)
    };
    for left_out in decisions.clone() {
        let other = if left_out == 1 { 2 } else { 1 };
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order[left_out] = other;
        let outcome = merge(&order, 2);
        assert!(
            outcome.stderr.contains("the file is damaged or incomplete"),
            "{outcome:?}"
        );
        let trusting = place.witness(&["merge", "crowd.bin", "--trust"]).status(2);
        assert!(
            trusting.stderr.contains("the file is damaged or incomplete"),
            "{trusting:?}"
        );
    }
    // In another order it says the same.
    let whole = merge(&(0..lines.len()).collect::<Vec<_>>(), 66);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.swap(1, decisions.end - 1);
    assert_eq!(merge(&order, 66).stdout, whole.stdout);
}

/// What a plan does not look for is not found: whoever made it has to be known.
#[test]
fn a_forged_plan_hides_no_race() {
    let place = Place::new("forged-plan");
    place.record();
    place.witness(&["plan", "trace.bin"]).status(0);
    let path = place.path("trace.bin.witnesses/plan.json");
    let own: Value = serde_json::from_slice(&fs::read(&path).expect("a plan")).expect("an object");
    for seal in [own["seal"].clone(), json!("-"), Value::Null] {
        let mut forged = own.clone();
        forged["options"]["find"] = json!(["deadlocks"]);
        forged["candidates"] = json!([]);
        match seal {
            Value::Null => drop(forged.as_object_mut().expect("an object").remove("seal")),
            seal => forged["seal"] = seal,
        }
        fs::write(&path, forged.to_string()).expect("a file");
        place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
        let outcome = place.witness(&["merge", "trace.bin"]).status(2);
        for part in ["plan.json", "--trust"] {
            assert!(outcome.stderr.contains(part), "{outcome:?}");
        }
        let trusting = place.witness(&["merge", "trace.bin", "--trust"]).status(0);
        assert!(trusting.stderr.contains("plan.json"), "{trusting:?}");
    }
    fs::write(&path, own.to_string()).expect("a file");
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    place.witness(&["merge", "trace.bin"]).status(66);
}

/// A plan may lie beside a trace of which `witness plan` would not make one.
#[test]
fn no_execution_is_no_execution_whatever_lies_beside_it() {
    let place = Place::new("planned-nonsense");
    let mut writer = crate::bombs::writer(&place, "no.bin");
    writer.define_thread(ThreadInfo::default());
    let lock = writer.define_object(ObjectInfo {
        kind: ObjectKind::Mutex,
        addr: 0x10,
        name: None,
        initial: 0,
    });
    let (mem, child) = (MemRange { addr: 0x1000, size: 4 }, ThreadId(1));
    let acquire = Op::Acquire { lock, attempt: false };
    for (thread, pc, op) in [
        (0, 1, Op::Fork { child }),
        (1, 2, Op::Begin),
        (0, 3, acquire),
        // The other one holds it.
        (1, 4, acquire),
        (0, 5, Op::Write { mem, value: 1 }),
        (1, 6, Op::Write { mem, value: 2 }),
        (1, 7, Op::Release { lock }),
    ] {
        writer.event(ThreadId(thread), pc, op).expect("an event");
    }
    writer.finish(ProgramEnd::Exited(0)).expect("a trace");
    let trace = Trace::from_file(&TraceFile::open(&place.path("no.bin")).expect("a trace")).expect("it loads");
    let options = Options::default();
    let stored = results::Options {
        instances: options.instances,
        explanations: options.explanations,
        budget: options.budget,
        solver: options.solver,
        model: options.form,
        find: options.find,
        regions: options.regions,
        max_pairs: options.most_pairs,
        first_events: None,
    };
    let plan = prepare(
        &trace,
        &options,
        NonZeroUsize::MIN,
        &Unfollowed,
        |candidates, unlisted, _| {
            assert!(!candidates.is_empty());
            Plan::new(trace.id(), stored, candidates, unlisted)
        },
    );
    let (folder, nobody) = (place.path("no.bin.witnesses"), Binding::of(&place.path("none")));
    plan.save(&folder, &nobody).expect("a plan");
    let refused = |arguments: &[&str]| {
        let outcome = place.witness(arguments).status(2);
        let said = "not a sequentially consistent execution";
        assert!(outcome.stderr.contains(said), "{arguments:?}: {outcome:?}");
        assert!(!outcome.stderr.contains("internal error"), "{arguments:?}: {outcome:?}");
    };
    refused(&["analyze", "no.bin", "--shard", "1/1"]);
    refused(&["analyze", "no.bin", "--any-shard-of", "1"]);
    // A shard of it, too.
    let shard = Shard::new(1, 1).expect("a shard");
    store::save_shard(&folder, &plan.id(), shard, Vec::new(), &nobody).expect("a shard");
    refused(&["merge", "no.bin"]);
    refused(&["merge", "no.bin", "--trust"]);
    for arguments in [
        &["analyze", "no.bin"][..],
        &["analyze", "no.bin", "--model", "whole-trace"],
        &[
            "analyze",
            "no.bin",
            "--find",
            "races,deadlocks,atomicity,order,null-pointer,stale-pointer",
        ],
        &["plan", "no.bin"],
        &["replay", "no.bin"],
        &["explain", "no.bin", "#4", "#5"],
        &["explain", "no.bin", "#4", "#5", "#4"],
    ] {
        refused(arguments);
    }
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/confirm/reports/atomic_flag.drd");
    refused(&["confirm", "no.bin", report.to_str().expect("text")]);
    place.witness(&["check", "no.bin"]).status(1);
}
