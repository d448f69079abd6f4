//! The report for people.

use super::outcome::{Class, Confirmed, Outcome};
use super::words::described;
use crate::check::{Checker, Lazily};
use crate::replay::Replay;
use crate::report::{Paint, SourceText, TOLD_RACES, Told};
use crate::symbols::printable;
use crate::verdict::Verdict;
use crate::warnings::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Writes what becomes of each warning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// Colors.
    pub paint: Paint,
}

/// Equal warnings that are listed; JSON has all of them.
const LISTED_EQUALS: usize = 20;

/// Warnings that are answered by the same pair, or that say the same and have no answer.
struct Group<'a> {
    first: Confirmed<'a>,
    others: Vec<String>,
}

impl Text {
    /// Writes what becomes of each warning.
    ///
    /// # Errors
    /// Only if `out` fails.
    pub fn export(&self, outcome: &Outcome<'_>, out: &mut dyn Write) -> io::Result<()> {
        for run in outcome.runs {
            if let Some(cut) = run.findings.trace.cut() {
                let (path, cause) = (run.findings.path.display(), &cut.cause);
                writeln!(out, "witness: {path} is cut ({cause}): nothing is refuted")?;
            }
        }
        let root = outcome
            .runs
            .first()
            .map(|run| run.findings.root.clone())
            .unwrap_or_default();
        let sources = SourceText::of(outcome.runs.iter().map(|run| run.findings.path), &root);
        let checkers: Vec<Lazily<'_>> = outcome.runs.iter().map(|run| run.findings.checker()).collect();
        let mut told = BTreeSet::new();
        for group in groups(outcome) {
            self.group(&group, &checkers[group.first.run], &sources, &mut told, out)?;
        }
        for run in outcome.runs {
            for problem in run.findings.symbols.problems() {
                writeln!(out, "witness: {problem}")?;
            }
        }
        self.others(outcome, out)?;
        self.summary(outcome, out)
    }

    fn group(
        &self,
        group: &Group<'_>,
        checker: &Checker<'_>,
        sources: &SourceText,
        told: &mut BTreeSet<(usize, usize)>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Confirmed { warning, findings, .. } = group.first;
        let class = group.first.class();
        let guess = if group.first.answer.is_guess() {
            " (a guess)"
        } else {
            ""
        };
        let verdict = format!("{}{guess}", class.title().to_uppercase());
        let verdict = match class {
            Class::Witnessed => self.paint.warning(verdict),
            Class::Refuted => self.paint.good(verdict),
            Class::NotInTrace | Class::Unknown => self.paint.access(verdict),
        };
        writeln!(out, "==================")?;
        writeln!(
            out,
            "{verdict}: {}:{}: {}",
            warning.report,
            warning.line,
            printable(&warning.title)
        )?;
        for side in &warning.sides {
            writeln!(out, "  {}", described(side))?;
        }
        if !group.others.is_empty() {
            let more = match group.others.len().saturating_sub(LISTED_EQUALS) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let first = &group.others[..group.others.len().min(LISTED_EQUALS)];
            writeln!(out, "  the same: {}{more}", first.join(", "))?;
        }
        for note in group.first.notes() {
            writeln!(out, "  {note}")?;
        }
        writeln!(out)?;
        let reason = group
            .first
            .reason()
            .map_or_else(String::new, |reason| format!("{reason}: "));
        for (number, sentence) in group.first.explanation().into_iter().enumerate() {
            // Reasons that begin with their own name say it once.
            let reason = if number > 0 || sentence.starts_with(reason.trim_end()) {
                ""
            } else {
                &reason
            };
            writeln!(out, "  {reason}{sentence}")?;
        }
        if let Some((deadlock, number)) = group.first.deadlock().zip(group.first.witness())
            && let Some(schedule) = deadlock.schedule()
        {
            let shown = Told {
                findings,
                paint: self.paint,
                sources,
                number,
                rows: &[],
            };
            let is_new = told.insert((group.first.run, number));
            if !is_new || told.len() > TOLD_RACES {
                writeln!(
                    out,
                    "  {}\n{}",
                    findings.deadlock_headline(deadlock.of),
                    shown.replay_line()
                )?;
            } else {
                match Replay::of(checker, schedule) {
                    Ok(replay) => shown.deadlock_body(deadlock.of, schedule, &replay, out)?,
                    Err(rejection) => writeln!(out, "witness: internal error: {rejection}")?,
                }
            }
        }
        let related = group.first.related_race();
        if related.is_some() {
            writeln!(
                out,
                "\n  But these functions race on that memory, in accesses that the report does not name:\n"
            )?;
        }
        if let Some((pair, number)) = group.first.pair().zip(group.first.witness()).or(related)
            && let Verdict::Witnessed(schedule) = &pair.verdict
        {
            let race = Told {
                findings,
                paint: self.paint,
                sources,
                number,
                rows: &[],
            };
            let is_new = told.insert((group.first.run, number));
            if !is_new || told.len() > TOLD_RACES {
                let words = findings.words();
                let (a, b) = (words.place(pair.example.0), words.place(pair.example.1));
                writeln!(out, "  {a} and {b}\n{}", race.replay_line())?;
            } else {
                match Replay::of(checker, schedule) {
                    Ok(replay) => race.body(pair, schedule, &replay, out)?,
                    Err(rejection) => writeln!(out, "witness: internal error: {rejection}")?,
                }
            }
        }
        writeln!(out)
    }

    /// What was warned of besides races and deadlocks.
    fn others(&self, outcome: &Outcome<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        let (hidden, shown): (Vec<_>, Vec<_>) = outcome.others().partition(|(_, hidden)| hidden.is_some());
        for (warning, _) in &shown {
            *counts.entry(warning.kind).or_default() += 1;
        }
        let mut counts: Vec<String> = counts.into_iter().map(|(kind, count)| kind.counted(count)).collect();
        if !hidden.is_empty() {
            counts.push(format!("{} suppressed", hidden.len()));
        }
        if counts.is_empty() {
            return Ok(());
        }
        writeln!(out, "Not decided: {}", counts.join(", "))?;
        for (warning, _) in shown {
            writeln!(
                out,
                "  {}:{}: {}",
                warning.report,
                warning.line,
                printable(&warning.title)
            )?;
        }
        writeln!(out)
    }

    fn summary(&self, outcome: &Outcome<'_>, out: &mut dyn Write) -> io::Result<()> {
        let all = outcome.shown().count();
        let [witnessed, refuted, not_in_trace, unknown] =
            [Class::Witnessed, Class::Refuted, Class::NotInTrace, Class::Unknown].map(|class| outcome.count(class));
        let elsewhere = match not_in_trace {
            0 => String::new(),
            count => format!(", {count} not in this trace"),
        };
        let plural = if all == 1 { "warning" } else { "warnings" };
        let mut text = format!(
            "SUMMARY: witness: {all} {plural}: {witnessed} witnessed, {refuted} refuted{elsewhere}, {unknown} unknown"
        );
        for (count, what) in [
            (outcome.hidden().0, "suppressed"),
            (outcome.hidden().1, "in the baseline"),
        ] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        let related = outcome.related_races();
        if related > 0 {
            let plural = if related == 1 { "race" } else { "races" };
            text += &format!("; also {related} related {plural} witnessed");
        }
        writeln!(
            out,
            "{}",
            self.paint
                .summary(witnessed + related > 0, unknown + not_in_trace > 0, text)
        )
    }
}

/// The warnings, those that are answered alike together.
fn groups<'a>(outcome: &Outcome<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: BTreeMap<(usize, Vec<String>), usize> = BTreeMap::new();
    for confirmed in outcome.shown() {
        let positions = match (confirmed.pair(), confirmed.deadlock()) {
            (Some(pair), _) => Some(vec![pair.positions.0, pair.positions.1]),
            (_, Some(row)) => Some(row.of.positions.clone()),
            (None, None) => None,
        };
        let key = match positions {
            Some(positions) => {
                let symbols = confirmed.findings.symbols;
                let mut places: Vec<String> = positions.iter().map(|&position| symbols.place(position)).collect();
                places.sort();
                places.push(confirmed.class().name().to_owned());
                if confirmed.answer.is_guess() {
                    places.extend(confirmed.notes());
                }
                places
            }
            None => {
                let mut sides: Vec<String> = confirmed.warning.sides.iter().map(described).collect();
                sides.sort();
                sides
            }
        };
        match known.get(&(confirmed.run, key.clone())) {
            Some(&group) => {
                let Confirmed { warning, .. } = confirmed;
                groups[group]
                    .others
                    .push(format!("{}:{}", warning.report, warning.line));
            }
            None => {
                known.insert((confirmed.run, key), groups.len());
                groups.push(Group {
                    first: confirmed,
                    others: Vec::new(),
                });
            }
        }
    }
    groups
}
