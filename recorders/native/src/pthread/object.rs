//! What an operation on a synchronization object does with the object's own memory: docs/SEMANTICS.md, *use*.
//!
//! Operations of instrumented code use it, initializing and destroying write it. Libraries order their own operations
//! by what nobody sees, so theirs are not recorded.

use crate::events::{OBJECT_BYTES, modules, pending};
use crate::runtime::guard::RuntimeGuard;
use libc::c_int;
use recorder_ring::plan::kind;
use recorder_ring::{ObjectClass, Record};
use recorder_scheduler::{Access, Intent};

fn intent(kind: u8, object: usize, pc: usize) -> Intent {
    Intent::of(Access::one(pc, kind, object, OBJECT_BYTES))
}

fn used(object: usize, pc: usize) {
    pending::push(Record::Use {
        pc: pc as u64,
        object: object as u64,
    });
}

/// Enters for an operation that uses an object.
pub fn enter(object: usize, pc: usize) -> Option<RuntimeGuard> {
    if !modules::is_instrumented(pc) {
        return RuntimeGuard::enter();
    }
    let inside = RuntimeGuard::enter_for(|| intent(kind::USE, object, pc))?;
    used(object, pc);
    // The operation itself has a turn of its own.
    inside.await_turn();
    Some(inside)
}

/// The operation uses a second object.
pub fn also_uses(inside: &RuntimeGuard, object: usize, pc: usize) {
    if modules::is_instrumented(pc) {
        inside.await_turn_before(|| intent(kind::USE, object, pc));
        used(object, pc);
        inside.await_turn();
    }
}

/// Enters for an operation that initializes or destroys an object, as the kind says.
fn enter_to_change(kind: u8, object: usize, pc: usize) -> Option<RuntimeGuard> {
    if modules::is_instrumented(pc) {
        RuntimeGuard::enter_for(|| intent(kind, object, pc))
    } else {
        RuntimeGuard::enter()
    }
}

/// It is initialized or destroyed, unless that failed. Where an object is destroyed that somebody holds, that depends
/// on the C library alone: the attempt is what counts, and if that failed, the object is still there.
fn changed(kind: u8, object: usize, result: c_int, pc: usize) {
    if !modules::is_instrumented(pc) {
        return;
    }
    match result {
        0 if kind == kind::DESTROY => pending::destroyed_now(object, OBJECT_BYTES, pc),
        0 | libc::EBUSY => pending::write_now(object, OBJECT_BYTES, pc),
        _ => used(object, pc),
    }
}

/// An object of this class is initialized by a call of the C library's, after which it says what it is.
pub fn initialize(
    object: usize,
    count: u32,
    pc: usize,
    call: impl FnOnce() -> c_int,
    class: impl FnOnce() -> ObjectClass,
) -> c_int {
    let inside = enter_to_change(kind::WRITE, object, pc);
    let result = call();
    if inside.is_some() {
        changed(kind::WRITE, object, result, pc);
        if result == 0 {
            pending::push(Record::Init {
                class: class(),
                object: object as u64,
                count,
            });
        }
    }
    result
}

/// An object is destroyed by a call of the C library's.
pub fn destroy(object: usize, pc: usize, call: impl FnOnce() -> c_int) -> c_int {
    destroy_and(object, pc, call, |_| {})
}

/// The same, and what else is to be recorded of what the call returned.
pub fn destroy_and(object: usize, pc: usize, call: impl FnOnce() -> c_int, and: impl FnOnce(c_int)) -> c_int {
    let inside = enter_to_change(kind::DESTROY, object, pc);
    let result = call();
    if inside.is_some() {
        changed(kind::DESTROY, object, result, pc);
        if result == 0 {
            pending::push(Record::Destroy { object: object as u64 });
        }
        and(result);
    }
    result
}
