//! Deadlocks: for each cycle of positions, whether a feasible prefix brings operations there next that wait for each
//! other.
//!
//! The threads hold what the others wait for by program order, so the question is that of a race with other events: is
//! there a prefix after which all of them are next? The predictor, our own solver and Z3 answer it as they do for
//! races.

use super::decider::Decider;
use super::intent::Intent;
use super::{MAX_EVENTS_Z3, Solver, case, reject, standstills};
use crate::candidates::{Cycle, Cycles, Scope};
use crate::design::Design;
use crate::encode::Form;
use crate::parallel;
use crate::prune::{Grounds, Needs, held_at};
use crate::schedule::Goal;
use crate::solve::{self, Answer, NativeAnswer, Session, Steps};
use crate::trace::{EventId, ObjectId};
use crate::verdict::{Analysis, CutRefutation, Deadlock, DeadlockKind, Refutation, Rejected, Unknown, Verdict};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// Sets of operations that are looked at for one cycle of positions.
const LOOKED_AT: usize = 20_000;

/// What is decided of all cycles.
#[derive(Default)]
pub(super) struct Decided {
    pub deadlocks: Vec<Deadlock>,
    pub rejected: Vec<Rejected>,
    /// Not all cycles of positions were found.
    pub incomplete: bool,
}

impl Decided {
    pub(super) fn add_to(self, analysis: &mut Analysis) {
        analysis.deadlocks = self.deadlocks;
        analysis.rejected.extend(self.rejected);
        analysis.more_cycles = self.incomplete;
    }
}

/// Decides every cycle of positions, or those in scope.
pub(super) fn decide(
    known: &Decider<'_>,
    scope: Option<&Scope>,
    design: Option<&Design>,
    threads: NonZeroUsize,
) -> Decided {
    let gives_back_for_others = known.trace.tables().meta.foreign_unlock;
    if known.options.form == Form::WholeTrace
        || known.options.mutation.is_some()
        || (gives_back_for_others && known.trace.cut().is_some())
    {
        // A whole trace has no deadlock, and formulas are broken to see what becomes of races. In a cut trace, it is not
        // known which locks another thread gives back.
        return Decided {
            incomplete: scope.is_some(),
            ..Decided::default()
        };
    }
    let cycles = Cycles::within(known.trace, known.sections, scope);
    tracing::info!(
        cycles = cycles.list.len(),
        nodes = cycles.waiting.len(),
        "cycles of locks"
    );
    let intent = Intent::of_threads(design, known.trace);
    let one = |cycle: &Cycle| {
        let case = Case {
            known,
            cycles: &cycles,
            intent: &intent,
        };
        let decide = || {
            let mut rejected = Vec::new();
            let mut deadlock = case.decide(cycle, &mut rejected);
            // Those of a scope are other numbers.
            deadlock.positions = deadlock.example.iter().map(|&event| known.trace.pc(event)).collect();
            (deadlock, rejected)
        };
        Ok::<_, std::convert::Infallible>(solve::in_own_context(decide))
    };
    let Ok(found) = parallel::map(threads, &cycles.list, one);
    let (mut deadlocks, rejected): (Vec<Deadlock>, Vec<Vec<Rejected>>) = found.into_iter().unzip();
    let mut rejected: Vec<Rejected> = rejected.into_iter().flatten().collect();
    if scope.is_none() {
        let (found, wrong) = standstills::find(known);
        deadlocks.extend(found);
        rejected.extend(wrong);
    }
    for deadlock in &mut deadlocks {
        if let Some(doubtful) = known.doubts.instead_of_deadlock(deadlock) {
            deadlock.verdict = doubtful;
        }
    }
    Decided {
        deadlocks,
        rejected,
        incomplete: cycles.incomplete,
    }
}

struct Case<'d, 't> {
    known: &'d Decider<'t>,
    cycles: &'d Cycles,
    intent: &'d Intent,
}

impl Case<'_, '_> {
    fn decide(&self, cycle: &Cycle, rejected: &mut Vec<Rejected>) -> Deadlock {
        let known = self.known;
        let mut deadlock = Deadlock {
            positions: cycle.positions.clone(),
            example: self.first(cycle),
            verdict: Verdict::Unknown(Unknown::Time),
            tried: 0,
            kind: DeadlockKind::Cycle,
        };
        if known.options.out_of_time() {
            return deadlock;
        }
        if let Some(verdict) = self.kept_apart(cycle, &deadlock.example) {
            deadlock.verdict = verdict;
            return deadlock;
        }
        let fast = !known.solver_only();
        let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let (mut undecided, mut excluded): (Vec<Vec<EventId>>, Option<Vec<EventId>>) = (Vec::new(), None);
        let (mut found, mut by_design) = (None, None);
        let all = self.visit(cycle, known.needs, &mut |pending| {
            deadlock.tried += 1;
            if known.needs.exclude(pending) {
                excluded.get_or_insert_with(|| pending.to_vec());
            } else if let Some(why) = self.by_design(pending) {
                by_design.get_or_insert_with(|| (pending.to_vec(), why));
            } else if let Some(cut) = fast
                .then(|| {
                    known
                        .predictor
                        .predict_late(pending)
                        .or_else(|| known.predictor.predict(pending))
                })
                .flatten()
            {
                found = Some((pending.to_vec(), cut));
                return ControlFlow::Break(());
            } else {
                undecided.push(pending.to_vec());
            }
            ControlFlow::Continue(())
        });
        if let Some((pending, cut)) = found {
            let schedule = known.schedule(&cut, Goal::deadlock(pending.clone()));
            if self.accepted(&mut deadlock, pending, schedule, rejected) {
                return deadlock;
            }
        }
        let mut open = (!all || undecided.len() > limit).then_some(Unknown::Instances);
        let spread = |pending: &Vec<EventId>| pending.iter().max().zip(pending.iter().min()).map(|(a, b)| a.0 - b.0);
        undecided.sort_by_key(|pending| (spread(pending), pending.clone()));
        let mut steps = Steps::unbounded();
        let mut session = None;
        for pending in undecided.iter().take(limit) {
            if known.options.out_of_time() {
                break;
            }
            match self.ask(pending, &mut steps, &mut session) {
                Ok(None) => drop(excluded.get_or_insert_with(|| pending.clone())),
                Ok(Some((as_recorded, then))) => {
                    let schedule = known.schedule_of(as_recorded, &then, Goal::deadlock(pending.clone()));
                    if self.accepted(&mut deadlock, pending.clone(), schedule, rejected) {
                        return deadlock;
                    }
                    open = Some(Unknown::Rejected);
                }
                Err(why) => open = Some(why),
            }
        }
        if let Some(example) = excluded {
            deadlock.example = example;
        }
        let by_design = by_design.filter(|_| open.is_none()).map(|(example, why)| {
            deadlock.example = example;
            why
        });
        deadlock.verdict = match open {
            _ if known.options.out_of_time() => Verdict::Unknown(Unknown::Time),
            Some(unknown) => Verdict::Unknown(unknown),
            None => self.excluded(cycle, &deadlock.example, by_design),
        };
        deadlock
    }

    /// Why, by the design, these never wait for each other.
    fn by_design(&self, pending: &[EventId]) -> Option<Refutation> {
        self.intent
            .excludes_deadlock(self.known.trace, self.known.sections, pending)
    }

    fn accepted(
        &self,
        deadlock: &mut Deadlock,
        pending: Vec<EventId>,
        schedule: crate::schedule::Schedule,
        rejected: &mut Vec<Rejected>,
    ) -> bool {
        match self.known.checker().check(&schedule) {
            Ok(_) => {
                deadlock.example = pending;
                deadlock.verdict = Verdict::Witnessed(schedule);
                true
            }
            Err(rejection) => {
                rejected.push(reject(schedule, &rejection));
                deadlock.verdict = Verdict::Unknown(Unknown::Rejected);
                false
            }
        }
    }

    /// Our own solver first, and Z3 for what that leaves: so many events as recorded, then these; or that there is no
    /// such prefix.
    fn ask<'s>(
        &'s self,
        pending: &[EventId],
        steps: &mut Steps,
        session: &mut Option<Session<'s>>,
    ) -> Result<Option<(u32, Vec<EventId>)>, Unknown> {
        let known = self.known;
        if !known.solver_only() && known.options.solver != Solver::Z3 {
            match known.native.ask(pending, steps) {
                NativeAnswer::Feasible(as_recorded, then) => return Ok(Some((as_recorded, then))),
                NativeAnswer::Infeasible => return Ok(None),
                NativeAnswer::Unknown if known.options.solver == Solver::Native => return Err(Unknown::Steps),
                NativeAnswer::Unknown => {}
            }
        }
        if known.trace.len() > MAX_EVENTS_Z3 {
            return Err(Unknown::Steps);
        }
        let session = session.get_or_insert_with(|| case::session(known, known.order));
        match session.ask(&Goal::deadlock(pending.to_vec())) {
            Answer::Feasible(prefix) => Ok(Some((0, prefix))),
            Answer::Infeasible => Ok(None),
            Answer::Budget => Err(Unknown::Budget),
        }
    }

    /// A lock that keeps two of these apart: their numbers in the cycle, and the lock.
    fn common_lock(&self, nodes: &[u32]) -> Option<(usize, usize, ObjectId)> {
        let node = |at: usize| &self.cycles.waiting[nodes[at] as usize];
        let pairs = (0..nodes.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs
            .into_iter()
            .find_map(|(a, b)| Some((a, b, node(a).common_lock(node(b))?)))
    }

    /// The verdict if common locks keep the threads from being there at once. The example is of the first instance.
    fn kept_apart(&self, cycle: &Cycle, example: &[EventId]) -> Option<Verdict> {
        let known = self.known;
        let (a, b, lock) = self.common_lock(cycle.instances.first()?)?;
        if !cycle.instances.iter().all(|nodes| self.common_lock(nodes).is_some()) {
            return None;
        }
        if known.trace.cut().is_some() {
            return Some(Verdict::Unknown(Unknown::Cut(CutRefutation::Locks)));
        }
        let acquired = |event: EventId| {
            let held = held_at(known.trace, known.sections, event);
            held.iter().find(|&&(held, ..)| held == lock).map(|&(.., event)| event)
        };
        Some(Verdict::Refuted(Refutation::CommonLock {
            lock,
            acquired: (acquired(example[a]), acquired(example[b])),
        }))
    }

    /// The verdict when no prefix that the design leaves brings operations of the cycle next that wait for each other.
    /// `by_design`: why not, of an example that nothing else excludes.
    fn excluded(&self, cycle: &Cycle, example: &[EventId], by_design: Option<Refutation>) -> Verdict {
        let known = self.known;
        if known.trace.cut().is_some() {
            return Verdict::Unknown(Unknown::Cut(CutRefutation::Core));
        }
        let all_on = |needs: &Needs<'_>| {
            let mut left = 0;
            let falls = |pending: &[EventId]| needs.exclude(pending) || self.by_design(pending).is_some();
            let all = self.visit(cycle, needs, &mut |pending| match falls(pending) {
                true => ControlFlow::Continue(()),
                false => {
                    left += 1;
                    ControlFlow::Break(())
                }
            });
            all && left == 0
        };
        let by_structure = all_on(&known.needs_by_structure());
        let why = |grounds| by_design.clone().unwrap_or_else(|| self.refutation(grounds, example));
        if by_structure {
            return Verdict::Refuted(why(Grounds::Structure));
        }
        match &known.unpinned {
            Some(unpinned) if !all_on(unpinned.needs) => Verdict::Unknown(Unknown::Unrecorded(None)),
            _ => Verdict::NotInTrace(why(Grounds::Outcomes)),
        }
    }

    fn refutation(&self, grounds: Grounds, example: &[EventId]) -> Refutation {
        let known = self.known;
        let order = known.order_on(grounds);
        let pairs = example.iter().flat_map(|&a| example.iter().map(move |&b| (a, b)));
        for (a, b) in pairs {
            // What comes before the second being next may come before it by the event before it.
            if a != b && order.count_to_pending(known.trace, b, known.trace.thread(a)) > known.trace.place(a) {
                let chain = order.chain(known.trace, a, b);
                return Refutation::MustHappenBefore(if chain.is_empty() { vec![a, b] } else { chain });
            }
        }
        if known.trace.len() > MAX_EVENTS_Z3 {
            return Refutation::Core(Vec::new());
        }
        let goal = Goal::deadlock(example.to_vec());
        let facts = case::session(known, order).explain(grounds, &goal, known.options.of_explanation());
        Refutation::Core(facts.unwrap_or_default())
    }

    /// The first operations of a cycle.
    fn first(&self, cycle: &Cycle) -> Vec<EventId> {
        let nodes = cycle.instances.first().into_iter().flatten();
        nodes
            .filter_map(|&node| self.cycles.waiting[node as usize].events.first().copied())
            .collect()
    }

    /// Visits the sets of operations at these positions none of which must come before another one is next, as far as
    /// these needs tell; says whether it was all of them.
    fn visit(&self, cycle: &Cycle, needs: &Needs<'_>, each: &mut dyn FnMut(&[EventId]) -> ControlFlow<()>) -> bool {
        let mut left = LOOKED_AT;
        let mut each = |pending: &[EventId]| {
            left -= 1;
            each(pending)?;
            match left == 0 || self.known.options.out_of_time() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let mut pending = Vec::new();
        let mut instances = cycle.instances.iter();
        instances.all(|nodes| {
            self.common_lock(nodes).is_some() || self.visit_from(nodes, needs, &mut pending, &mut each).is_continue()
        })
    }

    fn visit_from(
        &self,
        nodes: &[u32],
        needs: &Needs<'_>,
        pending: &mut Vec<EventId>,
        each: &mut dyn FnMut(&[EventId]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let trace = self.known.trace;
        let Some((&node, rest)) = nodes.split_first() else {
            return each(pending);
        };
        let node = &self.cycles.waiting[node as usize];
        let (mut from, mut until) = (0, node.events.len());
        for &other in pending.iter() {
            let needed = needs.before_pending(other, node.thread);
            from = from.max(node.events.partition_point(|&event| trace.place(event) < needed));
            let thread = trace.thread(other);
            let free = |&event: &EventId| needs.before_pending(event, thread) <= trace.place(other);
            until = until.min(node.events.partition_point(free));
        }
        for &event in node.events.get(from..until).unwrap_or_default() {
            pending.push(event);
            let flow = self.visit_from(rest, needs, pending, each);
            pending.pop();
            flow?;
        }
        ControlFlow::Continue(())
    }
}
