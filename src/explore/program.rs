//! A program as what is explored: each run is one of a live [session](crate::session), forced along its prefix.

use super::beyond::beyond;
use super::{Divergence, End, Followed, Move, Opening, Prefix, Ran, Session, Wanted};
use crate::forest::{Forest, NodeId, Operation, Outcome, Reservation, Run};
use crate::record::{Launch, Policy, RecordError, Settings};
use crate::session::{self, Bounds, Choice, Diverged, Step};
use crate::trace::ThreadId;
use recorder_ring::plan::kind;
use std::io;
use std::path::{Path, PathBuf};
use trace_format::{ProgramEnd, ReadError};

/// Why a run could not be made, or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The program does not run under the recorder.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What the run recorded cannot be read back.
    #[error("cannot read what run {run} recorded")]
    Read {
        /// Which run, from 1.
        run: usize,
        /// Why.
        source: ReadError,
    },
    /// Its trace cannot be kept.
    #[error("cannot write the trace {}", path.display())]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A program that is explored, and the folder that its traces go to: `1.bin`, `2.bin`, ….
#[derive(Debug)]
pub struct Program {
    session: session::Session,
    folder: PathBuf,
    seed: u64,
    runs: usize,
    /// What the first run told of the program's code that no run shows.
    beyond: Option<Vec<Reservation>>,
}

impl Program {
    /// Makes ready what all runs need. The folder exists.
    ///
    /// # Errors
    /// If the program cannot be recorded.
    pub fn new(launch: &Launch, bounds: Bounds, folder: &Path, seed: u64) -> Result<Program, ProgramError> {
        Ok(Program {
            session: session::Session::new(launch, bounds)?,
            folder: folder.to_owned(),
            seed,
            runs: 0,
            beyond: None,
        })
    }

    /// The trace of a run, from 0.
    #[must_use]
    pub fn trace_of(&self, run: usize) -> PathBuf {
        self.folder.join(format!("{}.bin", run + 1))
    }
}

impl Session for Program {
    type Error = ProgramError;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> Result<Ran, ProgramError> {
        let (steps, moves) = steps(forest, prefix);
        let policy = if self.runs == 0 { Policy::Fifo } else { Policy::Random };
        let then = Settings {
            policy,
            seed: self.seed.wrapping_add(self.runs as u64),
            ..Settings::fifo()
        };
        let ran = self.session.run(&steps, then)?;
        let path = self.trace_of(self.runs);
        self.runs += 1;
        let run = self.runs;
        ran.save(&path).map_err(|source| ProgramError::Keep { path, source })?;
        let trace = ran.trace().map_err(|source| ProgramError::Read { run, source })?;
        let mut shown = Run::of_trace(&trace).map_err(|source| ProgramError::Read { run, source })?;
        let beyond = self.beyond.get_or_insert_with(|| beyond(trace.tables()));
        shown.reservations.extend(beyond.iter().cloned());
        Ok(Ran {
            run: shown,
            end: end(ran.end),
            followed: ran
                .diverged
                .map_or(Followed::Whole, |left| followed(left, &moves, prefix)),
        })
    }
}

fn end(end: ProgramEnd) -> End {
    match end {
        ProgramEnd::Exited(0) => End::Success,
        ProgramEnd::Exited(status) => End::Failure(format!("exited with status {status}")),
        ProgramEnd::Signaled(signal) => End::Failure(format!("was killed by signal {signal}")),
        ProgramEnd::Deadlock => End::Deadlock,
        ProgramEnd::EventLimit | ProgramEnd::TimeLimit | ProgramEnd::Unknown => End::Limit,
    }
}

/// Which move of the prefix was not done, and what happened in its place. `moves` has the move of each step.
fn followed(left: Diverged, moves: &[usize], prefix: &Prefix) -> Followed {
    let step = moves.get(left.step()).copied().unwrap_or(prefix.moves.len());
    let why = match left {
        // The step that is to be seen need not be what was guessed.
        Diverged::Did { .. } if step == prefix.moves.len() => return Followed::Whole,
        Diverged::Did { .. } => Divergence::OtherOperation,
        Diverged::Waits { .. } => Divergence::Blocked,
        Diverged::Gone { .. } | Diverged::Ended { .. } => Divergence::Gone,
    };
    Followed::Until { step, why }
}

/// The prefix for the recorder, and the move that each step is; what is wanted is the last step, as far as it can be guessed.
fn steps(forest: &Forest, prefix: &Prefix) -> (Vec<Step>, Vec<usize>) {
    // Threads are numbered as they are created.
    let mut numbers = vec![None; prefix.threads.len()];
    if let Some(first) = numbers.first_mut() {
        *first = Some(ThreadId(0));
    }
    let mut created = 1;
    let (mut steps, mut moves) = (Vec::new(), Vec::new());
    let mut whole = true;
    for (number, step) in prefix.moves.iter().enumerate() {
        let &Move::Perform {
            thread,
            index,
            node,
            operation,
            outcome,
            wakes,
        } = step
        else {
            continue;
        };
        let Some(by) = numbers[thread as usize] else {
            whole = false;
            break;
        };
        if operation == Operation::End && ends_process(prefix, number) {
            continue;
        }
        if operation == Operation::Fork {
            let child = prefix
                .threads
                .iter()
                .position(|row| row.forked_by == Some((thread, index)));
            if let Some(child) = child {
                numbers[child] = Some(ThreadId(created));
            }
            created += 1;
        }
        let choice = match operation {
            Operation::WaitEnd(..) => Choice::TimesOut(outcome == Outcome::GaveUp),
            Operation::Notify(_) => wakes
                .and_then(|row| numbers[row as usize])
                .map_or(Choice::Free, Choice::Wakes),
            _ => Choice::Free,
        };
        steps.push(Step {
            thread: by,
            kind: kind_of(forest, node, operation, outcome),
            pc: position(forest, node),
            choice,
        });
        moves.push(number);
    }
    if let Some(wanted) = prefix.wanted
        && let Some(thread) = numbers[wanted.thread as usize]
        && whole
    {
        steps.push(wanted_step(forest, &wanted, thread));
        moves.push(prefix.moves.len());
    }
    (steps, moves)
}

/// Whether this end of a thread may be the process' end, too: the first thread's, which returns from `main`. What others do after it they can do
/// before it as well, unless they join it.
fn ends_process(prefix: &Prefix, number: usize) -> bool {
    let joins = |step: &Move| {
        matches!(
            step,
            Move::Perform {
                operation: Operation::Join(Forest::MAIN),
                ..
            }
        )
    };
    prefix.moves[number].thread() == 0 && !prefix.moves[number..].iter().any(joins)
}

fn position(forest: &Forest, node: NodeId) -> Option<u64> {
    Some(forest.node(node).position).filter(|&position| position != 0)
}

/// The step that is hoped to be seen.
fn wanted_step(forest: &Forest, wanted: &Wanted, thread: ThreadId) -> Step {
    let outcome = match wanted.opening {
        Opening::Outcome(outcome) => outcome,
        Opening::SomeOutcome | Opening::NextOperation | Opening::GivesUp => Outcome::Done,
    };
    let operation = forest.node(wanted.node).operation();
    Step {
        thread,
        kind: operation.map_or(kind::BRANCH, |operation| {
            kind_of(forest, wanted.node, operation, outcome)
        }),
        pc: position(forest, wanted.node),
        choice: match operation {
            Some(Operation::WaitEnd(..)) => Choice::TimesOut(outcome == Outcome::GaveUp),
            _ => Choice::Free,
        },
    }
}

/// The event that an operation is, if it turns out so.
fn kind_of(forest: &Forest, node: NodeId, operation: Operation, outcome: Outcome) -> u8 {
    use crate::forest::Mode;
    match operation {
        Operation::Begin => kind::BEGIN,
        Operation::End => kind::END,
        Operation::Fork => kind::FORK,
        Operation::Join(_) => kind::JOIN,
        Operation::Read(_) => kind::READ,
        Operation::Write(..) => kind::WRITE,
        Operation::AtomicRead(_) => {
            let edges = &forest.node(node).edges;
            // Of an outcome that no run has shown, it is as likely as those that runs have shown.
            let edge = edges.iter().find(|edge| edge.outcome == outcome).or(edges.first());
            match edge.and_then(|edge| edge.wrote) {
                Some(_) => kind::ATOMIC_RMW,
                None => kind::ATOMIC_LOAD,
            }
        }
        Operation::AtomicWrite(..) => kind::ATOMIC_STORE,
        Operation::Use(_) => kind::USE,
        Operation::Acquire(..) if outcome == Outcome::GaveUp => kind::ACQUIRE_FAILED,
        Operation::Acquire(_, Mode::Exclusive) => kind::ACQUIRE,
        Operation::Acquire(_, Mode::Shared) => kind::ACQUIRE_SHARED,
        Operation::Release(_) => kind::RELEASE,
        Operation::WaitBegin(..) => kind::WAIT_BEGIN,
        Operation::WaitEnd(..) => kind::WAIT_END,
        Operation::Notify(_) => kind::NOTIFY,
        Operation::NotifyAll(_) => kind::NOTIFY_ALL,
        Operation::BarrierEnter(_) => kind::BARRIER_ENTER,
        Operation::BarrierExit(_) => kind::BARRIER_EXIT,
        Operation::Post(_) => kind::SEM_POST,
        Operation::Take(_) if outcome == Outcome::GaveUp => kind::SEM_WAIT_FAILED,
        Operation::Take(_) => kind::SEM_WAIT,
        Operation::Once(_) if outcome == Outcome::Chosen => kind::ONCE_BEGIN,
        Operation::Once(_) => kind::ONCE_WAIT,
        Operation::OnceEnd(_) => kind::ONCE_END,
        Operation::Fence => kind::FENCE,
        Operation::Branch => kind::BRANCH,
        Operation::Alloc(_) => kind::ALLOC,
        Operation::Free(_) => kind::FREE,
        Operation::Input(_) => kind::INPUT,
        Operation::Output(_) => kind::OUTPUT,
    }
}
