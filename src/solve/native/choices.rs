//! Events that can come about in several ways, whichever way that is: what follows from all of these together, and the
//! ways themselves, to be tried one after the other.
//!
//! What follows holds in every feasible prefix that satisfies what is known so far, by arguments of three kinds:
//!
//! - *One of several:* some event of a set has to come before x (a notify between the beginning and the end of a wait,
//!   the end of an initialization, the taking of a lock that is found held). If the set is empty, there is no such
//!   prefix. If it has one element, that one comes. Otherwise, what precedes *all* of them precedes x: of each thread,
//!   the first one of the set says it, since program order puts it before the thread's others.
//! - *Counts:* at x the posts of a semaphore outnumber the waits by at least so much (a wait), or by at most so much (an
//!   attempt that fails), or by just so much (a count that is seen). The waits that are known to come before x bound
//!   the posts from below: of each thread, those posts come before x that all which may come before it of the other
//!   threads do not make up for. And the other way round.
//! - *Each serves one:* a notify that has to end one wait ends no other, unless it is a broadcast.
//!
//! In the relaxed view, events before the window may come at any moment that what is needed before what allows. So a
//! need that one of them may serve tells nothing, and they are counted among what may come before x.

use super::search::{Search, Violation};
use super::state::{Clocks, Contradiction, State};
use crate::semantics::Need;
use crate::semantics::semaphores::Step;
use crate::semantics::waits;
use crate::trace::{EventId, ObjectId, SectionId, ThreadId};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Counts of clocks that are compared for one event, at most, to find what precedes all that may serve it.
const MAX_COMMON: usize = 4096;

/// Sections that may be in the way of one attempt, above which none are tried.
const MAX_HOLDERS: usize = 64;

/// Who may be in the way of an attempt to take a lock.
enum Holders {
    /// Somebody is in any case, or that is not known.
    Any,
    /// One of these sections of other threads.
    OneOf(Vec<SectionId>),
}

/// Of a wait that is to be ended: where it ends in an order, and its end.
type Sleeper = (usize, EventId);

impl Search<'_, '_> {
    /// Adds what follows however those events come about that can come about in several ways.
    pub(super) fn choices(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        let mut new = false;
        // Notifies that have to end a wait, each with the wait's end.
        let mut taken: Vec<(EventId, EventId)> = Vec::new();
        for (event, _) in clocks
            .numbered()
            .filter(|&(_, number)| self.window.is_conditional(number))
        {
            new |= match Need::of(trace.op(event)) {
                Some(Need::Wake(condition)) => self.wake(state, clocks, event, condition, &mut taken)?,
                Some(Need::Permit(semaphore) | Need::Count(semaphore)) => {
                    self.count(state, clocks, event, semaphore)?
                }
                Some(Need::Initialization(once)) => self.initialization(state, clocks, event, once)?,
                Some(Need::Holder { lock, shared }) => self.holder(state, clocks, event, lock, shared)?,
                None => false,
            };
        }
        Ok(new)
    }

    /// Whether one event is known to come before another, wherever the two are.
    pub(super) fn known(&self, clocks: &Clocks, a: EventId, b: EventId) -> bool {
        clocks.before(&self.window, a, b)
            || self.native.needs.relation().before(a, b)
            || (self.based && a < self.from && b >= self.from)
    }

    /// Whether a notify that has to end some other wait, as far as was chosen, may end this one.
    pub(super) fn may_wake(&self, notify: EventId, end: EventId) -> bool {
        let mut chosen = self.served.iter();
        match self.served.get(&end) {
            Some(&by) => by == notify,
            None => !Need::serves_one(self.native.trace.op(notify)) || chosen.all(|(_, &other)| other != notify),
        }
    }

    /// Whether the end of a wait needs a notify in the window, in the based view.
    fn awaits_notify(&self, end: EventId, condition: ObjectId) -> bool {
        let (native, trace) = (self.native, self.native.trace);
        match trace.wait_begin(end) {
            // Woken before the trace began.
            None if !trace.waiting_at_start().contains(&(condition, end)) => false,
            Some(begin) if begin >= self.from => true,
            _ => !self.based || native.wakes.by.get(&end).is_none_or(|&notify| notify >= self.from),
        }
    }

    /// The notifies in the window that may end a wait, by thread; `None` if it needs none there.
    fn wakers(&self, clocks: &Clocks, end: EventId, condition: ObjectId) -> Option<Vec<&[EventId]>> {
        let (native, trace) = (self.native, self.native.trace);
        if !self.awaits_notify(end, condition) {
            return None;
        }
        let begin = trace.wait_begin(end);
        let mut lists = Vec::new();
        for (_, notifies) in native.users.givers(condition).by_thread() {
            self.spend(1);
            let outside = notifies.partition_point(|&notify| notify < self.from);
            let too_early = begin.map_or(0, |begin| {
                notifies.partition_point(|&notify| self.known(clocks, notify, begin))
            });
            if too_early < outside && !self.based {
                return None;
            }
            let until = notifies.partition_point(|&notify| self.possible(notify) && !self.known(clocks, end, notify));
            let first = too_early.max(outside);
            if first < until {
                lists.push(&notifies[first..until]);
            }
        }
        Some(lists)
    }

    fn wake(
        &self,
        state: &mut State,
        clocks: &Clocks,
        end: EventId,
        condition: ObjectId,
        taken: &mut Vec<(EventId, EventId)>,
    ) -> Result<bool, Contradiction> {
        if self.served.contains_key(&end) {
            return Ok(false);
        }
        let Some(lists) = self.wakers(clocks, end, condition) else {
            return Ok(false);
        };
        let free = |&&notify: &&EventId| {
            self.may_wake(notify, end) && taken.iter().all(|&(other, by)| other != notify || by == end)
        };
        let firsts: Vec<EventId> = lists
            .iter()
            .filter_map(|list| list.iter().find(free).copied())
            .collect();
        let [first] = firsts[..] else {
            return self.common(state, clocks, &firsts, end);
        };
        let mut new = self.put(state, clocks, first, end)?;
        let last = lists.iter().filter_map(|list| list.iter().rev().find(free)).max();
        if let (Some(&last), Some(begin)) = (last, self.native.trace.wait_begin(end))
            && begin >= self.from
            && self.inside(state, last)
        {
            new |= self.put(state, clocks, begin, last)?;
            if last == first && Need::serves_one(self.native.trace.op(first)) {
                taken.push((first, end));
            }
        }
        Ok(new)
    }

    /// Of each thread, an event: one of these comes before another event, or one behind them in their threads.
    fn common(
        &self,
        state: &mut State,
        clocks: &Clocks,
        firsts: &[EventId],
        event: EventId,
    ) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        let (Some(&any), threads) = (firsts.first(), trace.threads()) else {
            return Err(Contradiction);
        };
        if let [first] = firsts {
            return self.put(state, clocks, *first, event);
        }
        if firsts.len() * threads > MAX_COMMON || !self.spend(firsts.len() * threads) {
            return Ok(false);
        }
        // How many events of each thread come no later than one of them, whichever it is.
        let count = |last: EventId, thread: ThreadId| {
            if trace.thread(last) == thread {
                return trace.place(last) + 1;
            }
            let known = clocks.row(&self.window, last).map_or(0, |row| row[thread.index()]);
            known.max(self.native.needs.relation().count(last, thread))
        };
        let mut new = false;
        for thread in (0..threads as u32)
            .map(ThreadId)
            .filter(|&thread| thread != trace.thread(event))
        {
            let mut common = count(any, thread);
            for &first in &firsts[1..] {
                common = common.min(count(first, thread));
                if common == 0 {
                    break;
                }
            }
            let last = common
                .checked_sub(1)
                .map(|place| trace.program_order(thread).at(place as usize));
            if let Some(last) = last.filter(|&last| !self.known(clocks, last, event)) {
                new |= self.put(state, clocks, last, event)?;
            }
        }
        Ok(new)
    }

    /// What the count of a semaphore has to be at an event that depends on it.
    fn count(
        &self,
        state: &mut State,
        clocks: &Clocks,
        event: EventId,
        semaphore: ObjectId,
    ) -> Result<bool, Contradiction> {
        let native = self.native;
        let (posts, waits) = (native.users.givers(semaphore), native.users.takers(semaphore));
        let (posts, waits) = (posts.by_thread(), waits.by_thread());
        if !self.spend(posts.len() + waits.len()) {
            return Ok(false);
        }
        let initial = i64::from(native.trace.initial_count(semaphore));
        let sure = |of: &[(ThreadId, Vec<EventId>)]| -> i64 {
            let counts = of
                .iter()
                .map(|(_, all)| all.partition_point(|&other| self.known(clocks, other, event)) as i64);
            counts.sum()
        };
        let Some((_, step)) = Step::of(native.trace.op(event)) else {
            return Ok(false);
        };
        let (least, most) = match step {
            Step::Post => (None, None),
            Step::Wait => (Some(1), None),
            Step::FailedWait => (None, Some(0)),
            Step::Value(count) => (Some(i64::from(count)), Some(i64::from(count))),
        };
        let mut new = false;
        if let Some(least) = least {
            new |= self.at_least(state, clocks, event, posts, least - initial + sure(waits))?;
        }
        if let Some(most) = most {
            new |= self.at_least(state, clocks, event, waits, initial - most + sure(posts))?;
        }
        Ok(new)
    }

    /// So many of these events, at least, come before another one: those of a thread that all others do not make up for.
    fn at_least(
        &self,
        state: &mut State,
        clocks: &Clocks,
        event: EventId,
        of: &[(ThreadId, Vec<EventId>)],
        number: i64,
    ) -> Result<bool, Contradiction> {
        if number <= 0 {
            return Ok(false);
        }
        let may_precede =
            |&other: &EventId| other != event && self.possible(other) && !self.known(clocks, event, other);
        let can: Vec<i64> = of
            .iter()
            .map(|(_, all)| all.partition_point(may_precede) as i64)
            .collect();
        let all: i64 = can.iter().sum();
        if all < number {
            return Err(Contradiction);
        }
        let mut new = false;
        for ((_, events), can) in of.iter().zip(can) {
            let place = (number - (all - can))
                .checked_sub(1)
                .and_then(|place| usize::try_from(place).ok());
            if let Some(place) = place.filter(|&place| !self.known(clocks, events[place], event)) {
                new |= self.put(state, clocks, events[place], event)?;
            }
        }
        Ok(new)
    }

    fn initialization(
        &self,
        state: &mut State,
        clocks: &Clocks,
        wait: EventId,
        once: ObjectId,
    ) -> Result<bool, Contradiction> {
        let ends = self.native.users.givers(once);
        if ends.all().first().is_none_or(|&first| first < self.from) {
            return Ok(false);
        }
        let firsts: Vec<EventId> = self.first_ends(clocks, wait, once).collect();
        self.common(state, clocks, &firsts, wait)
    }

    /// Of each thread, the first end of a once cell's initializations in the window, if it may come before a wait.
    fn first_ends(&self, clocks: &Clocks, wait: EventId, once: ObjectId) -> impl Iterator<Item = EventId> {
        let by_thread = self.native.users.givers(once).by_thread().iter();
        let firsts = by_thread.filter_map(|(_, ends)| ends.iter().copied().find(|&end| end >= self.from));
        firsts.filter(move |&end| self.possible(end) && !self.known(clocks, wait, end))
    }

    fn holder(
        &self,
        state: &mut State,
        clocks: &Clocks,
        attempt: EventId,
        lock: ObjectId,
        shared: bool,
    ) -> Result<bool, Contradiction> {
        let Holders::OneOf(sections) = self.holders(clocks, attempt, lock, shared) else {
            return Ok(false);
        };
        let sections: Vec<_> = sections.iter().map(|&id| self.native.sections.get(id)).collect();
        let mut new = false;
        let taken: Vec<EventId> = sections
            .iter()
            .filter_map(|section| section.acquire.filter(|&acquire| acquire >= self.from))
            .collect();
        if taken.len() == sections.len() {
            new |= self.common(state, clocks, &taken, attempt)?;
        }
        if let [section] = sections[..]
            && let Some(release) = section.release.filter(|&release| self.inside(state, release))
        {
            new |= self.put(state, clocks, attempt, release)?;
        }
        Ok(new)
    }

    fn holders(&self, clocks: &Clocks, attempt: EventId, lock: ObjectId, shared: bool) -> Holders {
        let (native, trace) = (self.native, self.native.trace);
        let thread = trace.thread(attempt);
        if native.sections.is_handed_over(lock) {
            return Holders::Any;
        }
        let own = native.sections.open_after(thread, trace.place(attempt));
        let mut own = own.map(|id| native.sections.get(id));
        if own.any(|section| section.lock == lock && section.denies(shared)) {
            return Holders::Any;
        }
        let all = native.sections.on(lock);
        let from = |id: SectionId| {
            native
                .sections
                .get(id)
                .acquire
                .is_none_or(|acquire| acquire < self.from)
        };
        let first = all.partition_point(from);
        let (outside, inside) = (all.until(first), all.from(first));
        let may_hold = |id: SectionId| {
            let section = native.sections.get(id);
            section.thread != thread
                && section.denies(shared)
                && section
                    .release
                    .is_none_or(|release| !self.known(clocks, release, attempt))
                && section
                    .acquire
                    .is_none_or(|acquire| self.possible(acquire) && !self.known(clocks, attempt, acquire))
        };
        let mut found = Vec::new();
        // Of those that began before the window, the last ones end last.
        for (looked_at, id) in outside.rev().enumerate() {
            self.spend(1);
            if looked_at == MAX_HOLDERS {
                if self.based {
                    break;
                }
                return Holders::Any;
            }
            if may_hold(id) {
                if !self.based {
                    return Holders::Any;
                }
                found.push(id);
            }
        }
        for id in inside {
            self.spend(1);
            if may_hold(id) {
                found.push(id);
            }
            if found.len() > MAX_HOLDERS {
                return Holders::Any;
            }
        }
        Holders::OneOf(found)
    }

    /// The ways in which somebody may be in the way of an attempt, in the based view; `None` if they are not all known.
    pub(super) fn ways_to_fail(
        &self,
        clocks: &Clocks,
        attempt: EventId,
        lock: ObjectId,
        shared: bool,
    ) -> Option<Vec<Vec<(EventId, EventId)>>> {
        let Holders::OneOf(mut sections) = self.holders(clocks, attempt, lock, shared) else {
            return None;
        };
        sections.sort_by_key(|&id| {
            let acquire = self.native.sections.get(id).acquire;
            acquire.map_or(0, |acquire| acquire.0.abs_diff(attempt.0))
        });
        let way = |id: SectionId| {
            let section = self.native.sections.get(id);
            let acquire = section.acquire.filter(|&acquire| acquire >= self.from);
            let edges = acquire.map(|acquire| (acquire, attempt)).into_iter();
            edges.chain(section.release.map(|release| (attempt, release))).collect()
        };
        Some(sections.into_iter().map(way).collect())
    }

    /// The first event whose need an order does not meet, as the ways out of it.
    pub(super) fn unmet(&self, clocks: &Clocks) -> Option<Violation> {
        if !clocks.numbered().any(|(_, number)| self.window.is_conditional(number)) {
            return None;
        }
        let counted = || self.counts_wrong(clocks).or_else(|| self.not_initialized(clocks));
        self.based.then(counted).flatten().or_else(|| self.not_woken(clocks))
    }

    /// The first event at which the count of a semaphore is not as it needs it.
    fn counts_wrong(&self, clocks: &Clocks) -> Option<Violation> {
        let (native, trace) = (self.native, self.native.trace);
        let mut counts: HashMap<ObjectId, i64> = HashMap::new();
        for (place, &event) in clocks.order.iter().enumerate() {
            let Some((semaphore, step)) = Step::of(trace.op(event)) else {
                continue;
            };
            let count = counts
                .entry(semaphore)
                .or_insert_with(|| native.users.permits(trace, semaphore, self.from));
            if step.is_enabled(*count) {
                *count += step.adds();
                continue;
            }
            // A post too few has come, and a wait too many, or the other way round.
            let too_low = match step {
                Step::Post | Step::FailedWait => false,
                Step::Wait => true,
                Step::Value(wanted) => *count < i64::from(wanted),
            };
            let (missing, superfluous) = match too_low {
                true => (Step::Post, Step::Wait),
                false => (Step::Wait, Step::Post),
            };
            let of_missing = match too_low {
                true => native.users.givers(semaphore),
                false => native.users.takers(semaphore),
            };
            // By thread, the last ones before the event.
            let (mut last_missing, mut last_superfluous) = (HashMap::new(), HashMap::new());
            for &other in &clocks.order[..place] {
                match Step::of(trace.op(other)) {
                    Some((same, kind)) if same == semaphore && kind == missing => {
                        last_missing.insert(trace.thread(other), other);
                    }
                    Some((same, kind)) if same == semaphore && kind == superfluous => {
                        last_superfluous.insert(trace.thread(other), other);
                    }
                    _ => {}
                }
            }
            let mut ways: Vec<(EventId, EventId)> = Vec::new();
            for &(thread, ref all) in of_missing.by_thread() {
                let done = last_missing
                    .get(&thread)
                    .map_or(self.from, |last: &EventId| EventId(last.0 + 1));
                let next = all.get(all.partition_point(|&other| other < done)).copied();
                let may_come =
                    |&next: &EventId| next != event && self.possible(next) && !self.known(clocks, event, next);
                ways.extend(next.filter(may_come).map(|next| (next, event)));
            }
            let last_superfluous = last_superfluous.into_values();
            let may_come_later = |&last: &EventId| !self.known(clocks, last, event);
            ways.extend(last_superfluous.filter(may_come_later).map(|last| (event, last)));
            ways.sort_by_key(|&(a, b)| (a.0.abs_diff(b.0), a));
            return Some(Violation::Either(ways.into_iter().map(|way| vec![way]).collect()));
        }
        None
    }

    /// The first wait for a once cell that no initialization has ended.
    fn not_initialized(&self, clocks: &Clocks) -> Option<Violation> {
        let trace = self.native.trace;
        let mut ended: Vec<ObjectId> = Vec::new();
        for &event in &clocks.order {
            let op = trace.op(event);
            if let Some(Need::Initialization(once)) = Need::served_by(op) {
                ended.push(once);
            }
            let Some(Need::Initialization(once)) = Need::of(op) else {
                continue;
            };
            let first = self.native.users.givers(once).all().first();
            if !ended.contains(&once) && first.is_none_or(|&first| first >= self.from) {
                let mut ends: Vec<EventId> = self.first_ends(clocks, event, once).collect();
                ends.sort_by_key(|end| end.0.abs_diff(event.0));
                return Some(Violation::Either(
                    ends.into_iter().map(|end| vec![(end, event)]).collect(),
                ));
            }
        }
        None
    }

    /// The first end of a wait that nobody wakes, if each notify wakes the one of those waiting that returns first.
    /// (That finds a matching if there is one: to serve one that returns later instead never helps.)
    fn not_woken(&self, clocks: &Clocks) -> Option<Violation> {
        let trace = self.native.trace;
        // Where those return that need a notify of the window.
        let mut returns: HashMap<EventId, usize> = HashMap::new();
        let mut asleep: HashMap<ObjectId, Vec<Sleeper>> = HashMap::new();
        for (place, (event, number)) in clocks.numbered().enumerate() {
            if self.window.is_conditional(number)
                && let Some(Need::Wake(condition)) = Need::of(trace.op(event))
                && self.needs_waker(clocks, event, condition)
            {
                returns.insert(event, place);
                if trace.wait_begin(event).is_none_or(|begin| begin < self.from) {
                    asleep.entry(condition).or_default().push((place, event));
                }
            }
        }
        if returns.is_empty() {
            return None;
        }
        let by: HashMap<EventId, EventId> = self.served.iter().map(|(&end, &notify)| (notify, end)).collect();
        for &event in &clocks.order {
            let Some((condition, step)) = waits::Step::of(trace.op(event)) else {
                continue;
            };
            let asleep = asleep.entry(condition).or_default();
            match step {
                waits::Step::Begin => {
                    let end = trace.wait_end(event);
                    asleep.extend(end.and_then(|end| Some((*returns.get(&end)?, end))));
                }
                waits::Step::NotifyAll => asleep.clear(),
                waits::Step::Notify => {
                    let end = match by.get(&event) {
                        Some(&end) => Some(end),
                        None => asleep
                            .iter()
                            .filter(|(_, end)| !self.served.contains_key(end))
                            .min()
                            .map(|&(_, end)| end),
                    };
                    asleep.retain(|&(_, other)| Some(other) != end);
                }
                waits::Step::End(_) => {
                    if asleep.iter().any(|&(_, end)| end == event) {
                        return Some(Violation::Wake(event, self.ways_to_wake(clocks, event, condition)));
                    }
                }
            }
        }
        None
    }

    /// Whether the end of a wait needs a notify that is in the window.
    fn needs_waker(&self, clocks: &Clocks, end: EventId, condition: ObjectId) -> bool {
        match self.based {
            true => self.awaits_notify(end, condition),
            false => self.wakers(clocks, end, condition).is_some(),
        }
    }

    /// The notifies that may end a wait, the likely ones first: that of π, then those that come anyway, then the nearest.
    fn ways_to_wake(&self, clocks: &Clocks, end: EventId, condition: ObjectId) -> Vec<EventId> {
        let lists = self.wakers(clocks, end, condition).unwrap_or_default();
        let all = lists.into_iter().flatten().copied();
        let mut notifies: Vec<EventId> = all.filter(|&notify| self.may_wake(notify, end)).collect();
        let as_in_trace = self.native.wakes.by.get(&end).copied();
        notifies.sort_by_key(|&notify| {
            let comes = clocks.has(&self.window, notify);
            (Reverse((Some(notify) == as_in_trace, comes)), notify.0.abs_diff(end.0))
        });
        notifies
    }
}
