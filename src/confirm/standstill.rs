//! Deadlocks in which a recorded run itself ended: no schedule has to be looked for.

use super::matching::{Spot, Spots};
use super::{About, Confirmation, Finding, Question, Sought};
use crate::standstill::Standstill;
use crate::symbols::Symbols;
use crate::trace::{AccessKind, Trace};
use hashbrown::HashSet;
use trace_format::{PendingKind, ReadError, TraceFile};

impl Confirmation {
    /// Answers questions about deadlocks by the waits in which the run ended for ever.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn add_standstill(
        &mut self,
        (file, trace): (&TraceFile, &Trace),
        symbols: &Symbols<'_>,
        questions: &[Question],
    ) -> Result<(), ReadError> {
        let pending = &file.tables().meta.pending;
        if pending.is_empty() || questions.iter().all(|question| question.about != About::Deadlock) {
            return Ok(());
        }
        let standstill = Standstill::of(file)?;
        let for_ever = |thread: u32| {
            standstill
                .waits
                .iter()
                .find(|wait| wait.thread == thread && wait.for_ever)
        };
        let waits = pending.iter().filter(|pending| pending.kind == PendingKind::Acquire);
        let waits: Vec<(Spot, String)> = waits
            .filter_map(|pending| {
                let spot = Spot {
                    pc: pending.pc,
                    stack: pending.stack,
                    kind: AccessKind::Use,
                };
                Some((spot, for_ever(pending.thread.0)?.to_string()))
            })
            .collect();
        let spots = Spots::of_waits(trace, symbols, waits.iter().map(|(spot, _)| *spot));
        for (answer, question) in self.answers.iter_mut().zip(questions) {
            if question.about != About::Deadlock || answer.is_witnessed(&self.analysis) {
                continue;
            }
            let here = question.sides.iter().map(|sought| match sought {
                Sought::Described(side) => spots.find(side),
                Sought::Event(_) => Vec::new(),
            });
            let here: Vec<HashSet<Spot>> = here
                .map(|choices| choices.iter().flat_map(|choice| choice.spots.iter().copied()).collect())
                .collect();
            if here.iter().any(HashSet::is_empty) || here.is_empty() {
                continue;
            }
            // Each side by a thread of its own: as many waits as sides, or more.
            let meant = waits
                .iter()
                .filter(|(spot, _)| here.iter().any(|side| side.contains(spot)));
            let said: Vec<String> = meant.map(|(_, said)| said.clone()).collect();
            if said.len() >= here.len() {
                answer.finding = Finding::Ended(said);
                answer.places.fill(None);
            }
        }
        Ok(())
    }
}
