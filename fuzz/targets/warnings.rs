//! The readers of other tools' reports on arbitrary bytes: the first byte chooses the dialect, or leaves it to be
//! found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use witness::warnings::Format;
use witness_fuzz::warnings::read_as;

fuzz_target!(|bytes: &[u8]| {
    if let Some((&choice, report)) = bytes.split_first() {
        read_as(report, Format::ALL.get(usize::from(choice)).map(|&(format, _)| format));
    }
});
