//! The trace file of `witness`: one recorded run, as a totally ordered stream of events.

pub mod event;
pub mod tables;

pub use event::{CodePosition, Event, MemRange, MemoryOrder, ObjectId, Op, StackId, ThreadId, WaitOutcome};
pub use tables::{
    Meta, ModuleInfo, ObjectInfo, ObjectKind, ProgramEnd, SourceInfo, StackNode, Tables, TablesDelta, ThreadInfo,
};
