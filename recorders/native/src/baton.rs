//! The baton: the right to run. One thread of the program has it, the others wait.
//!
//! A thread gives it away when it blocks on another thread, when its quantum is over, when it
//! ends, or around a call that may take long. All state is behind one lock, held for a few dozen
//! instructions; threads that wait sleep on a word of their own.
//!
//! One of the sleeping threads is the *watcher*: it wakes up now and then to look for deadlines
//! that passed, for a holder that sleeps in a call the runtime does not know, and for deadlock
//! (see [`watch`]). The role passes on whenever the watcher gets the baton.

use crate::inside::Inside;
use crate::intent::Intent;
use crate::policy::Choices;
use crate::signals::Afterwards;
use crate::start::RING;
use crate::thread::{NEVER, Thread, Woken, state};
use crate::{events, pending, pthread, schedule, signals, sys, watch};
use core::cell::{Cell, UnsafeCell};
use core::hint::spin_loop;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use recorder_ring::{Flag, Settings, futex};

/// The thread that runs; null if none can. Changed only with the scheduler locked.
pub static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

/// Most threads that may be alive at once.
pub const MAX_THREADS: usize = 1 << 14;

static SCHEDULER: Scheduler = Scheduler {
    locked: AtomicBool::new(false),
    ready: Queue::new(),
    blocked: Queue::new(),
    outside: Cell::new(0),
    watcher: Cell::new(ptr::null()),
    leaving: Cell::new(0),
    most: AtomicU64::new(u64::MAX),
    last_recorded: Cell::new(ptr::null()),
    choices: Choices::new(),
};

/// Who waits for what.
#[derive(Debug)]
pub struct Scheduler {
    locked: AtomicBool,
    /// Threads that could run, longest wait first.
    pub ready: Queue,
    /// Threads that wait for another one or for their deadline, longest wait first.
    pub blocked: Queue,
    /// Number of threads in calls that the runtime does not model.
    pub outside: Cell<usize>,
    watcher: Cell<*const Thread>,
    /// The kernel's number of a thread that is over, and whose end nobody has waited for; or 0. glibc still gives its
    /// memory back, and what the next thread gets of it must not depend on who is faster.
    leaving: Cell<i32>,
    /// How many events the trace shall have.
    most: AtomicU64,
    /// The thread that the ring's last `Switch` names.
    last_recorded: Cell<*const Thread>,
    choices: Choices,
}

// SAFETY: everything but `locked` is used with the lock held, which orders its users.
unsafe impl Sync for Scheduler {}

/// Threads in order of arrival.
#[derive(Debug)]
pub struct Queue {
    len: Cell<usize>,
    threads: UnsafeCell<[*const Thread; MAX_THREADS]>,
}

impl Queue {
    const fn new() -> Self {
        Self {
            len: Cell::new(0),
            threads: UnsafeCell::new([ptr::null(); MAX_THREADS]),
        }
    }

    pub fn as_slice(&self) -> &[&'static Thread] {
        // SAFETY: the first `len` are threads, which live for ever; a reference has the layout of
        // a pointer; nobody pushes or removes while the slice is in use (all under the lock).
        unsafe { core::slice::from_raw_parts(self.threads.get().cast(), self.len.get()) }
    }

    fn push(&self, thread: &'static Thread) {
        let len = self.len.get();
        assert!(len < MAX_THREADS, "pthread_create refuses more threads than fit");
        // SAFETY: in bounds; under the lock.
        unsafe { (*self.threads.get())[len] = thread };
        self.len.set(len + 1);
    }

    pub fn remove(&self, at: usize) -> &'static Thread {
        let len = self.len.get();
        // SAFETY: in bounds by indexing; under the lock; the entries are threads.
        unsafe {
            let threads = &mut *self.threads.get();
            let thread = threads[at];
            threads.copy_within(at + 1..len, at);
            self.len.set(len - 1);
            &*thread
        }
    }
}

/// The scheduler, locked; unlocks when dropped.
pub struct Locked(&'static Scheduler);

impl core::ops::Deref for Locked {
    type Target = Scheduler;
    fn deref(&self) -> &Scheduler {
        self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.locked.store(false, Release);
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
    fn make_ready(&self, thread: &'static Thread) {
        thread.state.store(state::READY, Relaxed);
        self.ready.push(thread);
        // SAFETY: null or a thread, which lives for ever.
        let running = unsafe { HOLDER.load(Relaxed).as_ref() };
        if let Some(running) = running.filter(|running| self.choices.precedes(thread, running)) {
            // At its next hook.
            running.turn_ends.store(0, Relaxed);
            running.switch_at.store(0, Relaxed);
        }
    }

    /// Takes the thread that runs next out of the queue.
    fn next(&self) -> Option<&'static Thread> {
        if schedule::is_followed() {
            return schedule::next(self);
        }
        let ready = self.ready.as_slice();
        if let Some(first) = schedule::next_after_race()
            && let Some(at) = ready.iter().position(|thread| ptr::eq(*thread, first))
        {
            return Some(self.ready.remove(at));
        }
        let at = self.choices.pick(ready.iter().copied())?;
        Some(self.ready.remove(at))
    }

    /// Gives the baton to the next thread, or to nobody. `from` is the caller if it will wait now.
    fn pass(&self, from: Option<&'static Thread>) {
        match self.next() {
            Some(next) => self.hand(next, from),
            None => {
                HOLDER.store(ptr::null_mut(), SeqCst);
                self.keep_a_watcher(from);
            }
        }
    }

    /// Gives the baton to `next`, which is in no queue.
    fn hand(&self, next: &'static Thread, from: Option<&'static Thread>) {
        next.state.store(state::RUNNING, Relaxed);
        HOLDER.store(ptr::from_ref(next).cast_mut(), SeqCst);
        if ptr::eq(self.watcher.get(), next) {
            self.watcher.set(ptr::null());
        }
        self.keep_a_watcher(from);
        if from.is_none_or(|from| !ptr::eq(from, next)) {
            rouse(next);
        }
    }

    /// Makes a waiting thread the watcher if there is none: the caller if it will wait.
    fn keep_a_watcher(&self, caller: Option<&'static Thread>) {
        if !self.watcher.get().is_null() {
            return;
        }
        let holder = HOLDER.load(Relaxed).cast_const();
        if let Some(caller) = caller.filter(|caller| !ptr::eq(*caller, holder)) {
            self.watcher.set(caller);
        } else if let Some(&other) = self.ready.as_slice().first().or(self.blocked.as_slice().first()) {
            self.watcher.set(other);
            rouse(other);
        }
    }

    fn place_of_blocked(&self, thread: &Thread) -> Option<usize> {
        let blocked = self.blocked.as_slice();
        blocked.iter().position(|blocked| ptr::eq(*blocked, thread))
    }

    /// Ends the wait of the blocked thread at `at`.
    pub fn unblock(&self, at: usize, why: Woken) {
        let thread = self.blocked.remove(at);
        thread.woken_by.set(why);
        thread.deadline.set(NEVER);
        if !thread.handling.get() {
            self.make_ready(thread);
        }
    }

    /// Wakes all whose deadline is not after `now`; the earliest deadline of the others.
    pub fn expire(&self, now: i64) -> i64 {
        if schedule::is_followed() {
            return NEVER;
        }
        loop {
            let earliest = (0..)
                .zip(self.blocked.as_slice())
                .min_by_key(|(_, thread)| thread.deadline.get());
            match earliest {
                Some((at, thread)) if thread.deadline.get() <= now => self.unblock(at, Woken::Deadline),
                Some((_, thread)) => return thread.deadline.get(),
                None => return NEVER,
            }
        }
    }

    /// Lets a ready thread run if none does.
    pub fn dispatch(&self) {
        if HOLDER.load(Relaxed).is_null() && !self.ready.as_slice().is_empty() {
            self.pass(None);
        }
    }

    /// Takes the baton from `holder`, which did not pass a hook since it had passed `ticks` and is
    /// not inside the runtime, for the thread that is next. False if it moved after all.
    ///
    /// Exactness rests on the order here. The baton goes first, then every processor passes a
    /// barrier: a hook of `holder` either sees that the baton is gone, or it is seen here.
    pub fn steal(&self, holder: &'static Thread, ticks: u64, thief: &'static Thread) -> bool {
        HOLDER.store(ptr::from_ref(thief).cast_mut(), SeqCst);
        let exact = sys::barrier_everywhere();
        if !exact || holder.busy.load(SeqCst) != 0 || holder.ticks.load(SeqCst) != ticks {
            HOLDER.store(ptr::from_ref(holder).cast_mut(), SeqCst);
            return false;
        }
        // Asleep in the kernel, its last store is done.
        pending::settle(holder);
        holder.state.store(state::OUTSIDE, Relaxed);
        self.outside.set(self.outside.get() + 1);
        // SAFETY: the ring is attached while there are threads to schedule.
        unsafe { RING.count_steal() };
        self.pass(None);
        true
    }
}

/// Makes a waiting thread look around.
fn rouse(thread: &Thread) {
    thread.word.store(1, Release);
    futex::wake(&thread.word, 1, false);
}

/// Starts the run with its first thread, which has the baton.
pub fn start(settings: Settings, first: &'static Thread) {
    let scheduler = lock();
    scheduler.choices.start(settings);
    scheduler.most.store(settings.most, Relaxed);
    scheduler.choices.admit(first);
    first.state.store(state::RUNNING, Relaxed);
    HOLDER.store(ptr::from_ref(first).cast_mut(), SeqCst);
    took(&scheduler, first);
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
    for queue in [&SCHEDULER.ready, &SCHEDULER.blocked] {
        queue.len.set(0);
    }
    SCHEDULER.outside.set(0);
    SCHEDULER.watcher.set(ptr::null());
    SCHEDULER.leaving.set(0);
    SCHEDULER.last_recorded.set(ptr::null());
    thaw();
    start(settings, me);
}

fn begin_turn(scheduler: &Scheduler, me: &'static Thread) {
    // SAFETY: null or a thread, which lives for ever.
    let before = unsafe { scheduler.last_recorded.get().as_ref() };
    let hooks = scheduler.choices.begin_turn(before, me);
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
/// as many events as are wanted. Whether its turn is over.
fn look_up(me: &'static Thread) -> bool {
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
    let over = me.ticks.load(Relaxed) >= me.turn_ends.load(Relaxed);
    if !over {
        look_up_in_time(me);
    }
    over
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

/// A signal came to a thread that is without the baton: if it is blocked, it will get it.
fn wake_for_signal(me: &'static Thread) {
    let scheduler = lock();
    let Some(at) = scheduler.place_of_blocked(me) else {
        return;
    };
    if me.interruptible.get() {
        scheduler.unblock(at, Woken::Signal);
    } else if !me.handling.replace(true) {
        scheduler.make_ready(me);
    }
    scheduler.dispatch();
}

/// A thread that has the baton waits until one wakes it that names the same `key`, or until the
/// deadline, and has the baton again.
pub fn block(me: &'static Thread, key: usize, deadline: i64) -> Woken {
    let scheduler = lock();
    me.key.set(key);
    me.deadline.set(deadline);
    me.state.store(state::BLOCKED, Relaxed);
    scheduler.blocked.push(me);
    if deadline != NEVER {
        // A deadline in the past takes effect at once, else its moment would depend on the watcher.
        let now = sys::now(libc::CLOCK_MONOTONIC);
        if deadline <= now {
            scheduler.unblock(scheduler.blocked.as_slice().len() - 1, Woken::Deadline);
        }
    }
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
    while me.handling.get() {
        signals::deliver(&Inside::of(me), Afterwards::AsBefore);
        let scheduler = lock();
        me.handling.set(false);
        // It was woken meanwhile, or it goes on waiting in its old place.
        if scheduler.place_of_blocked(me).is_some() {
            me.state.store(state::BLOCKED, Relaxed);
            scheduler.pass(Some(me));
            drop(scheduler);
            wait(me);
        }
    }
    if me.woken_by.get() == Woken::Signal {
        signals::deliver(&Inside::of(me), Afterwards::AsBefore);
    }
    me.woken_by.get()
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
        && let Some(at) = scheduler.place_of_blocked(thread)
    {
        scheduler.unblock(at, Woken::Cancel);
    }
}

/// Wakes up to `count` of the threads blocked on `key`. The caller has the baton.
pub fn wake(key: usize, count: usize) {
    if SCHEDULER.blocked.len.get() != 0 {
        wake_each(key, count, |_| {});
    }
}

/// As [`wake`]; tells of each thread that it wakes.
pub fn wake_each(key: usize, count: usize, mut tell: impl FnMut(&'static Thread)) {
    let scheduler = lock();
    for _ in 0..count {
        let waiting = || {
            (0..)
                .zip(scheduler.blocked.as_slice())
                .filter(|(_, thread)| thread.key.get() == key)
        };
        let Some(chosen) = scheduler.choices.pick(waiting().map(|(_, thread)| *thread)) else {
            break;
        };
        let chosen = schedule::pick_waiter(waiting().map(|(_, thread)| thread)).unwrap_or(chosen);
        let Some((at, _)) = waiting().nth(chosen) else {
            break;
        };
        tell(scheduler.blocked.as_slice()[at]);
        scheduler.unblock(at, Woken::Thread);
    }
}

/// How many threads are blocked on `key`. The caller has the baton.
pub fn count_blocked(key: usize) -> usize {
    lock()
        .blocked
        .as_slice()
        .iter()
        .filter(|thread| thread.key.get() == key)
        .count()
}

/// Gives others a chance; a thread that is alone goes on. The caller has the baton.
#[cold]
#[inline(never)]
pub fn give_way(me: &'static Thread) {
    look_up(me);
    if schedule::gate(me, &Intent::NONE) {
        let_others(me, true);
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
    let over = look_up(me);
    if schedule::gate(me, intent) && over {
        let_others(me, false);
    }
}

fn let_others(me: &'static Thread, yields: bool) {
    let scheduler = lock();
    scheduler.choices.end_turn(me, yields);
    if scheduler.ready.as_slice().is_empty() {
        begin_turn(&scheduler, me);
        return;
    }
    scheduler.make_ready(me);
    scheduler.pass(Some(me));
    drop(scheduler);
    wait(me);
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
        drop(Inside::enter_and_stay());
        leave(me);
    }
}

/// A thread that does not run yet may do so from now on. The caller has the baton.
pub fn admit(thread: &'static Thread) {
    let scheduler = lock();
    scheduler.choices.admit(thread);
    scheduler.make_ready(thread);
}

/// The thread's first wait.
pub fn await_first_turn(me: &'static Thread) {
    wait(me);
}

/// The thread is over: wakes those that join it, and gives the baton away for good.
pub fn retire(me: &'static Thread) {
    wake(ptr::from_ref(me) as usize, usize::MAX);
    let scheduler = lock();
    me.state.store(state::ENDED, Relaxed);
    let number = me.os_id.load(Relaxed);
    // The first thread ends with the process.
    scheduler
        .leaving
        .set(if number == sys::process_id() { 0 } else { number });
    scheduler.pass(None);
}
