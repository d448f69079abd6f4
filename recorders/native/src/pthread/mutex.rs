//! Mutexes: normal, recursive, error-checking, robust.

use super::{deadline, object, try_again_at};
use crate::export::export;
use crate::inside::Inside;
use crate::thread::{NEVER, Woken};
use crate::{baton, pending, real, sys};
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use recorder_ring::{ObjectClass, Record, Waits};

/// Where glibc keeps a mutex's owner (a thread id of the kernel) and its kind.
const OWNER: usize = 8;
/// Where it keeps whether the mutex is held.
const STATE: usize = 0;
const KIND: usize = 16;
/// The bit of the kind by which glibc tells mutexes that processes share.
const SHARED: i32 = 128;
/// How often a recursive one is held.
const DEPTH: usize = 4;

fn field(mutex: *mut pthread_mutex_t, offset: usize) -> i32 {
    // SAFETY: both offsets lie inside the structure, aligned.
    unsafe { mutex.byte_add(offset).cast::<i32>().read_volatile() }
}

/// What kind of mutex it is, as far as the trace tells them apart.
pub fn class(mutex: *mut pthread_mutex_t) -> ObjectClass {
    match field(mutex, KIND) & 3 {
        libc::PTHREAD_MUTEX_RECURSIVE => ObjectClass::RecursiveMutex,
        _ => ObjectClass::Mutex,
    }
}

/// What glibc writes in place of the owner of a robust mutex that nobody may take any more.
const NOT_RECOVERABLE: i32 = i32::MAX - 1;

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
pub unsafe fn acquire(inside: &Inside, mutex: *mut pthread_mutex_t, deadline: i64, pc: usize) -> c_int {
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
        let until = try_again_at(deadline, field(mutex, KIND) & SHARED != 0);
        pending::waits(inside.thread(), Waits::Acquire, mutex as usize, pc, until);
        if baton::block(inside.thread(), mutex as usize, until) == Woken::Deadline && until == deadline {
            return libc::ETIMEDOUT;
        }
    }
}

/// Gives the real mutex back and lets one of those that wait for it try again. Records nothing.
///
/// # Safety
/// `mutex` is a mutex.
pub unsafe fn give_back(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: promised by the caller.
    let result = unsafe { real::pthread_mutex_unlock(mutex) };
    if result == 0 {
        baton::wake(mutex as usize, 1);
    }
    result
}

/// The robust mutexes that a thread holds at its end are given back: the next owner learns of it. The kernel does that
/// when the thread is gone; nobody else runs until then.
pub fn leave_robust_ones() {
    /// No program holds more.
    const MOST: usize = 1 << 16;
    /// The start of the kernel's list: the first entry, and where a mutex is, seen from its entry.
    #[repr(C)]
    struct Head {
        first: usize,
        offset: isize,
    }
    let (mut head, mut len) = (0_usize, 0_usize);
    let (head_at, len_at) = (&raw mut head as usize, &raw mut len as usize);
    // SAFETY: the kernel writes two words; the list is glibc's, whose entries lie in mutexes that are held.
    unsafe {
        if sys::call(libc::SYS_get_robust_list, 0, head_at, len_at, 0) != 0 || head == 0 {
            return;
        }
        let list = &*(head as *const Head);
        let mut entry = list.first & !1;
        for _ in 0..MOST {
            if entry == head || entry == 0 {
                break;
            }
            let mutex = entry.wrapping_add_signed(list.offset) as *mut pthread_mutex_t;
            let class = class(mutex);
            let depth = match class {
                ObjectClass::RecursiveMutex => field(mutex, DEPTH).max(1),
                _ => 1,
            };
            for _ in 0..depth {
                pending::push(Record::Release {
                    pc: 0,
                    class,
                    lock: mutex as u64,
                });
            }
            baton::wake(mutex as usize, usize::MAX);
            entry = *(entry as *const usize) & !1;
        }
    }
}

unsafe fn lock_until(inside: &Inside, mutex: *mut pthread_mutex_t, deadline: i64, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    let result = unsafe { acquire(inside, mutex, deadline, pc) };
    let (pc, lock, class) = (pc as u64, mutex as u64, class(mutex));
    if taken(result) {
        pending::push(Record::Acquire {
            pc,
            class,
            lock,
            shared: false,
        });
    } else if result == libc::ETIMEDOUT {
        pending::push(Record::AcquireFailed {
            pc,
            class,
            lock,
            shared: false,
        });
    }
    result
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
    // SAFETY: the program's own mutex and time.
    unsafe {
        match object::enter(mutex as usize, pc) {
            Some(inside) => lock_until(&inside, mutex, deadline(libc::CLOCK_REALTIME, limit), pc),
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
    // SAFETY: the program's own mutex and time.
    unsafe {
        match object::enter(mutex as usize, pc) {
            Some(inside) => lock_until(&inside, mutex, deadline(clock, limit), pc),
            None => real::pthread_mutex_clocklock(mutex, clock, limit),
        }
    }
}

pub unsafe extern "C-unwind" fn try_lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let inside = object::enter(mutex as usize, pc);
    // SAFETY: the program's own mutex.
    let result = unsafe { try_real(mutex) };
    if inside.is_some() {
        let (pc, lock, class) = (pc as u64, mutex as u64, class(mutex));
        if taken(result) {
            pending::push(Record::Acquire {
                pc,
                class,
                lock,
                shared: false,
            });
        } else if result == libc::EBUSY {
            pending::push(Record::AcquireFailed {
                pc,
                class,
                lock,
                shared: false,
            });
        }
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
        let was_held = field(mutex, STATE) != 0;
        let result = give_back(mutex);
        // POSIX leaves open what it means to unlock one that nobody holds; in glibc, nothing happens.
        if result == 0 && was_held {
            pending::push(Record::Release {
                pc: pc as u64,
                class,
                lock: mutex as u64,
            });
        }
        result
    }
}

unsafe extern "C-unwind" fn initialize(
    mutex: *mut pthread_mutex_t,
    attr: *const pthread_mutexattr_t,
    pc: usize,
) -> c_int {
    let inside = object::enter_to_change(mutex as usize, pc);
    // SAFETY: the program's own mutex.
    let result = unsafe { real::pthread_mutex_init(mutex, attr) };
    if inside.is_some() {
        object::changed(mutex as usize, result, pc);
    }
    if inside.is_some() && result == 0 {
        pending::push(Record::Init {
            class: class(mutex),
            object: mutex as u64,
            count: 0,
        });
    }
    result
}

unsafe extern "C-unwind" fn destroy(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let inside = object::enter_to_change(mutex as usize, pc);
    // SAFETY: the program's own mutex.
    let result = unsafe { real::pthread_mutex_destroy(mutex) };
    if inside.is_some() {
        object::changed(mutex as usize, result, pc);
    }
    if inside.is_some() && result == 0 {
        pending::push(Record::Destroy { object: mutex as u64 });
    }
    result
}

export! {
    pthread_mutex_lock = lock, "rsi";
    pthread_mutex_trylock = try_lock, "rsi";
    pthread_mutex_timedlock = timed_lock, "rdx";
    pthread_mutex_clocklock = clock_lock, "rcx";
    pthread_mutex_unlock = unlock, "rsi";
    pthread_mutex_init = initialize, "rdx";
    pthread_mutex_destroy = destroy, "rsi";
}
