//! How prefixes may end: races and deadlocks, asked of a forest in which nothing is open.
//!
//! A goal is about the end of the prefix: which operations are next there, and what they would find. What is written
//! down for it is chosen by the question alone, and void for others.

use super::clauses::{At, Each, Formulas};
use super::events::{Event, Lead, List, Own};
use super::replay::{Replay, Replayed, Violation};
use super::{Answer, Solver};
use crate::encode::{Choice, Literal};
use crate::explore::goal::{Goal, Side, Waiting};
use crate::explore::machine::{Choice as Chance, Goes, NONE, Phase, State};
use crate::explore::session::Prefix;
use crate::explore::states::{AFTER_PARTIAL_DEADLOCKS, Limits};
use crate::explore::tables::{AccessKind, Act, Class, Held, Tables};
use crate::forest::{Action, Mode, NodeId, ObjectId, Outcome, Patience, Reservation, TreeId};
use crate::semantics::onces::Progress;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// How an operation that is next takes part in a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Is(AccessKind),
    /// An atomic read that would write.
    Writes,
}

impl Part {
    fn races(self, other: Part) -> bool {
        use AccessKind::{AtomicWrite, Free, Read, Write};
        let writes = |part| matches!(part, Part::Is(Write | Free));
        match (self, other) {
            // That it would write matters to reads alone.
            (Part::Writes, _) => other == Part::Is(Read),
            (_, Part::Writes) => self == Part::Is(Read),
            (Part::Is(Read), Part::Is(AtomicWrite)) | (Part::Is(AtomicWrite), Part::Is(Read)) => true,
            _ => writes(self) || writes(other),
        }
    }
}

/// A thread that waits for ever at the end, if that is chosen.
struct Waits {
    choice: Choice,
    tree: TreeId,
    how: How,
    told: Waiting,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    /// In its operation.
    Pending(NodeId),
    /// In a wait set.
    Asleep(NodeId),
    /// In a loop from this node, by these outcomes.
    Spins(NodeId, Vec<Outcome>),
}

impl How {
    fn node(&self) -> NodeId {
        match *self {
            How::Pending(node) | How::Asleep(node) | How::Spins(node, _) => node,
        }
    }
}

impl Solver {
    /// Whether all goals were decided.
    pub(super) fn search_goals(
        &mut self,
        tables: &Tables<'_>,
        limits: &Limits,
        goals: &mut Vec<(Goal, Prefix)>,
    ) -> bool {
        let nothing_open: Vec<Literal> = self.formulas.events.open().into_iter().map(Event::absent).collect();
        let nodes: Vec<NodeId> = (0..tables.forest.nodes().len() as u32).map(NodeId).collect();
        let met: Vec<NodeId> = nodes
            .into_iter()
            .filter(|&node| self.formulas.events.lead(node) != Lead::Nowhere && !tables.is_passed(node))
            .collect();
        self.search_races(tables, limits, &met, &nothing_open, goals)
            && self.search_deadlocks(tables, limits, &met, &nothing_open, goals)
            && self.search_partial_deadlocks(tables, limits, &met, &nothing_open, goals)
    }

    /// "The thread is before this operation at the end."
    fn pending(&mut self, node: NodeId) -> Choice {
        let choice = self.formulas.choice();
        if let Lead::After(event) = self.formulas.events.lead(node) {
            self.formulas.add(vec![Literal::NotChosen(choice), event.present()]);
        }
        for event in self.formulas.events.of_node(node).to_vec() {
            self.formulas.add(vec![Literal::NotChosen(choice), event.absent()]);
        }
        choice
    }

    fn search_races(
        &mut self,
        tables: &Tables<'_>,
        limits: &Limits,
        met: &[NodeId],
        nothing_open: &[Literal],
        goals: &mut Vec<(Goal, Prefix)>,
    ) -> bool {
        // Alike are accesses of a thread at a place in the code.
        let mut alike: BTreeMap<(u32, TreeId, u64, Part), Vec<Choice>> = BTreeMap::new();
        let mut writing: Vec<(Choice, NodeId, usize)> = Vec::new();
        for &node in met {
            let class = tables.class(tables.class_of[node.index()]);
            let Act::Access(kind) = class.act else {
                continue;
            };
            let tree = tables.forest.node(node).tree;
            let pending = self.pending(node);
            let mut parts = vec![(Part::Is(kind), pending)];
            for (number, edge) in class.edges.iter().enumerate() {
                if !edge.leaves.is_empty() {
                    let writes = self.formulas.choice();
                    self.formulas
                        .add(vec![Literal::NotChosen(writes), Literal::Chosen(pending)]);
                    writing.push((writes, node, number));
                    parts.push((Part::Writes, writes));
                }
            }
            for (part, choice) in parts {
                for &cell in &class.cells {
                    let key = (cell, tree, class.position, part);
                    alike.entry(key).or_default().push(choice);
                }
            }
        }
        let mut groups: BTreeMap<u32, Vec<(TreeId, u64, Part, Choice)>> = BTreeMap::new();
        for ((cell, tree, position, part), members) in alike {
            let choice = self.formulas.choice();
            let any = members.into_iter().map(Literal::Chosen);
            let clause = std::iter::once(Literal::NotChosen(choice)).chain(any).collect();
            self.formulas.add(clause);
            groups.entry(cell).or_default().push((tree, position, part, choice));
        }
        let mut races: BTreeMap<Goal, Vec<Choice>> = BTreeMap::new();
        for group in groups.values() {
            for (index, &(tree, position, part, choice)) in group.iter().enumerate() {
                for &(other_tree, other_position, other_part, other) in &group[index + 1..] {
                    if tree == other_tree || !part.races(other_part) {
                        continue;
                    }
                    let race = self.formulas.choice();
                    self.formulas
                        .add(vec![Literal::NotChosen(race), Literal::Chosen(choice)]);
                    self.formulas
                        .add(vec![Literal::NotChosen(race), Literal::Chosen(other)]);
                    let side = |position| Side { position };
                    let goal = Goal::race(side(position), side(other_position));
                    races.entry(goal).or_default().push(race);
                }
            }
        }
        let round = self.formulas.choice();
        let any = races.values().flatten().copied().map(Literal::Chosen);
        let clause = std::iter::once(Literal::NotChosen(round)).chain(any).collect();
        self.formulas.add(clause);
        let mut question = vec![Literal::Chosen(round)];
        question.extend(nothing_open);
        loop {
            let ends = |formulas: &Formulas, replay: &mut Replay<'_, '_>, chosen: &dyn Fn(Choice) -> bool| {
                let mut violated = Vec::new();
                for &(choice, node, edge) in writing.iter().filter(|&&(choice, ..)| chosen(choice)) {
                    let class = tables.class(tables.class_of[node.index()]);
                    reads_at_end(formulas, replay, class, edge, choice, &mut violated);
                }
                violated
            };
            match self.ask(tables, limits, &question, &ends) {
                Answer::Feasible(replay, Replayed::Whole) => {
                    let mut found = BTreeSet::new();
                    let threads: Vec<u32> = replay.state.threads().collect();
                    for (index, &a) in threads.iter().enumerate() {
                        for &b in &threads[index + 1..] {
                            if replay.state.race(tables, a, b) {
                                let side = |thread: u32| Side {
                                    position: replay.state.class(tables, thread).position,
                                };
                                found.insert(Goal::race(side(a), side(b)));
                            }
                        }
                    }
                    let prefix = whole_prefix(tables, *replay);
                    let mut new = false;
                    for goal in found {
                        for race in races.remove(&goal).into_iter().flatten() {
                            new = true;
                            self.formulas.add(vec![Literal::NotChosen(race)]);
                        }
                        goals.push((goal, prefix.clone()));
                    }
                    if !new {
                        tracing::error!("the solver's race is none");
                        return false;
                    }
                }
                Answer::Infeasible => return true,
                Answer::Feasible(..) | Answer::Undecided => return false,
            }
        }
    }

    fn search_deadlocks(
        &mut self,
        tables: &Tables<'_>,
        limits: &Limits,
        met: &[NodeId],
        nothing_open: &[Literal],
        goals: &mut Vec<(Goal, Prefix)>,
    ) -> bool {
        let round = self.formulas.choice();
        let mut waits: Vec<Waits> = Vec::new();
        let mut stands: BTreeMap<TreeId, Vec<Literal>> = BTreeMap::new();
        for (number, tree) in tables.forest.trees().iter().enumerate() {
            let stand = stands.entry(TreeId(number as u32)).or_default();
            match self.formulas.events.lead(tree.root) {
                Lead::After(fork) => stand.push(fork.absent()),
                Lead::Start => {}
                Lead::Nowhere => drop(stands.remove(&TreeId(number as u32))),
            }
        }
        for &node in met {
            let class = tables.class(tables.class_of[node.index()]);
            let tree = tables.forest.node(node).tree;
            if class.act == Act::Ended {
                if let Lead::After(event) = self.formulas.events.lead(node) {
                    stands.entry(tree).or_default().push(event.present());
                }
                continue;
            }
            let mut hows: Vec<How> = Vec::new();
            match class.act {
                Act::On(Action::Acquire(lock, mode)) => {
                    let own = self.formulas.events.own_at(tables, node, lock, mode);
                    if own != Own::Again && class.patience == Patience::Endless {
                        hows.push(How::Pending(node));
                    }
                }
                Act::On(Action::WaitEnd(..)) => {
                    hows.push(How::Pending(node));
                    if class.patience == Patience::Endless {
                        hows.push(How::Asleep(node));
                    }
                }
                Act::On(Action::Take(_)) | Act::Join(_) if class.patience == Patience::Endless => {
                    hows.push(How::Pending(node))
                }
                Act::On(Action::BarrierExit(_)) | Act::On(Action::Once(_)) => hows.push(How::Pending(node)),
                _ => {}
            }
            hows.extend(rounds(tables, node).into_iter().map(|round| How::Spins(node, round)));
            for how in hows {
                let choice = self.pending(node);
                let told = match how {
                    How::Spins(..) => Waiting::Spins,
                    _ => Waiting::At(class.position),
                };
                if let How::Asleep(node) = how
                    && let Lead::After(begin) = self.formulas.events.lead(node)
                {
                    self.formulas.asleep.push((choice, begin));
                }
                waits.push(Waits {
                    choice,
                    tree,
                    how,
                    told,
                });
            }
        }
        // Which threads wait, and where: what a deadlock is told by.
        let mut told: BTreeMap<(TreeId, Waiting), Vec<Choice>> = BTreeMap::new();
        for wait in &waits {
            told.entry((wait.tree, wait.told)).or_default().push(wait.choice);
        }
        let told: BTreeMap<(TreeId, Waiting), Choice> = told
            .into_iter()
            .map(|(key, choices)| {
                let any = self.formulas.choice();
                for &choice in &choices {
                    self.formulas
                        .add(vec![Literal::NotChosen(choice), Literal::Chosen(any)]);
                }
                let some = choices.into_iter().map(Literal::Chosen);
                let clause = std::iter::once(Literal::NotChosen(any)).chain(some).collect();
                self.formulas.add(clause);
                (key, any)
            })
            .collect();
        for (&(tree, _), &any) in &told {
            stands.entry(tree).or_default().push(Literal::Chosen(any));
        }
        for (_, stand) in stands {
            let clause = std::iter::once(Literal::NotChosen(round)).chain(stand).collect();
            self.formulas.add(clause);
        }
        let some = told.values().copied().map(Literal::Chosen);
        let clause = std::iter::once(Literal::NotChosen(round)).chain(some).collect();
        self.formulas.add(clause);
        let mut question = vec![Literal::Chosen(round)];
        question.extend(nothing_open);
        let mut found: HashSet<Goal> = HashSet::new();
        loop {
            let ends = |formulas: &Formulas, replay: &mut Replay<'_, '_>, chosen: &dyn Fn(Choice) -> bool| {
                let mut violated = Vec::new();
                for wait in waits.iter().filter(|wait| chosen(wait.choice)) {
                    waits_at_end(tables, formulas, replay, wait, &mut violated);
                }
                violated
            };
            match self.ask(tables, limits, &question, &ends) {
                Answer::Feasible(replay, Replayed::Whole) => {
                    let Some(waiting) = standstill(tables, &replay.state, &waits) else {
                        tracing::error!("the solver's deadlock is none");
                        return false;
                    };
                    // Exactly these.
                    let mut clause = vec![Literal::NotChosen(round)];
                    for (&(tree, how), &any) in &told {
                        clause.push(if waiting.contains(&(tree, how)) {
                            Literal::NotChosen(any)
                        } else {
                            Literal::Chosen(any)
                        });
                    }
                    self.formulas.add(clause);
                    let mut told: Vec<Waiting> = waiting.into_iter().map(|(_, how)| how).collect();
                    told.sort_unstable();
                    let main_ended = replay.state.class(tables, 0).act == Act::Ended;
                    let goal = Goal::Deadlock {
                        waiting: told,
                        main_ended,
                    };
                    if found.insert(goal.clone()) {
                        goals.push((goal, whole_prefix(tables, *replay)));
                    }
                }
                Answer::Infeasible => return true,
                Answer::Feasible(..) | Answer::Undecided => return false,
            }
        }
    }
}

/// What a thread waits for at a node that one other thread has in hand, for ever if that one waits.
enum Kept {
    Lock(ObjectId, Mode),
    End(TreeId),
}

impl Solver {
    /// Threads that wait for each other for ever where another one may end the program: if none does, whatever the others
    /// do ends in a deadlock.
    fn search_partial_deadlocks(
        &mut self,
        tables: &Tables<'_>,
        limits: &Limits,
        met: &[NodeId],
        nothing_open: &[Literal],
        goals: &mut Vec<(Goal, Prefix)>,
    ) -> bool {
        // Where nobody ends it, whatever goes on comes to a deadlock of all. What ends it at once is no event, so its node
        // is none that is met.
        let class_of = |node: NodeId| tables.class(tables.class_of[node.index()]);
        if !tables
            .class_of
            .iter()
            .any(|&class| tables.class(class).act == Act::Stops)
        {
            return true;
        }
        let foreign = tables.forest.reservations().contains(&Reservation::ForeignRelease);
        let mut waits: Vec<(Waits, Kept)> = Vec::new();
        for &node in met {
            let class = class_of(node);
            let kept = match class.act {
                Act::On(Action::Acquire(lock, mode)) if class.patience == Patience::Endless && !foreign => {
                    if self.formulas.events.own_at(tables, node, lock, mode) == Own::Again {
                        continue;
                    }
                    Kept::Lock(lock, mode)
                }
                Act::On(Action::WaitEnd(_, lock)) if !foreign => Kept::Lock(lock, Mode::Exclusive),
                Act::Join(tree) if class.patience == Patience::Endless => Kept::End(tree),
                _ => continue,
            };
            let wait = Waits {
                choice: self.pending(node),
                tree: tables.forest.node(node).tree,
                how: How::Pending(node),
                told: Waiting::At(class.position),
            };
            waits.push((wait, kept));
        }
        // Each waits for one that waits, and is waited for by one.
        let round = self.formulas.choice();
        let waits_for = |formulas: &Formulas, (_, kept): &(Waits, Kept), other: &Waits| match *kept {
            Kept::Lock(lock, mode) => formulas.events.denies(tables, other.how.node(), lock, mode),
            Kept::End(tree) => other.tree == tree,
        };
        for one in &waits {
            let wait = &one.0;
            let mut keepers = vec![Literal::NotChosen(wait.choice)];
            let mut kept_up = keepers.clone();
            // A thread is at one place; there it may wait for itself.
            let may_stand = |other: &&(Waits, Kept)| other.0.tree != wait.tree || other.0.choice == wait.choice;
            for other in waits.iter().filter(may_stand) {
                if waits_for(&self.formulas, one, &other.0) {
                    keepers.push(Literal::Chosen(other.0.choice));
                }
                if waits_for(&self.formulas, other, wait) {
                    kept_up.push(Literal::Chosen(other.0.choice));
                }
            }
            self.formulas.add(keepers);
            self.formulas.add(kept_up);
        }
        let any = waits.iter().map(|(wait, _)| Literal::Chosen(wait.choice));
        let clause = std::iter::once(Literal::NotChosen(round)).chain(any).collect();
        self.formulas.add(clause);
        let mut stand: BTreeMap<u64, BTreeMap<TreeId, Vec<Choice>>> = BTreeMap::new();
        for (wait, _) in &waits {
            let Waiting::At(position) = wait.told else { continue };
            let trees = stand.entry(position).or_default();
            trees.entry(wait.tree).or_default().push(wait.choice);
        }
        for (known, _) in goals.iter() {
            if let Goal::Deadlock { waiting, .. } = known {
                let at = waiting.iter().filter_map(|waiting| match *waiting {
                    Waiting::At(position) => Some(position),
                    Waiting::Spins => None,
                });
                self.ask_for_others(round, &stand, &at.collect::<Vec<u64>>());
            }
        }
        let mut question = vec![Literal::Chosen(round)];
        question.extend(nothing_open);
        loop {
            let ends = |formulas: &Formulas, replay: &mut Replay<'_, '_>, chosen: &dyn Fn(Choice) -> bool| {
                let mut violated = Vec::new();
                for (wait, _) in waits.iter().filter(|(wait, _)| chosen(wait.choice)) {
                    waits_at_end(tables, formulas, replay, wait, &mut violated);
                }
                violated
            };
            match self.ask(tables, limits, &question, &ends) {
                Answer::Feasible(replay, Replayed::Whole) => {
                    let state = &replay.state;
                    let mut turns = Vec::new();
                    let stuck: Vec<u32> = (state.threads())
                        .filter(|&thread| {
                            turns.clear();
                            state.turns(tables, thread, &mut turns);
                            turns.is_empty()
                        })
                        .collect();
                    let entangled = state.entangled(tables, &stuck, foreign);
                    if entangled.is_empty() {
                        tracing::error!("the solver's partial deadlock is none");
                        return false;
                    }
                    let at = |&thread: &u32| state.class(tables, thread).position;
                    let mut waiting: Vec<u64> = entangled.iter().map(at).collect();
                    waiting.sort_unstable();
                    self.ask_for_others(round, &stand, &waiting);
                    let goal = Goal::PartialDeadlock { waiting };
                    if goals.iter().any(|(known, _)| known.includes(&goal)) {
                        tracing::error!(?goal, "the solver's partial deadlock is known");
                        return false;
                    }
                    let onward = AFTER_PARTIAL_DEADLOCKS;
                    let prefix = whole_prefix(tables, *replay);
                    goals.push((goal, Prefix { onward, ..prefix }));
                }
                Answer::Infeasible => return true,
                Answer::Feasible(..) | Answer::Undecided => return false,
            }
        }
    }

    /// Demands of a round threads that wait elsewhere, or more at some place than these told: what is part of a larger
    /// partial deadlock is told by that.
    fn ask_for_others(&mut self, round: Choice, stand: &BTreeMap<u64, BTreeMap<TreeId, Vec<Choice>>>, told: &[u64]) {
        let mut others = vec![Literal::NotChosen(round)];
        for (position, trees) in stand {
            let count = told.iter().filter(|&at| at == position).count();
            if count == 0 {
                others.extend(trees.values().flatten().copied().map(Literal::Chosen));
            } else if let Some(more) = self.more_than(count, trees.values()) {
                others.push(Literal::Chosen(more));
            }
        }
        self.formulas.add(others);
    }

    /// "Of more than `count` of these, some choice is made", if they are so many.
    fn more_than<'c>(&mut self, count: usize, all: impl Iterator<Item = &'c Vec<Choice>>) -> Option<Choice> {
        // At number n: "more than n of those so far".
        let mut more: Vec<Option<Choice>> = vec![None; count + 1];
        for choices in all {
            for number in (0..=count).rev() {
                let before = match number {
                    0 => None,
                    _ => match more[number - 1] {
                        Some(before) => Some(before),
                        // There are too few.
                        None => continue,
                    },
                };
                let now = self.formulas.choice();
                let earlier = more[number].map(Literal::Chosen);
                let one = choices.iter().copied().map(Literal::Chosen);
                let clause = std::iter::once(Literal::NotChosen(now)).chain(earlier);
                self.formulas.add(clause.clone().chain(one).collect());
                if let Some(before) = before {
                    self.formulas.add(clause.chain([Literal::Chosen(before)]).collect());
                }
                more[number] = Some(now);
            }
        }
        more[count]
    }
}

/// The prefix of an order that was performed, with what each thread does alone before its next operation.
fn whole_prefix(tables: &Tables<'_>, replay: Replay<'_, '_>) -> Prefix {
    let Replay {
        state,
        mut walk,
        mut prefix,
        ..
    } = replay;
    for thread in state.threads() {
        if state.class(tables, thread).act != Act::Stops {
            walk.pass(tables.forest, tables, thread as usize, &mut prefix);
        }
    }
    prefix
}

/// Notes the cells of a read that do not hold at the end what it has to see there.
fn reads_at_end(
    formulas: &Formulas,
    replay: &Replay<'_, '_>,
    class: &Class,
    edge: usize,
    choice: Choice,
    violated: &mut Vec<Violation>,
) {
    for (&cell, &value) in class.cells.iter().zip(&class.edges[edge].saw) {
        if replay.state.cells[cell as usize] != value {
            violated.push(Violation::Read {
                at: At::End(choice),
                cell: formulas.events.number(cell),
                value: Some(value),
                last: replay.last[cell as usize],
            });
        }
    }
}

/// Whether a lock that a thread wants at a node is held, by itself or by another thread.
fn denied(formulas: &Formulas, replay: &Replay<'_, '_>, node: NodeId, lock: ObjectId, mode: Mode) -> bool {
    let own = formulas.events.own_at(replay.tables, node, lock, mode) != Own::Nothing;
    let tree = replay.tables.forest.node(node).tree;
    own || replay.is_held(formulas, lock, tree, mode == Mode::Shared)
}

fn not_locked(at: At, lock: ObjectId, tree: TreeId, mode: Mode) -> Violation {
    let shared = mode == Mode::Shared;
    Violation::NotLocked { at, lock, tree, shared }
}

fn has_ended(tables: &Tables<'_>, state: &State, tree: TreeId) -> bool {
    let there = state.at[tree.index()];
    there != NONE && tables.class(there).act == Act::Ended
}

fn never_ended(wait: &Waits, tree: TreeId) -> Violation {
    Violation::Never {
        choice: wait.choice,
        list: List::Ended(tree),
    }
}

/// Notes why a thread that is chosen to wait does not.
fn waits_at_end(
    tables: &Tables<'_>,
    formulas: &Formulas,
    replay: &mut Replay<'_, '_>,
    wait: &Waits,
    violated: &mut Vec<Violation>,
) {
    let at = At::End(wait.choice);
    let thread = wait.tree.0;
    if let How::Spins(node, round) = &wait.how {
        let mut node = *node;
        for &outcome in round {
            let class = tables.class(tables.class_of[node.index()]);
            let edge = class.edges.iter().position(|edge| edge.outcome == outcome);
            let edge = edge.expect("rounds are made of edges");
            match class.act {
                Act::Access(AccessKind::Read | AccessKind::AtomicRead) => {
                    reads_at_end(formulas, replay, class, edge, wait.choice, violated);
                }
                Act::On(Action::Acquire(lock, mode)) if !denied(formulas, replay, node, lock, mode) => {
                    violated.push(not_locked(at, lock, wait.tree, mode));
                }
                Act::On(Action::Take(semaphore)) if replay.state.has_permit(semaphore) => {
                    violated.push(replay.permits(at, semaphore));
                }
                Act::Join(tree) if has_ended(tables, &replay.state, tree) => violated.push(never_ended(wait, tree)),
                _ => {}
            }
            node = tables.forest.node(node).edge(outcome).expect("it is one").to;
        }
        return;
    }
    let node = wait.how.node();
    let class = tables.class(tables.class_of[node.index()]);
    match class.act {
        Act::On(Action::Acquire(lock, mode)) if !denied(formulas, replay, node, lock, mode) => {
            violated.push(not_locked(at, lock, wait.tree, mode));
        }
        Act::On(Action::WaitEnd(_, lock)) => match (&wait.how, replay.state.phase[thread as usize]) {
            (How::Asleep(_), Phase::Asleep(_)) => {}
            (How::Asleep(_), _) => violated.extend(replay.woken(thread).map(|by| Violation::WokenAtEnd {
                choice: wait.choice,
                node,
                by,
                woken: replay.all_woken(),
            })),
            (_, phase) => {
                if !replay.is_held(formulas, lock, wait.tree, false) {
                    violated.push(not_locked(at, lock, wait.tree, Mode::Exclusive));
                } else if matches!(phase, Phase::Asleep(_)) && class.patience == Patience::Bounded {
                    replay.time_out(thread);
                }
            }
        },
        Act::Join(tree) if has_ended(tables, &replay.state, tree) => violated.push(never_ended(wait, tree)),
        Act::On(Action::BarrierExit(barrier)) if replay.state.phase[thread as usize] == Phase::Complete => {
            violated.extend(replay.complete(formulas, wait.choice, node, barrier));
        }
        Act::On(Action::Take(semaphore)) if replay.state.has_permit(semaphore) => {
            violated.push(replay.permits(at, semaphore));
        }
        Act::On(Action::Once(once)) => match replay.state.progress(once) {
            Progress::NotBegun => violated.push(Violation::NotBegun {
                choice: wait.choice,
                once,
            }),
            Progress::Begun => {}
            Progress::Done => violated.push(Violation::Never {
                choice: wait.choice,
                list: List::OnceEnds(once),
            }),
        },
        _ => {}
    }
}

/// The rounds of loops that begin at a node, and that a thread may go for ever while nobody else does anything:
/// outcomes on the way back to it.
fn rounds(tables: &Tables<'_>, node: NodeId) -> Vec<Vec<Outcome>> {
    let forest = tables.forest;
    if !tables.class(tables.class_of[node.index()]).in_loop {
        return Vec::new();
    }
    let mut rounds = Vec::new();
    let mut ways = vec![(node, Vec::new())];
    while let Some((at, way)) = ways.pop() {
        for edge in &forest.node(at).edges {
            let mut way: Vec<Outcome> = way.clone();
            way.push(edge.outcome);
            if edge.to == node {
                if is_steady(tables, node, &way) {
                    rounds.push(way);
                }
            } else if edge.to > at && tables.class(tables.class_of[edge.to.index()]).in_loop {
                ways.push((edge.to, way));
            }
        }
    }
    rounds
}

/// Whether a round sees one value in each cell.
fn is_steady(tables: &Tables<'_>, node: NodeId, round: &[Outcome]) -> bool {
    let mut seen: HashMap<u32, Held> = HashMap::new();
    let mut at = node;
    round.iter().all(|&outcome| {
        let class = tables.class(tables.class_of[at.index()]);
        let edge = class.edges.iter().find(|edge| edge.outcome == outcome);
        let edge = edge.expect("rounds are made of edges");
        at = tables.forest.node(at).edge(outcome).expect("it is one").to;
        let mut cells = class.cells.iter().zip(&edge.saw);
        cells.all(|(&cell, &saw)| *seen.entry(cell).or_insert(saw) == saw)
    })
}

/// Who waits, and how, if nobody can go on; checked by the machine alone.
fn standstill(tables: &Tables<'_>, state: &State, waits: &[Waits]) -> Option<BTreeSet<(TreeId, Waiting)>> {
    let mut waiting = BTreeSet::new();
    let mut turns = Vec::new();
    for thread in state.threads() {
        turns.clear();
        state.turns(tables, thread, &mut turns);
        let class = state.class(tables, thread);
        if turns.is_empty() {
            match class.act {
                Act::Ended => {}
                Act::Stops => return None,
                _ => drop(waiting.insert((TreeId(thread), Waiting::At(class.position)))),
            }
            continue;
        }
        let spins = waits.iter().any(|wait| {
            matches!(&wait.how, How::Spins(node, round)
                if tables.class_of[node.index()] == state.at[thread as usize] && comes_round(tables, state, thread, round))
        });
        if !spins {
            return None;
        }
        waiting.insert((TreeId(thread), Waiting::Spins));
    }
    (!waiting.is_empty()).then_some(waiting)
}

fn comes_round(tables: &Tables<'_>, state: &State, thread: u32, round: &[Outcome]) -> bool {
    let mut now = state.clone();
    let mut turns = Vec::new();
    for &outcome in round {
        turns.clear();
        now.turns(tables, thread, &mut turns);
        let [turn] = turns[..] else { return false };
        let Goes::Along(edge) = turn.goes else { return false };
        if turn.choice != Chance::None || now.class(tables, thread).edges[edge as usize].outcome != outcome {
            return false;
        }
        now.perform(tables, turn);
    }
    now == *state
}

impl Formulas {
    /// Writes down why a thread does not wait at the end. Whether that is new.
    pub(super) fn demand_at_end(&mut self, violation: &Violation) -> bool {
        match *violation {
            Violation::Never { choice, list } => {
                let new = self.never.insert((choice, list));
                if new {
                    let at = At::End(choice);
                    self.each_of(list, Each::NotBefore { choice, at });
                }
                new
            }
            Violation::NotBegun { choice, once } => {
                let new = self.never.insert((choice, List::OnceFirsts(once)));
                if new {
                    let at = At::End(choice);
                    let says = super::clauses::Role::Before { at };
                    self.some_of(vec![at.void()], List::OnceFirsts(once), 0, says);
                }
                new
            }
            _ => false,
        }
    }
}

/// By what each notify is to wake, as a model chose.
pub(super) fn followed(formulas: &Formulas, chosen: &dyn Fn(Choice) -> bool) -> HashMap<Event, Event> {
    let others = formulas.others.iter();
    others
        .filter(|(_, choice)| chosen(**choice))
        .map(|(&(notify, begin), _)| (notify, begin))
        .collect()
}
