//! Writes blocks: compression, frame, checksums, and the index that becomes the footer.

use crate::error::WriteError;
use crate::footer::{IndexBuilder, TRAILER_LEN, encode_trailer};
use crate::frame::{BlockKind, Compression, Frame};
use crate::header;
use crate::tables::ProgramEnd;
use std::io::{self, Write};
use std::path::PathBuf;
use zstd::bulk::Compressor;

/// A destination for the blocks of one file.
pub(crate) struct BlockOutput<W> {
    sink: W,
    /// What the destination is called in errors.
    path: PathBuf,
    compressor: Option<Compressor<'static>>,
    /// What was compressed last; kept for its room.
    packed: Vec<u8>,
    effort: Effort,
    /// Bytes written so far.
    offset: u64,
    /// None for a file that was gone on with: the index of what it had is not known.
    index: Option<IndexBuilder>,
}

/// Whether the next block of events is worth the time that compressing takes: where values are noise, it is not. What
/// becomes smaller by less than a third is not tried again for some blocks.
#[derive(Default)]
struct Effort {
    /// Blocks to go without trying.
    rest: u32,
}

impl Effort {
    /// Blocks without a try after one that was not worth it.
    const REST: u32 = 31;

    fn is_due(&mut self) -> bool {
        let due = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        due
    }

    fn gained(&mut self, raw: usize, packed: usize) {
        // Small blocks come at the beginning, and say nothing.
        if raw >= 1 << 16 && packed > raw / 3 * 2 {
            self.rest = Self::REST;
        }
    }
}

impl<W: Write> BlockOutput<W> {
    /// Writes the header. Level 0 stores everything as it is.
    pub(crate) fn new(path: PathBuf, sink: W, zstd_level: i32) -> Result<Self, WriteError> {
        let mut output = Self::behind(path, sink, zstd_level, 0)?;
        output.index = Some(IndexBuilder::new());
        output.put(&header::encode())?;
        Ok(output)
    }

    /// Goes on behind the first `offset` bytes of a file. It cannot be [finished](Self::finish).
    pub(crate) fn behind(path: PathBuf, sink: W, zstd_level: i32, offset: u64) -> Result<Self, WriteError> {
        let compressor = match zstd_level {
            0 => None,
            level => Some(Compressor::new(level).map_err(|source| WriteError::Io {
                path: path.clone(),
                source,
            })?),
        };
        Ok(Self {
            sink,
            path,
            compressor,
            packed: Vec::new(),
            effort: Effort::default(),
            offset,
            index: None,
        })
    }

    /// Length of the file so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Writes a block whose first event has the given number.
    pub(crate) fn put_block(
        &mut self,
        kind: BlockKind,
        first_event: u64,
        events: u32,
        raw: &[u8],
    ) -> Result<(), WriteError> {
        self.packed.clear();
        let tries = match kind {
            BlockKind::Tables => true,
            BlockKind::Events => self.effort.is_due(),
            BlockKind::Footer => false,
        };
        if let (Some(compressor), true) = (&mut self.compressor, tries) {
            self.packed.reserve(zstd::zstd_safe::compress_bound(raw.len()));
            let result = compressor.compress_to_buffer(raw, &mut self.packed);
            result.map_err(|source| self.failed(source))?;
            if kind == BlockKind::Events {
                self.effort.gained(raw.len(), self.packed.len());
            }
        }
        let (compression, payload) = if (1..raw.len()).contains(&self.packed.len()) {
            (Compression::Compressed, std::mem::take(&mut self.packed))
        } else {
            (Compression::Stored, Vec::new())
        };
        let stored = if payload.is_empty() { raw } else { &payload };
        let frame = Frame {
            kind,
            compression,
            stored_len: stored.len() as u32,
            raw_len: raw.len() as u32,
            first_event,
            events,
            payload_checksum: crc32c::crc32c(stored),
        };
        let frame = frame.encode();
        if let Some(index) = &mut self.index {
            index.push(self.offset, &frame);
        }
        self.put(&frame)?;
        self.put(stored)?;
        if compression == Compression::Compressed {
            self.packed = payload;
        }
        Ok(())
    }

    /// Hands all that was written on to the destination.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        self.sink.flush().map_err(|source| self.failed(source))
    }

    /// Writes footer and trailer; returns the length of the file and the destination.
    pub(crate) fn finish(mut self, end: ProgramEnd, events: u64) -> Result<(u64, W), WriteError> {
        let footer_offset = self.offset;
        let index = self.index.take().ok_or_else(|| WriteError::Stopped {
            path: self.path.clone(),
        })?;
        let footer = index.finish(end).ok_or_else(|| WriteError::TooManyBlocks {
            path: self.path.clone(),
        })?;
        self.put_block(BlockKind::Footer, events, 0, &footer)?;
        self.put(&encode_trailer(footer_offset, self.offset + TRAILER_LEN as u64))?;
        self.flush()?;
        Ok((self.offset, self.sink))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.sink.write_all(bytes).map_err(|source| self.failed(source))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.path.clone(),
            source,
        }
    }
}
