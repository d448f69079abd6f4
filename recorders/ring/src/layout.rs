//! The shared memory: a header page, then the ring of rows, then the ring of encoded events.
//!
//! The header has settings for the runtime, the indices of both rings, and what one side wants the
//! other to know outside of any order.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the header, so that a runtime never writes into something else.
pub const MAGIC: u64 = u64::from_le_bytes(*b"witring\x0a");

/// Bytes before the rings: one page.
pub const HEADER_BYTES: usize = 4096;

/// Bits of [`Header::published`] that count the predicted events of the open run, and 1, so that a run that is as long
/// as one can be has them all set; the bits above hold the position in bytes.
pub const HITS_BITS: u32 = 8;

/// The environment variable that tells the runtime where the ring is.
pub const RING_VARIABLE: &str = "WITNESS_RING";

/// The environment variable that names the recorder for programs that a test suite starts, which find no ring.
pub const RECORDER_VARIABLE: &str = "WITNESS_SUITE_RECORDER";

/// The environment variable with the folder for what a test suite's programs do.
pub const SUITE_VARIABLE: &str = "WITNESS_SUITE";

/// The file in that folder with a line of JSON for each process.
pub const PROCESSES: &str = "processes.jsonl";

/// Tells an exit status of 0 from none.
pub const EXITED: u32 = 1 << 31;

/// A cache line of its own, so that one side's polling does not slow the other's writing.
#[repr(C, align(128))]
#[derive(Default)]
pub struct Line<T>(pub T);

/// The header page. Written by the parent before the program starts, then by both.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// Words of the ring of rows, a power of two of whole pages.
    pub row_words: u64,
    /// Bytes of the ring of events, a power of two of whole pages.
    pub event_bytes: u64,
    /// See [`Settings`].
    pub policy: AtomicU32,
    /// See [`Settings`].
    pub seed: AtomicU64,
    /// See [`Settings`].
    pub depth: AtomicU32,
    /// See [`Settings`].
    pub steps: AtomicU64,
    /// See [`Settings`].
    pub most: AtomicU64,
    /// See [`Settings`].
    pub clocks_stand_at: AtomicU64,
    /// See [`Settings`].
    pub pictures: AtomicU32,
    /// All events so far: the bytes of encoded events, and how many predicted events the last run has.
    /// One store publishes an event, so a program that dies loses none and leaves no half of one.
    pub published: Line<AtomicU64>,
    /// Words of rows published so far. Stored by the producer, with release.
    pub rows: AtomicU64,
    /// Words of rows that the producer may write over. Stored by the consumer, with release.
    pub rows_taken: Line<AtomicU64>,
    /// Bytes of events that it may write over. Stored by the consumer, with release.
    pub events_taken: AtomicU64,
    /// What the consumer has put where it lasts, twice, and which of the two counts, by its lowest bit.
    pub kept: [Kept; 2],
    /// See [`kept`](Header::kept). Stored with release, so that whoever finds the rings later finds both sides of it.
    pub kept_turn: AtomicU64,
    /// 1 while the producer sleeps on this word because a ring is full.
    pub full: Line<AtomicU32>,
    /// Counts what the consumer may want to look at; it sleeps on this word.
    pub bell: Line<AtomicU32>,
    /// 1 while the consumer sleeps.
    pub asleep: AtomicU32,
    /// A bit per [`Flag`].
    pub flags: AtomicU32,
    /// Accesses that could not be recorded (a signal handler ran inside the runtime).
    pub dropped: AtomicU64,
    /// Times that the baton was taken from a thread that slept in a call the runtime does not know.
    pub steals: AtomicU64,
    /// Words of the plan behind the records; see [`plan`](crate::plan).
    pub plan: AtomicU64,
    /// The recorder's number of this ring.
    pub number: AtomicU32,
    /// Who made the ring.
    pub recorder: AtomicU32,
    /// Its descriptor of the [`ring_broker`](crate::ring_broker), and 1; 0 if there is none.
    pub broker: AtomicU32,
    /// 1 until the recorder has looked at the process that attached the ring, which waits for that.
    pub unseen: AtomicU32,
    /// The process that the ring is attached to; 0 before.
    pub process: AtomicU32,
    /// With what status the process has left, and [`EXITED`]; 0 if it did not say so.
    pub exit: AtomicU32,
    /// How far a run along a plan has come.
    pub progress: Progress,
    /// Why the process dies.
    pub death: Death,
}

/// The signal that kills the process, and what its thread was doing. Stored by the runtime's signal handler, which may
/// have interrupted a hook: so not a row.
#[repr(C)]
#[derive(Default)]
pub struct Death {
    /// The signal; 0 for none. Stored with release after the others.
    pub signal: AtomicU32,
    /// The thread.
    pub thread: AtomicU32,
    /// Its call stack.
    pub stack: AtomicU32,
    /// Where in the code; 0 if unknown.
    pub pc: AtomicU64,
    /// The address of the fault.
    pub addr: AtomicU64,
    /// The number of events before.
    pub before: AtomicU64,
}

/// What a thread waits for; the numbers are those of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Waits {
    /// A lock.
    Acquire = 1,
    /// The end of another thread.
    Join = 2,
    /// A notification.
    Condition = 3,
    /// A semaphore.
    Semaphore = 4,
    /// The others at a barrier.
    Barrier = 5,
    /// A once-only initialization.
    Once = 6,
    /// A wake-up of a futex.
    Futex = 7,
    /// Another value than it reads again and again.
    Spin = 8,
    /// Something in a queue.
    Item = 9,
    /// The end of tasks.
    Tasks = 10,
    /// Its turn, in an ordered loop.
    Turn = 11,
    /// Those who wait at a condition, which it destroys.
    Leave = 12,
}

impl Waits {
    pub(crate) fn from_code(code: u8) -> Option<Waits> {
        [
            Waits::Acquire,
            Waits::Join,
            Waits::Condition,
            Waits::Semaphore,
            Waits::Barrier,
            Waits::Once,
            Waits::Futex,
            Waits::Spin,
            Waits::Item,
            Waits::Tasks,
            Waits::Turn,
            Waits::Leave,
        ]
        .into_iter()
        .find(|&waits| waits as u8 == code)
    }

    /// Whether a signal handler can end such a wait: it may post, notify and wake, and store another value.
    #[must_use]
    pub fn ends_by_a_handler(self) -> bool {
        matches!(
            self,
            Waits::Condition | Waits::Semaphore | Waits::Futex | Waits::Spin | Waits::Item
        )
    }
}

/// What the consumer has put where it lasts: the words of rows, the bytes of events, and how long its file was then.
#[repr(C)]
#[derive(Default)]
pub struct Kept {
    /// Words of rows.
    pub rows: AtomicU64,
    /// Bytes of events.
    pub events: AtomicU64,
    /// Bytes of the file.
    pub file: AtomicU64,
}

/// How far a run along a plan has come. Stored by the runtime, but for `decision` and `leave`.
#[repr(C)]
#[derive(Default)]
pub struct Progress {
    /// A [`Standing`]. Stored with release after the others.
    pub standing: AtomicU32,
    /// What the parent wants at the race: a [`Decision`]. The runtime waits on it.
    pub decision: AtomicU32,
    /// The first step of the plan that is not done.
    pub step: AtomicU64,
    /// If the parent wants the run to leave the plan at a step: that step's number, and 1.
    pub leave: AtomicU64,
    /// If an event came in place of that step: the number of events before it, and 1.
    pub instead: AtomicU64,
    /// The kernel's number of the thread at each racing access, in the plan's order; 0 if none.
    pub parked: [AtomicU32; 2],
}

/// Where a run along a plan stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Standing {
    /// On its way.
    Running = 0,
    /// Every thread of the race is parked before its access.
    AtRace = 1,
    /// A thread did something else than the plan says; where the run ends with its plan, it is the last record.
    Diverged = 2,
    /// The thread of the next step waits for something that the plan does not bring.
    Blocked = 3,
    /// The thread of the next step has ended, or was never created.
    Gone = 4,
    /// Every step is done; the run goes on under its policy.
    Done = 5,
    /// The next step took longer than the parent wanted to wait.
    Stuck = 6,
}

impl Standing {
    pub(crate) fn from_code(code: u32) -> Standing {
        match code {
            1 => Standing::AtRace,
            2 => Standing::Diverged,
            3 => Standing::Blocked,
            4 => Standing::Gone,
            5 => Standing::Done,
            6 => Standing::Stuck,
            _ => Standing::Running,
        }
    }
}

/// Which of two parked accesses goes first, in the plan's order; 0 is *not yet*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Decision {
    /// The first.
    First = 1,
    /// The second.
    Second = 2,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// How the runtime chooses the thread that runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    /// A thread runs until it blocks, yields or ends; then the one that has waited longest.
    Fifo = 0,
    /// Pseudo-random switches, at any event.
    Random = 1,
    /// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): the thread of the highest
    /// priority runs; priorities are random, and sink at a few random moments.
    Pct = 2,
    /// Partial order sampling (Yuan, Yang, Gu, CAV 2018): the operation of the highest of random priorities is
    /// performed; those that race with it draw new ones.
    Pos = 4,
    /// Threads go on in turn, the one that has waited longest first, so many [`steps`](Settings::steps) each.
    InTurn = 5,
    /// None: the run ends with its [`plan`](crate::plan), if it is not let go on from the race.
    Schedule = 3,
}

impl Policy {
    /// The policy with a number; the first one for numbers that are none.
    pub(crate) fn from_code(code: u32) -> Policy {
        match code {
            1 => Policy::Random,
            2 => Policy::Pct,
            3 => Policy::Schedule,
            4 => Policy::Pos,
            5 => Policy::InTurn,
            _ => Policy::Fifo,
        }
    }
}

/// What the parent tells the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The scheduling policy.
    pub policy: Policy,
    /// Its seed. For [`Policy::InTurn`]: the steps that the first turn behind a [`plan`](crate::plan) has.
    pub seed: u64,
    /// For [`Policy::Pct`]: the depth d of the bugs looked for; priorities change d − 1 times.
    pub depth: u32,
    /// For [`Policy::Pct`]: the steps (hooks passed) within which they change, the paper's k; 0 to draw it. For
    /// [`Policy::InTurn`]: those of a turn.
    pub steps: u64,
    /// The program is ended at its first operation after so many events.
    pub most: u64,
    /// What the program's clocks say at first, in nanoseconds: they stand, but for each thread's own waits. 0 if they
    /// are the system's.
    pub clocks_stand_at: u64,
    /// Where clocks stand: how many words of its stack each thread shows before its operations on synchronization
    /// objects and atomic variables, besides its registers; 0 if it shows nothing.
    pub pictures: u32,
}

impl Settings {
    /// `fifo`, without a limit.
    #[must_use]
    pub fn fifo() -> Settings {
        Settings {
            policy: Policy::Fifo,
            seed: 0,
            depth: 0,
            steps: 0,
            most: u64::MAX,
            clocks_stand_at: 0,
            pictures: 0,
        }
    }
}

/// Facts about the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flag {
    /// The runtime found the ring and records.
    Attached = 1,
    /// Every thread of the program waited for another; the runtime ended it.
    Deadlock = 2,
    /// Nobody takes records any more; the runtime stopped to record.
    Abandoned = 4,
    /// A thread released a lock that another one had taken.
    ForeignUnlock = 8,
    /// The runtime ended the program after [`Settings::most`] events.
    Full = 16,
    /// The C library is not as the runtime knows it: nothing is recorded.
    UnknownLibrary = 32,
}

/// Things worth telling the trace's reader, as they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Note {
    /// The program forked: the child process is not recorded.
    Forked = 1,
    /// The process is about to replace its program: the new one is not recorded.
    Executed = 2,
    /// A thread appeared that was not made by `pthread_create`.
    ForeignThread = 3,
    /// More threads than the runtime can follow.
    TooManyThreads = 4,
    /// The program ends in good order.
    Finished = 5,
    /// The process is about to replace its program: the new one is recorded.
    Replaced = 6,
    /// A reader-writer lock lets writers that wait go before readers.
    PrefersWriters = 7,
    /// A thread gave back a lock that nobody held.
    GivenBackFree = 8,
}

impl Note {
    pub(crate) fn from_code(code: u8) -> Option<Note> {
        Some(match code {
            1 => Note::Forked,
            2 => Note::Executed,
            3 => Note::ForeignThread,
            4 => Note::TooManyThreads,
            5 => Note::Finished,
            6 => Note::Replaced,
            7 => Note::PrefersWriters,
            8 => Note::GivenBackFree,
            _ => return None,
        })
    }
}
