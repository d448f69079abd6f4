//! Warnings as the reports of an analysis have them: beside the pairs that they mean.

use super::Finding;
use super::frames::is_intercepted;
use super::outcome::Outcome;
use super::words::described;
use crate::report::Heard;

impl Outcome<'_> {
    /// The races that were warned of and that trace `run` answers best. Of suppressed ones, those that mean a pair: it is hidden with them.
    #[must_use]
    pub fn heard(&self, run: usize) -> Vec<Heard> {
        let answered = self.confirmed().filter(|confirmed| confirmed.run == run);
        let answered = answered.filter(|confirmed| confirmed.hidden().is_none() || confirmed.pair().is_some());
        let heard = answered.map(|confirmed| {
            let warning = confirmed.warning;
            let frame = warning.sides[0].frames().iter().find(|frame| !is_intercepted(frame));
            Heard {
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
        heard.collect()
    }
}
