//! Whole commands on native traces with right checksums and any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness_fuzz::commands;

fuzz_target!(|bytes: &[u8]| commands::all(bytes));
