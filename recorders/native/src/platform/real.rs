//! The functions that the runtime stands in front of.
//!
//! `dlsym(RTLD_NEXT, …)` gives each function's *default* version, which is what a program built
//! without the sanitizer would have got; a plain reference from here would come back to us.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The next definition of `name` after ours; null if there is none.
pub fn find(name: &CStr) -> *mut c_void {
    // SAFETY: `name` is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() { find_of_libm(name) } else { found }
}

/// In the library of mathematics, which a library may need that was loaded later, for itself alone.
#[cold]
fn find_of_libm(name: &CStr) -> *mut c_void {
    // SAFETY: both are C strings. A library that is loaded already runs no constructors.
    unsafe {
        let library = dlopen(c"libm.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return library;
        }
        libc::dlsym(library, name.as_ptr())
    }
}

/// The function in `slot`, looked up on its first use.
#[inline]
pub fn resolve(slot: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = slot.load(Relaxed);
    if known.is_null() {
        resolve_first(slot, name)
    } else {
        known
    }
}

#[cold]
fn resolve_first(slot: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let found = find(name);
    if found.is_null() {
        crate::platform::sys::say(b"witness: the C library lacks ");
        crate::platform::sys::say(name.to_bytes());
        crate::platform::sys::die("\n");
    }
    slot.store(found, Relaxed);
    found
}

/// Declares real functions: `fn name(arguments) -> result;`.
macro_rules! real {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => { $(
        $(#[$doc])*
        #[inline]
        #[allow(clippy::too_many_arguments, reason = "those of the C function")]
        pub unsafe fn $name($($argument: $type),*) -> $result {
            use core::ffi::{CStr, c_void};
            use core::sync::atomic::AtomicPtr;
            static SLOT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
            const NAME: &CStr =
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
            let function = $crate::platform::real::resolve(&SLOT, NAME);
            // SAFETY: the signature is the C library's; the caller keeps the function's contract.
            unsafe {
                let function: unsafe extern "C-unwind" fn($($type),*) -> $result = core::mem::transmute(function);
                function($($argument),*)
            }
        }
    )* };
}

pub(crate) use real;

use libc::{
    c_char, c_int, c_uint, c_ulong, clockid_t, nfds_t, off_t, pollfd, pthread_attr_t, pthread_barrier_t,
    pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t,
    pthread_rwlockattr_t, pthread_spinlock_t, pthread_t, sem_t, size_t, sockaddr, socklen_t, timespec,
};

/// A routine that `pthread_create` starts.
pub type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What `dl_iterate_phdr` calls.
pub type Look = unsafe extern "C-unwind" fn(*mut libc::dl_phdr_info, size_t, *mut c_void) -> c_int;

real! {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dl_iterate_phdr(look: Look, data: *mut c_void) -> c_int;
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;

    fn pthread_getattr_np(thread: pthread_t, attr: *mut pthread_attr_t) -> c_int;
    fn pthread_attr_getstack(attr: *const pthread_attr_t, address: *mut *mut c_void, size: *mut size_t) -> c_int;
    fn pthread_attr_getguardsize(attr: *const pthread_attr_t, size: *mut size_t) -> c_int;
    fn pthread_attr_getstacksize(attr: *const pthread_attr_t, size: *mut size_t) -> c_int;
    fn pthread_attr_getdetachstate(attr: *const pthread_attr_t, state: *mut c_int) -> c_int;
    fn pthread_create(thread: *mut pthread_t, attr: *const pthread_attr_t, routine: Routine, argument: *mut c_void) -> c_int;
    fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int;
    fn pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void) -> c_int;
    fn pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, limit: *const timespec) -> c_int;
    fn pthread_clockjoin_np(thread: pthread_t, value: *mut *mut c_void, clock: clockid_t, limit: *const timespec) -> c_int;
    fn pthread_detach(thread: pthread_t) -> c_int;
    fn pthread_cancel(thread: pthread_t) -> c_int;
    fn pthread_testcancel() -> ();
    fn pthread_key_create(key: *mut libc::pthread_key_t, destructor: Option<unsafe extern "C-unwind" fn(*mut c_void)>) -> c_int;
    fn pthread_key_delete(key: libc::pthread_key_t) -> c_int;
    fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
    fn pthread_getname_np(thread: pthread_t, to: *mut c_char, room: usize) -> c_int;

    fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attr: *const pthread_mutexattr_t) -> c_int;
    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_consistent(mutex: *mut pthread_mutex_t) -> c_int;

    fn pthread_cond_init(condition: *mut pthread_cond_t, attr: *const pthread_condattr_t) -> c_int;
    fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int;
    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int;
    fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec) -> c_int;
    fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int;
    fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int;

    fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attr: *const pthread_rwlockattr_t) -> c_int;
    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, limit: *const timespec) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, limit: *const timespec) -> c_int;
    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, limit: *const timespec) -> c_int;
    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, limit: *const timespec) -> c_int;
    fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;

    fn pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int) -> c_int;
    fn pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int;
    fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int;
    fn pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int;
    fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int;

    fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attr: *const pthread_barrierattr_t, count: c_uint) -> c_int;
    fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int;
    fn pthread_once(once: *mut c_int, routine: unsafe extern "C-unwind" fn()) -> c_int;

    fn sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint) -> c_int;
    fn sem_destroy(semaphore: *mut sem_t) -> c_int;
    fn sem_wait(semaphore: *mut sem_t) -> c_int;
    fn sem_trywait(semaphore: *mut sem_t) -> c_int;
    fn sem_timedwait(semaphore: *mut sem_t, limit: *const timespec) -> c_int;
    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, limit: *const timespec) -> c_int;
    fn sem_post(semaphore: *mut sem_t) -> c_int;
    fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int;

    fn strlen(text: *const c_char) -> usize;
    fn strnlen(text: *const c_char, most: usize) -> usize;
    fn memchr(start: *const c_void, wanted: c_int, len: usize) -> *mut c_void;
    fn __chk_fail() -> !;
    fn memmove(to: *mut u8, from: *const u8, len: size_t) -> *mut u8;
    fn memset(to: *mut u8, byte: c_int, len: size_t) -> *mut u8;
    fn mmap(addr: *mut c_void, len: size_t, protection: c_int, flags: c_int, file: c_int, offset: off_t) -> *mut c_void;
    fn munmap(addr: *mut c_void, len: size_t) -> c_int;

    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int;
    fn clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int;
    fn usleep(micros: c_uint) -> c_int;
    fn sleep(seconds: c_uint) -> c_uint;
    fn sched_yield() -> c_int;
    fn poll(files: *mut pollfd, count: nfds_t, limit: c_int) -> c_int;
    fn pause() -> c_int;
    fn getpeername(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int;
    fn getsockname(file: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int;
    fn getsockopt(file: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int;

    fn syscall(number: libc::c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> libc::c_long;

    fn _exit(status: c_int) -> !;
    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    fn execvpe(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
}
