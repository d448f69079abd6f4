//! The runtime inside a program that `witness record` runs.
//!
//! It stands in for libtsan: the compiler's calls (`__tsan_read4`, …) and the calls of libtsan's
//! interceptors (`pthread_mutex_lock`, `malloc`, …) arrive here. One thread of the program runs at
//! a time, the one that holds the `baton`; so what it reads and writes is exact, the order of
//! the records in the [`ring`](recorder_ring) is the order of the run, and the next thread to run
//! is this runtime's choice. The code that one access runs through is
//! `hooks::access` → `inside` → `pending` → `events` → [`ring`](recorder_ring).
//!
//! Three rules hold everywhere. *No allocation from the program's heap* (the runtime has an `arena`),
//! *no blocking libc call*. *`busy` first*: a thread inside the runtime marks itself, and hooks that it reaches
//! through libc or a signal handler do nothing. *A write's value is read late*: hooks run before
//! the store, so each write waits as *pending* until its thread's next hook.
//!
//! Most hooks need none of the scheduler: a thread that is *undisturbed* (`baton::UNDISTURBED`: it has the baton, its turn goes on,
//! nobody wants anything of it) only records, and is not even busy meanwhile.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
compile_error!("the native recorder is for x86-64 Linux with glibc");

mod arena;
mod at_exit;
mod baton;
mod blocking;
mod channels;
mod clocks;
mod clone;
mod correspondence;
mod death;
mod events;
mod exec;
mod export;
mod fast_path;
mod faults;
mod fork;
mod forward;
mod futex;
mod glibc;
mod guard;
mod hash;
mod hooks;
mod host;
mod images;
mod inside;
mod instruction;
mod interface;
mod interrupt;
mod libraries;
mod loader;
mod modules;
mod moment;
mod pending;
mod place;
mod plan;
mod ports;
mod process;
mod process_numbers;
mod pthread;
mod real;
mod shared_memory;
mod signals;
mod start;
mod suite;
mod sys;
mod thread;
