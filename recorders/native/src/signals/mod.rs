//! Signal handlers of the program.
//!
//! The kernel runs a handler between any two instructions: between a hook and its access, or in the middle of the
//! runtime. What it did there could not be recorded in its place. So the runtime's own handler takes the signal; the
//! program's runs at the thread's next hook, which is a place between two accesses, as ThreadSanitizer does it. It
//! runs at once in a thread that is in a call outside (no access is on its way there), and when the fault is the
//! program's own: then there is no next hook. A thread that is blocked gets the baton for the time of its handler.

pub mod alternate_stack;
pub mod caught_signals;
pub mod death;
pub mod interrupt;
pub mod notifications;
pub mod outside;
mod overflows;
mod sent;

use crate::events::agents::CHILDREN;
use crate::events::moment::Moment;
use crate::events::once::{self, Once};
use crate::events::{modules, pending};
use crate::platform::export::export;
use crate::platform::{real, sys};
use crate::runtime::guard::{RuntimeGuard, leave_again};
use crate::runtime::program_context::ProgramContext;
use crate::runtime::{faults, process_numbers, program_context};
use crate::scheduling::baton::{self, SCHEDULER};
use crate::scheduling::plan;
use crate::scheduling::recording::{self, Phase};
use crate::scheduling::register::{by_handle, by_number};
use crate::scheduling::thread::{Thread, UNRECORDED, slot, state};
use crate::signals::death::FAULTS;
use crate::signals::outside::Place;
use crate::signals::sent::Receiver;
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_void;
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize};
use libc::{c_int, c_long, pid_t, pthread_t, sigaction as Action, siginfo_t, sigset_t, sigval, ucontext_t};
use recorder_ring::plan::{Signal, kind};
use recorder_scheduler::{Handled, Intent};

const SIGNALS: usize = 65;
/// Signals that wait for their thread's next hook, of all threads together.
const SAVED: usize = 128;

mod library {
    use super::{c_int, pid_t, pthread_t, sigval};

    crate::platform::real::real! {
        fn raise(signal: c_int) -> c_int;
        fn kill(process: pid_t, signal: c_int) -> c_int;
        fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
        fn sigqueue(process: pid_t, signal: c_int, value: sigval) -> c_int;
        fn killpg(group: pid_t, signal: c_int) -> c_int;
        fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int;
        fn pthread_sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> c_int;
    }
}

/// What the program wants done about a signal, if it has a handler.
struct Handler {
    /// 0 for none.
    code: AtomicUsize,
    flags: AtomicI32,
    mask: AtomicU64,
    /// When the program said so.
    since: Since,
}

struct Since(Cell<Moment>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Since {}

static HANDLERS: [Handler; SIGNALS] = [const {
    Handler {
        code: AtomicUsize::new(0),
        flags: AtomicI32::new(0),
        mask: AtomicU64::new(0),
        since: Since(Cell::new(Moment::NEVER)),
    }
}; SIGNALS];

/// A signal that waits.
struct Saved {
    /// Somebody has taken the place.
    taken: AtomicBool,
    /// Whose it is, once the details are there; else null.
    owner: AtomicPtr<Thread>,
    /// Which one in the order in which they came.
    number: AtomicU64,
    details: UnsafeCell<MaybeUninit<Details>>,
}

/// What the kernel told, and how many signals had been sent then.
type Details = (siginfo_t, ucontext_t, u64);

// SAFETY: the details are written by the thread that has taken the place, before it says that it owns it, and then read
// by that thread alone.
unsafe impl Sync for Saved {}

static WAITING: [Saved; SAVED] = [const {
    Saved {
        taken: AtomicBool::new(false),
        owner: AtomicPtr::new(ptr::null_mut()),
        number: AtomicU64::new(0),
        details: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; SAVED];

/// How many signals have waited.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The signal that has waited longest of those of a thread that came behind this one.
fn next_of(thread: &Thread, behind: u64) -> Option<&'static Saved> {
    let is_it = |saved: &&Saved| ptr::eq(saved.owner.load(Relaxed), thread) && saved.number.load(Relaxed) > behind;
    WAITING
        .iter()
        .filter(is_it)
        .min_by_key(|saved| saved.number.load(Relaxed))
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

const _: () = assert!(size_of::<sigset_t>() >= size_of::<u64>() && align_of::<sigset_t>() >= align_of::<u64>());

/// The first 64 signals of a set.
fn first_word(set: &sigset_t) -> u64 {
    // SAFETY: a set is no shorter than a word, nor less aligned, and any word is valid.
    unsafe { ptr::from_ref(set).cast::<u64>().read() }
}

/// Makes these the first 64 signals of a set.
fn set_first_word(set: &mut sigset_t, word: u64) {
    // SAFETY: as in `first_word`.
    unsafe { ptr::from_mut(set).cast::<u64>().write(word) };
}

/// What stands in the kernel's table for a signal that the program handles.
unsafe extern "C" fn take(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let errno = crate::runtime::guard::save_errno();
    let thread = slot();
    let here = recording::phase() == Phase::On && sys::process_id() == recording::process();
    // SAFETY: a slot holds a thread, which lives for ever; the kernel's arguments.
    unsafe {
        if !here || thread.is_null() || ptr::eq(thread, &raw const UNRECORDED) {
            run(signal, info, context);
        } else {
            let thread: &'static Thread = &*thread;
            if is_own_fault(signal, &*info) {
                let registers = &raw const (*context.cast::<ucontext_t>()).uc_mcontext.gregs;
                faults::handle(thread, &*info, registers, || {
                    if modules::is_instrumented(HANDLERS[signal as usize].code.load(Relaxed))
                        && let Some(inside) = RuntimeGuard::enter_and_stay()
                    {
                        follows(&inside, signal, &*info, sent::count(), Place::Hook);
                    }
                    run(signal, info, context);
                });
            } else if thread.busy.load(Relaxed) == 0 && thread.state.load(Relaxed) == state::OUTSIDE {
                let when = sent::count();
                let mut may_come = true;
                if modules::is_instrumented(HANDLERS[signal as usize].code.load(Relaxed))
                    && let Some(inside) = RuntimeGuard::enter_and_stay()
                {
                    may_come = outside::may_come(&inside, &*info);
                    if may_come {
                        follows(&inside, signal, &*info, when, Place::Wait);
                    }
                }
                let ends_call = HANDLERS[signal as usize].flags.load(Relaxed) & libc::SA_RESTART == 0;
                // The handler may make such calls itself.
                if may_come && run(signal, info, context) && ends_call {
                    thread.call_ended.set(true);
                }
                leave_again(thread);
            } else {
                put_off(thread, signal, &*info, &*context.cast());
            }
        }
    }
    crate::runtime::guard::restore_errno(errno);
}

/// In a forked child: what came for its parent's threads is none of its own.
pub fn start_over() {
    sent::start_over();
    WAITING.iter().for_each(Saved::give_up);
}

impl Saved {
    /// The place is free from here on.
    fn give_up(&self) {
        self.owner.store(ptr::null_mut(), Relaxed);
        self.taken.store(false, Release);
    }
}

/// Whether the thread cannot go on before the signal is handled.
fn is_own_fault(signal: c_int, info: &siginfo_t) -> bool {
    signal == libc::SIGABRT || info.si_code > 0 && FAULTS.contains(&signal)
}

fn put_off(thread: &'static Thread, signal: c_int, info: &siginfo_t, context: &ucontext_t) {
    // Like the kernel's: one of each kind waits, but of those that queue up.
    if signal < sent::FIRST_THAT_QUEUES && thread.deferred.load(Relaxed) & bit(signal) != 0 {
        return;
    }
    let owner = ptr::from_ref(thread).cast_mut();
    let free = WAITING.iter().find(|saved| !saved.taken.swap(true, Acquire));
    let Some(saved) = free else { return };
    // SAFETY: the place was free and is taken now, so nobody else has it: another signal that comes meanwhile takes
    // another one, and what looks for the thread's signals finds this one only once it has its owner. The state of the
    // arithmetic unit lies behind a pointer, and is there only now.
    unsafe {
        let (_, copy, _) = (*saved.details.get()).write((*info, *context, sent::count()));
        let state = context.uc_mcontext.fpregs.cast::<u8>();
        if !state.is_null() {
            ptr::copy_nonoverlapping(state, arithmetic_state(copy), ARITHMETIC_BYTES);
        }
    }
    saved.number.store(NUMBER.fetch_add(1, Relaxed) + 1, Relaxed);
    saved.owner.store(owner, Release);
    thread.deferred.fetch_or(bit(signal), Release);
    // At its next hook; or now, if it sleeps.
    thread.switch_at.store(0, Relaxed);
    baton::revoke_fast_path();
    thread.word.store(1, Relaxed);
}

/// The basic state of the arithmetic unit.
const ARITHMETIC_BYTES: usize = size_of::<libc::_libc_fpstate>();
/// Where `ucontext_t` has room for it.
const ARITHMETIC_AT: usize = core::mem::offset_of!(ucontext_t, uc_sigmask) + size_of::<sigset_t>();
const _: () = assert!(ARITHMETIC_AT + ARITHMETIC_BYTES <= size_of::<ucontext_t>());

fn arithmetic_state(context: &mut ucontext_t) -> *mut u8 {
    ptr::from_mut(context).cast::<u8>().wrapping_add(ARITHMETIC_AT)
}

/// What a thread does after handlers that were put off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It goes on where the context says that a handler got.
    AsItSays,
    /// It goes on with what it was doing in the runtime.
    AsBefore,
}

/// The running thread comes to the handler of a signal: after it was installed, and after the signal was sent.
fn follows(inside: &RuntimeGuard, signal: c_int, info: &siginfo_t, when: u64, place: Place) {
    let handler = &HANDLERS[signal as usize];
    let pc = handler.code.load(Relaxed);
    outside::handles(inside, info, place, pc);
    handler.since.0.get().is_past(pc);
    sent::handles(inside, info, when, pc);
}

/// The running thread has waited for a signal, and got it.
pub fn waited_for(signal: c_int, pc: usize) {
    // SAFETY: a slot holds a thread, which lives for ever.
    if let Some(thread) = unsafe { slot().as_ref() }
        && !sent::waited_for(thread, signal, pc)
    {
        outside::gets(thread, signal, Place::Wait, pc);
    }
}

/// The running thread has read a signal from a descriptor.
pub fn was_read(signal: c_int, pc: usize) {
    // SAFETY: as above.
    if let Some(thread) = unsafe { slot().as_ref() } {
        sent::waited_for(thread, signal, pc);
    }
}

/// Along a plan, the calling thread gets the signals from outside that come next to it there, each when it is its turn.
/// It is inside, with the baton and nothing pending. A wait is over.
pub fn take_those_of_plan(inside: &RuntimeGuard, place: Place, afterwards: Afterwards) {
    let plan = SCHEDULER.plan();
    let is_here = |(_, due): &(usize, Signal)| due.waits == (place == Place::Wait);
    let next = || plan.signal_to(inside.thread().index.get()).filter(is_here);
    while let Some(due) = next() {
        SCHEDULER.gate(inside.thread(), &Intent::NONE);
        if next() != Some(due) {
            continue;
        }
        outside::give(inside, due.1.number);
        deliver(inside, place, afterwards);
        if next() == Some(due) {
            // The program does not handle it here.
            return;
        }
    }
}

/// Whether a signal that the program sent to the thread, which is blocked, will interrupt its wait: the thread has put
/// it off and is about to look up, or the kernel has woken it for that. The caller has locked the scheduler.
pub fn is_on_its_way(thread: &Thread) -> bool {
    thread.deferred.load(Acquire) != 0
        || sent::may_come_to(thread) && !sys::sleeps(thread.os_id.load(Relaxed))
        || notifications::are_under_way() && handles_next(thread)
}

/// Whether a plan has the thread begin to handle a signal next.
fn handles_next(thread: &Thread) -> bool {
    let next = SCHEDULER.plan().steps_of(thread.index.get()).next();
    next.is_some_and(|(_, step)| {
        let is_begun = |handler: &Handler| match handler.code.load(Relaxed) {
            0 => false,
            code => step.matches(kind::ATOMIC_LOAD, code as u64),
        };
        HANDLERS.iter().any(is_begun)
    })
}

/// Runs the program's handler. Whether there is one still.
unsafe fn run(signal: c_int, info: *mut siginfo_t, context: *mut c_void) -> bool {
    let handler = &HANDLERS[signal as usize];
    let (code, flags) = (handler.code.load(Relaxed), handler.flags.load(Relaxed));
    let runs_once = plan::is_there() && flags & libc::SA_RESETHAND != 0;
    if code == 0 {
        // SAFETY: the kernel's, or a copy of it.
        let info = unsafe { &*info };
        if runs_once && !outside::is_from_outside(info) {
            do_by_default(signal, info);
        }
        return false;
    }
    if runs_once {
        handler.code.store(0, Relaxed);
    }
    // SAFETY: the kernel's, or a copy of it.
    process_numbers::translate(unsafe { &mut *info });
    // SAFETY: what the program gave to `sigaction`, of the type that its flags say.
    unsafe {
        if flags & libc::SA_SIGINFO != 0 {
            transmute::<usize, unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void)>(code)(
                signal, info, context,
            );
        } else {
            transmute::<usize, unsafe extern "C-unwind" fn(c_int)>(code)(signal);
        }
    }
    true
}

/// Lets the kernel do with a signal what it does where there is no handler.
fn do_by_default(signal: c_int, info: &siginfo_t) {
    // SAFETY: all zeros is the action by default; numbers.
    unsafe {
        real::sigaction(signal, MaybeUninit::<Action>::zeroed().as_ptr(), ptr::null_mut());
        // A fault happens again.
        if info.si_code <= 0 {
            let (process, thread) = (sys::process_id() as usize, sys::thread_id() as usize);
            sys::call(libc::SYS_tgkill, process, thread, signal as usize, 0);
        }
    }
}

/// Whom the kernel keeps a signal for that is given back to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// The calling thread alone.
    Thread,
    /// Any thread, if it was sent to any.
    Anyone,
}

/// Whether another one of this kind waits.
fn has_another(thread: &Thread, signal: c_int) -> bool {
    let mut last = 0;
    while let Some(saved) = next_of(thread, last) {
        // SAFETY: the place is this thread's, so its details are there.
        if unsafe { (*saved.details.get()).assume_init_ref().0 }.si_signo == signal {
            return true;
        }
        last = saved.number.load(Relaxed);
    }
    false
}

/// Gives the signals of a set that the calling thread has put off back to the kernel, which keeps them as long as the
/// thread blocks them. It blocks all signals now.
fn give_back(thread: &Thread, set: u64, whom: For) {
    let (mut last, mut kept) = (0, 0);
    while let Some(saved) = next_of(thread, last) {
        last = saved.number.load(Relaxed);
        // SAFETY: the place is this thread's, so its details are there.
        let mut info = unsafe { (*saved.details.get()).assume_init_ref().0 };
        let signal = info.si_signo;
        let (process, number) = (sys::process_id() as usize, signal as usize);
        let at = &raw mut info as usize;
        // SAFETY: the kernel reads the details of the signal.
        let result = unsafe {
            match whom {
                _ if set & bit(signal) == 0 => {
                    kept |= bit(signal);
                    continue;
                }
                For::Anyone if info.si_code == libc::SI_USER => {
                    sys::call(libc::SYS_rt_sigqueueinfo, process, number, at, 0)
                }
                _ => sys::call(
                    libc::SYS_rt_tgsigqueueinfo,
                    process,
                    thread.os_id.load(Relaxed) as usize,
                    number,
                    at,
                ),
            }
        };
        // Where it has no room for more, the signal stays here.
        if result == 0 {
            saved.give_up();
        } else {
            kept |= bit(signal);
        }
    }
    thread.deferred.store(kept, Release);
}

/// The calling thread is in a call outside since the baton was taken from it there, and all signals are blocked: those
/// that came before that are handled as those that come from now on.
pub fn handle_outside(thread: &Thread) {
    let is_outside = thread.busy.load(Relaxed) == 0 && thread.state.load(Relaxed) == state::OUTSIDE;
    if is_outside && thread.deferred.load(Acquire) != 0 {
        give_back(thread, u64::MAX, For::Thread);
    }
}

/// Runs the handlers of the signals that the thread has put off. It is inside, with the baton and nothing pending.
#[cold]
#[inline(never)]
pub fn deliver(inside: &RuntimeGuard, place_of_thread: Place, afterwards: Afterwards) -> Handled {
    let thread = inside.thread();
    let (mut ran, mut restarts) = (false, true);
    while thread.deferred.load(Acquire) != 0 {
        // No signal comes while the places change hands.
        let before = sys::block_signals(u64::MAX);
        // What the program has blocked since they came waits until it does no longer.
        give_back(thread, before, For::Anyone);
        let Some(saved) = next_of(thread, 0) else {
            thread.deferred.store(0, Relaxed);
            sys::block_signals(before);
            break;
        };
        // SAFETY: as in `give_back`.
        let (mut info, mut context, when) = unsafe { (*saved.details.get()).assume_init_read() };
        saved.give_up();
        let signal = info.si_signo;
        if !has_another(thread, signal) {
            thread.deferred.fetch_and(!bit(signal), AcqRel);
        }
        let handler = &HANDLERS[signal as usize];
        if modules::is_instrumented(handler.code.load(Relaxed)) && !outside::may_come(thread, &info) {
            sys::block_signals(before);
            continue;
        }
        ran = true;
        restarts &= handler.flags.load(Relaxed) & libc::SA_RESTART != 0;
        let own = match handler.flags.load(Relaxed) & libc::SA_NODEFER {
            0 => bit(signal),
            _ => 0,
        };
        // The context is that of the place where the handler runs, a hook of the program.
        let wants_context = handler.flags.load(Relaxed) & libc::SA_SIGINFO != 0;
        let place = if wants_context { ProgramContext::here() } else { None };
        if let Some(place) = place {
            place.put_into(&mut context.uc_mcontext.gregs);
        }
        if modules::is_instrumented(handler.code.load(Relaxed)) {
            follows(inside, signal, &info, when, place_of_thread);
        }
        context.uc_mcontext.fpregs = arithmetic_state(&mut context).cast();
        set_first_word(&mut context.uc_sigmask, before);
        process_numbers::translate(&mut info);
        if wants_context && modules::is_instrumented(handler.code.load(Relaxed)) {
            // The kernel would have written both to where a handler finds them.
            let pc = place.map_or(0, |place| place.pc());
            if outside::is_from_outside(&info) {
                // Who sent it, say.
                plan::feed(&raw const info as usize, size_of_val(&info), pc);
            }
            pending::write_range_now(&raw const info as usize, size_of_val(&info), pc);
            pending::write_range_now(&raw const context as usize, size_of_val(&context), pc);
        }
        let during = before | handler.mask.load(Relaxed) | own;
        if thread.deferred.load(Relaxed) & during != 0 {
            let now = sys::block_signals(u64::MAX);
            give_back(thread, during, For::Thread);
            sys::block_signals(now);
        }
        sys::block_signals(during);
        let errno = crate::runtime::guard::save_errno();
        // SAFETY: the kernel's arguments, as they were when the signal came.
        inside.in_program(|| unsafe { run(signal, &raw mut info, (&raw mut context).cast()) });
        crate::runtime::guard::restore_errno(errno);
        // The handler may have changed it.
        sys::block_signals(first_word(&context.uc_sigmask));
        let registers = &context.uc_mcontext.gregs;
        if afterwards == Afterwards::AsItSays && place.is_some_and(|place| !place.is_in(registers)) {
            // SAFETY: what the program's handler has put there.
            unsafe { program_context::go_on(thread, registers) };
        }
    }
    match (ran, restarts) {
        (false, _) => Handled::Nothing,
        (true, true) => Handled::Restarts,
        (true, false) => Handled::Interrupts,
    }
}

/// The calling thread, inside and with nothing pending, ends: runs the handlers of what it has put off, and lets no more
/// signals in. Its kernel's thread runs on for a while, and no handler could be recorded there, while it may access
/// what others access. Signals for the process come to another thread, which handles them. What the thread has blocked
/// until now.
pub fn close(inside: &RuntimeGuard) -> u64 {
    let faults = FAULTS.iter().fold(0, |set, &signal| set | bit(signal));
    loop {
        deliver(inside, Place::Hook, Afterwards::AsBefore);
        let before = sys::block_signals(!faults);
        if inside.deferred.load(Acquire) == 0 {
            return before;
        }
        // One that came on the way here.
        sys::block_signals(before);
    }
}

unsafe extern "C-unwind" fn set_program_action(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own arguments.
    let result = unsafe { set_action(signal, new, old, pc) };
    if result == 0
        && !old.is_null()
        && let Some(_inside) = RuntimeGuard::enter()
    {
        pending::write_range_now(old as usize, size_of::<Action>(), pc);
    }
    result
}

/// The signal by which glibc cancels a thread.
const CANCELS: c_int = 32;

/// # Safety
/// The actions are null, or there is one.
unsafe fn set_action(signal: c_int, new: *const Action, old: *mut Action, pc: usize) -> c_int {
    let known = (1..SIGNALS as c_int).contains(&signal);
    // SAFETY: the program's own arguments.
    unsafe {
        if !known || recording::phase() != Phase::On {
            return real::sigaction(signal, new, old);
        }
        let handler = &HANDLERS[signal as usize];
        // Found out once, here and not in a handler.
        program_context::is_own(0);
        if !new.is_null() && (*new).sa_flags & libc::SA_SIGINFO != 0 {
            program_context::prepare();
        }
        let inside = RuntimeGuard::enter();
        let wanted = new.as_ref().filter(|new| new.sa_sigaction > libc::SIG_IGN);
        if inside.is_some() {
            match (new.is_null(), old.is_null()) {
                (true, _) => once::looks(Once::Action(signal), pc),
                (false, true) => once::changes(Once::Action(signal), pc),
                (false, false) => once::exchanges(Once::Action(signal), pc),
            }
        }
        if inside.is_some() && !new.is_null() {
            sent::changed(signal);
            handler.since.0.set(wanted.map_or(Moment::NEVER, |_| Moment::now(pc)));
        }
        let mask = sys::block_signals(u64::MAX);
        let was = (
            handler.code.load(Relaxed),
            handler.flags.load(Relaxed),
            handler.mask.load(Relaxed),
        );
        let mut before = MaybeUninit::<Action>::uninit();
        let result = match wanted {
            Some(wanted) => {
                let mut ours = *wanted;
                ours.sa_sigaction = take as *const () as usize;
                ours.sa_flags |= libc::SA_SIGINFO;
                if plan::is_there() {
                    // What others send as well must not end the program: `run` sees to it that it runs once.
                    ours.sa_flags &= !libc::SA_RESETHAND;
                }
                // In a call where it may be cancelled, a thread is so at once, and could not be unwound from here: once
                // the handler has returned, it can.
                set_first_word(&mut ours.sa_mask, first_word(&wanted.sa_mask) | bit(CANCELS));
                let result = real::sigaction(signal, &ours, before.as_mut_ptr());
                if result == 0 {
                    handler.code.store(wanted.sa_sigaction, Relaxed);
                    handler.flags.store(wanted.sa_flags, Relaxed);
                    handler.mask.store(first_word(&wanted.sa_mask), Relaxed);
                }
                result
            }
            // What kills the process by default is told before it does.
            None if !new.is_null() && (*new).sa_sigaction == libc::SIG_DFL && death::is_told(signal) => {
                death::watch(signal, before.as_mut_ptr())
            }
            None => real::sigaction(signal, new, before.as_mut_ptr()),
        };
        sys::block_signals(mask);
        if result == 0 && !old.is_null() {
            let mut before = before.assume_init();
            if death::is_ours(before.sa_sigaction) {
                before.sa_sigaction = libc::SIG_DFL;
                before.sa_flags = 0;
            }
            let has_run_once = before.sa_sigaction == libc::SIG_DFL && before.sa_flags & libc::SA_RESETHAND != 0;
            if before.sa_sigaction == take as *const () as usize || has_run_once && was.1 & libc::SA_RESETHAND != 0 {
                before.sa_sigaction = if has_run_once { libc::SIG_DFL } else { was.0 };
                before.sa_flags = was.1;
                set_first_word(&mut before.sa_mask, was.2);
            }
            // Behind what the kernel knows, glibc copies what lay on its stack.
            let known = first_word(&before.sa_mask);
            before.sa_mask = MaybeUninit::zeroed().assume_init();
            set_first_word(&mut before.sa_mask, known);
            if new.is_null() && before.sa_sigaction == libc::SIG_DFL && overflows::asks_for_them(signal, pc) {
                before.sa_sigaction = libc::SIG_IGN;
            }
            old.write(before);
        }
        drop(inside);
        result
    }
}

/// Sets what happens on a signal, with flags as glibc sets them; what happened before.
fn set_with(signal: c_int, handler: usize, flags: c_int, pc: usize) -> usize {
    // SAFETY: all zeros is an action; its set is empty.
    let mut new: Action = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut old = new;
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    // SAFETY: two actions.
    match unsafe { set_action(signal, &new, &mut old, pc) } {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

unsafe extern "C-unwind" fn set_handler(signal: c_int, handler: usize, pc: usize) -> usize {
    set_with(signal, handler, libc::SA_RESTART, pc)
}

/// What `signal` is in a program that asks for X/Open's functions alone, or for those of ISO C: the handler runs once.
unsafe extern "C-unwind" fn set_handler_once(signal: c_int, handler: usize, pc: usize) -> usize {
    set_with(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
}

/// System V's: it also says whether the signal was blocked, which it is no more.
unsafe extern "C-unwind" fn set_and_unblock(signal: c_int, handler: usize, pc: usize) -> usize {
    const HOLD: usize = 2;
    let how = if handler == HOLD {
        libc::SIG_BLOCK
    } else {
        libc::SIG_UNBLOCK
    };
    let before = match handler {
        HOLD => {
            // SAFETY: all zeros is an action; nothing is set.
            let mut old: Action = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: an action.
            match unsafe { set_action(signal, ptr::null(), &mut old, pc) } {
                0 => old.sa_sigaction,
                _ => libc::SIG_ERR,
            }
        }
        handler => set_with(signal, handler, 0, pc),
    };
    if before == libc::SIG_ERR {
        return before;
    }
    // SAFETY: two sets, of which the functions make all.
    let was_blocked = unsafe {
        let (mut set, mut old) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(how, set.as_ptr(), old.as_mut_ptr());
        libc::sigismember(old.as_ptr(), signal) == 1
    };
    if was_blocked { HOLD } else { before }
}

unsafe extern "C-unwind" fn ignore(signal: c_int, pc: usize) -> c_int {
    match set_with(signal, libc::SIG_IGN, 0, pc) {
        libc::SIG_ERR => -1,
        _ => 0,
    }
}

/// Whom `kill` means, if this process is among them.
fn receiver_of(process: pid_t) -> Option<Receiver> {
    let own = match process {
        0 | -1 => true,
        1.. => process == sys::process_id(),
        // SAFETY: no arguments.
        _ => process == unsafe { -libc::getpgrp() },
    };
    own.then_some(Receiver::PROCESS)
}

/// Who gets a signal.
#[derive(Clone, Copy)]
enum To {
    /// This process, or a thread of it.
    Own(Receiver),
    /// The calling thread, at once.
    Caller,
    /// Somebody else.
    Others,
}

impl From<Option<Receiver>> for To {
    fn from(own: Option<Receiver>) -> To {
        own.map_or(To::Others, To::Own)
    }
}

/// Sends a signal. One to the caller itself is handled before the call returns.
fn send(signal: c_int, to: To, pc: usize, call: impl FnOnce() -> c_int) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else {
        return call();
    };
    let to = match to {
        To::Own(to) => Some(to),
        To::Caller => None,
        To::Others => {
            if signal != 0 {
                CHILDREN.tells(pc);
            }
            None
        }
    };
    let is_handled = (1..SIGNALS as c_int).contains(&signal);
    let number = to.filter(|_| is_handled).map(|to| sent::sends(signal, to, pc));
    let result = inside.in_program(call);
    if result != 0
        && let Some(number) = number
    {
        sent::failed(number);
    }
    deliver(&inside, Place::Hook, Afterwards::AsItSays);
    result
}

unsafe extern "C-unwind" fn send_to_itself(signal: c_int, pc: usize) -> c_int {
    // The thread's own order is enough.
    // SAFETY: the program's own argument.
    send(signal, To::Caller, pc, || unsafe { library::raise(signal) })
}

/// As [`send`], to processes or threads that the program names by numbers, of which the last one is the receiver's.
fn send_by_number<const N: usize>(
    named: [pid_t; N],
    signal: c_int,
    receiver: impl FnOnce([pid_t; N]) -> Option<Receiver>,
    pc: usize,
    call: impl FnOnce([pid_t; N]) -> c_int,
) -> c_int {
    let mut actual = named;
    for number in &mut actual {
        match process_numbers::receiver(*number) {
            Some(known) => *number = known,
            None => {
                crate::runtime::guard::restore_errno(libc::ESRCH);
                return -1;
            }
        }
    }
    send(signal, receiver(actual).into(), pc, || call(actual))
}

unsafe extern "C-unwind" fn send_to_process(process: pid_t, signal: c_int, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    send_by_number(
        [process],
        signal,
        |[process]| receiver_of(process),
        pc,
        |[process]| unsafe { library::kill(process, signal) },
    )
}

unsafe extern "C-unwind" fn send_to_group(group: pid_t, signal: c_int, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    send_by_number(
        [group],
        signal,
        |[group]| receiver_of(-group),
        pc,
        |[group]| unsafe { library::killpg(group, signal) },
    )
}

unsafe extern "C-unwind" fn send_to_thread(thread: pthread_t, signal: c_int, pc: usize) -> c_int {
    let to = by_handle(thread).map(Receiver::thread);
    // SAFETY: the program's own arguments.
    send(signal, to.into(), pc, || unsafe {
        library::pthread_kill(thread, signal)
    })
}

unsafe extern "C-unwind" fn send_to_number(process: pid_t, thread: pid_t, signal: c_int, pc: usize) -> c_int {
    let to = |[_, thread]: [pid_t; 2]| by_number(thread).map(Receiver::thread);
    // SAFETY: the program's own arguments.
    send_by_number([process, thread], signal, to, pc, |[process, thread]| unsafe {
        library::tgkill(process, thread, signal)
    })
}

unsafe extern "C-unwind" fn send_with_value(process: pid_t, signal: c_int, value: sigval, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    send_by_number(
        [process],
        signal,
        |[process]| receiver_of(process),
        pc,
        |[process]| unsafe { library::sigqueue(process, signal, value) },
    )
}

unsafe extern "C-unwind" fn send_value_to_thread(thread: pthread_t, signal: c_int, value: sigval, pc: usize) -> c_int {
    let to = by_handle(thread).map(Receiver::thread);
    // SAFETY: the program's own arguments.
    send(signal, to.into(), pc, || unsafe {
        library::pthread_sigqueue(thread, signal, value)
    })
}

/// A system call that sends a signal; `None` if it is another one.
///
/// # Safety
/// The number and the arguments are those of a system call.
pub unsafe fn by_system_call(
    number: c_long,
    words: [usize; 6],
    call: impl FnOnce([usize; 6]) -> c_long,
) -> Option<c_long> {
    let [a, b, c, ..] = words.map(|word| word as c_int);
    let with = |first: c_int, second: c_int| {
        let [_, _, rest @ ..] = words;
        let [c, d, e, f] = rest;
        call([first as usize, second as usize, c, d, e, f]) as c_int
    };
    let thread = |number| by_number(number).map(Receiver::thread);
    Some(
        match number {
            libc::SYS_kill => send_by_number([a], b, |[to]| receiver_of(to), 0, |[to]| with(to, b)),
            libc::SYS_tkill => send_by_number([a], b, |[to]| thread(to), 0, |[to]| with(to, b)),
            libc::SYS_tgkill => send_by_number([a, b], c, |[_, to]| thread(to), 0, |[process, to]| with(process, to)),
            _ => return None,
        }
        .into(),
    )
}

export! {
    sigaction = set_program_action, "rcx";
    signal = set_handler, "rdx";
    bsd_signal = set_handler, "rdx";
    ssignal = set_handler, "rdx";
    sysv_signal = set_handler_once, "rdx";
    __sysv_signal = set_handler_once, "rdx";
    sigset = set_and_unblock, "rdx";
    sigignore = ignore, "rsi";
    raise = send_to_itself, "rsi";
    kill = send_to_process, "rdx";
    killpg = send_to_group, "rdx";
    pthread_kill = send_to_thread, "rdx";
    tgkill = send_to_number, "rcx";
    sigqueue = send_with_value, "rcx";
    pthread_sigqueue = send_value_to_thread, "rcx";
}
