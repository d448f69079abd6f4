//! OpenMP as gcc compiles it: the functions of libgomp, in a runtime of our own on the baton.
//!
//! libgomp's threads wait for each other by spinning and by futex calls that nobody can see, and pass on work in memory
//! that nobody records. So its functions that start threads, synchronize or hand out work are taken over entirely. What
//! is recorded is the order that OpenMP promises and no more: that a region begins and ends together, that barriers and
//! critical sections are what they are, that a task comes after its creation and its dependences and before what waits
//! for it. Which thread gets which iterations is a number from a relaxed atomic counter; which thread executes which
//! task, an `input`.
//!
//! The rest (times, places, allocators, devices, teams) remains libgomp's own, which believes that every thread is
//! alone. Cancellation is never active. Reductions of tasks are not modelled: a program that uses them is ended, with a
//! message.

mod barrier;
mod block;
mod depend;
mod doacross;
mod exclusion;
mod loops;
mod sections;
mod settings;
mod share;
mod single;
mod taskloop;
mod tasks;
pub mod team;

use crate::platform::sys;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::slot;
use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use std::boxed::Box;
use std::rc::Rc;
use std::vec::Vec;
use team::{Member, Worker};

/// A part of the program that the compiler has made a function of: a region, a task.
pub type Outlined = unsafe extern "C-unwind" fn(*mut c_void);

/// What OpenMP knows of a thread. Used by the thread itself, with the baton or at least as nobody else does.
pub struct OfThread {
    /// Which member of which team it is now.
    member: RefCell<Rc<Member>>,
    /// Threads that it created to be its team.
    pool: RefCell<Vec<&'static Worker>>,
    /// How many of them, the first ones, are in teams of regions that it is in.
    busy: Cell<usize>,
}

/// The calling thread's part.
pub fn of(inside: &RuntimeGuard) -> &'static OfThread {
    let known = inside.openmp.get();
    // SAFETY: null, or what was stored below, which lives for ever.
    if let Some(known) = unsafe { known.cast::<OfThread>().as_ref() } {
        return known;
    }
    let new = Box::leak(Box::new(OfThread {
        member: RefCell::new(Member::alone()),
        pool: RefCell::new(Vec::new()),
        busy: Cell::new(0),
    }));
    inside.openmp.set(core::ptr::from_ref(new).cast());
    new
}

/// Which member of which team the calling thread is.
pub fn member(inside: &RuntimeGuard) -> Rc<Member> {
    of(inside).member.borrow().clone()
}

/// What the calling thread's member answers; `None` for a thread that came to no OpenMP yet. For what is no event: the
/// thread may be without the baton, so that it must not count references, which others that have it count, too.
pub fn ask_member<R>(answer: impl FnOnce(&Member) -> R) -> Option<R> {
    // SAFETY: null or a thread, which lives for ever; and as in `of`.
    let of = unsafe { slot().as_ref()?.openmp.get().cast::<OfThread>().as_ref()? };
    Some(answer(&of.member.borrow()))
}

/// In a forked child: the other threads are not there.
pub fn start_over() {
    // SAFETY: as in `ask_member`.
    if let Some(of) = unsafe {
        slot()
            .as_ref()
            .and_then(|thread| thread.openmp.get().cast::<OfThread>().as_ref())
    } {
        of.pool.borrow_mut().clear();
        of.busy.set(0);
        *of.member.borrow_mut() = Member::alone();
    }
}

/// The program uses what is not modelled.
fn refuse(what: &str) -> ! {
    sys::say(b"witness: OpenMP: ");
    sys::say(what.as_bytes());
    sys::die(" is not modelled\n")
}
