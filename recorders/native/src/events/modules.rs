//! The files that are mapped into the program, told to the parent; and which of them were
//! compiled with instrumentation.

use crate::events::images;
use crate::events::pending::{self, text};
use crate::events::segments::{headers, variables};
use crate::platform::real;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::slice;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use recorder_ring::Record;
use std::vec::Vec;

const MAX_INSTRUMENTED: usize = 64;
const MAX_MODULES: usize = 1024;

/// Code ranges of instrumented modules: appended to with the baton, read by anyone.
static RANGES: [(AtomicUsize, AtomicUsize); MAX_INSTRUMENTED] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MAX_INSTRUMENTED];
static RANGE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The modules that the parent knows: the start of their code and, for those that came late, of their variables.
/// Used with the baton.
static TOLD: Told = Told {
    modules: [const { Cell::new((0, 0)) }; MAX_MODULES],
    count: Cell::new(0),
};

struct Told {
    modules: [Cell<(usize, u64)>; MAX_MODULES],
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

/// In a forked child: its recorder knows none.
pub fn start_over() {
    TOLD.count.set(0);
    RANGE_COUNT.store(0, Release);
}

/// Tells the parent of modules that it does not know yet. The caller has the baton.
pub fn tell_new() {
    // SAFETY: `tell` ignores its data.
    unsafe { real::dl_iterate_phdr(tell, core::ptr::null_mut()) };
}

unsafe extern "C-unwind" fn tell(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on.
    let info = unsafe { &*info };
    let (start, end) = code_range(info);
    let count = TOLD.count.get();
    let known = TOLD.modules[..count].iter().any(|known| known.get().0 == start);
    if end == 0 || known || count == MAX_MODULES {
        return 0;
    }
    let variables = match images::are_taken() {
        true => variables(info).map_or(0, |(addr, _)| addr),
        false => 0,
    };
    TOLD.modules[count].set((start, variables));
    TOLD.count.set(count + 1);
    if imports(info, b"__tsan_init") {
        let count = RANGE_COUNT.load(Relaxed).min(MAX_INSTRUMENTED);
        // The place of one that was unloaded, or a new one.
        let unused = RANGES[..count].iter().position(|range| range.1.load(Relaxed) == 0);
        let at = unused.unwrap_or(count);
        if let Some(range) = RANGES.get(at) {
            range.0.store(start, Relaxed);
            range.1.store(end, Relaxed);
            RANGE_COUNT.store(count.max(at + 1), Release);
        }
    }
    // SAFETY: the loader's name of the module is a C string; empty for the program itself.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let build_id = build_id(info);
    text(build_id);
    if name.is_empty() {
        text(&own_path());
    } else {
        text(name);
    }
    pending::push(Record::Module {
        build_id: build_id.len() as u8,
        base: info.dlpi_addr,
        start: start as u64,
        end: end as u64,
    });
    images::take_late(info);
    0
}

/// Modules that were unloaded are no more, nor are their variables. The caller has the baton.
pub fn forget_unloaded() {
    unsafe extern "C-unwind" fn is_it(info: *mut libc::dl_phdr_info, _size: usize, wanted: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
        unsafe { (code_range(&*info).0 == *wanted.cast::<usize>()).into() }
    }
    let mut at = 0;
    while at < TOLD.count.get() {
        let (mut start, variables) = TOLD.modules[at].get();
        // SAFETY: the function takes such a pointer.
        if unsafe { real::dl_iterate_phdr(is_it, (&raw mut start).cast()) } != 0 {
            at += 1;
            continue;
        }
        let last = TOLD.count.get() - 1;
        TOLD.modules[at].set(TOLD.modules[last].get());
        TOLD.count.set(last);
        for range in &RANGES {
            if range.0.load(Relaxed) == start {
                range.1.store(0, Relaxed);
            }
        }
        if variables != 0 {
            pending::push(Record::Free { pc: 0, addr: variables });
        }
    }
}

/// Whether an address lies in what is loaded of the program or a library: its code or its variables.
pub fn hold(addr: usize) -> bool {
    unsafe extern "C-unwind" fn is_it(info: *mut libc::dl_phdr_info, _size: usize, addr: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
        let (info, addr) = unsafe { (&*info, *addr.cast::<u64>()) };
        let mut loaded = headers(info).iter().filter(|header| header.p_type == libc::PT_LOAD);
        let holds = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            (start..start.saturating_add(header.p_memsz)).contains(&addr)
        };
        loaded.any(holds).into()
    }
    let mut addr = addr as u64;
    // SAFETY: the function takes such a pointer.
    unsafe { real::dl_iterate_phdr(is_it, (&raw mut addr).cast()) != 0 }
}

/// The code of the module that a code position lies in; empty if there is none.
pub fn code_around(pc: usize) -> (usize, usize) {
    unsafe extern "C-unwind" fn is_it(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
        unsafe {
            // At first, the position.
            let found = &mut *found.cast::<(usize, usize)>();
            let (start, end) = code_range(&*info);
            let here = start <= found.0 && found.0 < end;
            if here {
                *found = (start, end);
            }
            here.into()
        }
    }
    let mut found = (pc, 0);
    // SAFETY: the function takes such a pointer.
    match unsafe { real::dl_iterate_phdr(is_it, (&raw mut found).cast()) } {
        0 => (0, 0),
        _ => found,
    }
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
fn build_id(info: &libc::dl_phdr_info) -> &[u8] {
    const NT_GNU_BUILD_ID: u32 = 3;
    for header in headers(info).iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: a mapped segment of that length, for as long as the module is loaded, which it is while `info` is
        // valid.
        let mut notes: &[u8] =
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

/// What a library calls itself where it registers functions that are to run before it is unloaded (`__dso_handle`, a
/// variable that holds its own address); 0 for the program, which never is, and where it is not found.
pub fn handle_of(pc: usize) -> usize {
    unsafe extern "C-unwind" fn look(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        const RELATIVE: u64 = 8;
        // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<(usize, usize)>()) };
        let (start, end) = code_range(info);
        if !(start..end).contains(&found.0) {
            return 0;
        }
        let is_own = |entry: &&libc::Elf64_Rela| {
            entry.r_info & 0xffff_ffff == RELATIVE && entry.r_addend as u64 == entry.r_offset
        };
        if let Some(tables) = tables(info) {
            let handle = tables.relocations().find(is_own);
            found.1 = handle.map_or(0, |entry| (info.dlpi_addr + entry.r_offset) as usize);
        }
        1
    }
    let mut found = (pc, 0);
    // SAFETY: the function takes such a pointer.
    unsafe { real::dl_iterate_phdr(look, (&raw mut found).cast()) };
    // The program's own refers to nothing.
    found.1
}

/// Where a module wants libraries to be looked for.
pub enum LibraryPath {
    /// Before anything else.
    First(Vec<u8>),
    /// After what the environment says.
    AfterEnvironment(Vec<u8>),
}

/// The file of the module that a code position lies in, and where it wants libraries to be looked for.
pub fn library_path_of(pc: usize) -> Option<(Vec<u8>, LibraryPath)> {
    unsafe extern "C-unwind" fn look(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<(usize, Option<(Vec<u8>, LibraryPath)>)>()) };
        let (start, end) = code_range(info);
        if !(start..end).contains(&found.0) {
            return 0;
        }
        let Some(tables) = tables(info).filter(|tables| tables.strings != 0) else {
            return 1;
        };
        let text = |at: u64| {
            // SAFETY: the offset of a C string among the module's strings; the loader keeps the module while it calls
            // this.
            let text = unsafe { CStr::from_ptr((tables.strings + at) as *const _) };
            text.to_bytes().to_vec()
        };
        let path = match tables.library_paths {
            [_, Some(at)] => Some(LibraryPath::AfterEnvironment(text(at))),
            [Some(at), None] => Some(LibraryPath::First(text(at))),
            _ => None,
        };
        // SAFETY: the loader's name of the module is a C string; empty for the program itself.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        let name = if name.is_empty() { own_path() } else { name.to_vec() };
        found.1 = path.map(|path| (name, path));
        1
    }
    let mut found = (pc, None);
    // SAFETY: the function takes such a pointer.
    unsafe { real::dl_iterate_phdr(look, (&raw mut found).cast()) };
    found.1
}

/// The program's file.
fn own_path() -> Vec<u8> {
    let mut path = [0_u8; 4096];
    // SAFETY: `path` is writable memory of that length.
    let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    path[..len.max(0) as usize].to_vec()
}

/// Whether a module refers to a symbol of another one, as every instrumented object does to
/// `__tsan_init`: whether one of its relocations names it.
fn imports(info: &libc::dl_phdr_info, wanted: &[u8]) -> bool {
    let Some(tables) = tables(info).filter(|tables| tables.symbols != 0 && tables.strings != 0) else {
        return false;
    };
    let names_it = |relocation: &libc::Elf64_Rela| {
        let symbol = relocation.r_info >> 32;
        // SAFETY: an index into the module's symbols, and the offset of a C string among its strings.
        symbol != 0
            && unsafe {
                let symbol = &*(tables.symbols as *const libc::Elf64_Sym).add(symbol as usize);
                CStr::from_ptr((tables.strings + u64::from(symbol.st_name)) as *const _).to_bytes() == wanted
            }
    };
    tables.relocations().any(names_it)
}

/// Where a module's symbols, their names and its relocations are.
struct Tables {
    symbols: u64,
    strings: u64,
    /// Addresses and lengths.
    relocations: [(u64, u64); 2],
    /// Where it wants libraries to be looked for, at which place among the strings: before the environment, after it.
    library_paths: [Option<u64>; 2],
}

fn tables(info: &libc::dl_phdr_info) -> Option<Tables> {
    const PLT_RELOCATIONS: u64 = 23;
    const PLT_RELOCATIONS_LENGTH: u64 = 2;
    const RELOCATIONS: u64 = 7;
    const RELOCATIONS_LENGTH: u64 = 8;
    const SYMBOLS: u64 = 6;
    const STRINGS: u64 = 5;
    const LIBRARY_PATHS: [u64; 2] = [15, 29];
    const END: u64 = 0;

    let header = headers(info).iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let mut entry = (info.dlpi_addr + header.p_vaddr) as *const [u64; 2];
    let mut values = [0_u64; 30];
    // SAFETY: the dynamic section is mapped, and ends with an entry of this kind.
    unsafe {
        while (*entry)[0] != END {
            if let Some(value) = values.get_mut((*entry)[0] as usize) {
                *value = (*entry)[1];
            }
            entry = entry.add(1);
        }
    }
    // The loader has relocated the addresses, except in modules that it did not load itself.
    let at = |tag: u64| match values[tag as usize] {
        0 => 0,
        addr if addr < info.dlpi_addr => addr + info.dlpi_addr,
        addr => addr,
    };
    let table = |table, length: u64| (at(table), values[length as usize]);
    Some(Tables {
        symbols: at(SYMBOLS),
        strings: at(STRINGS),
        relocations: [
            table(PLT_RELOCATIONS, PLT_RELOCATIONS_LENGTH),
            table(RELOCATIONS, RELOCATIONS_LENGTH),
        ],
        library_paths: LIBRARY_PATHS.map(|tag| Some(values[tag as usize]).filter(|&at| at != 0)),
    })
}

impl Tables {
    fn relocations(&self) -> impl Iterator<Item = &libc::Elf64_Rela> {
        let tables = self.relocations.iter().filter(|(addr, _)| *addr != 0);
        tables.flat_map(|&(addr, length)| {
            let count = length as usize / size_of::<libc::Elf64_Rela>();
            // SAFETY: a table of that many relocations, as the module itself says.
            unsafe { slice::from_raw_parts(addr as *const libc::Elf64_Rela, count) }
        })
    }
}
