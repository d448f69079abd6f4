//! The threads of the program: those that somebody may still join, and records to use again.

use crate::scheduling::baton::{self, SCHEDULER};
use crate::scheduling::thread::Thread;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, pthread_t};
use recorder_ring::plan::kind;
use recorder_scheduler::thread::Reset;
use std::vec::Vec;

pub static REGISTER: Register = Register {
    known: [const { Cell::new(ptr::null()) }; BUCKETS],
    unused: Cell::new(ptr::null()),
    alive: Cell::new(0),
    key: Cell::new(0),
};

/// Lists that the threads are divided into by their handles. As many as threads may be alive, nearly: a join looks at
/// one or two.
const BUCKETS: usize = baton::MAX_THREADS / 4;

/// Records that are allocated at once.
const RECORDS: usize = 32;

/// The threads that somebody may still join, and records to use again. Used with the baton.
pub struct Register {
    known: [Cell<*const Thread>; BUCKETS],
    unused: Cell<*const Thread>,
    pub alive: Cell<usize>,
    pub key: Cell<libc::pthread_key_t>,
}

// SAFETY: only the thread with the baton looks or stores, but for `key`, set once at the start.
unsafe impl Sync for Register {}

impl Register {
    /// The list that a thread of this handle is in.
    fn bucket(&self, handle: pthread_t) -> &Cell<*const Thread> {
        let hash = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2());
        &self.known[hash as usize]
    }

    fn with_handle(&self, handle: pthread_t) -> impl Iterator<Item = &'static Thread> {
        // SAFETY: the list holds threads, which live for ever.
        let list = core::iter::successors(unsafe { self.bucket(handle).get().as_ref() }, |thread| unsafe {
            thread.next.get().as_ref()
        });
        list.filter(move |thread| thread.handle.get() == handle)
    }

    pub fn find(&self, handle: pthread_t) -> Option<&'static Thread> {
        self.with_handle(handle).find(|thread| !thread.detached.get())
    }

    pub fn new_thread(&self) -> &'static Thread {
        if self.unused.get().is_null() {
            Thread::allocate(RECORDS).iter().for_each(|thread| self.recycle(thread));
        }
        // SAFETY: the list holds threads, which live for ever, and one at least.
        let thread = unsafe { &*self.unused.get() };
        self.unused.set(thread.next.get());
        thread.reset(Thread::new());
        thread
    }

    /// In a forked child: nobody is known.
    pub fn start_over(&self) {
        self.known.iter().for_each(|list| list.set(ptr::null()));
    }

    /// Adds a thread, which has its handle.
    pub fn add(&self, thread: &'static Thread) {
        let first = self.bucket(thread.handle.get());
        thread.next.set(first.get());
        first.set(thread);
    }

    /// Forgets a thread that is over and joined or detached.
    pub fn forget(&self, thread: &'static Thread) {
        let mut place = self.bucket(thread.handle.get());
        // SAFETY: as in `with_handle`.
        while let Some(at) = unsafe { place.get().as_ref() } {
            if ptr::eq(at, thread) {
                place.set(thread.next.get());
                self.recycle(thread);
                return;
            }
            place = &at.next;
        }
    }

    pub fn recycle(&self, thread: &'static Thread) {
        thread.next.set(self.unused.get());
        self.unused.set(thread);
    }
}

/// A thread that is not joined yet.
pub fn by_handle(handle: pthread_t) -> Option<&'static Thread> {
    REGISTER.with_handle(handle).next()
}

/// A thread that is not joined yet, by the kernel's number of it.
pub fn by_number(number: c_int) -> Option<&'static Thread> {
    all().find(|thread| thread.os_id.load(Relaxed) == number)
}

/// The threads that are not joined yet.
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let lists = REGISTER.known.iter().filter_map(|list| {
        // SAFETY: the lists hold threads, which live for ever.
        unsafe { list.get().as_ref() }
    });
    lists.flat_map(|first| {
        // SAFETY: as above.
        core::iter::successors(Some(first), |thread| unsafe { thread.next.get().as_ref() })
    })
}

static NEXT_INDEX: AtomicU32 = AtomicU32::new(0);

/// How many threads have come that nobody created.
static UNCREATED: AtomicU32 = AtomicU32::new(0);

/// The threads of a plan, but for the first, that begin though none creates them.
fn uncreated() -> Vec<u32> {
    let steps = || SCHEDULER.plan().steps();
    let forks = steps().filter(|step| step.kind == kind::FORK);
    let created: Vec<u32> = forks.filter_map(|step| step.other).collect();
    let begun = steps().filter(|step| step.kind == kind::BEGIN).map(|step| step.thread);
    begun
        .filter(|thread| *thread > 0 && !created.contains(thread))
        .collect()
}

/// The number of the next one that comes, along a plan.
pub fn next_uncreated() -> Option<u32> {
    uncreated().get(UNCREATED.load(Relaxed) as usize).copied()
}

/// The number of a thread that nobody created.
pub fn index_of_uncreated() -> u32 {
    let number = UNCREATED.fetch_add(1, Relaxed);
    let planned = uncreated().get(number as usize).copied();
    planned.inspect(|index| taken(*index)).unwrap_or_else(new_index)
}

/// The next number.
pub fn new_index() -> u32 {
    NEXT_INDEX.fetch_add(1, Relaxed)
}

/// How many numbers have been given.
pub fn threads_so_far() -> u32 {
    NEXT_INDEX.load(Relaxed)
}

/// The number of a thread that this one, which has the baton, is about to create.
pub fn index_of_child(creator: &Thread) -> u32 {
    match SCHEDULER.plan().next_child(creator) {
        Some(index) => {
            taken(index);
            index
        }
        None => new_index(),
    }
}

/// A plan has given out that number.
fn taken(index: u32) {
    NEXT_INDEX.fetch_max(index + 1, Relaxed);
}

/// There is no such thread after all. Another one may have taken the next number meanwhile; then this one is lost.
pub fn give_index_back(index: u32) {
    let _ = NEXT_INDEX.compare_exchange(index + 1, index, Relaxed, Relaxed);
}

/// In a forked child, whose only thread has number 0.
pub fn start_numbers_over() {
    NEXT_INDEX.store(1, Relaxed);
    UNCREATED.store(0, Relaxed);
}
