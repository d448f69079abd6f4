//! Reads a block from the bytes of a file: frame, checksums, decompression.

use crate::fault::BlockFault;
use crate::footer::Entry;
use crate::frame::{Compression, FRAME_LEN, Frame};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use zstd::bulk::Decompressor;

/// The frame at `offset`, whose block lies within the file.
pub(crate) fn frame_at(file: &[u8], offset: u64) -> Result<Frame, BlockFault> {
    let rest = rest(file, offset);
    let left = rest.len() as u64;
    let bytes = rest.first_chunk::<FRAME_LEN>().ok_or(BlockFault::Torn {
        needed: FRAME_LEN as u64,
        left,
    })?;
    let frame = Frame::decode(bytes)?;
    if frame.block_len() > left {
        return Err(BlockFault::Torn {
            needed: frame.block_len(),
            left,
        });
    }
    Ok(frame)
}

/// The payload of a block as it stands in the file, checked against its checksum.
pub(crate) fn stored_payload(file: &[u8], entry: Entry) -> Result<&[u8], BlockFault> {
    let rest = rest(file, entry.offset);
    let torn = BlockFault::Torn {
        needed: entry.frame.block_len(),
        left: rest.len() as u64,
    };
    let payload = rest
        .get(FRAME_LEN..FRAME_LEN + entry.frame.stored_len as usize)
        .ok_or(torn)?;
    if crc32c::crc32c(payload) != entry.frame.payload_checksum {
        return Err(BlockFault::PayloadChecksum);
    }
    Ok(payload)
}

/// The payload of a block before compression.
pub(crate) fn payload(file: &[u8], entry: Entry) -> Result<Cow<'_, [u8]>, BlockFault> {
    // The index of a complete file has a copy of each frame; the frame itself must agree with it.
    if !rest(file, entry.offset).starts_with(&entry.frame.encode()) {
        return Err(BlockFault::NotAsIndexed);
    }
    let stored = stored_payload(file, entry)?;
    match entry.frame.compression {
        Compression::Stored => Ok(Cow::Borrowed(stored)),
        Compression::Compressed => {
            // `raw_len` is in bounds, and zstd writes no more than that, whatever the payload says.
            let raw_len = entry.frame.raw_len as usize;
            let raw = decompress(stored, raw_len).map_err(|error| BlockFault::Compression(error.to_string()))?;
            if raw.len() == raw_len {
                Ok(Cow::Owned(raw))
            } else {
                let found = raw.len();
                Err(BlockFault::Compression(format!(
                    "it has {found} bytes, the frame says {raw_len}"
                )))
            }
        }
    }
}

/// Making a decompressor takes as long as a block of a short trace, so each thread keeps one.
fn decompress(stored: &[u8], raw_len: usize) -> io::Result<Vec<u8>> {
    thread_local! {
        static KEPT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    KEPT.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(kept) => kept,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(stored, raw_len)
    })
}

fn rest(file: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset)
        .ok()
        .and_then(|offset| file.get(offset..))
        .unwrap_or_default()
}
