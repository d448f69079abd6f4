//! Asking Z3 whether two accesses race, one candidate after the other.
//!
//! One [`Session`] holds ψ without ρ for the whole trace; each query adds the race as assumptions,
//! so that what was learnt stays (Said et al. 2011, section 5). The answer is exact: a feasible
//! prefix, or the proof that there is none, or that the budget did not suffice. Budgets count the
//! solver's own resource units, never seconds, so answers do not depend on the machine.

mod core;
mod handed_over;
mod native;
mod refine;
mod replay;
mod unordered;
mod z3_session;

pub use native::{Native, NativeAnswer};
pub use refine::{Answer, Session};
