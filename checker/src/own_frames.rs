//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, *External bytes*).
//!
//! In a recording of a native program, an unexplained change of a byte on the stack of the only thread that accesses it
//! is that thread's own, unless code of another thread that nobody recorded may have had its address. So addresses are
//! followed: from where others may look, through the stacks and the blocks that would be a thread's own otherwise.

use crate::before::Facts;
use crate::bits::Bits;
use crate::bytes::{BlockId, Bytes};
use crate::first_thread::FirstThread;
use crate::overlay::Overlay;
use crate::recording::{Access, Recording, all, walk};
use hashbrown::HashSet;
use std::collections::BTreeSet;
use std::ops::Range;
use trace_format::{ModuleInfo, Op, ThreadId};

/// How far behind an address that is given away the object may reach.
const REACH: u64 = 4096;

/// The system's libraries: the start of their files' names. They have no threads, or these write to no other thread's
/// stack; and what they are given, they use for the thread that calls them.
const SYSTEM: [&str; 10] = [
    "ld-linux",
    "linux-vdso",
    "libc.",
    "libc++",
    "libgcc_s.",
    "libgomp.",
    "libm.",
    "libpthread.",
    "libstdc++.",
    "libtsan.",
];

/// A library of which the recorder knows the threads. It keeps what it is given for others.
const MODELED: &str = "libglib-2.0.";

/// An address in memory that is a thread's own: of a stack as it is; of another block, the block and 0.
type Place = (BlockId, u64);

/// What is known of the stacks of a trace.
#[derive(Debug)]
pub(crate) struct OwnFrames {
    /// The addresses on stacks that code of other threads may have, ascending.
    given_away: Vec<Place>,
    /// What no event allocates of the first thread's memory; block 0 stands for it there.
    first: FirstThread,
}

impl OwnFrames {
    /// Of a native program's trace in which every thread was created by code that is recorded, or known.
    pub(crate) fn of(recording: &dyn Recording, facts: &Facts, bytes: &Bytes) -> Option<OwnFrames> {
        let modules = &recording.tables().modules;
        let recorded = recorded_modules(recording);
        let may_have_threads = |module: &ModuleInfo| !is_system(module) && !is_named(module, MODELED);
        let creates_unseen = |fork| {
            let creator = module_at(modules, recording.pc(fork));
            creator.is_some_and(|module| may_have_threads(&modules[module]) && !recorded.contains(&module))
        };
        // The first thread was there.
        let mut later = (1..recording.threads() as u32).map(ThreadId);
        let came_unseen = |thread| facts.fork_of(thread).is_none() && facts.last_of(thread).is_some();
        if modules.is_empty() || facts.forks().any(creates_unseen) || later.any(came_unseen) {
            return None;
        }
        let mut numbered = modules.iter().enumerate();
        let blocks_count = numbered.all(|(number, module)| is_system(module) || recorded.contains(&number));
        let first = FirstThread::of(&recording.tables().images, modules);
        let given_away = Ways::of(recording, bytes, (first.clone(), blocks_count)).followed();
        Some(OwnFrames { given_away, first })
    }

    /// Whether a byte, at an address in a block, is on the stack of `thread`, and no other may have its address.
    pub(crate) fn keep(&self, bytes: &Bytes, block: BlockId, addr: u64, thread: ThreadId) -> bool {
        let given = self.given_away.partition_point(|&given| given <= (block, addr));
        let given = given.checked_sub(1).map(|last| self.given_away[last]);
        let reached = given.is_some_and(|(of, given)| of == block && addr - given < REACH);
        let is_first = block == 0 && thread == ThreadId(0) && self.first.has(addr);
        (is_first || bytes.blocks[block as usize].stack_of == Some(thread)) && !reached
    }
}

fn module_at(modules: &[ModuleInfo], pc: u64) -> Option<usize> {
    modules
        .iter()
        .position(|module| (module.start..module.end).contains(&pc))
}

fn is_named(module: &ModuleInfo, name: &str) -> bool {
    let file = module.path.rsplit('/').next().unwrap_or_default();
    file.starts_with(name)
}

fn is_system(module: &ModuleInfo) -> bool {
    SYSTEM.iter().any(|name| is_named(module, name))
}

/// The modules, other than the system's, whose code was instrumented: a plain access of it is recorded.
fn recorded_modules(recording: &dyn Recording) -> HashSet<usize> {
    let modules = &recording.tables().modules;
    let mut left = modules.iter().filter(|module| !is_system(module)).count();
    let (mut found, mut last) = (HashSet::new(), 0..0);
    for event in all(recording) {
        if left == 0 {
            break;
        }
        let pc = recording.pc(event);
        if last.contains(&pc) || !matches!(recording.op(event), Op::Read { .. } | Op::Write { .. }) {
            continue;
        }
        if let Some(number) = module_at(modules, pc) {
            last = modules[number].start..modules[number].end;
            left -= usize::from(found.insert(number) && !is_system(&modules[number]));
        }
    }
    found
}

/// How addresses in threads' own memory come to be known.
struct Ways<'a> {
    bytes: &'a Bytes,
    first: FirstThread,
    /// Whether blocks other than stacks may be a thread's own.
    blocks_count: bool,
    /// The block at each address.
    owners: Overlay<BlockId>,
    /// From the first byte that some block has had to the last.
    extent: Range<u64>,
    /// By block: the thread that allocated it.
    allocated_by: Vec<ThreadId>,
    /// By block: whether another thread accesses it.
    shared: Bits,
    /// Where an address in a thread's own memory was stored in memory that may be the same thread's, and that address.
    within: HashSet<(Place, Place)>,
    /// Those that were stored elsewhere.
    given_away: HashSet<Place>,
}

impl<'a> Ways<'a> {
    fn of(recording: &dyn Recording, bytes: &'a Bytes, (first, blocks_count): (FirstThread, bool)) -> Ways<'a> {
        let mut ways = Ways {
            bytes,
            extent: first.extent(),
            first,
            blocks_count,
            owners: Overlay::new(),
            allocated_by: vec![ThreadId(0)],
            shared: Bits::none_of(bytes.blocks.len()),
            within: HashSet::new(),
            given_away: HashSet::new(),
        };
        let mut numbers = bytes.cursor();
        walk(recording, |event, thread, op| {
            if let Op::Alloc { addr, size } = *op {
                ways.alloc(thread, addr, size);
            }
            let Some(touched) = bytes.touched_by(numbers.at(event.index())) else {
                return;
            };
            if ways.allocated_by[touched.block as usize] != thread {
                ways.shared.set(touched.block as usize);
            }
            let access = Access::of(*op).filter(|access| access.mem.size == 8);
            if let Some((access, value)) = access.and_then(|access| Some((access, access.leaves?))) {
                ways.store(value, touched.block, access.mem.addr);
            }
        });
        ways
    }

    fn alloc(&mut self, thread: ThreadId, addr: u64, size: u64) {
        let end = addr.saturating_add(size.max(1));
        self.owners.put(addr, end, self.allocated_by.len() as BlockId);
        self.extent = match self.extent.is_empty() {
            true => addr..end,
            false => self.extent.start.min(addr)..self.extent.end.max(end),
        };
        self.allocated_by.push(thread);
    }

    /// Whose memory an address in a block may be alone, and the place there.
    fn own(&self, block: BlockId, addr: u64) -> Option<(ThreadId, Place)> {
        if block == 0 {
            let is_first = self.first.has(addr);
            return is_first.then_some((ThreadId(0), (0, addr)));
        }
        if let Some(thread) = self.bytes.blocks[block as usize].stack_of {
            return Some((thread, (block, addr)));
        }
        let alone = self.blocks_count && !self.shared.has(block as usize);
        alone.then(|| (self.allocated_by[block as usize], (block, 0)))
    }

    /// A value is stored at an address in a block.
    fn store(&mut self, value: u64, block: BlockId, at: u64) {
        if !self.extent.contains(&value) {
            return;
        }
        let into = self.owners.get(value).unwrap_or(0);
        let Some((owner, place)) = self.own(into, value) else {
            return;
        };
        match self.own(block, at) {
            Some((thread, from)) if thread == owner => {
                self.within.insert((from, place));
            }
            _ => {
                self.given_away.insert(place);
            }
        }
    }

    /// The addresses on stacks that others may have: what was given away, and what that leads to.
    fn followed(self) -> Vec<Place> {
        let shared = self.shared;
        // Blocks turn out to be shared later, too.
        let is_shared =
            |&(block, _): &Place| self.bytes.blocks[block as usize].stack_of.is_none() && shared.has(block as usize);
        let mut given_away = self.given_away;
        let mut within = BTreeSet::new();
        for (from, place) in self.within {
            if from.0 != 0 && is_shared(&from) {
                given_away.insert(place);
            } else {
                within.insert((from, place));
            }
        }
        let mut next: Vec<Place> = given_away.iter().copied().collect();
        while let Some((block, addr)) = next.pop() {
            // Also what is stored over the first of the bytes.
            let (from, until) = (addr.saturating_sub(7), addr.saturating_add(REACH));
            loop {
                let seen = within.range(((block, from), (0, 0))..((block, until), (0, 0))).next();
                let Some(&seen) = seen else { break };
                within.remove(&seen);
                if given_away.insert(seen.1) {
                    next.push(seen.1);
                }
            }
        }
        let is_on_stack = |&(block, _): &Place| block == 0 || self.bytes.blocks[block as usize].stack_of.is_some();
        let mut on_stacks: Vec<Place> = given_away.into_iter().filter(is_on_stack).collect();
        on_stacks.sort_unstable();
        on_stacks
    }
}
