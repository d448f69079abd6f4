//! Which trace it is: a short name for the content of a file.
//!
//! A schedule is only good for the trace that it was made from, so it carries this id. It is
//! FNV-1a with 128 bits over the file header and the frame of every table and event block, in file
//! order. A frame holds the checksum and the length of its payload, so the id is known without
//! reading the payloads. The footer takes no part: a trace that lost nothing but its footer keeps
//! its id. The hash guards against mix-ups, not against forgery.

use std::fmt;
use std::str::FromStr;

/// The identity of a trace's content; shown and parsed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub [u8; 16]);

/// FNV-1a, 128 bits, fed piece by piece.
pub(crate) struct IdentityHash(u128);

impl IdentityHash {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(crate) fn new() -> Self {
        Self(Self::OFFSET_BASIS)
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    pub(crate) fn finish(&self) -> TraceId {
        TraceId(self.0.to_be_bytes())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}

/// A text that is not a [`TraceId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a trace id: 32 hexadecimal digits are expected")]
pub struct ParseTraceIdError(String);

impl FromStr for TraceId {
    type Err = ParseTraceIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `from_str_radix` alone would also take a leading sign.
        let hex = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if hex => Ok(Self(number.to_be_bytes())),
            _ => Err(ParseTraceIdError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_published_test_vectors() {
        let mut hash = IdentityHash::new();
        assert_eq!(hash.finish().to_string(), "6c62272e07bb014262b821756295c58d");
        hash.feed(b"a");
        assert_eq!(hash.finish().to_string(), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn shown_and_parsed_back() {
        let id = TraceId([0x0f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in [
            "",
            "0f",
            "+f0102030405060708090a0b0c0d0eff",
            "zz0102030405060708090a0b0c0d0eff",
        ] {
            assert!(bad.parse::<TraceId>().is_err(), "{bad}");
        }
    }
}
