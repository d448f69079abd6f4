//! Atomicity violations: for each triple of positions, whether a feasible prefix performs an access of one thread, then
//! one of another, and brings the first thread's next access there next (`docs/SEMANTICS.md`, section 3).
//!
//! The questions are those of races and of uses after free, with an order of what is performed. Locks that the thread
//! holds from its first access to its second exclude most instances at once.

use super::asked::LOOKED_AT;
use super::decider::Decider;
use super::{MAX_EVENTS_Z3, Solver, case, in_order, reject};
use crate::candidates::{Interruption, Interruptions, Stretch};
use crate::encode::Form;
use crate::prune::{Ending, Grounds, Needs};
use crate::schedule::{Goal, Schedule};
use crate::solve::{Answer, NativeAnswer, Session, Steps};
use crate::symbols::{Symbols, UnrecordedCalls, hidden_between};
use crate::trace::{CodePosition, EventId, SectionId};
use crate::verdict::{Analysis, AtomicityViolation, CutRefutation, Refutation, Region, Rejected, Unknown, Verdict};
use std::num::NonZeroUsize;

/// Instances that are looked at for one triple of positions.
const MOST: usize = 20_000;

/// An instance: the first access, the other thread's, the second.
type Triple = [EventId; 3];

/// What is decided of all candidates.
#[derive(Default)]
pub(super) struct Decided {
    violations: Vec<AtomicityViolation>,
    rejected: Vec<Rejected>,
}

impl Decided {
    pub(super) fn add_to(self, analysis: &mut Analysis) {
        analysis.atomicity_violations = self.violations;
        analysis.rejected.extend(self.rejected);
    }
}

/// Decides every candidate in the regions that are asked about.
pub(super) fn decide(known: &Decider<'_>, threads: NonZeroUsize) -> Decided {
    if known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        // A whole trace has the order of the three in it, and formulas are broken to see what becomes of races.
        return Decided::default();
    }
    let symbols = Symbols::new(known.trace.tables());
    let line = |position: CodePosition| {
        let frame = symbols.frame(position);
        frame.file.zip(frame.line)
    };
    let apart = |one, other| line(one).zip(line(other)).is_some_and(|(one, other)| one != other);
    let found = Interruptions::of(known.trace, known.sections, known.options.regions, &apart);
    tracing::info!(
        candidates = found.list.len(),
        stretches = found.stretches.len(),
        "triples of accesses that would be out of place"
    );
    let all = found.list.len() as u32;
    let one = |candidate: &Interruption| {
        let case = Case { known, found: &found };
        let decide = || {
            let mut rejected = Vec::new();
            let steps = Steps::of_batch(all);
            (case.decide(candidate, steps, &mut rejected), rejected)
        };
        Ok::<_, std::convert::Infallible>(z3::with_z3_config(&z3::Config::new(), decide))
    };
    let Ok(decided) = in_order::map(threads, &found.list, one);
    let (mut violations, rejected): (Vec<_>, Vec<Vec<Rejected>>) = decided.into_iter().unzip();
    doubt(known, &mut violations);
    explain(known, &mut violations, threads);
    Decided {
        violations,
        rejected: rejected.into_iter().flatten().collect(),
    }
}

/// Takes back what is witnessed only if a library that was not recorded did not synchronize two of the accesses.
fn doubt(known: &Decider<'_>, violations: &mut [AtomicityViolation]) {
    let trace = known.trace;
    let witnessed = |violation: &AtomicityViolation| matches!(violation.verdict, Verdict::Witnessed(_));
    if trace.tables().modules.is_empty() || !violations.iter().any(witnessed) {
        return;
    }
    let calls = UnrecordedCalls::of(trace.tables());
    if !calls.may_synchronize() {
        return;
    }
    let hidden = calls.hidden_synchronization(trace);
    for violation in violations {
        let [first, between, second] = violation.example;
        let pairs = [(first, between), (between, second)];
        let library = pairs
            .into_iter()
            .find_map(|(a, b)| hidden_between(trace, &hidden, a.min(b), a.max(b)));
        if let (Verdict::Witnessed(schedule), Some(library)) = (&violation.verdict, library) {
            violation.verdict = Verdict::Unknown(Unknown::Unsynchronized {
                schedule: Box::new(schedule.clone()),
                library: calls.library(library).to_owned(),
                recorded: calls.is_recorded(library),
            });
        }
    }
}

/// Works out the facts behind the first candidates that no simpler argument excludes, as many as the options say.
fn explain(known: &Decider<'_>, violations: &mut [AtomicityViolation], threads: NonZeroUsize) {
    if known.trace.len() > MAX_EVENTS_Z3 {
        return;
    }
    let limit = known.options.explanations.map_or(usize::MAX, |limit| limit as usize);
    let unexplained = violations
        .iter()
        .enumerate()
        .filter(|(_, violation)| violation.verdict.core().is_some_and(Vec::is_empty));
    let places: Vec<usize> = unexplained.map(|(place, _)| place).take(limit).collect();
    let facts = |&place: &usize| {
        let violation = &violations[place];
        let grounds = match violation.verdict {
            Verdict::Refuted(_) => Grounds::Structure,
            _ => Grounds::Outcomes,
        };
        let goal = goal(violation.example, false);
        let explain = || case::session(known, known.order_on(grounds)).explain(grounds, &goal);
        let facts = (!known.options.out_of_time()).then(|| z3::with_z3_config(&z3::Config::new(), explain));
        Ok::<_, std::convert::Infallible>(facts.flatten().unwrap_or_default())
    };
    let Ok(found) = in_order::map(threads, &places, facts);
    for (place, found) in places.into_iter().zip(found) {
        if let Some(facts) = violations[place].verdict.core_mut() {
            *facts = found;
        }
    }
}

fn goal([first, between, second]: Triple, both_next: bool) -> Goal {
    Goal::AtomicityViolation {
        first,
        between,
        second,
        both_next,
    }
}

struct Case<'d, 't> {
    known: &'d Decider<'t>,
    found: &'d Interruptions,
}

impl Case<'_, '_> {
    fn decide(&self, candidate: &Interruption, mut steps: Steps, rejected: &mut Vec<Rejected>) -> AtomicityViolation {
        let known = self.known;
        let mut violation = AtomicityViolation {
            positions: candidate.positions,
            region: self.stretch(candidate.instances[0].0).region,
            example: self.first(candidate),
            verdict: Verdict::Unknown(Unknown::Time),
            tried: 0,
        };
        let (open, more) = self.left_open(candidate, known.needs);
        let fast = !known.solver_only();
        violation.tried = open.len() as u64;
        let mut goals: Vec<(Triple, bool)> = Vec::new();
        for &triple in &open {
            goals.extend(self.ways(triple, known.needs));
        }
        if fast {
            let nearest = goals.iter().take(LOOKED_AT);
            let found = nearest.clone().find_map(|&(triple, both_next)| {
                let goal = goal(triple, both_next);
                let cut = with_ending(&goal, |ending| {
                    let late = known.predictor.predict_late(ending);
                    late.or_else(|| known.predictor.predict(ending))
                });
                cut.map(|cut| (triple, known.schedule(&cut, goal)))
            });
            if let Some((triple, schedule)) = found
                && self.accepted(&mut violation, triple, schedule, rejected)
            {
                return violation;
            }
        }
        let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let mut unknown = more.then_some(Unknown::Instances);
        let mut session = None;
        let mut excluded = None;
        for (number, &(triple, both_next)) in goals.iter().enumerate() {
            if known.options.out_of_time() {
                break;
            }
            if number >= limit && steps.are_spent() {
                unknown = Some(Unknown::Instances);
                break;
            }
            let goal = goal(triple, both_next);
            match self.ask(&goal, &mut steps, &mut session) {
                Ok(None) => {
                    excluded.get_or_insert(triple);
                }
                Ok(Some((as_recorded, then))) => {
                    let schedule = known.schedule_of(as_recorded, &then, goal);
                    if self.accepted(&mut violation, triple, schedule, rejected) {
                        return violation;
                    }
                    unknown = Some(Unknown::Rejected);
                }
                Err(why) => {
                    unknown = Some(why);
                    if number >= limit {
                        break;
                    }
                }
            }
        }
        violation.example = excluded.unwrap_or(violation.example);
        violation.verdict = match unknown {
            _ if known.options.out_of_time() => Verdict::Unknown(Unknown::Time),
            Some(unknown) => Verdict::Unknown(unknown),
            None => self.excluded(candidate, violation.example, open.is_empty()),
        };
        violation
    }

    fn accepted(
        &self,
        violation: &mut AtomicityViolation,
        triple: Triple,
        schedule: Schedule,
        rejected: &mut Vec<Rejected>,
    ) -> bool {
        match self.known.checker.check(&schedule) {
            Ok(_) => {
                violation.example = triple;
                violation.region = self.region_of(triple).unwrap_or(violation.region);
                violation.verdict = Verdict::Witnessed(schedule);
                true
            }
            Err(rejection) => {
                rejected.push(reject(schedule, &rejection));
                false
            }
        }
    }

    /// Our own solver first, and Z3 for what that leaves: so many events as recorded, then these; or that there is no
    /// such prefix.
    fn ask<'s>(
        &'s self,
        goal: &Goal,
        steps: &mut Steps,
        session: &mut Option<Session<'s>>,
    ) -> Result<Option<(u32, Vec<EventId>)>, Unknown> {
        let known = self.known;
        if !known.solver_only() && known.options.solver != Solver::Z3 {
            match with_ending(goal, |ending| known.native.ask(ending, steps)) {
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
        match session.ask(goal) {
            Answer::Feasible(prefix) => Ok(Some((0, prefix))),
            Answer::Infeasible => Ok(None),
            Answer::Budget => Err(Unknown::Budget),
        }
    }

    fn stretch(&self, number: u32) -> &Stretch {
        &self.found.stretches[number as usize]
    }

    fn region_of(&self, [first, _, second]: Triple) -> Option<Region> {
        let stretches = &self.found.stretches;
        let at = stretches.partition_point(|stretch| (stretch.first, stretch.second) < (first, second));
        stretches.get(at).map(|stretch| stretch.region)
    }

    /// The first instance, whatever becomes of it.
    fn first(&self, candidate: &Interruption) -> Triple {
        let (stretch, site) = candidate.instances[0];
        let stretch = self.stretch(stretch);
        let others = &self.found.intruders[site as usize].events;
        let at = others.partition_point(|&event| event < stretch.second);
        let nearest = others.get(at).or(others.last()).copied();
        [stretch.first, nearest.unwrap_or(stretch.second), stretch.second]
    }

    /// The sections that a thread is in from the first access to the second.
    fn held_throughout(&self, stretch: &Stretch) -> Vec<SectionId> {
        let known = self.known;
        let thread = known.trace.thread(stretch.first);
        let open = |event| known.sections.open_after(thread, known.trace.place(event));
        let now = open(stretch.second);
        let kept = open(stretch.first).iter().copied().filter(|id| now.contains(id));
        kept.collect()
    }

    /// The sections of which the first is held throughout, and the second at the access that would have to come
    /// between.
    fn common_lock(&self, held: &[SectionId], between: EventId) -> Option<(SectionId, SectionId)> {
        let known = self.known;
        let section = |id| known.sections.get(id);
        let theirs = known
            .sections
            .open_after(known.trace.thread(between), known.trace.place(between));
        let pairs = held
            .iter()
            .flat_map(|&own| theirs.iter().map(move |&other| (own, other)));
        pairs
            .into_iter()
            .find(|&(own, other)| section(own).excludes(section(other)))
    }

    /// The ways in which an instance may come about that these needs do not exclude: the other thread's access has
    /// happened, or, where that makes a difference, is next as well.
    fn ways(&self, triple: Triple, needs: &Needs<'_>) -> impl Iterator<Item = (Triple, bool)> + use<> {
        let trace = self.known.trace;
        let between = triple[1];
        let reads = trace.access(between).is_some_and(|access| access.kind.reads());
        // A write can happen wherever it is next.
        let differs = reads || trace.pin(between).is_some();
        let ways = [Some(false), differs.then_some(true)].map(|both_next| {
            both_next.filter(|&both_next| !with_ending(&goal(triple, both_next), |ending| needs.exclude(ending)))
        });
        ways.into_iter().flatten().map(move |both_next| (triple, both_next))
    }

    /// The instances that neither locks nor these needs exclude, the nearest in π first, and whether there are more.
    fn left_open(&self, candidate: &Interruption, needs: &Needs<'_>) -> (Vec<Triple>, bool) {
        let trace = self.known.trace;
        let relation = needs.relation();
        let (mut found, mut looked_at, mut more) = (Vec::new(), 0, false);
        for &(stretch, site) in &candidate.instances {
            let (stretch, site) = (self.stretch(stretch), &self.found.intruders[site as usize]);
            let own = trace.thread(stretch.first);
            let from = relation.count(stretch.first, site.thread);
            let from = site.events.partition_point(|&event| trace.place(event) < from);
            let can_come = |event: &EventId| needs.before_pending(*event, own) <= trace.place(stretch.second);
            let until = site.events.partition_point(can_come).max(from);
            let held = self.held_throughout(stretch);
            for &between in &site.events[from..until] {
                looked_at += 1;
                if looked_at > MOST {
                    more = true;
                    break;
                }
                let triple = [stretch.first, between, stretch.second];
                if self.common_lock(&held, between).is_none() && self.ways(triple, needs).next().is_some() {
                    found.push(triple);
                }
            }
        }
        let spread = |&[first, between, second]: &Triple| match between {
            between if between < first => first.0 - between.0,
            between => between.0.saturating_sub(second.0),
        };
        found.sort_unstable_by_key(|triple| (spread(triple), *triple));
        // Those that share several cells were found for each.
        found.dedup();
        (found, more)
    }

    /// The verdict when no instance is feasible.
    fn excluded(&self, candidate: &Interruption, example: Triple, by_needs: bool) -> Verdict {
        let known = self.known;
        if known.trace.cut().is_some() {
            return Verdict::Unknown(Unknown::Cut(CutRefutation::Core));
        }
        let structure = known.order_on(Grounds::Structure);
        let (open, more) = self.left_open(candidate, &known.needs.without_reads(structure));
        if open.is_empty() && !more {
            return Verdict::Refuted(self.refutation(Grounds::Structure, example));
        }
        let example = if by_needs {
            open.first().copied().unwrap_or(example)
        } else {
            example
        };
        if let Some(unpinned) = &known.unpinned {
            let (open, more) = self.left_open(candidate, unpinned.needs);
            let refuted = |&triple: &Triple| {
                self.ways(triple, unpinned.needs).all(|(triple, both_next)| {
                    with_ending(&goal(triple, both_next), |ending| unpinned.native.refutes(ending))
                })
            };
            let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
            if more || open.len() > limit || !open.iter().all(refuted) {
                return Verdict::Unknown(Unknown::Unrecorded(None));
            }
        }
        Verdict::NotInTrace(self.refutation(Grounds::Outcomes, example))
    }

    fn refutation(&self, grounds: Grounds, [first, between, second]: Triple) -> Refutation {
        let known = self.known;
        let order = known.order_on(grounds);
        for (a, b) in [(between, first), (second, between)] {
            if order.before(a, b) {
                return Refutation::MustHappenBefore(order.chain(known.trace, a, b));
            }
        }
        let stretches = &self.found.stretches;
        let at = stretches.partition_point(|stretch| (stretch.first, stretch.second) < (first, second));
        if let Some((own, other)) = stretches
            .get(at)
            .and_then(|stretch| self.common_lock(&self.held_throughout(stretch), between))
        {
            let (own, other) = (known.sections.get(own), known.sections.get(other));
            return Refutation::CommonLock {
                lock: own.lock,
                acquired: (own.acquire, other.acquire),
            };
        }
        // The facts come at the very end, and for so many only.
        Refutation::Core(Vec::new())
    }
}

/// What a goal has performed, and what is next then.
fn with_ending<R>(goal: &Goal, then: impl FnOnce(Ending<'_>) -> R) -> R {
    let (performed, pending): (Vec<EventId>, Vec<EventId>) = (goal.performed().collect(), goal.pending().collect());
    then(Ending {
        performed: &performed,
        pending: &pending,
        awaited: &[],
    })
}
