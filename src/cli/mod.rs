//! The command line: one file per subcommand, each of which parses, calls the library and prints.
//!
//! Errors end in status 2 with a message on stderr, panics in status 70. A closed standard output
//! (`witness dump … | head`) is a normal end. Logs go to stderr, chosen by `WITNESS_LOG`.

mod aim;
mod analyze;
mod answers;
mod ask;
mod assembler;
mod cargo;
mod check;
mod cluster;
mod compile;
mod complete;
mod confirm;
mod convert;
mod doctor;
mod dump;
mod event;
mod execution;
mod exit_code;
mod explain;
mod explain_interruption;
mod explore;
mod explored;
mod follow;
mod generate;
mod guided;
mod idle_threads;
mod info;
mod input;
mod live;
mod merged;
mod output;
mod place;
mod plan;
mod program_end;
mod record;
mod replay;
mod reports;
mod run;
mod runs;
mod suite;
mod test;
mod watch;
mod watched;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use exit_code::ExitCode;
use output::{Color, say};
use std::io::IsTerminal;
use std::panic;
use tracing_subscriber::EnvFilter;

/// Records one run of a multithreaded program, predicts its data races, uses after free and
/// deadlocks, and proves each of them with a schedule.
///
/// What is reported as witnessed comes with an order of the recorded events that leads to it,
/// which an independent checker has executed. A pair that is refuted comes with the reason.
#[derive(Debug, Parser)]
#[command(version, after_long_help = ExitCode::HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Colors in text output; `auto` means on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        global = true,
        env = "WITNESS_COLOR",
        value_name = "WHEN",
        default_value = "auto"
    )]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::AnalyzeArgs),
    Confirm(confirm::ConfirmArgs),
    Explain(explain::ExplainArgs),
    Explore(explore::ExploreArgs),
    Plan(plan::PlanArgs),
    Merge(plan::MergeArgs),
    Cluster(cluster::ClusterArgs),
    Replay(replay::ReplayArgs),
    Check(check::CheckArgs),
    Dump(dump::DumpArgs),
    Info(info::InfoArgs),
    Convert(convert::ConvertArgs),
    Generate(generate::GenerateArgs),
    Record(record::RecordArgs),
    Run(run::RunArgs),
    Test(test::TestArgs),
    Cc(compile::CompileArgs),
    /// Compile C++ for recording: the C++ compiler, with flags added.
    ///
    /// Runs $WITNESS_CXX, or c++, with the arguments given and the flags of an ordinary ThreadSanitizer
    /// build in front of them; --show prints the command instead. Where that is g++, inline assembly is
    /// recorded, too. Works as the compiler of a build system: make CXX="witness c++".
    #[command(name = "c++")]
    Cpp(compile::CompileArgs),
    Cargo(cargo::CargoArgs),
    Doctor(doctor::DoctorArgs),
    Completions(complete::CompletionsArgs),
    Man(complete::ManArgs),
}

/// The command line. A flag without a value takes `1` and `yes` from the environment as well as `true`; empty, `0`,
/// `no` and `false` are as if it were not there.
fn definitions() -> clap::Command {
    let lenient = |flag: clap::Arg| match flag.get_action() {
        ArgAction::SetTrue => flag.value_parser(FalseyValueParser::new()),
        _ => flag,
    };
    Cli::command().mut_subcommands(|command| command.mut_args(lenient))
}

/// Runs the program and returns its exit status.
pub fn main() -> std::process::ExitCode {
    if assembler::is_called() {
        return assembler::main();
    }
    let cli = Cli::from_arg_matches(&definitions().get_matches()).unwrap_or_else(|error| error.exit());
    let filter = EnvFilter::try_from_env("WITNESS_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter);
    // Colors are for a terminal: the standard error of a job is a log file.
    let logs = logs.with_ansi(std::io::stderr().is_terminal());
    logs.with_writer(std::io::stderr).without_time().init();
    allocator::keep_no_large_blocks();
    allocator::on_exhaustion(watch::out_of_memory, i32::from(ExitCode::BadInput as u8));
    watch::end_panics_without_memory();
    watch::limit_memory();
    if let Err(error) = trace_format::end_if_truncated(i32::from(ExitCode::BadInput as u8)) {
        tracing::warn!(%error, "a trace that becomes shorter while it is read will end this by a signal");
    }
    match panic::catch_unwind(|| run(&cli)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            say!("witness: {}", message(&error));
            ExitCode::BadInput.into()
        }
        Err(_) => {
            say!("witness: internal error, see above; please report it, if possible with the trace");
            ExitCode::Internal.into()
        }
    }
}

/// An error with its causes, as far as its own message does not say them already.
fn message(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) {
            said
        } else {
            format!("{said}: {cause}")
        }
    })
}

fn run(cli: &Cli) -> anyhow::Result<std::process::ExitCode> {
    match &cli.command {
        Command::Analyze(args) => analyze::run(args, cli.color).map(Into::into),
        Command::Confirm(args) => confirm::run(args, cli.color).map(Into::into),
        Command::Explain(args) => match &args.c {
            Some(third) => explain_interruption::run(args, third, cli.color).map(Into::into),
            None => explain::run(args, cli.color).map(Into::into),
        },
        Command::Explore(args) => explore::run(args, cli.color).map(Into::into),
        Command::Plan(args) => plan::plan(args).map(Into::into),
        Command::Cluster(args) => cluster::cluster(args).map(Into::into),
        Command::Merge(args) => plan::merge(args, cli.color).map(Into::into),
        Command::Replay(args) => replay::run(args, cli.color).map(Into::into),
        Command::Check(args) => check::run(args).map(Into::into),
        Command::Dump(args) => dump::run(args).map(Into::into),
        Command::Info(args) => info::run(args).map(Into::into),
        Command::Convert(args) => convert::run(args).map(Into::into),
        Command::Generate(args) => generate::run(args).map(Into::into),
        Command::Record(args) => record::run(args),
        Command::Run(args) => run::run(args, cli.color).map(Into::into),
        Command::Test(args) => test::run(args, cli.color),
        Command::Cc(args) => compile::run(args, compile::Language::C),
        Command::Cpp(args) => compile::run(args, compile::Language::Cpp),
        Command::Cargo(args) => cargo::run(args),
        Command::Doctor(args) => doctor::run(args, cli.color).map(Into::into),
        Command::Completions(args) => complete::completions(args).map(Into::into),
        Command::Man(args) => complete::man(args).map(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        super::definitions().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_and_gives_an_example() {
        for command in super::Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} says nothing");
            let help = command
                .get_after_long_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(help.contains("Example"), "{name} gives no example");
        }
    }

    #[test]
    fn every_flag_can_be_set_in_the_environment() {
        for command in super::Cli::command().get_subcommands() {
            for flag in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
                let name = flag.get_id();
                let variable = flag.get_env().map(|variable| variable.to_string_lossy());
                let variable = variable.unwrap_or_else(|| panic!("{} --{name} has no variable", command.get_name()));
                assert!(variable.starts_with("WITNESS_"), "{variable}");
            }
        }
    }
}
