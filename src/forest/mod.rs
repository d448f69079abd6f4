//! The model of several runs: what each thread has been seen to do, as trees of histories.
//!
//! A thread's next operation depends only on the outcomes of its operations so far: on its *history*. So what a program
//! can do on one input is a forest, one tree of histories a thread, with a branch for each outcome. A node is "the next
//! operation of this thread after this history"; its edges are the outcomes that runs have shown. Every run adds one
//! path to each tree ([`Forest::add`]); a trace is a forest without branches. Feasible prefixes (`docs/SEMANTICS.md`,
//! section 2) of a forest are made of one path in each tree, and [`explore`](crate::explore) asks which outcomes they
//! can bring that no run has shown.
//!
//! Names hold across runs: a thread is known by the history that forked it, a block by the history that allocated it,
//! an object by where it is, and a value that is an address by what it points to ([`operation`]). What a run shows in
//! its own names is a [`Run`].
//!
//! What does not fit (memory that unrecorded code changes, values from outside, a run that did something else after the
//! same history) is kept as a [`Reservation`]: with one, the forest may lack what the program can do, and *exhausted*
//! is not said.
//!
//! # Histories that are one
//!
//! A loop that waits (`while (!flag);`) would make a tree without end. Two histories of which the second goes on from
//! the first by operations without effect alone (reads, attempts that failed, uses, fences), and before whose next
//! operation the thread's own state is equal, are one node: the edge leads back. That is exact. Whatever the thread
//! does from the second it can do from the first, at the same moment, as if the round had not been; no other thread can
//! tell, since the round changed nothing. So every outcome of every thread that is reachable at all is reachable
//! without such rounds. It is sound only if *all* on which the thread's future depends is equal: registers, and memory
//! that only it uses. A run says so by [`RunStep::own_state`]; equal reads at one place in the code alone do not show
//! it, since a loop may count its rounds in a register and give up. Where the run does not know its own state, a loop
//! is therefore followed for [`Forest::SPIN_ROUNDS`] rounds that are equal in operations, outcomes and positions, and
//! cut then, with [`Reservation::SpinRounds`]. Such a round may also write what was there before, write to a stack, and
//! take locks that it gives back: then the search follows what others can tell of it, round after round.

pub mod operation;

mod grow;
mod memory;
mod objects;
mod of_trace;
mod orders;
mod pictures;
mod reservation;
mod run;
mod values;

pub use grow::Added;
pub use objects::Object;
pub use operation::{Datum, NodeId, ObjectId, Operation, Outcome, Patience, Place, Region, Span, TreeId, ValueId};
pub use orders::{Atomic, Strength};
pub use pictures::Picture;
pub use reservation::Reservation;
pub use run::{KnownBlock, Run, RunBlock, RunObject, RunObjectKind, RunOperation, RunPlace, RunStep, RunValue, Stands};

pub use crate::semantics::locks::Mode;
pub use crate::semantics::{Action, Turned};

use hashbrown::{HashMap, HashSet};
use memory::Byte;
use std::collections::BTreeSet;
pub(crate) use values::Values;

/// What comes after a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// No run went on from here, or stood before something known.
    Unknown,
    /// The thread has ended.
    Ended,
    /// The thread ends the program here: it fails, or calls `exit`.
    Stops,
    /// This operation.
    Operation(Operation),
}

/// One outcome of a node's operation, that some run has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The outcome.
    pub outcome: Outcome,
    /// What an atomic read wrote with it; `None` if it only loaded.
    pub wrote: Option<ValueId>,
    /// The history after it.
    pub to: NodeId,
}

/// A history of a thread, and what comes after it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its thread.
    pub tree: TreeId,
    /// The history without its last operation.
    pub parent: Option<NodeId>,
    /// How many operations it has.
    pub depth: u32,
    /// What the thread does next.
    pub next: Next,
    /// Where in the code that is; 0 if unknown.
    pub position: u64,
    /// Whether it waits where it cannot go on.
    pub patience: Patience,
    own_state: Option<u64>,
    picture: Option<u32>,
    /// The outcomes that runs have shown, in the order in which they did.
    pub edges: Vec<Edge>,
}

impl Node {
    /// The edge of an outcome.
    #[must_use]
    pub fn edge(&self, outcome: Outcome) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.outcome == outcome)
    }

    /// The next operation, if it is known to have one.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        match self.next {
            Next::Operation(operation) => Some(operation),
            _ => None,
        }
    }
}

/// A thread: all its histories.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The history that forks it; `None` for the first thread.
    pub forked_at: Option<NodeId>,
    /// The empty history.
    pub root: NodeId,
}

/// All that runs of a program on one input have shown.
#[derive(Clone, Debug)]
pub struct Forest {
    nodes: Vec<Node>,
    trees: Vec<Tree>,
    tree_forked_at: HashMap<NodeId, TreeId>,
    objects: objects::Objects,
    orders: orders::Orders,
    values: Values,
    initial: HashMap<Place, Byte>,
    reservations: BTreeSet<Reservation>,
    /// Where a thread's own memory held another value than what was written there: see [`Forest::stained`].
    stains: BTreeSet<(Place, Reservation)>,
    /// Reads of stacks that have seen such a value: what they see follows from their history.
    by_history: HashSet<NodeId>,
    /// What bytes of reads of blocks and stacks saw first that no run explains.
    left_there: HashMap<(NodeId, u8), Byte>,
    branches: usize,
    pictures: pictures::Pictures,
}

impl Default for Forest {
    fn default() -> Forest {
        Forest::new()
    }
}

impl Forest {
    /// After so many equal rounds a loop that waits is cut, where the run does not know its threads' own states.
    pub const SPIN_ROUNDS: u32 = 4;

    /// The first thread.
    pub const MAIN: TreeId = TreeId(0);

    /// The forest before the first run: of the first thread nothing is known.
    #[must_use]
    pub fn new() -> Forest {
        let mut forest = Forest {
            nodes: Vec::new(),
            trees: Vec::new(),
            tree_forked_at: HashMap::new(),
            objects: objects::Objects::default(),
            orders: orders::Orders::default(),
            values: Values::default(),
            initial: HashMap::new(),
            reservations: BTreeSet::new(),
            stains: BTreeSet::new(),
            by_history: HashSet::new(),
            left_there: HashMap::new(),
            branches: 0,
            pictures: pictures::Pictures::default(),
        };
        forest.new_tree(None);
        forest
    }

    fn new_tree(&mut self, forked_at: Option<NodeId>) -> TreeId {
        let tree = TreeId(self.trees.len() as u32);
        let root = self.new_node(tree, None);
        self.trees.push(Tree { forked_at, root });
        if let Some(node) = forked_at {
            self.tree_forked_at.insert(node, tree);
        }
        tree
    }

    fn new_node(&mut self, tree: TreeId, parent: Option<NodeId>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let depth = parent.map_or(0, |parent| self.node(parent).depth + 1);
        self.nodes.push(Node {
            tree,
            parent,
            depth,
            next: Next::Unknown,
            position: 0,
            patience: Patience::Unknown,
            own_state: None,
            picture: None,
            edges: Vec::new(),
        });
        id
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All nodes; one's children have higher numbers.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All threads. An alternative history of the thread that forks is another thread.
    #[must_use]
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// What the thread shows of itself before a node's operation, as words that were numbered as they came.
    #[must_use]
    pub fn picture(&self, id: NodeId) -> Option<&[u32]> {
        self.node(id).picture.map(|number| self.pictures.get(number))
    }

    /// The thread that is forked after this history.
    #[must_use]
    pub fn tree_forked_at(&self, node: NodeId) -> Option<TreeId> {
        self.tree_forked_at.get(&node).copied()
    }

    /// An object.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> &Object {
        self.objects.get(id)
    }

    /// How many objects there are.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// What a value is.
    #[must_use]
    pub fn datum(&self, value: ValueId) -> Datum {
        self.values.get(value)
    }

    /// How many outcomes runs have shown: edges of all trees.
    #[must_use]
    pub fn branches(&self) -> usize {
        self.branches
    }

    /// What the memory orders of the operations of one kind at a place in the code do; `None` if no run performed one.
    #[must_use]
    pub fn strength(&self, position: u64, what: Atomic) -> Option<Strength> {
        self.orders.at(position, what)
    }

    /// Whether what a read of a stack sees is not what was written there: calls that are not recorded, or were before,
    /// have left it, and it follows from the history alone.
    #[must_use]
    pub fn sees_by_history(&self, node: NodeId) -> bool {
        self.by_history.contains(&node)
    }

    /// Why it may lack what the program can do.
    #[must_use]
    pub fn reservations(&self) -> &BTreeSet<Reservation> {
        &self.reservations
    }

    /// What a node's operation is known to do where it cannot go on, from a run that was made to see it.
    pub fn learn_patience(&mut self, node: NodeId, patience: Patience) {
        self.nodes[node.index()].patience = patience;
    }
}
