//! Regions that a program marks itself: what lies between two calls of its threads is meant to be atomic.

use crate::trace::{EventId, ThreadId, Trace};
use trace_format::MarkKind;

/// The regions of a trace.
pub(super) struct Marked {
    /// By thread, in the order in which they begin: events from here on, up to there, and the number of the name.
    of_thread: Vec<Vec<Stretch>>,
    names: Vec<String>,
}

struct Stretch {
    begin: u64,
    end: u64,
    name: u32,
    /// The latest end of this and all that begin before.
    latest: u64,
}

impl Marked {
    pub(super) fn of(trace: &Trace) -> Marked {
        let mut marked = Marked {
            of_thread: (0..trace.threads()).map(|_| Vec::new()).collect(),
            names: Vec::new(),
        };
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); trace.threads()];
        for mark in &trace.tables().marks {
            let thread = mark.thread.index();
            let (Some(stretches), Some(open)) = (marked.of_thread.get_mut(thread), open.get_mut(thread)) else {
                continue;
            };
            match mark.kind {
                MarkKind::AtomicBegin => {
                    let known = marked.names.iter().position(|name| *name == mark.text);
                    let name = known.unwrap_or_else(|| {
                        marked.names.push(mark.text.clone());
                        marked.names.len() - 1
                    });
                    open.push(stretches.len());
                    stretches.push(Stretch {
                        begin: mark.before,
                        end: u64::MAX,
                        name: name as u32,
                        latest: 0,
                    });
                }
                // An end without a beginning ends nothing.
                MarkKind::AtomicEnd => {
                    if let Some(stretch) = open.pop() {
                        stretches[stretch].end = mark.before;
                    }
                }
                MarkKind::Benign | MarkKind::Ignores { .. } | MarkKind::Suppressions | MarkKind::Compared => {}
            }
        }
        for stretches in &mut marked.of_thread {
            stretches.sort_by_key(|stretch| stretch.begin);
            let mut latest = 0;
            for stretch in stretches {
                latest = stretch.end.max(latest);
                stretch.latest = latest;
            }
        }
        marked
    }

    /// The name of the innermost region that two events of a thread are in.
    pub(super) fn with_both(&self, thread: ThreadId, first: EventId, second: EventId) -> Option<u32> {
        let stretches = self.of_thread.get(thread.index())?;
        let begun = stretches.partition_point(|stretch| stretch.begin <= u64::from(first.0));
        let reaches = |end: u64| end > u64::from(second.0);
        let mut before = stretches[..begun]
            .iter()
            .rev()
            .take_while(|stretch| reaches(stretch.latest));
        before.find(|stretch| reaches(stretch.end)).map(|stretch| stretch.name)
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{MarkInfo, Tables};

    #[test]
    fn both_have_to_be_in_one_region() {
        let mark = |kind, thread, before, text: &str| MarkInfo {
            kind,
            thread: ThreadId(thread),
            before,
            addr: 0,
            size: 0,
            text: text.to_owned(),
        };
        let (begin, end) = (MarkKind::AtomicBegin, MarkKind::AtomicEnd);
        let tables = Tables {
            threads: vec![Default::default(); 2],
            marks: vec![
                mark(end, 0, 1, ""),
                mark(begin, 0, 2, "outer"),
                mark(begin, 1, 3, "other"),
                mark(begin, 0, 4, "inner"),
                mark(end, 0, 6, ""),
                mark(end, 0, 9, ""),
                mark(begin, 0, 9, "again"),
            ],
            ..Tables::default()
        };
        let marked = Marked::of(&Trace::from_events(tables, &[]));
        let of = |thread, first, second| {
            let name = marked.with_both(ThreadId(thread), EventId(first), EventId(second));
            name.map(|name| marked.names[name as usize].as_str())
        };
        assert_eq!(of(0, 4, 5), Some("inner"));
        assert_eq!(of(0, 4, 6), Some("outer"));
        assert_eq!(of(0, 2, 8), Some("outer"));
        assert_eq!(of(0, 1, 3), None);
        assert_eq!(of(0, 8, 9), None, "another instance");
        assert_eq!(of(0, 9, 90), Some("again"), "it has not ended");
        assert_eq!(of(1, 2, 3), None);
        assert_eq!(of(1, 3, 30), Some("other"));
    }
}
