//! What lock sets alone warn of, beside what was decided of it.

use super::Findings;
use crate::results::{LockSetResult, LockSetWarningResult};
use crate::verdict::{LockSetWarning, Verdict};

impl LockSetResult {
    /// That of an analysis; `None` if its candidates are not those of lock sets.
    pub(super) fn of(findings: &Findings<'_>) -> Option<LockSetResult> {
        let lock_sets = findings.analysis.lock_sets.as_ref()?;
        let warnings = lock_sets.warnings.iter();
        Some(LockSetResult {
            variables: lock_sets.variables,
            warnings: warnings.map(|warning| result(findings, warning)).collect(),
        })
    }
}

fn result(findings: &Findings<'_>, warning: &LockSetWarning) -> LockSetWarningResult {
    let words = findings.words();
    let memory = findings.trace.access(warning.event);
    let mut result = LockSetWarningResult {
        memory: memory.map_or_else(String::new, |access| words.memory(access)),
        event: warning.event.0,
        place: words.place(warning.event),
        verdict: String::new(),
        witnessed: 0,
        refuted: 0,
        not_in_trace: 0,
        unknown: 0,
    };
    for &row in &warning.pairs {
        let Some(pair) = findings.analysis.pairs.get(row as usize) else {
            continue;
        };
        match pair.verdict {
            Verdict::Witnessed(_) => result.witnessed += 1,
            Verdict::Refuted(_) => result.refuted += 1,
            Verdict::NotInTrace(_) => result.not_in_trace += 1,
            Verdict::Unknown(_) => result.unknown += 1,
        }
    }
    result.verdict = match &result {
        LockSetWarningResult { witnessed: 1.., .. } => "race",
        LockSetWarningResult {
            not_in_trace: 0,
            unknown: 0,
            ..
        } => "false alarm",
        _ => "open",
    }
    .to_owned();
    result
}
