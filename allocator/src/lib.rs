//! The system's allocator, which tells the program when the system gives no more memory.
//!
//! Rust's standard library aborts the program then, and has no stable way to say anything before. Here the program has
//! named a function that says what it has to say and ends the program: [`on_exhaustion`]. It gets the memory that was
//! put aside for it, since saying something takes some. If even that does not suffice, the program aborts as usual. What
//! libraries in other languages ask for is watched as well, where the C library is glibc.

mod leaving;
#[cfg(target_env = "gnu")]
mod of_libraries;

pub use leaving::exit_at_once;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// What the program says before it ends, given the size of the request that failed.
type Farewell = fn(usize) -> !;

/// Enough for a report that says that an analysis was ended.
const RESERVE: usize = 8 << 20;

/// How long a thread that gets no memory, either, waits until the one that says farewell has done so.
const PATIENCE: Duration = Duration::from_secs(10);

static FAREWELL: OnceLock<(Farewell, i32)> = OnceLock::new();
static ASIDE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread says farewell.
    static SPEAKS: Cell<bool> = const { Cell::new(false) };
}

/// From now on, calls this where memory is asked for that the system does not give. The first call counts. `status`: that
/// of the program, should it get no memory to end as it wants.
pub fn on_exhaustion(farewell: Farewell, status: i32) {
    // Zeros take addresses and no memory, and a limit on addresses is what makes requests fail.
    if let Ok(mut aside) = ASIDE.lock() {
        *aside = vec![0; RESERVE];
    }
    let _ = FAREWELL.set((farewell, status));
}

/// Bytes of a block that is the system's again as soon as it is free. With more, what is free between others stays: 22 MB
/// of 367 with 1 MiB. With fewer, the system would clear more memory anew.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 32 << 10;

/// The most blocks of that kind; the system has no more than 65,530 pieces of memory for a program, unless told to.
#[cfg(target_env = "gnu")]
const MOST: libc::c_int = 32 << 10;

/// Bytes that are kept free at the end of the rest.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 32 << 20;

/// From now on, large blocks are the system's again as soon as they are free. The C library keeps blocks of up to 32 MB
/// for later once such a one was free: a tenth or more of the memory of a program that works with columns of that size.
pub fn keep_no_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets numbers of the C library, under its own lock; any are allowed.
    #[expect(unsafe_code, reason = "calls to the C library")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_MMAP_MAX, MOST);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

/// Gives the system back what is free: for the end of a stage of work.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes the library's own locks, and touches only what is free.
    #[expect(unsafe_code, reason = "a call to the C library")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The allocator: `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: each method hands its arguments to the same method of `System`, which keeps the trait's contract, and returns
// what that returned, or does not return.
#[expect(unsafe_code, reason = "the trait is unsafe")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this method, which is that one's.
        let given = unsafe { System.alloc(layout) };
        if given.is_null() {
            exhausted(layout.size());
        }
        given
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let given = unsafe { System.alloc_zeroed(layout) };
        if given.is_null() {
            exhausted(layout.size());
        }
        given
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let given = unsafe { System.realloc(block, layout, size) };
        if given.is_null() {
            exhausted(size);
        }
        given
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Ends the program, which does not get so many bytes. Returns only if there is nothing to say, or no way to say it.
#[cold]
pub fn exhausted(size: usize) {
    let Some(&(farewell, status)) = FAREWELL.get() else {
        return;
    };
    // A thread whose variables are gone already does not speak.
    let Ok(speaks) = SPEAKS.try_with(Cell::get) else { return };
    if speaks {
        leaving::exit_without_memory(status);
    }
    if EXHAUSTED.swap(true, Ordering::Relaxed) {
        // Another thread speaks, and ends the program.
        thread::sleep(PATIENCE);
        leaving::exit_without_memory(status);
    }
    SPEAKS.set(true);
    // Whoever holds it allocates within `on_exhaustion`, before there is a farewell.
    if let Ok(mut aside) = ASIDE.try_lock() {
        *aside = Vec::new();
    }
    farewell(size)
}

/// Once a thread gets no memory, what was put aside is for that one: the others wait a little for the end. Not longer,
/// since one of them may hold what that one needs.
#[cfg(target_env = "gnu")]
fn leave_the_rest() {
    const A_LITTLE: Duration = Duration::from_millis(100);
    if EXHAUSTED.load(Ordering::Relaxed) && !SPEAKS.try_with(Cell::get).unwrap_or(true) {
        thread::sleep(A_LITTLE);
    }
}
