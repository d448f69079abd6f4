//! Order that passes through the kernel: who reads from a pipe reads after somebody wrote to it.
//!
//! A pipe, a pair of sockets or an `eventfd` whose two ends this process has is a *channel*
//! ([`queue`] says what is recorded of it).
//!
//! - So are sockets with addresses through which the process talks to itself ([`sockets`]).
//! - Each `epoll` instance is a channel: what waiting returns depends on what was added to it, and on who waited before;
//!   and what is ready, on what was written there. Who has the other end of a pipe or a socket, another process say, may
//!   answer by what an instance watches: that is one more channel, of all instances.
//! - A timer that is read is a counter that setting it writes to. Instances of `inotify` share one channel, of all that
//!   changes in files and directories; so do those who wait for children. Who reads a signal reads it after it was sent.
//! - A descriptor's number is given out again after it was closed, and programs use numbers as
//!   indices: closing and opening of one number count on a variable of that number, and what succeeds, or fails, with
//!   the number in between reads it. How closing races with that: [`descriptor`].
//!
//! What threads share of the kernel beside that: [`shared`]. What is written to memory of several processes is not
//! followed.
//! - What passes through a regular file: [`contents`]; through the names of files: [`names`]; through what the system
//!   keeps of them: [`attributes`].

pub mod attributes;
pub mod contents;
pub mod descriptor;
pub mod names;
pub mod queue;
pub mod shared;
pub mod sockets;

use crate::events::{agents, images, pending, variable};
use crate::platform::hash::{Build, Table};
use crate::platform::memory::NOBODYS;
use crate::platform::sys;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::slot;
use crate::scheduling::{plan, recording};
use core::cell::{Cell, UnsafeCell};
use core::ptr;
use descriptor::MOST_FILES;
use libc::{c_int, dev_t, ino_t, sockaddr};
use queue::{Amount, Queue};
use recorder_ring::Record;
use shared::Shared;
use sockets::own_sockets;
use std::vec::Vec;

/// Queues that are always there. The first is of what may make `epoll` instances tell something by way of others.
const EPOLL: u32 = 0;
const SOCKETS: u32 = 1;
/// Children that were started, and how they ended.
const CHILDREN: u32 = 2;
/// What changes in files and directories.
const CHANGES: u32 = 3;
const LAST_THAT_IS_THERE: u32 = CHANGES;

/// What a descriptor is. The first is a zero, so that a table of them takes no room in the file that processes load.
#[derive(Clone, Copy)]
#[repr(u8)]
enum File {
    /// Nobody has looked yet.
    Unknown,
    Other,
    /// A socket that is no pair's.
    Socket,
    /// What is read there are signals.
    Signals,
    /// What is written there goes to the one queue, what is read comes from the other.
    Ends {
        to: Option<u32>,
        from: Option<u32>,
    },
}

static DESCRIPTORS: Descriptors = Descriptors {
    files: [const { Cell::new(File::Unknown) }; MOST_FILES],
    numbers: [const { Cell::new(0) }; MOST_FILES],
};

/// By number.
struct Descriptors {
    files: [Cell<File>; MOST_FILES],
    /// How often each number was closed, or opened after that.
    numbers: [Cell<u32>; MOST_FILES],
}

// SAFETY: as of `Channels`.
unsafe impl Sync for Descriptors {}

static CHANNELS: Channels = Channels {
    queues: UnsafeCell::new(Vec::new()),
    objects: UnsafeCell::new(Table::with_hasher(Build)),
    ends: UnsafeCell::new(Table::with_hasher(Build)),
    shared: Cell::new(0),
    polls: Cell::new(false),
    watches: Cell::new(false),
};

struct Channels {
    queues: UnsafeCell<Vec<Queue>>,
    /// Those that are no channels.
    objects: UnsafeCell<Table<Shared, shared::Object>>,
    /// By the system's file: what is written to the one queue through it, and read from the other. A pipe is one file,
    /// each socket of a pair one.
    ends: UnsafeCell<Table<(dev_t, ino_t), Queues>>,
    /// Another process may have ends of those queues that there are before this number.
    shared: Cell<u32>,
    /// There is an `epoll` instance.
    polls: Cell<bool>,
    /// There is one of `inotify`.
    watches: Cell<bool>,
}

// SAFETY: only the thread with the baton gets here. (A child of `vfork` is its parent's thread, which waits for it.)
unsafe impl Sync for Channels {}

/// Whether order matters: there was a second thread, and this is no child of `vfork`.
fn is_needed() -> bool {
    images::are_taken() && sys::process_id() == recording::process()
}

/// Works on a queue, unless there is nothing to order yet.
fn with(queue: Option<u32>, work: impl FnOnce(u32, &mut Queue)) {
    if let Some(number) = queue
        && is_needed()
    {
        // SAFETY: the caller has the baton, and nothing that `work` calls comes back here.
        let queues = unsafe { &mut *CHANNELS.queues.get() };
        while queues.len() <= (number as usize).max(LAST_THAT_IS_THERE as usize) {
            queues.push(Queue::of_states());
        }
        work(number, &mut queues[number as usize]);
    }
}

/// In a forked child: descriptors mean what they meant, but what was written and read before, and what the parent
/// does with its own, is not known here.
pub fn start_over() {
    descriptor::start_over();
    // SAFETY: there is no other thread, and nobody is at work on the queues.
    for queue in unsafe { &mut *CHANNELS.queues.get() } {
        queue.start_over();
    }
    shared::start_over();
    for number in &DESCRIPTORS.numbers {
        if number.get() != 0 {
            number.set(0);
        }
    }
}

/// The queues to write to and to read from.
type Queues = (Option<u32>, Option<u32>);

fn file(file: c_int) -> File {
    let Some(entry) = DESCRIPTORS.files.get(file as usize) else {
        return File::Other;
    };
    match entry.get() {
        // It came with a message, say.
        File::Unknown if is_needed() => entry.set(found_in_system(file, false)),
        File::Socket if own_sockets().is_some() && is_needed() => entry.set(sockets::connected(file)),
        _ => {}
    }
    entry.get()
}

fn set(file: c_int, is: File) {
    if let Some(entry) = DESCRIPTORS.files.get(file as usize)
        && descriptor::is_followed()
    {
        entry.set(is);
    }
}

/// What a descriptor is, if it is the end of a channel that is known by its file, or of one that has a name: the latter
/// is new with the first who opens it.
fn found_in_system(file: c_int, has_name: bool) -> File {
    let about = shared::about(file);
    let is_pipe = match about.st_mode & libc::S_IFMT {
        libc::S_IFIFO => true,
        libc::S_IFSOCK => false,
        _ => return File::Other,
    };
    // SAFETY: as of `Channels`: nothing that is called here comes back.
    let ends = unsafe { &mut *CHANNELS.ends.get() };
    let id = (about.st_dev, about.st_ino);
    if is_pipe && has_name {
        ends.entry(id).or_insert_with(|| {
            let queue = Some(new_queue(Queue::of_bytes().or_outside()));
            (queue, queue)
        });
    }
    let Some(&(to, from)) = ends.get(&id) else {
        return File::Other;
    };
    if !is_pipe {
        return File::Ends { to, from };
    }
    // SAFETY: no memory is involved.
    let flags = unsafe { sys::call(libc::SYS_fcntl, file as usize, libc::F_GETFL as usize, 0, 0) };
    let mode = flags as c_int & libc::O_ACCMODE;
    File::Ends {
        to: to.filter(|_| mode != libc::O_RDONLY),
        from: from.filter(|_| mode != libc::O_WRONLY),
    }
}

/// A channel's file has this descriptor.
fn is_known_by(file: c_int, queues: Queues) {
    let about = shared::about(file);
    if about.st_ino != 0 {
        // SAFETY: as above.
        unsafe { &mut *CHANNELS.ends.get() }.insert((about.st_dev, about.st_ino), queues);
    }
}

/// What a call does to a channel is an operation of its own: others may come in between, and what it finds is what they
/// have left.
fn await_turn() {
    let thread = slot();
    if !thread.is_null() {
        // SAFETY: a slot holds a thread, which lives for ever.
        RuntimeGuard::of(unsafe { &*thread }).await_turn();
    }
}

/// The calling thread is about to write or send so many bytes, which it has read.
pub fn sends(to: c_int, bytes: usize, pc: usize) {
    sends_to(to, ptr::null(), 0, bytes, pc);
}

/// The same, to an address of that length, if there is one.
pub fn sends_to(to: c_int, address: *const sockaddr, len: usize, bytes: usize, pc: usize) {
    await_turn();
    let queue = match file(to) {
        File::Unknown | File::Other => {
            shared::writes(to, pc);
            return changes_files(pc);
        }
        File::Signals => return,
        File::Socket => {
            sockets::talks_to(address, len);
            sockets::to(to, address, len)
        }
        File::Ends { to, .. } => to,
    };
    put(queue, bytes, pc);
}

/// Whether a process that came of this one may have the other end of a channel: it was there before that.
fn leads_to_children(number: u32) -> bool {
    number > LAST_THAT_IS_THERE && number < CHANNELS.shared.get()
}

fn put(queue: Option<u32>, bytes: usize, pc: usize) {
    // Who has the other end may answer by what an instance watches.
    let mut stays = false;
    with(queue, |number, queue| {
        queue.put(number, bytes, pc);
        if leads_to_children(number) {
            agents::CHILDREN.tells(pc);
        }
        stays = number != SOCKETS && !queue.leads_outside() && recording::is_alone();
    });
    // Along a plan, an instance may come to be earlier or later than it did.
    if !stays && plan::is_variable_next(pc, |addr| queue::is_of(EPOLL, addr)).unwrap_or(CHANNELS.polls.get()) {
        with(Some(EPOLL), |number, queue| queue.put(number, 0, pc));
    }
}

/// Its call has written or sent so many of them, fewer than it could have.
pub fn sent(to: c_int, bytes: usize) {
    match file(to) {
        File::Ends { to, .. } => with(to, |_, queue| queue.was_shorter(bytes)),
        File::Socket => sockets::has_sent(to),
        _ => {}
    }
}

/// How much of it was written is not known.
pub fn loses_count(to: c_int) {
    if let File::Ends { to, .. } = file(to) {
        with(to, |_, queue| queue.loses_count());
    }
}

/// Whether its other end is none of the program's.
pub fn leads_outside(file: c_int) -> bool {
    matches!(self::file(file), File::Socket) && own_sockets().is_none()
}

fn takes(from: c_int, amount: Amount, pc: usize) {
    let queue = match file(from) {
        File::Unknown | File::Other | File::Signals => return,
        File::Socket => {
            let queue = sockets::from(from);
            sockets::also_takes(queue, pc);
            queue
        }
        File::Ends { from, .. } => from,
    };
    with(queue, |number, queue| queue.take(number, amount, pc));
}

/// Whether what is read there was written by this process, perhaps, and a call with so much room waits for it.
pub fn reads(from: c_int, room: usize) -> bool {
    match file(from) {
        File::Unknown | File::Other | File::Signals => false,
        File::Socket => has_room(own_sockets(), room),
        File::Ends { from, .. } => has_room(from, room),
    }
}

/// Whether what is written there is read by this process, perhaps, and a call that writes so much waits for room.
pub fn writes(to: c_int, bytes: usize) -> bool {
    match file(to) {
        File::Unknown | File::Other | File::Signals => false,
        File::Socket => has_room(own_sockets(), bytes),
        File::Ends { to, .. } => has_room(to, bytes),
    }
}

fn has_room(queue: Option<u32>, room: usize) -> bool {
    let mut has_room = false;
    with(queue, |_, queue| has_room = room >= queue.least());
    has_room
}

/// It has read or received so many bytes; none at the end. Whether this process has written them, and no other one.
pub fn received(from: c_int, bytes: usize, pc: usize) -> bool {
    let is = file(from);
    if let File::Unknown | File::Other = is {
        shared::reads(from, Some(from), pc);
        return false;
    }
    let mut are_own = false;
    if let File::Ends { from, .. } = is {
        with(from, |number, queue| {
            let is_known = queue.are_own(bytes);
            if leads_to_children(number) && (bytes == 0 || !is_known) {
                agents::CHILDREN.hears(pc);
            }
            are_own = is_known && number >= CHANNELS.shared.get();
        });
    }
    let amount = if bytes == 0 { Amount::All } else { Amount::Bytes(bytes) };
    takes(from, amount, pc);
    are_own
}

/// It has learnt how much there is to read.
pub fn was_counted(from: c_int, pc: usize) {
    let queue = match file(from) {
        File::Unknown | File::Other | File::Signals => return shared::reads(from, None, pc),
        File::Socket => sockets::from(from),
        File::Ends { from, .. } => from,
    };
    with(queue, |number, queue| queue.was_counted(number, pc));
}

/// It found nothing to read, and did not wait. (Of the process's own sockets, which are one channel, what any of them
/// is sent next counts as later.)
pub fn found_empty(from: c_int, pc: usize) {
    let queue = match file(from) {
        File::Unknown | File::Other | File::Signals => return,
        File::Socket => sockets::from(from),
        File::Ends { from, .. } => from,
    };
    with(queue, |number, queue| queue.found_empty(number, pc));
}

/// It is about to write through a stream, which may keep some of it back, or to write what it kept.
pub fn stream_writes(to: c_int, pc: usize) {
    if let File::Ends { to, .. } = file(to) {
        with(to, |_, queue| queue.loses_count());
    }
    sends(to, 0, pc);
}

/// Whether nobody waits at its other end: it has none.
pub fn is_no_channel(file: c_int) -> bool {
    matches!(self::file(file), File::Unknown | File::Other)
}

/// It has read through a stream, which may have read more.
pub fn stream_reads(from: c_int, pc: usize) {
    if let File::Ends { from, .. } = file(from) {
        with(from, |_, queue| queue.loses_count());
    }
    received(from, 0, pc);
}

/// It has seen that it could.
pub fn is_ready(from: c_int, pc: usize) {
    takes(from, Amount::Look, pc);
}

/// It is about to move whatever is there, or to copy it.
pub fn looks_at_all(from: c_int, pc: usize) {
    takes(from, Amount::LookAtAll, pc);
}

/// What waits for an `epoll` instance: who is told of something depends on who waited before, and for what.
fn instance(file: c_int) -> u32 {
    match self::file(file) {
        File::Ends { from: Some(from), .. } => from,
        _ => EPOLL,
    }
}

/// It is about to change for what an `epoll` instance waits.
pub fn changes_poll(instance: c_int, pc: usize) {
    with(Some(self::instance(instance)), |number, queue| queue.put(number, 0, pc));
}

/// It got something from an `epoll` instance.
pub fn polled(instance: c_int, pc: usize) {
    await_turn();
    let own = self::instance(instance);
    with(Some(own), |number, queue| queue.take(number, Amount::All, pc));
    if own != EPOLL {
        with(Some(EPOLL), |number, queue| queue.take(number, Amount::LookAtAll, pc));
    }
}

/// A queue that did not exist.
fn new_queue(queue: Queue) -> u32 {
    // SAFETY: as in `with`.
    let queues = unsafe { &mut *CHANNELS.queues.get() };
    while queues.len() <= LAST_THAT_IS_THERE as usize {
        queues.push(Queue::of_states());
    }
    queues.push(queue);
    queues.len() as u32 - 1
}

/// What is written to the second is read from the first, and what is left of a packet is gone if that is no stream.
pub fn is_pipe([from, to]: [c_int; 2], stream: bool, pc: usize) {
    let queue = new_queue(match stream {
        true => Queue::of_bytes(),
        false => Queue::of_messages(libc::PIPE_BUF),
    });
    is_known_by(from, (Some(queue), Some(queue)));
    let (reads, writes) = ((None, Some(queue)), (Some(queue), None));
    for (end, (to, from)) in [(from, reads), (to, writes)] {
        set(end, File::Ends { to, from });
        opened(end, pc);
    }
}

/// What is written to each is read from the other, and what is left of a message is gone if they are no stream.
pub fn is_pair([a, b]: [c_int; 2], stream: bool, pc: usize) {
    let queue = || {
        new_queue(match stream {
            true => Queue::of_bytes(),
            false => Queue::of_messages(usize::MAX),
        })
    };
    let (ab, ba) = (Some(queue()), Some(queue()));
    for (end, (to, from)) in [(a, (ab, ba)), (b, (ba, ab))] {
        set(end, File::Ends { to, from });
        is_known_by(end, (to, from));
    }
    opened(a, pc);
    opened(b, pc);
}

/// It has a new `eventfd`: what is read is the sum of what was written.
pub fn is_counter(file: c_int, pc: usize) {
    let queue = Some(new_queue(Queue::of_counter()));
    set(file, File::Ends { to: queue, from: queue });
    opened(file, pc);
}

/// It has a new instance of `inotify`.
pub fn watches(file: c_int, pc: usize) {
    CHANNELS.watches.set(true);
    let from = Some(CHANGES);
    set(file, File::Ends { to: None, from });
    opened(file, pc);
}

/// The calling thread is about to change something in files or directories.
pub fn changes_files(pc: usize) {
    if CHANNELS.watches.get() {
        put(Some(CHANGES), 0, pc);
    }
}

/// It has a new descriptor from which signals are read.
pub fn has_signals(file: c_int, pc: usize) {
    set(file, File::Signals);
    opened(file, pc);
}

/// Whether that is one.
pub fn gives_signals(file: c_int) -> bool {
    matches!(self::file(file), File::Signals)
}

/// It is about to start a child.
pub fn starts_child(pc: usize) {
    // SAFETY: as in `with`.
    let known = unsafe { &*CHANNELS.queues.get() }.len();
    CHANNELS.shared.set(known.max(LAST_THAT_IS_THERE as usize + 1) as u32);
    agents::CHILDREN.tells(pc);
    put(Some(CHILDREN), 0, pc);
}

/// It was told how a child ended: since it was told to, perhaps.
pub fn child_ended(pc: usize) {
    agents::CHILDREN.hears(pc);
    with(Some(CHILDREN), |number, queue| queue.take(number, Amount::All, pc));
}

/// It has a new socket.
pub fn is_socket(file: c_int, pc: usize) {
    set(file, File::Socket);
    opened(file, pc);
}

/// It has a new `epoll` instance.
pub fn polls(file: c_int, pc: usize) {
    CHANNELS.polls.set(true);
    let from = Some(new_queue(Queue::of_states()));
    set(file, File::Ends { to: None, from });
    opened(file, pc);
}

/// It has opened a file by a name.
pub fn is_opened(file: c_int, pc: usize) {
    set(file, found_in_system(file, true));
    opened(file, pc);
}

/// It has received a new descriptor, of what anybody may have.
pub fn is_received(file: c_int, pc: usize) {
    set(file, File::Unknown);
    opened(file, pc);
}

/// It has a new descriptor of something else.
pub fn is_other(file: c_int, pc: usize) {
    set(file, File::Other);
    opened(file, pc);
}

/// A descriptor means from now on what another one means.
pub fn copied(from: c_int, to: c_int, pc: usize) {
    if to >= 0 {
        set(to, file(from));
        opened(to, pc);
    }
}

/// A descriptor that may be open is about to mean what another one means; whether it is.
pub fn replaces(to: c_int, pc: usize) -> bool {
    let open = descriptor::is_open(to);
    if open {
        descriptor::also_uses(to, pc);
        ends(to, pc);
    }
    open
}

/// It does now.
pub fn replaced(from: c_int, to: c_int, was_open: bool, pc: usize) {
    if to >= 0 && was_open {
        set(to, file(from));
        given_out(to, pc);
    } else {
        copied(from, to, pc);
    }
}

/// A number was given out.
fn opened(file: c_int, pc: usize) {
    given_out(file, pc);
    descriptor::opened(file, pc);
}

/// What a number means begins.
fn given_out(file: c_int, pc: usize) {
    if let Some(number) = DESCRIPTORS.numbers.get(file as usize)
        && number.get() > 0
        && is_needed()
    {
        count_number(file, number, pc);
    }
}

/// A descriptor is about to be closed.
pub fn closes(file: c_int, pc: usize) {
    if descriptor::closes(file, pc) {
        ends(file, pc);
    }
}

/// What a number means is about to end.
fn ends(file: c_int, pc: usize) {
    if let Some(number) = DESCRIPTORS.numbers.get(file as usize)
        && is_needed()
    {
        // The other end may see that: who reads there, as the end, who writes there, as a failure.
        match self::file(file) {
            File::Unknown | File::Other | File::Signals => {}
            File::Socket => put(own_sockets(), 0, pc),
            File::Ends { to, from } => {
                sockets::forget(file);
                put(to, 0, pc);
                with(from, |number, queue| queue.count(number, pc));
            }
        }
        count_number(file, number, pc);
        set(file, File::Unknown);
    }
}

/// The variable on which a number is counted.
fn count_of(file: c_int) -> u64 {
    NOBODYS | 1 << 61 | 1 << 60 | (file as u64) << 3
}

/// What a call does with a descriptor depends on what the number means by now.
fn depends_on(file: c_int, pc: usize) {
    if let Some(number) = DESCRIPTORS.numbers.get(file as usize)
        && is_needed()
    {
        pending::push(Record::AtomicLoad {
            pc: pc as u64,
            addr: count_of(file),
            size: 4,
            order: variable::SEQUENTIALLY_CONSISTENT,
            value: number.get().into(),
        });
    }
}

fn count_number(file: c_int, number: &Cell<u32>, pc: usize) {
    let before = number.replace(number.get() + 1);
    pending::push(Record::AtomicRmw {
        pc: pc as u64,
        addr: count_of(file),
        size: 4,
        order: variable::SEQUENTIALLY_CONSISTENT,
        read: before.into(),
        written: u64::from(before) + 1,
    });
}
