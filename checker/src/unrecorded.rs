//! Memory that changes without an event: initial values, external bytes, pins (`docs/SEMANTICS.md`, *External bytes*).
//!
//! Walks over the accesses. The first finds what each byte held at first, and which bytes show a value that nothing
//! recorded explains. If there are such bytes, another finds which of them may be a single thread's own. The last two
//! find the place that an access of any other keeps: one forwards, since when what it sees or leaves had been there;
//! one backwards, until when it was seen.

use crate::before::Facts;
use crate::bits::{Bits, Numbered};
use crate::bytes::{Bytes, Touched};
use crate::images::Images;
use crate::memory::{Contents, Initial};
use crate::own_frames::OwnFrames;
use crate::recording::{Access, Recording, all, byte_of, walk};
use columns::Column;
use std::cell::LazyCell;
use std::ops::Range;
use trace_format::{EventId, Op, ThreadId};

/// The place that a pinned access keeps among the events of other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pin {
    /// Every event before this one must have happened.
    pub(crate) from: EventId,
    /// No event after this one may have happened.
    pub(crate) until: EventId,
}

/// What is there, and what is changed by code that leaves no events.
#[derive(Debug)]
pub(crate) struct Unrecorded {
    /// What the first access of each byte saw, or an image shows.
    pub(crate) initial: Initial,
    /// By byte: whether it shows a value that no recorded write explains.
    external: Bits,
    any: bool,
    /// The first read that saw something else than what the recorded accesses before it left.
    pub(crate) first_unexplained: Option<EventId>,
    pins: Pins,
}

/// The accesses that keep a place, ascending, and these places.
#[derive(Debug, Default)]
struct Pins {
    events: Column<EventId>,
    from: Column<EventId>,
    until: Column<EventId>,
}

/// What a byte holds as far as the accesses so far show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Untouched,
    Value(u8),
    Freed,
}

/// What is known of a byte on the first walk.
#[derive(Clone, Copy)]
struct Walked {
    content: Content,
    last: EventId,
    only: ThreadId,
    /// Whether all accesses are by `only`.
    alone: bool,
    /// Whether a change fell into a time in which another thread had events, too.
    foreign: bool,
}

/// What an access does to one byte of those that it touches.
struct Deed {
    byte: usize,
    addr: u64,
    sees: Option<u8>,
    /// `None` if it only reads.
    leaves: Option<Content>,
}

/// An access that sees or leaves something; a use does neither.
struct Valued {
    touched: Touched,
    /// `None` for a `free`.
    access: Option<Access>,
}

impl Valued {
    /// Of an event that does `op`.
    fn of(op: Op, touched: Option<Touched>) -> Option<Valued> {
        let access = Access::of(op);
        let valued = match access {
            Some(access) => access.sees.is_some() || access.leaves.is_some(),
            None => matches!(op, Op::Free { .. }),
        };
        let touched = touched.filter(|_| valued)?;
        Some(Valued { touched, access })
    }

    /// All events of a recording: of those that touch one of some bytes, also what they see and leave.
    fn at<'a>(
        recording: &'a dyn Recording,
        bytes: &'a Bytes,
        some: &Bits,
    ) -> impl Iterator<Item = (EventId, Option<Valued>)> + use<'a> {
        let (some, mut numbers) = (bytes.spans_with(some), bytes.cursor());
        all(recording).map(move |event| {
            let number = numbers.at(event.index());
            let valued = || Valued::of(recording.op(event), bytes.touched_by(number));
            (event, some.has(number as usize).then(valued).flatten())
        })
    }

    fn deeds(&self) -> impl Iterator<Item = Deed> + use<> {
        let access = self.access;
        self.touched.bytes.clone().enumerate().map(move |(place, byte)| {
            let Some(access) = access else {
                let leaves = Some(Content::Freed);
                return Deed {
                    byte,
                    addr: 0,
                    sees: None,
                    leaves,
                };
            };
            Deed {
                byte,
                addr: access.mem.addr + place as u64,
                sees: access.sees.map(|value| byte_of(value, place)),
                leaves: access.leaves.map(|value| Content::Value(byte_of(value, place))),
            }
        })
    }
}

impl Unrecorded {
    pub(crate) fn of(recording: &dyn Recording, facts: &Facts, bytes: &Bytes) -> Unrecorded {
        let mut found = Unrecorded {
            initial: Initial::unknown(bytes.count),
            external: Bits::default(),
            any: false,
            first_unexplained: None,
            pins: Pins::default(),
        };
        // By byte: whether its first access saw what had been there all along, and whether it is external.
        let (mut from_the_start, mut external) = (Bits::none_of(bytes.count), Bits::none_of(bytes.count));
        found.find_values(recording, bytes, &mut from_the_start, &mut external);
        if !found.any {
            return found;
        }
        found.external = external;
        let pinned = shared(recording, facts, bytes, (&from_the_start, &found.external));
        if pinned.any() {
            found.pins = Pins::of(recording, bytes, &pinned, &from_the_start);
        }
        found
    }

    /// Whether any byte is external.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Whether a byte is external.
    pub(crate) fn is_external(&self, byte: usize) -> bool {
        self.any && self.external.has(byte)
    }

    /// The accesses that keep a place, in the order of the trace.
    pub(crate) fn pinned(&self) -> impl Iterator<Item = EventId> + '_ {
        self.pins.events.all()
    }

    /// The place that an access keeps.
    pub(crate) fn pin(&self, event: EventId) -> Option<Pin> {
        let Pins { events, from, until } = &self.pins;
        let at = events.all().partition_point(|pinned| pinned < event);
        events.get(at).filter(|&pinned| pinned == event)?;
        Some(Pin {
            from: from.at(at),
            until: until.at(at),
        })
    }

    /// Finds the first value of each byte, and the bytes that show one which nothing recorded explains.
    fn find_values(
        &mut self,
        recording: &dyn Recording,
        bytes: &Bytes,
        from_the_start: &mut Bits,
        external: &mut Bits,
    ) {
        let mut images = Images::new(&recording.tables().images);
        // What the accesses so far leave, and which bytes had some.
        let mut contents = Contents::unknown(bytes.count);
        let mut known = Bits::none_of(bytes.count);
        let (mut numbers, mut spans) = (bytes.cursor(), bytes.near_spans());
        walk(recording, |event, _, op| {
            // Which block they are of is seldom asked.
            let number = numbers.at(event.index());
            let Some(touched) = spans.of(number) else { return };
            let access = Access::of(*op);
            let (sees, leaves) = access.map_or((None, None), |access| (access.sees, access.leaves));
            // Nearly all reads see what was there, so bytes are looked at one by one only where that is not so.
            let news = sees.filter(|&value| touched.len() > 8 || !contents.hold(touched.clone(), value));
            if let Some(value) = news {
                images.go_to(event);
                let block = bytes.block_of(number);
                let alloc = bytes.alloc_of(block);
                let bytes = touched.clone();
                let valued = Valued {
                    touched: Touched { block, bytes },
                    access,
                };
                for deed in valued.deeds() {
                    let (byte, Some(seen)) = (deed.byte, deed.sees) else {
                        continue;
                    };
                    let explained = if !known.has(byte) {
                        self.initial.set(byte, seen);
                        let was_there = images.explain(deed.addr, alloc, seen);
                        from_the_start.put(byte..byte + 1, was_there);
                        was_there
                    } else {
                        // What was freed is not known.
                        let is_there = contents.get(byte) == Some(seen);
                        self.first_unexplained = self.first_unexplained.or((!is_there).then_some(event));
                        is_there
                    };
                    if !explained {
                        external.set(byte);
                        self.any = true;
                    }
                }
                known.put(touched.clone(), true);
                contents.store(touched.clone(), Some(value));
            }
            // A free leaves nothing, a use what was there.
            if leaves.is_some() || access.is_none() {
                if let Some(access) = access.filter(|access| access.sees.is_none())
                    && !images.are_none()
                    && !known.all_of(touched.clone())
                {
                    images.go_to(event);
                    let alloc = bytes.alloc_of(bytes.block_of(number));
                    let addresses = access.mem.addr..;
                    let new = touched.clone().zip(addresses).filter(|&(byte, _)| !known.has(byte));
                    for (byte, addr) in new {
                        let shown = images.content(addr, alloc);
                        shown.into_iter().for_each(|value| self.initial.set(byte, value));
                    }
                }
                known.put(touched.clone(), true);
                contents.store(touched, leaves);
            }
        });
    }
}

impl Pins {
    fn of(recording: &dyn Recording, bytes: &Bytes, pinned: &Bits, from_the_start: &Bits) -> Pins {
        let numbers = Numbered::of(pinned);
        // What an event does to bytes that are pinned, each with its number among these.
        let of_pinned = |valued: &Valued| {
            let deeds = valued.deeds();
            deeds.filter_map(|deed| Some((numbers.number(deed.byte)?, deed)))
        };
        let mut pins = Pins::default();
        // By pinned byte: what it holds, and what was the first event that may come before whoever sees it.
        let mut held = vec![(Content::Untouched, EventId(0)); numbers.count()];
        for (event, valued) in Valued::at(recording, bytes, pinned) {
            let Some(valued) = valued else { continue };
            let mut pin: Option<EventId> = None;
            for (number, deed) in of_pinned(&valued) {
                let (content, since) = &mut held[number];
                if let Some(value) = deed.sees.map(Content::Value) {
                    let was_there = *content == Content::Untouched && from_the_start.has(deed.byte);
                    // What a read sees at first was there before, at a time that the trace does not show.
                    if *content != value && !was_there {
                        *since = event;
                    }
                    *content = value;
                }
                let mut from = *since;
                if let Some(left) = deed.leaves {
                    // Who sees it comes after the write; the write itself keeps its place.
                    (*content, *since, from) = (left, EventId(event.0 + 1), event);
                }
                pin = Some(pin.map_or(from, |pin| pin.max(from)));
            }
            if let Some(from) = pin {
                pins.events.push(event);
                pins.from.push(from);
            }
        }
        drop(held);
        pins.events.end();
        pins.from.end();
        // By pinned byte: what the next access sees, if it reads, and until when that was seen.
        let mut next: Vec<Option<(u8, EventId)>> = vec![None; numbers.count()];
        // Of the accesses that keep a place, the last one first.
        let mut ends = Vec::with_capacity(pins.events.len());
        for event in pins.events.all().rev() {
            let valued = Valued::of(recording.op(event), bytes.touched(event));
            let mut end = EventId(u32::MAX);
            for (number, deed) in valued.iter().flat_map(of_pinned) {
                let seen_until = |value| match next[number] {
                    Some((seen, until)) if Content::Value(seen) == value => until,
                    _ => event,
                };
                let until = match (deed.sees, deed.leaves) {
                    (Some(value), None) => seen_until(Content::Value(value)),
                    (None, Some(left)) => seen_until(left),
                    // The last that sees what was there before is itself.
                    _ => event,
                };
                end = end.min(until);
                next[number] = deed.sees.map(|value| (value, until));
            }
            ends.push(end);
        }
        pins.until = ends.into_iter().rev().collect();
        pins
    }
}

/// Neighboring bytes of a block.
struct Place {
    bytes: Range<usize>,
    block: u32,
    /// Of the first.
    addr: u64,
}

impl Place {
    /// Goes on by a byte, if it is the next one.
    fn extend(&mut self, byte: usize, block: u32, addr: u64) -> bool {
        let is_next =
            byte == self.bytes.end && block == self.block && addr.wrapping_sub(self.addr) == self.bytes.len() as u64;
        self.bytes.end += usize::from(is_next);
        is_next
    }
}

/// By byte: whether it is external and not known to be changed by the only thread that accesses it.
fn shared(recording: &dyn Recording, facts: &Facts, bytes: &Bytes, (from_the_start, external): (&Bits, &Bits)) -> Bits {
    let untouched = Walked {
        content: Content::Untouched,
        last: EventId(0),
        only: ThreadId(0),
        alone: true,
        foreign: false,
    };
    // By external byte.
    let numbers = Numbered::of(external);
    let mut walked = vec![untouched; numbers.count()];
    let mut is_placed = Bits::none_of(numbers.count());
    // Where each external byte is. There may be millions, where a program looks at all of its memory.
    let mut places: Vec<Place> = Vec::new();
    // The thread of the events before, and where its stretch of them began.
    let mut stretch: Option<(ThreadId, EventId)> = None;
    for (event, valued) in Valued::at(recording, bytes, external) {
        let thread = recording.thread(event);
        let (_, since) = *stretch.insert(stretch.filter(|last| last.0 == thread).unwrap_or((thread, event)));
        let Some(valued) = valued else { continue };
        let block = valued.touched.block;
        for deed in valued.deeds() {
            let Some(number) = numbers.number(deed.byte) else {
                continue;
            };
            let now = &mut walked[number];
            if now.content == Content::Untouched {
                (now.only, now.last) = (thread, bytes.alloc_of(block).unwrap_or(EventId(0)));
            }
            now.alone &= now.only == thread;
            if let Some(value) = deed.sees {
                let explained = match now.content {
                    Content::Untouched => from_the_start.has(deed.byte),
                    Content::Value(known) => known == value,
                    Content::Freed => false,
                };
                if !explained {
                    now.foreign |= now.last < since;
                    if !is_placed.has(number) {
                        is_placed.set(number);
                        let (byte, addr) = (deed.byte, deed.addr);
                        if !places.last_mut().is_some_and(|last| last.extend(byte, block, addr)) {
                            let bytes = byte..byte + 1;
                            places.push(Place { bytes, block, addr });
                        }
                    }
                }
                now.content = Content::Value(value);
            }
            now.content = deed.leaves.unwrap_or(now.content);
            now.last = event;
        }
    }
    // Asked only of bytes that changed while other threads had events.
    let frames = LazyCell::new(|| OwnFrames::of(recording, facts, bytes));
    let mut pinned = Bits::none_of(bytes.count);
    let each = (places.iter()).flat_map(|place| place.bytes.clone().zip(place.addr..).map(|at| (at, place.block)));
    for ((byte, addr), block) in each {
        let Some(now) = numbers.number(byte).map(|number| walked[number]) else {
            continue;
        };
        let keeps = || {
            let frames = frames.as_ref();
            frames.is_some_and(|frames| frames.keep(bytes, block, addr, now.only))
        };
        if !(now.alone && (!now.foreign || keeps())) {
            pinned.set(byte);
        }
    }
    pinned
}
