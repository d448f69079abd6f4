use super::*;
use crate::{Policy, Settings};
use std::thread;
use std::time::Duration;
use std::vec::Vec;

const SETTINGS: Settings = Settings {
    policy: Policy::Fifo,
    seed: 0,
    depth: 0,
    steps: 0,
    most: 0,
    clocks_stand_at: 0,
    pictures: 0,
};

fn client(broker: &RingBroker) -> Client {
    let client = Client::nowhere();
    client.attach(RingPath::new(std::process::id(), broker.file.as_raw_fd() as u32));
    assert!(client.is_open());
    client
}

fn ask(process: u32, nth: u32) -> Ask {
    Ask {
        what: What::Forked,
        process,
        file: 0,
        of: 7,
        nth,
    }
}

#[test]
fn each_gets_the_ring_that_was_made_for_it() {
    let broker = RingBroker::open().unwrap();
    let own = std::process::id();
    let asks: Vec<_> = (0..3 * SLOTS as u32)
        .map(|nth| {
            let client = client(&broker);
            client.announce();
            thread::spawn(move || (nth, client.ask(ask(own, nth))))
        })
        .collect();
    let mut rings = Vec::new();
    while rings.len() < asks.len() {
        let Some(asked) = broker.next() else {
            broker.wait(1_000_000);
            continue;
        };
        assert_eq!(
            (asked.ask.process, asked.ask.of, asked.ask.what),
            (own, 7, What::Forked)
        );
        // Every third gets none.
        let ring = (asked.ask.nth % 3 != 0).then(|| Ring::create(512, 4096, SETTINGS).unwrap());
        broker.answer(&asked, ring.as_ref());
        rings.push((asked.ask.nth, ring));
    }
    assert_eq!(broker.expected(), 0);
    for ask in asks {
        let (nth, path) = ask.join().unwrap();
        let ring = rings
            .iter()
            .find(|(of, _)| *of == nth)
            .and_then(|(_, ring)| ring.as_ref());
        assert_eq!(path, ring.map(|ring| RingPath::new(own, ring.file())), "{nth}");
    }
}

#[test]
fn nobody_waits_for_a_desk_that_is_closed() {
    let broker = RingBroker::open().unwrap();
    let late = client(&broker);
    let waiting = client(&broker);
    let waits = thread::spawn(move || waiting.ask(ask(std::process::id(), 1)));
    while broker.next().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    drop(broker);
    assert_eq!(waits.join().unwrap(), None);
    assert!(!late.is_open());
    assert_eq!(late.ask(ask(1, 1)), None);
}

#[test]
fn slots_of_the_dead_are_used_again() {
    let broker = RingBroker::open().unwrap();
    let mut process = std::process::Command::new("true").spawn().unwrap();
    process.wait().unwrap();
    for slot in &broker.page().slots {
        slot.state.store(state::CLAIMED, Relaxed);
        slot.process.store(process.id(), Relaxed);
    }
    let client = client(&broker);
    let asks = thread::spawn(move || client.ask(ask(std::process::id(), 1)));
    let asked = loop {
        if let Some(asked) = broker.next() {
            break asked;
        }
    };
    broker.answer(&asked, None);
    assert_eq!(asks.join().unwrap(), None);
}
