//! What an exploration came to, over all of its runs.

use crate::explore::Classes;
use crate::verdict::{Find, Kind};
use serde::{Deserialize, Serialize};

/// Whether every schedule was covered, and what was found besides races.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplorationResult {
    /// Whether every schedule of this input was covered, under sequential consistency.
    pub exhausted: bool,
    /// Runs made, those of earlier sessions included.
    pub runs: usize,
    /// Outcomes of operations, each after one history of its thread, that the runs have shown.
    pub branches: usize,
    /// Of those that are known to be feasible, the ones that no run has shown.
    pub open: usize,
    /// States of the last search.
    pub states: usize,
    /// Classes of executions that these schedules are, two of them in one if each operation has the same sources
    /// (reads-from equivalence); null if that was not counted.
    #[serde(default)]
    pub classes: Option<Classes>,
    /// What was taken for a part of the input, in words that follow *with*.
    #[serde(default)]
    pub assumed: Vec<String>,
    /// Races that the search has found feasible, whether traces prove them or not, and whether they are shown.
    #[serde(default)]
    pub races: usize,
    /// What was looked for; absent if nobody said what.
    #[serde(default, skip_serializing_if = "Find::is_default")]
    pub find: Find,
    /// Why it is not exhausted, one reason a row; empty if it is.
    pub not_exhausted: Vec<String>,
    /// What was found besides witnessed races, each once.
    pub found: Vec<FoundResult>,
}

/// The kind of a race that the search has found and no trace proves.
pub const UNPROVEN_RACE: &str = "unproven-race";

/// Something that was found besides witnessed races.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundResult {
    /// `deadlock`, `failure`, `hang`; [`UNPROVEN_RACE`].
    pub kind: String,
    /// In words.
    pub title: String,
    /// Which threads wait where, and what the program died of, one fact a row.
    pub details: Vec<String>,
    /// The trace of a run that shows it; null if no run was left to show it.
    pub trace: Option<String>,
    /// The command that runs it again.
    pub replay: Option<String>,
    /// The trace of the shortest run that was found to end so, if one was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<String>,
}

impl ExplorationResult {
    /// Whether a race was found that no trace proves.
    #[must_use]
    pub fn has_unproven_race(&self) -> bool {
        self.found.iter().any(|found| found.kind == UNPROVEN_RACE)
    }

    /// What was asked for is decided, so the rest was not explored.
    pub fn decided(&mut self) {
        if !self.exhausted {
            self.not_exhausted = vec!["all that was asked for is witnessed, so the rest was not explored".to_owned()];
        }
    }

    /// How much was done: `3 runs, 20 branches`.
    #[must_use]
    pub fn size(&self) -> String {
        let Self { runs, branches, .. } = self;
        let (s, es) = (
            if *runs == 1 { "" } else { "s" },
            if *branches == 1 { "" } else { "es" },
        );
        format!("{runs} run{s}, {branches} branch{es}")
    }

    /// What can be said of all schedules; `no_race` if no trace shows one.
    #[must_use]
    pub fn statement(&self, no_race: bool) -> String {
        let (size, open) = (self.size(), &self.open);
        if self.exhausted {
            let races = self.find.has(Kind::Races).then_some("race");
            let deadlocks = self.find.has(Kind::Deadlocks).then_some("deadlock");
            let asked: Vec<&str> = races.into_iter().chain(deadlocks).collect();
            let is_there = !no_race || (races.is_some() && self.races > 0) || !self.found.is_empty();
            let nothing = match &asked[..] {
                _ if is_there => String::new(),
                [] => "; no failure".to_owned(),
                asked => format!("; no {} or failure", asked.join(", ")),
            };
            let assumed: String = self.assumed.iter().map(|what| format!(", with {what}")).collect();
            let classes = self.classes.map_or(String::new(), |Classes { count, at_least }| {
                let least = if at_least { "at least " } else { "" };
                let plural = if count == 1 { "" } else { "es" };
                format!(", {least}{count} reads-from class{plural} of executions")
            });
            return format!(
                "EXHAUSTED: every schedule of this input is covered, under sequential consistency{assumed}{nothing} ({size}, none open{classes})"
            );
        }
        let open = match open {
            0 => "none known to be open".to_owned(),
            open => format!("{open} open"),
        };
        format!("NOT EXHAUSTED: some schedules may show more ({size}, {open})")
    }
}
