//! What the program has the system tell it later on, by a signal or a thread: that a timer has run down, that a message
//! has come, that input and output are done.

use crate::events::images;
use crate::platform::memory;
use crate::pthread::stack;
use crate::runtime::accesses::{arrives, comes, passes, returns};
use crate::signals::notifications::{
    self, INPUT_AND_OUTPUT, MESSAGES, actual_timer, are_asked_for, interval_timer, timer, timer_is_made,
};
use core::mem::offset_of;
use libc::{aiocb, c_int, c_uint, clockid_t, itimerspec, itimerval, mqd_t, sigevent, timer_t, useconds_t};

/// What there is of an event in any case: its value, its signal, and the way.
const WHAT: usize = offset_of!(sigevent, sigev_notify) + size_of::<c_int>();

/// Behind that, of one that is told by a thread: its function and its attributes.
const BY_THREAD: usize = 2 * size_of::<usize>();

/// What the program wants done is read.
fn wants(event: *const sigevent, pc: usize) {
    if let Some(wanted) = memory::at(event) {
        are_asked_for(&wanted);
        let by_thread = wanted.sigev_notify == libc::SIGEV_THREAD;
        passes(event, WHAT + if by_thread { BY_THREAD } else { 0 }, pc);
    }
}

/// The same of what is to be done when a block is read or written.
fn wants_of_block(block: *const aiocb) {
    if let Some(block) = memory::at(block) {
        are_asked_for(&block.aio_sigevent);
    }
}

/// The calling thread is about to have the system tell the program something about this later on. A thread that does so
/// comes behind all that was before, though there was only one thread then, and none creates it in sight.
fn begin(matter: u64, pc: usize) {
    if notifications::may_come() {
        images::take_once(stack::own);
    }
    notifications::begin(matter, pc);
}

library! {
    timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut timer_t) -> c_int, "rcx": system {
        wants(event, pc);
    } (result, pc) {
        if result == 0 {
            let actual = timer.read_unaligned();
            arrives(timer, size_of::<timer_t>(), pc);
            timer_is_made(timer.read_unaligned() as usize, actual as usize);
        }
    }
    timer_delete(timer: timer_t) -> c_int, "rsi": system {
        let timer = actual_timer(timer as usize) as timer_t;
    } (result, pc) {}
    timer_settime(which: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int, "r8": system {
        passes(new, size_of::<itimerspec>(), pc);
        // The C library's number is the kernel's, but of a timer that is told by a thread.
        begin(timer(which as usize as c_int), pc);
        let which = actual_timer(which as usize) as timer_t;
    } (result, pc) { if result == 0 { comes(old, size_of::<itimerspec>(), pc); } }
    timer_gettime(timer: timer_t, to: *mut itimerspec) -> c_int, "rdx": system {
        let timer = actual_timer(timer as usize) as timer_t;
    } (result, pc) {
        if result == 0 { comes(to, size_of::<itimerspec>(), pc); }
    }
    timer_getoverrun(timer: timer_t) -> c_int, "rsi": system {
        let timer = actual_timer(timer as usize) as timer_t;
    } (count, pc) {
        count = returns(count.into(), pc) as c_int;
    }
    setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int, "rcx": system {
        passes(new, size_of::<itimerval>(), pc);
        begin(interval_timer(which), pc);
    } (result, pc) { if result == 0 { comes(old, size_of::<itimerval>(), pc); } }
    getitimer(which: c_int, to: *mut itimerval) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { comes(to, size_of::<itimerval>(), pc); }
    }
    alarm(seconds: c_uint) -> c_uint, "rsi": system {
        begin(interval_timer(libc::ITIMER_REAL as c_int), pc);
    } (left, pc) {
        left = returns(left.into(), pc) as c_uint;
    }
    ualarm(first: useconds_t, interval: useconds_t) -> useconds_t, "rdx": system {
        begin(interval_timer(libc::ITIMER_REAL as c_int), pc);
    } (left, pc) {
        left = returns(left.into(), pc) as useconds_t;
    }
    mq_notify(queue: mqd_t, event: *const sigevent) -> c_int, "rdx": system {
        wants(event, pc);
        begin(MESSAGES, pc);
    } (result, pc) {}
    aio_read(block: *mut aiocb) -> c_int, "rsi": system { wants_of_block(block); begin(INPUT_AND_OUTPUT, pc); } (result, pc) {}
    aio_write(block: *mut aiocb) -> c_int, "rsi": system { wants_of_block(block); begin(INPUT_AND_OUTPUT, pc); } (result, pc) {}
    aio_fsync(how: c_int, block: *mut aiocb) -> c_int, "rdx": system { wants_of_block(block); begin(INPUT_AND_OUTPUT, pc); } (result, pc) {}
    lio_listio(mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut sigevent) -> c_int, "r8": system {
        wants(event, pc);
        let blocks = memory::each(list, usize::try_from(count).unwrap_or(0));
        blocks.for_each(|block| wants_of_block(block.cast_const()));
        begin(INPUT_AND_OUTPUT, pc);
    } (result, pc) {}
}
