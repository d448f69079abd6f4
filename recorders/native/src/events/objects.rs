//! Which synchronization object an address means at this moment, and who holds it.
//!
//! An address that is initialized again, or whose memory was freed, is another object. Statically
//! initialized objects start to exist at their first use. That a program has set one again by an assignment shows at its
//! next use: a lock can be taken that somebody holds, or a once cell begins that was initialized.
//!
//! The trace's `AcquireFailed` says that *another* thread held the lock. A trylock also fails on a
//! lock that its own thread holds, and that is no event between threads: it is told apart here.

use super::send;
use recorder_ring::{ObjectClass, Record, Row};
use std::collections::BTreeMap;
use std::vec::Vec;

/// Entries of the table in front of the map; a power of two.
const RECENT: usize = 1024;

/// The objects that exist.
pub struct Objects {
    /// Places in `objects` by address, in order: blocks that come and go take objects with them.
    known: BTreeMap<u64, usize>,
    objects: Vec<Object>,
    /// Places that nobody uses.
    free: Vec<usize>,
    /// For each address, by its low bits, perhaps its place; [`Object::addr`] says whether it is.
    recent: [u32; RECENT],
    count: u32,
}

/// Who holds a lock, for one of the threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Own,
    Others,
    Nobodys,
}

pub struct Object {
    pub number: u32,
    /// Where it is; 0 if it is no more.
    addr: u64,
    class: ObjectClass,
    owner: Option<u32>,
    depth: u32,
    readers: Vec<u32>,
    /// Rounds that a barrier has completed; 1 once an initialization is over.
    pub rounds: u32,
    /// A semaphore's count by what was recorded of it. What other processes and code that is not recorded do to it is
    /// missing here.
    pub permits: u32,
    /// Somebody took it while it was recorded.
    taken: bool,
}

impl Objects {
    pub const fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            objects: Vec::new(),
            free: Vec::new(),
            recent: [0; RECENT],
            count: 0,
        }
    }

    /// A new object at `addr`, whatever was there.
    pub fn begin(&mut self, class: ObjectClass, addr: u64, count: u32) -> &mut Object {
        self.end(addr);
        send(Row::Object { class, addr, count });
        let object = Object {
            number: self.count,
            addr,
            class,
            owner: None,
            depth: 0,
            readers: Vec::new(),
            rounds: 0,
            permits: count,
            taken: false,
        };
        self.count += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.objects[at] = object;
                at
            }
            None => {
                self.objects.push(object);
                self.objects.len() - 1
            }
        };
        self.known.insert(addr, at);
        self.recent[recent(addr)] = at as u32;
        &mut self.objects[at]
    }

    /// The object of that class at `addr`; `count` is a semaphore's, should it be new.
    pub fn at(&mut self, class: ObjectClass, addr: u64, count: u32) -> &mut Object {
        let at = self.place(class, addr, count);
        &mut self.objects[at]
    }

    fn place(&mut self, class: ObjectClass, addr: u64, count: u32) -> usize {
        let is_it = |objects: &[Object], at: usize| {
            objects
                .get(at)
                .is_some_and(|object| object.addr == addr && (object.class == class || are_locks(object.class, class)))
        };
        let at = self.recent[recent(addr)] as usize;
        if is_it(&self.objects, at) {
            return at;
        }
        match self.known.get(&addr) {
            Some(&at) if is_it(&self.objects, at) => {
                self.recent[recent(addr)] = at as u32;
                at
            }
            _ => {
                self.begin(class, addr, count);
                self.recent[recent(addr)] as usize
            }
        }
    }

    /// The lock of that class at `addr`, which a thread has just taken.
    pub fn taken_by(&mut self, thread: u32, class: ObjectClass, addr: u64, shared: bool) -> &mut Object {
        let at = self.place(class, addr, 0);
        match self.objects[at].in_the_way(thread, shared) {
            0 => &mut self.objects[at],
            _ => self.begin(class, addr, 0),
        }
    }

    /// A round of the barrier at `addr` is over, if that is the one with this number.
    pub fn complete(&mut self, addr: u64, number: u32, round: u32) {
        let known = self.known.get(&addr).map(|&at| &mut self.objects[at]);
        if let Some(barrier) = known.filter(|barrier| barrier.number == number) {
            barrier.rounds = barrier.rounds.max(round + 1);
        }
    }

    /// The object at `addr` is destroyed.
    pub fn end(&mut self, addr: u64) {
        if let Some(at) = self.known.remove(&addr) {
            self.objects[at].addr = 0;
            self.free.push(at);
        }
    }

    /// What takes the locks that a thread holds, in order of their addresses.
    pub fn held_by(&self, thread: u32) -> Vec<Record> {
        let acquire = |object: &Object, shared| Record::Acquire {
            pc: 0,
            class: object.class,
            lock: object.addr,
            shared,
            attempt: false,
        };
        let mut held = Vec::new();
        for &at in self.known.values() {
            let object = &self.objects[at];
            if object.owner == Some(thread) {
                held.extend((0..object.depth).map(|_| acquire(object, false)));
            }
            let shared = object.readers.iter().filter(|reader| **reader == thread);
            held.extend(shared.map(|_| acquire(object, true)));
        }
        held
    }

    /// Objects in a block that starts or ends are no more.
    pub fn forget(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        while let Some((&object, _)) = self.known.range(addr..end).next() {
            self.end(object);
        }
    }
}

/// Whether both are locks: one address is one lock, by whatever functions a program takes it and gives it back.
fn are_locks(a: ObjectClass, b: ObjectClass) -> bool {
    use ObjectClass::{Mutex, RecursiveMutex, RwLock, SpinLock};
    let is_lock = |class| matches!(class, Mutex | RecursiveMutex | RwLock | SpinLock);
    is_lock(a) && is_lock(b)
}

fn recent(addr: u64) -> usize {
    // Objects are larger than eight bytes, and often lie in arrays.
    (addr >> 3 ^ addr >> 13) as usize % RECENT
}

impl Object {
    pub fn acquire(&mut self, thread: u32) {
        self.taken = true;
        self.depth = if self.owner == Some(thread) { self.depth + 1 } else { 1 };
        self.owner = Some(thread);
    }

    pub fn acquire_shared(&mut self, thread: u32) {
        self.taken = true;
        self.readers.push(thread);
    }

    /// Whether the thread held it: if not, it gave back what another one had taken. What was never taken while it was
    /// recorded, a library's constructor took before.
    pub fn release(&mut self, thread: u32) -> bool {
        if !self.taken {
            return true;
        }
        if let Some(at) = self.readers.iter().position(|reader| *reader == thread) {
            self.readers.swap_remove(at);
            return true;
        }
        let own = self.owner == Some(thread);
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.owner = None;
            if !own {
                self.readers.pop();
            }
        }
        own
    }

    /// Who holds it, seen from a thread that is about to give it back in order to wait. (What was never taken while it
    /// was recorded, a library's constructor took before.)
    pub fn taken_from(&self, thread: u32) -> Taken {
        if !self.taken || self.owner == Some(thread) || self.readers.contains(&thread) {
            Taken::Own
        } else if self.owner.is_some() || !self.readers.is_empty() {
            Taken::Others
        } else {
            Taken::Nobodys
        }
    }

    /// A waiting thread gives it up entirely; its depth.
    pub fn give_up(&mut self) -> u32 {
        let depth = if self.owner.is_some() { self.depth } else { 1 };
        self.owner = None;
        self.depth = 0;
        self.readers.clear();
        depth
    }

    /// A thread that has waited holds it again.
    pub fn take_again(&mut self, thread: u32, depth: u32) {
        self.taken = true;
        self.owner = Some(thread);
        self.depth = depth;
    }

    /// How many levels of it are held in a way that leaves no room for `thread`.
    pub fn in_the_way(&self, thread: u32, shared: bool) -> u32 {
        let alone = self.owner.is_some_and(|owner| shared || owner != thread);
        let readers = if shared { 0 } else { self.readers.len() as u32 };
        if alone { self.depth + readers } else { readers }
    }

    /// Whether another thread's hold is why `thread` did not get the lock, and not its own, which would be in the way
    /// whatever others do.
    pub fn is_held_by_another(&self, thread: u32, shared: bool) -> bool {
        self.owner.is_some_and(|owner| owner != thread)
            || !shared && !self.readers.is_empty() && !self.readers.contains(&thread)
    }
}
