//! Threads of which several take turns on one thread of the kernel's.

use super::stack;
use crate::events;
use crate::events::moment::Moment;
use crate::events::{images, pending};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::fast_path;
use crate::scheduling::register::{self, REGISTER};
use crate::scheduling::thread::{Thread, set_slot, slot};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::Record;

/// A thread that will run in turn with others.
pub fn fork(inside: &RuntimeGuard, pc: usize) -> &'static Thread {
    images::take_once(stack::own);
    let fiber = REGISTER.new_thread();
    let index = register::index_of_child(inside);
    fiber.index.set(index);
    pending::push(Record::Fork {
        pc: pc as u64,
        child: index,
    });
    SCHEDULER.admit_fiber(fiber);
    fiber
}

/// Its first turn.
pub fn begin(fiber: &Thread) {
    pending::push(Record::Begin {
        os_id: fiber.os_id.load(Relaxed) as u32,
    });
}

/// It never runs again. The calling thread is another one.
pub fn end(inside: &RuntimeGuard, fiber: &'static Thread) {
    if fiber.os_id.load(Relaxed) != 0 {
        events::switch(Some(inside), fiber);
        pending::push(Record::End { pc: 0 });
        events::switch(Some(fiber), inside);
    }
    REGISTER.recycle(fiber);
}

/// The calling thread goes on as another one, inside the runtime.
pub fn go_on_as(inside: RuntimeGuard, to: &'static Thread) {
    let from = inside.thread();
    inside.forget();
    to.busy.store(1, Relaxed);
    to.host.set(from.host.get());
    if to.host.get().is_null() {
        to.host.set(from);
    }
    if ptr::eq(to.host.get(), to) {
        to.host.set(ptr::null());
    }
    let begins = to.os_id.swap(from.os_id.load(Relaxed), Relaxed) == 0;
    set_slot(to);
    SCHEDULER.go_on_as(from, to);
    if begins {
        begin(to);
    }
}

/// The calling thread of the kernel's ends: as itself, whichever fiber it is running.
pub fn return_to(host: &'static Thread) {
    if !ptr::eq(slot(), host)
        && let Some(inside) = RuntimeGuard::enter()
        && ptr::eq(inside.host.get(), host)
    {
        let left = Moment::now(0);
        go_on_as(inside, host);
        left.is_past(0);
        fast_path::leave(host);
    }
}
