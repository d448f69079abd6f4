//! Two threads write one variable, and nothing of theirs orders them: only what the standard library did as they began
//! could.

use std::cell::UnsafeCell;
use std::thread;

struct Shared(UnsafeCell<u32>);
unsafe impl Sync for Shared {}

fn main() {
    let shared = Shared(UnsafeCell::new(0));
    thread::scope(|scope| {
        for number in 0..2 {
            let shared = &shared;
            scope.spawn(move || unsafe { *shared.0.get() = number });
        }
    });
}
