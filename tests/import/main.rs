//! Traces of other tools, as data: each file of `dialects` and `malformed` has what becomes of it
//! beside it, and each of `tests/litmus` the pairs of positions that race.
//!
//! `WITNESS_BLESS=1` writes the expectations of `dialects` and `malformed` anew.

#[path = "../oracle/brute_force.rs"]
mod brute_force;
mod describe;
#[allow(dead_code, reason = "the oracle uses all of it")]
#[path = "../oracle/execution.rs"]
mod execution;
mod files;
mod litmus;
#[allow(dead_code, reason = "the oracle uses all of it")]
#[path = "../oracle/machine.rs"]
mod machine;
mod round_trip;
mod verdicts;
