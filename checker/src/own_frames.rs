//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, *External bytes*).
//!
//! In a recording of a native program, an unexplained change of a byte on the stack of the only thread that accesses it
//! is that thread's own, unless code of another thread that nobody recorded may have had its address.

use crate::before::Facts;
use crate::bytes::{BlockId, Bytes};
use crate::recording::{Recording, all};
use hashbrown::HashSet;
use trace_format::{EventId, ModuleInfo, Op, ThreadId};

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

/// Whether anything can be told of the stacks of a trace: it is a native program's, and every thread was created by
/// code that is recorded, or known.
pub(crate) fn are_known(recording: &dyn Recording, facts: &Facts) -> bool {
    let modules = &recording.tables().modules;
    let module_at = |event: EventId| {
        let pc = recording.pc(event);
        modules
            .iter()
            .position(|module| (module.start..module.end).contains(&pc))
    };
    let mut creators: HashSet<usize> = facts.forks().filter_map(module_at).collect();
    creators.retain(|&module| !is_known(&modules[module]));
    // Code of which a plain access is recorded was instrumented.
    for event in all(recording) {
        if creators.is_empty() {
            break;
        }
        if matches!(recording.op(event), Op::Read { .. } | Op::Write { .. })
            && let Some(module) = module_at(event)
        {
            creators.remove(&module);
        }
    }
    // The first thread was there.
    let threads = (1..recording.threads() as u32).map(ThreadId);
    let mut unforked = threads.filter(|&thread| facts.fork_of(thread).is_none() && facts.last_of(thread).is_some());
    !modules.is_empty() && creators.is_empty() && unforked.next().is_none()
}

fn is_known(module: &ModuleInfo) -> bool {
    let name = module.path.rsplit('/').next().unwrap_or_default();
    KNOWN.iter().any(|known| name.starts_with(known))
}

/// Whether a byte, at an address in a block, is on the stack of `thread`, and its address was not given away.
pub(crate) fn keep(bytes: &Bytes, block: BlockId, addr: u64, thread: ThreadId) -> bool {
    let given = bytes.given_away.partition_point(|&given| given <= (block, addr));
    let given = given.checked_sub(1).map(|last| bytes.given_away[last]);
    let reached = given.is_some_and(|(of, given)| of == block && addr - given < REACH);
    let is_first = block == 0 && thread == ThreadId(0) && bytes.first_stack.contains(&addr);
    (is_first || bytes.blocks[block as usize].stack_of == Some(thread)) && !reached
}
