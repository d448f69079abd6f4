//! The whole way from a trace to verdicts: candidates, pruning, predicting, solving, schedules, checking.
//!
//! What becomes of a candidate depends on the trace, the options and its batch, a few candidates that always go
//! together, never on what was decided before. So candidates can be decided by any number of threads, in several
//! [shards](Shard) on several machines, or in a second attempt after the first was interrupted ([`Follow`]), and the
//! results are the same to the byte.

mod after_free;
mod asked;
mod atomicity;
mod by_design;
mod case;
mod deadlocks;
mod decider;
mod doubts;
mod exclude;
mod follow;
mod glance;
mod intent;
mod null_pointers;
mod orders;
mod other_values;
mod pointers;
mod prepared;
mod refute;
mod settle;
mod slices;
mod stale_pointers;
mod standstills;
mod timing;
mod torn_pairs;
mod weak_links;

pub use follow::{Decision, Follow, Shard, Unfollowed};
pub use glance::Glance;
pub use orders::{INITIALIZATION, Order};
pub use other_values::{OtherValue, OtherValues};
pub use prepared::{Prepared, prepare};

use crate::candidates::{Candidates, Conflicts, Scope, Wanted};
use crate::check::{Checker, Rejection};
use crate::design::Design;
use crate::encode::{Form, Mutation};
use crate::parallel;
use crate::predict::SyncPreserving;
use crate::prune::{Grounds, LockContexts, MustHappenBefore, Needs, VariableLocks};
use crate::schedule::Schedule;
use crate::semantics::synchronizes::is_weak;
use crate::semantics::waits;
use crate::solve::Native;
use crate::trace::{AccessKind, EventId, Sections, Trace, Wakes, Writers};
use crate::verdict::{Analysis, Fact, Find, Kind, Pair, Refutation, Regions, Rejected, Unknown, Verdict};
use decider::Decider;
use doubts::Doubts;
use exclude::Unpinned;
use hashbrown::HashMap;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use timing::{beside, stage};
use weak_links::WeakLinks;

/// Events of a trace up to which its pairs are put to Z3, to decide or to explain them: it takes the whole of it.
const MAX_EVENTS_Z3: usize = 50_000;

/// Who decides what the fast arguments leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Our own solver first, then Z3.
    #[default]
    Both,
    /// Our own solver alone.
    Native,
    /// Z3 alone.
    Z3,
    /// Z3 for every instance that must-happen-before and locks leave open, without predictors, without the closure over
    /// unique writers, and without a search for unordered races: slow, to compare the others with.
    Z3Reference,
}

/// How much of a trace is loaded for its analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The first so many events; `None` for all.
    pub events: Option<u64>,
    /// The analysis may take so long: of a trace that cannot be decided in that time, the first events alone.
    pub time: Option<Duration>,
}

impl Beginning {
    /// As many as the fastest analyses of long traces decide in a second: a trace that is longer takes longer.
    const MOST_IN_A_SECOND: f64 = 1e6;

    /// As many as most analyses of long traces decide in a second while the machine does other work, too: alone, all of
    /// those that `docs/programs.md` tells of decide 350,000.
    const IN_A_SECOND: f64 = 2e5;

    /// How many events of a trace of so many are analyzed; `None` for all.
    #[must_use]
    pub fn of(&self, events: u64) -> Option<u64> {
        let by_time = || {
            let seconds = self.time?.as_secs_f64();
            let is_hopeless = events as f64 > seconds * Self::MOST_IN_A_SECOND;
            is_hopeless.then_some((seconds.max(0.5) * Self::IN_A_SECOND) as u64)
        };
        self.events.or_else(by_time)
    }
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Dynamic instances that the solver tries first per pair of code positions; `None` for all. If none is feasible,
    /// it tries more while a part of the batch's budget lasts. A pair with instances left is never refuted.
    pub instances: Option<u32>,
    /// In traces of up to 50,000 events: how many pairs that need the solver's word are refuted with the facts that
    /// exclude them; `None` for all. The verdicts of the others are the same, without the facts.
    pub explanations: Option<u32>,
    /// Z3 resource units for each question; about 15 million are a second.
    pub budget: u32,
    /// Who decides what the fast arguments leave open.
    pub solver: Solver,
    /// What has to be linearized for a witness.
    pub form: Form,
    /// What to look for.
    pub find: Find,
    /// Where atomicity violations are looked for.
    pub regions: Regions,
    /// Pairs of code positions that are decided, at most; the others are counted and unknown.
    pub most_pairs: u32,
    /// What is loaded of a trace. A part is decided as a trace that is cut there.
    pub beginning: Beginning,
    /// For tests only: a formula that is wrong on purpose. The fast arguments are left out then.
    pub mutation: Option<Mutation>,
    /// When to stop: what is not decided then is [unknown](Unknown::Time). `None`, as always unless the user wants it:
    /// never, since verdicts then depend on the machine.
    pub until: Option<Instant>,
}

/// Budgets of a question that all explanations of a kind of findings may spend together, and the most that one may.
const OF_EXPLANATIONS: u64 = 3;
const OF_ONE: u64 = 2;

impl Options {
    /// Z3 resource units for one explanation: its share of those for as many as are asked for, whoever makes the others,
    /// and in whatever order.
    pub(crate) fn of_explanation(&self) -> u64 {
        let budget = u64::from(self.budget);
        match self.explanations {
            None | Some(0) => OF_ONE * budget,
            Some(number) => (OF_EXPLANATIONS * budget / u64::from(number)).min(OF_ONE * budget),
        }
    }

    /// Whether it is time to stop.
    pub(crate) fn out_of_time(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// What is looked for: a whole trace has no deadlock, and its frees where they were.
    fn finds(&self) -> Find {
        match self.form {
            Form::WholeTrace if self.find.has(Kind::Races) => Find::of(&[Kind::Races]),
            Form::WholeTrace => Find::of(&[]),
            Form::Prefix => self.find,
        }
    }
}

/// Pairs of code positions that are decided if nobody says how many.
const MOST_PAIRS: u32 = 1 << 17;

impl Default for Options {
    fn default() -> Options {
        Options {
            instances: Some(10),
            explanations: Some(20),
            budget: 20_000_000,
            solver: Solver::Both,
            form: Form::Prefix,
            find: Find::default(),
            regions: Regions::default(),
            most_pairs: MOST_PAIRS,
            beginning: Beginning::default(),
            mutation: None,
            until: None,
        }
    }
}

/// Which pairs to decide, and with how many threads. Verdicts do not depend on the latter.
#[derive(Clone, Copy, Debug)]
pub struct Work<'s> {
    /// Only these pairs and cycles; `None` for all.
    pub scope: Option<&'s Scope>,
    /// Only these candidates.
    pub shard: Shard,
    /// Threads that decide candidates.
    pub threads: NonZeroUsize,
    /// The orders that somebody names. They are asked about together with initializations, by whole analyses.
    pub orders: &'s [Order],
    /// What somebody says of the program's design: what is asked about, and which threads come between which, in whole
    /// analyses.
    pub design: Option<&'s Design>,
    /// The checker of the trace, if there is one already.
    pub checker: Option<&'s Checker<'s>>,
    /// What is known of the trace, if somebody has worked it out.
    pub prepared: Option<&'s Prepared>,
}

impl Default for Work<'_> {
    /// All pairs, on one thread.
    fn default() -> Self {
        Work {
            scope: None,
            shard: Shard::WHOLE,
            threads: NonZeroUsize::MIN,
            orders: &[],
            design: None,
            checker: None,
            prepared: None,
        }
    }
}

/// Decides every pair of code positions with conflicting accesses.
///
/// The result depends on the trace and the options only.
#[must_use]
pub fn analyze(trace: &Trace, options: &Options) -> Analysis {
    let Ok(analysis) = analyze_with(trace, options, &Work::default(), &Unfollowed);
    analysis
}

/// Decides the pairs in `scope` that have conflicting accesses, and the cycles of operations that wait.
#[must_use]
pub fn analyze_within(trace: &Trace, options: &Options, scope: &Scope) -> Analysis {
    let work = Work {
        scope: Some(scope),
        ..Work::default()
    };
    let Ok(analysis) = analyze_with(trace, options, &work, &Unfollowed);
    analysis
}

/// Decides some pairs, and tells `follow` of each decision as it is made.
///
/// # Errors
/// Those of `follow`; nothing more is decided then.
pub fn analyze_with<F: Follow>(
    trace: &Trace,
    options: &Options,
    work: &Work<'_>,
    follow: &F,
) -> Result<Analysis, F::Error> {
    with_decider(trace, options, work, follow, |known| {
        let earlier = follow.begin(&known.candidates.list, known.candidates.unlisted)?;
        let asks = work.scope.is_none_or(|scope| !scope.cycles.is_empty());
        let asks = asks && options.find.has(Kind::Deadlocks) && work.shard == Shard::WHOLE;
        let deadlocks = || deadlocks::decide(known, work.scope, work.design, work.threads);
        let (decisions, deadlocks) = parallel::both(
            parallel::worth(trace.len(), work.threads),
            || known.decide(work, earlier, follow),
            || asks.then(|| beside("deadlocks", deadlocks)),
        );
        let mut analysis = collect(&known.doubts, decisions?);
        analysis.unlisted = known.candidates.unlisted;
        if work.scope.is_none() && work.shard == Shard::WHOLE {
            stage(follow, "the design", || by_design::apply(known, work, &mut analysis));
        }
        find_behind(trace, &mut analysis);
        if let Some(decided) = deadlocks {
            decided.add_to(&mut analysis);
        }
        let asks = options.find.has(Kind::Atomicity) && work.scope.is_none();
        if asks && work.shard == Shard::WHOLE {
            let decided = stage(follow, "atomicity violations", || {
                atomicity::decide(known, work.design, work.threads)
            });
            decided.add_to(&mut analysis);
        }
        if work.scope.is_none() && work.shard == Shard::WHOLE {
            stage(follow, "orders", || {
                add_orders(known, work.orders, work.threads, &mut analysis);
            });
            stage(follow, "pointers", || add_pointers(known, work.threads, &mut analysis));
        }
        Ok(analysis)
    })
}

/// As [`analyze_with`], but returns the decisions: what [`join`] needs of each shard.
///
/// # Errors
/// Those of `follow`; nothing more is decided then.
pub fn decide_with<F: Follow>(
    trace: &Trace,
    options: &Options,
    work: &Work<'_>,
    follow: &F,
) -> Result<Vec<Decision>, F::Error> {
    with_decider(trace, options, work, follow, |known| {
        known.decide(
            work,
            follow.begin(&known.candidates.list, known.candidates.unlisted)?,
            follow,
        )
    })
}

/// As [`decide_with`], for somebody who decides one shard after another: what is known of the trace is worked out once.
pub fn decide_shards<F: Follow, R>(
    trace: &Trace,
    options: &Options,
    threads: NonZeroUsize,
    prepared: Option<&Prepared>,
    stages: &impl Follow,
    then: impl FnOnce(&dyn Fn(Shard, &F) -> Result<Vec<Decision>, F::Error>) -> R,
) -> R {
    let work = Work {
        threads,
        prepared,
        ..Work::default()
    };
    with_decider(trace, options, &work, stages, |known| {
        then(&|shard, follow| {
            let work = Work {
                shard,
                threads,
                prepared,
                ..Work::default()
            };
            known.decide(
                &work,
                follow.begin(&known.candidates.list, known.candidates.unlisted)?,
                follow,
            )
        })
    })
}

/// Works out what is known of a trace before anything is decided. What of it does not need each other is worked out side
/// by side.
fn with_decider<R>(
    trace: &Trace,
    options: &Options,
    work: &Work<'_>,
    follow: &impl Follow,
    then: impl FnOnce(&Decider<'_>) -> R,
) -> R {
    let prepared = work.prepared;
    let threads = parallel::worth(trace.len(), work.threads);
    let (order, sections) = parallel::both(
        threads,
        || stage(follow, "must-happen-before", || MustHappenBefore::of(trace)),
        || beside("sections", || Sections::of(trace)),
    );
    let contexts = stage(follow, "locks", || {
        LockContexts::with(trace, &sections, VariableLocks::atomic(trace, &order))
    });
    let wanted = Wanted {
        find: options.finds(),
        scope: work.scope,
        most: options.most_pairs as usize,
        nearest: prepared.is_none(),
    };
    // Conflicts need much memory only while they are looked for: first, where one comes after the other.
    let needs = || {
        let found = prepared.map(|prepared| prepared.needed.as_slice());
        // What they, and conflicts on one thread, needed while they were looked for is given back where a stage begins.
        follow.stage("writers");
        let writers = Writers::of(trace);
        follow.stage("unique writers");
        Needs::knowing(trace, &order, &sections, writers, found)
    };
    let (conflicts, needs) = parallel::both(
        threads,
        || stage(follow, "conflicts", || Conflicts::of(trace, &contexts, &wanted)),
        || beside("unique writers", needs),
    );
    // What would hold if unrecorded code had left no traces.
    let without_pins = || trace.has_pins().then(|| MustHappenBefore::on(trace, Grounds::Outcomes));
    let (candidates, (predictor, wakes, unpinned_order)) = parallel::both(
        threads,
        || stage(follow, "candidates", || Candidates::among(conflicts, &order, &needs)),
        || {
            (
                beside("predictor", || SyncPreserving::new(trace, &needs, &sections)),
                Wakes::of(trace, trace.operations_with(waits::Step::of).map(|(event, _)| event)),
                without_pins(),
            )
        },
    );
    tracing::info!(
        candidates = candidates.list.len(),
        events = trace.len(),
        "candidates found"
    );
    let (native, unpinned_needs) = parallel::both(
        threads,
        || stage(follow, "own solver", || Native::new(trace, &needs, &sections, &wakes)),
        || {
            unpinned_order.as_ref().map(|order| {
                let found = prepared.and_then(|prepared| prepared.unpinned.as_deref());
                needs.on(order, found)
            })
        },
    );
    let weak_atomics = trace.has_access(|kind, order| kind.is_atomic() && is_weak(kind.reads(), kind.writes(), order));
    let weak_links = (weak_atomics && trace.len() <= MAX_EVENTS_Z3).then(|| WeakLinks::of(trace));
    let decider = Decider {
        trace,
        order: &order,
        sections: &sections,
        contexts: &contexts,
        candidates: &candidates,
        options: *options,
        weak_atomics,
        weak_links,
        predictor,
        needs: &needs,
        native,
        given_checker: work.checker,
        made_checker: OnceLock::new(),
        doubts: Doubts::about(trace),
        wakes: &wakes,
        structure: OnceLock::new(),
        handed_on: OnceLock::new(),
        unpinned: unpinned_order
            .as_ref()
            .zip(unpinned_needs.as_ref())
            .map(|(order, needs)| Unpinned {
                order,
                needs,
                native: Native::new(trace, needs, &sections, &wakes).without_pins(),
                around: exclude::Around::default(),
            }),
    };
    then(&decider)
}

/// The analysis that some decisions make up, all of its shards for instance: schedules are checked again, and facts
/// kept for as many refutations as the options say. `threads` decide what is not decided in shards.
#[must_use]
pub fn join(
    trace: &Trace,
    options: &Options,
    threads: NonZeroUsize,
    prepared: Option<&Prepared>,
    mut decisions: Vec<Decision>,
) -> Analysis {
    decisions.sort_by_key(|decision| decision.number);
    let checker = Checker::new(trace);
    check(&checker, &mut decisions, &|_| false, &|_| false);
    let limit = options.explanations.map_or(usize::MAX, |limit| limit as usize);
    let cores = decisions
        .iter_mut()
        .filter_map(|decision| decision.pair.verdict.core_mut());
    cores.skip(limit).for_each(Vec::clear);
    let mut analysis = collect(&Doubts::about(trace), decisions);
    find_behind(trace, &mut analysis);
    let find = options.find;
    let late = [
        Kind::Deadlocks,
        Kind::Atomicity,
        Kind::Order,
        Kind::NullPointer,
        Kind::StalePointer,
    ];
    if late.into_iter().any(|kind| find.has(kind)) {
        let no_pairs = Scope::default();
        let work = Work {
            scope: Some(&no_pairs),
            threads,
            checker: Some(&checker),
            prepared,
            ..Work::default()
        };
        with_decider(trace, options, &work, &Unfollowed, |known| {
            if find.has(Kind::Deadlocks) {
                deadlocks::decide(known, None, None, threads).add_to(&mut analysis);
            }
            if find.has(Kind::Atomicity) {
                atomicity::decide(known, None, threads).add_to(&mut analysis);
            }
            add_orders(known, &[], threads, &mut analysis);
            add_pointers(known, threads, &mut analysis);
        });
    }
    analysis
}

/// Adds what is found out about orders.
fn add_orders(known: &Decider<'_>, orders: &[Order], threads: NonZeroUsize, analysis: &mut Analysis) {
    if !orders.is_empty() || known.options.find.has(Kind::Order) {
        orders::add_to(known, orders, threads, analysis);
        doubt(&known.doubts, &mut analysis.pairs);
    }
}

/// Adds what is found out about pointers that may be null or stale.
fn add_pointers(known: &Decider<'_>, threads: NonZeroUsize, analysis: &mut Analysis) {
    let find = known.options.find;
    let [null, stale] = [Kind::NullPointer, Kind::StalePointer].map(|kind| find.has(kind));
    if !(null || stale) || known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        return;
    }
    let witnessed = pointers::witnessed(analysis);
    let mut rows = Vec::new();
    if null {
        rows.extend(pointers::in_order_of(null_pointers::candidates(known, &witnessed)));
    }
    if stale {
        rows.extend(pointers::in_order_of(stale_pointers::candidates(known, &witnessed)));
    }
    pointers::add_to(known, &rows, threads, analysis);
    doubt(&known.doubts, &mut analysis.pairs);
}

fn collect(doubts: &Doubts<'_>, decisions: Vec<Decision>) -> Analysis {
    let mut analysis = Analysis::default();
    for decision in decisions {
        analysis.pairs.push(decision.pair);
        analysis.rejected.extend(decision.rejected);
    }
    doubt(doubts, &mut analysis.pairs);
    analysis
}

/// Takes back what is witnessed only if a library that was not recorded did not synchronize the two accesses.
fn doubt(doubts: &Doubts<'_>, pairs: &mut [Pair]) {
    for pair in pairs {
        if let Some(doubtful) = doubts.instead_of_pair(pair) {
            pair.verdict = doubtful;
        }
    }
}

/// Finds the pairs that are kept apart by what a racing read saw, or by one of what was freed: the facts need it, and
/// without it some order keeps the others.
fn find_behind(trace: &Trace, analysis: &mut Analysis) {
    let key = |a: EventId, b: EventId| {
        let (a, b) = (trace.pc(a), trace.pc(b));
        (a.min(b), a.max(b))
    };
    let rows = (0..).zip(&analysis.pairs);
    let witnessed = rows.filter(|(_, pair)| matches!(pair.verdict, Verdict::Witnessed(_)));
    let races: HashMap<_, u32> = witnessed
        .map(|(row, pair)| (key(pair.example.0, pair.example.1), row))
        .collect();
    for pair in &mut analysis.pairs {
        let Verdict::NotInTrace(Refutation::Core(facts)) = &pair.verdict else {
            continue;
        };
        // What a read behind a free sees, nothing tells.
        let (a, b) = pair.example;
        let is_free = |&event: &EventId| {
            trace
                .access(event)
                .is_some_and(|access| access.kind == AccessKind::Free)
        };
        let freed = [a, b].into_iter().filter(is_free);
        let race = facts.iter().find_map(|fact| match fact {
            Fact::Read { read, writers, .. } => {
                let mut others = writers.iter().copied().chain(freed.clone());
                others.find_map(|write| races.get(&key(*read, write)))
            }
            _ => None,
        });
        pair.behind = race.copied();
    }
}

/// Whether the first event frees the block that the second accesses, or destroys the object that it uses before in π.
fn ends(trace: &Trace, first: EventId, second: EventId) -> bool {
    let part = |event| trace.access(event).map(|access| access.kind.part());
    part(first)
        .zip(part(second))
        .is_some_and(|(end, other)| end.ends(other) && (end.frees || second < first))
}

/// Schedules that the checker rejected, by the numbers of their candidates.
type RejectedOf = HashMap<u32, Vec<Rejected>>;

/// Checks the schedules of decisions that are not `checked` yet. What the checker rejects is taken back, if somebody
/// decides it anew, and the schedules are returned; or else its pair has no verdict.
fn check(
    checker: &Checker<'_>,
    decisions: &mut Vec<Decision>,
    checked: &dyn Fn(u32) -> bool,
    decided_anew: &dyn Fn(u32) -> bool,
) -> RejectedOf {
    let is_left = |decision: &Decision| !checked(decision.number) && schedule_of(&decision.pair).is_some();
    let left = decisions.iter().filter(|decision| is_left(decision));
    let schedules: Vec<&Schedule> = left.filter_map(|decision| schedule_of(&decision.pair)).collect();
    let mut verdicts = checker.check_all(&schedules).into_iter();
    let mut taken_back = RejectedOf::new();
    decisions.retain_mut(|decision| {
        let Some(Err(rejection)) = is_left(decision).then(|| verdicts.next()).flatten() else {
            return true;
        };
        let rejected = Verdict::Unknown(Unknown::Rejected);
        let Verdict::Witnessed(schedule) = std::mem::replace(&mut decision.pair.verdict, rejected) else {
            return true;
        };
        let rejected = reject(schedule, &rejection);
        let anew = decided_anew(decision.number);
        match anew {
            true => taken_back.entry(decision.number).or_default().push(rejected),
            false => decision.rejected.push(rejected),
        }
        !anew
    });
    taken_back
}

fn reject(schedule: Schedule, rejection: &Rejection) -> Rejected {
    tracing::error!(goal = ?schedule.goal, %rejection, "the checker rejected a schedule");
    Rejected {
        schedule,
        reason: rejection.to_string(),
    }
}

fn schedule_of(pair: &Pair) -> Option<&Schedule> {
    match &pair.verdict {
        Verdict::Witnessed(schedule) => Some(schedule),
        _ => None,
    }
}

/// A dynamic instance of a candidate; the first comes earlier in the trace.
type Instance = (EventId, EventId);
