//! Barriers. Who has arrived is who is blocked on the barrier, so no state of our own is needed.

use super::object;
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::glibc::barrier::{COUNT, SHARED};
use crate::platform::{real, shared_memory};
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use libc::{c_int, c_uint, pthread_barrier_t, pthread_barrierattr_t};
use recorder_ring::{ObjectClass, Record, Waits};

unsafe extern "C-unwind" fn wait(barrier: *mut pthread_barrier_t, pc: usize) -> c_int {
    let Some(inside) = object::enter(barrier as usize, pc) else {
        // SAFETY: the program's own barrier.
        return unsafe { real::pthread_barrier_wait(barrier) };
    };
    // SAFETY: the program's own barrier; the offset lies inside it, aligned, and was checked at the start.
    let (count, shared) = unsafe {
        let field = |offset| barrier.byte_add(offset).cast::<u32>().read_volatile();
        (
            field(COUNT) as usize,
            field(SHARED) != 0 && !shared_memory::is_private(barrier as usize),
        )
    };
    let (pc, key) = (pc as u64, barrier as usize);
    if shared {
        // Threads of other processes come to it, too: only the real one knows who is the last.
        pending::push(Record::BarrierEnter {
            pc,
            barrier: key as u64,
            last: false,
        });
        // SAFETY: the program's own barrier.
        let result = inside.outside(|| unsafe { real::pthread_barrier_wait(barrier) });
        pending::push(Record::BarrierExit {
            pc,
            barrier: key as u64,
            attempt: true,
        });
        return result;
    }
    let last = baton::count_blocked(key) + 1 >= count;
    pending::push(Record::BarrierEnter {
        pc,
        barrier: key as u64,
        last,
    });
    if last {
        baton::wake(key, usize::MAX);
    } else {
        pending::waits(inside.thread(), Waits::Barrier, key, pc as usize, NEVER);
        baton::block(inside.thread(), key, NEVER);
    }
    pending::push(Record::BarrierExit {
        pc,
        barrier: key as u64,
        attempt: false,
    });
    if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

unsafe extern "C-unwind" fn initialize(
    barrier: *mut pthread_barrier_t,
    attr: *const pthread_barrierattr_t,
    count: c_uint,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own barrier, and what it is to be.
    let call = || unsafe { real::pthread_barrier_init(barrier, attr, count) };
    object::initialize(barrier as usize, 0, pc, call, || ObjectClass::Barrier)
}

unsafe extern "C-unwind" fn destroy(barrier: *mut pthread_barrier_t, pc: usize) -> c_int {
    // SAFETY: the program's own barrier.
    object::destroy(barrier as usize, pc, || unsafe {
        real::pthread_barrier_destroy(barrier)
    })
}

export_shown! {
    pthread_barrier_wait = wait, "rsi";
    pthread_barrier_init = initialize, "rcx";
    pthread_barrier_destroy = destroy, "rsi";
}
