//! Uses after free: for a pair of which one frees what the other accesses, and that is no race, whether a feasible
//! prefix performs the free first and brings the access next then (`docs/SEMANTICS.md`, section 3).
//!
//! Locks keep the two from being next at once, and not in their order; so what excludes a race does not exclude this. A
//! prefix that brings both next can go on to this, so a pair of which this is excluded is none of a race either, as
//! long as no access is pinned.

use super::asked::{Asked, LOOKED_AT, MAX_GIVEN_UP, MAX_TOGETHER, NeedsZ3, Solvers};
use super::decider::Decider;
use super::exclude::{MAX_UNPINNED, Question, Unpinned, first_left};
use super::{Instance, ends};
use crate::candidates::PairSites;
use crate::encode::Form;
use crate::prune::{Ending, Grounds, MustHappenBefore, Needs};
use crate::schedule::{Goal, Schedule};
use crate::trace::EventId;
use crate::verdict::{Kind, Refutation, Unknown, Verdict};
use std::ops::ControlFlow;

/// What is found out about a pair.
pub(super) enum AfterFree {
    /// Nothing is freed there.
    NoFree,
    /// This shows one. It is not checked yet.
    Found(Instance, Schedule),
    /// There is none in any feasible prefix.
    Excluded,
    /// Not decided, for want of this.
    Open(Unknown),
}

/// The prefix that has performed the free and brings the access next.
fn ending<'e>(free: &'e EventId, access: &'e EventId) -> Ending<'e> {
    Ending {
        performed: std::slice::from_ref(free),
        pending: std::slice::from_ref(access),
        awaited: &[],
    }
}

fn in_order(a: EventId, b: EventId) -> Instance {
    (a.min(b), a.max(b))
}

impl Decider<'_> {
    /// Looks for a use after free at these sites. The solvers are asked about so many instances one by one.
    pub(super) fn after_free(
        &self,
        sites: &PairSites,
        limit: usize,
        solvers: &mut impl Solvers,
    ) -> Result<AfterFree, NeedsZ3> {
        if self.options.form == Form::WholeTrace || !self.options.find.has(Kind::UseAfterFree) {
            // A whole trace has the order of the two in it.
            return Ok(AfterFree::NoFree);
        }
        let fast = !self.solver_only();
        let (mut undecided, mut found): (Vec<Instance>, _) = (Vec::new(), None);
        let one_by_one = limit.max(LOOKED_AT);
        let together = if solvers.may_refute_together() { MAX_TOGETHER } else { 0 };
        let most = one_by_one.saturating_add(together);
        let visited = self.candidates.visit_frees(self.needs, sites, &mut |free, access| {
            let ending = ending(&free, &access);
            if fast && self.needs.exclude(ending) {
                return ControlFlow::Continue(());
            }
            let predict = || {
                self.predictor
                    .predict_late(ending)
                    .or_else(|| self.predictor.predict(ending))
            };
            if fast
                && undecided.len() <= one_by_one
                && let Some(cut) = predict()
            {
                found = Some(((free, access), cut));
                return ControlFlow::Break(());
            }
            undecided.push((free, access));
            match undecided.len() > most || self.options.out_of_time() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if visited.is_none() {
            return Ok(AfterFree::NoFree);
        }
        if let Some(((free, access), cut)) = found {
            let schedule = self.schedule(&cut, Goal::UseAfterFree { free, access });
            return Ok(AfterFree::Found(in_order(free, access), schedule));
        }
        tracing::debug!(undecided = undecided.len(), "frees visited");
        let all_visited = undecided.len() <= most;
        // Fewer are asked about one by one later on.
        let are_many = undecided.len() > one_by_one;
        // Those that touch several cells were visited for each.
        undecided.sort_unstable_by_key(|&(free, access)| (free.0.abs_diff(access.0), free, access));
        undecided.dedup();
        let mut open = (!all_visited || undecided.len() > limit).then_some(Unknown::Instances);
        let mut given_up = 0;
        for &(free, access) in undecided.iter().take(limit) {
            if given_up == MAX_GIVEN_UP || self.options.out_of_time() {
                break;
            }
            let goal = Goal::UseAfterFree { free, access };
            match solvers.ask(&goal)? {
                Asked::Feasible(as_recorded, then) => {
                    let schedule = self.schedule_of(as_recorded, &then, goal);
                    return Ok(AfterFree::Found(in_order(free, access), schedule));
                }
                Asked::Infeasible => {}
                Asked::Open(why) => {
                    open = Some(why);
                    given_up += 1;
                }
            }
        }
        if all_visited && are_many && given_up == 0 && open.is_some() && !self.options.out_of_time() {
            let further = undecided.iter().skip(limit);
            let mut further: Vec<Instance> = further.map(|&(free, access)| (access, free)).collect();
            let left = first_left(self.trace, &mut further, u32::MAX, &mut |question| match question {
                Question::Instance((access, free)) => solvers.refutes(ending(&free, &access)),
                Question::Without(ending) => solvers.refutes(ending),
            });
            tracing::debug!(instances = further.len(), ?left, "together");
            open = left.map(|_| Unknown::Instances);
            // It was asked at little expense, and nobody has looked for a schedule.
            if let Some((access, free)) = left {
                let goal = Goal::UseAfterFree { free, access };
                if let Asked::Feasible(as_recorded, then) = solvers.ask(&goal)? {
                    let schedule = self.schedule_of(as_recorded, &then, goal);
                    return Ok(AfterFree::Found(in_order(free, access), schedule));
                }
            }
        }
        Ok(match open {
            _ if self.options.out_of_time() => AfterFree::Open(Unknown::Time),
            Some(why) => AfterFree::Open(why),
            None => AfterFree::Excluded,
        })
    }

    /// What is said of a pair of which neither a race nor a use after free is feasible, instead of what is said of the
    /// race alone: `None` if nothing is freed there.
    pub(super) fn never_after_free(&self, sites: &PairSites) -> Option<(Instance, Verdict)> {
        let structure = self.order_on(Grounds::Structure);
        let needs = self.needs_by_structure();
        let (ordered, open) = self.left_open(&needs, sites, None)?;
        let reason = |order: &MustHappenBefore, (access, free): Instance| match order.before(access, free) {
            true => Refutation::MustHappenBefore(order.chain(self.trace, access, free)),
            // The facts come at the very end, and for so many only.
            false => Refutation::Core(Vec::new()),
        };
        let Some((free, access)) = open else {
            let (access, free) = ordered?;
            return Some((
                in_order(access, free),
                Verdict::Refuted(reason(structure, (access, free))),
            ));
        };
        if let Some(unpinned) = &self.unpinned {
            let (_, open) = self.left_open(unpinned.needs, sites, Some(unpinned))?;
            if let Some((free, access)) = open {
                let example = in_order(free, access);
                return Some((
                    example,
                    Verdict::Unknown(Unknown::Unrecorded(self.pinned_between(example))),
                ));
            }
        }
        let order = self.order_on(Grounds::Outcomes);
        let reason = reason(order, (access, free));
        Some((in_order(free, access), Verdict::NotInTrace(reason)))
    }

    /// An access that is needed before a free, or that this excludes; and a free and an access that nothing does, nor
    /// our own solver, if that is to be asked.
    #[allow(clippy::type_complexity, reason = "two instances, and whether there is a free")]
    fn left_open(
        &self,
        needs: &Needs<'_>,
        sites: &PairSites,
        unpinned: Option<&Unpinned<'_>>,
    ) -> Option<(Option<Instance>, Option<Instance>)> {
        let (mut left, mut excluded) = (Vec::new(), None);
        let most = unpinned.map_or(0, |_| MAX_UNPINNED);
        let visited = self.candidates.visit_frees(needs, sites, &mut |free, access| {
            if needs.exclude(ending(&free, &access)) {
                excluded.get_or_insert((access, free));
                return ControlFlow::Continue(());
            }
            left.push((access, free));
            match left.len() > most {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        let unvisited = left.last().copied().filter(|_| left.len() > most);
        let open = unpinned.map_or(unvisited, |unpinned| {
            let mut steps = self.steps_unpinned();
            let mut ask = |question: Question<'_>| match question {
                Question::Instance((access, free)) => unpinned.refutes(self.trace, ending(&free, &access), &mut steps),
                Question::Without(ending) => unpinned.refutes(self.trace, ending, &mut steps),
            };
            first_left(self.trace, &mut left, self.limit_unpinned(), &mut ask).or(unvisited)
        });
        let in_turn = |(access, free)| (free, access);
        Some((excluded.or(visited.first_ordered), open.map(in_turn)))
    }

    /// What an instance is asked about last: whether the access can come after the free, or both can be next at once.
    pub(super) fn last_asked(&self, (a, b): Instance) -> Goal {
        match (ends(self.trace, a, b), ends(self.trace, b, a)) {
            _ if self.options.form == Form::WholeTrace || !self.options.find.has(Kind::UseAfterFree) => {
                Goal::race(a, b)
            }
            (true, _) => Goal::UseAfterFree { free: a, access: b },
            (_, true) => Goal::UseAfterFree { free: b, access: a },
            (false, false) => Goal::race(a, b),
        }
    }
}
