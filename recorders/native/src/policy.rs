//! Which thread runs next, and for how long.
//!
//! Everything here depends on the seed and on the order of calls alone, so a program whose
//! behaviour depends only on its schedule gives the same trace for the same seed.

use core::cell::Cell;
use recorder_ring::{Policy, Settings};

/// Hooks that a thread passes under `fifo` before it must give way. Only a loop that waits for
/// plain memory to change gets that far without ever blocking.
const FIFO_QUANTUM: u64 = 200_000;

/// Under `random`, a thread passes between 1 and 2^k hooks, k uniform below this: long runs and
/// switches in the middle of `x++` both occur.
const RANDOM_SCALES: u64 = 13;

/// The choices of a run.
#[derive(Debug)]
pub struct Choices {
    policy: Cell<Policy>,
    random: Cell<u64>,
}

impl Choices {
    pub const fn new() -> Self {
        Self {
            policy: Cell::new(Policy::Fifo),
            random: Cell::new(1),
        }
    }

    pub fn start(&self, settings: Settings) {
        self.policy.set(settings.policy);
        self.random.set(settings.seed);
    }

    /// The hooks that the thread which now gets the baton may pass.
    pub fn quantum(&self) -> u64 {
        match self.policy.get() {
            Policy::Fifo => FIFO_QUANTUM,
            Policy::Random => {
                let scale = self.next() % RANDOM_SCALES;
                1 + self.next() % (1 << scale)
            }
        }
    }

    /// One of `count` threads, of which the first has waited longest.
    pub fn pick(&self, count: usize) -> usize {
        match self.policy.get() {
            Policy::Fifo => 0,
            Policy::Random => (self.next() % count as u64) as usize,
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
