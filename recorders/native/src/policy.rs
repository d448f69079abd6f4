//! Which thread runs next, and for how long.
//!
//! Everything here depends on the seed and on the order of calls alone, so a program whose
//! behaviour depends only on its schedule gives the same trace for the same seed.

use crate::schedule;
use crate::thread::Thread;
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::{Policy, Settings};

/// Hooks that a thread passes under `fifo` before it must give way. Only a loop that waits for
/// plain memory to change gets that far without ever blocking.
const FIFO_QUANTUM: u64 = 200_000;

/// Under `random`, a thread passes between 1 and 2^k hooks, k uniform below this: long runs and
/// switches in the middle of `x++` both occur.
const RANDOM_SCALES: u64 = 13;

/// Most moments at which `pct` changes a priority.
const MAX_CHANGES: usize = 63;

/// The choices of a run. All but `started` with the scheduler locked.
///
/// `pct` is Burckhardt, Kothari, Musuvathi, Nagarakatte, *A randomized scheduler with probabilistic
/// guarantees of finding bugs* (ASPLOS 2010), section 3: a random priority for each thread; d − 1
/// random steps out of k, at the i-th of which the running thread's priority becomes d − i, below all
/// initial ones; always the highest one runs. Steps are the hooks passed by all threads. Not in the
/// paper: a thread that yields, that spins, or that runs long without end, goes to the very bottom,
/// or strict priorities would keep the thread that it waits for from running.
#[derive(Debug)]
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
}

impl Choices {
    pub const fn new() -> Self {
        Self {
            policy: Cell::new(Policy::Fifo),
            random: Cell::new(1),
            changes: [const { Cell::new(0) }; MAX_CHANGES],
            count: Cell::new(0),
            passed: Cell::new(0),
            steps: Cell::new(0),
            started: Cell::new(0),
            lowest: Cell::new(0),
        }
    }

    pub fn start(&self, settings: Settings) {
        self.policy.set(settings.policy);
        self.random.set(settings.seed);
        for (count, start) in [(&self.steps, 0), (&self.started, 0)] {
            count.set(start);
        }
        self.passed.set(0);
        if settings.policy == Policy::Pct {
            let count = (settings.depth.max(1) as usize - 1).min(MAX_CHANGES);
            self.count.set(count);
            let mut steps = [0; MAX_CHANGES];
            for step in &mut steps[..count] {
                *step = 1 + self.next() % settings.steps.max(1);
            }
            steps[..count].sort_unstable();
            for (change, step) in self.changes.iter().zip(steps) {
                change.set(step);
            }
        }
    }

    /// A thread appears.
    pub fn admit(&self, thread: &Thread) {
        if self.policy.get() == Policy::Pct {
            // Above those of the changes, which are at most their number.
            thread.priority.set((self.next() >> 2) as i64 + 2 * MAX_CHANGES as i64);
        }
    }

    /// The thread `before` gave up the baton that `thread` has now; the hooks that it may pass.
    pub fn begin_turn(&self, before: Option<&Thread>, thread: &Thread) -> u64 {
        match self.policy.get() {
            Policy::Schedule if schedule::is_followed() => 0,
            Policy::Schedule if schedule::is_at_race() => 1,
            Policy::Fifo | Policy::Schedule => FIFO_QUANTUM,
            Policy::Random => {
                let scale = self.next() % RANDOM_SCALES;
                1 + self.next() % (1 << scale)
            }
            Policy::Pct => {
                let ran = before.map_or(0, |before| before.ticks.load(Relaxed) - self.started.get());
                self.steps.set(self.steps.get() + ran);
                self.started.set(thread.ticks.load(Relaxed));
                let change = self.changes[..self.count.get()].get(self.passed.get());
                let left = change.map_or(FIFO_QUANTUM, |step| step.get().saturating_sub(self.steps.get()));
                left.clamp(1, FIFO_QUANTUM)
            }
        }
    }

    /// The running thread has passed the hooks of its turn, or yields.
    pub fn end_turn(&self, thread: &Thread, yields: bool) {
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

    /// Whether `thread`, which just became ready, must run before the running one.
    pub fn precedes(&self, thread: &Thread, running: &Thread) -> bool {
        self.policy.get() == Policy::Pct && thread.priority.get() > running.priority.get()
    }

    /// Which of the threads that could go on does, of which the first has waited longest.
    pub fn pick<'a>(&self, threads: impl Iterator<Item = &'a Thread> + Clone) -> Option<usize> {
        match self.policy.get() {
            Policy::Fifo | Policy::Schedule => threads.clone().next().map(|_| 0),
            Policy::Random => {
                let count = threads.count() as u64;
                (count > 0).then(|| (self.next() % count) as usize)
            }
            Policy::Pct => {
                let highest = (0..)
                    .zip(threads)
                    .max_by_key(|(at, thread)| (thread.priority.get(), -*at));
                highest.map(|(at, _): (i64, _)| at as usize)
            }
        }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): any seed is good, also 0.
    fn next(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
