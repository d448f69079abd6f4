//! What an event is called, for counting and for failure reports.

use trace_format::{Event, Op, WaitOutcome};

/// How many kinds [`kind`] can tell apart.
pub const KINDS: usize = 35;

/// The kind of an event, for counting.
pub fn kind(op: &Op) -> &'static str {
    match op {
        Op::Begin => "begin",
        Op::End => "end",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::Read { .. } => "read",
        Op::Write { .. } => "write",
        Op::Acquire { .. } => "acquire",
        Op::AcquireShared { .. } => "acquire shared",
        Op::Release { .. } => "release",
        Op::AcquireFailed { .. } => "acquire failed",
        Op::WaitBegin { .. } => "wait begin",
        Op::WaitEnd {
            outcome: WaitOutcome::Notified,
            ..
        } => "wait end, notified",
        Op::WaitEnd {
            outcome: WaitOutcome::TimedOut,
            ..
        } => "wait end, timed out",
        Op::Notify { .. } => "notify",
        Op::NotifyAll { .. } => "notify all",
        Op::BarrierEnter { .. } => "barrier enter",
        Op::BarrierExit { .. } => "barrier exit",
        Op::SemPost { .. } => "semaphore post",
        Op::SemWait { .. } => "semaphore wait",
        Op::SemWaitFailed { .. } => "semaphore wait failed",
        Op::SemValue { .. } => "semaphore value",
        Op::OnceBegin { .. } => "once begin",
        Op::OnceEnd { .. } => "once end",
        Op::OnceWait { .. } => "once wait",
        Op::Use { .. } => "use",
        Op::Destroy { .. } => "destroy",
        Op::AtomicLoad { .. } => "atomic load",
        Op::AtomicStore { .. } => "atomic store",
        Op::AtomicRmw { .. } => "atomic read-modify-write",
        Op::Fence { .. } => "fence",
        Op::Alloc { .. } => "alloc",
        Op::Free { .. } => "free",
        Op::Branch => "branch",
        Op::Input { .. } => "input",
        Op::Output { .. } => "output",
    }
}

/// The events, one a line, to paste into a failure report.
pub fn describe(events: &[Event]) -> String {
    let line =
        |(number, event): (usize, &Event)| format!("{number:3} t{} {:#x} {:?}\n", event.thread.0, event.pc, event.op);
    events.iter().enumerate().map(line).collect()
}
