//! What must hold of every trace file that opens.

use trace_format::{Ending, TraceFile};

/// Goes through all of a trace file; the number of events that could be read.
///
/// An error in a block is a fine answer; a panic, a loop, or events that are counted otherwise than
/// they are read are not.
pub fn walk(file: &TraceFile) -> Option<u64> {
    let mut block = Vec::new();
    let mut events = 0;
    for index in 0..file.blocks().len() {
        let info = file.blocks()[index];
        assert_eq!(info.first_event, events, "blocks follow each other");
        if file.decode_block(index, &mut block).is_err() {
            assert!(block.is_empty(), "a damaged block gives no events");
            assert!(file.events().any(|event| event.is_err()), "both ways see the damage");
            return None;
        }
        assert_eq!(block.len(), info.events as usize, "a block holds what it says");
        for event in &block {
            let tables = file.tables();
            assert!(event.thread.index() < tables.threads.len(), "a thread has a row");
            assert!(tables.frames(event.stack).count() <= tables.stacks.len(), "stacks end");
        }
        events += block.len() as u64;
    }
    assert_eq!(events, file.len());
    if let Ending::Cut { events: kept, .. } = file.ending() {
        assert_eq!(*kept, events, "a cut says how much is left");
    }
    let middle = events / 2;
    assert_eq!(file.events_from(middle).count() as u64, events - middle);
    Some(events)
}
