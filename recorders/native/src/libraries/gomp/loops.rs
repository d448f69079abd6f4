//! The functions that loops are compiled to, one for each kind of loop and of schedule.

use super::doacross;
use super::share::{self, Bounds, Kind, Share};
use super::{Outlined, barrier, member, refuse, settings, team};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::{c_long, c_uint, c_void};

/// Which bits of a schedule's number say what it is.
const SCHEDULE: c_long = 0x7fff_ffff;

fn signed(start: c_long, end: c_long, step: c_long) -> Bounds {
    Bounds {
        start: start.into(),
        end: end.into(),
        step: step.into(),
    }
}

fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Bounds {
    Bounds {
        start: start.into(),
        end: end.into(),
        step: if up { step.into() } else { (step as i64).into() },
    }
}

/// The kind that a number stands for, and the size of its pieces.
fn schedule(number: c_long, piece: u64) -> (Kind, u64) {
    match number & SCHEDULE {
        0 => settings::schedule(),
        1 => (Kind::Static, piece),
        2 => (Kind::Dynamic, piece),
        3 => (Kind::Guided, piece),
        _ => (Kind::Static, 0),
    }
}

unsafe fn start(
    inside: &RuntimeGuard,
    (kind, piece): (Kind, u64),
    bounds: Bounds,
    ordered: bool,
    from: *mut u64,
    to: *mut u64,
    pc: usize,
) -> bool {
    let member = member(inside);
    share::begin(&member, || Share::new(kind, bounds, piece, ordered));
    // SAFETY: the program's own variables.
    from.is_null() || unsafe { share::next_into(inside, &member, from, to, pc) }
}

/// Memory that the threads of a loop share, for the last values of variables that are assigned under conditions.
unsafe fn shared_memory(inside: &RuntimeGuard, memory: *mut *mut c_void, pc: usize) {
    if memory.is_null() {
        return;
    }
    let member = member(inside);
    let Some(share) = share::current(&member) else { return };
    // SAFETY: the program's own variable, which says how much it wants.
    unsafe {
        let size = *memory as usize;
        *memory = share.memory(size, pc);
    }
    pending::write_range_now(memory as usize, size_of::<usize>(), pc);
}

macro_rules! starts {
    ($($signed:ident $unsigned:ident: $kind:ident, $ordered:literal;)*) => { entries! { $(
        $signed(first: c_long, last: c_long, step: c_long, piece: c_long, from: *mut u64, to: *mut u64) -> bool, stack 0:
            |inside, pc| { start(&inside, (Kind::$kind, piece as u64), signed(first, last, step), $ordered, from, to, pc) }
        $unsigned(up: bool, first: u64, last: u64, step: u64, piece: u64, from: *mut u64, to: *mut u64) -> bool, stack 1:
            |inside, pc| { start(&inside, (Kind::$kind, piece), unsigned(up, first, last, step), $ordered, from, to, pc) }
    )* } };
}

starts! {
    GOMP_loop_static_start GOMP_loop_ull_static_start: Static, false;
    GOMP_loop_dynamic_start GOMP_loop_ull_dynamic_start: Dynamic, false;
    GOMP_loop_guided_start GOMP_loop_ull_guided_start: Guided, false;
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_start: Dynamic, false;
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_start: Guided, false;
    GOMP_loop_ordered_static_start GOMP_loop_ull_ordered_static_start: Static, true;
    GOMP_loop_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_start: Dynamic, true;
    GOMP_loop_ordered_guided_start GOMP_loop_ull_ordered_guided_start: Guided, true;
}

macro_rules! runtime_starts {
    ($($signed:ident $unsigned:ident: $ordered:literal;)*) => { entries! { $(
        $signed(first: c_long, last: c_long, step: c_long, from: *mut u64, to: *mut u64) -> bool, reg "r9":
            |inside, pc| { start(&inside, settings::schedule(), signed(first, last, step), $ordered, from, to, pc) }
        $unsigned(up: bool, first: u64, last: u64, step: u64, from: *mut u64, to: *mut u64) -> bool, stack 0:
            |inside, pc| { start(&inside, settings::schedule(), unsigned(up, first, last, step), $ordered, from, to, pc) }
    )* } };
}

runtime_starts! {
    GOMP_loop_runtime_start GOMP_loop_ull_runtime_start: false;
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_start: false;
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_start: false;
    GOMP_loop_ordered_runtime_start GOMP_loop_ull_ordered_runtime_start: true;
}

macro_rules! general_starts {
    ($($signed:ident $unsigned:ident: $ordered:literal;)*) => { entries! { $(
        $signed(first: c_long, last: c_long, step: c_long, kind: c_long, piece: c_long, from: *mut u64, to: *mut u64,
            reductions: *mut usize, memory: *mut *mut c_void) -> bool, stack 3: |inside, pc| {
            if !reductions.is_null() { refuse("a reduction of tasks in a loop (GOMP_loop_start)") }
            let how = schedule(kind, piece as u64);
            let some = start(&inside, how, signed(first, last, step), $ordered, from, to, pc);
            shared_memory(&inside, memory, pc);
            some
        }
        $unsigned(up: bool, first: u64, last: u64, step: u64, kind: c_long, piece: u64, from: *mut u64, to: *mut u64,
            reductions: *mut usize, memory: *mut *mut c_void) -> bool, stack 4: |inside, pc| {
            if !reductions.is_null() { refuse("a reduction of tasks in a loop (GOMP_loop_ull_start)") }
            let how = schedule(kind, piece);
            let some = start(&inside, how, unsigned(up, first, last, step), $ordered, from, to, pc);
            shared_memory(&inside, memory, pc);
            some
        }
    )* } };
}

general_starts! {
    GOMP_loop_start GOMP_loop_ull_start: false;
    GOMP_loop_ordered_start GOMP_loop_ull_ordered_start: true;
}

macro_rules! nexts {
    ($($name:ident)*) => { entries! { $(
        $name(from: *mut u64, to: *mut u64) -> bool, reg "rdx":
            |inside, pc| { share::next_into(&inside, &member(&inside), from, to, pc) }
    )* } };
}

nexts! {
    GOMP_loop_static_next GOMP_loop_ull_static_next
    GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_next
    GOMP_loop_guided_next GOMP_loop_ull_guided_next
    GOMP_loop_runtime_next GOMP_loop_ull_runtime_next
    GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_maybe_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_next GOMP_loop_ull_ordered_static_next
    GOMP_loop_ordered_dynamic_next GOMP_loop_ull_ordered_dynamic_next
    GOMP_loop_ordered_guided_next GOMP_loop_ull_ordered_guided_next
    GOMP_loop_ordered_runtime_next GOMP_loop_ull_ordered_runtime_next
}

macro_rules! whole_regions {
    ($($name:ident: $kind:ident;)*) => { entries! { $(
        $name(function: Outlined, argument: *mut c_void, threads: c_uint, first: c_long, last: c_long, step: c_long,
            piece: c_long, _flags: c_uint) -> (), stack 2: |inside, pc| {
            let share = || Some(Share::new(Kind::$kind, signed(first, last, step), piece as u64, false));
            team::parallel(&inside, function, argument, threads, share, pc);
        }
    )* } };
}

whole_regions! {
    GOMP_parallel_loop_static: Static;
    GOMP_parallel_loop_dynamic: Dynamic;
    GOMP_parallel_loop_guided: Guided;
    GOMP_parallel_loop_nonmonotonic_dynamic: Dynamic;
    GOMP_parallel_loop_nonmonotonic_guided: Guided;
}

macro_rules! whole_runtime_regions {
    ($($name:ident)*) => { entries! { $(
        $name(function: Outlined, argument: *mut c_void, threads: c_uint, first: c_long, last: c_long, step: c_long,
            _flags: c_uint) -> (), stack 1: |inside, pc| {
            let (kind, piece) = settings::schedule();
            let share = || Some(Share::new(kind, signed(first, last, step), piece, false));
            team::parallel(&inside, function, argument, threads, share, pc);
        }
    )* } };
}

whole_runtime_regions! {
    GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_runtime GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

macro_rules! waiting_starts {
    ($($signed:ident $unsigned:ident: $kind:ident;)*) => { entries! { $(
        $signed(depth: c_uint, counts: *const u64, piece: c_long, from: *mut u64, to: *mut u64) -> bool, reg "r9":
            |inside, pc| { doacross::start(&inside, depth, counts, (Kind::$kind, piece as u64), from, to, pc) }
        $unsigned(depth: c_uint, counts: *const u64, piece: u64, from: *mut u64, to: *mut u64) -> bool, reg "r9":
            |inside, pc| { doacross::start(&inside, depth, counts, (Kind::$kind, piece), from, to, pc) }
    )* } };
}

waiting_starts! {
    GOMP_loop_doacross_static_start GOMP_loop_ull_doacross_static_start: Static;
    GOMP_loop_doacross_dynamic_start GOMP_loop_ull_doacross_dynamic_start: Dynamic;
    GOMP_loop_doacross_guided_start GOMP_loop_ull_doacross_guided_start: Guided;
}

macro_rules! more_waiting_starts {
    ($($runtime:ident $general:ident;)*) => { entries! { $(
        $runtime(depth: c_uint, counts: *const u64, from: *mut u64, to: *mut u64) -> bool, reg "r8":
            |inside, pc| { doacross::start(&inside, depth, counts, settings::schedule(), from, to, pc) }
        $general(depth: c_uint, counts: *const u64, kind: c_long, piece: c_long, from: *mut u64, to: *mut u64,
            reductions: *mut usize, memory: *mut *mut c_void) -> bool, stack 2: |inside, pc| {
            if !reductions.is_null() { refuse("a reduction of tasks in a loop (GOMP_loop_doacross_start)") }
            let some = doacross::start(&inside, depth, counts, schedule(kind, piece as u64), from, to, pc);
            shared_memory(&inside, memory, pc);
            some
        }
    )* } };
}

more_waiting_starts! {
    GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start;
    GOMP_loop_ull_doacross_runtime_start GOMP_loop_ull_doacross_start;
}

fn end(inside: &RuntimeGuard, waits: bool, pc: usize) {
    let member = member(inside);
    share::end(inside, &member, pc);
    if waits {
        barrier::pass(inside, &member, pc);
    }
}

entries! {
    GOMP_loop_end() -> (), reg "rdi": |inside, pc| { end(&inside, true, pc); }
    GOMP_loop_end_nowait() -> (), reg "rdi": |inside, pc| { end(&inside, false, pc); }
    GOMP_loop_end_cancel() -> bool, reg "rdi": |inside, pc| {
        end(&inside, true, pc);
        false
    }
    GOMP_ordered_start() -> (), reg "rdi": |inside, pc| { share::begin_ordered(&inside, &member(&inside), pc); }
    GOMP_ordered_end() -> (), reg "rdi": |inside, pc| {}
    GOMP_scope_start(reductions: *mut usize) -> (), reg "rsi": |inside, pc| {
        if !reductions.is_null() { refuse("a reduction of tasks in a scope (GOMP_scope_start)") }
    }
}
