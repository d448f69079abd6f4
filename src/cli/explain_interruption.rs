//! `witness explain` with three accesses: whether the second can come between the others.

use super::ExitCode;
use super::analyze::{exit_code, stored, to_report, warn_if_cut};
use super::execution::must_be_execution;
use super::explain::{ExplainArgs, access, event, folder};
use super::output::{Color, print};
use anyhow::bail;
use witness::analyze::{Options, analyze};
use witness::report::{Exporter, Filters, Findings, Json, NO_ROOT, Noise, Paint, Text, Words};
use witness::symbols::{Symbols, file_name};
use witness::trace::{CodePosition, EventId};
use witness::verdict::{AtomicityViolation, Find, Kind, Regions, Verdict};
use witness::warnings::parse_position;

/// Decides the triples at these places, in whatever region.
pub fn run(args: &ExplainArgs, third: &str, color: Color) -> anyhow::Result<ExitCode> {
    let watch = args.analysis.watch(&args.input.trace, "reading", None);
    let trace = &args.analysis.load(&args.input)?;
    warn_if_cut(&args.input.trace, trace);
    must_be_execution(&args.input.trace, trace)?;
    watch.stage("deciding");
    let texts = [&args.a, &args.b, third];
    let symbols = Symbols::new(trace.tables());
    let mut places = Vec::new();
    for text in texts {
        places.push(match event(trace, text) {
            Some(number) => Place::Position(trace.pc(access(trace, &symbols, number)?)),
            None => Place::Named(text.to_owned()),
        });
    }
    let options = Options {
        // One triple is worth all its facts.
        explanations: None,
        find: Find::of(&[Kind::Atomicity]),
        regions: Regions::All,
        until: watch.until(),
        ..args.analysis.options()
    };
    let mut analysis = analyze(trace, &options);
    let words = Words {
        trace,
        symbols: &symbols,
    };
    let meant = |violation: &AtomicityViolation| {
        let all = places.iter().zip(&violation.positions).zip(&violation.example);
        let mut all = all.filter(|_| violation.example.len() == places.len());
        violation.example.len() == places.len()
            && all.all(|((place, &position), &event)| place.has(&words, position, event))
    };
    analysis.atomicity_violations.retain(meant);
    if analysis.atomicity_violations.is_empty() {
        bail!(
            "no two successive accesses of a thread at {} and {} that one of another thread at {} could come between",
            texts[0],
            texts[2],
            texts[1]
        );
    }
    let noise = Noise::of(&words, &analysis, &Filters::default());
    let findings = Findings {
        trace,
        checker: None,
        path: &args.input.trace,
        analysis: &analysis,
        symbols: &symbols,
        options: to_report(&options, trace),
        folder: None,
        noise: &noise,
        root: &NO_ROOT,
        attached_warnings: &[],
        exploration: None,
    };
    watch.reports();
    let folder = folder(args);
    let findings = stored(findings, &folder);
    print(|out| {
        if args.json {
            return Ok(Json.export(&[findings], out)?);
        }
        let paint = Paint { on: color.for_stdout() };
        Ok(Text { paint }.export(&[findings], out)?)
    })?;
    let open = |violation: &AtomicityViolation| matches!(violation.verdict, Verdict::NotInTrace(_));
    Ok(match exit_code(&findings, &folder) {
        // Who asks about these is not told that all is well.
        ExitCode::Nothing if analysis.atomicity_violations.iter().any(open) => ExitCode::OnlyUnknowns,
        code => code,
    })
}

/// Where an access is meant to be.
enum Place {
    Position(CodePosition),
    /// file:line, a function or a variable.
    Named(String),
}

impl Place {
    fn has(&self, words: &Words<'_>, position: CodePosition, event: EventId) -> bool {
        let text = match self {
            Place::Position(meant) => return *meant == position,
            Place::Named(text) => text,
        };
        let frames = words.symbols.frames(position);
        if let Some(meant) = parse_position(text) {
            let file = meant.file.as_deref().map(file_name);
            return frames
                .iter()
                .any(|frame| frame.line == meant.line && frame.file.as_deref().map(file_name) == file);
        }
        let access = words.trace.access(event);
        frames.iter().any(|frame| frame.function.as_deref() == Some(text))
            || access.and_then(|access| words.variable(access)).as_deref() == Some(text)
    }
}
