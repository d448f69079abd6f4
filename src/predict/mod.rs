//! Fast predictors: they find schedules without a solver.
//!
//! A predictor may only *add* witnesses: what it finds is feasible (and goes through the checker
//! like everything else), what it does not find is left to the solver.

mod sync_preserving;

pub use sync_preserving::{Cut, SyncPreserving};
