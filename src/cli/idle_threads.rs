//! Threads that were created and did nothing before the run ended.
//!
//! Nothing can be predicted about code that did not run: "0 races" then says nothing of these threads. (The recorder
//! lets other threads run before the process ends, so this happens only if a run is ended: by a limit, a signal, a
//! deadlock, or a thread that never stops.)

use trace_format::{Op, ReadError, TraceFile};

/// Longest traces that are read for this after each recording; reading a million events takes about a quarter of a second.
pub const READ_FOR_IT: u64 = 1_000_000;

/// How many threads a trace creates, and how many of them never get to begin in it.
///
/// # Errors
/// If the trace cannot be read.
pub fn count(file: &TraceFile) -> Result<(usize, usize), ReadError> {
    let mut created = Vec::new();
    let mut busy = Vec::new();
    for event in file.events() {
        let event = event?;
        if let Op::Fork { child } = event.op {
            created.push(child);
        }
        let thread = event.thread.0 as usize;
        if busy.len() <= thread {
            busy.resize(thread + 1, false);
        }
        busy[thread] = true;
    }
    let idle = created.iter().filter(|child| busy.get(child.0 as usize) != Some(&true));
    Ok((created.len(), idle.count()))
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
