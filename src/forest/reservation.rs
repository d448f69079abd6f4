//! Why a forest may not be all that the program can do, though nothing open is left in it.

use std::fmt;

/// A reason why *exhausted* may not be said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reservation {
    /// A run did something else after the same history.
    Nondeterministic {
        /// Thread, and how many operations of it came before.
        thread: u32,
        /// How many.
        after: u32,
    },
    /// Memory held another value than what was last written there: code that is not recorded changes it.
    External {
        /// Where in the code it was seen.
        position: u64,
    },
    /// Memory held another value at first than in another run.
    InitialValue {
        /// Where in the code it was seen.
        position: u64,
    },
    /// After the same history, another value was written than in an earlier run. (Mostly it is one that nobody uses:
    /// what was left in a register, or between the parts of a structure.)
    WrittenOtherwise {
        /// Where in the code.
        position: u64,
    },
    /// Values came from outside, and other values were not tried.
    Inputs,
    /// The program can look at clocks, and these stood: see [`is_assumption`](Reservation::is_assumption).
    Clocks,
    /// The program asked for the count of a semaphore, of which the solver has no formula.
    SemaphoreCount,
    /// A loop that waits was cut after so many equal rounds.
    SpinRounds {
        /// How many.
        rounds: u32,
    },
    /// Whether a run fails depends on what it printed, or left behind: of these not every order and combination was
    /// tried.
    Output,
    /// Code that is not recorded may synchronize where nobody sees it.
    Unrecorded,
    /// The program has functions that handle signals; when they come was not explored.
    Signals,
    /// The program uses ThreadSanitizer's barrier for tests, which the model has as a counter: who waits there is not
    /// known.
    InvisibleBarrier,
    /// It calls functions of libraries of which it is not known whether they keep what another thread's call left
    /// there: their names.
    Libraries(String),
    /// Parts of the program were built without instrumentation, and access memory: the names of their functions.
    Uninstrumented(String),
    /// gcc records no structures that are passed or returned by value: the names of the functions that do so in memory
    /// that others may access.
    ByValue(String),
    /// Functions of libraries read or set memory that others may access, unrecorded: the names of the functions that call
    /// them.
    ReadByLibraries(String),
    /// Instructions ask for what is outside of the program: the names of the functions that have them.
    Instructions(String),
    /// A semaphore began with so much that it may come to its greatest value, where it cannot be posted.
    FullSemaphore,
    /// The program has functions that start other processes; their threads, and what they do to what is shared, were not
    /// explored.
    Processes,
    /// Atomics weaker than sequentially consistent may leave races open that no prefix shows as two accesses that are
    /// both next.
    WeakAtomics,
    /// The end of a recording is missing.
    Cut,
    /// A run is too long to be searched with the others.
    TooLong {
        /// How many events it has.
        events: u64,
    },
    /// A thread gave back a lock that it did not hold.
    ForeignRelease,
    /// A wait began while its thread was waiting already (in a signal handler).
    NestedWait,
    /// A thread was there from the start besides the first.
    SecondMainThread,
    /// A wait ended, or a lock was given back, that no recorded event began.
    BeganBefore,
    /// A once cell was initialized more than once.
    OnceAgain,
    /// An object was initialized anew where one had been.
    ObjectReused,
    /// A barrier whose number of threads no run has shown.
    BarrierSize,
    /// Whether an operation waits or gives up where it cannot go on was not learnt.
    PatienceUnknown {
        /// Where in the code.
        position: u64,
    },
    /// The recorder itself says that something may be missing.
    Degraded(String),
    /// A read sees memory that nothing wrote, or that was freed; what it would see is not known.
    UndefinedRead {
        /// Where in the code.
        position: u64,
    },
}

impl Reservation {
    /// Where in the code, if it is about a place there.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        match *self {
            Self::External { position }
            | Self::InitialValue { position }
            | Self::WrittenOtherwise { position }
            | Self::PatienceUnknown { position }
            | Self::UndefinedRead { position } => Some(position),
            _ => None,
        }
    }

    /// Whether it is no reason against *exhausted*, but something that is said along with it: a part of what the input
    /// is.
    ///
    /// What clocks say is an input. It is the same in all runs, a function of each thread's own history, so that every
    /// schedule is covered with clocks that say so. What a program does when more time has passed than it waited for
    /// itself is not.
    #[must_use]
    pub fn is_assumption(&self) -> bool {
        matches!(self, Reservation::Clocks)
    }
}

impl fmt::Display for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nondeterministic { thread, after } => write!(
                f,
                "thread {thread} did something else than in an earlier run, after the same {after} operations"
            ),
            Self::External { position } => {
                write!(f, "unrecorded code changes memory that is read at {position:#x}")
            }
            Self::InitialValue { position } => {
                write!(
                    f,
                    "what is read at {position:#x} differed from run to run before the program wrote it, whatever the schedule: initialize it, or build what writes it with -fsanitize=thread"
                )
            }
            Self::WrittenOtherwise { position } => write!(
                f,
                "another value than in an earlier run was written at {position:#x}, after the same operations"
            ),
            Self::Inputs => f.write_str("values came from outside of the program; others were not tried"),
            Self::Clocks => f.write_str("clocks that stand, but for what threads waited in vain or slept"),
            Self::SemaphoreCount => {
                f.write_str("the program asked for the count of a semaphore, which the solver does not know")
            }
            Self::SpinRounds { rounds } => write!(f, "loops that wait were followed for {rounds} equal rounds"),
            Self::Output => f.write_str(
                "whether a run fails depends on what all threads printed or left behind; not each order and combination was tried",
            ),
            Self::Unrecorded => f.write_str("a library that is not recorded may synchronize unseen"),
            Self::Signals => f.write_str("the program may handle signals or have timers; when they come was not explored"),
            Self::InvisibleBarrier => f.write_str(
                "__tsan_testonly_barrier_wait keeps threads apart and synchronizes nothing; who waits there was not explored",
            ),
            Self::Libraries(names) => write!(
                f,
                "what library functions return may depend on other threads' calls, which is not recorded: {names}"
            ),
            Self::Uninstrumented(names) => write!(
                f,
                "parts of the program were built without -fsanitize=thread, and may access what others do, unseen: {names}"
            ),
            Self::ByValue(names) => write!(
                f,
                "gcc does not record structures that are passed or returned by value, nor stores past the caches (`witness cc` does, mostly), and these may be in memory that others access: {names}"
            ),
            Self::ReadByLibraries(names) => write!(
                f,
                "library functions read or set what pointers lead to, unrecorded, and others may access that: {names}"
            ),
            Self::Instructions(names) => write!(
                f,
                "instructions ask the kernel, a clock or a source of random numbers, unrecorded: {names}"
            ),
            Self::FullSemaphore => {
                f.write_str("a semaphore may come to its greatest value, where sem_post fails, which was not explored")
            }
            Self::Processes => f.write_str("the program may start other processes, which were not explored"),
            Self::WeakAtomics => f.write_str(
                "it has atomics weaker than sequentially consistent: races that only their order leaves open were not explored",
            ),
            Self::Cut => f.write_str("the end of a recording is missing"),
            Self::TooLong { events } => write!(
                f,
                "a run of {events} events is too long to search all schedules of: runs were made in its order with one delay, and at random"
            ),
            Self::ForeignRelease => f.write_str("a thread gave back a lock that it did not hold"),
            Self::NestedWait => f.write_str("a signal handler waited while its thread was waiting"),
            Self::SecondMainThread => f.write_str("several threads were there from the start"),
            Self::BeganBefore => f.write_str("a wait or a lock's section began before the recording did"),
            Self::OnceAgain => f.write_str("a once cell was initialized more than once"),
            Self::ObjectReused => f.write_str("a synchronization object was initialized again at the same place"),
            Self::BarrierSize => f.write_str("no run has shown how many threads a barrier takes"),
            Self::PatienceUnknown { position } => {
                write!(
                    f,
                    "whether the operation at {position:#x} waits or gives up is not known"
                )
            }
            Self::Degraded(why) => f.write_str(why),
            Self::UndefinedRead { position } => {
                write!(
                    f,
                    "what the read at {position:#x} sees is not defined: nothing wrote it, or it was freed"
                )
            }
        }
    }
}
