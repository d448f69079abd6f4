//! The commands of the documentation that are not executed with their page, each with the reason.

/// Page, command, reason.
pub const ELSEWHERE: [(&str, &str, &str); 14] = [
    (
        "README.md",
        "scripts/setup && scripts/demo",
        "installs packages; `.ci/run` begins with it",
    ),
    (
        "README.md",
        "scripts/setup && cargo test --release --locked --workspace",
        "is what executes this",
    ),
    (
        "README.md",
        "scripts/setup build && cargo install --locked --path .",
        "installs packages, and builds everything once more",
    ),
    (
        "docs/ci.md",
        "git clone https://example.org/witness.git \"$RUNNER_TEMP/witness\"",
        "the address is the reader's",
    ),
    (
        "docs/ci.md",
        "cd \"$RUNNER_TEMP/witness\" && scripts/setup build && cargo install --locked --path .",
        "installs packages, and builds everything once more",
    ),
    (
        "docs/ci.md",
        "git clone https://example.org/witness.git /tmp/witness",
        "the address is the reader's",
    ),
    (
        "docs/ci.md",
        "(cd /tmp/witness && scripts/setup build && cargo install --locked --path .)",
        "installs packages, and builds everything once more",
    ),
    (
        "docs/cluster.md",
        "witness cluster trace.bin --workers 16",
        "needs Slurm; `tests/cluster/slurm.rs` starts one",
    ),
    (
        "docs/cluster.md",
        "witness cluster trace.bin --workers 16 --wait -- --report sarif=races.sarif",
        "needs Slurm; `tests/cluster/slurm.rs` starts one",
    ),
    (
        "docs/cluster.md",
        "parallel -q -N0 --jobs 4 witness analyze trace.bin --any-shard-of 64 --threads 1 ::: 1 2 3 4",
        "needs GNU parallel; `tests/cluster` runs it",
    ),
    (
        "docs/cluster.md",
        "array=$(sbatch --parsable --requeue --array=1-16 --wrap 'witness explore --join runs -- ./app')",
        "needs Slurm; `tests/cluster/explore.rs` submits one to it",
    ),
    (
        "docs/cluster.md",
        "sbatch --dependency=afterany:$array --wrap 'witness explore -o runs --report html=every.html -- ./app'",
        "needs Slurm; `tests/cluster/explore.rs` gives the command behind its array",
    ),
    (
        "docs/live.md",
        "witness replay trace.bin --live --witness 2 --gdb",
        "waits for a debugger; `tests/live/outcomes.rs` attaches one",
    ),
    (
        "docs/recording.md",
        "rustup component add rust-src",
        "downloads a part of the toolchain",
    ),
];
