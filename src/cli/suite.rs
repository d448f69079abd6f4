//! One program of a test suite: recorded by a `witness record` that took its place.
//!
//! The runtime in a program that `witness test` has started, directly or not, finds no ring. It turns its process into
//! `witness record --in-suite`, which starts the program again as its child, before it has run any code of its own. So
//! the program's parent waits for the recorder, which ends as the program does: with the same status, or by the same
//! signal. It writes nothing to standard error, which tests compare, but a line to `processes.jsonl`.

use super::record::{RecordArgs, options};
use super::{ExitCode, program_end};
use anyhow::Context;
use safe_files::Readers;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::TraceFile;
use witness::record::{self, Naming, Options, PROCESSES, Recorded, SUITE_VARIABLE};
use witness::session::{self, RunError};
use witness::standstill::Standstill;

/// What became of one process of the suite.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its trace, in the folder; `None` if there is nothing in it that could race.
    pub trace: Option<PathBuf>,
    /// Its threads.
    pub threads: u32,
    /// Events recorded.
    pub events: u64,
    /// How it failed, in words, if it did.
    pub failed: Option<String>,
    /// Which threads wait forever, where it died.
    pub standstill: Vec<String>,
    /// Threads wait forever.
    pub deadlock: bool,
    /// Why it was not recorded, if it was not.
    pub not_recorded: Option<String>,
    /// It is not instrumented, and loaded modules that are when it ran already; the runtime itself says so.
    #[serde(skip_serializing)]
    loaded_late: bool,
}

/// What to do about a program that loads instrumented modules late.
const LATE: &str = "the program is not instrumented, and has loaded modules that are. Load the runtime at its start: \
                    env LD_PRELOAD=libtsan.so.2 PROGRAM";

/// The processes that ended so far.
pub fn processes(folder: &Path) -> anyhow::Result<Vec<Process>> {
    let path = folder.join(PROCESSES);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    // A recorder that was killed may have left half a line.
    let processes = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    Ok(processes
        .map(|mut process: Process| {
            if process.loaded_late {
                process.not_recorded = Some(LATE.to_owned());
            }
            process
        })
        .collect())
}

/// Records the program, and ends as it does.
pub fn run(args: &RecordArgs, arg0: &OsStr) -> anyhow::Result<std::process::ExitCode> {
    let folder = std::env::var_os(SUITE_VARIABLE).map(PathBuf::from);
    let folder = folder.with_context(|| format!("{SUITE_VARIABLE} is not set: `witness test` sets it"))?;
    let mut options = options(args)?;
    let own = Path::new(arg0);
    let same = |program: &Path| program.canonicalize().ok() == Path::new(&options.program).canonicalize().ok();
    if own.components().count() > 1 && same(own) {
        // As it was started, and will be when it is driven along a trace.
        options.program = arg0.to_owned();
    }
    let name = Path::new(&options.program).file_name().unwrap_or_default();
    let mut file = name.to_owned();
    file.push(".bin");
    let options = Options {
        output: folder.join(file),
        naming: Naming::NeverUsed,
        arg0: Some(arg0.to_owned()),
        ..options
    };
    let command = std::iter::once(&options.program).chain(&options.arguments);
    let command: Vec<String> = command.map(|word| word.to_string_lossy().into_owned()).collect();
    match record::record(&options) {
        Ok(recorded) => {
            for line in lines(command, &recorded) {
                append(&folder, &line)?;
            }
            Ok(end_as(&recorded))
        }
        Err(error) => {
            // Causes that a message does not say itself.
            let why = super::message(&anyhow::anyhow!(error.to_string()));
            let ran = ran(&error);
            let line = Process {
                command,
                not_recorded: Some(why),
                ..Process::default()
            };
            append(&folder, &line)?;
            if ran {
                return Err(error.into());
            }
            // The suite goes on as if nobody watched.
            let mut program = Command::new(&options.program);
            program.args(&options.arguments).arg0(arg0);
            record::unwatch(&mut program);
            Err(program.exec()).with_context(|| options.program.display().to_string())
        }
    }
}

/// Whether the program ran, though there is no trace of it: it must not run a second time.
fn ran(error: &RunError) -> bool {
    !matches!(
        error,
        RunError::NotRecordable(_)
            | RunError::Unpack { .. }
            | RunError::NoRuntime
            | RunError::Ring(_)
            | RunError::NameTaken { .. }
            | RunError::Signals(_)
            | RunError::Start { .. }
    )
}

/// What is said of a recording: a line for each process. Traces in which nothing can race are removed.
fn lines(command: Vec<String>, recorded: &Recorded) -> Vec<Process> {
    // Of a deadlock, the lines about the threads say more.
    let failed = program_end::failure(recorded).filter(|_| !recorded.deadlock);
    let first = (&recorded.summary, failed);
    let others = recorded.processes.iter().map(|process| (&process.summary, None));
    let mut lines: Vec<Process> = [first]
        .into_iter()
        .chain(others)
        .map(|(summary, failed)| {
            let file = TraceFile::open(&summary.path);
            let standstill = file.and_then(|file| Standstill::of(&file)).unwrap_or_default();
            let deaths = standstill.died.iter().map(|death| {
                let signal = session::signal_name(death.signal);
                format!("died of {signal}: {death}")
            });
            let waits = standstill.waits.iter().filter(|wait| wait.for_ever);
            let said = deaths.chain(waits.map(|wait| format!("deadlock: {wait}"))).collect();
            let single = summary.threads < 2;
            if single {
                // Whoever keeps it from being removed wants to keep it.
                let _ = fs::remove_file(&summary.path);
            }
            Process {
                command: command.clone(),
                trace: summary.path.file_name().filter(|_| !single).map(PathBuf::from),
                threads: summary.threads as u32,
                events: summary.events,
                failed,
                deadlock: standstill.is_deadlock(),
                standstill: said,
                ..Process::default()
            }
        })
        .collect();
    lines.extend(recorded.failures.iter().map(|why| Process {
        command: command.clone(),
        not_recorded: Some(why.clone()),
        ..Process::default()
    }));
    if recorded.stopped.is_some() {
        let limit = if recorded.timed_out {
            "--timeout"
        } else {
            "--max-events"
        };
        lines[0].failed = Some(format!("was ended by {limit}"));
    }
    lines
}

/// Adds a line, in one write: many recorders do.
fn append(folder: &Path, line: &Process) -> anyhow::Result<()> {
    let path = folder.join(PROCESSES);
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    safe_files::append(&path, text.as_bytes(), Readers::AsUsual).with_context(|| path.display().to_string())
}

/// Ends as the program did.
fn end_as(recorded: &Recorded) -> std::process::ExitCode {
    if recorded.deadlock {
        return ExitCode::Deadlock.into();
    }
    if recorded.timed_out {
        return ExitCode::TimedOut.into();
    }
    match (recorded.status.code(), recorded.status.signal()) {
        (Some(code), _) => std::process::ExitCode::from(code as u8),
        (None, Some(signal)) => {
            // Comes back only from what kills nobody.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::ExitCode::from(128_u8.wrapping_add(signal as u8))
        }
        (None, None) => ExitCode::Failed.into(),
    }
}
