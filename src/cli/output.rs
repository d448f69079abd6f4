//! Standard output: buffered, closed early or not, coloured or not.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use witness::escape::Escaped;

/// When to color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to color what goes to standard output.
    pub fn for_stdout(self) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) && io::stdout().is_terminal(),
        }
    }
}

/// Says something on standard error, in lines that are nothing but text. That nobody hears it is no reason to end
/// otherwise than one would have ended.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", witness::escape::lines(&format!($($words)*)));
    }};
}
pub(super) use say;

/// Standard output, of which every line is nothing but text.
pub type Out<'a> = Escaped<BufWriter<StdoutLock<'a>>>;

/// Writes to standard output. That the reader closed it is a normal end.
pub fn print(write: impl FnOnce(&mut Out<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    // Whether there are colors is decided by who writes; where they are not wanted there are none.
    print_to(Escaped::new(BufWriter::new(io::stdout().lock()), true), write)
}

/// As [`print`], but lines may be commands to a service that runs builds.
pub fn print_commands(write: impl FnOnce(&mut Out<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    print_to(Escaped::with_commands(BufWriter::new(io::stdout().lock())), write)
}

fn print_to(mut out: Out<'_>, write: impl FnOnce(&mut Out<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    match written {
        Err(error) if is_closed_pipe(&error) => {
            // What is still buffered would fail once more, with a message, when it is dropped.
            let _ = out.into_inner().into_parts();
            Ok(())
        }
        written => written,
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    causes.any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}
