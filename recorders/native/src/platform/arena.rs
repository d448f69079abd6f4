//! Memory of the runtime's own: what it must keep of the run (objects, blocks, call stacks) lives
//! apart from the program's heap, whose functions are hooks of this runtime.
//!
//! Blocks are of powers of two, from pages that are never given back; freed ones are used again.

use crate::platform::sys;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ptr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The smallest block, 2^4 bytes, and the largest that comes from a chunk.
const SMALLEST: u32 = 4;
const LARGEST: u32 = 16;
/// Bytes taken from the system at once.
const CHUNK: usize = 1 << 20;
/// To what the system aligns them, and so the most that a block can be aligned to.
const PAGE: usize = 4096;

struct Arena {
    locked: AtomicBool,
    lists: UnsafeCell<Lists>,
}

struct Lists {
    /// Free blocks by size; each begins with the address of the next.
    free: [*mut u8; (LARGEST + 1) as usize],
    /// What is left of the last chunk.
    chunk: *mut u8,
    left: usize,
}

// SAFETY: `lists` is used with the lock held.
unsafe impl Sync for Arena {}

#[global_allocator]
static ARENA: Arena = Arena {
    locked: AtomicBool::new(false),
    lists: UnsafeCell::new(Lists {
        free: [ptr::null_mut(); (LARGEST + 1) as usize],
        chunk: ptr::null_mut(),
        left: 0,
    }),
};

/// The power of two that a block of this layout is taken from.
fn class(layout: Layout) -> u32 {
    let bytes = layout.size().max(layout.align()).max(1 << SMALLEST);
    bytes.next_power_of_two().trailing_zeros()
}

impl Arena {
    fn with<R>(&self, work: impl FnOnce(&mut Lists) -> R) -> R {
        while self
            .locked
            .compare_exchange_weak(false, true, Acquire, Relaxed)
            .is_err()
        {
            spin_loop();
        }
        // SAFETY: the lock is held.
        let result = work(unsafe { &mut *self.lists.get() });
        self.locked.store(false, Release);
        result
    }
}

// SAFETY: blocks are aligned to their size, a power of two that is not below their alignment, or to pages if they are
// longer; those that want more than that are refused. Each is handed out once until it is freed.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return ptr::null_mut();
        }
        let class = class(layout);
        if class > LARGEST {
            return sys::pages(layout.size().next_multiple_of(PAGE));
        }
        self.with(|lists| {
            let list = &mut lists.free[class as usize];
            let block = *list;
            if !block.is_null() {
                // SAFETY: a free block holds the address of the next one.
                *list = unsafe { block.cast::<*mut u8>().read() };
                return block;
            }
            let bytes = 1 << class;
            let skip = lists.chunk.align_offset(bytes.min(PAGE));
            if lists.left < skip + bytes {
                lists.chunk = sys::pages(CHUNK);
                lists.left = CHUNK;
            } else {
                // SAFETY: within the chunk, of which so much is left.
                lists.chunk = unsafe { lists.chunk.add(skip) };
                lists.left -= skip;
            }
            let block = lists.chunk;
            // SAFETY: within the chunk: the block's bytes are left of it.
            lists.chunk = unsafe { block.add(bytes) };
            lists.left -= bytes;
            block
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        if class > LARGEST {
            let len = layout.size().next_multiple_of(PAGE);
            // SAFETY: mapped by `alloc` with this length.
            unsafe { sys::call(libc::SYS_munmap, block as usize, len, 0, 0) };
            return;
        }
        self.with(|lists| {
            let list = &mut lists.free[class as usize];
            // SAFETY: the block is free and has room for an address.
            unsafe { block.cast::<*mut u8>().write(*list) };
            *list = block;
        });
    }
}
