//! The end of a process that does not wait until the system has taken its memory back.
//!
//! For whoever waits for a process, it has ended when its memory is free, which takes a fifth of a second for each
//! gigabyte, and several times as long on a busy machine. Memory that another process shares stays for that one. So one
//! is made that does nothing but share it: it ends when this process has, and nobody waits for it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Of the other process. It calls what the C library asks the system for by itself.
const STACK: usize = 64 << 10;
/// Between two looks whether this process has ended.
const LOOK_NANOSECONDS: i64 = 5_000_000;
/// How long the other process may take until it holds no files any more.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether the other process has closed its copies of this one's files: locks on them would outlive this one otherwise.
static HOLDS_NO_FILES: AtomicBool = AtomicBool::new(false);

/// Ends the process with this status at once, whatever its other threads do. Nothing is written out any more.
pub fn exit_at_once(status: i32) -> ! {
    // Without it, the end takes its time.
    if share_memory() {
        let begun = Instant::now();
        while !HOLDS_NO_FILES.load(Ordering::Acquire) && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }
    // SAFETY: `_exit` has no preconditions.
    #[expect(unsafe_code, reason = "a call of the C library")]
    unsafe {
        libc::_exit(status)
    }
}

/// Ends the process with this status while it has no memory even to say why: this says that it was about to.
pub(crate) fn exit_without_memory(status: i32) -> ! {
    const WORDS: &[u8] = b"\nout of memory: the rest of what was to be said here is missing\n";
    // SAFETY: the bytes are there for as long as the program; `write` and `_exit` ask for no memory.
    #[expect(unsafe_code, reason = "calls of the C library")]
    unsafe {
        libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(status)
    }
}

/// Makes the process that shares the memory; whether there is one.
fn share_memory() -> bool {
    let stack = Box::leak(vec![0_u128; STACK / 16].into_boxed_slice());
    let process = std::process::id() as usize;
    // SAFETY: the new process runs `outlive` alone, on a stack that is never freed, and `outlive` calls nothing that
    // depends on what other threads do with the memory that they share; its argument is a number.
    #[expect(unsafe_code, reason = "a call of the system")]
    let made = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        libc::clone(outlive, top, libc::CLONE_VM, process as *mut libc::c_void)
    };
    made > 0
}

/// What the process does that shares the memory: it holds no files, so that whoever reads what this one has written
/// comes to the end, and ends behind all threads of this one.
extern "C" fn outlive(process: *mut libc::c_void) -> libc::c_int {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: LOOK_NANOSECONDS,
    };
    // SAFETY: its files are copies, of which it needs none; `getppid` and `nanosleep` touch nothing but `pause`.
    #[expect(unsafe_code, reason = "calls of the system")]
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) != 0 {
            (0..1024).for_each(|file| _ = libc::close(file));
        }
        HOLDS_NO_FILES.store(true, Ordering::Release);
        while libc::getppid() as usize == process as usize {
            libc::nanosleep(&raw const pause, null_mut());
        }
        libc::_exit(0)
    }
}
