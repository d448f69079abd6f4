use super::*;
use crate::{Policy, Producer};
use event_coding::{MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, OPEN_HEAD, head};
use std::thread;
use std::vec;

const SETTINGS: Settings = Settings {
    policy: Policy::Random,
    seed: 42,
    depth: 3,
    steps: 1000,
    most: u64::MAX,
    clocks_stand_at: 0,
    pictures: 0,
};

fn small() -> Ring {
    Ring::create(512, 1 << 16, SETTINGS).unwrap()
}

/// What `rounds` send: a predicted event of which three bytes are told, then an item of 1 to 104 bytes, and a row.
fn send(path: RingPath, rounds: u32) {
    let producer = Producer::detached();
    // SAFETY: this thread alone has the producer.
    unsafe {
        let settings = producer.attach(path).unwrap();
        assert_eq!((settings.policy, settings.seed), (Policy::Random, 42));
        assert_eq!((settings.depth, settings.steps), (3, 1000));
        for i in 0..rounds {
            producer.literals().write([0xee; MAX_LITERAL_BYTES]);
            assert!(producer.hit(3));
            producer.room().write([i as u8; MAX_ITEM_BYTES]);
            producer.put(i as u16, len(i), 1);
            producer.push(Row::Threads { count: i });
            if producer.is_block_due() {
                producer.close_block();
            }
        }
        producer.hit(0);
        producer.hit(0);
    }
}

fn len(i: u32) -> usize {
    i as usize % MAX_ITEM_BYTES + 1
}

/// The bytes of one round.
fn round(i: u32) -> Vec<u8> {
    let mut bytes = head(1, i as u16).to_vec();
    bytes.extend([0xee; 3]);
    bytes.resize(bytes.len() + len(i), i as u8);
    bytes
}

fn reopen(path: &Path) -> Result<(Ring, u64), Reopen> {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    Ring::reopen(path, file)
}

#[test]
fn small_rings_carry_long_streams_in_order() {
    const ROUNDS: u32 = 20_000;
    let mut ring = small();
    let path = ring.path();
    let sender = thread::spawn(move || send(path, ROUNDS));
    let (mut rows, mut stream, mut length, mut events) = (0, vec![], 0, 0);
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
                length += block.len() as u64;
                assert_eq!(length, end);
                let empty_run = head(0, 0);
                stream.extend_from_slice(block.strip_suffix(&empty_run).expect("its last run is closed"));
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
    stream.extend_from_slice(block.strip_suffix(&OPEN_HEAD).expect("its last run is open"));
    let expected: Vec<u8> = (0..ROUNDS).flat_map(round).collect();
    assert!(stream == expected);
    assert!(events <= 2 * ROUNDS && events > ROUNDS, "{events}");
}

#[test]
fn a_program_whose_records_nobody_takes_goes_on() {
    let ring = small();
    let path = ring.path();
    ring.abandon();
    send(path, 20_000);
}

#[test]
fn a_producer_is_due_after_so_many_events_or_when_its_run_is_full() {
    let ring = small();
    ring.abandon();
    let producer = Producer::detached();
    // SAFETY: this thread alone has the producer.
    unsafe {
        producer.attach(ring.path()).unwrap();
        for wanted in [0, 1, 2, u64::from(MAX_RUN), 5000, 1 << 40] {
            for item_every in [1, 7, 1000] {
                producer.due_after(wanted);
                let before = producer.events();
                let passed = || producer.events() - before;
                while passed() < wanted.min(5000) {
                    let is_full = producer.hits() == MAX_RUN.into();
                    assert_eq!(producer.is_due(), is_full, "{wanted} {item_every}: after {}", passed());
                    if is_full || passed() % item_every == 0 {
                        producer.room();
                        producer.put(0, 1, u32::from(!is_full));
                        if producer.is_block_due() {
                            producer.close_block();
                        }
                    } else {
                        producer.one_more(0);
                    }
                }
                assert!(producer.is_due() || wanted > 5000, "{wanted} {item_every}");
            }
        }
    }
}

#[test]
fn damaged_rings_are_errors() {
    let mut ring = small();
    ring.header().rows.store(3, Release);
    assert_eq!(ring.take_row(), Err(Corrupt { word: 0 }));
    assert_eq!(ring.take_events(1 << 20, &mut vec![]), Err(Corrupt { word: 0 }));
}

#[test]
fn runs_and_blocks_have_a_limit() {
    let mut ring = small();
    let path = ring.path();
    let producer = Producer::detached();
    let mut largest = 0;
    let mut block = vec![];
    // SAFETY: this thread alone has the producer.
    unsafe {
        producer.attach(path).unwrap();
        // Each block has more bytes than the one before.
        for _ in 0..12 {
            while !producer.is_block_due() {
                let run = (0..u32::MAX).take_while(|_| producer.hit(0)).count();
                assert_eq!((run, producer.hits()), (MAX_RUN.into(), MAX_RUN.into()));
                producer.room();
                producer.put(7, 0, 0);
                assert_eq!(producer.hits(), 0);
            }
            assert!(producer.hit(0));
            producer.close_block();
            let Ok(Some(Row::Block { end, events })) = ring.take_row() else {
                panic!("a block was closed");
            };
            ring.take_events(end, &mut block).unwrap();
            ring.release(0);
            let runs = events as usize / usize::from(MAX_RUN);
            assert!(block == [head(MAX_RUN, 7).repeat(runs), head(1, 0).to_vec()].concat());
            largest = largest.max(events);
        }
    }
    assert!((1 << 19..=1 << 20).contains(&largest), "{largest}");
}

#[test]
fn what_was_not_released_is_found_again() {
    let path = std::env::temp_dir().join(std::format!("witness-ring-test-{}", std::process::id()));
    let mut ring = Ring::create_at(&path, 512, 1 << 16, SETTINGS).unwrap();
    assert!(matches!(reopen(&path), Err(Reopen::InUse)));
    // As much as fits into the ring of rows.
    send(ring.path(), 100);
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
    send(ring.path(), 100);
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
    let left = fs::read(&path).unwrap();

    let (mut ring, file) = reopen(&path).unwrap();
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

    // One that says that there is more than rings of this size can hold, or that what is left goes around.
    let header = |at: usize, value: u64| {
        let mut bytes = left.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let (mut ring, _) = reopen(&path).unwrap();
        let mut all = vec![];
        let mut taken = 0;
        loop {
            match ring.take_row() {
                Ok(Some(Row::Block { end, .. })) if ring.take_events(end, &mut all).is_err() => break,
                Ok(Some(_)) => taken += 1,
                Ok(None) => break,
                Err(Corrupt { .. }) => break,
            }
        }
        taken
    };
    let rows = core::mem::offset_of!(Header, rows);
    assert!(header(rows, u64::MAX) <= 512, "it ends");
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
        assert!(matches!(reopen(&path), Err(Reopen::NoRing)), "{} bytes", case.len());
    }
    fs::remove_file(&path).unwrap();
}
