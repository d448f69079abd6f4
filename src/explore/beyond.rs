//! What a program may do that no run of it shows, by the functions that it takes from libraries.
//!
//! A thread's history is what is recorded of it. A function of a library that is not instrumented may keep something
//! that another thread's call left there (`getenv`, `localtime`, a file's position), and then what it returns depends on
//! more than that. So *exhausted* is said only of programs that call nothing but what is listed here: functions that
//! the recorder takes the place of, and those that keep nothing from one call to the next but what they were given, or
//! what only goes out.

use crate::forest::Reservation;
use crate::symbols::{LeftOut, UnrecordedCalls, imports, system_calls, uninstrumented};
use trace_format::{ObjectInfo, ObjectKind, Tables};

/// What installs handlers of signals, or has the kernel send some later.
const SIGNALS: [&str; 15] = [
    "alarm",
    "bsd_signal",
    "pthread_kill",
    "setitimer",
    "sigaction",
    "sigaltstack",
    "sighold",
    "signal",
    "sigset",
    "sigtimedwait",
    "sigvec",
    "sigwait",
    "sigwaitinfo",
    "sysv_signal",
    "timer_create",
];

/// What keeps threads apart without a word to anyone.
const INVISIBLE_BARRIER: &str = "tsan_testonly_barrier_wait";

/// What asks for the time.
const CLOCKS: [&str; 7] = [
    "ZNSt6chrono3_V212steady_clock3now",
    "ZNSt6chrono3_V212system_clock3now",
    "clock_getres",
    "clock_gettime",
    "gettimeofday",
    "time",
    "timespec_get",
];

/// What starts other processes.
const PROCESSES: [&str; 8] = [
    "clone",
    "daemon",
    "fork",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "vfork",
];

/// Functions of known families that are not recorded, or depend on what other threads called: by the beginning of the
/// name.
const NOT_OF_FAMILIES: [&str; 5] = [
    "ZNSo5seekp",
    "ZNSo5tellp",
    "ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmRKS4_mm",
    "sem_open",
    "sem_unlink",
];

/// Families that are recorded, or keep nothing: by the beginning of the name.
const FAMILIES: [&str; 54] = [
    "AnnotateHappens",
    "AnnotateRWLock",
    "GOMP_",
    "ITM_",
    "Unwind_",
    "VERIFIER_",
    "ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE",
    "ZNKSt8__detail20_Prime_rehash_policy",
    "ZNSaIcE",
    "ZNSo",
    "ZNSt18condition_variable",
    "ZNSt6thread",
    "ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE",
    "ZNSt8__detail15_List_node_base",
    "ZNSt8ios_base4Init",
    "ZSt16__ostream_insert",
    "ZSt16__throw",
    "ZSt17__throw",
    "ZSt18_Rb_tree_",
    "ZSt18__throw",
    "ZSt19__throw",
    "ZSt20__throw",
    "ZSt21__throw",
    "ZSt22__throw",
    "ZSt23__throw",
    "ZSt24__throw",
    "ZSt25__throw",
    "ZSt28_Rb_tree_",
    "ZSt28__throw",
    "ZSt29_Rb_tree_",
    "ZSt4cerr",
    "ZSt4cout",
    "ZSt4endl",
    "ZSt9terminate",
    "ZStls",
    "ZTI",
    "ZTS",
    "ZTV",
    "ZdaPv",
    "ZdlPv",
    "Zna",
    "Znw",
    "call_once",
    "cnd_",
    "cxa_",
    "gxx_personality",
    "libc_start_main",
    "memcpy",
    "memmove",
    "mtx_",
    "omp_get_thread_num",
    "sem_",
    "thrd_",
    "tsan_",
];

/// Single functions of the kind.
const FUNCTIONS: [&str; 129] = [
    // What inline assembly is recorded by (`src/assembly`).
    "AnnotateNoOp",
    "abort",
    "abs",
    "aligned_alloc",
    "assert_fail",
    "assert_perror_fail",
    "atoi",
    "atol",
    "bsearch",
    "calloc",
    "clock_nanosleep",
    "ctype_b_loc",
    "cxa_finalize",
    "errno_location",
    "exit",
    "fflush",
    "fprintf",
    "fprintf_chk",
    "fputc",
    "fputs",
    "free",
    "fwrite",
    "gmon_start__",
    "isoc99_sscanf",
    "labs",
    "llabs",
    "malloc",
    "mallopt",
    "memalign",
    "memchr",
    "memcmp",
    "memset",
    "memset_chk",
    "nanosleep",
    "perror",
    "posix_memalign",
    "printf",
    "printf_chk",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_attr_setstacksize",
    "pthread_barrier_destroy",
    "pthread_barrier_init",
    "pthread_barrier_wait",
    "pthread_barrierattr_destroy",
    "pthread_barrierattr_init",
    "pthread_barrierattr_setpshared",
    "pthread_clockjoin_np",
    "pthread_cond_broadcast",
    "pthread_cond_clockwait",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_cond_signal",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_condattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_create",
    "pthread_detach",
    "pthread_equal",
    "pthread_exit",
    "pthread_getspecific",
    "pthread_join",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutex_clocklock",
    "pthread_mutex_destroy",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_settype",
    "pthread_once",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_clockwrlock",
    "pthread_rwlock_destroy",
    "pthread_rwlock_init",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlockattr_destroy",
    "pthread_rwlockattr_init",
    "pthread_self",
    "pthread_setspecific",
    "pthread_spin_destroy",
    "pthread_spin_init",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "pthread_timedjoin_np",
    "pthread_tryjoin_np",
    "putchar",
    "puts",
    "realloc",
    "sched_yield",
    "sleep",
    "snprintf",
    "snprintf_chk",
    "sprintf",
    "sprintf_chk",
    "stack_chk_fail",
    "stderr",
    "stdout",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strncpy",
    "strtol",
    "strtoul",
    "usleep",
    "vfprintf",
    "vfprintf_chk",
    "vprintf",
    "vprintf_chk",
    "vsnprintf",
    "vsnprintf_chk",
    "vsprintf",
    "vsprintf_chk",
];

/// Functions of `libm`, without the letter for their type at the end. What they return follows from their arguments and
/// the calling thread's own rounding mode; they change nothing but its `errno` and its floating-point flags, and what they
/// store through a pointer is recorded (`modf`, `frexp`, `sincos`). Not here is what stores a result in a variable of all
/// threads (`lgamma`).
const MATHEMATICS: [&str; 62] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "finite",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "fpclassify",
    "frexp",
    "hypot",
    "ilogb",
    "isinf",
    "isnan",
    "ldexp",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "roundeven",
    "scalbln",
    "scalbn",
    "signbit",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

/// Those that look at or change a thread's floating-point flags or its rounding mode, in no memory of the program's.
const FLOATING_POINT: [&str; 5] = [
    "feclearexcept",
    "fegetround",
    "feraiseexcept",
    "fesetround",
    "fetestexcept",
];

/// The system calls that a program may make by itself and that are recorded: `futex` and `futex_waitv`.
const SYSTEM_CALLS: [u32; 2] = [202, 449];

/// With so many permits at first, a semaphore may come to its greatest value: no run posts it so often.
const MANY_PERMITS: u32 = 1 << 30;

/// How many names are told.
const TOLD: usize = 5;

/// What no run of a program shows.
pub fn beyond(tables: &Tables) -> Vec<Reservation> {
    let mut all = Vec::new();
    if UnrecordedCalls::of(tables).may_synchronize() {
        all.push(Reservation::Unrecorded);
    }
    let Some(taken) = imports(tables) else {
        all.push(Reservation::Libraries("a module that cannot be read".to_owned()));
        return all;
    };
    let is = |names: &[&str], name: &String| names.contains(&name.as_str());
    if taken.iter().any(|name| is(&SIGNALS, name)) {
        all.push(Reservation::Signals);
    }
    if taken.contains(INVISIBLE_BARRIER) {
        all.push(Reservation::InvisibleBarrier);
    }
    if taken.iter().any(|name| is(&PROCESSES, name)) {
        all.push(Reservation::Processes);
    }
    if taken.iter().any(|name| is(&CLOCKS, name)) {
        all.push(Reservation::Clocks);
    }
    let begins = |families: &[&str], name: &String| families.iter().any(|family| name.starts_with(family));
    let knows_call = |number: u32| SYSTEM_CALLS.contains(&number);
    let knows_calls = || system_calls(tables).is_some_and(|numbers| numbers.into_iter().all(knows_call));
    let known = |name: &&String| {
        is(&SIGNALS, name)
            || *name == "syscall" && knows_calls()
            || is(&CLOCKS, name)
            || is(&PROCESSES, name)
            || is(&FUNCTIONS, name)
            || is_of_libm(name)
            || begins(&FAMILIES, name) && !begins(&NOT_OF_FAMILIES, name)
    };
    let unknown: Vec<&str> = taken.iter().filter(|name| !known(name)).map(String::as_str).collect();
    if !unknown.is_empty() {
        tracing::debug!(?unknown, "functions of libraries");
        all.push(Reservation::Libraries(first_of(&unknown)));
    }
    let may_be_full = |object: &ObjectInfo| object.kind == ObjectKind::Semaphore && object.initial >= MANY_PERMITS;
    if tables.objects.iter().any(may_be_full) {
        all.push(Reservation::FullSemaphore);
    }
    let parts = uninstrumented(tables).unwrap_or_default();
    if !parts.is_empty() {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        all.push(Reservation::Uninstrumented(first_of(&parts)));
    }
    let left_out = LeftOut::of(tables).unwrap_or_default();
    let mut add = |names: Vec<String>, reservation: fn(String) -> Reservation| {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            all.push(reservation(first_of(&names)));
        }
    };
    add(left_out.by_value, Reservation::ByValue);
    add(left_out.read_by_libraries, Reservation::ReadByLibraries);
    add(left_out.instructions, Reservation::Instructions);
    all
}

/// The first few names, and how many more there are.
fn first_of(names: &[&str]) -> String {
    let told = names[..names.len().min(TOLD)].join(", ");
    match names.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// Whether this is a function of `libm` that depends on its caller alone, of whichever floating-point type.
fn is_of_libm(name: &str) -> bool {
    let of_double = name.strip_suffix(['f', 'l']).unwrap_or(name);
    FLOATING_POINT.contains(&name) || MATHEMATICS.contains(&name) || MATHEMATICS.contains(&of_double)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libm_are_known_for_each_type_unless_they_leave_something_to_all_threads() {
        for name in [
            "sin",
            "sinf",
            "sinl",
            "erf",
            "ceilf",
            "atan2l",
            "fpclassifyf",
            "fesetround",
            "modf",
            "modff",
            "frexpl",
            "sincos",
        ] {
            assert!(is_of_libm(name), "{name}");
        }
        for name in ["lgamma", "lgammaf", "fesetroundf", "sinff", "s", ""] {
            assert!(!is_of_libm(name), "{name}");
        }
    }

    #[test]
    fn lists_are_in_order_and_have_each_name_once() {
        for names in [
            &FUNCTIONS[..],
            &MATHEMATICS,
            &FLOATING_POINT,
            &SIGNALS,
            &FAMILIES,
            &NOT_OF_FAMILIES,
        ] {
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        }
    }
}
