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
pub(super) const BEHIND: u64 = 200;

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

/// Of more threads, what they hear of one another by locks and the like is not followed: each time costs that many steps.
const MOST_LISTENERS: usize = 64;

/// Instances that are kept of two accesses that are too far apart for a window.
const FAR_INSTANCES: usize = 3;

/// Positions in the code whose accesses are not forgotten are known by a table of so many bits.
const WATCHED: usize = 1 << 16;

/// Of a trace's events, one of so many is kept as what threads do to one another, and this many in any case.
const EVENTS_FOR_ONE_TOLD: u64 = 20;
const TOLD_AT_LEAST: u64 = 30_000;

/// Pieces of memory by which threads may tell one another something are known by a table of so many: which thread
/// accesses it under a lock or atomically, or that several do. It stays in the processor's cache.
const TELLERS: usize = 1 << 16;

/// Nobody does, and several do.
const NOBODY: u8 = 0;
const SEVERAL: u8 = u8::MAX;

/// Events by their numbers, in their order.
pub(super) type Numbered = Vec<(u64, Event)>;

/// Two places in the code whose accesses conflicted, and whether nothing ordered these in the run itself, neither locks
/// nor what else threads hear of one another by. Such a pair is more likely to be a race than one that is a race only if
/// something comes in another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Conflict {
    pub positions: Positions,
    pub is_concurrent: bool,
}

/// Some events around two accesses.
pub(super) struct Window {
    /// Those for which it was cut, and others that lie within it.
    pub conflicts: Vec<Conflict>,
    pub events: Vec<Event>,
    /// Counts of semaphores before them.
    pub counts: Vec<(ObjectId, u32)>,
}

/// What a walk finds.
#[derive(Default)]
pub(super) struct Scan {
    /// Conflicting pairs with no common lock, whose accesses came close to one another; and others.
    pub near: HashSet<Positions>,
    /// The others with some instances, the numbers of two events; those come first that nothing ordered.
    pub far: HashMap<Positions, Far>,
    pub circles: HashSet<Positions>,
    pub windows: Vec<Window>,
    /// What threads do to one another, up to this event: more would be too much.
    pub told: Numbered,
    pub told_until: u64,
    most_told: usize,
    tellers: Vec<u8>,
    /// Which pieces of memory those are, by their numbers: apart from them, since most are others by the time that one is
    /// looked for, and what was there needs not be loaded then.
    numbers: Vec<u64>,
    memory: Vec<Piece>,
    /// A bit for each position in the code, by its hash: whether accesses from there are kept in a table of their own, in
    /// which nothing is pushed out.
    watched: Vec<u64>,
    watches: bool,
    kept: HashMap<u64, Piece>,
    threads: Vec<Thread>,
    /// Whether threads' clocks are kept.
    is_ordered: bool,
    /// Whether it is followed what threads hear of one another.
    listens: bool,
    /// What there is to hear from a lock, a condition or the like, or from memory that is accessed atomically.
    said: HashMap<Said, Vec<u32>>,
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
    /// Of that block: the best instance of each pair.
    best: HashMap<Positions, Instance>,
    /// Events that windows have, those for accesses that something ordered and for others; and windows that pairs have.
    cut: [u64; 2],
    windows_of: HashMap<Conflict, u32>,
}

/// Two conflicting accesses: the numbers of their events.
#[derive(Clone, Copy)]
struct Instance {
    first: u64,
    second: u64,
    is_concurrent: bool,
}

impl Instance {
    fn span(&self) -> u64 {
        self.second - self.first
    }

    /// What makes one better than another: the lowest first.
    fn rank(&self) -> (bool, u64) {
        (!self.is_concurrent, self.span())
    }
}

/// Accesses of two places that are too far apart for a window.
#[derive(Clone, Default)]
pub(super) struct Far {
    pub instances: Vec<(u64, u64)>,
    /// Whether nothing ordered some of them.
    pub is_concurrent: bool,
}

/// What threads hear of one another by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Said {
    By(ObjectId),
    At(u64),
}

/// A thread, as far as the walk has come.
#[derive(Clone, Default)]
struct Thread {
    held: Vec<Held>,
    /// The number of its set of locks.
    locks: u32,
    /// How far each other thread had come that it knows of by forks and joins, and that it has heard of in any way; and
    /// how far it is itself: what another one may hear of it is a step.
    knows: Vec<u32>,
    hears: Vec<u32>,
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
    write: Last,
    reads: [Last; 2],
}

impl Scan {
    /// Accesses from the positions that are to be `watched` are compared however long ago they were.
    pub(super) fn new(tables: &Tables, watched: impl IntoIterator<Item = CodePosition>) -> Scan {
        let threads = tables.threads.len();
        let (is_ordered, listens) = (threads <= MOST_THREADS, threads <= MOST_LISTENERS);
        let thread = Thread {
            step: 1,
            knows: vec![0; if is_ordered { threads } else { 0 }],
            hears: vec![0; if listens { threads } else { 0 }],
            ..Thread::default()
        };
        let mut bits = vec![0; WATCHED / u64::BITS as usize];
        for position in watched {
            let (word, bit) = bit_of(position);
            bits[word] |= bit;
        }
        let semaphores = (0..).map(ObjectId).zip(&tables.objects);
        Scan {
            numbers: vec![0; PIECES],
            memory: vec![Piece::default(); PIECES],
            tellers: vec![NOBODY; TELLERS],
            threads: vec![thread; threads],
            watches: bits.iter().any(|&word| word != 0),
            watched: bits,
            is_ordered,
            listens,
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
    pub(super) fn walk(&mut self, file: &TraceFile, rank: &dyn Fn(Conflict) -> u32) -> Result<(), ReadError> {
        self.most_told = (file.len() / EVENTS_FOR_ONE_TOLD).max(TOLD_AT_LEAST) as usize;
        self.told_until = u64::MAX;
        for (index, block) in file.blocks().iter().enumerate() {
            let mut number = block.first_event;
            file.visit_block(index, |event| {
                self.see(number, event);
                number += 1;
            })?;
            self.cut_windows(file, number, rank)?;
        }
        self.told_until = self.told_until.min(file.len());
        self.close_circles();
        Ok(())
    }

    /// What threads do to one another up to an event, and some accesses besides, as a part of the run that is told
    /// without the others. What these read and write nobody tells, unless threads tell something by it.
    pub(super) fn told_with(&self, file: &TraceFile, accesses: &[u64], until: u64) -> Result<Vec<Event>, ReadError> {
        let count = self.told.partition_point(|&(number, _)| number < until);
        let mut all = self.told[..count].to_vec();
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

    /// Nearly all events are plain accesses, of which most are no news: that is seen in a few comparisons.
    #[inline(always)]
    fn see(&mut self, number: u64, event: &Event) {
        // Field by field: what was just written in pieces is slow to read as a whole.
        let (MemRange { addr, size }, writes) = match event.op {
            Op::Read {
                mem: MemRange { addr, size },
                ..
            } => (MemRange { addr, size }, false),
            Op::Write {
                mem: MemRange { addr, size },
                ..
            } => (MemRange { addr, size }, true),
            Op::Branch => return,
            _ => return self.see_other(number, event),
        };
        let mem = MemRange { addr, size };
        let Some(thread) = self.threads.get(event.thread.index()) else {
            return;
        };
        let holds_locks = thread.locks != 0;
        self.access(number, event, mem, writes, false);
        if holds_locks {
            self.tell_by(event.thread, mem);
        }
        if holds_locks || (self.told_until == u64::MAX && self.tells(mem)) {
            self.keep_told(number, event);
        }
    }

    #[inline(never)]
    fn see_other(&mut self, number: u64, event: &Event) {
        let thread = event.thread.index();
        if thread >= self.threads.len() {
            return;
        }
        match event.op {
            Op::Destroy { mem, .. } => self.access(number, event, mem, true, false),
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
        self.hear(event);
        self.tell(number, event);
    }

    /// Follows what threads hear of one another.
    #[inline]
    fn hear(&mut self, event: &Event) {
        let thread = event.thread.index();
        match event.op {
            _ if !self.listens => {}
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => self.listen(thread, Said::By(lock)),
            Op::Release { lock } => self.say(thread, Said::By(lock)),
            Op::WaitBegin { lock, .. } => self.say(thread, Said::By(lock)),
            Op::WaitEnd { condition, lock, .. } => {
                self.listen(thread, Said::By(condition));
                self.listen(thread, Said::By(lock));
            }
            Op::Notify { condition: object }
            | Op::NotifyAll { condition: object }
            | Op::BarrierEnter { barrier: object, .. }
            | Op::SemPost { semaphore: object }
            | Op::OnceEnd { once: object } => self.say(thread, Said::By(object)),
            Op::BarrierExit { barrier: object, .. }
            | Op::SemWait { semaphore: object, .. }
            | Op::OnceWait { once: object } => self.listen(thread, Said::By(object)),
            Op::AtomicLoad { mem, .. } => self.listen(thread, Said::At(mem.addr)),
            Op::AtomicStore { mem, .. } => self.say(thread, Said::At(mem.addr)),
            Op::AtomicRmw { mem, .. } => {
                self.listen(thread, Said::At(mem.addr));
                self.say(thread, Said::At(mem.addr));
            }
            _ => {}
        }
    }

    fn listen(&mut self, thread: usize, to: Said) {
        if let Some(said) = self.said.get(&to) {
            latest(&mut self.threads[thread].hears, said);
        }
    }

    fn say(&mut self, thread: usize, by: Said) {
        let speaker = &mut self.threads[thread];
        let said = self.said.entry(by).or_insert_with(|| vec![0; speaker.hears.len()]);
        latest(said, &speaker.hears);
        said[thread] = speaker.step;
        speaker.step += 1;
    }

    /// Keeps an event by which threads may tell one another something, other than a plain access.
    fn tell(&mut self, number: u64, event: &Event) {
        match event.op {
            Op::Destroy { mem, .. } | Op::Use { mem } => {
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
        self.keep_told(number, event);
    }

    fn keep_told(&mut self, number: u64, event: &Event) {
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

    #[inline(always)]
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

    #[inline(always)]
    fn access(&mut self, number: u64, event: &Event, mem: MemRange, writes: bool, atomic: bool) {
        let last = Last {
            atomic,
            ..self.last(number, event)
        };
        let until = mem.addr + u64::from(mem.size).max(1);
        for piece in mem.addr / PIECE..=(until - 1) / PIECE {
            let (from, until) = (mem.addr.max(piece * PIECE), until.min((piece + 1) * PIECE));
            let bytes = (u8::MAX >> (8 - (until - from))) << (from % PIECE);
            self.access_piece(piece, Last { bytes, ..last }, writes);
        }
    }

    #[inline(always)]
    fn access_piece(&mut self, number: u64, now: Last, writes: bool) {
        let row = number as usize % PIECES;
        if self.numbers[row] != number {
            self.numbers[row] = number;
            self.memory[row] = Piece::first(now, writes);
        } else {
            if self.memory[row].conflicts(&now, writes) {
                // A copy, so that the original never has to leave the processor's registers.
                let (before, copy) = (self.memory[row], now);
                self.compare_with(&before, &copy, writes);
            }
            self.memory[row].note(now, writes);
        }
        if self.watches && self.is_watched(now.at) {
            let copy = now;
            self.watch(number, &copy, writes);
        }
    }

    #[inline(always)]
    fn is_watched(&self, at: CodePosition) -> bool {
        let (word, bit) = bit_of(at);
        self.watched[word] & bit != 0
    }

    #[inline(never)]
    fn watch(&mut self, number: u64, now: &Last, writes: bool) {
        let piece = *self.kept.entry(number).or_default();
        if piece.conflicts(now, writes) {
            self.compare_with(&piece, now, writes);
        }
        if let Some(piece) = self.kept.get_mut(&number) {
            piece.note(*now, writes);
        }
    }

    /// Compares an access with those of its piece before.
    #[inline(never)]
    fn compare_with(&mut self, piece: &Piece, now: &Last, writes: bool) {
        self.compare(&piece.write, now);
        if writes {
            for read in &piece.reads {
                self.compare(read, now);
            }
        }
    }

    /// Notes two accesses that conflict, and that nothing keeps apart as far as the walk sees.
    fn compare(&mut self, then: &Last, now: &Last) {
        if !then.conflicts(now) {
            return;
        }
        let knows = &self.threads[now.thread as usize].knows;
        if self.is_ordered && knows[then.thread as usize] >= then.step {
            return;
        }
        if then.locks != 0 && now.locks != 0 && self.exclude(then.locks, now.locks) {
            return;
        }
        let hears = &self.threads[now.thread as usize].hears;
        let instance = Instance {
            first: then.event,
            second: now.event,
            is_concurrent: self.listens && hears[then.thread as usize] < then.step,
        };
        let best = self.best.entry(sorted((then.at, now.at))).or_insert(instance);
        if instance.rank() < best.rank() {
            *best = instance;
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
            if self.numbers[piece as usize % PIECES] == piece {
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
        if !self.kept.is_empty() {
            self.kept.retain(|piece, _| !pieces.contains(piece));
        }
        if pieces.end - pieces.start > MANY_PIECES {
            for number in self.numbers.iter_mut().filter(|number| pieces.contains(*number)) {
                *number = 0;
            }
            return;
        }
        for number in pieces {
            let known = &mut self.numbers[number as usize % PIECES];
            if *known == number {
                *known = 0;
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
        let parent = &mut self.threads[thread];
        let (mut knows, mut hears) = (parent.knows.clone(), parent.hears.clone());
        knows[thread] = parent.step;
        if self.listens {
            hears[thread] = parent.step;
        }
        parent.step += 1;
        let child = &mut self.threads[child.index()];
        (child.knows, child.hears) = (knows, hears);
    }

    fn join(&mut self, thread: usize, child: ThreadId) {
        if !self.is_ordered || child.index() >= self.threads.len() || child.index() == thread {
            return;
        }
        let Thread { knows, hears, step, .. } = self.threads[child.index()].clone();
        let parent = &mut self.threads[thread];
        latest(&mut parent.knows, &knows);
        latest(&mut parent.hears, &hears);
        parent.knows[child.index()] = step;
        if self.listens {
            parent.hears[child.index()] = step;
        }
    }

    /// Cuts windows around what was found since the last time; events up to this one were walked.
    fn cut_windows(&mut self, file: &TraceFile, end: u64, rank: &dyn Fn(Conflict) -> u32) -> Result<(), ReadError> {
        let allowed = allowed(file.len(), end);
        let mut near = Vec::new();
        for (positions, instance) in self.best.drain() {
            let is_concurrent = instance.is_concurrent;
            let conflict = Conflict {
                positions,
                is_concurrent,
            };
            if instance.span() <= SPAN {
                self.near.insert(positions);
                near.push((rank(conflict), instance.rank(), conflict, instance));
            } else {
                let far = self.far.entry(positions).or_default();
                far.note(instance);
            }
        }
        // Of equal ones, those first that nothing ordered, and whose accesses are close to one another.
        near.retain(|&(rank, ..)| rank < u32::MAX);
        near.sort_unstable_by_key(|&(rank, quality, conflict, _)| (rank, quality, conflict));
        let mut chosen: Vec<(u64, u64, Vec<Conflict>)> = Vec::new();
        for (_, _, conflict, Instance { first, second, .. }) in near {
            let lies_within = |&&mut (start, stop, _): &&mut (u64, u64, Vec<Conflict>)| {
                (start + BEFORE / 2 <= first || start == 0) && second < stop
            };
            if let Some((_, _, conflicts)) = chosen.iter_mut().find(lies_within) {
                conflicts.push(conflict);
                continue;
            }
            let windows = self.windows_of.entry(conflict).or_default();
            let cut = &mut self.cut[usize::from(conflict.is_concurrent)];
            if *cut >= allowed || *windows == WINDOWS_OF_A_PAIR {
                continue;
            }
            *windows += 1;
            let (start, stop) = (first.saturating_sub(BEFORE), (second + BEHIND).min(end));
            *cut += stop - start;
            chosen.push((start, stop, vec![conflict]));
        }
        let ranges = chosen.iter().map(|&(start, stop, _)| (start, stop)).collect();
        let events = events_within(file, ranges)?;
        for (start, stop, conflicts) in chosen {
            let [from, until] = [start, stop].map(|number| events.partition_point(|&(before, _)| before < number));
            let within = events[from..until].iter().map(|&(_, event)| event).collect();
            let events = self.with_blocks(within, start);
            let counts = self.counts_before(start);
            self.windows.push(Window {
                conflicts,
                events,
                counts,
            });
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

impl Last {
    /// Whether they are of two threads, at the same bytes, and not both atomic. No branches: they come in all orders.
    #[inline(always)]
    fn conflicts(&self, now: &Last) -> bool {
        (self.bytes & now.bytes != 0) & (self.thread != now.thread) & !(self.atomic & now.atomic)
    }
}

impl Piece {
    /// A piece that was accessed once.
    #[inline(always)]
    fn first(now: Last, writes: bool) -> Piece {
        let none = Last::default();
        Piece {
            write: if writes { now } else { none },
            reads: [if writes { none } else { now }, none],
        }
    }

    /// Whether an access conflicts with one before.
    #[inline(always)]
    fn conflicts(&self, now: &Last, writes: bool) -> bool {
        let [a, b] = &self.reads;
        self.write.conflicts(now) || (writes && (a.conflicts(now) | b.conflicts(now)))
    }

    /// Keeps an access.
    #[inline(always)]
    fn note(&mut self, now: Last, writes: bool) {
        if writes {
            self.write = now;
        } else {
            if self.reads[0].thread != now.thread {
                self.reads[1] = self.reads[0];
            }
            self.reads[0] = now;
        }
    }
}

impl Far {
    fn note(&mut self, instance: Instance) {
        let Instance { first, second, .. } = instance;
        if instance.is_concurrent && !self.is_concurrent {
            self.is_concurrent = true;
            self.instances.insert(0, (first, second));
            self.instances.truncate(FAR_INSTANCES);
        } else if self.instances.len() < FAR_INSTANCES {
            self.instances.push((first, second));
        }
    }
}

/// Hears all that others have.
fn latest(own: &mut [u32], other: &[u32]) {
    for (own, &other) in own.iter_mut().zip(other) {
        *own = other.max(*own);
    }
}

/// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The word and the bit of a position in the table of those that are watched.
fn bit_of(position: CodePosition) -> (usize, u64) {
    let row = (position.wrapping_mul(GOLDEN) >> (u64::BITS - WATCHED.ilog2())) as usize;
    (row / u64::BITS as usize, 1 << (row % u64::BITS as usize))
}

/// How many of so many events are looked at closely, of those up to `end`: not all where a run begins.
fn allowed(events: u64, end: u64) -> u64 {
    let all = (events / EVENTS_FOR_ONE).max(EVENTS_AT_LEAST);
    (u128::from(all) * u128::from(end) / u128::from(events.max(1))) as u64
}

/// The rows of some memory in the table of tellers.
fn tellers(mem: MemRange) -> impl Iterator<Item = usize> {
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
