//! What is said of a candidate that no feasible prefix shows: refuted, not in this trace, or unknown for the sake of
//! code that was not recorded (`docs/SEMANTICS.md`, section 4).
//!
//! Its instances are visited again on weaker grounds. If the operations alone exclude all of them, the pair is refuted.
//! If what this run made of them does, without any pinned access, the pair is not in this trace. Else some pinned
//! access takes part, and nothing is known.
//!
//! Errs on the side of the weaker word: the arguments tried on weaker grounds are the pruners' and our own solver's, Z3
//! is not asked again.

use super::decider::Decider;
use super::{Instance, MAX_EVENTS_Z3, case};
use crate::candidates::PairSites;
use crate::encode::Form;
use crate::prune::{Ending, Grounds, LockContexts, MustHappenBefore, Needs, Semaphores};
use crate::semantics::onces::Initializers;
use crate::semantics::{Before, Need, semaphores};
use crate::solve::{Native, Refuted, Steps};
use crate::trace::{EventId, Op, ThreadId, Trace};
use crate::verdict::{CutRefutation, Fact, Kind, Refutation, Unknown, Verdict};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};

/// Pinned accesses are searched for among so many events before a race.
const SEARCHED_FOR_PIN: usize = 100_000;

/// How many times as many instances as elsewhere our own solver is asked about where pinned accesses are free: none of
/// them is tried, only refuted, which is cheap.
const MORE_UNPINNED: u32 = 32;

/// Events between two accesses, from which on those around both are asked about together first: nearer ones take few
/// steps each.
const FAR: u32 = 1 << 17;

/// So many events of π, one after the other, are neighbors.
const NEIGHBORS: u32 = 256;

/// Instances of a pair of which nothing is known before our own solver is asked, above which it is not.
pub(super) const MAX_UNPINNED: usize = 100_000;

/// What holds in every run with these operations.
pub(super) struct Structure {
    /// `None` if it is all of must-happen-before.
    order: Option<MustHappenBefore>,
    /// `None` if all locks are objects.
    contexts: Option<LockContexts>,
    /// `None` if all posts and waits count.
    semaphores: Option<Arc<Semaphores>>,
    initializers: Initializers,
}

/// What is known of a trace with pinned accesses if they are not pinned.
pub(super) struct Unpinned<'t> {
    pub order: &'t MustHappenBefore,
    pub needs: &'t Needs<'t>,
    pub native: Native<'t>,
    pub around: Around,
}

/// Where an ending's first and last event lie: their threads, and among which neighbors.
type Stretches = (ThreadId, u32, ThreadId, u32);

/// What our own solver says of the questions that lie around others, by where these are, and how many steps that took.
pub(super) type Around = Mutex<HashMap<Stretches, Arc<OnceLock<(Refuted, u64)>>>>;

impl Unpinned<'_> {
    /// Whether no feasible prefix has this ending if no access is pinned, as far as our own solver can tell.
    ///
    /// Where pairs of neighbors lie far apart, what decides one of them mostly lies in between, and decides the others,
    /// too. So a question that all of them imply is asked first, once; and if that takes more steps than there are, so
    /// would each of theirs. Whoever asks is charged its steps, so that nothing depends on who was first.
    pub(super) fn refutes(&self, trace: &Trace, ending: Ending<'_>, steps: &mut Steps) -> bool {
        let around = || {
            let (place, [awaited, performed]) = around(trace, ending).filter(|_| !steps.are_spent())?;
            let answer = Arc::clone(self.around.lock().ok()?.entry(place).or_default());
            let ask = || {
                let ending = Ending {
                    performed: &[performed],
                    pending: &[],
                    awaited: &[awaited],
                };
                self.native.refuted(ending)
            };
            Some(*answer.get_or_init(ask))
        };
        let (answer, work) = around().unwrap_or((Refuted::No, 0));
        steps.spend(work);
        match answer {
            Refuted::Yes => true,
            Refuted::Spent => false,
            Refuted::No => self.native.refutes_within(ending, steps),
        }
    }
}

/// Of an ending that lets a thread do nothing from some event on, and another one all up to one far behind it: where these
/// two are, and two events around them of which the same holds, for all that are there.
fn around(trace: &Trace, ending: Ending<'_>) -> Option<(Stretches, [EventId; 2])> {
    let (first, last) = (ending.events().min()?, ending.events().max()?);
    let (one, other) = (trace.thread(first), trace.thread(last));
    let is_performed = |event| ending.performed.contains(&event);
    let is_such = !is_performed(first) && (is_performed(last) || ending.pending.contains(&last));
    if last.0 - first.0 <= FAR || one == other || !is_such {
        return None;
    }
    let (from, until) = (first.0 / NEIGHBORS, last.0 / NEIGHBORS);
    let before = |thread, event: u32| {
        let last = trace.events_before(thread, EventId(event)).checked_sub(1)?;
        Some(trace.program_order(thread).at(last as usize))
    };
    let awaited = before(one, (from + 1).saturating_mul(NEIGHBORS))?;
    let performed = before(other, until * NEIGHBORS)?;
    Some(((one, from, other, until), [awaited, performed]))
}

impl Decider<'_> {
    /// What must happen before what, on these grounds.
    pub(super) fn order_on(&self, grounds: Grounds) -> &MustHappenBefore {
        match grounds {
            Grounds::Structure => self.structure().order.as_ref().unwrap_or(self.order),
            Grounds::Outcomes => self.unpinned.as_ref().map_or(self.order, |unpinned| unpinned.order),
            Grounds::Pins => self.order,
        }
    }

    fn structure(&self) -> &Structure {
        self.structure.get_or_init(|| {
            let walk = || MustHappenBefore::by_structure(self.trace);
            let (order, semaphores) = rests_on_outcomes(self.trace).then(walk).unzip();
            Structure {
                order: order.filter(|order| !order.same_edges(self.order)),
                semaphores: semaphores.map(Arc::new),
                contexts: self.contexts.without_variables(),
                initializers: Initializers::of(self.trace),
            }
        })
    }

    /// What is needed whatever reads see, and in every run with these operations.
    pub(super) fn needs_by_structure(&self) -> Needs<'_> {
        let semaphores = self.structure().semaphores.as_ref();
        self.needs.without_reads(self.order_on(Grounds::Structure), semaphores)
    }

    /// The verdict when no instance is feasible, and the instance that it speaks of. `core`: one that needed the
    /// solver's word, or the closure over unique writers; `first`: any.
    pub(super) fn excluded(&self, sites: &PairSites, core: Option<Instance>, first: Instance) -> (Instance, Verdict) {
        let find = self.options.find;
        if !find.has(Kind::Races) {
            let (example, verdict) = self
                .never_after_free(sites)
                .expect("without races, something is freed at a candidate");
            return (example, self.unless_cut(verdict));
        }
        let (example, verdict) = self.never_at_once(sites, core, first);
        if !find.has(Kind::UseAfterFree) {
            return (example, self.unless_cut(verdict));
        }
        let excluded = matches!(verdict, Verdict::Refuted(_) | Verdict::NotInTrace(_));
        let after_free = (excluded && self.options.form == Form::Prefix).then(|| self.never_after_free(sites));
        let (example, verdict) = match after_free.flatten() {
            // The weaker word of the two.
            Some((_, Verdict::Refuted(_))) if matches!(verdict, Verdict::NotInTrace(_)) => (example, verdict),
            Some(after_free) => after_free,
            None => (example, verdict),
        };
        (example, self.unless_cut(verdict))
    }

    /// The same for races alone, of a whole trace.
    fn never_at_once(&self, sites: &PairSites, core: Option<Instance>, first: Instance) -> (Instance, Verdict) {
        let order = self.order_on(Grounds::Structure);
        let contexts = self.structure().contexts.as_ref().unwrap_or(self.contexts);
        let needs = self.needs_by_structure();
        let closed = |a, b| {
            needs.exclude(&[a, b])
                || self
                    .structure()
                    .initializers
                    .order(self.trace, |a, b| order.before(a, b), a, b)
        };
        let (mut open, mut by_closure) = (None, None);
        let visited = self.candidates.visit_on((order, contexts, &needs), sites, &mut |a, b| {
            if closed(a, b) {
                by_closure.get_or_insert((a, b));
                return ControlFlow::Continue(());
            }
            open = Some((a, b));
            ControlFlow::Break(())
        });
        let Some(open) = open else {
            let (instance, refutation) = if let Some((a, b)) = by_closure {
                let refutation = if self.order.concurrent(a, b) {
                    // The facts come at the very end, and for so many only.
                    Refutation::Core(Vec::new())
                } else {
                    chain(self.trace, self.order, (a, b))
                };
                ((a, b), refutation)
            } else if let Some((a, b)) = visited.first_locked {
                ((a, b), self.lock_refutation(contexts, a, b))
            } else {
                let instance = visited.first_ordered.unwrap_or(first);
                (instance, chain(self.trace, order, instance))
            };
            return (instance, Verdict::Refuted(refutation));
        };
        let clash = |(a, b): Instance| contexts.clash(contexts.of_access(a), contexts.of_access(b));
        let is_open = |&(a, b): &Instance| order.concurrent(a, b) && !clash((a, b)) && !closed(a, b);
        let shown = core.filter(is_open).unwrap_or(open);
        if let Some(pinned) = self.needs_pins(sites) {
            let access = self.pinned_between(pinned);
            return (pinned, Verdict::Unknown(Unknown::Unrecorded(access)));
        }
        let order = self.order_on(Grounds::Outcomes);
        let needs = self.unpinned.as_ref().map_or(self.needs, |unpinned| unpinned.needs);
        let atomic = self.contexts.both_hold(self.trace, shown.0, shown.1);
        let why = match atomic.or_else(|| needs.both_hold(shown.0, shown.1)) {
            _ if !order.concurrent(shown.0, shown.1) => chain(self.trace, order, shown),
            Some(taken) => Refutation::VariableLock { taken },
            None => Refutation::Core(Vec::new()),
        };
        (shown, Verdict::NotInTrace(why))
    }

    /// How many instances our own solver is asked about on weaker grounds.
    pub(super) fn limit_unpinned(&self) -> u32 {
        let instances = self.options.instances.unwrap_or(u32::MAX);
        instances.saturating_mul(MORE_UNPINNED)
    }

    /// The steps that our own solver has for one pair on weaker grounds, before they become scarce: where hundreds of
    /// threads count in one word, a question may take a second.
    pub(super) fn steps_unpinned(&self) -> Steps {
        Steps::of_batch(self.candidates.list.len() as u32)
    }

    /// An instance that nothing is known to exclude unless pinned accesses keep their places.
    fn needs_pins(&self, sites: &PairSites) -> Option<Instance> {
        let unpinned = self.unpinned.as_ref()?;
        let Unpinned { order, needs, .. } = unpinned;
        let (mut left, mut all) = (Vec::new(), true);
        self.candidates
            .visit_on((order, self.contexts, needs), sites, &mut |a, b| {
                if needs.exclude(&[a, b]) {
                    return ControlFlow::Continue(());
                }
                left.push((a, b));
                all = left.len() <= MAX_UNPINNED;
                match all {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
        let mut steps = self.steps_unpinned();
        let open = first_not_refuted(self.trace, &mut left, self.limit_unpinned(), &mut |ending| {
            unpinned.refutes(self.trace, ending, &mut steps)
        });
        open.or_else(|| left.last().copied().filter(|_| !all))
    }

    /// A pinned access that has to do with the order of two others: one whose place orders them, else the last before
    /// either.
    pub(super) fn pinned_between(&self, (a, b): Instance) -> Option<EventId> {
        let (trace, unpinned) = (self.trace, self.unpinned.as_ref()?);
        let (first, second) = if self.order.before(b, a) { (b, a) } else { (a, b) };
        let chain = self.order.chain(trace, first, second);
        let by_pin = |step: &&[EventId]| !unpinned.order.before(step[0], step[1]);
        if let Some(step) = chain.windows(2).find(by_pin) {
            return trace.predecessor(step[1]);
        }
        let last = |event: EventId| {
            let before = trace
                .program_order(trace.thread(event))
                .until(trace.place(event) as usize);
            (before.rev())
                .take(SEARCHED_FOR_PIN)
                .find(|&event| trace.pin(event).is_some())
        };
        last(a).max(last(b))
    }

    /// A cut trace lacks instances, so nothing is told of all of them.
    fn unless_cut(&self, verdict: Verdict) -> Verdict {
        if self.trace.cut().is_none() {
            return verdict;
        }
        match verdict {
            Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => {
                Verdict::Unknown(Unknown::Cut(match refutation {
                    Refutation::MustHappenBefore(_) => CutRefutation::MustHappenBefore,
                    Refutation::CommonLock { .. }
                    | Refutation::VariableLock { .. }
                    | Refutation::LockHistory { .. } => CutRefutation::Locks,
                    // What a file says of pairs comes later (`by_design`).
                    Refutation::Core(_) | Refutation::Priority { .. } | Refutation::Reality { .. } => {
                        CutRefutation::Core
                    }
                }))
            }
            other => other,
        }
    }

    /// The facts that exclude an instance: as few as the solver finds, or, where a trace is too long for it, the reads
    /// along a chain of what is needed before what. None if neither finds any.
    pub(super) fn facts(&self, grounds: Grounds, (a, b): Instance) -> Vec<Fact> {
        if self.trace.len() <= MAX_EVENTS_Z3 {
            let facts = case::explain(self, grounds, (a, b));
            if !facts.is_empty() {
                return facts;
            }
        }
        if grounds == Grounds::Structure {
            return Vec::new();
        }
        let needs = self.unpinned.as_ref().map_or(self.needs, |unpinned| unpinned.needs);
        [(a, b), (b, a)]
            .into_iter()
            .map(|(first, next)| reads_between(self.trace, needs, first, next))
            .find(|facts| !facts.is_empty())
            .unwrap_or_default()
    }
}

/// Whether must-happen-before may have edges in a trace that the operations alone do not give. (It takes a walk over the
/// trace to find which.)
fn rests_on_outcomes(trace: &Trace) -> bool {
    let is_outcome = |op: Op| {
        let before = Before::of(op).is_some_and(|before| before.grounds() > Grounds::Structure);
        // Of a wait for a semaphore, it takes a look at what was read before.
        let waits = || matches!(semaphores::Step::of(op), Some((_, semaphores::Step::Wait)));
        before || waits() || matches!(Need::of(op), Some(Need::Wake(_) | Need::Initialization(_)))
    };
    let is_of_another_block = |event: EventId| {
        let alloc = || trace.incarnation(trace.incarnation_of(event)).alloc;
        trace.is_access(event) && alloc().is_some_and(|alloc| trace.thread(alloc) != trace.thread(event))
    };
    trace.has_pins() || trace.has_operation(is_outcome) || trace.linked().any(is_of_another_block)
}

/// An instance of some that is not refuted, by so many questions at most; `refutes`: whether no feasible prefix has an
/// ending.
pub(super) fn first_not_refuted(
    trace: &Trace,
    instances: &mut Vec<Instance>,
    limit: u32,
    refutes: &mut dyn FnMut(Ending<'_>) -> bool,
) -> Option<Instance> {
    first_left(trace, instances, limit, &mut |question| match question {
        Question::Instance((a, b)) => refutes(Ending::from(&[a, b])),
        Question::Without(ending) => refutes(ending),
    })
}

/// Questions about many instances at once that failed, beyond those that did not, after which no more are asked.
const MAX_FAILED: i32 = 2;

/// What is asked about instances.
pub(super) enum Question<'e> {
    /// Whether this one is infeasible.
    Instance(Instance),
    /// Whether there is no feasible prefix with this ending.
    Without(Ending<'e>),
}

/// The first of some instances of which the answer is not yes, with so many questions at most.
///
/// Many instances have the second access in common, or the thread of it, and the thread of the first. If no feasible
/// prefix brings b next before a thread has performed a, then b neither races with anything of that thread up to a, nor
/// comes before it; and the same holds of what comes behind b, since each prefix with that has an earlier one that ends
/// before b. So the last instances of a thread are asked about, for all; until that has failed too often, since it takes
/// much larger windows than an instance does.
pub(super) fn first_left(
    trace: &Trace,
    instances: &mut Vec<Instance>,
    limit: u32,
    ask: &mut dyn FnMut(Question<'_>) -> bool,
) -> Option<Instance> {
    instances.sort_unstable_by_key(|&(a, b)| (trace.thread(b), b, trace.thread(a), Reverse(a)));
    instances.dedup();
    let mut asked = 0;
    let mut holds = |question: Question<'_>| {
        asked += 1;
        asked <= limit && ask(question)
    };
    // How often it held for all, less how often it did not.
    let mut gained = 0;
    // Of the second access's thread so far, and the first one's: how many events that has performed by then.
    let mut performed: HashMap<(ThreadId, ThreadId), u32> = HashMap::new();
    let together = |&(a, b): &Instance, &(other, next): &Instance| b == next && trace.thread(a) == trace.thread(other);
    for of_one in instances.chunk_by(together) {
        let Some(&(last, b)) = of_one.first() else { continue };
        let performed = performed.entry((trace.thread(b), trace.thread(last))).or_default();
        // For one instance alone, its own ending says more.
        let mut may_ask_for_all = true;
        for (number, &(a, b)) in of_one.iter().enumerate() {
            if trace.place(a) < *performed {
                break;
            }
            if number > 0 && a < b && gained > -MAX_FAILED && std::mem::take(&mut may_ask_for_all) {
                let before = Ending {
                    performed: &[],
                    pending: &[b],
                    awaited: &[a],
                };
                let hold_all = holds(Question::Without(before));
                gained += if hold_all { 1 } else { -1 };
                if hold_all {
                    *performed = trace.place(a) + 1;
                    break;
                }
            }
            if !holds(Question::Instance((a, b))) {
                return Some((a, b));
            }
        }
    }
    None
}

/// The reads by which `next` comes after `first`, each with the only write that it can have seen.
fn reads_between(trace: &Trace, needs: &Needs<'_>, first: EventId, next: EventId) -> Vec<Fact> {
    let Some(last) = trace.predecessor(next) else {
        return Vec::new();
    };
    let chain = needs.relation().chain(trace, first, last);
    let facts = chain.windows(2).filter_map(|step| {
        let (write, read) = (step[0], step[1]);
        let (writes, reads) = (trace.access(write)?, trace.access(read)?);
        if trace.thread(write) == trace.thread(read) || !writes.kind.writes() || !reads.kind.reads() {
            return None;
        }
        let seen = trace
            .uses(reads)
            .find(|used| trace.uses(writes).any(|left| left.cell == used.cell))?;
        Some(Fact::Read {
            read,
            cell: seen.cell,
            writers: vec![write],
            initial: false,
        })
    });
    facts.collect()
}

fn chain(trace: &Trace, order: &MustHappenBefore, (a, b): Instance) -> Refutation {
    let (first, second) = if order.before(a, b) { (a, b) } else { (b, a) };
    Refutation::MustHappenBefore(order.chain(trace, first, second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{MustHappenBefore, Needs};
    use crate::trace::{Sections, Wakes};
    use trace_format::{Event, MemRange, Op, StackId, Tables};

    /// Thread 1 writes x again and again, then says so; thread 0 waits for that, perhaps, and writes x twice. Returns the
    /// instance that is left open if so many questions may be asked.
    fn left_open(waits: bool, limit: u32) -> Option<Instance> {
        const WRITES: u32 = 40;
        let mem = |cell: u64| MemRange {
            addr: 0x100 * cell,
            size: 4,
        };
        let mut ops = vec![(1, Op::Write { mem: mem(1), value: 1 }); WRITES as usize];
        ops.push((1, Op::Write { mem: mem(2), value: 1 }));
        let (cell, value) = if waits { (2, 1) } else { (3, 0) };
        ops.push((0, Op::Read { mem: mem(cell), value }));
        ops.extend([(0, Op::Write { mem: mem(1), value: 2 }); 2]);
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(Tables::default(), &ops.iter().map(event).collect::<Vec<_>>());
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let (needs, wakes) = (Needs::of(&trace, &must, &sections), Wakes::of(&trace, trace.events()));
        let native = Native::new(&trace, &needs, &sections, &wakes);
        let last = ops.len() as u32;
        let mut instances: Vec<Instance> = [last - 2, last - 1]
            .into_iter()
            .flat_map(|b| (0..WRITES).map(move |a| (EventId(a), EventId(b))))
            .collect();
        first_not_refuted(&trace, &mut instances, limit, &mut |ending| native.refutes(ending))
    }

    /// Thread 1 writes x some times, then says so; thread 0 waits for that, perhaps, has much to do, and writes x as often.
    /// Returns whether each two of these writes are excluded, and how many questions are asked for all.
    fn excluded_from_afar(waits: bool) -> (Vec<bool>, usize) {
        const WRITES: u32 = 10;
        let mem = |cell: u64| MemRange {
            addr: 0x100 * cell,
            size: 4,
        };
        let write = |cell| Op::Write {
            mem: mem(cell),
            value: 1,
        };
        let mut ops = vec![(1, write(1)); WRITES as usize];
        ops.push((1, write(2)));
        let (cell, value) = if waits { (2, 1) } else { (3, 0) };
        ops.push((0, Op::Read { mem: mem(cell), value }));
        ops.extend(std::iter::repeat_n((0, write(4)), 2 * FAR as usize));
        let first = (ops.len() as u32).next_multiple_of(NEIGHBORS);
        ops.resize(first as usize, (0, write(4)));
        ops.extend([(0, write(1)); WRITES as usize]);
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(Tables::default(), &ops.iter().map(event).collect::<Vec<_>>());
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let (needs, wakes) = (Needs::of(&trace, &must, &sections), Wakes::of(&trace, trace.events()));
        let unpinned = Unpinned {
            order: &must,
            needs: &needs,
            native: Native::new(&trace, &needs, &sections, &wakes),
            around: Around::default(),
        };
        let pairs = (0..WRITES).flat_map(|a| (0..WRITES).map(move |b| (EventId(a), EventId(first + b))));
        let endings = pairs.flat_map(|(a, b)| {
            [
                (vec![], vec![a, b], vec![]),
                (vec![b], vec![a], vec![]),
                (vec![], vec![b], vec![a]),
            ]
        });
        let excluded = endings.map(|(performed, pending, awaited)| {
            let ending = Ending {
                performed: &performed,
                pending: &pending,
                awaited: &awaited,
            };
            unpinned.refutes(&trace, ending, &mut Steps::unbounded())
        });
        let excluded = excluded.collect();
        let questions = unpinned.around.lock().map_or(0, |around| around.len());
        (excluded, questions)
    }

    #[test]
    fn what_lies_between_far_neighbors_is_asked_about_once() {
        let (excluded, questions) = excluded_from_afar(true);
        assert!(excluded.iter().all(|&excluded| excluded));
        assert_eq!(questions, 1);
        let (excluded, questions) = excluded_from_afar(false);
        assert!(excluded.iter().all(|&excluded| !excluded));
        assert_eq!(questions, 1);
    }

    #[test]
    fn the_last_instance_of_a_thread_is_asked_about_for_all() {
        assert_eq!(left_open(true, 4), None);
        assert!(left_open(true, 1).is_some());
        assert!(left_open(false, 1_000).is_some());
    }
}
