//! Must-happen-before: which events precede which in *every* feasible prefix.
//!
//! a must happen before b if each feasible prefix that holds b, or in which b is next and enabled,
//! holds a. The relation is the transitive closure of program order and of
//!
//! - fork → begin, end → join (Said et al. 2011, section 2.2); fork → join of a thread without events;
//! - all enters of a barrier round → each exit of it, and each enter of the next round;
//! - the first of the once ends that can precede a once wait → that wait;
//! - alloc → every access of the incarnation and its free;
//! - inputs and outputs of one source → each later input from it;
//! - where only one notify can have woken a wait: notify → wait end. (Not wait begin → notify: in a
//!   prefix without the wait's end, that notify may come early and find nobody.)
//! - a post that a semaphore's wait cannot do without, for want of others → [that wait](super::forced_posts);
//! - a pinned access keeps the events that it had before it, so these precede all that follows it
//!   (but not the access itself while it is only *next*: a pending read need not see its value).
//!
//! It is represented by [vector clocks](Clocks) that say, per event and thread, how many events of that
//! thread must come before.
//!
//! Which of these hold on which [grounds](Grounds) is decided here: of the above, program order, fork, join, barriers
//! whose threads are always the same, and posts hold in every run with these operations.
//!
//! Errs on the side of ordering too little: reads that only one write can explain, for example,
//! are left to the solver.

use super::Clocks;
use super::conditional_waits::ConditionalWaits;
use super::forced_posts::Semaphores;
use super::grounds::Grounds;
use crate::semantics::{Before, barriers, onces, outside, threads, waits};
use crate::trace::{EventId, ObjectId, ThreadId, Trace, WaitOutcome};
use hashbrown::{HashMap, HashSet};

/// The must-happen-before relation of a trace.
#[derive(Clone, Debug)]
pub struct MustHappenBefore {
    clocks: Clocks,
    /// The edges from other threads that say more than those before them do, sorted by the event they lead to; without
    /// those of rounds.
    incoming: Vec<Edge>,
    rounds: Rounds,
}

/// The rounds of barriers that order. With the edges from each enter to each exit, barriers of thousands of threads
/// would have millions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rounds {
    /// By barrier and round: the enters.
    enters: HashMap<(u32, u32), Vec<EventId>>,
    /// By exit: its barrier and round, and the enter of its own thread.
    exits: HashMap<EventId, ((u32, u32), Option<EventId>)>,
}

impl Rounds {
    /// The enters of other threads that an exit comes after.
    fn before(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let exit = self.exits.get(&event);
        let enters = exit.and_then(|(round, own)| Some((self.enters.get(round)?, *own)));
        enters
            .into_iter()
            .flat_map(|(enters, own)| enters.iter().copied().filter(move |&enter| Some(enter) != own))
    }
}

/// An edge between two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The event that it leads to.
    pub to: EventId,
    /// The event that comes before.
    pub from: EventId,
}

impl MustHappenBefore {
    /// Computes the relation.
    #[must_use]
    pub fn of(trace: &Trace) -> MustHappenBefore {
        MustHappenBefore::on(trace, Grounds::Pins)
    }

    /// Computes what follows of the relation on these grounds.
    #[must_use]
    pub fn on(trace: &Trace, grounds: Grounds) -> MustHappenBefore {
        MustHappenBefore::walked(trace, grounds, trace.linked())
    }

    /// What follows of the relation from the operations alone, and the posts and waits of semaphores that do not depend
    /// on what threads have read.
    #[must_use]
    pub fn by_structure(trace: &Trace) -> (MustHappenBefore, Semaphores) {
        MustHappenBefore::with_semaphores(trace, Grounds::Structure, trace.linked())
    }

    /// The same by a walk over these events.
    fn walked(trace: &Trace, grounds: Grounds, events: impl Iterator<Item = EventId>) -> MustHappenBefore {
        MustHappenBefore::with_semaphores(trace, grounds, events).0
    }

    fn with_semaphores(
        trace: &Trace,
        grounds: Grounds,
        events: impl Iterator<Item = EventId>,
    ) -> (MustHappenBefore, Semaphores) {
        let semaphores = Semaphores::of(trace);
        let mut conditional = (grounds == Grounds::Structure).then(|| ConditionalWaits::of(trace));
        let fixed = match grounds {
            Grounds::Structure => barriers::fixed(trace),
            Grounds::Outcomes | Grounds::Pins => HashSet::new(),
        };
        let onces = Onces::of(trace);
        let mut walk = Walk::new(trace, grounds, &fixed, Vec::new());
        events.for_each(|event| walk.step(event));
        let mut relation = walk.finish();
        loop {
            // Each round can only add edges, and each edge can only rule out more notifies and posts.
            let semaphores = match &mut conditional {
                Some(conditional) => {
                    // More order leaves less to see.
                    conditional.settle(trace, &relation);
                    semaphores.without(&conditional.waits())
                }
                None => semaphores.clone(),
            };
            let mut forced = semaphores.forced(&relation);
            if grounds > Grounds::Structure {
                let wakes = forced_wakes(trace, &relation).into_iter();
                forced.extend(wakes.map(|(to, from)| Edge { to, from }));
                forced.extend(onces.forced(&relation));
            }
            forced.retain(|edge| !relation.before(edge.from, edge.to));
            if forced.is_empty() {
                return (relation, semaphores);
            }
            relation = relation.extended(trace, forced, [], &mut |_, _, _| {});
        }
    }

    /// The closure of this relation and of further edges between threads, each of which has to come from
    /// an earlier event of π. `find` is asked for more of them to some events, sorted, to each in its turn, and told what
    /// precedes that one and all before it: so what follows from one edge for later events is found in the same walk. It
    /// adds where they come from to the list that it is given.
    #[must_use]
    pub fn extended(
        self,
        trace: &Trace,
        further: Vec<Edge>,
        asked: impl IntoIterator<Item = EventId>,
        find: &mut dyn FnMut(&Clocks, EventId, &mut Vec<EventId>),
    ) -> MustHappenBefore {
        // Two of these side by side would be the most that an analysis ever holds.
        let MustHappenBefore {
            clocks,
            incoming,
            rounds,
        } = self;
        drop(clocks);
        let mut incoming = joined(incoming, further);
        // What the relation rests on is among its edges already, and its rounds.
        let barriers = rounds.exits.values().map(|&((barrier, _), _)| barrier).collect();
        drop(rounds);
        incoming.sort_unstable();
        incoming.dedup();
        let mut walk = Walk::new(trace, Grounds::Structure, &barriers, incoming);
        let (mut asked, mut found) = (asked.into_iter().peekable(), Vec::new());
        // All else that leads somewhere is among the edges.
        let rounds = (!barriers.is_empty()).then(|| trace.operations());
        let mut rounds = rounds.into_iter().flatten().peekable();
        loop {
            let given = walk.given.get(walk.passed).map(|edge| edge.to);
            let next = [given, asked.peek().copied(), rounds.peek().copied()];
            let Some(event) = next.into_iter().flatten().min() else {
                break;
            };
            rounds.next_if_eq(&event);
            let mut is_asked = false;
            while asked.next_if_eq(&event).is_some() {
                is_asked = true;
            }
            walk.step(event);
            if is_asked {
                find(&walk.clocks, event, &mut found);
                for from in found.drain(..) {
                    walk.edge(from, event);
                    walk.clocks.add(event, from);
                }
                // So what is found is sorted in the end.
                walk.found[walk.begin..].sort_unstable();
            }
        }
        walk.finish()
    }

    /// Whether two relations of one trace are made of the same edges.
    #[must_use]
    pub fn same_edges(&self, other: &MustHappenBefore) -> bool {
        self.incoming == other.incoming && self.rounds.exits == other.rounds.exits
    }

    /// The relation alone, without the edges that it was made of.
    #[must_use]
    #[inline]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// As [`clocks`](Self::clocks), and forgets the edges.
    #[must_use]
    pub fn into_clocks(self) -> Clocks {
        self.clocks
    }

    /// Whether `a` must happen before `b`. False for an event and itself.
    #[must_use]
    #[inline]
    pub fn before(&self, a: EventId, b: EventId) -> bool {
        self.clocks.before(a, b)
    }

    /// Whether neither must happen before the other.
    #[must_use]
    #[inline]
    pub fn concurrent(&self, a: EventId, b: EventId) -> bool {
        a != b && !self.before(a, b) && !self.before(b, a)
    }

    /// How many events of `thread` must happen before `event`. In the event's own thread: its place.
    #[must_use]
    #[inline]
    pub fn count(&self, event: EventId, thread: ThreadId) -> u32 {
        self.clocks.count(event, thread)
    }

    /// The must-happen-before edges that come into `event` from other threads, but for those that follow from edges
    /// that come earlier into its thread.
    pub fn incoming(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let start = self.incoming.partition_point(|edge| edge.to < event);
        let edges = self.incoming[start..].iter().take_while(move |edge| edge.to == event);
        edges.map(|edge| edge.from).chain(self.rounds.before(event))
    }

    /// The exits of barriers' rounds that come after all enters.
    pub fn exits(&self) -> impl Iterator<Item = EventId> + '_ {
        self.rounds.exits.keys().copied()
    }

    /// All of these edges, but for those of barriers' rounds.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.incoming
    }

    /// Raises each thread's count to that of its events that must happen before `event`.
    pub fn raise(&self, counts: &mut [u32], event: EventId) {
        self.clocks.raise(counts, event);
    }

    /// Raises each thread's count to that of its events that are in every prefix after which `event` is next. What an
    /// operation waits for is no matter then, since it is not performed; but an access is next only if its memory is
    /// there.
    pub fn raise_to_pending(&self, trace: &Trace, counts: &mut [u32], event: EventId) {
        if trace.is_access(event) {
            self.raise(counts, event);
        } else if let Some(last) = self.last_before(trace, event) {
            self.raise(counts, last);
            let of_last = &mut counts[trace.thread(last).index()];
            *of_last = (*of_last).max(trace.place(last) + 1);
        }
    }

    /// How many events of `thread` are in every prefix after which `event` is next.
    #[must_use]
    #[inline]
    pub fn count_to_pending(&self, trace: &Trace, event: EventId, thread: ThreadId) -> u32 {
        if trace.is_access(event) {
            return self.count(event, thread);
        }
        match self.last_before(trace, event) {
            None => 0,
            Some(last) if trace.thread(last) == thread => trace.place(last) + 1,
            Some(last) => self.count(last, thread),
        }
    }

    /// The event before this one in its thread, or else the one that creates the thread.
    fn last_before(&self, trace: &Trace, event: EventId) -> Option<EventId> {
        let own = trace.thread(event);
        let forks = |&from: &EventId| threads::Step::of(trace.op(from)) == Some(threads::Step::Fork(own));
        trace.predecessor(event).or_else(|| self.incoming(event).find(forks))
    }

    /// The first event of `thread` that `event` must happen before, as a place in the thread;
    /// the thread's length if there is none.
    #[must_use]
    pub fn first_after(&self, trace: &Trace, event: EventId, thread: ThreadId) -> u32 {
        let order = trace.program_order(thread);
        if trace.thread(event) == thread {
            return trace.place(event) + 1;
        }
        order.partition_point(|later| !self.before(event, later)) as u32
    }

    /// A chain of events from `a` to `b` in which each must happen before the next by program
    /// order or by one edge between threads. Empty if `a` need not happen before `b`.
    #[must_use]
    pub fn chain(&self, trace: &Trace, a: EventId, b: EventId) -> Vec<EventId> {
        if !self.before(a, b) {
            return Vec::new();
        }
        let mut chain = vec![b];
        let mut at = b;
        while trace.thread(at) != trace.thread(a) {
            // Where the knowledge of `a` entered this thread, and through which edge.
            let order = trace
                .program_order(trace.thread(at))
                .until(trace.place(at) as usize + 1);
            let entry = order.at(order.partition_point(|event| !self.before(a, event)));
            let source = self
                .incoming(entry)
                .find(|&source| source == a || self.before(a, source));
            let Some(source) = source else { break };
            if entry != at {
                chain.push(entry);
            }
            chain.push(source);
            at = source;
        }
        if at != a {
            chain.push(a);
        }
        chain.reverse();
        chain
    }
}

/// Computes clocks while the events go by in the order of π, along which every edge points forward.
struct Walk<'t> {
    trace: &'t Trace,
    grounds: Grounds,
    /// Barriers that order on any grounds.
    fixed: &'t HashSet<u32>,
    clocks: Clocks,
    /// Edges known before the walk, sorted, how many of them lie behind it, and how many of these said something new
    /// and were kept: they stand at the front.
    given: Vec<Edge>,
    passed: usize,
    kept: usize,
    /// Edges found on the way, and where those of the event at hand begin.
    found: Vec<Edge>,
    begin: usize,
    /// By thread: what precedes its next event because of a pinned access before it.
    pinned: Vec<Vec<EventId>>,
    fork_of: HashMap<ThreadId, EventId>,
    rounds: Rounds,
    /// By barrier and round: its first exit, if nothing else leads to that one, and the enter of its thread.
    first_exit: HashMap<(u32, u32), Option<(EventId, EventId)>>,
    /// By barrier and thread: the last round that it left.
    left: HashMap<(u32, ThreadId), u32>,
    /// By source: its last input, and the last output of each thread since.
    source: HashMap<u32, Vec<EventId>>,
}

impl<'t> Walk<'t> {
    fn new(trace: &'t Trace, grounds: Grounds, fixed: &'t HashSet<u32>, given: Vec<Edge>) -> Walk<'t> {
        Walk {
            trace,
            grounds,
            fixed,
            clocks: Clocks::new(trace),
            given,
            passed: 0,
            kept: 0,
            found: Vec::new(),
            begin: 0,
            pinned: vec![Vec::new(); trace.threads()],
            fork_of: HashMap::new(),
            rounds: Rounds::default(),
            first_exit: HashMap::new(),
            left: HashMap::new(),
            source: HashMap::new(),
        }
    }

    fn step(&mut self, event: EventId) {
        let trace = self.trace;
        let (thread, place) = self.clocks.place(event);
        let first = place == 0;
        self.begin = self.found.len();
        for from in self.pinned[thread.index()].drain(..) {
            if !self.clocks.knows(thread, from) {
                self.found.push(Edge { to: event, from });
            }
        }
        if first && let Some(&fork) = self.fork_of.get(&thread) {
            self.edge(fork, event);
        }
        let op = trace.op(event);
        match Before::of(op).filter(|&before| self.holds(before)) {
            Some(Before::End(child)) => {
                // The child's last event before the join; a well-formed trace has its end there. Without any, the child
                // has ended once it is forked.
                let before = trace.program_order(child).partition_point(|other| other < event);
                let last = before.checked_sub(1).map(|at| trace.program_order(child).at(at));
                if let Some(last) = last.or_else(|| self.fork_of.get(&child).copied()) {
                    self.edge(last, event);
                }
            }
            Some(Before::Arrivals(barrier, round)) => {
                if let Some((_, barriers::Step::Exit(_))) = barriers::Step::of(op) {
                    self.leave(event, (thread, place), (barrier.0, round));
                    return;
                }
                // Who left the round before comes after its enters for that reason.
                if self.left.get(&(barrier.0, thread)) != Some(&round) {
                    for at in 0..self.entered(barrier, round).len() {
                        self.edge(self.entered(barrier, round)[at], event);
                    }
                }
            }
            Some(Before::Exchanges(source)) => {
                for earlier in self.source.insert(source.0, vec![event]).unwrap_or_default() {
                    self.edge(earlier, event);
                }
            }
            Some(Before::Allocation) => {
                if let Some(alloc) = trace.incarnation(trace.incarnation_of(event)).alloc {
                    self.edge(alloc, event);
                }
            }
            None => {}
        }
        self.push_like(event, (thread, place), None);
        if let Some(threads::Step::Fork(child)) = threads::Step::of(op) {
            self.fork_of.insert(child, event);
        }
        if let Some((barrier, barriers::Step::Enter(round))) = barriers::Step::of(op) {
            self.rounds.enters.entry((barrier.0, round)).or_default().push(event);
        }
        if let Some((source, outside::Step::Output)) = outside::Step::of(op) {
            self.goes_out(event, source);
        }
        if trace.is_access(event) {
            self.pin(event);
        }
    }

    /// Of the outputs of one thread, the last one stands for all.
    fn goes_out(&mut self, event: EventId, source: ObjectId) {
        let trace = self.trace;
        let last = self.source.entry(source.0).or_default();
        let superseded = |&other: &EventId| {
            trace.thread(other) == trace.thread(event)
                && matches!(outside::Step::of(trace.op(other)), Some((_, outside::Step::Output)))
        };
        last.retain(|other| !superseded(other));
        last.push(event);
    }

    fn entered(&self, barrier: ObjectId, round: u32) -> &[EventId] {
        self.rounds.enters.get(&(barrier.0, round)).map_or(&[], Vec::as_slice)
    }

    /// An exit comes after all enters of its round. The first one's clock, if it comes of nothing else, is that of the
    /// others.
    fn leave(&mut self, event: EventId, (thread, place): (ThreadId, u32), round: (u32, u32)) {
        let enters = self.rounds.enters.get(&round).map_or(&[][..], Vec::as_slice);
        let own = enters.iter().copied().find(|&enter| self.trace.thread(enter) == thread);
        let others_lead_here =
            self.found.len() > self.begin || self.given.get(self.passed).is_some_and(|edge| edge.to == event);
        let known = self.first_exit.get(&round).copied();
        if let Some(Some(first)) = known {
            self.push_like(event, (thread, place), Some(first));
        } else {
            let own_edges = self.found.len();
            let others = enters.iter().copied().filter(|&enter| Some(enter) != own);
            self.found.extend(others.map(|from| Edge { to: event, from }));
            self.push_like(event, (thread, place), None);
            self.found.truncate(own_edges);
            let follows_its_enter = own.is_some() && self.trace.predecessor(event) == own;
            let first = own.filter(|_| !others_lead_here && follows_its_enter);
            self.first_exit.insert(round, first.map(|own| (event, own)));
        }
        self.rounds.exits.insert(event, (round, own));
        self.left.insert((round.0, thread), round.1);
    }

    /// Whether something comes before an event on the grounds of this walk.
    fn holds(&self, before: Before) -> bool {
        let is_fixed = matches!(before, Before::Arrivals(barrier, _) if self.fixed.contains(&barrier.0));
        self.grounds >= before.grounds() || is_fixed
    }

    /// An edge to the event at hand. What its thread knows already is no news: most accesses of allocated memory have
    /// an edge from the allocation.
    fn edge(&mut self, from: EventId, to: EventId) {
        if self.clocks.is_news_to_last(from, to) {
            self.found.push(Edge { to, from });
        }
    }

    fn push_like(&mut self, event: EventId, (thread, place): (ThreadId, u32), alike: Option<(EventId, EventId)>) {
        let start = self.kept;
        while let Some(&edge) = self.given.get(self.passed).filter(|edge| edge.to == event) {
            self.passed += 1;
            // Where many reads see what one write left before, the first of them alone says something.
            if !self.clocks.knows(thread, edge.from) {
                self.given[self.kept] = edge;
                self.kept += 1;
            }
        }
        let edges = self.given[start..self.kept].iter().chain(&self.found[self.begin..]);
        self.clocks.push((thread, place), edges, alike);
    }

    /// Orders what must precede a pinned access before all that follows the access.
    fn pin(&mut self, event: EventId) {
        if self.grounds < Grounds::Pins || self.trace.pin(event).is_none() {
            return;
        }
        let (thread, clocks) = (self.trace.thread(event), &self.clocks);
        let sources = self.trace.pinned_behind(event, |other| clocks.known(thread, other));
        self.pinned[thread.index()].extend(sources);
    }

    fn finish(mut self) -> MustHappenBefore {
        self.given.truncate(self.kept);
        let mut incoming = joined(self.given, self.found);
        incoming.sort_unstable();
        incoming.dedup();
        incoming.shrink_to_fit();
        MustHappenBefore {
            clocks: self.clocks,
            incoming,
            rounds: self.rounds,
        }
    }
}

/// Two lists in one, which the longer one becomes: another one beside it would take as much again. Of two that are sorted,
/// it is sorted, too.
fn joined(one: Vec<Edge>, other: Vec<Edge>) -> Vec<Edge> {
    let (mut all, shorter) = match one.len() < other.len() {
        true => (other, one),
        false => (one, other),
    };
    // From the end on, each goes to where it belongs.
    let (mut left, mut to) = (all.len(), all.len() + shorter.len());
    all.extend_from_slice(&shorter);
    for edge in shorter.into_iter().rev() {
        while left > 0 && all[left - 1] > edge {
            (left, to) = (left - 1, to - 1);
            all[to] = all[left];
        }
        to -= 1;
        all[to] = edge;
    }
    all
}

/// The ends and waits of once cells.
#[derive(Default)]
struct Onces {
    ends: HashMap<u32, Vec<EventId>>,
    waits: Vec<(u32, EventId)>,
}

impl Onces {
    fn of(trace: &Trace) -> Onces {
        let mut found = Onces::default();
        for (event, (once, step)) in trace.operations_with(onces::Step::of) {
            match step {
                onces::Step::Begin => {}
                onces::Step::End => found.ends.entry(once.0).or_default().push(event),
                onces::Step::Wait => found.waits.push((once.0, event)),
            }
        }
        found
    }

    /// Per wait, the end that precedes all others which can precede the wait, if there is one.
    fn forced(&self, relation: &MustHappenBefore) -> Vec<Edge> {
        let forced = self.waits.iter().filter_map(|&(once, wait)| {
            let ends = self.ends.get(&once)?;
            let mut possible = ends.iter().copied().filter(|&end| !relation.before(wait, end));
            let first = possible.next()?;
            let known = relation.before(first, wait);
            (!known && first < wait && possible.all(|other| relation.before(first, other)))
                .then_some(Edge { to: wait, from: first })
        });
        forced.collect()
    }
}

/// The waits that only one notify can have woken: wait end → notify.
fn forced_wakes(trace: &Trace, relation: &MustHappenBefore) -> HashMap<EventId, EventId> {
    let mut notifies: HashMap<u32, Vec<EventId>> = HashMap::new();
    let mut waits: Vec<(u32, EventId, EventId)> = Vec::new();
    for (event, (condition, step)) in trace.operations_with(waits::Step::of) {
        match step {
            waits::Step::Notify | waits::Step::NotifyAll => notifies.entry(condition.0).or_default().push(event),
            waits::Step::End(WaitOutcome::Notified) => {
                waits.extend(trace.wait_begin(event).map(|begin| (condition.0, begin, event)));
            }
            waits::Step::Begin | waits::Step::End(_) => {}
        }
    }
    let mut forced = HashMap::new();
    for (condition, begin, end) in waits {
        // A signal handler may notify the condition that its own thread waits on.
        let mut possible = notifies
            .get(&condition)
            .into_iter()
            .flatten()
            .filter(|&&notify| !relation.before(notify, begin) && !relation.before(end, notify));
        if let (Some(&notify), None) = (possible.next(), possible.next())
            && begin < notify
            && notify < end
        {
            forced.insert(end, notify);
        }
    }
    forced
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{
        Event, MemRange, ObjectId, ObjectInfo, ObjectKind, Op as FileOp, StackId, Tables, ThreadInfo, WaitOutcome,
    };

    #[test]
    fn what_is_passed_orders_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut edges, mut pinned) = (0, 0);
        for _ in 0..300 {
            let mut events: Vec<(u32, FileOp)> = Vec::new();
            let (mut live, mut round, mut begun) = ([false; 3], 0, 1);
            for _ in 0..random.usize(20..150) {
                let thread = random.u32(0..begun);
                let (block, at) = (random.usize(0..4), random.u64(0..3));
                let mem = MemRange {
                    addr: 0x1000 * (block as u64 + 1) + 8 * at,
                    size: 8,
                };
                let value = random.u64(0..3);
                match random.u32(0..12) {
                    0 if begun < 4 => {
                        events.push((thread, FileOp::Fork { child: ThreadId(begun) }));
                        begun += 1;
                    }
                    1 if block < 3 => {
                        let addr = 0x1000 * (block as u64 + 1);
                        events.push((
                            thread,
                            match live[block] {
                                true => FileOp::Free { addr },
                                false => FileOp::Alloc { addr, size: 0x100 },
                            },
                        ));
                        live[block] ^= true;
                    }
                    2 if begun == 4 => {
                        let barrier = ObjectId(2);
                        events.extend((0..4).map(|thread| (thread, FileOp::BarrierEnter { barrier, round })));
                        events.extend((0..4).map(|thread| {
                            (
                                thread,
                                FileOp::BarrierExit {
                                    barrier,
                                    round,
                                    attempt: false,
                                },
                            )
                        }));
                        round += 1;
                    }
                    3 | 4 if block == 3 || live[block] => events.push((thread, FileOp::Write { mem, value })),
                    _ if block == 3 || live[block] => events.push((thread, FileOp::Read { mem, value })),
                    _ => {}
                }
            }
            let trace = trace(4, &events);
            for grounds in [Grounds::Structure, Grounds::Outcomes, Grounds::Pins] {
                let (some, all) = (
                    MustHappenBefore::on(&trace, grounds),
                    MustHappenBefore::walked(&trace, grounds, trace.events()),
                );
                assert!(some.same_edges(&all));
                let threads = (0..4).map(ThreadId);
                for (event, thread) in trace
                    .events()
                    .flat_map(|event| threads.clone().map(move |thread| (event, thread)))
                {
                    assert_eq!(some.count(event, thread), all.count(event, thread));
                }
                let again = some.clone().extended(&trace, Vec::new(), [], &mut |_, _, _| {});
                assert!(again.same_edges(&all));
                edges += all.edges().len();
            }
            pinned += trace.pinned().count();
            assert!(trace.pinned().all(|event| trace.pin(event).is_some()));
        }
        assert!(edges > 5000 && pinned > 1000, "{edges} {pinned}");
    }

    fn trace(threads: usize, events: &[(u32, FileOp)]) -> Trace {
        let object = |kind| ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            threads: vec![ThreadInfo::default(); threads],
            objects: vec![
                object(ObjectKind::Mutex),
                object(ObjectKind::Condition),
                object(ObjectKind::Barrier),
            ],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, FileOp)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>())
    }

    fn write(addr: u64) -> FileOp {
        FileOp::Write {
            mem: MemRange { addr, size: 4 },
            value: 1,
        }
    }

    const LOCK: ObjectId = ObjectId(0);
    const CONDITION: ObjectId = ObjectId(1);

    #[test]
    fn a_chain_names_the_edges_between_threads() {
        let trace = trace(
            2,
            &[
                (0, write(0x10)),
                (0, FileOp::Fork { child: ThreadId(1) }),
                (0, write(0x10)),
                (1, FileOp::Begin),
                (1, write(0x10)),
                (1, FileOp::End),
                (
                    0,
                    FileOp::Join {
                        child: ThreadId(1),
                        attempt: false,
                    },
                ),
                (0, write(0x10)),
            ],
        );
        let order = MustHappenBefore::of(&trace);
        assert_eq!(order.chain(&trace, EventId(0), EventId(4)), [0, 1, 3, 4].map(EventId));
        assert_eq!(order.chain(&trace, EventId(4), EventId(7)), [4, 5, 6, 7].map(EventId));
        assert!(order.concurrent(EventId(2), EventId(4)));
        assert!(order.chain(&trace, EventId(2), EventId(4)).is_empty());
    }

    /// Two threads; the second waits, the first notifies `notifies` times.
    fn waiting(notifies: usize) -> Trace {
        waiting_until(notifies, WaitOutcome::Notified)
    }

    fn waiting_until(notifies: usize, outcome: WaitOutcome) -> Trace {
        let (condition, lock) = (CONDITION, LOCK);
        let mut events = vec![
            (1, FileOp::Acquire { lock, attempt: false }),
            (1, FileOp::WaitBegin { condition, lock }),
        ];
        events.extend((0..notifies).map(|_| (0, FileOp::Notify { condition })));
        events.push((
            1,
            FileOp::WaitEnd {
                condition,
                lock,
                outcome,
                attempt: false,
            },
        ));
        trace(2, &events)
    }

    #[test]
    fn the_only_notify_comes_before_the_end_of_the_wait_but_not_after_its_beginning() {
        let trace = waiting(1);
        let order = MustHappenBefore::of(&trace);
        assert!(order.before(EventId(2), EventId(3)));
        assert!(!order.before(EventId(1), EventId(2)));
    }

    #[test]
    fn a_wait_that_timed_out_needs_no_notify() {
        let trace = waiting_until(1, WaitOutcome::TimedOut);
        assert!(!MustHappenBefore::of(&trace).before(EventId(2), EventId(3)));
    }

    #[test]
    fn of_two_notifies_neither_is_forced() {
        let trace = waiting(2);
        let order = MustHappenBefore::of(&trace);
        assert!(!order.before(EventId(2), EventId(4)));
        assert!(!order.before(EventId(3), EventId(4)));
    }
}
