//! Work on several threads, with the results that one thread would have.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{panic, thread};

/// Events of a trace from which on a walk over it takes longer than to start a thread.
const MANY: usize = 1 << 16;

/// The threads that walks over so many events are worth, of so many.
#[must_use]
pub(crate) fn worth(events: usize, threads: NonZeroUsize) -> NonZeroUsize {
    if events < MANY { NonZeroUsize::MIN } else { threads }
}

/// The threads that the machine has for us.
#[must_use]
pub(crate) fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Two things, on two of so many threads if there are two.
pub(crate) fn both<A, B: Send>(threads: NonZeroUsize, a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B) {
    if threads.get() < 2 {
        return (a(), b());
    }
    thread::scope(|scope| {
        let b = scope.spawn(b);
        let a = a();
        (a, b.join().unwrap_or_else(|cause| panic::resume_unwind(cause)))
    })
}

/// What `f` makes of each item, in the order of the items; an error ends the work, and the one of the earliest item is
/// returned.
pub(crate) fn map<T: Sync, R: Send, E: Send>(
    threads: NonZeroUsize,
    items: &[T],
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads.get().min(items.len());
    if threads < 2 {
        return items.iter().map(f).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            let result = f(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((number, result));
        }
        done
    };
    let mut results: Vec<(usize, Result<R, E>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
        joined.flatten().collect()
    });
    results.sort_unstable_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;
    use std::num::NonZeroUsize;

    #[test]
    fn results_are_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..1000).collect();
        let expected: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [1, 2, 7, 2000] {
            let threads = NonZeroUsize::new(threads).expect("positive");
            assert_eq!(
                map(threads, &items, |&item| Ok::<_, ()>(item * item)),
                Ok(expected.clone())
            );
        }
    }

    #[test]
    fn the_earliest_error_is_returned() {
        let items: Vec<u64> = (0..1000).collect();
        let threads = NonZeroUsize::new(4).expect("positive");
        let result = map(threads, &items, |&item| if item < 10 { Ok(item) } else { Err(10) });
        assert_eq!(result, Err(10));
    }
}
