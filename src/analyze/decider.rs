//! All candidates, stage by stage: the nearest instances first, then everything else for what they leave open.

use super::case;
use super::doubts::Doubts;
use super::exclude::{Structure, Unpinned};
use super::timing::{stage, tier};
use super::weak_links::WeakLinks;
use super::{Decision, Follow, Instance, Options, RejectedOf, Shard, Solver, Unfollowed, Work, check, schedule_of};
use crate::candidates::{Candidate, Candidates};
use crate::check::Checker;
use crate::encode::Form;
use crate::parallel;
use crate::predict::{Cut, SyncPreserving};
use crate::prune::{Clocks, Grounds, LockContexts, MustHappenBefore, Needs};
use crate::schedule::{Goal, Schedule};
use crate::shorten;
use crate::solve::Native;
use crate::trace::{CodePosition, EventId, Sections, Trace, Wakes};
use crate::verdict::{Instances, Kind, Pair, Unknown, Verdict};
use hashbrown::HashSet;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::time::Instant;

/// Events of a schedule up to which it is shortened.
const READABLE: usize = 3_000;

/// What is known of a trace before any candidate is decided. Nothing here changes.
pub(super) struct Decider<'t> {
    pub trace: &'t Trace,
    pub order: &'t MustHappenBefore,
    pub sections: &'t Sections,
    pub contexts: &'t LockContexts,
    pub candidates: &'t Candidates<'t>,
    pub options: Options,
    /// Whether some atomic operation is weaker than sequentially consistent.
    pub weak_atomics: bool,
    /// What may bring one access next without ordering it behind another; `None` in traces that Z3 cannot take.
    pub weak_links: Option<WeakLinks>,
    pub predictor: SyncPreserving<'t>,
    pub needs: &'t Needs<'t>,
    pub native: Native<'t>,
    /// The checker of the trace, if there was one already.
    pub given_checker: Option<&'t Checker<'t>>,
    /// Another one, once that is asked: workers whose shards have no schedules need none.
    pub made_checker: OnceLock<Checker<'t>>,
    /// What libraries that were not recorded may have synchronized.
    pub doubts: Doubts<'t>,
    /// Whom the notifies wake in π.
    pub wakes: &'t Wakes,
    /// What holds in every run with these operations, once that is asked.
    pub structure: OnceLock<Structure>,
    /// What happens before what in all prefixes that the predictor proposes, once that is asked.
    pub handed_on: OnceLock<Clocks>,
    /// What is known if no access is pinned; `None` if none is.
    pub unpinned: Option<Unpinned<'t>>,
}

impl<'t> Decider<'t> {
    /// The checker of the trace.
    pub(super) fn checker(&self) -> &Checker<'t> {
        let make = || stage(&Unfollowed, "checker", || Checker::new(self.trace));
        self.given_checker
            .unwrap_or_else(|| self.made_checker.get_or_init(make))
    }

    /// Decides the candidates of a shard, in their order, but for those that were decided earlier.
    pub(super) fn decide<F: Follow>(
        &self,
        work: &Work<'_>,
        mut earlier: Vec<Decision>,
        follow: &F,
    ) -> Result<Vec<Decision>, F::Error> {
        let all = self.candidates.list.len() as u32;
        let mut of_shard = HashSet::new();
        earlier.retain(|decision| work.shard.has(decision.number, all) && of_shard.insert(decision.number));
        // What does not hold is not taken up but decided anew, together with its batch.
        self.check(&mut earlier, &|_| false, &|_| true);
        earlier
            .iter()
            .for_each(|decision| self.tell_checked(work, decision, follow));
        let found = numbers(&earlier);
        earlier.retain(|decision| Shard::batch_of(decision.number, all).all(|number| found.contains(&number)));
        let known = numbers(&earlier);
        let numbered = (0..).zip(&self.candidates.list);
        let mine: Vec<(u32, &Candidate)> = numbered
            .filter(|&(number, _)| work.shard.has(number, all) && !known.contains(&number))
            .collect();

        let (mut decisions, mut unchecked) = match work.prepared {
            Some(prepared) => {
                let near = prepared.near.iter();
                let mine = near.filter(|near| work.shard.has(near.number, all) && !known.contains(&near.number));
                (mine.cloned().collect(), HashSet::new())
            }
            None => {
                let near = self.nearest(work.threads, &mine, follow)?;
                let numbers = numbers(&near);
                (near, numbers)
            }
        };
        // Who decides all checks all schedules at the end, so that the trace is executed once for all of them; but where
        // time is limited, what is found by then counts. Whoever joins the shards checks all schedules.
        let is_whole = work.shard == Shard::WHOLE;
        let mut rejected = RejectedOf::new();
        if !is_whole || self.options.until.is_some() {
            rejected = stage(follow, "checking", || {
                self.check(&mut decisions, &|number| !unchecked.contains(&number), &|_| true)
            });
            let accepted = decisions.iter().filter(|decision| unchecked.contains(&decision.number));
            accepted.for_each(|decision| self.tell_checked(work, decision, follow));
            unchecked.clear();
        }
        decisions.iter().try_for_each(|decision| follow.decided(decision))?;
        decisions.append(&mut earlier);
        let mut checked: HashSet<u32> = numbers(&decisions).difference(&unchecked).copied().collect();
        loop {
            let known = numbers(&decisions);
            let left = mine
                .iter()
                .copied()
                .filter(|(number, _)| !known.contains(number))
                .collect();
            let (found, accepted) = self.all_instances(work, left, &rejected, follow)?;
            decisions.extend(found);
            if !is_whole {
                break;
            }
            // What all instances decide is not decided anew.
            let anew = |number| rejected.is_empty() && unchecked.contains(&number);
            rejected = stage(follow, "checking", || {
                let is_done = |number| checked.contains(&number) || accepted.contains(&number);
                self.check(&mut decisions, &is_done, &anew)
            });
            let new = decisions.iter().filter(|decision| !checked.contains(&decision.number));
            new.for_each(|decision| self.tell_checked(work, decision, follow));
            if rejected.is_empty() {
                break;
            }
            checked = numbers(&decisions);
        }
        decisions.sort_unstable_by_key(|decision| decision.number);
        stage(follow, "explanations", || self.explain(work, &mut decisions, follow))?;
        Ok(decisions)
    }

    /// Tells of a decision whose schedule, if it has one, the checker has accepted: but of no witness that is doubtful.
    /// Who joins shards has doubts, which are worked out once then.
    fn tell_checked<F: Follow>(&self, work: &Work<'_>, decision: &Decision, follow: &F) {
        let is_sure = || self.doubts.instead_of_pair(&decision.pair).is_none();
        if work.shard != Shard::WHOLE || is_sure() {
            follow.checked(decision);
        }
    }

    /// Decides candidates by all of their instances. Also returns the numbers of those whose schedules the checker has
    /// accepted already.
    fn all_instances<F: Follow>(
        &self,
        work: &Work<'_>,
        mut left: Vec<(u32, &Candidate)>,
        rejected: &RejectedOf,
        follow: &F,
    ) -> Result<(Vec<Decision>, HashSet<u32>), F::Error> {
        let all = self.candidates.list.len() as u32;
        left.sort_by_key(|&(number, _)| Shard::batch(number, all));
        tracing::info!(left = left.len(), "pairs that the nearest instances leave open");
        let positions: Vec<_> = left.iter().map(|(_, candidate)| candidate.positions).collect();
        let sites = self.candidates.site_pairs(&positions);
        let together =
            |&(a, _): &(u32, &Candidate), &(b, _): &(u32, &Candidate)| Shard::batch(a, all) == Shard::batch(b, all);
        let batches: Vec<&[(u32, &Candidate)]> = left.chunk_by(together).collect();
        // What there was no time for is not decided.
        let tell = |decision: &Decision| match decision.pair.verdict {
            Verdict::Unknown(Unknown::Time) => Ok(()),
            _ => follow.decided(decision),
        };
        let far = |batch: &&[(u32, &Candidate)]| case::decide(self, batch, &sites, rejected, tell);
        let far = stage(follow, "all instances", || parallel::map(work.threads, &batches, far))?;
        let (mut fast, mut z3, mut decisions) = (Vec::new(), Vec::new(), Vec::new());
        let mut accepted = HashSet::new();
        for decided in far.into_iter().flatten() {
            if decided.is_checked {
                accepted.insert(decided.decision.number);
            }
            if decided.by_z3 { &mut z3 } else { &mut fast }.push(decided.took);
            decisions.push(decided.decision);
        }
        tier("all instances, own solver", fast);
        tier("all instances, Z3", z3);
        Ok((decisions, accepted))
    }

    /// What the nearest instances of some candidates decide. The schedules are not checked yet.
    pub(super) fn nearest<F: Follow>(
        &self,
        threads: NonZeroUsize,
        candidates: &[(u32, &Candidate)],
        follow: &F,
    ) -> Result<Vec<Decision>, F::Error> {
        let near = |&(number, candidate): &(u32, &Candidate)| {
            let started = Instant::now();
            let decision = self.by_nearest(number, candidate);
            Ok((decision, started.elapsed()))
        };
        let near = stage(follow, "nearest instances", || parallel::map(threads, candidates, near))?;
        let (near, took): (Vec<_>, Vec<_>) = near.into_iter().unzip();
        tier("nearest instances", took);
        Ok(near.into_iter().flatten().collect())
    }

    /// Whether the fast arguments are left out.
    pub(super) fn solver_only(&self) -> bool {
        self.options.form == Form::WholeTrace
            || self.options.mutation.is_some()
            || self.options.solver == Solver::Z3Reference
    }

    /// First of all, the instances in which the two accesses are near each other in π. The schedule is not
    /// checked yet.
    fn by_nearest(&self, number: u32, candidate: &Candidate) -> Option<Decision> {
        if self.solver_only() || self.options.out_of_time() || !self.options.find.has(Kind::Races) {
            return None;
        }
        let nearest = &candidate.nearest;
        let late = |&(a, b): &Instance| Some(((a, b), self.predictor.predict_late(&[a, b])?));
        let early = |&(a, b): &Instance| Some(((a, b), self.predictor.predict(&[a, b])?));
        let (race, cut) = nearest
            .iter()
            .find_map(late)
            .or_else(|| nearest.iter().find_map(early))?;
        let place = nearest.iter().position(|&instance| instance == race).unwrap_or(0);
        let instances = Instances {
            total: candidate.total,
            tried: 1 + place as u64,
            ..Instances::default()
        };
        Some(Decision {
            number,
            pair: self.witnessed(race, self.schedule(&cut, Goal::race(race.0, race.1)), instances),
            rejected: Vec::new(),
        })
    }

    /// Checks the schedules of some decisions, as [`check`](super::check) does.
    pub(super) fn check(
        &self,
        decisions: &mut Vec<Decision>,
        checked: &dyn Fn(u32) -> bool,
        decided_anew: &dyn Fn(u32) -> bool,
    ) -> RejectedOf {
        let is_left = |decision: &Decision| !checked(decision.number) && schedule_of(&decision.pair).is_some();
        // There may be no checker yet.
        match decisions.iter().any(is_left) {
            true => check(self.checker(), decisions, checked, decided_anew),
            false => RejectedOf::new(),
        }
    }

    /// Works out the facts behind the first pairs that no simpler argument excludes, as many as the options say.
    fn explain<F: Follow>(&self, work: &Work<'_>, decisions: &mut [Decision], follow: &F) -> Result<(), F::Error> {
        let limit = self.options.explanations.map_or(usize::MAX, |limit| limit as usize);
        let cores = decisions
            .iter()
            .enumerate()
            .filter_map(|(place, decision)| Some((place, decision.pair.verdict.core()?)));
        let unexplained = cores.take(limit).filter(|(_, facts)| facts.is_empty());
        let unexplained: Vec<usize> = unexplained.map(|(place, _)| place).collect();
        let explain = |&place: &usize| {
            let mut decision = decisions[place].clone();
            if self.options.out_of_time() {
                return Ok(decision);
            }
            let grounds = match decision.pair.verdict {
                Verdict::Refuted(_) => Grounds::Structure,
                _ => Grounds::Outcomes,
            };
            let found = self.facts(grounds, decision.pair.example);
            if let Some(facts) = decision.pair.verdict.core_mut() {
                *facts = found;
            }
            follow.decided(&decision).map(|()| decision)
        };
        let explained = parallel::map(work.threads, &unexplained, explain)?;
        for (place, decision) in unexplained.into_iter().zip(explained) {
            decisions[place] = decision;
        }
        Ok(())
    }

    /// The schedule of a feasible prefix, in an order that works: so many events as recorded, then these.
    pub(super) fn schedule_of(&self, as_recorded: u32, then: &[EventId], goal: Goal) -> Schedule {
        if as_recorded as usize + then.len() > READABLE {
            return shorten::of_order(self.trace, as_recorded, then, self.wakes, goal);
        }
        let recorded = self.trace.events().take(as_recorded as usize);
        let prefix: Vec<EventId> = recorded.chain(then.iter().copied()).collect();
        shorten::of_prefix(self.trace, self.order, self.sections, &prefix, goal)
    }

    /// The schedule of a cut: shortened, unless it is so long that nobody will read it from its start.
    pub(super) fn schedule(&self, cut: &Cut, goal: Goal) -> Schedule {
        if cut.len() > READABLE {
            return shorten::of_cut(self.trace, cut, self.wakes, goal);
        }
        let prefix = cut.events_from(self.trace, EventId(0));
        shorten::of_prefix(self.trace, self.order, self.sections, &prefix, goal)
    }

    pub(super) fn positions(&self, (a, b): Instance) -> (CodePosition, CodePosition) {
        (self.trace.pc(a), self.trace.pc(b))
    }

    pub(super) fn witnessed(&self, example: Instance, schedule: Schedule, instances: Instances) -> Pair {
        Pair {
            positions: self.positions(example),
            example,
            verdict: Verdict::Witnessed(schedule),
            instances,
            behind: None,
            order: None,
        }
    }
}

/// The numbers of the candidates that some decisions are about.
fn numbers(decisions: &[Decision]) -> HashSet<u32> {
    decisions.iter().map(|decision| decision.number).collect()
}
