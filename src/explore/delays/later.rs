//! Orders with one delay from more than the first run: a program that came to other code later can be delayed there.
//!
//! Runs are counted in stages, each of which ends before a run whose number is a power of two. From each stage one trace
//! is taken: the one with the most call stacks that no trace before had, or else that of its last run that was left to
//! chance, which may have come to another place of a function that all runs call. Of its orders those are added that have
//! a place of which no trace before knew. So the walks over later traces are as many as the powers of two, and which
//! orders are tried depends on nothing but the runs of earlier stages: it is the same however many runs are made at the
//! same time, and after an exploration was interrupted.

use super::{Delay, Delays, MOST_KEPT};
use hashbrown::HashSet;
use recorder_ring::plan::Words;
use std::hash::{DefaultHasher, Hash, Hasher};
use trace_format::{CodePosition, ReadError, StackId, Tables, TraceFile};

/// The first stage ends before this run.
const FIRST_STAGE: u32 = 4;

/// Of the runs of a program that is too long to be searched, every other one has a delay, as long as there are two more
/// places that a run seldom comes to. Then it is one of so many, if some places are to come first.
const RUNS_FOR_A_DELAY: u32 = 3;

/// Else one after so many times as many runs each time: chance finds as much, and a delay that shows nothing is one
/// recording less.
const TIMES_AS_MANY_FOR_A_DELAY: u32 = 4;

/// A place in the code in all traces: where, and by which calls.
pub(super) type Place = (CodePosition, u64);

/// Numbers of call stacks that are the same in all traces, by the number of a stack in this one.
pub(super) struct Paths(Vec<u64>);

impl Paths {
    pub(super) fn of(tables: &Tables) -> Paths {
        let mut paths = vec![0];
        for node in &tables.stacks {
            let mut hasher = DefaultHasher::new();
            // A stack comes after the one that it stands on.
            let parent = paths.get(node.parent.index()).copied().unwrap_or_default();
            (parent, node.call_site).hash(&mut hasher);
            paths.push(hasher.finish());
        }
        Paths(paths)
    }

    pub(super) fn place(&self, at: CodePosition, stack: StackId) -> Place {
        (at, self.0.get(stack.index()).copied().unwrap_or_default())
    }
}

/// Which runs have a delay, and which.
#[derive(Debug)]
pub(in crate::explore) struct Orders {
    /// The first run's, and those of later ones.
    of_runs: Vec<Delays>,
    paths: HashSet<u64>,
    places: HashSet<Place>,
    /// What this stage has for the next one: a trace, and how many call stacks it has that are new.
    candidate: Option<(usize, Vec<u8>)>,
    turns: Turns,
}

/// Which runs have a delay.
#[derive(Debug)]
struct Turns {
    is_aimed: bool,
    /// The next run that is decided about.
    next: u32,
    delayed: u32,
    /// Of them, those for which every other run has one.
    alternating: u32,
    /// The run before was one of these.
    is_after_alternating: bool,
}

impl Turns {
    fn new(is_aimed: bool) -> Turns {
        Turns {
            is_aimed,
            next: 1,
            delayed: 0,
            alternating: 0,
            is_after_alternating: false,
        }
    }

    /// Whether the next run has a delay, if so many are promising.
    fn has_delay(&mut self, promising: u32) -> bool {
        let run = self.next;
        self.next += 1;
        let alternates = !run.is_multiple_of(2) && self.alternating < promising;
        let was_alternating = std::mem::replace(&mut self.is_after_alternating, alternates);
        self.alternating += u32::from(alternates);
        let has_delay = if alternates || was_alternating {
            alternates
        } else if self.is_aimed {
            run % RUNS_FOR_A_DELAY == 1
        } else {
            run == TIMES_AS_MANY_FOR_A_DELAY.pow(run.ilog(TIMES_AS_MANY_FOR_A_DELAY))
        };
        self.delayed += u32::from(has_delay);
        has_delay
    }
}

impl Orders {
    /// Those of the first run.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    pub(in crate::explore) fn of(first: TraceFile, prefers: Option<&dyn Fn(u64) -> bool>) -> Result<Orders, ReadError> {
        let mut orders = Orders {
            of_runs: Vec::new(),
            paths: HashSet::new(),
            places: HashSet::new(),
            candidate: None,
            turns: Turns::new(prefers.is_some()),
        };
        orders.add(first, prefers)?;
        Ok(orders)
    }

    /// Adds those of a trace that have a new place.
    fn add(&mut self, file: TraceFile, prefers: Option<&dyn Fn(u64) -> bool>) -> Result<(), ReadError> {
        self.paths.extend(Paths::of(file.tables()).0);
        let delays = Delays::of(file, prefers, &mut self.places)?;
        // A trace that is kept takes memory.
        if self.of_runs.is_empty() || delays.promising() > 0 {
            self.of_runs.push(delays);
        }
        Ok(())
    }

    /// The next run for which nothing was decided yet.
    pub(in crate::explore) fn next_run(&self) -> u32 {
        self.turns.next
    }

    /// How many runs had a delay, of those that were decided about.
    pub(in crate::explore) fn delayed(&self) -> u32 {
        self.turns.delayed
    }

    /// Decides whether the next run has a delay: which of the traces it is from, and what it is.
    ///
    /// # Errors
    /// [`ReadError`], if the trace of a later run cannot be read.
    pub(in crate::explore) fn decide(
        &mut self,
        prefers: Option<&dyn Fn(u64) -> bool>,
    ) -> Result<Option<(usize, Delay)>, ReadError> {
        if ends_a_stage(self.turns.next)
            && let Some((_, trace)) = self.candidate.take()
        {
            self.add(TraceFile::from_bytes("a later run's trace", trace)?, prefers)?;
        }
        let promising = self.of_runs.iter().map(Delays::promising).sum();
        if !self.turns.has_delay(promising) {
            return Ok(None);
        }
        let costs = self.of_runs.iter().map(Delays::least_cost);
        // Of equal ones, those of the latest trace: the others had their turns.
        let costs = costs
            .enumerate()
            .filter_map(|(row, cost)| Some((cost?, std::cmp::Reverse(row))));
        let Some((_, std::cmp::Reverse(row))) = costs.min() else {
            return Ok(None);
        };
        Ok(self.of_runs[row].next().map(|delay| (row, delay)))
    }

    /// What is forced for a delay of one of the traces.
    ///
    /// # Errors
    /// [`ReadError`], if a block of its file cannot be read.
    pub(in crate::explore) fn steps(&mut self, (row, delay): (usize, Delay)) -> Result<Vec<Words>, ReadError> {
        let kept: u64 = self.of_runs.iter().map(Delays::kept).sum();
        if self.of_runs[row].kept() == 0 && kept + self.of_runs[row].file.len() > MOST_KEPT {
            self.of_runs.iter_mut().for_each(Delays::forget_steps);
        }
        self.of_runs[row].steps(delay)
    }

    /// Looks at the trace of a further run. Whether orders may be taken from it, so that it is needed to go on as without
    /// an interruption.
    ///
    /// # Errors
    /// [`ReadError`], if it is none.
    pub(in crate::explore) fn see(&mut self, run: u32, trace: &[u8]) -> Result<bool, ReadError> {
        let file = TraceFile::from_bytes("a later run's trace", trace.to_owned())?;
        let paths = Paths::of(file.tables());
        let new = paths.0.iter().filter(|path| !self.paths.contains(*path)).count();
        let best = self.candidate.as_ref().map_or(0, |&(new, _)| new);
        // The last one of a stage has a delay, mostly; the one before it has none.
        let is_candidate = new > best || (best == 0 && ends_a_stage(run + 2));
        if is_candidate {
            self.candidate = Some((new, trace.to_owned()));
        }
        Ok(is_candidate)
    }
}

/// Whether a stage ends before this run.
fn ends_a_stage(run: u32) -> bool {
    run >= FIRST_STAGE && run.is_power_of_two()
}

/// How many runs from this one on are of the same stage.
pub(in crate::explore) fn left_of_stage(run: u32) -> u32 {
    (run + 1).next_power_of_two().max(FIRST_STAGE) - run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_runs_have_a_delay_while_some_are_promising_and_few_later_unless_places_come_first() {
        let with_a_delay = |promising: u32, is_aimed: bool| -> Vec<u32> {
            let mut turns = Turns::new(is_aimed);
            (1..70).filter(|_| turns.has_delay(promising)).collect()
        };
        assert_eq!(with_a_delay(0, false), [1, 4, 16, 64]);
        assert_eq!(with_a_delay(3, false), [1, 3, 5, 16, 64]);
        assert_eq!(with_a_delay(2, true)[..4], [1, 3, 7, 10]);
        // After 2 N runs, N were left to chance.
        let mut turns = Turns::new(true);
        assert_eq!((1..101).filter(|_| turns.has_delay(1_000)).count(), 50);
    }

    #[test]
    fn what_becomes_promising_later_has_its_turns_then() {
        let mut turns = Turns::new(false);
        let later: Vec<u32> = (1..40)
            .filter(|&run| turns.has_delay(if run < 16 { 1 } else { 3 }))
            .collect();
        assert_eq!(later, [1, 4, 16, 17, 19]);
    }

    #[test]
    fn no_run_is_planned_with_those_of_another_stage() {
        let stages: Vec<u32> = std::iter::successors(Some(1), |&run| Some(run + left_of_stage(run)))
            .take(5)
            .collect();
        assert_eq!(stages, [1, 4, 8, 16, 32]);
        assert!(stages[1..].iter().all(|&run| ends_a_stage(run)));
        assert_eq!(left_of_stage(5), 3);
    }
}
