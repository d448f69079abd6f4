//! Threads in order of arrival.

use super::MAX_THREADS;
use crate::thread::Thread;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Release};
use core::{ptr, slice};

/// Room for twice as many threads as there are, so that those that leave at the front cost nothing: they are a gap, which is closed
/// when the end is reached.
const ROOM: usize = 2 * MAX_THREADS;

/// Threads in order of arrival.
#[derive(Debug)]
pub struct Queue {
    /// Where the first one is.
    first: Cell<usize>,
    /// Only changed under the lock; read without it, too. What is in two queues for a moment is in one of them for whoever reads both.
    len: AtomicUsize,
    threads: UnsafeCell<[*const Thread; ROOM]>,
    /// What each waited for when it arrived: thousands are looked through for one key, and each thread lies elsewhere in memory.
    keys: UnsafeCell<[usize; ROOM]>,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            first: Cell::new(0),
            len: AtomicUsize::new(0),
            threads: UnsafeCell::new([ptr::null(); ROOM]),
            keys: UnsafeCell::new([0; ROOM]),
        }
    }

    /// How many threads there are. Without the lock that is what it was at some moment since it was taken last.
    pub(super) fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    pub fn as_slice(&self) -> &[&'static Thread] {
        // SAFETY: the `len` from `first` on are threads, which live for ever; a reference has the layout of
        // a pointer; nobody pushes or removes while the slice is in use (all under the lock).
        unsafe {
            let first: *const &Thread = self.threads.get().cast();
            slice::from_raw_parts(first.add(self.first.get()), self.len())
        }
    }

    /// What each thread of the slice waits for.
    fn keys(&self) -> &[usize] {
        // SAFETY: in bounds, and unchanged while the slice is in use, as in `as_slice`.
        unsafe {
            let first: *const usize = self.keys.get().cast();
            slice::from_raw_parts(first.add(self.first.get()), self.len())
        }
    }

    /// The threads that wait for `key`, each with its place.
    pub(super) fn waiting(&self, key: usize) -> impl Iterator<Item = (usize, &'static Thread)> + Clone {
        let places = (0..).zip(self.keys()).filter(move |&(_, &other)| other == key);
        places.map(|(at, _)| (at, self.as_slice()[at]))
    }

    pub(super) fn push(&self, thread: &'static Thread) {
        let (mut first, len) = (self.first.get(), self.len());
        assert!(len < MAX_THREADS, "pthread_create refuses more threads than fit");
        // SAFETY: the end is below `ROOM` once the gap is closed; under the lock.
        unsafe {
            let (threads, keys) = (&mut *self.threads.get(), &mut *self.keys.get());
            if first + len == ROOM {
                threads.copy_within(first.., 0);
                keys.copy_within(first.., 0);
                first = 0;
            }
            threads[first + len] = thread;
            keys[first + len] = thread.key.get();
        }
        self.first.set(first);
        self.len.store(len + 1, Release);
    }

    pub fn remove(&self, at: usize) -> &'static Thread {
        let (first, len) = (self.first.get(), self.len());
        assert!(at < len, "no thread at {at} of {len}");
        let (at, end) = (first + at, first + len);
        // SAFETY: in bounds by the assertion; under the lock; the entries are threads.
        unsafe {
            let (threads, keys) = (&mut *self.threads.get(), &mut *self.keys.get());
            let thread = threads[at];
            if at == first {
                self.first.set(first + 1);
            } else {
                threads.copy_within(at + 1..end, at);
                keys.copy_within(at + 1..end, at);
            }
            self.len.store(len - 1, Release);
            &*thread
        }
    }

    /// Forgets a thread.
    pub(super) fn forget(&self, thread: &Thread) {
        while let Some(at) = self.as_slice().iter().position(|other| ptr::eq(*other, thread)) {
            self.remove(at);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.first.set(0);
        self.len.store(0, Release);
    }
}
