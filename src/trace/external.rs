//! Memory that changes without an event, and the accesses that are pinned for it.
//!
//! Code that was not instrumented, and the kernel, leave no events. Their effects lie somewhere
//! between two events of some thread, and nothing says which thread. What π does show is between
//! which two accesses of the cell each of them fell. If the accesses of the cell keep their places
//! among *all* events around them, so do the effects: none of them can come before what preceded
//! it in π, nor after what followed. Keeping the recorded writers alone is not enough: in
//! `data = 5; strcpy(flag, "go")`, a read of the flag would only have to follow earlier writes of
//! the flag, and could come before the store to `data`.

use super::images::Images;
use super::own_frames::OwnFrames;
use super::pins::{Pin, Pins};
use super::{AccessKind, CellId, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// What is known of a cell while π is walked.
#[derive(Clone, Copy)]
struct Walked {
    content: Content,
    last: EventId,
    /// The one thread that accesses it; `None` once there were two.
    only: Option<ThreadId>,
    /// What its first access read.
    initial: Option<u64>,
    /// The bytes that showed an unexplained value, a bit for each.
    external: u8,
    /// Those that changed while other threads had events, too.
    foreign: u8,
}

/// What a walk over π has learned of the cells' values.
pub(super) struct Values {
    walked: Vec<Option<Walked>>,
    /// Of each cell, the bytes of which its first read saw what had been there all along.
    from_the_start: Vec<u8>,
    /// Asked only of cells that changed while other threads had events.
    own_frames: Option<OwnFrames>,
}

/// What a cell holds while π is walked.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Untouched,
    Value(u64),
    Freed,
}

/// The bytes of a cell, a bit for each.
fn all_bytes(size: u8) -> u8 {
    u8::MAX >> 8_u8.saturating_sub(size)
}

/// The bytes in which two values of a cell differ.
fn differing(one: u64, other: u64) -> u8 {
    let bytes = (one ^ other).to_le_bytes().into_iter().enumerate();
    bytes.fold(0, |differing, (place, byte)| differing | u8::from(byte != 0) << place)
}

impl Trace {
    /// Walks π once to learn each cell's initial value and which cells change behind its back.
    pub(super) fn walk_values(&self) -> Values {
        let mut from_the_start = vec![0; self.cells.len()];
        let mut images = Images::new(&self.tables.images);
        let mut walked: Vec<Option<Walked>> = vec![None; self.cells.len()];
        let mut turns = self.in_threads.walk();
        for access in self.accesses() {
            let (event, kind) = (access.event, access.kind);
            let (thread, alone_since) = turns.of(event);
            if kind == AccessKind::Use {
                continue;
            }
            for used in self.uses(access) {
                let cell = &self.cells[used.cell.index()];
                let state = &mut walked[used.cell.index()];
                let block = &self.incarnations[cell.incarnation.index()];
                let mut now = state.unwrap_or(Walked {
                    content: Content::Untouched,
                    last: block.alloc.unwrap_or(EventId(0)),
                    only: Some(thread),
                    initial: None,
                    external: 0,
                    foreign: 0,
                });
                now.only = now.only.filter(|&only| only == thread);
                if kind.reads() {
                    let unexplained = match now.content {
                        Content::Untouched => {
                            now.initial = Some(used.read);
                            let explained = images.explain(event, block, cell, used.read);
                            from_the_start[used.cell.index()] = explained;
                            all_bytes(cell.size) & !explained
                        }
                        Content::Value(value) => differing(value, used.read),
                        Content::Freed => all_bytes(cell.size),
                    };
                    now.external |= unexplained;
                    if now.last < alone_since {
                        now.foreign |= unexplained;
                    }
                    now.content = Content::Value(used.read);
                }
                if kind == AccessKind::Free {
                    now.content = Content::Freed;
                } else if kind.writes() {
                    now.content = Content::Value(used.written);
                }
                now.last = event;
                *state = Some(now);
            }
        }
        let is_foreign = |walked: &Walked| walked.foreign != 0 && walked.only.is_some();
        let own_frames = walked.iter().flatten().any(is_foreign).then(|| OwnFrames::of(self));
        Values {
            walked,
            from_the_start,
            own_frames,
        }
    }

    /// Takes over what that walk has learned. Returns of each cell the bytes of which its first read saw what had been
    /// there all along.
    pub(super) fn set_values(&mut self, values: Values) -> Vec<u8> {
        let own_frames = values.own_frames;
        for (cell, walked) in self.cells.iter_mut().zip(values.walked) {
            let Some(walked) = walked else { continue };
            cell.set_initial(walked.initial);
            cell.set_external(walked.external != 0);
            cell.pinned = walked.external;
            let Some(only) = walked.only else { continue };
            cell.pinned &= walked.foreign;
            for place in (0..cell.size).filter(|place| walked.foreign >> place & 1 != 0) {
                let addr = cell.addr + u64::from(place);
                let own = own_frames
                    .as_ref()
                    .is_some_and(|frames| frames.keep(only, cell.incarnation, addr));
                cell.pinned &= !(u8::from(own) << place);
            }
        }
        values.from_the_start
    }

    /// Walks π again and pins the accesses of external cells; takes what the first walk returned.
    pub(super) fn find_pins(&mut self, from_the_start: &[u8]) {
        let ranges = self.accesses.ranges().iter();
        let has_pinned: Vec<bool> = ranges
            .map(|range| {
                let cells = range.cells.start as usize..range.cells.end as usize;
                self.cells[cells].iter().any(|cell| cell.pinned != 0)
            })
            .collect();
        if !has_pinned.contains(&true) {
            return;
        }
        let mut runs: HashMap<CellId, Vec<Run>> = HashMap::new();
        let touched = self.events().filter(|event| {
            let access = self.ops.access(event.index());
            access.is_some_and(|(_, range)| has_pinned[range as usize])
        });
        // A use sees nothing that unrecorded code may have changed.
        let touched = touched.filter_map(|event| self.access(event));
        for access in touched.filter(|access| access.kind != AccessKind::Use) {
            for used in self.uses(access) {
                let cell = &self.cells[used.cell.index()];
                if cell.pinned == 0 {
                    continue;
                }
                let runs = runs.entry(used.cell).or_default();
                let sees = |run: &Run| {
                    let same = |value| differing(value, used.read) & cell.pinned == 0;
                    access.kind.reads() && matches!(run.content, Content::Value(value) if same(value))
                };
                let joins = !access.kind.writes()
                    && match runs.last() {
                        Some(run) => sees(run),
                        None => cell.pinned & !from_the_start[used.cell.index()] == 0,
                    };
                if access.kind == AccessKind::AtomicRmw
                    && let Some(before) = runs.last_mut().filter(|run| sees(run))
                {
                    before.last = access.event;
                }
                if !joins || runs.is_empty() {
                    let content = match access.kind {
                        AccessKind::Free => Content::Freed,
                        kind if kind.writes() => Content::Value(used.written),
                        _ => Content::Value(used.read),
                    };
                    // What a read sees at first was there before, at a time that π does not show.
                    let from = if joins { EventId(0) } else { access.event };
                    runs.push(Run {
                        from,
                        written: access.kind.writes(),
                        content,
                        last: access.event,
                        events: Vec::new(),
                    });
                }
                if let Some(run) = runs.last_mut() {
                    run.last = access.event;
                    run.events.push((access.event, access.kind == AccessKind::AtomicRmw));
                }
            }
        }
        let mut pins = Vec::new();
        for run in runs.into_values().flatten() {
            for (event, both) in run.events {
                let after_write = run.written && event != run.from;
                let pin = Pin {
                    from: if after_write { EventId(run.from.0 + 1) } else { run.from },
                    until: if both { event } else { run.last },
                };
                pins.push((event, pin));
            }
        }
        self.pins = Pins::of(self.len(), pins);
    }

    /// The place that an access keeps because unrecorded code changes its memory.
    #[must_use]
    pub fn pin(&self, event: EventId) -> Option<Pin> {
        self.pins.get(event)
    }

    /// Whether any access is pinned.
    #[must_use]
    pub fn has_pins(&self) -> bool {
        !self.pins.is_empty()
    }

    /// How many events of a thread come before `event` in π.
    #[must_use]
    pub fn events_before(&self, thread: ThreadId, event: EventId) -> u32 {
        self.program_order(thread).partition_point(|other| other < event) as u32
    }

    /// The events of other threads that must precede an access because it is pinned, of each the last one: unless that is
    /// among so many of the thread's as are `known` to precede it. Where many are, this takes less time than to look for
    /// all of them.
    pub(crate) fn pinned_behind(
        &self,
        event: EventId,
        known: impl Fn(ThreadId) -> u32,
    ) -> impl Iterator<Item = EventId> {
        let own = self.thread(event);
        let others = (0..self.threads() as u32)
            .map(ThreadId)
            .filter(move |&thread| thread != own);
        let sources = self.pin(event).map(|pin| {
            others.filter_map(move |thread| {
                let (order, known) = (self.program_order(thread), known(thread) as usize);
                order.get(known).filter(|&next| next < pin.from)?;
                let before = order.partition_point_from(known + 1, |other| other < pin.from);
                Some(order.at(before - 1))
            })
        });
        sources.into_iter().flatten()
    }

    /// The events of other threads that a pinned access keeps its place among: per thread, the
    /// last that must precede it, and the first that must not.
    pub fn pinned_between(&self, event: EventId) -> impl Iterator<Item = (Option<EventId>, Option<EventId>)> + '_ {
        let own = self.thread(event);
        let others = (0..self.threads() as u32)
            .map(ThreadId)
            .filter(move |&thread| thread != own);
        self.pin(event).into_iter().flat_map(move |pin| {
            others.clone().map(move |thread| {
                let order = self.program_order(thread);
                let before = self.events_before(thread, pin.from) as usize;
                let until = self.events_before(thread, EventId(pin.until.0 + 1)) as usize;
                (before.checked_sub(1).map(|last| order.at(last)), order.get(until))
            })
        })
    }
}

/// Accesses of one cell between two changes of it.
struct Run {
    from: EventId,
    /// It begins with a recorded write.
    written: bool,
    content: Content,
    /// The last access that sees the content, be it one that changes it.
    last: EventId,
    /// The accesses, and whether each reads what was before as well.
    events: Vec<(EventId, bool)>,
}
