//! Memory that changes without an event, and the accesses that are pinned for it.
//!
//! Code that was not instrumented, and the kernel, leave no events. Their effects lie somewhere
//! between two events of some thread, and nothing says which thread. What π does show is between
//! which two accesses of the cell each of them fell. If the accesses of the cell keep their places
//! among *all* events around them, so do the effects: none of them can come before what preceded
//! it in π, nor after what followed. Keeping the recorded writers alone is not enough: in
//! `data = 5; strcpy(flag, "go")`, a read of the flag would only have to follow earlier writes of
//! the flag, and could come before the store to `data`.

use super::cells::slice_value;
use super::images::Images;
use super::own_frames::OwnFrames;
use super::pins::{Pin, Pins};
use super::{AccessKind, Cell, CellId, EventId, ThreadId, Trace};
use columns::Column;
use hashbrown::HashMap;

/// A value by its halves, the lower one first: it needs no room between it and the next.
#[derive(Clone, Copy)]
struct Halves([u32; 2]);

impl Halves {
    fn of(value: u64) -> Halves {
        Halves([value as u32, (value >> u32::BITS) as u32])
    }

    fn whole(self) -> u64 {
        u64::from(self.0[1]) << u32::BITS | u64::from(self.0[0])
    }
}

/// What is known of a cell while π is walked, in 20 bytes: there is one of these for each cell of a trace. So the bytes
/// that showed an unexplained value go to the [`Cell`] itself, and what was there at first to a list of its own: mostly
/// that is not known, or 0.
#[derive(Clone, Copy)]
struct Walked {
    value: Halves,
    last: EventId,
    /// The one thread that accesses it, if there is one.
    only: Only,
    content: Content,
    /// The bytes that showed an unexplained value while other threads had events, too.
    foreign: u8,
}

/// The one thread that accesses a cell: its number, or nobody yet, or there were two.
#[derive(Clone, Copy, PartialEq)]
struct Only(u32);

impl Only {
    const NOBODY: Only = Only(u32::MAX);
    const SEVERAL: Only = Only(u32::MAX - 1);

    fn and(self, thread: ThreadId) -> Only {
        match self {
            Only::NOBODY => Only(thread.0.min(Only::SEVERAL.0)),
            Only(only) if only == thread.0 => self,
            _ => Only::SEVERAL,
        }
    }

    fn thread(self) -> Option<ThreadId> {
        (self.0 < Only::SEVERAL.0).then_some(ThreadId(self.0))
    }
}

/// What a walk over π has learned of the cells' values.
pub(super) struct Values {
    walked: Vec<Walked>,
    /// What cells held at first, where that is known and not 0; each cell once.
    at_first: Vec<(CellId, Halves)>,
    /// Of each cell, the bytes of which its first read saw what had been there all along.
    from_the_start: Vec<u8>,
}

/// What a cell holds while π is walked.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Untouched,
    Value,
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
    /// Walks π once to learn each cell's initial value and which cells change behind its back. `cells` are the trace's,
    /// which are not in their place meanwhile.
    pub(super) fn walk_values(&self, cells: &mut [Cell]) -> Values {
        let mut from_the_start = vec![0; cells.len()];
        let mut images = Images::new(&self.tables.images);
        let untouched = Walked {
            value: Halves::of(0),
            last: EventId(0),
            only: Only::NOBODY,
            content: Content::Untouched,
            foreign: 0,
        };
        let mut walked: Vec<Walked> = vec![untouched; cells.len()];
        let mut at_first: Vec<(CellId, Halves)> = Vec::new();
        let mut turns = self.in_threads.walk();
        let (mut numbers, mut values) = (self.ops.numbers(), self.accesses.values());
        for event in self.events() {
            let Some((form, range)) = self.ops.access_by(&mut numbers, event.index()) else {
                continue;
            };
            let kind = form.kind;
            let access = self.accesses.get(event, form, range, (&*cells, &self.incarnations));
            let (thread, alone_since) = turns.of(event);
            if kind == AccessKind::Use {
                continue;
            }
            let (read, written) = self.accesses.values_by(access, values.at(event.index()));
            for number in access.cell_numbers() {
                let (cell, now) = (&mut cells[number], &mut walked[number]);
                let mut was_there = |cell: &mut Cell, value| {
                    cell.set_known_at_first();
                    if value != 0 {
                        at_first.push((CellId(number as u32), Halves::of(value)));
                    }
                };
                if now.content == Content::Untouched && !kind.reads() && kind != AccessKind::Free {
                    let block = &self.incarnations[cell.incarnation.index()];
                    if let Some(value) = images.content(event, block, cell) {
                        was_there(cell, value);
                    }
                }
                if now.only == Only::NOBODY {
                    let block = &self.incarnations[cell.incarnation.index()];
                    now.last = block.alloc.unwrap_or(EventId(0));
                }
                now.only = now.only.and(thread);
                if kind.reads() {
                    let read = slice_value(read, access.addr, cell);
                    let unexplained = match now.content {
                        Content::Untouched => {
                            let block = &self.incarnations[cell.incarnation.index()];
                            let explained = images.explain(event, block, cell, read);
                            from_the_start[number] = explained;
                            was_there(cell, read);
                            all_bytes(cell.size) & !explained
                        }
                        Content::Value => differing(now.value.whole(), read),
                        Content::Freed => all_bytes(cell.size),
                    };
                    cell.pinned |= unexplained;
                    if now.last < alone_since {
                        now.foreign |= unexplained;
                    }
                    (now.content, now.value) = (Content::Value, Halves::of(read));
                }
                if kind == AccessKind::Free {
                    now.content = Content::Freed;
                } else if kind.writes() {
                    let left = slice_value(written, access.addr, cell);
                    (now.content, now.value) = (Content::Value, Halves::of(left));
                }
                now.last = event;
            }
        }
        Values {
            walked,
            at_first,
            from_the_start,
        }
    }

    /// Takes over what that walk has learned. Returns of each cell the bytes of which its first read saw what had been
    /// there all along.
    pub(super) fn set_values(&mut self, mut values: Values) -> Vec<u8> {
        // Asked only of cells that changed while other threads had events.
        let is_foreign = |walked: &Walked| walked.foreign != 0 && walked.only.thread().is_some();
        let own_frames = values.walked.iter().any(is_foreign).then(|| OwnFrames::of(self));
        values.at_first.sort_unstable_by_key(|&(cell, _)| cell);
        let mut at_first = values.at_first.into_iter().peekable();
        let initial = (0..self.cells.len() as u32).map(|cell| {
            let known = at_first.next_if(|first| first.0 == CellId(cell));
            known.map_or(0, |(_, value)| value.whole())
        });
        self.initial = initial.collect();
        for (cell, walked) in self.cells.iter_mut().zip(values.walked) {
            cell.set_external(cell.pinned != 0);
            let Some(only) = walked.only.thread() else { continue };
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
        let ranges = self.accesses.cells(&self.incarnations);
        let has_pinned: Vec<bool> = ranges
            .map(|cells| {
                let cells = cells.start as usize..cells.end as usize;
                self.cells[cells].iter().any(|cell| cell.pinned != 0)
            })
            .collect();
        if !has_pinned.contains(&true) {
            return;
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut now: HashMap<CellId, Now> = HashMap::new();
        // In the order of π, accesses and their runs: there may be millions.
        let (mut pinned, mut of) = (Column::<EventId>::default(), Column::<u32>::default());
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
                let known = now.get(&used.cell).copied();
                let sees = |now: Now| {
                    let same = |value| differing(value, used.read) & cell.pinned == 0;
                    access.kind.reads() && now.content.is_some_and(same)
                };
                let joins = !access.kind.writes()
                    && match known {
                        Some(now) => sees(now),
                        None => cell.pinned & !from_the_start[used.cell.index()] == 0,
                    };
                if access.kind == AccessKind::AtomicRmw
                    && let Some(before) = known.filter(|&now| sees(now))
                {
                    runs[before.run as usize].last = access.event;
                }
                let here = known.filter(|_| joins).unwrap_or_else(|| {
                    // What a read sees at first was there before, at a time that π does not show.
                    let from = if joins { EventId(0) } else { access.event };
                    runs.push(Run {
                        from,
                        last: access.event,
                        written: access.kind.writes(),
                    });
                    let here = Now {
                        run: runs.len() as u32 - 1,
                        content: match access.kind {
                            AccessKind::Free => None,
                            kind if kind.writes() => Some(used.written),
                            _ => Some(used.read),
                        },
                    };
                    now.insert(used.cell, here);
                    here
                });
                runs[here.run as usize].last = access.event;
                pinned.push(access.event);
                of.push(here.run);
            }
        }
        let pins = pinned.all().zip(of.all()).map(|(event, run)| {
            let run = &runs[run as usize];
            let after_write = run.written && event != run.from;
            // One that writes as well reads what was before.
            let both = self
                .ops
                .access(event.index())
                .is_some_and(|(form, _)| form.kind == AccessKind::AtomicRmw);
            let pin = Pin {
                from: if after_write { EventId(run.from.0 + 1) } else { run.from },
                until: if both { event } else { run.last },
            };
            (event, pin)
        });
        self.pins = Pins::of(pins);
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
    /// The last access that sees the content, be it one that changes it.
    last: EventId,
    /// It begins with a recorded write.
    written: bool,
}

/// The last run of a cell.
#[derive(Clone, Copy)]
struct Now {
    run: u32,
    /// What the cell holds; nothing behind a free.
    content: Option<u64>,
}
