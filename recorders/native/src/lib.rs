//! The runtime inside a program that `witness record` runs.
//!
//! It stands in for libtsan: the compiler's calls (`__tsan_read4`, …) and the calls of libtsan's
//! interceptors (`pthread_mutex_lock`, `malloc`, …) arrive here. One thread of the program runs at
//! a time, the one that holds the *baton*; so what it reads and writes is exact, the order of
//! the records in the [`ring`](recorder_ring) is the order of the run, and the next thread to run
//! is this runtime's choice.
//!
//! The folders are layers: a file uses its own and those below it (`tests/layers.rs`). From below:
//!
//! - `platform`: system calls, the C library's own functions, memory;
//! - `scheduling`: the scheduler ([`recorder_scheduler`]) in this process, its threads and clocks;
//! - `events`: from what the hooks say to the events of the trace;
//! - `runtime`: entering and leaving, where the program stands meanwhile;
//! - `signals`: handlers of the program, and the runtime's own;
//! - `pthread`, `libraries`: threads and their synchronization; libgomp, GLib;
//! - `c_library`, `abi`, `interface`: what the program, the compiler and ThreadSanitizer's users call;
//! - `process`: its beginning, its end, its children; and `process::host`, the world that the scheduler lives in.
//!
//! The code that one access runs through is `abi::access` → `runtime::guard` → `events::pending` → `events` →
//! [`ring`](recorder_ring).
//!
//! Three rules hold everywhere. *No allocation from the program's heap* (the runtime has an `arena`),
//! *no blocking libc call*. *`busy` first*: a thread inside the runtime marks itself, and hooks that it reaches
//! through libc or a signal handler do nothing. *A write's value is read late*: hooks run before
//! the store, so each write waits as *pending* until its thread's next hook.
//!
//! Most hooks need none of the scheduler: the thread that owns the *fast path* (it has the baton, its turn goes on,
//! nobody wants anything of it) only records, and is not even busy meanwhile.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
compile_error!("the native recorder is for x86-64 Linux with glibc");

mod platform;
mod scheduling;

mod events;

mod runtime;
mod signals;

mod libraries;
mod pthread;

mod abi;
mod c_library;
mod interface;
mod process;
