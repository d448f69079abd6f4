//! The other values that a read can see: where a thread's history can branch.
//!
//! A run shows one value of each read. For each other one (`docs/SEMANTICS.md`, section 3) there is a feasible prefix
//! of its trace, after which the program goes where no event of the trace tells; to force a run along that prefix is
//! how to find out. The solver is asked for one that sees none of the values known so far, again and again.

use super::{MAX_EVENTS_Z3, Options};
use crate::check::Checker;
use crate::prune::MustHappenBefore;
use crate::schedule::{Goal, Schedule};
use crate::semantics::memory::{number, seen_after};
use crate::shorten;
use crate::solve::{Answer, Session};
use crate::trace::{EventId, Sections, Trace};
use crate::verdict::Unknown;

/// Asks for the other values of a trace's reads, one by one.
pub struct OtherValues<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    sections: &'t Sections,
    checker: &'t Checker<'t>,
    session: Session<'t>,
}

/// A value that a read can see, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherValue {
    /// The value; `None`: one that the trace does not tell, which a run along the schedule shows.
    pub value: Option<u64>,
    /// A schedule that the checker has accepted.
    pub schedule: Schedule,
}

impl<'t> OtherValues<'t> {
    /// Prepares to ask about one trace. Of the options, the budget of a question and the time to stop count.
    #[must_use]
    pub fn new(
        checker: &'t Checker<'t>,
        order: &'t MustHappenBefore,
        sections: &'t Sections,
        options: &Options,
    ) -> OtherValues<'t> {
        let trace = checker.trace();
        OtherValues {
            trace,
            order,
            sections,
            checker,
            session: Session::new(trace, order, sections, options.budget).until(options.until),
        }
    }

    /// A value that a read can see, other than in the trace and none of `known`; `None` if no feasible prefix of the
    /// trace has one. So it is of what is no read.
    ///
    /// # Errors
    /// Why that is not known: unrecorded code changes what the read sees, the trace is too long for the solver, its
    /// budget or the time ran out, or what it found was rejected, by the checker or for being known.
    pub fn next(&mut self, read: EventId, known: &[Option<u64>]) -> Result<Option<OtherValue>, Unknown> {
        let trace = self.trace;
        let Some(access) = trace.access(read).filter(|access| access.kind.reads()) else {
            return Ok(None);
        };
        if trace.uses(access).any(|used| trace.cell(used.cell).external()) {
            return Err(Unknown::Unrecorded(Some(read)));
        }
        if trace.len() > MAX_EVENTS_Z3 {
            return Err(Unknown::Steps);
        }
        let prefix = match self.session.ask_other_value(read, known) {
            Answer::Feasible(prefix) => prefix,
            Answer::Infeasible => return Ok(None),
            Answer::Budget => return Err(Unknown::Budget),
        };
        let value = number(trace, read, &seen_after(trace, prefix.iter().copied(), read));
        let goal = Goal::OtherValue { read, value };
        if known.contains(&value) {
            tracing::error!(?goal, "the solver found what it was not to find");
            return Err(Unknown::Rejected);
        }
        let schedule = shorten::of_prefix(trace, self.order, self.sections, &prefix, goal.clone());
        match self.checker.check(&schedule) {
            Ok(_) => Ok(Some(OtherValue { value, schedule })),
            Err(rejection) => {
                tracing::error!(?goal, %rejection, "the checker rejected a schedule");
                Err(Unknown::Rejected)
            }
        }
    }

    /// All values that a read can see other than in the trace; and why there may be more, if there may.
    pub fn all(&mut self, read: EventId) -> (Vec<OtherValue>, Option<Unknown>) {
        let mut found: Vec<OtherValue> = Vec::new();
        let mut known = Vec::new();
        loop {
            match self.next(read, &known) {
                Ok(Some(other)) => {
                    known.push(other.value);
                    found.push(other);
                }
                Ok(None) => return (found, None),
                Err(unknown) => return (found, Some(unknown)),
            }
        }
    }
}
