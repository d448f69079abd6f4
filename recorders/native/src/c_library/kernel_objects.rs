//! Objects of the kernel by which threads wait for each other or hand each other data, beside descriptors: System V
//! semaphores and message queues, POSIX message queues, locks of files.
//!
//! What an operation there does depends on all that came before it on the same object, so all of these keep their order
//! ([`channels::shared`]): each is recorded before the call, in which it may let others go on, and after it, since it
//! may have waited.

use crate::c_library::channels::shared::{self, Shared};
use crate::platform::{memory, real, sys};
use crate::runtime::accesses::{arrives, passes, returns_or_fails, writes};
use crate::runtime::guard::save_errno;
use crate::signals::notifications::{self, MESSAGES};
use core::ffi::c_void;
use libc::{c_char, c_int, c_long, c_short, c_uint, key_t, mq_attr, pollfd, sembuf, ssize_t, timespec};
use std::vec::Vec;

/// No call fails with this.
const NO_ERROR: c_int = 0;

/// Makes a call if the queue is ready for it, or tells at once why not.
fn when<R>(queue: c_int, wanted: c_short, call: impl Fn() -> R) -> Option<R> {
    let mut state = pollfd {
        fd: queue,
        events: wanted,
        revents: 0,
    };
    // SAFETY: one valid entry.
    let ready = unsafe { real::poll(&mut state, 1, 0) } != 0;
    // SAFETY: no memory is involved.
    let flags = unsafe { sys::call(libc::SYS_fcntl, queue as usize, libc::F_GETFL as usize, 0, 0) };
    (ready || flags & libc::O_NONBLOCK as isize != 0).then(call)
}

/// Bytes of a message's type, which come before its text (`struct msgbuf`).
const TYPE: usize = size_of::<c_long>();

/// Bytes of a message that arrived with its type; none if the call failed.
fn with_type(done: ssize_t) -> usize {
    usize::try_from(done).map_or(0, |done| done + TYPE)
}

/// What was received, into so much room.
///
/// # Safety
/// The call wrote there what it returned.
unsafe fn came(done: ssize_t, to: *const c_char, priority: *const c_uint, pc: usize) {
    if let Ok(done) = usize::try_from(done) {
        arrives(to, done, pc);
        arrives(priority, size_of::<c_uint>(), pc);
    }
}

/// What a call gave that was told not to wait; `None` if it would have.
fn unless_it_waits<R: PartialEq + From<i8>>(result: R, error: c_int) -> Option<R> {
    (result != R::from(-1) || save_errno() != error).then_some(result)
}

/// The same operations, none of which waits; `None` if the program wants to know of one that it would, or if the kernel
/// refuses them: they are too many, or not there.
fn without_waiting(operations: *const sembuf, count: usize) -> Option<Vec<sembuf>> {
    /// The kernel's `SEMOPM`.
    const MOST: usize = 500;
    let mut patient: Vec<_> = memory::each(operations, count.min(MOST)).collect();
    let waits = patient
        .iter()
        .any(|one| c_int::from(one.sem_flg) & libc::IPC_NOWAIT == 0);
    patient
        .iter_mut()
        .for_each(|one| one.sem_flg |= libc::IPC_NOWAIT as i16);
    (waits && patient.len() == count).then_some(patient)
}

library! {
    semget(key: key_t, count: c_int, flags: c_int) -> c_int, "rcx": system {} (set, pc) {
        set = shared::SETS.given(set, pc);
    }
    semop(set: c_int, operations: *mut sembuf, count: usize) -> c_int, "rcx": (patient attempt object) {
        passes(operations.cast_const(), count.saturating_mul(size_of::<sembuf>()), pc);
        let set = shared::SETS.actual(set);
        let object = Shared::Semaphores(set);
        shared::operates(object, pc);
        let patient = without_waiting(operations, count);
        let attempt = || match &patient {
            Some(patient) => unless_it_waits(semop(set, patient.as_ptr().cast_mut(), count), libc::EAGAIN),
            None => Some(semop(set, operations, count)),
        };
    } (result, pc) { shared::operates(object, pc); }
    semtimedop(set: c_int, operations: *mut sembuf, count: usize, limit: *const timespec) -> c_int, "r8": (patient attempt object) {
        passes(operations.cast_const(), count.saturating_mul(size_of::<sembuf>()), pc);
        passes(limit, size_of::<timespec>(), pc);
        let set = shared::SETS.actual(set);
        let object = Shared::Semaphores(set);
        shared::operates(object, pc);
        let patient = without_waiting(operations, count);
        let attempt = || match &patient {
            Some(patient) => unless_it_waits(semtimedop(set, patient.as_ptr().cast_mut(), count, limit), libc::EAGAIN),
            None => Some(semtimedop(set, operations, count, limit)),
        };
    } (result, pc) { shared::operates(object, pc); }
    semctl(set: c_int, number: c_int, command: c_int, argument: *const c_void) -> c_int, "r8": system {
        let set = shared::SETS.actual(set);
        shared::operates(Shared::Semaphores(set), pc);
    } (result, pc) { shared::operates(Shared::Semaphores(set), pc); }
    msgget(key: key_t, flags: c_int) -> c_int, "rdx": system {} (queue, pc) {
        queue = shared::QUEUES.given(queue, pc);
    }
    msgsnd(queue: c_int, message: *const c_void, len: usize, flags: c_int) -> c_int, "r8": (patient attempt object) {
        passes(message, len.saturating_add(TYPE), pc);
        let queue = shared::QUEUES.actual(queue);
        let object = Shared::Messages(queue);
        shared::operates(object, pc);
        let error = if flags & libc::IPC_NOWAIT == 0 { libc::EAGAIN } else { NO_ERROR };
        let attempt = || unless_it_waits(msgsnd(queue, message, len, flags | libc::IPC_NOWAIT), error);
    } (result, pc) { shared::operates(object, pc); }
    msgrcv(queue: c_int, message: *mut c_void, room: usize, kind: c_long, flags: c_int) -> ssize_t, "r9": (patient attempt object) {
        let queue = shared::QUEUES.actual(queue);
        let object = Shared::Messages(queue);
        shared::operates(object, pc);
        let error = if flags & libc::IPC_NOWAIT == 0 { libc::ENOMSG } else { NO_ERROR };
        let attempt = || unless_it_waits(msgrcv(queue, message, room, kind, flags | libc::IPC_NOWAIT), error);
    } (done, pc) {
        shared::operates(object, pc);
        done = (returns_or_fails(done as i64, pc) as ssize_t).min(room as ssize_t);
        arrives(message.cast_const(), with_type(done), pc);
    }
    msgctl(queue: c_int, command: c_int, argument: *mut c_void) -> c_int, "rcx": system {
        let queue = shared::QUEUES.actual(queue);
        shared::operates(Shared::Messages(queue), pc);
    } (result, pc) {
        shared::operates(Shared::Messages(queue), pc);
        if result >= 0 && command == libc::IPC_STAT { arrives(argument.cast_const(), size_of::<libc::msqid_ds>(), pc); }
    }
    mq_send(queue: c_int, from: *const c_char, len: usize, priority: c_uint) -> c_int, "r8": (patient attempt object) {
        passes(from, len, pc);
        // Who has asked for it is told that a message has come.
        notifications::begin(MESSAGES, pc);
        let object = shared::file(queue);
        shared::operates(object, pc);
        let attempt = || when(queue, libc::POLLOUT, || mq_send(queue, from, len, priority));
    } (result, pc) { shared::operates(object, pc); }
    mq_timedsend(queue: c_int, from: *const c_char, len: usize, priority: c_uint, limit: *const timespec) -> c_int, "r9": (patient attempt object) {
        passes(from, len, pc);
        passes(limit, size_of::<timespec>(), pc);
        notifications::begin(MESSAGES, pc);
        let object = shared::file(queue);
        shared::operates(object, pc);
        let attempt = || when(queue, libc::POLLOUT, || mq_timedsend(queue, from, len, priority, limit));
    } (result, pc) { shared::operates(object, pc); }
    mq_receive(queue: c_int, to: *mut c_char, room: usize, priority: *mut c_uint) -> ssize_t, "r8": (patient attempt object) {
        let object = shared::file(queue);
        shared::operates(object, pc);
        let attempt = || when(queue, libc::POLLIN, || mq_receive(queue, to, room, priority));
    } (done, pc) {
        shared::operates(object, pc);
        done = (returns_or_fails(done as i64, pc) as ssize_t).min(room as ssize_t);
        came(done, to, priority, pc);
    }
    mq_timedreceive(queue: c_int, to: *mut c_char, room: usize, priority: *mut c_uint, limit: *const timespec) -> ssize_t, "r9": (patient attempt object) {
        passes(limit, size_of::<timespec>(), pc);
        let object = shared::file(queue);
        shared::operates(object, pc);
        let attempt = || when(queue, libc::POLLIN, || mq_timedreceive(queue, to, room, priority, limit));
    } (done, pc) {
        shared::operates(object, pc);
        done = (returns_or_fails(done as i64, pc) as ssize_t).min(room as ssize_t);
        came(done, to, priority, pc);
    }
    mq_getattr(queue: c_int, to: *mut c_void) -> c_int, "rdx": (system queue) {
        shared::operates(shared::file(queue), pc);
    } (result, pc) { if result == 0 { writes(to.cast_const(), size_of::<mq_attr>(), pc); } }
    flock(file: c_int, operation: c_int) -> c_int, "rdx": (patient attempt object) {
        let object = shared::file(file);
        shared::locks(file, pc);
        let error = if operation & libc::LOCK_NB == 0 { libc::EWOULDBLOCK } else { NO_ERROR };
        let attempt = || unless_it_waits(flock(file, operation | libc::LOCK_NB), error);
    } (result, pc) { shared::operates(object, pc); }
    lockf(file: c_int, command: c_int, len: libc::off_t) -> c_int, "rcx": (away file) {} (result, pc) {}
}
