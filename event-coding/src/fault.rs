//! What can be wrong with the bytes of a block.

use core::fmt;

/// Why a payload is not a list of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The payload ends inside an item.
    Truncated,
    /// A token, or the length of a number, with a meaning that is not defined.
    BadToken(u16),
    /// A literal says that the value is neither of the two that it can be.
    BadLiteral(u8),
    /// A kind of event that this version does not have.
    BadShape {
        /// Number of the kind.
        kind: u8,
        /// Its parameter byte.
        parameter: u8,
    },
    /// An event refers to an earlier one of the block that is not there.
    NoSuchSite,
    /// An event of a thread, before the block said which.
    NoThread,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Truncated => write!(f, "the payload ends inside an event"),
            Fault::BadToken(token) => write!(f, "token {token:#06x} has no meaning here"),
            Fault::BadLiteral(number) => write!(f, "literal {number:#04x} has no meaning here"),
            Fault::BadShape { kind, parameter } => {
                write!(f, "event kind {kind} with parameter {parameter:#04x} does not exist")
            }
            Fault::NoSuchSite => write!(f, "the event refers to an earlier event that is not there"),
            Fault::NoThread => write!(f, "the block does not say which thread runs"),
        }
    }
}

impl core::error::Error for Fault {}
