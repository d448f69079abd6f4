//! `syscall(SYS_futex, …)`: what C++'s atomic waits and Rust's locks are made of.
//!
//! Waiting happens in the scheduler, like all waiting; the words that are waited on are ordinary
//! atomics of the program and recorded as such. What a call returns has to stay true in every
//! reordering, or a program that looks at the result would go another way:
//!
//! - A wait that returns 0 or fails with `EAGAIN` has compared the word: it is recorded as an
//!   atomic load of it, which sees the same value in every reordering. To return 0 without a wake is
//!   allowed at any time (futex(2): wake-ups may be spurious), to fail with `ETIMEDOUT` as well.
//! - A wake returns how many it woke. So the number of waiters is recorded as a variable of its own,
//!   in addresses that no program has: a wait adds one, a wake takes off as many as it woke, a wait
//!   that ends by itself takes itself off. And who was woken loads a second one, which the wake has
//!   stored, so that it goes on after the wake only.
//!
//! Futexes that say that they may be shared with other processes are like any other if their word lies in memory that
//! is not; else they go to the kernel, after the comparison.

use crate::c_library::{files, processes};
use crate::events::pending;
use crate::libraries::glib;
use crate::platform::memory::{self, NOBODYS};
use crate::platform::{real, shared_memory, sys};
use crate::process::{clone, exec, fork};
use crate::runtime::guard::{RuntimeGuard, restore_errno};
use crate::scheduling::thread::{NEVER, Thread, Woken};
use crate::scheduling::{baton, clocks, plan};
use crate::signals;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::SeqCst;
use libc::{c_int, c_long, timespec};
use recorder_ring::{Record, Waits};

/// The system call as the program makes it; the return address is passed behind the last argument.
///
/// All argument registers may be taken: both are handed on by the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp edi, {process}",
        "je 2f",
        "cmp edi, {parent}",
        "je 2f",
        "cmp edi, {thread}",
        "je 2f",
        "cmp edi, {random}",
        "je 3f",
        "cmp edi, {futex}",
        "jne {other}",
        "sub rsp, 8",
        "push [rsp + 8]",
        "push [rsp + 24]",
        "call {body}",
        "add rsp, 24",
        "ret",
        "2: mov rsi, [rsp]",
        "jmp {number}",
        // The same arguments, each a place further on.
        "3: mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "jmp {getrandom}",
        process = const libc::SYS_getpid,
        parent = const libc::SYS_getppid,
        thread = const libc::SYS_gettid,
        number = sym processes::by_system_call,
        random = const libc::SYS_getrandom,
        getrandom = sym files::getrandom,
        futex = const libc::SYS_futex,
        other = sym other,
        body = sym futex,
    )
}

/// Any other system call.
unsafe extern "C-unwind" fn other(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // The last write is done: whoever looks at this thread while it sleeps in the kernel sees it.
    drop(RuntimeGuard::enter_and_stay());
    let words = [a, b, c, d, e, f];
    // SAFETY: the program's own arguments; those that the call does not have are ignored.
    unsafe {
        let with = |[a, b, c, d, e, f]: [usize; 6]| real::syscall(number, a, b, c, d, e, f);
        let real = || with(words);
        match clone::flags_of(number, words) {
            Some(flags) if flags & libc::CLONE_VM as u64 == 0 => fork::unhandled(flags, real),
            Some(_) => real(),
            None => match signals::by_system_call(number, words, with) {
                Some(result) => result,
                None => exec::by_system_call(number, words).unwrap_or_else(real),
            },
        }
    }
}

unsafe extern "C-unwind" fn futex(
    number: c_long,
    word: usize,
    operation: usize,
    value: usize,
    limit: usize,
    second: usize,
    third: usize,
    pc: usize,
) -> c_long {
    let operation_flags = operation as c_int;
    let command = operation_flags & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    // SAFETY: the program's own arguments.
    let real = || unsafe { real::syscall(number, word, operation, value, limit, second, third) };
    let waits = matches!(command, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    let wakes = matches!(command, libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET);
    let is_there = |addr: usize, len| addr == 0 || memory::readable(addr, len) == len;
    if waits && !(word != 0 && is_there(word, size_of::<u32>()) && is_there(limit, size_of::<timespec>())) {
        // The kernel refuses it.
        return real();
    }
    let private =
        operation_flags & libc::FUTEX_PRIVATE_FLAG != 0 || (waits || wakes) && shared_memory::is_private(word);
    if !word.is_multiple_of(4) || !private && !waits {
        // No event: a wake belongs to what its thread did last. To stop before it would leave somebody
        // asleep whose turn it is.
        return match RuntimeGuard::enter_and_stay() {
            // Never blocks. Without the baton, what others do meanwhile would depend on how long it takes.
            Some(_inside) if wakes => real(),
            Some(inside) => inside.outside(real),
            None => real(),
        };
    }
    if private && (waits || wakes) && glib::waits::is_own(pc) {
        let done = if waits {
            // SAFETY: GLib's own time.
            glib::waits::wait(word, value as u32, unsafe { deadline(operation_flags, limit) })
        } else {
            glib::waits::wake(word, value as c_int)
        };
        return done.unwrap_or_else(real);
    }
    let Some(inside) = RuntimeGuard::enter() else {
        return real();
    };
    if !private {
        if !compare(word, value as u32, pc) {
            return fail(libc::EAGAIN);
        }
        // Along a plan, a wake-up without a cause, which is always allowed: the thread looks at the word
        // again when it is its turn, whether or not the wake comes before that.
        return if plan::is_followed() { 0 } else { inside.outside(real) };
    }
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the program's own time.
            let deadline = unsafe { deadline(operation_flags, limit) };
            wait(&inside, word, value as u32, deadline, pc)
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => wake(&inside, word, value as c_int, pc),
        _ => inside.outside(real),
    }
}

/// When a wait ends, on the monotonic clock.
///
/// # Safety
/// `limit` is null or points to a time.
unsafe fn deadline(flags: c_int, limit: usize) -> i64 {
    let absolute = flags & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) == libc::FUTEX_WAIT_BITSET;
    // SAFETY: promised by the caller.
    match unsafe { (limit as *const timespec).as_ref() } {
        None => NEVER,
        Some(time) if absolute => {
            let realtime = flags & libc::FUTEX_CLOCK_REALTIME != 0;
            let clock = if realtime {
                libc::CLOCK_REALTIME
            } else {
                libc::CLOCK_MONOTONIC
            };
            clocks::deadline(clock, sys::nanos(time))
        }
        Some(time) => clocks::deadline_in(sys::nanos(time)),
    }
}

fn fail(errno: c_int) -> c_long {
    restore_errno(errno);
    -1
}

/// The variable that holds how many wait on a word.
fn waiters(word: usize) -> u64 {
    word as u64 | NOBODYS
}

/// The variable that a wake stores to for a thread that it woke.
fn call_for(thread: &Thread) -> u64 {
    // Behind all user space: never the number of waiters of a word.
    NOBODYS | 1 << 62 | u64::from(thread.index.get()) << 3
}

fn count(word: usize, by: i64, pc: usize) {
    let now = baton::count_blocked(word) as i64;
    modify(waiters(word), (now - by) as u64, now as u64, pc);
}

fn modify(addr: u64, read: u64, written: u64, pc: usize) {
    const RELAXED: u8 = 0;
    pending::push(Record::AtomicRmw {
        pc: pc as u64,
        addr,
        size: 4,
        order: RELAXED,
        read,
        written,
    });
}

fn load(addr: u64, value: u32, pc: usize) {
    const RELAXED: u8 = 0;
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 4,
        order: RELAXED,
        value: value.into(),
    });
}

/// Whether a word is as its waiter expects, and the load that a wait is for other threads.
fn compare(word: usize, expected: u32, pc: usize) -> bool {
    // SAFETY: the program's own word, aligned.
    let found = unsafe { AtomicU32::from_ptr(word as *mut u32) }.load(SeqCst);
    load(word as u64, found, pc);
    found == expected
}

fn wait(inside: &RuntimeGuard, word: usize, expected: u32, deadline: i64, pc: usize) -> c_long {
    let thread = inside.thread();
    loop {
        if !compare(word, expected, pc) {
            return fail(libc::EAGAIN);
        }
        let before = baton::count_blocked(word) as u64;
        modify(waiters(word), before, before + 1, pc);
        pending::waits(thread, Waits::Futex, word, pc, deadline);
        inside.interruptible.set(true);
        let woken = baton::block(thread, word, deadline);
        inside.interruptible.set(false);
        if woken == Woken::Thread {
            load(call_for(thread), thread.calls.get(), pc);
            return 0;
        }
        count(word, -1, pc);
        match woken {
            Woken::Restart if deadline == NEVER => {}
            Woken::Deadline => {
                clocks::waited_until(deadline);
                return fail(libc::ETIMEDOUT);
            }
            _ => return fail(libc::EINTR),
        }
    }
}

fn wake(inside: &RuntimeGuard, word: usize, most: c_int, pc: usize) -> c_long {
    let _ = inside;
    let waiting = baton::count_blocked(word);
    let mut woken = 0;
    baton::wake_each(word, most.max(0) as usize, |thread| {
        let calls = thread.calls.get();
        thread.calls.set(calls + 1);
        modify(call_for(thread), calls.into(), (calls + 1).into(), pc);
        woken += 1;
    });
    modify(waiters(word), waiting as u64, (waiting - woken) as u64, pc);
    woken as c_long
}
