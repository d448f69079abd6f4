//! The usual ways of an access, each a few comparisons: what a hook runs through.

use super::{Encoder, Given, Sink};
use crate::memory::{Memory, Spot};
use crate::shape::Shape;
use crate::sites::{SiteIndex, Sites, place_mode, value_mode};
use crate::state::{Operands, Seen, is_by_site};
use core::borrow::BorrowMut;

/// How an access may come from the one before, for [`Encoder::access`].
pub mod way {
    /// By the first edge, which is expected without doubt, and on which the call stack stays.
    pub const PLAIN: u8 = 0;
    /// By any edge on which it stays.
    pub const TURNING: u8 = 1;
    /// By an edge on which it changes.
    pub const MOVING: u8 = 2;
}

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It was predicted, and is encoded.
    Hit,
    /// All but its value is as predicted, and that is told: for [`Encoder::told_value`].
    ToldValue(SiteIndex),
    /// Its place may be told: for [`Encoder::told_place`].
    ToldPlace(SiteIndex),
    /// All but its value is as predicted, and that is not predicted by memory: for [`Encoder::by_mode`].
    ByMode(SiteIndex),
    /// It does not come a [plain](way::PLAIN) way.
    Turning,
    /// It is one on which the call stack [changes](way::MOVING).
    Moving,
    /// Something is not as predicted: for [`Encoder::event`].
    Other,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// Encodes an access of the running thread if it is as predicted, comes that [`way`], and has the value that memory holds,
    /// as most do. If not, it is for one of the other functions. In pieces, so that this one, inlined into a hook,
    /// needs neither a stack nor many registers.
    ///
    /// The run must have room: the caller has seen that its predicted events are fewer than [`MAX_RUN`](crate::MAX_RUN).
    #[inline(always)]
    pub fn access<const WAY: u8>(
        &mut self,
        pc: u64,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: impl FnOnce() -> u64,
        sink: &mut impl Sink,
    ) -> Tried {
        let Given { slots, width, .. } = Given::new(pc, stack, shape, Operands::default());
        let state = &mut self.state;
        let turns = state.turns();
        if WAY == way::PLAIN && !turns.is_plain() {
            return Tried::Turning;
        }
        let at = if WAY == way::PLAIN { 0 } else { turns.foreseen() };
        let edge = &state.edges()[at];
        if WAY == way::TURNING && edge.moves {
            return Tried::Moving;
        }
        let index = edge.site;
        let site = state.sites().at(index);
        if site.pc != pc || site.shape != shape.code() {
            return Tried::Other;
        }
        if stack
            != if WAY == way::MOVING {
                site.stack
            } else {
                state.thread.stack
            }
        {
            return Tried::Other;
        }
        // Branches and no choices: the processor foresees them.
        let mode = site.place_mode;
        let expected = if mode == place_mode::STRIDE {
            state.place_by(place_mode::STRIDE, edge, site, slots)
        } else if mode < place_mode::COUNT {
            state.place_by(mode, edge, site, slots)
        } else {
            return Tried::ToldPlace(index);
        };
        if addr != expected {
            return Tried::Other;
        }
        match site.value_mode {
            value_mode::MEMORY => {}
            value_mode::TOLD => return Tried::ToldValue(index),
            _ => return Tried::ByMode(index),
        }
        let spot = Spot::of(addr);
        // Only now: until here it would take a register.
        let value = value();
        if state.memory.borrow().get(spot, width) != value {
            return Tried::Other;
        }
        sink.one_more();
        if WAY == way::PLAIN {
            state.confirm_plain(turns);
        } else {
            state.confirm_edge(turns, at);
        }
        let seen = Seen {
            stack,
            stays: WAY != way::MOVING,
            by_site: false,
        };
        state.pass(index, slots, seen, Operands::access(addr, value));
        Tried::Hit
    }

    /// Encodes an access of the site at `index`, which is on its way, if its value is as predicted, and not by memory. If not,
    /// it is for [`event`](Self::event). The run must have room.
    #[inline(always)]
    pub fn by_mode(
        &mut self,
        index: SiteIndex,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        sink: &mut impl Sink,
    ) -> bool {
        let Given {
            slots, width, operands, ..
        } = Given::new(0, stack, shape, Operands::access(addr, value));
        let state = &mut self.state;
        let site = state.sites().at(index);
        if value != state.value_by(site.value_mode, site, None, width) {
            return false;
        }
        state.memory.borrow_mut().set(Spot::of(addr), width, value);
        sink.one_more();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: true,
        };
        state.confirm(state.turns());
        state.pass(index, slots, seen, operands);
        true
    }

    /// Encodes an access of the site at `index`, of which only the value is not predicted, but told. False if it is for
    /// [`event`](Self::event) after all.
    #[inline(always)]
    pub fn told_value(
        &mut self,
        index: SiteIndex,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        sink: &mut impl Sink,
    ) -> bool {
        let Given {
            slots, width, operands, ..
        } = Given::new(0, stack, shape, Operands::access(addr, value));
        let state = &mut self.state;
        let Some(telling) = sink.telling_now() else {
            return false;
        };
        telling[..8].copy_from_slice(&value.to_le_bytes());
        if !sink.hit(width.into()) {
            return false;
        }
        let spot = Spot::of(addr);
        let held = state.memory.borrow().get(spot, width);
        let turns = state.turns();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: false,
        };
        state.was_told_value(index, Some(held), value);
        state.memory.borrow_mut().set(spot, width, value);
        state.confirm(turns);
        state.pass(index, slots, seen, operands);
        true
    }

    /// Encodes an access of the site at `index`, which is on its way, and whose place is told; the value may be, too. False
    /// if it is for [`event`](Self::event) after all.
    #[inline(always)]
    pub fn told_place(
        &mut self,
        index: SiteIndex,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        sink: &mut impl Sink,
    ) -> bool {
        let Given {
            slots, width, operands, ..
        } = Given::new(0, stack, shape, Operands::access(addr, value));
        let state = &mut self.state;
        let site = state.sites().at(index);
        let distance = addr.wrapping_sub(site.place);
        let (fits, place_len) = match site.place_mode {
            place_mode::TOLD_SHORT => (distance as i8 as u64 == distance, 1),
            _ => (distance as i32 as u64 == distance, 4),
        };
        if !fits {
            return false;
        }
        let Some(telling) = sink.telling_now() else {
            return false;
        };
        telling[..4].copy_from_slice(&(distance as u32).to_le_bytes());
        let spot = Spot::of(addr);
        let held = state.memory.borrow().get(spot, width);
        let mode = site.value_mode;
        let is_told = match mode {
            value_mode::TOLD => {
                telling[place_len..place_len + 8].copy_from_slice(&value.to_le_bytes());
                true
            }
            mode if value != state.value_by(mode, site, Some(held), width) => return false,
            _ => false,
        };
        if !sink.hit(place_len + if is_told { usize::from(width) } else { 0 }) {
            return false;
        }
        let turns = state.turns();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: is_by_site(slots, mode),
        };
        state.was_told_place(index, distance);
        if is_told {
            state.was_told_value(index, Some(held), value);
        }
        state.memory.borrow_mut().set(spot, width, value);
        state.confirm(turns);
        state.pass(index, slots, seen, operands);
        true
    }
}
