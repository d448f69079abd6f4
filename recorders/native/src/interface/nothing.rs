//! Functions that change nothing for a recorder, and answer 0.

macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> usize {
            0
        }
    )* };
}

nothing! {
    __tsan_flush_memory
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __tsan_symbolize_external __tsan_symbolize_external_ex
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateEnableRaceDetection
    AnnotateExpectRace
    AnnotateFlushExpectedRaces AnnotateFlushState
    AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar
    AnnotateNewMemory AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange
    AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized AnnotateTraceMemory
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut AnnotatePCQGet
    RunningOnValgrind ThreadSanitizerQuery
    __sanitizer_set_death_callback __sanitizer_set_report_path __sanitizer_set_report_fd
    __sanitizer_print_stack_trace __sanitizer_print_memory_profile __sanitizer_report_error_summary
    __sanitizer_sandbox_on_notify __sanitizer_on_print
    __sanitizer_install_malloc_and_free_hooks __sanitizer_malloc_hook __sanitizer_free_hook
    __sanitizer_get_current_allocated_bytes __sanitizer_get_heap_size __sanitizer_get_free_bytes
    __sanitizer_get_unmapped_bytes
    __sanitizer_weak_hook_memcmp __sanitizer_weak_hook_memmem __sanitizer_weak_hook_strcasecmp
    __sanitizer_weak_hook_strcasestr __sanitizer_weak_hook_strcmp __sanitizer_weak_hook_strncasecmp
    __sanitizer_weak_hook_strncmp __sanitizer_weak_hook_strstr
}

// What a program may ask about a report, while it is made: there is none.
nothing! {
    __tsan_on_report __tsan_get_current_report __tsan_get_report_data __tsan_get_report_loc
    __tsan_get_report_loc_object_type __tsan_get_report_mop __tsan_get_report_mutex __tsan_get_report_stack
    __tsan_get_report_tag __tsan_get_report_thread __tsan_get_report_unique_tid __tsan_get_alloc_stack
    __tsan_locate_address __tsan_test_only_on_fork
    __tsan_testonly_shadow_stack_current_size __ubsan_on_report
}

macro_rules! no_text {
    ($($name:ident)*) => { $(
        /// A program that has options defines it itself.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> *const libc::c_char {
            c"".as_ptr()
        }
    )* };
}

no_text! {
    __tsan_default_options __tsan_default_suppressions __sancov_default_options __ubsan_default_options
}
