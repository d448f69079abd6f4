//! What a waiting thread looks for on behalf of all: deadlines, sleeping holders, deadlock. One of the threads that
//! sleep is the *watcher*; the role passes on whenever it gets the baton.
//!
//! *Deadlines.* Recording slows a program down, so a timed wait that would have been woken in time
//! must not time out just because everything takes longer. Its deadline takes effect when nobody
//! can run, or after a grace period. So timeouts do not depend on the machine's speed unless
//! a program runs longer than the grace period while something waits.
//!
//! *Sleeping holders.* The thread with the baton may sleep in a call that the runtime does not
//! model (a lock inside libc, a device). If it passed no hook since the last look and the kernel
//! says that it sleeps, the baton is taken from it.
//!
//! *Running holders.* If it runs, and has used a second of processor time without a hook, it is interrupted.
//!
//! *Deadlock.* Nobody can run, nobody is outside, no deadline is left: only a signal handler could
//! change that, and only for waits that a handler may end: it posts a semaphore, notifies, wakes a futex. It does not
//! give back a lock that a waiting thread holds, nor end a thread. So the program is ended, and the parent told, if no
//! handler is installed that a signal from outside could run, nor a notification by a thread of the C library's own asked
//! for, or if each thread waits for a lock or another thread.

use crate::host::Host;
use crate::scheduler::Scheduler;
use crate::thread::NEVER;
use core::ptr;
use core::sync::atomic::Ordering::SeqCst;

/// How long a deadline waits for threads that can run.
const GRACE_NANOS: i64 = 50_000_000;
/// Time between two looks, at first and at most.
const SHORTEST_NANOS: u64 = 1_000_000;
const LONGEST_NANOS: u64 = 16_000_000;

/// What the watcher saw last.
pub(crate) struct Watch<H: Host> {
    holder: Option<&'static H::Thread>,
    far: (u64, u64),
    /// The processor time that the holder had used then.
    used: i64,
    /// When.
    at: i64,
    pause: u64,
}

impl<H: Host> Watch<H> {
    pub(crate) fn new() -> Self {
        Self {
            holder: None,
            far: (0, 0),
            used: 0,
            at: NEVER,
            pause: SHORTEST_NANOS,
        }
    }

    /// Looks; how long to sleep until the next look, or `None` to see whether the baton came.
    pub(crate) fn look(&mut self, scheduler: &Scheduler<H>, me: &'static H::Thread) -> Option<u64> {
        let host = &scheduler.host;
        let now = host.real_now();
        let since = now.saturating_sub(core::mem::replace(&mut self.at, now)).max(0);
        let Some(holder) = scheduler.holder() else {
            return self.look_without_holder(scheduler, since);
        };
        scheduler.expire(host.now() - GRACE_NANOS);
        let far = host.how_far(holder);
        let is_same = self.holder.is_some_and(|before| ptr::eq(before, holder));
        if !is_same || self.far != far {
            (self.holder, self.far, self.used) = (Some(holder), far, host.time_used(holder));
            self.pause = SHORTEST_NANOS;
            return Some(SHORTEST_NANOS);
        }
        scheduler.exiting.lose_patience(since);
        let idle = holder.busy.load(SeqCst) == 0 && scheduler.has_successor();
        if idle && host.sleeps(holder) {
            if scheduler.steal(holder, far, me) {
                self.holder = None;
                return None;
            }
        } else if idle && host.interrupt_if_due(holder, host.time_used(holder) - self.used) {
            return Some(SHORTEST_NANOS);
        }
        Some(self.longer())
    }

    fn look_without_holder(&mut self, scheduler: &Scheduler<H>, since: i64) -> Option<u64> {
        let now = scheduler.host.now();
        let next = scheduler.expire(now);
        let followed = scheduler.plan.is_followed();
        scheduler.dispatch();
        // If the plan is over now, deadlines count again.
        if scheduler.holder().is_some() || followed && !scheduler.plan.is_followed() {
            return None;
        }
        scheduler.exiting.lose_patience(since);
        if scheduler.exit_if_alone(now, next) {
            return None;
        }
        if next == NEVER && scheduler.is_deadlocked() {
            scheduler.host.deadlock();
        }
        self.holder = None;
        Some(self.longer().min(next.saturating_sub(now) as u64))
    }

    fn longer(&mut self) -> u64 {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_NANOS);
        pause
    }
}

impl<H: Host> Scheduler<H> {
    /// Whether nobody who waits will ever be woken, while nobody runs and no deadline is left.
    fn is_deadlocked(&self) -> bool {
        let ends_by_a_handler =
            |thread: &H::Thread| thread.waits_for.get().is_none_or(|(what, ..)| what.ends_by_a_handler());
        let by_a_handler = || self.blocked.iter().any(ends_by_a_handler) && self.host.handles_signals();
        let may_end = self.plan.is_followed() || self.host.threads_may_come() || by_a_handler();
        self.outside.get() == 0 && !may_end
    }
}
