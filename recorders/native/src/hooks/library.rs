//! How a function of libc is watched: the call is made for the program, and the memory that libc reads
//! and writes on the way becomes accesses of the instrumented code that called it.
//!
//! Calls from code that is not instrumented go straight to libc.

use crate::futex::NOBODYS;
use crate::inside::Inside;
use crate::thread::slot;
use crate::{modules, pending, plan, real};
use libc::c_char;
use recorder_ring::Record;
use recorder_ring::plan::kind;

/// Enters for a call from instrumented code.
pub fn enter(pc: usize) -> Option<Inside> {
    if modules::is_instrumented(pc) {
        Inside::enter()
    } else {
        None
    }
}

/// Enters for a call that may wait for the outside or order threads through the kernel, whoever makes it:
/// libraries do so for the program. Their own accesses are not recorded.
pub fn enter_system(pc: usize) -> Option<Inside> {
    if modules::is_instrumented(pc) {
        return Inside::enter();
    }
    let inside = Inside::enter_and_stay()?;
    inside.await_turn();
    Some(inside)
}

/// Records a read of `len` bytes.
pub fn reads<T>(from: *const T, len: usize, pc: usize) {
    if !from.is_null() && modules::is_instrumented(pc) {
        plan::before_read(from as usize, len, pc);
        pending::read_range_now(from as usize, len, pc);
    }
}

/// Records a write of `len` bytes that is done.
pub fn writes<T>(to: *const T, len: usize, pc: usize) {
    if !to.is_null() && modules::is_instrumented(pc) {
        pending::write_range_now(to as usize, len, pc);
    }
}

/// As [`writes`], of what came from outside of the program.
pub fn arrives<T>(to: *const T, len: usize, pc: usize) {
    if !to.is_null() {
        plan::feed(to as usize, len, pc);
    }
    writes(to, len, pc);
}

/// As [`arrives`], also of what libraries ask for on their callers' behalf, say for the time, as far as it is
/// on their stack: what else they write to may be guarded by what nobody sees.
pub fn comes<T>(to: *const T, len: usize, pc: usize) {
    let here = &raw const len as usize;
    if modules::is_instrumented(pc) {
        arrives(to, len, pc);
    } else if (to as usize).wrapping_sub(here) < 1 << 16 {
        plan::feed(to as usize, len, pc);
        pending::write_range_now(to as usize, len, pc);
    }
}

/// What a call returned that came from outside of the program: recorded, and along a plan what it returned then.
pub fn returns(value: i64, pc: usize) -> i64 {
    let thread = slot();
    if !modules::is_instrumented(pc) || thread.is_null() {
        return value;
    }
    // SAFETY: a slot holds a thread, which lives for ever.
    let thread = unsafe { &*thread };
    let value = plan::returned(pc).unwrap_or(value as u64);
    pending::push(Record::Input {
        pc: pc as u64,
        // Each thread has a source of its own, so that nothing is ordered by them.
        source: NOBODYS | 1 << 62 | 1 << 61 | u64::from(thread.index.get()) << 3,
        value,
    });
    value as i64
}

/// Where the memory may begin that a call gets to write to.
pub trait Reach {
    /// Its address, if the argument is one.
    fn reach(self) -> Option<usize>;
}

impl<T> Reach for *mut T {
    fn reach(self) -> Option<usize> {
        Some(self as usize)
    }
}

macro_rules! writes_nothing {
    ($($argument:ty),*) => { $(impl Reach for $argument {
        fn reach(self) -> Option<usize> {
            None
        }
    })* };
}
writes_nothing!(i32, u32, i64, u64, isize, usize);

impl<T> Reach for *const T {
    fn reach(self) -> Option<usize> {
        None
    }
}

/// Along a plan, parks the thread if it is about to make a racing write in this call: into what an argument points to, however
/// much that will be.
pub fn before_writes<const N: usize>(pc: usize, arguments: [Option<usize>; N]) {
    /// More than any call writes that races in practice.
    const MOST: usize = 1 << 30;
    if plan::is_followed() {
        let ranges = arguments.map(|addr| addr.map_or((0, 0), |addr| (addr, MOST)));
        plan::before_call(pc, &[kind::WRITE], &ranges);
    }
}

/// Records a read of a string with its end.
///
/// # Safety
/// `text` is null or a string.
pub unsafe fn reads_text(text: *const c_char, pc: usize) {
    if !text.is_null() {
        // SAFETY: promised by the caller.
        reads(text, unsafe { length(text) } + 1, pc);
    }
}

/// Records a write of a string with its end.
///
/// # Safety
/// `text` is null or a string.
pub unsafe fn writes_text(text: *const c_char, pc: usize) {
    if !text.is_null() {
        // SAFETY: promised by the caller.
        writes(text, unsafe { length(text) } + 1, pc);
    }
}

/// The length of a string.
///
/// # Safety
/// `text` is a string.
pub unsafe fn length(text: *const c_char) -> usize {
    // SAFETY: promised by the caller.
    unsafe { real::strlen(text) }
}

/// Exports functions of libc that are watched:
///
/// `name(arguments) -> result, "register": how { before } (result) { after }`
///
/// The register is the first that the arguments leave free. `quick` calls run inside the runtime;
/// `slow` ones may sleep, allocate or call back, so they run as a part of the program; `away` ones are
/// expected to sleep, and give the baton away; `(input file)` and `(output file)` ones do so if the
/// file is not ready, and `(waiting limit)` ones unless the limit is 0; `(patient attempt object)` ones try without waiting, until others have
/// operated on the object (both are what `before` calls so); these, and `system` ones, which are as
/// `slow`, are watched whoever calls. With a `file`, the call uses that descriptor; `(closes file)` closes it. `before` and `after` see the arguments, and `pc`, and record accesses.
macro_rules! library {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $register:literal:
        $how:tt { $($before:tt)* } ($out:ident, $pc:ident) { $($after:tt)* })*) => {
        $(
            mod $name {
                use super::*;

                $crate::real::real! {
                    fn $name($($argument: $type),*) -> $result;
                }

                pub unsafe extern "C-unwind" fn body($($argument: $type,)* $pc: usize) -> $result {
                    // SAFETY: the program's own arguments, for the function that it called.
                    unsafe {
                        let inside = library!(@enter $how $pc);
                        let Some(inside) = inside else {
                            return $name($($argument),*);
                        };
                        $($before)*
                        $crate::hooks::library::before_writes($pc, [$($crate::hooks::library::Reach::reach($argument)),*]);
                        #[allow(unused_mut, reason = "few functions return something else than libc did")]
                        let mut $out = library!(@$how inside, $name($($argument),*));
                        let errno = $crate::inside::save_errno();
                        $($after)*
                        $crate::inside::restore_errno(errno);
                        $out
                    }
                }
            }
        )*
        $crate::export::export! { $($name = $name::body, $register;)* }
    };
    (@enter quick $pc:ident) => { $crate::hooks::library::enter($pc) };
    (@enter slow $pc:ident) => { $crate::hooks::library::enter($pc) };
    (@enter away $pc:ident) => { $crate::hooks::library::enter($pc) };
    (@enter (closes $file:ident) $pc:ident) => { $crate::channels::descriptor::enter_to_close($file, $pc) };
    (@enter (slow $file:ident) $pc:ident) => { $crate::channels::descriptor::enter_program($file, $pc) };
    (@enter (waiting $limit:ident) $pc:ident) => { $crate::hooks::library::enter_system($pc) };
    (@enter (patient $attempt:ident $object:ident) $pc:ident) => { $crate::hooks::library::enter_system($pc) };
    (@enter ($how:tt $file:ident) $pc:ident) => { $crate::channels::descriptor::enter($file, $pc) };
    (@enter $how:tt $pc:ident) => { $crate::hooks::library::enter_system($pc) };
    (@quick $inside:ident, $call:expr) => {{
        let result = $call;
        let _ = &$inside;
        result
    }};
    (@slow $inside:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@system $inside:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@away $inside:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(away) $inside:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(closes $file:ident) $inside:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(slow $file:ident) $inside:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(system $file:ident) $inside:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(away $file:ident) $inside:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(patient $attempt:ident $object:ident) $inside:ident, $call:expr) => {
        $crate::channels::shared::patiently(&$inside, $object, $attempt, || $call)
    };
    (@(waiting $limit:ident) $inside:ident, $call:expr) => {
        if $limit == 0 {
            $inside.in_program(|| $call)
        } else {
            $inside.outside(|| $call)
        }
    };
    (@(input $file:ident) $inside:ident, $call:expr) => {
        $crate::blocking::when_ready(&$inside, $file, libc::POLLIN, || $call)
    };
    (@(output $file:ident) $inside:ident, $call:expr) => {
        $crate::blocking::when_ready(&$inside, $file, libc::POLLOUT, || $call)
    };
}
