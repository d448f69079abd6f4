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
use crate::recording::Access;
use hashbrown::HashMap;
use std::rc::Rc;
use trace_format::{EventId, MemoryOrder, ObjectId, Op, ThreadId, WaitOutcome};

/// By thread: how far its events are known, as the number behind the last of them.
type Clock = Vec<u32>;

/// Who heads a release sequence, and what it releases.
type Release = (ThreadId, Rc<Clock>);

/// What happened before what, in the events executed so far.
pub(crate) struct HappensBefore<'t> {
    checker: &'t Checker<'t>,
    threads: Vec<Clock>,
    /// What an acquire fence of the thread would acquire.
    loaded: Vec<Clock>,
    /// What the thread's last release fence released.
    fenced: Vec<Clock>,
    // What is known of a piece of memory that all accesses touch as a whole is kept at its first byte.
    /// The release sequences that the last store of a byte belongs to.
    released: HashMap<usize, Vec<Release>>,
    /// What the thread knew that wrote a byte last, and whether it did so atomically.
    written: HashMap<usize, (Rc<Clock>, bool)>,
    allocated: HashMap<EventId, Clock>,
    /// What those knew who took a lock.
    taken: HashMap<ObjectId, Clock>,
    /// Everything that synchronizes through an object: who comes later knows what is in here.
    objects: HashMap<ObjectId, Clock>,
    /// What readers of a lock released; only writers learn of it.
    readers: HashMap<ObjectId, Clock>,
    held_shared: HashMap<(ObjectId, ThreadId), u32>,
    /// By thread: its waits, and what those knew who woke them.
    waits: HashMap<ThreadId, Vec<Wait>>,
    fences: Clock,
}

/// A wait that is under way.
struct Wait {
    condition: ObjectId,
    /// `None` if the trace does not have it.
    end: Option<EventId>,
    woken: Option<Clock>,
}

impl<'t> HappensBefore<'t> {
    pub(crate) fn new(checker: &'t Checker<'t>) -> HappensBefore<'t> {
        let zero = vec![0; checker.threads()];
        // Those that waited before the trace began.
        let mut waits: HashMap<ThreadId, Vec<Wait>> = HashMap::new();
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
            threads: vec![zero.clone(); checker.threads()],
            loaded: vec![zero.clone(); checker.threads()],
            fenced: vec![zero.clone(); checker.threads()],
            released: HashMap::new(),
            written: HashMap::new(),
            allocated: HashMap::new(),
            taken: HashMap::new(),
            objects: HashMap::new(),
            readers: HashMap::new(),
            held_shared,
            waits,
            fences: zero,
        }
    }

    /// As if nothing had been executed yet when some threads are among the readers of locks. What begins here
    /// leads through later events alone, whatever came before.
    pub(crate) fn amid(
        checker: &'t Checker<'t>,
        readers: impl IntoIterator<Item = (ObjectId, ThreadId)>,
    ) -> HappensBefore<'t> {
        let mut amid = HappensBefore::new(checker);
        // How many levels deep is not known: what is given back as a reader's cannot pass for a writer's.
        amid.held_shared = readers.into_iter().map(|reader| (reader, u32::MAX / 2)).collect();
        amid
    }

    /// Whether an executed event happens before what a thread does next.
    pub(crate) fn before_next(&self, event: EventId, thread: ThreadId) -> bool {
        self.threads[thread.index()][self.checker.recording.thread(event).index()] > event.0
    }

    /// Takes note of an executed event.
    pub(crate) fn step(&mut self, executed: &Executed) {
        let event = executed.event;
        let thread = self.checker.recording.thread(event);
        self.threads[thread.index()][thread.index()] = event.0 + 1;
        let op = self.checker.recording.op(event);
        match op {
            Op::Fork { child } => {
                let parent = self.threads[thread.index()].clone();
                join(&mut self.threads[child.index()], &parent);
            }
            Op::Join { child, .. } => {
                let child = self.threads[child.index()].clone();
                join(&mut self.threads[thread.index()], &child);
            }
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
                    let clock = &self.threads[thread.index()];
                    join(self.readers.entry(lock).or_insert_with(|| vec![0; clock.len()]), clock);
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
            Op::SemWait { semaphore } => {
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
            Op::Alloc { .. } => {
                self.allocated.insert(event, self.threads[thread.index()].clone());
            }
            Op::Begin | Op::End | Op::OnceBegin { .. } | Op::Branch => {}
            _ => self.access(event, op, thread),
        }
    }

    fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        if let Some(clock) = self.objects.get(&object) {
            join(&mut self.threads[thread.index()], clock);
        }
    }

    fn release(&mut self, thread: ThreadId, object: ObjectId) {
        let clock = &self.threads[thread.index()];
        join(
            self.objects.entry(object).or_insert_with(|| vec![0; clock.len()]),
            clock,
        );
    }

    fn take_alone(&mut self, thread: ThreadId, lock: ObjectId) {
        self.acquire(thread, lock);
        if let Some(readers) = self.readers.get(&lock) {
            join(&mut self.threads[thread.index()], readers);
        }
        // Who fails to get it learns all that its holder knew when it took it.
        self.take(thread, lock);
    }

    /// A notify reaches who waits at the end of the wait: a signal handler that runs until then knows nothing of it.
    fn wake(&mut self, notifier: ThreadId, condition: ObjectId, woken: &[ThreadId], waits_of_each: usize) {
        let clock = self.threads[notifier.index()].clone();
        for &thread in woken {
            let waits = self.waits.entry(thread).or_default();
            let asleep = |wait: &&mut Wait| wait.condition == condition && wait.woken.is_none();
            for wait in waits.iter_mut().rev().filter(asleep).take(waits_of_each) {
                wait.woken = Some(clock.clone());
            }
        }
    }

    fn end_wait(&mut self, end: EventId, thread: ThreadId) {
        let waits = self.waits.entry(thread).or_default();
        if let Some(at) = waits.iter().position(|wait| wait.end == Some(end))
            && let Some(woken) = waits.remove(at).woken
        {
            join(&mut self.threads[thread.index()], &woken);
        }
    }

    fn take(&mut self, thread: ThreadId, lock: ObjectId) {
        let clock = &self.threads[thread.index()];
        join(self.taken.entry(lock).or_insert_with(|| vec![0; clock.len()]), clock);
    }

    fn learn_of_takers(&mut self, thread: ThreadId, lock: ObjectId) {
        if let Some(clock) = self.taken.get(&lock) {
            join(&mut self.threads[thread.index()], clock);
        }
    }

    fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        let own = thread.index();
        if acquires(order) {
            join(&mut self.threads[own], &self.loaded[own]);
        }
        if order == MemoryOrder::SeqCst {
            join(&mut self.threads[own], &self.fences);
            self.fences.clone_from(&self.threads[own]);
        }
        if releases(order) {
            self.fenced[own].clone_from(&self.threads[own]);
        }
    }

    fn access(&mut self, event: EventId, op: Op, thread: ThreadId) {
        let own = thread.index();
        let Some(touched) = self.checker.bytes.touched(event, op) else {
            return;
        };
        let alloc = self.checker.bytes.alloc_of(touched.block);
        if let Some(clock) = alloc.and_then(|alloc| self.allocated.get(&alloc)) {
            join(&mut self.threads[own], clock);
        }
        if self.checker.unrecorded.pin(event).is_some() {
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
            let known = Rc::new(self.threads[own].clone());
            for byte in self.checker.bytes.pieces(touched.bytes) {
                let rmw = access.is_some_and(|access| access.sees.is_some());
                self.store(thread, byte, released.as_ref(), rmw);
                self.written.insert(byte, (Rc::clone(&known), atomic.is_some()));
            }
        }
    }

    fn read(&mut self, own: usize, byte: usize, access: Access) {
        if let Some((clock, by_atomic)) = self.written.get(&byte)
            && !(access.atomic && *by_atomic)
        {
            join(&mut self.threads[own], clock);
        }
        for (_, clock) in self.released.get(&byte).into_iter().flatten().filter(|_| access.atomic) {
            join(&mut self.loaded[own], clock);
            if acquires(access.order) {
                join(&mut self.threads[own], clock);
            }
        }
    }

    /// What an atomic store of a thread releases.
    fn released_by(&self, own: usize, order: MemoryOrder) -> Rc<Clock> {
        let mut clock = self.fenced[own].clone();
        if releases(order) {
            join(&mut clock, &self.threads[own]);
        }
        Rc::new(clock)
    }

    /// What a later acquire of the byte learns through a store, and through those before it in its release sequences; a
    /// store that is not atomic releases nothing.
    fn store(&mut self, thread: ThreadId, byte: usize, released: Option<&Rc<Clock>>, rmw: bool) {
        let sequences = self.released.entry(byte).or_default();
        let Some(released) = released else {
            return sequences.clear();
        };
        if !rmw {
            sequences.retain(|&(head, _)| head == thread);
        }
        match sequences.iter_mut().find(|(head, _)| *head == thread) {
            Some((_, earlier)) => join(Rc::make_mut(earlier), released),
            None => sequences.push((thread, Rc::clone(released))),
        }
    }

    /// Everything so far happens before everything from now on.
    fn meet(&mut self) {
        let mut all = vec![0; self.threads.len()];
        self.threads.iter().for_each(|clock| join(&mut all, clock));
        self.threads.fill(all);
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, &theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}

fn acquires(order: MemoryOrder) -> bool {
    !matches!(order, MemoryOrder::Relaxed | MemoryOrder::Release)
}

fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
}
