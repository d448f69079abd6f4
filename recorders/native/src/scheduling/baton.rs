//! The baton: the right to run. One thread of the program has it, the others wait: [`recorder_scheduler`], for this
//! process.

use crate::scheduling::thread::Thread;
use recorder_ring::Settings;
use recorder_scheduler::{Intent, Scheduler, Woken};

pub use recorder_scheduler::{ASLEEP, MAX_THREADS};

/// This process, as the scheduler's world: see [`host`](crate::process::host).
pub struct Process;

/// Who waits for what in this process.
pub static SCHEDULER: Scheduler<Process> = Scheduler::new(Process);

/// Starts the run with its first thread, which has the baton.
pub fn start(settings: Settings, first: &'static Thread) {
    SCHEDULER.start(settings, first);
}

/// In a forked child, frozen: the calling thread is the only one there is.
pub fn start_over(settings: Settings, me: &'static Thread) {
    SCHEDULER.start_over(settings, me);
}

/// Whether the thread has the baton.
#[inline(always)]
pub fn is_holder(thread: &Thread) -> bool {
    SCHEDULER.is_holder(thread)
}

/// A thread that has the baton waits until one wakes it that names the same `key`, or until the
/// deadline, and has the baton again.
pub fn block(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    SCHEDULER.block(me, key, deadline)
}

/// As [`block`], where the thread may be cancelled.
pub fn block_cancellably(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    SCHEDULER.block_cancellably(me, key, deadline)
}

/// Wakes up to `count` of the threads blocked on `key`. The caller has the baton.
pub fn wake(key: usize, count: usize) {
    SCHEDULER.wake(key, count);
}

/// As [`wake`]; tells of each thread that it wakes.
pub fn wake_each(key: usize, count: usize, tell: impl FnMut(&'static Thread)) {
    SCHEDULER.wake_each(key, count, tell);
}

/// Wakes the thread that has been blocked on `key` for longest, of those that `accepts` says; which.
pub fn wake_longest(key: usize, accepts: impl Fn(&Thread) -> bool) -> Option<&'static Thread> {
    SCHEDULER.wake_longest(key, accepts)
}

/// Lets up to `count` of the threads blocked on `from` wait for `to` from now on; tells of each. The caller has the
/// baton.
pub fn requeue(from: usize, to: usize, count: usize, tell: impl FnMut(&'static Thread)) {
    SCHEDULER.requeue(from, to, count, tell);
}

/// Tells of each thread that waits for `key`. The caller has the baton.
pub fn each_blocked(key: usize, tell: impl FnMut(&'static Thread)) {
    SCHEDULER.each_blocked(key, tell);
}

/// How many threads wait for `key`. The caller has the baton.
pub fn count_blocked(key: usize) -> usize {
    SCHEDULER.count_blocked(key)
}

/// Gives others a chance; a thread that is alone goes on. The caller has the baton.
pub fn yield_now(me: &'static Thread) {
    SCHEDULER.yield_now(me);
}

/// The thread, which has passed the hooks of its turn, is about to make an access. The caller has the baton.
#[cold]
#[inline(never)]
pub fn turn_over(me: &'static Thread, intent: &Intent) {
    SCHEDULER.turn_over(me, intent);
}

/// Makes the holder poll at its next hook.
#[inline(always)]
pub fn revoke_fast_path() {
    SCHEDULER.revoke_fast_path();
}
