//! Candidates of torn pairs: two reads by one thread of variables that stand for the same, and another thread's writes
//! of both (`docs/SEMANTICS.md`, section 3).
//!
//! The variables are those of a redundant pair in the sense of Wang and Matsubara's D-FORCE (see `docs/atomicity.md`):
//! the user names them, or the program compares them with each other.

use super::calls::Calls;
use crate::semantics::interrupted::Part;
use crate::trace::{Access, CellId, CodePosition, EventId, ThreadId, Trace};
use crate::verdict::Regions;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trace_format::MarkKind;

/// Events of a thread before a comparison that are looked at for what it compares.
const RECENT: usize = 16;

/// Two variables that stand for the same, as their cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twins {
    /// The one.
    pub one: Vec<CellId>,
    /// The other.
    pub other: Vec<CellId>,
}

/// Two reads by one thread in one call, of one variable each, with no access of the pair in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reads {
    /// The first.
    pub first: EventId,
    /// The second.
    pub second: EventId,
}

/// Two writes by one thread in one call, of one variable each, with no other write of the pair in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Update {
    /// Of the variable that is read first.
    pub of_first: EventId,
    /// Of the other one.
    pub of_second: EventId,
}

/// Four positions: of the first read, of the writes of what it and the second read, and of the second read.
#[derive(Clone, Debug)]
pub struct TornPair {
    /// The positions.
    pub positions: [CodePosition; 4],
    /// The number of the pair.
    pub twins: usize,
    /// The reads at these positions and the writes of the same variables, each in the order of π: once for each of the
    /// two that is read first.
    pub groups: Vec<(Vec<Reads>, Vec<Update>)>,
}

impl TornPair {
    /// All reads at these positions.
    pub fn reads(&self) -> impl Iterator<Item = Reads> + '_ {
        self.groups.iter().flat_map(|(reads, _)| reads.iter().copied())
    }
}

/// All candidates of a trace.
#[derive(Clone, Debug, Default)]
pub struct TornPairs {
    /// In the order of their first reads.
    pub list: Vec<TornPair>,
}

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Side {
    One,
    Other,
}

/// The last accesses of a pair by a thread, on the way through it.
#[derive(Clone, Copy, Default)]
struct Last {
    access: Option<(EventId, Side, Part)>,
    write: Option<(EventId, Side)>,
}

/// What a pair of variables is accessed by.
#[derive(Default)]
struct Found {
    /// By the positions of both, and the side of the first.
    reads: BTreeMap<(Side, CodePosition, CodePosition), Vec<Reads>>,
    /// By the positions of the writes of the one and of the other.
    updates: BTreeMap<(CodePosition, CodePosition), Vec<[EventId; 2]>>,
}

impl TornPairs {
    /// Finds all; if all regions are asked about, also where the two are in different calls.
    #[must_use]
    pub fn of(trace: &Trace, twins: &[Twins], regions: Regions) -> TornPairs {
        let mut sides: HashMap<CellId, Vec<(usize, Side)>> = HashMap::new();
        for (number, pair) in twins.iter().enumerate() {
            let cells = pair.one.iter().map(|&cell| (cell, Side::One));
            for (cell, side) in cells.chain(pair.other.iter().map(|&cell| (cell, Side::Other))) {
                sides.entry(cell).or_default().push((number, side));
            }
        }
        if sides.is_empty() {
            return TornPairs::default();
        }
        let mut found: Vec<Found> = twins.iter().map(|_| Found::default()).collect();
        let mut calls = Calls::of(trace);
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            calls.begin();
            let mut last = vec![Last::default(); twins.len()];
            for (place, event) in (0..).zip(trace.program_order(thread)) {
                if trace.pc(event) != 0 {
                    calls.step(place, trace.stack(event), trace.pc(event));
                }
                let access = trace.access(event);
                let Some((access, part)) = access.and_then(|access| Some((access, Part::of(access.kind)?))) else {
                    continue;
                };
                let touched: HashSet<(usize, Side)> = trace
                    .uses(access)
                    .filter_map(|used| sides.get(&used.cell))
                    .flatten()
                    .copied()
                    .collect();
                for &(pair, side) in &touched {
                    let last = &mut last[pair];
                    if touched.contains(&(pair, side.opposite())) {
                        // It sees or leaves both at once.
                        last.access = None;
                        last.write = last.write.filter(|_| !part.writes);
                        continue;
                    }
                    let together = |first| regions == Regions::All || calls.shared_with(trace, first, event).is_some();
                    if let Some((first, its_side, its)) = last.access
                        && (its.reads && part.reads && its_side != side && together(first))
                    {
                        let key = (its_side, trace.pc(first), trace.pc(event));
                        let second = event;
                        found[pair].reads.entry(key).or_default().push(Reads { first, second });
                    }
                    if part.writes {
                        if let Some((first, its_side)) = last.write
                            && its_side != side
                            && together(first)
                        {
                            let both = if side == Side::Other {
                                [first, event]
                            } else {
                                [event, first]
                            };
                            let key = (trace.pc(both[0]), trace.pc(both[1]));
                            found[pair].updates.entry(key).or_default().push(both);
                        }
                        last.write = Some((event, side));
                    }
                    last.access = Some((event, side, part));
                }
            }
        }
        let mut list: Vec<TornPair> = (0..)
            .zip(found)
            .flat_map(|(twins, found)| found.candidates(trace, twins))
            .collect();
        list.sort_by_key(|candidate| (candidate.groups[0].0[0], candidate.positions));
        TornPairs { list }
    }
}

impl Found {
    fn candidates(self, trace: &Trace, twins: usize) -> Vec<TornPair> {
        type Group = (Vec<Reads>, Vec<Update>);
        let mut all: BTreeMap<[CodePosition; 4], Vec<Group>> = BTreeMap::new();
        for ((side, first, second), reads) in &self.reads {
            for ((one, other), updates) in &self.updates {
                let update = |&[one, other]: &[EventId; 2]| match side {
                    Side::One => [one, other],
                    Side::Other => [other, one],
                };
                let updates = updates
                    .iter()
                    .map(update)
                    .map(|[of_first, of_second]| Update { of_first, of_second });
                let updates: Vec<Update> = updates.collect();
                let thread = |event| trace.thread(event);
                let apart = |reads: &Reads| {
                    let mut writers = updates.iter().map(|update| thread(update.of_first));
                    writers.any(|writer| writer != thread(reads.first))
                };
                if reads.iter().any(apart) {
                    let [of_first, of_second] = if *side == Side::One {
                        [*one, *other]
                    } else {
                        [*other, *one]
                    };
                    let groups = all.entry([*first, of_first, of_second, *second]).or_default();
                    groups.push((reads.clone(), updates));
                }
            }
        }
        let candidate = |(positions, groups)| TornPair {
            positions,
            twins,
            groups,
        };
        all.into_iter().map(candidate).collect()
    }
}

impl Side {
    fn opposite(self) -> Side {
        match self {
            Side::One => Side::Other,
            Side::Other => Side::One,
        }
    }
}

impl Twins {
    /// Those that the program compares: where it announces that it compares two values, and its thread's last two
    /// accesses of memory that is `shared` have seen these.
    #[must_use]
    pub fn compared(trace: &Trace, shared: &[bool]) -> Vec<Twins> {
        let mut found = Vec::new();
        for mark in &trace.tables().marks {
            if mark.kind != MarkKind::Compared || mark.thread.index() >= trace.threads() {
                continue;
            }
            let own = trace.program_order(mark.thread);
            let before = own.partition_point(|event| u64::from(event.0) < mark.before);
            let recent = own.until(before).rev().take(RECENT);
            let accesses = recent.filter_map(|event| trace.access(event));
            // Compilers keep copies on the stack between.
            let is_shared = |access: &Access| {
                trace
                    .uses(*access)
                    .any(|used| shared.get(used.cell.index()) == Some(&true))
            };
            let mut last = accesses.filter(|access| Part::of(access.kind).is_some() && is_shared(access));
            let (Some(second), Some(first)) = (last.next(), last.next()) else {
                continue;
            };
            let sees = |access: Access, value: u64| {
                let mut uses = trace.uses(access);
                let whole = uses.next().filter(|_| uses.next().is_none());
                whole.is_some_and(|used| access.kind.reads() && used.read == value)
            };
            let (one, other) = (mark.addr, mark.size);
            if !(sees(first, one) && sees(second, other) || sees(first, other) && sees(second, one)) {
                continue;
            }
            let cells = |access| -> Vec<CellId> { trace.uses(access).map(|used| used.cell).collect() };
            let (one, other) = (cells(first), cells(second));
            let twins = Twins {
                one: one.clone().min(other.clone()),
                other: one.max(other),
            };
            if twins.one != twins.other && !found.contains(&twins) {
                found.push(twins);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MarkInfo, MemRange, Op, StackId, Tables};

    const X: MemRange = MemRange { addr: 0x1000, size: 4 };
    const Y: MemRange = MemRange { addr: 0x2000, size: 4 };

    fn trace(marks: &[(u64, u64, u64)], events: &[(u32, u64, Op)]) -> Trace {
        let mark = |&(before, addr, size): &(u64, u64, u64)| MarkInfo {
            kind: MarkKind::Compared,
            thread: ThreadId(0),
            before,
            addr,
            size,
            text: String::new(),
        };
        let tables = Tables {
            threads: vec![Default::default(); 2],
            marks: marks.iter().map(mark).collect(),
            ..Tables::default()
        };
        let event = |&(thread, pc, op): &(u32, u64, Op)| Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        };
        Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>())
    }

    fn read(mem: MemRange, value: u64) -> Op {
        Op::Read { mem, value }
    }

    fn write(mem: MemRange, value: u64) -> Op {
        Op::Write { mem, value }
    }

    fn twins(trace: &Trace) -> Twins {
        let of = |mem: MemRange| {
            let cells = (0..).map(CellId).zip(trace.cells());
            cells
                .filter(|(_, cell)| cell.addr == mem.addr)
                .map(|(id, _)| id)
                .collect()
        };
        Twins {
            one: of(X),
            other: of(Y),
        }
    }

    #[test]
    fn reads_and_writes_of_both_are_put_together() {
        let trace = trace(
            &[],
            &[
                (0, 10, read(Y, 0)),
                (0, 11, read(X, 0)),
                (1, 20, write(X, 1)),
                (1, 21, write(Y, 1)),
                // Back again: another round.
                (1, 20, write(X, 2)),
                (1, 21, write(Y, 2)),
            ],
        );
        let found = TornPairs::of(&trace, &[twins(&trace)], Regions::Serial);
        let [candidate] = &found.list[..] else {
            panic!("{found:?}")
        };
        assert_eq!(candidate.positions, [10, 21, 20, 11]);
        let reads = Reads {
            first: EventId(0),
            second: EventId(1),
        };
        assert_eq!(candidate.reads().collect::<Vec<_>>(), [reads]);
        let update = |of_first, of_second| Update {
            of_first: EventId(of_first),
            of_second: EventId(of_second),
        };
        assert_eq!(candidate.groups[0].1, [update(3, 2), update(5, 4)]);
    }

    #[test]
    fn an_own_write_between_the_reads_leaves_no_pair() {
        let own = [(0, 10, read(X, 0)), (0, 11, write(X, 0)), (0, 12, read(Y, 0))];
        let others = [(1, 20, write(X, 1)), (1, 21, write(Y, 1))];
        let trace = trace(&[], &[&own[..], &others].concat());
        assert_eq!(TornPairs::of(&trace, &[twins(&trace)], Regions::Serial).list.len(), 0);
    }

    #[test]
    fn what_is_compared_right_after_it_was_read_is_a_pair() {
        let events = [
            (0, 10, read(X, 5)),
            (0, 11, read(Y, 6)),
            (1, 20, write(X, 7)),
            (1, 21, write(Y, 7)),
        ];
        for (mark, mined) in [((2, 5, 6), 1), ((2, 6, 5), 1), ((2, 5, 5), 0), ((1, 5, 6), 0)] {
            let trace = trace(&[mark], &events);
            let found = Twins::compared(&trace, &[true; 2]);
            assert_eq!(found.len(), mined, "{mark:?}");
            if let Some(found) = found.first() {
                assert_eq!(found, &twins(&trace));
            }
            assert_eq!(Twins::compared(&trace, &[false, true]), []);
        }
    }
}
