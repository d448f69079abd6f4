//! One race, or one deadlock: its accesses, or the operations that wait, and the picture of its witness.

use super::picture::Picture;
use super::{LETTERS, Sources, anchor};
use crate::replay::{PendingAccess, Replay};
use crate::report::command::replay_command;
use crate::report::location::location;
use crate::report::{AtomicityRow, AttachedTo, DeadlockRow, Findings, Race};
use crate::schedule::{Goal, Schedule};
use crate::symbols::printable;
use maud::{Markup, html};
use std::collections::BTreeSet;

pub(super) fn section(
    trace: usize,
    findings: &Findings<'_>,
    race: &Race<'_>,
    replay: &Replay,
    sources: &Sources,
) -> Markup {
    let pair = race.first().pair;
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
        Goal::Race(..) | Goal::OtherValue { .. } | Goal::Deadlock(_) | Goal::AtomicityViolation { .. } => {
            "Both accesses are next in their threads, enabled and in conflict: nothing orders them. \
             An independent checker has executed this schedule."
        }
    };
    let name = race.name();
    let (initial, rest) = name.split_at(1);
    let command = replay_command(findings, race.number());
    let memory = findings
        .trace
        .access(pair.example.0)
        .map(|access| location(&words, access).0);
    let switches = schedule.switches();
    html! {
        section.race id=(anchor(trace, race.number())) tabindex="-1" {
            h2 {
                span.badge.witnessed { (race.number()) }
                " " (initial.to_uppercase()) (rest)
                @if let Some(memory) = memory { " on " span.memory { (memory.trim_end_matches(':')) } }
            }
            p.about {
                (schedule.len()) " events, " (switches) " context switch" @if switches != 1 { "es" }
                @if race.rows.len() > 1 { " · " (race.rows.len()) " pairs of instructions" }
                " · id " code { (race.first().id) }
                @for warning in findings.warnings_about(AttachedTo::Pair(race.first().row)) { " · warned of by " (warning) }
            }
            div.stage {
                (Picture::of(findings, replay, sources).draw())
                aside.source aria-label="Source" {}
            }
            div.pair {
                @for (shown, letter) in replay.accesses.iter().zip(LETTERS) {
                    (side(findings, shown, letter, sources))
                }
            }
            (others(findings, race))
            p.verdict { (how) }
            dl.commands {
                dt { "see it again" } dd { code { (command) } }
                dt { "see it live" } dd { code { (command) " --live" } }
                @if let Some(line) = findings.suppression(pair) { dt { "suppress it" } dd { code { (line) } } }
            }
        }
    }
}

/// A witnessed deadlock, in the same form.
pub(super) fn deadlock(
    trace: usize,
    findings: &Findings<'_>,
    row: &DeadlockRow<'_>,
    replay: &Replay,
    sources: &Sources,
) -> Markup {
    let (words, number) = (findings.words(), row.number.unwrap_or_default());
    let awaited: Vec<String> = row.deadlock.example.iter().map(|&event| words.awaited(event)).collect();
    let command = replay_command(findings, number);
    let switches = row.schedule().map_or(0, Schedule::switches);
    html! {
        section.race id=(anchor(trace, number)) tabindex="-1" {
            h2 {
                span.badge.witnessed { (number) }
                " Deadlock: threads wait for " span.memory { (awaited.join(" and ")) }
            }
            p.about {
                (row.schedule().map_or(0, Schedule::len)) " events, " (switches) " context switch" @if switches != 1 { "es" }
                " · id " code { (row.id) }
                @for warning in findings.warnings_about(AttachedTo::Deadlock(row.row)) { " · warned of by " (warning) }
            }
            div.stage {
                (Picture::of(findings, replay, sources).draw())
                aside.source aria-label="Source" {}
            }
            div.pair {
                @for (shown, letter) in replay.accesses.iter().zip(LETTERS) {
                    (side(findings, shown, letter, sources))
                }
            }
            p.verdict {
                "Each of these operations waits for another of the threads, for ever. An independent checker has executed this schedule."
            }
            dl.commands {
                dt { "see it again" } dd { code { (command) } }
                dt { "see it live" } dd { code { (command) " --live" } }
            }
        }
    }
}

/// A witnessed atomicity violation, in the same form.
pub(super) fn atomicity_violation(
    trace: usize,
    findings: &Findings<'_>,
    row: &AtomicityRow<'_>,
    replay: &Replay,
    sources: &Sources,
) -> Markup {
    let (words, number) = (findings.words(), row.number.unwrap_or_default());
    let access = findings.trace.access(row.violation.example[0]);
    let memory = access.map_or_else(String::new, |access| words.memory(access));
    let thread = words.thread_of(row.violation.example[0]);
    let command = replay_command(findings, number);
    let switches = row.schedule().map_or(0, Schedule::switches);
    html! {
        section.race id=(anchor(trace, number)) tabindex="-1" {
            h2 {
                span.badge.witnessed { (number) }
                " Atomicity violation on " span.memory { (memory) }
            }
            p.about {
                (row.schedule().map_or(0, Schedule::len)) " events, " (switches) " context switch" @if switches != 1 { "es" }
                " · id " code { (row.id) }
            }
            div.stage {
                (Picture::of(findings, replay, sources).draw())
                aside.source aria-label="Source" {}
            }
            div.pair {
                @for (shown, letter) in replay.accesses.iter().zip(LETTERS) {
                    (side(findings, shown, letter, sources))
                }
            }
            p.verdict {
                (thread) " " (words.region(row.violation)) ", and the other thread's access comes between its two. \
                An independent checker has executed this schedule."
            }
            dl.commands {
                dt { "see it again" } dd { code { (command) } }
                dt { "see it live" } dd { code { (command) " --live" } }
            }
        }
    }
}

/// The other pairs of the same race, by their places.
fn others(findings: &Findings<'_>, race: &Race<'_>) -> Markup {
    let words = findings.words();
    let mut known = BTreeSet::new();
    let places = race.rows.iter().filter_map(|row| {
        let mut places = [row.pair.example.0, row.pair.example.1].map(|event| words.place(event));
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
fn side(findings: &Findings<'_>, pending: &PendingAccess, letter: char, sources: &Sources) -> Markup {
    let (trace, words) = (findings.trace, findings.words());
    let kind = match trace.access(pending.event) {
        Some(access) => words.access_noun(access).to_owned(),
        None => format!("wait for {}", words.awaited(pending.event)),
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
