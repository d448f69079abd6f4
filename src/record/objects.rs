//! Which synchronization object an address means at this moment.
//!
//! An address that is initialized again, or whose memory was freed, is another object. Statically
//! initialized objects start to exist at their first use.

use recorder_ring::ObjectClass;
use std::collections::BTreeMap;
use trace_format::{ObjectId, ObjectInfo, ObjectKind, TraceWriter};

/// The objects that exist, by address.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<u64, (ObjectId, ObjectKind)>);

fn kind(class: ObjectClass) -> ObjectKind {
    match class {
        ObjectClass::Mutex => ObjectKind::Mutex,
        ObjectClass::RecursiveMutex => ObjectKind::RecursiveMutex,
        ObjectClass::RwLock => ObjectKind::RwLock,
        ObjectClass::SpinLock => ObjectKind::SpinLock,
        ObjectClass::Condition => ObjectKind::Condition,
        ObjectClass::Barrier => ObjectKind::Barrier,
        ObjectClass::Semaphore => ObjectKind::Semaphore,
        ObjectClass::Once => ObjectKind::Once,
    }
}

impl Objects {
    /// A new object at `addr`, whatever was there.
    pub(super) fn start(&mut self, writer: &mut TraceWriter, class: ObjectClass, addr: u64, count: u32) -> ObjectId {
        let info = ObjectInfo {
            kind: kind(class),
            addr,
            name: None,
            initial: count,
        };
        let id = writer.define_object(info);
        self.0.insert(addr, (id, kind(class)));
        id
    }

    /// The object of that class at `addr`; `count` is a semaphore's, should it be new.
    pub(super) fn at(&mut self, writer: &mut TraceWriter, class: ObjectClass, addr: u64, count: u32) -> ObjectId {
        match self.0.get(&addr) {
            Some(&(id, known)) if known == kind(class) => id,
            _ => self.start(writer, class, addr, count),
        }
    }

    /// The object at `addr` is destroyed.
    pub(super) fn end(&mut self, addr: u64) {
        self.0.remove(&addr);
    }

    /// Objects in a block that starts or ends are no more.
    pub(super) fn forget_range(&mut self, addr: u64, size: u64) {
        if self
            .0
            .range(addr..)
            .next()
            .is_some_and(|(&first, _)| first < addr.saturating_add(size))
        {
            self.0
                .retain(|&object, _| object < addr || object >= addr.saturating_add(size));
        }
    }
}
