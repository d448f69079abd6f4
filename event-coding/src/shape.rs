//! What is fixed for one instruction: the kind of its events, and which operands they have.

/// The numbers of the kinds.
#[expect(
    missing_docs,
    reason = "each is the operation of that name, defined in docs/SEMANTICS.md"
)]
pub mod kind {
    pub const BEGIN: u8 = 0;
    pub const END: u8 = 1;
    pub const FORK: u8 = 2;
    pub const JOIN: u8 = 3;
    pub const READ: u8 = 4;
    pub const WRITE: u8 = 5;
    pub const ACQUIRE: u8 = 6;
    pub const ACQUIRE_SHARED: u8 = 7;
    pub const RELEASE: u8 = 8;
    pub const ACQUIRE_FAILED: u8 = 9;
    pub const WAIT_BEGIN: u8 = 10;
    pub const WAIT_END: u8 = 11;
    pub const NOTIFY: u8 = 12;
    pub const NOTIFY_ALL: u8 = 13;
    pub const BARRIER_ENTER: u8 = 14;
    pub const BARRIER_EXIT: u8 = 15;
    pub const SEM_POST: u8 = 16;
    pub const SEM_WAIT: u8 = 17;
    pub const ONCE_BEGIN: u8 = 18;
    pub const ONCE_END: u8 = 19;
    pub const ONCE_WAIT: u8 = 20;
    pub const ATOMIC_LOAD: u8 = 21;
    pub const ATOMIC_STORE: u8 = 22;
    pub const ATOMIC_RMW: u8 = 23;
    pub const FENCE: u8 = 24;
    pub const ALLOC: u8 = 25;
    pub const FREE: u8 = 26;
    pub const BRANCH: u8 = 27;
    pub const INPUT: u8 = 28;
    pub const OUTPUT: u8 = 29;
    pub const USE: u8 = 30;
    pub const SEM_WAIT_FAILED: u8 = 31;
    pub const SEM_VALUE: u8 = 32;
    pub const DESTROY: u8 = 33;
    /// How many there are.
    pub const COUNT: u8 = 34;
    /// What each is called in docs/SEMANTICS.md.
    pub const NAMES: [&str; COUNT as usize] = [
        "begin",
        "end",
        "fork",
        "join",
        "read",
        "write",
        "acquire",
        "acquire_shared",
        "release",
        "acquire_failed",
        "wait_begin",
        "wait_end",
        "notify",
        "notify_all",
        "barrier_enter",
        "barrier_exit",
        "sem_post",
        "sem_wait",
        "once_begin",
        "once_end",
        "once_wait",
        "atomic_load",
        "atomic_store",
        "atomic_rmw",
        "fence",
        "alloc",
        "free",
        "branch",
        "input",
        "output",
        "use",
        "sem_wait_failed",
        "sem_value",
        "destroy",
    ];
}

/// The part of an operation that hardly changes from one execution of an instruction to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// One of [`kind`].
    pub kind: u8,
    /// Bits 0–2: size of an access − 1; bits 3–5: memory order; or bit 0: a flag.
    pub parameter: u8,
}

/// What the target of a kind is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// It has none.
    Absent,
    /// The address of an access, so the value is what that memory holds.
    Access,
    /// The address of a block of memory.
    Block,
    /// The number of an object or of a thread.
    Number,
}

/// Which operands a kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// What it acts on.
    pub target: TargetKind,
    /// Whether it has a value.
    pub value: bool,
    /// Whether it has a second one, which it stores.
    pub written: bool,
    /// Whether the program learns the value from memory.
    pub reads: bool,
}

impl Shape {
    /// An access: `size` is 1 to 8 bytes, `order` the C number of a memory order, 0 if it has none.
    #[inline(always)]
    #[must_use]
    pub const fn access(kind: u8, size: u8, order: u8) -> Shape {
        Shape {
            kind,
            parameter: (size.wrapping_sub(1) & 7) | order << 3,
        }
    }

    /// A kind with nothing else that is fixed.
    #[inline(always)]
    #[must_use]
    pub const fn plain(kind: u8) -> Shape {
        Shape { kind, parameter: 0 }
    }

    /// A kind with a flag.
    #[inline(always)]
    #[must_use]
    pub const fn flagged(kind: u8, flag: bool) -> Shape {
        Shape {
            kind,
            parameter: flag as u8,
        }
    }

    /// Which operands its events have; `None` for a kind that does not exist.
    #[inline(always)]
    #[must_use]
    pub const fn slots(self) -> Option<Slots> {
        // A table: nothing is known of the kind of an event that is rare enough to come here with any.
        const OF_KIND: [Slots; kind::COUNT as usize] = {
            let mut table = [Shape::slots_of(0); kind::COUNT as usize];
            let mut kind = 1;
            while kind < kind::COUNT {
                table[kind as usize] = Shape::slots_of(kind);
                kind += 1;
            }
            table
        };
        if self.kind < kind::COUNT {
            Some(OF_KIND[self.kind as usize])
        } else {
            None
        }
    }

    const fn slots_of(kind: u8) -> Slots {
        use kind::*;
        let (target, value) = match kind {
            BEGIN | END | FENCE | BRANCH => (TargetKind::Absent, false),
            READ | WRITE | DESTROY | ATOMIC_LOAD | ATOMIC_STORE | ATOMIC_RMW => (TargetKind::Access, true),
            ALLOC => (TargetKind::Block, true),
            FREE | USE => (TargetKind::Block, false),
            WAIT_BEGIN | WAIT_END | BARRIER_ENTER | BARRIER_EXIT | INPUT | SEM_VALUE => (TargetKind::Number, true),
            _ => (TargetKind::Number, false),
        };
        Slots {
            target,
            value,
            written: kind == ATOMIC_RMW,
            reads: matches!(kind, READ | ATOMIC_LOAD | ATOMIC_RMW),
        }
    }

    /// Bytes of its values: the size of an access, else 8.
    #[inline(always)]
    #[must_use]
    pub const fn width(self) -> u8 {
        match self.slots() {
            Some(Slots {
                target: TargetKind::Access,
                ..
            }) => (self.parameter & 7) + 1,
            _ => 8,
        }
    }

    /// Not 0, so that no instruction is taken for an empty entry.
    #[inline(always)]
    pub(crate) const fn code(self) -> u16 {
        ((self.kind as u16 + 1) << 8) | self.parameter as u16
    }

    #[inline(always)]
    pub(crate) const fn of_code(code: u16) -> Shape {
        Shape {
            kind: ((code >> 8) as u8).wrapping_sub(1),
            parameter: code as u8,
        }
    }
}

/// The bits of a value of `size` bytes, 1 to 8.
#[inline(always)]
#[must_use]
pub const fn mask(size: u8) -> u64 {
    u64::MAX >> (64 - 8 * size as u32)
}
