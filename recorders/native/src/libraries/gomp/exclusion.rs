//! Critical sections, named and unnamed, atomic updates that need a lock, and locks of the `omp_` kind.
//!
//! Who has which is kept here; the memory of a lock is the program's, and only says where it is.

use crate::events::lock::{Lock, Side};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::{NEVER, Thread};
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::{ObjectClass, Record, Waits};
use std::collections::BTreeMap;

/// The locks that are held: by whom, and how often.
static HELD: Held = Held(RefCell::new(BTreeMap::new()));

struct Held(RefCell<BTreeMap<usize, (*const Thread, c_int)>>);

// SAFETY: used with the baton.
unsafe impl Sync for Held {}

/// What critical sections without a name exclude each other by, and atomic updates.
static UNNAMED: u8 = 0;
static ATOMIC: u8 = 0;

/// Takes a lock if it is free, or recursive and the thread's own; how deep it is held then.
fn try_take(inside: &RuntimeGuard, lock: usize, class: ObjectClass, attempt: bool, pc: usize) -> Option<c_int> {
    let me = ptr::from_ref(inside.thread());
    let mut held = HELD.0.borrow_mut();
    let depth = match held.get(&lock) {
        None => 1,
        Some(&(owner, depth)) if owner == me && class == ObjectClass::RecursiveMutex => depth + 1,
        Some(_) => return None,
    };
    held.insert(lock, (me, depth));
    Lock::new(class, lock).taken(Side { shared: false, attempt }, pc);
    Some(depth)
}

fn take(inside: &RuntimeGuard, lock: usize, class: ObjectClass, pc: usize) {
    while try_take(inside, lock, class, false, pc).is_none() {
        pending::waits(inside.thread(), Waits::Acquire, lock, pc, NEVER);
        baton::block(inside.thread(), lock, NEVER);
    }
}

/// How deep it was held if it is not to be had.
fn test(inside: &RuntimeGuard, lock: usize, class: ObjectClass, pc: usize) -> c_int {
    try_take(inside, lock, class, true, pc).unwrap_or_else(|| {
        Lock::new(class, lock).not_taken(false, pc);
        0
    })
}

fn give_back(lock: usize, class: ObjectClass, pc: usize) {
    let mut held = HELD.0.borrow_mut();
    match held.get_mut(&lock) {
        Some((_, depth)) if *depth > 1 => *depth -= 1,
        _ => drop(held.remove(&lock)),
    }
    drop(held);
    Lock::new(class, lock).given_back(pc);
    baton::wake(lock, 1);
}

fn begin(lock: usize, class: ObjectClass) {
    HELD.0.borrow_mut().remove(&lock);
    pending::push(Record::Init {
        class,
        object: lock as u64,
        count: 0,
    });
}

fn end(lock: usize) {
    pending::push(Record::Destroy { object: lock as u64 });
}

const PLAIN: ObjectClass = ObjectClass::Mutex;
const NEST: ObjectClass = ObjectClass::RecursiveMutex;

fn unnamed() -> usize {
    &raw const UNNAMED as usize
}

fn atomic() -> usize {
    &raw const ATOMIC as usize
}

entries! {
    GOMP_critical_start() -> (), reg "rdi": |inside, pc| { take(&inside, unnamed(), PLAIN, pc); }
    GOMP_critical_end() -> (), reg "rdi": |inside, pc| { give_back(unnamed(), PLAIN, pc); }
    GOMP_critical_name_start(name: *mut *mut c_void) -> (), reg "rsi": |inside, pc| { take(&inside, name as usize, PLAIN, pc); }
    GOMP_critical_name_end(name: *mut *mut c_void) -> (), reg "rsi": |inside, pc| { give_back(name as usize, PLAIN, pc); }
    GOMP_atomic_start() -> (), reg "rdi": |inside, pc| { take(&inside, atomic(), PLAIN, pc); }
    GOMP_atomic_end() -> (), reg "rdi": |inside, pc| { give_back(atomic(), PLAIN, pc); }

    omp_init_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { begin(lock as usize, PLAIN); }
    omp_init_lock_with_hint(lock: *mut c_void, _hint: c_int) -> (), reg "rdx": |inside, pc| { begin(lock as usize, PLAIN); }
    omp_destroy_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { end(lock as usize); }
    omp_set_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { take(&inside, lock as usize, PLAIN, pc); }
    omp_unset_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { give_back(lock as usize, PLAIN, pc); }
    omp_test_lock(lock: *mut c_void) -> c_int, reg "rsi": |inside, pc| { test(&inside, lock as usize, PLAIN, pc) }

    omp_init_nest_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { begin(lock as usize, NEST); }
    omp_init_nest_lock_with_hint(lock: *mut c_void, _hint: c_int) -> (), reg "rdx": |inside, pc| { begin(lock as usize, NEST); }
    omp_destroy_nest_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { end(lock as usize); }
    omp_set_nest_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { take(&inside, lock as usize, NEST, pc); }
    omp_unset_nest_lock(lock: *mut c_void) -> (), reg "rsi": |inside, pc| { give_back(lock as usize, NEST, pc); }
    omp_test_nest_lock(lock: *mut c_void) -> c_int, reg "rsi": |inside, pc| { test(&inside, lock as usize, NEST, pc) }
}
