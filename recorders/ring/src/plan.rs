//! What a run is to do: the plan that a program follows under [`Policy::Schedule`](crate::Policy).
//!
//! A plan is a list of steps in the order in which they are to happen. Each is one event of one
//! thread, named as far as the runtime can compare it without knowing the trace: its kind,
//! and the lowest twelve bits of the code position, which are the same wherever the module is
//! loaded. The full comparison is the parent's work. The racing accesses, which are not to happen,
//! stand at the end.

/// The kinds of events.
pub use event_coding::kind;

/// Bits of a code position that do not depend on where its module is loaded.
pub const PC_MASK: u64 = 0xfff;

/// Threads that a plan can name.
pub const MAX_THREADS: u32 = 1 << 19;

/// Words of a step.
pub const WORDS: usize = 2;

/// The words that stand for a [`Step`].
pub type Words = [u64; WORDS];

/// One step of a plan: two words. In the first, from the lowest bit: kind (8 bits), position (12),
/// thread (20), race (1), done (1, the runtime's own mark), 2 unused, other thread (20). The second is
/// the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread, by its number in the trace.
    pub thread: u32,
    /// Its [`kind`].
    pub kind: u8,
    /// The code position's lowest bits, see [`PC_MASK`].
    pub pc: u16,
    /// It is a racing access: its thread is parked before it.
    pub race: bool,
    /// The thread that it creates or wakes, or the one that notes an atomic store for it.
    pub other: Option<u32>,
    /// What it wrote, if it is a write: what came from outside is given to the program again. Of the end of a wait, whether
    /// nobody notified the thread: 1 or 0.
    pub value: u64,
}

const RACE: u64 = 1 << 40;
const DONE: u64 = 1 << 41;

impl Step {
    /// The words that stand for it.
    #[must_use]
    pub fn encode(self) -> Words {
        let other = self.other.map_or(0, |other| u64::from(other) + 1);
        let race = if self.race { RACE } else { 0 };
        let head = u64::from(self.kind)
            | (u64::from(self.pc) & PC_MASK) << 8
            | u64::from(self.thread) << 20
            | race
            | other << 44;
        [head, self.value]
    }

    /// The step that these words stand for.
    #[must_use]
    pub fn decode([word, value]: Words) -> Step {
        Step {
            thread: (word >> 20) as u32 & 0xf_ffff,
            kind: word as u8,
            pc: (word >> 8 & PC_MASK) as u16,
            race: word & RACE != 0,
            other: ((word >> 44) as u32).checked_sub(1),
            value,
        }
    }

    /// Whether an event of this kind at this position is what the step says.
    #[must_use]
    pub fn matches(self, kind: u8, pc: u64) -> bool {
        self.kind == kind && u64::from(self.pc) == pc & PC_MASK
    }
}

/// Whether the step with this first word is marked as done.
#[must_use]
pub fn is_done(word: u64) -> bool {
    word & DONE != 0
}

/// The first word with the mark.
#[must_use]
pub fn done(word: u64) -> u64 {
    word | DONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive() {
        let step = Step {
            thread: MAX_THREADS - 1,
            kind: kind::FORK,
            pc: 0xfff,
            race: true,
            other: Some(MAX_THREADS - 1),
            value: u64::MAX,
        };
        for step in [
            step,
            Step {
                other: None,
                race: false,
                pc: 0,
                thread: 0,
                ..step
            },
        ] {
            let [word, value] = step.encode();
            assert_eq!(Step::decode([word, value]), step);
            assert!(!is_done(word) && is_done(done(word)));
            assert_eq!(Step::decode([done(word), value]), step);
        }
        assert!(step.matches(kind::FORK, 0x5555_5fff) && !step.matches(kind::FORK, 0x5555_5ffe));
    }
}
