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

type Line = [u32; 1 << LINE];

/// A number for each address, or none.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// The table of each page.
    pages: HashMap<u64, u32>,
    near: [(u64, u32); NEAR],
    /// The lines of each page.
    tables: Vec<[u32; 1 << (PAGE - LINE)]>,
    lines: Vec<Vec<Line>>,
    /// Lines of which nobody has any more.
    free: Vec<u32>,
}

impl Default for Shadow {
    fn default() -> Shadow {
        Shadow {
            pages: HashMap::new(),
            near: [(u64::MAX, 0); NEAR],
            tables: Vec::new(),
            // The first line is none.
            lines: vec![vec![[NONE; 1 << LINE]]],
            free: Vec::new(),
        }
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
        let mut line = self.tables[table as usize][place];
        if line == NONE {
            line = self.new_line();
            self.tables[table as usize][place] = line;
        }
        &mut self.line(line)[addr as usize % (1 << LINE)]
    }

    #[inline]
    fn line(&mut self, line: u32) -> &mut Line {
        &mut self.lines[line as usize / LINES][line as usize % LINES]
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

    fn new_line(&mut self) -> u32 {
        if let Some(line) = self.free.pop() {
            return line;
        }
        if self.lines.last().is_none_or(|lines| lines.len() == LINES) {
            self.lines.push(Vec::with_capacity(LINES));
        }
        let full = (self.lines.len() - 1) * LINES;
        let last = self.lines.last_mut().expect("one was pushed");
        last.push([NONE; 1 << LINE]);
        (full + last.len() - 1) as u32
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
                if start <= first && last < end {
                    self.tables[table as usize][place] = NONE;
                    self.free.push(line);
                }
                let cleared = start.saturating_sub(first) as usize..=(last.min(end - 1) - first) as usize;
                self.line(line)[cleared].fill(NONE);
            }
        }
    }
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
            let addr = base + below(20_000);
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
        assert!(!shadow.free.is_empty() && shadow.pages.len() > 10);
    }
}
