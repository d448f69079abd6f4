//! Memory that changes without an event: initial values, external bytes, pins (`docs/SEMANTICS.md`, *External bytes*).
//!
//! Three walks over the accesses. The first finds what each byte held at first, and which bytes show a value that nothing
//! recorded explains. The other two find the place that an access of such a byte keeps: one forwards, since when what it
//! sees or leaves had been there; one backwards, until when it was seen.

use crate::before::Facts;
use crate::bytes::{Bytes, Touched};
use crate::images::Images;
use crate::memory::Contents;
use crate::own_frames;
use crate::recording::{Access, Recording, all, byte_of};
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
    /// What the first access of each byte saw.
    pub(crate) initial: Contents,
    /// By byte: whether it shows a value that no recorded write explains.
    external: Vec<bool>,
    any: bool,
    /// Ascending.
    pins: Vec<(EventId, Pin)>,
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
    event: EventId,
    touched: Touched,
    /// `None` for a `free`.
    access: Option<Access>,
}

impl Valued {
    fn of(recording: &dyn Recording, bytes: &Bytes, event: EventId) -> Option<Valued> {
        let op = recording.op(event);
        let access = Access::of(op);
        let valued = match access {
            Some(access) => access.sees.is_some() || access.leaves.is_some(),
            None => matches!(op, Op::Free { .. }),
        };
        let touched = bytes.touched(event, op).filter(|_| valued)?;
        Some(Valued { event, touched, access })
    }

    fn deeds(&self) -> impl Iterator<Item = Deed> {
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
            initial: Contents::unknown(bytes.count),
            external: vec![false; bytes.count],
            any: false,
            pins: Vec::new(),
        };
        // By byte: whether its accesses are pinned, and whether its first one saw what had been there all along.
        let mut pinned = vec![false; bytes.count];
        let mut from_the_start = vec![false; bytes.count];
        let frames_known = own_frames::are_known(recording, facts);
        found.find_values(recording, bytes, frames_known, &mut pinned, &mut from_the_start);
        if pinned.contains(&true) {
            found.find_pins(recording, bytes, &pinned, &from_the_start);
        }
        found
    }

    /// Whether any byte is external.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Whether a byte is external.
    pub(crate) fn is_external(&self, byte: usize) -> bool {
        self.any && self.external[byte]
    }

    /// The place that an access keeps.
    pub(crate) fn pin(&self, event: EventId) -> Option<Pin> {
        let at = self.pins.binary_search_by_key(&event, |&(pinned, _)| pinned).ok()?;
        Some(self.pins[at].1)
    }

    fn find_values(
        &mut self,
        recording: &dyn Recording,
        bytes: &Bytes,
        frames_known: bool,
        pinned: &mut [bool],
        from_the_start: &mut [bool],
    ) {
        let mut images = Images::new(&recording.tables().images);
        let untouched = Walked {
            content: Content::Untouched,
            last: EventId(0),
            only: ThreadId(0),
            alone: true,
            foreign: false,
        };
        let mut walked = vec![untouched; bytes.count];
        // By byte that is external so far: where it is.
        let mut external: Vec<(usize, u32, u64)> = Vec::new();
        // The thread of the events before, and where its stretch of them began.
        let mut stretch: Option<(ThreadId, EventId)> = None;
        for event in all(recording) {
            let thread = recording.thread(event);
            let (_, since) = *stretch.insert(stretch.filter(|last| last.0 == thread).unwrap_or((thread, event)));
            let Some(valued) = Valued::of(recording, bytes, event) else {
                continue;
            };
            images.go_to(event);
            let block = valued.touched.block;
            let alloc = bytes.blocks[block as usize].alloc;
            for deed in valued.deeds() {
                let now = &mut walked[deed.byte];
                if now.content == Content::Untouched {
                    (now.only, now.last) = (thread, alloc.unwrap_or(EventId(0)));
                }
                now.alone &= now.only == thread;
                if let Some(value) = deed.sees {
                    let explained = match now.content {
                        Content::Untouched => {
                            self.initial.set(deed.byte, value);
                            from_the_start[deed.byte] = images.explain(deed.addr, alloc, value);
                            from_the_start[deed.byte]
                        }
                        Content::Value(known) => known == value,
                        Content::Freed => false,
                    };
                    if !explained {
                        now.foreign |= now.last < since;
                        if !self.external[deed.byte] {
                            self.external[deed.byte] = true;
                            external.push((deed.byte, block, deed.addr));
                        }
                    }
                    now.content = Content::Value(value);
                }
                now.content = deed.leaves.unwrap_or(now.content);
                now.last = event;
            }
        }
        self.any = !external.is_empty();
        for (byte, block, addr) in external {
            let now = walked[byte];
            let keeps = || frames_known && own_frames::keep(bytes, block, addr, now.only);
            pinned[byte] = !(now.alone && (!now.foreign || keeps()));
        }
    }

    fn find_pins(&mut self, recording: &dyn Recording, bytes: &Bytes, pinned: &[bool], from_the_start: &[bool]) {
        // By byte: what it holds, and what was the first event that may come before whoever sees it.
        let mut held = vec![(Content::Untouched, EventId(0)); bytes.count];
        for valued in all(recording).filter_map(|event| Valued::of(recording, bytes, event)) {
            let event = valued.event;
            let mut pin: Option<EventId> = None;
            for deed in valued.deeds().filter(|deed| pinned[deed.byte]) {
                let (content, since) = &mut held[deed.byte];
                if let Some(value) = deed.sees.map(Content::Value) {
                    let was_there = *content == Content::Untouched && from_the_start[deed.byte];
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
                let until = EventId(u32::MAX);
                self.pins.push((event, Pin { from, until }));
            }
        }
        // By byte: what the next access sees, if it reads, and until when that was seen.
        let mut next: Vec<Option<(u8, EventId)>> = vec![None; bytes.count];
        for (event, pin) in self.pins.iter_mut().rev() {
            let event = *event;
            let valued = Valued::of(recording, bytes, event);
            for deed in valued.iter().flat_map(Valued::deeds).filter(|deed| pinned[deed.byte]) {
                let seen_until = |value| match next[deed.byte] {
                    Some((seen, until)) if Content::Value(seen) == value => until,
                    _ => event,
                };
                let until = match (deed.sees, deed.leaves) {
                    (Some(value), None) => seen_until(Content::Value(value)),
                    (None, Some(left)) => seen_until(left),
                    // The last that sees what was there before is itself.
                    _ => event,
                };
                pin.until = pin.until.min(until);
                next[deed.byte] = deed.sees.map(|value| (value, until));
            }
        }
    }
}
