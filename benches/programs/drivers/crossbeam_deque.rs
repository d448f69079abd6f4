//! One thread takes tasks from its own queue, with the crate `crossbeam-deque`, and another one steals some.

use crossbeam_deque::Worker;
use std::thread;

fn main() {
    let worker = Worker::new_lifo();
    for task in 0..4_u32 {
        worker.push(Box::new(task));
    }
    let stealer = worker.stealer();
    let steals = thread::spawn(move || {
        let own = Worker::new_lifo();
        drop(stealer.steal_batch_and_pop(&own).success());
        while let Some(task) = own.pop() {
            drop(task);
        }
    });
    while let Some(task) = worker.pop() {
        drop(task);
    }
    steals.join().unwrap();
}
