//! What an argument about a trace may rest on (`docs/SEMANTICS.md`, section 4).

/// What an argument may rest on; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grounds {
    /// The operations that the threads perform, whatever they read and however the scheduler decides.
    Structure,
    /// What happened in this run as well: values read, waits, who initialized what.
    Outcomes,
    /// The places of pinned accesses, too, for the sake of code that was not recorded.
    Pins,
}
