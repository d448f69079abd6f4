//! Order through the contents of a regular file: what a read gets depends on what was written before it, and on nothing
//! written after.
//!
//! Writes come in groups, and so do reads: a group ends where an operation of the other kind follows. All of a group
//! comes after all of the group before, which the first of it says, and the others look at that one. Within a group of
//! reads nothing is ordered, nor within one of writes, as long as nobody reads: a log that many threads write to orders
//! none of them. For a reader the order of the writes is part of what it gets. So each write puts its number also into
//! the variable of the one before; finding it there, a reader knows that the two came in this order.
//!
//! Reads that go on where the last one ended depend on that one, too: reads through one descriptor stay in their order.

use crate::events::pending;
use crate::events::variable::{SEQUENTIALLY_CONSISTENT, find_set, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::slot;
use libc::c_int;
use recorder_ring::Record;
use std::vec;
use std::vec::Vec;

/// The operations on one file, as far as what comes next depends on them.
pub struct Contents {
    /// Its variables are those of so many operations.
    count: u64,
    group: Group,
    /// The variable that the group's first operation set, once it had looked at the group before.
    gate: Option<u64>,
    /// Whose operation that was.
    opened_by: usize,
    /// The last read through each descriptor that goes on where it ended, and whose it was.
    positions: Vec<(c_int, usize, u64)>,
}

/// The last operations of one kind.
enum Group {
    /// The last read of each thread.
    Reads(Vec<(usize, u64)>),
    /// The numbers of the writes.
    Writes(Vec<u64>),
}

/// A variable of an operation on a file.
fn variable(file: u32, number: u64) -> u64 {
    NOBODYS | 1 << 61 | u64::from(file) << 36 | number << 4
}

fn store(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicStore {
        pc: pc as u64,
        addr,
        size: 8,
        order: SEQUENTIALLY_CONSISTENT,
        value,
    });
}

fn find(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 8,
        order: SEQUENTIALLY_CONSISTENT,
        value,
    });
}

impl Contents {
    pub const fn new() -> Self {
        Self {
            count: 0,
            group: Group::Reads(Vec::new()),
            gate: None,
            opened_by: 0,
            positions: Vec::new(),
        }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The calling thread comes to the group that is there.
    fn joins(&self, file: u32, pc: usize) {
        if let Some(gate) = self.gate
            && self.opened_by != slot() as usize
        {
            find_set(variable(file, gate), pc);
        }
    }

    /// The calling thread has begun a group.
    fn opens(&mut self, file: u32, group: Group, pc: usize) {
        let gate = self.next();
        set(variable(file, gate), pc);
        (self.group, self.gate, self.opened_by) = (group, Some(gate), slot() as usize);
    }

    /// The calling thread is about to write.
    pub fn write(&mut self, file: u32, pc: usize) {
        if let Group::Reads(reads) = &self.group {
            if reads.is_empty() {
                // Nothing comes before any of the group, so that whoever is first does as the others do.
                let before = self.next();
                (self.group, self.gate) = (Group::Writes(vec![before]), None);
            } else {
                for &(thread, number) in reads {
                    if thread != slot() as usize {
                        find_set(variable(file, number), pc);
                    }
                }
                self.opens(file, Group::Writes(Vec::new()), pc);
            }
        } else {
            self.joins(file, pc);
        }
        let number = self.next();
        if let Group::Writes(writes) = &mut self.group {
            if let Some(&before) = writes.last() {
                store(variable(file, before), number, pc);
            }
            writes.push(number);
        }
        store(variable(file, number), number, pc);
    }

    /// The calling thread has read; through a descriptor, if it went on where the last read ended.
    pub fn read(&mut self, file: u32, goes_on: Option<c_int>, pc: usize) {
        let me = slot() as usize;
        if let Group::Writes(writes) = &self.group {
            let found = writes.iter().skip(1).chain(writes.last());
            for (&number, &value) in writes.iter().zip(found) {
                find(variable(file, number), value, pc);
            }
            self.opens(file, Group::Reads(Vec::new()), pc);
        } else {
            self.joins(file, pc);
        }
        let position = goes_on.map(|goes_on| self.positions.iter().position(|&(known, ..)| known == goes_on));
        if let Some(Some(at)) = position {
            let (_, thread, number) = self.positions[at];
            if thread != me {
                find_set(variable(file, number), pc);
            }
        }
        let number = self.next();
        set(variable(file, number), pc);
        if let Group::Reads(reads) = &mut self.group {
            match reads.iter_mut().find(|(thread, _)| *thread == me) {
                Some((_, last)) => *last = number,
                None => reads.push((me, number)),
            }
        }
        match (position, goes_on) {
            (Some(Some(at)), _) => self.positions[at] = (self.positions[at].0, me, number),
            (_, Some(goes_on)) => self.positions.push((goes_on, me, number)),
            (_, None) => {}
        }
    }
}
