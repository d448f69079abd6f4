//! Atomic words that several threads change step by step: locks that a program makes itself, counts of references,
//! states. What such a word holds is what it held at first, and what the threads' steps have added to it.
//!
//! Let φ be any function of its value: one of its bits, what is left of it without its lowest bits, or whether it is 0.
//! A read-modify-write changes φ by the same amount in every feasible prefix, since it reads what it read in π. So, at
//! any moment,
//!
//! > φ(now) = φ(at first) + Σ, over all threads, of the changes that the thread has made.
//!
//! A store changes φ by an unknown amount, but within bounds: of what the word ever holds, φ has a least and a greatest
//! value. So each thread has, after each of its writes, a least and a greatest sum. What a read of the word sees is then
//! a statement about how far *all* other threads have come with it: of each, those numbers of writes are left with
//! which the equation can still hold, given the least and greatest sums of the others. That a lock is taken by one
//! thread at a time, that nobody reads under it while somebody writes, that the last one to let go of a block comes
//! behind all others: all of this follows, whatever the program means by which bits.
//!
//! The word begins with what it held before the trace, or with a store that comes before all else that is done to it,
//! as far as is known.

use super::Native;
use super::search::Search;
use super::state::{Clocks, Contradiction, State};
use crate::trace::{AccessKind, CellId, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// Writes of a word; one with more is left out.
const MAX_WRITES: usize = 1 << 16;

/// Flags of a word that are looked at, from its lowest bit that changes.
const MAX_FLAGS: usize = 5;

/// Stores at the beginning of a word, of which the last one may be what it begins with.
const MAX_FIRST_STORES: usize = 4;

/// Numbers of writes of one thread that are looked at for one read, either way.
const MAX_LOOKED_AT: usize = 256;

/// A function of a word's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bit(u32),
    /// All but so many of the lowest bits.
    From(u32),
    /// Whether it is not 0.
    Set,
}

impl Part {
    fn of(self, value: u64) -> i128 {
        match self {
            Part::Bit(bit) => i128::from(value >> bit & 1),
            Part::From(bit) => i128::from(value >> bit),
            Part::Set => i128::from(value != 0),
        }
    }
}

/// A least and a greatest number.
type Range = (i128, i128);

fn plus(a: Range, b: Range) -> Range {
    (a.0 + b.0, a.1 + b.1)
}

fn minus(a: Range, b: Range) -> Range {
    (a.0 - b.1, a.1 - b.0)
}

fn meet(a: Range, b: Range) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// What a thread does to a word.
struct Steps {
    thread: ThreadId,
    writes: Vec<EventId>,
    /// By part: after so many of its writes, the least and the greatest that it has added, as sums of their own.
    sums: Vec<Vec<Range>>,
    /// By part: the least and the greatest of these.
    extremes: Vec<Range>,
}

/// A word.
pub(super) struct Word {
    /// The store that it begins with, and what it holds then.
    begin: Option<EventId>,
    first: u64,
    parts: Vec<Part>,
    steps: Vec<Steps>,
}

/// The words of a trace, by cell.
#[derive(Default)]
pub(super) struct Words {
    by_cell: HashMap<CellId, u32>,
    words: Vec<Word>,
}

/// A write of a word: what it reads there, if it does, and what it leaves, if it leaves a value.
struct Step {
    event: EventId,
    read: Option<u64>,
    left: Option<u64>,
}

impl Words {
    pub(super) fn of(native: &Native<'_>) -> Words {
        let trace = native.trace;
        let mut words = Words::default();
        let mut known: HashMap<CellId, ()> = HashMap::new();
        for access in trace.contested().filter(|access| access.kind == AccessKind::AtomicRmw) {
            for used in trace.uses(access).filter(|used| used.read != used.written) {
                if known.insert(used.cell, ()).is_none()
                    && let Some(word) = Word::of(native, used.cell)
                {
                    words.by_cell.insert(used.cell, words.words.len() as u32);
                    words.words.push(word);
                }
            }
        }
        words
    }

    /// The number of a cell's word, if it is one.
    pub(super) fn number(&self, cell: CellId) -> Option<u32> {
        self.by_cell.get(&cell).copied()
    }
}

impl Word {
    fn of(native: &Native<'_>, cell: CellId) -> Option<Word> {
        let trace = native.trace;
        let writes = native.writers.writes(cell);
        if trace.cell(cell).external() || writes.len() > MAX_WRITES {
            return None;
        }
        let step = |&event: &EventId| {
            let access = trace.access(event)?;
            let used = trace.cell_use(event, cell)?;
            Some(Step {
                event,
                read: access.kind.reads().then_some(used.read),
                left: access.kind.writes_value().then_some(used.written),
            })
        };
        let steps: Option<Vec<Step>> = writes.iter().map(step).collect();
        let steps = steps?;
        let stores = first_stores(native, &steps);
        let (begin, steps) = (stores.checked_sub(1).map(|last| &steps[last]), &steps[stores..]);
        let first = begin.map_or(trace.cell(cell).initial(), |begin| begin.left)?;
        let mut by_thread: Vec<(ThreadId, Vec<&Step>)> = Vec::new();
        for step in steps {
            let thread = trace.thread(step.event);
            match by_thread.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, theirs)) => theirs.push(step),
                None => by_thread.push((thread, vec![step])),
            }
        }
        if by_thread.len() < 2 {
            return None;
        }
        let parts = parts(first, steps);
        let values = || steps.iter().flat_map(|step| step.read.into_iter().chain(step.left));
        let extremes = |part: Part| {
            let of = |value| part.of(value);
            let first = of(first);
            values().map(of).fold((first, first), |(least, most), value| {
                (least.min(value), most.max(value))
            })
        };
        let bounds: Vec<Range> = parts.iter().map(|&part| extremes(part)).collect();
        let steps = by_thread
            .into_iter()
            .map(|(thread, steps)| Steps::of(thread, &steps, &parts, &bounds))
            .collect();
        Some(Word {
            begin: begin.map(|begin| begin.event),
            first,
            parts,
            steps,
        })
    }
}

/// How many of the first writes are stores, each of which comes before all that follow it, as far as is known.
fn first_stores(native: &Native<'_>, steps: &[Step]) -> usize {
    let (trace, needed) = (native.trace, native.needs.relation());
    let mut found = 0;
    for (place, store) in steps.iter().enumerate().take(MAX_FIRST_STORES) {
        let mut seen: Vec<ThreadId> = Vec::new();
        let is_store = store.read.is_none() && store.left.is_some();
        let comes_first = is_store
            && steps[place + 1..].iter().all(|later| {
                let thread = trace.thread(later.event);
                if seen.contains(&thread) {
                    return true;
                }
                seen.push(thread);
                needed.before(store.event, later.event)
            });
        if !comes_first {
            break;
        }
        found = place + 1;
    }
    found
}

/// The functions of a word's value that are looked at: those that its steps change.
fn parts(first: u64, steps: &[Step]) -> Vec<Part> {
    let changed = steps
        .iter()
        .filter_map(|step| Some(step.read? ^ step.left?))
        .fold(0, |all, bits| all | bits);
    let flags = (0..u64::BITS).filter(|bit| changed >> bit & 1 != 0).take(MAX_FLAGS);
    let mut parts: Vec<Part> = Vec::new();
    for bit in flags {
        // What is left from the highest of the bits that change is that bit.
        if changed >> bit > 1 {
            parts.push(Part::From(bit));
        }
        parts.push(Part::Bit(bit));
    }
    parts.push(Part::Set);
    let values: Vec<u64> = steps.iter().filter_map(|step| step.left).collect();
    let mut kept: Vec<Part> = Vec::new();
    for part in parts {
        let same = |other: &&Part| {
            values
                .iter()
                .chain([&first])
                .all(|&value| part.of(value) == other.of(value))
        };
        let changes = values.iter().any(|&value| part.of(value) != part.of(first));
        if changes && !kept.iter().any(|other| same(&other)) {
            kept.push(part);
        }
    }
    kept
}

impl Steps {
    fn of(thread: ThreadId, steps: &[&Step], parts: &[Part], bounds: &[Range]) -> Steps {
        let sums = parts.iter().zip(bounds).map(|(&part, &bounds)| {
            let mut sum = (0, 0);
            let mut sums = vec![sum];
            for step in steps {
                let of = |value: Option<u64>| value.map_or(bounds, |value| (part.of(value), part.of(value)));
                sum = plus(sum, minus(of(step.left), of(step.read)));
                sums.push(sum);
            }
            sums
        });
        let sums: Vec<Vec<Range>> = sums.collect();
        let extremes = sums.iter().map(|sums| {
            let all = sums.iter();
            all.fold((0, 0), |found: Range, sum| (found.0.min(sum.0), found.1.max(sum.1)))
        });
        Steps {
            thread,
            extremes: extremes.collect(),
            writes: steps.iter().map(|step| step.event).collect(),
            sums,
        }
    }

    /// How many of its writes come before a place.
    fn before(&self, trace: &Trace, place: u32) -> usize {
        self.writes.partition_point(|&write| trace.place(write) < place)
    }
}

/// How many of its writes a thread may have done when a word is read: at least so many, and at most.
struct Done<'w> {
    steps: &'w Steps,
    least: usize,
    most: usize,
    /// How many it has done where the sums begin.
    begin: usize,
}

impl Done<'_> {
    /// What so many writes have added.
    fn sum(&self, part: usize, writes: usize) -> Range {
        let sums = &self.steps.sums[part];
        let (from, until) = (sums[self.begin], sums[writes]);
        // Each is the sum of the writes' ranges, so that their ends can be subtracted alone.
        (until.0 - from.0, until.1 - from.1)
    }

    /// The least and the greatest of these; bounds of them if they are many.
    fn extremes(&self, part: usize) -> Range {
        let (all, begin) = (self.steps.extremes[part], self.steps.sums[part][self.begin]);
        let all = (all.0 - begin.0, all.1 - begin.1);
        let mut found = self.sum(part, self.least);
        for (looked_at, writes) in (self.least + 1..=self.most).enumerate() {
            if looked_at == MAX_LOOKED_AT {
                return all;
            }
            let sum = self.sum(part, writes);
            found = (found.0.min(sum.0), found.1.max(sum.1));
            if found == all {
                break;
            }
        }
        found
    }
}

impl<'s> Search<'s, '_> {
    fn word(&self, number: u32) -> &'s Word {
        &self.native.words.get_or_init(|| Words::of(self.native)).words[number as usize]
    }

    /// Adds what follows from what is read of words.
    pub(super) fn words(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let mut new = false;
        for (read, number) in clocks.numbered() {
            for (used, seen) in self.window.reads(number) {
                if let Some(word) = used.word {
                    new |= self.read_of_word(state, clocks, (read, used.cell, seen.value), self.word(word))?;
                }
            }
        }
        Ok(new)
    }

    fn read_of_word(
        &self,
        state: &mut State,
        clocks: &Clocks,
        (read, cell, value): (EventId, CellId, u64),
        word: &'s Word,
    ) -> Result<bool, Contradiction> {
        let (native, trace) = (self.native, self.native.trace);
        if word.begin.is_some_and(|begin| !self.known(clocks, begin, read)) {
            return Ok(false);
        }
        // Where all that comes before the window is in the prefix, the sums may begin there.
        let base = match word.begin {
            _ if !self.based || self.from == EventId(0) => None,
            Some(begin) if begin >= self.from => None,
            _ => native.base_value(cell, self.from),
        };
        let first = base.unwrap_or(word.first);
        let row = clocks.row(&self.window, read);
        let mut own = None;
        let mut others: Vec<Done<'_>> = Vec::with_capacity(word.steps.len());
        for steps in &word.steps {
            let (thread, index) = (steps.thread, steps.thread.index());
            let before_window = match self.based {
                true => steps.before(trace, trace.events_before(thread, self.from)),
                false => 0,
            };
            let begin = if base.is_some() { before_window } else { 0 };
            if thread == trace.thread(read) {
                let done = steps.before(trace, trace.place(read));
                own = Some((steps, begin, done));
                continue;
            }
            let known = row
                .map_or(0, |row| row[index])
                .max(native.needs.relation().count(read, thread));
            let least = steps.before(trace, known).max(before_window);
            let later = |&write: &EventId| self.possible(write) && !self.known(clocks, read, write);
            let most = least + steps.writes[least..].partition_point(later);
            others.push(Done {
                steps,
                least,
                most,
                begin,
            });
        }
        if !self.spend(2 * others.len() * word.parts.len()) {
            return Ok(false);
        }
        let mut new = false;
        for (number, &part) in word.parts.iter().enumerate() {
            let mine = own.map_or((0, 0), |(steps, begin, done)| {
                let done = Done {
                    steps,
                    least: done,
                    most: done,
                    begin,
                };
                done.sum(number, done.least)
            });
            let sought = part.of(value) - part.of(first);
            let sought = minus((sought, sought), mine);
            let extremes: Vec<Range> = others.iter().map(|done| done.extremes(number)).collect();
            let all = extremes.iter().fold((0, 0), |all, &range| plus(all, range));
            if !meet(all, sought) {
                return Err(Contradiction);
            }
            for (done, &range) in others.iter_mut().zip(&extremes) {
                // What is left for this thread, whatever the others have done.
                let left = (sought.0 - (all.1 - range.1), sought.1 - (all.0 - range.0));
                if left.0 <= range.0 && range.1 <= left.1 {
                    continue;
                }
                new |= self.narrow(state, clocks, read, (done, number, left))?;
            }
        }
        Ok(new)
    }

    /// Leaves a thread only those numbers of writes by which it has added no more and no less than that.
    fn narrow(
        &self,
        state: &mut State,
        clocks: &Clocks,
        read: EventId,
        (done, part, left): (&mut Done<'_>, usize, Range),
    ) -> Result<bool, Contradiction> {
        let fits = |done: &Done<'_>, writes: usize| meet(done.sum(part, writes), left);
        let mut new = false;
        let mut looked_at = 0;
        while !fits(done, done.least) {
            if done.least == done.most {
                return Err(Contradiction);
            }
            done.least += 1;
            looked_at += 1;
            if looked_at == MAX_LOOKED_AT {
                break;
            }
        }
        self.spend(looked_at);
        if looked_at > 0 {
            new |= self.put(state, clocks, done.steps.writes[done.least - 1], read)?;
        }
        let mut looked_at = 0;
        while done.most > done.least && !fits(done, done.most) && looked_at < MAX_LOOKED_AT {
            done.most -= 1;
            looked_at += 1;
        }
        self.spend(looked_at);
        if looked_at > 0 {
            let next = done.steps.writes[done.most];
            if self.inside(state, next) {
                new |= self.put(state, clocks, read, next)?;
            }
        }
        Ok(new)
    }
}
