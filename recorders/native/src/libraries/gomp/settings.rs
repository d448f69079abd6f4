//! What a program asks OpenMP about its threads, and what it sets. At first, all is as libgomp has it from the
//! environment.

use super::ask_member;
use super::share::Kind;
use super::team::Member;
use crate::platform::real;
use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;

/// Not asked for yet.
const UNKNOWN: i32 = i32::MIN;

static THREADS: AtomicI32 = AtomicI32::new(UNKNOWN);
static MOST_LEVELS: AtomicI32 = AtomicI32::new(UNKNOWN);
static SCHEDULE: AtomicI32 = AtomicI32::new(UNKNOWN);
static PIECE: AtomicI32 = AtomicI32::new(0);
static DYNAMIC: AtomicI32 = AtomicI32::new(UNKNOWN);

/// What libgomp answers; `otherwise` if it is not there.
fn ask(name: &CStr, otherwise: c_int) -> c_int {
    let function = real::find(name);
    if function.is_null() {
        return otherwise;
    }
    // SAFETY: libgomp's functions that are asked here have this signature.
    unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(function)() }
}

fn get(setting: &AtomicI32, name: &CStr, otherwise: c_int) -> c_int {
    let known = setting.load(Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let value = ask(name, otherwise);
    setting.store(value, Relaxed);
    value
}

/// How many threads a region gets if nobody says otherwise.
pub fn initial_threads() -> usize {
    get(&THREADS, c"omp_get_max_threads", 2).max(1) as usize
}

/// How many regions with several threads there may be within each other.
pub fn max_active_levels() -> usize {
    get(&MOST_LEVELS, c"omp_get_max_active_levels", 1).max(0) as usize
}

const STATIC: i32 = 1;
const DYNAMIC_KIND: i32 = 2;
const GUIDED: i32 = 3;

fn ask_schedule() {
    if SCHEDULE.load(Relaxed) != UNKNOWN {
        return;
    }
    let (mut kind, mut piece) = (DYNAMIC_KIND, 1);
    let function = real::find(c"omp_get_schedule");
    if !function.is_null() {
        // SAFETY: libgomp's function of that name.
        unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, *mut c_int)>(function)(
                &raw mut kind,
                &raw mut piece,
            );
        }
    }
    PIECE.store(piece, Relaxed);
    SCHEDULE.store(kind, Relaxed);
}

/// The schedule of loops that leave it open, with the size of pieces.
pub fn schedule() -> (Kind, u64) {
    ask_schedule();
    let piece = PIECE.load(Relaxed).max(0) as u64;
    match SCHEDULE.load(Relaxed) & 0xffff {
        STATIC => (Kind::Static, piece),
        DYNAMIC_KIND => (Kind::Dynamic, piece),
        GUIDED => (Kind::Guided, piece),
        _ => (Kind::Static, 0),
    }
}

/// What the member answers that the calling thread is at a level of its regions.
fn ask_at_level(level: c_int, answer: impl FnOnce(&Member) -> usize) -> Option<c_int> {
    let find = |member: &Member| {
        let mut here = Some(member);
        while let Some(member) = here.filter(|member| member.team.level as c_int != level) {
            here = member.around.as_deref();
        }
        here.map(|member| answer(member) as c_int)
    };
    // A thread that came to no region is at none.
    ask_member(find).flatten()
}

/// Questions and settings that are no events: also under the name that Fortran calls them by.
macro_rules! questions {
    ($($name:ident $fortran:ident() -> $body:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            $body
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> c_int {
            $name()
        }
    )* };
}

fn number_of(answer: impl FnOnce(&Member) -> usize, otherwise: c_int) -> c_int {
    ask_member(|member| answer(member) as c_int).unwrap_or(otherwise)
}

questions! {
    omp_get_thread_num omp_get_thread_num_() -> number_of(|member| member.number, 0);
    omp_get_num_threads omp_get_num_threads_() -> number_of(|member| member.team.size, 1);
    omp_get_max_threads omp_get_max_threads_() -> number_of(|member| member.threads.get(), initial_threads() as c_int);
    omp_in_parallel omp_in_parallel_() -> number_of(|member| usize::from(member.team.active > 0), 0);
    omp_get_level omp_get_level_() -> number_of(|member| member.team.level, 0);
    omp_get_active_level omp_get_active_level_() -> number_of(|member| member.team.active, 0);
    omp_in_final omp_in_final_() -> number_of(|member| usize::from(member.task.borrow().is_final), 0);
    omp_get_cancellation omp_get_cancellation_() -> 0;
    omp_get_max_active_levels omp_get_max_active_levels_() -> max_active_levels() as c_int;
    omp_get_dynamic omp_get_dynamic_() -> get(&DYNAMIC, c"omp_get_dynamic", 0);
    omp_get_nested omp_get_nested_() -> c_int::from(max_active_levels() > 1);
}

/// The answer for a level at which the calling thread is not.
fn otherwise(level: c_int, outside: c_int) -> c_int {
    if level == 0 { outside } else { -1 }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    ask_at_level(level, |member| member.number).unwrap_or(otherwise(level, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    ask_at_level(level, |member| member.team.size).unwrap_or(otherwise(level, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_num_threads(threads: c_int) {
    let threads = threads.max(1);
    if ask_member(|member| member.threads.set(threads as usize)).is_none() {
        THREADS.store(threads, Relaxed);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_max_active_levels(levels: c_int) {
    if levels >= 0 {
        MOST_LEVELS.store(levels, Relaxed);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_nested(wanted: c_int) {
    MOST_LEVELS.store(if wanted != 0 { c_int::MAX } else { 1 }, Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_dynamic(wanted: c_int) {
    DYNAMIC.store(c_int::from(wanted != 0), Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: c_int, piece: c_int) {
    PIECE.store(piece.max(c_int::from(kind & 0xffff != STATIC)), Relaxed);
    SCHEDULE.store(kind, Relaxed);
}

/// # Safety
/// Both are variables of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule(kind: *mut c_int, piece: *mut c_int) {
    ask_schedule();
    // SAFETY: promised by the caller.
    unsafe {
        kind.write(SCHEDULE.load(Relaxed));
        piece.write(PIECE.load(Relaxed));
    }
}
