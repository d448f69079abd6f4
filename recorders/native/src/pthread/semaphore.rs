//! Semaphores. Each event carries the count before it, so that one which was never initialized in
//! sight of the recorder (static, named) has a known count all the same.

use super::{deadline, object, reads_time, try_again_at};
use crate::events::picture::export_shown;
use crate::events::{modules, pending};
use crate::platform::glibc::semaphore::SHARED;
use crate::platform::real;
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use libc::{c_int, c_uint, clockid_t, sem_t, timespec};
use recorder_ring::plan::kind;
use recorder_ring::{ObjectClass, Record, Waits};
use recorder_scheduler::{Access, Intent};

/// Whether processes share it.
fn is_shared(semaphore: *mut sem_t) -> bool {
    // SAFETY: the program's own semaphore; the offset lies inside it, aligned, and was checked at the start.
    unsafe { semaphore.byte_add(SHARED).cast::<i32>().read_volatile() != 0 }
}

fn count(semaphore: *mut sem_t) -> u32 {
    let mut value = 0;
    // SAFETY: the program's own semaphore.
    unsafe { real::sem_getvalue(semaphore, &mut value) };
    value.max(0) as u32
}

/// Takes one if there is one; `timed`: it does not wait for ever.
unsafe fn take(semaphore: *mut sem_t, timed: bool, pc: usize) -> c_int {
    let count = count(semaphore);
    // SAFETY: the program's own semaphore.
    let result = unsafe { real::sem_trywait(semaphore) };
    if result == 0 {
        pending::push(Record::SemWait {
            pc: pc as u64,
            semaphore: semaphore as u64,
            // Another process may have posted since it was looked at.
            count: count.max(1),
            shared: is_shared(semaphore),
            timed,
        });
    }
    result
}

/// As [`take`], and gives up if there is none: that it found none is an event.
unsafe fn attempt(semaphore: *mut sem_t, pc: usize) -> c_int {
    // SAFETY: the program's own semaphore.
    let result = unsafe { take(semaphore, true, pc) };
    let errno = save_errno();
    if result != 0 && errno == libc::EAGAIN {
        pending::push(Record::SemWaitFailed {
            pc: pc as u64,
            semaphore: semaphore as u64,
        });
        restore_errno(errno);
    }
    result
}

unsafe fn wait_until(inside: &RuntimeGuard, semaphore: *mut sem_t, deadline: i64, pc: usize) -> c_int {
    let errno = save_errno();
    loop {
        inside.may_be_cancelled();
        // SAFETY: the program's own semaphore.
        let result = unsafe { take(semaphore, deadline != NEVER, pc) };
        if result == 0 {
            restore_errno(errno);
            return 0;
        }
        if save_errno() != libc::EAGAIN {
            return result;
        }
        let until = try_again_at(deadline, is_shared(semaphore), semaphore);
        pending::waits(inside.thread(), Waits::Semaphore, semaphore as usize, pc, until);
        inside.interruptible.set(true);
        let woken = baton::block_cancellably(inside.thread(), semaphore as usize, until);
        inside.interruptible.set(false);
        match woken {
            Woken::Thread | Woken::Cancel => {}
            Woken::Restart if deadline == NEVER => {}
            Woken::Deadline if until != deadline => {}
            Woken::Deadline => {
                // Others may have run between the end of its time and its turn.
                // SAFETY: the program's own semaphore.
                let result = unsafe { attempt(semaphore, pc) };
                if result != 0 {
                    clocks::waited_until(deadline);
                }
                restore_errno(if result == 0 { errno } else { libc::ETIMEDOUT });
                return result;
            }
            Woken::Signal | Woken::Restart => {
                inside.may_be_cancelled();
                restore_errno(libc::EINTR);
                return -1;
            }
        }
    }
}

unsafe extern "C-unwind" fn wait(semaphore: *mut sem_t, pc: usize) -> c_int {
    // SAFETY: the program's own semaphore.
    unsafe {
        match object::enter(semaphore as usize, pc) {
            Some(inside) => wait_until(&inside, semaphore, NEVER, pc),
            None => real::sem_wait(semaphore),
        }
    }
}

/// The time until which a program wants to wait is none.
fn invalid() -> c_int {
    restore_errno(libc::EINVAL);
    -1
}

unsafe extern "C-unwind" fn timed_wait(semaphore: *mut sem_t, limit: *const timespec, pc: usize) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own semaphore and time.
    unsafe {
        match object::enter(semaphore as usize, pc) {
            Some(inside) => match deadline(libc::CLOCK_REALTIME, limit) {
                Some(deadline) => wait_until(&inside, semaphore, deadline, pc),
                None => invalid(),
            },
            None => real::sem_timedwait(semaphore, limit),
        }
    }
}

unsafe extern "C-unwind" fn clock_wait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own semaphore and time.
    unsafe {
        match object::enter(semaphore as usize, pc) {
            Some(inside) => match deadline(clock, limit) {
                Some(deadline) => wait_until(&inside, semaphore, deadline, pc),
                None => invalid(),
            },
            None => real::sem_clockwait(semaphore, clock, limit),
        }
    }
}

unsafe extern "C-unwind" fn try_wait(semaphore: *mut sem_t, pc: usize) -> c_int {
    // SAFETY: the program's own semaphore.
    unsafe {
        match object::enter(semaphore as usize, pc) {
            Some(_inside) => attempt(semaphore, pc),
            None => real::sem_trywait(semaphore),
        }
    }
}

unsafe extern "C-unwind" fn post(semaphore: *mut sem_t, pc: usize) -> c_int {
    let inside = object::enter(semaphore as usize, pc);
    let before = if inside.is_some() { count(semaphore) } else { 0 };
    // SAFETY: the program's own semaphore.
    let result = unsafe { real::sem_post(semaphore) };
    if inside.is_some() && result == 0 {
        pending::push(Record::SemPost {
            pc: pc as u64,
            semaphore: semaphore as u64,
            count: before,
            shared: is_shared(semaphore),
        });
        baton::wake(semaphore as usize, 1);
    }
    result
}

unsafe extern "C-unwind" fn get_value(semaphore: *mut sem_t, value: *mut c_int, pc: usize) -> c_int {
    let Some(inside) = object::enter(semaphore as usize, pc) else {
        // SAFETY: the program's own semaphore, and where it wants the count.
        return unsafe { real::sem_getvalue(semaphore, value) };
    };
    let mut seen = 0;
    // SAFETY: the program's own semaphore.
    let result = unsafe { real::sem_getvalue(semaphore, &mut seen) };
    if result != 0 {
        return result;
    }
    pending::push(Record::SemValue {
        pc: pc as u64,
        semaphore: semaphore as u64,
        count: seen.max(0) as u32,
    });
    let (to, size) = (value as usize, size_of::<c_int>());
    let recorded = modules::is_instrumented(pc);
    if recorded {
        inside.await_turn_before(|| Intent::of(Access::one(pc, kind::WRITE, to, size)));
    }
    // SAFETY: where the program wants the count.
    unsafe { value.write(seen) };
    if recorded {
        pending::write_now(to, size, pc);
    }
    0
}

unsafe extern "C-unwind" fn initialize(semaphore: *mut sem_t, shared: c_int, value: c_uint, pc: usize) -> c_int {
    // SAFETY: the program's own semaphore, and what it is to be.
    let call = || unsafe { real::sem_init(semaphore, shared, value) };
    object::initialize(semaphore as usize, value, pc, call, || ObjectClass::Semaphore)
}

unsafe extern "C-unwind" fn destroy(semaphore: *mut sem_t, pc: usize) -> c_int {
    // SAFETY: the program's own semaphore.
    object::destroy(semaphore as usize, pc, || unsafe { real::sem_destroy(semaphore) })
}

export_shown! {
    sem_wait = wait, "rsi";
    sem_trywait = try_wait, "rsi";
    sem_timedwait = timed_wait, "rdx";
    sem_clockwait = clock_wait, "rcx";
    sem_post = post, "rsi";
    sem_getvalue = get_value, "rdx";
    sem_init = initialize, "rcx";
    sem_destroy = destroy, "rsi";
}
