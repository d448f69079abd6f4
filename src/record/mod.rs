//! Recording one run of a program into a trace file.
//!
//! The program runs with the recorder's runtime in place of libtsan and sends what it does through
//! shared memory; here its records become a trace. The two ends are `recorders/native` and
//! `recorders/ring`; nothing of the runtime is linked into the tool.
//!
//! Whatever happens to the program, the trace is finished with what it had sent until then.

mod companions;
mod forced_run;
mod fork_chain;
mod input;
mod inspect;
mod launch;
mod limits;
mod number;
pub(crate) mod process;
mod process_tree;
mod runtime;
mod salvage;
pub(crate) mod settings;
mod signals;
mod trace_name;
mod translate;

pub use companions::Companions;
pub use forced_run::{Parked, Stopped, run_forced};
pub use fork_chain::Descent;
pub use input::StandardInput;
pub use inspect::{NotRecordable, build_id};
pub use launch::Launch;
pub use number::{Origin, ProcessNumber, traces_beside};
pub use process_tree::Process;
pub use recorder_ring::layout::{PROCESSES, SUITE_VARIABLE};
pub use recorder_ring::{Decision, Policy, Settings, Standing, Step, plan};
pub use salvage::{Salvage, salvage};
pub use settings::settings_of;
pub use signals::{EndsWhenAsked, asked_to_end, asks_to_end, signal_name};
pub use trace_name::{Naming, TraceName};

pub(crate) use launch::{Ready, Started};
use limits::Limits;
use process_tree::ProcessTree;
use recorder_ring::layout::RECORDER_VARIABLE;
use recorder_ring::{Corrupt, Flag, Ring};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trace_format::{Meta, ProgramEnd, ReadError, Summary, TraceWriter, WriteError, WriterOptions};
pub(crate) use translate::Translator;

/// Words in the ring of rows: 512 KiB.
const ROW_WORDS: u64 = 64 << 10;
/// Bytes in the ring of events: little enough to stay in the processor's cache on the way from one process to the other.
const EVENT_BYTES: u64 = 2 << 20;
/// How long to sleep at most while the program has nothing to say.
const PAUSE: Duration = Duration::from_millis(100);

/// For how long nothing may happen along a plan, unless something else is said.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The status with which the dynamic linker ends a program that lacks a library or a symbol.
pub(crate) const LINKER_FAILED: i32 = 127;

/// Blocks come as the program closes them. The encoder has left little that repeats; what higher levels
/// find costs more time than the whole of the encoding.
const WRITER: WriterOptions = WriterOptions {
    block_bytes: 256 << 10,
    zstd_level: -3,
};

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
    /// What the program finds as its own name, if that is not its path: then it has loaded the runtime, and is not looked at.
    pub arg0: Option<OsString>,
    /// What the user wants to run before and beside it.
    pub companions: Companions,
}

impl Options {
    fn launch(&self) -> Launch {
        Launch {
            arg0: self.arg0.clone(),
            companions: self.companions.clone(),
            ..Launch::here(self.program.clone(), self.arguments.clone())
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

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The program cannot be recorded.
    #[error(transparent)]
    NotRecordable(#[from] NotRecordable),
    /// The runtime cannot be unpacked.
    #[error("cannot unpack the recorder's runtime to {folder}")]
    Unpack {
        /// Where to.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This build of `witness` holds no runtime.
    #[error("this build of witness cannot record: the recorder is for x86-64 Linux with glibc")]
    NoRuntime,
    /// Another recording has the trace's name.
    #[error("{}: another recording is writing it{holder}; name another file with -o", path.display())]
    NameTaken {
        /// The trace.
        path: PathBuf,
        /// Which process, in words, or nothing.
        holder: String,
    },
    /// A command of the user's that belongs to a run failed.
    #[error("cannot run {:?} for the program: {why}", command.display())]
    Setup {
        /// The command.
        command: OsString,
        /// Why.
        why: String,
    },
    /// No shared memory.
    #[error("cannot create the memory shared with the program")]
    Ring(#[source] io::Error),
    /// What the program prints cannot be kept.
    #[error("cannot keep what the program prints")]
    Output(#[source] io::Error),
    /// Signals cannot be passed on.
    #[error("cannot install signal handlers")]
    Signals(#[source] io::Error),
    /// The program does not start.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program's end is not known.
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
    /// The program wrote over the shared memory.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A trace without an end cannot be gone on with.
    #[error("cannot read the unfinished trace")]
    Read(#[source] ReadError),
    /// The trace file cannot be written.
    #[error("cannot write the trace")]
    Write(#[from] WriteError),
    /// It never began to run.
    #[error(
        "the program did not start: the dynamic linker ended it with status {LINKER_FAILED}; its message above says what is missing"
    )]
    NotLinked,
    /// The program ran without the runtime.
    #[error(
        "the program ran, but did not load the recorder's runtime (a set-user-id program? a library path built into it?)"
    )]
    NotAttached,
    /// The runtime does not know the program's C library.
    #[error(
        "the recorder does not know the program's C library; the message above says what differs, and docs/limits.md which versions are supported"
    )]
    UnknownLibrary,
}

/// The folder that holds the runtime, under the names that compilers ask for: to link against it.
///
/// # Errors
/// If it cannot be unpacked there.
pub fn runtime_folder() -> Result<PathBuf, RecordError> {
    runtime::unpack()
}

/// Lets every instrumented program that comes of a command be recorded by this executable, into the folder.
///
/// # Errors
/// If the runtime cannot be unpacked, or it is not known where this executable lies.
pub fn watch_suite(command: &mut Command, folder: &Path) -> Result<(), RecordError> {
    let runtime = runtime::unpack()?;
    let here = std::env::current_exe().map_err(RecordError::Wait)?;
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

/// Rings of a run whose trace nobody would look for if this process were killed.
pub(crate) fn new_ring(settings: Settings, plan: &[&[plan::Words]]) -> Result<Ring, RecordError> {
    Ring::with_plan(ROW_WORDS, EVENT_BYTES, settings, plan).map_err(RecordError::Ring)
}

/// Runs a program and records it.
///
/// # Errors
/// If it cannot be recorded, or the trace cannot be written. A program that fails is no error.
pub fn record(options: &Options) -> Result<Recorded, RecordError> {
    let ready = options.launch().prepare()?;
    // Before anything of the trace is there, which the command might remove, or leave behind by failing.
    ready.make_place()?;
    let name = TraceName::claim(&options.output, options.naming)?;
    let options = &Options {
        output: name.path().to_owned(),
        ..options.clone()
    };
    let settings = settings::of_options(options);
    let ring_file = salvage::ring_path(&options.output);
    let ring = Ring::create_at(&ring_file, ROW_WORDS, EVENT_BYTES, settings).map_err(RecordError::Ring)?;
    let writer = TraceWriter::create(&options.output, &WRITER)?;
    let meta = Meta {
        policy: settings::text(settings),
        seed: settings.seed,
        degraded: options.degraded.iter().cloned().collect(),
        ..ready.describe()
    };
    let tree = ProcessTree::new(options, settings, ready.folder(), &meta, &ring)?;

    let signals = signals::Forwarder::install().map_err(RecordError::Signals)?;
    let started = Instant::now();
    let Started { process, beside } = ready.start(&ring)?;
    let mut limits = Limits::new(options, started);
    let run = follow(
        process,
        ring,
        Translator::new(writer, meta),
        &mut limits,
        &tree,
        signals,
    );
    drop(beside);
    let elapsed = started.elapsed();
    let (status, ring, translator) = run?;

    must_be_attached(&ring, Some(status))?;
    let (summary, degraded) = translator.finish(ended(status, &ring, limits.reached.is_some()), &ring)?;
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

/// Fails if the program has ended, with that status if it is known, without having found its ring.
pub(crate) fn must_be_attached(ring: &Ring, ended: Option<ExitStatus>) -> Result<(), RecordError> {
    if ring.has(Flag::UnknownLibrary) {
        return Err(RecordError::UnknownLibrary);
    }
    if ring.has(Flag::Attached) {
        return Ok(());
    }
    Err(match ended.and_then(|status| status.code()) {
        Some(LINKER_FAILED) => RecordError::NotLinked,
        _ => RecordError::NotAttached,
    })
}

/// Waits for the program while a thread takes what it sends; then takes the rest of it. The other processes of the
/// program are followed until the last of them has ended.
fn follow(
    mut child: Child,
    ring: Ring,
    translator: Translator,
    limits: &mut Limits,
    tree: &ProcessTree<'_>,
    signals: signals::Forwarder,
) -> Result<(ExitStatus, Ring, Translator), RecordError> {
    let ended = AtomicBool::new(false);
    let bell = ring.bell();
    thread::scope(|scope| {
        let drainer = scope.spawn(|| drain(ring, translator, &ended, tree));
        scope.spawn(move || tree.serve(scope));
        let forwarding = signals.forward_to(&child, tree, scope);
        let status = limits.wait(&mut child);
        forwarding.is_over();
        ended.store(true, Ordering::Release);
        bell.ring();
        let drained = drainer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        tree.first_is_over();
        limits.wait_for(tree);
        drop(forwarding);
        let (ring, translator) = drained?;
        Ok((status.map_err(RecordError::Wait)?, ring, translator))
    })
}

/// Empties the rings until the program has ended. An error lets the program go on by itself: the
/// ring is dropped, which tells the program not to wait for it.
fn drain(
    mut ring: Ring,
    mut translator: Translator,
    ended: &AtomicBool,
    tree: &ProcessTree<'_>,
) -> Result<(Ring, Translator), RecordError> {
    loop {
        let last = ended.load(Ordering::Acquire);
        let more = translator.follow(&mut ring).inspect_err(|_| ring.leave())?;
        tree.reaped(translator.take_reaped());
        if more {
            continue;
        }
        if last {
            translator.follow_to_end(&mut ring)?;
            return Ok((ring, translator));
        }
        ring.wait(PAUSE.as_nanos() as u64);
    }
}

/// How the program's first process ended.
pub(crate) fn ended(status: ExitStatus, ring: &Ring, timed_out: bool) -> ProgramEnd {
    // Others may have been ended then, after the first one had ended by itself.
    if timed_out && status.signal() == Some(rustix::process::Signal::KILL.as_raw()) {
        return ProgramEnd::TimeLimit;
    }
    ended_by_the_runtime(ring).unwrap_or_else(|| ended_by_itself(status))
}

/// How a program ended that the runtime in it has ended.
fn ended_by_the_runtime(ring: &Ring) -> Option<ProgramEnd> {
    if ring.has(Flag::Deadlock) {
        Some(ProgramEnd::Deadlock)
    } else {
        ring.has(Flag::Full).then_some(ProgramEnd::EventLimit)
    }
}

fn ended_by_itself(status: ExitStatus) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, Some(signal)) => ProgramEnd::Signaled(signal),
        (None, None) => ProgramEnd::Unknown,
    }
}
