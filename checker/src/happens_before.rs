//! Happens-before of an executed schedule, for races that only weak atomics allow.
//!
//! Two accesses that are never next at once can still race in C11, C++ and Rust: if the second one
//! waits for a *relaxed* flag, it comes after the first in every sequentially consistent schedule,
//! yet nothing synchronizes the two. Such a race is shown by a feasible schedule that has performed
//! the first access, in which the second is next, and in which the first does not happen before the
//! second: no chain of program order and synchronizes-with leads from one to the other.
//!
//! Vector clocks along the executed events. Synchronizes-with is that of the C11 memory model
//! (release and acquire operations, release sequences, fences) and of locks, fork and join, rounds,
//! semaphores, once cells. Where a standard leaves open whether something synchronizes (a notify
//! and the wait that it wakes, a post and a later wait, two sequentially consistent fences, a
//! relaxed store of the thread that heads a release sequence), it does here: so a race may be missed
//! for that, and none is wrongly shown.
//!
//! So does whatever else a feasible prefix may rest on: a plain read and the write that it sees (if nothing
//! orders the two, *that* is the race), a failed acquire and whoever held the lock, memory and its alloc, a lock
//! given back for another thread, an access of a byte that unrecorded code changes and everything around it. What is
//! left are pairs that only an atomic operation keeps apart, and that its memory order does not.

use crate::Checker;
use crate::accept::Executed;
use crate::before::WaitingFromStart;
use crate::bytes::number;
use crate::recording::Access;
use hashbrown::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;
use trace_format::{EventId, MemoryOrder, ObjectId, ObjectInfo, Op, ThreadId, WaitOutcome};

/// What a thread knows of what was done before. What it leaves where others find it are copies, so they cost little.
pub(crate) trait Knowledge: Clone {
    /// Nothing, of so many threads.
    fn nothing(threads: usize) -> Self;
    /// Whether it is nothing, where it is left for others.
    fn is_nothing(&self) -> bool;
    /// Adds what somebody else knows.
    fn join(&mut self, other: &Self);
    /// Adds an event of the thread itself.
    fn perform(&mut self, thread: ThreadId, event: EventId);
}

/// Of every event whether it is known.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// By thread: the number behind the last of its events that are, but for `latest`.
    known: Rc<Vec<u32>>,
    /// A thread, and the number behind the last of its events that are. This is what changes with each event of a thread;
    /// the rest changes where it learns something, and all that it leaves in between shares it.
    latest: (u32, u32),
}

impl Clock {
    /// The number behind the last event of a thread that is known.
    fn of(&self, thread: usize) -> u32 {
        let known = self.known[thread];
        match self.latest {
            (own, latest) if own as usize == thread => known.max(latest),
            _ => known,
        }
    }

    /// That one is known up to here, unless it is known further.
    fn learn(&mut self, (thread, until): (u32, u32)) {
        if until <= self.of(thread as usize) {
            return;
        }
        match self.latest.0 == thread {
            true => self.latest.1 = until,
            false => Rc::make_mut(&mut self.known)[thread as usize] = until,
        }
    }
}

impl Knowledge for Clock {
    fn nothing(threads: usize) -> Clock {
        Clock {
            known: Rc::new(vec![0; threads]),
            latest: (0, 0),
        }
    }

    fn is_nothing(&self) -> bool {
        // Who leaves something has done something.
        false
    }

    fn join(&mut self, other: &Clock) {
        let is_new = |(mine, theirs)| theirs > mine;
        if !Rc::ptr_eq(&self.known, &other.known) && self.known.iter().zip(&*other.known).any(is_new) {
            for (mine, &theirs) in Rc::make_mut(&mut self.known).iter_mut().zip(&*other.known) {
                *mine = (*mine).max(theirs);
            }
        }
        self.learn(other.latest);
    }

    fn perform(&mut self, thread: ThreadId, event: EventId) {
        if self.latest.0 != thread.0 {
            let before = std::mem::replace(&mut self.latest, (thread.0, 0));
            self.learn(before);
        }
        self.latest.1 = event.0 + 1;
    }
}

/// Of a single event whether it is known: much cheaper, if nothing else is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfOne(bool);

impl Knowledge for OfOne {
    fn nothing(_: usize) -> OfOne {
        OfOne(false)
    }

    fn is_nothing(&self) -> bool {
        !self.0
    }

    fn join(&mut self, other: &OfOne) {
        self.0 |= other.0;
    }

    fn perform(&mut self, _: ThreadId, _: EventId) {}
}

/// What those knew who wrote bytes last, and whether they did so atomically. A long schedule writes a million bytes: they
/// are kept in parts, of which one at a time has twice its room while it grows.
struct Written<K> {
    known: [HashMap<u32, K>; 16],
    atomically: HashSet<u32>,
}

impl<K> Default for Written<K> {
    fn default() -> Written<K> {
        Written {
            known: std::array::from_fn(|_| HashMap::new()),
            atomically: HashSet::new(),
        }
    }
}

impl<K: Knowledge> Written<K> {
    /// The part that a byte is in.
    fn part(byte: usize) -> usize {
        (byte >> 6) % 16
    }

    fn get(&self, byte: usize) -> Option<(&K, bool)> {
        let known = self.known[Self::part(byte)].get(&number(byte))?;
        Some((known, self.atomically.contains(&number(byte))))
    }

    fn leave(&mut self, byte: usize, known: &K, atomically: bool) {
        let (part, number) = (&mut self.known[Self::part(byte)], number(byte));
        match known.is_nothing() {
            true => part.remove(&number),
            false => part.insert(number, known.clone()),
        };
        if atomically {
            self.atomically.insert(number);
        } else if !self.atomically.is_empty() {
            self.atomically.remove(&number);
        }
    }
}

/// Who heads a release sequence, and what it releases.
type Release<K> = (ThreadId, K);

/// What happened before what, in the events executed so far. Where nothing is known, nothing is kept.
pub(crate) struct HappensBefore<'t, K> {
    checker: &'t Checker<'t>,
    /// Whether pinned accesses order what is around them.
    pub(crate) pins: bool,
    threads: Vec<K>,
    /// What an acquire fence of the thread would acquire.
    loaded: Vec<K>,
    /// What the thread's last release fence released.
    fenced: Vec<K>,
    // What is known of a piece of memory that all accesses touch as a whole is kept at its first byte.
    /// The release sequences that the last store of a byte belongs to.
    released: HashMap<usize, Vec<Release<K>>>,
    written: Written<K>,
    allocated: HashMap<EventId, K>,
    /// What those knew who took a lock.
    taken: HashMap<ObjectId, K>,
    /// Everything that synchronizes through an object: who comes later knows what is in here.
    objects: HashMap<ObjectId, K>,
    /// What readers of a lock released; only writers learn of it.
    readers: HashMap<ObjectId, K>,
    held_shared: HashMap<(ObjectId, ThreadId), u32>,
    /// By thread: its waits, and what those knew who woke them.
    waits: HashMap<ThreadId, Vec<Wait<K>>>,
    fences: K,
}

/// A wait that is under way.
struct Wait<K> {
    condition: ObjectId,
    /// `None` if the trace does not have it.
    end: Option<EventId>,
    woken: Option<K>,
}

impl<'t, K: Knowledge> HappensBefore<'t, K> {
    fn nothing(checker: &'t Checker<'t>) -> HappensBefore<'t, K> {
        let zero = K::nothing(checker.threads());
        // Those that waited before the trace began.
        let mut waits: HashMap<ThreadId, Vec<Wait<K>>> = HashMap::new();
        let asleep = |waiting: &&WaitingFromStart| waiting.outcome == WaitOutcome::Notified && !waiting.woken;
        for waiting in checker.facts.waiting.iter().filter(asleep) {
            waits.entry(waiting.thread).or_default().push(Wait {
                condition: waiting.condition,
                end: Some(waiting.end),
                woken: None,
            });
        }
        // Those that were readers before it did.
        let mut held_shared: HashMap<(ObjectId, ThreadId), u32> = HashMap::new();
        for &(lock, thread, _) in checker.facts.held.iter().filter(|(.., shared)| *shared) {
            *held_shared.entry((lock, thread)).or_default() += 1;
        }
        HappensBefore {
            checker,
            pins: true,
            threads: vec![zero.clone(); checker.threads()],
            loaded: vec![zero.clone(); checker.threads()],
            fenced: vec![zero.clone(); checker.threads()],
            released: HashMap::new(),
            written: Written::default(),
            allocated: HashMap::new(),
            taken: HashMap::new(),
            objects: HashMap::new(),
            readers: HashMap::new(),
            held_shared,
            waits,
            fences: zero,
        }
    }

    /// Whether an access changes nothing of what is known: its thread knows nothing, nor does anybody who left something
    /// where it goes. Told without looking at what it does.
    pub(crate) fn is_untouched_by(&self, event: EventId) -> bool {
        let Self { checker, .. } = *self;
        if !self.threads[checker.recording.thread(event).index()].is_nothing() {
            return false;
        }
        let Some(touched) = checker.bytes.touched(event) else {
            return false;
        };
        let alloc = checker.bytes.alloc_of(touched.block);
        let is_known = |byte: usize| self.written.get(byte).is_some() || self.released.contains_key(&byte);
        alloc.is_none_or(|alloc| !self.allocated.contains_key(&alloc))
            && !checker.bytes.pieces(touched.bytes).any(is_known)
            && (!self.pins || checker.unrecorded.pin(event).is_none())
    }

    /// Takes note of an executed event.
    pub(crate) fn step(&mut self, executed: &Executed) {
        let event = executed.event;
        let thread = self.checker.recording.thread(event);
        self.threads[thread.index()].perform(thread, event);
        let op = self.checker.recording.op(event);
        match op {
            Op::Fork { child } => {
                let parent = self.threads[thread.index()].clone();
                self.threads[child.index()].join(&parent);
            }
            Op::Join { child, .. } => {
                let child = self.threads[child.index()].clone();
                self.threads[thread.index()].join(&child);
            }
            // No memory model knows of the system's locks.
            Op::Acquire { lock, .. } | Op::Release { lock } if self.is_of_system(lock) => {}
            Op::Acquire { lock, .. } => self.take_alone(thread, lock),
            Op::WaitEnd { lock, .. } => {
                self.end_wait(event, thread);
                self.take_alone(thread, lock);
            }
            Op::AcquireShared { lock, .. } => {
                *self.held_shared.entry((lock, thread)).or_default() += 1;
                self.acquire(thread, lock);
                self.take(thread, lock);
            }
            Op::AcquireFailed { lock, .. } => self.learn_of_takers(thread, lock),
            Op::Release { lock } if self.checker.recording.tables().meta.foreign_unlock => {
                self.learn_of_takers(thread, lock);
                self.release(thread, lock);
            }
            Op::Release { lock } => match self.held_shared.get_mut(&(lock, thread)) {
                Some(depth) if *depth > 0 => {
                    *depth -= 1;
                    leave(&mut self.readers, lock, &self.threads[thread.index()]);
                }
                _ => self.release(thread, lock),
            },
            Op::WaitBegin { condition, lock } => {
                self.release(thread, lock);
                let end = self.checker.facts.wait_end(event);
                if end.is_none_or(|(_, outcome)| outcome != WaitOutcome::TimedOut) {
                    let (end, woken) = (end.map(|(end, _)| end), None);
                    self.waits
                        .entry(thread)
                        .or_default()
                        .push(Wait { condition, end, woken });
                }
            }
            Op::Notify { condition } => self.wake(thread, condition, &executed.step.woken, 1),
            Op::NotifyAll { condition } => self.wake(thread, condition, &executed.step.woken, usize::MAX),
            // A round begins when those before it are full.
            Op::BarrierEnter { barrier, .. } => {
                self.acquire(thread, barrier);
                self.release(thread, barrier);
            }
            Op::SemPost { semaphore: object } | Op::OnceEnd { once: object } | Op::Output { source: object } => {
                self.release(thread, object);
            }
            Op::SemWait { semaphore, .. } => {
                self.acquire(thread, semaphore);
                self.take(thread, semaphore);
            }
            // Who took the permits is why there was none.
            Op::SemWaitFailed { semaphore } => self.learn_of_takers(thread, semaphore),
            // So is whatever changed a count why it was what the thread saw.
            Op::SemValue { semaphore, .. } => {
                self.acquire(thread, semaphore);
                self.learn_of_takers(thread, semaphore);
            }
            Op::BarrierExit { barrier: object, .. } | Op::OnceWait { once: object } => self.acquire(thread, object),
            // What comes in keeps its order, behind what went out.
            Op::Input { source, .. } => {
                self.acquire(thread, source);
                self.release(thread, source);
            }
            Op::Fence { order } => self.fence(thread, order),
            Op::Alloc { .. } => leave(&mut self.allocated, event, &self.threads[thread.index()]),
            Op::Begin | Op::End | Op::OnceBegin { .. } | Op::Branch => {}
            _ => self.access(event, op, thread),
        }
    }

    /// Whether a lock is the system's own, which it holds while it looks who waits for a futex.
    fn is_of_system(&self, lock: ObjectId) -> bool {
        let row = self.checker.recording.tables().object(lock);
        row.is_some_and(ObjectInfo::is_lock_of_system)
    }

    fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        if let Some(known) = self.objects.get(&object) {
            self.threads[thread.index()].join(known);
        }
    }

    fn release(&mut self, thread: ThreadId, object: ObjectId) {
        leave(&mut self.objects, object, &self.threads[thread.index()]);
    }

    fn take_alone(&mut self, thread: ThreadId, lock: ObjectId) {
        self.acquire(thread, lock);
        if let Some(readers) = self.readers.get(&lock) {
            self.threads[thread.index()].join(readers);
        }
        // Who fails to get it learns all that its holder knew when it took it.
        self.take(thread, lock);
    }

    /// A notify reaches who waits at the end of the wait: a signal handler that runs until then knows nothing of it.
    fn wake(&mut self, notifier: ThreadId, condition: ObjectId, woken: &[ThreadId], waits_of_each: usize) {
        let known = self.threads[notifier.index()].clone();
        for &thread in woken {
            let waits = self.waits.entry(thread).or_default();
            let asleep = |wait: &&mut Wait<K>| wait.condition == condition && wait.woken.is_none();
            for wait in waits.iter_mut().rev().filter(asleep).take(waits_of_each) {
                wait.woken = Some(known.clone());
            }
        }
    }

    fn end_wait(&mut self, end: EventId, thread: ThreadId) {
        let waits = self.waits.entry(thread).or_default();
        if let Some(at) = waits.iter().position(|wait| wait.end == Some(end))
            && let Some(woken) = waits.remove(at).woken
        {
            self.threads[thread.index()].join(&woken);
        }
    }

    fn take(&mut self, thread: ThreadId, lock: ObjectId) {
        leave(&mut self.taken, lock, &self.threads[thread.index()]);
    }

    fn learn_of_takers(&mut self, thread: ThreadId, lock: ObjectId) {
        if let Some(known) = self.taken.get(&lock) {
            self.threads[thread.index()].join(known);
        }
    }

    fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        let own = thread.index();
        if acquires(order) {
            self.threads[own].join(&self.loaded[own]);
        }
        if order == MemoryOrder::SeqCst {
            self.threads[own].join(&self.fences);
            self.fences.clone_from(&self.threads[own]);
        }
        if releases(order) {
            self.fenced[own].clone_from(&self.threads[own]);
        }
    }

    fn access(&mut self, event: EventId, op: Op, thread: ThreadId) {
        let own = thread.index();
        let Some(touched) = self.checker.bytes.touched(event) else {
            return;
        };
        let alloc = self.checker.bytes.alloc_of(touched.block);
        if let Some(known) = alloc.and_then(|alloc| self.allocated.get(&alloc)) {
            self.threads[own].join(known);
        }
        if self.pins && self.checker.unrecorded.pin(event).is_some() {
            self.meet();
        }
        let access = Access::of(op);
        if let Some(access) = access.filter(|access| access.sees.is_some()) {
            for byte in self.checker.bytes.pieces(touched.bytes.clone()) {
                self.read(own, byte, access);
            }
        }
        let writes = access.is_none_or(|access| access.leaves.is_some());
        if writes {
            let atomic = access.filter(|access| access.atomic);
            let released = atomic.map(|access| self.released_by(own, access.order));
            let known = self.threads[own].clone();
            for byte in self.checker.bytes.pieces(touched.bytes) {
                let rmw = access.is_some_and(|access| access.sees.is_some());
                self.store(thread, byte, released.as_ref(), rmw);
                self.written.leave(byte, &known, atomic.is_some());
            }
        }
    }

    fn read(&mut self, own: usize, byte: usize, access: Access) {
        if let Some((known, by_atomic)) = self.written.get(byte)
            && !(access.atomic && by_atomic)
        {
            self.threads[own].join(known);
        }
        for (_, known) in self.released.get(&byte).into_iter().flatten().filter(|_| access.atomic) {
            self.loaded[own].join(known);
            if acquires(access.order) {
                self.threads[own].join(known);
            }
        }
    }

    /// What an atomic store of a thread releases.
    fn released_by(&self, own: usize, order: MemoryOrder) -> K {
        let mut known = self.fenced[own].clone();
        if releases(order) {
            known.join(&self.threads[own]);
        }
        known
    }

    /// What a later acquire of the byte learns through a store, and through those before it in its release sequences; a
    /// store that is not atomic releases nothing.
    fn store(&mut self, thread: ThreadId, byte: usize, released: Option<&K>, rmw: bool) {
        let Some(released) = released else {
            self.released.remove(&byte);
            return;
        };
        let sequences = if released.is_nothing() {
            // It starts a sequence that passes nothing on, and ends others.
            match self.released.get_mut(&byte) {
                Some(sequences) => sequences,
                None => return,
            }
        } else {
            self.released.entry(byte).or_default()
        };
        if !rmw {
            sequences.retain(|&(head, _)| head == thread);
        }
        match sequences.iter_mut().find(|(head, _)| *head == thread) {
            Some((_, earlier)) => earlier.join(released),
            None => sequences.push((thread, released.clone())),
        }
    }

    /// Everything so far happens before everything from now on.
    fn meet(&mut self) {
        let mut all = K::nothing(self.threads.len());
        self.threads.iter().for_each(|known| all.join(known));
        self.threads.fill(all);
    }
}

impl<'t> HappensBefore<'t, Clock> {
    /// Nothing has been executed yet.
    pub(crate) fn new(checker: &'t Checker<'t>) -> HappensBefore<'t, Clock> {
        HappensBefore::nothing(checker)
    }

    /// Whether an executed event happens before what a thread does next.
    pub(crate) fn before_next(&self, event: EventId, thread: ThreadId) -> bool {
        self.threads[thread.index()].of(self.checker.recording.thread(event).index()) > event.0
    }
}

impl<'t> HappensBefore<'t, OfOne> {
    /// An event, directly before it is executed, when some threads are among the readers of locks. What is known of it
    /// leads through later events alone, whatever came before.
    pub(crate) fn of_one(
        checker: &'t Checker<'t>,
        event: EventId,
        readers: impl IntoIterator<Item = (ObjectId, ThreadId)>,
    ) -> HappensBefore<'t, OfOne> {
        let mut order = HappensBefore::nothing(checker);
        // How many levels deep is not known: what is given back as a reader's cannot pass for a writer's.
        order.held_shared = readers.into_iter().map(|reader| (reader, u32::MAX / 2)).collect();
        order.threads[checker.recording.thread(event).index()] = OfOne(true);
        order
    }

    /// Whether the event happens before what a thread does next.
    pub(crate) fn is_before_next(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].0
    }
}

/// Leaves what a thread knows where others find it.
fn leave<A: Eq + Hash, K: Knowledge>(there: &mut HashMap<A, K>, at: A, known: &K) {
    if !known.is_nothing() {
        (there.entry(at).or_insert_with(|| known.clone())).join(known);
    }
}

fn acquires(order: MemoryOrder) -> bool {
    !matches!(order, MemoryOrder::Relaxed | MemoryOrder::Release)
}

fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::zip;

    /// All of it written down.
    fn plain(clock: &Clock) -> Vec<u32> {
        (0..clock.known.len()).map(|thread| clock.of(thread)).collect()
    }

    #[test]
    fn a_clock_knows_what_a_vector_would() {
        let mut number = 1_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        for _ in 0..200 {
            let threads = 1 + below(4);
            // Those of threads, and some that these leave.
            let mut clocks = vec![Clock::nothing(threads); threads + 3];
            let mut expected = vec![vec![0; threads]; threads + 3];
            for event in 0..60 {
                let (into, from, thread) = (below(clocks.len()), below(clocks.len()), below(threads));
                match below(4) {
                    // What a thread knows of itself does not become less.
                    0 if into >= threads => {
                        clocks[into] = clocks[from].clone();
                        expected[into] = expected[from].clone();
                    }
                    1 => {
                        let other = clocks[from].clone();
                        clocks[into].join(&other);
                        let other = expected[from].clone();
                        zip(&mut expected[into], other).for_each(|(mine, theirs)| *mine = theirs.max(*mine));
                    }
                    _ => {
                        clocks[thread].perform(ThreadId(thread as u32), EventId(event));
                        expected[thread][thread] = event + 1;
                    }
                }
                assert_eq!(clocks.iter().map(plain).collect::<Vec<_>>(), expected);
            }
        }
    }
}
