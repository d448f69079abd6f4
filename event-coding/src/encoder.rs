//! From events to items.

use crate::item::{Item, MAX_ITEM_BYTES, MAX_TOLD_BYTES, is_way_predicted, place, site, stack, value};
use crate::memory::{LINE, Memory, Spot, line_value};
use crate::number::{signed_len, unsigned_len};
use crate::shape::{Place, Shape, Slots, kind, mask};
use crate::sites::{Edge, MAX_SITES, NOWHERE, Site, SiteIndex, Sites, place_mode, value_mode};
use crate::state::{Missed, MissedValue, Operands, Seen, State, Way, is_by_site};
use core::borrow::BorrowMut;

/// Where runs go: see `item`.
pub trait Sink {
    /// Counts one more predicted event, of which the first `told` bytes are told that are in [`telling`](Sink::telling).
    /// False if the run is full.
    fn hit(&mut self, told: usize) -> bool;
    /// The same of an event of which nothing is told, if the run is known to have room.
    fn one_more(&mut self) {
        self.hit(0);
    }
    /// The predicted events of the run.
    fn hits(&self) -> u32;
    /// Where the next told bytes are put together.
    fn telling(&mut self) -> &mut [u8; MAX_TOLD_BYTES];
    /// The same if there is room at once.
    fn telling_now(&mut self) -> Option<&mut [u8; MAX_TOLD_BYTES]> {
        Some(self.telling())
    }
    /// Where the item that ends the run is put together, all but its token.
    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES];
    /// Ends the run with the token and as many bytes as are there now, and starts the next; `events` is 1 if the item is an
    /// event itself.
    fn put(&mut self, token: u16, len: usize, events: u32);
    /// The bytes of the line of memory at this address, if they can be had, as the program finds them.
    fn line(&self, _addr: u64) -> Option<[u8; LINE]> {
        None
    }
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
    /// While it does not say so: the site of the thread that the block means. [`NOWHERE`] stands in its place, from where
    /// nothing is predicted.
    resting: Option<SiteIndex>,
    /// The last item said that another thread runs.
    switched: bool,
    /// Sites by hash of code position and shape, with linear probing; no site is a free entry.
    lookup: [SiteIndex; LOOKUP],
}

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

/// An event.
#[derive(Clone, Copy)]
struct Given {
    pc: u64,
    stack: u32,
    shape: Shape,
    slots: Slots,
    width: u8,
    operands: Operands,
}

impl Given {
    #[inline(always)]
    fn new(pc: u64, stack: u32, shape: Shape, operands: Operands) -> Given {
        Given {
            pc,
            stack,
            shape,
            slots: shape.slots().expect("an event has a kind that exists"),
            width: shape.width(),
            operands,
        }
    }
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> Encoder<M, S> {
    /// An encoder at the beginning of a block, with thread 0 running. Both parts must be new.
    #[must_use]
    pub const fn new(memory: M, sites: S) -> Self {
        Self {
            state: State::new(memory, sites),
            thread: 0,
            resting: None,
            switched: false,
            lookup: [SiteIndex::NONE; LOOKUP],
        }
    }

    /// Starts the next block.
    pub fn start_block(&mut self) {
        self.switched = false;
        self.resting = None;
        self.state.forget();
        self.lookup.fill(SiteIndex::NONE);
    }

    /// The events that follow are those of another thread.
    pub fn switch(&mut self, thread: u32, sink: &mut impl Sink) {
        self.thread = thread;
        if self.state.thread.tag == 0 || self.switched && sink.hits() == 0 {
            // The thread's first event says it: threads that do nothing in their turn take no room.
            let site = core::mem::replace(&mut self.state.thread.site, NOWHERE);
            self.resting.get_or_insert(site);
        } else {
            self.put_thread(sink);
        }
    }

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

    /// Encodes an event of the running thread if it is as predicted or told. False if not: it is for
    /// [`event`](Self::event) then. In two pieces, so that this one can be inlined where the kind is known.
    #[inline(always)]
    pub fn try_event(&mut self, pc: u64, stack: u32, shape: Shape, operands: Operands, sink: &mut impl Sink) -> bool {
        let given = Given::new(pc, stack, shape, operands);
        let index = self.lookup[hash(pc)];
        if !self.is_on_way(index, &given) {
            return false;
        }
        let (spot, _) = self.state.held(given.slots, operands.place, given.width);
        self.try_operands(index, &given, spot, sink)
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
        let given = Given::new(pc, stack, shape, operands);
        let known = self.find(pc, shape);
        if known.is_none() && self.state.sites().is_full() {
            return Err(Full);
        }
        if let Some(site) = self.resting.take() {
            self.state.thread.site = site;
        }
        if self.state.thread.tag != u64::from(self.thread) + 1 {
            self.put_thread(sink);
        }
        let (spot, held) = self.state.held(given.slots, operands.place, given.width);
        if let Some(index) = known.filter(|&index| self.is_on_way(index, &given)) {
            if self.try_operands(index, &given, spot, sink) {
                return Ok(true);
            }
            if sink.hits() == crate::item::MAX_RUN.into() {
                sink.put(value::FULL << value::SHIFT, 0, 0);
                self.switched = false;
                if self.try_operands(index, &given, spot, sink) {
                    return Ok(true);
                }
            }
        }
        self.put_event(known, &given, spot, held, sink);
        Ok(false)
    }

    /// Whether an event of the site at `index` comes the way that is expected, with the call stack that is.
    #[inline(always)]
    fn is_on_way(&self, index: SiteIndex, given: &Given) -> bool {
        let site = self.state.sites().at(index);
        let edge = self.state.expected();
        site.pc == given.pc
            && site.shape == given.shape.code()
            && edge.site == index
            && given.stack == self.state.stacks(edge, site).0
    }

    /// Encodes an event of the site at `index`, which is on its way, if its operands are as predicted, or told where nothing
    /// is predicted. Nothing has changed if not.
    #[inline(always)]
    fn try_operands(&mut self, index: SiteIndex, given: &Given, spot: Option<Spot>, sink: &mut impl Sink) -> bool {
        let Given {
            stack,
            slots,
            width,
            operands,
            ..
        } = *given;
        let state = &mut self.state;
        let site = state.sites().at(index);
        let edge = state.expected();
        let (mut told, mut told_place, mut told_value) = (0, None, None);
        if !matches!(slots.place, Place::Absent) {
            let mode = site.place_mode;
            if mode < place_mode::COUNT {
                if operands.place != state.place_by(mode, edge, site, slots) {
                    return false;
                }
            } else {
                let distance = operands.place.wrapping_sub(site.place);
                told = if mode == place_mode::TOLD_SHORT { 1 } else { 4 };
                let fits = if mode == place_mode::TOLD_SHORT {
                    distance as i8 as u64 == distance
                } else {
                    distance as i32 as u64 == distance
                };
                if !fits {
                    return false;
                }
                sink.telling()[..4].copy_from_slice(&(distance as u32).to_le_bytes());
                told_place = Some(distance);
            }
        }
        let mut keeps = false;
        if slots.value {
            let held = spot.map(|spot| state.memory.borrow().get(spot, width));
            let site = state.sites().at(index);
            if site.value_mode == value_mode::TOLD {
                sink.telling()[told..told + 8].copy_from_slice(&operands.value.to_le_bytes());
                told += usize::from(width);
                told_value = Some(held);
                keeps = true;
            } else {
                if operands.value != state.value_by(site.value_mode, site, held, width) {
                    return false;
                }
                keeps = held != Some(operands.value);
            }
            if slots.written {
                if operands.written != State::<M, S>::written_after(site, operands.value, width) {
                    return false;
                }
                keeps = true;
            }
        }
        if !sink.hit(told) {
            return false;
        }
        let turns = state.turns();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: is_by_site(slots, state.sites().at(index).value_mode),
        };
        if let Some(distance) = told_place {
            state.was_told_place(index, distance);
        }
        if let Some(held) = told_value {
            state.was_told_value(index, held, operands.value);
        }
        if keeps {
            state.keep(spot, slots, width, operands);
        }
        state.confirm(turns);
        state.pass(index, slots, seen, operands);
        true
    }

    /// Encodes an event as an item.
    fn put_event(
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
        let (place_code, place_mode) = put_place(&self.state, &edge, last, given);
        let stack_code = self.put_stack(&edge, last, given.stack, &mut item);
        place_code.put(&mut item);
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
        token |= place_code.code << place::SHIFT | value_code << value::SHIFT;
        let len = item.len();
        let missed = Missed {
            operands: given.operands,
            way: (!is_way_predicted(token)).then_some(Way {
                first: site_code == site::NEW,
                place_mode,
            }),
            value: missed,
        };
        self.state.learn(index, given.slots, given.stack, missed);
        match (&line, spot) {
            (Some(line), Some(spot)) => self.state.memory.borrow_mut().set_line(spot, line),
            _ => self.state.keep(spot, given.slots, given.width, given.operands),
        }
        sink.put(token, len, 1);
    }

    /// The line of memory that an access lies in, if it is worth giving: a value was not as memory has it, and the site goes
    /// through memory in small steps.
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
        let step = (given.operands.place.wrapping_sub(site.place) as i64).unsigned_abs();
        if !is_plain || !by_memory || step > LINE as u64 {
            return None;
        }
        let line = sink.line(given.operands.place / LINE as u64 * LINE as u64)?;
        let there = line_value(&line, given.operands.place, given.width);
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
    fn put_thread(&mut self, sink: &mut impl Sink) {
        let mut item = Item::new(sink.room());
        let short = (self.thread as u16).min(place::MASK);
        if short == place::MASK {
            item.put(self.thread.into(), 4);
        }
        let len = item.len();
        sink.put(short << place::SHIFT | value::THREAD << value::SHIFT, len, 0);
        self.state.resume(self.thread);
        self.switched = true;
    }

    /// The site's index, if the block has it.
    fn find(&self, pc: u64, shape: Shape) -> Option<SiteIndex> {
        let mut at = hash(pc);
        loop {
            let index = self.lookup[at % LOOKUP];
            if index == SiteIndex::NONE {
                return None;
            }
            let site = self.state.sites().at(index);
            if site.pc == pc && site.shape == shape.code() {
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
            let mut at = hash(given.pc);
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

/// Where a site is looked for first.
#[inline(always)]
fn hash(pc: u64) -> usize {
    ((pc as u32).wrapping_mul(0x9e37_79b9) >> (32 - LOOKUP.ilog2())) as usize
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

/// The token's part, and the mode from now on if the place was not predicted.
fn put_place<M: BorrowMut<Memory>, S: BorrowMut<Sites>>(
    state: &State<M, S>,
    edge: &Edge,
    last: &Site,
    given: &Given,
) -> (Part, Option<u8>) {
    let (wanted, slots) = (given.operands.place, given.slots);
    let by_mode = |mode| wanted == state.place_by(mode, edge, last, slots);
    if by_mode(last.place_mode) {
        return (Part::code(place::PREDICTED), None);
    }
    if let Some(mode) = (0..place_mode::COUNT).find(|&mode| by_mode(mode)) {
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
