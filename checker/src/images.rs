//! What memory held before the first event that touches it, as far as a trace says so.
//!
//! A value that an image shows is older than what the other threads did: images are taken while there is one thread. A
//! fresh block is zero, unless an image of it says more.

use crate::overlay::Overlay;
use trace_format::{EventId, ImageInfo, NOBODYS};

/// The images that were taken until some event.
#[derive(Debug)]
pub(crate) struct Images<'a> {
    all: &'a [ImageInfo],
    taken: usize,
    newest: Overlay<Taken<'a>>,
    /// Images of the recorder's own variables that are still to come; what comes behind the last is everybody's again.
    marks_left: usize,
    marks: usize,
}

/// An image, and whether it is of memory that is no thread's own.
#[derive(Clone, Copy, Debug)]
struct Taken<'a> {
    image: &'a ImageInfo,
    of_all: bool,
}

impl<'a> Images<'a> {
    pub(crate) fn new(all: &'a [ImageInfo]) -> Images<'a> {
        let marks = all.iter().filter(|image| is_mark(image)).count();
        Images {
            all,
            taken: 0,
            newest: Overlay::new(),
            marks_left: marks,
            marks,
        }
    }

    /// Goes on to an event; in the order of the trace.
    pub(crate) fn go_to(&mut self, event: EventId) {
        while let Some(image) = self
            .all
            .get(self.taken)
            .filter(|image| image.before <= u64::from(event.0))
        {
            self.marks_left -= usize::from(is_mark(image));
            let of_all = !is_mark(image) && (self.marks_left == 0 || self.marks_left == self.marks);
            let end = image.addr.saturating_add(image.size);
            self.newest.put(image.addr, end, Taken { image, of_all });
            self.taken += 1;
        }
    }

    /// Whether nothing is known of memory by images, so that nothing need be asked.
    pub(crate) fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// What a byte that no event touched before holds, if an image shows it that is of no thread's own memory.
    pub(crate) fn content(&self, addr: u64, alloc: Option<EventId>) -> Option<u8> {
        let Taken { image, .. } = self.of(addr, alloc).filter(|taken| taken.of_all)?;
        let bytes = image.bytes.as_ref()?;
        Some(bytes.get((addr - image.addr) as usize).copied().unwrap_or(0))
    }

    fn of(&self, addr: u64, alloc: Option<EventId>) -> Option<Taken<'a>> {
        let newest = self.newest.get(addr)?;
        let is_of_block = alloc.is_none_or(|alloc| newest.image.before > u64::from(alloc.0));
        is_of_block.then_some(newest)
    }

    /// Whether a byte that no event touched before held `value` since its block was allocated, or the program began.
    pub(crate) fn explain(&self, addr: u64, alloc: Option<EventId>, value: u8) -> bool {
        match self.of(addr, alloc).map(|taken| taken.image) {
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

/// The recorder's own variables have no bytes; their images part the others: modules, the first thread's stack, its
/// thread-local variables, and what was there or loaded besides.
fn is_mark(image: &ImageInfo) -> bool {
    image.addr == NOBODYS
}
