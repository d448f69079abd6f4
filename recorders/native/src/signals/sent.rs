//! Signals that the program sends to itself: the handler that runs for one comes after the call that sent it.
//!
//! Of a signal that waits already, the kernel keeps one: the first send is the cause of the handler's run, and those
//! that came before it was taken are the same signal. The real-time signals queue up.

use crate::events::agents::{CHILDREN, SYSTEM};
use crate::events::moment::Moment;
use crate::platform::sys;
use crate::scheduling::thread::Thread;
use crate::signals::{notifications, outside};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Release};
use libc::{c_int, siginfo_t};
use std::vec::Vec;

/// Signals from this one on queue up.
pub const FIRST_THAT_QUEUES: c_int = 32;

/// Whom a signal was sent to: one thread, or the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver(*const Thread);

impl Receiver {
    pub const PROCESS: Receiver = Receiver(ptr::null());

    pub fn thread(thread: &Thread) -> Receiver {
        Receiver(thread)
    }
}

/// A signal that was sent, and not yet handled.
struct Sent {
    signal: c_int,
    to: Receiver,
    number: u64,
    at: Moment,
}

struct Sends {
    waiting: Vec<Sent>,
    /// The last ones that were handled, one of a kind.
    handled: Vec<Sent>,
}

static SENDS: Table = Table(UnsafeCell::new(Sends {
    waiting: Vec::new(),
    handled: Vec::new(),
}));

struct Table(UnsafeCell<Sends>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Table {}

/// How many were sent.
static COUNT: AtomicU64 = AtomicU64::new(0);

fn with<R>(work: impl FnOnce(&mut Sends) -> R) -> R {
    // SAFETY: the caller has the baton, and `work` does not come back here.
    work(unsafe { &mut *SENDS.0.get() })
}

/// In a forked child, which has no signals waiting.
pub fn start_over() {
    with(|sends| {
        sends.waiting.clear();
        sends.handled.clear();
    });
}

/// How many signals were sent so far; whoever takes one from the kernel calls this, in whatever state it is.
pub fn count() -> u64 {
    COUNT.load(Acquire)
}

/// The running thread is about to send a signal; its number.
pub fn sends(signal: c_int, to: Receiver, pc: usize) -> u64 {
    let number = COUNT.fetch_add(1, Release) + 1;
    let at = Moment::now(pc);
    with(|sends| {
        sends.waiting.push(Sent { signal, to, number, at });
    });
    number
}

/// Whether there is a signal that was sent to the thread, or to any, and not handled, as far as is known. The caller
/// has locked the scheduler, and has the baton, or nobody has it.
pub fn may_come_to(thread: &Thread) -> bool {
    let to = [Receiver::PROCESS, Receiver::thread(thread)];
    with(|sends| sends.waiting.iter().any(|sent| to.contains(&sent.to)))
}

/// It was not sent.
pub fn failed(number: u64) {
    with(|sends| sends.waiting.retain(|sent| sent.number != number));
}

/// From here on a signal is handled in another way, or not at all: what waits may be lost.
pub fn changed(signal: c_int) {
    with(|sends| {
        while let Some(at) = sends.waiting.iter().position(|sent| sent.signal == signal) {
            let sent = sends.waiting.remove(at);
            sends.remember(sent);
        }
    });
}

/// The running thread handles a signal that it took from the kernel when so many had been sent.
pub fn handles(thread: &Thread, info: &siginfo_t, when: u64, pc: usize) {
    if let Some(matter) = notifications::matter(info) {
        SYSTEM.hears_about(matter, pc);
        return;
    }
    // SAFETY: a signal that a process sent says which.
    if info.si_code > 0 || unsafe { info.si_pid() } != sys::process_id() {
        if outside::is_from_outside(info) {
            // A child may have sent it, or ended.
            CHILDREN.hears(pc);
        }
        return;
    }
    const SENT_TO_THREAD: c_int = -6;
    let me = Receiver::thread(thread);
    let to: &[Receiver] = match info.si_code {
        libc::SI_USER => &[Receiver::PROCESS],
        SENT_TO_THREAD => &[me],
        _ => &[Receiver::PROCESS, me],
    };
    takes(info.si_signo, to, when, pc);
}

/// The running thread has waited for a signal, and got it. Whether the program sent it, as far as is known.
pub fn waited_for(thread: &Thread, signal: c_int, pc: usize) -> bool {
    let is_own = takes(signal, &[Receiver::PROCESS, Receiver::thread(thread)], count(), pc);
    if !is_own {
        // From a child, perhaps, or a timer.
        CHILDREN.hears(pc);
        SYSTEM.hears(pc);
    }
    is_own
}

fn takes(signal: c_int, to: &[Receiver], when: u64, pc: usize) -> bool {
    let cause = with(|sends| sends.take(signal, to, when));
    if let Some(cause) = cause {
        cause.is_past(pc);
    }
    cause.is_some()
}

impl Sends {
    fn take(&mut self, signal: c_int, to: &[Receiver], when: u64) -> Option<Moment> {
        let is_it = |sent: &Sent| sent.signal == signal && to.contains(&sent.to);
        let Some(at) = self.waiting.iter().position(is_it) else {
            // Whatever was taken for one and the same were two.
            let last = self
                .handled
                .iter()
                .filter(|sent| is_it(sent))
                .max_by_key(|sent| sent.number);
            return last.map(|sent| sent.at);
        };
        let cause = self.waiting.remove(at);
        let (moment, receiver) = (cause.at, cause.to);
        self.remember(cause);
        let is_same = |sent: &Sent| sent.signal == signal && sent.to == receiver && sent.number <= when;
        while signal < FIRST_THAT_QUEUES
            && let Some(at) = self.waiting.iter().position(is_same)
        {
            let same = self.waiting.remove(at);
            self.remember(same);
        }
        Some(moment)
    }

    fn remember(&mut self, sent: Sent) {
        let is_kind = |known: &&mut Sent| known.signal == sent.signal && known.to == sent.to;
        match self.handled.iter_mut().find(is_kind) {
            Some(known) => *known = sent,
            None => self.handled.push(sent),
        }
    }
}
