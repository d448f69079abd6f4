//! `GMutex` and `GCond`.

use super::library;
use crate::events::lock::{ALONE, Lock, TRIES};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use core::ffi::c_void;
use libc::c_int;
use recorder_ring::{ObjectClass, Record, Waits};

const CLASS: ObjectClass = ObjectClass::Mutex;

/// Takes the real mutex, waiting in the scheduler. Records nothing.
///
/// # Safety
/// It is a mutex.
pub unsafe fn obtain(inside: &RuntimeGuard, mutex: *mut c_void, pc: usize) {
    // SAFETY: promised by the caller.
    while unsafe { library::g_mutex_trylock(mutex) } == 0 {
        pending::waits(inside.thread(), Waits::Acquire, mutex as usize, pc, NEVER);
        baton::block(inside.thread(), mutex as usize, NEVER);
    }
}

/// Gives it back. Records nothing.
///
/// # Safety
/// It is a mutex that the thread holds.
pub unsafe fn give_back(mutex: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe { library::g_mutex_unlock(mutex) };
    baton::wake(mutex as usize, usize::MAX);
}

/// As [`obtain`], recorded.
///
/// # Safety
/// It is a mutex.
pub unsafe fn lock(inside: &RuntimeGuard, mutex: *mut c_void, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe { obtain(inside, mutex, pc) };
    Lock::new(CLASS, mutex as usize).taken(ALONE, pc);
}

/// As [`give_back`], recorded.
///
/// # Safety
/// It is a mutex that the thread holds.
pub unsafe fn unlock(mutex: *mut c_void, pc: usize) {
    Lock::new(CLASS, mutex as usize).given_back(pc);
    // SAFETY: promised by the caller.
    unsafe { give_back(mutex) };
}

/// Waits on a condition; whether it was in time.
unsafe fn wait(inside: &RuntimeGuard, condition: *mut c_void, mutex: *mut c_void, deadline: i64, pc: usize) -> bool {
    let (at, condition, lock) = (pc, condition as u64, mutex as u64);
    let pc = at as u64;
    // SAFETY: the program's own mutex, which it holds.
    unsafe { give_back(mutex) };
    pending::push(Record::WaitBegin {
        pc,
        condition,
        class: CLASS,
        lock,
    });
    pending::waits(inside.thread(), Waits::Condition, condition as usize, at, deadline);
    let woken = baton::block(inside.thread(), condition as usize, deadline);
    // SAFETY: as above.
    unsafe { obtain(inside, mutex, at) };
    pending::push(Record::WaitEnd {
        pc,
        condition,
        class: CLASS,
        lock,
        timed_out: woken != Woken::Thread,
        attempt: deadline != NEVER,
    });
    if woken == Woken::Deadline {
        clocks::waited_until(deadline);
    }
    woken != Woken::Deadline
}

fn notify(condition: *mut c_void, all: bool, pc: usize) {
    pending::push(Record::Notify {
        pc: pc as u64,
        condition: condition as u64,
        all,
    });
    baton::wake(condition as usize, if all { usize::MAX } else { 1 });
}

fn begin(class: ObjectClass, object: *mut c_void) {
    pending::push(Record::Init {
        class,
        object: object as u64,
        count: 0,
    });
}

fn end(object: *mut c_void) {
    pending::push(Record::Destroy { object: object as u64 });
}

entries! {
    g_mutex_lock(mutex: *mut c_void) -> (), reg "rsi": |inside, pc| { lock(&inside, mutex, pc); }
    g_mutex_unlock(mutex: *mut c_void) -> (), reg "rsi": |inside, pc| { unlock(mutex, pc); }
    g_mutex_trylock(mutex: *mut c_void) -> c_int, reg "rsi": |inside, pc| {
        let taken = library::g_mutex_trylock(mutex);
        let lock = Lock::new(CLASS, mutex as usize);
        match taken {
            0 => lock.not_taken(false, pc),
            _ => lock.taken(TRIES, pc),
        }
        taken
    }
    g_mutex_init(mutex: *mut c_void) -> (), reg "rsi": |inside, pc| {
        library::g_mutex_init(mutex);
        begin(CLASS, mutex);
    }
    g_mutex_clear(mutex: *mut c_void) -> (), reg "rsi": |inside, pc| {
        library::g_mutex_clear(mutex);
        end(mutex);
    }
    g_cond_init(condition: *mut c_void) -> (), reg "rsi": |inside, pc| {
        library::g_cond_init(condition);
        begin(ObjectClass::Condition, condition);
    }
    g_cond_clear(condition: *mut c_void) -> (), reg "rsi": |inside, pc| {
        library::g_cond_clear(condition);
        end(condition);
    }
    g_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> (), reg "rdx": |inside, pc| {
        wait(&inside, condition, mutex, NEVER, pc);
    }
    g_cond_wait_until(condition: *mut c_void, mutex: *mut c_void, until: i64) -> c_int, reg "rcx": |inside, pc| {
        c_int::from(wait(&inside, condition, mutex, library::at(until), pc))
    }
    g_cond_signal(condition: *mut c_void) -> (), reg "rsi": |inside, pc| { notify(condition, false, pc); }
    g_cond_broadcast(condition: *mut c_void) -> (), reg "rsi": |inside, pc| { notify(condition, true, pc); }
}
