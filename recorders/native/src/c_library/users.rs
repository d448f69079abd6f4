//! Users and groups: what is found is in the caller's structure, and what that points to in the caller's room.

use super::library::{entries, reads_text, writes_text};
use crate::platform::memory;
use crate::runtime::accesses::{arrives, reads, writes};
use core::mem::offset_of;
use libc::{c_char, c_int, gid_t, group, passwd, uid_t};

/// The room that a caller gives for what a structure points to.
#[derive(Clone, Copy)]
pub(super) struct Room(pub *const c_char, pub usize);

impl Room {
    /// Whether this is in it, and so was written by the call.
    fn has<T>(self, place: *const T) -> bool {
        (place as usize).wrapping_sub(self.0 as usize) < self.1
    }

    /// Records the write of a string.
    ///
    /// # Safety
    /// A string, or anything that is not in this room.
    pub unsafe fn text(self, text: *const c_char, pc: usize) {
        if self.has(text) {
            // SAFETY: promised by the caller.
            unsafe { writes_text(text, pc) };
        }
    }

    /// Records the write of so many bytes.
    pub fn bytes<T>(self, start: *const T, len: usize, pc: usize) {
        if self.has(start) {
            writes(start, len, pc);
        }
    }

    /// Records the writes of a list that ends with a null pointer, and of what it points to, by `each`.
    ///
    /// # Safety
    /// Such a list, or anything that is not in this room.
    pub unsafe fn list(self, list: *const *mut c_char, pc: usize, each: impl Fn(*const c_char)) {
        if self.has(list) {
            // SAFETY: promised by the caller.
            unsafe {
                let count = entries(list);
                writes(list, (count + 1) * size_of::<*mut c_char>(), pc);
                (0..count).for_each(|at| each(*list.add(at)));
            }
        }
    }

    /// As [`list`](Self::list), of strings.
    ///
    /// # Safety
    /// Such a list, or anything that is not in this room.
    pub unsafe fn texts(self, list: *const *mut c_char, pc: usize) {
        // SAFETY: promised by the caller.
        unsafe { self.list(list, pc, |text| self.text(text, pc)) };
    }
}

/// What a search without an error found: null, or the caller's structure. Records the write that says which.
///
/// # Safety
/// The call wrote there, unless it failed.
pub(super) unsafe fn found<'a, T>(error: c_int, at: *const *mut T, pc: usize) -> Option<&'a T> {
    if error != 0 {
        return None;
    }
    writes(at, size_of::<*mut T>(), pc);
    // SAFETY: promised by the caller.
    unsafe { (*at).as_ref() }
}

/// # Safety
/// As for [`found`].
unsafe fn found_user(error: c_int, at: *const *mut passwd, room: Room, pc: usize) {
    // SAFETY: promised by the caller; what is in the room, the call wrote.
    unsafe {
        if let Some(user) = found(error, at, pc) {
            writes(user, size_of::<passwd>(), pc);
            for text in [user.pw_name, user.pw_passwd, user.pw_gecos, user.pw_dir, user.pw_shell] {
                room.text(text, pc);
            }
        }
    }
}

/// # Safety
/// As for [`found`].
unsafe fn found_group(error: c_int, at: *const *mut group, room: Room, pc: usize) {
    // SAFETY: promised by the caller; what is in the room, the call wrote.
    unsafe {
        if let Some(group) = found(error, at, pc) {
            // What lies between the number and the members belongs to nobody.
            writes(group, offset_of!(group, gr_gid) + size_of::<gid_t>(), pc);
            writes(&raw const group.gr_mem, size_of::<*mut *mut c_char>(), pc);
            room.text(group.gr_name, pc);
            room.text(group.gr_passwd, pc);
            room.texts(group.gr_mem, pc);
        }
    }
}

library! {
    getpwnam_r(name: *const c_char, to: *mut passwd, room: *mut c_char, len: usize, at: *mut *mut passwd) -> c_int, "r9": slow {
        reads_text(name, pc);
    } (error, pc) { found_user(error, at, Room(room, len), pc); }
    getpwuid_r(user: uid_t, to: *mut passwd, room: *mut c_char, len: usize, at: *mut *mut passwd) -> c_int, "r9": slow {} (error, pc) {
        found_user(error, at, Room(room, len), pc);
    }
    getgrnam_r(name: *const c_char, to: *mut group, room: *mut c_char, len: usize, at: *mut *mut group) -> c_int, "r9": slow {
        reads_text(name, pc);
    } (error, pc) { found_group(error, at, Room(room, len), pc); }
    getgrgid_r(number: gid_t, to: *mut group, room: *mut c_char, len: usize, at: *mut *mut group) -> c_int, "r9": slow {} (error, pc) {
        found_group(error, at, Room(room, len), pc);
    }
    getgrouplist(user: *const c_char, first: gid_t, to: *mut gid_t, count: *mut c_int) -> c_int, "r8": slow {
        reads_text(user, pc);
        reads(count, size_of::<c_int>(), pc);
        let room = memory::at(count).unwrap_or(0).max(0);
    } (found, pc) {
        // There was no room for all, or else no memory.
        let all = if found >= 0 { found } else { *count };
        if found >= 0 || all > room {
            writes(to, all.min(room) as usize * size_of::<gid_t>(), pc);
            writes(count, size_of::<c_int>(), pc);
        }
    }
    getgroups(room: c_int, to: *mut gid_t) -> c_int, "rdx": quick {} (count, pc) {
        if room > 0 && count > 0 { arrives(to, count as usize * size_of::<gid_t>(), pc); }
    }
    __getgroups_chk(most: c_int, to: *mut gid_t, room: usize) -> c_int, "rcx": quick {} (count, pc) {
        if most > 0 && count > 0 { arrives(to, count as usize * size_of::<gid_t>(), pc); }
    }
    getresuid(real: *mut uid_t, effective: *mut uid_t, saved: *mut uid_t) -> c_int, "rcx": quick {} (result, pc) {
        if result == 0 { for to in [real, effective, saved] { writes(to, size_of::<uid_t>(), pc); } }
    }
    getresgid(real: *mut gid_t, effective: *mut gid_t, saved: *mut gid_t) -> c_int, "rcx": quick {} (result, pc) {
        if result == 0 { for to in [real, effective, saved] { writes(to, size_of::<gid_t>(), pc); } }
    }
}
