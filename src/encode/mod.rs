//! The formula ψ = α ∧ β ∧ γ ∧ ρ, in its prefix form, written down piece by piece.
//!
//! Said, Wang, Yang, Sakallah (NFM 2011, sections 3 and 4) give every event an integer variable,
//! its place in a linearization, and constrain these by program order (α), write-read consistency
//! (β), synchronization consistency (γ) and the race (ρ). Ours differs in two ways.
//!
//! *Prefix form.* Not the whole trace has to be linearized, only a prefix that ends at the race.
//! A variable R, the [race point](Node::RACE), marks that end: the events with O < R are the
//! prefix. A constraint of event e carries the guard R < e, "e is not in the prefix", and is void
//! behind the race point. Sound and complete for feasible prefixes (`docs/SEMANTICS.md`, section 2),
//! because what lies behind R can always be arranged as in π.
//!
//! *Lazy.* Nothing but order is there at first. The solver's schedule is replayed, and only the
//! constraints it violates are written down. Each clause is a
//! consequence of ψ, so "unsatisfiable" means that ψ is; "satisfiable" counts once the replay finds
//! nothing violated. Each question starts anew: what it needs of α ∧ β ∧ γ is little, once the order tried
//! first is π up to the race.
//!
//! Must be exact: a missing clause gives schedules that the checker rejects, a wrong one refutes
//! races that exist. The checker guards against the first, the oracle in the tests against both.

mod control_flow;
mod counts;
mod formula;
mod handed_over;
mod mutation;
mod other_value;
mod program_order;
mod race;
mod read_consistency;
mod sync_consistency;

pub use formula::Formula;
pub use mutation::Mutation;
pub use other_value::{PendingRead, Wanted};
pub use read_consistency::ReadOptions;
pub use sync_consistency::{Matching, Source};

use crate::prune::MustHappenBefore;
use crate::semantics::{Before, Need};
use crate::trace::{CellId, EventId, ObjectId, Op, SectionId, Sections, ThreadId, Trace};
use crate::verdict::Fact;
use counts::Count;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What has to be linearized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A prefix that ends at the race: everything behind it is free.
    #[default]
    Prefix,
    /// The whole trace, as in the paper: also what comes after the race, and the accesses themselves,
    /// which then have to see the values they saw in π. Finds a subset of the races.
    WholeTrace,
}

/// An order variable: that of an event, or the race point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The race point R.
    pub const RACE: Node = Node(0);

    /// The order variable of an event.
    #[must_use]
    pub fn of(event: EventId) -> Node {
        Node(event.0 + 1)
    }

    /// The event; `None` for the race point.
    #[must_use]
    pub fn event(self) -> Option<EventId> {
        self.0.checked_sub(1).map(EventId)
    }

    /// A number of its own, small.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A Boolean variable that says which of several explanations holds (reads-from, who woke whom).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice(pub u32);

/// A literal. Order literals of distinct nodes are total: "not a before b" is "b before a".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// The first comes before the second.
    Before(Node, Node),
    /// The explanation is the one.
    Chosen(Choice),
    /// It is not.
    NotChosen(Choice),
}

/// The number of a fact that clauses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(pub u32);

/// A disjunction of literals.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The literals; none means false.
    pub literals: Vec<Literal>,
    /// The fact it belongs to; `None` for must-happen-before order.
    pub fact: Option<FactId>,
}

/// Where the events of each kind are: what the constraints range over.
struct Index {
    /// Per cell, its writes in the order of π, with the value left (`None`: a free).
    writers: Vec<Vec<(EventId, Option<u64>)>>,
    /// Per need, the events that can serve it.
    serving: HashMap<Need, Vec<EventId>>,
    /// Per semaphore, its waits that took a permit.
    semaphore_waits: HashMap<u32, Vec<EventId>>,
    /// Per thread, where others wait for its end.
    joins: HashMap<ThreadId, Vec<EventId>>,
    /// Beginning of each wait, by its end.
    wait_begin: HashMap<EventId, EventId>,
}

impl Index {
    fn of(trace: &Trace) -> Index {
        let mut index = Index {
            writers: vec![Vec::new(); trace.cells().len()],
            serving: HashMap::new(),
            semaphore_waits: HashMap::new(),
            joins: HashMap::new(),
            wait_begin: HashMap::new(),
        };
        for event in trace.events() {
            match trace.op(event) {
                Op::Access => {
                    let access = trace.access(event).expect("an access");
                    if access.kind.writes() {
                        let valued = access.kind != crate::trace::AccessKind::Free;
                        for used in trace.uses(access) {
                            index.writers[used.cell.index()].push((event, valued.then_some(used.written)));
                        }
                    }
                }
                op => {
                    if let Some(Before::End(child)) = Before::of(op) {
                        index.joins.entry(child).or_default().push(event);
                    }
                    if let Some(need) = Need::served_by(op) {
                        index.serving.entry(need).or_default().push(event);
                    }
                    match Need::of(op) {
                        Some(Need::Wake(_)) => {
                            let begin = trace.wait_begin(event);
                            index.wait_begin.extend(begin.map(|begin| (event, begin)));
                        }
                        Some(Need::Permit(semaphore)) => {
                            index.semaphore_waits.entry(semaphore.0).or_default().push(event);
                        }
                        Some(Need::Count(_) | Need::Holder { .. } | Need::Initialization(_)) | None => {}
                    }
                }
            }
        }
        index
    }

    /// The events that can serve a need, in the order of π.
    fn serving(&self, need: Need) -> &[EventId] {
        self.serving.get(&need).map_or(&[], Vec::as_slice)
    }
}

/// ψ of one trace, as far as one question has needed it.
pub struct Encoder<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    sections: &'t Sections,
    form: Form,
    mutation: Option<Mutation>,
    index: Rc<Index>,
    /// Where the race point is in the order that is tried first: before this event.
    race_before: EventId,
    clauses: Vec<Clause>,
    facts: Vec<Fact>,
    /// Per choice, whether π made it.
    choices: Vec<bool>,
    /// Places of the events that have an order variable, per thread.
    used: Vec<BTreeSet<u32>>,
    reads: HashMap<(EventId, CellId), ReadOptions>,
    /// In traces that free reads: per thread, by place of a read, whether something depends on it.
    needed: Vec<BTreeMap<u32, Choice>>,
    lock_pairs: HashMap<(SectionId, SectionId), FactId>,
    /// Histories of locks that are handed over, with the event that each excludes.
    histories: HashSet<(EventId, Vec<EventId>)>,
    handed_over: HashMap<ObjectId, FactId>,
    matchings: HashMap<EventId, Matching>,
    /// What is written down of each event that needs a certain count of a semaphore.
    counts: HashMap<EventId, Count>,
    /// The read that the question is about, if it is about one.
    pending_read: Option<PendingRead>,
    /// What serves only one of two events, where that is written down.
    once: HashSet<(Source, EventId, EventId)>,
    /// Uses, and what ends the object that they use, where that is written down.
    uses_before: HashSet<(EventId, EventId)>,
}

impl<'t> Encoder<'t> {
    /// The empty formula of a trace.
    #[must_use]
    pub fn new(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        sections: &'t Sections,
        form: Form,
        mutation: Option<Mutation>,
    ) -> Encoder<'t> {
        let index = Rc::new(Index::of(trace));
        Encoder::with_index(trace, order, sections, form, mutation, index)
    }

    /// The empty formula of the same trace, for another question.
    #[must_use]
    pub fn afresh(&self) -> Encoder<'t> {
        let index = Rc::clone(&self.index);
        Encoder::with_index(self.trace, self.order, self.sections, self.form, self.mutation, index)
    }

    fn with_index(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        sections: &'t Sections,
        form: Form,
        mutation: Option<Mutation>,
        index: Rc<Index>,
    ) -> Encoder<'t> {
        Encoder {
            trace,
            order,
            sections,
            form,
            mutation,
            index,
            race_before: EventId(0),
            clauses: Vec::new(),
            facts: Vec::new(),
            choices: Vec::new(),
            used: vec![BTreeSet::new(); trace.threads()],
            reads: HashMap::new(),
            needed: vec![BTreeMap::new(); trace.threads()],
            lock_pairs: HashMap::new(),
            histories: HashSet::new(),
            handed_over: HashMap::new(),
            matchings: HashMap::new(),
            counts: HashMap::new(),
            pending_read: None,
            once: HashSet::new(),
            uses_before: HashSet::new(),
        }
    }

    /// The trace that the formula is about.
    #[must_use]
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// Its must-happen-before relation.
    #[must_use]
    pub fn order(&self) -> &'t MustHappenBefore {
        self.order
    }

    /// Its critical sections.
    #[must_use]
    pub fn sections(&self) -> &'t Sections {
        self.sections
    }

    /// What is linearized.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The place of a node in the order that is tried first: events as in π, and the race point before
    /// [one of them](Encoder::race_before).
    #[must_use]
    pub fn rank(&self, node: Node) -> u64 {
        match node.event() {
            Some(event) => 2 * u64::from(event.0) + 1,
            None => 2 * u64::from(self.race_before.0),
        }
    }

    /// The first event that is not in the prefix that is tried first.
    #[must_use]
    pub fn race_before(&self) -> EventId {
        self.race_before
    }

    /// What is wrong with the formula on purpose.
    #[must_use]
    pub fn mutation(&self) -> Option<Mutation> {
        self.mutation
    }

    /// All clauses so far; the list only grows.
    #[must_use]
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The fact behind a clause.
    #[must_use]
    pub fn fact(&self, fact: FactId) -> &Fact {
        &self.facts[fact.0 as usize]
    }

    /// Number of facts so far.
    #[must_use]
    pub fn facts(&self) -> usize {
        self.facts.len()
    }

    /// Number of choices so far.
    #[must_use]
    pub fn choices(&self) -> usize {
        self.choices.len()
    }

    /// Whether π made a choice.
    #[must_use]
    pub fn is_default(&self, choice: Choice) -> bool {
        self.choices[choice.0 as usize]
    }

    /// Whether an event has an order variable.
    #[must_use]
    pub fn is_used(&self, event: EventId) -> bool {
        self.used[self.trace.thread(event).index()].contains(&self.trace.place(event))
    }

    /// The events that have an order variable, thread by thread.
    pub fn used(&self) -> impl Iterator<Item = EventId> + '_ {
        self.used.iter().enumerate().flat_map(|(thread, places)| {
            let order = self.trace.program_order(ThreadId(thread as u32));
            places.iter().map(move |&place| order.at(place as usize))
        })
    }

    fn new_fact(&mut self, fact: Fact) -> FactId {
        self.facts.push(fact);
        FactId(self.facts.len() as u32 - 1)
    }

    fn new_choice(&mut self, made_in_trace: bool) -> Choice {
        self.choices.push(made_in_trace);
        Choice(self.choices.len() as u32 - 1)
    }

    /// Writes down a clause, unless must-happen-before makes it true; literals that it makes false
    /// are left out (the optimizations of Said et al. 2011, section 4.2).
    fn clause(&mut self, fact: FactId, literals: &[Literal]) {
        self.add(Some(fact), literals);
    }

    /// The same of a clause that may belong to no fact, but to the question.
    fn add(&mut self, fact: Option<FactId>, literals: &[Literal]) {
        let mut kept = Vec::with_capacity(literals.len());
        for &literal in literals {
            if let Literal::Before(a, b) = literal
                && let (Some(a), Some(b)) = (a.event(), b.event())
            {
                if self.order.before(a, b) {
                    return;
                }
                if a == b || self.order.before(b, a) {
                    continue;
                }
                self.use_event(a);
                self.use_event(b);
            }
            if let Literal::Before(Node::RACE, event) = literal {
                if self.form == Form::WholeTrace || self.mutation == Some(Mutation::NoGuards) {
                    continue;
                }
                self.use_event(event.event().expect("the race point does not precede itself"));
            }
            kept.push(literal);
        }
        self.clauses.push(Clause { literals: kept, fact });
    }
}

/// "a comes before b".
fn before(a: EventId, b: EventId) -> Literal {
    Literal::Before(Node::of(a), Node::of(b))
}

/// "e is not in the prefix": the guard of e's constraints.
fn behind(event: EventId) -> Literal {
    Literal::Before(Node::RACE, Node::of(event))
}
