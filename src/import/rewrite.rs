//! Writes rows and events that already have numbers, and keeps these.
//!
//! The writer of the trace format numbers stacks in the order in which calls first reach them. Here the numbers are
//! given, so calls and returns lead a thread to each stack.

use std::io::Write;
use trace_format::{
    CodePosition, Ending, Event, ImageInfo, MarkInfo, ProgramEnd, ReadError, StackId, StackNode, ThreadId, ThreadInfo,
    TraceFile, TraceWriter, WriteError, WriterOptions,
};

/// Why a row or an event cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// A rule of the tables is broken.
    #[error("{0}")]
    Rule(String),
    /// A rule of events is broken, or the destination cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The trace that is copied cannot be read to its end.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Writes a trace in our own format. One that was cut stays one.
///
/// # Errors
/// If the trace cannot be read to its end, or `out` cannot be written.
pub fn write_native(file: &TraceFile, out: &mut dyn Write) -> Result<(), RewriteError> {
    let mut rewriter = Rewriter::new("the output", out)?;
    let tables = file.tables();
    rewriter.writer.set_meta(tables.meta.clone());
    for thread in &tables.threads {
        rewriter.thread(thread.clone())?;
    }
    for module in &tables.modules {
        rewriter.writer.define_module(module.clone());
    }
    for object in &tables.objects {
        rewriter.writer.define_object(object.clone());
    }
    for stack in &tables.stacks {
        rewriter.stack(*stack)?;
    }
    for source in &tables.sources {
        rewriter.writer.define_source(source.clone());
    }
    for variable in &tables.variables {
        rewriter.writer.define_variable(variable.clone());
    }
    for mark in &tables.marks {
        rewriter.mark(mark.clone())?;
    }
    for image in &tables.images {
        rewriter.image(image.clone())?;
    }
    for event in file.events() {
        rewriter.event(event?)?;
    }
    let end = match file.ending() {
        Ending::Complete { program } => Some(*program),
        Ending::Cut { .. } => None,
    };
    rewriter.finish(end)
}

/// A trace that is being written.
pub(super) struct Rewriter<W: Write> {
    pub(super) writer: TraceWriter<W>,
    threads: u32,
    /// Rows of stacks; number 0 is the empty stack, which has none.
    stacks: Vec<StackNode>,
}

impl<W: Write> Rewriter<W> {
    pub(super) fn new(name: &str, out: W) -> Result<Rewriter<W>, RewriteError> {
        Ok(Rewriter {
            writer: TraceWriter::to_sink(name, out, &WriterOptions::default())?,
            threads: 0,
            stacks: Vec::new(),
        })
    }

    /// Ends the trace, or leaves it as one that was cut.
    pub(super) fn finish(mut self, end: Option<ProgramEnd>) -> Result<(), RewriteError> {
        match end {
            Some(end) => self.writer.finish_sink(end).map(|_| ())?,
            None => self.writer.flush()?,
        }
        Ok(())
    }

    pub(super) fn thread(&mut self, info: ThreadInfo) -> Result<(), RewriteError> {
        if info.parent.is_some_and(|parent| parent.0 >= self.threads) {
            return Err(RewriteError::Rule("a thread before its parent".to_owned()));
        }
        self.writer.define_thread(info);
        self.threads += 1;
        Ok(())
    }

    pub(super) fn event(&mut self, event: Event) -> Result<(), RewriteError> {
        if event.thread.0 >= self.threads {
            return Err(RewriteError::Rule(format!("no row for thread {}", event.thread.0)));
        }
        if event.stack.index() > self.stacks.len() {
            return Err(RewriteError::Rule(format!("no row for stack {}", event.stack.0)));
        }
        self.enter(event.thread, event.stack);
        self.writer.event(event.thread, event.pc, event.op)?;
        Ok(())
    }

    pub(super) fn image(&mut self, image: ImageInfo) -> Result<(), RewriteError> {
        let bytes = image.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if bytes > image.size || image.addr.checked_add(image.size).is_none() {
            return Err(RewriteError::Rule("an image that is larger than its range".to_owned()));
        }
        self.writer.define_image(image);
        Ok(())
    }

    pub(super) fn mark(&mut self, mark: MarkInfo) -> Result<(), RewriteError> {
        if mark.thread.0 >= self.threads {
            return Err(RewriteError::Rule("a mark before its thread".to_owned()));
        }
        self.writer.define_mark(mark);
        Ok(())
    }

    pub(super) fn stack(&mut self, node: StackNode) -> Result<(), RewriteError> {
        let rule = |text: &str| Err(RewriteError::Rule(text.to_owned()));
        if self.threads == 0 {
            return rule("a stack before the first thread");
        }
        if node.parent.index() > self.stacks.len() {
            return rule("a stack before the one below it");
        }
        let guide = ThreadId(0);
        self.enter(guide, node.parent);
        self.writer.call(guide, node.call_site);
        self.stacks.push(node);
        if self.writer.stack_of(guide).index() != self.stacks.len() {
            return rule("a stack that is there already");
        }
        Ok(())
    }

    /// Brings a thread to a stack, by returns and calls.
    fn enter(&mut self, thread: ThreadId, stack: StackId) {
        let below = |stack: StackId| stack.index().checked_sub(1).map(|row| self.stacks[row]);
        let mut calls: Vec<CodePosition> = Vec::new();
        let (mut from, mut to) = (self.writer.stack_of(thread), stack);
        let mut returns = 0;
        // A stack's number is larger than that of the one below it, so the larger is left first.
        while from != to {
            if from > to {
                from = below(from).map_or(StackId::EMPTY, |node| node.parent);
                returns += 1;
            } else {
                let Some(node) = below(to) else { break };
                calls.push(node.call_site);
                to = node.parent;
            }
        }
        (0..returns).for_each(|_| self.writer.ret(thread));
        calls.iter().rev().for_each(|&site| self.writer.call(thread, site));
    }
}
