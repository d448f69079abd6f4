//! Candidates of atomicity violations: two accesses of one thread in one region, and one of another thread that would
//! be out of place between them (`docs/SEMANTICS.md`, sections 3 and 4).
//!
//! As in AVIO (Lu et al., ASPLOS 2006), the two follow each other: their thread does not access the byte in between.
//! Where AVIO learns from many runs which of them nothing ever interrupts, what is asked about here are regions of one
//! run, and another order of the same run answers.

use super::calls::Calls;
use super::marked::Marked;
use crate::semantics::futexes::{is_of_system, joins_waiters};
use crate::semantics::interrupted::{Part, is_pattern};
use crate::trace::{Access, CellId, CodePosition, EventId, ObjectId, SectionId, Sections, ThreadId, Trace};
use crate::verdict::{Region, Regions};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::ops::Range;
use trace_format::NOBODYS;

/// Where the variables begin, and end, that stand for what the models of libraries keep, such as how far the threads of a
/// loop have come: `recorders/native/src/events/variable.rs`, `fresh`.
const OF_LIBRARIES: Range<u64> = NOBODYS | 1 << 60..NOBODYS | 1 << 61;

/// Two accesses of one thread to a cell, in one region.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The first.
    pub first: EventId,
    /// The second.
    pub second: EventId,
    /// The cell.
    pub cell: CellId,
    /// The region.
    pub region: Region,
}

/// Accesses of one cell by one thread at one position, which do the same, in program order.
#[derive(Clone, Debug)]
pub struct Intruders {
    /// The thread.
    pub thread: ThreadId,
    /// The position.
    pub position: CodePosition,
    part: Part,
    /// The accesses.
    pub events: Vec<EventId>,
}

/// Three positions: of the first access, of the other thread's, and of the second.
pub type Positions = [CodePosition; 3];

/// A triple of positions.
#[derive(Clone, Debug)]
pub struct Interruption {
    /// The positions.
    pub positions: Positions,
    /// The stretches, each with those of another thread's accesses that would be out of place in them: numbers of both.
    pub instances: Vec<(u32, u32)>,
}

/// All candidates of a trace.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    /// The stretches, in the order of π.
    pub stretches: Vec<Stretch>,
    /// What may come between.
    pub intruders: Vec<Intruders>,
    /// The candidates, by the stretch that comes first in the trace.
    pub list: Vec<Interruption>,
    /// What the program calls the regions that it marks: those with numbers from [`Asked::atomic_places`] on.
    pub marked: Vec<String>,
}

/// Which regions are asked about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Of calls and sections.
    pub regions: Regions,
    /// Whether two positions are known to be at different lines of the code.
    pub apart: &'a dyn Fn(CodePosition, CodePosition) -> bool,
    /// How many places the user calls atomic.
    pub atomic_places: u32,
    /// In which of them a position is.
    pub atomic: &'a dyn Fn(CodePosition) -> Vec<u32>,
}

impl Interruptions {
    /// Finds all.
    #[must_use]
    pub fn of(trace: &Trace, sections: &Sections, asked: &Asked<'_>) -> Interruptions {
        let (regions, marked) = (asked.regions, Marked::of(trace));
        let shared = shared_cells(trace);
        let (intruders, of_cell) = intruders(trace, &shared);
        let mut walk = Walk {
            trace,
            sections,
            asked,
            marked: &marked,
            calls: Calls::of(trace),
            stretches: Vec::new(),
            checked_again: HashSet::new(),
        };
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            walk.thread(thread, &shared);
        }
        let (mut stretches, checked_again) = (walk.stretches, walk.checked_again);
        stretches.sort_unstable_by_key(|stretch| (stretch.first, stretch.second, stretch.cell));
        let positions = |stretch: &Stretch| (trace.pc(stretch.first), trace.pc(stretch.second));
        let mut tallies: HashMap<(CodePosition, CodePosition), Tally> = HashMap::new();
        for stretch in stretches.iter().filter(|_| regions == Regions::Serial) {
            let tally = tallies.entry(positions(stretch)).or_default();
            tally.count += 1;
            let sites = of_cell.get(&stretch.cell).into_iter().flatten();
            let mut sites = sites.map(|&number| &intruders[number as usize]);
            tally.interrupted += u32::from(sites.any(|site| site.is_between(trace, stretch)));
        }
        stretches.retain(|stretch| {
            let positions = positions(stretch);
            regions != Regions::Serial
                || matches!(stretch.region, Region::Atomic { .. })
                || !checked_again.contains(&positions) && tallies.get(&positions).is_some_and(Tally::is_serial)
        });
        let mut by_positions: BTreeMap<Positions, Vec<(u32, u32)>> = BTreeMap::new();
        for (number, stretch) in (0..).zip(&stretches) {
            let (first, second) = positions(stretch);
            for &site in of_cell.get(&stretch.cell).into_iter().flatten() {
                let other = &intruders[site as usize];
                if other.is_out_of_place(trace, stretch) {
                    let key = [first, other.position, second];
                    by_positions.entry(key).or_default().push((number, site));
                }
            }
        }
        let mut list: Vec<Interruption> = by_positions
            .into_iter()
            .map(|(positions, instances)| Interruption { positions, instances })
            .collect();
        list.sort_by_key(|candidate| (candidate.instances[0], candidate.positions));
        Interruptions {
            stretches,
            intruders,
            list,
            marked: marked.into_names(),
        }
    }
}

/// How often two positions are in one region, and how often something came between in π.
#[derive(Default)]
struct Tally {
    count: u32,
    interrupted: u32,
}

impl Tally {
    fn is_serial(&self) -> bool {
        self.interrupted * 2 <= self.count
    }
}

impl Intruders {
    /// Whether these are out of place in a stretch.
    fn is_out_of_place(&self, trace: &Trace, stretch: &Stretch) -> bool {
        let part = |event| trace.access(event).and_then(|access| Part::of(access.kind));
        self.thread != trace.thread(stretch.first)
            && part(stretch.first)
                .zip(part(stretch.second))
                .is_some_and(|(first, second)| is_pattern(first, self.part, second))
    }

    /// Whether, in π, one of these came where it is out of place.
    fn is_between(&self, trace: &Trace, stretch: &Stretch) -> bool {
        let behind = self.events.partition_point(|&event| event < stretch.first);
        self.events.get(behind).is_some_and(|&event| event < stretch.second) && self.is_out_of_place(trace, stretch)
    }
}

/// The cells that several threads access, at least one of which writes.
#[must_use]
pub fn shared_cells(trace: &Trace) -> Vec<bool> {
    let mut seen: Vec<(Option<ThreadId>, bool, bool)> = vec![(None, false, false); trace.cells().len()];
    for access in trace.accesses() {
        let Some(part) = Part::of(access.kind) else { continue };
        let thread = trace.thread(access.event);
        for used in trace.uses(access) {
            let (first, others, written) = &mut seen[used.cell.index()];
            *others |= *first.get_or_insert(thread) != thread;
            *written |= part.writes;
        }
    }
    seen.into_iter().map(|(_, others, written)| others && written).collect()
}

/// What accesses shared cells, and by cell the numbers of these.
fn intruders(trace: &Trace, shared: &[bool]) -> (Vec<Intruders>, HashMap<CellId, Vec<u32>>) {
    let mut all: Vec<Intruders> = Vec::new();
    let mut of_cell: HashMap<CellId, Vec<u32>> = HashMap::new();
    let mut numbers: HashMap<(CellId, ThreadId, CodePosition, Part), u32> = HashMap::new();
    for access in trace.accesses() {
        let Some(part) = Part::of(access.kind) else { continue };
        let (thread, position) = (trace.thread(access.event), trace.pc(access.event));
        for used in trace.uses(access).filter(|used| shared[used.cell.index()]) {
            let number = *numbers.entry((used.cell, thread, position, part)).or_insert_with(|| {
                all.push(Intruders {
                    thread,
                    position,
                    part,
                    events: Vec::new(),
                });
                of_cell.entry(used.cell).or_default().push(all.len() as u32 - 1);
                all.len() as u32 - 1
            });
            all[number as usize].events.push(access.event);
        }
    }
    (all, of_cell)
}

struct Walk<'t> {
    trace: &'t Trace,
    sections: &'t Sections,
    asked: &'t Asked<'t>,
    marked: &'t Marked,
    calls: Calls,
    stretches: Vec<Stretch>,
    /// Positions of two reads of which the second makes the check of the first again.
    checked_again: HashSet<(CodePosition, CodePosition)>,
}

impl Walk<'_> {
    fn thread(&mut self, thread: ThreadId, shared: &[bool]) {
        let trace = self.trace;
        self.calls.begin();
        let follows_calls = self.asked.regions != Regions::All || self.asked.atomic_places > 0;
        let mut last: HashMap<CellId, (EventId, Option<EventId>)> = HashMap::new();
        for (place, event) in (0..).zip(trace.program_order(thread)) {
            // What has no place in the code, as what a library allocates, has no stack either.
            if follows_calls && trace.pc(event) != 0 {
                self.calls.step(place, trace.stack(event), trace.pc(event));
            }
            let access = trace.access(event);
            let Some(access) = access.filter(|access| Part::of(access.kind).is_some()) else {
                continue;
            };
            for used in trace.uses(access).filter(|used| shared[used.cell.index()]) {
                let before = last.get(&used.cell).copied();
                last.insert(used.cell, (event, before.map(|(first, _)| first)));
                let Some((first, earlier)) = before else { continue };
                if let Some(region) = self.region(thread, first, access) {
                    self.stretches.push(Stretch {
                        first,
                        second: event,
                        cell: used.cell,
                        region,
                    });
                }
                if let Some(earlier) = earlier {
                    self.note_check(thread, [earlier, first, event]);
                }
            }
        }
    }

    fn region(&self, thread: ThreadId, first: EventId, second: Access) -> Option<Region> {
        if let Some(stated) = self.stated(thread, first, second.event) {
            return Some(stated);
        }
        if self.asked.regions == Regions::All {
            return Some(Region::Successive);
        }
        if self.asked.regions == Regions::Serial && self.sees_to_it(first, second) {
            return None;
        }
        let depth = self.calls.shared_with(self.trace, first, second.event)?;
        if let Some(lock) = self.taken_again(thread, first, second.event) {
            return Some(Region::Section(lock));
        }
        // In a native recording, what the thread began with was called by the runtime, or by the C library.
        let own = u32::from(!self.trace.tables().modules.is_empty());
        (depth > own).then_some(Region::Call)
    }

    /// Whether the second access sees what came in between, or a library cares for that.
    fn sees_to_it(&self, first: EventId, second: Access) -> bool {
        let writes = |event| self.trace.access(event).is_some_and(|access| access.kind.writes());
        // An operation that reads what is there when it writes, behind a read; the comparison before a wait, which does
        // not begin if something else is there.
        second.kind.reads() && second.kind.writes() && !writes(first)
            || joins_waiters(self.trace, second.event).is_some()
            || OF_LIBRARIES.contains(&second.addr)
    }

    /// The region that is called atomic, by the program or by the user, and that both are in.
    fn stated(&self, thread: ThreadId, first: EventId, second: EventId) -> Option<Region> {
        if let Some(mark) = self.marked.with_both(thread, first, second) {
            return Some(Region::Atomic {
                number: self.asked.atomic_places + mark,
                marked: true,
            });
        }
        if self.asked.atomic_places == 0 || self.trace.pc(first) == 0 {
            return None;
        }
        let trace = self.trace;
        // Where the innermost call is not known to be the same, those around it are not either.
        let deepest = self.calls.shared_with(trace, first, second)?;
        (0..=deepest)
            .rev()
            .filter(|&depth| self.calls.is_since(trace, first, depth))
            .find_map(|depth| {
                let at = |event| self.calls.position(trace.stack(event), trace.pc(event), depth);
                let now = (self.asked.atomic)(at(second));
                let mut places = (self.asked.atomic)(at(first)).into_iter();
                let number = places.find(|place| now.contains(place))?;
                Some(Region::Atomic { number, marked: false })
            })
    }

    /// The sections that a thread is in at an event.
    fn open_at(&self, thread: ThreadId, event: EventId) -> Vec<SectionId> {
        let open = self.sections.open_after(thread, self.trace.place(event));
        open.collect()
    }

    /// A lock that the thread holds at both, and not all the time.
    fn taken_again(&self, thread: ThreadId, first: EventId, second: EventId) -> Option<ObjectId> {
        let (before, now) = (self.open_at(thread, first), self.open_at(thread, second));
        let mut locks = now
            .iter()
            .filter(|id| !before.contains(id))
            .map(|&id| self.sections.get(id).lock)
            .filter(|&lock| !is_of_system(self.trace, lock));
        locks.find(|&lock| before.iter().any(|&id| self.sections.get(id).lock == lock))
    }

    /// Notes two reads of which the second begins a section in which a write at another line follows.
    fn note_check(&mut self, thread: ThreadId, [first, second, third]: [EventId; 3]) {
        let does = |event| self.trace.access(event).and_then(|access| Part::of(access.kind));
        let reads = |event| does(event).is_some_and(|part| part.reads && !part.writes);
        let writes = does(third).is_some_and(|part| part.writes);
        let (one, other) = (self.trace.pc(second), self.trace.pc(third));
        if !reads(first) || !reads(second) || !writes || !(self.asked.apart)(one, other) {
            return;
        }
        let (before, now, then) = (
            self.open_at(thread, first),
            self.open_at(thread, second),
            self.open_at(thread, third),
        );
        if now.iter().any(|id| !before.contains(id) && then.contains(id)) {
            self.checked_again.insert((self.trace.pc(first), one));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, MemoryOrder, ObjectInfo, ObjectKind, Op, StackId, StackNode, Tables};

    const LOCK: ObjectId = ObjectId(0);

    /// Thread 0 does these, each at a position, in a stack; then thread 1 writes.
    fn regions(events: &[(u64, u32, Op)], regions: Regions) -> Vec<(u64, u64, Region)> {
        let node = |parent, call_site| StackNode {
            parent: StackId(parent),
            call_site,
        };
        let tables = Tables {
            objects: vec![ObjectInfo {
                kind: ObjectKind::Mutex,
                addr: 0,
                name: None,
                initial: 0,
            }],
            // A function that is called at 50 and at 60, and one that the first of these calls at 25.
            stacks: vec![node(0, 50), node(0, 60), node(1, 25)],
            ..Tables::default()
        };
        let own = events.iter().map(|&(pc, stack, op)| (0, pc, stack, op));
        let event = |(thread, pc, stack, op): (u32, u64, u32, Op)| Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId(stack),
            op,
        };
        let all: Vec<Event> = own.chain([(1, 90, 0, write())]).map(event).collect();
        let trace = Trace::from_events(tables, &all);
        // Positions of one ten are at one line.
        let apart = |one: u64, other: u64| one / 10 != other / 10;
        let asked = Asked {
            regions,
            apart: &apart,
            atomic_places: 1,
            // A function at the positions from 100 on.
            atomic: &|position| if position >= 100 { vec![0] } else { Vec::new() },
        };
        let found = Interruptions::of(&trace, &Sections::of(&trace), &asked);
        let stretches = found.stretches.iter();
        stretches
            .map(|stretch| (trace.pc(stretch.first), trace.pc(stretch.second), stretch.region))
            .collect()
    }

    const MEM: MemRange = MemRange { addr: 0x1000, size: 4 };

    fn read() -> Op {
        Op::Read { mem: MEM, value: 0 }
    }

    fn write() -> Op {
        Op::Write { mem: MEM, value: 0 }
    }

    fn take() -> Op {
        Op::Acquire {
            lock: LOCK,
            attempt: false,
        }
    }

    fn give() -> Op {
        Op::Release { lock: LOCK }
    }

    #[test]
    fn a_call_is_a_region_and_the_first_one_of_a_thread_is_not() {
        let in_call = [(10, 1, read()), (20, 1, write())];
        assert_eq!(regions(&in_call, Regions::Serial), [(10, 20, Region::Call)]);
        let in_first = [(10, 0, read()), (20, 0, write())];
        assert_eq!(regions(&in_first, Regions::Serial), []);
        assert_eq!(regions(&in_first, Regions::All), [(10, 20, Region::Successive)]);
        let across = [(10, 1, read()), (20, 2, write())];
        assert_eq!(regions(&across, Regions::Any), [], "two calls of the function");
        let deeper = [(10, 3, read()), (30, 1, write())];
        assert_eq!(regions(&deeper, Regions::Serial), [(10, 30, Region::Call)]);
    }

    #[test]
    fn what_is_called_atomic_is_a_region_whatever_the_rest() {
        let stated = [(
            100,
            120,
            Region::Atomic {
                number: 0,
                marked: false,
            },
        )];
        for asked in [Regions::Serial, Regions::Any, Regions::All] {
            assert_eq!(regions(&[(100, 0, read()), (120, 0, write())], asked), stated);
        }
        // Called at 50 and 60, from somewhere else.
        assert_eq!(regions(&[(110, 1, read()), (120, 2, write())], Regions::Any), []);
        assert_eq!(
            regions(&[(120, 0, read()), (110, 0, write())], Regions::Any),
            [],
            "it began again"
        );
    }

    #[test]
    fn rounds_of_a_loop_are_regions_of_their_own() {
        let rounds = [(10, 1, read()), (20, 1, write()), (10, 1, read()), (20, 1, write())];
        let both = [(10, 20, Region::Call), (10, 20, Region::Call)];
        assert_eq!(regions(&rounds, Regions::Any), both);
        let back = [(20, 1, read()), (10, 1, write())];
        assert_eq!(regions(&back, Regions::Any), []);
    }

    #[test]
    fn a_lock_that_is_taken_again_makes_a_region() {
        let again = [
            (1, 0, take()),
            (10, 0, read()),
            (11, 0, give()),
            (12, 0, take()),
            (20, 0, write()),
            (21, 0, give()),
        ];
        assert_eq!(regions(&again, Regions::Serial), [(10, 20, Region::Section(LOCK))]);
        let held = [(1, 0, take()), (10, 0, read()), (20, 0, write()), (21, 0, give())];
        assert_eq!(regions(&held, Regions::Any), []);
    }

    #[test]
    fn what_the_system_compares_before_a_wait_is_left_out() {
        let order = MemoryOrder::Relaxed;
        let load = (
            20,
            1,
            Op::AtomicLoad {
                mem: MEM,
                value: 0,
                order,
            },
        );
        let mem = MemRange {
            addr: NOBODYS | MEM.addr,
            ..MEM
        };
        let joins = Op::AtomicRmw {
            mem,
            read: 0,
            written: 1,
            order,
        };
        let found = [(10, 20, Region::Call)];
        assert_eq!(regions(&[(10, 1, read()), load], Regions::Serial), found);
        let waits = [(10, 1, read()), load, (20, 1, joins)];
        assert_eq!(regions(&waits, Regions::Serial), []);
        assert_eq!(regions(&waits, Regions::Any), found);
    }

    #[test]
    fn a_check_that_is_made_again_is_left_out() {
        let mut checked = [
            (1, 0, take()),
            (10, 0, read()),
            (11, 0, give()),
            (12, 0, take()),
            (20, 0, read()),
            (30, 0, write()),
            (31, 0, give()),
        ];
        assert_eq!(regions(&checked, Regions::Serial), []);
        let of_section = (10, 20, Region::Section(LOCK));
        assert_eq!(regions(&checked, Regions::Any), [of_section]);
        // At the same line, it is one statement, as `x -= 1` is.
        checked[5].0 = 25;
        assert_eq!(regions(&checked, Regions::Serial), [of_section]);
    }
}
