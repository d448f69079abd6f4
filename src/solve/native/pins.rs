//! Pinned accesses in a window that is to be found a prefix in: each keeps its place among the events of other threads
//! (docs/SEMANTICS.md, *External bytes*), which is so many edges. What is refuted may not rest on them.

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
            for (_, pin) in self.among(trace, thread, 0, u32::MAX) {
                if last.replace(pin) != Some(pin) {
                    let others = (0..trace.threads() as u32).map(ThreadId);
                    ends.extend(others.flat_map(|other| {
                        let (before, behind) = around(trace, other, pin);
                        before.into_iter().chain(behind)
                    }));
                }
            }
        }
        ends
    }
}

/// The last event of a thread that has to come before a pinned access, and the first that has to come behind it.
fn around(trace: &Trace, thread: ThreadId, pin: Pin) -> (Option<EventId>, Option<EventId>) {
    let order = trace.program_order(thread);
    let before = trace.events_before(thread, pin.from).checked_sub(1);
    let behind = trace.events_before(thread, EventId(pin.until.0 + 1));
    (
        before.map(|place| order.at(place as usize)),
        order.get(behind as usize),
    )
}

impl Search<'_, '_> {
    /// The pinned accesses, if the search keeps them in their places.
    fn kept_places(&self) -> Option<&Pinned> {
        self.native.pinned().filter(|_| self.pinned)
    }

    /// Whether the search goes on where the order has pinned accesses: it keeps them in their places, or who asked knows
    /// that it does not.
    pub(super) fn leaves_pins(&self) -> bool {
        self.native.pinned().is_some()
    }

    /// Brings the events into the cut that come before the pinned accesses among some places of a thread; says whether
    /// there were any.
    pub(super) fn raise_to_pins(&self, cut: &mut [u32], thread: ThreadId, places: (u32, u32)) -> bool {
        let trace = self.native.trace;
        let pinned = self.kept_places().into_iter();
        let pins = pinned.flat_map(|pinned| pinned.among(trace, thread, places.0, places.1));
        pins.map(|(_, pin)| pin.from)
            .max()
            .is_some_and(|from| self.raise_before(cut, from))
    }

    /// The same for those that are to be next.
    pub(super) fn raise_to_pending_pins(&self, cut: &mut [u32]) {
        for (_, pin) in self.pending_pins() {
            self.raise_before(cut, pin.from);
        }
    }

    /// Whether the cut has come to what has to come behind an access that is to be next.
    pub(super) fn passes_pending_pins(&self, cut: &[u32]) -> bool {
        let trace = self.native.trace;
        self.pending_pins().any(|(pending, pin)| {
            let others = (0..).map(ThreadId).zip(cut).filter(|&(thread, _)| thread != trace.thread(pending));
            let mut passed = others.map(|(thread, &until)| until > trace.events_before(thread, EventId(pin.until.0 + 1)));
            passed.any(|passed| passed)
        })
    }

    /// Whether an access that is to be next is pinned, and nothing is known of that here: the search that keeps places
    /// knows it.
    pub(super) fn leaves_pending_pins(&self) -> bool {
        let mut pending = self.ending.pending.iter();
        !self.pinned && self.native.pinned().is_some() && pending.any(|&event| self.native.trace.pin(event).is_some())
    }

    fn pending_pins(&self) -> impl Iterator<Item = (EventId, Pin)> {
        let pending = self.ending.pending.iter().filter(|_| self.pinned);
        pending.filter_map(|&event| Some((event, self.native.trace.pin(event)?)))
    }

    fn raise_before(&self, cut: &mut [u32], from: EventId) -> bool {
        let mut raised = false;
        for (thread, cut) in (0..).map(ThreadId).zip(cut) {
            let before = self.native.trace.events_before(thread, from);
            raised |= before > *cut;
            *cut = before.max(*cut);
        }
        raised
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
            for (event, pin) in pinned.among(trace, thread, places.0, places.1) {
                for other in (0..trace.threads() as u32).map(ThreadId).filter(|&other| other != thread) {
                    self.spend(1);
                    let (before, behind) = around(trace, other, pin);
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
