//! Threads in order of arrival.

use super::MAX_THREADS;
use crate::thread::Thread;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Release};

/// Room for twice as many threads as there are, so that those that leave at the front cost nothing: they are a gap, which is closed
/// when the end is reached.
const ROOM: usize = 2 * MAX_THREADS;

/// Threads in order of arrival. Nobody gets a reference to an entry: who looks for a thread gets the thread itself, and the queue
/// may change while an iterator over it is alive, which then goes on with what there is.
#[derive(Debug)]
pub struct Queue {
    /// Where the first one is.
    first: Cell<usize>,
    /// Only changed under the lock; read without it, too. What is in two queues for a moment is in one of them for whoever reads both.
    len: AtomicUsize,
    threads: [Cell<Option<&'static Thread>>; ROOM],
    /// What each waited for when it arrived: thousands are looked through for one key, and each thread lies elsewhere in memory.
    keys: [Cell<usize>; ROOM],
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            first: Cell::new(0),
            len: AtomicUsize::new(0),
            threads: [const { Cell::new(None) }; ROOM],
            keys: [const { Cell::new(0) }; ROOM],
        }
    }

    /// How many threads there are. Without the lock that is what it was at some moment since it was taken last.
    pub fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries that count.
    fn entries<'a, T>(&self, of: &'a [Cell<T>; ROOM]) -> &'a [Cell<T>] {
        &of[self.first.get()..][..self.len()]
    }

    /// The threads, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static Thread> + Clone {
        self.entries(&self.threads).iter().filter_map(Cell::get)
    }

    /// The thread at a position, if there are so many.
    pub fn get(&self, at: usize) -> Option<&'static Thread> {
        self.entries(&self.threads).get(at)?.get()
    }

    /// Where a thread is.
    pub fn position(&self, thread: &Thread) -> Option<usize> {
        self.iter().position(|other| ptr::eq(other, thread))
    }

    /// The threads that wait for `key`, each with its position.
    pub(super) fn waiting(&self, key: usize) -> impl Iterator<Item = (usize, &'static Thread)> + Clone {
        let positions = (0..)
            .zip(self.entries(&self.keys))
            .filter(move |(_, other)| other.get() == key);
        positions.filter_map(|(at, _)| Some((at, self.get(at)?)))
    }

    pub(super) fn push(&self, thread: &'static Thread) {
        let (mut first, len) = (self.first.get(), self.len());
        assert!(len < MAX_THREADS, "pthread_create refuses more threads than fit");
        if first + len == ROOM {
            shift(&self.threads[..], first);
            shift(&self.keys[..], first);
            first = 0;
        }
        self.threads[first + len].set(Some(thread));
        self.keys[first + len].set(thread.key.get());
        self.first.set(first);
        self.len.store(len + 1, Release);
    }

    /// Takes out the thread at a position.
    pub fn remove(&self, at: usize) -> &'static Thread {
        let (first, len) = (self.first.get(), self.len());
        let Some(thread) = self.get(at) else {
            unreachable!("no thread at {at} of {len}")
        };
        if at == 0 {
            self.first.set(first + 1);
        } else {
            let (at, end) = (first + at, first + len);
            shift(&self.threads[at..end], 1);
            shift(&self.keys[at..end], 1);
        }
        self.len.store(len - 1, Release);
        thread
    }

    /// Forgets a thread.
    pub(super) fn forget(&self, thread: &Thread) {
        while let Some(at) = self.position(thread) {
            self.remove(at);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.first.set(0);
        self.len.store(0, Release);
    }
}

/// Moves the entries towards the front, over the first `by`.
fn shift<T: Copy>(entries: &[Cell<T>], by: usize) {
    for (to, from) in entries.iter().zip(&entries[by..]) {
        to.set(from.get());
    }
}
