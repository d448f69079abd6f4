//! Which bytes each event touches.
//!
//! The bytes at one address in two lives of it are different objects (`docs/SEMANTICS.md`, *Incarnations*). So each
//! byte that some access touches, in each block, gets a number of its own; those of neighbors in a block follow each
//! other, so that an access is a run of numbers. Everything else in this crate speaks of bytes by these numbers.

use crate::overlay::Overlay;
use crate::recording::{Access, Recording, walk};
use crate::shadow::Shadow;
use columns::{Column, Cursor};
use hashbrown::HashMap;
use std::ops::Range;
use trace_format::{EventId, Op, ThreadId};

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

/// The bytes of one access, wherever it recurs.
#[derive(Clone, Copy, Debug)]
struct Span {
    block: BlockId,
    first: usize,
}

/// The bytes of a trace.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) blocks: Vec<Block>,
    /// How many bytes have a number.
    pub(crate) count: usize,
    /// By byte, and one behind the last: whether some access begins there, or ends before it. From one such byte to the
    /// next, all are always touched together.
    bounds: Vec<bool>,
    spans: Vec<Span>,
    /// By event: its span, if it is an access; the block that it frees; [`NONE`]. And one, so that most are near to each
    /// other.
    of_event: Column,
    /// Allocations over bytes of a block that lives, other than of stacks: the event, and what began that block.
    pub(crate) overlaps: Vec<(EventId, Option<EventId>)>,
    /// Addresses on a thread's stack that were stored outside of it, by stack; only where modules are listed.
    pub(crate) given_away: Vec<(BlockId, u64)>,
    /// The uses of objects, in their order.
    pub(crate) uses: Vec<EventId>,
}

const NONE: u32 = u32::MAX;

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

impl Bytes {
    pub(crate) fn of(recording: &dyn Recording) -> Bytes {
        let native = !recording.tables().modules.is_empty();
        let mut bytes = Bytes {
            blocks: vec![Block {
                alloc: None,
                stack_of: None,
                bytes: 0..0,
                free: None,
            }],
            count: 0,
            bounds: Vec::new(),
            spans: Vec::new(),
            of_event: Column::default(),
            overlaps: Vec::new(),
            given_away: Vec::new(),
            uses: Vec::new(),
        };
        let mut owners: Overlay<BlockId> = Overlay::new();
        // From the first byte that some stack has had to the last.
        let mut stacks = (u64::MAX, 0);
        // The last block that began at each address.
        let mut begun: HashMap<u64, BlockId> = HashMap::new();
        // Block, first byte, length of each span; and the next span that begins at the same byte of the block: its number
        // and one, or 0.
        let mut keys: Vec<(BlockId, u64, u8)> = Vec::new();
        let mut others: Vec<u32> = Vec::new();
        // By first byte, the same of what lies there now.
        let mut by_first = Shadow::default();
        // By thread that has had an event: whether that was one only, a `begin`.
        let mut just_begun: Vec<Option<bool>> = Vec::new();
        walk(recording, |event, thread, op| {
            if thread.index() >= just_begun.len() {
                just_begun.resize(thread.index() + 1, None);
            }
            let first = just_begun[thread.index()].is_none();
            let begun_before = just_begun[thread.index()].replace(first && op == Op::Begin);
            let is_stack = begun_before == Some(true);
            if let Op::Use { .. } = op {
                bytes.uses.push(event);
            }
            let number = match op {
                Op::Alloc { addr, size } => {
                    let id = bytes.blocks.len() as BlockId;
                    let end = addr.saturating_add(size.max(1));
                    let covered = owners.put(addr, end, id);
                    by_first.clear(addr, end);
                    if is_stack {
                        stacks = (stacks.0.min(addr), stacks.1.max(end));
                    }
                    let lives = covered
                        .iter()
                        .find(|&&block| bytes.blocks[block as usize].free.is_none());
                    if let Some(&lives) = lives.filter(|_| !is_stack) {
                        bytes.overlaps.push((event, bytes.blocks[lives as usize].alloc));
                    }
                    begun.insert(addr, id);
                    bytes.blocks.push(Block {
                        alloc: Some(event),
                        stack_of: is_stack.then_some(thread),
                        bytes: 0..0,
                        free: None,
                    });
                    NONE
                }
                Op::Free { addr } => {
                    let id = begun.get(&addr).copied();
                    let id = id.filter(|&id| bytes.blocks[id as usize].free.is_none());
                    if let Some(id) = id {
                        bytes.blocks[id as usize].free = Some(event);
                    }
                    id.unwrap_or(NONE)
                }
                op => match Access::of(op) {
                    Some(access) => {
                        let (addr, size) = (access.mem.addr, access.mem.size);
                        let size = inside(addr, size);
                        let first = by_first.at(addr);
                        let mut number = *first;
                        while number != 0 && keys[number as usize - 1].2 != size {
                            number = others[number as usize - 1];
                        }
                        if number == 0 {
                            keys.push((owners.get(addr).unwrap_or(0), addr, size));
                            number = keys.len() as u32;
                            others.push(std::mem::replace(first, number));
                        }
                        let block = keys[number as usize - 1].0;
                        if let Some(value) = access.leaves.filter(|_| native && access.mem.size == 8)
                            && (stacks.0..stacks.1).contains(&value)
                            && let Some(into) = owners.get(value).filter(|&into| into != block)
                            && bytes.blocks[into as usize].stack_of.is_some()
                        {
                            bytes.given_away.push((into, value));
                        }
                        number - 1
                    }
                    None => NONE,
                },
            };
            bytes.of_event.push(number.wrapping_add(1));
        });
        bytes.of_event.end();
        bytes.number(&keys);
        bytes.given_away.sort_unstable();
        bytes.given_away.dedup();
        bytes
    }

    /// Numbers the bytes that the spans cover, block by block, and ascending in each.
    fn number(&mut self, keys: &[(BlockId, u64, u8)]) {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|&number| keys[number]);
        self.spans = vec![Span { block: 0, first: 0 }; keys.len()];
        // The stretch of neighboring bytes so far: its block, where it begins, the number there, and where it ends.
        let (mut block, mut from, mut first, mut until) = (0, 0, 0, 0);
        for number in order {
            let (of, addr, size) = keys[number];
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
            self.spans[number] = Span {
                block,
                first: first + (addr - from) as usize,
            };
        }
        self.bounds = vec![false; self.count + 1];
        for (span, &(_, _, size)) in self.spans.iter().zip(keys) {
            self.bounds[span.first] = true;
            self.bounds[span.first + usize::from(size)] = true;
        }
    }

    /// The first byte of each piece of what is touched: no event touches a part of a piece.
    pub(crate) fn pieces(&self, bytes: Range<usize>) -> impl Iterator<Item = usize> {
        bytes.filter(|&byte| self.bounds[byte])
    }

    /// What an event, which does `op`, touches: nothing, if it is neither an access nor frees a block that lives.
    pub(crate) fn touched(&self, event: EventId, op: Op) -> Option<Touched> {
        self.touched_as(self.of_event.at(event.index()), op)
    }

    /// What is known of each event, for walks over all of them.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        self.of_event.cursor()
    }

    /// As [`touched`](Self::touched), on such a walk, which has found this for the event.
    pub(crate) fn touched_as(&self, number: u32, op: Op) -> Option<Touched> {
        let number = number.wrapping_sub(1);
        if let Some(access) = Access::of(op) {
            let Span { block, first } = self.spans[number as usize];
            let bytes = first..first + usize::from(inside(access.mem.addr, access.mem.size));
            return Some(Touched { block, bytes });
        }
        // A free covers all of its block.
        (number != NONE).then(|| Touched {
            block: number,
            bytes: self.blocks[number as usize].bytes.clone(),
        })
    }

    /// What allocates a block; `None` for what was always there.
    pub(crate) fn alloc_of(&self, block: BlockId) -> Option<EventId> {
        self.blocks[block as usize].alloc
    }
}
