//! What a run is to do: the plan that a program follows.
//!
//! A plan is a list of steps in the order in which they are to happen. Each is one event of one
//! thread, named as far as the runtime can compare it without knowing the trace: its kind,
//! and the lowest twelve bits of the code position, which are the same wherever the module is
//! loaded. The full comparison is the parent's work.
//!
//! Under [`Policy::Schedule`](crate::Policy) the run ends with the plan: before the racing accesses, which are not to
//! happen and stand at the end, or where the program leaves the plan. Under any other policy the plan is the beginning
//! of the run alone: from its end, or from where it was left, the run goes on under that policy.

/// The kinds of events.
pub use event_coding::kind;

/// Bits of a code position that do not depend on where its module is loaded.
pub const PC_MASK: u64 = 0xfff;

/// Threads of a run that a plan can name, and the recorder sends.
pub const MAX_THREADS: u32 = 1 << 19;

/// Words of a step.
pub const WORDS: usize = 2;

/// Sources of signals that come from outside of the program begin here: each thread has one for those that come while
/// it waits, and another one for all others.
pub const SIGNALS: u64 = 0b1111 << 60;

/// The bit of a source of signals which says that the thread waits.
pub const WAITS: u64 = 1 << 59;

/// A signal that comes to a thread from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Which.
    pub number: u32,
    /// The thread waits, in a call of the system or for another thread; else it is at a hook.
    pub waits: bool,
}

impl Signal {
    const WAITS: u32 = 1 << 8;

    /// As [`Step::other`].
    #[must_use]
    pub fn encode(self) -> u32 {
        self.number | if self.waits { Self::WAITS } else { 0 }
    }

    fn decode(word: u32) -> Signal {
        Signal {
            number: word & (Self::WAITS - 1),
            waits: word & Self::WAITS != 0,
        }
    }
}

/// The words that stand for a [`Step`].
pub type Words = [u64; WORDS];

/// One step of a plan: two words. In the first, from the lowest bit: kind (8 bits), position (12),
/// thread (20), race (1), done (1, the runtime's own mark), any position (1), any value (1), other thread (20). The
/// second is the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread, by its number in the trace.
    pub thread: u32,
    /// Its [`kind`].
    pub kind: u8,
    /// The code position's lowest bits, see [`PC_MASK`]; `None` for an event at any position.
    pub pc: Option<u16>,
    /// It is a racing access: its thread is parked before it.
    pub race: bool,
    /// The thread that it creates or wakes, or the one that notes an atomic store for it. If none is named, a new
    /// thread gets the next number, and the policy says who wakes. Of an input, the [`Signal`] that it is, if it is
    /// one.
    pub other: Option<u32>,
    /// What it wrote, if it is a write: what came from outside is given to the program again. Of the end of a wait,
    /// whether nobody notified the thread: 1 or 0. Of an atomic load or store of a variable of the recorder's own, where
    /// that is, if it is told. `None` if that is left to the run.
    pub value: Option<u64>,
}

const RACE: u64 = 1 << 40;
const DONE: u64 = 1 << 41;
const ANYWHERE: u64 = 1 << 42;
const ANY_VALUE: u64 = 1 << 43;

impl Step {
    /// The words that stand for it.
    #[must_use]
    pub fn encode(self) -> Words {
        let other = self.other.map_or(0, |other| u64::from(other) + 1);
        let flag = |set, bit| if set { bit } else { 0 };
        let head = u64::from(self.kind)
            | (u64::from(self.pc.unwrap_or(0)) & PC_MASK) << 8
            | u64::from(self.thread) << 20
            | flag(self.race, RACE)
            | flag(self.pc.is_none(), ANYWHERE)
            | flag(self.value.is_none(), ANY_VALUE)
            | other << 44;
        [head, self.value.unwrap_or(0)]
    }

    /// The step that these words stand for.
    #[must_use]
    pub fn decode([word, value]: Words) -> Step {
        Step {
            thread: (word >> 20) as u32 & 0xf_ffff,
            kind: word as u8,
            pc: (word & ANYWHERE == 0).then_some((word >> 8 & PC_MASK) as u16),
            race: word & RACE != 0,
            other: ((word >> 44) as u32).checked_sub(1),
            value: (word & ANY_VALUE == 0).then_some(value),
        }
    }

    /// Whether an event of this kind at this position is what the step says.
    #[must_use]
    pub fn matches(self, kind: u8, pc: u64) -> bool {
        self.kind == kind && self.is_at(pc)
    }

    /// Whether an event of this kind at this position is what the step may turn out to be. The C library may refuse to
    /// destroy an object that somebody holds, and then it is a plain write; explorations know it as one in any case.
    #[must_use]
    pub fn may_turn_out(self, kind: u8, pc: u64) -> bool {
        const DESTROYS: [u8; 2] = [kind::DESTROY, kind::WRITE];
        self.is_at(pc) && (self.kind == kind || DESTROYS.contains(&self.kind) && DESTROYS.contains(&kind))
    }

    /// The signal that comes to the thread from outside, if that is what happens.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        self.other.filter(|_| self.kind == kind::INPUT).map(Signal::decode)
    }

    /// Whether an event at this position can be what the step says.
    #[must_use]
    pub fn is_at(self, pc: u64) -> bool {
        self.pc.is_none_or(|known| u64::from(known) == pc & PC_MASK)
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
            pc: Some(0xfff),
            race: true,
            other: Some(MAX_THREADS - 1),
            value: Some(u64::MAX),
        };
        let anywhere = Step {
            pc: None,
            value: None,
            ..step
        };
        for step in [
            step,
            anywhere,
            Step {
                other: None,
                race: false,
                pc: Some(0),
                thread: 0,
                ..step
            },
        ] {
            let [word, value] = step.encode();
            assert_eq!(Step::decode([word, value]), step);
            assert!(!is_done(word) && is_done(done(word)));
            assert_eq!(Step::decode([done(word), value]), step);
        }
        assert_eq!(step.signal(), None);
        for waits in [false, true] {
            let signal = Signal { number: 64, waits };
            let step = Step {
                kind: kind::INPUT,
                other: Some(signal.encode()),
                ..step
            };
            assert_eq!(Step::decode(step.encode()).signal(), Some(signal));
        }
        assert!(step.matches(kind::FORK, 0x5555_5fff) && !step.matches(kind::FORK, 0x5555_5ffe));
        assert!(anywhere.matches(kind::FORK, 0x5555_5ffe) && !anywhere.matches(kind::JOIN, 0x5555_5ffe));
    }
}
