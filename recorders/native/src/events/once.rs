//! Order through what the process has once: the folder that paths begin in, the mask of permissions, its limits, and
//! what it does at a signal. Who asks for one of these, or makes a call that depends on it, comes after who changed it,
//! and before who changes it next; between two changes, or two questions, there is no order. So each is a
//! [variable](super::variable) that holds how often it was changed.

use crate::events::images;
use crate::events::variable::{load, step, store};
use crate::platform::memory::NOBODYS;
use core::cell::Cell;
use libc::{c_int, c_uint};

/// One of these.
#[derive(Clone, Copy)]
pub enum Once {
    /// The folder.
    Folder,
    /// The mask of permissions.
    Mask,
    /// The limit of a resource.
    Limit(c_uint),
    /// What is done at a signal.
    Action(c_int),
}

/// More than there are resources with limits.
const LIMITS: usize = 32;

/// More than there are signals.
const ACTIONS: usize = 128;

const COUNT: usize = 2 + LIMITS + ACTIONS;

/// How often each was changed.
struct Changes([Cell<u64>; COUNT]);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Changes {}

static CHANGES: Changes = Changes([const { Cell::new(0) }; COUNT]);

impl Once {
    fn number(self) -> usize {
        match self {
            Once::Folder => 0,
            Once::Mask => 1,
            // There are no others; the system says so.
            Once::Limit(resource) => 2 + (resource as usize).min(LIMITS - 1),
            Once::Action(signal) => 2 + LIMITS + (signal.max(0) as usize).min(ACTIONS - 1),
        }
    }

    /// The variable, and how often it was changed; nothing as long as there is one thread alone.
    fn known(self) -> Option<(u64, &'static Cell<u64>)> {
        let number = self.number();
        images::are_taken().then(|| (NOBODYS | 1 << 51 | (number as u64) << 3, &CHANGES.0[number]))
    }
}

/// The calling thread was told what there is, or makes use of it.
pub fn looks(what: Once, pc: usize) {
    if let Some((addr, count)) = what.known() {
        load(addr, count.get(), pc);
    }
}

/// It is about to change it.
pub fn changes(what: Once, pc: usize) {
    if let Some((addr, count)) = what.known() {
        count.set(count.get() + 1);
        store(addr, count.get(), pc);
    }
}

/// It is about to change it, and is told what there was.
pub fn exchanges(what: Once, pc: usize) {
    if let Some((addr, count)) = what.known() {
        step(addr, count.get(), pc);
        count.set(count.get() + 1);
    }
}

/// In a forked child, whose trace begins here.
pub fn start_over() {
    for count in &CHANGES.0 {
        count.set(0);
    }
}
