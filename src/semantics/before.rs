//! What comes before an operation in every prefix, besides what its thread did before it.
//!
//! Where one of several events would do, that is a [need](super::Need).

use super::{Family, Grounds, barriers, outside, threads};
use crate::trace::{ObjectId, Op, ThreadId};

/// What comes before an operation. (Before the first event of a thread comes its creation as well, whatever that event
/// is.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The last event of a thread; the creation of one that has none.
    End(ThreadId),
    /// All arrivals in a round of a barrier.
    Arrivals(ObjectId, u32),
    /// What came in from a source, and what had gone out to it by then.
    Exchanges(ObjectId),
    /// The allocation of the memory that it accesses, if that is in the trace.
    Allocation,
}

impl Before {
    /// What comes before an operation.
    #[must_use]
    pub fn of(op: Op) -> Option<Before> {
        match Family::of(op) {
            Family::Threads => match threads::Step::of(op)? {
                threads::Step::Join(child) => Some(Before::End(child)),
                threads::Step::Begin | threads::Step::End | threads::Step::Fork(_) => None,
            },
            Family::Barriers => match barriers::Step::of(op)? {
                // It would be in another round.
                (barrier, barriers::Step::Enter(round)) => {
                    (round.checked_sub(1)).map(|last| Before::Arrivals(barrier, last))
                }
                (barrier, barriers::Step::Exit(round)) => Some(Before::Arrivals(barrier, round)),
            },
            Family::Outside => match outside::Step::of(op)? {
                (source, outside::Step::Input(_)) => Some(Before::Exchanges(source)),
                (_, outside::Step::Output) => None,
            },
            Family::Memory => matches!(op, Op::Access).then_some(Before::Allocation),
            Family::Control | Family::Locks | Family::Waits | Family::Semaphores | Family::Onces => None,
        }
    }

    /// On what grounds it does. Of [some barriers](barriers::fixed) it is structure, too, who meets whom.
    #[must_use]
    pub fn grounds(self) -> Grounds {
        match self {
            Before::End(_) => Grounds::Structure,
            // Somebody told the thread where the block is.
            Before::Arrivals(..) | Before::Exchanges(_) | Before::Allocation => Grounds::Outcomes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_arrives_waits_for_the_round_before_and_who_leaves_for_its_own() {
        let barrier = ObjectId(3);
        let enter = |round| Before::of(Op::BarrierEnter { barrier, round });
        assert_eq!(enter(0), None);
        assert_eq!(enter(2), Some(Before::Arrivals(barrier, 1)));
        let exit = Before::of(Op::BarrierExit { barrier, round: 2 });
        assert_eq!(exit, Some(Before::Arrivals(barrier, 2)));
    }

    #[test]
    fn what_goes_out_waits_for_nothing_and_what_comes_in_for_all_at_its_source() {
        let source = ObjectId(1);
        assert_eq!(Before::of(Op::Output { source }), None);
        let value = 7;
        assert_eq!(Before::of(Op::Input { source, value }), Some(Before::Exchanges(source)));
    }
}
