//! Which thread runs next, and for how long.
//!
//! Everything here depends on the seed and on the order of calls alone, so a program whose
//! behavior depends only on its schedule gives the same trace for the same seed.
//!
//! Nobody knows beforehand how long a run will be. `random` begins with short turns, as soon as there are two threads,
//! and lengthens them as the run gets longer; `pct` draws a length for each run.
//!
//! # `pct`
//!
//! Burckhardt, Kothari, Musuvathi, Nagarakatte, *A randomized scheduler with probabilistic guarantees of finding bugs*
//! (ASPLOS 2010), section 3: a random priority for each thread; d − 1 random steps out of k, at the i-th of which the
//! running thread's priority becomes d − i, below all initial ones; always the highest one runs. Steps are the hooks
//! passed by all threads. Not in the paper:
//!
//! - Unless the user names k, it is a power of two from 2^4 to 2^16, by the seed, and steps count from the moment on at
//!   which there are two threads. One of the 13 is less than twice the length of a run that is not longer, so the
//!   paper's bound on the probability holds with 2k for k, divided by 13.
//! - A thread that yields, that spins, or that runs long without end, goes to the very bottom, or strict priorities
//!   would keep the thread that it waits for from running. One that sleeps draws another initial priority.
//!
//! # `pos`
//!
//! Yuan, Yang, Gu, *Partial order aware concurrency sampling* (CAV 2018), algorithm 2: each pending operation has a
//! random priority, the highest is performed; then operations that race with it draw new ones, and so does its thread
//! for its next. Ours differs:
//!
//! - An operation is a hook. What races with what is known of accesses; of calls that lock, wait or signal it is not,
//!   and they draw when they arrive only, and again whenever they were blocked.
//! - A copy that is announced as a write and a read, and a call that accesses several places, is one operation; it
//!   races by its first two accesses.
//! - What lies between two hooks, memory that no hook announces included, belongs to the hook before.
//!
//! # In turn
//!
//! The other end of the scale from `fifo`: threads change after every operation, or every few. What a thread accesses
//! of its own stack does not count, or it would be for the compiler to say how many others there are in between.

use crate::intent::Intent;
use crate::sync::Cell;
use crate::thread::Scheduled;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::plan::kind;
use recorder_ring::{Policy, Settings};

/// Hooks that a thread passes under `fifo` before it must give way, and a few more, as [`some_more`] says. Only a loop
/// that waits for plain memory to change gets that far without ever blocking.
const FIFO_QUANTUM: u64 = 200_000;

/// Under `random`, a thread passes between 1 and 2^k hooks, k uniform below this: long runs and
/// switches in the middle of `x++` both occur. One turn in four draws so at once; for the others, k is small enough
/// that 2^k is at most four times the length of the run so far.
const RANDOM_SCALES: u64 = 13;

/// The smallest length of a run that `pct` draws, and how many there are, as powers of two.
const SHORTEST_RUN: u64 = 4;
const RUN_LENGTHS: u64 = 13;

/// Most moments at which `pct` changes a priority.
const MAX_CHANGES: usize = 63;

/// The choices of a run. All but `started` with the scheduler locked.
pub struct Choices {
    policy: Cell<Policy>,
    random: Cell<u64>,
    /// Steps at which a priority changes, in order, how many there are, and how many have passed.
    changes: [Cell<u64>; MAX_CHANGES],
    count: Cell<usize>,
    passed: Cell<usize>,
    /// Steps until the running thread got the baton, and its own ticks then.
    steps: Cell<u64>,
    started: Cell<u64>,
    /// The lowest priority so far.
    lowest: Cell<i64>,
    /// There are two threads, or there were.
    shared: Cell<bool>,
    /// The depth of `pct`, if the length of the run is to be drawn.
    depth: Cell<u32>,
    /// Where threads go on in turn: the operations of a turn, of the first turn behind a plan, and how many are left.
    turn: Cell<u64>,
    first_turn: Cell<Option<u64>>,
    left: Cell<u64>,
}

/// What an access does to memory.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    addr: usize,
    size: usize,
    writes: bool,
}

impl Touched {
    /// No access.
    pub const NOTHING: [Touched; 2] = [Touched {
        addr: 0,
        size: 0,
        writes: false,
    }; 2];

    fn by(intent: &Intent) -> [Touched; 2] {
        intent.accesses.map(|access| Touched {
            addr: access.addr,
            size: access.size,
            writes: !matches!(access.kind, kind::READ | kind::ATOMIC_LOAD),
        })
    }

    fn races_with(&self, other: &Touched) -> bool {
        let meet = self.addr < other.addr + other.size && other.addr < self.addr + self.size;
        meet && (self.writes || other.writes)
    }
}

/// Fewer than 64 hooks, anyhow: by these, stretches between two moments differ, so that a loop is not always in the same
/// place when they are over.
pub fn some_more(ticks: u64) -> u64 {
    mixed(ticks) >> 58
}

/// A number that shares no pattern with this one: SplitMix64 (Steele, Lea, Flood 2014), one step.
pub fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Choices {
    constant! {
        /// Those of a run under `fifo`.
        #[allow(clippy::new_without_default, reason = "it is for statics")]
        pub fn new() -> Self {
            Self {
                policy: Cell::new(Policy::Fifo),
                random: Cell::new(1),
                changes: cells![Cell::new(0); MAX_CHANGES],
                count: Cell::new(0),
                passed: Cell::new(0),
                steps: Cell::new(0),
                started: Cell::new(0),
                lowest: Cell::new(0),
                shared: Cell::new(false),
                depth: Cell::new(0),
                turn: Cell::new(1),
                first_turn: Cell::new(None),
                left: Cell::new(0),
            }
        }
    }

    /// A run begins.
    pub fn start(&self, settings: Settings) {
        self.policy.set(settings.policy);
        self.random.set(settings.seed);
        for (count, start) in [(&self.steps, 0), (&self.started, 0)] {
            count.set(start);
        }
        self.passed.set(0);
        self.count.set(0);
        self.shared.set(false);
        self.turn.set(settings.steps.max(1));
        self.first_turn.set(None);
        if settings.policy == Policy::Pct {
            if settings.steps == 0 {
                self.depth.set(settings.depth);
            } else {
                self.draw_changes(settings.depth, settings.steps);
            }
        }
    }

    /// Draws the steps at which a priority changes, out of so many.
    fn draw_changes(&self, depth: u32, out_of: u64) {
        let count = (depth.max(1) as usize - 1).min(MAX_CHANGES);
        self.count.set(count);
        let mut steps = [0; MAX_CHANGES];
        for step in &mut steps[..count] {
            *step = 1 + self.next() % out_of;
        }
        steps[..count].sort_unstable();
        for (change, step) in self.changes.iter().zip(steps) {
            change.set(step);
        }
    }

    /// A thread appears; who made it has the baton. The tick by which that one's turn ends, if it is to end earlier.
    pub fn admit(&self, thread: &Scheduled, creator: Option<&Scheduled>) -> Option<u64> {
        self.draw_priority(thread);
        let creator = creator.filter(|_| !self.shared.replace(true))?;
        let ticks = creator.ticks.load(Relaxed);
        self.steps.set(self.steps.get() + ticks - self.started.replace(ticks));
        match self.policy.get() {
            // Its turn may be as long as what it did alone.
            Policy::Random => {
                self.steps.set(0);
                Some(ticks + 1 + self.next() % 8)
            }
            Policy::Pct if self.depth.get() > 0 => {
                self.steps.set(0);
                let first = self.draw_run();
                Some(ticks + first.unwrap_or(FIFO_QUANTUM))
            }
            _ => None,
        }
    }

    /// The thread's next operation has a priority of its own.
    fn draw_priority(&self, thread: &Scheduled) {
        if matches!(self.policy.get(), Policy::Pct | Policy::Pos) {
            // Above those of the changes, which are at most their number.
            thread.priority.set((self.next() >> 2) as i64 + 2 * MAX_CHANGES as i64);
        }
    }

    /// Whether threads that sleep may wake at any point.
    pub fn skip_time(&self) -> bool {
        matches!(self.policy.get(), Policy::Random | Policy::Pct | Policy::Pos)
    }

    /// The thread waits for a deadline, in vain if it is `asleep`, else until another one wakes it. Whether the
    /// deadline may come at any point.
    pub fn wait(&self, thread: &Scheduled, asleep: bool) -> bool {
        if !self.skip_time() {
            return false;
        }
        self.draw_priority(thread);
        asleep || self.next().is_multiple_of(2)
    }

    /// The thread has come to an operation, and may perform it if it is chosen.
    pub fn arrive(&self, thread: &Scheduled, intent: &Intent) {
        if self.policy.get() == Policy::Pos {
            self.draw_priority(thread);
            thread.touches.set(Touched::by(intent));
        }
    }

    /// The thread that was chosen performs its operation, before which `others` stand with theirs.
    pub fn perform<'a>(&self, thread: &Scheduled, others: impl Iterator<Item = &'a Scheduled>) {
        if self.policy.get() != Policy::Pos {
            return;
        }
        let touched = thread.touches.get();
        for other in others {
            let pending = other.touches.get();
            if touched.iter().any(|one| pending.iter().any(|two| one.races_with(two))) {
                self.draw_priority(other);
            }
        }
    }

    /// From here on the policy chooses, and no longer a plan; `ran` ran last along that.
    pub fn take_over(&self, ran: Option<&Scheduled>) {
        self.steps.set(0);
        self.passed.set(0);
        self.started.set(ran.map_or(0, |ran| ran.ticks.load(Relaxed)));
        if self.policy.get() == Policy::Pct && self.shared.get() && self.depth.get() > 0 {
            self.draw_run();
        }
        // It is in the middle of its turn.
        self.first_turn.set(Some(self.random.get().min(self.turn.get())));
    }

    /// Draws how long the run is, and the steps at which a priority changes; the first of these.
    fn draw_run(&self) -> Option<u64> {
        let length = SHORTEST_RUN + self.next() % RUN_LENGTHS;
        self.draw_changes(self.depth.get(), 1 << length);
        self.changes[..self.count.get()].first().map(Cell::get)
    }

    /// The thread `before` gave up the baton that `thread` has now; the hooks that it may pass. `at_race` says that
    /// another one is to run right after its next operation.
    pub fn begin_turn(&self, before: Option<&Scheduled>, thread: &Scheduled, alone: bool, at_race: bool) -> u64 {
        match self.policy.get() {
            Policy::Schedule if at_race => 1,
            Policy::Fifo | Policy::Schedule => FIFO_QUANTUM + some_more(thread.ticks.load(Relaxed)),
            Policy::Pos if !alone => 0,
            Policy::Pos => FIFO_QUANTUM,
            Policy::InTurn => {
                self.left.set(self.first_turn.take().unwrap_or(self.turn.get()));
                if alone { FIFO_QUANTUM } else { 0 }
            }
            Policy::Random => {
                self.count_steps(before, thread);
                let fitting = match self.next() % 4 {
                    0 => RANDOM_SCALES,
                    _ => 2 + u64::from(self.steps.get().max(1).ilog2()),
                };
                let scale = self.next() % fitting.min(RANDOM_SCALES);
                1 + self.next() % (1 << scale)
            }
            Policy::Pct => {
                self.count_steps(before, thread);
                let change = self.changes[..self.count.get()].get(self.passed.get());
                let left = change.map_or(FIFO_QUANTUM, |step| step.get().saturating_sub(self.steps.get()));
                left.clamp(1, FIFO_QUANTUM)
            }
        }
    }

    /// Counts the hooks that the thread has passed that gave up the baton.
    fn count_steps(&self, before: Option<&Scheduled>, thread: &Scheduled) {
        let ran = before.map_or(0, |before| before.ticks.load(Relaxed) - self.started.get());
        self.steps.set(self.steps.get() + ran);
        self.started.set(thread.ticks.load(Relaxed));
    }

    /// The running thread has passed the hooks of its turn, or yields.
    pub fn end_turn(&self, thread: &Scheduled, yields: bool) {
        thread.owes_turn.set(true);
        if self.policy.get() != Policy::Pct {
            return;
        }
        let now = self.steps.get() + thread.ticks.load(Relaxed) - self.started.get();
        let passed = self.passed.get();
        let due = self.changes[..self.count.get()]
            .get(passed)
            .is_some_and(|step| step.get() <= now);
        if due {
            self.passed.set(passed + 1);
            thread.priority.set((self.count.get() - passed) as i64);
        } else if yields || thread.ticks.load(Relaxed) - self.started.get() >= FIFO_QUANTUM {
            self.lowest.set(self.lowest.get() - 1);
            thread.priority.set(self.lowest.get());
        }
    }

    /// Whether threads go on in turn.
    pub fn go_in_turn(&self) -> bool {
        self.policy.get() == Policy::InTurn
    }

    /// The running thread comes to an operation of its turn. Whether it may perform it.
    pub fn take_step(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether `thread`, which just became ready, must run before the running one.
    pub fn precedes(&self, thread: &Scheduled, running: &Scheduled) -> bool {
        match self.policy.get() {
            Policy::Pct => thread.priority.get() > running.priority.get(),
            // It was alone, perhaps.
            Policy::Pos | Policy::InTurn => true,
            // Whoever ran meanwhile waits for a lock, perhaps, that it held when its turn was over, and would hold
            // each time: a loop may have it at every hook but one.
            Policy::Fifo | Policy::Schedule => running.owes_turn.replace(false),
            Policy::Random => false,
        }
    }

    /// Which of the threads that could go on does, of which the first has waited longest.
    pub fn pick<'a>(&self, threads: impl Iterator<Item = &'a Scheduled> + Clone) -> Option<usize> {
        match self.policy.get() {
            Policy::Fifo | Policy::Schedule | Policy::InTurn => threads.clone().next().map(|_| 0),
            Policy::Random => {
                let count = threads.count() as u64;
                (count > 0).then(|| (self.next() % count) as usize)
            }
            Policy::Pct | Policy::Pos => {
                let highest = (0..)
                    .zip(threads)
                    .max_by_key(|(at, thread)| (thread.priority.get(), -*at));
                highest.map(|(at, _): (i64, _)| at as usize)
            }
        }
    }

    /// Any seed is good, also 0.
    fn next(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        mixed(state)
    }
}
