//! Locks of the program's own making, as it announces them (`sanitizer/tsan_interface.h`, and `AnnotateRWLock…`): what
//! lies between two calls is a critical section.
//!
//! The acquire is recorded after the program has its lock and the release before it gives it back, so
//! two sections of one lock never overlap, however the lock is made.

use crate::events;
use crate::events::lock::{Lock, Side};
use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::Thread;
use core::cell::UnsafeCell;
use libc::{c_char, c_int, c_long, c_uint};
use recorder_ring::{ObjectClass, Record};
use std::collections::BTreeMap;

const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK: c_uint = 1 << 4;
const TRY_LOCK_FAILED: c_uint = 1 << 5;
/// Several levels are taken, or all are given back.
const LEVELS: c_uint = 1 << 6;
const ALL_LEVELS: c_uint = 1 << 7;

/// Whether it can be shared is not known in advance.
const CLASS: ObjectClass = ObjectClass::RwLock;

/// How many levels of a lock a thread holds, by lock and thread. Below zero, so many that it will give back are not its
/// own any more.
static HELD: Held = Held(UnsafeCell::new(BTreeMap::new()));

struct Held(UnsafeCell<BTreeMap<(usize, u32), c_int>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Held {}

fn with<R>(work: impl FnOnce(&mut BTreeMap<(usize, u32), c_int>) -> R) -> R {
    // SAFETY: the caller has the baton, and `work` does not come back here.
    work(unsafe { &mut *HELD.0.get() })
}

/// In a forked child, whose only thread is the first.
pub fn start_over() {
    with(BTreeMap::clear);
}

/// The thread has taken so many levels of a lock. What is still held then, in a way that does not go with this, was
/// given back before: its holder announces that too late, or never.
pub fn acquired(thread: &Thread, lock: usize, shared: bool, attempt: bool, levels: c_int, pc: usize) {
    let (own, levels, taken) = (thread.index.get(), levels.max(1), Lock::new(CLASS, lock));
    let in_the_way = events::in_the_way(taken, shared);
    if in_the_way > 0 {
        (0..in_the_way).for_each(|_| taken.given_back(pc));
        with(|held| {
            let holders = held.range_mut((lock, 0)..=(lock, u32::MAX));
            holders.for_each(|((_, holder), levels)| *levels = if *holder == own { 0 } else { -levels.abs() });
        });
    }
    (0..levels).for_each(|_| taken.taken(Side { shared, attempt }, pc));
    with(|held| {
        let held = held.entry((lock, own)).or_default();
        *held = (*held).max(0) + levels;
    });
}

/// It is about to give one back.
pub fn released(thread: &Thread, lock: usize, pc: usize) {
    let (given_back, key) = (Lock::new(CLASS, lock), (lock, thread.index.get()));
    let was_given_back = with(|held| {
        let levels = held.entry(key).or_default();
        let before = *levels;
        *levels -= before.signum();
        if *levels == 0 {
            held.remove(&key);
        }
        before < 0
    });
    if !was_given_back && !events::is_free(given_back) {
        given_back.given_back(pc);
    }
}

/// It is about to give all back; how many.
pub fn released_completely(thread: &Thread, lock: usize, pc: usize) -> c_int {
    let levels = with(|held| held.remove(&(lock, thread.index.get())))
        .unwrap_or(1)
        .max(0);
    (0..levels).for_each(|_| Lock::new(CLASS, lock).given_back(pc));
    levels
}

fn init(lock: usize) {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        pending::push(Record::Init {
            class: CLASS,
            object: lock as u64,
            count: 0,
        });
    }
}

fn destroy(lock: usize) {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        pending::push(Record::Destroy { object: lock as u64 });
        with(|held| held.retain(|(held, _), _| *held != lock));
    }
}

unsafe extern "C-unwind" fn after_lock(lock: usize, flags: c_uint, levels: c_int, pc: usize) {
    let Some(inside) = RuntimeGuard::enter() else { return };
    let shared = flags & READ_LOCK != 0;
    if flags & TRY_LOCK_FAILED == 0 {
        let levels = if flags & LEVELS == 0 { 1 } else { levels };
        acquired(&inside, lock, shared, flags & TRY_LOCK != 0, levels, pc);
    } else {
        Lock::new(CLASS, lock).not_taken(shared, pc);
    }
}

unsafe extern "C-unwind" fn before_unlock(lock: usize, flags: c_uint, pc: usize) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else { return 0 };
    if flags & ALL_LEVELS != 0 {
        return released_completely(&inside, lock, pc);
    }
    released(&inside, lock, pc);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_mutex_create(lock: usize, _flags: c_uint) {
    init(lock);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_mutex_destroy(lock: usize, _flags: c_uint) {
    destroy(lock);
}

macro_rules! nothing {
    ($($name:ident)*) => { $(
        /// What a lock does inside is recorded like everything else.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_lock: usize, _flags: c_uint) {}
    )* };
}

nothing! {
    __tsan_mutex_pre_lock __tsan_mutex_post_unlock __tsan_mutex_pre_signal __tsan_mutex_post_signal
    __tsan_mutex_pre_divert __tsan_mutex_post_divert
}

#[unsafe(no_mangle)]
unsafe extern "C" fn AnnotateRWLockCreate(_file: *const c_char, _line: c_int, lock: usize) {
    init(lock);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn AnnotateRWLockCreateStatic(_file: *const c_char, _line: c_int, _lock: usize) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn AnnotateRWLockDestroy(_file: *const c_char, _line: c_int, lock: usize) {
    destroy(lock);
}

unsafe extern "C-unwind" fn annotated(_file: *const c_char, _line: c_int, lock: usize, writes: c_long, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        acquired(&inside, lock, writes == 0, false, 1, pc);
    }
}

unsafe extern "C-unwind" fn unannotated(_file: *const c_char, _line: c_int, lock: usize, _writes: c_long, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        released(&inside, lock, pc);
    }
}

export! {
    __tsan_mutex_post_lock = after_lock, "rcx";
    __tsan_mutex_pre_unlock = before_unlock, "rdx";
    AnnotateRWLockAcquired = annotated, "r8";
    AnnotateRWLockReleased = unannotated, "r8";
}
