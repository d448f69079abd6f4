//! Threads that were created and did nothing before the run ended.
//!
//! Nothing can be predicted about code that did not run: "0 races" then says nothing of these threads. (The recorder
//! lets other threads run before the process ends, so this happens only if a run is ended: by a limit, a signal, a
//! deadlock, or a thread that never stops.)

use trace_format::{Event, Op, ReadError, ThreadId, TraceFile};

/// Longest traces that are read for this after each recording; reading a million events takes about a quarter of a
/// second.
pub const READ_FOR_IT: u64 = 1_000_000;

/// How many threads a trace creates, and how many of them never get to begin in it.
///
/// # Errors
/// If the trace cannot be read.
pub fn count(file: &TraceFile) -> Result<(usize, usize), ReadError> {
    let mut threads = Threads::default();
    for event in file.events() {
        threads.push(&event?);
    }
    Ok(threads.count())
}

/// What the threads of a trace did so far.
#[derive(Debug, Default)]
pub struct Threads {
    created: Vec<ThreadId>,
    busy: Vec<bool>,
}

impl Threads {
    /// Goes on by the next event of the trace.
    pub fn push(&mut self, event: &Event) {
        if let Op::Fork { child } = event.op {
            self.created.push(child);
        }
        let thread = event.thread.0 as usize;
        if self.busy.len() <= thread {
            self.busy.resize(thread + 1, false);
        }
        self.busy[thread] = true;
    }

    /// How many were created, and how many of them did nothing.
    pub fn count(&self) -> (usize, usize) {
        let idle = self
            .created
            .iter()
            .filter(|child| self.busy.get(child.0 as usize) != Some(&true));
        (self.created.len(), idle.count())
    }
}

/// The warning about them, if there are any.
pub fn warning((created, idle): (usize, usize)) -> Option<String> {
    (idle > 0).then(|| {
        format!(
            "{idle} of {created} threads that the program created did nothing before the run ended: races in their code cannot \
             be predicted from it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn runs_in_which_all_threads_did_something_are_not_warned_of() {
        assert_eq!(warning((3, 0)), None);
        assert!(warning((3, 2)).is_some_and(|text| text.starts_with("2 of 3 threads")));
    }
}
