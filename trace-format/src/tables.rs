//! The side tables of a trace: what the numbers in its events mean.
//!
//! Every table only grows. A [`TablesDelta`] is what one side block of the file adds; applying
//! the deltas in file order gives [`Tables`], so a trace that was cut still names everything that
//! its surviving events mention.

use crate::event::{CodePosition, NOBODYS, ObjectId, StackId, ThreadId};
use serde::{Deserialize, Serialize};

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Its name, as far as the program set one.
    pub name: Option<String>,
    /// The thread that created it; `None` for those alive from the start.
    pub parent: Option<ThreadId>,
    /// The operating system's number of it; 0 if unknown.
    pub os_id: u32,
}

/// An executable file or shared library that was mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleInfo {
    /// Absolute path of the file.
    pub path: String,
    /// GNU build id; empty if it has none.
    pub build_id: Vec<u8>,
    /// What to subtract from a run-time address to get the address in the file (load bias).
    pub base: u64,
    /// Run-time range of its executable segments, `[start, end)`.
    pub start: u64,
    /// End of the range (exclusive).
    pub end: u64,
}

/// What kind of synchronization object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// A lock that one thread at a time holds.
    Mutex,
    /// A mutex that its holder may take again.
    RecursiveMutex,
    /// A reader-writer lock.
    RwLock,
    /// A spin lock.
    SpinLock,
    /// A condition variable.
    Condition,
    /// A barrier.
    Barrier,
    /// A counting semaphore.
    Semaphore,
    /// A once cell.
    Once,
    /// A source or sink of outside values.
    Source,
}

/// A synchronization object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// What it is.
    pub kind: ObjectKind,
    /// Its address at run time; 0 if it has none.
    pub addr: u64,
    /// Its name, if the trace knows one (imported traces: `L1`; natively: not set).
    pub name: Option<String>,
    /// A semaphore's count before its first event in the trace; 0 otherwise.
    pub initial: u32,
}

impl ObjectInfo {
    /// Whether it is the lock that the system holds while a thread begins to wait for a futex, and while one wakes those
    /// who do: `FORMAT.md`, section 10. No memory model knows of it.
    #[must_use]
    pub fn is_lock_of_system(&self) -> bool {
        self.kind == ObjectKind::SpinLock && self.addr >= NOBODYS
    }
}

/// One interned call stack: a frame on top of another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackNode {
    /// The stack below; its id is smaller than this row's.
    pub parent: StackId,
    /// Where in the caller the call was made (a return address, as [`CodePosition`]).
    pub call_site: CodePosition,
}

/// A source position that the trace itself knows, without any module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// The position that it explains.
    pub pc: CodePosition,
    /// Function, if known.
    pub function: Option<String>,
    /// File, or whatever label the position had where the trace came from.
    pub file: String,
    /// Line, 1-based; 0 if the label has none.
    pub line: u32,
}

/// What a range of memory held at one moment of the run, whoever put it there.
///
/// A value that a read sees in memory that no event wrote before has been there all along only if
/// something says so: the code that wrote it may be one that leaves no events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// The number of events before that moment.
    pub before: u64,
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub size: u64,
    /// What it held: these bytes, at most `size` of them, and zeros behind them. `None` for memory
    /// that nothing in the process can change (code, constants): then it held what reads show.
    pub bytes: Option<Vec<u8>>,
}

/// What a range of memory is called, where the trace itself knows it, without any module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableInfo {
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub size: u64,
    /// Its name where the trace came from.
    pub name: String,
}

/// What the program says of its own races.
///
/// The accesses stay in the trace, since what they read and leave decides what is feasible; only what is reported
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkInfo {
    /// What it says.
    pub kind: MarkKind,
    /// The thread that says it.
    pub thread: ThreadId,
    /// The number of events before that moment.
    pub before: u64,
    /// First byte of the memory that it is about; 0 if it is about none.
    pub addr: u64,
    /// Its length in bytes.
    pub size: u64,
    /// What it says in words.
    pub text: String,
}

/// What a [mark](MarkInfo) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkKind {
    /// Races on this memory do no harm.
    Benign,
    /// From here on, the thread's accesses of these kinds are not to be reported.
    Ignores {
        /// What it reads.
        reads: bool,
        /// What it writes.
        writes: bool,
    },
    /// The text is a suppression file.
    Suppressions,
    /// From here on, what the thread does is meant to be atomic: a region, which the text names.
    AtomicBegin,
    /// The thread's last such region that has not ended ends.
    AtomicEnd,
    /// The thread compares two values: `addr` and `size`.
    Compared,
}

/// How the recording was made: enough to make it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Name and version of what wrote the trace.
    pub producer: String,
    /// The program and its arguments; empty for traces not recorded from a program.
    pub command: Vec<String>,
    /// The directory it ran in.
    pub directory: String,
    /// Its environment, `NAME=value`.
    pub environment: Vec<String>,
    /// Scheduling policy, as given on the command line.
    pub policy: String,
    /// Seed of the policy.
    pub seed: u64,
    /// Every branch, and every access with an address computed from data, has a `Branch` before it.
    pub control_flow_recorded: bool,
    /// A lock may be released by a thread that does not hold it.
    pub foreign_unlock: bool,
    /// Reasons why the trace may lack events or order that the program had; empty if none is known.
    pub degraded: Vec<String>,
    /// What threads had begun and did not end, as far as no event says so: in order of time, at most one for each
    /// thread that waits, and one for the thread that a signal killed.
    #[serde(default)]
    pub pending: Vec<PendingInfo>,
}

/// An operation that had not happened when the run ended: a thread that waited, or whose fault ended the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingInfo {
    /// Whose it is.
    pub thread: ThreadId,
    /// The number of events before it. A thread that has an event from there on did not wait any more.
    pub before: u64,
    /// What it is.
    pub kind: PendingKind,
    /// Where in the code; 0 if unknown.
    pub pc: CodePosition,
    /// The calls that lead there.
    pub stack: StackId,
    /// The address of the object or the memory; for `Join` the number of the other thread.
    pub addr: u64,
}

/// What a thread was about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PendingKind {
    /// To take a lock.
    Acquire,
    /// To join another thread.
    Join,
    /// To be notified at a condition.
    Condition,
    /// To take one from a semaphore.
    Semaphore,
    /// To leave a barrier.
    Barrier,
    /// To find a once-only initialization done.
    Once,
    /// To be woken from a futex.
    Futex,
    /// To read another value than it has read again and again.
    Spin,
    /// What this signal ended the process for.
    Died(i32),
    /// To find something in a queue.
    Item,
    /// To find tasks done.
    Tasks,
    /// To come to its turn, in an ordered loop.
    Turn,
    /// To find that nobody waits at a condition any more, which it destroys.
    Leave,
}

/// How the recorded program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramEnd {
    /// Not known, or there was no program.
    Unknown,
    /// Exited with this status.
    Exited(i32),
    /// Killed by this signal.
    Signaled(i32),
    /// Ended by the recorder: its threads waited for one another forever.
    Deadlock,
    /// Ended by the recorder after so many events as were wanted.
    EventLimit,
    /// Ended by the recorder after so long as was wanted.
    TimeLimit,
}

/// What one side block adds to the tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablesDelta {
    /// Replaces the description of the recording.
    pub meta: Option<Meta>,
    /// New rows, or new contents of known rows (a thread that got a name), by thread.
    pub threads: Vec<(ThreadId, ThreadInfo)>,
    /// New modules.
    pub modules: Vec<ModuleInfo>,
    /// New objects, in order of their ids.
    pub objects: Vec<ObjectInfo>,
    /// New stacks, in order of their ids (the first delta starts at id 1; id 0 is the empty stack).
    pub stacks: Vec<StackNode>,
    /// New source positions.
    pub sources: Vec<SourceInfo>,
    /// New images of memory.
    pub images: Vec<ImageInfo>,
    /// New names of memory.
    pub variables: Vec<VariableInfo>,
    /// New marks.
    pub marks: Vec<MarkInfo>,
}

/// All side tables of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The description of the recording.
    pub meta: Meta,
    /// Threads, by [`ThreadId`].
    pub threads: Vec<ThreadInfo>,
    /// Modules, in the order they were mapped.
    pub modules: Vec<ModuleInfo>,
    /// Objects, by [`ObjectId`].
    pub objects: Vec<ObjectInfo>,
    /// Stacks, by [`StackId`] − 1: the empty stack has no row.
    pub stacks: Vec<StackNode>,
    /// Known source positions, in the order they were defined.
    pub sources: Vec<SourceInfo>,
    /// Images of memory, in the order they were taken.
    pub images: Vec<ImageInfo>,
    /// Names of memory, in the order they were defined.
    pub variables: Vec<VariableInfo>,
    /// What the program says of its own races, in the order in which it did.
    pub marks: Vec<MarkInfo>,
}

impl Tables {
    /// The row of a stack; `None` for the empty stack.
    #[must_use]
    pub fn stack(&self, id: StackId) -> Option<&StackNode> {
        self.stacks.get(id.index().checked_sub(1)?)
    }

    /// The call sites of a stack, innermost first.
    pub fn frames(&self, id: StackId) -> impl Iterator<Item = CodePosition> + '_ {
        std::iter::successors(self.stack(id), |node| self.stack(node.parent)).map(|node| node.call_site)
    }

    /// The row of an object.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> Option<&ObjectInfo> {
        self.objects.get(id.index())
    }

    /// The module that holds a run-time address.
    #[must_use]
    pub fn module_of(&self, pc: CodePosition) -> Option<&ModuleInfo> {
        // The module mapped last wins: an address range may be reused after dlclose.
        self.modules.iter().rev().find(|m| m.start <= pc && pc < m.end)
    }
}
