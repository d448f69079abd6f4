//! The second walk over a foreign trace: refuses or mends what no execution can be.
//!
//! Every event must be enabled when its turn comes, by the table of `docs/SEMANTICS.md`: this walk
//! keeps who holds each lock, who was forked, who waits. Without `repair` the first event that is
//! not refuses the trace; with it, [`Malformed::remedy`](super::Malformed::remedy) is applied and
//! noted. A repair may add or remove order, so what is predicted from a mended trace is as good as
//! the repairs.
//!
//! Waits come in two ways. As `rel(l) wait(c) … acq(l)`, the wait begins at the release, since the
//! lock is free from there, and ends at the acquire. As a `wait` by a holder of the lock, it begins
//! there and ends at the thread's next event: at an `acq(l)`, else just before it. It counts as
//! notified if a notify finds it waiting, else as timed out; a notify that finds several wakes the
//! one that ends first, as the checker's `validate` has it.

use super::Format;
use super::build::{Access, Build};
use super::error::{ImportError, Malformed, Repair};
use super::record::{Names, Record, RecordOp};
use super::survey::Survey;
use hashbrown::HashMap;
use trace_format::{Op, ThreadId, WaitOutcome};

/// A lock that is held.
struct Held {
    thread: u32,
    depth: u32,
    since: u64,
}

/// A wait that has begun.
struct Waiting {
    condition: u32,
    lock: u32,
    depth: u32,
    pc: u64,
    /// Line of the `wait`.
    line: u64,
    /// Line where it ends, as far as the trace has it.
    end: Option<u64>,
    /// Whether it ends with an acquire of the lock, and not just before another event.
    at_acquire: bool,
    woken: bool,
}

/// Walks the records in order.
pub(super) struct Mender {
    file: String,
    repair: bool,
    repairs: Vec<Repair>,
    names: Names,
    survey: Survey,
    locks: HashMap<u32, Held>,
    /// By thread: line of the fork that counts.
    forked: HashMap<u32, u64>,
    /// By thread. Few, so that a notify may look at all of them.
    waiting: HashMap<u32, Waiting>,
    build: Build,
}

impl Mender {
    pub(super) fn new(
        file: &str,
        format: Format,
        survey: Survey,
        names: Names,
        repair: bool,
    ) -> Result<Mender, ImportError> {
        Ok(Mender {
            file: file.to_owned(),
            repair,
            repairs: Vec::new(),
            build: Build::new(file, format, &names, &survey)?,
            names,
            survey,
            locks: HashMap::new(),
            forked: HashMap::new(),
            waiting: HashMap::new(),
        })
    }

    /// The trace's bytes, and what was repaired.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Vec<Repair>), ImportError> {
        Ok((self.build.finish(self.repairs.len())?, self.repairs))
    }

    /// The next event, or why a line is none.
    pub(super) fn record(&mut self, line: u64, parsed: Result<Record, Malformed>) -> Result<(), ImportError> {
        let Record { thread, op, position } = match parsed {
            Ok(record) => record,
            Err(what) => return self.fault(line, what),
        };
        let is_access = matches!(
            op,
            RecordOp::Read(_) | RecordOp::Write(_) | RecordOp::VolatileRead(_) | RecordOp::VolatileWrite(_)
        );
        let pc = self.build.position(position, line, is_access);
        let is_last = self.survey.threads[thread as usize].last == line;
        let done = self.resume(line, thread, pc, op)?;
        if is_last && op == RecordOp::End {
            self.release_rest(line, thread)?;
        }
        if !done {
            self.perform(line, thread, pc, op)?;
        }
        if is_last && op != RecordOp::End {
            self.release_rest(line, thread)?;
        }
        Ok(())
    }

    fn perform(&mut self, line: u64, thread: u32, pc: u64, op: RecordOp) -> Result<(), ImportError> {
        match op {
            RecordOp::Read(variable) => self.build.access(line, thread, pc, variable, Access::Read),
            RecordOp::Write(variable) => self.build.access(line, thread, pc, variable, Access::Write),
            RecordOp::VolatileRead(variable) => self.build.access(line, thread, pc, variable, Access::VolatileRead),
            RecordOp::VolatileWrite(variable) => self.build.access(line, thread, pc, variable, Access::VolatileWrite),
            RecordOp::Branch => self.build.event(line, thread, pc, Op::Branch),
            RecordOp::Acquire(lock) => self.acquire(line, thread, pc, lock),
            RecordOp::Release(lock) => self.release(line, thread, pc, lock),
            RecordOp::Wait(condition) => self.wait(line, thread, pc, condition),
            RecordOp::Notify(condition) => {
                let candidates = self.waiting.values_mut();
                let unwoken = candidates.filter(|wait| wait.condition == condition && !wait.woken);
                if let Some(first) = unwoken.min_by_key(|wait| (wait.end.unwrap_or(u64::MAX), wait.line)) {
                    first.woken = true;
                }
                let condition = self.build.condition(condition);
                self.build.event(line, thread, pc, Op::Notify { condition })
            }
            RecordOp::NotifyAll(condition) => {
                let candidates = self.waiting.values_mut();
                candidates
                    .filter(|wait| wait.condition == condition)
                    .for_each(|wait| wait.woken = true);
                let condition = self.build.condition(condition);
                self.build.event(line, thread, pc, Op::NotifyAll { condition })
            }
            RecordOp::Fork(child) => self.fork(line, thread, pc, child),
            RecordOp::Join(child) => self.join(line, thread, pc, child),
            RecordOp::Begin | RecordOp::End => self.bound(line, thread, pc, op),
        }
    }

    /// Refuses the trace, or notes that what is wrong is repaired.
    fn fault(&mut self, line: u64, what: Malformed) -> Result<(), ImportError> {
        if self.repair {
            self.repairs.push(Repair { line, what });
            return Ok(());
        }
        let file = self.file.clone();
        Err(ImportError::Malformed { file, line, what })
    }

    fn thread(&self, thread: u32) -> String {
        self.names.threads.name(thread).to_owned()
    }

    fn lock(&self, lock: u32) -> String {
        self.names.locks.name(lock).to_owned()
    }

    fn holds(&self, thread: u32, lock: u32) -> bool {
        self.locks.get(&lock).is_some_and(|held| held.thread == thread)
    }

    /// Makes sure that nobody else holds a lock that a thread is about to take.
    fn make_free(&mut self, line: u64, thread: u32, lock: u32) -> Result<(), ImportError> {
        let Some(held) = self.locks.get(&lock).filter(|held| held.thread != thread) else {
            return Ok(());
        };
        let (holder, depth) = (held.thread, held.depth);
        let what = Malformed::LockHeld {
            thread: self.thread(thread),
            lock: self.lock(lock),
            holder: self.thread(holder),
            since: held.since,
        };
        self.fault(line, what)?;
        self.locks.remove(&lock);
        self.releases(line, holder, lock, depth)
    }

    fn releases(&mut self, line: u64, thread: u32, lock: u32, depth: u32) -> Result<(), ImportError> {
        let lock = self.build.lock(lock);
        (0..depth).try_for_each(|_| self.build.event(line, thread, 0, Op::Release { lock }))
    }

    fn acquire(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        self.make_free(line, thread, lock)?;
        let (depth, since) = (0, line);
        let held = self.locks.entry(lock).or_insert(Held { thread, depth, since });
        held.depth += 1;
        let lock = self.build.lock(lock);
        self.build.event(line, thread, pc, Op::Acquire { lock })
    }

    fn release(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        if !self.holds(thread, lock) {
            let (thread, lock) = (self.thread(thread), self.lock(lock));
            return self.fault(line, Malformed::NotHeld { thread, lock });
        }
        if let Some(&wait) = self.survey.waiting_releases.get(&line) {
            let known = self.survey.waits[&wait];
            if known.next == 0 || known.acquires == Some(lock) {
                return self.begin_wait(line, thread, pc, wait, lock);
            }
        }
        if let Some(held) = self.locks.get_mut(&lock) {
            held.depth -= 1;
            if held.depth == 0 {
                self.locks.remove(&lock);
            }
        }
        let lock = self.build.lock(lock);
        self.build.event(line, thread, pc, Op::Release { lock })
    }

    /// With `--repair`: gives back what a thread holds at its last event and others take later.
    fn release_rest(&mut self, line: u64, thread: u32) -> Result<(), ImportError> {
        if !self.repair {
            return Ok(());
        }
        let held = self.locks.iter().filter(|(_, held)| held.thread == thread);
        let wanted = held.filter(|(lock, _)| self.survey.last_acquire.get(*lock).is_some_and(|&last| last > line));
        let mut wanted: Vec<(u32, u32)> = wanted.map(|(&lock, held)| (lock, held.depth)).collect();
        wanted.sort_unstable();
        for (lock, depth) in wanted {
            let what = Malformed::HeldAtEnd {
                thread: self.thread(thread),
                lock: self.lock(lock),
            };
            self.fault(line, what)?;
            self.locks.remove(&lock);
            self.releases(line, thread, lock, depth)?;
        }
        Ok(())
    }

    fn wait(&mut self, line: u64, thread: u32, pc: u64, condition: u32) -> Result<(), ImportError> {
        let known = self.survey.waits[&line];
        let what = match known.release {
            Some((_, lock)) if known.next != 0 && known.acquires != Some(lock) => Malformed::WaitWithoutAcquire {
                thread: self.thread(thread),
                condition: self.lock(condition),
                lock: self.lock(lock),
                next: known.next,
            },
            None if self.holds(thread, condition) => return self.begin_wait(line, thread, pc, line, condition),
            None => match known.acquires.filter(|&lock| self.holds(thread, lock)) {
                Some(lock) => return self.begin_wait(line, thread, pc, line, lock),
                None => self.wait_without_lock(thread, condition),
            },
            // Its release was refused, and so is this.
            Some(_) => self.wait_without_lock(thread, condition),
        };
        self.fault(line, what)
    }

    fn wait_without_lock(&self, thread: u32, condition: u32) -> Malformed {
        Malformed::WaitWithoutLock {
            thread: self.thread(thread),
            condition: self.lock(condition),
        }
    }

    /// Starts the wait of the line `wait`, at its release or at the wait itself.
    fn begin_wait(&mut self, line: u64, thread: u32, pc: u64, wait: u64, lock: u32) -> Result<(), ImportError> {
        let known = self.survey.waits[&wait];
        let condition = known.condition;
        let depth = self.locks.remove(&lock).map_or(1, |held| held.depth);
        self.waiting.insert(
            thread,
            Waiting {
                condition,
                lock,
                depth,
                pc,
                line: wait,
                end: Some(known.next).filter(|&next| next != 0),
                at_acquire: known.acquires == Some(lock),
                woken: false,
            },
        );
        let (condition, lock) = (self.build.condition(condition), self.build.lock(lock));
        self.build.event(line, thread, pc, Op::WaitBegin { condition, lock })
    }

    /// Ends the wait that a thread is in, if its next event is this one. Says whether the event is
    /// thereby done.
    fn resume(&mut self, line: u64, thread: u32, pc: u64, op: RecordOp) -> Result<bool, ImportError> {
        let Some(wait) = self.waiting.get(&thread) else {
            return Ok(false);
        };
        if wait.line == line {
            return Ok(true);
        }
        let (condition, lock, depth, at_acquire) = (wait.condition, wait.lock, wait.depth, wait.at_acquire);
        debug_assert!(
            !at_acquire || op == RecordOp::Acquire(lock),
            "the survey saw the next event"
        );
        let pc = if at_acquire { pc } else { wait.pc };
        let woken = wait.woken;
        self.make_free(line, thread, lock)?;
        self.waiting.remove(&thread);
        let since = line;
        self.locks.insert(lock, Held { thread, depth, since });
        let outcome = if woken {
            WaitOutcome::Notified
        } else {
            WaitOutcome::TimedOut
        };
        let (condition, lock) = (self.build.condition(condition), self.build.lock(lock));
        let end = Op::WaitEnd {
            condition,
            lock,
            outcome,
        };
        self.build.event(line, thread, pc, end)?;
        Ok(at_acquire)
    }

    fn fork(&mut self, line: u64, thread: u32, pc: u64, child: u32) -> Result<(), ImportError> {
        let first = self.survey.threads[child as usize].first;
        let what = if child == thread {
            self.itself(thread, "forks")
        } else if let Some(&before) = self.forked.get(&child) {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::ForkedTwice { thread, child, before }
        } else if first != 0 && first < line {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::ForkTooLate { thread, child, first }
        } else {
            self.forked.insert(child, line);
            self.build.created(thread, child, self.names.threads.name(child));
            let child = ThreadId(child);
            return self.build.event(line, thread, pc, Op::Fork { child });
        };
        self.fault(line, what)
    }

    fn join(&mut self, line: u64, thread: u32, pc: u64, child: u32) -> Result<(), ImportError> {
        let last = self.survey.threads[child as usize].last;
        let last = last.max(self.survey.forks.get(&child).copied().unwrap_or(0));
        let what = if child == thread {
            self.itself(thread, "joins")
        } else if last > line {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::JoinTooEarly { thread, child, last }
        } else {
            let child = ThreadId(child);
            return self.build.event(line, thread, pc, Op::Join { child });
        };
        self.fault(line, what)
    }

    fn itself(&self, thread: u32, what: &'static str) -> Malformed {
        let thread = self.thread(thread);
        Malformed::Itself { thread, what }
    }

    /// `begin` and `end`: of a thread, or of atomic blocks, which order nothing.
    fn bound(&mut self, line: u64, thread: u32, pc: u64, op: RecordOp) -> Result<(), ImportError> {
        let known = &self.survey.threads[thread as usize];
        let (first, last) = (known.first, known.last);
        if known.has_blocks() {
            return Ok(());
        }
        let name = self.thread(thread);
        match op {
            RecordOp::Begin if first < line => self.fault(line, Malformed::BeginTooLate { thread: name, first }),
            RecordOp::Begin => self.build.event(line, thread, pc, Op::Begin),
            _ if last > line => self.fault(line, Malformed::EventsAfterEnd { thread: name, last }),
            _ => self.build.event(line, thread, pc, Op::End),
        }
    }
}
