//! Torn pairs, against exhaustive search: two cells of a random trace are said to stand for the same.
//!
//! Section 3 of `docs/SEMANTICS.md` says of two reads and two writes when a feasible prefix tears the pair. All
//! successive accesses are asked about, whatever the region, so that every four positions of such accesses have to be a
//! candidate; it is witnessed if and only if some prefix shows one of its instances, and if it is refuted, the operations
//! alone must not show any. Some traces have priorities, or threads that never run at the same time: what these leave is
//! worked out here from section 4. The checker is asked in some of all states about any four events.

use super::atomicity::does;
use super::checker::{Taken, schedule_of};
use super::design::Said;
use super::execution::Execution;
use super::states::{each_state, each_state_in_order};
use super::{LIMIT, compare_all, every_instance, random_trace, solver_of, structure};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use trace_format::{
    Event, EventId, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo,
    VariableInfo,
};
use witness::analyze::{Options, Solver, Unfollowed, Work, analyze_with};
use witness::check::{Checker, validate};
use witness::design::{Design, Stated, Variable};
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Refutation, Regions, Unknown, Verdict};

/// The first read, the writes of what the first and the second read, and the second read.
type Four = [EventId; 4];

#[derive(Default)]
struct Counts {
    compared: u64,
    without: u64,
    too_large: u64,
    witnessed: u64,
    unfinished: u64,
    refuted: u64,
    by_priority: u64,
    by_reality: u64,
    not_in_trace: u64,
    unknown: u64,
    accepted: u64,
    rejected: u64,
}

/// What is said of the program.
struct OfProgram {
    /// The cells that stand for the same.
    pair: [usize; 2],
    threads: Said,
}

impl OfProgram {
    /// The two cells that were always there by which most may be torn, and perhaps something of the threads.
    fn of(execution: &Execution, random: &mut fastrand::Rng) -> Option<OfProgram> {
        let cells = execution.cells.iter().enumerate();
        let cells: Vec<usize> = cells
            .filter(|(_, cell)| cell.block == 0)
            .map(|(number, _)| number)
            .collect();
        let pairs = cells
            .iter()
            .flat_map(|&one| cells.iter().map(move |&other| [one, other]));
        let pairs = pairs.filter(|[one, other]| one < other);
        // Cells of the execution are bytes; the first ones of what is accessed together come first.
        let counted = pairs.map(|pair| (std::cmp::Reverse(fours(execution, pair).len()), pair));
        let (_, [one, other]) = counted.filter(|(count, _)| count.0 > 0).min()?;
        let threads = Said::of(execution.threads(), random);
        let pair = if random.bool() { [one, other] } else { [other, one] };
        Some(OfProgram { pair, threads })
    }

    /// The same as a design, for tables in which the cells and the threads have names.
    fn as_design(&self, execution: &Execution, tables: &mut Tables) -> Design {
        let mut design = Design::default();
        let names = ["p", "q"];
        for (cell, name) in self.pair.iter().zip(names) {
            let cell = &execution.cells[*cell];
            tables.variables.push(VariableInfo {
                addr: cell.addr,
                size: cell.size,
                name: name.to_owned(),
            });
        }
        let variable = |name: &str| Variable {
            name: name.to_owned(),
            offset: None,
        };
        design.redundant.push(Stated {
            line: 1,
            what: names.map(variable),
        });
        self.threads.add_to(&mut design, tables);
        design
    }
}

/// A trace in which threads read and write two variables, under locks or not, with values that occur often.
fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let threads = random.usize(2..4);
    let object = ObjectInfo {
        kind: ObjectKind::Mutex,
        addr: 0,
        name: None,
        initial: 0,
    };
    let tables = Tables {
        threads: vec![ThreadInfo::default(); threads],
        objects: vec![object.clone(), object],
        ..Tables::default()
    };
    // What each thread does: a lock taken or given back, or a variable read, written, or both.
    let mut programs: Vec<Vec<(u64, u32)>> = Vec::new();
    for thread in 0..threads {
        let mut program: Vec<(u64, u32)> = Vec::new();
        let mut held: Vec<u32> = Vec::new();
        let mut variable = random.u32(..2);
        let writes = if thread == 0 {
            random.u32(..3) == 0
        } else {
            random.u32(..3) > 0
        };
        for _ in 0..random.usize(2..6) {
            while random.u32(..4) == 0 && held.len() < 2 {
                let lock = random.u32(..2);
                if !held.contains(&lock) {
                    held.push(lock);
                    program.push((0, lock));
                }
            }
            let kind = match (random.u32(..10), writes) {
                (0, _) => 4,
                (1, _) => 5 - 3 * u64::from(writes),
                (2, _) => 2 + u64::from(!writes),
                (_, true) => 3,
                (_, false) => 2,
            };
            program.push((kind, variable));
            variable = if random.u32(..5) == 0 { variable } else { 1 - variable };
            while random.u32(..3) == 0 && !held.is_empty() {
                program.push((1, held.remove(random.usize(..held.len()))));
            }
        }
        program.extend(held.into_iter().map(|lock| (1, lock)));
        programs.push(program);
    }
    let (mut next, mut memory) = (vec![0; threads], [0_u64; 2]);
    let mut owner: [Option<usize>; 2] = [None; 2];
    let (mut events, mut stuck) = (Vec::new(), 0);
    while stuck < 200 && (0..threads).any(|thread| next[thread] < programs[thread].len()) {
        stuck += 1;
        let thread = random.usize(..threads);
        let Some(&(kind, on)) = programs[thread].get(next[thread]) else {
            continue;
        };
        let (at, mem) = (
            on as usize,
            MemRange {
                addr: 0x1000 + 0x100 * u64::from(on),
                size: 4,
            },
        );
        let order = MemoryOrder::SeqCst;
        let written = random.u64(..2);
        let op = match kind {
            0 if owner[at].is_some() => continue,
            0 => {
                owner[at] = Some(thread);
                Op::Acquire {
                    lock: ObjectId(on),
                    attempt: false,
                }
            }
            1 => {
                owner[at] = None;
                Op::Release { lock: ObjectId(on) }
            }
            2 => Op::Read { mem, value: memory[at] },
            3 => {
                memory[at] = written;
                Op::Write { mem, value: written }
            }
            4 => {
                let read = std::mem::replace(&mut memory[at], written);
                Op::AtomicRmw {
                    mem,
                    read,
                    written,
                    order,
                }
            }
            _ => Op::AtomicLoad {
                mem,
                value: memory[at],
                order,
            },
        };
        events.push(Event {
            thread: ThreadId(thread as u32),
            pc: 0x100 * (thread as u64 + 1) + next[thread] as u64,
            stack: StackId::EMPTY,
            op,
        });
        next[thread] += 1;
        stuck = 0;
    }
    (tables, events)
}

/// Whether two reads and two writes may tear a pair of any variables.
fn is_four(execution: &Execution, [first, of_first, of_second, second]: Four) -> bool {
    let thread = |event| execution.thread(event);
    let share = |a: EventId, b: EventId| {
        let cells: BTreeSet<usize> = execution.uses(a).iter().map(|used| used.cell).collect();
        execution.uses(b).iter().any(|used| cells.contains(&used.cell))
    };
    let (reads, writes) = (|event| does(execution.op(event)).0, |event| does(execution.op(event)).1);
    thread(first) == thread(second)
        && thread(of_first) == thread(of_second)
        && thread(first) != thread(of_first)
        && first < second
        && of_first != of_second
        && reads(first)
        && reads(second)
        && writes(of_first)
        && writes(of_second)
        && share(first, of_first)
        && share(second, of_second)
}

/// All that a pair may be torn by.
fn fours(execution: &Execution, pair: [usize; 2]) -> BTreeSet<Four> {
    let side = |event: EventId| -> Option<Result<usize, ()>> {
        let touched = pair.map(|cell| execution.uses(event).iter().any(|used| used.cell == cell));
        match touched {
            [false, false] => None,
            [true, true] => Some(Err(())),
            [one, _] => Some(Ok(usize::from(!one))),
        }
    };
    let valued = |event: &EventId| does(execution.op(*event)) != (false, false) && side(*event).is_some();
    // Two of a thread's accesses that follow each other, one of each side: the one first that is first.
    let successive = |events: Vec<EventId>| -> Vec<(EventId, EventId)> {
        let pairs = events.windows(2).map(|two| (two[0], two[1]));
        let differ = |&(one, other): &(EventId, EventId)| match (side(one), side(other)) {
            (Some(Ok(one)), Some(Ok(other))) => one != other,
            _ => false,
        };
        pairs.filter(differ).collect()
    };
    let own = |thread: u32| execution.of_thread(thread).iter().copied().filter(valued);
    let mut found = BTreeSet::new();
    for reader in 0..execution.threads() {
        for (first, second) in successive(own(reader).collect()) {
            for writer in (0..execution.threads()).filter(|&writer| writer != reader) {
                for (one, other) in successive(own(writer).filter(|&event| does(execution.op(event)).1).collect()) {
                    let in_order = side(one) == side(first);
                    let (of_first, of_second) = if in_order { (one, other) } else { (other, one) };
                    let four = [first, of_first, of_second, second];
                    if does(execution.op(first)).0 && does(execution.op(second)).0 {
                        found.insert(four);
                    }
                }
            }
        }
    }
    found
}

/// Of each four that some feasible prefix shows, whether one shows it that says so of the way: `unfinished`. `None` if
/// too many states would have to be visited.
fn searched(execution: &Execution, fours: &BTreeSet<Four>) -> Option<BTreeSet<(Four, bool)>> {
    let mut found = BTreeSet::new();
    let mut by_first: BTreeMap<(EventId, EventId), Vec<Four>> = BTreeMap::new();
    for &four in fours {
        by_first.entry((four[0], four[1])).or_default().push(four);
    }
    for ((first, of_first), fours) in by_first {
        for (one, other) in [(first, of_first), (of_first, first)] {
            let all = each_state_in_order(execution, (one, other), LIMIT / 4, &mut |state, next| {
                let done = |event| state.is_done(execution, event);
                for &four in &fours {
                    let [first, of_first, of_second, second] = four;
                    let sees_first = other == first && done(of_first);
                    if next.contains(&second) && done(first) && sees_first != done(of_second) {
                        found.insert((four, !(done(of_first) && done(of_second))));
                    }
                }
            });
            if !all {
                return None;
            }
        }
    }
    Some(found)
}

/// Whether the schedule that was taken to a state shows four events in a way.
fn is_torn(execution: &Execution, path: &[Taken], next: &[EventId], four: Four, unfinished: bool) -> bool {
    let [first, of_first, of_second, second] = four;
    let place = |event: EventId| path.iter().position(|&(done, _)| done == event);
    let (Some(read), write, other) = (place(first), place(of_first), place(of_second)) else {
        return false;
    };
    let sees_first = write.is_some_and(|write| write < read);
    is_four(execution, four)
        && next.contains(&second)
        && sees_first != other.is_some()
        && unfinished != (write.is_some() && other.is_some())
}

/// Asks the checker in some of the states about some fours.
fn checked(
    execution: &Execution,
    checker: &Checker<'_>,
    fours: &BTreeSet<Four>,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    each_state(execution, LIMIT / 100, &mut |_, path, next| {
        let any = || EventId(random.u32(..execution.events.len() as u32));
        let mut strange: Vec<Four> = Vec::new();
        let mut any = any;
        for _ in 0..20 {
            let second = next
                .get(any().index() % next.len().max(1))
                .copied()
                .unwrap_or(EventId(0));
            strange.push([any(), any(), any(), second]);
        }
        for &four in fours.iter().chain(&strange) {
            for unfinished in [false, true] {
                let expected = is_torn(execution, path, next, four, unfinished);
                let [first, of_first, of_second, second] = four;
                let goal = Goal::TornPair {
                    first,
                    writes: [of_first, of_second],
                    second,
                    unfinished,
                };
                let said = checker.check(&schedule_of(execution, path, goal));
                if said.is_ok() != expected {
                    return Err(format!(
                        "after {path:?}, {four:?} (unfinished: {unfinished}) is {expected}, and the checker says \
                         {said:?}"
                    ));
                }
                *if expected {
                    &mut counts.accepted
                } else {
                    &mut counts.rejected
                } += 1;
            }
        }
        Ok(())
    })
    .map(drop)
}

fn compare(
    tables: &Tables,
    events: &[Event],
    solver: Solver,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let Some(said) = OfProgram::of(&execution, random) else {
        counts.without += 1;
        return Ok(());
    };
    let mut named = tables.clone();
    let design = said.as_design(&execution, &mut named);
    let trace = Trace::from_events(named, events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let all = fours(&execution, said.pair);
    let Some(found) = searched(&execution, &all) else {
        counts.too_large += 1;
        return Ok(());
    };
    counts.compared += 1;
    let positions = |four: &Four| four.map(|event| execution.pc(event));
    let mut candidates: BTreeMap<[u64; 4], Vec<Four>> = BTreeMap::new();
    for four in &all {
        candidates.entry(positions(four)).or_default().push(*four);
    }
    // What the file leaves of what is feasible.
    let kept = |&&(four, unfinished): &&(Four, bool)| {
        let [first, of_first, of_second, second] = four;
        !match unfinished {
            true => said
                .threads
                .keeps_out(&execution, (of_first.min(of_second), of_first.max(of_second)), second),
            false => said.threads.keeps_out(&execution, (first, second), of_first),
        }
    };
    let there: BTreeSet<[u64; 4]> = found.iter().filter(kept).map(|(four, _)| positions(four)).collect();
    let without_file: BTreeSet<[u64; 4]> = found.iter().map(|(four, _)| positions(four)).collect();
    let options = Options {
        solver,
        find: Find::of(&[Kind::Atomicity]),
        regions: Regions::All,
        ..every_instance()
    };
    let work = Work {
        design: Some(&design),
        threads: NonZeroUsize::MIN,
        ..Work::default()
    };
    let Ok(analysis) = analyze_with(&trace, &options, &work, &Unfollowed);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let mut decided = BTreeSet::new();
    for violation in analysis
        .atomicity_violations
        .iter()
        .filter(|row| row.positions.len() == 4)
    {
        let positions: [u64; 4] = violation.positions[..].try_into().expect("four");
        let wrong = |what: &str| Err(format!("{positions:x?} is {what}: {:?}", violation.verdict));
        if !decided.insert(positions) || !candidates.contains_key(&positions) {
            return wrong("no candidate, or one twice");
        }
        let there = there.contains(&positions);
        match &violation.verdict {
            Verdict::Witnessed(schedule) => {
                let Goal::TornPair {
                    first,
                    writes,
                    second,
                    unfinished,
                } = schedule.goal
                else {
                    return wrong("another goal");
                };
                let four = [first, writes[0], writes[1], second];
                let shown = found.get(&(four, unfinished));
                if shown.is_none_or(|shown| !kept(&shown)) || four[..] != violation.example {
                    return wrong("not torn");
                }
                if checker.check(schedule).is_err() {
                    return wrong("not accepted");
                }
                counts.witnessed += 1;
                counts.unfinished += u64::from(unfinished);
            }
            _ if there => return wrong("torn"),
            Verdict::Refuted(why @ (Refutation::Priority { .. } | Refutation::Reality { .. }))
            | Verdict::NotInTrace(why @ (Refutation::Priority { .. } | Refutation::Reality { .. })) => {
                if !said.threads.speaks() {
                    return wrong("blamed on a file that says nothing");
                }
                let by_priority = matches!(why, Refutation::Priority { .. });
                *if by_priority {
                    &mut counts.by_priority
                } else {
                    &mut counts.by_reality
                } += 1;
            }
            Verdict::Refuted(_) => {
                let of_file = without_file.contains(&positions);
                if of_file || structure::shows_any(&execution, &candidates[&positions], structure::torn) {
                    return wrong("shown by the operations");
                }
                counts.refuted += 1;
            }
            Verdict::NotInTrace(_) if without_file.contains(&positions) => return wrong("kept out by the file alone"),
            Verdict::NotInTrace(_) => counts.not_in_trace += 1,
            Verdict::Unknown(Unknown::Unrecorded(_)) => counts.unknown += 1,
            Verdict::Unknown(_) => return wrong("not decided"),
        }
    }
    if let Some(missing) = candidates.keys().find(|&positions| !decided.contains(positions)) {
        return Err(format!("{missing:x?} is no candidate"));
    }
    checked(&execution, &checker, &all, random, counts)
}

#[test]
fn torn_pairs_are_found_exactly() {
    let mut counts = Counts::default();
    let generate = |seed: u64| match seed % 4 {
        0 => random_trace::generate(seed),
        1 => random_trace::generate_interrupted(seed),
        _ => generate(seed),
    };
    let all = compare_all("torn", generate, &mut |seed, tables, events| {
        let mut random = fastrand::Rng::with_seed(seed);
        compare(tables, events, solver_of(seed), &mut random, &mut counts)
    });
    let Counts {
        compared,
        without,
        too_large,
        witnessed,
        unfinished,
        refuted,
        by_priority,
        by_reality,
        not_in_trace,
        unknown,
        accepted,
        rejected,
    } = counts;
    println!(
        "{compared} traces, {without} without two variables, {too_large} too large: {witnessed} torn pairs ({unfinished} \
         with one write), {refuted} refuted, {by_priority} by priority, {by_reality} by reality, {not_in_trace} not in \
         the trace, {unknown} unknown; the checker accepted {accepted} and rejected {rejected}"
    );
    let traces = all.or_panic();
    if traces >= 2_000 {
        let least = [
            witnessed - unfinished,
            unfinished,
            refuted,
            by_priority,
            by_reality,
            not_in_trace,
            accepted,
            rejected,
        ];
        assert!(least.iter().all(|&count| count > 0), "some kind never came up");
        assert!(too_large * 10 < traces, "too many traces are too large");
    }
}
