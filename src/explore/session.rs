//! How the program is run: behind a trait, so that the search does not know whether it drives a process or an
//! interpreter.

use super::What;
use crate::forest::{Forest, NodeId, Operation, Outcome, Run, TreeId};
use serde::{Deserialize, Serialize};

/// Runs the program, again and again, on one input.
pub trait Session {
    /// Why a run could not be made at all.
    type Error;

    /// Runs the program along a prefix of the forest, then lets it go on under a policy of the session's own.
    ///
    /// A prefix that cannot be followed is no error: the run goes on freely from there, and [`Ran::followed`] says so.
    /// What it showed is a run like any other.
    ///
    /// # Errors
    /// When there was no run.
    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> Result<Ran, Self::Error>;

    /// As [`run`](Self::run), for several prefixes, at the same time if the session can. Fewer are made if somebody
    /// asked for the end.
    ///
    /// # Errors
    /// When there was no run.
    fn run_all(&mut self, forest: &Forest, prefixes: &[Prefix]) -> Result<Vec<Ran>, Self::Error> {
        prefixes.iter().map(|prefix| self.run(forest, prefix)).collect()
    }

    /// Runs a program that is [too long](crate::forest::Reservation::TooLong) to be searched in other orders than
    /// before, at places that it `prefers` first, if there are such: so many times at most, at the same time if the
    /// session can. None, if it cannot, or somebody asked for the end.
    ///
    /// # Errors
    /// When there was no run.
    fn run_unsearched(
        &mut self,
        _prefers: Option<&dyn Fn(u64) -> bool>,
        _count: usize,
    ) -> Result<Vec<Ran>, Self::Error> {
        Ok(Vec::new())
    }

    /// What was learnt from a run, told once for each, in their order: so that another session can go on from there.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn keep(&mut self, _run: usize, _learnt: &Learnt) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The next of the runs that earlier sessions kept, in their order.
    ///
    /// # Errors
    /// If it cannot be read.
    fn remember(&mut self) -> Result<Option<Remembered>, Self::Error> {
        Ok(None)
    }
}

/// What a run taught besides what it showed of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// The number of the history whose operation waits where it cannot go on, as this run has shown.
    pub waits: Option<u32>,
    /// What this run was the first to show.
    pub shows: Vec<What>,
    /// This run went another way than the prefix of the race that it was made for: that may be impossible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contradicts: bool,
    /// Of a run that was not searched and of which the trace is not kept: a checksum of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Checksum>,
}

/// Tells a trace from all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// How long it is: of what has its name, no more is read.
    pub bytes: u64,
    /// Its digest.
    pub digest: String,
}

impl Checksum {
    /// That of a trace.
    #[must_use]
    pub fn of(trace: &[u8]) -> Checksum {
        Checksum {
            bytes: trace.len() as u64,
            digest: blake3::hash(trace).to_string(),
        }
    }
}

/// A run of an earlier session.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// What it showed.
    pub run: Run,
    /// What was learnt from it.
    pub learnt: Learnt,
}

/// What one run of the program gave.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What it showed.
    pub run: Run,
    /// How it ended.
    pub end: End,
    /// Whether it did what the prefix says.
    pub followed: Followed,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum End {
    /// As it should.
    Success,
    /// In a failure: what is said of it (`assertion failed`, `exit status 3`, `signal 11`).
    Failure(String),
    /// Nobody could go on, and somebody waited.
    Deadlock,
    /// It was ended because it took too long.
    TimedOut,
    /// It was ended because it did too much, or by somebody else.
    Limit,
}

/// Whether a run did what its prefix says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// All of it, the [wanted](Prefix::wanted) step included.
    Whole,
    /// Not from this move on; [`Prefix::moves`]`.len()` stands for the wanted step.
    Until {
        /// The number of the move.
        step: usize,
        /// What happened instead.
        why: Divergence,
    },
}

/// What happened instead of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// The thread waits in this operation.
    Blocked,
    /// The thread did not come to it in time.
    Stuck,
    /// The operation turned out otherwise.
    OtherOutcome,
    /// The thread did something else.
    OtherOperation,
    /// The thread was not there, or the program had ended.
    Gone,
}

/// A feasible prefix of the forest, to be forced on the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The threads that take part, each after the one that forks it. The first is the one that is there from the start.
    pub threads: Vec<PrefixThread>,
    /// What they do, in order.
    pub moves: Vec<Move>,
    /// What the thread that comes next is hoped to show.
    pub wanted: Option<Wanted>,
    /// How the run is to go on.
    pub onward: Onward,
    /// Whether it goes through what was seen after other histories, which seem to go on alike: it may be infeasible.
    pub is_guess: bool,
}

/// How a run goes on behind its prefix, and what is wanted there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Onward {
    /// As the session likes.
    #[default]
    Freely,
    /// Threads go on in turn, so many operations each, of which the one that comes next has so many left.
    InTurn {
        /// Operations of a turn.
        steps: u32,
        /// Of the first turn.
        left: u32,
    },
}

/// A thread of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixThread {
    /// Its name in the forest.
    pub tree: TreeId,
    /// The row of the thread that forks it, and the number of the forking operation among that thread's; `None` for the
    /// first thread.
    pub forked_by: Option<(u32, u32)>,
}

/// A step of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A thread performs its next operation.
    Perform {
        /// The row of the thread in [`Prefix::threads`].
        thread: u32,
        /// How many operations it has performed before: for a thread in a loop that is followed once, more than its
        /// history has.
        index: u32,
        /// The history before it.
        node: NodeId,
        /// What it does.
        operation: Operation,
        /// How that turns out.
        outcome: Outcome,
        /// Whom a notify wakes, by the row of the thread; `None` where nobody is woken, or all are.
        wakes: Option<u32>,
    },
    /// A waiting thread's time is over: no notify finds it any more. It has not returned from the wait yet.
    TimesOut {
        /// The row of the thread.
        thread: u32,
    },
}

impl Move {
    /// The row of the thread that moves.
    #[must_use]
    pub fn thread(&self) -> u32 {
        match *self {
            Move::Perform { thread, .. } | Move::TimesOut { thread } => thread,
        }
    }
}

/// The step after a prefix, which no run has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The row of the thread.
    pub thread: u32,
    /// Its history.
    pub node: NodeId,
    /// What is to be seen there.
    pub opening: Opening,
}

/// What is open after a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opening {
    /// This outcome of the operation is feasible, and no run has shown it.
    Outcome(Outcome),
    /// The operation is feasible; how it turns out is not known.
    SomeOutcome,
    /// What the thread does next is not known.
    NextOperation,
    /// Whether the operation, which cannot go on here, waits or gives up.
    GivesUp,
}

impl Prefix {
    /// Before anything has happened: the first thread is there.
    pub(crate) fn start() -> Prefix {
        Prefix {
            threads: vec![PrefixThread {
                tree: Forest::MAIN,
                forked_by: None,
            }],
            ..Prefix::default()
        }
    }

    /// How often another thread goes on though the one before it could be the same again.
    #[must_use]
    pub fn context_switches(&self) -> usize {
        let threads = self.moves.iter().map(Move::thread);
        let all: Vec<u32> = threads.chain(self.wanted.map(|wanted| wanted.thread)).collect();
        all.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}
