//! Null pointers: whether a read of a pointer that its thread follows at once can see 0 instead (`docs/SEMANTICS.md`,
//! section 3).
//!
//! That is another value of the read. A prefix that performs a write of 0 and brings the read next is looked for as for
//! any other goal; where that does not show 0, Z3 is asked for the value itself. Only what is witnessed gets a row:
//! nearly every pointer that is read is a candidate, and the nearest writes alone are asked about, so what is not found
//! is not said to be excluded.

use super::decider::Decider;
use super::{MAX_EVENTS_Z3, Solver, case, in_order, reject};
use crate::encode::Form;
use crate::prune::{Ending, Grounds};
use crate::schedule::{Goal, Schedule};
use crate::solve::{Answer, NativeAnswer, Steps};
use crate::symbols::Comparisons;
use crate::trace::{Access, AccessKind, CellId, CodePosition, EventId, Trace};
use crate::verdict::{Analysis, Instances, Pair, Rejected, Verdict};
use hashbrown::{HashMap, HashSet};
use std::num::NonZeroUsize;
use trace_format::NOBODYS;

/// Bytes of a pointer.
const POINTER: u64 = 8;

/// An access so far behind an address at most is one of what lies there; nothing is so near to address 0.
const REACH: u64 = 4096;

/// Writes of 0 on either side of a read that are asked about.
const NEAREST: usize = 2;

/// A read that may see 0, since this write of 0 comes before it, or, if it writes something else, behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Zero {
    write: EventId,
    read: EventId,
    /// What was there before anybody wrote is 0, and this is the first write.
    initial: bool,
}

impl Zero {
    fn ending(&self) -> Ending<'_> {
        let (write, none): (&[EventId], &[EventId]) = (std::slice::from_ref(&self.write), &[]);
        Ending {
            performed: if self.initial { none } else { write },
            pending: std::slice::from_ref(&self.read),
            awaited: if self.initial { write } else { none },
        }
    }

    fn goal(&self) -> Goal {
        Goal::OtherValue {
            read: self.read,
            value: Some(0),
        }
    }
}

/// Decides all reads of pointers that are followed, and adds what is witnessed to an analysis. What is a race there is
/// reported as that alone.
pub(super) fn add_to(known: &Decider<'_>, threads: NonZeroUsize, analysis: &mut Analysis) {
    if known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        return;
    }
    let witnessed = |pair: &&Pair| matches!(pair.verdict, Verdict::Witnessed(_));
    let raced = analysis.pairs.iter().filter(witnessed);
    let raced: HashSet<_> = raced.map(|pair| ordered(pair.positions)).collect();
    let rows = candidates(known, &raced);
    tracing::info!(rows = rows.len(), "pointers that are followed, and may be null");
    let one = |row: &Vec<Zero>| {
        let decide = || {
            let mut rejected = Vec::new();
            (decide(known, row, &mut rejected), rejected)
        };
        Ok::<_, std::convert::Infallible>(z3::with_z3_config(&z3::Config::new(), decide))
    };
    let Ok(decided) = in_order::map(threads, &rows, one);
    for (pair, rejected) in decided {
        analysis.pairs.extend(pair);
        analysis.rejected.extend(rejected);
    }
}

fn ordered((a, b): (CodePosition, CodePosition)) -> (CodePosition, CodePosition) {
    (a.min(b), a.max(b))
}

/// The memory of pointers that are followed.
#[derive(Default)]
struct Pointer {
    /// The reads of them.
    followed: Vec<EventId>,
    /// The writes of 0, and the first write.
    zeros: Vec<EventId>,
    first: Option<EventId>,
}

/// The cell of a pointer that a thread reads and follows with its next access.
fn followed(trace: &Trace, access: Access) -> Option<CellId> {
    let is_pointer = matches!(access.kind, AccessKind::Read | AccessKind::AtomicLoad)
        && (access.size, access.cells()) == (POINTER, 1)
        && access.addr < NOBODYS
        && !trace.is_excused(access);
    let used = trace.uses(access).next().filter(|used| is_pointer && used.read != 0)?;
    let next = trace.access(trace.successor(access.event)?)?;
    let is_there = next.kind != AccessKind::Free && next.addr.checked_sub(used.read).is_some_and(|by| by < REACH);
    (is_there && !trace.cell(used.cell).external).then_some(used.cell)
}

/// What to ask, by the positions of the write and of the read, in the order of π.
fn candidates(known: &Decider<'_>, raced: &HashSet<(CodePosition, CodePosition)>) -> Vec<Vec<Zero>> {
    let trace = known.trace;
    let mut comparisons = Comparisons::of(trace.tables());
    let mut pointers: HashMap<CellId, Pointer> = HashMap::new();
    for access in trace.accesses() {
        // Who compares at once what it got is prepared for 0.
        if let Some(cell) = followed(trace, access)
            && !comparisons.follow(trace.pc(access.event))
        {
            pointers.entry(cell).or_default().followed.push(access.event);
        }
    }
    for access in trace.accesses().filter(|access| access.kind.writes_value()) {
        for used in trace.uses(access) {
            if let Some(pointer) = pointers.get_mut(&used.cell) {
                pointer.first.get_or_insert(access.event);
                if used.written == 0 {
                    pointer.zeros.push(access.event);
                }
            }
        }
    }
    let order = known.order_on(Grounds::Structure);
    let mut rows: HashMap<(CodePosition, CodePosition), Vec<Zero>> = HashMap::new();
    for (cell, pointer) in pointers {
        for &read in &pointer.followed {
            let at = pointer.zeros.partition_point(|&write| write < read);
            let near = &pointer.zeros[at.saturating_sub(NEAREST)..(at + NEAREST).min(pointer.zeros.len())];
            let zero = |initial| move |&write: &EventId| Zero { write, read, initial };
            let first = pointer.first.filter(|_| trace.cell(cell).initial == Some(0));
            let asked = near.iter().map(zero(false)).chain(first.iter().map(zero(true)));
            for zero in asked.filter(|zero| trace.thread(zero.write) != trace.thread(read)) {
                let is_ordered = match zero.initial {
                    true => order.before(zero.write, read),
                    false => order.before(read, zero.write),
                };
                let positions = (trace.pc(zero.write), trace.pc(read));
                if !is_ordered && !raced.contains(&ordered(positions)) {
                    rows.entry(positions).or_default().push(zero);
                }
            }
        }
    }
    let mut rows: Vec<Vec<Zero>> = rows.into_values().collect();
    for row in &mut rows {
        row.sort_by_key(|zero| (zero.write.0.abs_diff(zero.read.0), *zero));
    }
    rows.sort_unstable_by_key(|row| row.iter().min().copied());
    rows
}

/// The first of these that is witnessed.
fn decide(known: &Decider<'_>, row: &[Zero], rejected: &mut Vec<Rejected>) -> Option<Pair> {
    let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
    let mut steps = Steps::unbounded();
    let mut session = None;
    let mut instances = Instances {
        total: row.len() as u64,
        ..Instances::default()
    };
    let accepted = |schedule: &Schedule| known.checker.check(schedule);
    for zero in row.iter().take(limit) {
        if known.options.out_of_time() {
            break;
        }
        instances.tried += 1;
        let witnessed = |schedule| {
            let example = (zero.write.min(zero.read), zero.write.max(zero.read));
            Some(known.witnessed(example, schedule, instances))
        };
        // What is found so brings the read behind the write, perhaps with another write between.
        let quick = quickly(known, zero, &mut steps);
        if let Some(schedule) = quick.filter(|schedule| accepted(schedule).is_ok()) {
            return witnessed(schedule);
        }
        if known.options.solver == Solver::Native || known.trace.len() > MAX_EVENTS_Z3 {
            continue;
        }
        let session = session.get_or_insert_with(|| case::session(known, known.order));
        if let Answer::Feasible(prefix) = session.ask(&zero.goal()) {
            let schedule = known.schedule_of(0, &prefix, zero.goal());
            match accepted(&schedule) {
                Ok(_) => return witnessed(schedule),
                Err(rejection) => rejected.push(reject(schedule, &rejection)),
            }
        }
    }
    None
}

/// A schedule by the predictor or our own solver. They know nothing of the value, so it may show another one.
fn quickly(known: &Decider<'_>, zero: &Zero, steps: &mut Steps) -> Option<Schedule> {
    let ending = zero.ending();
    if known.solver_only() || known.needs.exclude(ending) {
        return None;
    }
    let predicted = known
        .predictor
        .predict_late(ending)
        .or_else(|| known.predictor.predict(ending));
    if let Some(cut) = predicted {
        return Some(known.schedule(&cut, zero.goal()));
    }
    if known.options.solver == Solver::Z3 {
        return None;
    }
    match known.native.ask(ending, steps) {
        NativeAnswer::Feasible(as_recorded, then) => Some(known.schedule_of(as_recorded, &then, zero.goal())),
        NativeAnswer::Infeasible | NativeAnswer::Unknown => None,
    }
}
