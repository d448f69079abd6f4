//! Files, pipes and sockets: what arrives is a write of the thread that asked for it, what is sent a
//! read of the thread that sends it.

use crate::c_library::channels::descriptor::{self, also_uses, as_recorded};
use crate::c_library::channels::{self, names, shared};
use crate::c_library::epoll;
use crate::c_library::ports::{self, Named};
use crate::events::once::{self, Once};
use crate::platform::{memory, socket_options, sys};
use crate::runtime::accesses::{arrives, comes, error_of_call, passes, returns, returns_or_fails, writes};
use crate::runtime::blocking::{Asked, await_turn_of_call, in_turn};
use crate::scheduling::clocks;
use crate::signals;

use super::library::{passes_text, writes_text};
use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr;
use libc::{
    c_char, c_int, c_short, c_uint, epoll_event, fd_set, iovec, mmsghdr, mode_t, msghdr, nfds_t, off_t, pollfd,
    signalfd_siginfo, sigset_t, sockaddr, socklen_t, ssize_t, timespec, timeval,
};
use std::vec::Vec;

/// Records accesses of the first `len` bytes of a scattered buffer.
fn spread(parts: *const iovec, count: usize, len: usize, access: impl Fn(*const c_void, usize)) {
    let mut left = len;
    for part in of_buffer(parts, count) {
        let here = part.iov_len.min(left);
        access(part.iov_base, here);
        left -= here;
    }
}

/// The length of a scattered buffer.
fn whole(parts: *const iovec, count: usize) -> usize {
    of_buffer(parts, count).fold(0, |sum, part| sum.saturating_add(part.iov_len))
}

/// Bytes of the list of a scattered buffer's parts.
fn whole_list(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0) * size_of::<iovec>()
}

/// The parts of a scattered buffer. The kernel refuses one of more parts.
fn of_buffer(parts: *const iovec, count: usize) -> impl Iterator<Item = iovec> {
    const MOST: usize = libc::UIO_MAXIOV as usize;
    memory::each(parts, if count > MOST { 0 } else { count })
}

/// How much a call did that returns how much, or a negative number.
fn amount(done: ssize_t) -> usize {
    usize::try_from(done).unwrap_or(0)
}

pub(super) fn arrived(to: *const c_void, len: ssize_t, pc: usize) {
    arrives(to, amount(len), pc);
}

/// What a call has read or received.
struct Received {
    /// How much the program gets to see; negative if it failed.
    done: ssize_t,
    /// This process has written it: along a plan, what it has written in this run.
    is_own: bool,
}

impl Received {
    /// It lies here now.
    fn lies(&self, to: *const c_void, len: usize, pc: usize) {
        match self.is_own {
            true => writes(to, len, pc),
            false => arrives(to, len, pc),
        }
    }

    /// It lies here now, as far as there was room.
    fn lies_in(&self, to: *const c_void, room: usize, pc: usize) {
        self.lies(to, amount(self.done).min(room), pc);
    }
}

/// An address that came back, with its length.
///
/// # Safety
/// Null, or valid.
unsafe fn address(to: *mut sockaddr, len: *const socklen_t, room: usize, pc: usize) {
    if !to.is_null() && !len.is_null() {
        // SAFETY: promised by the caller.
        let bytes = unsafe { *len as usize }.min(room);
        // SAFETY: as above.
        unsafe { ports::arrives(to, bytes, pc) };
        writes(to, bytes, pc);
        writes(len, size_of::<socklen_t>(), pc);
    }
}

/// The room that the program gives for an address.
fn room(len: *const socklen_t) -> usize {
    memory::at(len).map_or(0, |len| len as usize)
}

fn set(sets: [*const fd_set; 3], count: c_int, access: fn(*const fd_set, usize, usize), pc: usize) {
    for set in sets {
        access(set, words(count) * size_of::<usize>(), pc);
    }
}

/// A call has read or received, into so much room.
fn received(file: c_int, done: ssize_t, room: usize, flags: c_int, pc: usize) -> Received {
    let mut is_own = false;
    if flags & libc::MSG_PEEK != 0 && done > 0 {
        channels::is_ready(file, pc);
    } else if done >= 0 {
        is_own = channels::received(file, done as usize, pc);
    } else if flags & (libc::MSG_ERRQUEUE | libc::MSG_OOB) == 0 && crate::runtime::guard::save_errno() == libc::EAGAIN {
        channels::found_empty(file, pc);
    }
    let given = returns_or_fails(done as i64, pc) as ssize_t;
    // Never more than there is room for, whatever the program gives at the same place now; unless it asks how long the
    // message was.
    let most = match flags & libc::MSG_TRUNC {
        0 => ssize_t::try_from(room).unwrap_or(ssize_t::MAX),
        _ => ssize_t::MAX,
    };
    Received {
        done: if is_own { done } else { given.min(most) },
        is_own,
    }
}

/// If what was read are signals, each comes after it was sent.
///
/// # Safety
/// So many bytes can be read there.
unsafe fn signals_in(file: c_int, to: *const c_void, done: ssize_t, pc: usize) {
    if !channels::gives_signals(file) {
        return;
    }
    let count = usize::try_from(done).unwrap_or(0) / size_of::<signalfd_siginfo>();
    for signal in memory::each(to.cast::<signalfd_siginfo>(), count) {
        signals::was_read(signal.ssi_signo as c_int, pc);
    }
}

/// A call has written or sent; how much the program gets to see. How much a socket takes, or whether at all, the other
/// end decides.
fn sent(file: c_int, done: ssize_t, pc: usize) -> ssize_t {
    channels::sent(file, amount(done));
    if channels::leads_outside(file) {
        returns_or_fails(done as i64, pc) as ssize_t
    } else {
        done
    }
}

/// The kernel has given out so many descriptors at once: they get the numbers that they had in the recorded run.
///
/// # Safety
/// They stand there, unaligned perhaps.
unsafe fn all_as_recorded(files: *mut c_int, count: usize, pc: usize) {
    let mut given: Vec<c_int> = memory::each(files, count).collect();
    descriptor::all_as_recorded(&mut given, pc);
    for (at, file) in given.into_iter().enumerate() {
        // SAFETY: promised by the caller.
        unsafe { files.add(at).write_unaligned(file) };
    }
}

/// Whether this command of `fcntl` copies a descriptor.
fn is_copy(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// Whether this command of `fcntl` is about a lock of an open file description, which keeps out threads that opened the
/// file apart. The other kind of locks belongs to the process.
fn is_lock(command: c_int) -> bool {
    matches!(command, libc::F_OFD_SETLK | libc::F_OFD_SETLKW | libc::F_OFD_GETLK)
}

/// A file was opened: what was in it may be gone.
fn opened(file: c_int, flags: c_int, pc: usize) -> c_int {
    let file = as_recorded(file, pc);
    channels::is_opened(file, pc);
    if file >= 0 && flags & libc::O_TMPFILE == libc::O_TMPFILE {
        shared::is_new_file(file);
    }
    if file >= 0 && flags & libc::O_TRUNC != 0 {
        shared::writes(file, pc);
    }
    file
}

/// The caller tells the kernel where a message is. What lies between the fields belongs to nobody, and holds anything.
fn describes(message: *const msghdr, pc: usize) {
    const BUFFERS: usize = offset_of!(msghdr, msg_iov);
    const NAME: usize = offset_of!(msghdr, msg_namelen) + size_of::<socklen_t>();
    let fields = message.cast::<u8>();
    passes(fields, NAME, pc);
    if !fields.is_null() {
        passes(
            fields.wrapping_add(BUFFERS),
            offset_of!(msghdr, msg_flags) - BUFFERS,
            pc,
        );
    }
}

/// The kernel tells how long the parts of a message are that it has put where the caller said.
fn described(message: *const msghdr, pc: usize) {
    // SAFETY: the kernel has written there.
    unsafe {
        writes(&raw const (*message).msg_namelen, size_of::<socklen_t>(), pc);
        writes(&raw const (*message).msg_controllen, size_of::<usize>(), pc);
        writes(&raw const (*message).msg_flags, size_of::<c_int>(), pc);
    }
}

/// The kernel has put control messages there: descriptors that came with one get the numbers that they had in the
/// recorded run.
///
/// # Safety
/// It has.
unsafe fn controls(message: &msghdr, pc: usize) {
    // SAFETY: headers and what follows them lie within the room that the kernel has filled.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = at.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let room = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let (files, count) = (libc::CMSG_DATA(at).cast::<c_int>(), room / size_of::<c_int>());
                all_as_recorded(files, count, pc);
                memory::each(files, count).for_each(|file| channels::is_received(file, pc));
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    writes(message.msg_control, message.msg_controllen, pc);
}

/// What `poll` is asked about.
fn looks_at(files: *const pollfd, count: usize, pc: usize) {
    passes(files, count.saturating_mul(size_of::<pollfd>()), pc);
    memory::each(files, count).for_each(|entry| also_uses(entry.fd, pc));
}

/// What `poll` says: descriptors of channels that can be read from, or whose other end is closed; and if it did not wait,
/// those that cannot.
fn polled(files: *const pollfd, count: usize, ready: c_int, waited: bool, pc: usize) {
    for (at, _) in memory::each(files, count).enumerate() {
        let entry = files.wrapping_add(at);
        // SAFETY: the entry is there; the program's may be unaligned, and `arrives` may change it.
        unsafe {
            arrives(&raw const (*entry).revents, size_of::<c_short>(), pc);
            let entry = entry.read_unaligned();
            if ready > 0 && entry.revents & !libc::POLLOUT != 0 {
                epoll::is_ready(entry.fd, pc);
            } else if !waited && ready >= 0 && entry.events & libc::POLLIN != 0 {
                channels::found_empty(entry.fd, pc);
            }
        }
    }
}

/// Whether nothing but its descriptors' being open was asked of `poll`, at once, and they are: a part of what the program
/// was given when it began, like its arguments. Rust's standard library asks that of the first three.
fn are_open(files: *const pollfd, count: usize, ready: c_int, limit: c_int) -> bool {
    ready == 0 && limit == 0 && memory::each(files, count).all(|entry| entry.events == 0)
}

/// How many nanoseconds are so many milliseconds.
fn millis(limit: c_int) -> i64 {
    i64::from(limit) * 1_000_000
}

/// The same of `select`.
fn selected(set: *const fd_set, count: c_int, pc: usize) {
    members(set, count).for_each(|file| epoll::is_ready(file, pc));
}

/// What `select` is asked about.
fn looks_at_set(set: *const fd_set, count: c_int, pc: usize) {
    members(set, count).for_each(|file| also_uses(file, pc));
}

/// The descriptors of a set. That may be longer than the C library's type, whose own functions take no larger numbers.
fn members(set: *const fd_set, count: c_int) -> impl Iterator<Item = c_int> {
    let words = memory::each(set.cast::<usize>(), words(count)).zip((0..count).step_by(BITS));
    words.flat_map(move |(word, first)| {
        let here = first..count.min(first.saturating_add(BITS as c_int));
        here.filter(move |file| word >> (file - first) & 1 != 0)
    })
}

/// In how many words so many descriptors stand.
fn words(count: c_int) -> usize {
    (count.max(0) as usize).div_ceil(BITS)
}

const BITS: usize = usize::BITS as usize;

library! {
    read(file: c_int, to: *mut c_void, len: usize) -> ssize_t, "rcx": (input file 0 len) {} (done, pc) {
        let got = received(file, done, len, 0, pc);
        done = got.done;
        signals_in(file, to, done, pc);
        got.lies_in(to, len, pc);
    }
    __read_chk(file: c_int, to: *mut c_void, len: usize, room: usize) -> ssize_t, "r8": (input file 0 len) {} (done, pc) {
        let got = received(file, done, len, 0, pc);
        done = got.done;
        signals_in(file, to, done, pc);
        got.lies_in(to, len, pc);
    }
    pread(file: c_int, to: *mut c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {} (done, pc) {
        shared::reads(file, None, pc);
        arrived(to, done, pc);
    }
    pread64(file: c_int, to: *mut c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {} (done, pc) {
        shared::reads(file, None, pc);
        arrived(to, done, pc);
    }
    __pread_chk(file: c_int, to: *mut c_void, len: usize, at: off_t, room: usize) -> ssize_t, "r9": (slow file) {} (done, pc) {
        shared::reads(file, None, pc);
        arrived(to, done, pc);
    }
    __pread64_chk(file: c_int, to: *mut c_void, len: usize, at: off_t, room: usize) -> ssize_t, "r9": (slow file) {} (done, pc) {
        shared::reads(file, None, pc);
        arrived(to, done, pc);
    }
    preadv(file: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t, "r8": (slow file) {
        passes(parts, whole_list(count), pc);
    } (done, pc) {
        shared::reads(file, None, pc);
        spread(parts, count as usize, amount(done), |to, len| arrives(to, len, pc));
    }
    preadv64(file: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t, "r8": (slow file) {
        passes(parts, whole_list(count), pc);
    } (done, pc) {
        shared::reads(file, None, pc);
        spread(parts, count as usize, amount(done), |to, len| arrives(to, len, pc));
    }
    write(file: c_int, from: *const c_void, len: usize) -> ssize_t, "rcx": (output file 0 len) {
        passes(from, len, pc);
        channels::sends(file, len, pc);
    } (done, pc) { done = sent(file, done, pc); }
    pwrite(file: c_int, from: *const c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {
        shared::writes(file, pc);
        passes(from, len, pc);
    } (done, pc) {}
    pwrite64(file: c_int, from: *const c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {
        shared::writes(file, pc);
        passes(from, len, pc);
    } (done, pc) {}
    pwritev(file: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t, "r8": (slow file) {
        shared::writes(file, pc);
        passes(parts, whole_list(count), pc);
        spread(parts, count as usize, usize::MAX, |from, len| passes(from, len, pc));
    } (done, pc) {}
    pwritev64(file: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t, "r8": (slow file) {
        shared::writes(file, pc);
        passes(parts, whole_list(count), pc);
        spread(parts, count as usize, usize::MAX, |from, len| passes(from, len, pc));
    } (done, pc) {}
    readv(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, "rcx": (input file 0 room) {
        passes(parts, whole_list(count), pc);
        let room = whole(parts, count as usize);
    } (done, pc) {
        let got = received(file, done, room, 0, pc);
        done = got.done;
        spread(parts, count as usize, amount(done), |to, len| got.lies(to, len, pc));
    }
    writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, "rcx": (output file) {
        passes(parts, whole_list(count), pc);
        spread(parts, count as usize, usize::MAX, |from, len| passes(from, len, pc));
        channels::sends(file, whole(parts, count as usize), pc);
    } (done, pc) { done = sent(file, done, pc); }
    recv(file: c_int, to: *mut c_void, len: usize, flags: c_int) -> ssize_t, "r8": (input file flags) {} (done, pc) {
        let got = received(file, done, len, flags, pc);
        done = got.done;
        got.lies_in(to, len, pc);
    }
    __recv_chk(file: c_int, to: *mut c_void, len: usize, room: usize, flags: c_int) -> ssize_t, "r9": (input file flags) {} (done, pc) {
        let got = received(file, done, len, flags, pc);
        done = got.done;
        got.lies_in(to, len, pc);
    }
    send(file: c_int, from: *const c_void, len: usize, flags: c_int) -> ssize_t, "r8": (output file flags) {
        passes(from, len, pc);
        channels::sends(file, len, pc);
    } (done, pc) { done = sent(file, done, pc); }
    recvmsg(file: c_int, message: *mut msghdr, flags: c_int) -> ssize_t, "rcx": (input file flags room) {
        describes(message, pc);
        let room = memory::at(message).map_or(0, |given| whole(given.msg_iov, given.msg_iovlen));
        let most = memory::at(message).map_or(0, |given| given.msg_namelen as usize);
    } (done, pc) {
        let got = received(file, done, amount(done), flags, pc);
        done = got.done;
        if done >= 0 {
            let message = &*message;
            described(message, pc);
            // Of a name that was longer than its room, the kernel tells the whole length.
            let named = if message.msg_name.is_null() { 0 } else { most.min(message.msg_namelen as usize) };
            ports::arrives(message.msg_name.cast(), named, pc);
            writes(message.msg_name, named, pc);
            controls(message, pc);
            spread(message.msg_iov, message.msg_iovlen, amount(done), |to, len| got.lies(to, len, pc));
        }
    }
    sendmsg(file: c_int, message: *const msghdr, flags: c_int) -> ssize_t, "rcx": (output file flags) {
        let given = memory::at(message);
        describes(message, pc);
        let actual = given.map(|given| {
            passes(given.msg_name, given.msg_namelen as usize, pc);
            passes(given.msg_control, given.msg_controllen, pc);
            spread(given.msg_iov, given.msg_iovlen, usize::MAX, |from, len| passes(from, len, pc));
            let named = Named::new(given.msg_name.cast(), given.msg_namelen);
            (named, given)
        });
        match given {
            Some(given) => channels::sends_to(file, given.msg_name.cast(), given.msg_namelen as usize, whole(given.msg_iov, given.msg_iovlen), pc),
            None => channels::sends(file, 0, pc),
        }
        let actual = actual.as_ref().map(|(named, given)| msghdr { msg_name: named.actual().cast_mut().cast(), ..*given });
        let message = actual.as_ref().map_or(message, ptr::from_ref);
    } (done, pc) { done = sent(file, done, pc); }
    recvmmsg(file: c_int, messages: *mut mmsghdr, count: u32, flags: c_int, limit: *mut timespec) -> c_int, "r9": (input file flags room) {
        let room = memory::at(messages).map_or(0, |first| whole(first.msg_hdr.msg_iov, first.msg_hdr.msg_iovlen));
    } (done, pc) {
        for at in 0..done.max(0) as usize {
            let message = &*messages.add(at);
            channels::received(file, message.msg_len as usize, pc);
            described(&raw const message.msg_hdr, pc);
            controls(&message.msg_hdr, pc);
            writes(&raw const message.msg_len, size_of::<c_uint>(), pc);
            let len = message.msg_len as usize;
            spread(message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen, len, |to, len| writes(to, len, pc));
        }
    }
    accept(file: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (input file 0 listens) {
        let (most, listens) = (room(len), socket_options::listens(file).into());
        epoll::wait_to_accept(file, pc);
    } (connection, pc) {
        if connection >= 0 { channels::received(file, 0, pc); connection = as_recorded(connection, pc); channels::sockets::is_accepted(connection, pc); address(from, len, most, pc); }
        else if crate::runtime::guard::save_errno() == libc::EAGAIN { channels::found_empty(file, pc); }
    }
    accept4(file: c_int, from: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int, "r8": (input file 0 listens) {
        let (most, listens) = (room(len), socket_options::listens(file).into());
        epoll::wait_to_accept(file, pc);
    } (connection, pc) {
        if connection >= 0 { channels::received(file, 0, pc); connection = as_recorded(connection, pc); channels::sockets::is_accepted(connection, pc); address(from, len, most, pc); }
        else if crate::runtime::guard::save_errno() == libc::EAGAIN { channels::found_empty(file, pc); }
    }
    connect(file: c_int, to: *const sockaddr, len: socklen_t) -> c_int, "rcx": (away file) {
        channels::sockets::connects(file, to, len as usize);
        passes(to, len as usize, pc);
        // Nobody is told where datagrams will go.
        if !socket_options::is_datagram(file) { channels::sends(file, 0, pc); }
        let named = Named::new(to, len);
        let to = named.actual();
    } (result, pc) { channels::sockets::is_connected(file, result == 0); }
    bind(file: c_int, to: *const sockaddr, len: socklen_t) -> c_int, "rcx": (system file) {
        channels::sockets::binds(); passes(to, len as usize, pc);
        let (named, asked) = (Named::to_bind(to, len, pc), to);
        let to = named.actual();
    } (result, pc) {
        if result != 0 && named.is_recorded { result = bind(file, asked, len); }
        if result == 0 { channels::sockets::has_port(file, if named.is_any { ports::bound(file, pc) } else { ports::named(asked, len as usize) }); }
    }
    getsockname(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (slow file) {
        let most = room(len);
    } (result, pc) { if result == 0 { address(to, len, most, pc); channels::sockets::has_port(file, ports::named(to, most)); } }
    getpeername(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (slow file) {
        let most = room(len);
    } (result, pc) { if result == 0 { address(to, len, most, pc); } }
    getsockopt(file: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int, "r9": (slow file) {} (result, pc) {
        if result == 0 {
            // Who is at the other end, and how long things took, is another answer in a live run.
            arrives(to, *len as usize, pc);
            writes(len, size_of::<socklen_t>(), pc);
        }
    }
    setsockopt(file: c_int, level: c_int, name: c_int, from: *const c_void, len: socklen_t) -> c_int, "r9": (slow file) {
        passes(from, len as usize, pc);
    } (result, pc) {}
    poll(files: *mut pollfd, count: nfds_t, limit: c_int) -> c_int, "rcx": (waiting limit) {
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        clocks::waited(ready, millis(limit));
        if !are_open(files, count as usize, ready, limit) {
            ready = returns(ready.into(), pc) as c_int;
        }
        polled(files, count as usize, ready, limit != 0, pc);
    }
    ppoll(files: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const sigset_t) -> c_int, "r8": (waiting nanos) {
        // Without a limit it waits, too.
        let nanos = memory::at(limit).map_or(-1, |most| sys::nanos(&most));
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        clocks::waited(ready, nanos.max(0));
        ready = returns(ready.into(), pc) as c_int;
        polled(files, count as usize, ready, nanos != 0, pc);
    }
    __poll_chk(files: *mut pollfd, count: nfds_t, limit: c_int, room: usize) -> c_int, "r8": (waiting limit) {
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        clocks::waited(ready, millis(limit));
        ready = returns(ready.into(), pc) as c_int;
        polled(files, count as usize, ready, limit != 0, pc);
    }
    __ppoll_chk(files: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const sigset_t, room: usize) -> c_int, "r9": (waiting nanos) {
        let nanos = memory::at(limit).map_or(-1, |most| sys::nanos(&most));
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        clocks::waited(ready, nanos.max(0));
        ready = returns(ready.into(), pc) as c_int;
        polled(files, count as usize, ready, nanos != 0, pc);
    }
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, limit: *const timespec, mask: *const sigset_t) -> c_int, after_six: (waiting nanos) {
        let nanos = memory::at(limit).map_or(-1, |most| sys::nanos(&most));
        set([read, write, other], count, passes, pc);
        for set in [read, write, other] { looks_at_set(set, count, pc); }
    } (ready, pc) {
        clocks::waited(ready, nanos.max(0));
        ready = returns(ready.into(), pc) as c_int;
        if ready >= 0 { set([read, write, other], count, arrives, pc); }
        if ready > 0 { selected(read, count, pc); }
    }
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, limit: *mut timeval) -> c_int, "r9": (waiting nanos) {
        let nanos = memory::at(limit).map_or(-1, |most| most.tv_sec * 1_000_000_000 + most.tv_usec * 1000);
        set([read, write, other], count, passes, pc);
        for set in [read, write, other] { looks_at_set(set, count, pc); }
    } (ready, pc) {
        clocks::waited(ready, nanos.max(0));
        ready = returns(ready.into(), pc) as c_int;
        if ready >= 0 { set([read, write, other], count, arrives, pc); }
        if ready > 0 { selected(read, count, pc); }
    }
    epoll_wait(file: c_int, to: *mut epoll_event, most: c_int, limit: c_int) -> c_int, "r8": (waiting limit) {
        also_uses(file, pc);
        let recorded = epoll::recorded(file, most, pc);
        let limit = if recorded.is_some() { 0 } else { limit };
    } (ready, pc) {
        clocks::waited(ready, millis(limit));
        ready = epoll::said(file, to, ready, recorded, pc);
        writes(to, ready.max(0) as usize * size_of::<epoll_event>(), pc);
    }
    epoll_pwait(file: c_int, to: *mut epoll_event, most: c_int, limit: c_int, mask: *const sigset_t) -> c_int, "r9": (away file) {
        let recorded = epoll::recorded(file, most, pc);
        let limit = if recorded.is_some() { 0 } else { limit };
    } (ready, pc) {
        clocks::waited(ready, millis(limit));
        ready = epoll::said(file, to, ready, recorded, pc);
        writes(to, ready.max(0) as usize * size_of::<epoll_event>(), pc);
    }
    epoll_pwait2(file: c_int, to: *mut epoll_event, most: c_int, limit: *const timespec, mask: *const sigset_t) -> c_int, "r9": (waiting nanos) {
        also_uses(file, pc);
        let recorded = epoll::recorded(file, most, pc);
        let at_once = timespec { tv_sec: 0, tv_nsec: 0 };
        let limit = if recorded.is_some() { &raw const at_once } else { limit };
        let nanos = memory::at(limit).map_or(-1, |most| sys::nanos(&most));
    } (ready, pc) {
        clocks::waited(ready, nanos.max(0));
        ready = epoll::said(file, to, ready, recorded, pc);
        writes(to, ready.max(0) as usize * size_of::<epoll_event>(), pc);
    }
    epoll_ctl(file: c_int, action: c_int, other: c_int, event: *mut epoll_event) -> c_int, "r8": (system file) {
        also_uses(other, pc); channels::changes_poll(file, pc);
        passes(event, size_of::<epoll_event>(), pc);
    } (result, pc) { if result == 0 { epoll::was_told(file, action, other, event); } }
    pipe(ends: *mut c_int) -> c_int, "rsi": system {} (result, pc) {
        if result == 0 { all_as_recorded(ends, 2, pc); channels::is_pipe([*ends, *ends.add(1)], true, pc); writes(ends, 8, pc); }
    }
    pipe2(ends: *mut c_int, flags: c_int) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { all_as_recorded(ends, 2, pc); channels::is_pipe([*ends, *ends.add(1)], flags & libc::O_DIRECT == 0, pc); writes(ends, 8, pc); }
    }
    socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int, "r8": system {} (result, pc) {
        if result == 0 { all_as_recorded(ends, 2, pc); channels::is_pair([*ends, *ends.add(1)], kind & 0xf == libc::SOCK_STREAM, pc); writes(ends, 8, pc); }
    }
    getcwd(to: *mut c_char, room: usize) -> *mut c_char, "rdx": slow {} (path, pc) {
        once::looks(Once::Folder, pc);
        writes_text(path, pc);
    }
    __getcwd_chk(to: *mut c_char, len: usize, room: usize) -> *mut c_char, "rcx": slow {} (path, pc) {
        once::looks(Once::Folder, pc);
        writes_text(path, pc);
    }
    getrandom(to: *mut c_void, len: usize, flags: c_uint) -> ssize_t, "rcx": system {} (done, pc) { comes(to, amount(done), pc); }
    getentropy(to: *mut c_void, len: usize) -> c_int, "rdx": system {} (result, pc) { if result == 0 { comes(to, len, pc); } }
    eventfd(count: c_uint, flags: c_int) -> c_int, "rdx": system {} (file, pc) { file = as_recorded(file, pc); if file >= 0 { channels::is_counter(file, pc); } }
    eventfd_read(file: c_int, to: *mut u64) -> c_int, "rdx": (input file) {} (result, pc) {
        if result == 0 {
            let is_own = channels::received(file, 8, pc);
            Received { done: 8, is_own }.lies(to.cast(), 8, pc);
        }
        else if crate::runtime::guard::save_errno() == libc::EAGAIN { channels::found_empty(file, pc); }
    }
    eventfd_write(file: c_int, value: u64) -> c_int, "rdx": (output file) { channels::sends(file, 8, pc); } (result, pc) {}
    epoll_create(size: c_int) -> c_int, "rsi": system {} (file, pc) { file = as_recorded(file, pc); channels::polls(file, pc); }
    epoll_create1(flags: c_int) -> c_int, "rsi": system {} (file, pc) { file = as_recorded(file, pc); channels::polls(file, pc); }
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, "rcx": system {} (file, pc) { file = as_recorded(file, pc); channels::is_socket(file, pc); }
    shutdown(file: c_int, how: c_int) -> c_int, "rdx": (system file) { channels::sends(file, 0, pc); } (result, pc) {}
    close(file: c_int) -> c_int, "rsi": (closes file) { shared::gives_back_locks(file, pc); channels::closes(file, pc); } (result, pc) {}
    dup(from: c_int) -> c_int, "rsi": (system from) {} (to, pc) { to = as_recorded(to, pc); channels::copied(from, to, pc); }
    dup2(from: c_int, to: c_int) -> c_int, "rdx": (system from) {
        let was_open = from == to || channels::replaces(to, pc);
    } (result, pc) { if from != to { channels::replaced(from, result, was_open, pc); } }
    dup3(from: c_int, to: c_int, flags: c_int) -> c_int, "rcx": (system from) {
        let was_open = from == to || channels::replaces(to, pc);
    } (result, pc) { channels::replaced(from, result, was_open, pc); }
    fcntl(file: c_int, command: c_int, argument: usize) -> c_int, "rcx": (system file) {
        if is_lock(command) { shared::locks(file, pc); }
    } (result, pc) {
        if is_lock(command) { shared::locks(file, pc); }
        if is_copy(command) { result = as_recorded(result, pc); channels::copied(file, result, pc); }
    }
    fcntl64(file: c_int, command: c_int, argument: usize) -> c_int, "rcx": (system file) {
        if is_lock(command) { shared::locks(file, pc); }
    } (result, pc) {
        if is_lock(command) { shared::locks(file, pc); }
        if is_copy(command) { result = as_recorded(result, pc); channels::copied(file, result, pc); }
    }
    sendmmsg(file: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int, "r8": (output file flags) {
        for message in memory::each(messages, count as usize) {
            let message = message.msg_hdr;
            spread(message.msg_iov, message.msg_iovlen, usize::MAX, |from, len| passes(from, len, pc));
        }
        for message in memory::each(messages, count as usize) {
            let message = message.msg_hdr;
            channels::sends_to(file, message.msg_name.cast(), message.msg_namelen as usize, whole(message.msg_iov, message.msg_iovlen), pc);
        }
    } (done, pc) {
        if done != count as c_int { channels::loses_count(file); }
        channels::sockets::has_sent(file);
    }
    sendfile(file: c_int, from: c_int, at: *mut off_t, len: usize) -> ssize_t, "r8": (output file) {
        shared::reads(from, at.is_null().then_some(from), pc);
        channels::sends(file, len, pc);
    } (done, pc) {
        channels::sent(file, amount(done));
        if done >= 0 { writes(at, size_of::<off_t>(), pc); }
    }
    sendfile64(file: c_int, from: c_int, at: *mut off_t, len: usize) -> ssize_t, "r8": (output file) {
        shared::reads(from, at.is_null().then_some(from), pc);
        channels::sends(file, len, pc);
    } (done, pc) {
        channels::sent(file, amount(done));
        if done >= 0 { writes(at, size_of::<off_t>(), pc); }
    }
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "rcx": (finds system path) {
        let looks = names::opens(flags, libc::AT_FDCWD, path, pc);
    } (file, pc) {
        names::made(looks, libc::AT_FDCWD, path, pc);
        file = opened(file, flags, pc);
    }
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "rcx": (finds system path) {
        let looks = names::opens(flags, libc::AT_FDCWD, path, pc);
    } (file, pc) {
        names::made(looks, libc::AT_FDCWD, path, pc);
        file = opened(file, flags, pc);
    }
    openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "r8": (finds system path) {
        let looks = names::opens(flags, folder, path, pc);
    } (file, pc) {
        names::made(looks, folder, path, pc);
        file = opened(file, flags, pc);
    }
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "r8": (finds system path) {
        let looks = names::opens(flags, folder, path, pc);
    } (file, pc) {
        names::made(looks, folder, path, pc);
        file = opened(file, flags, pc);
    }
    creat(path: *const c_char, mode: mode_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        let looks = names::opens(libc::O_CREAT | libc::O_TRUNC, libc::AT_FDCWD, path, pc);
    } (file, pc) {
        names::made(looks, libc::AT_FDCWD, path, pc);
        file = opened(file, libc::O_CREAT | libc::O_TRUNC, pc);
    }
    creat64(path: *const c_char, mode: mode_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        let looks = names::opens(libc::O_CREAT | libc::O_TRUNC, libc::AT_FDCWD, path, pc);
    } (file, pc) {
        names::made(looks, libc::AT_FDCWD, path, pc);
        file = opened(file, libc::O_CREAT | libc::O_TRUNC, pc);
    }
    lseek(file: c_int, to: off_t, from: c_int) -> off_t, "rcx": (slow file) {} (at, pc) {
        shared::reads(file, Some(file), pc);
    }
    lseek64(file: c_int, to: off_t, from: c_int) -> off_t, "rcx": (slow file) {} (at, pc) {
        shared::reads(file, Some(file), pc);
    }
    fsync(file: c_int) -> c_int, "rsi": (away file) {} (result, pc) {
        // What the standard output is, may say that it cannot be.
        result = returns_or_fails(result.into(), pc) as c_int;
    }
    fdatasync(file: c_int) -> c_int, "rsi": (away file) {} (result, pc) {
        result = returns_or_fails(result.into(), pc) as c_int;
    }
    ftruncate(file: c_int, len: off_t) -> c_int, "rdx": (slow file) { shared::writes(file, pc); } (result, pc) {}
    fallocate(file: c_int, mode: c_int, from: off_t, len: off_t) -> c_int, "r8": (slow file) { shared::writes(file, pc); } (result, pc) {}
    posix_fallocate(file: c_int, from: off_t, len: off_t) -> c_int, "rcx": (slow file) { shared::writes(file, pc); } (result, pc) {}
    ftruncate64(file: c_int, len: off_t) -> c_int, "rdx": (slow file) { shared::writes(file, pc); } (result, pc) {}
    fallocate64(file: c_int, mode: c_int, from: off_t, len: off_t) -> c_int, "r8": (slow file) { shared::writes(file, pc); } (result, pc) {}
    posix_fallocate64(file: c_int, from: off_t, len: off_t) -> c_int, "rcx": (slow file) { shared::writes(file, pc); } (result, pc) {}
}

crate::platform::real::real! {
    fn recvfrom(file: c_int, to: *mut c_void, len: usize, flags: c_int, from: *mut sockaddr, from_len: *mut socklen_t) -> ssize_t;
    fn __recvfrom_chk(file: c_int, to: *mut c_void, len: usize, room: usize, flags: c_int, from: *mut sockaddr, from_len: *mut socklen_t) -> ssize_t;
    fn sendto(file: c_int, from: *const c_void, len: usize, flags: c_int, to: *const sockaddr, to_len: socklen_t) -> ssize_t;
    fn copy_file_range(from: c_int, from_at: *mut off_t, to: c_int, to_at: *mut off_t, len: usize, flags: c_uint) -> ssize_t;
    fn tee(from: c_int, to: c_int, len: usize, flags: c_uint) -> ssize_t;
    fn splice(from: c_int, from_at: *mut off_t, to: c_int, to_at: *mut off_t, len: usize, flags: c_uint) -> ssize_t;
}

/// What becomes of bytes that the kernel passes on from one file to another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bytes {
    AreMoved,
    AreCopied,
}

/// Makes a call that passes bytes on.
///
/// # Safety
/// The program's own call and arguments.
unsafe fn passes_on(
    bytes: Bytes,
    (from, from_at): (c_int, *mut off_t),
    (to, to_at): (c_int, *mut off_t),
    len: usize,
    pc: usize,
    call: impl Fn() -> ssize_t,
) -> ssize_t {
    let Some(inside) = descriptor::enter(to, pc) else {
        return call();
    };
    also_uses(from, pc);
    let asked = Asked {
        file: from,
        wanted: libc::POLLIN,
        flags: 0,
    };
    passes(from_at, size_of::<off_t>(), pc);
    passes(to_at, size_of::<off_t>(), pc);
    let turn = await_turn_of_call(&inside, asked, channels::reads(from, len));
    // What comes out at the other end was written here before.
    channels::looks_at_all(from, pc);
    channels::sends(to, len, pc);
    let done = in_turn(&inside, turn, call);
    let errno = crate::runtime::guard::save_errno();
    channels::sent(to, amount(done));
    if done >= 0 && bytes == Bytes::AreMoved {
        channels::received(from, amount(done), pc);
        writes(from_at, size_of::<off_t>(), pc);
        writes(to_at, size_of::<off_t>(), pc);
    }
    crate::runtime::guard::restore_errno(errno);
    done
}

unsafe extern "C-unwind" fn copy_range(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    len: usize,
    flags: c_uint,
    pc: usize,
) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        passes_on(Bytes::AreMoved, (from, from_at), (to, to_at), len, pc, || {
            copy_file_range(from, from_at, to, to_at, len, flags)
        })
    }
}

unsafe extern "C-unwind" fn splice_pipes(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    len: usize,
    flags: c_uint,
    pc: usize,
) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        passes_on(Bytes::AreMoved, (from, from_at), (to, to_at), len, pc, || {
            splice(from, from_at, to, to_at, len, flags)
        })
    }
}

unsafe extern "C-unwind" fn copy_pipes(from: c_int, to: c_int, len: usize, flags: c_uint, pc: usize) -> ssize_t {
    let nowhere = ptr::null_mut();
    // SAFETY: the program's own arguments.
    unsafe {
        passes_on(Bytes::AreCopied, (from, nowhere), (to, nowhere), len, pc, || {
            tee(from, to, len, flags)
        })
    }
}

unsafe extern "C-unwind" fn receive_from(
    file: c_int,
    to: *mut c_void,
    len: usize,
    flags: c_int,
    from: *mut sockaddr,
    from_len: *mut socklen_t,
    pc: usize,
) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        let Some(inside) = descriptor::enter(file, pc) else {
            return recvfrom(file, to, len, flags, from, from_len);
        };
        let most = room(from_len);
        let asked = Asked {
            file,
            wanted: libc::POLLIN,
            flags,
        };
        let turn = await_turn_of_call(&inside, asked, channels::reads(file, usize::MAX));
        let before = crate::runtime::guard::save_errno();
        let done = in_turn(&inside, turn, || recvfrom(file, to, len, flags, from, from_len));
        let errno = crate::runtime::guard::save_errno();
        let got = received(file, done, len, flags, pc);
        got.lies_in(to, len, pc);
        if got.done >= 0 {
            address(from, from_len, most, pc);
        }
        crate::runtime::guard::restore_errno(error_of_call(before, errno));
        got.done
    }
}

/// Ends the program if it asks for more than there is room for.
unsafe extern "C-unwind" fn receive_from_checked(
    file: c_int,
    to: *mut c_void,
    len: usize,
    room: usize,
    flags: c_int,
    from: *mut sockaddr,
    from_len: *mut socklen_t,
    pc: usize,
) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        if len > room {
            return __recvfrom_chk(file, to, len, room, flags, from, from_len);
        }
        receive_from(file, to, len, flags, from, from_len, pc)
    }
}

unsafe extern "C-unwind" fn send_to(
    file: c_int,
    from: *const c_void,
    len: usize,
    flags: c_int,
    to: *const sockaddr,
    to_len: socklen_t,
    pc: usize,
) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        let Some(inside) = descriptor::enter(file, pc) else {
            return sendto(file, from, len, flags, to, to_len);
        };
        let asked = Asked {
            file,
            wanted: libc::POLLOUT,
            flags,
        };
        let turn = await_turn_of_call(&inside, asked, channels::writes(file, usize::MAX));
        passes(from, len, pc);
        passes(to, to_len as usize, pc);
        let named = Named::new(to, to_len);
        channels::sends_to(file, to, to_len as usize, len, pc);
        let before = crate::runtime::guard::save_errno();
        let done = in_turn(&inside, turn, || sendto(file, from, len, flags, named.actual(), to_len));
        let errno = crate::runtime::guard::save_errno();
        let done = sent(file, done, pc);
        crate::runtime::guard::restore_errno(error_of_call(before, errno));
        done
    }
}

mod exported {
    crate::platform::export::export! {
        recvfrom = super::receive_from, after_six;
        __recvfrom_chk = super::receive_from_checked, after_seven;
        sendto = super::send_to, after_six;
        copy_file_range = super::copy_range, after_six;
        splice = super::splice_pipes, after_six;
        tee = super::copy_pipes, "r8";
    }
}
