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

use super::HISTORIES_FOR_ONE_MORE;
use super::session::{Followed, Opening, Prefix};
use super::states::{AheadOf, Limits, look_ahead};
use super::tables::Tables;
use crate::forest::{Forest, NodeId};
use groups::Matters;
use hashbrown::{HashMap, HashSet};

/// States of a search at most; and of one of groups that are hardly fewer than histories, so that it has nothing more to
/// find than the search of these.
const MOST_STATES: usize = 3_000_000;
const MOST_STATES_APART: usize = 20_000;

/// A search goes on until it has as many ways as are to be run, or, from so many states on, until it has taken as long
/// as the runs along its ways will, each about as long as so many states.
const FEWEST_STATES: usize = 100_000;
const STATES_FOR_A_RUN: usize = 5_000;

/// What takes so many states a way is poor: the search of histories comes first then.
const STATES_FOR_A_POOR_WAY: usize = 50_000;

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
    /// So many histories there have to be.
    looks_at: usize,
}

impl Alike {
    /// Whether a search may find something that is worth its cost.
    pub(super) fn is_worth_a_look(&self, forest: &Forest) -> bool {
        forest.nodes().len() >= self.looks_at && (self.made < RUNS_JUDGED || self.shown > 0)
    }

    /// What to run next: what is open for groups, nearest first. `varied` are places in the code where runs have not
    /// all seen one value; others come first.
    pub(super) fn next(
        &mut self,
        forest: &mut Forest,
        limits: &Limits,
        most: usize,
        varied: &HashSet<u64>,
    ) -> Vec<Prefix> {
        if self.made >= RUNS_JUDGED {
            (self.made, self.shown) = (0, 0);
        }
        let (ahead, values) = {
            let tables = Tables::of_groups(forest, &mut self.matters);
            let is_apart = 2 * tables.classes.len() > tables.followed();
            let states = if is_apart { MOST_STATES_APART } else { MOST_STATES };
            let limits = Limits {
                states: limits.states.min(states),
                ..*limits
            };
            let of = AheadOf {
                most,
                is_enough: &|states, open| {
                    open >= 2 * most || (states >= FEWEST_STATES && STATES_FOR_A_RUN * open.min(most) >= states)
                },
                comes_first: &|position| !varied.contains(&position),
                is_tried: &|at, opening| (self.tried.get(&(at, opening))).is_some_and(|&tries| tries >= MOST_TRIES),
            };
            look_ahead(forest, tables, &limits, &of)
        };
        forest.adopt_values(values);
        if ahead.states > STATES_FOR_A_POOR_WAY * ahead.ways.len() {
            let histories = forest.nodes().len();
            self.looks_at = histories + histories / HISTORIES_FOR_ONE_MORE + 1;
        }
        ahead.ways
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
