//! The start: finding the ring, and leaving no traces in the program's environment.

use crate::events::{modules, pending, picture};
use crate::platform::environment::{position, take_out};
use crate::platform::{glibc, processor, sys};
use crate::process::{ending, fork, suite};
use crate::pthread;
use crate::runtime::process_numbers;
use crate::scheduling::recording::{FOLDER, Phase, RING, set_phase, set_process};
use crate::scheduling::thread::{UNRECORDED, set_slot};
use crate::scheduling::{baton, clocks, plan};
use crate::signals::{alternate_stack, death};
use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use recorder_ring::layout::{Flag, RING_VARIABLE};
use recorder_ring::{Record, RingPath};

/// How far below the program's arguments the stack has grown at most when the loader initializes the libraries that the
/// program needs: by 153 bytes in glibc 2.36, and by 1,817 when `main`, at the least, loads one later.
const LOADERS_STACK: usize = 1 << 10;

/// Runs when the library is loaded, before the constructors of what depends on it.
unsafe extern "C" fn start(_count: c_int, arguments: *const *const c_char, environment: *mut *mut c_char) {
    let here = 0_u8;
    let late = (arguments as usize).wrapping_sub(ptr::from_ref(&here) as usize) > LOADERS_STACK;
    // SAFETY: what the loader passes.
    unsafe { begin(arguments, environment, late) };
}

/// Finds the ring, and begins to record; `late` says that the program is at work.
///
/// # Safety
/// The process's own arguments and environment.
#[inline(never)]
unsafe fn begin(arguments: *const *const c_char, environment: *mut *mut c_char, late: bool) {
    // SAFETY: the loader passes the process's environment, a list that ends with a null.
    let ring = unsafe { take_out(environment, RING_VARIABLE.as_bytes()) };
    if ring.is_none() {
        // SAFETY: the loader passes the process's arguments and environment.
        unsafe { suite::become_recorder(arguments, environment, late) };
    }
    let settings = ring.and_then(RingPath::of).and_then(|path| {
        // SAFETY: as above. No other thread can exist while the first library is initialized.
        let settings = unsafe {
            strip_library_path(environment);
            RING.attach(path)
        };
        if settings.is_none() && path.is_gone() {
            sys::die("witness: the recorder was killed before the program began; it is not run\n");
        }
        settings.map(|settings| (path, settings))
    });
    let Some((path, settings)) = settings else {
        set_phase(Phase::Off);
        set_slot(&UNRECORDED);
        return;
    };
    if RING.number() == 0 {
        // SAFETY: as above.
        unsafe { suite::end_with_recorder(environment) };
    }
    if let Some(what) = glibc::differs() {
        refuse(what);
    }
    sys::prepare_barrier();
    processor::start();
    set_process(sys::process_id());
    let first = pthread::thread::first();
    clocks::stand_at(settings.clocks_stand_at);
    if RING.number() == 0 {
        process_numbers::start();
    }
    picture::WORDS.store(settings.pictures, Relaxed);
    plan::start(path, plan::Whose::Recorders, settings.policy);
    baton::start(settings, first);
    pending::push(Record::Begin {
        os_id: first.os_id.load(Relaxed) as u32,
    });
    // It is fresh, and the kernel makes it longer as needed.
    first.brings_stack.set(true);
    pthread::stack::begin(first);
    alternate_stack::begin(first);
    modules::tell_new();
    ending::prepare();
    death::prepare();
    fork::prepare();
    set_phase(Phase::On);
    first.busy.store(0, Release);
}

/// Ends the process, and says why: what its C library is like is not known.
#[cold]
fn refuse(what: &str) -> ! {
    // SAFETY: the ring is attached.
    unsafe { RING.flag(Flag::UnknownLibrary) };
    // SAFETY: a function of glibc's without arguments, whose answer is a static C string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    sys::say(b"witness: the program's C library (glibc ");
    sys::say(version.to_bytes());
    sys::say(b") keeps its data elsewhere than the recorder expects: ");
    sys::say(what.as_bytes());
    sys::die("; nothing is recorded\n")
}

unsafe extern "C" fn stop() {
    ending::finish();
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static STOP: unsafe extern "C" fn() = stop;

/// Takes our folder, the first one, out of `LD_LIBRARY_PATH`: what of the program's children can be recorded gets it
/// again (see [`exec`](crate::process::exec)), for the others it would be none of their business.
///
/// # Safety
/// As `take_out`.
unsafe fn strip_library_path(environment: *mut *mut c_char) {
    const NAME: &[u8] = b"LD_LIBRARY_PATH";
    // SAFETY: stays within the list and the strings, which the process owns and may write to.
    unsafe {
        let Some((at, value)) = position(environment, NAME) else {
            return;
        };
        let folder = value.to_bytes().split(|&byte| byte == b':').next();
        FOLDER.set(folder.unwrap_or_default().to_vec());
        match value.to_bytes().iter().position(|&byte| byte == b':') {
            None => {
                take_out(environment, NAME);
            }
            Some(colon) => {
                let to = (*at).add(NAME.len() + 1);
                let rest = value.to_bytes_with_nul()[colon + 1..].len();
                ptr::copy(to.add(colon + 1), to, rest);
            }
        }
    }
}
