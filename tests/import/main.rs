//! Traces of other tools, as data: each file of `dialects` and `malformed` has what becomes of it
//! beside it, and each of `tests/litmus` the pairs of positions that race.
//!
//! `WITNESS_BLESS=1` writes the expectations of `dialects` and `malformed` anew.

mod describe;
mod files;
mod litmus;
mod round_trip;
mod verdicts;
