//! Once cells: found initialized only after some initialization has ended.

use super::InOrder;
use super::passing::{Among, Passing};
use crate::trace::{EventId, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;

/// What an operation does at a once cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Starts to initialize it.
    Begin,
    /// Has initialized it.
    End,
    /// Finds it initialized.
    Wait,
}

impl Step {
    /// What an operation does at which once cell.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::OnceBegin { once } => Some((once, Step::Begin)),
            Op::OnceEnd { once } => Some((once, Step::End)),
            Op::OnceWait { once } => Some((once, Step::Wait)),
            _ => None,
        }
    }

    /// The once cell that is initialized after an operation, because of it.
    #[must_use]
    pub fn initializes(op: Op) -> Option<ObjectId> {
        Step::of(op).and_then(|(once, step)| (step == Step::End).then_some(once))
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Begin => InOrder::WithNone,
            Step::End => InOrder::WithAll,
            Step::Wait => InOrder::WithChanges,
        }
    }

    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Begin => &[],
            Step::End => &[Passing::Tells(Among::Givers)],
            Step::Wait => &[Passing::Learns(Among::Givers)],
        }
    }

    pub(super) fn words(self, once: &str) -> String {
        match self {
            Step::Begin => format!("starts to initialize {once}"),
            Step::End => format!("has initialized {once}"),
            Step::Wait => format!("finds {once} initialized"),
        }
    }
}

/// How far the initialization of a cell is that whoever comes first initializes, while all others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has come.
    NotBegun,
    /// Somebody is about it.
    Begun,
    /// It is initialized.
    Done,
}

impl Progress {
    /// What a thread does that comes to the cell; `None`: it waits.
    #[must_use]
    pub fn for_who_comes(self) -> Option<Step> {
        match self {
            Progress::NotBegun => Some(Step::Begin),
            Progress::Begun => None,
            Progress::Done => Some(Step::Wait),
        }
    }
}

/// What is initialized once. Whoever comes first does it, so that the initializer precedes whatever waits for it is
/// structure; that *this* thread's earlier events do is an outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Initializers {
    /// By thread: where an initializer begins and ends in program order, and the object.
    sections: HashMap<ThreadId, Vec<(u32, u32, ObjectId)>>,
    /// By object: each thread's first event behind which it is initialized.
    waits: HashMap<ObjectId, HashMap<ThreadId, EventId>>,
}

impl Initializers {
    pub(crate) fn of(trace: &Trace) -> Initializers {
        let mut found = Initializers::default();
        let mut begun: HashMap<(ThreadId, ObjectId), u32> = HashMap::new();
        let mut initializers: HashMap<ObjectId, u32> = HashMap::new();
        for (event, (once, step)) in trace.operations_with(Step::of) {
            let (thread, place) = (trace.thread(event), trace.place(event));
            match step {
                Step::Begin => {
                    begun.insert((thread, once), place);
                    *initializers.entry(once).or_default() += 1;
                }
                Step::End => {
                    if let Some(from) = begun.remove(&(thread, once)) {
                        found.sections.entry(thread).or_default().push((from, place, once));
                    } else {
                        // It began before the trace, and is another one.
                        *initializers.entry(once).or_default() += 1;
                    }
                }
                Step::Wait => {
                    found.waits.entry(once).or_default().entry(thread).or_insert(event);
                }
            }
        }
        // Of several initializations, another one may have ended before.
        found.waits.retain(|once, _| initializers.get(once) == Some(&1));
        found
    }

    /// Whether one of the two is done by an initializer that the other waits for, by what comes `before` what in
    /// structure.
    pub(crate) fn order(
        &self,
        trace: &Trace,
        before: impl Fn(EventId, EventId) -> bool,
        a: EventId,
        b: EventId,
    ) -> bool {
        let within = |inside: EventId, after: EventId| {
            let place = trace.place(inside);
            let sections = self.sections.get(&trace.thread(inside)).into_iter().flatten();
            let mut done = sections.filter(|&&(from, until, _)| from < place && place < until);
            done.any(|(.., once)| {
                let mut waits = self.waits.get(once).into_iter().flat_map(HashMap::values);
                waits.any(|&wait| before(wait, after))
            })
        };
        within(a, b) || within(b, a)
    }
}
