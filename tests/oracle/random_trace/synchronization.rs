//! Locks, conditions, semaphores, barriers, once cells, input and output.

use super::{BARRIER, CONDITIONS, MUTEXES, Mood, ONCES, PLAIN, RWLOCK, SEMAPHORES, SOURCES, Wait, World};
use std::collections::BTreeMap;
use trace_format::{MemoryOrder, ObjectId, Op, WaitOutcome};

impl World {
    /// Gives back one level of a lock that somebody holds alone.
    pub(super) fn give_back(&mut self, lock: u32) {
        if let Some((owner, depth)) = self.owner.remove(&lock).filter(|&(_, depth)| depth > 1) {
            self.owner.insert(lock, (owner, depth - 1));
        }
    }

    /// Takes a lock that is free.
    pub(super) fn take(&mut self, lock: u32, thread: usize) {
        self.owner.insert(lock, (thread, 1));
        let lock = ObjectId(lock);
        self.emit(thread, Op::Acquire { lock, attempt: false });
    }

    pub(super) fn lock(&mut self, thread: usize) {
        let lock = MUTEXES[self.random.below(2) as usize];
        let id = ObjectId(lock);
        match self.owner.get(&lock).copied() {
            None => {
                self.take(lock, thread);
            }
            Some((owner, depth)) if owner == thread => {
                let once_more = self.random.chance(if self.handlers { 40 } else { 15 });
                if once_more && self.foreign_unlock && lock == PLAIN {
                    // It finds what it holds itself, until somebody gives that back.
                    self.fail(thread, lock, false);
                } else if once_more {
                    self.owner.insert(lock, (thread, depth + 1));
                    self.emit(
                        thread,
                        Op::Acquire {
                            lock: id,
                            attempt: false,
                        },
                    );
                } else {
                    self.give_back(lock);
                    self.emit(thread, Op::Release { lock: id });
                }
            }
            Some(_) if self.foreign_unlock && self.random.chance(if lock == PLAIN { 60 } else { 30 }) => {
                self.give_back(lock);
                self.emit(thread, Op::Release { lock: id });
            }
            Some(_) if self.random.chance(40) => self.fail(thread, lock, false),
            Some(_) => {}
        }
    }

    /// Takes one of three locks within others, or gives one back.
    pub(super) fn nested_lock(&mut self, thread: usize) {
        let all = [MUTEXES[0], MUTEXES[1], RWLOCK];
        let holds = |world: &World, lock: u32| {
            world.owner.get(&lock).is_some_and(|&(owner, _)| owner == thread)
                || world.readers.contains_key(&(lock, thread))
        };
        let lock = all[self.random.below(3) as usize];
        let held: Vec<u32> = all.into_iter().filter(|&lock| holds(self, lock)).collect();
        let done = held.len() > 1 && self.random.chance(60) || self.random.chance(15);
        match held.get(self.random.below(3) as usize).or(held.first()) {
            Some(&lock) if done && lock != RWLOCK => {
                self.give_back(lock);
                let lock = ObjectId(lock);
                self.emit(thread, Op::Release { lock });
            }
            Some(&RWLOCK) if done => self.rwlock(thread),
            _ if holds(self, lock) => {}
            _ if lock == RWLOCK => self.rwlock(thread),
            _ if self.owner.contains_key(&lock) && self.random.chance(80) => {}
            _ => self.lock(thread),
        }
    }

    fn fail(&mut self, thread: usize, lock: u32, shared: bool) {
        let lock = ObjectId(lock);
        self.emit(thread, Op::AcquireFailed { lock, shared });
    }

    /// Takes or gives back a lock for reading or writing, more than once if it has it already, or finds it held.
    pub(super) fn rwlock(&mut self, thread: usize) {
        let id = ObjectId(RWLOCK);
        let others_read = self.readers.keys().any(|&(_, reader)| reader != thread);
        let depth = self.readers.get(&(RWLOCK, thread)).copied();
        // Its own hold is in the way, too.
        let own = depth.is_some() || self.owner.get(&RWLOCK).is_some_and(|&(owner, _)| owner == thread);
        if own && self.random.chance(12) {
            let shared = depth.is_none() && self.random.chance(50);
            return self.fail(thread, RWLOCK, shared);
        }
        match (self.owner.get(&RWLOCK).copied(), depth) {
            (Some((owner, depth)), _) if owner == thread => {
                if self.random.chance(15) {
                    self.owner.insert(RWLOCK, (thread, depth + 1));
                    self.emit(
                        thread,
                        Op::Acquire {
                            lock: id,
                            attempt: false,
                        },
                    );
                } else {
                    self.give_back(RWLOCK);
                    self.emit(thread, Op::Release { lock: id });
                }
            }
            (Some(_), _) if self.foreign_unlock && self.random.chance(15) => {
                self.give_back(RWLOCK);
                self.emit(thread, Op::Release { lock: id });
            }
            (Some(_), _) => {
                if self.random.chance(30) {
                    let shared = self.random.chance(50);
                    self.fail(thread, RWLOCK, shared);
                }
            }
            (None, _) if others_read && self.random.chance(25) => self.fail(thread, RWLOCK, false),
            (None, Some(depth)) if self.random.chance(60) => {
                match depth {
                    1 => self.readers.remove(&(RWLOCK, thread)),
                    _ => self.readers.insert((RWLOCK, thread), depth - 1),
                };
                self.emit(thread, Op::Release { lock: id });
            }
            (None, depth) if others_read || depth.is_some() || self.random.chance(50) => {
                self.readers.insert((RWLOCK, thread), depth.unwrap_or(0) + 1);
                self.emit(
                    thread,
                    Op::AcquireShared {
                        lock: id,
                        attempt: false,
                    },
                );
            }
            (None, _) => {
                self.owner.insert(RWLOCK, (thread, 1));
                self.emit(
                    thread,
                    Op::Acquire {
                        lock: id,
                        attempt: false,
                    },
                );
            }
        }
    }

    /// Waits, with any lock that the thread holds alone, or wakes those that wait.
    pub(super) fn condition(&mut self, thread: usize) {
        let chosen = self.random.one_of(CONDITIONS);
        let condition = ObjectId(chosen);
        let held = self.owner.iter().find(|&(_, &(owner, _))| owner == thread);
        let held = held.map(|(&lock, &(_, depth))| (lock, depth));
        if let Some((lock, depth)) = held
            && self.random.chance(60)
        {
            let times_out = self.random.chance(25);
            self.owner.remove(&lock);
            let begin = self.events.len();
            self.mood[thread] = Mood::Waiting(Wait {
                begin,
                condition: chosen,
                lock,
                depth,
                times_out,
            });
            if !times_out {
                self.waiting.insert(begin, (thread, chosen));
            }
            let lock = ObjectId(lock);
            return self.emit(thread, Op::WaitBegin { condition, lock });
        }
        let waits = self.waiting.iter().filter(|&(_, &(_, on))| on == chosen);
        let waits: Vec<(usize, usize)> = waits.map(|(&wait, &(thread, _))| (thread, wait)).collect();
        // The last wait of each thread.
        let waiters: Vec<usize> = BTreeMap::from_iter(waits.iter().copied()).into_values().collect();
        let all = self.random.chance(30);
        let woken: Vec<usize> = match waiters[..] {
            [] => Vec::new(),
            _ if all => waits.into_iter().map(|(_, wait)| wait).collect(),
            _ => vec![waiters[self.random.below(waiters.len() as u64) as usize]],
        };
        for wait in woken {
            self.waiting.remove(&wait);
            self.woken.insert(wait);
        }
        self.emit(
            thread,
            if all {
                Op::NotifyAll { condition }
            } else {
                Op::Notify { condition }
            },
        );
    }

    pub(super) fn end_wait(&mut self, thread: usize, wait: Wait) {
        let Wait { condition, lock, .. } = wait;
        let read = self.readers.keys().any(|&(other, _)| other == lock);
        if self.owner.contains_key(&lock) || read || !(wait.times_out || self.woken.contains(&wait.begin)) {
            return;
        }
        self.woken.remove(&wait.begin);
        self.owner.insert(lock, (thread, wait.depth));
        self.mood[thread] = Mood::Running;
        let outcome = match wait.times_out {
            true => WaitOutcome::TimedOut,
            false => WaitOutcome::Notified,
        };
        let (condition, lock) = (ObjectId(condition), ObjectId(lock));
        self.emit(
            thread,
            Op::WaitEnd {
                condition,
                lock,
                outcome,
                attempt: false,
            },
        );
    }

    pub(super) fn semaphore(&mut self, thread: usize) {
        let chosen = self.random.one_of(SEMAPHORES);
        let semaphore = ObjectId(chosen);
        let count = self.count.entry(chosen).or_default();
        if self.random.0.u64(..100) < 15 {
            let value = *count;
            self.emit(thread, Op::SemValue { semaphore, value });
        } else if *count > 0 && self.random.0.u64(..100) < 60 {
            *count -= 1;
            self.emit(
                thread,
                Op::SemWait {
                    semaphore,
                    attempt: false,
                },
            );
        } else if *count == 0 && self.random.0.u64(..100) < 35 {
            self.emit(thread, Op::SemWaitFailed { semaphore });
        } else if self.random.0.u64(..100) < 50 {
            *count += 1;
            self.emit(thread, Op::SemPost { semaphore });
        }
    }

    /// Comes to a barrier for two.
    pub(super) fn round(&mut self, thread: usize) {
        if self.random.chance(60) {
            let (barrier, round) = (ObjectId(BARRIER), self.entered / 2);
            self.entered += 1;
            self.mood[thread] = Mood::InBarrier(round);
            self.emit(thread, Op::BarrierEnter { barrier, round });
        }
    }

    pub(super) fn leave_barrier(&mut self, thread: usize, round: u32) {
        if self.entered >= 2 * (round + 1) {
            self.mood[thread] = Mood::Running;
            let barrier = ObjectId(BARRIER);
            self.emit(
                thread,
                Op::BarrierExit {
                    barrier,
                    round,
                    attempt: false,
                },
            );
        }
    }

    /// Begins an initialization, sometimes beside another one of the same cell or after it, or finds it done.
    pub(super) fn once(&mut self, thread: usize) {
        let chosen = self.random.one_of(ONCES);
        let once = ObjectId(chosen);
        if self.once_done.contains(&chosen) && self.random.chance(75) {
            self.emit(thread, Op::OnceWait { once });
        } else if !self.once_taken.contains(&chosen) || self.random.chance(30) {
            self.once_taken.insert(chosen);
            self.mood[thread] = Mood::InOnce(chosen);
            self.emit(thread, Op::OnceBegin { once });
        }
    }

    pub(super) fn outside(&mut self, thread: usize) {
        let source = ObjectId(self.random.one_of(SOURCES));
        let op = match self.random.below(8) {
            0..3 => Op::Input { source, value: 0 },
            3..6 => Op::Output { source },
            6 => Op::Branch,
            _ => Op::Fence {
                order: MemoryOrder::SeqCst,
            },
        };
        self.emit(thread, op);
    }
}
