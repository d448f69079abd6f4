//! Reads a trace file: opens it, loads its tables, decodes its blocks.
//!
//! A complete file is opened through its index, and each block is checked when it is decoded. A
//! file without an end mark is scanned and checked as a whole when it is opened.

use crate::block;
use crate::ending::Ending;
use crate::error::{FooterFault, ReadError};
use crate::event::Event;
use crate::event_block;
use crate::fault::BlockFault;
use crate::footer::{self, Entry, TRAILER_LEN, Trailer};
use crate::frame::{BlockKind, Frame};
use crate::header::{self, HEADER_LEN};
use crate::identity::{IdentityHash, TraceId};
use crate::mapping::Mapping;
use crate::recovery::{self, Recovered, Unrecoverable};
use crate::tables::{ProgramEnd, Tables};
use crate::tables_block;
use crate::validity::Rows;
use std::fmt;
use std::path::Path;
use twox_hash::XxHash3_128;

/// A block of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Number of the block in the file, from 0, counting blocks of every kind.
    pub number: u64,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Number of its first event.
    pub first_event: u64,
    /// How many events it holds.
    pub events: u32,
    /// Its length in the file, in bytes.
    pub stored_bytes: u64,
    /// Length of its events before compression, in bytes.
    pub raw_bytes: u32,
    /// How many rows of the table of objects its events may refer to.
    pub objects: usize,
}

/// What tells the events of one block from those of others: two blocks with the same digest hold the same events,
/// thread by thread and position by position, with the same numbers of objects and stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDigest(u128);

/// A trace file, open for reading. Blocks may be decoded from several threads at once.
pub struct TraceFile {
    name: String,
    bytes: Mapping,
    tables: Tables,
    blocks: Vec<BlockInfo>,
    /// What is needed to decode each of `blocks`: where it is, and the rows defined before it.
    sources: Vec<(Entry, Rows)>,
    events: u64,
    ending: Ending,
    id: TraceId,
}

/// Bytes of tables, before compression, that each byte of a file may stand for: rows are loaded as they are, so a small
/// file must not have many.
const MAX_RATIO: u64 = 128;
/// And so many more, whatever the length of the file.
const FREE_TABLE_BYTES: u64 = 16 << 20;

impl TraceFile {
    /// Opens a file by mapping it into memory.
    ///
    /// # Errors
    /// If it cannot be read, is not a trace of a known version, or is damaged. A trace that was
    /// merely cut opens: see [`ending`](TraceFile::ending).
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        match Mapping::open(path) {
            Ok(bytes) => Self::load(name, bytes),
            Err(source) => Err(ReadError::Io { file: name, source }),
        }
    }

    /// Opens a trace in memory; `name` is what it is called in errors.
    ///
    /// # Errors
    /// As [`open`](TraceFile::open).
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::load(name.to_owned(), Mapping::Owned(bytes))
    }

    fn load(name: String, bytes: Mapping) -> Result<Self, ReadError> {
        header::check(&name, &bytes)?;
        let (index, ending) = match footer::decode_trailer(&bytes) {
            Trailer::Footer(offset) => {
                let (program, index) = read_footer(&bytes, offset).map_err(|fault| ReadError::DamagedFooter {
                    file: name.clone(),
                    offset,
                    fault,
                })?;
                (index, Ending::Complete { program })
            }
            Trailer::Damaged => {
                let offset = bytes.len().saturating_sub(TRAILER_LEN) as u64;
                return Err(ReadError::DamagedTrailer { file: name, offset });
            }
            Trailer::Absent => match recovery::scan(&bytes) {
                Ok(Recovered { index, offset, cause }) => {
                    let events = index.iter().map(|entry| u64::from(entry.frame.events)).sum();
                    (index, Ending::Cut { events, offset, cause })
                }
                Err(Unrecoverable::Block { block, offset, fault }) => {
                    return Err(ReadError::DamagedBlock {
                        file: name,
                        block,
                        offset,
                        fault,
                    });
                }
                Err(Unrecoverable::Trailer { offset }) => {
                    return Err(ReadError::DamagedTrailer { file: name, offset });
                }
            },
        };
        Self::from_index(name, bytes, &index, ending)
    }

    /// Loads the tables, and notes where the events are.
    fn from_index(name: String, bytes: Mapping, index: &[Entry], ending: Ending) -> Result<Self, ReadError> {
        let tables = index.iter().filter(|entry| entry.frame.kind == BlockKind::Tables);
        let raw = tables.map(|entry| u64::from(entry.frame.raw_len)).sum();
        let length = bytes.len() as u64;
        let most = MAX_RATIO.saturating_mul(length).saturating_add(FREE_TABLE_BYTES);
        if raw > most {
            return Err(ReadError::TablesTooLarge {
                file: name,
                raw,
                length,
                most,
            });
        }
        let mut identity = IdentityHash::new();
        identity.feed(&bytes[..HEADER_LEN]);
        let mut tables = Tables::default();
        let mut rows = Rows::default();
        let mut blocks = Vec::new();
        let mut sources = Vec::new();
        let mut events = 0;
        for (number, &entry) in (0..).zip(index) {
            let Entry { offset, frame } = entry;
            identity.feed(&frame.encode());
            match frame.kind {
                BlockKind::Tables => {
                    add_rows(&bytes, entry, &mut tables, &mut rows).map_err(|fault| ReadError::DamagedBlock {
                        file: name.clone(),
                        block: number,
                        offset,
                        fault,
                    })?
                }
                BlockKind::Events | BlockKind::Footer => {
                    events += u64::from(frame.events);
                    blocks.push(BlockInfo {
                        number,
                        offset,
                        first_event: frame.first_event,
                        events: frame.events,
                        stored_bytes: frame.block_len(),
                        raw_bytes: frame.raw_len,
                        objects: rows.objects,
                    });
                    sources.push((entry, rows));
                }
            }
        }
        Ok(Self {
            name,
            bytes,
            tables,
            blocks,
            sources,
            events,
            ending,
            id: identity.finish(),
        })
    }

    /// The side tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.events
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Whether the trace is complete, and how the program ended; or where it was cut.
    #[must_use]
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// The identity of the content: equal for two files that hold the same blocks.
    #[must_use]
    pub fn id(&self) -> TraceId {
        self.id
    }

    /// The blocks of events, in order.
    #[must_use]
    pub fn blocks(&self) -> &[BlockInfo] {
        &self.blocks
    }

    /// The digest of one of [`blocks`](TraceFile::blocks), which costs much less than to decode it: a hash of 128 bits
    /// of its events as they are encoded, since each block is decoded alone.
    ///
    /// # Errors
    /// As [`decode_block`](TraceFile::decode_block).
    pub fn digest(&self, index: usize) -> Result<BlockDigest, ReadError> {
        self.with_payload(index, |payload, _| Ok(BlockDigest(XxHash3_128::oneshot(payload))))
    }

    /// Replaces the content of `out` by the events of one of [`blocks`](TraceFile::blocks).
    ///
    /// # Errors
    /// If the block is damaged, or there is none with this index. `out` is then empty.
    pub fn decode_block(&self, index: usize, out: &mut Vec<Event>) -> Result<(), ReadError> {
        out.clear();
        self.with_payload(index, |payload, Source { frame, rows }| {
            event_block::decode(payload, rows, frame.first_event, frame.events, out)
        })
    }

    /// Shows the events of block `index` one by one, which takes no memory: in case of an error, those before it.
    ///
    /// # Errors
    /// As [`decode_block`](Self::decode_block).
    pub fn visit_block(&self, index: usize, see: impl FnMut(&Event)) -> Result<(), ReadError> {
        self.with_payload(index, |payload, Source { frame, rows }| {
            event_block::visit(payload, rows, frame.first_event, frame.events, see)
        })
    }

    /// As [`visit_block`](Self::visit_block), and tells the block from others as [`digest`](TraceFile::digest) does.
    ///
    /// # Errors
    /// As [`decode_block`](Self::decode_block).
    pub fn visit_digested(&self, index: usize, see: impl FnMut(&Event)) -> Result<BlockDigest, ReadError> {
        self.with_payload(index, |payload, Source { frame, rows }| {
            event_block::visit(payload, rows, frame.first_event, frame.events, see)?;
            Ok(BlockDigest(XxHash3_128::oneshot(payload)))
        })
    }

    /// Does something with the encoded events of a block.
    fn with_payload<T>(
        &self,
        index: usize,
        what: impl FnOnce(&[u8], Source) -> Result<T, BlockFault>,
    ) -> Result<T, ReadError> {
        let Some(&(entry, rows)) = self.sources.get(index) else {
            return Err(ReadError::NoSuchBlock {
                file: self.name.clone(),
                index,
                blocks: self.blocks.len(),
            });
        };
        let Entry { offset, frame } = entry;
        block::payload(&self.bytes, entry)
            .and_then(|payload| what(&payload, Source { frame, rows }))
            .map_err(|fault| {
                let block = self.blocks[index].number;
                ReadError::DamagedBlock {
                    file: self.name.clone(),
                    block,
                    offset,
                    fault,
                }
            })
    }

    /// All events in order. After an error the iterator ends.
    pub fn events(&self) -> impl Iterator<Item = Result<Event, ReadError>> + '_ {
        self.events_from(0)
    }

    /// The events from number `number` on; none if there are not so many. Only blocks that hold
    /// some of them are decoded. After an error the iterator ends.
    pub fn events_from(&self, number: u64) -> impl Iterator<Item = Result<Event, ReadError>> + '_ {
        let block = self
            .blocks
            .partition_point(|block| block.first_event + u64::from(block.events) <= number);
        let skip = self.blocks.get(block).map_or(0, |block| number - block.first_event);
        Events {
            file: self,
            block,
            skip: skip as usize,
            decoded: Vec::new(),
            next: 0,
        }
    }
}

/// What is needed to decode a block.
struct Source {
    frame: Frame,
    /// The rows defined before it.
    rows: Rows,
}

/// Goes through a file block by block.
struct Events<'a> {
    file: &'a TraceFile,
    /// The block to decode next.
    block: usize,
    /// How many events of it to leave out.
    skip: usize,
    decoded: Vec<Event>,
    next: usize,
}

impl Iterator for Events<'_> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.decoded.len() {
            if self.block == self.file.blocks.len() {
                return None;
            }
            if let Err(error) = self.file.decode_block(self.block, &mut self.decoded) {
                self.block = self.file.blocks.len();
                self.next = 0;
                return Some(Err(error));
            }
            self.block += 1;
            self.next = std::mem::take(&mut self.skip);
        }
        let event = self.decoded.get(self.next).copied()?;
        self.next += 1;
        Some(Ok(event))
    }
}

/// The index in the footer block at `offset`, which must reach up to the trailer.
fn read_footer(file: &[u8], offset: u64) -> Result<(ProgramEnd, Vec<Entry>), FooterFault> {
    let frame = block::frame_at(file, offset)?;
    if frame.kind != BlockKind::Footer || offset + frame.block_len() + TRAILER_LEN as u64 != file.len() as u64 {
        return Err(FooterFault::Misplaced);
    }
    let payload = block::payload(file, Entry { offset, frame })?;
    let (program, index) = footer::decode(&payload, offset)?;
    let events = index
        .last()
        .map_or(0, |last| last.frame.first_event + u64::from(last.frame.events));
    if frame.first_event != events {
        return Err(BlockFault::NotInOrder {
            expected: events,
            found: frame.first_event,
        }
        .into());
    }
    Ok((program, index))
}

fn add_rows(file: &[u8], entry: Entry, tables: &mut Tables, rows: &mut Rows) -> Result<(), BlockFault> {
    let delta = tables_block::decode(&block::payload(file, entry)?)?;
    tables_block::check(&delta, rows)?;
    tables_block::apply(tables, delta);
    Ok(())
}

impl fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFile")
            .field("name", &self.name)
            .field("events", &self.events)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
