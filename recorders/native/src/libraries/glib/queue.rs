//! `GAsyncQueue`: an item that is popped was pushed before. Pushes keep their order among themselves, and so do pops,
//! since what is popped depends on it; neither orders anything else.

use super::{library, lock};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::libraries::order;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{NEVER, Woken};
use crate::scheduling::{baton, clocks};
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::Waits;
use std::collections::{BTreeMap, VecDeque};

static QUEUES: Queues = Queues(RefCell::new(BTreeMap::new()));

struct Queues(RefCell<BTreeMap<usize, Queue>>);

// SAFETY: used with the baton.
unsafe impl Sync for Queues {}

/// What is known of a queue: counters, with how far they are, and what each push has set, by item.
struct Queue {
    pushes: (u64, u64),
    pops: (u64, u64),
    pushed: BTreeMap<usize, VecDeque<u64>>,
}

fn with<R>(queue: *mut c_void, work: impl FnOnce(&mut Queue) -> R) -> R {
    let new = || Queue {
        pushes: (order::variable(), 0),
        pops: (order::variable(), 0),
        pushed: BTreeMap::new(),
    };
    work(QUEUES.0.borrow_mut().entry(queue as usize).or_insert_with(new))
}

fn next(counter: &mut (u64, u64)) -> (u64, u64) {
    counter.1 += 1;
    (counter.0, counter.1 - 1)
}

/// The calling thread is about to push.
fn pushes(queue: *mut c_void, item: *mut c_void, pc: usize) {
    let variable = order::variable();
    order::set(variable, pc);
    let (counter, before) = with(queue, |queue| {
        queue.pushed.entry(item as usize).or_default().push_back(variable);
        next(&mut queue.pushes)
    });
    order::count(counter, before, before + 1, pc);
    // They look again when it is really there: this thread goes on until then.
    baton::wake(key(queue), usize::MAX);
}

/// It has popped.
fn popped(queue: *mut c_void, item: *mut c_void, pc: usize) {
    let (variable, (counter, before)) = with(queue, |queue| {
        let pushed = queue.pushed.get_mut(&(item as usize));
        let variable = pushed.and_then(VecDeque::pop_front);
        if queue.pushed.get(&(item as usize)).is_some_and(VecDeque::is_empty) {
            queue.pushed.remove(&(item as usize));
        }
        (variable, next(&mut queue.pops))
    });
    if let Some(variable) = variable {
        order::find_set(variable, pc);
    }
    order::count(counter, before, before + 1, pc);
}

/// It has seen how many there are.
fn seen(queue: *mut c_void, pc: usize) {
    let (pushes, pops) = with(queue, |queue| (queue.pushes, queue.pops));
    order::look(pushes.0, pushes.1, pc);
    order::look(pops.0, pops.1, pc);
}

/// Pops, waiting until the deadline; the thread holds the queue's lock if it is `locked`.
unsafe fn pop(
    inside: &RuntimeGuard,
    queue: *mut c_void,
    deadline: Option<i64>,
    locked: bool,
    pc: usize,
) -> *mut c_void {
    if queue.is_null() {
        // SAFETY: GLib says what is wrong, and does nothing.
        return inside.in_program(|| unsafe { library::g_async_queue_try_pop_unlocked(queue) });
    }
    let mut over = false;
    loop {
        // SAFETY: the program's queue, which begins with its mutex.
        let item = unsafe {
            if !locked {
                lock::obtain(inside, queue, pc);
            }
            let item = library::g_async_queue_try_pop_unlocked(queue);
            if !locked {
                lock::give_back(queue);
            }
            item
        };
        if !item.is_null() {
            popped(queue, item, pc);
            return item;
        }
        let Some(deadline) = deadline.filter(|_| !over) else {
            seen(queue, pc);
            return ptr::null_mut();
        };
        // SAFETY: as above.
        unsafe {
            if locked {
                lock::unlock(queue, pc);
            }
            pending::waits(inside.thread(), Waits::Item, queue as usize, pc, deadline);
            // Not the mutex' own key.
            over = baton::block(inside.thread(), key(queue), deadline) == Woken::Deadline;
            if over {
                clocks::waited_until(deadline);
            }
            if locked {
                lock::lock(inside, queue, pc);
            }
        }
    }
}

fn key(queue: *mut c_void) -> usize {
    queue as usize + 1
}

/// Does something with a queue's lock.
unsafe fn locked<R>(inside: &RuntimeGuard, pc: usize, queue: *mut c_void, work: impl FnOnce() -> R) -> R {
    if queue.is_null() {
        // GLib says so, and does nothing.
        return inside.in_program(work);
    }
    // SAFETY: the program's queue, which begins with its mutex.
    unsafe {
        lock::obtain(inside, queue, pc);
        let result = work();
        lock::give_back(queue);
        result
    }
}

fn begin(queue: *mut c_void) -> *mut c_void {
    QUEUES.0.borrow_mut().remove(&(queue as usize));
    // Here, not at its first use, which may be any thread's.
    with(queue, |_| {});
    queue
}

entries! {
    g_async_queue_new() -> *mut c_void, reg "rdi": |inside, pc| { begin(inside.in_program(|| library::g_async_queue_new())) }
    g_async_queue_new_full(free: *mut c_void) -> *mut c_void, reg "rsi": |inside, pc| {
        begin(inside.in_program(|| library::g_async_queue_new_full(free)))
    }
    g_async_queue_lock(queue: *mut c_void) -> (), reg "rsi": |inside, pc| {
        if queue.is_null() {
            return inside.in_program(|| library::g_async_queue_lock(queue));
        }
        lock::lock(&inside, queue, pc);
    }
    g_async_queue_unlock(queue: *mut c_void) -> (), reg "rsi": |inside, pc| {
        if queue.is_null() {
            return inside.in_program(|| library::g_async_queue_unlock(queue));
        }
        lock::unlock(queue, pc);
    }
    g_async_queue_push(queue: *mut c_void, item: *mut c_void) -> (), reg "rdx": |inside, pc| {
        pushes(queue, item, pc);
        locked(&inside, pc, queue, || library::g_async_queue_push_unlocked(queue, item));
    }
    g_async_queue_push_unlocked(queue: *mut c_void, item: *mut c_void) -> (), reg "rdx": |inside, pc| {
        pushes(queue, item, pc);
        library::g_async_queue_push_unlocked(queue, item);
    }
    g_async_queue_push_front(queue: *mut c_void, item: *mut c_void) -> (), reg "rdx": |inside, pc| {
        pushes(queue, item, pc);
        locked(&inside, pc, queue, || library::g_async_queue_push_front_unlocked(queue, item));
    }
    g_async_queue_push_front_unlocked(queue: *mut c_void, item: *mut c_void) -> (), reg "rdx": |inside, pc| {
        pushes(queue, item, pc);
        library::g_async_queue_push_front_unlocked(queue, item);
    }
    g_async_queue_push_sorted(queue: *mut c_void, item: *mut c_void, compare: *mut c_void, data: *mut c_void) -> (), reg "r8":
        |inside, pc| {
        pushes(queue, item, pc);
        let push = || library::g_async_queue_push_sorted_unlocked(queue, item, compare, data);
        locked(&inside, pc, queue, || inside.in_program(push));
    }
    g_async_queue_push_sorted_unlocked(queue: *mut c_void, item: *mut c_void, compare: *mut c_void, data: *mut c_void) -> (),
        reg "r8": |inside, pc| {
        pushes(queue, item, pc);
        inside.in_program(|| library::g_async_queue_push_sorted_unlocked(queue, item, compare, data));
    }
    g_async_queue_pop(queue: *mut c_void) -> *mut c_void, reg "rsi": |inside, pc| { pop(&inside, queue, Some(NEVER), false, pc) }
    g_async_queue_pop_unlocked(queue: *mut c_void) -> *mut c_void, reg "rsi": |inside, pc| {
        pop(&inside, queue, Some(NEVER), true, pc)
    }
    g_async_queue_try_pop(queue: *mut c_void) -> *mut c_void, reg "rsi": |inside, pc| { pop(&inside, queue, None, false, pc) }
    g_async_queue_try_pop_unlocked(queue: *mut c_void) -> *mut c_void, reg "rsi": |inside, pc| {
        pop(&inside, queue, None, true, pc)
    }
    g_async_queue_timeout_pop(queue: *mut c_void, micros: u64) -> *mut c_void, reg "rdx": |inside, pc| {
        pop(&inside, queue, Some(library::after(micros)), false, pc)
    }
    g_async_queue_timeout_pop_unlocked(queue: *mut c_void, micros: u64) -> *mut c_void, reg "rdx": |inside, pc| {
        pop(&inside, queue, Some(library::after(micros)), true, pc)
    }
    g_async_queue_remove(queue: *mut c_void, item: *mut c_void) -> c_int, reg "rdx": |inside, pc| {
        let found = locked(&inside, pc, queue, || library::g_async_queue_remove_unlocked(queue, item));
        if found != 0 { popped(queue, item, pc) } else { seen(queue, pc) }
        found
    }
    g_async_queue_remove_unlocked(queue: *mut c_void, item: *mut c_void) -> c_int, reg "rdx": |inside, pc| {
        let found = library::g_async_queue_remove_unlocked(queue, item);
        if found != 0 { popped(queue, item, pc) } else { seen(queue, pc) }
        found
    }
    g_async_queue_length(queue: *mut c_void) -> c_int, reg "rsi": |inside, pc| {
        seen(queue, pc);
        locked(&inside, pc, queue, || library::g_async_queue_length_unlocked(queue))
    }
    g_async_queue_length_unlocked(queue: *mut c_void) -> c_int, reg "rsi": |inside, pc| {
        seen(queue, pc);
        library::g_async_queue_length_unlocked(queue)
    }
}
