//! Initializations that were made in vain, since they threw or their thread ended: who makes them again comes after
//! that. A variable of the runtime's own says how often it was so, one for each once cell.

use super::variable;
use core::cell::RefCell;
use std::collections::BTreeMap;

/// The variable and the count of each cell, by address.
struct Cells(RefCell<BTreeMap<usize, (u64, u64)>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Cells {}

static CELLS: Cells = Cells(RefCell::new(BTreeMap::new()));

/// In a forked child, whose trace begins with them as they are.
pub fn start_over() {
    CELLS.0.borrow_mut().clear();
}

/// The running thread has tried in vain.
pub fn ends(cell: usize, pc: usize) {
    let mut cells = CELLS.0.borrow_mut();
    let (known, count) = cells.entry(cell).or_insert_with(|| (variable::fresh(), 0));
    *count += 1;
    variable::store(*known, *count, pc);
}

/// The running thread tries, or tries again.
pub fn begins(cell: usize, pc: usize) {
    if let Some(&(known, count)) = CELLS.0.borrow().get(&cell) {
        variable::load(known, count, pc);
    }
}

/// It has been made: what stands there later is another cell.
pub fn is_made(cell: usize) {
    CELLS.0.borrow_mut().remove(&cell);
}
