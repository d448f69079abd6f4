//! The results object of findings.

use super::frames::{Frames, Stack};
use super::noise::Hidden;
use super::{Findings, Race, Row};
use crate::results::{
    AccessResult, AtomicityResult, DeadlockResult, InstancesResult, LockSetResult, PairResult, RaceResult, Results,
    SCHEMA, Summary, TraceSummary, refutation_name, tool, unknown_name,
};
use crate::schedule::Goal;
use crate::trace::{AccessKind, EventId};
use crate::verdict::Verdict;
use serde::{Serialize, Serializer};

impl Summary {
    /// Counts the pairs of an analysis.
    #[must_use]
    pub fn of(findings: &Findings<'_>) -> Summary {
        let (suppressed, known) = findings.noise.counts();
        let mut summary = Summary {
            suppressed,
            known,
            find: findings.options.find,
            ..Summary::default()
        };
        for row in findings.shown() {
            summary.count(&row.of.verdict);
        }
        summary.unlisted = findings.analysis.unlisted;
        summary.unknown += summary.unlisted;
        for row in findings.shown_deadlocks() {
            match &row.of.verdict {
                Verdict::Witnessed(_) => summary.deadlocks += 1,
                Verdict::Unknown(_) => summary.unknown_cycles += 1,
                Verdict::Refuted(_) | Verdict::NotInTrace(_) => {}
            }
        }
        summary.atomicity_violations = findings.told_atomicity_violations().len();
        let others = findings.other_atomicity_violations();
        let unknown = others
            .iter()
            .filter(|row| matches!(row.of.verdict, Verdict::Unknown(_)));
        summary.unknown_interruptions = unknown.count();
        summary
    }

    /// Counts the pairs of several analyses together.
    #[must_use]
    pub fn total(findings: &[Findings<'_>]) -> Summary {
        let all = findings.iter().map(Summary::of);
        all.fold(Summary::default(), |all, one| Summary {
            witnessed: all.witnessed + one.witnessed,
            uses_after_free: all.uses_after_free + one.uses_after_free,
            refuted: all.refuted + one.refuted,
            not_in_trace: all.not_in_trace + one.not_in_trace,
            unknown: all.unknown + one.unknown,
            unlisted: all.unlisted + one.unlisted,
            suppressed: all.suppressed + one.suppressed,
            known: all.known + one.known,
            orders: all.orders + one.orders,
            null_pointers: all.null_pointers + one.null_pointers,
            stale_pointers: all.stale_pointers + one.stale_pointers,
            deadlocks: all.deadlocks + one.deadlocks,
            unknown_cycles: all.unknown_cycles + one.unknown_cycles,
            atomicity_violations: all.atomicity_violations + one.atomicity_violations,
            unknown_interruptions: all.unknown_interruptions + one.unknown_interruptions,
            // That of all.
            find: one.find,
        })
    }
}

/// The pairs of some analyses, each of which is put in words when it is written, and forgotten then.
pub struct PairsWritten<'a> {
    of: &'a [Findings<'a>],
    frames: Frames,
}

impl Serialize for PairsWritten<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.of.iter().enumerate().flat_map(|(number, findings)| {
            let trace = (number > 0).then(|| findings.path.display().to_string());
            findings.rows().map(move |row| PairResult {
                trace: trace.clone(),
                ..pair_result(findings, &row, &self.frames)
            })
        });
        serializer.collect_seq(pairs)
    }
}

impl<'a> Results<PairsWritten<'a>, Frames> {
    /// The results object of the analyses of several runs: that of the first, with what the others add, which says of
    /// which trace it is.
    #[must_use]
    pub fn merged(findings: &'a [Findings<'a>]) -> Option<Self> {
        let (first, others) = findings.split_first()?;
        let frames = Frames::default();
        let mut all = Results::with(first, &frames);
        all.pairs.of = findings;
        for other in others {
            let Results {
                races,
                deadlocks,
                atomicity_violations,
                trace,
                ..
            } = Results::with(other, &frames);
            let path = Some(trace.path.clone());
            all.races.extend(races.into_iter().map(|race| RaceResult {
                trace: path.clone(),
                ..race
            }));
            all.deadlocks
                .extend(deadlocks.into_iter().map(|deadlock| DeadlockResult {
                    trace: path.clone(),
                    ..deadlock
                }));
            let atomicity = atomicity_violations.into_iter().map(|violation| AtomicityResult {
                trace: path.clone(),
                ..violation
            });
            all.atomicity_violations.extend(atomicity);
            all.further_traces.push(trace);
        }
        all.summary = Summary::total(findings);
        Some(all)
    }

    /// The results object of an analysis.
    #[must_use]
    pub fn of(findings: &'a Findings<'a>) -> Self {
        Results::with(findings, &Frames::default())
    }

    /// The results object of an analysis, whose stacks are added to these.
    fn with(findings: &'a Findings<'a>, frames: &Frames) -> Self {
        Results {
            schema: SCHEMA.to_owned(),
            tool: tool(),
            options: findings.options,
            trace: TraceSummary::of(findings.trace, findings.path),
            further_traces: Vec::new(),
            pairs: PairsWritten {
                of: std::slice::from_ref(findings),
                frames: frames.clone(),
            },
            races: findings
                .races(|_| true)
                .iter()
                .map(|race| race_result(findings, race))
                .collect(),
            deadlocks: findings
                .deadlocks()
                .map(|row| findings.deadlock_result(&row, frames))
                .collect(),
            atomicity_violations: findings
                .atomicity_violations()
                .map(|row| findings.atomicity_result(&row, frames))
                .collect(),
            frames: frames.clone(),
            lock_sets: LockSetResult::of(findings),
            summary: Summary::of(findings),
            exploration: findings.exploration.cloned(),
        }
    }
}

fn race_result(findings: &Findings<'_>, race: &Race<'_>) -> RaceResult {
    RaceResult {
        id: race.first().id.to_owned(),
        count: race.rows.len(),
        witnesses: race.rows.iter().filter_map(|row| row.number).collect(),
        trace: None,
        suppression: findings.suppression(race.first().of),
    }
}

fn pair_result(findings: &Findings<'_>, row: &Row<'_>, frames: &Frames) -> PairResult {
    let pair = row.of;
    let schedule = row
        .number
        .zip(findings.folder)
        .map(|(number, folder)| folder.join(format!("{number}.sched")));
    PairResult {
        id: row.id.to_owned(),
        verdict: verdict_of(&pair.verdict).to_owned(),
        kind: match &pair.verdict {
            // Of the other values of reads, this is the one that is reported.
            Verdict::Witnessed(schedule) if matches!(schedule.goal, Goal::OtherValue { .. }) => {
                Some("null-pointer".to_owned())
            }
            Verdict::Witnessed(schedule) => Some(schedule.goal.kind().to_owned()),
            _ => None,
        },
        order: pair.order.clone(),
        reason: reason_of(&pair.verdict).map(str::to_owned),
        explanation: findings.words().explanation(pair),
        behind: findings.behind(pair),
        a: access_result(findings, pair.example.0, frames),
        b: access_result(findings, pair.example.1, frames),
        instances: InstancesResult {
            total: pair.instances.total,
            ordered: pair.instances.ordered,
            locked: pair.instances.locked,
            tried: pair.instances.tried,
        },
        schedule: schedule.map(|path| path.display().to_string()),
        suppressed: match row.hidden {
            Some(Hidden::Suppressed(line)) => Some(line.clone()),
            Some(Hidden::Known | Hidden::Elsewhere) | None => None,
        },
        known: row.hidden == Some(&Hidden::Known),
        trace: None,
    }
}

/// The name of a verdict.
pub(super) fn verdict_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Witnessed(_) => "witnessed",
        Verdict::Refuted(_) => "refuted",
        Verdict::NotInTrace(_) => "not-in-trace",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The name of its reason.
pub(super) fn reason_of(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Witnessed(_) => None,
        Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => Some(refutation_name(refutation)),
        Verdict::Unknown(unknown) => Some(unknown_name(unknown)),
    }
}

pub(super) fn access_result(findings: &Findings<'_>, event: EventId, frames: &Frames) -> AccessResult {
    let (trace, words) = (findings.trace, findings.words());
    let thread = trace.thread(event);
    let variable = trace.access(event).and_then(|access| words.variable(access));
    let (kind, address, size) = match trace.access(event) {
        Some(access) => (access.kind, access.addr, access.size),
        None => (AccessKind::Read, 0, 0),
    };
    let Stack { innermost, top } = frames.stack(findings, event);
    AccessResult {
        thread: thread.0,
        thread_name: words.thread_name(thread).map(str::to_owned),
        event: event.0,
        op: words.access_kind(kind).to_owned(),
        address: format!("{address:#x}"),
        size,
        variable,
        file: top.file,
        line: top.line,
        function: top.function,
        stack: innermost,
    }
}
