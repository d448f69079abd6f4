//! What a recorder that was killed has left: a trace without an end, and the ring beside it, in which anything may be.

use recorder_ring::{Ring, Settings};
use safe_files::ScratchFolder;
use std::fs;
use trace_format::{Meta, TraceFile, TraceWriter, WriterOptions};
use witness::record::salvage;

/// Words of rows, and bytes of events: the smallest ring.
const ROWS: u64 = 512;
const EVENTS: u64 = 4096;

/// Salvages a ring whose header and content the input changes; what is left is a readable trace in proportion to it.
pub fn ring(input: &[u8]) {
    let folder = ScratchFolder::new("witness-fuzz-ring").expect("a folder");
    let partial = folder.path().join("t.bin.partial");
    let file = folder.path().join("t.bin.ring");
    let mut ring = Ring::create_at(&file, ROWS, EVENTS, Settings::fifo()).expect("a ring");
    ring.leave();
    drop(ring);
    let mut bytes = fs::read(&file).expect("its file");
    let content = bytes.len() - (ROWS * 8 + EVENTS) as usize;
    let (patches, rest) = input.split_at(input.len() / 2);
    for patch in patches.chunks_exact(10) {
        // Not the magic number and the lengths: a file without them is no ring.
        let at = 24 + usize::from(u16::from_le_bytes([patch[0], patch[1]])) % (content - 32);
        bytes[at..at + 8].copy_from_slice(&patch[2..10]);
    }
    let len = rest.len().min(bytes.len() - content);
    bytes[content..content + len].copy_from_slice(&rest[..len]);
    fs::write(&file, bytes).expect("a file");
    let with_trace = input.first().is_some_and(|first| first % 4 != 0);
    if with_trace {
        let mut writer = TraceWriter::create(&folder.path().join("t.bin"), &WriterOptions::default()).expect("a trace");
        writer.set_meta(Meta::default());
        writer.flush().expect("a trace");
    }
    if salvage(&partial).is_ok() && partial.exists() {
        let length = fs::metadata(&partial).expect("the trace").len();
        assert!(length < 1 << 20, "{length} bytes of a ring with {}", ROWS * 8 + EVENTS);
        // Nothing that it writes is unreadable, though it may be damaged data.
        let _ = TraceFile::open(&partial);
    }
}
