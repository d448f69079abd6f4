//! A stack for each thread on which its death can be told when it dies of having none left.
//!
//! The program does not see it: to it, a thread has no alternate stack until it installs one, and again when it has
//! taken that away.

use crate::platform::{export::export, sys};
use crate::runtime::accesses::writes;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{Thread, UNRECORDED, slot};
use core::ptr;
use libc::{c_int, stack_t};

/// Bytes: what tells a death, or a handler of the program's own, needs a part of it.
const BYTES: usize = 1 << 16;

const NONE: stack_t = stack_t {
    ss_sp: ptr::null_mut(),
    ss_flags: libc::SS_DISABLE,
    ss_size: 0,
};

/// The kernel's `sigaltstack`.
///
/// # Safety
/// `new` is null or a stack, `old` null or a place for one.
unsafe fn set(new: *const stack_t, old: *mut stack_t) -> isize {
    // SAFETY: promised by the caller.
    unsafe { sys::call(libc::SYS_sigaltstack, new as usize, old as usize, 0, 0) }
}

fn current() -> stack_t {
    let mut current = NONE;
    // SAFETY: a place for one.
    unsafe { set(ptr::null(), &mut current) };
    current
}

fn install(address: usize) {
    let ours = stack_t {
        ss_sp: address as *mut _,
        ss_flags: 0,
        ss_size: BYTES,
    };
    // SAFETY: mapped for this thread, until `end`.
    unsafe { set(&ours, ptr::null_mut()) };
}

/// The calling thread begins.
pub fn begin(thread: &Thread) {
    if current().ss_flags & libc::SS_DISABLE == 0 {
        return;
    }
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
    );
    // SAFETY: new memory, wherever the kernel has room.
    let address = unsafe { crate::platform::real::mmap(ptr::null_mut(), BYTES, protection, flags, -1, 0) };
    if address != libc::MAP_FAILED {
        thread.alternate_stack.set(address as usize);
        install(address as usize);
    }
}

/// The calling thread ends.
pub fn end(thread: &Thread) {
    let address = thread.alternate_stack.replace(0);
    if address == 0 || current().ss_flags & libc::SS_ONSTACK != 0 {
        return;
    }
    if current().ss_sp as usize == address {
        // SAFETY: a stack that is none.
        unsafe { set(&NONE, ptr::null_mut()) };
    }
    // SAFETY: mapped by `begin`, and the kernel does not use it any more.
    unsafe { sys::call(libc::SYS_munmap, address, BYTES, 0, 0) };
}

/// That of the calling thread; 0 if it has none.
fn own() -> usize {
    let thread = slot();
    if thread.is_null() || ptr::eq(thread, &raw const UNRECORDED) {
        return 0;
    }
    // SAFETY: a slot holds a thread, which lives for ever.
    unsafe { (*thread).alternate_stack.get() }
}

unsafe extern "C-unwind" fn set_program_stack(new: *const stack_t, old: *mut stack_t, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let mut before = NONE;
        let result = set(new, &mut before);
        if result < 0 {
            crate::runtime::guard::restore_errno(-result as c_int);
            return -1;
        }
        let ours = own();
        if !old.is_null() {
            old.write(match before.ss_sp as usize == ours && ours != 0 {
                true => NONE,
                false => before,
            });
        }
        if ours != 0 && current().ss_flags & libc::SS_DISABLE != 0 {
            install(ours);
        }
    }
    if !old.is_null()
        && let Some(_inside) = RuntimeGuard::enter_and_stay()
    {
        writes(old, size_of::<stack_t>(), pc);
    }
    0
}

export! {
    sigaltstack = set_program_stack, "rdx";
}
