//! Loops whose iterations become tasks.

use super::tasks::{self, Body, Copy};
use super::{Outlined, member, refuse};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::{c_long, c_uint, c_ulong, c_void};
use core::ptr;
use libc::c_int;

const UP: c_uint = 1 << 8;
const GRAIN: c_uint = 1 << 9;
const MAY_WAIT: c_uint = 1 << 10;
const NO_GROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const STRICT: c_uint = 1 << 14;

/// How many iterations each task gets, in order.
fn shares(count: u64, wanted: u64, flags: c_uint, threads: u64) -> impl Iterator<Item = u64> {
    let strict = flags & STRICT != 0;
    let (tasks, size) = match wanted {
        grain if flags & GRAIN != 0 && strict => (count.div_ceil(grain.max(1)), grain.max(1)),
        grain if flags & GRAIN != 0 => ((count / grain.max(1)).max(1), 0),
        0 => (threads.min(count), 0),
        tasks if strict => (count.div_ceil(count.div_ceil(tasks)), count.div_ceil(tasks)),
        tasks => (tasks.min(count), 0),
    };
    let (each, more) = (count / tasks.max(1), count % tasks.max(1));
    (0..tasks).map(move |task| match size {
        0 => each + u64::from(task < more),
        size => size.min(count - task * size),
    })
}

unsafe fn create(inside: &RuntimeGuard, body: &Body, wanted: u64, start: i128, end: i128, step: i128, pc: usize) {
    let member = member(inside);
    let flags = body.flags;
    if flags & REDUCTION != 0 {
        refuse("a reduction in a taskloop");
    }
    if flags & NO_GROUP == 0 {
        tasks::begin_group(&member);
    }
    let length = if step > 0 { end - start } else { start - end };
    let count = if length <= 0 {
        0
    } else {
        ((length + step.abs() - 1) / step.abs()) as u64
    };
    let mut at = start;
    let mut first = 0;
    for share in shares(count, wanted, flags, member.team.size as u64) {
        first += share;
        let next = if first == count {
            end
        } else {
            at + step * i128::from(share)
        };
        // A task begins with its bounds.
        let fill = |argument: *mut c_void| {
            // SAFETY: the compiler puts both first.
            unsafe { argument.cast::<[u64; 2]>().write([at as u64, next as u64]) };
            pending::write_range_now(argument as usize, 16, pc);
        };
        // SAFETY: promised by the caller.
        unsafe { tasks::create(inside, &member, body, flags & MAY_WAIT != 0, ptr::null_mut(), fill, pc) };
        at = next;
    }
    if flags & NO_GROUP == 0 {
        tasks::end_group(inside, &member, pc);
    }
}

entries! {
    GOMP_taskloop(function: Outlined, data: *mut c_void, copy: Option<Copy>, size: c_long, alignment: c_long, flags: c_uint,
        wanted: c_ulong, _priority: c_int, start: c_long, end: c_long, step: c_long) -> (), stack 5: |inside, pc| {
        let (size, alignment) = (size as usize, alignment as usize);
        let body = Body { function, data, copy, size, alignment, flags, depend: ptr::null_mut() };
        create(&inside, &body, wanted, start.into(), end.into(), step.into(), pc);
    }
    GOMP_taskloop_ull(function: Outlined, data: *mut c_void, copy: Option<Copy>, size: c_long, alignment: c_long, flags: c_uint,
        wanted: c_ulong, _priority: c_int, start: u64, end: u64, step: u64) -> (), stack 5: |inside, pc| {
        let (size, alignment) = (size as usize, alignment as usize);
        let body = Body { function, data, copy, size, alignment, flags, depend: ptr::null_mut() };
        let step = if flags & UP != 0 { step.into() } else { (step as i64).into() };
        create(&inside, &body, wanted, start.into(), end.into(), step, pc);
    }
}
