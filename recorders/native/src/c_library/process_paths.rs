//! Paths of the system's entries for processes and threads, `/proc/NUMBER` and `/proc/self/task/NUMBER`: they name what
//! the program means by the number ([`process_numbers`](crate::runtime::process_numbers)).
//!
//! Whom the program was not told of in this run, say the parent of its parent, of which it read in such an entry, nobody
//! knows any more along a plan. What it was told there stands in the plan, so that another entry of that kind will do:
//! the process's own.

use crate::platform::{memory, sys};
use crate::runtime::accesses::returns_or_fails;
use crate::runtime::process_numbers;
use crate::scheduling::plan;
use libc::{c_char, ssize_t};

/// Such paths are short; others stay as they are.
const ROOM: usize = 128;

/// A path that the program gave, as it is meant in this run.
pub struct Meant {
    original: *const c_char,
    /// The one that has other numbers, with its end.
    copy: Option<[u8; ROOM]>,
}

/// Where below `/proc` a path leads, if it does.
fn entry<'a>(path: *const c_char) -> Option<&'a [u8]> {
    memory::text(path)?.to_bytes().strip_prefix(b"/proc/")
}

impl Meant {
    /// As long as the path stays where it is.
    pub fn by(path: *const c_char) -> Meant {
        Meant::with(path, false)
    }

    /// As [`by`](Self::by), of a call whose result stands in the plan: along one, it finds what it found then.
    pub fn found_by(path: *const c_char, pc: usize) -> Meant {
        Meant::with(path, plan::returned(pc).is_some_and(|result| result as i64 >= 0))
    }

    fn with(path: *const c_char, was_found: bool) -> Meant {
        Meant {
            original: path,
            copy: entry(path).and_then(|entry| translated(entry, was_found)),
        }
    }

    /// What to give the system.
    pub fn path(&self) -> *const c_char {
        self.copy.as_ref().map_or(self.original, |copy| copy.as_ptr().cast())
    }
}

/// How long the name is to which a link led that the caller has read into so much room.
pub fn link(path: *const c_char, len: ssize_t, room: usize, pc: usize) -> ssize_t {
    if entry(path).is_some_and(|entry| entry.first().is_some_and(u8::is_ascii_digit)) {
        (returns_or_fails(len as i64, pc) as ssize_t).min(room as ssize_t)
    } else {
        len
    }
}

/// The path of an entry with the numbers of this run, if some are others.
fn translated(entry: &[u8], was_found: bool) -> Option<[u8; ROOM]> {
    let mut copy = [0; ROOM];
    let mut end = 0;
    let mut put = |bytes: &[u8]| {
        // The last byte stays 0.
        let room = copy[..ROOM - 1].get_mut(end..end + bytes.len())?;
        room.copy_from_slice(bytes);
        end += bytes.len();
        Some(())
    };
    put(b"/proc")?;
    let mut differs = false;
    for (at, name) in entry.split(|&byte| byte == b'/').enumerate() {
        put(b"/")?;
        // A process, or a thread behind `task`.
        let digits = Some(name).filter(|name| (at == 0 || at == 2) && name.iter().all(u8::is_ascii_digit));
        match digits.and_then(|digits| core::str::from_utf8(digits).ok()?.parse().ok()) {
            Some(number) => {
                let actual = of_this_run(number, was_found);
                differs |= actual != number;
                let mut digits = [0; 10];
                put(decimal(actual, &mut digits))?;
            }
            None => put(name)?,
        }
    }
    differs.then_some(copy)
}

/// Who is meant by a number.
fn of_this_run(number: i32, was_found: bool) -> i32 {
    match process_numbers::actual(number) {
        actual if actual != number => actual,
        _ if was_found && !process_numbers::is_known(number) => sys::process_id(),
        _ => number,
    }
}

fn decimal(number: i32, digits: &mut [u8; 10]) -> &[u8] {
    let mut left = number.unsigned_abs();
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return &digits[start..];
        }
    }
}
