//! A trace as STD text, for other tools.
//!
//! A variable is a cell of the model, so accesses that overlap in part become one line for each cell they share, and
//! reused memory is another variable. Events that STD lacks are left out and counted if they order nothing; if they
//! order threads (atomics, shared locks, barriers …) the export is refused, since other tools would report races that
//! are none.

use crate::semantics::Family;
use crate::symbols::Symbols;
use crate::trace::{AccessKind, CellId, IncarnationId, ObjectId, Op, ThreadId, Trace};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::io::{self, Write};
use trace_format::{NOBODYS, ObjectKind};

/// How many events of each kind were left out.
pub type LeftOut = BTreeMap<&'static str, u64>;

/// Why a trace cannot be written as STD.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// An event that orders threads in a way that STD cannot say.
    #[error("event {event} is {kind}, for which STD has no words; export to jsonl, which has")]
    Inexpressible {
        /// Its number.
        event: u32,
        /// What it is.
        kind: &'static str,
    },
    /// The destination cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes a trace as STD, and says what was left out.
///
/// # Errors
/// [`ExportError`].
pub fn export(trace: &Trace, out: &mut dyn Write) -> Result<LeftOut, ExportError> {
    let names = Names::of(trace);
    let symbols = Symbols::new(trace.tables());
    let mut places: HashMap<u64, String> = HashMap::new();
    let mut left_out = LeftOut::new();
    // What a recorder notes for those who may ask, in variables that no program has, orders nothing if nobody asks.
    let asked: HashSet<CellId> = trace
        .accesses()
        .filter(|access| access.addr >= NOBODYS && access.kind.reads())
        .flat_map(|access| trace.uses(access).map(|used| used.cell))
        .collect();
    for event in trace.events() {
        let pc = trace.pc(event);
        let place = places.entry(pc).or_insert_with(|| match pc {
            0 => String::new(),
            pc => symbols
                .place(pc)
                .replace(|c: char| c == '|' || c.is_whitespace() || c.is_control(), "_"),
        });
        let thread = names.thread(trace.thread(event));
        let inexpressible = |kind| ExportError::Inexpressible { event: event.0, kind };
        let mut put = |operation: &str| writeln!(out, "{thread}|{operation}|{place}");
        match trace.op(event) {
            Op::Begin => put("begin")?,
            Op::End => put("end")?,
            Op::Fork { child } => put(&format!("fork({})", names.thread(child)))?,
            Op::Join { child } => put(&format!("join({})", names.thread(child)))?,
            Op::Acquire { lock } => put(&format!("acq({})", names.object(lock)))?,
            Op::Release { lock } => put(&format!("rel({})", names.object(lock)))?,
            // There, a wait ends with its thread's next event.
            Op::WaitBegin { .. } if trace.wait_end(event) != trace.successor(event) => {
                return Err(inexpressible("a wait that a signal handler interrupts"));
            }
            Op::WaitBegin { condition, lock } => {
                put(&format!("rel({})", names.object(lock)))?;
                put(&format!("wait({})", names.object(condition)))?;
            }
            Op::WaitEnd { lock, .. } => put(&format!("acq({})", names.object(lock)))?,
            Op::Notify { condition } => put(&format!("notify({})", names.object(condition)))?,
            Op::NotifyAll { condition } => put(&format!("notifyAll({})", names.object(condition)))?,
            Op::Branch => put("branch")?,
            Op::Access => {
                let Some(access) = trace.access(event) else { continue };
                let operation = match access.kind {
                    AccessKind::Read => "r",
                    AccessKind::Write | AccessKind::Destroy => "w",
                    AccessKind::Free => {
                        *left_out.entry("free").or_default() += 1;
                        continue;
                    }
                    AccessKind::Use => {
                        *left_out.entry("use").or_default() += 1;
                        continue;
                    }
                    AccessKind::AtomicStore
                        if access.addr >= NOBODYS && !trace.uses(access).any(|used| asked.contains(&used.cell)) =>
                    {
                        *left_out.entry("note").or_default() += 1;
                        continue;
                    }
                    _ => return Err(inexpressible("an atomic access")),
                };
                for used in trace.uses(access) {
                    put(&format!("{operation}({})", names.variable(used.cell)))?;
                }
            }
            Op::Alloc { .. } => *left_out.entry("alloc").or_default() += 1,
            Op::Input { .. } => *left_out.entry("input").or_default() += 1,
            Op::Output { .. } => *left_out.entry("output").or_default() += 1,
            Op::Fence { .. } => *left_out.entry("fence").or_default() += 1,
            op => {
                return Err(inexpressible(match (op, Family::of(op)) {
                    (Op::AcquireShared { .. }, _) => "an acquire of a shared lock",
                    (Op::AcquireFailed { .. }, _) => "a failed acquire",
                    (_, Family::Barriers) => "at a barrier",
                    (_, Family::Semaphores) => "at a semaphore",
                    (_, Family::Onces) => "a once-only initialization",
                    _ => "an operation of another kind",
                }));
            }
        }
    }
    Ok(left_out)
}

/// What threads, objects and variables are called: as in the trace, if STD can say all of these names.
struct Names {
    threads: Vec<String>,
    objects: Vec<String>,
    variables: Vec<String>,
}

impl Names {
    fn of(trace: &Trace) -> Names {
        let tables = trace.tables();
        let threads: Option<Vec<String>> = tables.threads.iter().map(|row| row.name.clone()).collect();
        let is_usual = |name: &String| {
            let number = name.strip_prefix('T').unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let threads = threads.filter(|names| names.iter().all(is_usual) && distinct(names.iter()));
        let objects: Option<Vec<String>> = tables.objects.iter().map(|row| row.name.clone()).collect();
        let plain = |name: &String| {
            let odd = |c: char| c.is_whitespace() || c.is_control() || "|()".contains(c);
            !name.is_empty() && !name.contains(odd)
        };
        // A lock and a condition may have one name: which is meant follows from the operation.
        let objects = objects.filter(|names| {
            let roles = names.iter().zip(&tables.objects);
            names.iter().all(plain) && distinct(roles.map(|(name, row)| (name, row.kind == ObjectKind::Condition)))
        });
        let rows = tables.variables.iter().map(|row| ((row.addr, row.size), &row.name));
        let rows: HashMap<(u64, u64), &String> = rows.collect();
        let variables: Option<Vec<String>> = trace
            .cells()
            .iter()
            .map(|cell| {
                let is_static = cell.incarnation == IncarnationId::STATIC;
                let name = rows.get(&(cell.addr, cell.size.into())).filter(|_| is_static);
                name.map(|&name| name.clone())
            })
            .collect();
        let variables = variables.filter(|names| names.iter().all(plain) && distinct(names.iter()));
        Names {
            threads: threads.unwrap_or_default(),
            objects: objects.unwrap_or_default(),
            variables: variables.unwrap_or_default(),
        }
    }

    fn thread(&self, thread: ThreadId) -> String {
        let name = self.threads.get(thread.index()).cloned();
        name.unwrap_or_else(|| format!("T{}", thread.0))
    }

    fn variable(&self, cell: CellId) -> String {
        let name = self.variables.get(cell.index()).cloned();
        name.unwrap_or_else(|| format!("V{}", cell.0))
    }

    fn object(&self, object: ObjectId) -> String {
        let name = self.objects.get(object.index()).cloned();
        name.unwrap_or_else(|| format!("L{}", object.0))
    }
}

fn distinct<T: std::hash::Hash + Eq>(names: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
