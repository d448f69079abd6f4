//! What a thread does in a section of a lock, or by one access outside of any, put together access by access.

use super::guarded::Within;
use super::{Number, range};
use crate::trace::{Access, CellId, CellUse, EventId, Section, Trace};
use hashbrown::HashMap;
use std::ops::Range;

/// Values that the steps of a lock may find and leave, at most: 16 bytes each.
const MAX_VALUES: usize = 1 << 19;

/// Steps of a lock, at most: 40 bytes each.
const MAX_STEPS: usize = 1 << 17;

/// In what a step lies.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    Access,
    Shared,
    Exclusive,
}

impl Extent {
    fn of(section: Option<Section>) -> Extent {
        match section {
            None => Extent::Access,
            Some(section) if section.shared => Extent::Shared,
            Some(_) => Extent::Exclusive,
        }
    }

    /// Whether a step of this extent is completed when another one begins before which it has to begin.
    pub(super) fn is_over(self, before: Extent) -> bool {
        match (self, before) {
            (Extent::Access, _) => true,
            (_, Extent::Access) | (Extent::Shared, Extent::Shared) => false,
            (Extent::Exclusive, _) | (_, Extent::Exclusive) => true,
        }
    }
}

/// What a thread does in one section, or by one access outside of any.
pub(super) struct Step {
    pub extent: Extent,
    /// The event by which it begins: that takes the lock, or is the access.
    pub begin: EventId,
    /// The place in the thread of its last event; `None` if π does not complete it.
    pub end: Option<u32>,
    /// Where among all values those are that it finds, and that it leaves.
    pub finds: Range<u32>,
    pub leaves: Range<u32>,
}

/// A step that is being put together.
#[derive(Default)]
pub(super) struct Begun {
    step: Option<(EventId, Option<u32>, Extent)>,
    pub finds: HashMap<Number, u64>,
    leaves: HashMap<Number, u64>,
}

impl Begun {
    pub(super) fn add(&mut self, number: Number, access: Access, used: CellUse) {
        if access.kind.reads() && !self.leaves.contains_key(&number) {
            self.finds.entry(number).or_insert(used.read);
        }
        if access.kind.writes_value() {
            self.leaves.insert(number, used.written);
        }
    }

    /// Puts the step behind those of its thread.
    fn end(&mut self, steps: &mut Vec<Step>, values: &mut Vec<(Number, u64)>) {
        let Some((begin, end, extent)) = self.step.take() else {
            return;
        };
        let sorted = |found: &mut HashMap<Number, u64>| {
            let mut sorted: Vec<(Number, u64)> = found.drain().collect();
            sorted.sort_unstable();
            sorted
        };
        let (finds, leaves) = (sorted(&mut self.finds), sorted(&mut self.leaves));
        let looks_at = |step: &Step| step.leaves.is_empty() && values[range(&step.finds)] == finds[..];
        if leaves.is_empty()
            && let [.., one, last] = &mut steps[..]
            && looks_at(one)
            && looks_at(last)
        {
            // Who looks at the same again and again hinders nobody more than who does so twice.
            (last.begin, last.end, last.extent) = (begin, end, extent);
            return;
        }
        let mut put = |found: Vec<(Number, u64)>| {
            let from = values.len() as u32;
            values.extend(found);
            from..values.len() as u32
        };
        steps.push(Step {
            extent,
            begin,
            end,
            finds: put(finds),
            leaves: put(leaves),
        });
    }
}

/// The steps of each thread, and the values that they find and leave; `None` if they are too many.
#[expect(clippy::type_complexity, reason = "two lists")]
pub(super) fn steps(
    trace: &Trace,
    guarded: &HashMap<CellId, Number>,
    within: &mut Within,
) -> Option<(Vec<Vec<Step>>, Vec<(Number, u64)>)> {
    let mut begun: Vec<(Begun, Vec<Step>)> = Vec::new();
    begun.resize_with(trace.threads(), Default::default);
    let (mut values, mut count) = (Vec::new(), 0);
    for (thread, access, section) in within.accesses(trace) {
        let begin = section.and_then(|section| section.acquire).unwrap_or(access.event);
        for used in trace.uses(access) {
            let Some(&number) = guarded.get(&used.cell) else {
                continue;
            };
            let (now, steps) = &mut begun[thread.index()];
            if now.step.is_none_or(|(event, ..)| event != begin) {
                let before = steps.len();
                now.end(steps, &mut values);
                count += steps.len() - before;
                let last = section.map_or(Some(access.event), |section| section.release);
                now.step = Some((begin, last.map(|last| trace.place(last)), Extent::of(section)));
            }
            now.add(number, access, used);
        }
        if values.len() > MAX_VALUES || count > MAX_STEPS {
            return None;
        }
    }
    let ended = begun.into_iter().map(|(mut now, mut steps)| {
        now.end(&mut steps, &mut values);
        steps
    });
    Some((ended.collect(), values))
}
