//! Forked children: each is recorded as a process of its own, from the fork on.
//!
//! A child has one thread, the one that forked, and a copy of the memory, the runtime's included. It asks the
//! recorder for a ring, and starts over: its thread is number 0 of a new trace, whose first events take the locks that
//! the thread holds. What other threads of the parent hold, nobody ever gives back there. Blocks that were
//! allocated before are memory that was always there.

use crate::c_library::{at_exit, channels, loader};
use crate::events::{agents, images, in_vain, lock, modules, moment, once, pending};
use crate::platform::sys;
use crate::pthread::keys;
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::process_numbers;
use crate::scheduling::baton::{self, SCHEDULER};
use crate::scheduling::fast_path;
use crate::scheduling::plan::{self, Whose};
use crate::scheduling::recording::{self, BROKER, DESCENDANTS, Phase, RING};
use crate::scheduling::thread::{Thread, UNRECORDED, set_slot, slot};
use crate::{events, interface, libraries, pthread, signals};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};
use libc::{c_long, pid_t};
use recorder_ring::ring_broker::{Ask, What};
use recorder_ring::{Note, Record, RingPath, Settings};

/// The thread that is forking: it has the baton, and the scheduler is locked.
static FORKING: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

/// Whether its child asks for a ring.
static ASKS: AtomicBool = AtomicBool::new(false);

/// Watches forks.
pub fn prepare() {
    // SAFETY: attached by `start`.
    if let Some(path) = unsafe { RING.broker() } {
        BROKER.attach(path);
    }
    // SAFETY: the three functions have the right type and need nothing.
    unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
}

unsafe extern "C" fn before() {
    prepare_for(0);
}

/// The forking thread stays inside the runtime during the fork, with its last write settled. The flags are those of
/// `clone`.
fn prepare_for(flags: u64) {
    let Some(inside) = RuntimeGuard::enter_and_stay() else {
        return;
    };
    let asks = !plan::is_followed() && BROKER.is_open() && !is_numbered_anew(flags);
    ASKS.store(asks, Relaxed);
    if asks {
        BROKER.announce();
        DESCENDANTS.fetch_add(1, Relaxed);
    } else {
        pending::push(Record::Note { note: Note::Forked });
    }
    FORKING.store(ptr::from_ref(inside.thread()).cast_mut(), Relaxed);
    // Nobody is in the middle of anything in the copy.
    SCHEDULER.freeze();
    inside.forget();
}

/// Whether the child has another number for itself than everybody else: the recorder would not find it.
fn is_numbered_anew(flags: u64) -> bool {
    let link = |path: &CStr| {
        let (mut text, len) = ([0_u8; 64], 64);
        // SAFETY: a C string and writable memory of that length.
        let read = unsafe {
            sys::call(
                libc::SYS_readlink,
                path.as_ptr() as usize,
                text.as_mut_ptr() as usize,
                len,
                0,
            )
        };
        (read, text)
    };
    flags & libc::CLONE_NEWPID as u64 != 0 || link(c"/proc/self/ns/pid") != link(c"/proc/self/ns/pid_for_children")
}

/// The calling thread, if it forks.
fn forking() -> Option<&'static Thread> {
    let thread = slot().cast_mut();
    let forks = FORKING
        .compare_exchange(thread, ptr::null_mut(), Relaxed, Relaxed)
        .is_ok();
    // SAFETY: null or a thread, which lives for ever.
    unsafe { thread.as_ref() }.filter(|_| forks)
}

unsafe extern "C" fn after_in_parent() {
    if let Some(thread) = forking() {
        SCHEDULER.thaw();
        fast_path::leave(thread);
    }
}

pub unsafe extern "C" fn after_in_child() {
    let thread = forking();
    if let Some((thread, (path, settings))) = thread.and_then(|thread| Some((thread, ring_of_its_own()?))) {
        start_over(thread, path, settings);
        fast_path::leave(thread);
    } else {
        // The parent's ring is not even mapped here.
        recording::set_phase(Phase::Off);
        set_slot(&UNRECORDED);
    }
}

fn ring_of_its_own() -> Option<(RingPath, Settings)> {
    if !ASKS.load(Relaxed) {
        return None;
    }
    let path = BROKER.ask(Ask {
        what: What::Forked,
        process: sys::process_id() as u32,
        file: 0,
        of: RING.number(),
        nth: DESCENDANTS.load(Relaxed),
    })?;
    // SAFETY: there is no other thread, and the parent's ring is not mapped.
    unsafe { RING.attach(path) }.map(|settings| (path, settings))
}

/// Begins a trace in the middle of a program. The calling thread is inside the runtime.
fn start_over(thread: &'static Thread, path: RingPath, settings: Settings) {
    DESCENDANTS.store(0, Relaxed);
    plan::start(path, Whose::Parents, settings.policy);
    recording::set_process(sys::process_id());
    sys::prepare_barrier();
    signals::start_over();
    channels::start_over();
    libraries::start_over();
    interface::start_over();
    loader::start_over();
    keys::start_over();
    lock::start_over();
    at_exit::start_over();
    moment::start_over();
    once::start_over();
    agents::start_over();
    images::start_over();
    modules::start_over();
    pthread::robust::start_over();
    in_vain::start_over();
    pthread::thread::start_over(thread);
    let held = events::start_over(thread);
    baton::start_over(settings, thread);
    pending::push(Record::Begin {
        os_id: thread.os_id.load(Relaxed) as u32,
    });
    for lock in held {
        pending::push(lock);
    }
    interface::marks::start_over(thread);
    modules::tell_new();
    recording::set_phase(Phase::On);
    thread.busy.store(1, Release);
}

#[expect(non_snake_case, reason = "the C library's names")]
mod library {
    use libc::pid_t;

    crate::platform::real::real! {
        fn fork() -> pid_t;
        fn _Fork() -> pid_t;
    }
}

/// The calling thread, whose writes are done, is about to start a process.
pub fn tells_child(pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        channels::starts_child(pc);
    }
}

/// Only here is it known whether there is a child; the rest is done by whoever calls the C library's `fork`.
pub unsafe extern "C-unwind" fn fork_or_not(pc: usize) -> pid_t {
    tells_child(pc);
    // SAFETY: no arguments.
    let child = unsafe { library::fork() };
    if child < 0 {
        take_back();
    }
    numbered(child, pc)
}

/// What a fork returns to the program: in the parent, the child's number.
fn numbered(child: pid_t, pc: usize) -> pid_t {
    match RuntimeGuard::enter_and_stay() {
        Some(_inside) if child > 0 => process_numbers::given(child, pc),
        _ => child,
    }
}

/// There is no child after all.
fn take_back() {
    if ASKS.load(Relaxed) {
        BROKER.take_back();
    }
}

/// A fork that the C library's handlers know nothing of.
pub fn unhandled(flags: u64, pc: usize, call: impl FnOnce() -> c_long) -> c_long {
    tells_child(pc);
    // SAFETY: each in its place.
    unsafe {
        prepare_for(flags);
        let child = call();
        if child == 0 {
            after_in_child();
        } else {
            after_in_parent();
        }
        if child < 0 {
            take_back();
        }
        child
    }
}

pub unsafe extern "C-unwind" fn fork_without_handlers(pc: usize) -> pid_t {
    // SAFETY: no arguments.
    numbered(unhandled(0, pc, || unsafe { library::_Fork() }.into()) as pid_t, pc)
}

crate::platform::export::export! {
    fork = fork_or_not, "rdi";
    _Fork = fork_without_handlers, "rdi";
}
