//! Violations of orders, against exhaustive search: those that somebody names, and reads of memory before it is
//! initialized.
//!
//! In every state that a feasible prefix of a small trace can reach, section 3 of `docs/SEMANTICS.md` says whether an
//! access is next while none of those has happened that have to come first. The analysis has to witness exactly the
//! orders that some state violates, and to ask about exactly the memory that the page says; the checker is asked in
//! some of the states, also about events that are no accesses. What is refuted, the operations alone must not reach.

use super::checker::schedule_of;
use super::execution::{Execution, Leaves};
use super::states::each_state;
use super::{LIMIT, environment, every_instance, random_trace, stored, structure};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, EventId, Op, Tables};
use witness::analyze::{INITIALIZATION, Options, Order, Unfollowed, Work, analyze_with};
use witness::check::{Checker, validate};
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Pair, Unknown, Verdict};

/// None of these has happened, and that is next.
type Question = (Vec<EventId>, EventId);

/// The positions of the first of what is awaited and of what is too early, the lower one first.
type Positions = (u64, u64);

#[derive(Default)]
struct Counts {
    compared: u64,
    named: BTreeMap<&'static str, u64>,
    found: BTreeMap<&'static str, u64>,
    after_several: u64,
    accepted: u64,
    rejected: u64,
}

fn is_access(execution: &Execution, event: EventId) -> bool {
    match execution.op(event) {
        Op::Read { .. }
        | Op::Write { .. }
        | Op::Destroy { .. }
        | Op::AtomicLoad { .. }
        | Op::AtomicStore { .. }
        | Op::AtomicRmw { .. }
        | Op::Use { .. } => true,
        // What frees nothing accesses nothing.
        Op::Free { .. } => execution.block(event).is_some(),
        _ => false,
    }
}

/// Orders between the accesses at two positions, some of them with only one thread on a side.
fn orders(execution: &Execution, random: &mut fastrand::Rng) -> Vec<Order> {
    let accesses: Vec<EventId> = execution.ids().filter(|&event| is_access(execution, event)).collect();
    if accesses.is_empty() {
        return Vec::new();
    }
    let mut some = || -> Vec<EventId> {
        let position = execution.pc(accesses[random.usize(..accesses.len())]);
        let also = execution.pc(accesses[random.usize(..accesses.len())]);
        let two = random.u64(..3) == 0;
        let here = |&event: &EventId| {
            let pc = execution.pc(event);
            pc == position || (two && pc == also)
        };
        accesses.iter().copied().filter(here).collect()
    };
    (0..6)
        .map(|number| Order {
            name: number.to_string(),
            first: some(),
            then: some(),
        })
        .collect()
}

/// What an order asks, by the page: of all accesses of both sides, not only of the first ones.
fn asked_by(execution: &Execution, order: &Order) -> Vec<Question> {
    let own_first = |access: EventId| {
        let own = |&first: &EventId| execution.thread(first) == execution.thread(access) && first <= access;
        order.first.iter().any(own)
    };
    let then = order.then.iter().copied().filter(|&access| !own_first(access));
    then.map(|access| (order.first.clone(), access)).collect()
}

/// The pieces of memory that are accessed as one: bytes side by side with the same accesses, and these.
fn pieces(execution: &Execution) -> Vec<(Vec<usize>, Vec<EventId>)> {
    let mut pieces: Vec<(Vec<usize>, Vec<EventId>)> = Vec::new();
    for (number, cell) in execution.cells.iter().enumerate() {
        let touches = |event: &EventId| execution.uses(*event).iter().any(|used| used.cell == number);
        let accesses: Vec<EventId> = execution.ids().filter(touches).collect();
        match pieces.last_mut() {
            Some((bytes, known))
                if *known == accesses && execution.cells[bytes[bytes.len() - 1]].addr + 1 == cell.addr =>
            {
                bytes.push(number);
            }
            _ => pieces.push((vec![number], accesses)),
        }
    }
    pieces
}

/// What memory is initialized by its first write, and who may look at it too early.
fn initializations(execution: &Execution) -> BTreeSet<Question> {
    let mut questions = BTreeSet::new();
    for (bytes, accesses) in pieces(execution) {
        let of_byte = |event: EventId, byte: usize| execution.uses(event).iter().find(|used| used.cell == byte);
        // The bytes as they lie in memory.
        let leaves = |event: EventId| {
            bytes
                .iter()
                .rev()
                .try_fold(0, |value, &byte| match of_byte(event, byte)?.leaves {
                    Leaves::Value(more) => Some(value << 8 | more),
                    Leaves::Same | Leaves::Freed => None,
                })
        };
        let sees = |event: EventId| of_byte(event, bytes[0]).is_some_and(|used| used.sees.is_some());
        let external = bytes.iter().any(|&byte| execution.cells[byte].external);
        let Some(&first) = accesses.first() else { continue };
        let values: Vec<u64> = accesses.iter().filter_map(|&event| leaves(event)).collect();
        let flag = values.iter().all(|&value| value < 2);
        if external || leaves(first).is_none() || sees(first) {
            continue;
        }
        let all: Vec<EventId> = accesses
            .iter()
            .copied()
            .filter(|&event| leaves(event).is_some())
            .collect();
        let mut looked = BTreeSet::new();
        for &access in &accesses {
            let looks = matches!(execution.op(access), Op::Read { .. } | Op::Use { .. });
            let is_of_flag = flag && matches!(execution.op(access), Op::Read { .. });
            let wrote = |&write: &EventId| execution.thread(write) == execution.thread(access) && write < access;
            // A later one of the same thread comes no earlier.
            if looks && !all.iter().any(wrote) && looked.insert(execution.thread(access)) && !is_of_flag {
                questions.insert((all.clone(), access));
            }
        }
    }
    questions
}

/// Which of some questions a state answers with yes.
fn answers<'q>(
    questions: &'q [Question],
    next: &[EventId],
    done: &dyn Fn(EventId) -> bool,
) -> impl Iterator<Item = usize> + use<'q> {
    let is_there = |(awaited, early): &Question| next.contains(early) && !awaited.iter().any(|&event| done(event));
    let all: Vec<usize> = (0..questions.len())
        .filter(|&number| is_there(&questions[number]))
        .collect();
    all.into_iter()
}

/// Which questions some feasible prefix answers with yes. `None` if there are too many states. Asks the checker in some
/// of them.
fn searched(
    execution: &Execution,
    questions: &[Question],
    checker: &Checker<'_>,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Option<Result<BTreeSet<usize>, String>> {
    let mut found = BTreeSet::new();
    let all = each_state(execution, LIMIT / 4, &mut |state, path, next| {
        let done = |event| state.is_done(execution, event);
        found.extend(answers(questions, next, &done));
        if random.u64(..100) < 4 {
            for _ in 0..10 {
                let early = match random.bool() {
                    true => next.get(random.usize(..next.len().max(1))).copied(),
                    false => execution.ids().nth(random.usize(..execution.events.len())),
                };
                let Some(early) = early else { continue };
                let awaited: Vec<EventId> = execution.ids().filter(|_| random.u64(..12) == 0).collect();
                let of_accesses = |event: EventId| is_access(execution, event);
                let expected = !awaited.is_empty()
                    && awaited.iter().all(|&event| of_accesses(event) && !done(event))
                    && of_accesses(early)
                    && next.contains(&early);
                match (
                    expected,
                    checker.check(&schedule_of(execution, path, Goal::order(awaited.clone(), early))),
                ) {
                    (true, Ok(_)) => counts.accepted += 1,
                    (false, Err(_)) => counts.rejected += 1,
                    (_, said) => {
                        return Err(format!(
                            "after {path:?}, {early:?} before {awaited:?} is {expected}, and the checker says {said:?}"
                        ));
                    }
                }
            }
        }
        Ok(())
    });
    match all {
        Ok(true) => Some(Ok(found)),
        Ok(false) => None,
        Err(wrong) => Some(Err(wrong)),
    }
}

/// Judges a verdict: whether some prefix and whether the operations alone answer any of its questions with yes.
fn judged(pair: &Pair, feasible: bool, by_operations: bool, checker: &Checker<'_>) -> Result<&'static str, String> {
    let wrong = || Err(format!("{:?} of {:x?}: {:?}", pair.order, pair.positions, pair.verdict));
    match &pair.verdict {
        Verdict::Witnessed(schedule) if feasible && checker.check(schedule).is_ok() => Ok("witnessed"),
        Verdict::Refuted(_) if !feasible && !by_operations => Ok("refuted"),
        Verdict::NotInTrace(_) if !feasible => Ok("not in this trace"),
        Verdict::Unknown(Unknown::Unrecorded(_)) if !feasible => Ok("unknown: unrecorded code"),
        Verdict::Unknown(Unknown::Budget) => Ok("unknown: budget"),
        _ => wrong(),
    }
}

fn compare(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let orders = orders(&execution, random);
    let memory = initializations(&execution);
    let mut questions: Vec<Question> = orders.iter().flat_map(|order| asked_by(&execution, order)).collect();
    let of_orders = questions.len();
    questions.extend(memory);
    let Some(feasible) = searched(&execution, &questions, &checker, random, counts) else {
        return Ok(());
    };
    let feasible = feasible?;
    let mut by_operations = BTreeSet::new();
    let all = structure::search(
        &execution,
        structure::Also::default(),
        LIMIT / 4,
        &|_, _| true,
        &mut |progress, next| {
            by_operations.extend(answers(&questions, next, &|event| progress.is_done(&execution, event)));
        },
    );
    if !all {
        return Ok(());
    }
    counts.compared += 1;
    let races = random.bool();
    let kinds = match races {
        true => Find::of(&[Kind::Races, Kind::UseAfterFree, Kind::Order]),
        false => Find::of(&[Kind::Order]),
    };
    let options = Options {
        find: kinds,
        ..every_instance()
    };
    let work = Work {
        orders: &orders,
        ..Work::default()
    };
    let Ok(analysis) = analyze_with(&trace, &options, &work, &Unfollowed);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let is_of = |order: &str| {
        let order = order.to_owned();
        move |pair: &&Pair| pair.order.as_ref() == Some(&order)
    };
    let mut from = 0;
    for order in &orders {
        let own: Vec<usize> = (from..from + asked_by(&execution, order).len()).collect();
        from += own.len();
        let mut rows = analysis.pairs.iter().filter(is_of(&order.name));
        match (rows.next(), rows.next()) {
            (Some(pair), None) => {
                let any = |all: &BTreeSet<usize>| own.iter().any(|number| all.contains(number));
                let said = judged(pair, any(&feasible), any(&by_operations), &checker)?;
                *counts.named.entry(said).or_default() += 1;
                if said == "witnessed"
                    && let Verdict::Witnessed(schedule) = &pair.verdict
                {
                    counts.after_several += u64::from(schedule.goal.awaited().len() > 1);
                }
            }
            (None, None) if own.is_empty() => {}
            _ => return Err(format!("order {order:?} has not one verdict")),
        }
    }
    let place = |number: usize| -> Positions {
        let (awaited, early) = &questions[number];
        let (a, b) = (
            execution.pc(*awaited.iter().min().unwrap_or(early)),
            execution.pc(*early),
        );
        (a.min(b), a.max(b))
    };
    let of = |all: &BTreeSet<usize>| -> BTreeSet<Positions> {
        all.iter()
            .filter(|&&number| number >= of_orders)
            .map(|&number| place(number))
            .collect()
    };
    let (violated, reached) = (of(&feasible), of(&by_operations));
    let mut seen = BTreeSet::new();
    let key = |pair: &Pair| {
        (
            pair.positions.0.min(pair.positions.1),
            pair.positions.0.max(pair.positions.1),
        )
    };
    for pair in analysis.pairs.iter().filter(is_of(INITIALIZATION)) {
        seen.insert(key(pair));
        // Of two directions at the same positions, each has its verdict.
        let twins = analysis.pairs.iter().filter(is_of(INITIALIZATION));
        if twins.filter(|other| key(other) == key(pair)).count() > 1 {
            continue;
        }
        let said = judged(
            pair,
            violated.contains(&key(pair)),
            reached.contains(&key(pair)),
            &checker,
        )?;
        *counts.found.entry(said).or_default() += 1;
    }
    let raced = |positions: &&Positions| {
        let witnessed = |pair: &&Pair| matches!(pair.verdict, Verdict::Witnessed(_)) && pair.order.is_none();
        analysis
            .pairs
            .iter()
            .filter(witnessed)
            .any(|pair| key(pair) == **positions)
    };
    // What is not asked about is out of reach, or a race.
    match violated
        .union(&reached)
        .find(|positions| !seen.contains(*positions) && !raced(positions))
    {
        Some(missed) => Err(format!(
            "{missed:x?} is looked at before it is initialized, and no candidate"
        )),
        None => Ok(()),
    }
}

#[test]
fn violations_of_orders_are_found_exactly() {
    let (first, traces) = (
        environment("WITNESS_ORACLE_SEED", 0),
        environment("WITNESS_ORACLE_TRACES", 2_000),
    );
    let mut counts = Counts::default();
    for seed in first..first + traces {
        let (tables, events) = match seed % 4 {
            0 => random_trace::generate_nested(seed),
            1 => random_trace::generate_freeing(seed),
            _ => random_trace::generate(seed),
        };
        let mut random = fastrand::Rng::with_seed(seed);
        if let Err(wrong) = compare(&tables, &events, &mut random, &mut counts) {
            let file = stored::leave_behind(&format!("order-{seed}"), &tables, &events);
            panic!("seed {seed}: {wrong}; the trace is {file}");
        }
    }
    let Counts {
        compared,
        named,
        found,
        after_several,
        accepted,
        rejected,
    } = counts;
    println!(
        "{compared} traces; named orders: {named:#?}, {after_several} of them with several threads to wait for; initializations: \
         {found:#?}; the checker accepted {accepted} and rejected {rejected}"
    );
    if traces >= 2_000 {
        let least = |said: &BTreeMap<&str, u64>| {
            ["witnessed", "refuted", "not in this trace"].map(|one| said.get(one).copied().unwrap_or_default())
        };
        let [witnessed, refuted, not_in_trace] = least(&found);
        let all = [
            &least(&named)[..],
            // Few orders of initializations are excluded at all.
            &[witnessed, refuted + not_in_trace],
            &[compared, after_several, accepted, rejected],
        ]
        .concat();
        assert!(all.iter().all(|&count| count > 0), "some kind never came up");
    }
}
