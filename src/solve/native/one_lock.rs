//! What the sections of one lock allow, whatever else happens: a refutation for structures that a lock guards.
//!
//! A list under a mutex holds the same few pointers again and again. Of a read in one of its sections, as good as any
//! earlier write of that pointer may explain it, so no window that forgets how the list was before it refutes anything.
//! But the sections of the mutex come one after the other, and what they find in the list is what those before them have
//! left. There are few ways in which these can have followed one another, and they are all tried.
//!
//! A cell is *guarded* by a lock if it is accessed in its sections alone, and written only where the lock is held
//! exclusively, but for accesses that are needed before, or behind, all that other threads do to it (what initializes it, for
//! example). Each section, and each of these accesses, is a *step*: it finds some values, and leaves others.
//!
//! *No feasible prefix is lost.* Put the steps of a prefix in the order in which they begin. Sections of which one is
//! exclusive do not overlap, those that overlap write nothing that is guarded, and other accesses lie before or behind all
//! steps of other threads that touch the same cell. So each step finds in the guarded cells what the steps before it have
//! left, and it sees the values that it has seen in π (`docs/SEMANTICS.md`, section 2). What a section writes that the prefix
//! does not complete nobody else finds. Hence, if no order of steps, in which each finds what it saw, completes those that
//! the prefix must complete, and none that it must not, there is no such prefix.
//!
//! A step that only finds something may be left out, which allows more orders. So of many such in a row that find the same,
//! as of a thread that waits for others, the first and the last are kept.

use crate::prune::{Ending, MustHappenBefore, Needs};
use crate::trace::{Access, CellId, CellUse, EventId, ObjectId, Section, Sections, ThreadId, Trace};
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::{ControlFlow, Range};

/// So many accesses of a cell may lie outside of the lock's sections.
const MAX_OUTSIDE: usize = 16;

/// So many cells are looked at, at most, to see which are guarded: each takes a hundred bytes meanwhile.
const MAX_CELLS: usize = 1 << 17;

/// So many values may be found and left by the steps of a lock.
const MAX_VALUES: usize = 1 << 20;

/// Events of a section that the prefix does not complete, at most.
const MAX_BEGUN: u32 = 1 << 12;

/// To see whether what so many threads do next has to come before something takes as long as one look at a value.
const THREADS_OF_LOOK: usize = 4;

/// A cell, by its number among those that are guarded.
type Number = u32;

/// In what a step lies.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Access,
    Shared,
    Exclusive,
}

impl Extent {
    fn of(section: Option<Section>) -> Extent {
        match section {
            None => Extent::Access,
            Some(section) if section.shared => Extent::Shared,
            Some(_) => Extent::Exclusive,
        }
    }

    /// Whether a step of this extent is completed when another one begins before which it has to begin.
    fn is_over(self, before: Extent) -> bool {
        match (self, before) {
            (Extent::Access, _) => true,
            (_, Extent::Access) | (Extent::Shared, Extent::Shared) => false,
            (Extent::Exclusive, _) | (_, Extent::Exclusive) => true,
        }
    }
}

/// What a thread does in one section, or by one access outside of any.
struct Step {
    extent: Extent,
    /// The event by which it begins: that takes the lock, or is the access.
    begin: EventId,
    /// The place in the thread of its last event; `None` if π does not complete it.
    end: Option<u32>,
    finds: Range<u32>,
    leaves: Range<u32>,
}

/// The steps of one lock.
pub(super) struct OneLock {
    /// By thread, in program order.
    steps: Vec<Vec<Step>>,
    /// What they find, and what they leave.
    values: Vec<(Number, u64)>,
    guarded: HashMap<CellId, Number>,
    /// What the cells hold before all; `None` where nobody knows.
    initial: Vec<Option<u64>>,
    hasher: RandomState,
}

/// A step that is being put together.
#[derive(Default)]
struct Begun {
    step: Option<(EventId, Option<u32>, Extent)>,
    finds: HashMap<Number, u64>,
    leaves: HashMap<Number, u64>,
}

impl Begun {
    fn add(&mut self, number: Number, access: Access, used: CellUse) {
        if access.kind.reads() && !self.leaves.contains_key(&number) {
            self.finds.entry(number).or_insert(used.read);
        }
        if access.kind.writes_value() {
            self.leaves.insert(number, used.written);
        }
    }

    /// Puts the step behind those of its thread.
    fn end(&mut self, steps: &mut Vec<Step>, values: &mut Vec<(Number, u64)>) {
        let Some((begin, end, extent)) = self.step.take() else {
            return;
        };
        let sorted = |found: &mut HashMap<Number, u64>| {
            let mut sorted: Vec<(Number, u64)> = found.drain().collect();
            sorted.sort_unstable();
            sorted
        };
        let (finds, leaves) = (sorted(&mut self.finds), sorted(&mut self.leaves));
        let looks_at = |step: &Step| step.leaves.is_empty() && values[range(&step.finds)] == finds[..];
        if leaves.is_empty()
            && let [.., one, last] = &mut steps[..]
            && looks_at(one)
            && looks_at(last)
        {
            // Who looks at the same again and again hinders nobody more than who does so twice.
            (last.begin, last.end, last.extent) = (begin, end, extent);
            return;
        }
        let mut put = |found: Vec<(Number, u64)>| {
            let from = values.len() as u32;
            values.extend(found);
            from..values.len() as u32
        };
        steps.push(Step {
            extent,
            begin,
            end,
            finds: put(finds),
            leaves: put(leaves),
        });
    }
}

fn range(of: &Range<u32>) -> Range<usize> {
    of.start as usize..of.end as usize
}

/// The section of the lock in which an access lies, if any, for one access after the other.
struct Within {
    /// By thread, its sections, and how many of them have ended.
    of_threads: Vec<(Vec<Section>, usize)>,
}

impl Within {
    fn at(&mut self, thread: ThreadId, event: EventId) -> Option<Section> {
        let (sections, ended) = &mut self.of_threads[thread.index()];
        let has_ended = |section: &&Section| section.release.is_some_and(|release| release < event);
        *ended += sections[*ended..].iter().take_while(has_ended).count();
        let next = sections.get(*ended).copied();
        next.filter(|section| section.acquire.is_some_and(|acquire| acquire < event))
    }

    fn start_again(&mut self) {
        self.of_threads.iter_mut().for_each(|(_, ended)| *ended = 0);
    }
}

/// The accesses of a cell.
#[derive(Default)]
struct Life {
    /// Of each thread, where its first step on the cell begins, and where its last one ends.
    users: Vec<(ThreadId, EventId, Option<EventId>)>,
    outside: Vec<EventId>,
    is_written: bool,
    /// It is not guarded.
    out: bool,
}

impl Life {
    fn add(&mut self, thread: ThreadId, access: Access, section: Option<Section>) {
        let (begin, end) = match section {
            Some(section) => (section.acquire.unwrap_or(access.event), section.release),
            None => (access.event, Some(access.event)),
        };
        self.is_written |= access.kind.writes_value();
        self.out |= section.is_some_and(|section| section.shared) && access.kind.writes();
        match self.users.iter_mut().find(|user| user.0 == thread) {
            Some(user) => user.2 = end,
            None => self.users.push((thread, begin, end)),
        }
        if section.is_none() {
            self.out |= self.outside.len() == MAX_OUTSIDE;
            self.outside.push(access.event);
        }
        if self.out {
            (self.users, self.outside) = Default::default();
        }
    }

    fn is_guarded(&self, trace: &Trace, order: &MustHappenBefore) -> bool {
        let apart = |&access: &EventId| {
            let others = self.users.iter().filter(|user| user.0 != trace.thread(access));
            others
                .into_iter()
                .all(|&(_, begin, end)| order.before(access, begin) || end.is_some_and(|end| order.before(end, access)))
        };
        !self.out && self.is_written && self.users.len() > 1 && self.outside.iter().all(apart)
    }
}

impl OneLock {
    /// Finds the steps of a lock; `None` if it guards nothing, or in a way of which nothing is known here.
    pub(super) fn of(trace: &Trace, sections: &Sections, order: &MustHappenBefore, lock: ObjectId) -> Option<OneLock> {
        if sections.is_handed_over(lock) {
            return None;
        }
        let mut within = Within {
            of_threads: vec![Default::default(); trace.threads()],
        };
        for section in sections.on(lock).map(|id| sections.get(id)) {
            section.acquire?;
            within.of_threads[section.thread.index()].0.push(section);
        }
        let takers = within.of_threads.iter().filter(|(sections, _)| !sections.is_empty());
        if takers.count() < 2 {
            return None;
        }
        let mut lives: HashMap<CellId, Life> = HashMap::new();
        for access in trace
            .contested()
            .filter(|access| access.kind.reads() || access.kind.writes_value())
        {
            let thread = trace.thread(access.event);
            let section = within.at(thread, access.event);
            for used in trace.uses(access) {
                let life = match lives.entry(used.cell) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(Life {
                        out: trace.cell(used.cell).external(),
                        ..Life::default()
                    }),
                };
                if !life.out {
                    life.add(thread, access, section);
                }
            }
            if lives.len() > MAX_CELLS {
                return None;
            }
        }
        let mut guarded: Vec<CellId> = (lives.iter())
            .filter(|(_, life)| life.is_guarded(trace, order))
            .map(|(&cell, _)| cell)
            .collect();
        drop(lives);
        guarded.sort_unstable();
        let initial = guarded.iter().map(|&cell| trace.initial(cell)).collect();
        let guarded: HashMap<CellId, Number> = guarded.into_iter().zip(0..).collect();
        if guarded.is_empty() {
            return None;
        }
        within.start_again();
        let mut begun: Vec<Begun> = Vec::new();
        begun.resize_with(trace.threads(), Begun::default);
        let mut steps: Vec<Vec<Step>> = Vec::new();
        steps.resize_with(trace.threads(), Vec::new);
        let mut values = Vec::new();
        for access in trace
            .contested()
            .filter(|access| access.kind.reads() || access.kind.writes_value())
        {
            let thread = trace.thread(access.event);
            let section = within.at(thread, access.event);
            let begin = section.and_then(|section| section.acquire).unwrap_or(access.event);
            for used in trace.uses(access) {
                let Some(&number) = guarded.get(&used.cell) else {
                    continue;
                };
                let now = &mut begun[thread.index()];
                if now.step.is_none_or(|(event, ..)| event != begin) {
                    now.end(&mut steps[thread.index()], &mut values);
                    let last = section.map_or(Some(access.event), |section| section.release);
                    now.step = Some((begin, last.map(|last| trace.place(last)), Extent::of(section)));
                }
                now.add(number, access, used);
            }
            if values.len() > MAX_VALUES {
                return None;
            }
        }
        for (steps, now) in steps.iter_mut().zip(&mut begun) {
            now.end(steps, &mut values);
        }
        let count: usize = steps.iter().map(Vec::len).sum();
        tracing::debug!(
            ?lock,
            cells = guarded.len(),
            steps = count,
            values = values.len(),
            "steps of one lock"
        );
        Some(OneLock {
            steps,
            values,
            guarded,
            initial,
            hasher: RandomState::new(),
        })
    }

    /// Whether no order of the steps ends so, in at most so many looks at values, from which those are taken that it has
    /// cost.
    pub(super) fn refutes(
        &self,
        trace: &Trace,
        (needs, sections): (&Needs<'_>, &Sections),
        lock: ObjectId,
        ending: Ending<'_>,
        left: &mut u64,
    ) -> bool {
        let threads = || (0..trace.threads() as u32).map(ThreadId);
        let mut least = vec![0; trace.threads()];
        for &event in ending.performed {
            needs.relation().raise(&mut least, event);
            let own = &mut least[trace.thread(event).index()];
            *own = (*own).max(trace.place(event) + 1);
        }
        ending
            .pending
            .iter()
            .for_each(|&event| needs.raise_to_pending(&mut least, event));
        let mut begun = Vec::new();
        for &event in ending.pending {
            let thread = trace.thread(event);
            let open = sections
                .open_after(thread, trace.place(event))
                .map(|id| sections.get(id));
            let Some(section) = open.into_iter().find(|section| section.lock == lock) else {
                continue;
            };
            match self.begun(trace, section, event) {
                Some(finds) => begun.extend(finds),
                None => return false,
            }
        }
        let completed = |thread: ThreadId, until: u32| {
            let steps = &self.steps[thread.index()];
            steps.partition_point(|step| step.end.is_some_and(|end| end < until)) as u32
        };
        let ends = threads().map(|thread| (least[thread.index()], needs.end(ending, thread)));
        let (from, until): (Vec<u32>, Vec<u32>) = (threads().zip(ends))
            .map(|(thread, (least, most))| (completed(thread, least), completed(thread, most)))
            .unzip();
        if from.iter().zip(&until).any(|(from, until)| from > until) {
            return true;
        }
        let mut search = Search {
            lock: self,
            order: needs.relation(),
            from,
            until,
            begun,
            done: vec![0; trace.threads()],
            memory: self.initial.clone(),
            hash: 0,
            left,
        };
        search.run() == ControlFlow::Continue(())
    }

    /// What a section that is not completed finds before an event; `None` if that is too much to look at.
    fn begun(&self, trace: &Trace, section: Section, until: EventId) -> Option<HashMap<Number, u64>> {
        let begin = section.acquire.map_or(0, |acquire| trace.place(acquire) + 1);
        let until = trace.place(until);
        if until.saturating_sub(begin) > MAX_BEGUN {
            return None;
        }
        let mut begun = Begun::default();
        let order = trace.program_order(section.thread);
        for access in (begin..until).filter_map(|place| trace.access(order.at(place as usize))) {
            for used in trace.uses(access) {
                if let Some(&number) = self.guarded.get(&used.cell) {
                    begun.add(number, access, used);
                }
            }
        }
        Some(begun.finds)
    }

    fn values(&self, of: &Range<u32>) -> &[(Number, u64)] {
        &self.values[range(of)]
    }
}

/// A search through all orders of steps.
struct Search<'s> {
    lock: &'s OneLock,
    order: &'s MustHappenBefore,
    /// How many steps of each thread have to be completed, and how many may be.
    from: Vec<u32>,
    until: Vec<u32>,
    /// What those find that are begun at last.
    begun: Vec<(Number, u64)>,
    /// How many are completed.
    done: Vec<u32>,
    memory: Vec<Option<u64>>,
    /// Of the memory.
    hash: u128,
    left: &'s mut u64,
}

/// A step that was done last, and which threads have been tried behind it.
struct Done {
    thread: usize,
    /// What was there that it has changed.
    before: Vec<(Number, Option<u64>)>,
    next: Vec<usize>,
}

impl Search<'_> {
    /// Breaks off if an order is found, or it is too much to look at.
    fn run(&mut self) -> ControlFlow<()> {
        let mut seen: HashSet<u128> = HashSet::new();
        let mut path: Vec<Done> = Vec::new();
        let mut next = self.enter(&mut seen)?;
        loop {
            let Some(thread) = next.pop() else {
                let Some(last) = path.pop() else {
                    return ControlFlow::Continue(());
                };
                self.undo(&last);
                next = last.next;
                continue;
            };
            let before = self.perform(thread);
            path.push(Done { thread, before, next });
            next = self.enter(&mut seen)?;
        }
    }

    /// The threads whose steps may come next, that of π last; none where the search has been already. Breaks off where it
    /// need not go on.
    fn enter(&mut self, seen: &mut HashSet<u128>) -> ControlFlow<(), Vec<usize>> {
        let ends = self.done.iter().zip(&self.from).all(|(done, from)| done >= from);
        if *self.left == 0 || (ends && self.finds(&self.begun)) {
            return ControlFlow::Break(());
        }
        let known = [
            self.lock.hasher.hash_one((0, &self.done)),
            self.lock.hasher.hash_one((1, &self.done)),
        ];
        if !seen.insert(self.hash ^ (u128::from(known[0]) << 64 | u128::from(known[1]))) {
            return ControlFlow::Continue(Vec::new());
        }
        let mut next: Vec<(EventId, usize)> = Vec::new();
        for thread in 0..self.done.len() {
            if self.done[thread] == self.until[thread] {
                continue;
            }
            let step = &self.lock.steps[thread][self.done[thread] as usize];
            let finds = self.lock.values(&step.finds);
            let mut looks = 1;
            if self.finds(finds) {
                looks += finds.len() + self.done.len() / THREADS_OF_LOOK;
                if self.may_begin(thread, step) {
                    next.push((step.begin, thread));
                }
            }
            *self.left = self.left.saturating_sub(looks as u64);
        }
        next.sort_unstable_by(|one, other| other.cmp(one));
        ControlFlow::Continue(next.into_iter().map(|(_, thread)| thread).collect())
    }

    /// Whether those steps are completed that have to be when a step begins. Others that have to begin before may be the
    /// last of their threads.
    fn may_begin(&self, thread: usize, step: &Step) -> bool {
        let mut others = self.lock.steps.iter().zip(&self.done).enumerate();
        others.all(|(other, (steps, &done))| {
            let next = steps.get(done as usize).filter(|_| other != thread);
            next.is_none_or(|next| !next.extent.is_over(step.extent) || !self.order.before(next.begin, step.begin))
        })
    }

    fn finds(&self, values: &[(Number, u64)]) -> bool {
        let found = |&(number, value): &(Number, u64)| self.memory[number as usize].is_none_or(|now| now == value);
        values.iter().all(found)
    }

    fn perform(&mut self, thread: usize) -> Vec<(Number, Option<u64>)> {
        let lock = self.lock;
        let leaves = lock.values(&lock.steps[thread][self.done[thread] as usize].leaves);
        self.done[thread] += 1;
        *self.left = self.left.saturating_sub(leaves.len() as u64);
        let changed = leaves
            .iter()
            .filter(|&&(number, value)| self.memory[number as usize] != Some(value));
        let changed: Vec<(Number, u64)> = changed.copied().collect();
        let set = |&(number, value): &(Number, u64)| (number, self.set(number, Some(value)));
        changed.iter().map(set).collect()
    }

    fn undo(&mut self, last: &Done) {
        self.done[last.thread] -= 1;
        for &(number, value) in &last.before {
            self.set(number, value);
        }
    }

    /// Puts a value where another was, and returns that.
    fn set(&mut self, number: Number, value: Option<u64>) -> Option<u64> {
        let hasher = &self.lock.hasher;
        let hash = |value: Option<u64>| {
            let half = |half: u8| u128::from(hasher.hash_one((half, number, value)));
            half(2) << 64 | half(3)
        };
        let before = std::mem::replace(&mut self.memory[number as usize], value);
        self.hash ^= hash(before) ^ hash(value);
        before
    }
}
