//! Signals that come from outside of the program: another process sends them, or the terminal; or a child has ended.
//! Each is recorded as something that its thread gets, and a run along a plan gets it again there, and nowhere else.
//!
//! At a hook, the thread sends it to itself. While it waits, in a call outside or for another thread, only somebody
//! else can: the process that made the plan does, once the thread sleeps there.

use crate::events::pending;
use crate::platform::sys;
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::thread::Thread;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, siginfo_t};
use recorder_ring::Record;
use recorder_ring::plan::{SIGNALS, WAITS};

/// What a terminal sends.
const OF_TERMINALS: [c_int; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGWINCH,
    libc::SIGCONT,
    libc::SIGTSTP,
];

/// Where a thread is when a handler runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At a hook.
    Hook,
    /// In a call outside, or waiting for another thread.
    Wait,
}

/// Whether nothing in the program caused a signal.
pub fn is_from_outside(info: &siginfo_t) -> bool {
    match info.si_code {
        // SAFETY: a signal that a process sent says which.
        libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => unsafe { info.si_pid() != sys::process_id() },
        libc::SI_KERNEL => OF_TERMINALS.contains(&info.si_signo),
        // When a child ends, nothing in this process says.
        1.. => info.si_signo == libc::SIGCHLD,
        _ => false,
    }
}

/// The thread handles a signal. The caller has the baton.
pub fn handles(thread: &Thread, info: &siginfo_t, place: Place, pc: usize) {
    if is_from_outside(info) {
        gets(thread, info.si_signo, place, pc);
    }
}

/// The thread gets a signal that nothing in the program sent. The caller has the baton.
pub fn gets(thread: &Thread, signal: c_int, place: Place, pc: usize) {
    let place = if place == Place::Wait { WAITS } else { 0 };
    pending::push(Record::Input {
        pc: pc as u64,
        source: SIGNALS | place | u64::from(thread.index.get()) << 3,
        value: signal as u64,
    });
}

/// Whether the thread may handle a signal now. Along a plan that has it, it comes where the plan says: if others send
/// it as well, as clients of the program do again, or it was sent twice, that is none. The caller has the baton.
pub fn may_come(thread: &Thread, info: &siginfo_t) -> bool {
    let plan = SCHEDULER.plan();
    let signal = info.si_signo as u32;
    !plan.brings(signal)
        || !is_from_outside(info)
        || plan
            .signal_to(thread.index.get())
            .is_some_and(|(_, due)| due.number == signal)
}

/// The calling thread sends itself a signal as from outside.
pub fn give(me: &Thread, signal: u32) {
    // SAFETY: all zeros are details of a signal, of which the kernel reads these first fields.
    unsafe {
        let mut info: siginfo_t = MaybeUninit::zeroed().assume_init();
        info.si_signo = signal as c_int;
        info.si_code = match info.si_signo {
            libc::SIGCHLD => libc::CLD_EXITED,
            _ => libc::SI_USER,
        };
        let process = sys::process_id() as usize;
        // Behind the sender's number, which is 0 where it is in another namespace, as that of all who are far away.
        let (thread, at) = (me.os_id.load(Relaxed) as usize, &raw const info as usize);
        sys::call(libc::SYS_rt_tgsigqueueinfo, process, thread, signal as usize, at);
    }
}
