//! How many executions a program has that differ in what their operations see: every schedule of it, each operation
//! with its sources.

use crate::machine::{Cell, Entry, Half, History, Result, Waits, Way, World};
use crate::program::{Instruction, Program};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An operation with all that led to it: equal ones are equal numbers. 0 is none.
type Event = u32;

/// What an operation is: the one before it in its thread, itself, and each group of its sources.
#[derive(PartialEq, Eq, Hash)]
struct What {
    before: Event,
    entry: Option<(Entry, Option<History>)>,
    sources: Vec<BTreeSet<Event>>,
}

#[derive(Default)]
struct Events(HashMap<What, Event>);

impl Events {
    fn number(&mut self, what: What) -> Event {
        let next = self.0.len() as Event + 1;
        *self.0.entry(what).or_insert(next)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Object {
    Lock(usize),
    Condition(usize),
    Semaphore(usize),
    Barrier(usize),
    Once(usize),
}

/// What happened to an object: the last operation that all later ones can tell, and those since of which only that they
/// happened matters.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Past {
    last: Event,
    since: BTreeSet<Event>,
}

impl Past {
    fn sources(&self) -> Vec<BTreeSet<Event>> {
        vec![BTreeSet::from([self.last]), self.since.clone()]
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Execution {
    world: World,
    /// The last operation of each thread.
    threads: Vec<Event>,
    written: BTreeMap<Cell, Event>,
    objects: BTreeMap<Object, Past>,
}

/// How many there are, or `None` if that takes more than `limit` states.
pub fn executions(program: &Program, limit: usize) -> Option<usize> {
    let start = Execution {
        world: World::start(program),
        threads: vec![0],
        written: BTreeMap::new(),
        objects: BTreeMap::new(),
    };
    let mut events = Events::default();
    let mut met = HashSet::from([start.clone()]);
    let mut ends = HashSet::new();
    let mut todo = vec![start];
    while let Some(now) = todo.pop() {
        let mut over = true;
        for thread in 0..now.threads.len() {
            for way in now.world.ways(program, thread) {
                over = false;
                let mut after = now.clone();
                after.step(program, thread, way, &mut events);
                if met.len() >= limit {
                    return None;
                }
                if met.insert(after.clone()) {
                    todo.push(after);
                }
            }
        }
        if over {
            let threads = now.world.threads.iter().zip(&now.threads);
            ends.insert(
                threads
                    .map(|(thread, &last)| (thread.name, last))
                    .collect::<BTreeSet<_>>(),
            );
        }
    }
    Some(ends.len())
}

impl Execution {
    fn step(&mut self, program: &Program, thread: usize, way: Way, events: &mut Events) {
        let before = self.world.clone();
        let accesses = before.access(program, thread);
        let Some(performed) = self.world.step(program, thread, way) else {
            return;
        };
        let object = |object: Object| self.objects.get(&object).cloned().unwrap_or_default();
        let (half, failed) = (performed.half, performed.result == Result::Failed);
        let last = performed.result == Result::Chosen;
        let mut sources = Vec::new();
        match performed.instruction {
            _ if half == Half::Begin => {}
            Instruction::Read { .. }
            | Instruction::Add { .. }
            | Instruction::Exchange { .. }
            | Instruction::Use { .. }
            | Instruction::ReadAt { .. }
            | Instruction::ReadBoth { .. } => {
                let cells = accesses.iter().flat_map(|(cells, _)| cells);
                let written = |cell| BTreeSet::from([self.written.get(cell).copied().unwrap_or(0)]);
                sources.extend(cells.map(written));
            }
            Instruction::Lock { lock, shared } | Instruction::TryLock { lock, shared, .. } => {
                let mut past = object(Object::Lock(lock));
                if shared {
                    past.since.clear();
                }
                sources = past.sources();
            }
            Instruction::Wait { lock, .. } | Instruction::WaitFor { lock, .. } if half == Half::Second => {
                sources = object(Object::Lock(lock)).sources();
            }
            Instruction::Notify { condition } | Instruction::NotifyAll { condition } => {
                sources = object(Object::Condition(condition)).sources();
            }
            Instruction::Take { semaphore }
            | Instruction::TryTake { semaphore, .. }
            | Instruction::Count { semaphore, .. } => {
                sources = object(Object::Semaphore(semaphore)).sources();
            }
            Instruction::Barrier { barrier } | Instruction::Enter { barrier, .. } if last => {
                sources = object(Object::Barrier(barrier)).sources();
            }
            Instruction::Once { once, .. } => sources = object(Object::Once(once)).sources(),
            Instruction::Join { handle } | Instruction::TryJoin { handle, .. } if !failed => {
                if let crate::machine::Value::Thread(child) = performed.registers[handle] {
                    sources.push(BTreeSet::from([self.threads[child]]));
                }
            }
            _ => {}
        }
        let wakes = match way {
            Way::Wake(woken) => Some(before.threads[woken].name),
            _ => None,
        };
        let event = events.number(What {
            before: self.threads[thread],
            entry: Some(((performed.pc, half, performed.result.clone()), wakes)),
            sources,
        });
        self.threads[thread] = event;
        if half == Half::Begin {
            return;
        }
        if let Some((cells, access)) = accesses
            && access.writes
        {
            self.written.extend(cells.into_iter().map(|cell| (cell, event)));
        }
        if let Instruction::Fork { .. } = performed.instruction {
            self.threads.push(event);
        }
        let mut woken = false;
        for (other, now) in self.world.threads.iter().enumerate() {
            let slept = before
                .threads
                .get(other)
                .is_some_and(|then| then.waits == Waits::Asleep);
            if slept && now.waits == Waits::Woken {
                woken = true;
                self.threads[other] = events.number(What {
                    before: self.threads[other],
                    entry: None,
                    sources: vec![BTreeSet::from([event])],
                });
            }
        }
        let ends = |event| Past {
            last: event,
            since: BTreeSet::new(),
        };
        let mut takes = |object: Object| drop(self.objects.insert(object, ends(event)));
        match performed.instruction {
            Instruction::Lock { lock, shared: false } => takes(Object::Lock(lock)),
            Instruction::TryLock {
                lock, shared: false, ..
            } if !failed => takes(Object::Lock(lock)),
            Instruction::Unlock { lock } if before.is_owned(lock) => takes(Object::Lock(lock)),
            Instruction::Unlock { lock } => self.adds(Object::Lock(lock), event),
            Instruction::Wait { condition, lock } | Instruction::WaitFor { condition, lock, .. } => {
                takes(Object::Lock(lock));
                if half == Half::First {
                    self.adds(Object::Condition(condition), event);
                }
            }
            Instruction::Notify { condition } | Instruction::NotifyAll { condition } if woken => {
                takes(Object::Condition(condition));
            }
            Instruction::Post { semaphore } => self.adds(Object::Semaphore(semaphore), event),
            Instruction::Take { semaphore } => takes(Object::Semaphore(semaphore)),
            Instruction::TryTake { semaphore, .. } if !failed => takes(Object::Semaphore(semaphore)),
            Instruction::Barrier { barrier } | Instruction::Enter { barrier, .. } if half == Half::First => {
                if last {
                    takes(Object::Barrier(barrier));
                } else {
                    self.adds(Object::Barrier(barrier), event);
                }
            }
            Instruction::Once { once, .. } if last => takes(Object::Once(once)),
            Instruction::OnceDone { once } => takes(Object::Once(once)),
            _ => {}
        }
    }

    fn adds(&mut self, object: Object, event: Event) {
        self.objects.entry(object).or_default().since.insert(event);
    }
}
