//! The analysis against exhaustive search, on many small random traces.
//!
//! `brute_force` enumerates every feasible prefix of a trace, straight from the table of
//! `docs/SEMANTICS.md` and sharing nothing with the encoder; `random_trace` makes small valid
//! traces with every kind of event. For each pair of code positions the verdict has to be the
//! oracle's: witnessed if some instance races in some prefix, refuted if none does. `unordered` does the same for
//! the pairs that only a memory order fails to order.
//!
//! `WITNESS_ORACLE_TRACES` and `WITNESS_ORACLE_SEED` set the number of traces and the first seed.

mod brute_force;
mod hidden_writes;
mod needed_facts;
mod random_trace;
mod unordered;

use std::collections::{BTreeMap, BTreeSet};
use witness::analyze::{Options, analyze};
use witness::check::validate;
use witness::encode::{Form, Mutation};
use witness::prune::Grounds;
use witness::schedule::RaceKind;
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
        let unordered = unordered::races(&trace, 200_000);
        let unordered_positions = unordered.as_ref().map(|unordered| racing_positions(&trace, unordered));
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
                Verdict::Witnessed(schedule) if schedule.kind == RaceKind::Unordered => {
                    assert!(
                        !racing.contains(&key),
                        "seed {seed}: {key:?} are next at once, too\n{}",
                        described()
                    );
                    let known = unordered.as_ref();
                    assert!(
                        known.is_none_or(|unordered| unordered.contains(&schedule.race)),
                        "seed {seed}: {:?} are ordered\n{}",
                        schedule.race,
                        described()
                    );
                    "witnessed, unordered"
                }
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
                Verdict::Refuted(Refutation::AtomicLock { .. }) => "refuted: atomic lock",
                Verdict::Refuted(Refutation::LockHistory { .. }) => "refuted: lock history",
                Verdict::Refuted(Refutation::Core(facts)) if facts.is_empty() => "refuted: core, not computed",
                Verdict::Refuted(Refutation::Core(_)) => "refuted: core",
                Verdict::NotInTrace(Refutation::MustHappenBefore(_)) => "not in this trace: must-happen-before",
                Verdict::NotInTrace(_) => "not in this trace: core",
                Verdict::Unknown(Unknown::Unrecorded(_)) => "unknown: unrecorded code",
                Verdict::Unknown(Unknown::Budget) => "unknown: budget",
                Verdict::Unknown(other) => panic!("seed {seed}: {key:?} is unknown: {other:?}\n{}", described()),
            };
            *outcomes.entry(outcome).or_default() += 1;
            let refuted = excluded(&pair.verdict);
            assert!(
                !(refuted
                    && unordered_positions
                        .as_ref()
                        .is_some_and(|positions| positions.contains(&key))),
                "seed {seed}: nothing orders {key:?}, but it is refuted\n{}",
                described()
            );
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
        "witnessed, unordered",
        "refuted: must-happen-before",
        "refuted: common lock",
        "refuted: atomic lock",
        "not in this trace: must-happen-before",
        "not in this trace: core",
        "unknown: unrecorded code",
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

/// Whether a verdict says that no feasible prefix of the trace shows the pair.
fn excluded(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Refuted(_) | Verdict::NotInTrace(_) | Verdict::Unknown(Unknown::Unrecorded(_))
    )
}

/// What is wrong with the analysis of one trace, compared with exhaustive search; `None` if nothing.
fn disagreement(seed: u64, options: &Options) -> Option<String> {
    let (tables, events) = random_trace::generate(seed);
    let trace = Trace::from_events(tables, &events);
    let races = brute_force::races(&trace, 200_000)?;
    let racing = racing_positions(&trace, &races);
    let analysis = analyze(&trace, options);
    if let Some(rejected) = analysis.rejected.first() {
        return Some(format!("a schedule is rejected: {}", rejected.reason));
    }
    analysis.pairs.iter().find_map(|pair| {
        let key = (
            pair.positions.0.min(pair.positions.1),
            pair.positions.0.max(pair.positions.1),
        );
        match &pair.verdict {
            Verdict::Witnessed(schedule) if schedule.kind == RaceKind::CoEnabled && !races.contains(&schedule.race) => {
                Some(format!("{key:?} cannot race"))
            }
            verdict if excluded(verdict) && racing.contains(&key) => Some(format!("{key:?} can race")),
            _ => None,
        }
    })
}

/// Whether the trace of a seed has the events that a family of clauses is about.
fn concerns(mutation: Mutation, seed: u64) -> bool {
    let (tables, events) = random_trace::generate(seed);
    let count = |kind| {
        events
            .iter()
            .filter(|event| random_trace::kind(&event.op) == kind)
            .count()
    };
    match mutation {
        Mutation::NoWaits => count("wait end, notified") > 0,
        Mutation::NotifyWakesMany => count("wait end, notified") > 1 && count("notify") > 1,
        Mutation::NoFailedAcquires => count("acquire failed") > 0,
        Mutation::NoPermits => count("semaphore wait") > 0,
        Mutation::NoBranches | Mutation::NoDecisions | Mutation::NoFreeReads => tables.meta.control_flow_recorded,
        Mutation::NoHandOvers => tables.meta.foreign_unlock,
        Mutation::NoPins => {
            let trace = Trace::from_events(tables, &events);
            trace.events().any(|event| trace.pin(event).is_some())
        }
        _ => true,
    }
}

/// Each family of clauses, broken on purpose, makes some trace of the differential test fail.
#[test]
fn every_broken_formula_is_noticed() {
    for mutation in Mutation::ALL {
        let options = Options {
            instances: None,
            mutation: Some(mutation),
            ..Options::default()
        };
        let mut relevant = (1..1_000_000).filter(|&seed| concerns(mutation, seed)).take(20_000);
        let noticed = relevant.find_map(|seed| {
            // A broken formula may also make the analysis stumble; that is noticed, too.
            let result = std::panic::catch_unwind(|| disagreement(seed, &options));
            result
                .unwrap_or_else(|_| Some("a panic".to_owned()))
                .map(|what| (seed, what))
        });
        let (seed, what) = noticed.unwrap_or_else(|| panic!("{mutation:?} goes unnoticed"));
        println!("{mutation:?}: noticed at seed {seed}: {what}");
    }
}

/// What long runs found: an unordered race whose schedule was reordered around pinned accesses; two readers
/// that hold a lock from the start, of whom the first to give it back was taken for its only holder.
#[test]
fn traces_that_were_once_judged_wrongly() {
    let options = Options {
        instances: None,
        ..Options::default()
    };
    for seed in [1_080_312, 3_157_801, 10_124_543] {
        assert_eq!(disagreement(seed, &options), None, "seed {seed}");
    }
}

/// The paper's formula asks for a linearization of the whole trace: it finds nothing that is not
/// there, and less than the prefix form.
#[test]
fn the_whole_trace_form_finds_a_subset() {
    let (mut whole, mut prefix) = (0, 0);
    for seed in 1..300 {
        let (tables, events) = random_trace::generate(seed);
        let trace = Trace::from_events(tables, &events);
        let Some(races) = brute_force::races(&trace, 200_000) else {
            continue;
        };
        let options = Options {
            instances: None,
            form: Form::WholeTrace,
            ..Options::default()
        };
        let analysis = analyze(&trace, &options);
        assert!(analysis.rejected.is_empty(), "seed {seed}: {:?}", analysis.rejected);
        for pair in &analysis.pairs {
            if let Verdict::Witnessed(schedule) = &pair.verdict {
                assert!(races.contains(&schedule.race), "seed {seed}: {:?}", schedule.race);
                whole += 1;
            }
        }
        prefix += racing_positions(&trace, &races).len();
    }
    println!("whole trace: {whole} pairs, prefix: {prefix}");
    assert!(0 < whole && whole < prefix);
}

/// Two threads each write x and read their own value back. The writes race at once; but adjacent
/// in a linearization of the whole trace, one of the reads would see the other's write.
#[test]
fn what_comes_after_the_race_matters_to_the_whole_trace_form_only() {
    use trace_format::{Event, MemRange, Op, StackId, Tables, ThreadId, ThreadInfo};
    let mem = MemRange { addr: 0x1000, size: 4 };
    let event = |thread: u32, pc: u64, op: Op| Event {
        thread: ThreadId(thread),
        pc,
        stack: StackId::EMPTY,
        op,
    };
    let events = [
        event(0, 1, Op::Write { mem, value: 1 }),
        event(0, 2, Op::Read { mem, value: 1 }),
        event(1, 3, Op::Write { mem, value: 2 }),
        event(1, 4, Op::Read { mem, value: 2 }),
    ];
    let tables = Tables {
        threads: vec![ThreadInfo::default(); 2],
        ..Tables::default()
    };
    let trace = Trace::from_events(tables, &events);
    let witnessed = |form| {
        let analysis = analyze(
            &trace,
            &Options {
                form,
                ..Options::default()
            },
        );
        let writes = analysis
            .pairs
            .iter()
            .find(|pair| pair.positions == (1, 3))
            .expect("the writes conflict");
        matches!(writes.verdict, Verdict::Witnessed(_))
    };
    assert!(witnessed(Form::Prefix));
    assert!(!witnessed(Form::WholeTrace));
}

/// Each fact of a core is needed: with all of them no schedule brings the two accesses next, and
/// without any one of them some schedule does.
#[test]
fn every_fact_of_a_core_is_needed() {
    let (mut cores, mut facts) = (0, 0);
    for seed in 1..=4_000 {
        let (tables, events) = random_trace::generate(seed);
        let trace = Trace::from_events(tables, &events);
        let analysis = analyze(
            &trace,
            &Options {
                instances: None,
                ..Options::default()
            },
        );
        for pair in &analysis.pairs {
            let Some(core) = pair.verdict.core() else {
                continue;
            };
            assert!(
                !core.is_empty(),
                "seed {seed}: {:?} is refuted without a fact",
                pair.positions
            );
            let grounds = match pair.verdict {
                Verdict::Refuted(_) => Grounds::Structure,
                _ => Grounds::Outcomes,
            };
            let Some(feasible) = needed_facts::feasible(&trace, grounds, pair.example, core) else {
                continue;
            };
            assert!(
                !feasible,
                "seed {seed}: the core of {:?} excludes nothing: {core:?}",
                pair.example
            );
            cores += 1;
            for left_out in 0..core.len() {
                let mut rest = core.clone();
                let dropped = rest.remove(left_out);
                let feasible = needed_facts::feasible(&trace, grounds, pair.example, &rest);
                assert_eq!(
                    feasible,
                    Some(true),
                    "seed {seed}: {:?} does not need {dropped:?} of {core:?}\n{}",
                    pair.example,
                    random_trace::describe(&events)
                );
                facts += 1;
            }
        }
    }
    println!("{cores} cores with {facts} facts");
    assert!(cores > 100);
}
