//! Who gives what others need, and who takes it: by object and thread, in the order of π.
//!
//! Posts and waits of a semaphore, notifies of a condition, ends of a once cell's initializations.

use crate::semantics::Need;
use crate::semantics::semaphores::Step;
use crate::trace::{EventId, ObjectId, ThreadId, Trace};
use hashbrown::HashMap;

/// Events of one kind at one object.
#[derive(Default)]
pub(super) struct Events {
    all: Vec<EventId>,
    by_thread: Vec<(ThreadId, Vec<EventId>)>,
}

impl Events {
    fn of(trace: &Trace, all: Vec<EventId>) -> Events {
        let mut places: HashMap<ThreadId, usize> = HashMap::new();
        let mut by_thread: Vec<(ThreadId, Vec<EventId>)> = Vec::new();
        for &event in &all {
            let thread = trace.thread(event);
            let at = *places.entry(thread).or_insert_with(|| {
                by_thread.push((thread, Vec::new()));
                by_thread.len() - 1
            });
            by_thread[at].1.push(event);
        }
        Events { all, by_thread }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[EventId] {
        &self.all
    }

    /// Those of each thread that has any.
    pub(super) fn by_thread(&self) -> &[(ThreadId, Vec<EventId>)] {
        &self.by_thread
    }

    /// Those before an event, from another on.
    pub(super) fn between(&self, from: EventId, until: EventId) -> &[EventId] {
        let from = self.all.partition_point(|&event| event < from);
        let until = self.all.partition_point(|&event| event < until);
        &self.all[from..until.max(from)]
    }

    fn before(&self, event: EventId) -> i64 {
        self.all.partition_point(|&other| other < event) as i64
    }
}

/// The users of all objects.
#[derive(Default)]
pub(super) struct Users {
    givers: HashMap<ObjectId, Events>,
    takers: HashMap<ObjectId, Events>,
    nobody: Events,
}

impl Users {
    pub(super) fn of(trace: &Trace) -> Users {
        let (mut givers, mut takers) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for (event, need) in trace.operations_with(Need::served_by) {
            match need {
                Need::Wake(object) | Need::Permit(object) | Need::Initialization(object) => {
                    givers.entry(object).or_default().push(event);
                }
                Need::Count(_) | Need::Holder { .. } => {}
            }
        }
        for (event, (semaphore, step)) in trace.operations_with(Step::of) {
            if step == Step::Wait {
                takers.entry(semaphore).or_default().push(event);
            }
        }
        let of = |found: HashMap<ObjectId, Vec<EventId>>| {
            let found = found.into_iter();
            found.map(|(object, all)| (object, Events::of(trace, all))).collect()
        };
        Users {
            givers: of(givers),
            takers: of(takers),
            nobody: Events::default(),
        }
    }

    /// The posts of a semaphore, the notifies of a condition, the ends of a once cell's initializations.
    pub(super) fn givers(&self, object: ObjectId) -> &Events {
        self.givers.get(&object).unwrap_or(&self.nobody)
    }

    /// The waits of a semaphore.
    pub(super) fn takers(&self, semaphore: ObjectId) -> &Events {
        self.takers.get(&semaphore).unwrap_or(&self.nobody)
    }

    /// What the recorded events before `from` leave of a semaphore's count.
    pub(super) fn permits(&self, trace: &Trace, semaphore: ObjectId, from: EventId) -> i64 {
        i64::from(trace.initial_count(semaphore)) + self.givers(semaphore).before(from)
            - self.takers(semaphore).before(from)
    }
}
