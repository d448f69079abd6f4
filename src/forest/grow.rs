//! A run grows the forest by its path.

use super::memory::{Byte, Memory, byte, joined};
use super::operation::{Datum, NodeId, ObjectId, Operation, Outcome, Patience, Place, Region, Span, TreeId, ValueId};
use super::orders::Atomic;
use super::run::{Run, RunBlock, RunOperation, RunPlace, RunStep, RunValue, Stands};
use super::{Edge, Forest, Next, Reservation};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// What a run has added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// How many outcomes no earlier run had shown.
    pub branches: usize,
    /// Where in the code it accessed what another thread had freed.
    pub uses_after_free: BTreeSet<u64>,
    /// Where it did something else than an earlier run after the same history; what came later in it was not added.
    pub nondeterministic: Option<NodeId>,
}

/// Operations of the longest waiting loop that is recognized by its equal rounds.
const LONGEST_ROUND: usize = 8;

/// Where a thread of the run has come to.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Nobody forked it yet.
    Nowhere,
    /// Before the operation of a node.
    Before(NodeId),
    /// Behind it. What comes next decides whether that is a new history.
    Behind {
        node: NodeId,
        outcome: Outcome,
        wrote: Option<ValueId>,
    },
}

/// The run's names in the forest's.
struct Names<'r> {
    run: &'r Run,
    trees: Vec<Option<TreeId>>,
    blocks: Vec<Option<Region>>,
    /// Blocks that are known by a thread and a number.
    known: HashMap<RunBlock, (u32, u32)>,
    objects: Vec<Option<ObjectId>>,
}

impl Forest {
    /// Adds what a run shows.
    pub fn add(&mut self, run: &Run) -> Added {
        self.reservations.extend(run.reservations.iter().cloned());
        let mut adding = Adding {
            names: Names {
                run,
                trees: vec![None; run.threads.len()],
                blocks: Vec::new(),
                known: run
                    .known_blocks
                    .iter()
                    .map(|known| (known.block, (known.by, known.ordinal)))
                    .collect(),
                objects: vec![None; run.objects.len()],
            },
            at: vec![At::Nowhere; run.threads.len()],
            memory: Memory::default(),
            uses_after_free: BTreeSet::new(),
            before: self.branches,
            forest: self,
        };
        let nondeterministic = adding.run().err();
        let branches = adding.forest.branches - adding.before;
        Added {
            branches,
            uses_after_free: adding.uses_after_free,
            nondeterministic,
        }
    }
}

struct Adding<'f, 'r> {
    forest: &'f mut Forest,
    names: Names<'r>,
    at: Vec<At>,
    memory: Memory,
    uses_after_free: BTreeSet<u64>,
    before: usize,
}

impl Adding<'_, '_> {
    /// The node where the run differs from an earlier one, if it does.
    fn run(&mut self) -> Result<(), NodeId> {
        let run = self.names.run;
        if !run.threads.is_empty() {
            self.names.trees[0] = Some(Forest::MAIN);
            self.at[0] = At::Before(self.forest.trees[Forest::MAIN.index()].root);
        }
        for step in &run.steps {
            self.step(step)?;
        }
        for (thread, stands) in run.threads.iter().enumerate() {
            let thread = thread as u32;
            if matches!(self.at[thread as usize], At::Nowhere) {
                continue;
            }
            match stands {
                Stands::Ended => self.comes_to(thread, Next::Ended, None)?,
                Stands::Stopped => self.comes_to(thread, Next::Stops, None)?,
                Stands::Unknown => self.comes_to(thread, Next::Unknown, None)?,
                Stands::Before(step) => match self.operation(&step.operation) {
                    Some(operation) => self.comes_to(thread, Next::Operation(operation), Some(step))?,
                    None => self.comes_to(thread, Next::Unknown, None)?,
                },
            };
        }
        Ok(())
    }

    fn step(&mut self, step: &RunStep) -> Result<(), NodeId> {
        let thread = step.thread;
        if matches!(self.at[thread as usize], At::Nowhere) {
            // Threads that were there from the start have nobody's history to be known by.
            self.forest.reservations.insert(Reservation::SecondMainThread);
            return Ok(());
        }
        let Some(operation) = self.operation(&step.operation) else {
            // It names a thread or block that this run does not have.
            self.forest.reservations.insert(Reservation::BeganBefore);
            return Err(self.comes_to(thread, Next::Unknown, None)?);
        };
        let operation = self.as_in_earlier_runs(thread, operation, step);
        let accessed = operation.span().map(|span| span.at.region);
        if accessed.is_some_and(|region| self.memory.is_freed_by_another(region, thread)) {
            self.uses_after_free.insert(step.position);
        }
        if let (Some(what), Some(order)) = (Atomic::of(&step.operation), step.order) {
            self.forest.orders.note(step.position, what, order);
            if self.forest.orders.are_weak() {
                self.forest.reservations.insert(Reservation::WeakAtomics);
            }
        }
        let node = self.comes_to(thread, Next::Operation(operation), Some(step))?;
        let (outcome, wrote) = self.outcome(node, step, operation);
        self.at[thread as usize] = At::Behind { node, outcome, wrote };
        match step.operation {
            RunOperation::Fork { child } => {
                let known = self.forest.tree_forked_at(node);
                let tree = known.unwrap_or_else(|| self.forest.new_tree(Some(node)));
                self.names.trees[child as usize] = Some(tree);
                self.at[child as usize] = At::Before(self.forest.trees[tree.index()].root);
            }
            RunOperation::Alloc { block, .. } => self.names.allocated(block, node),
            RunOperation::Free { .. } => {
                if let Operation::Free(region) = operation {
                    self.memory.free(region, thread);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A plain write of another value than in earlier runs, after the same history, is taken for theirs: what a compiler
    /// stores along with what matters, the program need not have set. Reads of it are taken for reads of theirs, and if
    /// the program does something else because of it, that shows.
    fn as_in_earlier_runs(&mut self, thread: u32, operation: Operation, step: &RunStep) -> Operation {
        let Operation::Write(span, value) = operation else {
            return operation;
        };
        let node = match self.at[thread as usize] {
            At::Nowhere => return operation,
            At::Before(node) => node,
            At::Behind { node, outcome, .. } => match self.forest.node(node).edge(outcome) {
                Some(edge) => edge.to,
                None => return operation,
            },
        };
        match self.forest.node(node).next {
            Next::Operation(earlier @ Operation::Write(there, known)) if there == span && known != value => {
                let position = step.position;
                let (before, now) = (self.forest.datum(known), self.forest.datum(value));
                tracing::debug!(
                    thread,
                    ?span,
                    ?before,
                    ?now,
                    "another value was written at {position:#x}"
                );
                self.forest
                    .reservations
                    .insert(Reservation::WrittenOtherwise { position });
                earlier
            }
            _ => operation,
        }
    }

    /// Bytes that a read saw and nothing explains, in a block where nobody has written yet, or in what is left of earlier
    /// calls on a stack, are taken for what it saw there in an earlier run: in both they are what was left there.
    fn left_there(&mut self, node: NodeId, span: Span, seen: ValueId, position: u64) -> ValueId {
        let forest = &mut *self.forest;
        if span.at.region == Region::Static {
            return seen;
        }
        let on_stack = forest.is_stack(span.at.region);
        let left = self.memory.left_there(&forest.values, span, seen, on_stack);
        if left.is_empty() {
            return seen;
        }
        let mut bytes: Vec<Byte> = (0..span.size).map(|index| byte(&forest.values, seen, index)).collect();
        for index in left {
            let byte = &mut bytes[usize::from(index)];
            // Only after the same history: what unrecorded code leaves there may follow from that.
            *byte = *forest.left_there.entry((node, index)).or_insert(*byte);
        }
        let Some(earlier) = joined(&mut forest.values, &bytes).filter(|&earlier| earlier != seen) else {
            return seen;
        };
        if forest.node(node).edge(Outcome::Saw(seen)).is_some() {
            return seen;
        }
        let (before, now) = (forest.datum(earlier), forest.datum(seen));
        tracing::debug!(?span, ?before, ?now, "other bytes were left at {position:#x}");
        forest.reservations.insert(Reservation::WrittenOtherwise { position });
        self.memory.write_for(&forest.values, span, earlier, seen);
        earlier
    }

    /// How it turned out, and what an atomic read wrote then. The memory is after it.
    fn outcome(&mut self, node: NodeId, step: &RunStep, operation: Operation) -> (Outcome, Option<ValueId>) {
        let saw = |adding: &mut Self, seen: RunValue| {
            let (span, value) = (operation.span().expect("it reads memory"), adding.value(seen));
            let value = adding.memory.as_in_earlier_runs(&mut adding.forest.values, span, value);
            if adding.forest.saw(&adding.memory, span, value, step.position) {
                adding.forest.by_history.insert(node);
            }
            Outcome::Saw(adding.left_there(node, span, value, step.position))
        };
        match step.operation {
            RunOperation::Read { saw: seen, .. } | RunOperation::AtomicLoad { saw: seen, .. } => {
                (saw(self, seen), None)
            }
            RunOperation::AtomicRmw { saw: seen, wrote, .. } => {
                let outcome = saw(self, seen);
                let wrote = self.value(wrote);
                let span = operation.span().expect("it is an access");
                self.memory.write(&self.forest.values, span, wrote);
                (outcome, Some(wrote))
            }
            RunOperation::Write { value: wrote, .. } | RunOperation::AtomicStore { value: wrote, .. } => {
                if let Operation::Write(span, value) | Operation::AtomicWrite(span, value) = operation {
                    let wrote = self.value(wrote);
                    self.memory.write_for(&self.forest.values, span, value, wrote);
                }
                (Outcome::Done, None)
            }
            RunOperation::Count { value, .. } => (Outcome::Counted(value), None),
            RunOperation::Input { value, .. } => (Outcome::Saw(self.value(value)), None),
            RunOperation::On(_, turned) => (turned.into(), None),
            RunOperation::Join { gave_up: true, .. } => (Outcome::GaveUp, None),
            _ => (Outcome::Done, None),
        }
    }

    /// The thread comes to what is next: the node, an old one if this outcome is known.
    fn comes_to(&mut self, thread: u32, next: Next, step: Option<&RunStep>) -> Result<NodeId, NodeId> {
        let node = match self.at[thread as usize] {
            At::Nowhere => unreachable!("only threads that are there come to something"),
            At::Before(node) => node,
            At::Behind { node, outcome, wrote } => {
                let to = match self.forest.node(node).edge(outcome) {
                    Some(edge) if edge.wrote != wrote => return Err(self.differs(node, thread)),
                    Some(edge) => edge.to,
                    None => self.new_branch(
                        node,
                        Edge {
                            outcome,
                            wrote,
                            to: node,
                        },
                        next,
                        step,
                    ),
                };
                self.at[thread as usize] = At::Before(to);
                to
            }
        };
        let node = match self.back_from(node, next, step) {
            Some(back) => {
                self.at[thread as usize] = At::Before(back);
                back
            }
            None => node,
        };
        let known = self.forest.node(node).next;
        // Who begins to wait ends it next, seen or not.
        let next = if next == Next::Unknown {
            self.forest.half_done(node)
        } else {
            next
        };
        if next != Next::Unknown && known != next {
            if known != Next::Unknown {
                return Err(self.differs(node, thread));
            }
            self.forest.nodes[node.index()].next = next;
        }
        if let Some(step) = step {
            // An end of a wait that only its beginning told of has neither yet.
            let row = &mut self.forest.nodes[node.index()];
            if row.position == 0 {
                row.position = step.position;
            }
            row.own_state = row.own_state.or(step.own_state);
            if let (None, Some(number)) = (row.picture, step.picture) {
                let words = &self.names.run.pictures[number as usize];
                row.picture = self.forest.pictures.add(words);
            }
            let gave_up = step.operation.gave_up();
            let shown = if gave_up { Patience::Bounded } else { step.patience };
            if shown != Patience::Unknown {
                self.forest.nodes[node.index()].patience = shown;
            }
        }
        Ok(node)
    }

    fn differs(&mut self, node: NodeId, thread: u32) -> NodeId {
        let after = self.forest.node(node).depth;
        self.forest
            .reservations
            .insert(Reservation::Nondeterministic { thread, after });
        node
    }

    /// A new edge, to a new history, or back to one that this is no different from.
    fn new_branch(&mut self, node: NodeId, edge: Edge, next: Next, step: Option<&RunStep>) -> NodeId {
        let back = match (next, step) {
            (Next::Operation(operation), Some(step)) => self.same_before(node, edge, operation, step),
            _ => None,
        };
        let forest = &mut *self.forest;
        let to = back.unwrap_or_else(|| forest.new_node(forest.node(node).tree, Some(node)));
        forest.nodes[node.index()].edges.push(Edge { to, ..edge });
        forest.branches += 1;
        to
    }

    /// Where an earlier run had ended, nobody knew that what comes next makes this history no different from one before
    /// it: the one before it. The node stays, and nothing leads to it.
    fn back_from(&mut self, node: NodeId, next: Next, step: Option<&RunStep>) -> Option<NodeId> {
        let row = self.forest.node(node);
        let (Next::Operation(operation), Next::Unknown, true) = (next, row.next, row.edges.is_empty()) else {
            return None;
        };
        let parent = row.parent?;
        let edge = *self.forest.edge_to(parent, node)?;
        let back = self.same_before(parent, edge, operation, step?)?;
        self.forest.nodes[node.index()].next = next;
        let edges = &mut self.forest.nodes[parent.index()].edges;
        edges
            .iter_mut()
            .filter(|edge| edge.to == node)
            .for_each(|edge| edge.to = back);
        Some(back)
    }

    /// An earlier history, apart by operations without effect alone, from which the thread goes on in the same way.
    fn same_before(&mut self, from: NodeId, edge: Edge, next: Operation, step: &RunStep) -> Option<NodeId> {
        let Some(own_state) = step.own_state else {
            return self.equal_rounds(from, edge, next, step.position);
        };
        let forest = &*self.forest;
        if !forest.without_effect(from, &edge) {
            return None;
        }
        let mut node = from;
        loop {
            let here = forest.node(node);
            if here.next == Next::Operation(next) && here.own_state == Some(own_state) {
                return Some(node);
            }
            let parent = here.parent?;
            if !forest.without_effect(parent, forest.edge_to(parent, node)?) {
                return None;
            }
            node = parent;
        }
    }

    /// The node where the last of [`Forest::SPIN_ROUNDS`] equal rounds began, after which the next one begins.
    fn equal_rounds(&mut self, from: NodeId, edge: Edge, next: Operation, position: u64) -> Option<NodeId> {
        let forest = &*self.forest;
        if !forest.may_wait_by(from, &edge) {
            return None;
        }
        let most = LONGEST_ROUND * Forest::SPIN_ROUNDS as usize;
        // Backwards: what was done, where, with what outcome, and from which node.
        let mut done = vec![(
            forest.node(from).operation(),
            forest.node(from).position,
            edge.outcome,
            from,
        )];
        while let Some(&(.., node)) = done.last()
            && done.len() < most
            && let Some(parent) = forest.node(node).parent
            && let Some(edge) = forest.edge_to(parent, node)
            && forest.may_wait_by(parent, edge)
        {
            let row = forest.node(parent);
            done.push((row.operation(), row.position, edge.outcome, parent));
        }
        let equal = |a: usize, b: usize| (done[a].0, done[a].1, done[a].2) == (done[b].0, done[b].1, done[b].2);
        let round = (1..=LONGEST_ROUND).find(|&length| {
            let all = length * Forest::SPIN_ROUNDS as usize;
            let begins = |index: usize| (done[index].0, done[index].1) == (Some(next), position);
            let operations = done.iter().map(|&(operation, _, outcome, _)| (operation, outcome));
            done.len() >= all
                && begins(length - 1)
                && (length..all).all(|index| equal(index, index - length))
                && is_waiting_round(operations.take(length))
        })?;
        let back = done[round - 1].3;
        self.forest.reservations.insert(Reservation::SpinRounds {
            rounds: Forest::SPIN_ROUNDS,
        });
        Some(back)
    }

    fn value(&mut self, value: RunValue) -> ValueId {
        let datum = match value {
            RunValue::Address(place) => self.place(place).map(Datum::Address),
            RunValue::Number(number) => Some(Datum::Number(number)),
        };
        // Of a block that nobody has allocated yet only the distance from its start is known.
        let datum = datum.unwrap_or(match value {
            RunValue::Address(place) => Datum::Number(place.offset),
            RunValue::Number(number) => Datum::Number(number),
        });
        self.forest.values.intern(datum)
    }

    fn place(&self, place: RunPlace) -> Option<Place> {
        let region = match place.block {
            None => Region::Static,
            Some(block) => self.names.block(block)?,
        };
        Some(Place {
            region,
            offset: place.offset,
        })
    }

    fn span(&self, at: RunPlace, size: u8) -> Option<Span> {
        Some(Span {
            at: self.place(at)?,
            size,
        })
    }

    fn object(&mut self, number: u32) -> Option<ObjectId> {
        if let Some(known) = self.names.objects[number as usize] {
            return Some(known);
        }
        let object = self.names.run.objects[number as usize];
        let at = self.place(object.at)?;
        let id = self.forest.objects.intern(object.kind, at);
        if self.names.objects.contains(&Some(id)) {
            self.forest.reservations.insert(Reservation::ObjectReused);
        }
        self.names.objects[number as usize] = Some(id);
        Some(id)
    }

    /// In the forest's names; `None` if it names what this run does not have.
    fn operation(&mut self, operation: &RunOperation) -> Option<Operation> {
        Some(match *operation {
            RunOperation::Begin => Operation::Begin,
            RunOperation::End => Operation::End,
            RunOperation::Fork { .. } => Operation::Fork,
            RunOperation::Join { child, .. } => Operation::Join((*self.names.trees.get(child as usize)?)?),
            RunOperation::Read { at, size, .. } => Operation::Read(self.span(at, size)?),
            RunOperation::Write { at, size, value } => Operation::Write(self.span(at, size)?, self.value(value)),
            RunOperation::AtomicLoad { at, size, .. } | RunOperation::AtomicRmw { at, size, .. } => {
                Operation::AtomicRead(self.span(at, size)?)
            }
            RunOperation::AtomicStore { at, size, value } => {
                Operation::AtomicWrite(self.span(at, size)?, self.value(value))
            }
            RunOperation::Use { at, size } => Operation::Use(self.span(at, size)?),
            RunOperation::On(action, _) => Operation::On(action.rename(|object| self.object(object))?),
            RunOperation::Count { semaphore, .. } => Operation::Count(self.object(semaphore)?),
            RunOperation::Fence => Operation::Fence,
            RunOperation::Branch => Operation::Branch,
            RunOperation::Alloc { size, .. } => Operation::Alloc(size),
            RunOperation::Free { block } => Operation::Free(self.names.block(block)?),
            RunOperation::Input { source, .. } => Operation::Input(self.object(source)?),
            RunOperation::Output { source } => Operation::Output(self.object(source)?),
        })
    }
}

/// Whether a round of a loop looks at something that other threads change, and gives back each lock that it takes.
fn is_waiting_round(operations: impl Iterator<Item = (Option<Operation>, Outcome)>) -> bool {
    let mut looks = false;
    let mut held: HashMap<ObjectId, i32> = HashMap::new();
    for (operation, outcome) in operations {
        match operation {
            Some(Operation::Read(span) | Operation::AtomicRead(span)) => {
                looks |= !matches!(span.at.region, Region::Known(..));
            }
            Some(Operation::Count(_)) => looks = true,
            Some(Operation::On(action)) => match action.at_lock(outcome.turned()) {
                _ if action.only_looks(outcome.turned()) => looks = true,
                Some((lock, step)) if step.takes() => *held.entry(lock).or_default() += 1,
                Some((lock, step)) if step.gives_back() => *held.entry(lock).or_default() -= 1,
                _ => {}
            },
            _ => {}
        }
    }
    looks && held.values().all(|&levels| levels == 0)
}

impl Names<'_> {
    fn block(&self, block: RunBlock) -> Option<Region> {
        if let Some(&(by, ordinal)) = self.known.get(&block) {
            let tree = (*self.trees.get(by as usize)?)?;
            return Some(Region::Known(tree, ordinal));
        }
        *self.blocks.get(block.0 as usize)?
    }

    fn allocated(&mut self, block: RunBlock, node: NodeId) {
        let index = block.0 as usize;
        if index >= self.blocks.len() {
            self.blocks.resize(index + 1, None);
        }
        self.blocks[index] = Some(Region::Block(node));
    }
}

impl Forest {
    /// The edge from a node to a child of it.
    fn edge_to(&self, from: NodeId, to: NodeId) -> Option<&Edge> {
        self.node(from).edges.iter().find(|edge| edge.to == to)
    }

    /// What follows from the operation before: the second half of a wait, or of a barrier.
    fn half_done(&self, node: NodeId) -> Next {
        let before = self.node(node).parent.and_then(|parent| self.node(parent).operation());
        let half = match before {
            Some(Operation::On(action)) => action.second_half(),
            _ => None,
        };
        half.map_or(Next::Unknown, |half| Next::Operation(Operation::On(half)))
    }

    /// Whether this may be part of a round of a waiting loop: no other thread can tell afterwards that it happened, but
    /// for locks, which the round has to give back, and for what is written to stacks, which a round with equal values
    /// leaves as it was.
    fn may_wait_by(&self, node: NodeId, edge: &Edge) -> bool {
        let on_a_stack = |span: Span| matches!(span.at.region, Region::Known(..));
        match self.node(node).next {
            // Such as an attempt to set a flag that is set already.
            Next::Operation(Operation::AtomicRead(_)) => {
                edge.wrote.is_none_or(|wrote| edge.outcome == Outcome::Saw(wrote))
            }
            Next::Operation(Operation::Write(span, _) | Operation::AtomicWrite(span, _)) => on_a_stack(span),
            Next::Operation(Operation::On(action)) => action.may_be_in_a_waiting_loop(edge.outcome.turned()),
            _ => self.without_effect(node, edge),
        }
    }

    /// Whether no other thread can tell that this happened.
    fn without_effect(&self, node: NodeId, edge: &Edge) -> bool {
        match self.node(node).next {
            Next::Operation(operation) => match operation {
                Operation::Read(_) | Operation::Use(_) | Operation::Count(_) | Operation::Fence | Operation::Branch => {
                    true
                }
                Operation::AtomicRead(_) => edge.wrote.is_none(),
                Operation::On(action) => action.only_looks(edge.outcome.turned()),
                Operation::Join(_) => edge.outcome == Outcome::GaveUp,
                _ => false,
            },
            _ => false,
        }
    }
}
