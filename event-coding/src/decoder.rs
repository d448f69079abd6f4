//! From items to events.

use crate::fault::Fault;
use crate::item::{is_way_predicted, place, run, site, stack, value};
use crate::memory::Memory;
use crate::number::extend;
use crate::shape::{Place, Shape, Slots, mask};
use crate::sites::{Site, SiteIndex, Sites, place_mode, value_mode};
use crate::state::{Coded, Missed, Operands, State, Way};
use core::borrow::BorrowMut;

/// Where a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After so many events.
    Events(u32),
    /// After so many predicted events behind the last item.
    Hits(u32),
}

/// Reads the events of one block.
#[derive(Debug)]
pub struct Decoder<'a, M = Memory, S = Sites> {
    state: &'a mut State<M, S>,
    bytes: &'a [u8],
    at: usize,
}

impl<'a, M: BorrowMut<Memory>, S: BorrowMut<Sites>> Decoder<'a, M, S> {
    /// Starts at the beginning of a block, whatever `state` was before.
    pub fn new(state: &'a mut State<M, S>, bytes: &'a [u8]) -> Self {
        state.forget();
        Self { state, bytes, at: 0 }
    }

    /// Decodes the whole block; how many events it has.
    ///
    /// # Errors
    /// With the number of events that came before, and what is wrong: a [`Fault`], or what `each`
    /// says.
    pub fn run<E: From<Fault>>(
        mut self,
        end: End,
        mut each: impl FnMut(Coded) -> Result<(), E>,
    ) -> Result<u32, (u32, E)> {
        let mut done = 0;
        let limit = match end {
            End::Events(events) => events,
            End::Hits(_) => u32::MAX,
        };
        while self.at < self.bytes.len() {
            let rest = self.bytes.len() - self.at;
            let token = self.number(2).map_err(|fault| (done, fault.into()))? as u16;
            let hits = self.hits(token).map_err(|fault| (done, fault.into()))?;
            let switches = token >> value::SHIFT == value::THREAD;
            if u64::from(hits) + u64::from(!switches) > u64::from(limit - done) {
                return Err((done, Fault::TrailingBytes(rest).into()));
            }
            self.predicted(hits, &mut done, &mut each)?;
            if switches {
                self.thread(token).map_err(|fault| (done, fault.into()))?;
                continue;
            }
            self.item(token)
                .map_err(E::from)
                .and_then(&mut each)
                .map_err(|error| (done, error))?;
            done += 1;
        }
        let rest = match end {
            End::Events(events) => events - done,
            End::Hits(hits) => hits,
        };
        self.predicted(rest, &mut done, &mut each)?;
        Ok(done)
    }

    fn predicted<E: From<Fault>>(
        &mut self,
        hits: u32,
        done: &mut u32,
        each: &mut impl FnMut(Coded) -> Result<(), E>,
    ) -> Result<(), (u32, E)> {
        for _ in 0..hits {
            self.hit()
                .map_err(E::from)
                .and_then(&mut *each)
                .map_err(|error| (*done, error))?;
            *done += 1;
        }
        Ok(())
    }

    /// The next event, which is as predicted.
    #[inline]
    fn hit(&mut self) -> Result<Coded, Fault> {
        let state = &mut *self.state;
        let index = state.thread.next.site;
        let site = state.sites().at(index);
        let shape = Shape::of_code(site.shape);
        let (pc, slots, width) = (site.pc, shape.slots().ok_or(Fault::NoSuchSite)?, shape.width());
        let (stack, _) = state.stacks(site);
        let mut operands = Operands::default();
        if slots.place != Place::Absent {
            operands.place = state.place_by(site.place_mode, site, slots);
        }
        let mode = site.value_mode;
        if slots.value {
            let remembered = remembered(&mut state.memory, slots, operands.place, width);
            let site = state.sites.borrow().at(index);
            operands.value = state.value_by(mode, site, remembered, width);
            if slots.written {
                operands.written = State::<M, S>::written_after(site, operands.value, width);
            }
            // Memory that is predicted and known is as it was.
            if slots.place == Place::Access && remembered != Some(operands.value) {
                state.memory.borrow_mut().swap(operands.place, width, operands.value);
            }
        }
        state.confirm();
        state.advance(index, slots, width, stack, operands);
        Ok(self.coded(pc, stack, shape, operands))
    }

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
        self.state.go_to(index);
        let last = *self.state.sites().at(index);
        let shape = Shape::of_code(last.shape);
        let Shape { kind, parameter } = shape;
        let slots = shape.slots().ok_or(Fault::BadShape { kind, parameter })?;
        let width = shape.width();

        let (expected, other) = self.state.stacks(&last);
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
        let (place, place_mode) = self.place(token, &last, slots)?;
        let remembered = remembered(&mut self.state.memory, slots, place, width);
        let (value, value_mode) = self.value(token, &last, remembered, width)?;
        let mut operands = Operands {
            place,
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
        if slots.place == Place::Absent && place != 0 || !slots.value && value != 0 {
            return Err(bad);
        }
        if slots.place == Place::Access {
            self.state.memory.borrow_mut().swap(place, width, value);
        }
        let missed = Missed {
            operands,
            way: (!is_way_predicted(token)).then_some(Way {
                first: site_code == site::NEW,
                place_mode,
            }),
            value_mode,
        };
        self.state.learn(index, slots, width, stack, missed);
        Ok(self.coded(last.pc, stack, shape, operands))
    }

    fn hits(&mut self, token: u16) -> Result<u32, Fault> {
        let short = token >> run::SHIFT & run::MASK;
        if short < run::LONG {
            return Ok(short.into());
        }
        Ok(match self.number(1)? as u8 {
            run::LONG_BYTE => self.number(4)? as u32,
            more => u32::from(run::LONG) + u32::from(more),
        })
    }

    fn thread(&mut self, token: u16) -> Result<(), Fault> {
        let number = match token >> place::SHIFT & place::MASK {
            place::MASK => self.number(4)? as u32,
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
            site::NEXT => self.state.sites().check(self.state.thread.next.site),
            site::OTHER => self.state.sites().check(self.state.other()),
            site::KNOWN => {
                let index = self.number(2)? as SiteIndex;
                self.state.sites().check(index)
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

    fn place(&mut self, token: u16, last: &Site, slots: Slots) -> Result<(u64, Option<u8>), Fault> {
        let code = token >> place::SHIFT & place::MASK;
        if code == place::PREDICTED {
            return Ok((self.state.place_by(last.place_mode, last, slots), None));
        }
        if code < place::FROM_SITE {
            let mode = (code - place::BY_MODE) as u8;
            return Ok((self.state.place_by(mode, last, slots), Some(mode)));
        }
        let (base, len) = match place::SITE_BYTES.get(usize::from(code - place::FROM_SITE)) {
            Some(&len) => (last.place, len),
            None => {
                let at = usize::from(code - place::FROM_THREAD);
                (self.state.last_place(slots), place::THREAD_BYTES[at])
            }
        };
        let difference = extend(self.number(len.into())?, len.into());
        Ok((base.wrapping_add(difference), Some(last.place_mode)))
    }

    fn value(
        &mut self,
        token: u16,
        last: &Site,
        remembered: Option<u64>,
        width: u8,
    ) -> Result<(u64, Option<u8>), Fault> {
        let code = token >> value::SHIFT;
        if code == value::PREDICTED {
            return Ok((self.state.value_by(last.value_mode, last, remembered, width), None));
        }
        if code < value::DIFFERENCE {
            let mode = (code - value::BY_MODE) as u8;
            return Ok((self.state.value_by(mode, last, remembered, width), Some(mode)));
        }
        let wanted = if code < value::PLAIN {
            let len = usize::from(code - value::DIFFERENCE) + 1;
            let base = remembered.unwrap_or(last.value);
            base.wrapping_add(extend(self.number(len)?, len)) & mask(width)
        } else if code < value::END {
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

/// What memory holds at the place of an access.
#[inline(always)]
fn remembered(memory: &mut impl BorrowMut<Memory>, slots: Slots, place: u64, width: u8) -> Option<u64> {
    match slots.place {
        Place::Access => memory.borrow_mut().get(place, width),
        _ => None,
    }
}

const _: () = assert!(place_mode::COUNT == 4 && value_mode::COUNT == 4);
