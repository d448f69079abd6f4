//! Open branches near the order in which threads were forked: a cheap search that comes before the exact one, for the
//! branches that fail most often.
//!
//! Threads run one after another, each until it waits, ends, or stands before what no run has shown; one of them stands
//! still at one point of its history while another comes first. That takes time in the square of the operations
//! whatever the number of threads, where states are a product. It is delay-bounded scheduling (Emmi, Qadeer, Rakamarić,
//! POPL 2011) with one delay, or two, in the model instead of the program: the program only runs where that shows
//! something new. What is found is feasible, like all that the exact search finds; what is not found is left to that.
//!
//! Most bugs are a thread whose steps were meant to be one (Lu et al., Learning from mistakes, ASPLOS 2008). So a
//! branch is preferred, in this order:
//!
//! 1. a wait in which nobody can go on;
//! 2. a read whose thread, or the one that stands still, is in the middle of something: it has accessed what the other
//!    one changes (stale, or lost, or torn);
//! 3. one for which some thread was stopped in the middle;
//! 4. another order of whole threads.
//!
//! Of equal ones, first reads of what was written where no run has shown it ([`sites`](super::sites)), then those at
//! places in the code that were tried least.

mod barren;
mod walk;

use self::barren::{Barren, Way};
use super::goal::{Goal, Waiting};
use super::machine::{Goes, NONE, State, Turn};
use super::session::{Onward, Opening, Prefix, Wanted};
use super::sites::Sites;
use super::states::{AFTER_PARTIAL_DEADLOCKS, Limits, Walk};
use super::tables::{AccessKind, Act, Class, Held, Tables};
use crate::forest::{Forest, Outcome, Reservation};
use hashbrown::HashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// Turns that are simulated at most. Then what was found so far has to do.
const MOST_TURNS: usize = 1_000_000;

/// A thread in a loop that waits is left after so many turns, for others to change what it waits for.
const TURNS_IN_A_LOOP: u32 = 16;

/// Moves of all prefixes together.
const MOST_MOVES: usize = 4_000_000;

/// How often the search looks whether it is to end: once in so many turns.
const TURNS_BETWEEN_LOOKS: usize = 1 << 10;

/// The ranks of the list above.
const STANDSTILL: u32 = 0;
pub(super) const TORN: u32 = 1;
const IN_THE_MIDDLE: u32 = 2;
const OTHER_ORDER: u32 = 3;

/// Threads that go on in turn take so many steps each at most.
const MOST_STEPS_IN_TURN: u32 = 4;

/// How many operations ahead a thread's writes are looked for.
const LOOKAHEAD: usize = 256;

/// An open branch, or a wait for ever, with what speaks for it.
#[derive(Debug)]
pub(super) struct Near {
    pub prefix: Prefix,
    /// The wait for ever that it ends in, if all is known of that.
    pub goal: Option<Goal>,
    /// Where in the code it is: the operation that is open, and where another thread stands still; 0 if none does.
    pub places: [u64; 2],
    /// The class of the list above, from 0.
    pub rank: u32,
}

/// How many threads are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stops {
    /// One, while others come first.
    One,
    /// One, which another thread precedes up to a point of its own.
    Two,
    /// All of them, again and again: they go on in turn, a few steps each. That is the other end of the scale, with as
    /// many changes of threads as there can be. How many comes in turn, too, by this number.
    AllInTurn(u32),
    /// Any, anywhere: they go on at random, by this seed.
    AtRandom(u64),
}

impl Near {
    /// An open branch that another search has found.
    pub(super) fn of(prefix: Prefix) -> Near {
        Near {
            prefix,
            goal: None,
            places: [0; 2],
            rank: OTHER_ORDER,
        }
    }
}

/// Open branches of a forest, each once, the best first. `tried` says how often branches at the same place were. When
/// the limits of a search say that it is over, what was found so far has to do.
pub(super) fn near(
    forest: &mut Forest,
    stops: Stops,
    tried: &HashMap<u64, u32>,
    sites: &Sites,
    limits: &Limits,
) -> Vec<Near> {
    let (found, values) = {
        let tables = Tables::new(forest);
        let past = Past::default();
        let mut search = Search {
            tables: &tables,
            past: &past,
            best: HashMap::new(),
            found: Vec::new(),
            tried,
            sites,
            limits,
            foreign: tables.forest.reservations().contains(&Reservation::ForeignRelease),
            left: MOST_TURNS,
            notes: 0,
            barren: limits.reduce.then(|| Barren::of(&tables)),
        };
        search.run(stops);
        let mut found = search.found;
        // Of a long run, each prefix takes megabytes: those that come first have to do.
        let mut moves = 0;
        found.retain(|found| {
            moves += found.turns.count as usize;
            moves <= MOST_MOVES
        });
        let mut tables = tables;
        let near = |found: Found| found.near(forest, &mut tables, &past);
        let found: Vec<Near> = found.into_iter().map(near).collect();
        (found, tables.values)
    };
    forest.adopt_values(values);
    found
}

/// What the cheap searches find, one kind after another, the best of each first: so that it can be compared with what
/// they find if they simulate everything ([`Limits::reduce`]).
pub fn nearby(forest: &mut Forest, limits: &Limits) -> Vec<Prefix> {
    let in_turn = (0..MOST_STEPS_IN_TURN).map(Stops::AllInTurn);
    let all = [Stops::One, Stops::Two, Stops::AtRandom(1)].into_iter().chain(in_turn);
    let found = all.flat_map(|stops| near(forest, stops, &HashMap::new(), &Sites::default(), limits));
    found.map(|near| near.prefix).collect()
}

/// What is open: a class and what it is; or all stands still, unless somebody gives up; or it does so for certain.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Known(u32, Opening),
    Read(u32, Vec<Held>),
    Standstill(Vec<u32>),
    Deadlock(Goal),
}

/// What orders them: the rank; whether the exchange is known; how often their places were tried; changes of threads.
type Cost = (u32, bool, u32, u32);

struct Found {
    turns: Chain,
    thread: u32,
    key: Key,
    places: [u64; 2],
    cost: Cost,
    onward: Onward,
}

impl Found {
    /// All that counts but changes of threads.
    fn known_cost(&self) -> (u32, bool, u32) {
        let (rank, is_known, tried, _) = self.cost;
        (rank, is_known, tried)
    }

    fn near(self, forest: &Forest, tables: &mut Tables<'_>, past: &Past) -> Near {
        let mut state = State::start(tables);
        let mut walk = Walk::new(forest);
        let mut prefix = Prefix {
            onward: self.onward,
            ..Prefix::start()
        };
        let mut turns: Vec<Turn> = past.turns.back(self.turns).collect();
        turns.reverse();
        for turn in turns {
            walk.perform(forest, tables, &mut state, turn, &mut prefix);
        }
        let opening = match self.key {
            Key::Deadlock(goal) => {
                return Near {
                    prefix,
                    goal: Some(goal),
                    places: self.places,
                    rank: self.cost.0,
                };
            }
            Key::Known(_, opening) => opening,
            Key::Standstill(_) => Opening::GivesUp,
            Key::Read(class, held) => {
                let cells = tables.class(class).cells.clone();
                match tables.joined(&cells, &held) {
                    Some(value) => Opening::Outcome(Outcome::Saw(value)),
                    None => Opening::SomeOutcome,
                }
            }
        };
        walk.pass(forest, tables, self.thread as usize, &mut prefix);
        prefix.wanted = Some(Wanted {
            thread: walk.row_of(self.thread),
            node: walk.node_of(self.thread),
            opening,
        });
        Near {
            prefix,
            goal: None,
            places: self.places,
            rank: self.cost.0,
        }
    }
}

/// What simulations did. Each goes on from where another one was, and all that they have in common stands here once: a
/// copy of a long one costs no more than of a short one.
#[derive(Default)]
struct Past {
    turns: Chains<Turn>,
    /// Who accessed shared cells.
    log: Chains<Accessed>,
    /// What a thread can do next is asked at each step: the memory for the answer.
    asked: Cell<Vec<Turn>>,
}

/// Sequences that share their beginnings.
struct Chains<T> {
    /// Each with the one before it, by number from 1.
    links: RefCell<Vec<(T, u32)>>,
}

/// One of them, by its last link, and how many it has.
#[derive(Clone, Copy, Default)]
struct Chain {
    last: u32,
    count: u32,
}

impl<T> Default for Chains<T> {
    fn default() -> Chains<T> {
        Chains {
            links: RefCell::default(),
        }
    }
}

impl<T: Copy> Chains<T> {
    fn push(&self, chain: &mut Chain, link: T) {
        let mut links = self.links.borrow_mut();
        links.push((link, chain.last));
        *chain = Chain {
            last: links.len() as u32,
            count: chain.count + 1,
        };
    }

    /// From the last link to the first.
    fn back(&self, chain: Chain) -> impl Iterator<Item = T> + '_ {
        let mut at = chain.last;
        std::iter::from_fn(move || {
            let (link, before) = *self.links.borrow().get(at.checked_sub(1)? as usize)?;
            at = before;
            Some(link)
        })
    }

    fn get(&self, link: u32) -> Option<T> {
        let links = self.links.borrow();
        links.get(link.checked_sub(1)? as usize).map(|&(link, _)| link)
    }

    fn last(&self, chain: Chain) -> Option<T> {
        self.back(chain).next()
    }
}

struct Search<'t, 'f> {
    tables: &'t Tables<'f>,
    past: &'t Past,
    /// Which of `found` has what is open.
    best: HashMap<Key, usize>,
    found: Vec<Found>,
    tried: &'t HashMap<u64, u32>,
    sites: &'t Sites,
    limits: &'t Limits,
    /// Whether threads give back locks that others hold.
    foreign: bool,
    left: usize,
    /// How often something open was met, known or not.
    notes: usize,
    /// What need not be simulated again, unless everything is.
    barren: Option<Barren>,
}

/// In which order the threads go on that neither stand still nor come first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Others {
    AsForked,
    Backwards,
}

/// What comes before the thread that is stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// No more than forks it.
    Nothing,
    /// All threads that were forked earlier, as far as they can go.
    Earlier,
}

/// The thread that stands still, and where.
#[derive(Clone, Copy)]
struct Still {
    thread: u32,
    /// It has done something that others could tell.
    in_the_middle: bool,
}

impl Search<'_, '_> {
    fn run(&mut self, stops: Stops) {
        let start = Simulation::new(self.tables, self.past);
        match stops {
            Stops::One => {
                self.go_on(&mut start.clone(), None, Others::AsForked);
                self.stop_each(&start, Before::Earlier);
                self.stop_each(&start, Before::Nothing);
            }
            Stops::Two => self.stop_two(&start),
            Stops::AllInTurn(number) => {
                self.go_in_turn(&start, number);
                return;
            }
            Stops::AtRandom(seed) => {
                self.walk(&start, seed);
                return;
            }
        }
        self.found.sort_by_key(|found| found.cost);
    }

    /// A turn was simulated.
    fn spend(&mut self) {
        self.left -= 1;
        if self.left.is_multiple_of(TURNS_BETWEEN_LOOKS) && self.limits.is_over() {
            self.left = 0;
        }
    }

    /// Lets threads go on in turn, so many steps each that others can tell, until one comes to what is open: from the
    /// start, and from where the first thread has to wait for others. How many steps show most differs between
    /// programs, so each number comes first in turn; the ways that lead farthest come first among those of a number.
    fn go_in_turn(&mut self, start: &Simulation<'_>, number: u32) {
        let mut forked = start.clone();
        self.advance(&mut forked, 0, None);
        self.found.clear();
        self.best.clear();
        for number in number..number + MOST_STEPS_IN_TURN {
            let steps = 1 + number % MOST_STEPS_IN_TURN;
            for from in [&forked, start] {
                let before = self.found.len();
                let mut kinds = Vec::new();
                for first in from.state.threads().collect::<Vec<_>>() {
                    if self.is_new_kind(&mut kinds, from, first) {
                        self.take_turns(&mut from.clone(), first, steps);
                    }
                }
                self.found[before..].sort_by_key(|found| std::cmp::Reverse(found.cost.3));
            }
        }
    }

    fn take_turns(&mut self, now: &mut Simulation<'_>, first: u32, steps: u32) {
        let count = now.state.at.len() as u32;
        loop {
            let mut any = false;
            for thread in (first..count).chain(0..first) {
                if !now.is_there(thread) {
                    continue;
                }
                let (mut done, mut turns) = (0, 0);
                while done < steps && turns < TURNS_IN_A_LOOP {
                    let visible = now.is_visible(thread);
                    if self.left == 0 || !now.advance_by_one(thread) {
                        break;
                    }
                    self.spend();
                    done += u32::from(visible);
                    // Who waits in a loop goes on for ever.
                    turns += u32::from(now.class(thread).in_loop);
                    any |= !now.class(thread).in_loop;
                }
                if done < steps
                    && let Some(key) = now.open_at(thread)
                {
                    let left = steps - done - 1;
                    self.note(now, thread, key, None, Onward::InTurn { steps, left });
                    return;
                }
            }
            if !any {
                return;
            }
        }
    }

    /// Stops one thread of each kind at each of its points.
    fn stop_each(&mut self, start: &Simulation<'_>, before: Before) {
        let mut kinds = Vec::new();
        for thread in 0..start.state.at.len() as u32 {
            if let Some(mut until) = self.bring(start, thread, before)
                && self.is_new_kind(&mut kinds, &until, thread)
            {
                self.stop(&mut until, thread);
            }
        }
    }

    /// Lets a thread of each kind go on to each of its points, and stops another one then.
    fn stop_two(&mut self, start: &Simulation<'_>) {
        let mut kinds = Vec::new();
        for first in 0..start.state.at.len() as u32 {
            let Some(mut until) = self.bring(start, first, Before::Nothing) else {
                continue;
            };
            if !self.is_new_kind(&mut kinds, &until, first) {
                continue;
            }
            let mut steps = 0;
            while self.left > 0 && until.advance_by_one(first) && steps < LOOKAHEAD {
                self.spend();
                steps += 1;
                if !until.is_visible(first) && until.known_turn(first).is_some() {
                    continue;
                }
                let mut seconds = Vec::new();
                for second in 0..start.state.at.len() as u32 {
                    if second != first
                        && let Some(mut both) = self.bring(&until, second, Before::Nothing)
                        && self.is_new_kind(&mut seconds, &both, second)
                    {
                        self.stop(&mut both, second);
                    }
                }
            }
        }
    }

    fn is_new_kind(&self, kinds: &mut Vec<u32>, now: &Simulation<'_>, thread: u32) -> bool {
        let kind = now.state.at[thread as usize];
        let new = !kinds.contains(&kind);
        kinds.push(kind);
        new
    }

    /// Lets earlier threads go on until this one is forked, or all of them in any case.
    fn bring<'s>(&mut self, start: &Simulation<'s>, thread: u32, before: Before) -> Option<Simulation<'s>> {
        let mut until = start.clone();
        let mut earlier = 0;
        while earlier < thread && (before == Before::Earlier || !until.is_there(thread)) {
            if self.left == 0 {
                return None;
            }
            if until.is_there(earlier) {
                self.advance(&mut until, earlier, None);
            }
            earlier += 1;
        }
        until.is_there(thread).then_some(until)
    }

    /// Stops a thread at each of its points.
    fn stop(&mut self, until: &mut Simulation<'_>, thread: u32) {
        let mut steps = 0;
        loop {
            if until.is_visible(thread) && until.others_are_there() {
                self.others_first(until, thread);
            }
            if self.left == 0 || !until.advance_by_one(thread) {
                return;
            }
            self.spend();
            steps += 1;
            if until.class(thread).in_loop && steps > TURNS_IN_A_LOOP {
                return;
            }
        }
    }

    /// All that others can do first while this thread stands where it is.
    fn others_first(&mut self, here: &Simulation<'_>, thread: u32) {
        let still = Still {
            thread,
            in_the_middle: here.has_done[thread as usize],
        };
        let stood = Stood {
            log: here.log,
            looked_at: here.log,
            position: here.class(thread).position,
            ..Stood::default()
        };
        let mut seen = Vec::new();
        let (mut now, mut resumed, mut on) = (here.clone(), here.clone(), here.clone());
        for first in 0..here.state.at.len() as u32 {
            let class = here.state.at[first as usize];
            if class == NONE || first == thread || seen.contains(&class) || here.class(first).act == Act::Ended {
                continue;
            }
            seen.push(class);
            let Some(whole) = self.enter(here, Way::Stop { thread, first }) else {
                continue;
            };
            now.clone_from(here);
            now.stood.clone_from(&stood);
            self.advance(&mut now, first, Some(still));
            if self.left == 0 {
                return;
            }
            let Some(rest) = self.enter(&now, Way::Rest { thread }) else {
                self.leave(whole);
                continue;
            };
            let before = self.left;
            resumed.clone_from(&now);
            self.advance(&mut resumed, thread, Some(still));
            let turns = before - self.left;
            for others in [Others::AsForked, Others::Backwards] {
                // The thread that stood still goes on at once, or last.
                on.clone_from(&resumed);
                if others == Others::Backwards {
                    // The same turns once more: they count, and are not simulated.
                    self.spend_all(turns.min(self.left));
                }
                self.go_on(&mut on, Some(still), others);
                on.clone_from(&now);
                self.go_on_without(&mut on, Some(still), others);
                self.advance(&mut on, thread, Some(still));
                self.go_on(&mut on, Some(still), others);
            }
            self.leave(rest);
            self.leave(whole);
        }
    }

    fn go_on(&mut self, now: &mut Simulation<'_>, still: Option<Still>, others: Others) {
        let mut entered = Vec::new();
        while let Some(way) = self.enter(now, Way::On(others)) {
            entered.push(way);
            if !self.round(now, still, others, None) {
                self.note_standstill(now, still);
                break;
            }
        }
        entered.into_iter().for_each(|way| self.leave(way));
    }

    fn go_on_without(&mut self, now: &mut Simulation<'_>, still: Option<Still>, others: Others) {
        while self.round(now, still, others, still.map(|still| still.thread)) {}
    }

    /// Lets each thread but one go on as far as it can; whether any could.
    fn round(&mut self, now: &mut Simulation<'_>, still: Option<Still>, others: Others, without: Option<u32>) -> bool {
        let mut any = false;
        let count = now.state.at.len() as u32;
        for index in 0..count {
            let thread = match others {
                Others::AsForked => index,
                Others::Backwards => count - 1 - index,
            };
            if self.left > 0 && now.is_there(thread) && Some(thread) != without {
                any |= self.advance(now, thread, still);
            }
        }
        any && self.left > 0
    }

    /// Lets a thread go on as far as it can, and notes what is open there; whether it went on at all.
    fn advance(&mut self, now: &mut Simulation<'_>, thread: u32, still: Option<Still>) -> bool {
        if now.class(thread).act == Act::Ended {
            return false;
        }
        let mut steps = 0;
        while self.left > 0 && now.advance_by_one(thread) {
            self.spend();
            steps += 1;
            if now.class(thread).in_loop && steps > TURNS_IN_A_LOOP {
                return false;
            }
        }
        if let Some(key) = now.open_at(thread) {
            self.note(now, thread, key, still, Onward::Freely);
        }
        steps > 0
    }

    fn note(&mut self, now: &mut Simulation<'_>, thread: u32, key: Key, still: Option<Still>, onward: Onward) {
        self.notes += 1;
        let middle = still.filter(|still| still.in_the_middle);
        let rank = match (&key, middle) {
            (Key::Standstill(_) | Key::Deadlock(_), _) => STANDSTILL,
            (_, None) => OTHER_ORDER,
            (_, Some(still)) if now.is_torn(thread, still.thread) => TORN,
            (_, Some(_)) => IN_THE_MIDDLE,
        };
        let place = |thread: u32| now.class(thread).position;
        let other = middle.map_or(0, |still| {
            if still.thread == thread {
                now.stood.position
            } else {
                place(still.thread)
            }
        });
        let tried = |place: u64| self.tried.get(&place).copied().unwrap_or(0);
        let places = [place(thread), other];
        // The place of what is open counts for more.
        let is_known = match &key {
            Key::Read(..) => !self.sites.is_new((now.written_at(thread), places[0])),
            _ => true,
        };
        let cost = (rank, is_known, 2 * tried(places[0]) + tried(places[1]), now.switches);
        let found = Found {
            turns: now.turns,
            thread,
            key: key.clone(),
            places,
            cost,
            onward,
        };
        match self.best.get(&key) {
            // Each number of steps in turn has what is farthest first, and what was found by an earlier one is no
            // better by a later.
            Some(_) if matches!(onward, Onward::InTurn { .. }) => {}
            None => {
                self.best.insert(key, self.found.len());
                self.found.push(found);
            }
            Some(&index) if (cost.0, cost.1, cost.2) < self.found[index].known_cost() => {
                self.found[index] = found;
            }
            Some(_) => {}
        }
    }

    /// Notes that nobody can go on, as far as is known, though not all have ended.
    fn note_standstill(&mut self, now: &mut Simulation<'_>, still: Option<Still>) {
        if self.left == 0 || now.state.threads().any(|thread| now.open_at(thread).is_some()) {
            return;
        }
        let left = now
            .state
            .threads()
            .filter(|&thread| now.class(thread).act != Act::Ended);
        let (ends, waits): (Vec<u32>, Vec<u32>) = left.partition(|&thread| now.ends_program(thread));
        let asked = waits.iter().find(|&&thread| now.asks_patience(thread));
        let all_wait = waits
            .iter()
            .all(|&thread| now.waits_for_ever(thread) || now.asks_patience(thread));
        if !all_wait {
            return;
        }
        // A thread that ends the program ends the waiting, too.
        if !ends.is_empty() {
            let entangled = now.state.entangled(self.tables, &waits, self.foreign);
            let mut waiting: Vec<u64> = entangled.iter().map(|&thread| now.class(thread).position).collect();
            waiting.sort_unstable();
            if let Some(&first) = entangled.first() {
                let goal = Key::Deadlock(Goal::PartialDeadlock { waiting });
                self.note(now, first, goal, still, AFTER_PARTIAL_DEADLOCKS);
            }
            return;
        }
        match (asked, waits.first()) {
            (Some(&asked), _) => {
                let classes = waits.iter().map(|&thread| now.state.at[thread as usize]).collect();
                self.note(now, asked, Key::Standstill(classes), still, Onward::Freely);
            }
            (None, Some(&first)) => {
                let mut waiting: Vec<Waiting> = waits
                    .iter()
                    .map(|&thread| Waiting::At(now.class(thread).position))
                    .collect();
                waiting.sort_unstable();
                let main_ended = now.class(0).act == Act::Ended;
                let goal = Key::Deadlock(Goal::Deadlock { waiting, main_ended });
                self.note(now, first, goal, still, Onward::Freely);
            }
            (None, None) => {}
        }
    }
}

/// A state, and how it was come to.
struct Simulation<'t> {
    tables: &'t Tables<'t>,
    past: &'t Past,
    state: State,
    turns: Chain,
    log: Chain,
    /// Of each shared cell its last write, by its link in the log: the later, the higher. 0 if there is none.
    written: Vec<u32>,
    /// Which threads have done what others could tell.
    has_done: Vec<bool>,
    switches: u32,
    stood: Stood,
}

impl Clone for Simulation<'_> {
    fn clone(&self) -> Self {
        Simulation {
            state: self.state.clone(),
            written: self.written.clone(),
            has_done: self.has_done.clone(),
            stood: self.stood.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, of: &Self) {
        self.state.clone_from(&of.state);
        self.written.clone_from(&of.written);
        self.has_done.clone_from(&of.has_done);
        self.stood.clone_from(&of.stood);
        (self.turns, self.log, self.switches) = (of.turns, of.log, of.switches);
    }
}

/// Where a thread stood still.
#[derive(Clone, Default)]
struct Stood {
    /// What had been accessed until then.
    log: Chain,
    /// Its place in the code.
    position: u64,
    /// What it had accessed, once that was asked for: each time costs as much as all that was simulated.
    accessed: Rc<OnceCell<Cells>>,
    /// Whether others have written any of that since, as far as was looked: that is asked again and again.
    is_changed: bool,
    looked_at: Chain,
}

/// The cells that a thread has accessed, and those that it has written, a bit for each.
struct Cells {
    touched: Vec<u64>,
    written: Vec<u64>,
}

impl Cells {
    fn has(cells: &[u64], cell: u32) -> bool {
        cells[cell as usize / 64] >> (cell % 64) & 1 != 0
    }

    fn have_any(cells: &[u64], of: &[u32]) -> bool {
        of.iter().any(|&cell| Cells::has(cells, cell))
    }
}

#[derive(Clone, Copy)]
struct Accessed {
    thread: u32,
    /// The class of the access, which has the cells: one that frees a block may have thousands.
    class: u32,
    writes: bool,
}

/// Whether two accesses have a cell in common.
fn meet(one: &[u32], other: &[u32]) -> bool {
    let (few, many) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    few.iter().any(|&cell| has(many, cell))
}

/// Whether an access is one of this cell, too. Mostly it is not even near it.
fn has(cells: &[u32], cell: u32) -> bool {
    let is_between =
        cells.first().is_some_and(|&first| first <= cell) && cells.last().is_some_and(|&last| cell <= last);
    is_between && cells.binary_search(&cell).is_ok()
}

impl<'t> Simulation<'t> {
    fn new(tables: &'t Tables<'_>, past: &'t Past) -> Simulation<'t> {
        let state = State::start(tables);
        let count = state.at.len();
        Simulation {
            tables,
            past,
            state,
            turns: Chain::default(),
            log: Chain::default(),
            written: vec![0; tables.initial.len()],
            has_done: vec![false; count],
            switches: 0,
            stood: Stood::default(),
        }
    }

    fn class(&self, thread: u32) -> &'t Class {
        self.tables.class(self.state.at[thread as usize])
    }

    fn is_there(&self, thread: u32) -> bool {
        self.state.at[thread as usize] != NONE
    }

    fn others_are_there(&self) -> bool {
        self.state.threads().count() > 1
    }

    /// Whether other threads can tell what this one does next.
    fn is_visible(&self, thread: u32) -> bool {
        !matches!(
            self.class(thread).act,
            Act::Local { .. }
                | Act::Fence
                | Act::Begin
                | Act::End
                | Act::Ended
                | Act::Stops
                | Act::Access(AccessKind::Use)
        )
    }

    /// What a thread can do next.
    fn with_turns<R>(&self, thread: u32, answer: impl FnOnce(&[Turn]) -> R) -> R {
        let mut turns = self.past.asked.take();
        turns.clear();
        self.state.turns(self.tables, thread, &mut turns);
        let answer = answer(&turns);
        self.past.asked.set(turns);
        answer
    }

    /// The first turn of a thread that leads to where runs have been. One that ends the program is left alone.
    fn known_turn(&self, thread: u32) -> Option<Turn> {
        let edges = &self.class(thread).edges;
        let is_known = |turn: &&Turn| match turn.goes {
            Goes::Along(edge) => self.tables.class(edges[edge as usize].to).act != Act::Stops,
            Goes::Stays | Goes::Open(_) | Goes::OpenRead => false,
        };
        self.with_turns(thread, |turns| turns.iter().find(is_known).copied())
    }

    fn advance_by_one(&mut self, thread: u32) -> bool {
        let turn = self.known_turn(thread);
        turn.map(|turn| self.take(turn)).is_some()
    }

    fn take(&mut self, turn: Turn) {
        let thread = turn.thread;
        let class = self.class(thread);
        if let (Act::Access(kind), Goes::Along(edge)) = (class.act, turn.goes) {
            let writes = match kind {
                AccessKind::Read | AccessKind::Use => false,
                AccessKind::AtomicRead => !class.edges[edge as usize].leaves.is_empty(),
                AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free => true,
            };
            let accessed = Accessed {
                thread,
                class: self.state.at[thread as usize],
                writes,
            };
            self.past.log.push(&mut self.log, accessed);
            if writes {
                (class.cells.iter()).for_each(|&cell| self.written[cell as usize] = self.log.last);
            }
        }
        self.has_done[thread as usize] |= self.is_visible(thread);
        let last = self.past.turns.last(self.turns);
        self.switches += u32::from(last.is_some_and(|last| last.thread != thread));
        self.past.turns.push(&mut self.turns, turn);
        self.state.perform(self.tables, turn);
    }

    /// What no run has shown of a thread's next operation.
    fn open_at(&self, thread: u32) -> Option<Key> {
        if !self.is_there(thread) {
            return None;
        }
        let at = self.state.at[thread as usize];
        let key = |turn: &Turn| match turn.goes {
            Goes::Open(Opening::GivesUp) | Goes::Along(_) | Goes::Stays => None,
            Goes::Open(opening) => Some(Key::Known(at, opening)),
            Goes::OpenRead => Some(Key::Read(at, self.state.would_see(self.class(thread)))),
        };
        self.with_turns(thread, |turns| turns.iter().find_map(key))
    }

    /// Where that was written which a thread's next operation would read; 0 if it was there at first.
    fn written_at(&self, thread: u32) -> u64 {
        let writes = self.class(thread).cells.iter().map(|&cell| self.written[cell as usize]);
        let last = writes.max().and_then(|link| self.past.log.get(link));
        last.map_or(0, |one| self.tables.class(one.class).position)
    }

    /// Whether a thread cannot go on, unless it gives up, of which nothing is known.
    fn asks_patience(&self, thread: u32) -> bool {
        self.with_turns(
            thread,
            |turns| matches!(turns, [turn] if turn.goes == Goes::Open(Opening::GivesUp)),
        )
    }

    /// Whether all that a thread does next is to end the program.
    fn ends_program(&self, thread: u32) -> bool {
        let class = self.class(thread);
        let stops = |turn: &Turn| matches!(turn.goes, Goes::Along(edge) if self.tables.only_stops(class, edge));
        class.act == Act::Stops || self.with_turns(thread, |turns| !turns.is_empty() && turns.iter().all(stops))
    }

    fn waits_for_ever(&self, thread: u32) -> bool {
        self.with_turns(thread, <[Turn]>::is_empty)
    }

    /// Whether what is open comes of steps between which another thread came: the one that stood still has accessed,
    /// before, what another wrote since; or it will write again what it has accessed and is now read; or it has written
    /// half of what is read.
    fn is_torn(&mut self, thread: u32, still: u32) -> bool {
        if thread == still {
            return self.is_changed(still);
        }
        let read = &self.class(thread).cells;
        if !self.will_write(still, read) {
            return false;
        }
        let before = self.stood.accessed.get_or_init(|| self.accessed_by(still));
        Cells::have_any(&before.touched, read)
            || (self.since(self.stood.log)).any(|one| {
                one.thread == thread && Cells::have_any(&before.written, &self.tables.class(one.class).cells)
            })
    }

    /// What was accessed since, the last access first.
    fn since(&self, earlier: Chain) -> impl Iterator<Item = Accessed> + '_ {
        self.past
            .log
            .back(self.log)
            .take((self.log.count - earlier.count) as usize)
    }

    /// Whether others have written, since, what the thread that stood still had accessed. Each access is looked at once.
    fn is_changed(&mut self, still: u32) -> bool {
        if !self.stood.is_changed {
            let before = self.stood.accessed.get_or_init(|| self.accessed_by(still));
            let changes = |one: Accessed| {
                let cells = &self.tables.class(one.class).cells;
                one.writes && one.thread != still && Cells::have_any(&before.touched, cells)
            };
            let is_changed = self.since(self.stood.looked_at).any(changes);
            self.stood.is_changed = is_changed;
            self.stood.looked_at = self.log;
        }
        self.stood.is_changed
    }

    /// What a thread had accessed when it stood still.
    fn accessed_by(&self, thread: u32) -> Cells {
        let words = self.tables.initial.len().div_ceil(64);
        let (mut touched, mut written) = (vec![0; words], vec![0; words]);
        for one in self.past.log.back(self.stood.log).filter(|one| one.thread == thread) {
            for cell in &self.tables.class(one.class).cells {
                let (word, bit) = (*cell as usize / 64, 1 << (cell % 64));
                touched[word] |= bit;
                if one.writes {
                    written[word] |= bit;
                }
            }
        }
        Cells { touched, written }
    }

    /// Whether a thread goes on to write any of these cells without another look at it, as far as its first known history
    /// tells.
    fn will_write(&self, thread: u32, cells: &[u32]) -> bool {
        let mut cells = cells.to_vec();
        let mut class = self.class(thread);
        for _ in 0..LOOKAHEAD {
            match class.act {
                Act::Access(AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free)
                    if meet(&cells, &class.cells) =>
                {
                    return true;
                }
                // Writing and reading in one step, it loses nothing that comes before.
                Act::Access(AccessKind::AtomicRead) => cells.retain(|&cell| !has(&class.cells, cell)),
                _ => {}
            }
            match class.edges.first() {
                Some(edge) => class = self.tables.class(edge.to),
                None => break,
            }
        }
        false
    }
}
