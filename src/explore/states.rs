//! The frontier of a forest, found by searching its states: each is expanded once, and the program is not run.
//!
//! A state that has been met is never expanded again, whatever way leads to it; states follow one another by the turns
//! of a persistent set ([`persistent`](super::persistent)), and where only one turn remains the state in between is not
//! stored. Fewest changes of threads come first, so the prefixes that are found are about as simple as they can be.

use super::goal::{Goal, Side, Waiting};
use super::machine::{Choice, Goes, State, Turn};
use super::packed::States;
use super::persistent::Persistent;
use super::session::{Move, Onward, Opening, Prefix, PrefixThread, Wanted};
use super::tables::{Act, FREED, Held, Tables};
use crate::forest::{Action, Forest, NodeId, Outcome, Reservation, Values};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;
use std::time::Instant;

/// The prefixes that a search finds take at most this part of its memory, as one in so many; the rest is found by the
/// next search.
const PART_OF_PREFIXES: usize = 4;

/// Threads that are to wait for each other have not begun to where the prefix ends, and the one that goes on may end the
/// program before they do: so all go on in turn.
pub(super) const AFTER_PARTIAL_DEADLOCKS: Onward = Onward::InTurn { steps: 1, left: 1 };

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// States that are stored at most.
    pub states: usize,
    /// Bytes that they may take.
    pub memory: usize,
    /// When the search ends.
    pub until: Option<Instant>,
    /// Whether it is to end at once.
    pub stop: Option<fn() -> bool>,
    /// Whether turns that need not be followed are left out. What is found is the same, sooner.
    pub reduce: bool,
    /// After so many states, the search ends as soon as what it has found is worth its cost, though it is not whole.
    pub worthwhile_after: Option<usize>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            states: 20_000_000,
            memory: 1 << 30,
            until: None,
            stop: None,
            reduce: true,
            worthwhile_after: None,
        }
    }
}

impl Limits {
    /// Whether the time is over, or somebody asks for the end.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.stop.is_some_and(|stop| stop())
    }
}

/// Where the forest is open: the prefix that leads there, and what is wanted of the thread that comes next.
pub type Open = Prefix;

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    /// States that were stored.
    pub states: usize,
    /// Whether that was all: no limit was reached.
    pub whole: bool,
    /// Whether it ended because what was found is [worth its cost](Limits::worthwhile_after).
    pub worthwhile: bool,
    /// What is open, each history and outcome once, in the order in which it was met.
    pub frontier: Vec<Open>,
    /// Races and deadlocks that are feasible, each once, with a prefix that ends so.
    pub goals: Vec<(Goal, Prefix)>,
    /// What was met that the forest cannot vouch for.
    pub reservations: BTreeSet<Reservation>,
}

/// Searches the states of a forest, which stays as it is but for the names of values that reads would see.
pub fn search(forest: &mut Forest, limits: &Limits) -> Searched {
    let (searched, values) = search_in(forest, limits);
    forest.adopt_values(values);
    searched
}

/// Which ways a look ahead is to find.
pub(super) struct AheadOf<'w> {
    /// How many.
    pub most: usize,
    /// Whether so many states, and so many open branches there, are enough.
    pub is_enough: &'w dyn Fn(usize, usize) -> bool,
    /// Whether a way comes first that ends at this place in the code; of others, one with few changes of threads.
    pub comes_first: &'w dyn Fn(u64) -> bool,
    /// Whether what is open there is not wanted any more.
    pub is_tried: &'w dyn Fn(NodeId, Opening) -> bool,
}

/// What a look ahead has found.
pub(super) struct Ahead {
    pub ways: Vec<Prefix>,
    /// States that were stored.
    pub states: usize,
}

/// Searches the states of groups of histories that seem to go on alike. Of threads' steps each is followed, since what
/// follows a group need not come to an end.
pub(super) fn look_ahead(forest: &Forest, tables: Tables<'_>, limits: &Limits, of: &AheadOf<'_>) -> (Ahead, Values) {
    let limits = Limits {
        reduce: false,
        worthwhile_after: None,
        ..*limits
    };
    let mut search = Search::over(forest, tables, &limits);
    search.ahead = Some(of.is_enough);
    search.run(&limits);
    search.ways_ahead(of)
}

fn search_in(forest: &Forest, limits: &Limits) -> (Searched, Values) {
    let mut search = Search::over(forest, Tables::new(forest), limits);
    let whole = search.run(limits);
    search.finish(whole, limits)
}

/// How a stored state was come to: from another by a turn, and what had to follow.
#[derive(Clone, Copy)]
struct Came {
    from: u32,
    turn: PackedTurn,
}

/// A turn in a state: the thread, and which of its turns there.
#[derive(Clone, Copy)]
struct PackedTurn {
    thread: u32,
    number: u32,
}

/// A moment of the search: after the turn from a stored state, so many turns further on, each the only one.
#[derive(Clone, Copy)]
struct Moment {
    came: Came,
    further: u32,
}

const NOWHERE: u32 = u32::MAX;

/// What is open at a class: a thread's history of it, and what it is.
#[derive(Clone, PartialEq, Eq, Hash)]
enum OpenAt {
    Known(u32, Opening),
    Read(u32, Vec<Held>),
}

#[derive(Clone, Copy)]
enum Found {
    Open,
    Goal,
}

struct Search<'f> {
    forest: &'f Forest,
    tables: Tables<'f>,
    start: State,
    now: State,
    persistent: Option<Persistent>,
    states: States,
    came: Vec<Came>,
    open: HashMap<OpenAt, (Moment, u32)>,
    goals: HashMap<Goal, Moment>,
    order: Vec<(Found, OpenAt, Option<Goal>)>,
    reservations: BTreeSet<Reservation>,
    /// Whether threads give back locks that others hold.
    foreign: bool,
    /// Pairs of classes whose race was found, so as not to describe it again.
    raced: HashSet<(u32, u32)>,
    turns: Vec<Turn>,
    /// The threads that wait in a state, and those that stand before an access: memory for them.
    waits_and_accesses: (Vec<u32>, Vec<u32>),
    /// How many states there were when the first open branch was met.
    first_open: usize,
    worthwhile: bool,
    /// Where histories are only taken to go on alike: whether so many states and open branches are enough. Nothing else
    /// is looked for.
    ahead: Option<&'f dyn Fn(usize, usize) -> bool>,
}

impl<'f> Search<'f> {
    fn over(forest: &'f Forest, tables: Tables<'f>, limits: &Limits) -> Search<'f> {
        let foreign = forest.reservations().contains(&Reservation::ForeignRelease);
        let start = State::start(&tables);
        let persistent = limits.reduce.then(|| Persistent::of(&tables, foreign));
        Search {
            now: start.clone(),
            forest,
            tables,
            start,
            persistent,
            states: States::default(),
            came: Vec::new(),
            open: HashMap::new(),
            goals: HashMap::new(),
            order: Vec::new(),
            reservations: BTreeSet::new(),
            foreign,
            raced: HashSet::new(),
            turns: Vec::new(),
            waits_and_accesses: (Vec::new(), Vec::new()),
            first_open: 0,
            worthwhile: false,
            ahead: None,
        }
    }

    /// Whether all states were met within the limits.
    fn run(&mut self, limits: &Limits) -> bool {
        let first = Came {
            from: NOWHERE,
            turn: PackedTurn { thread: 0, number: 0 },
        };
        self.come(first);
        // States that need no further change of threads, and those that need one more.
        let (mut near, mut far) = (vec![0_u32], Vec::new());
        let mut state = self.start.clone();
        loop {
            let Some(number) = near.pop() else {
                if far.is_empty() {
                    return true;
                }
                std::mem::swap(&mut near, &mut far);
                near.reverse();
                continue;
            };
            self.states.unpack(number, &self.start, &mut state);
            let turns = self.follow(&state);
            let thread = self.came[number as usize].turn.thread;
            for (index, turn) in turns.iter().enumerate() {
                self.now.clone_from(&state);
                self.now.perform(&self.tables, *turn);
                let packed = PackedTurn {
                    thread: turn.thread,
                    number: index as u32,
                };
                let came = Came {
                    from: number,
                    turn: packed,
                };
                if let Some(new) = self.come(came) {
                    if turn.thread == thread {
                        near.push(new);
                    } else {
                        far.push(new);
                    }
                }
            }
            self.worthwhile = limits.worthwhile_after.is_some_and(|after| self.is_worthwhile(after));
            let is_over = self.states.len() >= limits.states || self.memory() >= limits.memory || limits.is_over();
            let enough = (self.ahead).is_some_and(|is_enough| is_enough(self.states.len(), self.order.len()));
            if self.worthwhile || is_over || enough {
                return near.is_empty() && far.is_empty();
            }
        }
    }

    /// Whether the program is better run now than searched further. Each search begins anew, so one that finds
    /// something late goes on until it has cost twice as much, and one that finds much goes on.
    fn is_worthwhile(&self, after: usize) -> bool {
        let states = self.states.len();
        !self.open.is_empty()
            && states >= after
            && states >= after / 4 * self.open.len()
            && (after == 0 || states >= 2 * self.first_open)
    }

    fn memory(&self) -> usize {
        self.states.memory() + self.came.capacity() * size_of::<Came>()
    }

    /// Goes on from `self.now` while there is one turn only, looks at each state on the way, and stores the last; its
    /// number if it is new.
    fn come(&mut self, came: Came) -> Option<u32> {
        if self.ahead.is_some() {
            // A thread may go on alone for ever.
            let (number, new) = self.states.intern(&self.now, &self.start);
            if new {
                self.came.push(came);
                self.look_ahead(Moment { came, further: 0 });
            }
            return new.then_some(number);
        }
        let mut further = 0;
        loop {
            self.look(Moment { came, further });
            let mut turns = std::mem::take(&mut self.turns);
            let state = std::mem::replace(&mut self.now, State::empty());
            self.keep_followed(&state, &mut turns);
            self.now = state;
            let only = match turns[..] {
                [only] if !self.now.class(&self.tables, only.thread).in_loop => Some(only),
                _ => None,
            };
            self.turns = turns;
            let Some(only) = only else {
                break;
            };
            self.now.perform(&self.tables, only);
            further += 1;
        }
        let (number, new) = self.states.intern(&self.now, &self.start);
        if new {
            self.came.push(came);
        }
        new.then_some(number)
    }

    /// The turns that are followed in a state, always in the same order.
    fn follow(&mut self, state: &State) -> Vec<Turn> {
        let mut turns = Vec::new();
        for thread in state.threads() {
            state.turns(&self.tables, thread, &mut turns);
        }
        self.keep_followed(state, &mut turns);
        turns
    }

    /// Of all turns in a state, keeps those that are followed.
    fn keep_followed(&mut self, state: &State, turns: &mut Vec<Turn>) {
        turns.retain(|&turn| match turn.goes {
            Goes::Along(edge) => !self.tables.only_stops(state.class(&self.tables, turn.thread), edge),
            Goes::Stays => true,
            Goes::Open(_) | Goes::OpenRead => false,
        });
        if let Some(persistent) = &mut self.persistent {
            persistent.keep(&self.tables, state, turns);
        }
    }

    /// Notes what is open in `self.now`, but for whether somebody who has to wait gives up.
    fn look_ahead(&mut self, moment: Moment) {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        for thread in self.now.threads() {
            self.now.turns(&self.tables, thread, &mut turns);
        }
        for &turn in turns.iter().filter(|turn| turn.goes != Goes::Open(Opening::GivesUp)) {
            self.note_open(turn, moment);
        }
        self.turns = turns;
    }

    /// Notes what is open in `self.now`, and which goals it reaches. Leaves all turns there in `self.turns`.
    fn look(&mut self, moment: Moment) {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        let (mut waits, mut accesses) = std::mem::take(&mut self.waits_and_accesses);
        waits.clear();
        accesses.clear();
        let (mut can_move, mut ends) = (false, false);
        for thread in self.now.threads() {
            let before = turns.len();
            self.now.turns(&self.tables, thread, &mut turns);
            let class = self.now.class(&self.tables, thread);
            if turns.len() == before && class.act != Act::Ended {
                waits.push(thread);
            }
            let own = &turns[before..];
            let only_stops =
                |turn: &Turn| matches!(turn.goes, Goes::Along(edge) if self.tables.only_stops(class, edge));
            // A thread that ends the program ends the waiting, too.
            if class.act == Act::Stops || !own.is_empty() && own.iter().all(only_stops) {
                ends = true;
            } else {
                can_move |= !own.is_empty() && !self.spins_for_ever(thread);
            }
        }
        for &turn in &turns {
            self.note_open(turn, moment);
            if self.now.is_foreign(&self.tables, turn.thread) {
                self.reservations.insert(Reservation::ForeignRelease);
            }
            if let Act::On(Action::BarrierEnter(barrier)) = self.now.class(&self.tables, turn.thread).act
                && self.tables.parties(barrier).is_none()
            {
                self.reservations.insert(Reservation::BarrierSize);
            }
        }
        match (can_move, ends) {
            (true, _) => {}
            (false, false) => self.note_deadlock(&waits, &turns, moment),
            (false, true) => self.note_partial_deadlock(&waits, moment),
        }
        let at_accesses = turns.iter().map(|turn| turn.thread);
        accesses
            .extend(at_accesses.filter(|&thread| matches!(self.now.class(&self.tables, thread).act, Act::Access(_))));
        for (index, &a) in accesses.iter().enumerate() {
            for &b in &accesses[index + 1..] {
                if self.now.race(&self.tables, a, b) {
                    self.note_race(a, b, moment);
                }
            }
        }
        self.waits_and_accesses = (waits, accesses);
        self.turns = turns;
    }

    fn note_open(&mut self, turn: Turn, moment: Moment) {
        let class = self.now.at[turn.thread as usize];
        if turn.goes == Goes::OpenRead && self.now.would_see(self.tables.class(class)).contains(&FREED) {
            // A run would show something, and no run shows all.
            let position = self.tables.class(class).position;
            self.reservations.insert(Reservation::UndefinedRead { position });
        }
        let open = match turn.goes {
            Goes::Open(opening) => OpenAt::Known(class, opening),
            Goes::OpenRead => OpenAt::Read(class, self.now.would_see(self.tables.class(class))),
            Goes::Along(_) | Goes::Stays => return,
        };
        if !self.open.contains_key(&open) {
            if self.open.is_empty() {
                self.first_open = self.states.len();
            }
            self.open.insert(open.clone(), (moment, turn.thread));
            self.order.push((Found::Open, open, None));
        }
    }

    fn note_race(&mut self, a: u32, b: u32, moment: Moment) {
        let pair = (self.now.at[a as usize], self.now.at[b as usize]);
        if !self.raced.insert((pair.0.min(pair.1), pair.0.max(pair.1))) {
            return;
        }
        let side = |class: u32| Side {
            position: self.tables.class(class).position,
        };
        self.note_goal(Goal::race(side(pair.0), side(pair.1)), moment);
    }

    fn note_partial_deadlock(&mut self, waits: &[u32], moment: Moment) {
        let entangled = self.now.entangled(&self.tables, waits, self.foreign);
        let at = |&thread: &u32| self.now.class(&self.tables, thread).position;
        let mut waiting: Vec<u64> = entangled.iter().map(at).collect();
        waiting.sort_unstable();
        if !waiting.is_empty() {
            self.note_goal(Goal::PartialDeadlock { waiting }, moment);
        }
    }

    fn note_deadlock(&mut self, waits: &[u32], turns: &[Turn], moment: Moment) {
        let at = |thread: u32| self.now.class(&self.tables, thread).position;
        let mut waiting: Vec<Waiting> = waits.iter().map(|&thread| Waiting::At(at(thread))).collect();
        let mut spins: Vec<u32> = turns.iter().map(|turn| turn.thread).collect();
        spins.dedup();
        waiting.extend(spins.iter().map(|_| Waiting::Spins));
        waiting.sort_unstable();
        if waiting.is_empty() {
            return;
        }
        let main_ended = self.now.class(&self.tables, 0).act == Act::Ended;
        self.note_goal(Goal::Deadlock { waiting, main_ended }, moment);
    }

    fn note_goal(&mut self, goal: Goal, moment: Moment) {
        if !self.goals.contains_key(&goal) {
            self.goals.insert(goal.clone(), moment);
            self.order
                .push((Found::Goal, OpenAt::Known(0, Opening::SomeOutcome), Some(goal)));
        }
    }

    /// Whether a thread in a loop comes round to where it is, and nothing but another thread can end that.
    fn spins_for_ever(&self, thread: u32) -> bool {
        if !self.now.class(&self.tables, thread).in_loop {
            return false;
        }
        let mut state = self.now.clone();
        let home = state.at[thread as usize];
        let mut turns = Vec::new();
        let mut passed = Vec::new();
        let waits: Vec<u32> = state
            .threads()
            .filter(|&other| !self.can_go_on(&state, other))
            .collect();
        loop {
            // What a loop gives back on its way may be what another thread waits for.
            if waits.iter().any(|&other| self.can_go_on(&state, other)) {
                return false;
            }
            turns.clear();
            state.turns(&self.tables, thread, &mut turns);
            let [turn] = turns[..] else {
                return false;
            };
            if !matches!(turn.goes, Goes::Along(_)) {
                return false;
            }
            state.perform(&self.tables, turn);
            let at = state.at[thread as usize];
            if at == home {
                return state == self.now;
            }
            // Another loop that this one leads to is another state.
            if !self.tables.class(at).in_loop || passed.contains(&at) {
                return false;
            }
            passed.push(at);
        }
    }

    fn can_go_on(&self, state: &State, thread: u32) -> bool {
        let mut turns = Vec::new();
        state.turns(&self.tables, thread, &mut turns);
        !turns.is_empty()
    }

    fn finish(mut self, whole: bool, limits: &Limits) -> (Searched, Values) {
        let mut searched = Searched {
            states: self.states.len(),
            whole,
            worthwhile: self.worthwhile,
            reservations: std::mem::take(&mut self.reservations),
            ..Searched::default()
        };
        let (most, mut moves) = (limits.memory / PART_OF_PREFIXES / size_of::<Move>(), 0);
        for (found, open, goal) in std::mem::take(&mut self.order) {
            // The way back to each is long where the histories are, and takes as much memory.
            if limits.is_over() || moves > most {
                searched.whole = false;
                break;
            }
            match (found, goal) {
                (Found::Goal, Some(goal)) => {
                    let moment = self.goals[&goal];
                    let (mut prefix, mut walk, state) = self.prefix(moment);
                    for thread in state.threads() {
                        // Where a thread ends the program, nothing would come after it.
                        if state.class(&self.tables, thread).act != Act::Stops {
                            walk.pass(self.forest, &self.tables, thread as usize, &mut prefix);
                        }
                    }
                    moves += prefix.moves.len();
                    if matches!(goal, Goal::PartialDeadlock { .. }) {
                        prefix.onward = AFTER_PARTIAL_DEADLOCKS;
                    }
                    searched.goals.push((goal, prefix));
                }
                _ => {
                    let (moment, thread) = self.open[&open];
                    let prefix = self.open_prefix(&open, moment, thread);
                    moves += prefix.moves.len();
                    searched.frontier.push(prefix);
                }
            }
        }
        (searched, self.tables.values)
    }

    /// The best of what is open, and the names of values.
    fn ways_ahead(mut self, of: &AheadOf<'_>) -> (Ahead, Values) {
        let order = std::mem::take(&mut self.order);
        let mut open: Vec<OpenAt> = order.into_iter().map(|(_, open, _)| open).collect();
        open.sort_by_cached_key(|open| {
            let (OpenAt::Known(class, _) | OpenAt::Read(class, _)) = open;
            !(of.comes_first)(self.tables.class(*class).position)
        });
        let mut ways = Vec::new();
        for open in &open {
            let (moment, thread) = self.open[open];
            let mut way = self.open_prefix(open, moment, thread);
            way.is_guess = true;
            if way
                .wanted
                .is_some_and(|wanted| !(of.is_tried)(wanted.node, wanted.opening))
            {
                ways.push(way);
            }
            if ways.len() == of.most {
                break;
            }
        }
        let states = self.states.len();
        (Ahead { ways, states }, self.tables.values)
    }

    fn open_prefix(&mut self, open: &OpenAt, moment: Moment, thread: u32) -> Open {
        let (mut prefix, mut walk, _) = self.prefix(moment);
        walk.pass(self.forest, &self.tables, thread as usize, &mut prefix);
        let opening = match open {
            OpenAt::Known(_, opening) => *opening,
            OpenAt::Read(class, held) => {
                let cells = self.tables.class(*class).cells.clone();
                match self.tables.joined(&cells, held) {
                    Some(value) => Opening::Outcome(Outcome::Saw(value)),
                    None => Opening::SomeOutcome,
                }
            }
        };
        prefix.wanted = Some(Wanted {
            thread: walk.row_of(thread),
            node: walk.node_of(thread),
            opening,
        });
        prefix
    }

    /// The way to a moment, in real histories.
    fn prefix(&mut self, moment: Moment) -> (Prefix, Walk, State) {
        let mut way = vec![(moment.came.turn, moment.further)];
        let mut from = moment.came.from;
        while from != NOWHERE {
            let came = self.came[from as usize];
            way.push((came.turn, u32::MAX));
            from = came.from;
        }
        way.reverse();
        let mut state = self.start.clone();
        let mut walk = Walk::new(self.forest);
        let mut prefix = Prefix::start();
        for (index, (turn, further)) in way.into_iter().enumerate() {
            if index > 0 {
                let turns = self.follow(&state);
                walk.perform(
                    self.forest,
                    &self.tables,
                    &mut state,
                    turns[turn.number as usize],
                    &mut prefix,
                );
            }
            let mut done = 0;
            while done < further && self.ahead.is_none() {
                let turns = self.follow(&state);
                match turns[..] {
                    [only] if !state.class(&self.tables, only.thread).in_loop => {
                        walk.perform(self.forest, &self.tables, &mut state, only, &mut prefix);
                    }
                    _ => break,
                }
                done += 1;
            }
        }
        (prefix, walk, state)
    }
}

/// Real histories along a way of classes.
pub(super) struct Walk {
    /// The node that each thread is at.
    nodes: Vec<NodeId>,
    /// How many operations it has performed.
    done: Vec<u32>,
    /// Its row in the prefix.
    rows: Vec<u32>,
}

impl Walk {
    pub(super) fn new(forest: &Forest) -> Walk {
        let trees = forest.trees();
        Walk {
            nodes: trees.iter().map(|tree| tree.root).collect(),
            done: vec![0; trees.len()],
            rows: vec![0; trees.len()],
        }
    }

    /// The row of a thread in the prefix.
    pub(super) fn row_of(&self, thread: u32) -> u32 {
        self.rows[thread as usize]
    }

    /// Its history.
    pub(super) fn node_of(&self, thread: u32) -> NodeId {
        self.nodes[thread as usize]
    }

    pub(super) fn perform(
        &mut self,
        forest: &Forest,
        tables: &Tables<'_>,
        state: &mut State,
        turn: Turn,
        prefix: &mut Prefix,
    ) {
        let slot = turn.thread as usize;
        if let Goes::Along(edge) = turn.goes {
            self.pass(forest, tables, slot, prefix);
            let outcome = state.class(tables, turn.thread).edges[edge as usize].outcome;
            self.nodes[slot] = tables.shown_by(state.at[slot], outcome, self.nodes[slot]);
            self.operate(forest, slot, outcome, turn.choice, prefix);
        } else {
            let thread = self.rows[slot];
            prefix.moves.push(Move::TimesOut { thread });
        }
        state.perform(tables, turn);
    }

    /// Performs what a thread does before the operation of its class.
    pub(super) fn pass(&mut self, forest: &Forest, tables: &Tables<'_>, slot: usize, prefix: &mut Prefix) {
        while tables.is_passed(self.nodes[slot]) {
            let outcome = forest.node(self.nodes[slot]).edges[0].outcome;
            self.operate(forest, slot, outcome, Choice::None, prefix);
        }
    }

    fn operate(&mut self, forest: &Forest, slot: usize, outcome: Outcome, choice: Choice, prefix: &mut Prefix) {
        let thread = self.rows[slot];
        let node = self.nodes[slot];
        let row = forest.node(node);
        let operation = row.operation().expect("what is performed is an operation");
        prefix.moves.push(Move::Perform {
            thread,
            index: self.done[slot],
            node,
            operation,
            outcome,
            wakes: match choice {
                Choice::Wakes(other) => Some(self.rows[other as usize]),
                Choice::None | Choice::TimesOut => None,
            },
        });
        if let Some(tree) = forest.tree_forked_at(node) {
            self.rows[tree.index()] = prefix.threads.len() as u32;
            prefix.threads.push(PrefixThread {
                tree,
                forked_by: Some((thread, self.done[slot])),
            });
        }
        self.done[slot] += 1;
        self.nodes[slot] = row.edge(outcome).expect("nodes of a class have the same outcomes").to;
    }
}
