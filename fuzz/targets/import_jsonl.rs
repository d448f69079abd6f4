//! The importer of JSON lines on arbitrary bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness_fuzz::foreign::json_lines;

fuzz_target!(|bytes: &[u8]| {
    json_lines(bytes);
});
