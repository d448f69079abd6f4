//! Descriptors as memory: a number that was given out is a block, which each call that is given it uses, and closing it
//! frees.
//!
//! A call beside the `close` of its descriptor gets whatever file the number means by then: that is a race as a use
//! beside a `free` is. `dup2` onto an open descriptor uses both: the kernel replaces the one by the other in one step,
//! so that the number means a file of the program's all the time.
//!
//! Each life of a number is a block of its own, in addresses that no program has. Not every life is seen to begin
//! (standard output, what libraries open): then the block was always there, and its end is a write.

use crate::events::{OBJECT_BYTES, modules, pending};
use crate::platform::memory::NOBODYS;
use crate::platform::sys;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::recording;
use crate::scheduling::thread::slot;
use core::cell::Cell;
use libc::c_int;
use recorder_ring::Record;
use recorder_ring::plan::kind;
use recorder_scheduler::intent::{Access, CLOSING, Intent};
use std::vec::Vec;

/// Descriptors from here on are not followed.
pub const MOST_FILES: usize = 1 << 16;

/// Where the blocks lie: `trace-format/FORMAT.md`, section 10.
const BLOCKS: u64 = NOBODYS | 1 << 57;

/// A life of a number.
#[derive(Clone, Copy)]
struct Life {
    /// How many ended before it.
    before: u32,
    /// Its beginning is in the trace.
    is_known: bool,
}

static LIVES: Lives = Lives(
    [const {
        Cell::new(Life {
            before: 0,
            is_known: false,
        })
    }; MOST_FILES],
);

struct Lives([Cell<Life>; MOST_FILES]);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Lives {}

impl Life {
    fn block(self, file: c_int) -> u64 {
        BLOCKS | (file as u64) << 32 | u64::from(self.before) << 3
    }

    fn next(self, is_known: bool) -> Life {
        Life {
            before: self.before + 1,
            is_known,
        }
    }
}

/// The life that an operation on the number is about.
fn life(file: c_int) -> Option<Life> {
    let life = LIVES.0.get(file as usize)?.get();
    if life.is_known || life.before == 0 || is_open(file) {
        return Some(life);
    }
    // It was closed, and nobody opened it since: the operation fails, and comes too late for the one before.
    Some(Life {
        before: life.before - 1,
        ..life
    })
}

/// Whether the number means a file now.
pub fn is_open(file: c_int) -> bool {
    // SAFETY: no memory is involved.
    unsafe { sys::call(libc::SYS_fcntl, file as usize, libc::F_GETFD as usize, 0, 0) >= 0 }
}

/// Whether it is the standard input or output that the program was started with: a file in one run, and none in the
/// next.
pub fn is_given(file: c_int) -> bool {
    let life = LIVES.0.get(file as usize).map(Cell::get);
    file <= libc::STDERR_FILENO && life.is_some_and(|life| life.before == 0 && !life.is_known)
}

/// Not in the child of a `vfork`: its descriptors are others.
pub fn is_followed() -> bool {
    sys::process_id() == recording::process()
}

/// In a forked child: its trace has no event of what was opened before.
pub fn start_over() {
    for life in &LIVES.0 {
        let known = life.get();
        if known.is_known {
            life.set(Life {
                is_known: false,
                ..known
            });
        }
    }
}

fn intent(kind: u8, life: Option<Life>, file: c_int, pc: usize) -> Intent {
    life.map_or(Intent::NONE, |life| {
        Intent::of(Access::one(pc, kind, life.block(file) as usize, OBJECT_BYTES))
    })
}

/// Enters for a call that uses a descriptor. What libraries do with theirs, they order by what nobody sees.
pub fn enter(file: c_int, pc: usize) -> Option<RuntimeGuard> {
    if !modules::is_instrumented(pc) {
        return crate::runtime::accesses::enter_system(pc);
    }
    let inside = RuntimeGuard::enter_for(|| intent(kind::USE, life(file), file, pc))?;
    used(file, pc);
    // The call itself has a turn of its own.
    inside.await_turn();
    Some(inside)
}

/// As [`enter`], where nothing but what the program itself calls is watched.
pub fn enter_program(file: c_int, pc: usize) -> Option<RuntimeGuard> {
    modules::is_instrumented(pc).then(|| enter(file, pc)).flatten()
}

/// The call uses one more descriptor. The caller is inside.
pub fn also_uses(file: c_int, pc: usize) {
    let thread = slot();
    if modules::is_instrumented(pc) && !thread.is_null() {
        // SAFETY: a slot holds a thread, which lives for ever.
        let inside = RuntimeGuard::of(unsafe { &*thread });
        inside.await_turn_before(|| intent(kind::USE, life(file), file, pc));
        used(file, pc);
        inside.await_turn();
    }
}

fn used(file: c_int, pc: usize) {
    if let Some(life) = life(file).filter(|_| is_followed()) {
        pending::push(Record::Use {
            pc: pc as u64,
            object: life.block(file),
        });
        super::depends_on(file, pc);
    }
}

/// Enters for a call that closes a descriptor.
pub fn enter_to_close(file: c_int, pc: usize) -> Option<RuntimeGuard> {
    if !modules::is_instrumented(pc) {
        return crate::runtime::accesses::enter_system(pc);
    }
    RuntimeGuard::enter_for(|| intent(CLOSING, life(file), file, pc))
}

/// A descriptor is about to be closed, if it is open; whether it is.
pub fn closes(file: c_int, pc: usize) -> bool {
    let open = is_open(file);
    if let Some(life) = life(file).filter(|_| is_followed()) {
        let (addr, by_program) = (life.block(file), modules::is_instrumented(pc));
        if open {
            LIVES.0[file as usize].set(life.next(false));
        }
        match by_program.then_some((open, life.is_known)) {
            None => {}
            Some((false, _)) => used(file, pc),
            Some((true, true)) => pending::push(Record::Free { pc: pc as u64, addr }),
            Some((true, false)) => pending::push(Record::Write {
                pc: pc as u64,
                addr,
                size: OBJECT_BYTES as u8,
                value: 0,
            }),
        }
    }
    open
}

/// What the program gets to see of a descriptor that was given out: along a plan the number that it had in the recorded
/// run, if that is free. Another order of opening and closing gives out others, as another order of allocations does
/// addresses; but they are small numbers, which programs compare and use as indices.
pub fn as_recorded(file: c_int, pc: usize) -> c_int {
    if file < 0 {
        return file;
    }
    moved(file, recorded(file, pc))
}

/// The same of those that were given out at once.
pub fn all_as_recorded(files: &mut [c_int], pc: usize) {
    let wanted: Vec<c_int> = files.iter().map(|&file| recorded(file, pc)).collect();
    // What one is to be, another one may be for now.
    let mut is_over = false;
    while !is_over {
        is_over = true;
        for (file, &wanted) in files.iter_mut().zip(&wanted) {
            let before = *file;
            *file = moved(before, wanted);
            is_over &= *file == before;
        }
    }
}

/// The number that was given out in the recorded run.
fn recorded(file: c_int, pc: usize) -> c_int {
    crate::runtime::accesses::returns(file.into(), pc) as c_int
}

/// Gives a descriptor that was just given out another number, if that is free; the one that it has then.
fn moved(file: c_int, wanted: c_int) -> c_int {
    if wanted == file || wanted < 0 {
        return file;
    }
    // SAFETY: no memory is involved. Both numbers are nobody's yet: the kernel gives the copy one that is free, since a
    // thread that is in the kernel without the baton may get the wanted one at any time.
    unsafe {
        let from = file as usize;
        let closes_on_exec = sys::call(libc::SYS_fcntl, from, libc::F_GETFD as usize, 0, 0) & 1 != 0;
        let copies = if closes_on_exec {
            libc::F_DUPFD_CLOEXEC
        } else {
            libc::F_DUPFD
        };
        let copy = sys::call(libc::SYS_fcntl, from, copies as usize, wanted as usize, 0);
        let (kept, closed) = if copy == wanted as isize {
            (wanted, file)
        } else {
            (file, copy as c_int)
        };
        if closed >= 0 {
            sys::call(libc::SYS_close, closed as usize, 0, 0, 0);
        }
        kept
    }
}

/// A number was given out.
pub fn opened(file: c_int, pc: usize) {
    if let Some(entry) = LIVES.0.get(file as usize)
        && is_followed()
    {
        let life = entry.get();
        // Nobody saw the end of a life that began.
        let now = if life.is_known {
            life.next(true)
        } else {
            Life { is_known: true, ..life }
        };
        entry.set(now);
        pending::push(Record::Alloc {
            pc: pc as u64,
            addr: now.block(file),
            size: OBJECT_BYTES as u64,
        });
    }
}
