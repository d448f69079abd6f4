//! Values of accesses: reading them at the right moment, in pieces of at most 8 bytes.
//!
//! A hook runs before its access. A read's value is what is there now, since nobody else runs
//! until the load. A write's value does not exist yet: the write stays *pending* until the
//! thread's next hook, and is settled before the baton passes or the memory goes away.

use crate::events::{self, heard, picture};
use crate::platform::memory::{load, pieces};
use crate::scheduling::recording::RING;
use crate::scheduling::thread::{Frame, NEVER, Thread, while_busy};
use crate::scheduling::{clocks, plan};
use recorder_ring::plan::kind;
use recorder_ring::{Record, Waits};

/// Announces a write of `size` bytes.
#[inline(always)]
pub fn announce(thread: &Thread, addr: usize, size: usize, pc: usize) {
    thread.pending.addr.set(addr);
    thread.pending.pc.set(pc);
    thread.pending.size.set(size);
}

/// Records the thread's pending write, if there is one: its store is done. The thread is inside the runtime.
#[inline(always)]
pub fn settle(thread: &Thread) {
    if thread.pending.size.get() != 0 {
        settle_inside(thread);
    }
}

#[inline(never)]
extern "C" fn settle_inside(thread: &Thread) {
    // If the memory is out of reach by now, the fault comes here, where the encoder is at rest. (The read of one byte
    // is volatile.)
    load(thread.pending.addr.get(), 1);
    // SAFETY: the caller has the baton.
    if plan::is_followed() || unsafe { RING.is_due() } {
        settle_odd(thread);
    } else {
        settle_fast(thread);
    }
}

/// Records the thread's pending write, if there is one. Nothing is [due](recorder_ring::Producer::is_due), and no
/// plan is followed.
#[inline(always)]
pub fn settle_fast(thread: &Thread) {
    // Each in a function of its own, which needs no stack.
    match thread.pending.size.get() {
        0 => {}
        8 => settle_sized::<8>(thread),
        4 => settle_sized::<4>(thread),
        _ => settle_any(thread),
    }
}

#[inline(never)]
extern "C" fn settle_any(thread: &Thread) {
    match thread.pending.size.get() {
        1 => settle_sized::<1>(thread),
        2 => settle_sized::<2>(thread),
        _ => while_busy(|| settle_odd(thread)),
    }
}

#[inline(never)]
extern "C" fn settle_sized<const SIZE: usize>(thread: &Thread) {
    thread.pending.size.set(0);
    let (addr, pc) = (thread.pending.addr.get(), thread.pending.pc.get());
    events::access::<{ kind::WRITE }, SIZE>(addr, pc);
}

#[cold]
extern "C" fn settle_odd(thread: &Thread) {
    let size = thread.pending.size.replace(0);
    let (addr, pc) = (thread.pending.addr.get(), thread.pending.pc.get());
    // Where it stands now is behind the write.
    let frame = thread.frame.replace(Frame::NONE);
    match size {
        ..=8 => write_now(addr, size, pc),
        _ => write_range_now(addr, size, pc),
    }
    thread.frame.set(frame);
}

/// Records a read of at most 8 bytes.
#[inline(always)]
pub fn read_now(addr: usize, size: usize, pc: usize) {
    let value = load(addr, size);
    push(Record::Read {
        pc: pc as u64,
        addr: addr as u64,
        size: size as u8,
        value,
    });
}

/// Records a write of at most 8 bytes that is done.
#[inline(always)]
pub fn write_now(addr: usize, size: usize, pc: usize) {
    let value = load(addr, size);
    push(Record::Write {
        pc: pc as u64,
        addr: addr as u64,
        size: size as u8,
        value,
    });
}

/// Records that an object of so many bytes, at most 8, is destroyed.
pub fn destroyed_now(addr: usize, size: usize, pc: usize) {
    let value = load(addr, size);
    push(Record::Destroying {
        pc: pc as u64,
        addr: addr as u64,
        size: size as u8,
        value,
    });
}

/// Records a read of any length.
pub fn read_range_now(addr: usize, size: usize, pc: usize) {
    pieces(addr, size, |addr, size| read_now(addr, size, pc));
}

/// Records a write of any length that is done.
pub fn write_range_now(addr: usize, size: usize, pc: usize) {
    pieces(addr, size, |addr, size| write_now(addr, size, pc));
}

/// A thread that has the baton is about to wait for another one; told if it has no limit in time.
pub fn waits(thread: &Thread, what: Waits, addr: usize, pc: usize, deadline: i64) {
    thread.waits_for.set(Some((what, addr, pc)));
    if deadline == NEVER {
        push(Record::Waits {
            what,
            pc: pc as u64,
            addr: addr as u64,
        });
    }
}

/// Records what the thread that has the baton does.
#[inline(always)]
pub fn push(record: Record) {
    if clocks::stand() {
        heard::note(&record);
        picture::show();
    }
    events::push(record);
}

/// Sends text for the next record that wants some.
pub fn text(text: &[u8]) {
    for part in text.chunks(16) {
        let mut bytes = [0_u8; 16];
        bytes[..part.len()].copy_from_slice(part);
        let word = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[at + i]));
        push(Record::Bytes {
            len: part.len() as u8,
            words: [word(0), word(8)],
        });
    }
}
