//! Recording one run of a program into a trace file.
//!
//! The program runs with the recorder's runtime in place of libtsan and sends what it does through
//! shared memory; here its records become a trace. The two ends are `recorders/native` and
//! `recorders/ring`; nothing of the runtime is linked into the tool.
//!
//! Whatever happens to the program, the trace is finished with what it had sent until then.

mod forwarder;
mod limits;
mod number;
mod process_tree;
mod salvage;
mod trace_name;

pub use number::{Origin, ProcessNumber, traces_beside};
pub use process_tree::Process;
pub use recorder_ring::layout::{PROCESSES, SUITE_VARIABLE};
pub use salvage::{Salvage, salvage};
pub use trace_name::{Naming, TraceName};

use crate::session::{
    Companions, Followed, Launch, Policy, RunError, Settings, Started, Translator, end, follow, rings, runtime_folder,
    settings,
};
use limits::Limits;
use process_tree::ProcessTree;
use recorder_ring::layout::RECORDER_VARIABLE;
use recorder_ring::{Flag, Ring};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trace_format::{Meta, Summary, ThreadInfo};

/// How long to sleep at most while the program has nothing to say.
const PAUSE: Duration = Duration::from_millis(100);

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program; looked up in `PATH` if it is a bare name.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The trace file.
    pub output: PathBuf,
    /// Whether it may be another one beside it, if another recording writes that.
    pub naming: Naming,
    /// How the thread that runs next is chosen.
    pub policy: Policy,
    /// Seed of the policy.
    pub seed: u64,
    /// For [`Policy::Pct`]: how many ordering constraints the bugs looked for have; at least 1.
    pub depth: u32,
    /// For [`Policy::Pct`]: about how many accesses and calls the run has; 0 if the seed shall draw it.
    pub steps: u64,
    /// The program is ended at its first operation after so many events.
    pub max_events: Option<u64>,
    /// The program is ended after this time.
    pub timeout: Option<Duration>,
    /// Why the trace will lack something, if that is known in advance.
    pub degraded: Option<String>,
    /// What the program finds as its own name, if that is not its path: then it has loaded the runtime, and is not
    /// looked at.
    pub arg0: Option<OsString>,
    /// The environment variables whose values are kept in the trace, beside those that are kept anyway.
    pub keep_env: Vec<String>,
    /// What the user wants to run before and beside it.
    pub companions: Companions,
}

impl Options {
    fn launch(&self) -> Launch {
        Launch {
            arg0: self.arg0.clone(),
            keep_env: self.keep_env.clone(),
            companions: self.companions.clone(),
            ..Launch::here(self.program.clone(), self.arguments.clone())
        }
    }

    /// What the first process is told.
    fn settings(&self) -> Settings {
        Settings {
            policy: self.policy,
            seed: self.seed,
            depth: self.depth,
            steps: self.steps,
            most: self.max_events.unwrap_or(u64::MAX),
            clocks_stand_at: 0,
            pictures: 0,
        }
    }
}

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// How the program ended.
    pub status: ExitStatus,
    /// What was written.
    pub summary: Summary,
    /// How long the run took.
    pub elapsed: Duration,
    /// The name of the trace, which no other recording takes before this is dropped.
    pub name: TraceName,
    /// A limit was reached and the program ended: which one, in words.
    pub stopped: Option<String>,
    /// It was the limit in time.
    pub timed_out: bool,
    /// The runtime ended the program because each of its threads waited for another.
    pub deadlock: bool,
    /// Why the trace may lack something; empty if it lacks nothing that is known.
    pub degraded: Vec<String>,
    /// The other processes of the program, in order of their numbers.
    pub processes: Vec<Process>,
    /// Which processes could not be recorded, and why, in words.
    pub failures: Vec<String>,
}

/// Lets every instrumented program that comes of a command be recorded by this executable, into the folder.
///
/// # Errors
/// If the runtime cannot be unpacked, or it is not known where this executable lies.
pub fn watch_suite(command: &mut Command, folder: &Path) -> Result<(), RunError> {
    let runtime = runtime_folder()?;
    let here = std::env::current_exe().map_err(RunError::Wait)?;
    let mut libraries = OsString::from(runtime);
    if let Some(own) = std::env::var_os("LD_LIBRARY_PATH") {
        libraries.push(":");
        libraries.push(own);
    }
    command
        .env("LD_LIBRARY_PATH", libraries)
        .env(SUITE_VARIABLE, folder)
        .env(RECORDER_VARIABLE, here);
    Ok(())
}

/// Lets a command, and what comes of it, not be recorded, though a suite is.
pub fn unwatch(command: &mut Command) {
    command.env_remove(SUITE_VARIABLE).env_remove(RECORDER_VARIABLE);
}

/// Runs a program and records it.
///
/// # Errors
/// If it cannot be recorded, or the trace cannot be written. A program that fails is no error.
pub fn record(options: &Options) -> Result<Recorded, RunError> {
    let ready = options.launch().prepare()?;
    // Before anything of the trace is there, which the command might remove, or leave behind by failing.
    ready.make_place()?;
    let name = TraceName::claim(&options.output, options.naming)?;
    let options = &Options {
        output: name.path().to_owned(),
        ..options.clone()
    };
    let settings = options.settings();
    let ring_file = salvage::ring_path(&options.output);
    let mut ring = rings::on_file(&ring_file, settings)?;
    let meta = Meta {
        policy: settings::text(settings),
        seed: settings.seed,
        degraded: options.degraded.iter().cloned().collect(),
        ..ready.describe()
    };
    let mut translator = Translator::create(&options.output, meta.clone())?;
    let tree = ProcessTree::new(options, settings, ready.folder(), &meta, &ring)?;

    // What is run is on file before it runs, however soon this is killed.
    translator.follow(&mut ring)?;

    let signals = forwarder::Forwarder::install().map_err(RunError::Signals)?;
    let started = Instant::now();
    let Started { process, beside } = ready.start(&ring, None)?;
    let mut limits = Limits::new(options, started);
    let run = follow_all(process, ring, translator, &mut limits, &tree, signals);
    drop(beside);
    let elapsed = started.elapsed();
    let (status, ring, translator) = run?;

    end::must_be_attached(&ring, Some(status))?;
    let (summary, degraded) = translator.finish(end::ended(status, &ring, limits.reached.is_some()), &ring)?;
    tree.remove_others();
    let full = ring.has(Flag::Full);
    let done = tree.into_done();
    Ok(Recorded {
        name,
        status,
        elapsed,
        timed_out: limits.reached.is_some(),
        stopped: limits
            .reached
            .or_else(|| full.then(|| format!("stopped after {} events", summary.events))),
        deadlock: ring.has(Flag::Deadlock),
        degraded,
        summary,
        processes: done.processes,
        failures: done.failures,
    })
}

/// The first process, which another thread waits for.
struct First<'a> {
    ended: &'a AtomicBool,
    tree: &'a ProcessTree<'a>,
}

impl Followed for First<'_> {
    fn is_over(&mut self, _ring: &Ring) -> Result<bool, RunError> {
        Ok(self.ended.load(Ordering::Acquire))
    }

    fn attend(&mut self, _ring: &Ring, reaped: Vec<(u32, u32)>, _threads: &[ThreadInfo]) -> Result<(), RunError> {
        self.tree.reaped(reaped);
        Ok(())
    }

    fn wait(&self, ring: &Ring, _is_finished: bool) {
        ring.wait(PAUSE.as_nanos() as u64);
    }
}

/// Waits for the program while a thread takes what it sends; then takes the rest of it. The other processes of the
/// program are followed until the last of them has ended. An error lets the program go on by itself: the ring is
/// dropped, which tells the program not to wait for it.
fn follow_all(
    mut child: Child,
    mut ring: Ring,
    mut translator: Translator,
    limits: &mut Limits,
    tree: &ProcessTree<'_>,
    signals: forwarder::Forwarder,
) -> Result<(ExitStatus, Ring, Translator), RunError> {
    let ended = AtomicBool::new(false);
    let bell = ring.bell();
    thread::scope(|scope| {
        let mut first = First { ended: &ended, tree };
        let follower = scope.spawn(move || {
            follow(&mut first, &mut ring, &mut translator).inspect_err(|_| ring.leave())?;
            Ok::<_, RunError>((ring, translator))
        });
        scope.spawn(move || tree.serve(scope));
        let forwarding = signals.forward_to(&child, tree, scope);
        let status = limits.wait(&mut child);
        forwarding.is_over();
        ended.store(true, Ordering::Release);
        bell.ring();
        let followed = follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        tree.first_is_over();
        limits.wait_for(tree);
        drop(forwarding);
        let (ring, translator) = followed?;
        Ok((status.map_err(RunError::Wait)?, ring, translator))
    })
}
