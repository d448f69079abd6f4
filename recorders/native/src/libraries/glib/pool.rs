//! `GThreadPool`: an item is pushed before a thread of the pool works on it, and all of that is over when the pool was
//! freed by who waits for it.

use super::library::{self, Function};
use super::threads::prepare;
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::libraries::order;
use crate::platform::memory::NOBODYS;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::Record;
use std::boxed::Box;
use std::collections::BTreeMap;
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
    /// Items that were pushed, by what each push has set; and what is set when the work is done.
    pushed: RefCell<Vec<(u64, usize)>>,
    done: RefCell<Vec<u64>>,
}

/// The item that a thread of the pool works on: the one that GLib gave it, or, along a plan, the one that it had then.
/// Which that is, is an `input`.
fn choose(inside: &RuntimeGuard, pool: &Pool, given: usize) -> usize {
    let recorded = plan::input_after_load(inside.thread(), pool.pc);
    let mut pushed = pool.pushed.borrow_mut();
    let at = pushed.iter().position(|&(variable, item)| match recorded {
        Some(recorded) => variable == recorded,
        None => item == given,
    });
    let Some(at) = at else { return given };
    let (variable, item) = pushed.remove(at);
    drop(pushed);
    order::find_set(variable, pool.pc);
    pending::push(Record::Input {
        pc: pool.pc as u64,
        source: NOBODYS | 1 << 62 | 1 << 61 | u64::from(inside.index.get()) << 3,
        value: variable,
    });
    item
}

/// What the pool's threads call in place of the program's function.
unsafe extern "C-unwind" fn work(item: *mut c_void, pool: *mut c_void) {
    // SAFETY: `begin` passes a pool, which lives for ever.
    let pool: &'static Pool = unsafe { &*pool.cast_const().cast() };
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: what the program passed.
        return unsafe { (pool.function)(item, pool.data) };
    };
    let item = choose(&inside, pool, item as usize) as *mut c_void;
    // SAFETY: as above.
    inside.in_program(|| unsafe { (pool.function)(item, pool.data) });
    let done = order::variable();
    order::set(done, pool.pc);
    pool.done.borrow_mut().push(done);
}

fn begin(
    inside: &RuntimeGuard,
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
    prepare(inside);
    let created = create(ptr::from_ref(pool).cast_mut().cast());
    if !created.is_null() {
        POOLS.0.borrow_mut().insert(created as usize, pool);
    }
    created
}

entries! {
    g_thread_pool_new(function: Function, data: *mut c_void, most: c_int, own: c_int, error: *mut c_void) -> *mut c_void, reg "r9":
        |inside, pc| {
        begin(&inside, function, data, pc, |pool| inside.in_program(|| library::g_thread_pool_new(work, pool, most, own, error)))
    }
    g_thread_pool_new_full(function: Function, data: *mut c_void, free: *mut c_void, most: c_int, own: c_int, error: *mut c_void)
        -> *mut c_void, stack 0: |inside, pc| {
        let create = |pool| inside.in_program(|| library::g_thread_pool_new_full(work, pool, free, most, own, error));
        begin(&inside, function, data, pc, create)
    }
    g_thread_pool_push(pool: *mut c_void, item: *mut c_void, error: *mut c_void) -> c_int, reg "rcx": |inside, pc| {
        let known = POOLS.0.borrow().get(&(pool as usize)).copied();
        if let Some(known) = known {
            let variable = order::variable();
            order::set(variable, pc);
            known.pushed.borrow_mut().push((variable, item as usize));
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
