//! Long columns of numbers in little memory, with each of them at hand.
//!
//! What is known of each event of a trace is mostly a number, and neighbors are near to each other: the places of a loop,
//! the variables that it uses, the events of a thread. So a [`Column`] keeps, of each block of numbers, the least, and of
//! each number only how far it is from that, in as many bits as the farthest one takes (frame of reference: Goldstein,
//! Ramakrishnan and Shaft 1998, *Compressing relations and indexes*). Of numbers that rise evenly, as those of a thread's
//! events do, that is how far they are from a line. A number is found without the ones before it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// Numbers of a block.
const BLOCK: usize = 256;

/// Bytes that are read at once, wherever a number begins: so many follow the last one.
const WORD: usize = size_of::<u64>();

/// Bytes of a number that has all its bits.
const NUMBER: usize = size_of::<u32>();

/// What is a number of 32 bits, one after the other.
#[derive(Clone)]
pub struct Column<T = u32> {
    blocks: Vec<Block>,
    /// Block by block; behind them, as many bytes as are read at once.
    bytes: Vec<u8>,
    len: usize,
    /// Where the next number goes, if the last block is not full.
    next: usize,
    /// Whether the last block is packed although it is not full.
    is_ended: bool,
    of: PhantomData<T>,
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column {
            blocks: Vec::new(),
            bytes: Vec::new(),
            len: 0,
            next: 0,
            is_ended: false,
            of: PhantomData,
        }
    }
}

/// A block of numbers.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Where it begins among the bytes, and, in the lowest [`WIDTH`] bits, the bits of each number.
    at: [u32; 2],
    /// The first number.
    first: u32,
    least: u32,
    /// How much more the least is for each further number, in units of 1/2^[`FRACTION`].
    rise: u32,
}

/// Bits behind the point.
const FRACTION: u32 = 16;

/// Bits in which a number of bits is written.
const WIDTH: u32 = 6;

impl Block {
    #[inline]
    fn new(at: usize, least: u32, width: u32) -> Block {
        let at = (at as u64) << WIDTH | u64::from(width);
        Block {
            at: [at as u32, (at >> u32::BITS) as u32],
            first: least,
            least,
            rise: 0,
        }
    }

    #[inline]
    fn at(self) -> usize {
        ((u64::from(self.at[1]) << u32::BITS | u64::from(self.at[0])) >> WIDTH) as usize
    }

    #[inline]
    fn width(self) -> u32 {
        self.at[0] & mask(WIDTH)
    }

    #[inline]
    fn get(self, bytes: &[u8], place: usize) -> u32 {
        let bit = place * self.width() as usize;
        let from = self.at() + bit / 8;
        // All of them are there: so many bytes follow the last number.
        let word = bytes.get(from..from + WORD).and_then(|word| word.try_into().ok());
        let word = u64::from_le_bytes(word.unwrap_or_default()) >> (bit % 8);
        let least = self.least.wrapping_add(risen(place, self.rise));
        least.wrapping_add(word as u32 & mask(self.width()))
    }
}

/// How much more the least is at a place of a block.
#[inline]
fn risen(place: usize, rise: u32) -> u32 {
    ((place as u64 * u64::from(rise)) >> FRACTION) as u32
}

/// Between the numbers below zero and the others, if there are as many of each.
const AMID: u32 = 1 << (u32::BITS - 1);

/// Changes each of a block's numbers, given how much more the least is there.
#[inline]
fn each_risen(numbers: &mut [u32], rise: u32, change: impl Fn(u32, u32) -> u32) {
    let mut risen = 0_u64;
    for number in numbers {
        *number = change(*number, (risen >> FRACTION) as u32);
        risen += u64::from(rise);
    }
}

/// Takes the least of some numbers from each. Returns it, and how many bits they have then.
#[inline]
fn lower(numbers: &mut [u32]) -> (u32, u32) {
    let least = numbers.iter().fold(u32::MAX, |least, &number| least.min(number));
    numbers.iter_mut().for_each(|number| *number -= least);
    (least, width_of(numbers.iter().fold(0, |all, number| all | number)))
}

/// The bits of a number.
#[inline]
fn width_of(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// Writes numbers of so many bits one behind the other, in groups of which each is put together in one word: `GROUP` of
/// them, and the bits before the first one's byte, fit into that. What is there to be written to is zero.
#[inline]
fn pack<const GROUP: usize>(numbers: &[u32; BLOCK], count: usize, width: u32, packed: &mut [u8]) {
    let mut bit = 0;
    for group in numbers.chunks_exact(GROUP).take(count.div_ceil(GROUP)) {
        let all = group.iter().rev();
        let word = all.fold(0, |word, &number| word << width | u64::from(number));
        let there = &mut packed[bit / 8..][..WORD];
        let before = u64::from(there[0]);
        there.copy_from_slice(&(word << (bit % 8) | before).to_le_bytes());
        bit += GROUP * width as usize;
    }
}

/// Reads numbers that [`pack`] has written. Of a last block that is not full, what is behind its numbers is no number.
#[inline]
fn unpack<const GROUP: usize>(bytes: &[u8], width: u32, numbers: &mut [u32; BLOCK]) {
    let (mut bit, mask) = (0, mask(width));
    for group in numbers.chunks_exact_mut(GROUP) {
        // Of a group of which one number is there, all bytes are: so many follow the last number.
        let Some(word) = bytes.get(bit / 8..bit / 8 + WORD).and_then(|word| word.try_into().ok()) else {
            break;
        };
        let mut word = u64::from_le_bytes(word) >> (bit % 8);
        for number in group {
            *number = word as u32 & mask;
            word >>= width;
        }
        bit += GROUP * width as usize;
    }
}

/// So many bits.
#[inline]
fn mask(width: u32) -> u32 {
    ((1_u64 << width) - 1) as u32
}

impl<T: Copy + From<u32> + Into<u32>> Column<T> {
    /// Goes on by one number.
    #[inline]
    pub fn push(&mut self, number: T) {
        let number = number.into();
        let Some(room) = self.room() else {
            return self.push_first(number);
        };
        *room = number.to_le_bytes();
        self.next += NUMBER;
        self.len += 1;
        if self.len.is_multiple_of(BLOCK) {
            self.pack_last();
        }
    }

    /// Room for the next number: none, if there is none behind it to be read at once. So there is none behind a block that
    /// is packed.
    #[inline]
    fn room(&mut self) -> Option<&mut [u8; NUMBER]> {
        let room: &mut [u8; NUMBER + WORD] = self.bytes.get_mut(self.next..)?.first_chunk_mut()?;
        room.first_chunk_mut()
    }

    /// Goes on by a number for which there is no room yet.
    #[cold]
    fn push_first(&mut self, number: u32) {
        if self.len.is_multiple_of(BLOCK) || self.is_ended {
            self.begin(number);
        }
        if self.room().is_none() {
            self.grow(1);
        }
        self.push(number.into());
    }

    /// Goes on by the same number so many times.
    #[inline]
    pub fn push_many(&mut self, number: T, times: usize) {
        match times {
            0 => {}
            1 => self.push(number),
            _ => self.push_several(number, times),
        }
    }

    fn push_several(&mut self, number: T, times: usize) {
        let bytes = number.into().to_le_bytes();
        let mut left = times;
        while left > 0 {
            let place = self.len % BLOCK;
            let some = left.min(BLOCK - place);
            if some == BLOCK {
                let at = self.bytes.len().saturating_sub(WORD);
                self.blocks.push(Block::new(at, number.into(), 0));
                self.bytes.resize(at + WORD, 0);
                self.len += BLOCK;
            } else {
                if place == 0 || self.is_ended {
                    self.begin(number.into());
                }
                if self.bytes.len() < self.next + some * NUMBER + WORD {
                    self.grow(some);
                }
                let there = &mut self.bytes[self.next..][..some * NUMBER];
                there
                    .chunks_exact_mut(NUMBER)
                    .for_each(|there| there.copy_from_slice(&bytes));
                self.next += some * NUMBER;
                self.len += some;
                if place + some == BLOCK {
                    self.pack_last();
                }
            }
            left -= some;
        }
    }

    /// Begins a block with a number.
    #[cold]
    fn begin(&mut self, number: u32) {
        if self.is_ended && !self.len.is_multiple_of(BLOCK) {
            return self.unpack_last();
        }
        self.is_ended = false;
        self.next = self.bytes.len().saturating_sub(WORD);
        self.blocks.push(Block {
            first: number,
            ..Block::new(self.next, 0, u32::BITS)
        });
        self.bytes.resize(self.next + WORD, 0);
    }

    /// Makes room for so many numbers in the last block: as long as it is not full, they have all their bits. The first
    /// block grows with its numbers, since there may be thousands of columns with one or two.
    #[cold]
    fn grow(&mut self, numbers: usize) {
        let (block, begun) = (self.len / BLOCK * BLOCK, self.len % BLOCK);
        let room = match block {
            0 => (2 * begun).max(begun + numbers).min(BLOCK),
            _ => BLOCK,
        };
        self.bytes.resize(self.next + (room - begun) * NUMBER + WORD, 0);
    }

    /// Gives the numbers of the last block all their bits again.
    fn unpack_last(&mut self) {
        let begin = (self.len - 1) / BLOCK * BLOCK;
        let numbers: Vec<T> = self.excerpt(begin..self.len).collect();
        if let Some(block) = self.blocks.pop() {
            self.bytes.truncate(block.at() + WORD);
        }
        self.is_ended = false;
        self.len = begin;
        numbers.into_iter().for_each(|number| self.push(number));
    }

    /// Brings the last block, in which numbers have all their bits, to the bits that they need.
    fn pack_last(&mut self) {
        let Some(block) = self.blocks.last_mut() else { return };
        let (at, count) = (block.at(), (self.len - 1) % BLOCK + 1);
        let mut numbers = [0; BLOCK];
        let whole = self.bytes[at..][..count * NUMBER].chunks_exact(NUMBER);
        for (number, bytes) in numbers.iter_mut().zip(whole) {
            *number = bytes.try_into().map_or(0, u32::from_le_bytes);
        }
        let there = &mut numbers[..count];
        let (first, last) = (there[0], there[count - 1]);
        let (mut least, mut width) = lower(there);
        let mut rise = 0;
        // Numbers that rise are least at first and most at last.
        if width > 1
            && first == least
            && width_of(last - least) == width
            && let Ok(steady) = u32::try_from((u64::from(last - first) << FRACTION) / (count as u64 - 1))
        {
            let mut beyond = numbers;
            let there = &mut beyond[..count];
            each_risen(there, steady, |number, risen| {
                number.wrapping_sub(risen).wrapping_add(AMID)
            });
            let (lower, fewer) = lower(there);
            if fewer < width {
                numbers = beyond;
                (least, width, rise) = (least.wrapping_add(lower).wrapping_sub(AMID), fewer, steady);
            }
        }
        *block = Block {
            first,
            rise,
            ..Block::new(at, least, width)
        };
        // Behind the last number are zeros, up to the end of its group, too.
        let mut packed = [0; BLOCK * NUMBER + WORD];
        match width {
            0 => {}
            1..=8 => pack::<8>(&numbers, count, width, &mut packed),
            9..=16 => pack::<4>(&numbers, count, width, &mut packed),
            17..=29 => pack::<2>(&numbers, count, width, &mut packed),
            _ => pack::<1>(&numbers, count, width, &mut packed),
        }
        let used = (count * width as usize).div_ceil(8) + WORD;
        self.bytes.truncate(at + used);
        self.bytes[at..].copy_from_slice(&packed[..used]);
    }

    /// No number follows: gives back the room that was kept for some.
    pub fn end(&mut self) {
        if !self.len.is_multiple_of(BLOCK) && !self.is_ended {
            self.pack_last();
            self.is_ended = true;
        }
        self.bytes.shrink_to_fit();
        self.blocks.shrink_to_fit();
    }

    /// How many there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at a place.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[inline]
    pub fn at(&self, place: usize) -> T {
        debug_assert!(place < self.len);
        self.blocks[place / BLOCK].get(&self.bytes, place % BLOCK).into()
    }

    /// The number at a place, if there is one.
    #[must_use]
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        (place < self.len).then(|| self.at(place))
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> Excerpt<'_, T> {
        self.excerpt(0..self.len)
    }

    /// Those at some places.
    ///
    /// # Panics
    /// If these are not all there.
    #[must_use]
    pub fn excerpt(&self, places: Range<usize>) -> Excerpt<'_, T> {
        assert!(places.start <= places.end && places.end <= self.len);
        Excerpt {
            blocks: &self.blocks,
            bytes: &self.bytes,
            places,
            of: PhantomData,
        }
    }

    /// For whoever reads most numbers, one after the other.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_, T> {
        self.all().cursor()
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.blocks.len() * size_of::<Block>()
    }
}

impl<T: Copy + From<u32> + Into<u32> + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

impl<T: Copy + From<u32> + Into<u32>> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Column<T> {
        let mut column = Column::default();
        numbers.into_iter().for_each(|number| column.push(number));
        column.end();
        column
    }
}

/// Some numbers of a column, one after the other.
pub struct Excerpt<'c, T = u32> {
    blocks: &'c [Block],
    bytes: &'c [u8],
    places: Range<usize>,
    of: PhantomData<T>,
}

/// Nothing.
impl<T> Default for Excerpt<'_, T> {
    fn default() -> Self {
        Excerpt {
            blocks: &[],
            bytes: &[],
            places: 0..0,
            of: PhantomData,
        }
    }
}

impl<T> Clone for Excerpt<'_, T> {
    fn clone(&self) -> Self {
        Excerpt {
            places: self.places.clone(),
            ..*self
        }
    }
}

impl<'c, T: Copy + From<u32> + Into<u32>> Excerpt<'c, T> {
    /// That at a place of the column.
    #[inline]
    fn number(&self, place: usize) -> T {
        self.blocks[place / BLOCK].get(self.bytes, place % BLOCK).into()
    }

    /// The number at a place among them.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[inline]
    pub fn at(&self, place: usize) -> T {
        debug_assert!(place < self.len());
        self.number(self.places.start + place)
    }

    /// The number at a place among them, if there is one.
    #[must_use]
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        (place < self.len()).then(|| self.at(place))
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The first one.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.get(0)
    }

    /// The last one.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Those from some place among them on, and before another.
    ///
    /// # Panics
    /// If these are not all there.
    #[must_use]
    #[inline]
    pub fn excerpt(&self, places: Range<usize>) -> Excerpt<'c, T> {
        assert!(places.start <= places.end && places.end <= self.len());
        Excerpt {
            places: self.places.start + places.start..self.places.start + places.end,
            ..*self
        }
    }

    /// Those from some place among them on.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    #[inline]
    pub fn from(&self, place: usize) -> Excerpt<'c, T> {
        self.excerpt(place..self.len())
    }

    /// So many of the first ones.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    #[inline]
    pub fn until(&self, place: usize) -> Excerpt<'c, T> {
        self.excerpt(0..place)
    }

    /// The same, one after the other, for whoever reads most of them: less time for each, and a kilobyte of memory.
    #[must_use]
    pub fn unpacked(self) -> Unpacked<'c, T> {
        Unpacked {
            cursor: self.cursor(),
            places: self.places,
        }
    }

    /// Finds numbers by their places in the column.
    fn cursor(&self) -> Cursor<'c, T> {
        Cursor {
            blocks: self.blocks,
            bytes: self.bytes,
            block: usize::MAX,
            numbers: [0; BLOCK],
            of: PhantomData,
        }
    }

    /// How many of the first ones are such, if none of the others is.
    #[must_use]
    #[inline]
    pub fn partition_point(&self, is_such: impl Fn(T) -> bool) -> usize {
        let (mut low, mut high) = (self.places.start, self.places.end);
        // First among the blocks, by the numbers that these begin with.
        let (mut first, mut last) = (low / BLOCK + 1, high.div_ceil(BLOCK));
        while first < last {
            let middle = first + (last - first) / 2;
            match is_such(self.blocks[middle].first.into()) {
                true => (first, low) = (middle + 1, middle * BLOCK + 1),
                false => (last, high) = (middle, middle * BLOCK),
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match is_such(self.number(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low - self.places.start
    }
}

impl<T: Copy + From<u32> + Into<u32>> Excerpt<'_, T> {
    /// As [`partition_point`](Self::partition_point), for whoever knows of some first ones that they are such. Takes time
    /// by how many more there are.
    #[must_use]
    pub fn partition_point_from(&self, known: usize, is_such: impl Fn(T) -> bool) -> usize {
        let (mut low, mut step) = (known, 1);
        while low + step <= self.len() && is_such(self.at(low + step - 1)) {
            low += step;
            step *= 2;
        }
        let mut high = self.len().min(low + step - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match is_such(self.at(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl<T: Copy + From<u32> + Into<u32>> Iterator for Excerpt<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let place = self.places.next()?;
        Some(self.number(place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }

    #[inline]
    fn nth(&mut self, further: usize) -> Option<T> {
        let place = self.places.nth(further)?;
        Some(self.number(place))
    }

    fn last(self) -> Option<T> {
        Excerpt::last(&self)
    }

    /// Looks for each block once.
    #[inline]
    fn fold<A, F: FnMut(A, T) -> A>(self, first: A, mut each: F) -> A {
        let (mut folded, Range { start: mut from, end }) = (first, self.places);
        while from < end {
            let (block, begin) = (self.blocks[from / BLOCK], from / BLOCK * BLOCK);
            let until = end.min(begin + BLOCK);
            for place in from - begin..until - begin {
                folded = each(folded, block.get(self.bytes, place).into());
            }
            from = until;
        }
        folded
    }
}

impl<T: Copy + From<u32> + Into<u32>> DoubleEndedIterator for Excerpt<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let place = self.places.next_back()?;
        Some(self.number(place))
    }
}

impl<T: Copy + From<u32> + Into<u32>> ExactSizeIterator for Excerpt<'_, T> {}

impl<T: Copy + From<u32> + Into<u32> + fmt::Debug> fmt::Debug for Excerpt<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Some numbers of a column, one after the other, unpacked a block at a time.
#[derive(Clone, Debug)]
pub struct Unpacked<'c, T = u32> {
    cursor: Cursor<'c, T>,
    places: Range<usize>,
}

impl<T: Copy + From<u32> + Into<u32>> Iterator for Unpacked<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let place = self.places.next()?;
        Some(self.cursor.at(place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl<T: Copy + From<u32> + Into<u32>> ExactSizeIterator for Unpacked<'_, T> {}

/// Finds numbers of a column a block at a time.
#[derive(Clone)]
pub struct Cursor<'c, T = u32> {
    blocks: &'c [Block],
    bytes: &'c [u8],
    /// Whose numbers it has.
    block: usize,
    numbers: [u32; BLOCK],
    of: PhantomData<T>,
}

impl<T: Copy + From<u32> + Into<u32>> Cursor<'_, T> {
    /// The number at a place.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[inline]
    pub fn at(&mut self, place: usize) -> T {
        if place / BLOCK != self.block {
            self.go_to(place / BLOCK);
        }
        self.numbers[place % BLOCK].into()
    }

    #[inline(never)]
    fn go_to(&mut self, number: usize) {
        let block = self.blocks[number];
        let bytes = &self.bytes[block.at()..];
        let numbers = &mut self.numbers;
        match block.width() {
            0 => numbers.fill(0),
            width @ 1..=8 => unpack::<8>(bytes, width, numbers),
            width @ 9..=16 => unpack::<4>(bytes, width, numbers),
            width @ 17..=29 => unpack::<2>(bytes, width, numbers),
            width => unpack::<1>(bytes, width, numbers),
        }
        let least = block.least;
        numbers
            .iter_mut()
            .for_each(|number| *number = number.wrapping_add(least));
        if block.rise > 0 {
            each_risen(numbers, block.rise, u32::wrapping_add);
        }
        self.block = number;
    }
}

impl<T> fmt::Debug for Cursor<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as differently far from each other as there are bits, with jumps.
    fn numbers(random: &mut fastrand::Rng, count: usize) -> Vec<u32> {
        let mut found = Vec::with_capacity(count);
        let (mut from, mut width) = (0, 0);
        for place in 0..count {
            if place == 0 || random.u32(0..200) == 0 {
                (from, width) = (random.u32(..) >> random.u32(0..32), random.u32(0..=32));
            }
            found.push(from.wrapping_add(random.u32(..) & mask(width)));
        }
        found
    }

    #[test]
    fn every_number_is_at_hand() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [0, 1, 2, 255, 256, 257, 511, 512, 513, 5000, 20_000] {
            let all = numbers(&mut random, count);
            let mut column: Column = Column::default();
            for (place, &number) in all.iter().enumerate() {
                column.push(number);
                // Before its block is packed, too.
                assert_eq!(column.get(place), Some(number));
            }
            for ended in [false, true] {
                if ended {
                    column.end();
                }
                assert_eq!((column.len(), column.is_empty()), (count, count == 0));
                assert_eq!(column.all().collect::<Vec<_>>(), all);
                assert!(column.all().rev().eq(all.iter().rev().copied()));
                assert!(column.all().unpacked().eq(all.iter().copied()));
                let mut cursor = column.cursor();
                assert!((0..count).map(|place| cursor.at(place)).eq(all.iter().copied()));
                assert!((0..count).rev().all(|place| cursor.at(place) == all[place]));
                assert_eq!(column.get(count), None);
            }
            let again: Column = all.iter().copied().collect();
            assert!(again.all().eq(column.all()));
            if count > 0 {
                let (from, until) = (random.usize(0..count), random.usize(0..=count));
                let (from, until) = (from.min(until), from.max(until));
                let excerpt = column.excerpt(from..until);
                assert!(excerpt.clone().eq(all[from..until].iter().copied()));
                assert!(excerpt.clone().unpacked().eq(all[from..until].iter().copied()));
                let mut folded = Vec::new();
                excerpt.clone().for_each(|number| folded.push(number));
                assert_eq!(folded, all[from..until]);
                let middle = excerpt.len() / 2;
                assert!(
                    excerpt
                        .excerpt(middle..excerpt.len())
                        .eq(all[from + middle..until].iter().copied())
                );
            }
        }
    }

    #[test]
    fn numbers_follow_what_was_ended() {
        let mut column: Column = [7, 8, 7].into_iter().collect();
        assert_eq!(column.bytes(), size_of::<Block>() + 1 + WORD);
        column.push_many(9, 252);
        assert_eq!(column.len(), 255);
        assert!(column.all().eq([7, 8, 7].into_iter().chain([9; 252])));
    }

    #[test]
    fn the_same_many_times_is_what_one_by_one_gives() {
        let mut random = fastrand::Rng::with_seed(2);
        let (mut column, mut all) = (Column::<u32>::default(), Vec::new());
        for _ in 0..200 {
            let (number, times) = (random.u32(..), random.usize(0..1000));
            column.push_many(number, times);
            all.resize(all.len() + times, number);
        }
        assert_eq!(column.all().collect::<Vec<_>>(), all);
        column.end();
        assert_eq!(column.all().collect::<Vec<_>>(), all);
    }

    #[test]
    fn a_place_is_found_by_halves() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut all = numbers(&mut random, 1000);
        all.sort_unstable();
        let column: Column = all.iter().copied().collect();
        for _ in 0..1000 {
            let (from, until) = (random.usize(0..500), random.usize(500..1000));
            let bound = random.u32(..) >> random.u32(0..32);
            let excerpt = column.excerpt(from..until);
            let point = all[from..until].partition_point(|&number| number < bound);
            assert_eq!(excerpt.partition_point(|number| number < bound), point);
            let known = random.usize(0..=point);
            assert_eq!(excerpt.partition_point_from(known, |number| number < bound), point);
        }
    }

    #[test]
    fn numbers_that_rise_take_little() {
        let mut random = fastrand::Rng::with_seed(4);
        for steep in [1, 7, 1000, 16_000_000] {
            let mut number = 0_u32;
            let all: Vec<u32> = std::iter::repeat_with(|| {
                number = number.saturating_add(steep - random.u32(0..=steep / 8));
                number
            })
            .take(200 * BLOCK)
            .collect();
            let column: Column = all.iter().copied().collect();
            assert_eq!(column.all().collect::<Vec<_>>(), all);
            // What they are from one block's begin to its end takes eight bits more.
            let bits = column.bytes() * 8 / all.len();
            assert!(bits <= (steep.ilog2() + 6) as usize, "{steep}: {bits}");
        }
    }

    #[test]
    fn few_numbers_take_little_from_the_beginning() {
        let mut column: Column = Column::default();
        for count in 1..BLOCK {
            column.push(count as u32);
            assert!(
                column.bytes() <= size_of::<Block>() + 2 * count * NUMBER + WORD,
                "{count}"
            );
        }
    }

    #[test]
    fn near_numbers_take_little() {
        let column: Column = (0..1 << 20).map(|number| 4_000_000_000 + number % 3).collect();
        assert!(column.bytes() < (1 << 20) * 11 / 32);
        let mut same: Column = Column::default();
        same.push_many(5, 1 << 20);
        same.end();
        assert!(same.bytes() < (1 << 20) / 12);
    }
}
