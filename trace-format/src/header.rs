//! The header: the first 20 bytes of a trace file, and the version of the format as a type.
//!
//! The layout of these bytes is the same in every version, so that any reader can say which side
//! is too old instead of "damaged".

use crate::error::ReadError;
use std::fmt;

/// A version of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion(pub u16);

impl FormatVersion {
    /// The version that this crate writes, and the newest that it reads.
    pub const CURRENT: FormatVersion = FormatVersion(16);
    /// The oldest version that this crate reads. Traces of version 13 do not say which waits have a limit in time, so
    /// what is predicted to lie behind a lock may lie behind its destruction.
    pub const OLDEST: FormatVersion = FormatVersion(16);
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// First bytes of every trace. The first one is not ASCII, so that no text file begins like this.
pub(crate) const MAGIC: [u8; 8] = *b"\x89WITNESS";
/// Length of the header in bytes.
pub(crate) const HEADER_LEN: usize = 20;
/// The compression of compressed blocks: zstd (RFC 8878).
const CODEC_ZSTD: u32 = 1;
/// No flags are defined so far.
const FLAGS: u16 = 0;

/// The header that this version writes.
pub(crate) fn encode() -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&FormatVersion::CURRENT.0.to_le_bytes());
    bytes[10..12].copy_from_slice(&FLAGS.to_le_bytes());
    bytes[12..16].copy_from_slice(&CODEC_ZSTD.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..16]);
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Checks that `bytes` begins with the header of a version that can be read.
pub(crate) fn check(file: &str, bytes: &[u8]) -> Result<(), ReadError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(ReadError::NotATrace { file: file.to_owned() });
    }
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(ReadError::NoHeader {
            file: file.to_owned(),
            length: bytes.len() as u64,
        });
    };
    // The checksum comes first: a flipped bit in the version must not read as "too new".
    if crc32c::crc32c(&header[..16]).to_le_bytes() != header[16..20] {
        return Err(ReadError::DamagedHeader { file: file.to_owned() });
    }
    let found = FormatVersion(u16::from_le_bytes([header[8], header[9]]));
    if found > FormatVersion::CURRENT {
        return Err(ReadError::TooNew {
            file: file.to_owned(),
            found,
            newest: FormatVersion::CURRENT,
        });
    }
    if found < FormatVersion::OLDEST {
        return Err(ReadError::TooOld {
            file: file.to_owned(),
            found,
            oldest: FormatVersion::OLDEST,
        });
    }
    let flags = u16::from_le_bytes([header[10], header[11]]);
    if flags != FLAGS {
        return Err(ReadError::UnknownFlags {
            file: file.to_owned(),
            flags,
        });
    }
    let codec = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    if codec != CODEC_ZSTD {
        return Err(ReadError::UnknownCodec {
            file: file.to_owned(),
            codec,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(range: std::ops::Range<usize>, new: &[u8]) -> [u8; HEADER_LEN] {
        let mut bytes = encode();
        bytes[range].copy_from_slice(new);
        let checksum = crc32c::crc32c(&bytes[..16]);
        bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn says_which_side_is_too_old() {
        assert!(check("t", &encode()).is_ok());
        let version = |version: FormatVersion| check("t", &with(8..10, &version.0.to_le_bytes()));
        let (next, last) = (
            FormatVersion(FormatVersion::CURRENT.0 + 1),
            FormatVersion(FormatVersion::OLDEST.0 - 1),
        );
        let newer = version(next).unwrap_err();
        assert!(matches!(newer, ReadError::TooNew { found, .. } if found == next));
        assert!(newer.to_string().contains("this program is too old"), "{newer}");
        let older = version(last).unwrap_err();
        assert!(matches!(older, ReadError::TooOld { found, .. } if found == last));
        assert!(older.to_string().contains("the file is too old"), "{older}");
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(matches!(
            check("t", &with(10..12, &[1, 0])),
            Err(ReadError::UnknownFlags { flags: 1, .. })
        ));
        assert!(matches!(
            check("t", &with(12..16, &[9, 0, 0, 0])),
            Err(ReadError::UnknownCodec { codec: 9, .. })
        ));
        assert!(matches!(check("t", b"T0|r(x)|1"), Err(ReadError::NotATrace { .. })));
    }

    #[test]
    fn a_damaged_version_is_not_a_newer_one() {
        let mut bytes = encode();
        bytes[9] ^= 1;
        assert!(matches!(check("t", &bytes), Err(ReadError::DamagedHeader { .. })));
    }

    #[test]
    fn a_file_cut_in_the_header_says_so() {
        for length in 0..HEADER_LEN {
            assert!(
                matches!(check("t", &encode()[..length]), Err(ReadError::NoHeader { .. })),
                "{length}"
            );
        }
    }
}
