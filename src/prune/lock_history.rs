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
pub fn history_clash(a: &LockContext, b: &LockContext) -> Option<HistoryClash> {
    for (&held_a, since_a) in &a.held {
        for (&held_b, since_b) in &b.held {
            let clashes = |hold: Hold, history: &std::collections::BTreeSet<Hold>| {
                history.contains(&(hold.0, false)) || (!hold.1 && history.contains(&(hold.0, true)))
            };
            if held_a.0 != held_b.0 && clashes(held_b, since_a) && clashes(held_a, since_b) {
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
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    const EXCLUSIVE: bool = false;
    const SHARED: bool = true;

    /// A context: each lock held, with what was acquired since.
    fn context(held: &[(Hold, &[Hold])]) -> LockContext {
        let history = |since: &[Hold]| since.iter().copied().collect::<BTreeSet<Hold>>();
        LockContext {
            held: held
                .iter()
                .map(|&(hold, since)| (hold, history(since)))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn hold(lock: u32, shared: bool) -> Hold {
        (ObjectId(lock), shared)
    }

    #[test]
    fn each_thread_took_the_others_lock_after_its_own() {
        let first = context(&[(hold(1, EXCLUSIVE), &[hold(2, EXCLUSIVE)])]);
        let second = context(&[(hold(2, EXCLUSIVE), &[hold(1, EXCLUSIVE)])]);
        let clash = history_clash(&first, &second);
        assert_eq!(
            clash,
            Some(HistoryClash {
                first: ObjectId(1),
                second: ObjectId(2)
            })
        );
    }

    #[test]
    fn one_history_alone_excludes_nothing() {
        let first = context(&[(hold(1, EXCLUSIVE), &[hold(2, EXCLUSIVE)])]);
        let second = context(&[(hold(2, EXCLUSIVE), &[])]);
        assert_eq!(history_clash(&first, &second), None);
    }

    #[test]
    fn readers_do_not_clash_with_readers() {
        let first = context(&[(hold(1, SHARED), &[hold(2, SHARED)])]);
        let reads_both = context(&[(hold(2, SHARED), &[hold(1, SHARED)])]);
        let writes_both = context(&[(hold(2, EXCLUSIVE), &[hold(1, EXCLUSIVE)])]);
        assert_eq!(history_clash(&first, &reads_both), None);
        assert!(history_clash(&first, &writes_both).is_some());
    }
}
