//! The pairs of an analysis as reports show them: the same race once.

use super::words::name_of;
use super::{Findings, Row};
use crate::schedule::Schedule;
use crate::symbols::{Frame, printable};
use crate::trace::{EventId, IncarnationId};
use crate::verdict::{Entry, Pair, Verdict};

/// One race: the witnessed pairs that have the same id.
pub struct Race<'a> {
    /// Its pairs, by the number of their witness; never empty.
    pub rows: Vec<Row<'a>>,
    /// The schedule of the first of them.
    pub schedule: &'a Schedule,
}

impl<'a> Race<'a> {
    /// The pair that speaks for all.
    #[must_use]
    pub fn first(&self) -> &Row<'a> {
        &self.rows[0]
    }

    /// The number of its witness.
    #[must_use]
    pub fn number(&self) -> usize {
        self.rows[0].number.unwrap_or_default()
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        name_of(&self.schedule.goal)
    }
}

/// A warning of another tool, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedWarning {
    /// Where it stands: `tsan.log:12`.
    pub origin: String,
    /// Who wrote it.
    pub tool: String,
    /// What speaks for it; `None` if nothing does.
    pub row: Option<Entry>,
    /// `witnessed`, `refuted`, `not-in-trace` or `unknown`.
    pub verdict: &'static str,
    /// The accesses, or acquisitions, as the tool describes them.
    pub sides: Vec<String>,
    /// File and line of the first one, as far as the tool gives them.
    pub place: Option<(String, u32)>,
    /// The reason, one fact a sentence.
    pub explanation: Vec<String>,
}

/// What a race is but for its places: address, size, block and kind of the two accesses.
type Shape = (Side, Side);
type Side = (u64, u64, IncarnationId, &'static str);

/// Races of one shape that are shown one by one.
const ALIKE: usize = 10;

/// Warnings of one race that a report lists; a program that warns in a loop has as many as one likes.
const LISTED_WARNINGS: usize = 10;

impl<'a> Findings<'a> {
    /// The number of a pair's witness; `None` if it has none.
    #[must_use]
    pub fn number(&self, row: usize) -> Option<usize> {
        let witnessed = |pair: &Pair| matches!(pair.verdict, Verdict::Witnessed(_));
        let pairs = &self.analysis.pairs;
        witnessed(&pairs[row]).then(|| pairs[..=row].iter().filter(|pair| witnessed(pair)).count())
    }

    /// The number of the witness of the race that alone keeps a pair out of this trace.
    #[must_use]
    pub fn behind(&self, pair: &Pair) -> Option<usize> {
        self.number(pair.behind? as usize)
    }

    /// The witnessed races among the pairs that `keep` keeps, each once, by their first witness.
    #[must_use]
    pub fn races(&self, keep: impl Fn(&Row<'a>) -> bool) -> Vec<Race<'a>> {
        let mut races: Vec<Race<'a>> = Vec::new();
        let mut known: hashbrown::HashMap<&str, usize> = hashbrown::HashMap::new();
        for row in self.rows().filter(keep) {
            let Some(schedule) = row.schedule() else { continue };
            match known.get(row.id).filter(|_| !row.id.is_empty()) {
                Some(&race) => races[race].rows.push(row),
                None => {
                    known.insert(row.id, races.len());
                    let rows = vec![row];
                    races.push(Race { rows, schedule });
                }
            }
        }
        races
    }

    /// The races that are shown. Many that differ in where the same memory is accessed in the same way are one, with a
    /// count: a flag that is polled at a thousand places.
    #[must_use]
    pub fn shown_races(&self) -> Vec<Race<'a>> {
        let races = self.races(|row| row.hidden.is_none());
        let shapes: Vec<Option<Shape>> = races.iter().map(|race| self.shape(race.first().of)).collect();
        let mut alike: hashbrown::HashMap<&Shape, usize> = hashbrown::HashMap::new();
        for shape in shapes.iter().flatten() {
            *alike.entry(shape).or_default() += 1;
        }
        let mut shown: Vec<Race<'a>> = Vec::new();
        let mut first: hashbrown::HashMap<&Shape, usize> = hashbrown::HashMap::new();
        for (race, shape) in races.into_iter().zip(&shapes) {
            match shape.as_ref().filter(|shape| alike[*shape] > ALIKE) {
                Some(shape) if first.contains_key(shape) => shown[first[shape]].rows.extend(race.rows),
                Some(shape) => {
                    first.insert(shape, shown.len());
                    shown.push(race);
                }
                None => shown.push(race),
            }
        }
        shown
    }

    fn shape(&self, pair: &Pair) -> Option<Shape> {
        let access = |event| {
            let access = self.trace.access(event)?;
            Some((
                access.addr,
                access.size,
                self.trace.incarnation_of(access.event),
                self.words().access_kind(access.kind),
            ))
        };
        let (a, b) = (access(pair.example.0)?, access(pair.example.1)?);
        Some(if a <= b { (a, b) } else { (b, a) })
    }

    /// `write of message at a.c:17 in writer, thread 1`.
    #[must_use]
    pub fn access(&self, event: EventId) -> String {
        let words = self.words();
        let Some(access) = self.trace.access(event) else {
            return words.sentence(event);
        };
        let frame = words.frame(event);
        let function = function(&frame).map_or_else(String::new, |function| format!(" in {function}"));
        let (kind, memory) = (words.access_noun(access), words.memory(access));
        let thread = words.thread(self.trace.thread(event));
        format!("{kind} of {memory} at {}{function}, {thread}", frame.place())
    }

    /// Both accesses of a pair in one sentence.
    #[must_use]
    pub fn headline(&self, pair: &Pair) -> String {
        format!("{}; {}", self.access(pair.example.0), self.access(pair.example.1))
    }

    /// The warnings that a pair or a deadlock speaks for, the first of them: `ThreadSanitizer at tsan.log:12`, …,
    /// `90 more`.
    #[must_use]
    pub fn warnings_about(&self, row: Entry) -> Vec<String> {
        let mut warnings = self.attached_warnings.iter().filter(|warning| warning.row == Some(row));
        let first = warnings.by_ref().take(LISTED_WARNINGS);
        let mut told: Vec<String> = first
            .map(|warning| format!("{} at {}", warning.tool, warning.origin))
            .collect();
        let more = warnings.count();
        if more > 0 {
            told.push(format!("{more} more"));
        }
        told
    }

    /// The line of a suppression file that would hide a pair.
    #[must_use]
    pub fn suppression(&self, pair: &Pair) -> Option<String> {
        let top = |event: EventId| {
            let stack = self.symbols.stack(self.trace.pc(event), self.trace.stack(event));
            stack.first().and_then(super::noise::suppression_for)
        };
        top(pair.example.0).or_else(|| top(pair.example.1))
    }
}

fn function(frame: &Frame) -> Option<String> {
    frame
        .function
        .as_deref()
        .map(|function| printable(function).into_owned())
}
