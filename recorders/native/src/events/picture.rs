//! What threads show of themselves, where somebody explores the program: their registers and the nearest words of their
//! stacks, at the call of an operation that others can tell.
//!
//! There a thread stands at a call. Of its registers only those that a called function preserves, and of its memory that
//! nobody else uses mostly its stack, can influence what it does later. So two histories after which these are equal
//! mostly go on alike, and which of the words count can be learnt (`src/explore/alike`). Ordinary recordings want none:
//! to them it is one comparison at each such call.

use crate::events;
use crate::scheduling::thread::{Frame, slot};
use core::arch::naked_asm;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::Record;

/// How many words of stacks are shown; 0 if nothing is.
pub static WORDS: AtomicU32 = AtomicU32::new(0);

/// As [`export`](crate::platform::export::export), of functions at whose calls a thread shows itself.
macro_rules! export_shown {
    ($($name:ident = $body:path, $register:literal;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "cmp dword ptr [rip + {words}], 0",
                "jne 3f",
                "2:",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                "3:",
                "call {note}",
                "jmp 2b",
                words = sym $crate::events::picture::WORDS,
                note = sym $crate::events::picture::note,
                body = sym $body,
            )
        }
    )* };
}
pub(crate) use export_shown;

/// Called first thing in a function of the runtime's: notes where its caller stands, and changes no register of an
/// argument.
#[unsafe(naked)]
pub unsafe extern "C" fn note() {
    naked_asm!(
        "sub rsp, 8",
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r15",
        "push r14",
        "push r13",
        "push r12",
        "push rbp",
        "push rbx",
        "mov rdi, rsp",
        "call {body}",
        "add rsp, 48",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "add rsp, 8",
        "ret",
        body = sym note_saved,
    )
}

/// What [`note`] has pushed, from the lowest address on: [`Frame::REGISTERS`], then eight words of no interest, the return
/// addresses into the runtime's function and into the program, and what is the program's own.
unsafe extern "C" fn note_saved(saved: *const u64) {
    const RETURNS_TO: usize = Frame::REGISTERS + 9;
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    let Some(thread) = (unsafe { slot().as_ref() }) else {
        return;
    };
    if thread.busy.load(Relaxed) != 0 {
        // The runtime calls this on its own behalf.
        return;
    }
    // SAFETY: so many words were pushed.
    let frame = unsafe {
        Frame {
            registers: ptr::read(saved.cast()),
            pc: *saved.add(RETURNS_TO),
            stack: saved.add(RETURNS_TO + 1) as usize,
        }
    };
    thread.frame.set(frame);
}

/// Shows the calling thread, which has the baton, if it came by such a call and was not shown since: before its next
/// event.
pub fn show() {
    // SAFETY: as in `note_saved`.
    let Some(thread) = (unsafe { slot().as_ref() }) else {
        return;
    };
    let frame = thread.frame.replace(Frame::NONE);
    if frame.stack == 0 {
        return;
    }
    let (from, end) = (frame.stack, thread.stack_end.get());
    let is_own = (thread.stack.get()..end).contains(&from);
    let above = if is_own { end - from } else { 0 };
    let count = (above / 8).min(WORDS.load(Relaxed) as usize);
    // SAFETY: words of the thread's own stack that are in use.
    let words = (0..count).map(|at| unsafe { (from as *const u64).add(at).read_volatile() });
    let all = [frame.pc, above as u64].into_iter().chain(frame.registers).chain(words);
    let mut first = None;
    for word in all {
        match first.take() {
            None => first = Some(word),
            Some(first) => events::push(Record::Bytes {
                len: 16,
                words: [first, word],
            }),
        }
    }
    if let Some(last) = first {
        events::push(Record::Bytes {
            len: 8,
            words: [last, 0],
        });
    }
    events::push(Record::Picture);
}
