//! From events to items.

use crate::item::{Item, MAX_ITEM_BYTES, is_way_predicted, place, run, site, stack, value};
use crate::memory::Memory;
use crate::number::{signed_len, unsigned_len};
use crate::shape::{Place, Shape, Slots, mask};
use crate::sites::{Edge, MAX_SITES, Site, SiteIndex, Sites, place_mode, value_mode};
use crate::state::{Missed, Operands, State, Way};
use core::borrow::BorrowMut;

/// Where items go, and where predicted events are counted.
pub trait Sink {
    /// Counts one more predicted event. False if no more can be counted before the next item.
    fn hit(&mut self) -> bool;
    /// The predicted events since the last item.
    fn hits(&self) -> u32;
    /// Where the next item is to be put together.
    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES];
    /// Appends the item of so many bytes that is there now, which takes up the predicted events; `events` is 1
    /// if it is an event itself.
    fn put(&mut self, len: usize, events: u32);
}

/// The block has as many sites as it can have. The event is not encoded: close the block,
/// [`start_block`](Encoder::start_block), and encode it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Entries of the table that finds sites; a power of two.
const LOOKUP: usize = 2 * MAX_SITES;

/// Collects the events of one block after another.
#[derive(Clone, Debug)]
pub struct Encoder<M = Memory, S = Sites> {
    state: State<M, S>,
    /// The thread that runs, whether or not the block says so yet.
    thread: u32,
    /// The last item said that another thread runs.
    switched: bool,
    /// Sites by hash of code position and shape, with linear probing; 0 is a free entry.
    lookup: [SiteIndex; LOOKUP],
}

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It was predicted, and is encoded.
    Hit,
    /// All but its value was: for [`Encoder::miss_value`], with what memory held.
    Value(Option<u64>),
    /// Something else was not: for [`Encoder::miss_access`].
    Other(Option<u64>),
}

/// What `event` takes.
#[derive(Clone, Copy)]
struct Given {
    pc: u64,
    stack: u32,
    shape: Shape,
    slots: Slots,
    operands: Operands,
    remembered: Option<u64>,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// An encoder at the beginning of a block, with thread 0 running. Both parts must be new.
    #[must_use]
    pub const fn new(memory: M, sites: S) -> Self {
        Self {
            state: State::new(memory, sites),
            thread: 0,
            switched: false,
            lookup: [0; LOOKUP],
        }
    }

    /// Starts the next block.
    pub fn start_block(&mut self) {
        self.switched = false;
        self.state.forget();
        self.lookup.fill(0);
    }

    /// The events that follow are those of another thread.
    pub fn switch(&mut self, thread: u32, sink: &mut impl Sink) {
        self.thread = thread;
        if self.state.thread.tag == 0 || self.switched && sink.hits() == 0 {
            // The thread's first event says it: threads that do nothing in their turn take no room.
            self.state.thread.next = Edge::NONE;
        } else {
            self.put_thread(sink);
        }
    }

    /// Encodes an access of the running thread that stores at most its value, if it is as predicted. Else one of
    /// the two other functions must follow, with the same arguments. In pieces, so that the first, inlined into a
    /// hook, needs neither a stack nor saved registers.
    #[inline(always)]
    pub fn access(&mut self, pc: u64, stack: u32, shape: Shape, addr: u64, value: u64, sink: &mut impl Sink) -> Tried {
        let slots = slots_of(shape);
        let width = shape.width();
        let remembered = self.state.memory.borrow_mut().swap(addr, width, value);
        let state = &mut self.state;
        let index = state.thread.next.site;
        let next = state.sites().at(index);
        if !is_expected(state, next, pc, stack, shape) || addr != state.place_by(next.place_mode, next, slots) {
            return Tried::Other(remembered);
        }
        if value != state.value_by(next.value_mode, next, remembered, width) || !sink.hit() {
            return Tried::Value(remembered);
        }
        let operands = Operands {
            place: addr,
            value,
            written: 0,
        };
        state.confirm();
        state.advance(index, slots, width, stack, operands);
        Tried::Hit
    }

    /// Encodes an access of which all but the value is as predicted: the most frequent of what is not predicted.
    #[inline(always)]
    pub fn miss_value(
        &mut self,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        remembered: Option<u64>,
        sink: &mut impl Sink,
    ) {
        let (slots, width) = (slots_of(shape), shape.width());
        let state = &mut self.state;
        let index = state.thread.next.site;
        let hits = sink.hits();
        let mut item = Item::new(sink.room());
        let run = put_run(hits, &mut item);
        let (part, mode) = put_value(state, state.sites().at(index), value, remembered, width);
        part.put(&mut item);
        let len = item.finish(run << run::SHIFT | part.code << value::SHIFT);
        if let Some(mode) = mode {
            state.learn_value(index, value, mode, false);
        }
        let operands = Operands {
            place: addr,
            value,
            written: 0,
        };
        state.confirm();
        state.advance(index, slots, width, stack, operands);
        self.switched = false;
        sink.put(len, 1);
    }

    /// Encodes an access of which something else is not as predicted.
    ///
    /// # Errors
    /// [`Full`]: as for an [`event`](Self::event).
    #[expect(clippy::too_many_arguments, reason = "in registers they cost nothing")]
    #[inline(always)]
    pub fn miss_access(
        &mut self,
        pc: u64,
        stack: u32,
        shape: Shape,
        addr: u64,
        value: u64,
        remembered: Option<u64>,
        sink: &mut impl Sink,
    ) -> Result<(), Full> {
        let operands = Operands {
            place: addr,
            value,
            written: 0,
        };
        let given = Given {
            pc,
            stack,
            shape,
            slots: slots_of(shape),
            operands,
            remembered,
        };
        self.miss(&given, sink)
    }

    /// Encodes an event of the running thread. True if it was predicted, so that no item came to be.
    ///
    /// # Errors
    /// [`Full`], before anything is encoded.
    ///
    /// # Panics
    /// If the shape is of no kind that exists.
    pub fn event(
        &mut self,
        pc: u64,
        stack: u32,
        shape: Shape,
        operands: Operands,
        sink: &mut impl Sink,
    ) -> Result<bool, Full> {
        let slots = slots_of(shape);
        if matches!(slots.place, Place::Access) && !slots.written {
            let Operands { place, value, .. } = operands;
            return match self.access(pc, stack, shape, place, value, sink) {
                Tried::Hit => Ok(true),
                Tried::Value(remembered) => {
                    self.miss_value(stack, shape, place, value, remembered, sink);
                    Ok(false)
                }
                Tried::Other(remembered) => self
                    .miss_access(pc, stack, shape, place, value, remembered, sink)
                    .map(|()| false),
            };
        }
        let width = shape.width();
        let remembered = match slots.place {
            Place::Access => self
                .state
                .memory
                .borrow_mut()
                .swap(operands.place, width, operands.value),
            _ => None,
        };
        let state = &mut self.state;
        let index = state.thread.next.site;
        let next = state.sites().at(index);
        if is_expected(state, next, pc, stack, shape)
            && (matches!(slots.place, Place::Absent) || operands.place == state.place_by(next.place_mode, next, slots))
            && (!slots.value || operands.value == state.value_by(next.value_mode, next, remembered, width))
            && (!slots.written || operands.written == State::<M, S>::written_after(next, operands.value, width))
            && sink.hit()
        {
            state.confirm();
            state.advance(index, slots, width, stack, operands);
            return Ok(true);
        }
        let given = Given {
            pc,
            stack,
            shape,
            slots,
            operands,
            remembered,
        };
        self.miss(&given, sink).map(|()| false)
    }

    #[inline(never)]
    fn miss(&mut self, given: &Given, sink: &mut impl Sink) -> Result<(), Full> {
        let known = self.find(given.pc, given.shape);
        if known.is_none() && self.state.sites().is_full() {
            return Err(Full);
        }
        if self.state.thread.tag == u64::from(self.thread) + 1 {
            self.state.look_ahead();
        } else {
            self.put_thread(sink);
        }
        self.switched = false;
        let hits = sink.hits();
        let mut item = Item::new(sink.room());
        let mut token = put_run(hits, &mut item) << run::SHIFT;
        let (site_code, index) = self.put_site(known, given, &mut item);
        self.state.go_to(index);
        let last = self.state.sites().at(index);
        let width = given.shape.width();
        let (place_code, place_mode) = put_place(&self.state, last, given);
        let (value_code, value_mode) = put_value(&self.state, last, given.operands.value, given.remembered, width);
        let stack_code = self.put_stack(last, given.stack, &mut item);
        place_code.put(&mut item);
        value_code.put(&mut item);
        if given.slots.written {
            let Operands { value, written, .. } = given.operands;
            if written == State::<M, S>::written_after(last, value, width) {
                item.put(0, 1);
            } else {
                item.put_sized(signed(written.wrapping_sub(value), width));
            }
        }
        token |= site_code << site::SHIFT | stack_code << stack::SHIFT;
        token |= place_code.code << place::SHIFT | value_code.code << value::SHIFT;
        let len = item.finish(token);
        let missed = Missed {
            operands: given.operands,
            way: (!is_way_predicted(token)).then_some(Way {
                first: site_code == site::NEW,
                place_mode,
            }),
            value_mode,
        };
        self.state.learn(index, given.slots, width, given.stack, missed);
        sink.put(len, 1);
        Ok(())
    }

    #[cold]
    fn put_thread(&mut self, sink: &mut impl Sink) {
        let hits = sink.hits();
        let mut item = Item::new(sink.room());
        let token = put_run(hits, &mut item) << run::SHIFT;
        let short = (self.thread as u16).min(place::MASK);
        if short == place::MASK {
            item.put(self.thread.into(), 4);
        }
        let len = item.finish(token | short << place::SHIFT | value::THREAD << value::SHIFT);
        sink.put(len, 0);
        self.state.resume(self.thread);
        self.switched = true;
    }

    /// The site's index, if the block has it.
    fn find(&self, pc: u64, shape: Shape) -> Option<SiteIndex> {
        let is_it = |index: SiteIndex| {
            let site = self.state.sites().at(index);
            site.pc == pc && site.shape == shape.code()
        };
        // Mostly it was expected, and something else about the event was not.
        let expected = self.state.thread.next.site;
        if is_it(expected) {
            return Some(expected);
        }
        let mut at = hash(pc, shape);
        loop {
            let index = self.lookup[at % LOOKUP];
            if index == 0 {
                return None;
            }
            if is_it(index) {
                return Some(index);
            }
            at += 1;
        }
    }

    fn put_site(&mut self, known: Option<SiteIndex>, given: &Given, item: &mut Item<'_>) -> (u16, SiteIndex) {
        let Some(index) = known else {
            item.put_sized(given.pc.wrapping_sub(self.state.pc));
            item.put(given.shape.kind.into(), 1);
            item.put(given.shape.parameter.into(), 1);
            self.state.pc = given.pc;
            let index = self.state.sites.borrow_mut().add(given.pc, given.shape);
            let mut at = hash(given.pc, given.shape);
            while self.lookup[at % LOOKUP] != 0 {
                at += 1;
            }
            self.lookup[at % LOOKUP] = index;
            return (site::NEW, index);
        };
        if index == self.state.thread.next.site {
            return (site::NEXT, index);
        }
        if index == self.state.other() {
            return (site::OTHER, index);
        }
        item.put(index.into(), 2);
        (site::KNOWN, index)
    }

    fn put_stack(&self, last: &Site, wanted: u32, item: &mut Item<'_>) -> u16 {
        let (expected, other) = self.state.stacks(last);
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

#[inline(always)]
fn slots_of(shape: Shape) -> Slots {
    shape.slots().expect("an event has a kind that exists")
}

/// Whether an event comes from the site that is expected next, with the call stack that is.
#[inline(always)]
fn is_expected<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    next: &Site,
    pc: u64,
    stack: u32,
    shape: Shape,
) -> bool {
    next.pc == pc && next.shape == shape.code() && stack == state.stacks(next).0
}

fn hash(pc: u64, shape: Shape) -> usize {
    let key = pc ^ u64::from(shape.code()) << 48;
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
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

fn put_run(hits: u32, item: &mut Item<'_>) -> u16 {
    match hits.checked_sub(run::LONG.into()) {
        None => return hits as u16,
        Some(more) if more < run::LONG_BYTE.into() => item.put(more.into(), 1),
        Some(_) => {
            item.put(run::LONG_BYTE.into(), 1);
            item.put(hits.into(), 4);
        }
    }
    run::LONG
}

/// The token's part, and the mode from now on if the place was not predicted.
fn put_place<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    last: &Site,
    given: &Given,
) -> (Part, Option<u8>) {
    let (wanted, slots) = (given.operands.place, given.slots);
    if wanted == state.place_by(last.place_mode, last, slots) {
        return (Part::code(place::PREDICTED), None);
    }
    if let Some(mode) = (0..place_mode::COUNT).find(|&mode| wanted == state.place_by(mode, last, slots)) {
        return (Part::code(place::BY_MODE + u16::from(mode)), Some(mode));
    }
    let from_site = wanted.wrapping_sub(last.place);
    let from_thread = wanted.wrapping_sub(state.last_place(slots));
    let site_len = signed_len(from_site);
    let thread_len = signed_len(from_thread);
    let fitting = |lens: &'static [u8], len: usize| (0..).zip(lens).find(move |&(_, &l)| usize::from(l) >= len);
    let part = match fitting(&place::THREAD_BYTES, thread_len) {
        Some((at, &len)) if thread_len < site_len => Part {
            code: place::FROM_THREAD + at,
            number: from_thread,
            len: len.into(),
        },
        _ => {
            let (at, &len) = fitting(&place::SITE_BYTES, site_len).unwrap_or((5, &8));
            Part {
                code: place::FROM_SITE + at,
                number: from_site,
                len: len.into(),
            }
        }
    };
    (part, Some(last.place_mode))
}

/// A difference of values of so many bytes, with its sign.
fn signed(difference: u64, width: u8) -> u64 {
    crate::number::extend(difference & mask(width), width.into())
}

fn put_value<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    last: &Site,
    wanted: u64,
    remembered: Option<u64>,
    width: u8,
) -> (Part, Option<u8>) {
    if wanted == state.value_by(last.value_mode, last, remembered, width) {
        return (Part::code(value::PREDICTED), None);
    }
    let by_mode = |&mode: &u8| wanted == state.value_by(mode, last, remembered, width);
    if let Some(mode) = (0..value_mode::COUNT).find(by_mode) {
        return (Part::code(value::BY_MODE + u16::from(mode)), Some(mode));
    }
    let difference = signed(wanted.wrapping_sub(remembered.unwrap_or(last.value)), width);
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
