//! Deadlocks in words, and in the results object.

use super::frames::{Frames, Stack};
use super::noise::Hidden;
use super::results::{reason_of, verdict_of};
use super::{Findings, Row, Words};
use crate::results::{DeadlockResult, WaitResult};
use crate::semantics::blocking::ends_by_anybody;
use crate::semantics::locks::Step;
use crate::trace::{EventId, ObjectId, Op, ThreadId};
use crate::verdict::{Deadlock, DeadlockKind, Instances, Pair, Refutation, Verdict};

impl Findings<'_> {
    /// The operations of a deadlock in one sentence:
    /// `thread 1 waits for mutex b at a.c:8; thread 2 waits for mutex a at a.c:16`.
    #[must_use]
    pub fn deadlock_headline(&self, deadlock: &Deadlock) -> String {
        let words = self.words();
        let operations = deadlock.example.iter().map(|&event| {
            let thread = words.thread(self.trace.thread(event));
            format!(
                "{thread} {} at {}",
                words.wait(event, &deadlock.example),
                words.place(event)
            )
        });
        operations.collect::<Vec<_>>().join("; ")
    }

    /// The results object of a deadlock.
    pub(super) fn deadlock_result(&self, row: &Row<'_, Deadlock>, frames: &Frames) -> DeadlockResult {
        let (words, trace) = (self.words(), self.trace);
        let schedule = row.number.zip(self.folder);
        DeadlockResult {
            id: row.id.to_owned(),
            kind: row.of.kind,
            verdict: verdict_of(&row.of.verdict).to_owned(),
            reason: reason_of(&row.of.verdict).map(str::to_owned),
            explanation: words.explanation_of_deadlock(row.of),
            operations: row
                .of
                .example
                .iter()
                .map(|&event| {
                    let thread = trace.thread(event);
                    let Stack { innermost, top } = frames.stack(self, event);
                    WaitResult {
                        thread: thread.0,
                        thread_name: words.thread_name(thread).map(str::to_owned),
                        event: event.0,
                        waits_for: words.awaited(event, &row.of.example),
                        file: top.file,
                        line: top.line,
                        function: top.function,
                        stack: innermost,
                    }
                })
                .collect(),
            tried: row.of.tried,
            schedule: schedule.map(|(number, folder)| folder.join(format!("{number}.sched")).display().to_string()),
            suppressed: match row.hidden {
                Some(Hidden::Suppressed(line)) => Some(line.clone()),
                Some(Hidden::Known | Hidden::Elsewhere) | None => None,
            },
            known: row.hidden == Some(&Hidden::Known),
            trace: None,
        }
    }
}

impl Deadlock {
    /// What reports call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            DeadlockKind::Cycle | DeadlockKind::Standstill => "deadlock",
            DeadlockKind::Partial => "partial deadlock",
        }
    }
}

impl Words<'_> {
    /// What an operation of a deadlock of all these waits for: `mutex m`, `the end of thread 2`, `a post of
    /// semaphore s`.
    #[must_use]
    pub fn awaited(&self, event: EventId, all: &[EventId]) -> String {
        match self.trace.op(event) {
            Op::SemWait { semaphore } => format!("a post of {}", self.object(semaphore)),
            Op::BarrierExit { barrier, .. } => format!("the others at {}", self.object(barrier)),
            Op::OnceWait { once } => format!("the end of the initialization of {}", self.object(once)),
            Op::WaitEnd { condition, .. } if self.holder(event, all).is_none() => {
                format!("a notify of {}", self.object(condition))
            }
            Op::Join { child } => format!("the end of {}", self.thread(child)),
            Op::AcquireShared { lock } => format!("{}, to read", self.object(lock)),
            Op::WaitEnd { lock, .. } => format!("{} again, to return from a wait", self.object(lock)),
            op => op.lock().map_or_else(String::new, |lock| self.object(lock)),
        }
    }

    /// Which thread of a deadlock of all these holds the lock that one of the operations waits for.
    #[must_use]
    pub fn holder(&self, event: EventId, all: &[EventId]) -> Option<ThreadId> {
        let lock = self.trace.op(event).lock()?;
        let at = all.iter().position(|&other| other == event).map_or(0, |at| at + 1);
        let (before, behind) = all.split_at(at);
        let mut others = behind.iter().chain(before).filter(|&&other| other != event);
        let holder = others.find(|&&other| self.holds(other, lock))?;
        Some(self.trace.thread(*holder))
    }

    /// Whether a deadlock of all these is one because nobody else is left: some wait for what any thread might do.
    #[must_use]
    pub fn stands_still(&self, all: &[EventId]) -> bool {
        all.iter().any(|&event| match self.trace.op(event) {
            Op::WaitEnd { .. } => self.holder(event, all).is_none(),
            op => ends_by_anybody(op),
        })
    }

    /// Whether the thread of an event holds a lock before it.
    fn holds(&self, event: EventId, lock: ObjectId) -> bool {
        let order = self.trace.program_order(self.trace.thread(event));
        let before = order.until(self.trace.place(event) as usize);
        let (mut depth, mut given_up) = (0_u32, Vec::new());
        for (of, step) in before.filter_map(|before| Step::of(self.trace.op(before))) {
            match step {
                _ if of != lock => {}
                Step::Take { .. } => depth += 1,
                Step::GiveBack => depth = depth.saturating_sub(1),
                Step::GiveUp => given_up.push(std::mem::take(&mut depth)),
                Step::TakeAgain => depth = given_up.pop().unwrap_or(1),
                Step::FindHeld { .. } => {}
            }
        }
        depth > 0
    }

    /// The same as a sentence: `waits for mutex m`.
    #[must_use]
    pub fn wait(&self, event: EventId, all: &[EventId]) -> String {
        format!("waits for {}", self.awaited(event, all))
    }

    /// One sentence for each fact that the verdict on a deadlock leans on; none for a witnessed one.
    #[must_use]
    pub fn explanation_of_deadlock(&self, deadlock: &Deadlock) -> Vec<String> {
        let by = |acquired: Option<EventId>| {
            let thread = self.trace.thread(acquired?);
            let mut example = deadlock.example.iter().copied();
            example.find(|&event| self.trace.thread(event) == thread)
        };
        let (held_first, held_last) = match &deadlock.verdict {
            Verdict::Refuted(Refutation::CommonLock { acquired, .. }) => (by(acquired.0), by(acquired.1)),
            _ => (None, None),
        };
        let (first, last) = (deadlock.example.first().copied(), deadlock.example.last().copied());
        let (Some(first), Some(last)) = (held_first.or(first), held_last.or(last)) else {
            return Vec::new();
        };
        self.explanation(&Pair {
            positions: (self.trace.pc(first), self.trace.pc(last)),
            example: (first, last),
            verdict: deadlock.verdict.clone(),
            instances: Instances {
                total: deadlock.tried,
                tried: deadlock.tried,
                ..Instances::default()
            },
            behind: None,
            order: None,
        })
    }
}
