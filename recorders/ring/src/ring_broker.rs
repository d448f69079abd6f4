//! Where the processes of a program ask for rings of their own: one page that all of them share.
//!
//! A forked child asks when it starts; a process that is about to execute a program asks for what it becomes. The
//! recorder makes a ring and says where it is. No process waits for a recorder that is gone, and a process that dies
//! while it asks delays no other: each has a slot of its own.

use crate::consumer::Ring;
use crate::futex;
use crate::layout::Line;
use crate::ring_path::RingPath;
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes of the page.
const BYTES: usize = 4096;
/// Processes that may ask at the same time.
const SLOTS: usize = 48;
/// How long a process sleeps before it looks whether the recorder is still there.
const PATIENCE: u64 = 20_000_000;

/// What the page holds.
#[repr(C)]
struct Page {
    /// The recorder.
    recorder: AtomicU32,
    /// Its descriptor of this page.
    file: AtomicU32,
    /// 1 once nobody answers any more.
    closed: AtomicU32,
    /// Forks that were announced and whose children did not ask yet.
    expected: AtomicU32,
    /// Counts what was asked; the recorder sleeps on this word.
    bell: Line<AtomicU32>,
    slots: [Slot; SLOTS],
}

const _: () = assert!(size_of::<Page>() <= BYTES);

/// One that asks.
#[repr(C)]
struct Slot {
    state: AtomicU32,
    what: AtomicU32,
    process: AtomicU32,
    file: AtomicU32,
    of: AtomicU32,
    nth: AtomicU32,
    /// The answer: the recorder's descriptor of a ring, and 1; 0 for none.
    ring: AtomicU32,
}

mod state {
    pub const FREE: u32 = 0;
    /// Somebody fills it in.
    pub const CLAIMED: u32 = 1;
    pub const ASKED: u32 = 2;
    pub const ANSWERED: u32 = 3;
}

/// What a process wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// It was forked.
    Forked = 1,
    /// It is about to become another program, which it has open.
    Executes = 2,
    /// It is about to start another program, which it has open, in a process that is not there yet.
    Spawns = 3,
    /// That did not come about.
    Failed = 4,
}

impl What {
    fn from_code(code: u32) -> Option<What> {
        [What::Forked, What::Executes, What::Spawns, What::Failed]
            .into_iter()
            .find(|&what| what as u32 == code)
    }
}

/// What a process asks.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What it wants.
    pub what: What,
    /// Who asks.
    pub process: u32,
    /// Its descriptor of the program, if there is one.
    pub file: u32,
    /// The ring of the process that it came from, by the recorder's number.
    pub of: u32,
    /// Which of that one's processes it is, from 1.
    pub nth: u32,
}

#[derive(Debug)]
struct Mapped(NonNull<Page>);

// SAFETY: everything in the page is atomics.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

/// The recorder's side.
#[derive(Debug)]
pub struct RingBroker {
    file: OwnedFd,
    page: Mapped,
}

/// An ask that waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// What it is.
    pub ask: Ask,
    slot: usize,
}

impl RingBroker {
    /// Opens a broker.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn open() -> io::Result<RingBroker> {
        // SAFETY: memfd_create returns a new descriptor or -1; checked before it is owned.
        let file = unsafe {
            let fd = libc::memfd_create(c"witness-broker".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let file = File::from(file);
        file.set_len(BYTES as u64)?;
        let file = OwnedFd::from(file);
        // SAFETY: a file of that length.
        let page = unsafe { map(file.as_raw_fd()) }.ok_or_else(io::Error::last_os_error)?;
        let broker = RingBroker { file, page };
        let page = broker.page();
        page.recorder.store(std::process::id(), Relaxed);
        page.file.store(broker.file.as_raw_fd() as u32, Relaxed);
        Ok(broker)
    }

    fn page(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives; all of it are atomics, valid whatever they hold.
        unsafe { self.page.0.as_ref() }
    }

    /// Tells whoever gets the ring its number, and where the broker is.
    pub fn introduce(&self, ring: &Ring, number: u32) {
        ring.introduce(number, self.file.as_raw_fd() as u32);
    }

    /// The next one who asks.
    #[must_use]
    pub fn next(&self) -> Option<Asked> {
        let slots = &self.page().slots;
        slots.iter().enumerate().find_map(|(at, slot)| {
            let process = slot.process.load(Relaxed);
            match slot.state.load(Acquire) {
                state::ASKED => {}
                state::FREE => return None,
                _ if is_gone(process) => {
                    slot.state.store(state::FREE, Release);
                    return None;
                }
                _ => return None,
            }
            let Some(what) = What::from_code(slot.what.load(Relaxed)) else {
                slot.answer(None);
                return None;
            };
            let ask = Ask {
                what,
                process,
                file: slot.file.load(Relaxed),
                of: slot.of.load(Relaxed),
                nth: slot.nth.load(Relaxed),
            };
            Some(Asked { ask, slot: at })
        })
    }

    /// Answers: here is a ring, or there is none.
    pub fn answer(&self, asked: &Asked, ring: Option<&Ring>) {
        if asked.ask.what == What::Forked {
            self.expect_one_less();
        }
        self.page().slots[asked.slot].answer(ring);
    }

    /// Forks that were announced and whose children did not ask.
    #[must_use]
    pub fn expected(&self) -> u32 {
        self.page().expected.load(SeqCst)
    }

    fn expect_one_less(&self) {
        self.page().one_less();
    }

    /// Sleeps until somebody asks; at most `nanos`.
    pub fn wait(&self, nanos: u64) {
        let bell = &self.page().bell.0;
        let heard = bell.load(Acquire);
        let asked = |slot: &Slot| slot.state.load(Acquire) == state::ASKED;
        if !self.page().slots.iter().any(asked) {
            futex::wait(bell, heard, Some(nanos), true);
        }
    }

    /// Ends the sleep of [`wait`](RingBroker::wait).
    pub fn wake(&self) {
        self.page().ring_bell();
    }

    /// From here on nobody gets an answer.
    pub fn close(&self) {
        self.page().closed.store(1, SeqCst);
        while let Some(asked) = self.next() {
            self.answer(&asked, None);
        }
    }
}

impl Drop for RingBroker {
    fn drop(&mut self) {
        self.close();
        // SAFETY: `open` mapped it, and nothing refers to it any more.
        unsafe { libc::munmap(self.page.0.as_ptr().cast(), BYTES) };
    }
}

impl Slot {
    fn answer(&self, ring: Option<&Ring>) {
        self.ring.store(ring.map_or(0, |ring| ring.file() + 1), Relaxed);
        self.state.store(state::ANSWERED, Release);
        futex::wake(&self.state, 1, true);
    }
}

impl Page {
    fn ring_bell(&self) {
        self.bell.0.fetch_add(1, AcqRel);
        futex::wake(&self.bell.0, 1, true);
    }

    fn one_less(&self) {
        let less = |count: u32| count.checked_sub(1);
        // A count of 0 stays: a fork that nobody announced.
        let _ = self.expected.fetch_update(SeqCst, SeqCst, less);
    }
}

fn is_gone(process: u32) -> bool {
    // SAFETY: no signal is sent.
    process != 0 && unsafe { libc::kill(process as libc::pid_t, 0) } != 0
}

/// # Safety
/// `file` is an open file of a page.
unsafe fn map(file: libc::c_int) -> Option<Mapped> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses.
    let page = unsafe { libc::mmap(ptr::null_mut(), BYTES, protection, libc::MAP_SHARED, file, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    NonNull::new(page.cast()).map(Mapped)
}

/// The program's side. Made for a `static`: it starts without a broker.
#[derive(Debug)]
pub struct Client(AtomicPtr<Page>);

impl Client {
    /// One that gets no answers.
    #[must_use]
    pub const fn nowhere() -> Client {
        Client(AtomicPtr::new(ptr::null_mut()))
    }

    /// Finds the broker. The mapping stays, and forked children have it, too.
    pub fn attach(&self, path: RingPath) {
        // SAFETY: plain system calls; the path is a C string, the file is closed once.
        unsafe {
            let file = libc::open(path.as_c_str().as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file >= 0 {
                let page = map(file).map_or(ptr::null_mut(), |page| page.0.as_ptr());
                self.0.store(page, Release);
                libc::close(file);
            }
        }
    }

    fn page(&self) -> Option<&Page> {
        // SAFETY: null, or mapped for ever.
        unsafe { self.0.load(Acquire).as_ref() }.filter(|page| page.closed.load(Relaxed) == 0)
    }

    /// Whether somebody would answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.page().is_some_and(Page::has_recorder)
    }

    /// A fork is about to happen: its child will ask.
    pub fn announce(&self) {
        if let Some(page) = self.page() {
            page.expected.fetch_add(1, SeqCst);
        }
    }

    /// It did not happen.
    pub fn take_back(&self) {
        if let Some(page) = self.page() {
            page.one_less();
        }
    }

    /// Asks, and waits for the answer; where the ring is.
    pub fn ask(&self, ask: Ask) -> Option<RingPath> {
        let page = self.page()?;
        let slot = page.claim(ask.process)?;
        slot.what.store(ask.what as u32, Relaxed);
        slot.file.store(ask.file, Relaxed);
        slot.of.store(ask.of, Relaxed);
        slot.nth.store(ask.nth, Relaxed);
        slot.state.store(state::ASKED, Release);
        page.ring_bell();
        while slot.state.load(Acquire) == state::ASKED {
            futex::wait(&slot.state, state::ASKED, Some(PATIENCE), true);
            if slot.state.load(Acquire) == state::ASKED && !page.has_recorder() {
                page.closed.store(1, Relaxed);
                return None;
            }
        }
        let ring = slot.ring.load(Relaxed);
        slot.state.store(state::FREE, Release);
        Some(RingPath::new(page.recorder.load(Relaxed), ring.checked_sub(1)?))
    }
}

impl Page {
    fn has_recorder(&self) -> bool {
        RingPath::new(self.recorder.load(Relaxed), self.file.load(Relaxed)).is_there()
    }

    /// A slot of the caller's own. `None` if there is none and nobody to free one.
    fn claim(&self, process: u32) -> Option<&Slot> {
        loop {
            for slot in &self.slots {
                let free = slot
                    .state
                    .compare_exchange(state::FREE, state::CLAIMED, AcqRel, Relaxed);
                if free.is_ok() {
                    slot.process.store(process, Relaxed);
                    return Some(slot);
                }
            }
            if !self.has_recorder() || self.closed.load(Relaxed) != 0 {
                return None;
            }
            futex::wait(&self.slots[0].state, state::CLAIMED, Some(1_000_000), true);
        }
    }
}

#[cfg(test)]
mod tests;
