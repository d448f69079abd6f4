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
    touched: Resources,
    changed: Resources,
}

/// Words of a piece of a set.
const WORDS: usize = 32;

/// A set, in pieces that sets have in common: along a thread they differ by one resource from class to class, and there
/// may be as many resources as classes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resources {
    /// `None` stands for a piece with nothing in it.
    pieces: Vec<Option<Rc<[u64; WORDS]>>>,
}

impl Resources {
    fn none_of(resources: usize) -> Resources {
        Resources {
            pieces: vec![None; resources.div_ceil(WORDS * u64::BITS as usize)],
        }
    }

    /// The piece, the word and the bit of a resource.
    fn place(resource: u32) -> (usize, usize, u64) {
        let word = (resource / u64::BITS) as usize;
        (word / WORDS, word % WORDS, 1 << (resource % u64::BITS))
    }

    fn has(&self, resource: u32) -> bool {
        let (piece, word, bit) = Resources::place(resource);
        self.pieces[piece].as_ref().is_some_and(|words| words[word] & bit != 0)
    }

    fn insert(&mut self, resource: u32) {
        if !self.has(resource) {
            let (piece, word, bit) = Resources::place(resource);
            Rc::make_mut(self.pieces[piece].get_or_insert_default())[word] |= bit;
        }
    }

    /// Whether all of another set is in it.
    fn covers(&self, part: &Resources) -> bool {
        self.pieces.iter().zip(&part.pieces).all(|pieces| match pieces {
            (_, None) => true,
            (None, Some(part)) => part.iter().all(|&word| word == 0),
            (Some(all), Some(part)) => covers(all, part),
        })
    }

    fn add(&mut self, part: &Resources) {
        for (all, part) in self.pieces.iter_mut().zip(&part.pieces) {
            match (all, part) {
                (_, None) => {}
                (all @ None, Some(_)) => all.clone_from(part),
                (Some(all), Some(part)) if covers(all, part) => {}
                (Some(all), Some(part)) if covers(part, all) => all.clone_from(part),
                (Some(all), Some(part)) => {
                    let words = Rc::make_mut(all).iter_mut().zip(part.iter());
                    words.for_each(|(all, part)| *all |= part);
                }
            }
        }
    }
}

fn covers(all: &Rc<[u64; WORDS]>, part: &Rc<[u64; WORDS]>) -> bool {
    Rc::ptr_eq(all, part) || all.iter().zip(part.iter()).all(|(all, part)| part & !all == 0)
}

impl Footprint {
    /// Everything in these parts, and these touches.
    fn of(resources: usize, parts: &[&Rc<Footprint>], touches: &[Touch]) -> Rc<Footprint> {
        // Along a thread footprints change seldom, and then they are one.
        if let Some(whole) = parts.iter().find(|whole| {
            parts.iter().all(|part| Rc::ptr_eq(whole, part) || whole.covers(part))
                && touches.iter().all(|touch| whole.has(touch))
        }) {
            return Rc::clone(whole);
        }
        let mut sum = match parts.first() {
            Some(first) => Footprint::clone(first),
            None => Footprint {
                touched: Resources::none_of(resources),
                changed: Resources::none_of(resources),
            },
        };
        for part in parts.iter().skip(1) {
            sum.touched.add(&part.touched);
            sum.changed.add(&part.changed);
        }
        for &(resource, changes) in touches {
            sum.touched.insert(resource);
            if changes {
                sum.changed.insert(resource);
            }
        }
        Rc::new(sum)
    }

    fn covers(&self, part: &Footprint) -> bool {
        self.touched.covers(&part.touched) && self.changed.covers(&part.changed)
    }

    fn has(&self, &(resource, changes): &Touch) -> bool {
        let set = if changes { &self.changed } else { &self.touched };
        set.has(resource)
    }

    /// Whether something in it cannot be exchanged with this.
    pub(crate) fn conflicts(&self, (resource, changes): Touch) -> bool {
        let set = if changes { &self.touched } else { &self.changed };
        set.has(resource)
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
            Act::Unknown | Act::Ended | Act::Stops | Act::Local { .. } | Act::Fence | Act::Begin | Act::End => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_pieces_hold_what_sets_of_their_own_would() {
        // Enough for three pieces, the last one in part.
        const RESOURCES: usize = 2 * WORDS * u64::BITS as usize + 100;
        let mut number = 1_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        let mut all: Vec<(Rc<Footprint>, HashSet<Touch>)> = Vec::new();
        for _ in 0..300 {
            let touches: Vec<Touch> = (0..below(4))
                .map(|_| (below(RESOURCES) as u32, below(2) == 0))
                .collect();
            let parts: Vec<usize> = (0..below(4).min(all.len())).map(|_| below(all.len())).collect();
            let of_parts: Vec<&Rc<Footprint>> = parts.iter().map(|&part| &all[part].0).collect();
            let made = Footprint::of(RESOURCES, &of_parts, &touches);
            let mut expected: HashSet<Touch> = touches.iter().map(|&(resource, _)| (resource, false)).collect();
            expected.extend(&touches);
            parts.iter().for_each(|&part| expected.extend(&all[part].1));
            all.push((made, expected));
        }
        // Also of those that others were made of since.
        for (made, expected) in &all {
            for touch in (0..RESOURCES as u32).flat_map(|resource| [(resource, false), (resource, true)]) {
                assert_eq!(made.has(&touch), expected.contains(&touch));
                // Who changes it cannot be exchanged with whoever touches it, who looks at it with whoever changes it.
                assert_eq!(made.conflicts(touch), expected.contains(&(touch.0, !touch.1)));
            }
        }
    }
}
