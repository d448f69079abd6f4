//! What is known of the program's design while something is decided (`docs/SEMANTICS.md`, section 4).
//!
//! Priorities and reality do not change which prefixes are feasible. They say of accesses that would have to come
//! between those of another thread that they never do, and whoever is told so is told that a file says it.

use super::slices::Slice;
use crate::design::{Design, Meant, Threads};
use crate::prune::held_at;
use crate::symbols::Symbols;
use crate::trace::{EventId, ObjectId, Op, Sections, Trace};
use crate::verdict::Refutation;

/// What is to be taken from the design, once names are found.
#[derive(Default)]
pub(super) struct Intent {
    /// What the regions are called that are atomic, those that the program marks behind those of the file.
    pub names: Vec<String>,
    /// What is said of threads.
    threads: Threads,
    /// What the variables of interest depend on.
    slice: Option<Slice>,
}

impl Intent {
    pub(super) fn of(meant: &Meant<'_>, trace: &Trace, marked: &[String]) -> Intent {
        let of_file = (0..meant.atomic_places()).filter_map(|place| meant.name_of(place));
        Intent {
            names: of_file.chain(marked.iter().cloned()).collect(),
            threads: meant.threads().clone(),
            slice: meant.sliced().map(|cells| Slice::of(trace, &cells)),
        }
    }

    /// Whether what is of interest may depend on one of these accesses.
    pub(super) fn is_of_interest(&self, trace: &Trace, events: &[EventId]) -> bool {
        let slice = self.slice.as_ref();
        slice.is_none_or(|slice| events.iter().any(|&event| slice.has(trace, event)))
    }

    /// Why, by the design, an access of another thread never comes between two events of a thread.
    pub(super) fn keeps_out(&self, trace: &Trace, (from, to): (EventId, EventId), by: EventId) -> Option<Refutation> {
        let (interrupted, by) = (trace.thread(from), trace.thread(by));
        if let Some(line) = self.threads.keep_apart(interrupted, by) {
            let threads = (interrupted, by);
            return Some(Refutation::Reality { threads, line });
        }
        let lines = self.threads.keep_from_interrupting(interrupted, by)?;
        let between = trace.place(from) as usize + 1..trace.place(to) as usize;
        let mut between = trace.program_order(interrupted).excerpt(between);
        // Who waits lets the others run, whatever their priority.
        let gives_way = between.any(|event| may_wait(trace, event));
        (!gives_way).then_some(Refutation::Priority { interrupted, by, lines })
    }

    /// What is said of threads, and nothing else.
    pub(super) fn of_threads(design: Option<&Design>, trace: &Trace) -> Intent {
        let Some(design) = design.filter(|design| design.speaks_of_threads()) else {
            return Intent::default();
        };
        let symbols = Symbols::new(trace.tables());
        let threads = Meant::of(design, trace, &symbols).threads().clone();
        Intent {
            threads,
            ..Intent::default()
        }
    }

    /// Why, by the design, two accesses are never next at once: neither comes between the other one and what its thread
    /// does before that. (Of what a thread begins with, nothing is said.)
    pub(super) fn excludes_race(&self, trace: &Trace, a: EventId, b: EventId) -> Option<Refutation> {
        let interrupts = |by: EventId, next: EventId| match trace.predecessor(next) {
            Some(before) => self.keeps_out(trace, (before, next), by),
            None => None,
        };
        let why = interrupts(a, b)?;
        interrupts(b, a).map(|_| why)
    }

    /// Why, by the design, these operations never wait for each other: whose thread took first what another one waits
    /// for, between that and its own wait the others took theirs.
    pub(super) fn excludes_deadlock(
        &self,
        trace: &Trace,
        sections: &Sections,
        waiting: &[EventId],
    ) -> Option<Refutation> {
        if !self.speaks_of_threads() {
            return None;
        }
        let wanted: Vec<ObjectId> = waiting.iter().filter_map(|&event| trace.op(event).lock()).collect();
        let taken = |&event: &EventId| {
            let held = held_at(trace, sections, event);
            let held = held.iter().filter(|(lock, ..)| wanted.contains(lock));
            held.map(|&(.., acquire)| (acquire, event)).max()
        };
        // Of a thread that is waited for itself, nothing is known.
        let holds: Vec<(EventId, EventId)> = waiting.iter().map(taken).collect::<Option<_>>()?;
        let kept_out = |&(from, to): &(EventId, EventId)| {
            let others = holds.iter().filter(|&&(other, _)| other != from);
            others
                .into_iter()
                .find_map(|&(other, _)| self.keeps_out(trace, (from, to), other))
        };
        let mut why = holds.iter().map(kept_out);
        let first = why.next()??;
        why.all(|why| why.is_some()).then_some(first)
    }

    /// Whether the design says anything of threads.
    pub(super) fn speaks_of_threads(&self) -> bool {
        !self.threads.is_empty()
    }
}

/// Whether an operation may wait for other threads.
fn may_wait(trace: &Trace, event: EventId) -> bool {
    match trace.op(event) {
        Op::Acquire { .. } | Op::AcquireShared { .. } | Op::Join { .. } => !trace.is_attempt(event),
        Op::SemWait { .. } => true,
        Op::AcquireFailed { .. } | Op::WaitBegin { .. } | Op::WaitEnd { .. } | Op::SemWaitFailed { .. } => true,
        Op::BarrierEnter { .. } | Op::BarrierExit { .. } | Op::OnceBegin { .. } | Op::OnceWait { .. } => true,
        Op::Input { .. } => true,
        Op::Begin | Op::End | Op::Fork { .. } | Op::Access | Op::Release { .. } => false,
        Op::Notify { .. } | Op::NotifyAll { .. } | Op::SemPost { .. } | Op::SemValue { .. } => false,
        Op::OnceEnd { .. } | Op::Fence { .. } | Op::Alloc { .. } | Op::Branch | Op::Output { .. } => false,
    }
}
