//! The trace file of `witness`: one recorded run, as a totally ordered stream of events.
//!
//! [`TraceWriter`] writes it, [`TraceFile`] reads it; the bytes are defined in `FORMAT.md`. Blocks
//! are compressed, have checksums and decode alone, so events can be read in parallel and from
//! any number on. A recording that dies leaves a file that is readable up to its last block and
//! says that it is cut; a damaged file is an error, never a shorter or different trace.
//!
//! ```
//! use trace_format::{Ending, MemRange, Op, ProgramEnd, ThreadInfo, TraceFile, TraceWriter, WriterOptions};
//!
//! let mut writer = TraceWriter::to_sink("example", Vec::new(), &WriterOptions::default())?;
//! let main = writer.define_thread(ThreadInfo { name: Some("main".into()), ..ThreadInfo::default() });
//! writer.event(main, 0x1000, Op::Begin)?;
//! writer.call(main, 0x1004); // what follows is one function deeper
//! writer.event(main, 0x2000, Op::Write { mem: MemRange { addr: 0x7000, size: 4 }, value: 1 })?;
//! let (summary, bytes) = writer.finish_sink(ProgramEnd::Exited(0))?;
//! assert_eq!(summary.events, 2);
//!
//! let trace = TraceFile::from_bytes("example", bytes)?;
//! assert_eq!(*trace.ending(), Ending::Complete { program: ProgramEnd::Exited(0) });
//! for event in trace.events() {
//!     let event = event?;
//!     let frames: Vec<_> = trace.tables().frames(event.stack).collect();
//!     println!("{:?} at {:#x}, called from {frames:x?}", event.op, event.pc);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! A file is written by one [`TraceWriter`] at a time, and events come in one total order: a
//! recorder whose threads run in parallel must merge them first.

pub mod event;
pub mod tables;

mod anatomy;
mod block;
mod block_output;
mod ending;
mod error;
mod event_block;
mod fault;
mod footer;
mod frame;
mod header;
mod identity;
mod mapping;
mod partial_file;
mod reader;
mod recovery;
mod stacks;
mod tables_block;
mod validity;
mod writer;

pub use ending::{CutCause, Ending};
pub use error::{FooterFault, ReadError, WriteError};
pub use event::{
    CodePosition, Event, EventId, MemRange, MemoryOrder, NOBODYS, ObjectId, Op, StackId, ThreadId, WaitOutcome,
    descriptor,
};
pub use fault::{BlockFault, EncodingFault, EventFault, TablesFault};
pub use header::FormatVersion;
pub use identity::{ParseTraceIdError, TraceId};
pub use mapping::end_if_truncated;
pub use partial_file::PartialFile;
pub use reader::{BlockDigest, BlockInfo, TraceFile};
pub use tables::{
    ImageInfo, MarkInfo, MarkKind, Meta, ModuleInfo, ObjectInfo, ObjectKind, PendingInfo, PendingKind, ProgramEnd,
    SourceInfo, StackNode, Tables, TablesDelta, ThreadInfo, VariableInfo,
};
pub use writer::{Summary, TraceWriter, WriterOptions};
