//! Spin locks. Nobody spins: who finds the lock taken waits like for any other.

use super::{object, try_again_at};
use crate::events::lock::{ALONE, Lock, note_once};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::glibc::SPIN_FREE;
use crate::platform::real;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use libc::{c_int, pthread_spinlock_t};
use recorder_ring::{Note, ObjectClass, Waits};

const CLASS: ObjectClass = ObjectClass::SpinLock;

unsafe extern "C-unwind" fn lock(lock: *mut pthread_spinlock_t, pc: usize) -> c_int {
    let Some(inside) = object::enter(lock as usize, pc) else {
        // SAFETY: the program's own lock.
        return unsafe { real::pthread_spin_lock(lock) };
    };
    loop {
        // SAFETY: the program's own lock.
        let result = unsafe { real::pthread_spin_trylock(lock) };
        if result == 0 {
            Lock::new(CLASS, lock as usize).taken(ALONE, pc);
        }
        if result != libc::EBUSY {
            return result;
        }
        // It does not say itself whether processes share it.
        let until = try_again_at(NEVER, true, lock);
        pending::waits(inside.thread(), Waits::Acquire, lock as usize, pc, until);
        inside.wait(lock as usize, until);
    }
}

unsafe extern "C-unwind" fn try_lock(lock: *mut pthread_spinlock_t, pc: usize) -> c_int {
    let inside = object::enter(lock as usize, pc);
    // SAFETY: the program's own lock.
    let result = unsafe { real::pthread_spin_trylock(lock) };
    if inside.is_some() {
        Lock::new(CLASS, lock as usize).tried(false, result, pc);
    }
    result
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_spinlock_t, pc: usize) -> c_int {
    let inside = object::enter(lock as usize, pc);
    // SAFETY: the program's own lock, which is one word.
    let was_free = unsafe { lock.cast::<i32>().read_volatile() } == SPIN_FREE;
    // SAFETY: as above.
    let result = unsafe { real::pthread_spin_unlock(lock) };
    if inside.is_some() && result == 0 {
        if was_free {
            note_once(Note::GivenBackFree);
        } else {
            Lock::new(CLASS, lock as usize).given_back(pc);
            baton::wake(lock as usize, 1);
        }
    }
    result
}

unsafe extern "C-unwind" fn initialize(lock: *mut pthread_spinlock_t, shared: c_int, pc: usize) -> c_int {
    // SAFETY: the program's own lock, and what it is to be.
    let call = || unsafe { real::pthread_spin_init(lock, shared) };
    object::initialize(lock as usize, 0, pc, call, || CLASS)
}

unsafe extern "C-unwind" fn destroy(lock: *mut pthread_spinlock_t, pc: usize) -> c_int {
    // SAFETY: the program's own lock.
    object::destroy(lock as usize, pc, || unsafe { real::pthread_spin_destroy(lock) })
}

export_shown! {
    pthread_spin_lock = lock, "rsi";
    pthread_spin_trylock = try_lock, "rsi";
    pthread_spin_unlock = unlock, "rsi";
    pthread_spin_init = initialize, "rdx";
    pthread_spin_destroy = destroy, "rsi";
}
