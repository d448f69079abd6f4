//! Limits of resources, which a process has once.

use crate::events::once::{self, Once};
use crate::platform::sys;
use crate::runtime::accesses::{arrives, passes};
use crate::runtime::process_numbers;
use libc::{c_int, c_uint, pid_t, rlimit, rlimit64};

/// Whether a call that names a process by its number in this run means the caller's own.
fn is_own(process: pid_t) -> bool {
    process == 0 || process == sys::process_id()
}

macro_rules! limits {
    ($($get:ident, $set:ident, $exchange:ident: $limit:ty;)*) => { library! { $(
        $get(resource: c_uint, to: *mut $limit) -> c_int, "rdx": system {} (result, pc) {
            once::looks(Once::Limit(resource), pc);
            if result == 0 { arrives(to, size_of::<$limit>(), pc); }
        }
        $set(resource: c_uint, from: *const $limit) -> c_int, "rdx": system {
            passes(from, size_of::<$limit>(), pc);
            once::changes(Once::Limit(resource), pc);
        } (result, pc) {}
        $exchange(process: pid_t, resource: c_uint, from: *const $limit, to: *mut $limit) -> c_int, "r8": system {
            let process = process_numbers::actual(process);
            passes(from, size_of::<$limit>(), pc);
            if !from.is_null() && is_own(process) { once::exchanges(Once::Limit(resource), pc); }
        } (result, pc) {
            if from.is_null() && is_own(process) { once::looks(Once::Limit(resource), pc); }
            if result == 0 { arrives(to, size_of::<$limit>(), pc); }
        }
    )* } };
}

limits! {
    getrlimit, setrlimit, prlimit: rlimit;
    getrlimit64, setrlimit64, prlimit64: rlimit64;
}
