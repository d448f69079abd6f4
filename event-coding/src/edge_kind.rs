//! By what edge an access may come from the one before: what is known of it where [`Encoder`](crate::Encoder) is called.

/// The first one, which is expected without doubt, and on which the call stack stays.
pub const PLAIN: u8 = 0;
/// The first one, on which it stays.
pub const FIRST: u8 = 1;
/// The second one, on which it stays.
pub const SECOND: u8 = 2;
/// Any.
pub const ANY: u8 = 3;
