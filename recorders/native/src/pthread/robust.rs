//! What becomes of a robust mutex whose owner ends: whoever takes it next learns of it, and if that one gives it back
//! without a word, nobody gets it any more.
//!
//! How it stands is the value of a variable of the runtime's own, one for each life of a mutex. Whoever gets the mutex,
//! or is refused for good, loads the value that says so. So no schedule has a thread get it behind that, or fail before,
//! or hear of an owner who has not ended yet.

use super::object;
use crate::events::variable;
use crate::platform::real;
use core::cell::RefCell;
use libc::{c_int, pthread_mutex_t};
use std::collections::BTreeMap;

/// As the variable says it.
#[derive(Clone, Copy)]
enum Stands {
    Consistent = 0,
    /// Its owner has ended.
    Abandoned = 1,
    /// And whoever had it next gave it back as it was.
    Lost = 2,
}

/// The variables of those that are known, by address.
struct Variables(RefCell<BTreeMap<usize, u64>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Variables {}

static VARIABLES: Variables = Variables(RefCell::new(BTreeMap::new()));

/// In a forked child, whose trace begins with them as they are.
pub fn start_over() {
    VARIABLES.0.borrow_mut().clear();
}

/// A robust mutex was initialized.
pub fn begins(mutex: *mut pthread_mutex_t) {
    VARIABLES.0.borrow_mut().insert(mutex as usize, variable::fresh());
}

/// A mutex was destroyed, or one that is not robust was initialized.
pub fn ends(mutex: *mut pthread_mutex_t) {
    VARIABLES.0.borrow_mut().remove(&(mutex as usize));
}

/// It stands so from here on.
fn becomes(mutex: *mut pthread_mutex_t, stands: Stands, pc: usize) {
    if let Some(&known) = VARIABLES.0.borrow().get(&(mutex as usize)) {
        variable::store(known, stands as u64, pc);
    }
}

/// The running thread has asked for it, and this is what the C library's function returned.
pub fn asked_for(mutex: *mut pthread_mutex_t, result: c_int, pc: usize) {
    let stands = match result {
        0 => Stands::Consistent,
        libc::EOWNERDEAD => Stands::Abandoned,
        libc::ENOTRECOVERABLE => Stands::Lost,
        _ => return,
    };
    if let Some(&known) = VARIABLES.0.borrow().get(&(mutex as usize)) {
        variable::load(known, stands as u64, pc);
    }
}

/// The running thread ends and still holds it.
pub fn is_abandoned(mutex: *mut pthread_mutex_t) {
    becomes(mutex, Stands::Abandoned, 0);
}

/// The running thread gives it back without having made it consistent.
pub fn is_lost(mutex: *mut pthread_mutex_t, pc: usize) {
    becomes(mutex, Stands::Lost, pc);
}

unsafe extern "C-unwind" fn make_consistent(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let inside = object::enter(mutex as usize, pc);
    // SAFETY: the program's own mutex.
    let result = unsafe { real::pthread_mutex_consistent(mutex) };
    if inside.is_some() && result == 0 {
        becomes(mutex, Stands::Consistent, pc);
    }
    result
}

crate::platform::export::export! {
    pthread_mutex_consistent = make_consistent, "rsi";
    pthread_mutex_consistent_np = make_consistent, "rsi";
}
