//! What `-fsanitize-coverage` calls: nothing is done with it. An instrumented comparison is announced with its
//! operands, before the branch that depends on it.

macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {}
    )* };
}

nothing! {
    __sanitizer_cov_trace_cmp __sanitizer_cov_trace_cmp1 __sanitizer_cov_trace_cmp2 __sanitizer_cov_trace_cmp4
    __sanitizer_cov_trace_cmp8 __sanitizer_cov_trace_const_cmp1 __sanitizer_cov_trace_const_cmp2
    __sanitizer_cov_trace_const_cmp4 __sanitizer_cov_trace_const_cmp8 __sanitizer_cov_trace_cmpf
    __sanitizer_cov_trace_cmpd __sanitizer_cov_trace_switch __sanitizer_cov_trace_div4 __sanitizer_cov_trace_div8
    __sanitizer_cov_trace_gep __sanitizer_cov_trace_pc __sanitizer_cov_trace_pc_guard
    __sanitizer_cov_trace_pc_guard_init __sanitizer_cov_trace_pc_indir __sanitizer_cov_8bit_counters_init
    __sanitizer_cov_bool_flag_init __sanitizer_cov_pcs_init __sanitizer_cov_dump __sanitizer_cov_reset
    __sanitizer_cov_load1 __sanitizer_cov_load2 __sanitizer_cov_load4 __sanitizer_cov_load8 __sanitizer_cov_load16
    __sanitizer_cov_store1 __sanitizer_cov_store2 __sanitizer_cov_store4 __sanitizer_cov_store8 __sanitizer_cov_store16
    __sanitizer_dump_coverage __sanitizer_dump_trace_pc_guard_coverage
}
