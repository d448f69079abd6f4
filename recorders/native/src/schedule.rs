//! The policy that follows a schedule: the thread runs whose event is next in the plan.
//!
//! A plan ([`recorder_ring::plan`]) lists events. A thread stops at the next hook that may give way
//! (`gate`) while it is not its turn; an event counts as done when it is encoded
//! (`observe`). Hooks that may not give way, and the rest of an operation of several events, run ahead
//! of the plan; their steps are marked as done where they stand. A thread whose next operation holds
//! a racing access is parked before it. When all of them are, the program stands still until the
//! parent, or a debugger, says which goes first; from then on it runs as under `fifo`.
//!
//! A run that cannot go on along the plan is ended, after the parent was told why; unless the plan is only its beginning
//! ([`Then::Policy`]): then the run goes on under its policy from there, as it does where the plan ends. Which of these it was, and
//! where, is told as well.

use crate::baton::{self, Scheduler};
use crate::intent::{Access, Intent};
use crate::start::RING;
use crate::thread::{NEVER, Thread, Woken, slot};
use crate::{signals, sys};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32};
use recorder_ring::plan::{Step, WORDS, done, is_done, kind};
use recorder_ring::{Decision, Place, Policy, Record, Standing, futex};

/// What the threads that are parked at the race are blocked on.
static PARKED_KEY: u8 = 0;

/// For a debugger: `set var *(int*)&witness_first=1` lets the program go on, the first access first, `=2`
/// the second.
#[unsafe(no_mangle)]
pub static witness_first: AtomicU32 = AtomicU32::new(0);

/// Where a thread is that gives in to being cancelled.
pub const GIVES_IN: u64 = 0;

#[repr(u8)]
enum Phase {
    /// There is no plan, or it is over.
    Off = 0,
    Following = 1,
    /// It was left; the process is about to be ended.
    Failed = 2,
    /// It is over; the policy takes over as soon as somebody has the scheduler locked.
    Ending = 3,
}

/// What comes where the plan ends, or was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The end of the process.
    Nothing,
    /// The rest of the run, under its policy.
    Policy,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Off as u8);

static PLAN: Plan = Plan {
    place: Cell::new(Place::NOWHERE),
    words: Cell::new(ptr::null_mut()),
    len: Cell::new(0),
    then: Cell::new(Then::Nothing),
    races: Cell::new(0),
    cursor: Cell::new(0),
    woken: Cell::new(None),
    parked: [const { Cell::new(None) }; 2],
    first: [const { Cell::new(None) }; 2],
};

struct Plan {
    /// Where it came from.
    place: Cell<Place>,
    words: Cell<*mut u64>,
    len: Cell<usize>,
    then: Cell<Then>,
    /// Racing accesses, which are the last steps.
    races: Cell<usize>,
    /// The first step that is not done.
    cursor: Cell<usize>,
    /// Whom the last notify wakes, until it did.
    woken: Cell<Option<u32>>,
    /// Who is parked at which racing access.
    parked: [Cell<Option<&'static Thread>>; 2],
    /// Who runs first when the program goes on, for one operation each.
    first: [Cell<Option<&'static Thread>>; 2],
}

// SAFETY: used with the baton or with the scheduler locked by the thread that passes it on.
unsafe impl Sync for Plan {}

/// Whose child a process is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Of the one that has the plan.
    Recorders,
    /// Of another process of the program, which may end before it.
    Parents,
}

/// Takes the plan over, before there are other threads.
pub fn start(place: Place, whose: Whose, policy: Policy) {
    // SAFETY: the ring is attached with this file, and no other thread exists.
    unsafe {
        if let Some((words, len)) = RING.plan(place) {
            PLAN.words.set(words);
            PLAN.len.set(len);
            PLAN.then.set(match policy {
                Policy::Schedule => Then::Nothing,
                _ => Then::Policy,
            });
            PLAN.races
                .set((0..len).rev().take_while(|&at| PLAN.step(at).race).count());
            PHASE.store(Phase::Following as u8, Relaxed);
            PLAN.place.set(place);
            if whose == Whose::Recorders {
                end_with_parent(true);
            }
            if !place.is_there() {
                // It was too late.
                end();
            }
        }
    }
}

/// Whether the process shall end with the one that started it: nobody else knows of a program that stands still.
fn end_with_parent(wanted: bool) {
    let signal = if wanted { libc::SIGKILL as usize } else { 0 };
    // SAFETY: no memory is involved.
    unsafe { sys::call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, signal, 0, 0) };
}

/// Whether this run has a plan, which may be over.
pub fn has_plan() -> bool {
    !PLAN.words.get().is_null()
}

/// Whether a plan is followed.
#[inline]
pub fn is_followed() -> bool {
    PHASE.load(Relaxed) == Phase::Following as u8
}

/// Who performs a step: what a finalizer comes after is noted, for each other thread, by the one that announces it.
fn performer(step: Step) -> u32 {
    match step.other {
        Some(caller) if step.kind == kind::ATOMIC_STORE => caller,
        _ => step.thread,
    }
}

/// Whether the plan is over, and the policy has not taken over yet.
#[inline]
pub fn is_ending() -> bool {
    PHASE.load(Relaxed) == Phase::Ending as u8
}

/// The policy has taken over. The scheduler is locked.
pub fn is_over() {
    PLAN.woken.set(None);
    PHASE.store(Phase::Off as u8, Relaxed);
}

impl Plan {
    /// A step's first word.
    fn word(&self, at: usize) -> &Cell<u64> {
        assert!(at < self.len.get(), "a step of the plan");
        // SAFETY: in bounds, mapped for ever.
        unsafe { &*self.words.get().add(at * WORDS).cast::<Cell<u64>>() }
    }

    fn step(&self, at: usize) -> Step {
        let word = self.word(at);
        // SAFETY: the second word lies behind the first.
        Step::decode([word.get(), unsafe { word.as_ptr().add(1).read() }])
    }

    /// The steps of a thread that are not done, in order.
    fn steps_of(&self, thread: u32) -> impl Iterator<Item = (usize, Step)> {
        (self.cursor.get()..self.len.get())
            .filter(|&at| !is_done(self.word(at).get()))
            .map(|at| (at, self.step(at)))
            .filter(move |(_, step)| step.thread == thread)
    }

    /// Whether what the thread does next is to end a wait on a condition variable without having been notified.
    fn waits_in_vain(&self, thread: u32) -> bool {
        let next = self.steps_of(thread).next();
        next.is_some_and(|(_, step)| step.kind == kind::WAIT_END && step.value.is_some_and(|value| value != 0))
    }

    /// Whether what the thread does next is to give up waiting for a semaphore.
    fn finds_no_permit(&self, thread: u32) -> bool {
        let next = self.steps_of(thread).next();
        next.is_some_and(|(_, step)| step.kind == kind::SEM_WAIT_FAILED)
    }

    /// Whether it does so because it is cancelled: the wait may end before the thread is told.
    fn gives_in_after_waiting(&self, thread: u32) -> bool {
        let after = self.steps_of(thread).nth(1);
        self.waits_in_vain(thread) && after.is_some_and(|(_, step)| step.matches(kind::ATOMIC_LOAD, GIVES_IN))
    }

    /// The racing access of one of these kinds that is part of the call that the thread is about to make: of all that comes
    /// from this code position without anything in between.
    fn race_in_call(&self, thread: u32, pc: usize, kinds: &[u8]) -> Option<usize> {
        let mut call = self.steps_of(thread).take_while(|(_, step)| step.is_at(pc as u64));
        let race = call.find(|(_, step)| step.race);
        race.filter(|(_, step)| kinds.contains(&step.kind)).map(|(at, _)| at)
    }

    fn mark_done(&self, at: usize) {
        self.word(at).set(done(self.word(at).get()));
        while self.cursor.get() < self.len.get() && is_done(self.word(self.cursor.get()).get()) {
            self.cursor.set(self.cursor.get() + 1);
        }
        // SAFETY: attached, since there is a plan.
        unsafe { RING.progress() }.step.store(self.cursor.get() as u64, Relaxed);
        if self.cursor.get() == self.len.get() && self.then.get() == Then::Policy {
            self.leave(Standing::Done, self.len.get());
        }
    }

    /// The run goes no further along the plan, from this step on. True if it goes on under its policy.
    fn leave(&self, standing: Standing, step: usize) -> bool {
        // SAFETY: attached, since there is a plan.
        let progress = unsafe { RING.progress() };
        progress.step.store(step as u64, Relaxed);
        progress.standing.store(standing as u32, Release);
        let goes_on = self.then.get() == Then::Policy;
        let phase = if goes_on { Phase::Ending } else { Phase::Failed };
        PHASE.store(phase as u8, Relaxed);
        goes_on
    }

    /// Whose turn it is; `None` when all racing threads are parked.
    fn turn(&self) -> Option<u32> {
        let (len, cursor) = (self.len.get(), self.cursor.get());
        let races = len - self.races.get();
        if cursor < races {
            return Some(performer(self.step(cursor)));
        }
        (races..len)
            .find(|&at| self.parked[at - races].get().is_none())
            .map(|at| self.step(at).thread)
    }

    /// The racing access that is part of what the thread is about to do.
    fn race_within(&self, thread: u32, intent: &Intent) -> Option<usize> {
        let accesses = (0..).map_while(|nth| intent.access_of_event(nth));
        let mut events = accesses.zip(self.steps_of(thread));
        events.find_map(|(access, (at, step))| (step.race && access.may_be(step)).then_some(at))
    }
}

/// Sees each event before it is encoded: a step of the plan is done.
pub fn observe(thread: u32, pc: u64, kind: u8) {
    // Beyond its last step a thread gets only to the end of an operation.
    let Some((at, step)) = PLAN.steps_of(thread).next() else {
        return;
    };
    if step.matches(kind, pc) && !step.race {
        if kind == kind::NOTIFY {
            PLAN.woken.set(step.other);
        }
        PLAN.mark_done(at);
    } else {
        // SAFETY: attached, since there is a plan; the caller has the baton.
        unsafe { RING.progress().instead.store(RING.events() + 1, Relaxed) };
        // The event shall be seen; if the process is to be ended, it is at the next opportunity.
        PLAN.leave(Standing::Diverged, at);
    }
}

/// Waits until it is the thread's turn, or for ever if the plan has nothing more for it. True if
/// there is no plan to follow.
pub fn gate(me: &'static Thread, intent: &Intent) -> bool {
    loop {
        if PHASE.load(Relaxed) == Phase::Failed as u8 {
            end();
        }
        if is_ending() {
            baton::go_on_without_plan(me);
        }
        if !is_followed() {
            return true;
        }
        let index = me.index.get();
        if let Some(race) = PLAN.race_within(index, intent) {
            let step = PLAN.step(race);
            let accesses = intent.accesses.iter().copied();
            park(
                me,
                accesses.filter(|access| access.size > 0 && access.may_be(step)),
                race,
            );
            return false;
        }
        if PLAN.turn() == Some(index) {
            return false;
        }
        baton::pass_on(me);
    }
}

/// Stops a thread before a racing access, until the program may go on.
fn park(me: &'static Thread, accesses: impl Iterator<Item = Access>, race: usize) {
    let earlier = PLAN.steps_of(me.index.get()).take_while(|(at, _)| *at < race);
    // Earlier parts of the same operation.
    earlier.for_each(|(at, _)| PLAN.word(at).set(done(PLAN.word(at).get())));
    PLAN.mark_done_up_to_here();
    for access in accesses {
        let (pc, addr, size) = (access.pc as u64, access.addr as u64, access.size as u64);
        crate::pending::push(Record::Parked { pc, addr, size });
    }
    let slot = race - (PLAN.len.get() - PLAN.races.get());
    PLAN.parked[slot].set(Some(me));
    // SAFETY: attached, since there is a plan.
    unsafe { RING.progress() }.parked[slot].store(me.os_id.load(Relaxed) as u32, Relaxed);
    if PLAN.turn().is_some() {
        baton::block(me, (&raw const PARKED_KEY) as usize, NEVER);
        return;
    }
    let first = await_decision();
    end_with_parent(false);
    let [a, b] = [0, 1].map(|slot| PLAN.parked[slot].get());
    PLAN.first[0].set(if first == Decision::First { a } else { b.or(a) });
    PLAN.first[1].set(if first == Decision::First { b } else { a });
    PHASE.store(Phase::Off as u8, Relaxed);
    baton::wake((&raw const PARKED_KEY) as usize, usize::MAX);
    baton::pass_on(me);
}

/// The program stands still.
fn await_decision() -> Decision {
    // SAFETY: attached, since there is a plan.
    let progress = unsafe { RING.progress() };
    progress.standing.store(Standing::AtRace as u32, Release);
    loop {
        for word in [&progress.decision, &witness_first] {
            match word.load(Acquire) {
                0 => {}
                1 => return Decision::First,
                _ => return Decision::Second,
            }
        }
        if !PLAN.place.get().is_there() {
            // Nobody else knows of a program that stands still.
            end();
        }
        // A debugger wakes nobody.
        futex::wait(&progress.decision, 0, Some(50_000_000), true);
    }
}

impl Plan {
    fn mark_done_up_to_here(&self) {
        if self.cursor.get() < self.len.get() && is_done(self.word(self.cursor.get()).get()) {
            self.mark_done(self.cursor.get());
        }
    }
}

/// The thread whose turn it is, taken out of the scheduler's queues; `None` while it is outside, or if the plan is over now.
pub fn next(scheduler: &Scheduler) -> Option<&'static Thread> {
    let turn = PLAN.turn()?;
    let is_next = |thread: &Thread| thread.index.get() == turn;
    if let Some(at) = scheduler.ready.iter().position(is_next) {
        return Some(scheduler.ready.remove(at));
    }
    if let Some((at, thread)) = (0..).zip(scheduler.blocked.iter()).find(|(_, thread)| is_next(thread)) {
        if signals::is_on_its_way(thread) {
            // Its handler interrupts the wait, once the thread has noticed. If it does not, the watcher asks again.
            return None;
        }
        // It sleeps, or it waits in vain: time passes as the plan says, and waits end without a reason.
        let woken = match thread.deadline.get() {
            _ if PLAN.gives_in_after_waiting(turn) => Woken::Cancel,
            // What wakes it is no event: it looks again, unless that never helped.
            _ if thread.looks_again() => Woken::Thread,
            NEVER if PLAN.waits_in_vain(turn) => Woken::Signal,
            NEVER => {
                leave_or_end(Standing::Blocked);
                return None;
            }
            _ => Woken::Deadline,
        };
        scheduler.unblock(at, woken);
        return Some(scheduler.ready.remove(scheduler.ready.len() - 1));
    }
    if scheduler.outside.get() == 0 {
        leave_or_end(Standing::Gone);
    }
    None
}

/// The thread may be cancelled here. If the plan says that it is, it waits for its turn, before which it is told.
pub fn await_cancellation(me: &'static Thread) {
    let next = || PLAN.steps_of(me.index.get()).next();
    if is_followed() && next().is_some_and(|(_, step)| step.matches(kind::ATOMIC_LOAD, GIVES_IN)) {
        gate(me, &Intent::NONE);
    }
}

/// Whether a thread that waits may be woken by another one: not if its time was up in the recorded run, however late it
/// noticed.
pub fn may_be_woken(thread: &Thread) -> bool {
    let thread = thread.index.get();
    !is_followed() || !PLAN.waits_in_vain(thread) && !PLAN.finds_no_permit(thread)
}

/// Of the threads that wait, the one that the last notify wakes, which may have been the plan's last step.
pub fn pick_waiter(mut waiting: impl Iterator<Item = &'static Thread>) -> Option<usize> {
    let woken = PLAN.woken.take()?;
    waiting.position(|thread| thread.index.get() == woken)
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

/// What the calling thread's next write of `len` bytes at `to` left in the recorded run, piece by piece, as far as the plan has
/// it.
pub fn recorded_writes(to: usize, len: usize, pc: usize, mut each: impl FnMut(usize, &[u8])) {
    let thread = slot();
    if !is_followed() || thread.is_null() {
        return;
    }
    // SAFETY: a slot holds a thread, which lives for ever.
    let mut steps = PLAN.steps_of(unsafe { (*thread).index.get() });
    crate::pending::pieces(to, len, |addr, size| {
        if let Some((_, step)) = steps.next()
            && step.matches(kind::WRITE, pc as u64)
            && let Some(value) = step.value
        {
            each(addr, &value.to_le_bytes()[..size]);
        }
    });
}

/// The value that a call of the calling thread returned in the recorded run, if the plan has it.
pub fn returned(pc: usize) -> Option<u64> {
    let thread = slot();
    if !is_followed() || thread.is_null() {
        return None;
    }
    // SAFETY: as in `recorded_writes`.
    let (_, step) = PLAN.steps_of(unsafe { (*thread).index.get() }).next()?;
    step.value.filter(|_| step.matches(kind::INPUT, pc as u64))
}

/// A function of libc is about to read this for its caller.
pub fn before_read(addr: usize, len: usize, pc: usize) {
    let thread = slot();
    if is_followed() && !thread.is_null() {
        // SAFETY: as in `recorded_writes`.
        let thread: &'static Thread = unsafe { &*thread };
        gate(thread, &Intent::of(Access::cut(pc, kind::READ, addr, len)));
    }
}

/// Whether there is a plan in which the thread's next event is of that kind.
pub fn is_next(me: &Thread, kind: u8) -> bool {
    is_followed()
        && PLAN
            .steps_of(me.index.get())
            .next()
            .is_some_and(|(_, step)| step.kind == kind)
}

/// The value that the calling thread gets from a source right after an atomic load, if the plan says that both come next.
pub fn input_after_load(me: &Thread, pc: usize) -> Option<u64> {
    if !is_followed() {
        return None;
    }
    let mut steps = PLAN.steps_of(me.index.get()).map(|(_, step)| step);
    steps.next().filter(|step| step.matches(kind::ATOMIC_LOAD, pc as u64))?;
    steps.next().filter(|step| step.matches(kind::INPUT, pc as u64))?.value
}

/// The calling thread is about to make a call that accesses memory on its way, somewhere within these ranges: if that is the
/// race, the thread is parked before the call. Later, the memory would be changed already.
pub fn before_call(pc: usize, kinds: &[u8], ranges: &[(usize, usize)]) {
    let thread = slot();
    if !is_followed() || thread.is_null() {
        return;
    }
    // SAFETY: as in `recorded_writes`.
    let thread: &'static Thread = unsafe { &*thread };
    if let Some(race) = PLAN.race_in_call(thread.index.get(), pc, kinds) {
        let kind = PLAN.step(race).kind;
        let accesses = ranges.iter().filter(|(addr, size)| *addr != 0 && *size != 0);
        park(
            thread,
            accesses.map(|&(addr, size)| Access::cut(pc, kind, addr, size)),
            race,
        );
    }
}

/// The number of the thread that the caller is about to create.
pub fn next_child(me: &Thread) -> Option<u32> {
    if !is_followed() {
        return None;
    }
    PLAN.steps_of(me.index.get())
        .find(|(_, step)| step.kind == kind::FORK)
        .and_then(|(_, step)| step.other)
}

/// After the race, the thread that goes first, then the other one.
pub fn next_after_race() -> Option<&'static Thread> {
    PLAN.first.iter().find_map(Cell::take)
}

/// Whether somebody else goes right after the one that runs now.
pub fn is_at_race() -> bool {
    PLAN.first[1].get().is_some()
}

/// The next step cannot be done.
fn leave_or_end(standing: Standing) {
    if !PLAN.leave(standing, PLAN.cursor.get()) {
        end();
    }
}

/// What is published stays readable.
fn end() -> ! {
    sys::die("")
}
