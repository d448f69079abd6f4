//! Which bytes each event touches.
//!
//! The bytes at one address in two lives of it are different objects (`docs/SEMANTICS.md`, *Incarnations*). So each
//! byte that some access touches, in each block, gets a number of its own; those of neighbors in a block follow each
//! other, so that an access is a run of numbers. Everything else in this crate speaks of bytes by these numbers.

use crate::bits::Bits;
use crate::overlay::Overlay;
use crate::recording::{Access, Recording};
use crate::shadow::Shadow;
use columns::{Column, Cursor};
use hashbrown::HashMap;
use std::ops::Range;
use trace_format::{EventId, Op, ThreadId};

/// Bytes of a pointer.
pub(crate) const POINTER: usize = 8;

/// The number of a block. 0 is all memory that no recorded allocation covers.
pub(crate) type BlockId = u32;

/// One life of a range of memory.
#[derive(Debug)]
pub(crate) struct Block {
    /// What began it; `None` for what was always there.
    pub(crate) alloc: Option<EventId>,
    /// The thread whose stack it is.
    pub(crate) stack_of: Option<ThreadId>,
    /// The bytes of it that are accessed.
    pub(crate) bytes: Range<usize>,
    /// What ended it.
    pub(crate) free: Option<EventId>,
}

/// The bytes of each access, wherever it recurs, and of each block that is freed. Neighbors were touched first one after
/// the other, and mostly lie side by side.
#[derive(Debug, Default)]
struct Spans {
    block: Column,
    first: Column,
    len: Column,
}

impl Spans {
    fn push(&mut self, block: BlockId, bytes: Range<usize>) {
        self.block.push(block);
        self.first.push(number(bytes.start));
        self.len.push(number(bytes.end) - number(bytes.start));
    }

    fn end(&mut self) {
        self.block.end();
        self.first.end();
        self.len.end();
    }

    fn len(&self) -> usize {
        self.len.len()
    }

    fn block(&self, number: usize) -> BlockId {
        self.block.at(number)
    }

    fn bytes(&self, number: usize) -> Range<usize> {
        let first = self.first.at(number) as usize;
        first..first + self.len.at(number) as usize
    }

    fn all(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let bytes = self.first.all().zip(self.len.all());
        bytes.map(|(first, len)| first as usize..first as usize + len as usize)
    }
}

/// Spans that are found without a look at the columns of all.
const NEAR: usize = 1 << 8;

/// Finds the bytes of spans, for walks over all events: programs come back to the same memory again and again.
pub(crate) struct NearSpans<'b> {
    spans: &'b Spans,
    /// By some bits of a span's number, the last one that has them, and its bytes.
    near: Vec<(u32, Range<u32>)>,
}

impl NearSpans<'_> {
    /// The bytes that the events of a span touch.
    #[inline]
    pub(crate) fn of(&mut self, span: u32) -> Option<Range<usize>> {
        if span == 0 {
            return None;
        }
        let near = &mut self.near[span as usize % NEAR];
        if near.0 != span {
            let bytes = self.spans.bytes(span as usize);
            *near = (span, number(bytes.start)..number(bytes.end));
        }
        Some(near.1.start as usize..near.1.end as usize)
    }
}

/// The number of a byte.
pub(crate) fn number(of: usize) -> u32 {
    u32::try_from(of).expect("a trace has fewer bytes")
}

/// The bytes of a trace.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) blocks: Vec<Block>,
    /// How many bytes have a number.
    pub(crate) count: usize,
    /// By byte, and one behind the last: whether some access begins there, or ends before it. From one such byte to the
    /// next, all are always touched together.
    bounds: Bits,
    /// From the second one on: the first is none.
    spans: Spans,
    /// By event: the number of its span; 0 if it is neither an access nor frees a block that lives.
    of_event: Column,
    /// Allocations over bytes of a block that lives, other than of stacks: the event, and what began that block.
    pub(crate) overlaps: Vec<(EventId, Option<EventId>)>,
    /// The uses of objects, in their order.
    pub(crate) uses: Vec<EventId>,
    /// The frees and destructions, in theirs.
    pub(crate) ends: Vec<EventId>,
    /// The writes of addresses that were given out again, ascending, and the blocks that these belong to then.
    pub(crate) pointers: (Column<EventId>, Column<BlockId>),
}

/// How many of so many bytes from an address on there are.
fn inside(addr: u64, size: u8) -> u8 {
    u64::from(size).min(u64::MAX - addr) as u8
}

/// What an event touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) block: BlockId,
    pub(crate) bytes: Range<usize>,
}

/// The walk that finds them.
#[derive(Debug)]
pub(crate) struct Walk {
    bytes: Bytes,
    owners: Overlay<BlockId>,
    /// By block, whether it lies over bytes of an older one; and between which addresses all such blocks lie.
    again: Vec<bool>,
    between: Range<u64>,
    /// The last block that began at each address.
    begun: HashMap<u64, BlockId>,
    /// Block, first byte, length of each span; of those of frees, there is no length yet.
    keys: Vec<(BlockId, u64, u8)>,
    /// The number of the next span that begins at the same byte of the block, or 0.
    others: Vec<u32>,
    /// By first byte, the same of what lies there now.
    by_first: Shadow,
    /// The spans of frees.
    freed: Vec<u32>,
    /// By thread that has had an event: whether that was one only, a `begin`.
    just_begun: Vec<Option<bool>>,
}

impl Walk {
    pub(crate) fn new(recording: &dyn Recording) -> Walk {
        Walk {
            bytes: Bytes {
                blocks: vec![Block {
                    alloc: None,
                    stack_of: None,
                    bytes: 0..0,
                    free: None,
                }],
                count: 0,
                bounds: Bits::default(),
                spans: Spans::default(),
                of_event: Column::default(),
                overlaps: Vec::new(),
                uses: Vec::new(),
                ends: Vec::new(),
                pointers: Default::default(),
            },
            owners: Overlay::new(),
            again: vec![false],
            between: 0..0,
            begun: HashMap::new(),
            keys: vec![(0, 0, 0)],
            others: vec![0],
            by_first: Shadow::default(),
            freed: Vec::new(),
            just_begun: vec![None; recording.threads()],
        }
    }

    /// Goes on by an event, which may be an access.
    pub(crate) fn see(&mut self, event: EventId, thread: ThreadId, op: &Op, access: Option<&Access>) {
        let begun = &mut self.just_begun[thread.index()];
        let first = begun.is_none();
        let is_stack = begun.replace(first && *op == Op::Begin) == Some(true);
        match op {
            Op::Use { .. } => self.bytes.uses.push(event),
            Op::Free { .. } | Op::Destroy { .. } => self.bytes.ends.push(event),
            _ => {}
        }
        if let Some(&Access {
            mem,
            leaves: Some(value),
            ..
        }) = access
        {
            self.leave(event, mem.size, value);
        }
        let number = match *op {
            Op::Alloc { addr, size } => {
                self.alloc(event, addr, size, is_stack.then_some(thread));
                None
            }
            Op::Free { addr } => self.free(event, addr),
            _ => access.map(|access| self.access(access)),
        };
        self.bytes.of_event.push(number.unwrap_or(0));
    }

    fn alloc(&mut self, event: EventId, addr: u64, size: u64, stack_of: Option<ThreadId>) {
        let bytes = &mut self.bytes;
        let id = bytes.blocks.len() as BlockId;
        let end = addr.saturating_add(size.max(1));
        let covered = self.owners.put(addr, end, id);
        self.again.push(!covered.is_empty());
        if !covered.is_empty() {
            self.between = match self.between.is_empty() {
                true => addr..end,
                false => self.between.start.min(addr)..self.between.end.max(end),
            };
        }
        self.by_first.clear(addr, end);
        let lives = covered
            .iter()
            .find(|&&block| bytes.blocks[block as usize].free.is_none());
        if let Some(&lives) = lives.filter(|_| stack_of.is_none()) {
            bytes.overlaps.push((event, bytes.blocks[lives as usize].alloc));
        }
        self.begun.insert(addr, id);
        bytes.blocks.push(Block {
            alloc: Some(event),
            stack_of,
            bytes: 0..0,
            free: None,
        });
    }

    /// Notes the address that a write leaves, if it was given out again.
    fn leave(&mut self, event: EventId, size: u8, value: u64) {
        if usize::from(size) == POINTER && self.between.contains(&value) {
            let block = self.owners.get(value).filter(|&block| self.again[block as usize]);
            if let Some(block) = block {
                self.bytes.pointers.0.push(event);
                self.bytes.pointers.1.push(block);
            }
        }
    }

    /// The number of a free's span, if a block that lives begins there.
    fn free(&mut self, event: EventId, addr: u64) -> Option<u32> {
        let id = *self.begun.get(&addr)?;
        let block = &mut self.bytes.blocks[id as usize];
        if block.free.is_some() {
            return None;
        }
        block.free = Some(event);
        let number = self.new_span((id, addr, 0));
        self.freed.push(number);
        Some(number)
    }

    fn new_span(&mut self, key: (BlockId, u64, u8)) -> u32 {
        self.keys.push(key);
        self.others.push(0);
        self.keys.len() as u32 - 1
    }

    /// The number of an access's span.
    fn access(&mut self, access: &Access) -> u32 {
        let addr = access.mem.addr;
        let size = inside(addr, access.mem.size);
        let first = *self.by_first.at(addr);
        let mut number = first;
        while number != 0 && self.keys[number as usize].2 != size {
            number = self.others[number as usize];
        }
        if number == 0 {
            number = self.new_span((self.owners.get(addr).unwrap_or(0), addr, size));
            self.others[number as usize] = first;
            *self.by_first.at(addr) = number;
        }
        number
    }

    /// No event follows.
    pub(crate) fn end(self) -> Bytes {
        let Walk {
            mut bytes,
            keys,
            freed,
            others,
            by_first,
            ..
        } = self;
        // What lies where nobody asks any more.
        drop((others, by_first));
        bytes.of_event.end();
        bytes.pointers.0.end();
        bytes.pointers.1.end();
        bytes.number(keys, &freed);
        bytes
    }
}

impl Bytes {
    /// Numbers the bytes that the spans cover, block by block, and ascending in each. Of the spans of frees, these are all
    /// bytes of the block.
    fn number(&mut self, mut keys: Vec<(BlockId, u64, u8)>, freed: &[u32]) {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by_key(|&number| keys[number as usize]);
        // The stretch of neighboring bytes so far: its block, where it begins, the number there, and where it ends.
        let (mut block, mut from, mut first, mut until) = (0, 0, 0, 0);
        for place in order {
            let key = &mut keys[place as usize];
            let (of, addr, size) = *key;
            let size = u64::from(size);
            if of != block || addr > until {
                if of != block {
                    self.blocks[of as usize].bytes = self.count..self.count;
                }
                (block, from, first, until) = (of, addr, self.count, addr);
            }
            until = until.max(addr + size);
            self.count = first + (until - from) as usize;
            self.blocks[of as usize].bytes.end = self.count;
            // Where it lies is known now by the number of its first byte: there may be millions of spans.
            key.1 = first as u64 + (addr - from);
        }
        self.bounds = Bits::none_of(self.count + 1);
        for &(_, begin, size) in &keys {
            self.bounds.set(begin as usize);
            self.bounds.set(begin as usize + usize::from(size));
        }
        // A free's span is all of its block, which may be longer than a key says.
        let mut freed = freed.iter().copied().peekable();
        for (place, (block, begin, size)) in (0..).zip(keys) {
            let bytes = match freed.next_if_eq(&place) {
                Some(_) => self.blocks[block as usize].bytes.clone(),
                None => begin as usize..begin as usize + usize::from(size),
            };
            self.spans.push(block, bytes);
        }
        self.spans.end();
    }

    /// The first byte of each piece of what is touched: no event touches a part of a piece.
    pub(crate) fn pieces(&self, bytes: Range<usize>) -> impl Iterator<Item = usize> {
        bytes.filter(|&byte| self.bounds.has(byte))
    }

    /// Whether no event but frees touches a part of these bytes, or these and others.
    pub(crate) fn are_one_piece(&self, bytes: Range<usize>) -> bool {
        let Range { start, end } = bytes;
        self.bounds.has(start) && self.bounds.has(end) && !(start + 1..end).any(|byte| self.bounds.has(byte))
    }

    /// What an event touches: nothing, if it is neither an access nor frees a block that lives. A free touches all of
    /// its block.
    pub(crate) fn touched(&self, event: EventId) -> Option<Touched> {
        self.touched_by(self.of_event.at(event.index()))
    }

    /// The number of each event's span, for walks over all of them.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        self.of_event.cursor()
    }

    /// The bytes of each span, for such walks.
    pub(crate) fn near_spans(&self) -> NearSpans<'_> {
        NearSpans {
            spans: &self.spans,
            near: vec![(0, 0..0); NEAR],
        }
    }

    /// What the events of a span touch.
    pub(crate) fn touched_by(&self, number: u32) -> Option<Touched> {
        if number == 0 {
            return None;
        }
        let number = number as usize;
        Some(Touched {
            block: self.spans.block(number),
            bytes: self.spans.bytes(number),
        })
    }

    /// The span of an event that [touches](Bytes::touched) something, and its bytes: for whom the block is no matter.
    pub(crate) fn span(&self, event: EventId) -> Option<(u32, Range<usize>)> {
        let number = self.of_event.at(event.index());
        (number != 0).then(|| (number, self.spans.bytes(number as usize)))
    }

    /// The block of the bytes of a span.
    pub(crate) fn block_of(&self, number: u32) -> BlockId {
        self.spans.block(number as usize)
    }

    /// By span, whether something is so of one of its bytes.
    pub(crate) fn spans_with(&self, are_so: &Bits) -> Bits {
        let mut found = Bits::none_of(self.spans.len());
        for (number, bytes) in self.spans.all().enumerate() {
            if are_so.any_of(bytes) {
                found.set(number);
            }
        }
        found
    }

    /// What allocates a block; `None` for what was always there.
    pub(crate) fn alloc_of(&self, block: BlockId) -> Option<EventId> {
        self.blocks[block as usize].alloc
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Events;
    use trace_format::{Event, MemRange, StackId, Tables, TraceId};

    #[test]
    fn accesses_share_the_bytes_that_they_share_in_a_life_of_memory() {
        let mut number = 1_u64;
        let mut below = |bound: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) % bound
        };
        for _ in 0..60 {
            // Three blocks, side by side, each of which may begin anew, in what was there before.
            let mut ops = Vec::new();
            for _ in 0..80 {
                let (block, offset, size) = (0x1000 + 16 * below(3), below(24), 1 << below(4));
                let mem = MemRange {
                    addr: block + offset,
                    size,
                };
                ops.push(match below(12) {
                    0 => Op::Alloc { addr: block, size: 16 },
                    1 => Op::Free { addr: block },
                    _ => Op::Write { mem, value: 0 },
                });
            }
            let event = |&op| Event {
                thread: ThreadId(0),
                pc: 0,
                stack: StackId::EMPTY,
                op,
            };
            let events = ops.iter().map(event).collect();
            let trace = Events::new(TraceId([0; 16]), Tables::default(), events);
            let mut walk = Walk::new(&trace);
            (0..)
                .zip(&ops)
                .for_each(|(at, op)| walk.see(EventId(at), ThreadId(0), op, Access::of(*op).as_ref()));
            let bytes = walk.end();

            // By address, the last allocation that covers it; by event, what an access touches of which.
            let mut owner: HashMap<u64, usize> = HashMap::new();
            let mut freed: HashMap<u64, usize> = HashMap::new();
            let mut accessed: Vec<Option<(usize, MemRange)>> = Vec::new();
            let mut ended: Vec<Option<usize>> = Vec::new();
            for (at, op) in ops.iter().enumerate() {
                accessed.push(Access::of(*op).map(|access| {
                    let mem = access.mem;
                    (owner.get(&mem.addr).copied().unwrap_or(usize::MAX), mem)
                }));
                let mut ends = None;
                match *op {
                    Op::Alloc { addr, size } => {
                        (addr..addr + size).for_each(|addr| _ = owner.insert(addr, at));
                        freed.insert(addr, at);
                    }
                    Op::Free { addr } => ends = freed.remove(&addr),
                    _ => {}
                }
                ended.push(ends);
            }
            for (at, one) in (0..).zip(&accessed) {
                let touched = bytes.touched(EventId(at));
                let Some((life, mem)) = *one else {
                    let block = ended[at as usize].map(|began| (Some(EventId(began as u32)), began));
                    assert_eq!(
                        touched.as_ref().map(|touched| bytes.alloc_of(touched.block)),
                        block.map(|(id, _)| id)
                    );
                    // A free touches what is accessed of its block, and nothing else.
                    let Some((touched, (_, began))) = touched.zip(block) else {
                        continue;
                    };
                    for (other, access) in (0..).zip(&accessed) {
                        let Some((of, _)) = *access else { continue };
                        let there = bytes.touched(EventId(other)).expect("an access").bytes;
                        let inside = touched.bytes.start <= there.start && there.end <= touched.bytes.end;
                        assert_eq!(inside, of == began);
                    }
                    continue;
                };
                let touched = touched.expect("an access").bytes;
                assert_eq!(touched.len(), usize::from(mem.size));
                for (other, access) in (0..at).zip(&accessed) {
                    let Some((of, there)) = *access else { continue };
                    let first = bytes.touched(EventId(other)).expect("an access").bytes.start;
                    let (ours, theirs) = (
                        mem.addr..mem.addr + u64::from(mem.size),
                        there.addr..there.addr + u64::from(there.size),
                    );
                    if of == life && ours.start < theirs.end && theirs.start < ours.end {
                        assert_eq!(
                            touched.start as i64 - first as i64,
                            ours.start as i64 - theirs.start as i64,
                        );
                    } else {
                        let theirs = first..first + usize::from(there.size);
                        assert!(touched.end <= theirs.start || theirs.end <= touched.start);
                    }
                }
            }
        }
    }
}
