//! The stacks of threads, as blocks of memory.

use crate::events::pending;
use crate::platform::{real, sys};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::Thread;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::pthread_attr_t;
use recorder_ring::Record;
use recorder_scheduler::intent::Intent;

/// The calling thread's stack is a block that exists from its beginning to its end, unless it is memory of the program's.
/// glibc uses the memory again for later threads; like every block, it is zero at first.
pub fn begin(thread: &'static Thread) {
    if let Some((addr, size)) = own() {
        thread.stack.set(addr);
        thread.stack_end.set(addr + size);
        if !is_block(thread) {
            return;
        }
        if !thread.brings_stack.get() {
            forget_below(addr);
        }
        pending::push(Record::Alloc {
            pc: 0,
            addr: addr as u64,
            size: size as u64,
        });
    }
}

/// Whether a thread's stack is a block of its own: no memory that the program has given it.
fn is_block(thread: &Thread) -> bool {
    !thread.brings_stack.get() || thread.os_id.load(Relaxed) == sys::process_id()
}

/// Makes the unused part of the calling thread's stack zero, from its lowest address.
fn forget_below(addr: usize) {
    /// Room for the frames of the call itself.
    const OWN: usize = 1 << 14;
    const PAGE: usize = 4096;
    let here = &raw const addr as usize;
    let (from, to) = (addr.next_multiple_of(PAGE), here.saturating_sub(OWN) / PAGE * PAGE);
    if from < to {
        // SAFETY: private memory of this stack, below all that is in use.
        unsafe { sys::call(libc::SYS_madvise, from, to - from, libc::MADV_DONTNEED as usize, 0) };
    }
}

/// The calling thread's stack, with the thread-local variables that glibc keeps on top of it.
pub fn own() -> Option<(usize, usize)> {
    let mut attr = MaybeUninit::<pthread_attr_t>::uninit();
    let (mut addr, mut size) = (ptr::null_mut(), 0);
    // SAFETY: `attr` is initialized if the first call succeeds, and destroyed then.
    unsafe {
        if real::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return None;
        }
        let result = real::pthread_attr_getstack(attr.as_ptr(), &mut addr, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        (result == 0).then_some((addr as usize, size))
    }
}

/// The calling thread's stack goes with it, unless it is the process' own, or the program's.
pub fn end(thread: &'static Thread) {
    if thread.stack.get() != 0 && is_block(thread) && thread.os_id.load(Relaxed) != sys::process_id() {
        // Others may still use what lies there.
        RuntimeGuard::of(thread).await_turn_before(|| Intent::free(0, thread.stack.get()));
        pending::push(Record::Free {
            pc: 0,
            addr: thread.stack.get() as u64,
        });
    }
}
