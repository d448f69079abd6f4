//! Single blocks: the first thread that comes executes it. What its variables are then, others may get behind a
//! barrier.

use super::team::Member;
use super::{barrier, member};
use crate::libraries::entry::entries;
use crate::libraries::order;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use std::rc::Rc;

/// A single block.
pub struct Single {
    /// 0 before somebody came, then 1.
    taken: u64,
    came: Cell<usize>,
    values: Cell<*mut c_void>,
}

/// The thread comes to a block; whether it is the first.
fn come(member: &Member, pc: usize) -> (Rc<Single>, bool) {
    let number = member.singles.replace(member.singles.get() + 1);
    let team = &member.team;
    let new = || {
        Rc::new(Single {
            taken: order::part(team.blocks, number),
            came: Cell::new(0),
            values: Cell::new(ptr::null_mut()),
        })
    };
    let single = team.singles.borrow_mut().entry(number).or_insert_with(new).clone();
    let first = single.came.get() == 0;
    single.came.set(single.came.get() + 1);
    if single.came.get() == team.size {
        team.singles.borrow_mut().remove(&number);
    }
    if team.size > 1 && first {
        order::count(single.taken, 0, 1, pc);
    } else if team.size > 1 {
        order::look(single.taken, 1, pc);
    }
    (single, first)
}

entries! {
    GOMP_single_start() -> bool, reg "rdi": |inside, pc| { come(&member(&inside), pc).1 }
    GOMP_single_copy_start() -> *mut c_void, reg "rdi": |inside, pc| {
        let member = member(&inside);
        let (single, first) = come(&member, pc);
        if first {
            member.hands_on.replace(Some(single));
            return ptr::null_mut();
        }
        barrier::pass(&inside, &member, pc);
        single.values.get()
    }
    GOMP_single_copy_end(values: *mut c_void) -> (), reg "rsi": |inside, pc| {
        let member = member(&inside);
        if let Some(single) = member.hands_on.take() {
            single.values.set(values);
        }
        barrier::pass(&inside, &member, pc);
    }
}
