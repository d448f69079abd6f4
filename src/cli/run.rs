//! `witness run`: records a program and analyses the trace, in one go.

use super::ExitCode;
use super::analyze::{AnalysisArgs, report};
use super::output::Color;
use super::record::{self, RecordArgs};
use witness::trace::Trace;

/// Record one run of a program, and analyze it.
///
/// As `witness record` and then `witness analyze` of its trace. The program's own exit status does
/// not count; the verdicts do.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness run -- ./app --threads 4
  witness run --policy random --seed 7 -o run7.bin -- ./app

Exit status: 66 a race witnessed, 3 only unknowns, 0 neither, 2 a program that cannot be recorded.")]
pub struct RunArgs {
    #[command(flatten)]
    analysis: AnalysisArgs,
    #[command(flatten)]
    record: RecordArgs,
}

pub fn run(args: &RunArgs, color: Color) -> anyhow::Result<ExitCode> {
    record::run(&args.record)?;
    let path = args.record.output();
    report(&path, &Trace::open(&path)?, &args.analysis, false, color)
}
