//! Which block a pointer means (`docs/SEMANTICS.md`, *Pointers*): addresses are given out again, so that equal numbers
//! may be pointers to different blocks.
//!
//! The walk that finds the bytes of a trace notes the writes of such numbers, with their blocks. Another one, over what
//! touches the memory of these, finds the block that each read saw.

use crate::bits::{Bits, Numbered};
use crate::bytes::{BlockId, Bytes, POINTER};
use crate::recording::{Access, Recording, all};
use crate::unrecorded::Unrecorded;
use hashbrown::HashMap;
use std::borrow::Cow;
use trace_format::{EventId, ThreadId};

/// No block: a number that stands alone.
const ALONE: BlockId = 0;

/// The pointers of a trace.
#[derive(Debug, Default)]
pub(crate) struct Pointers {
    /// The first byte of each pointer in memory.
    memory: Bits,
    /// By event, ascending: the block of the number that it leaves, and of the one that it saw, where there is one.
    left: Vec<(EventId, BlockId)>,
    seen: Vec<(EventId, BlockId)>,
}

/// The block of each pointer in memory, after some events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks<'a> {
    /// By first byte; what is not here is a number.
    by_byte: Cow<'a, HashMap<usize, BlockId>>,
    /// Those that have changed, if `by_byte` belongs to another state.
    changed: HashMap<usize, BlockId>,
}

impl Blocks<'_> {
    /// The same, to be changed without a copy of them all.
    pub(crate) fn branch(&self) -> Blocks<'_> {
        Blocks {
            by_byte: Cow::Borrowed(&self.by_byte),
            changed: self.changed.clone(),
        }
    }

    pub(crate) fn at(&self, byte: usize) -> BlockId {
        let known = self.changed.get(&byte).or_else(|| self.by_byte.get(&byte));
        known.copied().unwrap_or(ALONE)
    }

    pub(crate) fn put(&mut self, byte: usize, block: BlockId) {
        let blocks = match &mut self.by_byte {
            Cow::Owned(blocks) => blocks,
            Cow::Borrowed(_) => &mut self.changed,
        };
        blocks.insert(byte, block);
    }
}

fn find(all: &[(EventId, BlockId)], event: EventId) -> BlockId {
    match all.binary_search_by_key(&event, |&(event, _)| event) {
        Ok(at) => all[at].1,
        Err(_) => ALONE,
    }
}

impl Pointers {
    pub(crate) fn of(recording: &dyn Recording, bytes: &mut Bytes, unrecorded: &Unrecorded) -> Pointers {
        let (events, blocks) = std::mem::take(&mut bytes.pointers);
        if events.is_empty() {
            return Pointers::default();
        }
        let touched = |event| bytes.touched(event).map(|touched| touched.bytes);
        let mut memory = Bits::none_of(bytes.count);
        for event in events.all() {
            let Some(touched) = touched(event) else { continue };
            let is_external = || touched.clone().any(|byte| unrecorded.is_external(byte));
            if touched.len() == POINTER && bytes.are_one_piece(touched.clone()) && !is_external() {
                memory.set(touched.start);
            }
        }
        // What a single thread accesses, it finds there in every order.
        let numbers = Numbered::of(&memory);
        let mut users: Vec<Option<ThreadId>> = vec![None; numbers.count()];
        let mut shared = Bits::none_of(bytes.count);
        for (event, byte) in at(recording, bytes, &memory) {
            let thread = recording.thread(event);
            let Some(number) = numbers.number(byte) else { continue };
            if *users[number].get_or_insert(thread) != thread {
                shared.set(byte);
            }
        }
        let is_shared = |event| touched(event).is_some_and(|touched| shared.has(touched.start));
        let left = events.all().zip(blocks.all()).filter(|&(event, _)| is_shared(event));
        let left: Vec<(EventId, BlockId)> = left.collect();
        let numbers = Numbered::of(&shared);
        let mut blocks = vec![ALONE; numbers.count()];
        let mut seen = Vec::new();
        for (event, byte) in at(recording, bytes, &shared) {
            let (Some(access), Some(number)) = (Access::of(recording.op(event)), numbers.number(byte)) else {
                continue;
            };
            if access.sees.is_some() && blocks[number] != ALONE {
                seen.push((event, blocks[number]));
            }
            if access.leaves.is_some() {
                blocks[number] = find(&left, event);
            }
        }
        Pointers {
            memory: shared,
            left,
            seen,
        }
    }

    /// Whether there is a pointer in memory that begins with this byte.
    pub(crate) fn are_at(&self, byte: usize) -> bool {
        !self.left.is_empty() && self.memory.has(byte)
    }

    /// The block of the pointer that an event leaves.
    pub(crate) fn left(&self, event: EventId) -> BlockId {
        find(&self.left, event)
    }

    /// The block of the pointer that an event saw in the trace.
    pub(crate) fn seen(&self, event: EventId) -> BlockId {
        find(&self.seen, event)
    }
}

/// The accesses of pointers in memory, those of which the first byte is among these, in the order of the trace.
fn at<'a>(
    recording: &'a dyn Recording,
    bytes: &'a Bytes,
    memory: &'a Bits,
) -> impl Iterator<Item = (EventId, usize)> + use<'a> {
    let (spans, mut numbers) = (bytes.spans_with(memory), bytes.cursor());
    all(recording).filter_map(move |event| {
        let number = numbers.at(event.index());
        let touched = spans.has(number as usize).then(|| bytes.touched_by(number))??;
        // Where a free begins, or what it is longer than, tells nothing of a pointer.
        (touched.bytes.len() == POINTER && memory.has(touched.bytes.start)).then_some((event, touched.bytes.start))
    })
}
