//! The reader of our own format behind its checksums: arbitrary blocks in good frames, then cut.
//!
//! Frames, footer and trailer are made here from `trace-format/FORMAT.md`, not by the writer: a
//! fuzzer cannot guess checksums, and the writer would refuse what is to be tried.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trace_format::{Ending, TraceFile};
use witness_fuzz::native::walk;

#[derive(Arbitrary, Debug)]
struct File {
    blocks: Vec<Block>,
    footer: bool,
    /// How many bytes are missing at the end.
    cut: u16,
}

#[derive(Arbitrary, Debug)]
struct Block {
    content: Content,
    compressed: bool,
    /// Added to what the frame says of its first event, number of events and length.
    wrong: Option<(u8, u8, u8)>,
}

#[derive(Arbitrary, Debug)]
enum Content {
    /// So many threads, objects and stacks.
    Rows {
        threads: u8,
        objects: Vec<u8>,
        stacks: Vec<u8>,
    },
    Tables(Vec<u8>),
    /// The number of events that the frame claims, and their payload.
    Events(u8, Vec<u8>),
}

/// The table block of `threads` threads, objects of these kinds and stacks on these.
fn rows(threads: u8, objects: &[u8], stacks: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    let count = |out: &mut Vec<u8>, count: usize| out.extend((count as u64).to_le_bytes());
    count(&mut out, threads.into());
    for id in 0..u32::from(threads) {
        out.extend(id.to_le_bytes());
        out.extend([0, 0, 0, 0, 0, 0]);
    }
    count(&mut out, 0);
    count(&mut out, objects.len());
    for &kind in objects {
        out.extend(u32::from(kind % 9).to_le_bytes());
        out.extend([0; 13]);
    }
    count(&mut out, stacks.len());
    for &parent in stacks {
        out.extend(u32::from(parent).to_le_bytes());
        out.extend(7u64.to_le_bytes());
    }
    // No sources, images and variables.
    (0..3).for_each(|_| count(&mut out, 0));
    out
}

/// The frame of a block, without its mark.
fn frame(kind: u16, compressed: bool, stored: &[u8], raw: u32, first: u64, events: u32) -> Vec<u8> {
    let mut out = b"WBLK".to_vec();
    out.extend(kind.to_le_bytes());
    out.extend(u16::from(compressed).to_le_bytes());
    out.extend((stored.len() as u32).to_le_bytes());
    out.extend(raw.to_le_bytes());
    out.extend(first.to_le_bytes());
    out.extend(events.to_le_bytes());
    out.extend(crc32c::crc32c(stored).to_le_bytes());
    let sum = crc32c::crc32c(&out);
    out.extend(sum.to_le_bytes());
    out
}

fn header() -> Vec<u8> {
    let mut out = b"\x89WITNESS".to_vec();
    // Version 3, no flags, zstd.
    out.extend([3, 0, 0, 0, 1, 0, 0, 0]);
    let sum = crc32c::crc32c(&out);
    out.extend(sum.to_le_bytes());
    out
}

fn sealed(file: &File) -> Vec<u8> {
    let mut out = header();
    let mut index = Vec::new();
    let mut first = 0u64;
    for block in &file.blocks {
        let (kind, events, raw) = match &block.content {
            Content::Rows {
                threads,
                objects,
                stacks,
            } => (1, 0, rows(*threads, objects, stacks)),
            Content::Tables(raw) => (1, 0, raw.clone()),
            Content::Events(events, raw) => (2, u32::from(*events), raw.clone()),
        };
        let stored = if block.compressed {
            zstd::bulk::compress(&raw, 1).expect("memory can be compressed")
        } else {
            raw.clone()
        };
        let wrong = block.wrong.unwrap_or_default();
        let (more, length) = (events + u32::from(wrong.1), raw.len() as u32 + u32::from(wrong.2));
        let frame = frame(
            kind,
            block.compressed,
            &stored,
            length,
            first + u64::from(wrong.0),
            more,
        );
        index.extend((out.len() as u64).to_le_bytes());
        index.extend(&frame[4..]);
        out.extend(frame);
        out.extend(stored);
        first += u64::from(more);
    }
    if file.footer {
        let at = out.len() as u64;
        let mut payload = vec![0; 8];
        payload.extend(index);
        out.extend(frame(3, false, &payload, payload.len() as u32, first, 0));
        out.extend(payload);
        let start = out.len();
        out.extend(at.to_le_bytes());
        out.extend((start as u64 + 28).to_le_bytes());
        let sum = crc32c::crc32c(&out[start..]);
        out.extend(sum.to_le_bytes());
        out.extend(b"WITN.END");
    }
    out
}

fuzz_target!(|file: File| {
    let bytes = sealed(&file);
    let whole = TraceFile::from_bytes("fuzz", bytes.clone());
    if let Ok(whole) = &whole {
        assert_eq!(file.footer, matches!(whole.ending(), Ending::Complete { .. }));
        walk(whole);
    }
    let cut = usize::from(file.cut);
    if cut == 0 || cut >= bytes.len() {
        return;
    }
    let Ok(part) = TraceFile::from_bytes("fuzz", bytes[..bytes.len() - cut].to_vec()) else {
        return;
    };
    walk(&part);
    assert!(
        matches!(part.ending(), Ending::Cut { .. }),
        "a cut file is not complete"
    );
    if let Ok(whole) = &whole {
        let events = |file: &TraceFile| file.events().map_while(Result::ok).collect::<Vec<_>>();
        assert!(
            events(whole).starts_with(&events(&part)),
            "a cut file holds a beginning"
        );
    }
});
