//! A quick look at one more trace of a program, a long one: whether it may show what earlier ones did not.
//!
//! To analyze a trace takes some ten times as long as to record it, and most traces add nothing. So one walk over the
//! events, in which nothing is kept of each, finds which conflicting accesses came one after the other without a common
//! lock, or order by forks and joins, and which of them nothing at all ordered in that run (no chain of what threads hear
//! of one another, as in FastTrack: Flanagan, Freund, PLDI 2009): these are looked at first. Only around these some events are cut out, and analyzed as a trace that begins and
//! ends in the middle of a run: windows, as in RVPredict (Huang, Meredith, Roşu, PLDI 2014), but only where something is.
//! Accesses that are too far from one another for a window are analyzed in a digest of the run: what threads do to one
//! another, and these accesses. What is left out of it only keeps orders from being feasible, so as good as all that is
//! witnessed in the whole trace is in its digest, and most of what is not is not.
//!
//! What a look says is no verdict. If it says that a trace is worth its analysis, that is made, of the whole trace, and
//! what it finds is found; otherwise nothing is said of this trace at all. It may miss what only accesses far from one
//! another show, and order between them that no walk sees.

mod scan;

use super::{Options, Solver, Unfollowed, Work, analyze_with, analyze_within};
use crate::candidates::{AskedCycle, Scope};
use crate::check::validate;
use crate::trace::Trace;
use crate::verdict::{Analysis, Deadlock, Find, Kind, Verdict};
use hashbrown::{HashMap, HashSet};
use scan::{Conflict, Far, Scan, Window};
use trace_format::{CodePosition, ReadError, Tables, TraceFile};

/// Two positions in the code, the lower one first.
type Positions = (CodePosition, CodePosition);

/// Of a trace's events, one of so many is looked at closely, and this many in any case.
const EVENTS_FOR_ONE: u64 = 100;
const EVENTS_AT_LEAST: u64 = 30_000;

/// A pair that has had so many windows has no more in each trace.
const MANY_WINDOWS: u32 = 8;

/// In how many traces the accesses of a pair are looked at that are too far apart for a window.
const DIGESTS_OF_A_PAIR: u32 = 3;

/// And how many such pairs in a trace.
const FAR_PAIRS: usize = 200;

/// A digest takes some fifty times as long for an event as a look. So after the first looks, pairs of which something
/// orders all accesses wait for one until it has one event for so many that were looked at.
const LOOKS_WITH_DIGESTS: u32 = 10;
const EVENTS_FOR_ONE_DIGESTED: u64 = 500;

/// A run of few events takes as long as one of so many: most of that is the program's start.
const EVENTS_OF_A_RUN: u64 = 1_000_000;

/// For windows and digests: few instances, and no solver that takes the whole of a trace.
const CLOSELY: Options = Options {
    instances: Some(3),
    explanations: Some(0),
    budget: 1_000_000,
    solver: Solver::Native,
    form: crate::encode::Form::Prefix,
    find: Find::of(&Kind::DEFAULT),
    regions: crate::verdict::Regions::Serial,
    most_pairs: super::MOST_PAIRS,
    beginning: super::Beginning {
        events: None,
        time: None,
    },
    mutation: None,
    until: None,
};

/// What looks at traces of one program have seen.
#[derive(Debug, Default)]
pub struct Glance {
    /// How many windows each pair had: those of accesses that something ordered, and of others.
    pairs: HashMap<Positions, [u32; 2]>,
    /// In how many traces those were looked at whose accesses are too far apart for a window.
    far: HashMap<Positions, u32>,
    /// Locks that were taken in a circle, by where the outer and the inner ones were.
    circles: HashSet<Positions>,
    /// What is witnessed, or was analyzed since a window said that it would be.
    races: HashSet<Positions>,
    deadlocks: HashSet<Vec<CodePosition>>,
    /// Whether the first trace was looked at.
    has_begun: bool,
    looks: u32,
    /// Events of the traces that were looked at, as long as their runs took, and of digests.
    looked_at: u64,
    digested: u64,
    /// Traces of which nothing more is said.
    passed: u32,
    /// Those of them that may have had something new, after others that did not.
    doubtful: u32,
    /// Analyses for what no window shows that found nothing new.
    in_vain: u32,
    /// The last look ended in one.
    suspects: bool,
}

impl Glance {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new() -> Glance {
        Glance::default()
    }

    /// Looks at the first trace, which is analyzed in any case: what it has is nothing new later.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    pub fn begin(&mut self, file: &TraceFile) -> Result<(), ReadError> {
        let mut scan = Scan::new(file.tables(), []);
        scan.walk(file, &|_| u32::MAX)?;
        self.learn(scan, &HashSet::new());
        self.has_begun = true;
        Ok(())
    }

    /// Whether the first trace was looked at.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Learns what the analysis of a trace has found.
    pub fn note(&mut self, trace: &Trace, analysis: &Analysis) {
        let mut is_new = false;
        for pair in &analysis.pairs {
            let (a, b) = pair.example;
            let positions = sorted((trace.pc(a), trace.pc(b)));
            self.pairs.entry(positions).or_default();
            if matches!(pair.verdict, Verdict::Unknown(_)) {
                // Another run may decide it.
                self.far.entry(positions).or_default();
            }
            is_new |= is_witnessed(&pair.verdict) && self.races.insert(positions);
        }
        for deadlock in &analysis.deadlocks {
            is_new |= is_witnessed(&deadlock.verdict) && self.deadlocks.insert(places(deadlock));
        }
        self.in_vain += u32::from(std::mem::take(&mut self.suspects) && !is_new);
    }

    /// Whether a further trace is worth its analysis.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    pub fn is_worthwhile(&mut self, file: &TraceFile) -> Result<bool, ReadError> {
        self.looks += 1;
        self.looked_at += file.len().max(EVENTS_OF_A_RUN);
        // What was unknown is not forgotten as long as another trace may decide it.
        let undecided = self
            .far
            .iter()
            .filter(|(pair, digests)| **digests < DIGESTS_OF_A_PAIR && !self.races.contains(*pair));
        let mut scan = Scan::new(file.tables(), undecided.flat_map(|(&(a, b), _)| [a, b]));
        let (pairs, races, looks) = (&self.pairs, &self.races, self.looks);
        // The fewer windows a pair has had, the sooner it gets one, first what nothing ordered; and one that has had
        // many, in few traces.
        let is_due = |windows: u32| windows < MANY_WINDOWS || looks.is_multiple_of(windows / (MANY_WINDOWS / 2));
        scan.walk(file, &|conflict| match pairs.get(&conflict.positions) {
            None => 0,
            Some(_) if races.contains(&conflict.positions) => u32::MAX,
            Some(windows) => match windows[usize::from(conflict.is_concurrent)] {
                windows if !is_due(windows) => u32::MAX,
                windows if conflict.is_concurrent => windows,
                windows => windows.saturating_add(MANY_WINDOWS),
            },
        })?;
        let windows = std::mem::take(&mut scan.windows);
        let mut shows = false;
        if !windows.is_empty() {
            let tables = tables_within(file.tables());
            for window in windows {
                shows |= self.shows_more(&tables, window);
            }
        }
        let seen = self.digest(file, &scan)?;
        // Some programs do something new in every run: after each analysis that found nothing, twice as long a time
        // passes until the next one.
        let may_suspect = self.in_vain < u32::BITS && self.looks >> self.in_vain > 0;
        let is_doubtful = seen.shows || seen.is_cut;
        self.suspects = is_doubtful && may_suspect && !shows;
        self.learn(scan, &seen.left);
        let is_worthwhile = shows || self.suspects;
        tracing::info!(
            look = self.looks,
            in_windows = shows,
            in_digest = seen.shows,
            is_cut = seen.is_cut,
            is_worthwhile,
            "looked at a further run"
        );
        self.passed += u32::from(!is_worthwhile);
        self.doubtful += u32::from(!is_worthwhile && is_doubtful);
        Ok(is_worthwhile)
    }

    /// What is not known of the traces that were not worth their analysis, in words; `None` if there were none.
    #[must_use]
    pub fn left_open(&self) -> Option<String> {
        let Glance { passed, doubtful, .. } = *self;
        let runs = match passed {
            0 => return None,
            1 => "run",
            _ => "runs",
        };
        let mut words = format!(
            "of {passed} further {runs}, a look showed nothing new, and what only a whole analysis shows is not known"
        );
        if doubtful > 0 {
            words += &format!(
                " ({doubtful} of them may have something new, as others did of which the analysis proved nothing)"
            );
        }
        Some(words)
    }

    /// Looks at pairs whose accesses are too far apart for a window, and at locks that are taken in a circle, if they
    /// are new: in the run's digest.
    fn digest(&mut self, file: &TraceFile, scan: &Scan) -> Result<Digested, ReadError> {
        let is_new = |(pair, far): &(&Positions, &Far)| {
            let digests = self.far.get(*pair).copied();
            !self.races.contains(*pair)
                && digests.is_none_or(|digests| digests < DIGESTS_OF_A_PAIR)
                && (digests.is_some() || far.is_concurrent || !self.pairs.contains_key(*pair))
        };
        let new = scan.far.iter().filter(is_new);
        let mut new: Vec<(bool, Positions)> = new.map(|(&pair, far)| (!far.is_concurrent, pair)).collect();
        new.sort_unstable();
        let mut new: Vec<Positions> = new.into_iter().map(|(_, pair)| pair).collect();
        let circles = scan.circles.iter().filter(|circle| !self.circles.contains(*circle));
        let circles: HashSet<CodePosition> = circles.flat_map(|&(outer, inner)| [outer, inner]).collect();
        let is_urgent = new.first().is_some_and(|&pair| scan.far[&pair].is_concurrent) || !circles.is_empty();
        let may_digest =
            self.looks <= LOOKS_WITH_DIGESTS || self.digested.saturating_mul(EVENTS_FOR_ONE_DIGESTED) <= self.looked_at;
        let most = if is_urgent || may_digest { FAR_PAIRS } else { 0 };
        let left = new.split_off(new.len().min(most));
        let mut seen = Digested {
            left: left.into_iter().collect(),
            ..Digested::default()
        };
        if new.is_empty() && circles.is_empty() {
            return Ok(seen);
        }
        let mut accesses = Vec::new();
        for pair in &new {
            *self.far.entry(*pair).or_default() += 1;
            let told = scan.far[pair]
                .instances
                .iter()
                .filter(|(_, second)| *second < scan.told_until);
            let before = accesses.len();
            accesses.extend(told.flat_map(|&(first, second)| [first, second]));
            seen.is_cut |= accesses.len() == before;
        }
        seen.is_cut |= !circles.is_empty() && scan.told_until < file.len();
        if accesses.is_empty() && circles.is_empty() {
            return Ok(seen);
        }
        // Behind the last one comes what takes time, and hardly ever what a schedule needs.
        let until = match circles.is_empty() {
            true => accesses.iter().max().map_or(0, |last| last + scan::BEHIND),
            false => u64::MAX,
        };
        let events = scan.told_with(file, &accesses, until)?;
        self.digested += events.len() as u64;
        let trace = Trace::of_part(tables_within(file.tables()), &events);
        if let Err(error) = validate(&trace) {
            tracing::info!(?error, "a digest is no execution");
            // What was left out is missed.
            seen.is_cut = true;
            return Ok(seen);
        }
        let asked: HashSet<CodePosition> = new
            .iter()
            .flat_map(|&(a, b)| [a, b])
            .chain(circles.iter().copied())
            .collect();
        let positions = trace.events().map(|event| (event, trace.pc(event)));
        let scope = Scope {
            positions: positions.filter(|(_, position)| asked.contains(position)).collect(),
            pairs: new.into_iter().collect(),
            cycles: if circles.is_empty() {
                Vec::new()
            } else {
                vec![AskedCycle(vec![circles])]
            },
        };
        let found = analyze_within(&trace, &CLOSELY, &scope);
        tracing::info!(
            events = trace.len(),
            pairs = scope.pairs.len(),
            candidates = found.pairs.len(),
            "analyzed the digest of a run"
        );
        seen.shows = found.pairs.iter().any(|pair| is_witnessed(&pair.verdict));
        for deadlock in found.deadlocks.iter().filter(|found| is_witnessed(&found.verdict)) {
            seen.shows |= self.deadlocks.insert(places(deadlock));
        }
        Ok(seen)
    }

    /// Whether the analysis of a window witnesses what no trace has.
    fn shows_more(&mut self, tables: &Tables, window: Window) -> bool {
        for Conflict {
            positions,
            is_concurrent,
        } in window.conflicts
        {
            self.pairs.entry(positions).or_default()[usize::from(is_concurrent)] += 1;
        }
        let mut tables = tables.clone();
        for (semaphore, count) in window.counts {
            if let Some(row) = tables.objects.get_mut(semaphore.index()) {
                row.initial = count;
            }
        }
        let trace = Trace::of_part(tables, &window.events);
        // Where it begins, something may have held that its events do not tell.
        if validate(&trace).is_err() {
            return false;
        }
        let Ok(found) = analyze_with(&trace, &CLOSELY, &Work::default(), &Unfollowed);
        let mut shows = false;
        for pair in found.pairs.iter().filter(|pair| is_witnessed(&pair.verdict)) {
            let positions = sorted(pair.positions);
            tracing::info!(?positions, "a window shows a race");
            shows |= self.races.insert(positions);
        }
        for deadlock in found.deadlocks.iter().filter(|found| is_witnessed(&found.verdict)) {
            shows |= self.deadlocks.insert(places(deadlock));
        }
        shows
    }

    /// All that was seen is known from now on, but for these pairs.
    fn learn(&mut self, scan: Scan, left: &HashSet<Positions>) {
        let pairs = scan.near.into_iter().chain(scan.far.into_keys());
        for pair in pairs.filter(|pair| !left.contains(pair)) {
            self.pairs.entry(pair).or_default();
        }
        self.circles.extend(scan.circles);
    }
}

/// What the digest of a run says.
#[derive(Default)]
struct Digested {
    /// Something new is witnessed in it.
    shows: bool,
    /// It does not have all that was to be looked at.
    is_cut: bool,
    /// Pairs of which there were too many.
    left: HashSet<Positions>,
}

/// The tables for some of a trace's events: what stands there of the run's beginning and end is not of theirs.
fn tables_within(tables: &Tables) -> Tables {
    let mut tables = tables.clone();
    tables.images.clear();
    tables.meta.pending.clear();
    tables
}

#[cfg(test)]
mod tests;

fn is_witnessed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Witnessed(_))
}

fn sorted((a, b): Positions) -> Positions {
    (a.min(b), a.max(b))
}

fn places(deadlock: &Deadlock) -> Vec<CodePosition> {
    let mut places = deadlock.positions.clone();
    places.sort_unstable();
    places
}
