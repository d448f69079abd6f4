//! The payload of an event block, in both directions: the events of `trace-format` on top of
//! `event-coding`, which knows only shapes and operands.

use crate::anatomy::{assemble, dissect, plain_access};
use crate::event::{Event, StackId, ThreadId};
use crate::fault::{BlockFault, EncodingFault};
use crate::frame::MAX_EVENTS;
use crate::validity::Rows;
use event_coding::{
    Coded, Decoder, Extent, Fault, Full, HEAD_BYTES, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, Memory, OPEN_HEAD,
    Sink, Sites, State, Visitor, head,
};
use std::cell::RefCell;

/// No event adds more to a payload: two items, and the heads of the runs that they start.
pub(crate) const MAX_EVENT_LEN: usize = 2 * (MAX_ITEM_BYTES + HEAD_BYTES);

/// Collects the events of one block after another.
pub(crate) struct Encoder {
    /// Made for the first event: it is large, and who writes blocks that are encoded already needs none.
    coder: Option<Coder>,
    thread: ThreadId,
    payload: Payload,
}

type Coder = event_coding::Encoder<Box<Memory>, Box<Sites>>;

struct Payload {
    /// All runs, the last one open.
    bytes: Vec<u8>,
    /// Where the head of the last one is.
    head: usize,
    /// Where an item, or the literals of an event, are put together.
    item: [u8; MAX_ITEM_BYTES],
    literals: [u8; MAX_LITERAL_BYTES],
    /// Events in `bytes` before the last run, and predicted ones in it.
    events: u32,
    hits: u8,
}

impl Payload {
    fn new() -> Self {
        Self {
            bytes: OPEN_HEAD.to_vec(),
            head: 0,
            item: [0; MAX_ITEM_BYTES],
            literals: [0; MAX_LITERAL_BYTES],
            events: 0,
            hits: 0,
        }
    }

    /// Writes the head of the last run.
    fn close(&mut self, token: u16) {
        self.bytes[self.head..][..HEAD_BYTES].copy_from_slice(&head(self.hits, token));
    }
}

impl Sink for Payload {
    fn hit(&mut self, len: usize) -> bool {
        let fits = self.hits < MAX_RUN;
        if fits {
            self.bytes.extend_from_slice(&self.literals[..len]);
            self.hits += 1;
        }
        fits
    }

    fn hits(&self) -> u32 {
        self.hits.into()
    }

    fn literals(&mut self) -> &mut [u8; MAX_LITERAL_BYTES] {
        &mut self.literals
    }

    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES] {
        &mut self.item
    }

    fn put(&mut self, token: u16, len: usize, events: u32) {
        self.close(token);
        self.bytes.extend_from_slice(&self.item[..len]);
        self.events += u32::from(self.hits) + events;
        self.hits = 0;
        self.head = self.bytes.len();
        self.bytes.extend_from_slice(&OPEN_HEAD);
    }
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            coder: None,
            thread: ThreadId(0),
            payload: Payload::new(),
        }
    }

    /// The block so far, as it is if nothing follows.
    pub(crate) fn payload(&mut self) -> &[u8] {
        self.payload.close(0);
        &self.payload.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.payload.bytes.len()
    }

    pub(crate) fn events(&self) -> u32 {
        self.payload.events + u32::from(self.payload.hits)
    }

    /// Starts the next block.
    pub(crate) fn reset(&mut self) {
        if let Some(coder) = &mut self.coder {
            coder.start_block();
        }
        self.payload = Payload::new();
    }

    /// Adds an event, which must be a valid one: see [`Rows::check`].
    ///
    /// # Errors
    /// [`Full`] if the block must be closed before.
    pub(crate) fn push(&mut self, event: &Event) -> Result<(), Full> {
        if self.events() >= MAX_EVENTS {
            return Err(Full);
        }
        let coder = self
            .coder
            .get_or_insert_with(|| Coder::new(Box::default(), Box::default()));
        if event.thread != self.thread {
            self.thread = event.thread;
            coder.switch(event.thread.0, &mut self.payload);
        }
        let (shape, operands) = dissect(&event.op);
        coder
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
    let decoded = visit(payload, rows, first_event, events, |event| out.push(*event));
    if decoded.is_err() {
        out.clear();
    }
    decoded
}

/// Shows each event of the payload of a block; in case of an error, those before it.
pub(crate) fn visit(
    payload: &[u8],
    rows: Rows,
    first_event: u64,
    events: u32,
    see: impl FnMut(&Event),
) -> Result<(), BlockFault> {
    let shown = Shown {
        rows,
        left: events,
        see,
    };
    let result = STATE.with_borrow_mut(|state| Decoder::new(state, payload).run(None, shown));
    let result = match result {
        Ok(Extent { events: done, .. }) if done < events => Err((done, Fault::Truncated.into())),
        other => other,
    };
    result.map(drop).map_err(|(before, fault)| BlockFault::Encoding {
        event: first_event + u64::from(before),
        fault,
    })
}

/// Shows each event as one of a trace, if there may be so many more.
struct Shown<S> {
    rows: Rows,
    left: u32,
    see: S,
}

impl<S: FnMut(&Event)> Visitor<EncodingFault> for Shown<S> {
    #[inline(always)]
    fn see(&mut self, coded: Coded) -> Result<(), EncodingFault> {
        self.left = self.left.checked_sub(1).ok_or(EncodingFault::MoreEvents)?;
        // Nearly all events are plain accesses. They are put together right here, of what is in registers.
        match access(&coded, self.rows) {
            Some(event) => (self.see)(&event),
            None => (self.see)(&event(coded, self.rows)?),
        }
        Ok(())
    }
}

/// Closes an encoded block of which the last run is open, with so many predicted events, if all events are valid; how
/// many they are.
pub(crate) fn close(payload: &mut [u8], hits: u32, rows: Rows) -> Result<u32, EncodingFault> {
    let mut left = MAX_EVENTS;
    let result = STATE.with_borrow_mut(|state| {
        Decoder::new(state, payload).run(Some(hits), |coded: Coded| {
            left = left.checked_sub(1).ok_or(EncodingFault::TooManyEvents)?;
            event(coded, rows).map(drop)
        })
    });
    let Extent { events, last_head } = result.map_err(|(_, fault)| fault)?;
    let hits = u8::try_from(hits).map_err(|_| EncodingFault::TooManyEvents)?;
    payload[last_head..][..HEAD_BYTES].copy_from_slice(&head(hits, 0));
    Ok(events)
}

/// A plain access, if it is a valid one.
#[inline(always)]
fn access(coded: &Coded, rows: Rows) -> Option<Event> {
    let op = plain_access(coded.shape, coded.operands)?;
    let event = Event {
        thread: ThreadId(coded.thread),
        pc: coded.pc,
        stack: StackId(coded.stack),
        op,
    };
    rows.has_access(&event).then_some(event)
}

#[inline(never)]
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
