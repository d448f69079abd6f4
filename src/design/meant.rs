//! What a design means in a trace: code positions, cells and threads.

use super::{Atomic, Design, Stated, Variable};
use crate::symbols::{Frame, Symbols, file_name, same_function};
use crate::trace::{CellId, CodePosition, IncarnationId, StackId, ThreadId, Trace};
use hashbrown::HashMap;
use std::cell::RefCell;

/// What is meant of a trace.
pub struct Meant<'t> {
    design: &'t Design,
    trace: &'t Trace,
    symbols: &'t Symbols<'t>,
    threads: Threads,
    atomic: RefCell<HashMap<CodePosition, Vec<u32>>>,
}

/// What is said of threads.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// By thread: its priority, and the line that says so.
    priorities: Vec<Option<(i64, u32)>>,
    /// Who never runs at the same time.
    apart: Vec<Apart>,
}

/// Threads of which none ever runs at the same time as one of the others. Sets: their pairs are as many as the square.
#[derive(Clone, Debug)]
struct Apart {
    /// Whether each thread is one of the former, and of the latter.
    threads: [Vec<bool>; 2],
    /// The line that says so.
    line: u32,
}

impl Threads {
    /// The lines by which the second thread's operations never come between those of the first, as long as the first
    /// does not wait: its priority is not the higher one.
    #[must_use]
    pub fn keep_from_interrupting(&self, interrupted: ThreadId, by: ThreadId) -> Option<(u32, u32)> {
        let of = |thread: ThreadId| self.priorities.get(thread.index()).copied().flatten();
        let ((own, line), (other, other_line)) = (of(interrupted)?, of(by)?);
        (other <= own).then_some((line, other_line))
    }

    /// The line by which two threads never run at the same time.
    #[must_use]
    pub fn keep_apart(&self, one: ThreadId, other: ThreadId) -> Option<u32> {
        let apart = |said: &&Apart| {
            let [a, b] = &said.threads;
            let are = |one: ThreadId, other: ThreadId| a[one.index()] && b[other.index()];
            one != other && (are(one, other) || are(other, one))
        };
        self.apart.iter().find(apart).map(|said| said.line)
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.apart.is_empty() && self.priorities.iter().all(Option::is_none)
    }
}

impl<'t> Meant<'t> {
    /// Finds what a design names.
    #[must_use]
    pub fn of(design: &'t Design, trace: &'t Trace, symbols: &'t Symbols<'t>) -> Meant<'t> {
        let mut meant = Meant {
            design,
            trace,
            symbols,
            threads: Threads::default(),
            atomic: RefCell::default(),
        };
        if design.speaks_of_threads() {
            meant.threads = meant.find_threads();
        }
        meant
    }

    /// How many places are atomic.
    #[must_use]
    pub fn atomic_places(&self) -> u32 {
        self.design.atomic.len() as u32
    }

    /// Which of these a position is in.
    #[must_use]
    pub fn atomic(&self, position: CodePosition) -> Vec<u32> {
        if self.design.atomic.is_empty() {
            return Vec::new();
        }
        if let Some(known) = self.atomic.borrow().get(&position) {
            return known.clone();
        }
        let frames = self.symbols.frames(position);
        let places = (0..).zip(&self.design.atomic);
        let places = places.filter(|(_, stated)| frames.iter().any(|frame| is_in(&stated.what, frame)));
        let found: Vec<u32> = places.map(|(number, _)| number).collect();
        self.atomic.borrow_mut().insert(position, found.clone());
        found
    }

    /// What such a place is called.
    #[must_use]
    pub fn name_of(&self, place: u32) -> Option<String> {
        let stated = self.design.atomic.get(place as usize)?;
        Some(stated.what.to_string())
    }

    /// Redundant pairs, as the cells of both, with their names.
    #[must_use]
    pub fn redundant(&self) -> Vec<([String; 2], [Vec<CellId>; 2])> {
        let pairs = self.design.redundant.iter();
        pairs
            .map(|stated| {
                let cells = stated.what.each_ref().map(|variable| self.cells(variable));
                (stated.what.each_ref().map(ToString::to_string), cells)
            })
            .collect()
    }

    /// The cells of the variables of interest; `None` if nobody says what is.
    #[must_use]
    pub fn sliced(&self) -> Option<Vec<CellId>> {
        let slices = &self.design.slices;
        let cells = slices.iter().flat_map(|stated| self.cells(&stated.what));
        (!slices.is_empty()).then(|| cells.collect())
    }

    /// What is said of threads.
    #[must_use]
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// What the trace has nothing of, with the lines that name it.
    #[must_use]
    pub fn missing(&self) -> Vec<(u32, String)> {
        let mut missing = Vec::new();
        let mut used = vec![false; self.design.atomic.len()];
        if !used.is_empty() {
            let tables = self.trace.tables();
            let events = self.trace.accesses().map(|access| self.trace.pc(access.event));
            let mut positions: Vec<CodePosition> = events.collect();
            positions.extend(tables.stacks.iter().map(|node| node.call_site));
            positions.sort_unstable();
            positions.dedup();
            for place in positions.into_iter().flat_map(|position| self.atomic(position)) {
                used[place as usize] = true;
            }
        }
        let unused = self.design.atomic.iter().zip(used).filter(|(_, used)| !used);
        missing.extend(unused.map(|(stated, _)| (stated.line, format!("accesses nothing in {}", stated.what))));
        let pairs = self.design.redundant.iter();
        let variables = pairs.flat_map(|stated| stated.what.iter().map(|variable| (stated.line, variable)));
        let slices = self.design.slices.iter().map(|stated| (stated.line, &stated.what));
        for (line, variable) in variables.chain(slices) {
            if self.cells(variable).is_empty() {
                missing.push((line, format!("accesses no variable {variable}")));
            }
        }
        let priorities = self
            .design
            .priorities
            .iter()
            .map(|stated| (stated.line, &stated.what.0));
        let apart = self.design.apart.iter();
        let apart = apart.flat_map(|stated| stated.what.iter().map(|name| (stated.line, name)));
        let names = self.names_of_threads();
        for (line, name) in priorities.chain(apart) {
            if !names.iter().any(|names| names.are(name)) {
                missing.push((line, format!("has no thread {name}")));
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn cells(&self, variable: &Variable) -> Vec<CellId> {
        let all = (0..).map(CellId).zip(self.trace.cells());
        // Of what is accessed as one, the variable may be a part.
        let is_byte = |addr: u64| {
            let found = self.symbols.variable(addr).filter(|found| found.name == variable.name);
            found.is_some_and(|found| variable.offset.is_none_or(|offset| addr - found.addr == offset))
        };
        let meant = all.filter(|(_, cell)| {
            let is_static = cell.incarnation == IncarnationId::STATIC;
            is_static && (cell.addr..cell.addr + u64::from(cell.size)).any(is_byte)
        });
        meant.map(|(id, _)| id).collect()
    }

    fn find_threads(&self) -> Threads {
        let names = self.names_of_threads();
        let of = |name: &str| -> Vec<ThreadId> {
            let all = (0..).map(ThreadId).zip(&names);
            all.filter(|(_, names)| names.are(name))
                .map(|(thread, _)| thread)
                .collect()
        };
        let mut threads = Threads {
            priorities: vec![None; self.trace.threads()],
            apart: Vec::new(),
        };
        for Stated { line, what } in &self.design.priorities {
            for thread in of(&what.0) {
                threads.priorities[thread.index()].get_or_insert((what.1, *line));
            }
        }
        for Stated {
            line,
            what: [one, other],
        } in &self.design.apart
        {
            let are = |name: &str| -> Vec<bool> { names.iter().map(|names| names.are(name)).collect() };
            let sets = [are(one), are(other)];
            if sets.iter().all(|set| set.contains(&true)) {
                threads.apart.push(Apart {
                    threads: sets,
                    line: *line,
                });
            }
        }
        threads
    }

    fn names_of_threads(&self) -> Vec<Names> {
        let threads = (0..self.trace.threads() as u32).map(ThreadId);
        threads.map(|thread| self.names(thread)).collect()
    }

    /// What a thread is called: its name, and the functions that all it does is done in.
    fn names(&self, thread: ThreadId) -> Names {
        let tables = self.trace.tables();
        let mut common: Option<(Vec<CodePosition>, CodePosition)> = None;
        let mut last: Option<StackId> = None;
        for event in self.trace.program_order(thread) {
            let (pc, stack) = (self.trace.pc(event), self.trace.stack(event));
            if pc == 0 || last == Some(stack) {
                continue;
            }
            last = Some(stack);
            let mut sites: Vec<CodePosition> = tables.frames(stack).collect();
            sites.reverse();
            common = Some(match common {
                None => (sites, pc),
                Some((shared, position)) => {
                    let same = shared.iter().zip(&sites).take_while(|(a, b)| a == b).count();
                    let position = shared.get(same).copied().unwrap_or(position);
                    (shared[..same].to_vec(), position)
                }
            });
        }
        let positions = common.map_or_else(Vec::new, |(sites, position)| [sites, vec![position]].concat());
        let functions = positions
            .into_iter()
            .flat_map(|position| self.symbols.frames(position).to_vec())
            .filter_map(|frame| frame.function);
        Names {
            own: tables.threads.get(thread.index()).and_then(|info| info.name.clone()),
            functions: functions.collect(),
        }
    }
}

/// What a thread is called.
struct Names {
    own: Option<String>,
    functions: Vec<String>,
}

impl Names {
    fn are(&self, name: &str) -> bool {
        self.own.as_deref() == Some(name) || self.functions.iter().any(|function| same_function(function, name))
    }
}

/// Whether a frame is in code that is atomic.
fn is_in(place: &Atomic, frame: &Frame) -> bool {
    match place {
        Atomic::Function(name) => frame
            .function
            .as_deref()
            .is_some_and(|function| same_function(function, name)),
        Atomic::Lines { file, first, last } => {
            let here = frame.file.as_deref().is_some_and(|found| is_file(found, file));
            here && frame.line.is_some_and(|line| (*first..=*last).contains(&line))
        }
    }
}

/// Whether a path is that of the file that is meant, which may be named with some of its folders.
fn is_file(found: &str, meant: &str) -> bool {
    let meant = meant.trim_start_matches("./");
    match meant.contains('/') {
        true => found == meant || found.strip_suffix(meant).is_some_and(|before| before.ends_with('/')),
        false => file_name(found) == meant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use trace_format::{Event, MemRange, Op, SourceInfo, StackNode, Tables, VariableInfo};

    fn tables() -> Tables {
        let source = |pc, function: &str, line| SourceInfo {
            pc,
            function: Some(function.to_owned()),
            file: "src/a.c".to_owned(),
            line,
        };
        Tables {
            threads: vec![Default::default(); 3],
            sources: vec![source(1, "main", 5), source(2, "work", 9), source(3, "helper", 20)],
            stacks: vec![StackNode {
                parent: StackId::EMPTY,
                call_site: 2,
            }],
            variables: vec![VariableInfo {
                addr: 0x100,
                size: 8,
                name: "pair".to_owned(),
            }],
            ..Tables::default()
        }
    }

    fn trace() -> Trace {
        let event = |thread, pc, stack, addr| Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId(stack),
            op: Op::Read {
                mem: MemRange { addr, size: 4 },
                value: 0,
            },
        };
        let events = [event(0, 1, 0, 0x100), event(1, 3, 1, 0x104), event(1, 2, 0, 0x100)];
        Trace::from_events(tables(), &events)
    }

    #[test]
    fn names_are_found_in_a_trace() {
        let trace = trace();
        let symbols = Symbols::new(trace.tables());
        let text = "atomic: a.c:1-10\natomic: helper\natomic: b.c:1-10\nredundant: pair+0 pair+4\npriority: main 1\n\
                    priority: work 1\napart: work main\napart: main helper\nslice: pairs\n";
        let design = Design::parse(Path::new("d"), text).unwrap();
        let meant = Meant::of(&design, &trace, &symbols);
        assert_eq!((meant.atomic(2), meant.atomic(3)), (vec![0], vec![1]));
        let (_, [one, other]) = &meant.redundant()[0];
        assert_eq!((one.len(), other.len()), (1, 1));
        assert_ne!(one, other);
        assert_eq!(meant.sliced(), Some(Vec::new()));
        let (main, work) = (ThreadId(0), ThreadId(1));
        assert_eq!(meant.threads().keep_from_interrupting(main, work), Some((5, 6)));
        assert_eq!(meant.threads().keep_apart(main, work), Some(7));
        assert_eq!(meant.threads().keep_apart(main, ThreadId(2)), None);
        let missing: Vec<u32> = meant.missing().into_iter().map(|(line, _)| line).collect();
        // Not all that the second thread does is in the helper.
        assert_eq!(missing, [3, 8, 9]);
    }

    #[test]
    fn only_a_higher_priority_interrupts() {
        let threads = Threads {
            priorities: vec![Some((2, 1)), Some((1, 2)), None],
            apart: Vec::new(),
        };
        let (high, low, other) = (ThreadId(0), ThreadId(1), ThreadId(2));
        assert_eq!(threads.keep_from_interrupting(high, low), Some((1, 2)));
        assert_eq!(threads.keep_from_interrupting(low, high), None);
        assert_eq!(threads.keep_from_interrupting(high, other), None);
        assert_eq!(threads.keep_from_interrupting(low, low), Some((2, 2)));
    }

    #[test]
    fn a_file_is_named_with_some_of_its_folders() {
        assert!(is_file("/tmp/src/a.c", "a.c") && is_file("/tmp/src/a.c", "src/a.c") && is_file("a.c", "./a.c"));
        assert!(!is_file("/tmp/src/aa.c", "a.c") && !is_file("/tmp/xsrc/a.c", "src/a.c"));
    }
}
