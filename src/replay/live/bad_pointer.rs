//! A null or stale pointer itself: the program runs along the schedule, its thread reads it, goes on by itself, and uses
//! what is not there.

use super::beyond::{GOES_ON, beyond};
use super::{LiveError, Planner};
use crate::schedule::{Goal, Schedule};
use crate::session::{Launch, Settings};
use crate::trace::{AccessKind, EventId, LoadError, Trace};
use rustix::process::Signal;
use trace_format::{PendingKind, ProgramEnd, TraceFile};

/// No object lies below this address; an access so far behind a pointer at most is one of what lies there.
const PAGE: u64 = 4096;

/// What became of a run whose thread was to use what a bad pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPointer {
    /// The program died of it.
    Died {
        /// What it tried to access.
        addr: u64,
    },
    /// The thread used a block that was freed.
    Used {
        /// What it accessed.
        addr: u64,
    },
    /// The program left the schedule before this event.
    Diverged(EventId),
    /// It followed the schedule, and did neither.
    NotReached {
        /// How the run ended.
        end: ProgramEnd,
    },
}

impl BadPointer {
    /// Whether the pointer was used.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        matches!(self, BadPointer::Died { .. } | BadPointer::Used { .. })
    }
}

/// Runs the program of a trace along the schedule of a null or a stale pointer, and then on.
///
/// # Errors
/// [`LiveError`]. That the program goes another way is a [`BadPointer`].
pub fn bad_pointer(planner: &Planner<'_>, schedule: &Schedule, launch: &Launch) -> Result<BadPointer, LiveError> {
    let trace = planner.checker().trace();
    let (ran, left_at) = beyond(planner, schedule, launch, GOES_ON, Settings::fifo())?;
    // What kills the program is an access that it has not done.
    let follows = |event| schedule.goal.pending().any(|read| trace.successor(read) == Some(event));
    let found = match (&schedule.goal, left_at) {
        (_, Some(left_at)) if !follows(left_at) => None,
        (&Goal::StalePointer { read, .. }, _) => stale(trace, read, &ran.trace().map_err(LoadError::Read)?)?,
        _ => null(trace, schedule, &ran.trace().map_err(LoadError::Read)?),
    };
    Ok(match (found, left_at) {
        (Some(found), _) => found,
        (None, Some(left_at)) => BadPointer::Diverged(left_at),
        (None, None) => BadPointer::NotReached { end: ran.end },
    })
}

/// Whether a thread that was about to read 0 died near address 0.
fn null(trace: &Trace, schedule: &Schedule, live: &TraceFile) -> Option<BadPointer> {
    let mut readers = schedule.goal.pending().map(|read| trace.thread(read));
    let addr = readers.find_map(|reader| died_at(live, reader))?;
    (addr < PAGE).then_some(BadPointer::Died { addr })
}

/// Where a thread died that accessed what is not there.
fn died_at(live: &TraceFile, thread: trace_format::ThreadId) -> Option<u64> {
    let mut pending = live.tables().meta.pending.iter().rev();
    let died =
        pending.find(|pending| pending.kind == PendingKind::Died(Signal::SEGV.as_raw()) && pending.thread == thread);
    died.map(|died| died.addr)
}

/// Whether a thread has used the block behind the pointer that it read, which was freed by then.
fn stale(trace: &Trace, read: EventId, file: &TraceFile) -> Result<Option<BadPointer>, LoadError> {
    let live = Trace::from_file(file)?;
    let thread = trace.thread(read);
    if thread.index() >= live.threads() {
        return Ok(None);
    }
    // Up to the read, the thread did what it was to do.
    let own = live.program_order(thread);
    let Some(done) = own.get(trace.place(read) as usize) else {
        return Ok(None);
    };
    let read = live.access(done).filter(|access| access.kind.reads());
    let Some(value) = read
        .and_then(|access| live.numbers(access).next())
        .map(|used| used.read)
    else {
        return Ok(None);
    };
    let near = |addr: u64| addr.checked_sub(value).is_some_and(|behind| behind < PAGE);
    // What it got it may copy to its own stack first.
    let copied = live.place(live.last_copy(done)) - live.place(done);
    let next = own
        .get((live.place(done) + 1 + copied) as usize)
        .and_then(|next| live.access(next));
    let used = next.filter(|next| next.kind != AccessKind::Free && near(next.addr));
    let by = used.map_or(EventId(live.len() as u32), |used| used.event);
    // Nothing that was there by then lives.
    let is_freed = |addr: u64| {
        let mut there = live.blocks_over(addr).filter(|&(alloc, _)| alloc < by).peekable();
        there.peek().is_some() && there.all(|(_, free)| free.is_some_and(|free| free < by))
    };
    let used = used.filter(|used| is_freed(used.addr));
    let died = died_at(file, thread).filter(|&addr| near(addr) && is_freed(addr));
    Ok(match (died, used) {
        _ if !is_freed(value) => None,
        (Some(addr), _) => Some(BadPointer::Died { addr }),
        (None, Some(used)) => Some(BadPointer::Used { addr: used.addr }),
        (None, None) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, ProgramEnd, StackId, Tables, ThreadId, ThreadInfo, TraceWriter};
    use trace_format::{Meta, PendingInfo, WriterOptions};

    const BLOCK: u64 = 0x1000;
    /// Another block, near enough to be reached from the pointer.
    const NEIGHBOUR: u64 = 0x1100;

    /// A thread reads a pointer to a block that is freed by then, and then accesses `addr`, or dies there.
    fn run(addr: u64, dies: bool) -> (Trace, TraceFile, EventId) {
        let pointer = MemRange { addr: 0x500, size: 8 };
        let used = MemRange { addr, size: 4 };
        let own = |op| (0, op);
        let mut events = vec![
            own(Op::Begin),
            own(Op::Alloc { addr: BLOCK, size: 64 }),
            own(Op::Alloc {
                addr: NEIGHBOUR,
                size: 64,
            }),
            own(Op::Write {
                mem: pointer,
                value: BLOCK,
            }),
            own(Op::Fork { child: ThreadId(1) }),
            own(Op::Free { addr: BLOCK }),
            (1, Op::Begin),
            (
                1,
                Op::Read {
                    mem: pointer,
                    value: BLOCK,
                },
            ),
        ];
        let read = EventId(events.len() as u32 - 1);
        events.extend((!dies).then_some((1, Op::Write { mem: used, value: 1 })));
        let pending = PendingInfo {
            thread: ThreadId(1),
            before: events.len() as u64,
            kind: PendingKind::Died(Signal::SEGV.as_raw()),
            pc: 0,
            stack: StackId::EMPTY,
            addr,
        };
        let meta = Meta {
            pending: dies.then_some(pending).into_iter().collect(),
            ..Meta::default()
        };
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &WriterOptions::default()).unwrap();
        writer.set_meta(meta);
        for parent in [None, Some(ThreadId(0))] {
            writer.define_thread(ThreadInfo {
                parent,
                ..ThreadInfo::default()
            });
        }
        for &(thread, op) in &events {
            writer.event(ThreadId(thread), 1, op).unwrap();
        }
        let (_, bytes) = writer.finish_sink(ProgramEnd::Exited(0)).unwrap();
        let file = TraceFile::from_bytes("memory", bytes).unwrap();
        let tables = Tables {
            threads: file.tables().threads.clone(),
            ..Tables::default()
        };
        let events: Vec<Event> = events
            .into_iter()
            .map(|(thread, op)| Event {
                thread: ThreadId(thread),
                pc: 1,
                stack: StackId::EMPTY,
                op,
            })
            .collect();
        (Trace::from_events(tables, &events), file, read)
    }

    fn found(addr: u64, dies: bool) -> Option<BadPointer> {
        let (trace, live, read) = run(addr, dies);
        stale(&trace, read, &live).unwrap()
    }

    #[test]
    fn what_is_used_is_what_was_freed_and_not_its_neighbour() {
        assert!(matches!(found(BLOCK + 16, false), Some(BadPointer::Used { .. })));
        assert!(found(NEIGHBOUR, false).is_none());
        assert!(found(NEIGHBOUR + 64, false).is_none(), "nobody's");
        assert!(matches!(found(BLOCK + 16, true), Some(BadPointer::Died { .. })));
        assert!(found(NEIGHBOUR, true).is_none());
    }
}
