//! The death of the process by a signal that the program does not handle: which thread, where, at what address.
//!
//! A fault, `abort` or a failed assertion would end the process without a word. A handler of the runtime's own takes
//! the first of these signals, says in the ring's header what it finds (the thread may be in the middle of a hook, so
//! no row can be sent), and lets the signal do what it does by default: the faulting instruction runs again, or the
//! signal is sent again. The program does not see the handler; where it sets its own, that replaces it. A thread that
//! overflows its stack has no room for any handler, and dies without a word as ever.

use crate::events;
use crate::events::modules;
use crate::platform::{real, sys, temporary_names};
use crate::scheduling::recording::{self, Phase, RING};
use crate::scheduling::thread::{Thread, UNRECORDED, slot};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{REG_RIP, REG_RSP, c_int, sigaction as Action, siginfo_t, ucontext_t};

/// Signals that an instruction causes, which cannot go on before they are handled.
pub const FAULTS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Signals that a process gets by its own doing, and that kill it.
pub fn signals() -> impl Iterator<Item = c_int> {
    FAULTS.into_iter().chain([libc::SIGABRT])
}

/// Words of the stack that are looked through for the program's own code.
const STACK_WORDS: usize = 1024;

/// Watches for the signals that the process did not inherit another treatment of.
pub fn prepare() {
    for signal in signals() {
        let mut now = MaybeUninit::<Action>::zeroed();
        // SAFETY: only asks.
        let asked = unsafe { real::sigaction(signal, ptr::null(), now.as_mut_ptr()) };
        // SAFETY: all zeros is an action, too.
        if asked == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_DFL {
            // SAFETY: a place for an action.
            unsafe { watch(signal, now.as_mut_ptr()) };
        }
    }
}

/// Whether the death by a signal is told.
pub fn is_told(signal: c_int) -> bool {
    signals().any(|other| other == signal)
}

/// Whether a handler is the runtime's.
pub fn is_ours(handler: usize) -> bool {
    handler == note as *const () as usize
}

/// Puts the handler in place of the default one.
///
/// # Safety
/// `before` is a place for an action.
pub unsafe fn watch(signal: c_int, before: *mut Action) -> c_int {
    // SAFETY: all zeros is an action; its set is empty.
    let mut ours: Action = unsafe { MaybeUninit::zeroed().assume_init() };
    ours.sa_sigaction = note as *const () as usize;
    // Once: then it is as if there were none.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
    // SAFETY: two actions.
    unsafe { real::sigaction(signal, &ours, before) }
}

unsafe extern "C" fn note(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let thread = slot();
    let here = recording::phase() == Phase::On && sys::process_id() == recording::process();
    // SAFETY: a slot holds a thread, which lives for ever; the kernel's arguments.
    unsafe {
        let info = &*info;
        if here {
            temporary_names::give_back();
        }
        if here && !thread.is_null() && !ptr::eq(thread, &raw const UNRECORDED) {
            tell(&*thread, signal, info, &*context.cast());
        }
        // A fault happens again. What was sent is sent again.
        if info.si_code <= 0 {
            sys::call(
                libc::SYS_tgkill,
                sys::process_id() as usize,
                sys::thread_id() as usize,
                signal as usize,
                0,
            );
        }
    }
}

/// # Safety
/// The process records.
unsafe fn tell(thread: &Thread, signal: c_int, info: &siginfo_t, context: &ucontext_t) {
    // SAFETY: attached, since it records; a fault has an address, any other signal has something else there.
    let (death, fault) = unsafe { (RING.death(), info.si_addr() as usize) };
    if death.signal.load(Relaxed) != 0 {
        return;
    }
    let registers = &context.uc_mcontext.gregs;
    let (pc, sp) = (
        registers[REG_RIP as usize] as usize,
        registers[REG_RSP as usize] as usize,
    );
    let memory = info.si_code > 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    let announced = thread.pending.addr.get()..thread.pending.addr.get() + thread.pending.size.get();
    let place = if memory && announced.contains(&fault) {
        // The write that its hook announced, and whose value nobody may read any more.
        thread.pending.size.set(0);
        thread.pending.pc.get()
    } else if modules::is_instrumented(pc) {
        // As return addresses are: behind the instruction.
        pc + 1
    } else {
        caller(sp)
    };
    death.thread.store(thread.index.get(), Relaxed);
    death.stack.store(events::stack_of(thread), Relaxed);
    death.pc.store(place as u64, Relaxed);
    death.addr.store(if memory { fault as u64 } else { 0 }, Relaxed);
    // SAFETY: attached, as above. The thread need not have the baton.
    death.before.store(unsafe { RING.events_about() }, Relaxed);
    death.signal.store(signal as u32, Release);
}

/// The innermost return address into the program's own code, as far as words on the stack tell; 0 if there is none.
fn caller(sp: usize) -> usize {
    let mut words = [0_usize; STACK_WORDS];
    // What the kernel reads need not be there: it stops at the end of the mapping.
    let into = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: size_of_val(&words),
    };
    let from = libc::iovec {
        iov_base: sp as *mut c_void,
        iov_len: size_of_val(&words),
    };
    let read = sys::read_own_memory(&into, &from);
    let found = words[..read / size_of::<usize>()].iter();
    found.copied().find(|&word| modules::is_instrumented(word)).unwrap_or(0)
}
