//! What tasks depend on: `depend(in: …)`, `depend(out: …)` and kin, among the tasks that one task creates.

use super::tasks::Task;
use core::ffi::c_void;
use core::slice;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

/// By address, the task that wrote it last and those that have read that since.
pub type Table = BTreeMap<usize, Users>;

#[derive(Default)]
pub struct Users {
    writer: Option<Rc<Task>>,
    readers: Vec<Rc<Task>>,
}

/// The number that stands for reading in an object of the type `omp_depend_t`.
const IN: usize = 1;

/// The addresses that a task depends on, and whether it only reads there.
///
/// # Safety
/// The list is the compiler's.
unsafe fn addresses(list: *mut *mut c_void) -> Vec<(usize, bool)> {
    // SAFETY: the list says itself how long it is; of the two layouts, the longer one begins with 0.
    unsafe {
        let word = |at: usize| *list.add(at) as usize;
        if word(0) != 0 {
            let (all, out) = (word(0), word(1));
            return (0..all).map(|at| (word(2 + at), at >= out)).collect();
        }
        let (all, out, exclusive, input) = (word(1), word(2), word(3), word(4));
        (0..all)
            .map(|at| match word(5 + at) {
                addr if at < out + exclusive => (addr, false),
                addr if at < out + exclusive + input => (addr, true),
                object => {
                    let object = slice::from_raw_parts(object as *const usize, 2);
                    (object[0], object[1] == IN)
                }
            })
            .collect()
    }
}

/// Finds what a task of `parent` comes after, and lets later ones come after it if it `stays`.
///
/// # Safety
/// The list is the compiler's.
pub unsafe fn enter(parent: &Task, task: &Rc<Task>, list: *mut *mut c_void, stays: bool) {
    // SAFETY: promised by the caller.
    for (addr, reads) in unsafe { addresses(list) } {
        let mut table = parent.table.borrow_mut();
        let users = table.entry(addr).or_default();
        let before = users
            .writer
            .iter()
            .chain(if reads { [].iter() } else { users.readers.iter() });
        for other in before.filter(|other| !Rc::ptr_eq(other, task)) {
            if other.done != 0 {
                task.before.borrow_mut().push(other.done);
            }
            if !other.is_over.get() {
                other.successors.borrow_mut().push(task.clone());
                task.blockers.set(task.blockers.get() + 1);
            }
        }
        if stays && reads {
            users.readers.push(task.clone());
        } else if stays {
            users.readers.clear();
            users.writer = Some(task.clone());
        }
    }
}
