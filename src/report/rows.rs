//! What an analysis says something of, as reports show it: numbered, named, shown or hidden.

use super::Findings;
use super::noise::Hidden;
use crate::schedule::Schedule;
use crate::verdict::{AtomicityViolation, Deadlock, Entry, Pair, Verdict};

/// A pair of code positions, or a cycle or triple of them.
pub struct Row<'a, T = Pair> {
    /// Where it stands in the analysis.
    pub entry: Entry,
    /// The number of its witness, from 1; `None` if it is not witnessed.
    pub number: Option<usize>,
    /// The positions, and what is said of them.
    pub of: &'a T,
    /// What it is called from run to run.
    pub id: &'a str,
    /// Why it is not shown; `None` if it is.
    pub hidden: Option<&'a Hidden>,
}

impl<T> Clone for Row<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

// Whatever it refers to.
impl<T> Copy for Row<'_, T> {}

/// What has a verdict.
pub trait Decided {
    /// The verdict.
    fn verdict(&self) -> &Verdict;
}

impl Decided for Pair {
    fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl Decided for Deadlock {
    fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl Decided for AtomicityViolation {
    fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl<'a, T: Decided> Row<'a, T> {
    /// The schedule that shows it.
    #[must_use]
    pub fn schedule(&self) -> Option<&'a Schedule> {
        match self.of.verdict() {
            Verdict::Witnessed(schedule) => Some(schedule),
            _ => None,
        }
    }
}

impl<'a> Findings<'a> {
    /// All pairs, also those that are not shown, but for those that another trace speaks for.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        self.numbered(&self.analysis.pairs, Entry::Pair)
    }

    /// The pairs that are shown.
    pub fn shown(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        self.rows().filter(|row| row.hidden.is_none())
    }

    /// All deadlocks, likewise.
    pub fn deadlocks(&self) -> impl Iterator<Item = Row<'a, Deadlock>> + use<'a> {
        self.numbered(&self.analysis.deadlocks, Entry::Deadlock)
    }

    /// The deadlocks that are shown.
    pub fn shown_deadlocks(&self) -> impl Iterator<Item = Row<'a, Deadlock>> + use<'a> {
        self.deadlocks().filter(|row| row.hidden.is_none())
    }

    /// All atomicity violations, likewise.
    pub fn atomicity_violations(&self) -> impl Iterator<Item = Row<'a, AtomicityViolation>> + use<'a> {
        self.numbered(&self.analysis.atomicity_violations, Entry::AtomicityViolation)
    }

    /// The atomicity violations that are shown.
    pub fn shown_atomicity_violations(&self) -> impl Iterator<Item = Row<'a, AtomicityViolation>> + use<'a> {
        self.atomicity_violations().filter(|row| row.hidden.is_none())
    }

    fn numbered<T: Decided, F: Fn(usize) -> Entry>(
        &self,
        all: &'a [T],
        entry: F,
    ) -> impl Iterator<Item = Row<'a, T>> + use<'a, T, F> {
        let noise = self.noise;
        let witnessed = |verdict: &Verdict| matches!(verdict, Verdict::Witnessed(_));
        let first = entry(0);
        let before = self.analysis.entries().take_while(|(entry, _)| *entry != first);
        let mut witnesses = before.filter(|(_, verdict)| witnessed(verdict)).count();
        let all = all.iter().enumerate().map(move |(row, of)| {
            let (entry, is_witnessed) = (entry(row), witnessed(of.verdict()));
            witnesses += usize::from(is_witnessed);
            Row {
                entry,
                number: is_witnessed.then_some(witnesses),
                of,
                id: noise.id(entry),
                hidden: noise.hidden(entry),
            }
        });
        all.filter(|row| row.hidden != Some(&Hidden::Elsewhere))
    }
}
