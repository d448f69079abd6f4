//! The report for people, in the manner of ThreadSanitizer.

use super::command::{another_run, replay_command};
use super::interleaving::{Detail, Interleaving, length};
use super::location::location;
use super::paint::Paint;
use super::results::{reason_of, verdict_of};
use super::snippet::snippet;
use super::source_text::SourceText;
use super::words::{capitalized, name_of};
use super::{Exporter, Findings, Row, Unfinished};
use crate::check::{HeldLock, Rejection};
use crate::replay::{PendingAccess, Replay};
use crate::results::{ExplorationResult, LockSetResult, Summary, refutation_name, unknown_name};
use crate::schedule::{Goal, Schedule};
use crate::symbols::printable;
use crate::trace::EventId;
use crate::verdict::{AtomicityViolation, Deadlock, Pair, Verdict};
use hashbrown::HashMap;
use std::io::{self, Write};

/// Lines of a schedule that the report shows; `witness replay` shows all.
const SCHEDULE_LINES: usize = 80;

/// Races that are told from their first step to their last; of the others, one line each.
pub(crate) const TOLD_RACES: usize = 20;

/// Other lines of one race that the report lists.
const LISTED_DUPLICATES: usize = 10;

/// Pairs of lines that the report lists of those that are excluded: enough to see what kind of reasons there are.
const LISTED_EXCLUDED: usize = 10;

/// Pairs of lines that the report lists of those that are unknown.
const LISTED_UNKNOWN: usize = 50;

/// Writes each witnessed race with its schedule, then the other pairs in short.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// Colors.
    pub paint: Paint,
}

/// Two source lines, in text order.
type Lines = (String, String);

impl Exporter for Text {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        let exploration = findings.first().and_then(|first| first.exploration);
        exploration.map_or(Ok(()), |all| self.found(all, out))?;
        let command = |one: &Findings<'_>| one.trace.tables().meta.command.join(" ");
        // Those of a test suite are of several programs.
        let one_command = findings.windows(2).all(|pair| command(&pair[0]) == command(&pair[1]));
        for (number, one) in findings.iter().enumerate() {
            let nothing = one.shown().next().is_none()
                && one.shown_deadlocks().next().is_none()
                && one.shown_atomicity_violations().next().is_none();
            if number > 0 && nothing {
                continue;
            }
            if findings.len() > 1 {
                let meta = &one.trace.tables().meta;
                let policy = match (meta.policy.as_str(), meta.seed) {
                    ("" | "fifo", _) => meta.policy.clone(),
                    (policy, seed) => format!("{policy}, seed {seed}"),
                };
                let of = if one_command {
                    String::new()
                } else {
                    format!(" {}", command(one))
                };
                let heading = format!("Seen in {} ({policy}):{of}", one.path.display());
                writeln!(out, "{}\n", self.paint.access(heading))?;
            }
            self.one(one, out)?;
        }
        let total = Summary::total(findings);
        self.summary(&total, out)?;
        exploration.map_or(Ok(()), |all| self.statement(all, total.has_no_race(), out))
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", analysis.in_one_line())
    }
}

fn lines(findings: &Findings<'_>, pair: &Pair) -> Lines {
    // What has no position in the code is known by its example.
    let place = |position, example| match position {
        0 => findings.words().place(example),
        position => findings.symbols.place(position),
    };
    let a = place(pair.positions.0, pair.example.0);
    let b = place(pair.positions.1, pair.example.1);
    if a <= b { (a, b) } else { (b, a) }
}

impl Text {
    /// What an exploration has found besides races.
    ///
    /// # Errors
    /// Only if `out` fails.
    pub fn found(&self, all: &ExplorationResult, out: &mut dyn Write) -> io::Result<()> {
        for found in &all.found {
            let by = found
                .trace
                .as_ref()
                .map_or_else(String::new, |trace| format!(", shown by {trace}"));
            let colon = if found.details.is_empty() { "" } else { ":" };
            let title = format!("FOUND: {}{by}{colon}", found.title);
            writeln!(out, "{}", self.paint.warning(title))?;
            for fact in &found.details {
                writeln!(out, "  {fact}")?;
            }
            if let Some(command) = &found.replay {
                writeln!(out, "  Run it again: {command}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// What an exploration can say of all schedules; `no_race` if no trace shows one.
    ///
    /// # Errors
    /// Only if `out` fails.
    pub fn statement(&self, all: &ExplorationResult, no_race: bool, out: &mut dyn Write) -> io::Result<()> {
        let statement = all.statement(no_race);
        if all.exhausted {
            return writeln!(out, "{statement}");
        }
        writeln!(out, "{}", self.paint.access(format!("{statement}:")))?;
        for reason in &all.not_exhausted {
            writeln!(out, "  {reason}")?;
        }
        Ok(())
    }

    fn one(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        if let Some(cut) = findings.trace.cut() {
            if cut.left_out > 0 {
                writeln!(
                    out,
                    "witness: only the first {} of {} events are analyzed, as many as --first-events says or --time-limit \
                     leaves time for; nothing is refuted",
                    cut.events,
                    cut.events + cut.left_out
                )?;
            } else {
                let events = match cut.events {
                    0 => "no event is left".to_owned(),
                    events => format!("analyzed up to event {}", events - 1),
                };
                writeln!(
                    out,
                    "witness: the trace is cut at byte {} ({}): {events}; nothing is refuted",
                    cut.offset, cut.cause
                )?;
            }
        }
        for reason in &findings.trace.tables().meta.degraded {
            writeln!(
                out,
                "witness: the recording may lack events or order: {}",
                printable(reason)
            )?;
        }
        if let Some(end) = findings.run_end() {
            let stop = if end.facts.is_empty() { "." } else { ":" };
            writeln!(out, "{}", self.paint.access(format!("{}{stop}", end.sentence)))?;
            for fact in &end.facts {
                writeln!(out, "  {}", printable(fact))?;
            }
            writeln!(out)?;
        }
        let sources = SourceText::of_findings(std::slice::from_ref(findings));
        let checker = findings.checker();
        let races = findings.shown_races();
        let told_races = &races[..races.len().min(TOLD_RACES)];
        let schedules: Vec<&Schedule> = told_races.iter().map(|race| race.schedule).collect();
        for (race, replay) in told_races.iter().zip(Replay::of_all(&checker, &schedules)) {
            let told = Told {
                findings,
                paint: self.paint,
                sources: &sources,
                number: race.number(),
                rows: &race.rows,
            };
            told.write(race.first().of, race.schedule, &replay, out)?;
        }
        if let Some(more) = races.get(TOLD_RACES..).filter(|more| !more.is_empty()) {
            writeln!(out, "{}:", self.paint.access("More races".to_owned()))?;
            for race in more {
                let (a, b) = lines(findings, race.first().of);
                writeln!(out, "  {}. {a} and {b}", race.number())?;
            }
            let path = findings.path.display();
            writeln!(out, "  `witness replay {path} --witness N` shows each\n")?;
        }
        for row in findings.shown_deadlocks() {
            if let Some((number, schedule)) = row.number.zip(row.schedule()) {
                let told = Told {
                    findings,
                    paint: self.paint,
                    sources: &sources,
                    number,
                    rows: &[],
                };
                told.deadlock(row.of, schedule, &Replay::of(&checker, schedule), out)?;
            }
        }
        let interrupted = findings.told_atomicity_violations();
        for (row, others) in interrupted.iter().take(TOLD_RACES) {
            if let Some((number, schedule)) = row.number.zip(row.schedule()) {
                let told = Told {
                    findings,
                    paint: self.paint,
                    sources: &sources,
                    number,
                    rows: &[],
                };
                let replay = Replay::of(&checker, schedule);
                told.atomicity_violation(row.of, others, schedule, &replay, out)?;
            }
        }
        if let Some(more) = interrupted.get(TOLD_RACES..).filter(|more| !more.is_empty()) {
            writeln!(out, "{}:", self.paint.access("More atomicity violations".to_owned()))?;
            for (row, _) in more {
                let headline = findings.atomicity_headline(row.of);
                writeln!(out, "  {}. {headline}", row.number.unwrap_or_default())?;
            }
            writeln!(out)?;
        }
        self.others(findings, out)?;
        self.cycles(findings, out)?;
        self.interruptions(findings, out)?;
        self.lock_sets(findings, out)?;
        for problem in findings.symbols.problems() {
            writeln!(out, "witness: {}", printable(&problem.to_string()))?;
        }
        Ok(())
    }

    /// All pairs but the witnessed ones, the same two source lines once per reason and static variable.
    fn others(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let words = findings.words();
        for (title, note, listed) in [
            ("refuted", " (no run with these operations shows them)", LISTED_EXCLUDED),
            (
                "not in this trace",
                " (excluded by what happened in this run; another may show them)",
                LISTED_EXCLUDED,
            ),
            ("unknown", "", LISTED_UNKNOWN),
        ] {
            let mut seen: Vec<(Lines, &str, usize, &Pair)> = Vec::new();
            let mut rows: HashMap<(Lines, &str, Option<String>), usize> = HashMap::new();
            for Row { of: pair, .. } in findings.shown() {
                let reason = match &pair.verdict {
                    Verdict::Refuted(refutation) if title == "refuted" => refutation_name(refutation),
                    Verdict::NotInTrace(refutation) if title == "not in this trace" => refutation_name(refutation),
                    Verdict::Unknown(unknown) if title == "unknown" => unknown_name(unknown),
                    _ => continue,
                };
                let lines = lines(findings, pair);
                let variable = findings
                    .trace
                    .access(pair.example.0)
                    .and_then(|access| words.variable(access));
                let row = *rows.entry((lines.clone(), reason, variable)).or_insert(seen.len());
                match seen.get_mut(row) {
                    Some((_, _, count, _)) => *count += 1,
                    None => seen.push((lines, reason, 1, pair)),
                }
            }
            if seen.is_empty() {
                continue;
            }
            let note = match findings.exploration {
                Some(all) if all.exhausted && title == "not in this trace" => {
                    " (excluded by what happened in this run; others were explored, too: what races there is told above, of two \
                     functions and a variable once)"
                }
                _ => note,
            };
            writeln!(out, "{}{note}:", self.paint.access(capitalized(title)))?;
            // Those behind a race no other run can show without it.
            let elsewhere = seen.iter().any(|(.., pair)| pair.behind.is_none());
            let more = seen.len().saturating_sub(listed);
            // Many pairs may be unknown for one cause, which is told once.
            let mut told: Vec<(Vec<String>, Vec<String>)> = Vec::new();
            for ((first, second), reason, count, pair) in seen.into_iter().take(listed) {
                let count = if count > 1 {
                    format!(" ({count} pairs of instructions)")
                } else {
                    String::new()
                };
                let behind = findings
                    .behind(pair)
                    .map_or_else(String::new, |race| format!(", only behind race {race}"));
                let headline = format!("{first} and {second}: {reason}{behind}{count}");
                let sentences = words.explanation(pair);
                match told.iter_mut().find(|(_, same)| *same == sentences) {
                    Some((headlines, _)) => headlines.push(headline),
                    None => told.push((vec![headline], sentences)),
                }
            }
            for (headlines, sentences) in told {
                for headline in headlines {
                    writeln!(out, "  {headline}")?;
                }
                for sentence in sentences {
                    writeln!(out, "    {sentence}")?;
                }
            }
            if more > 0 {
                writeln!(out, "  … and {more} more; --json has them all")?;
            }
            if title == "not in this trace"
                && elsewhere
                && findings.exploration.is_none()
                && let Some(command) = another_run(findings.trace)
            {
                writeln!(out, "  Other runs may show them: {command}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The cycles of positions that are not witnessed.
    fn cycles(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let words = findings.words();
        let mut rows = findings.shown_deadlocks().filter(|row| row.number.is_none()).peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        writeln!(
            out,
            "{}:",
            self.paint
                .access("Cycles of locks of which no deadlock is witnessed".to_owned())
        )?;
        for row in rows.by_ref().take(LISTED_EXCLUDED) {
            let places: Vec<String> = row.of.example.iter().map(|&event| words.place(event)).collect();
            let reason = reason_of(&row.of.verdict).unwrap_or_default();
            writeln!(
                out,
                "  {}: {}, {reason}",
                places.join(" and "),
                verdict_of(&row.of.verdict)
            )?;
            for sentence in words.explanation_of_deadlock(row.of) {
                writeln!(out, "    {sentence}")?;
            }
        }
        match rows.count() {
            0 => {}
            more => writeln!(out, "  … and {more} more; --json has them all")?,
        }
        if findings.analysis.more_cycles {
            writeln!(
                out,
                "  There may be more: too many threads take too many locks to follow all cycles"
            )?;
        }
        writeln!(out)
    }

    /// What lock sets alone warn of, and what became of it.
    fn lock_sets(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(result) = LockSetResult::of(findings) else {
            return Ok(());
        };
        let title = format!(
            "Variables that lock sets warn of, {} of {}:",
            result.warnings.len(),
            result.variables
        );
        writeln!(out, "{}", self.paint.access(title))?;
        for warning in &result.warnings {
            let counts = [
                (warning.witnessed, "witnessed"),
                (warning.refuted, "refuted"),
                (warning.not_in_trace, "not in this trace"),
                (warning.unknown, "unknown"),
            ];
            let counts = counts.into_iter().filter(|&(count, _)| count > 0);
            let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
            let pairs = match counts.is_empty() {
                true => "no pair conflicts".to_owned(),
                false => format!("pairs: {}", counts.join(", ")),
            };
            writeln!(
                out,
                "  {}, at {}: {}; {pairs}",
                warning.memory, warning.place, warning.verdict
            )?;
        }
        let of = |verdict: &str| {
            result
                .warnings
                .iter()
                .filter(|warning| warning.verdict == verdict)
                .count()
        };
        writeln!(
            out,
            "  {} of these race, {} are false alarms, {} are open\n",
            of("race"),
            of("false alarm"),
            of("open")
        )
    }

    /// What may come between two accesses that belong together, and is not witnessed.
    fn interruptions(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let words = findings.words();
        let rows = findings.other_atomicity_violations();
        for (title, note, listed) in [
            ("refuted", " (in no run with these operations)", LISTED_EXCLUDED),
            (
                "not-in-trace",
                " (excluded by what happened in this run; another may show them)",
                LISTED_EXCLUDED,
            ),
            ("unknown", "", LISTED_UNKNOWN),
        ] {
            let rows = rows.iter().filter(|row| verdict_of(&row.of.verdict) == title);
            let rows: Vec<_> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let title = format!("Interruptions {}{note}:", title.replace('-', " "));
            writeln!(out, "{}", self.paint.access(title))?;
            for row in rows.iter().take(listed) {
                let (first, second) = (words.place(row.of.first()), words.place(row.of.second()));
                let others: Vec<String> = row.of.others().iter().map(|&event| words.place(event)).collect();
                let others = others.join(" and ");
                let reason = reason_of(&row.of.verdict).unwrap_or_default();
                writeln!(out, "  {others} between {first} and {second}: {reason}")?;
                for sentence in words.explanation_of_atomicity(row.of) {
                    writeln!(out, "    {sentence}")?;
                }
            }
            match rows.len().saturating_sub(listed) {
                0 => {}
                more => writeln!(out, "  … and {more} more; --json has them all")?,
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn summary(&self, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
        let text = format!("SUMMARY: witness: {summary}");
        let paint = self.paint.summary(
            summary.witnessed + summary.deadlocks + summary.atomicity_violations > 0,
            summary.unknown + summary.unknown_cycles + summary.unknown_interruptions > 0,
            text,
        );
        writeln!(out, "{paint}")
    }
}

/// One witnessed race, told from its first step to its last.
pub(crate) struct Told<'a> {
    pub(crate) findings: &'a Findings<'a>,
    pub(crate) paint: Paint,
    pub(crate) sources: &'a SourceText,
    pub(crate) number: usize,
    /// The pairs that it speaks for, its own first; may be empty if it speaks for itself only.
    pub(crate) rows: &'a [Row<'a>],
}

impl Told<'_> {
    fn write(
        &self,
        pair: &Pair,
        schedule: &Schedule,
        replay: &Result<Replay, Rejection>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.framed(replay, out, |replay, out| self.body(pair, schedule, replay, out))
    }

    /// What a schedule shows, under its title.
    fn framed(
        &self,
        replay: &Result<Replay, Rejection>,
        out: &mut dyn Write,
        body: impl FnOnce(&Replay, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let replay = match replay {
            Ok(replay) => replay,
            // Never a race that the checker does not accept, not even in print.
            Err(rejection) => return writeln!(out, "witness: internal error: {rejection}"),
        };
        writeln!(out, "==================")?;
        let title = match &replay.accepted.goal {
            Goal::UnorderedRace(..) => "data race (witnessed, unordered)".to_owned(),
            goal => format!("{} (witnessed)", name_of(goal)),
        };
        let title = format!("WARNING: witness: {title}");
        writeln!(out, "{}", self.paint.warning(title))?;
        body(replay, out)?;
        writeln!(out, "==================\n")
    }

    fn deadlock(
        &self,
        deadlock: &Deadlock,
        schedule: &Schedule,
        replay: &Result<Replay, Rejection>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.framed(replay, out, |replay, out| {
            self.deadlock_body(deadlock, schedule, replay, out)
        })
    }

    /// The operations that wait for each other, the schedule, and how to see it again.
    pub(crate) fn deadlock_body(
        &self,
        deadlock: &Deadlock,
        schedule: &Schedule,
        replay: &Replay,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let words = self.findings.words();
        let all = &deadlock.example;
        for &event in all {
            let thread = self.findings.trace.thread(event);
            let whose = match words.holder(event, all) {
                Some(holder) => format!(", which {} holds", words.thread(holder)),
                None => String::new(),
            };
            let head = format!(
                "{} {}{whose}:",
                capitalized(&words.thread(thread)),
                words.wait(event, all)
            );
            writeln!(out, "  {}", self.paint.access(head))?;
            self.stack(event, out)?;
            let held = replay.accesses.iter().find(|pending| pending.event == event);
            for held in held.into_iter().flat_map(|pending| &pending.held) {
                writeln!(out, "    holding {}", self.held(held))?;
            }
            writeln!(out)?;
        }
        self.schedule(schedule, replay, out)
    }

    fn atomicity_violation(
        &self,
        violation: &AtomicityViolation,
        others: &[usize],
        schedule: &Schedule,
        replay: &Result<Replay, Rejection>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.framed(replay, out, |replay, out| {
            self.atomicity_body(violation, replay, out)?;
            if !others.is_empty() {
                let plural = if others.len() == 1 { "" } else { "es" };
                let numbers: Vec<String> = others.iter().map(ToString::to_string).collect();
                writeln!(
                    out,
                    "  The same in these functions: witness{plural} {}\n",
                    numbers.join(", ")
                )?;
            }
            self.schedule(schedule, replay, out)
        })
    }

    /// The three accesses in their order, and why the first and the last belong together.
    pub(crate) fn atomicity_body(
        &self,
        violation: &AtomicityViolation,
        replay: &Replay,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let words = self.findings.words();
        let goal = &replay.accepted.goal;
        for (place, access) in replay.accesses.iter().enumerate() {
            let when = match place {
                _ if goal.awaited().contains(&access.event) => ", which has not happened yet",
                0 => "",
                _ => ", after that",
            };
            self.access(access, when, out)?;
        }
        let thread = capitalized(&words.thread_of(violation.first()));
        writeln!(out, "  {thread} {}\n", words.region(violation))?;
        self.location(violation.first(), out)?;
        match violation.others().len() {
            2.. => self.location(violation.second(), out),
            _ => Ok(()),
        }
    }

    /// The two accesses, what they access, the schedule, and how to see it again.
    pub(crate) fn body(
        &self,
        pair: &Pair,
        schedule: &Schedule,
        replay: &Replay,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let when = match replay.accepted.goal {
            Goal::Race(..)
            | Goal::OtherValue { .. }
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_)
            | Goal::AtomicityViolation { .. }
            | Goal::TornPair { .. } => ", at the same time",
            Goal::UseAfterFree { .. } | Goal::StalePointer { .. } => ", after that",
            Goal::Order { .. } => ", before that",
            Goal::UnorderedRace(..) => ", later, with nothing in between that synchronizes the two",
        };
        for (access, when) in replay.accesses.iter().zip(["", when]) {
            self.access(access, when, out)?;
        }
        let of = match schedule.goal {
            // Where the pointer itself is matters less.
            Goal::StalePointer { free, .. } => free,
            _ => pair.example.0,
        };
        self.location(of, out)?;
        self.source(replay, out)?;
        self.duplicates(out)?;
        self.schedule(schedule, replay, out)?;
        match self.findings.suppression(pair) {
            Some(line) => writeln!(out, "  suppress: {}", printable(&line)),
            None => Ok(()),
        }
    }

    /// The schedule, and how to see it again.
    fn schedule(&self, schedule: &Schedule, replay: &Replay, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  Schedule ({}):", length(schedule))?;
        let interleaving = Interleaving {
            words: self.findings.words(),
            sources: self.sources,
            paint: self.paint,
            detail: Detail::Last(SCHEDULE_LINES),
        };
        interleaving.write(replay, "    ", out)?;
        writeln!(out, "\n{}", self.replay_line())
    }

    /// Both source lines in context.
    fn source(&self, replay: &Replay, out: &mut dyn Write) -> io::Result<()> {
        let (trace, words) = (self.findings.trace, self.findings.words());
        let label = |letter: &str, pending: &PendingAccess| {
            let kind = trace
                .access(pending.event)
                .map_or("", |access| words.access_noun(access));
            (
                pending.event,
                format!("{letter}: {kind} by {}", words.thread(pending.thread)),
            )
        };
        let [a, b] = &replay.accesses[..] else {
            return Ok(());
        };
        let accesses = [label("a", a), label("b", b)];
        let Some(shown) = snippet(&words, self.sources, accesses, self.paint) else {
            return Ok(());
        };
        for line in shown.lines() {
            writeln!(out, "{}", format!("  {line}").trim_end())?;
        }
        writeln!(out)
    }

    /// The other pairs of the same race, by their lines.
    fn duplicates(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some((first, rest)) = self.rows.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return Ok(());
        };
        let own = lines(self.findings, first.of);
        let mut others: Vec<(Lines, usize)> = Vec::new();
        for row in rest {
            let at = lines(self.findings, row.of);
            if at != own && others.iter().all(|(known, _)| *known != at) {
                others.push((at, row.number.unwrap_or_default()));
            }
        }
        let pairs = self.rows.len();
        if others.is_empty() {
            return writeln!(
                out,
                "  {pairs} pairs of instructions at these two lines race; this is the first.\n"
            );
        }
        writeln!(
            out,
            "  {pairs} pairs of instructions in these functions race; this is the first. Also:"
        )?;
        for ((a, b), number) in others.iter().take(LISTED_DUPLICATES) {
            writeln!(out, "    {a} and {b} (witness {number})")?;
        }
        if let Some(more) = others.len().checked_sub(LISTED_DUPLICATES).filter(|&more| more > 0) {
            writeln!(out, "    … and {more} more; --json has them all")?;
        }
        writeln!(out)
    }

    /// The command that shows it again.
    pub(crate) fn replay_line(&self) -> String {
        format!("  replay: {}", replay_command(self.findings, self.number))
    }

    fn access(&self, pending: &PendingAccess, when: &str, out: &mut dyn Write) -> io::Result<()> {
        let (trace, words) = (self.findings.trace, self.findings.words());
        let Some(access) = trace.access(pending.event) else {
            return Ok(());
        };
        let kind = capitalized(words.access_noun(access));
        let thread = words.thread(pending.thread);
        let what = words.touched(access, access.addr);
        let head = format!("{kind} of {what} by {thread}{when}:");
        writeln!(out, "  {}", self.paint.access(head))?;
        self.stack(pending.event, out)?;
        for held in &pending.held {
            writeln!(out, "    holding {}", self.held(held))?;
        }
        if pending.held.is_empty() {
            writeln!(out, "    holding no lock")?;
        }
        writeln!(out)
    }

    fn held(&self, held: &HeldLock) -> String {
        let words = self.findings.words();
        let how = if held.shared { " for reading" } else { "" };
        let since = match held.since {
            Some(event) => format!("locked{how} at {}", words.place(event)),
            None => format!("locked{how} before the trace began"),
        };
        format!("{}, {since}", words.object(held.lock))
    }

    fn stack(&self, event: EventId, out: &mut dyn Write) -> io::Result<()> {
        let trace = self.findings.trace;
        let frames = self.findings.symbols.stack(trace.pc(event), trace.stack(event));
        // What called the thread's first function, in the C library or the recorder, helps nobody.
        let named = frames
            .iter()
            .rposition(|frame| frame.file.is_some() || frame.function.is_some());
        let shown = named.map_or(frames.len(), |last| last + 1);
        for (number, frame) in frames[..shown].iter().enumerate() {
            writeln!(out, "    #{number} {frame}")?;
        }
        Ok(())
    }

    fn location(&self, event: EventId, out: &mut dyn Write) -> io::Result<()> {
        let Some(access) = self.findings.trace.access(event) else {
            return Ok(());
        };
        let (what, allocated) = location(&self.findings.words(), access);
        writeln!(out, "  Location is {what}")?;
        if let Some(alloc) = allocated {
            self.stack(alloc, out)?;
        }
        writeln!(out)
    }
}
