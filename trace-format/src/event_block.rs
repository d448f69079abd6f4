//! The payload of an event block, in both directions.
//!
//! Each event is a control byte that says how far [`Prediction`] was right, then what it missed:
//!
//! | bits | 0 | 1 | 2 | 3 |
//! |---|---|---|---|---|
//! | 0–1 site | the predicted successor | a known site: its index | a new site: code position, shape | *(thread switch)* |
//! | 2–3 stack | the thread's last | the site's last | difference to the thread's last | – |
//! | 4–5 place | the site's last + stride | difference to the site's last | difference to the thread's last address | the site's last |
//! | 6–7 value | the site's last | what memory holds | difference to memory, else to the site's last | the value itself |
//!
//! A control byte 3 is no event: the number of the thread that runs from here on follows it.
//! Slots that the kind does not have leave their bits 0. `FORMAT.md` has the full definition.

use crate::anatomy::{Operands, Place, Shape, Slots, assemble, dissect};
use crate::event::{CodePosition, Event, StackId, ThreadId};
use crate::fault::{BlockFault, EncodingFault, EventFault};
use crate::prediction::{Past, Prediction, SiteIndex, ThreadState};
use crate::validity::Rows;
use crate::varint::{self, Cursor};
use std::collections::HashMap;

/// The control byte before a thread's number.
const THREAD_SWITCH: u8 = 3;
/// No event is longer: a switch (6), control (1), site (12), stack, place, value, written (10 each).
pub(crate) const MAX_EVENT_LEN: usize = 6 + 1 + 12 + 4 * 10;

/// Collects the events of one block after another.
pub(crate) struct Encoder {
    prediction: Prediction,
    lookup: HashMap<(CodePosition, Shape), SiteIndex>,
    payload: Vec<u8>,
    events: u32,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            prediction: Prediction::new(),
            lookup: HashMap::new(),
            payload: Vec::new(),
            events: 0,
        }
    }

    /// The events of the block so far.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(crate) fn events(&self) -> u32 {
        self.events
    }

    /// Starts the next block.
    pub(crate) fn reset(&mut self) {
        self.prediction.reset();
        self.lookup.clear();
        self.payload.clear();
        self.events = 0;
    }

    /// Adds an event, which must be a valid one: see [`Rows::check`].
    pub(crate) fn push(&mut self, event: &Event) {
        let (shape, operands) = dissect(&event.op);
        let slots = shape.slots().expect("an operation has a kind that exists");
        if self.prediction.thread != Some(event.thread) {
            self.prediction.thread = Some(event.thread);
            self.payload.push(THREAD_SWITCH);
            varint::put(&mut self.payload, event.thread.0.into());
        }
        let state = *self.prediction.thread_state(event.thread);
        let control_at = self.payload.len();
        self.payload.push(0);

        let (site_mode, index) = self.put_site(&state, event.pc, shape);
        let stack_mode = self.put_stack(&state, index, event.stack);
        let place_mode = if slots.place == Place::Absent {
            0
        } else {
            self.put_place(&state, index, slots, operands)
        };
        let value_mode = if slots.value {
            self.put_value(index, slots, shape, operands)
        } else {
            0
        };
        if slots.written {
            varint::put(&mut self.payload, varint::difference(operands.value, operands.written));
        }

        self.payload[control_at] = site_mode | stack_mode << 2 | place_mode << 4 | value_mode << 6;
        let past = Past {
            site: index,
            first_at_site: site_mode == 2,
            stack: event.stack,
            operands,
        };
        self.prediction.record(event.thread, slots, past);
        self.events += 1;
    }

    fn put_site(&mut self, state: &ThreadState, pc: CodePosition, shape: Shape) -> (u8, SiteIndex) {
        if let Some(next) = self.prediction.next_site(state) {
            let site = &self.prediction.sites[next as usize];
            if site.pc == pc && site.shape == shape {
                return (0, next);
            }
        }
        if let Some(&index) = self.lookup.get(&(pc, shape)) {
            varint::put(&mut self.payload, index.into());
            return (1, index);
        }
        varint::put(&mut self.payload, varint::difference(self.prediction.pc, pc));
        self.payload.extend([shape.kind, shape.parameter]);
        let index = self.prediction.add_site(pc, shape);
        self.lookup.insert((pc, shape), index);
        (2, index)
    }

    fn put_stack(&mut self, state: &ThreadState, index: SiteIndex, stack: StackId) -> u8 {
        if stack == state.stack {
            0
        } else if stack == self.prediction.sites[index as usize].stack {
            1
        } else {
            varint::put(
                &mut self.payload,
                varint::difference(state.stack.0.into(), stack.0.into()),
            );
            2
        }
    }

    fn put_place(&mut self, state: &ThreadState, index: SiteIndex, slots: Slots, operands: Operands) -> u8 {
        let site = &self.prediction.sites[index as usize];
        if operands.place == site.place.wrapping_add(site.stride) {
            return 0;
        }
        if operands.place == site.place {
            return 3;
        }
        let from_site = varint::difference(site.place, operands.place);
        let from_thread = varint::difference(thread_base(state, slots), operands.place);
        let (mode, shorter) = if from_thread < from_site {
            (2, from_thread)
        } else {
            (1, from_site)
        };
        varint::put(&mut self.payload, shorter);
        mode
    }

    fn put_value(&mut self, index: SiteIndex, slots: Slots, shape: Shape, operands: Operands) -> u8 {
        let last = self.prediction.sites[index as usize].value;
        let memory = remembered(&self.prediction, slots, shape, operands.place);
        if memory == Some(operands.value) {
            return 1;
        }
        if operands.value == last {
            return 0;
        }
        let difference = varint::difference(memory.unwrap_or(last), operands.value);
        let (mode, shorter) = if difference < operands.value {
            (2, difference)
        } else {
            (3, operands.value)
        };
        varint::put(&mut self.payload, shorter);
        mode
    }
}

/// What a place of mode 2 is relative to: only addresses are near other addresses.
fn thread_base(state: &ThreadState, slots: Slots) -> u64 {
    if slots.place == Place::Number { 0 } else { state.address }
}

/// What memory holds at the place of an event, as far as the block knows.
fn remembered(prediction: &Prediction, slots: Slots, shape: Shape, place: u64) -> Option<u64> {
    if slots.place == Place::Access {
        prediction.memory(place, shape.access_size())
    } else {
        None
    }
}

/// Decodes the payload of a block into `out`, which is emptied first and in case of an error.
pub(crate) fn decode(
    payload: &[u8],
    rows: Rows,
    first_event: u64,
    events: u32,
    out: &mut Vec<Event>,
) -> Result<(), BlockFault> {
    out.clear();
    let mut decoder = Decoder {
        prediction: Prediction::new(),
        rows,
        cursor: Cursor::new(payload),
    };
    // The frame's count is in bounds, yet need not be true; the vector grows as events turn up.
    out.reserve((events as usize).min(1 << 16));
    for number in 0..events {
        match decoder.event() {
            Ok(event) => out.push(event),
            Err(fault) => {
                out.clear();
                return Err(BlockFault::Encoding {
                    event: first_event + u64::from(number),
                    fault,
                });
            }
        }
    }
    match decoder.cursor.remaining() {
        0 => Ok(()),
        left => {
            out.clear();
            let fault = EncodingFault::TrailingBytes(left);
            Err(BlockFault::Encoding {
                event: first_event + u64::from(events),
                fault,
            })
        }
    }
}

struct Decoder<'a> {
    prediction: Prediction,
    rows: Rows,
    cursor: Cursor<'a>,
}

impl Decoder<'_> {
    fn event(&mut self) -> Result<Event, EncodingFault> {
        let mut control = self.cursor.byte()?;
        if control == THREAD_SWITCH {
            let id = self.cursor.varint()?;
            // Checked before it is used: the prediction keeps a state for each number up to it.
            if id >= self.rows.threads as u64 {
                return Err(EventFault::UnknownThread {
                    id,
                    rows: self.rows.threads,
                }
                .into());
            }
            self.prediction.thread = Some(ThreadId(id as u32));
            control = self.cursor.byte()?;
        }
        let thread = self.prediction.thread.ok_or(EncodingFault::NoThread)?;
        let state = *self.prediction.thread_state(thread);

        let index = self.site(control, &state)?;
        let site = &self.prediction.sites[index as usize];
        let (pc, shape) = (site.pc, site.shape);
        let slots = shape.slots().ok_or(EncodingFault::BadShape {
            kind: shape.kind,
            parameter: shape.parameter,
        })?;
        let absent_bits = if slots.place == Place::Absent { 0x30 } else { 0 } | if slots.value { 0 } else { 0xc0 };
        if control & absent_bits != 0 {
            return Err(EncodingFault::BadControl(control));
        }
        let stack = self.stack(control, &state, index)?;
        let mut operands = Operands::default();
        if slots.place != Place::Absent {
            operands.place = self.place(control, &state, index, slots)?;
        }
        if slots.value {
            operands.value = self.value(control, index, slots, shape, operands.place)?;
        }
        if slots.written {
            operands.written = varint::apply(operands.value, self.cursor.varint()?);
        }

        let event = Event {
            thread,
            pc,
            stack,
            op: assemble(shape, operands)?,
        };
        self.rows.check(&event)?;
        let past = Past {
            site: index,
            first_at_site: control & 3 == 2,
            stack,
            operands,
        };
        self.prediction.record(thread, slots, past);
        Ok(event)
    }

    fn site(&mut self, control: u8, state: &ThreadState) -> Result<SiteIndex, EncodingFault> {
        match control & 3 {
            0 => self.prediction.next_site(state).ok_or(EncodingFault::NoSuchSite),
            1 => {
                let index = self.cursor.varint()?;
                let known = index < self.prediction.sites.len() as u64;
                if known {
                    Ok(index as SiteIndex)
                } else {
                    Err(EncodingFault::NoSuchSite)
                }
            }
            2 => {
                let pc = varint::apply(self.prediction.pc, self.cursor.varint()?);
                let shape = Shape {
                    kind: self.cursor.byte()?,
                    parameter: self.cursor.byte()?,
                };
                Ok(self.prediction.add_site(pc, shape))
            }
            _ => Err(EncodingFault::BadControl(control)),
        }
    }

    fn stack(&mut self, control: u8, state: &ThreadState, index: SiteIndex) -> Result<StackId, EncodingFault> {
        match control >> 2 & 3 {
            0 => Ok(state.stack),
            1 => Ok(self.prediction.sites[index as usize].stack),
            2 => {
                let id = varint::apply(state.stack.0.into(), self.cursor.varint()?);
                let unknown = EventFault::UnknownStack {
                    id,
                    rows: self.rows.stacks,
                };
                u32::try_from(id).map(StackId).map_err(|_| unknown.into())
            }
            _ => Err(EncodingFault::BadControl(control)),
        }
    }

    fn place(
        &mut self,
        control: u8,
        state: &ThreadState,
        index: SiteIndex,
        slots: Slots,
    ) -> Result<u64, EncodingFault> {
        let site = self.prediction.sites[index as usize];
        Ok(match control >> 4 & 3 {
            0 => site.place.wrapping_add(site.stride),
            1 => varint::apply(site.place, self.cursor.varint()?),
            2 => varint::apply(thread_base(state, slots), self.cursor.varint()?),
            _ => site.place,
        })
    }

    fn value(
        &mut self,
        control: u8,
        index: SiteIndex,
        slots: Slots,
        shape: Shape,
        place: u64,
    ) -> Result<u64, EncodingFault> {
        let last = self.prediction.sites[index as usize].value;
        let memory = remembered(&self.prediction, slots, shape, place);
        match control >> 6 {
            0 => Ok(last),
            1 => memory.ok_or(EncodingFault::BadControl(control)),
            2 => Ok(varint::apply(memory.unwrap_or(last), self.cursor.varint()?)),
            _ => self.cursor.varint(),
        }
    }
}
