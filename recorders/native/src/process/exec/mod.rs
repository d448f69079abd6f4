//! Other programs in place of this one, or beside it: they are recorded, too, if they are instrumented.
//!
//! The recorder looks at the program's file before it starts. If it is one that can be recorded, the new process
//! gets, in its environment, what this one got in its own; else its environment is left as it is.

mod listed;
mod program;
mod spawn;

use crate::events::pending;
use crate::platform::{real, sys};
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::scheduling::recording::{self, BROKER, DESCENDANTS, FOLDER, Phase, RING};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int, c_long};
use program::{List, Named, are_there, entries, environ, value_of};
use recorder_ring::layout::RING_VARIABLE;
use recorder_ring::ring_broker::{Ask, What};
use recorder_ring::{Note, Record, RingPath};
use std::vec::Vec;

const LIBRARIES: &[u8] = b"LD_LIBRARY_PATH";

crate::platform::real::real! {
    fn fexecve(file: c_int, arguments: List, environment: List) -> c_int;
    fn execveat(folder: c_int, path: *const c_char, arguments: List, environment: List, flags: c_int) -> c_int;
}

/// The environment with which another program finds the runtime, and the runtime its ring.
struct Environment {
    strings: Vec<Vec<u8>>,
    list: Vec<*const c_char>,
}

impl Environment {
    /// # Safety
    /// `given` is null or a list of C strings.
    unsafe fn new(given: List, ring: RingPath) -> Environment {
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
        let mut strings = Vec::from([
            entry(LIBRARIES, &libraries),
            entry(RING_VARIABLE.as_bytes(), ring.as_c_str().to_bytes()),
        ]);
        // SAFETY: promised by the caller.
        let given = list
            .iter()
            .map(|&entry| unsafe { CStr::from_ptr(entry) }.count_bytes() + 1);
        let spaces = RingPath::spaces(given.sum::<usize>() + strings.iter().map(Vec::len).sum::<usize>());
        if let Some(ring) = strings.last_mut() {
            let end = ring.len() - 1;
            ring.splice(end..end, core::iter::repeat_n(b' ', spaces));
        }
        list.extend(strings.iter().map(|text| text.as_ptr().cast::<c_char>()));
        list.push(ptr::null());
        Environment { strings, list }
    }

    fn list(&self) -> List {
        debug_assert!(!self.strings.is_empty());
        self.list.as_ptr()
    }
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
    /// The name is a C string or null, the environment null or a list of them.
    unsafe fn new(what: What, named: Named, environment: List) -> Option<Coming> {
        // A child of `vfork` records nothing, but it has the memory of one who does.
        if recording::phase() != Phase::On || !BROKER.is_open() || !are_there(environment) {
            return None;
        }
        // SAFETY: promised by the caller.
        let file = unsafe { named.open() };
        if file < 0 {
            return None;
        }
        let ask = Ask {
            what,
            process: sys::process_id() as u32,
            file: file as u32,
            of: RING.number(),
            nth: DESCENDANTS.fetch_add(1, Relaxed) + 1,
        };
        let ring = BROKER.ask(ask);
        // SAFETY: opened above.
        unsafe { sys::call(libc::SYS_close, file as usize, 0, 0, 0) };
        let Some(ring) = ring else {
            // It does not count.
            let _ = DESCENDANTS.compare_exchange(ask.nth, ask.nth - 1, Relaxed, Relaxed);
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
        BROKER.ask(Ask {
            what: What::Failed,
            ..self.ask
        });
        let nth = self.ask.nth;
        let _ = DESCENDANTS.compare_exchange(nth, nth - 1, Relaxed, Relaxed);
    }
}

/// Executes a program in place of this one, by the call that it is given the environment for.
///
/// # Safety
/// The name is a C string or null, the environment null or a list of them.
unsafe fn execute<R>(named: Named, environment: List, call: impl FnOnce(List) -> R) -> R {
    let own = recording::phase() == Phase::On && sys::process_id() == recording::process();
    let inside = if own { RuntimeGuard::enter_and_stay() } else { None };
    // SAFETY: promised by the caller.
    let coming = unsafe { Coming::new(What::Executes, named, environment) };
    if inside.is_some() {
        let note = if coming.is_some() {
            Note::Replaced
        } else {
            Note::Executed
        };
        pending::push(Record::Note { note });
    }
    let result = call(coming.as_ref().map_or(environment, |coming| coming.environment.list()));
    let errno = save_errno();
    if let Some(coming) = coming {
        coming.failed();
    }
    restore_errno(errno);
    result
}

/// # Safety
/// The arguments are those of `execve` and `execvpe`.
unsafe fn by_name(named: Named, arguments: List, environment: List) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        execute(named, environment, |environment| match named {
            Named::InSearchPath(name) => real::execvpe(name, arguments, environment),
            Named::ByPath(path) | Named::From(_, path, _) => real::execve(path, arguments, environment),
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::ByPath(path), arguments, environment) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::ByPath(path), arguments, environ) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::InSearchPath(file), arguments, environ) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::InSearchPath(file), arguments, environment) }
}

#[unsafe(export_name = "fexecve")]
pub unsafe extern "C" fn execute_file(file: c_int, arguments: List, environment: List) -> c_int {
    let named = Named::From(file, ptr::null(), libc::AT_EMPTY_PATH);
    // SAFETY: the program's own arguments.
    unsafe { execute(named, environment, |environment| fexecve(file, arguments, environment)) }
}

#[unsafe(export_name = "execveat")]
pub unsafe extern "C" fn execute_from(
    folder: c_int,
    path: *const c_char,
    arguments: List,
    environment: List,
    flags: c_int,
) -> c_int {
    let named = Named::From(folder, path, flags);
    // SAFETY: the program's own arguments.
    unsafe {
        execute(named, environment, |environment| {
            execveat(folder, path, arguments, environment, flags)
        })
    }
}

/// `execve` and `execveat` as the program makes the system calls itself; `None` if it is another one.
///
/// # Safety
/// The number and the arguments are those of a system call.
pub unsafe fn by_system_call(number: c_long, words: [usize; 6]) -> Option<c_long> {
    let (named, at) = match number {
        libc::SYS_execve => (Named::ByPath(words[0] as *const c_char), 2),
        libc::SYS_execveat => {
            let path = words[1] as *const c_char;
            (Named::From(words[0] as c_int, path, words[4] as c_int), 3)
        }
        _ => return None,
    };
    let call = |environment: List| {
        let mut words = words;
        words[at] = environment as usize;
        let [a, b, c, d, e, f] = words;
        // SAFETY: promised by the caller.
        unsafe { real::syscall(number, a, b, c, d, e, f) }
    };
    // SAFETY: as above.
    Some(unsafe { execute(named, words[at] as List, call) })
}
