//! The events of a file, block by block: who puts them into a model takes longer than one who decodes them, so others
//! decode the next blocks meanwhile.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use trace_format::{BlockDigest, Event, ReadError, TraceFile};

/// Threads that decode, at most: more would wait.
const DECODERS: usize = 2;

/// Events that are handed over at once. A block may have millions.
const BATCH: usize = 1 << 13;

/// Batches that each of them may be ahead.
const AHEAD: usize = 4;

/// Shows the events of the first so many blocks, in order, and returns what tells each block from others.
///
/// # Errors
/// That of the first damaged block; the events before it have been shown.
pub(super) fn each(
    file: &TraceFile,
    blocks: usize,
    show: &mut dyn FnMut(&Event),
) -> Result<Vec<BlockDigest>, ReadError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let decoders = DECODERS.min(processors - 1).min(blocks / 2);
    if decoders == 0 {
        return (0..blocks)
            .map(|block| file.visit_digested(block, &mut *show))
            .collect();
    }
    std::thread::scope(|scope| {
        let ahead: Vec<_> = (0..decoders)
            .map(|first| {
                let (decoded, next) = sync_channel(AHEAD);
                let (done, empty) = channel();
                scope.spawn(move || {
                    let decoded = Decoded {
                        batches: decoded,
                        empty,
                    };
                    (first..blocks)
                        .step_by(decoders)
                        .try_for_each(|block| decoded.decode(file, block))
                });
                (next, done)
            })
            .collect();
        let mut digests = Vec::with_capacity(blocks);
        while digests.len() < blocks {
            let (next, done) = &ahead[digests.len() % decoders];
            match next
                .recv()
                .expect("a decoder ends with its last block, or with an error")
            {
                Step::Events(events) => {
                    events.iter().for_each(&mut *show);
                    // Who has no more to decode does not need it.
                    let _ = done.send(events);
                }
                Step::End(digest) => digests.push(digest?),
            }
        }
        Ok(digests)
    })
}

/// What a decoder hands over.
enum Step {
    /// Further events of a block.
    Events(Vec<Event>),
    /// The end of the block.
    End(Result<BlockDigest, ReadError>),
}

/// Where a decoder puts what it has decoded.
struct Decoded {
    batches: SyncSender<Step>,
    /// Batches that were shown.
    empty: Receiver<Vec<Event>>,
}

impl Decoded {
    /// Decodes a block; `None` if it is the last one, since it is damaged, or nobody wants any more.
    fn decode(&self, file: &TraceFile, block: usize) -> Option<()> {
        let (mut batch, mut wanted) = (Vec::new(), true);
        let result = file.visit_digested(block, |event| {
            batch.push(*event);
            if batch.len() == BATCH && wanted {
                wanted = self.send(&mut batch);
            }
            if !wanted {
                batch.clear();
            }
        });
        let wanted = wanted && (batch.is_empty() || self.send(&mut batch));
        let is_damaged = result.is_err();
        let sent = wanted && self.batches.send(Step::End(result)).is_ok();
        (sent && !is_damaged).then_some(())
    }

    fn send(&self, batch: &mut Vec<Event>) -> bool {
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.clear();
        self.batches.send(Step::Events(std::mem::replace(batch, next))).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{MemRange, Op, ProgramEnd, ThreadInfo, TraceWriter, WriterOptions};

    /// A trace of small blocks, and of one that takes several batches.
    fn blocks() -> Vec<u8> {
        let options = WriterOptions {
            block_bytes: 512,
            ..WriterOptions::default()
        };
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &options).expect("memory is writable");
        let thread = writer.define_thread(ThreadInfo::default());
        for number in 0..150_000_u64 {
            // All but the first are predicted.
            let (addr, value) = match number {
                0..3000 => (
                    0x1000 + number * number % 977 * 8,
                    number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
                ),
                _ => (0x10_0000 + number * 8, 7),
            };
            let mem = MemRange { addr, size: 8 };
            writer
                .event(thread, 5, Op::Write { mem, value })
                .expect("memory is writable");
        }
        let ended = writer.finish_sink(ProgramEnd::Exited(0));
        ended.expect("memory is writable").1
    }

    fn opened(bytes: &[u8]) -> TraceFile {
        TraceFile::from_bytes("memory", bytes.to_vec()).expect("a trace")
    }

    #[test]
    fn all_events_are_shown_in_order() {
        let file = opened(&blocks());
        let all = file.blocks().len();
        let longest = file.blocks().iter().map(|block| block.events as usize).max();
        assert!(all > 20 && longest > Some(2 * BATCH), "{all} {longest:?}");
        for wanted in [0, 1, 2, 3, all] {
            let mut events = Vec::new();
            let digests = each(&file, wanted, &mut |event| events.push(*event)).expect("nothing is damaged");
            let expected: Result<Vec<_>, _> = (0..wanted).map(|block| file.digest(block)).collect();
            assert_eq!(digests, expected.expect("nothing is damaged"));
            let expected: u64 = file.blocks()[..wanted]
                .iter()
                .map(|block| u64::from(block.events))
                .sum();
            assert_eq!(events.len() as u64, expected);
            let expected: Result<Vec<Event>, _> = file.events().take(events.len()).collect();
            assert_eq!(events, expected.expect("nothing is damaged"));
        }
    }

    #[test]
    fn the_first_damaged_block_ends_it() {
        let mut bytes = blocks();
        let places: Vec<u64> = opened(&bytes).blocks().iter().map(|block| block.offset).collect();
        let before = opened(&bytes).blocks()[9].first_event;
        for block in [9, 14] {
            bytes[places[block] as usize + 40] ^= 0xff;
        }
        let file = opened(&bytes);
        let mut shown = 0;
        let error = each(&file, file.blocks().len(), &mut |_| shown += 1).expect_err("a block is damaged");
        assert!(shown >= before && shown < before + 100, "{shown}");
        assert!(error.to_string().contains(&places[9].to_string()), "{error}");
    }
}
