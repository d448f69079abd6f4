//! What the events before say about the next one: the state that both sides keep in step.

use crate::memory::{Memory, Spot};
use crate::shape::{Place, Shape, Slots, mask};
use crate::sites::{Edge, Site, SiteIndex, Sites, Turns, place_mode, unlikely, value_mode};
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

impl Operands {
    /// Those of a plain access.
    #[inline(always)]
    pub(crate) fn access(place: u64, value: u64) -> Operands {
        Operands {
            place,
            value,
            written: 0,
        }
    }
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
    /// The site of its last event.
    pub(crate) site: SiteIndex,
    /// The edge that it took last where there were two.
    pub(crate) turn: bool,
    pub(crate) stack: u32,
    /// The place of its last event that has an address, and of its last one with a number.
    pub(crate) places: [u64; 2],
    /// The values that it read last, the latest first.
    pub(crate) recent: [u64; 2],
}

impl Thread {
    const NONE: Thread = Thread {
        tag: 0,
        site: SiteIndex::NONE,
        turn: false,
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
    }

    /// The way that is expected from the thread's site.
    #[inline(always)]
    pub(crate) fn expected(&self) -> &Edge {
        &self.edges()[self.turns().foreseen()]
    }

    /// Whether the call stack stays on the way that is expected.
    #[inline(always)]
    pub(crate) fn keeps_stack(&self) -> bool {
        !self.expected().moves
    }

    /// The ways from the thread's site.
    #[inline(always)]
    pub(crate) fn edges(&self) -> &[Edge; 2] {
        &self.sites.borrow().at(self.thread.site).edges
    }

    /// The way from the thread's site to the one at `index`, to predict from.
    pub(crate) fn edge_to(&self, index: SiteIndex) -> Edge {
        let edges = &self.sites.borrow().at(self.thread.site).edges;
        match edges.iter().find(|edge| edge.site == index) {
            Some(&edge) => edge,
            None => Edge {
                site: index,
                ..Edge::NONE
            },
        }
    }

    /// Where the edge of the thread's site leads that is not expected.
    pub(crate) fn other(&self) -> SiteIndex {
        let site = self.sites.borrow().at(self.thread.site);
        site.edges[1 - site.turns.expected()].site
    }

    /// The call stack that is expected of an event at a site, and the one to try after that.
    #[inline(always)]
    pub(crate) fn stacks(&self, edge: &Edge, site: &Site) -> (u32, u32) {
        if edge.moves {
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
    pub(crate) fn place_by(&self, mode: u8, edge: &Edge, site: &Site, slots: Slots) -> u64 {
        match mode {
            place_mode::STRIDE => {
                let stride = edge.strides[usize::from(self.thread.turn)];
                site.place.wrapping_add(stride as u64)
            }
            place_mode::RELATIVE => self.last_place(slots).wrapping_add(site.place_steps[0]),
            place_mode::POINTER => self.thread.recent[0].wrapping_add(site.place_steps[1]),
            _ => site.place,
        }
    }

    /// `held` is what memory holds at the place, for an access.
    #[inline(always)]
    pub(crate) fn value_by(&self, mode: u8, site: &Site, held: Option<u64>, width: u8) -> u64 {
        let value = match mode {
            value_mode::STRIDE => site.value.wrapping_add(site.value_steps[0]),
            value_mode::RECENT => self.thread.recent[0].wrapping_add(site.value_steps[1]),
            value_mode::EARLIER => self.thread.recent[1].wrapping_add(site.value_steps[2]),
            _ => return held.unwrap_or(site.value),
        };
        value & mask(width)
    }

    #[inline(always)]
    pub(crate) fn written_after(site: &Site, value: u64, width: u8) -> u64 {
        value.wrapping_add(site.written_step) & mask(width)
    }

    /// Where memory has an access, and what it holds there.
    #[inline(always)]
    pub(crate) fn held(&self, slots: Slots, place: u64, width: u8) -> (Option<Spot>, Option<u64>) {
        let spot = matches!(slots.place, Place::Access).then(|| Spot::of(place));
        (spot, spot.map(|spot| self.memory.borrow().get(spot, width)))
    }

    /// The turns of the thread's site.
    #[inline(always)]
    pub(crate) fn turns(&self) -> Turns {
        self.sites.borrow().at(self.thread.site).turns
    }

    /// The thread's next event comes from the site that was expected, by these turns of the one before.
    #[inline(always)]
    pub(crate) fn confirm(&mut self, turns: Turns) {
        if turns.is_steady() {
            if turns.forks() {
                self.thread.turn = false;
            }
        } else {
            unlikely();
            let turns = &mut self.sites.borrow_mut().at_mut(self.thread.site).turns;
            let edge = turns.confirm();
            self.thread.turn = turns.taken(self.thread.turn, edge);
        }
    }

    /// The same, by turns that are [plain](Turns::is_plain).
    #[inline(always)]
    pub(crate) fn confirm_plain(&mut self, turns: Turns) {
        if turns.forks() {
            self.thread.turn = false;
        }
    }

    /// The same by any turns, of which it is known that the edge number `at` is expected.
    #[inline(always)]
    pub(crate) fn confirm_edge(&mut self, turns: Turns, at: usize) {
        self.sites.borrow_mut().at_mut(self.thread.site).turns = turns.confirmed(at);
        self.thread.turn = turns.taken(self.thread.turn, at);
    }

    /// Notes a predicted event at `index`, all but what memory holds. Neither the call stack, if that
    /// `stays`, nor a value that is not predicted `by_site`: most events do with less that way.
    #[inline(always)]
    pub(crate) fn pass(&mut self, index: SiteIndex, slots: Slots, seen: Seen, operands: Operands) {
        let site = self.sites.borrow_mut().at_mut(index);
        site.count = site.count.wrapping_add(1);
        if !seen.stays {
            site.stack = seen.stack;
            self.thread.stack = seen.stack;
        }
        if slots.value && seen.by_site {
            site.value = operands.value;
        }
        self.note(index, slots, operands);
    }

    /// Notes an event at `index` that an item gave.
    fn advance(&mut self, index: SiteIndex, slots: Slots, stack: u32, operands: Operands) {
        let seen = Seen {
            stack,
            stays: false,
            by_site: true,
        };
        self.pass(index, slots, seen, operands);
    }

    #[inline(always)]
    fn note(&mut self, index: SiteIndex, slots: Slots, operands: Operands) {
        let site = self.sites.borrow_mut().at_mut(index);
        if !matches!(slots.place, Place::Absent) {
            site.place = operands.place;
            self.thread.places[usize::from(matches!(slots.place, Place::Number))] = operands.place;
        }
        if slots.reads {
            self.thread.recent = [operands.value, self.thread.recent[0]];
        }
        self.thread.site = index;
    }

    /// The place of an event was told, at a distance from the site's last place. Takes predicting up again, by a stride, if
    /// that is the same again and again.
    #[inline(always)]
    pub(crate) fn was_told_place(&mut self, index: SiteIndex, distance: u64) {
        let sites = self.sites.borrow_mut();
        let site = sites.at_mut(index);
        let same = site.place_steps[0] == distance;
        site.place_steps[0] = distance;
        if site.place_record.told(same) {
            site.place_mode = place_mode::STRIDE;
            let last = sites.at_mut(self.thread.site);
            let expected = last.turns.expected();
            last.edges[expected].strides = [distance as i32; 2];
        }
    }

    /// The value of an event was told, where memory holds `held`. Takes predicting it by memory up again, if that would have
    /// been right again and again.
    #[inline(always)]
    pub(crate) fn was_told_value(&mut self, index: SiteIndex, held: Option<u64>, value: u64) {
        let site = self.sites.borrow_mut().at_mut(index);
        if site.value_record.told(held == Some(value)) {
            site.value_mode = value_mode::MEMORY;
        }
    }

    /// Notes what memory holds after an event.
    #[inline(always)]
    pub(crate) fn keep(&mut self, spot: Option<Spot>, slots: Slots, width: u8, operands: Operands) {
        if let Some(spot) = spot {
            let value = if slots.written {
                operands.written
            } else {
                operands.value
            };
            self.memory.borrow_mut().set(spot, width, value);
        }
    }

    /// An event at `index` was given by an item: learns from what was not predicted.
    pub(crate) fn learn(&mut self, index: SiteIndex, slots: Slots, stack: u32, missed: Missed) {
        let Missed { operands, way, value } = missed;
        if let Some(missed) = value {
            let first = matches!(way, Some(Way { first: true, .. }));
            self.learn_value(index, operands.value, missed, first);
        }
        if slots.written {
            let site = self.sites.borrow_mut().at_mut(index);
            site.written_step = operands.written.wrapping_sub(operands.value);
        }
        match way {
            None => self.confirm(self.turns()),
            Some(way) => self.learn_way(index, slots, stack, operands.place, way),
        }
        self.advance(index, slots, stack, operands);
    }

    /// The value of an event at `index` was not as predicted.
    fn learn_value(&mut self, index: SiteIndex, value: u64, missed: MissedValue, first: bool) {
        let recent = self.thread.recent;
        let site = self.sites.borrow_mut().at_mut(index);
        if site.value == site.value_anchor && !first {
            site.value_steps[0] = value.wrapping_sub(site.value);
        }
        site.value_steps[1] = value.wrapping_sub(recent[0]);
        site.value_steps[2] = value.wrapping_sub(recent[1]);
        site.value_anchor = value;
        if let MissedValue::Predict(mode) = missed
            && site.value_mode != value_mode::TOLD
        {
            let gives_up = site.value_record.miss(site.count);
            site.value_mode = if gives_up { value_mode::TOLD } else { mode };
        }
    }

    /// An event is at `index`, and its site, its call stack or its place was not as predicted.
    fn learn_way(&mut self, index: SiteIndex, slots: Slots, stack: u32, place: u64, way: Way) {
        let last_place = self.last_place(slots);
        let thread = self.thread;
        let sites = self.sites.borrow_mut();
        let site = sites.at_mut(index);
        let distance = place.wrapping_sub(site.place) as i64;
        let stride = match way.first {
            true => 0,
            false => i32::try_from(distance).unwrap_or(0),
        };
        if let Some(mode) = way.place_mode {
            site.place_steps[0] = place.wrapping_sub(last_place);
            site.place_steps[1] = place.wrapping_sub(thread.recent[0]);
            let told = match i8::try_from(distance) {
                Ok(_) => place_mode::TOLD_SHORT,
                Err(_) => place_mode::TOLD_LONG,
            };
            let gives_up = site.place_record.miss(site.count);
            site.place_mode = match site.place_mode {
                // A short one may be too short once.
                now @ (place_mode::TOLD_SHORT | place_mode::TOLD_LONG) if !gives_up => now,
                _ if gives_up => told,
                _ => mode,
            };
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
                let at = usize::from(last.edges[0].site != SiteIndex::NONE);
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
        last.turns.set_moves(last.edges[0].moves);
        let edge = if at == last.turns.expected() {
            last.turns.confirm()
        } else {
            last.turns.refute()
        };
        self.thread.turn = last.turns.taken(thread.turn, edge);
    }
}

/// What was asked of the state to predict an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The event's call stack.
    pub(crate) stack: u32,
    /// It is that of the event before, as on that way always.
    pub(crate) stays: bool,
    /// The value was predicted from others that the site or the thread saw.
    pub(crate) by_site: bool,
}

/// Whether values of an operation with these operands, predicted by this mode, are to be kept with the site.
#[inline(always)]
pub(crate) fn is_by_site(slots: Slots, value_mode: u8) -> bool {
    !matches!(slots.place, Place::Access) || !matches!(value_mode, value_mode::MEMORY | value_mode::TOLD)
}

/// An event that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed {
    pub(crate) operands: Operands,
    /// `None` if site, call stack and place were as predicted.
    pub(crate) way: Option<Way>,
    /// `None` if the value was.
    pub(crate) value: Option<MissedValue>,
}

/// How the value is to be predicted from now on that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MissedValue {
    /// By this mode, unless it was wrong too often.
    Predict(u8),
    /// As before: memory holds all of the line now.
    Filled,
}

/// What was wrong but the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// It is the site's first event.
    pub(crate) first: bool,
    /// The mode to predict the place by from now on, unless it was right.
    pub(crate) place_mode: Option<u8>,
}
