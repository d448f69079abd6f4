//! Sockets with addresses through which the process may talk to itself.
//!
//! Until it has bound one and connects or sends to an address of its own machine, what it does with them is between it
//! and others. From then on:
//!
//! - Each connection is a channel of its own in either direction. By TCP, it is known by the addresses of its ends. Within
//!   the machine (`AF_UNIX`), by the file of the socket that connects: the kernel tells which one that is of a socket that
//!   was accepted. If that one is closed by then, it is the first such that was connected to the same name. A connection
//!   with another process is not told apart: that one may hand on what it gets.
//! - What is sent by UDP goes to the port that it is sent to, whichever address that has. Datagrams may be lost, or come from
//!   elsewhere, so who receives one may depend on all that were sent to the port before.
//! - The others, and what is sent to ports that are not known to be the process's own, are one channel.

use super::{Amount, File, Queues, SOCKETS, is_known_by, new_queue, with};
use crate::c_library::channels::queue::Queue;
use crate::c_library::{channels::shared, ports};
use crate::platform::hash::{Build, Table};
use crate::platform::memory;
use crate::platform::socket_options::{self, Endpoint, LocalName, LocalPeer};
use crate::platform::sys;
use core::cell::{Cell, UnsafeCell};
use libc::{c_int, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6};
use std::vec::Vec;

static TALKS: Talks = Talks {
    links: UnsafeCell::new(Table::with_hasher(Build)),
    waiting: UnsafeCell::new(Vec::new()),
    connecting: UnsafeCell::new(Table::with_hasher(Build)),
    ports: UnsafeCell::new(Table::with_hasher(Build)),
    binds: Cell::new(false),
    to_itself: Cell::new(false),
    to_unknown_ports: Cell::new(false),
};

struct Talks {
    /// By the addresses from which and to which bytes of a connection go.
    links: UnsafeCell<Table<(Endpoint, Endpoint), Link>>,
    /// Connections within the machine that nobody has accepted yet.
    waiting: UnsafeCell<Vec<Waiting>>,
    /// By the number of the socket's file: of one that is about to be connected, which may be accepted before.
    connecting: UnsafeCell<Table<u32, Queues>>,
    /// The process's own, as it knows them and in the order of bytes in which they are sent; what is sent to them, if
    /// they are UDP's.
    ports: UnsafeCell<Table<u16, Option<u32>>>,
    binds: Cell<bool>,
    to_itself: Cell<bool>,
    /// A datagram was sent to a port that is not known.
    to_unknown_ports: Cell<bool>,
}

// SAFETY: as of `Channels`: nothing that is called in this file while a reference is held comes back here.
unsafe impl Sync for Talks {}

/// One direction of a connection.
struct Link {
    queue: u32,
    /// Whether a descriptor was found to be the end from which bytes go, and the one to which they go: if both were, nobody
    /// has to find it any more.
    found: [bool; 2],
}

/// A socket that is connected, within the machine, or about to be.
struct Waiting {
    file_number: u32,
    /// Of the socket that it is connected to; as it is given, until it is.
    name: LocalName,
    /// Those of the other end.
    queues: Queues,
    is_closed: bool,
}

fn ports() -> &'static mut Table<u16, Option<u32>> {
    // SAFETY: as of `Talks`.
    unsafe { &mut *TALKS.ports.get() }
}

fn waiting() -> &'static mut Vec<Waiting> {
    // SAFETY: as of `Talks`.
    unsafe { &mut *TALKS.waiting.get() }
}

/// The channel of those that have none of their own, if the process talks to itself.
pub(super) fn own_sockets() -> Option<u32> {
    TALKS.to_itself.get().then_some(SOCKETS)
}

/// What a socket is: the end of a connection by TCP, once that is made.
pub(super) fn connected(file: c_int) -> File {
    let Some((own, other)) = socket_options::connection(file) else {
        return File::Socket;
    };
    // SAFETY: as of `Talks`.
    let links = unsafe { &mut *TALKS.links.get() };
    let [to, from] = [(own, other), (other, own)].map(|ends| {
        let link = links.entry(ends).or_insert_with(|| Link {
            queue: new_queue(Queue::of_bytes().or_outside()),
            found: [false; 2],
        });
        link.found[usize::from(ends.0 != own)] = true;
        if link.found == [true; 2] {
            with(Some(link.queue), |_, queue| queue.stays_inside());
        }
        Some(link.queue)
    });
    File::Ends { to, from }
}

/// The number of a socket's file.
fn file_number(file: c_int) -> u32 {
    shared::about(file).st_ino as u32
}

/// A descriptor that is an end of a connection is about to be closed: addresses are given out again to other ones.
pub(super) fn forget(file: c_int) {
    if !waiting().is_empty() {
        let file_number = file_number(file);
        for one in waiting().iter_mut().filter(|one| one.file_number == file_number) {
            one.is_closed = true;
        }
    }
    // SAFETY: as of `Talks`.
    let links = unsafe { &mut *TALKS.links.get() };
    if links.is_empty() {
        return;
    }
    if let Some((own, other)) = socket_options::connection(file) {
        for ends in [(own, other), (other, own)] {
            if links.get(&ends).is_some_and(|link| link.found == [true; 2]) {
                links.remove(&ends);
            }
        }
    }
}

/// What is written to a connection within the machine, and what is read from it.
fn new_connection(stream: bool) -> Queues {
    let queue = || {
        Some(new_queue(match stream {
            true => Queue::of_bytes(),
            false => Queue::of_messages(usize::MAX),
        }))
    };
    (queue(), queue())
}

/// It has connected a socket, or failed to. (Where it does, the other end may have been accepted before this is known.)
pub fn is_connected(file: c_int, succeeded: bool) {
    if own_sockets().is_none() || socket_options::local_is_stream(file).is_none() {
        return;
    }
    let file_number = file_number(file);
    let at = waiting().iter().position(|one| one.file_number == file_number);
    // Who listens may be another process, which accepts it.
    let to_itself = succeeded && socket_options::peer_process(file) == Some(sys::process_id());
    if !to_itself {
        at.map(|at| waiting().remove(at));
    }
    // SAFETY: as of `Talks`.
    let queues = unsafe { &mut *TALKS.connecting.get() }.remove(&file_number);
    if let Some((to, from)) = queues.filter(|_| to_itself) {
        if let Some(at) = at
            && let Some(name) = LocalName::of_peer(file)
        {
            waiting()[at].name = name;
        }
        super::set(file, File::Ends { to, from });
        is_known_by(file, (to, from));
    }
}

/// It has accepted a connection.
pub fn is_accepted(file: c_int, pc: usize) {
    super::is_socket(file, pc);
    if own_sockets().is_none() {
        return;
    }
    if socket_options::local_is_stream(file).is_some()
        && let Some((to, from)) = accepted_from(file)
    {
        super::set(file, File::Ends { to, from });
        is_known_by(file, (to, from));
    }
}

/// What a socket that was accepted within the machine writes to and reads from; `None` if that is not known.
fn accepted_from(file: c_int) -> Option<Queues> {
    if socket_options::peer_process(file) != Some(sys::process_id()) {
        return None;
    }
    let peer = socket_options::local_peer(file_number(file));
    let name = LocalName::of(file);
    let at = waiting().iter().position(|one| match peer {
        Some(LocalPeer::File(number)) => one.file_number == number,
        Some(LocalPeer::Gone) => one.is_closed && Some(&one.name) == name.as_ref(),
        None => Some(&one.name) == name.as_ref(),
    })?;
    Some(waiting().remove(at).queues)
}

/// Where what is sent through a socket goes: to the address, if there is one, or else to where it is connected.
pub(super) fn to(file: c_int, address: *const sockaddr, len: usize) -> Option<u32> {
    let all = own_sockets()?;
    if !socket_options::is_network_datagram(file) {
        return Some(all);
    }
    let port = ports::named(address, len).or_else(|| Some(ports::recorded(Endpoint::of_peer(file)?.port())));
    let own = port.and_then(|port| ports().get(&port).copied().flatten());
    if own.is_none() {
        TALKS.to_unknown_ports.set(true);
    }
    own.or(Some(all))
}

/// From where a socket receives.
pub(super) fn from(file: c_int) -> Option<u32> {
    let all = own_sockets()?;
    if !socket_options::is_network_datagram(file) {
        return Some(all);
    }
    let port = Endpoint::of(file).map(|own| ports::recorded(own.port()));
    port.and_then(|port| ports().get(&port).copied().flatten())
        .or(Some(all))
}

/// It has received through a socket that has a queue of its own: that may have been sent to a port that was not known.
pub(super) fn also_takes(queue: Option<u32>, pc: usize) {
    if TALKS.to_unknown_ports.get() && queue.is_some_and(|queue| queue != SOCKETS) {
        with(own_sockets(), |number, queue| queue.take(number, Amount::LookAtAll, pc));
    }
}

/// Something was sent through a socket, which may have got a port by that.
pub fn has_sent(file: c_int) {
    if own_sockets().is_some()
        && socket_options::is_network_datagram(file)
        && let Some(own) = Endpoint::of(file)
    {
        has_port(file, Some(ports::recorded(own.port())));
    }
}

/// A socket is about to be bound.
pub fn binds() {
    TALKS.binds.set(true);
}

/// A socket has a port, as the program knows it and in the order of bytes in which it is sent; `None` if that has
/// none.
pub fn has_port(file: c_int, port: Option<u16>) {
    let Some(port) = port.filter(|&port| port != 0) else {
        return;
    };
    let known = ports().entry(port).or_default();
    if known.is_none() && socket_options::is_network_datagram(file) {
        *known = Some(new_queue(Queue::of_states()));
    }
}

/// A socket is about to be connected.
pub fn connects(file: c_int, to: *const sockaddr, len: usize) {
    match ports::named(to, len) {
        Some(port) if socket_options::is_stream(file) => {
            if ports().contains_key(&port) {
                TALKS.to_itself.set(true);
            }
        }
        _ => talks_to(to, len),
    }
    if own_sockets().is_some()
        && let Some(stream) = socket_options::local_is_stream(file)
        && let Some(name) = LocalName::given(to, len)
    {
        let (to, from) = new_connection(stream);
        let file_number = file_number(file);
        // SAFETY: as of `Talks`.
        unsafe { &mut *TALKS.connecting.get() }.insert(file_number, (to, from));
        waiting().retain(|one| one.file_number != file_number);
        waiting().push(Waiting {
            file_number,
            name,
            queues: (from, to),
            is_closed: false,
        });
    }
}

/// A socket is about to be connected, or to send, to an address, if that is there.
pub(super) fn talks_to(to: *const sockaddr, len: usize) {
    if TALKS.binds.get() && !TALKS.to_itself.get() {
        let is_own = || ports::named(to, len).is_some_and(|port| ports().contains_key(&port));
        TALKS.to_itself.set(is_here(to) == Some(true) || is_own());
    }
}

/// Whether an address is one of this machine's loopback, of a group, or a file's.
fn is_here(to: *const sockaddr) -> Option<bool> {
    let family = memory::at(to.cast::<sa_family_t>())?;
    Some(match family.into() {
        libc::AF_UNIX => true,
        libc::AF_INET => {
            let [first, ..] = memory::at(to.cast::<sockaddr_in>())?.sin_addr.s_addr.to_ne_bytes();
            // 0.0.0.0 reaches this machine, too.
            first == 127 || first == 0 || (224..240).contains(&first)
        }
        libc::AF_INET6 => {
            let bytes = memory::at(to.cast::<sockaddr_in6>())?.sin6_addr.s6_addr;
            // ::1, :: and addresses of the older protocol.
            bytes[..10].iter().all(|&byte| byte == 0) || bytes[0] == 0xff
        }
        _ => false,
    })
}
