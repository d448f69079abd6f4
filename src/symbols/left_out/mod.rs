//! What instrumented code does that nobody records.
//!
//! *Structures by value.* gcc calls the runtime for the loads and stores of assignments, not for those of calls: `use(shared)` and
//! `shared = make()` are not recorded where a structure is concerned. They are found in the machine code. gcc puts the
//! runtime's call right before the statement that accesses memory, and no access crosses a call. So one for which the
//! runtime was not called since another function was is not recorded, nor one of a variable, where it was called for
//! other variables alone; and neither is what a function leaves where its caller wants the structure that it returns.
//! That is sure enough to say that a program may do more than was explored. The assembler of `witness cc` has such
//! accesses recorded, and for that looks at addresses, too (`addresses`): one is what the runtime was told of in the same
//! stretch of code, or was not told of.
//!
//! *What libraries read.* Some functions read what their argument points to, and are not recorded.
//!
//! *Instructions* that ask the kernel, a clock or a source of random numbers.

mod accesses;
mod addresses;
mod calls;

use super::machine_code::{INSTRUMENTATION, Instructions, MachineCode, Transfer, records, stubs};
use super::module::demangled;
use super::read_file;
use super::relocatable::Relocatable;
use super::uninstrumented::variables;
use crate::assembly::{Access, STUB};
use accesses::{Body, Found, Function};
use calls::{Calls, Length};
use hashbrown::{HashMap, HashSet};
use iced_x86::{Instruction, Mnemonic, Register};
use object::{Object, ObjectSection, ObjectSymbol};
use trace_format::Tables;

/// The functions of the runtime that are told of an access, as their names go on.
const TOLD: [&str; 5] = ["read", "write", "unaligned_", "volatile_", "vptr_"];

/// How many bytes the assembler's call tells of, at most.
const MOST_TOLD: u64 = 64;

/// Functions that the compiler calls for a single operation, before and behind whose call an access may stand, as their
/// names begin.
const OPERATIONS: [&str; 14] = [
    "__add", "__ashl", "__ashr", "__div", "__eq", "__extend", "__fix", "__float", "__lshr", "__mod", "__mul", "__pop",
    "__trunc", "__u",
];

/// Functions of the C library that write nothing, as its headers say, so that the compiler may load behind their call
/// what it could have loaded before.
const PURE: [&str; 28] = [
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__errno_location",
    "abs",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "index",
    "memchr",
    "memcmp",
    "memmem",
    "memrchr",
    "pthread_equal",
    "pthread_self",
    "rindex",
    "strcasecmp",
    "strchr",
    "strcmp",
    "strcspn",
    "strlen",
    "strncasecmp",
    "strncmp",
    "strnlen",
    "strrchr",
    "strspn",
    "strstr",
];

/// Functions that read what an argument points to and are not recorded: of C++'s streams, as their names begin and go on,
/// and of C. (Those that set an attribute write it.)
const READERS: [(&str, &str, Register); 13] = [
    ("_ZNSo5write", "", Register::RSI),
    ("_ZSt16__ostream_insert", "", Register::RSI),
    ("_ZStls", "PKc", Register::RSI),
    ("_ZStls", "basic_string", Register::RSI),
    ("perror", "", Register::RDI),
    ("clock_nanosleep", "", Register::RDX),
    ("nanosleep", "", Register::RDI),
    ("pthread_", "attr_", Register::RDI),
    ("pthread_barrier_init", "", Register::RSI),
    ("pthread_cond_init", "", Register::RSI),
    ("pthread_create", "", Register::RSI),
    ("pthread_mutex_init", "", Register::RSI),
    ("pthread_rwlock_init", "", Register::RSI),
];

/// The register by which such a function gets its argument.
fn reader(name: &str) -> Option<Register> {
    let is_it = |&&(begin, then, _): &&(&str, &str, Register)| name.starts_with(begin) && name.contains(then);
    READERS.iter().find(is_it).map(|&(.., register)| register)
}

/// Functions of the C++ library, as their names begin, that only access by value what is one thread's alone, unless
/// threads race for the object itself.
const OF_LIBRARY: [&str; 3] = ["std::error_code::", "std::error_condition::", "std::thread::joinable"];

/// The functions of instrumented modules that do what nobody records.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// They pass or return structures by value in memory that others may see, in code of gcc.
    pub by_value: Vec<String>,
    /// They let functions of libraries read memory that others may see.
    pub read_by_libraries: Vec<String>,
    /// They have instructions that ask the kernel, a clock or a source of random numbers.
    pub instructions: Vec<String>,
}

impl LeftOut {
    /// `None` if a module cannot be read.
    #[must_use]
    pub fn of(tables: &Tables) -> Option<LeftOut> {
        let mut all = LeftOut::default();
        for module in tables.modules.iter().filter(|module| module.path.starts_with('/')) {
            let bytes = read_file(&module.path).ok()?;
            let file = object::File::parse(&*bytes).ok()?;
            let code = MachineCode::of(&file);
            if code.is_instrumented() {
                let symbols = file.symbols().chain(file.dynamic_symbols());
                let symbols = symbols.filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())));
                let module = Module {
                    imported: stubs(&file, &code.slots, &|_| true),
                    variables: variables(&file),
                    symbols: symbols.collect(),
                    code,
                };
                all.add(&module, is_of_gcc(&file));
            }
        }
        for names in [&mut all.by_value, &mut all.read_by_libraries, &mut all.instructions] {
            names.sort_unstable();
            names.dedup();
        }
        Some(all)
    }

    fn add(&mut self, module: &Module<'_>, is_of_gcc: bool) {
        let all = Functions::of(module, false);
        let names = |those: Vec<u64>| module.names(&those.into_iter().collect());
        if is_of_gcc {
            let is_of_library = |name: &String| OF_LIBRARY.iter().any(|begin| name.starts_with(begin));
            let unrecorded = names(all.unrecorded()).into_iter();
            self.by_value.extend(unrecorded.filter(|name| !is_of_library(name)));
        }
        let those = |is_one: &dyn Fn(&Found) -> bool| -> Vec<u64> {
            let found = all.found.iter().filter(|(_, found)| is_one(found));
            found.map(|&(start, _)| start).collect()
        };
        self.read_by_libraries.extend(names(those(&|found| found.lets_read)));
        self.instructions.extend(names(those(&|found| found.asks_machine)));
    }
}

/// The accesses that are not recorded in a module of gcc's before it is linked and can be, each with the names of the module's own
/// that stand where its instruction does; `None` if the module cannot be read.
#[must_use]
pub fn left_out_of(object: &[u8]) -> Option<Vec<(String, Access)>> {
    let file = object::File::parse(object).ok()?;
    let placed = Relocatable::of(&file)?;
    let module = Module {
        code: placed.code(),
        imported: placed.imported.clone(),
        variables: placed.variables.clone(),
        symbols: placed.symbols.iter().map(|(name, at)| (&**name, *at)).collect(),
    };
    let all = Functions::of(&module, true);
    let mut accesses: HashMap<u64, Vec<Access>> = HashMap::new();
    for (start, found) in &all.found {
        let unrecorded = all.told.contains(start).then_some(&found.unrecorded);
        // Who wants the result may be in another module.
        let all = unrecorded.into_iter().flatten().chain(&found.fills_result);
        for one in all.filter(|one| one.stands_alone) {
            accesses.entry(one.at).or_default().push(one.access);
        }
    }
    let mut named = Vec::new();
    for (name, at) in &placed.symbols {
        let here = accesses.get(at).into_iter().flatten();
        named.extend(here.map(|&access| (name.clone(), access)));
    }
    Some(named)
}

/// A module of code.
struct Module<'f> {
    code: MachineCode<'f>,
    /// What leads to functions of others, by address.
    imported: HashMap<u64, String>,
    /// Where it has variables that are not constant: the first bytes, and the first behind them.
    variables: Vec<(u64, u64)>,
    symbols: Vec<(&'f str, u64)>,
}

impl Module<'_> {
    /// The names of functions that begin there.
    fn names(&self, functions: &HashSet<u64>) -> Vec<String> {
        let named = self.symbols.iter().filter(|(_, at)| functions.contains(at));
        let names: HashSet<&str> = named.map(|&(name, _)| name).collect();
        names.into_iter().map(demangled).collect()
    }
}

/// What was found of the functions of a module.
struct Functions {
    /// By their first bytes.
    found: Vec<(u64, Found)>,
    /// Those that tell the runtime something.
    told: HashSet<u64>,
}

impl Functions {
    fn of(module: &Module<'_>, by_address: bool) -> Functions {
        let known = Known::of(module);
        let may_change = |address: u64| {
            let mut variables = module.variables.iter();
            variables.any(|&(start, end)| (start..end).contains(&address))
        };
        let (mut all, mut told) = (Vec::new(), HashSet::new());
        for (start, body) in bodies(&module.code, &known) {
            if known.others.contains(&start) {
                continue;
            }
            let is_told = |(_, calls): &(Instruction, Calls)| matches!(calls, Calls::Telling(_) | Calls::Runtime);
            told.extend(body.iter().any(is_told).then_some(start));
            all.push((start, Function::new(&body, &may_change).find(by_address)));
        }
        Functions { found: all, told }
    }

    /// The functions that access what others may see: themselves, or by what functions they call leave for them.
    fn unrecorded(&self) -> Vec<u64> {
        let fills = self.found.iter().filter(|(_, found)| !found.fills_result.is_empty());
        let mut fills: HashSet<u64> = fills.map(|&(start, _)| start).collect();
        // Who returns what another function returns leaves it there as well.
        let mut filling = 0;
        while std::mem::replace(&mut filling, fills.len()) < fills.len() {
            let is_further = |(_, found): &&(u64, Found)| found.passes.iter().any(|passed| fills.contains(passed));
            let further: Vec<u64> = self.found.iter().filter(is_further).map(|&(start, _)| start).collect();
            fills.extend(further);
        }
        let is_unrecorded = |(start, found): &&(u64, Found)| {
            let fills = || found.fills.iter().any(|filled| fills.contains(filled));
            self.told.contains(start) && (!found.unrecorded.is_empty() || fills())
        };
        self.found
            .iter()
            .filter(is_unrecorded)
            .map(|&(start, _)| start)
            .collect()
    }
}

/// Whether gcc alone has compiled a module, as compilers note.
fn is_of_gcc(file: &object::File<'_>) -> bool {
    let notes = file.section_by_name(".comment");
    let Some(notes) = notes.and_then(|section| section.uncompressed_data().ok()) else {
        return false;
    };
    let mut notes = notes.split(|&byte| byte == 0).filter(|note| !note.is_empty());
    notes.all(|note| note.starts_with(b"GCC:"))
}

/// Functions of a module that are known by name, by where they begin.
struct Known {
    /// Those that tell the runtime of an access.
    telling: HashSet<u64>,
    /// Those behind which an access may stand that the runtime was told of before.
    operations: HashSet<u64>,
    /// Stubs that lead to functions which read what an argument points to.
    readers: HashMap<u64, Register>,
    /// What is no function of the program's: pieces of functions that the compiler has put elsewhere, since they are
    /// seldom executed, of which it is not known what they begin with, and what is linked to each module.
    others: HashSet<u64>,
}

impl Known {
    fn of(module: &Module<'_>) -> Known {
        let named = |is_it: &dyn Fn(&str) -> bool| -> HashSet<u64> {
            let symbols = module.symbols.iter().filter(|(name, _)| is_it(name));
            symbols.map(|&(_, at)| at).collect()
        };
        let taken = |is_it: &dyn Fn(&str) -> bool| -> HashSet<u64> {
            let imported = module.imported.iter().filter(|(_, name)| is_it(name));
            imported.map(|(&at, _)| at).collect()
        };
        let is_operation = |name: &str| OPERATIONS.iter().any(|operation| name.starts_with(operation));
        let is_pure = |name: &str| is_operation(name) || PURE.contains(&name);
        let readers = module.imported.iter();
        let readers = readers.filter_map(|(&stub, name)| Some((stub, reader(name)?)));
        Known {
            readers: readers.collect(),
            telling: named(&|name| name == STUB),
            operations: named(&is_operation).into_iter().chain(taken(&is_pure)).collect(),
            others: named(&|name| name.contains(".cold") || ["_init", "_fini"].contains(&name)),
        }
    }
}

/// The functions of a module, each with where it begins.
fn bodies(code: &MachineCode<'_>, known: &Known) -> Vec<(u64, Body)> {
    let mut bodies: Vec<(u64, Body)> = Vec::new();
    let mut within = (0, 0);
    for &(start, bytes) in &code.sections {
        for instruction in Instructions::of(start, bytes, &code.functions) {
            let at = instruction.ip();
            if !(within.0..within.1).contains(&at) {
                let below = code.functions.partition_point(|&(start, _)| start <= at);
                match below.checked_sub(1).map(|last| code.functions[last]) {
                    Some(function) if at < function.1 => {
                        within = function;
                        bodies.push((function.0, Vec::new()));
                    }
                    _ => continue,
                }
            }
            let (_, body) = bodies.last_mut().expect("one was begun");
            body.push((instruction, leaves_for(&instruction, code, within, known)));
        }
    }
    bodies
}

/// The bytes that a function of the runtime is told of, by its name, which says nothing of a pointer to a table of functions.
fn length(name: &str) -> u64 {
    let digits = name.trim_start_matches(|other: char| !other.is_ascii_digit());
    let end = digits
        .find(|other: char| !other.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(8)
}

/// What an instruction of a function leaves it for.
fn leaves_for(instruction: &Instruction, code: &MachineCode<'_>, within: (u64, u64), known: &Known) -> Calls {
    let transfer = Transfer::of(instruction, &code.slots);
    let is_call = instruction.mnemonic() == Mnemonic::Call;
    let leaves = transfer.direct.is_some_and(|to| !(within.0..within.1).contains(&to)) || transfer.slot.is_some();
    if !is_call && !leaves {
        return Calls::Nothing;
    }
    let name = transfer
        .direct
        .and_then(|direct| code.to_runtime.get(&direct))
        .or(transfer.slot);
    let is_telling = |rest: &str| TOLD.iter().any(|told| rest.starts_with(told));
    let leads_to = |to: &HashSet<u64>| transfer.direct.is_some_and(|direct| to.contains(&direct));
    match name.filter(|name| records(name)) {
        Some(name) if name.strip_prefix(INSTRUMENTATION).is_none_or(is_telling) => {
            Calls::Telling(match name.ends_with("_range") {
                true => Length::In(Register::RSI),
                false => Length::Known(length(name)),
            })
        }
        Some(_) => Calls::Runtime,
        None if leads_to(&known.telling) => Calls::Telling(Length::Known(MOST_TOLD)),
        None if leads_to(&known.operations) => Calls::Operation,
        None if transfer.slot.is_some_and(|name| PURE.contains(&name.as_str())) => Calls::Operation,
        None => {
            let by_stub = transfer.direct.and_then(|direct| known.readers.get(&direct).copied());
            let read = by_stub.or_else(|| transfer.slot.and_then(|name| reader(name)));
            read.map_or(Calls::Other(transfer.direct), Calls::Reader)
        }
    }
}
