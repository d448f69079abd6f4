//! Mutexes: normal, recursive, error-checking, robust.

use super::{deadline, is_clock_of_waits, object, reads_time, robust, try_again_at};
use crate::events::lock::{ALONE, Lock, note_once};
use crate::events::moment::Moments;
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::glibc::RobustMutexes;
use crate::platform::glibc::mutex::{
    CEILING, CEILING_SHIFT, DEPTH, INCONSISTENT, INHERITS, KIND, NOT_RECOVERABLE, OWNER, ROBUST, SHARED, STATE,
};
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use recorder_ring::{Note, ObjectClass, Waits};

fn field(mutex: *mut pthread_mutex_t, offset: usize) -> i32 {
    // SAFETY: the program's own mutex; the offsets of `glibc::mutex` lie inside it, aligned, and were checked at the
    // start.
    unsafe { mutex.byte_add(offset).cast::<i32>().read_volatile() }
}

/// Mutexes that were destroyed, by their addresses. (Other objects of glibc's go on as if they had not been.)
static DESTROYED: Moments = Moments::new();

/// An operation that fails because the mutex was destroyed comes after that.
pub fn failed(mutex: *mut pthread_mutex_t, result: c_int, pc: usize) {
    if result == libc::EINVAL {
        DESTROYED.is_past(mutex as u64, pc);
    }
}

/// What kind of mutex it is, as far as the trace tells them apart.
pub fn class(mutex: *mut pthread_mutex_t) -> ObjectClass {
    match field(mutex, KIND) & 3 {
        libc::PTHREAD_MUTEX_RECURSIVE => ObjectClass::RecursiveMutex,
        _ => ObjectClass::Mutex,
    }
}

/// How many times its owner holds a recursive mutex; at most once, another one.
pub fn depth(mutex: *mut pthread_mutex_t) -> i32 {
    match class(mutex) {
        ObjectClass::RecursiveMutex => field(mutex, DEPTH),
        _ => 1,
    }
}

/// As the real one, which forgets to give back what it took of a mutex that is not recoverable.
///
/// # Safety
/// `mutex` is a mutex.
unsafe fn try_real(mutex: *mut pthread_mutex_t) -> c_int {
    if field(mutex, OWNER) == NOT_RECOVERABLE {
        return libc::ENOTRECOVERABLE;
    }
    // SAFETY: promised by the caller.
    unsafe { real::pthread_mutex_trylock(mutex) }
}

fn taken(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// Takes the real mutex, waiting in the scheduler. Records nothing.
///
/// # Safety
/// `mutex` is a mutex.
pub unsafe fn acquire(inside: &RuntimeGuard, mutex: *mut pthread_mutex_t, deadline: i64, pc: usize) -> c_int {
    loop {
        // SAFETY: promised by the caller.
        let result = unsafe { try_real(mutex) };
        if result != libc::EBUSY {
            if result == libc::ENOTRECOVERABLE {
                // Nobody will get it any more, nor wake the others.
                baton::wake(mutex as usize, usize::MAX);
            }
            return result;
        }
        let own = field(mutex, OWNER) == inside.os_id.load(Relaxed);
        if own && field(mutex, KIND) & 3 == libc::PTHREAD_MUTEX_ERRORCHECK {
            return libc::EDEADLK;
        }
        let until = try_again_at(deadline, field(mutex, KIND) & SHARED != 0, mutex);
        pending::waits(inside.thread(), Waits::Acquire, mutex as usize, pc, until);
        if inside.wait(mutex as usize, until) == Woken::Deadline && until == deadline {
            clocks::waited_until(deadline);
            return libc::ETIMEDOUT;
        }
    }
}

/// Gives the real mutex back and lets one of those that wait for it try again. Records nothing but that nobody gets it
/// any more, where that is so.
///
/// # Safety
/// `mutex` is a mutex.
pub unsafe fn give_back(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let is_inconsistent = field(mutex, OWNER) == INCONSISTENT;
    // SAFETY: promised by the caller.
    let result = unsafe { real::pthread_mutex_unlock(mutex) };
    if result == 0 {
        if is_inconsistent {
            robust::is_lost(mutex, pc);
        }
        baton::wake(mutex as usize, 1);
    }
    result
}

/// The robust mutexes that a thread holds at its end are given back: the next owner learns of it. The kernel would do
/// that when the thread is gone, which may be after the next owner has asked.
pub fn leave_robust_ones() {
    /// No program holds more.
    const MOST: usize = 1 << 16;
    let Some(list) = RobustMutexes::own() else { return };
    // SAFETY: nobody takes or gives back a mutex of this thread's meanwhile: it is at its end, and `push` uses none.
    let entries = || core::iter::successors(unsafe { list.next(list.head) }, |&entry| unsafe { list.next(entry) });
    let is_for_kernel = (entries().take(MOST)).any(|entry| field(list.mutex(entry), KIND) & INHERITS != 0);
    for entry in entries().take(MOST) {
        let mutex = list.mutex(entry);
        let class = class(mutex);
        let depth = depth(mutex).max(1);
        robust::is_abandoned(mutex);
        for _ in 0..depth {
            Lock::new(class, mutex as usize).given_back(0);
        }
        if !is_for_kernel {
            // SAFETY: an entry of the list, as above.
            unsafe { list.abandon(mutex) };
        }
        baton::wake(mutex as usize, usize::MAX);
    }
    if !is_for_kernel {
        // SAFETY: at its end, the thread takes no more.
        unsafe { list.forget_all() };
    }
}

unsafe fn lock_until(inside: &RuntimeGuard, mutex: *mut pthread_mutex_t, deadline: i64, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    let result = unsafe { acquire(inside, mutex, deadline, pc) };
    let lock = Lock::new(class(mutex), mutex as usize);
    if deadline != NEVER {
        lock.tried(false, result, pc);
    } else if taken(result) {
        lock.taken(ALONE, pc);
    }
    robust::asked_for(mutex, result, pc);
    failed(mutex, result, pc);
    result
}

/// Takes it if it is free: only then it does not matter that the time until which the program wants to wait is none.
unsafe fn lock_at_once(inside: &RuntimeGuard, mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    match unsafe { lock_until(inside, mutex, 0, pc) } {
        libc::ETIMEDOUT => libc::EINVAL,
        result => result,
    }
}

pub unsafe extern "C-unwind" fn lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    unsafe {
        match object::enter(mutex as usize, pc) {
            Some(inside) => lock_until(&inside, mutex, NEVER, pc),
            None => real::pthread_mutex_lock(mutex),
        }
    }
}

pub unsafe extern "C-unwind" fn timed_lock(mutex: *mut pthread_mutex_t, limit: *const timespec, pc: usize) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own mutex and time.
    unsafe {
        match object::enter(mutex as usize, pc) {
            Some(inside) => match deadline(libc::CLOCK_REALTIME, limit) {
                Some(deadline) => lock_until(&inside, mutex, deadline, pc),
                None => lock_at_once(&inside, mutex, pc),
            },
            None => real::pthread_mutex_timedlock(mutex, limit),
        }
    }
}

unsafe extern "C-unwind" fn clock_lock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own mutex and time.
    unsafe {
        match object::enter(mutex as usize, pc) {
            Some(_) if !is_clock_of_waits(clock) => libc::EINVAL,
            Some(inside) => match deadline(clock, limit) {
                Some(deadline) => lock_until(&inside, mutex, deadline, pc),
                None => lock_at_once(&inside, mutex, pc),
            },
            None => real::pthread_mutex_clocklock(mutex, clock, limit),
        }
    }
}

pub unsafe extern "C-unwind" fn try_lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let inside = object::enter(mutex as usize, pc);
    // SAFETY: the program's own mutex.
    let result = unsafe { try_real(mutex) };
    if inside.is_some() {
        Lock::new(class(mutex), mutex as usize).tried(false, result, pc);
        robust::asked_for(mutex, result, pc);
        failed(mutex, result, pc);
    }
    result
}

pub unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    unsafe {
        let Some(_inside) = object::enter(mutex as usize, pc) else {
            return real::pthread_mutex_unlock(mutex);
        };
        let class = class(mutex);
        // The lowest priority of its owners stands above.
        let state = match field(mutex, KIND) & CEILING {
            0 => field(mutex, STATE),
            _ => field(mutex, STATE) & !(-1 << CEILING_SHIFT),
        };
        let was_held = state != 0;
        let result = give_back(mutex, pc);
        // POSIX leaves open what it means to unlock one that nobody holds; in glibc, nothing happens.
        match result {
            0 if was_held => Lock::new(class, mutex as usize).given_back(pc),
            0 => note_once(Note::GivenBackFree),
            _ => {}
        }
        failed(mutex, result, pc);
        result
    }
}

unsafe extern "C-unwind" fn initialize(
    mutex: *mut pthread_mutex_t,
    attr: *const pthread_mutexattr_t,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own mutex, and what it is to be.
    let call = || unsafe { real::pthread_mutex_init(mutex, attr) };
    object::initialize(mutex as usize, 0, pc, call, || {
        DESTROYED.forget(mutex as u64);
        match field(mutex, KIND) & ROBUST {
            0 => robust::ends(mutex),
            _ => robust::begins(mutex),
        }
        class(mutex)
    })
}

unsafe extern "C-unwind" fn destroy(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    let call = || unsafe { real::pthread_mutex_destroy(mutex) };
    object::destroy_and(mutex as usize, pc, call, |result| {
        if result == 0 {
            robust::ends(mutex);
        }
        match result {
            // Whether somebody holds it in another schedule is no matter of this one: the attempt is what counts.
            0 | libc::EBUSY => DESTROYED.happens(mutex as u64, pc),
            _ => failed(mutex, result, pc),
        }
    })
}

export_shown! {
    pthread_mutex_lock = lock, "rsi";
    pthread_mutex_trylock = try_lock, "rsi";
    pthread_mutex_timedlock = timed_lock, "rdx";
    pthread_mutex_clocklock = clock_lock, "rcx";
    pthread_mutex_unlock = unlock, "rsi";
    pthread_mutex_init = initialize, "rdx";
    pthread_mutex_destroy = destroy, "rsi";
}
