//! What connects the steps of a schedule: creation, joining, release and acquire of a lock, wakes, and reads from other
//! threads' writes.
//!
//! Links are drawn; they prove nothing. Each goes from the last step that another step depends on, in this schedule, to
//! that step, and only between threads. Steps among the events "as recorded" are not drawn.

use crate::replay::Replay;
use crate::semantics::{Gate, locks};
use crate::trace::{CellId, EventId, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;

/// What a link says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Fork,
    Join,
    /// A lock, from who gave it back to who took it next.
    Lock,
    /// A signal, a post, a barrier, an initialization: who lets go on whom.
    Wake,
    ReadsFrom,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Fork => "fork",
            Kind::Join => "join",
            Kind::Lock => "lock hand-over",
            Kind::Wake => "wake",
            Kind::ReadsFrom => "reads from",
        }
    }
}

/// A link between two steps, by their numbers among the executed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: Kind,
}

/// A stretch of a schedule in which a thread holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) thread: ThreadId,
    pub(super) lock: ObjectId,
    pub(super) shared: bool,
    /// The step that took it; `None` if it was held before.
    pub(super) from: Option<usize>,
    /// The step that gave it back; `None` if it is held at the race.
    pub(super) to: Option<usize>,
}

/// All links and all stretches with locks of a replay.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    pub(super) links: Vec<Link>,
    pub(super) held: Vec<Held>,
}

/// The number of a step among the events as recorded.
const BEFORE: usize = usize::MAX;

/// A wait gives back all levels of its lock.
const ALL: u32 = u32::MAX;

#[derive(Default)]
struct Walk {
    found: Links,
    /// By thread that has not begun: the step that created it.
    forked: HashMap<ThreadId, usize>,
    /// By thread: its last step so far.
    last: HashMap<ThreadId, usize>,
    /// By lock: the step that gave it back last.
    released: HashMap<ObjectId, (usize, ThreadId)>,
    /// By thread and lock: depth, and the row of `found.held`.
    holding: HashMap<(ThreadId, ObjectId), (u32, usize)>,
    /// By the beginning of a wait: how deep its end has to restore the lock.
    waiting: HashMap<EventId, u32>,
    woken: HashMap<ThreadId, usize>,
    /// By object: the step that last let others go on there.
    opened: HashMap<ObjectId, (usize, ThreadId)>,
    written: HashMap<CellId, (usize, ThreadId)>,
}

impl Links {
    pub(super) fn of(trace: &Trace, replay: &Replay) -> Links {
        let mut walk = Walk::default();
        // Of the events as recorded, only which locks they leave held matters.
        for event in trace.events().take(replay.as_recorded as usize) {
            walk.locks(trace, event, None);
        }
        for (index, step) in replay.executed.iter().enumerate() {
            walk.step(trace, step.event, index, &step.step.woken);
        }
        walk.found.links.sort_unstable();
        walk.found.links.dedup();
        let mut found = walk.found;
        found.held.retain(|held| held.to != Some(BEFORE));
        for pending in &replay.accesses {
            let from_start = pending.held.iter().filter(|held| held.since.is_none());
            found.held.extend(from_start.map(|held| Held {
                thread: pending.thread,
                lock: held.lock,
                shared: held.shared,
                from: None,
                to: None,
            }));
        }
        found
    }
}

impl Walk {
    fn link(&mut self, from: Option<usize>, to: usize, kind: Kind) {
        if let Some(from) = from {
            self.found.links.push(Link { from, to, kind });
        }
    }

    fn step(&mut self, trace: &Trace, event: EventId, index: usize, woken: &[ThreadId]) {
        let thread = trace.thread(event);
        if let Some(from) = self.forked.remove(&thread) {
            self.link(Some(from), index, Kind::Fork);
        }
        self.locks(trace, event, Some(index));
        for &woken in woken {
            self.woken.insert(woken, index);
        }
        match trace.op(event) {
            Op::Fork { child } => {
                self.forked.insert(child, index);
            }
            Op::Join { child } => self.link(self.last.get(&child).copied(), index, Kind::Join),
            Op::WaitEnd { .. } => {
                let from = self.woken.remove(&thread);
                self.link(from, index, Kind::Wake);
            }
            Op::Access => self.access(trace, event, index, thread),
            op => match Gate::of(op) {
                Some((object, Gate::Opens)) => drop(self.opened.insert(object, (index, thread))),
                Some((object, Gate::Passes)) => {
                    let opened = self.opened.get(&object).filter(|(_, by)| *by != thread);
                    self.link(opened.map(|(from, _)| *from), index, Kind::Wake);
                }
                None => {}
            },
        }
        self.last.insert(thread, index);
    }

    fn access(&mut self, trace: &Trace, event: EventId, index: usize, thread: ThreadId) {
        let Some(access) = trace.access(event) else { return };
        for used in trace.uses(access) {
            if access.kind.reads() {
                let from = self
                    .written
                    .get(&used.cell)
                    .filter(|(_, by)| *by != thread)
                    .map(|(from, _)| *from);
                self.link(from, index, Kind::ReadsFrom);
            }
            if access.kind.writes() {
                self.written.insert(used.cell, (index, thread));
            }
        }
    }

    /// Follows who holds what. Among the events as recorded there is no `index`.
    fn locks(&mut self, trace: &Trace, event: EventId, index: Option<usize>) {
        let thread = trace.thread(event);
        let Some((lock, step)) = locks::Step::of(trace.op(event)) else {
            return;
        };
        match step {
            locks::Step::Take { shared } => self.take(thread, lock, shared, 1, index),
            locks::Step::TakeAgain => {
                let begin = trace.wait_begin(event);
                let depth = begin.and_then(|begin| self.waiting.remove(&begin)).unwrap_or(1);
                self.take(thread, lock, false, depth, index);
            }
            locks::Step::GiveBack => self.give_back(thread, lock, 1, index),
            locks::Step::GiveUp => {
                let depth = self.holding.get(&(thread, lock)).map(|&(depth, _)| depth);
                self.waiting.extend(depth.map(|depth| (event, depth)));
                self.give_back(thread, lock, ALL, index);
            }
            locks::Step::FindHeld { .. } => {}
        }
    }

    fn take(&mut self, thread: ThreadId, lock: ObjectId, shared: bool, levels: u32, index: Option<usize>) {
        if let Some((depth, _)) = self.holding.get_mut(&(thread, lock)) {
            *depth += levels;
            return;
        }
        if let (Some(to), Some(&(from, by))) = (index, self.released.get(&lock))
            && by != thread
        {
            self.link(Some(from), to, Kind::Lock);
        }
        self.holding.insert((thread, lock), (levels, self.found.held.len()));
        self.found.held.push(Held {
            thread,
            lock,
            shared,
            from: index,
            to: None,
        });
    }

    fn give_back(&mut self, thread: ThreadId, lock: ObjectId, levels: u32, index: Option<usize>) {
        if let Some(index) = index {
            self.released.insert(lock, (index, thread));
        }
        // Of who gives back for another, or what was taken before the trace, there is nothing to end.
        let Some((depth, row)) = self.holding.get_mut(&(thread, lock)) else {
            return;
        };
        *depth = depth.saturating_sub(levels);
        if *depth == 0 {
            self.found.held[*row].to = Some(index.unwrap_or(BEFORE));
            self.holding.remove(&(thread, lock));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Checker;
    use crate::schedule::{self, Goal, Schedule};
    use crate::trace::{StackId, Tables};
    use trace_format::{Event, MemRange, Op as FileOp};

    #[test]
    fn links_and_stretches_of_a_schedule() {
        let event = |thread, op| Event {
            thread: ThreadId(thread),
            pc: 0,
            stack: StackId::EMPTY,
            op,
        };
        let lock = ObjectId(0);
        let at = |addr| MemRange { addr, size: 4 };
        let write = |addr| FileOp::Write {
            mem: at(addr),
            value: 1,
        };
        let events = [
            event(0, FileOp::Fork { child: ThreadId(1) }),
            event(0, FileOp::Fork { child: ThreadId(2) }),
            event(0, FileOp::Acquire { lock, attempt: false }),
            event(0, write(0x10)),
            event(0, FileOp::Release { lock }),
            event(1, FileOp::Begin),
            event(1, FileOp::Acquire { lock, attempt: false }),
            event(
                1,
                FileOp::Read {
                    mem: at(0x10),
                    value: 1,
                },
            ),
            event(2, FileOp::Begin),
            event(2, FileOp::End),
            event(
                0,
                FileOp::Join {
                    child: ThreadId(2),
                    attempt: false,
                },
            ),
            event(1, write(0x20)),
            event(0, write(0x20)),
        ];
        let trace = Trace::from_events(Tables::default(), &events);
        let all: Vec<EventId> = trace.events().collect();
        let schedule = Schedule {
            trace: trace.id(),
            first_events: None,
            goal: Goal::Race(EventId(11), EventId(12)),
            as_recorded: 0,
            slices: schedule::slices_of(&trace, &all[..11]),
            wakes: Vec::new(),
        };
        let replay = Replay::of(&Checker::new(&trace), &schedule).expect("a witness");
        let found = Links::of(&trace, &replay);
        let links: Vec<_> = found.links.iter().map(|link| (link.from, link.to, link.kind)).collect();
        assert_eq!(
            links,
            [
                (0, 5, Kind::Fork),
                (1, 8, Kind::Fork),
                (3, 7, Kind::ReadsFrom),
                (4, 6, Kind::Lock),
                (9, 10, Kind::Join),
            ]
        );
        let held: Vec<_> = found
            .held
            .iter()
            .map(|held| (held.thread.0, held.from, held.to))
            .collect();
        assert_eq!(held, [(0, Some(2), Some(4)), (1, Some(6), None)]);

        // What the events as recorded leave held is held, and who was before them is not drawn.
        let later = Schedule {
            as_recorded: 7,
            slices: schedule::slices_of(&trace, &all[7..11]),
            ..schedule
        };
        let replay = Replay::of(&Checker::new(&trace), &later).expect("a witness");
        let found = Links::of(&trace, &replay);
        assert_eq!(found.links.len(), 1);
        let held: Vec<_> = found
            .held
            .iter()
            .map(|held| (held.thread.0, held.from, held.to))
            .collect();
        assert_eq!(held, [(1, None, None)]);
    }
}
