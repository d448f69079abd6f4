//! Threads: their beginning and their end.

use super::{failed_join, mutex};
use crate::baton::SCHEDULER;
use crate::channels::queue::SEQUENTIALLY_CONSISTENT;
use crate::export::export;
use crate::futex::NOBODYS;
use crate::inside::{Inside, regain};
use crate::interface::fibers;
use crate::thread::{Routine, Thread, UNRECORDED, set_slot};
use crate::{baton, events, images, libraries, pending, plan, real, signals, sys};
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, pthread_attr_t, pthread_t};
use recorder_ring::plan::kind;
use recorder_ring::{Note, Record};
use recorder_scheduler::thread::Reset;

/// Rounds of destructors that glibc runs at a thread's end; ours ends the thread in the last, so
/// that the destructors of the program's own keys are recorded.
const DESTRUCTOR_ROUNDS: u32 = 4;

pub(super) static REGISTER: Register = Register {
    known: [const { Cell::new(ptr::null()) }; BUCKETS],
    unused: Cell::new(ptr::null()),
    alive: Cell::new(0),
    key: Cell::new(0),
};

/// Lists that the threads are divided into by their handles. As many as threads may be alive, nearly: a join looks at one or two.
const BUCKETS: usize = baton::MAX_THREADS / 4;

/// Records that are allocated at once.
const RECORDS: usize = 32;

static NEXT_INDEX: AtomicU32 = AtomicU32::new(0);

/// The threads that somebody may still join, and records to use again. Used with the baton.
pub(super) struct Register {
    known: [Cell<*const Thread>; BUCKETS],
    unused: Cell<*const Thread>,
    alive: Cell<usize>,
    key: Cell<libc::pthread_key_t>,
}

// SAFETY: only the thread with the baton looks or stores, but for `key`, set once at the start.
unsafe impl Sync for Register {}

impl Register {
    /// The list that a thread of this handle is in.
    fn bucket(&self, handle: pthread_t) -> &Cell<*const Thread> {
        let hash = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2());
        &self.known[hash as usize]
    }

    fn with_handle(&self, handle: pthread_t) -> impl Iterator<Item = &'static Thread> {
        // SAFETY: the list holds threads, which live for ever.
        let list = core::iter::successors(unsafe { self.bucket(handle).get().as_ref() }, |thread| unsafe {
            thread.next.get().as_ref()
        });
        list.filter(move |thread| thread.handle.get() == handle)
    }

    pub(super) fn find(&self, handle: pthread_t) -> Option<&'static Thread> {
        self.with_handle(handle).find(|thread| !thread.detached.get())
    }

    fn new_thread(&self) -> &'static Thread {
        if self.unused.get().is_null() {
            Thread::allocate(RECORDS).iter().for_each(|thread| self.recycle(thread));
        }
        // SAFETY: the list holds threads, which live for ever, and one at least.
        let thread = unsafe { &*self.unused.get() };
        self.unused.set(thread.next.get());
        thread.reset(Thread::new());
        thread
    }

    /// Adds a thread, which has its handle.
    fn add(&self, thread: &'static Thread) {
        let first = self.bucket(thread.handle.get());
        thread.next.set(first.get());
        first.set(thread);
    }

    /// Forgets a thread that is over and joined or detached.
    pub(super) fn forget(&self, thread: &'static Thread) {
        let mut place = self.bucket(thread.handle.get());
        // SAFETY: as in `with_handle`.
        while let Some(at) = unsafe { place.get().as_ref() } {
            if ptr::eq(at, thread) {
                place.set(thread.next.get());
                self.recycle(thread);
                return;
            }
            place = &at.next;
        }
    }

    fn recycle(&self, thread: &'static Thread) {
        thread.next.set(self.unused.get());
        self.unused.set(thread);
    }
}

/// A thread that is not joined yet.
pub fn by_handle(handle: pthread_t) -> Option<&'static Thread> {
    REGISTER.with_handle(handle).next()
}

/// A thread that is not joined yet, by the kernel's number of it.
pub fn by_number(number: c_int) -> Option<&'static Thread> {
    all().find(|thread| thread.os_id.load(Relaxed) == number)
}

/// The threads that are not joined yet.
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let lists = REGISTER.known.iter().filter_map(|list| {
        // SAFETY: the lists hold threads, which live for ever.
        unsafe { list.get().as_ref() }
    });
    lists.flat_map(|first| {
        // SAFETY: as above.
        core::iter::successors(Some(first), |thread| unsafe { thread.next.get().as_ref() })
    })
}

/// The first thread; called once, before there is a baton.
pub fn first() -> &'static Thread {
    let mut key = 0;
    // SAFETY: `finish` is a destructor for threads' records, which are what the key's values are.
    unsafe { libc::pthread_key_create(&mut key, Some(finish)) };
    REGISTER.key.set(key);
    let thread = &Thread::allocate(1)[0];
    take_identity(thread, NEXT_INDEX.fetch_add(1, Relaxed));
    // SAFETY: no arguments.
    thread.handle.set(unsafe { libc::pthread_self() });
    REGISTER.add(thread);
    REGISTER.alive.set(1);
    thread
}

/// In a forked child: the calling thread is the only one, and the first of its trace.
pub fn start_over(thread: &'static Thread) {
    NEXT_INDEX.store(1, Relaxed);
    REGISTER.known.iter().for_each(|list| list.set(ptr::null()));
    REGISTER.add(thread);
    REGISTER.alive.set(1);
    thread.index.set(0);
    thread.os_id.store(sys::thread_id(), Relaxed);
    thread.calls.set(0);
    thread.deferred.store(0, Relaxed);
    // It was there before the trace begins.
    thread.stack.set(0);
    thread.stack_end.set(0);
}

fn take_identity(thread: &'static Thread, index: u32) {
    thread.index.set(index);
    thread.busy.store(1, Relaxed);
    thread.os_id.store(sys::thread_id(), Relaxed);
    set_slot(thread);
    // SAFETY: the key exists, and the value is what its destructor expects.
    unsafe { libc::pthread_setspecific(REGISTER.key.get(), ptr::from_ref(thread).cast()) };
}

/// A thread appeared that `pthread_create` did not make. It is inside the runtime afterwards.
pub fn adopt() -> &'static Thread {
    let thread = &Thread::allocate(1)[0];
    take_identity(thread, NEXT_INDEX.fetch_add(1, Relaxed));
    thread.detached.set(true);
    regain(thread);
    REGISTER.alive.set(REGISTER.alive.get() + 1);
    images::take_once(|| None);
    pending::push(Record::Note {
        note: Note::ForeignThread,
    });
    pending::push(Record::Begin {
        os_id: thread.os_id.load(Relaxed) as u32,
    });
    thread
}

pub unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attr: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    let Some(inside) = Inside::enter() else {
        // SAFETY: the program's own arguments.
        return unsafe { real::pthread_create(handle, attr, routine, argument) };
    };
    if REGISTER.alive.get() + 1 >= baton::MAX_THREADS {
        pending::push(Record::Note {
            note: Note::TooManyThreads,
        });
        return libc::EAGAIN;
    }
    plan::before_call(pc, &[kind::WRITE], &[(handle as usize, size_of::<pthread_t>())]);
    images::take_once(own_stack);
    let child = REGISTER.new_thread();
    let index = next_index(&inside);
    child.index.set(index);
    child.busy.store(1, Relaxed);
    child.routine.set(Some(routine));
    child.argument.set(argument);
    child.detached.set(is_detached(attr));
    child.brings_stack.set(has_stack(attr));
    // The child waits for the baton before it does anything of its own, and until it knows who it
    // is, no signal handler may run there.
    let mask = sys::block_signals(u64::MAX);
    child.signal_mask.set(mask);
    // SAFETY: the program's own arguments, but for the routine and its argument, which are ours.
    let result = unsafe { real::pthread_create(handle, attr, run, ptr::from_ref(child).cast_mut().cast()) };
    sys::block_signals(mask);
    if result != 0 {
        // Give the number back, unless another thread took the next one meanwhile.
        let _ = NEXT_INDEX.compare_exchange(index + 1, index, Relaxed, Relaxed);
        REGISTER.recycle(child);
        return result;
    }
    // SAFETY: set by the call that succeeded.
    child.handle.set(unsafe { *handle });
    REGISTER.add(child);
    REGISTER.alive.set(REGISTER.alive.get() + 1);
    pending::write_range_now(handle as usize, size_of::<pthread_t>(), pc);
    hand_over(&inside, argument as usize, index, pc);
    pending::push(Record::Fork {
        pc: pc as u64,
        child: index,
    });
    SCHEDULER.admit(child);
    0
}

/// A new thread gets an address on its creator's stack in a register, where nobody sees that it was given away: that is recorded as
/// a store to a variable of the runtime's own. What the new thread does there may be unrecorded.
fn hand_over(inside: &Inside, argument: usize, child: u32, pc: usize) {
    if (inside.stack.get()..inside.stack_end.get()).contains(&argument) {
        pending::push(Record::AtomicStore {
            pc: pc as u64,
            addr: NOBODYS | 1 << 57 | u64::from(child) << 3,
            size: 8,
            order: SEQUENTIALLY_CONSISTENT,
            value: argument as u64,
        });
    }
}

/// A thread that will run in turn with others.
pub fn fork_fiber(inside: &Inside, pc: usize) -> &'static Thread {
    images::take_once(own_stack);
    let fiber = REGISTER.new_thread();
    let index = next_index(inside);
    fiber.index.set(index);
    pending::push(Record::Fork {
        pc: pc as u64,
        child: index,
    });
    SCHEDULER.admit_fiber(fiber);
    fiber
}

/// Its first turn.
pub fn begin_fiber(fiber: &Thread) {
    pending::push(Record::Begin {
        os_id: fiber.os_id.load(Relaxed) as u32,
    });
}

/// It never runs again. The calling thread is another one.
pub fn end_fiber(inside: &Inside, fiber: &'static Thread) {
    if fiber.os_id.load(Relaxed) != 0 {
        events::switch(Some(inside), fiber);
        pending::push(Record::End { pc: 0 });
        events::switch(Some(fiber), inside);
    }
    REGISTER.recycle(fiber);
}

/// The number of a new thread.
fn next_index(inside: &Inside) -> u32 {
    match SCHEDULER.plan().next_child(inside) {
        Some(index) => {
            NEXT_INDEX.fetch_max(index + 1, Relaxed);
            index
        }
        None => NEXT_INDEX.fetch_add(1, Relaxed),
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

fn is_detached(attr: *const pthread_attr_t) -> bool {
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: the program's own attributes.
    !attr.is_null()
        && unsafe { pthread_attr_getdetachstate(attr, &mut detached) } == 0
        && detached == libc::PTHREAD_CREATE_DETACHED
}

/// Whether the program gives the thread memory of its own as its stack.
fn has_stack(attr: *const pthread_attr_t) -> bool {
    let (mut addr, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the program's own attributes.
    let known = !attr.is_null() && unsafe { libc::pthread_attr_getstack(attr, &mut addr, &mut size) } == 0;
    // Without one, glibc answers with a block that ends at the end of memory.
    known && (addr as usize).wrapping_add(size) != 0
}

/// The function that calls the program's routines.
pub fn caller() -> usize {
    run as *const () as usize
}

/// The start of every thread that the program creates.
unsafe extern "C-unwind" fn run(thread: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passes a thread's record.
    let thread: &'static Thread = unsafe { &*thread.cast_const().cast() };
    take_identity(thread, thread.index.get());
    sys::block_signals(thread.signal_mask.get());
    SCHEDULER.await_first_turn(thread);
    pending::push(Record::Begin {
        os_id: thread.os_id.load(Relaxed) as u32,
    });
    begin_stack(thread);
    let (routine, argument) = (thread.routine.get(), thread.argument.get());
    thread.busy.store(0, Relaxed);
    match routine {
        // SAFETY: the program's own routine and argument.
        Some(routine) => unsafe { routine(argument) },
        None => ptr::null_mut(),
    }
}

/// The calling thread's stack is a block that exists from its beginning to its end.
/// glibc uses the memory again for later threads; like every block, it is zero at first.
pub fn begin_stack(thread: &'static Thread) {
    if let Some((addr, size)) = own_stack() {
        if !thread.brings_stack.get() {
            forget_below(addr);
        }
        thread.stack.set(addr);
        thread.stack_end.set(addr + size);
        pending::push(Record::Alloc {
            pc: 0,
            addr: addr as u64,
            size: size as u64,
        });
    }
}

/// Makes the unused part of the calling thread's stack zero, from its lowest address.
fn forget_below(addr: usize) {
    /// Room for the frames of the call itself.
    const OWN: usize = 1 << 14;
    const PAGE: usize = 4096;
    let here = &raw const addr as usize;
    let (from, to) = (addr.next_multiple_of(PAGE), here.saturating_sub(OWN) / PAGE * PAGE);
    if from < to {
        // SAFETY: private memory of this stack, below all that is in use.
        unsafe { sys::call(libc::SYS_madvise, from, to - from, libc::MADV_DONTNEED as usize, 0) };
    }
}

/// The calling thread's stack, with the thread-local variables that glibc keeps on top of it.
fn own_stack() -> Option<(usize, usize)> {
    let mut attr = MaybeUninit::<pthread_attr_t>::uninit();
    let (mut addr, mut size) = (ptr::null_mut(), 0);
    // SAFETY: `attr` is initialized if the first call succeeds, and destroyed then.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return None;
        }
        let result = libc::pthread_attr_getstack(attr.as_ptr(), &mut addr, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        (result == 0).then_some((addr as usize, size))
    }
}

/// The destructor of a thread's record: the thread's end.
unsafe extern "C" fn finish(value: *mut c_void) {
    // SAFETY: `take_identity` stores a thread's record.
    let thread: &'static Thread = unsafe { &*value.cast_const().cast() };
    let round = thread.destructor_rounds.get() + 1;
    thread.destructor_rounds.set(round);
    if round < DESTRUCTOR_ROUNDS {
        // SAFETY: as in `take_identity`.
        unsafe { libc::pthread_setspecific(REGISTER.key.get(), value) };
        return;
    }
    fibers::return_to(thread);
    if let Some(inside) = Inside::enter() {
        retire(inside, || {});
    }
}

/// The calling thread ends, the process with it if it is the last one.
pub fn retire(inside: Inside, last: impl FnOnce()) {
    let thread = inside.thread();
    libraries::thread_ends(&inside);
    inside.forget();
    mutex::leave_robust_ones();
    signals::forget(thread);
    end_stack(thread);
    failed_join::ends(thread);
    end();
    REGISTER.alive.set(REGISTER.alive.get() - 1);
    if REGISTER.alive.get() == 0 {
        last();
        pending::push(Record::Note { note: Note::Finished });
    }
    if thread.detached.get() {
        REGISTER.forget(thread);
        thread.handle.set(0);
    }
    let number = thread.os_id.load(Relaxed);
    // The first thread ends with the process.
    SCHEDULER.retire(thread, if number == sys::process_id() { 0 } else { number });
}

/// The calling thread's stack goes with it, unless it is the process' own.
fn end_stack(thread: &'static Thread) {
    if thread.stack.get() != 0 && thread.os_id.load(Relaxed) != sys::process_id() {
        pending::push(Record::Free {
            pc: 0,
            addr: thread.stack.get() as u64,
        });
    }
}

/// Records the calling thread's end; from here on nothing of it is recorded.
pub fn end() {
    pending::push(Record::End { pc: 0 });
    set_slot(&UNRECORDED);
}

export! {
    pthread_create = create, "r8";
}
