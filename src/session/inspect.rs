//! Whether a program can be recorded, found out before it runs.
//!
//! The recorder replaces the *shared* runtime of ThreadSanitizer. A program without any
//! instrumentation, or with the runtime linked into it, would run as if nobody watched.

use object::elf::{DT_NEEDED, EM_X86_64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be recorded, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotRecordable {
    /// No such program.
    #[error("{program}: not found")]
    NotFound {
        /// As it was asked for.
        program: String,
    },
    /// It is not where it was when it was recorded.
    #[error("{program}: not found {place}: if it has moved, name it after `--`")]
    Moved {
        /// As it was asked for.
        program: String,
        /// Where it should be, in words.
        place: String,
    },
    /// It was built anew since it was recorded, or is another program.
    #[error(
        "{}: not the build that was recorded (its build id is {found}, recorded was {recorded}), so the trace does not fit it.\nRecord it again, or name the recorded build after `--`",
        path.display()
    )]
    OtherBuild {
        /// The file.
        path: PathBuf,
        /// Its build id, or that it has none.
        found: String,
        /// The recorded one.
        recorded: String,
    },
    /// No permission to run it.
    #[error("{}: not executable", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A script, or for another machine.
    #[error("{path}: not an x86-64 ELF program; only compiled programs can be recorded.\nIf it starts some that are instrumented: witness test -- {path} ...", path = path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// Compiled without instrumentation.
    #[error(
        "{path}: not instrumented, so its memory accesses cannot be recorded.\nBuild it with: gcc -g -fsanitize=thread app.c -o app -pthread\nIf it starts programs that are: witness test -- {path} ...",
        path = path.display()
    )]
    NotInstrumented {
        /// The file.
        path: PathBuf,
    },
    /// ThreadSanitizer's runtime is part of the program.
    #[error(
        "{path}: ThreadSanitizer's runtime is linked into it, so the recorder cannot replace it.\nBuild it with gcc's shared runtime (the default: gcc -g -fsanitize=thread app.c -o app -pthread),\nor with clang: clang -g -fsanitize=thread -shared-libsan app.c -o app -pthread",
        path = path.display()
    )]
    StaticRuntime {
        /// The file.
        path: PathBuf,
    },
}

/// The file that running `program` would start.
pub(super) fn find(program: &OsStr) -> Result<PathBuf, NotRecordable> {
    look_up(program, None, std::env::var_os("PATH")).ok_or_else(|| NotRecordable::NotFound {
        program: program.to_string_lossy().into_owned(),
    })?
}

/// The file that running a recorded `program` would start again, as seen from `directory`, with the `PATH` of the
/// recorded run.
pub(super) fn find_again(
    program: &OsStr,
    directory: &Path,
    folders: Option<OsString>,
) -> Result<PathBuf, NotRecordable> {
    let moved = || {
        let place = match directory {
            _ if !has_folder(program) => "in the recorded PATH".to_owned(),
            directory if !directory.is_dir() => format!("in {}, which does not exist", directory.display()),
            directory => format!("in {}", directory.display()),
        };
        NotRecordable::Moved {
            program: program.to_string_lossy().into_owned(),
            place,
        }
    };
    look_up(program, Some(directory), folders).ok_or_else(moved)?
}

fn look_up(
    program: &OsStr,
    directory: Option<&Path>,
    folders: Option<OsString>,
) -> Option<Result<PathBuf, NotRecordable>> {
    let path = if has_folder(program) {
        Some(PathBuf::from(program)).filter(|path| from_there(directory, path).exists())
    } else {
        std::env::split_paths(&folders.unwrap_or_default())
            .map(|folder| folder.join(program))
            .find(|path| is_executable(&from_there(directory, path)))
    };
    path.map(|path| {
        if is_executable(&from_there(directory, &path)) {
            Ok(path)
        } else {
            Err(NotRecordable::NotExecutable { path })
        }
    })
}

fn has_folder(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}

fn from_there(directory: Option<&Path>, path: &Path) -> PathBuf {
    directory.map_or_else(|| path.to_owned(), |directory| directory.join(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Checks that the file is the build that was recorded, if that had a build id.
pub(super) fn check_build(path: &Path, recorded: &[u8]) -> Result<(), NotRecordable> {
    let found = build_id(path).unwrap_or_default();
    if recorded.is_empty() || found == recorded {
        return Ok(());
    }
    let text = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Err(NotRecordable::OtherBuild {
        path: path.to_owned(),
        found: if found.is_empty() {
            "none".to_owned()
        } else {
            text(&found)
        },
        recorded: text(recorded),
    })
}

/// The build id of a program or library; `None` if it cannot be read or has none.
#[must_use]
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let data = read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    Some(file.build_id().ok()??.to_vec())
}

/// A trace may name anything as a program: only regular files are read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    safe_files::read_named(path, 4 << 30)
}

/// Checks that the runtime can take libtsan's place in the program.
pub(crate) fn check(path: &Path) -> Result<(), NotRecordable> {
    let path = path.to_owned();
    let data = match read(&path) {
        Ok(data) => data,
        Err(source) => return Err(NotRecordable::Unreadable { path, source }),
    };
    let Ok(file) = ElfFile64::<Endianness>::parse(&*data) else {
        return Err(NotRecordable::NotElf { path });
    };
    if file.elf_header().e_machine(file.endian()) != EM_X86_64 {
        return Err(NotRecordable::NotElf { path });
    }
    if needs_shared_runtime(&file) {
        return Ok(());
    }
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    if symbols.any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(b"__tsan_init")) {
        return Err(NotRecordable::StaticRuntime { path });
    }
    Err(NotRecordable::NotInstrumented { path })
}

/// Whether a value of `LD_PRELOAD` brings the runtime into programs that are not instrumented: interpreters, for their
/// modules.
pub(super) fn names_runtime(libraries: &OsStr) -> bool {
    let mut libraries = libraries.as_encoded_bytes().split(|&byte| byte == b':' || byte == b' ');
    libraries.any(|library| is_runtime(library.rsplit(|&byte| byte == b'/').next().unwrap_or_default()))
}

fn is_runtime(library: &[u8]) -> bool {
    library.starts_with(b"libtsan.so") || library.starts_with(b"libclang_rt.tsan")
}

/// Whether the program asks the dynamic linker for gcc's or clang's shared runtime.
fn needs_shared_runtime(file: &ElfFile64<'_, Endianness>) -> bool {
    let Ok(table) = file.elf_dynamic_table() else {
        return false;
    };
    let mut needed = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    needed.any(|entry| is_runtime(table.string(entry).unwrap_or_default()))
}
