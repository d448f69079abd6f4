//! `GOnce` and `g_once_init_enter`: the variables that say how far an initialization is are the program's, and atomic.

use crate::events::pending;
use crate::libraries::entry::entries;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::cell::RefCell;
use core::ffi::c_void;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};
use libc::c_int;
use recorder_ring::{Record, Waits};
use std::collections::BTreeSet;

const ACQUIRE: u8 = 2;
const RELEASE: u8 = 3;

const NOT_STARTED: u32 = 0;
const STARTED: u32 = 1;
const READY: u32 = 2;

/// Locations that somebody initializes. Who finds one so waits until it holds something: that load comes after the
/// store.
static UNDER_WAY: UnderWay = UnderWay(RefCell::new(BTreeSet::new()));

struct UnderWay(RefCell<BTreeSet<usize>>);

// SAFETY: used with the baton.
unsafe impl Sync for UnderWay {}

/// `GOnce`.
#[repr(C)]
struct Once {
    status: AtomicU32,
    value: *mut c_void,
}

fn loaded(addr: usize, size: u8, value: u64, pc: usize) {
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr: addr as u64,
        size,
        order: ACQUIRE,
        value,
    });
}

fn stored(addr: usize, size: u8, value: u64, pc: usize) {
    pending::push(Record::AtomicStore {
        pc: pc as u64,
        addr: addr as u64,
        size,
        order: RELEASE,
        value,
    });
}

entries! {
    g_once_impl(once: *mut c_void, function: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void, argument: *mut c_void)
        -> *mut c_void, reg "rcx": |inside, pc| {
        let (key, once) = (once as usize, once.cast::<Once>());
        loop {
            match (*once).status.load(SeqCst) {
                READY => {
                    loaded(key, 4, READY.into(), pc);
                    return (*once).value;
                }
                NOT_STARTED => {
                    // Found not started and marked in one step.
                    (*once).status.store(STARTED, SeqCst);
                    pending::push(Record::AtomicRmw {
                        pc: pc as u64,
                        addr: key as u64,
                        size: 4,
                        order: ACQUIRE,
                        read: NOT_STARTED.into(),
                        written: STARTED.into(),
                    });
                    let value = inside.in_program(|| function(argument));
                    (*once).value = value;
                    pending::write_range_now(&raw const (*once).value as usize, size_of::<usize>(), pc);
                    (*once).status.store(READY, SeqCst);
                    stored(key, 4, READY.into(), pc);
                    baton::wake(key, usize::MAX);
                    return value;
                }
                _ => {
                    pending::waits(inside.thread(), Waits::Once, key, pc, NEVER);
                    baton::block(inside.thread(), key, NEVER);
                }
            }
        }
    }
    g_once_init_enter(location: *mut c_void) -> c_int, reg "rsi": |inside, pc| {
        let key = location as usize;
        let word = AtomicU64::from_ptr(location.cast());
        loop {
            let value = word.load(SeqCst);
            if value != 0 {
                loaded(key, 8, value, pc);
                return 0;
            }
            if UNDER_WAY.0.borrow_mut().insert(key) {
                loaded(key, 8, 0, pc);
                return 1;
            }
            pending::waits(inside.thread(), Waits::Once, key, pc, NEVER);
            baton::block(inside.thread(), key, NEVER);
        }
    }
    g_once_init_leave(location: *mut c_void, result: u64) -> (), reg "rdx": |inside, pc| {
        let key = location as usize;
        UNDER_WAY.0.borrow_mut().remove(&key);
        AtomicU64::from_ptr(location.cast()).store(result, SeqCst);
        stored(key, 8, result, pc);
        baton::wake(key, usize::MAX);
    }
}
