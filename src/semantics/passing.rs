//! What an operation does with the knowledge that is kept at its object.

/// Whose knowledge is kept at an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Among {
    /// Those that gave something: they gave back the lock, posted, arrived, initialized, sent something out.
    Givers,
    /// Readers that gave a lock back. Only who takes it alone waits for them.
    Readers,
    /// Those that took something, a lock or a permit: they are why nothing was left for others.
    Takers,
}

/// One step of what an operation does with what is known at its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Its thread learns what these knew.
    Learns(Among),
    /// Its thread is one of these, with all that it knows now.
    Tells(Among),
}
