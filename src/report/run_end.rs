//! How the recorded run ended, where a report must not pass over it: what would have come behind is not covered, and a
//! program that failed at once or got stuck has no races to show.

use super::Findings;
use crate::results::TraceSummary;

/// An end that is worth a word.
pub(super) struct RunEnd {
    /// In a sentence, without its stop.
    pub sentence: String,
    /// Who waits for whom, and what the program died of, a line each.
    pub facts: Vec<String>,
    /// Whether threads waited for each other for ever.
    pub is_deadlock: bool,
}

impl RunEnd {
    /// All of it, in lines.
    pub(super) fn lines(&self) -> String {
        let lines: Vec<&str> = [&self.sentence]
            .into_iter()
            .chain(&self.facts)
            .map(String::as_str)
            .collect();
        lines.join("\n")
    }
}

impl Findings<'_> {
    /// `None` if the program ended as it wanted to, or was asked to end; and of an exploration, which tells the ends of
    /// its runs itself.
    pub(super) fn run_end(&self) -> Option<RunEnd> {
        if self.exploration.is_some() {
            return None;
        }
        let trace = TraceSummary::of(self.trace, self.path);
        let is_deadlock = trace.standstill.is_deadlock();
        let sentence = match (&*trace.ending, trace.program_failed) {
            ("cut", _) => return None,
            ("event-limit", _) => {
                "The recorded run was ended by --max-events; what came later is not covered".to_owned()
            }
            ("time-limit", _) => "The recorded run was ended by --timeout; what came later is not covered".to_owned(),
            ("deadlock", _) => "The recorded run ended in a deadlock".to_owned(),
            (_, Some(how)) => format!("The recorded program {how}; nothing behind that is covered"),
            _ if is_deadlock => "In the recorded run, threads waited for one another forever".to_owned(),
            _ => return None,
        };
        Some(RunEnd {
            sentence,
            facts: trace.standstill.facts(),
            is_deadlock,
        })
    }
}
