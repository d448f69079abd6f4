//! The forest as the search uses it: cells, classes of nodes, what is shared.
//!
//! Made anew for each search, since each run may cut memory otherwise, share what was one thread's, or tell histories
//! apart.
//!
//! - *Cells*: the bytes of a region are cut where accesses begin and end. Cells that only one thread accesses, or that
//!   nobody writes, are no part of a state: what a read of them sees follows from the history.
//! - *Steps of a thread's own*: a node whose operation no other thread can tell, and which has one outcome, is in the
//!   class of the next one. A thread is taken to have performed such operations as soon as it could; a prefix has them
//!   where they are needed.
//! - *Groups* ([`groups`](super::alike::groups)): in place of classes, histories that seem to go on alike, where it is
//!   only asked what to try next.
//! - *Classes*: nodes with equal operations whose outcomes lead to equal classes are one (bisimilar). States are made
//!   of classes, so histories that the thread's future does not depend on fall together. That is exact for the question
//!   asked: an outcome that is open after one history of a class is open after all, and once it is filled in for one,
//!   the class splits.

use super::alike::groups::{Groups, Matters, NO_GROUP};
use crate::forest::{
    Action, Edge, Forest, Next, NodeId, ObjectId, Operation, Outcome, Patience, Place, Region, RunObjectKind, Span,
    TreeId, ValueId, Values,
};
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// What a cell holds: 0 is *not known*, else a value's number + 1.
pub(crate) type Held = u32;

pub(crate) const UNKNOWN: Held = 0;

/// What a cell of a freed block holds: no value, and not what a run can tell.
pub(crate) const FREED: Held = Held::MAX;

pub(crate) fn held(value: ValueId) -> Held {
    value.0 + 1
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AccessKind {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
    Use,
    Free,
}

/// What a class does, in the search's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Act {
    /// No run says what comes.
    Unknown,
    Ended,
    Stops,
    /// Nothing that another thread could tell; how it turns out follows from the history, or comes from outside.
    Local {
        /// Whether it sees something: then an outcome that no run has shown is not known.
        sees: bool,
    },
    /// An access of shared cells.
    Access(AccessKind),
    /// A fence, where these are [told apart](Tables::with_fences).
    Fence,
    Begin,
    End,
    Fork(TreeId),
    Join(TreeId),
    On(Action<ObjectId>),
    /// Looks at the count of a semaphore.
    Count(ObjectId),
}

/// An outcome of a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClassEdge {
    pub outcome: Outcome,
    pub to: u32,
    /// What each of the cells held; empty if it does not matter, as where a read sees what [its history
    /// tells](Forest::sees_by_history).
    pub saw: Vec<Held>,
    /// What each of them holds after it; empty if nothing is written.
    pub leaves: Vec<Held>,
}

/// Nodes from which a thread goes on alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Class {
    pub act: Act,
    /// Tells apart what looks equal: for nodes of loops the node.
    apart: u32,
    pub position: u64,
    pub patience: Patience,
    /// The shared cells that it accesses, in ascending order.
    pub cells: Vec<u32>,
    /// What a write leaves in them.
    pub leaves: Vec<Held>,
    pub edges: Vec<ClassEdge>,
    /// Whether it lies on a loop that waits.
    pub in_loop: bool,
    /// Whether it can come to one.
    pub reaches_loop: bool,
}

/// A way that a group went on after an outcome: to which class, how often, and after which history first.
type Way = (u32, u32, NodeId);

/// The forest, ready for a search.
pub(crate) struct Tables<'f> {
    pub forest: &'f Forest,
    pub class_of: Vec<u32>,
    /// Of each node whether it is in the class of the next one because its operation is passed by.
    passed: Vec<bool>,
    /// Whether fences are not passed by.
    with_fences: bool,
    /// Whether every read sees what was written, also one that has seen what its history tells.
    by_memory: bool,
    pub classes: Vec<Class>,
    /// What each shared cell holds at first.
    pub initial: Vec<Held>,
    /// Values of pieces, as [`ClassEdge::saw`] has them, to whole values.
    pub values: Values,
    /// Where each shared cell is.
    pub places: Vec<Place>,
    pub sizes: Vec<u8>,
    /// Of classes that are groups of histories: one of them that has been seen to turn out so, and to go on as most.
    shown_by: HashMap<(u32, Outcome), NodeId>,
}

/// The cuts of one region, and its cells between them.
#[derive(Default)]
struct Cuts {
    /// Where cells begin, and whether there is one.
    starts: BTreeMap<u64, Option<u32>>,
}

#[derive(Clone, Copy)]
struct CellInfo {
    region: Region,
    offset: u64,
    size: u8,
    tree: Option<TreeId>,
    several: bool,
    written: bool,
    number: Option<u32>,
}

impl<'f> Tables<'f> {
    pub(crate) fn new(forest: &'f Forest) -> Tables<'f> {
        let (mut tables, cells) = Tables::unclassified(forest);
        tables.classify(&cells);
        tables
    }

    /// The same with fences as operations of their own: other threads cannot tell them, but they order.
    pub(crate) fn with_fences(forest: &'f Forest) -> Tables<'f> {
        let (mut tables, cells) = Tables::unclassified(forest);
        tables.with_fences = true;
        tables.classify(&cells);
        tables
    }

    /// The same where every read sees what was written, as the solver has it. Behind a read of a stack that has seen
    /// something else, nothing is found then.
    pub(crate) fn by_memory(forest: &'f Forest) -> Tables<'f> {
        let (mut tables, cells) = Tables::unclassified(forest);
        tables.by_memory = true;
        tables.classify(&cells);
        tables
    }

    /// The same with groups of histories that seem to go on alike as classes. A search of these guesses.
    pub(crate) fn of_groups(forest: &'f Forest, matters: &mut Matters) -> Tables<'f> {
        let (mut tables, cells) = Tables::unclassified(forest);
        tables.classify_by_groups(&cells, matters);
        tables
    }

    fn unclassified(forest: &'f Forest) -> (Tables<'f>, Cells) {
        let mut cells = Cells::of(forest);
        cells.share(forest);
        let mut values = forest.values();
        let shared = cells.cells.iter().filter(|cell| cell.number.is_some());
        let places: Vec<Place> = shared
            .clone()
            .map(|cell| Place {
                region: cell.region,
                offset: cell.offset,
            })
            .collect();
        let sizes: Vec<u8> = shared.map(|cell| cell.size).collect();
        let initial = places
            .iter()
            .zip(&sizes)
            .map(|(&place, &size)| forest.initial(&mut values, place, size).map_or(UNKNOWN, held))
            .collect();
        let tables = Tables {
            forest,
            class_of: vec![u32::MAX; forest.nodes().len()],
            passed: vec![false; forest.nodes().len()],
            with_fences: false,
            by_memory: false,
            classes: Vec::new(),
            initial,
            values,
            places,
            sizes,
            shown_by: HashMap::new(),
        };
        (tables, cells)
    }

    /// A history of a thread's class after which its operation has been seen to turn out so; `at`, if the class is no
    /// group.
    pub(crate) fn shown_by(&self, class: u32, outcome: Outcome, at: NodeId) -> NodeId {
        self.shown_by.get(&(class, outcome)).copied().unwrap_or(at)
    }

    fn classify_by_groups(&mut self, cells: &Cells, matters: &mut Matters) {
        let forest = self.forest;
        let count = forest.nodes().len();
        let leads_back = |index: usize| (forest.nodes()[index].edges.iter()).any(|edge| edge.to.index() <= index);
        for index in 0..count {
            self.passed[index] = !leads_back(index) && self.passed_by(NodeId(index as u32), cells).is_some();
        }
        let groups = Groups::of(forest, &self.passed, matters);
        // The last class is for histories of which nobody knows what comes next.
        let unknown = groups.count;
        for index in (0..count).rev() {
            self.class_of[index] = match forest.nodes()[index].edges[..] {
                [edge] if self.passed[index] => self.class_of[edge.to.index()],
                _ if groups.of[index] == NO_GROUP => unknown,
                _ => groups.of[index],
            };
        }
        // How often each way to go on was seen, and after which history first.
        let mut ways: HashMap<(u32, Outcome), Vec<Way>> = HashMap::new();
        let mut patience = vec![Patience::Unknown; unknown as usize + 1];
        let mut first = vec![None; unknown as usize + 1];
        for (index, node) in forest
            .nodes()
            .iter()
            .enumerate()
            .filter(|&(index, _)| !self.passed[index])
        {
            let class = self.class_of[index];
            let id = NodeId(index as u32);
            first[class as usize].get_or_insert(id);
            if node.patience != Patience::Unknown {
                patience[class as usize] = node.patience;
            }
            for edge in &node.edges {
                let to = self.class_of[edge.to.index()];
                let ways = ways.entry((class, edge.outcome)).or_default();
                match ways.iter_mut().find(|(known, ..)| *known == to) {
                    Some((_, times, _)) => *times += 1,
                    None => ways.push((to, 1, id)),
                }
            }
        }
        let likeliest = |ways: &[Way]| {
            let way = ways.iter().max_by_key(|(to, times, _)| (*to != unknown, *times));
            way.map(|&(.., node)| node)
        };
        self.shown_by = (ways.iter())
            .filter_map(|(&way, seen)| Some((way, likeliest(seen)?)))
            .collect();
        let mut outcomes = vec![Vec::new(); unknown as usize + 1];
        for (&(class, outcome), &node) in &self.shown_by {
            outcomes[class as usize].push((outcome, node));
        }
        for class in 0..=unknown as usize {
            let Some(id) = first[class] else {
                self.classes.push(Class {
                    in_loop: false,
                    reaches_loop: false,
                    ..Class::placeholder()
                });
                continue;
            };
            let edges = std::mem::take(&mut outcomes[class]);
            let edges = edges
                .into_iter()
                .filter_map(|(outcome, node)| forest.node(node).edge(outcome).copied());
            let described = self.describe_as(id, edges, false, cells);
            self.classes.push(Class {
                patience: patience[class],
                reaches_loop: false,
                ..described
            });
        }
    }

    /// How many nodes are not in the class of the next one.
    pub(crate) fn followed(&self) -> usize {
        self.passed.iter().filter(|&&is| !is).count()
    }

    pub(crate) fn class(&self, id: u32) -> &Class {
        &self.classes[id as usize]
    }

    pub(crate) fn root(&self, tree: TreeId) -> u32 {
        self.class_of[self.forest.trees()[tree.index()].root.index()]
    }

    /// The value that pieces make together, as an outcome; `None` if one is not known, or they make none.
    pub(crate) fn joined(&mut self, cells: &[u32], pieces: &[Held]) -> Option<ValueId> {
        if pieces.contains(&FREED) {
            return None;
        }
        let pieces: Option<Vec<(ValueId, u8)>> = cells
            .iter()
            .zip(pieces)
            .map(|(&cell, &held)| Some((ValueId(held.checked_sub(1)?), self.sizes[cell as usize])))
            .collect();
        self.values.join(&pieces?)
    }

    fn classify(&mut self, cells: &Cells) {
        let forest = self.forest;
        let count = forest.nodes().len();
        let mut in_loop = vec![false; count];
        for (index, node) in forest.nodes().iter().enumerate() {
            for edge in &node.edges {
                let mut at = NodeId(index as u32);
                if edge.to > at {
                    continue;
                }
                loop {
                    in_loop[at.index()] = true;
                    match forest.node(at).parent {
                        Some(parent) if at != edge.to => at = parent,
                        _ => break,
                    }
                }
            }
        }
        // A loop's nodes come first: edges lead back to them.
        for (index, _) in in_loop.iter().enumerate().filter(|&(_, &is)| is) {
            self.class_of[index] = self.classes.len() as u32;
            self.classes.push(Class::placeholder());
        }
        let mut known: HashMap<Class, u32> = HashMap::new();
        for index in (0..count).rev() {
            if let Some(next) = self.passed_by(NodeId(index as u32), cells).filter(|_| !in_loop[index]) {
                self.class_of[index] = self.class_of[next.index()];
                self.passed[index] = true;
                continue;
            }
            let class = self.describe(NodeId(index as u32), in_loop[index], cells);
            if in_loop[index] {
                let id = self.class_of[index] as usize;
                self.classes[id] = class;
                continue;
            }
            let classes = &mut self.classes;
            self.class_of[index] = *known.entry(class).or_insert_with_key(|class| {
                classes.push(class.clone());
                classes.len() as u32 - 1
            });
        }
    }

    /// The node after one whose operation no other thread can tell and that has one outcome.
    fn passed_by(&self, id: NodeId, cells: &Cells) -> Option<NodeId> {
        let node = self.forest.node(id);
        let [edge] = node.edges[..] else {
            return None;
        };
        let passes = match node.operation()? {
            Operation::Fence => !self.with_fences,
            Operation::Begin | Operation::Branch | Operation::Alloc(_) | Operation::Output(_) => true,
            operation @ (Operation::Read(_)
            | Operation::Write(..)
            | Operation::AtomicRead(_)
            | Operation::AtomicWrite(..)
            | Operation::Use(_)
            | Operation::Free(_)) => cells.shared(operation).is_empty(),
            _ => false,
        };
        passes.then_some(edge.to)
    }

    /// Whether a node's operation is passed by: the node is in the class of the next one.
    pub(crate) fn is_passed(&self, id: NodeId) -> bool {
        self.passed[id.index()]
    }

    fn describe(&mut self, id: NodeId, in_loop: bool, cells: &Cells) -> Class {
        let forest = self.forest;
        let described = self.describe_as(id, forest.node(id).edges.iter().copied(), in_loop, cells);
        let reaches_loop = in_loop || described.edges.iter().any(|edge| self.class(edge.to).reaches_loop);
        Class {
            reaches_loop,
            ..described
        }
    }

    /// A class whose operation is that of a node, and which goes on so.
    fn describe_as(&mut self, id: NodeId, seen: impl Iterator<Item = Edge>, in_loop: bool, cells: &Cells) -> Class {
        let node = self.forest.node(id);
        let operation = node.operation();
        let touched = operation.map_or(Vec::new(), |operation| cells.shared(operation));
        let numbers: Vec<u32> = touched.iter().map(|&(number, ..)| number).collect();
        let whole = operation.and_then(Operation::span).map_or(0, |span| span.size);
        let pieces = |values: &mut Values, value: ValueId| -> Vec<Held> {
            touched
                .iter()
                .map(|&(_, from, size)| held(values.part(value, whole, from, size)))
                .collect()
        };
        let leaves = match operation {
            Some(Operation::Write(_, value) | Operation::AtomicWrite(_, value)) => pieces(&mut self.values, value),
            Some(Operation::Free(_)) => vec![FREED; numbers.len()],
            _ => Vec::new(),
        };
        let mut edges = Vec::new();
        let by_history = !self.by_memory && self.forest.sees_by_history(id);
        for edge in seen {
            let saw = match edge.outcome {
                Outcome::Saw(value) if !numbers.is_empty() && !by_history => pieces(&mut self.values, value),
                _ => Vec::new(),
            };
            let leaves = edge.wrote.map_or(Vec::new(), |value| pieces(&mut self.values, value));
            edges.push(ClassEdge {
                outcome: edge.outcome,
                to: self.class_of[edge.to.index()],
                saw,
                leaves,
            });
        }
        edges.sort();
        Class {
            act: self.act(id, &numbers),
            apart: if in_loop { id.0 } else { u32::MAX },
            position: node.position,
            // Where nothing has been learnt, histories that look alike may still differ in it.
            patience: node.patience,
            cells: numbers,
            leaves,
            edges,
            in_loop,
            reaches_loop: in_loop,
        }
    }

    fn act(&self, id: NodeId, cells: &[u32]) -> Act {
        let operation = match self.forest.node(id).next {
            Next::Unknown => return Act::Unknown,
            Next::Ended => return Act::Ended,
            Next::Stops => return Act::Stops,
            Next::Operation(operation) => operation,
        };
        let access = |kind| {
            if cells.is_empty() {
                let sees = matches!(kind, AccessKind::Read | AccessKind::AtomicRead);
                Act::Local { sees }
            } else {
                Act::Access(kind)
            }
        };
        match operation {
            Operation::Read(_) => access(AccessKind::Read),
            Operation::Write(..) => access(AccessKind::Write),
            Operation::AtomicRead(_) => access(AccessKind::AtomicRead),
            Operation::AtomicWrite(..) => access(AccessKind::AtomicWrite),
            Operation::Use(_) => access(AccessKind::Use),
            Operation::Free(_) => access(AccessKind::Free),
            Operation::Begin => Act::Begin,
            Operation::End => Act::End,
            // Whom it forks only a run shows that does.
            Operation::Fork => (self.forest.tree_forked_at(id)).map_or(Act::Local { sees: false }, Act::Fork),
            Operation::Join(tree) => Act::Join(tree),
            Operation::On(action) => Act::On(action),
            Operation::Count(semaphore) => Act::Count(semaphore),
            Operation::Fence if self.with_fences => Act::Fence,
            Operation::Fence | Operation::Branch | Operation::Alloc(_) | Operation::Output(_) => {
                Act::Local { sees: false }
            }
            Operation::Input(_) => Act::Local { sees: true },
        }
    }

    /// Whether a thread does nothing more by this than to come to where it ends the program, which no other thread can
    /// tell. It stays before it, then: a program that is forced has no thread that stands there, and goes on.
    pub(crate) fn only_stops(&self, class: &Class, edge: u32) -> bool {
        let edge = &class.edges[edge as usize];
        let silent = match class.act {
            Act::Local { .. } | Act::Fence | Act::Begin | Act::Count(_) => true,
            Act::Access(AccessKind::Read | AccessKind::AtomicRead) => edge.leaves.is_empty(),
            Act::On(action) => action.only_looks(edge.outcome.turned()),
            _ => false,
        };
        silent && self.class(edge.to).act == Act::Stops
    }

    /// Semaphores whose counts somebody asks for.
    pub(crate) fn counted(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.classes.iter().filter_map(|class| match class.act {
            Act::Count(semaphore) => Some(semaphore),
            _ => None,
        })
    }

    /// How many threads make a round of a barrier, where that is known.
    pub(crate) fn parties(&self, barrier: ObjectId) -> Option<u32> {
        match self.forest.object(barrier).kind {
            RunObjectKind::Barrier { parties } => parties,
            _ => None,
        }
    }

    pub(crate) fn is_recursive(&self, lock: ObjectId) -> bool {
        self.forest.object(lock).kind == RunObjectKind::Lock { recursive: true }
    }

    /// A semaphore's first count; 0 for everything else.
    pub(crate) fn initial_count(&self, object: ObjectId) -> u32 {
        match self.forest.object(object).kind {
            RunObjectKind::Semaphore { initial } => initial,
            _ => 0,
        }
    }
}

impl Class {
    fn placeholder() -> Class {
        Class {
            act: Act::Unknown,
            apart: 0,
            position: 0,
            patience: Patience::Unknown,
            cells: Vec::new(),
            leaves: Vec::new(),
            edges: Vec::new(),
            in_loop: true,
            reaches_loop: true,
        }
    }
}

/// All memory that the forest's operations access, in cells.
struct Cells {
    regions: HashMap<Region, Cuts>,
    cells: Vec<CellInfo>,
}

fn is_empty(forest: &Forest, region: Region) -> bool {
    let Region::Block(node) = region else {
        return false;
    };
    forest.node(node).operation() == Some(Operation::Alloc(0))
}

fn range(span: Span) -> (u64, u64) {
    (span.at.offset, span.at.offset.saturating_add(u64::from(span.size)))
}

impl Cells {
    fn of(forest: &Forest) -> Cells {
        let mut regions: HashMap<Region, Cuts> = HashMap::new();
        let mut spans: BTreeSet<Span> = operations(forest)
            .filter_map(|(_, operation)| operation.span())
            .collect();
        // Who frees a block writes it, also one that nobody accesses.
        let accessed: HashSet<Region> = spans.iter().map(|span| span.at.region).collect();
        let freed = operations(forest).filter_map(|(_, operation)| match operation {
            Operation::Free(region) if !accessed.contains(&region) && !is_empty(forest, region) => Some(region),
            _ => None,
        });
        spans.extend(freed.map(|region| Span {
            at: Place { region, offset: 0 },
            size: 1,
        }));
        for &span in &spans {
            let (from, to) = range(span);
            let cuts = regions.entry(span.at.region).or_default();
            cuts.starts.entry(from).or_default();
            cuts.starts.entry(to).or_default();
        }
        let mut cells = Vec::new();
        for &span in &spans {
            let (from, to) = range(span);
            let cuts = regions.get_mut(&span.at.region).expect("it was cut above");
            let starts: Vec<u64> = cuts.starts.range(from..=to).map(|(&start, _)| start).collect();
            for pair in starts.windows(2) {
                let number = cuts.starts.get_mut(&pair[0]).expect("it is a cut");
                if number.is_none() {
                    *number = Some(cells.len() as u32);
                    cells.push(CellInfo {
                        region: span.at.region,
                        offset: pair[0],
                        size: (pair[1] - pair[0]) as u8,
                        tree: None,
                        several: false,
                        written: false,
                        number: None,
                    });
                }
            }
        }
        Cells { regions, cells }
    }

    /// The cells that an operation touches.
    fn touched(&self, operation: Operation) -> Vec<u32> {
        let in_region = |region: Region, from: u64, to: u64| {
            let cuts = self.regions.get(&region).map(|cuts| cuts.starts.range(from..to));
            cuts.into_iter().flatten().filter_map(|(_, &cell)| cell).collect()
        };
        match (operation.span(), operation) {
            (Some(span), _) => in_region(span.at.region, range(span).0, range(span).1),
            (None, Operation::Free(region)) => in_region(region, 0, u64::MAX),
            _ => Vec::new(),
        }
    }

    /// Numbers those that several threads access, one of them writing, and all that an access of such a cell touches
    /// besides.
    fn share(&mut self, forest: &Forest) {
        let mut accesses: BTreeSet<Vec<u32>> = BTreeSet::new();
        for (tree, operation) in operations(forest) {
            let touched = self.touched(operation);
            let writes = match operation {
                Operation::Write(..) | Operation::AtomicWrite(..) | Operation::Free(_) => true,
                // It may yet turn out to write.
                Operation::AtomicRead(_) => true,
                _ => false,
            };
            for &cell in &touched {
                let cell = &mut self.cells[cell as usize];
                cell.several |= cell.tree.is_some_and(|other| other != tree);
                cell.tree = Some(tree);
                cell.written |= writes;
            }
            if touched.len() > 1 {
                accesses.insert(touched);
            }
        }
        let mut shared: Vec<bool> = self.cells.iter().map(|cell| cell.several && cell.written).collect();
        loop {
            let mut more = false;
            for touched in &accesses {
                let any = touched.iter().any(|&cell| shared[cell as usize]);
                for &cell in touched {
                    more |= any && !shared[cell as usize];
                    shared[cell as usize] |= any;
                }
            }
            if !more {
                break;
            }
        }
        let mut count = 0;
        for (cell, shared) in self.cells.iter_mut().zip(shared) {
            if shared {
                cell.number = Some(count);
                count += 1;
            }
        }
    }

    /// The shared cells that an operation touches: number, first byte within the access, size.
    fn shared(&self, operation: Operation) -> Vec<(u32, u8, u8)> {
        let start = operation.span().map_or(0, |span| span.at.offset);
        self.touched(operation)
            .into_iter()
            .filter_map(|cell| {
                let cell = &self.cells[cell as usize];
                let from = cell.offset.wrapping_sub(start);
                Some((cell.number?, u8::try_from(from).unwrap_or(0), cell.size))
            })
            .collect()
    }
}

fn operations(forest: &Forest) -> impl Iterator<Item = (TreeId, Operation)> + '_ {
    let nodes = forest.nodes().iter();
    nodes.filter_map(|node| Some((node.tree, node.operation()?)))
}
