//! The trace file of `witness`: one recorded run, as a totally ordered stream of events.

pub mod event;
pub mod tables;

mod error;
mod fault;
mod header;
mod identity;
mod reader;
mod writer;

pub use error::{FooterFault, ReadError, WriteError};
pub use event::{CodePosition, Event, MemRange, MemoryOrder, ObjectId, Op, StackId, ThreadId, WaitOutcome};
pub use fault::{BlockFault, EncodingFault, EventFault, TablesFault};
pub use header::FormatVersion;
pub use identity::{ParseTraceIdError, TraceId};
pub use reader::{BlockInfo, CutCause, Ending, TraceFile};
pub use tables::{
    Meta, ModuleInfo, ObjectInfo, ObjectKind, ProgramEnd, SourceInfo, StackNode, Tables, TablesDelta, ThreadInfo,
};
pub use writer::{Summary, TraceWriter, WriterOptions};
