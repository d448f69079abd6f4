//! The barrier of ThreadSanitizer's own tests (`__tsan_testonly_barrier_init`), which brings threads into an order and
//! synchronizes nothing. Each arrival counts in a relaxed counter of the round, and those who leave see all: no schedule
//! lets a thread through before the others came, and what only the barrier keeps apart is an unordered race. Which of
//! the threads came first is part of what the trace keeps, and keeps no two accesses apart: who has come does nothing
//! else until all have.

use crate::events::pending;
use crate::libraries::order;
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::cell::RefCell;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use libc::c_uint;
use recorder_ring::Waits;
use std::collections::BTreeMap;

/// How many threads a round takes is in the lower bits of the program's variable, as in ThreadSanitizer's runtime; how
/// many came is above.
const COUNT_BITS: u32 = 10;

/// A barrier's variable, at one moment.
#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
    fn count(self) -> u32 {
        (self.0 & ((1 << COUNT_BITS) - 1)).max(1)
    }

    fn came(self) -> u32 {
        self.0 >> COUNT_BITS
    }

    /// The round that the next thread comes to.
    fn round(self) -> u32 {
        self.came() / self.count()
    }
}

/// A barrier, as the trace knows it: a counter for each round.
#[derive(Clone, Copy)]
struct Counters(u64);

/// Later rounds have no counter.
const ROUNDS: u32 = 1 << 16;

impl Counters {
    fn of(self, round: u32) -> Option<u64> {
        (round < ROUNDS).then(|| order::part(self.0, round.into()))
    }
}

/// Those that were initialized, by address.
struct Barriers(RefCell<BTreeMap<usize, Counters>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Barriers {}

static BARRIERS: Barriers = Barriers(RefCell::new(BTreeMap::new()));

/// In a forked child, whose only thread is the first.
pub fn start_over() {
    BARRIERS.0.borrow_mut().clear();
}

fn word<'a>(barrier: *mut u32) -> &'a AtomicU32 {
    // SAFETY: the program's own variable, of four bytes; it is there during the call, and the reference goes no
    // further.
    unsafe { AtomicU32::from_ptr(barrier) }
}

fn now(barrier: *mut u32) -> Word {
    Word(word(barrier).load(Acquire))
}

/// Comes to the barrier; says how it was before.
fn come(barrier: *mut u32) -> Word {
    Word(word(barrier).fetch_add(1 << COUNT_BITS, AcqRel))
}

unsafe extern "C-unwind" fn initialize(barrier: *mut u32, count: c_uint) {
    let inside = RuntimeGuard::enter();
    word(barrier).store(count & ((1 << COUNT_BITS) - 1), Release);
    if inside.is_some() {
        let counters = Counters(order::variable());
        BARRIERS.0.borrow_mut().insert(barrier as usize, counters);
    }
}

unsafe extern "C-unwind" fn wait(barrier: *mut u32, pc: usize) {
    let Some(inside) = RuntimeGuard::enter() else {
        let round = come(barrier).round();
        while now(barrier).round() == round {
            // SAFETY: no arguments.
            unsafe { real::sched_yield() };
        }
        return;
    };
    let key = barrier as usize;
    let counters = BARRIERS.0.borrow().get(&key).copied();
    let counter = |round| counters.and_then(|counters: Counters| counters.of(round));
    let mut seen = 0;
    inside.await_turn();
    // Other threads may complete a round meanwhile, which this one then comes after as well.
    while seen < now(barrier).round() {
        seen = now(barrier).round();
        if let Some(counter) = counter(seen - 1) {
            order::look(counter, now(barrier).count().into(), pc);
            inside.await_turn();
        }
    }
    let before = come(barrier);
    let (round, count) = (before.round(), before.count());
    let came = u64::from(before.came() % count);
    if let Some(counter) = counter(round) {
        order::counted(counter, came, came + 1, pc);
    }
    let is_over = || now(barrier).round() != round;
    if is_over() {
        baton::wake(key, usize::MAX);
        // Whoever came first has waited longest.
        baton::yield_now(inside.thread());
    } else {
        pending::waits(inside.thread(), Waits::Barrier, key, pc, NEVER);
    }
    while !is_over() {
        baton::block(inside.thread(), key, NEVER);
    }
    if let Some(counter) = counter(round) {
        order::look(counter, count.into(), pc);
    }
}

export! {
    __tsan_testonly_barrier_init = initialize, "rdx";
    __tsan_testonly_barrier_wait = wait, "rsi";
}
