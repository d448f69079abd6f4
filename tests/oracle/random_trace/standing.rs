//! Runs of two or three short threads that wait for each other in all ways and end: in other orders, many stand still.

use std::collections::VecDeque;
use trace_format::{
    Event, Meta, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo, WaitOutcome,
};

const LOCK: ObjectId = ObjectId(0);
const OTHER_LOCK: ObjectId = ObjectId(1);
const CONDITION: ObjectId = ObjectId(2);
const SEMAPHORES: [ObjectId; 2] = [ObjectId(3), ObjectId(4)];
const BARRIER: ObjectId = ObjectId(5);
const ONCE: ObjectId = ObjectId(6);

/// What threads do.
#[derive(Clone, Copy)]
enum Act {
    Lock(ObjectId),
    Unlock(ObjectId),
    Wait,
    Notify,
    NotifyAll,
    Post(ObjectId),
    Take(ObjectId),
    Meet,
    Initialize,
    Join(u32),
}

/// Where a thread is in its act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Asleep,
    Woken,
    Barrier(u32),
    Initializing,
}

struct Run {
    random: fastrand::Rng,
    programs: Vec<VecDeque<Act>>,
    inside: Vec<Inside>,
    ended: Vec<bool>,
    owner: [Option<u32>; 2],
    counts: [u32; 2],
    entered: u32,
    /// Not begun, begun, done.
    once: u8,
    events: Vec<Event>,
}

/// What a thread does between locks.
fn acts(random: &mut fastrand::Rng, threads: u32, thread: u32) -> VecDeque<Act> {
    let mut acts = VecDeque::new();
    let lock = [LOCK, OTHER_LOCK][random.usize(..2)];
    let locked = random.u32(..3) > 0;
    let (from, until) = (random.usize(..2), random.usize(2..4));
    for number in 0..4 {
        if locked && number == from {
            acts.push_back(Act::Lock(lock));
        }
        let semaphore = SEMAPHORES[random.usize(..2)];
        match random.u32(..9) {
            0 | 1 => acts.push_back(Act::Post(semaphore)),
            2 | 3 => acts.push_back(Act::Take(semaphore)),
            4 => acts.push_back(Act::Meet),
            5 => acts.push_back(if random.bool() { Act::Notify } else { Act::NotifyAll }),
            6 if locked && lock == LOCK && (from..until).contains(&number) => acts.push_back(Act::Wait),
            7 => acts.push_back(Act::Initialize),
            _ => {}
        }
        if locked && number + 1 == until {
            acts.push_back(Act::Unlock(lock));
        }
    }
    if locked && until > 4 {
        acts.push_back(Act::Unlock(lock));
    }
    if thread == 0 && random.bool() {
        acts.push_back(Act::Join(random.u32(1..threads)));
    }
    acts
}

impl Run {
    fn emit(&mut self, thread: u32, op: Op) {
        let pc = 0x100 * (u64::from(thread) + 1) + self.random.u64(..5);
        self.events.push(Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        });
    }

    fn over(&mut self, thread: u32) {
        self.inside[thread as usize] = Inside::Nothing;
        self.programs[thread as usize].pop_front();
    }

    /// The thread does its next step; false if it cannot.
    fn step(&mut self, thread: u32) -> bool {
        let own = thread as usize;
        let Some(&act) = self.programs[own].front() else {
            if self.ended[own] {
                return false;
            }
            self.ended[own] = true;
            self.emit(thread, Op::End);
            return true;
        };
        let attempt = false;
        match (act, self.inside[own]) {
            (Act::Lock(lock), _) => {
                if self.owner[lock.index()].is_some() {
                    return false;
                }
                self.owner[lock.index()] = Some(thread);
                self.emit(thread, Op::Acquire { lock, attempt });
            }
            (Act::Unlock(lock), _) => {
                self.owner[lock.index()] = None;
                self.emit(thread, Op::Release { lock });
            }
            (Act::Wait, Inside::Nothing) => {
                self.owner[0] = None;
                self.inside[own] = Inside::Asleep;
                let (condition, lock) = (CONDITION, LOCK);
                self.emit(thread, Op::WaitBegin { condition, lock });
                return true;
            }
            (Act::Wait, Inside::Woken) if self.owner[0].is_none() => {
                self.owner[0] = Some(thread);
                let end = Op::WaitEnd {
                    condition: CONDITION,
                    lock: LOCK,
                    outcome: WaitOutcome::Notified,
                    attempt,
                };
                self.emit(thread, end);
            }
            (Act::Wait, _) => return false,
            (Act::Notify | Act::NotifyAll, _) => {
                let mut asleep: Vec<usize> = (0..self.inside.len())
                    .filter(|&other| self.inside[other] == Inside::Asleep)
                    .collect();
                self.random.shuffle(&mut asleep);
                let condition = CONDITION;
                if let Act::Notify = act {
                    asleep.truncate(1);
                    self.emit(thread, Op::Notify { condition });
                } else {
                    self.emit(thread, Op::NotifyAll { condition });
                }
                asleep.into_iter().for_each(|other| self.inside[other] = Inside::Woken);
            }
            (Act::Post(semaphore), _) => {
                self.counts[semaphore.index() - 3] += 1;
                self.emit(thread, Op::SemPost { semaphore });
            }
            (Act::Take(semaphore), _) => {
                let count = &mut self.counts[semaphore.index() - 3];
                if *count == 0 {
                    return false;
                }
                *count -= 1;
                self.emit(thread, Op::SemWait { semaphore, attempt });
            }
            (Act::Meet, Inside::Barrier(round)) => {
                if self.entered < 2 * (round + 1) {
                    return false;
                }
                let barrier = BARRIER;
                self.emit(
                    thread,
                    Op::BarrierExit {
                        barrier,
                        round,
                        attempt,
                    },
                );
            }
            (Act::Meet, _) => {
                let (barrier, round) = (BARRIER, self.entered / 2);
                self.entered += 1;
                self.inside[own] = Inside::Barrier(round);
                self.emit(thread, Op::BarrierEnter { barrier, round });
                return true;
            }
            (Act::Initialize, Inside::Initializing) => {
                self.once = 2;
                self.emit(thread, Op::OnceEnd { once: ONCE });
            }
            (Act::Initialize, _) => match self.once {
                0 => {
                    self.once = 1;
                    self.inside[own] = Inside::Initializing;
                    self.emit(thread, Op::OnceBegin { once: ONCE });
                    // What it does before the end of that.
                    if self.programs[own].len() > 1 && self.random.bool() {
                        self.programs[own].swap(0, 1);
                        let moved = matches!(self.programs[own][0], Act::Post(_) | Act::Take(_));
                        if !moved {
                            self.programs[own].swap(0, 1);
                        }
                    }
                    return true;
                }
                1 => return false,
                _ => self.emit(thread, Op::OnceWait { once: ONCE }),
            },
            (Act::Join(child), _) => {
                if !self.ended[child as usize] {
                    return false;
                }
                let child = ThreadId(child);
                self.emit(thread, Op::Join { child, attempt });
            }
        }
        let initializing = self.inside[own] == Inside::Initializing && !matches!(act, Act::Initialize);
        self.over(thread);
        if initializing {
            self.inside[own] = Inside::Initializing;
        }
        true
    }
}

/// Such a run, if one of a few tries comes to its end.
pub fn generate_standing(seed: u64) -> Option<(Tables, Vec<Event>)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let threads = random.u32(2..4);
    let counts = [random.u32(..2), random.u32(..3)];
    let programs: Vec<VecDeque<Act>> = (0..threads).map(|thread| acts(&mut random, threads, thread)).collect();
    for _ in 0..20 {
        let mut run = Run {
            random: random.fork(),
            programs: programs.clone(),
            inside: vec![Inside::Nothing; threads as usize],
            ended: vec![false; threads as usize],
            owner: [None; 2],
            counts,
            entered: 0,
            once: 0,
            events: Vec::new(),
        };
        let mut tries = 0;
        while !run.ended.iter().all(|&ended| ended) && tries < 400 {
            tries += 1;
            let thread = run.random.u32(..threads);
            run.step(thread);
        }
        if run.ended.iter().all(|&ended| ended) && run.events.len() <= 28 {
            let object = |kind, initial| ObjectInfo {
                kind,
                addr: 0,
                name: None,
                initial,
            };
            let tables = Tables {
                meta: Meta::default(),
                threads: vec![ThreadInfo::default(); threads as usize],
                objects: vec![
                    object(ObjectKind::Mutex, 0),
                    object(ObjectKind::Mutex, 0),
                    object(ObjectKind::Condition, 0),
                    object(ObjectKind::Semaphore, counts[0]),
                    object(ObjectKind::Semaphore, counts[1]),
                    object(ObjectKind::Barrier, 0),
                    object(ObjectKind::Once, 0),
                ],
                ..Tables::default()
            };
            return Some((tables, run.events));
        }
    }
    None
}
