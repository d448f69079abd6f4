//! What a killed recorder has left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness_fuzz::rings;

fuzz_target!(|bytes: &[u8]| rings::ring(bytes));
