//! Threads that wait for another one, or for a moment.

use super::{SCHEDULER, Scheduler, lock, wait};
use crate::inside::Inside;
use crate::signals::{Afterwards, Delivered};
use crate::thread::{NEVER, Thread, Woken, state};
use crate::{clocks, pending, schedule, signals};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What a thread waits for that sleeps: nobody wakes it.
pub const ASLEEP: usize = 0;

/// A wait for another thread that is not longer than this may end in vain at any point, under the random policies: a longer
/// one is there to notice that something went wrong.
const SHORT_NANOS: i64 = 1_000_000_000;

/// A signal came to a thread that is without the baton: if it is blocked, it will get it.
pub(super) fn wake_for_signal(me: &'static Thread) {
    let scheduler = lock();
    let Some(at) = scheduler.blocked.position(me) else {
        return;
    };
    if me.interruptible.get() {
        scheduler.unblock(at, Woken::Signal);
    } else {
        scheduler.interrupt(at);
    }
    scheduler.dispatch();
}

/// A thread that has the baton waits until one wakes it that names the same `key`, or until the
/// deadline, and has the baton again.
pub fn block(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    loop {
        let woken = block_once(me, key, deadline);
        let interruptions = me.interrupted.take();
        let waits_for = me.waits_for.take();
        if woken != Woken::Signal {
            return woken;
        }
        // The handlers may wait, too.
        let ends_the_wait = me.interruptible.replace(false);
        let cancellable = me.cancellable.replace(false);
        let delivered = signals::deliver(&Inside::of(me), Afterwards::AsBefore);
        me.interruptible.set(ends_the_wait);
        me.cancellable.set(cancellable);
        if interruptions == 0 {
            return match delivered {
                // It looks again: somebody may have woken it meanwhile.
                Delivered::Nothing if key != ASLEEP => Woken::Thread,
                Delivered::Nothing if deadline > clocks::now(libc::CLOCK_MONOTONIC) => continue,
                Delivered::Nothing => Woken::Deadline,
                Delivered::Restarts => Woken::Restart,
                Delivered::Interrupts => woken,
            };
        }
        if lock().resume(me, key, interruptions) {
            return Woken::Thread;
        }
        if cancellable && me.cancelled.get() {
            return Woken::Cancel;
        }
        if let Some((what, addr, pc)) = waits_for {
            pending::waits(me, what, addr, pc, deadline);
        }
    }
}

fn block_once(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    let scheduler = lock();
    me.key.set(key);
    me.deadline.set(deadline);
    me.state.store(state::BLOCKED, Relaxed);
    scheduler.blocked.push(me);
    // Along a plan all deadlines are in the past that the program worked out from the time of the recorded run.
    if !schedule::is_followed() {
        scheduler.heed_deadline(scheduler.blocked.len() - 1);
    }
    if me.deferred.load(SeqCst) != 0 {
        // It came since the thread looked up last, which may have slept since then.
        me.word.store(1, Relaxed);
    }
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
    me.woken_by.get()
}

impl Scheduler {
    /// Says when the wait of the blocked thread at `at` may end by its deadline. True if it has ended.
    fn heed_deadline(&self, at: usize) -> bool {
        let Some(thread) = self.blocked.get(at) else {
            return false;
        };
        let (key, deadline) = (thread.key.get(), thread.deadline.get());
        if deadline == NEVER {
            return false;
        }
        // A deadline in the past takes effect at once, else its moment would depend on the watcher.
        let now = clocks::now(libc::CLOCK_MONOTONIC);
        if deadline <= now {
            self.unblock(at, Woken::Deadline);
            return true;
        }
        if (key == ASLEEP || deadline - now <= SHORT_NANOS)
            && clocks::may_be_skipped()
            && self.choices.wait(thread, key == ASLEEP)
        {
            thread.may_wake.set(true);
            self.sleepers.set(self.sleepers.get() + 1);
        }
        false
    }

    /// The plan is over: the policy decides from here on.
    pub(super) fn leave_plan(&self) {
        schedule::is_over();
        // SAFETY: null or a thread, which lives for ever.
        self.choices.take_over(unsafe { self.last_recorded.get().as_ref() });
        let mut at = 0;
        while at < self.blocked.len() {
            if !self.heed_deadline(at) {
                at += 1;
            }
        }
    }
}

/// As [`block`], where the thread may be cancelled.
pub fn block_cancellably(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    me.cancellable.set(true);
    let woken = block(me, key, deadline);
    me.cancellable.set(false);
    woken
}

/// A thread is to be cancelled: where it may be, that ends its wait. The caller has the baton.
pub fn cancel(thread: &'static Thread) {
    let scheduler = lock();
    if thread.cancellable.get()
        && let Some(at) = scheduler.blocked.position(thread)
    {
        scheduler.unblock(at, Woken::Cancel);
    }
}

/// Wakes up to `count` of the threads blocked on `key`. The caller has the baton.
pub fn wake(key: usize, count: usize) {
    // A signal moves threads from the first to the second, to which they are added before they leave the first.
    if !SCHEDULER.blocked.is_empty() || !SCHEDULER.interrupted.is_empty() {
        wake_each(key, count, |_| {});
    }
}

/// As [`wake`]; tells of each thread that it wakes.
pub fn wake_each(key: usize, count: usize, mut tell: impl FnMut(&'static Thread)) {
    let scheduler = lock();
    for _ in 0..count {
        let waiting = || waiting(&scheduler, key).filter(|(_, thread)| schedule::may_be_woken(thread));
        let Some(chosen) = scheduler.choices.pick(waiting().map(|(_, thread)| thread)) else {
            break;
        };
        let chosen = schedule::pick_waiter(waiting().map(|(_, thread)| thread)).unwrap_or(chosen);
        let Some((at, thread)) = waiting().nth(chosen) else {
            break;
        };
        tell(thread);
        match at {
            Some(at) => scheduler.unblock(at, Woken::Thread),
            None => scheduler.end_interrupted(thread, key),
        }
    }
}

/// The threads that wait for `key`: those that are blocked, each with its place, and those that run a signal handler
/// meanwhile, unless that waits for it, too.
fn waiting(scheduler: &Scheduler, key: usize) -> impl Iterator<Item = (Option<usize>, &'static Thread)> + Clone {
    let blocked = scheduler.blocked.waiting(key);
    let by_place = blocked.clone().map(|(at, thread)| (Some(at), thread));
    let interrupted = scheduler.interrupted.waiting(key).map(|(_, thread)| (None, thread));
    let is_blocked = move |thread: &Thread| blocked.clone().any(|(_, other)| ptr::eq(other, thread));
    by_place.chain(interrupted.filter(move |(_, thread)| !is_blocked(thread)))
}

/// How many threads wait for `key`. The caller has the baton.
pub fn count_blocked(key: usize) -> usize {
    waiting(&lock(), key).count()
}
