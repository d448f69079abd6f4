//! What gcc expands in place after it has instrumented the code, unless `witness cc` keeps it from that.

use crate::program::Program;
use std::collections::BTreeSet;
use std::ops::Range;
use trace_format::{Event, Op, TraceFile};

/// At every level, and with the checks that distributions ask for.
const BUILDS: [&[&str]; 5] = [
    &["-O0"],
    &["-O1"],
    &["-O2"],
    &["-O2", "-D_FORTIFY_SOURCE=2"],
    &["-O3", "-Wp,-D_FORTIFY_SOURCE=2"],
];

/// The events of a run, and the two addresses that the program has printed.
fn record(name: &str, number: usize, flags: &[&str]) -> (Vec<Event>, [u64; 2]) {
    let program = Program::by_witness_with(name, &format!("{name}{number}"), flags);
    let (mut record, trace) = program.recorder("run", &[], &[]);
    let output = record.output().expect("witness runs");
    assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).expect("an address");
    let addresses: Vec<u64> = printed.split_whitespace().map(address).collect();
    // gcc leaves out what it passes by value, so that not all that is read was written.
    let trace = TraceFile::open(&trace).expect("a trace");
    let events = trace.events().map(|event| event.expect("an event")).collect();
    (events, addresses.try_into().expect("two addresses"))
}

/// The bytes of some memory that are written, counted from its first.
fn written(events: &[Event], memory: Range<u64>) -> BTreeSet<u64> {
    let writes = events.iter().filter_map(|event| match event.op {
        Op::Write { mem, .. } => Some(mem.addr..mem.addr + u64::from(mem.size)),
        _ => None,
    });
    let bytes = writes.flatten().filter(|byte| memory.contains(byte));
    bytes.map(|byte| byte - memory.start).collect()
}

fn first(bytes: u64) -> BTreeSet<u64> {
    (0..bytes).collect()
}

#[test]
fn copies_and_comparisons_are_recorded() {
    for (number, flags) in BUILDS.into_iter().enumerate() {
        let (events, [to, from]) = record("expanded", number, flags);
        let lengths = [24, 24, 40, 24, 40, 9, 8, 8, 8, 8, 8, 8, 24, 8, 24, 8];
        for (row, length) in (0..).zip(lengths) {
            let row = to + 64 * row..to + 64 * (row + 1);
            let place = row.start - to;
            assert_eq!(written(&events, row), first(length), "{flags:?}: at {place}");
        }
        let comparing = events.iter().filter(|event| event.thread.0 == 2);
        let looks = comparing.filter(|event| matches!(event.op, Op::Read { mem, .. } if mem.addr == from));
        assert_eq!(looks.count(), 4, "{flags:?}");
    }
}

#[test]
fn what_the_standard_library_of_cpp_copies_is_recorded() {
    for (number, flags) in BUILDS.into_iter().enumerate() {
        for standard in ["-std=c++11", "-std=c++17", "-std=c++20"] {
            let flags = [flags, &[standard]].concat();
            let (events, [to, text]) = record("expanded_standard", number, &flags);
            assert_eq!(written(&events, to..to + 160), first(160), "{flags:?}");
            assert_eq!(written(&events, text..text + 32), first(19), "{flags:?}");
            assert_eq!(written(&events, text + 32..text + 64), first(24), "{flags:?}");
        }
    }
}
