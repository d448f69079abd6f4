//! Pointers that threads read and follow at once: what is asked about these reads, and how that is decided.
//!
//! The questions are whether such a read can see [0](super::null_pointers), or an address of
//! [what was freed](super::stale_pointers) by then (`docs/SEMANTICS.md`, section 3). A prefix that performs the write
//! of such a value and brings the read next is looked for as for any other goal; where that does not show it, Z3 is
//! asked for the value itself. Only what is witnessed gets a row: nearly every pointer that is read is a candidate, and
//! the nearest writes alone are asked about, so what is not found is not said to be excluded.

use super::decider::Decider;
use super::{Instance, MAX_EVENTS_Z3, Solver, case, reject};
use crate::parallel;
use crate::prune::Ending;
use crate::schedule::{Goal, Schedule};
use crate::solve::{self, Answer, NativeAnswer, Steps};
use crate::trace::{Access, AccessKind, CellId, CodePosition, EventId, ThreadId, Trace};
use crate::verdict::{Analysis, Instances, Pair, Rejected, Verdict};
use hashbrown::{HashMap, HashSet};
use std::num::NonZeroUsize;
use trace_format::NOBODYS;

/// Bytes of a pointer.
const POINTER: u64 = 8;

/// An access so far behind an address at most is one of what lies there; nothing is so near to address 0.
const REACH: u64 = 4096;

/// Writes on either side of a read that are looked at for such that could be asked about.
pub(super) const LOOKED_AT: usize = 32;

/// Writes on either side of a read that are asked about.
pub(super) const NEAREST: usize = 2;

/// Positions of two accesses, the smaller first.
pub(super) type Positions = (CodePosition, CodePosition);

/// A read that may see such a value.
#[derive(Debug)]
pub(super) struct Question {
    /// The read, and what its row names beside it, in the order of π.
    pub example: Instance,
    pub goal: Goal,
    /// Ways to get there that are tried first.
    pub ways: Vec<Way>,
}

/// What brings the value about, as far as that is a matter of how far each thread has come.
#[derive(Debug)]
pub(super) struct Way {
    pub performed: Vec<EventId>,
    pub awaited: Option<EventId>,
}

/// The questions that are decided together, one witness being enough: those with the same positions.
pub(super) type Rows = HashMap<Positions, Vec<Question>>;

/// Decides rows, and adds what is witnessed to an analysis.
pub(super) fn add_to(known: &Decider<'_>, rows: &[Vec<Question>], threads: NonZeroUsize, analysis: &mut Analysis) {
    tracing::info!(
        rows = rows.len(),
        "pointers that are followed, and may be null or stale"
    );
    let one = |row: &Vec<Question>| {
        let decide = || {
            let mut rejected = Vec::new();
            (decide(known, row, &mut rejected), rejected)
        };
        Ok::<_, std::convert::Infallible>(solve::in_own_context(decide))
    };
    let Ok(decided) = parallel::map(threads, rows, one);
    for (pair, rejected) in decided {
        analysis.pairs.extend(pair);
        analysis.rejected.extend(rejected);
    }
}

/// The positions of what is witnessed, which is reported as that alone.
pub(super) fn witnessed(analysis: &Analysis) -> HashSet<Positions> {
    let pairs = analysis.pairs.iter();
    let witnessed = pairs.filter(|pair| matches!(pair.verdict, Verdict::Witnessed(_)));
    witnessed.map(|pair| ordered(pair.positions)).collect()
}

pub(super) fn ordered((a, b): Positions) -> Positions {
    (a.min(b), a.max(b))
}

/// In an order that does not depend on hashing: the nearest instances of a row first.
pub(super) fn in_order_of(rows: Rows) -> impl Iterator<Item = Vec<Question>> {
    let mut rows: Vec<Vec<Question>> = rows.into_values().collect();
    for row in &mut rows {
        row.sort_by_cached_key(|asked| (asked.example.1.0 - asked.example.0.0, asked.example, asked.goal.clone()));
        row.dedup_by(|one, other| one.goal == other.goal && one.example == other.example);
    }
    rows.sort_by_cached_key(|row| row.iter().map(|asked| (asked.example, asked.goal.clone())).min());
    rows.into_iter()
}

/// The cell of a pointer that a thread reads and follows with its next access (but for copies on its own stack), and
/// that access.
pub(super) fn followed(trace: &Trace, access: Access) -> Option<(CellId, Access)> {
    let is_pointer = matches!(access.kind, AccessKind::Read | AccessKind::AtomicLoad)
        && (access.size, access.cells()) == (POINTER, 1)
        && access.addr < NOBODYS
        && !trace.is_excused(access);
    let used = trace
        .numbers(access)
        .next()
        .filter(|used| is_pointer && used.read != 0)?;
    let next = trace.access(trace.successor(trace.last_copy(access.event))?)?;
    let is_there = next.kind != AccessKind::Free && next.addr.checked_sub(used.read).is_some_and(|by| by < REACH);
    // What goes into another node of a list, which is near.
    let is_stored = next.kind.writes()
        && (next.size, next.cells()) == (POINTER, 1)
        && trace.numbers(next).any(|stored| stored.written == used.read);
    (is_there && !is_stored && !trace.cell(used.cell).external()).then_some((used.cell, next))
}

/// The first of these that is witnessed.
fn decide(known: &Decider<'_>, row: &[Question], rejected: &mut Vec<Rejected>) -> Option<Pair> {
    let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
    let mut steps = Steps::unbounded();
    let mut session = None;
    let mut instances = Instances {
        total: row.len() as u64,
        ..Instances::default()
    };
    let accepted = |schedule: &Schedule| known.checker().check(schedule);
    for asked in row.iter().take(limit) {
        if known.options.out_of_time() {
            break;
        }
        instances.tried += 1;
        let witnessed = |schedule| Some(known.witnessed(asked.example, schedule, instances));
        // What is found so brings the read behind the write, perhaps with another write between.
        let quick = asked
            .ways
            .iter()
            .filter_map(|way| quickly(known, asked, way, &mut steps));
        // The checker goes over the whole trace, so it is not asked about what shows another value anyway.
        let mut quick = quick.filter(|schedule| shows(known, schedule) && accepted(schedule).is_ok());
        if let Some(schedule) = quick.next() {
            return witnessed(schedule);
        }
        drop(quick);
        if known.options.solver == Solver::Native || known.trace.len() > MAX_EVENTS_Z3 {
            continue;
        }
        let session = session.get_or_insert_with(|| case::session(known, known.order));
        if let Answer::Feasible(prefix) = session.ask(&asked.goal) {
            let schedule = known.schedule_of(0, &prefix, asked.goal.clone());
            match accepted(&schedule) {
                Ok(_) => return witnessed(schedule),
                Err(rejection) => rejected.push(reject(schedule, &rejection)),
            }
        }
    }
    None
}

/// Whether the last write of the pointer in a schedule is one of the value that its goal names.
fn shows(known: &Decider<'_>, schedule: &Schedule) -> bool {
    let trace = known.trace;
    let (read, wanted) = match schedule.goal {
        Goal::OtherValue { read, value } => (read, value),
        Goal::StalePointer { read, value, .. } => (read, Some(value)),
        _ => return false,
    };
    let Some(used) = trace.access(read).and_then(|access| trace.numbers(access).next()) else {
        return false;
    };
    if !trace.cell(used.cell).contested() {
        return wanted == Some(used.read);
    }
    let threads = (0..trace.threads() as u32).map(ThreadId);
    let from = EventId(schedule.as_recorded);
    let mut done: Vec<usize> = threads
        .map(|thread| trace.events_before(thread, from) as usize)
        .collect();
    for slice in &schedule.slices {
        done[slice.thread.index()] += slice.events as usize;
    }
    let behind = schedule.slices.iter().rev().flat_map(|slice| {
        let end = done[slice.thread.index()];
        let begin = end - slice.events as usize;
        done[slice.thread.index()] = begin;
        trace.program_order(slice.thread).excerpt(begin..end).rev()
    });
    let writes = |&event: &EventId| {
        let access = trace.access(event).filter(|access| access.kind.writes());
        access.is_some() && trace.cell_use(event, used.cell).is_some()
    };
    let recorded = || {
        let writes = known.needs.writers().writes(used.cell);
        writes[..writes.partition_point(|&write| write < from)].last().copied()
    };
    let mut behind = behind.filter(writes);
    let seen = match behind.next().or_else(recorded) {
        Some(write) => trace.number_left(write, used.cell),
        None => trace.initial(used.cell),
    };
    seen == wanted
}

/// A schedule by the predictor or our own solver. They know nothing of the value, so it may show another one.
fn quickly(known: &Decider<'_>, asked: &Question, way: &Way, steps: &mut Steps) -> Option<Schedule> {
    let pending: Vec<EventId> = asked.goal.pending().collect();
    let ending = Ending {
        performed: &way.performed,
        pending: &pending,
        awaited: way.awaited.as_slice(),
    };
    if known.solver_only() || known.needs.exclude(ending) {
        return None;
    }
    let predicted = known
        .predictor
        .predict_late(ending)
        .or_else(|| known.predictor.predict(ending));
    if let Some(cut) = predicted {
        return Some(known.schedule(&cut, asked.goal.clone()));
    }
    if known.options.solver == Solver::Z3 {
        return None;
    }
    match known.native.ask(ending, steps) {
        NativeAnswer::Feasible(as_recorded, then) => Some(known.schedule_of(as_recorded, &then, asked.goal.clone())),
        NativeAnswer::Infeasible | NativeAnswer::Unknown => None,
    }
}
