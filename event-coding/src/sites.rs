//! The instructions of a block, and what each did last.

use crate::edge_kind;
use crate::fault::Fault;
use crate::shape::Shape;

/// The most sites of a block, with site 0 and the last one, which is none; a power of two.
pub const MAX_SITES: usize = 4096;

/// The site of a thread that is not the one that runs: it never has an edge.
pub(crate) const NOWHERE: SiteIndex = SiteIndex::new(MAX_SITES as u16 - 1);

/// Index of a site of the block, in order of first appearance, from 1. Site 0 is none: it comes
/// before a thread's first event of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SiteIndex(u16);

impl SiteIndex {
    pub(crate) const NONE: SiteIndex = SiteIndex(0);
    /// A number is kept as many times larger: no bit is left that could point beyond the table, and what it is to be
    /// multiplied with to find a site is small enough for the processor to do as it forms the address.
    const SCALE: u16 = ((1 << 16) / MAX_SITES) as u16;

    /// The index with this number, of which bits that are too high are lost.
    #[inline(always)]
    pub(crate) const fn new(number: u16) -> SiteIndex {
        SiteIndex(number.wrapping_mul(Self::SCALE))
    }

    #[inline(always)]
    pub(crate) const fn number(self) -> u16 {
        self.0 / Self::SCALE
    }
}

/// How the target of a site's next event is predicted.
pub(crate) mod target_mode {
    /// The site's last target, and the stride of the edge to it.
    pub const STRIDE: u8 = 0;
    /// At a distance from the address that the thread used last.
    pub const RELATIVE: u8 = 1;
    /// At a distance from where the value that the thread read last points to.
    pub const POINTER: u8 = 2;
    /// 3: the site's last target.
    pub const COUNT: u8 = 4;
    /// Not at all: the distance from the site's last target is a literal, a signed byte.
    pub const LITERAL_SHORT: u8 = 4;
    /// The same in four bytes.
    pub const LITERAL_LONG: u8 = 5;
}

/// How its value is predicted.
pub(crate) mod value_mode {
    /// What memory holds; for what is no access, the site's last value.
    pub const MEMORY: u8 = 0;
    /// The site's last value, and a step.
    pub const STRIDE: u8 = 1;
    /// The value that the thread read last, and a step.
    pub const RECENT: u8 = 2;
    /// The one that it read before that, and a step.
    pub const EARLIER: u8 = 3;
    pub const COUNT: u8 = 4;
    /// Not at all: it is a literal.
    pub const LITERAL: u8 = 4;
    /// The same of all bytes but the highest one, which memory holds.
    pub const LITERAL_LOW: u8 = 5;
    /// One of the two values that the thread read last; which of them is a literal.
    pub const LITERAL_CHOICE: u8 = 6;
}

/// An instruction. What the common path needs fills one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Site {
    pub(crate) pc: u64,
    /// [`Shape::code`]; 0 for no site.
    pub(crate) shape: u16,
    pub(crate) target_mode: u8,
    pub(crate) value_mode: u8,
    /// The call stack of its last event.
    pub(crate) stack: u32,
    /// The edges to the events that come next in the same thread, and which was taken when.
    pub(crate) edges: [Edge; 2],
    pub(crate) branches: BranchHistory,
    /// Its events so far.
    pub(crate) count: u32,
    /// Of its last event.
    pub(crate) target: u64,
    pub(crate) value: u64,
    /// Of modes 1 and 2. That of mode 0 belongs to the edge, mode 3 has none. While targets are literals, the first is
    /// the last distance.
    pub(crate) target_steps: [u64; 2],
    /// Of modes 1 to 3.
    pub(crate) value_steps: [u64; 3],
    /// From the value to what is written.
    pub(crate) written_step: u64,
    /// The value of its last event whose value was not as predicted.
    pub(crate) value_anchor: u64,
    pub(crate) target_record: Record,
    pub(crate) value_record: Record,
}

/// Two lines of the processor's cache.
const _: () = assert!(size_of::<Site>() == 128);

impl Site {
    pub(crate) const NONE: Site = Site {
        pc: 0,
        shape: 0,
        target_mode: 0,
        value_mode: 0,
        stack: 0,
        edges: [Edge::NONE; 2],
        branches: BranchHistory(0),
        count: 0,
        target: 0,
        value: 0,
        target_steps: [0; 2],
        value_steps: [0; 3],
        written_step: 0,
        value_anchor: 0,
        target_record: Record::NONE,
        value_record: Record::NONE,
    };

    /// Shape and modes in one number, which is one load.
    #[inline(always)]
    pub(crate) fn form(&self) -> u32 {
        u32::from(self.shape) | u32::from(self.target_mode) << 16 | u32::from(self.value_mode) << 24
    }

    /// That of a site whose target goes on by a stride, and whose value memory holds.
    #[inline(always)]
    pub(crate) const fn usual_form(shape: Shape) -> u32 {
        shape.code() as u32 | (target_mode::STRIDE as u32) << 16 | (value_mode::MEMORY as u32) << 24
    }
}

/// How well the target, or the value, of a site's events is predicted: whether that is worth it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// The site's count at the last event that was not as predicted, modulo 2^16.
    missed_at: u16,
    /// How many of these came close to one another, the last ones in a row.
    misses: u8,
    /// While nothing is predicted: how many events in a row would have been as predicted.
    right: u8,
}

impl Record {
    const NONE: Record = Record {
        missed_at: 0,
        misses: 0,
        right: 0,
    };
    /// So many events of the site from one miss to the next are close.
    const CLOSE: u16 = 4;
    /// So many in a row, and predicting is given up.
    const MANY: u8 = 16;
    /// So many that would have been right, and it is taken up again.
    const ENOUGH: u8 = 32;

    /// The site's event number `count` was not as predicted. Whether predicting is to be given up.
    pub(crate) fn miss(&mut self, count: u32) -> bool {
        let close = (count as u16).wrapping_sub(self.missed_at) <= Self::CLOSE;
        self.missed_at = count as u16;
        self.misses = if close { self.misses + 1 } else { 0 };
        let many = self.misses == Self::MANY;
        if many {
            (self.misses, self.right) = (0, 0);
        }
        many
    }

    /// Nothing was predicted of an event; whether it would have been right. Whether predicting is to be taken up again.
    #[inline(always)]
    pub(crate) fn unpredicted(&mut self, right: bool) -> bool {
        // No branch: nothing is predicted here because it cannot be, by the processor neither.
        self.right = (self.right + 1) & u8::from(right).wrapping_neg();
        self.right == Self::ENOUGH
    }
}

/// From one site to the next in the same thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// How far the target of `site` moves along this edge, by the branch that the thread took last: loops
    /// within loops have a stride for each.
    pub(crate) strides: [i32; 2],
    /// [`SiteIndex::NONE`] for no edge.
    pub(crate) site: SiteIndex,
    /// Whether the call stack changes.
    pub(crate) moves: bool,
    /// A bit for each stride that was wrong the last time.
    pub(crate) doubts: u8,
}

impl Edge {
    /// No edge.
    pub(crate) const NONE: Edge = Edge {
        strides: [0; 2],
        site: SiteIndex::NONE,
        moves: false,
        doubts: 0,
    };

    /// The stride after `branch` was wrong. Once may be the end of a loop.
    pub(crate) fn learn(&mut self, branch: bool, stride: i32) {
        let doubt = 1 << u8::from(branch);
        if self.doubts & doubt != 0 || self.strides[usize::from(branch)] == 0 {
            self.strides[usize::from(branch)] = stride;
            self.doubts &= !doubt;
        } else {
            self.doubts |= doubt;
        }
    }
}

/// Which of two edges comes next: an adaptive predictor of two levels (Yeh, Patt, MICRO 1991) for one
/// site, with a history of three branches. Bits 0–2: the last ones; bit 3: there are two edges; bit 4: on edge 0 the
/// call stack changes; bits 8–15: what comes after each history; bits 16–23: whether that was wrong the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct BranchHistory(u32);

impl BranchHistory {
    /// The last branches were all edge 0, which is expected again, without doubt: confirming it changes nothing. That
    /// is how sites with one edge are, and loops.
    const STEADY: u32 = 7 | 1 << 8 | 1 << 16;

    const DOUBTS: u32 = 0xff << 16;

    const FORKS: u32 = 8;
    const MOVES: u32 = 16;

    /// Steady, and the call stack stays on edge 0: there is nothing else to ask.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (Self::STEADY | Self::MOVES) == 0
    }

    #[inline(always)]
    pub(crate) fn is_steady(self) -> bool {
        self.0 & Self::STEADY == 0
    }

    #[inline(always)]
    fn pattern(self) -> u32 {
        self.0 & 7
    }

    /// The edge that is expected.
    #[inline(always)]
    pub(crate) fn expected(self) -> usize {
        (self.0 >> (8 + self.pattern()) & 1) as usize
    }

    /// The same by a branch, which the processor predicts, and not by a choice, for which it would wait.
    #[inline(always)]
    pub(crate) fn foreseen(self) -> usize {
        if self.is_steady() || self.expected() == 0 {
            0
        } else {
            unlikely();
            1
        }
    }

    /// The edge that is expected, of which it is known that it is of that kind.
    #[inline(always)]
    pub(crate) fn edge_of_kind(self, kind: u8) -> usize {
        match kind {
            edge_kind::PLAIN | edge_kind::FIRST => 0,
            edge_kind::SECOND => 1,
            _ => self.foreseen(),
        }
    }

    /// Whether the second edge is expected.
    #[inline(always)]
    #[must_use]
    pub fn expects_second(self) -> bool {
        self.expected() != 0
    }

    /// It was that one.
    #[inline(always)]
    pub(crate) fn confirm(&mut self) -> usize {
        let edge = self.expected();
        *self = self.confirmed(edge);
        edge
    }

    /// The same, where it is known which one that was.
    #[inline(always)]
    pub(crate) fn confirmed(self, edge: usize) -> BranchHistory {
        let mut branches = self;
        if self.0 & Self::DOUBTS != 0 {
            unlikely();
            branches.0 &= !(1 << (16 + self.pattern()));
        }
        branches.push(edge);
        branches
    }

    /// It was the other one. Once may be the end of a loop; twice in a row is a habit.
    pub(crate) fn refute(&mut self) -> usize {
        let edge = 1 - self.expected();
        let doubt = 1 << (16 + self.pattern());
        if self.0 & doubt != 0 {
            self.0 ^= 1 << (8 + self.pattern());
        }
        self.0 ^= doubt;
        self.push(edge);
        edge
    }

    /// There is a second edge from now on.
    pub(crate) fn fork(&mut self) {
        self.0 |= Self::FORKS;
    }

    /// Whether the call stack changes on edge 0.
    pub(crate) fn set_moves(&mut self, moves: bool) {
        self.0 = self.0 & !Self::MOVES | if moves { Self::MOVES } else { 0 };
    }

    /// Whether there are two edges.
    #[inline(always)]
    pub(crate) fn forks(self) -> bool {
        self.0 & Self::FORKS != 0
    }

    /// The branch that the thread took last, if it was `before` until it left this site by `edge`.
    #[inline(always)]
    pub(crate) fn taken(self, before: bool, edge: usize) -> bool {
        if self.forks() { edge != 0 } else { before }
    }

    #[inline(always)]
    fn push(&mut self, edge: usize) {
        self.0 = self.0 & !7 | (self.0 << 1 | edge as u32) & 7;
    }
}

/// Marks the branch to here as the less frequent one.
#[cold]
pub(crate) fn unlikely() {}

/// The sites of a block.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sites {
    sites: [Site; MAX_SITES],
    /// Those in use beyond site 0.
    known: u16,
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
        &self.sites[usize::from(index.number())]
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: SiteIndex) -> &mut Site {
        &mut self.sites[usize::from(index.number())]
    }

    pub(crate) fn is_full(&self) -> bool {
        self.known + 1 == NOWHERE.number()
    }

    /// Adds a site, for which there must be room.
    pub(crate) fn add(&mut self, pc: u64, shape: Shape) -> SiteIndex {
        self.known += 1;
        let index = SiteIndex::new(self.known);
        *self.at_mut(index) = Site {
            pc,
            shape: shape.code(),
            value_mode: if shape.slots().is_some_and(|slots| slots.reads) {
                value_mode::MEMORY
            } else {
                value_mode::STRIDE
            },
            ..Site::NONE
        };
        index
    }

    /// A number that comes from a file.
    pub(crate) fn check(&self, number: u16) -> Result<SiteIndex, Fault> {
        if (1..=self.known).contains(&number) {
            Ok(SiteIndex::new(number))
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
