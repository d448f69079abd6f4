//! Threads: their beginning and their end.

use super::{failed_join, fibers, mutex, stack};
use crate::events::agents::SYSTEM;
use crate::events::variable::SEQUENTIALLY_CONSISTENT;
use crate::events::{images, modules, pending, variable};
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::platform::real::{self, Routine};
use crate::platform::sys;
use crate::runtime::callers;
use crate::runtime::guard::{Above, RuntimeGuard, regain};
use crate::scheduling::baton::{self, Process, SCHEDULER};
use crate::scheduling::plan;
use crate::scheduling::register::{self, REGISTER};
use crate::scheduling::thread::{Thread, UNRECORDED, set_slot};
use crate::signals::{self, alternate_stack};
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, pthread_attr_t, pthread_key_t, pthread_t};
use recorder_ring::plan::kind;
use recorder_ring::{Note, Record};

/// Rounds of destructors that glibc runs at a thread's end; ours ends the thread in the last, so
/// that the destructors of the program's own keys are recorded.
const DESTRUCTOR_ROUNDS: u32 = 4;

/// What is less is no address: a number in the place of an argument.
const LOWEST: usize = 1 << 16;

/// The first thread; called once, before there is a baton.
pub fn first() -> &'static Thread {
    callers::ROUTINES.store(run as *const () as usize, Relaxed);
    REGISTER.key.set(create_key());
    SYMBOLS.look_up();
    let thread = &Thread::allocate(1)[0];
    take_identity(thread, register::new_index());
    // SAFETY: no arguments.
    thread.handle.set(unsafe { libc::pthread_self() });
    REGISTER.add(thread);
    REGISTER.alive.set(1);
    thread
}

/// The key whose values are threads' records: not one of the first, which the program gets as if there were no other. (The
/// values of glibc's first 32 keys take no memory.)
fn create_key() -> pthread_key_t {
    let mut keys = [0; 32];
    for key in &mut keys {
        // SAFETY: `finish` is a destructor for threads' records.
        unsafe { libc::pthread_key_create(key, Some(finish)) };
    }
    let [others @ .., own] = keys;
    for key in others {
        // SAFETY: nobody has used it.
        unsafe { libc::pthread_key_delete(key) };
    }
    own
}

/// In a forked child: the calling thread is the only one, and the first of its trace.
pub fn start_over(thread: &'static Thread) {
    register::start_numbers_over();
    REGISTER.start_over();
    REGISTER.add(thread);
    REGISTER.alive.set(1);
    thread.index.set(0);
    thread.named.set(0);
    thread.os_id.store(sys::thread_id(), Relaxed);
    thread.futex.calls.set(0);
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
    take_identity(thread, register::index_of_uncreated());
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
    // The C library made it for what the program has had the system tell it, perhaps.
    SYSTEM.hears(0);
    thread
}

pub unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attr: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: the program's own arguments.
        return unsafe { real::pthread_create(handle, attr, routine, argument) };
    };
    if REGISTER.alive.get() + 1 >= baton::MAX_THREADS || register::threads_so_far() >= recorder_ring::plan::MAX_THREADS
    {
        pending::push(Record::Note {
            note: Note::TooManyThreads,
        });
        return libc::EAGAIN;
    }
    plan::before_call(pc, &[kind::WRITE], &[(handle as usize, size_of::<pthread_t>())]);
    images::take_once(stack::own);
    let child = REGISTER.new_thread();
    let index = register::index_of_child(&inside);
    child.index.set(index);
    child.busy.store(1, Relaxed);
    child.routine.set(Some(routine));
    child.argument.set(argument);
    child.detached.set(is_detached(attr));
    child.brings_stack.set(has_stack(attr));
    // The child waits for the baton before it does anything of its own, and until it knows who it
    // is, no signal handler may run there.
    let mask = sys::block_signals(u64::MAX);
    child.signal_mask.set(mask_of(attr).unwrap_or(mask));
    let was_alone = is_alone();
    // SAFETY: the program's own arguments, but for the routine and its argument, which are ours.
    let result = unsafe { real::pthread_create(handle, attr, run, ptr::from_ref(child).cast_mut().cast()) };
    sys::block_signals(mask);
    if result != 0 {
        // Give the number back, unless another thread took the next one meanwhile.
        register::give_index_back(index);
        REGISTER.recycle(child);
        return result;
    }
    // SAFETY: set by the call that succeeded.
    child.handle.set(unsafe { *handle });
    REGISTER.add(child);
    REGISTER.alive.set(REGISTER.alive.get() + 1);
    if let Some(variable) = was_alone.filter(|_| is_alone().is_none()) {
        pending::write_range_now(variable as usize, 1, pc);
    }
    pending::write_range_now(handle as usize, size_of::<pthread_t>(), pc);
    hand_over(&inside, argument as usize, index, pc);
    pending::push(Record::Fork {
        pc: pc as u64,
        child: index,
    });
    SCHEDULER.admit(child);
    0
}

/// Symbols of glibc's, looked up once: that leaves numbers on the stack that differ from run to run, and what the program
/// reads there unwritten is to be the same.
struct Symbols {
    /// A byte that tells that there is one thread alone; glibc changes it when it creates another one. Programs read it,
    /// those in C++ before they count who shares something.
    single_threaded: AtomicPtr<c_void>,
    /// `pthread_attr_getsigmask_np`
    mask_of: AtomicPtr<c_void>,
}

/// Null where this glibc has none.
static SYMBOLS: Symbols = Symbols {
    single_threaded: AtomicPtr::new(ptr::null_mut()),
    mask_of: AtomicPtr::new(ptr::null_mut()),
};

impl Symbols {
    fn look_up(&self) {
        // SAFETY: names of what glibc has; of a variable, the program may have a copy, which all use then.
        let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        self.single_threaded.store(find(c"__libc_single_threaded"), Relaxed);
        self.mask_of.store(find(c"pthread_attr_getsigmask_np"), Relaxed);
    }
}

/// The byte that tells that there is one thread alone, if it does.
fn is_alone() -> Option<*mut u8> {
    let variable = SYMBOLS.single_threaded.load(Relaxed).cast::<u8>();
    // SAFETY: glibc's variable.
    (!variable.is_null() && unsafe { variable.read_volatile() } != 0).then_some(variable)
}

/// The signals that a new thread is to block, if its attributes say so.
fn mask_of(attr: *const pthread_attr_t) -> Option<u64> {
    type Get = unsafe extern "C" fn(*const pthread_attr_t, *mut libc::sigset_t) -> c_int;
    let get = SYMBOLS.mask_of.load(Relaxed);
    if attr.is_null() || get.is_null() {
        return None;
    }
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: glibc's function; the program's own attributes; a set begins with the signals that the kernel knows.
    unsafe {
        let get = core::mem::transmute::<*mut c_void, Get>(get);
        (get(attr, set.as_mut_ptr()) == 0).then(|| set.as_ptr().cast::<u64>().read())
    }
}

/// A new thread gets an address on its creator's stack, or of a block, in a register, where nobody sees that it was given
/// away: that is recorded as a store to a variable of the runtime's own. What the new thread does there may be
/// unrecorded.
fn hand_over(inside: &RuntimeGuard, argument: usize, child: u32, pc: usize) {
    let on_stack = || (inside.stack.get()..inside.stack_end.get()).contains(&argument);
    if argument >= LOWEST && (on_stack() || !modules::hold(argument)) {
        pending::push(Record::AtomicStore {
            pc: pc as u64,
            addr: NOBODYS | 1 << 55 | u64::from(child) << 3,
            size: 8,
            order: SEQUENTIALLY_CONSISTENT,
            value: argument as u64,
        });
    }
}

fn is_detached(attr: *const pthread_attr_t) -> bool {
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: the program's own attributes.
    !attr.is_null()
        && unsafe { real::pthread_attr_getdetachstate(attr, &mut detached) } == 0
        && detached == libc::PTHREAD_CREATE_DETACHED
}

/// Whether the program gives the thread memory of its own as its stack.
fn has_stack(attr: *const pthread_attr_t) -> bool {
    let (mut addr, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the program's own attributes.
    let known = !attr.is_null() && unsafe { real::pthread_attr_getstack(attr, &mut addr, &mut size) } == 0;
    // Without one, glibc answers with a block that ends at the end of memory.
    known && (addr as usize).wrapping_add(size) != 0
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
    stack::begin(thread);
    alternate_stack::begin(thread);
    let (routine, argument) = (thread.routine.get(), thread.argument.get());
    thread.busy.store(0, Relaxed);
    match routine {
        Some(routine) => {
            // SAFETY: the program's own routine and argument.
            let result = unsafe { routine(argument) };
            leave_result(result);
            result
        }
        None => ptr::null_mut(),
    }
}

/// The variable of the runtime's own that holds what a thread returns to whoever joins it: null at first.
fn variable_of_result(thread: &Thread) -> u64 {
    NOBODYS | 1 << 52 | u64::from(thread.index.get()) << 3
}

/// The calling thread ends with a result. It depends on what the thread did, so whoever joins it sees it as one sees what
/// a variable holds.
fn leave_result(result: *mut c_void) {
    if result.is_null() {
        return;
    }
    if let Some(inside) = RuntimeGuard::enter() {
        inside.result.set(result as u64);
        variable::store(variable_of_result(inside.thread()), result as u64, 0);
    }
}

/// The calling thread has joined another one, and is about to get its result.
pub fn see_result(child: &Thread, result: *mut c_void, pc: usize) {
    // What it ended with otherwise is its own business: it was cancelled, say.
    if result as u64 == child.result.get() {
        variable::load(variable_of_result(child), result as u64, pc);
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
    if let Some(inside) = RuntimeGuard::enter() {
        retire(inside, || {});
    }
}

/// The calling thread ends, the process with it if it is the last one.
pub fn retire(inside: RuntimeGuard, last: impl FnOnce()) {
    let thread = inside.thread();
    let blocked = signals::close(&inside);
    Process::thread_ends(&inside);
    inside.forget();
    mutex::leave_robust_ones();
    alternate_stack::end(thread);
    stack::end(thread);
    plan::before_end();
    failed_join::ends(thread);
    end();
    REGISTER.alive.set(REGISTER.alive.get() - 1);
    if REGISTER.alive.get() == 0 {
        last();
        pending::push(Record::Note { note: Note::Finished });
        // Nothing is recorded any more, and what the process does at its end may wait for signals.
        sys::block_signals(blocked);
    }
    if thread.detached.get() {
        REGISTER.forget(thread);
        thread.handle.set(0);
    }
    let number = thread.os_id.load(Relaxed);
    // The first thread ends with the process.
    SCHEDULER.retire(thread, if number == sys::process_id() { 0 } else { number });
}

/// Records the calling thread's end; from here on nothing of it is recorded.
pub fn end() {
    pending::push(Record::End { pc: 0 });
    set_slot(&UNRECORDED);
}

export! {
    pthread_create = create, "r8";
}
