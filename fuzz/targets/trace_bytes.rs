//! The reader of our own format on arbitrary bytes, as they are and cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::TraceFile;
use witness_fuzz::native::walk;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = TraceFile::from_bytes("fuzz", bytes.to_vec()) {
        walk(&file);
    }
});
