//! When a frame of a report and a frame of the trace may be the same place.

use crate::symbols::{self, file_name, same_function};
use crate::warnings::Frame;

/// Modules of the tools and of the C library.
const MODULES: [&str; 9] = [
    "libtsan",
    "libclang_rt",
    "vgpreload_",
    "libc.so",
    "libc-",
    "libpthread",
    "ld-linux",
    "ld-2.",
    "libwitness",
];

/// Parts of the paths of their sources.
const SOURCES: [&str; 12] = [
    "libsanitizer/",
    // Its tests are programs like any other.
    "compiler-rt/lib/",
    "sanitizer_common_interceptors",
    "tsan_interceptors",
    "tsan_rtl",
    "tsan_new_delete",
    "/nptl/",
    "/sysdeps/",
    "vg_replace_",
    "hg_intercepts",
    "drd_pthread_intercepts",
    "drd_intercepts",
];

/// Beginnings of the names of functions that the tools intercept, which clang puts into the program itself.
const INTERCEPTED: [&str; 12] = [
    "__interceptor_",
    "___interceptor_",
    "__tsan_",
    "operator new",
    "operator delete",
    "pthread_",
    "sem_",
    "mem",
    "str",
    "wcs",
    "bcopy",
    "bzero",
];

/// Whole names of others.
const INTERCEPTED_NAMES: [&str; 28] = [
    "free",
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "cfree",
    "read",
    "pread",
    "readv",
    "write",
    "pwrite",
    "writev",
    "recv",
    "recvfrom",
    "send",
    "sendto",
    "fread",
    "fwrite",
    "fgets",
    "gets",
    "sprintf",
    "snprintf",
    "vsnprintf",
    "sscanf",
    "qsort",
];

/// Beginnings of the names of functions that give memory out.
const ALLOCATES: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "operator new",
];

/// Whether a write is the one by which a tool marks memory that is given out. In a trace that is no access.
pub(super) fn is_allocation(frames: &[Frame]) -> bool {
    let intercepted = frames.iter().take_while(|frame| is_intercepted(frame));
    let names = intercepted.filter_map(|frame| frame.function.as_deref());
    names
        .into_iter()
        .any(|name| ALLOCATES.iter().any(|start| name.starts_with(start)))
}

/// Whether a write is the end of a block.
pub(super) fn is_free(frames: &[Frame]) -> bool {
    let intercepted = frames.iter().take_while(|frame| is_intercepted(frame));
    let mut names = intercepted.filter_map(|frame| frame.function.as_deref());
    names.any(|name| {
        let name = name.split('(').next().unwrap_or_default();
        name == "free" || name == "cfree" || name.starts_with("operator delete")
    })
}

/// Whether a frame is of what the tool intercepted, so that the place in the program is one that called it.
pub(super) fn is_intercepted(frame: &Frame) -> bool {
    let module = frame.module.as_deref().map(file_name);
    if module.is_some_and(|module| MODULES.iter().any(|known| module.starts_with(known))) {
        return true;
    }
    match (&frame.file, &frame.function) {
        (Some(file), _) => SOURCES.iter().any(|part| file.contains(part)),
        (None, Some(function)) => {
            INTERCEPTED.iter().any(|start| function.starts_with(start))
                || INTERCEPTED_NAMES.contains(&function.split('(').next().unwrap_or_default())
        }
        (None, None) => false,
    }
}

/// Whether a frame only leads to an acquisition: it is of what the tool intercepted, or of the C++ library's headers.
/// Some tools give their files without a folder.
pub(super) fn leads_to_a_lock(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or_default();
    is_intercepted(frame)
        || frame.file.as_deref().is_some_and(is_of_the_system)
        || function.starts_with("std::")
        || function.starts_with("__gthread_")
}

/// Whether a source file came with the compiler or the system.
pub(super) fn is_of_the_system(file: &str) -> bool {
    ["/usr/include/", "/usr/lib/", "/rustc/"]
        .iter()
        .any(|folder| file.starts_with(folder))
}

/// How well two paths fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathFit {
    /// Parts that are equal, from the end; at least 1.
    pub(super) common: usize,
    /// Whether one of them is the end of the other. If not, the sources were in another folder.
    pub(super) whole: bool,
}

/// How well two paths fit; `None` if not even the names of the files are the same.
pub(super) fn path_fit(a: &str, b: &str) -> Option<PathFit> {
    let parts = |path: &str| -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match (part, kept.last()) {
                ("..", Some(last)) if last != ".." => drop(kept.pop()),
                _ => kept.push(part.to_owned()),
            }
        }
        kept
    };
    let (a, b) = (parts(a), parts(b));
    let common = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    (common > 0).then_some(PathFit {
        common,
        whole: common == a.len().min(b.len()),
    })
}

/// Whether nothing that both frames say of source and function differs.
pub(super) fn agree(theirs: &Frame, ours: &symbols::Frame) -> bool {
    let function = match (&theirs.function, &ours.function) {
        (Some(a), Some(b)) => same_function(a, b),
        _ => true,
    };
    let file = match (&theirs.file, &ours.file) {
        (Some(a), Some(b)) => path_fit(a, b).is_some(),
        _ => true,
    };
    let line = match (theirs.line, ours.line) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    function && file && line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fit_from_their_ends() {
        let fit = |a, b| path_fit(a, b).map(|fit| (fit.common, fit.whole));
        assert_eq!(fit("a.c", "/x/a.c"), Some((1, true)));
        assert_eq!(fit("./x/a.c", "/x/a.c"), Some((2, true)));
        assert_eq!(fit("/y/x/a.c", "/z/x/a.c"), Some((2, false)));
        assert_eq!(fit("/y/q/../x/a.c", "/y/x/a.c"), Some((3, true)));
        assert_eq!(fit("ba.c", "a.c"), None);
        assert_eq!(fit("", "a.c"), None);
    }

    #[test]
    fn what_tools_intercept() {
        let frame = |function: &str, file: &str, module: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Frame {
                function: some(function),
                file: some(file),
                module: some(module),
                ..Frame::default()
            }
        };
        assert!(is_intercepted(&frame("memcpy", "", "app")));
        assert!(is_intercepted(&frame(
            "free",
            "../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp",
            "libtsan.so.2"
        )));
        assert!(is_intercepted(&frame(
            "",
            "",
            "/usr/libexec/valgrind/vgpreload_drd-amd64-linux.so"
        )));
        assert!(is_intercepted(&frame(
            "free",
            "/build/llvm-toolchain-14-14.0.6/compiler-rt/lib/tsan/rtl/tsan_interceptors_posix.cpp",
            "app"
        )));
        assert!(!is_intercepted(&frame("free", "/src/my_free.c", "app")));
        let test = "/src/compiler-rt/test/tsan/simple_race.c";
        assert!(!is_intercepted(&frame("Thread1", test, "app")));
        assert!(!is_intercepted(&frame("inflate", "", "libz.so.1")));
    }
}
