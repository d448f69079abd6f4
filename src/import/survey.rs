//! The first walk over a foreign trace: what the second walk must know of the events ahead.
//!
//! Whether a join comes too early depends on the child's last event, and whether a release starts a
//! wait on the thread's next event. The survey judges nothing; `mend` does.

use super::error::ImportError;
use super::record::{Names, Parse, Record, RecordOp};
use hashbrown::{HashMap, HashSet};

/// What is known of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadSurvey {
    /// Line of the first and last event; 0 if it has none.
    pub(super) first: u64,
    pub(super) last: u64,
    begins: u32,
    ends: u32,
}

impl ThreadSurvey {
    /// Whether `begin` and `end` bound atomic blocks, as in RAPID, and not the thread: then they
    /// come more than once.
    pub(super) fn has_blocks(&self) -> bool {
        self.begins > 1 || self.ends > 1
    }
}

/// How a wait is logged, by the line of the `wait`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WaitSurvey {
    /// What it waits on.
    pub(super) condition: u32,
    /// Line of the `rel` just before it in its thread, and the lock.
    pub(super) release: Option<(u64, u32)>,
    /// Line of the thread's next event; 0 if there is none.
    pub(super) next: u64,
    /// The lock that the next event acquires, if it is an acquire.
    pub(super) acquires: Option<u32>,
    /// The lock that the next event releases, if the one after that acquires it again, and the line of that.
    pub(super) released_after: Option<(u32, u64)>,
}

/// What the first walk found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) threads: Vec<ThreadSurvey>,
    pub(super) waits: HashMap<u64, WaitSurvey>,
    /// By line of a `rel` with a `wait` of the same thread right after it: the line of the wait.
    pub(super) waiting_releases: HashMap<u64, u64>,
    /// By thread: line of its first fork.
    pub(super) forks: HashMap<u32, u64>,
    /// By lock: line of its last acquire, or of the last end of a wait.
    pub(super) last_acquire: HashMap<u32, u64>,
    /// The same, without acquires for reading.
    pub(super) last_alone: HashMap<u32, u64>,
    /// Locks that their holder takes once more somewhere.
    pub(super) recursive: HashSet<u32>,
    /// Names in the roles of conditions.
    pub(super) conditions: HashSet<u32>,
    /// Locks that are taken for reading somewhere.
    pub(super) shared: HashSet<u32>,
    /// Names in the roles of locks.
    pub(super) locks: HashSet<u32>,
}

/// Walks a whole file. Afterwards `names` has all its names.
pub(super) fn survey(file: &str, bytes: &[u8], parse: Parse, names: &mut Names) -> Result<Survey, ImportError> {
    let mut walk = Walk::default();
    parse(file, bytes, names, &mut |line, parsed| {
        if let Ok(record) = parsed {
            walk.record(line, record);
        }
        Ok(())
    })?;
    walk.survey
        .threads
        .resize_with(names.threads.len(), ThreadSurvey::default);
    Ok(walk.survey)
}

#[derive(Default)]
struct Walk {
    survey: Survey,
    /// By thread: its last event.
    before: HashMap<u32, (u64, RecordOp)>,
    /// By thread: its last event but one.
    two_before: HashMap<u32, (u64, RecordOp)>,
    /// By lock: who took it last, and how often more than given back.
    depth: HashMap<u32, (u32, u32)>,
}

impl Walk {
    fn record(&mut self, line: u64, Record { thread, op, .. }: Record) {
        let index = thread as usize;
        if self.survey.threads.len() <= index {
            self.survey.threads.resize_with(index + 1, ThreadSurvey::default);
        }
        let known = &mut self.survey.threads[index];
        if known.first == 0 {
            known.first = line;
        }
        known.last = line;
        let before = self.before.insert(thread, (line, op));
        let two_before = before.and_then(|before| self.two_before.insert(thread, before));
        if let (Some((wait, RecordOp::Wait(_))), Some((_, RecordOp::Release(lock))), RecordOp::Acquire(again)) =
            (two_before, before, op)
            && lock == again
            && let Some(wait) = self.survey.waits.get_mut(&wait)
        {
            wait.released_after = Some((lock, line));
        }
        if let Some((wait, RecordOp::Wait(_) | RecordOp::MonitorWait(_))) = before
            && let Some(wait) = self.survey.waits.get_mut(&wait)
        {
            wait.next = line;
            wait.acquires = match op {
                RecordOp::Acquire(lock) => Some(lock),
                _ => None,
            };
            // A wait by the holder of a lock takes it again just before the next event.
            if wait.release.is_none() {
                self.survey.last_acquire.insert(wait.condition, line);
                self.survey.last_alone.insert(wait.condition, line);
            }
        }
        match op {
            RecordOp::Begin => known.begins += 1,
            RecordOp::End => known.ends += 1,
            RecordOp::Wait(condition) | RecordOp::MonitorWait(condition) => {
                self.survey.conditions.insert(condition);
                let mut wait = WaitSurvey {
                    condition,
                    ..WaitSurvey::default()
                };
                if let (RecordOp::Wait(_), Some((release, RecordOp::Release(lock)))) = (op, before) {
                    wait.release = Some((release, lock));
                    self.survey.waiting_releases.insert(release, line);
                }
                self.survey.waits.insert(line, wait);
            }
            RecordOp::Notify(condition) | RecordOp::NotifyAll(condition) => {
                self.survey.conditions.insert(condition);
            }
            RecordOp::Acquire(lock) => {
                self.survey.locks.insert(lock);
                self.survey.last_acquire.insert(lock, line);
                self.survey.last_alone.insert(lock, line);
                let held = self.depth.entry(lock).or_insert((thread, 0));
                if held.0 != thread {
                    *held = (thread, 0);
                }
                held.1 += 1;
                if held.1 > 1 {
                    self.survey.recursive.insert(lock);
                }
            }
            RecordOp::AcquireShared(lock) => {
                self.survey.locks.insert(lock);
                self.survey.shared.insert(lock);
                self.survey.last_acquire.insert(lock, line);
            }
            RecordOp::Release(lock) => {
                self.survey.locks.insert(lock);
                if let Some(held) = self.depth.get_mut(&lock)
                    && held.0 == thread
                {
                    held.1 = held.1.saturating_sub(1);
                }
            }
            RecordOp::Fork(child) => {
                self.survey.forks.entry(child).or_insert(line);
            }
            _ => {}
        }
    }
}
