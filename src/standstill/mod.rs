//! Which thread waits for which when a run ends, which of these waits can never end, and what killed the program.
//!
//! The trace lists the operations that threads had begun ([`PendingInfo`]). A wait is *forever* if no remaining thread
//! could end it: start from all waiting threads, and remove each thread that a thread outside the set may still wake;
//! the rest, the greatest such set, waits forever. A lock is released by its holders; a joined thread ends by itself;
//! any other thread that has not ended may do everything else. So two threads that wait for each other's locks are
//! found even if other threads go on, and a thread that waits for work does not count as stuck. (A program may release
//! a lock in another thread than the one that took it; if the trace has an instance of that, any thread may release the
//! lock.)

mod spins;
#[cfg(test)]
mod tests;

pub use spins::Spin;

use crate::semantics::{locks, threads};
use crate::session::signal_name;
use crate::symbols::{Symbols, printable};
use crate::trace::{Op, Trace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trace_format::{
    CodePosition, Ending, Event, NOBODYS, ObjectId, ObjectKind, PendingInfo, PendingKind, ProgramEnd, ReadError,
    StackId, ThreadId, TraceFile, TraceId,
};

/// How a run came to a standstill, or to an end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    /// The threads that waited, without a limit in time, when the run ended.
    pub waits: Vec<Wait>,
    /// The threads that read the same again and again when somebody ended the run.
    #[serde(default)]
    pub spins: Vec<Spin>,
    /// What the program died of, if it could say so.
    pub died: Option<Death>,
}

/// A thread that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Its number.
    pub thread: u32,
    /// What for, in words.
    pub waits_for: String,
    /// Where in the program.
    pub at: String,
    /// Who could end the wait, as far as that is somebody in particular.
    pub held_by: Vec<Holder>,
    /// Nobody is left who could.
    pub for_ever: bool,
}

/// Who keeps a thread waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub thread: u32,
    /// Where it took the lock.
    pub since: Option<String>,
    /// It has ended, and cannot give the lock back.
    pub ended: bool,
}

/// What the program died of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// The signal.
    pub signal: i32,
    /// The thread that got it.
    pub thread: u32,
    /// Where in the program.
    pub at: String,
    /// The address of the fault, if that was one of memory.
    pub address: Option<String>,
}

/// A lock, as its holders have it.
#[derive(Debug, Default)]
struct Held {
    /// The thread, how often, and where it took it first.
    holders: Vec<(ThreadId, u32, CodePosition, StackId)>,
}

/// What the events of a trace say about its end.
#[derive(Debug, Default)]
pub struct Tail {
    /// How many there were.
    events: u64,
    held: BTreeMap<u32, Held>,
    /// The number of the last event of each thread, and whether the thread ended with it.
    last: BTreeMap<u32, (u64, bool)>,
    /// The threads that were created, also those that have no event yet.
    created: BTreeSet<u32>,
}

impl Standstill {
    /// Of a trace.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn of(file: &TraceFile) -> Result<Standstill, ReadError> {
        let mut tail = Tail::default();
        if somebody_waits(file)? {
            for event in file.events() {
                tail.push(&event?);
            }
        }
        Standstill::at(file, &tail)
    }

    /// Of the trace in a file. That of the last one is remembered: all reports on a trace tell of its end, which takes one
    /// pass over a long one.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn of_path(path: &Path) -> Result<Standstill, ReadError> {
        Standstill::remembered(path, None)
    }

    /// The same of a trace that was loaded from a file: what it holds is not decoded again.
    ///
    /// # Errors
    /// If the rest of the file cannot be read.
    pub fn of_loaded(trace: &Trace, path: &Path) -> Result<Standstill, ReadError> {
        Standstill::remembered(path, Some(trace))
    }

    fn remembered(path: &Path, loaded: Option<&Trace>) -> Result<Standstill, ReadError> {
        static LAST: Mutex<Option<((TraceId, u64), Standstill)>> = Mutex::new(None);
        let file = TraceFile::open(path)?;
        let key = (file.id(), file.len());
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last().as_ref().filter(|(known, _)| *known == key) {
            return Ok(known.clone());
        }
        // Somebody may have put another one there since, or only the beginning of it was loaded.
        let loaded = loaded.filter(|trace| (trace.id(), trace.len() as u64) == key);
        let standstill = match loaded {
            Some(trace) => Standstill::at_end(&file, &Tail::of(trace), Some(trace))?,
            None => Standstill::of(&file)?,
        };
        *last() = Some((key, standstill.clone()));
        Ok(standstill)
    }

    /// Of a trace whose events somebody else has gone through.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn at(file: &TraceFile, tail: &Tail) -> Result<Standstill, ReadError> {
        Standstill::at_end(file, tail, None)
    }

    fn at_end(file: &TraceFile, tail: &Tail, loaded: Option<&Trace>) -> Result<Standstill, ReadError> {
        let tables = file.tables();
        let spins = spins::find(file, loaded)?;
        if tables.meta.pending.is_empty() {
            return Ok(Standstill {
                spins,
                ..Standstill::default()
            });
        }
        let symbols = Symbols::new(tables);
        let died = tables.meta.pending.iter().rev().find_map(|pending| match pending.kind {
            PendingKind::Died(signal) => Some(Death {
                signal,
                thread: pending.thread.0,
                at: place(&symbols, pending.pc, pending.stack),
                address: (pending.addr != 0).then(|| format!("{:#x}", pending.addr)),
            }),
            _ => None,
        });
        let waiting: Vec<&PendingInfo> = tables
            .meta
            .pending
            .iter()
            .filter(|pending| !matches!(pending.kind, PendingKind::Died(_)) && tail.is_pending(pending))
            .collect();
        let deadlock = matches!(
            file.ending(),
            Ending::Complete {
                program: ProgramEnd::Deadlock
            }
        );
        let last_event = file.len().saturating_sub(1);
        let stuck = tail.stuck(&waiting, file, last_event);
        let waits = waiting.iter().map(|pending| {
            let held_by = tail.holders(pending, file).into_iter().map(|(thread, since)| Holder {
                thread: thread.0,
                since: since.map(|(pc, stack)| place(&symbols, pc, stack)),
                ended: tail.has_ended(thread, last_event),
            });
            Wait {
                thread: pending.thread.0,
                waits_for: object(pending, file, &symbols),
                at: place(&symbols, pending.pc, pending.stack),
                held_by: held_by.collect(),
                for_ever: deadlock || stuck.contains(&pending.thread),
            }
        });
        let waits = waits.collect();
        Ok(Standstill { waits, spins, died })
    }

    /// Whether every thread that had not ended waited or spun, so that none was left to go on: none was asleep, say, or
    /// in a call outside.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn is_of_all(&self, file: &TraceFile) -> Result<bool, ReadError> {
        let mut alive = BTreeSet::new();
        for event in file.events() {
            let event = event?;
            match Op::of_file(event.op).and_then(threads::Step::of) {
                Some(threads::Step::End) => {
                    alive.remove(&event.thread.0);
                    continue;
                }
                Some(threads::Step::Fork(child)) => {
                    alive.insert(child.0);
                }
                Some(threads::Step::Begin | threads::Step::Join(_)) | None => {}
            }
            alive.insert(event.thread.0);
        }
        let waits = self.waits.iter().map(|wait| wait.thread);
        let still: BTreeSet<u32> = waits.chain(self.spins.iter().map(|spin| spin.thread)).collect();
        Ok(alive.is_subset(&still))
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Standstill::default()
    }

    /// Who waits for ever and for what, who spins, what the program died of: a line each.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let waits = self.waits.iter().filter(|wait| wait.for_ever);
        let spins = self.spins.iter().map(ToString::to_string);
        let died = self.died.iter();
        let died = died.map(|death| format!("died of {}: {death}", signal_name(death.signal)));
        waits.map(ToString::to_string).chain(spins).chain(died).collect()
    }

    /// Whether threads wait that nobody can wake.
    #[must_use]
    pub fn is_deadlock(&self) -> bool {
        self.waits.iter().any(|wait| wait.for_ever)
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {} waits for {} at {}", self.thread, self.waits_for, self.at)?;
        for holder in &self.held_by {
            match &holder.since {
                Some(since) => write!(f, ", which thread {} has held since {since}", holder.thread)?,
                None if holder.ended => {}
                None => continue,
            }
            if holder.thread == self.thread {
                f.write_str(": itself")?;
            } else if holder.ended {
                f.write_str(" and has ended")?;
            }
        }
        if self.for_ever {
            f.write_str(", forever")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {}, at {}", self.thread, self.at)?;
        match &self.address {
            Some(address) => write!(f, ", by an access of address {address}"),
            None => Ok(()),
        }
    }
}

impl Tail {
    /// What a loaded trace says.
    fn of(trace: &Trace) -> Tail {
        let mut tail = Tail::default();
        if trace.tables().meta.pending.is_empty() {
            return tail;
        }
        for event in trace.operations() {
            tail.apply(
                trace.op(event),
                (trace.thread(event), trace.pc(event), trace.stack(event)),
            );
        }
        let last = |thread: u32| Some((thread, trace.program_order(ThreadId(thread)).last()?));
        let last = (0..trace.threads() as u32).filter_map(last);
        tail.last = last
            .map(|(thread, event)| (thread, (event.0.into(), ends(trace.op(event)))))
            .collect();
        tail
    }

    /// Goes on by the next event of the trace.
    pub fn push(&mut self, event: &Event) {
        let op = Op::of_file(event.op);
        self.last.insert(event.thread.0, (self.events, op.is_some_and(ends)));
        self.events += 1;
        if let Some(op) = op {
            self.apply(op, (event.thread, event.pc, event.stack));
        }
    }

    /// What becomes of locks and threads when a thread does this at some place.
    fn apply(&mut self, op: Op, (thread, pc, stack): (ThreadId, CodePosition, StackId)) {
        if let Some(threads::Step::Fork(child)) = threads::Step::of(op) {
            self.created.insert(child.0);
        }
        match locks::Step::of(op) {
            // After a wait, as deep as before; once is enough to know who has it.
            Some((lock, step)) if step.takes() => self.take(lock, thread, pc, stack),
            Some((lock, locks::Step::GiveBack)) => self.give_back(lock, thread, 1),
            Some((lock, locks::Step::GiveUp)) => self.give_back(lock, thread, u32::MAX),
            _ => {}
        }
    }

    fn take(&mut self, lock: ObjectId, thread: ThreadId, pc: CodePosition, stack: StackId) {
        let holders = &mut self.held.entry(lock.0).or_default().holders;
        match holders.iter_mut().find(|holder| holder.0 == thread) {
            Some(holder) => holder.1 += 1,
            None => holders.push((thread, 1, pc, stack)),
        }
    }

    fn give_back(&mut self, lock: ObjectId, thread: ThreadId, levels: u32) {
        let Some(held) = self.held.get_mut(&lock.0) else { return };
        // Given back by another thread: whoever had it has it no more.
        let own = held.holders.iter().position(|holder| holder.0 == thread);
        let Some(at) = own.or_else(|| held.holders.len().checked_sub(1)) else {
            return;
        };
        let holder = &mut held.holders[at];
        holder.1 = holder.1.saturating_sub(levels);
        if holder.1 == 0 {
            held.holders.remove(at);
        }
    }

    /// Whether the thread did nothing since.
    fn is_pending(&self, pending: &PendingInfo) -> bool {
        self.last
            .get(&pending.thread.0)
            .is_some_and(|&(last, ended)| last < pending.before && !ended)
    }

    /// Whether a thread is over. The one that ends the process has its last event as the very last: it was there until
    /// then.
    fn has_ended(&self, thread: ThreadId, last_event: u64) -> bool {
        self.last
            .get(&thread.0)
            .is_some_and(|&(last, ended)| ended && last != last_event)
    }

    /// Who keeps the thread waiting, and since where, if somebody in particular does.
    fn holders(&self, pending: &PendingInfo, file: &TraceFile) -> Vec<(ThreadId, Option<(CodePosition, StackId)>)> {
        match pending.kind {
            PendingKind::Join => vec![(ThreadId(pending.addr as u32), None)],
            PendingKind::Acquire => {
                let lock = lock_at(file, pending.addr).and_then(|lock| self.held.get(&lock));
                let holders = lock.into_iter().flat_map(|held| &held.holders);
                holders
                    .map(|&(thread, _, pc, stack)| (thread, Some((pc, stack))))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The threads whose waits nobody can end.
    fn stuck(&self, waiting: &[&PendingInfo], file: &TraceFile, last_event: u64) -> Vec<ThreadId> {
        let mut stuck: Vec<&PendingInfo> = waiting.to_vec();
        let foreign = file.tables().meta.foreign_unlock;
        loop {
            let is_stuck = |thread: ThreadId| stuck.iter().any(|pending| pending.thread == thread);
            let may_act = |thread: ThreadId| !is_stuck(thread) && !self.has_ended(thread, last_event);
            let may_end = |pending: &PendingInfo| {
                let holders = self.holders(pending, file);
                if holders.is_empty() || foreign && pending.kind == PendingKind::Acquire {
                    let mut others = self.last.keys().chain(&self.created).map(|&thread| ThreadId(thread));
                    others.any(|other| other != pending.thread && may_act(other))
                } else {
                    // Who waits for the end of a thread that has ended only lacked a turn.
                    let is_over = |holder| pending.kind == PendingKind::Join && self.has_ended(holder, last_event);
                    holders.iter().any(|&(holder, _)| may_act(holder) || is_over(holder))
                }
            };
            let left: Vec<_> = stuck.iter().copied().filter(|pending| !may_end(pending)).collect();
            if left.len() == stuck.len() {
                return left.iter().map(|pending| pending.thread).collect();
            }
            stuck = left;
        }
    }
}

/// Whether a thread ends with this.
fn ends(op: Op) -> bool {
    threads::Step::of(op) == Some(threads::Step::End)
}

/// Whether a thread did nothing any more after it was about to wait. The last blocks tell: most runs end with threads
/// that went on after their last wait, and reading all of a trace takes longer than recording it.
fn somebody_waits(file: &TraceFile) -> Result<bool, ReadError> {
    let pending = &file.tables().meta.pending;
    let waits = pending
        .iter()
        .filter(|pending| !matches!(pending.kind, PendingKind::Died(_)));
    let mut open: BTreeMap<u32, u64> = BTreeMap::new();
    for pending in waits {
        let before = open.entry(pending.thread.0).or_default();
        *before = pending.before.max(*before);
    }
    let (mut block, mut first) = (Vec::new(), file.len());
    for index in (0..file.blocks().len()).rev() {
        if open.is_empty() {
            break;
        }
        file.decode_block(index, &mut block)?;
        first = first.saturating_sub(block.len() as u64);
        for (number, event) in block.iter().enumerate().rev() {
            let Some(before) = open.remove(&event.thread.0) else {
                continue;
            };
            if first + (number as u64) < before && !Op::of_file(event.op).is_some_and(ends) {
                return Ok(true);
            }
        }
        // Nothing of the thread stands behind where it was about to wait.
        if open.values().any(|&before| before >= first) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The lock that was at an address last.
fn lock_at(file: &TraceFile, addr: u64) -> Option<u32> {
    use ObjectKind::{Mutex, RecursiveMutex, RwLock, SpinLock};
    let objects = &file.tables().objects;
    let at = objects
        .iter()
        .rposition(|object| object.addr == addr && matches!(object.kind, Mutex | RecursiveMutex | RwLock | SpinLock));
    at.map(|at| at as u32)
}

/// What lies at an address.
fn variable(symbols: &Symbols<'_>, addr: u64) -> String {
    match symbols.variable(addr) {
        Some(found) if found.addr == addr => printable(&found.name).into_owned(),
        Some(found) => format!("{}+{}", printable(&found.name), addr - found.addr),
        None => format!("{addr:#x}"),
    }
}

/// What a thread waits for, in words.
fn object(pending: &PendingInfo, file: &TraceFile, symbols: &Symbols<'_>) -> String {
    let variable = || variable(symbols, pending.addr);
    let lock = || lock_at(file, pending.addr).map(|at| file.tables().objects[at as usize].kind);
    match pending.kind {
        PendingKind::Acquire => match lock() {
            Some(ObjectKind::RwLock) => format!("rwlock {}", variable()),
            Some(ObjectKind::SpinLock) => format!("spin lock {}", variable()),
            _ => format!("mutex {}", variable()),
        },
        PendingKind::Join => format!("the end of thread {}", pending.addr),
        PendingKind::Condition => format!("condition {}", variable()),
        PendingKind::Semaphore => format!("semaphore {}", variable()),
        PendingKind::Barrier if pending.addr >= NOBODYS => "the others of its team at a barrier".to_owned(),
        PendingKind::Barrier => format!("the others at barrier {}", variable()),
        PendingKind::Once => format!("the initialization {}", variable()),
        PendingKind::Futex => format!("a wake-up of futex {}", variable()),
        PendingKind::Spin => format!("another value of {}, which it reads again and again,", variable()),
        PendingKind::Item => format!("something in queue {}", variable()),
        PendingKind::Tasks => "the end of tasks".to_owned(),
        PendingKind::Turn => "its turn in an ordered loop".to_owned(),
        PendingKind::Leave => format!("those who wait at condition {}, which it destroys,", variable()),
        PendingKind::Died(signal) => format!("signal {signal}"),
    }
}

/// `file:line (function)`, of the program's own code rather than of the system's.
fn place(symbols: &Symbols<'_>, pc: CodePosition, stack: StackId) -> String {
    let frames = symbols.stack(pc, stack);
    let known = frames.iter().find(|frame| frame.pc != 0 && frame.line.is_some());
    let Some(frame) = known.or_else(|| frames.iter().find(|frame| frame.pc != 0)) else {
        return "an unknown place".to_owned();
    };
    match &frame.function {
        Some(function) => format!("{} ({})", frame.place(), printable(function)),
        None => frame.place(),
    }
}
