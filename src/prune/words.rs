//! Atomic words that several threads change step by step: locks that a program makes itself, counts of references,
//! states. What such a word holds is what it held at first, and what the threads' steps have added to it.
//!
//! Let φ be any function of its value: one of its bits, what is left of it without its lowest bits, or whether it is 0.
//! A read-modify-write changes φ by the same amount in every feasible prefix, since it reads what it read in π. So, at
//! any moment,
//!
//! > φ(now) = φ(at first) + Σ, over all threads, of the changes that the thread has made.
//!
//! A store changes φ by an unknown amount, but within bounds: of what the word ever holds, φ has a least and a greatest
//! value. So each thread has, after each of its writes, a least and a greatest sum. What a read of the word sees is then
//! a statement about how far *all* other threads have come with it: of each, those numbers of writes are left with
//! which the equation can still hold, given the least and greatest sums of the others. That a lock is taken by one
//! thread at a time, that nobody reads under it while somebody writes, that the last one to let go of a block comes
//! behind all others: all of this follows, whatever the program means by which bits.
//!
//! The word begins with what it held before the trace, or with a store that comes before all else that is done to it,
//! as far as is known.
//!
//! What threads change under one lock, by plain reads and writes, [is such a word, too](guarded).

use super::guarded::{self, frees};
use super::sums::{Span, Sums, hull};
use super::{Edge, MustHappenBefore};
use crate::trace::{Access, AccessKind, CellId, EventId, Sections, ThreadId, Trace, Writers};
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use std::iter;
use std::ops::Range;

/// Writes of a word; one with more is left out.
const MAX_WRITES: usize = 1 << 16;

/// Bits of a word that are looked at, from the lowest one that changes.
const MAX_FLAGS: usize = 5;

/// Stores at the beginning of a word, of which the last one may be what it begins with.
const MAX_FIRST_STORES: usize = 4;

/// Numbers of writes of one thread that are looked at for one read.
const MAX_LOOKED_AT: usize = 64;

/// Looks at what threads have done to a word, in all, to find what its reads need: so many for each event of the trace,
/// as one in so many.
const EVENTS_OF_A_LOOK: usize = 2;

/// The same, at least.
const LEAST_LOOKS: usize = 1 << 20;

/// A function of a word's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bit(u8),
    /// All but so many of the lowest bits.
    From(u8),
    /// Whether it is not 0.
    Set,
}

impl Part {
    fn of(self, value: u64) -> i128 {
        match self {
            Part::Bit(bit) => i128::from(value >> bit & 1),
            Part::From(bit) => i128::from(value >> bit),
            Part::Set => i128::from(value != 0),
        }
    }
}

fn plus(a: Span, b: Span) -> Span {
    (a.0 + b.0, a.1 + b.1)
}

fn minus(a: Span, b: Span) -> Span {
    (a.0 - b.1, a.1 - b.0)
}

fn meet(a: Span, b: Span) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// What a thread does to a word.
#[derive(Debug)]
pub struct Steps {
    /// The thread.
    pub thread: ThreadId,
    writes: Box<[Write]>,
    /// By part: after so many of its writes, what they have added: the sum of the least, and that of the greatest that
    /// each may add.
    sums: Sums,
}

/// A write of a word.
#[derive(Clone, Copy, Debug)]
struct Write {
    event: EventId,
    /// Its place in its thread.
    place: u32,
}

/// A word.
#[derive(Debug)]
pub struct Word {
    /// Whether plain reads and writes under a lock change it.
    guarded: bool,
    /// The store that it begins with, and what it holds then.
    pub begin: Option<EventId>,
    first: u64,
    parts: Box<[Part]>,
    /// What is done to it, by thread.
    pub steps: Box<[Steps]>,
}

/// The words of a trace.
#[derive(Debug, Default)]
pub struct Words {
    by_cell: HashMap<CellId, u32>,
    words: Vec<Word>,
}

/// A write of a word: what it reads there, if it does, and what it leaves, if it leaves a value.
struct Step {
    event: EventId,
    read: Option<u64>,
    left: Option<u64>,
}

/// How many of its writes a thread may have done when a word is read: at least so many, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which of those that write the word it is.
    pub by: usize,
    /// At least.
    pub least: usize,
    /// At most.
    pub most: usize,
}

/// What a word holds, when threads have done so many writes of it each.
pub struct Since<'s> {
    /// The value.
    pub value: u64,
    /// How many of each thread's writes are in it.
    pub begun: &'s [usize],
}

impl Words {
    /// Finds them.
    #[must_use]
    pub fn of(trace: &Trace, writers: &Writers, sections: &Sections, needed: &MustHappenBefore) -> Words {
        let mut words = Words::default();
        let mut known: HashSet<CellId> = HashSet::new();
        if trace.has_access(|kind, _| kind == AccessKind::AtomicRmw) {
            for access in trace.contested().filter(|access| access.kind == AccessKind::AtomicRmw) {
                for used in trace.uses(access).filter(|used| used.read != used.written) {
                    if known.insert(used.cell) {
                        words.add(used.cell, Word::of(trace, writers, None, needed, used.cell));
                    }
                }
            }
        }
        tracing::debug!(atomic = words.words.len(), "words");
        let mut left = MAX_WRITES;
        for cell in guarded::candidates(trace, writers, sections).filter(|cell| !known.contains(cell)) {
            left = match left.checked_sub(writers.writes(cell).len()) {
                Some(left) => left,
                None => break,
            };
            words.add(cell, Word::of(trace, writers, Some(sections), needed, cell));
        }
        words
    }

    fn add(&mut self, cell: CellId, word: Option<Word>) {
        if let Some(word) = word {
            self.by_cell.insert(cell, self.words.len() as u32);
            self.words.push(word);
        }
    }

    /// The number of the word that a read of a cell sees, if it says something of how far threads have come.
    #[must_use]
    pub fn read(&self, kind: AccessKind, cell: CellId) -> Option<u32> {
        let number = self.by_cell.get(&cell).copied()?;
        // What others do to words hardly says more.
        (kind.is_atomic() || self.get(number).guarded).then_some(number)
    }

    /// How many functions of a word's value are looked at, for each thread.
    #[must_use]
    pub fn parts(&self, number: u32) -> usize {
        self.get(number).parts.len()
    }

    /// A word.
    #[must_use]
    pub fn get(&self, number: u32) -> &Word {
        &self.words[number as usize]
    }
}

impl Word {
    /// With sections, of a cell that is changed under a lock.
    fn of(
        trace: &Trace,
        writers: &Writers,
        sections: Option<&Sections>,
        needed: &MustHappenBefore,
        cell: CellId,
    ) -> Option<Word> {
        // A free at the end is of no interest: nobody reads the cell behind it, for nothing says what it holds then.
        let writes = match writers.writes(cell) {
            [writes @ .., last] if frees(trace, *last) => writes,
            writes => writes,
        };
        if trace.cell(cell).external() || writes.len() > MAX_WRITES {
            return None;
        }
        let step = |&event: &EventId| {
            let access = trace.access(event)?;
            let used = trace.cell_use(event, cell)?;
            Some(Step {
                event,
                read: access.kind.reads().then_some(used.read),
                left: access.kind.writes_value().then_some(used.written),
            })
        };
        let steps: Option<Vec<Step>> = writes.iter().map(step).collect();
        let mut steps = steps?;
        let stores = first_stores(trace, needed, &steps);
        if let Some(sections) = sections {
            let guarded = guarded::guarded(trace, sections, cell, writes).filter(|guarded| guarded.before <= stores)?;
            for (step, found) in steps[guarded.before..].iter_mut().zip(guarded.found) {
                step.read = found;
            }
        }
        let (begin, steps) = (stores.checked_sub(1).map(|last| &steps[last]), &steps[stores..]);
        let first = begin.map_or(trace.initial(cell), |begin| begin.left)?;
        let mut by_thread: Vec<(ThreadId, Vec<&Step>)> = Vec::new();
        let mut places: HashMap<ThreadId, usize> = HashMap::new();
        for step in steps {
            let thread = trace.thread(step.event);
            let at = *places.entry(thread).or_insert_with(|| {
                by_thread.push((thread, Vec::new()));
                by_thread.len() - 1
            });
            by_thread[at].1.push(step);
        }
        if by_thread.len() < 2 {
            return None;
        }
        let parts = parts(first, steps);
        let values = || steps.iter().flat_map(|step| step.read.into_iter().chain(step.left));
        let bounds = |&part: &Part| {
            let of = |value| (part.of(value), part.of(value));
            values().map(of).fold(of(first), hull)
        };
        let bounds: Vec<Span> = parts.iter().map(bounds).collect();
        let steps = by_thread
            .into_iter()
            .map(|(thread, steps)| Steps::of(trace, thread, &steps, &parts, &bounds))
            .collect();
        Some(Word {
            guarded: sections.is_some(),
            begin: begin.map(|begin| begin.event),
            first,
            parts: parts.into(),
            steps,
        })
    }

    /// Those that write it but for a thread, which have done nothing.
    fn others(&self, thread: ThreadId) -> impl Iterator<Item = Done> + '_ {
        let others = self
            .steps
            .iter()
            .enumerate()
            .filter(move |(_, steps)| steps.thread != thread);
        others.map(|(by, _)| Done { by, least: 0, most: 0 })
    }

    /// Leaves of what threads may have done when a read of the word, by the thread of some steps that has done so many
    /// of them, sees a value, only that with which it can see it. `None` if it cannot.
    #[must_use]
    pub fn narrow(
        &self,
        value: u64,
        own: Option<(usize, usize)>,
        others: &mut [Done],
        since: Option<&Since<'_>>,
    ) -> Option<()> {
        let first = since.map_or(self.first, |since| since.value);
        let begun = |by: usize| since.map_or(0, |since| since.begun[by]);
        for (number, &part) in self.parts.iter().enumerate() {
            let mine = own.map_or((0, 0), |(by, done)| self.steps[by].sum(number, begun(by), done));
            let sought = part.of(value) - part.of(first);
            let sought = minus((sought, sought), mine);
            let span = |done: &Done| self.steps[done.by].span(number, begun(done.by), done.least..done.most + 1);
            let all = others.iter().map(span).fold((0, 0), plus);
            if !meet(all, sought) {
                return None;
            }
            if sought.0 <= all.0 && all.1 <= sought.1 {
                continue;
            }
            for done in &mut *others {
                let range = span(done);
                // What is left for this thread, whatever the others have done.
                let left = (sought.0 - (all.1 - range.1), sought.1 - (all.0 - range.0));
                if left.0 <= range.0 && range.1 <= left.1 {
                    continue;
                }
                let steps = &self.steps[done.by];
                let fits = |writes: &usize| meet(steps.sum(number, begun(done.by), *writes), left);
                let (least, most) = (done.least, done.most);
                done.least = (least..=most).take(MAX_LOOKED_AT).find(fits).unwrap_or_else(|| {
                    // None, or one that is too far away.
                    most.min(least + MAX_LOOKED_AT)
                });
                let latest = (done.least..=most).rev().take(MAX_LOOKED_AT).find(fits);
                match latest {
                    Some(latest) => done.most = latest,
                    None if most - done.least < MAX_LOOKED_AT => return None,
                    None => done.most = most - MAX_LOOKED_AT,
                }
            }
        }
        Some(())
    }
}

/// How many of the first writes are stores, each of which comes before all that follow it, as far as is known.
fn first_stores(trace: &Trace, needed: &MustHappenBefore, steps: &[Step]) -> usize {
    let comes_first = |&place: &usize| {
        let store = &steps[place];
        let mut seen: HashSet<ThreadId> = HashSet::new();
        store.read.is_none()
            && store.left.is_some()
            && steps[place + 1..]
                .iter()
                .all(|later| !seen.insert(trace.thread(later.event)) || needed.before(store.event, later.event))
    };
    (0..steps.len().min(MAX_FIRST_STORES)).take_while(comes_first).count()
}

/// The functions of a word's value that are looked at: those that its steps change.
fn parts(first: u64, steps: &[Step]) -> Vec<Part> {
    let changed = steps
        .iter()
        .filter_map(|step| Some(step.read? ^ step.left?))
        .fold(0, |all, bits| all | bits);
    let flags = (0..u64::BITS as u8)
        .filter(|bit| changed >> bit & 1 != 0)
        .take(MAX_FLAGS);
    let all = flags
        .flat_map(|bit| [Part::From(bit), Part::Bit(bit)])
        .chain([Part::Set]);
    let values: HashSet<u64> = steps.iter().filter_map(|step| step.left).chain([first]).collect();
    let mut kept: Vec<Part> = Vec::new();
    for part in all {
        let same = |other: &Part| values.iter().all(|&value| part.of(value) == other.of(value));
        let changes = values.iter().any(|&value| part.of(value) != part.of(first));
        if changes && !kept.iter().any(same) {
            kept.push(part);
        }
    }
    kept
}

impl Steps {
    fn of(trace: &Trace, thread: ThreadId, steps: &[&Step], parts: &[Part], bounds: &[Span]) -> Steps {
        let sums = parts.iter().zip(bounds).map(|(&part, &bounds)| {
            let of = move |value: Option<u64>| value.map_or(bounds, |value| (part.of(value), part.of(value)));
            let added = steps.iter().scan((0, 0), move |sum, step| {
                *sum = plus(*sum, minus(of(step.left), of(step.read)));
                Some(*sum)
            });
            iter::once((0, 0)).chain(added)
        });
        let write = |event| Write {
            event,
            place: trace.place(event),
        };
        Steps {
            thread,
            writes: steps.iter().map(|step| write(step.event)).collect(),
            sums: Sums::of(sums),
        }
    }

    /// The write of the word that comes after so many of its writes.
    #[must_use]
    pub fn write(&self, number: usize) -> Option<EventId> {
        self.writes.get(number).map(|write| write.event)
    }

    /// How many of its writes come before a place, given that this many do.
    #[must_use]
    pub fn before(&self, place: u32, known: usize) -> usize {
        let further = &self.writes[known..];
        match further.first() {
            Some(next) if next.place < place => known + further.partition_point(|other| other.place < place),
            _ => known,
        }
    }

    /// What its writes have added to a part, from the one behind so many of them until it has done so many.
    fn sum(&self, part: usize, begun: usize, writes: usize) -> Span {
        let (from, until) = (self.sums.get(part, begun), self.sums.get(part, writes));
        // Either is a sum of the writes' spans, end by end.
        (until.0 - from.0, until.1 - from.1)
    }

    /// The least and the greatest of these for some numbers of writes; bounds of them if they are many.
    fn span(&self, part: usize, begun: usize, writes: Range<usize>) -> Span {
        let begin = self.sums.get(part, begun);
        let span = match writes.len() > MAX_LOOKED_AT {
            true => self.sums.all(part),
            false => self.sums.within(part, writes),
        };
        (span.0 - begin.0, span.1 - begin.1)
    }
}

/// How far a thread's reads of a word have been looked at. There may be millions of these.
struct Reader {
    /// Which of those that write the word it is.
    own: Option<u32>,
    /// By those that write it, but for itself: how many of their writes may have been done at its last read, at least and
    /// at most, before anything followed from that.
    others: Box<[(u32, u32)]>,
    /// What it saw.
    saw: u64,
    /// After how many writes of its own it did.
    done: Option<u32>,
}

impl Reader {
    fn new(word: &Word, thread: ThreadId) -> Reader {
        let own = word.steps.iter().position(|steps| steps.thread == thread);
        Reader {
            own: own.map(|by| by as u32),
            others: word.others(thread).map(|_| (0, 0)).collect(),
            saw: 0,
            done: None,
        }
    }

    /// What the others may have done.
    fn others(&self) -> impl Iterator<Item = Done> + '_ {
        let own = self.own.map_or(usize::MAX, |own| own as usize);
        self.others.iter().enumerate().map(move |(at, &(least, most))| Done {
            by: at + usize::from(at >= own),
            least: least as usize,
            most: most as usize,
        })
    }

    /// Its next read, with what the others may have done then. Whether any of this is new.
    fn sees(&mut self, value: u64, done: usize, others: &[Done]) -> bool {
        let mut is_new = self.saw != value || self.done != Some(done as u32);
        (self.saw, self.done) = (value, Some(done as u32));
        for (known, done) in self.others.iter_mut().zip(others) {
            let now = (done.least as u32, done.most as u32);
            is_new |= now != *known;
            *known = now;
        }
        is_new
    }
}

/// The edges to reads of words that need more than a relation says.
pub(super) fn edges(trace: &Trace, words: &Words, needed: &MustHappenBefore) -> Vec<Edge> {
    let mut looks = (trace.len() / EVENTS_OF_A_LOOK).max(LEAST_LOOKS);
    let mut readers: HashMap<(u32, ThreadId), Reader> = HashMap::new();
    let mut edges = Vec::new();
    if words.words.is_empty() {
        return edges;
    }
    let mut others: Vec<Done> = Vec::new();
    let plain = words.words.iter().any(|word| word.guarded);
    let may_tell = |access: &Access| (plain || access.kind.is_atomic()) && access.kind.reads();
    for access in trace.contested().filter(may_tell) {
        for used in trace.uses(access) {
            let Some(number) = words.read(access.kind, used.cell) else {
                continue;
            };
            let (read, word) = (access.event, words.get(number));
            if word.begin.is_some_and(|begin| !needed.before(begin, read)) {
                continue;
            }
            match looks.checked_sub(word.steps.len() * word.parts.len()) {
                Some(left) => looks = left,
                None => return edges,
            }
            let thread = trace.thread(read);
            let reader = readers.entry((number, thread));
            others.clear();
            match &reader {
                Entry::Occupied(reader) => others.extend(reader.get().others()),
                Entry::Vacant(_) => others.extend(word.others(thread)),
            }
            for done in &mut others {
                let steps = &word.steps[done.by];
                done.least = steps.before(needed.count(read, steps.thread), done.least);
                done.most = done.most.max(done.least);
                while let Some(write) = steps.write(done.most)
                    && !needed.before(read, write)
                {
                    done.most += 1;
                }
            }
            // Most reads are of words of which it is known who has done what.
            let is_open = others.iter().any(|done| done.least != done.most);
            let reader = match reader {
                Entry::Occupied(reader) => reader.into_mut(),
                Entry::Vacant(_) if !is_open => continue,
                Entry::Vacant(reader) => reader.insert(Reader::new(word, thread)),
            };
            let own = reader.own.map(|by| by as usize);
            let own = own.map(|by| (by, word.steps[by].before(trace.place(read), 0)));
            if !reader.sees(used.read, own.map_or(0, |(_, done)| done), &others) || !is_open {
                continue;
            }
            if word.narrow(used.read, own, &mut others, None).is_none() {
                debug_assert!(false, "what the trace shows can be");
                continue;
            }
            for (known, done) in reader.others.iter_mut().zip(&others) {
                if done.least > known.0 as usize {
                    known.0 = done.least as u32;
                    let from = word.steps[done.by].writes[done.least - 1].event;
                    edges.push(Edge { to: read, from });
                }
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use crate::prune::{MustHappenBefore, Needs};
    use crate::trace::{EventId, Sections, ThreadId, Trace};
    use trace_format::{Event, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables};

    fn step(read: u64, written: u64) -> Op {
        Op::AtomicRmw {
            mem: MemRange { addr: 0x100, size: 4 },
            read,
            written,
            order: MemoryOrder::SeqCst,
        }
    }

    /// Thread 0 counts four references to something, for four threads. Each makes further ones and lets go of these,
    /// again and again, all by turns, and then lets go of its own.
    fn counted() -> Vec<(u32, Op)> {
        let mut events: Vec<(u32, Op)> = (1..5).map(|count| (0, step(count, count + 1))).collect();
        events.extend((1..5).map(|child| (0, Op::Fork { child: ThreadId(child) })));
        for _ in 0..60 {
            events.extend((1..5).map(|thread| (thread, step(4 + u64::from(thread), 5 + u64::from(thread)))));
            events.extend((1..5).map(|thread| (thread, step(10 - u64::from(thread), 9 - u64::from(thread)))));
        }
        for thread in 1..5 {
            events.push((thread, step(6 - u64::from(thread), 5 - u64::from(thread))));
        }
        events
    }

    /// The same, by plain reads and writes under a lock, with four events for each.
    fn under_lock(events: &[(u32, Op)], write_is_under_it: bool) -> Vec<(u32, Op)> {
        let lock = ObjectId(0);
        let locked = |&(thread, op): &(u32, Op)| match op {
            Op::AtomicRmw { mem, read, written, .. } => {
                let write = Op::Write { mem, value: written };
                let mut steps = [
                    Op::Acquire { lock, attempt: false },
                    Op::Read { mem, value: read },
                    write,
                    Op::Release { lock },
                ];
                if !write_is_under_it {
                    steps.swap(2, 3);
                }
                steps.map(|op| (thread, op)).to_vec()
            }
            other => vec![(thread, other)],
        };
        events.iter().flat_map(locked).collect()
    }

    fn needed(events: &[(u32, Op)]) -> impl Fn(u32, u32) -> bool {
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let tables = Tables {
            objects: vec![ObjectInfo {
                kind: ObjectKind::Mutex,
                addr: 0,
                name: None,
                initial: 0,
            }],
            ..Tables::default()
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        crate::check::validate(&trace).expect("an execution");
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let needed = Needs::of(&trace, &must, &sections).relation().clone();
        move |a, b| needed.before(EventId(a), EventId(b))
    }

    #[test]
    fn the_last_one_that_lets_go_comes_behind_all_others() {
        let mut events = counted();
        let last = events.len() as u32;
        events.push((0, step(1, 0)));
        let before = needed(&events);
        assert!((last - 4..last).all(|other| before(other, last)));
    }

    #[test]
    fn so_it_does_where_the_word_is_freed_at_the_end() {
        let mut events = vec![(0, Op::Alloc { addr: 0x100, size: 16 })];
        events.push((
            0,
            Op::Write {
                mem: MemRange { addr: 0x100, size: 4 },
                value: 1,
            },
        ));
        events.extend(counted());
        let last = events.len() as u32;
        events.extend([(0, step(1, 0)), (1, Op::Free { addr: 0x100 })]);
        let before = needed(&events);
        assert!((last - 4..last).all(|other| before(other, last)));
    }

    #[test]
    fn so_it_does_where_they_count_under_a_lock() {
        let counted = counted();
        let steps = counted.len() as u32;
        // What each of the last four writes; and what the last one of all writes.
        for (under_it, follows) in [(true, true), (false, false)] {
            let mut events = under_lock(&counted, under_it);
            let first = events.len() as u32;
            events.extend(under_lock(&[(0, step(1, 0))], under_it));
            let before = needed(&events);
            let wrote = |back: u32| first - 4 * back + 2;
            assert!(steps > 4 && first == 4 * (steps - 4) + 4);
            let all = (1..5).all(|back| before(wrote(back), first + 1));
            assert_eq!(all, follows, "written under the lock: {under_it}");
        }
    }

    #[test]
    fn who_sees_one_more_may_see_that_of_any_thread() {
        let mut events = counted();
        let load = Op::AtomicLoad {
            mem: MemRange { addr: 0x100, size: 4 },
            value: 6,
            order: MemoryOrder::SeqCst,
        };
        events.truncate(events.len() - 4);
        let first = events.len() as u32;
        events.extend([(1, step(5, 6)), (5, load), (1, step(6, 5))]);
        let before = needed(&events);
        assert!(!before(first, first + 1));
    }
}
