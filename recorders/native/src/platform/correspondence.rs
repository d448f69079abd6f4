//! Numbers that the system gives out, such as those of processes and ports: along a plan the program gets those of the
//! recorded run, and what it says to the system about them is said of those that the system gave out now.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU64, AtomicUsize};

/// Pairs that are remembered; after that, the oldest are forgotten.
const MOST: usize = 4096;

/// Which number of the recorded run is which of this one. Only the thread with the baton adds to it; anybody may look.
pub struct Correspondence {
    /// The recorded number in the upper half, this run's in the lower one.
    pairs: [AtomicU64; MOST],
    count: AtomicUsize,
}

impl Correspondence {
    pub const fn new() -> Correspondence {
        Correspondence {
            pairs: [const { AtomicU64::new(0) }; MOST],
            count: AtomicUsize::new(0),
        }
    }

    /// The pairs, the newest first: a number may be given out again.
    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let count = self.count.load(Acquire);
        let newest_first = (count.saturating_sub(MOST)..count).rev();
        newest_first
            .map(|at| self.pairs[at % MOST].load(Relaxed))
            .map(|pair| ((pair >> 32) as u32, pair as u32))
    }

    /// The system gave out `actual` where it gave out `recorded` then.
    pub fn learn(&self, recorded: u32, actual: u32) {
        if self.actual(recorded) != Some(actual) || self.recorded(actual) != Some(recorded) {
            let at = self.count.load(Relaxed);
            self.pairs[at % MOST].store(u64::from(recorded) << 32 | u64::from(actual), Relaxed);
            self.count.store(at + 1, Release);
        }
    }

    /// This run's number for one that the program knows from the recorded run.
    pub fn actual(&self, recorded: u32) -> Option<u32> {
        self.pairs().find(|pair| pair.0 == recorded).map(|pair| pair.1)
    }

    /// The recorded run's number for one of this run.
    pub fn recorded(&self, actual: u32) -> Option<u32> {
        self.pairs().find(|pair| pair.1 == actual).map(|pair| pair.0)
    }
}
