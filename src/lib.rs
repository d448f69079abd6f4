//! `witness` predicts data races from one recorded run, proves each with a feasible schedule, and replays it.
//!
//! Data flows one way: recorder → trace file → [`trace`] → candidates → prune → encode → solve →
//! [`shorten`] → check → report and replay. No part imports a later one.

pub mod analyze;
pub mod assembly;
pub mod candidates;
pub mod check;
pub mod confirm;
pub mod design;
pub mod encode;
pub mod escape;
pub mod explore;
pub mod forest;
pub mod generate;
pub mod import;
pub mod lease;
pub mod own;
mod parallel;
pub mod predict;
pub mod prune;
pub mod record;
pub mod replay;
pub mod report;
pub mod results;
pub mod schedule;
pub mod semantics;
pub mod session;
pub mod shorten;
pub mod solve;
pub mod standstill;
pub mod store;
pub mod symbols;
pub mod trace;
pub mod verdict;
pub mod warnings;
