//! Items: events that are not as predicted, and switches of threads.

use super::{Encoder, Given, LOOKUP, Sink, hash};
use crate::item::{Item, is_edge_predicted, site, stack, target, value};
use crate::memory::{LINE, Memory, Spot, line_value};
use crate::number::{signed_len, unsigned_len};
use crate::shape::{kind, mask};
use crate::sites::{Edge, Site, SiteIndex, Sites, target_mode, value_mode};
use crate::state::{Missed, MissedEdge, MissedValue, Operands, State};
use core::borrow::BorrowMut;

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// Encodes an event as an item. Inlined, since much falls away where the kind is known.
    #[inline(always)]
    pub(super) fn put_event(
        &mut self,
        known: Option<SiteIndex>,
        given: &Given,
        spot: Option<Spot>,
        held: Option<u64>,
        sink: &mut impl Sink,
    ) {
        self.switched = false;
        let line = self.line(known, given, spot, held, sink);
        let mut item = Item::new(sink.room());
        let (site_code, index) = self.put_site(known, given, &mut item);
        let edge = self.state.edge_to(index);
        let last = self.state.sites().at(index);
        let (target_code, target_mode) = put_target(&self.state, &edge, last, given);
        let stack_code = self.put_stack(&edge, last, given.stack, &mut item);
        target_code.put(&mut item);
        let (value_code, missed) = match &line {
            Some(line) => {
                item.put_line(line);
                (value::LINE, Some(MissedValue::Filled))
            }
            None => {
                let (part, mode) = put_value(&self.state, last, given.operands.value, held, given.width);
                part.put(&mut item);
                (part.code, mode.map(MissedValue::Predict))
            }
        };
        if given.slots.written {
            let Operands { value, written, .. } = given.operands;
            if written == State::<M, S>::written_after(last, value, given.width) {
                item.put(0, 1);
            } else {
                item.put_sized(signed(written.wrapping_sub(value), given.width));
            }
        }
        let mut token = site_code << site::SHIFT | stack_code << stack::SHIFT;
        token |= target_code.code << target::SHIFT | value_code << value::SHIFT;
        let len = item.len();
        let missed = Missed {
            operands: given.operands,
            edge: (!is_edge_predicted(token)).then_some(MissedEdge {
                first: site_code == site::NEW,
                target_mode,
            }),
            value: missed,
            known: self.state.known(held, given.width),
        };
        self.state.learn(index, given.slots, given.stack, missed);
        match (&line, spot) {
            (Some(line), Some(spot)) => self.state.memory.borrow_mut().set_line(spot, line),
            _ => self.state.keep(spot, given.slots, given.width, given.operands),
        }
        sink.put(token, len, 1);
    }

    /// The line of memory that an access lies in, if it is worth giving: a value was not as memory has it, and the site
    /// goes through memory in small steps.
    fn line(
        &self,
        known: Option<SiteIndex>,
        given: &Given,
        spot: Option<Spot>,
        held: Option<u64>,
        sink: &impl Sink,
    ) -> Option<[u8; LINE]> {
        let (site, spot) = (self.state.sites().at(known?), spot?);
        let is_plain = matches!(given.shape.kind, kind::READ | kind::WRITE);
        let by_memory = site.value_mode == value_mode::MEMORY && held != Some(given.operands.value);
        let step = (given.operands.target.wrapping_sub(site.target) as i64).unsigned_abs();
        if !is_plain || !by_memory || step > LINE as u64 {
            return None;
        }
        let line = sink.line(given.operands.target / LINE as u64 * LINE as u64)?;
        let there = line_value(&line, given.operands.target, given.width);
        if there != given.operands.value {
            // Somebody else is at it.
            return None;
        }
        let old = self.state.memory.borrow().line(spot);
        let new_words = line
            .chunks(8)
            .zip(old.chunks(8))
            .filter(|(new, old)| new != old)
            .count();
        // Else giving the value is shorter.
        (new_words >= 3).then_some(line)
    }

    #[cold]
    pub(super) fn put_thread(&mut self, sink: &mut impl Sink) {
        let mut item = Item::new(sink.room());
        let short = (self.thread as u16).min(target::MASK);
        if short == target::MASK {
            item.put(self.thread.into(), 4);
        }
        let len = item.len();
        sink.put(short << target::SHIFT | value::THREAD << value::SHIFT, len, 0);
        self.state.resume(self.thread);
        self.switched = true;
    }

    #[inline(always)]
    fn put_site(&mut self, known: Option<SiteIndex>, given: &Given, item: &mut Item<'_>) -> (u16, SiteIndex) {
        let Some(index) = known else {
            item.put_sized(given.pc.wrapping_sub(self.state.pc));
            item.put(given.shape.kind.into(), 1);
            item.put(given.shape.parameter.into(), 1);
            self.state.pc = given.pc;
            let index = self.state.sites.borrow_mut().add(given.pc, given.shape);
            let mut at = hash(given.pc, given.shape);
            while self.lookup[at % LOOKUP] != SiteIndex::NONE {
                at += 1;
            }
            self.lookup[at % LOOKUP] = index;
            return (site::NEW, index);
        };
        if index == self.state.expected().site {
            return (site::NEXT, index);
        }
        if index == self.state.other() {
            return (site::OTHER, index);
        }
        item.put(index.number().into(), 2);
        (site::KNOWN, index)
    }

    #[inline(always)]
    fn put_stack(&self, edge: &Edge, last: &Site, wanted: u32, item: &mut Item<'_>) -> u16 {
        let (expected, other) = self.state.stacks(edge, last);
        if wanted == expected {
            stack::PREDICTED
        } else if wanted == other {
            stack::OTHER
        } else {
            let difference = i64::from(wanted) - i64::from(self.state.thread.stack);
            item.put_sized(difference as u64);
            stack::GIVEN
        }
    }
}

/// A part of the token, and the number that belongs to it.
struct Part {
    code: u16,
    number: u64,
    len: usize,
}

impl Part {
    fn code(code: u16) -> Part {
        Part {
            code,
            number: 0,
            len: 0,
        }
    }

    fn put(&self, item: &mut Item<'_>) {
        item.put(self.number, self.len);
    }
}

/// The token's part, and the mode from now on if the target was not predicted.
#[inline(always)]
fn put_target<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    edge: &Edge,
    last: &Site,
    given: &Given,
) -> (Part, Option<u8>) {
    let (wanted, slots) = (given.operands.target, given.slots);
    let by_mode = |mode| wanted == state.target_by(mode, edge, last, slots);
    if by_mode(last.target_mode) {
        return (Part::code(target::PREDICTED), None);
    }
    if let Some(mode) = (0..target_mode::COUNT).find(|&mode| by_mode(mode)) {
        return (Part::code(target::BY_MODE + u16::from(mode)), Some(mode));
    }
    let from_site = wanted.wrapping_sub(last.target);
    let from_thread = wanted.wrapping_sub(state.last_target(slots));
    let site_len = signed_len(from_site);
    let thread_len = signed_len(from_thread);
    let fitting = |lens: &'static [u8], len: usize| (0..).zip(lens).find(move |&(_, &l)| usize::from(l) >= len);
    let part = match fitting(&target::THREAD_BYTES, thread_len) {
        Some((at, &len)) if thread_len < site_len => Part {
            code: target::FROM_THREAD + at,
            number: from_thread,
            len: len.into(),
        },
        _ => {
            let (at, &len) = fitting(&target::SITE_BYTES, site_len).unwrap_or((5, &8));
            Part {
                code: target::FROM_SITE + at,
                number: from_site,
                len: len.into(),
            }
        }
    };
    (part, Some(last.target_mode))
}

/// A difference of values of so many bytes, with its sign.
fn signed(difference: u64, width: u8) -> u64 {
    crate::number::extend(difference & mask(width), width.into())
}

#[inline(always)]
fn put_value<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    last: &Site,
    wanted: u64,
    held: Option<u64>,
    width: u8,
) -> (Part, Option<u8>) {
    if wanted == state.value_by(last.value_mode, last, held, width) {
        return (Part::code(value::PREDICTED), None);
    }
    let by_mode = |&mode: &u8| wanted == state.value_by(mode, last, held, width);
    if let Some(mode) = (0..value_mode::COUNT).find(by_mode) {
        return (Part::code(value::BY_MODE + u16::from(mode)), Some(mode));
    }
    let difference = signed(wanted.wrapping_sub(held.unwrap_or(last.value)), width);
    let (difference_len, plain_len) = (signed_len(difference), unsigned_len(wanted));
    let part = if difference_len < plain_len {
        Part {
            code: value::DIFFERENCE + difference_len as u16 - 1,
            number: difference,
            len: difference_len,
        }
    } else {
        Part {
            code: value::PLAIN + plain_len as u16 - 1,
            number: wanted,
            len: plain_len,
        }
    };
    (part, Some(last.value_mode))
}
