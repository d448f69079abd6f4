//! Names that temporary files and directories were given in place of those that libc made up for them: the recorded run's.
//!
//! A run that stops before its end, as at a race, does not remove what it made. What it leaves behind gets its own name
//! back, so that the next run of the same plan finds the recorded one free.

use crate::platform::sys;
use core::ffi::CStr;
use std::ffi::CString;
use std::sync::Mutex;
use std::vec::Vec;

/// A name of this run's, and the one that stands for it.
struct Renamed {
    own: CString,
    recorded: CString,
}

static RENAMED: Mutex<Vec<Renamed>> = Mutex::new(Vec::new());

/// Gives what has this run's name the recorded one, unless something else has that; whether it has it now.
pub fn rename(own: &CStr, recorded: &CStr) -> bool {
    let is_renamed = moves(own, recorded);
    if is_renamed && let Ok(mut renamed) = RENAMED.try_lock() {
        renamed.push(Renamed {
            own: own.to_owned(),
            recorded: recorded.to_owned(),
        });
    }
    is_renamed
}

/// The run stops here, for now at least: what is still there gets its own name back.
pub fn give_back() {
    // A thread that is at work on it has just made one more.
    let Ok(renamed) = RENAMED.try_lock() else { return };
    // A name may stand within a directory that has another one, too.
    for renamed in renamed.iter().rev() {
        moves(&renamed.recorded, &renamed.own);
    }
}

/// The run goes on after all.
pub fn take_again() {
    let Ok(renamed) = RENAMED.try_lock() else { return };
    for renamed in renamed.iter() {
        moves(&renamed.own, &renamed.recorded);
    }
}

fn moves(from: &CStr, to: &CStr) -> bool {
    let (here, from, to) = (libc::AT_FDCWD as usize, from.as_ptr() as usize, to.as_ptr() as usize);
    // SAFETY: strings.
    unsafe {
        sys::call_of_five(
            libc::SYS_renameat2,
            [here, from, here, to, libc::RENAME_NOREPLACE as usize],
        ) == 0
    }
}
