//! `witness doctor`: checks that everything `witness` needs is there, and says how to get what is missing.

use super::ExitCode;
use super::compile::Language;
use super::output::{Color, print};
use anyhow::{Context, bail};
use safe_files::ScratchFolder;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use witness::analyze::{self, analyze};
use witness::check::Checker;
use witness::own::Origin;
use witness::record;
use witness::replay::live::{self, Outcome};
use witness::report::Paint;
use witness::session::{Companions, Policy};
use witness::trace::Trace;
use witness::verdict::{Analysis, Verdict};

/// Check the setup: compiler, recorder, solver, live replay.
///
/// Builds a small program with a race, records it, analyzes the trace, and replays the witness live, each step as you
/// would. For each check that fails, it says what to do.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness doctor

Exit status: 0 everything that is needed is there, 2 something is missing.")]
pub struct DoctorArgs {}

/// Two threads that write the same variable.
const PROGRAM: &str = "#include <pthread.h>\n#include <stddef.h>\nint shared;\n\
    static void *work(void *unused) { shared = 1; return unused; }\n\
    int main(void) {\n    pthread_t other;\n    pthread_create(&other, NULL, work, NULL);\n    shared = 2;\n\
    \x20   return pthread_join(other, NULL);\n}\n";

/// What a check found.
enum Found {
    Good(String),
    /// Not needed for most.
    Lacking(String, &'static str),
    Bad(String, &'static str),
}

pub fn run(_: &DoctorArgs, color: Color) -> anyhow::Result<ExitCode> {
    let folder = ScratchFolder::new("witness-doctor").context("cannot make a folder for temporary files")?;
    let paint = Paint { on: color.for_stdout() };
    let mut bad = false;
    let mut tell = |name: &str, found: Found| {
        bad |= matches!(found, Found::Bad(..));
        print(|out| {
            match found {
                Found::Good(what) => writeln!(out, "{}    {name}: {what}", paint.good("ok"))?,
                Found::Lacking(what, remedy) => {
                    writeln!(out, "{}  {name}: {what}\n      {remedy}", paint.access("note"))?
                }
                Found::Bad(what, remedy) => writeln!(out, "{}  {name}: {what}\n      {remedy}", paint.warning("FAIL"))?,
            }
            Ok(())
        })
    };
    tell("witness", Found::Good(env!("CARGO_PKG_VERSION").to_owned()))?;
    tell("solver", Found::Good(format!("Z3 {}", z3::full_version())))?;
    // Each of these needs what the one before has made.
    let program = match compile(folder.path()) {
        Ok((program, version)) => {
            tell("compiler", Found::Good(version))?;
            Some(program)
        }
        Err(error) => {
            tell("compiler", Found::Bad(super::message(&error), COMPILER))?;
            None
        }
    };
    let trace = match program.map(|program| record(folder.path(), &program)) {
        Some(Ok((trace, what))) => {
            tell("recorder", Found::Good(what))?;
            Some(trace)
        }
        Some(Err(error)) => {
            tell("recorder", Found::Bad(super::message(&error), RECORDER))?;
            None
        }
        None => None,
    };
    if let Some(trace) = trace {
        let analysis = analyze(&trace, &analyze::Options::default());
        tell("analysis", witnessed(&analysis))?;
        tell("live replay", confirmed(&trace, &analysis))?;
    }
    tell("addresses", addresses())?;
    tell("debugger", debugger())?;
    Ok(if bad { ExitCode::BadInput } else { ExitCode::Nothing })
}

const COMPILER: &str = "Install gcc with ThreadSanitizer's library (Debian: apt-get install build-essential; Fedora: gcc libtsan),\n      \
    or name another compiler: WITNESS_CC=clang";
const RECORDER: &str = "The recorder unpacks its library to $XDG_CACHE_HOME or ~/.cache, else to the folder for temporary files, and\n      \
    needs shared memory (memfd_create) and futexes, which some sandboxes forbid";

fn compile(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    let (source, program) = (folder.join("doctor.c"), folder.join("doctor"));
    fs::write(&source, PROGRAM).with_context(|| format!("cannot write {}", source.display()))?;
    let compiler = Language::C.compiler();
    let name = compiler.to_string_lossy().into_owned();
    let version = Command::new(&compiler).arg("--version").output();
    let version = version.with_context(|| format!("cannot run the compiler {name}"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let mut command = Language::C.command()?;
    let output = command.arg("-pthread").arg(&source).arg("-o").arg(&program).output();
    let output = output.with_context(|| format!("cannot run the compiler {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said
            .lines()
            .find(|line| line.contains("error") || line.contains("cannot find"));
        bail!(
            "{name} does not build with -fsanitize=thread: {}",
            first.unwrap_or("no message").trim()
        );
    }
    Ok((
        program,
        format!("{name}: {}", version.lines().next().unwrap_or_default()),
    ))
}

fn record(folder: &Path, program: &Path) -> anyhow::Result<(Trace, String)> {
    let output = folder.join("doctor.bin");
    let recorded = record::record(&record::Options {
        program: program.into(),
        arguments: Vec::new(),
        output: output.clone(),
        naming: record::Naming::Exact,
        policy: Policy::Fifo,
        seed: 0,
        depth: 3,
        steps: 0,
        max_events: None,
        timeout: None,
        degraded: None,
        arg0: None,
        keep_env: Vec::new(),
        companions: Companions::default(),
    })?;
    let trace = Trace::open(&output)?;
    let what = format!("{} events of {} threads", recorded.summary.events, trace.threads());
    Ok((trace, what))
}

fn witnessed(analysis: &Analysis) -> Found {
    match analysis
        .pairs
        .iter()
        .filter(|pair| matches!(pair.verdict, Verdict::Witnessed(_)))
        .count()
    {
        0 => Found::Bad(
            "the program's race was not found".to_owned(),
            "This is a bug in witness: please report it",
        ),
        count => Found::Good(format!("{count} data race witnessed, as expected")),
    }
}

fn confirmed(trace: &Trace, analysis: &Analysis) -> Found {
    let remedy = "Only `witness replay --live` needs this; witnesses are proofs without it";
    let schedule = analysis.pairs.iter().find_map(|pair| match &pair.verdict {
        Verdict::Witnessed(schedule) => Some(schedule),
        _ => None,
    });
    let Some(schedule) = schedule else {
        return Found::Bad("there is no witness to replay".to_owned(), remedy);
    };
    let checker = Checker::new(trace);
    let run = live::launch(trace, &[], Origin::Here)
        .and_then(|launch| live::attempt(&live::Planner::new(&checker, []), schedule, &launch, 3));
    match run {
        Ok((run, ..)) if matches!(run.outcome, Outcome::Confirmed(_)) => {
            Found::Good("both accesses were pending at once".to_owned())
        }
        Ok((run, ..)) => Found::Bad(witness::report::in_short(&schedule.goal, &run.outcome), remedy),
        Err(error) => Found::Bad(super::message(&error.into()), remedy),
    }
}

/// Whether the kernel lets a program have the same addresses in each run.
fn addresses() -> Found {
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match quiet(Command::new("setarch").args(["-R", "true"])) {
        Ok(status) if status.success() => Found::Good("their randomization can be switched off".to_owned()),
        Ok(_) => Found::Lacking(
            "their randomization cannot be switched off here".to_owned(),
            "Not needed; runs are then compared without addresses being equal. In a container: --security-opt seccomp=unconfined",
        ),
        Err(_) => Found::Lacking(
            "cannot tell whether their randomization can be switched off".to_owned(),
            "Not needed; install setarch (util-linux) to find out",
        ),
    }
}

/// What `replay --live --gdb` needs.
fn debugger() -> Found {
    let gdb = Command::new("gdb").arg("--version").output();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match (gdb, scope.trim()) {
        (Err(_), _) => Found::Lacking(
            "no gdb".to_owned(),
            "Only for `witness replay --live --gdb`: apt-get install gdb",
        ),
        (Ok(_), "2" | "3") => Found::Lacking(
            format!("the kernel forbids attaching one (ptrace_scope {})", scope.trim()),
            "Only for `witness replay --live --gdb`: sysctl kernel.yama.ptrace_scope=0",
        ),
        (Ok(_), "1") if !is_root() => Found::Lacking(
            "the kernel lets it attach only to programs that it started (ptrace_scope 1)".to_owned(),
            "Only for `witness replay --live --gdb`: sysctl kernel.yama.ptrace_scope=0, or attach with sudo gdb",
        ),
        (Ok(output), _) => {
            let version = String::from_utf8_lossy(&output.stdout).into_owned();
            Found::Good(version.lines().next().unwrap_or("gdb").to_owned())
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
