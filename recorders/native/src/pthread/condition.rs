//! Condition variables. Their wait set is the scheduler's; the real ones are only initialized.

use super::{deadline, mutex, object, reads_time, robust, try_again_at};
use crate::events::lock::{ALONE, Lock};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::glibc::condition::{FLAGS, MONOTONIC, SHARED};
use crate::platform::memory::NOBODYS;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use recorder_ring::{ObjectClass, Record, Waits};

fn flags(condition: *mut pthread_cond_t) -> i32 {
    // SAFETY: the program's own condition variable; the offset lies inside it, aligned, and was checked at the start.
    unsafe { condition.byte_add(FLAGS).cast::<i32>().read_volatile() }
}

/// Whether processes share it.
fn is_shared(condition: *mut pthread_cond_t) -> bool {
    flags(condition) & SHARED != 0
}

fn clock(condition: *mut pthread_cond_t) -> clockid_t {
    if flags(condition) & MONOTONIC != 0 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// The mutex is given back and the wait set joined in one step: nobody else runs in between.
unsafe fn wait_until(
    inside: &RuntimeGuard,
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    deadline: i64,
    pc: usize,
) -> c_int {
    object::also_uses(inside, lock as usize, pc);
    inside.may_be_cancelled();
    // Of a mutex that its thread holds several times, it gives back one level, and so keeps it.
    let keeps = mutex::depth(lock) > 1;
    let (class, lock_addr) = match keeps {
        true => (ObjectClass::SpinLock, lock as u64 | NOBODYS),
        false => (mutex::class(lock), lock as u64),
    };
    let (pc, key) = (pc as u64, condition as u64);
    // SAFETY: the program's own mutex.
    let result = unsafe { mutex::give_back(lock, pc as usize) };
    if result != 0 {
        mutex::failed(lock, result, pc as usize);
        return result;
    }
    let given_back = Lock::new(class, lock_addr as usize);
    if keeps {
        given_back.taken(ALONE, pc as usize);
    }
    pending::push(Record::WaitBegin {
        pc,
        condition: key,
        class,
        lock: lock_addr,
    });
    // What another process notifies is not seen: the thread wakes without a reason, as any wait may, and looks for
    // itself.
    let until = try_again_at(deadline, is_shared(condition), condition);
    pending::waits(
        inside.thread(),
        Waits::Condition,
        condition as usize,
        pc as usize,
        until,
    );
    let woken = baton::block_cancellably(inside.thread(), condition as usize, until);
    baton::wake(leaving(condition), usize::MAX);
    // SAFETY: the program's own mutex.
    let result = unsafe { mutex::acquire(inside, lock, NEVER, pc as usize) };
    pending::push(Record::WaitEnd {
        pc,
        condition: key,
        class,
        lock: lock_addr,
        timed_out: woken != Woken::Thread,
        attempt: deadline != NEVER || is_shared(condition),
    });
    if keeps || result == libc::ENOTRECOVERABLE {
        // It has not got the lock that the end of a wait takes.
        given_back.given_back(pc as usize);
    }
    robust::asked_for(lock, result, pc as usize);
    match woken {
        Woken::Deadline if until == deadline => {
            clocks::waited_until(deadline);
            // What became of the lock matters more.
            return if result == 0 { libc::ETIMEDOUT } else { result };
        }
        // If it does not want to be, this is a wake-up without reason, which any wait may have.
        Woken::Cancel => inside.may_be_cancelled(),
        Woken::Thread | Woken::Signal | Woken::Restart | Woken::Deadline => {}
    }
    result
}

pub unsafe extern "C-unwind" fn wait(condition: *mut pthread_cond_t, lock: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own objects.
    unsafe {
        match object::enter(condition as usize, pc) {
            Some(inside) => wait_until(&inside, condition, lock, NEVER, pc),
            None => real::pthread_cond_wait(condition, lock),
        }
    }
}

pub unsafe extern "C-unwind" fn timed_wait(
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own objects.
    unsafe {
        match object::enter(condition as usize, pc) {
            Some(inside) => match deadline(clock(condition), limit) {
                Some(deadline) => wait_until(&inside, condition, lock, deadline, pc),
                None => libc::EINVAL,
            },
            None => real::pthread_cond_timedwait(condition, lock, limit),
        }
    }
}

unsafe extern "C-unwind" fn clock_wait(
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    clock: clockid_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own objects.
    unsafe {
        match object::enter(condition as usize, pc) {
            Some(inside) => match deadline(clock, limit) {
                Some(deadline) => wait_until(&inside, condition, lock, deadline, pc),
                None => libc::EINVAL,
            },
            None => real::pthread_cond_clockwait(condition, lock, clock, limit),
        }
    }
}

pub unsafe extern "C-unwind" fn signal(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    let Some(_inside) = object::enter(condition as usize, pc) else {
        // SAFETY: the program's own condition variable.
        return unsafe { real::pthread_cond_signal(condition) };
    };
    pending::push(Record::Notify {
        pc: pc as u64,
        condition: condition as u64,
        all: false,
    });
    baton::wake(condition as usize, 1);
    if is_shared(condition) {
        // For processes that are not recorded.
        // SAFETY: the program's own condition variable.
        return unsafe { real::pthread_cond_signal(condition) };
    }
    0
}

pub unsafe extern "C-unwind" fn broadcast(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    let Some(_inside) = object::enter(condition as usize, pc) else {
        // SAFETY: the program's own condition variable.
        return unsafe { real::pthread_cond_broadcast(condition) };
    };
    pending::push(Record::Notify {
        pc: pc as u64,
        condition: condition as u64,
        all: true,
    });
    baton::wake(condition as usize, usize::MAX);
    if is_shared(condition) {
        // For processes that are not recorded.
        // SAFETY: the program's own condition variable.
        return unsafe { real::pthread_cond_broadcast(condition) };
    }
    0
}

unsafe extern "C-unwind" fn initialize(
    condition: *mut pthread_cond_t,
    attr: *const pthread_condattr_t,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own condition variable, and what it is to be.
    let call = || unsafe { real::pthread_cond_init(condition, attr) };
    object::initialize(condition as usize, 0, pc, call, || ObjectClass::Condition)
}

/// What a thread is blocked on that destroys a condition variable at which others wait.
fn leaving(condition: *mut pthread_cond_t) -> usize {
    // No other object begins there.
    condition as usize + 1
}

unsafe extern "C-unwind" fn destroy(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    // The C library waits there until nobody waits at it any more, though no program may come to that.
    if let Some(inside) = RuntimeGuard::enter() {
        while baton::count_blocked(condition as usize) > 0 {
            pending::waits(inside.thread(), Waits::Leave, condition as usize, pc, NEVER);
            baton::block(inside.thread(), leaving(condition), NEVER);
        }
    }
    // SAFETY: the program's own condition variable.
    object::destroy(condition as usize, pc, || unsafe {
        real::pthread_cond_destroy(condition)
    })
}

export_shown! {
    pthread_cond_wait = wait, "rdx";
    pthread_cond_timedwait = timed_wait, "rcx";
    pthread_cond_clockwait = clock_wait, "r8";
    pthread_cond_signal = signal, "rsi";
    pthread_cond_broadcast = broadcast, "rsi";
    pthread_cond_init = initialize, "rdx";
    pthread_cond_destroy = destroy, "rsi";
}
