//! Which events of a thread are special, in one and a half bits an event.

/// A mark or none for each event of a thread, in program order. Tells how many marks lie before an event, so that
/// what is known only of marked events can be kept in a list of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    len: u32,
    blocks: Vec<Block>,
}

/// 64 events.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// A bit for each: the lower half, and the upper one. So a block needs no room between it and the next.
    halves: [u32; 2],
    /// Marks in earlier blocks.
    before: u32,
}

impl Block {
    fn new(before: u32) -> Block {
        Block { halves: [0; 2], before }
    }

    #[inline]
    fn bits(self) -> u64 {
        u64::from(self.halves[1]) << u32::BITS | u64::from(self.halves[0])
    }

    /// Marks the event of a bit; whether it was not marked yet.
    #[inline]
    fn mark(&mut self, bit: u32) -> bool {
        let (half, bit) = (&mut self.halves[(bit / u32::BITS) as usize], 1 << (bit % u32::BITS));
        let is_new = *half & bit == 0;
        *half |= bit;
        is_new
    }

    /// Marks in it and in earlier ones.
    #[inline]
    fn until_end(self) -> u32 {
        self.before + self.bits().count_ones()
    }
}

impl Marks {
    /// Goes on to an event behind some that are not marked.
    #[inline]
    pub(crate) fn skip_to(&mut self, place: u32) {
        while self.blocks.len() < place.div_ceil(u64::BITS) as usize {
            let before = self.before(u32::MAX);
            self.blocks.push(Block::new(before));
        }
        self.len = place;
    }

    /// Goes on by one event.
    #[inline]
    pub(crate) fn push(&mut self, marked: bool) {
        let bit = self.len % u64::BITS;
        if bit == 0 {
            let before = self.blocks.last().map_or(0, |last| last.until_end());
            self.blocks.push(Block::new(before));
        }
        if let Some(last) = self.blocks.last_mut().filter(|_| marked) {
            last.mark(bit);
        }
        self.len += 1;
    }

    /// Marks the last event; whether it was not marked yet.
    pub(crate) fn mark_last(&mut self) -> bool {
        let bit = self.len.wrapping_sub(1) % u64::BITS;
        self.blocks.last_mut().is_some_and(|last| last.mark(bit))
    }

    /// Whether the event at a place is marked. None is behind the last one that was gone to.
    #[inline]
    pub(crate) fn has(&self, place: u32) -> bool {
        let block = self.blocks.get((place / u64::BITS) as usize);
        block.is_some_and(|block| block.bits() >> (place % u64::BITS) & 1 != 0)
    }

    /// The first mark at or behind a place.
    pub(crate) fn next(&self, place: u32) -> Option<u32> {
        let first = (place / u64::BITS) as usize;
        let mut bits = self.blocks.get(first)?.bits() & (u64::MAX << (place % u64::BITS));
        let mut later = self.blocks[first + 1..].iter().map(|block| block.bits());
        let mut block = first as u32;
        while bits == 0 {
            (bits, block) = (later.next()?, block + 1);
        }
        Some(block * u64::BITS + bits.trailing_zeros())
    }

    /// The number of marks among the first `places` events.
    #[inline]
    pub(crate) fn before(&self, places: u32) -> u32 {
        match self.blocks.get((places / u64::BITS) as usize) {
            Some(block) => block.before + (block.bits() & !(u64::MAX << (places % u64::BITS))).count_ones(),
            None => self.blocks.last().map_or(0, |last| last.until_end()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn counts_what_a_list_counts() {
        let marked: Vec<bool> = (0_u32..1000)
            .map(|place| place.wrapping_mul(2_654_435_761) >> 29 == 0)
            .collect();
        for len in [0, 1, 63, 64, 65, 128, 1000] {
            let mut marks = Marks::default();
            marked[..len].iter().for_each(|&mark| marks.push(mark));
            for place in 0..=len {
                let before = marked[..place].iter().filter(|&&mark| mark).count();
                assert_eq!(marks.before(place as u32) as usize, before, "{place} of {len}");
            }
            assert!((0..len).all(|place| marks.has(place as u32) == marked[place]));
            let mut skipped = Marks::default();
            for place in (0..len).filter(|&place| marked[place]) {
                skipped.skip_to(place as u32);
                skipped.push(true);
            }
            for place in 0..=len as u32 {
                assert_eq!(skipped.before(place), marks.before(place));
                assert_eq!(skipped.next(place), marks.next(place));
                assert_eq!(skipped.has(place), (place as usize) < len && marks.has(place));
            }
            for place in 0..=len {
                let next = (place..len).find(|&place| marked[place]);
                assert_eq!(
                    marks.next(place as u32).map(|next| next as usize),
                    next,
                    "{place} of {len}"
                );
            }
            let last = len.checked_sub(1).map(|last| marked[last]);
            let before = marks.before(len as u32);
            assert_eq!(marks.mark_last(), last == Some(false));
            assert_eq!(marks.before(len as u32), before + u32::from(last == Some(false)));
        }
    }
}
