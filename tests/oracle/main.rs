//! The analysis against exhaustive search, on many small random traces.
//!
//! `brute_force` enumerates every feasible prefix of a trace, straight from the table of
//! `docs/SEMANTICS.md` and sharing nothing with the encoder; `random_trace` makes small valid
//! traces with every kind of event. For each pair of code positions the verdict has to be the
//! oracle's: witnessed if some instance races in some prefix, refuted if none does.
//!
//! `WITNESS_ORACLE_TRACES` and `WITNESS_ORACLE_SEED` set the number of traces and the first seed.

mod brute_force;
mod random_trace;

use std::collections::{BTreeMap, BTreeSet};
use witness::analyze::{Options, analyze};
use witness::check::validate;
use witness::trace::{EventId, Trace};
use witness::verdict::{Refutation, Unknown, Verdict};

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The pairs of code positions that race in some feasible prefix, by the oracle.
fn racing_positions(trace: &Trace, races: &BTreeSet<(EventId, EventId)>) -> BTreeSet<(u64, u64)> {
    let positions = races.iter().map(|&(a, b)| (trace.pc(a), trace.pc(b)));
    positions.map(|(a, b)| (a.min(b), a.max(b))).collect()
}

#[test]
fn verdicts_agree_with_exhaustive_search() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut skipped = 0;
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let trace = Trace::from_events(tables, &events);
        for event in &events {
            *kinds.entry(random_trace::kind(&event.op)).or_default() += 1;
        }
        let described = || random_trace::describe(&events);
        if let Err(violation) = validate(&trace) {
            panic!(
                "seed {seed}: the generated trace is invalid: {violation}\n{}",
                described()
            );
        }
        let Some(races) = brute_force::races(&trace, 200_000) else {
            skipped += 1;
            continue;
        };
        let racing = racing_positions(&trace, &races);
        let analysis = analyze(
            &trace,
            &Options {
                instances: None,
                ..Options::default()
            },
        );
        if let Some(rejected) = analysis.rejected.first() {
            panic!(
                "seed {seed}: the checker rejected a schedule: {}\n{}",
                rejected.reason,
                described()
            );
        }
        let mut seen = BTreeSet::new();
        for pair in &analysis.pairs {
            let key = (
                pair.positions.0.min(pair.positions.1),
                pair.positions.0.max(pair.positions.1),
            );
            seen.insert(key);
            let outcome = match &pair.verdict {
                Verdict::Witnessed(schedule) => {
                    assert!(
                        races.contains(&schedule.race),
                        "seed {seed}: {:?}\n{}",
                        schedule.race,
                        described()
                    );
                    "witnessed"
                }
                Verdict::Refuted(Refutation::MustHappenBefore(_)) => "refuted: must-happen-before",
                Verdict::Refuted(Refutation::CommonLock { .. }) => "refuted: common lock",
                Verdict::Refuted(Refutation::LockHistory { .. }) => "refuted: lock history",
                Verdict::Refuted(Refutation::Core(facts)) if facts.is_empty() => "refuted: core, not computed",
                Verdict::Refuted(Refutation::Core(_)) => "refuted: core",
                Verdict::Unknown(Unknown::Budget) => "unknown: budget",
                Verdict::Unknown(other) => panic!("seed {seed}: {key:?} is unknown: {other:?}\n{}", described()),
            };
            *outcomes.entry(outcome).or_default() += 1;
            let refuted = matches!(pair.verdict, Verdict::Refuted(_));
            assert!(
                !(refuted && racing.contains(&key)),
                "seed {seed}: positions {key:?} race but are refuted: {:?}\n{}",
                pair.verdict,
                described()
            );
        }
        let missed: Vec<_> = racing.difference(&seen).collect();
        assert!(
            missed.is_empty(),
            "seed {seed}: racing positions that are no candidates: {missed:?}\n{}",
            described()
        );
    }
    println!("{traces} traces from seed {first}, {skipped} too large to enumerate");
    println!("verdicts: {outcomes:#?}\nevents: {kinds:#?}");
    assert!(skipped * 20 < traces, "too many traces are too large for the oracle");
    for needed in [
        "witnessed",
        "refuted: must-happen-before",
        "refuted: common lock",
        "refuted: core",
    ] {
        assert!(
            outcomes.contains_key(needed),
            "no pair was {needed}: the generator has become too tame"
        );
    }
    assert!(
        !outcomes.contains_key("unknown: budget"),
        "small traces must fit the budget"
    );
    assert_eq!(
        kinds.len(),
        random_trace::KINDS,
        "some kind of event never occurred: {kinds:?}"
    );
}
