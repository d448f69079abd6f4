//! The outcome of each warning, over one or several traces.

use super::frames::is_free;
use super::{Answer, Finding, Suppressed, Unmatched};
use crate::report::noise::Hidden;
use crate::report::{Findings, Row};
use crate::results::ExplorationResult;
use crate::verdict::{Deadlock, Entry, Pair, Verdict};
use crate::warnings::{Kind, Side, Stack, Warning};
use std::collections::BTreeSet;

/// One trace, and its answers to all races that were warned of.
pub struct Run<'a> {
    /// The trace, the verdicts of the pairs that were meant, and where they are stored.
    pub findings: Findings<'a>,
    /// One answer for each warning that is [decided].
    pub answers: &'a [Answer],
}

/// What other tools warned of, and what the traces say of it.
pub struct Outcome<'a> {
    /// All warnings, also those of other things than races and deadlocks.
    pub warnings: &'a [Warning],
    /// The traces, at least one.
    pub runs: &'a [Run<'a>],
    /// Which warnings are suppressed by what their reports say.
    pub suppressed: &'a Suppressed,
    /// What the runs say of all schedules, if they were made to cover them. The traces are then those of the first run
    /// and of each run that shows a race.
    pub exploration: Option<&'a ExplorationResult>,
}

/// The ways in which a warning ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A schedule shows it.
    Witnessed,
    /// No run with the trace's operations shows it.
    Refuted,
    /// No schedule of the trace shows it, but only because of what its reads saw: another run may.
    NotInTrace,
    /// The trace cannot tell.
    Unknown,
}

impl Class {
    /// As people read it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Class::NotInTrace => "not in this trace",
            other => other.name(),
        }
    }

    /// As the JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Witnessed => "witnessed",
            Class::Refuted => "refuted",
            Class::NotInTrace => "not-in-trace",
            Class::Unknown => "unknown",
        }
    }
}

/// A race or a deadlock that was warned of, with the best answer that there is.
#[derive(Clone, Copy)]
pub struct Confirmed<'a> {
    /// The warning.
    pub warning: &'a Warning,
    /// The number of the trace that answers it best.
    pub run: usize,
    /// That trace's findings.
    pub findings: &'a Findings<'a>,
    /// The answer.
    pub answer: &'a Answer,
    pub(super) exploration: Option<&'a ExplorationResult>,
    own: Option<&'a Hidden>,
}

impl<'a> Confirmed<'a> {
    /// How it ends.
    #[must_use]
    pub fn class(&self) -> Class {
        match class(self.answer, self.findings) {
            Class::NotInTrace | Class::Unknown if self.is_covered() => Class::Refuted,
            class => class,
        }
    }

    /// Whether all schedules were covered, so that what no trace shows is impossible on this input. Each race that is
    /// possible has a trace that was asked; so it counts that the places were understood, not that the traces come
    /// there.
    pub(super) fn is_covered(&self) -> bool {
        let is_race = self.warning.kind == Kind::Race;
        let covers = |all: &ExplorationResult| {
            all.exhausted
                && match is_race {
                    true => !all.has_unproven_race(),
                    // Perhaps it is this one.
                    false => !all.found.iter().any(|found| found.kind == "deadlock"),
                }
        };
        // Of uses after free, an exploration covers what its runs show.
        let is_of_free = self.warning.sides.iter().any(|side| is_free(side.frames()));
        !is_of_free
            && self.exploration.is_some_and(covers)
            && match &self.answer.finding {
                Finding::Pairs(_) | Finding::Deadlocks(_) => {
                    matches!(self.verdict(), Some(Verdict::NotInTrace(_)))
                }
                Finding::Unknown(
                    Unmatched::NoSharedMemory
                    | Unmatched::OneThread(_)
                    | Unmatched::OnlyReads
                    | Unmatched::NoCycle { .. },
                ) => true,
                Finding::Unknown(Unmatched::NotInTrace(missing)) => {
                    let sides = self.warning.sides.iter().zip(missing);
                    sides.into_iter().all(|(side, &missing)| !missing || self.exists(side))
                }
                Finding::Ended(_) | Finding::BothAtomic(..) | Finding::Attempt(_) | Finding::Unknown(_) => false,
            }
    }

    /// Whether the program has the place of a side, executed or not: its line, or what it names.
    pub(super) fn exists(&self, side: &Side) -> bool {
        let Stack::Frames(frames) = &side.stack else {
            return false;
        };
        let places = self.findings.symbols.places();
        frames.first().is_some_and(|frame| match (&frame.file, frame.line) {
            (Some(file), Some(line)) => places.has_line(file, line),
            (None, None) => frame.function.as_ref().is_some_and(|name| places.has_name(name)),
            _ => false,
        })
    }

    /// The verdict that it rests on; `None` if it rests on none.
    #[must_use]
    pub fn verdict(&self) -> Option<&'a Verdict> {
        self.answer.verdict(self.findings.analysis)
    }

    /// The deadlock that speaks for it.
    #[must_use]
    pub fn deadlock(&self) -> Option<Row<'a, Deadlock>> {
        match &self.answer.finding {
            Finding::Deadlocks(rows) => self
                .findings
                .deadlocks()
                .find(|deadlock| deadlock.entry == Entry::Deadlock(rows[0])),
            _ => None,
        }
    }

    /// The pair that speaks for it.
    #[must_use]
    pub fn pair(&self) -> Option<&'a Pair> {
        match &self.answer.finding {
            Finding::Pairs(pairs) => Some(&self.findings.analysis.pairs[pairs[0]]),
            _ => None,
        }
    }

    /// Why it is not shown; `None` if it is.
    #[must_use]
    pub fn hidden(&self) -> Option<&'a Hidden> {
        self.own.or(match &self.answer.finding {
            Finding::Pairs(pairs) => self.findings.noise.hidden(Entry::Pair(pairs[0])),
            Finding::Deadlocks(rows) => self.findings.noise.hidden(Entry::Deadlock(rows[0])),
            Finding::Ended(_) | Finding::BothAtomic(..) | Finding::Attempt(_) | Finding::Unknown(_) => None,
        })
    }

    /// The number of its witness.
    #[must_use]
    pub fn witness(&self) -> Option<usize> {
        match &self.answer.finding {
            Finding::Pairs(pairs) => self.findings.number(pairs[0]),
            _ => self.deadlock()?.number,
        }
    }

    /// If it is refuted or not in this trace: a related race that is shown, and the number of its witness.
    #[must_use]
    pub fn related_race(&self) -> Option<(&'a Pair, usize)> {
        let row = self.answer.related_race?;
        if self.findings.noise.hidden(Entry::Pair(row)).is_some() {
            return None;
        }
        Some((&self.findings.analysis.pairs[row], self.findings.number(row)?))
    }
}

fn class(answer: &Answer, findings: &Findings<'_>) -> Class {
    match (answer.verdict(findings.analysis), &answer.finding) {
        (Some(Verdict::Witnessed(_)), _) | (None, Finding::Ended(_)) => Class::Witnessed,
        (Some(Verdict::Refuted(_)), _) | (None, Finding::BothAtomic(..) | Finding::Attempt(_)) => Class::Refuted,
        (Some(Verdict::NotInTrace(_)), _) => Class::NotInTrace,
        (Some(Verdict::Unknown(_)), _) | (None, _) => Class::Unknown,
    }
}

/// Those of some warnings that a trace is asked about: of races, and of lock orders.
pub fn decided(warnings: &[Warning]) -> impl Iterator<Item = &Warning> {
    warnings.iter().filter(|warning| is_decided(warning))
}

pub(super) fn is_decided(warning: &Warning) -> bool {
    matches!(warning.kind, Kind::Race | Kind::LockOrder)
}

impl<'a> Outcome<'a> {
    /// The races and deadlocks, in the order of the reports. A witness in any trace counts. A refutation speaks of the
    /// operations of its own trace, so it counts only where no other trace leaves the same warning open; of equals, one
    /// that is no guess.
    pub fn confirmed(&self) -> impl Iterator<Item = Confirmed<'a>> + use<'a> {
        let (runs, suppressed, exploration) = (self.runs, self.suppressed, self.exploration);
        let numbered = self.warnings.iter().enumerate();
        let decided = numbered.filter(|(_, warning)| is_decided(warning));
        decided.enumerate().map(move |(row, (number, warning))| {
            let rank = |run: &Run<'_>| {
                let answer = &run.answers[row];
                let matched = !matches!(answer.finding, Finding::Unknown(_));
                let without_related = answer.related_race.is_none();
                let open = match class(answer, &run.findings) {
                    Class::Witnessed => 0,
                    Class::NotInTrace => 1,
                    Class::Unknown if matched => 2,
                    Class::Refuted => 3,
                    Class::Unknown => 4,
                };
                (open, without_related, answer.is_guess())
            };
            let best = (0..runs.len()).min_by_key(|&run| rank(&runs[run])).unwrap_or(0);
            Confirmed {
                warning,
                run: best,
                findings: &runs[best].findings,
                answer: &runs[best].answers[row],
                exploration,
                own: suppressed.by(number),
            }
        })
    }

    /// Those that are shown.
    pub fn shown(&self) -> impl Iterator<Item = Confirmed<'a>> + use<'a> {
        self.confirmed().filter(|confirmed| confirmed.hidden().is_none())
    }

    /// What was warned of besides races and deadlocks, and what hides it.
    pub fn others(&self) -> impl Iterator<Item = (&'a Warning, Option<&'a Hidden>)> + use<'a> {
        let suppressed = self.suppressed;
        let numbered = self.warnings.iter().enumerate();
        let others = numbered.filter(|(_, warning)| !is_decided(warning));
        others.map(move |(number, warning)| (warning, suppressed.by(number)))
    }

    /// The number of those that are shown and end in this way.
    #[must_use]
    pub fn count(&self, class: Class) -> usize {
        self.shown().filter(|confirmed| confirmed.class() == class).count()
    }

    /// The witnesses of the warnings that are shown: trace and number.
    #[must_use]
    pub fn witnesses(&self) -> BTreeSet<(usize, usize)> {
        let witnesses = self
            .shown()
            .map(|confirmed| Some((confirmed.run, confirmed.witness()?)));
        witnesses.flatten().collect()
    }

    /// The number of related races that no warning is witnessed by.
    #[must_use]
    pub fn related_races(&self) -> usize {
        let related = self
            .shown()
            .map(|confirmed| Some((confirmed.run, confirmed.related_race()?.1)));
        let related: BTreeSet<_> = related.flatten().collect();
        related.difference(&self.witnesses()).count()
    }

    /// The number of those that are not shown: suppressed ones, and those that the baseline has.
    #[must_use]
    pub fn hidden(&self) -> (usize, usize) {
        let hidden: Vec<&Hidden> = self.confirmed().filter_map(|confirmed| confirmed.hidden()).collect();
        let known = hidden.iter().filter(|hidden| ***hidden == Hidden::Known).count();
        (hidden.len() - known, known)
    }
}
