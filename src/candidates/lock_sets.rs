//! Candidates by lock sets alone, as Eraser finds them: the first of the two layers of Mund et al. (*The Quest for
//! Precision*, 2014), of which the second decides what the first warns of.
//!
//! Each variable is in one of four states (Savage et al., *Eraser*, 1997, section 2.2): nobody has accessed it; one
//! thread alone has; others have read it; others have written it. From the moment that a second thread accesses it, the
//! locks are kept that were held at each access, those held to write at a write. A variable that is shared and modified
//! while no lock is left is warned of. Nothing but locks counts: a variable that a join or a semaphore keeps safe is
//! warned of, and one that a second thread accesses only once, in time and under a lock, is not.
//!
//! A variable here is a cell in one life of its memory. Those that are accessed atomically alone are left out, since
//! Eraser's programs had none.

use super::Scope;
use crate::trace::{AccessKind, CellId, CodePosition, EventId, ObjectId, Sections, ThreadId, Trace};
use crate::verdict::LockSetWarning;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;

/// What Eraser knows of a variable.
#[derive(Clone, Debug, Default)]
enum State {
    /// Nobody has accessed it.
    #[default]
    Virgin,
    /// One thread has, first by this.
    Exclusive(ThreadId),
    /// Several have: whether one wrote since, the locks that protected all of that, and where none was left.
    Shared {
        modified: bool,
        locks: Vec<ObjectId>,
        warned: Option<EventId>,
    },
}

/// What the lock sets of a trace warn of, in the order of the warnings.
#[must_use]
pub fn lock_set_warnings(trace: &Trace, sections: &Sections) -> Vec<LockSetWarning> {
    let mut plain = vec![false; trace.cells().len()];
    for access in trace.accesses().filter(|access| !access.kind.is_atomic()) {
        for used in trace.uses(access) {
            plain[used.cell.index()] = true;
        }
    }
    let mut states: Vec<State> = vec![State::default(); trace.cells().len()];
    for access in trace.accesses().filter(|access| access.kind != AccessKind::Use) {
        let (thread, event) = (trace.thread(access.event), access.event);
        let writes = access.kind.writes();
        let mut held: Option<Vec<ObjectId>> = None;
        for used in trace.uses(access).filter(|used| plain[used.cell.index()]) {
            let held = held.get_or_insert_with(|| held_at(trace, sections, event, writes));
            let state = &mut states[used.cell.index()];
            match state {
                State::Virgin => *state = State::Exclusive(thread),
                State::Exclusive(owner) if *owner == thread => {}
                State::Exclusive(_) => {
                    *state = State::Shared {
                        modified: writes,
                        locks: held.clone(),
                        warned: (writes && held.is_empty()).then_some(event),
                    }
                }
                State::Shared {
                    modified,
                    locks,
                    warned,
                } => {
                    *modified |= writes;
                    locks.retain(|lock| held.contains(lock));
                    if *modified && locks.is_empty() {
                        warned.get_or_insert(event);
                    }
                }
            }
        }
    }
    let cells = (0..).map(CellId).zip(states);
    let mut warnings: Vec<LockSetWarning> = cells
        .filter_map(|(cell, state)| match state {
            State::Shared {
                warned: Some(event), ..
            } => Some(LockSetWarning {
                cell,
                event,
                pairs: Vec::new(),
            }),
            _ => None,
        })
        .collect();
    warnings.sort_by_key(|warning| (warning.event, warning.cell));
    warnings
}

/// The locks that a thread holds at one of its events, those that it holds as a reader only if it reads.
fn held_at(trace: &Trace, sections: &Sections, event: EventId, writes: bool) -> Vec<ObjectId> {
    let open = sections.open_after(trace.thread(event), trace.place(event));
    let sections = open.map(|id| sections.get(id));
    sections
        .filter(|section| !(writes && section.shared))
        .map(|section| section.lock)
        .collect()
}

/// Where a trace accesses what is warned of: by variable, the positions, each with the accesses.
fn positions_of(trace: &Trace, warnings: &[LockSetWarning]) -> HashMap<CellId, HashMap<CodePosition, Vec<EventId>>> {
    let mut found: HashMap<CellId, HashMap<CodePosition, Vec<EventId>>> =
        warnings.iter().map(|warning| (warning.cell, HashMap::new())).collect();
    for access in trace.accesses() {
        for used in trace.uses(access) {
            if let Some(positions) = found.get_mut(&used.cell) {
                positions.entry(trace.pc(access.event)).or_default().push(access.event);
            }
        }
    }
    found
}

/// The pairs that are left: of accesses of what is warned of; `None` if there are more than `most`.
#[must_use]
pub fn scope_of_warnings(trace: &Trace, warnings: &[LockSetWarning], most: usize) -> Option<Scope> {
    let mut scope = Scope::default();
    for positions in positions_of(trace, warnings).into_values() {
        let all: BTreeSet<CodePosition> = positions.keys().copied().collect();
        for &one in &all {
            scope.pairs.extend(all.range(one..).map(|&other| (one, other)));
            if scope.pairs.len() > most {
                return None;
            }
        }
        for (position, events) in positions {
            scope
                .positions
                .extend(events.into_iter().map(|event| (event, position)));
        }
    }
    Some(scope)
}

/// Notes with each warning which of some pairs are about its variable, by their rows.
pub fn attach_pairs(trace: &Trace, warnings: &mut [LockSetWarning], pairs: &[(CodePosition, CodePosition)]) {
    let positions = positions_of(trace, warnings);
    for warning in warnings {
        let own: HashSet<CodePosition> = positions[&warning.cell].keys().copied().collect();
        let about =
            |&(_, (one, other)): &(u32, &(CodePosition, CodePosition))| own.contains(one) && own.contains(other);
        warning.pairs = (0..).zip(pairs).filter(about).map(|(row, _)| row).collect();
    }
}

/// How many variables several threads access, one of which writes or frees.
#[must_use]
pub fn shared_variables(trace: &Trace) -> usize {
    let mut seen: Vec<(Option<ThreadId>, bool, bool)> = vec![(None, false, false); trace.cells().len()];
    for access in trace.accesses().filter(|access| access.kind != AccessKind::Use) {
        let thread = trace.thread(access.event);
        for used in trace.uses(access) {
            let (first, others, written) = &mut seen[used.cell.index()];
            *others |= *first.get_or_insert(thread) != thread;
            *written |= access.kind.writes();
        }
    }
    seen.into_iter()
        .filter(|&(_, others, written)| others && written)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, ObjectInfo, ObjectKind, Op, StackId, Tables};

    const LOCK: ObjectId = ObjectId(0);
    const OTHER: ObjectId = ObjectId(1);

    fn take(lock: ObjectId) -> Op {
        Op::Acquire { lock, attempt: false }
    }

    fn share(lock: ObjectId) -> Op {
        Op::AcquireShared { lock, attempt: false }
    }

    fn give(lock: ObjectId) -> Op {
        Op::Release { lock }
    }

    const READ: Op = Op::Read {
        mem: MemRange { addr: 0x1000, size: 4 },
        value: 0,
    };
    const WRITE: Op = Op::Write {
        mem: MemRange { addr: 0x1000, size: 4 },
        value: 0,
    };

    /// The events that are warned of.
    fn warned(events: &[(u32, Op)]) -> Vec<u32> {
        let object = |kind| ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            threads: vec![Default::default(); 3],
            objects: vec![object(ObjectKind::RwLock), object(ObjectKind::RwLock)],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        let warnings = lock_set_warnings(&trace, &Sections::of(&trace));
        warnings.iter().map(|warning| warning.event.0).collect()
    }

    #[test]
    fn what_one_thread_alone_does_or_others_only_read_is_fine() {
        assert_eq!(warned(&[(0, WRITE), (0, READ), (0, WRITE)]), [0; 0]);
        assert_eq!(warned(&[(0, WRITE), (1, READ), (2, READ), (0, READ)]), [0; 0]);
        // Initialized without a lock, then written by another thread, under one.
        assert_eq!(
            warned(&[(0, WRITE), (1, take(LOCK)), (1, WRITE), (1, give(LOCK))]),
            [0; 0]
        );
    }

    #[test]
    fn what_is_shared_and_modified_without_a_common_lock_is_warned_of_once() {
        assert_eq!(warned(&[(0, WRITE), (1, WRITE), (0, WRITE)]), [1]);
        assert_eq!(warned(&[(0, WRITE), (1, READ), (2, READ), (0, WRITE)]), [3]);
        let two_locks = [
            (0, WRITE),
            (1, take(LOCK)),
            (1, WRITE),
            (1, give(LOCK)),
            (2, take(OTHER)),
            (2, WRITE),
            (2, give(OTHER)),
        ];
        assert_eq!(warned(&two_locks), [5]);
        assert_eq!(warned(&two_locks[..4]), [0; 0]);
    }

    #[test]
    fn a_lock_that_is_held_to_read_protects_no_write() {
        let read = [(0, WRITE), (1, share(LOCK)), (1, READ), (1, give(LOCK))];
        assert_eq!(warned(&read), [0; 0]);
        let written = [(0, WRITE), (1, share(LOCK)), (1, WRITE), (1, give(LOCK))];
        assert_eq!(warned(&written), [2]);
    }

    #[test]
    fn the_pairs_of_what_is_warned_of_are_left() {
        let other = MemRange { addr: 0x2000, size: 4 };
        let events = [
            (0, 1, WRITE),
            (1, 2, WRITE),
            (0, 3, Op::Write { mem: other, value: 0 }),
            (1, 4, Op::Read { mem: other, value: 0 }),
        ];
        let event = |&(thread, pc, op): &(u32, u64, Op)| Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        };
        let tables = Tables {
            threads: vec![Default::default(); 2],
            ..Tables::default()
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        let mut warnings = lock_set_warnings(&trace, &Sections::of(&trace));
        assert_eq!(warnings.len(), 1);
        assert!(scope_of_warnings(&trace, &warnings, 2).is_none());
        let scope = scope_of_warnings(&trace, &warnings, 3).unwrap();
        assert_eq!(scope.positions.len(), 2);
        assert!(scope.pairs.contains(&(1, 2)) && scope.pairs.len() == 3);
        attach_pairs(&trace, &mut warnings, &[(3, 4), (2, 1)]);
        assert_eq!(warnings[0].pairs, [1]);
        assert_eq!(shared_variables(&trace), 2);
    }
}
