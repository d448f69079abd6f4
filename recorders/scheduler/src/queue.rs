//! Threads in order of arrival.

use crate::sync::{AtomicUsize, Cell, MAX_THREADS};
use crate::thread::Scheduled;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// Room for twice as many threads as there are, so that those that leave at the front cost nothing: they are a gap,
/// which is closed when the end is reached.
const ROOM: usize = 2 * MAX_THREADS;

/// Threads in order of arrival. Nobody gets a reference to an entry: who looks for a thread gets the thread itself, so
/// that the queue may change while somebody looks.
pub struct Queue<T: 'static> {
    /// Where the first one is.
    first: Cell<usize>,
    /// Only changed under the lock; read without it, too. What is in two queues for a moment is in one of them for
    /// whoever reads both.
    len: AtomicUsize,
    threads: [Cell<Option<&'static T>>; ROOM],
    /// What each waited for when it arrived: thousands are looked through for one key, and each thread lies elsewhere
    /// in memory.
    keys: [Cell<usize>; ROOM],
}

impl<T: Deref<Target = Scheduled> + 'static> Queue<T> {
    constant! {
        /// An empty one.
        #[allow(clippy::new_without_default, reason = "it is for statics")]
        pub fn new() -> Self {
            Self {
                first: Cell::new(0),
                len: AtomicUsize::new(0),
                threads: cells![Cell::new(None); ROOM],
                keys: cells![Cell::new(0); ROOM],
            }
        }
    }

    /// How many threads there are. Without the lock that is what it was at some moment since it was taken last.
    pub fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries that count.
    fn entries<'a, E>(&self, of: &'a [Cell<E>; ROOM]) -> &'a [Cell<E>] {
        &of[self.first.get()..][..self.len()]
    }

    /// The threads, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + Clone {
        self.entries(&self.threads).iter().filter_map(Cell::get)
    }

    /// The thread at a position, if there are so many.
    pub fn get(&self, at: usize) -> Option<&'static T> {
        self.entries(&self.threads).get(at)?.get()
    }

    /// Where a thread is.
    pub fn position(&self, thread: &T) -> Option<usize> {
        self.iter().position(|other| ptr::eq(other, thread))
    }

    /// The threads that wait for `key`, each with its position.
    pub fn waiting(&self, key: usize) -> impl Iterator<Item = (usize, &'static T)> + Clone {
        let positions = (0..)
            .zip(self.entries(&self.keys))
            .filter(move |(_, other)| other.get() == key);
        positions.filter_map(|(at, _)| Some((at, self.get(at)?)))
    }

    /// Adds a thread at the end.
    ///
    /// # Panics
    /// If there are [`MAX_THREADS`].
    pub fn push(&self, thread: &'static T) {
        let (mut first, len) = (self.first.get(), self.len());
        assert!(len < MAX_THREADS, "no more threads are created than fit");
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
    ///
    /// # Panics
    /// If there is none.
    pub fn remove(&self, at: usize) -> &'static T {
        let (first, len) = (self.first.get(), self.len());
        let Some(thread) = self.get(at) else {
            panic!("no thread at {at} of {len}")
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
    pub fn forget(&self, thread: &T) {
        while let Some(at) = self.position(thread) {
            self.remove(at);
        }
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.first.set(0);
        self.len.store(0, Release);
    }
}

/// Moves the entries towards the front, over the first `by`.
fn shift<E: Copy>(entries: &[Cell<E>], by: usize) {
    for (to, from) in entries.iter().zip(&entries[by..]) {
        to.set(from.get());
    }
}
