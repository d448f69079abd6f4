//! System calls without libc: they leave the program's `errno` alone and are never intercepted.

use core::arch::asm;
use core::ffi::CStr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// A system call with up to four arguments; the kernel's answer, negative on error.
///
/// # Safety
/// The arguments must be valid for the call.
#[inline]
pub unsafe fn call(number: libc::c_long, a: usize, b: usize, c: usize, d: usize) -> isize {
    // SAFETY: the caller vouches for the arguments; the kernel looks at no more than the call has.
    unsafe { call_of_five(number, [a, b, c, d, 0]) }
}

/// The same with up to five.
///
/// # Safety
/// As for [`call`].
#[inline]
pub unsafe fn call_of_five(number: libc::c_long, [a, b, c, d, e]: [usize; 5]) -> isize {
    let answer: isize;
    // SAFETY: the kernel clobbers rcx and r11 only; the caller vouches for the arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    answer
}

/// Nanoseconds on one of the kernel's clocks.
pub fn now(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written by the kernel.
    unsafe { call(libc::SYS_clock_gettime, clock as usize, &raw mut time as usize, 0, 0) };
    nanos(&time)
}

/// A `timespec` as nanoseconds, saturating.
pub fn nanos(time: &libc::timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// Sets the signals that the calling thread blocks; those that it blocked before.
pub fn block_signals(mask: u64) -> u64 {
    let mut old = 0_u64;
    let (how, old_at, size) = (libc::SIG_SETMASK as usize, &raw mut old as usize, size_of::<u64>());
    // SAFETY: the kernel reads one mask and writes the other, of the size given.
    unsafe { call(libc::SYS_rt_sigprocmask, how, &raw const mask as usize, old_at, size) };
    old
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_gettid, 0, 0, 0, 0) as i32 }
}

/// The kernel's number of the process.
pub fn process_id() -> i32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, 0, 0, 0, 0) as i32 }
}

/// Waits until a thread of this process has ended that is about to; not for ever, since destructors of the program
/// may still run in it.
pub fn await_end(thread: i32) {
    const LONGEST: i64 = 100_000_000;
    let (process, begun) = (process_id() as usize, now(libc::CLOCK_MONOTONIC));
    // SAFETY: no memory is involved; signal 0 is none.
    while unsafe { call(libc::SYS_tgkill, process, thread as usize, 0, 0) } == 0 {
        if now(libc::CLOCK_MONOTONIC) - begun > LONGEST {
            break;
        }
        yield_processor();
    }
}

/// Lets another thread have the processor.
pub fn yield_processor() {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_sched_yield, 0, 0, 0, 0) };
}

/// Where the runtime's own memory is mapped, if nothing is there: far from where the kernel maps what the program and
/// its threads get. Their addresses then do not depend on how much the runtime needs, which is not the same along a
/// plan.
static APART: AtomicUsize = AtomicUsize::new(1 << 43);

/// Fresh zeroed memory, for ever; aborts the program if there is none.
pub fn pages(bytes: usize) -> *mut u8 {
    let wanted = APART.fetch_add(bytes.next_multiple_of(4096), Relaxed);
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    let answer: isize;
    // SAFETY: an anonymous mapping where nothing is.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_mmap as isize => answer,
            in("rdi") wanted,
            in("rsi") bytes,
            in("rdx") protection as isize,
            in("r10") flags as isize,
            in("r8") -1_isize,
            in("r9") 0,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    if answer < 0 {
        die("witness: no memory for another thread\n");
    }
    answer as *mut u8
}

const MEMBARRIER_PRIVATE_EXPEDITED: usize = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

/// Lets this process use [`barrier_everywhere`].
pub fn prepare_barrier() {
    // SAFETY: no memory is involved.
    unsafe { call(libc::SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0) };
}

/// A full memory barrier on every thread of the process; false if the kernel has none.
pub fn barrier_everywhere() -> bool {
    // SAFETY: no memory is involved.
    unsafe { call(libc::SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0, 0) == 0 }
}

/// Reads the beginning of a file; how much of it, 0 if that does not work.
pub fn read_file(path: &CStr, into: &mut [u8]) -> usize {
    // SAFETY: `path` is a C string, `into` is writable memory of that length.
    unsafe {
        let file = call(libc::SYS_open, path.as_ptr() as usize, libc::O_CLOEXEC as usize, 0, 0);
        if file < 0 {
            return 0;
        }
        let read = call(libc::SYS_read, file as usize, into.as_mut_ptr() as usize, into.len(), 0);
        call(libc::SYS_close, file as usize, 0, 0, 0);
        read.max(0) as usize
    }
}

/// Copies memory of the own process that need not be mapped; how many bytes.
pub fn read_own_memory(into: &libc::iovec, from: &libc::iovec) -> usize {
    let answer: isize;
    // SAFETY: the kernel checks both ranges, and writes only into the first, which is the caller's.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_process_vm_readv as isize => answer,
            in("rdi") process_id(),
            in("rsi") into,
            in("rdx") 1,
            in("r10") from,
            in("r8") 1,
            in("r9") 0,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    answer.max(0) as usize
}

/// Whether the kernel can read the word around an address. It looks at a set of signals before it refuses to do what is
/// no way to change one.
pub fn is_readable(addr: usize) -> bool {
    const NO_WAY: usize = usize::MAX;
    let word = addr & !(size_of::<u64>() - 1);
    // SAFETY: nothing is written, and no signal is blocked.
    let answer = unsafe { call(libc::SYS_rt_sigprocmask, NO_WAY, word, 0, size_of::<u64>()) };
    // No address means no set.
    word != 0 && answer != -(libc::EFAULT as isize)
}

/// Whether the kernel says that the thread of a number sleeps, or is gone; not of 0, which is none.
pub fn sleeps(number: i32) -> bool {
    number != 0 && matches!(kernels_word(number), b'S' | GONE | b'Z' | b'X')
}

/// Whether the kernel says that the thread of a number is gone; not of 0, which is none.
pub fn is_gone(number: i32) -> bool {
    number != 0 && matches!(kernels_word(number), GONE | b'Z' | b'X')
}

/// What the kernel says of a thread that it does not know.
const GONE: u8 = 0;

/// The letter that the kernel has for what a thread does.
fn kernels_word(number: i32) -> u8 {
    let mut path = [0_u8; 48];
    write_path(&mut path, number);
    let Ok(path) = CStr::from_bytes_until_nul(&path) else {
        return b'R';
    };
    let mut stat = [0_u8; 128];
    let len = read_file(path, &mut stat);
    // `number (name) S …`: the name may hold anything, also parentheses.
    let name_ends = stat[..len].iter().rposition(|&byte| byte == b')');
    name_ends.and_then(|at| stat.get(at + 2)).copied().unwrap_or(GONE)
}

fn write_path(path: &mut [u8; 48], number: i32) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"/proc/self/task/");
    let mut digits = [0_u8; 10];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    put(&digits[first..]);
    put(b"/stat");
}

/// Writes to standard error.
pub fn say(text: &[u8]) {
    // SAFETY: `text` is readable memory of that length.
    unsafe { call(libc::SYS_write, 2, text.as_ptr() as usize, text.len(), 0) };
}

/// Says why, and ends the process at once.
pub fn die(why: &str) -> ! {
    say(why.as_bytes());
    loop {
        // SAFETY: kills the own process.
        unsafe { call(libc::SYS_kill, process_id() as usize, libc::SIGKILL as usize, 0, 0) };
    }
}
