//! The parts of ThreadSanitizer's interface that change nothing for a recorder: present, so that
//! every program that links against libtsan starts.

macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> usize {
            0
        }
    )* };
}

nothing! {
    __tsan_ignore_thread_begin __tsan_ignore_thread_end
    __tsan_acquire __tsan_release
    __tsan_mutex_create __tsan_mutex_pre_lock __tsan_mutex_post_unlock __tsan_mutex_pre_signal
    __tsan_mutex_post_signal
    __tsan_mutex_pre_divert __tsan_mutex_post_divert
    __tsan_get_current_fiber __tsan_create_fiber __tsan_destroy_fiber __tsan_switch_to_fiber
    __tsan_set_fiber_name __tsan_flush_memory
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __tsan_external_read __tsan_external_write
    AnnotateHappensBefore AnnotateHappensAfter AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateEnableRaceDetection
    AnnotateBenignRace AnnotateBenignRaceSized AnnotateExpectRace AnnotateFlushExpectedRaces AnnotateFlushState
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockAcquired
    AnnotateRWLockReleased AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar
    AnnotateNewMemory AnnotateNoOp AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange
    AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized AnnotateThreadName AnnotateTraceMemory
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut AnnotatePCQGet
    __sanitizer_set_death_callback __sanitizer_set_report_path __sanitizer_set_report_fd
    __sanitizer_print_stack_trace
}
