//! Formulas that are wrong on purpose, to show that the tests would notice.

/// One family of clauses broken. Only for tests: results are wrong, and the checker says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mutation {
    /// α: events that enter the formula are not tied to those of other threads.
    NoOrderBetweenThreads,
    /// The guards: constraints hold behind the race point too.
    NoGuards,
    /// β: a read need not take its value from anywhere.
    NoReadsFrom,
    /// β: other writes may come between a write and its read.
    NoInterference,
    /// β: one possible writer of each read is forgotten.
    ForgottenWriter,
    /// β: pinned accesses are free.
    NoPins,
    /// β: no branch needs the reads before it.
    NoBranches,
    /// β: a write that is read from needs none of the reads that decide what it wrote.
    NoDecisions,
    /// β: every read is needed, although nothing depends on it.
    NoFreeReads,
    /// γ: critical sections may overlap.
    NoLocks,
    /// γ: a lock that threads give back for each other may be in any state.
    NoHandOvers,
    /// γ: waits return without a notify.
    NoWaits,
    /// γ: one notify wakes many.
    NotifyWakesMany,
    /// γ: a failed acquire needs nobody to hold the lock.
    NoFailedAcquires,
    /// γ: a failed acquire may come before the section that explains it.
    EarlyFailedAcquires,
    /// γ: a failed acquire may come after the section that explains it.
    LateFailedAcquires,
    /// γ: semaphores have permits without end.
    NoPermits,
    /// γ: an attempt at a semaphore may fail whatever its count is.
    NoFailedWaits,
    /// γ: a count of a semaphore that was seen may be less than there are permits.
    SmallCounts,
    /// γ: it may be more.
    LargeCounts,
    /// γ: a once cell is always initialized, unless one end of it must happen first.
    NoOnces,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Mutation; 21] = [
        Mutation::NoOrderBetweenThreads,
        Mutation::NoGuards,
        Mutation::NoReadsFrom,
        Mutation::NoInterference,
        Mutation::ForgottenWriter,
        Mutation::NoPins,
        Mutation::NoBranches,
        Mutation::NoDecisions,
        Mutation::NoFreeReads,
        Mutation::NoLocks,
        Mutation::NoHandOvers,
        Mutation::NoWaits,
        Mutation::NotifyWakesMany,
        Mutation::NoFailedAcquires,
        Mutation::EarlyFailedAcquires,
        Mutation::LateFailedAcquires,
        Mutation::NoPermits,
        Mutation::NoFailedWaits,
        Mutation::SmallCounts,
        Mutation::LargeCounts,
        Mutation::NoOnces,
    ];
}
