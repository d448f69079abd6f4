//! Ports of sockets, as the system gives them out: to a socket that asks for any (`bind` to port 0), or to the other
//! end of a connection.
//!
//! Along a plan the program sees the ports of the recorded run, and what it connects, sends or binds to is the port
//! that this run has instead. A socket that asks for any port gets the recorded one, if that is free: whoever else
//! knows of it, a client that was told by the program, gets there, too.

use crate::events::modules;
use crate::platform::correspondence::Correspondence;
use crate::platform::{memory, real};
use crate::runtime::accesses::returns;
use crate::scheduling::plan;
use core::mem::MaybeUninit;
use core::ptr;
use libc::{c_int, sockaddr, sockaddr_storage, socklen_t};

static PORTS: Correspondence = Correspondence::new();

/// Where the port of an address of this length lies, if its family has ports; as it is sent, so in the other byte
/// order. A program may keep an address in plain bytes, so that nothing here need be aligned.
///
/// # Safety
/// Null, or readable for so many bytes.
unsafe fn port_of(address: *const sockaddr, len: usize) -> Option<*const u16> {
    /// Behind the family, in both.
    const PORT_AT: usize = 2;
    if address.is_null() || len < size_of::<libc::sockaddr_in>() {
        return None;
    }
    // SAFETY: promised by the caller, of more bytes than these.
    let family = unsafe { (&raw const (*address).sa_family).read_unaligned() };
    let has_port = [libc::AF_INET, libc::AF_INET6].contains(&family.into());
    has_port.then(|| address.cast::<u8>().wrapping_add(PORT_AT).cast())
}

/// An address that the program named to the system, as it is in this run.
pub struct Named {
    /// The copy that has another port.
    copy: Option<sockaddr_storage>,
    original: *const sockaddr,
    /// Any port is fine.
    pub is_any: bool,
    /// The port in the copy is the one that the program got in the recorded run, when any was fine.
    pub is_recorded: bool,
}

impl Named {
    /// As long as the address stays where it is.
    pub fn new(address: *const sockaddr, len: socklen_t) -> Named {
        let mut named = Named {
            copy: None,
            original: address,
            is_any: false,
            is_recorded: false,
        };
        // One that is not there is the kernel's to refuse.
        if let Some(port) = self::named(address, len as usize) {
            named.is_any = port == 0;
            if let Some(actual) = PORTS.actual(port.into()) {
                named.with(actual as u16, len);
            }
        }
        named
    }

    /// As [`new`](Self::new), for a call at that position which binds a socket to the address.
    pub fn to_bind(address: *const sockaddr, len: socklen_t, pc: usize) -> Named {
        let mut named = Named::new(address, len);
        if named.is_any
            && modules::is_instrumented(pc)
            && let Some(recorded) = plan::returned(pc)
        {
            named.with(recorded as u16, len);
            named.is_recorded = true;
        }
        named
    }

    fn with(&mut self, port: u16, len: socklen_t) {
        let mut copy = MaybeUninit::<sockaddr_storage>::zeroed();
        let len = (len as usize).min(size_of::<sockaddr_storage>());
        // SAFETY: an address of at least that length, which has a port; zeros are one of no family.
        unsafe {
            ptr::copy_nonoverlapping(self.original.cast::<u8>(), copy.as_mut_ptr().cast(), len);
            if let Some(to) = port_of(copy.as_ptr().cast(), len) {
                to.cast_mut().write_unaligned(port);
            }
            self.copy = Some(copy.assume_init());
        }
    }

    /// What the system is to be told.
    pub fn actual(&self) -> *const sockaddr {
        self.copy
            .as_ref()
            .map_or(self.original, |copy| ptr::from_ref(copy).cast())
    }
}

/// The port in an address that may be there, as it is sent.
pub fn named(address: *const sockaddr, len: usize) -> Option<u16> {
    let there = memory::readable(address as usize, len);
    // SAFETY: these bytes can be read.
    unsafe { port_of(address, there).map(|port| port.read_unaligned()) }
}

/// A socket was bound to any port: which one the program will find, and does in this run. The one that it will find.
pub fn bound(file: c_int, pc: usize) -> Option<u16> {
    let mut address = MaybeUninit::<sockaddr_storage>::zeroed();
    let mut len = size_of::<sockaddr_storage>() as socklen_t;
    // SAFETY: room of that length; the C library's own function, which does not come back here.
    unsafe {
        if real::getsockname(file, address.as_mut_ptr().cast(), &raw mut len) == 0
            && let Some(actual) = port_of(address.as_ptr().cast(), len as usize)
        {
            let actual = actual.read_unaligned();
            let recorded = returns(actual.into(), pc) as u16;
            learn(recorded, actual);
            return Some(recorded);
        }
    }
    None
}

/// The port that the program knows this one as.
pub fn recorded(actual: u16) -> u16 {
    PORTS.recorded(actual.into()).map_or(actual, |recorded| recorded as u16)
}

fn learn(recorded: u16, actual: u16) {
    if plan::is_there() && recorded != 0 && actual != 0 {
        PORTS.learn(recorded.into(), actual.into());
    }
}

/// The system wrote an address for the program, of `len` bytes: the program sees the one of the recorded run.
///
/// # Safety
/// Null, or the program's own, of so many bytes.
pub unsafe fn arrives(address: *mut sockaddr, len: usize, pc: usize) {
    // SAFETY: promised by the caller.
    let port = || unsafe { port_of(address, len) };
    let Some(actual) = port().filter(|_| plan::is_there() && modules::is_instrumented(pc)) else {
        return;
    };
    // SAFETY: as above.
    let actual = unsafe { actual.read_unaligned() };
    if plan::feed(address as usize, len, pc) {
        // What was there may be of another family now.
        if let Some(recorded) = port() {
            // SAFETY: as above.
            learn(unsafe { recorded.read_unaligned() }, actual);
        }
    } else if let (Some(to), Some(recorded)) = (port(), PORTS.recorded(actual.into())) {
        // SAFETY: as above.
        unsafe { to.cast_mut().write_unaligned(recorded as u16) };
    }
}
