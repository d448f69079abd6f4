//! What the kernel knows of a socket.

use super::{memory, real, sys};
use core::mem::{MaybeUninit, offset_of};
use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, sockaddr_un, socklen_t, timeval, ucred};

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

/// Whether a socket sends and receives datagrams.
pub fn is_datagram(file: c_int) -> bool {
    // SAFETY: a number.
    unsafe { option::<c_int>(file, libc::SO_TYPE) == Some(libc::SOCK_DGRAM) }
}

/// Whether a socket sends and receives datagrams over the network.
pub fn is_network_datagram(file: c_int) -> bool {
    // SAFETY: numbers.
    let (kind, domain) = unsafe {
        (
            option::<c_int>(file, libc::SO_TYPE),
            option::<c_int>(file, libc::SO_DOMAIN),
        )
    };
    kind == Some(libc::SOCK_DGRAM) && matches!(domain, Some(libc::AF_INET | libc::AF_INET6))
}

/// Whether what is sent through a socket that is connected within the machine is a stream; `None` if it is another kind of
/// socket.
pub fn local_is_stream(file: c_int) -> Option<bool> {
    // SAFETY: a number.
    let domain = unsafe { option::<c_int>(file, libc::SO_DOMAIN) };
    if domain != Some(libc::AF_UNIX) {
        return None;
    }
    // SAFETY: a number.
    match unsafe { option::<c_int>(file, libc::SO_TYPE) }? {
        libc::SOCK_STREAM => Some(true),
        libc::SOCK_SEQPACKET => Some(false),
        _ => None,
    }
}

/// The process that has made the other end of a connection within the machine.
pub fn peer_process(file: c_int) -> Option<libc::pid_t> {
    // SAFETY: three numbers.
    unsafe { option::<ucred>(file, libc::SO_PEERCRED) }.map(|of| of.pid)
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
    Some((Endpoint::of(file)?, Endpoint::of_peer(file)?))
}

impl Endpoint {
    /// The port, as it is sent.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A socket's own end.
    pub fn of(file: c_int) -> Option<Self> {
        // SAFETY: the C library's own function, which does not come back here.
        unsafe { endpoint(file, real::getsockname) }
    }

    /// The end that it is connected to.
    pub fn of_peer(file: c_int) -> Option<Self> {
        // SAFETY: as above.
        unsafe { endpoint(file, real::getpeername) }
    }
}

/// The name of a socket within the machine.
#[derive(PartialEq, Eq)]
pub struct LocalName {
    bytes: [u8; LocalName::MOST],
    len: usize,
}

impl LocalName {
    const AT: usize = offset_of!(sockaddr_un, sun_path);
    const MOST: usize = size_of::<sockaddr_un>() - Self::AT;

    /// The socket's own.
    pub fn of(file: c_int) -> Option<Self> {
        // SAFETY: the C library's own function, which does not come back here.
        unsafe { Self::asked(file, real::getsockname) }
    }

    /// That of the socket that it is connected to, which one that was accepted has of the one that accepted it.
    pub fn of_peer(file: c_int) -> Option<Self> {
        // SAFETY: as above.
        unsafe { Self::asked(file, real::getpeername) }
    }

    /// The one in an address that may be there.
    pub fn given(address: *const sockaddr, len: usize) -> Option<Self> {
        let len = len.min(size_of::<sockaddr_un>());
        let there = memory::readable(address as usize, len) == len;
        // SAFETY: these bytes can be read.
        there.then(|| unsafe { Self::copied(address.cast(), len) })?
    }

    /// # Safety
    /// As of [`ask`].
    unsafe fn asked(file: c_int, asks: unsafe fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int) -> Option<Self> {
        // SAFETY: promised by the caller.
        unsafe {
            let (address, len) = ask(file, asks)?;
            Self::copied((&raw const address).cast(), len)
        }
    }

    /// # Safety
    /// So many bytes, or as many as any name has, can be read there.
    unsafe fn copied(address: *const u8, len: usize) -> Option<Self> {
        let len = len.checked_sub(Self::AT)?.min(Self::MOST);
        let mut bytes = [0; Self::MOST];
        // SAFETY: promised by the caller.
        unsafe { address.add(Self::AT).copy_to(bytes.as_mut_ptr(), len) };
        Some(Self { bytes, len })
    }
}

/// What the kernel says of the other end of a connection within the machine.
pub enum LocalPeer {
    /// Its file's number.
    File(u32),
    /// It was closed, or is not accepted yet.
    Gone,
}

/// The other end of a connection within the machine, by the socket's file number; `None` if the kernel does not tell.
/// (`sock_diag(7)`; nobody needs a right for that.)
pub fn local_peer(file_number: u32) -> Option<LocalPeer> {
    /// An attribute that follows the answer.
    const PEER: u16 = 2;
    const WANTS_PEER: u32 = 4;
    const ANY_COOKIE: [u32; 2] = [u32::MAX; 2];

    /// The header of a message of `netlink(7)`.
    #[repr(C)]
    struct Header {
        len: u32,
        kind: u16,
        flags: u16,
        sequence: u32,
        port: u32,
    }

    #[repr(C)]
    struct Request {
        header: Header,
        family: u8,
        protocol: u8,
        padding: u16,
        states: u32,
        file_number: u32,
        wanted: u32,
        cookie: [u32; 2],
    }

    #[repr(C)]
    struct Answer {
        header: Header,
        kind: [u8; 4],
        file_number: u32,
        cookie: [u32; 2],
        attributes: [u8; 512],
    }

    const KIND: u16 = 20; // SOCK_DIAG_BY_FAMILY
    let request = Request {
        header: Header {
            len: size_of::<Request>() as u32,
            kind: KIND,
            flags: libc::NLM_F_REQUEST as u16,
            sequence: 1,
            port: 0,
        },
        family: libc::AF_UNIX as u8,
        protocol: 0,
        padding: 0,
        states: u32::MAX,
        file_number,
        wanted: WANTS_PEER,
        cookie: ANY_COOKIE,
    };
    let mut answer = MaybeUninit::<Answer>::zeroed();
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no memory but the request and room for the answer; the descriptor is closed before anybody sees it.
    let got = unsafe {
        let asks = sys::call(
            libc::SYS_socket,
            libc::AF_NETLINK as usize,
            kind as usize,
            libc::NETLINK_SOCK_DIAG as usize,
            0,
        );
        if asks < 0 {
            return None;
        }
        let asks = asks as usize;
        sys::call(
            libc::SYS_write,
            asks,
            &raw const request as usize,
            size_of::<Request>(),
            0,
        );
        let got = sys::call(
            libc::SYS_read,
            asks,
            answer.as_mut_ptr() as usize,
            size_of::<Answer>(),
            0,
        );
        sys::call(libc::SYS_close, asks, 0, 0, 0);
        got
    };
    // SAFETY: all zeros are an answer, and whatever the kernel wrote.
    let answer = unsafe { answer.assume_init() };
    let end = usize::try_from(got).ok()?.min(answer.header.len as usize);
    let mut rest = answer
        .attributes
        .get(..end.checked_sub(offset_of!(Answer, attributes))?)?;
    if answer.header.kind != KIND {
        return None;
    }
    while let [a, b, c, d, ..] = *rest {
        let (len, kind) = (u16::from_ne_bytes([a, b]).into(), u16::from_ne_bytes([c, d]));
        let value = rest.get(4..len)?;
        if kind == PEER {
            return match u32::from_ne_bytes(value.try_into().ok()?) {
                0 => Some(LocalPeer::Gone),
                number => Some(LocalPeer::File(number)),
            };
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(LocalPeer::Gone)
}

/// # Safety
/// As of [`ask`].
unsafe fn endpoint(file: c_int, asks: unsafe fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int) -> Option<Endpoint> {
    // SAFETY: promised by the caller; all zeros are an address, and there is room for either kind.
    unsafe {
        let (address, _) = ask(file, asks)?;
        let address = &raw const address;
        match c_int::from((*address).ss_family) {
            libc::AF_INET => {
                let found = address.cast::<sockaddr_in>().read();
                let mut address = [0; 16];
                address[10..12].fill(0xff);
                address[12..].copy_from_slice(&found.sin_addr.s_addr.to_ne_bytes());
                let port = found.sin_port;
                Some(Endpoint { address, port })
            }
            libc::AF_INET6 => {
                let found = address.cast::<sockaddr_in6>().read();
                let (address, port) = (found.sin6_addr.s6_addr, found.sin6_port);
                Some(Endpoint { address, port })
            }
            _ => None,
        }
    }
}

/// The address that a function tells of a socket, and its length.
///
/// # Safety
/// The function writes an address of at most so many bytes, and its length.
unsafe fn ask(
    file: c_int,
    asks: unsafe fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int,
) -> Option<(sockaddr_storage, usize)> {
    let mut address = MaybeUninit::<sockaddr_storage>::zeroed();
    let mut len = size_of::<sockaddr_storage>() as socklen_t;
    // SAFETY: promised by the caller; all zeros are an address, and there is room for any kind.
    unsafe {
        let is_told = asks(file, address.as_mut_ptr().cast(), &raw mut len) == 0;
        is_told.then(|| (address.assume_init(), len as usize))
    }
}
