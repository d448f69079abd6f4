//! The table of all pairs and cycles of locks, to be filtered.

use super::anchor;
use crate::report::noise::Hidden;
use crate::report::results::{reason_of, verdict_of};
use crate::report::{Findings, Race, Row};
use crate::results::{refutation_name, unknown_name};
use crate::symbols::{file_name, printable};
use crate::trace::EventId;
use crate::verdict::{AtomicityViolation, Deadlock, Verdict};
use hashbrown::HashMap;
use maud::{Markup, html};

/// Rows of the table, besides the races.
const LISTED: usize = 2_000;

struct Entry<'a> {
    row: Row<'a>,
    verdict: &'static str,
    reason: String,
    count: usize,
}

/// The table. The races and deadlocks in `pictured` and `waiting` have a picture.
pub(super) fn table(
    trace: usize,
    findings: &Findings<'_>,
    pictured: &[Race<'_>],
    waiting: &[Row<'_, Deadlock>],
) -> Markup {
    let deadlocks: Vec<Row<'_, Deadlock>> = findings.shown_deadlocks().collect();
    let told = findings.told_atomicity_violations().into_iter().map(|(row, _)| row);
    let others = findings.other_atomicity_violations();
    let interruptions: Vec<Row<'_, AtomicityViolation>> = told.chain(others).collect();
    let entries = entries(findings);
    let verdicts = ["witnessed", "unknown", "not-in-trace", "refuted", "suppressed", "known"];
    let unmatched: Vec<_> = findings
        .attached_warnings
        .iter()
        .filter(|warning| warning.row.is_none())
        .collect();
    let left_out = entries.len().saturating_sub(LISTED) + unmatched.len().saturating_sub(LISTED);
    let has = |verdict: &str| {
        entries.iter().any(|entry| entry.verdict == verdict)
            || unmatched.iter().any(|warning| warning.verdict == verdict)
            || deadlocks.iter().any(|row| verdict_of(&row.of.verdict) == verdict)
            || interruptions.iter().any(|row| verdict_of(&row.of.verdict) == verdict)
    };
    let verdicts: Vec<&str> = verdicts.into_iter().filter(|verdict| has(verdict)).collect();
    html! {
        @if verdicts.is_empty() {
            @if trace == 0 { p.note { "No two threads access the same memory in a way that conflicts." } }
        } @else {
            form.filter {
                input type="search" placeholder="Filter: file, function, variable, lock…" aria-label="Filter";
                @for verdict in &verdicts {
                    label class={ "badge " (verdict) } { input type="checkbox" name=(verdict) checked; (said(verdict)) }
                }
            }
            table.pairs {
                thead { tr { th { "Verdict" } th { "Accesses" } th { "Memory" } th { "Why" } th.number { "Pairs" } } }
                tbody {
                    @for row in deadlocks.iter().take(LISTED) { (cycle(trace, findings, row, waiting)) }
                    @for row in interruptions.iter().take(LISTED) { (interruption(trace, findings, row)) }
                    @for entry in entries.iter().take(LISTED) { (line(trace, findings, entry, pictured)) }
                    @for warning in unmatched.iter().take(LISTED) {
                        tr data-verdict=(warning.verdict) {
                            td { span class={ "badge " (warning.verdict) } { (said(warning.verdict)) } }
                            td { @for side in &warning.sides { div { (side) } } }
                            td {}
                            td { (warning.tool) " at " (warning.origin) ": " (warning.explanation.join("; ")) }
                            td.number {}
                        }
                    }
                }
            }
            @if left_out > 0 {
                p.note { (left_out) " more pairs are left out; the JSON report has them all." }
            }
        }
    }
}

/// A verdict as people read it.
pub(super) fn said(verdict: &str) -> &str {
    match verdict {
        "not-in-trace" => "not in this trace",
        other => other,
    }
}

/// Races, and pairs of the same places with the same verdict, once.
fn entries<'a>(findings: &Findings<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for row in findings.rows() {
        let (verdict, reason) = match (row.hidden, &row.of.verdict) {
            (Some(Hidden::Suppressed(line)), _) => ("suppressed", line.clone()),
            (Some(Hidden::Known | Hidden::Elsewhere), _) => ("known", "in the baseline".to_owned()),
            (None, Verdict::Witnessed(_)) => ("witnessed", "a schedule shows it".to_owned()),
            (None, Verdict::Refuted(refutation)) => ("refuted", refutation_name(refutation).to_owned()),
            (None, Verdict::NotInTrace(refutation)) => ("not-in-trace", refutation_name(refutation).to_owned()),
            (None, Verdict::Unknown(unknown)) => ("unknown", unknown_name(unknown).to_owned()),
        };
        let places = if matches!(row.of.verdict, Verdict::Witnessed(_)) {
            row.id.to_owned()
        } else {
            let mut places = [row.of.example.0, row.of.example.1].map(|event| findings.words().place(event));
            places.sort();
            places.join(" ")
        };
        match known.get(&(places.clone(), reason.clone())) {
            Some(&entry) => entries[entry].count += 1,
            None => {
                known.insert((places, reason.clone()), entries.len());
                entries.push(Entry {
                    row,
                    verdict,
                    reason,
                    count: 1,
                });
            }
        }
    }
    let rank = |verdict: &str| {
        ["witnessed", "unknown", "not-in-trace", "refuted"]
            .iter()
            .position(|known| *known == verdict)
    };
    entries.sort_by_key(|entry| rank(entry.verdict).unwrap_or(4));
    entries
}

fn line(trace: usize, findings: &Findings<'_>, entry: &Entry<'_>, pictured: &[Race<'_>]) -> Markup {
    let words = findings.words();
    let pair = entry.row.of;
    let explanation = words.explanation(pair);
    let number = pictured
        .iter()
        .find(|race| race.first().entry == entry.row.entry)
        .map(Race::number);
    let memory = findings.trace.access(pair.example.0).map(|access| words.memory(access));
    html! {
        tr data-verdict=(entry.verdict) data-race=[number.map(|number| anchor(trace, number))] {
            td { span class={ "badge " (entry.verdict) } { (said(entry.verdict)) } }
            td {
                @for event in [pair.example.0, pair.example.1] { (access(findings, event)) }
                @for warning in findings.warnings_about(entry.row.entry) { div.faint { "warned of by " (warning) } }
            }
            td { code { (memory.unwrap_or_default()) } }
            td {
                @if let Some(number) = number {
                    a href={ "#" (anchor(trace, number)) } { (entry.reason) }
                } @else if explanation.is_empty() {
                    (entry.reason)
                } @else {
                    details { summary { (entry.reason) } ul { @for sentence in &explanation { li { (sentence) } } } }
                }
            }
            td.number { (entry.count) }
        }
    }
}

/// A cycle of operations that wait for each other.
fn cycle(trace: usize, findings: &Findings<'_>, row: &Row<'_, Deadlock>, pictured: &[Row<'_, Deadlock>]) -> Markup {
    let words = findings.words();
    let verdict = verdict_of(&row.of.verdict);
    let reason = reason_of(&row.of.verdict).unwrap_or("a schedule shows it");
    let explanation = words.explanation_of_deadlock(row.of);
    let has_picture = pictured.iter().any(|other| other.entry == row.entry);
    let number = row.number.filter(|_| has_picture);
    let mut awaited: Vec<String> = row
        .of
        .example
        .iter()
        .map(|&event| words.awaited(event, &row.of.example))
        .collect();
    awaited.dedup();
    html! {
        tr data-verdict=(verdict) data-race=[number.map(|number| anchor(trace, number))] {
            td { span class={ "badge " (verdict) } { (said(verdict)) } }
            td {
                @for &event in &row.of.example {
                    div.access title=(words.place(event)) {
                        span.kind { "wait" } " " code { (file_name(&words.place(event))) }
                    }
                }
                @for warning in findings.warnings_about(row.entry) { div.faint { "warned of by " (warning) } }
            }
            td { (awaited.join(", ")) }
            td {
                @if let Some(number) = number {
                    a href={ "#" (anchor(trace, number)) } { (reason) }
                } @else if explanation.is_empty() {
                    (reason)
                } @else {
                    details { summary { (reason) } ul { @for sentence in &explanation { li { (sentence) } } } }
                }
            }
            td.number { "1" }
        }
    }
}

/// Two accesses of a thread, and another thread's between them.
fn interruption(trace: usize, findings: &Findings<'_>, row: &Row<'_, AtomicityViolation>) -> Markup {
    let words = findings.words();
    let verdict = verdict_of(&row.of.verdict);
    let reason = reason_of(&row.of.verdict).unwrap_or("a schedule shows it");
    let explanation = words.explanation_of_atomicity(row.of);
    let access_of = findings.trace.access(row.of.first());
    html! {
        tr data-verdict=(verdict) data-race=[row.number.map(|number| anchor(trace, number))] {
            td { span class={ "badge " (verdict) } { (said(verdict)) } }
            td { @for &event in &row.of.example { (access(findings, event)) } }
            td { @if let Some(access) = access_of { (words.memory(access)) } }
            td {
                @if let Some(number) = row.number {
                    a href={ "#" (anchor(trace, number)) } { (reason) }
                } @else if explanation.is_empty() {
                    (reason)
                } @else {
                    details { summary { (reason) } ul { @for sentence in &explanation { li { (sentence) } } } }
                }
            }
            td.number { "1" }
        }
    }
}

/// `write  a.c:17  writer`.
fn access(findings: &Findings<'_>, event: EventId) -> Markup {
    let words = findings.words();
    let frame = words.frame(event);
    let kind = findings
        .trace
        .access(event)
        .map_or("", |access| words.access_noun(access));
    let place = frame.place();
    html! {
        div.access title=(place) {
            span.kind { (kind) } " " code { (file_name(&place)) }
            @if let Some(function) = &frame.function { " " span.faint { "in " (printable(function)) } }
        }
    }
}
