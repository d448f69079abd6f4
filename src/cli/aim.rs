//! `witness explore --for`, `--warnings`: an exploration that decides some pairs, and ends when they are decided.
//!
//! The pairs are looked for in the first run and in each run that shows a race, in the way of `witness confirm`. Branches are tried first that
//! are at the pairs themselves, or at reads that the core of a pair's exclusion names: only other values there can bring it about.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::confirm::{self, Asked, Telling};
use super::explain;
use super::explored::{Ends, Positions, races, result, unproven};
use super::output::{Color, say};
use super::reports::ReportArgs;
use super::runs;
use super::watched::Watched;
use anyhow::{bail, ensure};
use hashbrown::HashSet;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use witness::analyze::Options as AnalysisOptions;
use witness::confirm::{Finding, Question, Unmatched, races as warned_races};
use witness::explore::{Goal, Learnt, Options, Prefix, Program, Progress, What, explore};
use witness::forest::Forest;
use witness::symbols::{Places, Symbols};
use witness::trace::Trace;
use witness::verdict::Verdict;
use witness::warnings::{Format, Warning};

/// The cost of a branch that has nothing to do with what is asked for: beyond all others.
const FAR: u64 = 1 << 40;

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
        let mut warnings = confirm::read_all(reports, format)?;
        for pair in pairs.chunks_exact(2) {
            for text in pair {
                if text.bytes().all(|byte| byte.is_ascii_digit()) {
                    bail!(
                        "--for {text:?}: expected file:line, a function or a variable; events have numbers only in a trace"
                    );
                }
            }
            warnings.push(explain::warning([explain::side(&pair[0]), explain::side(&pair[1])]));
        }
        let questions: Vec<Question> = warned_races(&warnings).map(Question::of).collect();
        if questions.is_empty() {
            bail!("the reports warn of no data race");
        }
        Ok(Some(Aim {
            warnings,
            questions,
            pairs: pairs.to_vec(),
            options: analysis.options(),
        }))
    }

    /// Fails if the command line names a place that the program does not have: a mistyped one would be looked for to the end, in vain.
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
    let side = explain::side(text);
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
    known: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    asked: Vec<Asked>,
    /// The questions without a witness.
    open: Vec<usize>,
    /// Where other outcomes may bring a race about.
    near: HashSet<u64>,
    /// The pairs that the questions mean.
    meant: HashSet<Positions>,
    /// Those of them that have a witness.
    witnessed: HashSet<Positions>,
}

impl Known {
    fn add(&mut self, one: Asked) {
        self.open.retain(|&question| !one.is_witnessed(question));
        for pair in &one.confirmation.analysis.pairs {
            let (a, b) = pair.positions;
            let positions = (a.min(b), a.max(b));
            self.meant.insert(positions);
            if matches!(pair.verdict, Verdict::Witnessed(_)) {
                self.witnessed.insert(positions);
            }
        }
        self.near.extend(one.places_near());
        self.asked.push(one);
    }
}

impl Known {
    /// Forgets the traces that answer nothing better than others, since each takes much memory; whether the last one stays.
    fn drop_unused(&mut self, aim: &Aim) -> bool {
        let used = confirm::used(&aim.warnings, &self.asked, &aim.options);
        let stays = used.last() == Some(&true);
        let mut used = used.into_iter();
        self.asked.retain(|_| used.next() == Some(true));
        stays
    }
}

impl<'a> Aimed<'a> {
    /// Nothing is known yet.
    pub fn new(program: &'a mut Program, aim: &'a Aim) -> Aimed<'a> {
        let known = Known {
            open: (0..aim.questions.len()).collect(),
            ..Known::default()
        };
        Aimed {
            program,
            aim,
            known: RefCell::new(known),
        }
    }

    /// Explores until all is decided, and tells what came of it.
    pub fn explore(
        self,
        options: Options<'_>,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        shorten: bool,
        reports: &ReportArgs,
        analysis: &AnalysisArgs,
        color: Color,
    ) -> anyhow::Result<ExitCode> {
        let known = self.known;
        let is_near = |position: u64| known.borrow().near.contains(&position);
        let order = |forest: &Forest, prefix: &Prefix| {
            let position = prefix.wanted.map(|wanted| forest.node(wanted.node).position);
            let far = if position.is_some_and(is_near) { 0 } else { FAR };
            (options.order)(forest, prefix) + far
        };
        let options = Options {
            order: &order,
            prefers: Some(&is_near),
            ..options
        };
        let mut look = |program: &Program, run: usize, learnt: &Learnt| {
            let shows_race = |what: &What| matches!(what, What::Goal(Goal::Race(..)));
            let path = program.trace_of(run);
            // Of one that was not searched, only its analysis tells.
            let is_untold = program.is_unsearched() && path.exists();
            if run == 0 || is_untold || learnt.shows.iter().any(shows_race) {
                let asked = confirm::ask(&path, Trace::open(&path)?, &self.aim.questions, &self.aim.options)?;
                if run == 0 {
                    self.aim.must_exist(&asked)?;
                }
                let known = &mut *known.borrow_mut();
                known.add(asked);
                if is_untold && !known.drop_unused(self.aim) && run > 0 && learnt.shows.is_empty() {
                    runs::remove(&path, None);
                }
            }
            Ok(())
        };
        let mut watched = Watched::from_the_first(self.program, &mut look);
        let explored = explore(&mut watched, &options, &mut |progress| {
            if known.borrow().open.is_empty() {
                return ControlFlow::Break(());
            }
            watch(progress)
        })?;
        let program = &*self.program;
        ensure!(
            explored.runs > 0,
            "interrupted before the first run had ended: nothing is known"
        );
        let mut ends = Ends::of(&explored, program)?;
        if shorten {
            ends.shorten(program)?;
        }
        let Known {
            asked,
            open,
            meant,
            witnessed,
            ..
        } = known.take();
        let is_other = |race: Positions| !meant.contains(&race);
        ends.found.extend(unproven(&explored, program, |race| {
            is_other(race) || witnessed.contains(&race)
        })?);
        let mut all = result(&explored, program, ends.found)?;
        if open.is_empty() {
            all.decided();
        }
        if let others @ 1.. = races(&explored).filter(|&(race, _)| is_other(race)).count() {
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
            .or_worse(confirm::report(&telling, &self.aim.warnings, asked, color)?);
        Ok(match code {
            ExitCode::Nothing if !all.exhausted || all.has_unproven_race() => ExitCode::OnlyUnknowns,
            code => code,
        })
    }
}
