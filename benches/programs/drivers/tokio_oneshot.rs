//! One thread sends, with the crate `tokio`, while another one closes the channel and looks what came.

use std::thread;
use tokio::sync::oneshot;

fn main() {
    let (sender, mut receiver) = oneshot::channel::<Box<u32>>();
    let sends = thread::spawn(move || drop(sender.send(Box::new(1))));
    receiver.close();
    drop(receiver.try_recv());
    sends.join().unwrap();
}
