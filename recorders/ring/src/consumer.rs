//! The parent's end of the rings: a safe interface over memory that another process writes.
//!
//! The other process may scribble over the rings by accident, so every word is read as an atomic,
//! and a row that makes no sense is an error that names its place, never undefined behavior.

use crate::futex;
use crate::layout::{Death, Decision, EXITED, Flag, HEADER_BYTES, HITS_BITS, Header, MAGIC, Settings, Standing};
use crate::memory::{Mapping, Reopen, len_of, lock, reserve};
use crate::plan::Words;
use crate::ring_path::RingPath;
use crate::row::{MAX_WORDS, Row};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::fence;
use std::borrow::ToOwned;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::Vec;

/// The rings, and the right to take out of them.
#[derive(Debug)]
pub struct Ring {
    file: OwnedFd,
    /// The name of the file, as long as it has one.
    path: Option<PathBuf>,
    memory: Arc<Mapping>,
    row_words: u64,
    event_bytes: u64,
    /// Words of rows and bytes of events taken, whether released or not.
    rows_taken: u64,
    events_taken: u64,
    /// Up to where there can be any. A producer that runs goes around the rings again and again; one that is gone has
    /// left at most what they hold.
    rows_end: u64,
    events_end: u64,
}

/// Ends the sleep of whoever waits for a ring.
#[derive(Clone, Debug)]
pub struct Bell(Arc<Mapping>);

/// No recorder makes longer rings.
const LONGEST: u64 = 64 << 20;

/// The rings hold something that no runtime writes: the program wrote over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Word of the stream of rows, from 0.
    pub word: u64,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the memory shared with the program is damaged at word {}", self.word)
    }
}

impl std::error::Error for Corrupt {}

impl Bell {
    /// Wakes the consumer.
    pub fn ring(&self) {
        let bell = &self.0.header().bell.0;
        bell.fetch_add(1, Relaxed);
        futex::wake(bell, 1, true);
    }
}

impl Ring {
    /// Makes rings for `row_words` words of rows and `event_bytes` bytes of events.
    ///
    /// # Errors
    /// If the memory cannot be had.
    ///
    /// # Panics
    /// If one of them is not a power of two of whole pages.
    pub fn create(row_words: u64, event_bytes: u64, settings: Settings) -> io::Result<Ring> {
        Ring::with_plan(row_words, event_bytes, settings, &[])
    }

    /// As [`create`](Ring::create), with a plan for the run behind the rings, in parts.
    ///
    /// # Errors
    /// As [`create`](Ring::create).
    ///
    /// # Panics
    /// As [`create`](Ring::create).
    pub fn with_plan(row_words: u64, event_bytes: u64, settings: Settings, plan: &[&[Words]]) -> io::Result<Ring> {
        let len = len_of(row_words, event_bytes);
        let file = File::from(in_memory()?);
        file.set_len(len)?;
        let ring = Ring::over(file.into(), None, row_words, event_bytes)?;
        ring.write_plan(plan)?;
        ring.begin(settings, plan.iter().map(|part| part.len()).sum());
        Ok(ring)
    }

    /// Puts the plan behind the rings.
    fn write_plan(&self, plan: &[&[Words]]) -> io::Result<()> {
        let mut file = File::from(self.file.try_clone()?);
        file.seek(SeekFrom::Start(len_of(self.row_words, self.event_bytes)))?;
        for part in plan {
            let words = part.as_flattened();
            // SAFETY: every byte of a word is one; both processes run on this machine, and have the same order of
            // bytes.
            let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) };
            file.write_all(bytes)?;
        }
        Ok(())
    }

    /// Makes rings that a process was attached to, and that is no more, as good as new, with another plan.
    ///
    /// # Errors
    /// If there is no room for the plan, or a [`Bell`] of these rings is left.
    pub fn use_again(&mut self, settings: Settings, plan: &[&[Words]]) -> io::Result<()> {
        // Whoever has a bell looks at the header.
        let memory = Arc::get_mut(&mut self.memory).ok_or(io::ErrorKind::ResourceBusy)?;
        // SAFETY: mapped, page aligned and longer than a header, for which all zeros are valid; the process that had it
        // is no more, and nobody here has another reference into it.
        unsafe { memory.start.as_ptr().cast::<Header>().write_bytes(0, 1) };
        (self.rows_taken, self.events_taken) = (0, 0);
        self.write_plan(plan)?;
        self.begin(settings, plan.iter().map(|part| part.len()).sum());
        Ok(())
    }

    /// As [`create`](Ring::create), in a file that outlives both processes, until this value is dropped in good order.
    /// In memory, if no such file can be had: all its blocks are there from the start, or a full disk would end the
    /// program.
    ///
    /// # Errors
    /// As [`create`](Ring::create).
    ///
    /// # Panics
    /// As [`create`](Ring::create).
    pub fn create_at(path: &Path, row_words: u64, event_bytes: u64, settings: Settings) -> io::Result<Ring> {
        let in_file = || {
            // A program may still have an old one.
            let _ = fs::remove_file(path);
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
            let made = reserve(&file, len_of(row_words, event_bytes))
                .and_then(|()| Ring::over(file.into(), Some(path.to_owned()), row_words, event_bytes));
            if made.is_err() {
                let _ = fs::remove_file(path);
            }
            made
        };
        let Ok(ring) = in_file() else {
            return Ring::create(row_words, event_bytes, settings);
        };
        ring.begin(settings, 0);
        Ok(ring)
    }

    /// The rings that a recorder has left in a file, which is open for reading and writing, and how long its own file was
    /// when it last kept what it took. The file of this name goes when they are dropped.
    ///
    /// # Errors
    /// [`Reopen`].
    pub fn reopen(path: &Path, file: File) -> Result<(Ring, u64), Reopen> {
        lock(&file)?;
        // A copy: nobody else changes it, or makes it shorter.
        let copy = File::from(in_memory().map_err(Reopen::Io)?);
        let most = HEADER_BYTES as u64 + 2 * LONGEST;
        let len = io::copy(&mut (&file).take(most), &mut &copy).map_err(Reopen::Io)?;
        if len < HEADER_BYTES as u64 {
            return Err(Reopen::NoRing);
        }
        // The header says how long the rest is.
        let header = Mapping::new(&copy, HEADER_BYTES).map_err(Reopen::Io)?;
        let (magic, row_words, event_bytes) = {
            let header = header.header();
            (header.magic, header.row_words, header.event_bytes)
        };
        let good = |bytes: u64| bytes.is_power_of_two() && (4096..=len.min(LONGEST)).contains(&bytes);
        let is_ring = magic == MAGIC && row_words < len.min(LONGEST) && good(row_words * 8) && good(event_bytes);
        if !is_ring || len < len_of(row_words, event_bytes) {
            return Err(Reopen::NoRing);
        }
        let mut ring = Ring::over(copy.into(), Some(path.to_owned()), row_words, event_bytes).map_err(Reopen::Io)?;
        // Its lock is kept.
        ring.file = file.into();
        let header = ring.header();
        let kept = &header.kept[(header.kept_turn.load(Acquire) & 1) as usize];
        let (rows, events, file) = (&kept.rows, &kept.events, &kept.file);
        let [rows, events, file] = [rows, events, file].map(|count| count.load(Relaxed));
        let ends = (rows.checked_add(row_words), events.checked_add(event_bytes));
        let (Some(rows_end), Some(events_end)) = ends else {
            return Err(Reopen::NoRing);
        };
        (ring.rows_taken, ring.events_taken) = (rows, events);
        (ring.rows_end, ring.events_end) = (rows_end, events_end);
        Ok((ring, file))
    }

    /// Maps an open file that has been made long enough.
    fn over(file: OwnedFd, path: Option<PathBuf>, row_words: u64, event_bytes: u64) -> io::Result<Ring> {
        let file = File::from(file);
        let memory = Mapping::new(&file, len_of(row_words, event_bytes) as usize)?;
        Ok(Ring {
            file: file.into(),
            path,
            memory: Arc::new(memory),
            row_words,
            event_bytes,
            rows_taken: 0,
            events_taken: 0,
            rows_end: u64::MAX,
            events_end: u64::MAX,
        })
    }

    /// Fills in the header of new rings.
    fn begin(&self, settings: Settings, plan: usize) {
        // SAFETY: page aligned, longer than a header, for which all zeros are valid; nobody else has it yet.
        unsafe {
            let header = self.memory.start.as_ptr().cast::<Header>();
            (*header).magic = MAGIC;
            (*header).row_words = self.row_words;
            (*header).event_bytes = self.event_bytes;
        }
        let header = self.header();
        header.policy.store(settings.policy as u32, Relaxed);
        header.seed.store(settings.seed, Relaxed);
        header.depth.store(settings.depth, Relaxed);
        header.steps.store(settings.steps, Relaxed);
        header.most.store(settings.most, Relaxed);
        header.clocks_stand_at.store(settings.clocks_stand_at, Relaxed);
        header.pictures.store(settings.pictures, Relaxed);
        header.plan.store(plan as u64, Relaxed);
        header.recorder.store(std::process::id(), Relaxed);
    }

    /// Leaves the file where it is when this is dropped: not all that was taken could be kept.
    pub fn leave(&mut self) {
        self.path = None;
    }

    /// Where another process can open the rings, as long as this value lives.
    #[must_use]
    pub fn path(&self) -> RingPath {
        RingPath::new(std::process::id(), self.file())
    }

    /// This process' descriptor of the rings.
    pub(crate) fn file(&self) -> u32 {
        self.file.as_raw_fd() as u32
    }

    /// Tells who attaches the ring its number, and this process' descriptor of the broker.
    pub(crate) fn introduce(&self, number: u32, broker: u32) {
        let header = self.header();
        header.number.store(number, Relaxed);
        header.broker.store(broker + 1, Relaxed);
    }

    /// Whoever attaches the ring waits for [`look`](Ring::look).
    pub fn wants_to_look(&self) {
        self.header().unseen.store(1, Relaxed);
    }

    /// The process that the ring is attached to was looked at, and goes on.
    pub fn look(&self) {
        let unseen = &self.header().unseen;
        unseen.store(0, Release);
        futex::wake(unseen, 1, true);
    }

    /// The process that the ring is attached to.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        Some(self.header().process.load(Relaxed)).filter(|&process| process != 0)
    }

    /// With what status that process has left, if it could say so.
    #[must_use]
    pub fn exit(&self) -> Option<u8> {
        let exit = self.header().exit.load(Relaxed);
        (exit & EXITED != 0).then_some(exit as u8)
    }

    /// What ends [`wait`](Ring::wait).
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.memory))
    }

    fn header(&self) -> &Header {
        self.memory.header()
    }

    /// Takes the next row, if there is one.
    ///
    /// # Errors
    /// [`Corrupt`].
    pub fn take_row(&mut self) -> Result<Option<Row>, Corrupt> {
        let (at, end) = (self.rows_taken, self.header().rows.load(Acquire));
        if at == end {
            return Ok(None);
        }
        let words: [u64; MAX_WORDS] = core::array::from_fn(|i| {
            let index = (at + i as u64) & (self.row_words - 1);
            self.memory.word(index as usize)
        });
        match Row::decode(words) {
            Some((row, len)) if at + len as u64 <= end.min(self.rows_end) => {
                self.rows_taken += len as u64;
                Ok(Some(row))
            }
            _ => Err(Corrupt { word: at }),
        }
    }

    /// The row that was taken last, of one word, is none that any runtime sends.
    #[must_use]
    pub fn refuse(&self) -> Corrupt {
        Corrupt {
            word: self.rows_taken.wrapping_sub(1),
        }
    }

    /// Takes the encoded events up to the position `end`, which a [`Row::Block`] names, into `out`.
    ///
    /// # Errors
    /// [`Corrupt`].
    pub fn take_events(&mut self, end: u64, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        let start = self.events_taken;
        if end < start || end - start > self.event_bytes || end > self.events_end {
            out.clear();
            return Err(Corrupt { word: self.rows_taken });
        }
        let first_word = self.row_words as usize;
        let index = |at: u64| ((at / 8) & (self.event_bytes / 8 - 1)) as usize;
        let word = |at: u64| self.memory.word(first_word + index(at)).to_le_bytes();
        // All of it is written below: what is there need not be cleared.
        out.resize((end - start) as usize, 0);
        // Whole words but for the first and the last one.
        let ragged = (start.next_multiple_of(8).min(end) - start) as usize;
        let (first, rest) = out.split_at_mut(ragged);
        let skipped = (start % 8) as usize;
        first.copy_from_slice(&word(start)[skipped..skipped + ragged]);
        let at = start + ragged as u64;
        let (words, last) = rest.split_at_mut(rest.len() / 8 * 8);
        let last_at = at + words.len() as u64;
        let to_end = self.event_bytes as usize - 8 * index(at);
        let (before, after) = words.split_at_mut(to_end.min(words.len()));
        self.memory.copy(first_word + index(at), before);
        self.memory.copy(first_word, after);
        if !last.is_empty() {
            last.copy_from_slice(&word(last_at)[..last.len()]);
        }
        self.events_taken = end;
        Ok(())
    }

    /// What was taken is kept, in a file that is `file` bytes long now: the producer may write over it.
    pub fn release(&mut self, file: u64) {
        let header = self.header();
        let turn = header.kept_turn.load(Relaxed) + 1;
        let kept = &header.kept[(turn & 1) as usize];
        kept.rows.store(self.rows_taken, Relaxed);
        kept.events.store(self.events_taken, Relaxed);
        kept.file.store(file, Relaxed);
        // One store: whoever finds the rings without their consumer finds all three, or all three of before.
        header.kept_turn.store(turn, Release);
        header.rows_taken.0.store(self.rows_taken, Release);
        header.events_taken.store(self.events_taken, Release);
        self.wake_producer();
    }

    /// Whether the rows that were taken and not released take up much of their ring.
    #[must_use]
    pub fn is_release_due(&self) -> bool {
        let header = self.header();
        let held = self.rows_taken - header.rows_taken.0.load(Relaxed);
        held > self.row_words / 4
    }

    /// Takes the events of the block that was never closed, once the producer is gone and all rows
    /// are taken; how many predicted events its last run has.
    ///
    /// # Errors
    /// [`Corrupt`].
    pub fn take_open_block(&mut self, out: &mut Vec<u8>) -> Result<u32, Corrupt> {
        let published = self.header().published.0.load(Acquire);
        self.take_events(published >> HITS_BITS, out)?;
        Ok((published as u32 & ((1 << HITS_BITS) - 1)).saturating_sub(1))
    }

    fn wake_producer(&self) {
        let full = &self.header().full.0;
        if full.load(Relaxed) != 0 && full.swap(0, Relaxed) != 0 {
            futex::wake(full, 1, true);
        }
    }

    /// Sleeps until there may be something to take, or the [`Bell`] rings; at most `nanos`.
    pub fn wait(&self, nanos: u64) {
        let header = self.header();
        let heard = header.bell.0.load(Relaxed);
        header.asleep.store(1, Relaxed);
        fence(SeqCst);
        if header.rows.load(Acquire) == self.rows_taken && header.full.0.load(Relaxed) == 0 {
            futex::wait(&header.bell.0, heard, Some(nanos), true);
        }
        header.asleep.store(0, Relaxed);
    }

    /// Where a run along a plan stands. What it was before it came to stand so is published.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing::from_code(self.header().progress.standing.load(Acquire))
    }

    /// The first step of the plan that is not done.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.header().progress.step.load(Relaxed)
    }

    /// The number of events before the one that came in place of that step, if one did.
    #[must_use]
    pub fn instead(&self) -> Option<u64> {
        self.header().progress.instead.load(Relaxed).checked_sub(1)
    }

    /// Changes whenever the program does something.
    #[must_use]
    pub fn pulse(&self) -> u64 {
        self.header().published.0.load(Relaxed)
    }

    /// The kernel's numbers of the threads that are parked at the race.
    #[must_use]
    pub fn parked(&self) -> [Option<u32>; 2] {
        let parked = &self.header().progress.parked;
        parked
            .each_ref()
            .map(|number| Some(number.load(Relaxed)).filter(|&number| number != 0))
    }

    /// Makes the run leave its plan, if it does not come beyond this step.
    pub fn leave_plan_at(&self, step: u64) {
        self.header().progress.leave.store(step + 1, Relaxed);
    }

    /// Lets the program go on from the race, one access first.
    pub fn decide(&self, decision: Decision) {
        self.header().progress.decision.store(decision as u32, Release);
        futex::wake(&self.header().progress.decision, 1, true);
    }

    /// Whether something was said about the whole run.
    #[must_use]
    pub fn has(&self, flag: Flag) -> bool {
        self.header().flags.load(Acquire) & flag as u32 != 0
    }

    /// Tells the program that nobody takes its records any more, so that it never waits for room.
    pub fn abandon(&self) {
        self.header().flags.fetch_or(Flag::Abandoned as u32, Relaxed);
        futex::wake(&self.header().full.0, 1, true);
    }

    /// Why the process died, if it could say so.
    #[must_use]
    pub fn death(&self) -> Option<&Death> {
        let death = &self.header().death;
        (death.signal.load(Acquire) != 0).then_some(death)
    }

    /// Accesses that the runtime could not record.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.header().dropped.load(Relaxed)
    }

    /// Times that the baton was taken from a sleeping thread.
    #[must_use]
    pub fn steals(&self) -> u64 {
        self.header().steals.load(Relaxed)
    }
}

/// A file without a name.
fn in_memory() -> io::Result<OwnedFd> {
    // SAFETY: memfd_create returns a new descriptor or -1; checked before it is owned.
    unsafe {
        let fd = libc::memfd_create(c"witness-ring".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.abandon();
        if let Some(path) = &self.path {
            // Nobody needs it any more; somebody may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
