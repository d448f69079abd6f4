//! Locks: taken alone or beside other readers, given back, found held. A wait gives its lock up and takes it again.

use super::synchronizes::{Among, Passing};
use super::{Grounds, InOrder};
use crate::trace::{EventId, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;
use std::collections::BTreeMap;

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

    /// What it passes on, if threads give back what others hold (`for_others`), or if it gives back what it held as a reader.
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
    /// The lock before the trace, by its events: whoever gives it back when nobody has it held it, alone unless somebody
    /// had read it by the last of these times.
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
        match step {
            Step::Take { shared: true } => {
                *self.readers.entry(thread).or_default() += 1;
                self.owner.is_none()
            }
            Step::Take { shared: false } => match &mut self.owner {
                Some((owner, depth)) if *owner == thread => {
                    *depth += 1;
                    true
                }
                _ => self.take(thread, 1),
            },
            Step::TakeAgain => {
                let begin = trace.wait_begin(event);
                let depth = begin.and_then(|begin| self.kept.remove(&begin)).unwrap_or(1);
                self.take(thread, depth)
            }
            Step::GiveUp => {
                let held = self.owner.filter(|&(owner, _)| owner == thread);
                if let Some((_, depth)) = held {
                    self.kept.insert(event, depth);
                    self.owner = None;
                }
                held.is_some()
            }
            Step::GiveBack => self.give_back(thread),
            Step::FindHeld { shared } => {
                // Of a recursive mutex, its holder is never told that it is held.
                let recursive = trace.is_recursive(lock);
                let owned = self.owner.is_some_and(|(owner, _)| owner != thread || !recursive);
                owned || !shared && !self.readers.is_empty()
            }
        }
    }

    fn take(&mut self, thread: ThreadId, depth: u32) -> bool {
        let free = self.owner.is_none() && self.readers.is_empty();
        self.owner = Some((thread, depth));
        free
    }

    /// One level of its own if the thread holds the lock, else of whoever does.
    fn give_back(&mut self, thread: ThreadId) -> bool {
        if let Some((_, depth)) = &mut self.owner {
            *depth -= 1;
            if *depth == 0 {
                self.owner = None;
            }
            return true;
        }
        give_back_one(&mut self.readers, thread)
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
