//! What a program says of itself. That a region is meant to be atomic. And of its own races: that those on some memory do no harm, that what a thread does for a while is
//! not to be reported, that some functions are not. The accesses are recorded all the same, since what they read and
//! leave decides what is feasible; reports leave these races out.
//!
//! That a thread's synchronization is to be ignored (`AnnotateIgnoreSyncBegin`) changes nothing: what a lock orders, it
//! orders whatever the program says of it.

use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{Ignores, Thread};
use core::cell::{Cell, UnsafeCell};
use core::ffi::{CStr, c_void};
use libc::{c_char, c_int};
use recorder_ring::{MarkClass, Record};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::vec::Vec;

static SAID: Said = Said {
    benign: UnsafeCell::new(Vec::new()),
    suppressions: UnsafeCell::new(Vec::new()),
};

/// What is said of the whole process.
struct Said {
    benign: UnsafeCell<Vec<(u64, u64, Vec<u8>)>>,
    suppressions: UnsafeCell<Vec<Vec<u8>>>,
}

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Said {}

fn mark(class: MarkClass, addr: u64, size: u64, text: &[u8]) {
    pending::text(text);
    pending::push(Record::Mark { class, addr, size });
}

fn says(thread: &Thread) {
    let class = match state(&thread.ignores) {
        (false, false) => MarkClass::IgnoresNothing,
        (true, false) => MarkClass::IgnoresReads,
        (false, true) => MarkClass::IgnoresWrites,
        (true, true) => MarkClass::IgnoresBoth,
    };
    mark(class, 0, 0, b"");
}

/// What the thread does from here on is meant to be atomic.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __witness_atomic_begin(name: *const c_char) {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        let name = if name.is_null() {
            &b""[..]
        } else {
            // SAFETY: the program's own string.
            unsafe { CStr::from_ptr(name) }.to_bytes()
        };
        mark(MarkClass::AtomicBegin, 0, 0, name);
    }
}

/// Up to here.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __witness_atomic_end() {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        mark(MarkClass::AtomicEnd, 0, 0, b"");
    }
}

/// In a forked child: what was said still holds.
pub fn start_over(thread: &Thread) {
    // SAFETY: there is no other thread.
    let (benign, suppressions) = unsafe { (&*SAID.benign.get(), &*SAID.suppressions.get()) };
    for (addr, size, text) in benign {
        mark(MarkClass::Benign, *addr, *size, text);
    }
    for text in suppressions {
        mark(MarkClass::Suppressions, 0, 0, text);
    }
    if thread.ignores.reads.get() + thread.ignores.writes.get() > 0 {
        says(thread);
    }
}

/// The program's `main` is about to run: takes over what it has built in. The caller is in the program.
pub fn begin() {
    let (options, suppressions) = (
        built_in(c"__tsan_default_options"),
        built_in(c"__tsan_default_suppressions"),
    );
    let Some(_inside) = RuntimeGuard::enter_and_stay() else {
        return;
    };
    // SAFETY: nobody changes the environment while the program has not begun.
    let given = unsafe { libc::getenv(c"TSAN_OPTIONS".as_ptr()) };
    // SAFETY: a string of the environment.
    let given = (!given.is_null()).then(|| unsafe { CStr::from_ptr(given) });
    let set = [options, given].into_iter().flatten().map(CStr::to_bytes);
    let mut set: Vec<&[u8]> = set
        .flat_map(|text| text.split(|byte| b" ,:\n\t\r".contains(byte)))
        .collect();
    // The last one counts.
    set.reverse();
    let value = |name: &[u8]| set.iter().find_map(|option| option.strip_prefix(name));
    let own = suppressions.map(|text| text.to_bytes().to_vec());
    let file = value(b"suppressions=").and_then(|path| std::fs::read(OsStr::from_bytes(unquoted(path))).ok());
    let reports = value(b"report_bugs=").is_none_or(|value| !matches!(value, b"0" | b"no" | b"false"));
    let none = (!reports).then(|| b"race:*".to_vec());
    let all = [own, file, none].into_iter().flatten();
    for text in all.filter(|text| !text.is_empty()) {
        mark(MarkClass::Suppressions, 0, 0, &text);
        // SAFETY: the caller has the baton.
        unsafe { (*SAID.suppressions.get()).push(text) };
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    let quote = value.first().filter(|quote| b"'\"".contains(quote));
    let inner = quote.and_then(|&quote| value[1..].strip_suffix(&[quote]));
    inner.unwrap_or(value)
}

/// What a function of the program says; of the runtime, if the program has none.
fn built_in(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a function of that name has this type, and returns a string that stays.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if function.is_null() {
            return None;
        }
        let function: unsafe extern "C" fn() -> *const c_char = core::mem::transmute::<*mut c_void, _>(function);
        let text = function();
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}

fn change(count: impl Fn(&Ignores) -> [Option<&Cell<u32>>; 2], by: i32) {
    if let Some(inside) = RuntimeGuard::enter_and_stay() {
        let before = state(&inside.ignores);
        for count in count(&inside.ignores).into_iter().flatten() {
            count.set(count.get().saturating_add_signed(by));
        }
        if state(&inside.ignores) != before {
            says(inside.thread());
        }
    }
}

fn state(ignores: &Ignores) -> (bool, bool) {
    (ignores.reads.get() > 0, ignores.writes.get() > 0)
}

macro_rules! ignores {
    ($($name:ident($($argument:ident: $type:ty),*), [$($which:ident),*], $by:literal;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $type),*) {
            $(let _ = $argument;)*
            change(|ignores| {
                let mut counts = [None; 2];
                let all = [$(&ignores.$which),*];
                for (to, count) in counts.iter_mut().zip(all) {
                    *to = Some(count);
                }
                counts
            }, $by);
        }
    )* };
}

ignores! {
    AnnotateIgnoreReadsBegin(file: *const c_char, line: c_int), [reads], 1;
    AnnotateIgnoreReadsEnd(file: *const c_char, line: c_int), [reads], -1;
    AnnotateIgnoreWritesBegin(file: *const c_char, line: c_int), [writes], 1;
    AnnotateIgnoreWritesEnd(file: *const c_char, line: c_int), [writes], -1;
    __tsan_ignore_thread_begin(), [reads, writes], 1;
    __tsan_ignore_thread_end(), [reads, writes], -1;
}

unsafe fn benign(addr: usize, size: usize, text: *const c_char) {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        let text = if text.is_null() {
            &b""[..]
        } else {
            // SAFETY: the program's own string.
            unsafe { CStr::from_ptr(text) }.to_bytes()
        };
        let size = size.min(usize::MAX - addr);
        mark(MarkClass::Benign, addr as u64, size as u64, text);
        // SAFETY: the caller has the baton.
        unsafe { (*SAID.benign.get()).push((addr as u64, size as u64, text.to_vec())) };
    }
}

unsafe extern "C-unwind" fn benign_range(
    _file: *const c_char,
    _line: c_int,
    addr: usize,
    size: usize,
    text: *const c_char,
    _pc: usize,
) {
    // SAFETY: the program's own arguments.
    unsafe { benign(addr, size, text) };
}

unsafe extern "C-unwind" fn benign_byte(
    _file: *const c_char,
    _line: c_int,
    addr: usize,
    text: *const c_char,
    _pc: usize,
) {
    // SAFETY: the program's own arguments.
    unsafe { benign(addr, 1, text) };
}

export! {
    AnnotateBenignRace = benign_byte, "r8";
    AnnotateBenignRaceSized = benign_range, "r9";
    WTFAnnotateBenignRaceSized = benign_range, "r9";
}
