//! Other tools' warnings, attached to the pairs and deadlocks that they mean, for the reports of an analysis.

use super::Finding;
use super::frames::is_intercepted;
use super::outcome::Outcome;
use super::words::described;
use crate::report::AttachedWarning;
use crate::verdict::Entry;

impl Outcome<'_> {
    /// The warnings that trace `run` answers best. A suppressed one is included if it means a pair or a deadlock: that
    /// is hidden with it.
    #[must_use]
    pub fn attached_warnings(&self, run: usize) -> Vec<AttachedWarning> {
        let answered = self.confirmed().filter(|confirmed| confirmed.run == run);
        let answered = answered.filter(|confirmed| confirmed.hidden().is_none() || confirmed.verdict().is_some());
        let attached = answered.map(|confirmed| {
            let warning = confirmed.warning;
            let frames = warning.sides.first().map_or(&[][..], |side| side.frames());
            let frame = frames.iter().find(|frame| !is_intercepted(frame));
            AttachedWarning {
                origin: format!("{}:{}", warning.report, warning.line),
                tool: warning.format.to_string(),
                row: match &confirmed.answer.finding {
                    Finding::Pairs(pairs) => Some(Entry::Pair(pairs[0])),
                    Finding::Deadlocks(rows) => Some(Entry::Deadlock(rows[0])),
                    Finding::Ended(_) | Finding::BothAtomic(..) | Finding::Attempt(_) | Finding::Unknown(_) => None,
                },
                verdict: confirmed.class().name(),
                sides: warning.sides.iter().map(described).collect(),
                place: frame.and_then(|frame| frame.file.clone().zip(frame.line)),
                explanation: confirmed.explanation(),
            }
        });
        attached.collect()
    }
}
