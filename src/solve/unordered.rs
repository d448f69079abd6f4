//! What orders two accesses in an execution, as clauses that some other execution may violate.
//!
//! A pair that is never next at once may still be unordered: an execution performs the first access and brings the
//! second next, and no chain of program order and synchronization leads from one to the other (section 3 of
//! `docs/SEMANTICS.md`). The solver proposes an execution that does the former. If there is a chain in it, the chain
//! becomes a clause: one of its links has to break. So it goes on until an execution is found, or none is left.
//!
//! A link between two threads holds for as long as certain events keep their order: a release and an acquire; a
//! store, those after it in its release sequence and a load, with no other write between them. The clause
//! is the disjunction of everything that could change that. It may allow more than what breaks the chain; then the next
//! execution has the chain still, and adds another clause.

use crate::encode::{Literal, Node};
use crate::semantics::futexes::is_of_system;
use crate::semantics::synchronizes::{Among, Passing, Readers, acquires, releases};
use crate::semantics::waits;
use crate::trace::{Access, AccessKind, CellId, EventId, MemoryOrder, ObjectId, Op, ThreadId, Trace, Wakes};
use hashbrown::HashMap;

/// Literals of one clause at most: with more writes to one cell the search is given up.
const MAX_LITERALS: usize = 4_000;

/// One of the literals is true in every execution that lacks the chain found in this one, and none is in
/// this one. `Ok(None)`: there is no chain. `Err`: it takes too many literals to say.
pub(super) fn chain(trace: &Trace, order: &[EventId], a: EventId, b: EventId) -> Result<Option<Vec<Literal>>, TooLong> {
    let mut walk = Walk {
        trace,
        order,
        wakes: Wakes::of(trace, order.iter().copied()),
        place: order.iter().enumerate().map(|(at, &event)| (event, at)).collect(),
        links: Vec::new(),
        threads: vec![None; trace.threads()],
        loaded: vec![Vec::new(); trace.threads()],
        fenced: vec![None; trace.threads()],
        sequences: HashMap::new(),
        writer: HashMap::new(),
        writes: HashMap::new(),
        told: HashMap::new(),
        readers: Readers::none(trace.tables().meta.foreign_unlock),
        blocks: HashMap::new(),
        fences: None,
    };
    for &event in order {
        walk.step(event, event == a)?;
    }
    let thread = trace.thread(b).index();
    let through_block = trace
        .access(b)
        .and_then(|access| walk.blocks.get(&trace.incarnation_of(access.event).0).copied());
    let Some(mut link) = walk.threads[thread].or(through_block) else {
        return Ok(None);
    };
    let mut literals = Vec::new();
    loop {
        let known = &walk.links[link.0];
        literals.extend_from_slice(&known.literals);
        match known.from {
            Some(from) => link = from,
            None => break,
        }
    }
    if literals.len() > MAX_LITERALS {
        return Err(TooLong);
    }
    literals.sort_unstable();
    literals.dedup();
    Ok(Some(literals))
}

/// The clause would be too long.
#[derive(Debug)]
pub(super) struct TooLong;

#[derive(Clone, Copy)]
struct LinkId(usize);

/// How knowledge of the first access came to a thread.
struct Link {
    /// What knew before; `None` for the access itself.
    from: Option<LinkId>,
    /// What would break the link.
    literals: Vec<Literal>,
    /// The event by which the thread learnt of it.
    by: EventId,
}

/// The first access is known here; by this event of a thread that knew.
type Told = (LinkId, EventId);

struct Walk<'w> {
    trace: &'w Trace,
    order: &'w [EventId],
    wakes: Wakes,
    place: HashMap<EventId, usize>,
    links: Vec<Link>,
    threads: Vec<Option<LinkId>>,
    /// Stores that a later acquire fence of the thread acquires, with the load and the cell.
    loaded: Vec<Vec<(Told, EventId, CellId)>>,
    /// What the last release fence of a thread releases.
    fenced: Vec<Option<LinkId>>,
    /// Release sequences that the last write of a cell belongs to: their heads, and the first store in each that
    /// releases.
    sequences: HashMap<CellId, Vec<(ThreadId, Told)>>,
    /// The last writer of a cell, if it knew, and whether it wrote atomically.
    writer: HashMap<CellId, (Option<LinkId>, bool)>,
    writes: HashMap<CellId, Vec<EventId>>,
    /// By object: who of these knew first.
    told: HashMap<(ObjectId, Among), Told>,
    readers: Readers,
    blocks: HashMap<u32, LinkId>,
    fences: Option<Told>,
}

impl Walk<'_> {
    fn step(&mut self, event: EventId, is_first: bool) -> Result<(), TooLong> {
        let thread = self.trace.thread(event);
        if is_first {
            self.learn(thread, event, None, Vec::new());
        }
        match self.trace.op(event) {
            Op::Fork { child } => {
                let knows = self.threads[thread.index()];
                self.pass(child, event, knows);
            }
            Op::Join { child } => {
                let knows = self.threads[child.index()];
                self.pass(thread, event, knows);
            }
            Op::Alloc { incarnation } => {
                if let Some(knows) = self.threads[thread.index()] {
                    self.blocks.entry(incarnation.0).or_insert(knows);
                }
            }
            Op::Fence { order } => self.fence(event, order)?,
            Op::Access => self.access(event)?,
            _ => self.synchronize(event),
        }
        Ok(())
    }

    /// What an operation on objects passes on.
    fn synchronize(&mut self, event: EventId) {
        let (thread, op) = (self.trace.thread(event), self.trace.op(event));
        if let Some((condition, waits::Step::End(_))) = waits::Step::of(op)
            && let Some(&notify) = self.wakes.by.get(&event)
            && let Some(knows) = self.knew(notify)
        {
            let literals = self.condition(condition);
            self.learn(thread, event, Some(knows), literals);
        }
        let Some((object, passing)) = self.readers.passing(thread, op) else {
            return;
        };
        if is_of_system(self.trace, object) {
            return;
        }
        for &passing in passing {
            match passing {
                Passing::Learns(among) => self.after(event, self.told.get(&(object, among)).copied()),
                Passing::Tells(among) => {
                    if let Some(link) = self.threads[thread.index()] {
                        self.told.entry((object, among)).or_insert((link, event));
                    }
                }
            }
        }
    }

    fn learn(&mut self, thread: ThreadId, by: EventId, from: Option<LinkId>, literals: Vec<Literal>) {
        if self.threads[thread.index()].is_none() {
            self.links.push(Link { from, literals, by });
            self.threads[thread.index()] = Some(LinkId(self.links.len() - 1));
        }
    }

    /// A link that nothing breaks.
    fn pass(&mut self, thread: ThreadId, by: EventId, knows: Option<LinkId>) {
        if knows.is_some() {
            self.learn(thread, by, knows, Vec::new());
        }
    }

    /// A link that holds while `event` comes after the event that told of it.
    fn after(&mut self, event: EventId, told: Option<Told>) {
        if let Some((link, source)) = told {
            let literals = vec![before(event, source)];
            self.learn(self.trace.thread(event), event, Some(link), literals);
        }
    }

    /// What a thread knew when it performed an event, if that is what it still knows.
    fn knew(&self, event: EventId) -> Option<LinkId> {
        let link = self.threads[self.trace.thread(event).index()]?;
        (self.place[&self.links[link.0].by] <= self.place[&event]).then_some(link)
    }

    /// Everything that decides whom the notifies of a condition wake.
    fn condition(&self, condition: ObjectId) -> Vec<Literal> {
        let of_it =
            |&event: &EventId| waits::Step::of(self.trace.op(event)).is_some_and(|(other, _)| other == condition);
        let history: Vec<EventId> = self.order.iter().copied().filter(of_it).collect();
        let mut literals: Vec<Literal> = history.windows(2).map(|pair| before(pair[1], pair[0])).collect();
        let outside = self.trace.events().filter(|event| !self.place.contains_key(event));
        literals.extend(
            outside
                .filter(of_it)
                .map(|event| Literal::Before(Node::of(event), Node::RACE)),
        );
        literals
    }

    fn fence(&mut self, event: EventId, order: MemoryOrder) -> Result<(), TooLong> {
        let own = self.trace.thread(event);
        if acquires(order)
            && self.threads[own.index()].is_none()
            && let Some(&((link, store), load, cell)) = self.loaded[own.index()].first()
        {
            let literals = self.reads_from(store, load, cell)?;
            self.learn(own, event, Some(link), literals);
        }
        if order == MemoryOrder::SeqCst {
            self.after(event, self.fences);
            if let (None, Some(knows)) = (self.fences, self.threads[own.index()]) {
                self.fences = Some((knows, event));
            }
        }
        if releases(order) {
            self.fenced[own.index()] = self.threads[own.index()];
        }
        Ok(())
    }

    fn access(&mut self, event: EventId) -> Result<(), TooLong> {
        let access = self.trace.access(event).expect("the event is an access");
        let thread = self.trace.thread(event);
        let own = thread.index();
        let atomic = access.kind.is_atomic();
        let block = self.blocks.get(&self.trace.incarnation_of(access.event).0).copied();
        self.pass(thread, event, block);
        if self.trace.pin(event).is_some() {
            self.meet(event);
        }
        let cells: Vec<CellId> = self.trace.uses(access).map(|used| used.cell).collect();
        for &cell in cells.iter().filter(|_| access.kind.reads()) {
            if let Some(&(Some(knows), by_atomic)) = self.writer.get(&cell)
                && !(atomic && by_atomic)
                && self.threads[own].is_none()
            {
                let last = self.writes[&cell].last().copied().expect("somebody wrote it");
                let literals = self.reads_from(last, event, cell)?;
                self.learn(thread, event, Some(knows), literals);
            }
        }
        for &cell in cells.iter().filter(|_| access.kind.reads() && atomic) {
            let told: Vec<Told> = self
                .sequences
                .get(&cell)
                .into_iter()
                .flatten()
                .map(|&(_, told)| told)
                .collect();
            for (link, store) in told {
                self.loaded[own].push(((link, store), event, cell));
                if acquires(access.order) && self.threads[own].is_none() {
                    let literals = self.reads_from(store, event, cell)?;
                    self.learn(thread, event, Some(link), literals);
                }
            }
        }
        for &cell in cells.iter().filter(|_| access.kind.writes()) {
            self.store(event, cell, access);
        }
        Ok(())
    }

    fn store(&mut self, event: EventId, cell: CellId, access: Access) {
        let thread = self.trace.thread(event);
        let knows = self.threads[thread.index()];
        self.writes.entry(cell).or_default().push(event);
        self.writer.insert(cell, (knows, access.kind.is_atomic()));
        let sequences = self.sequences.entry(cell).or_default();
        match access.kind {
            AccessKind::AtomicRmw => {}
            AccessKind::AtomicStore => sequences.retain(|&(head, _)| head == thread),
            _ => return sequences.clear(),
        }
        let released = self.fenced[thread.index()].or(knows.filter(|_| releases(access.order)));
        if let Some(link) = released
            && sequences.iter().all(|&(head, _)| head != thread)
        {
            sequences.push((thread, (link, event)));
        }
    }

    /// Everything so far is ordered before everything from now on: a link to each other thread, which holds
    /// while who knew comes before, and that thread's next event after.
    fn meet(&mut self, event: EventId) {
        let Some(link) = self.threads.iter().flatten().min_by_key(|link| link.0).copied() else {
            return;
        };
        let source = self.links[link.0].by;
        for thread in (0..self.threads.len() as u32).map(ThreadId) {
            let mut literals = vec![before(event, source)];
            if thread != self.trace.thread(event) {
                let here = self.place[&event];
                let next = self.order[here..]
                    .iter()
                    .find(|&&other| self.trace.thread(other) == thread);
                literals.extend(next.map(|&next| before(next, event)));
            }
            self.learn(thread, event, Some(link), literals);
        }
    }

    /// What would end that `load` sees the release sequence of `store`: another order of the writes between the two,
    /// or another write among them.
    fn reads_from(&self, store: EventId, load: EventId, cell: CellId) -> Result<Vec<Literal>, TooLong> {
        let here = self.place[&load];
        let mut writes = self.writes[&cell].clone();
        writes.retain(|write| self.place[write] < here);
        let from = writes.iter().position(|&write| write == store).unwrap_or(0);
        let (earlier, window) = writes.split_at(from);
        let mut literals: Vec<Literal> = earlier.iter().map(|&other| before(store, other)).collect();
        let ordered = window.iter().copied().chain([load]).collect::<Vec<_>>();
        literals.extend(
            ordered
                .windows(2)
                .filter(|pair| pair[0] != pair[1])
                .map(|pair| before(pair[1], pair[0])),
        );
        let writes_it = |event: EventId| {
            self.trace.access(event).is_some_and(|access| access.kind.writes())
                && self.trace.cell_uses(event).any(|used| used.cell == cell)
        };
        let later = |event: EventId| self.place.get(&event).is_none_or(|&at| at > here);
        let others = self.trace.events().filter(|&event| writes_it(event) && later(event));
        literals.extend(others.map(|other| before(other, load)));
        if literals.len() > MAX_LITERALS {
            return Err(TooLong);
        }
        Ok(literals)
    }
}

fn before(a: EventId, b: EventId) -> Literal {
    Literal::Before(Node::of(a), Node::of(b))
}
