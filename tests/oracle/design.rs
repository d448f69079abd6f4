//! What a user's file says of threads: priorities, and which never run at the same time. Section 4 of `docs/SEMANTICS.md`
//! says what of two events of a thread follows from that.

use super::execution::Execution;
use trace_format::{EventId, Op, Tables};
use witness::design::{Design, Stated};

/// What is said of the threads of a program.
#[derive(Debug)]
pub struct Said {
    /// By thread.
    priorities: Vec<Option<i64>>,
    apart: Option<(u32, u32)>,
}

impl Said {
    /// Of some programs nothing, of others this or that.
    pub fn of(threads: u32, random: &mut fastrand::Rng) -> Said {
        let priorities = match random.u32(..4) {
            0 => (0..threads)
                .map(|_| Some(i64::from(random.u32(..3))).filter(|_| random.u32(..4) > 0))
                .collect(),
            _ => vec![None; threads as usize],
        };
        let apart = (random.u32(..6) == 0 && threads > 1).then(|| {
            let first = random.u32(..threads - 1);
            (first, random.u32(first + 1..threads))
        });
        Said { priorities, apart }
    }

    /// Adds it to a design, and names for the threads to the tables.
    pub fn add_to(&self, design: &mut Design, tables: &mut Tables) {
        for (number, thread) in tables.threads.iter_mut().enumerate() {
            thread.name = Some(format!("T{number}"));
        }
        for (number, priority) in self.priorities.iter().enumerate() {
            design.priorities.extend(priority.map(|priority| Stated {
                line: 2,
                what: (format!("T{number}"), priority),
            }));
        }
        design.apart.extend(self.apart.map(|(one, other)| Stated {
            line: 3,
            what: [format!("T{one}"), format!("T{other}")],
        }));
    }

    /// Whether it says anything of threads.
    pub fn speaks(&self) -> bool {
        self.apart.is_some() || self.priorities.iter().any(Option::is_some)
    }

    /// Whether it says that an operation of the second event's thread never comes between these two of another.
    pub fn keeps_out(&self, execution: &Execution, (from, to): (EventId, EventId), by: EventId) -> bool {
        let (own, other) = (execution.thread(from), execution.thread(by));
        if self.apart == Some((own.min(other), own.max(other))) {
            return true;
        }
        let of = |thread: u32| self.priorities[thread as usize];
        let lower = of(own).zip(of(other)).is_some_and(|(own, other)| other <= own);
        let places = execution.place(from) as usize + 1..execution.place(to) as usize;
        lower
            && !execution.of_thread(own)[places]
                .iter()
                .any(|&event| may_wait(execution.op(event)))
    }
}

/// Whether an operation may wait.
fn may_wait(op: &Op) -> bool {
    match op {
        Op::Acquire { attempt, .. } | Op::AcquireShared { attempt, .. } | Op::Join { attempt, .. } => !attempt,
        Op::SemWait { .. }
        | Op::AcquireFailed { .. }
        | Op::WaitBegin { .. }
        | Op::WaitEnd { .. }
        | Op::SemWaitFailed { .. } => true,
        Op::BarrierEnter { .. } | Op::BarrierExit { .. } | Op::OnceBegin { .. } | Op::OnceWait { .. } => true,
        Op::Input { .. } => true,
        _ => false,
    }
}
