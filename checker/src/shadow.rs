//! The ranges that accesses touch, by their first byte: programs walk over memory, so what is known of neighbors lies
//! side by side here, where a table of hashes would have it far apart. The analysis has the same table for itself, on
//! purpose: a fault in one that both used would be noticed by neither.

use hashbrown::HashMap;

/// Addresses of a page, and of a line, in bits.
const PAGE: u32 = 12;
const LINE: u32 = 4;

/// Pages that are found without a look at the table of all.
const NEAR: usize = 64;

/// Lines that memory is asked for at once.
const LINES: usize = 1 << 12;

/// No line, or no range.
const NONE: u32 = 0;

/// Of the two kinds of lines, the wide one.
const WIDE: u32 = 1;

/// Numbers of a wide line, one for each address; and of a narrow one, for those that are multiples of four. Most lines are
/// narrow: few ranges begin elsewhere.
const EACH: usize = 1 << LINE;
const FOURTH: usize = EACH / 4;

/// A number for each address, or none.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// The table of each page.
    pages: HashMap<u64, u32>,
    near: [(u64, u32); NEAR],
    /// The lines of each page: the number of each, twice, and [`WIDE`] if it is that.
    tables: Vec<[u32; 1 << (PAGE - LINE)]>,
    narrow: Lines<FOURTH>,
    wide: Lines<EACH>,
}

impl Default for Shadow {
    fn default() -> Shadow {
        Shadow {
            pages: HashMap::new(),
            near: [(u64::MAX, 0); NEAR],
            tables: Vec::new(),
            narrow: Lines::new(),
            wide: Lines::new(),
        }
    }
}

/// Lines of so many numbers.
#[derive(Debug)]
struct Lines<const N: usize> {
    all: Vec<Vec<[u32; N]>>,
    /// Those that nobody has any more: nothing is in them.
    free: Vec<u32>,
}

impl<const N: usize> Lines<N> {
    /// The first line is none.
    fn new() -> Self {
        Lines {
            all: vec![vec![[NONE; N]]],
            free: Vec::new(),
        }
    }

    #[inline]
    fn line(&mut self, line: u32) -> &mut [u32; N] {
        &mut self.all[line as usize / LINES][line as usize % LINES]
    }

    fn new_line(&mut self) -> u32 {
        if let Some(line) = self.free.pop() {
            return line;
        }
        if self.all.last().is_none_or(|lines| lines.len() == LINES) {
            self.all.push(Vec::with_capacity(LINES));
        }
        let full = (self.all.len() - 1) * LINES;
        assert!(full < (u32::MAX >> 1) as usize, "a trace has fewer lines");
        let last = self.all.last_mut().expect("one was pushed");
        last.push([NONE; N]);
        (full + last.len() - 1) as u32
    }
}

impl Shadow {
    /// What is kept at an address: 0 at first, and again after [`clear`](Self::clear).
    #[inline]
    pub(crate) fn at(&mut self, addr: u64) -> &mut u32 {
        let page = addr >> PAGE;
        let table = match self.near[page as usize % NEAR] {
            (near, table) if near == page => table,
            _ => self.table(page),
        };
        let place = (addr >> LINE) as usize % (1 << (PAGE - LINE));
        let line = &mut self.tables[table as usize][place];
        if *line & WIDE == 0 {
            if addr.is_multiple_of(4) {
                if *line == NONE {
                    *line = self.narrow.new_line() << 1;
                }
                return &mut self.narrow.line(*line >> 1)[addr as usize / 4 % FOURTH];
            }
            *line = widened(*line, &mut self.narrow, &mut self.wide);
        }
        &mut self.wide.line(*line >> 1)[addr as usize % EACH]
    }

    fn table(&mut self, page: u64) -> u32 {
        let tables = &mut self.tables;
        let table = *self.pages.entry(page).or_insert_with(|| {
            tables.push([NONE; 1 << (PAGE - LINE)]);
            tables.len() as u32 - 1
        });
        self.near[page as usize % NEAR] = (page, table);
        table
    }

    /// Forgets what is kept in `[start, end)`.
    pub(crate) fn clear(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let all = start >> PAGE..=(end - 1) >> PAGE;
        let pages: Vec<(u64, u32)> = if all.end() - all.start() < self.pages.len() as u64 {
            let known = all.filter_map(|page| Some((page, *self.pages.get(&page)?)));
            known.collect()
        } else {
            let known = self.pages.iter().map(|(&page, &table)| (page, table));
            known.filter(|(page, _)| all.contains(page)).collect()
        };
        for (page, table) in pages {
            for place in 0..1 << (PAGE - LINE) {
                let first = page << PAGE | (place as u64) << LINE;
                let last = first | ((1 << LINE) - 1);
                let line = self.tables[table as usize][place];
                if line == NONE || last < start || first >= end {
                    continue;
                }
                // Whose range begins within the line, and where that ends.
                let from = start.saturating_sub(first) as usize;
                let until = (last.min(end - 1) - first) as usize;
                let is_all = start <= first && last < end;
                if is_all {
                    self.tables[table as usize][place] = NONE;
                }
                if line & WIDE == 0 {
                    self.narrow.line(line >> 1)[from.div_ceil(4)..=until / 4].fill(NONE);
                    self.narrow.free.extend(is_all.then_some(line >> 1));
                } else {
                    self.wide.line(line >> 1)[from..=until].fill(NONE);
                    self.wide.free.extend(is_all.then_some(line >> 1));
                }
            }
        }
    }
}

/// The wide line in place of a narrow one, or of none.
#[cold]
fn widened(line: u32, narrow: &mut Lines<FOURTH>, wide: &mut Lines<EACH>) -> u32 {
    let number = wide.new_line();
    if line != NONE {
        let numbers = std::mem::replace(narrow.line(line >> 1), [NONE; FOURTH]);
        for (place, kept) in numbers.into_iter().enumerate() {
            wide.line(number)[4 * place] = kept;
        }
        narrow.free.push(line >> 1);
    }
    number << 1 | WIDE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn keeps_what_a_table_of_all_addresses_keeps() {
        let (mut shadow, mut all) = (Shadow::default(), BTreeMap::<u64, u32>::new());
        let mut number = 1_u64;
        let mut below = |bound: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) % bound
        };
        // Near to each other, and at the very ends.
        let bases = [0, 0x7fff_0000, u64::MAX - 20_000];
        for round in 1..200_000_u32 {
            let base = bases[below(3) as usize];
            // Most lie where a narrow line has them.
            let addr = base + if below(50) == 0 { below(20_000) } else { 4 * below(5000) };
            if below(50) == 0 {
                let size = if below(20) == 0 { below(1 << 50) } else { below(6000) };
                let end = addr.saturating_add(size);
                shadow.clear(addr, end);
                all.retain(|at, _| !(addr..end).contains(at));
            } else if below(2) == 0 {
                *shadow.at(addr) = round;
                all.insert(addr, round);
            } else {
                assert_eq!(*shadow.at(addr), all.get(&addr).copied().unwrap_or(0));
            }
        }
        assert!(!shadow.narrow.free.is_empty() && !shadow.wide.free.is_empty() && shadow.pages.len() > 10);
    }
}
