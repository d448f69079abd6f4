//! What an instruction leaves its function for.

use iced_x86::Register;

/// What an instruction leaves the function for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Nothing,
    /// The runtime, to tell it of an access.
    Telling(Length),
    /// The runtime, for something else.
    Runtime,
    /// Something behind which an access may stand that the runtime was told of before.
    Operation,
    /// Something else, at an address if it is this module's.
    Other(Option<u64>),
    /// A function of a library that reads, unrecorded, what a register points to.
    Reader(Register),
}

/// How many bytes a call tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(u64),
    /// As many as a register says.
    In(Register),
}
