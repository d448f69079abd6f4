//! The report for people, in the manner of ThreadSanitizer.

use super::interleaving::{Detail, Interleaving};
use super::location::location;
use super::paint::Paint;
use super::results::{Summary, refutation_name, unknown_name};
use super::source_text::SourceText;
use super::{Exporter, Findings, folder_of};
use crate::check::{Checker, HeldLock};
use crate::replay::{PendingAccess, Replay};
use crate::schedule::{RaceKind, Schedule};
use crate::trace::EventId;
use crate::verdict::{Pair, Verdict};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Lines of a schedule that the report shows; `witness replay` shows all.
const SCHEDULE_LINES: usize = 80;

/// Races that are told from their first step to their last; of the others, one line each.
pub(crate) const TOLD_RACES: usize = 20;

/// Refuted, or unknown, pairs of lines that the report lists.
const LISTED_PAIRS: usize = 50;

/// Writes each witnessed race with its schedule, then the other pairs in short.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// Colours.
    pub paint: Paint,
}

/// Two source lines, in text order.
type Lines = (String, String);

impl Exporter for Text {
    fn export(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        if let Some(cut) = findings.trace.cut() {
            let events = match cut.events {
                0 => "no event is left".to_owned(),
                events => format!("analysed up to event {}", events - 1),
            };
            writeln!(
                out,
                "witness: the trace is cut at byte {} ({}): {events}; nothing is refuted",
                cut.offset, cut.cause
            )?;
        }
        for reason in &findings.trace.tables().meta.degraded {
            writeln!(out, "witness: the recording may lack events or order: {reason}")?;
        }
        let mut same_lines: BTreeMap<Lines, usize> = BTreeMap::new();
        for (_, pair) in findings.numbered().filter(|(number, _)| number.is_some()) {
            *same_lines.entry(lines(findings, pair)).or_default() += 1;
        }
        let sources = SourceText::default();
        let checker = Checker::new(findings.trace);
        let mut told = 0;
        for (number, pair) in findings.numbered() {
            if let (Some(number), Verdict::Witnessed(schedule)) = (number, &pair.verdict) {
                // The first pair at these lines speaks for all of them.
                let both = lines(findings, pair);
                if let Some(count) = same_lines.remove(&both) {
                    told += 1;
                    if told > TOLD_RACES {
                        if told == TOLD_RACES + 1 {
                            writeln!(out, "{}:", self.paint.access("More races".to_owned()))?;
                        }
                        writeln!(out, "  {number}. {} and {}", both.0, both.1)?;
                        continue;
                    }
                    let race = Race {
                        findings,
                        paint: self.paint,
                        sources: &sources,
                        number,
                        count,
                    };
                    race.write(pair, schedule, &checker, out)?;
                }
            }
        }
        if told > TOLD_RACES {
            let path = findings.path.display();
            writeln!(out, "  `witness replay {path} --witness N` shows each\n")?;
        }
        self.others(findings, out)?;
        for problem in findings.symbols.problems() {
            writeln!(out, "witness: {problem}")?;
        }
        self.summary(findings, out)
    }
}

fn lines(findings: &Findings<'_>, pair: &Pair) -> Lines {
    let (a, b) = (
        findings.symbols.place(pair.positions.0),
        findings.symbols.place(pair.positions.1),
    );
    if a <= b { (a, b) } else { (b, a) }
}

impl Text {
    /// Refuted and unknown pairs, the same two source lines once per reason.
    fn others(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let words = findings.words();
        for title in ["refuted", "unknown"] {
            let mut seen: Vec<(Lines, &str, usize, &Pair)> = Vec::new();
            let mut rows: HashMap<(Lines, &str), usize> = HashMap::new();
            for pair in &findings.analysis.pairs {
                let reason = match &pair.verdict {
                    Verdict::Refuted(refutation) if title == "refuted" => refutation_name(refutation),
                    Verdict::Unknown(unknown) if title == "unknown" => unknown_name(unknown),
                    _ => continue,
                };
                let lines = lines(findings, pair);
                let row = *rows.entry((lines.clone(), reason)).or_insert(seen.len());
                match seen.get_mut(row) {
                    Some((_, _, count, _)) => *count += 1,
                    None => seen.push((lines, reason, 1, pair)),
                }
            }
            if seen.is_empty() {
                continue;
            }
            let note = if title == "refuted" {
                " (no schedule of this trace shows them)"
            } else {
                ""
            };
            writeln!(out, "{}{note}:", self.paint.access(capitalized(title)))?;
            let more = seen.len().saturating_sub(LISTED_PAIRS);
            for ((first, second), reason, count, pair) in seen.into_iter().take(LISTED_PAIRS) {
                let count = if count > 1 {
                    format!(" ({count} pairs of instructions)")
                } else {
                    String::new()
                };
                writeln!(out, "  {first} and {second}: {reason}{count}")?;
                for sentence in words.explanation(pair) {
                    writeln!(out, "    {sentence}")?;
                }
            }
            if more > 0 {
                writeln!(out, "  … and {more} more; --json has them all")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn summary(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Summary {
            witnessed,
            refuted,
            unknown,
        } = Summary::of(&findings.analysis.pairs);
        let pairs = if refuted == 1 { "pair" } else { "pairs" };
        let races = if witnessed == 1 { "data race" } else { "data races" };
        let text =
            format!("SUMMARY: witness: {witnessed} {races} witnessed, {refuted} {pairs} refuted, {unknown} unknown");
        if witnessed > 0 {
            writeln!(out, "{}", self.paint.warning(text))
        } else if unknown > 0 {
            writeln!(out, "{}", self.paint.access(text))
        } else {
            writeln!(out, "{}", self.paint.good(text))
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// One witnessed race.
pub(crate) struct Race<'a> {
    pub(crate) findings: &'a Findings<'a>,
    pub(crate) paint: Paint,
    pub(crate) sources: &'a SourceText,
    pub(crate) number: usize,
    /// Pairs of instructions at the same two source lines.
    pub(crate) count: usize,
}

impl Race<'_> {
    fn write(&self, pair: &Pair, schedule: &Schedule, checker: &Checker<'_>, out: &mut dyn Write) -> io::Result<()> {
        let replay = match Replay::of(checker, schedule) {
            Ok(replay) => replay,
            // Never a race that the checker does not accept, not even in print.
            Err(rejection) => return writeln!(out, "witness: internal error: {rejection}"),
        };
        writeln!(out, "==================")?;
        let kind = match replay.accepted.kind {
            RaceKind::CoEnabled => "witnessed",
            RaceKind::Unordered => "witnessed, unordered",
        };
        writeln!(
            out,
            "{}",
            self.paint.warning(format!("WARNING: witness: data race ({kind})"))
        )?;
        self.body(pair, schedule, &replay, out)?;
        writeln!(out, "==================\n")
    }

    /// The two accesses, what they access, the schedule, and how to see it again.
    pub(crate) fn body(
        &self,
        pair: &Pair,
        schedule: &Schedule,
        replay: &Replay,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let when = match replay.accepted.kind {
            RaceKind::CoEnabled => ", at the same time",
            RaceKind::Unordered => ", later, with nothing in between that synchronizes the two",
        };
        self.access(&replay.race.0, "", out)?;
        self.access(&replay.race.1, when, out)?;
        self.location(pair.example.0, out)?;
        if self.count > 1 {
            writeln!(
                out,
                "  {} pairs of instructions at these two lines race; this is the first.\n",
                self.count
            )?;
        }
        let switches = schedule.switches();
        let plural = if switches == 1 { "switch" } else { "switches" };
        writeln!(
            out,
            "  Schedule ({} events, {switches} context {plural}):",
            schedule.len()
        )?;
        let interleaving = Interleaving {
            words: self.findings.words(),
            sources: self.sources,
            paint: self.paint,
            detail: Detail::Last(SCHEDULE_LINES),
        };
        interleaving.write(replay, "    ", out)?;
        writeln!(out, "\n{}", self.replay_line())
    }

    /// The command that shows it again.
    pub(crate) fn replay_line(&self) -> String {
        let trace = quoted(&self.findings.path.display().to_string());
        let elsewhere = self
            .findings
            .folder
            .filter(|folder| *folder != folder_of(self.findings.path));
        let store = elsewhere.map_or_else(String::new, |folder| {
            format!(" --store {}", quoted(&folder.display().to_string()))
        });
        format!("  replay: witness replay {trace}{store} --witness {}", self.number)
    }

    fn access(&self, pending: &PendingAccess, when: &str, out: &mut dyn Write) -> io::Result<()> {
        let (trace, words) = (self.findings.trace, self.findings.words());
        let Some(access) = trace.access(pending.event) else {
            return Ok(());
        };
        let kind = capitalized(words.access_kind(access.kind));
        let thread = words.thread(pending.thread);
        let what = match words.imported_variable(access) {
            Some(name) => format!("'{name}'"),
            None => format!("size {} at {:#x}", access.size, access.addr),
        };
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

/// A path as a shell would take it.
fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%".contains(letter);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}
