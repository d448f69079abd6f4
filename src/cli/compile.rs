//! `witness cc` and `witness c++`: the compiler, with the flags that a program needs to be recorded.

use super::output::print;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use witness::session;
use witness::symbols::gcc_flags;

/// Compile C for recording: the C compiler, with flags added.
///
/// Runs $WITNESS_CC, or cc, with the arguments given and the flags of an ordinary ThreadSanitizer build
/// in front of them; --show prints the command instead. Where that is gcc, inline assembly and
/// structures that are passed by value are recorded, too. Works as the compiler of a build system:
/// make CC="witness cc".
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness cc -o app app.c -pthread
  witness c++ -std=c++20 -o app app.cc -pthread
  make CC='witness cc' CXX='witness c++'")]
pub struct CompileArgs {
    /// Print the command instead of running it.
    #[arg(long, env = "WITNESS_SHOW")]
    show: bool,
    /// The arguments for the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// A language, with the compiler that is used for it unless the user names another.
#[derive(Clone, Copy, Debug)]
pub enum Language {
    C,
    Cpp,
}

impl Language {
    /// Its name.
    pub fn compiler(self) -> OsString {
        let (variable, default) = match self {
            Language::C => ("WITNESS_CC", "cc"),
            Language::Cpp => ("WITNESS_CXX", "c++"),
        };
        std::env::var_os(variable).unwrap_or_else(|| default.into())
    }
}

/// What gcc is to read before each file.
const CALLS: &str = include_str!("compile.h");
/// Every compiler's.
const ALWAYS: [&str; 2] = ["-g", "-fsanitize=thread"];
/// clang links its own runtime into the program unless told otherwise, and leaves out the read in `x++`.
const CLANG: [&str; 3] = ["-shared-libsan", "-mllvm", "-tsan-instrument-read-before-write=1"];

impl Language {
    /// The compiler, with the flags that recording needs.
    pub fn command(self) -> anyhow::Result<Command> {
        let compiler = self.compiler();
        let name = compiler.to_string_lossy().into_owned();
        let version = Command::new(&compiler).arg("--version").output();
        let version = version
            .with_context(|| format!("cannot run the compiler {name}; WITNESS_CC or WITNESS_CXX names another"))?;
        let version = String::from_utf8_lossy(&version.stdout);
        let mut command = Command::new(&compiler);
        command.args(ALWAYS);
        if version.contains("clang") {
            command.args(CLANG);
        } else {
            command.args(gcc_flags(gcc_version(&version)));
            let calls = session::kept_file("compile.h", CALLS).context("cannot put a header where gcc finds it")?;
            command.arg("-include").arg(calls);
            // Where gcc looks for its assembler first: inline assembly is to be recorded as well, and what gcc leaves out.
            let mut folder = OsString::from("-B");
            folder.push(super::assembler::folder()?.join(""));
            command.arg(folder);
        }
        Ok(command)
    }
}

/// The first number of gcc's version: `gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)`.
fn gcc_version(said: &str) -> u32 {
    let (_, behind_who) = said.split_once(") ").unwrap_or_default();
    let major = behind_who.split(|other: char| !other.is_ascii_digit()).next();
    major.and_then(|major| major.parse().ok()).unwrap_or(0)
}

/// Becomes the compiler; comes back only with an error.
pub fn run(args: &CompileArgs, language: Language) -> anyhow::Result<ExitCode> {
    let mut command = language.command()?;
    command.args(&args.arguments);
    if args.show {
        let words: Vec<_> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .collect();
        print(|out| Ok(writeln!(out, "{}", words.join(" ".as_ref()).to_string_lossy())?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let error = command.exec();
    bail!(
        "cannot run the compiler {}: {error}",
        language.compiler().to_string_lossy()
    )
}

#[cfg(test)]
mod tests {
    use super::gcc_version;

    #[test]
    fn gcc_says_its_version() {
        assert_eq!(
            gcc_version("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022"),
            12
        );
        assert_eq!(gcc_version("gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)"), 8);
        assert_eq!(gcc_version("tcc version 0.9.27"), 0);
    }
}
