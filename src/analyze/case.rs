//! A candidate that its nearest instances left open: all its instances, by the fast arguments and then by the solvers.

use super::after_free::AfterFree;
use super::asked::{Asked, LOOKED_AT, MAX_GIVEN_UP, MAX_TOGETHER, NeedsZ3, Solvers};
use super::decider::Decider;
use super::exclude::first_not_refuted;
use super::{Decision, Instance, MAX_EVENTS_Z3, Shard, Solver, reject};
use crate::candidates::{Candidate, PairSites, SitePairs};
use crate::check::Rejection;
use crate::predict::Cut;
use crate::prune::{Ending, Grounds, MustHappenBefore, handed_on};
use crate::schedule::{self, Goal, Schedule};
use crate::shorten;
use crate::solve::{Answer, NativeAnswer, Session, Steps, in_own_context};
use crate::trace::{EventId, ThreadId, Wakes};
use crate::verdict::{Fact, Instances, Kind, Pair, Rejected, Unknown, Verdict};
use hashbrown::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The same of the search for unordered executions, which goes on where the pair is refuted as co-enabled.
const MAX_GIVEN_UP_UNORDERED: u32 = 1;

/// Steps that a question about instances together costs beyond those of the search.
const STEPS_OF_QUESTION: u64 = 1_000;

/// Events between two accesses, from which on it is asked whether something synchronizes these in every prefix, before
/// one is walked over. To find that out takes a walk over the whole trace, once.
const FAR: u32 = 4096;

/// Budgets that Z3 may spend on one batch, at most; where a trace has many batches, fewer, but one each.
const BUDGETS_PER_BATCH: u64 = 8;

/// Budgets that Z3 may spend on all batches.
const BUDGETS: u64 = 64;

/// The search for an unordered execution, of a pair that is refuted otherwise, gets this part of a question's budget.
const UNORDERED_SHARE: u32 = 4;

/// All searches for unordered executions get this part of a budget: what Z3 counts is a quarter of what these cost. There
/// may be none for any of a trace's pairs, and each search for one takes its whole share without an answer: libcds' queues
/// have hundreds in three thousand events, a server of asio's a thousand in ten thousand.
const UNORDERED_OF_BUDGET: u64 = 3;

/// So many batches at most have a share in it: a smaller one would be spent before Z3 has said anything.
const BATCHES_UNORDERED: u64 = 16;

/// A decision, and for the log, what it took.
pub(super) struct Decided {
    pub decision: Decision,
    /// The checker has accepted its schedule already.
    pub is_checked: bool,
    pub by_z3: bool,
    pub took: Duration,
}

/// The work on one candidate after the other.
struct Case<'d, 't> {
    known: &'d Decider<'t>,
    z3: Z3<'d>,
    /// What our own solver may still spend on the batch.
    steps: Steps,
    /// Resource units that Z3 may spend on unordered executions, and those that it has spent on them.
    allowed_unordered: u64,
    spent_unordered: u64,
    /// Set while the instances beyond the first are asked about.
    further: Option<Further>,
    rejected: Vec<Rejected>,
    /// The checker has accepted the schedule that was found.
    is_checked: bool,
}

/// Z3, for the candidates of one batch alone: what it learns from others must not decide which schedule these get.
enum Z3<'t> {
    /// Without a context. To make one costs more than to decide most candidates.
    Closed,
    /// In a context of its own, with a session once there is a question.
    Open(Option<Box<Session<'t>>>),
}

/// The second look at the pairs of a batch of which instances are left: as many more are asked about as the batch can
/// pay for, after all of its pairs have had their first ones.
struct Further {
    /// Resource units that Z3 may have spent in all when this ends, once it has a session.
    z3_until: Option<u64>,
}

/// How many batches the trace has.
fn batches(known: &Decider<'_>) -> u32 {
    Shard::batches(known.candidates.list.len() as u32)
}

/// Resource units that Z3 may spend on one batch. They depend on how many batches the trace has, not on what became of
/// others.
fn allowance(known: &Decider<'_>) -> u64 {
    let budgets = (BUDGETS / u64::from(batches(known)).max(1)).clamp(1, BUDGETS_PER_BATCH);
    budgets * u64::from(known.options.budget)
}

/// The same for unordered executions, of the batch that a candidate is in.
fn allowance_unordered(known: &Decider<'_>, candidate: u32) -> u64 {
    let batches = u64::from(batches(known)).max(1);
    let (batch, sharing) = (u64::from(candidate) % batches, BATCHES_UNORDERED.min(batches));
    let has_share = batch * sharing / batches != (batch + 1) * sharing / batches;
    let all = u64::from(known.options.budget) / UNORDERED_OF_BUDGET;
    if has_share { all / sharing } else { 0 }
}

/// Decides the candidates of one batch. `sites` are theirs, `rejected` the schedules that the checker rejected so far.
/// The schedules found are not checked yet. `tell` hears of what needs no Z3 before Z3 is asked about the others, which
/// may take until the time is over.
///
/// # Errors
/// Those of `tell`.
pub(super) fn decide<E>(
    known: &Decider<'_>,
    batch: &[(u32, &Candidate)],
    sites: &SitePairs,
    rejected: &HashMap<u32, Vec<Rejected>>,
    tell: impl Fn(&Decision) -> Result<(), E>,
) -> Result<Vec<Decided>, E> {
    let decide = |z3, batch: &[(u32, &Candidate)]| {
        let mut case = Case {
            known,
            z3,
            steps: Steps::of_batch(batches(known)),
            allowed_unordered: batch
                .first()
                .map_or(0, |&(number, _)| allowance_unordered(known, number)),
            spent_unordered: 0,
            further: None,
            rejected: Vec::new(),
            is_checked: false,
        };
        let mut decided: Vec<Result<Decided, NeedsZ3>> = batch
            .iter()
            .map(|&(number, candidate)| case.decide(number, candidate, sites, rejected))
            .collect();
        if known.options.instances.is_some() && known.options.solver != Solver::Z3Reference {
            case.begin_further();
            for (decided, &(number, candidate)) in decided.iter_mut().zip(batch) {
                let left_open = |first: &mut Decided| {
                    matches!(first.decision.pair.verdict, Verdict::Unknown(Unknown::Instances)).then_some(first.took)
                };
                if let Some(took) = decided.as_mut().ok().and_then(left_open) {
                    *decided = case.decide(number, candidate, sites, rejected).map(|decided| Decided {
                        took: took + decided.took,
                        ..decided
                    });
                }
            }
        }
        decided
    };
    let first = decide(Z3::Closed, batch);
    let hard = batch.iter().zip(&first).filter(|(_, result)| result.is_err());
    let hard: Vec<(u32, &Candidate)> = hard.map(|(&candidate, _)| candidate).collect();
    let mut decided: Vec<Decided> = first.into_iter().flatten().collect();
    decided.iter().try_for_each(|decided| tell(&decided.decision))?;
    if !hard.is_empty() {
        let hard: Vec<Decided> = in_own_context(|| decide(Z3::Open(None), &hard))
            .into_iter()
            .flatten()
            .collect();
        hard.iter().try_for_each(|decided| tell(&decided.decision))?;
        decided.extend(hard);
        decided.sort_unstable_by_key(|decided| decided.decision.number);
    }
    assert_eq!(decided.len(), batch.len(), "with Z3, each candidate is decided");
    Ok(decided)
}

/// The facts that exclude an instance, of those that rest on these grounds; none if the budget does not suffice.
pub(super) fn explain(known: &Decider<'_>, grounds: Grounds, instance: Instance) -> Vec<Fact> {
    let order = known.order_on(grounds);
    let explain =
        || session(known, order).explain(grounds, &known.last_asked(instance), known.options.of_explanation());
    in_own_context(explain).unwrap_or_default()
}

pub(super) fn session<'s>(known: &'s Decider<'_>, order: &'s MustHappenBefore) -> Session<'s> {
    let options = &known.options;
    let (trace, sections) = (known.trace, known.sections);
    Session::with_form(trace, order, sections, options.budget, options.form, options.mutation).until(options.until)
}

/// What the search for an unordered execution of a pair came to.
enum Unordered {
    Found(Instance, Schedule),
    /// There is one, but for the places that pinned accesses keep.
    ByPins(Instance),
    NotFound,
}

impl Solvers for Case<'_, '_> {
    fn ask(&mut self, goal: &Goal) -> Result<Asked, NeedsZ3> {
        match self.spent_on_further() {
            true => Ok(Asked::Open(Unknown::Instances)),
            false => self.ask_now(goal),
        }
    }

    fn may_refute_together(&self) -> bool {
        self.further.is_none() && self.known.options.solver != Solver::Z3 && !self.known.solver_only()
    }

    fn refutes(&mut self, ending: Ending<'_>) -> bool {
        if self.steps.are_spent() {
            return false;
        }
        self.steps.spend(STEPS_OF_QUESTION);
        !self.steps.are_spent() && self.known.native.refutes_within(ending, &mut self.steps)
    }
}

impl<'d> Case<'d, '_> {
    fn session(&mut self) -> Result<&mut Session<'d>, NeedsZ3> {
        match &mut self.z3 {
            Z3::Closed => Err(NeedsZ3),
            Z3::Open(open) => Ok(open.get_or_insert_with(|| Box::new(session(self.known, self.known.order)))),
        }
    }

    fn decide(
        &mut self,
        number: u32,
        candidate: &Candidate,
        sites: &SitePairs,
        rejected: &HashMap<u32, Vec<Rejected>>,
    ) -> Result<Decided, NeedsZ3> {
        let started = Instant::now();
        self.rejected = rejected.get(&number).cloned().unwrap_or_default();
        self.is_checked = false;
        let pair = self.decide_all_instances(candidate, &sites[&candidate.positions])?;
        let rejected = std::mem::take(&mut self.rejected);
        Ok(Decided {
            decision: Decision { number, pair, rejected },
            is_checked: self.is_checked,
            by_z3: matches!(self.z3, Z3::Open(_)),
            took: started.elapsed(),
        })
    }

    /// From here on, more instances of a pair are asked about, as long as there is something left to spend on them.
    fn begin_further(&mut self) {
        self.further = Some(Further { z3_until: None });
        self.steps.keep_a_quarter();
    }

    /// Whether no more instances beyond the first ones can be asked about.
    fn spent_on_further(&mut self) -> bool {
        let Some(further) = &mut self.further else {
            return false;
        };
        let spent = match &self.z3 {
            Z3::Open(Some(session)) => session.spent(),
            Z3::Open(None) | Z3::Closed => 0,
        };
        let until = *further
            .z3_until
            .get_or_insert(spent + u64::from(self.known.options.budget));
        self.steps.are_spent() || spent >= until
    }

    /// All instances, one after the other, until one is witnessed. The schedule is not checked yet.
    fn decide_all_instances(&mut self, candidate: &Candidate, sites: &PairSites) -> Result<Pair, NeedsZ3> {
        let known = self.known;
        if !known.options.find.has(Kind::Races) {
            return self.after_free_alone(candidate, sites);
        }
        if known.options.solver == Solver::Z3Reference {
            return self.by_z3(candidate, sites);
        }
        if known.options.out_of_time() {
            return Ok(Pair {
                positions: known.positions(candidate.first),
                example: candidate.first,
                verdict: Verdict::Unknown(Unknown::Time),
                instances: Instances {
                    total: candidate.total,
                    ..Instances::default()
                },
                behind: None,
                order: None,
            });
        }
        let mut instances = Instances {
            total: candidate.total,
            ..Instances::default()
        };
        let mut undecided: Vec<Instance> = Vec::new();
        let mut excluded: Option<Instance> = None;
        let mut cut: Option<(Instance, Cut)> = None;
        let fast = !known.solver_only();
        let first = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        // Of the first ones it is known by then that none is feasible.
        let (known_infeasible, limit) = match self.further {
            Some(_) => (first, first.max(LOOKED_AT)),
            None => (0, first),
        };
        let together = self.may_refute_together();
        // What is left when there are more than anybody looks at one by one, and how many were visited since.
        let (mut further, mut visited_further): (Vec<Instance>, usize) = (Vec::new(), 0);
        let most = limit.max(LOOKED_AT);
        let visited = known.candidates.visit(sites, &mut |a, b| {
            instances.tried += 1;
            if known.needs.exclude(&[a, b]) {
                excluded.get_or_insert((a, b));
                visited_further += usize::from(undecided.len() > most);
                return match visited_further > MAX_TOGETHER {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
            }
            if undecided.len() > most {
                further.push((a, b));
                visited_further += 1;
                return match visited_further > MAX_TOGETHER || known.options.out_of_time() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
            }
            if fast && let Some(found) = known.predictor.predict(&[a, b]) {
                cut = Some(((a, b), found));
                return ControlFlow::Break(());
            }
            undecided.push((a, b));
            if (undecided.len() > most && !together) || known.options.out_of_time() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        (instances.ordered, instances.locked) = (visited.ordered, visited.locked);
        instances.tried += visited.needed;
        if let Some((race, cut)) = cut {
            return Ok(known.witnessed(race, known.schedule(&cut, Goal::race(race.0, race.1)), instances));
        }
        tracing::debug!(positions = ?candidate.positions, tried = instances.tried, undecided = undecided.len(), "all instances visited");
        let mut open: Option<Unknown> = (undecided.len() > limit).then_some(Unknown::Instances);
        undecided.sort_by_key(|&(a, b)| (b.0 - a.0, a));
        let example = undecided.first().copied();
        let mut given_up = 0;
        for &(a, b) in undecided.iter().take(limit).skip(known_infeasible) {
            if self.spent_on_further() {
                open = Some(Unknown::Instances);
                break;
            }
            let answer = self.ask_now(&Goal::race(a, b))?;
            tracing::debug!(?a, ?b, ?answer, "asked");
            match answer {
                Asked::Feasible(as_recorded, then) => {
                    let schedule = known.schedule_of(as_recorded, &then, Goal::race(a, b));
                    return Ok(known.witnessed((a, b), schedule, instances));
                }
                Asked::Infeasible => {}
                Asked::Open(why) => {
                    // More instances would be given up in the same way.
                    open = Some(why);
                    given_up += 1;
                    if given_up == MAX_GIVEN_UP || known.options.out_of_time() {
                        break;
                    }
                }
            }
        }
        let all_visited = visited_further <= MAX_TOGETHER && !known.options.out_of_time();
        if together && all_visited && given_up == 0 && open == Some(Unknown::Instances) {
            further.extend(undecided.iter().skip(limit));
            let left = first_not_refuted(known.trace, &mut further, u32::MAX, &mut |ending| self.refutes(ending));
            tracing::debug!(instances = further.len(), ?left, "together");
            open = left.map(|_| Unknown::Instances);
            if let Some((a, b)) = left
                && let Asked::Feasible(as_recorded, then) = self.ask_now(&Goal::race(a, b))?
            {
                let schedule = known.schedule_of(as_recorded, &then, Goal::race(a, b));
                return Ok(known.witnessed((a, b), schedule, instances));
            }
        }
        let core = example.or(excluded).or(visited.first_needed);
        match known.after_free(sites, limit, self)? {
            AfterFree::Found(instance, schedule) => return Ok(known.witnessed(instance, schedule, instances)),
            AfterFree::Open(why) => open = open.or(Some(why)),
            AfterFree::Excluded | AfterFree::NoFree => {}
        }
        let unordered = undecided.first().copied().or(excluded).or(visited.first_needed);
        let mut kept_by_pins = None;
        if unordered.is_some() {
            match self.unordered(candidate, sites, open.is_none())? {
                Unordered::Found(race, schedule) => {
                    self.is_checked = true;
                    return Ok(known.witnessed(race, schedule, instances));
                }
                Unordered::ByPins(instance) => kept_by_pins = Some(instance),
                Unordered::NotFound => {}
            }
        }
        let example = core
            .or(visited.first_locked)
            .or(visited.first_ordered)
            .unwrap_or(candidate.first);
        let (example, verdict) = match open {
            // Something may have been left out for want of time.
            _ if known.options.out_of_time() => (example, Verdict::Unknown(Unknown::Time)),
            Some(unknown) => (example, Verdict::Unknown(unknown)),
            None => match (known.excluded(sites, core, candidate.first), kept_by_pins) {
                ((_, Verdict::NotInTrace(_)), Some(instance)) => {
                    let pinned = known.pinned_between(instance);
                    (instance, Verdict::Unknown(Unknown::Unrecorded(pinned)))
                }
                (excluded, _) => excluded,
            },
        };
        Ok(Pair {
            positions: known.positions(example),
            example,
            verdict,
            instances,
            behind: None,
            order: None,
        })
    }

    /// Whether something is used after it was freed, of a pair of which nobody asks whether it races.
    fn after_free_alone(&mut self, candidate: &Candidate, sites: &PairSites) -> Result<Pair, NeedsZ3> {
        let known = self.known;
        let instances = Instances {
            total: candidate.total,
            ..Instances::default()
        };
        let first = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let limit = match self.further {
            Some(_) => first.max(LOOKED_AT),
            None => first,
        };
        let (example, verdict) = match known.after_free(sites, limit, self)? {
            AfterFree::Found(instance, schedule) => return Ok(known.witnessed(instance, schedule, instances)),
            AfterFree::Open(why) => (candidate.first, Verdict::Unknown(why)),
            AfterFree::Excluded | AfterFree::NoFree => known.excluded(sites, None, candidate.first),
        };
        Ok(Pair {
            positions: known.positions(example),
            example,
            verdict,
            instances,
            behind: None,
            order: None,
        })
    }

    /// Z3 on all that must-happen-before and locks leave open, the nearest first.
    fn by_z3(&mut self, candidate: &Candidate, sites: &PairSites) -> Result<Pair, NeedsZ3> {
        let known = self.known;
        let mut open: Vec<Instance> = Vec::new();
        known.candidates.visit_concurrent(sites, &mut |a, b| {
            open.push((a, b));
            ControlFlow::Continue(())
        });
        open.sort_unstable_by_key(|&(a, b)| (b.0 - a.0, a));
        let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let mut unknown = (open.len() > limit).then_some(Unknown::Instances);
        let mut instances = Instances {
            total: candidate.total,
            ..Instances::default()
        };
        for &(a, b) in open.iter().take(limit).take_while(|_| !known.options.out_of_time()) {
            instances.tried += 1;
            match self.ask_now(&Goal::race(a, b))? {
                Asked::Feasible(as_recorded, then) => {
                    let schedule = known.schedule_of(as_recorded, &then, Goal::race(a, b));
                    return Ok(known.witnessed((a, b), schedule, instances));
                }
                Asked::Infeasible => {}
                Asked::Open(why) => unknown = Some(why),
            }
        }
        match known.after_free(sites, limit, self)? {
            AfterFree::Found(instance, schedule) => return Ok(known.witnessed(instance, schedule, instances)),
            AfterFree::Open(why) => unknown = unknown.or(Some(why)),
            AfterFree::Excluded | AfterFree::NoFree => {}
        }
        let example = open.first().copied().unwrap_or(candidate.first);
        let (example, verdict) = match unknown {
            _ if known.options.out_of_time() => (example, Verdict::Unknown(Unknown::Time)),
            Some(unknown) => (example, Verdict::Unknown(unknown)),
            None => known.excluded(sites, open.first().copied(), example),
        };
        Ok(Pair {
            positions: known.positions(example),
            example,
            verdict,
            instances,
            behind: None,
            order: None,
        })
    }

    /// Our own solver first, and Z3 for what that leaves.
    fn ask_now(&mut self, goal: &Goal) -> Result<Asked, NeedsZ3> {
        let known = self.known;
        let (performed, pending): (Vec<EventId>, Vec<EventId>) = (goal.performed().collect(), goal.pending().collect());
        let ending = Ending {
            performed: &performed,
            pending: &pending,
            awaited: goal.awaited(),
        };
        if !known.solver_only() && known.options.solver != Solver::Z3 {
            match known.native.ask(ending, &mut self.steps) {
                NativeAnswer::Feasible(as_recorded, then) => return Ok(Asked::Feasible(as_recorded, then)),
                NativeAnswer::Infeasible => return Ok(Asked::Infeasible),
                NativeAnswer::Unknown if known.options.solver == Solver::Native => {
                    return Ok(Asked::Open(Unknown::Steps));
                }
                NativeAnswer::Unknown => {}
            }
        }
        if known.trace.len() > MAX_EVENTS_Z3 {
            return Ok(Asked::Open(Unknown::Steps));
        }
        let allowance = allowance(known);
        let session = self.session()?;
        if session.spent() >= allowance && known.options.solver != Solver::Z3Reference {
            return Ok(Asked::Open(Unknown::Budget));
        }
        Ok(match session.ask(goal) {
            Answer::Feasible(prefix) => Asked::Feasible(0, prefix),
            Answer::Infeasible => Asked::Infeasible,
            Answer::Budget => Asked::Open(Unknown::Budget),
        })
    }

    /// An instance that is never co-enabled, as far as is known, but that nothing orders in some execution: first
    /// in the order of π, then, in a trace that Z3 can take, in any. The checker accepts what is returned. `never_next`
    /// says that no instance is co-enabled, so that the orders without a weak link need not be searched.
    fn unordered(&mut self, candidate: &Candidate, sites: &PairSites, never_next: bool) -> Result<Unordered, NeedsZ3> {
        let known = self.known;
        if !known.weak_atomics || known.solver_only() {
            return Ok(Unordered::NotFound);
        }
        let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let mut instances = Vec::new();
        known.candidates.visit_concurrent(sites, &mut |a, b| {
            instances.push((a, b));
            if instances.len() < limit.max(LOOKED_AT) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        // The fewer events lie between the two, the less there is that may synchronize them, and the less to look at.
        instances.sort_by_key(|&(a, b)| (b.0 - a.0, a));
        instances.truncate(limit);
        tracing::debug!(positions = ?candidate.positions, instances = instances.len(), "unordered");
        let mut not_found = Unordered::NotFound;
        for &(a, b) in instances.iter().take_while(|_| !known.options.out_of_time()) {
            let ending = Ending {
                performed: &[a],
                pending: &[b],
                awaited: &[],
            };
            if let Some(cut) = known.predictor.predict(ending) {
                // Pins only add to what orders the two.
                let pinned = known.unpinned.is_some();
                if self.synchronized(&cut, (a, b), false) {
                    continue;
                }
                if pinned && self.synchronized(&cut, (a, b), true) {
                    not_found = Unordered::ByPins((a, b));
                    continue;
                }
                let prefix = cut.events_from(known.trace, EventId(0));
                if let Ok(schedule) = self.schedule_of_unordered(&prefix, Goal::UnorderedRace(a, b)) {
                    return Ok(Unordered::Found((a, b), schedule));
                }
            }
        }
        if known.trace.len() > MAX_EVENTS_Z3 || known.options.solver == Solver::Native {
            return Ok(not_found);
        }
        let mut given_up = 0;
        let may_be = |&(a, b): &Instance| {
            let links = known.weak_links.as_ref().filter(|_| never_next);
            links.is_none_or(|links| links.may_lie_between(known.order, a, b))
        };
        let directed = instances.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
        for (a, b) in directed.filter(may_be) {
            let left = self.allowed_unordered.saturating_sub(self.spent_unordered);
            if left == 0 || given_up == MAX_GIVEN_UP_UNORDERED || known.options.out_of_time() {
                break;
            }
            let session = self.session()?;
            let before = session.spent();
            if before >= allowance(known) {
                break;
            }
            let units = (known.options.budget / UNORDERED_SHARE).min(u32::try_from(left).unwrap_or(u32::MAX));
            let answer = session.ask_within(&Goal::UnorderedRace(a, b), units);
            self.spent_unordered += session.spent() - before;
            match answer {
                Answer::Feasible(prefix) => match self.schedule_of_unordered(&prefix, Goal::UnorderedRace(a, b)) {
                    Ok(schedule) => return Ok(Unordered::Found((a, b), schedule)),
                    Err(rejected) => self.rejected.push(reject(rejected.0, &rejected.1)),
                },
                Answer::Infeasible => {}
                Answer::Budget => given_up += 1,
            }
        }
        Ok(not_found)
    }

    /// Whether something synchronizes the two accesses in every prefix that keeps the order of π.
    fn is_handed_on(&self, a: EventId, b: EventId) -> bool {
        let known = self.known;
        let order = known
            .handed_on
            .get_or_init(|| handed_on(known.trace, known.order_on(Grounds::Outcomes)));
        known.trace.predecessor(b).is_some_and(|last| order.before(a, last))
    }

    /// Whether something synchronizes the two accesses when the events of a cut come as they were recorded; with
    /// `pins`, also the places that pinned accesses keep.
    fn synchronized(&self, cut: &Cut, (a, b): Instance, pins: bool) -> bool {
        let Decider { trace, sections, .. } = *self.known;
        if b.0 - a.0 > FAR && self.is_handed_on(a, b) {
            return true;
        }
        let threads = (0..trace.threads() as u32).map(ThreadId);
        let open = threads.flat_map(|thread| sections.open_after(thread, trace.events_before(thread, a)));
        let readers = open.map(|id| sections.get(id)).filter(|section| section.shared);
        let readers = readers.map(|section| (section.lock, section.thread));
        // Memory that is not contested tells nobody of anything, unless somebody else has allocated it.
        let tells = |&event: &EventId| {
            trace.is_contested(event)
                || trace.access(event).is_none_or(|access| {
                    let alloc = trace.incarnation(trace.incarnation_of(access.event)).alloc;
                    alloc.is_some_and(|alloc| trace.thread(alloc) != trace.thread(event))
                })
        };
        let checker = self.known.checker();
        tracing::debug!(?a, ?b, pins, "walk");
        checker.synchronizes(
            cut.in_order_from(trace, a).filter(|event| *event == a || tells(event)),
            readers,
            &self.known.wakes.woken,
            trace.thread(b),
            pins,
        )
    }

    /// A schedule that the checker accepts: with few context switches, or else, since other events between them may
    /// order the two, in the order given. With the reason why it does not accept that either.
    fn schedule_of_unordered(&self, prefix: &[EventId], goal: Goal) -> Result<Schedule, Box<(Schedule, Rejection)>> {
        let known = self.known;
        let short = shorten::of_whole_prefix(known.trace, known.order, prefix, goal);
        if known.checker().check(&short).is_ok() {
            return Ok(short);
        }
        let schedule = Schedule {
            slices: schedule::slices_of(known.trace, prefix),
            wakes: Wakes::of(known.trace, prefix.iter().copied()).woken,
            ..short
        };
        match known.checker().check(&schedule) {
            Ok(_) => Ok(schedule),
            Err(rejection) => Err(Box::new((schedule, rejection))),
        }
    }
}
