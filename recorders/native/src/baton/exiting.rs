//! The end of the process: threads that can run do run before it.
//!
//! A thread that returns from `main`, or calls `exit`, `quick_exit` or `_exit`, ends all threads, also those that have not
//! begun. Another schedule would have let them run first, and preempted the exiting thread just there, before the
//! handlers that `exit` runs. So it waits: until nobody else can run, at the latest until the others have recorded
//! [`MOST_EVENTS`] (half as many more if somebody sleeps: the time is skipped), or for [`PATIENCE_NANOS`] altogether nobody ran, or nobody who runs passed a hook. Threads that sleep,
//! or wait in a call outside, have as long to come back.
//!
//! Along a plan the exiting thread waits for its turn as everywhere.

use super::scheduler::Scheduler;
use super::{HOLDER, lock, wait};
use crate::start::RING;
use crate::thread::{NEVER, Thread, state};
use crate::{clocks, schedule};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// Events that others may record before the process ends.
const MOST_EVENTS: u64 = 1_000_000;
/// How long nobody may run meanwhile, or pass a hook.
const PATIENCE_NANOS: i64 = 1_000_000_000;

/// Who is about to end the process. Used with the scheduler locked.
#[derive(Debug)]
pub struct Exiting {
    thread: Cell<*const Thread>,
    /// How many events the trace has when it waits no longer.
    until: Cell<u64>,
    /// How long nothing may happen.
    patience: Cell<i64>,
    /// Those that sleep were woken before their time.
    hurried: Cell<bool>,
    /// It has waited.
    is_over: Cell<bool>,
}

impl Exiting {
    pub const fn new() -> Self {
        Self {
            thread: Cell::new(ptr::null()),
            until: Cell::new(0),
            patience: Cell::new(0),
            hurried: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    /// The thread that waits for the others.
    pub fn thread(&self) -> Option<&'static Thread> {
        // SAFETY: null or a thread, which lives for ever.
        unsafe { self.thread.get().as_ref() }
    }

    /// In a forked child, nobody exits.
    pub fn start_over(&self) {
        self.thread.set(ptr::null());
        self.is_over.set(false);
    }

    /// The exiting thread goes on, which waits no longer.
    fn end_of_wait(&self) -> Option<&'static Thread> {
        let exiting = self.thread();
        self.thread.set(ptr::null());
        self.is_over.set(true);
        exiting
    }

    /// How many events the others may still record; `None` if nobody exits.
    pub fn events_left(&self) -> Option<u64> {
        // SAFETY: the ring is attached while there are threads to schedule.
        self.thread()
            .map(|_| self.until.get().saturating_sub(unsafe { RING.events() }))
    }

    /// Up to when deadlines count: what comes later than its patience lasts does not.
    pub fn latest(&self, now: impl FnOnce() -> i64) -> i64 {
        match self.thread() {
            Some(_) => now().saturating_add(self.patience.get()),
            None => NEVER - 1,
        }
    }

    /// Nothing happened for so long.
    pub fn lose_patience(&self, nanos: i64) {
        self.patience.set(self.patience.get().saturating_sub(nanos));
    }
}

/// Lets the others run before the caller ends the process. It has the baton.
pub fn let_others_finish(me: &'static Thread) {
    if schedule::is_followed() {
        return;
    }
    let scheduler = lock();
    if scheduler.exiting.is_over.get() {
        return;
    }
    if scheduler.exiting.thread().is_some() {
        // Somebody else ends the process, before or after this thread would have.
        me.key.set(0);
        me.deadline.set(NEVER);
        me.state.store(state::BLOCKED, Relaxed);
        scheduler.blocked.push(me);
    } else {
        // SAFETY: the ring is attached while there are threads to schedule.
        scheduler.exiting.until.set(unsafe { RING.events() } + MOST_EVENTS);
        scheduler.exiting.patience.set(PATIENCE_NANOS);
        scheduler.exiting.hurried.set(false);
        scheduler.exiting.thread.set(me);
        me.state.store(state::BLOCKED, Relaxed);
        if scheduler.nobody_will_run(NEVER - 1) {
            scheduler.exiting.end_of_wait();
            me.state.store(state::RUNNING, Relaxed);
            return;
        }
    }
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
}

impl Scheduler {
    /// The exiting thread, if the others have recorded enough: it waits no longer.
    pub(super) fn exits_now(&self) -> Option<&'static Thread> {
        match self.exiting.events_left()? {
            _ if self.exiting.patience.get() <= 0 => self.exiting.end_of_wait(),
            0 if self.hurry_sleepers() => None,
            0 => self.exiting.end_of_wait(),
            _ => None,
        }
    }

    /// Threads that loop let the events run out long before others have slept enough. Skips, once, the time that is left
    /// to those. False if there are none.
    fn hurry_sleepers(&self) -> bool {
        if self.exiting.hurried.replace(true) || !clocks::may_be_skipped() {
            return false;
        }
        let latest = self.exiting.latest(|| clocks::now(libc::CLOCK_MONOTONIC));
        let deadlines = self.blocked.iter().map(|thread| thread.deadline.get());
        let Some(last) = deadlines.filter(|&deadline| deadline <= latest).max() else {
            return false;
        };
        clocks::skip_to(last);
        self.expire(clocks::now(libc::CLOCK_MONOTONIC));
        self.exiting.until.set(self.exiting.until.get() + MOST_EVENTS / 2);
        true
    }

    /// The exiting thread, if none of the others will run before its patience is over.
    pub(super) fn exits_alone(&self, now: i64) -> Option<&'static Thread> {
        let until = now.saturating_add(self.exiting.patience.get());
        let waits = self.exiting.patience.get() > 0 && !self.nobody_will_run(until);
        if waits { None } else { self.exiting.end_of_wait() }
    }

    /// Whether no thread can run, nor is outside, nor has a deadline before that time.
    fn nobody_will_run(&self, until: i64) -> bool {
        let mut deadlines = self.blocked.iter().map(|thread| thread.deadline.get());
        self.ready.is_empty() && self.outside.get() == 0 && deadlines.all(|deadline| deadline > until)
    }

    /// Ends the wait of the exiting thread if nothing more is to be expected, while nobody runs.
    pub fn exit_if_alone(&self, now: i64) -> bool {
        debug_assert!(HOLDER.load(Relaxed).is_null());
        self.exits_alone(now).is_some_and(|exiting| {
            self.hand(exiting, None);
            true
        })
    }
}
