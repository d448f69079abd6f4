//! Lives of threads: forks, joins, first and last events.

use super::Mender;
use crate::import::error::{ImportError, Malformed};
use crate::import::record::RecordOp;
use trace_format::{Op, ThreadId};

impl Mender {
    pub(super) fn fork(&mut self, line: u64, thread: u32, pc: u64, child: u32) -> Result<(), ImportError> {
        let first = self.survey.threads[child as usize].first;
        let what = if child == thread {
            self.itself(thread, "forks")
        } else if self.just_forked.get(&thread) == Some(&(child, pc)) {
            // The same line twice says nothing new.
            return Ok(());
        } else if let Some(&before) = self.forked.get(&child) {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::ForkedTwice { thread, child, before }
        } else if first != 0 && first < line {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::ForkTooLate { thread, child, first }
        } else {
            self.forked.insert(child, line);
            self.just_forked.insert(thread, (child, pc));
            self.build.created(thread, child, self.names.threads.name(child));
            let child = ThreadId(child);
            return self.build.event(line, thread, pc, Op::Fork { child });
        };
        self.fault(line, what)
    }

    pub(super) fn join(&mut self, line: u64, thread: u32, pc: u64, child: u32) -> Result<(), ImportError> {
        let last = self.survey.threads[child as usize].last;
        let last = last.max(self.survey.forks.get(&child).copied().unwrap_or(0));
        let what = if child == thread {
            self.itself(thread, "joins")
        } else if last > line {
            let (thread, child) = (self.thread(thread), self.thread(child));
            Malformed::JoinTooEarly { thread, child, last }
        } else {
            let child = ThreadId(child);
            return self.build.event(line, thread, pc, Op::Join { child, attempt: false });
        };
        self.fault(line, what)
    }

    pub(super) fn itself(&self, thread: u32, what: &'static str) -> Malformed {
        let thread = self.thread(thread);
        Malformed::Itself { thread, what }
    }

    /// `begin` and `end`: of a thread, or of atomic blocks, which order nothing.
    pub(super) fn bound(&mut self, line: u64, thread: u32, pc: u64, op: RecordOp) -> Result<(), ImportError> {
        let known = &self.survey.threads[thread as usize];
        let (first, last) = (known.first, known.last);
        if known.has_blocks() {
            return Ok(());
        }
        let name = self.thread(thread);
        match op {
            RecordOp::Begin if first < line => self.fault(line, Malformed::BeginTooLate { thread: name, first }),
            RecordOp::Begin => self.build.event(line, thread, pc, Op::Begin),
            _ if last > line => self.fault(line, Malformed::EventsAfterEnd { thread: name, last }),
            _ => self.build.event(line, thread, pc, Op::End),
        }
    }
}
