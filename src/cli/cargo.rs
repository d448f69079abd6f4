//! `witness cargo`: builds a Rust program for recording, and records what cargo runs of it.
//!
//! rustc's ThreadSanitizer instrumentation is not stable; `RUSTC_BOOTSTRAP` makes a stable compiler offer it. The
//! standard library has to be instrumented as well, from its source (`rustup component add rust-src`): its condition
//! variables, barriers and scopes order threads by atomics of their own. Without their events, a pair that they keep
//! apart may look like a race, so the library is left out only on request, and the traces say so.

use super::output::say;
use anyhow::{Context, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use witness::session::BACKTRACES;
use witness::{record, session};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Build a Rust program for recording, and record what cargo runs.
///
/// `witness cargo run` and `witness cargo test` take cargo's own arguments. Each program that cargo
/// runs leaves a trace in the folder witness/traces of the target folder; WITNESS_POLICY, WITNESS_SEED
/// and so on are those of `witness record`. Any other cargo command works as well, such as build.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness cargo run --release -- --threads 4
  WITNESS_POLICY=random WITNESS_SEED=7 witness cargo test queue
  witness cargo +nightly test

The standard library is built anew, from its source: rustup component add rust-src.
The exit status is cargo's.")]
pub struct CargoArgs {
    /// Do not instrument the standard library: quick to build, but the order that it makes is not seen, so pairs that
    /// it orders may be reported as races. The traces say that they are incomplete.
    #[arg(long, env = "WITNESS_PLAIN_STD")]
    plain_std: bool,
    /// Leave RUST_BACKTRACE as it is. Otherwise it is 0 while programs are recorded: for one backtrace, the instrumented
    /// standard library reads all debug information of the program, in some hundred million events.
    #[arg(long, env = "WITNESS_BACKTRACES")]
    backtraces: bool,
    /// The arguments for cargo.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Runs cargo; ends with its exit status.
pub fn run(args: &CargoArgs) -> anyhow::Result<ExitCode> {
    let (toolchain, arguments) = match args.arguments.split_first() {
        Some((first, rest)) if first.to_string_lossy().starts_with('+') => (Some(first), rest),
        _ => (None, &*args.arguments),
    };
    let (subcommand, arguments) = arguments.split_first().context("no cargo command given")?;
    let runtime = session::runtime_folder()?;
    let folder = target_folder(toolchain)?.join("witness");
    let traces = folder.join("traces");
    safe_files::make_folder(&traces).with_context(|| traces.display().to_string())?;
    let exact = !args.plain_std;
    ensure!(
        !exact || has_library_source(toolchain)?,
        "the source of Rust's standard library is missing, and it has to be instrumented to see how it orders threads.\n\
         Install it: rustup component add rust-src (for the toolchain in use); or go without it: witness cargo --plain-std"
    );

    let mut cargo = cargo(toolchain);
    // Under `witness test`, programs become recorders by themselves.
    let in_suite = std::env::var_os(record::SUITE_VARIABLE).is_some();
    let witness = std::env::current_exe().context("cannot find the program witness itself")?;
    let witness = witness.to_string_lossy();
    let mut runner = None;
    if !in_suite && witness.contains(' ') {
        // cargo cuts the variable at the spaces of a path. A setting can be a list, but only cargo's own commands take
        // it.
        let words =
            serde_json::to_string(&[&*witness, "record", "--"]).context("cannot encode the recording command")?;
        cargo.arg("--config").arg(format!("target.{TARGET}.runner={words}"));
    } else if !in_suite {
        runner = Some(format!("{witness} record --"));
    }
    cargo.arg(subcommand).args(["--target", TARGET]);
    if args.backtraces {
        cargo.env(BACKTRACES, "true");
    }
    if exact {
        cargo.arg("-Zbuild-std");
        if !args.backtraces {
            without_backtraces(&mut cargo);
        }
    } else {
        cargo.env(
            "WITNESS_DEGRADED",
            "Rust's standard library was not instrumented; order that it makes may be missing",
        );
    }
    cargo.args(arguments);
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo.env("CARGO_TARGET_DIR", &folder);
    for (compiler, kind) in [
        ("CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"),
        ("CARGO_ENCODED_RUSTDOCFLAGS", "RUSTDOCFLAGS"),
    ] {
        cargo.env(compiler, flags(&runtime, exact, compiler, kind));
    }
    if let Some(runner) = runner {
        cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    }
    if !in_suite {
        cargo.env("WITNESS_OUTPUT", &traces);
    }
    let status = cargo.status().context("cannot run cargo")?;
    if !in_suite {
        say!("witness: the traces are in {}", traces.display());
    }
    Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)))
}

/// Keeps what is recorded from printing backtraces, and says so if it was to.
fn without_backtraces(cargo: &mut Command) {
    for name in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        if std::env::var_os(name).is_some_and(|value| value != "0") {
            cargo.env(name, "0");
            say!("witness: {name} is 0 for what is recorded, since a backtrace takes very long there (--backtraces)");
        }
    }
}

fn cargo(toolchain: Option<&OsString>) -> Command {
    // Not $CARGO: inside of cargo, that names one toolchain's, which takes no `+`.
    let mut cargo = Command::new("cargo");
    cargo.args(toolchain);
    cargo
}

/// The user's flags, and ours behind them: those of the compiler, or of rustdoc, which compiles the examples in the
/// documentation. `encoded` is the variable in which cargo takes them, `plain` that which it would read otherwise.
fn flags(runtime: &Path, exact: bool, encoded: &str, plain: &str) -> OsString {
    const SEPARATOR: &str = "\u{1f}";
    let mut flags = OsString::new();
    if let Some(own) = std::env::var_os(encoded) {
        flags.push(own);
        flags.push(SEPARATOR);
    } else if let Ok(own) = std::env::var(plain) {
        for flag in own.split_whitespace() {
            flags.push(flag);
            flags.push(SEPARATOR);
        }
    }
    flags.push(
        [
            "-Zsanitizer=thread",
            // The program asks for the shared runtime instead of having one linked in.
            "-Zexternal-clangrt",
            "-Zpre-link-args=-l:libtsan.so.2",
            // Else `x += 1` is a write without the read.
            "-Cllvm-args=-tsan-instrument-read-before-write=1",
            "-Cdebuginfo=1",
            // Of a profile without debug information, cargo would have the linker take ours out again.
            "-Cstrip=none",
            "-Cforce-unwind-tables=yes",
        ]
        .join(SEPARATOR),
    );
    flags.push(SEPARATOR);
    flags.push("-Zpre-link-args=-L");
    flags.push(runtime);
    if !exact {
        flags.push(SEPARATOR);
        flags.push("-Cunsafe-allow-abi-mismatch=sanitizer");
    }
    flags
}

/// Where cargo puts what it builds here.
fn target_folder(toolchain: Option<&OsString>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        return std::path::absolute(folder).context("CARGO_TARGET_DIR");
    }
    let mut locate = cargo(toolchain);
    locate.args(["locate-project", "--workspace", "--message-format", "plain"]);
    let output = locate
        .output()
        .context("cannot run cargo; install it from https://rustup.rs")?;
    ensure!(
        output.status.success(),
        "cargo finds no project here: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(manifest.with_file_name("target"))
}

/// Whether the toolchain has the source of the standard library.
fn has_library_source(toolchain: Option<&OsString>) -> anyhow::Result<bool> {
    let mut rustc = Command::new("rustc");
    rustc.args(toolchain).args(["--print", "sysroot"]);
    let output = rustc.output().context("cannot run rustc")?;
    ensure!(
        output.status.success(),
        "rustc: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(sysroot.join("lib/rustlib/src/rust/library/Cargo.lock").exists())
}
