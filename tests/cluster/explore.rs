//! One exploration by many workers: whatever becomes of them, it comes to what a single process comes to.

use super::slurm::{Cluster, text_of};
use super::{random, said};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use witness::report::quoted;

/// A folder with a program that more than a hundred runs cover.
struct Place {
    folder: PathBuf,
    /// What a single exploration prints.
    alone: String,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("cluster")
            .join(format!("explore-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let mut place = Place {
            folder,
            alone: String::new(),
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/philosophers.c");
        let compiled = place
            .witness(&["cc", "-pthread", "-o", "program"])
            .arg(source)
            .output()
            .expect("witness runs");
        assert!(compiled.status.success(), "{compiled:?}");
        let alone = place.explore(&["-o", "runs"]);
        assert_eq!(alone.status.code(), Some(0), "{alone:?}");
        place.alone = said(&alone);
        assert!(place.alone.contains("\nEXHAUSTED: "), "{alone:?}");
        fs::remove_dir_all(place.folder.join("runs")).expect("a folder");
        place
    }

    fn witness(&self, words: &[&str]) -> Command {
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        witness.current_dir(&self.folder).args(words);
        witness
    }

    fn command(&self, options: &[&str]) -> Command {
        self.witness(&[&["explore"], options, &["--", "./program"]].concat())
    }

    fn explore(&self, options: &[&str]) -> Output {
        self.command(options).output().expect("witness runs")
    }

    /// A worker, running.
    fn worker(&self) -> Child {
        let mut worker = self.command(&["--join", "runs", "--lease", "1"]);
        worker
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        worker.spawn().expect("witness runs")
    }

    /// The runs that are there.
    fn runs(&self) -> usize {
        let entries = fs::read_dir(self.folder.join("runs/shared"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "run"))
            .count()
    }

    /// What is there is what one process finds, and nothing has to be run again for that.
    fn is_as_alone(&self) {
        let told = self.explore(&["-o", "runs"]);
        assert_eq!(told.status.code(), Some(0), "{told:?}");
        assert_eq!(String::from_utf8_lossy(&told.stdout), self.alone, "{told:?}");
        let stderr = String::from_utf8_lossy(&told.stderr);
        assert!(stderr.contains(" runs, 0 were made here"), "{stderr}");
    }
}

/// How many runs a worker says there were, and were made there.
fn counts(output: &Output) -> (usize, usize) {
    let said = said(output);
    let numbers = said.lines().find_map(|line| {
        let (all, rest) = line.split_once(" runs, ")?;
        let (made, _) = rest.split_once(" of them made here: nothing is left to run")?;
        Some((all.parse().ok()?, made.parse().ok()?))
    });
    numbers.unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
fn workers_make_each_run_once_and_find_what_one_finds() {
    let place = Place::new("shared");
    let workers = [place.worker(), place.worker(), place.worker()];
    let outputs = workers.map(|worker| worker.wait_with_output().expect("a child"));
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    let all = outputs.each_ref().map(counts);
    let (runs, made): (Vec<usize>, Vec<usize>) = all.into_iter().unzip();
    assert!(runs.iter().all(|&count| count == runs[0]), "{all:?}");
    assert!(runs[0] > 50 && place.runs() == runs[0], "{all:?}");
    assert_eq!(made.iter().sum::<usize>(), runs[0], "none was made twice");
    assert!(made.iter().filter(|&&made| made > 0).count() > 1, "{all:?}");
    place.is_as_alone();
    // Whoever comes late makes nothing.
    let late = place.worker().wait_with_output().expect("a child");
    assert_eq!(counts(&late), (runs[0], 0));
}

/// `WITNESS_KILLS` says how often.
#[test]
fn workers_that_are_killed_lose_nothing() {
    let kills: u32 = std::env::var("WITNESS_KILLS").map_or(8, |kills| kills.parse().expect("a number"));
    let place = Place::new("killed");
    let (mut seed, mut killed, mut explored) = (1, 0, 0);
    while killed < kills {
        let mut workers = [place.worker(), place.worker()];
        thread::sleep(Duration::from_millis(20 + random(&mut seed, 300)));
        let mut is_over = false;
        for worker in &mut workers {
            let ended = worker.try_wait().expect("a child");
            is_over |= ended.is_some_and(|status| status.success());
            killed += u32::from(ended.is_none());
            worker.kill().expect("it is there");
            worker.wait().expect("a child");
        }
        if is_over {
            place.is_as_alone();
            explored += 1;
            fs::remove_dir_all(place.folder.join("runs")).expect("a folder");
        }
    }
    let last = place.worker().wait_with_output().expect("a child");
    assert!(last.status.success(), "{last:?}");
    place.is_as_alone();
    println!("{killed} workers were killed, in {} explorations", explored + 1);
}

#[test]
fn workers_on_something_else_are_refused_and_so_are_runs_of_others() {
    let place = Place::new("refused");
    let first = place.explore(&["--join", "runs", "--runs", "5"]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert!(said(&first).contains("no more are allowed"), "{first:?}");
    assert_eq!(place.runs(), 5);
    for (options, difference) in [
        (&["--join", "runs", "--seed", "3"][..], "--seed 0"),
        (&["--join", "runs", "--fails-if", "signal"], "--fails-if"),
        (&["-o", "runs", "--seed", "3"], "--seed 0"),
    ] {
        let refused = place.explore(options);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(said(&refused).contains(difference), "{refused:?}");
        assert!(said(&refused).contains("start this one as they were"), "{refused:?}");
    }
    let mut other = place.command(&["--join", "runs"]);
    let refused = other.env("LANG", "xx").output().expect("witness runs");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("the environment variable LANG"), "{refused:?}");
    let mut elsewhere = place.command(&["--join", "runs"]);
    elsewhere.env("XDG_STATE_HOME", place.folder.join("of-another-user"));
    let refused = elsewhere.output().expect("witness runs");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("was not written here by you"), "{refused:?}");
    // A run that has another's name is not that one.
    let shared = place.folder.join("runs/shared");
    let names = fs::read_dir(&shared)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path());
    let mut names: Vec<PathBuf> = names
        .filter(|path| path.extension().is_some_and(|end| end == "run"))
        .collect();
    names.sort();
    let first = fs::read(&names[0]).expect("a run");
    fs::copy(&names[1], &names[0]).expect("a file");
    let refused = place.explore(&["--join", "runs"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("--anew"), "{refused:?}");
    fs::write(&names[0], first).expect("a file");
    // Which jobs of a batch system they are makes no difference, nor from where somebody started them.
    let mut job = place.command(&["--join", "runs"]);
    job.env("SLURM_ARRAY_TASK_ID", "7").env("SLURM_JOB_ID", "4711");
    job.env("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22");
    let job = job.output().expect("witness runs");
    assert!(job.status.success(), "{job:?}");
    place.is_as_alone();
    let anew = place.explore(&["-o", "runs", "--anew"]);
    assert_eq!(anew.status.code(), Some(0), "{anew:?}");
    assert!(!shared.exists());
}

#[test]
#[ignore = "needs Slurm: scripts/setup cluster"]
fn a_slurm_array_explores_what_one_process_does() {
    let place = Place::new("slurm");
    let folder = std::env::temp_dir().join(format!("witness-slurm-explore-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let cluster = Cluster::start(folder);
    // A shell reads this line.
    let worker = format!(
        "exec {} explore --join runs -- ./program",
        quoted(Path::new(env!("CARGO_BIN_EXE_witness")))
    );
    let mut array = cluster.command("sbatch");
    array.current_dir(&place.folder);
    array.args([
        "--wait",
        "--requeue",
        "--array=1-4",
        "--output=worker-%a.log",
        "--wrap",
        &worker,
    ]);
    let said = text_of(&mut array);
    assert!(said.starts_with("Submitted batch job"), "{said}: {}", cluster.logs());
    let logs = (1..=4).map(|number| fs::read_to_string(place.folder.join(format!("worker-{number}.log"))));
    let logs: Vec<String> = logs.map(|log| log.expect("a log")).collect();
    assert!(
        logs.iter().all(|log| log.contains("nothing is left to run")),
        "{logs:?}"
    );
    place.is_as_alone();
}
