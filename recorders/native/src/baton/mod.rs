//! The baton: the right to run. One thread of the program has it, the others wait.
//!
//! A thread gives it away when it blocks on another thread, when its quantum is over, when it
//! ends, or around a call that may take long. All state is behind one lock, held for a few dozen
//! instructions; threads that wait sleep on a word of their own.
//!
//! One of the sleeping threads is the *watcher*: it wakes up now and then to look for deadlines
//! that passed, for a holder that sleeps in a call the runtime does not know, and for deadlock
//! (see [`watch`]). The role passes on whenever the watcher gets the baton.

mod exiting;
mod queue;
mod scheduler;
mod turns;
mod waits;

pub use exiting::let_others_finish;
pub use scheduler::{Locked, Scheduler, lock};
pub use turns::{give_way, go_on_without_plan, lengthen_turn, preempt, turn_over, turn_over_before};
pub use waits::{ASLEEP, block, block_cancellably, cancel, count_blocked, wake, wake_each};

use crate::inside::Inside;
use crate::policy::Choices;
use crate::thread::{Thread, state};
use crate::{events, pthread, sys, watch};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use exiting::Exiting;
use queue::Queue;
use recorder_ring::{Settings, futex};
use turns::begin_turn;
use waits::wake_for_signal;

/// The thread that runs; null if none can. Changed only with the scheduler locked.
pub static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

/// The holder, as long as all that its next hook has to do is to record: it is outside of the runtime, its turn is not over,
/// no signal waits, and there is no plan, under which every turn is over at once. Else [`NOBODY`]. The holder says so when it
/// leaves the runtime, and takes it back when it enters; anybody may take it back.
pub static UNDISTURBED: AtomicPtr<Thread> = AtomicPtr::new(NOBODY);

/// No thread, and not what a thread without a record has in its slot.
pub const NOBODY: *mut Thread = ptr::without_provenance_mut(1);

/// Most threads that may be alive at once.
pub const MAX_THREADS: usize = 1 << 14;

static SCHEDULER: Scheduler = Scheduler {
    locked: AtomicBool::new(false),
    ready: Queue::new(),
    blocked: Queue::new(),
    interrupted: Queue::new(),
    sleepers: Cell::new(0),
    outside: Cell::new(0),
    watcher: Cell::new(ptr::null()),
    roused: [const { Cell::new(ptr::null()) }; 2],
    leaving: Cell::new(0),
    most: AtomicU64::new(u64::MAX),
    last_recorded: Cell::new(ptr::null()),
    exiting: Exiting::new(),
    choices: Choices::new(),
};

/// Starts the run with its first thread, which has the baton.
pub fn start(settings: Settings, first: &'static Thread) {
    let scheduler = lock();
    scheduler.choices.start(settings);
    scheduler.most.store(settings.most, Relaxed);
    scheduler.choices.admit(first, None);
    first.state.store(state::RUNNING, Relaxed);
    set_holder(first);
    took(&scheduler, first);
}

/// From here on another thread has the baton, or none.
fn set_holder(thread: *const Thread) {
    UNDISTURBED.store(NOBODY, Relaxed);
    HOLDER.store(thread.cast_mut(), SeqCst);
}

/// Makes the holder look up at its next hook.
pub fn disturb() {
    UNDISTURBED.store(NOBODY, Relaxed);
}

/// Locks the scheduler during a fork.
pub fn freeze() {
    core::mem::forget(lock());
}

/// Unlocks it again. The caller has frozen it.
pub fn thaw() {
    drop(Locked(&SCHEDULER));
}

/// In a forked child, frozen: the calling thread is the only one there is.
pub fn start_over(settings: Settings, me: &'static Thread) {
    for queue in [&SCHEDULER.ready, &SCHEDULER.blocked, &SCHEDULER.interrupted] {
        queue.clear();
    }
    SCHEDULER.sleepers.set(0);
    SCHEDULER.outside.set(0);
    SCHEDULER.watcher.set(ptr::null());
    SCHEDULER.leaving.set(0);
    SCHEDULER.last_recorded.set(ptr::null());
    SCHEDULER.exiting.start_over();
    thaw();
    start(settings, me);
}

/// The thread has the baton from here on.
fn took(scheduler: &Scheduler, me: &'static Thread) {
    begin_turn(scheduler, me);
    let last = scheduler.last_recorded.get();
    if !ptr::eq(last, me) {
        scheduler.last_recorded.set(me);
        // SAFETY: null or a thread, which lives for ever.
        events::switch(unsafe { last.as_ref() }, me);
    }
}

/// Sleeps until the baton comes.
fn wait(me: &'static Thread) {
    let mut watch = watch::Watch::new();
    loop {
        let scheduler = lock();
        if ptr::eq(HOLDER.load(Acquire), me) {
            took(&scheduler, me);
            let leaving = scheduler.leaving.replace(0);
            drop(scheduler);
            if leaving != 0 {
                sys::await_end(leaving);
            }
            return;
        }
        scheduler.keep_a_watcher(Some(me));
        let nanos = if ptr::eq(scheduler.watcher.get(), me) {
            match watch.look(&scheduler, me) {
                Some(nanos) => Some(nanos),
                None => continue,
            }
        } else if me.interruptible.get() {
            // With a time limit, a futex wait ends after a signal handler even under SA_RESTART.
            Some(3_600_000_000_000)
        } else {
            None
        };
        drop(scheduler);
        let interrupted = futex::wait(&me.word, 0, nanos, false);
        me.word.store(0, Release);
        if interrupted && me.interruptible.get() || me.deferred.load(SeqCst) != 0 {
            wake_for_signal(me);
        }
    }
}

/// Gives the baton to whoever is next, which may be the caller, and takes it again.
pub fn pass_on(me: &'static Thread) {
    let scheduler = lock();
    scheduler.make_ready(me);
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
}

/// Takes the baton after having been without: waits for its turn.
#[cold]
#[inline(never)]
pub fn regain(me: &'static Thread) {
    let scheduler = lock();
    if ptr::eq(HOLDER.load(Relaxed), me) {
        return;
    }
    if me.state.load(Relaxed) == state::OUTSIDE {
        scheduler.outside.set(scheduler.outside.get() - 1);
    }
    scheduler.make_ready(me);
    if HOLDER.load(Relaxed).is_null() {
        scheduler.pass(Some(me));
    }
    drop(scheduler);
    wait(me);
    if me.in_call.get() {
        // It comes from its cleanup, or from a signal handler.
        pthread::cancel::note(me);
    }
}

/// Gives the baton away before a call that may take long. [`regain`] gets it back.
pub fn leave(me: &'static Thread) {
    let scheduler = lock();
    me.state.store(state::OUTSIDE, Relaxed);
    scheduler.outside.set(scheduler.outside.get() + 1);
    scheduler.pass(None);
}

/// A signal handler ran in a call outside, and may have taken the baton: the call goes on without it.
pub fn leave_again(me: &'static Thread) {
    if ptr::eq(HOLDER.load(Relaxed), me) {
        // Its last write is recorded.
        if let Some(inside) = Inside::enter_and_stay() {
            inside.go_outside();
            inside.forget();
        }
    }
}

/// A thread that does not run yet may do so from now on. The caller has the baton.
pub fn admit(thread: &'static Thread) {
    let scheduler = lock();
    // SAFETY: the caller, a thread, which lives for ever.
    scheduler
        .choices
        .admit(thread, unsafe { HOLDER.load(Relaxed).as_ref() });
    scheduler.make_ready(thread);
}

/// The calling thread, which has the baton, goes on as another one that no queue has.
pub fn go_on_as(from: &'static Thread, to: &'static Thread) {
    let scheduler = lock();
    from.state.store(state::NEW, Relaxed);
    to.state.store(state::RUNNING, Relaxed);
    set_holder(to);
    took(&scheduler, to);
}

/// A thread that may run from now on, but waits in no queue.
pub fn admit_fiber(fiber: &'static Thread) {
    lock().choices.admit(fiber, None);
}

/// The thread's first wait.
pub fn await_first_turn(me: &'static Thread) {
    wait(me);
}

/// The thread is over: wakes those that join it, and gives the baton away for good.
pub fn retire(me: &'static Thread) {
    wake(ptr::from_ref(me) as usize, usize::MAX);
    let scheduler = lock();
    scheduler.interrupted.forget(me);
    me.state.store(state::ENDED, Relaxed);
    let number = me.os_id.load(Relaxed);
    // The first thread ends with the process.
    scheduler
        .leaving
        .set(if number == sys::process_id() { 0 } else { number });
    scheduler.pass(None);
}
