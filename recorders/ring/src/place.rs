//! The path by which a process opens a file that another one holds open.

use core::ffi::CStr;

/// Bytes of a path, with the zero at its end.
const LEN: usize = 32;

/// A path below `/proc`. Always of the same length: it is part of a program's environment, which lies above its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place([u8; LEN]);

impl Place {
    /// A path that leads nowhere.
    pub const NOWHERE: Place = Place([0; LEN]);

    /// Of an open file of a process.
    #[must_use]
    pub fn new(process: u32, file: u32) -> Place {
        let mut bytes = [b'/'; LEN];
        bytes[LEN - 1] = 0;
        let mut at = LEN - 1;
        let mut put = |text: &[u8]| {
            at -= text.len();
            bytes[at..at + text.len()].copy_from_slice(text);
        };
        for part in [(file, &b"/fd/"[..]), (process, &b"/"[..])] {
            let (mut rest, mut first) = (part.0, true);
            while rest > 0 || first {
                put(&[b'0' + (rest % 10) as u8]);
                (rest, first) = (rest / 10, false);
            }
            put(part.1);
        }
        bytes[..6].copy_from_slice(b"/proc/");
        Place(bytes)
    }

    /// The place that a path names; `None` if no place has such a path.
    #[must_use]
    pub fn of(path: &CStr) -> Option<Place> {
        let mut bytes = [0; LEN];
        let path = path.to_bytes_with_nul();
        bytes.get_mut(..path.len())?.copy_from_slice(path);
        Some(Place(bytes))
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    /// Whether there is a file: whoever held it is there, and did not close it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let answer: i64;
        // SAFETY: a C string. The system call itself, since libc's function sets the program's `errno`.
        unsafe {
            core::arch::asm!(
                "syscall",
                inlateout("rax") libc::SYS_access => answer,
                in("rdi") self.0.as_ptr(),
                in("rsi") i64::from(libc::F_OK),
                out("rcx") _,
                out("r11") _,
                options(nostack),
            );
        }
        answer == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::os::fd::AsRawFd;

    #[test]
    fn paths_lead_to_open_files_and_have_one_length() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = file.as_raw_fd() as u32;
        let place = Place::new(std::process::id(), number);
        assert!(place.is_there());
        assert_eq!(
            place.path().to_bytes().len(),
            Place::new(u32::MAX, 0).path().to_bytes().len()
        );
        assert_eq!(Place::of(place.path()), Some(place));
        let last = format!("/{}/fd/{number}", std::process::id());
        assert!(place.path().to_str().unwrap().ends_with(&last));
        drop(file);
        assert!(!Place::new(std::process::id(), 60_000).is_there());
        assert!(!Place::NOWHERE.is_there());
    }
}
