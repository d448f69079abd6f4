//! Order that the program announces: `__tsan_release` at an address comes before every later `__tsan_acquire` there, and
//! so do `AnnotateHappensBefore` and `AnnotateHappensAfter`. Releases are not ordered among each other.

use crate::export::export;
use crate::inside::Inside;
use crate::moment::Moment;
use crate::thread::Thread;
use core::cell::UnsafeCell;
use libc::{c_char, c_int};
use std::collections::BTreeMap;
use std::vec::Vec;

/// The last release of each thread, by address.
static RELEASES: Releases = Releases(UnsafeCell::new(BTreeMap::new()));

struct Releases(UnsafeCell<BTreeMap<usize, Vec<(u32, Moment)>>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Releases {}

fn with<R>(work: impl FnOnce(&mut BTreeMap<usize, Vec<(u32, Moment)>>) -> R) -> R {
    // SAFETY: the caller has the baton, and `work` does not come back here.
    work(unsafe { &mut *RELEASES.0.get() })
}

/// In a forked child.
pub fn start_over() {
    with(BTreeMap::clear);
}

/// A block starts or ends: it has nothing to do with what was at its addresses.
pub fn forget(addr: u64, size: u64) {
    let end = (addr as usize).saturating_add(size as usize);
    with(|all| {
        while let Some((&at, _)) = all.range(addr as usize..end).next() {
            all.remove(&at);
        }
    });
}

/// The thread's releases at an address so far; those of other threads stay.
pub fn released(thread: &Thread, addr: usize, pc: usize) {
    let (me, now) = (thread.index.get(), Moment::now(pc));
    with(|all| {
        let here = all.entry(addr).or_default();
        match here.iter_mut().find(|(thread, _)| *thread == me) {
            Some((_, last)) => *last = now,
            None => here.push((me, now)),
        }
    });
}

/// The thread goes on after all releases at an address.
pub fn acquired(thread: &Thread, addr: usize, pc: usize) {
    let me = thread.index.get();
    with(|all| {
        let others = all.get(&addr).into_iter().flatten().filter(|(thread, _)| *thread != me);
        others.for_each(|(_, moment)| moment.is_past(pc));
    });
}

/// A release that others at this address mean nothing beside.
pub fn released_only(thread: &Thread, addr: usize, pc: usize) {
    let (me, now) = (thread.index.get(), Moment::now(pc));
    with(|all| all.insert(addr, Vec::from([(me, now)])));
}

unsafe extern "C-unwind" fn release(addr: usize, pc: usize) {
    if let Some(inside) = Inside::enter() {
        released(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn acquire(addr: usize, pc: usize) {
    if let Some(inside) = Inside::enter() {
        acquired(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn happens_before(_file: *const c_char, _line: c_int, addr: usize, pc: usize) {
    // SAFETY: any address.
    unsafe { release(addr, pc) };
}

unsafe extern "C-unwind" fn happens_after(_file: *const c_char, _line: c_int, addr: usize, pc: usize) {
    // SAFETY: any address.
    unsafe { acquire(addr, pc) };
}

export! {
    __tsan_release = release, "rsi";
    __tsan_acquire = acquire, "rsi";
    AnnotateHappensBefore = happens_before, "rcx";
    AnnotateHappensAfter = happens_after, "rcx";
    WTFAnnotateHappensBefore = happens_before, "rcx";
    WTFAnnotateHappensAfter = happens_after, "rcx";
}
