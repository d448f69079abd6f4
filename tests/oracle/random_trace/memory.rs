//! Accesses: of globals, of blocks that come and go at overlapping addresses, of stacks, of flags and locks made of
//! atomics.

use super::{Flavour, MUTEXES, World};
use trace_format::{MemRange, MemoryOrder, ObjectId, Op};

const GLOBALS: u64 = 0x1000;
const FLAGS: u64 = 0x2000;
const LOCKS: u64 = 0x3000;
const WORDS: u64 = 0x4000;
const GUARDED: u64 = 0x5000;
const LISTS: u64 = 0x6000;
const HEAP: u64 = 0x9000;
/// Where the stack of the first thread is; each next one is as far from it.
const STACKS: u64 = 0x1_0000;
const STACK_SIZE: u64 = 8;

impl World {
    fn load(&self, mem: MemRange) -> u64 {
        let byte = |at: u64| u64::from(self.memory.get(&at).copied().unwrap_or(0));
        let bytes = mem.addr..mem.addr + u64::from(mem.size);
        bytes.rev().fold(0, |known, at| known << 8 | byte(at))
    }

    fn store(&mut self, mem: MemRange, value: u64) {
        let bytes = mem.addr..mem.addr + u64::from(mem.size);
        self.memory.extend(bytes.zip(value.to_le_bytes()));
    }

    /// What code that is not instrumented does, or the kernel.
    pub(super) fn change_unrecorded(&mut self) {
        let stacks: Vec<u64> = self
            .stacks
            .iter()
            .map(|&thread| STACKS + 0x1000 * thread as u64)
            .collect();
        let addr = match self.random.below(4) {
            0 if self.ever_allocated => HEAP,
            1 if !stacks.is_empty() => stacks[self.random.below(stacks.len() as u64) as usize],
            _ => GLOBALS,
        };
        let mem = MemRange {
            addr: addr + 4 * self.random.below(2),
            size: 4,
        };
        let value = self.random.below(3);
        self.store(mem, value);
    }

    /// A thread's stack is a block that begins with it.
    pub(super) fn begin_stack(&mut self, thread: usize) {
        if self.random.chance(25) {
            let addr = STACKS + 0x1000 * thread as u64;
            self.stacks.insert(thread);
            self.emit(thread, Op::Alloc { addr, size: STACK_SIZE });
        }
    }

    /// Takes a lock made of an atomic, marks it as wanted, gives it back, or does something under it; now and then in
    /// an order too weak for a lock.
    pub(super) fn atomic_lock(&mut self, thread: usize) {
        let addr = LOCKS + 8 * self.random.below(10).saturating_sub(8);
        let mem = MemRange { addr, size: 4 };
        let read = self.load(mem);
        let order = match self.random.below(20) {
            0 => MemoryOrder::Relaxed,
            1..8 => MemoryOrder::SeqCst,
            _ if read == 0 => MemoryOrder::Acquire,
            _ => MemoryOrder::Release,
        };
        let has = self.taken.get(&addr) == Some(&thread);
        let written = match read {
            0 => 1 + self.random.below(2),
            _ if has => 0,
            _ => 2,
        };
        if has && self.random.chance(60) {
            return self.access(thread);
        }
        match (read, written) {
            (0, _) => drop(self.taken.insert(addr, thread)),
            (_, 0) => drop(self.taken.remove(&addr)),
            _ => {}
        }
        self.store(mem, written);
        let op = match written {
            0 if self.random.chance(70) => Op::AtomicStore {
                mem,
                value: written,
                order,
            },
            _ => Op::AtomicRmw {
                mem,
                read,
                written,
                order,
            },
        };
        self.emit(thread, op);
    }

    /// Takes a mutex that is a flag under a lock, gives it back, or does something under it; now and then without looking,
    /// or outside the lock.
    pub(super) fn guarded(&mut self, thread: usize) {
        let lock = MUTEXES[self.random.below(12).saturating_sub(10) as usize];
        let id = ObjectId(lock);
        let mem = MemRange {
            addr: GUARDED + 8 * self.random.below(10).saturating_sub(8),
            size: 4,
        };
        let has = self.taken.get(&mem.addr) == Some(&thread);
        if has && self.random.chance(40) {
            return self.access(thread);
        }
        let is_outside = self.random.chance(4);
        match self.owner.get(&lock).copied() {
            _ if is_outside => {}
            None => {
                self.take(lock, thread);
            }
            Some((owner, _)) if owner == thread => {}
            Some(_) => return,
        }
        let value = self.load(mem);
        if self.random.chance(92) {
            self.emit(thread, Op::Read { mem, value });
        }
        let written = match value {
            0 => Some(1 + self.random.below(2)),
            _ if has => Some(0),
            _ => self.random.chance(8).then(|| self.random.below(3)),
        };
        if let Some(written) = written.filter(|_| self.random.chance(85)) {
            match written {
                0 => drop(self.taken.remove(&mem.addr)),
                _ if value == 0 => drop(self.taken.insert(mem.addr, thread)),
                _ => {}
            }
            self.store(mem, written);
            self.emit(thread, Op::Write { mem, value: written });
        }
        if !is_outside && self.random.chance(90) {
            self.give_back(lock);
            self.emit(thread, Op::Release { lock: id });
        }
    }

    /// Takes a lock, reads or writes what it guards, or gives it back; now and then outside the lock.
    pub(super) fn list(&mut self, thread: usize, lock: u32) {
        let holds = self.owner.get(&lock).is_some_and(|&(owner, _)| owner == thread);
        let reads = self.readers.contains_key(&(lock, thread));
        if !holds && !reads && !self.random.chance(3) {
            let is_free = !self.owner.contains_key(&lock) && !self.readers.keys().any(|&(other, _)| other == lock);
            if is_free {
                self.take(lock, thread);
            }
            return;
        }
        if holds && self.random.chance(25) {
            self.give_back(lock);
            return self.emit(thread, Op::Release { lock: ObjectId(lock) });
        }
        if holds && self.random.chance(15) {
            return self.access(thread);
        }
        let mem = MemRange {
            addr: LISTS + 0x100 * u64::from(lock) + 4 * self.random.below(2),
            size: 4,
        };
        let value = self.load(mem);
        if self.random.chance(if holds { 60 } else { 95 }) {
            return self.emit(thread, Op::Read { mem, value });
        }
        let value = self.random.below(2);
        self.store(mem, value);
        self.emit(thread, Op::Write { mem, value });
    }

    /// A step of a word with two flags and a count above them, as locks for readers and writers have it, or counts of
    /// references: mostly, who has set a flag clears it, and lowers the count only if he has raised it.
    pub(super) fn word(&mut self, thread: usize) {
        let mem = MemRange {
            addr: WORDS + 8 * self.random.below(8).saturating_sub(6),
            size: 4,
        };
        let read = self.load(mem);
        let order = MemoryOrder::from_c(self.random.below(6) as u8);
        if self.random.chance(15) {
            return self.emit(
                thread,
                Op::AtomicLoad {
                    mem,
                    value: read,
                    order,
                },
            );
        }
        if self.random.chance(6) {
            let value = self.random.below(9);
            self.store(mem, value);
            return self.emit(thread, Op::AtomicStore { mem, value, order });
        }
        let bit = self.random.below(3);
        let key = (mem.addr, bit, thread);
        let own = self.steps.get(&key).copied().unwrap_or(0);
        let down = (own > 0 || self.random.chance(8)) && self.random.chance(70);
        let by = 1 << bit;
        let written = match (bit, down) {
            (0 | 1, false) => read | by,
            (0 | 1, true) => read & !by,
            (_, false) => read + by,
            (_, true) => read.saturating_sub(by) & !3 | read & 3,
        };
        if written == read {
            return self.access(thread);
        }
        self.steps
            .insert(key, if down { own.saturating_sub(1) } else { own + 1 });
        self.store(mem, written);
        let op = Op::AtomicRmw {
            mem,
            read,
            written,
            order,
        };
        self.emit(thread, op);
    }

    /// An atomic operation on one of two flags that nothing else touches, mostly too weak to order anything.
    pub(super) fn flag(&mut self, thread: usize) {
        let addr = FLAGS + 8 * self.random.below(2);
        let mem = MemRange { addr, size: 4 };
        let weak = [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release];
        let order = weak[self.random.below(4).min(2) as usize];
        // Two in three stores can be told from all others.
        let value = match self.random.below(3) {
            0 => 1 + self.random.below(2),
            _ => 3 + self.events.len() as u64,
        };
        let seen = self.load(mem);
        let op = match self.random.below(7) {
            0..3 => Op::AtomicLoad {
                mem,
                value: seen,
                order,
            },
            3..6 => Op::AtomicStore { mem, value, order },
            _ => Op::AtomicRmw {
                mem,
                read: seen,
                written: value,
                order,
            },
        };
        if !matches!(op, Op::AtomicLoad { .. }) {
            self.store(mem, value);
        }
        self.emit(thread, op);
    }

    /// Writes or reads one of two variables that only ever hold 0 and 1.
    pub(super) fn repeat(&mut self, thread: usize) {
        let mem = MemRange {
            addr: GLOBALS + 4 * self.random.below(2),
            size: 4,
        };
        let value = self.random.below(2);
        if self.random.chance(60) {
            let value = self.load(mem);
            return self.emit(thread, Op::Read { mem, value });
        }
        self.store(mem, value);
        self.emit(thread, Op::Write { mem, value });
    }

    /// What the next access touches.
    fn place(&mut self, thread: usize) -> MemRange {
        let leans = matches!(self.flavour, Flavour::Heap | Flavour::LockedHeap);
        if self.ever_allocated && self.random.chance(if leans { 70 } else { 40 }) {
            let size = [1, 2, 4, 4, 4, 4, 8][self.random.below(7) as usize];
            let addr = HEAP + u64::from(size.min(4)) * self.random.below(8 / u64::from(size.min(4)));
            return MemRange { addr, size };
        }
        let stacks: Vec<usize> = self.stacks.iter().copied().collect();
        let base = match stacks[..] {
            [] => GLOBALS,
            _ if self.random.chance(65) => GLOBALS,
            _ => {
                let own = self.stacks.contains(&thread) && self.random.chance(60);
                let any = stacks[self.random.below(stacks.len() as u64) as usize];
                STACKS + 0x1000 * if own { thread } else { any } as u64
            }
        };
        match self.random.chance(15) {
            true => MemRange { addr: base, size: 8 },
            false => MemRange {
                addr: base + 4 * self.random.below(2),
                size: 4,
            },
        }
    }

    pub(super) fn access(&mut self, thread: usize) {
        let mem = self.place(thread);
        let seen = self.load(mem);
        let value = match mem.size {
            8 => self.random.below(2) | self.random.below(2) << 32,
            _ => self.random.below(3),
        };
        let order = MemoryOrder::from_c(self.random.below(6) as u8);
        let kinds = match self.flavour {
            Flavour::Flags => 0,
            _ if self.atomics_only => 100,
            _ => 12,
        };
        let op = match self.random.below(100) {
            at if at < kinds => match self.random.below(3) {
                0 => Op::AtomicLoad {
                    mem,
                    value: seen,
                    order,
                },
                1 => Op::AtomicStore { mem, value, order },
                _ => Op::AtomicRmw {
                    mem,
                    read: seen,
                    written: value,
                    order,
                },
            },
            at if at < 54 => Op::Read { mem, value: seen },
            at if at < 62 => Op::Use { mem },
            at if at < 66 => Op::Destroy { mem, value },
            _ => Op::Write { mem, value },
        };
        if matches!(
            op,
            Op::AtomicStore { .. } | Op::AtomicRmw { .. } | Op::Write { .. } | Op::Destroy { .. }
        ) {
            self.store(mem, value);
        }
        self.emit(thread, op);
    }

    /// Allocates, frees, or touches memory. A block may lie over a part of one that was freed.
    pub(super) fn heap(&mut self, thread: usize) {
        let live: Vec<u64> = self.blocks.keys().copied().collect();
        if !live.is_empty() && self.random.chance(30) {
            let addr = live[self.random.below(live.len() as u64) as usize];
            self.blocks.remove(&addr);
            return self.emit(thread, Op::Free { addr });
        }
        let addr = HEAP + [0, 0, 4, 2][self.random.below(4) as usize];
        if !self.blocks.contains_key(&addr) && self.random.chance(8) {
            // Once more, or of what never was: it touches nothing.
            return self.emit(thread, Op::Free { addr });
        }
        let size = [8, 4, 4, 2, 0][self.random.below(5) as usize];
        let overlaps = |(&other, &length): (&u64, &u64)| addr < other + length.max(1) && other < addr + size.max(1);
        if self.blocks.iter().any(overlaps) || self.random.chance(40) {
            return self.access(thread);
        }
        self.blocks.insert(addr, size);
        self.ever_allocated = true;
        // What is reused is zero, or holds what was left there.
        if self.random.chance(60) {
            self.memory.extend((addr..addr + size).map(|at| (at, 0)));
        }
        self.emit(thread, Op::Alloc { addr, size });
    }
}
