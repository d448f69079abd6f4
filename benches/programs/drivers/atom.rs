//! Two threads hold the same `Rc`, one of them by an `Atom` of the crate `atom`.

use atom::Atom;
use std::rc::Rc;
use std::thread;

fn main() {
    let one = Rc::new(1_u32);
    let shared = Atom::new(Box::new(one.clone()));
    let other = thread::spawn(move || drop(shared.take()));
    drop(one);
    other.join().unwrap();
}
