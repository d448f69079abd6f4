//! What memory holds when the second thread is about to start, told to the parent.
//!
//! Code that is not instrumented leaves no events: a first read may see what it wrote. What was
//! there before there were several threads is older than all that they do, so it is told once, at
//! that moment: the writable memory of every module, the first thread's stack and its thread-local
//! variables; in a forked child, also the blocks that its parent had. Constants are told as such. (Fresh blocks need
//! none: `c_library::heap` makes sure that they are zero.) What is of the first thread follows the image of the
//! runtime's own variables: the stack the first one, the thread-local variables, to the last one, the second.

use crate::events;
use crate::events::pending::{self, text};
use crate::events::segments::{headers, variables};
use crate::platform::memory::NOBODYS;
use crate::platform::sys;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::slice;
use recorder_ring::Record;
use std::vec;

const PAGE: usize = 4096;
/// Bytes that are copied at once.
const COPY: usize = 1 << 16;
/// Most bytes that are told of the blocks that a forked child has from its parent; of the others, what they hold
/// at first is not known to be old.
const MOST_INHERITED: u64 = 256 << 20;
const PT_GNU_RELRO: u32 = 0x6474_e552;

/// Whether they were taken. Used with the baton.
static TAKEN: Taken = Taken(Cell::new(false));

struct Taken(Cell<bool>);

// SAFETY: only the thread with the baton looks or stores.
unsafe impl Sync for Taken {}

/// Takes them, the first time. The caller has the baton and is the only thread so far; `stack` finds
/// its own. (That reads all mappings of the process, a few for each thread: only when they are taken.)
pub fn take_once(stack: impl FnOnce() -> Option<(usize, usize)>) {
    if TAKEN.0.replace(true) {
        return;
    }
    let stack = stack();
    // SAFETY: `take_one` ignores its data.
    unsafe { libc::dl_iterate_phdr(Some(take_one), core::ptr::null_mut()) };
    own_variables();
    if let Some((addr, size)) = stack {
        // From here on up: below are the frames of this runtime.
        let from = &raw const stack as usize;
        if (addr..addr + size).contains(&from) {
            tell(from, addr + size);
        }
    }
    own_variables();
    // SAFETY: `take_locals_of_one` ignores its data.
    unsafe { libc::dl_iterate_phdr(Some(take_locals_of_one), core::ptr::null_mut()) };
    own_variables();
    let mut left = MOST_INHERITED;
    for (addr, size) in events::inherited() {
        let own = stack.is_some_and(|(start, len)| (start..start + len).contains(&(addr as usize)));
        if !own && size <= left {
            left -= size;
            tell_copy(addr as usize, (addr + size) as usize);
        }
    }
}

/// The runtime's own variables start as zero.
fn own_variables() {
    pending::push(Record::Image {
        addr: NOBODYS,
        size: u64::MAX - NOBODYS,
        constant: false,
    });
}

/// As [`tell`], of memory that may be gone, or was never to be read.
pub fn tell_copy(start: usize, end: usize) {
    let mut copy = vec![0_u8; COPY.min(end - start)];
    let mut at = start;
    while at < end {
        let len = copy.len().min(end - at);
        let to = libc::iovec {
            iov_base: copy.as_mut_ptr().cast(),
            iov_len: len,
        };
        let from = libc::iovec {
            iov_base: at as *mut c_void,
            iov_len: len,
        };
        // SAFETY: the kernel writes to `copy`, at most so much, and reads only what is there.
        let copied = unsafe { libc::process_vm_readv(sys::process_id(), &to, 1, &from, 1, 0) };
        if copied <= 0 {
            return;
        }
        let copied = copied as usize;
        tell_bytes(at, &copy[..copied]);
        at += copied;
    }
}

/// Tells what a range of memory holds, given a copy of it.
fn tell_bytes(addr: usize, bytes: &[u8]) {
    let mut zeros_from = 0;
    for (number, page) in bytes.chunks(PAGE).enumerate() {
        if let Some(last) = page.iter().rposition(|&byte| byte != 0) {
            let at = number * PAGE;
            image(addr + zeros_from, addr + at, &[]);
            image(addr + at, addr + at + page.len(), &page[..=last]);
            zeros_from = at + page.len();
        }
    }
    image(addr + zeros_from, addr + bytes.len(), &[]);
}

/// Whether there was ever a second thread.
pub fn are_taken() -> bool {
    TAKEN.0.get()
}

/// In a forked child: the second thread is still to come.
pub fn start_over() {
    TAKEN.0.set(false);
}

/// A module that was loaded after that: what the loader put there. Its variables are blocks, which end when it is
/// unloaded: another one may come in its place.
pub fn take_late(info: &libc::dl_phdr_info) {
    if TAKEN.0.get() {
        if let Some((addr, size)) = variables(info) {
            pending::push(Record::Alloc { pc: 0, addr, size });
        }
        module(info);
        thread_locals(info);
    }
}

unsafe extern "C" fn take_one(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on.
    module(unsafe { &*info });
    0
}

unsafe extern "C" fn take_locals_of_one(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on.
    thread_locals(unsafe { &*info });
    0
}

fn range(info: &libc::dl_phdr_info, header: &libc::Elf64_Phdr) -> core::ops::Range<usize> {
    let start = info.dlpi_addr + header.p_vaddr;
    start as usize..(start + header.p_memsz) as usize
}

/// What a module has loaded; nothing of the runtime itself.
fn loaded(info: &libc::dl_phdr_info) -> impl Iterator<Item = &libc::Elf64_Phdr> {
    let own = &raw const TAKEN as usize;
    let readable = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0;
    let is_own = headers(info)
        .iter()
        .filter(readable)
        .any(|header| range(info, header).contains(&own));
    headers(info).iter().filter(readable).filter(move |_| !is_own)
}

fn module(info: &libc::dl_phdr_info) {
    if loaded(info).next().is_none() {
        return;
    }
    for header in loaded(info) {
        let (start, end) = (range(info, header).start, range(info, header).end);
        if header.p_flags & libc::PF_W != 0 {
            tell(start, end);
        } else {
            constant(start, end);
        }
    }
    for header in headers(info).iter().filter(|header| header.p_type == PT_GNU_RELRO) {
        // The loader protects whole pages only.
        constant(range(info, header).start, range(info, header).end / PAGE * PAGE);
    }
}

/// The calling thread's.
fn thread_locals(info: &libc::dl_phdr_info) {
    let start = info.dlpi_tls_data as usize;
    if start == 0 || loaded(info).next().is_none() {
        return;
    }
    for header in headers(info).iter().filter(|header| header.p_type == libc::PT_TLS) {
        tell(start, start + header.p_memsz as usize);
    }
}

fn constant(start: usize, end: usize) {
    if start < end {
        pending::push(Record::Image {
            addr: start as u64,
            size: (end - start) as u64,
            constant: true,
        });
    }
}

/// Tells what a range holds: page by page, but one record for each stretch of zeros.
fn tell(start: usize, end: usize) {
    let mut zeros_from = start;
    let mut at = start;
    while at < end {
        let next = (at / PAGE * PAGE + PAGE).min(end);
        // SAFETY: mapped, readable memory of this process; nobody else runs.
        let page = unsafe { slice::from_raw_parts(at as *const u8, next - at) };
        if let Some(last) = page.iter().rposition(|&byte| byte != 0) {
            image(zeros_from, at, &[]);
            image(at, next, &page[..=last]);
            zeros_from = next;
        }
        at = next;
    }
    image(zeros_from, end, &[]);
}

fn image(start: usize, end: usize, bytes: &[u8]) {
    if start < end {
        text(bytes);
        pending::push(Record::Image {
            addr: start as u64,
            size: (end - start) as u64,
            constant: false,
        });
    }
}
