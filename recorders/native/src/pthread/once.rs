//! `pthread_once`, with glibc's own states of the control variable.

use super::object;
use crate::events::picture::export_shown;
use crate::events::{in_vain, pending};
use crate::platform::glibc::ONCE_DONE as DONE;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::{Acquire, Release};
use libc::c_int;
use recorder_ring::record::OnceStep;
use recorder_ring::{Record, Waits};

const NOT_STARTED: i32 = 0;
const STARTED: i32 = 1;

pub unsafe extern "C-unwind" fn once(control: *mut c_int, routine: unsafe extern "C-unwind" fn(), pc: usize) -> c_int {
    let Some(inside) = object::enter(control as usize, pc) else {
        // SAFETY: the program's own arguments.
        return unsafe { real::pthread_once(control, routine) };
    };
    // SAFETY: the program's own control variable, an aligned int.
    let state = unsafe { AtomicI32::from_ptr(control) };
    let key = control as usize;
    let record = |step| {
        pending::push(Record::Once {
            pc: pc as u64,
            once: key as u64,
            step,
        })
    };
    loop {
        match state.load(Acquire) {
            DONE => {
                record(OnceStep::Wait);
                return 0;
            }
            NOT_STARTED => {
                state.store(STARTED, Release);
                in_vain::begins(key, pc);
                record(OnceStep::Begin);
                let unless_it_returns = InVain { state, pc };
                // SAFETY: the program's own routine.
                inside.in_program(|| unsafe { routine() });
                core::mem::forget(unless_it_returns);
                in_vain::is_made(key);
                state.store(DONE, Release);
                record(OnceStep::End);
                baton::wake(key, usize::MAX);
                return 0;
            }
            _ => {
                pending::waits(inside.thread(), Waits::Once, key, pc, NEVER);
                baton::block(inside.thread(), key, NEVER);
            }
        }
    }
}

/// What is left of an initialization that does not return, but throws, or whose thread ends: the next thread tries again.
struct InVain<'c> {
    state: &'c AtomicI32,
    pc: usize,
}

impl Drop for InVain<'_> {
    fn drop(&mut self) {
        let key = self.state.as_ptr() as u64;
        let inside = RuntimeGuard::enter();
        self.state.store(NOT_STARTED, Release);
        if inside.is_some() {
            // What it did is done; a second beginning is a new once cell.
            pending::push(Record::Once {
                pc: self.pc as u64,
                once: key,
                step: OnceStep::End,
            });
            pending::push(Record::Destroy { object: key });
            in_vain::ends(key as usize, self.pc);
            baton::wake(key as usize, usize::MAX);
        }
    }
}

export_shown! {
    pthread_once = once, "rdx";
}
