//! Names for addresses: code positions to file, line and function, data addresses to variables.
//!
//! The trace's own `sources` table comes first. Otherwise a position is the return address of an instrumentation call,
//! so the instruction is the one before: the debug information of the module is asked for `pc - 1 - base`, and gives
//! inlined frames too. If the file of a module is not the recorded one (another build id), it is not asked, since its
//! answers would be wrong without looking wrong; [`Symbols::problems`] says so. Without debug information a position is
//! shown as module and offset. Paths are shown as recorded. A variable of the trace's own `variables` table (imported
//! traces) comes before one of a module.

mod called_back;
mod calls;
mod carriers;
mod compared;
mod compilers;
mod imports;
mod left_out;
mod machine_code;
mod module;
mod names;
mod places;
mod relocatable;
mod system_calls;
mod uninstrumented;
mod unrecorded;

use crate::trace::{CodePosition, StackId, Tables};
use hashbrown::HashMap;
use module::Module;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

pub use crate::escape::printable;
pub use compared::Comparisons;
pub use compilers::gcc_flags;
pub use imports::imports;
pub use left_out::{LeftOut, left_out_of};
pub use module::Problem;
pub use names::{bare, file_name, same_function};
pub use places::Places;
pub use system_calls::system_calls;
pub use uninstrumented::uninstrumented;
pub use unrecorded::{HiddenStretches, Suspects, UnrecordedCalls};

/// One function activation at a code position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The function, demangled.
    pub function: Option<String>,
    /// The source file, as recorded by the compiler.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The module and the offset of the instruction in it, for positions that lie in one.
    pub module: Option<(String, u64)>,
    /// The position itself.
    pub pc: CodePosition,
}

impl Frame {
    /// `file:line`, else `module+offset`, else the bare address.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.file, self.line, &self.module) {
            (Some(file), Some(line), _) => format!("{}:{line}", printable(of_library(file))),
            (Some(file), None, _) => printable(of_library(file)).into_owned(),
            (None, _, Some((module, offset))) => format!("{}+{offset:#x}", printable(file_name(module))),
            (None, _, None) if self.pc == 0 => "an unknown place".to_owned(),
            (None, _, None) => format!("{:#x}", self.pc),
        }
    }
}

/// A source file of Rust's standard library or of a published crate, without the toolchain's or the registry's folder:
/// every line of a report would be long, and alike up to there. Other files as they are.
fn of_library(file: &str) -> &str {
    for folder in ["/lib/rustlib/src/rust/library/", "/registry/src/"] {
        if let Some((_, inside)) = file.split_once(folder) {
            // The registry's own name comes before the crate's.
            let named = folder.starts_with("/registry");
            return inside
                .split_once('/')
                .filter(|_| named)
                .map_or(inside, |(_, inside)| inside);
        }
    }
    let compiled = file
        .strip_prefix("/rustc/")
        .and_then(|rest| rest.split_once("/library/"));
    compiled.map_or(file, |(_, inside)| inside)
}

impl fmt::Display for Frame {
    /// As ThreadSanitizer writes a frame: function, file and line, module and offset.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = printable(self.function.as_deref().unwrap_or("<unknown>"));
        match (&self.file, &self.module) {
            (Some(_), Some((module, offset))) => {
                write!(
                    f,
                    "{function} {} ({}+{offset:#x})",
                    self.place(),
                    printable(file_name(module))
                )
            }
            (None, Some((module, offset))) => write!(f, "{function} ({}+{offset:#x})", printable(file_name(module))),
            _ => write!(f, "{function} {}", self.place()),
        }
    }
}

/// Longer programs and libraries are not looked into.
const LARGEST: u64 = 4 << 30;

/// The file of a module. Traces name whatever they like: only regular files are read.
fn read_file(path: impl AsRef<Path>) -> std::io::Result<Vec<u8>> {
    safe_files::read_named(path.as_ref(), LARGEST)
}

/// A variable that is not on a heap or stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, demangled, or as the trace has it.
    pub name: String,
    /// Its run-time address.
    pub addr: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The module that it is in; `None` if the trace itself knows it.
    pub module: Option<String>,
}

/// The symbols of one trace. Answers are cached, and modules are opened when they are first asked.
pub struct Symbols<'t> {
    tables: &'t Tables,
    sources: HashMap<CodePosition, usize>,
    /// Rows of the variables that the trace itself knows, by first byte.
    variables: BTreeMap<u64, usize>,
    modules: Vec<OnceCell<Module>>,
    known: RefCell<HashMap<CodePosition, Rc<[Frame]>>>,
    unrecorded: OnceCell<UnrecordedCalls>,
    places: OnceCell<Places>,
}

impl<'t> Symbols<'t> {
    /// The symbols of a trace with these tables.
    #[must_use]
    pub fn new(tables: &'t Tables) -> Symbols<'t> {
        let positions = tables.sources.iter().enumerate();
        let variables = tables.variables.iter().enumerate();
        Symbols {
            tables,
            sources: positions.map(|(row, source)| (source.pc, row)).collect(),
            variables: variables.map(|(row, variable)| (variable.addr, row)).collect(),
            modules: tables.modules.iter().map(|_| OnceCell::new()).collect(),
            known: RefCell::default(),
            unrecorded: OnceCell::new(),
            places: OnceCell::new(),
        }
    }

    /// The calls of code that was not recorded.
    #[must_use]
    pub fn unrecorded(&self) -> &UnrecordedCalls {
        self.unrecorded.get_or_init(|| UnrecordedCalls::of(self.tables))
    }

    /// The function activations at a code position, innermost (inlined) first; never empty.
    #[must_use]
    pub fn frames(&self, pc: CodePosition) -> Rc<[Frame]> {
        if let Some(known) = self.known.borrow().get(&pc) {
            return Rc::clone(known);
        }
        let frames: Rc<[Frame]> = self.look_up(pc).into();
        self.known.borrow_mut().insert(pc, Rc::clone(&frames));
        frames
    }

    /// The innermost activation at a code position.
    #[must_use]
    pub fn frame(&self, pc: CodePosition) -> Frame {
        self.frames(pc)[0].clone()
    }

    /// `file:line` of a code position, or what comes closest.
    #[must_use]
    pub fn place(&self, pc: CodePosition) -> String {
        self.frames(pc)[0].place()
    }

    /// All activations at a code position that was reached through `stack`, innermost first.
    #[must_use]
    pub fn stack(&self, pc: CodePosition, stack: StackId) -> Vec<Frame> {
        self.along(pc, stack).flat_map(|frames| frames.to_vec()).collect()
    }

    /// The activations at a code position and at those that it was reached through, for whoever needs few of them.
    pub fn along(&self, pc: CodePosition, stack: StackId) -> impl Iterator<Item = Rc<[Frame]>> {
        let positions = std::iter::once(pc).chain(self.tables.frames(stack));
        positions.map(|pc| self.frames(pc))
    }

    fn look_up(&self, pc: CodePosition) -> Vec<Frame> {
        if let Some(&row) = self.sources.get(&pc) {
            let source = &self.tables.sources[row];
            return vec![Frame {
                function: source.function.clone(),
                file: Some(source.file.clone()),
                line: (source.line > 0).then_some(source.line),
                module: None,
                pc,
            }];
        }
        let instruction = pc.saturating_sub(1);
        let bare = Frame { pc, ..Frame::default() };
        let Some((info, module)) = self.module_at(instruction) else {
            return vec![bare];
        };
        let offset = instruction.wrapping_sub(info.base);
        let bare = Frame {
            module: Some((info.path.clone(), offset)),
            ..bare
        };
        module.frames(offset, &bare)
    }

    /// The module mapped last over an address.
    fn module_at(&self, addr: u64) -> Option<(&trace_format::ModuleInfo, &Module)> {
        let holds = |info: &trace_format::ModuleInfo| info.start <= addr && addr < info.end;
        let row = self.tables.modules.iter().rposition(holds)?;
        Some(self.module(row))
    }

    fn module(&self, row: usize) -> (&trace_format::ModuleInfo, &Module) {
        let info = &self.tables.modules[row];
        (info, self.modules[row].get_or_init(|| Module::open(info)))
    }

    /// The variable that an address belongs to.
    #[must_use]
    pub fn variable(&self, addr: u64) -> Option<Variable> {
        self.named(addr).or_else(|| self.global(addr))
    }

    /// One that the trace itself knows.
    fn named(&self, addr: u64) -> Option<Variable> {
        let (_, &row) = self.variables.range(..=addr).next_back()?;
        let variable = &self.tables.variables[row];
        (addr - variable.addr < variable.size).then(|| Variable {
            name: variable.name.clone(),
            addr: variable.addr,
            size: variable.size,
            module: None,
        })
    }

    /// One of a module.
    fn global(&self, addr: u64) -> Option<Variable> {
        // The table has the executable ranges only; data lies behind them, before the next module.
        let modules = self.tables.modules.iter().enumerate();
        let behind = modules.filter(|(_, info)| info.start <= addr);
        let (row, _) = behind.max_by_key(|(_, info)| info.start)?;
        let (info, module) = self.module(row);
        let (name, start, size) = module.variable(addr.wrapping_sub(info.base))?;
        Some(Variable {
            name,
            addr: start.wrapping_add(info.base),
            size,
            module: Some(info.path.clone()),
        })
    }

    /// All places that the modules have, executed or not.
    #[must_use]
    pub fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let mut places = Places::default();
            for (row, info) in self.tables.modules.iter().enumerate() {
                // The kernel's has no file.
                if Path::new(&info.path).is_file() {
                    self.module(row).1.add_places(&mut places);
                }
            }
            places
        })
    }

    /// Why some of the modules asked so far have no symbols.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let opened = self.modules.iter().filter_map(OnceCell::get);
        opened.filter_map(|module| module.problem().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{ModuleInfo, SourceInfo, StackNode};

    fn source(pc: u64, line: u32) -> SourceInfo {
        SourceInfo {
            pc,
            function: Some(format!("f{pc}")),
            file: "a.c".to_owned(),
            line,
        }
    }

    #[test]
    fn the_sources_table_comes_first() {
        let tables = Tables {
            sources: vec![source(10, 3), source(11, 0)],
            ..Tables::default()
        };
        let symbols = Symbols::new(&tables);
        assert_eq!(symbols.frame(10).to_string(), "f10 a.c:3");
        assert_eq!(symbols.place(11), "a.c");
        assert_eq!(symbols.place(12), "0xc");
        assert_eq!(symbols.place(0), "an unknown place");
    }

    #[test]
    fn libraries_of_rust_are_named_without_the_folder_of_their_toolchain() {
        for (file, shown) in [
            (
                "/home/a/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/cell.rs",
                "core/src/cell.rs",
            ),
            ("/rustc/0123abcd/library/alloc/src/vec/mod.rs", "alloc/src/vec/mod.rs"),
            (
                "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/rayon-core-1.12.1/src/latch.rs",
                "rayon-core-1.12.1/src/latch.rs",
            ),
            ("/home/a/library/core/src/cell.rs", "/home/a/library/core/src/cell.rs"),
        ] {
            assert_eq!(of_library(file), shown);
        }
    }

    #[test]
    fn stacks_are_innermost_first() {
        let node = |parent, call_site| StackNode {
            parent: StackId(parent),
            call_site,
        };
        let tables = Tables {
            sources: vec![source(1, 1), source(2, 2), source(3, 3)],
            stacks: vec![node(0, 1), node(1, 2)],
            ..Tables::default()
        };
        let symbols = Symbols::new(&tables);
        let lines: Vec<_> = symbols.stack(3, StackId(2)).iter().map(|frame| frame.line).collect();
        assert_eq!(lines, [Some(3), Some(2), Some(1)]);
    }

    /// A module table with this test program as its only row.
    fn this_program(build_id: &[u8]) -> Tables {
        let mut tables = Tables::default();
        let path = std::env::current_exe().expect("the path of the test program");
        tables.modules.push(ModuleInfo {
            path: path.display().to_string(),
            build_id: build_id.to_vec(),
            base: 0x10_0000,
            start: 0x10_0000,
            end: u64::MAX,
        });
        tables
    }

    #[test]
    fn another_build_is_not_asked() {
        let tables = this_program(b"another build");
        let symbols = Symbols::new(&tables);
        let frame = symbols.frame(0x10_0000 + 0x2001);
        assert_eq!((frame.file, frame.function), (None, None));
        assert_eq!(frame.module.map(|(_, offset)| offset), Some(0x2000));
        assert!(matches!(symbols.problems()[..], [Problem::OtherBuild { .. }]));
    }

    #[test]
    fn a_missing_module_is_shown_as_offset() {
        let mut tables = this_program(b"");
        tables.modules[0].path = "/no/such/module.so".to_owned();
        let symbols = Symbols::new(&tables);
        assert_eq!(
            symbols.frame(0x10_0000 + 0x2001).to_string(),
            "<unknown> (module.so+0x2000)"
        );
        assert!(matches!(symbols.problems()[..], [Problem::Unreadable { .. }]));
    }

    #[test]
    fn debug_information_gives_file_and_line() {
        let tables = this_program(b"");
        let symbols = Symbols::new(&tables);
        // Wherever this program's own functions are: some instruction has a line in this file.
        let found = (0x1000..0x80_0000).step_by(64).any(|offset| {
            let frames = symbols.frames(0x10_0000 + offset + 1);
            let file = frames[0].file.as_deref();
            file.is_some_and(|file| file.ends_with("symbols/mod.rs")) && frames[0].line.is_some()
        });
        assert!(found || cfg!(not(debug_assertions)), "{:?}", symbols.problems());
    }
}
