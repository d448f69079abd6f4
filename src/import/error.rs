//! Why a foreign trace is refused, and the repairs made to one.

use crate::check::Violation;
use std::fmt;
use trace_format::{ReadError, WriteError};

/// Why a trace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// Its content looks like no format that is known.
    #[error(
        "{file} does not begin like any known format at byte 0 (witness, std, rapidbin, roadrunner, rv-predict, jsonl); if it is one, \
         damaged, record it again; if its kind is not recognized, name it with --format"
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// A folder that is no trace.
    #[error("{folder} is a folder, and holds no logs of RV-Predict; name a trace in it")]
    NoLogs {
        /// The folder.
        folder: String,
    },
    /// A trace of our own that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read is no trace of our own: a bug, or a line of JSON that breaks a rule.
    #[error("{file}:{line}: {source}")]
    Row {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Which rule.
        source: WriteError,
    },
    /// A line of JSON that is no row and no event.
    #[error("{file}:{line}: {reason}")]
    Json {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A trace with values that no execution can have, by the checker's table.
    #[error("{file}:{line}: no execution can do this: {violation}; correct the trace (--repair cannot)")]
    NoExecution {
        /// The file.
        file: String,
        /// Line of the event, from 1.
        line: u64,
        /// What the event lacks.
        violation: Violation,
    },
    /// More events than one analysis can hold.
    #[error("{file}: {error}")]
    Load {
        /// The file.
        file: String,
        /// Why.
        error: String,
    },
    /// The binary header is not one, or claims another number of events than there are.
    #[error("{file} is not a RapidBin trace: {reason}")]
    Header {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A log of RV-Predict that is damaged, cut, or none.
    #[error("{file} is not a complete RV-Predict log, at byte {offset}: {reason}; log the run again")]
    Log {
        /// The file.
        file: String,
        /// Where, in bytes.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// No execution can have this trace.
    #[error("{file}:{line}: {what}; {} (--repair does)", what.remedy())]
    Malformed {
        /// The file.
        file: String,
        /// Line from 1; for binary traces the number of the event, from 1.
        line: u64,
        /// What is wrong.
        what: Malformed,
    },
    /// More threads, objects, variables or positions than the format can number.
    #[error("{file}:{line}: more names than 32 bits can number")]
    TooManyNames {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
}

/// What makes a trace one that no execution can have. Threads, locks and lines are as in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Not an event.
    #[error("not an event: {reason}")]
    Unreadable {
        /// Why not.
        reason: String,
    },
    /// An acquire of a lock that another thread holds.
    #[error("{thread} acquires {lock}, which {holder} holds since line {since}")]
    LockHeld {
        /// Who acquires.
        thread: String,
        /// What.
        lock: String,
        /// Who holds it.
        holder: String,
        /// Line where the holder took it.
        since: u64,
    },
    /// A thread's last event comes while it holds a lock that others take later.
    #[error("{thread} has its last event while it holds {lock}, which others acquire later")]
    HeldAtEnd {
        /// The thread.
        thread: String,
        /// The lock.
        lock: String,
    },
    /// A thread waits while it holds a lock that another one takes meanwhile.
    #[error("{thread} waits while it holds {lock}, which another thread acquires meanwhile")]
    HeldInWait {
        /// Who waits.
        thread: String,
        /// The lock.
        lock: String,
    },
    /// A release without an acquire.
    #[error("{thread} releases {lock}, which it does not hold")]
    NotHeld {
        /// Who releases.
        thread: String,
        /// What.
        lock: String,
    },
    /// A wait by a thread that neither holds a lock nor has just released one for it.
    #[error("{thread} waits on {condition} without holding or having just released its lock")]
    WaitWithoutLock {
        /// Who waits.
        thread: String,
        /// On what.
        condition: String,
    },
    /// A wait that is logged before the release that it begins with.
    #[error("{thread} waits on {condition} before it releases {lock} at line {release}")]
    WaitBeforeRelease {
        /// Who waits.
        thread: String,
        /// On what.
        condition: String,
        /// The lock that it gives back for the wait, and takes again after it.
        lock: String,
        /// Line of the release.
        release: u64,
    },
    /// A wait whose lock is not taken again before the thread goes on.
    #[error("{thread} waits on {condition} and goes on at line {next} without acquiring {lock} again")]
    WaitWithoutAcquire {
        /// Who waits.
        thread: String,
        /// On what.
        condition: String,
        /// The lock it released.
        lock: String,
        /// Line of its next event.
        next: u64,
    },
    /// A join before the child's last event.
    #[error("{thread} joins {child}, which goes on until line {last}")]
    JoinTooEarly {
        /// Who joins.
        thread: String,
        /// Whom.
        child: String,
        /// Line of the child's last event.
        last: u64,
    },
    /// An `end` with events of the thread after it.
    #[error("{thread} ends, but goes on until line {last}")]
    EventsAfterEnd {
        /// The thread.
        thread: String,
        /// Line of its last event.
        last: u64,
    },
    /// A `begin` that is not the thread's first event.
    #[error("{thread} begins, but has an event at line {first} already")]
    BeginTooLate {
        /// The thread.
        thread: String,
        /// Line of its first event.
        first: u64,
    },
    /// A thread created for the second time.
    #[error("{thread} forks {child}, which was forked at line {before} already")]
    ForkedTwice {
        /// Who forks.
        thread: String,
        /// Whom.
        child: String,
        /// Line of the first fork.
        before: u64,
    },
    /// A thread created after its first event.
    #[error("{thread} forks {child}, which has an event at line {first} already")]
    ForkTooLate {
        /// Who forks.
        thread: String,
        /// Whom.
        child: String,
        /// Line of the child's first event.
        first: u64,
    },
    /// A thread that forks or joins itself.
    #[error("{thread} {what} itself")]
    Itself {
        /// The thread.
        thread: String,
        /// `forks` or `joins`.
        what: &'static str,
    },
}

impl Malformed {
    /// What would make it well-formed, and what `--repair` does.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Malformed::Unreadable { .. } => "remove the line",
            Malformed::LockHeld { .. } => "let the holder release it just before",
            Malformed::HeldAtEnd { .. } => "let it release the lock at its end",
            Malformed::HeldInWait { .. } => "let it release the lock before the wait",
            Malformed::NotHeld { .. } => "remove the release",
            Malformed::WaitWithoutLock { .. } | Malformed::WaitWithoutAcquire { .. } => "remove the wait",
            Malformed::WaitBeforeRelease { .. } => "exchange the two lines",
            Malformed::JoinTooEarly { .. } => "remove the join",
            Malformed::EventsAfterEnd { .. } => "remove the end",
            Malformed::BeginTooLate { .. } => "remove the begin",
            Malformed::ForkedTwice { .. } => "remove the second fork",
            Malformed::ForkTooLate { .. } => "remove the fork, so that the thread is alive from the start",
            Malformed::Itself { .. } => "remove the event",
        }
    }
}

/// One change that made a trace well-formed: [`Malformed::remedy`] was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Line from 1; for binary traces the number of the event, from 1.
    pub line: u64,
    /// What was wrong there.
    pub what: Malformed,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; repaired: {}", self.line, self.what, self.what.remedy())
    }
}
