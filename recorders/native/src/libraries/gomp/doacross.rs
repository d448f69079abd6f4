//! Loops whose iterations wait for named earlier ones (`ordered(n)`, `depend(sink: …)`, `depend(source)`).
//!
//! Each iteration that is posted is a variable of its own; libgomp lets a thread wait for more than it asked for.

use super::member;
use super::share::{self, Bounds, Kind, Share};
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::libraries::order;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::ffi::c_uint;
use core::slice;
use recorder_ring::Waits;

/// The thread comes to such a loop, `depth` loops within each other.
///
/// # Safety
/// The arguments are the program's.
pub unsafe fn start(
    inside: &RuntimeGuard,
    depth: c_uint,
    counts: *const u64,
    (kind, piece): (Kind, u64),
    from: *mut u64,
    to: *mut u64,
    pc: usize,
) -> bool {
    // SAFETY: promised by the caller.
    let counts = unsafe { slice::from_raw_parts(counts, depth as usize) };
    let member = member(inside);
    let bounds = Bounds {
        start: 0,
        end: counts.first().copied().unwrap_or(0).into(),
        step: 1,
    };
    share::begin(&member, || {
        let mut share = Share::new(kind, bounds, piece, false);
        share.counts = counts.to_vec();
        share
    });
    // SAFETY: promised by the caller.
    from.is_null() || unsafe { share::next_into(inside, &member, from, to, pc) }
}

/// An iteration's number; `None` if there is no such one.
fn number(share: &Share, place: &[u64]) -> Option<u64> {
    let mut number = 0_u64;
    for (&at, &count) in place.iter().zip(&share.counts) {
        if at >= count {
            return None;
        }
        number = number.wrapping_mul(count).wrapping_add(at);
    }
    Some(number)
}

unsafe fn post(inside: &RuntimeGuard, place: *const u64, pc: usize) {
    let member = member(inside);
    let Some(share) = share::current(&member).filter(|_| member.team.size > 1) else {
        return;
    };
    // SAFETY: as many numbers as the loop is deep.
    let place = unsafe { slice::from_raw_parts(place, share.counts.len()) };
    if let Some(number) = number(&share, place) {
        let variable = order::variable();
        order::set(variable, pc);
        share.posts.borrow_mut().insert(number, variable);
        baton::wake(share.key(), usize::MAX);
    }
}

/// The registers and the stack of a variadic call, as its entry leaves them.
#[repr(C)]
struct Arguments {
    registers: [u64; 6],
    pc: usize,
}

unsafe extern "C-unwind" fn await_posts(arguments: *const Arguments) {
    let Some(inside) = RuntimeGuard::enter() else { return };
    let member = member(&inside);
    let Some(share) = share::current(&member).filter(|_| member.team.size > 1) else {
        return;
    };
    // SAFETY: the entry passes them; what is not in registers lies behind the return address.
    let (pc, place) = unsafe {
        let beyond = arguments.add(1).cast::<u64>();
        let word = |nth: usize| match nth {
            0..6 => (*arguments).registers[nth],
            _ => *beyond.add(nth - 6),
        };
        let place: Vec<u64> = (0..share.counts.len()).map(word).collect();
        ((*arguments).pc, place)
    };
    let Some(number) = number(&share, &place) else { return };
    loop {
        let posted = share.posts.borrow().get(&number).copied();
        if let Some(variable) = posted {
            order::find_set(variable, pc);
            return;
        }
        pending::waits(inside.thread(), Waits::Turn, share.key(), pc, NEVER);
        baton::block(inside.thread(), share.key(), NEVER);
    }
}

/// Variadic: as many numbers as the loop is deep.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_wait() {
    core::arch::naked_asm!(
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "mov rdi, rsp",
        "sub rsp, 8",
        "call {body}",
        "add rsp, 56",
        "ret",
        body = sym await_posts,
    )
}

/// As [`GOMP_doacross_wait`].
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_ull_wait() {
    core::arch::naked_asm!("jmp {wait}", wait = sym GOMP_doacross_wait)
}

entries! {
    GOMP_doacross_post(place: *const u64) -> (), reg "rsi": |inside, pc| { post(&inside, place, pc); }
    GOMP_doacross_ull_post(place: *const u64) -> (), reg "rsi": |inside, pc| { post(&inside, place, pc); }
}
