//! What is known of the program's design while its atomicity violations are decided (`docs/SEMANTICS.md`, section 4).
//!
//! Priorities and reality do not change which prefixes are feasible. They say of accesses that would have to come
//! between those of another thread that they never do, and whoever is told so is told that a file says it.

use super::slices::Slice;
use crate::design::{Meant, Threads};
use crate::trace::{EventId, Op, Trace};
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
        let mut between = trace.program_order(interrupted)[between].iter();
        // Who waits lets the others run, whatever their priority.
        let gives_way = between.any(|&event| may_wait(trace, event));
        (!gives_way).then_some(Refutation::Priority { interrupted, by, lines })
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
        Op::Begin | Op::End | Op::Fork { .. } | Op::Access(_) | Op::Release { .. } => false,
        Op::Notify { .. } | Op::NotifyAll { .. } | Op::SemPost { .. } | Op::SemValue { .. } => false,
        Op::OnceEnd { .. } | Op::Fence { .. } | Op::Alloc { .. } | Op::Branch | Op::Output { .. } => false,
    }
}
