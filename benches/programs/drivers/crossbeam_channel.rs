//! A thread sends the first message of a channel, with the crate `crossbeam-channel`, while the receiver goes.

use crossbeam_channel::unbounded;
use std::thread;

fn main() {
    let (sender, receiver) = unbounded::<Box<u32>>();
    let sends = thread::spawn(move || drop(sender.send(Box::new(1))));
    let goes = thread::spawn(move || drop(receiver));
    sends.join().unwrap();
    goes.join().unwrap();
}
