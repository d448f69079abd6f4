//! Locks that are single bits of words of the program: what they do to the word is recorded, too.

use super::library;
use crate::events::lock::{ALONE, Lock, Side, TRIES};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::platform::memory::NOBODYS;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::ffi::c_void;
use libc::c_int;
use recorder_ring::{ObjectClass, Record, Waits};

const SEQUENTIALLY_CONSISTENT: u8 = 5;

/// One bit of a word of 4 or 8 bytes.
#[derive(Clone, Copy)]
struct Bit {
    word: *mut c_void,
    size: u8,
    bit: c_int,
}

impl Bit {
    /// The lock, in addresses that no program has.
    fn lock(self) -> Lock {
        Lock {
            class: ObjectClass::Mutex,
            addr: NOBODYS | 1 << 59 | (self.word as u64) << 6 | self.bit as u64,
        }
    }

    fn mask(self) -> u64 {
        1 << self.bit
    }

    unsafe fn try_take(self) -> bool {
        // SAFETY: the program's own word.
        unsafe {
            0 != match self.size {
                4 => library::g_bit_trylock(self.word.cast(), self.bit),
                _ => library::g_pointer_bit_trylock(self.word, self.bit),
            }
        }
    }

    /// The word was changed, and is this now.
    fn changed(self, by: u64, pc: usize) {
        let written = crate::platform::memory::load(self.word as usize, self.size.into());
        pending::push(Record::AtomicRmw {
            pc: pc as u64,
            addr: self.word as u64,
            size: self.size,
            order: SEQUENTIALLY_CONSISTENT,
            read: written ^ by,
            written,
        });
    }

    fn taken(self, side: Side, pc: usize) {
        self.changed(self.mask(), pc);
        self.lock().taken(side, pc);
    }

    unsafe fn take(self, inside: &RuntimeGuard, pc: usize) {
        // SAFETY: promised by the caller.
        while !unsafe { self.try_take() } {
            pending::waits(inside.thread(), Waits::Acquire, self.lock().addr as usize, pc, NEVER);
            baton::block(inside.thread(), self.lock().addr as usize, NEVER);
        }
        self.taken(ALONE, pc);
    }

    unsafe fn test(self, pc: usize) -> c_int {
        // SAFETY: promised by the caller.
        let taken = unsafe { self.try_take() };
        if taken {
            self.taken(TRIES, pc);
        } else {
            self.lock().not_taken(false, pc);
        }
        taken.into()
    }

    unsafe fn give_back(self, pc: usize) {
        self.lock().given_back(pc);
        // SAFETY: promised by the caller.
        unsafe {
            match self.size {
                4 => library::g_bit_unlock(self.word.cast(), self.bit),
                _ => library::g_pointer_bit_unlock(self.word, self.bit),
            }
        }
        self.changed(self.mask(), pc);
        baton::wake(self.lock().addr as usize, usize::MAX);
    }
}

fn of(word: *mut c_void, size: u8, bit: c_int) -> Bit {
    Bit { word, size, bit }
}

entries! {
    g_bit_lock(word: *mut c_void, bit: c_int) -> (), reg "rdx": |inside, pc| { of(word, 4, bit).take(&inside, pc); }
    g_bit_trylock(word: *mut c_void, bit: c_int) -> c_int, reg "rdx": |inside, pc| { of(word, 4, bit).test(pc) }
    g_bit_unlock(word: *mut c_void, bit: c_int) -> (), reg "rdx": |inside, pc| { of(word, 4, bit).give_back(pc); }
    g_pointer_bit_lock(word: *mut c_void, bit: c_int) -> (), reg "rdx": |inside, pc| { of(word, 8, bit).take(&inside, pc); }
    g_pointer_bit_trylock(word: *mut c_void, bit: c_int) -> c_int, reg "rdx": |inside, pc| { of(word, 8, bit).test(pc) }
    g_pointer_bit_unlock(word: *mut c_void, bit: c_int) -> (), reg "rdx": |inside, pc| { of(word, 8, bit).give_back(pc); }
}
