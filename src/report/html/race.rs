//! One race, or one deadlock: its accesses, or the operations that wait, and the picture of its witness.

use super::picture::Picture;
use super::{LETTERS, Sources, anchor};
use crate::replay::{PendingAccess, Replay};
use crate::report::command::replay_command;
use crate::report::interleaving::length;
use crate::report::location::location;
use crate::report::words::capitalized;
use crate::report::{Findings, Race, Row};
use crate::schedule::{Goal, Schedule};
use crate::symbols::printable;
use crate::trace::EventId;
use crate::verdict::{AtomicityViolation, Deadlock, DeadlockKind, Entry};
use maud::{Markup, html};
use std::collections::BTreeSet;

pub(super) fn section(
    trace: usize,
    findings: &Findings<'_>,
    race: &Race<'_>,
    replay: &Replay,
    sources: &Sources,
) -> Markup {
    let pair = race.first().of;
    let (words, schedule) = (findings.words(), race.schedule);
    let how = match schedule.goal {
        Goal::UnorderedRace(..) => {
            "The first access comes before the second, and nothing in between synchronizes the two."
        }
        Goal::Order { .. } => {
            "The second access is next, and the first, which has to come before it, has not happened. An independent \
             checker has executed this schedule."
        }
        Goal::UseAfterFree { .. } => {
            "The block is freed, and then the access of it is next. An independent checker has executed this schedule."
        }
        Goal::OtherValue { .. } => {
            "The pointer that its thread follows is about to be read, and is 0. An independent checker has executed this \
             schedule."
        }
        Goal::StalePointer { .. } => {
            "The block is freed, and then a pointer to it, which its thread follows, is about to be read. An independent \
             checker has executed this schedule."
        }
        Goal::Race(..)
        | Goal::Deadlock(_)
        | Goal::PartialDeadlock(_)
        | Goal::AtomicityViolation { .. }
        | Goal::TornPair { .. } => {
            "Both accesses are next in their threads, enabled and in conflict: nothing orders them. \
             An independent checker has executed this schedule."
        }
    };
    let memory = findings.trace.access(pair.example.0);
    let memory = memory.map(|access| location(&words, access).0);
    Finding {
        number: race.number(),
        entry: race.first().entry,
        id: race.first().id,
        schedule,
        title: html! {
            (capitalized(race.name()))
            @if let Some(memory) = memory { " on " span.memory { (memory.trim_end_matches(':')) } }
        },
        pairs: race.rows.len(),
        others: others(findings, race),
        how: how.to_owned(),
        suppression: findings.suppression(pair),
    }
    .section(trace, findings, replay, sources)
}

/// A witnessed deadlock, in the same form.
pub(super) fn deadlock(
    trace: usize,
    findings: &Findings<'_>,
    row: &Row<'_, Deadlock>,
    replay: &Replay,
    sources: &Sources,
) -> Option<Markup> {
    let words = findings.words();
    let awaited: Vec<String> = row
        .of
        .example
        .iter()
        .map(|&event| words.awaited(event, &row.of.example))
        .collect();
    let finding = Finding {
        number: row.number?,
        entry: row.entry,
        id: row.id,
        schedule: row.schedule()?,
        title: html! { (capitalized(row.of.name())) ": threads wait for " span.memory { (awaited.join(" and ")) } },
        pairs: 1,
        others: html! {},
        how: match row.of.kind {
            DeadlockKind::Standstill => {
                "Each of these operations waits, and no other thread is left. An independent checker has executed this \
                 schedule."
            }
            DeadlockKind::Partial => {
                "Each of these operations waits, and nobody else ends that in the recorded run. An independent checker \
                 has executed this schedule."
            }
            DeadlockKind::Cycle => {
                "Each of these operations waits for another of the threads, for ever. An independent checker has \
                 executed this schedule."
            }
        }
        .to_owned(),
        suppression: None,
    };
    Some(finding.section(trace, findings, replay, sources))
}

/// A witnessed atomicity violation, in the same form.
pub(super) fn atomicity_violation(
    trace: usize,
    findings: &Findings<'_>,
    row: &Row<'_, AtomicityViolation>,
    replay: &Replay,
    sources: &Sources,
) -> Option<Markup> {
    let words = findings.words();
    let access = findings.trace.access(row.of.first());
    let memory = access.map_or_else(String::new, |access| words.memory(access));
    let (thread, region) = (words.thread_of(row.of.first()), words.region(row.of));
    let how = match row.of.others().len() {
        2.. => "one of its reads sees what the other thread writes, and the other does not",
        _ => "the other thread's access comes between its two",
    };
    let finding = Finding {
        number: row.number?,
        entry: row.entry,
        id: row.id,
        schedule: row.schedule()?,
        title: html! { "Atomicity violation on " span.memory { (memory) } },
        pairs: 1,
        others: html! {},
        how: format!("{thread} {region}, and {how}. An independent checker has executed this schedule."),
        suppression: None,
    };
    Some(finding.section(trace, findings, replay, sources))
}

/// What is particular to one finding.
struct Finding<'a> {
    number: usize,
    entry: Entry,
    id: &'a str,
    schedule: &'a Schedule,
    title: Markup,
    /// Pairs of instructions that it stands for.
    pairs: usize,
    /// Where those are.
    others: Markup,
    how: String,
    /// The line that would hide it.
    suppression: Option<String>,
}

impl Finding<'_> {
    fn section(&self, trace: usize, findings: &Findings<'_>, replay: &Replay, sources: &Sources) -> Markup {
        let command = replay_command(findings, self.number);
        html! {
            section.race id=(anchor(trace, self.number)) tabindex="-1" {
                h2 {
                    span.badge.witnessed { (self.number) }
                    " " (self.title)
                }
                p.about {
                    (length(self.schedule))
                    @if self.pairs > 1 { " · " (self.pairs) " pairs of instructions" }
                    " · id " code { (self.id) }
                    @for warning in findings.warnings_about(self.entry) { " · warned of by " (warning) }
                }
                div.stage {
                    (Picture::of(findings, replay, sources).draw())
                    aside.source aria-label="Source" {}
                }
                div.pair {
                    @for (shown, letter) in replay.accesses.iter().zip(LETTERS) {
                        (side(findings, shown, &replay.accesses, letter, sources))
                    }
                }
                (self.others)
                p.verdict { (self.how) }
                dl.commands {
                    dt { "see it again" } dd { code { (command) } }
                    dt { "see it live" } dd { code { (command) " --live" } }
                    @if let Some(line) = &self.suppression { dt { "suppress it" } dd { code { (line) } } }
                }
            }
        }
    }
}

/// The other pairs of the same race, by their places.
fn others(findings: &Findings<'_>, race: &Race<'_>) -> Markup {
    let words = findings.words();
    let mut known = BTreeSet::new();
    let places = race.rows.iter().filter_map(|row| {
        let mut places = [row.of.example.0, row.of.example.1].map(|event| words.place(event));
        places.sort();
        let place = places.join(" and ");
        known.insert(place.clone()).then_some((place, row.number))
    });
    let places: Vec<_> = places.collect();
    html! {
        @if let Some(others) = places.get(1..).filter(|others| !others.is_empty()) {
            details.others {
                summary { (others.len()) " more pair" @if others.len() != 1 { "s" } " of lines in these functions" }
                ul { @for (place, number) in others { li { (place) @if let Some(number) = number { span.faint { " witness " (number) } } } } }
            }
        }
    }
}

/// One of the accesses, or operations that wait, with its call stack, its locks and its source.
fn side(
    findings: &Findings<'_>,
    pending: &PendingAccess,
    all: &[PendingAccess],
    letter: char,
    sources: &Sources,
) -> Markup {
    let (trace, words) = (findings.trace, findings.words());
    let kind = match trace.access(pending.event) {
        Some(access) => words.access_noun(access).to_owned(),
        None => {
            let all: Vec<EventId> = all.iter().map(|access| access.event).collect();
            format!("wait for {}", words.awaited(pending.event, &all))
        }
    };
    let frames = findings
        .symbols
        .stack(trace.pc(pending.event), trace.stack(pending.event));
    let named = frames
        .iter()
        .rposition(|frame| frame.file.is_some() || frame.function.is_some());
    let frames = &frames[..named.map_or(frames.len(), |last| last + 1)];
    let frame = words.frame(pending.event);
    html! {
        article.side {
            h3 { span.letter { (letter) } " " (kind) " by " (words.thread(pending.thread)) }
            ol.stack start="0" {
                @for frame in frames {
                    li {
                        code { (printable(frame.function.as_deref().unwrap_or("?"))) } " " span.faint { (frame.place()) }
                    }
                }
            }
            p.held {
                @if pending.held.is_empty() { "holding no lock" } @else {
                    @for held in &pending.held {
                        span {
                            "holding " (words.object(held.lock)) @if held.shared { " for reading" }
                            @if let Some(since) = held.since { ", locked at " (words.place(since)) } " "
                        }
                    }
                }
            }
            @if let (Some(file), Some(line)) = (&frame.file, frame.line) { (excerpt(file, line, sources)) }
        }
    }
}

/// Some lines of source, one of them marked; nothing if the source is not there.
fn excerpt(file: &str, line: u32, sources: &Sources) -> Markup {
    let lines = line.saturating_sub(2).max(1)..=line.saturating_add(2);
    let lines: Vec<(u32, String)> = lines
        .filter_map(|at| sources.text.whole(file, at).map(|text| (at, text)))
        .collect();
    html! {
        @if lines.iter().any(|(at, _)| *at == line) {
            pre.code {
                @for (at, text) in &lines {
                    span.line.marked[*at == line] { span.at { (at) } (text) "\n" }
                }
            }
        }
    }
}
