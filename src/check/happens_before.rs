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
//! given back for another thread, an access of a cell that unrecorded code changes and everything around it. What is left are
//! pairs that only an atomic operation keeps apart, and that its memory order does not.

use super::accept::Executed;
use crate::trace::{Access, AccessKind, CellId, EventId, IncarnationId, MemoryOrder, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;

type Clock = Vec<u32>;

/// What happened before what, in the events executed so far.
pub(super) struct HappensBefore<'t> {
    trace: &'t Trace,
    threads: Vec<Clock>,
    /// What an acquire fence of the thread would acquire.
    loaded: Vec<Clock>,
    /// What the thread's last release fence released.
    fenced: Vec<Clock>,
    /// The release sequences that the last store of a cell belongs to: who heads them, and what they release.
    released: HashMap<CellId, Vec<(ThreadId, Clock)>>,
    /// What the thread knew that wrote a cell last, and whether it did so atomically.
    written: HashMap<CellId, (Clock, bool)>,
    allocated: HashMap<IncarnationId, Clock>,
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
    pub(super) fn new(trace: &'t Trace) -> HappensBefore<'t> {
        let zero = vec![0; trace.threads()];
        // Those that waited before the trace began.
        let mut waits: HashMap<ThreadId, Vec<Wait>> = HashMap::new();
        for &(condition, end) in trace.waiting_at_start() {
            waits.entry(trace.thread(end)).or_default().push(Wait {
                condition,
                end: Some(end),
                woken: None,
            });
        }
        HappensBefore {
            trace,
            threads: vec![zero.clone(); trace.threads()],
            loaded: vec![zero.clone(); trace.threads()],
            fenced: vec![zero.clone(); trace.threads()],
            released: HashMap::new(),
            written: HashMap::new(),
            allocated: HashMap::new(),
            taken: HashMap::new(),
            objects: HashMap::new(),
            readers: HashMap::new(),
            held_shared: HashMap::new(),
            waits,
            fences: zero,
        }
    }

    /// As if nothing had been executed yet when some threads are among the readers of locks. What begins here
    /// leads through later events alone, whatever came before.
    pub(super) fn amid(trace: &'t Trace, readers: impl IntoIterator<Item = (ObjectId, ThreadId)>) -> HappensBefore<'t> {
        let mut amid = HappensBefore::new(trace);
        // How many levels deep is not known: what is given back as a reader's cannot pass for a writer's.
        amid.held_shared = readers.into_iter().map(|reader| (reader, u32::MAX / 2)).collect();
        amid
    }

    /// Whether an executed event happens before what a thread does next.
    pub(super) fn before_next(&self, event: EventId, thread: ThreadId) -> bool {
        self.threads[thread.index()][self.trace.thread(event).index()] > self.trace.place(event)
    }

    /// Takes note of an executed event.
    pub(super) fn step(&mut self, executed: &Executed) {
        let event = executed.event;
        let thread = self.trace.thread(event);
        self.threads[thread.index()][thread.index()] = self.trace.place(event) + 1;
        match self.trace.op(event) {
            Op::Fork { child } => {
                let parent = self.threads[thread.index()].clone();
                join(&mut self.threads[child.index()], &parent);
            }
            Op::Join { child } => {
                let child = self.threads[child.index()].clone();
                join(&mut self.threads[thread.index()], &child);
            }
            Op::Acquire { lock } => self.take_alone(thread, lock),
            Op::WaitEnd { lock, .. } => {
                self.take_alone(thread, lock);
                self.end_wait(event, thread);
            }
            Op::AcquireShared { lock } => {
                *self.held_shared.entry((lock, thread)).or_default() += 1;
                self.acquire(thread, lock);
                self.take(thread, lock);
            }
            Op::AcquireFailed { lock, .. } => self.learn_of_takers(thread, lock),
            Op::Release { lock } if self.trace.tables().meta.foreign_unlock => {
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
                let end = self.trace.wait_end(event);
                if !end.is_some_and(|end| self.trace.op(end).times_out()) {
                    let woken = None;
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
            Op::BarrierExit { barrier: object, .. } | Op::OnceWait { once: object } => self.acquire(thread, object),
            // What comes in keeps its order, behind what went out.
            Op::Input { source, .. } => {
                self.acquire(thread, source);
                self.release(thread, source);
            }
            Op::Fence { order } => self.fence(thread, order),
            Op::Access(_) => self.access(event, thread),
            Op::Alloc { incarnation, .. } => {
                self.allocated.insert(incarnation, self.threads[thread.index()].clone());
            }
            Op::Begin | Op::End | Op::OnceBegin { .. } | Op::Branch => {}
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
        self.take(thread, lock);
        if let Some(readers) = self.readers.get(&lock) {
            join(&mut self.threads[thread.index()], readers);
        }
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

    fn access(&mut self, event: EventId, thread: ThreadId) {
        let access = self.trace.access(event).expect("the event is an access");
        let own = thread.index();
        let atomic = access.kind.is_atomic();
        if let Some(clock) = self.allocated.get(&access.incarnation) {
            join(&mut self.threads[own], clock);
        }
        if self.trace.pin(event).is_some() {
            self.meet();
        }
        for used in self.trace.uses(access).filter(|_| access.kind.reads()) {
            if let Some((clock, by_atomic)) = self.written.get(&used.cell)
                && !(atomic && *by_atomic)
            {
                join(&mut self.threads[own], clock);
            }
        }
        for used in self.trace.uses(access) {
            if atomic
                && access.kind.reads()
                && let Some(sequences) = self.released.get(&used.cell)
            {
                for (_, clock) in sequences {
                    join(&mut self.loaded[own], clock);
                    if acquires(access.order) {
                        join(&mut self.threads[own], clock);
                    }
                }
            }
            if access.kind.writes() {
                self.store(thread, used.cell, access);
            }
        }
        for used in self.trace.uses(access).filter(|_| access.kind.writes()) {
            self.written.insert(used.cell, (self.threads[own].clone(), atomic));
        }
    }

    /// What a later acquire of the cell learns through a store, and through those before it in its release sequences.
    fn store(&mut self, thread: ThreadId, cell: CellId, access: Access) {
        let sequences = self.released.entry(cell).or_default();
        match access.kind {
            AccessKind::AtomicRmw => {}
            AccessKind::AtomicStore => sequences.retain(|&(head, _)| head == thread),
            _ => return sequences.clear(),
        }
        let mut clock = self.fenced[thread.index()].clone();
        if releases(access.order) {
            join(&mut clock, &self.threads[thread.index()]);
        }
        match sequences.iter_mut().find(|(head, _)| *head == thread) {
            Some((_, earlier)) => join(earlier, &clock),
            None => sequences.push((thread, clock)),
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
