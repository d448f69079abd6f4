//! Threads that wait for another one, or for a moment.

use crate::host::Host;
use crate::scheduler::Scheduler;
use crate::thread::{Handled, NEVER, Woken, state};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What a thread waits for that sleeps: nobody wakes it.
pub const ASLEEP: usize = 0;

/// A wait for another thread that is not longer than this may end in vain at any point, under the random policies: a
/// longer one is there to notice that something went wrong.
const SHORT_NANOS: i64 = 1_000_000_000;

impl<H: Host> Scheduler<H> {
    /// A signal came to a thread that is without the baton: if it is blocked, it will get it.
    pub(crate) fn wake_for_signal(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
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
    pub fn block(&self, me: &'static H::Thread, key: usize, deadline: i64) -> Woken {
        loop {
            let woken = self.block_once(me, key, deadline);
            let interruptions = me.interrupted.take();
            let waits_for = me.waits_for.take();
            let waited_for = me.key.get();
            if woken != Woken::Signal {
                return woken;
            }
            // The handlers may wait, too.
            let ends_the_wait = me.interruptible.replace(false);
            let cancellable = me.cancellable.replace(false);
            let handled = self.host.handle_signals(me);
            me.interruptible.set(ends_the_wait);
            me.cancellable.set(cancellable);
            me.key.set(waited_for);
            if interruptions == 0 {
                return match handled {
                    // It looks again: somebody may have woken it meanwhile.
                    Handled::Nothing if key != ASLEEP => Woken::Thread,
                    Handled::Nothing if deadline > self.host.now() => continue,
                    Handled::Nothing => Woken::Deadline,
                    Handled::Restarts => Woken::Restart,
                    Handled::Interrupts => woken,
                };
            }
            if self.lock().resume(me, key, interruptions) {
                return Woken::Thread;
            }
            if cancellable && me.cancelled.get() {
                return Woken::Cancel;
            }
            if waits_for.is_some() {
                me.waits_for.set(waits_for);
                self.host.waits_again(me, deadline);
            }
        }
    }

    fn block_once(&self, me: &'static H::Thread, key: usize, deadline: i64) -> Woken {
        let scheduler = self.lock();
        me.key.set(key);
        me.deadline.set(deadline);
        me.state.store(state::BLOCKED, Relaxed);
        scheduler.blocked.push(me);
        // Along a plan all deadlines are in the past that the program worked out from the time of the recorded run.
        if !scheduler.plan.is_followed() {
            scheduler.heed_deadline(scheduler.blocked.len() - 1);
        }
        if me.deferred.load(SeqCst) != 0 {
            // It came since the thread polled last, which may have slept since then.
            me.word.store(1, Relaxed);
        }
        scheduler.pass(Some(me));
        drop(scheduler);
        self.wait(me);
        me.woken_by.get()
    }

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
        let now = self.host.now();
        if deadline <= now {
            self.unblock(at, Woken::Deadline);
            return true;
        }
        if (key == ASLEEP || deadline - now <= SHORT_NANOS)
            && self.host.may_skip_time()
            && self.choices.wait(thread, key == ASLEEP)
        {
            thread.may_wake.set(true);
            self.sleepers.set(self.sleepers.get() + 1);
        }
        false
    }

    /// The plan is over: the policy decides from here on. The scheduler is locked.
    pub(crate) fn leave_plan(&self) {
        self.plan.is_over();
        self.choices.take_over(self.last_recorded.get().map(|last| &**last));
        let mut at = 0;
        while at < self.blocked.len() {
            if !self.heed_deadline(at) {
                at += 1;
            }
        }
    }

    /// As [`block`](Self::block), where the thread may be cancelled.
    pub fn block_cancellably(&self, me: &'static H::Thread, key: usize, deadline: i64) -> Woken {
        me.cancellable.set(true);
        let woken = self.block(me, key, deadline);
        me.cancellable.set(false);
        woken
    }

    /// A thread is to be cancelled: where it may be, that ends its wait. The caller has the baton.
    pub fn cancel(&self, thread: &'static H::Thread) {
        let scheduler = self.lock();
        if thread.cancellable.get()
            && let Some(at) = scheduler.blocked.position(thread)
        {
            scheduler.unblock(at, Woken::Cancel);
        }
    }

    /// Wakes up to `count` of the threads blocked on `key`. The caller has the baton.
    pub fn wake(&self, key: usize, count: usize) {
        // A signal moves threads from the first to the second, to which they are added before they leave the first.
        if !self.blocked.is_empty() || !self.interrupted.is_empty() {
            self.wake_each(key, count, |_| {});
        }
    }

    /// As [`wake`](Self::wake); tells of each thread that it wakes.
    pub fn wake_each(&self, key: usize, count: usize, mut tell: impl FnMut(&'static H::Thread)) {
        let scheduler = self.lock();
        for _ in 0..count {
            let waiting = || scheduler.may_be_woken(key).map(|(_, thread)| &**thread);
            let Some(chosen) = scheduler.choices.pick(waiting()) else {
                break;
            };
            let named = scheduler.plan.pick_waiter(waiting());
            let Some((at, thread)) = scheduler.may_be_woken(key).nth(named.unwrap_or(chosen)) else {
                break;
            };
            tell(thread);
            scheduler.end_wait(at, thread, key);
        }
    }

    /// Wakes the thread that has been blocked on `key` for longest, of those that `accepts` says, whatever the policy;
    /// which. The caller has the baton.
    pub fn wake_longest(&self, key: usize, accepts: impl Fn(&H::Thread) -> bool) -> Option<&'static H::Thread> {
        let scheduler = self.lock();
        let (at, thread) = scheduler.may_be_woken(key).find(|(_, thread)| accepts(thread))?;
        scheduler.end_wait(at, thread, key);
        Some(thread)
    }

    /// The threads that wait for `key` and may go on now.
    fn may_be_woken(&self, key: usize) -> impl Iterator<Item = (Option<usize>, &'static H::Thread)> + Clone {
        self.waiting(key).filter(|(_, thread)| self.plan.may_be_woken(thread))
    }

    /// One of them has waited for long enough.
    fn end_wait(&self, at: Option<usize>, thread: &'static H::Thread, key: usize) {
        match at {
            Some(at) => self.unblock(at, Woken::Thread),
            None => self.end_interrupted(thread, key),
        }
    }

    /// Lets up to `count` of the threads blocked on `from` wait for `to` from now on, behind those that do, longest wait
    /// first; tells of each. The caller has the baton.
    pub fn requeue(&self, from: usize, to: usize, count: usize, mut tell: impl FnMut(&'static H::Thread)) {
        let scheduler = self.lock();
        // As many as there are now, or what goes from a key to itself would do so for ever.
        let count = count.min(scheduler.blocked.waiting(from).count());
        for _ in 0..count {
            let Some((at, thread)) = scheduler.blocked.waiting(from).next() else {
                break;
            };
            scheduler.blocked.remove(at);
            thread.key.set(to);
            scheduler.blocked.push(thread);
            tell(thread);
        }
    }

    /// The threads that wait for `key`: those that are blocked, each with its position, and those that run a signal
    /// handler meanwhile, unless that waits for it, too.
    fn waiting(&self, key: usize) -> impl Iterator<Item = (Option<usize>, &'static H::Thread)> + Clone {
        let blocked = self.blocked.waiting(key);
        let by_position = blocked.clone().map(|(at, thread)| (Some(at), thread));
        let interrupted = self.interrupted.waiting(key).map(|(_, thread)| (None, thread));
        let is_blocked = move |thread: &H::Thread| blocked.clone().any(|(_, other)| ptr::eq(other, thread));
        by_position.chain(interrupted.filter(move |(_, thread)| !is_blocked(thread)))
    }

    /// Tells of each thread that waits for `key`. The caller has the baton.
    pub fn each_blocked(&self, key: usize, mut tell: impl FnMut(&'static H::Thread)) {
        self.lock().waiting(key).for_each(|(_, thread)| tell(thread));
    }

    /// How many threads wait for `key`. The caller has the baton.
    pub fn count_blocked(&self, key: usize) -> usize {
        self.lock().waiting(key).count()
    }
}
