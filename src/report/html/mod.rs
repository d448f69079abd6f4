//! One self-contained HTML page: what was found, and a picture of each witness.
//!
//! The page contains everything, and its content policy forbids it to load anything. The pictures and tables work
//! without the script; the script steps through a picture by keyboard, shows the source beside it, and filters.

mod overview;
mod picture;
mod race;

use super::{Exporter, Findings, Row, SourceText, Unfinished};
use crate::replay::Replay;
use crate::results::{ExplorationResult, Summary, tool};
use crate::schedule::Schedule;
use crate::symbols::printable;
use crate::verdict::Deadlock;
use crate::verdict::Kind;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Races of a trace that get a picture; the others are in the table.
const PICTURES: usize = 50;

/// What the events of a goal are called.
const LETTERS: std::ops::RangeInclusive<char> = 'a'..='z';

/// Lines of source before and behind one that is shown.
const CONTEXT: u32 = 5;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing but what is in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Writes the page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Exporter for Html {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        let sources = Sources {
            text: SourceText::of_findings(findings),
            shown: RefCell::default(),
        };
        let traces: Vec<Markup> = findings
            .iter()
            .enumerate()
            .map(|(number, findings)| trace(number, findings, &sources))
            .collect();
        let total = Summary::total(findings);
        let names: Vec<String> = findings
            .iter()
            .map(|findings| findings.path.display().to_string())
            .collect();
        let has_cycles = total.deadlocks + total.unknown_cycles > 0;
        let pairs = [
            (Kind::Races, "Data races"),
            (Kind::UseAfterFree, "Uses after free"),
            (Kind::Order, "Order violations"),
            (Kind::NullPointer, "Null pointers"),
            (Kind::StalePointer, "Stale pointers"),
        ];
        let heading = match pairs.into_iter().find(|&(kind, _)| total.find.has(kind)) {
            Some((_, pairs)) if has_cycles => format!("{pairs} and deadlocks"),
            Some((_, pairs)) => pairs.to_owned(),
            None if total.find.has(Kind::Deadlocks) => "Deadlocks".to_owned(),
            None => "Atomicity violations".to_owned(),
        };
        let json = sources.json();
        let embedded = sources.text.shown();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content=(tool());
                    title { (heading) ": " (names.join(", ")) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        div.title {
                            h1 { (heading) }
                            p { code { (names.join(", ")) } " · " (tool()) }
                        }
                        (counts(&total, findings.first().and_then(|first| first.exploration)))
                        button #theme type="button" title="Colors: as the system, light, dark" { "◐" }
                    }
                    main {
                        @if let Some(all) = findings.first().and_then(|first| first.exploration) {
                            (exploration(all, total.has_no_race()))
                        }
                        @for trace in &traces { (trace) }
                    }
                    (keys(&embedded))
                    div #said aria-live="polite" {}
                    script #sources type="application/json" { (PreEscaped(json)) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        out.write_all(page.into_string().as_bytes())?;
        writeln!(out)
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="generator" content=(tool());
                    title { "Not finished: " (analysis.trace.display()) }
                }
                body {
                    h1 { "Not finished" }
                    p { (analysis.in_one_line()) }
                }
            }
        };
        out.write_all(page.into_string().as_bytes())
    }
}

fn counts(total: &Summary, exploration: Option<&ExplorationResult>) -> Markup {
    let mut shown = match total.has_pairs() {
        true => vec![
            ("witnessed", total.witnessed),
            ("refuted", total.refuted),
            ("unknown", total.unknown),
        ],
        false => Vec::new(),
    };
    let hidden = [
        ("not-in-trace", total.not_in_trace),
        ("suppressed", total.suppressed),
        ("known", total.known),
    ];
    shown.extend(hidden.into_iter().filter(|(_, count)| *count > 0));
    // Of a run that was made to show them, by kind.
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for one in exploration.into_iter().flat_map(|all| &all.found) {
        *found.entry(&one.kind).or_default() += 1;
    }
    html! {
        ul.counts {
            @for (name, count) in shown {
                li class={ "count " (name) } { strong { (count) } " " (overview::said(name)) }
            }
            @if total.deadlocks > 0 {
                li.count.witnessed { strong { (total.deadlocks) } " deadlock" @if total.deadlocks != 1 { "s" } }
            }
            @for (kind, count) in found {
                li.count.witnessed { strong { (count) } " " (kind) @if count != 1 { "s" } " found" }
            }
            @if total.atomicity_violations > 0 {
                li.count.witnessed {
                    strong { (total.atomicity_violations) } " atomicity violation" @if total.atomicity_violations != 1 { "s" }
                }
            }
        }
    }
}

/// What an exploration says of all schedules, and what it has found besides races.
fn exploration(all: &ExplorationResult, no_race: bool) -> Markup {
    html! {
        section #exploration {
            h2 { "Every schedule" }
            p { (all.statement(no_race)) @if !all.exhausted { ":" } }
            ul { @for reason in &all.not_exhausted { li { (reason) } } }
            @for found in &all.found {
                h3 { (found.title) }
                ul { @for fact in &found.details { li { (fact) } } }
                @if let Some(command) = &found.replay { p { "Run it again: " code { (command) } } }
            }
        }
    }
}

/// How to go through the page by keyboard, and whose source is in it.
fn keys(embedded: &[String]) -> Markup {
    let keys = [
        ("j ↓", "next step"),
        ("k ↑", "step before"),
        ("Home End", "first, last step"),
        ("n p", "next race, race before"),
        ("/", "filter"),
        ("Esc", "the whole picture again"),
    ];
    html! {
        footer {
            dl.keys {
                @for (key, what) in keys {
                    div { dt { @for key in key.split(' ') { kbd { (key) } } } dd { (what) } }
                }
            }
            @if !embedded.is_empty() {
                p.embedded { "This page holds source lines of " (embedded.join(", ")) "." }
            }
        }
    }
}

fn trace(number: usize, findings: &Findings<'_>, sources: &Sources) -> Markup {
    let races = findings.shown_races();
    let checker = findings.checker();
    let schedules: Vec<&Schedule> = races.iter().take(PICTURES).map(|race| race.schedule).collect();
    let replays = Replay::of_all(&checker, &schedules);
    let told: Vec<Markup> = races
        .iter()
        .zip(&replays)
        .filter_map(|(race, replay)| {
            // Never a race that the checker does not accept.
            let replay = replay.as_ref().ok()?;
            Some(race::section(number, findings, race, replay, sources))
        })
        .collect();
    let deadlocks = findings.shown_deadlocks().take(PICTURES).filter_map(|row| {
        let replay = Replay::of(&checker, row.schedule()?).ok()?;
        Some((row, race::deadlock(number, findings, &row, &replay, sources)?))
    });
    let (waiting, deadlocks): (Vec<Row<'_, Deadlock>>, Vec<Markup>) = deadlocks.unzip();
    let interrupted = findings.told_atomicity_violations().into_iter().take(PICTURES);
    let interrupted = interrupted.filter_map(|(row, _)| {
        let replay = Replay::of(&checker, row.schedule()?).ok()?;
        race::atomicity_violation(number, findings, &row, &replay, sources)
    });
    let interrupted: Vec<Markup> = interrupted.collect();
    html! {
        section.trace {
            @if let Some(end) = findings.run_end() {
                p.run-end { strong { (end.sentence) } @if end.facts.is_empty() { "." } @else { ":" } }
                ul { @for fact in &end.facts { li { (printable(fact)) } } }
            }
            (overview::table(number, findings, &races[..told.len().min(races.len())], &waiting))
            @if races.len() > told.len() {
                p.note {
                    "The other " (races.len() - told.len()) " races have no picture here; "
                    code { "witness replay " (findings.path.display()) " --witness N" } " shows each."
                }
            }
            @for race in &told { (race) }
            @for deadlock in &deadlocks { (deadlock) }
            @for violation in &interrupted { (violation) }
        }
    }
}

/// The anchor of a race.
fn anchor(trace: usize, number: usize) -> String {
    if trace == 0 {
        format!("race-{number}")
    } else {
        format!("race-{}-{number}", trace + 1)
    }
}

/// The source lines that the page shows, with what is around them.
struct Sources {
    text: SourceText,
    shown: RefCell<BTreeMap<String, BTreeSet<u32>>>,
}

impl Sources {
    /// Asks for a line to be in the page.
    fn show(&self, file: &str, line: u32) {
        let around = line.saturating_sub(CONTEXT).max(1)..=line.saturating_add(CONTEXT);
        self.shown
            .borrow_mut()
            .entry(file.to_owned())
            .or_default()
            .extend(around);
    }

    /// By file and line: the text. As JSON that cannot end the script that it stands in.
    fn json(&self) -> String {
        let shown = self.shown.borrow();
        let files = shown.iter().filter_map(|(file, lines)| {
            let text = |line: &u32| self.text.whole(file, *line).map(|text| (*line, text));
            let lines: BTreeMap<u32, String> = lines.iter().filter_map(text).collect();
            (!lines.is_empty()).then_some((file, lines))
        });
        let files: BTreeMap<_, _> = files.collect();
        serde_json::to_string(&files)
            .unwrap_or_default()
            .replace('<', "\\u003c")
    }
}
