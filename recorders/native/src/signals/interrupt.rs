//! Taking the baton from a thread that runs and comes to no hook: a loop that touches no memory, a long computation in
//! code that is not instrumented.
//!
//! Such a thread is interrupted by a signal, and parks in the signal's handler. What it announced must be done then: a
//! hook comes before its access, and a thread may lose the processor between the two for as long as the machine likes.
//! So it is looked at twice. Between a hook and its access there is straight code without calls or jumps. If the thread
//! has come to no hook between the two looks, and is now at an earlier address, or far away, then it has left that
//! code, and the access is done. The same holds if it was both times at a jump, with time of its own between. Else it
//! is looked at again.

use crate::events::modules;
use crate::platform::real::sigaction;
use crate::platform::sys;
use crate::runtime::callers;
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::runtime::program_context::is_own;
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::fast_path::how_far;
use crate::scheduling::recording::{self, Phase};
use crate::scheduling::thread::{Thread, UNRECORDED, slot};
use crate::signals;
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, sigaction as Action, siginfo_t, ucontext_t};

/// A signal that the kernel does not send, and that hardly any program handles.
pub const SIGNAL: c_int = libc::SIGSTKFLT;

/// Processor time that a thread may use without a hook, and if it was interrupted and came to no hook since.
const LONGEST_NANOS: i64 = 1_000_000_000;
const AGAIN_NANOS: i64 = 5_000_000;

/// Time of its own that a thread which stands at the same jump must have used since it was seen there.
const ROUND_NANOS: i64 = 100_000;
/// No straight code between a hook and its access is that long.
const FAR_BYTES: usize = 4096;
/// Words on the stack that are looked through for a hook that called what is not instrumented.
const WORDS: usize = 64;

/// Where a thread was.
#[derive(Clone, Copy)]
struct Seen {
    thread: *const Thread,
    far: (u64, u64),
    pending: usize,
    pc: usize,
    time: i64,
}

static SEEN: Last = Last(Cell::new(Seen {
    thread: ptr::null(),
    far: (0, 0),
    pending: 0,
    pc: 0,
    time: 0,
}));

struct Last(Cell<Seen>);

// SAFETY: used by the thread that has the baton.
unsafe impl Sync for Last {}

/// How much processor time the thread has used.
pub fn time_of(thread: &Thread) -> i64 {
    // The clock of a thread, as the kernel numbers it.
    sys::now(!thread.os_id.load(Relaxed) << 3 | 6)
}

/// Whether the holder, which has used so much processor time without coming to a hook, has had enough.
pub fn is_due(holder: &Thread, used: i64) -> bool {
    used >= match holder.interrupted_at.get() == how_far(holder) {
        true => AGAIN_NANOS,
        false => LONGEST_NANOS,
    }
}

/// Interrupts the holder, or one that the baton was just taken from.
pub fn send_to(holder: &Thread) {
    if prepare() {
        let (process, thread) = (sys::process_id() as usize, holder.os_id.load(Relaxed) as usize);
        // SAFETY: no memory is involved.
        unsafe { sys::call(libc::SYS_tgkill, process, thread, SIGNAL as usize, 0) };
    }
}

/// Makes sure that the signal is ours. False if the program handles it.
fn prepare() -> bool {
    // SAFETY: all zeros is an action.
    let mut new: Action = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut old = new;
    new.sa_sigaction = take as *const () as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // No handler of the program's runs meanwhile.
    // SAFETY: a set is larger than a word, and any word is one.
    unsafe { ptr::from_mut(&mut new.sa_mask).cast::<u64>().write(u64::MAX) };
    // SAFETY: two actions.
    unsafe {
        let known = sigaction(SIGNAL, ptr::null(), &mut old) == 0;
        match old.sa_sigaction {
            before if before == new.sa_sigaction => true,
            libc::SIG_DFL if known => sigaction(SIGNAL, &new, ptr::null_mut()) == 0,
            _ => false,
        }
    }
}

unsafe extern "C" fn take(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    let errno = save_errno();
    let thread = slot();
    let records = recording::phase() == Phase::On && sys::process_id() == recording::process();
    if records && !thread.is_null() && !ptr::eq(thread, &raw const UNRECORDED) {
        // SAFETY: a slot holds a thread, which lives for ever; the kernel's argument.
        let (thread, registers): (&'static Thread, _) =
            unsafe { (&*thread, &(*context.cast::<ucontext_t>()).uc_mcontext.gregs) };
        let (pc, sp) = (
            registers[libc::REG_RIP as usize] as usize,
            registers[libc::REG_RSP as usize] as usize,
        );
        if has_done_all(thread, pc, sp) {
            park(thread);
        }
        signals::handle_outside(thread);
    }
    restore_errno(errno);
}

/// Whether the interrupted thread is in none of the runtime's code, and has done what it announced.
fn has_done_all(thread: &'static Thread, pc: usize, sp: usize) -> bool {
    let has_baton = SCHEDULER.is_holder(thread);
    if thread.busy.load(Relaxed) != 0 || !has_baton || is_own(pc) || is_called_by_hook(pc, sp) {
        return false;
    }
    let now = Seen {
        thread,
        far: how_far(thread),
        pending: thread.pending.size.get(),
        pc,
        time: sys::now(libc::CLOCK_THREAD_CPUTIME_ID),
    };
    let before = SEEN.0.replace(now);
    let same = ptr::eq(before.thread, thread) && before.far == now.far && before.pending == now.pending;
    let again = pc == before.pc && now.time - before.time >= ROUND_NANOS && is_jump(pc);
    same && (pc < before.pc || pc - before.pc > FAR_BYTES || again)
}

/// Whether code that is not instrumented may have been called by a hook. What calls the program's own functions is
/// none.
fn is_called_by_hook(pc: usize, sp: usize) -> bool {
    // No further than to the end of the page: what is above may not be there.
    let words = WORDS.min((4096 - sp % 4096) / size_of::<usize>());
    let mut stack = (0..words).map(|at| {
        // SAFETY: on the thread's own stack, in the page that it uses.
        unsafe { (sp as *const usize).add(at).read_unaligned() }
    });
    !modules::is_instrumented(pc) && stack.any(|word| is_own(word) && !callers::contain(word))
}

/// Whether an instruction that a thread was interrupted before is a jump.
fn is_jump(pc: usize) -> bool {
    // SAFETY: code that is about to be executed; the second byte is looked at only if there must be one.
    unsafe {
        match (pc as *const u8).read() {
            0xeb | 0xe9 | 0x70..=0x7f => true,
            0x0f => matches!((pc as *const u8).add(1).read(), 0x80..=0x8f),
            _ => false,
        }
    }
}

/// Gives the baton away, and comes back with it.
fn park(thread: &'static Thread) {
    let inside = RuntimeGuard::interrupted(thread);
    inside.settle();
    SCHEDULER.preempt(thread);
    drop(inside);
    thread.interrupted_at.set(how_far(thread));
}
