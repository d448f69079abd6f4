//! What lies beside a trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness_fuzz::store;

fuzz_target!(|bytes: &[u8]| store::files(bytes));
