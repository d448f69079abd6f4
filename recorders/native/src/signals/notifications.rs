//! Notifications that glibc brings by a thread of its own: that a timer has run down, that a message has come, that input
//! and output are done. Nobody creates that thread in sight, and it may end any wait.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{aiocb, c_int, clockid_t, mqd_t, sigevent};

mod library {
    use super::{aiocb, c_int, c_void, clockid_t, mqd_t, sigevent};

    crate::platform::real::real! {
        fn timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut c_void) -> c_int;
        fn mq_notify(queue: mqd_t, event: *const sigevent) -> c_int;
        fn aio_read(block: *mut aiocb) -> c_int;
        fn aio_write(block: *mut aiocb) -> c_int;
        fn aio_fsync(how: c_int, block: *mut aiocb) -> c_int;
        fn lio_listio(mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut sigevent) -> c_int;
    }
}

/// Whether the program has ever asked for one.
static ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// Whether some may come.
pub fn may_come() -> bool {
    ASKED_FOR.load(Relaxed)
}

/// # Safety
/// Null, or what the program wants done.
unsafe fn note(event: *const sigevent) {
    // SAFETY: promised by the caller.
    if !event.is_null() && unsafe { (*event).sigev_notify } == libc::SIGEV_THREAD {
        ASKED_FOR.store(true, Relaxed);
    }
}

/// # Safety
/// The program's own request.
unsafe fn note_of(block: *const aiocb) {
    if !block.is_null() {
        // SAFETY: promised by the caller.
        unsafe { note(ptr::addr_of!((*block).aio_sigevent)) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut c_void) -> c_int {
    // SAFETY: the program's own arguments, here and below.
    unsafe {
        note(event);
        library::timer_create(clock, event, timer)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mq_notify(queue: mqd_t, event: *const sigevent) -> c_int {
    // SAFETY: as above.
    unsafe {
        note(event);
        library::mq_notify(queue, event)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn aio_read(block: *mut aiocb) -> c_int {
    // SAFETY: as above.
    unsafe {
        note_of(block);
        library::aio_read(block)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn aio_write(block: *mut aiocb) -> c_int {
    // SAFETY: as above.
    unsafe {
        note_of(block);
        library::aio_write(block)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn aio_fsync(how: c_int, block: *mut aiocb) -> c_int {
    // SAFETY: as above.
    unsafe {
        note_of(block);
        library::aio_fsync(how, block)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn lio_listio(
    mode: c_int,
    list: *const *mut aiocb,
    count: c_int,
    event: *mut sigevent,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        note(event);
        for place in 0..usize::try_from(count).unwrap_or(0) {
            note_of(list.add(place).read());
        }
        library::lio_listio(mode, list, count, event)
    }
}
