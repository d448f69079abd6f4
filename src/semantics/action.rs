//! Actions: operations on objects in any names, before it is known how they turn out.
//!
//! An event of a trace says what happened: a lock was taken, or found held. What a thread is about to do has not turned
//! out yet, so taking a lock and finding it held are one action here, with two [ways to turn out](Turned). The forest
//! and its machine know only these. What several parts ask of all actions is answered here, from the table of
//! `docs/SEMANTICS.md`.

use super::locks::{self, Mode};
use super::semaphores;
use trace_format::{ObjectId, Op, WaitOutcome};

/// An operation on objects that are called `O`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action<O> {
    /// Takes a lock; the attempt may fail.
    Acquire(O, Mode),
    /// Gives back a level of a lock.
    Release(O),
    /// Starts to wait on a condition: releases the lock.
    WaitBegin(O, O),
    /// Ends waiting, notified or timed out, with the lock held again.
    WaitEnd(O, O),
    /// Wakes one waiter of a condition, if there is one.
    Notify(O),
    /// Wakes all.
    NotifyAll(O),
    /// Arrives at a barrier; the thread may be the last of its round.
    BarrierEnter(O),
    /// Leaves it.
    BarrierExit(O),
    /// Adds a permit to a semaphore.
    Post(O),
    /// Takes one; the attempt may fail.
    Take(O),
    /// Comes to a once cell: it is the first and starts to initialize it, or finds it done.
    Once(O),
    /// Ends the initialization.
    OnceEnd(O),
}

/// How an action turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Turned {
    /// In the only way there is; of an attempt: it succeeded; of a wait: it was notified; of a once cell: it was done.
    Done,
    /// An attempt failed; a wait timed out.
    GaveUp,
    /// The thread was the last of its round of a barrier, or the first at a once cell.
    Chosen,
}

/// What an action leaves at an object for those that come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Itself, in place of what others left.
    Instead,
    /// Itself, beside what others left, in any order.
    Beside,
}

/// What decides when an action happens, and how it turns out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Nothing: it happens at once, and turns out in one way.
    One,
    /// Whether it can happen now; if not, its thread waits or gives up.
    Attempt,
    /// What others have done, in a way of its own.
    ByOthers,
}

impl<O: Copy + Eq> Action<O> {
    /// The same in other names; `None` if one of its objects has none.
    pub fn rename<P>(self, mut name: impl FnMut(O) -> Option<P>) -> Option<Action<P>> {
        Some(match self {
            Action::Acquire(lock, mode) => Action::Acquire(name(lock)?, mode),
            Action::Release(lock) => Action::Release(name(lock)?),
            Action::WaitBegin(condition, lock) => Action::WaitBegin(name(condition)?, name(lock)?),
            Action::WaitEnd(condition, lock) => Action::WaitEnd(name(condition)?, name(lock)?),
            Action::Notify(condition) => Action::Notify(name(condition)?),
            Action::NotifyAll(condition) => Action::NotifyAll(name(condition)?),
            Action::BarrierEnter(barrier) => Action::BarrierEnter(name(barrier)?),
            Action::BarrierExit(barrier) => Action::BarrierExit(name(barrier)?),
            Action::Post(semaphore) => Action::Post(name(semaphore)?),
            Action::Take(semaphore) => Action::Take(name(semaphore)?),
            Action::Once(once) => Action::Once(name(once)?),
            Action::OnceEnd(once) => Action::OnceEnd(name(once)?),
        })
    }

    /// The number of the kind of event that it is if it turns out so.
    #[must_use]
    pub fn kind(self, turned: Turned) -> u8 {
        let numbered = self.rename(|_| Some(ObjectId(0)));
        numbered.expect("each object has this name").event(turned).kind()
    }

    /// The object that it is about, of a wait the condition.
    #[must_use]
    pub fn object(self) -> O {
        match self {
            Action::WaitBegin(condition, _) | Action::WaitEnd(condition, _) => condition,
            Action::Acquire(it, _)
            | Action::Release(it)
            | Action::Notify(it)
            | Action::NotifyAll(it)
            | Action::BarrierEnter(it)
            | Action::BarrierExit(it)
            | Action::Post(it)
            | Action::Take(it)
            | Action::Once(it)
            | Action::OnceEnd(it) => it,
        }
    }

    /// The lock that it is about, and what it does to it if it turns out so.
    #[must_use]
    pub fn at_lock(self, turned: Turned) -> Option<(O, locks::Step)> {
        let shared = |mode| mode == Mode::Shared;
        Some(match self {
            Action::Acquire(lock, mode) if turned == Turned::GaveUp => {
                (lock, locks::Step::FindHeld { shared: shared(mode) })
            }
            Action::Acquire(lock, mode) => (lock, locks::Step::Take { shared: shared(mode) }),
            Action::Release(lock) => (lock, locks::Step::GiveBack),
            Action::WaitBegin(_, lock) => (lock, locks::Step::GiveUp),
            Action::WaitEnd(_, lock) => (lock, locks::Step::TakeAgain),
            _ => return None,
        })
    }

    /// The semaphore that it is about, and what it does to it if it turns out so.
    #[must_use]
    pub fn at_semaphore(self, turned: Turned) -> Option<(O, semaphores::Step)> {
        Some(match self {
            Action::Post(semaphore) => (semaphore, semaphores::Step::Post),
            Action::Take(semaphore) if turned == Turned::GaveUp => (semaphore, semaphores::Step::FailedWait),
            Action::Take(semaphore) => (semaphore, semaphores::Step::Wait),
            _ => return None,
        })
    }

    /// What decides when it happens, and how it turns out.
    #[must_use]
    pub fn ways(self) -> Ways {
        match self {
            Action::Acquire(..) | Action::Take(_) => Ways::Attempt,
            Action::WaitEnd(..)
            | Action::Notify(_)
            | Action::BarrierEnter(_)
            | Action::BarrierExit(_)
            | Action::Once(_) => Ways::ByOthers,
            Action::Release(_)
            | Action::WaitBegin(..)
            | Action::NotifyAll(_)
            | Action::Post(_)
            | Action::OnceEnd(_) => Ways::One,
        }
    }

    /// What the thread does next, whatever comes: the second half of a wait, or of a barrier.
    #[must_use]
    pub fn second_half(self) -> Option<Action<O>> {
        match self {
            Action::WaitBegin(condition, lock) => Some(Action::WaitEnd(condition, lock)),
            Action::BarrierEnter(barrier) => Some(Action::BarrierExit(barrier)),
            _ => None,
        }
    }

    /// The objects that it touches, and whether it changes them. Two actions that change nothing that the other touches
    /// can be exchanged: in either order they lead to the same state, and neither changes how the other turns out.
    #[must_use]
    pub fn touches(self) -> [Option<(O, bool)>; 2] {
        let only = match self {
            Action::Acquire(lock, mode) => (lock, mode == Mode::Exclusive),
            Action::WaitBegin(condition, lock) | Action::WaitEnd(condition, lock) => {
                return [Some((condition, true)), Some((lock, true))];
            }
            // Permits may be given in any order.
            Action::Post(it) | Action::BarrierExit(it) => (it, false),
            Action::Release(it)
            | Action::Notify(it)
            | Action::NotifyAll(it)
            | Action::Take(it)
            | Action::BarrierEnter(it)
            | Action::Once(it)
            | Action::OnceEnd(it) => (it, true),
        };
        [Some(only), None]
    }

    /// Whether no other thread can tell that it happened, and it only looked.
    #[must_use]
    pub fn only_looks(self, turned: Turned) -> bool {
        self.ways() == Ways::Attempt && turned == Turned::GaveUp
    }

    /// Whether a loop that waits may do it in each round: it only looks, or takes a lock that the round gives back.
    #[must_use]
    pub fn may_be_in_a_waiting_loop(self, turned: Turned) -> bool {
        self.only_looks(turned) || matches!(self, Action::Acquire(..) | Action::Release(_))
    }

    /// The object, no lock, at which it matters to the thread what others left there: they let it go on, or kept it
    /// from that.
    #[must_use]
    pub fn sees_what_was_left(self, turned: Turned) -> Option<O> {
        match self {
            Action::Notify(it) | Action::NotifyAll(it) | Action::Take(it) | Action::Once(it) => Some(it),
            Action::BarrierEnter(it) if turned == Turned::Chosen => Some(it),
            _ => None,
        }
    }

    /// What it leaves at which object that is no lock. (A notify leaves something only if it wakes somebody.)
    #[must_use]
    pub fn leaves(self, turned: Turned) -> Option<(O, Leaves)> {
        match self {
            Action::WaitBegin(it, _) | Action::Post(it) => Some((it, Leaves::Beside)),
            Action::BarrierEnter(it) if turned == Turned::Chosen => Some((it, Leaves::Instead)),
            Action::BarrierEnter(it) => Some((it, Leaves::Beside)),
            Action::Take(it) if turned == Turned::Done => Some((it, Leaves::Instead)),
            Action::Once(it) if turned == Turned::Chosen => Some((it, Leaves::Instead)),
            Action::OnceEnd(it) | Action::Notify(it) | Action::NotifyAll(it) => Some((it, Leaves::Instead)),
            _ => None,
        }
    }
}

impl Action<ObjectId> {
    /// The action that an event of a trace is, and how it turned out; whether who arrived at a barrier was the last of
    /// its round, the event does not say. `None` for what is no action: on threads and memory, and of the outside, as
    /// is a count that a program asks for.
    #[must_use]
    pub fn of(op: Op) -> Option<(Action<ObjectId>, Turned)> {
        let done = |action| Some((action, Turned::Done));
        match op {
            Op::Acquire { lock, .. } => done(Action::Acquire(lock, Mode::Exclusive)),
            Op::AcquireShared { lock, .. } => done(Action::Acquire(lock, Mode::Shared)),
            Op::AcquireFailed { lock, shared } => Some((Action::Acquire(lock, Mode::of(shared)), Turned::GaveUp)),
            Op::Release { lock } => done(Action::Release(lock)),
            Op::WaitBegin { condition, lock } => done(Action::WaitBegin(condition, lock)),
            Op::WaitEnd {
                condition,
                lock,
                outcome,
                ..
            } => {
                let turned = match outcome {
                    WaitOutcome::Notified => Turned::Done,
                    WaitOutcome::TimedOut => Turned::GaveUp,
                };
                Some((Action::WaitEnd(condition, lock), turned))
            }
            Op::Notify { condition } => done(Action::Notify(condition)),
            Op::NotifyAll { condition } => done(Action::NotifyAll(condition)),
            Op::BarrierEnter { barrier, .. } => done(Action::BarrierEnter(barrier)),
            Op::BarrierExit { barrier, .. } => done(Action::BarrierExit(barrier)),
            Op::SemPost { semaphore } => done(Action::Post(semaphore)),
            Op::SemWait { semaphore, .. } => done(Action::Take(semaphore)),
            Op::SemWaitFailed { semaphore } => Some((Action::Take(semaphore), Turned::GaveUp)),
            Op::OnceBegin { once } => Some((Action::Once(once), Turned::Chosen)),
            Op::OnceWait { once } => done(Action::Once(once)),
            Op::OnceEnd { once } => done(Action::OnceEnd(once)),
            Op::SemValue { .. }
            | Op::Begin
            | Op::End
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Read { .. }
            | Op::Write { .. }
            | Op::AtomicLoad { .. }
            | Op::AtomicStore { .. }
            | Op::AtomicRmw { .. }
            | Op::Use { .. }
            | Op::Destroy { .. }
            | Op::Fence { .. }
            | Op::Branch
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Input { .. }
            | Op::Output { .. } => None,
        }
    }

    /// The event that it is if it turns out so, but for the number of a barrier's round.
    #[must_use]
    pub fn event(self, turned: Turned) -> Op {
        let (round, attempt, gave_up) = (0, false, turned == Turned::GaveUp);
        match self {
            Action::Acquire(lock, mode) if gave_up => Op::AcquireFailed {
                lock,
                shared: mode == Mode::Shared,
            },
            Action::Acquire(lock, Mode::Exclusive) => Op::Acquire { lock, attempt },
            Action::Acquire(lock, Mode::Shared) => Op::AcquireShared { lock, attempt },
            Action::Release(lock) => Op::Release { lock },
            Action::WaitBegin(condition, lock) => Op::WaitBegin { condition, lock },
            Action::WaitEnd(condition, lock) => Op::WaitEnd {
                condition,
                lock,
                outcome: if gave_up {
                    WaitOutcome::TimedOut
                } else {
                    WaitOutcome::Notified
                },
                attempt,
            },
            Action::Notify(condition) => Op::Notify { condition },
            Action::NotifyAll(condition) => Op::NotifyAll { condition },
            Action::BarrierEnter(barrier) => Op::BarrierEnter { barrier, round },
            Action::BarrierExit(barrier) => Op::BarrierExit {
                barrier,
                round,
                attempt,
            },
            Action::Post(semaphore) => Op::SemPost { semaphore },
            Action::Take(semaphore) if gave_up => Op::SemWaitFailed { semaphore },
            Action::Take(semaphore) => Op::SemWait { semaphore, attempt },
            Action::Once(once) if turned == Turned::Chosen => Op::OnceBegin { once },
            Action::Once(once) => Op::OnceWait { once },
            Action::OnceEnd(once) => Op::OnceEnd { once },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, with all ways in which it turns out.
    fn all() -> Vec<(Action<ObjectId>, Turned)> {
        let (a, b) = (ObjectId(1), ObjectId(2));
        let attempt = |action| [(action, Turned::Done), (action, Turned::GaveUp)];
        let chosen = |action| [(action, Turned::Done), (action, Turned::Chosen)];
        let mut all: Vec<(Action<ObjectId>, Turned)> = [
            attempt(Action::Acquire(a, Mode::Exclusive)),
            attempt(Action::Acquire(a, Mode::Shared)),
            attempt(Action::WaitEnd(a, b)),
            attempt(Action::Take(a)),
            chosen(Action::Once(a)),
        ]
        .concat();
        let one_way = [
            Action::Release(a),
            Action::WaitBegin(a, b),
            Action::Notify(a),
            Action::NotifyAll(a),
            Action::BarrierEnter(a),
            Action::BarrierExit(a),
            Action::Post(a),
            Action::OnceEnd(a),
        ];
        all.extend(one_way.map(|action| (action, Turned::Done)));
        all
    }

    #[test]
    fn each_event_is_the_action_that_it_was_made_of() {
        let all = all();
        for &(action, turned) in &all {
            assert_eq!(Action::of(action.event(turned)), Some((action, turned)));
        }
        let mut kinds: Vec<u8> = all.iter().map(|&(action, turned)| action.kind(turned)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        // One kind of event ends a wait in both ways, and one finds a lock held in both modes.
        assert_eq!(kinds.len(), all.len() - 2);
    }

    #[test]
    fn an_action_changes_a_lock_or_semaphore_only_where_it_touches_it_so() {
        for (action, turned) in all() {
            let changed = |object| {
                action
                    .touches()
                    .into_iter()
                    .flatten()
                    .any(|touch| touch == (object, true))
            };
            if let Some((lock, step)) = action.at_lock(turned) {
                assert_eq!(
                    changed(lock),
                    step != (locks::Step::Take { shared: true }) && !shared(action)
                );
            }
            if let Some((semaphore, step)) = action.at_semaphore(turned) {
                assert!(
                    changed(semaphore) || step.adds() > 0,
                    "permits may be given in any order"
                );
            }
        }
    }

    /// An attempt at a lock for reading looks at it, whether it succeeds or not.
    fn shared(action: Action<ObjectId>) -> bool {
        matches!(action, Action::Acquire(_, Mode::Shared))
    }
}
