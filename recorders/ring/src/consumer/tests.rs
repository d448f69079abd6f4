use super::*;
use crate::producer::PUT_BYTES;
use crate::{Policy, Producer};
use std::thread;
use std::vec;

const SETTINGS: Settings = Settings {
    policy: Policy::Random,
    seed: 42,
    depth: 3,
    steps: 1000,
    most: u64::MAX,
};

fn small() -> Ring {
    Ring::create(512, 1 << 16, SETTINGS).unwrap()
}

/// What a run of `rounds` sends: a predicted event, then an item of 1 to 64 bytes, and a row.
fn send(place: Place, rounds: u32) {
    let producer = Producer::detached();
    // SAFETY: this thread alone has the producer.
    unsafe {
        let settings = producer.attach(place).unwrap();
        assert_eq!((settings.policy, settings.seed), (Policy::Random, 42));
        assert_eq!((settings.depth, settings.steps), (3, 1000));
        for i in 0..rounds {
            assert!(producer.hit());
            producer.room().write([i as u8; PUT_BYTES]);
            producer.put(len(i), 1);
            producer.push(Row::Threads { count: i });
            if producer.is_block_due() {
                producer.close_block();
            }
        }
        producer.hit();
        producer.hit();
    }
}

fn len(i: u32) -> usize {
    i as usize % PUT_BYTES + 1
}

#[test]
fn small_rings_carry_long_streams_in_order() {
    const ROUNDS: u32 = 20_000;
    let mut ring = small();
    let place = ring.place();
    let sender = thread::spawn(move || send(place, ROUNDS));
    let (mut rows, mut stream, mut events) = (0, vec![], 0);
    let mut block = vec![];
    loop {
        let ended = sender.is_finished();
        match ring.take_row().unwrap() {
            Some(Row::Threads { count }) => {
                assert_eq!(count, rows);
                rows += 1;
            }
            Some(Row::Block { end, events: more }) => {
                ring.take_events(end, &mut block).unwrap();
                stream.extend_from_slice(&block);
                assert_eq!(stream.len() as u64, end);
                events += more;
                ring.release(0);
            }
            Some(other) => panic!("{other:?} was never sent"),
            None if ended => break,
            None => {
                if ring.is_release_due() {
                    ring.release(0);
                }
                ring.wait(10_000_000);
            }
        }
    }
    sender.join().unwrap();
    assert!(ring.has(Flag::Attached));
    assert_eq!(rows, ROUNDS);
    assert_eq!(ring.take_open_block(&mut block), Ok(2), "predicted events at the end");
    stream.extend_from_slice(&block);
    let expected: Vec<u8> = (0..ROUNDS).flat_map(|i| vec![i as u8; len(i)]).collect();
    assert!(stream == expected);
    assert!(events <= 2 * ROUNDS && events > ROUNDS, "{events}");
}

#[test]
fn a_program_whose_records_nobody_takes_goes_on() {
    let ring = small();
    let place = ring.place();
    ring.abandon();
    send(place, 20_000);
}

#[test]
fn damaged_rings_are_errors() {
    let mut ring = small();
    ring.header().rows.store(3, Release);
    assert_eq!(ring.take_row(), Err(Corrupt { word: 0 }));
    assert_eq!(ring.take_events(1 << 20, &mut vec![]), Err(Corrupt { word: 0 }));
}

#[test]
fn hits_are_counted_up_to_the_limit() {
    let mut ring = small();
    let place = ring.place();
    let producer = Producer::detached();
    // SAFETY: this thread alone has the producer.
    unsafe {
        producer.attach(place).unwrap();
        producer.room().write([1; PUT_BYTES]);
        producer.put(1, 1);
        let counted = (0..u32::MAX).take_while(|_| producer.hit()).count();
        assert_eq!(counted, (1 << 19) - 1);
        producer.room().write([1; PUT_BYTES]);
        producer.put(1, 1);
        assert!(producer.is_block_due());
        producer.close_block();
    }
    let events = 1 + (1 << 19);
    assert_eq!(ring.take_row(), Ok(Some(Row::Block { end: 2, events })));
}

#[test]
fn what_was_not_released_is_found_again() {
    let path = std::env::temp_dir().join(std::format!("witness-ring-test-{}", std::process::id()));
    let mut ring = Ring::create_at(&path, 512, 1 << 16, SETTINGS).unwrap();
    assert!(matches!(Ring::reopen(&path), Err(Reopen::InUse)));
    // As much as fits into the ring of rows.
    send(ring.place(), 100);
    let mut block = vec![];
    let mut all = vec![];
    while let Some(row) = ring.take_row().unwrap() {
        all.push(row);
        if let Row::Block { end, .. } = row {
            ring.take_events(end, &mut block).unwrap();
        }
    }
    ring.take_open_block(&mut block).unwrap();
    // A recorder that took everything, and dies before it has released the second half.
    let half = all.len() / 2;
    drop(ring);
    assert!(!path.exists(), "in good order, nothing is left");

    let mut ring = Ring::create_at(&path, 512, 1 << 16, SETTINGS).unwrap();
    send(ring.place(), 100);
    for row in &all[..half] {
        assert_eq!(ring.take_row().unwrap().as_ref(), Some(row));
        if let Row::Block { end, .. } = *row {
            ring.take_events(end, &mut block).unwrap();
        }
    }
    ring.release(77);
    while ring.take_row().unwrap().is_some() {}
    ring.leave();
    drop(ring);

    let (mut ring, file) = Ring::reopen(&path).unwrap();
    assert_eq!(file, 77);
    for row in &all[half..] {
        assert_eq!(ring.take_row().unwrap().as_ref(), Some(row));
        if let Row::Block { end, .. } = *row {
            ring.take_events(end, &mut block).unwrap();
        }
    }
    assert_eq!(ring.take_row(), Ok(None));
    assert_eq!(ring.take_open_block(&mut block), Ok(2));
    drop(ring);
    assert!(!path.exists());
}

#[test]
fn files_that_hold_no_rings_are_refused() {
    let path = std::env::temp_dir().join(std::format!("witness-no-ring-test-{}", std::process::id()));
    let mut header = vec![0_u8; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC.to_le_bytes());
    let lengths = |words: u64, bytes: u64| [words.to_le_bytes(), bytes.to_le_bytes()].concat();
    let mut cases = vec![vec![], vec![1; 100], vec![1; 3 * HEADER_BYTES], header.clone()];
    for lengths in [
        lengths(512, 4096),
        lengths(u64::MAX, 4096),
        lengths(512, 1),
        lengths(0, 0),
    ] {
        header[8..24].copy_from_slice(&lengths);
        cases.push(header.clone());
    }
    for case in cases {
        fs::write(&path, &case).unwrap();
        assert!(
            matches!(Ring::reopen(&path), Err(Reopen::NoRing)),
            "{} bytes",
            case.len()
        );
    }
    fs::remove_file(&path).unwrap();
}
