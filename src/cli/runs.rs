//! Several runs of one program: the policy and the trace of each.
//!
//! The first run is what the user asked for. Later ones vary the order of threads: every other run is random, the ones
//! between alternate between partial order sampling and priorities, each with another seed, so that the same command
//! gives the same runs.

use super::output::say;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
pub use witness::explore::by_turns as policy_of;
use witness::session::Policy;

/// A policy as `--policy` has it.
pub fn flag(policy: Policy) -> &'static str {
    match policy {
        Policy::Random => "random",
        Policy::Pct => "pct",
        Policy::Pos => "pos",
        Policy::Fifo | Policy::InTurn | Policy::Schedule => "fifo",
    }
}

/// A policy as progress and reports name it.
pub fn name(policy: Policy, seed: u64) -> String {
    match flag(policy) {
        "fifo" => "fifo".to_owned(),
        policy => format!("{policy}, seed {seed}"),
    }
}

/// The trace of a run: `trace.bin`, `trace.run2.bin`, `trace.run3.bin`, … No other recording takes these names while it
/// may not take the first.
pub fn trace_of(first: &Path, run: u32) -> PathBuf {
    if run == 1 {
        return first.to_owned();
    }
    let mut name = first.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".run{run}"));
    if let Some(extension) = first.extension() {
        name.push(".");
        name.push(extension);
    }
    first.with_file_name(name)
}

/// Removes a trace that adds nothing to those of other runs, and what is stored beside it.
pub fn remove(trace: &Path, results: Option<&Path>) {
    let removed = fs::remove_file(trace).and_then(|()| match results.map(fs::remove_dir_all) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
    if let Err(error) = removed {
        say!("witness: cannot remove {}: {error}", trace.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_trace_and_a_seed_of_its_own() {
        let first = Path::new("out/trace.bin");
        let names: Vec<PathBuf> = (1..4).map(|run| trace_of(first, run)).collect();
        assert_eq!(
            names,
            ["out/trace.bin", "out/trace.run2.bin", "out/trace.run3.bin"].map(PathBuf::from)
        );
        assert_eq!(trace_of(Path::new("t"), 2), Path::new("t.run2"));
        let policies: Vec<String> = (2..6)
            .map(|run| policy_of(run, 0))
            .map(|(policy, seed)| name(policy, seed))
            .collect();
        assert_eq!(
            policies,
            ["random, seed 1", "pos, seed 1", "random, seed 2", "pct, seed 2"]
        );
    }
}
