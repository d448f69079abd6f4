//! What memory held before the first event that touches it.
//!
//! The first access of a cell may be a read. Was the value there from the start, or did code that
//! leaves no events put it there at a moment that nobody knows? A recording answers with *images* of
//! the memory that is there before any thread is: taken when there was only one thread, so whatever
//! they show is older than all that the other threads did. A value that differs from the image came
//! later. Fresh blocks are zero: the recorder sees to it.

use super::pieces::Pieces;
use super::{Cell, EventId, Incarnation};
use trace_format::ImageInfo;

/// The images of a trace, as of an event. Asked in the order of π.
#[derive(Debug)]
pub(super) struct Images<'a> {
    all: &'a [ImageInfo],
    /// How many of them were taken until now.
    taken: usize,
    /// The newest image of each piece of memory.
    pieces: Pieces<&'a ImageInfo>,
}

impl<'a> Images<'a> {
    pub(super) fn new(all: &'a [ImageInfo]) -> Images<'a> {
        Images {
            all,
            taken: 0,
            pieces: Pieces::default(),
        }
    }

    /// Which bytes of `value`, read by `event` from a cell of `block` that no event touched before, were in it from the
    /// start of the block or of the program: a bit for each, the lowest for the first.
    pub(super) fn explain(&mut self, event: EventId, block: &Incarnation, cell: &Cell, value: u64) -> u8 {
        self.take_until(event);
        let bytes = value.to_le_bytes().into_iter().take(usize::from(cell.size));
        let explained = bytes.enumerate().map(|(place, byte)| {
            let explained = self.explain_byte(block, cell.addr + place as u64, byte);
            u8::from(explained) << place
        });
        explained.fold(0, |all, one| all | one)
    }

    fn explain_byte(&self, block: &Incarnation, addr: u64, value: u8) -> bool {
        let image = self
            .pieces
            .at(addr)
            .filter(|image| block.alloc.is_none_or(|alloc| image.before > u64::from(alloc.0)));
        match image {
            None if block.alloc.is_some() => value == 0,
            // Before the first image there is one thread, and nothing that it could be reordered
            // with. A trace without any comes from a tool that sees all accesses.
            None => self.taken == 0,
            Some(image) => image
                .bytes
                .as_ref()
                .is_none_or(|bytes| bytes.get((addr - image.addr) as usize).copied().unwrap_or(0) == value),
        }
    }

    fn take_until(&mut self, event: EventId) {
        let due = self.all[self.taken..]
            .iter()
            .take_while(|image| image.before <= u64::from(event.0));
        for image in due {
            self.taken += 1;
            let end = image.addr.saturating_add(image.size);
            self.pieces.put(image.addr, end, image, |_| ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::IncarnationId;
    use super::*;

    fn image(before: u64, addr: u64, size: u64, bytes: Option<&[u8]>) -> ImageInfo {
        ImageInfo {
            before,
            addr,
            size,
            bytes: bytes.map(<[u8]>::to_vec),
        }
    }

    fn explains_in(block: Option<u32>, all: &[ImageInfo], event: u32, addr: u64, size: u8, value: u64) -> bool {
        let cell = Cell::new(IncarnationId::STATIC, addr, size);
        let block = Incarnation {
            addr: 0,
            size: 0,
            alloc: block.map(EventId),
            free: None,
            cells: 0..0,
        };
        Images::new(all)
            .explain(EventId(event), &block, &cell, value)
            .count_ones()
            == u32::from(size)
    }

    fn explains(all: &[ImageInfo], event: u32, addr: u64, size: u8, value: u64) -> bool {
        explains_in(None, all, event, addr, size, value)
    }

    #[test]
    fn a_value_is_explained_by_the_newest_image_of_all_its_bytes() {
        let all = [
            image(5, 100, 20, Some(&[1, 2])),
            image(5, 200, 50, None),
            image(9, 104, 4, Some(&[7])),
        ];
        assert!(explains(&all, 5, 100, 4, 0x0201));
        assert!(!explains(&all, 5, 100, 4, 0x0301));
        assert!(explains(&all, 8, 104, 8, 0));
        assert!(explains(&all, 9, 104, 4, 7) && !explains(&all, 9, 104, 4, 0));
        assert!(explains(&all, 9, 108, 8, 0) && explains(&all, 9, 100, 2, 0x0201));
        assert!(explains(&all, 5, 248, 2, 0xffff), "nobody changes it");
        assert!(!explains(&all, 5, 249, 2, 0), "a byte that no image shows");
        assert!(!explains(&all, 5, 90, 2, 0));
        assert!(
            explains(&all, 9, 102, 4, 0x0007_0000),
            "half of it in each of two images"
        );
    }

    #[test]
    fn before_the_first_image_nothing_is_doubted() {
        assert!(explains(&[image(5, 100, 20, None)], 4, 7, 4, 9));
        assert!(explains(&[], 4, 7, 4, 9));
    }

    #[test]
    fn a_block_is_zero_unless_an_image_of_it_says_more() {
        let all = [image(5, 100, 20, Some(&[1]))];
        assert!(explains_in(Some(3), &all, 5, 100, 1, 1) && !explains_in(Some(3), &all, 5, 100, 1, 0));
        assert!(explains_in(Some(6), &all, 8, 100, 1, 0) && !explains_in(Some(6), &all, 8, 100, 1, 1));
        assert!(explains_in(Some(3), &all, 5, 500, 1, 0) && !explains_in(Some(3), &all, 5, 500, 1, 1));
    }
}
