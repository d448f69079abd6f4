//! `witness explore --for`, `--warnings`: an exploration that decides some pairs, and ends when they are decided.
//!
//! The pairs are looked for in the first run and in each run that shows a race, in the way of `witness confirm`.
//! Branches are tried first that are at the pairs themselves, or at reads that the core of a pair's exclusion names:
//! only other values there can bring it about.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::answers::{Answers, Asked};
use super::confirm::{self, Telling};
use super::explain;
use super::explored::{Ends, races, result, unproven};
use super::output::{Color, say};
use super::place;
use super::reports::ReportArgs;
use super::runs;
use super::watched::Watched;
use anyhow::{bail, ensure};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use trace_format::TraceFile;
use witness::analyze::Options as AnalysisOptions;
use witness::confirm::{About, Finding, Question, Unmatched, decided};
use witness::explore::{Exploration, Learnt, Options, Program, Progress, What, at_places_first, explore};
use witness::symbols::{Places, Symbols};
use witness::verdict::Kind;
use witness::warnings::{Format, Warning};

/// What is asked for.
pub struct Aim {
    warnings: Vec<Warning>,
    questions: Vec<Question>,
    /// The pairs of the command line, which are the last questions.
    pairs: Vec<String>,
    options: AnalysisOptions,
}

impl Aim {
    /// Of the command line; `None` if nothing in particular is asked for.
    pub fn of(
        pairs: &[String],
        reports: &[PathBuf],
        format: Option<Format>,
        analysis: &AnalysisArgs,
    ) -> anyhow::Result<Option<Aim>> {
        if pairs.is_empty() && reports.is_empty() {
            return Ok(None);
        }
        let find = analysis.options().find;
        if !pairs.is_empty() && !find.has(Kind::Races) {
            bail!("--for asks about races: --find leaves them out");
        }
        let mut warnings = confirm::read_all(reports, format)?;
        for pair in pairs.chunks_exact(2) {
            for text in pair {
                if text.bytes().all(|byte| byte.is_ascii_digit()) {
                    bail!(
                        "--for {text:?}: expected file:line, a function or a variable; events have numbers only in a trace"
                    );
                }
            }
            warnings.push(explain::warning([place::side(&pair[0]), place::side(&pair[1])]));
        }
        confirm::retain_asked(&mut warnings, find);
        let questions: Vec<Question> = decided(&warnings).map(Question::of).collect();
        if questions.is_empty() {
            bail!("the reports warn of no data race and of no lock order that --find asks for");
        }
        Ok(Some(Aim {
            warnings,
            questions,
            pairs: pairs.to_vec(),
            options: analysis.options(),
        }))
    }

    /// Fails if the command line names a place that the program does not have: a mistyped one would be looked for to
    /// the end, in vain.
    fn must_exist(&self, first: &Asked) -> anyhow::Result<()> {
        let from = self.questions.len() - self.pairs.len() / 2;
        let symbols = Symbols::new(first.trace.tables());
        for (answer, pair) in first.confirmation.answers[from..]
            .iter()
            .zip(self.pairs.chunks_exact(2))
        {
            let Finding::Unknown(Unmatched::NotInTrace(missing)) = &answer.finding else {
                continue;
            };
            for (text, _) in pair.iter().zip(missing).filter(|(_, missing)| **missing) {
                place_must_exist(text, symbols.places())?;
            }
        }
        Ok(())
    }
}

/// What a text of `--for` names, if the program does not have it.
fn place_must_exist(text: &str, places: &Places) -> anyhow::Result<()> {
    let side = place::side(text);
    let Some(frame) = side.frames().first() else {
        return Ok(());
    };
    match (&frame.file, frame.line, &frame.function) {
        (Some(_), Some(_), _) if !places.has_lines() => {
            bail!("--for {text:?}: the program has no lines in its debug information: compile it with -g")
        }
        (Some(file), Some(_), _) if !places.has_file(file) => bail!(
            "--for {text:?}: no source file of the program is named {file}; `witness dump` on a trace of it shows the names that it has"
        ),
        (Some(file), Some(line), _) if !places.has_line(file, line) => {
            let near: Vec<String> = places.lines_near(file, line).iter().map(u32::to_string).collect();
            bail!(
                "--for {text:?}: the program has no code at this line; next to it at {}",
                near.join(" and ")
            )
        }
        (None, None, Some(name)) if !places.has_name(name) => match places.name_near(name) {
            Some(near) => {
                bail!("--for {text:?}: the program has no function or variable of this name; there is {near}")
            }
            None => bail!(
                "--for {text:?}: the program has no function or variable of this name; expected file:line, a function or a variable"
            ),
        },
        _ => Ok(()),
    }
}

/// A program, and what its runs have said so far of what is asked for.
pub struct Aimed<'a> {
    program: &'a mut Program,
    aim: &'a Aim,
    answers: RefCell<Answers<'a>>,
}

impl<'a> Aimed<'a> {
    /// Nothing is known yet.
    pub fn new(program: &'a mut Program, aim: &'a Aim) -> Aimed<'a> {
        let answers = Answers::new(&aim.warnings, &aim.options, aim.questions.len());
        Aimed {
            program,
            aim,
            answers: RefCell::new(answers),
        }
    }

    /// Explores until all is decided, and tells what came of it.
    pub fn explore(
        mut self,
        options: Options<'_>,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        shorten: bool,
        reports: &ReportArgs,
        analysis: &AnalysisArgs,
        color: Color,
    ) -> anyhow::Result<ExitCode> {
        let mut explored = self.run(options, watch)?;
        let Aimed { program, aim, answers } = self;
        let (program, answers) = (&*program, answers.into_inner());
        let mut ends = Ends::of(&explored, program)?;
        if shorten {
            ends.shorten(program)?;
        }
        let is_settled = |race| answers.is_settled(race);
        explored.settle(is_settled);
        ends.found
            .extend(unproven(&explored, program, aim.options.find, is_settled)?);
        let mut all = result(&explored, program, aim.options.find, ends.found)?;
        all.not_exhausted.extend(answers.left_open());
        if answers.open.is_empty() {
            all.decided();
        }
        if let others @ 1.. = races(&explored).filter(|&(race, _)| !answers.is_meant(race)).count() {
            say!("witness: {others} other races were found on the way: without --for and --warnings they are reported");
        }
        let telling = Telling {
            reports,
            analysis,
            json: false,
            several: true,
            exploration: Some(&all),
            keeps: true,
        };
        let code = ends
            .code
            .or_worse(confirm::report(&telling, &aim.warnings, answers.asked, color)?);
        Ok(match code {
            ExitCode::Nothing if !all.exhausted || all.has_unproven_race() => ExitCode::OnlyUnknowns,
            code => code,
        })
    }

    /// Explores until all is decided.
    fn run(
        &mut self,
        options: Options<'_>,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> anyhow::Result<Exploration> {
        let (aim, answers) = (self.aim, &self.answers);
        let is_near = |position: u64| answers.borrow().is_near(position);
        // What a search in memory says of deadlocks is not said of these places.
        let is_asked_for_deadlock = aim.questions.iter().any(|question| question.about == About::Deadlock);
        let order = at_places_first(&is_near);
        let options = Options {
            order: &order,
            prefers: Some(&is_near),
            ..options
        };
        let mut look = |program: &Program, run: usize, learnt: &Learnt| {
            let path = program.trace_of(run);
            // Of one that was not searched, only its analysis tells.
            let is_untold = program.is_unsearched() && path.exists();
            if is_untold && run > 0 && learnt.shows.is_empty() && !answers.borrow_mut().is_worthwhile(&path)? {
                runs::remove(&path, None);
                return Ok(());
            }
            if run == 0 || is_untold || is_asked_for_deadlock || learnt.shows.iter().any(What::is_for_analysis) {
                let asked = confirm::ask(&path, &TraceFile::open(&path)?, &aim.questions, &aim.options)?;
                if run == 0 {
                    aim.must_exist(&asked)?;
                }
                let answers = &mut *answers.borrow_mut();
                answers.add(asked);
                if is_untold && !answers.drop_unused() && run > 0 && learnt.shows.is_empty() {
                    runs::remove(&path, None);
                }
            }
            Ok(())
        };
        let mut watched = Watched::from_the_first(self.program, &mut look);
        let explored = explore(&mut watched, &options, &mut |progress| {
            if answers.borrow().open.is_empty() {
                return ControlFlow::Break(());
            }
            watch(progress)
        })?;
        ensure!(
            explored.runs > 0,
            "interrupted before the first run had ended: nothing is known"
        );
        Ok(explored)
    }
}
