//! A sender and two receivers that end when it has gone, with the crate `spmc`, after its issue 5.

use std::thread;

fn main() {
    let (sender, receiver) = spmc::channel();
    let receivers: Vec<_> = (0..2)
        .map(|_| {
            let receiver = receiver.clone();
            thread::spawn(move || while receiver.recv().is_ok() {})
        })
        .collect();
    sender.send(1).unwrap();
    drop(sender);
    for receiver in receivers {
        receiver.join().unwrap();
    }
}
