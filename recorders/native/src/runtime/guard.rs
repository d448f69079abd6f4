//! Entering the runtime: the few instructions at the start of every hook.

use crate::events::pending;
use crate::platform::real;
use crate::scheduling::baton::{self, Process, SCHEDULER};
use crate::scheduling::recording::{self, Phase, RING};
use crate::scheduling::thread::{Thread, UNRECORDED, Woken, set_slot, slot};
use crate::scheduling::{fast_path, plan};
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;
use recorder_scheduler::Intent;

/// What a thread inside the runtime asks of those parts that themselves enter it.
pub trait Above {
    /// A thread appeared that `pthread_create` did not make. It is inside the runtime afterwards.
    fn adopt() -> &'static Thread;
    /// Records that the thread gives in, if it is about to end because somebody wants it to.
    fn note_cancellation(thread: &Thread);
    /// The thread is about to end: models of libraries let go of it.
    fn thread_ends(guard: &RuntimeGuard);
    /// Runs the handlers of the signals that the thread has put off; it goes on with what it was doing.
    fn handle_signals(inside: &RuntimeGuard);
    /// The thread has waited outside: along a plan, it gets the signals that came meanwhile.
    fn has_waited(inside: &RuntimeGuard);
}

/// The calling thread, inside the runtime and with the baton, until this is dropped.
pub struct RuntimeGuard(&'static Thread);

impl RuntimeGuard {
    /// Enters; the pending write is settled and the thread may have given way to others. `None`
    /// if nothing is to be recorded: the caller does what the C library would.
    #[inline(always)]
    pub fn enter() -> Option<RuntimeGuard> {
        let inside = Self::begin()?;
        inside.settle();
        inside.maybe_yield();
        Some(inside)
    }

    /// As [`enter`](Self::enter), before an access.
    #[inline(always)]
    pub fn enter_for(intent: impl FnOnce() -> Intent) -> Option<RuntimeGuard> {
        let inside = Self::begin()?;
        inside.settle();
        inside.maybe_yield_before(intent);
        Some(inside)
    }

    /// Enters without giving way: for calls that come from libraries, where a lock may be held
    /// that the runtime does not know of, and for what is no event.
    #[inline(always)]
    pub fn enter_and_stay() -> Option<RuntimeGuard> {
        let inside = Self::begin()?;
        inside.settle();
        Some(inside)
    }

    /// As [`enter_for`](Self::enter_for), for an event that is recorded without anything else: inside, the caller comes
    /// to no hook.
    #[inline(always)]
    pub fn enter_to_record(intent: impl FnOnce() -> Intent) -> Option<RuntimeGuard> {
        match Self::enter_fast() {
            Some(inside) => Some(inside),
            None => Self::enter_for(intent),
        }
    }

    /// Enters, if the thread owns the fast path, which it keeps. Inside, the caller comes to no hook.
    #[inline(always)]
    pub fn enter_fast() -> Option<RuntimeGuard> {
        let thread = fast_path()?.thread();
        // SAFETY: the thread has the baton.
        let is_due = unsafe {
            match thread.pending.size.get() {
                0 => RING.is_due(),
                _ => RING.is_due_after_one(),
            }
        };
        if is_due {
            return None;
        }
        thread.busy.store(1, Relaxed);
        // As in `enter_slow`.
        compiler_fence(SeqCst);
        pending::settle_fast(thread);
        Some(RuntimeGuard(thread))
    }

    /// The first step of entering: marks the thread busy and makes sure of the baton.
    #[inline(always)]
    pub fn begin() -> Option<RuntimeGuard> {
        let thread = slot();
        if thread.is_null() {
            return first_entry();
        }
        // SAFETY: a slot holds a thread, which lives for ever.
        let thread: &'static Thread = unsafe { &*thread };
        if thread.busy.load(Relaxed) != 0 {
            return None;
        }
        enter_slow(thread);
        thread.ticks.store(thread.ticks.load(Relaxed) + 1, Relaxed);
        Some(RuntimeGuard(thread))
    }

    /// The thread was interrupted in the program, not inside the runtime.
    pub fn interrupted(thread: &'static Thread) -> RuntimeGuard {
        enter_slow(thread);
        RuntimeGuard(thread)
    }

    /// Records the pending write.
    #[inline(always)]
    pub fn settle(&self) {
        pending::settle(self.0);
    }

    /// Gives way to others if the quantum is over.
    #[inline(always)]
    pub fn maybe_yield(&self) {
        if self.0.ticks.load(Relaxed) >= self.0.switch_at.load(Relaxed) {
            baton::turn_over(self.0, &Intent::NONE);
        }
    }

    /// As [`maybe_yield`](Self::maybe_yield), before an access.
    #[inline(always)]
    pub fn maybe_yield_before(&self, intent: impl FnOnce() -> Intent) {
        if self.0.ticks.load(Relaxed) >= self.0.switch_at.load(Relaxed) {
            baton::turn_over(self.0, &intent());
        }
    }

    /// Under a plan, waits for the thread's turn, also where it would not give way else.
    pub fn await_turn(&self) {
        self.await_turn_before(|| Intent::NONE);
    }

    /// As [`await_turn`](Self::await_turn), before an access.
    pub fn await_turn_before(&self, intent: impl FnOnce() -> Intent) {
        if plan::is_followed() {
            baton::turn_over(self.0, &intent());
        }
    }

    /// The thread.
    pub fn thread(&self) -> &'static Thread {
        self.0
    }

    /// Leaves the runtime and the baton for a call that may take long, and comes back.
    pub fn outside<R>(&self, call: impl FnOnce() -> R) -> R {
        self.go_outside();
        self.0.in_call.set(true);
        let result = call();
        self.0.busy.store(1, Relaxed);
        self.0.in_call.set(false);
        let errno = save_errno();
        enter_slow(self.0);
        if plan::is_followed() {
            self.settle();
            Process::has_waited(self);
        }
        restore_errno(errno);
        result
    }

    /// Leaves the runtime and the baton. No signal waits then that came on the way: those that come later are handled
    /// in the call, but whatever has been put off would wait until it returns, perhaps for ever. The thread that sends
    /// one may run from the moment on when the baton is given away.
    pub fn go_outside(&self) {
        loop {
            Process::handle_signals(self);
            SCHEDULER.leave(self.0);
            self.0.busy.store(0, Relaxed);
            // A signal's handler runs in this thread.
            compiler_fence(SeqCst);
            if self.0.deferred.load(Relaxed) == 0 {
                return;
            }
            let errno = save_errno();
            enter_slow(self.0);
            restore_errno(errno);
        }
    }

    /// Leaves the runtime, with the baton, for a call back into the program.
    pub fn in_program<R>(&self, call: impl FnOnce() -> R) -> R {
        self.0.busy.store(0, Relaxed);
        let result = call();
        enter_slow(self.0);
        self.settle();
        result
    }

    /// The program's thread may be cancelled here: then this does not come back.
    pub fn may_be_cancelled(&self) {
        SCHEDULER.await_cancellation(self.0);
        Process::note_cancellation(self.0);
        // SAFETY: the frames up to the program's have nothing to undo but leaving the runtime.
        self.in_program(|| unsafe { real::pthread_testcancel() });
    }

    /// Waits where the program's thread may not be cancelled, unless it may be anywhere.
    pub fn wait(&self, key: usize, deadline: i64) -> Woken {
        if !self.asynchronous.get() {
            return baton::block(self.0, key, deadline);
        }
        if self.ends_at_hook() {
            self.may_be_cancelled();
        }
        let woken = baton::block_cancellably(self.0, key, deadline);
        if self.ends_at_hook() {
            self.may_be_cancelled();
        }
        woken
    }

    /// The same thread once more, for a part of the runtime that has only the thread: it is inside.
    pub fn of(thread: &'static Thread) -> core::mem::ManuallyDrop<RuntimeGuard> {
        core::mem::ManuallyDrop::new(RuntimeGuard(thread))
    }

    /// Stays inside for ever.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl Deref for RuntimeGuard {
    type Target = Thread;
    fn deref(&self) -> &Thread {
        self.0
    }
}

impl Drop for RuntimeGuard {
    #[inline(always)]
    fn drop(&mut self) {
        fast_path::leave(self.0);
    }
}

/// The calling thread, if all that its hook has to do is to record. The caller does not sleep, nor come to a hook,
/// unless it makes the thread busy.
#[inline(always)]
pub fn fast_path() -> Option<FastPath> {
    let thread = slot();
    ptr::eq(thread, SCHEDULER.fast_path_owner()).then_some(FastPath(thread))
}

/// The calling thread, which owns the fast path. Not a reference, of which the compiler would ask whether it is null.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct FastPath(*const Thread);

impl FastPath {
    #[inline(always)]
    pub fn thread(self) -> &'static Thread {
        // SAFETY: a thread, which lives for ever.
        unsafe { &*self.0 }
    }

    #[inline(always)]
    pub fn has_pending_write(self) -> bool {
        self.thread().pending.size.get() != 0
    }
}

/// Marks the thread busy, makes sure of the baton, and takes the fast path back.
#[inline(always)]
fn enter_slow(thread: &'static Thread) {
    thread.busy.store(1, Relaxed);
    // The watcher's barrier does the rest; see `Scheduler::steal`.
    compiler_fence(SeqCst);
    if !baton::is_holder(thread) {
        regain(thread);
    }
    fast_path::count_hooks(thread);
}

/// Takes the baton after having been without.
#[cold]
#[inline(never)]
pub fn regain(thread: &'static Thread) {
    SCHEDULER.regain(thread);
    if thread.in_call.get() {
        // It comes from its cleanup, or from a signal handler.
        Process::note_cancellation(thread);
    }
}

/// A signal handler ran in a call outside, and may have taken the baton: the call goes on without it.
pub fn leave_again(me: &'static Thread) {
    if baton::is_holder(me) {
        // Its last write is recorded.
        if let Some(inside) = RuntimeGuard::enter_and_stay() {
            inside.go_outside();
            inside.forget();
        }
    }
}

/// A thread without a record: not recorded at all, or one that `pthread_create` did not make.
#[cold]
#[inline(never)]
fn first_entry() -> Option<RuntimeGuard> {
    match recording::phase() {
        Phase::Before => None,
        Phase::Off => {
            set_slot(&UNRECORDED);
            None
        }
        Phase::On => Some(RuntimeGuard(Process::adopt())),
    }
}

/// The program's `errno`, which calls made for it must not change.
pub fn save_errno() -> i32 {
    // SAFETY: always valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

/// Puts `errno` back.
pub fn restore_errno(errno: i32) {
    // SAFETY: always valid for the calling thread.
    unsafe { *libc::__errno_location() = errno };
}
