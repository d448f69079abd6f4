//! Libraries that synchronize by atomic instructions and futex calls of their own, which leave no events: what they
//! promise their callers is modelled at their public functions instead.
//!
//! A library of which this runtime exports functions is one that is modelled: there is no other list of them.

pub mod entry;
pub mod glib;
pub mod gomp;
pub mod order;

use crate::runtime::guard::RuntimeGuard;

/// A thread is about to end.
pub fn thread_ends(inside: &RuntimeGuard) {
    gomp::team::dismiss_workers(inside);
}

/// In a forked child, where the calling thread is the only one.
pub fn start_over() {
    gomp::start_over();
}
