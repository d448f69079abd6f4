//! Turns: how long a thread has the baton, and what it looks after on the way.

use super::scheduler::Scheduler;
use super::{SCHEDULER, lock, wait};
use crate::inside::Inside;
use crate::intent::Intent;
use crate::signals::Afterwards;
use crate::start::RING;
use crate::thread::Thread;
use crate::{pthread, schedule, signals, sys};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use recorder_ring::Flag;

pub(super) fn begin_turn(scheduler: &Scheduler, me: &'static Thread) {
    // SAFETY: null or a thread, which lives for ever.
    let before = unsafe { scheduler.last_recorded.get().as_ref() };
    let hooks = scheduler.choices.begin_turn(before, me, scheduler.is_alone());
    let hooks = hooks.min(scheduler.exiting.events_left().unwrap_or(u64::MAX).max(1));
    me.turn_ends.store(me.ticks.load(Relaxed) + hooks, Relaxed);
    look_up_in_time(me);
}

/// Sets when the thread looks up next: at the end of its turn, when the trace may have as many events as are wanted, or
/// at once if a signal waits.
fn look_up_in_time(me: &Thread) {
    // SAFETY: the ring is attached while there are threads to schedule.
    let left = SCHEDULER.most.load(Relaxed).saturating_sub(unsafe { RING.events() });
    let at = me
        .turn_ends
        .load(Relaxed)
        .min(me.ticks.load(Relaxed).saturating_add(left.max(1)));
    me.switch_at.store(at, Relaxed);
    if me.deferred.load(SeqCst) != 0 || me.ends_at_hook() {
        me.switch_at.store(0, Relaxed);
    }
}

/// A thread looks up: runs the handlers of its signals, ends if it is cancelled, and ends the program if the trace has
/// as many events as are wanted.
fn look_up(me: &'static Thread) {
    if me.deferred.load(Relaxed) != 0 {
        signals::deliver(&Inside::of(me), Afterwards::AsItSays);
    }
    pthread::cancel::end_if_wanted(me);
    // SAFETY: as above; whatever is published is read.
    unsafe {
        if RING.events() >= SCHEDULER.most.load(Relaxed) {
            RING.flag(Flag::Full);
            sys::die("");
        }
    }
    if !is_over(me) {
        look_up_in_time(me);
    }
}

/// Gives others a chance; a thread that is alone goes on. The caller has the baton.
#[cold]
#[inline(never)]
pub fn give_way(me: &'static Thread) {
    me.count_hooks();
    look_up(me);
    if schedule::gate(me, &Intent::NONE) {
        let_others(me, &Intent::NONE, true);
    }
}

/// The thread has passed the hooks of its turn. The caller has the baton.
#[cold]
#[inline(never)]
pub fn turn_over(me: &'static Thread) {
    turn_over_before(me, &Intent::NONE);
}

/// As [`turn_over`], for a thread that is about to make an access.
#[cold]
#[inline(never)]
pub fn turn_over_before(me: &'static Thread, intent: &Intent) {
    look_up(me);
    // Meanwhile its next turn may have begun.
    if schedule::gate(me, intent) && is_over(me) {
        let_others(me, intent, false);
    }
}

fn is_over(me: &Thread) -> bool {
    me.ticks.load(Relaxed) >= me.turn_ends.load(Relaxed)
}

/// The plan that the run has followed is over: the thread, which has the baton, is the first that runs under the policy.
#[cold]
pub fn go_on_without_plan(me: &'static Thread) {
    let scheduler = lock();
    scheduler.leave_plan();
    begin_turn(&scheduler, me);
}

/// Lets the thread go on for a while, in the middle of an operation. If it does not come back from there, its turn is
/// longer, and no more.
pub fn lengthen_turn(me: &'static Thread) {
    const HOOKS: u64 = 10_000;
    me.turn_ends.fetch_max(me.ticks.load(Relaxed) + HOOKS, Relaxed);
    look_up_in_time(me);
}

/// The thread was interrupted, and comes to no hook. It has the baton.
pub fn preempt(me: &'static Thread) {
    let scheduler = lock();
    scheduler.choices.end_turn(me, true);
    scheduler.choices.arrive(me, &Intent::NONE);
    scheduler.make_ready(me);
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
}

fn let_others(me: &'static Thread, intent: &Intent, yields: bool) {
    let scheduler = lock();
    scheduler.choices.end_turn(me, yields);
    scheduler.choices.arrive(me, intent);
    if scheduler.is_alone() && scheduler.exiting.events_left() != Some(0) {
        begin_turn(&scheduler, me);
        return;
    }
    scheduler.make_ready(me);
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
}
