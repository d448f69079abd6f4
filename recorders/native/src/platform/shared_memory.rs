//! Whether memory may be shared with other processes, as the kernel sees it.
//!
//! Who waits on a word by `futex` seldom says that the word is private (C++'s library does not), and yet it mostly is.

use crate::platform::sys;
use core::ffi::CStr;

const PAGE: usize = 4096;
/// Bits of an entry of `/proc/self/pagemap` (proc(5)).
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE_OR_SHARED: u64 = 1 << 61;

/// Whether no other process can see what is written there. What cannot be found out is no.
pub fn is_private(addr: usize) -> bool {
    // One read, for pages that were written to; the list of mappings knows them all.
    match page_entry(addr) {
        Some(entry) if entry & (PRESENT | SWAPPED) != 0 && entry & OF_FILE_OR_SHARED == 0 => true,
        _ => mapping_is_private(addr) == Some(true),
    }
}

/// The kernel's entry for the page of an address.
fn page_entry(addr: usize) -> Option<u64> {
    let mut entry = 0_u64;
    let file = File::open(c"/proc/self/pagemap")?;
    let (to, at) = (&raw mut entry as usize, addr / PAGE * size_of::<u64>());
    // SAFETY: the kernel writes to `entry` and nothing else.
    let read = unsafe { sys::call(libc::SYS_pread64, file.0, to, size_of::<u64>(), at) };
    (read == size_of::<u64>() as isize).then_some(entry)
}

/// Whether the mapping that an address lies in is private, if there is one.
fn mapping_is_private(addr: usize) -> Option<bool> {
    let file = File::open(c"/proc/self/maps")?;
    let mut bytes = [0_u8; 1024];
    let mut line = Line::default();
    loop {
        // SAFETY: the kernel writes to `bytes`, at most so much.
        let read = unsafe { sys::call(libc::SYS_read, file.0, bytes.as_mut_ptr() as usize, bytes.len(), 0) };
        for &byte in bytes.get(..usize::try_from(read).ok().filter(|&len| len > 0)?)? {
            if let Some((start, end, private)) = line.take(byte)
                && (start..end).contains(&addr)
            {
                return Some(private);
            }
        }
    }
}

/// What was read of a line, such as `7f1200000000-7f1200021000 rw-p 00000000 00:00 0`.
#[derive(Default)]
struct Line {
    /// The characters before.
    column: usize,
    /// Spaces and dashes before: 0 in the start, 1 in the end, 2 in the permissions.
    field: usize,
    bounds: [usize; 2],
}

impl Line {
    /// Takes one more character; bounds and whether it is private, once all of that was there.
    fn take(&mut self, byte: u8) -> Option<(usize, usize, bool)> {
        match byte {
            b'\n' => *self = Line::default(),
            b'-' if self.field == 0 => self.field = 1,
            b' ' if self.field == 1 => (self.field, self.column) = (2, 0),
            _ if self.field < 2 => {
                let digit = char::from(byte).to_digit(16)?;
                self.bounds[self.field] = self.bounds[self.field] << 4 | digit as usize;
            }
            _ => {
                self.column += 1;
                // After what may be done with it.
                if self.field == 2 && self.column == 4 {
                    self.field = 3;
                    return Some((self.bounds[0], self.bounds[1], byte == b'p'));
                }
            }
        }
        None
    }
}

/// An open file of the kernel's, without libc.
struct File(usize);

impl File {
    fn open(path: &CStr) -> Option<File> {
        // SAFETY: `path` is a C string.
        let file = unsafe { sys::call(libc::SYS_open, path.as_ptr() as usize, libc::O_CLOEXEC as usize, 0, 0) };
        usize::try_from(file).ok().map(File)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: a descriptor of its own.
        unsafe { sys::call(libc::SYS_close, self.0, 0, 0, 0) };
    }
}
