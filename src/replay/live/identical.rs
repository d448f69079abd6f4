//! A live run that did exactly what it was to do, at the same addresses: most do, since the addresses of a live run are
//! kept in place.
//!
//! It is told from the events as they stand in its file, in one pass, without a model of the trace, which would take
//! most of the time that a live run of a long trace takes. Where the schedule still does what was recorded, the blocks
//! of the two files are the same to the last byte, and are not even decoded. This is stricter than [`super::compare`],
//! which decides whenever anything is not the same here.

use super::Shown;
use super::compare::{objects_of, value_read, without_objects};
use super::places::same_module;
use super::plan::Plan;
use crate::schedule::Schedule;
use crate::session::{Parked, Standing, Stopped};
use crate::trace::{Access, AccessKind, EventId, Op, ThreadId, Trace};
use std::sync::mpsc;
use std::thread;
use trace_format::{BlockInfo, Event, MemRange, ObjectId, Op as FileOp, ReadError, Tables, TraceFile};

/// Blocks of events that are decoded ahead.
const AHEAD: usize = 4;

/// The two accesses, if the run in this file did just what the plan says, and stands before them.
///
/// # Errors
/// [`ReadError`], if the file cannot be read.
pub fn shown(
    trace: &Trace,
    live: &TraceFile,
    schedule: &Schedule,
    plan: &Plan,
    stopped: &Stopped,
) -> Result<Option<Vec<Shown>>, ReadError> {
    if stopped.standing != Standing::AtRace || !same_modules(trace.tables(), live.tables()) {
        return Ok(None);
    }
    let Some(mut run) = Run::new(trace, live.tables(), schedule, plan) else {
        return Ok(None);
    };
    let known = run.skip(live, plan.as_recorded())?;
    if !follow(live, known, &mut run)? {
        return Ok(None);
    }
    let is_parked = |thread: ThreadId| stopped.parked.iter().any(|parked| parked.thread == thread);
    let mut threads = (0..).map(ThreadId).zip(&run.done).zip(&run.due);
    if threads.any(|((thread, done), due)| done < due && !is_parked(thread)) {
        return Ok(None);
    }
    let mut shown: Vec<Shown> = run.first.into_iter().collect();
    for step in plan.done().end..plan.len() {
        shown.extend(pending(trace, plan.event(step), &stopped.parked));
    }
    Ok(super::is_shown(trace, schedule, &shown).then_some(shown))
}

/// Whether each module is where it was in the recorded run, so that equal code positions are the same.
fn same_modules(recorded: &Tables, live: &Tables) -> bool {
    recorded.modules.iter().all(|module| {
        let mut others = live.modules.iter();
        others.any(|other| other.base == module.base && other.end == module.end && same_module(module, other))
    })
}

/// Decodes the run's events, from a block on, and compares them meanwhile; whether they are what they should be.
fn follow(live: &TraceFile, first: usize, run: &mut Run<'_>) -> Result<bool, ReadError> {
    let (blocks, decoded) = mpsc::sync_channel::<Result<Vec<Event>, ReadError>>(AHEAD);
    thread::scope(|scope| {
        scope.spawn(move || {
            for index in first..live.blocks().len() {
                let mut events = Vec::new();
                let result = live.decode_block(index, &mut events);
                // Who compares may have seen enough.
                if blocks.send(result.map(|()| events)).is_err() {
                    return;
                }
            }
        });
        for block in decoded {
            if !block?.iter().all(|event| run.is_as_recorded(event)) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

struct Run<'t> {
    trace: &'t Trace,
    live: &'t Tables,
    /// How many events of each thread the plan has.
    due: Vec<usize>,
    /// How many of them came.
    done: Vec<usize>,
    /// The first access of an unordered race, which is among them.
    performed: Option<EventId>,
    /// And as it was done.
    first: Option<Shown>,
    /// Which object of the recorded run one of the live run is, and the other way round.
    recorded: Vec<Option<ObjectId>>,
    known: Vec<bool>,
}

impl<'t> Run<'t> {
    /// `None` if a thread of the plan leaves some of its events out.
    fn new(trace: &'t Trace, live: &'t Tables, schedule: &Schedule, plan: &Plan) -> Option<Run<'t>> {
        let mut due = vec![0; trace.threads()];
        for event in plan.done().map(|step| plan.event(step)) {
            let due = &mut due[trace.thread(event).index()];
            if trace.place(event) as usize != *due {
                return None;
            }
            *due += 1;
        }
        Some(Run {
            trace,
            live,
            done: vec![0; due.len()],
            due,
            performed: schedule.goal.performed_last(),
            first: None,
            recorded: vec![None; live.objects.len()],
            known: vec![false; trace.tables().objects.len()],
        })
    }

    /// Counts the events of the first blocks that are the same in both files as done, as far as the plan goes as
    /// recorded; how many blocks these are.
    fn skip(&mut self, live: &TraceFile, as_recorded: usize) -> Result<usize, ReadError> {
        let (trace, objects) = (self.trace, &self.trace.tables().objects);
        let both = objects.iter().zip(&self.live.objects);
        let same_objects = both
            .take_while(|(was, is)| was.kind == is.kind && was.addr == is.addr)
            .count();
        let blocks = trace.blocks().iter().enumerate().take_while(|(_, block)| {
            block.objects <= same_objects && block.first.index() + block.events as usize <= as_recorded
        });
        let mut skipped = 0;
        for (index, block) in blocks {
            let other = live.blocks().get(index);
            let same = |other: &&BlockInfo| (other.events, other.objects) == (block.events, block.objects);
            if other.filter(same).is_none() || live.digest(index)? != block.digest {
                break;
            }
            let events = block.first.0..block.first.0 + block.events;
            for event in events.clone().map(EventId) {
                self.done[trace.thread(event).index()] += 1;
            }
            if let Some(event) = self.performed.filter(|event| events.contains(&event.0))
                && let Some(access) = trace.access(event)
            {
                self.first = Some(Shown {
                    event,
                    pc: trace.pc(event),
                    stack: trace.stack(event),
                    addr: access.addr,
                    pending: false,
                });
            }
            skipped = index + 1;
        }
        // Their numbers are the same as well, as far as these blocks know of them.
        let known = skipped.checked_sub(1).map_or(0, |last| trace.blocks()[last].objects);
        for number in 0..known {
            self.recorded[number] = Some(ObjectId(number as u32));
            self.known[number] = true;
        }
        Ok(skipped)
    }

    /// Whether the next event of its thread is what it was in the recorded run, if the plan has it at all.
    fn is_as_recorded(&mut self, event: &Event) -> bool {
        let (thread, trace) = (event.thread.index(), self.trace);
        let Some(&due) = self.due.get(thread) else { return true };
        let at = self.done[thread];
        if at == due {
            return true;
        }
        self.done[thread] += 1;
        let recorded = trace.program_order(event.thread).at(at);
        if trace.pc(recorded) != event.pc {
            return false;
        }
        if self.performed == Some(recorded)
            && let Some(access) = trace.access(recorded)
        {
            self.first = Some(Shown {
                event: recorded,
                pc: event.pc,
                stack: event.stack,
                addr: access.addr,
                pending: false,
            });
        }
        match (trace.op(recorded), Op::of_file(event.op)) {
            (Op::Access, None) => trace
                .access(recorded)
                .is_some_and(|access| is_same_access(trace, access, event.op)),
            (Op::Alloc { incarnation }, None) => {
                let block = trace.incarnation(incarnation);
                matches!(event.op, FileOp::Alloc { addr, size } if (addr, size) == (block.addr, block.size))
            }
            (Op::Access | Op::Alloc { .. }, Some(_)) | (_, None) => false,
            (recorded, Some(live)) => {
                let objects = objects_of(recorded).into_iter().zip(objects_of(live));
                without_objects(recorded) == without_objects(live)
                    && objects.into_iter().all(|pair| match pair {
                        (Some(recorded), Some(live)) => self.is_same_object(recorded, live),
                        (was, is) => was == is,
                    })
            }
        }
    }

    fn is_same_object(&mut self, recorded: ObjectId, live: ObjectId) -> bool {
        let known = self.recorded.get_mut(live.index());
        match known {
            None => false,
            Some(Some(known)) => *known == recorded,
            Some(unknown) => {
                let (was, is) = (self.trace.tables().object(recorded), self.live.object(live));
                let same = was
                    .zip(is)
                    .is_some_and(|(was, is)| was.kind == is.kind && was.addr == is.addr);
                let is_new = self
                    .known
                    .get_mut(recorded.index())
                    .is_some_and(|known| !std::mem::replace(known, true));
                *unknown = Some(recorded);
                same && is_new
            }
        }
    }
}

/// Whether a live access is to the same memory in the same way, and sees what the recorded one saw.
fn is_same_access(trace: &Trace, recorded: Access, live: FileOp) -> bool {
    let (kind, mem, saw) = match live {
        FileOp::Read { mem, value } => (AccessKind::Read, mem, value),
        FileOp::Write { mem, .. } => (AccessKind::Write, mem, 0),
        FileOp::Use { mem } => (AccessKind::Use, mem, 0),
        FileOp::Destroy { mem, .. } => (AccessKind::Destroy, mem, 0),
        FileOp::AtomicLoad { mem, value, .. } => (AccessKind::AtomicLoad, mem, value),
        FileOp::AtomicStore { mem, .. } => (AccessKind::AtomicStore, mem, 0),
        FileOp::AtomicRmw { mem, read, .. } => (AccessKind::AtomicRmw, mem, read),
        // Its size is the block's.
        FileOp::Free { addr } => return recorded.kind == AccessKind::Free && recorded.addr == addr,
        _ => return false,
    };
    let MemRange { addr, size } = mem;
    let same_memory = (recorded.addr, recorded.size) == (addr, size.into());
    same_memory
        && recorded.kind.may_turn_out(kind)
        && (!kind.reads()
            || value_read(trace, recorded) == saw
            || trace.frees_reads()
            // As in the other comparison: it is no part of the proof.
            || trace.uses(recorded).any(|used| trace.cell(used.cell).external()))
}

/// A racing access that its thread is parked before.
fn pending(trace: &Trace, event: EventId, parked: &[Parked]) -> Option<Shown> {
    let access = trace.access(event)?;
    let holds = |parked: &&Parked| {
        let (start, len) = parked.range;
        let from = access.addr.checked_sub(start);
        from.is_some_and(|from| from < len && (access.kind == AccessKind::Free || from + access.size <= len))
    };
    let mut here = parked
        .iter()
        .filter(|parked| parked.thread == trace.thread(event) && parked.pc == trace.pc(event));
    let parked = here.find(holds)?;
    Some(Shown {
        event,
        pc: parked.pc,
        stack: parked.stack,
        addr: access.addr,
        pending: true,
    })
}
