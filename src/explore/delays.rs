//! Orders of one recorded run in which a thread stands still at one point, while another one that came later there
//! comes first.
//!
//! For runs that are too long for a forest of their histories: one walk over the trace finds these orders, another one
//! writes down what is forced, and of the events themselves nothing is kept. It is delay-bounded scheduling (Emmi,
//! Qadeer, Rakamarić, POPL 2011) with one delay, of those that change what is read: both threads take the same lock,
//! access the same memory atomically, or access it at a place that comes first. Whether an order is feasible is not
//! asked. The program is forced along it as far as it goes, and goes on from there under a policy: a wrong guess costs a
//! run, never a wrong answer. Every other time, the thread that stood still comes next: then the other one acts upon what
//! it has seen before.
//!
//! Of all points of a thread at a lock or a variable, a few are tried: the first three, where counters have their first
//! values, and which leave the most to the policy, then the last one, and some between; and of each place in the code,
//! by its call stack, the first few. Orders at two places that were tried least come first, and of these the ones at
//! places where a run rarely is: what it does a thousand times chance tries in other orders, too, but hardly ever what
//! it does once, in the middle.

mod kept;
mod later;

pub(super) use later::{Orders, left_of_stage};

use crate::session::Step;
use crate::trace::{EventId, ThreadId, Trace, Wakes};
use hashbrown::{HashMap, HashSet};
use kept::Kept;
use later::{Paths, Place};
use recorder_ring::plan::{self, Words};
use std::collections::VecDeque;
use trace_format::{CodePosition, Event, ObjectId, Op, ReadError, StackId, TraceFile};

/// Orders that are kept at most.
const MOST: usize = 50_000;

/// Locks and variables at which threads may meet: those that come later in a trace are not looked at.
const MOST_MEETINGS: usize = 100_000;

/// Behind a point, so many events of its thread are looked at to see where it is.
const LOOKED_AT: u64 = 64;

/// Of a place in the code, so many points are kept of a thread at a lock or a variable. A run is rarely where it has
/// not been more often.
const RARELY: u32 = 8;

/// Two places together that a run comes to so often at most, by powers of two, are rare enough for every other run to
/// have a delay there.
const PROMISING: u32 = 6;

/// And so many are tried there, or one so often: behind it the run goes on otherwise.
const TRIES: u32 = 2;

/// Points of a thread at a lock or a variable.
const MOST_POINTS: usize = 24;

/// Threads at a lock or a variable.
const MOST_VISITORS: usize = 64;

/// Places of a thread at a lock or a variable that are told apart.
const MOST_PLACES: usize = 256;

/// Points of a thread that wait until it has given a lock back; of the first of more, that is not waited for.
const MOST_COMING: usize = 1 << 12;

/// Events of the traces that are kept as steps: two of the longest that are usual, in at most 12 bytes an event.
const MOST_KEPT: u64 = 20_000_000;

/// Code positions that need not be asked about: a power of two.
const RECENT: usize = 1 << 10;

/// Which one is tried first.
type Cost = (bool, bool, u32, u32, (bool, bool, u32, u32, EventId, EventId));

/// One order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// Where a thread stands still: it has not done this.
    stop: EventId,
    stopped: ThreadId,
    /// What another thread does first, from its own point on, and up to what.
    first: EventId,
    until: EventId,
    goes_first: ThreadId,
    /// By their numbers, where in the code they are.
    places: (u32, u32),
    /// Neither is next to what comes first.
    is_far: bool,
    /// Of a later trace: a trace before came to one of them, too.
    is_half_known: bool,
    /// How often a run is there, by powers of two.
    often: u32,
    /// How far from the ones that are tried first.
    rank: u32,
    /// How often it was tried: each time the run goes on otherwise behind it.
    tried: u32,
    /// Whether the thread that stood still goes on before the other one does.
    resumes: bool,
}

/// What two threads meet at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meeting {
    Lock(ObjectId),
    Memory(u64),
}

/// A thread at a lock or a variable.
#[derive(Clone, Copy)]
struct Point {
    event: EventId,
    /// Where what begins here ends: a lock is given back.
    end: EventId,
    place: u32,
    is_near: bool,
}

/// One of whose end or surroundings is not known yet.
struct Coming {
    point: Point,
    meeting: Meeting,
    /// The lock that is still held.
    holds: Option<ObjectId>,
    /// Its number among its thread's events.
    index: u64,
}

/// The points of a thread at a lock or a variable that are kept.
#[derive(Default)]
struct Visits {
    count: u32,
    /// The first three, and those whose numbers are powers of two.
    spaced: Vec<Point>,
    last: Option<Point>,
    /// The first ones of each place.
    of_places: Vec<(u32, u32)>,
    rare: Vec<(u32, Point)>,
}

impl Visits {
    fn add(&mut self, point: Point) {
        if self.count < 3 || self.count.is_power_of_two() {
            self.spaced.push(point);
        }
        self.count += 1;
        self.last = Some(point);
        let known = self.of_places.iter().position(|&(place, _)| place == point.place);
        if known.is_none() && self.of_places.len() >= MOST_PLACES {
            return;
        }
        let row = known.unwrap_or_else(|| {
            self.of_places.push((point.place, 0));
            self.of_places.len() - 1
        });
        let count = &mut self.of_places[row].1;
        if *count < RARELY {
            self.rare.push((*count, point));
        }
        *count += 1;
    }

    /// Each with its rank: the first, the third and the second one, the last one, others.
    fn ranked(&self) -> Vec<(u32, Point)> {
        let mut all: Vec<(u32, Point)> = Vec::new();
        let spaced = (0..).zip(&self.spaced).map(|(number, &point)| {
            // Of the later ones, those that lie in the middle of the run.
            let rank = if number < 3 {
                nth(number)
            } else {
                4 + (self.spaced.len() as u32 - number)
            };
            (rank, point)
        });
        all.extend(spaced);
        all.extend(self.last.map(|point| (3, point)));
        all.extend(self.rare.iter().map(|&(number, point)| (nth(number), point)));
        all.sort_by_key(|&(rank, point)| (point.event, rank));
        all.dedup_by_key(|(_, point)| point.event);
        all.sort_by_key(|&(rank, point)| (!point.is_near, rank, point.event));
        all.truncate(MOST_POINTS);
        all
    }
}

/// The rank of a point of which there were so many before.
fn nth(number: u32) -> u32 {
    match number {
        1 => 2,
        2 => 1,
        _ => number,
    }
}

/// The orders of a trace, and how often each was tried.
#[derive(Debug)]
pub(super) struct Delays {
    file: TraceFile,
    all: Vec<Delay>,
    tried: HashMap<(u32, u32), u32>,
    woken: HashMap<u64, ThreadId>,
    /// By thread: what forked it, and who did.
    forks: HashMap<ThreadId, (EventId, ThreadId)>,
    promising: u32,
    /// The trace as steps of a plan, once these were asked for.
    kept: Kept,
}

/// A walk over the trace.
struct Walk<'p> {
    prefers: Option<&'p dyn Fn(u64) -> bool>,
    /// Code positions that were asked about lately, and what was said.
    recent: Vec<(CodePosition, bool)>,
    threads: Vec<Walked>,
    places: HashMap<(CodePosition, StackId), u32>,
    /// How often the run was at each.
    times: Vec<u32>,
    rows: HashMap<Meeting, usize>,
    meetings: Vec<Vec<(ThreadId, Visits)>>,
    forks: HashMap<ThreadId, (EventId, ThreadId)>,
    waits: Vec<(u64, Event)>,
}

/// A thread, as far as the walk has come.
#[derive(Default)]
struct Walked {
    events: u64,
    coming: VecDeque<Coming>,
}

impl Walk<'_> {
    fn prefers(&mut self, pc: CodePosition) -> bool {
        let Some(prefers) = self.prefers else {
            return false;
        };
        let slot = &mut self.recent[pc as usize % RECENT];
        if slot.0 != pc {
            *slot = (pc, prefers(pc));
        }
        slot.1
    }

    fn see(&mut self, number: u64, event: &Event) {
        let row = event.thread.index();
        let is_plain = matches!(event.op, Op::Read { .. } | Op::Write { .. } | Op::Branch);
        if is_plain
            && self.prefers.is_none()
            && let Some(thread) = self.threads.get_mut(row)
        {
            thread.events += 1;
            return;
        }
        let is_near = self.prefers(event.pc);
        if row >= self.threads.len() {
            self.threads.resize_with(row + 1, Walked::default);
        }
        let thread = &mut self.threads[row];
        thread.events += 1;
        if !thread.coming.is_empty() {
            if is_near {
                let since = thread.events.saturating_sub(LOOKED_AT);
                let lately = thread.coming.iter_mut().rev();
                let lately = lately.take_while(|coming| coming.index >= since);
                lately.for_each(|coming| coming.point.is_near = true);
            }
            self.settle(row, false);
        }
        match event.op {
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => {
                self.meet(number, event, Meeting::Lock(lock), Some(lock), is_near);
            }
            Op::Release { lock } => self.give_back(row, lock, number),
            Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. } | Op::AtomicRmw { mem, .. } => {
                self.meet(number, event, Meeting::Memory(mem.addr), None, is_near);
            }
            Op::Read { mem, .. } | Op::Write { mem, .. } if is_near => {
                self.meet(number, event, Meeting::Memory(mem.addr), None, true);
            }
            Op::Fork { child } => {
                self.forks.insert(child, (EventId(number as u32), event.thread));
            }
            Op::WaitBegin { lock, .. } => {
                self.give_back(row, lock, number);
                self.waits.push((number, *event));
            }
            Op::WaitEnd { .. } | Op::Notify { .. } | Op::NotifyAll { .. } => self.waits.push((number, *event)),
            _ => {}
        }
    }

    fn meet(&mut self, number: u64, event: &Event, meeting: Meeting, holds: Option<ObjectId>, is_near: bool) {
        let next = self.times.len() as u32;
        let place = *self.places.entry((event.pc, event.stack)).or_insert(next);
        if place == next {
            self.times.push(0);
        }
        self.times[place as usize] += 1;
        let thread = &mut self.threads[event.thread.index()];
        thread.coming.push_back(Coming {
            point: Point {
                event: EventId(number as u32),
                end: EventId(number as u32),
                place,
                is_near,
            },
            meeting,
            holds,
            index: thread.events,
        });
    }

    fn give_back(&mut self, row: usize, lock: ObjectId, number: u64) {
        let mut coming = self.threads[row].coming.iter_mut().rev();
        if let Some(taken) = coming.find(|coming| coming.holds == Some(lock)) {
            taken.holds = None;
            taken.point.end = EventId(number as u32);
        }
    }

    /// Keeps what is known by now of a thread's points; all of them at the end of the run.
    fn settle(&mut self, row: usize, ends: bool) {
        let thread = &mut self.threads[row];
        let until = thread.events.saturating_sub(LOOKED_AT);
        let is_known = |coming: &Coming| ends || (coming.holds.is_none() && coming.index < until);
        while thread.coming.len() > MOST_COMING || thread.coming.front().is_some_and(is_known) {
            let Some(coming) = thread.coming.pop_front() else {
                break;
            };
            let next = self.meetings.len();
            if next >= MOST_MEETINGS && !self.rows.contains_key(&coming.meeting) {
                continue;
            }
            let at = *self.rows.entry(coming.meeting).or_insert(next);
            if at == next {
                self.meetings.push(Vec::new());
            }
            let visitors = &mut self.meetings[at];
            let id = ThreadId(row as u32);
            let known = visitors.iter().position(|(visitor, _)| *visitor == id);
            let known = known.unwrap_or_else(|| {
                visitors.push((id, Visits::default()));
                visitors.len() - 1
            });
            visitors[known].1.add(coming.point);
        }
    }
}

impl Delays {
    /// Of a trace; places that it `prefers` come first. Those with a place that is not `known`: all places of the trace
    /// are, then.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    fn of(
        file: TraceFile,
        prefers: Option<&dyn Fn(u64) -> bool>,
        known: &mut HashSet<Place>,
    ) -> Result<Delays, ReadError> {
        let mut walk = Walk {
            prefers,
            recent: vec![(0, prefers.is_some_and(|prefers| prefers(0))); RECENT],
            threads: Vec::new(),
            places: HashMap::new(),
            times: Vec::new(),
            rows: HashMap::new(),
            meetings: Vec::new(),
            forks: HashMap::new(),
            waits: Vec::new(),
        };
        each_event(&file, u64::MAX, |number, event| walk.see(number, event))?;
        for row in 0..walk.threads.len() {
            walk.settle(row, true);
        }
        let Walk {
            times,
            places,
            meetings,
            forks,
            waits,
            ..
        } = walk;
        let woken = woken(&file, &waits);
        let mut delays = Delays {
            file,
            all: Vec::new(),
            tried: HashMap::new(),
            woken,
            forks,
            promising: 0,
            kept: Kept::default(),
        };
        let (paths, mut seen) = (Paths::of(delays.file.tables()), HashSet::new());
        let mut are_new = vec![false; times.len()];
        for ((at, stack), number) in places {
            are_new[number as usize] = !known.contains(&paths.place(at, stack));
            seen.insert(paths.place(at, stack));
        }
        for mut visitors in meetings {
            visitors.sort_unstable_by_key(|&(thread, _)| thread);
            delays.add(&visitors, &times, &are_new);
        }
        known.extend(seen);
        delays.keep_best();
        let (far, near): (Vec<Delay>, Vec<Delay>) = delays.all.iter().partition(|delay| delay.is_far);
        let rare = far.iter().filter(|delay| delay.is_promising());
        let places: HashSet<(u32, u32)> = rare.map(|delay| delay.places).collect();
        delays.promising = near.len() as u32 + TRIES * places.len() as u32;
        Ok(delays)
    }

    /// How many there are at places that come first, and how often those are tried at two places that a run seldom comes
    /// to.
    fn promising(&self) -> u32 {
        self.promising
    }

    /// Adds what can be tried among those that meet somewhere.
    fn add(&mut self, visitors: &[(ThreadId, Visits)], times: &[u32], are_new: &[bool]) {
        if visitors.len() < 2 {
            return;
        }
        let ranked: Vec<_> = visitors
            .iter()
            .take(MOST_VISITORS)
            .map(|(thread, visits)| (*thread, visits.ranked()))
            .collect();
        let often = |place: u32| times[place as usize].ilog2();
        for (stopped, stops) in &ranked {
            for (goes_first, firsts) in ranked.iter().filter(|(other, _)| other != stopped) {
                // Whoever is created by the thread that stands still does not come first.
                let fork = self.forks.get(goes_first).filter(|(_, by)| by == stopped);
                for &(rank, stop) in stops {
                    let is_created = |stop: EventId| fork.is_none_or(|&(fork, _)| fork < stop);
                    for &(further, first) in firsts {
                        let are_new = [stop.place, first.place].map(|place| are_new[place as usize]);
                        if are_new.contains(&true) && stop.event < first.event && is_created(stop.event) {
                            self.all.push(Delay {
                                stop: stop.event,
                                stopped: *stopped,
                                first: first.event,
                                until: first.end,
                                goes_first: *goes_first,
                                places: (stop.place, first.place),
                                is_far: !stop.is_near && !first.is_near,
                                is_half_known: are_new.contains(&false),
                                often: often(stop.place) + often(first.place),
                                rank: rank + further,
                                tried: 0,
                                resumes: false,
                            });
                        }
                    }
                }
            }
            if self.all.len() > 4 * MOST {
                self.keep_best();
            }
        }
    }

    /// Keeps those that are tried first, of each two places some.
    fn keep_best(&mut self) {
        if self.all.len() <= MOST {
            return;
        }
        self.all.sort_by_key(Delay::order);
        let mut of_places: HashMap<(u32, u32), u32> = HashMap::new();
        let mut nth: Vec<(u32, usize)> = Vec::with_capacity(self.all.len());
        for (row, delay) in self.all.iter().enumerate() {
            let before = of_places.entry(delay.places).or_default();
            nth.push((*before, row));
            *before += 1;
        }
        nth.sort_unstable();
        nth.truncate(MOST);
        self.all = nth.into_iter().map(|(_, row)| self.all[row]).collect();
    }

    fn cost(&self, delay: &Delay) -> Cost {
        let tried = self.tried.get(&delay.places).copied().unwrap_or(0);
        let is_promising = delay.is_promising() && tried < TRIES;
        (delay.is_far, !is_promising, tried, delay.tried, delay.order())
    }

    /// What speaks against the next one to try, but for where it is.
    fn least_cost(&self) -> Option<(bool, bool, u32, u32, bool)> {
        let costs = self.all.iter().map(|delay| self.cost(delay));
        let (is_far, is_not_promising, tried, again, (_, is_half_known, ..)) = costs.min()?;
        Some((is_far, is_not_promising, tried, again, is_half_known))
    }

    /// The next one to try.
    fn next(&mut self) -> Option<Delay> {
        let costs = self.all.iter().enumerate().map(|(row, delay)| (self.cost(delay), row));
        let (_, row) = costs.min()?;
        let best = &mut self.all[row];
        best.tried += 1;
        let mut delay = *best;
        let tried = self.tried.entry(delay.places).or_default();
        delay.resumes = !tried.is_multiple_of(2);
        *tried += 1;
        Some(delay)
    }

    /// What is forced: all that came before the thread stands still, then what the other one does up to its end, and
    /// what creates it; then some of what the first one does next, if it resumes.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    fn steps(&mut self, delay: Delay) -> Result<Vec<Words>, ReadError> {
        // Each thread that is to go on, up to which event.
        let mut goes_on: HashMap<ThreadId, EventId> = HashMap::new();
        let mut thread = delay.goes_first;
        goes_on.insert(thread, delay.until);
        while let Some(&(fork, by)) = self.forks.get(&thread).filter(|(fork, _)| *fork >= delay.stop) {
            thread = by;
            goes_on.entry(thread).or_insert(fork);
        }
        goes_on.remove(&delay.stopped);
        let (mut steps, mut resumed) = (Vec::new(), Vec::new());
        let most_resumed = if delay.resumes { LOOKED_AT as usize } else { 0 };
        let last = u64::from(delay.until.0);
        let goes_on = |id: EventId, thread: ThreadId| goes_on.get(&thread).is_some_and(|&last| id <= last);
        self.each_step(last, |id, thread, words| {
            if thread == delay.stopped && id >= delay.stop && resumed.len() < most_resumed {
                resumed.push(words());
            } else if id < delay.stop || goes_on(id, thread) {
                steps.push(words());
            }
        })?;
        steps.append(&mut resumed);
        Ok(steps)
    }

    /// How many events of the trace are kept as steps.
    fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Gives the memory back that they take.
    fn forget_steps(&mut self) {
        self.kept = Kept::default();
    }

    /// Shows each event up to the last one as a step of a plan. What a trace of usual length has is kept: to decode it
    /// each time would take as long as to record it.
    fn each_step(
        &mut self,
        last: u64,
        mut see: impl FnMut(EventId, ThreadId, &dyn Fn() -> Words),
    ) -> Result<(), ReadError> {
        let Delays { file, woken, kept, .. } = self;
        let words = |number: u64, event: &Event| {
            let step = Step::of_event(event, file.tables(), woken.get(&number).copied());
            step.to_plan().encode()
        };
        if file.len() > MOST_KEPT {
            return each_event(file, last, |number, event| {
                see(EventId(number as u32), event.thread, &|| words(number, event));
            });
        }
        if kept.len() == 0 {
            each_event(file, u64::MAX, |number, event| kept.push(words(number, event)))?;
        }
        for (number, words) in (0..).zip(kept.steps().take(last as usize + 1)) {
            let thread = ThreadId(plan::Step::decode(words).thread);
            see(EventId(number), thread, &|| words);
        }
        Ok(())
    }
}

impl Delay {
    fn is_promising(&self) -> bool {
        !self.is_far || self.often <= PROMISING
    }

    /// Which one is tried first, of those at places that were tried as often.
    fn order(&self) -> (bool, bool, u32, u32, EventId, EventId) {
        let Delay {
            is_far, is_half_known, ..
        } = *self;
        (is_far, is_half_known, self.often, self.rank, self.stop, self.first)
    }
}

/// How often a thread of this run takes a lock, or accesses memory atomically, that another one does, too: from each of
/// these times on, the run could go on otherwise.
///
/// # Errors
/// [`ReadError`], if a block of the file cannot be read.
pub(super) fn meetings(file: &TraceFile) -> Result<u64, ReadError> {
    let mut met: HashMap<Meeting, (ThreadId, u64, bool)> = HashMap::new();
    each_event(file, u64::MAX, |_, event| {
        let meeting = match event.op {
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => Meeting::Lock(lock),
            Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. } | Op::AtomicRmw { mem, .. } => {
                Meeting::Memory(mem.addr)
            }
            _ => return,
        };
        let (first, times, is_shared) = met.entry(meeting).or_insert((event.thread, 0, false));
        *times += 1;
        *is_shared |= *first != event.thread;
    })?;
    let shared = met.values().filter(|(_, _, is_shared)| *is_shared);
    Ok(shared.map(|(_, times, _)| times).sum())
}

/// Shows each event of a file, up to the one of this number.
fn each_event(file: &TraceFile, last: u64, mut see: impl FnMut(u64, &Event)) -> Result<(), ReadError> {
    for (index, block) in file.blocks().iter().enumerate() {
        if block.first_event > last {
            break;
        }
        let mut number = block.first_event;
        file.visit_block(index, |event| {
            if number <= last {
                see(number, event);
            }
            number += 1;
        })?;
    }
    Ok(())
}

/// Whom each notify wakes, which these events of waits tell by themselves.
fn woken(file: &TraceFile, waits: &[(u64, Event)]) -> HashMap<u64, ThreadId> {
    if waits.is_empty() {
        return HashMap::new();
    }
    let events: Vec<Event> = waits.iter().map(|&(_, event)| event).collect();
    let trace = Trace::from_events(file.tables().clone(), &events);
    let woken = Wakes::of(&trace, trace.events()).woken;
    let number = |event: EventId| waits[event.0 as usize].0;
    woken
        .into_iter()
        .map(|(event, thread)| (number(event), thread))
        .collect()
}

#[cfg(test)]
mod tests;
