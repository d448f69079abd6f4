//! What is written is what is read, from any event on, whatever the size of the blocks.

mod support;

use proptest::prelude::*;
use support::{file, read, step};
use trace_format::{Ending, ProgramEnd, TraceFile, TraceWriter, WriterOptions};

fn options() -> impl Strategy<Value = WriterOptions> {
    let block_bytes = prop_oneof![
        Just(0),
        Just(1),
        1..64usize,
        64..4096usize,
        Just(256 * 1024),
        Just(usize::MAX)
    ];
    let zstd_level = prop_oneof![Just(0), Just(1), Just(3)];
    (block_bytes, zstd_level).prop_map(|(block_bytes, zstd_level)| WriterOptions {
        block_bytes,
        zstd_level,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_event_comes_back(steps in prop::collection::vec(step(), 0..300), options in options()) {
        let (bytes, expected) = file(&steps, &options);
        let trace = TraceFile::from_bytes("test", bytes).unwrap();
        prop_assert_eq!(trace.ending(), &Ending::Complete { program: ProgramEnd::Exited(3) });
        prop_assert_eq!(trace.len(), expected.events.len() as u64);
        prop_assert_eq!(trace.is_empty(), expected.events.is_empty());
        prop_assert_eq!(&read(&trace).unwrap(), &expected);
        prop_assert_eq!(trace.tables().meta.seed, 7);
        prop_assert_eq!(trace.tables().modules.len(), 1);
        prop_assert_eq!(trace.tables().sources.len(), 1);
    }

    #[test]
    fn reading_may_start_at_any_event(steps in prop::collection::vec(step(), 0..120), options in options()) {
        let (bytes, expected) = file(&steps, &options);
        let trace = TraceFile::from_bytes("test", bytes).unwrap();
        let all: Vec<_> = expected.events.iter().map(|(event, _)| *event).collect();
        for number in 0..all.len() + 2 {
            let from: Vec<_> = trace.events_from(number as u64).map(Result::unwrap).collect();
            prop_assert_eq!(&from[..], &all[number.min(all.len())..]);
        }
        prop_assert_eq!(trace.events_from(u64::MAX).count(), 0);
    }

    #[test]
    fn blocks_decode_alone_and_in_any_order(steps in prop::collection::vec(step(), 0..120), options in options()) {
        let (bytes, expected) = file(&steps, &options);
        let trace = TraceFile::from_bytes("test", bytes).unwrap();
        let mut next = expected.events.len() as u64;
        let mut out = Vec::new();
        for (index, block) in trace.blocks().iter().enumerate().rev() {
            trace.decode_block(index, &mut out).unwrap();
            prop_assert_eq!(block.first_event + u64::from(block.events), next);
            prop_assert_eq!(out.len() as u32, block.events);
            next = block.first_event;
            let from = next as usize;
            prop_assert!(out.iter().eq(expected.events[from..from + out.len()].iter().map(|(event, _)| event)));
        }
        prop_assert_eq!(next, 0);
        prop_assert!(trace.decode_block(trace.blocks().len(), &mut out).is_err());
        prop_assert!(out.is_empty());
    }

    #[test]
    fn what_was_flushed_can_be_read_before_the_end(steps in prop::collection::vec(step(), 0..60)) {
        let mut writer = TraceWriter::to_sink("test", FlushedBytes::default(), &WriterOptions::default()).unwrap();
        let expected = support::write(&mut writer, &steps);
        writer.flush().unwrap();
        let (_, sink) = writer.finish_sink(ProgramEnd::Unknown).unwrap();
        let trace = TraceFile::from_bytes("test", sink.at_last_flush.clone()).unwrap();
        let cut = matches!(trace.ending(), Ending::Cut { events, .. } if *events == expected.events.len() as u64);
        prop_assert!(cut, "{:?}", trace.ending());
        prop_assert_eq!(&read(&trace).unwrap(), &expected);
        let complete = TraceFile::from_bytes("test", sink.bytes).unwrap();
        prop_assert_eq!(complete.id(), trace.id());
    }
}

/// A destination that remembers what it held at the last flush but one: finishing is the last.
#[derive(Default)]
struct FlushedBytes {
    bytes: Vec<u8>,
    flushed: Vec<u8>,
    at_last_flush: Vec<u8>,
}

impl std::io::Write for FlushedBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.at_last_flush = std::mem::replace(&mut self.flushed, self.bytes.clone());
        Ok(())
    }
}
