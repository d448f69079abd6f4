//! The access that a thread is about to make, for whoever decides whether it may.

use core::slice;
use recorder_ring::plan::{Step, kind};

/// The kind of an atomic comparison: a load or a read-modify-write, as its moment will have it.
pub const COMPARISON: u8 = 0xff;
/// The kind of ending a block or closing a descriptor: its end if it is there then, else a use.
pub const CLOSING: u8 = 0xfe;
/// How many bytes the end of a block uses that is none.
const USED: usize = 4;

/// One operation of the program, which nobody can stop half-way.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    /// Its accesses, in the order of their events; the second one's size is 0 if there is one only.
    pub accesses: [Access; 2],
}

/// An access of any length.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The code position.
    pub pc: usize,
    /// The kind of its records.
    pub kind: u8,
    /// The first byte.
    pub addr: usize,
    /// How many there are; 0 if it is no access.
    pub size: usize,
    /// It is recorded in pieces, however short it is.
    pub pieces: bool,
}

impl Access {
    const NONE: Access = Access::one(0, 0, 0, 0);

    /// An access that is one event if it is not longer than 8 bytes.
    #[must_use]
    pub const fn one(pc: usize, kind: u8, addr: usize, size: usize) -> Access {
        Access {
            pc,
            kind,
            addr,
            size,
            pieces: size > 8,
        }
    }

    /// An access that is cut at multiples of 8.
    #[must_use]
    pub const fn cut(pc: usize, kind: u8, addr: usize, size: usize) -> Access {
        Access {
            pc,
            kind,
            addr,
            size,
            pieces: true,
        }
    }

    /// Whether its events can be what the step says.
    pub fn may_be(&self, step: Step) -> bool {
        let kinds: &[u8] = match &self.kind {
            &COMPARISON => &[kind::ATOMIC_LOAD, kind::ATOMIC_RMW],
            &CLOSING => &[kind::FREE, kind::WRITE, kind::USE],
            // It may fail, or be known as the write that it is.
            &kind::DESTROY => &[kind::DESTROY, kind::WRITE, kind::USE],
            kind => slice::from_ref(kind),
        };
        kinds.iter().any(|&kind| step.matches(kind, self.pc as u64))
    }

    /// How many events it is.
    fn events(&self) -> usize {
        match self.size {
            0 => 0,
            // The end of a block is one event, whatever the block's size.
            _ if !self.pieces => 1,
            size => (self.addr + size).div_ceil(8) - self.addr / 8,
        }
    }
}

impl Intent {
    /// No access.
    pub const NONE: Intent = Intent {
        accesses: [Access::NONE; 2],
    };

    /// One access.
    #[must_use]
    pub const fn of(access: Access) -> Intent {
        Intent {
            accesses: [access, Access::NONE],
        }
    }

    /// Two accesses.
    #[must_use]
    pub const fn both(first: Access, second: Access) -> Intent {
        Intent {
            accesses: [first, second],
        }
    }

    /// The end of a block.
    #[must_use]
    pub const fn free(pc: usize, block: usize) -> Intent {
        Intent::of(Access {
            pc,
            kind: CLOSING,
            addr: block,
            size: USED,
            pieces: false,
        })
    }

    /// A fence, which accesses nothing.
    #[must_use]
    pub const fn fence(pc: usize) -> Intent {
        Intent::of(Access::one(pc, kind::FENCE, 0, 0))
    }

    /// The code position of a fence.
    #[must_use]
    pub fn position_of_fence(&self) -> Option<usize> {
        let [first, _] = &self.accesses;
        (first.kind == kind::FENCE).then_some(first.pc)
    }

    /// The access that its event number `at` belongs to, if it has so many.
    pub fn access_of_event(&self, mut at: usize) -> Option<&Access> {
        for access in &self.accesses {
            if at < access.events() {
                return Some(access);
            }
            at -= access.events();
        }
        None
    }
}
