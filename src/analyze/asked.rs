//! What the solvers say of an instance, and how many of a pair they are asked about.

use crate::trace::EventId;
use crate::verdict::Unknown;

/// Instances per pair that the fast arguments look at, however few the solver may try.
pub(super) const LOOKED_AT: usize = 500;

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
