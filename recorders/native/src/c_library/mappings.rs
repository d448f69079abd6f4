//! Mappings, which are blocks as well. (libc's own do not come through here.)

use super::channels::shared;
use super::heap::{begins_inside, begins_with, enter, enter_for};
use crate::events::{images, modules, pending};
use crate::platform::export::export;
use crate::platform::memory::{each, readable};
use crate::platform::real::{self, real};
use crate::platform::sys;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, c_uint, off_t};
use recorder_ring::Record;
use recorder_ring::plan::kind;
use recorder_scheduler::intent::Intent;
use std::vec::Vec;

/// Mappings begin at multiples of this.
const PAGE: usize = 4096;

/// So many bytes of a mapped file are told as they appear, or of memory that is replaced, and so many of all. What lies
/// behind them changes without an event, as far as the trace tells, so accesses of it keep their places.
const MOST_OF_A_FILE: usize = 1 << 20;
const MOST_OF_ALL: usize = 1 << 24;

/// How many were.
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Exports a function of six arguments: all registers are taken, the return address becomes a seventh one, on the
/// stack.
macro_rules! map_as {
    ($($name:ident)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push qword ptr [rsp]",
                "call {body}",
                "add rsp, 8",
                "ret",
                body = sym map,
            )
        }
    )* };
}

map_as! { mmap mmap64 }

unsafe extern "C" fn map(
    addr: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
    pc: usize,
) -> *mut c_void {
    // SAFETY: the caller's own arguments.
    let call = || unsafe { real::mmap(addr, len, protection, flags, file, offset) };
    // What is there goes away.
    if flags & libc::MAP_FIXED != 0
        && let Some(_inside) = enter(pc)
    {
        let replaced = Replaced::is_about_to_be(addr as usize, len, pc);
        let mapping = call();
        if mapping != libc::MAP_FAILED {
            // Memory that was there is still the same block, with other contents.
            if replaced.before.is_empty() {
                begins_inside(mapping, len, pc);
            }
            if flags & libc::MAP_ANONYMOUS == 0 {
                shared::reads(file, None, pc);
            }
            replaced.record(pc);
        }
        return mapping;
    }
    let mapping = call();
    if mapping == libc::MAP_FAILED {
        mapping
    } else {
        begins_with(mapping, len, pc, || {
            if flags & libc::MAP_ANONYMOUS == 0 {
                // What is there was written to the file before.
                shared::reads(file, None, pc);
            }
            if shows_a_file(protection, flags, file) {
                let left = MOST_OF_ALL.saturating_sub(TOLD.load(Relaxed));
                let there = readable(mapping as usize, len.min(MOST_OF_A_FILE).min(left));
                TOLD.fetch_add(there, Relaxed);
                let start = mapping as usize;
                match images::are_taken() {
                    // Nobody writes it: who gets to know of the memory without being ordered behind this sees it, too.
                    true => images::tell_copy(start, start + there),
                    // The only thread so far does: what others do comes behind it.
                    false => pending::write_range_now(start, there, pc),
                }
            }
        })
    }
}

/// Memory that a call replaces by other memory, or clears: what it held before, as far as that can be read and is told.
struct Replaced {
    start: usize,
    before: Vec<u64>,
}

impl Replaced {
    /// A call of the program's is about to do so. The thread is inside.
    fn is_about_to_be(start: usize, len: usize, pc: usize) -> Replaced {
        if !modules::is_instrumented(pc) {
            return Replaced {
                start,
                before: Vec::new(),
            };
        }
        plan::before_call(pc, &[kind::WRITE], &[(start, len)]);
        let left = MOST_OF_ALL.saturating_sub(TOLD.load(Relaxed));
        let words = len.min(MOST_OF_A_FILE).min(left) / size_of::<u64>();
        Replaced {
            start,
            before: each(start as *const u64, words).collect(),
        }
    }

    /// It has done so: the words that it has changed are written.
    fn record(self, pc: usize) {
        let now = each(self.start as *const u64, self.before.len());
        for (place, (before, now)) in self.before.iter().zip(now).enumerate() {
            if *before != now {
                TOLD.fetch_add(size_of::<u64>(), Relaxed);
                pending::write_now(self.start + place * size_of::<u64>(), size_of::<u64>(), pc);
            }
        }
    }
}

/// Whether what is mapped is a regular file of which the program sees there what it is now, as if it read it: no write
/// to that memory goes to the file. (Nobody else is there yet who could see it appear, but where something else was
/// mapped before.)
fn shows_a_file(protection: c_int, flags: c_int, file: c_int) -> bool {
    if protection & libc::PROT_READ == 0 || flags & (libc::MAP_ANONYMOUS | libc::MAP_FIXED) != 0 {
        return false;
    }
    // SAFETY: no memory is involved.
    let opened = || unsafe { sys::call(libc::SYS_fcntl, file as usize, libc::F_GETFL as usize, 0, 0) };
    (flags & libc::MAP_TYPE == libc::MAP_PRIVATE || opened() & libc::O_ACCMODE as isize == libc::O_RDONLY as isize)
        && shared::is_regular(file)
}

/// Exports functions after which memory may be out of reach, or other memory there: what was written before is settled.
macro_rules! settle_before {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        mod libc_own {
            use super::*;
            real! { $(fn $name($($argument: $type),*) -> $result;)* }
        }
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                let _inside = RuntimeGuard::enter_and_stay();
                // SAFETY: the caller's own arguments.
                unsafe { libc_own::$name($($argument),*) }
            }
        )*
    };
}

settle_before! {
    mprotect(addr: *mut c_void, len: usize, protection: c_int) -> c_int;
    pkey_mprotect(addr: *mut c_void, len: usize, protection: c_int, key: c_int) -> c_int;
    pkey_set(key: c_int, rights: c_uint) -> c_int;
}

mod libc_others {
    use super::*;
    real! {
        fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int;
        fn mremap(addr: *mut c_void, len: usize, new_len: usize, flags: c_int, new_addr: *mut c_void) -> *mut c_void;
    }
}

unsafe extern "C" fn advise(addr: *mut c_void, len: usize, advice: c_int, pc: usize) -> c_int {
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_others::madvise(addr, len, advice) };
    let inside = match advice {
        // Private memory is zero behind it, or what its file holds.
        libc::MADV_DONTNEED => enter(pc),
        _ => RuntimeGuard::enter_and_stay(),
    };
    if inside.is_none() || advice != libc::MADV_DONTNEED {
        return call();
    }
    let replaced = Replaced::is_about_to_be(addr as usize, len, pc);
    let result = call();
    if result == 0 {
        replaced.record(pc);
    }
    result
}

unsafe extern "C" fn remap(
    addr: *mut c_void,
    len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
    pc: usize,
) -> *mut c_void {
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_others::mremap(addr, len, new_len, flags, new_addr) };
    let Some(_inside) = enter(pc) else {
        return call();
    };
    // What is there goes away.
    let replaced = match flags & libc::MREMAP_FIXED {
        0 => None,
        _ => Some(Replaced::is_about_to_be(new_addr as usize, new_len, pc)),
    };
    let may_move = flags & libc::MREMAP_MAYMOVE != 0 && flags & libc::MREMAP_DONTUNMAP == 0 && len > 0;
    if may_move && modules::is_instrumented(pc) {
        plan::before_call(pc, &[kind::FREE], &[(addr as usize, len)]);
    }
    let mapping = call();
    if mapping == libc::MAP_FAILED {
        return mapping;
    }
    // Still with the baton: nobody gets the memory before its end is on record.
    let moves = may_move && mapping != addr;
    if moves {
        pending::push(Record::Free {
            pc: pc as u64,
            addr: addr as u64,
        });
    }
    match replaced {
        Some(replaced) => replaced.record(pc),
        None if moves => {
            begins_inside(mapping, new_len, pc);
            if modules::is_instrumented(pc) {
                let left = MOST_OF_ALL.saturating_sub(TOLD.load(Relaxed));
                let kept = readable(mapping as usize, len.min(new_len).min(MOST_OF_A_FILE).min(left));
                TOLD.fetch_add(kept, Relaxed);
                pending::write_range_now(mapping as usize, kept, pc);
            }
        }
        None => {}
    }
    mapping
}

export! {
    munmap = unmap, "rdx";
    madvise = advise, "rcx";
    mremap = remap, "r9";
}

unsafe extern "C" fn unmap(addr: *mut c_void, len: usize, pc: usize) -> c_int {
    // What the kernel refuses ends nothing.
    let refused = len == 0 || !(addr as usize).is_multiple_of(PAGE);
    let about_to_end = || Intent::free(pc, addr as usize);
    let inside = if refused { None } else { enter_for(pc, about_to_end) };
    if inside.is_some() {
        pending::push(Record::Free {
            pc: pc as u64,
            addr: addr as u64,
        });
    }
    // SAFETY: the caller's own mapping.
    unsafe { real::munmap(addr, len) }
}
