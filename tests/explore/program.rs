//! Small programs of several threads: registers, jumps on what was read, every operation that is explored.

use witness::trace::MemoryOrder;

/// A register of a thread.
pub type Register = usize;

/// How many registers a thread has.
pub const REGISTERS: usize = 4;

/// A number, or what a register holds and a number more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    Number(i64),
    Plus(Register, i64),
}

/// One instruction. Shared variables, locks and the like are numbered, each kind from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    Read {
        from: usize,
        into: Register,
        atomic: bool,
    },
    Write {
        to: usize,
        value: Term,
        atomic: bool,
    },
    /// Adds atomically, and gives what was there.
    Add {
        to: usize,
        value: Term,
        into: Register,
    },
    /// Stores `new` if `expected` is there, and gives what was there.
    Exchange {
        to: usize,
        expected: Term,
        new: Term,
        into: Register,
    },
    Lock {
        lock: usize,
        shared: bool,
    },
    /// Gives 1 if it has it, 0 if not.
    TryLock {
        lock: usize,
        shared: bool,
        into: Register,
    },
    Unlock {
        lock: usize,
    },
    Wait {
        condition: usize,
        lock: usize,
    },
    /// Gives 0 if notified, 1 if its time was over.
    WaitFor {
        condition: usize,
        lock: usize,
        into: Register,
    },
    Notify {
        condition: usize,
    },
    NotifyAll {
        condition: usize,
    },
    Post {
        semaphore: usize,
    },
    Take {
        semaphore: usize,
    },
    /// Gives 1 if it has one, 0 if not.
    TryTake {
        semaphore: usize,
        into: Register,
    },
    /// Gives how many it has.
    Count {
        semaphore: usize,
        into: Register,
    },
    /// Gives 1 to the last of the round, 0 to the others.
    Barrier {
        barrier: usize,
    },
    Enter {
        barrier: usize,
        into: Register,
    },
    /// Goes to `done` if the cell is initialized, waiting for who is at it; goes on if it is first.
    Once {
        once: usize,
        done: usize,
    },
    OnceDone {
        once: usize,
    },
    /// A new thread that begins at an instruction, with this thread's registers; gives its handle.
    Fork {
        at: usize,
        into: Register,
    },
    Join {
        handle: Register,
    },
    /// Gives 1 if the thread has ended, 0 if not.
    TryJoin {
        handle: Register,
        into: Register,
    },
    /// A block of two cells; gives its address.
    Alloc {
        into: Register,
    },
    Free {
        block: Register,
    },
    /// Of a block whose address is in a register.
    ReadAt {
        block: Register,
        offset: u64,
        into: Register,
    },
    WriteAt {
        block: Register,
        offset: u64,
        value: Term,
    },
    /// Reads or writes both cells of a block at once.
    ReadBoth {
        block: Register,
        into: Register,
    },
    WriteBoth {
        block: Register,
        value: Term,
    },
    /// A fence: nobody can tell.
    Fence,
    /// Uses the memory of an object that lies where the variable is, and sees nothing.
    Use {
        of: usize,
    },
    /// Hands something to the outside, which nobody waits for.
    Output,
    /// Within the thread: `into` = value.
    Set {
        into: Register,
        value: Term,
    },
    JumpIf {
        left: Term,
        equals: i64,
        to: usize,
    },
    Jump {
        to: usize,
    },
    /// The program fails.
    Fail,
    End,
}

/// A program. The first thread begins at instruction 0, with all registers 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    pub code: Vec<Instruction>,
    /// Of each lock whether it is recursive.
    pub recursive: Vec<bool>,
    /// The first count of each semaphore.
    pub counts: Vec<u32>,
    /// The threads of a round of each barrier.
    pub parties: Vec<u32>,
    /// The memory order of each instruction, where it matters; none is known of those behind the last.
    pub orders: Vec<MemoryOrder>,
}
