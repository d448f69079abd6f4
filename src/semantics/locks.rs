//! Locks: taken alone or beside other readers, given back, found held. A wait gives its lock up and takes it again.

use super::passing::{Among, Passing};
use super::{Grounds, InOrder};
use crate::trace::{EventId, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// How a lock is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// For one thread alone.
    Exclusive,
    /// As a reader.
    Shared,
}

impl Mode {
    /// As a reader, or alone.
    #[must_use]
    pub fn of(shared: bool) -> Mode {
        if shared { Mode::Shared } else { Mode::Exclusive }
    }
}

/// What an operation does to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Takes it, or one level more of it.
    Take {
        /// As a reader.
        shared: bool,
    },
    /// Gives one level back.
    GiveBack,
    /// Gives all levels back, to wait.
    GiveUp,
    /// Takes it after a wait, at the depth that it had.
    TakeAgain,
    /// Finds it held, and gives up.
    FindHeld {
        /// It was wanted as a reader.
        shared: bool,
    },
}

/// A lock as a thread finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Somebody holds it alone; whether that is the thread itself.
    pub alone: Option<bool>,
    /// Somebody reads it, perhaps the thread itself.
    pub read: bool,
    /// A thread that holds it alone may take it once more.
    pub recursive: bool,
}

/// Whether nobody can have a lock in one mode, as a reader or alone, while somebody else has it in another.
#[must_use]
pub fn excludes(reader: bool, other_reader: bool) -> bool {
    !(reader && other_reader)
}

impl Step {
    /// What an operation does to which lock.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::Acquire { lock } => Some((lock, Step::Take { shared: false })),
            Op::AcquireShared { lock } => Some((lock, Step::Take { shared: true })),
            Op::Release { lock } => Some((lock, Step::GiveBack)),
            Op::WaitBegin { lock, .. } => Some((lock, Step::GiveUp)),
            Op::WaitEnd { lock, .. } => Some((lock, Step::TakeAgain)),
            Op::AcquireFailed { lock, shared } => Some((lock, Step::FindHeld { shared })),
            _ => None,
        }
    }

    /// Whether the thread has the lock after it.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(self, Step::Take { .. } | Step::TakeAgain)
    }

    /// Whether the thread has one level less after it, or none.
    #[must_use]
    pub fn gives_back(self) -> bool {
        matches!(self, Step::GiveBack | Step::GiveUp)
    }

    /// Whether it is enabled for a thread that finds the lock so. (A level that it gives back may be another thread's,
    /// as traces may declare.)
    #[must_use]
    pub fn is_enabled(self, found: Found) -> bool {
        let mine = found.alone == Some(true);
        match self {
            Step::Take { shared: true } => found.alone.is_none(),
            Step::Take { shared: false } => {
                let free = found.alone.is_none() && !found.read;
                free || mine && found.recursive
            }
            Step::TakeAgain => found.alone.is_none() && !found.read,
            Step::GiveBack => found.alone.is_some() || found.read,
            Step::GiveUp => mine,
            // Of a recursive mutex, its holder is never told that it is held.
            Step::FindHeld { shared } => {
                found.alone.is_some_and(|mine| !(mine && found.recursive)) || found.read && excludes(shared, true)
            }
        }
    }

    /// Two sections on one lock never overlap; whether an attempt meets one, and whether a thread waits, is an outcome.
    #[must_use]
    pub fn grounds(self) -> Grounds {
        match self {
            Step::Take { .. } | Step::GiveBack => Grounds::Structure,
            Step::GiveUp | Step::TakeAgain | Step::FindHeld { .. } => Grounds::Outcomes,
        }
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Take { shared: true } => InOrder::WithChanges,
            // One that finds readers stays behind the first of them, so it does not just look as they do.
            Step::FindHeld { .. } => InOrder::WithAll,
            Step::Take { shared: false } | Step::GiveBack | Step::GiveUp | Step::TakeAgain => InOrder::WithAll,
        }
    }

    /// What it passes on, if threads give back what others hold (`for_others`), or if it gives back what it held as a
    /// reader.
    pub(super) fn passing(self, for_others: bool, by_reader: bool) -> &'static [Passing] {
        match self {
            Step::Take { shared: true } => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Takers)],
            Step::Take { shared: false } | Step::TakeAgain => &[
                Passing::Learns(Among::Givers),
                Passing::Learns(Among::Readers),
                Passing::Tells(Among::Takers),
            ],
            Step::GiveBack if for_others => &[Passing::Learns(Among::Takers), Passing::Tells(Among::Givers)],
            Step::GiveBack if by_reader => &[Passing::Tells(Among::Readers)],
            Step::GiveBack | Step::GiveUp => &[Passing::Tells(Among::Givers)],
            Step::FindHeld { .. } => &[Passing::Learns(Among::Takers)],
        }
    }

    pub(super) fn words(self, lock: &str) -> String {
        match self {
            Step::Take { shared: false } | Step::TakeAgain => format!("locks {lock}"),
            Step::Take { shared: true } => format!("locks {lock} for reading"),
            Step::GiveBack | Step::GiveUp => format!("unlocks {lock}"),
            Step::FindHeld { .. } => format!("finds {lock} held, and gives up"),
        }
    }
}

/// Who holds a lock that threads may give back for each other. (Of other locks it is enough to know the sections.)
#[derive(Clone, Debug, Default)]
pub struct State {
    owner: Option<(ThreadId, u32)>,
    readers: BTreeMap<ThreadId, u32>,
    /// The depth kept across a wait, by its beginning.
    kept: HashMap<EventId, u32>,
}

impl State {
    /// The lock before the trace, by its events: whoever gives it back when nobody has it held it, alone unless
    /// somebody had read it by the last of these times.
    #[must_use]
    pub fn before(events: impl IntoIterator<Item = (ThreadId, Op)>) -> State {
        let mut found = State::default();
        let mut read = false;
        let mut reading: BTreeMap<ThreadId, u32> = BTreeMap::new();
        for (thread, op) in events {
            match Step::of(op) {
                Some((_, Step::Take { shared: true })) => {
                    read = true;
                    *reading.entry(thread).or_default() += 1;
                }
                Some((_, Step::GiveBack | Step::GiveUp)) => {
                    if !give_back_one(&mut reading, thread) {
                        match read {
                            true => *found.readers.entry(thread).or_default() += 1,
                            false => found.owner.get_or_insert((thread, 0)).1 += 1,
                        }
                    }
                }
                Some((_, Step::FindHeld { .. })) => {}
                Some((_, Step::Take { shared: false } | Step::TakeAgain)) | None => break,
            }
        }
        if !found.readers.is_empty()
            && let Some((owner, depth)) = found.owner.take()
        {
            *found.readers.entry(owner).or_default() += depth;
        }
        found
    }

    /// Performs an event of the lock. Returns whether it was enabled.
    pub fn perform(&mut self, trace: &Trace, event: EventId) -> bool {
        let thread = trace.thread(event);
        let Some((lock, step)) = Step::of(trace.op(event)) else {
            return true;
        };
        let mine = self.owner.filter(|&(owner, _)| owner == thread);
        let enabled = step.is_enabled(Found {
            alone: self.owner.map(|(owner, _)| owner == thread),
            read: !self.readers.is_empty(),
            recursive: match step {
                Step::Take { .. } => trace.is_taken_again(lock),
                _ => trace.is_recursive(lock),
            },
        });
        match step {
            Step::Take { shared: true } => *self.readers.entry(thread).or_default() += 1,
            Step::Take { shared: false } => self.owner = Some((thread, 1 + mine.map_or(0, |(_, depth)| depth))),
            Step::TakeAgain => {
                let begin = trace.wait_begin(event);
                let depth = begin.and_then(|begin| self.kept.remove(&begin)).unwrap_or(1);
                self.owner = Some((thread, depth));
            }
            Step::GiveUp => {
                if let Some((_, depth)) = mine {
                    self.kept.insert(event, depth);
                    self.owner = None;
                }
            }
            Step::GiveBack => self.give_back(thread),
            Step::FindHeld { .. } => {}
        }
        enabled
    }

    /// One level of its own if the thread holds the lock, else of whoever does.
    fn give_back(&mut self, thread: ThreadId) {
        if let Some((_, depth)) = &mut self.owner {
            *depth -= 1;
            if *depth == 0 {
                self.owner = None;
            }
        } else {
            give_back_one(&mut self.readers, thread);
        }
    }
}

/// One level of the thread's own, or of another reader; `false` if there is none.
fn give_back_one(readers: &mut BTreeMap<ThreadId, u32>, thread: ThreadId) -> bool {
    let own = readers.contains_key(&thread).then_some(thread);
    let Some(reader) = own.or_else(|| readers.keys().next().copied()) else {
        return false;
    };
    if let Some(depth) = readers.get_mut(&reader) {
        *depth -= 1;
        if *depth == 0 {
            readers.remove(&reader);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_lock_and_how_decides_who_may_go_on() {
        let steps = [
            Step::Take { shared: false },
            Step::Take { shared: true },
            Step::TakeAgain,
            Step::GiveUp,
            Step::FindHeld { shared: false },
            Step::FindHeld { shared: true },
        ];
        let enabled = |alone, read, recursive| {
            let found = Found { alone, read, recursive };
            steps.map(|step| step.is_enabled(found))
        };
        assert_eq!(enabled(None, false, true), [true, true, true, false, false, false]);
        assert_eq!(enabled(None, true, true), [false, true, false, false, true, false]);
        assert_eq!(
            enabled(Some(false), false, true),
            [false, false, false, false, true, true]
        );
        assert_eq!(
            enabled(Some(true), false, false),
            [false, false, false, true, true, true]
        );
        let again = enabled(Some(true), false, true);
        assert_eq!(again, [true, false, false, true, false, false]);
    }
}
