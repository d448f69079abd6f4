//! From STD to verdicts: each pair of bytes is a line, and what comes out is mended.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fmt::Write;
use witness::import::Format;
use witness_fuzz::{analysis, foreign};

const OPERATIONS: [&str; 16] = [
    "r(x#)",
    "w(x#)",
    "r(x0)",
    "w(x0)",
    "acq(l#)",
    "rel(l#)",
    "acq(l0)",
    "rel(l0)",
    "fork(T#)",
    "join(T#)",
    "wait(c)",
    "notify(c)",
    "notifyAll(c)",
    "begin",
    "end",
    "branch",
];

fuzz_target!(|bytes: &[u8]| {
    let mut text = String::new();
    for (line, pair) in (1..).zip(bytes.chunks_exact(2)) {
        let operation = OPERATIONS[usize::from(pair[0] >> 4)].replace('#', &(pair[1] % 3).to_string());
        writeln!(text, "T{}|{operation}|{line}", pair[0] % 4).expect("a string can be written");
    }
    if let Some((file, trace)) = foreign::mended(text.as_bytes(), Format::Std) {
        analysis::all(&file, &trace, analysis::Effort::Whole);
    }
});
