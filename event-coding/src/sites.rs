//! The instructions of a block, and what each did last.

use crate::fault::Fault;
use crate::shape::Shape;

/// The most sites of a block, the empty one included; a power of two.
pub const MAX_SITES: usize = 4096;

/// Index of a site of the block, in order of first appearance, from 1. Site 0 is none: it comes
/// before a thread's first event of the block.
pub(crate) type SiteIndex = u16;

/// How the place of a site's next event is predicted.
pub(crate) mod place_mode {
    /// The site's last place, and the stride.
    pub const STRIDE: u8 = 0;
    /// At a distance from the address that the thread used last.
    pub const RELATIVE: u8 = 1;
    /// At a distance from where the value that the thread read last points to.
    pub const POINTER: u8 = 2;
    /// 3: the site's last place.
    pub const COUNT: u8 = 4;
}

/// How its value is predicted.
pub(crate) mod value_mode {
    /// What memory holds; if that is not known, the site's last value.
    pub const MEMORY: u8 = 0;
    /// The site's last value, and a step.
    pub const STRIDE: u8 = 1;
    /// The value that the thread read last, and a step.
    pub const RECENT: u8 = 2;
    /// 3: the one that it read before that, and a step.
    pub const COUNT: u8 = 4;
}

/// An instruction. What the common path needs fills one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Site {
    pub(crate) pc: u64,
    /// [`Shape::code`]; 0 for no site.
    pub(crate) shape: u16,
    /// The site of the event that came next in the same thread, by habit and as an alternative.
    pub(crate) next: SiteIndex,
    pub(crate) other: SiteIndex,
    pub(crate) place_mode: u8,
    pub(crate) value_mode: u8,
    /// The call stack of its last event.
    pub(crate) stack: u32,
    /// Whether the call stack changed on the way to `next`, and to `other`.
    pub(crate) next_moves: bool,
    pub(crate) other_moves: bool,
    /// `next` was wrong the last time.
    pub(crate) doubted: bool,
    /// Of its last event.
    pub(crate) place: u64,
    pub(crate) value: u64,
    /// By mode; mode 3 has none.
    pub(crate) place_steps: [u64; 3],
    /// By mode; that of `MEMORY` is 0.
    pub(crate) value_steps: [u64; 4],
    /// From the value to what is written.
    pub(crate) written_step: u64,
    /// Place and value of its last event that was not as predicted.
    pub(crate) place_anchor: u64,
    pub(crate) value_anchor: u64,
}

impl Site {
    pub(crate) const NONE: Site = Site {
        pc: 0,
        shape: 0,
        next: 0,
        other: 0,
        place_mode: 0,
        value_mode: 0,
        stack: 0,
        next_moves: false,
        other_moves: false,
        doubted: false,
        place: 0,
        value: 0,
        place_steps: [0; 3],
        value_steps: [0; 4],
        written_step: 0,
        place_anchor: 0,
        value_anchor: 0,
    };
}

/// The sites of a block.
#[derive(Clone, Debug)]
pub struct Sites {
    sites: [Site; MAX_SITES],
    /// Those in use beyond site 0.
    known: SiteIndex,
}

impl Sites {
    /// None; all of it is zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            sites: [Site::NONE; MAX_SITES],
            known: 0,
        }
    }

    pub(crate) fn forget(&mut self) {
        self.sites[0] = Site::NONE;
        self.known = 0;
    }

    #[inline(always)]
    pub(crate) fn at(&self, index: SiteIndex) -> &Site {
        // The remainder changes no index; it spares the check.
        &self.sites[usize::from(index) % MAX_SITES]
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: SiteIndex) -> &mut Site {
        &mut self.sites[usize::from(index) % MAX_SITES]
    }

    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.known) + 1 == MAX_SITES
    }

    /// Adds a site, for which there must be room.
    pub(crate) fn add(&mut self, pc: u64, shape: Shape) -> SiteIndex {
        self.known += 1;
        *self.at_mut(self.known) = Site {
            pc,
            shape: shape.code(),
            value_mode: if shape.slots().is_some_and(|slots| slots.reads) {
                value_mode::MEMORY
            } else {
                value_mode::STRIDE
            },
            ..Site::NONE
        };
        self.known
    }

    /// An index that comes from a file.
    pub(crate) fn check(&self, index: SiteIndex) -> Result<SiteIndex, Fault> {
        if (1..=self.known).contains(&index) {
            Ok(index)
        } else {
            Err(Fault::NoSuchSite)
        }
    }
}

impl Default for Sites {
    fn default() -> Self {
        Self::new()
    }
}
