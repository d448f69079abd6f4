//! Programs that a process starts beside itself, without a copy of its own on the way.

use super::Coming;
use super::program::{List, Named};
use crate::c_library::channels;
use crate::events::pending;
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::process_numbers;
use core::ffi::c_void;
use libc::{c_char, c_int, pid_t};
use recorder_ring::ring_broker::What;

crate::platform::real::real! {
    fn posix_spawn(process: *mut pid_t, path: *const c_char, files: *const c_void, attr: *const c_void, arguments: List, environment: List) -> c_int;
    fn posix_spawnp(process: *mut pid_t, file: *const c_char, files: *const c_void, attr: *const c_void, arguments: List, environment: List) -> c_int;
}

/// Starts a program in a process of its own, by one of the two functions for that.
///
/// # Safety
/// The arguments are those of `posix_spawn`, but for what starts it and what follows.
unsafe fn start_other(
    spawn: impl FnOnce(List) -> c_int,
    named: Named,
    process: *mut pid_t,
    environment: List,
    pc: usize,
) -> c_int {
    let inside = RuntimeGuard::enter_and_stay();
    if inside.is_some() {
        channels::starts_child(pc);
    }
    // SAFETY: promised by the caller.
    let coming = unsafe { Coming::new(What::Spawns, named, environment) };
    let result = spawn(coming.as_ref().map_or(environment, |coming| coming.environment.list()));
    match coming {
        Some(coming) if result != 0 => coming.failed(),
        _ => {}
    }
    if inside.is_some() && result == 0 && !process.is_null() {
        // SAFETY: written by the call that succeeded.
        unsafe { process_numbers::given_at(process, pc) };
        pending::write_range_now(process as usize, size_of::<pid_t>(), pc);
    }
    result
}

macro_rules! spawning {
    ($($name:ident = $body:ident, $real:path, $named:expr;)*) => { $(
        /// All argument registers are taken: the return address is passed behind the last argument.
        #[unsafe(naked)]
        #[unsafe(export_name = stringify!($name))]
        pub unsafe extern "C" fn $body() {
            unsafe extern "C" fn body(
                process: *mut pid_t,
                name: *const c_char,
                files: *const c_void,
                attr: *const c_void,
                arguments: List,
                environment: List,
                pc: usize,
            ) -> c_int {
                // SAFETY: the program's own arguments.
                unsafe {
                    let spawn = |environment| $real(process, name, files, attr, arguments, environment);
                    start_other(spawn, $named(name), process, environment, pc)
                }
            }
            core::arch::naked_asm!(
                "push [rsp]",
                "call {body}",
                "add rsp, 8",
                "ret",
                body = sym body,
            )
        }
    )* };
}

spawning! {
    posix_spawn = spawn_by_path, posix_spawn, Named::ByPath;
    posix_spawnp = spawn_in_search_path, posix_spawnp, Named::InSearchPath;
}
