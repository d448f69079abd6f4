//! What the scheduler knows of a thread.

use crate::policy::Touched;
use crate::sync::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Cell};
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::Waits;

/// No deadline.
pub const NEVER: i64 = i64::MAX;

/// Hooks that a thread passes until it is looked at, to see whether it waits in a loop; and between two looks at one
/// that did not.
pub(crate) const UNTIL_LOOKED_AT: u64 = 1 << 17;

/// Where a thread stands with the scheduler.
pub mod state {
    /// Not started yet.
    pub const NEW: u8 = 0;
    /// Could run.
    pub const READY: u8 = 1;
    /// Has the baton.
    pub const RUNNING: u8 = 2;
    /// Waits for another thread or for its deadline.
    pub const BLOCKED: u8 = 3;
    /// In a call that the runtime does not model, without the baton.
    pub const OUTSIDE: u8 = 4;
    /// Over.
    pub const ENDED: u8 = 5;
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Another thread that woke it.
    Thread,
    /// Its deadline.
    Deadline,
    /// A signal handler that ran.
    Signal,
    /// Only signal handlers that let calls go on (`SA_RESTART`): a wait with no limit in time begins again.
    Restart,
    /// It is to be cancelled, unless it does not want to be.
    Cancel,
}

/// What became of the signals that a thread had put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// No handler ran: the thread blocks them now.
    Nothing,
    /// Handlers ran, and each of them lets the call go on that it interrupts (`SA_RESTART`).
    Restarts,
    /// Handlers ran.
    Interrupts,
}

/// What a field of a record is set to when the record is used again.
pub trait Reset {
    /// Sets it to what a new one has.
    fn reset(&self, new: Self);
}

impl<T> Reset for Cell<T> {
    fn reset(&self, new: Self) {
        self.set(new.into_inner());
    }
}

macro_rules! reset {
    ($($atomic:ty)*) => { $(
        impl Reset for $atomic {
            fn reset(&self, new: Self) {
                self.store(new.into_inner(), Relaxed);
            }
        }
    )* };
}

reset! { AtomicI32 AtomicU8 AtomicU32 AtomicU64 AtomicUsize }

/// Declares a record of cells and atomics with what they are at first: a new one, and a used one that is made as good
/// as new, have the same in every field.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $new:expr,)*
    }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $name {
            $crate::constant! {
                /// A new one.
                #[allow(clippy::new_without_default, reason = "it is for statics")]
                pub fn new() -> Self {
                    Self { $($field: $new,)* }
                }
            }
        }

        impl $crate::thread::Reset for $name {
            fn reset(&self, new: Self) {
                $($crate::thread::Reset::reset(&self.$field, new.$field);)*
            }
        }
    };
}

record! {
    /// What the scheduler knows of a thread.
    ///
    /// Its cells are used by the thread while it has the baton, and by whoever has the scheduler locked while it has
    /// not; the atomics by others at any time.
    #[repr(C)]
    pub struct Scheduled {
        /// Not 0 while the thread is inside the runtime: hooks that it reaches then do nothing.
        pub busy: AtomicU32 = AtomicU32::new(0),
        /// Its number in the trace.
        pub index: Cell<u32> = Cell::new(0),
        /// Hooks passed, but for those on the fast path that are not counted yet.
        pub ticks: AtomicU64 = AtomicU64::new(0),
        /// The tick at which it polls: to yield, or for something else.
        pub switch_at: AtomicU64 = AtomicU64::new(0),
        /// The tick at which its turn is over.
        pub turn_ends: AtomicU64 = AtomicU64::new(0),
        /// The tick from which on its hooks are looked at, to see whether it waits in a loop.
        pub looked_at_from: Cell<u64> = Cell::new(UNTIL_LOOKED_AT),
        /// How many hooks lie between the last look and this tick.
        pub between_looks: Cell<u64> = Cell::new(UNTIL_LOOKED_AT),
        /// What it did in one turn of the loop in which it waited last.
        pub turn_of_loop: Cell<u64> = Cell::new(0),
        /// Its turn was over, or it gave way: it does so once more as soon as somebody can go on who could not then.
        pub owes_turn: Cell<bool> = Cell::new(false),
        /// It did when it was looked at last.
        pub waits_in_loop: Cell<bool> = Cell::new(false),
        /// Under `pct` and `pos`, the thread with the highest one runs.
        pub priority: Cell<i64> = Cell::new(0),
        /// Under `pos`, what it does next.
        pub touches: Cell<[Touched; 2]> = Cell::new(Touched::NOTHING),
        /// It waits for a deadline that may come at any point.
        pub may_wake: Cell<bool> = Cell::new(false),
        /// See [`state`].
        pub state: AtomicU8 = AtomicU8::new(state::NEW),
        /// What it is blocked on.
        pub key: Cell<usize> = Cell::new(0),
        /// What it waits for there, of which object, and where it began to.
        pub waits_for: Cell<Option<(Waits, usize, usize)>> = Cell::new(None),
        /// Until when, on the monotonic clock; [`NEVER`] if it has no limit.
        pub deadline: Cell<i64> = Cell::new(NEVER),
        /// Why its last wait ended.
        pub woken_by: Cell<Woken> = Cell::new(Woken::Thread),
        /// Whether a signal handler ends its wait. Only the thread itself looks, and so need not have the baton.
        pub interruptible: Cell<bool> = Cell::new(false),
        /// Whether its being cancelled does.
        pub cancellable: Cell<bool> = Cell::new(false),
        /// Somebody wants it to end.
        pub cancelled: Cell<bool> = Cell::new(false),
        /// How many of its waits on one key signal handlers interrupt, this one among them; 0 if none does.
        pub interrupted: Cell<usize> = Cell::new(0),
        /// It waits in code of a library, which looks again if it is woken without a reason; how often it was, along a
        /// plan.
        pub in_library: Cell<bool> = Cell::new(false),
        /// How often it was woken so.
        pub woken_in_vain: Cell<u32> = Cell::new(0),
        /// A bit for each signal whose handler is still to run.
        pub deferred: AtomicU64 = AtomicU64::new(0),
        /// 1 if it should look around; it sleeps on this word.
        pub word: AtomicU32 = AtomicU32::new(0),
    }
}

impl Scheduled {
    /// Whether a thread that waits in a library is worth waking without a reason.
    pub fn looks_again(&self) -> bool {
        const OFTEN: u32 = 10_000;
        let before = self.woken_in_vain.get();
        self.woken_in_vain.set(before + u32::from(self.in_library.get()));
        self.in_library.get() && before < OFTEN
    }

    /// Whether it has passed the hooks of its turn.
    pub fn turn_is_over(&self) -> bool {
        self.ticks.load(Relaxed) >= self.turn_ends.load(Relaxed)
    }
}
