//! How many classes of executions a forest without open branches holds: what exploration that runs each class once
//! would have to run.
//!
//! Two executions are of one class if threads do the same in them and every operation has the same sources: a read sees
//! the same write, a lock is taken after the same release, a thread is woken by the same notify, and so on. That is
//! reads-from equivalence (Abdulla, Atig, Jonsson, Lång, Ngo, Sagonas, OOPSLA 2019), with locks and the like in place
//! of more memory. The order of two writes that nobody reads between makes no difference, so there are at most as many
//! classes as Mazurkiewicz traces.
//!
//! States are met as in the search, each with a digest of what led there: the pasts of its threads, with their sources,
//! and the operations that later ones may have as a source. Operations that [`persistent`](super::persistent) takes for
//! independent change different digests, or add to one, so the sets that are persistent for states are so for states
//! with digests. Two pasts with one digest of 128 bits would be counted as one.

use super::machine::{Choice, Goes, Phase, State, Turn};
use super::persistent::Persistent;
use super::tables::{AccessKind, Act, Tables};
use crate::forest::{Action, Forest, ObjectId, Outcome, Reservation, Turned};
use crate::semantics::action::Leaves;
use crate::semantics::locks;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

/// Classes of executions, counted within a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// So many were met.
    pub count: usize,
    /// Whether there may be more.
    pub at_least: bool,
}

/// Counts the classes of a forest without open branches, until so many states were met. `None` if a loop that waits
/// makes them infinitely many.
#[must_use]
pub fn classes(forest: &Forest, most_states: usize) -> Option<Classes> {
    let tables = Tables::new(forest);
    if tables.classes.iter().any(|class| class.in_loop) {
        return None;
    }
    let foreign = forest.reservations().contains(&Reservation::ForeignRelease);
    let mut persistent = Persistent::of(&tables, foreign);
    let start = Execution::start(&tables);
    let mut met: HashSet<u128> = HashSet::from([start.digest()]);
    let mut ends: HashSet<u128> = HashSet::new();
    let mut todo = vec![start];
    while let Some(now) = todo.pop() {
        let mut turns = Vec::new();
        for thread in now.state.threads() {
            now.state.turns(&tables, thread, &mut turns);
        }
        turns.retain(|turn| matches!(turn.goes, Goes::Along(_) | Goes::Stays));
        persistent.keep(&tables, &now.state, &mut turns);
        if turns.is_empty() {
            ends.insert(digest(&now.threads));
        }
        for turn in turns {
            let mut after = now.clone();
            after.perform(&tables, turn);
            if met.insert(after.digest()) {
                todo.push(after);
            }
        }
        if met.len() >= most_states && !todo.is_empty() {
            return Some(Classes {
                count: ends.len(),
                at_least: true,
            });
        }
    }
    Some(Classes {
        count: ends.len(),
        at_least: false,
    })
}

/// A state, and digests of what led there.
#[derive(Clone)]
pub(super) struct Execution {
    pub(super) state: State,
    /// The past of each thread.
    threads: Vec<u128>,
    /// Who wrote each cell last.
    cells: Vec<u128>,
    /// What happened to each object last that later operations can tell.
    objects: Vec<u128>,
    /// What readers have done to each lock since.
    readers: Vec<u128>,
}

impl Execution {
    pub(super) fn start(tables: &Tables<'_>) -> Execution {
        let state = State::start(tables);
        let (threads, cells, objects) = (state.at.len(), state.cells.len(), state.owner.len());
        Execution {
            state,
            threads: vec![0; threads],
            cells: vec![0; cells],
            objects: vec![0; objects],
            readers: vec![0; objects],
        }
    }

    pub(super) fn digest(&self) -> u128 {
        let phases = self.state.phase.iter().map(|phase| u128::from(phase.code()));
        let at = self.state.at.iter().map(|&at| u128::from(at));
        let pasts = self
            .threads
            .iter()
            .chain(&self.cells)
            .chain(&self.objects)
            .chain(&self.readers);
        // The rest of the state follows from these.
        digest(&phases.chain(at).chain(pasts.copied()).collect::<Vec<_>>())
    }

    pub(super) fn perform(&mut self, tables: &Tables<'_>, turn: Turn) {
        let class = self.state.class(tables, turn.thread);
        let slot = turn.thread as usize;
        let edge = match turn.goes {
            Goes::Along(edge) => Some(&class.edges[edge as usize]),
            _ => None,
        };
        let outcome = edge.map(|edge| edge.outcome);
        let gave_up = outcome == Some(Outcome::GaveUp);
        let turned = outcome.map_or(Turned::Done, Outcome::turned);
        let mut event = vec![self.threads[slot], u128::from(class.position), code(outcome)];
        if let Choice::Wakes(woken) = turn.choice {
            event.push(u128::from(woken));
        }
        let object = |object: ObjectId| self.objects[object.index()];
        match class.act {
            Act::Access(AccessKind::Read | AccessKind::AtomicRead | AccessKind::Use) => {
                event.extend(class.cells.iter().map(|&cell| self.cells[cell as usize]));
            }
            Act::On(action) if edge.is_some() => match action.at_lock(Turned::Done) {
                Some((lock, step)) if step.takes() => {
                    event.push(object(lock));
                    if step != (locks::Step::Take { shared: true }) {
                        event.push(self.readers[lock.index()]);
                    }
                }
                _ => event.extend(action.sees_what_was_left(turned).map(object)),
            },
            Act::Count(semaphore) => event.push(object(semaphore)),
            Act::Join(tree) if !gave_up => event.push(self.threads[tree.index()]),
            _ => {}
        }
        let event = digest(&event);
        self.threads[slot] = event;
        match class.act {
            Act::Access(AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free) => self.writes(class, event),
            Act::Access(AccessKind::AtomicRead) if edge.is_some_and(|edge| !edge.leaves.is_empty()) => {
                self.writes(class, event);
            }
            Act::Fork(tree) => self.threads[tree.index()] = digest(&[event]),
            Act::On(action) if edge.is_some() => self.leave(tables, turn, action, turned, event),
            _ => {}
        }
        self.state.perform(tables, turn);
    }

    /// What an action leaves for others.
    fn leave(&mut self, tables: &Tables<'_>, turn: Turn, action: Action<ObjectId>, turned: Turned, event: u128) {
        match action.at_lock(turned) {
            Some((_, locks::Step::Take { shared: true } | locks::Step::FindHeld { .. })) | None => {}
            Some((lock, locks::Step::GiveBack)) if !self.state.holds(turn.thread, lock) => {
                add(&mut self.readers[lock.index()], event);
            }
            Some((lock, _)) => self.takes(lock, event),
        }
        let woken: Option<Vec<u32>> = match (action, turn.choice) {
            (Action::Notify(_), Choice::Wakes(woken)) => Some(vec![woken]),
            (Action::Notify(_), _) => Some(Vec::new()),
            (Action::NotifyAll(condition), _) => Some(self.state.asleep(tables, condition).collect()),
            _ => None,
        };
        for &thread in woken.iter().flatten() {
            self.wakes(thread, event);
        }
        if woken.is_some_and(|woken| woken.is_empty()) {
            return;
        }
        match action.leaves(turned) {
            Some((it, Leaves::Instead)) => self.objects[it.index()] = event,
            Some((it, Leaves::Beside)) => add(&mut self.objects[it.index()], event),
            None => {}
        }
    }

    fn writes(&mut self, class: &super::tables::Class, event: u128) {
        for &cell in &class.cells {
            self.cells[cell as usize] = event;
        }
    }

    fn takes(&mut self, lock: ObjectId, event: u128) {
        self.objects[lock.index()] = event;
        self.readers[lock.index()] = 0;
    }

    fn wakes(&mut self, thread: u32, event: u128) {
        if matches!(self.state.phase[thread as usize], Phase::Asleep(_)) {
            let past = &mut self.threads[thread as usize];
            *past = digest(&[*past, event]);
        }
    }
}

/// Several in any order.
fn add(sum: &mut u128, event: u128) {
    *sum = sum.wrapping_add(event);
}

fn code(outcome: Option<Outcome>) -> u128 {
    match outcome {
        None => 0,
        Some(Outcome::Done) => 1,
        Some(Outcome::GaveUp) => 2,
        Some(Outcome::Chosen) => 3,
        Some(Outcome::Saw(value)) => u128::from(value.0) + 4,
        Some(Outcome::Counted(count)) => u128::from(count) << 64 | 4,
    }
}

fn digest(words: &[u128]) -> u128 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    XxHash3_128::oneshot(&bytes)
}
