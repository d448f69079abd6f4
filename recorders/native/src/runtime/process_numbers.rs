//! Numbers of processes and threads, as the kernel gives them out: an `input` of the thread that asks.
//!
//! Along a plan the program sees those of the recorded run, whatever it does with them (SQLite makes random numbers of
//! its own). When it names one to the system, this run's is meant. What it names there without having been told of it
//! in this run, it may have from a file that the recorded run wrote: by now that number is somebody else's, to whom
//! nothing is sent.
//!
//! Where every schedule of a program is explored, the first process and its threads have [numbers](STANDING) that are
//! the same in all runs: else no run would go on as another one did, as soon as a thread asks. Rust's standard library
//! asks at the start of each.

use crate::events::modules;
use crate::platform::correspondence::Correspondence;
use crate::platform::glibc::signal_info::PROCESS;
use crate::platform::sys;
use crate::runtime::accesses::returns;
use crate::scheduling::thread::slot;
use crate::scheduling::{clocks, plan, recording};
use core::ptr;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
use libc::{id_t, idtype_t, pid_t, siginfo_t};

static NUMBERS: Correspondence = Correspondence::new();

/// The number of the first process, and from here on those of its threads in the order of their creation. The kernel
/// gives out smaller ones (its `PID_MAX_LIMIT`).
const STANDING: pid_t = 1 << 22;

/// The process whose numbers are the same in all runs; 0 if none is.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The running process starts, as the first of its run.
pub fn start() {
    if clocks::stand() {
        FIRST.store(sys::process_id(), Relaxed);
    }
}

/// What the program is told of a number, if no plan says so.
fn offered(actual: pid_t) -> pid_t {
    let first = FIRST.load(Relaxed);
    if first == 0 {
        return actual;
    }
    // What comes of the first process by `fork` knows what that one was told, and has numbers of its own.
    let is_first = first == sys::process_id();
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    let thread = unsafe { slot().as_ref() }.filter(|_| is_first && actual == sys::thread_id());
    match thread {
        _ if is_first && actual == first => STANDING,
        Some(thread) => STANDING + thread.index.get() as pid_t,
        None => NUMBERS.recorded(actual as u32).map_or(actual, |told| told as pid_t),
    }
}

/// The system told the running thread this number; the one that the program gets to see.
pub fn given(actual: pid_t, pc: usize) -> pid_t {
    if sys::process_id() != recording::process() {
        // A child of `vfork`, in its parent's memory.
        return actual;
    }
    let seen = returns(offered(actual).into(), pc) as pid_t;
    learn(seen, actual);
    seen
}

/// The same of a number that the system wrote into memory.
///
/// # Safety
/// It did so for the running thread.
pub unsafe fn given_at(place: *mut pid_t, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        let actual = *place;
        if modules::is_instrumented(pc) {
            plan::feed(place as usize, size_of::<pid_t>(), pc);
        }
        learn(*place, actual);
    }
}

fn learn(seen: pid_t, actual: pid_t) {
    if (plan::is_there() || seen != actual) && seen > 0 && actual > 0 {
        NUMBERS.learn(seen as u32, actual as u32);
    }
}

/// The number by which the system knows what the program means: a process, a thread, or, if it is negative, a group.
pub fn actual(named: pid_t) -> pid_t {
    match NUMBERS.actual(named.unsigned_abs()) {
        Some(actual) if named < 0 => -(actual as pid_t),
        Some(actual) => actual as pid_t,
        None => named,
    }
}

/// Whether the program was told of this number in this run, or knows it anyway; without a plan, whatever it is.
pub fn is_known(named: pid_t) -> bool {
    let number = named.unsigned_abs();
    number <= 1
        || !plan::is_there()
        || NUMBERS.actual(number).or(NUMBERS.recorded(number)).is_some()
        // SAFETY: no memory is involved.
        || unsafe { number == sys::process_id() as u32 || number == libc::getpgrp() as u32 }
}

/// As [`actual`], of whom a signal is for; none if that is nobody whom this run knows.
pub fn receiver(named: pid_t) -> Option<pid_t> {
    is_known(named).then(|| actual(named))
}

/// Who sent a signal, or ended, as the program knows it.
pub fn translate(info: &mut siginfo_t) {
    if info.si_code <= 0 || info.si_signo == libc::SIGCHLD {
        // SAFETY: such signals have a process.
        let process = unsafe { info.si_pid() };
        if let Some(recorded) = NUMBERS.recorded(process as u32) {
            // SAFETY: inside the structure, aligned, and checked at the start.
            unsafe {
                ptr::from_mut(info)
                    .byte_add(PROCESS)
                    .cast::<pid_t>()
                    .write(recorded as pid_t);
            }
        }
    }
}

/// Whom `waitid` shall wait for.
pub fn actual_of(kind: idtype_t, named: id_t) -> id_t {
    match kind {
        libc::P_PID | libc::P_PGID => actual(named as pid_t) as id_t,
        _ => named,
    }
}
