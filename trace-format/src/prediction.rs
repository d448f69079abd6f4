//! What the next event is likely to be, from the events before it in the same block.
//!
//! Programs loop: the instruction that follows an instruction is mostly the one that followed it
//! the last time, on the address one stride further, with the value that memory held. Encoder and
//! decoder keep this same state in step, and the file holds only what the state got wrong. All of
//! it starts empty in each block, so every block decodes alone. Of the idea "keyed by the code
//! position" the key here is the *site*: a code position together with the shape of its operation.

use crate::anatomy::{Operands, Place, Shape, Slots};
use crate::event::{CodePosition, StackId, ThreadId};
use crate::validity::mask;

/// Index of a site of the block, in order of first appearance.
pub(crate) type SiteIndex = u32;

/// An instruction, and what it did last in this block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) pc: CodePosition,
    pub(crate) shape: Shape,
    /// The call stack of its last event.
    pub(crate) stack: StackId,
    /// The place of its last event.
    pub(crate) place: u64,
    /// How far that was from the place of the event before; 0 after the first.
    pub(crate) stride: u64,
    /// The value of its last event.
    pub(crate) value: u64,
    /// The site of the event that came next in the same thread the last time.
    pub(crate) successor: Option<SiteIndex>,
}

/// What a thread did last in this block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadState {
    pub(crate) stack: StackId,
    pub(crate) site: Option<SiteIndex>,
    /// The address of its last event that has one.
    pub(crate) address: u64,
}

impl ThreadState {
    const START: ThreadState = ThreadState {
        stack: StackId::EMPTY,
        site: None,
        address: 0,
    };
}

/// Memory is remembered in this many entries; a power of two.
const MEMORY_ENTRIES: usize = 4096;

/// An address of no access: a byte there would run over the end of the address space.
const NO_ADDRESS: u64 = u64::MAX;

/// The value of memory at the addresses seen last: a table without chains, where an address
/// displaces another one that falls on the same entry.
struct Memory(Vec<(u64, u64)>);

impl Memory {
    fn entry(addr: u64) -> usize {
        // Fibonacci hashing: the top 12 bits of the product.
        (addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
    }

    fn get(&self, addr: u64, size: u8) -> Option<u64> {
        let (at, value) = self.0[Self::entry(addr)];
        (at == addr).then_some(value & mask(size))
    }

    fn set(&mut self, addr: u64, value: u64) {
        self.0[Self::entry(addr)] = (addr, value);
    }
}

/// The state that encoder and decoder of a block keep in step.
pub(crate) struct Prediction {
    pub(crate) thread: Option<ThreadId>,
    /// The code position of the event before, whatever its thread.
    pub(crate) pc: CodePosition,
    pub(crate) sites: Vec<Site>,
    threads: Vec<ThreadState>,
    memory: Memory,
}

impl Prediction {
    pub(crate) fn new() -> Self {
        let memory = Memory(vec![(NO_ADDRESS, 0); MEMORY_ENTRIES]);
        Self {
            thread: None,
            pc: 0,
            sites: Vec::new(),
            threads: Vec::new(),
            memory,
        }
    }

    /// Forgets everything, for the next block.
    pub(crate) fn reset(&mut self) {
        self.thread = None;
        self.pc = 0;
        self.sites.clear();
        self.threads.clear();
        self.memory.0.fill((NO_ADDRESS, 0));
    }

    /// The state of a thread. The number must be one of the trace's threads: it bounds the memory.
    pub(crate) fn thread_state(&mut self, thread: ThreadId) -> &mut ThreadState {
        let index = thread.index();
        if index >= self.threads.len() {
            self.threads.resize(index + 1, ThreadState::START);
        }
        &mut self.threads[index]
    }

    /// Adds a site that was not seen before in the block.
    pub(crate) fn add_site(&mut self, pc: CodePosition, shape: Shape) -> SiteIndex {
        let index = self.sites.len() as SiteIndex;
        let stack = StackId::EMPTY;
        self.sites.push(Site {
            pc,
            shape,
            stack,
            place: 0,
            stride: 0,
            value: 0,
            successor: None,
        });
        index
    }

    /// What memory is known to hold at `addr`.
    pub(crate) fn memory(&self, addr: u64, size: u8) -> Option<u64> {
        self.memory.get(addr, size)
    }

    /// The site that follows a thread's last one, if the past repeats itself.
    pub(crate) fn next_site(&self, state: &ThreadState) -> Option<SiteIndex> {
        self.sites[state.site? as usize].successor
    }

    /// Takes an event in, after it was written or read: the one step that both directions share.
    pub(crate) fn record(&mut self, thread: ThreadId, slots: Slots, past: Past) {
        let Past {
            site: index,
            first_at_site,
            stack,
            operands,
        } = past;
        let site = &mut self.sites[index as usize];
        site.stride = if first_at_site {
            0
        } else {
            operands.place.wrapping_sub(site.place)
        };
        site.stack = stack;
        site.place = operands.place;
        site.value = operands.value;
        self.pc = site.pc;

        let state = self.thread_state(thread);
        let previous = state.site.replace(index);
        state.stack = stack;
        if matches!(slots.place, Place::Access | Place::Block) {
            state.address = operands.place;
        }
        if let Some(previous) = previous {
            self.sites[previous as usize].successor = Some(index);
        }
        if slots.place == Place::Access {
            self.memory.set(
                operands.place,
                if slots.written {
                    operands.written
                } else {
                    operands.value
                },
            );
        }
    }
}

/// An event that has just been written or read.
pub(crate) struct Past {
    pub(crate) site: SiteIndex,
    pub(crate) first_at_site: bool,
    pub(crate) stack: StackId,
    pub(crate) operands: Operands,
}
