//! What the kernel knows of a socket.

use super::real;
use core::mem::MaybeUninit;
use libc::{c_int, socklen_t, timeval};

/// An option; `None` if the descriptor is of no socket, or has no such option.
///
/// # Safety
/// All zeros are a `T`, and whatever the kernel writes for that option.
unsafe fn option<T>(file: c_int, name: c_int) -> Option<T> {
    let (mut value, mut len) = (MaybeUninit::<T>::zeroed(), size_of::<T>() as socklen_t);
    // SAFETY: room of that length.
    let result = unsafe { real::getsockopt(file, libc::SOL_SOCKET, name, value.as_mut_ptr().cast(), &raw mut len) };
    // SAFETY: promised by the caller.
    (result == 0).then(|| unsafe { value.assume_init() })
}

/// Whether a socket's bytes go only to where it is connected.
pub fn is_stream(file: c_int) -> bool {
    // SAFETY: a number.
    unsafe { option::<c_int>(file, libc::SO_TYPE) == Some(libc::SOCK_STREAM) }
}

/// Whether a socket waits for connections.
pub fn listens(file: c_int) -> bool {
    // SAFETY: a number.
    unsafe { option::<c_int>(file, libc::SO_ACCEPTCONN) == Some(1) }
}

/// Whether calls on it that wait for this (`POLLIN` or `POLLOUT`) wait only for so long.
pub fn has_limit(file: c_int, wanted: libc::c_short) -> bool {
    let name = match wanted {
        libc::POLLIN => libc::SO_RCVTIMEO,
        _ => libc::SO_SNDTIMEO,
    };
    // SAFETY: two numbers.
    let limit = unsafe { option::<timeval>(file, name) };
    limit.is_some_and(|limit| (limit.tv_sec, limit.tv_usec) != (0, 0))
}
