//! Functions of ThreadSanitizer's runtime that make no sense in another one: they end the program with their names, or
//! say that they were called. Present, so that every program that can be linked against that runtime starts.
//!
//! Among them is what the runtime of clang brings along for `-fsanitize=undefined`.

use crate::platform::sys;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char};

macro_rules! named {
    ($handler:path: $($name:ident)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            #[used]
            static NAME: [u8; stringify!($name).len() + 1] = {
                let (mut name, text) = ([0; stringify!($name).len() + 1], stringify!($name).as_bytes());
                let mut at = 0;
                while at < text.len() {
                    name[at] = text[at];
                    at += 1;
                }
                name
            };
            naked_asm!("lea rdi, [rip + {name}]", "jmp {handler}", name = sym NAME, handler = sym $handler)
        }
    )* };
}

/// Ends the program.
unsafe extern "C" fn refuse(name: *const c_char) {
    // SAFETY: one of the names below.
    let name = unsafe { CStr::from_ptr(name) };
    sys::say(b"witness: the program calls ");
    sys::say(name.to_bytes());
    sys::die(", which only ThreadSanitizer's own runtime has\n");
}

/// The program is wrong, which is none of the recorder's business.
unsafe extern "C" fn say(name: *const c_char) {
    // SAFETY: as in `refuse`.
    let name = unsafe { CStr::from_ptr(name) };
    sys::say(b"witness: undefined behavior: ");
    sys::say(name.to_bytes());
    sys::say(b" was called; its details are known to ThreadSanitizer's own runtime only\n");
}

/// The same; and it cannot go on.
unsafe extern "C" fn say_and_abort(name: *const c_char) {
    // SAFETY: as in `refuse`.
    unsafe { say(name) };
    // SAFETY: ends the program.
    unsafe { libc::abort() };
}

named! { refuse:
    _ZN6__tsan10OnFinalizeEb _ZN6__tsan12OnInitializeEv _ZN6__tsan30OnPotentiallyBlockingRegionEndEv
    _ZN6__tsan32OnPotentiallyBlockingRegionBeginEv _ZN6__tsan8OnReportEPKNS_10ReportDescEb __asan_backtrace_alloc
    __asan_backtrace_close __asan_backtrace_create_state __asan_backtrace_dwarf_add __asan_backtrace_free
    __asan_backtrace_get_view __asan_backtrace_initialize __asan_backtrace_open __asan_backtrace_pcinfo
    __asan_backtrace_qsort __asan_backtrace_release_view __asan_backtrace_syminfo
    __asan_backtrace_syminfo_to_full_callback __asan_backtrace_syminfo_to_full_error_callback
    __asan_backtrace_uncompress_lzma __asan_backtrace_uncompress_zdebug __asan_backtrace_vector_finish
    __asan_backtrace_vector_grow __asan_backtrace_vector_release __asan_cplus_demangle_builtin_types
    __asan_cplus_demangle_fill_ctor __asan_cplus_demangle_fill_dtor __asan_cplus_demangle_fill_extended_operator
    __asan_cplus_demangle_fill_name __asan_cplus_demangle_init_info __asan_cplus_demangle_mangled_name
    __asan_cplus_demangle_operators __asan_cplus_demangle_print __asan_cplus_demangle_print_callback
    __asan_cplus_demangle_type __asan_cplus_demangle_v3 __asan_cplus_demangle_v3_callback __asan_internal_memcmp
    __asan_internal_memcpy __asan_internal_memset __asan_internal_strcmp __asan_internal_strlen
    __asan_internal_strncmp __asan_internal_strnlen __asan_is_gnu_v3_mangled_ctor __asan_is_gnu_v3_mangled_dtor
    __asan_java_demangle_v3 __asan_java_demangle_v3_callback __tsan_java_find __ubsan_get_current_report_data xdr_destroy
    _ZN7__ubsan31RegisterUndefinedBehaviorReportEPNS_23UndefinedBehaviorReportE
}

named! { say:
    __ubsan_handle_add_overflow __ubsan_handle_alignment_assumption __ubsan_handle_cfi_check_fail
    __ubsan_handle_divrem_overflow __ubsan_handle_float_cast_overflow __ubsan_handle_implicit_conversion
    __ubsan_handle_invalid_builtin __ubsan_handle_invalid_objc_cast __ubsan_handle_load_invalid_value
    __ubsan_handle_mul_overflow __ubsan_handle_negate_overflow __ubsan_handle_nonnull_arg
    __ubsan_handle_nonnull_return_v1 __ubsan_handle_nullability_arg __ubsan_handle_nullability_return_v1
    __ubsan_handle_out_of_bounds __ubsan_handle_pointer_overflow __ubsan_handle_shift_out_of_bounds
    __ubsan_handle_sub_overflow __ubsan_handle_type_mismatch_v1 __ubsan_handle_vla_bound_not_positive
}

named! { say_and_abort:
    __ubsan_handle_add_overflow_abort __ubsan_handle_alignment_assumption_abort __ubsan_handle_builtin_unreachable
    __ubsan_handle_cfi_check_fail_abort __ubsan_handle_divrem_overflow_abort
    __ubsan_handle_float_cast_overflow_abort __ubsan_handle_implicit_conversion_abort
    __ubsan_handle_invalid_builtin_abort __ubsan_handle_invalid_objc_cast_abort
    __ubsan_handle_load_invalid_value_abort __ubsan_handle_missing_return __ubsan_handle_mul_overflow_abort
    __ubsan_handle_negate_overflow_abort __ubsan_handle_nonnull_arg_abort __ubsan_handle_nonnull_return_v1_abort
    __ubsan_handle_nullability_arg_abort __ubsan_handle_nullability_return_v1_abort
    __ubsan_handle_out_of_bounds_abort __ubsan_handle_pointer_overflow_abort
    __ubsan_handle_shift_out_of_bounds_abort __ubsan_handle_sub_overflow_abort __ubsan_handle_type_mismatch_v1_abort
    __ubsan_handle_vla_bound_not_positive_abort
}
