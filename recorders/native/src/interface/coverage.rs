//! What `-fsanitize-coverage` calls. An instrumented comparison is announced with its operands, before the branch that
//! depends on it: which variables a program compares with each other tells which may stand for the same. A few
//! comparisons at each place of the code tell that. Nothing is done with the rest.

use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::{MarkClass, Record};

/// Comparisons that are recorded of one place.
const MOST: u8 = 8;

/// How many have been, by the place. Places that share a number share the count, so that some are not recorded.
static RECORDED: [AtomicU8; 1 << 14] = [const { AtomicU8::new(0) }; 1 << 14];

fn compared(one: u64, other: u64, pc: usize) {
    // The high bits of a product depend on all bits of the place.
    let number = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 14);
    let recorded = &RECORDED[number as usize];
    if recorded.load(Relaxed) >= MOST {
        return;
    }
    recorded.fetch_add(1, Relaxed);
    if let Some(_inside) = RuntimeGuard::enter_and_stay() {
        pending::push(Record::Mark {
            class: MarkClass::Compared,
            addr: one,
            size: other,
        });
    }
}

macro_rules! compares {
    ($($name:ident($of:ty) = $inner:ident;)*) => {
        $(
            unsafe extern "C-unwind" fn $inner(one: $of, other: $of, pc: usize) {
                compared(u64::from(one), u64::from(other), pc);
            }
        )*
        export! { $($name = $inner, "rdx";)* }
    };
}

compares! {
    __sanitizer_cov_trace_cmp1(u8) = compared_1;
    __sanitizer_cov_trace_cmp2(u16) = compared_2;
    __sanitizer_cov_trace_cmp4(u32) = compared_4;
    __sanitizer_cov_trace_cmp8(u64) = compared_8;
}

macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {}
    )* };
}

nothing! {
    __sanitizer_cov_trace_cmp __sanitizer_cov_trace_const_cmp1 __sanitizer_cov_trace_const_cmp2
    __sanitizer_cov_trace_const_cmp4 __sanitizer_cov_trace_const_cmp8 __sanitizer_cov_trace_cmpf
    __sanitizer_cov_trace_cmpd __sanitizer_cov_trace_switch __sanitizer_cov_trace_div4 __sanitizer_cov_trace_div8
    __sanitizer_cov_trace_gep __sanitizer_cov_trace_pc __sanitizer_cov_trace_pc_guard
    __sanitizer_cov_trace_pc_guard_init __sanitizer_cov_trace_pc_indir __sanitizer_cov_8bit_counters_init
    __sanitizer_cov_bool_flag_init __sanitizer_cov_pcs_init __sanitizer_cov_dump __sanitizer_cov_reset
    __sanitizer_cov_load1 __sanitizer_cov_load2 __sanitizer_cov_load4 __sanitizer_cov_load8 __sanitizer_cov_load16
    __sanitizer_cov_store1 __sanitizer_cov_store2 __sanitizer_cov_store4 __sanitizer_cov_store8 __sanitizer_cov_store16
    __sanitizer_dump_coverage __sanitizer_dump_trace_pc_guard_coverage
}
