//! Which accesses conflict (`docs/SEMANTICS.md`, section 1).

/// What matters of an access for whether it conflicts with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// It changes memory.
    pub writes: bool,
    /// It is atomic, or the use of an object.
    pub atomic: bool,
    /// It frees the memory.
    pub frees: bool,
    /// It destroys the synchronization object that is there.
    pub destroys: bool,
    /// It is the use of such an object.
    pub uses: bool,
}

impl Part {
    /// Whether two accesses of one cell by different threads conflict.
    #[must_use]
    pub fn conflicts(self, other: Part) -> bool {
        (self.writes || other.writes) && !(self.atomic && other.atomic)
    }

    /// Whether this ends what the other accesses, so that the other must not come behind it: a free ends a block, the
    /// destruction of an object only what is used as that object.
    #[must_use]
    pub fn ends(self, other: Part) -> bool {
        self.frees || self.destroys && other.uses
    }
}
