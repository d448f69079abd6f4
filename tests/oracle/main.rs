//! The analysis against exhaustive search, on many small random traces.
//!
//! `execution` and `machine` are a reading of `docs/SEMANTICS.md` of their own, from the events of a file on;
//! `brute_force` enumerates every feasible prefix with it, and `random_trace` makes small traces with every kind of
//! event. For each pair of code positions the verdict has to be the oracle's: witnessed if some instance races in some
//! prefix, refuted if none does, and what is refuted, rather than not in this trace, must be out of reach for the
//! operations alone (`structure`). `unordered` does the same for the pairs that only a memory order fails to order,
//! `other_values` for the values that reads can see, and `checker` compares the checker with the same reading, event by
//! event, and `needed` what is needed before what, and our own solver in small windows.
//!
//! `WITNESS_ORACLE_TRACES` and `WITNESS_ORACLE_SEED` set the number of traces and the first seed; with
//! `WITNESS_ORACLE_KIND`, only traces with an event of this [`kind`] are compared, and counted. A trace that is judged
//! wrongly is left behind as a file; `traces/` keeps those of the past.

mod after_free;
mod atomicity;
mod brute_force;
mod by_design;
mod checker;
mod deadlocks;
mod design;
mod event_kind;
mod execution;
mod hidden_writes;
mod machine;
mod needed;
mod needed_facts;
mod null_pointers;
mod orders;
mod other_values;
mod own_frames;
mod random_trace;
mod reused_addresses;
mod stale_pointers;
mod states;
mod stored;
mod structure;
mod synchronizes;
mod torn_pairs;
mod unordered;

use event_kind::kind;
use execution::Execution;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trace_format::EventId;
use trace_format::{Event, Op, Tables, WaitOutcome};
use witness::analyze::{Options, Solver, analyze};
use witness::check::validate;
use witness::encode::{Form, Mutation};
use witness::prune::Grounds;
use witness::schedule::{Goal, Schedule};
use witness::trace::Trace;
use witness::verdict::{Refutation, Unknown, Verdict};

/// States that one search may visit.
const LIMIT: usize = 200_000;

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The two accesses of a race of either kind, or of a use after free, the free first.
fn race_of(schedule: &Schedule) -> (EventId, EventId) {
    match schedule.goal {
        Goal::Race(a, b) | Goal::UnorderedRace(a, b) => (a, b),
        Goal::UseAfterFree { free, access } => (free, access),
        Goal::OtherValue { .. }
        | Goal::Deadlock(_)
        | Goal::PartialDeadlock(_)
        | Goal::AtomicityViolation { .. }
        | Goal::TornPair { .. }
        | Goal::StalePointer { .. }
        | Goal::Order { .. } => {
            panic!("{schedule} shows no race")
        }
    }
}

/// All instances of each pair.
fn every_instance() -> Options {
    Options {
        instances: None,
        ..Options::default()
    }
}

/// The solvers that a trace is judged with: now and then without our own, which decides nearly all.
fn solver_of(seed: u64) -> Solver {
    match seed % 8 {
        3 => Solver::Z3,
        _ => Solver::Both,
    }
}

/// How many traces were compared, and what is wrong.
#[must_use]
struct Compared {
    traces: u64,
    wrong: Vec<String>,
}

impl Compared {
    /// How many they were.
    fn or_panic(self) -> u64 {
        let Compared { traces, wrong } = self;
        let shown = wrong[..wrong.len().min(20)].join("\n");
        assert!(wrong.is_empty(), "{} wrong:\n{shown}", wrong.len());
        traces
    }
}

/// Judges what the analysis says of the trace of a seed.
type Compare<'c> = dyn FnMut(u64, &Tables, &[Event]) -> Result<(), String> + 'c;

/// Compares as many random traces as the environment says, and leaves behind those that are judged wrongly.
fn compare_all(name: &str, generate: impl Fn(u64) -> (Tables, Vec<Event>), compare: &mut Compare<'_>) -> Compared {
    let first = environment("WITNESS_ORACLE_SEED", 0);
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let mut wrong = Vec::new();
    for seed in first..first + traces {
        let (tables, events) = generate(seed);
        if let Err(what) = compare(seed, &tables, &events) {
            let file = stored::leave_behind(&format!("{name}-{seed}"), &tables, &events);
            wrong.push(format!("seed {seed}: {what}\n  {file}"));
        }
    }
    Compared { traces, wrong }
}

/// The pairs of code positions that race in some feasible prefix, by the oracle.
fn racing_positions(trace: &Trace, races: &BTreeSet<(EventId, EventId)>) -> BTreeSet<(u64, u64)> {
    let positions = races.iter().map(|&(a, b)| (trace.pc(a), trace.pc(b)));
    positions.map(|(a, b)| (a.min(b), a.max(b))).collect()
}

/// What the oracle says of the analysis of a trace.
enum Judged {
    /// All verdicts are right: how many there are of each kind.
    Right(BTreeMap<&'static str, u64>),
    TooLarge,
    Wrong(String),
}

/// Whether a verdict says that no feasible prefix of the trace shows the pair.
fn excluded(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Refuted(_) | Verdict::NotInTrace(_) | Verdict::Unknown(Unknown::Unrecorded(_))
    )
}

fn judge(tables: &Tables, events: &[Event]) -> Judged {
    let trace = Trace::from_events(tables.clone(), events);
    if let Err(violation) = validate(&trace) {
        return Judged::Wrong(format!("the trace itself is refused: {violation}"));
    }
    judge_with(&trace, &Execution::new(tables, events), &every_instance(), true)
}

/// An instance of a refuted pair that the operations bring next.
fn refuted_in_vain(
    execution: &Execution,
    found: Option<&brute_force::Found>,
    positions: (u64, u64),
) -> Option<(EventId, EventId)> {
    let reached = structure::reached(execution, found?, positions, LIMIT)?;
    reached.first().copied()
}

/// Compares the verdicts on a valid trace with exhaustive search, also for unordered races if `unordered`.
fn judge_with(trace: &Trace, execution: &Execution, options: &Options, unordered: bool) -> Judged {
    let Some(brute_force::Found { races, after_free }) = brute_force::search(execution, LIMIT) else {
        return Judged::TooLarge;
    };
    let (racing, freeing) = (racing_positions(trace, &races), racing_positions(trace, &after_free));
    // Not all of these are found within the budget, so `None` forbids nothing.
    let unordered = if unordered {
        unordered::races(execution, LIMIT)
    } else {
        None
    };
    let unordered_positions = unordered.as_ref().map(|unordered| racing_positions(trace, unordered));
    let analysis = analyze(trace, options);
    if let Some(rejected) = analysis.rejected.first() {
        return Judged::Wrong(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let mut outcomes: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let by_operations = OnceCell::new();
    let by_operations = || {
        let pairs = || structure::pairs(execution, structure::Also::default(), LIMIT);
        by_operations.get_or_init(pairs).as_ref()
    };
    for pair in &analysis.pairs {
        let (one, other) = pair.positions;
        let key = (one.min(other), one.max(other));
        seen.insert(key);
        let outcome = match &pair.verdict {
            Verdict::Witnessed(schedule) if schedule.goal.is_unordered() => {
                if racing.contains(&key) {
                    return Judged::Wrong(format!("{key:x?} is unordered, but they are next at once, too"));
                }
                if unordered
                    .as_ref()
                    .is_some_and(|unordered| !unordered.contains(&race_of(schedule)))
                {
                    return Judged::Wrong(format!(
                        "{:?} is unordered, but something orders them",
                        race_of(schedule)
                    ));
                }
                "witnessed, unordered"
            }
            Verdict::Witnessed(schedule) if matches!(schedule.goal, Goal::UseAfterFree { .. }) => {
                if racing.contains(&key) {
                    return Judged::Wrong(format!("{key:x?} is a use after free, but they are next at once, too"));
                }
                if !after_free.contains(&race_of(schedule)) {
                    return Judged::Wrong(format!("{:?} never come in this order", race_of(schedule)));
                }
                "witnessed, after free"
            }
            verdict if excluded(verdict) && freeing.contains(&key) => {
                return Judged::Wrong(format!("{key:x?}, a use after free, are refuted: {:?}", pair.verdict));
            }
            Verdict::Witnessed(schedule) if races.contains(&race_of(schedule)) => "witnessed",
            Verdict::Witnessed(schedule) => return Judged::Wrong(format!("{:?} cannot race", race_of(schedule))),
            verdict if excluded(verdict) && racing.contains(&key) => {
                return Judged::Wrong(format!("{key:x?} can race, but are refuted: {:?}", pair.verdict));
            }
            verdict if excluded(verdict) && unordered_positions.as_ref().is_some_and(|known| known.contains(&key)) => {
                return Judged::Wrong(format!(
                    "nothing orders {key:x?}, but they are refuted: {:?}",
                    pair.verdict
                ));
            }
            Verdict::Refuted(why) if let Some(reached) = refuted_in_vain(execution, by_operations(), key) => {
                return Judged::Wrong(format!(
                    "{reached:?} are refuted, but the operations bring them next: {why:?}"
                ));
            }
            Verdict::NotInTrace(_)
                if by_operations().is_some_and(|found| {
                    let mut all = found.races.union(&found.after_free);
                    let same = |&(a, b): &(EventId, EventId)| {
                        (trace.pc(a).min(trace.pc(b)), trace.pc(a).max(trace.pc(b))) == key
                    };
                    !all.any(same)
                }) =>
            {
                "not in this trace: could be refuted"
            }
            Verdict::Refuted(Refutation::MustHappenBefore(_)) => "refuted: must-happen-before",
            Verdict::Refuted(Refutation::CommonLock { .. }) => "refuted: common lock",
            Verdict::Refuted(Refutation::VariableLock { .. }) => {
                return Judged::Wrong(format!("{key:x?} is refuted by what was a lock in this run"));
            }
            Verdict::Refuted(Refutation::LockHistory { .. }) => "refuted: lock history",
            Verdict::Refuted(Refutation::Core(facts)) if facts.is_empty() => "refuted: core, not computed",
            Verdict::Refuted(Refutation::Core(_)) => "refuted: core",
            Verdict::Refuted(why @ (Refutation::Priority { .. } | Refutation::Reality { .. })) => {
                return Judged::Wrong(format!("{key:x?} is refuted by a file, and there is none: {why:?}"));
            }
            Verdict::NotInTrace(Refutation::MustHappenBefore(_)) => "not in this trace: must-happen-before",
            Verdict::NotInTrace(Refutation::VariableLock { .. }) => "not in this trace: variable lock",
            Verdict::NotInTrace(_) => "not in this trace: core",
            Verdict::Unknown(Unknown::Unrecorded(_)) => "unknown: unrecorded code",
            Verdict::Unknown(Unknown::Budget) => "unknown: budget",
            Verdict::Unknown(other) => return Judged::Wrong(format!("{key:x?} is unknown: {other:?}")),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    match racing.union(&freeing).find(|positions| !seen.contains(*positions)) {
        Some(missed) => Judged::Wrong(format!("{missed:x?} race, or come after a free, but are no candidate")),
        None => Judged::Right(outcomes),
    }
}

/// Ends of waits with something between them and their beginnings, and those with another wait there.
fn interrupted_waits(execution: &Execution) -> (u64, u64) {
    let between = |end: EventId| {
        let begin = execution.begin_of_wait(end)?;
        let order = execution.of_thread(execution.thread(end));
        Some(&order[execution.place(begin) as usize + 1..execution.place(end) as usize])
    };
    let interrupted = execution.ids().filter_map(between).filter(|events| !events.is_empty());
    interrupted.fold((0, 0), |(all, nested), events| {
        let waits = |&event: &EventId| matches!(execution.op(event), Op::WaitEnd { .. });
        (all + 1, nested + u64::from(events.iter().any(waits)))
    })
}

#[test]
fn verdicts_agree_with_exhaustive_search() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut skipped, mut wrong) = (0, Vec::new());
    let (mut handled, mut handled_within) = (0, 0);
    let only = std::env::var("WITNESS_ORACLE_KIND").ok();
    let concerned = |events: &[Event]| {
        let mut kinds = events.iter().map(|event| kind(&event.op));
        only.as_ref().is_none_or(|only| kinds.any(|kind| kind == only))
    };
    let generated = (first..).map(|seed| (seed, random_trace::generate(seed)));
    let wanted = generated.filter(|(_, (_, events))| concerned(events));
    for (seed, (tables, events)) in wanted.take(traces as usize) {
        for event in &events {
            *kinds.entry(kind(&event.op)).or_default() += 1;
        }
        let (interrupted, nested) = interrupted_waits(&Execution::new(&tables, &events));
        handled += interrupted;
        handled_within += nested;
        // What the analysis stumbles over is wrong, too, and the seed has to be told.
        let judged = std::panic::catch_unwind(|| judge(&tables, &events));
        match judged.unwrap_or_else(|_| Judged::Wrong("a panic".to_owned())) {
            Judged::Right(counts) => {
                for (outcome, count) in counts {
                    *outcomes.entry(outcome).or_default() += count;
                }
            }
            Judged::TooLarge => skipped += 1,
            Judged::Wrong(what) => {
                let file = stored::leave_behind(&format!("verdict-{seed}"), &tables, &events);
                wrong.push(format!("seed {seed}: {what}\n  {file}"));
            }
        }
    }
    println!("{traces} traces from seed {first}, {skipped} too large to enumerate");
    println!("verdicts: {outcomes:#?}\nevents: {kinds:#?}");
    println!("ends of waits that a signal handler interrupted: {handled}, by waiting itself: {handled_within}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(skipped * 20 < traces, "too many traces are too large for the oracle");
    if only.is_some() {
        return;
    }
    assert!(handled * 50 > traces && handled_within > 0, "handlers do too little");
    for needed in [
        "witnessed",
        "witnessed, unordered",
        "witnessed, after free",
        "refuted: must-happen-before",
        "refuted: common lock",
        "not in this trace: must-happen-before",
        "not in this trace: variable lock",
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
        event_kind::KINDS,
        "some kind of event never occurred: {kinds:?}"
    );
}

/// Whether a trace has the events that a family of clauses is about.
fn concerns(mutation: Mutation, tables: &Tables, events: &[Event]) -> bool {
    let count = |wanted| events.iter().filter(|event| kind(&event.op) == wanted).count();
    match mutation {
        Mutation::NoWaits => count("wait end, notified") > 0,
        Mutation::NotifyWakesMany => {
            let mut conditions: HashMap<_, (usize, usize)> = HashMap::new();
            for event in events {
                match event.op {
                    Op::WaitEnd {
                        condition,
                        outcome: WaitOutcome::Notified,
                        ..
                    } => conditions.entry(condition).or_default().0 += 1,
                    Op::Notify { condition } => conditions.entry(condition).or_default().1 += 1,
                    _ => {}
                }
            }
            conditions.values().any(|&(waits, notifies)| waits > 1 && notifies > 1)
        }
        Mutation::NoFailedAcquires | Mutation::EarlyFailedAcquires | Mutation::LateFailedAcquires => {
            count("acquire failed") > 0
        }
        Mutation::NoPermits => count("semaphore wait") > 0,
        Mutation::NoFailedWaits => count("semaphore wait failed") > 0,
        Mutation::SmallCounts | Mutation::LargeCounts => count("semaphore value") > 0,
        Mutation::NoOnces => count("once wait") > 0 && count("once end") > 1,
        Mutation::NoBranches | Mutation::NoDecisions | Mutation::NoFreeReads => tables.meta.control_flow_recorded,
        Mutation::NoHandOvers => tables.meta.foreign_unlock,
        Mutation::NoPins => {
            let execution = Execution::new(tables, events);
            execution.ids().any(|event| execution.pin(event).is_some())
        }
        _ => true,
    }
}

/// Each family of clauses, broken on purpose, makes some trace of the differential test fail.
#[test]
fn every_broken_formula_is_noticed() {
    for mutation in Mutation::ALL {
        let options = Options {
            mutation: Some(mutation),
            ..every_instance()
        };
        let notices = |(name, tables, events): (String, Tables, Vec<Event>)| {
            let trace = Trace::from_events(tables.clone(), &events);
            let execution = Execution::new(&tables, &events);
            // A broken formula may also make the analysis stumble; that is noticed, too.
            let judged = std::panic::catch_unwind(|| judge_with(&trace, &execution, &options, false));
            match judged.unwrap_or_else(|_| Judged::Wrong("a panic".to_owned())) {
                Judged::Wrong(what) => Some((name, what)),
                Judged::Right(_) | Judged::TooLarge => None,
            }
        };
        let random = (1..1_000_000_u64).map(|seed| {
            let (tables, events) = random_trace::generate(seed);
            (format!("seed {seed}"), tables, events)
        });
        let concerned = random
            .filter(|(_, tables, events)| concerns(mutation, tables, events))
            .take(20_000);
        let noticed = stored::all().into_iter().chain(concerned).find_map(notices);
        let (name, what) = noticed.unwrap_or_else(|| panic!("{mutation:?} goes unnoticed"));
        println!("{mutation:?}: noticed by {name}: {what}");
    }
}

/// Beginnings of traces that the whole-trace form is asked about.
const SHORT: u64 = 6_000;

/// The paper's formula asks for a linearization of the whole trace: it finds nothing that is not
/// there, and less than the prefix form.
#[test]
fn the_whole_trace_form_finds_a_subset() {
    let (mut whole, mut prefix) = (0, 0);
    for seed in 1..300 {
        let (tables, events) = random_trace::generate(seed);
        let Some(found) = brute_force::search(&Execution::new(&tables, &events), LIMIT) else {
            continue;
        };
        let races = found.races;
        let trace = Trace::from_events(tables, &events);
        let options = Options {
            form: Form::WholeTrace,
            ..every_instance()
        };
        let analysis = analyze(&trace, &options);
        assert!(analysis.rejected.is_empty(), "seed {seed}: {:?}", analysis.rejected);
        for pair in &analysis.pairs {
            if let Verdict::Witnessed(schedule) = &pair.verdict {
                assert!(
                    races.contains(&race_of(schedule)),
                    "seed {seed}: {:?}",
                    race_of(schedule)
                );
                whole += 1;
            }
        }
        prefix += racing_positions(&trace, &races).len();
    }
    println!("whole trace: {whole} pairs, prefix: {prefix}");
    assert!(0 < whole && whole < prefix);
}

/// Of short traces too: each beginning of an execution is one, whatever it leaves open.
#[test]
fn the_whole_trace_form_proposes_no_wrong_schedule_of_a_beginning() {
    let (mut traces, mut witnessed) = (0, 0);
    let options = Options {
        form: Form::WholeTrace,
        ..every_instance()
    };
    for seed in 1..=SHORT {
        let generate = match seed % 4 {
            0 => random_trace::generate,
            1 => random_trace::generate_nested,
            2 => random_trace::generate_freeing,
            _ => random_trace::generate_interrupted,
        };
        let (tables, mut events) = generate(seed);
        // The first events are those that begin threads: the last ones of a longer beginning are any.
        events.truncate(3 + (seed / 4 % 12) as usize);
        let found = brute_force::search(&Execution::new(&tables, &events), LIMIT);
        let trace = Trace::from_events(tables, &events);
        let analysis = analyze(&trace, &options);
        assert!(analysis.rejected.is_empty(), "seed {seed}: {:?}", analysis.rejected);
        traces += 1;
        for pair in &analysis.pairs {
            if let Verdict::Witnessed(schedule) = &pair.verdict {
                let race = race_of(schedule);
                assert!(
                    found.as_ref().is_none_or(|found| found.races.contains(&race)),
                    "seed {seed}: {race:?}"
                );
                witnessed += 1;
            }
        }
    }
    println!("{traces} beginnings, {witnessed} pairs witnessed");
    assert!(witnessed > 0);
}

/// Two threads each write x and read their own value back. The writes race at once; but adjacent
/// in a linearization of the whole trace, one of the reads would see the other's write.
#[test]
fn what_comes_after_the_race_matters_to_the_whole_trace_form_only() {
    use trace_format::{MemRange, Op, StackId, ThreadId, ThreadInfo};
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
        let analysis = analyze(&trace, &every_instance());
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
                    event_kind::describe(&events)
                );
                facts += 1;
            }
        }
    }
    println!("{cores} cores with {facts} facts");
    assert!(cores > 100);
}
