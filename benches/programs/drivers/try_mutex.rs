//! Two threads hold the same `Rc`, one of them by a `TryMutex` of the crate `try-mutex`.

use std::rc::Rc;
use std::thread;
use try_mutex::TryMutex;

fn main() {
    let one = Rc::new(1_u32);
    let shared: &'static TryMutex<Rc<u32>> = Box::leak(Box::new(TryMutex::new(one.clone())));
    let other = thread::spawn(move || drop(shared.try_lock().map(|held| held.clone())));
    drop(one.clone());
    other.join().unwrap();
}
