//! The path by which a process opens a file that another one holds open.

use core::ffi::CStr;

/// Bytes of a path, with the zero at its end.
const LEN: usize = 32;

/// Bytes of a page.
const PAGE: usize = 4096;

/// A path below `/proc`. Always of the same length: it is part of a program's environment, which lies above its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPath([u8; LEN]);

impl RingPath {
    /// A path that leads nowhere.
    pub const NOWHERE: RingPath = RingPath([0; LEN]);

    /// Of an open file of a process.
    #[must_use]
    pub fn new(process: u32, file: u32) -> RingPath {
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
        RingPath(bytes)
    }

    /// The same path as text, whatever spaces follow; `None` if it is none of these.
    #[must_use]
    pub fn of(text: &CStr) -> Option<RingPath> {
        let mut bytes = [0; LEN];
        let text = text.to_bytes().trim_ascii_end();
        bytes[..LEN - 1].get_mut(..text.len())?.copy_from_slice(text);
        Some(RingPath(bytes))
    }

    /// Spaces to add to the path in an environment whose strings are so many bytes long, each with the byte that ends
    /// it. Where a program's arguments lie depends on that length, and functions like `strcmp` read them in pieces as
    /// their place has it. So all environments end where pages do: that of a live run may be another one than the
    /// recorded run had.
    #[must_use]
    pub fn spaces(environment: usize) -> usize {
        environment.next_multiple_of(PAGE) - environment
    }

    /// As text.
    #[must_use]
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    /// Whether whoever held the file is gone, or has closed it. Not where processes cannot be seen at all: it may well
    /// be there then.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        const OWN: &CStr = c"/proc/self/fd";
        let own = RingPath::of(OWN).unwrap_or(RingPath::NOWHERE);
        !self.is_there() && own.is_there()
    }

    /// Whether there is a file: whoever held it is there, and did not close it. Of a process of another user, it is not
    /// seen which files it holds, but that it is there.
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
        answer == 0 || answer == -i64::from(libc::EACCES)
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
        let path = RingPath::new(std::process::id(), number);
        assert!(path.is_there());
        assert_eq!(
            path.as_c_str().to_bytes().len(),
            RingPath::new(u32::MAX, 0).as_c_str().to_bytes().len()
        );
        assert_eq!(RingPath::of(path.as_c_str()), Some(path));
        let spaced = std::ffi::CString::new(format!("{}  ", path.as_c_str().to_str().unwrap())).unwrap();
        assert_eq!(RingPath::of(&spaced), Some(path));
        assert_eq!(
            [0, 1, PAGE - 1, PAGE, PAGE + 7].map(RingPath::spaces),
            [0, PAGE - 1, 1, 0, PAGE - 7]
        );
        let last = format!("/{}/fd/{number}", std::process::id());
        assert!(path.as_c_str().to_str().unwrap().ends_with(&last));
        assert!(!path.is_gone());
        drop(file);
        let closed = RingPath::new(std::process::id(), 60_000);
        assert!(!closed.is_there() && closed.is_gone());
        assert!(!RingPath::NOWHERE.is_there());
    }
}
