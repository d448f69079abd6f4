//! Threads, objects, memory and events in words, for every report that people read.

use crate::schedule::Goal;
use crate::semantics;
use crate::session::plan::SIGNALS;
use crate::symbols::{Frame, Symbols, printable};
use crate::trace::{Access, AccessKind, CellId, EventId, IncarnationId, ObjectId, Op, ThreadId, Trace};
use trace_format::{NOBODYS, ObjectKind, descriptor};

/// What reports call what a schedule shows.
#[must_use]
pub fn name_of(goal: &Goal) -> &'static str {
    match goal {
        Goal::Race(..) => "data race",
        Goal::UnorderedRace(..) => "unordered data race",
        // No other one than 0 is reported.
        Goal::OtherValue { .. } => "null pointer",
        Goal::StalePointer { .. } => "stale pointer",
        Goal::Deadlock(_) => "deadlock",
        Goal::PartialDeadlock(_) => "partial deadlock",
        Goal::UseAfterFree { .. } => "use after free",
        Goal::AtomicityViolation { .. } => "atomicity violation",
        Goal::TornPair { .. } => "torn pair",
        Goal::Order { .. } => "order violation",
    }
}

/// Says things about one trace.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its symbols.
    pub symbols: &'a Symbols<'a>,
}

impl Words<'_> {
    /// `thread 1 'worker'`.
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> String {
        match self.thread_name(thread) {
            Some(name) => format!("thread {} '{}'", thread.0, printable(name)),
            None if thread.0 == 0 => "thread 0 (main)".to_owned(),
            None => format!("thread {}", thread.0),
        }
    }

    /// The name of a thread.
    #[must_use]
    pub fn thread_name(&self, thread: ThreadId) -> Option<&str> {
        self.trace.tables().threads.get(thread.index())?.name.as_deref()
    }

    /// `mutex m`: by its name in the trace, else the variable that it is, else its address.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> String {
        let Some(object) = self.trace.tables().object(id) else {
            return format!("object {}", id.0);
        };
        let kind = match object.kind {
            ObjectKind::Mutex => "mutex",
            ObjectKind::RecursiveMutex => "recursive mutex",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::SpinLock => "spin lock",
            ObjectKind::Condition => "condition",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Once => "once cell",
            ObjectKind::Source => "source",
        };
        match &object.name {
            Some(name) => format!("{kind} {}", printable(name)),
            None if object.is_lock_of_system() => {
                format!("the system's lock of futex {}", self.address(object.addr & !NOBODYS))
            }
            None if object.addr == 0 => format!("{kind} {}", id.0),
            None if object.kind == ObjectKind::Source && object.addr >= SIGNALS => "outside, as a signal".to_owned(),
            None if object.kind == ObjectKind::Source && object.addr >= NOBODYS => "a call of a library".to_owned(),
            None => format!("{kind} {}", self.address(object.addr)),
        }
    }

    /// An address of static memory: the variable there, else the number.
    fn address(&self, addr: u64) -> String {
        match self.symbols.variable(addr) {
            Some(variable) if variable.addr == addr => printable(&variable.name).into_owned(),
            Some(variable) => format!("{}+{}", printable(&variable.name), addr - variable.addr),
            None if addr >= NOBODYS => match descriptor(addr) {
                Some(file) => format!("descriptor {file}"),
                None => format!("a variable of the recorder's own, {addr:#x}"),
            },
            None => format!("{addr:#x}"),
        }
    }

    /// The name of the static variable that an access touches.
    #[must_use]
    pub fn variable(&self, access: Access) -> Option<String> {
        let variable = (self.trace.incarnation_of(access.event) == IncarnationId::STATIC)
            .then(|| self.symbols.variable(access.addr));
        variable.flatten().map(|variable| variable.name)
    }

    /// What an access touches: a variable, else address and size.
    #[must_use]
    pub fn memory(&self, access: Access) -> String {
        let variable = (self.trace.incarnation_of(access.event) == IncarnationId::STATIC)
            .then(|| self.symbols.variable(access.addr));
        match variable.flatten() {
            Some(variable) if variable.addr == access.addr && variable.size == access.size => {
                printable(&variable.name).into_owned()
            }
            Some(_) => format!("{} at {}", bytes(access.size), self.address(access.addr)),
            None if access.addr >= NOBODYS => self.address(access.addr),
            None => format!("{} at {:#x}", bytes(access.size), access.addr),
        }
    }

    /// The whole variable that an access touches, if the trace itself names it. Its address and size
    /// are no more than numbers that the import gave it.
    #[must_use]
    pub fn imported_variable(&self, access: Access) -> Option<String> {
        let named = (self.trace.incarnation_of(access.event) == IncarnationId::STATIC)
            .then(|| self.symbols.variable(access.addr));
        let whole = named.flatten().filter(|variable| {
            variable.module.is_none() && (variable.addr, variable.size) == (access.addr, access.size)
        });
        whole.map(|variable| printable(&variable.name).into_owned())
    }

    /// A cell: a variable, else its address.
    #[must_use]
    pub fn cell(&self, id: CellId) -> String {
        let cell = self.trace.cell(id);
        if cell.incarnation == IncarnationId::STATIC {
            self.address(cell.addr)
        } else {
            format!("{:#x}", cell.addr)
        }
    }

    /// The values that an access saw and left, as little-endian numbers.
    #[must_use]
    pub fn values(&self, access: Access) -> (u64, u64) {
        let uses = self.trace.numbers(access);
        uses.fold((0, 0), |(read, written), used| {
            let shift = 8 * (self.trace.cell(used.cell).addr - access.addr) as u32;
            let placed = |value: u64| value.checked_shl(shift).unwrap_or(0);
            (read | placed(used.read), written | placed(used.written))
        })
    }

    /// Where an event is, for those who know the program: the innermost activation outside of the
    /// headers and libraries of the system, else the innermost one.
    #[must_use]
    pub fn frame(&self, event: EventId) -> Frame {
        let mut stack = self.symbols.along(self.trace.pc(event), self.trace.stack(event));
        let own = |frame: &&Frame| frame.file.as_deref().is_some_and(|file| !is_of_the_system(file));
        let innermost = || self.symbols.frame(self.trace.pc(event));
        let found = stack.find_map(|frames| frames.iter().find(own).cloned());
        found.unwrap_or_else(innermost)
    }

    /// Where the accesses of a goal are: `a.c:17 and b.c:4`.
    #[must_use]
    pub fn places(&self, goal: &Goal) -> String {
        let places: Vec<String> = goal.events().map(|event| self.place(event)).collect();
        places.join(" and ")
    }

    /// `file:line` of an event; of what the runtime does for a thread outside of the program's code, which part of its
    /// life it is.
    #[must_use]
    pub fn place(&self, event: EventId) -> String {
        let frame = self.frame(event);
        if frame.pc != 0 || frame.file.is_some() {
            return frame.place();
        }
        let thread = self.trace.thread(event);
        let mut known = self
            .trace
            .program_order(thread)
            .filter(|&event| self.trace.pc(event) != 0);
        let (first, last) = (known.next(), known.next_back());
        match first {
            Some(first) if event < first => format!("the start of {}", self.thread(thread)),
            Some(first) if event > last.unwrap_or(first) => format!("the end of {}", self.thread(thread)),
            _ => frame.place(),
        }
    }

    /// `thread 1 'worker' locks mutex m at a.c:12`.
    #[must_use]
    pub fn sentence(&self, event: EventId) -> String {
        let thread = self.thread(self.trace.thread(event));
        let action = self.describe_event(event, &[]);
        match self.trace.op(event) {
            Op::Begin | Op::End if self.trace.pc(event) == 0 => format!("{thread} {action}"),
            _ => format!("{thread} {action} at {}", self.place(event)),
        }
    }

    /// The kind of an access as a noun: `write`, `atomic read`.
    #[must_use]
    pub fn access_kind(&self, kind: AccessKind) -> &'static str {
        match kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::AtomicLoad => "atomic read",
            AccessKind::AtomicStore => "atomic write",
            AccessKind::AtomicRmw => "atomic read-modify-write",
            AccessKind::Use => "use",
            AccessKind::Destroy => "destruction",
            AccessKind::Free => "free",
        }
    }

    /// An access as a noun: as its kind, but descriptors are closed and not freed.
    #[must_use]
    pub fn access_noun(&self, access: Access) -> &'static str {
        match access.kind {
            AccessKind::Write | AccessKind::Free if descriptor(access.addr).is_some() => "close",
            kind => self.access_kind(kind),
        }
    }

    /// `descriptor 5`, if that is what an access touches.
    #[must_use]
    pub fn descriptor(&self, access: Access) -> Option<String> {
        descriptor(access.addr).map(|_| self.address(access.addr))
    }

    /// What an access touches, where its kind is said: a variable of an imported trace, a descriptor, else its size and
    /// the address, which may be another one in a live run.
    #[must_use]
    pub fn touched(&self, access: Access, addr: u64) -> String {
        match self.imported_variable(access) {
            Some(name) => format!("'{name}'"),
            None if descriptor(access.addr).is_some() => self.address(access.addr),
            None => format!("size {} at {addr:#x}", access.size),
        }
    }

    /// What an access is about to do, when its value is not known to be the recorded one.
    #[must_use]
    pub fn intent(&self, access: Access) -> String {
        let memory = self.memory(access);
        match access.kind {
            AccessKind::Write | AccessKind::Free if descriptor(access.addr).is_some() => format!("closes {memory}"),
            AccessKind::Read => format!("reads {memory}"),
            AccessKind::Write => format!("writes {memory}"),
            AccessKind::AtomicLoad => format!("loads {memory}"),
            AccessKind::AtomicStore => format!("stores to {memory}"),
            AccessKind::AtomicRmw => format!("updates {memory}"),
            AccessKind::Use => format!("uses {memory}"),
            AccessKind::Destroy => format!("destroys the object of {memory}"),
            AccessKind::Free => format!("frees {memory}"),
        }
    }

    fn access(&self, access: Access) -> String {
        let intent = self.intent(access);
        let (read, written) = self.values(access);
        match access.kind {
            AccessKind::Read | AccessKind::AtomicLoad => format!("{intent} = {}", value(read)),
            AccessKind::Write if descriptor(access.addr).is_some() => intent,
            AccessKind::Write | AccessKind::AtomicStore => format!("{intent} = {}", value(written)),
            AccessKind::AtomicRmw => format!("{intent}: {} → {}", value(read), value(written)),
            AccessKind::Use | AccessKind::Destroy | AccessKind::Free => intent,
        }
    }

    /// What an event does, as a predicate: `locks mutex m`. `woken` is whom a notify wakes.
    #[must_use]
    pub fn describe_event(&self, event: EventId, woken: &[ThreadId]) -> String {
        let wakes = || match woken {
            [] => String::new(),
            woken => {
                let woken: Vec<String> = woken.iter().map(|&thread| self.thread(thread)).collect();
                format!(", wakes {}", woken.join(", "))
            }
        };
        match self.trace.op(event) {
            Op::Begin => "begins".to_owned(),
            Op::End => "ends".to_owned(),
            Op::Fork { child } => format!("creates {}", self.thread(child)),
            Op::Join { child } => format!("joins {}", self.thread(child)),
            Op::Access => self
                .trace
                .access(event)
                .map_or_else(String::new, |access| self.access(access)),
            Op::Fence { order } => format!("passes a fence ({order:?})"),
            Op::Alloc { incarnation } => {
                let block = self.trace.incarnation(incarnation);
                if let Some(file) = descriptor(block.addr) {
                    return format!("opens descriptor {file}");
                }
                format!("allocates {} at {:#x}", bytes(block.size), block.addr)
            }
            Op::Branch => "branches".to_owned(),
            op => semantics::words(op, &|object| self.object(object), &value, &wakes()).unwrap_or_default(),
        }
    }
}

/// Whether a source file came with the compiler or the system.
fn is_of_the_system(file: &str) -> bool {
    ["/usr/include/", "/usr/lib/", "/rustc/"]
        .iter()
        .any(|folder| file.starts_with(folder))
}

fn bytes(count: u64) -> String {
    if count == 1 {
        "1 byte".to_owned()
    } else {
        format!("{count} bytes")
    }
}

/// A value: small ones as people count, others as they look in memory.
#[must_use]
pub fn value(value: u64) -> String {
    if value < 100_000 {
        value.to_string()
    } else {
        format!("{value:#x}")
    }
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{StackId, Tables};
    use trace_format::{Event, MemRange, MemoryOrder, ObjectInfo, Op as FileOp, SourceInfo, StackNode};

    #[test]
    fn what_the_recorder_adds_is_said_to_be_its_own() {
        let tables = Tables {
            objects: vec![ObjectInfo {
                kind: ObjectKind::Source,
                addr: NOBODYS | 0x20,
                name: None,
                initial: 0,
            }],
            ..Tables::default()
        };
        let mem = MemRange {
            addr: NOBODYS | 8,
            size: 4,
        };
        let block = MemRange {
            addr: NOBODYS | 1 << 57 | 5 << 32 | 3 << 3,
            size: 4,
        };
        let standard = MemRange {
            addr: NOBODYS | 1 << 57,
            size: 4,
        };
        let order = MemoryOrder::SeqCst;
        let source = ObjectId(0);
        let ops = [
            FileOp::Input { source, value: 5 },
            FileOp::AtomicLoad { mem, order, value: 1 },
            FileOp::Alloc {
                addr: block.addr,
                size: 4,
            },
            FileOp::Use { mem: block },
            FileOp::Free { addr: block.addr },
            FileOp::Write {
                mem: standard,
                value: 0,
            },
        ];
        let event = |op| Event {
            thread: ThreadId(0),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(tables, &ops.map(event));
        let symbols = Symbols::new(trace.tables());
        let words = Words {
            trace: &trace,
            symbols: &symbols,
        };
        let said: Vec<String> = trace.events().map(|event| words.describe_event(event, &[])).collect();
        assert_eq!(said[0], "gets 5 from a call of a library");
        assert_eq!(
            said[1],
            "loads a variable of the recorder's own, 0x8000000000000008 = 1"
        );
        let descriptors = ["opens", "uses", "closes"].map(|action| format!("{action} descriptor 5"));
        assert_eq!(said[2..5], descriptors);
        assert_eq!(said[5], "closes descriptor 0");
    }

    #[test]
    fn an_event_in_a_system_header_is_placed_where_the_program_called_it() {
        let source = |pc, file: &str| SourceInfo {
            pc,
            function: None,
            file: file.to_owned(),
            line: pc as u32,
        };
        let tables = Tables {
            sources: vec![
                source(1, "main.cc"),
                source(2, "/usr/include/c++/12/mutex"),
                source(3, "own.h"),
            ],
            stacks: vec![StackNode {
                parent: StackId::EMPTY,
                call_site: 1,
            }],
            ..Tables::default()
        };
        let event = |pc, stack| Event {
            thread: ThreadId(0),
            pc,
            stack: StackId(stack),
            op: FileOp::Branch,
        };
        let trace = Trace::from_events(tables, &[event(2, 1), event(3, 1), event(2, 0)]);
        let symbols = Symbols::new(trace.tables());
        let words = Words {
            trace: &trace,
            symbols: &symbols,
        };
        let places: Vec<String> = trace.events().map(|event| words.place(event)).collect();
        assert_eq!(places, ["main.cc:1", "own.h:3", "/usr/include/c++/12/mutex:2"]);
    }
}
