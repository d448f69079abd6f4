//! `witness explain`: the verdict on one pair.

use super::ExitCode;
use super::analyze::{AnalysisArgs, rejected_code, stored, to_report, verdict_code, warn_if_cut};
use super::execution::must_be_execution;
use super::input::InputArgs;
use super::output::{Color, print};
use super::place::side;
use anyhow::bail;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use witness::analyze::Options;
use witness::confirm::{About, Class, Finding, Outcome, Question, Run, Sought, Suppressed, confirm};
use witness::report::{Exporter, Filters, Findings, Json, NO_ROOT, Noise, Paint, Text, Words};
use witness::results::Summary;
use witness::symbols::Symbols;
use witness::trace::{EventId, Trace};
use witness::warnings::{Format, Kind, Side, Warning};

/// Decide one pair of accesses, and show the proof: the schedule, or the facts that exclude it.
///
/// Each of the two accesses is file:line, a location as a trace of another tool numbers or names it, the name of a
/// function (all its accesses) or of a variable, or the number of an event (see `witness dump`; write `event:8` if the
/// trace's locations are numbers, too). If several instructions match, each pair of them is decided.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness explain trace.bin queue.c:17 queue.c:29
  witness explain trace.bin producer consumer
  witness explain trace.std 12 x
  witness explain trace.bin 8 21
  witness explain trace.bin bank.c:11 bank.c:24 bank.c:15

Exit status: 66 a race witnessed; else 3 something is unknown or not in this trace; else 0; 2 a trace that cannot be read,
or an event that is no access.")]
pub struct ExplainArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// One access: file:line, a function, a variable, or the number of an event.
    pub a: String,
    /// The other access.
    pub b: String,
    /// A third access, by the thread of the first: then it is decided whether the second, by another thread, can come
    /// between these two.
    pub c: Option<String>,
    /// Print the results object (schema witness-results/2) instead of the report.
    #[arg(long, env = "WITNESS_JSON")]
    pub json: bool,
    #[command(flatten)]
    pub analysis: AnalysisArgs,
}

pub fn run(args: &ExplainArgs, color: Color) -> anyhow::Result<ExitCode> {
    let watch = args.analysis.watch(&args.input.trace, "reading", None);
    let trace = args.analysis.load(&args.input)?;
    warn_if_cut(&args.input.trace, &trace);
    must_be_execution(&args.input.trace, &trace)?;
    watch.stage("deciding");
    let symbols = Symbols::new(trace.tables());
    let texts = [&args.a, &args.b];
    let event = |text: &str| event(&trace, text);
    let sides = texts.map(|text| match event(text) {
        Some(_) => Side::default(),
        None => side(text),
    });
    let mut sought = Vec::new();
    for (text, side) in texts.into_iter().zip(&sides) {
        sought.push(match event(text) {
            Some(number) => Sought::Event(access(&trace, &symbols, number)?),
            None => Sought::Described(side.clone()),
        });
    }
    if let Some(option) = args.analysis.only_of_whole() {
        bail!("explain is about races: {option} is for analyze, run and explore");
    }
    if !args.analysis.options().find.pairs() {
        bail!("explain is about two accesses: --find has to have races or use-after-free");
    }
    let options = Options {
        // One pair is worth all its facts.
        explanations: None,
        until: watch.until(),
        ..args.analysis.options()
    };
    let question = Question {
        about: About::Race,
        sides: sought,
        variable: None,
    };
    let confirmation = confirm(&trace, &symbols, &[question], &options);
    let folder = folder(args);
    let noise = Noise::of(
        &Words {
            trace: &trace,
            symbols: &symbols,
        },
        &confirmation.analysis,
        &Filters::default(),
    );
    let findings = Findings {
        trace: &trace,
        checker: None,
        path: &args.input.trace,
        analysis: &confirmation.analysis,
        symbols: &symbols,
        options: to_report(&options, &trace),
        folder: None,
        noise: &noise,
        root: &NO_ROOT,
        attached_warnings: &[],
        exploration: None,
    };
    watch.reports();
    let runs = [Run {
        findings: stored(findings, &folder),
        answers: &confirmation.answers,
    }];
    let warnings = [warning(sides)];
    let outcome = Outcome {
        warnings: &warnings,
        runs: &runs,
        suppressed: &Suppressed::default(),
        exploration: None,
    };
    print(|out| {
        if args.json {
            return Ok(Json.export(&[runs[0].findings], out)?);
        }
        let paint = Paint { on: color.for_stdout() };
        for confirmed in outcome.confirmed() {
            for note in confirmed.notes() {
                writeln!(out, "witness: {note}")?;
            }
            let shown =
                matches!(confirmed.answer.finding, Finding::Pairs(_)) || !runs[0].findings.analysis.pairs.is_empty();
            if shown {
                Text { paint }.export(&[runs[0].findings], out)?;
            }
            if !matches!(confirmed.answer.finding, Finding::Pairs(_)) {
                let class = confirmed.class().title().to_uppercase();
                for sentence in confirmed.explanation() {
                    writeln!(out, "{}: {sentence}", paint.access(&class))?;
                }
            }
        }
        Ok(())
    })?;
    if let Some(code) = rejected_code(&confirmation.analysis, &folder) {
        return Ok(code);
    }
    let summary = Summary {
        witnessed: outcome.count(Class::Witnessed),
        refuted: outcome.count(Class::Refuted),
        unknown: outcome.count(Class::Unknown) + outcome.count(Class::NotInTrace),
        ..Summary::default()
    };
    Ok(verdict_code(summary, trace.cut().is_some()))
}

/// Where the results go.
pub fn folder(args: &ExplainArgs) -> PathBuf {
    args.analysis.store().unwrap_or_else(|| {
        let mut name = OsString::from(&args.input.trace);
        name.push(".explained");
        PathBuf::from(name)
    })
}

/// The number of an event, unless the trace has a location of that name.
pub fn event(trace: &Trace, text: &str) -> Option<u32> {
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    if let Some(named) = text.strip_prefix("event:") {
        return number(named);
    }
    let mut locations = trace.tables().sources.iter();
    let is_location = locations.any(|source| source.line == 0 && source.file == text);
    number(text).filter(|_| !is_location)
}

/// The event of a number, if it is an access.
pub fn access(trace: &Trace, symbols: &Symbols<'_>, number: u32) -> anyhow::Result<EventId> {
    let event = EventId(number);
    if event.index() >= trace.len() {
        bail!(
            "there is no event {number}: events are numbered from 0 to {}",
            trace.len().saturating_sub(1)
        );
    }
    if trace.access(event).is_none() {
        let words = Words { trace, symbols };
        bail!("event {number} is not a memory access: {}", words.sentence(event));
    }
    Ok(event)
}

/// The question as a warning, whose words it shares.
pub fn warning(sides: [Side; 2]) -> Warning {
    Warning {
        report: "the command line".to_owned(),
        line: 1,
        format: Format::Pairs,
        title: "suspected race".to_owned(),
        kind: Kind::Race,
        sides: sides.into(),
        location: None,
        stacks: Vec::new(),
    }
}
