//! `witness convert`: a trace in another format.

use super::ExitCode;
use super::input::list_repairs;
use super::output::say;
use anyhow::{Context, bail};
use safe_files::{Draft, Readers};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use trace_format::TraceFile;
use witness::import::{self, Format};
use witness::trace::Trace;

/// Convert a trace from one format to another.
///
/// Reads our own traces, RAPID's STD text and binary traces, RoadRunner's log, and JSON lines; writes our own, STD and
/// JSON lines. JSON lines lose nothing; STD has no values, and only locks, waits, threads and plain accesses. A trace
/// that no execution can have is refused with line and reason; --repair mends it and lists each repair on stderr.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness convert trace.std trace.bin
  witness convert --from std --repair broken.txt mended.bin
  witness convert trace.bin trace.jsonl

Exit status: 0 done, 2 a trace that cannot be read, is refused, or cannot be said in the format.")]
pub struct ConvertArgs {
    /// The trace to read.
    input: PathBuf,
    /// Where to write it.
    output: PathBuf,
    /// Its format: witness, std, rapidbin, roadrunner, rv-predict or jsonl [default: recognized by its content].
    #[arg(long, env = "WITNESS_FROM_FORMAT", value_name = "FORMAT")]
    from: Option<Format>,
    /// The format to write: witness, std or jsonl [default: by the output's name, .bin, .std or .jsonl].
    #[arg(long, env = "WITNESS_TO_FORMAT", value_name = "FORMAT")]
    to: Option<Format>,
    /// Mend a trace that no execution can have.
    #[arg(long, env = "WITNESS_REPAIR")]
    repair: bool,
}

/// Runs the command.
pub fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let Some(to) = args.to.or_else(|| Format::of_name(&args.output)) else {
        bail!(
            "cannot tell a format from the name {}; give one with --to",
            args.output.display()
        );
    };
    if matches!(to, Format::RapidBin | Format::RoadRunner) {
        bail!("{to} can be read, but not written; --to takes witness, std or jsonl");
    }
    let opened = import::open(&args.input, args.from, args.repair)?;
    list_repairs(&opened.repairs);
    let written = write(&opened.file, to, &args.output);
    written.with_context(|| format!("cannot write {}", args.output.display()))?;
    say!("witness: wrote {}: {} events", args.output.display(), opened.file.len());
    Ok(ExitCode::Nothing)
}

/// Writes to another name first, so that a file that was there stays whole if this fails.
fn write(file: &TraceFile, to: Format, path: &Path) -> anyhow::Result<()> {
    let mut draft = Draft::create(path, ".partial", Readers::Owner)?;
    let mut out = BufWriter::new(&mut draft);
    let written = write_to(file, to, &mut out).and_then(|()| Ok(out.flush()?));
    drop(out);
    match written {
        Ok(()) => Ok(draft.rename()?),
        Err(error) => {
            draft.discard();
            Err(error)
        }
    }
}

fn write_to(file: &TraceFile, to: Format, out: &mut dyn Write) -> anyhow::Result<()> {
    match to {
        Format::Std => {
            let left_out = import::write_std(&Trace::from_file(file)?, out)?;
            for (kind, count) in left_out {
                say!("witness: left out {count} events of the kind {kind}, which STD does not have");
            }
        }
        Format::JsonLines => import::write_json_lines(file, out)?,
        _ => import::write_native(file, out)?,
    }
    Ok(())
}
