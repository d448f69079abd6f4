//! What a run is to do first: events, by what tells them apart in a run whose trace does not exist yet.

use crate::trace::{AccessKind, EventId, ObjectId, Op, ThreadId, Trace, WaitOutcome};
use recorder_ring::plan;
use trace_format::{Event, Op as FileOp, Tables};

/// One event of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its thread, by its number in the run: threads are numbered in the order in which they are created.
    pub thread: ThreadId,
    /// What it does: one of [`plan::kind`].
    pub kind: u8,
    /// Where in the code, if that is to be compared, too.
    pub pc: Option<u64>,
    /// What of its outcome is for the scheduler to choose.
    pub choice: Choice,
}

/// What the scheduler chooses at an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Nothing, or it is left to the policy.
    #[default]
    Free,
    /// Of a notify: this thread wakes.
    Wakes(ThreadId),
    /// Of the end of a wait: a notify has ended it, or (`true`) it has timed out.
    TimesOut(bool),
    /// Of a write by the kernel and of an input: the value that the program got then, and gets again.
    Gets(u64),
    /// Of an input that is a signal: that signal comes.
    Signal(plan::Signal),
}

impl Step {
    /// The event of a trace, to be done again as it was done there; `woken` is whom it wakes, if it is a notify.
    #[must_use]
    pub fn of(trace: &Trace, event: EventId, woken: Option<ThreadId>) -> Step {
        let choice = match (trace.op(event), woken) {
            (Op::Notify { .. }, Some(woken)) => Choice::Wakes(woken),
            (Op::WaitEnd { outcome, .. }, _) => Choice::TimesOut(outcome == WaitOutcome::TimedOut),
            (Op::Input { source, value }, _) => match signal(trace.tables(), source, value) {
                Some(signal) => Choice::Signal(signal),
                None => Choice::Gets(value),
            },
            _ => written(trace, event).map_or(Choice::Free, Choice::Gets),
        };
        Step {
            thread: trace.thread(event),
            kind: trace.in_file(event).kind(),
            pc: Some(trace.pc(event)),
            choice,
        }
    }

    /// The same of an event as the file has it, of which no trace was made.
    pub(crate) fn of_event(event: &Event, tables: &Tables, woken: Option<ThreadId>) -> Step {
        let choice = match (event.op, woken) {
            (FileOp::Notify { .. }, Some(woken)) => Choice::Wakes(woken),
            (FileOp::WaitEnd { outcome, .. }, _) => Choice::TimesOut(outcome == WaitOutcome::TimedOut),
            (FileOp::Input { source, value }, _) => match signal(tables, source, value) {
                Some(signal) => Choice::Signal(signal),
                None => Choice::Gets(value),
            },
            (FileOp::Write { value, .. }, _) => Choice::Gets(value),
            _ => Choice::Free,
        };
        Step {
            thread: event.thread,
            kind: event.op.kind(),
            pc: Some(event.pc),
            choice,
        }
    }

    /// As the runtime knows it.
    pub(crate) fn to_plan(self) -> plan::Step {
        let (other, value) = match self.choice {
            Choice::Free => (None, None),
            Choice::Wakes(thread) => (Some(thread.0), None),
            Choice::TimesOut(times_out) => (None, Some(times_out.into())),
            Choice::Gets(value) => (None, Some(value)),
            Choice::Signal(signal) => (Some(signal.encode()), Some(signal.number.into())),
        };
        plan::Step {
            thread: self.thread.0,
            kind: self.kind,
            pc: self.pc.map(|pc| (pc & plan::PC_MASK) as u16),
            race: false,
            other,
            value,
        }
    }
}

/// The signal from outside that an input is, if it is one.
fn signal(tables: &Tables, source: ObjectId, value: u64) -> Option<plan::Signal> {
    let object = tables.object(source)?;
    (object.addr >= plan::SIGNALS).then_some(plan::Signal {
        number: value as u32,
        waits: object.addr & plan::WAITS != 0,
    })
}

/// The value that an event leaves in memory, if it does so.
fn written(trace: &Trace, event: EventId) -> Option<u64> {
    let access = trace.access(event).filter(|access| access.kind == AccessKind::Write)?;
    Some(trace.numbers(access).fold(0, |value, used| {
        let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
        value | used.written.checked_shl(shift).unwrap_or(0)
    }))
}
