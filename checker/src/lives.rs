//! Which frees and destructions end what a use is about.
//!
//! A use tells nothing of how the operation behind it turns out where the object is gone: so one that preceded the end
//! of its object in the trace is not enabled behind it (`docs/SEMANTICS.md`, *use*).

use crate::bytes::Bytes;
use crate::recording::Recording;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::{EventId, Op};

/// By use: the frees and destructions of its bytes that come later in the trace.
#[derive(Debug)]
pub(crate) struct Lives {
    ends: HashMap<EventId, Vec<EventId>>,
}

impl Lives {
    pub(crate) fn of(recording: &dyn Recording, bytes: &Bytes) -> Lives {
        // By byte that somebody uses: what ends it, from the last one on.
        let mut used: BTreeMap<usize, Vec<EventId>> = BTreeMap::new();
        let touched = |event| bytes.touched(event).map(|touched| touched.bytes);
        for &event in &bytes.uses {
            used.extend(touched(event).into_iter().flatten().map(|byte| (byte, Vec::new())));
        }
        let mut ends: HashMap<EventId, Vec<EventId>> = HashMap::new();
        if used.is_empty() {
            return Lives { ends };
        }
        let mut events: Vec<EventId> = bytes.uses.iter().chain(&bytes.ends).copied().collect();
        events.sort_unstable();
        for event in events.into_iter().rev() {
            match recording.op(event) {
                Op::Free { .. } | Op::Destroy { .. } => {
                    if let Some(bytes) = touched(event) {
                        used.range_mut(bytes).for_each(|(_, by)| by.push(event));
                    }
                }
                Op::Use { .. } => {
                    let bytes = touched(event).into_iter().flatten();
                    let mut by: Vec<EventId> = bytes.flat_map(|byte| used[&byte].iter().copied()).collect();
                    by.sort_unstable();
                    by.dedup();
                    if !by.is_empty() {
                        ends.insert(event, by);
                    }
                }
                _ => {}
            }
        }
        Lives { ends }
    }

    /// One of those that end what an event uses, and that has happened.
    pub(crate) fn ended(&self, event: EventId, happened: impl Fn(EventId) -> bool) -> Option<EventId> {
        let ends = self.ends.get(&event)?;
        ends.iter().copied().find(|&end| happened(end))
    }
}
