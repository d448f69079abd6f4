//! What the events of a window do, decoded once for all orders that are tried in it.
//!
//! Each order looks at every event of its cut, several times over. What it asks of them does not depend on the order:
//! which events lead to them, which writes may have given a read its value, which sections they open. Events that no
//! cut has come to are not decoded, nor what no order has to [look at](super::joints).

use super::Native;
use super::joints::{Joints, Looked};
use crate::prune::Ending;
use crate::semantics::Need;
use crate::trace::{AccessKind, CellId, EventId, SectionId, ThreadId, Trace};
use hashbrown::HashMap;
use std::cell::{OnceCell, Ref, RefCell};
use std::slice;

/// The events of a window.
pub(super) struct Window<'s, 't> {
    native: &'s Native<'t>,
    /// The first event of the window.
    from: EventId,
    /// Whether everything before the window is in the prefix.
    based: bool,
    /// The events that its orders look at.
    pub(super) looked: Looked<'s>,
    /// How many of these each thread has before the window.
    outside: Vec<u32>,
    /// Per thread and such event in the window, its number among the decoded ones, plus 1; 0 for what is not decoded.
    numbers: Vec<Vec<u32>>,
    /// Of the order that is being made: per decoded event, the place of the first further edge to it, plus 1; 0 for
    /// none.
    first_edges: Vec<u32>,
    decoded: Vec<Decoded>,
    incoming: Vec<EventId>,
    uses: Vec<Used>,
    reads: Vec<Read<'t>>,
    doors: Vec<Doors>,
    /// The decoded events that have an entry there.
    edged: Vec<u32>,
    cells: HashMap<CellId, u32>,
    /// By the cell's number.
    known: Vec<Known<'t>>,
    written: Vec<RefCell<Written>>,
    /// By the cell's number, once that is asked: of all writes of the cell before the window, each thread's last.
    lasts: Vec<OnceCell<Lasts>>,
    /// By the cell's number and a value, once that is asked: the same of those that leave the value.
    fitting: RefCell<HashMap<(u32, u64), Lasts>>,
}

/// Writes that are looked at, at most, to find each thread's last.
const MAX_LASTS: usize = 96;

/// Of some writes before a window, the last one of each thread.
pub(super) struct Lasts {
    pub of_threads: Vec<EventId>,
    /// Whether further back there may be writes of other threads.
    may_be_more: bool,
}

impl Lasts {
    fn of(trace: &Trace, writes: &[EventId]) -> Lasts {
        let mut of_threads: Vec<EventId> = Vec::new();
        let mut threads: Vec<ThreadId> = Vec::new();
        for &write in writes.iter().rev().take(MAX_LASTS) {
            let thread = trace.thread(write);
            if !threads.contains(&thread) {
                threads.push(thread);
                of_threads.push(write);
                if of_threads.len() == trace.threads() {
                    break;
                }
            }
        }
        Lasts {
            may_be_more: writes.len() > MAX_LASTS && of_threads.len() < trace.threads(),
            of_threads,
        }
    }
}

/// A cell, as the window begins.
struct Known<'t> {
    /// All writes of it, and how many of them come before the window.
    writes: &'t [EventId],
    earlier: usize,
    /// What is there then, if that is known; of reads in question alone anybody asks.
    value: Option<u64>,
}

/// The writes of a cell by thread, as far as they were asked for.
#[derive(Default)]
struct Written {
    /// How many of the cell's writes, from the window's first event on, are there.
    taken: usize,
    by_thread: Vec<Vec<EventId>>,
}

/// An event. A window may have millions, so what few of them have stands apart.
struct Decoded {
    event: EventId,
    place: u32,
    /// Where its own begin among those of all: they end where those of the next event begin.
    incoming: u32,
    uses: u32,
    reads: u32,
    /// The number of its doors and one, or 0.
    doors: u32,
    /// Whether it can come about in several ways.
    conditional: bool,
    known: bool,
}

/// The section that an event opens, and the one that it closes.
#[derive(Clone, Copy, Default)]
pub(super) struct Doors {
    pub opened: Option<SectionId>,
    pub closed: Option<SectionId>,
}

/// What an access does to a cell: 16 bytes, since there may be millions.
pub(super) struct Used {
    /// The value that it leaves, if it leaves one.
    left: u64,
    /// The cell's number among those of the window.
    pub number: u32,
    /// Whether it writes, and whether it leaves a value.
    pub writes: bool,
    leaves: bool,
    /// Whether there is a [`Read`] of it: not, if it does not read, no other thread writes the cell, or unrecorded code
    /// changes it.
    is_read: bool,
    /// Whether it uses an object there, or ends one.
    pub object: Option<Life>,
}

impl Used {
    pub(super) fn left(&self) -> Option<u64> {
        self.leaves.then_some(self.left)
    }
}

/// What an access means to a synchronization object, or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Used,
    Ended,
}

/// A cell that is read: what is seen there, and where that can come from.
pub(super) struct Read<'t> {
    pub cell: CellId,
    pub value: u64,
    /// The writes of that value from the window's first event on.
    pub fitting: &'t [EventId],
    /// The number of the word that is read there, if it [is one](crate::prune::Words).
    pub word: Option<u32>,
    /// What the window begins with is that value.
    begins: bool,
    /// Something before the window leaves it, or it is there at first.
    earlier: bool,
    /// Of the view: what the window begins with is that value, in the based one.
    pub base: bool,
    /// In the relaxed one, it may be something before the window, in an order that is not followed.
    pub outside: bool,
}

impl Read<'_> {
    fn view(&mut self, based: bool) {
        (self.base, self.outside) = (based && self.begins, !based && self.earlier);
    }
}

impl<'s, 't> Window<'s, 't> {
    pub(super) fn new(native: &'s Native<'t>, from: EventId, based: bool, ending: Ending<'_>) -> Window<'s, 't> {
        let trace = native.trace;
        let joints = native.joints.get_or_init(|| Joints::of(native));
        // What is to have happened in some order has edges.
        let ordered = if ending.performed.len() > 1 {
            ending.performed
        } else {
            &[]
        };
        let looked = Looked::new(trace, joints, ordered);
        let threads = (0..trace.threads() as u32).map(ThreadId);
        Window {
            native,
            from,
            based,
            outside: threads
                .map(|thread| looked.before(thread, trace.events_before(thread, from)))
                .collect(),
            looked,
            numbers: vec![Vec::new(); trace.threads()],
            first_edges: Vec::new(),
            edged: Vec::new(),
            decoded: Vec::new(),
            incoming: Vec::new(),
            uses: Vec::new(),
            reads: Vec::new(),
            doors: Vec::new(),
            cells: HashMap::new(),
            known: Vec::new(),
            written: Vec::new(),
            lasts: Vec::new(),
            fitting: RefCell::default(),
        }
    }

    /// The window that begins with an event in a view, if it is this one but for the view: what was decoded is kept.
    pub(super) fn seen(mut self, from: EventId, based: bool) -> Option<Window<'s, 't>> {
        if self.from != from {
            return None;
        }
        self.based = based;
        self.reads.iter_mut().for_each(|read| read.view(based));
        // How many writes there are up to some event is counted as work.
        self.written.iter_mut().for_each(|written| drop(written.take()));
        Some(self)
    }

    /// Begins an order with these edges, each with where it leads to first, sorted.
    pub(super) fn begin(&mut self, edges: &[(EventId, EventId)]) {
        for at in self.edged.drain(..) {
            self.first_edges[at as usize] = 0;
        }
        let mut last = None;
        for (place, &(to, _)) in edges.iter().enumerate() {
            if last != Some(to) {
                last = Some(to);
                let at = self.decode(to);
                self.first_edges[at as usize] = place as u32 + 1;
                self.edged.push(at);
            }
        }
    }

    /// The place of the first edge of that order to an event, by its number, plus 1; 0 for none.
    pub(super) fn first_edge(&self, number: u32) -> u32 {
        self.first_edges[number as usize]
    }

    /// The trace that it is a part of.
    pub(super) fn trace(&self) -> &'t Trace {
        self.native.trace
    }

    /// How many cells have numbers.
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The events of other threads in the window that an event, by its number, needs directly.
    pub(super) fn incoming(&self, number: u32) -> &[EventId] {
        let until = self.decoded.get(number as usize + 1).map(|next| next.incoming as usize);
        let from = self.decoded[number as usize].incoming as usize;
        &self.incoming[from..until.unwrap_or(self.incoming.len())]
    }

    /// The cells that an event touches, of those that an order has to follow.
    pub(super) fn uses(&self, number: u32) -> &[Used] {
        let until = self.decoded.get(number as usize + 1).map(|next| next.uses as usize);
        let from = self.decoded[number as usize].uses as usize;
        &self.uses[from..until.unwrap_or(self.uses.len())]
    }

    /// The cells that an event reads, of those.
    pub(super) fn reads(&self, number: u32) -> impl Iterator<Item = (&Used, &Read<'t>)> {
        let until = self.decoded.get(number as usize + 1).map(|next| next.reads as usize);
        let from = self.decoded[number as usize].reads as usize;
        let reads = &self.reads[from..until.unwrap_or(self.reads.len())];
        let uses = if reads.is_empty() { &[] } else { self.uses(number) };
        uses.iter().filter(|used| used.is_read).zip(reads)
    }

    /// The writes of a cell that an event reads, those of each thread together, from the window's first event to at
    /// least `last`.
    pub(super) fn writes_by_thread(&self, used: &Used, last: EventId) -> Ref<'_, [Vec<EventId>]> {
        let written = &self.written[used.number as usize];
        let known = &self.known[used.number as usize];
        let writes = &known.writes[known.earlier..];
        let further = written.borrow().taken;
        if writes.get(further).is_some_and(|&write| write <= last) {
            let mut written = written.borrow_mut();
            for &write in writes[further..].iter().take_while(|&&write| write <= last) {
                let trace = self.native.trace;
                let of = |theirs: &Vec<EventId>| trace.thread(theirs[0]);
                match written.by_thread.binary_search_by_key(&trace.thread(write), of) {
                    Ok(at) => written.by_thread[at].push(write),
                    Err(at) => written.by_thread.insert(at, vec![write]),
                }
                written.taken += 1;
            }
        }
        Ref::map(written.borrow(), |written| &written.by_thread[..])
    }

    /// The writes of a cell before the window, each thread's last; of those that wrote it long before others, perhaps
    /// not.
    pub(super) fn lasts(&self, used: &Used) -> &[EventId] {
        let known = &self.known[used.number as usize];
        let find = || Lasts::of(self.native.trace, &known.writes[..known.earlier]);
        &self.lasts[used.number as usize].get_or_init(find).of_threads
    }

    /// Whether something holds for all writes before the window that an event can take what it reads from, where it
    /// holds for the writes of a thread if it holds for the last of them. True if there are none.
    pub(super) fn all_fitting(
        &self,
        event: EventId,
        used: &Used,
        seen: &Read<'_>,
        mut holds: impl FnMut(EventId) -> bool,
    ) -> bool {
        let (trace, from) = (self.native.trace, self.from);
        let known = &self.known[used.number as usize];
        if let Some(&only) = self.only(known, event) {
            return only >= from || holds(only);
        }
        let mut all = self.fitting.borrow_mut();
        let lasts = all.entry((used.number, seen.value)).or_insert_with(|| {
            let fitting = self.native.writers.writes_of(trace, seen.cell, seen.value);
            Lasts::of(trace, &fitting[..fitting.partition_point(|&write| write < from)])
        });
        !lasts.may_be_more && lasts.of_threads.iter().all(|&write| holds(write))
    }

    /// The write that a read took its value from in π, if no other can have left it.
    fn only(&self, known: &Known<'t>, read: EventId) -> Option<&'t EventId> {
        // To look for the value among all of the cell takes longer.
        let last = first_from(known.writes, known.earlier, |&write| write >= read).checked_sub(1);
        let last = &known.writes[last?];
        self.native.writers.is_only(*last).then_some(last)
    }

    /// The sections that an event opens and closes.
    pub(super) fn doors(&self, number: u32) -> Option<Doors> {
        let number = self.decoded[number as usize].doors.checked_sub(1)?;
        Some(self.doors[number as usize])
    }

    /// Whether an event can come about in several ways.
    pub(super) fn is_conditional(&self, number: u32) -> bool {
        self.decoded[number as usize].conditional
    }

    /// Whether the solver knows what an event needs.
    pub(super) fn knows(&self, number: u32) -> bool {
        self.decoded[number as usize].known
    }

    /// Decodes the event of a thread that orders look at after so many others in the window, unless that is done;
    /// returns its number. It lies at or behind a place. Each order asks for each of its events, so that the trace is
    /// not asked again.
    pub(super) fn decode_behind(&mut self, thread: ThreadId, behind: u32, place: u32) -> u32 {
        let known = self.numbers[thread.index()].get(behind as usize);
        match known.and_then(|number| number.checked_sub(1)) {
            Some(number) => number,
            None => {
                let place = self.looked.next(thread, place).expect("the thread has a further one");
                self.decode(self.native.trace.program_order(thread).at(place as usize))
            }
        }
    }

    /// An event, by its number, and its place in its thread.
    pub(super) fn event(&self, number: u32) -> (EventId, u32) {
        let decoded = &self.decoded[number as usize];
        (decoded.event, decoded.place)
    }

    /// Decodes an event that orders look at, unless that is done; returns its number.
    pub(super) fn decode(&mut self, event: EventId) -> u32 {
        let (native, from) = (self.native, self.from);
        let trace = native.trace;
        let (thread, place) = (trace.thread(event), trace.place(event));
        let at = (self.looked.before(thread, place) - self.outside[thread.index()]) as usize;
        let numbers = &mut self.numbers[thread.index()];
        if at >= numbers.len() {
            numbers.resize(at + 1, 0);
        }
        if let Some(number) = numbers[at].checked_sub(1) {
            return number;
        }
        let op = trace.op(event);
        let (words, any_external) = (native.words(), self.looked.any_external());
        let needs_asking = trace.has_pins() || native.sections.any_handed_over();
        let first_edge = self.incoming.len() as u32;
        let sources = native.needs.relation().incoming(event);
        self.incoming
            .extend(sources.filter(|&source| source >= from && trace.thread(source) != thread));
        let (first_use, first_read) = (self.uses.len() as u32, self.reads.len() as u32);
        if let Some(access) = trace.access(event) {
            let reads = access.kind.reads();
            let object = match access.kind {
                AccessKind::Use => Some(Life::Used),
                kind => kind.ends().then_some(Life::Ended),
            };
            for used in trace.uses(access).filter(|used| self.looked.follow(used.cell)) {
                let numbered = self.cells.len() as u32;
                let number = *self.cells.entry(used.cell).or_insert(numbered);
                if number == numbered {
                    self.written.push(RefCell::default());
                    self.lasts.push(OnceCell::new());
                    self.known.push(self.begin_with(used.cell));
                }
                let in_question = reads
                    && !native.writers.none_but(thread, used.cell)
                    && !(any_external && trace.cell(used.cell).external());
                if in_question {
                    let read = Read {
                        word: words.read(access.kind, used.cell),
                        ..self.read((used.cell, number), event, used.read)
                    };
                    self.reads.push(read);
                }
                self.uses.push(Used {
                    left: used.written,
                    number,
                    writes: access.kind.writes(),
                    leaves: access.kind.writes_value(),
                    is_read: in_question,
                    object,
                });
            }
        }
        if op.lock().is_some() {
            self.doors.push(Doors {
                opened: native.sections.opened_by(event),
                closed: native.sections.closed_by(event),
            });
        }
        self.decoded.push(Decoded {
            event,
            place,
            incoming: first_edge,
            uses: first_use,
            reads: first_read,
            doors: op.lock().map_or(0, |_| self.doors.len() as u32),
            conditional: Need::of(op).is_some(),
            known: !needs_asking || native.knows(event),
        });
        self.first_edges.push(0);
        let number = self.decoded.len() as u32 - 1;
        self.numbers[thread.index()][at] = number + 1;
        number
    }

    fn begin_with(&self, cell: CellId) -> Known<'t> {
        let (trace, writes) = (self.native.trace, self.native.writers.writes(cell));
        // Mostly, a cell is written throughout the trace.
        let share = writes.len() as u64 * u64::from(self.from.0) / trace.len().max(1) as u64;
        let earlier = first_near(writes, share as usize, |&write| write >= self.from);
        let value = match writes[..earlier].last() {
            Some(&write) => trace.value_left(write, cell),
            None => trace.initial(cell),
        };
        Known { writes, earlier, value }
    }

    fn read(&self, (cell, number): (CellId, u32), read: EventId, value: u64) -> Read<'t> {
        let (trace, writers) = (self.native.trace, self.native.writers);
        let known = &self.known[number as usize];
        let fitting = match self.only(known, read) {
            Some(only) => slice::from_ref(only),
            None => writers.writes_of(trace, cell, value),
        };
        let before = fitting.partition_point(|&write| write < self.from);
        let mut seen = Read {
            cell,
            value,
            fitting: &fitting[before..],
            word: None,
            begins: known.value == Some(value),
            earlier: before > 0 || trace.initial(cell) == Some(value),
            base: false,
            outside: false,
        };
        seen.view(self.based);
        seen
    }
}

/// The first place at which something holds that holds from there on. Takes time by how far that is from `near`.
fn first_near<T>(all: &[T], near: usize, holds: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (near.min(all.len()), 1);
    if all.get(high).is_some_and(|one| !holds(one)) {
        return first_from(all, high, holds);
    }
    while step <= high && holds(&all[high - step]) {
        high -= step;
        step *= 2;
    }
    let low = (high + 1).saturating_sub(step);
    low + all[low..high].partition_point(|one| !holds(one))
}

/// The first place from `from` on at which something holds that holds from there on; the end if there is none. Takes
/// time by how far that is from `from`.
fn first_from<T>(all: &[T], from: usize, holds: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= all.len() && !holds(&all[low + step - 1]) {
        low += step;
        step *= 2;
    }
    let until = all.len().min(low + step);
    low + all[low..until].partition_point(|one| !holds(one))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_place_is_found_from_any_other() {
        for len in 0..20 {
            let all: Vec<usize> = (0..len).collect();
            for place in 0..=len {
                let holds = |&one: &usize| one >= place;
                for near in 0..len + 3 {
                    assert_eq!(super::first_near(&all, near, holds), place, "{near} of {len}");
                }
                for from in 0..=place {
                    assert_eq!(super::first_from(&all, from, holds), place, "{from} of {len}");
                }
            }
        }
    }
}
