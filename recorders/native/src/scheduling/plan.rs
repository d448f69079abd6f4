//! The plan of this process: where it comes from, and what the program gets of the recorded run again. How it is
//! followed is [`recorder_scheduler::plan_follower`]'s business.

use crate::platform::{sys, temporary_names};
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::recording::RING;
use crate::scheduling::thread::{Thread, slot};
use core::cell::Cell;
use core::ptr;
use core::slice;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Acquire;
use recorder_ring::plan::kind;
use recorder_ring::{Decision, Policy, RingPath, futex};
use recorder_scheduler::plan_follower::{StepCell, Then};
use recorder_scheduler::{Access, Intent};

/// For a debugger: `set var *(int*)&witness_first=1` lets the program go on, the first access first, `=2`
/// the second.
#[unsafe(no_mangle)]
pub static witness_first: AtomicU32 = AtomicU32::new(0);

/// Where the plan came from.
static ORIGIN: Origin = Origin(Cell::new(RingPath::NOWHERE));

struct Origin(Cell<RingPath>);

// SAFETY: set before there are other threads, in a forked child again.
unsafe impl Sync for Origin {}

/// Whose child a process is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Of the one that has the plan.
    Recorders,
    /// Of another process of the program, which may end before it.
    Parents,
}

/// Takes the plan over, before there are other threads.
pub fn start(path: RingPath, whose: Whose, policy: Policy) {
    // SAFETY: the ring is attached with this file.
    let Some((words, len)) = (unsafe { RING.plan(path) }) else {
        return;
    };
    // SAFETY: a private mapping of so many steps, which is there for ever, and which nobody else knows.
    let steps = unsafe { slice::from_raw_parts(words.cast::<StepCell>(), len) };
    let then = match policy {
        Policy::Schedule => Then::Nothing,
        _ => Then::Policy,
    };
    SCHEDULER.plan().start(steps, then);
    ORIGIN.0.set(path);
    if whose == Whose::Recorders {
        end_with_parent(true);
    }
    if !path.is_there() {
        // It was too late.
        end();
    }
}

/// Whether the process shall end with the one that started it: nobody else knows of a program that stands still.
fn end_with_parent(wanted: bool) {
    let signal = if wanted { libc::SIGKILL as usize } else { 0 };
    // SAFETY: no memory is involved.
    unsafe { sys::call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, signal, 0, 0) };
}

/// Whether this run has a plan, which may be over.
pub fn is_there() -> bool {
    SCHEDULER.plan().is_there()
}

/// Whether a plan is followed.
#[inline]
pub fn is_followed() -> bool {
    SCHEDULER.plan().is_followed()
}

/// The program stands still until somebody says which thread goes first.
pub fn await_decision() -> Decision {
    // SAFETY: attached, since there is a plan.
    let progress = unsafe { RING.progress() };
    // Nobody may ever say it.
    temporary_names::give_back();
    loop {
        for word in [&progress.decision, &witness_first] {
            match word.load(Acquire) {
                0 => {}
                first => {
                    end_with_parent(false);
                    temporary_names::take_again();
                    return if first == 1 { Decision::First } else { Decision::Second };
                }
            }
        }
        if !ORIGIN.0.get().is_there() {
            // Nobody else knows of a program that stands still.
            end();
        }
        // A debugger wakes nobody.
        futex::wait(&progress.decision, 0, Some(50_000_000), true);
    }
}

/// What is published stays readable.
pub fn end() -> ! {
    temporary_names::give_back();
    sys::die("")
}

/// The calling thread, if it has a record and a plan is followed.
fn follower() -> Option<&'static Thread> {
    // SAFETY: null or a thread, which lives for ever.
    unsafe { slot().as_ref() }.filter(|_| is_followed())
}

/// Something came from outside of the program, and is about to be recorded as a write: the program
/// gets what it got in the recorded run instead, as far as the plan has it. Whether it has any of it.
pub fn feed(to: usize, len: usize, pc: usize) -> bool {
    let mut fed = false;
    recorded_writes(to, len, pc, |addr, bytes| {
        // SAFETY: the call that succeeded wrote these bytes, at most 8.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), addr as *mut u8, bytes.len()) };
        fed = true;
    });
    fed
}

/// What the calling thread's next write of `len` bytes at `to` left in the recorded run, piece by piece, as far as the
/// plan has it.
pub fn recorded_writes(to: usize, len: usize, pc: usize, mut each: impl FnMut(usize, &[u8])) {
    let Some(thread) = follower() else { return };
    let mut steps = SCHEDULER.plan().steps_of(thread.index.get());
    crate::platform::memory::pieces(to, len, |addr, size| {
        if let Some((_, step)) = steps.next()
            && step.matches(kind::WRITE, pc as u64)
            && let Some(value) = step.value
        {
            each(addr, &value.to_le_bytes()[..size]);
        }
    });
}

/// As [`feed`], of a text for which there is so much room: it has its recorded length then, be it longer or shorter. How
/// long it is with its end, if the plan has it.
pub fn feed_text(to: usize, room: usize, pc: usize) -> Option<usize> {
    let thread = follower()?;
    let steps = SCHEDULER.plan().steps_of(thread.index.get());
    let writes = steps.map_while(|(_, step)| step.value.filter(|_| step.matches(kind::WRITE, pc as u64)));
    let mut len = 0;
    let mut whole = None;
    for value in writes {
        // As long as it may be. What follows the end of a text is recorded as nothing.
        let piece = (((to + len) | 7) + 1 - (to + len)).min(size_of::<u64>());
        let end = value.to_le_bytes()[..piece].iter().position(|&byte| byte == 0);
        len += end.map_or(piece, |end| end + 1);
        if end.is_some() || len >= room {
            whole = end.and(Some(len)).filter(|&len| len <= room);
            break;
        }
    }
    feed(to, whole?, pc);
    whole
}

/// The value that a call of the calling thread returned in the recorded run, if the plan has it.
pub fn returned(pc: usize) -> Option<u64> {
    let (_, step) = SCHEDULER.plan().steps_of(follower()?.index.get()).next()?;
    step.value.filter(|_| step.matches(kind::INPUT, pc as u64))
}

/// The same of the call that the calling thread is about to make, other events of which may come first.
pub fn will_return(pc: usize) -> Option<u64> {
    let steps = SCHEDULER.plan().steps_of(follower()?.index.get());
    let mut of_call = steps.map(|(_, step)| step).take_while(|step| step.is_at(pc as u64));
    of_call.find(|step| step.kind == kind::INPUT)?.value
}

/// What comes next from outside to the calling thread at this position, piece by piece, as far as the plan has it.
pub fn inputs(pc: usize) -> impl Iterator<Item = u64> {
    let steps = follower().map(|thread| SCHEDULER.plan().steps_of(thread.index.get()));
    let steps = steps.into_iter().flatten();
    steps.map_while(move |(_, step)| step.value.filter(|_| step.matches(kind::INPUT, pc as u64)))
}

/// The value that the calling thread gets from a source right after an atomic load, if the plan says that both come
/// next.
pub fn input_after_load(me: &Thread, pc: usize) -> Option<u64> {
    if !is_followed() {
        return None;
    }
    let mut steps = SCHEDULER.plan().steps_of(me.index.get()).map(|(_, step)| step);
    steps.next().filter(|step| step.matches(kind::ATOMIC_LOAD, pc as u64))?;
    steps.next().filter(|step| step.matches(kind::INPUT, pc as u64))?.value
}

/// Whether the calling thread stores to, or loads, such a variable of the recorder's own next at this position, atomically;
/// any variable, if the plan does not tell which. `None` if there is no plan, or nothing of the thread's left in it.
pub fn is_variable_next(pc: usize, is_such: impl FnOnce(u64) -> bool) -> Option<bool> {
    let (_, step) = SCHEDULER.plan().steps_of(follower()?.index.get()).next()?;
    let is_it = |kind| step.matches(kind, pc as u64);
    Some((is_it(kind::ATOMIC_STORE) || is_it(kind::ATOMIC_LOAD)) && step.value.is_none_or(is_such))
}

/// Whether there is a plan in which the thread's next event is of that kind.
pub fn is_next(me: &Thread, kind: u8) -> bool {
    SCHEDULER.plan().is_next(me, kind)
}

/// The calling thread, whose turn it is, waits where the plan has it go on.
pub fn leave() {
    SCHEDULER.leave_plan_blocked();
}

/// The calling thread is about to end. Until it is its turn, others may still find it running.
pub fn before_end() {
    if let Some(thread) = follower()
        && [kind::ATOMIC_STORE, kind::END]
            .into_iter()
            .any(|kind| is_next(thread, kind))
    {
        SCHEDULER.gate(thread, &Intent::NONE);
    }
}

/// A function of libc is about to read this for its caller.
pub fn before_read(addr: usize, len: usize, pc: usize) {
    if let Some(thread) = follower() {
        SCHEDULER.gate(thread, &Intent::of(Access::cut(pc, kind::READ, addr, len)));
    }
}

/// The calling thread is about to make a call that accesses memory on its way, somewhere within these ranges: if that
/// is the race, the thread is parked before the call. Later, the memory would be changed already.
pub fn before_call(pc: usize, kinds: &[u8], ranges: &[(usize, usize)]) {
    if let Some(thread) = follower() {
        SCHEDULER.before_call(thread, pc, kinds, ranges);
    }
}
