//! The same addresses in every run.
//!
//! The kernel places programs, libraries, stacks and mappings at random. A recorded run is easier
//! to compare with another, and to repeat, without that.

/// Turns the randomization off for the programs that this process starts from now on. Where that
/// is not allowed (some containers), nothing happens, and runs differ in their addresses.
pub fn keep_in_place() {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: no memory is involved; the setting takes effect at the next exec.
    unsafe {
        let now = libc::personality(ASK);
        if now >= 0 {
            libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
    }
}
