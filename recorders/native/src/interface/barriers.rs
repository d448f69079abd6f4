//! The barrier of ThreadSanitizer's own tests (`__tsan_testonly_barrier_init`), which brings threads into an order and
//! synchronizes nothing. Each arrival is a relaxed store to a variable of its own, which those who leave find set: no
//! schedule lets a thread through before the others came, and what only the barrier keeps apart is an unordered race.

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
use std::rc::Rc;
use std::vec::Vec;

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

    /// The round that the next thread comes to.
    fn round(self) -> u32 {
        (self.0 >> COUNT_BITS) / self.count()
    }
}

/// The variables that threads have set as they came to one round, in this order, beside the threads' numbers.
type Round = Rc<RefCell<Vec<(u32, u64)>>>;

/// What the last two rounds of a barrier have left, the one that is over and the one that threads come to.
#[derive(Default)]
struct Rounds {
    over: Round,
    next: Round,
}

struct Barriers(RefCell<BTreeMap<usize, Rounds>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Barriers {}

static BARRIERS: Barriers = Barriers(RefCell::new(BTreeMap::new()));

impl Barriers {
    fn with<R>(&self, barrier: usize, work: impl FnOnce(&mut Rounds) -> R) -> R {
        work(self.0.borrow_mut().entry(barrier).or_default())
    }
}

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

/// Comes to the barrier; says to which round.
fn come(barrier: *mut u32) -> u32 {
    Word(word(barrier).fetch_add(1 << COUNT_BITS, AcqRel)).round()
}

unsafe extern "C-unwind" fn initialize(barrier: *mut u32, count: c_uint) {
    let inside = RuntimeGuard::enter();
    word(barrier).store(count & ((1 << COUNT_BITS) - 1), Release);
    if inside.is_some() {
        BARRIERS.0.borrow_mut().remove(&(barrier as usize));
    }
}

unsafe extern "C-unwind" fn wait(barrier: *mut u32, pc: usize) {
    let Some(inside) = RuntimeGuard::enter() else {
        let round = come(barrier);
        while now(barrier).round() == round {
            // SAFETY: no arguments.
            unsafe { real::sched_yield() };
        }
        return;
    };
    let key = barrier as usize;
    let (round, arrivals) = arrive(&inside, barrier, pc);
    let is_over = || now(barrier).round() != round;
    if is_over() {
        BARRIERS.with(key, |rounds| rounds.over = core::mem::take(&mut rounds.next));
        baton::wake(key, usize::MAX);
        // Whoever came first has waited longest.
        baton::yield_now(inside.thread());
    } else {
        pending::waits(inside.thread(), Waits::Barrier, key, pc, NEVER);
    }
    while !is_over() {
        baton::block(inside.thread(), key, NEVER);
    }
    find_set(others(&inside, &arrivals), pc);
}

/// Comes to a round, behind all who came to the one before; says which it is, and who comes.
fn arrive(inside: &RuntimeGuard, barrier: *mut u32, pc: usize) -> (u32, Round) {
    let key = barrier as usize;
    let variable = order::variable();
    let mut behind = None;
    loop {
        // Other threads may come meanwhile.
        inside.await_turn();
        let round = now(barrier).round();
        if behind == Some(round) {
            break;
        }
        behind = Some(round);
        let over = BARRIERS.with(key, |rounds| rounds.over.clone());
        // Who was in that round itself has left it.
        if !over
            .borrow()
            .iter()
            .any(|(thread, _)| *thread == inside.thread().index.get())
        {
            find_set(others(inside, &over), pc);
        }
    }
    order::note(variable, pc);
    let round = come(barrier);
    let arrivals = BARRIERS.with(key, |rounds| rounds.next.clone());
    arrivals.borrow_mut().push((inside.thread().index.get(), variable));
    (round, arrivals)
}

/// The variables of the other threads that came to a round.
fn others(inside: &RuntimeGuard, round: &Round) -> Vec<u64> {
    let own = inside.thread().index.get();
    let arrivals = round.borrow();
    let others = arrivals.iter().filter(|(thread, _)| *thread != own);
    others.map(|&(_, variable)| variable).collect()
}

/// Goes on after these were set. Who came first may differ from run to run.
fn find_set(mut variables: Vec<u64>, pc: usize) {
    variables.sort_unstable();
    variables.into_iter().for_each(|variable| order::look(variable, 1, pc));
}

export! {
    __tsan_testonly_barrier_init = initialize, "rdx";
    __tsan_testonly_barrier_wait = wait, "rsi";
}
