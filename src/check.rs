//! The checker, on a trace that the analysis has loaded.
//!
//! It is a crate of its own that knows nothing of the analysis ([`checker`]): it is told each event as it stands in the
//! file, and finds for itself what follows from these.

pub use checker::{
    Accepted, Disabled, Events, Executed, HeldLock, OpenError, Pending, Prefix, Recording, Rejection, Side, State,
    Step, Validated, Violation, Waiter,
};

use crate::trace::Trace;
use std::cell::OnceCell;
use std::ops::Deref;

/// A [`checker::Checker`] that knows which trace it is of.
#[derive(Debug)]
pub struct Checker<'t> {
    trace: &'t Trace,
    checker: checker::Checker<'t>,
}

impl<'t> Checker<'t> {
    /// Prepares to check schedules of `trace`.
    #[must_use]
    pub fn new(trace: &'t Trace) -> Checker<'t> {
        let checker = checker::Checker::new(trace);
        Checker { trace, checker }
    }

    /// The trace that it checks schedules of.
    #[must_use]
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }
}

impl<'t> Deref for Checker<'t> {
    type Target = checker::Checker<'t>;

    fn deref(&self) -> &checker::Checker<'t> {
        &self.checker
    }
}

/// The checker of a trace that others have made, or else one that is made when it is first asked for: that costs as much
/// as to read the trace.
#[derive(Debug)]
pub struct Lazily<'t> {
    trace: &'t Trace,
    there: Option<&'t Checker<'t>>,
    made: OnceCell<Checker<'t>>,
}

impl<'t> Lazily<'t> {
    /// The checker of `trace`, which may be there already.
    #[must_use]
    pub fn of(trace: &'t Trace, there: Option<&'t Checker<'t>>) -> Lazily<'t> {
        Lazily {
            trace,
            there,
            made: OnceCell::new(),
        }
    }
}

impl<'t> Deref for Lazily<'t> {
    type Target = Checker<'t>;

    fn deref(&self) -> &Checker<'t> {
        let made = || self.made.get_or_init(|| Checker::new(self.trace));
        self.there.unwrap_or_else(made)
    }
}

/// Executes `trace` itself.
///
/// # Errors
/// As [`checker::Checker::validate`].
pub fn validate(trace: &Trace) -> Result<Validated, Violation> {
    Checker::new(trace).validate()
}
