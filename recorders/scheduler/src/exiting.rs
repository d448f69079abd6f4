//! The end of the process: threads that can run do run before it.
//!
//! A thread that returns from `main`, or calls `exit`, `quick_exit` or `_exit`, ends all threads, also those that have
//! not begun. Another schedule would have let them run first, and preempted the exiting thread just there, before the
//! handlers that `exit` runs. So it waits: until nobody else can run, at the latest until the others have recorded
//! `MOST_EVENTS` (half as many more if somebody sleeps: the time is skipped), or for `PATIENCE_NANOS` altogether nobody
//! ran, or nobody who runs passed a hook. Threads that sleep, or wait in a call outside, have as long to come back.
//!
//! Along a plan the exiting thread waits for its turn as everywhere.

use crate::host::Host;
use crate::scheduler::Scheduler;
use crate::sync::Cell;
use crate::thread::{NEVER, state};
use core::sync::atomic::Ordering::Relaxed;

/// Events that others may record before the process ends.
const MOST_EVENTS: u64 = 1_000_000;
/// How long nobody may run meanwhile, or pass a hook.
const PATIENCE_NANOS: i64 = 1_000_000_000;

/// Who is about to end the process. Used with the scheduler locked.
pub(crate) struct Exiting<T: 'static> {
    thread: Cell<Option<&'static T>>,
    /// How many events the trace has when it waits no longer.
    until: Cell<u64>,
    /// How long nothing may happen.
    patience: Cell<i64>,
    /// Those that sleep were woken before their time.
    hurried: Cell<bool>,
    /// It has waited.
    is_over: Cell<bool>,
}

impl<T> Exiting<T> {
    constant! {
        /// Nobody.
        pub fn new() -> Self {
            Self {
                thread: Cell::new(None),
                until: Cell::new(0),
                patience: Cell::new(0),
                hurried: Cell::new(false),
                is_over: Cell::new(false),
            }
        }
    }

    /// The thread that waits for the others.
    pub(crate) fn thread(&self) -> Option<&'static T> {
        self.thread.get()
    }

    /// In a forked child, nobody exits.
    pub(crate) fn start_over(&self) {
        self.thread.set(None);
        self.is_over.set(false);
    }

    /// The exiting thread goes on, which waits no longer. While nobody exits, no wait is over.
    fn end_of_wait(&self) -> Option<&'static T> {
        let exiting = self.thread.take()?;
        self.is_over.set(true);
        Some(exiting)
    }

    /// How many events the others may still record; `None` if nobody exits.
    pub(crate) fn events_left(&self, host: &impl Host) -> Option<u64> {
        self.thread().map(|_| self.until.get().saturating_sub(host.events()))
    }

    /// Up to when deadlines count: what comes later than its patience lasts does not.
    pub(crate) fn latest(&self, now: impl FnOnce() -> i64) -> i64 {
        match self.thread() {
            Some(_) => now().saturating_add(self.patience.get()),
            None => NEVER - 1,
        }
    }

    /// Nothing happened for so long.
    pub(crate) fn lose_patience(&self, nanos: i64) {
        self.patience.set(self.patience.get().saturating_sub(nanos));
    }
}

impl<H: Host> Scheduler<H> {
    /// Lets the others run before the caller ends the process. It has the baton.
    pub fn let_others_finish(&self, me: &'static H::Thread) {
        if self.plan.is_followed() {
            return;
        }
        let scheduler = self.lock();
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
            scheduler.exiting.until.set(scheduler.host.events() + MOST_EVENTS);
            scheduler.exiting.patience.set(PATIENCE_NANOS);
            scheduler.exiting.hurried.set(false);
            scheduler.exiting.thread.set(Some(me));
            me.state.store(state::BLOCKED, Relaxed);
            if scheduler.nobody_will_run() {
                scheduler.exiting.end_of_wait();
                me.state.store(state::RUNNING, Relaxed);
                return;
            }
        }
        scheduler.pass(Some(me));
        drop(scheduler);
        self.wait(me);
    }

    /// The exiting thread, if the others have recorded enough: it waits no longer.
    pub(crate) fn exits_now(&self) -> Option<&'static H::Thread> {
        match self.exiting.events_left(&self.host)? {
            _ if self.exiting.patience.get() <= 0 => self.exiting.end_of_wait(),
            0 if self.hurry_sleepers() => None,
            0 => self.exiting.end_of_wait(),
            _ => None,
        }
    }

    /// Threads that loop let the events run out long before others have slept enough. Skips, once, the time that is
    /// left to those. False if there are none.
    fn hurry_sleepers(&self) -> bool {
        if self.exiting.hurried.replace(true) || !self.host.may_skip_time() {
            return false;
        }
        let latest = self.exiting.latest(|| self.host.now());
        let deadlines = self.blocked.iter().map(|thread| thread.deadline.get());
        let Some(last) = deadlines.filter(|&deadline| deadline <= latest).max() else {
            return false;
        };
        self.host.skip_to(last);
        self.expire(self.host.now());
        self.exiting.until.set(self.exiting.until.get() + MOST_EVENTS / 2);
        true
    }

    /// Whether no thread can run, nor is outside, nor has a deadline.
    fn nobody_will_run(&self) -> bool {
        let has_deadline = |thread: &H::Thread| thread.deadline.get() != NEVER;
        self.ready.is_empty() && self.outside.get() == 0 && !self.blocked.iter().any(has_deadline)
    }

    /// Ends the wait of the exiting thread if none of the others will run before its patience is over, while nobody
    /// runs. `next` is the earliest deadline of those that [`expire`](Self::expire). Those that may wake at any point
    /// will not: they would run already, had patience lasted long enough for their deadlines.
    pub(crate) fn exit_if_alone(&self, now: i64, next: i64) -> bool {
        debug_assert!(self.holder().is_none());
        let patience = self.exiting.patience.get();
        let others_will_run = !self.ready.is_empty() || self.outside.get() != 0 || next <= now.saturating_add(patience);
        if patience > 0 && others_will_run {
            return false;
        }
        self.exiting.end_of_wait().is_some_and(|exiting| {
            self.hand(exiting, None);
            true
        })
    }
}
