//! What the events before say about the next one: the state that both sides keep in step.

use crate::memory::Memory;
use crate::shape::{Place, Shape, Slots, mask};
use crate::sites::{Site, SiteIndex, Sites, place_mode, value_mode};
use core::borrow::BorrowMut;

/// The part of an operation that changes; operands that a kind does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// What it acts on.
    pub place: u64,
    /// What it saw or stored.
    pub value: u64,
    /// What a read-modify-write stored.
    pub written: u64,
}

/// An event as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The number of its thread.
    pub thread: u32,
    /// The number of its call stack.
    pub stack: u32,
    /// Its code position.
    pub pc: u64,
    /// What is fixed for its instruction.
    pub shape: Shape,
    /// What is not.
    pub operands: Operands,
}

/// What a thread did last in the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Its number + 1; 0 for none.
    pub(crate) tag: u64,
    /// The site of its last event, and what that site says of the next one.
    pub(crate) site: SiteIndex,
    pub(crate) next: SiteIndex,
    pub(crate) next_moves: bool,
    pub(crate) stack: u32,
    /// The address of its last event that has one.
    pub(crate) address: u64,
    /// The values that it read last, the latest first.
    pub(crate) recent: [u64; 2],
}

impl Thread {
    const NONE: Thread = Thread {
        tag: 0,
        site: 0,
        next: 0,
        next_moves: false,
        stack: 0,
        address: 0,
        recent: [0; 2],
    };
}

/// Threads that are remembered while others run; a power of two.
const PARKED: usize = 64;

/// The state. `M` and `S` say where its two large parts live: in it, or behind a pointer.
#[derive(Clone, Debug)]
pub struct State<M = Memory, S = Sites> {
    pub(crate) memory: M,
    pub(crate) sites: S,
    /// The thread that runs.
    pub(crate) thread: Thread,
    parked: [Thread; PARKED],
    /// The code position of the site that was added last.
    pub(crate) pc: u64,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> State<M, S> {
    /// The state at the beginning of a block. Both parts must be new.
    #[must_use]
    pub const fn new(memory: M, sites: S) -> Self {
        Self {
            memory,
            sites,
            thread: Thread::NONE,
            parked: [Thread::NONE; PARKED],
            pc: 0,
        }
    }

    /// Forgets everything, for the next block.
    pub fn forget(&mut self) {
        self.memory.borrow_mut().forget();
        self.sites.borrow_mut().forget();
        self.thread = Thread::NONE;
        self.parked = [Thread::NONE; PARKED];
        self.pc = 0;
    }

    #[inline(always)]
    pub(crate) fn sites(&self) -> &Sites {
        self.sites.borrow()
    }

    /// Another thread runs.
    pub(crate) fn resume(&mut self, number: u32) {
        let old = self.thread;
        self.parked[old.tag as usize % PARKED] = old;
        let tag = u64::from(number) + 1;
        let known = self.parked[tag as usize % PARKED];
        self.thread = if known.tag == tag {
            known
        } else {
            Thread { tag, ..Thread::NONE }
        };
        self.look_ahead();
    }

    /// Reads off the thread's site what comes next.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self) {
        let site = self.sites.borrow().at(self.thread.site);
        (self.thread.next, self.thread.next_moves) = (site.next, site.next_moves);
    }

    /// The call stack that is expected of an event at `index`, and the one to try after that.
    #[inline(always)]
    pub(crate) fn stacks(&self, site: &Site, index: SiteIndex) -> (u32, u32) {
        if self.thread.next_moves && index == self.thread.next {
            (site.stack, self.thread.stack)
        } else {
            (self.thread.stack, site.stack)
        }
    }

    #[inline(always)]
    pub(crate) fn place_by(&self, mode: u8, site: &Site) -> u64 {
        match mode {
            place_mode::STRIDE => site.place.wrapping_add(site.place_steps[0]),
            place_mode::RELATIVE => self.thread.address.wrapping_add(site.place_steps[1]),
            place_mode::POINTER => self.thread.recent[0].wrapping_add(site.place_steps[2]),
            _ => site.place,
        }
    }

    /// `remembered` is what memory holds at the place, for an access.
    #[inline(always)]
    pub(crate) fn value_by(&self, mode: u8, site: &Site, remembered: Option<u64>, width: u8) -> u64 {
        let value = match mode {
            value_mode::MEMORY => return remembered.unwrap_or(site.value),
            value_mode::STRIDE => site.value.wrapping_add(site.value_steps[1]),
            value_mode::RECENT => self.thread.recent[0].wrapping_add(site.value_steps[2]),
            _ => self.thread.recent[1].wrapping_add(site.value_steps[3]),
        };
        value & mask(width)
    }

    #[inline(always)]
    pub(crate) fn written_after(site: &Site, value: u64, width: u8) -> u64 {
        value.wrapping_add(site.written_step) & mask(width)
    }

    /// The thread's next event comes from the site that was expected.
    #[inline(always)]
    pub(crate) fn confirm(&mut self) {
        self.sites.borrow_mut().at_mut(self.thread.site).doubted = false;
    }

    /// Notes an event at `index`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, index: SiteIndex, slots: Slots, width: u8, stack: u32, operands: Operands) {
        let site = self.sites.borrow_mut().at_mut(index);
        site.stack = stack;
        self.thread.stack = stack;
        if !matches!(slots.place, Place::Absent) {
            site.place = operands.place;
        }
        if slots.value {
            site.value = operands.value;
        }
        if matches!(slots.place, Place::Access | Place::Block) {
            self.thread.address = operands.place;
        }
        if slots.reads {
            self.thread.recent = [operands.value, self.thread.recent[0]];
        }
        self.thread.site = index;
        (self.thread.next, self.thread.next_moves) = (site.next, site.next_moves);
        if slots.written {
            self.memory.borrow_mut().swap(operands.place, width, operands.written);
        }
    }

    /// An event at `index` was given by an item: learns from what was not predicted.
    pub(crate) fn learn(&mut self, index: SiteIndex, slots: Slots, width: u8, stack: u32, missed: Missed) {
        self.learn_successor(index, stack != self.thread.stack);
        let Missed {
            operands,
            first,
            place_mode,
            value_mode,
        } = missed;
        let thread = self.thread;
        let site = self.sites.borrow_mut().at_mut(index);
        if let Some(mode) = place_mode {
            let place = operands.place;
            // Twice wrong in a row, with nothing right in between: the stride is another one. Once
            // wrong may be the end of an inner loop.
            if site.place == site.place_anchor && !first {
                site.place_steps[0] = place.wrapping_sub(site.place);
            }
            site.place_steps[1] = place.wrapping_sub(thread.address);
            site.place_steps[2] = place.wrapping_sub(thread.recent[0]);
            site.place_anchor = place;
            site.place_mode = mode;
        }
        if let Some(mode) = value_mode {
            let value = operands.value;
            if site.value == site.value_anchor && !first {
                site.value_steps[1] = value.wrapping_sub(site.value);
            }
            site.value_steps[2] = value.wrapping_sub(thread.recent[0]);
            site.value_steps[3] = value.wrapping_sub(thread.recent[1]);
            site.value_anchor = value;
            site.value_mode = mode;
        }
        if slots.written {
            site.written_step = operands.written.wrapping_sub(operands.value);
        }
        self.advance(index, slots, width, stack, operands);
    }

    /// The site at `index` came after the thread's last one, although something about that was not
    /// as predicted: the site itself, or whether the call stack changes on the way.
    fn learn_successor(&mut self, index: SiteIndex, moves: bool) {
        let last = self.sites.borrow_mut().at_mut(self.thread.site);
        if last.next == index {
            last.next_moves = moves;
            last.doubted = false;
            return;
        }
        if last.other == index {
            last.other_moves = moves;
        } else {
            (last.other, last.other_moves) = (index, moves);
        }
        // Once may be the end of a loop.
        last.doubted = !last.doubted && last.next != 0;
        if !last.doubted {
            (last.next, last.other) = (last.other, last.next);
            (last.next_moves, last.other_moves) = (last.other_moves, last.next_moves);
        }
    }
}

/// An event that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed {
    pub(crate) operands: Operands,
    /// It is the site's first event.
    pub(crate) first: bool,
    /// The mode to predict the place by from now on, unless it was right.
    pub(crate) place_mode: Option<u8>,
    pub(crate) value_mode: Option<u8>,
}
