//! From events to items.

mod access;
mod items;

use crate::item::{MAX_ITEM_BYTES, MAX_LITERAL_BYTES, value};
use crate::memory::{LINE, Memory, Spot};
use crate::shape::{Shape, Slots, TargetKind};
use crate::sites::{MAX_SITES, NOWHERE, SiteIndex, Sites, target_mode, value_mode};
use crate::state::{Operands, Seen, State, is_by_site};
pub use access::{PREDICTED, STRIDE, Tried, TriedBy};
use core::borrow::BorrowMut;

/// Where runs go: see `item`.
pub trait Sink {
    /// Counts one more predicted event, whose literals are the first `len` bytes in [`literals`](Sink::literals).
    /// False if the run is full.
    fn hit(&mut self, len: usize) -> bool;
    /// The same if the run is known to have room.
    fn one_more(&mut self, len: usize) {
        self.hit(len);
    }
    /// The predicted events of the run.
    fn hits(&self) -> u32;
    /// Where the literals of the next event are put together.
    fn literals(&mut self) -> &mut [u8; MAX_LITERAL_BYTES];
    /// The same if there is room at once.
    fn literals_now(&mut self) -> Option<&mut [u8; MAX_LITERAL_BYTES]> {
        Some(self.literals())
    }
    /// Where the item that ends the run is put together, all but its token.
    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES];
    /// Ends the run with the token and as many bytes as are there now, and starts the next; `events` is 1 if the item
    /// is an event itself.
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
#[repr(C)]
pub struct Encoder<M = Memory, S = Sites> {
    state: State<M, S>,
    /// The thread that runs, whether or not the block says so yet.
    thread: u32,
    /// While it does not say so: the site of the thread that the block means. [`NOWHERE`] stands in for it, from where
    /// nothing is predicted.
    resting: Option<SiteIndex>,
    /// The last item said that another thread runs.
    switched: bool,
    /// Sites by hash of code position and shape, with linear probing; no site is a free entry.
    lookup: [SiteIndex; LOOKUP],
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
            // The thread's first event says it: threads that do nothing while they run take no room.
            let site = core::mem::replace(&mut self.state.thread.site, NOWHERE);
            self.resting.get_or_insert(site);
        } else {
            self.put_thread(sink);
        }
    }

    /// Encodes an event of the running thread if it is as predicted, or its literals say it. False if not: it is for
    /// [`event`](Self::event) then. In two pieces, so that this one can be inlined where the kind is known.
    #[inline(always)]
    pub fn try_event(&mut self, pc: u64, stack: u32, shape: Shape, operands: Operands, sink: &mut impl Sink) -> bool {
        let given = Given::new(pc, stack, shape, operands);
        let index = self.lookup[hash(pc, shape)];
        if !self.comes_by_edge(index, &given) {
            return false;
        }
        let (spot, _) = self.state.held(given.slots, operands.target, given.width);
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
        let known = self.come_to(&given, sink)?;
        let (spot, held) = self.state.held(given.slots, operands.target, given.width);
        if let Some(index) = known.filter(|&index| self.comes_by_edge(index, &given)) {
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

    /// Encodes an event of the running thread as an item, of which it is known that it is not as predicted, or to which
    /// an item does no harm.
    ///
    /// # Errors
    /// [`Full`], before anything is encoded.
    ///
    /// # Panics
    /// If the shape is of no kind that exists.
    #[inline(always)]
    pub fn missed(
        &mut self,
        pc: u64,
        stack: u32,
        shape: Shape,
        operands: Operands,
        sink: &mut impl Sink,
    ) -> Result<(), Full> {
        let given = Given::new(pc, stack, shape, operands);
        let known = self.come_to(&given, sink)?;
        let (spot, held) = self.state.held(given.slots, operands.target, given.width);
        self.put_event(known, &given, spot, held, sink);
        Ok(())
    }

    /// Whether [`try_event`](Self::try_event) found the site that it was given, and nothing else stands in its place.
    #[inline(always)]
    #[must_use]
    pub fn finds_at_once(&self, pc: u64, shape: Shape) -> bool {
        let site = self.state.sites().at(self.lookup[hash(pc, shape)]);
        site.pc == pc && site.shape == shape.code()
    }

    /// What is to be done before an event can be encoded, whatever it is. Its site, if the block has it.
    #[inline(always)]
    fn come_to(&mut self, given: &Given, sink: &mut impl Sink) -> Result<Option<SiteIndex>, Full> {
        let known = self.find(given.pc, given.shape);
        if known.is_none() && self.state.sites().is_full() {
            return Err(Full);
        }
        if let Some(site) = self.resting.take() {
            self.state.thread.site = site;
        }
        if self.state.thread.tag != u64::from(self.thread) + 1 {
            self.put_thread(sink);
        }
        Ok(known)
    }

    /// Whether an event of the site at `index` comes by the edge that is expected, with the call stack that is.
    #[inline(always)]
    fn comes_by_edge(&self, index: SiteIndex, given: &Given) -> bool {
        let site = self.state.sites().at(index);
        let edge = self.state.expected();
        site.pc == given.pc
            && site.shape == given.shape.code()
            && edge.site == index
            && given.stack == self.state.stacks(edge, site).0
    }

    /// Encodes an event of the site at `index`, which comes by its edge, if its operands are as predicted, or literals
    /// where nothing is predicted. Nothing has changed if not.
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
        let (mut len, mut literal_target, mut literal_value) = (0, None, None);
        let value_mode = site.value_mode;
        if !matches!(slots.target, TargetKind::Absent) {
            let mode = site.target_mode;
            if mode < target_mode::COUNT {
                if operands.target != state.target_by(mode, edge, site, slots) {
                    return false;
                }
            } else {
                let distance = operands.target.wrapping_sub(site.target);
                len = if mode == target_mode::LITERAL_SHORT { 1 } else { 4 };
                let fits = if mode == target_mode::LITERAL_SHORT {
                    distance as i8 as u64 == distance
                } else {
                    distance as i32 as u64 == distance
                };
                if !fits {
                    return false;
                }
                sink.literals()[..4].copy_from_slice(&(distance as u32).to_le_bytes());
                literal_target = Some(distance);
            }
        }
        let mut keeps = false;
        if slots.value {
            let held = spot.map(|spot| state.memory.borrow().get(spot, width));
            let site = state.sites().at(index);
            if site.value_mode >= value_mode::LITERAL {
                let known = state.known(held, width);
                let Some(number) = known.literal(site.value_mode, operands.value) else {
                    return false;
                };
                sink.literals()[len..len + 8].copy_from_slice(&number.to_le_bytes());
                len += known.len(site.value_mode);
                literal_value = Some((site.value_mode, held));
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
        if !sink.hit(len) {
            return false;
        }
        let branches = state.branches();
        let seen = Seen {
            stack,
            stays: state.keeps_stack(),
            by_site: is_by_site(slots, state.sites().at(index).value_mode),
        };
        if let Some(distance) = literal_target {
            state.note_literal_target(index, distance);
        }
        if let Some((mode, held)) = literal_value {
            state.note_literal_value(index, mode, held, operands.value);
        } else if slots.value {
            state.note_predicted_value(index, value_mode, operands.value, width);
        }
        if keeps {
            state.keep(spot, slots, width, operands);
        }
        state.confirm(branches);
        state.pass(index, slots, seen, operands);
        true
    }

    /// The site's index, if the block has it.
    fn find(&self, pc: u64, shape: Shape) -> Option<SiteIndex> {
        let mut at = hash(pc, shape);
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
}

/// Where a site is looked for first. A call may give several events of different kinds.
#[inline(always)]
fn hash(pc: u64, shape: Shape) -> usize {
    ((pc as u32)
        .wrapping_add(u32::from(shape.kind) << 20)
        .wrapping_mul(0x9e37_79b9)
        >> (32 - LOOKUP.ilog2())) as usize
}
