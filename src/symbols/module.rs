//! One module: its debug information and its variables, if its file is still the one recorded.

use super::{Frame, Places, file_name, read_file};
use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::path::PathBuf;
use trace_format::ModuleInfo;

/// Why a module has no symbols.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file was built anew since the recording.
    #[error("{} is not the file that was recorded (build id {found}, recorded {recorded}); its positions are shown as offsets",
        path.display())]
    OtherBuild {
        /// The file.
        path: PathBuf,
        /// Its build id, in hexadecimal digits.
        found: String,
        /// The build id in the trace.
        recorded: String,
    },
    /// The file cannot be read.
    #[error("{} cannot be read ({cause}); its positions are shown as offsets", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
}

/// A variable: address in the file, size, name as in the symbol table.
type Entry = (u64, u64, String);

/// A module that was opened, or could not be.
pub(super) enum Module {
    Open {
        loader: Box<Loader>,
        path: PathBuf,
        variables: OnceCell<Vec<Entry>>,
    },
    Closed(Problem),
}

impl Module {
    pub(super) fn open(info: &ModuleInfo) -> Module {
        match Module::load(info) {
            Ok(loader) => Module::Open {
                loader: Box::new(loader),
                path: PathBuf::from(&info.path),
                variables: OnceCell::new(),
            },
            Err(problem) => {
                tracing::info!(%problem, "no symbols");
                Module::Closed(problem)
            }
        }
    }

    fn load(info: &ModuleInfo) -> Result<Loader, Problem> {
        let path = PathBuf::from(&info.path);
        let unreadable = |cause: String| Problem::Unreadable {
            path: path.clone(),
            cause,
        };
        if !info.build_id.is_empty() {
            let bytes = read_file(&path).map_err(|error| unreadable(error.to_string()))?;
            let file = object::File::parse(&*bytes).map_err(|error| unreadable(error.to_string()))?;
            let found = file.build_id().ok().flatten().unwrap_or_default();
            if found != info.build_id {
                return Err(Problem::OtherBuild {
                    path,
                    found: hex(found),
                    recorded: hex(&info.build_id),
                });
            }
        }
        Loader::new(&path).map_err(|error| unreadable(error.to_string()))
    }

    pub(super) fn problem(&self) -> Option<&Problem> {
        match self {
            Module::Closed(problem) => Some(problem),
            Module::Open { .. } => None,
        }
    }

    /// The activations at an address in the file; `bare` is what is known of them anyway.
    pub(super) fn frames(&self, address: u64, bare: &Frame) -> Vec<Frame> {
        let Module::Open { loader, .. } = self else {
            return vec![bare.clone()];
        };
        let mut frames = Vec::new();
        if let Ok(mut found) = loader.find_frames(address) {
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.as_ref().and_then(|name| name.demangle().ok());
                let location = frame.location.as_ref();
                frames.push(Frame {
                    function: function.map(|name| name.into_owned()),
                    file: location.and_then(|location| location.file).map(str::to_owned),
                    line: location.and_then(|location| location.line).filter(|&line| line > 0),
                    ..bare.clone()
                });
            }
        }
        if frames.is_empty() {
            frames.push(bare.clone());
        }
        // The symbol table knows functions that the debug information does not.
        if let Some(outermost) = frames.last_mut().filter(|frame| frame.function.is_none()) {
            outermost.function = loader.find_symbol(address).map(demangled);
        }
        frames
    }

    /// Adds all places of the file.
    pub(super) fn add_places(&self, places: &mut Places) {
        let Module::Open { loader, path, .. } = self else {
            return;
        };
        let Ok(locations) = loader.find_location_range(0, u64::MAX) else {
            return;
        };
        for (address, _, location) in locations {
            if let (Some(file), Some(line @ 1..)) = (location.file, location.line) {
                match places.lines.get_mut(file) {
                    Some(lines) => drop(lines.insert(line)),
                    None => drop(places.lines.insert(file.to_owned(), [line].into())),
                }
            }
            // Functions that exist only inlined are in no table of symbols.
            let Ok(mut frames) = loader.find_frames(address) else {
                continue;
            };
            while let Ok(Some(frame)) = frames.next() {
                if let Some(name) = frame.function.as_ref().and_then(|name| name.demangle().ok()) {
                    places.functions.insert(name.into_owned());
                }
            }
        }
        let bytes = read_file(path).unwrap_or_default();
        let Ok(file) = object::File::parse(&*bytes) else {
            return;
        };
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let kind = match symbol.kind() {
                SymbolKind::Text => &mut places.functions,
                SymbolKind::Data | SymbolKind::Tls => &mut places.variables,
                _ => continue,
            };
            if let Ok(name) = symbol.name()
                && symbol.is_definition()
            {
                kind.insert(demangled(name));
            }
        }
    }

    /// The variable at an address in the file.
    pub(super) fn variable(&self, address: u64) -> Option<(String, u64, u64)> {
        let Module::Open { path, variables, .. } = self else {
            return None;
        };
        let variables = variables.get_or_init(|| {
            let bytes = read_file(path).unwrap_or_default();
            read_variables(&bytes)
        });
        let below = variables.partition_point(|&(start, ..)| start <= address);
        let (start, size, name) = variables[..below].last()?;
        (address - start < *size).then(|| (demangled(name), *start, *size))
    }
}

fn read_variables(bytes: &[u8]) -> Vec<Entry> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let mut found: Vec<Entry> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0 && symbol.is_definition())
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
        .collect();
    found.sort();
    found.dedup_by_key(|&mut (start, ..)| start);
    found
}

pub(super) fn demangled(name: &str) -> String {
    // Plain names may look like mangled types: a variable `x` of C would become `long long`.
    if name.starts_with("_Z") || name.starts_with("_R") {
        addr2line::demangle_auto(name.into(), None).into_owned()
    } else {
        name.to_owned()
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Module::Open { path, .. } => write!(f, "Module({})", file_name(&path.display().to_string())),
            Module::Closed(problem) => write!(f, "Module({problem})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn only_mangled_names_are_demangled() {
        assert_eq!(demangled("x"), "x");
        assert_eq!(demangled("_ZN4core3fmtE"), "core::fmt");
    }
}
