//! The outside world: inputs of one source keep the order that they had in π.
//!
//! Where the program feeds a source itself (a pipe), an input comes after the output that it got.
//! The trace does not say which output that is, so the checker asks for all outputs to the source
//! that preceded the input in π.

use crate::before::Facts;
use crate::disabled::Disabled;
use crate::state::Progress;
use hashbrown::HashMap;
use trace_format::{EventId, ObjectId};

/// How many inputs of each source have happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    taken: HashMap<ObjectId, usize>,
}

impl Outside {
    pub(crate) fn input(
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
        if let Some(&output) = facts
            .outputs_before(event)
            .iter()
            .find(|&&output| !progress.executed(output))
        {
            return Err(Disabled::OutputMissing { source_id, output });
        }
        *taken += 1;
        Ok(())
    }
}
