//! Pinned accesses in a window that is to be found a prefix in: each keeps its place among the events of other threads
//! (docs/SEMANTICS.md, *External bytes*), which is so many edges. What must happen before what has some of them: those to
//! what comes behind such an access.

use super::Native;
use super::search::Search;
use super::state::{Clocks, Contradiction, State};
use crate::trace::{EventId, Pin, ThreadId, Trace};
use columns::Column;

/// Edges that the places of a trace's pinned accesses may take at most, for each of its threads; with more of them, the
/// solver leaves windows that have some to Z3.
const MAX_EDGES: usize = 1 << 16;

/// The pinned accesses of a trace.
pub(super) struct Pinned {
    /// Per thread, their places.
    places: Vec<Column>,
}

impl Pinned {
    /// `None` if there are none, or too many.
    pub(super) fn of(trace: &Trace) -> Option<Pinned> {
        if !trace.has_pins() {
            return None;
        }
        let mut places = vec![Column::default(); trace.threads()];
        let (mut around, mut last) = (0, None);
        for event in trace.pinned() {
            places[trace.thread(event).index()].push(trace.place(event));
            // What follow one another mostly have the same place.
            let pin = trace.pin(event);
            around += usize::from(pin != last) * trace.threads();
            last = pin;
        }
        places.iter_mut().for_each(Column::end);
        (around <= MAX_EDGES).then_some(Pinned { places })
    }

    /// Those among some places of a thread.
    fn among(&self, trace: &Trace, thread: ThreadId, from: u32, until: u32) -> impl Iterator<Item = (EventId, Pin)> {
        let places = &self.places[thread.index()];
        let first = places.all().partition_point(|place| place < from);
        let places = (first..).map_while(move |at| places.get(at).filter(|&place| place < until));
        places.filter_map(move |place| {
            let event = trace.program_order(thread).at(place as usize);
            Some((event, trace.pin(event)?))
        })
    }

    /// The events at the ends of their places: those of other threads that come last before one, and first behind it.
    pub(super) fn ends(&self, trace: &Trace) -> Vec<EventId> {
        let mut ends = Vec::new();
        let mut last = None;
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            for (event, pin) in self.among(trace, thread, 0, u32::MAX) {
                if last.replace((thread, pin)) != Some((thread, pin)) {
                    let between = trace.pinned_between(event);
                    ends.extend(between.flat_map(|(before, behind)| before.into_iter().chain(behind)));
                }
            }
        }
        ends
    }
}

impl Search<'_, '_> {
    /// The pinned accesses, if the search keeps them in their places.
    fn kept_places(&self) -> Option<&Pinned> {
        self.native.pinned().filter(|_| self.based)
    }

    /// Brings the events into the cut that come before the pinned accesses among some places of a thread.
    pub(super) fn raise_to_pins(&self, cut: &mut [u32], thread: ThreadId, places: (u32, u32)) {
        let trace = self.native.trace;
        let pinned = self.kept_places().into_iter();
        let pins = pinned.flat_map(|pinned| pinned.among(trace, thread, places.0, places.1));
        if let Some(from) = pins.map(|(_, pin)| pin.from).max() {
            for (other, cut) in (0..).map(ThreadId).zip(cut) {
                *cut = (*cut).max(trace.events_before(other, from));
            }
        }
    }

    /// Adds the edges that keep the pinned accesses of the cut in their places; says whether one tells anything new.
    pub(super) fn pins(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let Native { trace, .. } = *self.native;
        let Some(pinned) = self.kept_places() else {
            return Ok(false);
        };
        let mut new = false;
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            let places = (clocks.first[thread.index()], state.cut[thread.index()]);
            for (event, _) in pinned.among(trace, thread, places.0, places.1) {
                for (before, behind) in trace.pinned_between(event) {
                    self.spend(1);
                    if let Some(before) = before.filter(|&before| before >= self.from) {
                        new |= self.edge(state, clocks, before, event)?;
                    }
                    if let Some(behind) = behind.filter(|&behind| self.inside(state, behind)) {
                        new |= self.edge(state, clocks, event, behind)?;
                    }
                }
            }
        }
        Ok(new)
    }
}
