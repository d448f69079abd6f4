//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, section 1, *External bytes*).
//!
//! gcc instruments no stores by which a structure is returned by value, nor what it expands in place after it has
//! instrumented. Nearly every C++ program reads such memory. In a recording of a native program, a change of a cell on
//! a thread's stack that only this thread accesses is taken for such a store, unless code of another thread, that
//! nobody recorded, may have made it. That needs the cell's address. Either the trace shows that it was given away,
//! stored elsewhere or as a new thread's argument; or it was given away in a register, to a call of a library that is
//! not recorded. So nothing is taken for a thread's own where such a library has threads. This errs where it has none,
//! but keeps an address for a later call by another thread.

use super::{Access, AccessKind, EventId, IncarnationId, Op, ThreadId, Trace};
use std::ops::Range;
use trace_format::{ImageInfo, ModuleInfo, NOBODYS};

/// How far behind an address that is given away the object may reach.
const REACH: u64 = 4096;

/// How far down from its end the first thread's stack reaches. The kernel leaves 128 MiB there to it alone.
const FIRST_STACK: u64 = 8 << 20;

/// Libraries whose threads are the program's own, or write to no other thread's stack: the start of their files' names.
const KNOWN: [&str; 11] = [
    "ld-linux",
    "linux-vdso",
    "libc.",
    "libc++",
    "libgcc_s.",
    "libglib-2.0.",
    "libgomp.",
    "libm.",
    "libpthread.",
    "libstdc++.",
    "libtsan.",
];

/// The stacks of a native program's threads.
pub(super) struct OwnFrames {
    /// By thread: its stack.
    stacks: Vec<Option<IncarnationId>>,
    /// Addresses on stacks that were stored elsewhere, ascending.
    given_away: Vec<(IncarnationId, u64)>,
    /// The first thread's stack, which no event allocates.
    first: Range<u64>,
}

impl OwnFrames {
    /// Of a trace whose accesses are known. There are none if it is no recording of a native program, which lists its
    /// modules, or if nothing can be told.
    pub(super) fn of(trace: &Trace) -> OwnFrames {
        if trace.tables.modules.is_empty() || trace.unrecorded_code_has_threads() {
            return OwnFrames {
                stacks: Vec::new(),
                given_away: Vec::new(),
                first: 0..0,
            };
        }
        let first = first_stack(&trace.tables.images, &trace.tables.modules);
        let threads = (0..trace.threads() as u32).map(ThreadId);
        let stacks: Vec<Option<IncarnationId>> = threads.map(|thread| trace.own_stack(thread)).collect();
        let owners = Owners::of(trace, stacks.iter().copied().flatten().collect());
        let mut given_away: Vec<(IncarnationId, u64)> = trace
            .accesses()
            .filter(|access| access.size == 8 && access.kind != AccessKind::Free && access.kind.writes())
            .flat_map(|access| {
                let value = trace.uses(access).fold(0, |value, used| {
                    let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
                    value | used.written.checked_shl(shift).unwrap_or(0)
                });
                let stack = owners.at(value, access.event);
                let stack = stack.filter(|&stack| stack != trace.incarnation_of(access.event));
                let on_first = first.contains(&value) && !is_on(trace, &first, access);
                let of_first = on_first.then_some(IncarnationId::STATIC);
                stack.into_iter().chain(of_first).map(move |stack| (stack, value))
            })
            .collect();
        given_away.sort_unstable();
        given_away.dedup();
        OwnFrames {
            stacks,
            given_away,
            first,
        }
    }

    /// Whether changes of a byte that only this thread accesses are its own.
    pub(super) fn keep(&self, thread: ThreadId, block: IncarnationId, addr: u64) -> bool {
        let is_first = thread == ThreadId(0) && block == IncarnationId::STATIC && self.first.contains(&addr);
        let is_own = is_first || self.stacks.get(thread.index()) == Some(&Some(block));
        let before = self.given_away.partition_point(|&given| given <= (block, addr));
        let given = before.checked_sub(1).map(|at| self.given_away[at]);
        is_own && given.is_none_or(|(of, given)| of != block || addr - given >= REACH)
    }
}

/// Whether an access is one of the first thread's stack.
fn is_on(trace: &Trace, first: &Range<u64>, access: Access) -> bool {
    first.contains(&access.addr) && trace.incarnation_of(access.event) == IncarnationId::STATIC
}

/// The first thread's stack, of which images are taken directly behind that of the recorder's own variables. These begin
/// with the frames that it had then; deeper ones are of it, too, as far as no other image says that something else is
/// there. It is no stack of a program if anything is loaded above it: a forked child begins on that of the thread that
/// forked it, which may lie among other memory.
fn first_stack(images: &[ImageInfo], modules: &[ModuleInfo]) -> Range<u64> {
    let Some(own) = images.iter().position(|image| image.addr == NOBODYS) else {
        return 0..0;
    };
    let mut stack = images[own + 1..].iter().take_while(|image| image.bytes.is_some());
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

/// Whose stack an address is on. The C library gives a new thread the memory of one that has ended, so the same address
/// means one stack now and another one later.
struct Owners {
    /// Where stacks begin and end, ascending.
    bounds: Vec<u64>,
    /// From each bound to the next: the stacks there, by when they came.
    stacks: Vec<Vec<(EventId, IncarnationId)>>,
}

impl Owners {
    fn of(trace: &Trace, mut stacks: Vec<IncarnationId>) -> Owners {
        let extent = |id: IncarnationId| {
            let block = &trace.incarnations[id.index()];
            block.addr..block.addr.saturating_add(block.size)
        };
        let since = |id: IncarnationId| trace.incarnations[id.index()].alloc.unwrap_or(EventId(0));
        stacks.sort_unstable_by_key(|&id| since(id));
        let mut bounds: Vec<u64> = stacks
            .iter()
            .flat_map(|&id| [extent(id).start, extent(id).end])
            .collect();
        bounds.sort_unstable();
        bounds.dedup();
        let mut owners = Owners {
            stacks: vec![Vec::new(); bounds.len()],
            bounds,
        };
        for id in stacks {
            let first = owners.bounds.partition_point(|&bound| bound < extent(id).start);
            let end = owners.bounds.partition_point(|&bound| bound < extent(id).end);
            for there in &mut owners.stacks[first..end] {
                there.push((since(id), id));
            }
        }
        owners
    }

    /// The stack that an address is on when an event happens: the last one that came before.
    fn at(&self, addr: u64, event: EventId) -> Option<IncarnationId> {
        let after = self.bounds.partition_point(|&bound| bound <= addr);
        let there = &self.stacks[after.checked_sub(1)?];
        let came = there.partition_point(|&(since, _)| since < event);
        Some(there[came.checked_sub(1)?].1)
    }
}

impl Trace {
    /// Whether a thread was created by a library of which no access is recorded, or by nobody in sight.
    fn unrecorded_code_has_threads(&self) -> bool {
        let mut forked = vec![false; self.program_order.len()];
        let mut creators: Vec<&ModuleInfo> = Vec::new();
        let fork = |op| match op {
            Op::Fork { child } => Some(child),
            _ => None,
        };
        for (event, child) in self.operations_with(fork) {
            if let Some(forked) = forked.get_mut(child.index()) {
                *forked = true;
            }
            let pc = self.pc(event);
            let module = self
                .tables
                .modules
                .iter()
                .find(|module| (module.start..module.end).contains(&pc));
            creators.extend(module.filter(|module| !creators.contains(module)));
        }
        // The first thread was there.
        let unforked = forked.iter().zip(&self.program_order).skip(1);
        let mut unforked = unforked.filter(|(forked, order)| !**forked && !order.is_empty());
        creators.retain(|module| {
            let name = module.path.rsplit('/').next().unwrap_or_default();
            !KNOWN.iter().any(|known| name.starts_with(known))
        });
        let is_recorded = |module: &&&ModuleInfo| {
            let within = |event| (module.start..module.end).contains(&self.pc(event));
            let plain = |kind| matches!(kind, AccessKind::Read | AccessKind::Write);
            self.accesses().any(|access| plain(access.kind) && within(access.event))
        };
        unforked.next().is_some() || creators.iter().any(|module| !is_recorded(&module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, MemoryOrder, Op as FileOp, StackId, Tables, ThreadInfo};

    const STACK: u64 = 0x7000;
    const LOCAL: MemRange = MemRange {
        addr: STACK + 0x80,
        size: 4,
    };
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
        for own in [stack + 0x80, stack + 0x1080, stack - 0x80, 0x10_1000] {
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
