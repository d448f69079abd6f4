//! What a schedule shows at its end.

use trace_format::EventId;

/// What a prefix of a trace ends in: what it has performed, what is then next, and how these stand to each other.
/// `docs/SEMANTICS.md`, section 3, defines each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Goal {
    /// Both accesses are next in their threads, enabled and in conflict. The first comes earlier in the trace.
    Race(EventId, EventId),
    /// The first access has happened, the second is next, and in this execution the first does not
    /// happen before the second: nothing synchronizes the two, though they are never next at once.
    UnorderedRace(EventId, EventId),
    /// The free has happened, and the access of the freed block, in another thread, is next.
    UseAfterFree {
        /// The free.
        free: EventId,
        /// The access.
        access: EventId,
    },
    /// The first and the second access are of one thread, and one of another thread comes between them, with which they
    /// are no more what they would be without it: the first has happened, the second is next.
    AtomicityViolation {
        /// The first of the two.
        first: EventId,
        /// The other thread's, which is behind the first.
        between: EventId,
        /// The second of the two.
        second: EventId,
        /// Whether the other thread's is next as well, and has not happened yet.
        both_next: bool,
    },
    /// One thread reads two variables that stand for the same, another thread writes both, and one of the reads sees
    /// what the other thread has written, the other one does not.
    TornPair {
        /// The first of the reads.
        first: EventId,
        /// The writes: of what the first read sees, and of what the second sees, in whichever order they come.
        writes: [EventId; 2],
        /// The second of the reads, which is next.
        second: EventId,
        /// Whether only the write that comes first has happened. If both have, they have come between the reads.
        unfinished: bool,
    },
    /// None of these accesses has happened, and another one that must not come before them is next.
    Order {
        /// What has to come first: of the accesses that are meant, the first one of each thread, ascending.
        awaited: Vec<EventId>,
        /// The access that comes too early.
        early: EventId,
    },
    /// The read, which may be that of a read-modify-write, is next in its thread and would see another value than in
    /// the trace.
    OtherValue {
        /// The read.
        read: EventId,
        /// What it would see; `None`: a value that the trace does not tell.
        value: Option<u64>,
    },
    /// The free has happened, and the read of a pointer, which its thread follows in the trace, is next and would see an
    /// address in the block that was freed.
    StalePointer {
        /// The free.
        free: EventId,
        /// The read.
        read: EventId,
        /// The address that it would see.
        value: u64,
    },
    /// These operations of different threads, in the order of the trace, are next, and each waits for ever for another
    /// of the threads: for a lock that it holds, or for its end. Or the threads are all that are there, and each of the
    /// operations waits so, or for something that any thread might do.
    Deadlock(Vec<EventId>),
    /// These operations of different threads, in the order of the trace, are next, and each waits for another of the
    /// threads, or for what nobody else gives as far as the trace tells, while somebody else is left.
    PartialDeadlock(Vec<EventId>),
}

impl Goal {
    /// That both accesses are next.
    #[must_use]
    pub fn race(a: EventId, b: EventId) -> Goal {
        Goal::Race(a.min(b), a.max(b))
    }

    /// That these operations wait for each other.
    #[must_use]
    pub fn deadlock(mut waiting: Vec<EventId>) -> Goal {
        waiting.sort_unstable();
        Goal::Deadlock(waiting)
    }

    /// That these operations wait while others go on.
    #[must_use]
    pub fn partial_deadlock(mut waiting: Vec<EventId>) -> Goal {
        waiting.sort_unstable();
        Goal::PartialDeadlock(waiting)
    }

    /// The operations that wait for ever, if it is a deadlock or a partial one.
    #[must_use]
    pub fn waiting(&self) -> Option<&[EventId]> {
        match self {
            Goal::Deadlock(waiting) | Goal::PartialDeadlock(waiting) => Some(waiting),
            Goal::Race(..)
            | Goal::UnorderedRace(..)
            | Goal::UseAfterFree { .. }
            | Goal::AtomicityViolation { .. }
            | Goal::TornPair { .. }
            | Goal::Order { .. }
            | Goal::OtherValue { .. }
            | Goal::StalePointer { .. } => None,
        }
    }

    /// That an access comes before any of these.
    #[must_use]
    pub fn order(mut awaited: Vec<EventId>, early: EventId) -> Goal {
        awaited.sort_unstable();
        Goal::Order { awaited, early }
    }

    /// Whether it is a race of two accesses of which the first has happened.
    #[must_use]
    pub fn is_unordered(&self) -> bool {
        matches!(self, Goal::UnorderedRace(..))
    }

    /// The events that it is about, in its order: those that have happened or must not have, then those that are next.
    pub fn events(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        // Program order performs the first read of a pair together with what follows it.
        let implied = match *self {
            Goal::TornPair { first, writes, .. } => [Some(first), Some(writes[0]), Some(writes[1])],
            _ => [None; 3],
        };
        let is_implied = implied[0].is_some();
        let performed = self.performed().chain(self.awaited().iter().copied());
        implied
            .into_iter()
            .flatten()
            .chain(performed.filter(move |_| !is_implied))
            .chain(self.pending())
    }

    /// Those of its events that have happened, in the order in which they have to.
    pub fn performed(&self) -> impl Iterator<Item = EventId> + Clone + use<> {
        let performed = match *self {
            Goal::UnorderedRace(first, _)
            | Goal::UseAfterFree { free: first, .. }
            | Goal::StalePointer { free: first, .. } => [Some(first), None, None],
            Goal::AtomicityViolation {
                first,
                between,
                both_next,
                ..
            } => [Some(first), Some(between).filter(|_| !both_next), None],
            // The second read being next, the first has happened.
            Goal::TornPair {
                first,
                writes: [of_first, of_second],
                unfinished,
                ..
            } => match (unfinished, of_first < of_second) {
                (true, true) => [Some(of_first), Some(first), None],
                (true, false) => [Some(of_second), None, None],
                (false, true) => [Some(first), Some(of_first), Some(of_second)],
                (false, false) => [Some(first), Some(of_first), None],
            },
            Goal::Race(..)
            | Goal::OtherValue { .. }
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_)
            | Goal::Order { .. } => [None; 3],
        };
        performed.into_iter().flatten()
    }

    /// The last of its events that have happened and that stand in conflict with what is next: of an atomicity
    /// violation, the other thread's, if that has happened.
    #[must_use]
    pub fn performed_last(&self) -> Option<EventId> {
        match self {
            Goal::AtomicityViolation { both_next: true, .. } => None,
            Goal::TornPair { writes, unfinished, .. } => {
                Some(writes[1]).filter(|_| !unfinished || writes[1] < writes[0])
            }
            _ => self.performed().last(),
        }
    }

    /// Those of its events that must not have happened, and need not be next.
    #[must_use]
    pub fn awaited(&self) -> &[EventId] {
        match self {
            Goal::Order { awaited, .. } => awaited,
            Goal::TornPair {
                writes,
                unfinished: true,
                ..
            } => std::slice::from_ref(if writes[0] < writes[1] { &writes[1] } else { &writes[0] }),
            Goal::Race(..)
            | Goal::UnorderedRace(..)
            | Goal::UseAfterFree { .. }
            | Goal::AtomicityViolation { .. }
            | Goal::TornPair { .. }
            | Goal::OtherValue { .. }
            | Goal::StalePointer { .. }
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_) => &[],
        }
    }

    /// Those of its events that are next in their threads.
    pub fn pending(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        let (listed, pending): (&[EventId], _) = match self {
            Goal::Race(first, second) => (&[], [Some(*first), Some(*second)]),
            Goal::UnorderedRace(_, next) | Goal::UseAfterFree { access: next, .. } => (&[], [Some(*next), None]),
            Goal::AtomicityViolation {
                between,
                second,
                both_next,
                ..
            } => (&[], [Some(*between).filter(|_| *both_next), Some(*second)]),
            Goal::OtherValue { read, .. } | Goal::StalePointer { read, .. } => (&[], [Some(*read), None]),
            Goal::Order { early, .. } => (&[], [Some(*early), None]),
            Goal::TornPair { second, .. } => (&[], [Some(*second), None]),
            Goal::Deadlock(waiting) | Goal::PartialDeadlock(waiting) => (waiting, [None, None]),
        };
        listed.iter().copied().chain(pending.into_iter().flatten())
    }
}
