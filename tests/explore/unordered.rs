//! Races that only the order of atomics leaves open: every schedule of a program, with what happens before what in each,
//! by docs/SEMANTICS.md, section 3, compared with what an exploration finds in its forest.
//!
//! That page names more that orders than an exploration uses, lest it miss a race: so what it finds has all pairs of the
//! page ([`Rules::Page`]), and is exactly those that are found with what it says it uses ([`Rules::Least`]).

use crate::compare::{How, explored, goals};
use crate::interpreter::position;
use crate::known::{behind, read, store};
use crate::machine::{Cell, Half, Result, Value, Waits, Way, World};
use crate::program::{Instruction, Program, Term};
use crate::{environment, random_program};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use witness::explore::{Goal, Limits, Reason, Side};
use witness::forest::Reservation;
use witness::trace::MemoryOrder;

/// What orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rules {
    /// All that the page names.
    Page,
    /// No more than an exploration uses.
    Least,
}

/// An operation: its thread, and its number there.
type Event = (usize, usize);
type Events = BTreeSet<Event>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Access {
    event: Event,
    position: u64,
    writes: bool,
    atomic: bool,
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Written {
    before: Events,
    atomically: bool,
    /// The release sequences that the last store belongs to: who heads them, and what was before.
    released: Vec<(usize, Events)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Object {
    Lock(usize),
    Semaphore(usize),
    Barrier(usize),
    Once(usize),
    Block(usize),
    Outside,
    Fences,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Among {
    Givers,
    Readers,
    Takers,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Execution {
    world: World,
    /// What happens before what each thread does next.
    before: Vec<Events>,
    done: Vec<usize>,
    loaded: Vec<Events>,
    fenced: Vec<Events>,
    /// What a thread that waits will know once it goes on.
    woken: Vec<Events>,
    written: BTreeMap<Cell, Written>,
    accesses: BTreeMap<Cell, Vec<Access>>,
    objects: BTreeMap<(Object, Among), Events>,
}

/// The pairs that are unordered in some schedule, or `None` if there are more than so many states.
fn unordered(program: &Program, rules: Rules, limit: usize) -> Option<BTreeSet<Goal>> {
    let start = Execution {
        world: World::start(program),
        before: vec![Events::new()],
        done: vec![0],
        loaded: vec![Events::new()],
        fenced: vec![Events::new()],
        woken: vec![Events::new()],
        written: BTreeMap::new(),
        accesses: BTreeMap::new(),
        objects: BTreeMap::new(),
    };
    let mut found = BTreeSet::new();
    let mut met = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    while let Some(now) = todo.pop() {
        for thread in 0..now.world.threads.len() {
            let ways = now.world.ways(program, thread);
            if !ways.is_empty() {
                found.extend(now.races(program, thread));
            }
            for way in ways {
                let mut after = now.clone();
                after.step(program, thread, way, rules);
                if met.len() >= limit {
                    return None;
                }
                if met.insert(after.clone()) {
                    todo.push(after);
                }
            }
        }
    }
    Some(found)
}

fn acquires(order: MemoryOrder) -> bool {
    matches!(
        order,
        MemoryOrder::Acquire | MemoryOrder::Consume | MemoryOrder::AcqRel | MemoryOrder::SeqCst
    )
}

fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
}

impl Execution {
    /// What a thread is about to do, and others have done something to which nothing orders it behind.
    fn races(&self, program: &Program, thread: usize) -> Vec<Goal> {
        let Some((cells, access)) = self.world.access(program, thread) else {
            return Vec::new();
        };
        let me = &self.world.threads[thread];
        let here = position(me.pc, me.half);
        let mut races = Vec::new();
        for earlier in cells.iter().filter_map(|cell| self.accesses.get(cell)).flatten() {
            let conflict = (earlier.writes || access.writes) && !(earlier.atomic && access.atomic);
            if earlier.event.0 != thread && conflict && !self.before[thread].contains(&earlier.event) {
                let side = |position| Side { position };
                races.push(Goal::unordered(side(earlier.position), side(here)));
            }
        }
        races
    }

    fn learn(&mut self, thread: usize, events: &Events) {
        self.before[thread].extend(events);
    }

    fn learn_of(&mut self, thread: usize, object: Object, among: Among) {
        if let Some(events) = self.objects.get(&(object, among)) {
            self.before[thread].extend(events);
        }
    }

    fn tell(&mut self, thread: usize, object: Object, among: Among) {
        let known = self.before[thread].clone();
        self.objects.entry((object, among)).or_default().extend(known);
    }

    fn step(&mut self, program: &Program, thread: usize, way: Way, rules: Rules) {
        use Among::{Givers, Readers, Takers};
        let then = self.world.clone();
        let accesses = then.access(program, thread);
        let Some(performed) = self.world.step(program, thread, way) else {
            return;
        };
        let event = (thread, self.done[thread]);
        self.done[thread] += 1;
        self.before[thread].insert(event);
        let half = performed.half;
        if half == Half::Begin {
            return;
        }
        let page = rules == Rules::Page;
        let order = program.orders.get(performed.pc).copied().unwrap_or(MemoryOrder::SeqCst);
        let failed = performed.result == Result::Failed;
        let last = performed.result == Result::Chosen;
        if let Some((cells, access)) = accesses {
            self.access(thread, event, &performed, &cells, access, order, page);
        }
        match performed.instruction {
            Instruction::Fork { .. } => {
                self.before.push(self.before[thread].clone());
                self.done.push(0);
                self.loaded.push(Events::new());
                self.fenced.push(Events::new());
                self.woken.push(Events::new());
            }
            Instruction::Join { handle } | Instruction::TryJoin { handle, .. } if !failed => {
                if let Value::Thread(child) = performed.registers[handle] {
                    let ended = self.before[child].clone();
                    self.learn(thread, &ended);
                }
            }
            Instruction::Lock { lock, shared } | Instruction::TryLock { lock, shared, .. } => {
                let lock = Object::Lock(lock);
                if failed {
                    if page {
                        self.learn_of(thread, lock, Takers);
                    }
                    return;
                }
                self.learn_of(thread, lock, Givers);
                if !shared {
                    self.learn_of(thread, lock, Readers);
                }
                self.tell(thread, lock, Takers);
            }
            Instruction::Unlock { lock } if then.is_owned(lock) => self.tell(thread, Object::Lock(lock), Givers),
            Instruction::Unlock { lock } => self.tell(thread, Object::Lock(lock), Readers),
            Instruction::Wait { lock, .. } | Instruction::WaitFor { lock, .. } => {
                let lock = Object::Lock(lock);
                if half == Half::First {
                    self.tell(thread, lock, Givers);
                    return;
                }
                let woken = std::mem::take(&mut self.woken[thread]);
                if !failed {
                    self.learn(thread, &woken);
                }
                self.learn_of(thread, lock, Givers);
                self.learn_of(thread, lock, Readers);
                self.tell(thread, lock, Takers);
            }
            Instruction::Notify { .. } | Instruction::NotifyAll { .. } => {
                for (other, before) in then.threads.iter().enumerate() {
                    if before.waits == Waits::Asleep && self.world.threads[other].waits == Waits::Woken {
                        self.woken[other] = self.before[thread].clone();
                    }
                }
            }
            Instruction::Post { semaphore } => self.tell(thread, Object::Semaphore(semaphore), Givers),
            Instruction::Take { semaphore } | Instruction::TryTake { semaphore, .. } => {
                let semaphore = Object::Semaphore(semaphore);
                if !failed {
                    self.learn_of(thread, semaphore, Givers);
                    self.tell(thread, semaphore, Takers);
                } else if page {
                    self.learn_of(thread, semaphore, Takers);
                }
            }
            Instruction::Count { semaphore, .. } if page => {
                self.learn_of(thread, Object::Semaphore(semaphore), Givers);
                self.learn_of(thread, Object::Semaphore(semaphore), Takers);
            }
            Instruction::Barrier { barrier } | Instruction::Enter { barrier, .. } => {
                let object = Object::Barrier(barrier);
                if half == Half::Second {
                    let round = std::mem::take(&mut self.woken[thread]);
                    self.learn(thread, &round);
                    if page {
                        self.learn_of(thread, object, Givers);
                    }
                    return;
                }
                if page {
                    self.learn_of(thread, object, Givers);
                }
                self.tell(thread, object, Givers);
                if last {
                    let round = self.objects[&(object, Givers)].clone();
                    for (other, now) in self.world.threads.iter().enumerate() {
                        let is_of_round = now.waits == Waits::Complete
                            && then.threads[other].waits != Waits::Complete
                            && match program.code[then.threads[other].pc] {
                                Instruction::Barrier { barrier: of } | Instruction::Enter { barrier: of, .. } => {
                                    of == barrier
                                }
                                _ => false,
                            };
                        if is_of_round || other == thread {
                            self.woken[other] = round.clone();
                        }
                    }
                    if !page {
                        self.objects.remove(&(object, Givers));
                    }
                }
            }
            Instruction::Once { once, .. } if !last => self.learn_of(thread, Object::Once(once), Givers),
            Instruction::OnceDone { once } => self.tell(thread, Object::Once(once), Givers),
            Instruction::Alloc { .. } => {
                let block = self.world.blocks.len() - 1;
                self.tell(thread, Object::Block(block), Givers);
            }
            Instruction::Fence => {
                if acquires(order) {
                    let loaded = self.loaded[thread].clone();
                    self.learn(thread, &loaded);
                }
                if order == MemoryOrder::SeqCst && page {
                    self.learn_of(thread, Object::Fences, Givers);
                    self.tell(thread, Object::Fences, Givers);
                }
                if releases(order) {
                    self.fenced[thread] = self.before[thread].clone();
                }
            }
            Instruction::Output if page => self.tell(thread, Object::Outside, Givers),
            _ => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of one access")]
    fn access(
        &mut self,
        thread: usize,
        event: Event,
        performed: &crate::machine::Performed,
        cells: &[Cell],
        access: crate::machine::Access,
        order: MemoryOrder,
        page: bool,
    ) {
        let is_use = matches!(performed.instruction, Instruction::Use { .. });
        let reads = performed.saw.is_some();
        for &cell in cells {
            if let (Cell::Block(block, _), true) = (cell, page) {
                self.learn_of(thread, Object::Block(block), Among::Givers);
            }
            let made = Access {
                event,
                position: position(performed.pc, performed.half),
                writes: access.writes,
                atomic: access.atomic,
            };
            self.accesses.entry(cell).or_default().push(made);
            let written = self.written.get(&cell).cloned().unwrap_or_default();
            if reads {
                if !(access.atomic && written.atomically) {
                    self.learn(thread, &written.before);
                }
                if access.atomic {
                    for (_, released) in &written.released {
                        self.loaded[thread].extend(released);
                        if acquires(order) {
                            self.learn(thread, released);
                        }
                    }
                }
            }
        }
        // What of an object uses its memory leaves what its thread knows, as a write does.
        if !(access.writes || is_use && page) {
            return;
        }
        let is_atomic = access.atomic && !is_use;
        let mut released = self.fenced[thread].clone();
        if releases(order) {
            released.extend(&self.before[thread]);
        }
        for &cell in cells {
            let written = self.written.entry(cell).or_default();
            written.before = self.before[thread].clone();
            written.atomically = is_atomic;
            if !is_atomic {
                written.released.clear();
                continue;
            }
            if !reads {
                // A store ends all sequences but, by the older rule, its own thread's.
                written.released.retain(|&(head, _)| page && head == thread);
            }
            written.released.push((thread, released.clone()));
        }
    }
}

const HOW: How = How {
    fewest_states: None,
    ..crate::counts::HOW
};

/// What an exploration that is exhausted finds, besides races that are next at the same time; whether some atomic
/// operation is weak, without which it does not look.
fn found(program: &Program, how: How) -> Option<(BTreeSet<Goal>, bool)> {
    let (exploration, ..) = explored(program, how);
    let is_weak = exploration.forest.reservations().contains(&Reservation::WeakAtomics);
    let by_order = |reason: &Reason| *reason == Reason::Reservation(Reservation::WeakAtomics);
    let only_by_order = !exploration.is_exhausted() && exploration.not_exhausted.iter().all(by_order);
    assert!(!only_by_order, "orders were not looked at");
    let is_unordered = |goal: &Goal| matches!(goal, Goal::Unordered(..));
    let unordered = goals(&exploration).into_iter().filter(is_unordered).collect();
    exploration.is_exhausted().then_some((unordered, is_weak))
}

/// Those that are never next at the same time.
fn without_races(pairs: BTreeSet<Goal>, program: &Program, limit: usize) -> Option<BTreeSet<Goal>> {
    let truth = crate::oracle::truth(program, limit)?;
    let is_race = |goal: &Goal| match *goal {
        Goal::Unordered(a, b) => truth.goals.contains(&Goal::race(a, b)),
        _ => false,
    };
    Some(pairs.into_iter().filter(|goal| !is_race(goal)).collect())
}

/// Threads that pass data on: each does something to it, if it finds that the one before has said so, and says so to the
/// next.
struct Passing<'r> {
    random: &'r mut fastrand::Rng,
}

/// What the data is, and what it is said by.
const DATA: usize = 2;
const FLAGS: usize = 2;

impl Passing<'_> {
    fn program(&mut self) -> Program {
        let threads: Vec<_> = (0..self.random.usize(2..4)).map(|number| self.thread(number)).collect();
        let mut program = behind(&[], &threads);
        program.recursive = vec![false, false];
        program.counts = vec![0, 0];
        // Jumps lead to the end of their thread.
        let mut end = 0;
        for at in (0..program.code.len()).rev() {
            match &mut program.code[at] {
                Instruction::End => end = at,
                Instruction::JumpIf { to, .. } => *to = end,
                _ => {}
            }
        }
        random_program::orders(&mut program, self.random);
        program
    }

    fn thread(&mut self, number: usize) -> Vec<Instruction> {
        let mut code = Vec::new();
        if number > 0 {
            let before = if number > 1 && self.random.bool() {
                number - 2
            } else {
                number - 1
            };
            self.look(before, &mut code);
            self.fence(&mut code);
        }
        for _ in 0..self.random.usize(1..3) {
            let (variable, value) = (self.random.usize(0..DATA), Term::Number(self.random.i64(1..3)));
            code.push(match self.random.u32(0..5) {
                0 | 1 => read(variable, 1),
                2 | 3 => store(variable, 1),
                _ => Instruction::Write {
                    to: variable,
                    value,
                    atomic: true,
                },
            });
        }
        self.fence(&mut code);
        self.say(number, &mut code);
        if self.random.u32(0..4) == 0 {
            // What comes behind it is passed on by chance.
            code.push(store(self.random.usize(0..DATA), 1));
        }
        if self.random.u32(0..3) == 0 {
            self.say(number, &mut code);
        }
        code
    }

    fn fence(&mut self, code: &mut Vec<Instruction>) {
        if self.random.u32(0..3) == 0 {
            code.push(Instruction::Fence);
        }
    }

    fn say(&mut self, number: usize, code: &mut Vec<Instruction>) {
        let (to, one) = (DATA + number % FLAGS, Term::Number(1));
        code.push(match self.random.u32(0..8) {
            0 => Instruction::Post {
                semaphore: number % FLAGS,
            },
            1 => Instruction::Lock {
                lock: number % FLAGS,
                shared: false,
            },
            2 | 3 => Instruction::Add {
                to,
                value: one,
                into: 1,
            },
            4 => Instruction::Exchange {
                to,
                expected: Term::Number(self.random.i64(0..2)),
                new: one,
                into: 1,
            },
            _ => Instruction::Write {
                to,
                value: one,
                atomic: true,
            },
        });
    }

    fn look(&mut self, number: usize, code: &mut Vec<Instruction>) {
        let (from, into) = (DATA + number % FLAGS, 0);
        let mut equals = 0;
        code.push(match self.random.u32(0..8) {
            0 => Instruction::TryTake {
                semaphore: number % FLAGS,
                into,
            },
            1 => {
                // Who finds it held knows that somebody has it.
                equals = 1;
                Instruction::TryLock {
                    lock: number % FLAGS,
                    shared: false,
                    into,
                }
            }
            2 => Instruction::Add {
                to: from,
                value: Term::Number(0),
                into,
            },
            3 => Instruction::Exchange {
                to: from,
                expected: Term::Number(1),
                new: Term::Number(2),
                into,
            },
            _ => Instruction::Read {
                from,
                into,
                atomic: true,
            },
        });
        code.push(Instruction::JumpIf {
            left: Term::Plus(into, 0),
            equals,
            to: 0,
        });
    }
}

#[test]
fn unordered_races_are_those_of_exhaustive_search() {
    let first = environment("WITNESS_EXPLORE_SEED", 1);
    let limit = environment("WITNESS_EXPLORE_STATES", 3000) as usize;
    let (mut compared, mut with, mut pairs, mut by_page) = (0, 0, 0, 0);
    for seed in first..first + environment("WITNESS_EXPLORE_PROGRAMS", 300) {
        let mut random = fastrand::Rng::with_seed(seed);
        let program = if seed.is_multiple_of(4) {
            let kind = crate::kind().unwrap_or(random_program::Kind::Atomics);
            let mut program = random_program::program(&mut random, Some(kind));
            random_program::ordering(&mut program, &mut random);
            program
        } else {
            Passing { random: &mut random }.program()
        };
        let how = How {
            seed,
            states: Limits::default().states,
            ..HOW
        };
        let sides = [Rules::Least, Rules::Page].map(|rules| {
            let all = unordered(&program, rules, limit)?;
            without_races(all, &program, limit)
        });
        let [Some(least), Some(page)] = sides else {
            continue;
        };
        let Some((found, is_weak)) = found(&program, how) else {
            continue;
        };
        let told = format!("seed {seed}: {:#?}\n{:?}", program.code, program.orders);
        if is_weak {
            assert_eq!(found, least, "{told}");
        }
        assert!(page.is_subset(&found), "{told}");
        compared += usize::from(is_weak);
        with += usize::from(!found.is_empty());
        pairs += found.len();
        by_page += page.len();
    }
    println!("{compared} programs, {with} with {pairs} unordered races, {by_page} of them by the page");
    assert!(compared > 0 && with > 0, "nothing was compared");
}

/// One thread writes data and sets a flag; another one reads the data if it finds the flag set.
fn message(set: MemoryOrder, fence: Option<MemoryOrder>, look: MemoryOrder) -> Program {
    let flag = Instruction::Read {
        from: 1,
        into: 0,
        atomic: true,
    };
    let set_flag = Instruction::Write {
        to: 1,
        value: Term::Number(1),
        atomic: true,
    };
    let mut writer = vec![store(0, 1)];
    writer.extend(fence.map(|_| Instruction::Fence));
    writer.push(set_flag);
    let end = 3 + writer.len() + 1 + 3;
    let skip = Instruction::JumpIf {
        left: Term::Plus(0, 0),
        equals: 0,
        to: end,
    };
    let mut program = behind(&[], &[writer, vec![flag, skip, read(0, 1)]]);
    program.orders = (program.code.iter())
        .map(|instruction| match instruction {
            Instruction::Fence => fence.unwrap_or(MemoryOrder::SeqCst),
            Instruction::Write { atomic: true, .. } => set,
            _ => look,
        })
        .collect();
    program
}

#[test]
fn what_a_release_passes_on_is_no_race() {
    use MemoryOrder::{AcqRel, Acquire, Relaxed, Release};
    let races = |program: &Program| {
        let (found, _) = found(program, HOW).expect("exhausted");
        found.len()
    };
    assert_eq!(races(&message(Release, None, Acquire)), 0);
    assert_eq!(races(&message(Relaxed, None, Acquire)), 1);
    assert_eq!(races(&message(Release, None, Relaxed)), 1);
    assert_eq!(races(&message(Relaxed, Some(Release), Acquire)), 0);
    assert_eq!(races(&message(Relaxed, Some(AcqRel), Relaxed)), 1);
    assert_eq!(races(&message(Relaxed, Some(Acquire), Acquire)), 1);
}
