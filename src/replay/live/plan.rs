//! From a schedule to the plan that the runtime follows.
//!
//! Schedules of a long trace begin with nearly all of it as recorded. What they share of that is executed by the
//! checker, and put into the runtime's words, once.

use super::calls::{noted_by, with_calls};
use crate::check::{Checker, Executed, Prefix, Rejection};
use crate::schedule::{Goal, Schedule};
use crate::session::Step;
use crate::session::plan;
use crate::trace::{AccessKind, EventId, Op, ThreadId, Trace, Wakes};
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;
use trace_format::NOBODYS;

/// Plans with more events than this behind those as recorded are not kept until they are asked for.
const KEPT: usize = 1 << 20;

/// What a live run is to do: the schedule's events, then the accesses that it stops before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The first events as recorded.
    as_recorded: usize,
    /// Those in the runtime's words, and perhaps more.
    words: Arc<Words>,
    /// The rest.
    rest: Rest,
}

/// The beginning of plans, as the runtime reads it, since it is long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Words {
    steps: Vec<plan::Words>,
    /// How many of the first steps name no thread that the runtime cannot name.
    fitting: usize,
}

/// What comes behind the events as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rest {
    events: Vec<EventId>,
    words: Words,
    /// How many at the end are only to be pending: both racing accesses, or the second one of an unordered race.
    pending: usize,
}

impl Words {
    fn push(&mut self, step: plan::Step) {
        self.fitting += usize::from(self.fitting == self.steps.len() && fits(step));
        self.steps.push(step.encode());
    }
}

impl Plan {
    /// The plan of a schedule: what the checker executed, whom each notify woke included.
    ///
    /// # Errors
    /// [`Rejection`], if the checker does not accept it.
    pub fn of(checker: &Checker<'_>, schedule: &Schedule) -> Result<Plan, Rejection> {
        Planner::new(checker, []).plan(schedule)
    }

    /// The plan of the whole trace, as it was recorded.
    #[must_use]
    pub fn of_all(trace: &Trace) -> Plan {
        let events = || (0..trace.len()).map(|event| EventId(event as _));
        let woken: HashMap<EventId, ThreadId> = Wakes::of(trace, events()).woken.into_iter().collect();
        let mut words = Words::default();
        events().for_each(|event| words.push(step(trace, event, woken.get(&event).copied(), false)));
        Plan {
            as_recorded: trace.len(),
            words: Arc::new(words),
            rest: Rest::default(),
        }
    }

    /// The plan in the runtime's words, in two parts; `None` if it has more threads than these can name.
    #[must_use]
    pub fn steps(&self) -> Option<[&[plan::Words]; 2]> {
        let rest = &self.rest.words;
        let fit = self.words.fitting >= self.as_recorded && rest.fitting == rest.steps.len();
        fit.then(|| [&self.words.steps[..self.as_recorded], &rest.steps[..]])
    }

    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_recorded + self.rest.events.len()
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the first steps are the first events of the trace.
    #[must_use]
    pub fn as_recorded(&self) -> usize {
        self.as_recorded
    }

    /// The event of a step.
    #[must_use]
    pub fn event(&self, step: usize) -> EventId {
        match step.checked_sub(self.as_recorded) {
            None => EventId(step as u32),
            Some(behind) => self.rest.events[behind],
        }
    }

    /// The events of all steps.
    pub fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        (0..self.len()).map(|step| self.event(step))
    }

    /// The steps that are to be done.
    #[must_use]
    pub fn done(&self) -> Range<usize> {
        0..self.len() - self.rest.pending
    }
}

/// Makes the plans of a trace's schedules.
#[derive(Debug)]
pub struct Planner<'c> {
    checker: &'c Checker<'c>,
    words: Arc<Words>,
    /// Of the schedules that share their beginning with others.
    made: Vec<(Schedule, Result<Rest, Rejection>)>,
}

impl<'c> Planner<'c> {
    /// Prepares plans of these schedules; others may be asked for as well.
    #[must_use]
    pub fn new<'s>(checker: &'c Checker<'c>, schedules: impl IntoIterator<Item = &'s Schedule>) -> Planner<'c> {
        let mut schedules: Vec<&Schedule> = schedules.into_iter().filter(|&one| Prefix::is_shared_by(one)).collect();
        schedules.sort_by_key(|schedule| schedule.as_recorded);
        let (mut words, mut made) = (Words::default(), Vec::new());
        let mut prefix = checker.prefix();
        for schedule in schedules {
            let mut push = |done: Executed| words.push(step_of(checker.trace(), &done));
            if prefix.extend(schedule.as_recorded, &mut push).is_err() {
                // It is said why when this schedule is asked for.
                break;
            }
            let rest = Rest::behind(&prefix, checker.trace(), schedule);
            if !rest.as_ref().is_ok_and(|rest| rest.events.len() > KEPT) {
                made.push((schedule.clone(), rest));
            }
        }
        Planner {
            checker,
            words: Arc::new(words),
            made,
        }
    }

    /// The checker, and with it the trace.
    #[must_use]
    pub fn checker(&self) -> &'c Checker<'c> {
        self.checker
    }

    /// The plan of a schedule: what the checker executed, whom each notify woke included.
    ///
    /// # Errors
    /// [`Rejection`], if the checker does not accept it.
    pub fn plan(&self, schedule: &Schedule) -> Result<Plan, Rejection> {
        let (as_recorded, words, rest) = match self.made.iter().find(|(made, _)| made == schedule) {
            Some((_, rest)) => (schedule.as_recorded as usize, self.words.clone(), rest.clone()?),
            None => (0, Arc::default(), Rest::whole(self.checker, schedule)?),
        };
        Ok(Plan {
            as_recorded,
            words,
            rest,
        })
    }
}

impl Rest {
    /// All steps of a schedule.
    fn whole(checker: &Checker<'_>, schedule: &Schedule) -> Result<Rest, Rejection> {
        let as_said = |schedule: &Schedule| {
            let mut rest = Rest::default();
            checker.follow(schedule, &mut |done| rest.push(checker.trace(), &done))?;
            rest.end(checker.trace(), schedule);
            Ok(rest)
        };
        let rest = as_said(schedule)?;
        // A schedule that performs the same in another order is as good.
        let otherwise = with_calls(
            checker.trace(),
            schedule,
            &rest.events[schedule.as_recorded as usize..rest.done()],
        );
        Ok(otherwise.iter().find_map(|other| as_said(other).ok()).unwrap_or(rest))
    }

    /// The steps of a schedule behind the events that `prefix` has, which are all that it has as recorded.
    fn behind(prefix: &Prefix<'_>, trace: &Trace, schedule: &Schedule) -> Result<Rest, Rejection> {
        let as_said = |schedule: &Schedule| {
            let mut rest = Rest::default();
            prefix.follow(schedule, &mut |done| rest.push(trace, &done))?;
            rest.end(trace, schedule);
            Ok(rest)
        };
        let rest = as_said(schedule)?;
        let otherwise = with_calls(trace, schedule, &rest.events[..rest.done()]);
        Ok(otherwise.iter().find_map(|other| as_said(other).ok()).unwrap_or(rest))
    }

    fn done(&self) -> usize {
        self.events.len() - self.pending
    }

    fn push(&mut self, trace: &Trace, done: &Executed) {
        self.events.push(done.event);
        self.words.push(step_of(trace, done));
    }

    /// Adds what the schedule ends before.
    fn end(&mut self, trace: &Trace, schedule: &Schedule) {
        if schedule.goal.waiting().is_some() {
            // The program is not stopped there: it gets there by itself, and stays.
            return;
        }
        if let Goal::OtherValue { read, .. } | Goal::StalePointer { read, .. } = schedule.goal {
            // The read itself is done, whatever it sees; what follows from it, the program does by itself.
            self.events.push(read);
            self.words.push(step(trace, read, None, false));
            // Before others put something where nothing is, its thread is to follow what it got.
            let next = trace.successor(read);
            let next = next.filter(|_| matches!(schedule.goal, Goal::StalePointer { .. }));
            if let Some(next) = next {
                self.events.push(next);
                self.words.push(step(trace, next, None, false));
            }
            return;
        }
        for event in schedule.goal.pending() {
            self.events.push(event);
            self.words.push(step(trace, event, None, true));
            self.pending += 1;
        }
    }
}

/// Whether the runtime can name the threads of a step.
fn fits(step: plan::Step) -> bool {
    let threads = [Some(step.thread), step.other];
    threads.into_iter().flatten().all(|thread| thread < plan::MAX_THREADS)
}

fn step_of(trace: &Trace, done: &Executed) -> plan::Step {
    step(trace, done.event, done.step.woken.first().copied(), false)
}

fn step(trace: &Trace, event: EventId, woken: Option<ThreadId>, race: bool) -> plan::Step {
    let step = Step::of(trace, event, woken).to_plan();
    let other = match trace.op(event) {
        // Numbers are those of the trace, whoever was created before.
        Op::Fork { child } => Some(child.0),
        Op::Notify { .. } | Op::Input { .. } => step.other,
        _ => noted_by(trace, event).map(|thread| thread.0),
    };
    let value = step.value.or_else(|| own_variable(trace, event));
    plan::Step {
        race,
        other,
        value,
        ..step
    }
}

/// The address of what an event loads or stores atomically, if it is a variable of the recorder's own.
fn own_variable(trace: &Trace, event: EventId) -> Option<u64> {
    let access = trace.access(event)?;
    let is_told = matches!(access.kind, AccessKind::AtomicLoad | AccessKind::AtomicStore);
    (is_told && access.addr >= NOBODYS).then_some(access.addr)
}
