//! One analysis by many workers: whatever becomes of them, its result is that of a single one, byte for byte.
//!
//! Those that need Slurm or GNU parallel, which `scripts/setup cluster` installs, are ignored unless asked for:
//! `cargo test --release --test cluster -- --include-ignored`.

mod explore;
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// A folder with a generated trace that takes some seconds to analyze.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let place = Place { folder };
        let made = place
            .witness(&["generate", "--events", "8000", "-o", "trace.bin"])
            .output();
        assert!(made.expect("witness runs").status.success());
        place
    }

    fn witness(&self, words: &[&str]) -> Command {
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        witness.current_dir(&self.folder).args(words);
        witness
    }

    fn run(&self, words: &[&str]) -> Output {
        self.witness(words).output().expect("witness runs")
    }

    /// A worker, running.
    fn worker(&self) -> Child {
        let words = [
            "analyze",
            "trace.bin",
            "--any-shard-of",
            "12",
            "--lease",
            "1",
            "--threads",
            "1",
        ];
        let mut worker = self.witness(&words);
        worker.stdout(Stdio::null()).stderr(Stdio::piped());
        worker.spawn().expect("witness runs")
    }

    /// What a single analysis stores.
    fn stored_by_one(&self) -> Vec<(String, Vec<u8>)> {
        let alone = self.run(&["analyze", "trace.bin"]);
        assert_eq!(alone.status.code(), Some(66), "{alone:?}");
        let stored = self.stored();
        fs::remove_dir_all(self.store()).expect("results were stored");
        stored
    }

    fn store(&self) -> PathBuf {
        self.folder.join("trace.bin.witnesses")
    }

    /// Results and schedules.
    fn stored(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.store()).expect("results are stored");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
        let mut files: Vec<(String, Vec<u8>)> = names
            .filter(|name| name.ends_with(".sched") || name == "results.json")
            .map(|name| (name.clone(), fs::read(self.store().join(name)).expect("a file")))
            .collect();
        files.sort();
        assert!(files.len() > 2, "some races");
        files
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Pseudorandom numbers, the same each time.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// `WITNESS_KILLS` says how often.
#[test]
fn workers_that_are_killed_lose_nothing() {
    let kills: u32 = std::env::var("WITNESS_KILLS").map_or(8, |kills| kills.parse().expect("a number"));
    let place = Place::new("killed");
    let alone = place.stored_by_one();
    assert!(place.run(&["plan", "trace.bin"]).status.success());
    let mut seed = 1;
    let mut killed = 0;
    while killed < kills {
        let mut workers = [place.worker(), place.worker()];
        thread::sleep(Duration::from_millis(20 + random(&mut seed, 400)));
        for worker in &mut workers {
            killed += u32::from(worker.try_wait().expect("a child").is_none());
            worker.kill().expect("it is there");
            worker.wait().expect("a child");
        }
        let left = fs::read_dir(place.store().join("shards")).map_or(12, |entries| {
            12 - entries
                .filter(|entry| {
                    entry
                        .as_ref()
                        .is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "decisions"))
                })
                .count()
        });
        if left == 0 {
            let merged = place.run(&["merge", "trace.bin"]);
            assert_eq!(merged.status.code(), Some(66), "{merged:?}");
            assert!(place.stored() == alone, "after {killed} kills");
            fs::remove_dir_all(place.store()).expect("results were stored");
            assert!(place.run(&["plan", "trace.bin"]).status.success());
        }
    }
    let last = place.worker().wait_with_output().expect("a child");
    assert!(last.status.success(), "{last:?}");
    let merged = place.run(&["merge", "trace.bin"]);
    assert_eq!(merged.status.code(), Some(66), "{merged:?}");
    assert!(place.stored() == alone, "after {killed} kills");
    println!("{killed} workers were killed");
}

#[test]
fn workers_share_the_shards_and_wait_for_each_other() {
    let place = Place::new("shared");
    let alone = place.stored_by_one();
    let without_plan = place.worker().wait_with_output().expect("a child");
    assert_eq!(without_plan.status.code(), Some(2), "{without_plan:?}");
    assert!(place.run(&["plan", "trace.bin"]).status.success());
    let words = ["analyze", "trace.bin", "--any-shard-of", "12", "--threads", "1"];
    let spawn = || {
        place
            .witness(&words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("witness runs")
    };
    let workers = [spawn(), spawn(), spawn()];
    let outputs = workers.map(|worker| worker.wait_with_output().expect("a child"));
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    // No shard is decided twice, and each by somebody.
    let all: Vec<String> = outputs
        .iter()
        .flat_map(|output| said(output).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(
        all.iter().filter(|line| line.starts_with("shard ")).count(),
        12,
        "{all:?}"
    );
    // When they have ended, all is done.
    let merged = place.run(&["merge", "trace.bin"]);
    assert_eq!(merged.status.code(), Some(66), "{merged:?}");
    assert!(place.stored() == alone);
}

#[test]
fn what_a_plan_prepares_changes_nothing_and_counts_only_as_it_was_written() {
    type Forge = fn(&[u8]) -> Option<Vec<u8>>;
    let place = Place::new("prepared");
    let alone = place.stored_by_one();
    let path = place.store().join("plan.prepared");
    let forge: [Forge; 4] = [
        |bytes| Some(bytes.to_vec()),
        |_| None,
        |bytes| Some(bytes[..bytes.len() / 2].to_vec()),
        // Somebody takes away what is decided: others would be asked about these pairs, and find other schedules.
        |bytes| {
            let decisions = bytes.windows(10).position(|part| part == br#"[{"number""#)?;
            Some([&bytes[..decisions], b"[]"].concat())
        },
    ];
    for forge in forge {
        assert!(place.run(&["plan", "trace.bin"]).status.success());
        let forged = forge(&fs::read(&path).expect("it is prepared"));
        fs::remove_file(&path).expect("it is there");
        if let Some(forged) = forged {
            fs::write(&path, forged).expect("it is written");
        }
        let worker = place.worker().wait_with_output().expect("a child");
        assert!(worker.status.success(), "{worker:?}");
        assert_eq!(place.run(&["merge", "trace.bin"]).status.code(), Some(66));
        assert!(place.stored() == alone);
        fs::remove_dir_all(place.store()).expect("results were stored");
    }
}

#[test]
fn a_worker_whose_time_is_over_leaves_its_shard_to_the_next() {
    let place = Place::new("limited");
    let alone = place.stored_by_one();
    assert!(place.run(&["plan", "trace.bin"]).status.success());
    let limited = place.run(&["analyze", "trace.bin", "--any-shard-of", "12", "--time-limit", "0"]);
    // Ended from outside (3), or between two pairs.
    assert!(matches!(limited.status.code(), Some(0 | 3)), "{limited:?}");
    let merged = place.run(&["merge", "trace.bin"]);
    assert_eq!(merged.status.code(), Some(2), "{merged:?}");
    // Who was ended from outside has left a lease.
    let last = place.worker().wait_with_output().expect("a child");
    assert!(last.status.success(), "{last:?}");
    assert_eq!(place.run(&["merge", "trace.bin"]).status.code(), Some(66));
    assert!(place.stored() == alone);
}

#[test]
#[ignore = "needs GNU parallel: scripts/setup cluster"]
fn gnu_parallel_runs_the_workers() {
    let place = Place::new("parallel");
    let alone = place.stored_by_one();
    assert!(place.run(&["plan", "trace.bin"]).status.success());
    let mut parallel = Command::new("parallel");
    parallel
        .current_dir(&place.folder)
        .args(["-q", "-N0", "--jobs", "2"])
        .arg(env!("CARGO_BIN_EXE_witness"));
    parallel.args(["analyze", "trace.bin", "--any-shard-of", "12", ":::", "1", "2", "3"]);
    let output = parallel.output().expect("parallel is needed");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(place.run(&["merge", "trace.bin"]).status.code(), Some(66));
    assert!(place.stored() == alone);
}
