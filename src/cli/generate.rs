//! `witness generate`: a synthetic trace, for benchmarks and experiments.

use super::ExitCode;
use super::output::say;
use clap::Args;
use std::path::PathBuf;
use trace_format::{Meta, ProgramEnd, TraceWriter, WriterOptions};
use witness::generate::{Generator, Shape};

/// Write a synthetic trace of any length: threads that access variables under locks, and sometimes
/// not. The same arguments give the same trace.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  witness generate -o disciplined.bin --events 1000000
  witness generate -o racy.bin --events 10000 --threads 4 --unprotected 0.3 --seed 7")]
pub struct GenerateArgs {
    /// Where to write the trace.
    #[arg(short, long, env = "WITNESS_OUTPUT", default_value = "trace.bin")]
    output: PathBuf,
    /// Minimum number of events.
    #[arg(long, env = "WITNESS_EVENTS", default_value_t = Shape::default().events)]
    events: u64,
    /// Number of threads.
    #[arg(long, env = "WITNESS_THREADS", default_value_t = Shape::default().threads, value_parser = clap::value_parser!(u32).range(2..=4096))]
    threads: u32,
    /// Number of shared variables.
    #[arg(long, env = "WITNESS_VARIABLES", default_value_t = Shape::default().variables, value_parser = clap::value_parser!(u32).range(1..))]
    variables: u32,
    /// Number of locks.
    #[arg(long, env = "WITNESS_LOCKS", default_value_t = Shape::default().locks)]
    locks: u32,
    /// Share of accesses to shared variables made outside their lock, 0 to 1.
    #[arg(long, env = "WITNESS_UNPROTECTED", default_value_t = Shape::default().unprotected, value_parser = share)]
    unprotected: f64,
    /// Share of locked blocks that wait on a condition or notify it, 0 to 1.
    #[arg(long, env = "WITNESS_WAITS", default_value_t = Shape::default().waits, value_parser = share)]
    waits: f64,
    /// Number of distinct values written: the fewer, the more writes can explain a read.
    #[arg(long, env = "WITNESS_VALUES", default_value_t = Shape::default().values, value_parser = clap::value_parser!(u64).range(1..))]
    values: u64,
    /// Seed of the random numbers.
    #[arg(long, env = "WITNESS_SEED", default_value_t = Shape::default().seed)]
    seed: u64,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

/// Runs the command.
pub fn run(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let shape = Shape {
        events: args.events,
        threads: args.threads,
        variables: args.variables,
        locks: args.locks,
        unprotected: args.unprotected,
        waits: args.waits,
        values: args.values,
        seed: args.seed,
    };
    let mut writer = TraceWriter::create(&args.output, &WriterOptions::default())?;
    let producer = format!("witness {} generate", env!("CARGO_PKG_VERSION"));
    writer.set_meta(Meta {
        producer,
        seed: args.seed,
        ..Meta::default()
    });
    let generator = Generator::new(shape);
    for thread in generator.threads() {
        writer.define_thread(thread);
    }
    for object in generator.objects() {
        writer.define_object(object);
    }
    for source in generator.sources() {
        writer.define_source(source);
    }
    for (thread, pc, op) in generator {
        writer.event(thread, pc, op)?;
    }
    let summary = writer.finish(ProgramEnd::Unknown)?;
    say!(
        "witness: wrote {}: {} events, {} bytes",
        summary.path.display(),
        summary.events,
        summary.bytes
    );
    Ok(ExitCode::Nothing)
}
