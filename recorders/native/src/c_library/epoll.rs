//! What `epoll` instances say: which descriptors are ready, for what. Along a plan it is what they said in the recorded
//! run, also to libraries that wait for the program (libevent, libuv): what their caller does next depends on that
//! alone.
//!
//! A descriptor is told by the word that was registered with it, which may be an address, another one in each run. So
//! what is recorded is the descriptor, and its word is looked up among those that this run registered.

use super::channels;
use crate::events::modules;
use crate::platform::{memory, real};
use crate::runtime::accesses::input;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use crate::scheduling::thread::slot;
use core::cell::UnsafeCell;
use libc::{c_int, c_short, epoll_event, pollfd};
use std::vec::Vec;

/// How many milliseconds a live run waits until a descriptor is ready that was in the recorded run. The program's calls
/// on it get the recorded input again, but some have to succeed for that: to accept a connection, somebody must have
/// asked for it.
const PATIENCE: c_int = 2000;

/// The same where the program accepts a connection, without which it does not go on: clients take their own time.
const PATIENCE_TO_ACCEPT: c_int = 8000;

/// A descriptor that an instance watches, and its word.
#[derive(Clone, Copy)]
struct Registered {
    instance: c_int,
    file: c_int,
    word: u64,
    /// It is told of once for each time that something came (`EPOLLET`).
    by_edge: bool,
}

static REGISTERED: List = List(UnsafeCell::new(Vec::new()));

struct List(UnsafeCell<Vec<Registered>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for List {}

fn registered() -> &'static mut Vec<Registered> {
    // SAFETY: the caller has the baton, and keeps nothing of the list.
    unsafe { &mut *REGISTERED.0.get() }
}

/// An instance was told what to watch.
pub fn was_told(instance: c_int, action: c_int, file: c_int, event: *const epoll_event) {
    let list = registered();
    list.retain(|known| (known.instance, known.file) != (instance, file));
    if action != libc::EPOLL_CTL_DEL
        && let Some(event) = memory::at(event)
    {
        list.push(Registered {
            instance,
            file,
            word: event.u64,
            by_edge: event.events & libc::EPOLLET as u32 != 0,
        });
    }
}

/// What an instance said in the recorded run, where the calling thread waits for it now, as far as a plan has it:
/// descriptors, and for what they are ready. Waits until they are; not for ever.
pub fn recorded(instance: c_int, most: c_int, pc: usize) -> Option<Vec<epoll_event>> {
    let mut inputs = plan::inputs(pc);
    let count = inputs.next().filter(|&count| count <= most.max(0) as u64)? as usize;
    let said: Vec<(c_int, u32)> = inputs
        .take(count)
        .map(|value| ((value >> 32) as c_int, value as u32))
        .collect();
    let with_words = said.iter().map(|&(file, events)| {
        let mut known = registered()
            .iter()
            .filter(|known| (known.instance, known.file) == (instance, file));
        known.next().map(|known| epoll_event {
            events,
            u64: known.word,
        })
    });
    let events = with_words
        .collect::<Option<Vec<_>>>()
        .filter(|events| events.len() == count)?;
    said.iter().for_each(|&(file, events)| wait_for(file, events, PATIENCE));
    Some(events)
}

/// Along a plan, waits until there is something to accept where there was in the recorded run: what told of it then may
/// have been told again, before a client has come in this run.
pub fn wait_to_accept(file: c_int, pc: usize) {
    if modules::is_instrumented(pc) && plan::will_return(pc).is_some_and(|told| told as i64 >= 0) {
        wait_for(file, libc::EPOLLIN as u32, PATIENCE_TO_ACCEPT);
    }
}

fn wait_for(file: c_int, events: u32, patience: c_int) {
    let mut state = pollfd {
        fd: file,
        events: events as c_short,
        revents: 0,
    };
    // SAFETY: a slot holds a thread, which lives for ever; one valid entry.
    unsafe {
        if real::poll(&mut state, 1, 0) == 0 {
            RuntimeGuard::of(&*slot()).outside(|| real::poll(&mut state, 1, patience));
        }
    }
}

/// Records that what an instance tells by this word comes behind what was written there: what is read first, of a
/// descriptor that is known, or all.
fn looks(instance: c_int, word: u64, pc: usize) {
    let known = |one: &&Registered| one.instance == instance && one.word == word;
    let list = registered();
    let is_known = list.iter().any(|one| known(&one));
    let files: Vec<Registered> = list.iter().filter(|one| !is_known || known(one)).copied().collect();
    for one in &files {
        match files.len() == 1 && is_known && !one.by_edge {
            true => channels::is_ready(one.file, pc),
            false => channels::looks_at_all(one.file, pc),
        }
        looks_within(one.file, MOST_NESTED, pc);
    }
}

/// Instances that watch one another, one within the other: the kernel allows no more.
const MOST_NESTED: usize = 5;

/// The same of all that a descriptor watches, if that is an instance.
fn looks_within(instance: c_int, nested: usize, pc: usize) {
    let within: Vec<c_int> = registered()
        .iter()
        .filter(|one| one.instance == instance && nested > 0)
        .map(|one| one.file)
        .collect();
    for file in within {
        channels::looks_at_all(file, pc);
        looks_within(file, nested - 1, pc);
    }
}

/// The calling thread has seen that it could read from a descriptor.
pub fn is_ready(file: c_int, pc: usize) {
    channels::is_ready(file, pc);
    looks_within(file, MOST_NESTED, pc);
}

/// An instance has said what is ready, if it did: what the program gets to see, and how many.
///
/// # Safety
/// The call has written so many events, and has room for those of the recorded run.
pub unsafe fn said(
    instance: c_int,
    to: *mut epoll_event,
    ready: c_int,
    recorded: Option<Vec<epoll_event>>,
    pc: usize,
) -> c_int {
    if let Some(recorded) = &recorded {
        for (at, &event) in recorded.iter().enumerate() {
            // SAFETY: promised by the caller.
            unsafe { to.add(at).write_unaligned(event) };
        }
    }
    let ready = recorded.map_or(ready, |recorded| recorded.len() as c_int);
    input(ready as u64, pc);
    for event in memory::each(to.cast_const(), ready.max(0) as usize) {
        let (events, word) = (event.events, event.u64);
        let known = registered()
            .iter()
            .find(|known| known.instance == instance && known.word == word);
        let file = known.map_or(-1, |known| known.file);
        input((file as u32 as u64) << 32 | u64::from(events), pc);
    }
    if ready > 0 {
        channels::polled(instance, pc);
    }
    for event in memory::each(to.cast_const(), ready.max(0) as usize) {
        if event.events & !(libc::EPOLLOUT as u32) != 0 {
            let word = event.u64;
            looks(instance, word, pc);
        }
    }
    ready
}
