//! Threads in order of arrival.

use super::MAX_THREADS;
use crate::thread::Thread;
use core::cell::{Cell, UnsafeCell};
use core::ptr;

/// Threads in order of arrival.
#[derive(Debug)]
pub struct Queue {
    pub(super) len: Cell<usize>,
    threads: UnsafeCell<[*const Thread; MAX_THREADS]>,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            len: Cell::new(0),
            threads: UnsafeCell::new([ptr::null(); MAX_THREADS]),
        }
    }

    pub fn as_slice(&self) -> &[&'static Thread] {
        // SAFETY: the first `len` are threads, which live for ever; a reference has the layout of
        // a pointer; nobody pushes or removes while the slice is in use (all under the lock).
        unsafe { core::slice::from_raw_parts(self.threads.get().cast(), self.len.get()) }
    }

    pub(super) fn push(&self, thread: &'static Thread) {
        let len = self.len.get();
        assert!(len < MAX_THREADS, "pthread_create refuses more threads than fit");
        // SAFETY: in bounds; under the lock.
        unsafe { (*self.threads.get())[len] = thread };
        self.len.set(len + 1);
    }

    pub fn remove(&self, at: usize) -> &'static Thread {
        let len = self.len.get();
        // SAFETY: in bounds by indexing; under the lock; the entries are threads.
        unsafe {
            let threads = &mut *self.threads.get();
            let thread = threads[at];
            threads.copy_within(at + 1..len, at);
            self.len.set(len - 1);
            &*thread
        }
    }
}
