//! The usual cases of an access, each a few comparisons: what a hook runs through.

use super::{Encoder, Given, Sink};
use crate::edge_kind;
use crate::memory::{Memory, Spot};
use crate::progression;
use crate::shape::{Shape, mask};
use crate::sites::{BranchHistory, Site, SiteIndex, Sites, target_mode, value_mode};
use crate::state::{Operands, Seen};
use core::borrow::BorrowMut;

/// In place of modes 1 to 3 of a target or a value, for [`Encoder::access_by`]: the site says which of them.
pub const PREDICTED: u8 = 2;

/// The mode of a value that goes on by a step, and keeps its exponent, as most do.
pub const STRIDE: u8 = value_mode::STRIDE;

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It was predicted, and is encoded.
    Hit,
    /// It is of the code position that was expected, with the call stack that was, but of another kind or size, or target
    /// and value are told in other ways than most: for [`Encoder::modes`].
    By(SiteIndex),
    /// It does not come by a [plain](edge_kind::PLAIN) edge: for [`Encoder::access_from`].
    Branching,
    /// It comes by one on which the call stack changes.
    Moving,
    /// Something is not as predicted: for [`Encoder::event`].
    Other,
}

/// What became of an access with modes that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedBy {
    /// It is encoded.
    Hit,
    /// Something is not as predicted: for [`Encoder::missed`].
    Other,
    /// Its value goes on by a step, and has another exponent than the last one: to be tried as [`PREDICTED`].
    Beyond,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// Encodes an access of the running thread if it is as predicted, comes by a plain edge, goes on
    /// from the site's last target by a stride, and has the value that memory holds, as most do. If not, it is for one
    /// of the other functions. In pieces, so that this one, inlined into a hook, needs neither a stack nor many
    /// registers.
    ///
    /// The run must have room: the caller has seen that its predicted events are fewer than
    /// [`MAX_RUN`](crate::MAX_RUN).
    #[inline(always)]
    pub fn access(
        &mut self,
        pc: u64,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: impl FnOnce() -> u64,
        sink: &mut impl Sink,
    ) -> Tried {
        let last = self.state.thread.site;
        let branches = self.state.branches();
        if !branches.is_plain() {
            return Tried::Branching;
        }
        self.access_from::<{ edge_kind::PLAIN }>(branches, last, pc, stack, shape, addr, value, sink)
    }

    /// The same of an access that comes by any kind of edge from the thread's last site, which has this history.
    #[expect(clippy::too_many_arguments, reason = "all are in registers")]
    #[inline(always)]
    pub fn access_from<const EDGE: u8>(
        &mut self,
        branches: BranchHistory,
        last: SiteIndex,
        pc: u64,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: impl FnOnce() -> u64,
        sink: &mut impl Sink,
    ) -> Tried {
        let Given { slots, width, .. } = Given::new(pc, stack, shape, Operands::default());
        let state = &mut self.state;
        let at = branches.edge_of_kind(EDGE);
        let edge = &state.sites().at(last).edges[at];
        if matches!(EDGE, edge_kind::FIRST | edge_kind::SECOND) && edge.moves {
            return Tried::Moving;
        }
        let moves = EDGE == edge_kind::ANY && edge.moves;
        let index = edge.site;
        let site = state.sites().at(index);
        if site.pc != pc {
            return Tried::Other;
        }
        if stack != if moves { site.stack } else { state.thread.stack } {
            return Tried::Other;
        }
        // The shape and both modes at once. Whoever comes to know which of them it is, looks again.
        if site.form() != Site::usual_form(shape) {
            return Tried::By(index);
        }
        if addr != state.target_by(target_mode::STRIDE, edge, site, slots) {
            return Tried::Other;
        }
        let spot = Spot::of(addr);
        // Only now: until here it would take a register.
        let value = value();
        if state.memory.borrow().get(spot, width) != value {
            return Tried::Other;
        }
        sink.one_more(0);
        if EDGE == edge_kind::PLAIN {
            state.confirm_plain(branches);
        } else {
            state.confirm_edge(branches, last, at);
        }
        let seen = Seen {
            stack,
            stays: !moves,
            by_site: false,
        };
        state.pass(index, slots, seen, Operands::access(addr, value));
        Tried::Hit
    }

    /// The history of the thread's last site, and which that is.
    #[inline(always)]
    pub fn last(&self) -> (BranchHistory, SiteIndex) {
        (self.state.branches(), self.state.thread.site)
    }

    /// In which modes the site at `index` tells target and value, if it has that shape.
    #[inline(always)]
    #[must_use]
    pub fn modes(&self, index: SiteIndex, shape: Shape) -> Option<(u8, u8)> {
        let [low, high, target_mode, value_mode] = self.state.sites().at(index).form().to_le_bytes();
        (u16::from_le_bytes([low, high]) == shape.code()).then_some((target_mode, value_mode))
    }

    /// Encodes an access of which [`access`](Self::access) said that it is of the site at `index`, which has these modes
    /// (or [`PREDICTED`]), and comes by that kind of edge: [`PLAIN`](edge_kind::PLAIN) or [`ANY`](edge_kind::ANY).
    /// The run must have room.
    #[inline(always)]
    pub fn access_by<const EDGE: u8, const TARGET: u8, const VALUE: u8>(
        &mut self,
        index: SiteIndex,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        sink: &mut impl Sink,
    ) -> TriedBy {
        let Given { slots, width, .. } = Given::new(0, stack, shape, Operands::default());
        let state = &mut self.state;
        let (branches, last) = (state.branches(), state.thread.site);
        let at = branches.edge_of_kind(EDGE);
        let moves = EDGE == edge_kind::ANY && state.edges()[at].moves;
        let site = state.sites().at(index);
        let distance = addr.wrapping_sub(site.target);
        let (target_fits, target_len) = match TARGET {
            target_mode::LITERAL_SHORT => (distance as i8 as u64 == distance, 1),
            target_mode::LITERAL_LONG => (distance as i32 as u64 == distance, 4),
            PREDICTED => (
                addr == state.target_by(site.target_mode, &state.edges()[at], site, slots),
                0,
            ),
            _ => (addr == state.target_by(TARGET, &state.edges()[at], site, slots), 0),
        };
        if !target_fits {
            return TriedBy::Other;
        }
        let spot = Spot::of(addr);
        let held = state.memory.borrow().get(spot, width);
        let known = state.known(Some(held), width);
        let by_site = matches!(VALUE, STRIDE | PREDICTED);
        if VALUE == STRIDE && progression::differ(site.value, value, width) {
            // Elsewhere: the call would take registers.
            return TriedBy::Beyond;
        }
        let (literal, value_len) = match VALUE {
            STRIDE => (
                (value == site.value.wrapping_add(site.value_steps[0]) & mask(width)).then_some(0),
                0,
            ),
            PREDICTED => (
                (value == state.value_by(site.value_mode, site, None, width)).then_some(0),
                0,
            ),
            value_mode::MEMORY => ((value == held).then_some(0), 0),
            _ => (known.literal(VALUE, value), known.len(VALUE)),
        };
        let Some(literal) = literal else {
            return TriedBy::Other;
        };
        if target_len + value_len > 0 {
            let Some(literals) = sink.literals_now() else {
                return TriedBy::Other;
            };
            if target_len > 0 {
                literals[..4].copy_from_slice(&(distance as u32).to_le_bytes());
            }
            if value_len > 0 {
                literals[target_len..target_len + 8].copy_from_slice(&literal.to_le_bytes());
            }
        }
        sink.one_more(target_len + value_len);
        if target_len > 0 {
            state.note_literal_target(index, distance);
        }
        if value_len > 0 {
            state.note_literal_value(index, VALUE, Some(held), value);
        }
        if VALUE == PREDICTED {
            let mode = state.sites().at(index).value_mode;
            state.note_predicted_value(index, mode, value, width);
        }
        if VALUE != value_mode::MEMORY {
            state.memory.borrow_mut().set(spot, width, value);
        }
        if EDGE == edge_kind::PLAIN {
            state.confirm_plain(branches);
        } else {
            state.confirm_edge(branches, last, at);
        }
        let seen = Seen {
            stack,
            stays: !moves,
            by_site,
        };
        state.pass(index, slots, seen, Operands::access(addr, value));
        TriedBy::Hit
    }
}
