//! The segments of a module that is loaded, as its program headers say.

use core::slice;

/// The module's program headers.
pub fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: the loader's own table of that many headers.
    unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// The part of a module that the program may write to: address and size. Linkers make one.
pub fn variables(info: &libc::dl_phdr_info) -> Option<(u64, u64)> {
    let writable = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
    let part = headers(info).iter().find(writable)?;
    Some((info.dlpi_addr + part.p_vaddr, part.p_memsz))
}
