//! What a thread may still do to what others use: the resources of everything below a class.
//!
//! A resource is a shared cell, an object, or the end of a thread. Two operations on no common resource, or both only
//! looking at it, can be exchanged: in either order they lead to the same state, neither enables nor disables the
//! other, and neither changes how the other turns out; nor do they race. All of that errs on one side: too much in a
//! footprint costs states, too little would lose some.

use super::tables::{AccessKind, Act, Class, Tables};
use crate::forest::{Action, ObjectId, Outcome, Patience, TreeId};
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// What stands in the way of other threads as long as some do not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Blocker {
    /// A lock that is held exclusively: nobody acquires it.
    Held(ObjectId),
    /// A thread that does not end: nobody joins it.
    Lives(TreeId),
}

/// A resource and whether it is changed there.
pub(crate) type Touch = (u32, bool);

/// Sets of resources: those looked at or changed, and those changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    touched: Vec<u64>,
    changed: Vec<u64>,
}

impl Footprint {
    /// Everything in these parts, and these touches.
    fn of(resources: usize, parts: &[&Rc<Footprint>], touches: &[Touch]) -> Rc<Footprint> {
        // Along a thread footprints change seldom, and then they are one.
        let covers = |all: &Footprint, part: &Footprint| {
            let words = all.touched.iter().chain(&all.changed);
            words
                .zip(part.touched.iter().chain(&part.changed))
                .all(|(all, part)| part & !all == 0)
        };
        let covered = |all: &Footprint, &(resource, changes): &Touch| {
            let words = if changes { &all.changed } else { &all.touched };
            words[resource as usize / 64] & (1 << (resource % 64)) != 0
        };
        if let Some(whole) = parts.iter().find(|whole| {
            parts.iter().all(|part| Rc::ptr_eq(whole, part) || covers(whole, part))
                && touches.iter().all(|touch| covered(whole, touch))
        }) {
            return Rc::clone(whole);
        }
        let words = resources.div_ceil(64);
        let mut sum = Footprint {
            touched: vec![0; words],
            changed: vec![0; words],
        };
        for part in parts {
            let words = sum.touched.iter_mut().chain(&mut sum.changed);
            for (word, &others) in words.zip(part.touched.iter().chain(&part.changed)) {
                *word |= others;
            }
        }
        for &(resource, changes) in touches {
            let (word, bit) = (resource as usize / 64, 1 << (resource % 64));
            sum.touched[word] |= bit;
            if changes {
                sum.changed[word] |= bit;
            }
        }
        Rc::new(sum)
    }

    /// Whether something in it cannot be exchanged with this.
    pub(crate) fn conflicts(&self, (resource, changes): Touch) -> bool {
        let words = if changes { &self.touched } else { &self.changed };
        words[resource as usize / 64] & (1 << (resource % 64)) != 0
    }
}

/// The footprints of all classes.
pub(crate) struct Footprints {
    cells: u32,
    objects: u32,
    resources: usize,
    /// What a thread at a class may ever do.
    below: Vec<Rc<Footprint>>,
    /// What it may do as long as something stands in its way.
    before: HashMap<(u32, Blocker), Rc<Footprint>>,
    /// Semaphores whose counts are asked for.
    counted: HashSet<ObjectId>,
}

impl Footprints {
    pub(crate) fn of(tables: &Tables<'_>) -> Footprints {
        let (cells, objects) = (tables.initial.len() as u32, tables.forest.objects() as u32);
        let resources = (cells + objects) as usize + tables.forest.trees().len();
        let empty = Footprint::of(resources, &[], &[]);
        let mut footprints = Footprints {
            cells,
            objects,
            resources,
            below: vec![empty; tables.classes.len()],
            before: HashMap::new(),
            counted: tables.counted().collect(),
        };
        // What follows a class has a lower number, but for loops.
        let loops = tables.classes.iter().any(|class| class.in_loop);
        while footprints.gather(tables) && loops {}
        footprints
    }

    /// Whether a footprint has changed.
    fn gather(&mut self, tables: &Tables<'_>) -> bool {
        let mut changed = false;
        let mut touches = Vec::new();
        for id in 0..tables.classes.len() {
            let class = tables.class(id as u32);
            touches.clear();
            self.touches(class, &mut touches);
            let mut parts: Vec<&Rc<Footprint>> = class.edges.iter().map(|edge| &self.below[edge.to as usize]).collect();
            if let Act::Fork(tree) = class.act {
                parts.push(&self.below[tables.root(tree) as usize]);
            }
            let sum = Footprint::of(self.resources, &parts, &touches);
            if self.below[id] != sum {
                self.below[id] = sum;
                changed = true;
            }
        }
        changed
    }

    fn object(&self, object: ObjectId) -> u32 {
        self.cells + object.0
    }

    /// The resource that the end of a thread is.
    pub(crate) fn end_of(&self, thread: u32) -> u32 {
        self.cells + self.objects + thread
    }

    /// What the operation of a class touches, but for the end of its thread: threads that go on alike may share a
    /// class.
    pub(crate) fn touches(&self, class: &Class, out: &mut Vec<Touch>) {
        match class.act {
            Act::Access(kind) => {
                let changes = match kind {
                    AccessKind::Read | AccessKind::Use => false,
                    AccessKind::AtomicRead => class.edges.iter().any(|edge| !edge.leaves.is_empty()),
                    AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free => true,
                };
                out.extend(class.cells.iter().map(|&cell| (cell, changes)));
            }
            // Permits may be given in any order, unless somebody counts them meanwhile.
            Act::On(Action::Post(semaphore)) if self.counted.contains(&semaphore) => {
                out.push((self.object(semaphore), true));
            }
            Act::Count(semaphore) => out.push((self.object(semaphore), false)),
            Act::On(action) => {
                let touches = action.touches().into_iter().flatten();
                out.extend(touches.map(|(object, changes)| (self.object(object), changes)));
            }
            Act::Join(tree) => out.push((self.end_of(tree.0), false)),
            Act::Fork(tree) => out.push((self.end_of(tree.0), true)),
            Act::Unknown | Act::Ended | Act::Stops | Act::Local { .. } | Act::Begin | Act::End => {}
        }
    }

    /// Whether a thread at a class may ever touch what cannot be exchanged with this.
    pub(crate) fn may_touch(&self, id: u32, touch: Touch) -> bool {
        self.below[id as usize].conflicts(touch)
    }

    /// As [`may_touch`](Self::may_touch), as long as this stands in its way.
    pub(crate) fn may_touch_before(&mut self, tables: &Tables<'_>, id: u32, blocker: Blocker, touch: Touch) -> bool {
        self.before(tables, id, blocker).conflicts(touch)
    }

    fn before(&mut self, tables: &Tables<'_>, id: u32, blocker: Blocker) -> &Footprint {
        if tables.class(id).reaches_loop {
            return &self.below[id as usize];
        }
        if !self.before.contains_key(&(id, blocker)) {
            self.fill_before(tables, id, blocker);
        }
        &self.before[&(id, blocker)]
    }

    fn fill_before(&mut self, tables: &Tables<'_>, id: u32, blocker: Blocker) {
        let mut all = vec![id];
        let mut met: HashSet<u32> = HashSet::new();
        met.insert(id);
        let mut done = 0;
        while let Some(&id) = all.get(done) {
            done += 1;
            for to in after(tables, tables.class(id), blocker) {
                if !self.before.contains_key(&(to, blocker)) && !tables.class(to).reaches_loop && met.insert(to) {
                    all.push(to);
                }
            }
        }
        // What follows a class has a lower number.
        all.sort_unstable();
        for id in all {
            let class = tables.class(id);
            let mut touches = Vec::new();
            match stopped_by(class, blocker) {
                None => self.touches(class, &mut touches),
                Some(Stopped::Waits) => {}
                Some(Stopped::Looks(object)) => touches.push((self.object(object), false)),
                Some(Stopped::MayTimeOut(condition)) => touches.push((self.object(condition), true)),
                Some(Stopped::FindsRunning(tree)) => touches.push((self.end_of(tree.0), false)),
            }
            let parts: Vec<&Rc<Footprint>> = after(tables, class, blocker)
                .map(|to| self.before.get(&(to, blocker)).unwrap_or(&self.below[to as usize]))
                .collect();
            let sum = Footprint::of(self.resources, &parts, &touches);
            self.before.insert((id, blocker), sum);
        }
    }
}

/// How something in the way of a thread keeps it from going on.
enum Stopped {
    /// It waits.
    Waits,
    /// It looks at the object, and gives up.
    Looks(ObjectId),
    /// It may leave the wait set.
    MayTimeOut(ObjectId),
    /// It looks whether the thread has ended, and gives up.
    FindsRunning(TreeId),
}

fn stopped_by(class: &Class, blocker: Blocker) -> Option<Stopped> {
    let patient = class.patience == Patience::Endless;
    match (class.act, blocker) {
        (Act::On(Action::Acquire(lock, _)), Blocker::Held(held)) if lock == held => {
            Some(if patient { Stopped::Waits } else { Stopped::Looks(lock) })
        }
        (Act::On(Action::WaitEnd(condition, lock)), Blocker::Held(held)) if lock == held => Some(if patient {
            Stopped::Waits
        } else {
            Stopped::MayTimeOut(condition)
        }),
        (Act::Join(tree), Blocker::Lives(lives)) if tree == lives => Some(if patient {
            Stopped::Waits
        } else {
            Stopped::FindsRunning(tree)
        }),
        _ => None,
    }
}

/// The classes that a thread may come to from one in a step, as long as something stands in its way, and where threads
/// begin that it forks.
fn after<'t>(tables: &'t Tables<'_>, class: &'t Class, blocker: Blocker) -> impl Iterator<Item = u32> + 't {
    let stopped = stopped_by(class, blocker);
    let edges = class.edges.iter().filter(move |edge| match stopped {
        None => true,
        Some(Stopped::Looks(_) | Stopped::FindsRunning(_)) => edge.outcome == Outcome::GaveUp,
        Some(Stopped::Waits | Stopped::MayTimeOut(_)) => false,
    });
    let forked = match class.act {
        Act::Fork(tree) => Some(tables.root(tree)),
        _ => None,
    };
    edges.map(|edge| edge.to).chain(forked)
}
