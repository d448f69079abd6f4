//! Accesses whose races the program itself says are not to be reported: on memory that it calls benign, and in regions
//! that it wants ignored. They take part in everything but that.

use super::{Access, EventId, Incarnation, IncarnationId, Trace};
use hashbrown::HashMap;
use trace_format::{MarkKind, Tables, ThreadId};

/// What a program says of its races.
#[derive(Clone, Debug, Default)]
pub(super) struct Excuses {
    /// From which event on what a thread reads, and writes, is to be ignored.
    ignores: HashMap<ThreadId, Vec<(u64, bool, bool)>>,
    /// Ranges in which races do no harm: first byte, the byte behind it, the events before, and why.
    benign: Vec<(u64, u64, u64, String)>,
}

impl Excuses {
    pub(super) fn of(tables: &Tables) -> Excuses {
        let mut excuses = Excuses::default();
        for mark in &tables.marks {
            match mark.kind {
                MarkKind::Ignores { reads, writes } => {
                    let of_thread = excuses.ignores.entry(mark.thread).or_default();
                    of_thread.push((mark.before, reads, writes));
                }
                MarkKind::Benign => {
                    let end = mark.addr.saturating_add(mark.size);
                    excuses.benign.push((mark.addr, end, mark.before, mark.text.clone()));
                }
                MarkKind::Suppressions | MarkKind::AtomicBegin | MarkKind::AtomicEnd | MarkKind::Compared => {}
            }
        }
        for of_thread in excuses.ignores.values_mut() {
            of_thread.sort_by_key(|state| state.0);
        }
        excuses
    }
}

/// Whether a block was there when so many events had happened.
fn was_there(block: &Incarnation, events: u64) -> bool {
    let before = |event: EventId| u64::from(event.0) < events;
    block.alloc.is_none_or(before) && !block.free.is_some_and(before)
}

impl Trace {
    /// Whether the program says that races of this access are not to be reported.
    #[must_use]
    pub fn is_excused(&self, access: Access) -> bool {
        self.is_ignored(access) || self.benign(access).is_some()
    }

    /// Why the program says so.
    #[must_use]
    pub fn excuse(&self, access: Access) -> Option<String> {
        let ignored = self.is_ignored(access).then(|| {
            let what = if access.kind.writes() { "writes" } else { "reads" };
            format!("the program ignores its {what} here")
        });
        ignored.or_else(|| match self.benign(access)? {
            "" => Some("annotated as benign".to_owned()),
            text => Some(format!("annotated as benign: {text}")),
        })
    }

    fn is_ignored(&self, access: Access) -> bool {
        if self.excuses.ignores.is_empty() {
            return false;
        }
        let of_thread = self.excuses.ignores.get(&self.thread(access.event));
        of_thread.is_some_and(|states| {
            let at = states.partition_point(|state| state.0 <= u64::from(access.event.0));
            let last = at.checked_sub(1).map(|at| states[at]);
            last.is_some_and(|(_, reads, writes)| if access.kind.writes() { writes } else { reads })
        })
    }

    fn benign(&self, access: Access) -> Option<&str> {
        let end = access.addr.saturating_add(access.size);
        let ranges = self.excuses.benign.iter();
        let mut overlapping = ranges.filter(|(start, until, ..)| access.addr < *until && *start < end);
        overlapping
            .find(|(_, _, events, _)| {
                let incarnation = self.incarnation_of(access.event);
                incarnation == IncarnationId::STATIC || was_there(self.incarnation(incarnation), *events)
            })
            .map(|(.., why)| why.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MarkInfo, MemRange, Op, StackId};

    #[test]
    fn a_program_excuses_what_it_says_and_no_more() {
        let mark = |kind, before, addr, size| MarkInfo {
            kind,
            thread: ThreadId(0),
            before,
            addr,
            size,
            text: "x".into(),
        };
        let ignores = |reads, writes| MarkKind::Ignores { reads, writes };
        let tables = Tables {
            threads: vec![Default::default(); 2],
            marks: vec![
                mark(ignores(true, false), 2, 0, 0),
                mark(ignores(false, false), 4, 0, 0),
                mark(MarkKind::Benign, 7, 0x100, 4),
            ],
            ..Tables::default()
        };
        let mem = MemRange { addr: 0x40, size: 4 };
        let block = MemRange { addr: 0x102, size: 4 };
        let (read, write) = (Op::Read { mem, value: 0 }, Op::Write { mem, value: 0 });
        let alloc = || Op::Alloc { addr: 0x100, size: 8 };
        let on_block = Op::Write { mem: block, value: 1 };
        let ops = [
            (0, read),
            (1, read),
            (0, read),
            (0, write),
            (0, read),
            (1, read),
            (0, alloc()),
            (1, on_block),
            (0, Op::Free { addr: 0x100 }),
            (0, alloc()),
            (1, on_block),
        ];
        let events = ops.map(|(thread, op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        });
        let trace = Trace::from_events(tables, &events);
        let excused: Vec<u32> = trace
            .accesses()
            .filter(|&access| trace.is_excused(access))
            .map(|access| access.event.0)
            .collect();
        // The end of the benign block is an access of it, too; the block behind it is another one.
        assert_eq!(excused, [2, 7, 8]);
    }
}
