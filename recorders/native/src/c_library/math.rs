//! Functions of `libm` that leave a part of their result where the caller says.

use super::library::before_writes;
use crate::platform::real;
use crate::runtime::accesses::{enter, writes};
use core::arch::asm;
use libc::{c_int, c_void};

library! {
    frexp(value: f64, exponent: *mut c_int) -> f64, "rsi": quick {} (fraction, pc) { writes(exponent, size_of::<c_int>(), pc); }
    frexpf(value: f32, exponent: *mut c_int) -> f32, "rsi": quick {} (fraction, pc) { writes(exponent, size_of::<c_int>(), pc); }
    modf(value: f64, whole: *mut f64) -> f64, "rsi": quick {} (fraction, pc) { writes(whole, size_of::<f64>(), pc); }
    modff(value: f32, whole: *mut f32) -> f32, "rsi": quick {} (fraction, pc) { writes(whole, size_of::<f32>(), pc); }
    lgamma_r(value: f64, sign: *mut c_int) -> f64, "rsi": quick {} (result, pc) { writes(sign, size_of::<c_int>(), pc); }
    lgammaf_r(value: f32, sign: *mut c_int) -> f32, "rsi": quick {} (result, pc) { writes(sign, size_of::<c_int>(), pc); }
    // Of what has no remainder, nothing is written.
    remquo(value: f64, by: f64, quotient: *mut c_int) -> f64, "rsi": quick {} (rest, pc) {
        if !rest.is_nan() { writes(quotient, size_of::<c_int>(), pc); }
    }
    remquof(value: f32, by: f32, quotient: *mut c_int) -> f32, "rsi": quick {} (rest, pc) {
        if !rest.is_nan() { writes(quotient, size_of::<c_int>(), pc); }
    }
    sincos(angle: f64, sine: *mut f64, cosine: *mut f64) -> (), "rdx": quick {} (nothing, pc) {
        writes(sine, size_of::<f64>(), pc);
        writes(cosine, size_of::<f64>(), pc);
    }
    sincosf(angle: f32, sine: *mut f32, cosine: *mut f32) -> (), "rdx": quick {} (nothing, pc) {
        writes(sine, size_of::<f32>(), pc);
        writes(cosine, size_of::<f32>(), pc);
    }
}

/// A `long double`.
#[repr(C, align(16))]
struct Long {
    digits: u64,
    exponent: u16,
}

/// Bytes of it that mean something: the rest belongs to nobody.
const DIGITS: usize = size_of::<u64>() + size_of::<u16>();

impl Long {
    fn is_nan(&self) -> bool {
        self.exponent & 0x7fff == 0x7fff && self.digits << 1 != 0
    }
}

/// Calls a function that takes one number or two, which lie there, and two pointers, or one.
///
/// # Safety
/// The function and the arguments of a call of it.
unsafe fn call(function: *mut c_void, pointers: [*mut c_void; 2], numbers: *const Long, result: Option<&mut Long>) {
    macro_rules! with_copied_numbers {
        ($($then:literal, $($operand:tt)*)?) => {
            // SAFETY: promised by the caller. Behind one number, too, the stack goes on.
            unsafe {
                asm!(
                    "sub rsp, 32",
                    "movups xmm0, [r13]",
                    "movups [rsp], xmm0",
                    "movups xmm0, [r13 + 16]",
                    "movups [rsp + 16], xmm0",
                    "call rax",
                    "add rsp, 32",
                    $($then,)?
                    in("rdi") pointers[0],
                    in("rsi") pointers[1],
                    in("rax") function,
                    in("r13") numbers,
                    $($($operand)*)?
                    clobber_abi("C"),
                )
            }
        };
    }
    match result {
        Some(result) => with_copied_numbers!("fstp tbyte ptr [r12]", in("r12") result,),
        None => with_copied_numbers!(),
    }
}

/// Exports functions of `long double`, which come on the stack and go on that of the coprocessor.
macro_rules! long_doubles {
    ($($name:ident($first:ident, $second:ident) -> $result:ident ($to:ident, $pc:ident) { $($after:tt)* })*) => { $(
        mod $name {
            use super::*;
            use core::ffi::CStr;
            use core::ptr;
            use core::sync::atomic::AtomicPtr;

            pub unsafe extern "C-unwind" fn body(
                $first: *mut c_void,
                $second: *mut c_void,
                numbers: *const Long,
                $pc: usize,
                $to: *mut Long,
            ) {
                static SLOT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
                let function = real::resolve(&SLOT, NAME);
                // SAFETY: the program's own arguments, for the function that it called.
                unsafe {
                    let inside = enter($pc);
                    if inside.is_some() {
                        before_writes($pc, [Some($first as usize)]);
                    }
                    call(function, [$first, $second], numbers, long_doubles!(@to $result $to));
                    if inside.is_some() {
                        $($after)*
                    }
                }
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    // Keeps the stack aligned; the result goes there.
                    "sub rsp, 24",
                    "mov rcx, qword ptr [rsp + 24]",
                    "lea rdx, [rsp + 32]",
                    "mov r8, rsp",
                    "call {body}",
                    long_doubles!(@load $result),
                    "add rsp, 24",
                    "ret",
                    body = sym body,
                )
            }
        }
    )* };
    (@to nothing $to:ident) => { None };
    (@to $result:ident $to:ident) => { Some(&mut *$to) };
    (@load nothing) => { "" };
    (@load $result:ident) => { "fld tbyte ptr [rsp]" };
}

long_doubles! {
    frexpl(exponent, _none) -> number (to, pc) { writes(exponent, size_of::<c_int>(), pc); }
    modfl(whole, _none) -> number (to, pc) { writes(whole, DIGITS, pc); }
    lgammal_r(sign, _none) -> number (to, pc) { writes(sign, size_of::<c_int>(), pc); }
    remquol(quotient, _none) -> number (to, pc) {
        if !(*to).is_nan() { writes(quotient, size_of::<c_int>(), pc); }
    }
    sincosl(sine, cosine) -> nothing (_to, pc) {
        writes(sine, DIGITS, pc);
        writes(cosine, DIGITS, pc);
    }
}
