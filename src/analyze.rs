//! The whole way from a trace to verdicts: candidates, pruning, solving, schedules, checking.

use crate::candidates::{Candidate, candidates};
use crate::check::check;
use crate::prune::{LockContexts, MustHappenBefore, held_at, history_clash};
use crate::schedule::Schedule;
use crate::solve::{Answer, Session};
use crate::trace::{EventId, ObjectId, Op, Sections, Trace};
use crate::verdict::{Analysis, CutRefutation, Pair, Refutation, Rejected, Unknown, Verdict};

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Dynamic instances that the solver tries per pair of code positions; `None` for all. A pair
    /// with instances left is never refuted.
    pub instances: Option<u32>,
    /// Z3 resource units for each check; about 15 million are a second.
    pub budget: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            instances: Some(10),
            budget: 20_000_000,
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
    let limit = options.instances.map(|limit| limit as usize);
    let candidates = candidates(trace, &order, &contexts, limit);
    tracing::info!(candidates = candidates.len(), events = trace.len(), "candidates found");
    let session = Session::new(trace, &order, &sections, options.budget);
    let mut decider = Decider {
        trace,
        order: &order,
        sections: &sections,
        contexts: &contexts,
        session,
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
    session: Session<'t>,
    rejected: Vec<Rejected>,
}

impl Decider<'_> {
    fn decide(&mut self, candidate: &Candidate) -> Pair {
        let mut instances = candidate.counts;
        let mut example = candidate.instances.first().copied();
        let mut open: Option<Unknown> = (!candidate.complete).then_some(Unknown::Instances);
        for &(a, b) in &candidate.instances {
            instances.tried += 1;
            match self.session.ask(a, b) {
                Answer::Feasible(prefix) => {
                    let schedule = Schedule::of_prefix(self.trace, self.order, self.sections, &prefix, (a, b));
                    match check(self.trace, &schedule) {
                        Ok(_) => {
                            let positions = (self.trace.pc(a), self.trace.pc(b));
                            return Pair {
                                positions,
                                example: (a, b),
                                verdict: Verdict::Witnessed(schedule),
                                instances,
                            };
                        }
                        Err(rejection) => {
                            tracing::error!(?a, ?b, %rejection, "the checker rejected a schedule");
                            self.rejected.push(Rejected {
                                schedule,
                                reason: rejection.to_string(),
                            });
                            example = Some((a, b));
                            open = Some(Unknown::Rejected);
                        }
                    }
                }
                Answer::Infeasible => {}
                Answer::Budget => open = Some(open.unwrap_or(Unknown::Budget)),
            }
        }
        let example = example
            .or(candidate.locked)
            .or(candidate.ordered)
            .unwrap_or(candidate.first);
        let verdict = match open {
            Some(unknown) => Verdict::Unknown(unknown),
            None => self.refuted(candidate, example),
        };
        let positions = (self.trace.pc(example.0), self.trace.pc(example.1));
        Pair {
            positions,
            example,
            verdict,
            instances,
        }
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
