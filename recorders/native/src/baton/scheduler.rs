//! Who waits for what, and who gets the baton next. All of it is used with the scheduler locked.

use super::exiting::Exiting;
use super::queue::Queue;
use super::{HOLDER, MAX_THREADS, SCHEDULER, UNDISTURBED, disturb, set_holder};
use crate::intent::Intent;
use crate::policy::Choices;
use crate::start::RING;
use crate::thread::{NEVER, Thread, Woken, state};
use crate::watch::{how_far, sleeps};
use crate::{clocks, interrupt, pending, schedule, sys};
use core::cell::Cell;
use core::hint::spin_loop;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU64};
use recorder_ring::futex;

/// Who waits for what.
#[derive(Debug)]
pub struct Scheduler {
    pub(super) locked: AtomicBool,
    /// Threads that could run, longest wait first.
    pub ready: Queue,
    /// Threads that wait for another one or for their deadline, longest wait first.
    pub blocked: Queue,
    /// Threads that would be among them, but run a signal handler meanwhile: once for each of their waits, innermost last.
    pub(super) interrupted: Queue,
    /// How many of those that are blocked [`may_wake`](Thread::may_wake) at any point.
    pub(super) sleepers: Cell<usize>,
    /// Number of threads in calls that the runtime does not model.
    pub outside: Cell<usize>,
    pub(super) watcher: Cell<*const Thread>,
    /// Those that are to be woken when the scheduler is unlocked.
    pub(super) roused: [Cell<*const Thread>; 2],
    /// The kernel's number of a thread that is over, and whose end nobody has waited for; or 0. glibc still gives its
    /// memory back, and what the next thread gets of it must not depend on who is faster.
    pub(super) leaving: Cell<i32>,
    /// How many events the trace shall have.
    pub(super) most: AtomicU64,
    /// The thread that the ring's last `Switch` names.
    pub(super) last_recorded: Cell<*const Thread>,
    /// Who is about to end the process.
    pub exiting: Exiting,
    pub(super) choices: Choices,
}

// SAFETY: everything but the atomics is used with the lock held, which orders its users.
unsafe impl Sync for Scheduler {}

/// The scheduler, locked; unlocks when dropped.
pub struct Locked(pub(super) &'static Scheduler);

impl core::ops::Deref for Locked {
    type Target = Scheduler;
    fn deref(&self) -> &Scheduler {
        self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let roused = self.0.roused.each_ref().map(|thread| thread.replace(ptr::null()));
        self.0.locked.store(false, Release);
        // Only now: it would take the lock at once.
        // SAFETY: null or threads, which live for ever.
        for thread in roused.iter().filter_map(|&thread| unsafe { thread.as_ref() }) {
            futex::wake(&thread.word, 1, false);
        }
    }
}

/// Locks the scheduler. Its holder never blocks, but may lose the processor.
pub fn lock() -> Locked {
    let mut tries = 0_u32;
    while SCHEDULER
        .locked
        .compare_exchange_weak(false, true, Acquire, Relaxed)
        .is_err()
    {
        tries += 1;
        if tries.is_multiple_of(64) {
            // SAFETY: no arguments.
            unsafe { sys::call(libc::SYS_sched_yield, 0, 0, 0, 0) };
        }
        spin_loop();
    }
    Locked(&SCHEDULER)
}

impl Scheduler {
    /// Makes a thread ready whose state was another.
    pub(super) fn make_ready(&self, thread: &'static Thread) {
        thread.state.store(state::READY, Relaxed);
        self.ready.push(thread);
        // SAFETY: null or a thread, which lives for ever.
        let running = unsafe { HOLDER.load(Relaxed).as_ref() };
        if let Some(running) = running.filter(|running| self.choices.precedes(thread, running)) {
            // At its next hook.
            running.turn_ends.store(0, Relaxed);
            running.switch_at.store(0, Relaxed);
            disturb();
        }
    }

    /// Takes the thread that runs next out of the queue.
    fn next(&self) -> Option<&'static Thread> {
        if schedule::is_followed() {
            let next = schedule::next(self);
            if next.is_some() || schedule::is_followed() {
                return next;
            }
        }
        if schedule::is_ending() {
            self.leave_plan();
        }
        if let Some(exiting) = self.exits_now() {
            return Some(exiting);
        }
        if let Some(first) = schedule::next_after_race()
            && let Some(at) = self.ready.position(first)
        {
            return Some(self.ready.remove(at));
        }
        let ready = self.ready.len();
        let next = match self.choices.pick(self.ready.iter().chain(self.sleepers())) {
            Some(at) if at < ready => self.ready.remove(at),
            Some(at) => {
                let sleeper = self.sleepers().nth(at - ready)?;
                self.wake_at_its_deadline(sleeper)?
            }
            None => self.wake_at_its_deadline(self.next_deadline()?)?,
        };
        self.choices.perform(next, self.ready.iter());
        Some(next)
    }

    /// Gives the baton to the next thread, or to nobody. `from` is the caller if it will wait now.
    pub(super) fn pass(&self, from: Option<&'static Thread>) {
        match self.next() {
            Some(next) => self.hand(next, from),
            None => {
                set_holder(ptr::null());
                self.keep_a_watcher(from);
            }
        }
    }

    /// Gives the baton to `next`, which is in no queue.
    pub(super) fn hand(&self, next: &'static Thread, from: Option<&'static Thread>) {
        next.state.store(state::RUNNING, Relaxed);
        set_holder(next);
        if ptr::eq(self.watcher.get(), next) {
            self.watcher.set(ptr::null());
        }
        self.keep_a_watcher(from);
        if from.is_none_or(|from| !ptr::eq(from, next)) {
            self.rouse(next);
        }
    }

    /// Makes a waiting thread look around, once the scheduler is unlocked.
    fn rouse(&self, thread: &'static Thread) {
        thread.word.store(1, Release);
        let [first, second] = &self.roused;
        if first.get().is_null() {
            first.set(thread);
        } else if second.get().is_null() {
            second.set(thread);
        } else {
            futex::wake(&thread.word, 1, false);
        }
    }

    /// Makes a waiting thread the watcher if there is none: the caller if it will wait.
    pub(super) fn keep_a_watcher(&self, caller: Option<&'static Thread>) {
        if let Some(exiting) = self.exiting.thread() {
            // It sees how long nothing happens.
            if !ptr::eq(self.watcher.replace(exiting), exiting) && caller.is_none_or(|caller| !ptr::eq(caller, exiting))
            {
                self.rouse(exiting);
            }
            return;
        }
        if !self.watcher.get().is_null() {
            return;
        }
        let holder = HOLDER.load(Relaxed).cast_const();
        if let Some(caller) = caller.filter(|caller| !ptr::eq(*caller, holder)) {
            self.watcher.set(caller);
        } else if let Some(other) = self.ready.get(0).or_else(|| self.blocked.get(0)) {
            self.watcher.set(other);
            self.rouse(other);
        }
    }

    /// The threads that may wake at any point.
    pub(super) fn sleepers(&self) -> impl Iterator<Item = &'static Thread> + Clone {
        let count = self.sleepers.get();
        let blocked = self.blocked.iter().take(if count == 0 { 0 } else { usize::MAX });
        let latest = self.exiting.latest(|| clocks::now(libc::CLOCK_MONOTONIC));
        let may_wake = move |thread: &&'static Thread| thread.may_wake.get() && thread.deadline.get() <= latest;
        blocked.filter(may_wake)
    }

    /// Whether the running thread is the only one that can run.
    pub(super) fn is_alone(&self) -> bool {
        self.ready.is_empty() && self.sleepers().next().is_none()
    }

    /// Whether there is somebody to give the baton to.
    pub fn has_successor(&self) -> bool {
        !self.is_alone() || self.exiting.thread().is_some()
    }

    /// The thread whose deadline comes first, if only time goes on, and time may be skipped.
    fn next_deadline(&self) -> Option<&'static Thread> {
        let may_skip = self.choices.skip_time() && clocks::may_be_skipped() && self.outside.get() == 0;
        let blocked = self.blocked.iter().filter(|_| may_skip);
        let first = blocked.min_by_key(|thread| thread.deadline.get())?;
        let latest = self.exiting.latest(|| clocks::now(libc::CLOCK_MONOTONIC));
        (first.deadline.get() <= latest).then_some(first)
    }

    /// Skips the time until the blocked thread's deadline; takes the thread out of the queue.
    fn wake_at_its_deadline(&self, thread: &'static Thread) -> Option<&'static Thread> {
        let at = self.blocked.position(thread)?;
        self.exiting.lose_patience(clocks::skip_to(thread.deadline.get()));
        self.unblock(at, Woken::Deadline);
        let at = self.ready.position(thread)?;
        Some(self.ready.remove(at))
    }

    /// Ends the wait of the blocked thread at `at`.
    pub fn unblock(&self, at: usize, why: Woken) {
        let thread = self.blocked.remove(at);
        thread.woken_by.set(why);
        thread.deadline.set(NEVER);
        if thread.may_wake.replace(false) {
            self.sleepers.set(self.sleepers.get() - 1);
        }
        self.choices.arrive(thread, &Intent::NONE);
        self.make_ready(thread);
    }

    /// A signal handler interrupts the wait of the blocked thread at `at`, which goes on afterwards.
    pub(super) fn interrupt(&self, at: usize) {
        let Some(thread) = self.blocked.get(at) else { return };
        if self.interrupted.len() == MAX_THREADS {
            // Handlers that never came back.
            self.interrupted.remove(0);
        }
        self.interrupted.push(thread);
        thread.interrupted.set(self.interruptions(thread, thread.key.get()));
        self.unblock(at, Woken::Signal);
    }

    fn interruptions(&self, thread: &Thread, key: usize) -> usize {
        let of_it = self
            .interrupted
            .waiting(key)
            .filter(|(_, other)| ptr::eq(*other, thread));
        of_it.count()
    }

    /// A wait that a signal handler interrupted may go on: whether anybody woke the thread meanwhile.
    pub(super) fn resume(&self, thread: &'static Thread, key: usize, interruptions: usize) -> bool {
        if self.interruptions(thread, key) < interruptions {
            return true;
        }
        self.end_interrupted(thread, key);
        false
    }

    /// Ends the innermost wait of a thread on `key` that a signal handler interrupts.
    pub(super) fn end_interrupted(&self, thread: &Thread, key: usize) {
        let of_it = self
            .interrupted
            .waiting(key)
            .filter(|(_, other)| ptr::eq(*other, thread));
        if let Some((at, _)) = of_it.last() {
            self.interrupted.remove(at);
        }
    }

    /// Wakes all whose deadline is not after `now`, but for those that may wake at any point: when, must not depend on the
    /// machine. The earliest deadline of the others.
    pub fn expire(&self, now: i64) -> i64 {
        if schedule::is_followed() {
            return NEVER;
        }
        loop {
            let earliest = (0..)
                .zip(self.blocked.iter())
                .filter(|(_, thread)| !thread.may_wake.get())
                .min_by_key(|(_, thread)| thread.deadline.get());
            match earliest {
                Some((at, thread)) if thread.deadline.get() <= now => self.unblock(at, Woken::Deadline),
                Some((_, thread)) => return thread.deadline.get(),
                None => return NEVER,
            }
        }
    }

    /// Lets a ready thread run if none does. Along a plan, whoever's turn it is: that nobody may be, is for the plan to say.
    pub fn dispatch(&self) {
        let is_some = || schedule::is_followed() || !self.ready.is_empty();
        if HOLDER.load(Relaxed).is_null() && is_some() {
            self.pass(None);
        }
    }

    /// Takes the baton from `holder`, which was asleep and not inside the runtime, and is where it was when it
    /// had come as `far`, for the thread that is next. False if it moved after all.
    ///
    /// Exactness rests on the order here. The baton goes first, then every processor passes a barrier: a hook of `holder`
    /// either sees that the baton is gone, or has seen before that it is undisturbed. Such a hook does not sleep, unless it
    /// says that it is busy: asleep and not busy after the barrier, `holder` is in none. It may have published something
    /// and then fallen asleep, which is seen, or announced a write, whose store is done then.
    pub fn steal(&self, holder: &'static Thread, far: (u64, u64), thief: &'static Thread) -> bool {
        set_holder(thief);
        let exact = sys::barrier_everywhere();
        let undisturbed = || ptr::eq(UNDISTURBED.load(SeqCst), holder);
        if !exact || !sleeps(holder) || holder.busy.load(SeqCst) != 0 || undisturbed() || how_far(holder) != far {
            set_holder(holder);
            return false;
        }
        holder.count_hooks();
        // Asleep in the kernel, its last store is done.
        pending::settle(holder);
        holder.state.store(state::OUTSIDE, Relaxed);
        self.outside.set(self.outside.get() + 1);
        // SAFETY: the ring is attached while there are threads to schedule.
        unsafe { RING.count_steal() };
        if holder.deferred.load(SeqCst) != 0 {
            // It waits for the hook behind the call, which only its handler may end.
            interrupt::send_to(holder);
        }
        self.pass(None);
        true
    }
}
