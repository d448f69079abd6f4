//! A quick look at one more trace of a program, a long one: whether it may show what earlier ones did not.
//!
//! To analyze a trace takes some ten times as long as to record it, and most traces add nothing. So one walk over the
//! events, in which nothing is kept of each, finds which conflicting accesses came one after the other without a common
//! lock, or order by forks and joins. Only around these some events are cut out, and analyzed as a trace that begins in
//! the middle of a run: windows, as in RVPredict (Huang, Meredith, Roşu, PLDI 2014), but only where something is.
//!
//! What a look says is no verdict. If it says that a trace is worth its analysis, that is made, of the whole trace, and
//! what it finds is found; otherwise nothing is said of this trace at all. It may miss what only accesses far from one
//! another show, and order between them that no walk sees.

mod scan;

use super::{Options, Solver, Work, analyze_with};
use crate::analyze::Unfollowed;
use crate::check::validate;
use crate::trace::Trace;
use crate::verdict::{Analysis, Deadlock, Find, Kind, Verdict};
use hashbrown::{HashMap, HashSet};
use scan::{Scan, Window};
use trace_format::{CodePosition, ReadError, Tables, TraceFile};

/// Two positions in the code, the lower one first.
type Positions = (CodePosition, CodePosition);

/// Of a trace's events, one of so many is looked at closely, and this many in any case.
const EVENTS_FOR_ONE: u64 = 40;
const EVENTS_AT_LEAST: u64 = 10_000;

/// How often a trace may be analyzed for nothing more than accesses that are too far apart for a window: once in so
/// many looks.
const LOOKS_FOR_ONE: u32 = 16;

/// And how often for a pair with code that the first run did not execute, unless analyses have been in vain.
const ANALYSES_OF_NEW_CODE: u32 = 3;

/// For windows: few instances, and no solver that takes the whole of a trace.
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
        seconds: None,
    },
    mutation: None,
    until: None,
};

/// What looks at traces of one program have seen.
#[derive(Debug, Default)]
pub struct Glance {
    /// How many windows each pair had.
    pairs: HashMap<Positions, u32>,
    /// How often a trace was analyzed for a pair whose accesses were too far apart for a window.
    far: HashMap<Positions, u32>,
    /// The places in the code that the first run executed.
    executed: HashSet<CodePosition>,
    /// Locks that were taken in a circle, by where the outer and the inner ones were.
    circles: HashSet<Positions>,
    /// What is witnessed, or was analyzed since a window said that it would be.
    races: HashSet<Positions>,
    deadlocks: HashSet<Vec<CodePosition>>,
    /// Whether the first trace was looked at.
    has_begun: bool,
    looks: u32,
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
        let mut scan = Scan::new(file.tables());
        scan.walk(file, &|_| u32::MAX)?;
        self.executed.extend(std::mem::take(&mut scan.executed));
        self.learn(scan);
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
        let mut scan = Scan::new(file.tables());
        let (pairs, races) = (&self.pairs, &self.races);
        // The fewer windows a pair has had, the sooner it gets one.
        scan.walk(file, &|pair| match races.contains(&pair) {
            true => u32::MAX,
            false => pairs.get(&pair).map_or(0, |windows| windows + 1),
        })?;
        let windows = std::mem::take(&mut scan.windows);
        let mut shows = false;
        if !windows.is_empty() {
            // What stands there of the run's beginning and end is not of theirs.
            let mut tables = file.tables().clone();
            tables.images.clear();
            tables.meta.pending.clear();
            for window in windows {
                shows |= self.shows_more(&tables, window);
            }
        }
        let may_suspect = self.in_vain * LOOKS_FOR_ONE <= self.looks;
        // Some programs execute something new in every run: after each analysis that found nothing, twice as long a
        // time passes until the next one.
        let may_ask_of_new_code = self.in_vain < u32::BITS && self.looks >> self.in_vain > 0;
        let mut suspects = may_suspect && scan.circles.iter().any(|circle| !self.circles.contains(circle));
        for pair in scan.far.iter().filter(|pair| !self.races.contains(*pair)) {
            let is_new_code = !self.executed.contains(&pair.0) || !self.executed.contains(&pair.1);
            let analyses = self.far.entry(*pair).or_default();
            if (is_new_code && may_ask_of_new_code && *analyses < ANALYSES_OF_NEW_CODE)
                || (may_suspect && !self.pairs.contains_key(pair))
            {
                *analyses += 1;
                suspects = true;
            }
        }
        self.suspects = suspects && !shows;
        self.learn(scan);
        Ok(shows || suspects)
    }

    /// Whether the analysis of a window witnesses what no trace has.
    fn shows_more(&mut self, tables: &Tables, window: Window) -> bool {
        *self.pairs.entry(window.pair).or_default() += 1;
        let mut tables = tables.clone();
        for (semaphore, count) in window.counts {
            if let Some(row) = tables.objects.get_mut(semaphore.index()) {
                row.initial = count;
            }
        }
        let trace = Trace::from_events(tables, &window.events);
        // Where it begins, something may have held that its events do not tell.
        if validate(&trace).is_err() {
            return false;
        }
        let Ok(found) = analyze_with(&trace, &CLOSELY, &Work::default(), &Unfollowed);
        let mut shows = false;
        for pair in found.pairs.iter().filter(|pair| is_witnessed(&pair.verdict)) {
            shows |= self.races.insert(sorted(pair.positions));
        }
        for deadlock in found.deadlocks.iter().filter(|found| is_witnessed(&found.verdict)) {
            shows |= self.deadlocks.insert(places(deadlock));
        }
        shows
    }

    fn learn(&mut self, scan: Scan) {
        for pair in scan.near.into_iter().chain(scan.far) {
            self.pairs.entry(pair).or_default();
        }
        self.circles.extend(scan.circles);
    }
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
