//! One walk over a trace, in which memory is a table of fixed size: of each piece that was accessed lately, who did so
//! last.
//!
//! Besides, it keeps what threads do to one another: all but plain accesses, and of these the ones under a lock, and the
//! ones of memory that several threads have accessed under locks or atomically before. That is little of most traces.

use super::{EVENTS_AT_LEAST, EVENTS_FOR_ONE, Positions, sorted};
use hashbrown::{HashMap, HashSet};
use trace_format::{CodePosition, Event, MemRange, ObjectId, Op, ReadError, Tables, ThreadId, TraceFile};

/// Events before the first of two accesses that their window has, and behind the second one.
const BEFORE: u64 = 1_000;
const BEHIND: u64 = 200;

/// How far apart two accesses may be for a window.
const SPAN: u64 = 4_000;

/// Windows of one pair in a trace.
const WINDOWS_OF_A_PAIR: u32 = 2;

/// Pieces of memory that the table has room for: a power of two. It stays in the processor's cache.
const PIECES: usize = 1 << 14;

/// Bytes of a piece: those of most variables, since the next one's accesses push out this one's.
const PIECE: u64 = 4;

/// A block of memory of more pieces is forgotten piece by piece of the table.
const MANY_PIECES: u64 = 1_024;

/// More threads are not told apart by their forks and joins: that takes memory in their square.
const MOST_THREADS: usize = 1_000;

/// Instances that are kept of two accesses that are too far apart for a window.
const FAR_INSTANCES: usize = 3;

/// Of a trace's events, one of so many is kept as what threads do to one another, and this many in any case.
const EVENTS_FOR_ONE_TOLD: u64 = 40;
const TOLD_AT_LEAST: u64 = 30_000;

/// Pieces of memory by which threads may tell one another something are known by a table of so many: which thread
/// accesses it under a lock or atomically, or that several do. It stays in the processor's cache.
const TELLERS: usize = 1 << 16;

/// Nobody does, and several do.
const NOBODY: u8 = 0;
const SEVERAL: u8 = u8::MAX;

/// Events by their numbers, in their order.
pub(super) type Numbered = Vec<(u64, Event)>;

/// Some events around two accesses.
pub(super) struct Window {
    pub pair: Positions,
    pub events: Vec<Event>,
    /// Counts of semaphores before them.
    pub counts: Vec<(ObjectId, u32)>,
}

/// What a walk finds.
#[derive(Default)]
pub(super) struct Scan {
    /// Conflicting pairs with no common lock, whose accesses came close to one another; and others.
    pub near: HashSet<Positions>,
    /// The others with some instances, the numbers of two events.
    pub far: HashMap<Positions, Vec<(u64, u64)>>,
    pub circles: HashSet<Positions>,
    pub windows: Vec<Window>,
    /// What threads do to one another, up to this event: more would be too much.
    pub told: Numbered,
    pub told_until: u64,
    most_told: usize,
    tellers: Vec<u8>,
    memory: Vec<Piece>,
    threads: Vec<Thread>,
    /// Whether threads' clocks are kept.
    is_ordered: bool,
    /// Sets of locks, by number.
    lock_sets: HashMap<Vec<(ObjectId, bool)>, u32>,
    sets: Vec<Vec<(ObjectId, bool)>>,
    /// Whether two of them exclude one another.
    excludes: HashMap<(u32, u32), bool>,
    /// Which lock was taken in which, and where.
    nested: HashMap<(ObjectId, ObjectId), HashSet<Positions>>,
    /// Sizes of blocks by address, and when they began.
    blocks: HashMap<u64, (u64, u64)>,
    permits: HashMap<ObjectId, u32>,
    /// What became of them: before which event, and the count until then.
    changes: Vec<(u64, ObjectId, u32)>,
    /// Of the block of events that is walked: the closest instance of each pair.
    closest: HashMap<Positions, (u64, u64)>,
    /// Events that windows have, and windows that pairs have.
    cut: u64,
    windows_of: HashMap<Positions, u32>,
}

/// A thread, as far as the walk has come.
#[derive(Clone, Default)]
struct Thread {
    held: Vec<Held>,
    /// The number of its set of locks.
    locks: u32,
    /// How far each other thread had come that it knows of, and how far it is itself: steps are forks and ends.
    knows: Vec<u32>,
    step: u32,
}

#[derive(Clone, Copy)]
struct Held {
    lock: ObjectId,
    shared: bool,
    at: CodePosition,
}

/// An access.
#[derive(Clone, Copy, Default)]
struct Last {
    event: u64,
    at: CodePosition,
    thread: u32,
    step: u32,
    locks: u32,
    /// Which bytes of its piece; none if there was no access.
    bytes: u8,
    atomic: bool,
}

/// The last accesses of a piece: a write, and reads of two threads.
#[derive(Clone, Copy, Default)]
struct Piece {
    number: u64,
    write: Last,
    reads: [Last; 2],
}

impl Scan {
    pub(super) fn new(tables: &Tables) -> Scan {
        let threads = tables.threads.len();
        let is_ordered = threads <= MOST_THREADS;
        let thread = Thread {
            step: 1,
            knows: vec![0; if is_ordered { threads } else { 0 }],
            ..Thread::default()
        };
        let semaphores = (0..).map(ObjectId).zip(&tables.objects);
        Scan {
            memory: vec![Piece::default(); PIECES],
            tellers: vec![NOBODY; TELLERS],
            threads: vec![thread; threads],
            is_ordered,
            lock_sets: HashMap::from_iter([(Vec::new(), 0)]),
            sets: vec![Vec::new()],
            permits: semaphores
                .map(|(id, row)| (id, row.initial))
                .filter(|row| row.1 > 0)
                .collect(),
            ..Scan::default()
        }
    }

    /// Walks all events. `rank` says of a pair how soon it gets a window: the lowest ones first, the highest number
    /// never.
    pub(super) fn walk(&mut self, file: &TraceFile, rank: &dyn Fn(Positions) -> u32) -> Result<(), ReadError> {
        self.most_told = (file.len() / EVENTS_FOR_ONE_TOLD).max(TOLD_AT_LEAST) as usize;
        self.told_until = file.len();
        for (index, block) in file.blocks().iter().enumerate() {
            let mut number = block.first_event;
            file.visit_block(index, |event| {
                self.see(number, event);
                number += 1;
            })?;
            self.cut_windows(file, number, rank)?;
        }
        self.close_circles();
        Ok(())
    }

    /// What threads do to one another, and some accesses besides, as a part of the run that is told without the others.
    /// What these read and write nobody tells, unless threads tell something by it.
    pub(super) fn told_with(&self, file: &TraceFile, accesses: &[u64]) -> Result<Vec<Event>, ReadError> {
        let mut all = self.told.clone();
        let known: HashSet<u64> = all.iter().map(|&(number, _)| number).collect();
        let others = accesses.iter().filter(|number| !known.contains(*number));
        let others = others.map(|&number| (number, number + 1)).collect();
        for (number, mut event) in events_within(file, others)? {
            if let Op::Read { mem, value } | Op::Write { mem, value } | Op::Destroy { mem, value } = &mut event.op
                && !self.tells(*mem)
            {
                *value = 0;
            }
            all.push((number, event));
        }
        all.sort_unstable_by_key(|&(number, _)| number);
        Ok(all.into_iter().map(|(_, event)| event).collect())
    }

    fn see(&mut self, number: u64, event: &Event) {
        let thread = event.thread.index();
        if thread >= self.threads.len() {
            return;
        }
        match event.op {
            Op::Read { mem, .. } => self.access(number, event, mem, false, false),
            Op::Write { mem, .. } | Op::Destroy { mem, .. } => self.access(number, event, mem, true, false),
            Op::AtomicLoad { mem, .. } | Op::Use { mem } => self.access(number, event, mem, false, true),
            Op::AtomicStore { mem, .. } | Op::AtomicRmw { mem, .. } => self.access(number, event, mem, true, true),
            Op::Alloc { addr, size } => {
                self.blocks.insert(addr, (size, number));
                self.forget(addr, size);
            }
            Op::Free { addr } => self.free(number, event, addr),
            Op::Acquire { lock, .. } => self.acquire(event, lock, false),
            Op::AcquireShared { lock, .. } => self.acquire(event, lock, true),
            Op::WaitEnd { lock, .. } => self.acquire(event, lock, false),
            Op::Release { lock } => self.release(thread, lock, false),
            Op::WaitBegin { lock, .. } => self.release(thread, lock, true),
            Op::SemPost { semaphore } => self.count(number, semaphore, 1),
            Op::SemWait { semaphore, .. } => self.count(number, semaphore, -1),
            Op::Fork { child } => self.fork(thread, child),
            Op::Join { child, .. } => self.join(thread, child),
            _ => {}
        }
        self.tell(number, event);
    }

    /// Keeps an event by which threads may tell one another something.
    #[inline]
    fn tell(&mut self, number: u64, event: &Event) {
        match event.op {
            Op::Branch => return,
            Op::Read { mem, .. } | Op::Write { mem, .. } | Op::Destroy { mem, .. } | Op::Use { mem } => {
                if self.threads[event.thread.index()].locks != 0 {
                    self.tell_by(event.thread, mem);
                } else if !self.tells(mem) {
                    return;
                }
            }
            Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. } | Op::AtomicRmw { mem, .. } => {
                self.tell_by(event.thread, mem);
            }
            _ => {}
        }
        if self.told.len() < self.most_told {
            self.told.push((number, *event));
        } else {
            self.told_until = number.min(self.told_until);
        }
    }

    fn tell_by(&mut self, thread: ThreadId, mem: MemRange) {
        let me = 1 + (thread.0 % u32::from(SEVERAL - 1)) as u8;
        for row in tellers(mem) {
            let teller = &mut self.tellers[row];
            *teller = if [NOBODY, me].contains(teller) { me } else { SEVERAL };
        }
    }

    fn tells(&self, mem: MemRange) -> bool {
        tellers(mem).any(|row| self.tellers[row] == SEVERAL)
    }

    fn last(&self, number: u64, event: &Event) -> Last {
        let thread = &self.threads[event.thread.index()];
        Last {
            event: number,
            at: event.pc,
            thread: event.thread.0,
            step: thread.step,
            locks: thread.locks,
            bytes: 0,
            atomic: false,
        }
    }

    fn access(&mut self, number: u64, event: &Event, mem: MemRange, writes: bool, atomic: bool) {
        let (first, last) = (mem.addr / PIECE, (mem.addr + u64::from(mem.size).max(1) - 1) / PIECE);
        for piece in first..=last {
            let from = mem.addr.max(piece * PIECE) % PIECE;
            let until = (mem.addr + u64::from(mem.size)).min((piece + 1) * PIECE) - piece * PIECE;
            let bytes = (u8::MAX >> (8 - (until - from).clamp(1, PIECE))) << from;
            let now = Last {
                bytes,
                atomic,
                ..self.last(number, event)
            };
            self.access_piece(piece, now, writes);
        }
    }

    fn access_piece(&mut self, number: u64, now: Last, writes: bool) {
        let slot = number as usize % PIECES;
        let mut piece = self.memory[slot];
        if piece.number != number {
            piece = Piece {
                number,
                ..Piece::default()
            };
        }
        self.compare(&piece.write, &now);
        if writes {
            for read in &piece.reads {
                self.compare(read, &now);
            }
            piece.write = now;
        } else {
            if piece.reads[0].thread != now.thread {
                piece.reads.swap(0, 1);
            }
            piece.reads[0] = now;
        }
        self.memory[slot] = piece;
    }

    /// Notes two accesses that conflict, and that nothing keeps apart as far as the walk sees.
    fn compare(&mut self, then: &Last, now: &Last) {
        if then.bytes & now.bytes == 0 || then.thread == now.thread || (then.atomic && now.atomic) {
            return;
        }
        let knows = &self.threads[now.thread as usize].knows;
        if self.is_ordered && knows[then.thread as usize] >= then.step {
            return;
        }
        if then.locks != 0 && now.locks != 0 && self.exclude(then.locks, now.locks) {
            return;
        }
        let span = |&(a, b): &(u64, u64)| b - a;
        let instance = (then.event, now.event);
        let closest = self.closest.entry(sorted((then.at, now.at))).or_insert(instance);
        if span(&instance) < span(closest) {
            *closest = instance;
        }
    }

    fn exclude(&mut self, a: u32, b: u32) -> bool {
        let sets = &self.sets;
        *self.excludes.entry((a, b)).or_insert_with(|| {
            let (a, b) = (&sets[a as usize], &sets[b as usize]);
            let keeps =
                |&(lock, shared): &(ObjectId, bool)| b.iter().any(|&(other, read)| other == lock && !(shared && read));
            a.iter().any(keeps)
        })
    }

    fn free(&mut self, number: u64, event: &Event, addr: u64) {
        let size = self.blocks.get(&addr).map_or(0, |&(size, _)| size);
        let pieces = size.div_ceil(PIECE).min(MANY_PIECES);
        for piece in (addr / PIECE..).take(pieces as usize) {
            let known = self.memory[piece as usize % PIECES];
            if known.number == piece {
                let now = Last {
                    bytes: u8::MAX,
                    ..self.last(number, event)
                };
                self.access_piece(piece, now, true);
            }
        }
    }

    /// What was accessed there is another block from now on.
    fn forget(&mut self, addr: u64, size: u64) {
        let pieces = addr / PIECE..addr.saturating_add(size).div_ceil(PIECE);
        if pieces.end - pieces.start > MANY_PIECES {
            for piece in self.memory.iter_mut().filter(|piece| pieces.contains(&piece.number)) {
                *piece = Piece::default();
            }
            return;
        }
        for number in pieces {
            let piece = &mut self.memory[number as usize % PIECES];
            if piece.number == number {
                *piece = Piece::default();
            }
        }
    }

    fn acquire(&mut self, event: &Event, lock: ObjectId, shared: bool) {
        let thread = &mut self.threads[event.thread.index()];
        for outer in thread.held.iter().filter(|held| held.lock != lock) {
            let places = self.nested.entry((outer.lock, lock)).or_default();
            places.insert((outer.at, event.pc));
        }
        let at = event.pc;
        thread.held.push(Held { lock, shared, at });
        self.number_locks(event.thread.index());
    }

    fn release(&mut self, thread: usize, lock: ObjectId, entirely: bool) {
        let held = &mut self.threads[thread].held;
        while let Some(at) = held.iter().rposition(|held| held.lock == lock) {
            held.remove(at);
            if !entirely {
                break;
            }
        }
        self.number_locks(thread);
    }

    fn number_locks(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        let mut set: Vec<_> = thread.held.iter().map(|held| (held.lock, held.shared)).collect();
        set.sort_unstable();
        set.dedup();
        thread.locks = match self.lock_sets.get(&set) {
            Some(&number) => number,
            None => {
                let number = self.sets.len() as u32;
                self.sets.push(set.clone());
                self.lock_sets.insert(set, number);
                number
            }
        };
    }

    fn count(&mut self, number: u64, semaphore: ObjectId, by: i32) {
        let permits = self.permits.entry(semaphore).or_default();
        self.changes.push((number, semaphore, *permits));
        *permits = permits.saturating_add_signed(by);
    }

    fn fork(&mut self, thread: usize, child: ThreadId) {
        if !self.is_ordered || child.index() >= self.threads.len() {
            return;
        }
        let mut knows = self.threads[thread].knows.clone();
        knows[thread] = self.threads[thread].step;
        self.threads[child.index()].knows = knows;
        self.threads[thread].step += 1;
    }

    fn join(&mut self, thread: usize, child: ThreadId) {
        if !self.is_ordered || child.index() >= self.threads.len() || child.index() == thread {
            return;
        }
        let mut knows = std::mem::take(&mut self.threads[thread].knows);
        let joined = &self.threads[child.index()];
        for (own, &other) in knows.iter_mut().zip(&joined.knows) {
            *own = other.max(*own);
        }
        knows[child.index()] = joined.step;
        self.threads[thread].knows = knows;
    }

    /// Cuts windows around what was found since the last time; events up to this one were walked.
    fn cut_windows(&mut self, file: &TraceFile, end: u64, rank: &dyn Fn(Positions) -> u32) -> Result<(), ReadError> {
        let allowed = allowed(end);
        let mut near = Vec::new();
        for (pair, (first, second)) in self.closest.drain() {
            if second - first <= SPAN {
                self.near.insert(pair);
                near.push((second - first, pair, first, second));
            } else {
                let instances = self.far.entry(pair).or_default();
                if instances.len() < FAR_INSTANCES {
                    instances.push((first, second));
                }
            }
        }
        near.sort_unstable();
        let mut ranked: Vec<_> = near
            .into_iter()
            .map(|(_, pair, first, second)| (rank(pair), pair, first, second))
            .collect();
        // Of equal ones, those first whose accesses are close to one another.
        ranked.sort_by_key(|&(rank, ..)| rank);
        let mut chosen = Vec::new();
        for (_, pair, first, second) in ranked.into_iter().filter(|&(rank, ..)| rank < u32::MAX) {
            if self.cut >= allowed {
                break;
            }
            let windows = self.windows_of.entry(pair).or_default();
            *windows += 1;
            if *windows > WINDOWS_OF_A_PAIR {
                continue;
            }
            let (start, stop) = (first.saturating_sub(BEFORE), (second + BEHIND).min(end));
            self.cut += stop - start;
            chosen.push((pair, start, stop));
        }
        let ranges = chosen.iter().map(|&(_, start, stop)| (start, stop)).collect();
        let events = events_within(file, ranges)?;
        for (pair, start, stop) in chosen {
            let [from, until] = [start, stop].map(|number| events.partition_point(|&(before, _)| before < number));
            let within = events[from..until].iter().map(|&(_, event)| event).collect();
            let events = self.with_blocks(within, start);
            let counts = self.counts_before(start);
            self.windows.push(Window { pair, events, counts });
        }
        Ok(())
    }

    /// With the beginning of each block that is freed in these events, and began before them.
    fn with_blocks(&self, events: Vec<Event>, start: u64) -> Vec<Event> {
        let frees = events.iter().filter_map(|event| match event.op {
            Op::Free { addr } => Some((event, addr, *self.blocks.get(&addr)?)),
            _ => None,
        });
        let begun = frees.filter(|(_, _, (_, at))| *at < start);
        let begun = begun.map(|(event, addr, (size, _))| Event {
            op: Op::Alloc { addr, size },
            ..*event
        });
        let begun: Vec<Event> = begun.collect();
        begun.into_iter().chain(events).collect()
    }

    fn counts_before(&self, start: u64) -> Vec<(ObjectId, u32)> {
        let mut counts: HashMap<ObjectId, u32> = self.permits.clone();
        // The first change from there on has what was before it.
        let from = self.changes.partition_point(|&(number, ..)| number < start);
        for &(_, semaphore, count) in self.changes[from..].iter().rev() {
            counts.insert(semaphore, count);
        }
        counts.into_iter().collect()
    }

    /// Keeps of the nested locks those that lie in a circle.
    fn close_circles(&mut self) {
        let mut inner: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for &(outer, lock) in self.nested.keys() {
            inner.entry(outer).or_default().push(lock);
        }
        for (&(outer, lock), places) in &self.nested {
            let (mut reached, mut next) = (HashSet::new(), vec![lock]);
            while let Some(lock) = next.pop().filter(|_| !reached.contains(&outer)) {
                for &further in inner.get(&lock).into_iter().flatten() {
                    if reached.insert(further) {
                        next.push(further);
                    }
                }
            }
            if reached.contains(&outer) {
                self.circles.extend(places);
            }
        }
    }
}

/// How many of so many events are looked at closely.
fn allowed(events: u64) -> u64 {
    (events / EVENTS_FOR_ONE).max(EVENTS_AT_LEAST)
}

/// The rows of some memory in the table of tellers.
fn tellers(mem: MemRange) -> impl Iterator<Item = usize> {
    /// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let pieces = mem.addr / PIECE..=(mem.addr + u64::from(mem.size).max(1) - 1) / PIECE;
    pieces.map(|piece| (piece.wrapping_mul(GOLDEN) >> (u64::BITS - TELLERS.ilog2())) as usize)
}

/// The events of a file within these ranges of numbers. No block is decoded twice, and of none all events are kept.
fn events_within(file: &TraceFile, mut ranges: Vec<(u64, u64)>) -> Result<Numbered, ReadError> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, stop) in ranges {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = stop.max(last.1),
            _ => merged.push((start, stop)),
        }
    }
    let blocks = file.blocks();
    let mut events = Vec::new();
    let mut ahead = merged.into_iter().peekable();
    for (index, block) in blocks.iter().enumerate() {
        let Some(&(start, _)) = ahead.peek() else {
            break;
        };
        let end = blocks.get(index + 1).map_or(file.len(), |next| next.first_event);
        if end <= start {
            continue;
        }
        let mut number = block.first_event;
        file.visit_block(index, |event| {
            while ahead.next_if(|&(_, stop)| stop <= number).is_some() {}
            if ahead.peek().is_some_and(|&(start, _)| start <= number) {
                events.push((number, *event));
            }
            number += 1;
        })?;
        while ahead.next_if(|&(_, stop)| stop <= end).is_some() {}
    }
    Ok(events)
}
