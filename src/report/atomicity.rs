//! Atomicity violations as reports show them: the same once, in words, and in the results object.

use super::frames::Frames;
use super::noise::Hidden;
use super::results::{access_result, reason_of, verdict_of};
use super::{Findings, Row, Words};
use crate::results::AtomicityResult;
use crate::trace::EventId;
use crate::verdict::{AtomicityViolation, Instances, Pair, Refutation, Region, Verdict};
use hashbrown::HashSet;

impl<'a> Findings<'a> {
    /// The witnessed ones that are shown, the same once, with the numbers of the others' witnesses.
    #[must_use]
    pub fn told_atomicity_violations(&self) -> Vec<(Row<'a, AtomicityViolation>, Vec<usize>)> {
        let mut told: Vec<(Row<'a, AtomicityViolation>, Vec<usize>)> = Vec::new();
        for row in self.shown_atomicity_violations() {
            let Some(number) = row.number else { continue };
            match told.iter_mut().find(|(other, _)| other.id == row.id) {
                Some((_, others)) => others.push(number),
                None => told.push((row, Vec::new())),
            }
        }
        told
    }

    /// Those that are neither witnessed nor the same as a witnessed one, one for each id.
    pub(super) fn other_atomicity_violations(&self) -> Vec<Row<'a, AtomicityViolation>> {
        let told = self.shown_atomicity_violations().filter(|row| row.number.is_some());
        let mut known: HashSet<&str> = told.map(|row| row.id).collect();
        self.shown_atomicity_violations()
            .filter(|row| known.insert(row.id))
            .collect()
    }

    /// The three accesses in one sentence: `read by thread 1 at a.c:8, then write by thread 2 at a.c:20, then write by
    /// thread 1 at a.c:12`.
    #[must_use]
    pub fn atomicity_headline(&self, violation: &AtomicityViolation) -> String {
        let words = self.words();
        let does = |event: EventId| {
            let what = self.trace.access(event).map_or("", |access| words.access_noun(access));
            format!("{what} by {} at {}", words.thread_of(event), words.place(event))
        };
        if let [first, of_first, of_second, second] = violation.example[..] {
            let also = |event| format!("at {}", words.place(event));
            let (reads, writes) = (does(first), does(of_first));
            return format!("{reads} and {}, with {writes} and {}", also(second), also(of_second));
        }
        let accesses = violation.example.iter().map(|&event| does(event));
        accesses.collect::<Vec<_>>().join(", then ")
    }

    /// The results object of a triple.
    pub(super) fn atomicity_result(&self, row: &Row<'_, AtomicityViolation>, frames: &Frames) -> AtomicityResult {
        let (words, violation) = (self.words(), row.of);
        let access = |event| access_result(self, event, frames);
        let (first, second) = (access(violation.first()), access(violation.second()));
        let mut others = violation.others().iter().map(|&event| access(event));
        let schedule = row.number.zip(self.folder);
        AtomicityResult {
            id: row.id.to_owned(),
            kind: "atomicity-violation".to_owned(),
            verdict: verdict_of(&violation.verdict).to_owned(),
            reason: reason_of(&violation.verdict).map(str::to_owned),
            explanation: words.explanation_of_atomicity(violation),
            region: region_name(violation.region).to_owned(),
            lock: match violation.region {
                Region::Section(lock) => Some(words.object(lock)),
                Region::Call | Region::Successive | Region::Atomic { .. } | Region::Redundant { .. } => None,
            },
            stated: violation.stated.clone(),
            first,
            between: others.next().unwrap_or_else(|| access(violation.first())),
            between_too: others.next(),
            second,
            tried: violation.tried,
            schedule: schedule.map(|(number, folder)| folder.join(format!("{number}.sched")).display().to_string()),
            suppressed: match row.hidden {
                Some(Hidden::Suppressed(line)) => Some(line.clone()),
                Some(Hidden::Known | Hidden::Elsewhere) | None => None,
            },
            known: row.hidden == Some(&Hidden::Known),
            trace: None,
        }
    }
}

/// The name of a region's kind.
pub(super) fn region_name(region: Region) -> &'static str {
    match region {
        Region::Section(_) => "section",
        Region::Call => "call",
        Region::Successive => "successive",
        Region::Atomic { .. } => "atomic",
        Region::Redundant { mined: false } => "redundant",
        Region::Redundant { mined: true } => "compared",
    }
}

impl Words<'_> {
    /// Why the two accesses of a thread belong together, as a clause that follows on its name.
    #[must_use]
    pub fn region(&self, violation: &AtomicityViolation) -> String {
        let (first, second) = (violation.first(), violation.second());
        let stated = violation.stated.join(" and ");
        match violation.region {
            Region::Section(lock) => format!("gives {} back and takes it again in between", self.object(lock)),
            Region::Call => match self.common_function(first, second) {
                Some(function) => format!("is in one call of {function}"),
                None => "is in one call of a function".to_owned(),
            },
            Region::Successive => "accesses it nowhere in between".to_owned(),
            Region::Atomic { marked: true, .. } if stated.is_empty() => {
                "is in what the program marks as atomic".to_owned()
            }
            Region::Atomic { marked: true, .. } => format!("is in {stated}, which the program marks as atomic"),
            Region::Atomic { marked: false, .. } => format!("is in {stated}, which is atomic by your file"),
            Region::Redundant { mined: false } => format!("reads {stated}, which stand for the same by your file"),
            Region::Redundant { mined: true } => format!("reads {stated}, which the program compares with each other"),
        }
    }

    /// The innermost function that both events are in.
    fn common_function(&self, one: EventId, other: EventId) -> Option<String> {
        let tables = self.trace.tables();
        let stack = |event| {
            let mut sites: Vec<_> = tables.frames(self.trace.stack(event)).collect();
            sites.reverse();
            sites
        };
        let (sites, others) = (stack(one), stack(other));
        let common = sites.iter().zip(&others).take_while(|(a, b)| a == b).count();
        let position = sites.get(common).copied().unwrap_or(self.trace.pc(one));
        // Of what was inlined there, the call is that of the outermost.
        let frames = self.symbols.frames(position);
        frames.last().and_then(|frame| frame.function.clone())
    }

    /// One sentence for each fact that the verdict on a triple leans on; none for a witnessed one.
    #[must_use]
    pub fn explanation_of_atomicity(&self, violation: &AtomicityViolation) -> Vec<String> {
        let (first, second) = (violation.first(), violation.second());
        let Some(&between) = violation.others().first() else {
            return Vec::new();
        };
        // Of a chain, it is said which of the two it begins or ends with.
        let own = match &violation.verdict {
            Verdict::Refuted(Refutation::MustHappenBefore(chain))
            | Verdict::NotInTrace(Refutation::MustHappenBefore(chain))
                if chain.first() == Some(&second) =>
            {
                second
            }
            _ => first,
        };
        self.explanation(&Pair {
            positions: (self.trace.pc(own), self.trace.pc(between)),
            example: (own, between),
            verdict: violation.verdict.clone(),
            instances: Instances {
                total: violation.tried,
                tried: violation.tried,
                ..Instances::default()
            },
            behind: None,
            order: None,
        })
    }
}
