//! What stands in the place of a report on an analysis that was ended before it had one: whole in its form, and no
//! all-clear.

use crate::results::Summary;
use std::path::Path;

/// An analysis that was ended by its limit of time or memory.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished<'a> {
    /// The trace.
    pub trace: &'a Path,
    /// Why it was ended, how far it got, and what to do.
    pub why: &'a str,
    /// What is decided, and how much is not; `None` if not even the pairs are known.
    pub summary: Option<Summary>,
}

impl Unfinished<'_> {
    /// In one line.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let trace = self.trace.display();
        match self.summary {
            Some(summary) => format!("{trace}: {}. {summary}", self.why),
            None => format!("{trace}: {}. Nothing is decided", self.why),
        }
    }
}
