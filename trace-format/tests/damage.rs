//! A file that was cut or damaged is never read as something else.
//!
//! Every cut and every flipped bit of small files is tried. What comes out is a named error, or a
//! trace that says that it is cut and holds an exact prefix of the events.

mod support;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use support::{Expected, Step, file, read, step};
use trace_format::{BlockFault, CutCause, Ending, ReadError, TraceFile, WriterOptions};

/// A few files with several blocks of each kind, the same ones in each run.
fn files() -> Vec<(Vec<u8>, Expected)> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut steps = || -> Vec<Step> {
        prop::collection::vec(step(), 60..61)
            .new_tree(&mut runner)
            .expect("steps can be made")
            .current()
    };
    let options = |block_bytes, zstd_level| WriterOptions {
        block_bytes,
        zstd_level,
    };
    vec![
        file(&steps(), &options(60, 0)),
        file(&steps(), &options(200, 3)),
        file(&steps(), &options(1 << 20, 3)),
        file(&[], &options(1 << 20, 3)),
    ]
}

fn footer_offset(bytes: &[u8]) -> usize {
    let trailer = bytes.len() - 28;
    u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().unwrap()) as usize
}

/// Reads a file; `Some` is the number of events of a trace that says it is cut.
fn read_damaged(bytes: Vec<u8>, expected: &Expected, what: &str) -> Result<Option<usize>, ReadError> {
    let trace = TraceFile::from_bytes("test", bytes)?;
    let found = read(&trace)?;
    assert_eq!(found.events.len() as u64, trace.len(), "{what}");
    match trace.ending() {
        Ending::Complete { .. } => {
            assert_eq!(&found, expected, "{what}");
            Ok(None)
        }
        Ending::Cut { events, .. } => {
            assert_eq!(*events, trace.len(), "{what}");
            assert!(expected.events.starts_with(&found.events), "{what}: not a prefix");
            Ok(Some(found.events.len()))
        }
    }
}

#[test]
fn a_cut_at_any_byte_is_called_a_cut() {
    for (bytes, expected) in files() {
        let footer = footer_offset(&bytes);
        let mut before = 0;
        for length in 0..bytes.len() {
            match read_damaged(bytes[..length].to_vec(), &expected, &format!("cut at {length}")) {
                Ok(Some(events)) => {
                    assert!(
                        length >= 20 && events >= before,
                        "cut at {length}: {events} after {before}"
                    );
                    before = events;
                    if length >= footer {
                        assert_eq!(events, expected.events.len(), "cut at {length}, in the footer");
                    }
                }
                Ok(None) => panic!("cut at {length}: read as complete"),
                Err(ReadError::NoHeader { .. }) if length < 20 => {}
                Err(error) => panic!("cut at {length}: {error}"),
            }
        }
        assert_eq!(read_damaged(bytes, &expected, "whole").unwrap(), None);
    }
}

#[test]
fn any_flipped_bit_of_a_complete_file_is_an_error() {
    for (bytes, expected) in files() {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = read_damaged(damaged, &expected, &format!("bit {bit}"));
            assert!(found.is_err(), "bit {bit} of byte {}: {found:?}", bit / 8);
        }
    }
}

#[test]
fn a_flipped_bit_of_an_unfinished_file_costs_the_last_block_or_is_an_error() {
    for (bytes, expected) in files() {
        let bytes = &bytes[..footer_offset(&bytes)];
        let whole = TraceFile::from_bytes("test", bytes.to_vec()).unwrap();
        let last = whole.blocks().last().map_or(0, |block| block.offset as usize);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match read_damaged(damaged, &expected, &format!("bit {bit}")) {
                Ok(Some(_)) => assert!(
                    bit / 8 >= last,
                    "bit {bit} stands before good blocks, and was taken for a cut"
                ),
                Ok(None) => panic!("bit {bit}: read as complete"),
                Err(_) => assert!(
                    bit / 8 < last || last == 0,
                    "bit {bit} is in the tail, and was an error"
                ),
            }
        }
    }
}

#[test]
fn damage_is_named_with_block_and_offset() {
    let (bytes, _) = files().swap_remove(0);
    let trace = TraceFile::from_bytes("test", bytes.clone()).unwrap();
    let block = trace.blocks()[1];
    let mut damaged = bytes.clone();
    damaged[block.offset as usize + 40] ^= 4;
    let trace = TraceFile::from_bytes("some.trace", damaged.clone()).unwrap();
    let error = trace.events().find_map(Result::err).unwrap();
    let text = format!(
        "some.trace: block {} at byte {} is damaged: its payload",
        block.number, block.offset
    );
    assert!(error.to_string().starts_with(&text), "{error}");
    assert_eq!(
        trace.events().filter(Result::is_err).count(),
        1,
        "an iterator ends after an error"
    );

    // Without its footer the same file is refused when it is opened.
    damaged.truncate(footer_offset(&bytes));
    let error = TraceFile::from_bytes("some.trace", damaged).unwrap_err();
    assert!(error.to_string().starts_with(&text), "{error}");
}

#[test]
fn a_tail_of_zeros_is_a_cut() {
    // What a file system may leave behind after a power failure.
    let (bytes, expected) = files().swap_remove(0);
    let mut damaged = bytes[..footer_offset(&bytes)].to_vec();
    damaged.extend([0; 5000]);
    let trace = TraceFile::from_bytes("test", damaged).unwrap();
    let cause = CutCause::DamagedTail {
        bytes: 5000,
        fault: BlockFault::NoFrame,
    };
    let offset = footer_offset(&bytes) as u64;
    assert_eq!(
        trace.ending(),
        &Ending::Cut {
            events: expected.events.len() as u64,
            offset,
            cause
        }
    );
    assert_eq!(read(&trace).unwrap().events, expected.events);
}

#[test]
fn bytes_behind_the_end_are_an_error() {
    let (mut bytes, _) = files().swap_remove(0);
    bytes.push(0);
    assert!(matches!(
        TraceFile::from_bytes("test", bytes),
        Err(ReadError::DamagedTrailer { .. })
    ));
}

#[test]
fn a_missing_block_is_an_error() {
    let (bytes, _) = files().swap_remove(0);
    let trace = TraceFile::from_bytes("test", bytes.clone()).unwrap();
    let block = trace.blocks()[1];
    let (start, end) = (block.offset as usize, (block.offset + block.stored_bytes) as usize);
    let without = [&bytes[..start], &bytes[end..]].concat();
    assert!(matches!(
        TraceFile::from_bytes("test", without.clone()),
        Err(ReadError::DamagedTrailer { .. })
    ));
    let unfinished = without[..footer_offset(&bytes) - (end - start)].to_vec();
    let error = TraceFile::from_bytes("test", unfinished).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::DamagedBlock {
                fault: BlockFault::NotInOrder { .. },
                ..
            }
        ),
        "{error}"
    );
}

/// Replaces the payload's bytes of a block and makes all checksums right again.
fn forge(bytes: &mut [u8], frame: usize, changes: &[(prop::sample::Index, u8)]) {
    let length = u32::from_le_bytes(bytes[frame + 8..frame + 12].try_into().unwrap()) as usize;
    let payload = &mut bytes[frame + 36..frame + 36 + length];
    for (index, new) in changes {
        payload[index.index(length)] = *new;
    }
    let checksum = crc32c::crc32c(payload);
    bytes[frame + 28..frame + 32].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[frame..frame + 32]);
    bytes[frame + 32..frame + 36].copy_from_slice(&checksum.to_le_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checksums keep accidents out, not malice: whatever stands behind a good checksum, the
    /// reader neither panics nor hands out an event that its tables do not cover.
    #[test]
    fn forged_blocks_do_no_harm(
        steps in prop::collection::vec(step(), 1..60),
        block in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        zstd_level in prop_oneof![Just(0), Just(3)],
    ) {
        let (bytes, _) = file(&steps, &WriterOptions { block_bytes: 300, zstd_level });
        let mut bytes = bytes[..footer_offset(&bytes)].to_vec();
        let mut frames = Vec::new();
        let mut at = 20;
        while at < bytes.len() {
            frames.push(at);
            at += 36 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        }
        forge(&mut bytes, frames[block.index(frames.len())], &changes);
        let Ok(trace) = TraceFile::from_bytes("test", bytes) else { return Ok(()) };
        let tables = trace.tables();
        for event in trace.events().map_while(Result::ok) {
            prop_assert!(event.thread.index() < tables.threads.len());
            prop_assert!(event.stack.index() <= tables.stacks.len());
            prop_assert!(tables.frames(event.stack).count() <= tables.stacks.len());
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut file, _) = file(&[], &WriterOptions::default());
        file.truncate(20);
        file.extend(bytes);
        let _ = TraceFile::from_bytes("test", file).map(|trace| trace.events().count());
    }
}
