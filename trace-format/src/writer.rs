//! Writes a trace file: collects rows and events, and puts them out block by block.
//!
//! Rows are written no later than the events that mention them, and each block with one system
//! call, so whatever moment the recording dies at, the file is readable up to its last block.

use crate::block_output::BlockOutput;
use crate::ending::Ending;
use crate::error::WriteError;
use crate::event::{CodePosition, Event, ObjectId, Op, StackId, ThreadId};
use crate::event_block::{self, Encoder, MAX_EVENT_LEN};
use crate::fault::EncodingFault;
use crate::frame::{BlockKind, MAX_EVENT_BYTES, MAX_EVENTS};
use crate::partial_file::PartialFile;
use crate::reader::TraceFile;
use crate::stacks::Stacks;
use crate::tables::{
    ImageInfo, MarkInfo, Meta, ModuleInfo, ObjectInfo, ProgramEnd, SourceInfo, StackNode, ThreadInfo, VariableInfo,
};
use crate::tables_block::{self, MAX_TABLES_BYTES, Pending, row_bytes};
use crate::validity::Rows;
use std::fmt;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Size at which the first block is closed, in bytes before compression.
const FIRST_BLOCK_BYTES: usize = 256;

/// How a trace is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Size at which a block of events is closed, in bytes before compression. Larger blocks
    /// compress better; smaller ones lose less when a recording is killed. Limited to 4 MiB. The
    /// first block is small and each next one twice as large until this size is reached, so that a
    /// short trace that is cut keeps most of its events, too.
    pub block_bytes: usize,
    /// Compression level of zstd, 1 to 22, or below 0 for speed; 0 stores all blocks uncompressed.
    pub zstd_level: i32,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 256 * 1024,
            zstd_level: 3,
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// Number of threads.
    pub threads: u64,
    /// Number of events.
    pub events: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// Writes one trace, by default to a file: see [`TraceWriter::create`].
///
/// Threads and objects are defined before the events that mention them. Dropping a writer without
/// [`finish`](TraceWriter::finish) leaves a cut trace under the partial name.
pub struct TraceWriter<W: Write = PartialFile> {
    output: BlockOutput<W>,
    block_bytes: usize,
    /// Size at which the current block is closed, at most `block_bytes`.
    close_at: usize,
    /// Rows defined so far, and rows on file.
    defined: Rows,
    written: Rows,
    pending: Pending,
    stacks: Stacks,
    /// The current stack of each thread.
    current: Vec<StackId>,
    encoder: Encoder,
    events: u64,
    /// A write failed: the file may end inside a block.
    stopped: bool,
}

impl TraceWriter {
    /// Starts a trace that will be at `path`. Until [`finish`](TraceWriter::finish) it is at
    /// `<path>.partial` ([`PartialFile::partial_path`]); a file at `path` stays untouched.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, options: &WriterOptions) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Io {
            path: PartialFile::partial_path(path),
            source,
        };
        Self::to_sink(path, PartialFile::create(path).map_err(failed)?, options)
    }

    /// Writes what is left, marks the trace as complete and gives the file its name.
    ///
    /// # Errors
    /// If writing fails, or has failed before. The partial file then stays where it is.
    pub fn finish(self, end: ProgramEnd) -> Result<Summary, WriteError> {
        let (summary, file) = self.finish_sink(end)?;
        file.publish().map_err(|source| WriteError::Io {
            path: summary.path.clone(),
            source,
        })?;
        Ok(summary)
    }
}

impl TraceWriter<File> {
    /// Goes on with the cut trace at `path`, which `trace` was read from, behind its last good block; whatever follows
    /// that is dropped. The trace stays cut: it gets more blocks, and no end.
    ///
    /// # Errors
    /// If the file cannot be written, or `trace` is complete.
    pub fn resume(path: &Path, trace: TraceFile, options: &WriterOptions) -> Result<Self, WriteError> {
        let path = path.to_owned();
        let &Ending::Cut { offset, .. } = trace.ending() else {
            return Err(WriteError::Stopped { path });
        };
        let tables = trace.tables();
        let rows = Rows {
            threads: tables.threads.len(),
            objects: tables.objects.len(),
            stacks: tables.stacks.len(),
        };
        let events = trace.len();
        // It is mapped, and about to become shorter.
        drop(trace);
        let open = || {
            let mut file = safe_files::open_to_change(&path)?;
            file.set_len(offset)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|source| WriteError::Io {
            path: path.clone(),
            source,
        })?;
        let output = BlockOutput::behind(path, file, options.zstd_level, offset)?;
        Ok(Self {
            defined: rows,
            written: rows,
            current: vec![StackId::EMPTY; rows.threads],
            events,
            ..Self::over(output, options)
        })
    }
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace that goes to any destination, such as a `Vec<u8>`; `path` is what the
    /// destination is called in errors.
    ///
    /// # Errors
    /// If the header cannot be written, or zstd does not accept the level.
    pub fn to_sink(path: impl Into<PathBuf>, sink: W, options: &WriterOptions) -> Result<Self, WriteError> {
        let output = BlockOutput::new(path.into(), sink, options.zstd_level)?;
        Ok(Self::over(output, options))
    }

    fn over(output: BlockOutput<W>, options: &WriterOptions) -> Self {
        let block_bytes = options.block_bytes.clamp(1, MAX_EVENT_BYTES as usize - MAX_EVENT_LEN);
        Self {
            output,
            block_bytes,
            close_at: block_bytes.min(FIRST_BLOCK_BYTES),
            defined: Rows::default(),
            written: Rows::default(),
            pending: Pending::default(),
            stacks: Stacks::default(),
            current: Vec::new(),
            encoder: Encoder::new(),
            events: 0,
            stopped: false,
        }
    }

    /// Describes the recording; a later call replaces the description.
    pub fn set_meta(&mut self, meta: Meta) {
        let bytes = row_bytes(&meta);
        self.pending.room(bytes).meta = Some(meta);
    }

    /// Adds a thread. Its parent, if any, must have been defined before.
    pub fn define_thread(&mut self, info: ThreadInfo) -> ThreadId {
        let id = ThreadId(row_number(self.defined.threads));
        let bytes = row_bytes(&info);
        self.pending.room(bytes).threads.push((id, info));
        self.defined.threads += 1;
        self.current.push(StackId::EMPTY);
        id
    }

    /// Replaces what is known about a thread.
    ///
    /// # Panics
    /// If the thread is not one of this trace.
    pub fn update_thread(&mut self, id: ThreadId, info: ThreadInfo) {
        assert!(
            id.index() < self.defined.threads,
            "{id:?} is not a thread of this trace"
        );
        let bytes = row_bytes(&info);
        self.pending.room(bytes).threads.push((id, info));
    }

    /// Adds a module.
    pub fn define_module(&mut self, module: ModuleInfo) {
        let bytes = row_bytes(&module);
        self.pending.room(bytes).modules.push(module);
    }

    /// Adds a synchronization object.
    pub fn define_object(&mut self, info: ObjectInfo) -> ObjectId {
        let id = ObjectId(row_number(self.defined.objects));
        let bytes = row_bytes(&info);
        self.pending.room(bytes).objects.push(info);
        self.defined.objects += 1;
        id
    }

    /// Adds a source position that no module explains.
    pub fn define_source(&mut self, source: SourceInfo) {
        let bytes = row_bytes(&source);
        self.pending.room(bytes).sources.push(source);
    }

    /// Says what memory held at some moment.
    pub fn define_image(&mut self, image: ImageInfo) {
        let bytes = row_bytes(&image);
        self.pending.room(bytes).images.push(image);
    }

    /// Adds a call stack: `parent` with a call from `call_site` on top. For recorders that keep the
    /// stacks themselves; others [`call`](TraceWriter::call). A parent that is no stack of this trace
    /// is an error when the row is written.
    pub fn define_stack(&mut self, parent: StackId, call_site: CodePosition) -> StackId {
        let node = StackNode { parent, call_site };
        self.pending.room(size_of::<StackNode>() as u64).stacks.push(node);
        self.defined.stacks += 1;
        StackId(row_number(self.defined.stacks))
    }

    /// Names memory that no module explains.
    pub fn define_variable(&mut self, variable: VariableInfo) {
        let bytes = row_bytes(&variable);
        self.pending.room(bytes).variables.push(variable);
    }

    /// Adds what the program says of its own races.
    pub fn define_mark(&mut self, mark: MarkInfo) {
        let bytes = row_bytes(&mark);
        self.pending.room(bytes).marks.push(mark);
    }

    /// The thread calls a function from `call_site`.
    ///
    /// # Panics
    /// If the thread is not one of this trace.
    pub fn call(&mut self, thread: ThreadId, call_site: CodePosition) {
        let current = &mut self.current[thread.index()];
        let node = StackNode {
            parent: *current,
            call_site,
        };
        let (stack, new) = self.stacks.push(*current, call_site);
        *current = stack;
        if new {
            self.defined.stacks += 1;
            self.pending.room(size_of::<StackNode>() as u64).stacks.push(node);
        }
    }

    /// The thread returns from the innermost function; without one, nothing happens.
    ///
    /// # Panics
    /// If the thread is not one of this trace.
    pub fn ret(&mut self, thread: ThreadId) {
        let current = &mut self.current[thread.index()];
        *current = self.stacks.pop(*current);
    }

    /// The thread's current stack, which its next event will carry.
    ///
    /// # Panics
    /// If the thread is not one of this trace.
    #[must_use]
    pub fn stack_of(&self, thread: ThreadId) -> StackId {
        self.current[thread.index()]
    }

    /// Length of what was written so far, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.output.offset()
    }

    /// How many events were added so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Adds an event of a thread, on its current stack. Returns the event's number, from 0.
    ///
    /// # Errors
    /// [`WriteError::InvalidEvent`] if it mentions what is not defined or an impossible access;
    /// it is then left out, and others may follow. Any other error ends the trace.
    pub fn event(&mut self, thread: ThreadId, pc: CodePosition, op: Op) -> Result<u64, WriteError> {
        if self.stopped {
            return Err(WriteError::Stopped {
                path: self.output.path().clone(),
            });
        }
        let number = self.events;
        let stack = self.current.get(thread.index()).copied().unwrap_or(StackId::EMPTY);
        let event = Event { thread, pc, stack, op };
        self.defined
            .check(&event)
            .map_err(|fault| WriteError::InvalidEvent { number, fault })?;
        while self.encoder.push(&event).is_err() {
            self.close_block()?;
        }
        self.events += 1;
        if self.encoder.len() >= self.close_at {
            self.close_block()?;
        }
        Ok(number)
    }

    fn close_block(&mut self) -> Result<(), WriteError> {
        self.write_blocks()?;
        self.close_at = (2 * self.close_at).min(self.block_bytes);
        Ok(())
    }

    /// Adds a block of events that the caller has encoded with `event-coding`: `payload` is at most
    /// 4 MiB, and all that the events mention is defined. The events are not looked at, so
    /// [`call`](TraceWriter::call) and [`ret`](TraceWriter::ret) have no part in them.
    ///
    /// # Errors
    /// [`WriteError::InvalidBlock`] if no reader could accept such a block; any other error ends the
    /// trace.
    pub fn encoded_block(&mut self, payload: &[u8], events: u32) -> Result<(), WriteError> {
        self.write_blocks()?;
        let number = self.events;
        let invalid = |fault| WriteError::InvalidBlock { number, fault };
        if payload.len() > MAX_EVENT_BYTES as usize {
            return Err(invalid(EncodingFault::TooManyBytes));
        }
        if !(1..=MAX_EVENTS).contains(&events) {
            return Err(invalid(EncodingFault::TooManyEvents));
        }
        let result = self.output.put_block(BlockKind::Events, number, events, payload);
        self.stopped = result.is_err();
        self.events += u64::from(events);
        result
    }

    /// Adds a block of events like [`encoded_block`](TraceWriter::encoded_block) that its encoder did
    /// not close: the events are decoded to count them. The last run, if it is open, has `hits` predicted events, and
    /// is closed in `payload`; a block without any event is left out.
    ///
    /// # Errors
    /// As [`encoded_block`](TraceWriter::encoded_block).
    pub fn unfinished_block(&mut self, payload: &mut [u8], hits: u32) -> Result<(), WriteError> {
        if payload.is_empty() {
            return Ok(());
        }
        match event_block::close(payload, hits, self.defined) {
            Ok(0) => Ok(()),
            Ok(events) => self.encoded_block(payload, events),
            Err(fault) => Err(WriteError::InvalidBlock {
                number: self.events,
                fault,
            }),
        }
    }

    /// Closes the current block: everything so far is on file and can be read.
    ///
    /// # Errors
    /// If writing fails, or has failed before.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.write_blocks()?;
        self.output.flush()
    }

    /// Writes what is left, marks the trace as complete and gives the destination back.
    ///
    /// # Errors
    /// If writing fails, or has failed before.
    pub fn finish_sink(mut self, end: ProgramEnd) -> Result<(Summary, W), WriteError> {
        self.write_blocks()?;
        let path = self.output.path().clone();
        let threads = self.defined.threads as u64;
        let (bytes, sink) = self.output.finish(end, self.events)?;
        Ok((
            Summary {
                path,
                threads,
                events: self.events,
                bytes,
            },
            sink,
        ))
    }

    /// Writes the rows that are due, then the events.
    fn write_blocks(&mut self) -> Result<(), WriteError> {
        if self.stopped {
            return Err(WriteError::Stopped {
                path: self.output.path().clone(),
            });
        }
        let result = self.write_tables().and_then(|()| self.write_events());
        self.stopped = result.is_err();
        result
    }

    fn write_tables(&mut self) -> Result<(), WriteError> {
        let first_event = self.events - u64::from(self.encoder.events());
        for delta in self.pending.take() {
            tables_block::check(&delta, &mut self.written)?;
            let payload = tables_block::encode(&delta).map_err(|bytes| WriteError::RowTooLarge {
                bytes,
                limit: MAX_TABLES_BYTES.into(),
            })?;
            self.output.put_block(BlockKind::Tables, first_event, 0, &payload)?;
        }
        Ok(())
    }

    fn write_events(&mut self) -> Result<(), WriteError> {
        let events = self.encoder.events();
        if events > 0 {
            let first_event = self.events - u64::from(events);
            self.output
                .put_block(BlockKind::Events, first_event, events, self.encoder.payload())?;
            self.encoder.reset();
        }
        Ok(())
    }
}

/// The number of the next row of a table.
fn row_number(rows: usize) -> u32 {
    // Each row takes far more than a byte, so memory runs out before the numbers do.
    u32::try_from(rows).expect("a table has fewer than 2^32 rows")
}

impl<W: Write> fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter")
            .field("path", self.output.path())
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
