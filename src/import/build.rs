//! From records to a trace of our own: addresses, values, rows of the tables.
//!
//! Each write of a variable stores the number of writes before it plus one, and each read sees the last, so that under
//! condition 2 of `docs/SEMANTICS.md` a read keeps its writer. This is the strictest reading of a trace without values:
//! it may lose races and invents none. Before the first write a variable holds 0.

use super::Format;
use super::error::ImportError;
use super::record::Names;
use super::survey::Survey;
use hashbrown::HashMap;
use trace_format::{
    MemRange, MemoryOrder, Meta, ObjectId, ObjectInfo, ObjectKind, Op, ProgramEnd, SourceInfo, ThreadId, ThreadInfo,
    TraceWriter, VariableInfo, WriteError, WriterOptions,
};

/// First address of variables, each of which has 8 bytes.
const VARIABLES_AT: u64 = 0x10_0000;
const SIZE: u8 = 8;
/// Positions of accesses that do not say where they are: their lines, above all numbered positions.
const LINES_AT: u64 = 1 << 32;

/// An access to a variable.
#[derive(Clone, Copy)]
pub(super) enum Access {
    Read,
    Write,
    VolatileRead,
    VolatileWrite,
}

/// A trace being built.
pub(super) struct Build {
    file: String,
    format: Format,
    writer: TraceWriter<Vec<u8>>,
    /// By variable: how often it was written.
    writes: Vec<u64>,
    locks: HashMap<u32, ObjectId>,
    conditions: HashMap<u32, ObjectId>,
}

impl Build {
    pub(super) fn new(file: &str, format: Format, names: &Names, survey: &Survey) -> Result<Build, ImportError> {
        let writer = TraceWriter::to_sink(file, Vec::new(), &WriterOptions::default());
        let mut build = Build {
            file: file.to_owned(),
            format,
            writer: writer.map_err(|source| row(file, 0, source))?,
            writes: vec![0; names.variables.len()],
            locks: HashMap::new(),
            conditions: HashMap::new(),
        };
        for name in names.threads.iter() {
            build.writer.define_thread(thread(name, None));
        }
        for (number, name) in (0..).zip(names.locks.iter()) {
            let mut define = |kind| {
                let name = Some(name.to_owned());
                build.writer.define_object(ObjectInfo {
                    kind,
                    addr: 0,
                    name,
                    initial: 0,
                })
            };
            if survey.locks.contains(&number) {
                let kind = if survey.shared.contains(&number) {
                    ObjectKind::RwLock
                } else if survey.recursive.contains(&number) {
                    ObjectKind::RecursiveMutex
                } else {
                    ObjectKind::Mutex
                };
                build.locks.insert(number, define(kind));
            }
            if survey.conditions.contains(&number) {
                build.conditions.insert(number, define(ObjectKind::Condition));
            }
        }
        for (number, name) in (0..).zip(names.variables.iter()) {
            build.writer.define_variable(VariableInfo {
                addr: address(number),
                size: SIZE.into(),
                name: name.to_owned(),
            });
        }
        for (pc, label) in (1..).zip(names.positions.iter()) {
            build.writer.define_source(source(pc, label));
        }
        Ok(build)
    }

    /// Where an event is; `line` stands in for a position that an access does not say.
    pub(super) fn position(&mut self, position: Option<u32>, line: u64, is_access: bool) -> u64 {
        match position {
            Some(number) => u64::from(number) + 1,
            None if is_access => {
                let name = self.file.rsplit('/').next().unwrap_or_default();
                let (pc, file) = (LINES_AT.saturating_add(line), name.to_owned());
                let line = u32::try_from(line).unwrap_or(0);
                self.writer.define_source(SourceInfo {
                    pc,
                    function: None,
                    file,
                    line,
                });
                pc
            }
            None => 0,
        }
    }

    pub(super) fn event(&mut self, line: u64, thread: u32, pc: u64, op: Op) -> Result<(), ImportError> {
        let written = self.writer.event(ThreadId(thread), pc, op);
        written.map(|_| ()).map_err(|source| row(&self.file, line, source))
    }

    pub(super) fn access(
        &mut self,
        line: u64,
        thread: u32,
        pc: u64,
        variable: u32,
        access: Access,
    ) -> Result<(), ImportError> {
        let mem = MemRange {
            addr: address(variable),
            size: SIZE,
        };
        let index = variable as usize;
        if matches!(access, Access::Write | Access::VolatileWrite) {
            self.writes[index] += 1;
        }
        let (value, order) = (self.writes[index], MemoryOrder::SeqCst);
        let op = match access {
            Access::Read => Op::Read { mem, value },
            Access::Write => Op::Write { mem, value },
            Access::VolatileRead => Op::AtomicLoad { mem, value, order },
            Access::VolatileWrite => Op::AtomicStore { mem, value, order },
        };
        self.event(line, thread, pc, op)
    }

    pub(super) fn lock(&self, name: u32) -> ObjectId {
        self.locks.get(&name).copied().unwrap_or(ObjectId(u32::MAX))
    }

    pub(super) fn condition(&self, name: u32) -> ObjectId {
        self.conditions.get(&name).copied().unwrap_or(ObjectId(u32::MAX))
    }

    /// Notes who created a thread. The format wants parents before their children.
    pub(super) fn created(&mut self, parent: u32, child: u32, name: &str) {
        if parent < child {
            self.writer
                .update_thread(ThreadId(child), thread(name, Some(ThreadId(parent))));
        }
    }

    /// Ends the trace, and gives the bytes of its file.
    pub(super) fn finish(mut self, repairs: usize) -> Result<Vec<u8>, ImportError> {
        let mut degraded = Vec::new();
        if repairs > 0 {
            degraded.push(format!("it was mended when it was imported: {repairs} repairs"));
        }
        if self.format == Format::RvPredict {
            let reason = "its records do not say which fields are volatile (a race on such a field is none), nor which \
                          class an initializer is of (what those do is left out)";
            degraded.push(reason.to_owned());
        }
        self.writer.set_meta(Meta {
            producer: format!("witness {} import of {}", env!("CARGO_PKG_VERSION"), self.format),
            degraded,
            ..Meta::default()
        });
        let finished = self.writer.finish_sink(ProgramEnd::Unknown);
        let (_, bytes) = finished.map_err(|source| row(&self.file, 0, source))?;
        Ok(bytes)
    }
}

/// Where a variable is.
fn address(variable: u32) -> u64 {
    VARIABLES_AT + u64::from(SIZE) * u64::from(variable)
}

fn row(file: &str, line: u64, source: WriteError) -> ImportError {
    let file = file.to_owned();
    ImportError::Row { file, line, source }
}

fn thread(name: &str, parent: Option<ThreadId>) -> ThreadInfo {
    let name = Some(name.to_owned());
    ThreadInfo { name, parent, os_id: 0 }
}

/// A position: `path:line`, `path:line:column`, or any label.
fn source(pc: u64, label: &str) -> SourceInfo {
    let number = |text: &str| text.parse::<u32>().ok().filter(|&line| line > 0);
    let place = label.rsplit_once(':').and_then(|(rest, last)| {
        let last = number(last)?;
        let with_column = rest
            .rsplit_once(':')
            .and_then(|(path, line)| Some((path, number(line)?)));
        Some(with_column.unwrap_or((rest, last)))
    });
    let (file, line) = match place {
        Some((path, line)) if !path.is_empty() => (path, line),
        _ => (label, 0),
    };
    let (file, function) = (file.to_owned(), None);
    SourceInfo {
        pc,
        function,
        file,
        line,
    }
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn a_position_is_a_line_if_it_says_one() {
        for (label, file, line) in [
            ("12", "12", 0),
            ("a/b.c:12", "a/b.c", 12),
            ("B.java:50:7", "B.java", 50),
            ("C:\\x.c:3", "C:\\x.c", 3),
            (":7", ":7", 0),
            ("x:0", "x:0", 0),
            ("a:b", "a:b", 0),
        ] {
            let found = source(1, label);
            assert_eq!((found.file.as_str(), found.line), (file, line), "{label}");
        }
    }
}
