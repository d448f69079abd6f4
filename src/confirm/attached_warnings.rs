//! Other tools' warnings, attached to the pairs that they mean, for the reports of an analysis.

use super::Finding;
use super::frames::is_intercepted;
use super::outcome::Outcome;
use super::words::described;
use crate::report::AttachedWarning;

impl Outcome<'_> {
    /// The warnings of races that trace `run` answers best. A suppressed one is included if it means a pair: that pair
    /// is hidden with it.
    #[must_use]
    pub fn attached_warnings(&self, run: usize) -> Vec<AttachedWarning> {
        let answered = self.confirmed().filter(|confirmed| confirmed.run == run);
        let answered = answered.filter(|confirmed| confirmed.hidden().is_none() || confirmed.pair().is_some());
        let attached = answered.map(|confirmed| {
            let warning = confirmed.warning;
            let frame = warning.sides[0].frames().iter().find(|frame| !is_intercepted(frame));
            AttachedWarning {
                origin: format!("{}:{}", warning.report, warning.line),
                tool: warning.format.to_string(),
                row: match &confirmed.answer.finding {
                    Finding::Decided(pairs) => Some(pairs[0]),
                    Finding::BothAtomic(..) | Finding::Unknown(_) => None,
                },
                verdict: confirmed.class().name(),
                sides: [0, 1].map(|side| described(&warning.sides[side])),
                place: frame.and_then(|frame| frame.file.clone().zip(frame.line)),
                explanation: confirmed.explanation(),
            }
        });
        attached.collect()
    }
}
