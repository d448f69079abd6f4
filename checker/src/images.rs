//! What memory held before the first event that touches it, as far as a trace says so.
//!
//! A value that an image shows is older than what the other threads did: images are taken while there is one thread. A
//! fresh block is zero, unless an image of it says more.

use crate::overlay::Overlay;
use trace_format::{EventId, ImageInfo};

/// The images that were taken until some event.
#[derive(Debug)]
pub(crate) struct Images<'a> {
    all: &'a [ImageInfo],
    taken: usize,
    newest: Overlay<&'a ImageInfo>,
}

impl<'a> Images<'a> {
    pub(crate) fn new(all: &'a [ImageInfo]) -> Images<'a> {
        Images {
            all,
            taken: 0,
            newest: Overlay::new(),
        }
    }

    /// Goes on to an event; in the order of the trace.
    pub(crate) fn go_to(&mut self, event: EventId) {
        while let Some(image) = self
            .all
            .get(self.taken)
            .filter(|image| image.before <= u64::from(event.0))
        {
            self.newest
                .put(image.addr, image.addr.saturating_add(image.size), image);
            self.taken += 1;
        }
    }

    /// Whether a byte that no event touched before held `value` since its block was allocated, or the program began.
    pub(crate) fn explain(&self, addr: u64, alloc: Option<EventId>, value: u8) -> bool {
        let newest = self.newest.get(addr);
        let newest = newest.filter(|image| alloc.is_none_or(|alloc| image.before > u64::from(alloc.0)));
        match newest {
            None if alloc.is_some() => value == 0,
            // Before the first image there is one thread, and nothing that it could be reordered with. A trace
            // without any comes from a tool that sees all accesses.
            None => self.taken == 0,
            Some(ImageInfo { bytes: None, .. }) => true,
            Some(ImageInfo {
                bytes: Some(bytes),
                addr: from,
                ..
            }) => bytes.get((addr - from) as usize).copied().unwrap_or(0) == value,
        }
    }
}
