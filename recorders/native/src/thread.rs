//! What the runtime knows of a thread, and how a thread finds it.
//!
//! A hook runs at every memory access, so the way to a thread's own data must be one load: an
//! initial-exec TLS slot. Stable Rust has no `#[thread_local]` and `thread_local!` compiles to a
//! call in a shared object, hence the slot is laid out and read in assembly.

use crate::baton::{self, HOLDER, UNDISTURBED};
use crate::interface::marks::Ignores;
use crate::policy::Touched;
use crate::start::RING;
use crate::{clocks, sys};
use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::slice;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, compiler_fence};
use recorder_ring::Waits;

global_asm!(
    ".section .tbss.witness,\"awT\",@nobits",
    ".p2align 3",
    ".type witness_thread,@object",
    ".size witness_thread,8",
    "witness_thread:",
    ".zero 8",
    ".text",
);

/// A routine that `pthread_create` starts.
pub type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A thread of the program.
///
/// `Cell`s are used by the thread itself and, while it does not run, by the holder of the
/// scheduler's lock; the atomics also by others at any time.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Thread {
    /// Not 0 while the thread is inside the runtime: hooks that it reaches then do nothing.
    pub busy: AtomicU32,
    /// Its number in the trace.
    pub index: Cell<u32>,
    /// Hooks passed, but for those since it was undisturbed.
    pub ticks: AtomicU64,
    /// The tick at which it looks up: to give way, or for something else.
    pub switch_at: AtomicU64,
    /// A write whose value is not known yet: the hook runs before the store.
    pub pending: PendingWrite,
    /// The events of the trace when it was undisturbed; [`DISTURBED`] if it is not.
    pub undisturbed_at: Cell<u64>,
    /// The tick at which it gives way.
    pub turn_ends: AtomicU64,
    /// Its call stack while another thread runs: see [`events`](crate::events).
    pub call_stack: AtomicU32,
    /// The last atomic load: a hash of place and value, and how often it came in a row.
    pub last_load: Cell<u64>,
    pub same_loads: Cell<u32>,
    /// Under `pct` and `pos`, the thread with the highest one runs.
    pub priority: Cell<i64>,
    /// Under `pos`, what it does next.
    pub touches: Cell<[Touched; 2]>,
    /// How far it had come when it had been interrupted, and went on.
    pub interrupted_at: Cell<(u64, u64)>,
    /// It waits for a deadline that may come at any point.
    pub may_wake: Cell<bool>,
    /// See [`state`].
    pub state: AtomicU8,
    /// What it is blocked on.
    pub key: Cell<usize>,
    /// What it does not want to be reported.
    pub ignores: Ignores,
    /// What it waits for there, of which object, and where it began to.
    pub waits_for: Cell<Option<(Waits, usize, usize)>>,
    /// Until when, on the monotonic clock; [`NEVER`] if it has no limit.
    pub deadline: Cell<i64>,
    /// Why its last wait ended.
    pub woken_by: Cell<Woken>,
    /// How often it was woken from a wait on a futex.
    pub calls: Cell<u32>,
    /// Whether a signal handler ends its wait.
    pub interruptible: Cell<bool>,
    /// Whether its being cancelled does.
    pub cancellable: Cell<bool>,
    /// Somebody wants it to end.
    pub cancelled: Cell<bool>,
    /// It is in a call outside, from which it did not return.
    pub in_call: Cell<bool>,
    /// It wants to end wherever it is then.
    pub asynchronous: Cell<bool>,
    /// Somebody who joins it has found it running.
    pub found_running: Cell<bool>,
    /// It does not want to end now.
    pub uncancellable: Cell<bool>,
    /// A bit for each signal whose handler is still to run: see [`signals`](crate::signals).
    pub deferred: AtomicU64,
    /// How many of its waits on one key signal handlers interrupt, this one among them; 0 if none does.
    pub interrupted: Cell<usize>,
    /// 1 if it should look around; it sleeps on this word.
    pub word: AtomicU32,
    /// The kernel's number of it; 0 until it runs.
    pub os_id: AtomicI32,
    /// `pthread_self()`; 0 when joined.
    pub handle: Cell<libc::pthread_t>,
    pub detached: Cell<bool>,
    pub routine: Cell<Option<Routine>>,
    pub argument: Cell<*mut c_void>,
    /// The signals that it blocks from its start on, by its creator's wish.
    pub signal_mask: Cell<u64>,
    /// Whether its stack is memory of the program's own, or the system's.
    pub brings_stack: Cell<bool>,
    /// Its stack, if the trace knows it.
    pub stack: Cell<usize>,
    /// And where it ends.
    pub stack_end: Cell<usize>,
    /// How often the destructor that ends it was put off.
    pub destructor_rounds: Cell<u32>,
    /// It waits in code of a library, which looks again if it is woken without a reason; how often it was, along a plan.
    pub in_library: Cell<bool>,
    pub woken_in_vain: Cell<u32>,
    /// Variables of the runtime's own that it made.
    pub variables: Cell<u64>,
    /// Its time, where clocks stand.
    pub own_time: clocks::OwnTime,
    /// What OpenMP knows of it, and how many tasks it created that others could execute.
    pub openmp: Cell<*const c_void>,
    pub tasks: Cell<u64>,
    /// Of a fiber that runs, or has run: the thread of the kernel's that it runs on.
    pub host: Cell<*const Thread>,
    /// The next one in the list of threads that are not joined yet, or of unused records.
    pub next: Cell<*const Thread>,
}

// SAFETY: see the struct's own rule about its `Cell`s.
unsafe impl Sync for Thread {}

/// A write that a hook announced.
#[derive(Debug)]
pub struct PendingWrite {
    pub addr: Cell<usize>,
    pub pc: Cell<usize>,
    /// 0 if there is none.
    pub size: Cell<usize>,
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

/// No number of events.
const DISTURBED: u64 = u64::MAX;

/// No deadline.
pub const NEVER: i64 = i64::MAX;

/// Where a thread stands with the scheduler.
pub mod state {
    /// Not started yet.
    pub const NEW: u8 = 0;
    /// Could run.
    pub const READY: u8 = 1;
    /// Has the baton.
    pub const RUNNING: u8 = 2;
    /// Waits for another thread or for its deadline.
    pub const BLOCKED: u8 = 3;
    /// In a call that the runtime does not model, without the baton.
    pub const OUTSIDE: u8 = 4;
    /// Over.
    pub const ENDED: u8 = 5;
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Another thread that woke it.
    Thread,
    /// Its deadline.
    Deadline,
    /// A signal handler that ran.
    Signal,
    /// Only signal handlers that let calls go on (`SA_RESTART`): a wait with no limit in time begins again.
    Restart,
    /// It is to be cancelled, unless it does not want to be.
    Cancel,
}

impl Thread {
    const fn new(busy: u32) -> Self {
        Self {
            busy: AtomicU32::new(busy),
            index: Cell::new(0),
            ticks: AtomicU64::new(0),
            switch_at: AtomicU64::new(0),
            undisturbed_at: Cell::new(DISTURBED),
            turn_ends: AtomicU64::new(0),
            ignores: Ignores {
                reads: Cell::new(0),
                writes: Cell::new(0),
            },
            pending: PendingWrite {
                addr: Cell::new(0),
                pc: Cell::new(0),
                size: Cell::new(0),
            },
            call_stack: AtomicU32::new(0),
            last_load: Cell::new(0),
            same_loads: Cell::new(0),
            priority: Cell::new(0),
            touches: Cell::new(Touched::NOTHING),
            interrupted_at: Cell::new((0, 0)),
            may_wake: Cell::new(false),
            state: AtomicU8::new(state::NEW),
            key: Cell::new(0),
            waits_for: Cell::new(None),
            deadline: Cell::new(NEVER),
            woken_by: Cell::new(Woken::Thread),
            calls: Cell::new(0),
            interruptible: Cell::new(false),
            cancellable: Cell::new(false),
            cancelled: Cell::new(false),
            in_call: Cell::new(false),
            asynchronous: Cell::new(false),
            found_running: Cell::new(false),
            uncancellable: Cell::new(false),
            deferred: AtomicU64::new(0),
            interrupted: Cell::new(0),
            word: AtomicU32::new(0),
            os_id: AtomicI32::new(0),
            handle: Cell::new(0),
            detached: Cell::new(false),
            routine: Cell::new(None),
            argument: Cell::new(ptr::null_mut()),
            signal_mask: Cell::new(0),
            brings_stack: Cell::new(false),
            stack: Cell::new(0),
            stack_end: Cell::new(0),
            destructor_rounds: Cell::new(0),
            in_library: Cell::new(false),
            woken_in_vain: Cell::new(0),
            variables: Cell::new(0),
            own_time: clocks::OwnTime::new(),
            openmp: Cell::new(ptr::null()),
            tasks: Cell::new(0),
            host: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Places for so many threads, in memory of their own that is never given back.
    pub fn allocate(count: usize) -> &'static [Thread] {
        let first = sys::pages((count * size_of::<Thread>()).next_multiple_of(4096)).cast::<Thread>();
        // SAFETY: fresh, page aligned and large enough.
        unsafe {
            (0..count).for_each(|at| first.add(at).write(Thread::new(0)));
            slice::from_raw_parts(first, count)
        }
    }

    /// The thread is no longer inside the runtime.
    #[inline(always)]
    pub fn leave(&self) {
        if !ptr::eq(UNDISTURBED.load(Relaxed), self) && ptr::eq(HOLDER.load(Relaxed), self) {
            self.go_undisturbed();
        }
        compiler_fence(SeqCst);
        self.busy.store(0, Relaxed);
    }

    /// Lets the hooks of the thread, which has the baton, do nothing but record until its turn is over.
    #[inline(never)]
    extern "C" fn go_undisturbed(&self) {
        let (ticks, at) = (self.ticks.load(Relaxed), self.switch_at.load(Relaxed));
        if at <= ticks {
            return;
        }
        // SAFETY: the ring is attached while there is a baton, which is this thread's.
        unsafe {
            self.undisturbed_at.set(RING.events());
            RING.due_after(at - ticks);
        }
        UNDISTURBED.store(ptr::from_ref(self).cast_mut(), Relaxed);
        // A signal may have come meanwhile.
        compiler_fence(SeqCst);
        if self.switch_at.load(Relaxed) == 0 {
            baton::disturb();
        }
    }

    /// Counts the hooks that the thread passed undisturbed: about one for each event.
    #[inline(always)]
    pub fn count_hooks(&self) {
        let before = self.undisturbed_at.get();
        if before != DISTURBED {
            self.undisturbed_at.set(DISTURBED);
            baton::disturb();
            // SAFETY: the ring is attached while there is a baton, which is this thread's.
            let passed = unsafe { RING.events() } - before;
            self.ticks.store(self.ticks.load(Relaxed) + passed, Relaxed);
        }
    }

    /// Whether a thread that waits in a library is worth waking without a reason.
    pub fn looks_again(&self) -> bool {
        const OFTEN: u32 = 10_000;
        let before = self.woken_in_vain.get();
        self.woken_in_vain.set(before + u32::from(self.in_library.get()));
        self.in_library.get() && before < OFTEN
    }

    /// Its turn, which may be longer, ends at a tick. It has the baton.
    pub fn end_turn_by(&self, tick: u64) {
        self.turn_ends.fetch_min(tick, Relaxed);
        self.switch_at.fetch_min(tick, Relaxed);
        baton::disturb();
    }

    /// Whether it is to end as soon as it comes to a hook.
    pub fn ends_at_hook(&self) -> bool {
        self.cancelled.get() && self.asynchronous.get() && !self.uncancellable.get()
    }

    /// Makes an old record as good as new.
    pub fn reset(&self) {
        // SAFETY: the caller found it among the unused ones, so nobody else has it; all of it are
        // cells and atomics.
        unsafe { ptr::from_ref(self).cast_mut().write(Thread::new(0)) };
    }
}

/// Stands for every thread that is not recorded: always busy, never changed.
pub static UNRECORDED: Thread = Thread::new(1);

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

/// Does what may sleep, within a hook of an undisturbed thread or inside the runtime.
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
