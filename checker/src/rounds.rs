//! Barriers, semaphores and once cells: synchronization that counts.
//!
//! Stricter than the table in one point: a thread *arrives* at round g of a barrier only when all
//! earlier rounds are complete. The round that an arrival belongs to is decided by how many came
//! before it, so in an execution it would otherwise be another round's.

use crate::before::Facts;
use crate::disabled::Disabled;
use hashbrown::{HashMap, HashSet};
use trace_format::ObjectId;

/// The state of all counting synchronization.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    arrived: HashMap<(ObjectId, u32), u32>,
    permits: HashMap<ObjectId, u64>,
    initialized: HashSet<ObjectId>,
}

impl Rounds {
    pub(crate) fn enter(&mut self, facts: &Facts, barrier: ObjectId, round: u32) -> Result<(), Disabled> {
        // The round before is enough: its own arrivals needed the one before that.
        if let Some(current) = round
            .checked_sub(1)
            .filter(|&before| !self.complete(facts, barrier, before))
        {
            return Err(Disabled::EarlierRound {
                barrier,
                round,
                current,
            });
        }
        *self.arrived.entry((barrier, round)).or_default() += 1;
        Ok(())
    }

    pub(crate) fn exit(&self, facts: &Facts, barrier: ObjectId, round: u32) -> Result<(), Disabled> {
        if self.complete(facts, barrier, round) {
            return Ok(());
        }
        Err(Disabled::BarrierClosed {
            barrier,
            round,
            arrived: self.arrived(barrier, round),
            of: facts.arrivals(barrier, round),
        })
    }

    fn arrived(&self, barrier: ObjectId, round: u32) -> u32 {
        self.arrived.get(&(barrier, round)).copied().unwrap_or(0)
    }

    fn complete(&self, facts: &Facts, barrier: ObjectId, round: u32) -> bool {
        self.arrived(barrier, round) == facts.arrivals(barrier, round)
    }

    pub(crate) fn grant(&mut self, semaphore: ObjectId, permits: u32) {
        self.permits.insert(semaphore, u64::from(permits));
    }

    pub(crate) fn post(&mut self, semaphore: ObjectId) {
        *self.permits.entry(semaphore).or_default() += 1;
    }

    pub(crate) fn take(&mut self, semaphore: ObjectId) -> Result<(), Disabled> {
        match self.permits.get_mut(&semaphore) {
            Some(permits) if *permits > 0 => {
                *permits -= 1;
                Ok(())
            }
            _ => Err(Disabled::NoPermit { semaphore }),
        }
    }

    pub(crate) fn fail(&self, semaphore: ObjectId) -> Result<(), Disabled> {
        match self.permits.get(&semaphore) {
            Some(&count) if count > 0 => Err(Disabled::PermitLeft { semaphore, count }),
            _ => Ok(()),
        }
    }

    pub(crate) fn value(&self, semaphore: ObjectId, seen: u32) -> Result<(), Disabled> {
        let count = self.permits.get(&semaphore).copied().unwrap_or_default();
        if count == u64::from(seen) {
            Ok(())
        } else {
            Err(Disabled::OtherCount { semaphore, count, seen })
        }
    }

    pub(crate) fn initialize(&mut self, once: ObjectId) {
        self.initialized.insert(once);
    }

    pub(crate) fn initialized(&self, once: ObjectId) -> Result<(), Disabled> {
        if self.initialized.contains(&once) {
            Ok(())
        } else {
            Err(Disabled::NotInitialized { once })
        }
    }
}
