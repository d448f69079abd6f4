//! Turns: how long a thread has the baton, and what it polls for on the way.

use crate::host::Host;
use crate::intent::Intent;
use crate::scheduler::Scheduler;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

impl<H: Host> Scheduler<H> {
    /// The thread's turn begins. The scheduler is locked.
    pub(crate) fn begin_turn(&self, me: &'static H::Thread) {
        let at_least = self.begin_look(me);
        let hooks = if self.plan.is_followed() {
            0
        } else {
            let before = self.last_recorded.get().map(|before| &**before);
            self.choices
                .begin_turn(before, me, self.is_alone(), self.plan.is_at_race())
                .max(at_least)
        };
        let hooks = hooks.min(self.exiting.events_left(&self.host).unwrap_or(u64::MAX).max(1));
        me.turn_ends.store(me.ticks.load(Relaxed) + hooks, Relaxed);
        self.poll_in_time(me);
    }

    /// Sets when the thread polls next: at the end of its turn, when it is to be looked at, when the trace may have as
    /// many events as are wanted, or at once if a signal waits.
    fn poll_in_time(&self, me: &H::Thread) {
        // A hook records several events at most.
        let left = self.most.load(Relaxed).saturating_sub(self.host.events()) / 4;
        let at = me
            .turn_ends
            .load(Relaxed)
            .min(me.ticks.load(Relaxed).saturating_add(left.max(1)))
            .min(self.looks_from(me));
        me.switch_at.store(at, Relaxed);
        if me.deferred.load(SeqCst) != 0 || self.host.ends_at_hook(me) {
            me.switch_at.store(0, Relaxed);
        }
    }

    /// A thread polls: runs the handlers of its signals, ends if it is cancelled, and ends the program if the trace has
    /// as many events as are wanted.
    fn poll(&self, me: &'static H::Thread) {
        self.host.poll(me, self.most.load(Relaxed));
        if !me.turn_is_over() {
            self.poll_in_time(me);
        }
    }

    /// Gives others a chance; a thread that is alone goes on. The caller has the baton.
    #[cold]
    #[inline(never)]
    pub fn yield_now(&self, me: &'static H::Thread) {
        self.host.count_hooks(me);
        self.poll(me);
        if self.gate(me, &Intent::NONE) {
            self.yield_baton(me, &Intent::NONE, true);
        }
    }

    /// The thread, which has passed the hooks of its turn, is about to make an access. The caller has the baton.
    #[cold]
    #[inline(never)]
    pub fn turn_over(&self, me: &'static H::Thread, intent: &Intent) {
        let spins = self.spins(me, intent);
        self.poll(me);
        // Meanwhile its next turn may have begun.
        if self.gate(me, intent) && (spins || me.turn_is_over()) && !self.turn_lasts(me, intent) {
            if spins {
                self.rest(me, intent);
            } else {
                self.yield_baton(me, intent, false);
            }
            // What it has come to is the first operation of its next turn.
            self.turn_lasts(me, intent);
        }
    }

    /// Where threads go on in turn, whether the thread has an operation left, or is about to make one that is no
    /// business of others.
    fn turn_lasts(&self, me: &H::Thread, intent: &Intent) -> bool {
        let scheduler = self.lock();
        if !scheduler.choices.go_in_turn() {
            return false;
        }
        let mut accesses = intent.accesses.iter().filter(|access| access.size > 0).peekable();
        let unseen = accesses.peek().is_some() && accesses.all(|access| self.host.is_on_stack(me, access.addr));
        unseen || scheduler.choices.take_step()
    }

    /// The plan that the run has followed is over: the thread, which has the baton, is the first that runs under the
    /// policy.
    #[cold]
    pub(crate) fn go_on_without_plan(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
        scheduler.leave_plan();
        scheduler.begin_turn(me);
    }

    /// Lets the thread go on for a while, in the middle of an operation. If it does not come back from there, its turn
    /// is longer, and no more.
    pub fn lengthen_turn(&self, me: &'static H::Thread) {
        const HOOKS: u64 = 10_000;
        me.turn_ends.fetch_max(me.ticks.load(Relaxed) + HOOKS, Relaxed);
        self.poll_in_time(me);
    }

    /// Its turn, which may be longer, ends at a tick. It has the baton.
    pub(crate) fn end_turn_by(&self, thread: &H::Thread, tick: u64) {
        thread.turn_ends.fetch_min(tick, Relaxed);
        thread.switch_at.fetch_min(tick, Relaxed);
        self.revoke_fast_path();
    }

    /// The thread was interrupted, and comes to no hook. It has the baton.
    pub fn preempt(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
        scheduler.choices.end_turn(me, true);
        scheduler.choices.arrive(me, &Intent::NONE);
        scheduler.make_ready(me);
        scheduler.pass(Some(me));
        drop(scheduler);
        self.wait(me);
    }

    pub(crate) fn yield_baton(&self, me: &'static H::Thread, intent: &Intent, yields: bool) {
        let scheduler = self.lock();
        if yields || me.waits_in_loop.get() {
            scheduler.look.yields();
        }
        scheduler.choices.end_turn(me, yields);
        scheduler.choices.arrive(me, intent);
        if scheduler.is_alone()
            && scheduler.exiting.events_left(&self.host) != Some(0)
            && !scheduler.hurry_sleep(yields)
        {
            scheduler.begin_turn(me);
            return;
        }
        scheduler.make_ready(me);
        scheduler.pass(Some(me));
        drop(scheduler);
        self.wait(me);
    }
}
