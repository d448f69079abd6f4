//! What the runtime tells the parent: records of one to four words, both directions side by side.
//!
//! The first word of each record holds a code position (48 bits: user space on x86-64), the kind
//! (8 bits) and a small argument (8 bits). The kind fixes the number of words. A record speaks of
//! the thread named by the last [`Record::Switch`]. Accesses are of at most 8 bytes, objects are
//! addresses: giving them identities is the parent's work, outside of the program's time.

/// Words of the longest record.
pub const MAX_WORDS: usize = 4;

/// What a synchronization object is, as far as its address alone does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ObjectClass {
    /// A mutex.
    Mutex = 0,
    /// A mutex that its holder may take again.
    RecursiveMutex = 1,
    /// A reader-writer lock.
    RwLock = 2,
    /// A spin lock.
    SpinLock = 3,
    /// A condition variable.
    Condition = 4,
    /// A barrier.
    Barrier = 5,
    /// A semaphore.
    Semaphore = 6,
    /// A once cell.
    Once = 7,
}

impl ObjectClass {
    fn from_code(code: u8) -> Option<ObjectClass> {
        use ObjectClass::*;
        [
            Mutex,
            RecursiveMutex,
            RwLock,
            SpinLock,
            Condition,
            Barrier,
            Semaphore,
            Once,
        ]
        .get(usize::from(code))
        .copied()
    }
}

/// A step of a once-only initialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OnceStep {
    /// It starts.
    Begin = 0,
    /// It ends.
    End = 1,
    /// It was found done.
    Wait = 2,
}

/// One record. `pc` is the return address of the call that made it, 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the trace format's `Op`")]
pub enum Record {
    /// From here on `thread` runs.
    Switch {
        thread: u32,
    },
    /// The running thread entered a function.
    Call {
        call_site: u64,
    },
    /// It left the function.
    Return,
    Read {
        pc: u64,
        addr: u64,
        size: u8,
        value: u64,
    },
    Write {
        pc: u64,
        addr: u64,
        size: u8,
        value: u64,
    },
    AtomicLoad {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        value: u64,
    },
    AtomicStore {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        value: u64,
    },
    AtomicRmw {
        pc: u64,
        addr: u64,
        size: u8,
        order: u8,
        read: u64,
        written: u64,
    },
    Fence {
        pc: u64,
        order: u8,
    },
    /// The thread's first record; `os_id` is the kernel's number of it.
    Begin {
        os_id: u32,
    },
    End {
        pc: u64,
    },
    Fork {
        pc: u64,
        child: u32,
    },
    Join {
        pc: u64,
        child: u32,
    },
    Acquire {
        pc: u64,
        class: ObjectClass,
        lock: u64,
        shared: bool,
    },
    AcquireFailed {
        pc: u64,
        class: ObjectClass,
        lock: u64,
        shared: bool,
    },
    Release {
        pc: u64,
        class: ObjectClass,
        lock: u64,
    },
    WaitBegin {
        pc: u64,
        condition: u64,
        class: ObjectClass,
        lock: u64,
    },
    WaitEnd {
        pc: u64,
        condition: u64,
        class: ObjectClass,
        lock: u64,
        timed_out: bool,
    },
    Notify {
        pc: u64,
        condition: u64,
        all: bool,
    },
    /// `last` completes the round.
    BarrierEnter {
        pc: u64,
        barrier: u64,
        last: bool,
    },
    BarrierExit {
        pc: u64,
        barrier: u64,
    },
    /// `count` is the semaphore's before the event.
    SemPost {
        pc: u64,
        semaphore: u64,
        count: u32,
    },
    SemWait {
        pc: u64,
        semaphore: u64,
        count: u32,
    },
    Once {
        pc: u64,
        once: u64,
        step: OnceStep,
    },
    /// An object starts to exist at an address; `count` is a semaphore's.
    Init {
        class: ObjectClass,
        object: u64,
        count: u32,
    },
    /// The object at an address stops to exist.
    Destroy {
        object: u64,
    },
    Alloc {
        pc: u64,
        addr: u64,
        size: u64,
    },
    Free {
        pc: u64,
        addr: u64,
    },
    /// Up to 16 bytes of text for the next record that wants some.
    Bytes {
        len: u8,
        words: [u64; 2],
    },
    /// The text before it is this thread's name.
    ThreadName {
        thread: u32,
    },
    /// The text before it is the build id (`build_id` bytes), then the path, of a module.
    Module {
        build_id: u8,
        base: u64,
        start: u64,
        end: u64,
    },
    /// The memory at `addr` holds the text before this, then zeros; or, if `constant`, what nothing
    /// in the process can change.
    Image {
        addr: u64,
        size: u64,
        constant: bool,
    },
    /// See [`Note`](crate::Note).
    Note {
        note: crate::Note,
    },
}

const PC_BITS: u32 = 48;
const PC_MASK: u64 = (1 << PC_BITS) - 1;

/// The kinds, in the numbering of the ring.
mod kind {
    pub const SWITCH: u8 = 1;
    pub const CALL: u8 = 2;
    pub const RETURN: u8 = 3;
    pub const READ: u8 = 4;
    pub const WRITE: u8 = 5;
    pub const ATOMIC_LOAD: u8 = 6;
    pub const ATOMIC_STORE: u8 = 7;
    pub const ATOMIC_RMW: u8 = 8;
    pub const FENCE: u8 = 9;
    pub const BEGIN: u8 = 10;
    pub const END: u8 = 11;
    pub const FORK: u8 = 12;
    pub const JOIN: u8 = 13;
    pub const ACQUIRE: u8 = 14;
    pub const ACQUIRE_FAILED: u8 = 15;
    pub const RELEASE: u8 = 16;
    pub const WAIT_BEGIN: u8 = 17;
    pub const WAIT_END: u8 = 18;
    pub const NOTIFY: u8 = 19;
    pub const BARRIER_ENTER: u8 = 20;
    pub const BARRIER_EXIT: u8 = 21;
    pub const SEM_POST: u8 = 22;
    pub const SEM_WAIT: u8 = 23;
    pub const ONCE: u8 = 24;
    pub const INIT: u8 = 25;
    pub const DESTROY: u8 = 26;
    pub const ALLOC: u8 = 27;
    pub const FREE: u8 = 28;
    pub const BYTES: u8 = 29;
    pub const THREAD_NAME: u8 = 30;
    pub const MODULE: u8 = 31;
    pub const NOTE: u8 = 32;
    pub const IMAGE: u8 = 33;
}

/// Packs a lock's class and a flag.
#[inline(always)]
fn lock_arg(class: ObjectClass, flag: bool) -> u8 {
    class as u8 | (flag as u8) << 7
}

impl Record {
    /// The record's words and how many of them count.
    ///
    /// Inlined with a known variant, as every hook calls it, this is a few moves.
    #[inline(always)]
    #[must_use]
    pub fn encode(self) -> ([u64; MAX_WORDS], usize) {
        use Record::*;
        let head = |kind: u8, arg: u8, pc: u64| (pc & PC_MASK) | u64::from(kind) << PC_BITS | u64::from(arg) << 56;
        match self {
            Switch { thread } => ([head(kind::SWITCH, 0, thread.into()), 0, 0, 0], 1),
            Call { call_site } => ([head(kind::CALL, 0, call_site), 0, 0, 0], 1),
            Return => ([head(kind::RETURN, 0, 0), 0, 0, 0], 1),
            Read { pc, addr, size, value } => ([head(kind::READ, size, pc), addr, value, 0], 3),
            Write { pc, addr, size, value } => ([head(kind::WRITE, size, pc), addr, value, 0], 3),
            AtomicLoad {
                pc,
                addr,
                size,
                order,
                value,
            } => ([head(kind::ATOMIC_LOAD, size | order << 4, pc), addr, value, 0], 3),
            AtomicStore {
                pc,
                addr,
                size,
                order,
                value,
            } => ([head(kind::ATOMIC_STORE, size | order << 4, pc), addr, value, 0], 3),
            AtomicRmw {
                pc,
                addr,
                size,
                order,
                read,
                written,
            } => ([head(kind::ATOMIC_RMW, size | order << 4, pc), addr, read, written], 4),
            Fence { pc, order } => ([head(kind::FENCE, order, pc), 0, 0, 0], 1),
            Begin { os_id } => ([head(kind::BEGIN, 0, os_id.into()), 0, 0, 0], 1),
            End { pc } => ([head(kind::END, 0, pc), 0, 0, 0], 1),
            Fork { pc, child } => ([head(kind::FORK, 0, pc), child.into(), 0, 0], 2),
            Join { pc, child } => ([head(kind::JOIN, 0, pc), child.into(), 0, 0], 2),
            Acquire {
                pc,
                class,
                lock,
                shared,
            } => ([head(kind::ACQUIRE, lock_arg(class, shared), pc), lock, 0, 0], 2),
            AcquireFailed {
                pc,
                class,
                lock,
                shared,
            } => ([head(kind::ACQUIRE_FAILED, lock_arg(class, shared), pc), lock, 0, 0], 2),
            Release { pc, class, lock } => ([head(kind::RELEASE, lock_arg(class, false), pc), lock, 0, 0], 2),
            WaitBegin {
                pc,
                condition,
                class,
                lock,
            } => (
                [head(kind::WAIT_BEGIN, lock_arg(class, false), pc), condition, lock, 0],
                3,
            ),
            WaitEnd {
                pc,
                condition,
                class,
                lock,
                timed_out,
            } => (
                [head(kind::WAIT_END, lock_arg(class, timed_out), pc), condition, lock, 0],
                3,
            ),
            Notify { pc, condition, all } => ([head(kind::NOTIFY, all as u8, pc), condition, 0, 0], 2),
            BarrierEnter { pc, barrier, last } => ([head(kind::BARRIER_ENTER, last as u8, pc), barrier, 0, 0], 2),
            BarrierExit { pc, barrier } => ([head(kind::BARRIER_EXIT, 0, pc), barrier, 0, 0], 2),
            SemPost { pc, semaphore, count } => ([head(kind::SEM_POST, 0, pc), semaphore, count.into(), 0], 3),
            SemWait { pc, semaphore, count } => ([head(kind::SEM_WAIT, 0, pc), semaphore, count.into(), 0], 3),
            Once { pc, once, step } => ([head(kind::ONCE, step as u8, pc), once, 0, 0], 2),
            Init { class, object, count } => ([head(kind::INIT, class as u8, 0), object, count.into(), 0], 3),
            Destroy { object } => ([head(kind::DESTROY, 0, 0), object, 0, 0], 2),
            Alloc { pc, addr, size } => ([head(kind::ALLOC, 0, pc), addr, size, 0], 3),
            Free { pc, addr } => ([head(kind::FREE, 0, pc), addr, 0, 0], 2),
            Bytes { len, words } => ([head(kind::BYTES, len, 0), words[0], words[1], 0], 3),
            ThreadName { thread } => ([head(kind::THREAD_NAME, 0, thread.into()), 0, 0, 0], 1),
            Module {
                build_id,
                base,
                start,
                end,
            } => ([head(kind::MODULE, build_id, 0), base, start, end], 4),
            Image { addr, size, constant } => ([head(kind::IMAGE, constant as u8, 0), addr, size, 0], 3),
            Note { note } => ([head(kind::NOTE, note as u8, 0), 0, 0, 0], 1),
        }
    }

    /// Reads a record from `words`, which may reach beyond its end; `None` if no runtime writes this.
    #[must_use]
    pub fn decode(words: [u64; MAX_WORDS]) -> Option<(Record, usize)> {
        use Record::*;
        let [first, a, b, c] = words;
        let pc = first & PC_MASK;
        let arg = (first >> 56) as u8;
        let (size, order) = (arg & 15, arg >> 4);
        let (flag, class) = (arg & 0x80 != 0, arg & 0x7f);
        let class = || ObjectClass::from_code(class);
        Some(match (first >> PC_BITS) as u8 {
            kind::SWITCH => (Switch { thread: pc as u32 }, 1),
            kind::CALL => (Call { call_site: pc }, 1),
            kind::RETURN => (Return, 1),
            kind::READ if (1..=8).contains(&arg) => (
                Read {
                    pc,
                    addr: a,
                    size: arg,
                    value: b,
                },
                3,
            ),
            kind::WRITE if (1..=8).contains(&arg) => (
                Write {
                    pc,
                    addr: a,
                    size: arg,
                    value: b,
                },
                3,
            ),
            kind::ATOMIC_LOAD if (1..=8).contains(&size) => (
                AtomicLoad {
                    pc,
                    addr: a,
                    size,
                    order,
                    value: b,
                },
                3,
            ),
            kind::ATOMIC_STORE if (1..=8).contains(&size) => (
                AtomicStore {
                    pc,
                    addr: a,
                    size,
                    order,
                    value: b,
                },
                3,
            ),
            kind::ATOMIC_RMW if (1..=8).contains(&size) => (
                AtomicRmw {
                    pc,
                    addr: a,
                    size,
                    order,
                    read: b,
                    written: c,
                },
                4,
            ),
            kind::FENCE => (Fence { pc, order: arg }, 1),
            kind::BEGIN => (Begin { os_id: pc as u32 }, 1),
            kind::END => (End { pc }, 1),
            kind::FORK => (Fork { pc, child: a as u32 }, 2),
            kind::JOIN => (Join { pc, child: a as u32 }, 2),
            kind::ACQUIRE => (
                Acquire {
                    pc,
                    class: class()?,
                    lock: a,
                    shared: flag,
                },
                2,
            ),
            kind::ACQUIRE_FAILED => (
                AcquireFailed {
                    pc,
                    class: class()?,
                    lock: a,
                    shared: flag,
                },
                2,
            ),
            kind::RELEASE => (
                Release {
                    pc,
                    class: class()?,
                    lock: a,
                },
                2,
            ),
            kind::WAIT_BEGIN => (
                WaitBegin {
                    pc,
                    condition: a,
                    class: class()?,
                    lock: b,
                },
                3,
            ),
            kind::WAIT_END => (
                WaitEnd {
                    pc,
                    condition: a,
                    class: class()?,
                    lock: b,
                    timed_out: flag,
                },
                3,
            ),
            kind::NOTIFY => (
                Notify {
                    pc,
                    condition: a,
                    all: arg != 0,
                },
                2,
            ),
            kind::BARRIER_ENTER => (
                BarrierEnter {
                    pc,
                    barrier: a,
                    last: arg != 0,
                },
                2,
            ),
            kind::BARRIER_EXIT => (BarrierExit { pc, barrier: a }, 2),
            kind::SEM_POST => (
                SemPost {
                    pc,
                    semaphore: a,
                    count: b as u32,
                },
                3,
            ),
            kind::SEM_WAIT => (
                SemWait {
                    pc,
                    semaphore: a,
                    count: b as u32,
                },
                3,
            ),
            kind::ONCE => {
                let step = *[OnceStep::Begin, OnceStep::End, OnceStep::Wait].get(usize::from(arg))?;
                (Once { pc, once: a, step }, 2)
            }
            kind::INIT => (
                Init {
                    class: class()?,
                    object: a,
                    count: b as u32,
                },
                3,
            ),
            kind::DESTROY => (Destroy { object: a }, 2),
            kind::ALLOC => (Alloc { pc, addr: a, size: b }, 3),
            kind::FREE => (Free { pc, addr: a }, 2),
            kind::BYTES if arg <= 16 => (
                Bytes {
                    len: arg,
                    words: [a, b],
                },
                3,
            ),
            kind::THREAD_NAME => (ThreadName { thread: pc as u32 }, 1),
            kind::MODULE => (
                Module {
                    build_id: arg,
                    base: a,
                    start: b,
                    end: c,
                },
                4,
            ),
            kind::IMAGE => (
                Image {
                    addr: a,
                    size: b,
                    constant: arg != 0,
                },
                3,
            ),
            kind::NOTE => (
                Note {
                    note: crate::Note::from_code(arg)?,
                },
                1,
            ),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Record::*;
    use super::*;
    use std::vec;

    #[test]
    fn every_record_comes_back_as_it_was() {
        let (pc, addr, value) = (0x7fff_1234_5678, 0xffff_8000_1234_5678, u64::MAX - 5);
        let class = ObjectClass::RecursiveMutex;
        let all = vec![
            Switch { thread: 7 },
            Call { call_site: pc },
            Return,
            Read {
                pc,
                addr,
                size: 8,
                value,
            },
            Write {
                pc,
                addr,
                size: 3,
                value,
            },
            AtomicLoad {
                pc,
                addr,
                size: 8,
                order: 5,
                value,
            },
            AtomicStore {
                pc,
                addr,
                size: 1,
                order: 3,
                value,
            },
            AtomicRmw {
                pc,
                addr,
                size: 4,
                order: 4,
                read: value,
                written: 9,
            },
            Fence { pc, order: 5 },
            Begin { os_id: u32::MAX },
            End { pc },
            Fork { pc, child: 3 },
            Join { pc, child: 3 },
            Acquire {
                pc,
                class,
                lock: addr,
                shared: true,
            },
            AcquireFailed {
                pc,
                class,
                lock: addr,
                shared: false,
            },
            Release { pc, class, lock: addr },
            WaitBegin {
                pc,
                condition: addr,
                class,
                lock: 8,
            },
            WaitEnd {
                pc,
                condition: addr,
                class,
                lock: 8,
                timed_out: true,
            },
            Notify {
                pc,
                condition: addr,
                all: true,
            },
            BarrierEnter {
                pc,
                barrier: addr,
                last: true,
            },
            BarrierExit { pc, barrier: addr },
            SemPost {
                pc,
                semaphore: addr,
                count: 2,
            },
            SemWait {
                pc,
                semaphore: addr,
                count: 2,
            },
            Once {
                pc,
                once: addr,
                step: OnceStep::Wait,
            },
            Init {
                class: ObjectClass::Semaphore,
                object: addr,
                count: 9,
            },
            Destroy { object: addr },
            Alloc {
                pc,
                addr,
                size: 1 << 40,
            },
            Free { pc, addr },
            Bytes {
                len: 16,
                words: [addr, value],
            },
            ThreadName { thread: 2 },
            Module {
                build_id: 20,
                base: 1,
                start: 2,
                end: 3,
            },
            Image {
                addr,
                size: 1 << 30,
                constant: true,
            },
            Note {
                note: crate::Note::Executed,
            },
        ];
        for record in all {
            let (words, len) = record.encode();
            assert_eq!(Record::decode(words), Some((record, len)));
        }
    }

    #[test]
    fn words_that_no_runtime_writes_are_refused() {
        assert_eq!(Record::decode([0; MAX_WORDS]), None);
        assert_eq!(Record::decode([200 << PC_BITS, 0, 0, 0]), None);
        assert_eq!(
            Record::decode([9 << 56 | u64::from(kind::READ) << PC_BITS, 0, 0, 0]),
            None
        );
    }
}
