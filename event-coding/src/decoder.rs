//! From items to events.

use crate::fault::Fault;
use crate::item::{HEAD_BYTES, OPEN_HEAD, is_edge_predicted, site, stack, target, value};
use crate::memory::{LINE, Memory, line_value};
use crate::number::extend;
use crate::shape::{Shape, Slots, TargetKind, kind, mask};
use crate::sites::{Edge, Site, SiteIndex, Sites, target_mode, value_mode};
use crate::state::{Coded, Missed, MissedEdge, MissedValue, Operands, Seen, State, is_by_site};
use core::borrow::BorrowMut;

/// Reads the events of one block.
#[derive(Debug)]
pub struct Decoder<'a, M = Memory, S = Sites> {
    state: &'a mut State<M, S>,
    bytes: &'a [u8],
    at: usize,
}

/// Who is shown the events of a block.
pub trait Visitor<E> {
    /// The next one. What is to be fast is marked `#[inline(always)]`.
    ///
    /// # Errors
    /// Ends the decoding.
    fn see(&mut self, coded: Coded) -> Result<(), E>;
}

impl<E, F: FnMut(Coded) -> Result<(), E>> Visitor<E> for F {
    #[inline(always)]
    fn see(&mut self, coded: Coded) -> Result<(), E> {
        self(coded)
    }
}

/// The operands of a kind that exists.
const fn slots_of(kind: u8) -> Slots {
    match Shape::plain(kind).slots() {
        Some(slots) => slots,
        None => panic!("no such kind"),
    }
}

/// What a block turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its events.
    pub events: u32,
    /// Where the head of its last run is.
    pub last_head: usize,
}

impl<'a, M: BorrowMut<Memory>, S: BorrowMut<Sites>> Decoder<'a, M, S> {
    /// Starts at the beginning of a block, whatever `state` was before.
    pub fn new(state: &'a mut State<M, S>, bytes: &'a [u8]) -> Self {
        state.forget();
        Self { state, bytes, at: 0 }
    }

    /// Decodes the whole block. If its last run is still open, it has `open` predicted events.
    ///
    /// # Errors
    /// With the number of events that came before, and what is wrong: a [`Fault`], or what the visitor
    /// says.
    pub fn run<E: From<Fault>>(mut self, open: Option<u32>, mut visitor: impl Visitor<E>) -> Result<Extent, (u32, E)> {
        let mut events = 0;
        loop {
            let last_head = self.at;
            let (run, token) = self.head(open).map_err(|fault| (events, fault.into()))?;
            for _ in 0..run {
                self.hit(&mut visitor).map_err(|error| (events, error))?;
                events += 1;
            }
            if self.at == self.bytes.len() {
                // Nothing ended this run.
                return Ok(Extent { events, last_head });
            }
            match token >> value::SHIFT {
                value::FULL if token == value::FULL << value::SHIFT => {}
                value::THREAD => self.thread(token).map_err(|fault| (events, fault.into()))?,
                _ => {
                    self.given(token, &mut visitor).map_err(|error| (events, error))?;
                    events += 1;
                }
            }
        }
    }

    /// The head of a run: its predicted events, and its token.
    fn head(&mut self, open: Option<u32>) -> Result<(u32, u16), Fault> {
        let Some(&head) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) else {
            return Err(Fault::Truncated);
        };
        self.at += HEAD_BYTES;
        let [run, low, high] = head;
        let run = match open {
            // Whoever was about to close it may have written the token.
            Some(open) if run == OPEN_HEAD[0] => open,
            None if run == OPEN_HEAD[0] => return Err(Fault::Truncated),
            _ => run.into(),
        };
        Ok((run, u16::from_le_bytes([low, high])))
    }

    /// The next event, which is as predicted, or a literal where nothing is.
    #[inline(always)]
    fn hit<E: From<Fault>>(&mut self, visitor: &mut impl Visitor<E>) -> Result<(), E> {
        let edge = self.state.expected();
        let shape = Shape::of_code(self.state.sites().at(edge.site).shape);
        // Nearly all events are these: what is fixed for them is known to the compiler then, and what is not stays in
        // registers until the visitor has it, since no call gives it.
        let coded = match shape.kind {
            kind::READ => self.hit_of(shape, const { slots_of(kind::READ) }),
            kind::WRITE => self.hit_of(shape, const { slots_of(kind::WRITE) }),
            _ => return self.other_hit(shape, visitor),
        };
        match coded {
            Ok(coded) => visitor.see(coded),
            Err(fault) => Err(fault.into()),
        }
    }

    #[inline(never)]
    fn other_hit<E: From<Fault>>(&mut self, shape: Shape, visitor: &mut impl Visitor<E>) -> Result<(), E> {
        let slots = shape.slots().ok_or(Fault::NoSuchSite)?;
        visitor.see(self.hit_of(shape, slots)?)
    }

    #[inline(never)]
    fn given<E: From<Fault>>(&mut self, token: u16, visitor: &mut impl Visitor<E>) -> Result<(), E> {
        visitor.see(self.item(token)?)
    }

    /// The next event, whose site has that shape. Of the site and of the edge to it only what is needed is read, and
    /// nothing is copied as a whole: the processor hands no narrower store on to a wider load.
    #[inline(always)]
    fn hit_of(&mut self, shape: Shape, slots: Slots) -> Result<Coded, Fault> {
        let width = shape.width();
        let branches = self.state.branches();
        let edge = &self.state.edges()[branches.foreseen()];
        let index = edge.site;
        let site = self.state.sites().at(index);
        let (pc, moves, value_mode) = (site.pc, edge.moves, site.value_mode);
        let (stack, _) = self.state.stacks(edge, site);
        let mut operands = Operands::default();
        if slots.target != TargetKind::Absent {
            let mode = site.target_mode;
            if mode < target_mode::COUNT {
                operands.target = self.state.target_by(mode, edge, site, slots);
            } else {
                let last = site.target;
                let distance = self.signed(if mode == target_mode::LITERAL_SHORT { 1 } else { 4 })?;
                operands.target = last.wrapping_add(distance);
                self.state.note_literal_target(index, distance);
            }
        }
        let (spot, held) = self.state.held(slots, operands.target, width);
        if slots.value {
            if value_mode >= value_mode::LITERAL {
                let known = self.state.known(held, width);
                let number = self.number(known.len(value_mode))?;
                let value = known.value(value_mode, number);
                operands.value = value.ok_or(Fault::BadLiteral(number as u8))?;
                self.state.note_literal_value(index, value_mode, held, operands.value);
            } else {
                let site = self.state.sites().at(index);
                operands.value = self.state.value_by(value_mode, site, held, width);
                self.state
                    .note_predicted_value(index, value_mode, operands.value, width);
            }
            if slots.written {
                let site = self.state.sites().at(index);
                operands.written = State::<M, S>::written_after(site, operands.value, width);
            }
        }
        self.state.keep(spot, slots, width, operands);
        let seen = Seen {
            stack,
            stays: !moves,
            by_site: is_by_site(slots, value_mode),
        };
        self.state.confirm(branches);
        self.state.pass(index, slots, seen, operands);
        Ok(self.coded(pc, stack, shape, operands))
    }

    #[inline(always)]
    fn coded(&self, pc: u64, stack: u32, shape: Shape, operands: Operands) -> Coded {
        Coded {
            thread: (self.state.thread.tag.wrapping_sub(1)) as u32,
            stack,
            pc,
            shape,
            operands,
        }
    }

    /// An event that its item gives.
    fn item(&mut self, token: u16) -> Result<Coded, Fault> {
        if self.state.thread.tag == 0 {
            return Err(Fault::NoThread);
        }
        let bad = Fault::BadToken(token);
        let site_code = token >> site::SHIFT & site::MASK;
        let index = self.site(site_code)?;
        let edge = self.state.edge_to(index);
        let last = *self.state.sites().at(index);
        let shape = Shape::of_code(last.shape);
        let Shape { kind, parameter } = shape;
        let slots = shape.slots().ok_or(Fault::BadShape { kind, parameter })?;
        let width = shape.width();

        let (expected, other) = self.state.stacks(&edge, &last);
        let stack = match token >> stack::SHIFT & stack::MASK {
            stack::PREDICTED => expected,
            stack::OTHER => other,
            stack::GIVEN => {
                let difference = self.sized()?;
                let stack = u64::from(self.state.thread.stack).wrapping_add(difference);
                u32::try_from(stack).map_err(|_| bad)?
            }
            _ => return Err(bad),
        };
        let (target, target_mode) = self.target(token, &edge, &last, slots)?;
        let (spot, held) = self.state.held(slots, target, width);
        let mut line = None;
        let (value, missed) = match (token >> value::SHIFT, spot) {
            (value::LINE, Some(_)) if !slots.written => {
                let bytes = *self.line()?;
                line = Some(bytes);
                (line_value(&bytes, target, width), Some(MissedValue::Filled))
            }
            _ => {
                let (value, mode) = self.value(token, &last, held, width)?;
                (value, mode.map(MissedValue::Predict))
            }
        };
        let mut operands = Operands {
            target,
            value,
            written: 0,
        };
        if slots.written {
            operands.written = match self.number(1)? as usize {
                0 => State::<M, S>::written_after(&last, value, width),
                len @ 1..=8 => value.wrapping_add(extend(self.number(len)?, len)) & mask(width),
                _ => return Err(bad),
            };
        }
        if slots.target == TargetKind::Absent && target != 0 || !slots.value && value != 0 {
            return Err(bad);
        }
        let missed = Missed {
            operands,
            edge: (!is_edge_predicted(token)).then_some(MissedEdge {
                first: site_code == site::NEW,
                target_mode,
            }),
            value: missed,
            known: self.state.known(held, width),
        };
        self.state.learn(index, slots, stack, missed);
        match (line, spot) {
            (Some(line), Some(spot)) => self.state.memory.borrow_mut().set_line(spot, &line),
            _ => self.state.keep(spot, slots, width, operands),
        }
        Ok(self.coded(last.pc, stack, shape, operands))
    }

    fn thread(&mut self, token: u16) -> Result<(), Fault> {
        let number = match token >> target::SHIFT & target::MASK {
            target::MASK => self.number(4)? as u32,
            short => short.into(),
        };
        if token >> site::SHIFT & site::MASK != 0 || token >> stack::SHIFT & stack::MASK != 0 {
            return Err(Fault::BadToken(token));
        }
        self.state.resume(number);
        Ok(())
    }

    fn site(&mut self, code: u16) -> Result<SiteIndex, Fault> {
        match code {
            site::NEXT => self.state.sites().check(self.state.expected().site.number()),
            site::OTHER => self.state.sites().check(self.state.other().number()),
            site::KNOWN => {
                let number = self.number(2)? as u16;
                self.state.sites().check(number)
            }
            _ => {
                let pc = self.state.pc.wrapping_add(self.sized()?);
                let shape = Shape {
                    kind: self.number(1)? as u8,
                    parameter: self.number(1)? as u8,
                };
                let Shape { kind, parameter } = shape;
                if shape.slots().is_none() {
                    return Err(Fault::BadShape { kind, parameter });
                }
                if self.state.sites().is_full() {
                    return Err(Fault::NoSuchSite);
                }
                self.state.pc = pc;
                Ok(self.state.sites.borrow_mut().add(pc, shape))
            }
        }
    }

    fn target(&mut self, token: u16, edge: &Edge, last: &Site, slots: Slots) -> Result<(u64, Option<u8>), Fault> {
        let code = token >> target::SHIFT & target::MASK;
        if code == target::PREDICTED {
            return Ok((self.state.target_by(last.target_mode, edge, last, slots), None));
        }
        if code < target::FROM_SITE {
            let mode = (code - target::BY_MODE) as u8;
            return Ok((self.state.target_by(mode, edge, last, slots), Some(mode)));
        }
        let (base, len) = match target::SITE_BYTES.get(usize::from(code - target::FROM_SITE)) {
            Some(&len) => (last.target, len),
            None => {
                let at = usize::from(code - target::FROM_THREAD);
                (self.state.last_target(slots), target::THREAD_BYTES[at])
            }
        };
        let difference = extend(self.number(len.into())?, len.into());
        Ok((base.wrapping_add(difference), Some(last.target_mode)))
    }

    fn value(&mut self, token: u16, last: &Site, held: Option<u64>, width: u8) -> Result<(u64, Option<u8>), Fault> {
        let code = token >> value::SHIFT;
        if code == value::PREDICTED {
            return Ok((self.state.value_by(last.value_mode, last, held, width), None));
        }
        if code < value::DIFFERENCE {
            let mode = (code - value::BY_MODE) as u8;
            return Ok((self.state.value_by(mode, last, held, width), Some(mode)));
        }
        let wanted = if code < value::PLAIN {
            let len = usize::from(code - value::DIFFERENCE) + 1;
            let base = held.unwrap_or(last.value);
            base.wrapping_add(extend(self.number(len)?, len)) & mask(width)
        } else if code < value::LINE {
            self.number(usize::from(code - value::PLAIN) + 1)?
        } else {
            return Err(Fault::BadToken(token));
        };
        Ok((wanted, Some(last.value_mode)))
    }

    /// A length, 1 to 8, and a number with a sign.
    fn sized(&mut self) -> Result<u64, Fault> {
        match self.number(1)? as usize {
            len @ 1..=8 => Ok(extend(self.number(len)?, len)),
            len => Err(Fault::BadToken(len as u16)),
        }
    }

    /// The next `len` bytes with the sign of the last one.
    fn signed(&mut self, len: usize) -> Result<u64, Fault> {
        Ok(extend(self.number(len)?, len))
    }

    fn line(&mut self) -> Result<&'a [u8; LINE], Fault> {
        let line = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
        self.at += LINE;
        line.ok_or(Fault::Truncated)
    }

    /// The next `len` bytes, 1 to 8.
    #[inline]
    fn number(&mut self, len: usize) -> Result<u64, Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.len() < len {
            return Err(Fault::Truncated);
        }
        self.at += len;
        Ok(match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word) & mask(len as u8),
            None => rest[..len]
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | u64::from(byte)),
        })
    }
}

const _: () = assert!(target_mode::COUNT == 4 && value_mode::COUNT == 4);
