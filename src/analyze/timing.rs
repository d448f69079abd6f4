//! How long the stages take: for the log only, nothing depends on it.

use super::Follow;
use std::time::{Duration, Instant};

/// Runs a stage, tells `follow` of it, and says in the log how long it took.
pub(super) fn stage<R>(follow: &impl Follow, name: &'static str, run: impl FnOnce() -> R) -> R {
    follow.stage(name);
    beside(name, run)
}

/// Runs what goes on beside a stage, and says in the log how long it took.
pub(super) fn beside<R>(name: &'static str, run: impl FnOnce() -> R) -> R {
    let started = Instant::now();
    let result = run();
    tracing::info!(stage = name, us = started.elapsed().as_micros() as u64, "stage");
    result
}

/// Says in the log how long the candidates took that one tier decided.
pub(super) fn tier(name: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let micros = |place: usize| took.get(place).map_or(0, |took| took.as_micros() as u64);
    let (median, p99) = (micros(took.len() / 2), micros(took.len() * 99 / 100));
    let worst = micros(took.len().saturating_sub(1));
    tracing::info!(tier = name, candidates = took.len(), median, p99, worst, "tier, in µs");
}
