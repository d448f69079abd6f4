//! As many threads as asked for take turns at a queue.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

/// What is left after each of some threads took one.
fn queue(threads: usize, length: usize) -> usize {
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..length).collect());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| queue.lock().unwrap().pop_front());
        }
    });
    queue.into_inner().unwrap().len()
}

fn main() {
    let threads = std::env::args().skip_while(|argument| argument != "--threads").nth(1);
    let threads = threads.map_or(2, |count| count.parse().expect("a number"));
    println!("{} are left", queue(threads, 10));
}

#[test]
fn queue_is_shared() {
    assert_eq!(queue(3, 10), 7);
}
