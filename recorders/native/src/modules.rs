//! The files that are mapped into the program, told to the parent; and which of them were
//! compiled with instrumentation.

use crate::inside::Inside;
use crate::pending;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::slice;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use recorder_ring::Record;

const MAX_INSTRUMENTED: usize = 64;
const MAX_MODULES: usize = 1024;

/// Code ranges that called `__tsan_init`: appended to with the baton, read by anyone.
static RANGES: [(AtomicUsize, AtomicUsize); MAX_INSTRUMENTED] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MAX_INSTRUMENTED];
static RANGE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Start addresses of the modules that the parent knows. Used with the baton.
static TOLD: Told = Told {
    starts: [const { Cell::new(0) }; MAX_MODULES],
    count: Cell::new(0),
};

struct Told {
    starts: [Cell<usize>; MAX_MODULES],
    count: Cell<usize>,
}

// SAFETY: only the thread with the baton looks or stores.
unsafe impl Sync for Told {}

/// Whether a code position lies in an instrumented module.
#[inline(always)]
pub fn is_instrumented(pc: usize) -> bool {
    let count = RANGE_COUNT.load(Acquire);
    RANGES[..count.min(MAX_INSTRUMENTED)]
        .iter()
        .any(|(start, end)| start.load(Relaxed) <= pc && pc < end.load(Relaxed))
}

/// The module that holds `pc` is instrumented; there may be other new ones.
pub fn instrumented(pc: usize) {
    let Some(_inside) = Inside::enter_and_stay() else {
        return;
    };
    tell_new();
    if is_instrumented(pc) {
        return;
    }
    let mut search = Search { pc, start: 0, end: 0 };
    // SAFETY: `find` gets the pointer given here.
    unsafe { libc::dl_iterate_phdr(Some(find), (&raw mut search).cast()) };
    let count = RANGE_COUNT.load(Relaxed);
    if search.end != 0 && count < MAX_INSTRUMENTED {
        RANGES[count].0.store(search.start, Relaxed);
        RANGES[count].1.store(search.end, Relaxed);
        RANGE_COUNT.store(count + 1, Release);
    }
}

/// Tells the parent of modules that it does not know yet. The caller has the baton.
pub fn tell_new() {
    // SAFETY: `tell` ignores its data.
    unsafe { libc::dl_iterate_phdr(Some(tell), core::ptr::null_mut()) };
}

struct Search {
    pc: usize,
    start: usize,
    end: usize,
}

unsafe extern "C" fn find(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let (start, end) = code_range(info);
    if (start..end).contains(&search.pc) {
        (search.start, search.end) = (start, end);
    }
    0
}

unsafe extern "C" fn tell(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on.
    let info = unsafe { &*info };
    let (start, end) = code_range(info);
    let count = TOLD.count.get();
    let known = TOLD.starts[..count].iter().any(|known| known.get() == start);
    if end == 0 || known || count == MAX_MODULES {
        return 0;
    }
    TOLD.starts[count].set(start);
    TOLD.count.set(count + 1);
    // SAFETY: the loader's name of the module is a C string; empty for the program itself.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let build_id = build_id(info);
    text(build_id);
    if name.is_empty() {
        let mut path = [0_u8; 4096];
        // SAFETY: `path` is writable memory of that length.
        let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        text(&path[..len.max(0) as usize]);
    } else {
        text(name);
    }
    pending::push(Record::Module {
        build_id: build_id.len() as u8,
        base: info.dlpi_addr,
        start: start as u64,
        end: end as u64,
    });
    0
}

/// Sends text for the next record that wants some.
pub fn text(text: &[u8]) {
    for part in text.chunks(16) {
        let mut bytes = [0_u8; 16];
        bytes[..part.len()].copy_from_slice(part);
        let word = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[at + i]));
        pending::push(Record::Bytes {
            len: part.len() as u8,
            words: [word(0), word(8)],
        });
    }
}

fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: the loader's own table of that many headers.
    unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// The range that the module's executable segments cover; empty if it has none.
fn code_range(info: &libc::dl_phdr_info) -> (usize, usize) {
    let code = headers(info)
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let (start, end) = code.fold((u64::MAX, 0), |(start, end), header| {
        let at = info.dlpi_addr + header.p_vaddr;
        (start.min(at), end.max(at + header.p_memsz))
    });
    (start as usize, end as usize)
}

/// The module's GNU build id; empty if it has none.
fn build_id(info: &libc::dl_phdr_info) -> &'static [u8] {
    const NT_GNU_BUILD_ID: u32 = 3;
    for header in headers(info).iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: a mapped segment of that length, for as long as the module is loaded.
        let mut notes: &'static [u8] =
            unsafe { slice::from_raw_parts((info.dlpi_addr + header.p_vaddr) as *const u8, header.p_memsz as usize) };
        while let Some((head, rest)) = notes.split_at_checked(12) {
            let field = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
            let (name_len, len, kind) = (field(0), field(4), field(8) as u32);
            let Some((name, rest)) = rest.split_at_checked(name_len.next_multiple_of(4)) else {
                break;
            };
            let Some(content) = rest.get(..len) else { break };
            if kind == NT_GNU_BUILD_ID && name.starts_with(b"GNU\0") && len <= 64 {
                return content;
            }
            notes = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
    &[]
}
