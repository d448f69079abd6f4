//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, section 1, *External bytes*).
//!
//! gcc instruments no stores by which a structure is returned by value, nor what it expands in place after it has
//! instrumented. Nearly every C++ program reads such memory. In a recording of a native program, a change of a cell on
//! a thread's stack that only this thread accesses is taken for such a store, unless code of another thread, that
//! nobody recorded, may have made it. That needs the cell's address. Either the trace shows that it was given away,
//! stored elsewhere or as a new thread's argument; or it was given away in a register, to a call of a library that is
//! not recorded. So nothing is taken for a thread's own where such a library has threads. This errs where it has none,
//! but keeps an address for a later call by another thread.

use super::{AccessKind, IncarnationId, Op, ThreadId, Trace};
use trace_format::ModuleInfo;

/// How far behind an address that is given away the object may reach.
const REACH: u64 = 4096;

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
    given_away: Vec<u64>,
}

impl OwnFrames {
    /// Of a trace whose accesses are known. There are none if it is no recording of a native program, which lists its
    /// modules, or if nothing can be told.
    pub(super) fn of(trace: &Trace) -> OwnFrames {
        if trace.tables.modules.is_empty() || trace.unrecorded_code_has_threads() {
            return OwnFrames {
                stacks: Vec::new(),
                given_away: Vec::new(),
            };
        }
        let threads = (0..trace.threads() as u32).map(ThreadId);
        let stacks: Vec<Option<IncarnationId>> = threads.map(|thread| trace.own_stack(thread)).collect();
        let mut ranges: Vec<(u64, u64, IncarnationId)> = stacks
            .iter()
            .flatten()
            .map(|&id| {
                let block = &trace.incarnations[id.index()];
                (block.addr, block.addr + block.size, id)
            })
            .collect();
        ranges.sort_unstable();
        let within = |value: u64| {
            let after = ranges.partition_point(|&(start, ..)| start <= value);
            let (_, end, id) = *ranges.get(after.checked_sub(1)?)?;
            (value < end).then_some(id)
        };
        let mut given_away: Vec<u64> = trace
            .accesses()
            .filter(|access| access.size == 8 && access.kind != AccessKind::Free && access.kind.writes())
            .filter_map(|access| {
                let value = trace.uses(access).fold(0, |value, used| {
                    let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
                    value | used.written.checked_shl(shift).unwrap_or(0)
                });
                (within(value)? != access.incarnation).then_some(value)
            })
            .collect();
        given_away.sort_unstable();
        given_away.dedup();
        OwnFrames { stacks, given_away }
    }

    /// Whether changes of a byte that only this thread accesses are its own.
    pub(super) fn keep(&self, thread: ThreadId, block: IncarnationId, addr: u64) -> bool {
        let is_own = self.stacks.get(thread.index()) == Some(&Some(block));
        let before = self.given_away.partition_point(|&given| given <= addr);
        let given = before.checked_sub(1).map(|at| self.given_away[at]);
        is_own && given.is_none_or(|given| addr - given >= REACH)
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
