//! Conflicting pairs: which pairs of code positions may race, and which of their dynamic
//! instances are worth asking the solver about.
//!
//! Two accesses conflict if they share a cell, come from different threads, at least one writes
//! and not both are atomic. A trace can have billions of such pairs of events, so they are never
//! enumerated one by one: the accesses of a cell are grouped by thread, code position, kind and
//! lock context; whole groups fall to their lock contexts, and within a group the events that are
//! ordered by must-happen-before are a prefix and a suffix, found by searching.
//!
//! What this drops has no witness (see [`crate::prune`]); what it keeps is counted exactly, per cell.

use crate::prune::{LockContextId, LockContexts, MustHappenBefore, history_clash};
use crate::trace::{CodePosition, EventId, ThreadId, Trace};
use crate::verdict::Instances;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A pair of code positions with conflicting accesses.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The two positions, the smaller first.
    pub positions: (CodePosition, CodePosition),
    /// Instances that no pruner refuted, the most promising first; at most as many as asked for.
    pub instances: Vec<(EventId, EventId)>,
    /// Whether `instances` are all that are left.
    pub complete: bool,
    /// How the instances fell so far.
    pub counts: Instances,
    /// The first instance that must-happen-before refuted.
    pub ordered: Option<(EventId, EventId)>,
    /// The first instance that locks refuted.
    pub locked: Option<(EventId, EventId)>,
    /// The earliest conflicting instance, whatever became of it.
    pub first: (EventId, EventId),
}

/// All candidates of a trace, ordered by their earliest instance.
///
/// `limit` bounds the instances kept per candidate; `None` keeps all.
#[must_use]
pub fn candidates(
    trace: &Trace,
    order: &MustHappenBefore,
    contexts: &LockContexts,
    limit: Option<usize>,
) -> Vec<Candidate> {
    let mut finder = Finder {
        trace,
        order,
        contexts,
        limit,
        clashes: HashMap::new(),
        found: Vec::new(),
        numbers: HashMap::new(),
    };
    for groups in groups_by_cell(trace, contexts) {
        for (at, first) in groups.iter().enumerate() {
            for second in &groups[at + 1..] {
                finder.pair(first, second);
            }
        }
    }
    let mut all: Vec<Candidate> = finder
        .found
        .into_iter()
        .map(|collected| collected.finish(limit))
        .collect();
    all.sort_by_key(|candidate| (candidate.first, candidate.positions));
    all
}

/// Accesses of one cell that are alike in all that pruning looks at, in program order.
struct Group {
    thread: ThreadId,
    pc: CodePosition,
    writes: bool,
    atomic: bool,
    context: LockContextId,
    events: Vec<EventId>,
}

/// The groups of each cell that more than one thread accesses and somebody writes.
fn groups_by_cell(trace: &Trace, contexts: &LockContexts) -> impl Iterator<Item = Vec<Group>> + use<> {
    type Key = (ThreadId, CodePosition, bool, bool, LockContextId);
    let mut cells: Vec<BTreeMap<Key, Vec<EventId>>> = vec![BTreeMap::new(); trace.cells().len()];
    for (number, access) in trace.accesses().iter().enumerate() {
        let event = access.event;
        let context = contexts.of_access(crate::trace::AccessId(number as u32));
        let key = (
            trace.thread(event),
            trace.pc(event),
            access.kind.writes(),
            access.kind.is_atomic(),
            context,
        );
        for used in trace.uses(access) {
            cells[used.cell.index()].entry(key).or_default().push(event);
        }
    }
    cells.into_iter().filter_map(|groups| {
        let first = groups.keys().next()?.0;
        let shared = groups.keys().any(|key| key.0 != first) && groups.keys().any(|key| key.2);
        shared.then(|| {
            groups
                .into_iter()
                .map(|((thread, pc, writes, atomic, context), events)| Group {
                    thread,
                    pc,
                    writes,
                    atomic,
                    context,
                    events,
                })
                .collect()
        })
    })
}

/// What two lock contexts say about each other.
#[derive(Clone, Copy, PartialEq)]
enum Clash {
    None,
    Locks,
}

struct Finder<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    contexts: &'t LockContexts,
    limit: Option<usize>,
    clashes: HashMap<(LockContextId, LockContextId), Clash>,
    found: Vec<Collected>,
    numbers: HashMap<(CodePosition, CodePosition), usize>,
}

impl Finder<'_> {
    fn pair(&mut self, a: &Group, b: &Group) {
        if a.thread == b.thread || !(a.writes || b.writes) || (a.atomic && b.atomic) {
            return;
        }
        let positions = (a.pc.min(b.pc), a.pc.max(b.pc));
        let number = *self.numbers.entry(positions).or_insert_with(|| {
            self.found.push(Collected::new(positions));
            self.found.len() - 1
        });
        let clash = self.clash(a.context, b.context);
        let collected = &mut self.found[number];
        let total = a.events.len() as u64 * b.events.len() as u64;
        collected.counts.total += total;
        collected.see_first((a.events[0], b.events[0]));
        if clash == Clash::Locks {
            collected.counts.locked += total;
            first_of(&mut collected.locked, (a.events[0], b.events[0]));
            return;
        }
        let class = (a.thread, b.thread, a.context, b.context);
        let (mut low, mut high) = (0, 0);
        for &event in &a.events {
            // Both bounds only move forward as `event` does.
            while low < b.events.len() && self.order.before(b.events[low], event) {
                low += 1;
            }
            high = high.max(low);
            while high < b.events.len() && !self.order.before(event, b.events[high]) {
                high += 1;
            }
            let concurrent = &b.events[low..high];
            collected.counts.ordered += (b.events.len() - concurrent.len()) as u64;
            if low > 0 {
                first_of(&mut collected.ordered, (event, b.events[0]));
            } else if high < b.events.len() {
                first_of(&mut collected.ordered, (event, b.events[high]));
            }
            collected.keep(self.trace, class, event, concurrent, self.limit);
        }
    }

    fn clash(&mut self, a: LockContextId, b: LockContextId) -> Clash {
        *self.clashes.entry((a, b)).or_insert_with(|| {
            let (a, b) = (self.contexts.get(a), self.contexts.get(b));
            if a.common_lock(b).is_some() || history_clash(a, b).is_some() {
                Clash::Locks
            } else {
                Clash::None
            }
        })
    }
}

/// Threads and lock contexts of the two sides: instances of one class are much alike.
type Class = (ThreadId, ThreadId, LockContextId, LockContextId);

/// A candidate while it is put together.
struct Collected {
    positions: (CodePosition, CodePosition),
    counts: Instances,
    ordered: Option<(EventId, EventId)>,
    locked: Option<(EventId, EventId)>,
    first: Option<(EventId, EventId)>,
    /// Instances kept per class, by distance in π.
    kept: BTreeMap<Class, BTreeSet<(u32, EventId, EventId)>>,
    /// Whether some instance was passed over.
    dropped: bool,
}

impl Collected {
    fn new(positions: (CodePosition, CodePosition)) -> Collected {
        Collected {
            positions,
            counts: Instances::default(),
            ordered: None,
            locked: None,
            first: None,
            kept: BTreeMap::new(),
            dropped: false,
        }
    }

    fn see_first(&mut self, pair: (EventId, EventId)) {
        first_of(&mut self.first, pair);
    }

    /// Keeps the instances of `event` with the events nearest to it in π: the nearer, the less has
    /// to be reordered to bring the two together.
    fn keep(&mut self, trace: &Trace, class: Class, event: EventId, others: &[EventId], limit: Option<usize>) {
        if others.is_empty() {
            return;
        }
        let kept = self.kept.entry(class).or_default();
        let (mut below, mut above) = (others.partition_point(|&other| other < event), 0);
        let later = others.len() - below;
        // Outward from `event`, until what comes is farther away than all that is kept.
        while below > 0 || above < later {
            let earlier = below.checked_sub(1).map(|at| others[at]);
            let after = others.get(others.len() - later + above).copied();
            let other = match (earlier, after) {
                (Some(earlier), Some(after)) if event.0 - earlier.0 > after.0 - event.0 => after,
                (Some(earlier), _) => earlier,
                (None, Some(after)) => after,
                (None, None) => break,
            };
            debug_assert!(trace.conflict(event, other).is_some());
            let (a, b) = (event.min(other), event.max(other));
            let instance = (b.0 - a.0, a, b);
            let full = limit.is_some_and(|limit| kept.len() >= limit);
            if full && kept.last().is_none_or(|last| instance > *last) {
                self.dropped = true;
                break;
            }
            // An instance that shares several cells comes by once for each.
            if kept.insert(instance) && full {
                kept.pop_last();
                self.dropped = true;
            }
            if other < event { below -= 1 } else { above += 1 }
        }
    }

    /// Takes the nearest instances of each class in turn, so that what is tried differs.
    fn finish(self, limit: Option<usize>) -> Candidate {
        let available: usize = self.kept.values().map(BTreeSet::len).sum();
        let wanted = limit.unwrap_or(available).min(available);
        let mut queues: Vec<_> = self.kept.into_values().map(BTreeSet::into_iter).collect();
        let mut instances = Vec::with_capacity(wanted);
        while instances.len() < wanted {
            let mut round: Vec<_> = queues.iter_mut().filter_map(Iterator::next).collect();
            round.sort_unstable();
            instances.extend(round.into_iter().map(|(_, a, b)| (a, b)).take(wanted - instances.len()));
        }
        Candidate {
            positions: self.positions,
            complete: !self.dropped && instances.len() == available,
            instances,
            counts: self.counts,
            ordered: self.ordered,
            locked: self.locked,
            first: self.first.expect("a candidate is made by its first conflict"),
        }
    }
}

/// Replaces `slot` by `pair`, its earlier event first, if that comes earlier.
fn first_of(slot: &mut Option<(EventId, EventId)>, (a, b): (EventId, EventId)) {
    let pair = (a.min(b), a.max(b));
    if slot.is_none_or(|old| pair < old) {
        *slot = Some(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Shape};
    use crate::trace::Sections;
    use trace_format::{Event, StackId, Tables};

    fn trace(seed: u64) -> Trace {
        let shape = Shape {
            events: 300,
            threads: 4,
            variables: 5,
            locks: 3,
            unprotected: 0.3,
            values: 3,
            seed,
        };
        let generator = Generator::new(shape);
        let tables = Tables {
            threads: generator.threads(),
            objects: generator.objects(),
            ..Tables::default()
        };
        let events: Vec<Event> = generator
            .map(|(thread, pc, op)| Event {
                thread,
                pc,
                stack: StackId::EMPTY,
                op,
            })
            .collect();
        Trace::from_events(tables, &events)
    }

    /// Counting groups gives what looking at every pair of events gives.
    #[test]
    fn counts_are_those_of_all_pairs() {
        for seed in 0..10 {
            let trace = trace(seed);
            let order = MustHappenBefore::of(&trace);
            let contexts = LockContexts::of(&trace, &Sections::of(&trace));
            let mut expected: BTreeMap<(CodePosition, CodePosition), Instances> = BTreeMap::new();
            let context = |event: EventId| match trace.op(event) {
                crate::trace::Op::Access(access) => contexts.get(contexts.of_access(access)),
                _ => unreachable!("only accesses conflict"),
            };
            for a in trace.events() {
                for b in trace.events().filter(|&b| a < b && trace.conflict(a, b).is_some()) {
                    let key = (trace.pc(a).min(trace.pc(b)), trace.pc(a).max(trace.pc(b)));
                    let counts = expected.entry(key).or_default();
                    counts.total += 1;
                    if context(a).common_lock(context(b)).is_some() || history_clash(context(a), context(b)).is_some() {
                        counts.locked += 1;
                    } else if !order.concurrent(a, b) {
                        counts.ordered += 1;
                    }
                }
            }
            let all = candidates(&trace, &order, &contexts, None);
            assert_eq!(all.len(), expected.len());
            for candidate in &all {
                let counts = expected[&candidate.positions];
                assert_eq!(candidate.counts, counts, "{:?}", candidate.positions);
                assert!(candidate.complete);
                let left = counts.total - counts.locked - counts.ordered;
                assert_eq!(candidate.instances.len() as u64, left);
            }
            for candidate in candidates(&trace, &order, &contexts, Some(2)) {
                let counts = expected[&candidate.positions];
                let left = counts.total - counts.locked - counts.ordered;
                assert_eq!(candidate.instances.len() as u64, left.min(2));
                assert_eq!(candidate.complete, left <= 2, "{:?}", candidate.positions);
            }
        }
    }
}
