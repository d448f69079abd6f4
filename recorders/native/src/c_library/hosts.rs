//! Names and addresses of hosts, services, protocols and network interfaces.
//!
//! Lists that the C library allocates are written before the caller learns where they are: what of them the caller gets
//! to see is recorded when the call is done.

use super::library::{reads_text, writes_text};
use super::users::{Room, found};
use crate::runtime::accesses::{arrives, reads, writes};
use core::mem::offset_of;
use core::ptr;
use libc::{
    addrinfo, c_char, c_int, c_uint, c_void, hostent, ifaddrs, in_addr, protoent, sa_family_t, servent, sockaddr,
    sockaddr_in, sockaddr_in6, sockaddr_ll, socklen_t,
};

/// All that hints may ask for. With anything else, `getaddrinfo` looks no further.
const KNOWN_HINTS: c_int = 0x7ff;

/// The caller asks for addresses. Without names, nothing is looked at.
///
/// # Safety
/// Each is null, or valid.
unsafe fn asks(node: *const c_char, service: *const c_char, hints: *const addrinfo, pc: usize) {
    if node.is_null() && service.is_null() {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(hints) = hints.as_ref() {
            reads(&raw const hints.ai_flags, size_of::<c_int>(), pc);
            if hints.ai_flags & !KNOWN_HINTS != 0 {
                return;
            }
            reads(&raw const hints.ai_family, size_of::<c_int>(), pc);
            if ![libc::AF_UNSPEC, libc::AF_INET, libc::AF_INET6].contains(&hints.ai_family) {
                return;
            }
            reads(&raw const hints.ai_socktype, size_of::<[c_int; 2]>(), pc);
        }
        reads_text(node, pc);
        reads_text(service, pc);
    }
}

/// `getaddrinfo` has made a list.
///
/// # Safety
/// It wrote the list's beginning there.
unsafe fn found_addresses(list: *const *mut addrinfo, pc: usize) {
    // SAFETY: promised by the caller; the list is the C library's.
    unsafe {
        writes(list, size_of::<*mut addrinfo>(), pc);
        let mut next = *list;
        while let Some(address) = next.as_ref() {
            writes(address, offset_of!(addrinfo, ai_addrlen) + size_of::<socklen_t>(), pc);
            writes(&raw const address.ai_addr, size_of::<[usize; 3]>(), pc);
            arrives(address.ai_addr, address.ai_addrlen as usize, pc);
            writes_text(address.ai_canonname, pc);
            next = address.ai_next;
        }
    }
}

/// The caller asks whose an address is: of what of it is looked at, the order is the C library's.
///
/// # Safety
/// An address of that length, or anything if it is shorter than its family's.
unsafe fn asks_for_names(of: *const sockaddr, len: socklen_t, host: bool, service: bool, pc: usize) {
    let len = len as usize;
    if of.is_null() || len < size_of::<sa_family_t>() {
        return;
    }
    reads(of, size_of::<sa_family_t>(), pc);
    // SAFETY: promised by the caller.
    let (whole, port, address) = match unsafe { (*of).sa_family } as c_int {
        libc::AF_INET => (
            size_of::<sockaddr_in>(),
            offset_of!(sockaddr_in, sin_port),
            offset_of!(sockaddr_in, sin_addr)..offset_of!(sockaddr_in, sin_zero),
        ),
        libc::AF_INET6 => (
            offset_of!(sockaddr_in6, sin6_scope_id),
            offset_of!(sockaddr_in6, sin6_port),
            offset_of!(sockaddr_in6, sin6_addr)..offset_of!(sockaddr_in6, sin6_scope_id),
        ),
        _ => return,
    };
    if len >= whole {
        if host {
            reads(of.wrapping_byte_add(address.start), address.len(), pc);
        }
        if service {
            reads(of.wrapping_byte_add(port), size_of::<u16>(), pc);
        }
    }
}

/// A host was looked for.
///
/// # Safety
/// As for [`found`]; where it found none, it said why.
unsafe fn found_host(error: c_int, at: *const *mut hostent, room: Room, why: *const c_int, pc: usize) {
    // SAFETY: promised by the caller; what is in the room, the call wrote.
    unsafe {
        let Some(host) = found(error, at, pc) else {
            if error == 0 {
                writes(why, size_of::<c_int>(), pc);
            }
            return;
        };
        writes(host, size_of::<hostent>(), pc);
        room.text(host.h_name, pc);
        room.texts(host.h_aliases, pc);
        let len = usize::try_from(host.h_length).unwrap_or(0);
        room.list(host.h_addr_list, pc, |address| room.bytes(address, len, pc));
    }
}

/// A service was looked for.
///
/// # Safety
/// As for [`found`].
unsafe fn found_service(error: c_int, at: *const *mut servent, room: Room, pc: usize) {
    // SAFETY: promised by the caller; what is in the room, the call wrote.
    unsafe {
        if let Some(service) = found(error, at, pc) {
            writes(service, offset_of!(servent, s_port) + size_of::<c_int>(), pc);
            writes(&raw const service.s_proto, size_of::<*mut c_char>(), pc);
            room.text(service.s_name, pc);
            room.texts(service.s_aliases, pc);
            room.text(service.s_proto, pc);
        }
    }
}

/// A protocol was looked for.
///
/// # Safety
/// As for [`found`].
unsafe fn found_protocol(error: c_int, at: *const *mut protoent, room: Room, pc: usize) {
    // SAFETY: promised by the caller; what is in the room, the call wrote.
    unsafe {
        if let Some(protocol) = found(error, at, pc) {
            writes(protocol, offset_of!(protoent, p_proto) + size_of::<c_int>(), pc);
            room.text(protocol.p_name, pc);
            room.texts(protocol.p_aliases, pc);
        }
    }
}

/// `getifaddrs` has made a list.
///
/// # Safety
/// It wrote the list's beginning there.
unsafe fn found_interfaces(list: *const *mut ifaddrs, pc: usize) {
    // SAFETY: promised by the caller; the list is the C library's.
    unsafe {
        writes(list, size_of::<*mut ifaddrs>(), pc);
        let mut next = *list;
        while let Some(interface) = next.as_ref() {
            writes(interface, offset_of!(ifaddrs, ifa_flags) + size_of::<c_uint>(), pc);
            writes(&raw const interface.ifa_addr, size_of::<[usize; 4]>(), pc);
            writes_text(interface.ifa_name, pc);
            for address in [interface.ifa_addr, interface.ifa_netmask, interface.ifa_ifu] {
                if let Some(known) = address.as_ref() {
                    arrives(address, length_of(known), pc);
                }
            }
            next = interface.ifa_next;
        }
    }
}

/// How long an interface's address is.
fn length_of(address: &sockaddr) -> usize {
    match c_int::from(address.sa_family) {
        libc::AF_INET => size_of::<sockaddr_in>(),
        libc::AF_INET6 => size_of::<sockaddr_in6>(),
        libc::AF_PACKET => size_of::<sockaddr_ll>(),
        _ => size_of::<sa_family_t>(),
    }
}

/// How much of a string `inet_aton` has read that found an address: up to what ends it.
///
/// # Safety
/// A string.
unsafe fn address_text(text: *const c_char) -> usize {
    let is_space = |byte: u8| byte == b' ' || (b'\t'..=b'\r').contains(&byte);
    let mut at = 0;
    // SAFETY: promised by the caller: no byte before ended it.
    while !matches!(unsafe { *text.add(at) } as u8, byte if byte == 0 || is_space(byte)) {
        at += 1;
    }
    at + 1
}

library! {
    getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, list: *mut *mut addrinfo) -> c_int, "r8": slow {
        asks(node, service, hints, pc);
    } (error, pc) { if error == 0 { found_addresses(list, pc); } }
    getnameinfo(of: *const sockaddr, len: socklen_t, host: *mut c_char, host_room: socklen_t, service: *mut c_char, service_room: socklen_t, flags: c_int) -> c_int, after_seven: slow {
        let host = if host_room > 0 { host } else { ptr::null_mut() };
        let service = if service_room > 0 { service } else { ptr::null_mut() };
        asks_for_names(of, len, !host.is_null(), !service.is_null(), pc);
    } (error, pc) { if error == 0 { writes_text(host, pc); writes_text(service, pc); } }
    gethostbyname_r(name: *const c_char, to: *mut hostent, room: *mut c_char, len: usize, at: *mut *mut hostent, why: *mut c_int) -> c_int, after_six: slow {
        reads_text(name, pc);
    } (error, pc) { found_host(error, at, Room(room, len), why, pc); }
    gethostbyname2_r(name: *const c_char, family: c_int, to: *mut hostent, room: *mut c_char, len: usize, at: *mut *mut hostent, why: *mut c_int) -> c_int, after_seven: slow {
        reads_text(name, pc);
    } (error, pc) { found_host(error, at, Room(room, len), why, pc); }
    gethostbyaddr_r(of: *const c_void, of_len: socklen_t, family: c_int, to: *mut hostent, room: *mut c_char, len: usize, at: *mut *mut hostent, why: *mut c_int) -> c_int, after_eight: slow {
        reads(of, of_len as usize, pc);
    } (error, pc) { found_host(error, at, Room(room, len), why, pc); }
    getservbyname_r(name: *const c_char, protocol: *const c_char, to: *mut servent, room: *mut c_char, len: usize, at: *mut *mut servent) -> c_int, after_six: slow {
        reads_text(name, pc);
        reads_text(protocol, pc);
    } (error, pc) { found_service(error, at, Room(room, len), pc); }
    getservbyport_r(port: c_int, protocol: *const c_char, to: *mut servent, room: *mut c_char, len: usize, at: *mut *mut servent) -> c_int, after_six: slow {
        reads_text(protocol, pc);
    } (error, pc) { found_service(error, at, Room(room, len), pc); }
    getprotobyname_r(name: *const c_char, to: *mut protoent, room: *mut c_char, len: usize, at: *mut *mut protoent) -> c_int, "r9": slow {
        reads_text(name, pc);
    } (error, pc) { found_protocol(error, at, Room(room, len), pc); }
    getprotobynumber_r(number: c_int, to: *mut protoent, room: *mut c_char, len: usize, at: *mut *mut protoent) -> c_int, "r9": slow {} (error, pc) {
        found_protocol(error, at, Room(room, len), pc);
    }
    getifaddrs(list: *mut *mut ifaddrs) -> c_int, "rsi": slow {} (result, pc) {
        if result == 0 { found_interfaces(list, pc); }
    }
    if_indextoname(number: c_uint, to: *mut c_char) -> *mut c_char, "rdx": slow {} (name, pc) { writes_text(name, pc); }
    if_nametoindex(name: *const c_char) -> c_uint, "rsi": slow { reads_text(name, pc); } (number, pc) {}
    inet_aton(text: *const c_char, to: *mut in_addr) -> c_int, "rdx": quick {} (is_address, pc) {
        if is_address != 0 {
            reads(text, address_text(text), pc);
            writes(to, size_of::<in_addr>(), pc);
        }
    }
}
