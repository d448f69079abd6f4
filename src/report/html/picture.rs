//! The swim lanes of a witness: threads side by side, time downwards, both racing accesses at the end.
//!
//! Rows are of fixed height, so that the drawing behind them (lanes, critical sections, arrows) can be placed without
//! a script. Text is HTML and can be searched, selected and printed.

mod drawing;

use super::{LETTERS, Sources};
use crate::replay::{PendingAccess, Replay};
use crate::report::Findings;
use crate::report::condense::{Line, lines};
use crate::report::links::{Kind, Links};
use crate::report::words::value;
use crate::schedule::Goal;
use crate::symbols::{Frame, file_name};
use crate::trace::{ObjectId, ThreadId};
use drawing::class;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Heights, in CSS pixels; `page.css` has the same ones.
const ROW: usize = 44;
const RACE_ROW: usize = 96;

/// Columns: the numbers of steps, then a lane for each thread.
const GUTTER: usize = 56;

/// Where in its lane a thread's line is.
const LINE: usize = 34;

/// What fits on a sheet of paper across; wider pictures are printed smaller.
const PAPER: usize = 690;

/// Rows of a picture; of a longer schedule the last ones are drawn.
const ROWS: usize = 300;

/// What one row shows.
enum Row {
    /// What came before: so many events as recorded, so many steps that are not drawn.
    Before {
        recorded: u32,
        steps: usize,
    },
    Step {
        index: usize,
    },
    Condensed {
        index: usize,
        events: usize,
    },
    Race,
}

pub(super) struct Picture<'a> {
    findings: &'a Findings<'a>,
    replay: &'a Replay,
    sources: &'a Sources,
    lanes: Vec<ThreadId>,
    rows: Vec<Row>,
    /// By step: its row, if it is drawn.
    row_of: Vec<Option<usize>>,
    links: Links,
    locks: Vec<ObjectId>,
    width: usize,
}

impl<'a> Picture<'a> {
    pub(super) fn of(findings: &'a Findings<'a>, replay: &'a Replay, sources: &'a Sources) -> Picture<'a> {
        let trace = findings.trace;
        let lines = lines(trace, replay, false)
            .into_iter()
            .filter(|line| !matches!(line, Line::Switch { .. }));
        let lines: Vec<Line> = lines.collect();
        let kept = &lines[lines.len().saturating_sub(ROWS)..];
        let first = kept.first().map_or(replay.executed.len(), |line| match *line {
            Line::Event { index } | Line::Condensed { index, .. } => index,
            Line::Switch { .. } => 0,
        });
        let mut rows = Vec::new();
        if replay.as_recorded > 0 || first > 0 {
            rows.push(Row::Before {
                recorded: replay.as_recorded,
                steps: first,
            });
        }
        let mut row_of = vec![None; replay.executed.len()];
        for line in kept {
            match *line {
                Line::Event { index } => {
                    row_of[index] = Some(rows.len());
                    rows.push(Row::Step { index });
                }
                Line::Condensed { index, events, .. } => {
                    row_of[index..index + events].fill(Some(rows.len()));
                    rows.push(Row::Condensed { index, events });
                }
                Line::Switch { .. } => {}
            }
        }
        rows.push(Row::Race);
        let steps = replay.executed[first..].iter().map(|step| trace.thread(step.event));
        let racing = replay.accesses.iter().map(|access| access.thread);
        let lanes: BTreeSet<ThreadId> = steps.chain(racing).collect();
        let mut links = Links::of(trace, replay);
        // What threads hold that take no step here is not drawn: they have no lane.
        links.held.retain(|held| lanes.contains(&held.thread));
        let locks: BTreeSet<ObjectId> = links.held.iter().map(|held| held.lock).collect();
        let lanes: Vec<ThreadId> = lanes.into_iter().collect();
        let width = match lanes.len() {
            0..=2 => 400,
            3 => 320,
            4 => 270,
            _ => 230,
        };
        Picture {
            findings,
            replay,
            sources,
            lanes,
            rows,
            row_of,
            links,
            locks: locks.into_iter().collect(),
            width,
        }
    }

    pub(super) fn draw(&self) -> Markup {
        let words = self.findings.words();
        let total = GUTTER + self.lanes.len() * self.width;
        let print = format!("{:.3}", (PAPER as f64 / total as f64).min(1.0));
        html! {
            div.scroll {
                div.picture style={ "width:" (total) "px;--lane:" (self.width) "px;--print:" (print) } {
                    div.heads {
                        @for &lane in &self.lanes {
                            div.head style={ "left:" (self.left(lane)) "px" } { (words.thread(lane)) }
                        }
                    }
                    div.rows {
                        (self.drawing(total))
                        @for (number, row) in self.rows.iter().enumerate() { (self.row(number, row)) }
                    }
                    (self.legend())
                }
            }
        }
    }

    /// The left edge of a lane.
    fn left(&self, thread: ThreadId) -> usize {
        let lane = self.lanes.iter().position(|lane| *lane == thread).unwrap_or(0);
        GUTTER + lane * self.width
    }

    fn x(&self, thread: ThreadId) -> usize {
        self.left(thread) + LINE
    }

    /// The middle of a row; of the race, where its dots are.
    fn y(&self, row: usize) -> usize {
        row * ROW + ROW / 2
    }

    fn row(&self, number: usize, row: &Row) -> Markup {
        match *row {
            Row::Before { recorded, steps } => html! {
                div.row.before {
                    span.text {
                        @if recorded > 0 { "the first " (recorded) " events, as recorded" }
                        @if recorded > 0 && steps > 0 { ", and " }
                        @if steps > 0 { (steps) " earlier steps" }
                    }
                }
            },
            Row::Condensed { index, events } => {
                let event = self.replay.executed[index].event;
                let left = self.left(self.findings.trace.thread(event));
                html! {
                    div.row.condensed {
                        span.text style={ "margin-left:" (left - GUTTER + LINE + 16) "px" } { "… " (events) " more events" }
                    }
                }
            }
            Row::Step { index } => self.step(number, index),
            Row::Race => self.race(),
        }
    }

    fn step(&self, number: usize, index: usize) -> Markup {
        let words = self.findings.words();
        let step = &self.replay.executed[index];
        let thread = self.findings.trace.thread(step.event);
        let frame = words.frame(step.event);
        let before = number.checked_sub(1).and_then(|before| match self.rows[before] {
            Row::Step { index } | Row::Condensed { index, .. } => {
                Some(self.findings.trace.thread(self.replay.executed[index].event))
            }
            Row::Before { .. } | Row::Race => None,
        });
        let racing = self.replay.accepted.goal.performed().any(|event| event == step.event);
        let action = words.describe_event(step.event, &step.step.woken);
        html! {
            div.row.step.switch[before.is_some_and(|before| before != thread)].racing[racing]
                data-step=(index + 1) data-event=(step.event.0) data-thread=(words.thread(thread))
                data-file=[frame.file.as_deref()] data-line=[frame.line]
            {
                span.number title={ "event " (step.event.0) " of the trace" } { (index + 1) }
                span.chip style={ "margin-left:" (self.left(thread) - GUTTER + LINE + 10) "px" } title=(action) {
                    span.action { (action) }
                    (self.place(&frame))
                }
            }
        }
    }

    fn race(&self) -> Markup {
        let last = self.replay.executed.len() + 1;
        let lettered = self.replay.accesses.iter().zip(LETTERS);
        let pending: Vec<_> = lettered.filter(|(access, _)| access.is_next).collect();
        let Some((&(second, _), before)) = pending.split_last() else {
            return html! {};
        };
        let event = second.event;
        let what = match self.replay.accepted.goal {
            Goal::Deadlock(_) => "Deadlock",
            Goal::PartialDeadlock(_) => "Partial deadlock",
            Goal::UseAfterFree { .. } => "Use after free",
            Goal::AtomicityViolation { .. } => "Atomicity violation",
            Goal::TornPair { .. } => "Torn pair",
            Goal::Order { .. } => "Too early",
            Goal::OtherValue { .. } => "Null pointer",
            Goal::StalePointer { .. } => "Stale pointer",
            Goal::Race(..) | Goal::UnorderedRace(..) => "Race",
        };
        let words = self.findings.words();
        let frame = words.frame(event);
        // The first access, if that is next too.
        let first = before.first().map(|(first, _)| words.frame(first.event));
        html! {
            div.row.step.race-row data-step=(last) data-event=(event.0)
                data-what=(what)
                data-thread=(if before.is_empty() { words.thread(second.thread) } else { "race".to_owned() })
                data-file=[frame.file.as_deref()] data-line=[frame.line]
                data-file-a=[first.as_ref().and_then(|frame| frame.file.as_deref())]
                data-line-a=[first.as_ref().and_then(|frame| frame.line)]
            {
                span.number { (last) }
                @for (access, letter) in &pending { (self.card(access, *letter)) }
            }
        }
    }

    fn card(&self, pending: &PendingAccess, letter: char) -> Markup {
        let words = self.findings.words();
        let access = self.findings.trace.access(pending.event);
        let all = || {
            self.replay
                .accesses
                .iter()
                .map(|access| access.event)
                .collect::<Vec<_>>()
        };
        let mut action = access.map_or_else(|| words.wait(pending.event, &all()), |access| words.intent(access));
        if let Some(access) = access {
            match (access.kind.reads(), access.kind.writes(), pending.memory) {
                (true, false, Some(memory)) => action += &format!(", now {}", value(memory)),
                (false, true, _) if access.size <= 8 => action += &format!(" = {}", value(words.values(access).1)),
                _ => {}
            }
        }
        let frame = words.frame(pending.event);
        html! {
            div.card style={ "left:" (self.left(pending.thread) + LINE + 14) "px" } data-event=(pending.event.0) title=(action) {
                span.letter { (letter) }
                span.action { (action) }
                (self.place(&frame))
                span.held {
                    @if pending.held.is_empty() { "no lock held" } @else {
                        "holding " (pending.held.iter().map(|held| words.object(held.lock)).collect::<Vec<_>>().join(", "))
                    }
                }
            }
        }
    }

    /// File and line, and what stands there.
    fn place(&self, frame: &Frame) -> Markup {
        let (Some(file), Some(line)) = (&frame.file, frame.line) else {
            return html! { span.place { @if frame.pc != 0 { (frame.place()) } } };
        };
        self.sources.show(file, line);
        let text = self.sources.text.line(file, line);
        html! {
            span.place title={ (file) ":" (line) } {
                (file_name(file)) ":" (line) @if let Some(text) = text { " " code { (text) } }
            }
        }
    }

    /// What the colors mean, as far as they occur.
    fn legend(&self) -> Markup {
        let words = self.findings.words();
        let drawn: BTreeSet<Kind> = self.links.links.iter().map(|link| link.kind).collect();
        html! {
            ul.legend {
                @for &lock in &self.locks {
                    li { span class={ "swatch lock-" (self.color(lock)) } {} "holds " (words.object(lock)) }
                }
                @for kind in drawn {
                    li { span class={ "swatch stroke " (class(kind)) } {} (kind.name()) }
                }
            }
        }
    }
}
