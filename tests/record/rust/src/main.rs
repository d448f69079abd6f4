//! What Rust's standard library synchronizes with, each keeping one variable; the last one kept by none.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;

struct Shared<T>(UnsafeCell<T>);
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        unsafe { *self.0.get() }
    }
    fn set(&self, value: T) {
        unsafe { *self.0.get() = value }
    }
}

static ONCE: Once = Once::new();
static MADE: Shared<u32> = Shared(UnsafeCell::new(0));
static HANDED: Shared<u32> = Shared(UnsafeCell::new(0));
static UNKEPT: Shared<u32> = Shared(UnsafeCell::new(0));
static PARKED: AtomicBool = AtomicBool::new(false);

fn main() {
    let sum = Mutex::new(0);
    let table = RwLock::new(vec![0; 4]);
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    let barrier = Barrier::new(3);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..3 {
            let sender = sender.clone();
            let (sum, table, turn, changed, barrier) = (&sum, &table, &turn, &changed, &barrier);
            scope.spawn(move || {
                *sum.lock().unwrap() += number;
                table.write().unwrap()[number] = number + 1;
                barrier.wait();
                assert_eq!(table.read().unwrap().iter().sum::<usize>(), 6);
                ONCE.call_once(|| MADE.set(9));
                assert_eq!(MADE.get(), 9);
                let mut now = turn.lock().unwrap();
                while *now != number {
                    now = changed.wait(now).unwrap();
                }
                *now += 1;
                changed.notify_all();
                drop(now);
                sender.send(number).unwrap();
                UNKEPT.set(number as u32); // the race
            });
        }
    });
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), 3);
    assert_eq!(*sum.lock().unwrap(), 3);

    let parked = thread::spawn(|| {
        while !PARKED.load(Ordering::Acquire) {
            thread::park();
        }
        assert_eq!(HANDED.get(), 5);
    });
    HANDED.set(5);
    PARKED.store(true, Ordering::Release);
    parked.thread().unpark();
    parked.join().unwrap();
}
