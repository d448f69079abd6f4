//! Violations of an order: whether a feasible prefix brings an access next before another one has happened, which has
//! to come first (`docs/SEMANTICS.md`, section 3).
//!
//! The user names orders, or memory is read before its first write: initialization is an order that nobody has to name.
//! What a prefix has not performed by then, a shorter one has not either. So of each thread only the first access that
//! may come too early has to be asked about.

use super::decider::Decider;
use super::{MAX_EVENTS_Z3, Solver, case, reject};
use crate::encode::Form;
use crate::parallel;
use crate::prune::{Ending, Grounds, Needs};
use crate::schedule::{Goal, Schedule};
use crate::solve::{self, Answer, NativeAnswer, Session, Steps};
use crate::symbols::Comparisons;
use crate::trace::{Access, AccessKind, CellId, CodePosition, EventId, ThreadId, Trace};
use crate::verdict::{Analysis, CutRefutation, Instances, Kind, Pair, Refutation, Rejected, Unknown, Verdict};
use hashbrown::{HashMap, HashSet};
use std::num::NonZeroUsize;

/// What [`Pair::order`] says of memory that is read before its first write.
pub const INITIALIZATION: &str = "initialization";

/// An order that somebody names: no access of `then` comes before the first one of `first`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// What it is called.
    pub name: String,
    /// What has to come first.
    pub first: Vec<EventId>,
    /// What must not come before.
    pub then: Vec<EventId>,
}

/// An access that comes too early if none of these has happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Early {
    awaited: Vec<EventId>,
    access: EventId,
}

impl Early {
    fn ending(&self) -> Ending<'_> {
        Ending {
            performed: &[],
            pending: std::slice::from_ref(&self.access),
            awaited: &self.awaited,
        }
    }

    fn goal(&self) -> Goal {
        Goal::order(self.awaited.clone(), self.access)
    }

    /// Two accesses to show, the earlier one first.
    fn example(&self) -> (EventId, EventId) {
        let first = self.awaited[0];
        (first.min(self.access), first.max(self.access))
    }

    fn distance(&self) -> u32 {
        self.awaited[0].0.abs_diff(self.access.0)
    }
}

/// A question: whether any of these comes too early.
struct Row {
    order: String,
    early: Vec<Early>,
}

/// Decides the orders that are named, and initializations if they are looked for, and adds them to an analysis.
pub(super) fn add_to(known: &Decider<'_>, orders: &[Order], threads: NonZeroUsize, analysis: &mut Analysis) {
    if known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        return;
    }
    let mut rows: Vec<Row> = orders.iter().filter_map(|order| named(known.trace, order)).collect();
    if known.options.find.has(Kind::Order) {
        let raced: HashSet<(CodePosition, CodePosition)> = analysis
            .pairs
            .iter()
            .filter(|pair| matches!(pair.verdict, Verdict::Witnessed(_)))
            .map(|pair| ordered(pair.positions))
            .collect();
        rows.extend(initializations(known, &raced));
    }
    tracing::info!(rows = rows.len(), "orders");
    let one = |row: &Row| {
        let decide = || {
            let mut rejected = Vec::new();
            (Case { known }.decide(row, &mut rejected), rejected)
        };
        Ok::<_, std::convert::Infallible>(solve::in_own_context(decide))
    };
    let Ok(decided) = parallel::map(threads, &rows, one);
    for (pair, rejected) in decided {
        analysis.pairs.push(pair);
        analysis.rejected.extend(rejected);
    }
}

fn ordered((a, b): (CodePosition, CodePosition)) -> (CodePosition, CodePosition) {
    (a.min(b), a.max(b))
}

/// Of each thread, the first of some events, in the order of π.
fn first_of_each(trace: &Trace, events: &[EventId]) -> Vec<EventId> {
    let mut firsts: HashMap<ThreadId, EventId> = HashMap::new();
    for &event in events {
        let first = firsts.entry(trace.thread(event)).or_insert(event);
        *first = event.min(*first);
    }
    let mut firsts: Vec<EventId> = firsts.into_values().collect();
    firsts.sort_unstable();
    firsts
}

/// What to ask about an order that is named; nothing if one of the two is not there at all.
fn named(trace: &Trace, order: &Order) -> Option<Row> {
    let awaited = first_of_each(trace, &order.first);
    let early = first_of_each(trace, &order.then).into_iter().filter(|&access| {
        let own = awaited
            .iter()
            .find(|&&first| trace.thread(first) == trace.thread(access));
        // Of one thread, no schedule changes the order.
        own.is_none_or(|&first| first > access)
    });
    let early: Vec<Early> = early
        .map(|access| Early {
            awaited: awaited.clone(),
            access,
        })
        .collect();
    (!awaited.is_empty() && !early.is_empty()).then(|| Row {
        order: order.name.clone(),
        early,
    })
}

/// What is known of a cell on the way through π.
#[derive(Clone, Default)]
enum Cell {
    /// Nobody has accessed it.
    #[default]
    Untouched,
    /// It is none to ask about.
    Left,
    /// It was written first. The first writes of threads, and the first looks of threads that had not written it, by
    /// thread.
    Written {
        writes: Vec<EventId>,
        early: Vec<EventId>,
        /// Whether it has only ever held 0 and 1.
        flag: bool,
    },
}

/// Reads by other threads of what is written first, where no access saw it before: whose memory is taken to be
/// initialized by that write. By the positions of both.
fn initializations(known: &Decider<'_>, raced: &HashSet<(CodePosition, CodePosition)>) -> Vec<Row> {
    let trace = known.trace;
    let mut cells = vec![Cell::default(); trace.cells().len()];
    for access in trace.accesses() {
        for used in trace.uses(access) {
            let cell = &mut cells[used.cell.index()];
            *cell = after(trace, used.cell, std::mem::take(cell), access);
        }
    }
    let order = known.order_on(Grounds::Structure);
    let mut comparisons = Comparisons::of(trace.tables());
    let mut found: HashMap<(CodePosition, CodePosition), Vec<Early>> = HashMap::new();
    for cell in cells {
        let Cell::Written {
            mut writes,
            early,
            flag,
        } = cell
        else {
            continue;
        };
        writes.sort_unstable();
        for access in early {
            let positions = (trace.pc(writes[0]), trace.pc(access));
            // Who reads a flag, or compares at once what it got, is prepared for what was there before.
            let reads = trace.access(access).is_some_and(|access| access.kind.reads());
            let prepared = reads && (flag || comparisons.follow(positions.1));
            let is_ordered = writes.iter().any(|&write| order.before(write, access));
            if !is_ordered && !prepared && !raced.contains(&ordered(positions)) {
                let awaited = writes.clone();
                found.entry(positions).or_default().push(Early { awaited, access });
            }
        }
    }
    let mut rows: Vec<Vec<Early>> = found.into_values().collect();
    for early in &mut rows {
        early.sort_unstable();
        early.dedup();
    }
    rows.sort_unstable();
    let row = |early| Row {
        order: INITIALIZATION.to_owned(),
        early,
    };
    rows.into_iter().map(row).collect()
}

/// What is known of a cell after one more access of it.
fn after(trace: &Trace, id: CellId, cell: Cell, access: Access) -> Cell {
    let is_flag = |event| matches!(trace.value_left(event, id), Some(0 | 1));
    let event = access.event;
    match cell {
        Cell::Untouched if trace.cell(id).external() || trace.is_excused(access) => Cell::Left,
        // Who adds to what is there, or frees it, does not initialize it.
        Cell::Untouched if access.kind.reads() || !access.kind.writes_value() => Cell::Left,
        Cell::Untouched => Cell::Written {
            writes: vec![event],
            early: Vec::new(),
            flag: is_flag(event),
        },
        Cell::Written {
            mut writes,
            mut early,
            flag,
        } => {
            let thread = trace.thread(event);
            let place = |events: &[EventId]| events.binary_search_by_key(&thread, |&event| trace.thread(event));
            // Atomic variables are there to be looked at by others, whatever they hold.
            let looks = matches!(access.kind, AccessKind::Read | AccessKind::Use);
            if looks
                && place(&writes).is_err()
                && let Err(at) = place(&early)
                && !trace.is_excused(access)
            {
                early.insert(at, event);
            }
            let changes = access.kind.writes_value();
            if changes && let Err(at) = place(&writes) {
                writes.insert(at, event);
            }
            Cell::Written {
                writes,
                early,
                flag: flag && (!changes || is_flag(event)),
            }
        }
        Cell::Left => Cell::Left,
    }
}

struct Case<'d, 't> {
    known: &'d Decider<'t>,
}

impl Case<'_, '_> {
    fn decide(&self, row: &Row, rejected: &mut Vec<Rejected>) -> Pair {
        let known = self.known;
        let mut instances = Instances {
            total: row.early.len() as u64,
            ..Instances::default()
        };
        let pair = |early: &Early, verdict, instances| Pair {
            positions: known.positions(early.example()),
            example: early.example(),
            verdict,
            instances,
            behind: None,
            order: Some(row.order.clone()),
        };
        let fast = !known.solver_only();
        let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
        let (mut undecided, mut excluded): (Vec<&Early>, Option<&Early>) = (Vec::new(), None);
        let mut open = None;
        let mut accepted = |early: &Early, schedule: Schedule| match known.checker().check(&schedule) {
            Ok(_) => Some(schedule),
            Err(rejection) => {
                tracing::debug!(?early, "rejected");
                rejected.push(reject(schedule, &rejection));
                None
            }
        };
        for early in row.early.iter().take_while(|_| !known.options.out_of_time()) {
            instances.tried += 1;
            let ending = early.ending();
            let predict = || {
                known
                    .predictor
                    .predict_late(ending)
                    .or_else(|| known.predictor.predict(ending))
            };
            if known.needs.exclude(ending) {
                excluded.get_or_insert(early);
            } else if let Some(cut) = fast.then(predict).flatten() {
                match accepted(early, known.schedule(&cut, early.goal())) {
                    Some(schedule) => return pair(early, Verdict::Witnessed(schedule), instances),
                    None => open = Some(Unknown::Rejected),
                }
            } else {
                undecided.push(early);
            }
        }
        undecided.sort_by_key(|early| (early.distance(), *early));
        if undecided.len() > limit {
            open = Some(Unknown::Instances);
        }
        let (mut steps, mut session) = (Steps::unbounded(), None);
        for &early in undecided
            .iter()
            .take(limit)
            .take_while(|_| !known.options.out_of_time())
        {
            match self.ask(early, &mut steps, &mut session) {
                Ok(None) => drop(excluded.get_or_insert(early)),
                Ok(Some((as_recorded, then))) => {
                    match accepted(early, known.schedule_of(as_recorded, &then, early.goal())) {
                        Some(schedule) => return pair(early, Verdict::Witnessed(schedule), instances),
                        None => open = Some(Unknown::Rejected),
                    }
                }
                Err(why) => open = Some(why),
            }
        }
        let example = excluded.unwrap_or(&row.early[0]);
        let verdict = match open {
            _ if known.options.out_of_time() => Verdict::Unknown(Unknown::Time),
            Some(why) => Verdict::Unknown(why),
            None => self.excluded(row, example),
        };
        pair(example, verdict, instances)
    }

    /// Our own solver first, and Z3 for what that leaves: so many events as recorded, then these; or that there is no
    /// such prefix.
    fn ask<'s>(
        &'s self,
        early: &Early,
        steps: &mut Steps,
        session: &mut Option<Session<'s>>,
    ) -> Result<Option<(u32, Vec<EventId>)>, Unknown> {
        let known = self.known;
        if !known.solver_only() && known.options.solver != Solver::Z3 {
            match known.native.ask(early.ending(), steps) {
                NativeAnswer::Feasible(as_recorded, then) => return Ok(Some((as_recorded, then))),
                NativeAnswer::Infeasible => return Ok(None),
                NativeAnswer::Unknown if known.options.solver == Solver::Native => return Err(Unknown::Steps),
                NativeAnswer::Unknown => {}
            }
        }
        if known.trace.len() > MAX_EVENTS_Z3 {
            return Err(Unknown::Steps);
        }
        let session = session.get_or_insert_with(|| case::session(known, known.order));
        match session.ask(&early.goal()) {
            Answer::Feasible(prefix) => Ok(Some((0, prefix))),
            Answer::Infeasible => Ok(None),
            Answer::Budget => Err(Unknown::Budget),
        }
    }

    /// The verdict when none of these comes too early in any prefix.
    fn excluded(&self, row: &Row, example: &Early) -> Verdict {
        let known = self.known;
        if known.trace.cut().is_some() {
            return Verdict::Unknown(Unknown::Cut(CutRefutation::Core));
        }
        let all_on = |needs: &Needs<'_>| row.early.iter().all(|early| needs.exclude(early.ending()));
        if all_on(&known.needs_by_structure()) {
            return Verdict::Refuted(self.refutation(Grounds::Structure, example));
        }
        match &known.unpinned {
            Some(unpinned) if !all_on(unpinned.needs) => {
                Verdict::Unknown(Unknown::Unrecorded(known.pinned_between(example.example())))
            }
            _ => Verdict::NotInTrace(self.refutation(Grounds::Outcomes, example)),
        }
    }

    fn refutation(&self, grounds: Grounds, example: &Early) -> Refutation {
        let known = self.known;
        let (trace, order) = (known.trace, known.order_on(grounds));
        for &first in &example.awaited {
            // It may come before the access by the event before that.
            if order.count_to_pending(trace, example.access, trace.thread(first)) > trace.place(first) {
                let chain = order.chain(trace, first, example.access);
                return Refutation::MustHappenBefore(match chain.is_empty() {
                    true => vec![first, example.access],
                    false => chain,
                });
            }
        }
        if trace.len() > MAX_EVENTS_Z3 {
            return Refutation::Core(Vec::new());
        }
        let facts = case::session(known, order).explain(grounds, &example.goal(), known.options.of_explanation());
        Refutation::Core(facts.unwrap_or_default())
    }
}
