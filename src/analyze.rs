//! The whole way from a trace to verdicts: candidates, pruning, predicting, solving, schedules, checking.

use crate::candidates::{Candidate, candidates};
use crate::check::Checker;
use crate::encode::{Form, Mutation};
use crate::predict::SyncPreserving;
use crate::prune::{LockContexts, MustHappenBefore, Needs, held_at, history_clash};
use crate::schedule::Schedule;
use crate::solve::{Answer, Session};
use crate::trace::{CodePosition, EventId, MemoryOrder, ObjectId, Op, Sections, Trace};
use crate::verdict::{Analysis, CutRefutation, Instances, Pair, Refutation, Rejected, Unknown, Verdict};

/// Instances per pair that the fast arguments look at, however few the solver may try.
const LOOKED_AT: usize = 500;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Dynamic instances that the solver tries per pair of code positions; `None` for all. A pair
    /// with instances left is never refuted.
    pub instances: Option<u32>,
    /// Z3 resource units for each check; about 15 million are a second.
    pub budget: u32,
    /// What has to be linearized for a witness.
    pub form: Form,
    /// For tests only: a formula that is wrong on purpose. The fast arguments are left out then.
    pub mutation: Option<Mutation>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            instances: Some(10),
            budget: 20_000_000,
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
    z3::with_z3_config(&z3::Config::new(), || analyze_here(trace, options))
}

fn analyze_here(trace: &Trace, options: &Options) -> Analysis {
    let order = MustHappenBefore::of(trace);
    let sections = Sections::of(trace);
    let contexts = LockContexts::of(trace, &sections);
    let limit = options.instances.map(|limit| (limit as usize).max(LOOKED_AT));
    let candidates = candidates(trace, &order, &contexts, limit);
    tracing::info!(candidates = candidates.len(), events = trace.len(), "candidates found");
    let session = Session::with_form(trace, &order, &sections, options.budget, options.form, options.mutation);
    let mut decider = Decider {
        trace,
        order: &order,
        sections: &sections,
        contexts: &contexts,
        options: *options,
        weak_atomics: trace
            .accesses()
            .iter()
            .any(|access| access.kind.is_atomic() && access.order != MemoryOrder::SeqCst),
        predictor: SyncPreserving::new(trace, &order, &sections),
        needs: Needs::of(trace, &order, &sections),
        session,
        checker: Checker::new(trace),
        rejected: Vec::new(),
    };
    let pairs = candidates.iter().map(|candidate| decider.decide(candidate)).collect();
    Analysis {
        pairs,
        rejected: decider.rejected,
    }
}

struct Decider<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    sections: &'t Sections,
    contexts: &'t LockContexts,
    options: Options,
    /// Whether some atomic operation is weaker than sequentially consistent.
    weak_atomics: bool,
    predictor: SyncPreserving<'t>,
    needs: Needs<'t>,
    session: Session<'t>,
    checker: Checker<'t>,
    rejected: Vec<Rejected>,
}

impl Decider<'_> {
    fn decide(&mut self, candidate: &Candidate) -> Pair {
        let mut instances = candidate.counts;
        let mut example = candidate.instances.first().copied();
        let mut open: Option<Unknown> = (!candidate.complete).then_some(Unknown::Instances);
        // The fast arguments see every instance before the solver sees one.
        let solver_only = self.options.form == Form::WholeTrace || self.options.mutation.is_some();
        for &(a, b) in candidate.instances.iter().filter(|_| !solver_only) {
            if let Some(prefix) = self.predictor.predict(a, b)
                && let Some(schedule) = self.prove(&prefix, (a, b))
            {
                instances.tried += 1;
                return self.witnessed((a, b), schedule, instances);
            }
        }
        let undecided = candidate
            .instances
            .iter()
            .copied()
            // The closure over writers knows no free reads.
            .filter(|&(a, b)| self.trace.frees_reads() || !self.needs.exclude(a, b));
        let undecided: Vec<(EventId, EventId)> = undecided.collect();
        instances.tried += (candidate.instances.len() - undecided.len()) as u64;
        let affordable = self.options.instances.map_or(undecided.len(), |limit| limit as usize);
        if undecided.len() > affordable {
            open = Some(Unknown::Instances);
        }
        for &(a, b) in undecided.iter().take(affordable) {
            instances.tried += 1;
            match self.session.ask(a, b) {
                Answer::Feasible(prefix) => match self.prove(&prefix, (a, b)) {
                    Some(schedule) => return self.witnessed((a, b), schedule, instances),
                    None => {
                        example = Some((a, b));
                        open = Some(Unknown::Rejected);
                    }
                },
                Answer::Infeasible => {}
                Answer::Budget => open = Some(open.unwrap_or(Unknown::Budget)),
            }
        }
        let example = example
            .or(candidate.locked)
            .or(candidate.ordered)
            .unwrap_or(candidate.first);
        if let Some((race, schedule)) = self.unordered(candidate) {
            return self.witnessed(race, schedule, instances);
        }
        let verdict = match open {
            Some(unknown) => Verdict::Unknown(unknown),
            None => self.refuted(candidate, example),
        };
        Pair {
            positions: self.positions(example),
            example,
            verdict,
            instances,
        }
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

    /// The schedule of a prefix, if the checker accepts it. If not, that is a bug, kept for the report.
    fn prove(&mut self, prefix: &[EventId], race: (EventId, EventId)) -> Option<Schedule> {
        let schedule = Schedule::of_prefix(self.trace, self.order, self.sections, prefix, race);
        match self.checker.check(&schedule) {
            Ok(_) => Some(schedule),
            Err(rejection) => {
                tracing::error!(?race, %rejection, "the checker rejected a schedule");
                self.rejected.push(Rejected {
                    schedule,
                    reason: rejection.to_string(),
                });
                None
            }
        }
    }

    /// An instance that is never co-enabled, as far as is known, but that nothing synchronizes in the
    /// order of π. Whether that is so is the checker's to say; here, it is only asked.
    fn unordered(&self, candidate: &Candidate) -> Option<((EventId, EventId), Schedule)> {
        let asked = self.weak_atomics && self.options.form == Form::Prefix && self.options.mutation.is_none();
        let limit = self.options.instances.map_or(usize::MAX, |limit| limit as usize);
        candidate
            .instances
            .iter()
            .filter(|_| asked)
            .take(limit)
            .find_map(|&(a, b)| {
                let prefix = self.predictor.perform(a, b)?;
                let schedule = Schedule::of_unordered(self.trace, self.order, &prefix, (a, b));
                self.checker.check(&schedule).ok().map(|_| ((a, b), schedule))
            })
    }

    /// The verdict when no instance is feasible: refuted, or, in a cut trace, not known.
    fn refuted(&mut self, candidate: &Candidate, (a, b): (EventId, EventId)) -> Verdict {
        let refutation = if !candidate.instances.is_empty() {
            Refutation::Core(self.session.explain(a, b).unwrap_or_default())
        } else if candidate.locked.is_some() {
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
