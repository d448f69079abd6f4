//! The events as recorded that several schedules begin with, executed once.

use crate::Checker;
use crate::accept::{self, Accepted, Executed, Rejection};
use crate::disabled::Violation;
use crate::state::{State, Step};
use schedule_format::Schedule;
use std::ops::ControlFlow;
use trace_format::EventId;

/// The state after so many events as recorded. Schedules that begin with these go on from it, each on its own.
#[derive(Debug)]
pub struct Prefix<'c> {
    checker: &'c Checker<'c>,
    state: State<'c>,
    events: u32,
}

impl<'c> Prefix<'c> {
    pub(crate) fn new(checker: &'c Checker<'c>) -> Prefix<'c> {
        Prefix {
            checker,
            state: checker.start(),
            events: 0,
        }
    }

    /// How many events have been executed.
    #[must_use]
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Whether the events that a schedule has as recorded do in it what they do in others: none of them wakes another
    /// waiter, and its goal is not watched from the start of the trace.
    #[must_use]
    pub fn is_shared_by(schedule: &Schedule) -> bool {
        let is_own = |&(notify, _): &(EventId, _)| notify.0 < schedule.as_recorded;
        !accept::watches(&schedule.goal) && !schedule.wakes.iter().any(is_own)
    }

    /// Executes the next events as recorded, until there are `events`, and hands each to `each`.
    ///
    /// # Errors
    /// [`Violation`], if the trace does not go on from here: no schedule has more events as recorded.
    pub fn extend(&mut self, events: u32, each: &mut dyn FnMut(Executed)) -> Result<(), Violation> {
        let recording = self.checker.recording;
        let next = self.events..events.min(recording.events() as u32);
        let (mut numbers, mut spans) = (self.checker.bytes.cursor(), self.checker.bytes.near_spans());
        let mut violation = None;
        let _: ControlFlow<()> = recording.walk(next, &mut |event, thread, op| {
            let touched = || spans.of(numbers.at(event.index()));
            let stepped = match self.state.passes(event, thread, op, touched) {
                true => Ok(Step::default()),
                false => self.state.step_as_recorded_by(event, thread, *op, None),
            };
            match stepped {
                Ok(step) => {
                    self.events += 1;
                    each(Executed { slice: 0, event, step });
                    ControlFlow::Continue(())
                }
                Err(why) => {
                    violation = Some(why);
                    ControlFlow::Break(())
                }
            }
        });
        violation.map_or(Ok(()), Err)
    }

    /// Executes what a schedule does behind these events, of which it has at least so many as recorded; as
    /// [`Checker::follow`] does.
    ///
    /// # Errors
    /// [`Rejection`].
    ///
    /// # Panics
    /// If the schedule does not [share](Prefix::is_shared_by) its beginning, or has fewer events as recorded.
    pub fn follow(
        &self,
        schedule: &Schedule,
        each: &mut dyn FnMut(Executed),
    ) -> Result<(Accepted, State<'_>), Rejection> {
        assert!(Prefix::is_shared_by(schedule) && self.events <= schedule.as_recorded);
        accept::follow_from(self.checker, self.state.branch(), self.events, schedule, each)
    }
}
