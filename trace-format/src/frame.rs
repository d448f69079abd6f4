//! A block of the file: a frame of 36 bytes, then the payload.
//!
//! The frame has a checksum of its own beside that of the payload, so its lengths can be believed
//! before the payload is touched, and a scan finds the next block behind a damaged one.

use crate::fault::BlockFault;
use crate::tables_block::MAX_TABLES_BYTES;

/// First bytes of every frame.
pub(crate) const BLOCK_MARK: [u8; 4] = *b"WBLK";
/// Length of a frame in bytes.
pub(crate) const FRAME_LEN: usize = 36;
/// The largest payload of an event block, in bytes before compression.
pub(crate) const MAX_EVENT_BYTES: u32 = 4 << 20;
/// The most events of an event block: it bounds what a reader allocates for one.
pub(crate) const MAX_EVENTS: u32 = 1 << 20;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum BlockKind {
    /// Rows of the side tables.
    Tables = 1,
    /// Events.
    Events = 2,
    /// The index of all other blocks, and how the program ended; the last block.
    Footer = 3,
}

/// How the payload stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Compression {
    /// As it is.
    Stored = 0,
    /// Compressed with the codec of the file's header.
    Compressed = 1,
}

/// What a frame says about its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: BlockKind,
    pub(crate) compression: Compression,
    /// Length of the payload in the file.
    pub(crate) stored_len: u32,
    /// Length of the payload before compression.
    pub(crate) raw_len: u32,
    /// How many events come before the block.
    pub(crate) first_event: u64,
    /// How many events it holds.
    pub(crate) events: u32,
    /// crc32c of the payload as it stands in the file.
    pub(crate) payload_checksum: u32,
}

impl Frame {
    /// Length of the whole block in the file.
    pub(crate) fn block_len(&self) -> u64 {
        FRAME_LEN as u64 + u64::from(self.stored_len)
    }

    pub(crate) fn encode(&self) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        bytes[0..4].copy_from_slice(&BLOCK_MARK);
        bytes[4..6].copy_from_slice(&(self.kind as u16).to_le_bytes());
        bytes[6..8].copy_from_slice(&(self.compression as u16).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stored_len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw_len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_event.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.events.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..32]);
        bytes[32..36].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a frame and checks that all its numbers are in bounds.
    pub(crate) fn decode(bytes: &[u8; FRAME_LEN]) -> Result<Self, BlockFault> {
        if bytes[0..4] != BLOCK_MARK {
            return Err(BlockFault::NoFrame);
        }
        if crc32c::crc32c(&bytes[..32]).to_le_bytes() != bytes[32..36] {
            return Err(BlockFault::FrameChecksum);
        }
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let frame = Self {
            kind: match u16_at(4) {
                1 => BlockKind::Tables,
                2 => BlockKind::Events,
                3 => BlockKind::Footer,
                unknown => return Err(BlockFault::UnknownKind(unknown)),
            },
            compression: match u16_at(6) {
                0 => Compression::Stored,
                1 => Compression::Compressed,
                unknown => return Err(BlockFault::UnknownCompression(unknown)),
            },
            stored_len: u32_at(8),
            raw_len: u32_at(12),
            first_event: u64::from(u32_at(16)) | u64::from(u32_at(20)) << 32,
            events: u32_at(24),
            payload_checksum: u32_at(28),
        };
        frame.check_bounds()?;
        Ok(frame)
    }

    fn check_bounds(&self) -> Result<(), BlockFault> {
        let out_of_bounds = |what, value: u32| {
            Err(BlockFault::OutOfBounds {
                what,
                value: value.into(),
            })
        };
        let largest = match self.kind {
            BlockKind::Tables => MAX_TABLES_BYTES,
            BlockKind::Events => MAX_EVENT_BYTES,
            // It is never compressed, and so bounded by the length of the file.
            BlockKind::Footer => u32::MAX,
        };
        if self.raw_len > largest {
            return out_of_bounds("the payload's length", self.raw_len);
        }
        let stored_len_fits = match self.compression {
            Compression::Stored => self.stored_len == self.raw_len,
            // A writer stores what compression does not make smaller.
            Compression::Compressed => self.stored_len < self.raw_len && self.kind != BlockKind::Footer,
        };
        if !stored_len_fits {
            return out_of_bounds("the payload's length on file", self.stored_len);
        }
        let events_fit = match self.kind {
            BlockKind::Events => (1..=MAX_EVENTS).contains(&self.events),
            BlockKind::Tables | BlockKind::Footer => self.events == 0,
        };
        if !events_fit {
            return out_of_bounds("the number of events", self.events);
        }
        if self.first_event.checked_add(self.events.into()).is_none() {
            return Err(BlockFault::OutOfBounds {
                what: "the first event",
                value: self.first_event,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        kind: BlockKind::Events,
        compression: Compression::Compressed,
        stored_len: 100,
        raw_len: 200,
        first_event: 0x0102_0304_0506,
        events: 50,
        payload_checksum: 0xdead_beef,
    };

    #[test]
    fn comes_back() {
        assert_eq!(Frame::decode(&FRAME.encode()), Ok(FRAME));
    }

    #[test]
    fn numbers_out_of_bounds_are_refused_even_with_a_good_checksum() {
        let bad = [
            Frame {
                raw_len: MAX_EVENT_BYTES + 1,
                ..FRAME
            },
            Frame {
                kind: BlockKind::Tables,
                raw_len: MAX_TABLES_BYTES + 1,
                events: 0,
                ..FRAME
            },
            Frame {
                kind: BlockKind::Tables,
                ..FRAME
            },
            Frame {
                kind: BlockKind::Footer,
                events: 0,
                ..FRAME
            },
            Frame {
                stored_len: 200,
                ..FRAME
            },
            Frame {
                compression: Compression::Stored,
                ..FRAME
            },
            Frame { events: 0, ..FRAME },
            Frame {
                events: MAX_EVENTS + 1,
                ..FRAME
            },
            Frame {
                first_event: u64::MAX,
                ..FRAME
            },
        ];
        for frame in bad {
            let found = Frame::decode(&frame.encode());
            assert!(
                matches!(found, Err(BlockFault::OutOfBounds { .. })),
                "{frame:?}: {found:?}"
            );
        }
    }
}
