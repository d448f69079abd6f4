//! The outcome of each warning, as one documented object, `witness-confirm/1`.
//!
//! Fields are only ever added within one schema version.

use super::How;
use super::frames::is_intercepted;
use super::outcome::{Class, Confirmed, Outcome};
use crate::report::noise::Hidden;
use crate::results::{ExplorationResult, TraceSummary, tool};
use crate::verdict::Entry;
use crate::warnings::{Kind, Side};
use serde::{Deserialize, Serialize};

/// The value of [`ConfirmResults::schema`].
pub const SCHEMA: &str = "witness-confirm/1";

/// All warnings, and what became of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmResults {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name and version of what wrote this.
    pub tool: String,
    /// The traces that were asked.
    pub traces: Vec<TraceSummary>,
    /// The data races and lock orders that were warned of, in the order of the reports.
    pub warnings: Vec<WarningResult>,
    /// What else was warned of.
    pub others: Vec<OtherResult>,
    /// The warnings of data races and lock orders, counted.
    pub summary: ConfirmSummary,
    /// What can be said of all schedules, if the traces are of an exploration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<ExplorationResult>,
}

/// A warning of a data race, or of a lock order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningResult {
    /// The report that it is in.
    pub report: String,
    /// The line there.
    pub line: usize,
    /// The tool that wrote it.
    pub tool: String,
    /// What the tool calls it.
    pub title: String,
    /// `witnessed`, `refuted`, `not-in-trace` or `unknown`.
    pub verdict: String,
    /// The id of the race or deadlock, as in `witness-results/2`, if the warning means one of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Refuted, not in this trace: `must-happen-before`, `lockset`, `lock history`, `core`, `both atomic`. Unknown:
    /// `not in this trace`, `allocation`, `no places given`, `no shared memory`, `one thread`, `only reads`,
    /// `no cycle`, `cycles`, `ambiguous`, or as in `witness-results/2`. Witnessed: null.
    pub reason: Option<String>,
    /// The reason in words, one fact a sentence.
    pub explanation: Vec<String>,
    /// Whether the verdict holds only if the places were guessed right.
    pub guess: bool,
    /// How the places were found, as far as it has to be known.
    pub notes: Vec<String>,
    /// The two accesses, in the order of the report; of a lock order, the acquisitions that would wait.
    pub sides: Vec<SideResult>,
    /// Pairs, or cycles, of instructions that the verdict speaks of.
    pub pairs: usize,
    /// The trace that it comes from: a row of `traces`.
    pub trace: usize,
    /// The number of the witness in the stored results; null if there is none.
    pub witness: Option<usize>,
    /// The file of its schedule.
    pub schedule: Option<String>,
    /// If it is refuted: a related race, in the same functions on the same memory.
    #[serde(rename = "beside", default, skip_serializing_if = "Option::is_none")]
    pub related_race: Option<RelatedRaceResult>,
    /// The line of a suppression file that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// Whether the baseline has it; absent without a baseline, or if it has not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
}

/// A witnessed race in the functions of a refuted warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedRaceResult {
    /// Its id.
    pub id: String,
    /// Its two accesses: `file:line`.
    pub places: [String; 2],
    /// The number of the witness in the stored results.
    pub witness: usize,
    /// The file of its schedule.
    pub schedule: Option<String>,
}

/// One access, or acquisition, that was warned of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideResult {
    /// `read`, `write` or `acquire`; null if the report does not say.
    pub op: Option<String>,
    /// Function, in the report.
    pub function: Option<String>,
    /// Source file, in the report.
    pub file: Option<String>,
    /// Line, in the report.
    pub line: Option<u32>,
    /// What it was taken for in the trace; null if that is not known.
    pub place: Option<String>,
    /// How that was found: `event`, `instruction`, `line`, `line alone`, `function`, `drift`, `partner`.
    pub how: Option<String>,
}

/// A warning that is of neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherResult {
    /// The report that it is in.
    pub report: String,
    /// The line there.
    pub line: usize,
    /// What it is of: `descriptor`, `lock-misuse`, `thread-leak`, `signal`, `other`.
    pub kind: String,
    /// What the tool calls it.
    pub title: String,
    /// The line of a suppression file that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
}

/// The warnings that are shown, counted by what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmSummary {
    /// Witnessed ones.
    pub witnessed: usize,
    /// Refuted ones.
    pub refuted: usize,
    /// Those that only the values read in the traces exclude.
    #[serde(default)]
    pub not_in_trace: usize,
    /// Those that no trace answers.
    pub unknown: usize,
}

impl ConfirmResults {
    /// The object for an outcome.
    #[must_use]
    pub fn of(outcome: &Outcome<'_>) -> ConfirmResults {
        let name = |kind: Kind| {
            serde_json::to_value(kind)
                .ok()
                .and_then(|name| name.as_str().map(str::to_owned))
        };
        ConfirmResults {
            schema: SCHEMA.to_owned(),
            tool: tool(),
            traces: outcome
                .runs
                .iter()
                .map(|run| TraceSummary::of(run.findings.trace, run.findings.path))
                .collect(),
            warnings: outcome.confirmed().map(|confirmed| warning(&confirmed)).collect(),
            others: outcome
                .others()
                .map(|(warning, hidden)| OtherResult {
                    report: warning.report.clone(),
                    line: warning.line,
                    kind: name(warning.kind).unwrap_or_default(),
                    title: warning.title.clone(),
                    suppressed: hidden.and_then(line),
                })
                .collect(),
            summary: ConfirmSummary {
                witnessed: outcome.count(Class::Witnessed),
                refuted: outcome.count(Class::Refuted),
                not_in_trace: outcome.count(Class::NotInTrace),
                unknown: outcome.count(Class::Unknown),
            },
            exploration: outcome.runs.first().and_then(|run| run.findings.exploration).cloned(),
        }
    }
}

fn warning(confirmed: &Confirmed<'_>) -> WarningResult {
    let warning = confirmed.warning;
    let witness = confirmed.witness();
    let schedule = |number: usize| {
        let folder = confirmed.findings.folder?;
        Some(folder.join(format!("{number}.sched")).display().to_string())
    };
    let related_race = confirmed.related_race().map(|(pair, witness)| {
        let words = confirmed.findings.words();
        RelatedRaceResult {
            id: confirmed
                .answer
                .related_race
                .map_or("", |row| confirmed.findings.noise.id(Entry::Pair(row)))
                .to_owned(),
            places: [pair.example.0, pair.example.1].map(|event| words.place(event)),
            witness,
            schedule: schedule(witness),
        }
    });
    WarningResult {
        report: warning.report.clone(),
        line: warning.line,
        tool: warning.format.to_string(),
        title: warning.title.clone(),
        verdict: confirmed.class().name().to_owned(),
        id: match &confirmed.answer.finding {
            super::Finding::Pairs(pairs) => Some(confirmed.findings.noise.id(Entry::Pair(pairs[0])).to_owned()),
            super::Finding::Deadlocks(rows) => Some(confirmed.findings.noise.id(Entry::Deadlock(rows[0])).to_owned()),
            super::Finding::Ended(_)
            | super::Finding::BothAtomic(..)
            | super::Finding::Attempt(_)
            | super::Finding::Unknown(_) => None,
        },
        reason: confirmed.reason().map(str::to_owned),
        explanation: confirmed.explanation(),
        guess: confirmed.answer.is_guess(),
        notes: confirmed.notes(),
        sides: warning
            .sides
            .iter()
            .enumerate()
            .map(|(number, side)| {
                let place = confirmed.answer.places.get(number).and_then(Option::as_ref);
                SideResult {
                    place: place.map(|place| place.at.clone()).filter(|at| !at.is_empty()),
                    how: place.map(|place| how(place.how).to_owned()),
                    ..described(side)
                }
            })
            .collect(),
        pairs: match &confirmed.answer.finding {
            super::Finding::Pairs(rows) | super::Finding::Deadlocks(rows) => rows.len(),
            super::Finding::Ended(_)
            | super::Finding::BothAtomic(..)
            | super::Finding::Attempt(_)
            | super::Finding::Unknown(_) => 0,
        },
        trace: confirmed.run,
        witness,
        schedule: witness.and_then(schedule),
        related_race,
        suppressed: confirmed.hidden().and_then(line),
        known: confirmed.hidden() == Some(&Hidden::Known),
    }
}

/// The line of a suppression file.
fn line(hidden: &Hidden) -> Option<String> {
    match hidden {
        Hidden::Suppressed(line) => Some(line.clone()),
        Hidden::Known | Hidden::Elsewhere => None,
    }
}

fn described(side: &Side) -> SideResult {
    let frame = side.frames().iter().find(|frame| !is_intercepted(frame));
    SideResult {
        op: match side.writes {
            _ if side.acquires => Some("acquire"),
            Some(true) => Some("write"),
            Some(false) => Some("read"),
            None => None,
        }
        .map(str::to_owned),
        function: frame.and_then(|frame| frame.function.clone()),
        file: frame.and_then(|frame| frame.file.clone()),
        line: frame.and_then(|frame| frame.line),
        place: None,
        how: None,
    }
}

fn how(how: How) -> &'static str {
    match how {
        How::Event => "event",
        How::Instruction => "instruction",
        How::Line => "line",
        How::LineAlone => "line alone",
        How::Function => "function",
        How::Variable => "variable",
        How::Drift { .. } => "drift",
        How::Partner => "partner",
    }
}
