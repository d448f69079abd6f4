//! Loading and unloading libraries: the loader holds a lock of its own meanwhile (a recursive one, since constructors
//! load libraries), and also while a program looks at what is loaded.
//!
//! What a library's constructors do depends on who loads it first, so such calls keep their order; calls that only look
//! find what they found between the same two changes, and never run at the same time as one. How often what is loaded
//! has changed is a variable of the runtime's own, which each such call loads.

use crate::events::lock::{Lock, TRIES};
use crate::events::modules;
use crate::events::{images, variable};
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::platform::real::{self, Look};
use crate::runtime::accesses::enter_system;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Thread};
use crate::scheduling::{baton, clocks, plan};
use core::cell::Cell;
use core::ffi::{CStr, c_void};
use core::ptr;
use libc::{c_char, c_int};
use recorder_ring::ObjectClass;
use recorder_ring::plan::kind;
use std::ffi::CString;
use std::vec::Vec;

static LOADER: Loader = Loader {
    holder: Cell::new(ptr::null()),
    depth: Cell::new(0),
    changes: Cell::new(0),
};

/// The loader's lock, as the scheduler sees it.
struct Loader {
    holder: Cell<*const Thread>,
    depth: Cell<u32>,
    /// How many calls that load or unload something have ended, since there is a second thread.
    changes: Cell<u64>,
}

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Loader {}

/// In a forked child: nobody else holds it, and the trace does not know who did.
pub fn start_over() {
    LOADER.holder.set(ptr::null());
    LOADER.depth.set(0);
    LOADER.changes.set(0);
}

const LOCK: Lock = Lock {
    class: ObjectClass::RecursiveMutex,
    addr: NOBODYS | 1 << 58,
};

/// The variable that says how many changes there were.
const CHANGES: u64 = NOBODYS | 1 << 56;

/// A constructor may wait for a thread that looks; the loader's true locks allow that in some cases.
const LONGEST_WAIT: i64 = 2_000_000_000;

impl Loader {
    /// False if it takes too long; then nothing is recorded.
    fn acquire(&self, inside: &RuntimeGuard, pc: usize) -> bool {
        let me = inside.thread();
        // Along a plan it comes to hold the lock if the plan says so, and else it gave up.
        let limit = match plan::is_next(me, kind::ACQUIRE) {
            true => NEVER,
            false => clocks::now(libc::CLOCK_MONOTONIC) + LONGEST_WAIT,
        };
        while !self.holder.get().is_null() && !ptr::eq(self.holder.get(), me) {
            if baton::block(me, ptr::from_ref(self) as usize, limit) == crate::scheduling::thread::Woken::Deadline {
                return false;
            }
        }
        self.holder.set(me);
        self.depth.set(self.depth.get() + 1);
        // It would have given up after a while.
        LOCK.taken(TRIES, pc);
        // What is before there is a second thread is before all that these do.
        if images::are_taken() {
            variable::load(CHANGES, self.changes.get(), pc);
        }
        true
    }

    fn release(&self, changed: bool, pc: usize) {
        // A fork may have come between.
        if self.depth.get() == 0 {
            return;
        }
        if changed && images::are_taken() {
            self.changes.set(self.changes.get() + 1);
            variable::store(CHANGES, self.changes.get(), pc);
        }
        LOCK.given_back(pc);
        self.depth.set(self.depth.get() - 1);
        if self.depth.get() == 0 {
            self.holder.set(ptr::null());
            baton::wake(ptr::from_ref(self) as usize, usize::MAX);
        }
    }
}

/// Makes a call as the program, with the loader's lock held.
fn locked<R>(inside: &RuntimeGuard, changes: bool, pc: usize, call: impl FnOnce() -> R) -> R {
    let held = LOADER.acquire(inside, pc);
    let result = inside.in_program(call);
    if changes {
        modules::forget_unloaded();
        modules::tell_new();
    }
    if held {
        LOADER.release(changes, pc);
    }
    result
}

unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int, pc: usize) -> *mut c_void {
    let call = || {
        // SAFETY: null or a path, of the program's own.
        let found = unsafe { as_seen_from(path, pc) };
        let path = found.as_ref().map_or(path, |found| found.as_ptr());
        // SAFETY: the program's own arguments, but for the path, which is in `found` for as long.
        unsafe { real::dlopen(path, flags) }
    };
    match enter_system(pc) {
        // Who looks for the place gives back what it found loaded, and may be the last to do so.
        Some(inside) => locked(&inside, true, pc, call),
        None => call(),
    }
}

unsafe extern "C-unwind" fn close(handle: *mut c_void, pc: usize) -> c_int {
    match enter_system(pc) {
        // SAFETY: the program's own argument.
        Some(inside) => locked(&inside, true, pc, || unsafe { real::dlclose(handle) }),
        // SAFETY: as above.
        None => unsafe { real::dlclose(handle) },
    }
}

unsafe extern "C-unwind" fn iterate(look: Look, data: *mut c_void, pc: usize) -> c_int {
    match enter_system(pc) {
        // SAFETY: the program's own arguments.
        Some(inside) => locked(&inside, false, pc, || unsafe { real::dl_iterate_phdr(look, data) }),
        // SAFETY: as above.
        None => unsafe { real::dl_iterate_phdr(look, data) },
    }
}

/// The loader looks in places that the calling module names, and now the caller is this runtime: what it would find for
/// the caller. `None` if that makes no difference.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn as_seen_from(path: *const c_char, pc: usize) -> Option<CString> {
    if path.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    let (module, folders) = modules::library_path_of(pc)?;
    let origin = match module.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => &module[..slash],
        None => b".",
    };
    if name.contains(&b'/') {
        let expanded = expand(name, origin);
        return (expanded != name).then(|| CString::new(expanded).ok()).flatten();
    }
    // What is loaded already has a name, and is found by it.
    // SAFETY: the program's own argument; the handle is given back.
    unsafe {
        let loaded = real::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if !loaded.is_null() {
            real::dlclose(loaded);
            return None;
        }
    }
    let (before, after) = match &folders {
        modules::LibraryPath::First(folders) => (&folders[..], &b""[..]),
        modules::LibraryPath::AfterEnvironment(folders) => (&b""[..], &folders[..]),
    };
    // SAFETY: a C string, or null.
    let environment = unsafe { libc::getenv(c"LD_LIBRARY_PATH".as_ptr()).as_ref() };
    // SAFETY: as above.
    let environment = environment.map_or(&b""[..], |text| unsafe { CStr::from_ptr(text) }.to_bytes());
    for (folders, is_callers) in [(before, true), (environment, false), (after, true)] {
        for folder in folders.split(|&byte| byte == b':').filter(|folder| !folder.is_empty()) {
            let mut path: Vec<u8> = expand(folder, origin);
            path.push(b'/');
            path.extend_from_slice(name);
            let Ok(path) = CString::new(path) else { continue };
            // SAFETY: a C string.
            if unsafe { libc::access(path.as_ptr(), libc::R_OK) } == 0 {
                return is_callers.then_some(path);
            }
        }
    }
    None
}

/// A path in which `$ORIGIN` stands for the folder of the module that names it.
fn expand(path: &[u8], origin: &[u8]) -> Vec<u8> {
    let mut expanded = Vec::new();
    let mut rest = path;
    while let Some((&first, others)) = rest.split_first() {
        let token = [&b"$ORIGIN"[..], b"${ORIGIN}"]
            .into_iter()
            .find(|token| rest.starts_with(token));
        match token {
            Some(token) => {
                expanded.extend_from_slice(origin);
                rest = &rest[token.len()..];
            }
            None => {
                expanded.push(first);
                rest = others;
            }
        }
    }
    expanded
}

export! {
    dlopen = open, "rdx";
    dlclose = close, "rsi";
    dl_iterate_phdr = iterate, "rdx";
}
