//! The usual cases of an access, each a few comparisons: what a hook runs through.

use super::{Encoder, Given, Sink};
use crate::memory::{Memory, Spot};
use crate::shape::Shape;
use crate::sites::{SiteIndex, Sites, target_mode, value_mode};
use crate::state::{Operands, Seen, is_by_site};
use core::borrow::BorrowMut;

/// By what edge an access may come from the one before, for [`Encoder::access`].
pub mod edge_kind {
    /// The first one, which is expected without doubt, and on which the call stack stays.
    pub const PLAIN: u8 = 0;
    /// Any on which it stays.
    pub const BRANCHING: u8 = 1;
    /// One on which it changes.
    pub const MOVING: u8 = 2;
}

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It was predicted, and is encoded.
    Hit,
    /// All but its value is as predicted, and that is a literal: for [`Encoder::literal_value`].
    LiteralValue(SiteIndex),
    /// Its target may be a literal: for [`Encoder::literal_target`].
    LiteralTarget(SiteIndex),
    /// All but its value is as predicted, and that is not predicted by memory: for [`Encoder::by_mode`].
    ByMode(SiteIndex),
    /// It does not come by a [plain](edge_kind::PLAIN) edge.
    Branching,
    /// It comes by one on which the call stack [changes](edge_kind::MOVING).
    Moving,
    /// Something is not as predicted: for [`Encoder::event`].
    Other,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// Encodes an access of the running thread if it is as predicted, comes by that [kind](edge_kind) of edge, and has
    /// the value that memory holds, as most do. If not, it is for one of the other functions. In pieces, so that this
    /// one, inlined into a hook, needs neither a stack nor many registers.
    ///
    /// The run must have room: the caller has seen that its predicted events are fewer than
    /// [`MAX_RUN`](crate::MAX_RUN).
    #[inline(always)]
    pub fn access<const EDGE: u8>(
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
        let branches = state.branches();
        if EDGE == edge_kind::PLAIN && !branches.is_plain() {
            return Tried::Branching;
        }
        let at = if EDGE == edge_kind::PLAIN {
            0
        } else {
            branches.foreseen()
        };
        let edge = &state.edges()[at];
        if EDGE == edge_kind::BRANCHING && edge.moves {
            return Tried::Moving;
        }
        let index = edge.site;
        let site = state.sites().at(index);
        if site.pc != pc || site.shape != shape.code() {
            return Tried::Other;
        }
        if stack
            != if EDGE == edge_kind::MOVING {
                site.stack
            } else {
                state.thread.stack
            }
        {
            return Tried::Other;
        }
        // Branches and no choices: the processor foresees them.
        let mode = site.target_mode;
        let expected = if mode == target_mode::STRIDE {
            state.target_by(target_mode::STRIDE, edge, site, slots)
        } else if mode < target_mode::COUNT {
            state.target_by(mode, edge, site, slots)
        } else {
            return Tried::LiteralTarget(index);
        };
        if addr != expected {
            return Tried::Other;
        }
        match site.value_mode {
            value_mode::MEMORY => {}
            value_mode::LITERAL => return Tried::LiteralValue(index),
            _ => return Tried::ByMode(index),
        }
        let spot = Spot::of(addr);
        // Only now: until here it would take a register.
        let value = value();
        if state.memory.borrow().get(spot, width) != value {
            return Tried::Other;
        }
        sink.one_more();
        if EDGE == edge_kind::PLAIN {
            state.confirm_plain(branches);
        } else {
            state.confirm_edge(branches, at);
        }
        let seen = Seen {
            stack,
            stays: EDGE != edge_kind::MOVING,
            by_site: false,
        };
        state.pass(index, slots, seen, Operands::access(addr, value));
        Tried::Hit
    }

    /// Encodes an access of the site at `index`, which comes by its edge, if its value is as predicted, and not by
    /// memory. If not, it is for [`event`](Self::event). The run must have room.
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
        state.confirm(state.branches());
        state.pass(index, slots, seen, operands);
        true
    }

    /// Encodes an access of the site at `index`, of which only the value is not predicted, but a literal. False if it
    /// is for [`event`](Self::event) after all.
    #[inline(always)]
    pub fn literal_value(
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
        let Some(literals) = sink.literals_now() else {
            return false;
        };
        literals[..8].copy_from_slice(&value.to_le_bytes());
        if !sink.hit(width.into()) {
            return false;
        }
        let spot = Spot::of(addr);
        let held = state.memory.borrow().get(spot, width);
        let branches = state.branches();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: false,
        };
        state.note_literal_value(index, Some(held), value);
        state.memory.borrow_mut().set(spot, width, value);
        state.confirm(branches);
        state.pass(index, slots, seen, operands);
        true
    }

    /// Encodes an access of the site at `index`, which comes by its edge, and whose target is a literal; the value may
    /// be one, too. False if it is for [`event`](Self::event) after all.
    #[inline(always)]
    pub fn literal_target(
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
        let distance = addr.wrapping_sub(site.target);
        let (fits, target_len) = match site.target_mode {
            target_mode::LITERAL_SHORT => (distance as i8 as u64 == distance, 1),
            _ => (distance as i32 as u64 == distance, 4),
        };
        if !fits {
            return false;
        }
        let Some(literals) = sink.literals_now() else {
            return false;
        };
        literals[..4].copy_from_slice(&(distance as u32).to_le_bytes());
        let spot = Spot::of(addr);
        let held = state.memory.borrow().get(spot, width);
        let mode = site.value_mode;
        let is_literal = match mode {
            value_mode::LITERAL => {
                literals[target_len..target_len + 8].copy_from_slice(&value.to_le_bytes());
                true
            }
            mode if value != state.value_by(mode, site, Some(held), width) => return false,
            _ => false,
        };
        if !sink.hit(target_len + if is_literal { usize::from(width) } else { 0 }) {
            return false;
        }
        let branches = state.branches();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: is_by_site(slots, mode),
        };
        state.note_literal_target(index, distance);
        if is_literal {
            state.note_literal_value(index, Some(held), value);
        }
        state.memory.borrow_mut().set(spot, width, value);
        state.confirm(branches);
        state.pass(index, slots, seen, operands);
        true
    }
}
