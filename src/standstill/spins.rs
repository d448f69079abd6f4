//! Threads that kept reading the same values until the run was ended: a loop on a flag that nobody sets looks like
//! that.
//!
//! A thread *spins* if its last actions, over and over, were to read the same values at the same places, perhaps under
//! the same locks, and to write, if anything, the same values again. Whether it would have done so forever is not
//! known: something that leaves no events, such as a count in a register or a wait for another process, may end the
//! loop. So this is only reported for runs that a limit or a signal ended.

use crate::semantics::Action;
use crate::symbols::Symbols;
use crate::trace::Trace;
use recorder_ring::plan::kind::WRITE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace_format::{
    CodePosition, Ending, Event, EventId, MemRange, NOBODYS, Op, ProgramEnd, ReadError, StackId, ThreadId, TraceFile,
};

/// Events of a thread that are looked at.
const LAST: usize = 64;
/// The longest loop, in events.
const LONGEST: usize = 16;
/// The last blocks are read until they hold so many events: a thread that spins is there.
const READ: u64 = 1 << 20;
/// Variables of a loop that are named.
const NAMED: usize = 3;

/// A thread that spins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spin {
    /// Its number.
    pub thread: u32,
    /// What it reads.
    pub reads: Vec<String>,
    /// Where in the program.
    pub at: String,
}

impl std::fmt::Display for Spin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reads = self.reads.join(" and ");
        write!(f, "thread {} reads {reads} again and again at {}", self.thread, self.at)
    }
}

/// One step of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Step {
    pc: CodePosition,
    stack: StackId,
    /// What it does there: the number of its kind, the address or the object, and the value.
    deed: (u8, u64, u64),
    read: Option<MemRange>,
}

impl Step {
    /// Of an event that may be a part of waiting.
    fn of(event: &Event) -> Option<Step> {
        let ((at, value), read) = match event.op {
            // A variable of the recorder's own tells nobody anything.
            Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } => {
                ((mem.addr, value), (mem.addr < NOBODYS).then_some(mem))
            }
            Op::Use { mem } => ((mem.addr, 0), None),
            Op::SemValue { semaphore, value } => ((semaphore.0.into(), value.into()), None),
            // What it read may go to a variable of its own.
            Op::Write { mem, value } => ((mem.addr, value), None),
            op => match Action::of(op)? {
                (action, turned) if action.may_be_in_a_waiting_loop(turned) => ((action.object().0.into(), 0), None),
                _ => return None,
            },
        };
        Some(Step {
            pc: event.pc,
            stack: event.stack,
            deed: (event.op.kind(), at, value),
            read,
        })
    }
}

/// Whether somebody ended the run.
fn was_ended(file: &TraceFile) -> bool {
    match file.ending() {
        Ending::Complete { program } => !matches!(program, ProgramEnd::Exited(_)),
        Ending::Cut { .. } => true,
    }
}

/// The threads that spin at the end of a trace; of one that is loaded, without decoding it again.
pub(super) fn find(file: &TraceFile, loaded: Option<&Trace>) -> Result<Vec<Spin>, ReadError> {
    if !was_ended(file) {
        return Ok(Vec::new());
    }
    let last = match loaded {
        Some(trace) => last_in(trace, from(file)),
        None => last_of(file)?,
    };
    let symbols = Symbols::new(file.tables());
    let found = last.into_iter().filter_map(|(thread, steps)| {
        let steps: Vec<Step> = steps.into_iter().collect::<Option<_>>()?;
        let turn = turn(&steps)?;
        let mut read: Vec<MemRange> = Vec::new();
        let mut at = None;
        for step in turn.iter().rev() {
            let own = |mem: &MemRange| turn.iter().any(|step| step.deed.0 == WRITE && step.deed.1 == mem.addr);
            if let Some(mem) = step.read.filter(|mem| !read.contains(mem) && !own(mem)) {
                read.push(mem);
                at.get_or_insert((step.pc, step.stack));
            }
        }
        let (pc, stack) = at?;
        let name = |mem: &MemRange| super::variable(&symbols, mem.addr);
        Some(Spin {
            thread,
            reads: read.iter().take(NAMED).map(name).collect(),
            at: super::place(&symbols, pc, stack),
        })
    });
    Ok(found.collect())
}

/// The first event that is looked at.
fn from(file: &TraceFile) -> u64 {
    let mut read = 0;
    let mut blocks = file.blocks().iter().rev();
    let first = blocks.find(|block| {
        read += u64::from(block.events);
        read >= READ
    });
    first.map_or(0, |block| block.first_event)
}

/// The last steps of each thread, latest first.
type Last = BTreeMap<u32, Vec<Option<Step>>>;

/// The last steps of the threads of a loaded trace, as far as they are not before some event.
fn last_in(trace: &Trace, from: u64) -> Last {
    let step = |id: EventId| {
        let (pc, stack) = (trace.pc(id), trace.stack(id));
        let (thread, op) = (trace.thread(id), trace.in_file(id));
        Step::of(&Event { thread, pc, stack, op })
    };
    let of_thread = |thread: u32| {
        let events = trace.program_order(ThreadId(thread)).rev();
        let events = events.take_while(|event| u64::from(event.0) >= from);
        (thread, events.take(LAST).map(step).collect())
    };
    (0..trace.threads() as u32).map(of_thread).collect()
}

/// The last steps of the threads of a trace file.
fn last_of(file: &TraceFile) -> Result<Last, ReadError> {
    let mut last = Last::new();
    let (from, mut block) = (from(file), Vec::new());
    for index in (0..file.blocks().len()).rev() {
        if file.blocks()[index].first_event < from {
            break;
        }
        file.decode_block(index, &mut block)?;
        for event in block.iter().rev() {
            let steps = last.entry(event.thread.0).or_default();
            if steps.len() < LAST {
                steps.push(Step::of(event));
            }
        }
    }
    Ok(last)
}

/// The loop that these steps, latest first, are turns of.
fn turn(steps: &[Step]) -> Option<&[Step]> {
    if steps.len() < LAST {
        return None;
    }
    let repeats = |len: usize| steps[len..].iter().zip(steps).all(|(step, next)| step == next);
    (1..=LONGEST).find(|&len| repeats(len)).map(|len| &steps[..len])
}
