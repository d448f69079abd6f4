//! Sections: a loop over their numbers, from 1; 0 is the end.

use super::share::{self, Bounds, Kind, Share};
use super::{Outlined, barrier, member, refuse, team};
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::{c_uint, c_void};

fn sections(count: c_uint) -> Share {
    let bounds = Bounds {
        start: 1,
        end: i128::from(count) + 1,
        step: 1,
    };
    Share::new(Kind::Dynamic, bounds, 1, false)
}

fn next(inside: &RuntimeGuard, pc: usize) -> c_uint {
    share::next(inside, &member(inside), pc).map_or(0, |(section, _)| section as c_uint)
}

fn start(inside: &RuntimeGuard, count: c_uint, pc: usize) -> c_uint {
    share::begin(&member(inside), || sections(count));
    next(inside, pc)
}

fn end(inside: &RuntimeGuard, waits: bool, pc: usize) {
    let member = member(inside);
    share::end(inside, &member, pc);
    if waits {
        barrier::pass(inside, &member, pc);
    }
}

entries! {
    GOMP_sections_start(count: c_uint) -> c_uint, reg "rsi": |inside, pc| { start(&inside, count, pc) }
    GOMP_sections2_start(count: c_uint, reductions: *mut usize, memory: *mut *mut c_void) -> c_uint, reg "rcx": |inside, pc| {
        if !reductions.is_null() { refuse("a reduction of tasks in sections (GOMP_sections2_start)") }
        let first = start(&inside, count, pc);
        if let Some(share) = share::current(&member(&inside)).filter(|_| !memory.is_null()) {
            *memory = share.memory(*memory as usize, pc);
        }
        first
    }
    GOMP_sections_next() -> c_uint, reg "rdi": |inside, pc| { next(&inside, pc) }
    GOMP_sections_end() -> (), reg "rdi": |inside, pc| { end(&inside, true, pc); }
    GOMP_sections_end_nowait() -> (), reg "rdi": |inside, pc| { end(&inside, false, pc); }
    GOMP_sections_end_cancel() -> bool, reg "rdi": |inside, pc| {
        end(&inside, true, pc);
        false
    }
    GOMP_parallel_sections(function: Outlined, argument: *mut c_void, threads: c_uint, count: c_uint, _flags: c_uint) -> (),
        reg "r9": |inside, pc| { team::parallel(&inside, function, argument, threads, || Some(sections(count)), pc); }
}
