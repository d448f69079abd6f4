//! Lock acquisition histories (Kahlon, Ivančić, Gupta, CAV 2005).
//!
//! Let thread 1 hold l₁ and have acquired l₂ since it took l₁ for the last time, and let thread 2
//! hold l₂ and have acquired l₁ since it took l₂. Then neither order of the two last acquisitions
//! is possible: thread 1's time with l₂ lies after its taking of l₁ and before thread 2's taking
//! of l₂, and the other way round. So the two points are never reached at the same time, whatever
//! the two acquired in between was given back or not.
//!
//! With readers, each of the two clashes must be between holds that exclude each other. Two
//! threads can only clash through such a pair of locks: longer cycles contain one.

use super::histories::HistoryId;
use super::lockset::{Hold, LockContext};
use crate::trace::ObjectId;

/// Two locks whose histories exclude that both contexts are reached at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryClash {
    /// Held by the first thread, and acquired by the second since it took `second`.
    pub first: ObjectId,
    /// Held by the second thread, and acquired by the first since it took `first`.
    pub second: ObjectId,
}

/// The first clash of the acquisition histories of two contexts, if there is one.
#[must_use]
pub fn history_clash(a: LockContext<'_>, b: LockContext<'_>) -> Option<HistoryClash> {
    let clashes = |(lock, shared): Hold, context: LockContext<'_>, since: HistoryId| {
        let has = |hold| context.histories.contains(since, hold);
        has((lock, false)) || (!shared && has((lock, true)))
    };
    for &(held_a, since_a) in a.held {
        for &(held_b, since_b) in b.held {
            if held_a.0 != held_b.0 && clashes(held_b, a, since_a) && clashes(held_a, b, since_b) {
                return Some(HistoryClash {
                    first: held_a.0,
                    second: held_b.0,
                });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::histories::Histories;
    use super::*;

    const EXCLUSIVE: bool = false;
    const SHARED: bool = true;

    /// The clash of two threads that each hold one lock, and have acquired others since.
    fn clash(a: (Hold, &[Hold]), b: (Hold, &[Hold])) -> Option<HistoryClash> {
        let mut histories = Histories::default();
        let [held_a, held_b] = [a, b].map(|(held, since)| {
            let since = since.iter();
            [(
                held,
                since.fold(HistoryId::EMPTY, |set, &hold| histories.with(set, hold, 0)),
            )]
        });
        let [a, b] = [&held_a, &held_b].map(|held| LockContext {
            held,
            histories: &histories,
        });
        history_clash(a, b)
    }

    fn hold(lock: u32, shared: bool) -> Hold {
        (ObjectId(lock), shared)
    }

    #[test]
    fn each_thread_took_the_others_lock_after_its_own() {
        let (one, two) = (hold(1, EXCLUSIVE), hold(2, EXCLUSIVE));
        assert_eq!(
            clash((one, &[two]), (two, &[one])),
            Some(HistoryClash {
                first: ObjectId(1),
                second: ObjectId(2)
            })
        );
    }

    #[test]
    fn one_history_alone_excludes_nothing() {
        let (one, two) = (hold(1, EXCLUSIVE), hold(2, EXCLUSIVE));
        assert_eq!(clash((one, &[two]), (two, &[])), None);
    }

    #[test]
    fn readers_do_not_clash_with_readers() {
        let first = (hold(1, SHARED), &[hold(2, SHARED)][..]);
        assert_eq!(clash(first, (hold(2, SHARED), &[hold(1, SHARED)])), None);
        assert!(clash(first, (hold(2, EXCLUSIVE), &[hold(1, EXCLUSIVE)])).is_some());
    }
}
