//! The importer of STD on arbitrary bytes, with and without repairs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness::import::Format;
use witness_fuzz::foreign::mended;

fuzz_target!(|bytes: &[u8]| {
    mended(bytes, Format::Std);
});
