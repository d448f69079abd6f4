//! What the runtime knows of a thread, and how a thread finds it.
//!
//! A hook runs at every memory access, so the way to a thread's own data must be one load: an
//! initial-exec TLS slot. Stable Rust has no `#[thread_local]` and `thread_local!` compiles to a
//! call in a shared object, hence the slot is laid out and read in assembly.

use crate::platform::real::Routine;
use crate::platform::sys;
use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::ffi::c_void;
use core::ops::Deref;
use core::ptr;
use core::slice;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32, compiler_fence};
use recorder_scheduler::{Scheduled, record};

pub use recorder_scheduler::{NEVER, Woken, state};

global_asm!(
    ".section .tbss.witness,\"awT\",@nobits",
    ".p2align 3",
    ".type witness_thread,@object",
    ".size witness_thread,8",
    "witness_thread:",
    ".zero 8",
    ".text",
);

/// No number of events: see [`Thread::fast_since`].
pub const NOT_OWNED: u64 = u64::MAX;

record! {
    /// A thread of the program.
    ///
    /// Its cells are used by the thread itself and by the holder of the baton, as those of [`Scheduled`] are; the
    /// atomics also by others at any time.
    #[repr(C, align(64))]
    pub struct Thread {
        /// A write whose value is not known yet: the hook runs before the store.
        pub pending: PendingWrite = PendingWrite::new(),
        /// The events of the trace when it got the fast path; [`NOT_OWNED`] if it has not.
        pub fast_since: Cell<u64> = Cell::new(NOT_OWNED),
        /// What the scheduler knows of it.
        pub scheduled: Scheduled = Scheduled::new(),
        /// Its call stack while another thread runs: see [`events`](crate::events).
        pub call_stack: AtomicU32 = AtomicU32::new(0),
        /// The last atomic load: a hash of place and value, and how often it came in a row.
        pub last_load: Cell<u64> = Cell::new(0),
        pub same_loads: Cell<u32> = Cell::new(0),
        /// How far it had come when it had been interrupted, and went on.
        pub interrupted_at: Cell<(u64, u64)> = Cell::new((0, 0)),
        /// Where it stands, until it is shown.
        pub frame: Cell<Frame> = Cell::new(Frame::NONE),
        /// What it does not want to be reported.
        pub ignores: Ignores = Ignores::new(),
        /// Its waits for futexes.
        pub futex: FutexWait = FutexWait::new(),
        /// It is in a call outside, from which it did not return.
        pub in_call: Cell<bool> = Cell::new(false),
        /// A signal's handler ran in a call outside that does not let it go on (no `SA_RESTART`).
        pub call_ended: Cell<bool> = Cell::new(false),
        /// It wants to end wherever it is then.
        pub asynchronous: Cell<bool> = Cell::new(false),
        /// Somebody who joins it has found it running.
        pub found_running: Cell<bool> = Cell::new(false),
        /// It does not want to end now.
        pub uncancellable: Cell<bool> = Cell::new(false),
        /// The kernel's number of it; 0 until it runs.
        pub os_id: AtomicI32 = AtomicI32::new(0),
        /// `pthread_self()`; 0 when joined.
        pub handle: Cell<libc::pthread_t> = Cell::new(0),
        pub detached: Cell<bool> = Cell::new(false),
        /// What it has returned to whoever joins it.
        pub result: Cell<u64> = Cell::new(0),
        pub routine: Cell<Option<Routine>> = Cell::new(None),
        pub argument: Cell<*mut c_void> = Cell::new(ptr::null_mut()),
        /// The signals that it blocks from its start on, by its creator's wish.
        pub signal_mask: Cell<u64> = Cell::new(0),
        /// Whether its stack is memory of the program's own, or the system's.
        pub brings_stack: Cell<bool> = Cell::new(false),
        /// Its stack, if the trace knows it.
        pub stack: Cell<usize> = Cell::new(0),
        /// And where it ends.
        pub stack_end: Cell<usize> = Cell::new(0),
        /// Memory for signal handlers of a thread that has no stack left; 0 if it brought its own.
        pub alternate_stack: Cell<usize> = Cell::new(0),
        /// How often the destructor that ends it was put off.
        pub destructor_rounds: Cell<u32> = Cell::new(0),
        /// Variables of the runtime's own that it made.
        pub variables: Cell<u64> = Cell::new(0),
        /// How often it was given a name.
        pub named: Cell<u64> = Cell::new(0),
        /// Its time, where clocks stand.
        pub own_time: OwnTime = OwnTime::new(),
        /// What OpenMP knows of it, and how many tasks it created that others could execute.
        pub openmp: Cell<*const c_void> = Cell::new(ptr::null()),
        pub tasks: Cell<u64> = Cell::new(0),
        /// Of a fiber that runs, or has run: the thread of the kernel's that it runs on.
        pub host: Cell<*const Thread> = Cell::new(ptr::null()),
        /// The next one in the list of threads that are not joined yet, or of unused records.
        pub next: Cell<*const Thread> = Cell::new(ptr::null()),
    }
}

// SAFETY: see the struct's own rule about its cells.
unsafe impl Sync for Thread {}

impl Deref for Thread {
    type Target = Scheduled;
    #[inline(always)]
    fn deref(&self) -> &Scheduled {
        &self.scheduled
    }
}

record! {
    /// A write that a hook announced.
    pub struct PendingWrite {
        pub addr: Cell<usize> = Cell::new(0),
        pub pc: Cell<usize> = Cell::new(0),
        /// 0 if there is none.
        pub size: Cell<usize> = Cell::new(0),
    }
}

/// Where a thread stands that calls the runtime.
#[derive(Clone, Copy)]
pub struct Frame {
    /// rbx, rbp, r12 to r15.
    pub registers: [u64; Frame::REGISTERS],
    /// Where it goes on.
    pub pc: u64,
    /// The lowest word of its own on its stack.
    pub stack: usize,
}

impl Frame {
    /// Registers that a called function preserves, but for the stack pointer.
    pub const REGISTERS: usize = 6;

    /// Nowhere that anybody wants to know of.
    pub const NONE: Frame = Frame {
        registers: [0; Frame::REGISTERS],
        pc: 0,
        stack: 0,
    };
}

impl PendingWrite {
    /// Takes it away; its place, code position and size.
    pub fn take(&self) -> (usize, usize, usize) {
        (self.addr.get(), self.pc.get(), self.size.replace(0))
    }

    /// Puts back what was taken.
    pub fn put_back(&self, (addr, pc, size): (usize, usize, usize)) {
        self.addr.set(addr);
        self.pc.set(pc);
        self.size.set(size);
    }
}

record! {
    /// How often a thread said that its reads, and its writes, are to be ignored, and did not take it back.
    pub struct Ignores {
        pub reads: Cell<u32> = Cell::new(0),
        pub writes: Cell<u32> = Cell::new(0),
    }
}

record! {
    /// A thread's waits for futexes.
    pub struct FutexWait {
        /// How often it was woken from one without a limit.
        pub calls: Cell<u32> = Cell::new(0),
        /// How often from one with a limit.
        pub calls_in_time: Cell<u32> = Cell::new(0),
        /// Whether its wait has a limit.
        pub is_timed: Cell<bool> = Cell::new(false),
        /// Which wakes its wait is for; [`ALL`](FutexWait::ALL) if it is in none.
        pub mask: Cell<u32> = Cell::new(FutexWait::ALL),
        /// What it has added to the variable of the word that it waits for.
        pub ticket: Cell<u32> = Cell::new(0),
        /// Where the words are that it waits for, if for several, and how many.
        pub words: Cell<(usize, usize)> = Cell::new((0, 0)),
        /// The position of the word that it was woken by, among several.
        pub woken_at: Cell<usize> = Cell::new(0),
    }
}

impl FutexWait {
    /// The mask of waits for any wake, and of wakes of whoever waits.
    pub const ALL: u32 = u32::MAX;
}

record! {
    /// A thread's own time, where clocks stand.
    pub struct OwnTime {
        /// How far it is ahead of where they stand.
        pub passed: Cell<i64> = Cell::new(0),
        /// How often it looked.
        pub looks: Cell<u32> = Cell::new(0),
        /// The last deadline that it asked for, and how far ahead that was.
        pub deadline: Cell<(i64, i64)> = Cell::new((0, 0)),
    }
}

impl Thread {
    /// Places for so many threads, in memory of their own that is never given back.
    pub fn allocate(count: usize) -> &'static [Thread] {
        let first = sys::pages((count * size_of::<Thread>()).next_multiple_of(4096)).cast::<Thread>();
        // SAFETY: fresh, page aligned and large enough.
        unsafe {
            (0..count).for_each(|at| first.add(at).write(Thread::new()));
            slice::from_raw_parts(first, count)
        }
    }

    /// Whether it is to end as soon as it comes to a hook.
    pub fn ends_at_hook(&self) -> bool {
        self.cancelled.get() && self.asynchronous.get() && !self.uncancellable.get()
    }
}

/// Stands for every thread that is not recorded: always busy, never changed.
pub static UNRECORDED: Thread = {
    let mut thread = Thread::new();
    thread.scheduled.busy = AtomicU32::new(1);
    thread
};

/// The calling thread's record; null if it has none yet.
#[inline(always)]
pub fn slot() -> *const Thread {
    let thread: *const Thread;
    // SAFETY: reads this thread's own slot, at an offset that the dynamic linker fixed at start.
    unsafe {
        asm!(
            "mov {t}, qword ptr [rip + witness_thread@GOTTPOFF]",
            "mov {t}, qword ptr fs:[{t}]",
            t = out(reg) thread,
            options(nostack, preserves_flags, readonly),
        );
    }
    thread
}

/// Does what may sleep, within a hook on the fast path or inside the runtime.
#[inline(always)]
pub fn while_busy(work: impl FnOnce()) {
    // SAFETY: who comes here has a record, which lives for ever.
    let thread = unsafe { &*slot() };
    let before = thread.busy.load(Relaxed);
    thread.busy.store(1, Relaxed);
    compiler_fence(SeqCst);
    work();
    compiler_fence(SeqCst);
    thread.busy.store(before, Relaxed);
}

/// Sets the calling thread's record.
pub fn set_slot(thread: &'static Thread) {
    // SAFETY: as in `slot`.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + witness_thread@GOTTPOFF]",
            "mov qword ptr fs:[{offset}], {thread}",
            offset = out(reg) _,
            thread = in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}
