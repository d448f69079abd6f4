//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, section 1, *External bytes*).
//!
//! gcc instruments no stores by which a structure is passed or returned by value, nor what it expands in place after it
//! has instrumented. Nearly every C++ program reads such memory. In a recording of a native program, a change of a cell
//! on a thread's stack that only this thread accesses is taken for such a store, unless code of another thread, that
//! nobody recorded, may have made it. That needs the cell's address. Either the trace shows that it came to where code
//! of other threads may look: stored there, as a new thread's argument, or in a block that somebody finds there. Or it
//! was given away in a register, to a call of a library that is not recorded. So nothing is taken for a thread's own
//! where such a library has threads. This errs where it has none, but keeps an address for a later call by another
//! thread; so where one is loaded, only stacks are a thread's own.

use super::pieces::Pieces;
use super::{AccessKind, IncarnationId, Op, ThreadId, Trace};
use hashbrown::HashSet;
use std::ops::Range;
use trace_format::{ImageInfo, ModuleInfo, NOBODYS};

/// How far behind an address that is given away the object may reach.
const REACH: u64 = 4096;

/// How far down from its end the first thread's stack reaches. The kernel leaves 128 MiB there to it alone.
const FIRST_STACK: u64 = 8 << 20;

/// Libraries that use what they are given for the thread that calls them, and whose threads are the program's own, or
/// write to no other thread's stack: the start of their files' names.
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

/// One whose threads are known, too, but that keeps what it is given for others.
const MODELED: &str = "libglib-2.0.";

/// A place in memory that is a thread's own: in a stack, an address; another block as a whole, 0.
type Place = (IncarnationId, u64);

/// The stacks of a native program's threads.
pub(super) struct OwnFrames {
    /// By thread: its stack.
    stacks: Vec<Option<IncarnationId>>,
    /// Addresses on stacks that others may have, ascending.
    given_away: Vec<Place>,
    /// What is the first thread's own, where no event allocates it: its stack and its thread-local variables.
    first: Vec<Range<u64>>,
}

impl OwnFrames {
    /// Of a trace whose accesses are known. There are none if it is no recording of a native program, which lists its
    /// modules, or if nothing can be told.
    pub(super) fn of(trace: &Trace) -> OwnFrames {
        let modules = &trace.tables.modules;
        let unrecorded = trace.unrecorded_modules();
        if modules.is_empty() || trace.unrecorded_code_has_threads(&unrecorded) {
            return OwnFrames {
                stacks: Vec::new(),
                given_away: Vec::new(),
                first: Vec::new(),
            };
        }
        let threads = (0..trace.threads() as u32).map(ThreadId);
        let stacks: Vec<Option<IncarnationId>> = threads.map(|thread| trace.own_stack(thread)).collect();
        let mut first = thread_locals(&trace.tables.images);
        first.push(first_stack(&trace.tables.images, modules));
        let owned = Owned::of(trace, &stacks, first.clone(), unrecorded.is_empty());
        OwnFrames {
            given_away: Stores::of(trace, &owned).found(&owned),
            stacks,
            first,
        }
    }

    /// Whether changes of a byte that only this thread accesses are its own.
    pub(super) fn keep(&self, thread: ThreadId, block: IncarnationId, addr: u64) -> bool {
        let is_first = thread == ThreadId(0) && block == IncarnationId::STATIC && covers(&self.first, addr);
        let is_own = is_first || self.stacks.get(thread.index()) == Some(&Some(block));
        let before = self.given_away.partition_point(|&given| given <= (block, addr));
        let given = before.checked_sub(1).map(|at| self.given_away[at]);
        is_own && given.is_none_or(|(of, given)| of != block || addr - given >= REACH)
    }
}

/// Which memory is a thread's own, as long as nobody else has its address.
struct Owned {
    /// By block: its thread.
    owners: Vec<Option<ThreadId>>,
    /// By block: whether it is a stack.
    is_stack: Vec<bool>,
    /// The first thread's stack and thread-local variables.
    first: Vec<Range<u64>>,
}

impl Owned {
    /// The threads' stacks, and the blocks, if these count, that only the thread accesses that has allocated them.
    fn of(trace: &Trace, stacks: &[Option<IncarnationId>], first: Vec<Range<u64>>, blocks_count: bool) -> Owned {
        let allocators = trace.incarnations.iter().map(|block| {
            let alloc = block.alloc.filter(|_| blocks_count)?;
            Some(trace.thread(alloc))
        });
        let mut owned = Owned {
            owners: allocators.collect(),
            is_stack: vec![false; trace.incarnations.len()],
            first,
        };
        if blocks_count {
            let mut turns = trace.in_threads.walk();
            for access in trace.accesses() {
                let owner = &mut owned.owners[trace.incarnation_of(access.event).index()];
                *owner = owner.filter(|&owner| owner == turns.of(access.event).0);
            }
        }
        for (thread, stack) in (0..).map(ThreadId).zip(stacks) {
            if let Some(stack) = stack {
                (owned.owners[stack.index()], owned.is_stack[stack.index()]) = (Some(thread), true);
            }
        }
        owned
    }

    /// The thread whose own an address in a block is.
    fn place(&self, block: IncarnationId, addr: u64) -> Option<(ThreadId, Place)> {
        if block == IncarnationId::STATIC {
            return covers(&self.first, addr).then_some((ThreadId(0), (block, addr)));
        }
        let owner = self.owners[block.index()]?;
        let addr = if self.is_stack[block.index()] { addr } else { 0 };
        Some((owner, (block, addr)))
    }

    fn is_on_a_stack(&self, (block, _): Place) -> bool {
        block == IncarnationId::STATIC || self.is_stack[block.index()]
    }
}

/// The addresses of threads' own memory that a trace stores.
#[derive(Default)]
struct Stores {
    /// In the same thread's own memory: where, and which.
    kept: HashSet<(Place, Place)>,
    /// Anywhere else.
    given_away: HashSet<Place>,
}

impl Stores {
    fn of(trace: &Trace, owned: &Owned) -> Stores {
        let mut stores = Stores::default();
        // The C library gives a block the memory of one that is gone, so an address means one now and another one later.
        let (mut begun, mut blocks) = (1, Pieces::default());
        let mut extent = extent_of(&owned.first);
        let mut values = trace.accesses.values();
        for access in trace.accesses() {
            let stores = &mut stores;
            if access.size != 8 || access.kind == AccessKind::Free || !access.kind.writes() {
                continue;
            }
            let (_, value) = trace.accesses.values_by(access, values.at(access.event.index()));
            while let Some(block) = trace.incarnations.get(begun) {
                if block.alloc.is_some_and(|alloc| alloc > access.event) {
                    break;
                }
                let end = block.addr.saturating_add(block.size.max(1));
                blocks.put(block.addr, end, IncarnationId(begun as u32), |_| ());
                extent = match extent.is_empty() {
                    true => block.addr..end,
                    false => extent.start.min(block.addr)..extent.end.max(end),
                };
                begun += 1;
            }
            if !extent.contains(&value) {
                continue;
            }
            let block = blocks.at(value).unwrap_or(IncarnationId::STATIC);
            let Some((owner, of)) = owned.place(block, value) else {
                continue;
            };
            match owned.place(trace.incarnation_of(access.event), access.addr) {
                Some((thread, at)) if thread == owner => {
                    stores.kept.insert((at, of));
                }
                _ => {
                    stores.given_away.insert(of);
                }
            }
        }
        stores
    }

    /// The addresses on stacks that others may have, for they find one after the other. Ascending.
    fn found(self, owned: &Owned) -> Vec<Place> {
        let mut kept: Vec<(Place, Place)> = self.kept.into_iter().collect();
        kept.sort_unstable();
        // From each of these on, the first that nobody has found, or one that leads to it.
        let mut unfound: Vec<usize> = (0..=kept.len()).collect();
        let mut given_away = self.given_away;
        let mut open: Vec<Place> = given_away.iter().copied().collect();
        while let Some((block, addr)) = open.pop() {
            // What is stored over a byte begins up to seven before.
            let lowest = (block, addr.saturating_sub(7));
            let mut at = kept.partition_point(|&(at, _)| at < lowest);
            loop {
                while unfound[at] != at {
                    unfound[at] = unfound[unfound[at]];
                    at = unfound[at];
                }
                let Some(&(from, of)) = kept.get(at) else { break };
                if from.0 != block || from.1 >= addr.saturating_add(REACH) {
                    break;
                }
                unfound[at] = at + 1;
                if given_away.insert(of) {
                    open.push(of);
                }
            }
        }
        let mut on_stacks: Vec<Place> = given_away.into_iter().filter(|&of| owned.is_on_a_stack(of)).collect();
        on_stacks.sort_unstable();
        on_stacks
    }
}

fn covers(ranges: &[Range<u64>], addr: u64) -> bool {
    ranges.iter().any(|range| range.contains(&addr))
}

/// From the first byte that one of some ranges has to the last.
fn extent_of(ranges: &[Range<u64>]) -> Range<u64> {
    let filled = || ranges.iter().filter(|range| !range.is_empty());
    let start = filled().map(|range| range.start).min().unwrap_or(0);
    start..filled().map(|range| range.end).max().unwrap_or(start)
}

/// The first thread's thread-local variables, its `errno` among them: images of them are taken between the second and the
/// third of the recorder's own variables. Adjacent ones are one.
fn thread_locals(images: &[ImageInfo]) -> Vec<Range<u64>> {
    let is_own = |image: &ImageInfo| image.addr == NOBODYS;
    let [_, _, taken, _, ..] = &*images.split(is_own).collect::<Vec<_>>() else {
        return Vec::new();
    };
    let mut found: Vec<Range<u64>> = Vec::new();
    for image in taken.iter().filter(|image| image.bytes.is_some()) {
        let end = image.addr.saturating_add(image.size);
        match found.last_mut() {
            Some(last) if last.end == image.addr => last.end = end,
            _ => found.push(image.addr..end),
        }
    }
    found
}

/// The first thread's stack, of which images are taken directly behind that of the recorder's own variables. These begin
/// with the frames that it had then; deeper ones are of it, too, as far as no other image says that something else is
/// there. It is no stack of a program if anything is loaded above it: a forked child begins on that of the thread that
/// forked it, which may lie among other memory.
fn first_stack(images: &[ImageInfo], modules: &[ModuleInfo]) -> Range<u64> {
    let Some(own) = images.iter().position(|image| image.addr == NOBODYS) else {
        return 0..0;
    };
    let is_told = |image: &&ImageInfo| image.bytes.is_some() && image.addr != NOBODYS;
    let mut stack = images[own + 1..].iter().take_while(is_told);
    let is_highest = |image: &&ImageInfo| modules.iter().all(|module| module.start < image.addr);
    let Some(image) = stack.next().filter(is_highest) else {
        return 0..0;
    };
    let above = |end: u64, next: &ImageInfo| (next.addr == end).then(|| next.addr.saturating_add(next.size));
    let end = stack.try_fold(image.addr.saturating_add(image.size), |end, next| {
        above(end, next).ok_or(end)
    });
    let (Ok(end) | Err(end)) = end;
    let ends = images.iter().map(|image| image.addr.saturating_add(image.size));
    let below = ends.filter(|&end| end <= image.addr).max().unwrap_or(0);
    below.max(end.saturating_sub(FIRST_STACK))..end
}

impl Trace {
    /// The modules, other than the system's, of which no access is recorded.
    fn unrecorded_modules(&self) -> Vec<&ModuleInfo> {
        let is_system = |module: &&ModuleInfo| SYSTEM.iter().any(|name| is_named(module, name));
        let mut unrecorded: Vec<&ModuleInfo> = self.tables.modules.iter().filter(|module| !is_system(module)).collect();
        let mut last = 0..0;
        let plain = |kind| matches!(kind, AccessKind::Read | AccessKind::Write);
        for access in self.accesses() {
            if unrecorded.is_empty() {
                break;
            }
            if !plain(access.kind) {
                continue;
            }
            let pc = self.pc(access.event);
            if last.contains(&pc) {
                continue;
            }
            if let Some(module) = self
                .tables
                .modules
                .iter()
                .find(|module| (module.start..module.end).contains(&pc))
            {
                last = module.start..module.end;
                unrecorded.retain(|&other| other != module);
            }
        }
        unrecorded
    }

    /// Whether a thread was created by a library of which no access is recorded, or by nobody in sight.
    fn unrecorded_code_has_threads(&self, unrecorded: &[&ModuleInfo]) -> bool {
        let mut forked = vec![false; self.program_order.len()];
        let mut by_unrecorded = false;
        let fork = |op| match op {
            Op::Fork { child } => Some(child),
            _ => None,
        };
        for (event, child) in self.operations_with(fork) {
            if let Some(forked) = forked.get_mut(child.index()) {
                *forked = true;
            }
            let pc = self.pc(event);
            let mut creators = unrecorded
                .iter()
                .filter(|module| (module.start..module.end).contains(&pc));
            by_unrecorded |= creators.any(|module| !is_named(module, MODELED));
        }
        // The first thread was there.
        let unforked = forked.iter().zip(&self.program_order).skip(1);
        let mut unforked = unforked.filter(|(forked, order)| !**forked && !order.is_empty());
        by_unrecorded || unforked.next().is_some()
    }
}

fn is_named(module: &ModuleInfo, name: &str) -> bool {
    let file = module.path.rsplit('/').next().unwrap_or_default();
    file.starts_with(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, EventId, MemRange, MemoryOrder, Op as FileOp, StackId, Tables, ThreadInfo};

    const STACK: u64 = 0x7000;
    const LOCAL: MemRange = MemRange {
        addr: STACK + 0x80,
        size: 4,
    };
    /// The first thread's thread-local variables.
    const LOCALS: u64 = 0x18_0000;
    /// Where the program's code is, and a library's.
    const CODE: u64 = 0x100;
    const LIBRARY: u64 = 0x1100;

    fn module(path: &str, start: u64) -> ModuleInfo {
        ModuleInfo {
            path: path.to_owned(),
            build_id: Vec::new(),
            base: 0,
            start,
            end: start + 0x1000,
        }
    }

    /// A local variable that changes while another thread runs, between two reads of its own thread; after some events
    /// of that. Whether its reads are pinned.
    fn pinned(library: &str, before: &[(u64, FileOp)]) -> bool {
        let own = |pc, op| (0, pc, op);
        let read = |value| own(CODE, FileOp::Read { mem: LOCAL, value });
        let child = ThreadId(1);
        let mut events = vec![
            own(CODE, FileOp::Begin),
            own(
                0,
                FileOp::Alloc {
                    addr: STACK,
                    size: 0x1000,
                },
            ),
            own(CODE, FileOp::Write { mem: LOCAL, value: 1 }),
        ];
        events.extend(before.iter().map(|&(pc, op)| own(pc, op)));
        if !before.iter().any(|(_, op)| matches!(op, FileOp::Fork { .. })) {
            events.push(own(CODE, FileOp::Fork { child }));
        }
        events.extend([read(1), (1, CODE, FileOp::Begin), (1, CODE, FileOp::Branch), read(2)]);
        let event = |&(thread, pc, op): &(u32, u64, FileOp)| Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        };
        let tables = Tables {
            threads: vec![ThreadInfo::default(); 2],
            modules: vec![module("/app", 0), module(library, 0x1000)],
            ..Tables::default()
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        let last = trace.events().last().expect("there are events");
        trace.pin(last).is_some()
    }

    fn store(at: u64, value: u64) -> FileOp {
        let mem = MemRange { addr: at, size: 8 };
        FileOp::Write { mem, value }
    }

    #[test]
    fn a_change_of_a_local_variable_is_its_own_threads() {
        assert!(!pinned("/lib/libother.so.1", &[]));
        assert!(!pinned(
            "/lib/libother.so.1",
            &[(CODE, store(STACK + 0x40, LOCAL.addr))]
        ));
    }

    /// As above, of the main thread's stack, of which images tell.
    fn pinned_on_the_first_stack(at: u64, before: &[FileOp]) -> bool {
        pinned_on_it_below(module("/app", 0), at, before)
    }

    /// The same where this is all that is loaded.
    fn pinned_on_it_below(loaded: ModuleInfo, at: u64, before: &[FileOp]) -> bool {
        let image = |addr, size| ImageInfo {
            before: 0,
            addr,
            size,
            bytes: Some(Vec::new()),
        };
        let mem = MemRange { addr: at, size: 4 };
        let child = ThreadId(1);
        let own = |op| (0, op);
        let mut events = vec![own(FileOp::Begin), own(FileOp::Write { mem, value: 1 })];
        events.extend(before.iter().map(|&op| own(op)));
        events.extend([
            own(FileOp::Fork { child }),
            (1, FileOp::Begin),
            (1, FileOp::Branch),
            own(FileOp::Read { mem, value: 2 }),
        ]);
        let event = |&(thread, op): &(u32, FileOp)| Event {
            thread: ThreadId(thread),
            pc: CODE,
            stack: StackId::EMPTY,
            op,
        };
        let tables = Tables {
            threads: vec![ThreadInfo::default(); 2],
            modules: vec![loaded],
            images: vec![
                image(0x10_0000, 0x1000),
                image(NOBODYS, 0x1000),
                image(STACK + 0x20_0000, 0x1000),
                image(STACK + 0x20_1000, 0x1000),
                image(NOBODYS, 0x1000),
                image(LOCALS, 0x800),
                image(LOCALS + 0x800, 0x800),
                image(NOBODYS, 0x1000),
                image(0x9000_0000, 0x1000),
            ],
            ..Tables::default()
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        let last = trace.events().last().expect("there are events");
        trace.pin(last).is_some()
    }

    #[test]
    fn the_first_threads_stack_is_where_its_images_are_and_below() {
        let stack = STACK + 0x20_0000;
        for own in [stack + 0x80, stack + 0x1080, stack - 0x80, LOCALS + 0x1000] {
            assert!(!pinned_on_the_first_stack(own, &[]), "{own:#x}");
        }
        for other in [stack + 0x2000, 0x10_0ff0, 0x9000_0010] {
            assert!(pinned_on_the_first_stack(other, &[]), "{other:#x}");
        }
        let local = stack + 0x80;
        assert!(!pinned_on_the_first_stack(local, &[store(stack + 0x40, local)]));
        assert!(pinned_on_the_first_stack(local, &[store(0x9000, local)]));
        assert!(pinned_on_the_first_stack(local, &[store(0x9000, local - 0x800)]));
        // Of another thread that has forked, say: below the loader.
        assert!(pinned_on_it_below(module("/lib/loader", stack + 0x10_0000), local, &[]));
    }

    #[test]
    fn the_first_threads_own_variables_are_told_between_two_images_of_the_recorders() {
        let errno = LOCALS + 0x810;
        assert!(!pinned_on_the_first_stack(LOCALS, &[]));
        assert!(!pinned_on_the_first_stack(errno, &[store(LOCALS + 0x40, errno)]));
        assert!(pinned_on_the_first_stack(errno, &[store(0x9000, errno)]));
        assert!(pinned_on_the_first_stack(errno, &[store(0x9000, LOCALS + 8)]));
        assert!(!pinned_on_the_first_stack(LOCALS, &[store(0x9000, errno)]));
        assert!(pinned_on_the_first_stack(LOCALS - 0x10, &[]));
        // Static data.
        assert!(pinned_on_the_first_stack(0x10_0010, &[]));
        assert!(pinned_on_the_first_stack(errno, &[store(0x10_0040, errno)]));
        // A forked child has those of the thread that forked it.
        let loader = module("/lib/loader", STACK + 0x30_0000);
        assert!(!pinned_on_it_below(loader, errno, &[]));
    }

    #[test]
    fn what_a_later_stack_in_the_same_memory_gives_away_says_nothing_of_this_one() {
        let event = |thread, op| Event {
            thread: ThreadId(thread),
            pc: CODE,
            stack: StackId::EMPTY,
            op,
        };
        let alloc = FileOp::Alloc {
            addr: STACK,
            size: 0x1000,
        };
        let child = |number| FileOp::Fork {
            child: ThreadId(number),
        };
        let events = [
            event(0, FileOp::Begin),
            event(0, child(1)),
            event(1, FileOp::Begin),
            event(1, alloc),
            event(1, FileOp::Write { mem: LOCAL, value: 1 }),
            event(0, child(2)),
            event(1, FileOp::Read { mem: LOCAL, value: 2 }),
            event(1, FileOp::End),
            event(2, FileOp::Begin),
            event(2, alloc),
            event(2, store(0x9000, LOCAL.addr)),
        ];
        let tables = Tables {
            threads: vec![ThreadInfo::default(); 3],
            modules: vec![module("/app", 0)],
            ..Tables::default()
        };
        let trace = Trace::from_events(tables, &events);
        assert!(trace.pin(EventId(6)).is_none());
    }

    #[test]
    fn unless_its_address_was_stored_elsewhere() {
        assert!(pinned("/lib/libother.so.1", &[(CODE, store(0x9000, LOCAL.addr))]));
        assert!(
            pinned("/lib/libother.so.1", &[(CODE, store(0x9000, STACK + 0x10))]),
            "in an object that has it"
        );
    }

    #[test]
    fn unless_it_was_a_new_threads_argument() {
        let mem = MemRange { addr: 1 << 63, size: 8 };
        let order = MemoryOrder::SeqCst;
        let argument = FileOp::AtomicStore {
            mem,
            value: LOCAL.addr,
            order,
        };
        assert!(pinned("/lib/libother.so.1", &[(CODE, argument)]));
    }

    #[test]
    fn unless_a_library_that_is_not_recorded_has_threads() {
        let fork = (LIBRARY, FileOp::Fork { child: ThreadId(1) });
        assert!(pinned("/lib/libother.so.1", &[fork]));
        assert!(!pinned("/lib/libstdc++.so.6", &[fork]), "std::thread is made there");
        assert!(
            !pinned("/lib/libother.so.1", &[(LIBRARY, store(0x9000, 1)), fork]),
            "it is recorded"
        );
    }
}
