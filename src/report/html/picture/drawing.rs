//! What is drawn behind the text of a picture: lanes, critical sections, arrows, the two accesses that meet.

use super::{Picture, RACE_ROW, ROW, Row};
use crate::report::links::{Held, Kind};
use crate::trace::{EventId, ObjectId, Op, ThreadId};
use maud::{Markup, html};

/// Colors of locks, by `page.css`.
const LOCK_COLOURS: usize = 6;

impl Picture<'_> {
    /// Lanes, critical sections, arrows.
    pub(super) fn drawing(&self, width: usize) -> Markup {
        let race = self.rows.len() - 1;
        let height = race * ROW + RACE_ROW;
        html! {
            svg.drawing width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } aria-hidden="true" {
                defs {
                    @for kind in KINDS {
                        marker id={ "head-" (class(kind)) } class=(class(kind)) viewBox="0 0 8 8" refX="7" refY="4"
                            markerWidth="7" markerHeight="7" orient="auto-start-reverse" { path d="M0 0 L8 4 L0 8 z" {} }
                    }
                }
                @for &lane in &self.lanes {
                    line.lane x1=(self.x(lane)) x2=(self.x(lane)) y1="0" y2=(self.y(race)) {}
                }
                @for (thread, from, to) in self.runs() {
                    line.run x1=(self.x(thread)) x2=(self.x(thread)) y1=(self.y(from) - 12) y2=(self.y(to) + 12) {}
                }
                @for (held, slot) in self.stretches() { (self.stretch(&held, slot)) }
                @for link in &self.links.links {
                    @if let (Some(from), Some(to)) = (self.row_of[link.from], self.row_of[link.to]) {
                        (self.arrow(link.kind, (from, link.from), (to, link.to)))
                    }
                }
                (self.meeting(race))
                @for (number, row) in self.rows.iter().enumerate() {
                    @if let Row::Step { index } = row {
                        @let event = self.replay.executed[*index].event;
                        circle class={ "dot " (dot(self.findings.trace.op(event))) } r="5"
                            cx=(self.x(self.findings.trace.thread(event))) cy=(self.y(number)) data-step=(index + 1) {}
                    }
                }
            }
        }
    }

    /// Stretches of rows in which one thread runs.
    fn runs(&self) -> Vec<(ThreadId, usize, usize)> {
        let mut runs: Vec<(ThreadId, usize, usize)> = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let (Row::Step { index } | Row::Condensed { index, .. }) = row else {
                continue;
            };
            let thread = self.findings.trace.thread(self.replay.executed[*index].event);
            match runs.last_mut() {
                Some(last) if last.0 == thread => last.2 = number,
                _ => runs.push((thread, number, number)),
            }
        }
        runs
    }

    /// Critical sections, each with how many others of its thread enclose it.
    fn stretches(&self) -> Vec<(Held, usize)> {
        let end = |held: &Held| held.to.unwrap_or(usize::MAX);
        let start = |held: &Held| held.from.map_or(0, |from| from + 1);
        let all = &self.links.held;
        let placed = all.iter().enumerate().map(|(number, held)| {
            let around = all[..number]
                .iter()
                .filter(|other| other.thread == held.thread && start(other) <= end(held) && start(held) <= end(other));
            (*held, around.count().min(3))
        });
        placed.collect()
    }

    fn stretch(&self, held: &Held, slot: usize) -> Markup {
        let row = |step: usize| self.row_of[step];
        let top = held.from.and_then(row).map_or(0, |row| self.y(row) - 6);
        let bottom = match held.to {
            // What was over before the first row is not drawn.
            Some(to) if row(to).is_none() => return html! {},
            Some(to) => row(to).map_or(0, |row| self.y(row) + 6),
            None => self.y(self.rows.len() - 1) + 6,
        };
        let words = self.findings.words();
        let x = self.x(held.thread) - 11 - 6 * slot;
        let last = self.replay.executed.len() + 1;
        html! {
            rect class={ "lock lock-" (self.color(held.lock)) } x=(x) y=(top) width="4" rx="2"
                height=(bottom.saturating_sub(top).max(4)) data-name=(words.object(held.lock))
                data-thread=(words.thread(held.thread)) data-from=(held.from.map_or(0, |from| from + 1))
                data-to=(held.to.map_or(last, |to| to)) {
                title { (words.thread(held.thread)) " holds " (words.object(held.lock)) }
            }
        }
    }

    pub(super) fn color(&self, lock: ObjectId) -> usize {
        self.locks.iter().position(|known| *known == lock).unwrap_or(0) % LOCK_COLOURS
    }

    fn arrow(&self, kind: Kind, from: (usize, usize), to: (usize, usize)) -> Markup {
        let drawn = |row: usize| matches!(self.rows[row], Row::Step { .. });
        if from.0 == to.0 || !drawn(from.0) || !drawn(to.0) {
            return html! {};
        }
        let thread = |step: usize| self.findings.trace.thread(self.replay.executed[step].event);
        let (x1, y1) = (self.x(thread(from.1)), self.y(from.0));
        let (x2, y2) = (self.x(thread(to.1)), self.y(to.0));
        let bend = ((y2 - y1) / 2).clamp(ROW / 2, 3 * ROW);
        // It ends at the edge of the dot, not in its middle.
        let path = format!(
            "M{x1} {} C{x1} {}, {x2} {}, {x2} {}",
            y1 + 5,
            y1 + bend,
            y2.saturating_sub(bend),
            y2 - 7
        );
        html! {
            path class={ "arrow " (class(kind)) } d=(path) marker-end={ "url(#head-" (class(kind)) ")" }
                data-from=(from.1 + 1) data-to=(to.1 + 1) { title { (kind.name()) } }
        }
    }

    /// The line that joins the two racing accesses.
    fn meeting(&self, race: usize) -> Markup {
        let [first, second] = &self.replay.accesses[..] else {
            return html! {};
        };
        let row_of = |event: EventId| {
            let step = self.replay.executed.iter().position(|step| step.event == event)?;
            self.row_of[step]
        };
        let from = if first.is_next { Some(race) } else { row_of(first.event) };
        let last = self.replay.executed.len() + 1;
        let (x1, x2, y2) = (self.x(first.thread), self.x(second.thread), self.y(race));
        html! {
            @if let Some(y1) = from.map(|row| self.y(row)) {
                line.meeting data-step=(last) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {}
                circle.dot.racing data-step=(if from == Some(race) { last } else { 0 }) r="8" cx=(x1) cy=(y1) {}
            }
            circle.dot.racing data-step=(last) r="8" cx=(x2) cy=(y2) {}
        }
    }
}

const KINDS: [Kind; 5] = [Kind::Fork, Kind::Join, Kind::Lock, Kind::Wake, Kind::ReadsFrom];

pub(super) fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Fork => "fork",
        Kind::Join => "join",
        Kind::Lock => "hand-over",
        Kind::Wake => "wake",
        Kind::ReadsFrom => "reads-from",
    }
}

fn dot(op: Op) -> &'static str {
    match op {
        Op::Access => "access",
        Op::Begin | Op::End | Op::Fork { .. } | Op::Join { .. } => "thread",
        _ => "sync",
    }
}
