//! The second walk over a foreign trace: refuses or repairs what no execution can do.
//!
//! Every event must be enabled when its turn comes, by the table of `docs/SEMANTICS.md`: this walk keeps track of who
//! holds each lock, who was forked, who waits. Without `repair` the first event that is not enabled refuses the trace;
//! with it, [`Malformed::remedy`](super::Malformed::remedy) is applied and noted. A repair may add or remove order, so
//! predictions from a repaired trace are only as good as the repairs.

mod locks;
mod threads;
mod waits;

use super::Format;
use super::build::{Access, Build};
use super::error::{ImportError, Malformed, Repair};
use super::record::{Names, Record, RecordOp, shown};
use super::survey::Survey;
use hashbrown::{HashMap, HashSet};
use locks::Held;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::Op;
use waits::{Asleep, Waiting};

/// With `repair`: locks that somebody takes while their holder waits on something else, by the line at which that wait
/// begins. They have to be given back before it.
pub(super) type Released = BTreeSet<(u64, u32)>;

/// How a walk ends.
pub(super) enum Finished {
    /// With the trace's bytes, and what was repaired.
    Mended(Vec<u8>, Vec<Repair>),
    /// A repair belongs before what was already written: all of these, so far.
    OnceMore(Released),
}

/// Walks the records in order.
pub(super) struct Mender {
    file: String,
    repair: bool,
    repairs: Vec<Repair>,
    names: Names,
    survey: Survey,
    locks: HashMap<u32, Held>,
    /// By lock and thread: its holds for reading, one for each time.
    readers: HashMap<u32, BTreeMap<u32, Vec<Held>>>,
    /// By thread, the locks that it has taken.
    taken: HashMap<u32, BTreeSet<u32>>,
    /// By thread: line of the fork that counts.
    forked: HashMap<u32, u64>,
    /// By thread: whom its last event forked, and where.
    just_forked: HashMap<u32, (u32, u64)>,
    /// Lines of releases that were taken to come before the wait that stands before them.
    done_before: HashSet<u64>,
    /// By thread.
    waiting: HashMap<u32, Waiting>,
    asleep: Asleep,
    /// What is known to be given back before a wait, and what should have been.
    released: Released,
    missed: Released,
    build: Build,
}

impl Mender {
    pub(super) fn new(
        file: &str,
        format: Format,
        survey: Survey,
        names: Names,
        repair: bool,
        released: Released,
    ) -> Result<Mender, ImportError> {
        Ok(Mender {
            file: file.to_owned(),
            repair,
            repairs: Vec::new(),
            build: Build::new(file, format, &names, &survey)?,
            names,
            survey,
            locks: HashMap::new(),
            readers: HashMap::new(),
            taken: HashMap::new(),
            forked: HashMap::new(),
            just_forked: HashMap::new(),
            done_before: HashSet::new(),
            waiting: HashMap::new(),
            asleep: Asleep::default(),
            released,
            missed: Released::new(),
        })
    }

    /// The trace, unless more is known now of what has to be given back before a wait.
    pub(super) fn finish(mut self) -> Result<Finished, ImportError> {
        if !self.missed.is_empty() {
            self.missed.extend(self.released);
            return Ok(Finished::OnceMore(self.missed));
        }
        Ok(Finished::Mended(self.build.finish(self.repairs.len())?, self.repairs))
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
        if !matches!(op, RecordOp::Fork(_)) {
            self.just_forked.remove(&thread);
        }
        let done = self.done_before.remove(&line) || self.resume(line, thread, pc, op)?;
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
            RecordOp::AcquireShared(lock) => self.acquire_shared(line, thread, pc, lock),
            RecordOp::Release(lock) => self.release(line, thread, pc, lock),
            RecordOp::Wait(condition) | RecordOp::MonitorWait(condition) => self.wait(line, thread, pc, condition),
            RecordOp::Notify(condition) => self.notify(line, thread, pc, condition),
            RecordOp::NotifyAll(condition) => self.notify_all(line, thread, pc, condition),
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

    /// A thread's name, for messages.
    fn thread(&self, thread: u32) -> String {
        shown(self.names.threads.name(thread))
    }

    /// A lock's or a condition's name, for messages.
    fn lock(&self, lock: u32) -> String {
        shown(self.names.locks.name(lock))
    }
}
