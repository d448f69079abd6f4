//! Where the program stands while its thread is in the runtime: the registers that it has when the hook returns.
//!
//! Found by unwinding the runtime's own frames. With it the program can go on from there without the runtime's frames:
//! where a signal handler wants it to, or to its end if it is cancelled. Neither the compiler's hooks nor what they
//! call can be unwound in the ordinary way, which is why those frames are skipped and not unwound.

use crate::events::modules;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::fast_path;
use crate::scheduling::thread::Thread;
use core::arch::{global_asm, naked_asm};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{REG_R12, REG_R13, REG_R14, REG_R15, REG_RBP, REG_RBX, REG_RIP, REG_RSP, greg_t};

/// All general registers, in the order of `ucontext_t`.
pub type Registers = [greg_t; 23];

/// A position in the program, with what a call preserves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramContext {
    pc: usize,
    sp: usize,
    rbx: usize,
    rbp: usize,
    r12: usize,
    r13: usize,
    r14: usize,
    r15: usize,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetGR(frame: *mut c_void, register: c_int) -> usize;
}

/// The runtime's own code.
static OWN: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// Whether the position is in the runtime itself.
pub fn is_own(pc: usize) -> bool {
    if OWN.1.load(Relaxed) == 0 {
        let (start, end) = modules::code_around(is_own as fn(usize) -> bool as usize);
        OWN.0.store(start, Relaxed);
        OWN.1.store(end, Relaxed);
    }
    (OWN.0.load(Relaxed)..OWN.1.load(Relaxed)).contains(&pc)
}

/// Looks at one frame; not 0 if it is the program's.
unsafe extern "C" fn step(frame: *mut c_void, found: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: the unwinder's frame and the caller's variable. The numbers are those of the platform's debug format.
    unsafe {
        let pc = _Unwind_GetIP(frame);
        if is_own(pc) {
            return GO_ON;
        }
        let register = |number| _Unwind_GetGR(frame, number);
        found.cast::<ProgramContext>().write(ProgramContext {
            pc,
            sp: _Unwind_GetCFA(frame),
            rbx: register(3),
            rbp: register(6),
            r12: register(12),
            r13: register(13),
            r14: register(14),
            r15: register(15),
        });
    }
    STOP
}

/// The unwinder prepares itself once, under a lock of the C library. Where that is recorded, it must not happen in the
/// middle of the runtime at first, where it is not.
pub fn prepare() {
    if let Some(inside) = RuntimeGuard::enter_and_stay() {
        prepare_inside(&inside);
    }
}

/// As [`prepare`].
pub fn prepare_inside(inside: &RuntimeGuard) {
    inside.in_program(ProgramContext::here);
}

impl ProgramContext {
    /// Where the calling thread's program stands. `None` if that cannot be found out: a few hooks whose arguments take
    /// all registers are frames that nobody can unwind.
    #[inline(never)]
    pub fn here() -> Option<ProgramContext> {
        let mut found = ProgramContext::default();
        // SAFETY: `step` writes a place.
        unsafe { _Unwind_Backtrace(step, (&raw mut found).cast()) };
        (found.pc != 0).then_some(found)
    }

    /// The code position.
    pub fn pc(&self) -> usize {
        self.pc
    }

    /// Puts it in place of what the registers are.
    pub fn put_into(&self, registers: &mut Registers) {
        for (register, value) in self.registers() {
            registers[register as usize] = value as greg_t;
        }
    }

    /// Whether the program shall go on here.
    pub fn is_in(&self, registers: &Registers) -> bool {
        let mut own = self.registers().into_iter();
        own.all(|(register, value)| registers[register as usize] == value as greg_t)
    }

    fn registers(&self) -> [(c_int, usize); 8] {
        [
            (REG_RIP, self.pc),
            (REG_RSP, self.sp),
            (REG_RBX, self.rbx),
            (REG_RBP, self.rbp),
            (REG_R12, self.r12),
            (REG_R13, self.r13),
            (REG_R14, self.r14),
            (REG_R15, self.r15),
        ]
    }

    /// Calls a function as if the program did so here: if it unwinds, then the program's frames and none of ours.
    ///
    /// # Safety
    /// The place is where the calling thread's program stands. Whoever waits for this to return may wait in vain.
    pub unsafe fn call(&self, function: unsafe extern "C-unwind" fn()) {
        // SAFETY: promised by the caller.
        unsafe { witness_call_from(self, function) };
    }
}

unsafe extern "C-unwind" {
    fn witness_call_from(place: *const ProgramContext, function: unsafe extern "C-unwind" fn());
}

// To the unwinder, the caller of this is the program: all that it restores comes from the place, which rbx points to.
// 0x0f: the frame's address is …; 0x10: register … is saved at …; 0x73: rbx plus …; 0x06: what is there.
global_asm!(
    ".globl witness_call_from",
    ".hidden witness_call_from",
    ".type witness_call_from,@function",
    "witness_call_from:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rbx, -16",
    "mov rbx, rdi",
    ".cfi_remember_state",
    ".cfi_escape 0x0f, 3, 0x73, 8, 0x06",
    ".cfi_escape 0x10, 16, 2, 0x73, 0",
    ".cfi_escape 0x10, 3, 2, 0x73, 16",
    ".cfi_escape 0x10, 6, 2, 0x73, 24",
    ".cfi_escape 0x10, 12, 2, 0x73, 32",
    ".cfi_escape 0x10, 13, 2, 0x73, 40",
    ".cfi_escape 0x10, 14, 2, 0x73, 48",
    ".cfi_escape 0x10, 15, 2, 0x73, 56",
    "call rsi",
    ".cfi_restore_state",
    "pop rbx",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore rbx",
    "ret",
    ".cfi_endproc",
    ".size witness_call_from, . - witness_call_from",
);

/// What the thread with the baton goes on with; not on its stack, which it leaves.
static NEXT: Next = Next(UnsafeCell::new([0; 23]));

struct Next(UnsafeCell<Registers>);

// SAFETY: used with the baton.
unsafe impl Sync for Next {}

/// The program goes on with other registers, and the runtime's frames are no more. The thread has the baton and is
/// inside the runtime.
///
/// # Safety
/// The registers are what the program wants to go on with.
pub unsafe fn go_on(thread: &Thread, registers: &Registers) -> ! {
    // SAFETY: the baton is the caller's.
    unsafe { *NEXT.0.get() = *registers };
    fast_path::leave(thread);
    // SAFETY: promised by the caller.
    unsafe { load(NEXT.0.get()) }
}

/// The new stack's pointer is set in one step, to below where the program may have something: a signal may come any
/// time.
#[unsafe(naked)]
unsafe extern "C" fn load(registers: *mut Registers) -> ! {
    naked_asm!(
        "mov rax, [rdi + 8 * {rsp}]",
        "mov rcx, [rdi + 8 * {rip}]",
        "sub rax, 136",
        "mov [rdi + 8 * {rsp}], rax",
        "mov [rax], rcx",
        "mov r8, [rdi]",
        "mov r9, [rdi + 8]",
        "mov r10, [rdi + 16]",
        "mov r11, [rdi + 24]",
        "mov r12, [rdi + 32]",
        "mov r13, [rdi + 40]",
        "mov r14, [rdi + 48]",
        "mov r15, [rdi + 56]",
        "mov rsi, [rdi + 72]",
        "mov rbp, [rdi + 80]",
        "mov rbx, [rdi + 88]",
        "mov rdx, [rdi + 96]",
        "mov rax, [rdi + 104]",
        "mov rcx, [rdi + 112]",
        "mov rsp, [rdi + 8 * {rsp}]",
        "mov rdi, [rdi + 64]",
        "ret 128",
        rsp = const REG_RSP,
        rip = const REG_RIP,
    )
}
