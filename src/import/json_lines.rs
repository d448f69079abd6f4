//! Our own format as JSON, one row or event per line: lossless, for scripts to read and write.
//!
//! Each line is an object with one key, the kind of the row, and the contents of the type in `trace-format`:
//! `{"thread":{"name":"T0","parent":null,"os_id":0}}`. The first line is `{"trace":{"version":1}}`; rows come before
//! the events that mention them, and are numbered in their order; the last line is `{"end":…}`. Without it the trace is
//! cut, as in our own format. Export writes all rows first, so an exported trace gives the same tables, events and
//! ending when it is imported, with other block boundaries and another identity.

use super::error::ImportError;
use super::rewrite::{RewriteError, Rewriter};
use crate::trace::Tables;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use trace_format::{
    Ending, Event, ImageInfo, MarkInfo, MarkKind, Meta, ModuleInfo, ObjectInfo, ProgramEnd, ReadError, SourceInfo,
    StackNode, ThreadInfo, TraceFile, VariableInfo,
};

const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Row {
    Trace { version: u32 },
    Meta(Meta),
    Thread(ThreadInfo),
    Module(ModuleInfo),
    Object(ObjectInfo),
    Stack(StackNode),
    Source(SourceInfo),
    Variable(VariableInfo),
    Image(ImageInfo),
    Mark(MarkInfo),
    Event(Event),
    End(ProgramEnd),
}

/// Writes a trace as JSON lines. A trace that was cut gets no last line.
///
/// # Errors
/// If the trace cannot be read to its end, or `out` cannot be written.
pub fn export(file: &TraceFile, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut put = |row: &Row| -> io::Result<()> {
        serde_json::to_writer(&mut *out, row)?;
        out.write_all(b"\n")
    };
    let tables: &Tables = file.tables();
    put(&Row::Trace { version: VERSION })?;
    put(&Row::Meta(tables.meta.clone()))?;
    let threads = tables.threads.iter().cloned().map(Row::Thread);
    let modules = tables.modules.iter().cloned().map(Row::Module);
    let objects = tables.objects.iter().cloned().map(Row::Object);
    let stacks = tables.stacks.iter().copied().map(Row::Stack);
    let sources = tables.sources.iter().cloned().map(Row::Source);
    let variables = tables.variables.iter().cloned().map(Row::Variable);
    let images = tables.images.iter().cloned().map(Row::Image);
    let program = threads.chain(modules).chain(objects).chain(stacks).chain(sources);
    let marks = tables.marks.iter().cloned().map(Row::Mark);
    for row in program.chain(variables).chain(images).chain(marks) {
        put(&row)?;
    }
    for event in file.events() {
        put(&Row::Event(event?))?;
    }
    if let Ending::Complete { program } = file.ending() {
        put(&Row::End(*program))?;
    }
    Ok(())
}

/// Why JSON lines could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The trace cannot be read to its end.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The destination cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Reads JSON lines. Gives the bytes of a trace file of our own, and the line of each event.
pub(super) fn import(file: &str, bytes: &[u8]) -> Result<(Vec<u8>, Vec<u64>), ImportError> {
    let mut written = Vec::new();
    let rewriter = Rewriter::new(file, &mut written);
    let mut reader = Reader {
        rewriter: rewriter.map_err(|error| refuse(file, 0, &error))?,
        started: false,
        end: None,
    };
    let mut lines = Vec::new();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut last = 0;
    for (line, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        last = line;
        let row = serde_json::from_slice(text).map_err(|error| refuse(file, line, &error))?;
        if matches!(row, Row::Event(_)) {
            lines.push(line);
        }
        reader.row(row).map_err(|error| refuse(file, line, &error))?;
    }
    if !reader.started {
        return Err(refuse(file, 1, &"the file is empty"));
    }
    let Reader { rewriter, end, .. } = reader;
    rewriter.finish(end).map_err(|error| refuse(file, last, &error))?;
    Ok((written, lines))
}

fn refuse(file: &str, line: u64, reason: &dyn std::fmt::Display) -> ImportError {
    ImportError::Json {
        file: file.to_owned(),
        line,
        // It may quote the line.
        reason: reason.to_string().replace(char::is_control, " "),
    }
}

struct Reader<W: Write> {
    rewriter: Rewriter<W>,
    started: bool,
    end: Option<ProgramEnd>,
}

impl<W: Write> Reader<W> {
    fn row(&mut self, row: Row) -> Result<(), RewriteError> {
        let rule = |reason: String| Err(RewriteError::Rule(reason));
        let writer = &mut self.rewriter.writer;
        match row {
            _ if self.end.is_some() => return rule("a line after the end".to_owned()),
            Row::Trace { .. } if self.started => return rule("a second first line".to_owned()),
            Row::Trace { version } if version != VERSION => {
                return rule(format!("version {version}; this program knows version {VERSION}"));
            }
            Row::Trace { .. } => self.started = true,
            _ if !self.started => {
                return rule(format!("the first line is not {{\"trace\":{{\"version\":{VERSION}}}}}"));
            }
            Row::Meta(meta) => writer.set_meta(meta),
            Row::Thread(info) => self.rewriter.thread(info)?,
            Row::Module(module) => writer.define_module(module),
            Row::Object(object) => {
                writer.define_object(object);
            }
            Row::Stack(node) => self.rewriter.stack(node)?,
            Row::Source(source) => writer.define_source(source),
            Row::Variable(variable) if variable.addr.checked_add(variable.size).is_none() => {
                return rule("a variable beyond the end of memory".to_owned());
            }
            Row::Variable(variable) => writer.define_variable(variable),
            Row::Mark(mark) if mark.kind == MarkKind::Benign && mark.addr.checked_add(mark.size).is_none() => {
                return rule("a mark beyond the end of memory".to_owned());
            }
            Row::Mark(mark) => self.rewriter.mark(mark)?,
            Row::Image(image) => self.rewriter.image(image)?,
            Row::Event(event) => self.rewriter.event(event)?,
            Row::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}
