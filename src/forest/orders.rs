//! Memory orders, by place in the code.
//!
//! An order is a constant nearly everywhere. Where it is not, the operations of a place are taken to do no more than each
//! of them does: so less is ordered than is, and a race that is not there for that may be looked for, but none missed.

use super::run::RunOperation;
use crate::semantics::synchronizes::{acquires, is_weak, releases};
use crate::trace::MemoryOrder;
use hashbrown::HashMap;

/// What has a memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomic {
    /// A load, or a compare-exchange that fails.
    Load,
    /// A store.
    Store,
    /// What reads and writes.
    ReadModifyWrite,
    /// A fence.
    Fence,
}

impl Atomic {
    /// What an operation of a run is, if it has an order.
    #[must_use]
    pub fn of(operation: &RunOperation) -> Option<Atomic> {
        match operation {
            RunOperation::AtomicLoad { .. } => Some(Atomic::Load),
            RunOperation::AtomicStore { .. } => Some(Atomic::Store),
            RunOperation::AtomicRmw { .. } => Some(Atomic::ReadModifyWrite),
            RunOperation::Fence => Some(Atomic::Fence),
            _ => None,
        }
    }

    fn is_weak(self, order: MemoryOrder) -> bool {
        match self {
            Atomic::Load => is_weak(true, false, order),
            Atomic::Store => is_weak(false, true, order),
            Atomic::ReadModifyWrite => is_weak(true, true, order),
            // It only adds to what is ordered.
            Atomic::Fence => false,
        }
    }
}

/// What the order of an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// Its thread learns what was released where it reads; a fence, where its thread has read.
    pub acquires: bool,
    /// What its thread knows is released where it writes; by a fence, where its thread will write.
    pub releases: bool,
}

impl Strength {
    /// That of an order.
    #[must_use]
    pub fn of(order: MemoryOrder) -> Strength {
        Strength {
            acquires: acquires(order),
            releases: releases(order),
        }
    }
}

/// Those of all places.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    known: HashMap<(u64, Atomic), Strength>,
    weak: bool,
}

impl Orders {
    /// Whether an operation is weak: then there may be unordered races.
    pub(super) fn are_weak(&self) -> bool {
        self.weak
    }

    /// That of the operations of one kind at a place; none if there was none.
    pub(super) fn at(&self, position: u64, what: Atomic) -> Option<Strength> {
        self.known.get(&(position, what)).copied()
    }

    /// One was performed.
    pub(super) fn note(&mut self, position: u64, what: Atomic, order: MemoryOrder) {
        self.weak |= what.is_weak(order);
        let new = Strength::of(order);
        let known = self.known.entry((position, what)).or_insert(new);
        known.acquires &= new.acquires;
        known.releases &= new.releases;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_a_place_do_what_each_of_them_does() {
        let mut orders = Orders::default();
        orders.note(1, Atomic::Load, MemoryOrder::Acquire);
        orders.note(1, Atomic::Store, MemoryOrder::SeqCst);
        orders.note(2, Atomic::Fence, MemoryOrder::Relaxed);
        assert!(!orders.are_weak());
        orders.note(1, Atomic::Store, MemoryOrder::Relaxed);
        assert!(orders.are_weak());
        let strength = |acquires, releases| Some(Strength { acquires, releases });
        assert_eq!(orders.at(1, Atomic::Load), strength(true, false));
        assert_eq!(orders.at(1, Atomic::Store), strength(false, false));
        assert_eq!(orders.at(2, Atomic::Load), None);
    }
}
