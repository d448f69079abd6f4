//! The outside world: inputs of one source keep the order that they had in π.
//!
//! Where the program feeds a source itself (a pipe), an input comes after the output that it got.
//! The trace does not say which output that is, so the checker asks for all outputs to the source
//! that preceded the input in π.

use super::disabled::Disabled;
use super::facts::Facts;
use super::state::Progress;
use crate::trace::{EventId, ObjectId};
use hashbrown::HashMap;

/// How many inputs of each source have happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    taken: HashMap<ObjectId, usize>,
}

impl Outside {
    pub(super) fn input(
        &mut self,
        facts: &Facts,
        progress: &Progress<'_>,
        source_id: ObjectId,
        event: EventId,
    ) -> Result<(), Disabled> {
        let taken = self.taken.entry(source_id).or_default();
        let next = facts.inputs(source_id).get(*taken).copied();
        if next != Some(event) {
            return Err(Disabled::InputOrder { source_id, next });
        }
        if let Some(output) = facts.outputs_before(event).find(|&output| !progress.executed(output)) {
            return Err(Disabled::OutputMissing { source_id, output });
        }
        *taken += 1;
        Ok(())
    }
}
