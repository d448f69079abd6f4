//! The policy that follows a plan: the thread runs whose event is next.
//!
//! A plan ([`recorder_ring::plan`]) lists events. A thread stops at the next hook that may yield
//! (`gate`) while it is not its turn; an event counts as done when it is encoded
//! (`observe`). Hooks that may not yield, and the rest of an operation of several events, run ahead
//! of the plan; their steps are marked as done where they stand. A thread whose next operation holds
//! a racing access is parked before it. When all of them are, the program stands still until the
//! parent, or a debugger, says which goes first; from then on it runs as under `fifo`.
//!
//! A run that cannot go on along the plan is ended, after the parent was told why; unless the plan is only its
//! beginning ([`Then::Policy`]): then the run goes on under its policy from there, as it does where the plan ends.
//! Which of these it was, and where, is told as well.

use crate::host::Host;
use crate::intent::{Access, Intent};
use crate::scheduler::Scheduler;
use crate::sync::{AtomicU8, Cell};
use crate::thread::{NEVER, Scheduled, Woken};
use core::cell::Cell as InMemory;
use core::sync::atomic::Ordering::{Relaxed, Release};
use recorder_ring::plan::{Signal, Step, Words, done, is_done, kind};
use recorder_ring::{Decision, Standing};

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

/// A step as its words, of which the first has a mark.
pub type StepCell = InMemory<Words>;

/// The plan, and how far the run has come. Used with the baton, or with the scheduler locked by the thread that passes
/// it on.
pub struct Plan<T: 'static> {
    phase: AtomicU8,
    steps: Cell<&'static [StepCell]>,
    then: Cell<Then>,
    /// Racing accesses, which are the last steps.
    races: Cell<usize>,
    /// Whether signals come from outside in any step.
    has_signals: Cell<bool>,
    /// The first step that is not done.
    cursor: Cell<usize>,
    /// Whom the last notify wakes, until it did.
    woken: Cell<Option<u32>>,
    /// Who is parked at which racing access.
    parked: [Cell<Option<&'static T>>; 2],
    /// Who runs first when the program goes on, for one operation each.
    first: [Cell<Option<&'static T>>; 2],
}

impl<T> Plan<T> {
    constant! {
        /// None.
        #[allow(clippy::new_without_default, reason = "it is for statics")]
        pub fn new() -> Self {
            Self {
                phase: AtomicU8::new(Phase::Off as u8),
                steps: Cell::new(&[]),
                then: Cell::new(Then::Nothing),
                races: Cell::new(0),
                has_signals: Cell::new(false),
                cursor: Cell::new(0),
                woken: Cell::new(None),
                parked: [Cell::new(None), Cell::new(None)],
                first: [Cell::new(None), Cell::new(None)],
            }
        }
    }

    /// Takes a plan over, before there are other threads.
    pub fn start(&self, steps: &'static [StepCell], then: Then) {
        self.steps.set(steps);
        self.then.set(then);
        let races = steps.iter().rev().map(|step| Step::decode(step.get()));
        self.races.set(races.take_while(|step| step.race).count());
        let mut all = steps.iter().map(|step| Step::decode(step.get()));
        self.has_signals.set(all.any(|step| step.signal().is_some()));
        self.phase.store(Phase::Following as u8, Relaxed);
    }

    /// Whether this run has a plan, which may be over.
    pub fn is_there(&self) -> bool {
        !self.steps.get().is_empty()
    }

    /// Whether a plan is followed.
    #[inline]
    pub fn is_followed(&self) -> bool {
        self.is_in(Phase::Following)
    }

    /// Whether the plan is over, and the policy has not taken over yet.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_in(Phase::Ending)
    }

    #[inline]
    fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Relaxed) == phase as u8
    }

    /// The policy has taken over. The scheduler is locked.
    pub(crate) fn is_over(&self) {
        self.woken.set(None);
        self.phase.store(Phase::Off as u8, Relaxed);
    }

    fn len(&self) -> usize {
        self.steps.get().len()
    }

    fn step(&self, at: usize) -> Step {
        Step::decode(self.steps.get()[at].get())
    }

    fn is_done(&self, at: usize) -> bool {
        is_done(self.steps.get()[at].get()[0])
    }

    /// Puts the mark at a step.
    fn mark(&self, at: usize) {
        let step = &self.steps.get()[at];
        let [word, value] = step.get();
        step.set([done(word), value]);
    }

    /// The steps of a thread that are not done, in order, each with its number.
    pub fn steps_of(&self, thread: u32) -> impl Iterator<Item = (usize, Step)> {
        (self.cursor.get()..self.len())
            .filter(|&at| !self.is_done(at))
            .map(|at| (at, self.step(at)))
            .filter(move |(_, step)| step.thread == thread)
    }

    /// The signal from outside that the thread gets next, with the step's number, if a plan is followed that says so.
    pub fn signal_to(&self, thread: u32) -> Option<(usize, Signal)> {
        if !self.has_signals.get() || !self.is_followed() {
            return None;
        }
        let (at, step) = self.steps_of(thread).next()?;
        Some((at, step.signal()?))
    }

    /// Whether the signal comes from outside somewhere in the rest of a plan that is followed.
    pub fn brings(&self, signal: u32) -> bool {
        let is_it = |due: Signal| due.number == signal;
        let is_due = |at: usize| !self.is_done(at) && self.step(at).signal().is_some_and(is_it);
        self.has_signals.get() && self.is_followed() && (self.cursor.get()..self.len()).any(is_due)
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

    /// The racing access of one of these kinds that is part of the call that the thread is about to make: of all that
    /// comes from this code position without anything in between.
    fn race_in_call(&self, thread: u32, pc: usize, kinds: &[u8]) -> Option<usize> {
        let mut call = self.steps_of(thread).take_while(|(_, step)| step.is_at(pc as u64));
        let race = call.find(|(_, step)| step.race);
        race.filter(|(_, step)| kinds.contains(&step.kind)).map(|(at, _)| at)
    }

    /// Whose turn it is; `None` when all racing threads are parked.
    fn turn(&self) -> Option<u32> {
        let (len, cursor) = (self.len(), self.cursor.get());
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

    /// Whether a thread that waits may be woken by another one: not if its time was up in the recorded run, however
    /// late it noticed.
    pub(crate) fn may_be_woken(&self, thread: &Scheduled) -> bool {
        let thread = thread.index.get();
        !self.is_followed() || !self.waits_in_vain(thread) && !self.finds_no_permit(thread)
    }

    /// Of the threads that wait, the one that the last notify wakes, which may have been the plan's last step.
    pub(crate) fn pick_waiter<'a>(&self, mut waiting: impl Iterator<Item = &'a Scheduled>) -> Option<usize> {
        let woken = self.woken.take()?;
        waiting.position(|thread| thread.index.get() == woken)
    }

    /// Whether there is a plan in which the thread's next event is of that kind.
    pub fn is_next(&self, me: &Scheduled, kind: u8) -> bool {
        self.is_followed()
            && self
                .steps_of(me.index.get())
                .next()
                .is_some_and(|(_, step)| step.kind == kind)
    }

    /// The number of the thread that the caller is about to create.
    pub fn next_child(&self, me: &Scheduled) -> Option<u32> {
        if !self.is_followed() {
            return None;
        }
        self.steps_of(me.index.get())
            .find(|(_, step)| step.kind == kind::FORK)
            .and_then(|(_, step)| step.other)
    }

    /// All steps, if a plan is followed, be they done or not. Whoever asks need not have the baton: no run changes what
    /// its steps say.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let followed = if self.is_followed() { self.len() } else { 0 };
        (0..followed).map(|at| self.step(at))
    }

    /// After the race, the thread that goes first, then the other one.
    pub(crate) fn next_after_race(&self) -> Option<&'static T> {
        self.first.iter().find_map(Cell::take)
    }

    /// Whether somebody else goes right after the one that runs now.
    pub(crate) fn is_at_race(&self) -> bool {
        self.first[1].get().is_some()
    }
}

/// Who performs a step: what a finalizer comes after is noted, for each other thread, by the one that announces it.
fn performer(step: Step) -> u32 {
    match step.other {
        Some(caller) if step.kind == kind::ATOMIC_STORE => caller,
        _ => step.thread,
    }
}

impl<H: Host> Scheduler<H> {
    /// The plan.
    #[inline(always)]
    pub fn plan(&self) -> &Plan<H::Thread> {
        &self.plan
    }

    /// What the threads that are parked at the race are blocked on.
    fn parked_key(&self) -> usize {
        (&raw const self.plan).addr()
    }

    fn mark_done(&self, at: usize) {
        let plan = &self.plan;
        plan.mark(at);
        while plan.cursor.get() < plan.len() && plan.is_done(plan.cursor.get()) {
            plan.cursor.set(plan.cursor.get() + 1);
        }
        self.host.progress().step.store(plan.cursor.get() as u64, Relaxed);
        if plan.cursor.get() == plan.len() && plan.then.get() == Then::Policy {
            self.leave_at(Standing::Done, plan.len());
        }
    }

    /// The run goes no further along the plan, from this step on. True if it goes on under its policy.
    fn leave_at(&self, standing: Standing, step: usize) -> bool {
        let progress = self.host.progress();
        progress.step.store(step as u64, Relaxed);
        progress.standing.store(standing as u32, Release);
        let goes_on = self.plan.then.get() == Then::Policy;
        let phase = if goes_on { Phase::Ending } else { Phase::Failed };
        self.plan.phase.store(phase as u8, Relaxed);
        goes_on
    }

    /// Whether the parent wants the run to leave the plan here.
    fn is_to_be_left(&self) -> bool {
        let leave = self.host.progress().leave.load(Relaxed);
        leave != 0 && leave == self.plan.cursor.get() as u64 + 1
    }

    /// The next step cannot be done.
    fn leave_or_end(&self, standing: Standing) {
        if !self.leave_at(standing, self.plan.cursor.get()) {
            self.host.end();
        }
    }

    /// The thread whose turn it is waits for what has not come, where the next step is that it goes on. The run goes on
    /// under its policy, or ends.
    pub fn leave_plan_blocked(&self) {
        self.leave_or_end(Standing::Blocked);
    }

    /// Sees each event before it is encoded: a step of the plan is done.
    pub fn observe(&self, thread: u32, pc: u64, kind: u8) {
        // Beyond its last step a thread gets only to the end of an operation.
        let Some((at, step)) = self.plan.steps_of(thread).next() else {
            return;
        };
        if step.may_turn_out(kind, pc) && !step.race {
            if kind == kind::NOTIFY {
                self.plan.woken.set(step.other);
            }
            self.mark_done(at);
        } else {
            self.host.progress().instead.store(self.host.events() + 1, Relaxed);
            // The event shall be seen; if the process is to be ended, it is at the next opportunity.
            self.leave_at(Standing::Diverged, at);
        }
    }

    /// Waits until it is the thread's turn, or for ever if the plan has nothing more for it. True if
    /// there is no plan to follow.
    pub fn gate(&self, me: &'static H::Thread, intent: &Intent) -> bool {
        loop {
            if self.plan.is_in(Phase::Failed) {
                self.host.end();
            }
            if self.plan.is_followed() && self.is_to_be_left() {
                self.leave_or_end(Standing::Stuck);
            }
            if self.plan.is_ending() {
                self.go_on_without_plan(me);
            }
            if !self.plan.is_followed() {
                return true;
            }
            let index = me.index.get();
            // Who comes to the race before the others have done what is to come first waits for its turn like anybody:
            // nobody would say that all are there.
            let is_its_turn = self.plan.turn() == Some(index);
            if let Some(race) = self.plan.race_within(index, intent).filter(|_| is_its_turn) {
                let step = self.plan.step(race);
                let accesses = intent.accesses.iter().copied();
                let racing = accesses.filter(|access| access.size > 0 && access.may_be(step));
                self.park(me, racing, race);
                return false;
            }
            if is_its_turn {
                return false;
            }
            self.pass_on(me);
        }
    }

    /// Stops a thread before a racing access, until the program may go on.
    fn park(&self, me: &'static H::Thread, accesses: impl Iterator<Item = Access>, race: usize) {
        let plan = &self.plan;
        let earlier = plan.steps_of(me.index.get()).take_while(|(at, _)| *at < race);
        // Earlier parts of the same operation.
        earlier.for_each(|(at, _)| plan.mark(at));
        if plan.cursor.get() < plan.len() && plan.is_done(plan.cursor.get()) {
            self.mark_done(plan.cursor.get());
        }
        let number = self.host.parks(me, accesses);
        let slot = race - (plan.len() - plan.races.get());
        plan.parked[slot].set(Some(me));
        self.host.progress().parked[slot].store(number, Relaxed);
        if plan.turn().is_some() {
            self.block(me, self.parked_key(), NEVER);
            return;
        }
        self.host.progress().standing.store(Standing::AtRace as u32, Release);
        let first = self.host.await_decision();
        let [a, b] = [0, 1].map(|slot| plan.parked[slot].get());
        plan.first[0].set(if first == Decision::First { a } else { b.or(a) });
        plan.first[1].set(if first == Decision::First { b } else { a });
        plan.phase.store(Phase::Off as u8, Relaxed);
        self.wake(self.parked_key(), usize::MAX);
        self.pass_on(me);
    }

    /// The thread whose turn it is, taken out of the queues; `None` while it is outside, or if the plan is over now.
    pub(crate) fn next_along_plan(&self) -> Option<&'static H::Thread> {
        let plan = &self.plan;
        let turn = plan.turn()?;
        if self.is_to_be_left() {
            self.leave_or_end(Standing::Stuck);
            return None;
        }
        let is_next = |thread: &H::Thread| thread.index.get() == turn;
        if let Some(at) = self.ready.iter().position(is_next) {
            return Some(self.ready.remove(at));
        }
        if let Some((at, thread)) = (0..).zip(self.blocked.iter()).find(|(_, thread)| is_next(thread)) {
            if plan.signal_to(turn).is_some() || self.host.is_on_its_way(thread) {
                // Its handler interrupts the wait, once the thread has noticed. If it does not, the watcher asks again.
                return None;
            }
            // It sleeps, or it waits in vain: time passes as the plan says, and waits end without a reason.
            let woken = match thread.deadline.get() {
                _ if plan.gives_in_after_waiting(turn) => Woken::Cancel,
                // What wakes it is no event: it looks again, unless that never helped.
                _ if thread.looks_again() => Woken::Thread,
                NEVER if plan.waits_in_vain(turn) => Woken::Signal,
                NEVER => {
                    self.leave_or_end(Standing::Blocked);
                    return None;
                }
                _ => Woken::Deadline,
            };
            self.unblock(at, woken);
            return Some(self.ready.remove(self.ready.len() - 1));
        }
        if self.outside.get() == self.gone.get() && !self.host.may_come(turn) {
            self.leave_or_end(Standing::Gone);
        }
        None
    }

    /// The thread may be cancelled here. If the plan says that it is, it waits for its turn, before which it is told.
    pub fn await_cancellation(&self, me: &'static H::Thread) {
        let next = || self.plan.steps_of(me.index.get()).next();
        if self.plan.is_followed() && next().is_some_and(|(_, step)| step.matches(kind::ATOMIC_LOAD, GIVES_IN)) {
            self.gate(me, &Intent::NONE);
        }
    }

    /// The thread is about to make a call that accesses memory on its way, somewhere within these ranges: if that is
    /// the race, the thread is parked before the call. Later, the memory would be changed already.
    pub fn before_call(&self, me: &'static H::Thread, pc: usize, kinds: &[u8], ranges: &[(usize, usize)]) {
        if let Some(race) = self.plan.race_in_call(me.index.get(), pc, kinds) {
            while self.plan.is_followed() && self.plan.turn() != Some(me.index.get()) {
                self.pass_on(me);
            }
            if !self.plan.is_followed() {
                return;
            }
            let kind = self.plan.step(race).kind;
            let accesses = ranges.iter().filter(|(addr, size)| *addr != 0 && *size != 0);
            let accesses = accesses.map(|&(addr, size)| Access::cut(pc, kind, addr, size));
            self.park(me, accesses, race);
        }
    }
}
