//! `GThreadPool`: an item is pushed before a thread of the pool works on it, and all of that is over when the pool was freed by
//! who waits for it.

use super::library::{self, Function};
use crate::inside::Inside;
use crate::libraries::{entry::entries, order};
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use std::boxed::Box;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

/// The pools that exist, by GLib's address of them.
static POOLS: Pools = Pools(RefCell::new(BTreeMap::new()));

struct Pools(RefCell<BTreeMap<usize, &'static Pool>>);

// SAFETY: used with the baton.
unsafe impl Sync for Pools {}

/// What a pool does for the program.
struct Pool {
    function: Function,
    data: *mut c_void,
    pc: usize,
    /// What each push has set, by item; and what is set when the work is done.
    pushed: RefCell<BTreeMap<usize, VecDeque<u64>>>,
    done: RefCell<Vec<u64>>,
}

/// What the pool's threads call in place of the program's function.
unsafe extern "C-unwind" fn work(item: *mut c_void, pool: *mut c_void) {
    // SAFETY: `begin` passes a pool, which lives for ever.
    let pool: &'static Pool = unsafe { &*pool.cast_const().cast() };
    let Some(inside) = Inside::enter() else {
        // SAFETY: what the program passed.
        return unsafe { (pool.function)(item, pool.data) };
    };
    let pushed = pool
        .pushed
        .borrow_mut()
        .get_mut(&(item as usize))
        .and_then(VecDeque::pop_front);
    if let Some(pushed) = pushed {
        order::find_set(pushed, pool.pc);
    }
    // SAFETY: as above.
    inside.in_program(|| unsafe { (pool.function)(item, pool.data) });
    let done = order::variable();
    order::set(done, pool.pc);
    pool.done.borrow_mut().push(done);
}

fn begin(
    function: Function,
    data: *mut c_void,
    pc: usize,
    create: impl FnOnce(*mut c_void) -> *mut c_void,
) -> *mut c_void {
    let pool: &'static Pool = Box::leak(Box::new(Pool {
        function,
        data,
        pc,
        pushed: RefCell::default(),
        done: RefCell::default(),
    }));
    let created = create(ptr::from_ref(pool).cast_mut().cast());
    if !created.is_null() {
        POOLS.0.borrow_mut().insert(created as usize, pool);
    }
    created
}

entries! {
    g_thread_pool_new(function: Function, data: *mut c_void, most: c_int, own: c_int, error: *mut c_void) -> *mut c_void, reg "r9":
        |inside, pc| {
        begin(function, data, pc, |pool| inside.in_program(|| library::g_thread_pool_new(work, pool, most, own, error)))
    }
    g_thread_pool_new_full(function: Function, data: *mut c_void, free: *mut c_void, most: c_int, own: c_int, error: *mut c_void)
        -> *mut c_void, stack 0: |inside, pc| {
        let create = |pool| inside.in_program(|| library::g_thread_pool_new_full(work, pool, free, most, own, error));
        begin(function, data, pc, create)
    }
    g_thread_pool_push(pool: *mut c_void, item: *mut c_void, error: *mut c_void) -> c_int, reg "rcx": |inside, pc| {
        let known = POOLS.0.borrow().get(&(pool as usize)).copied();
        if let Some(known) = known {
            let variable = order::variable();
            order::set(variable, pc);
            known.pushed.borrow_mut().entry(item as usize).or_default().push_back(variable);
        }
        inside.in_program(|| library::g_thread_pool_push(pool, item, error))
    }
    g_thread_pool_free(pool: *mut c_void, at_once: c_int, wait: c_int) -> (), reg "rcx": |inside, pc| {
        let known = POOLS.0.borrow_mut().remove(&(pool as usize));
        inside.in_program(|| library::g_thread_pool_free(pool, at_once, wait));
        if wait != 0 && let Some(known) = known {
            for done in known.done.take() {
                order::find_set(done, pc);
            }
        }
    }
}
