//! Which address of one run is which of another.
//!
//! Two runs of a program differ in where things are: the kernel may place modules and stacks at
//! random, and blocks come from the heap in another order. An address in a block corresponds to
//! the same offset in the block that the same event of the same thread allocated. Code and static
//! data keep their distance from the module's base. Of anything else only the identity is known:
//! the first two addresses that meet are taken for the same place, and have to stay so.

use crate::trace::IncarnationId;
use hashbrown::{HashMap, HashSet};
use object::{Object, ObjectSegment};
use std::collections::BTreeMap;
use trace_format::{ModuleInfo, Tables};

/// How far from a known place its distance to the other run's is taken to hold (a stack frame).
const NEAR: u64 = 1 << 16;

/// Bytes of a module at most.
const LARGEST: u64 = 4 << 30;

/// A block of the recorded run, and where it is in the live one.
#[derive(Clone, Copy, Debug)]
struct Block {
    recorded: u64,
    len: u64,
    live: u64,
}

impl Block {
    fn live(self, recorded: u64) -> Option<u64> {
        self.live_or_end(recorded).filter(|&live| live < self.live + self.len)
    }

    /// As [`live`](Self::live), or of the first address behind the block, at which the end of an array points.
    fn live_or_end(self, recorded: u64) -> Option<u64> {
        let offset = recorded.checked_sub(self.recorded)?;
        (offset <= self.len).then(|| self.live.wrapping_add(offset))
    }
}

/// The stack of a thread, of which others may know before the thread runs: its handle points into it.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// What the thread's first events allocate.
    pub incarnation: IncarnationId,
    /// The recorded run's addresses.
    pub recorded: (u64, u64),
}

/// A correspondence of addresses.
#[derive(Debug)]
pub struct Places {
    /// Two blocks may have been at one address: a schedule may allocate the second before the first
    /// is freed.
    blocks: HashMap<IncarnationId, Block>,
    /// Blocks in which offsets say nothing.
    loose: HashSet<IncarnationId>,
    /// Modules by their base: their end, and the other run's base.
    modules: BTreeMap<u64, (u64, u64)>,
    met: BTreeMap<u64, u64>,
    met_back: BTreeMap<u64, u64>,
    stacks: Vec<Stack>,
    /// How far off a stack is in the other run, from the first value that pointed into it before its thread ran.
    stacks_off: HashMap<IncarnationId, u64>,
}

impl Places {
    /// From what is mapped where in the two runs; `end` says where a recorded module ends.
    #[must_use]
    pub fn new(recorded: &Tables, live: &Tables, end: impl Fn(&ModuleInfo) -> u64) -> Places {
        let other = |module: &ModuleInfo| {
            let same = |other: &&ModuleInfo| same_module(module, other);
            live.modules.iter().find(same).map(|other| other.base)
        };
        let modules = recorded.modules.iter();
        Places {
            blocks: HashMap::new(),
            loose: HashSet::new(),
            modules: modules
                .filter_map(|module| Some((module.base, (end(module), other(module)?))))
                .collect(),
            met: BTreeMap::new(),
            met_back: BTreeMap::new(),
            stacks: Vec::new(),
            stacks_off: HashMap::new(),
        }
    }

    /// The stacks of threads.
    pub fn expect_stacks(&mut self, stacks: impl IntoIterator<Item = Stack>) {
        self.stacks.extend(stacks);
    }

    /// The event that began this incarnation, at `recorded`, gave `len` bytes at `live`.
    pub fn allocated(&mut self, incarnation: IncarnationId, recorded: u64, live: u64, len: u64) {
        self.blocks.insert(incarnation, Block { recorded, len, live });
    }

    /// This incarnation is a block in which the same thing may be at another offset: the main
    /// thread's stack, above which the kernel puts arguments and environment.
    pub fn allocated_loosely(&mut self, incarnation: IncarnationId) {
        self.loose.insert(incarnation);
    }

    /// The live run's address, if anything is known of it.
    #[must_use]
    pub fn live(&self, incarnation: IncarnationId, recorded: u64) -> Option<u64> {
        self.certain(incarnation, recorded).or_else(|| {
            let (met, live) = near(&self.met, recorded)?;
            Some(live.wrapping_add(recorded.wrapping_sub(met)))
        })
    }

    /// As [`live`](Self::live), without a guess from the neighborhood.
    fn certain(&self, incarnation: IncarnationId, recorded: u64) -> Option<u64> {
        if !self.is_loose(incarnation) {
            return self.blocks.get(&incarnation)?.live(recorded);
        }
        let module = self.modules.range(..=recorded).next_back();
        module
            .filter(|&(_, &(end, _))| recorded < end)
            .map(|(&base, &(_, live))| live + (recorded - base))
            .or_else(|| self.met.get(&recorded).copied())
    }

    fn is_loose(&self, incarnation: IncarnationId) -> bool {
        incarnation == IncarnationId::STATIC || self.loose.contains(&incarnation)
    }

    /// Whether the two addresses are the same place; from now on they are, if nothing was known.
    pub fn meet(&mut self, incarnation: IncarnationId, recorded: u64, live: u64) -> bool {
        if let Some(known) = self.certain(incarnation, recorded) {
            return known == live;
        }
        if !self.is_loose(incarnation) || *self.met_back.entry(live).or_insert(recorded) != recorded {
            return false;
        }
        self.met.insert(recorded, live);
        true
    }

    /// Whether two objects may be the same, by where they are.
    #[must_use]
    pub fn same_object(&self, recorded: u64, live: u64) -> bool {
        let mut blocks = self.blocks.values().filter_map(|block| block.live(recorded)).peekable();
        match (self.certain(IncarnationId::STATIC, recorded), blocks.peek()) {
            (Some(known), _) if known == live => true,
            (_, Some(_)) => blocks.any(|known| known == live),
            (known, None) => known.is_none(),
        }
    }

    /// Whether a value is the same in both runs: equal, or addresses of the same place, or of memory
    /// that nothing is known of but where it is (a main thread's stack, the arguments above it): an
    /// access through it is then compared by itself.
    #[must_use]
    pub fn same_value(&mut self, recorded: u64, live: u64) -> bool {
        let in_a_block = || {
            self.blocks
                .values()
                .any(|block| block.live_or_end(recorded) == Some(live))
        };
        let unknown = || {
            self.certain(IncarnationId::STATIC, recorded).is_none()
                && near(&self.met, recorded).is_some()
                && near(&self.met_back, live).is_some()
        };
        recorded == live
            || self.certain(IncarnationId::STATIC, recorded) == Some(live)
            || in_a_block()
            || unknown()
            || self.in_a_stack_to_come(recorded, live)
    }

    /// Whether the recorded value points into the stack of a thread that has not run yet, and the other one to the same
    /// place of it as far as that is known.
    fn in_a_stack_to_come(&mut self, recorded: u64, live: u64) -> bool {
        let off = live.wrapping_sub(recorded);
        let blocks = &self.blocks;
        let mut to_come = self.stacks.iter().filter(|stack| {
            let (from, end) = stack.recorded;
            (from..end).contains(&recorded) && !blocks.contains_key(&stack.incarnation)
        });
        to_come.any(|stack| *self.stacks_off.entry(stack.incarnation).or_insert(off) == off)
    }
}

/// The address nearest to `addr` that was met, and its counterpart.
fn near(met: &BTreeMap<u64, u64>, addr: u64) -> Option<(u64, u64)> {
    let before = met.range(..addr).next_back();
    let both = before.into_iter().chain(met.range(addr..).next());
    both.map(|(&met, &other)| (met, other))
        .filter(|(met, _)| met.abs_diff(addr) < NEAR)
        .min_by_key(|(met, _)| met.abs_diff(addr))
}

/// Whether two modules hold the same code: by their build ids, else by their paths.
#[must_use]
pub fn same_module(a: &ModuleInfo, b: &ModuleInfo) -> bool {
    if a.build_id.is_empty() || b.build_id.is_empty() {
        a.path == b.path
    } else {
        a.build_id == b.build_id
    }
}

/// Where a module ends: behind its data, as its file says, or at least behind its code.
#[must_use]
pub fn end_of(module: &ModuleInfo) -> u64 {
    let data = safe_files::read_named(module.path.as_ref(), LARGEST).unwrap_or_default();
    let segments = object::File::parse(&*data).map(|file| {
        let ends = file.segments().map(|segment| segment.address() + segment.size());
        ends.max().unwrap_or(0)
    });
    module.end.max(module.base.saturating_add(segments.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, base: u64) -> ModuleInfo {
        ModuleInfo {
            path: path.to_owned(),
            base,
            start: base + 0x1000,
            end: base + 0x2000,
            ..ModuleInfo::default()
        }
    }

    fn places() -> Places {
        let tables = |base| Tables {
            modules: vec![module("app", base)],
            ..Tables::default()
        };
        Places::new(&tables(0x5555_0000_0000), &tables(0x6666_0000_0000), |module| {
            module.end + 0x3000
        })
    }

    const STATIC: IncarnationId = IncarnationId::STATIC;

    #[test]
    fn blocks_keep_offsets_also_two_at_one_address() {
        let (first, second) = (IncarnationId(1), IncarnationId(2));
        let mut places = places();
        places.allocated(first, 0x100, 0x900, 16);
        places.allocated(second, 0x108, 0x200, 16);
        assert!(places.meet(first, 0x108, 0x908) && places.meet(second, 0x108, 0x200));
        assert!(!places.meet(first, 0x108, 0x900));
        assert!(places.same_value(0x10f, 0x90f) && places.same_value(0x10f, 0x207));
        assert!(!places.same_value(0x10f, 0x910));
        assert!(places.same_value(0x110, 0x910), "the end of an array");
        assert!(!places.same_value(0x119, 0x211) && !places.meet(first, 0x110, 0x910));
        assert!(places.same_object(0x108, 0x908) && places.same_object(0x108, 0x200));
        assert!(!places.same_object(0x108, 0x108) && places.same_object(0x500, 0x600));
        assert!(
            !places.meet(IncarnationId(3), 0x500, 0x500),
            "a block that nobody allocated"
        );
    }

    #[test]
    fn a_stack_is_pointed_into_before_its_thread_runs() {
        let (first, second) = (IncarnationId(1), IncarnationId(2));
        let mut places = places();
        let stack = |incarnation, start| Stack {
            incarnation,
            recorded: (start, start + 0x1000),
        };
        places.expect_stacks([stack(first, 0x7000_0000), stack(second, 0x7100_0000)]);
        assert!(places.same_value(0x7000_0ff0, 0x6000_0ff0));
        assert!(places.same_value(0x7000_0ff8, 0x6000_0ff8) && !places.same_value(0x7000_0ff8, 0x6000_0ff0));
        assert!(!places.same_value(0x7000_1000, 0x6000_1000), "behind it");
        places.allocated(second, 0x7100_0000, 0x6200_0000, 0x1000);
        assert!(places.same_value(0x7100_0010, 0x6200_0010) && !places.same_value(0x7100_0010, 0x6300_0010));
    }

    #[test]
    fn modules_keep_their_distance_from_the_base() {
        let mut places = places();
        assert_eq!(places.live(STATIC, 0x5555_0000_4010), Some(0x6666_0000_4010));
        assert!(places.meet(STATIC, 0x5555_0000_4010, 0x6666_0000_4010));
        assert!(
            !places.meet(STATIC, 0x5555_0000_4018, 0x6666_0000_4020),
            "another variable"
        );
        assert!(places.same_value(0x5555_0000_1234, 0x6666_0000_1234));
    }

    #[test]
    fn other_addresses_are_what_they_were_when_they_first_met() {
        let mut places = places();
        assert!(places.meet(STATIC, 0x7fff_0000, 0x7ffe_1000));
        assert!(places.meet(STATIC, 0x7fff_0000, 0x7ffe_1000));
        assert!(
            !places.meet(STATIC, 0x7fff_0000, 0x7ffe_1008),
            "one place, two addresses"
        );
        assert!(
            !places.meet(STATIC, 0x7fff_0800, 0x7ffe_1000),
            "two places, one address"
        );
        assert_eq!(
            places.live(STATIC, 0x7fff_0010),
            Some(0x7ffe_1010),
            "near a known place"
        );
        assert!(
            places.same_value(0x7fff_0010, 0x7ffe_1018),
            "nothing is known of either"
        );
        assert!(!places.same_value(0x7fff_0000, 0x7ffe_1008), "one is known");
        assert!(!places.same_value(0x7fff_0010, 0x10), "no address");
    }
}
