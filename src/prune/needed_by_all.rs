//! What a read needs whichever write it sees, and a wait whichever notify ends it.
//!
//! Where few values are written again and again, hardly a read has a unique writer. But of the many writes of its value
//! nearly all are overwritten by the time, or come too late: for that, it has to be known that threads do not lag far
//! behind each other, and that follows from what reads need. So a relation S is sought that supports itself: the
//! *greatest* fixpoint of the function F, which says what an event x needs if what comes before x obeys S,
//!
//! > F(S)(x) = what the event before x in its thread needs by F(S), and that event; the same of each event that is
//! > already known to be needed before x; and if x reads, what all the writes need by S that it may see, those writes'
//! > own events included.
//!
//! A read of v may see a write w of v unless, by S, w needs the read; or something that the read needs is a later write
//! of the cell by w's thread, or one that needs w: w is overwritten then. It may see the initial value if it needs no
//! write of the cell. A wait may be ended by a notify that does not need the wait's end and is not needed by its
//! beginning.
//!
//! *Every S with S ⊆ F(S) holds in every feasible prefix*, by induction on where x comes in it: if S holds for all events
//! before x, the write that x sees there is one that it may see, so all that F(S)(x) names comes before x; and S(x) is a
//! part of that. F is monotone (the more is needed, the fewer writes may be seen), so that the greatest fixpoint is
//! reached from above. It begins with the order of π, which is a feasible prefix, so that nothing beyond it is ever
//! needed. (A least fixpoint, as in [`unique_writers`](super::unique_writers), only knows what it can build up from
//! nothing.) Until the fixpoint is reached nothing follows, so a search that takes too long is in vain.

use super::{Edge, MustHappenBefore};
use crate::semantics::Need;
use crate::trace::{CellId, EventId, ObjectId, ThreadId, Trace, Writers};
use hashbrown::HashMap;

/// Counts that the relation may take, of four bytes each.
const MAX_COUNTS: usize = 1 << 26;

/// Writes that reads may see, of all cells.
const MAX_WRITES: usize = 1 << 23;

/// Reads per event of the trace, as one in so many, below which it is not worth the search.
const SCARCE: usize = 1_000;

/// Writes of a thread's cell that are looked at for one read; if there are more, nothing is said of it.
const MAX_LOOKED_AT: usize = 128;

/// Counts that are looked at in all, for each that the relation takes.
const MAX_LOOKS: usize = 400;

/// An event, with the row of what it needs.
#[derive(Clone, Copy)]
struct Spot {
    event: EventId,
    thread: u32,
    place: u32,
    /// That of the last target at or before it in its thread, plus 1; 0 if there is none.
    row: u32,
}

/// A write of a cell.
#[derive(Clone, Copy)]
struct Write {
    event: EventId,
    place: u32,
    row: u32,
    /// Whether it leaves a value, and which.
    leaves: bool,
    left: u64,
}

impl Write {
    fn spot(&self, thread: u32) -> Spot {
        let &Write { event, place, row, .. } = self;
        Spot {
            event,
            thread,
            place,
            row,
        }
    }
}

/// What a target asks for.
#[derive(Clone, Copy)]
enum Ask {
    /// A value of a cell, by its number, which may have been there from the start.
    Value { cell: u32, value: u64, initial: bool },
    /// A notify of a condition, by its number, behind the beginning of the wait, by its number, if the trace has that.
    Notify { condition: u32, begin: Option<u32> },
}

/// An event that needs something of other threads.
struct Target {
    thread: u32,
    place: u32,
    /// The row of the event before it.
    previous: u32,
    /// Where its sources begin, and what it asks for: those of the next target follow.
    sources: u32,
    asks: u32,
}

/// The events that need something of other threads.
struct Rows {
    /// In the order of π.
    events: Vec<EventId>,
    /// By thread, their numbers.
    of_thread: Vec<Vec<u32>>,
}

impl Rows {
    fn of(trace: &Trace, events: Vec<EventId>) -> Rows {
        let mut of_thread: Vec<Vec<u32>> = vec![Vec::new(); trace.threads()];
        for (number, &event) in (0..).zip(&events) {
            of_thread[trace.thread(event).index()].push(number);
        }
        Rows { events, of_thread }
    }

    fn spot(&self, trace: &Trace, event: EventId) -> Spot {
        let own = &self.of_thread[trace.thread(event).index()];
        let behind = own.partition_point(|&number| self.events[number as usize] <= event);
        Spot {
            event,
            thread: trace.thread(event).0,
            place: trace.place(event),
            row: behind.checked_sub(1).map_or(0, |at| own[at] + 1),
        }
    }
}

/// Events of one kind at one object, by thread.
type ByThread<T> = Vec<(u32, Vec<T>)>;

/// Adds an event behind the others of its thread.
fn push<T>(by_thread: &mut ByThread<T>, thread: u32, event: T) {
    match by_thread.binary_search_by_key(&thread, |&(thread, _)| thread) {
        Ok(at) => by_thread[at].1.push(event),
        Err(at) => by_thread.insert(at, (thread, vec![event])),
    }
}

/// The search for the fixpoint.
struct Search {
    threads: usize,
    spots: Rows,
    /// In the order of π.
    targets: Vec<Target>,
    sources: Vec<Spot>,
    asks: Vec<Ask>,
    /// The beginnings of waits.
    begins: Vec<Spot>,
    /// By number.
    cells: Vec<ByThread<Write>>,
    conditions: Vec<ByThread<Spot>>,
    /// By target: how many events of each thread it needs.
    rows: Vec<u32>,
    /// Whether the rows of all targets are there: in the first walk, those ahead need all that precedes them in π.
    begun: bool,
    looks: usize,
}

/// The edges to those of these reads, and to ends of waits, that need more than a relation says; `None` if that takes
/// too long to find out.
pub(super) fn edges(
    trace: &Trace,
    writers: &Writers,
    relation: &MustHappenBefore,
    open: &[(EventId, CellId)],
) -> Option<Vec<Edge>> {
    if open.len() * SCARCE < trace.len() {
        return None;
    }
    let mut search = Search::new(trace, writers, relation, open)?;
    let mut walks = 0;
    while search.walk()? {
        walks += 1;
    }
    let edges = search.edges(trace);
    tracing::debug!(
        walks,
        targets = search.targets.len(),
        edges = edges.len(),
        "needed by all"
    );
    Some(edges)
}

impl Search {
    fn new(
        trace: &Trace,
        writers: &Writers,
        relation: &MustHappenBefore,
        open: &[(EventId, CellId)],
    ) -> Option<Search> {
        let threads = trace.threads();
        let mut open = open.to_vec();
        open.sort_unstable();
        open.dedup();
        let waits = |op| Need::of(op).filter(|need| matches!(need, Need::Wake(_)));
        let mut events: Vec<EventId> = open.iter().map(|&(read, _)| read).collect();
        events.extend(relation.edges().iter().map(|edge| edge.to));
        events.extend(relation.exits());
        events.extend(trace.operations_with(waits).map(|(event, _)| event));
        events.sort_unstable();
        events.dedup();
        if events.len() * threads > MAX_COUNTS {
            return None;
        }
        let spots = Rows::of(trace, events);
        let spot = |event: EventId| spots.spot(trace, event);
        let mut targets = Vec::with_capacity(spots.events.len());
        let (mut sources, mut asks, mut begins) = (Vec::new(), Vec::with_capacity(open.len()), Vec::new());
        let mut writes = 0;
        let (mut by_cell, mut by_condition): (Vec<ByThread<Write>>, Vec<ByThread<Spot>>) = (Vec::new(), Vec::new());
        let mut cells: HashMap<CellId, u32> = HashMap::new();
        let mut conditions: HashMap<ObjectId, u32> = HashMap::new();
        let mut last: Vec<u32> = vec![0; threads];
        let mut reads = open.iter().peekable();
        for (number, &event) in (0..).zip(&spots.events) {
            targets.push(Target {
                thread: trace.thread(event).0,
                place: trace.place(event),
                previous: std::mem::replace(&mut last[trace.thread(event).index()], number + 1),
                sources: sources.len() as u32,
                asks: asks.len() as u32,
            });
            sources.extend(relation.incoming(event).map(spot));
            while let Some(&(_, cell)) = reads.next_if(|&&(read, _)| read == event) {
                let Some(used) = trace.cell_use(event, cell) else {
                    continue;
                };
                let number = *cells.entry(cell).or_insert(by_cell.len() as u32);
                if number as usize == by_cell.len() {
                    let mut by_thread = ByThread::new();
                    for &write in writers.writes(cell) {
                        let Spot { thread, place, row, .. } = spot(write);
                        let left = trace.value_left(write, cell);
                        let write = Write {
                            event: write,
                            place,
                            row,
                            leaves: left.is_some(),
                            left: left.unwrap_or_default(),
                        };
                        push(&mut by_thread, thread, write);
                    }
                    by_cell.push(by_thread);
                    writes += writers.writes(cell).len();
                    if writes > MAX_WRITES {
                        return None;
                    }
                }
                asks.push(Ask::Value {
                    cell: number,
                    value: used.read,
                    initial: trace.initial(cell) == Some(used.read),
                });
            }
            if let Some(Need::Wake(condition)) = Need::of(trace.op(event)) {
                let begin = trace.wait_begin(event);
                if begin.is_some() || trace.waiting_at_start().contains(&(condition, event)) {
                    let condition = *conditions.entry(condition).or_insert(by_condition.len() as u32);
                    if condition as usize == by_condition.len() {
                        by_condition.push(ByThread::new());
                    }
                    let begin = begin.map(|begin| {
                        begins.push(spot(begin));
                        begins.len() as u32 - 1
                    });
                    asks.push(Ask::Notify { condition, begin });
                }
            }
        }
        for (event, need) in trace.operations_with(Need::served_by) {
            if let Need::Wake(condition) = need
                && let Some(&number) = conditions.get(&condition)
            {
                let notify = spot(event);
                push(&mut by_condition[number as usize], notify.thread, notify);
            }
        }
        let counts = targets.len() * threads;
        Some(Search {
            threads,
            spots,
            targets,
            sources,
            asks,
            begins,
            cells: by_cell,
            conditions: by_condition,
            rows: vec![0; counts],
            begun: false,
            looks: counts.saturating_mul(MAX_LOOKS),
        })
    }

    fn spot_of(&self, number: usize) -> Spot {
        let Target { thread, place, .. } = self.targets[number];
        Spot {
            event: self.spots.events[number],
            thread,
            place,
            row: number as u32 + 1,
        }
    }

    /// How many events of a thread an event needs.
    fn count(&self, of: Spot, thread: usize) -> u32 {
        if of.thread as usize == thread {
            return of.place;
        }
        match of.row {
            0 => 0,
            row => self.rows[(row as usize - 1) * self.threads + thread],
        }
    }

    /// Whether an event needs another one, seen from a target: those behind it need it in the first walk.
    fn needs(&self, event: Spot, other: Spot, at: EventId) -> bool {
        if !self.begun && event.event > at {
            return other.event < event.event;
        }
        self.count(event, other.thread as usize) > other.place
    }

    /// Of each thread: how many events are an event, or needed by it, and no more than `counts` says.
    fn lower(&self, counts: &mut [u32], event: Spot) {
        for (thread, count) in counts.iter_mut().enumerate() {
            let own = u32::from(thread == event.thread as usize);
            *count = (*count).min(self.count(event, thread) + own);
        }
    }

    /// The same, and no less.
    fn raise(&self, counts: &mut [u32], event: Spot) {
        for (thread, count) in counts.iter_mut().enumerate() {
            let own = u32::from(thread == event.thread as usize);
            *count = (*count).max(self.count(event, thread) + own);
        }
    }

    /// Computes the relation anew, in the order of π. Returns whether anything has changed; `None` if that takes too
    /// long.
    fn walk(&mut self) -> Option<bool> {
        let mut changed = false;
        let (mut new, mut all) = (vec![0; self.threads], vec![0; self.threads]);
        for number in 0..self.targets.len() {
            self.known_before(number, &mut new);
            let asks = self.targets[number].asks as usize..self.end_of_asks(number);
            for ask in asks {
                if self.needed_by_all(number, self.asks[ask], &new, &mut all) {
                    new.iter_mut().zip(&all).for_each(|(new, &all)| *new = (*new).max(all));
                }
            }
            let row = &mut self.rows[number * self.threads..(number + 1) * self.threads];
            if *row != *new {
                row.copy_from_slice(&new);
                changed = true;
            }
            self.looks = self.looks.checked_sub(self.threads)?;
        }
        self.begun = true;
        Some(changed)
    }

    /// What is needed before a target in any case.
    fn known_before(&self, number: usize, new: &mut [u32]) {
        let target = &self.targets[number];
        match target.previous {
            0 => new.fill(0),
            previous => {
                let start = (previous as usize - 1) * self.threads;
                new.copy_from_slice(&self.rows[start..start + self.threads]);
            }
        }
        new[target.thread as usize] = target.place;
        let end = self
            .targets
            .get(number + 1)
            .map_or(self.sources.len(), |next| next.sources as usize);
        for &source in &self.sources[target.sources as usize..end] {
            self.raise(new, source);
        }
    }

    fn end_of_asks(&self, number: usize) -> usize {
        self.targets
            .get(number + 1)
            .map_or(self.asks.len(), |next| next.asks as usize)
    }

    /// Finds what all those events need that may give a target what it asks for, themselves included, if it needs so
    /// much already. Returns whether there is anything.
    fn needed_by_all(&mut self, number: usize, ask: Ask, known: &[u32], all: &mut [u32]) -> bool {
        all.fill(u32::MAX);
        let target = self.spot_of(number);
        let mut looks = 0;
        let found = match ask {
            Ask::Value { cell, value, initial } => self.needed_by_writes(
                target,
                &self.cells[cell as usize],
                (value, initial),
                known,
                all,
                &mut looks,
            ),
            Ask::Notify { condition, begin } => {
                let begin = begin.map(|number| self.begins[number as usize]);
                self.needed_by_notifies(target, &self.conditions[condition as usize], begin, all, &mut looks)
            }
        };
        self.looks = self.looks.saturating_sub(looks * self.threads);
        found
    }

    fn needed_by_writes(
        &self,
        read: Spot,
        by_thread: &[(u32, Vec<Write>)],
        (value, initial): (u64, bool),
        known: &[u32],
        all: &mut [u32],
        looks: &mut usize,
    ) -> bool {
        // Of each thread, the last write that the read needs, and those before it that it overwrites.
        let earlier = |thread: u32, theirs: &[Write]| {
            let needed = known[thread as usize];
            theirs.partition_point(|write| write.place < needed)
        };
        let lasts: Vec<Spot> = by_thread
            .iter()
            .filter_map(|&(thread, ref theirs)| Some(theirs[earlier(thread, theirs).checked_sub(1)?].spot(thread)))
            .collect();
        if initial && lasts.is_empty() {
            return false;
        }
        let mut found = false;
        for &(thread, ref theirs) in by_thread {
            for write in &theirs[earlier(thread, theirs).saturating_sub(1)..] {
                *looks += 1;
                if *looks > MAX_LOOKED_AT {
                    return false;
                }
                let spot = write.spot(thread);
                if write.event == read.event || self.needs(spot, read, read.event) {
                    break;
                }
                let overwritten = |&last: &Spot| last.event != write.event && self.needs(last, spot, read.event);
                if !write.leaves || write.left != value || lasts.iter().any(overwritten) {
                    continue;
                }
                self.lower(all, spot);
                found = true;
                if all.iter().zip(known).all(|(all, known)| all <= known) {
                    return false;
                }
            }
        }
        // Without any, nothing is said: such a read is in no prefix, which others find out.
        found
    }

    fn needed_by_notifies(
        &self,
        end: Spot,
        by_thread: &[(u32, Vec<Spot>)],
        begin: Option<Spot>,
        all: &mut [u32],
        looks: &mut usize,
    ) -> bool {
        let mut found = false;
        for (_, theirs) in by_thread {
            *looks += 1;
            let too_early = |notify: &Spot| begin.is_some_and(|begin| self.needs(begin, *notify, end.event));
            // What the first one needs, all of its thread do.
            let first = theirs.get(theirs.partition_point(too_early));
            if let Some(&first) = first.filter(|&&first| !self.needs(first, end, end.event)) {
                self.lower(all, first);
                found = true;
            }
        }
        found
    }

    /// The edges that say what targets need beyond what is known of them otherwise.
    fn edges(&self, trace: &Trace) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut known = vec![0; self.threads];
        for number in 0..self.targets.len() {
            self.known_before(number, &mut known);
            let row = &self.rows[number * self.threads..(number + 1) * self.threads];
            let beyond = |known: &[u32]| {
                let last = |thread: usize| {
                    trace
                        .program_order(ThreadId(thread as u32))
                        .at(row[thread] as usize - 1)
                };
                let threads = (0..self.threads).filter(|&thread| row[thread] > known[thread]);
                threads.map(last).max()
            };
            // The latest of them may need the others.
            while let Some(last) = beyond(&known) {
                edges.push(Edge {
                    to: self.spots.events[number],
                    from: last,
                });
                self.raise(&mut known, self.spots.spot(trace, last));
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use crate::prune::{MustHappenBefore, Needs};
    use crate::trace::{EventId, Sections, ThreadId, Trace};
    use trace_format::{Event, MemRange, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, WaitOutcome};

    const LOCK: ObjectId = ObjectId(0);
    const CONDITION: ObjectId = ObjectId(1);
    const NOTIFY: Op = Op::Notify { condition: CONDITION };

    fn mem(cell: u64) -> MemRange {
        MemRange {
            addr: 0x100 * cell,
            size: 4,
        }
    }

    fn write(cell: u64, value: u64) -> Op {
        let mem = mem(cell);
        Op::Write { mem, value }
    }

    fn read(cell: u64, value: u64) -> Op {
        let mem = mem(cell);
        Op::Read { mem, value }
    }

    /// Calls `then` with what says whether one event of a trace is needed before another one, by their numbers.
    fn with_needed(events: &[(u32, Op)], then: impl FnOnce(&dyn Fn(u32, u32) -> bool)) {
        let object = |kind| ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            objects: vec![object(ObjectKind::Mutex), object(ObjectKind::Condition)],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        crate::check::validate(&trace).expect("an execution");
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let needs = Needs::of(&trace, &must, &sections);
        then(&|a, b| needs.relation().before(EventId(a), EventId(b)));
    }

    /// Two threads hand two variables to and fro, each of which only ever holds 0 and 1: four events a round. Perhaps a
    /// third thread writes one of the two values as well.
    fn handed_to_and_fro(rounds: u64, also: Option<u64>) -> Vec<(u32, Op)> {
        let mut events = Vec::new();
        for value in (0..rounds).map(|round| round % 2) {
            events.extend([(0, write(1, value)), (1, read(1, value))]);
            events.extend([(1, write(2, value)), (0, read(2, value))]);
        }
        events.extend(also.map(|value| (2, write(1, value))));
        events
    }

    #[test]
    fn threads_that_wait_for_each_other_need_the_rounds_before_though_values_repeat() {
        const ROUNDS: u64 = 40;
        with_needed(&handed_to_and_fro(ROUNDS, None), |needed| {
            for round in 0..ROUNDS as u32 {
                assert!(needed(4 * round, 4 * round + 1) && needed(4 * round + 2, 4 * round + 3));
            }
        });
    }

    #[test]
    fn a_write_that_may_come_at_any_time_is_a_way_for_one_read_of_its_value() {
        // The third thread's 1 may stand for that of any one round. So no read of 1 needs the write that it saw.
        with_needed(&handed_to_and_fro(8, Some(1)), |needed| {
            assert!(needed(0, 1), "nobody else writes 0 before");
            assert!(!needed(4, 5));
        });
    }

    #[test]
    fn the_value_from_the_start_needs_no_write() {
        // Thread 1 reads 0, which thread 0 has written again.
        let events = [(0, read(1, 0)), (0, write(1, 1)), (0, write(1, 0)), (1, read(1, 0))];
        with_needed(&events, |needed| assert!(!needed(2, 3) && !needed(1, 3)));
    }

    #[test]
    fn what_all_writes_of_a_value_need_the_read_needs() {
        // Threads 1 and 2 write the same, each after it has read a flag of its own that thread 0 has set.
        let events = |also: bool| {
            let mut events = vec![(0, write(9, 1)), (0, write(1, 1)), (0, write(2, 1))];
            events.extend([(1, read(1, 1)), (2, read(2, 1)), (1, write(3, 5)), (2, write(3, 5))]);
            events.extend(also.then_some((4, write(3, 5))));
            events.push((3, read(3, 5)));
            events
        };
        with_needed(&events(false), |needed| {
            assert!(needed(0, 7) && needed(1, 7));
            assert!(!needed(2, 7), "thread 1 does not need the second flag");
            assert!(!needed(5, 7) && !needed(6, 7));
        });
        with_needed(&events(true), |needed| assert!(!needed(0, 8)));
    }

    /// Thread 1 waits, and threads 0 and 2 notify; thread 2 after it has seen what thread 0 did first, or before the
    /// wait begins, as far as thread 1 has seen.
    fn waits(second: &[(u32, Op)]) -> Vec<(u32, Op)> {
        let attempt = false;
        let begin = Op::WaitBegin {
            condition: CONDITION,
            lock: LOCK,
        };
        let end = Op::WaitEnd {
            condition: CONDITION,
            lock: LOCK,
            outcome: WaitOutcome::Notified,
            attempt,
        };
        let mut events = vec![(0, write(1, 1)), (0, write(2, 1))];
        events.extend(second);
        events.extend([
            (1, Op::Acquire { lock: LOCK, attempt }),
            (1, begin),
            (2, NOTIFY),
            (0, NOTIFY),
            (1, end),
        ]);
        // Where a trace has no read that several writes may explain, nothing is looked for.
        events.extend([(5, write(8, 1)), (6, write(8, 1)), (7, read(8, 1))]);
        events
    }

    #[test]
    fn what_all_notifies_need_the_end_of_a_wait_needs() {
        with_needed(&waits(&[(2, read(2, 1))]), |needed| assert!(needed(0, 7)));
        with_needed(&waits(&[(2, read(5, 1))]), |needed| assert!(!needed(0, 7)));
        // One that precedes the wait does not end it.
        let early = [(3, NOTIFY), (3, write(4, 1)), (1, read(4, 1)), (2, read(2, 1))];
        with_needed(&waits(&early), |needed| assert!(needed(0, 10)));
        let any_time = [(3, NOTIFY), (3, write(4, 1)), (2, read(2, 1))];
        with_needed(&waits(&any_time), |needed| assert!(!needed(0, 9)));
    }
}
