//! Exploration: the program is run again and again, each time along a prefix that shows something new, until nothing
//! new is feasible.
//!
//! ```text
//! forest = what one run shows
//! loop: is there a feasible prefix after which a pending operation has an outcome that is no branch yet?     (search)
//!       yes: run the program along that prefix, then let it go on; the forest grows by at least that branch
//!       no:  the forest is all that the program can do on this input
//! ```
//!
//! What is sought is asked of the forest's states on the way ([`Goal`]): races and deadlocks are *feasible* as soon as
//! the forest holds what leads there, and *impossible on this input*, under sequential consistency, if nothing is open
//! and they have not been met. Failures of the program itself (an assertion, a signal, an exit status) are ends of
//! histories, so the run that shows the last branch before one shows it, too.
//!
//! Each run adds a branch, so there are at most as many runs as branches: a sum over the threads' histories, where
//! classes of executions are a product.
//!
//! The program is behind a trait, [`Session`].

mod alike;
mod beyond;
mod classes;
mod delays;
mod failure;
mod footprint;
mod goal;
mod journal;
mod machine;
mod near;
mod packed;
mod persistent;
mod program;
mod session;
mod shared;
mod sites;
mod solver;
mod states;
mod tables;
mod unordered;

pub use classes::{Classes, classes};
pub use failure::{FailsIf, FailsIfError};
pub use goal::{Goal, Side, Waiting};
pub use journal::JournalError;
pub use near::nearby;
pub use program::{Names, Program, ProgramError, Then, by_turns};
pub use session::{
    Checksum, Divergence, End, Followed, Learnt, Move, Onward, Opening, Prefix, PrefixThread, Ran, Remembered, Session,
    Wanted,
};
pub use shared::{Sharing, folder_of_shared, shared_environment};
pub use states::{Limits, Searched, search};

use crate::forest::{Forest, Next, NodeId, Operation, Outcome, Patience, Region, Reservation, Run, Span};
use crate::verdict::{Find, Kind};
use alike::Alike;
use hashbrown::{HashMap, HashSet};
use near::{Near, Stops, near};
use serde::{Deserialize, Serialize};
use sites::Sites;
use solver::Solver;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use trace_format::NOBODYS;
use unordered::{Unordered, unordered};

/// Runs that are made at most along what the cheap search finds. It serves to find failures soon; what is left to it of
/// a long exploration, the exact one finds as well.
const NEAR_RUNS: usize = 200;

/// Most programs are known after so many runs, or have failed: it is time to
/// [look ahead](Options::looks_ahead_after).
pub const RUNS_BEFORE_LOOKING_AHEAD: usize = 64;

/// A search that has found too little comes again when there are more histories, by one for so many.
const HISTORIES_FOR_ONE_MORE: usize = 8;

/// So many times, before the exact search comes, which also looks for races and deadlocks.
const LOOKS_AHEAD_AT_ONCE: usize = 8;

/// From then on, every other time threads are to go on in turn.
const RUNS_BEFORE_TURNS: usize = 4;

/// States of an exact search that only serves to see what to try next.
const STATES_OF_A_GLANCE: usize = 2_000;

/// As many openings the solver finds before they are run: what these runs show answers other questions.
const OPENINGS_AT_ONCE: usize = 16;

/// As many states are searched before the solver is asked, unless the bound is less.
const STATES_FIRST: usize = 200_000;

/// Of each search as many branches are run as runs were made before, and [this many](MOST_OF_A_SEARCH) at most: a search
/// costs more, the more runs have shown, while a run more or less matters less. Of the first searches for failures, which
/// cost little and serve to find one in few runs, only one for so many runs, until there are so many. It does not depend
/// on how many runs are made at the same time, so that nothing else does.
const RUNS_FOR_ONE_MORE: usize = 3;
const RUNS_UNTIL_MOST_FAIL: usize = 16;

/// As many branches of a search are run at most before the next one.
pub const MOST_OF_A_SEARCH: usize = 64;

/// States that are met at most in looking for unordered races: each takes some kilobytes of work, and of programs with
/// more the reports say that it was not done.
const STATES_FOR_ORDERS: usize = 200_000;
/// So many runs are made at most for what may be unordered races.
const MOST_UNORDERED: usize = 32;

/// How an open branch is preferred: the one with the least cost is run first, of equal ones the one met first.
pub type Order<'o> = dyn Fn(&Forest, &Prefix) -> u64 + 'o;

/// What stands between branches that show a new exchange and those that do not: more than all changes of threads, less
/// than what an [`Order`] may say of places.
const SHOWN_BEFORE: u64 = 1 << 36;

/// The cost of a branch at none of the places that come first: beyond all others.
const FAR: u64 = 1 << 40;

/// Fewest changes of threads first: such prefixes are easy to force, and to understand. Whether an operation waits is
/// asked last: the answer is seldom a surprise.
#[must_use]
pub fn fewest_context_switches(_: &Forest, prefix: &Prefix) -> u64 {
    let asks = matches!(prefix.wanted, Some(wanted) if wanted.opening == Opening::GivesUp);
    (u64::from(asks) << 32) + prefix.context_switches() as u64
}

/// Branches at some places in the code first, and otherwise those with the fewest changes of threads.
pub fn at_places_first<'p>(is_near: &'p dyn Fn(u64) -> bool) -> impl Fn(&Forest, &Prefix) -> u64 + 'p {
    move |forest, prefix| {
        let place = prefix.wanted.map(|wanted| forest.node(wanted.node).position);
        let far = if place.is_some_and(is_near) { 0 } else { FAR };
        fewest_context_switches(forest, prefix) + far
    }
}

/// What finds what is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The search of states.
    States,
    /// The solver.
    Solver,
    /// States where there are few, else the solver, and all states within the bound if that does not decide it either.
    #[default]
    Auto,
}

/// How exploration goes on.
pub struct Options<'o> {
    /// Bounds of each search.
    pub limits: Limits,
    /// What finds what is open.
    pub engine: Engine,
    /// After so many states, a search ends once there is enough to run, and goes on after the runs; `None` if each is
    /// to be whole.
    pub fewest_states: Option<usize>,
    /// Most runs.
    pub runs: usize,
    /// Which open branch comes next.
    pub order: &'o Order<'o>,
    /// How often a branch is tried that runs do not show.
    pub tries: u32,
    /// Whether the program is also run along the prefix of each goal that was found.
    pub show_goals: bool,
    /// What is looked for: other goals are not noted.
    pub find: Find,
    /// How many runs the session is asked for at the same time. What is run does not depend on it.
    pub jobs: usize,
    /// Places in the code at which, or next to which, branches come first.
    pub prefers: Option<&'o dyn Fn(u64) -> bool>,
    /// Whether to begin with the branches that fail most often, instead of those that take the fewest runs to cover
    /// everything.
    pub failures_first: bool,
    /// After so many runs, histories that seem to go on alike are taken to do so, to choose what is run next; `None` if
    /// never.
    pub looks_ahead_after: Option<usize>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            engine: Engine::default(),
            fewest_states: Some(2_000),
            runs: usize::MAX,
            order: &fewest_context_switches,
            tries: 2,
            show_goals: false,
            find: Find::default(),
            jobs: 1,
            prefers: None,
            failures_first: false,
            looks_ahead_after: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is.
    pub what: What,
    /// The prefix that leads there; of a failure, the one that its run was made along. Empty if that was in an earlier
    /// session.
    pub prefix: Prefix,
    /// The number of the run that shows it, from 0; `None` if no run was made to.
    pub run: Option<usize>,
    /// That run went another way than the prefix, of a race: unless its trace proves it, the race may be impossible.
    pub is_contradicted: bool,
}

/// The kinds of things found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// A prefix of the forest ends so.
    Goal(Goal),
    /// A run ended so, not in success.
    Ended(End),
    /// A run accessed, at this position, what another thread had freed before.
    UseAfterFree(u64),
}

impl What {
    /// Whether it is for the analysis of the trace that shows it to tell what it is.
    #[must_use]
    pub fn is_for_analysis(&self) -> bool {
        match self {
            What::Goal(goal) => goal.is_race(),
            What::UseAfterFree(_) => true,
            What::Ended(_) => false,
        }
    }
}

/// Why it cannot be said that every schedule was covered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The model of the runs is not the whole program.
    Reservation(Reservation),
    /// As many runs were made as were allowed, and something was open.
    Runs,
    /// Searches reached their bounds of states, memory or time, and of what the solver may do.
    States,
    /// Whoever watched ended it.
    Stopped,
    /// Runs along a feasible prefix did not show what is open there.
    NotShown(Opening, u64),
    /// Nothing that the model knows orders the accesses at these positions, and no trace shows that they race.
    Unsettled(u64, u64),
    /// Searches found that the accesses at these positions race, but the run that was made to show it went another way.
    NotReached(u64, u64),
}

impl Reason {
    /// In words, with places in the code as `place` tells them.
    #[must_use]
    pub fn words(&self, place: &dyn Fn(u64) -> String) -> String {
        let positions = match self {
            Reason::Reservation(reservation) => [reservation.position(), None],
            Reason::NotShown(_, position) => [Some(*position), None],
            Reason::Unsettled(a, b) | Reason::NotReached(a, b) => [Some(*a), Some(*b)],
            Reason::Runs | Reason::States | Reason::Stopped => [None, None],
        };
        if positions[0] == Some(0) {
            return "what comes after the end of a run that was ended early was not shown".to_owned();
        }
        (positions.into_iter().flatten()).fold(self.to_string(), |words, position| {
            words.replace(&format!("{position:#x}"), &place(position))
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Reservation(reservation) => reservation.fmt(f),
            Reason::Runs => f.write_str("the bound of runs was reached"),
            Reason::States => f.write_str("the bound of states, memory or time of a search was reached"),
            Reason::Stopped => f.write_str("the time limit was reached, or it was interrupted"),
            Reason::NotShown(_, position) => {
                write!(
                    f,
                    "what is feasible at {position:#x} was not shown by the runs that were made to show it"
                )
            }
            Reason::Unsettled(a, b) => {
                write!(
                    f,
                    "whether the order of atomics keeps {a:#x} and {b:#x} apart was not decided: the run that was made for them shows no race"
                )
            }
            Reason::NotReached(a, b) => {
                write!(
                    f,
                    "whether {a:#x} and {b:#x} race was not decided: the run that was made for them went another way"
                )
            }
        }
    }
}

/// What exploration came to.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// All that runs have shown.
    pub forest: Forest,
    /// How many runs were made.
    pub runs: usize,
    /// States of the last search.
    pub states: usize,
    /// What is still open.
    pub open: usize,
    /// What was found, in order.
    pub found: Vec<Found>,
    /// What was taken for a part of the input: *exhausted* is said of schedules with this.
    pub assumed: Vec<Reservation>,
    /// Why not every schedule of this input was covered. If empty, every one was: *exhausted*.
    pub not_exhausted: Vec<Reason>,
}

impl Exploration {
    /// Whether every schedule of this input was covered, so that what was not found is impossible.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.not_exhausted.is_empty()
    }

    /// Takes note of which races traces prove: of the others, those that are unordered and those that a run contradicts
    /// may be none, and are left open.
    pub fn settle(&mut self, is_proved: impl Fn((u64, u64)) -> bool) {
        let open = &mut self.not_exhausted;
        self.found.retain(|found| {
            let What::Goal(Goal::Race(a, b) | Goal::Unordered(a, b)) = found.what else {
                return true;
            };
            let (a, b) = (a.position, b.position);
            let is_unordered = matches!(found.what, What::Goal(Goal::Unordered(..)));
            if is_proved((a, b)) || !(is_unordered || found.is_contradicted) {
                return true;
            }
            open.push(match is_unordered {
                true => Reason::Unsettled(a, b),
                false => Reason::NotReached(a, b),
            });
            is_unordered
        });
    }
}

/// How far it is, told after each run and each search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs made, those of earlier sessions included.
    pub runs: usize,
    /// How many of them earlier sessions made.
    pub earlier: usize,
    /// Branches that they have shown.
    pub branches: usize,
    /// Branches that are open, as far as is known.
    pub open: usize,
    /// States of the last search.
    pub states: usize,
    /// What was found.
    pub found: usize,
}

/// Explores the program until everything feasible was shown, a bound is reached, or `watch` breaks.
///
/// # Errors
/// The session's, if a run could not be made.
pub fn explore<S: Session>(
    session: &mut S,
    options: &Options<'_>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Exploration, S::Error> {
    let mut exploring = Exploring {
        session,
        options,
        forest: Forest::new(),
        progress: Progress {
            runs: 0,
            earlier: 0,
            branches: 0,
            open: 0,
            states: 0,
            found: 0,
        },
        found: Vec::new(),
        known: HashSet::new(),
        tried: HashMap::new(),
        answered: HashSet::new(),
        waits_instead: HashSet::new(),
        reasons: Vec::new(),
        places: HashMap::new(),
        near_rounds: 0,
        near_runs: 0,
        near_comes_at: 0,
        near_missed: HashSet::new(),
        sites: Sites::default(),
        solver: None,
        fits: Fits::Unknown,
        alike: Alike::default(),
        orders_are_covered: false,
    };
    exploring.run(watch)?;
    Ok(exploring.finish())
}

struct Exploring<'s, 'o, S> {
    session: &'s mut S,
    options: &'s Options<'o>,
    forest: Forest,
    progress: Progress,
    found: Vec<Found>,
    known: HashSet<What>,
    tried: HashMap<(NodeId, Opening), u32>,
    /// Operations of which some outcome was wanted, whatever it is, and came.
    answered: HashSet<NodeId>,
    /// Operations that wait where they would have this outcome.
    waits_instead: HashSet<(NodeId, Outcome)>,
    reasons: Vec<Reason>,
    /// How often branches at these places were tried, of those that the cheap search finds.
    places: HashMap<u64, u32>,
    near_rounds: usize,
    near_runs: usize,
    /// So many histories there have to be, once it has found nothing.
    near_comes_at: usize,
    /// What it found that runs did not show.
    near_missed: HashSet<(NodeId, Opening)>,
    /// Who has seen what of whom, by places in the code.
    sites: Sites,
    /// Made when it is first asked: that takes longer than many a search.
    solver: Option<Solver>,
    fits: Fits,
    alike: Alike,
    /// Whether weak atomics are known to leave no race open that no state shows.
    orders_are_covered: bool,
}

/// Which engine suits the forest, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fits {
    Unknown,
    /// It has many states, among the first of which nothing is open.
    Walks,
    /// Nor along walks.
    Solver,
    /// And the solver did not decide it.
    States,
}

impl<S: Session> Exploring<'_, '_, S> {
    fn run(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<(), S::Error> {
        if self.options.runs == 0 {
            self.reasons.push(Reason::Runs);
            return Ok(());
        }
        while let Some(remembered) = self.session.remember()? {
            self.recall(remembered);
            self.progress.earlier += 1;
        }
        if self.progress.runs == 0 {
            self.run_along(&[Prefix::default()])?;
            if self.progress.runs == 0 {
                self.reasons.push(Reason::Stopped);
                return Ok(());
            }
        }
        let too_long = |reason: &Reservation| matches!(reason, Reservation::TooLong { .. });
        if self.forest.branches() == 0 && self.forest.reservations().iter().any(too_long) {
            return self.run_unsearched(watch);
        }
        loop {
            if self.run_near(watch)?.is_break() || self.run_ahead(watch)?.is_break() {
                return Ok(());
            }
            let (mut frontier, searched) = self.search_frontier()?;
            self.progress.open = frontier.len();
            if frontier.is_empty() {
                if searched.whole {
                    self.look_for_unordered_races()?;
                } else {
                    self.reasons.push(match self.options.limits.is_over() {
                        true => Reason::Stopped,
                        false => Reason::States,
                    });
                }
                self.reasons
                    .extend(searched.reservations.into_iter().map(Reason::Reservation));
                let _ = watch(&self.progress);
                return Ok(());
            }
            frontier.sort_by_cached_key(|open| {
                let is_new = self.sites.is_new_in(&self.forest, open);
                (self.options.order)(&self.forest, open) + u64::from(!is_new) * SHOWN_BEFORE
            });
            let mut frontier = frontier.into_iter();
            loop {
                // What a run of this round has shown needs no other.
                let open = frontier.by_ref().filter(|open| self.is_to_try(open));
                let batch: Vec<Prefix> = open.take(self.at_once()).collect();
                if batch.is_empty() {
                    break;
                }
                let open = self.progress.open.saturating_sub(batch.len());
                if self.run_batch(&batch, watch)?.is_break() {
                    return Ok(());
                }
                self.progress.open = open;
                if self.looks_ahead() {
                    break;
                }
            }
        }
    }

    /// Of a forest in which nothing is open: whether its weak atomics leave races open that no state shows. Along each that
    /// may be one, a run is made, so that the analysis of its trace can tell.
    fn look_for_unordered_races(&mut self) -> Result<(), S::Error> {
        let reservations = self.forest.reservations();
        if !reservations.contains(&Reservation::WeakAtomics) || reservations.contains(&Reservation::ForeignRelease) {
            return Ok(());
        }
        if !self.options.find.pairs() {
            self.orders_are_covered = true;
            return Ok(());
        }
        let limits = Limits {
            states: self.options.limits.states.min(STATES_FOR_ORDERS),
            ..self.options.limits
        };
        let Unordered { goals, whole } = unordered(&self.forest, &limits);
        let is_race = |what: &What, a: Side, b: Side| *what == What::Goal(Goal::race(a, b));
        let new = goals.into_iter().filter(|(goal, _)| match *goal {
            Goal::Unordered(a, b) => !self.known.iter().any(|what| is_race(what, a, b)),
            _ => false,
        });
        let new: Vec<_> = new.collect();
        tracing::debug!(pairs = new.len(), whole, "looked for unordered races");
        let told = |goal: &Goal| self.known.contains(&What::Goal(goal.clone()));
        let (told, untold): (Vec<_>, Vec<_>) = new.into_iter().partition(|(goal, _)| told(goal));
        let left = self.options.runs.saturating_sub(self.progress.runs);
        let most = left.min(MOST_UNORDERED.saturating_sub(told.len()));
        self.orders_are_covered = whole && untold.len() <= most;
        for (goal, prefix) in untold.into_iter().take(most) {
            if self.options.show_goals {
                self.show(&prefix, What::Goal(goal))?;
            } else {
                self.note(What::Goal(goal), &prefix, None, false);
            }
        }
        Ok(())
    }

    /// Makes as many runs as are allowed of a program of which there is no model, since its first run is too long for
    /// one.
    fn run_unsearched(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<(), S::Error> {
        let mut made = Vec::new().into_iter();
        // What is left of the runs that were made at the same time as the last one is forgotten: without them it would
        // have been the last one, too.
        while !self.is_over(watch) {
            if made.len() == 0 {
                let left = self.options.runs - self.progress.runs;
                let count = self.options.jobs.clamp(1, left);
                made = self.session.run_unsearched(self.options.prefers, count)?.into_iter();
            }
            let Some(ran) = made.next() else {
                break;
            };
            self.learn(&Prefix::default(), ran, None)?;
        }
        Ok(())
    }

    /// What is open, by the engine that is asked.
    fn search(&mut self, limits: Limits) -> Searched {
        match self.options.engine {
            Engine::States => search(&mut self.forest, &limits),
            Engine::Solver => self.ask_solver(),
            Engine::Auto => self.search_as_it_fits(limits),
        }
    }

    /// A short search of states first, then walks, then the solver, then all states that the limits allow.
    fn search_as_it_fits(&mut self, limits: Limits) -> Searched {
        let mut goals = Vec::new();
        if self.fits == Fits::Unknown {
            let few = Limits {
                states: STATES_FIRST.min(limits.states),
                ..limits
            };
            let searched = search(&mut self.forest, &few);
            let has_enough = searched.whole || searched.worthwhile || limits.is_over();
            if has_enough || searched.frontier.iter().any(|open| self.is_to_try(open)) {
                return searched;
            }
            self.fits = Fits::Walks;
            goals = searched.goals;
        }
        if self.fits == Fits::Walks {
            let frontier = self.walk();
            if !frontier.is_empty() {
                return Searched {
                    frontier,
                    goals,
                    worthwhile: true,
                    ..Searched::default()
                };
            }
            self.fits = Fits::Solver;
        }
        if self.fits == Fits::Solver {
            let mut searched = self.ask_solver();
            goals.append(&mut searched.goals);
            if searched.whole || limits.is_over() || searched.frontier.iter().any(|open| self.is_to_try(open)) {
                return Searched { goals, ..searched };
            }
            self.fits = Fits::States;
        }
        let searched = search(&mut self.forest, &limits);
        goals.extend(searched.goals);
        Searched { goals, ..searched }
    }

    fn ask_solver(&mut self) -> Searched {
        let mut solver = self.solver.take().unwrap_or_default();
        let mut forest = std::mem::take(&mut self.forest);
        let is_wanted = |forest: &Forest, wanted: &Wanted| {
            let tries = self.tried.get(&(wanted.node, wanted.opening)).copied().unwrap_or(0);
            tries < self.options.tries && self.is_open_in(forest, wanted)
        };
        let count = OPENINGS_AT_ONCE.max(self.at_once());
        let searched = solver.search(&mut forest, &self.options.limits, count, &is_wanted);
        (self.solver, self.forest) = (Some(solver), forest);
        searched
    }

    /// What is open, and the search that found it: one that finds something to run soon, or else the whole one.
    fn search_frontier(&mut self) -> Result<(Vec<Prefix>, Searched), S::Error> {
        // A search costs a time in the nodes of the forest, before it meets any state.
        let nodes = self.forest.nodes().len();
        let mut worthwhile_after = self.options.fewest_states.map(|fewest| match fewest {
            0 => 0,
            _ => fewest.max(nodes / 2),
        });
        loop {
            let limits = Limits {
                worthwhile_after,
                ..self.options.limits
            };
            let mut searched = self.search(limits);
            self.progress.states = searched.states;
            let runs = self.progress.runs;
            self.note_goals(&searched)?;
            let mut frontier = std::mem::take(&mut searched.frontier);
            // What was tried in vain is tried again only along what a whole search finds, when more is known.
            let again = !searched.worthwhile;
            frontier.retain(|open| self.is_to_try(open) && (again || self.tries(open) == 0));
            // A run that shows a race may show what was open as well, and behind it what no search has met.
            let is_of_this_forest = self.progress.runs == runs;
            if !frontier.is_empty() || again && is_of_this_forest {
                return Ok((frontier, searched));
            }
            if is_of_this_forest {
                worthwhile_after = None;
            }
        }
    }

    /// What is open along random walks: first reads at places where all runs have seen one value, since that may have
    /// been meant to be the only one; then what takes the fewest changes of threads.
    fn walk(&mut self) -> Vec<Prefix> {
        let walks = Stops::AtRandom(self.progress.runs as u64);
        let found = near(&mut self.forest, walks, &self.places, &self.sites, &self.options.limits);
        let new = found.into_iter().filter(|near| self.is_new(near));
        let mut new: Vec<Prefix> = new.map(|near| near.prefix).collect();
        let varied = self.varied_places();
        new.sort_by_cached_key(|open| {
            let place = open.wanted.map(|wanted| self.forest.node(wanted.node).position);
            (
                place.is_some_and(|place| varied.contains(&place)),
                open.context_switches(),
            )
        });
        new.truncate(self.at_once());
        new
    }

    /// The places in the code at which not all runs have seen the same, or nothing can be seen.
    fn varied_places(&self) -> HashSet<u64> {
        let mut seen: HashMap<u64, Outcome> = HashMap::new();
        let mut varied = HashSet::new();
        for node in self.forest.nodes() {
            for edge in &node.edges {
                let is_known = *seen.entry(node.position).or_insert(edge.outcome) == edge.outcome;
                if !is_known || !matches!(edge.outcome, Outcome::Saw(_)) {
                    varied.insert(node.position);
                }
            }
        }
        varied
    }

    /// How many branches of one search are run before the next one.
    fn at_once(&self) -> usize {
        self.progress.runs.clamp(1, MOST_OF_A_SEARCH)
    }

    /// Runs the program along each of these, as far as bounds allow, and learns from all. Breaks when the exploration
    /// is over.
    fn run_batch(
        &mut self,
        batch: &[Prefix],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, S::Error> {
        let left = self.options.runs.saturating_sub(self.progress.runs);
        let allowed = &batch[..batch.len().min(left)];
        tracing::info!(branches = allowed.len(), "runs branches that a search found");
        let mut all = Vec::new();
        let mut stopped = false;
        for together in allowed.chunks(self.options.jobs.max(1)) {
            stopped = self.is_over(watch);
            if stopped {
                break;
            }
            let ran = self.session.run_all(&self.forest, together)?;
            // It was asked to end.
            let ends = ran.len() < together.len();
            all.extend(ran);
            if ends {
                break;
            }
        }
        for (prefix, ran) in allowed.iter().zip(all) {
            self.learn(prefix, ran, None)?;
        }
        if stopped || (allowed.len() < batch.len() && self.is_over(watch)) {
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether no more runs may be made, and notes why.
    fn is_over(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> bool {
        let reason = if self.progress.runs >= self.options.runs {
            Reason::Runs
        } else if watch(&self.progress).is_break() {
            Reason::Stopped
        } else {
            return false;
        };
        self.reasons.push(reason);
        true
    }

    /// Runs the program along what the cheap search finds, while it finds any. Breaks when the exploration is over.
    fn run_near(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<ControlFlow<()>, S::Error> {
        while self.options.failures_first && self.near_runs < NEAR_RUNS && !self.looks_ahead() {
            let histories = self.forest.nodes().len();
            if histories < self.near_comes_at {
                break;
            }
            let batch = self.next_near(match self.progress.runs {
                few @ ..RUNS_UNTIL_MOST_FAIL => (few / RUNS_FOR_ONE_MORE).max(1),
                _ => self.at_once(),
            });
            self.near_runs += batch.len();
            if batch.is_empty() {
                if self.progress.runs >= RUNS_BEFORE_LOOKING_AHEAD {
                    self.near_comes_at = histories + histories / HISTORIES_FOR_ONE_MORE + 1;
                }
                break;
            }
            for place in batch.iter().flat_map(|near| near.places) {
                *self.places.entry(place).or_default() += u32::from(place != 0);
            }
            if let [
                Near {
                    prefix,
                    goal: Some(goal),
                    ..
                },
            ] = &batch[..]
            {
                if self.is_over(watch) {
                    return Ok(ControlFlow::Break(()));
                }
                self.show(prefix, What::Goal(goal.clone()))?;
            } else {
                let prefixes: Vec<Prefix> = batch.into_iter().map(|near| near.prefix).collect();
                if self.run_batch(&prefixes, watch)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                // What it guessed wrongly is for the exact search to judge, and to try.
                for wanted in prefixes.iter().filter_map(|prefix| prefix.wanted) {
                    if self.is_open(&wanted) {
                        self.tried.remove(&(wanted.node, wanted.opening));
                        self.near_missed.insert((wanted.node, wanted.opening));
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether it is time for what histories that seem to go on alike leave open.
    fn looks_ahead(&self) -> bool {
        let begins = self.options.looks_ahead_after;
        begins.is_some_and(|runs| self.progress.runs >= runs) && self.alike.is_worth_a_look(&self.forest)
    }

    /// Runs the program along ways to what is open if histories that seem to go on alike do so, a few times. Breaks when the exploration is over.
    fn run_ahead(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<ControlFlow<()>, S::Error> {
        for _ in 0..LOOKS_AHEAD_AT_ONCE {
            if !self.looks_ahead() {
                break;
            }
            let (varied, most) = (self.varied_places(), self.at_once());
            let batch = (self.alike).next(&mut self.forest, &self.options.limits, most, &varied);
            if batch.is_empty() {
                break;
            }
            self.progress.open = batch.len();
            if self.run_batch(&batch, watch)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What to try next: open branches, or one wait for ever. Some failures show only after many steps in turn: so
    /// after the first few runs it is, every other time, where threads go on in turn, or else where they have exchanged
    /// most.
    fn next_near(&mut self, count: usize) -> Vec<Near> {
        self.near_rounds += 1;
        if self.near_rounds >= RUNS_BEFORE_TURNS && self.near_rounds.is_multiple_of(2) {
            let number = (self.near_rounds - RUNS_BEFORE_TURNS) / 2;
            let mut deep = self.new_near(Stops::AllInTurn(number as u32), count);
            if deep.is_empty() && self.near_rounds.is_multiple_of(4) {
                deep = self.most_exchanged(count);
            }
            if !deep.is_empty() {
                return deep;
            }
        }
        let mut best = self.new_near(Stops::One, count);
        if best.first().is_none_or(|best| best.rank > near::TORN) {
            let further = self.new_near(Stops::Two, count);
            let rank = |all: &[Near]| all.first().map_or(u32::MAX, |first| first.rank);
            if rank(&further) < rank(&best) {
                best = further;
            }
        }
        best
    }

    fn new_near(&mut self, stops: Stops, count: usize) -> Vec<Near> {
        let mut found = near(&mut self.forest, stops, &self.places, &self.sites, &self.options.limits);
        if let Some(prefers) = self.options.prefers {
            found.sort_by_key(|near| !near.places.iter().any(|&place| prefers(place)));
        }
        let mut new = found.into_iter().filter(|near| self.is_new(near));
        match new.next() {
            Some(first) if first.goal.is_none() => {
                let others = new.filter(|near| near.goal.is_none()).take(count - 1);
                std::iter::once(first).chain(others).collect()
            }
            first => first.into_iter().collect(),
        }
    }

    /// Of what a short exact search finds, the branches after most changes of threads.
    fn most_exchanged(&mut self, count: usize) -> Vec<Near> {
        let limits = Limits {
            states: STATES_OF_A_GLANCE.min(self.options.limits.states),
            ..self.options.limits
        };
        let frontier = search(&mut self.forest, &limits).frontier;
        let new = frontier.into_iter().map(Near::of);
        let mut new: Vec<Near> = new.filter(|near| self.is_new(near)).collect();
        new.sort_by_cached_key(|near| std::cmp::Reverse(near.prefix.context_switches()));
        new.truncate(count);
        new
    }

    fn is_new(&self, near: &Near) -> bool {
        match &near.goal {
            Some(goal) => self.options.show_goals && self.is_asked(goal) && !self.is_told(goal),
            None => {
                let asks = near.rank > 0
                    && near
                        .prefix
                        .wanted
                        .is_some_and(|wanted| wanted.opening == Opening::GivesUp);
                let missed = near
                    .prefix
                    .wanted
                    .is_some_and(|wanted| self.near_missed.contains(&(wanted.node, wanted.opening)));
                !asks && !missed && self.is_to_try(&near.prefix) && self.tries(&near.prefix) == 0
            }
        }
    }

    fn tries(&self, open: &Prefix) -> u32 {
        let tried = open
            .wanted
            .and_then(|wanted| self.tried.get(&(wanted.node, wanted.opening)));
        tried.copied().unwrap_or(0)
    }

    /// Whether a branch is still open, and has not been tried too often.
    fn is_to_try(&self, open: &Prefix) -> bool {
        let Some(wanted) = open.wanted else {
            return false;
        };
        self.tries(open) < self.options.tries && self.is_open(&wanted)
    }

    fn is_open(&self, wanted: &Wanted) -> bool {
        self.is_open_in(&self.forest, wanted)
    }

    fn is_open_in(&self, forest: &Forest, wanted: &Wanted) -> bool {
        let node = forest.node(wanted.node);
        match wanted.opening {
            Opening::Outcome(outcome) => {
                node.edge(outcome).is_none() && !self.waits_instead.contains(&(wanted.node, outcome))
            }
            Opening::SomeOutcome => !self.answered.contains(&wanted.node),
            Opening::NextOperation => node.next == Next::Unknown,
            Opening::GivesUp => node.patience == Patience::Unknown,
        }
    }

    /// Makes runs, and learns from each, in the order of the prefixes.
    fn run_along(&mut self, prefixes: &[Prefix]) -> Result<(), S::Error> {
        for (prefix, ran) in prefixes.iter().zip(self.session.run_all(&self.forest, prefixes)?) {
            self.learn(prefix, ran, None)?;
        }
        Ok(())
    }

    /// Makes a run to show something.
    fn show(&mut self, prefix: &Prefix, goal: What) -> Result<(), S::Error> {
        let prefixes = std::slice::from_ref(prefix);
        for ran in self.session.run_all(&self.forest, prefixes)? {
            self.learn(prefix, ran, Some(goal.clone()))?;
        }
        Ok(())
    }

    /// Learns what a run showed; `goal` is what it was made to show.
    fn learn(&mut self, prefix: &Prefix, ran: Ran, goal: Option<What>) -> Result<(), S::Error> {
        let (run, uses_after_free) = self.add(&ran.run);
        let mut learnt = Learnt::default();
        if prefix.is_guess {
            // What was wanted is open for a group: of its histories it says nothing.
            self.alike.made(prefix, &ran.followed);
        } else if let Some(wanted) = prefix.wanted {
            *self.tried.entry((wanted.node, wanted.opening)).or_default() += 1;
            let blocked = Followed::Until {
                step: prefix.moves.len(),
                why: Divergence::Blocked,
            };
            if wanted.opening == Opening::GivesUp && ran.followed == blocked {
                self.forest.learn_patience(wanted.node, Patience::Endless);
                learnt.waits = Some(wanted.node.0);
            }
            if wanted.opening == Opening::SomeOutcome && is_answered(prefix, &ran) {
                self.answered.insert(wanted.node);
            }
            if let Opening::Outcome(outcome) = wanted.opening
                && ran.followed == blocked
                && self.is_at_end_of_futex_wait(wanted.node)
            {
                self.waits_instead.insert((wanted.node, outcome));
            }
            tracing::debug!(?wanted, followed = ?ran.followed, "made a run for what was open");
        }
        // A search may find the same deadlock again, and make a run to show it: the first one is the one to be named.
        let is_told = match ran.end {
            End::Failure(_) | End::TimedOut | End::Limit => true,
            End::Deadlock => self.options.find.has(Kind::Deadlocks),
            End::Success => false,
        };
        let ended = is_told.then_some(What::Ended(ran.end));
        learnt.contradicts = goal.as_ref().is_some_and(What::is_for_analysis) && is_contradicted(prefix, &ran.followed);
        let is_wanted = self.options.find.has(Kind::UseAfterFree);
        let uses = uses_after_free.into_iter().filter(|_| is_wanted);
        for what in ended.into_iter().chain(goal).chain(uses.map(What::UseAfterFree)) {
            if self.note(what.clone(), prefix, Some(run), learnt.contradicts) {
                learnt.shows.push(what);
            }
        }
        self.session.keep(run, &learnt)
    }

    /// A run that was made before this session.
    fn recall(&mut self, Remembered { run, learnt }: Remembered) {
        let (run, _) = self.add(&run);
        if let Some(node) = learnt.waits {
            self.forest.learn_patience(NodeId(node), Patience::Endless);
        }
        for what in learnt.shows {
            if matches!(&what, What::Goal(goal) if !self.is_asked(goal)) {
                continue;
            }
            self.note(what, &Prefix::default(), Some(run), learnt.contradicts);
        }
    }

    /// Adds a run to the forest; its number, and where it accessed what another thread had freed.
    fn add(&mut self, run: &Run) -> (usize, BTreeSet<u64>) {
        let added = self.forest.add(run);
        self.progress.branches += added.branches;
        self.sites.add(run);
        self.progress.runs += 1;
        (self.progress.runs - 1, added.uses_after_free)
    }

    fn is_asked(&self, goal: &Goal) -> bool {
        match goal {
            Goal::Race(..) | Goal::Unordered(..) => self.options.find.pairs(),
            Goal::Deadlock { .. } | Goal::PartialDeadlock { .. } => self.options.find.has(Kind::Deadlocks),
        }
    }

    /// Whether this was found, or a deadlock of all threads that includes it.
    fn is_told(&self, goal: &Goal) -> bool {
        let includes = |what: &What| matches!(what, What::Goal(known) if known.includes(goal));
        self.known.contains(&What::Goal(goal.clone()))
            || matches!(goal, Goal::PartialDeadlock { .. }) && self.known.iter().any(includes)
    }

    fn note_goals(&mut self, searched: &Searched) -> Result<(), S::Error> {
        for (goal, prefix) in &searched.goals {
            let what = What::Goal(goal.clone());
            if self.is_told(goal) || !self.is_asked(goal) {
                continue;
            }
            if self.options.show_goals && self.progress.runs < self.options.runs {
                self.show(prefix, what)?;
            } else {
                self.note(what, prefix, None, false);
            }
        }
        Ok(())
    }

    /// Notes what was found; whether that is new. If the run `contradicts` its prefix, that counts against races.
    fn note(&mut self, what: What, prefix: &Prefix, run: Option<usize>, contradicts: bool) -> bool {
        let new = self.known.insert(what.clone());
        if new {
            self.found.push(Found {
                is_contradicted: contradicts && matches!(what, What::Goal(_)),
                what,
                prefix: prefix.clone(),
                run,
            });
            self.progress.found = self.found.len();
        }
        new
    }

    /// Whether a thread comes to, or leaves, ThreadSanitizer's barrier for tests next, as far as is known: it counts in a
    /// variable of the runtime's own. That what is open there cannot be shown is what the reservation says.
    fn is_at_invisible_barrier(&self, node: NodeId) -> bool {
        let span = self.forest.node(node).operation().and_then(Operation::span);
        let is_of_runtime = |span: Span| span.at.region == Region::Static && span.at.offset >= NOBODYS;
        span.is_some_and(is_of_runtime) && self.forest.reservations().contains(&Reservation::InvisibleBarrier)
    }

    /// Whether a thread, which waits for a futex without a limit, loads next what whoever wakes it has stored: it does not
    /// come to that before.
    fn is_at_end_of_futex_wait(&self, node: NodeId) -> bool {
        // As `recorders/native/src/process/futex.rs` has it.
        let is_of_call =
            |span: Span| span.at.region == Region::Static && span.at.offset & !0xffff_ffff == NOBODYS | 1 << 62;
        matches!(self.forest.node(node).operation(), Some(Operation::AtomicRead(span)) if is_of_call(span))
    }

    fn finish(mut self) -> Exploration {
        let stained = self.forest.stained().into_iter().map(Reason::Reservation);
        self.reasons.extend(stained);
        let (assumed, against): (Vec<_>, Vec<_>) =
            (self.forest.reservations().iter().cloned()).partition(Reservation::is_assumption);
        let is_covered =
            |reservation: &Reservation| self.orders_are_covered && *reservation == Reservation::WeakAtomics;
        let against = against.into_iter().filter(|reservation| !is_covered(reservation));
        self.reasons.extend(against.map(Reason::Reservation));
        for &(node, opening) in self.tried.keys() {
            let wanted = Wanted {
                thread: 0,
                node,
                opening,
            };
            if self.is_open(&wanted) && !self.is_at_invisible_barrier(node) {
                let position = self.forest.node(node).position;
                self.reasons.push(Reason::NotShown(opening, position));
            }
        }
        self.reasons.sort();
        self.reasons.dedup();
        Exploration {
            forest: self.forest,
            runs: self.progress.runs,
            states: self.progress.states,
            open: self.progress.open,
            found: self.found,
            assumed,
            not_exhausted: self.reasons,
        }
    }
}

/// Whether a run went another way than its prefix. Of one that did not come to it in time that is not known.
fn is_contradicted(prefix: &Prefix, followed: &Followed) -> bool {
    match *followed {
        Followed::Whole => false,
        Followed::Until { step, why } => step < prefix.moves.len() && why != Divergence::Stuck,
    }
}

/// Whether a run shows what comes of the operation that its prefix leads to: it was performed, or its thread waits,
/// does something else, or ends. A run that was ended while the thread was on its way shows nothing.
fn is_answered(prefix: &Prefix, ran: &Ran) -> bool {
    match ran.followed {
        Followed::Whole => true,
        Followed::Until {
            why: Divergence::Stuck, ..
        } => false,
        Followed::Until { step, .. } => step == prefix.moves.len() && !matches!(ran.end, End::TimedOut | End::Limit),
    }
}
