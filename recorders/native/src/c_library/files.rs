//! Files, pipes and sockets: what arrives is a write of the thread that asked for it, what is sent a
//! read of the thread that sends it.

use crate::c_library::channels;
use crate::c_library::channels::descriptor::{also_uses, as_recorded};
use crate::c_library::ports::{self, Named};
use crate::runtime::accesses::{arrives, comes, reads, returns, writes};

use super::library::{reads_text, writes_text};
use core::ffi::c_void;
use libc::{
    c_char, c_int, c_uint, epoll_event, fd_set, iovec, mmsghdr, mode_t, msghdr, nfds_t, off_t, pollfd, sigset_t,
    sockaddr, socklen_t, ssize_t, timespec, timeval,
};

/// Records accesses of the first `len` bytes of a scattered buffer.
///
/// # Safety
/// `parts` are `count` valid parts.
unsafe fn spread(parts: *const iovec, count: usize, len: ssize_t, access: impl Fn(*const c_void, usize)) {
    let mut left = usize::try_from(len).unwrap_or(0);
    for part in 0..count {
        // SAFETY: promised by the caller.
        let part = unsafe { &*parts.add(part) };
        let here = part.iov_len.min(left);
        access(part.iov_base, here);
        left -= here;
    }
}

/// All bytes of a scattered buffer.
///
/// # Safety
/// As for `spread`.
unsafe fn whole(parts: *const iovec, count: usize) -> ssize_t {
    // SAFETY: promised by the caller.
    (0..count)
        .map(|part| unsafe { (*parts.add(part)).iov_len })
        .sum::<usize>() as ssize_t
}

fn arrived(to: *const c_void, len: ssize_t, pc: usize) {
    arrives(to, usize::try_from(len).unwrap_or(0), pc);
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
///
/// # Safety
/// Null, or valid.
unsafe fn room(len: *const socklen_t) -> usize {
    // SAFETY: promised by the caller.
    unsafe { len.as_ref() }.map_or(0, |&len| len as usize)
}

fn set(sets: [*const fd_set; 3], count: c_int, access: fn(*const fd_set, usize, usize), pc: usize) {
    for set in sets {
        access(set, (count.max(0) as usize).div_ceil(64) * 8, pc);
    }
}

/// A call has read or received, into so much room; how much the program gets to see.
fn received(file: c_int, done: ssize_t, room: usize, flags: c_int, pc: usize) -> ssize_t {
    if flags & libc::MSG_PEEK != 0 && done > 0 {
        channels::is_ready(file, pc);
    } else if done >= 0 {
        channels::received(file, done as usize, pc);
    }
    // Never more than there is room for, whatever the program gives at the same place now.
    (returns(done as i64, pc) as ssize_t).min(room as ssize_t)
}

/// Two descriptors that were given out, as in the recorded run.
///
/// # Safety
/// Two valid numbers.
unsafe fn both_as_recorded(ends: *mut c_int, pc: usize) {
    for end in 0..2 {
        // SAFETY: promised by the caller.
        unsafe { *ends.add(end) = as_recorded(*ends.add(end), pc) };
    }
}

/// Whether this command of `fcntl` copies a descriptor.
fn is_copy(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// What `poll` is asked about.
///
/// # Safety
/// `files` are `count` valid entries.
unsafe fn looks_at(files: *const pollfd, count: usize, pc: usize) {
    reads(files, count * size_of::<pollfd>(), pc);
    // SAFETY: promised by the caller.
    (0..count).for_each(|at| also_uses(unsafe { (*files.add(at)).fd }, pc));
}

/// What `poll` says: descriptors of channels that can be read from, or whose other end is closed.
///
/// # Safety
/// `files` are `count` valid entries.
unsafe fn polled(files: *const pollfd, count: usize, pc: usize) {
    for at in 0..count {
        // SAFETY: promised by the caller.
        let file = unsafe { &*files.add(at) };
        if file.revents & !libc::POLLOUT != 0 {
            channels::is_ready(file.fd, pc);
        }
    }
}

/// The same of `select`.
///
/// # Safety
/// Null, or a set of so many descriptors.
unsafe fn selected(set: *const fd_set, count: c_int, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe { members(set, count) }.for_each(|file| channels::is_ready(file, pc));
}

/// What `select` is asked about.
///
/// # Safety
/// As for `selected`.
unsafe fn looks_at_set(set: *const fd_set, count: c_int, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe { members(set, count) }.for_each(|file| also_uses(file, pc));
}

/// The descriptors of a set. That may be longer than the C library's type, whose own functions take no larger numbers.
///
/// # Safety
/// Null, or a set of so many descriptors.
unsafe fn members(set: *const fd_set, count: c_int) -> impl Iterator<Item = c_int> {
    const BITS: usize = usize::BITS as usize;
    let count = if set.is_null() { 0 } else { count };
    let words = set.cast::<usize>();
    (0..count).filter(move |&file| {
        let file = file as usize;
        // SAFETY: promised by the caller.
        let word = unsafe { words.add(file / BITS).read_unaligned() };
        word >> (file % BITS) & 1 != 0
    })
}

library! {
    read(file: c_int, to: *mut c_void, len: usize) -> ssize_t, "rcx": (input file) {} (done, pc) {
        done = received(file, done, len, 0, pc); arrived(to, done, pc);
    }
    __read_chk(file: c_int, to: *mut c_void, len: usize, room: usize) -> ssize_t, "r8": (input file) {} (done, pc) {
        done = received(file, done, len, 0, pc);
        arrived(to, done, pc);
    }
    pread(file: c_int, to: *mut c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {} (done, pc) { arrived(to, done, pc); }
    pread64(file: c_int, to: *mut c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {} (done, pc) { arrived(to, done, pc); }
    write(file: c_int, from: *const c_void, len: usize) -> ssize_t, "rcx": (output file) {
        channels::sends(file, len, pc); reads(from, len, pc);
    } (done, pc) { channels::sent(file, done.max(0) as usize); }
    pwrite(file: c_int, from: *const c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) { reads(from, len, pc); } (done, pc) {}
    pwrite64(file: c_int, from: *const c_void, len: usize, at: off_t) -> ssize_t, "r8": (slow file) {
        reads(from, len, pc);
    } (done, pc) {}
    readv(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, "rcx": (input file) {
        reads(parts, count as usize * size_of::<iovec>(), pc);
    } (done, pc) {
        done = received(file, done, whole(parts, count as usize) as usize, 0, pc);
        spread(parts, count as usize, done, |to, len| arrives(to, len, pc));
    }
    writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, "rcx": (output file) { channels::sends(file, whole(parts, count as usize) as usize, pc);
        reads(parts, count as usize * size_of::<iovec>(), pc);
        spread(parts, count as usize, whole(parts, count as usize), |from, len| reads(from, len, pc));
    } (done, pc) { channels::sent(file, done.max(0) as usize); }
    recv(file: c_int, to: *mut c_void, len: usize, flags: c_int) -> ssize_t, "r8": (input file) {} (done, pc) {
        done = received(file, done, len, flags, pc);
        arrived(to, done, pc);
    }
    __recv_chk(file: c_int, to: *mut c_void, len: usize, room: usize, flags: c_int) -> ssize_t, "r9": (input file) {} (done, pc) {
        done = received(file, done, len, flags, pc);
        arrived(to, done, pc);
    }
    send(file: c_int, from: *const c_void, len: usize, flags: c_int) -> ssize_t, "r8": (output file) { channels::sends(file, len, pc);
        reads(from, len, pc);
    } (done, pc) { channels::sent(file, done.max(0) as usize); }
    recvmsg(file: c_int, message: *mut msghdr, flags: c_int) -> ssize_t, "rcx": (input file) {
        reads(message, size_of::<msghdr>(), pc);
    } (done, pc) {
        done = received(file, done, done.max(0) as usize, flags, pc);
        if done >= 0 {
            let message = &*message;
            writes(message, size_of::<msghdr>(), pc);
            let named = if message.msg_name.is_null() { 0 } else { message.msg_namelen as usize };
            ports::arrives(message.msg_name.cast(), named, pc);
            writes(message.msg_name, named, pc);
            writes(message.msg_control, message.msg_controllen, pc);
            spread(message.msg_iov, message.msg_iovlen, done, |to, len| arrives(to, len, pc));
        }
    }
    sendmsg(file: c_int, message: *const msghdr, flags: c_int) -> ssize_t, "rcx": (output file) { channels::talks_to((*message).msg_name.cast()); channels::sends(file, whole((*message).msg_iov, (*message).msg_iovlen) as usize, pc);
        reads(message, size_of::<msghdr>(), pc);
        reads((*message).msg_name, (*message).msg_namelen as usize, pc);
        reads((*message).msg_control, (*message).msg_controllen, pc);
        let (parts, count) = ((*message).msg_iov, (*message).msg_iovlen);
        spread(parts, count, whole(parts, count), |from, len| reads(from, len, pc));
        let named = Named::new((*message).msg_name.cast(), (*message).msg_namelen);
        let actual = msghdr { msg_name: named.actual().cast_mut().cast(), ..*message };
        let message = &raw const actual;
    } (done, pc) { channels::sent(file, done.max(0) as usize); }
    recvmmsg(file: c_int, messages: *mut mmsghdr, count: u32, flags: c_int, limit: *mut timespec) -> c_int, "r9": (input file) {} (done, pc) { if done >= 0 { channels::received(file, 0, pc); }
        for at in 0..done.max(0) as usize {
            let message = &*messages.add(at);
            writes(message, size_of::<mmsghdr>(), pc);
            let len = message.msg_len as ssize_t;
            spread(message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen, len, |to, len| writes(to, len, pc));
        }
    }
    accept(file: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (input file) {
        let most = room(len);
    } (connection, pc) {
        if connection >= 0 { channels::received(file, 0, pc); connection = as_recorded(connection, pc); channels::is_socket(connection, pc); address(from, len, most, pc); }
    }
    accept4(file: c_int, from: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int, "r8": (input file) {
        let most = room(len);
    } (connection, pc) {
        if connection >= 0 { channels::received(file, 0, pc); connection = as_recorded(connection, pc); channels::is_socket(connection, pc); address(from, len, most, pc); }
    }
    connect(file: c_int, to: *const sockaddr, len: socklen_t) -> c_int, "rcx": (away file) {
        channels::talks_to(to); channels::sends(file, 0, pc); reads(to, len as usize, pc);
        let named = Named::new(to, len);
        let to = named.actual();
    } (result, pc) {}
    bind(file: c_int, to: *const sockaddr, len: socklen_t) -> c_int, "rcx": (system file) {
        channels::binds(); reads(to, len as usize, pc);
        let (named, asked) = (Named::to_bind(to, len, pc), to);
        let to = named.actual();
    } (result, pc) {
        if result != 0 && named.is_recorded { result = bind(file, asked, len); }
        if result == 0 && named.is_any { ports::bound(file, pc); }
    }
    getsockname(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (slow file) {
        let most = room(len);
    } (result, pc) { if result == 0 { address(to, len, most, pc); } }
    getpeername(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int, "rcx": (slow file) {
        let most = room(len);
    } (result, pc) { if result == 0 { address(to, len, most, pc); } }
    getsockopt(file: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int, "r9": (slow file) {} (result, pc) {
        if result == 0 {
            writes(to, *len as usize, pc);
            writes(len, size_of::<socklen_t>(), pc);
        }
    }
    setsockopt(file: c_int, level: c_int, name: c_int, from: *const c_void, len: socklen_t) -> c_int, "r9": (slow file) {
        reads(from, len as usize, pc);
    } (result, pc) {}
    poll(files: *mut pollfd, count: nfds_t, limit: c_int) -> c_int, "rcx": (waiting limit) {
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        ready = returns(ready.into(), pc) as c_int;
        for at in 0..count as usize { arrives(&raw const (*files.add(at)).revents, 2, pc); }
        if ready > 0 { polled(files, count as usize, pc); }
    }
    ppoll(files: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const sigset_t) -> c_int, "r8": (away) {
        looks_at(files, count as usize, pc);
    } (ready, pc) {
        ready = returns(ready.into(), pc) as c_int;
        for at in 0..count as usize { arrives(&raw const (*files.add(at)).revents, 2, pc); }
        if ready > 0 { polled(files, count as usize, pc); }
    }
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, limit: *mut timeval) -> c_int, "r9": (away) {
        set([read, write, other], count, reads, pc);
        for set in [read, write, other] { looks_at_set(set, count, pc); }
    } (ready, pc) {
        ready = returns(ready.into(), pc) as c_int;
        if ready >= 0 { set([read, write, other], count, arrives, pc); }
        if ready > 0 { selected(read, count, pc); }
    }
    epoll_wait(file: c_int, to: *mut epoll_event, most: c_int, limit: c_int) -> c_int, "r8": (waiting limit) {
        also_uses(file, pc);
    } (ready, pc) { if ready > 0 { channels::polled(pc); }
        writes(to, ready.max(0) as usize * size_of::<epoll_event>(), pc);
    }
    epoll_pwait(file: c_int, to: *mut epoll_event, most: c_int, limit: c_int, mask: *const sigset_t) -> c_int, "r9": (away file) {} (ready, pc) { if ready > 0 { channels::polled(pc); }
        writes(to, ready.max(0) as usize * size_of::<epoll_event>(), pc);
    }
    epoll_ctl(file: c_int, action: c_int, other: c_int, event: *mut epoll_event) -> c_int, "r8": (system file) {
        also_uses(other, pc); channels::changes_poll(pc);
        reads(event, size_of::<epoll_event>(), pc);
    } (result, pc) {}
    pipe(ends: *mut c_int) -> c_int, "rsi": system {} (result, pc) {
        if result == 0 { both_as_recorded(ends, pc); channels::is_pipe([*ends, *ends.add(1)], pc); writes(ends, 8, pc); }
    }
    pipe2(ends: *mut c_int, flags: c_int) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { both_as_recorded(ends, pc); channels::is_pipe([*ends, *ends.add(1)], pc); writes(ends, 8, pc); }
    }
    socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int, "r8": system {} (result, pc) {
        if result == 0 { both_as_recorded(ends, pc); channels::is_pair([*ends, *ends.add(1)], kind & 0xf == libc::SOCK_STREAM, pc); writes(ends, 8, pc); }
    }
    readlink(path: *const c_char, to: *mut c_char, room: usize) -> ssize_t, "rcx": quick { reads_text(path, pc); } (len, pc) {
        arrived(to.cast(), len, pc);
    }
    getcwd(to: *mut c_char, room: usize) -> *mut c_char, "rdx": slow {} (path, pc) {
        writes_text(path, pc);
    }
    getrandom(to: *mut c_void, len: usize, flags: c_uint) -> ssize_t, "rcx": system {} (done, pc) { comes(to, done.max(0) as usize, pc); }
    getentropy(to: *mut c_void, len: usize) -> c_int, "rdx": system {} (result, pc) { if result == 0 { comes(to, len, pc); } }
    eventfd(count: c_uint, flags: c_int) -> c_int, "rdx": system {} (file, pc) { file = as_recorded(file, pc); if file >= 0 { channels::is_counter(file, pc); } }
    eventfd_read(file: c_int, to: *mut u64) -> c_int, "rdx": (input file) {} (result, pc) {
        if result == 0 { channels::received(file, 8, pc); arrives(to, 8, pc); }
    }
    eventfd_write(file: c_int, value: u64) -> c_int, "rdx": (output file) { channels::sends(file, 8, pc); } (result, pc) {}
    epoll_create(size: c_int) -> c_int, "rsi": system {} (file, pc) { file = as_recorded(file, pc); channels::polls(file, pc); }
    epoll_create1(flags: c_int) -> c_int, "rsi": system {} (file, pc) { file = as_recorded(file, pc); channels::polls(file, pc); }
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, "rcx": system {} (file, pc) { file = as_recorded(file, pc); channels::is_socket(file, pc); }
    shutdown(file: c_int, how: c_int) -> c_int, "rdx": (system file) { channels::sends(file, 0, pc); } (result, pc) {}
    close(file: c_int) -> c_int, "rsi": (closes file) { channels::closes(file, pc); } (result, pc) {}
    dup(from: c_int) -> c_int, "rsi": (system from) {} (to, pc) { to = as_recorded(to, pc); channels::copied(from, to, pc); }
    dup2(from: c_int, to: c_int) -> c_int, "rdx": (system from) {
        let was_open = from == to || channels::replaces(to, pc);
    } (result, pc) { if from != to { channels::replaced(from, result, was_open, pc); } }
    dup3(from: c_int, to: c_int, flags: c_int) -> c_int, "rcx": (system from) {
        let was_open = from == to || channels::replaces(to, pc);
    } (result, pc) { channels::replaced(from, result, was_open, pc); }
    fcntl(file: c_int, command: c_int, argument: usize) -> c_int, "rcx": (system file) {} (result, pc) {
        if is_copy(command) { result = as_recorded(result, pc); channels::copied(file, result, pc); }
    }
    fcntl64(file: c_int, command: c_int, argument: usize) -> c_int, "rcx": (system file) {} (result, pc) {
        if is_copy(command) { result = as_recorded(result, pc); channels::copied(file, result, pc); }
    }
    sendmmsg(file: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int, "r8": (output file) {
        for at in 0..count as usize {
            let message = &(*messages.add(at)).msg_hdr;
            channels::talks_to(message.msg_name.cast());
            channels::sends(file, whole(message.msg_iov, message.msg_iovlen) as usize, pc);
            spread(message.msg_iov, message.msg_iovlen, whole(message.msg_iov, message.msg_iovlen), |from, len| reads(from, len, pc));
        }
    } (done, pc) {}
    sendfile(file: c_int, from: c_int, at: *mut off_t, len: usize) -> ssize_t, "r8": (output file) {
        channels::sends(file, len, pc);
    } (done, pc) {
        channels::sent(file, done.max(0) as usize);
        writes(at, size_of::<off_t>(), pc);
    }
    sendfile64(file: c_int, from: c_int, at: *mut off_t, len: usize) -> ssize_t, "r8": (output file) {
        channels::sends(file, len, pc);
    } (done, pc) {
        channels::sent(file, done.max(0) as usize);
        writes(at, size_of::<off_t>(), pc);
    }
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "rcx": system { reads_text(path, pc); } (file, pc) {
        file = as_recorded(file, pc);
        channels::is_other(file, pc);
    }
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "rcx": system { reads_text(path, pc); } (file, pc) {
        file = as_recorded(file, pc);
        channels::is_other(file, pc);
    }
    openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "r8": system {
        reads_text(path, pc);
    } (file, pc) {
        file = as_recorded(file, pc);
        channels::is_other(file, pc);
    }
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, "r8": system {
        reads_text(path, pc);
    } (file, pc) {
        file = as_recorded(file, pc);
        channels::is_other(file, pc);
    }
    creat(path: *const c_char, mode: mode_t) -> c_int, "rdx": system { reads_text(path, pc); } (file, pc) {
        file = as_recorded(file, pc);
        channels::is_other(file, pc);
    }
}

/// Six arguments: the return address goes behind them on the stack.
macro_rules! with_six {
    ($($name:ident = $body:path;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "push qword ptr [rsp]",
                "call {body}",
                "add rsp, 8",
                "ret",
                body = sym $body,
            )
        }
    )* };
}

crate::platform::real::real! {
    fn recvfrom(file: c_int, to: *mut c_void, len: usize, flags: c_int, from: *mut sockaddr, from_len: *mut socklen_t) -> ssize_t;
    fn sendto(file: c_int, from: *const c_void, len: usize, flags: c_int, to: *const sockaddr, to_len: socklen_t) -> ssize_t;
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
        let Some(inside) = crate::runtime::accesses::enter_system(pc) else {
            return recvfrom(file, to, len, flags, from, from_len);
        };
        let most = room(from_len);
        let done = crate::runtime::blocking::when_ready(&inside, file, libc::POLLIN, || {
            recvfrom(file, to, len, flags, from, from_len)
        });
        let errno = crate::runtime::guard::save_errno();
        let done = received(file, done, len, flags, pc);
        arrived(to, done, pc);
        if done >= 0 {
            address(from, from_len, most, pc);
        }
        crate::runtime::guard::restore_errno(errno);
        done
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
        let Some(inside) = crate::runtime::accesses::enter_system(pc) else {
            return sendto(file, from, len, flags, to, to_len);
        };
        channels::talks_to(to);
        channels::sends(file, len, pc);
        reads(from, len, pc);
        reads(to, to_len as usize, pc);
        let named = Named::new(to, to_len);
        let done = crate::runtime::blocking::when_ready(&inside, file, libc::POLLOUT, || {
            sendto(file, from, len, flags, named.actual(), to_len)
        });
        channels::sent(file, done.max(0) as usize);
        done
    }
}

mod exported {
    with_six! {
        recvfrom = super::receive_from;
        sendto = super::send_to;
    }
}
