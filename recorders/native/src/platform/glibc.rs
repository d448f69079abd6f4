//! Where glibc keeps what the runtime reads of its objects, and a check at the start that it does.
//!
//! None of this is part of glibc's documented interface. [`differs`] makes an object of each kind, changes it as a
//! program would, and looks whether the bytes follow: a C library that is laid out otherwise is named, and not recorded
//! wrongly.

use crate::platform::{real, sys};
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{c_int, pthread_mutex_t};

/// Offsets into `pthread_mutex_t`, and what is there.
pub mod mutex {
    /// Not 0 while it is held. The list of robust mutexes, which the kernel reads, leads here.
    pub const STATE: usize = 0;
    /// How often a recursive one is held.
    pub const DEPTH: usize = 4;
    /// The kernel's number of the thread that holds it.
    pub const OWNER: usize = 8;
    /// In the two lowest bits, `PTHREAD_MUTEX_NORMAL` and so on.
    pub const KIND: usize = 16;
    /// The bit of the kind of those that processes share.
    pub const SHARED: i32 = 128;
    /// The bit of the kind of those whose next owner learns that the last one ended.
    pub const ROBUST: i32 = 16;
    /// The bit of the kind that says that its owners have a lowest priority, and where that begins in the state.
    pub const CEILING: i32 = 64;
    pub const CEILING_SHIFT: u32 = 19;
    /// The bit of the kind of those whose owners inherit the priorities of who waits: the kernel gives them back.
    pub const INHERITS: i32 = 32;
    /// In place of the owner of a robust one whose last owner ended, until it is said to be consistent.
    pub const INCONSISTENT: i32 = i32::MAX;
    /// In place of the owner of a robust one that nobody may take any more.
    pub const NOT_RECOVERABLE: i32 = i32::MAX - 1;
}

/// Offsets into `pthread_cond_t`, and what is there.
pub mod condition {
    /// Among others, for which clock it was initialized.
    pub const FLAGS: usize = 36;
    /// The bit of the flags that says the monotonic one.
    pub const MONOTONIC: i32 = 2;
    /// The bit of the flags of those that processes share.
    pub const SHARED: i32 = 1;
}

/// Offsets into `pthread_rwlock_t`.
pub mod rwlock {
    /// How many readers there are, above [`OTHER_BITS`] that say other things.
    pub const READERS: usize = 0;
    /// Bits below the number of readers.
    pub const OTHER_BITS: u32 = 3;
    /// The kernel's number of the thread that holds it as a writer.
    pub const WRITER: usize = 24;
    /// Not 0 if processes share it.
    pub const SHARED: usize = 28;
    /// Who is preferred.
    pub const KIND: usize = 48;
    /// The kind that lets writers that wait go before readers.
    pub const PREFERS_WRITERS: i32 = 2;
}

/// Offsets into `pthread_barrier_t`.
pub mod barrier {
    /// How many threads it waits for.
    pub const COUNT: usize = 8;
    /// Not 0 if processes share it.
    pub const SHARED: usize = 12;
}

/// Offsets into `sem_t`.
pub mod semaphore {
    /// Not 0 if processes share it.
    pub const SHARED: usize = 8;
}

/// Offsets into `siginfo_t`.
pub mod signal_info {
    /// Who sent the signal, or has ended.
    pub const PROCESS: usize = 16;
}

/// What is in a `pthread_spinlock_t` that nobody holds.
pub const SPIN_FREE: i32 = 1;

/// What is in a `pthread_once_t` whose routine has returned.
pub const ONCE_DONE: i32 = 2;

/// How many bytes of a block of glibc's there are: its header says so, which `malloc_usable_size` only reads.
///
/// # Safety
/// The block is glibc's, and not freed.
pub unsafe fn room(block: usize) -> usize {
    const IS_MAPPED: usize = 2;
    // SAFETY: the caller's block is alive, so the word before it is its header, which changes only when it is freed or
    // resized.
    let header = unsafe { (block as *const usize).sub(1).read() };
    let overhead = if header & IS_MAPPED == 0 { 1 } else { 2 };
    (header & !7) - overhead * size_of::<usize>()
}

/// The mutex that a thread's list of robust mutexes begins with, and how an entry leads to its mutex.
#[derive(Debug)]
pub struct RobustMutexes {
    /// Where the list ends: at its head.
    pub head: usize,
    /// From an entry to [`mutex::STATE`].
    pub offset: isize,
}

impl RobustMutexes {
    /// Those of the calling thread; `None` if the kernel knows of no list.
    pub fn own() -> Option<RobustMutexes> {
        let (mut head, mut len) = (0_usize, 0_usize);
        let (head_at, len_at) = (&raw mut head as usize, &raw mut len as usize);
        // SAFETY: the kernel writes two words, which are local variables.
        let answer = unsafe { sys::call(libc::SYS_get_robust_list, 0, head_at, len_at, 0) };
        if answer != 0 || head == 0 {
            return None;
        }
        // SAFETY: the kernel's interface: behind the head's first word is the distance. glibc registered the calling
        // thread's own head.
        let offset = unsafe { (head as *const isize).add(1).read() };
        Some(RobustMutexes { head, offset })
    }

    /// The entry behind the head or an entry.
    ///
    /// # Safety
    /// The head, or an entry of the calling thread's list since which no mutex was taken or given back.
    pub unsafe fn next(&self, at: usize) -> Option<usize> {
        /// The bit that tells the kernel of inheriting priorities.
        const INHERITS: usize = 1;
        // SAFETY: an entry's first word leads to the next one; only its own thread changes the list.
        let next = unsafe { (at as *const usize).read_volatile() } & !INHERITS;
        (next != self.head && next != 0).then_some(next)
    }

    /// Gives a mutex back as the kernel does when its owner is gone: the next owner learns of that.
    ///
    /// # Safety
    /// It is one of the list's, which nobody uses meanwhile, and does not inherit priorities.
    pub unsafe fn abandon(&self, mutex: *mut pthread_mutex_t) {
        const WAITERS: u32 = 1 << 31;
        const OWNER_DIED: u32 = 1 << 30;
        const ONE: usize = 1;
        // SAFETY: the lock's word is at the start of a mutex, aligned.
        let word = unsafe { AtomicU32::from_ptr(mutex.byte_add(mutex::STATE).cast()) };
        let left = |before: u32| Some(before & WAITERS | OWNER_DIED);
        if let Ok(before) = word.fetch_update(Release, Relaxed, left)
            && before & WAITERS != 0
        {
            // Of another process.
            let at = word.as_ptr() as usize;
            // SAFETY: the kernel uses the address alone.
            unsafe { sys::call(libc::SYS_futex, at, libc::FUTEX_WAKE as usize, ONE, 0) };
        }
    }

    /// Leaves nothing of the list for the kernel to give back.
    ///
    /// # Safety
    /// The calling thread is at its end, and takes no more mutexes.
    pub unsafe fn forget_all(&self) {
        // SAFETY: an empty list leads to its own head.
        unsafe { (self.head as *mut usize).write_volatile(self.head) };
    }

    /// The mutex that an entry is in.
    pub fn mutex(&self, entry: usize) -> *mut pthread_mutex_t {
        (entry.wrapping_add_signed(self.offset) - mutex::STATE) as *mut pthread_mutex_t
    }
}

/// Memory of a pthread object, zero at first.
struct Object<T>(MaybeUninit<T>);

impl<T> Object<T> {
    fn new() -> Object<T> {
        Object(MaybeUninit::zeroed())
    }

    fn at(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    /// A number in it.
    fn field(&mut self, offset: usize) -> i32 {
        assert!(offset + size_of::<i32>() <= size_of::<T>(), "a field of the object");
        // SAFETY: inside the object by the assertion, which was zero before glibc wrote there; any four bytes are a
        // number.
        unsafe { self.at().byte_add(offset).cast::<i32>().read_unaligned() }
    }
}

/// What glibc keeps elsewhere than the runtime looks for it; `None` if all is as expected. The calling thread is the
/// only one, and is not recorded yet.
pub fn differs() -> Option<&'static str> {
    /// What is looked at, and whether it is as expected.
    type Check = (&'static str, fn() -> bool);
    const CHECKS: [Check; 9] = [
        ("pthread_mutex_t", mutexes),
        ("robust mutexes", robust_mutexes),
        ("pthread_cond_t", conditions),
        ("pthread_rwlock_t", rwlocks),
        ("pthread_barrier_t", barriers),
        ("sem_t", semaphores),
        ("pthread_spinlock_t or pthread_once_t", words),
        ("siginfo_t", signal_infos),
        ("blocks of malloc", blocks),
    ];
    CHECKS.iter().find(|(_, is_known)| !is_known()).map(|&(name, _)| name)
}

/// A mutex with these attributes.
fn make(
    mutex: &mut Object<pthread_mutex_t>,
    attribute: unsafe extern "C" fn(*mut libc::pthread_mutexattr_t, c_int) -> c_int,
    value: c_int,
) -> bool {
    let mut attributes = Object::<libc::pthread_mutexattr_t>::new();
    // SAFETY: the attributes are initialized before they are used; the mutex is memory of its own that nobody else has.
    unsafe {
        libc::pthread_mutexattr_init(attributes.at()) == 0
            && attribute(attributes.at(), value) == 0
            && real::pthread_mutex_init(mutex.at(), attributes.at()) == 0
    }
}

fn mutexes() -> bool {
    use libc::{PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE};
    use mutex::{DEPTH, KIND, OWNER, SHARED, STATE};
    let own = sys::thread_id();
    let kinds = [PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK];
    let kinds_are_known = kinds.into_iter().all(|kind| {
        let mut mutex = Object::new();
        let free = |mutex: &mut Object<_>| mutex.field(STATE) == 0 && mutex.field(OWNER) == 0;
        let is_made = make(&mut mutex, libc::pthread_mutexattr_settype, kind);
        let starts_free = is_made && mutex.field(KIND) & (3 | SHARED) == kind && free(&mut mutex);
        // SAFETY: `make` initialized it.
        let is_taken = starts_free && unsafe { real::pthread_mutex_trylock(mutex.at()) } == 0;
        let is_held = is_taken && mutex.field(STATE) != 0 && mutex.field(OWNER) == own;
        let counts = is_held
            && (kind != PTHREAD_MUTEX_RECURSIVE || {
                let once = mutex.field(DEPTH);
                // SAFETY: as above; a recursive one is taken and given back once more.
                unsafe {
                    real::pthread_mutex_trylock(mutex.at()) == 0
                        && (once, mutex.field(DEPTH)) == (1, 2)
                        && real::pthread_mutex_unlock(mutex.at()) == 0
                }
            });
        // SAFETY: the calling thread took it.
        counts && unsafe { real::pthread_mutex_unlock(mutex.at()) } == 0 && free(&mut mutex)
    });
    let mut shared = Object::new();
    kinds_are_known
        && make(
            &mut shared,
            libc::pthread_mutexattr_setpshared,
            libc::PTHREAD_PROCESS_SHARED,
        )
        && shared.field(KIND) & SHARED != 0
}

fn robust_mutexes() -> bool {
    let mut mutex = Object::new();
    if !make(
        &mut mutex,
        libc::pthread_mutexattr_setrobust,
        libc::PTHREAD_MUTEX_ROBUST,
    ) {
        return false;
    }
    // SAFETY: `make` initialized it; who takes it is the caller, who also gives it back, and what the list leads to is
    // alive meanwhile.
    unsafe {
        if real::pthread_mutex_trylock(mutex.at()) != 0 {
            return false;
        }
        let is_listed = RobustMutexes::own().is_some_and(|list| {
            let entry = list.next(list.head);
            entry.is_some_and(|entry| list.mutex(entry) == mutex.at() && list.next(entry).is_none())
        });
        mutex
            .at()
            .byte_add(mutex::OWNER)
            .cast::<i32>()
            .write(mutex::INCONSISTENT);
        is_listed
            && mutex.field(mutex::KIND) & mutex::ROBUST != 0
            && real::pthread_mutex_unlock(mutex.at()) == 0
            && mutex.field(mutex::OWNER) == mutex::NOT_RECOVERABLE
            && real::pthread_mutex_trylock(mutex.at()) == libc::ENOTRECOVERABLE
            && RobustMutexes::own().is_some_and(|list| list.next(list.head).is_none())
    }
}

const SHARING: [c_int; 2] = [libc::PTHREAD_PROCESS_PRIVATE, libc::PTHREAD_PROCESS_SHARED];

fn conditions() -> bool {
    let clocks = [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC];
    clocks.into_iter().zip(SHARING).all(|(clock, sharing)| {
        let mut attributes = Object::<libc::pthread_condattr_t>::new();
        let mut condition = Object::<libc::pthread_cond_t>::new();
        // SAFETY: the attributes are initialized before they are used; both are memory that nobody else has.
        let is_made = unsafe {
            libc::pthread_condattr_init(attributes.at()) == 0
                && libc::pthread_condattr_setclock(attributes.at(), clock) == 0
                && libc::pthread_condattr_setpshared(attributes.at(), sharing) == 0
                && real::pthread_cond_init(condition.at(), attributes.at()) == 0
        };
        let is_monotonic = condition.field(condition::FLAGS) & condition::MONOTONIC != 0;
        let is_shared = condition.field(condition::FLAGS) & condition::SHARED != 0;
        is_made
            && is_monotonic == (clock == libc::CLOCK_MONOTONIC)
            && is_shared == (sharing == libc::PTHREAD_PROCESS_SHARED)
    })
}

fn rwlocks() -> bool {
    use rwlock::{KIND, OTHER_BITS, PREFERS_WRITERS, READERS, SHARED, WRITER};
    unsafe extern "C" {
        fn pthread_rwlockattr_setkind_np(attr: *mut libc::pthread_rwlockattr_t, kind: c_int) -> c_int;
    }
    let says_whom_it_prefers = [0, PREFERS_WRITERS].into_iter().all(|kind| {
        let mut attributes = Object::<libc::pthread_rwlockattr_t>::new();
        let mut lock = Object::<libc::pthread_rwlock_t>::new();
        // SAFETY: the attributes are initialized before they are used; both are memory that nobody else has.
        let is_made = unsafe {
            libc::pthread_rwlockattr_init(attributes.at()) == 0
                && pthread_rwlockattr_setkind_np(attributes.at(), kind) == 0
                && real::pthread_rwlock_init(lock.at(), attributes.at()) == 0
        };
        is_made && lock.field(KIND) == kind
    });
    let says_whether_shared = SHARING.into_iter().all(|sharing| {
        let mut attributes = Object::<libc::pthread_rwlockattr_t>::new();
        let mut lock = Object::<libc::pthread_rwlock_t>::new();
        // SAFETY: the attributes are initialized before they are used; both are memory that nobody else has.
        let is_made = unsafe {
            libc::pthread_rwlockattr_init(attributes.at()) == 0
                && libc::pthread_rwlockattr_setpshared(attributes.at(), sharing) == 0
                && real::pthread_rwlock_init(lock.at(), attributes.at()) == 0
        };
        is_made && (lock.field(SHARED) & 0xff != 0) == (sharing == libc::PTHREAD_PROCESS_SHARED)
    });
    let own = sys::thread_id();
    let mut lock = Object::<libc::pthread_rwlock_t>::new();
    let holders = |lock: &mut Object<_>| (lock.field(READERS) as u32 >> OTHER_BITS, lock.field(WRITER));
    // SAFETY: it is initialized first; the caller gives back what it took.
    unsafe {
        says_whether_shared
            && says_whom_it_prefers
            && real::pthread_rwlock_init(lock.at(), ptr::null()) == 0
            && holders(&mut lock) == (0, 0)
            && real::pthread_rwlock_tryrdlock(lock.at()) == 0
            && holders(&mut lock) == (1, 0)
            && real::pthread_rwlock_tryrdlock(lock.at()) == 0
            && holders(&mut lock) == (2, 0)
            && real::pthread_rwlock_unlock(lock.at()) == 0
            && real::pthread_rwlock_unlock(lock.at()) == 0
            && real::pthread_rwlock_trywrlock(lock.at()) == 0
            && holders(&mut lock) == (0, own)
            && real::pthread_rwlock_unlock(lock.at()) == 0
            && holders(&mut lock) == (0, 0)
    }
}

fn barriers() -> bool {
    const SOME: u32 = 12_345;
    SHARING.into_iter().all(|sharing| {
        let mut attributes = Object::<libc::pthread_barrierattr_t>::new();
        let mut barrier = Object::<libc::pthread_barrier_t>::new();
        // SAFETY: the attributes are initialized before they are used; both are memory that nobody else has.
        let is_made = unsafe {
            libc::pthread_barrierattr_init(attributes.at()) == 0
                && libc::pthread_barrierattr_setpshared(attributes.at(), sharing) == 0
                && real::pthread_barrier_init(barrier.at(), attributes.at(), SOME) == 0
        };
        is_made
            && barrier.field(barrier::COUNT) as u32 == SOME
            && (barrier.field(barrier::SHARED) != 0) == (sharing == libc::PTHREAD_PROCESS_SHARED)
    })
}

fn semaphores() -> bool {
    [0, 1].into_iter().all(|shared| {
        let mut semaphore = Object::<libc::sem_t>::new();
        // SAFETY: memory that nobody else has.
        let is_made = unsafe { real::sem_init(semaphore.at(), shared, 3) } == 0;
        is_made && (semaphore.field(semaphore::SHARED) != 0) == (shared != 0)
    })
}

fn words() -> bool {
    unsafe extern "C-unwind" fn nothing() {}
    let (mut lock, mut once) = (Object::<libc::pthread_spinlock_t>::new(), libc::PTHREAD_ONCE_INIT);
    // SAFETY: memory that nobody else has, initialized first.
    unsafe {
        real::pthread_spin_init(lock.at(), libc::PTHREAD_PROCESS_PRIVATE) == 0
            && lock.field(0) == SPIN_FREE
            && real::pthread_spin_trylock(lock.at()) == 0
            && lock.field(0) != SPIN_FREE
            && real::pthread_spin_unlock(lock.at()) == 0
            && lock.field(0) == SPIN_FREE
            && once == 0
            && real::pthread_once(&mut once, nothing) == 0
            && once == ONCE_DONE
    }
}

fn signal_infos() -> bool {
    const SOMEBODY: libc::pid_t = 12_345;
    let mut info = Object::<libc::siginfo_t>::new();
    // SAFETY: zeros are one; the offset lies inside it, aligned. It is of a signal that a process sent.
    unsafe {
        let before = (*info.at()).si_pid();
        info.at()
            .byte_add(signal_info::PROCESS)
            .cast::<libc::pid_t>()
            .write(SOMEBODY);
        (before, (*info.at()).si_pid()) == (0, SOMEBODY)
    }
}

/// Blocks as `malloc` makes them, and mapped ones; those are so long that freeing one leaves malloc's thresholds as
/// they are.
fn blocks() -> bool {
    unsafe extern "C" {
        fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        fn __libc_free(block: *mut c_void);
    }
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    const LENGTHS: [usize; 3] = [2_000, 2_009, 33 << 20];
    const LIBRARY: &CStr = c"libc.so.6";
    // The program may bring a malloc of its own; that one's function knows nothing of glibc's blocks.
    // SAFETY: C strings; a library that is loaded already runs no constructors.
    let usable_size = unsafe {
        let library = real::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return false;
        }
        let found = libc::dlsym(library, c"malloc_usable_size".as_ptr());
        real::dlclose(library);
        if found.is_null() {
            return false;
        }
        // SAFETY: the function's documented type.
        core::mem::transmute::<*mut c_void, UsableSize>(found)
    };
    LENGTHS.into_iter().all(|len| {
        // SAFETY: a block of glibc's own, freed once, by glibc.
        unsafe {
            let block = __libc_calloc(1, len);
            // Without memory, nothing can be said.
            block.is_null() || {
                let is_known = room(block as usize) == usable_size(block);
                __libc_free(block);
                is_known
            }
        }
    })
}
