//! Checks, before a trace is analyzed, that it is an execution.
//!
//! The analysis relies on that everywhere. A trace that is no execution (the recorder missed an operation, or somebody
//! edited the file) would lead to schedules that the checker rejects, reported as an internal error.

use anyhow::bail;
use std::path::Path;
use witness::check::Checker;
use witness::trace::Trace;

/// Refuses a trace that is not an execution. One pass over it.
///
/// # Errors
/// The first event that was not possible when its turn came, and why.
pub fn must_be_execution(path: &Path, trace: &Trace) -> anyhow::Result<()> {
    if let Err(violation) = Checker::new(trace).validate() {
        bail!(
            "{} is not a sequentially consistent execution, so nothing follows from it: {violation}. In a recording of \
             witness' own this is a defect of the recorder: please report it, with the trace.",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::must_be_execution;
    use std::path::Path;
    use trace_format::{Event, Op, StackId, Tables, ThreadId};
    use witness::trace::Trace;

    fn trace(ops: &[(u32, Op)]) -> Trace {
        let events: Vec<Event> = ops
            .iter()
            .map(|&(thread, op)| Event {
                thread: ThreadId(thread),
                pc: 0,
                stack: StackId::EMPTY,
                op,
            })
            .collect();
        Trace::from_events(Tables::default(), &events)
    }

    #[test]
    fn a_thread_that_begins_before_it_is_created_is_refused() {
        let fork = (0, Op::Fork { child: ThreadId(1) });
        let begin = (1, Op::Begin);
        assert!(must_be_execution(Path::new("t"), &trace(&[fork, begin])).is_ok());
        let error = must_be_execution(Path::new("t"), &trace(&[begin, fork])).unwrap_err();
        assert!(error.to_string().contains("event 0 of thread 1"), "{error}");
    }
}
