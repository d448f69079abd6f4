//! Two threads intern the same text, with the crate `internment`, and drop it.

use internment::ArcIntern;
use std::thread;

fn intern() -> usize {
    let interned: ArcIntern<String> = ArcIntern::new("a".to_owned());
    interned.len()
}

fn main() {
    let threads: Vec<_> = (0..2).map(|_| thread::spawn(intern)).collect();
    let lengths: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(lengths, 2);
}
