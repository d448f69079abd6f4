//! What the analysis says of each candidate, and why (`docs/SEMANTICS.md`, section 4).

mod find;
mod within;

pub use find::{Find, Kind};

use crate::schedule::Schedule;
use crate::trace::{CellId, CodePosition, EventId, ObjectId, ThreadId};

/// All that an analysis found.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// One entry per pair of code positions, ordered by the positions' first conflict in the trace.
    pub pairs: Vec<Pair>,
    /// How many further pairs conflict, of which nothing is known: there were too many to list.
    pub unlisted: usize,
    /// One entry per cycle of code positions at which threads wait for each other, in the order of the trace.
    pub deadlocks: Vec<Deadlock>,
    /// Whether there may be further cycles: there were too many to look at all.
    pub more_cycles: bool,
    /// One entry per triple of code positions of which the second may be out of place between the others, in the order
    /// of the trace; then one for each two reads and two writes that may tear a pair of variables.
    pub atomicity_violations: Vec<AtomicityViolation>,
    /// If the candidates are those of lock sets alone: what these warn of.
    pub lock_sets: Option<LockSets>,
    /// Schedules that the checker rejected: bugs of this program, never races.
    pub rejected: Vec<Rejected>,
}

/// What lock sets alone warn of: the first layer, of which the pairs are the second.
#[derive(Clone, Debug, Default)]
pub struct LockSets {
    /// How many variables several threads access, one of which writes.
    pub variables: usize,
    /// The warnings, in the order of the trace.
    pub warnings: Vec<LockSetWarning>,
}

/// A variable that several threads access without a lock that protects all of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockSetWarning {
    /// The variable.
    pub cell: CellId,
    /// The access at which no lock was left.
    pub event: EventId,
    /// The rows of the pairs that are about it.
    pub pairs: Vec<u32>,
}

/// Where something stands in an [`Analysis`]: a row of one of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// Of [`Analysis::pairs`].
    Pair(usize),
    /// Of [`Analysis::deadlocks`].
    Deadlock(usize),
    /// Of [`Analysis::atomicity_violations`].
    AtomicityViolation(usize),
}

impl Analysis {
    /// All that there is a verdict on, in the order in which witnesses are numbered.
    pub fn entries(&self) -> impl Iterator<Item = (Entry, &Verdict)> {
        let pairs = self.pairs.iter().enumerate();
        let pairs = pairs.map(|(row, pair)| (Entry::Pair(row), &pair.verdict));
        let deadlocks = self.deadlocks.iter().enumerate();
        let deadlocks = deadlocks.map(|(row, deadlock)| (Entry::Deadlock(row), &deadlock.verdict));
        let violations = self.atomicity_violations.iter().enumerate();
        let violations = violations.map(|(row, violation)| (Entry::AtomicityViolation(row), &violation.verdict));
        pairs.chain(deadlocks).chain(violations)
    }

    /// The verdict on one of them.
    pub fn verdict_mut(&mut self, entry: Entry) -> &mut Verdict {
        match entry {
            Entry::Pair(row) => &mut self.pairs[row].verdict,
            Entry::Deadlock(row) => &mut self.deadlocks[row].verdict,
            Entry::AtomicityViolation(row) => &mut self.atomicity_violations[row].verdict,
        }
    }
}

/// How the operations of a deadlock wait for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlockKind {
    /// For each other's threads.
    #[default]
    Cycle,
    /// Nobody else is left, so that some wait for what any thread might do.
    Standstill,
    /// Some wait for what nobody else does in the recorded run, while others are left.
    Partial,
}

/// The verdict on one cycle of code positions, or on one standstill.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Deadlock {
    /// The positions, each of which waits for what the next one's thread holds, or for that thread's end; of other
    /// kinds, those at which the threads wait.
    pub positions: Vec<CodePosition>,
    /// Operations at these positions: those that are witnessed, else some that were looked at.
    pub example: Vec<EventId>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many sets of operations were looked at.
    pub tried: u64,
    /// How they wait.
    #[serde(default)]
    pub kind: DeadlockKind,
}

/// The verdict on an access that may come between two accesses of another thread.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct AtomicityViolation {
    /// The positions of the first access, of the other thread's, and of the second. Of a pair of variables, those of
    /// the first read, of the writes of what the first and the second read, and of the second read.
    pub positions: Vec<CodePosition>,
    /// Why the first and the second are taken to belong together.
    pub region: Region,
    /// What the region is called, or the pair of variables, if the user or the program says so.
    #[serde(default)]
    pub stated: Vec<String>,
    /// Accesses at these positions: those that are witnessed, else some that were looked at.
    pub example: Vec<EventId>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many instances no simple argument excluded.
    pub tried: u64,
}

impl AtomicityViolation {
    /// The first access of the thread that is interrupted.
    #[must_use]
    pub fn first(&self) -> EventId {
        self.example[0]
    }

    /// The second.
    #[must_use]
    pub fn second(&self) -> EventId {
        self.example[self.example.len() - 1]
    }

    /// Those of the other thread.
    #[must_use]
    pub fn others(&self) -> &[EventId] {
        &self.example[1..self.example.len() - 1]
    }
}

/// In which regions of a thread an access of another may be out of place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regions {
    /// Calls and sections that are serial in most of their recorded instances, but for checks that are made again.
    #[default]
    Serial,
    /// All calls and sections.
    Any,
    /// Any two successive accesses of a thread.
    All,
}

impl Regions {
    /// Whether these are the regions that are asked about if nobody says which.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Regions::default()
    }
}

/// Why two accesses of a thread are taken to belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Region {
    /// The thread held this lock at the first, gave it back and took it again before the second.
    Section(ObjectId),
    /// They are in one call of a function.
    Call,
    /// They follow each other.
    Successive,
    /// They are in what the user calls atomic, or the program.
    Atomic {
        /// The number of the name.
        number: u32,
        /// It is the program that marks it.
        marked: bool,
    },
    /// They are of two variables that stand for the same: as the user says, or since the program compares the two.
    Redundant {
        /// It is the program's comparison that says so.
        mined: bool,
    },
}

/// A schedule that the analysis believed in and the checker did not.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rejected {
    /// The schedule.
    pub schedule: Schedule,
    /// What the checker said.
    pub reason: String,
}

/// The verdict on one pair of code positions.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Pair {
    /// The two positions, in the order of `example`.
    pub positions: (CodePosition, CodePosition),
    /// A dynamic instance to show: the witnessed one, else the first one that was looked at. The
    /// first of the two comes earlier in the trace.
    pub example: (EventId, EventId),
    /// The verdict.
    pub verdict: Verdict,
    /// How the dynamic instances fell.
    pub instances: Instances,
    /// If the pair is [not in this trace](Verdict::NotInTrace) only because of what a racing read saw: the row of that
    /// race in the analysis.
    #[serde(default)]
    pub behind: Option<u32>,
    /// If it is not asked whether the two race, but whether one comes too early: what the order is called.
    #[serde(default)]
    pub order: Option<String>,
}

/// Dynamic instances of a pair of positions, by what became of them. Counted per cell: an
/// instance that overlaps in two cells may count twice in `ordered`, `locked` and `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Instances {
    /// All conflicting pairs of events at the two positions.
    pub total: u64,
    /// Refuted by must-happen-before.
    pub ordered: u64,
    /// Refuted by a common lock or by lock acquisition histories.
    pub locked: u64,
    /// Looked at one by one, by a fast predictor or the closure over unique writers; the solvers were asked about few
    /// of these.
    pub tried: u64,
}

/// The verdict on a candidate.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Verdict {
    /// A schedule shows it, and the checker accepted it.
    Witnessed(Schedule),
    /// No run in which the threads perform these operations shows it, whatever their reads see.
    Refuted(Refutation),
    /// No feasible prefix of this trace shows it, but only because of what this run made of its operations: values that
    /// reads saw, waits, who came first to an initialization. Another run may show it.
    NotInTrace(Refutation),
    /// Not decided.
    Unknown(Unknown),
}

impl Verdict {
    /// The facts that exclude the pair, if no simpler argument does; empty as long as they are not worked out.
    #[must_use]
    pub fn core(&self) -> Option<&Vec<Fact>> {
        match self {
            Verdict::Refuted(Refutation::Core(facts)) | Verdict::NotInTrace(Refutation::Core(facts)) => Some(facts),
            _ => None,
        }
    }

    /// The same, to be worked out or forgotten.
    pub fn core_mut(&mut self) -> Option<&mut Vec<Fact>> {
        match self {
            Verdict::Refuted(Refutation::Core(facts)) | Verdict::NotInTrace(Refutation::Core(facts)) => Some(facts),
            _ => None,
        }
    }
}

/// Why a pair is refuted, or not in this trace. Where instances fell for different reasons, the strongest argument that
/// was needed: a core, else lock histories, else a common lock, else must-happen-before.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Refutation {
    /// One must happen before the other: the chain of events from the first to the second, each
    /// before the next by program order, fork, join, or another must-happen-before step.
    MustHappenBefore(Vec<EventId>),
    /// Both hold the same lock: the lock and the two events that took it.
    CommonLock {
        /// The lock.
        lock: ObjectId,
        /// Where each thread took it; `None` if it held it from the start.
        acquired: (Option<EventId>, Option<EventId>),
    },
    /// Both hold the same lock, which the program made of a variable: in this run, so nothing is *refuted* by it.
    VariableLock {
        /// The writes that took it: atomic ones, or others under another lock.
        taken: (EventId, EventId),
    },
    /// Lock acquisition histories: each thread holds a lock that the other took in the meantime.
    LockHistory {
        /// The lock that the first thread holds, and the event by which the second took it after
        /// it had taken its own.
        first: (ObjectId, EventId),
        /// The lock that the second thread holds, and the event by which the first took it.
        second: (ObjectId, EventId),
    },
    /// The solver found no schedule; these facts exclude every one together with program order.
    Core(Vec<Fact>),
    /// By the user's file, the second thread does not interrupt the first, whose priority is not lower.
    Priority {
        /// Who would be interrupted.
        interrupted: ThreadId,
        /// Who would come between.
        by: ThreadId,
        /// The lines of the file.
        lines: (u32, u32),
    },
    /// By the user's file, these threads never run at the same time.
    Reality {
        /// The threads.
        threads: (ThreadId, ThreadId),
        /// The line of the file.
        line: u32,
    },
}

impl Refutation {
    /// Whether it rests on what the user's file says of the threads.
    #[must_use]
    pub fn is_by_design(&self) -> bool {
        matches!(self, Refutation::Priority { .. } | Refutation::Reality { .. })
    }
}

/// One fact of the trace that a refutation leans on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Fact {
    /// A read must see the value it saw in the trace, and only these can have left it.
    Read {
        /// The read.
        read: EventId,
        /// The cell.
        cell: CellId,
        /// The writes of that value that can come before it.
        writers: Vec<EventId>,
        /// Whether the initial value would do.
        initial: bool,
    },
    /// Two critical sections on one lock cannot overlap.
    Lock {
        /// The lock.
        lock: ObjectId,
        /// Acquire and release of the first section; `None`: held from the start, or to the end.
        first: (Option<EventId>, Option<EventId>),
        /// Acquire and release of the second section.
        second: (Option<EventId>, Option<EventId>),
    },
    /// A lock that threads give back for each other is free before it is taken, and held before it is
    /// given back.
    HandedOver {
        /// The lock.
        lock: ObjectId,
    },
    /// A wait returns only after one of these notifies.
    Wait {
        /// The end of the wait.
        end: EventId,
        /// The notifies that can have woken it.
        notifies: Vec<EventId>,
    },
    /// A notify wakes one waiter, so these waits cannot share it.
    NotifyOnce {
        /// The notify.
        notify: EventId,
        /// The waits' ends.
        ends: Vec<EventId>,
    },
    /// A failed attempt needs another thread to hold the lock.
    FailedAcquire {
        /// The attempt.
        attempt: EventId,
        /// Where others took it.
        holders: Vec<EventId>,
    },
    /// A semaphore's wait needs a post, or one of the initial permits.
    Semaphore {
        /// The wait.
        wait: EventId,
        /// The posts that can serve it.
        posts: Vec<EventId>,
    },
    /// An attempt at a semaphore that failed needs the permits before it to be taken.
    FailedWait {
        /// The attempt.
        attempt: EventId,
        /// The posts that can come before it.
        posts: Vec<EventId>,
    },
    /// A semaphore has to have the count that a thread found out.
    Count {
        /// Where it did.
        look: EventId,
        /// The posts that can come before it.
        posts: Vec<EventId>,
        /// The waits that can.
        waits: Vec<EventId>,
    },
    /// A once cell has to be initialized before it is found so.
    Once {
        /// Where it is found so.
        wait: EventId,
        /// The ends of initializations that can precede that.
        ends: Vec<EventId>,
    },
    /// A read of memory that unrecorded code changes keeps its place among the recorded writes.
    Pinned {
        /// The read.
        read: EventId,
        /// The cell.
        cell: CellId,
    },
}

/// Why a pair was not decided.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Unknown {
    /// The solver's resource budget was spent on at least one instance.
    Budget,
    /// Our own solver's steps were spent, and Z3 was not asked.
    Steps,
    /// The solvers were not asked about all instances.
    Instances,
    /// The time that the user gave ran out before.
    Time,
    /// The checker rejected the schedule found: a bug of this program.
    Rejected,
    /// A schedule brings both next, but this library, which was not recorded, may synchronize the two where nobody sees
    /// it.
    Unsynchronized {
        /// The schedule: the pair is witnessed if a live run shows it.
        schedule: Box<Schedule>,
        /// The file name of the library.
        library: String,
        /// The library was recorded, but for parts of it: assembly, or what was built without instrumentation.
        recorded: bool,
    },
    /// Excluded only if an access of memory that unrecorded code changes keeps its place: such an access, if it is
    /// known which.
    Unrecorded(Option<EventId>),
    /// Refuted up to the point where the trace was cut.
    Cut(CutRefutation),
}

/// The kind of refutation that a cut trace gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CutRefutation {
    /// Must-happen-before.
    MustHappenBefore,
    /// A common lock or lock histories.
    Locks,
    /// A core.
    Core,
}
