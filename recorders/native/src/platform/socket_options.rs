//! What the kernel knows of a socket.

use super::real;
use core::mem::MaybeUninit;
use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t, timeval};

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

/// An end of a connection over the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Of version 4 as it stands in version 6.
    address: [u8; 16],
    port: u16,
}

/// The ends of a connection by TCP, the descriptor's own first; `None` if it is of none, or of one that is not made yet.
pub fn connection(file: c_int) -> Option<(Endpoint, Endpoint)> {
    if !is_stream(file) {
        return None;
    }
    // SAFETY: the C library's own functions, which do not come back here.
    unsafe { Some((endpoint(file, real::getsockname)?, endpoint(file, real::getpeername)?)) }
}

/// # Safety
/// The function writes an address of at most so many bytes, and its length.
unsafe fn endpoint(file: c_int, asks: unsafe fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int) -> Option<Endpoint> {
    let mut address = MaybeUninit::<sockaddr_storage>::zeroed();
    let mut len = size_of::<sockaddr_storage>() as socklen_t;
    // SAFETY: promised by the caller; all zeros are an address, and there is room for either kind.
    unsafe {
        if asks(file, address.as_mut_ptr().cast(), &mut len) != 0 {
            return None;
        }
        match c_int::from(address.assume_init_ref().ss_family) {
            libc::AF_INET => {
                let found = address.as_ptr().cast::<sockaddr_in>().read();
                let mut address = [0; 16];
                address[10..12].fill(0xff);
                address[12..].copy_from_slice(&found.sin_addr.s_addr.to_ne_bytes());
                let port = found.sin_port;
                Some(Endpoint { address, port })
            }
            libc::AF_INET6 => {
                let found = address.as_ptr().cast::<sockaddr_in6>().read();
                let (address, port) = (found.sin6_addr.s6_addr, found.sin6_port);
                Some(Endpoint { address, port })
            }
            _ => None,
        }
    }
}
