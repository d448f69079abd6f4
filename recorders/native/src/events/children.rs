//! Order through processes that came of this one: what one of them sends, or that it ends, may be its answer to anything
//! that it was told before, through whichever channel, or by a signal. What it makes of that happens there, and leaves
//! nothing in this trace.
//!
//! So each time a thread tells them something is a variable of the runtime's own. Who hears from them looks at the last
//! one of each thread. Between those who tell, or hear, there is no order.

use crate::events::images;
use crate::events::variable::{find_set, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::slot;
use core::cell::UnsafeCell;
use std::vec::Vec;

/// How often each thread told them something, of those that did.
static TOLD: Told = Told(UnsafeCell::new(Vec::new()));

struct Told(UnsafeCell<Vec<(u32, u64)>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Told {}

fn told() -> &'static mut Vec<(u32, u64)> {
    // SAFETY: as above; nothing that is called meanwhile comes back here.
    unsafe { &mut *TOLD.0.get() }
}

/// The variable of one time: among those of channels, of which the call that tells is one.
fn variable((thread, number): (u32, u64)) -> u64 {
    NOBODYS | 1 << 61 | 1 << 59 | u64::from(thread) << 36 | number << 4
}

/// The calling thread's number, where order matters.
fn caller() -> Option<u32> {
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    let thread = unsafe { slot().as_ref() }.filter(|_| images::are_taken())?;
    Some(thread.index.get())
}

/// The calling thread is about to tell them something.
pub fn tells(pc: usize) {
    let Some(me) = caller() else {
        return;
    };
    let told = told();
    let at = told.iter().position(|&(thread, _)| thread == me).unwrap_or_else(|| {
        told.push((me, 0));
        told.len() - 1
    });
    told[at].1 += 1;
    set(variable(told[at]), pc);
}

/// It has heard something that one of them has done.
pub fn hears(pc: usize) {
    let Some(me) = caller() else {
        return;
    };
    for &time in told().iter().filter(|&&(thread, _)| thread != me) {
        find_set(variable(time), pc);
    }
}

/// In a forked child: what its parent told others is not in its trace.
pub fn start_over() {
    told().clear();
}
