//! `clone`: what comes of it is another process, with a copy of the memory or with the same, or a thread.
//!
//! - *A copy of the memory*: a forked child ([`fork`](crate::process::fork)), which begins in a function of its own.
//! - *The same memory and the caller's thread-local storage*: as after [`vfork`], it is the calling thread as far as
//!   anybody can tell, and that one waits until it has ended or executes a program. So its caller waits here, too, if
//!   it would not; else two would take themselves for the same thread.
//! - *The same memory and storage of its own*: a thread that nobody has announced; its first hook tells of it.

use crate::platform::sys;
use crate::process::{ending, fork};
use crate::pthread;
use crate::runtime::accesses::enter;
use crate::runtime::guard::{RuntimeGuard, restore_errno};
use crate::runtime::process_numbers;
use core::ffi::c_void;
use libc::{c_int, c_long, pid_t};

type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

mod library {
    use super::{Routine, c_int, c_void};

    crate::platform::real::real! {
        fn clone(routine: Routine, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: *mut c_void, storage: *mut c_void, child: *mut c_void) -> c_int;
    }
}

/// The flags of a system call that makes a process or a thread; `None` if it is another one.
pub fn flags_of(number: c_long, words: [usize; 6]) -> Option<u64> {
    match number {
        libc::SYS_fork => Some(0),
        libc::SYS_vfork => Some((libc::CLONE_VM | libc::CLONE_VFORK) as u64),
        libc::SYS_clone => Some(words[0] as u64),
        libc::SYS_clone3 => first_word(words[0]),
        _ => None,
    }
}

/// The word at an address; `None` if nothing is there, which is for the kernel to say to the program.
fn first_word(at: usize) -> Option<u64> {
    let mut word = 0_u64;
    let into = libc::iovec {
        iov_base: (&raw mut word).cast(),
        iov_len: size_of::<u64>(),
    };
    let from = libc::iovec {
        iov_base: at as *mut c_void,
        iov_len: size_of::<u64>(),
    };
    (sys::read_own_memory(&into, &from) == size_of::<u64>()).then_some(word)
}

/// What a child does that has a copy of the memory.
struct Copied {
    routine: Routine,
    argument: *mut c_void,
}

unsafe extern "C-unwind" fn begin_copy(copied: *mut c_void) -> c_int {
    // SAFETY: a copy of what `clone` has on its stack, in this process's own memory.
    let status = unsafe {
        let Copied { routine, argument } = *copied.cast::<Copied>();
        fork::after_in_child();
        routine(argument)
    };
    // From here the kernel ends this thread, and no other.
    if let Some(inside) = RuntimeGuard::enter() {
        pthread::thread::retire(inside, || ending::tell_status(status));
    }
    status
}

/// The writes of the calling thread are done: what the child does is recorded as done by the same thread.
extern "C-unwind" fn before_vfork(pc: usize) {
    fork::tells_child(pc);
}

/// In the parent, whose child has ended or executes a program: its number as the program gets to see it, or an error.
extern "C-unwind" fn after_vfork(result: c_long, pc: usize) -> pid_t {
    if result < 0 {
        restore_errno(-result as c_int);
        return -1;
    }
    match enter(pc) {
        Some(_inside) => process_numbers::given(result as pid_t, pc),
        None => result as pid_t,
    }
}

/// The child returns first, and uses the caller's stack: the return address has to be kept in a register.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "mov rdi, qword ptr [rsp]",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rdi",
        "mov eax, {number}",
        "syscall",
        "push rdi",
        "test rax, rax",
        "jne 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "mov rsi, qword ptr [rsp]",
        "jmp {after}",
        before = sym before_vfork,
        number = const libc::SYS_vfork,
        after = sym after_vfork,
    )
}

/// The last three arguments may be missing.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clone(
    routine: Option<Routine>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments, but for the routine and its argument in a copy.
    unsafe {
        let real = |routine, flags, argument| library::clone(routine, stack, flags, argument, parent, storage, child);
        let Some(routine) = routine.filter(|_| !stack.is_null()) else {
            restore_errno(libc::EINVAL);
            return -1;
        };
        if flags & libc::CLONE_VM == 0 {
            let mut copied = Copied { routine, argument };
            let copied = (&raw mut copied).cast();
            return fork::unhandled(flags as u64, 0, || real(begin_copy, flags, copied).into()) as c_int;
        }
        // Its last write is done.
        if flags & libc::CLONE_THREAD == 0 {
            fork::tells_child(0);
        } else {
            drop(RuntimeGuard::enter_and_stay());
        }
        let waits = if flags & libc::CLONE_SETTLS == 0 {
            libc::CLONE_VFORK
        } else {
            0
        };
        real(routine, flags | waits, argument)
    }
}
