//! The end of a complete file: a block with the index of all others, then a trailer that says
//! where that block is. The trailer's last bytes are the end mark: a file without it was cut.

use crate::error::FooterFault;
use crate::fault::BlockFault;
use crate::frame::{BLOCK_MARK, BlockKind, FRAME_LEN, Frame};
use crate::header::HEADER_LEN;
use crate::tables::ProgramEnd;

/// Length of the trailer in bytes.
pub(crate) const TRAILER_LEN: usize = 28;
/// Last bytes of every complete file.
pub(crate) const END_MARK: [u8; 8] = *b"WITN.END";
/// How the program ended: a number and a status.
const PROGRAM_END_LEN: usize = 8;
/// Offset and frame of a block. The mark of the frame is left out: else a scan that looks for good
/// blocks behind a damaged one would find them all again in the index.
const ENTRY_LEN: usize = 8 + FRAME_LEN - BLOCK_MARK.len();

/// Collects the payload of the footer block while the other blocks are written.
pub(crate) struct IndexBuilder(Vec<u8>);

impl IndexBuilder {
    pub(crate) fn new() -> Self {
        Self(vec![0; PROGRAM_END_LEN])
    }

    pub(crate) fn push(&mut self, offset: u64, frame: &[u8; FRAME_LEN]) {
        self.0.extend(offset.to_le_bytes());
        self.0.extend(&frame[BLOCK_MARK.len()..]);
    }

    /// The payload; the index may have become too long for the length field of a block.
    pub(crate) fn finish(mut self, end: ProgramEnd) -> Option<Vec<u8>> {
        u32::try_from(self.0.len()).ok()?;
        let (number, status) = match end {
            ProgramEnd::Unknown => (0u32, 0),
            ProgramEnd::Exited(status) => (1, status),
            ProgramEnd::Signaled(signal) => (2, signal),
            ProgramEnd::Deadlock => (3, 0),
            ProgramEnd::EventLimit => (4, 0),
            ProgramEnd::TimeLimit => (5, 0),
        };
        self.0[0..4].copy_from_slice(&number.to_le_bytes());
        self.0[4..8].copy_from_slice(&status.to_le_bytes());
        Some(self.0)
    }
}

/// A block as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) frame: Frame,
}

/// Reads the payload of the footer block that begins at `footer_offset`: every entry must be a
/// valid frame, and the blocks must follow one another from the header to the footer.
pub(crate) fn decode(payload: &[u8], footer_offset: u64) -> Result<(ProgramEnd, Vec<Entry>), FooterFault> {
    let length = FooterFault::Length(payload.len());
    let Some((end, entries)) = payload.split_first_chunk::<PROGRAM_END_LEN>() else {
        return Err(length);
    };
    if entries.len() % ENTRY_LEN != 0 {
        return Err(length);
    }
    let status = i32::from_le_bytes([end[4], end[5], end[6], end[7]]);
    let program = match u32::from_le_bytes([end[0], end[1], end[2], end[3]]) {
        0 => ProgramEnd::Unknown,
        1 => ProgramEnd::Exited(status),
        2 => ProgramEnd::Signaled(status),
        3 => ProgramEnd::Deadlock,
        4 => ProgramEnd::EventLimit,
        5 => ProgramEnd::TimeLimit,
        unknown => return Err(FooterFault::UnknownEnd(unknown)),
    };
    let mut index = Vec::with_capacity(entries.len() / ENTRY_LEN);
    let mut order = Order::default();
    for (entry, bytes) in (0..).zip(entries.chunks_exact(ENTRY_LEN)) {
        let (offset, frame) = bytes.split_first_chunk::<8>().expect("an entry begins with an offset");
        let offset = u64::from_le_bytes(*offset);
        if offset != order.offset {
            return Err(FooterFault::Gap { entry });
        }
        let mut whole = [0; FRAME_LEN];
        whole[..BLOCK_MARK.len()].copy_from_slice(&BLOCK_MARK);
        whole[BLOCK_MARK.len()..].copy_from_slice(frame);
        let frame = Frame::decode(&whole)
            .and_then(|frame| match frame.kind {
                BlockKind::Footer => Err(BlockFault::UnknownKind(frame.kind as u16)),
                BlockKind::Tables | BlockKind::Events => Ok(frame),
            })
            .and_then(|frame| order.follow(frame))
            .map_err(|fault| FooterFault::Entry { entry, fault })?;
        index.push(Entry { offset, frame });
    }
    if order.offset != footer_offset {
        return Err(FooterFault::Gap {
            entry: index.len() as u64,
        });
    }
    Ok((program, index))
}

/// Where the next block must begin, in the file and in the order of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) offset: u64,
    pub(crate) events: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            offset: HEADER_LEN as u64,
            events: 0,
        }
    }
}

impl Order {
    /// Steps over a block.
    pub(crate) fn follow(&mut self, frame: Frame) -> Result<Frame, BlockFault> {
        if frame.first_event != self.events {
            return Err(BlockFault::NotInOrder {
                expected: self.events,
                found: frame.first_event,
            });
        }
        // The frame's own bounds exclude an overflow of the events; a length adds 2^33 at most.
        self.events += u64::from(frame.events);
        self.offset = self.offset.saturating_add(frame.block_len());
        Ok(frame)
    }
}

/// The trailer of a file whose footer block begins at `footer_offset`, and of `file_len` bytes.
pub(crate) fn encode_trailer(footer_offset: u64, file_len: u64) -> [u8; TRAILER_LEN] {
    let mut bytes = [0; TRAILER_LEN];
    bytes[0..8].copy_from_slice(&footer_offset.to_le_bytes());
    bytes[8..16].copy_from_slice(&file_len.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..16]);
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    bytes[20..28].copy_from_slice(&END_MARK);
    bytes
}

/// What the last bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trailer {
    /// The file is complete, and its footer begins here.
    Footer(u64),
    /// There is an end mark, and what stands before it is wrong.
    Damaged,
    /// No end mark.
    Absent,
}

/// Reads the trailer of a file, given all of its bytes.
pub(crate) fn decode_trailer(file: &[u8]) -> Trailer {
    if !file.ends_with(&END_MARK) {
        return Trailer::Absent;
    }
    let Some(bytes) = file.last_chunk::<TRAILER_LEN>() else {
        return Trailer::Damaged;
    };
    let u64_at = |at: usize| {
        bytes[at..at + 8]
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    let checksum = crc32c::crc32c(&bytes[..16]).to_le_bytes();
    if checksum != bytes[16..20] || u64_at(8) != file.len() as u64 {
        return Trailer::Damaged;
    }
    Trailer::Footer(u64_at(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_end_comes_back() {
        for end in [
            ProgramEnd::Unknown,
            ProgramEnd::Exited(-1),
            ProgramEnd::Exited(3),
            ProgramEnd::Signaled(9),
            ProgramEnd::Deadlock,
            ProgramEnd::EventLimit,
            ProgramEnd::TimeLimit,
        ] {
            let payload = IndexBuilder::new().finish(end).unwrap();
            assert_eq!(decode(&payload, HEADER_LEN as u64), Ok((end, vec![])));
        }
        let mut payload = IndexBuilder::new().finish(ProgramEnd::Unknown).unwrap();
        payload[0] = 200;
        assert_eq!(decode(&payload, HEADER_LEN as u64), Err(FooterFault::UnknownEnd(200)));
    }

    #[test]
    fn an_index_with_a_gap_is_refused() {
        let payload = IndexBuilder::new().finish(ProgramEnd::Unknown).unwrap();
        assert_eq!(decode(&payload, 21), Err(FooterFault::Gap { entry: 0 }));
        assert_eq!(decode(&payload[..7], 20), Err(FooterFault::Length(7)));
    }

    #[test]
    fn a_trailer_belongs_to_its_file() {
        let mut file = vec![0; 100];
        file.extend(encode_trailer(64, 128));
        assert_eq!(decode_trailer(&file), Trailer::Footer(64));
        assert_eq!(decode_trailer(&file[1..]), Trailer::Damaged);
        assert_eq!(decode_trailer(&file[..127]), Trailer::Absent);
        assert_eq!(decode_trailer(&END_MARK), Trailer::Damaged);
    }
}
