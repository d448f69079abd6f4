//! Other programs in place of this one, or beside it: they are recorded, too, if they are instrumented.
//!
//! The recorder looks at the program's file before it starts. If it is one that can be recorded, the new process
//! gets, in its environment, what this one got in its own; else its environment is left as it is.

use crate::fork::{COUNT, DESK};
use crate::inside::{Inside, restore_errno, save_errno};
use crate::start::{self, FOLDER, Phase, RING};
use crate::{pending, real, sys};
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int, pid_t};
use recorder_ring::desk::{Ask, What};
use recorder_ring::layout::RING_VARIABLE;
use recorder_ring::{Note, Place, Record};
use std::vec::Vec;

type List = *const *const c_char;

const LIBRARIES: &[u8] = b"LD_LIBRARY_PATH";

unsafe extern "C" {
    static environ: List;
}

real::real! {
    fn posix_spawn(process: *mut pid_t, path: *const c_char, files: *const c_void, attr: *const c_void, arguments: List, environment: List) -> c_int;
    fn posix_spawnp(process: *mut pid_t, file: *const c_char, files: *const c_void, attr: *const c_void, arguments: List, environment: List) -> c_int;
}

/// How a program is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    ByPath,
    /// As in a shell.
    InSearchPath,
}

/// The entries of a list that ends with a null.
///
/// # Safety
/// `list` is null or such a list.
unsafe fn entries(list: List) -> impl Iterator<Item = *const c_char> {
    // SAFETY: stays within the list.
    (0..).map_while(move |at| {
        unsafe { Some(*list.add(at)).filter(|_| !list.is_null()) }.filter(|entry| !entry.is_null())
    })
}

/// The part of a variable's entry behind its name.
fn value_of<'a>(entry: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}

/// The environment with which another program finds the runtime, and the runtime its ring.
struct Environment {
    strings: Vec<Vec<u8>>,
    list: Vec<*const c_char>,
}

impl Environment {
    /// # Safety
    /// `given` is null or a list of C strings.
    unsafe fn new(given: List, ring: Place) -> Environment {
        let mut libraries = FOLDER.get().to_vec();
        let mut list = Vec::new();
        // SAFETY: promised by the caller.
        for entry in unsafe { entries(given) } {
            // SAFETY: as above.
            let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
            if let Some(own) = value_of(text, LIBRARIES) {
                libraries.push(b':');
                libraries.extend(own);
            } else if value_of(text, RING_VARIABLE.as_bytes()).is_none() {
                list.push(entry);
            }
        }
        let entry = |name: &[u8], value: &[u8]| [name, b"=", value, &[0]].concat();
        let strings = Vec::from([
            entry(LIBRARIES, &libraries),
            entry(RING_VARIABLE.as_bytes(), ring.path().to_bytes()),
        ]);
        list.extend(strings.iter().map(|text| text.as_ptr().cast::<c_char>()));
        list.push(ptr::null());
        Environment { strings, list }
    }

    fn list(&self) -> List {
        debug_assert!(!self.strings.is_empty());
        self.list.as_ptr()
    }
}

/// Opens the file of a program; a descriptor, or a negative number.
///
/// # Safety
/// `name` is a C string.
unsafe fn open(name: *const c_char, named: Named) -> isize {
    let open = |path: *const c_char| {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        // SAFETY: a C string.
        unsafe { sys::call(libc::SYS_open, path as usize, flags, 0, 0) }
    };
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    if named == Named::ByPath || text.contains(&b'/') {
        return open(name);
    }
    // SAFETY: the program's own environment.
    let search = unsafe { entries(environ) }.find_map(|entry| {
        // SAFETY: as above.
        value_of(unsafe { CStr::from_ptr(entry) }.to_bytes(), b"PATH")
    });
    for folder in search.unwrap_or(b"/bin:/usr/bin").split(|&byte| byte == b':') {
        let folder = if folder.is_empty() { b"." } else { folder };
        let path = [folder, b"/", text, &[0]].concat();
        // SAFETY: a C string.
        let answer = unsafe { sys::call(libc::SYS_access, path.as_ptr() as usize, libc::X_OK as usize, 0, 0) };
        if answer == 0 {
            return open(path.as_ptr().cast());
        }
    }
    -1
}

/// A program that the calling process is about to execute, and the recorder knows.
struct Coming {
    environment: Environment,
    ask: Ask,
}

impl Coming {
    /// Asks the recorder; `None` if the program will not be recorded.
    ///
    /// # Safety
    /// The name is a C string, the environment null or a list of them.
    unsafe fn new(what: What, name: *const c_char, named: Named, environment: List) -> Option<Coming> {
        // A child of `vfork` records nothing, but it has the memory of one who does.
        if start::phase() != Phase::On || !DESK.is_open() {
            return None;
        }
        // SAFETY: promised by the caller.
        let file = unsafe { open(name, named) };
        if file < 0 {
            return None;
        }
        let ask = Ask {
            what,
            process: sys::process_id() as u32,
            file: file as u32,
            of: RING.number(),
            nth: COUNT.fetch_add(1, Relaxed) + 1,
        };
        let ring = DESK.ask(ask);
        // SAFETY: opened above.
        unsafe { sys::call(libc::SYS_close, file as usize, 0, 0, 0) };
        let Some(ring) = ring else {
            // It does not count.
            let _ = COUNT.compare_exchange(ask.nth, ask.nth - 1, Relaxed, Relaxed);
            return None;
        };
        Some(Coming {
            // SAFETY: promised by the caller.
            environment: unsafe { Environment::new(environment, ring) },
            ask,
        })
    }

    /// It did not come.
    fn failed(&self) {
        DESK.ask(Ask {
            what: What::Failed,
            ..self.ask
        });
        let nth = self.ask.nth;
        let _ = COUNT.compare_exchange(nth, nth - 1, Relaxed, Relaxed);
    }
}

/// Executes a program in place of this one.
///
/// # Safety
/// The arguments are those of `execvpe`.
unsafe fn execute(name: *const c_char, named: Named, arguments: List, environment: List) -> c_int {
    let own = start::phase() == Phase::On && sys::process_id() == start::process();
    let inside = if own { Inside::enter_and_stay() } else { None };
    // SAFETY: promised by the caller.
    unsafe {
        let coming = Coming::new(What::Executes, name, named, environment);
        if inside.is_some() {
            let note = if coming.is_some() {
                Note::Replaced
            } else {
                Note::Executed
            };
            pending::push(Record::Note { note });
        }
        let environment = coming.as_ref().map_or(environment, |coming| coming.environment.list());
        let result = match named {
            Named::ByPath => real::execve(name, arguments, environment),
            Named::InSearchPath => real::execvpe(name, arguments, environment),
        };
        let errno = save_errno();
        if let Some(coming) = coming {
            coming.failed();
        }
        restore_errno(errno);
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(path, Named::ByPath, arguments, environment) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(path, Named::ByPath, arguments, environ) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(file, Named::InSearchPath, arguments, environ) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(file, Named::InSearchPath, arguments, environment) }
}

/// Starts a program in a process of its own, by one of the two functions for that.
///
/// # Safety
/// The arguments are those of `posix_spawn`, but for what starts it and what follows.
unsafe fn start_other(
    spawn: impl FnOnce(List) -> c_int,
    named: Named,
    process: *mut pid_t,
    name: *const c_char,
    environment: List,
    pc: usize,
) -> c_int {
    let inside = Inside::enter_and_stay();
    // SAFETY: promised by the caller.
    let coming = unsafe { Coming::new(What::Spawns, name, named, environment) };
    let result = spawn(coming.as_ref().map_or(environment, |coming| coming.environment.list()));
    match coming {
        Some(coming) if result != 0 => coming.failed(),
        _ => {}
    }
    if inside.is_some() && result == 0 && !process.is_null() {
        pending::write_range_now(process as usize, size_of::<pid_t>(), pc);
    }
    result
}

macro_rules! spawning {
    ($($name:ident = $body:ident, $real:path, $named:expr;)*) => { $(
        /// All argument registers are taken: the return address is passed behind the last argument.
        #[unsafe(naked)]
        #[unsafe(export_name = stringify!($name))]
        pub unsafe extern "C" fn $body() {
            unsafe extern "C" fn body(
                process: *mut pid_t,
                name: *const c_char,
                files: *const c_void,
                attr: *const c_void,
                arguments: List,
                environment: List,
                pc: usize,
            ) -> c_int {
                // SAFETY: the program's own arguments.
                unsafe {
                    let spawn = |environment| $real(process, name, files, attr, arguments, environment);
                    start_other(spawn, $named, process, name, environment, pc)
                }
            }
            core::arch::naked_asm!(
                "push [rsp]",
                "call {body}",
                "add rsp, 8",
                "ret",
                body = sym body,
            )
        }
    )* };
}

spawning! {
    posix_spawn = spawn_by_path, posix_spawn, Named::ByPath;
    posix_spawnp = spawn_in_search_path, posix_spawnp, Named::InSearchPath;
}

/// The forms that take a list of arguments: five come in registers, the others lie behind the return address.
macro_rules! listed {
    ($($name:ident = $body:path;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "call {body}",
                "add rsp, 40",
                "ret",
                body = sym $body,
            )
        }
    )* };
}

listed! {
    execl = by_path;
    execlp = in_search_path;
    execle = with_environment;
}

/// The arguments up to the null, and the one behind it.
///
/// # Safety
/// `words` are the arguments as `listed` has put them.
unsafe fn listed_arguments(words: List) -> (Vec<*const c_char>, impl Fn() -> *const c_char) {
    const REGISTERS: usize = 5;
    // SAFETY: the list ends with a null; the return address is no part of it.
    let word = move |at: usize| unsafe { *words.add(at + usize::from(at >= REGISTERS)) };
    let mut arguments: Vec<_> = (0..).map(word).take_while(|word| !word.is_null()).collect();
    arguments.push(ptr::null());
    let count = arguments.len();
    (arguments, move || word(count))
}

unsafe extern "C" fn by_path(path: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(path, Named::ByPath, listed_arguments(words).0.as_ptr(), environ) }
}

unsafe extern "C" fn in_search_path(file: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { execute(file, Named::InSearchPath, listed_arguments(words).0.as_ptr(), environ) }
}

unsafe extern "C" fn with_environment(path: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let (arguments, behind) = listed_arguments(words);
        execute(path, Named::ByPath, arguments.as_ptr(), behind().cast())
    }
}
