//! Asking Z3 whether two accesses race, one candidate after the other.
//!
//! A [`Session`] answers questions one after the other, each with as much of ψ as it needs and no more. (Said et al.
//! 2011, section 5, build ψ without ρ once, for all questions. Here most of it never matters to one race, and dragging
//! along what others needed cost more than what was learnt from them saved.) The answer is exact: a feasible prefix, or
//! the proof that there is none, or that the budget did not suffice. Budgets count the solver's own resource units,
//! never seconds, so answers do not depend on the machine.

mod core;
mod handed_over;
mod linearize;
mod native;
mod refine;
mod replay;
#[cfg(test)]
mod tests;
mod unordered;
mod z3_session;

pub use native::{Native, NativeAnswer, Refuted, Steps};
pub use refine::{Answer, Session};
pub(crate) use z3_session::{Model, Status, Z3Session, in_own_context, interrupted_by};
