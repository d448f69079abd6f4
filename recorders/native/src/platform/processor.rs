//! What the processor can do.

use core::arch::x86_64::__cpuid;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Whether it saves all its vector registers by one instruction (`xsave`), and the system lets it.
pub static SAVES_VECTORS: AtomicBool = AtomicBool::new(false);

/// Finds that out.
pub fn start() {
    const OSXSAVE: u32 = 1 << 27;
    SAVES_VECTORS.store(__cpuid(1).ecx & OSXSAVE != 0, Relaxed);
}
