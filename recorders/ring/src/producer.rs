//! The program's end of the rings.
//!
//! The memory of each ring is mapped twice, one mapping right behind the other, so plain stores may reach over its end.
//! Events are published by one store of [`Header::published`]: a program killed between two instructions leaves no half
//! event.

use crate::layout::{Death, EXITED, Flag, HEADER_BYTES, HITS_BITS, Header, MAGIC, Policy, Progress, Settings};
use crate::ring_path::RingPath;
use crate::row::{MAX_WORDS, Row};
use crate::{futex, plan};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};
use event_coding::{HEAD_BYTES, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, OPEN_HEAD, head};

/// One more predicted event.
const HIT: u64 = 1;
/// Where the run is full.
const FULL: u64 = (1 << HITS_BITS) - 1;

/// What is published where nobody reads it.
static VOID: AtomicU64 = AtomicU64::new(0);
/// Bytes of a ring that nobody reads.
const VOID_BYTES: usize = 4096;

/// The predicted events of the open run.
const fn hits_of(published: u64) -> u32 {
    ((published & FULL) as u32).saturating_sub(1)
}

/// The position of what is published next.
const fn position_of(published: u64) -> u64 {
    published >> HITS_BITS
}

/// Where a plan is mapped, if nothing is there: far from where the kernel maps what the program and its threads get,
/// whose addresses are then those of a run without a plan.
const PLANS_APART: usize = 1 << 44;

/// Size at which the first block is closed, and the size that grows to, in bytes: each block is
/// twice as large as the one before, so that a short trace that is cut keeps its events, too.
const FIRST_BLOCK_BYTES: u64 = 256;
const BLOCK_BYTES: u64 = 256 << 10;
/// Events at which a block is closed: with the longest run behind them it is full.
const BLOCK_EVENTS: u32 = (1 << 20) - 2 * MAX_RUN as u32;
/// Most bytes that are written at once: those of an item, of literals, and the head of the next run.
const PUT_BYTES: usize = 128;

const _: () = assert!(MAX_ITEM_BYTES + HEAD_BYTES <= PUT_BYTES && MAX_LITERAL_BYTES <= PUT_BYTES);
/// A run of the longest sort is full.
const _: () = assert!(MAX_RUN as u64 + 1 == FULL);

/// The program's end. Made for a `static`: it starts detached, and is attached once.
#[derive(Debug)]
pub struct Producer {
    header: Cell<*const Header>,
    /// [`Header::published`], or a word that nobody reads once nothing is published any more.
    published: Cell<*const AtomicU64>,
    rows: Cell<*mut u64>,
    row_mask: Cell<u64>,
    /// Up to where may be written without asking how far the consumer is.
    row_limit: Cell<u64>,
    events: Cell<*mut u8>,
    event_mask: Cell<u64>,
    event_limit: Cell<u64>,
    /// Where the current block began, when it is to be closed, and its events so far, without the
    /// predicted ones of the last run.
    block_start: Cell<u64>,
    block_bytes: Cell<u64>,
    block_events: AtomicU32,
    /// Where the head of the open run is.
    run: Cell<u64>,
    /// Events of the blocks before.
    events_before: AtomicU64,
    /// At how many events [`is_due`](Self::is_due), and what is published of the open run then.
    due_at: Cell<u64>,
    due_hits: Cell<u8>,
    /// The recorder's number of the ring.
    number: Cell<u32>,
    /// Where the rings are, as long as there is somebody who takes what is sent.
    path: Cell<RingPath>,
}

// SAFETY: `attach` demands that nobody else is there yet. What the methods that demand no more than *attached* read of
// the cells is what it left there, for good; the others demand that their callers come one at a time, ordered by
// something that synchronizes (the baton).
unsafe impl Sync for Producer {}

impl Producer {
    /// A producer without a ring.
    #[must_use]
    pub const fn detached() -> Self {
        Self {
            header: Cell::new(ptr::null()),
            published: Cell::new(ptr::null()),
            rows: Cell::new(ptr::null_mut()),
            row_mask: Cell::new(0),
            row_limit: Cell::new(0),
            events: Cell::new(ptr::null_mut()),
            event_mask: Cell::new(0),
            event_limit: Cell::new(0),
            block_start: Cell::new(0),
            block_bytes: Cell::new(FIRST_BLOCK_BYTES),
            block_events: AtomicU32::new(0),
            run: Cell::new(0),
            events_before: AtomicU64::new(0),
            due_at: Cell::new(0),
            due_hits: Cell::new(0),
            number: Cell::new(0),
            path: Cell::new(RingPath::NOWHERE),
        }
    }

    /// Maps the rings in the file at `path`; says what is wanted of the runtime. In a forked child, where the rings
    /// of its parent are not mapped, it may be called again.
    ///
    /// # Safety
    /// No other thread may use `self` during this call, and it may succeed only once in a process.
    pub unsafe fn attach(&self, path: RingPath) -> Option<Settings> {
        // SAFETY: plain system calls on memory that they allocate themselves; the path is a C string.
        unsafe {
            let file = libc::open(path.as_c_str().as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let settings = self.map(file, path);
            libc::close(file);
            settings
        }
    }

    /// # Safety
    /// As [`attach`](Self::attach); `file` is an open file.
    unsafe fn map(&self, file: libc::c_int, path: RingPath) -> Option<Settings> {
        // SAFETY: the first mapping is checked before it is read as a header; it is page aligned,
        // and `Header` is valid for all contents. It stays.
        unsafe {
            let header = libc::mmap(
                ptr::null_mut(),
                HEADER_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file,
                0,
            );
            if header == libc::MAP_FAILED {
                return None;
            }
            // A forked child must not reach the rings, not even by mistake.
            libc::madvise(header, HEADER_BYTES, libc::MADV_DONTFORK);
            let header = &*header.cast::<Header>();
            let (row_bytes, event_bytes) = (header.row_words * 8, header.event_bytes);
            let good = |bytes: u64| bytes.is_power_of_two() && bytes.is_multiple_of(4096);
            if header.magic != MAGIC || !good(row_bytes) || !good(event_bytes) {
                return None;
            }
            self.rows.set(map_twice(file, HEADER_BYTES, row_bytes as usize)?.cast());
            let behind = HEADER_BYTES + row_bytes as usize;
            self.events.set(map_twice(file, behind, event_bytes as usize)?);
            self.header.set(header);
            self.published.set(&raw const header.published.0);
            self.row_mask.set(header.row_words - 1);
            self.row_limit.set(header.row_words - MAX_WORDS as u64);
            self.event_mask.set(event_bytes - 1);
            self.event_limit.set(event_bytes - PUT_BYTES as u64);
            self.block_start.set(0);
            self.block_bytes.set(FIRST_BLOCK_BYTES);
            self.block_events.store(0, Relaxed);
            self.events_before.store(0, Relaxed);
            self.number.set(header.number.load(Relaxed));
            self.path.set(path);
            self.open_run(0);
            header.process.store(std::process::id(), Relaxed);
            header.flags.fetch_or(Flag::Attached as u32, Release);
            self.ring_bell();
            while header.unseen.load(Acquire) != 0 && path.is_there() {
                futex::wait(&header.unseen, 1, Some(10_000_000), true);
            }
            Some(Settings {
                policy: Policy::from_code(header.policy.load(Relaxed)),
                seed: header.seed.load(Relaxed),
                depth: header.depth.load(Relaxed),
                steps: header.steps.load(Relaxed),
                most: header.most.load(Relaxed),
                clocks_stand_at: header.clocks_stand_at.load(Relaxed),
                pictures: header.pictures.load(Relaxed),
            })
        }
    }

    #[inline(always)]
    fn published(&self) -> &AtomicU64 {
        // SAFETY: set by `map` to memory that stays mapped, and later to a static; used only after `attach` succeeded.
        unsafe { &*self.published.get() }
    }

    /// Whether everything is dropped, since nobody takes it and the ring is full.
    fn is_void(&self) -> bool {
        ptr::eq(self.published.get(), &raw const VOID)
    }

    /// From here on everything is dropped: what is in the ring is the beginning of what was recorded, and stays it.
    #[cold]
    fn drop_everything(&self) {
        // SAFETY: plain system call; two pages, of which the first is written to, and a little of the second.
        let pages = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), 2 * VOID_BYTES, protection, flags, -1, 0)
        };
        if pages == libc::MAP_FAILED {
            // Without memory for what nobody wants, the program has none, either.
            // SAFETY: ends the process.
            unsafe { libc::abort() };
        }
        self.events.set(pages.cast());
        self.event_mask.set(VOID_BYTES as u64 - 1);
        self.event_limit.set(u64::MAX);
        VOID.store(self.published().load(Relaxed), Relaxed);
        self.published.set(&raw const VOID);
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: set by `map` to memory that stays mapped; used only after `attach` succeeded.
        unsafe { &*self.header.get() }
    }

    /// Counts a predicted event of the open run, whose literals are the first `len` bytes in
    /// [`literals`](Self::literals). False if the run is full.
    ///
    /// # Safety
    /// Attached; one caller at a time, each ordered after the one before.
    #[inline(always)]
    pub unsafe fn hit(&self, len: usize) -> bool {
        let published = self.published();
        let word = published.load(Relaxed);
        let fits = word & FULL != FULL;
        if fits {
            published.store(word + HIT + ((len as u64) << HITS_BITS), Release);
        }
        fits
    }

    /// The same if the run is known to have room: since [`is_due`](Self::is_due) said no, nothing was counted.
    ///
    /// # Safety
    /// As [`hit`](Self::hit), and what is said above.
    #[inline(always)]
    pub unsafe fn one_more(&self, len: usize) {
        let published = self.published();
        published.store(published.load(Relaxed) + HIT + ((len as u64) << HITS_BITS), Release);
    }

    /// Whether as many events are published as [`due_after`](Self::due_after) said, or the run is full.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    #[inline(always)]
    #[must_use]
    pub unsafe fn is_due(&self) -> bool {
        self.published().load(Relaxed) as u8 >= self.due_hits.get()
    }

    /// The same once one more event is published.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    #[inline(always)]
    #[must_use]
    pub unsafe fn is_due_after_one(&self) -> bool {
        // A run that is full has 255 here, and is due whatever comes.
        u32::from(self.published().load(Relaxed) as u8) + 1 >= u32::from(self.due_hits.get())
    }

    /// Says how many more events may be published until [`is_due`](Self::is_due).
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    pub unsafe fn due_after(&self, events: u64) {
        // SAFETY: as the caller vouches.
        self.due_at.set(unsafe { self.events() }.saturating_add(events));
        self.set_due_hits();
    }

    /// What is published of the open run when it is due, or full at the latest.
    #[inline(always)]
    fn set_due_hits(&self) {
        let before = self.events_before.load(Relaxed) + u64::from(self.block_events.load(Relaxed));
        let hits = self.due_at.get().saturating_sub(before).min(MAX_RUN as u64);
        self.due_hits.set((HIT + hits) as u8);
    }

    /// The predicted events of the open run.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    #[must_use]
    pub unsafe fn hits(&self) -> u32 {
        hits_of(self.published().load(Relaxed))
    }

    /// Where the literals of the next event are to be put together. Waits while the ring is full.
    ///
    /// # Safety
    /// As [`hit`](Self::hit); not used again after the next call of any of these.
    #[inline(always)]
    pub unsafe fn literals(&self) -> *mut [u8; MAX_LITERAL_BYTES] {
        self.next_bytes().cast()
    }

    /// The same, if the ring is not full.
    ///
    /// # Safety
    /// As [`hit`](Self::hit); not used again after the next call of any of these.
    #[inline(always)]
    pub unsafe fn literals_now(&self) -> Option<*mut [u8; MAX_LITERAL_BYTES]> {
        let at = position_of(self.published().load(Relaxed));
        (at <= self.event_limit.get()).then(|| self.byte(at).cast())
    }

    /// Where the item that ends the run is to be put together, for [`put`](Self::put). Waits while the ring is full.
    ///
    /// # Safety
    /// As [`hit`](Self::hit); not used again after the next call of any of these.
    #[inline(always)]
    pub unsafe fn room(&self) -> *mut [u8; MAX_ITEM_BYTES] {
        self.next_bytes().cast()
    }

    /// Where [`PUT_BYTES`] bytes can be written behind what is published.
    #[inline(always)]
    fn next_bytes(&self) -> *mut u8 {
        let at = position_of(self.published().load(Relaxed));
        if at > self.event_limit.get() && !self.wait_for_events(at) {
            self.drop_everything();
        }
        self.byte(at)
    }

    /// The byte at a position that the consumer has not taken.
    #[inline(always)]
    fn byte(&self, at: u64) -> *mut u8 {
        // SAFETY: `at & mask` lies in the first mapping, what is written from there on in the second at the latest; the
        // consumer has taken what was there before (`event_limit`).
        unsafe { self.events.get().add((at & self.event_mask.get()) as usize) }
    }

    /// Ends the open run with the token and the first `len` of the bytes that are in the [`room`](Self::room), which
    /// stand for `events` events.
    ///
    /// # Safety
    /// As [`hit`](Self::hit); the last call was that of `room`.
    #[inline(always)]
    pub unsafe fn put(&self, token: u16, len: usize, events: u32) {
        let word = self.published().load(Relaxed);
        let at = position_of(word);
        self.block_events
            .store(self.block_events.load(Relaxed) + hits_of(word) + events, Relaxed);
        self.close_run(word, token);
        self.open_run(at + len as u64);
    }

    /// Writes the head of the open run. Whoever finds it so knows by its end that it was not over.
    #[inline(always)]
    fn close_run(&self, word: u64, token: u16) {
        // SAFETY: memory of the ring, see `byte`.
        unsafe {
            self.byte(self.run.get())
                .cast::<[u8; HEAD_BYTES]>()
                .write(head(hits_of(word) as u8, token))
        };
    }

    /// Starts a run at `at`, and publishes all that is before.
    #[inline(always)]
    fn open_run(&self, at: u64) {
        // SAFETY: memory of the ring, see `byte`.
        unsafe { self.byte(at).cast::<[u8; HEAD_BYTES]>().write(OPEN_HEAD) };
        self.run.set(at);
        let published = (at + HEAD_BYTES as u64) << HITS_BITS | HIT;
        self.published().store(published, Release);
        self.set_due_hits();
    }

    /// Whether the current block is large enough to be closed.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    #[must_use]
    pub unsafe fn is_block_due(&self) -> bool {
        let at = position_of(self.published().load(Relaxed));
        at - self.block_start.get() >= self.block_bytes.get() || self.block_events.load(Relaxed) >= BLOCK_EVENTS
    }

    /// How many events were published.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    #[must_use]
    pub unsafe fn events(&self) -> u64 {
        self.events_with(self.published().load(Relaxed))
    }

    /// The same for any thread: a number that was right a moment ago, or off by what was dropped, or by a block if that
    /// is being closed.
    ///
    /// # Safety
    /// Attached.
    #[must_use]
    pub unsafe fn events_about(&self) -> u64 {
        self.events_with(self.header().published.0.load(Relaxed))
    }

    fn events_with(&self, published: u64) -> u64 {
        let closed = self.events_before.load(Relaxed) + u64::from(self.block_events.load(Relaxed));
        closed + u64::from(hits_of(published))
    }

    /// Ends the current block. False if it has no event yet: it goes on.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    pub unsafe fn close_block(&self) -> bool {
        let word = self.published().load(Relaxed);
        let end = position_of(word);
        let events = self.block_events.load(Relaxed) + hits_of(word);
        if events == 0 {
            return false;
        }
        self.close_run(word, 0);
        // SAFETY: as the caller vouches.
        unsafe { self.push(Row::Block { end, events }) };
        self.events_before
            .store(self.events_before.load(Relaxed) + u64::from(events), Relaxed);
        self.block_events.store(0, Relaxed);
        // Only now: until then they belong to the block that is open.
        self.open_run(end);
        self.block_start.set(end);
        // An open block must leave room for what follows it.
        let largest = BLOCK_BYTES.min((self.event_mask.get() + 1) / 4);
        self.block_bytes.set((2 * self.block_bytes.get()).min(largest));
        self.ring_bell();
        true
    }

    /// Appends a row. Waits while the ring is full; drops the row if its consumer is gone.
    ///
    /// # Safety
    /// As [`hit`](Self::hit).
    pub unsafe fn push(&self, row: Row) {
        if self.is_void() {
            return;
        }
        let (words, len) = row.encode();
        let rows = &self.header().rows;
        let at = rows.load(Relaxed);
        if at > self.row_limit.get() && !self.wait_for_rows(at) {
            // Events that need the row must not be found without it.
            self.drop_everything();
            return;
        }
        // SAFETY: as in `put`.
        unsafe {
            let to = self.rows.get().add((at & self.row_mask.get()) as usize);
            for (i, word) in words.iter().take(len).enumerate() {
                to.add(i).write(*word);
            }
        }
        rows.store(at + len as u64, Release);
        let half = self.row_mask.get() / 2 + 1;
        if at / half != (at + len as u64) / half {
            self.ring_bell();
        }
    }

    /// Wakes the consumer if it sleeps.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn call(&self) {
        self.ring_bell();
    }

    fn ring_bell(&self) {
        let header = self.header();
        header.bell.0.fetch_add(1, Relaxed);
        fence(SeqCst);
        if header.asleep.load(Relaxed) != 0 {
            futex::wake(&header.bell.0, 1, true);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_events(&self, at: u64) -> bool {
        let room = self.event_mask.get() + 1 - PUT_BYTES as u64;
        self.wait_for_room(|header| {
            self.event_limit.set(header.events_taken.load(Acquire) + room);
            at <= self.event_limit.get()
        })
    }

    #[cold]
    #[inline(never)]
    fn wait_for_rows(&self, at: u64) -> bool {
        let room = self.row_mask.get() + 1 - MAX_WORDS as u64;
        self.wait_for_room(|header| {
            self.row_limit.set(header.rows_taken.0.load(Acquire) + room);
            at <= self.row_limit.get()
        })
    }

    /// Sleeps until there is room. False if no consumer is left.
    fn wait_for_room(&self, mut there_is_room: impl FnMut(&Header) -> bool) -> bool {
        let header = self.header();
        loop {
            if there_is_room(header) {
                return true;
            }
            if header.flags.load(Relaxed) & Flag::Abandoned as u32 != 0 {
                return false;
            }
            header.full.0.store(1, Relaxed);
            self.ring_bell();
            if !there_is_room(header) {
                // A lost wake-up costs ten milliseconds and no more.
                futex::wait(&header.full.0, 1, Some(10_000_000), true);
            }
            if !there_is_room(header) && !self.path.get().is_there() {
                // It was killed, and could not say so.
                header.flags.fetch_or(Flag::Abandoned as u32, Relaxed);
            }
        }
    }

    /// The words of the plan behind the rings, as a copy that the caller may write to, and its steps;
    /// none if there is none.
    ///
    /// # Safety
    /// Attached with the file at `path`.
    pub unsafe fn plan(&self, path: RingPath) -> Option<(*mut u64, usize)> {
        let header = self.header();
        let len = header.plan.load(Relaxed) as usize;
        if len == 0 {
            return None;
        }
        // SAFETY: plain system calls; the mapping is private, of the file's last part, which begins
        // at a page, since all that is before it are whole pages.
        unsafe {
            let file = libc::open(path.as_c_str().as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let start = HEADER_BYTES as u64 + header.row_words * 8 + header.event_bytes;
            let at = start as libc::off_t;
            let words = libc::mmap(
                PLANS_APART as *mut libc::c_void,
                len * 8 * plan::WORDS,
                protection,
                libc::MAP_PRIVATE,
                file,
                at,
            );
            libc::close(file);
            (words != libc::MAP_FAILED).then_some((words.cast(), len))
        }
    }

    /// Changes whenever something is published; may be asked by any thread.
    ///
    /// # Safety
    /// Attached.
    #[must_use]
    pub unsafe fn how_far(&self) -> u64 {
        let published = self.header().published.0.load(Acquire);
        published.wrapping_add(VOID.load(Acquire))
    }

    /// The recorder's number of the ring; in a forked child, of its parent's until it has one of its own.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number.get()
    }

    /// Where processes that come of this one ask for rings.
    ///
    /// # Safety
    /// Attached.
    #[must_use]
    pub unsafe fn broker(&self) -> Option<RingPath> {
        let broker = self.header().broker.load(Relaxed).checked_sub(1)?;
        Some(RingPath::new(self.header().recorder.load(Relaxed), broker))
    }

    /// Says with what status the process leaves.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn leaves(&self, status: i32) {
        self.header().exit.store(EXITED | status as u32 & 0xff, Relaxed);
    }

    /// How far a run along a plan has come.
    ///
    /// # Safety
    /// Attached.
    #[must_use]
    pub unsafe fn progress(&self) -> &Progress {
        &self.header().progress
    }

    /// Where to say why the process dies.
    ///
    /// # Safety
    /// Attached.
    #[must_use]
    pub unsafe fn death(&self) -> &Death {
        &self.header().death
    }

    /// Says something about the whole run.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn flag(&self, flag: Flag) {
        self.header().flags.fetch_or(flag as u32, Relaxed);
    }

    /// Counts an access that could not be recorded.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn count_dropped(&self) {
        self.header().dropped.fetch_add(1, Relaxed);
    }

    /// Counts a baton taken from a sleeping thread.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn count_steal(&self) {
        self.header().steals.fetch_add(1, Relaxed);
    }
}

/// Maps `len` bytes of the file twice, one mapping behind the other.
///
/// # Safety
/// `file` is an open file with so many bytes from `offset` on, both multiples of the page size.
unsafe fn map_twice(file: libc::c_int, offset: usize, len: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the first call reserves the range that the others replace, page by page.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), 2 * len, libc::PROT_NONE, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return None;
        }
        for at in [0, len] {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
            let mapped = libc::mmap(start.byte_add(at), len, protection, flags, file, offset as libc::off_t);
            if mapped == libc::MAP_FAILED {
                return None;
            }
        }
        libc::madvise(start, 2 * len, libc::MADV_DONTFORK);
        Some(start.cast())
    }
}
