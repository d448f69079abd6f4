//! Writes a trace file.

use crate::error::WriteError;
use crate::event::{CodePosition, ObjectId, Op, StackId, ThreadId};
use crate::tables::{Meta, ModuleInfo, ObjectInfo, ProgramEnd, SourceInfo, ThreadInfo};
use std::path::{Path, PathBuf};

/// How a trace is written.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Size at which a block of events is closed, in bytes before compression.
    pub block_bytes: usize,
    /// Compression level of zstd, 1 to 22; 0 stores the blocks as they are.
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

/// What [`TraceWriter::finish`] wrote.
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

/// Writes a trace to `<path>.partial`, which `finish` renames to `path`.
pub struct TraceWriter;

#[expect(
    unused_variables,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "signatures first"
)]
impl TraceWriter {
    pub fn create(path: &Path, options: &WriterOptions) -> Result<Self, WriteError> {
        todo!()
    }
    pub fn set_meta(&mut self, meta: Meta) {
        todo!()
    }
    pub fn define_thread(&mut self, info: ThreadInfo) -> ThreadId {
        todo!()
    }
    pub fn update_thread(&mut self, id: ThreadId, info: ThreadInfo) {
        todo!()
    }
    pub fn define_module(&mut self, module: ModuleInfo) {
        todo!()
    }
    pub fn define_object(&mut self, info: ObjectInfo) -> ObjectId {
        todo!()
    }
    pub fn define_source(&mut self, source: SourceInfo) {
        todo!()
    }
    pub fn call(&mut self, thread: ThreadId, call_site: CodePosition) {
        todo!()
    }
    pub fn ret(&mut self, thread: ThreadId) {
        todo!()
    }
    pub fn stack_of(&self, thread: ThreadId) -> StackId {
        todo!()
    }
    pub fn event(&mut self, thread: ThreadId, pc: CodePosition, op: Op) -> Result<u64, WriteError> {
        todo!()
    }
    pub fn flush(&mut self) -> Result<(), WriteError> {
        todo!()
    }
    pub fn finish(self, end: ProgramEnd) -> Result<Summary, WriteError> {
        todo!()
    }
}
