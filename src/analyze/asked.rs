//! What the solvers say of an instance, and how many of a pair they are asked about.

use crate::prune::Ending;
use crate::schedule::Goal;
use crate::trace::EventId;
use crate::verdict::Unknown;

/// Instances per pair that the fast arguments look at, however few the solver may try.
pub(super) const LOOKED_AT: usize = 500;

/// Instances beyond those that are looked at one by one, above which they are not looked at together either.
pub(super) const MAX_TOGETHER: usize = 10_000;

/// Instances of a pair that were too much for the solvers, after which no more are asked about: what is left of it is
/// likely to be too much as well.
pub(super) const MAX_GIVEN_UP: u32 = 3;

/// What the solvers say of an instance.
#[derive(Debug)]
pub(super) enum Asked {
    /// A feasible prefix brings both next: so many events as recorded, then these.
    Feasible(u32, Vec<EventId>),
    Infeasible,
    /// Not decided, for want of this.
    Open(Unknown),
}

/// Z3 has to be asked, and may not be yet.
#[derive(Debug)]
pub(super) struct NeedsZ3;

/// The solvers, for one pair.
pub(super) trait Solvers {
    /// What they say of an instance.
    fn ask(&mut self, goal: &Goal) -> Result<Asked, NeedsZ3>;

    /// Whether instances beyond those that are asked about one by one may be refuted together.
    fn may_refute_together(&self) -> bool;

    /// Whether our own solver refutes, at little expense, that a feasible prefix has this ending.
    fn refutes(&mut self, ending: Ending<'_>) -> bool;
}
