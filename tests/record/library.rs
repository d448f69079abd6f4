//! Functions of libc that write to their caller's memory: exactly what they read and write is recorded.

use crate::program::Program;
use crate::replay::Recorded;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, Op};

/// The bytes that a call reads and writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Touched {
    read: BTreeSet<u64>,
    written: BTreeSet<u64>,
}

/// What the program says of its calls: the place of the number of the one that is made, and what each is and touches.
fn expected(said: &str) -> (u64, BTreeMap<u64, (String, Touched)>) {
    let mut lines = said.lines();
    let at = lines.next().expect("a line").parse().expect("an address");
    let mut calls: BTreeMap<u64, (String, Touched)> = BTreeMap::new();
    for line in lines {
        let (number, rest) = line.split_once(' ').expect("a number");
        let number = number.parse().expect("a number");
        let Some((_, touched)) = calls.get_mut(&number) else {
            calls.insert(number, (rest.to_owned(), Touched::default()));
            continue;
        };
        let words: Vec<&str> = rest.split(' ').collect();
        let [start, len] = [words[1], words[2]].map(|word| word.parse::<u64>().expect("a number"));
        let bytes = match words[0] {
            "R" => &mut touched.read,
            _ => &mut touched.written,
        };
        bytes.extend(start..start + len);
    }
    (at, calls)
}

/// What was recorded while each call was made.
fn recorded_of(recorded: &Recorded, at: u64) -> BTreeMap<u64, Touched> {
    let mut now = 0;
    let mut calls: BTreeMap<u64, Touched> = BTreeMap::new();
    let modules = &recorded.tables.modules;
    let program = modules.iter().find(|module| module.path.ends_with("/library_accesses"));
    let program = program.map(|module| module.start..module.end).expect("a module");
    // Blocks that the library allocates on its way are its own.
    let own = |event: &&Event| event.thread.0 == 0 && program.contains(&event.pc);
    for event in recorded.events.iter().filter(own) {
        match event.op {
            Op::Write { mem, value } if mem.addr == at => now = value,
            Op::Read { mem, .. } => {
                let touched = calls.entry(now).or_default();
                touched.read.extend(mem.addr..mem.addr + u64::from(mem.size));
            }
            Op::Write { mem, .. } => {
                let touched = calls.entry(now).or_default();
                touched.written.extend(mem.addr..mem.addr + u64::from(mem.size));
            }
            _ => (),
        }
    }
    calls
}

/// Byte addresses as ranges.
fn ranges(bytes: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for &byte in bytes {
        match all.last_mut() {
            Some((start, len)) if *start + *len == byte => *len += 1,
            _ => all.push((byte, 1)),
        }
    }
    all
}

#[test]
fn calls_of_the_library_read_and_write_what_they_touch_and_nothing_else() {
    let program = Program::compile("library_accesses", "library_accesses", &["-fsanitize=thread", "-lm"]);
    let (output, recorded) = program.record("calls", &["--policy=fifo"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (at, calls) = expected(&String::from_utf8_lossy(&output.stdout));
    let mut found = recorded_of(&recorded, at);
    assert!(calls.len() > 120, "{}", calls.len());
    let mut wrong = String::new();
    for (number, (call, touches)) in calls {
        let here = found.remove(&number).unwrap_or_default();
        for (how, wanted, had) in [
            ("reads", &touches.read, &here.read),
            ("writes", &touches.written, &here.written),
        ] {
            let lacks: BTreeSet<u64> = wanted.difference(had).copied().collect();
            let more: BTreeSet<u64> = had.difference(wanted).copied().collect();
            if !lacks.is_empty() || !more.is_empty() {
                let (lacks, more) = (ranges(&lacks), ranges(&more));
                wrong += &format!("{call} {how}: not recorded {lacks:x?}, recorded {more:x?}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What nobody recorded would pin what both threads look at.
#[test]
fn memory_that_the_library_fills_pins_nothing() {
    let program = Program::compile("filled", "filled", &["-fsanitize=thread", "-lm"]);
    program.has_no_pins(4);
}
