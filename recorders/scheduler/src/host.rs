//! What the scheduler asks of the world.

use crate::intent::Access;
use crate::thread::{Handled, Scheduled};
use core::ops::Deref;
use recorder_ring::Decision;
use recorder_ring::layout::Progress;

/// The world, as the scheduler sees it: a clock, a place to sleep, what is recorded, and the threads' own doings.
pub trait Host: Sized + 'static {
    /// A thread of the program. It lives for ever, and its record may be used again.
    type Thread: Deref<Target = Scheduled> + 'static;

    // The clock.

    /// Nanoseconds on the program's monotonic clock.
    fn now(&self) -> i64;
    /// Nanoseconds on the system's, of which nothing is skipped.
    fn real_now(&self) -> i64;
    /// Whether time may be skipped.
    fn may_skip_time(&self) -> bool;
    /// Whether the program's clocks stand. Then time that nobody uses is skipped under every policy.
    fn clocks_stand(&self) -> bool {
        false
    }
    /// Goes on to a moment on the program's clock, unless it is past; how far that was.
    fn skip_to(&self, moment: i64) -> i64;

    // Sleeping.

    /// Sleeps while the thread's [`word`](Scheduled::word) is 0, at most so long; may come back for no reason. True if
    /// a signal handler ended the sleep.
    fn park(&self, thread: &Self::Thread, nanos: Option<u64>) -> bool;
    /// Ends that sleep.
    fn unpark(&self, thread: &Self::Thread);
    /// The scheduler was locked, so many times in a row.
    fn relax(&self, tries: u32);
    /// The calling thread, which is away, sleeps for so long.
    fn rest(&self, nanos: u64);
    /// Waits until the kernel has ended the thread with this number.
    fn await_end(&self, number: i32);

    // What is recorded.

    /// How many events the trace has.
    fn events(&self) -> u64;
    /// From here on `to` runs, and no longer `from`.
    fn switched(&self, from: Option<&Self::Thread>, to: &Self::Thread);
    /// Counts the hooks that the thread, which has the baton, has passed on the fast path.
    fn count_hooks(&self, thread: &Self::Thread);
    /// Records the thread's last write, which is done.
    fn settle(&self, thread: &Self::Thread);

    // What threads do on the way.

    /// The calling thread runs the handlers of its signals, and ends if it is cancelled, or if the trace has `most`
    /// events.
    fn poll(&self, me: &'static Self::Thread, most: u64);
    /// Whether it is to end as soon as it comes to a hook.
    fn ends_at_hook(&self, me: &Self::Thread) -> bool;
    /// The calling thread, which has waited, runs the handlers of its signals.
    fn handle_signals(&self, me: &'static Self::Thread) -> Handled;
    /// The calling thread waits again, for what it waited for before.
    fn waits_again(&self, me: &Self::Thread, deadline: i64);

    /// What is in the memory that an access is about to be made of, if that is there and not longer than a value.
    fn value(&self, access: &Access) -> Option<u64>;
    /// Whether an address is on the thread's own stack.
    fn is_on_stack(&self, thread: &Self::Thread, addr: usize) -> bool;

    // What the watcher looks at.

    /// How far the holder has come: changes whenever it passes a hook that records something, or enters the runtime.
    fn how_far(&self, holder: &Self::Thread) -> (u64, u64);
    /// How much processor time the thread has used.
    fn time_used(&self, thread: &Self::Thread) -> i64;
    /// Whether the kernel says that the thread sleeps, or is gone.
    fn sleeps(&self, thread: &Self::Thread) -> bool;
    /// Whether the kernel says that the thread is gone, though it has not said that it ends.
    fn is_gone(&self, thread: &Self::Thread) -> bool;
    /// Interrupts the holder, which has used so much processor time without coming to a hook, if it has had enough;
    /// whether it has.
    fn interrupt_if_due(&self, holder: &Self::Thread, used: i64) -> bool;
    /// A full memory barrier on every thread of the process; false if there is none.
    fn barrier_everywhere(&self) -> bool;
    /// The baton was taken from this thread, which sleeps outside of the runtime.
    fn stolen(&self, from: &'static Self::Thread);
    /// Whether a signal from outside could run a handler of the program's.
    fn handles_signals(&self) -> bool;
    /// Whether a thread could appear that nobody creates in sight.
    fn threads_may_come(&self) -> bool;
    /// Whether that thread could be the next.
    fn may_come(&self, thread: u32) -> bool;
    /// Every thread waits for another one, for ever.
    fn deadlock(&self) -> !;

    // Along a plan.

    /// How far the run has come along its plan.
    fn progress(&self) -> &Progress;
    /// Whether a signal that the program sent will interrupt the wait of this blocked thread.
    fn is_on_its_way(&self, thread: &Self::Thread) -> bool;
    /// The thread is parked before these accesses; its number with the kernel.
    fn parks(&self, thread: &Self::Thread, accesses: impl Iterator<Item = Access>) -> u32;
    /// The program stands still until somebody says which of the parked threads goes first.
    fn await_decision(&self) -> Decision;
    /// The plan cannot be followed any further, and nothing comes after it.
    fn end(&self) -> !;
}
