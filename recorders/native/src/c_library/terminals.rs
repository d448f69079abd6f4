//! Terminals, and what else `ioctl` is asked for.

use super::library::writes_text;
use crate::c_library::channels;
use crate::runtime::accesses::{arrives, passes};
use core::mem::offset_of;
use libc::{c_char, c_int, c_ulong, c_void, cc_t, speed_t, termios, winsize};

/// The fields up to the control characters. What follows them up to the speeds belongs to nobody.
const FIELDS: usize = offset_of!(termios, c_cc) + size_of::<[cc_t; libc::NCCS]>();

/// What a request of `ioctl` reads or writes where its argument points to.
enum Request {
    Reads(usize),
    Writes(usize),
    /// How much there is to read.
    Counts,
    /// Something else, of which nothing is recorded.
    Other,
}

impl Request {
    /// Programs have these numbers in signed and unsigned ones.
    fn of(number: c_ulong) -> Request {
        const NUMBER: usize = size_of::<c_int>();
        match c_ulong::from(number as u32) {
            libc::FIONREAD => Request::Counts,
            libc::FIONBIO | libc::FIOASYNC => Request::Reads(NUMBER),
            libc::TIOCOUTQ | libc::TIOCGPGRP | libc::TIOCGSID | libc::TIOCGPTN => Request::Writes(NUMBER),
            libc::TIOCGWINSZ => Request::Writes(size_of::<winsize>()),
            libc::TIOCSWINSZ => Request::Reads(size_of::<winsize>()),
            _ => Request::Other,
        }
    }
}

library! {
    ioctl(file: c_int, number: c_ulong, argument: *mut c_void) -> c_int, "rcx": (slow file) {
        let request = Request::of(number);
        if let Request::Reads(len) = request { passes(argument, len, pc); }
    } (result, pc) {
        match request {
            Request::Counts if result == 0 => {
                channels::was_counted(file, pc);
                arrives(argument, size_of::<c_int>(), pc);
            }
            Request::Writes(len) if result == 0 => arrives(argument, len, pc),
            _ => (),
        }
    }
    tcgetattr(file: c_int, to: *mut termios) -> c_int, "rdx": (slow file) {} (result, pc) {
        if result == 0 {
            arrives(to, FIELDS, pc);
            arrives(&raw const (*to).c_ispeed, size_of::<[speed_t; 2]>(), pc);
        }
    }
    ttyname_r(file: c_int, to: *mut c_char, room: usize) -> c_int, "rcx": (slow file) {} (error, pc) {
        if error == 0 { writes_text(to, pc); }
    }
    ptsname_r(file: c_int, to: *mut c_char, room: usize) -> c_int, "rcx": (slow file) {} (error, pc) {
        if error == 0 { writes_text(to, pc); }
    }
    __ttyname_r_chk(file: c_int, to: *mut c_char, len: usize, room: usize) -> c_int, "r8": (slow file) {} (error, pc) {
        if error == 0 { writes_text(to, pc); }
    }
    __ptsname_r_chk(file: c_int, to: *mut c_char, len: usize, room: usize) -> c_int, "r8": (slow file) {} (error, pc) {
        if error == 0 { writes_text(to, pc); }
    }
}
