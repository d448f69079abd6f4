//! Reader-writer locks.

use super::{deadline, object, reads_time, try_again_at};
use crate::events::lock::{Lock, Side, note_once};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::glibc::rwlock::{KIND, OTHER_BITS, PREFERS_WRITERS, READERS, SHARED, WRITER};
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use recorder_ring::{Note, ObjectClass, Waits};

const CLASS: ObjectClass = ObjectClass::RwLock;

/// Whether processes share it.
fn is_shared(lock: *mut pthread_rwlock_t) -> bool {
    // SAFETY: the program's own lock; the offset lies inside it and was checked at the start.
    unsafe { lock.byte_add(SHARED).cast::<i8>().read_volatile() != 0 }
}

/// Notes a lock in which readers wait for writers that wait: here they do not, since nobody waits in the real one.
fn note_kind(lock: *mut pthread_rwlock_t) {
    // SAFETY: the program's own lock; the offset lies inside it, aligned, and was checked at the start.
    if unsafe { lock.byte_add(KIND).cast::<i32>().read_volatile() } == PREFERS_WRITERS {
        note_once(Note::PrefersWriters);
    }
}

unsafe fn try_real(lock: *mut pthread_rwlock_t, shared: bool) -> c_int {
    // SAFETY: the program's own lock.
    unsafe {
        if shared {
            real::pthread_rwlock_tryrdlock(lock)
        } else {
            real::pthread_rwlock_trywrlock(lock)
        }
    }
}

unsafe fn lock_until(
    inside: &RuntimeGuard,
    lock: *mut pthread_rwlock_t,
    shared: bool,
    deadline: i64,
    pc: usize,
) -> c_int {
    note_kind(lock);
    let known = Lock::new(CLASS, lock as usize);
    let attempt = deadline != NEVER;
    loop {
        // SAFETY: the program's own lock; the offset lies inside it, aligned, and was checked at the start.
        let (result, writer) = unsafe {
            (
                try_real(lock, shared),
                lock.byte_add(WRITER).cast::<i32>().read_volatile(),
            )
        };
        if result == 0 {
            known.taken(Side { shared, attempt }, pc);
        }
        if result != libc::EBUSY {
            return result;
        }
        if writer == inside.os_id.load(Relaxed) {
            return libc::EDEADLK;
        }
        let until = try_again_at(deadline, is_shared(lock), lock);
        pending::waits(inside.thread(), Waits::Acquire, lock as usize, pc, until);
        if inside.wait(lock as usize, until) == Woken::Deadline && until == deadline {
            clocks::waited_until(deadline);
            known.not_taken(shared, pc);
            return libc::ETIMEDOUT;
        }
    }
}

unsafe fn try_once(lock: *mut pthread_rwlock_t, shared: bool, pc: usize) -> c_int {
    let inside = object::enter(lock as usize, pc);
    // SAFETY: the program's own lock.
    let result = unsafe { try_real(lock, shared) };
    if inside.is_some() {
        note_kind(lock);
        Lock::new(CLASS, lock as usize).tried(shared, result, pc);
    }
    result
}

/// The two ways to take the lock, each plain, tried, and with a time limit.
macro_rules! side {
    ($module:ident, $shared:literal, $plain:ident, $timed:ident, $clocked:ident) => {
        mod $module {
            use super::*;

            pub unsafe extern "C-unwind" fn plain(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
                // SAFETY: the program's own lock.
                unsafe {
                    match object::enter(lock as usize, pc) {
                        Some(inside) => lock_until(&inside, lock, $shared, NEVER, pc),
                        None => real::$plain(lock),
                    }
                }
            }

            pub unsafe extern "C-unwind" fn tried(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
                // SAFETY: the program's own lock.
                unsafe { try_once(lock, $shared, pc) }
            }

            pub unsafe extern "C-unwind" fn timed(
                lock: *mut pthread_rwlock_t,
                limit: *const timespec,
                pc: usize,
            ) -> c_int {
                reads_time(limit, pc);
                // SAFETY: the program's own lock and time.
                unsafe {
                    match object::enter(lock as usize, pc) {
                        Some(inside) => match deadline(libc::CLOCK_REALTIME, limit) {
                            Some(deadline) => lock_until(&inside, lock, $shared, deadline, pc),
                            None => libc::EINVAL,
                        },
                        None => real::$timed(lock, limit),
                    }
                }
            }

            pub unsafe extern "C-unwind" fn clocked(
                lock: *mut pthread_rwlock_t,
                clock: clockid_t,
                limit: *const timespec,
                pc: usize,
            ) -> c_int {
                reads_time(limit, pc);
                // SAFETY: the program's own lock and time.
                unsafe {
                    match object::enter(lock as usize, pc) {
                        Some(inside) => match deadline(clock, limit) {
                            Some(deadline) => lock_until(&inside, lock, $shared, deadline, pc),
                            None => libc::EINVAL,
                        },
                        None => real::$clocked(lock, clock, limit),
                    }
                }
            }
        }
    };
}

side!(
    reader,
    true,
    pthread_rwlock_rdlock,
    pthread_rwlock_timedrdlock,
    pthread_rwlock_clockrdlock
);
side!(
    writer,
    false,
    pthread_rwlock_wrlock,
    pthread_rwlock_timedwrlock,
    pthread_rwlock_clockwrlock
);

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    let Some(inside) = object::enter(lock as usize, pc) else {
        // SAFETY: the program's own lock.
        return unsafe { real::pthread_rwlock_unlock(lock) };
    };
    // SAFETY: the program's own lock; the offsets lie inside it, aligned, and were checked at the start.
    let (readers, writer) = unsafe {
        let field = |offset| lock.byte_add(offset).cast::<i32>().read_volatile();
        (field(READERS) as u32 >> OTHER_BITS, field(WRITER))
    };
    if readers == 0 && writer != inside.os_id.load(Relaxed) {
        // Nobody holds it, or another thread that writes. POSIX leaves open what happens then; glibc would count fewer
        // readers than none.
        if writer == 0 {
            note_once(Note::GivenBackFree);
        }
        return 0;
    }
    // SAFETY: the program's own lock.
    let result = unsafe { real::pthread_rwlock_unlock(lock) };
    if result == 0 {
        Lock::new(CLASS, lock as usize).given_back(pc);
        // All may try: several readers can enter at once.
        baton::wake(lock as usize, usize::MAX);
    }
    result
}

unsafe extern "C-unwind" fn initialize(
    lock: *mut pthread_rwlock_t,
    attr: *const pthread_rwlockattr_t,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own lock, and what it is to be.
    let call = || unsafe { real::pthread_rwlock_init(lock, attr) };
    object::initialize(lock as usize, 0, pc, call, || CLASS)
}

unsafe extern "C-unwind" fn destroy(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    // SAFETY: the program's own lock.
    object::destroy(lock as usize, pc, || unsafe { real::pthread_rwlock_destroy(lock) })
}

export_shown! {
    pthread_rwlock_rdlock = reader::plain, "rsi";
    pthread_rwlock_tryrdlock = reader::tried, "rsi";
    pthread_rwlock_timedrdlock = reader::timed, "rdx";
    pthread_rwlock_clockrdlock = reader::clocked, "rcx";
    pthread_rwlock_wrlock = writer::plain, "rsi";
    pthread_rwlock_trywrlock = writer::tried, "rsi";
    pthread_rwlock_timedwrlock = writer::timed, "rdx";
    pthread_rwlock_clockwrlock = writer::clocked, "rcx";
    pthread_rwlock_unlock = unlock, "rsi";
    pthread_rwlock_init = initialize, "rdx";
    pthread_rwlock_destroy = destroy, "rsi";
}
