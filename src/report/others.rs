//! Deadlocks and atomicity violations together, for the forms that have one entry for each finding.

use super::{Findings, Words};
use crate::trace::EventId;
use crate::verdict::{AtomicityViolation, Deadlock, Entry, Verdict};

/// A finding that is no pair; the same once.
pub struct Other<'a> {
    subject: Subject<'a>,
    /// Where it stands in the analysis.
    pub entry: Entry,
    /// What it is called from run to run.
    pub id: &'a str,
    /// The numbers of the witnesses that show it; none if it is not witnessed.
    pub numbers: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Subject<'a> {
    Deadlock(&'a Deadlock),
    AtomicityViolation(&'a AtomicityViolation),
}

impl<'a> Findings<'a> {
    /// What is shown besides pairs: deadlocks, then atomicity violations, those with a witness before the others.
    #[must_use]
    pub fn shown_others(&self) -> Vec<Other<'a>> {
        let deadlocks = self.shown_deadlocks().map(|row| Other {
            subject: Subject::Deadlock(row.of),
            entry: row.entry,
            id: row.id,
            numbers: row.number.into_iter().collect(),
        });
        let told = self.told_atomicity_violations().into_iter();
        let others = self.other_atomicity_violations().into_iter();
        let violations = told.chain(others.map(|row| (row, Vec::new())));
        let violations = violations.map(|(row, others)| Other {
            subject: Subject::AtomicityViolation(row.of),
            entry: row.entry,
            id: row.id,
            numbers: row.number.into_iter().chain(others).collect(),
        });
        deadlocks.chain(violations).collect()
    }

    /// Those of them that are witnessed, each with the number of its first witness.
    pub fn witnessed_others(&self) -> impl Iterator<Item = (usize, Other<'a>)> + use<'a> {
        let all = self.shown_others().into_iter();
        all.filter_map(|other| Some((*other.numbers.first()?, other)))
    }
}

impl<'a> Other<'a> {
    /// `deadlock`, `partial deadlock`, `atomicity violation`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.subject {
            Subject::Deadlock(deadlock) => deadlock.name(),
            Subject::AtomicityViolation(_) => "atomicity violation",
        }
    }

    /// Its operations.
    #[must_use]
    pub fn example(&self) -> &'a [EventId] {
        match self.subject {
            Subject::Deadlock(deadlock) => &deadlock.example,
            Subject::AtomicityViolation(violation) => &violation.example,
        }
    }

    /// What is said of it.
    #[must_use]
    pub fn verdict(&self) -> &'a Verdict {
        match self.subject {
            Subject::Deadlock(deadlock) => &deadlock.verdict,
            Subject::AtomicityViolation(violation) => &violation.verdict,
        }
    }

    /// Its operations in one sentence.
    pub(super) fn headline(&self, findings: &Findings<'_>) -> String {
        match self.subject {
            Subject::Deadlock(deadlock) => findings.deadlock_headline(deadlock),
            Subject::AtomicityViolation(violation) => findings.atomicity_headline(violation),
        }
    }

    /// What one of its operations does.
    pub(super) fn sentence(&self, words: &Words<'_>, event: EventId) -> String {
        match self.subject {
            Subject::Deadlock(deadlock) => words.wait(event, &deadlock.example),
            Subject::AtomicityViolation(_) => words.sentence(event),
        }
    }

    /// Its places: `deadlock at a.c:8 and a.c:16`, `interruption at a.c:8, a.c:20, a.c:9`.
    pub(super) fn at_places(&self, words: &Words<'_>) -> String {
        let places: Vec<String> = self.example().iter().map(|&event| words.place(event)).collect();
        match self.subject {
            Subject::Deadlock(_) => format!("{} at {}", self.name(), places.join(" and ")),
            Subject::AtomicityViolation(_) => format!("interruption at {}", places.join(", ")),
        }
    }

    /// The memory that it is about.
    pub(super) fn memory(&self, findings: &Findings<'_>) -> Option<String> {
        let Subject::AtomicityViolation(violation) = self.subject else {
            return None;
        };
        let access = findings.trace.access(violation.first())?;
        Some(findings.words().memory(access))
    }

    /// One sentence for each fact that the verdict leans on.
    pub(super) fn explanation(&self, words: &Words<'_>) -> Vec<String> {
        match self.subject {
            Subject::Deadlock(deadlock) => words.explanation_of_deadlock(deadlock),
            Subject::AtomicityViolation(violation) => words.explanation_of_atomicity(violation),
        }
    }
}
