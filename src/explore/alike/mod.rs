//! Looking ahead: what the program can do if histories that seem to go on alike do so.
//!
//! Histories multiply without end where threads try again, though a program has few states. So they are put into
//! groups ([`groups`]), by what threads show of themselves; and the states of these groups are searched as those of the
//! forest are. What a group has not been seen to do is open: a way there leads through steps that were seen after some
//! history of the group, not of this one, so it is a guess. The program is run along it as far as it agrees, and each
//! run teaches: it shows what was open, or that a group is two.
//!
//! That only chooses what is run next. What is found, a run has shown; what is *exhausted*, the search of histories
//! says.

pub(super) mod groups;

use super::session::{Followed, Opening, Prefix};
use super::states::{Limits, look_ahead};
use crate::forest::{Forest, NodeId};
use groups::Matters;
use hashbrown::{HashMap, HashSet};

/// Runs that have to be made before: most programs are known by then, or have failed.
const RUNS_BEFORE: usize = 64;

/// States of a search at most.
const MOST_STATES: usize = 3_000_000;

/// How often a way is tried to what it does not show.
const MOST_TRIES: u32 = 2;

/// Of so many runs, one at least has to show what it was made for: else the groups are no good.
const RUNS_JUDGED: u32 = 128;

/// What was learnt, and how it went.
#[derive(Debug, Default)]
pub(super) struct Alike {
    matters: Matters,
    tried: HashMap<(NodeId, Opening), u32>,
    made: u32,
    shown: u32,
    /// So many histories there were when nothing was open; there have to be more, to look again.
    found_nothing_at: usize,
}

impl Alike {
    /// What to run next: what is open for groups, nearest first. `varied` are places in the code where runs have not
    /// all seen one value; others come first.
    pub(super) fn next(
        &mut self,
        forest: &mut Forest,
        runs: usize,
        limits: &Limits,
        most: usize,
        varied: &HashSet<u64>,
    ) -> Vec<Prefix> {
        let histories = forest.nodes().len();
        let is_no_good = self.made >= RUNS_JUDGED && self.shown == 0;
        if runs < RUNS_BEFORE || is_no_good || histories < self.found_nothing_at + self.found_nothing_at / 8 {
            return Vec::new();
        }
        if self.made >= RUNS_JUDGED {
            (self.made, self.shown) = (0, 0);
        }
        let limits = Limits {
            states: MOST_STATES.min(limits.states),
            ..*limits
        };
        let is_tried = |node: NodeId, opening: Opening| self.tried.get(&(node, opening)).is_some_and(|&tries| tries >= MOST_TRIES);
        let found = look_ahead(forest, &mut self.matters, &limits, most, varied, &is_tried);
        if found.is_empty() {
            self.found_nothing_at = histories;
        }
        found
    }

    /// A run was made along what was open.
    pub(super) fn made(&mut self, prefix: &Prefix, followed: &Followed) {
        self.made += 1;
        self.shown += u32::from(*followed == Followed::Whole);
        if let Some(wanted) = prefix.wanted {
            *self.tried.entry((wanted.node, wanted.opening)).or_default() += 1;
        }
    }
}
