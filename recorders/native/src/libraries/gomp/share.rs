//! Work that is shared out: the iterations of a loop, or sections, in pieces.
//!
//! A thread that gets a piece takes its number from a counter, as by an atomic addition without order. The number
//! orders the pieces of one thread with what other threads took before, and nothing that they did.

use super::block;
use super::team::Member;
use crate::events::pending;
use crate::libraries::order;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use recorder_ring::Waits;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

/// How iterations are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In turn, without a counter; all at once, one piece for each thread, if the size of pieces is 0.
    Static,
    Dynamic,
    Guided,
}

/// A loop that a team shares.
pub struct Share {
    kind: Kind,
    total: u64,
    /// The size of pieces; the smallest one if guided.
    piece: u64,
    start: u64,
    step: u64,
    end: u64,
    pub counter: u64,
    next: Cell<u64>,
    pieces: Cell<u64>,
    /// How many of the team have left it.
    left: Cell<usize>,
    /// Whether pieces are passed on in order: for each that was, the variable that says so.
    ordered: bool,
    passed: RefCell<Vec<u64>>,
    /// For loops whose iterations wait for each other: how often each outer loop runs, and what was posted.
    pub counts: Vec<u64>,
    pub posts: RefCell<BTreeMap<u64, u64>>,
    /// Memory for all of its threads, if it wants some, and how much. They use it until the barrier behind it: it is
    /// kept.
    memory: Cell<(*mut u8, usize)>,
}

/// A loop as the compiler describes it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub start: i128,
    pub end: i128,
    pub step: i128,
}

impl Bounds {
    fn count(self) -> u64 {
        let length = if self.step > 0 {
            self.end - self.start
        } else {
            self.start - self.end
        };
        let step = self.step.abs().max(1);
        if length <= 0 {
            0
        } else {
            ((length + step - 1) / step) as u64
        }
    }
}

impl Share {
    pub fn new(kind: Kind, bounds: Bounds, piece: u64, ordered: bool) -> Share {
        Share {
            kind,
            total: bounds.count(),
            piece: if kind == Kind::Static { piece } else { piece.max(1) },
            start: bounds.start as u64,
            step: bounds.step as u64,
            end: bounds.end as u64,
            counter: 0,
            next: Cell::new(0),
            pieces: Cell::new(0),
            left: Cell::new(0),
            ordered,
            passed: RefCell::default(),
            counts: Vec::new(),
            posts: RefCell::default(),
            memory: Cell::new((core::ptr::null_mut(), 0)),
        }
    }

    /// Memory that its threads share, zero at first; the same for all of them.
    pub fn memory(&self, size: usize, pc: usize) -> *mut c_void {
        let (mut block, _) = self.memory.get();
        if block.is_null() {
            block = block::obtain(size, pc);
            self.memory.set((block, size));
        }
        block.cast()
    }

    pub fn key(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The next piece for a thread: its first iteration, how many, and its number in the order of the loop.
    fn take(&self, member: &Member, pc: usize) -> Option<(u64, u64, u64)> {
        let (threads, number) = (member.team.size as u64, member.number as u64);
        if self.kind == Kind::Static {
            let trip = member.trips.replace(member.trips.get() + 1);
            let (first, count, piece) = if self.piece == 0 {
                let (each, more) = (self.total / threads, self.total % threads);
                let first = each * number + more.min(number);
                (
                    first,
                    if trip > 0 { 0 } else { each + u64::from(number < more) },
                    number,
                )
            } else {
                let piece = trip * threads + number;
                let first = piece.saturating_mul(self.piece);
                (first, self.piece.min(self.total.saturating_sub(first)), piece)
            };
            return (count > 0).then_some((first, count, piece));
        }
        order::await_turn();
        let first = self.next.get();
        let left = self.total - first;
        if left == 0 {
            if threads > 1 {
                order::look(self.counter, first, pc);
            }
            return None;
        }
        let count = match self.kind {
            Kind::Guided => left.div_ceil(threads).max(self.piece).min(left),
            _ => self.piece.min(left),
        };
        if threads > 1 {
            order::count(self.counter, first, first + count, pc);
        }
        self.next.set(first + count);
        Some((first, count, self.pieces.replace(self.pieces.get() + 1)))
    }

    /// Waits until all pieces before the thread's own are passed on.
    fn await_order(&self, inside: &RuntimeGuard, member: &Member, pc: usize) {
        let Some(piece) = member.piece.get().filter(|_| self.ordered && member.team.size > 1) else {
            return;
        };
        if member.in_order.get() {
            return;
        }
        while (self.passed.borrow().len() as u64) < piece {
            pending::waits(inside.thread(), Waits::Turn, self.key(), pc, NEVER);
            baton::block(inside.thread(), self.key(), NEVER);
        }
        let before = piece.checked_sub(1).map(|before| self.passed.borrow()[before as usize]);
        if let Some(before) = before {
            order::find_set(before, pc);
        }
        member.in_order.set(true);
    }

    /// Passes the thread's piece on.
    fn pass_on(&self, inside: &RuntimeGuard, member: &Member, pc: usize) {
        self.await_order(inside, member, pc);
        if member.in_order.replace(false) {
            let done = order::variable();
            order::set(done, pc);
            self.passed.borrow_mut().push(done);
            baton::wake(self.key(), usize::MAX);
        }
        member.piece.set(None);
    }
}

/// The thread comes to a loop; the first of the team makes it.
pub fn begin(member: &Member, make: impl FnOnce() -> Share) {
    let number = member.shares.replace(member.shares.get() + 1);
    let mut shares = member.team.shares.borrow_mut();
    let new = || {
        let mut share = make();
        share.counter = order::part(member.team.loops, number);
        Rc::new(share)
    };
    let share = shares.entry(number).or_insert_with(new).clone();
    drop(shares);
    member.share.replace(Some(share));
    member.trips.set(0);
    member.piece.set(None);
}

/// The loop that the thread is in.
pub fn current(member: &Member) -> Option<Rc<Share>> {
    member.share.borrow().clone()
}

/// The thread's next piece: from which value, and up to which, not included.
pub fn next(inside: &RuntimeGuard, member: &Member, pc: usize) -> Option<(u64, u64)> {
    let share = current(member)?;
    share.pass_on(inside, member, pc);
    let (first, count, piece) = share.take(member, pc)?;
    member.piece.set(Some(piece));
    let value = |at: u64| share.start.wrapping_add(share.step.wrapping_mul(at));
    let end = if first + count == share.total {
        share.end
    } else {
        value(first + count)
    };
    Some((value(first), end))
}

/// As [`next`], into variables of the program.
///
/// # Safety
/// They are the program's.
pub unsafe fn next_into(inside: &RuntimeGuard, member: &Member, from: *mut u64, to: *mut u64, pc: usize) -> bool {
    let Some((start, end)) = next(inside, member, pc) else {
        return false;
    };
    for (variable, value) in [(from, start), (to, end)] {
        // SAFETY: promised by the caller.
        unsafe { variable.write(value) };
        pending::write_range_now(variable as usize, size_of::<u64>(), pc);
    }
    true
}

/// The thread leaves its loop.
pub fn end(inside: &RuntimeGuard, member: &Member, pc: usize) {
    let Some(share) = member.share.take() else { return };
    share.pass_on(inside, member, pc);
    share.left.set(share.left.get() + 1);
    if share.left.get() == member.team.size {
        member
            .team
            .shares
            .borrow_mut()
            .retain(|_, other| !Rc::ptr_eq(other, &share));
    }
}

/// The thread comes to a part that is executed in the order of the loop.
pub fn begin_ordered(inside: &RuntimeGuard, member: &Member, pc: usize) {
    if let Some(share) = current(member) {
        share.await_order(inside, member, pc);
    }
}
