//! Suppressed warnings, judged by the text of their reports.
//!
//! With the same suppressions, other tools would not have written them: suppressions are matched with the call stacks
//! of the report. The races of a trace are matched with the trace's call stacks (`report::noise`).

use super::answer::{Answer, Finding};
use super::frames::is_intercepted;
use super::outcome::is_decided;
use crate::report::Noise;
use crate::report::noise::{Hidden, Names, ReportType, Reported, Suppressions};
use crate::verdict::{Analysis, Entry};
use crate::warnings::{Frame, Kind, Location, Warning};
use hashbrown::HashMap;

/// Which warnings suppressions hide.
#[derive(Clone, Debug, Default)]
pub struct Suppressed {
    /// Each warning's suppression.
    by: Vec<Option<Hidden>>,
    /// Which suppressions hide one.
    used: Vec<bool>,
}

impl Suppressed {
    /// Matches warnings with suppressions.
    #[must_use]
    pub fn of(warnings: &[Warning], suppressions: &Suppressions) -> Suppressed {
        let mut used = vec![false; suppressions.len()];
        let find = |warning| suppressions.find(&reported(warning)?, &mut used);
        let by = warnings.iter().map(find).map(|line| line.map(Hidden::Suppressed));
        Suppressed { by: by.collect(), used }
    }

    /// What hides a warning; `None` if it is shown.
    #[must_use]
    pub fn by(&self, warning: usize) -> Option<&Hidden> {
        self.by.get(warning)?.as_ref()
    }

    /// Which suppressions hide a warning.
    #[must_use]
    pub fn used(&self) -> &[bool] {
        &self.used
    }

    /// Hides the pairs and deadlocks that only suppressed warnings mean.
    pub fn hide(&self, warnings: &[Warning], answers: &[Answer], analysis: &Analysis, noise: &mut Noise) {
        let numbered = (0..).zip(warnings);
        let decided = numbered.filter(|(_, warning)| is_decided(warning));
        // Of each entry: whether a warning that means it is shown.
        let mut by: HashMap<Entry, Option<&Hidden>> = HashMap::new();
        for ((number, _), answer) in decided.zip(answers) {
            let entries: Vec<Entry> = match &answer.finding {
                Finding::Pairs(rows) => rows.iter().copied().map(Entry::Pair).collect(),
                Finding::Deadlocks(rows) => rows.iter().copied().map(Entry::Deadlock).collect(),
                Finding::Ended(_) | Finding::BothAtomic(..) | Finding::Attempt(_) | Finding::Unknown(_) => continue,
            };
            for entry in entries {
                let hidden = self.by(number);
                by.entry(entry)
                    .and_modify(|before| *before = before.and(hidden))
                    .or_insert(hidden);
            }
        }
        for (entry, verdict) in analysis.entries() {
            if let Some(&Some(why)) = by.get(&entry) {
                noise.hide(entry, verdict, why);
            }
        }
    }
}

/// What suppressions look at; `None` for what they know no type of.
fn reported(warning: &Warning) -> Option<Reported<'_>> {
    let of = match warning.kind {
        Kind::Race | Kind::Descriptor => ReportType::Race,
        Kind::LockOrder => ReportType::Deadlock,
        Kind::LockMisuse => ReportType::Mutex,
        Kind::ThreadLeak => ReportType::Thread,
        Kind::Signal => ReportType::Signal,
        Kind::Other => return None,
    };
    let sides = warning.sides.iter().map(|side| side.frames());
    let stacks: Vec<&[Frame]> = sides.chain(warning.stacks.iter().map(Vec::as_slice)).collect();
    Some(Reported {
        of,
        callers: stacks.iter().filter_map(|stack| caller(stack)).map(names).collect(),
        stacks: stacks.iter().map(|stack| stack.iter().map(names).collect()).collect(),
        variable: match &warning.location {
            Some(Location::Global { name }) => Some(name),
            _ => None,
        },
    })
}

/// The frame that called what the tool intercepts, if that is innermost.
fn caller(stack: &[Frame]) -> Option<&Frame> {
    let intercepted = stack.iter().take_while(|frame| is_intercepted(frame)).count();
    stack.get(intercepted).filter(|_| intercepted > 0)
}

fn names(frame: &Frame) -> Names<'_> {
    Names {
        function: frame.function.as_deref(),
        file: frame.file.as_deref(),
        module: frame.module.as_deref(),
    }
}
