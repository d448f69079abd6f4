//! The payload of an event block, in both directions: the events of `trace-format` on top of
//! `event-coding`, which knows only shapes and operands.

use crate::anatomy::{assemble, dissect};
use crate::event::{Event, StackId, ThreadId};
use crate::fault::{BlockFault, EncodingFault};
use crate::frame::MAX_EVENTS;
use crate::validity::Rows;
use event_coding::{Coded, Decoder, End, Full, MAX_ITEM_BYTES, Memory, Sink, Sites, State};
use std::cell::RefCell;

/// No event adds more to a payload: two items.
pub(crate) const MAX_EVENT_LEN: usize = 2 * MAX_ITEM_BYTES;

/// Collects the events of one block after another.
pub(crate) struct Encoder {
    coder: event_coding::Encoder<Box<Memory>, Box<Sites>>,
    thread: ThreadId,
    payload: Payload,
}

struct Payload {
    bytes: Vec<u8>,
    /// Where an item is put together.
    item: [u8; MAX_ITEM_BYTES],
    /// Events in `bytes`, and predicted ones after them.
    events: u32,
    hits: u32,
}

impl Sink for Payload {
    fn hit(&mut self) -> bool {
        self.hits += 1;
        true
    }

    fn hits(&self) -> u32 {
        self.hits
    }

    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES] {
        &mut self.item
    }

    fn put(&mut self, len: usize, events: u32) {
        self.bytes.extend_from_slice(&self.item[..len]);
        self.events += self.hits + events;
        self.hits = 0;
    }
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            coder: event_coding::Encoder::new(Box::default(), Box::default()),
            thread: ThreadId(0),
            payload: Payload {
                bytes: Vec::new(),
                item: [0; MAX_ITEM_BYTES],
                events: 0,
                hits: 0,
            },
        }
    }

    /// The events of the block so far.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload.bytes
    }

    pub(crate) fn events(&self) -> u32 {
        self.payload.events + self.payload.hits
    }

    /// Starts the next block.
    pub(crate) fn reset(&mut self) {
        self.coder.start_block();
        self.payload.bytes.clear();
        (self.payload.events, self.payload.hits) = (0, 0);
    }

    /// Adds an event, which must be a valid one: see [`Rows::check`].
    ///
    /// # Errors
    /// [`Full`] if the block must be closed before.
    pub(crate) fn push(&mut self, event: &Event) -> Result<(), Full> {
        if self.events() >= MAX_EVENTS {
            return Err(Full);
        }
        if event.thread != self.thread {
            self.thread = event.thread;
            self.coder.switch(event.thread.0, &mut self.payload);
        }
        let (shape, operands) = dissect(&event.op);
        self.coder
            .event(event.pc, event.stack.0, shape, operands, &mut self.payload)
            .map(drop)
    }
}

thread_local! {
    /// The state is large; whoever decodes one block decodes more.
    static STATE: RefCell<State<Box<Memory>, Box<Sites>>> = RefCell::new(State::new(Box::default(), Box::default()));
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
    // The frame's count is in bounds, yet need not be true; the vector grows as events turn up.
    out.reserve((events as usize).min(1 << 16));
    let result = STATE.with_borrow_mut(|state| {
        Decoder::new(state, payload).run(End::Events(events), |coded| {
            out.push(event(coded, rows)?);
            Ok::<_, EncodingFault>(())
        })
    });
    result.map(drop).map_err(|(before, fault)| {
        out.clear();
        BlockFault::Encoding {
            event: first_event + u64::from(before),
            fault,
        }
    })
}

/// How many events an encoded block has that ends with so many predicted ones, if all are valid.
pub(crate) fn count(payload: &[u8], hits: u32, rows: Rows) -> Result<u32, EncodingFault> {
    let mut left = MAX_EVENTS;
    let result = STATE.with_borrow_mut(|state| {
        Decoder::new(state, payload).run(End::Hits(hits), |coded| {
            left = left.checked_sub(1).ok_or(EncodingFault::TooManyEvents)?;
            event(coded, rows).map(drop)
        })
    });
    result.map_err(|(_, fault)| fault)
}

fn event(coded: Coded, rows: Rows) -> Result<Event, EncodingFault> {
    let event = Event {
        thread: ThreadId(coded.thread),
        pc: coded.pc,
        stack: StackId(coded.stack),
        op: assemble(coded.shape, coded.operands)?,
    };
    rows.check(&event)?;
    Ok(event)
}
