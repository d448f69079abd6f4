//! What a hook of the runtime reports. The runtime turns it into events and rows of tables at once; a record itself is
//! never stored.
//!
//! A record speaks of the thread that runs. Accesses are of at most 8 bytes, objects are addresses.

/// What a synchronization object is, as far as its address alone does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ObjectClass {
    /// A mutex.
    Mutex = 0,
    /// A mutex that its holder may take again.
    RecursiveMutex = 1,
    /// A reader-writer lock.
    RwLock = 2,
    /// A spin lock.
    SpinLock = 3,
    /// A condition variable.
    Condition = 4,
    /// A barrier.
    Barrier = 5,
    /// A semaphore.
    Semaphore = 6,
    /// A once cell.
    Once = 7,
    /// Where values come from that no write of the program explains.
    Source = 8,
}

impl ObjectClass {
    pub(crate) fn from_code(code: u8) -> Option<ObjectClass> {
        use ObjectClass::*;
        [
            Mutex,
            RecursiveMutex,
            RwLock,
            SpinLock,
            Condition,
            Barrier,
            Semaphore,
            Once,
            Source,
        ]
        .get(usize::from(code))
        .copied()
    }
}

/// What a program says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MarkClass {
    /// Those on some memory do no harm.
    Benign = 0,
    /// From here on, nothing that the thread does is to be ignored.
    IgnoresNothing = 1,
    /// What it reads.
    IgnoresReads = 2,
    /// What it writes.
    IgnoresWrites = 3,
    /// What it reads and writes.
    IgnoresBoth = 4,
    /// The text is a suppression file.
    Suppressions = 5,
    /// A region begins that is meant to be atomic; the text names it.
    AtomicBegin = 6,
    /// It ends.
    AtomicEnd = 7,
    /// Two values are compared.
    Compared = 8,
}

impl MarkClass {
    pub(crate) fn from_code(code: u8) -> Option<MarkClass> {
        use MarkClass::*;
        [
            Benign,
            IgnoresNothing,
            IgnoresReads,
            IgnoresWrites,
            IgnoresBoth,
            Suppressions,
            AtomicBegin,
            AtomicEnd,
            Compared,
        ]
        .get(usize::from(code))
        .copied()
    }
}

/// A step of a once-only initialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OnceStep {
    /// It starts.
    Begin = 0,
    /// It ends.
    End = 1,
    /// It was found done.
    Wait = 2,
}

/// One record. `pc` is the return address of the call that made it, 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the trace format's `Op`")]
pub enum Record {
    /// The running thread entered a function.
    Call {
        call_site: u64,
    },
    /// It left the function.
    Return,
    Read {
        pc: u64,
        addr: u64,
        size: u8,
        value: u64,
    },
    Write {
        pc: u64,
        addr: u64,
        size: u8,
        value: u64,
    },
    /// A write that destroys a synchronization object.
    Destroying {
        pc: u64,
        addr: u64,
        size: u8,
        value: u64,
    },
    AtomicLoad {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        value: u64,
    },
    AtomicStore {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        value: u64,
    },
    AtomicRmw {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        read: u64,
        written: u64,
    },
    Fence {
        pc: u64,
        order: u8,
    },
    /// The thread's first record; `os_id` is the kernel's number of it.
    Begin {
        os_id: u32,
    },
    End {
        pc: u64,
    },
    Fork {
        pc: u64,
        child: u32,
    },
    Join {
        pc: u64,
        child: u32,
        attempt: bool,
    },
    Acquire {
        pc: u64,
        class: ObjectClass,
        lock: u64,
        shared: bool,
        attempt: bool,
    },
    AcquireFailed {
        pc: u64,
        class: ObjectClass,
        lock: u64,
        shared: bool,
    },
    Release {
        pc: u64,
        class: ObjectClass,
        lock: u64,
    },
    WaitBegin {
        pc: u64,
        condition: u64,
        class: ObjectClass,
        lock: u64,
    },
    WaitEnd {
        pc: u64,
        condition: u64,
        class: ObjectClass,
        lock: u64,
        timed_out: bool,
        /// Whether something else than a notify would have ended it: its time, or another process.
        attempt: bool,
    },
    Notify {
        pc: u64,
        condition: u64,
        all: bool,
    },
    /// `last` completes the round.
    BarrierEnter {
        pc: u64,
        barrier: u64,
        last: bool,
    },
    /// `attempt` if others than the program's own threads might have let it go on.
    BarrierExit {
        pc: u64,
        barrier: u64,
        attempt: bool,
    },
    /// `count` is the semaphore's before the event; `shared` if processes share it.
    SemPost {
        pc: u64,
        semaphore: u64,
        count: u32,
        shared: bool,
    },
    /// `timed` if it would not have waited for ever.
    SemWait {
        pc: u64,
        semaphore: u64,
        count: u32,
        shared: bool,
        timed: bool,
    },
    /// An attempt found the count 0, and gave up.
    SemWaitFailed {
        pc: u64,
        semaphore: u64,
    },
    /// The program asked for the count, and got this one.
    SemValue {
        pc: u64,
        semaphore: u64,
        count: u32,
    },
    Once {
        pc: u64,
        once: u64,
        step: OnceStep,
    },
    /// The program got a value from outside, and not by memory.
    Input {
        pc: u64,
        source: u64,
        value: u64,
    },
    /// An object starts to exist at an address; `count` is a semaphore's.
    Init {
        class: ObjectClass,
        object: u64,
        count: u32,
    },
    /// An operation on a synchronization object is about to use its memory.
    Use {
        /// Code position of the call.
        pc: u64,
        /// The object.
        object: u64,
    },
    /// The object at an address stops to exist.
    Destroy {
        object: u64,
    },
    Alloc {
        pc: u64,
        addr: u64,
        size: u64,
    },
    Free {
        pc: u64,
        addr: u64,
    },
    /// Up to 16 bytes of text for the next record that wants some.
    Bytes {
        len: u8,
        words: [u64; 2],
    },
    /// The running thread shows what the text before this is. See [`Row::Picture`](crate::Row::Picture).
    Picture,
    /// The running thread says something of the program's races; the text before it is what it says. See
    /// [`Row::Mark`](crate::Row::Mark).
    Mark {
        class: MarkClass,
        addr: u64,
        size: u64,
    },
    /// The text before it is this thread's name.
    ThreadName {
        thread: u32,
    },
    /// The text before it is the build id (`build_id` bytes), then the path, of a module.
    Module {
        build_id: u8,
        base: u64,
        start: u64,
        end: u64,
    },
    /// The memory at `addr` holds the text before this, then zeros; or, if `constant`, what nothing
    /// in the process can change.
    Image {
        addr: u64,
        size: u64,
        constant: bool,
    },
    /// The thread is parked right before an access.
    Parked {
        pc: u64,
        addr: u64,
        size: u64,
    },
    /// The thread begins to wait, without a limit in time. See [`Row::Waits`](crate::Row::Waits).
    Waits {
        what: crate::Waits,
        pc: u64,
        addr: u64,
    },
    /// See [`Row::Reaped`](crate::Row::Reaped).
    Reaped {
        process: u32,
        status: u32,
    },
    /// See [`Note`](crate::Note).
    Note {
        note: crate::Note,
    },
}
