//! The whole way from a trace to verdicts: candidates, pruning, predicting, solving, schedules, checking.

use crate::candidates::{Candidate, Candidates, Scope};
use crate::check::{Checker, Rejection};
use crate::encode::{Form, Mutation};
use crate::predict::{Cut, SyncPreserving};
use crate::prune::{LockContexts, MustHappenBefore, Needs, held_at, history_clash};
use crate::schedule::Schedule;
use crate::solve::{Answer, Native, NativeAnswer, Session};
use crate::trace::{CodePosition, EventId, MemoryOrder, ObjectId, Op, Sections, Trace, Wakes};
use crate::verdict::{Analysis, CutRefutation, Instances, Pair, Refutation, Rejected, Unknown, Verdict};
use std::ops::ControlFlow;

/// Instances per pair that the fast arguments look at, however few the solver may try.
const LOOKED_AT: usize = 500;

/// Events of a schedule up to which it is shortened.
const READABLE: usize = 3_000;

/// Events of a trace up to which its pairs are put to Z3, to decide or to explain them: it takes the whole of it.
const MAX_EVENTS_Z3: usize = 50_000;

/// Who decides what the fast arguments leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Our own solver first, then Z3.
    #[default]
    Both,
    /// Our own solver alone.
    Native,
    /// Z3 alone.
    Z3,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Dynamic instances that the solver tries per pair of code positions; `None` for all. A pair
    /// with instances left is never refuted.
    pub instances: Option<u32>,
    /// In traces of up to 50,000 events: how many pairs that need the solver's word are refuted with the facts that exclude them; `None` for all.
    /// The verdicts of the others are the same, without the facts.
    pub explanations: Option<u32>,
    /// Z3 resource units for each check; about 15 million are a second.
    pub budget: u32,
    /// Who decides what the fast arguments leave open.
    pub solver: Solver,
    /// What has to be linearized for a witness.
    pub form: Form,
    /// For tests only: a formula that is wrong on purpose. The fast arguments are left out then.
    pub mutation: Option<Mutation>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            instances: Some(10),
            explanations: Some(20),
            budget: 20_000_000,
            solver: Solver::Both,
            form: Form::Prefix,
            mutation: None,
        }
    }
}

/// Decides every pair of code positions with conflicting accesses.
///
/// The result depends on the trace and the options only.
#[must_use]
pub fn analyze(trace: &Trace, options: &Options) -> Analysis {
    // Z3 objects belong to a context of their own, so that no earlier analysis can leave a trace here.
    z3::with_z3_config(&z3::Config::new(), || analyze_here(trace, options, None))
}

/// Decides the pairs in `scope` that have conflicting accesses.
#[must_use]
pub fn analyze_within(trace: &Trace, options: &Options, scope: &Scope) -> Analysis {
    z3::with_z3_config(&z3::Config::new(), || analyze_here(trace, options, Some(scope)))
}

fn analyze_here(trace: &Trace, options: &Options, scope: Option<&Scope>) -> Analysis {
    let order = MustHappenBefore::of(trace);
    let sections = Sections::of(trace);
    let contexts = LockContexts::of(trace, &sections);
    let needs = Needs::of(trace, &order, &sections);
    let candidates = Candidates::within(trace, &order, &contexts, &needs, scope);
    tracing::info!(
        candidates = candidates.list.len(),
        events = trace.len(),
        "candidates found"
    );
    let mut decider = Decider {
        trace,
        order: &order,
        sections: &sections,
        contexts: &contexts,
        candidates: &candidates,
        options: *options,
        weak_atomics: trace
            .accesses()
            .iter()
            .any(|access| access.kind.is_atomic() && access.order != MemoryOrder::SeqCst),
        predictor: SyncPreserving::new(trace, &order, &sections),
        needs: &needs,
        native: Native::new(trace, &needs, &sections),
        session: Session::with_form(trace, &order, &sections, options.budget, options.form, options.mutation),
        checker: Checker::new(trace),
        wakes: Wakes::of(trace, &trace.events().collect::<Vec<_>>()),
        rejected: Vec::new(),
        explained: 0,
    };
    let mut pairs = decider.by_nearest();
    decider.check(&mut pairs);
    let left: Vec<_> = pairs
        .iter()
        .filter(|(_, pair)| pair.is_none())
        .map(|(candidate, _)| candidate.positions)
        .collect();
    let sites = candidates.site_pairs(&left);
    tracing::info!(left = left.len(), "pairs that the nearest instances leave open");
    let mut checked: Vec<bool> = Vec::with_capacity(pairs.len());
    let mut decided: Vec<Pair> = Vec::with_capacity(pairs.len());
    for (candidate, pair) in pairs {
        checked.push(pair.is_some());
        decided.push(pair.unwrap_or_else(|| decider.by_all(candidate, &sites[&candidate.positions])));
    }
    decider.check_rest(&mut decided, &checked);
    let pairs = decided;
    Analysis {
        pairs,
        rejected: decider.rejected,
    }
}

/// A candidate, and its verdict once it has one.
type Decided<'c> = (&'c Candidate, Option<Pair>);

/// What the solvers say of an instance.
#[derive(Debug)]
enum Asked {
    /// A feasible prefix brings both next: so many events as recorded, then these.
    Feasible(u32, Vec<EventId>),
    Infeasible,
    Budget,
}

struct Decider<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    sections: &'t Sections,
    contexts: &'t LockContexts,
    candidates: &'t Candidates<'t>,
    options: Options,
    /// Whether some atomic operation is weaker than sequentially consistent.
    weak_atomics: bool,
    predictor: SyncPreserving<'t>,
    needs: &'t Needs<'t>,
    native: Native<'t>,
    session: Session<'t>,
    checker: Checker<'t>,
    /// Whom the notifies wake in π.
    wakes: Wakes,
    rejected: Vec<Rejected>,
    /// Refutations that the solver has explained.
    explained: usize,
}

impl<'t> Decider<'t> {
    /// Whether the fast arguments are left out.
    fn solver_only(&self) -> bool {
        self.options.form == Form::WholeTrace || self.options.mutation.is_some()
    }

    /// First of all, the instances in which the two accesses are near each other in π. Schedules are not
    /// checked yet.
    fn by_nearest(&mut self) -> Vec<Decided<'t>> {
        let candidates = self.candidates.list.iter();
        let decided = candidates.map(|candidate| {
            let nearest = candidate.nearest.iter().filter(|_| !self.solver_only());
            let late = nearest
                .clone()
                .find_map(|&(a, b)| Some(((a, b), self.predictor.predict_late(a, b)?)));
            let cut = late.or_else(|| {
                nearest
                    .clone()
                    .find_map(|&(a, b)| Some(((a, b), self.predictor.predict(a, b)?)))
            });
            let pair = cut.map(|(race, cut)| {
                let instances = Instances {
                    total: candidate.total,
                    tried: 1 + candidate
                        .nearest
                        .iter()
                        .position(|&instance| instance == race)
                        .unwrap_or(0) as u64,
                    ..Instances::default()
                };
                self.witnessed(race, self.schedule(&cut, race), instances)
            });
            (candidate, pair)
        });
        decided.collect()
    }

    /// Checks the schedules found so far. Of a pair whose schedule is rejected, the verdict is taken back.
    fn check(&mut self, pairs: &mut [Decided<'t>]) {
        let schedules: Vec<&Schedule> = pairs
            .iter()
            .filter_map(|(_, pair)| schedule_of(pair.as_ref()?))
            .collect();
        let mut verdicts = self.checker.check_all(&schedules).into_iter();
        for (_, pair) in pairs.iter_mut().filter(|(_, pair)| pair.is_some()) {
            if let Some(Err(rejection)) = verdicts.next()
                && let Some(Verdict::Witnessed(schedule)) = pair.take().map(|pair| pair.verdict)
            {
                self.reject(schedule, &rejection);
            }
        }
    }

    /// Checks the schedules that are not `checked` yet. A pair whose schedule is rejected is not decided: that is
    /// a bug, kept for the report.
    fn check_rest(&mut self, pairs: &mut [Pair], checked: &[bool]) {
        let left = |&number: &usize| !checked[number] && schedule_of(&pairs[number]).is_some();
        let witnessed: Vec<usize> = (0..pairs.len()).filter(left).collect();
        let schedules: Vec<&Schedule> = witnessed
            .iter()
            .filter_map(|&number| schedule_of(&pairs[number]))
            .collect();
        let verdicts = self.checker.check_all(&schedules);
        for (number, verdict) in witnessed.into_iter().zip(verdicts) {
            if let Err(rejection) = verdict {
                let rejected = Verdict::Unknown(Unknown::Rejected);
                if let Verdict::Witnessed(schedule) = std::mem::replace(&mut pairs[number].verdict, rejected) {
                    self.reject(schedule, &rejection);
                }
            }
        }
    }

    /// All instances, one after the other, until one is witnessed. The schedule is not checked yet.
    fn by_all(&mut self, candidate: &Candidate, sites: &[(u32, u32, u32)]) -> Pair {
        let mut instances = Instances {
            total: candidate.total,
            ..Instances::default()
        };
        let mut undecided: Vec<(EventId, EventId)> = Vec::new();
        let mut excluded: Option<(EventId, EventId)> = None;
        let mut cut: Option<((EventId, EventId), Cut)> = None;
        let fast = !self.solver_only();
        let limit = self.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let visited = self.candidates.visit(sites, &mut |a, b| {
            instances.tried += 1;
            if self.needs.exclude(a, b) {
                excluded.get_or_insert((a, b));
                return ControlFlow::Continue(());
            }
            if fast && let Some(found) = self.predictor.predict(a, b) {
                cut = Some(((a, b), found));
                return ControlFlow::Break(());
            }
            undecided.push((a, b));
            if undecided.len() > limit.max(LOOKED_AT) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        (instances.ordered, instances.locked) = (visited.ordered, visited.locked);
        instances.tried += visited.needed;
        if let Some((race, cut)) = cut {
            return self.witnessed(race, self.schedule(&cut, race), instances);
        }
        tracing::debug!(positions = ?candidate.positions, tried = instances.tried, undecided = undecided.len(), "all instances visited");
        let mut open: Option<Unknown> = (undecided.len() > limit).then_some(Unknown::Instances);
        undecided.sort_by_key(|&(a, b)| (b.0 - a.0, a));
        let example = undecided.first().copied();
        for &(a, b) in undecided.iter().take(limit) {
            let answer = self.ask(a, b);
            tracing::debug!(?a, ?b, ?answer, "asked");
            match answer {
                Asked::Feasible(as_recorded, then) => {
                    let schedule = self.schedule_of(as_recorded, &then, (a, b));
                    return self.witnessed((a, b), schedule, instances);
                }
                Asked::Infeasible => {}
                Asked::Budget => open = Some(open.unwrap_or(Unknown::Budget)),
            }
        }
        let core = example.or(excluded).or(visited.first_needed);
        let unordered = undecided.first().copied().or(excluded).or(visited.first_needed);
        if let Some((race, schedule)) = unordered.and_then(|_| self.unordered(candidate, sites)) {
            return self.witnessed(race, schedule, instances);
        }
        let example = core
            .or(visited.first_locked)
            .or(visited.first_ordered)
            .unwrap_or(candidate.first);
        let verdict = match open {
            Some(unknown) => Verdict::Unknown(unknown),
            None => self.refuted(core.is_some(), visited.first_locked.is_some(), example),
        };
        Pair {
            positions: self.positions(example),
            example,
            verdict,
            instances,
        }
    }

    /// Our own solver first, and Z3 for what that leaves.
    fn ask(&mut self, a: EventId, b: EventId) -> Asked {
        if !self.solver_only() && self.options.solver != Solver::Z3 {
            match self.native.ask(a, b) {
                NativeAnswer::Feasible(as_recorded, then) => return Asked::Feasible(as_recorded, then),
                NativeAnswer::Infeasible => return Asked::Infeasible,
                NativeAnswer::Unknown if self.options.solver == Solver::Native => return Asked::Budget,
                NativeAnswer::Unknown => {}
            }
        }
        if self.trace.len() > MAX_EVENTS_Z3 {
            return Asked::Budget;
        }
        match self.session.ask(a, b) {
            Answer::Feasible(prefix) => Asked::Feasible(0, prefix),
            Answer::Infeasible => Asked::Infeasible,
            Answer::Budget => Asked::Budget,
        }
    }

    /// The schedule of a feasible prefix, in an order that works: so many events as recorded, then these.
    fn schedule_of(&self, as_recorded: u32, then: &[EventId], race: (EventId, EventId)) -> Schedule {
        if as_recorded as usize + then.len() > READABLE {
            return Schedule::of_order(self.trace, as_recorded, then, &self.wakes, race);
        }
        let recorded = self.trace.events().take(as_recorded as usize);
        let prefix: Vec<EventId> = recorded.chain(then.iter().copied()).collect();
        Schedule::of_prefix(self.trace, self.order, self.sections, &prefix, race)
    }

    /// The schedule of a cut: shortened, unless it is so long that nobody will read it from its start.
    fn schedule(&self, cut: &Cut, race: (EventId, EventId)) -> Schedule {
        if cut.len() > READABLE {
            return Schedule::of_cut(self.trace, cut, &self.wakes, race);
        }
        let prefix = cut.events_from(self.trace, EventId(0));
        Schedule::of_prefix(self.trace, self.order, self.sections, &prefix, race)
    }

    fn positions(&self, (a, b): (EventId, EventId)) -> (CodePosition, CodePosition) {
        (self.trace.pc(a), self.trace.pc(b))
    }

    fn witnessed(&self, example: (EventId, EventId), schedule: Schedule, instances: Instances) -> Pair {
        Pair {
            positions: self.positions(example),
            example,
            verdict: Verdict::Witnessed(schedule),
            instances,
        }
    }

    fn reject(&mut self, schedule: Schedule, rejection: &Rejection) {
        tracing::error!(race = ?schedule.race, %rejection, "the checker rejected a schedule");
        self.rejected.push(Rejected {
            schedule,
            reason: rejection.to_string(),
        });
    }

    /// An instance that is never co-enabled, as far as is known, but that nothing orders in some execution: first
    /// in the order of π, then, in a trace that Z3 can take, in any. The checker accepts what is returned.
    fn unordered(
        &mut self,
        candidate: &Candidate,
        sites: &[(u32, u32, u32)],
    ) -> Option<((EventId, EventId), Schedule)> {
        if !self.weak_atomics || self.solver_only() {
            return None;
        }
        let limit = self.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let mut instances = Vec::new();
        self.candidates.visit_concurrent(sites, &mut |a, b| {
            instances.push((a, b));
            if instances.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        tracing::debug!(positions = ?candidate.positions, instances = instances.len(), "unordered");
        for &(a, b) in &instances {
            if let Some(cut) = self.predictor.perform(a, b) {
                let prefix = cut.events_from(self.trace, EventId(0));
                if let Ok(schedule) = self.schedule_of_unordered(&prefix, (a, b)) {
                    return Some(((a, b), schedule));
                }
            }
        }
        if self.trace.len() > MAX_EVENTS_Z3 || self.options.solver == Solver::Native {
            return None;
        }
        for (a, b) in instances.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
            if let Some(prefix) = self.session.ask_unordered(a, b) {
                match self.schedule_of_unordered(&prefix, (a, b)) {
                    Ok(schedule) => return Some(((a, b), schedule)),
                    Err(rejected) => self.reject(rejected.0, &rejected.1),
                }
            }
        }
        None
    }

    /// A schedule that the checker accepts: with few context switches, or else, since other events between them may
    /// order the two, in the order given. With the reason why it does not accept that either.
    fn schedule_of_unordered(
        &self,
        prefix: &[EventId],
        race: (EventId, EventId),
    ) -> Result<Schedule, Box<(Schedule, Rejection)>> {
        let short = Schedule::of_unordered(self.trace, self.order, prefix, race);
        if self.checker.check(&short).is_ok() {
            return Ok(short);
        }
        let schedule = Schedule {
            slices: Schedule::slices_of(self.trace, prefix),
            wakes: Wakes::of(self.trace, prefix).woken,
            ..short
        };
        match self.checker.check(&schedule) {
            Ok(_) => Ok(schedule),
            Err(rejection) => Err(Box::new((schedule, rejection))),
        }
    }

    /// The verdict when no instance is feasible: refuted, or, in a cut trace, not known.
    fn refuted(&mut self, core: bool, locked: bool, (a, b): (EventId, EventId)) -> Verdict {
        let refutation = if core {
            self.explained += 1;
            let limit = self.options.explanations;
            let affordable =
                self.trace.len() <= MAX_EVENTS_Z3 && limit.is_none_or(|limit| self.explained <= limit as usize);
            let facts = affordable.then(|| self.session.explain(a, b)).flatten();
            Refutation::Core(facts.unwrap_or_default())
        } else if locked {
            self.lock_refutation(a, b)
        } else {
            let (first, second) = if self.order.before(a, b) { (a, b) } else { (b, a) };
            Refutation::MustHappenBefore(self.order.chain(self.trace, first, second))
        };
        if self.trace.cut().is_none() {
            return Verdict::Refuted(refutation);
        }
        Verdict::Unknown(Unknown::Cut(match refutation {
            Refutation::MustHappenBefore(_) => CutRefutation::MustHappenBefore,
            Refutation::CommonLock { .. } | Refutation::LockHistory { .. } => CutRefutation::Locks,
            Refutation::Core(_) => CutRefutation::Core,
        }))
    }

    fn lock_refutation(&self, a: EventId, b: EventId) -> Refutation {
        let context = |event: EventId| match self.trace.op(event) {
            Op::Access(access) => self.contexts.get(self.contexts.of_access(access)),
            _ => unreachable!("candidates are accesses"),
        };
        let (held_a, held_b) = (
            held_at(self.trace, self.sections, a),
            held_at(self.trace, self.sections, b),
        );
        let taken = |held: &[(ObjectId, bool, EventId)], lock: ObjectId| {
            held.iter()
                .find(|&&(other, ..)| other == lock)
                .map(|&(.., event)| event)
        };
        if let Some(lock) = context(a).common_lock(context(b)) {
            return Refutation::CommonLock {
                lock,
                acquired: (taken(&held_a, lock), taken(&held_b, lock)),
            };
        }
        let clash = history_clash(context(a), context(b)).expect("one of the two lock arguments applies");
        let acquired_after = |own: EventId, since: Option<EventId>, lock: ObjectId| {
            let order = self.trace.program_order(self.trace.thread(own));
            let from = since.map_or(0, |event| self.trace.place(event) as usize + 1);
            let takes = order[from..self.trace.place(own) as usize]
                .iter()
                .copied()
                .find(|&event| {
                    self.sections
                        .opened_by(event)
                        .is_some_and(|id| self.sections.get(id).lock == lock)
                });
            takes.unwrap_or(own)
        };
        Refutation::LockHistory {
            first: (
                clash.first,
                acquired_after(b, taken(&held_b, clash.second), clash.first),
            ),
            second: (
                clash.second,
                acquired_after(a, taken(&held_a, clash.first), clash.second),
            ),
        }
    }
}

fn schedule_of(pair: &Pair) -> Option<&Schedule> {
    match &pair.verdict {
        Verdict::Witnessed(schedule) => Some(schedule),
        _ => None,
    }
}
