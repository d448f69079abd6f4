//! Candidates of deadlocks: cycles of operations, each of which waits for a lock that the next one's thread holds then,
//! or for the end of that thread.
//!
//! As in lock graphs (Havelund, SPIN 2000), operations that do not differ in thread, position, what they wait for and
//! what their thread holds are one node (Tunç et al., PLDI 2023, call these abstract events), and two threads that hold
//! one lock exclude each other. Cycles with a chord are left out: where all of their operations wait, those of a
//! shorter cycle do.

use super::Scope;
use crate::semantics::blocking::Wait;
use crate::trace::{CodePosition, EventId, ObjectId, Op, Section, SectionId, Sections, ThreadId, Trace};
use columns::Excerpt;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Steps of the search for cycles before it is given up.
const MAX_STEPS: u32 = 2_000_000;

/// The operations of a thread that wait at one position for the same, while the thread holds the same locks.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The thread.
    pub thread: ThreadId,
    /// Where in the code.
    pub position: CodePosition,
    /// What they wait for.
    pub wait: Wait,
    /// The other locks that the thread holds then, and whether as a reader; by lock.
    pub held: Vec<(ObjectId, bool)>,
    /// The operations, in the order of π.
    pub events: Vec<EventId>,
}

impl Waiting {
    /// Whether its thread keeps another's operations waiting while it waits itself.
    fn blocks(&self, other: &Waiting) -> bool {
        let holds = || {
            self.held
                .iter()
                .any(|&(lock, shared)| other.wait.is_for_holder(lock, shared))
        };
        self.thread != other.thread && (other.wait == Wait::End(self.thread) || holds())
    }

    /// A lock by which the two threads cannot be there at once: both hold it, and not both as readers.
    #[must_use]
    pub fn common_lock(&self, other: &Waiting) -> Option<ObjectId> {
        let holds = |&&(lock, shared): &&(ObjectId, bool)| {
            let theirs = other.held.binary_search_by_key(&lock, |&(held, _)| held);
            theirs.is_ok_and(|at| !(shared && other.held[at].1))
        };
        self.held.iter().find(holds).map(|&(lock, _)| lock)
    }
}

/// A cycle of positions.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// The positions, each of which waits for the next one; begins with the smallest.
    pub positions: Vec<CodePosition>,
    /// The cycles of [`Waiting`] at these positions, by their numbers, in that order.
    pub instances: Vec<Vec<u32>>,
}

/// All cycles of a trace.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    /// The nodes.
    pub waiting: Vec<Waiting>,
    /// The cycles, by the operation that comes first in the trace.
    pub list: Vec<Cycle>,
    /// Whether there may be more.
    pub incomplete: bool,
}

impl Cycles {
    /// Finds all, or those that are in scope. In a scope are also cycles whose threads hold a common lock, and such
    /// with a chord: who asks about them is owed the reason.
    #[must_use]
    pub fn within(trace: &Trace, sections: &Sections, scope: Option<&Scope>) -> Cycles {
        let waiting = waiting(trace, sections, scope);
        let mut search = Search::new(&waiting, scope);
        for root in 0..waiting.len() as u32 {
            search.path.push(root);
            search.extend();
            search.path.pop();
        }
        let incomplete = search.steps == 0;
        let mut by_positions: BTreeMap<Vec<CodePosition>, Vec<Vec<u32>>> = BTreeMap::new();
        let asked = |positions: &[CodePosition]| {
            scope.is_none_or(|scope| scope.cycles.iter().any(|asked| asked.has(positions)))
        };
        for mut cycle in std::mem::take(&mut search.found) {
            let rotated = |by: usize| cycle[by..].iter().chain(&cycle[..by]);
            let positions = |by: usize| rotated(by).map(|&node| waiting[node as usize].position);
            let least = (0..cycle.len()).min_by(|&a, &b| positions(a).cmp(positions(b)));
            cycle.rotate_left(least.unwrap_or(0));
            let positions: Vec<CodePosition> = cycle.iter().map(|&node| waiting[node as usize].position).collect();
            if asked(&positions) {
                by_positions.entry(positions).or_default().push(cycle);
            }
        }
        let cycles = by_positions.into_iter();
        let mut list: Vec<Cycle> = cycles
            .map(|(positions, instances)| Cycle { positions, instances })
            .collect();
        let first = |cycle: &Cycle| {
            let nodes = cycle.instances.iter().flatten();
            nodes
                .filter_map(|&node| waiting[node as usize].events.first())
                .min()
                .copied()
        };
        list.sort_by_key(first);
        Cycles {
            waiting,
            list,
            incomplete,
        }
    }
}

/// What operations that are one have in common: as the fields of [`Waiting`].
type Node = (ThreadId, CodePosition, Wait, Vec<(ObjectId, bool)>);

/// What waits in a trace, as far as it can be part of a cycle.
fn waiting(trace: &Trace, sections: &Sections, scope: Option<&Scope>) -> Vec<Waiting> {
    let sorted = |held: Excerpt<'_, SectionId>| {
        let mut held: Vec<(ObjectId, bool)> = held
            .map(|id| (sections.get(id).lock, sections.get(id).shared))
            .collect();
        held.sort_unstable();
        held
    };
    let position = |event: EventId| match scope {
        Some(scope) => scope.positions.get(&event).copied(),
        None => Some(trace.pc(event)),
    };
    if !may_go_round(trace, sections) {
        return Vec::new();
    }
    // All that wait, but for one level more of what their thread holds already, which is to be had.
    let waiting = trace.operations_with(|op| Wait::is_known(op).then_some(()));
    let waiting = waiting.filter_map(|(event, ())| {
        let wait = Wait::of(trace, sections, event)?;
        let held = sections.open_after(trace.thread(event), trace.place(event));
        let own = |id: SectionId| matches!(wait, Wait::Lock { lock, .. } if lock == sections.lock(id));
        (!held.clone().any(own)).then_some((event, wait, held))
    });
    let (mut joins, mut circles) = (Vec::new(), Circles::default());
    for (event, wait, held) in waiting.clone() {
        for kept in kept(trace, sections, (event, held.clone())) {
            circles.add(kept, Awaited::by(wait));
        }
        if let Wait::End(child) = wait
            && position(event).is_some()
        {
            joins.push((trace.thread(event), child, !held.is_empty()));
        }
    }
    circles.find();
    if circles.is_empty() {
        return Vec::new();
    }
    // A thread that holds nothing is waited for only where it is joined, by one that is waited for itself.
    let mut joined = vec![false; trace.threads()];
    loop {
        let mut more = false;
        for &(thread, child, holds) in &joins {
            if holds || joined[thread.index()] {
                more |= !std::mem::replace(&mut joined[child.index()], true);
            }
        }
        if !more {
            break;
        }
    }
    let mut nodes: HashMap<Node, Vec<EventId>> = HashMap::new();
    for (event, wait, held) in waiting {
        let thread = trace.thread(event);
        let is_one = circles.has(kept(trace, sections, (event, held.clone())), Awaited::by(wait));
        if is_one
            && (!held.is_empty() || joined[thread.index()])
            && let Some(position) = position(event)
        {
            let key = (thread, position, wait, sorted(held));
            nodes.entry(key).or_default().push(event);
        }
    }
    let nodes = nodes
        .into_iter()
        .map(|((thread, position, wait, held), events)| Waiting {
            thread,
            position,
            wait,
            held,
            events,
        });
    let mut nodes: Vec<Waiting> = nodes.collect();
    nodes.sort_unstable_by_key(|node| node.events[0]);
    nodes
}

/// Whether operations that wait, or would wait if they did not give up, lie on a circle. In most programs none does, and
/// a walk over the sections says so, without a look at the operations that open them.
fn may_go_round(trace: &Trace, sections: &Sections) -> bool {
    let mut circles = Circles::default();
    // By thread: the sections that it is in.
    let mut open: Vec<Vec<Section>> = vec![Vec::new(); trace.threads()];
    for section in sections.all() {
        let open = &mut open[section.thread.index()];
        open.retain(|outer| outer.release.is_none_or(|release| Some(release) > section.acquire));
        let locks = open.iter().map(|outer| Awaited::Lock(outer.lock));
        for kept in locks.chain([Awaited::End(section.thread)]) {
            circles.add(kept, Awaited::Lock(section.lock));
        }
        open.push(section);
    }
    let joins = trace.operations_with(|op| match op {
        Op::Join { child } => Some(child),
        _ => None,
    });
    for (event, child) in joins {
        let held = sections.open_after(trace.thread(event), trace.place(event));
        for kept in kept(trace, sections, (event, held)) {
            circles.add(kept, Awaited::End(child));
        }
    }
    circles.find();
    !circles.is_empty()
}

/// What a thread keeps from others while it waits, in these sections.
fn kept<'s>(
    trace: &Trace,
    sections: &'s Sections,
    (event, held): (EventId, Excerpt<'s, SectionId>),
) -> impl Iterator<Item = Awaited> + 's {
    let locks = held.map(|id| Awaited::Lock(sections.lock(id)));
    locks.chain([Awaited::End(trace.thread(event))])
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    Lock(ObjectId),
    End(ThreadId),
}

impl Awaited {
    fn number(self) -> u32 {
        match self {
            Awaited::Lock(lock) => lock.0,
            Awaited::End(thread) => !thread.0,
        }
    }

    fn by(wait: Wait) -> Awaited {
        match wait {
            Wait::Lock { lock, .. } => Awaited::Lock(lock),
            Wait::End(thread) => Awaited::End(thread),
        }
    }
}

/// Which locks, and ends of threads, lie on circles of such: from what a waiting thread keeps from others to what it
/// waits for. A cycle of operations goes along one of them, and in most programs none is there. So the operations of the
/// others need not be told apart.
#[derive(Default)]
struct Circles {
    numbers: HashMap<Awaited, u32>,
    known: HashSet<(Awaited, Awaited)>,
    /// The last of them in places that such edges share: nearly all are one of a few.
    recent: Vec<Option<(Awaited, Awaited)>>,
    /// The edges of each, and those to it.
    to: Vec<Vec<u32>>,
    from: Vec<Vec<u32>>,
    /// The strongly connected component of each, if that is more than itself.
    component: Vec<Option<u32>>,
}

impl Circles {
    /// Adds that who waits for `to` keeps others waiting for `from`.
    fn add(&mut self, from: Awaited, to: Awaited) {
        let recent = (from.number().wrapping_mul(31).wrapping_add(to.number()) & 0xff) as usize;
        self.recent.resize(0x100, None);
        if self.recent[recent].replace((from, to)) == Some((from, to)) {
            return;
        }
        if self.known.insert((from, to)) {
            let [from, to] = [from, to].map(|awaited| {
                let next = self.numbers.len() as u32;
                *self.numbers.entry(awaited).or_insert(next)
            });
            self.to.resize(self.numbers.len(), Vec::new());
            self.from.resize(self.numbers.len(), Vec::new());
            self.to[from as usize].push(to);
            self.from[to as usize].push(from);
        }
    }

    /// Finds the components, once all is added: Kosaraju's algorithm.
    fn find(&mut self) {
        let mut done = vec![false; self.to.len()];
        let mut left = Vec::new();
        for root in 0..self.to.len() as u32 {
            walk(&self.to, root, &mut done, &mut |node| left.push(node));
        }
        done.fill(false);
        self.component = vec![None; self.to.len()];
        let mut component = Vec::new();
        for (number, &root) in (0..).zip(left.iter().rev()) {
            walk(&self.from, root, &mut done, &mut |node| component.push(node));
            if component.len() > 1 || self.to[root as usize].contains(&root) {
                for node in &component {
                    self.component[*node as usize] = Some(number);
                }
            }
            component.clear();
        }
    }

    fn is_empty(&self) -> bool {
        self.component.iter().all(Option::is_none)
    }

    /// Whether a way from any of these to something is a part of a circle.
    fn has(&self, mut from: impl Iterator<Item = Awaited>, to: Awaited) -> bool {
        let of = |awaited: Awaited| self.component[*self.numbers.get(&awaited)? as usize];
        let component = of(to);
        component.is_some() && from.any(|from| of(from) == component)
    }
}

/// Goes to all nodes that are not done yet and can be reached, and calls `left` with each when those behind it are done.
fn walk(edges: &[Vec<u32>], root: u32, done: &mut [bool], left: &mut dyn FnMut(u32)) {
    if std::mem::replace(&mut done[root as usize], true) {
        return;
    }
    let mut path = vec![(root, 0)];
    while let Some((node, next)) = path.last_mut() {
        match edges[*node as usize].get(*next) {
            Some(&child) => {
                *next += 1;
                if !std::mem::replace(&mut done[child as usize], true) {
                    path.push((child, 0));
                }
            }
            None => {
                left(*node);
                path.pop();
            }
        }
    }
}

/// The most operations of a cycle that somebody asks about: if it may be a deadlock, and if it cannot.
fn longest(scope: &Scope) -> (usize, usize) {
    let lengths = scope.cycles.iter().map(|asked| match asked.0.len() {
        // Of the many that one operation is part of, those that cannot be one are told only if they are short.
        1 => (usize::MAX, 2),
        length => (length, length),
    });
    lengths.fold((0, 0), |(a, b), (c, d)| (a.max(c), b.max(d)))
}

struct Search<'w> {
    waiting: &'w [Waiting],
    /// Those whose thread holds a lock, and those of each thread.
    holding: HashMap<ObjectId, Vec<u32>>,
    of_thread: HashMap<ThreadId, Vec<u32>>,
    /// Each waits for the next one.
    path: Vec<u32>,
    /// How many of the path have a lock or a chord with one before, so that no cycle that has them is a deadlock of its
    /// own.
    loose: usize,
    /// The most operations of a cycle without such, and with.
    longest: (usize, usize),
    found: Vec<Vec<u32>>,
    /// Those left.
    steps: u32,
}

impl<'w> Search<'w> {
    fn new(waiting: &'w [Waiting], scope: Option<&Scope>) -> Search<'w> {
        let mut holding: HashMap<ObjectId, Vec<u32>> = HashMap::new();
        let mut of_thread: HashMap<ThreadId, Vec<u32>> = HashMap::new();
        for (number, node) in (0..).zip(waiting) {
            for &(lock, _) in &node.held {
                holding.entry(lock).or_default().push(number);
            }
            of_thread.entry(node.thread).or_default().push(number);
        }
        Search {
            waiting,
            holding,
            of_thread,
            path: Vec::new(),
            loose: 0,
            longest: scope.map_or((usize::MAX, 0), longest),
            found: Vec::new(),
            steps: MAX_STEPS,
        }
    }

    /// Goes on from the last node of the path, to all cycles in which the first one is that of the thread with the
    /// lowest number.
    fn extend(&mut self) {
        let (Some(&root), Some(&last)) = (self.path.first(), self.path.last()) else {
            return;
        };
        let node = |number: u32| &self.waiting[number as usize];
        let next = match node(last).wait {
            Wait::Lock { lock, .. } => self.holding.get(&lock),
            Wait::End(child) => self.of_thread.get(&child),
        };
        for next in next.cloned().unwrap_or_default() {
            let Some(left) = self.steps.checked_sub(1).filter(|&left| left > 0) else {
                self.steps = 0;
                return;
            };
            self.steps = left;
            let new = &self.waiting[next as usize];
            let (before, last) = (&self.path[..self.path.len() - 1], &self.waiting[last as usize]);
            let of = |number: &u32| &self.waiting[*number as usize];
            let is_strict = {
                self.path.iter().all(|other| of(other).common_lock(new).is_none())
                    // No chord: it blocks nobody else, and nobody but the first blocks it.
                    && before.iter().all(|other| !new.blocks(of(other)))
                    && self.path[1..].iter().all(|other| !of(other).blocks(new))
            };
            let longest = match is_strict && self.loose == 0 {
                true => self.longest.0,
                false => self.longest.1,
            };
            let fits = new.thread > self.waiting[root as usize].thread
                && new.blocks(last)
                && self.path.iter().all(|other| of(other).thread != new.thread)
                && self.path.len() < longest;
            if !fits {
                continue;
            }
            let closes = self.waiting[root as usize].blocks(new);
            self.path.push(next);
            // Behind a cycle, that the first blocks the last one is a chord.
            let loose = usize::from(!is_strict || closes);
            self.loose += loose;
            if closes {
                self.found.push(self.path.clone());
            }
            if !closes || self.longest.1 > 0 {
                self.extend();
            }
            self.loose -= loose;
            self.path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_circles_reaches_itself() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut on_circles, mut off_them) = (0, 0);
        for _ in 0..500 {
            let all: Vec<Awaited> = (0..4)
                .flat_map(|number| [Awaited::Lock(ObjectId(number)), Awaited::End(ThreadId(number))])
                .collect();
            let mut circles = Circles::default();
            let mut reached = vec![vec![false; all.len()]; all.len()];
            for _ in 0..random.usize(0..14) {
                let (from, to) = (random.usize(0..all.len()), random.usize(0..all.len()));
                circles.add(all[from], all[to]);
                reached[from][to] = true;
            }
            for by in 0..all.len() {
                for from in 0..all.len() {
                    for to in 0..all.len() {
                        reached[from][to] |= reached[from][by] && reached[by][to];
                    }
                }
            }
            circles.find();
            for from in 0..all.len() {
                for to in 0..all.len() {
                    let known = reached[from][to] && reached[to][from];
                    assert_eq!(circles.has([all[from]].into_iter(), all[to]), known);
                    *if known { &mut on_circles } else { &mut off_them } += 1;
                }
            }
            assert_eq!(circles.is_empty(), (0..all.len()).all(|one| !reached[one][one]));
        }
        assert!(on_circles > 100 && off_them > 100);
    }
}
