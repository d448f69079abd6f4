//! Reads a file that has no end mark: its recording was killed, is still going on, or the file
//! was truncated.
//!
//! Good blocks are taken from the front. What follows the last one decides: if a good block comes
//! somewhere behind it, the file is damaged in the middle, which is an error; if not, the file
//! ends there, and the trace is *cut*. It is never called complete.

use crate::block::{frame_at, stored_payload};
use crate::ending::CutCause;
use crate::fault::BlockFault;
use crate::footer::{Entry, Order, TRAILER_LEN, encode_trailer};
use crate::frame::{BLOCK_MARK, BlockKind, FRAME_LEN, Frame};

/// The good blocks of a file without an end mark.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The blocks, without a footer.
    pub(crate) index: Vec<Entry>,
    /// Where the last one ends.
    pub(crate) offset: u64,
    pub(crate) cause: CutCause,
}

/// Why a file without an end mark is not just cut.
#[derive(Debug)]
pub(crate) enum Unrecoverable {
    /// A bad block stands before good ones, or is bad in a way that no cut explains.
    Block { block: u64, offset: u64, fault: BlockFault },
    /// The footer is whole, and what follows it is not the beginning of the trailer.
    Trailer { offset: u64 },
}

/// Scans a file behind its header.
pub(crate) fn scan(file: &[u8]) -> Result<Recovered, Unrecoverable> {
    let mut order = Order::default();
    let mut index = Vec::new();
    loop {
        let offset = order.offset;
        if offset == file.len() as u64 {
            return Ok(Recovered {
                index,
                offset,
                cause: CutCause::NoFooter,
            });
        }
        let frame = match next_block(file, &mut order) {
            Ok(frame) => frame,
            Err(fault) => {
                if !is_tail(file, offset, &fault) {
                    return Err(Unrecoverable::Block {
                        block: index.len() as u64,
                        offset,
                        fault,
                    });
                }
                return Ok(Recovered {
                    index,
                    offset,
                    cause: tail_cause(file, offset, fault),
                });
            }
        };
        if frame.kind == BlockKind::Footer {
            let cause = after_footer(file, offset, order.offset)?;
            return Ok(Recovered { index, offset, cause });
        }
        index.push(Entry { offset, frame });
    }
}

/// Checks the block where `order` stands, and steps over it.
fn next_block(file: &[u8], order: &mut Order) -> Result<Frame, BlockFault> {
    let offset = order.offset;
    let frame = frame_at(file, offset)?;
    stored_payload(file, Entry { offset, frame })?;
    order.follow(frame)
}

/// Whether a bad block can be the torn end of the file: bytes are missing or are not what was
/// written, and no good block begins behind it.
fn is_tail(file: &[u8], offset: u64, fault: &BlockFault) -> bool {
    match fault {
        BlockFault::Torn { .. } | BlockFault::NoFrame | BlockFault::FrameChecksum | BlockFault::PayloadChecksum => {
            let behind = &file[offset as usize + 1..];
            let mut marks = behind.windows(FRAME_LEN).filter(|bytes| bytes.starts_with(&BLOCK_MARK));
            !marks.any(|bytes| bytes.try_into().is_ok_and(|bytes| Frame::decode(bytes).is_ok()))
        }
        // The checksums are good, so this is what was written.
        _ => false,
    }
}

fn tail_cause(file: &[u8], offset: u64, fault: BlockFault) -> CutCause {
    let tail = &file[offset as usize..];
    if !matches!(fault, BlockFault::Torn { .. }) {
        return CutCause::DamagedTail {
            bytes: tail.len() as u64,
            fault,
        };
    }
    let frame = tail
        .first_chunk::<FRAME_LEN>()
        .and_then(|bytes| Frame::decode(bytes).ok());
    if frame.is_some_and(|frame| frame.kind == BlockKind::Footer) {
        CutCause::TornFooter
    } else {
        CutCause::TornBlock
    }
}

/// Behind a whole footer only a part of the trailer can be missing.
fn after_footer(file: &[u8], footer: u64, end: u64) -> Result<CutCause, Unrecoverable> {
    let rest = &file[end as usize..];
    let trailer = encode_trailer(footer, end + TRAILER_LEN as u64);
    // A whole trailer would have been found in the first place.
    if rest.len() < TRAILER_LEN && trailer.starts_with(rest) {
        Ok(CutCause::TornFooter)
    } else {
        Err(Unrecoverable::Trailer { offset: end })
    }
}
