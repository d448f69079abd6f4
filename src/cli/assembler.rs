//! `witness` under the name `as`: the assembler that gcc calls for `witness cc`.
//!
//! gcc finds it by `-B`, in a folder of the user's cache. It gives the system's assembler the same arguments, and a text in
//! which inline assembly says what it does, and so do accesses that gcc has not instrumented (`src/assembly`). Whatever it cannot do so, it leaves to that assembler alone.

use super::output::say;
use anyhow::{Context, bail};
use hashbrown::HashMap;
use rustix::fs::{MemfdFlags, memfd_create};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use witness::assembly::{Access, announced, labelled, labelled_line};
use witness::session;
use witness::symbols::left_out_of;

/// The name of the program that gcc looks for.
const NAME: &str = "as";

/// Whether this is what gcc calls.
pub fn is_called() -> bool {
    env::args_os()
        .next()
        .is_some_and(|name| Path::new(&name).file_name() == Some(NAME.as_ref()))
}

/// The folder for gcc's `-B`.
///
/// # Errors
/// If it cannot be made.
pub fn folder() -> anyhow::Result<PathBuf> {
    let witness = env::current_exe().context("cannot find the program witness itself")?;
    session::link_folder(&witness, NAME).context("cannot put an assembler where gcc finds it")
}

/// Assembles; the exit status is the assembler's.
pub fn main() -> ExitCode {
    match assemble() {
        Ok(code) => code,
        Err(error) => {
            say!("witness: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn assemble() -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let assembler = assembler()?;
    let Some(input) = input(&arguments) else {
        let error = Command::new(&assembler).args(&arguments).exec();
        bail!("cannot run the assembler {}: {error}", assembler.display());
    };
    let mut bytes = Vec::new();
    match input {
        Input::File(at) => bytes = fs::read(&arguments[at]).with_context(|| arguments[at].display().to_string())?,
        Input::Standard => {
            std::io::stdin()
                .read_to_end(&mut bytes)
                .context("cannot read the standard input")?;
        }
    }
    let run = |text: &[u8], quiet: bool, output: Option<&Path>| -> anyhow::Result<ExitCode> {
        let mut command = Command::new(&assembler);
        for (at, argument) in arguments.iter().enumerate() {
            // It reads its standard input where no file is named.
            if input != Input::File(at) {
                command.arg(argument);
            }
        }
        if let Some(output) = output {
            // The last one counts.
            command.arg("-o").arg(output).stdout(Stdio::null());
        }
        command.stdin(Stdio::piped());
        if quiet {
            command.stderr(Stdio::null());
        }
        let child = command.spawn();
        let mut child = child.with_context(|| format!("cannot run the assembler {}", assembler.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that gave up reads no further, and says why itself.
            let _ = stdin.write_all(text);
        }
        let status = child.wait().context("cannot wait for the assembler")?;
        Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)))
    };
    if let Ok(text) = str::from_utf8(&bytes) {
        let left_out = labelled(text).and_then(|labelled| {
            // Memory that the assembler inherits, under a name that no other process needs to know.
            let object = memfd_create(NAME, MemfdFlags::empty()).ok()?;
            let place = PathBuf::from(format!("/proc/self/fd/{}", object.as_raw_fd()));
            let code = run(labelled.as_bytes(), true, Some(&place)).ok()?;
            let object = (code == ExitCode::SUCCESS).then(|| fs::read(&place).ok())??;
            left_out_of(&object)
        });
        let mut accesses: HashMap<usize, Vec<Access>> = HashMap::new();
        for (label, access) in left_out.into_iter().flatten() {
            if let Some(line) = labelled_line(&label) {
                accesses.entry(line).or_default().push(access);
            }
        }
        if let Some(text) = announced(text, &accesses) {
            if run(text.as_bytes(), true, None)? == ExitCode::SUCCESS {
                return Ok(ExitCode::SUCCESS);
            }
            // Then it is the program's fault, or ours; nobody shall fail to build for ours.
            let code = run(&bytes, false, None)?;
            if code == ExitCode::SUCCESS {
                say!("witness: an inline assembly statement was not understood: what this file's do is not recorded");
            }
            return Ok(code);
        }
    }
    run(&bytes, false, None)
}

/// Where the text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// The file that this argument names.
    File(usize),
    Standard,
}

/// What gcc's call has to assemble; nothing if it is not understood, or makes no code for x86-64.
fn input(arguments: &[OsString]) -> Option<Input> {
    // Options whose value is the next argument.
    const VALUED: [&str; 5] = ["-o", "-I", "--defsym", "--MD", "-MD"];
    let (mut inputs, mut skips, mut wide) = (Vec::new(), false, false);
    for (at, argument) in arguments.iter().enumerate() {
        let text = argument.to_str()?;
        if std::mem::take(&mut skips) {
            continue;
        }
        match text {
            "--64" => wide = true,
            "-" => inputs.push(None),
            "--version" | "--help" => return None,
            _ if VALUED.contains(&text) => skips = true,
            _ if text.starts_with(['-', '@']) => {}
            _ => inputs.push(Some(at)),
        }
    }
    match *inputs {
        _ if !wide => None,
        [] | [None] => Some(Input::Standard),
        [Some(at)] => Some(Input::File(at)),
        _ => None,
    }
}

/// The system's assembler: the first one that is not this program.
fn assembler() -> anyhow::Result<PathBuf> {
    let own = env::current_exe().ok();
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(NAME)).find(|file| {
        let runs = fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        runs && fs::canonicalize(file).ok() != own
    });
    found.context("there is no assembler (as) in PATH")
}

#[cfg(test)]
mod tests {
    use super::{Input, input};
    use std::ffi::OsString;

    #[test]
    fn what_gcc_has_to_assemble_is_one_file_or_what_it_pipes() {
        for (call, expected) in [
            ("--64 -o app.o /tmp/cc1.s", Some(Input::File(3))),
            ("-I . -v --64 -o app.o /tmp/cc1.s", Some(Input::File(6))),
            ("--64 -o app.o", Some(Input::Standard)),
            ("--64 -o app.o -", Some(Input::Standard)),
            ("--32 -o app.o /tmp/cc1.s", None),
            ("--64 -o app.o one.s two.s", None),
            ("--version", None),
        ] {
            let arguments: Vec<OsString> = call.split(' ').map(OsString::from).collect();
            assert_eq!(input(&arguments), expected, "{call}");
        }
    }
}
