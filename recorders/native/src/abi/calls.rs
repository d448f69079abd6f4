//! Function entries and exits, and the call that every instrumented object makes when it is loaded.

use crate::events::{modules, pending};
use crate::runtime::guard::RuntimeGuard;
use recorder_ring::Record;

#[inline(always)]
fn enter() -> Option<RuntimeGuard> {
    RuntimeGuard::enter_fast().or_else(RuntimeGuard::enter_and_stay)
}

/// `call_site` is the return address of the function that is entered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_entry(call_site: usize) {
    let Some(inside) = enter() else { return };
    pending::push(Record::Call {
        call_site: call_site as u64,
    });
    drop(inside);
}

/// The last call of a function before it returns. What it leaves in the register of results is the result of a function
/// that has none, for programs that keep it all the same: it is always 0, or it would be another one along a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_exit() -> usize {
    if let Some(inside) = enter() {
        pending::push(Record::Return);
        drop(inside);
    }
    0
}

/// Called once by every instrumented object file: there may be new modules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_init() {
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        modules::tell_new();
    }
}
