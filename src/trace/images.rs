//! What memory held before the first event that touches it.
//!
//! The first access of a cell may be a read. Was the value there from the start, or did code that
//! leaves no events put it there at a moment that nobody knows? A recording answers with *images* of
//! the memory that is there before any thread is: taken when there was only one thread, so whatever
//! they show is older than all that the other threads did. A value that differs from the image came
//! later. Fresh blocks are zero: the recorder sees to it.

use super::pieces::Pieces;
use super::{Cell, EventId, Incarnation};
use std::ops::Range;
use trace_format::{ImageInfo, NOBODYS};

/// The images of a trace, as of an event. Asked in the order of π.
#[derive(Debug)]
pub(super) struct Images<'a> {
    all: &'a [ImageInfo],
    /// How many of them were taken until now.
    taken: usize,
    /// The newest image of each piece of memory, by its place among all.
    pieces: Pieces<usize>,
    /// Those of the recorder's own variables, and of what is the first thread's own.
    apart: Range<usize>,
}

impl<'a> Images<'a> {
    pub(super) fn new(all: &'a [ImageInfo]) -> Images<'a> {
        let is_own = |image: &ImageInfo| image.addr == NOBODYS;
        let first = all.iter().position(is_own).unwrap_or(all.len());
        let last = all.iter().rposition(is_own).map_or(first, |last| last + 1);
        Images {
            all,
            taken: 0,
            pieces: Pieces::default(),
            apart: first..last,
        }
    }

    /// What a cell of `block` held when `event` touched it for the first time, without a look at it: if images of all its
    /// bytes tell, other than those of a thread's own memory.
    pub(super) fn content(&mut self, event: EventId, block: &Incarnation, cell: &Cell) -> Option<u64> {
        self.take_until(event);
        (0..u64::from(cell.size)).rev().try_fold(0, |above, place| {
            let addr = cell.addr + place;
            let number = self.of(block, addr).filter(|number| !self.apart.contains(number))?;
            let image = &self.all[number];
            let byte = image.bytes.as_ref()?.get((addr - image.addr) as usize);
            Some(above << 8 | u64::from(byte.copied().unwrap_or(0)))
        })
    }

    /// The newest image of a byte that was taken since its block was allocated.
    fn of(&self, block: &Incarnation, addr: u64) -> Option<usize> {
        let number = self.pieces.at(addr)?;
        let is_of_block = block
            .alloc
            .is_none_or(|alloc| self.all[number].before > u64::from(alloc.0));
        is_of_block.then_some(number)
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
        match self.of(block, addr).map(|number| &self.all[number]) {
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
            let end = image.addr.saturating_add(image.size);
            self.pieces.put(image.addr, end, self.taken, |_| ());
            self.taken += 1;
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

    fn block_since(alloc: Option<u32>) -> Incarnation {
        Incarnation {
            addr: 0,
            size: 0,
            alloc: alloc.map(EventId),
            free: None,
            cells: 0..0,
        }
    }

    fn explains_in(block: Option<u32>, all: &[ImageInfo], event: u32, addr: u64, size: u8, value: u64) -> bool {
        let cell = Cell::new(IncarnationId::STATIC, addr, size);
        Images::new(all)
            .explain(EventId(event), &block_since(block), &cell, value)
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
    fn what_was_there_is_told_by_images_of_memory_that_is_no_thread_s_own() {
        let all = [
            image(5, 100, 20, Some(&[1, 2])),
            image(5, 200, 50, None),
            image(5, NOBODYS, 8, Some(&[])),
            image(5, 300, 20, Some(&[3])),
            image(5, NOBODYS, 8, Some(&[])),
            image(5, 400, 20, Some(&[4])),
            image(5, NOBODYS, 8, Some(&[])),
            image(9, 500, 20, Some(&[5])),
        ];
        let told = |block: Option<u32>, event, addr, size| {
            let cell = Cell::new(IncarnationId::STATIC, addr, size);
            Images::new(&all).content(EventId(event), &block_since(block), &cell)
        };
        assert_eq!(told(None, 5, 100, 4), Some(0x0201));
        assert_eq!(told(None, 4, 100, 4), None, "not yet");
        assert_eq!(told(None, 5, 118, 4), None, "two of the bytes");
        assert_eq!(told(None, 5, 200, 4), None, "what reads show");
        assert_eq!(told(None, 5, 300, 4), None, "a thread's own");
        assert_eq!(told(None, 5, NOBODYS, 8), None, "the recorder's");
        assert_eq!((told(Some(7), 9, 500, 1), told(Some(9), 9, 500, 1)), (Some(5), None));
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
