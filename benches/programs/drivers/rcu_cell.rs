//! Two threads hold the same `Rc`, one of them by an `RcuCell` of the crate `rcu_cell`.

use rcu_cell::RcuCell;
use std::rc::Rc;
use std::thread;

fn main() {
    let one = Rc::new(1_u32);
    let cell = RcuCell::new(Some(one.clone()));
    let other = thread::spawn(move || drop(cell));
    drop(one);
    other.join().unwrap();
}
