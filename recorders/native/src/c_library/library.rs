//! How a function of libc is watched: the call is made for the program, and the memory that libc reads
//! and writes on the way becomes accesses of the instrumented code that called it.
//!
//! Calls from code that is not instrumented go straight to libc.

use crate::platform::{memory, real};
use crate::runtime::accesses::{passes, reads, writes};
use crate::scheduling::plan;
use libc::c_char;
use recorder_ring::plan::kind;

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
writes_nothing!(i32, u32, i64, u64, isize, usize, f32, f64);

impl<T> Reach for *const T {
    fn reach(self) -> Option<usize> {
        None
    }
}

/// Along a plan, parks the thread if it is about to make a racing write in this call: into what an argument points to,
/// however much that will be.
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

/// As [`reads_text`], of a string that a call is about to give the kernel, if it is there.
pub fn passes_text(text: *const c_char, pc: usize) {
    if let Some(known) = memory::text(text) {
        passes(text, known.to_bytes_with_nul().len(), pc);
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

/// How many pointers a list has before the null pointer that ends it.
///
/// # Safety
/// `list` is null or such a list.
pub unsafe fn entries<T>(list: *const *mut T) -> usize {
    let mut count = 0;
    // SAFETY: promised by the caller: no pointer before was null.
    while !list.is_null() && unsafe { !(*list.add(count)).is_null() } {
        count += 1;
    }
    count
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
/// The register is the first that the arguments leave free; see `export`. `quick` calls run inside the runtime;
/// `slow` ones may sleep, allocate or call back, so they run as a part of the program; `away` ones are
/// expected to sleep, and give the baton away; `(input file)` and `(output file)` ones do so if the
/// file is not ready, unless they fail then, as `(input file flags)` and `(output file flags)` can by their flags;
/// `(input file 0 room)` and `(output file 0 room)` ones may fail at once for want of room, or if it cannot be known. What such a call writes to a channel,
/// `before` has to announce: it runs once the call need not wait for that. `(waiting limit)` ones give the baton away
/// unless the limit is 0; `(patient attempt object)` ones try without waiting, until others have operated on the object (both are what `before` calls so); these, and `system` ones, which
/// are as `slow`, are watched whoever calls. With a `file`, the call uses that descriptor; `(closes file)` closes it.
/// `(means slow path)` and `(means system path)` calls give the kernel a path, which is read, and is then the one that is
/// [meant](super::process_paths) in this run, for `before` and `after` too; `(finds system path)` ones have results that
/// stand in a plan.
/// `before` and `after` see the arguments, and `pc`, and record accesses.
macro_rules! library {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $place:tt:
        $how:tt { $($before:tt)* } ($out:ident, $pc:ident) { $($after:tt)* })*) => {
        $(
            mod $name {
                use super::*;

                $crate::platform::real::real! {
                    fn $name($($argument: $type),*) -> $result;
                }

                #[allow(clippy::too_many_arguments, reason = "those of the C function")]
                pub unsafe extern "C-unwind" fn body($($argument: $type,)* $pc: usize) -> $result {
                    // SAFETY: the program's own arguments, for the function that it called.
                    unsafe {
                        let inside = library!(@enter $how $pc);
                        let Some(inside) = inside else {
                            return $name($($argument),*);
                        };
                        library!(@meant $how $pc);
                        #[allow(unused_variables, reason = "others than those that write wait behind `before`, or never")]
                        let turn = library!(@turn_to_write $how inside);
                        $($before)*
                        $crate::c_library::library::before_writes($pc, [$($crate::c_library::library::Reach::reach($argument)),*]);
                        let before = $crate::runtime::guard::save_errno();
                        #[allow(unused_mut, reason = "few functions return something else than libc did")]
                        let mut $out = library!(@$how inside turn, $name($($argument),*));
                        let errno = $crate::runtime::guard::save_errno();
                        $($after)*
                        $crate::runtime::guard::restore_errno($crate::runtime::accesses::error_of_call(before, errno));
                        $out
                    }
                }
            }
        )*
        $crate::platform::export::export! { $($name = $name::body, $place;)* }
    };
    (@meant (means $how:tt $path:ident) $pc:ident) => {
        $crate::c_library::library::passes_text($path, $pc);
        let meant = $crate::c_library::process_paths::Meant::by($path);
        let $path = meant.path();
    };
    (@meant (finds $how:tt $path:ident) $pc:ident) => {
        $crate::c_library::library::passes_text($path, $pc);
        let meant = $crate::c_library::process_paths::Meant::found_by($path, $pc);
        let $path = meant.path();
    };
    (@meant $how:tt $pc:ident) => {};
    (@enter (means $how:tt $path:ident) $pc:ident) => { library!(@enter $how $pc) };
    (@enter (finds $how:tt $path:ident) $pc:ident) => { library!(@enter $how $pc) };
    (@enter quick $pc:ident) => { $crate::runtime::accesses::enter($pc) };
    (@enter slow $pc:ident) => { $crate::runtime::accesses::enter($pc) };
    (@enter away $pc:ident) => { $crate::runtime::accesses::enter($pc) };
    (@enter (closes $file:ident) $pc:ident) => { $crate::c_library::channels::descriptor::enter_to_close($file, $pc) };
    (@enter (slow $file:ident) $pc:ident) => { $crate::c_library::channels::descriptor::enter_program($file, $pc) };
    (@enter (waiting $limit:ident) $pc:ident) => { $crate::runtime::accesses::enter_system($pc) };
    (@enter (patient $attempt:ident $object:ident) $pc:ident) => { $crate::runtime::accesses::enter_system($pc) };
    (@turn_to_write (output $file:ident $($asked:tt)*) $inside:ident) => {
        library!(@turn POLLOUT writes $inside $file $($asked)*)
    };
    (@turn_to_write $how:tt $inside:ident) => {
        $crate::runtime::blocking::Turn::Now
    };
    (@turn $wanted:ident $on:ident $inside:ident $file:ident $($flags:tt $($room:ident)?)?) => {
        $crate::runtime::blocking::await_turn_of_call(
            &$inside,
            $crate::runtime::blocking::Asked {
                file: $file,
                wanted: libc::$wanted,
                flags: 0 $(| $flags)?,
            },
            $crate::c_library::channels::$on($file, usize::MAX $($(.min($room))?)?),
        )
    };
    (@enter ($how:tt $file:ident $flags:tt $room:ident) $pc:ident) => { $crate::c_library::channels::descriptor::enter($file, $pc) };
    (@enter ($how:tt $file:ident $flags:ident) $pc:ident) => { $crate::c_library::channels::descriptor::enter($file, $pc) };
    (@enter ($how:tt $file:ident) $pc:ident) => { $crate::c_library::channels::descriptor::enter($file, $pc) };
    (@enter $how:tt $pc:ident) => { $crate::runtime::accesses::enter_system($pc) };
    (@(means $how:tt $path:ident) $inside:ident $turn:ident, $call:expr) => { library!(@$how $inside $turn, $call) };
    (@(finds $how:tt $path:ident) $inside:ident $turn:ident, $call:expr) => { library!(@$how $inside $turn, $call) };
    (@quick $inside:ident $turn:ident, $call:expr) => {{
        let result = $call;
        let _ = &$inside;
        result
    }};
    (@slow $inside:ident $turn:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@system $inside:ident $turn:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@away $inside:ident $turn:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(away) $inside:ident $turn:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(closes $file:ident) $inside:ident $turn:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(slow $file:ident) $inside:ident $turn:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(system $file:ident) $inside:ident $turn:ident, $call:expr) => {
        $inside.in_program(|| $call)
    };
    (@(away $file:ident) $inside:ident $turn:ident, $call:expr) => {
        $inside.outside(|| $call)
    };
    (@(patient $attempt:ident $object:ident) $inside:ident $turn:ident, $call:expr) => {
        $crate::c_library::channels::shared::patiently(&$inside, $object, $attempt, || $call)
    };
    (@(waiting $limit:ident) $inside:ident $turn:ident, $call:expr) => {
        if $limit == 0 {
            $inside.in_program(|| $call)
        } else {
            $inside.outside(|| $call)
        }
    };
    (@(input $file:ident $($asked:tt)*) $inside:ident $turn:ident, $call:expr) => {{
        let turn = library!(@turn POLLIN reads $inside $file $($asked)*);
        $crate::runtime::blocking::in_turn(&$inside, turn, || $call)
    }};
    (@(output $file:ident $($asked:tt)*) $inside:ident $turn:ident, $call:expr) => {
        $crate::runtime::blocking::in_turn(&$inside, $turn, || $call)
    };
}
