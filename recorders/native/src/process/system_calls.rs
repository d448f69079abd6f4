//! `syscall`: the system calls that a program makes by their numbers.

use crate::c_library::{files, processes};
use crate::platform::real;
use crate::process::{clone, exec, fork, futex};
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::process_numbers;
use crate::signals;
use libc::{c_long, pid_t};

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
        "je 4f",
        "cmp edi, {futex_waitv}",
        "jne {other}",
        "4:",
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
        futex_waitv = const libc::SYS_futex_waitv,
        other = sym other,
        body = sym futex::system_call,
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
            Some(flags) if flags & libc::CLONE_VM as u64 == 0 => fork::unhandled(flags, 0, real),
            Some(_) => {
                fork::tells_child(0);
                real()
            }
            None if number == libc::SYS_pidfd_open => {
                with([process_numbers::actual(a as pid_t) as usize, b, c, d, e, f])
            }
            None => match signals::by_system_call(number, words, with) {
                Some(result) => result,
                None => exec::by_system_call(number, words).unwrap_or_else(real),
            },
        }
    }
}
