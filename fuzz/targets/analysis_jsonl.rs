//! From JSON lines to verdicts: every kind of event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness_fuzz::{analysis, foreign};

fuzz_target!(|bytes: &[u8]| {
    if let Some((file, trace)) = foreign::json_lines(bytes) {
        analysis::all(&file, &trace, analysis::Effort::Whole);
    }
});
