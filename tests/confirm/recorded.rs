//! Programs, compiled and recorded.

use crate::command::{said, witness};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the test programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// The folder with the reports.
pub fn reports() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/confirm/reports")
}

/// An empty folder for the files of one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("confirm").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old folder is removed");
    }
    fs::create_dir_all(&folder).expect("a folder is made");
    folder
}

/// Compiles a program of `tests/programs` for recording.
pub fn compile(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let expectation = fs::read_to_string(programs().join(format!("{name}.expect"))).expect("an expectation");
    let statement = |word: &str| {
        let lines = expectation.lines().filter_map(|line| line.strip_prefix(word));
        lines
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let source = statement("source ").pop().unwrap_or_else(|| {
        let c = format!("{name}.c");
        if programs().join(&c).exists() {
            c
        } else {
            format!("{name}.cc")
        }
    });
    let compiler = if source.ends_with(".cc") { "g++" } else { "gcc" };
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command
        .args(["-g", "-O0", "-fsanitize=thread", "-pthread"])
        .args(statement("cflags "))
        .args(flags);
    said(command.arg(programs().join(source)).arg("-o").arg(&program)).expect(0);
    program
}

/// Compiles a program of `tests/confirm/programs` for recording, with its source beside it.
pub fn compile_own(folder: &Path, name: &str) {
    let source = format!("{name}.c");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/confirm/programs");
    fs::copy(programs.join(&source), folder.join(&source)).expect("the source is copied");
    witness(folder, &["cc", "-pthread", &source, "-o", name]).expect(0);
}

/// Compiles and records a program; returns the trace's name in the folder.
pub fn record(folder: &Path, name: &str) -> String {
    compile(folder, name, &[]);
    let trace = format!("{name}.bin");
    let program = format!("./{name}");
    let recorded = witness(folder, &["record", "-o", &trace, "--", &program]);
    assert!(recorded.stderr.contains(&trace), "{}", recorded.stderr);
    trace
}
