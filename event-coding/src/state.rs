//! What the events before say about the next one: the state that both sides keep in step.

use crate::memory::Memory;
use crate::shape::{Place, Shape, Slots, mask};
use crate::sites::{Edge, Site, SiteIndex, Sites, place_mode, value_mode};
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
    /// The site of its last event, and the way that is expected from there.
    pub(crate) site: SiteIndex,
    pub(crate) next: Edge,
    /// The edge that it took last where there were two.
    pub(crate) turn: u8,
    pub(crate) stack: u32,
    /// The place of its last event that has an address, and of its last one with a number.
    pub(crate) places: [u64; 2],
    /// The values that it read last, the latest first.
    pub(crate) recent: [u64; 2],
}

impl Thread {
    const NONE: Thread = Thread {
        tag: 0,
        site: 0,
        next: Edge::NONE,
        turn: 0,
        stack: 0,
        places: [0; 2],
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
        self.thread.next = site.edges[site.turns.expected()];
    }

    /// The thread's next event is at `index`: the way there is the one to predict from.
    pub(crate) fn go_to(&mut self, index: SiteIndex) {
        if self.thread.next.site != index {
            let edges = self.sites.borrow().at(self.thread.site).edges;
            self.thread.next = match edges.iter().find(|edge| edge.site == index) {
                Some(&edge) => edge,
                None => Edge {
                    site: index,
                    ..Edge::NONE
                },
            };
        }
    }

    /// The edge of the thread's site that is not expected.
    pub(crate) fn other(&self) -> SiteIndex {
        let site = self.sites.borrow().at(self.thread.site);
        site.edges[1 - site.turns.expected()].site
    }

    /// The call stack that is expected of an event at a site, and the one to try after that.
    #[inline(always)]
    pub(crate) fn stacks(&self, site: &Site) -> (u32, u32) {
        if self.thread.next.moves {
            (site.stack, self.thread.stack)
        } else {
            (self.thread.stack, site.stack)
        }
    }

    /// The place of the thread's last event of that sort.
    #[inline(always)]
    pub(crate) fn last_place(&self, slots: Slots) -> u64 {
        self.thread.places[usize::from(matches!(slots.place, Place::Number))]
    }

    #[inline(always)]
    pub(crate) fn place_by(&self, mode: u8, site: &Site, slots: Slots) -> u64 {
        match mode {
            place_mode::STRIDE => {
                let stride = self.thread.next.strides[usize::from(self.thread.turn & 1)];
                site.place.wrapping_add(stride as u64)
            }
            place_mode::RELATIVE => self.last_place(slots).wrapping_add(site.place_steps[0]),
            place_mode::POINTER => self.thread.recent[0].wrapping_add(site.place_steps[1]),
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
        let turns = &mut self.sites.borrow_mut().at_mut(self.thread.site).turns;
        let edge = turns.confirm();
        self.thread.turn = turns.taken(self.thread.turn, edge);
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
        if !matches!(slots.place, Place::Absent) {
            self.thread.places[usize::from(matches!(slots.place, Place::Number))] = operands.place;
        }
        if slots.reads {
            self.thread.recent = [operands.value, self.thread.recent[0]];
        }
        self.thread.site = index;
        self.thread.next = site.edges[site.turns.expected()];
        if slots.written {
            self.memory.borrow_mut().swap(operands.place, width, operands.written);
        }
    }

    /// An event at `index` was given by an item: learns from what was not predicted.
    pub(crate) fn learn(&mut self, index: SiteIndex, slots: Slots, width: u8, stack: u32, missed: Missed) {
        let Missed {
            operands,
            way,
            value_mode,
        } = missed;
        if let Some(mode) = value_mode {
            let first = matches!(way, Some(Way { first: true, .. }));
            self.learn_value(index, operands.value, mode, first);
        }
        if slots.written {
            let site = self.sites.borrow_mut().at_mut(index);
            site.written_step = operands.written.wrapping_sub(operands.value);
        }
        match way {
            None => self.confirm(),
            Some(way) => self.learn_way(index, slots, stack, operands.place, way),
        }
        self.advance(index, slots, width, stack, operands);
    }

    /// The value of an event at `index` was not as predicted.
    #[inline]
    pub(crate) fn learn_value(&mut self, index: SiteIndex, value: u64, mode: u8, first: bool) {
        let recent = self.thread.recent;
        let site = self.sites.borrow_mut().at_mut(index);
        if site.value == site.value_anchor && !first {
            site.value_steps[1] = value.wrapping_sub(site.value);
        }
        site.value_steps[2] = value.wrapping_sub(recent[0]);
        site.value_steps[3] = value.wrapping_sub(recent[1]);
        site.value_anchor = value;
        site.value_mode = mode;
    }

    /// An event is at `index`, and its site, its call stack or its place was not as predicted.
    fn learn_way(&mut self, index: SiteIndex, slots: Slots, stack: u32, place: u64, way: Way) {
        let last_place = self.last_place(slots);
        let thread = self.thread;
        let sites = self.sites.borrow_mut();
        let site = sites.at_mut(index);
        let stride = match way.first {
            true => 0,
            false => i32::try_from(place.wrapping_sub(site.place) as i64).unwrap_or(0),
        };
        if let Some(mode) = way.place_mode {
            site.place_steps[0] = place.wrapping_sub(last_place);
            site.place_steps[1] = place.wrapping_sub(thread.recent[0]);
            site.place_mode = mode;
        }
        let moves = stack != thread.stack;
        let last = sites.at_mut(thread.site);
        let at = match last.edges.iter().position(|edge| edge.site == index) {
            Some(at) => {
                last.edges[at].moves = moves;
                if way.place_mode.is_some() {
                    last.edges[at].learn(thread.turn, stride);
                }
                at
            }
            None => {
                let at = usize::from(last.edges[0].site != 0);
                if at == 1 {
                    last.turns.fork();
                }
                last.edges[at] = Edge {
                    strides: [stride; 2],
                    site: index,
                    moves,
                    doubts: 0,
                };
                at
            }
        };
        let edge = if at == last.turns.expected() {
            last.turns.confirm()
        } else {
            last.turns.refute()
        };
        self.thread.turn = last.turns.taken(thread.turn, edge);
    }
}

/// An event that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed {
    pub(crate) operands: Operands,
    /// `None` if site, call stack and place were as predicted.
    pub(crate) way: Option<Way>,
    /// The mode to predict the value by from now on, unless it was right.
    pub(crate) value_mode: Option<u8>,
}

/// What was wrong but the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// It is the site's first event.
    pub(crate) first: bool,
    /// As `value_mode`, for the place.
    pub(crate) place_mode: Option<u8>,
}
