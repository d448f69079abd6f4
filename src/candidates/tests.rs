//! The search against a look at every pair of events.

use super::*;
use crate::generate::{Generator, Shape};
use crate::prune::LockContextId;
use crate::trace::{AccessKind, ObjectId, Sections, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use trace_format::{Event, MemRange, ObjectInfo, ObjectKind, Op as FileOp, StackId, Tables, ThreadInfo};

fn trace(seed: u64) -> Trace {
    trace_of(300, seed)
}

fn trace_of(events: u64, seed: u64) -> Trace {
    trace_with(Shape {
        events,
        threads: 4,
        variables: 5,
        locks: 3,
        unprotected: 0.3,
        values: 3,
        seed,
        ..Shape::default()
    })
}

fn trace_with(shape: Shape) -> Trace {
    let generator = Generator::new(shape);
    let tables = Tables {
        threads: generator.threads(),
        objects: generator.objects(),
        ..Tables::default()
    };
    let events: Vec<Event> = generator
        .map(|(thread, pc, op)| Event {
            thread,
            pc,
            stack: StackId::EMPTY,
            op,
        })
        .collect();
    Trace::from_events(tables, &events)
}

/// The nearest instances of each candidate, where a lock that most accesses of a cell hold is looked for from so many on.
fn nearest_instances(trace: &Trace, many: usize) -> Vec<Vec<(EventId, EventId)>> {
    let (order, sections) = (MustHappenBefore::of(trace), Sections::of(trace));
    let contexts = LockContexts::of(trace, &sections);
    let needs = Needs::of(trace, &order, &sections);
    let (mut spots, _) = Spots::of(trace, &contexts, None, false);
    let mut listed = Listed {
        scope: None,
        most: usize::MAX,
        numbers: HashMap::new(),
        found: Vec::new(),
        is_full: false,
    };
    spots.pair(&contexts, false, |positions, first| listed.number(positions, first));
    let mut search = Search::new(trace, &contexts, &needs).with_many(many);
    nearest_at_spots(&mut search, &spots, &mut listed.found);
    listed
        .found
        .into_iter()
        .map(|(_, nearest)| nearest.instances())
        .collect()
}

#[test]
fn beside_a_lock_that_most_hold_the_same_instances_are_nearest() {
    let (mut compared, mut found) = (0, 0);
    for seed in 0..30 {
        let trace = trace_with(Shape {
            events: 2_000,
            threads: 5,
            variables: 4,
            locks: 3,
            unprotected: 0.02,
            values: 1_000_000_000,
            seed,
            ..Shape::default()
        });
        let all = nearest_instances(&trace, usize::MAX);
        assert_eq!(nearest_instances(&trace, 0), all, "seed {seed}");
        compared += all.len();
        found += all.iter().map(Vec::len).sum::<usize>();
    }
    assert!(compared > 500 && found > 500, "{compared} {found}");
}

/// Random numbers below a bound.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    }
}

/// Waves of threads that run the same code, some of it under a lock, and are joined together: many sites of each cell.
fn waves(seed: u64) -> Trace {
    const WAVE: u32 = 12;
    const WAVES: u32 = 6;
    let mut below = random(seed);
    let threads = 1 + WAVE * WAVES;
    let locks = 2 + threads;
    let mutex = |addr| ObjectInfo {
        kind: ObjectKind::Mutex,
        addr,
        name: None,
        initial: 0,
    };
    let tables = Tables {
        threads: vec![ThreadInfo::default(); threads as usize],
        objects: (0..u64::from(locks)).map(mutex).collect(),
        ..Tables::default()
    };
    let mut events: Vec<Event> = Vec::new();
    let mut push = |thread: u32, pc: u64, op: FileOp| {
        events.push(Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        });
    };
    let mut value = 0;
    for wave in 0..WAVES {
        let of_wave = (1 + wave * WAVE)..=((wave + 1) * WAVE);
        for child in of_wave.clone() {
            push(0, 1, FileOp::Fork { child: ThreadId(child) });
        }
        let mut left: Vec<(u32, u64)> = of_wave.clone().map(|thread| (thread, 1 + below(3))).collect();
        while !left.is_empty() {
            let at = below(left.len() as u64) as usize;
            let thread = left[at].0;
            // The locks that all share, a lock of its own, or none.
            let lock = match below(4) {
                0 => None,
                1 => Some(2 + thread),
                shared => Some(shared as u32 - 2),
            };
            let lock = lock.map(ObjectId);
            let taken = |lock| FileOp::Acquire { lock, attempt: false };
            lock.into_iter().for_each(|lock| push(thread, 2, taken(lock)));
            let mem = MemRange {
                addr: 0x100 + 8 * below(2),
                size: 8,
            };
            value += 1;
            let pc = 10 + lock.map_or(0, |lock| u64::from(lock.0.min(2)) + 1);
            push(thread, pc, FileOp::Write { mem, value });
            lock.into_iter()
                .for_each(|lock| push(thread, 3, FileOp::Release { lock }));
            left[at].1 -= 1;
            left.retain(|&(_, accesses)| accesses > 0);
        }
        for child in of_wave {
            let child = ThreadId(child);
            push(0, 4, FileOp::Join { child, attempt: false });
        }
    }
    Trace::from_events(tables, &events)
}

/// Threads that go over the elements of arrays, some under a lock and some behind a join, and one that frees them: cells
/// that are alike.
fn arrays(seed: u64) -> Trace {
    const ARRAYS: u64 = 3;
    const ELEMENTS: u64 = 12;
    let mut below = random(seed);
    let tables = Tables {
        threads: vec![ThreadInfo::default(); 4],
        objects: vec![ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: 0,
            name: None,
            initial: 0,
        }],
        ..Tables::default()
    };
    let mut events: Vec<Event> = Vec::new();
    let mut push = |thread: u32, pc: u64, op: FileOp| {
        events.push(Event {
            thread: ThreadId(thread),
            pc,
            stack: StackId::EMPTY,
            op,
        });
    };
    let address = |array: u64| 0x1000 * (array + 1);
    for array in 0..ARRAYS {
        let (addr, size) = (address(array), 4 * ELEMENTS);
        push(0, 1, FileOp::Alloc { addr, size });
    }
    let mut going: Vec<u32> = vec![0];
    let (mut memory, mut next) = (vec![[0_u32; ELEMENTS as usize]; ARRAYS as usize], 1);
    for _ in 0..10 {
        if next < 4 && below(3) == 0 {
            push(0, 2, FileOp::Fork { child: ThreadId(next) });
            going.push(next);
            next += 1;
        }
        if going.len() > 1 && below(4) == 0 {
            let child = ThreadId(going.pop().expect("more than one"));
            push(0, 3, FileOp::Join { child, attempt: false });
        }
        // Some go over an array at the same time: element by element, one after the other or to and fro.
        let array = below(ARRAYS);
        let (from, until) = (below(ELEMENTS / 2), ELEMENTS - below(ELEMENTS / 2));
        let walkers: Vec<u32> = going.iter().copied().filter(|_| below(2) == 0).collect();
        let (is_locked, at_once) = (below(3) == 0, below(2) == 0);
        let mut walk = |thread: u32, elements: std::ops::Range<u64>| {
            let lock = ObjectId(0);
            if is_locked {
                push(thread, 4, FileOp::Acquire { lock, attempt: false });
            }
            for element in elements {
                // One element, or two at once.
                let of_both = below(8) == 0 && element + 1 < ELEMENTS;
                let mem = MemRange {
                    addr: address(array) + 4 * element,
                    size: if of_both { 8 } else { 4 },
                };
                let stored = &mut memory[array as usize][element as usize..][..1 + usize::from(of_both)];
                let is_write = below(2) == 0;
                stored.iter_mut().for_each(|stored| *stored += u32::from(is_write));
                let value = stored
                    .iter()
                    .rev()
                    .fold(0, |value, &stored| value << 32 | u64::from(stored));
                let op = match is_write {
                    false => FileOp::Read { mem, value },
                    true => FileOp::Write { mem, value },
                };
                push(thread, 10 + u64::from(is_locked), op);
            }
            if is_locked {
                push(thread, 5, FileOp::Release { lock });
            }
        };
        match at_once {
            false => walkers.iter().for_each(|&thread| walk(thread, from..until)),
            true => {
                for element in from..until {
                    walkers.iter().for_each(|&thread| walk(thread, element..element + 1));
                }
            }
        }
    }
    for array in 0..ARRAYS {
        push(0, 6, FileOp::Free { addr: address(array) });
    }
    Trace::from_events(tables, &events)
}

/// What a look at every pair of events finds.
#[derive(Default)]
struct Expected {
    total: u64,
    first: Option<(EventId, EventId)>,
    all: BTreeSet<(EventId, EventId)>,
    open: BTreeSet<(EventId, EventId)>,
}

#[test]
fn every_instance_is_counted_and_those_that_nothing_excludes_are_visited() {
    let mut visited_in_all = 0;
    let random = (0..20).map(|seed| (seed, trace(seed)));
    let crowded = (0..6).map(|seed| (seed, waves(seed)));
    let alike = (0..300).map(|seed| (seed, arrays(seed)));
    let mut frees_in_all = 0;
    for (seed, trace) in random.chain(crowded).chain(alike) {
        let sections = Sections::of(&trace);
        let order = MustHappenBefore::of(&trace);
        let contexts = LockContexts::of(&trace, &sections);
        let needs = Needs::of(&trace, &order, &sections);
        let context = |event: EventId| -> LockContextId { contexts.of_access(event) };
        let mut expected: BTreeMap<(CodePosition, CodePosition), Expected> = BTreeMap::new();
        for a in trace.events() {
            for b in trace.events().filter(|&b| a < b && trace.conflict(a, b).is_some()) {
                let key = (trace.pc(a).min(trace.pc(b)), trace.pc(a).max(trace.pc(b)));
                let expected = expected.entry(key).or_default();
                // An instance is counted for each cell that the two share.
                let of_b: Vec<_> = trace.cell_uses(b).map(|used| used.cell).collect();
                let shared = trace.cell_uses(a).filter(|used| of_b.contains(&used.cell));
                expected.total += shared.count() as u64;
                expected.first.get_or_insert((a, b));
                expected.all.insert((a, b));
                let ordered = needs.before_pending(b, trace.thread(a)) > trace.place(a)
                    || needs.before_pending(a, trace.thread(b)) > trace.place(b);
                if !ordered && !contexts.clash(context(a), context(b)) {
                    expected.open.insert((a, b));
                }
            }
        }
        let candidates = Candidates::of(&trace, &order, &contexts, &needs);
        assert_eq!(candidates.list.len(), expected.len());
        let positions: Vec<_> = expected.keys().copied().collect();
        let sites = candidates.site_pairs(&positions);
        for candidate in &candidates.list {
            let expected = &expected[&candidate.positions];
            assert_eq!(candidate.total, expected.total, "{:?}", candidate.positions);
            assert_eq!(Some(candidate.first), expected.first, "{:?}", candidate.positions);
            let nearest: BTreeSet<_> = candidate.nearest.iter().copied().collect();
            assert!(nearest.is_subset(&expected.open));
            let (mut open, mut visits) = (BTreeSet::new(), 0);
            let visited = candidates.visit(&sites[&candidate.positions], &mut |a, b| {
                open.insert((a, b));
                visits += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(open, expected.open, "seed {seed}: {:?}", candidate.positions);
            let fallen = visited.ordered + visited.locked + visited.needed;
            assert_eq!(fallen + visits, candidate.total);
            let is_instance = |&(a, b): &(EventId, EventId)| trace.conflict(a, b).is_some();
            let named = [visited.first_ordered, visited.first_locked, visited.first_needed];
            assert!(named.iter().flatten().all(is_instance), "{named:?}");
            assert_eq!(visited.first_ordered.is_some(), visited.ordered > 0);
            visited_in_all += visits;

            let (mut concurrent, is_open) = (BTreeSet::new(), |&(a, b): &(EventId, EventId)| {
                order.concurrent(a, b) && !contexts.clash(context(a), context(b))
            });
            candidates.visit_concurrent(&sites[&candidate.positions], &mut |a, b| {
                concurrent.insert((a, b));
                ControlFlow::Continue(())
            });
            let all = expected.all.iter().copied();
            assert_eq!(concurrent, all.filter(is_open).collect(), "seed {seed}");

            let frees = |event: EventId| {
                trace
                    .access(event)
                    .is_some_and(|access| access.kind == AccessKind::Free)
            };
            let pairs = expected.all.iter().filter(|&&(a, b)| frees(a) || frees(b));
            let pairs: BTreeSet<_> = pairs.map(|&(a, b)| if frees(a) { (a, b) } else { (b, a) }).collect();
            let precedes = |&(free, access): &(EventId, EventId)| needs.relation().before(access, free);
            let mut after = BTreeSet::new();
            let visited = candidates.visit_frees(&needs, &sites[&candidate.positions], &mut |free, access| {
                after.insert((free, access));
                ControlFlow::Continue(())
            });
            assert_eq!(visited.is_some(), !pairs.is_empty(), "seed {seed}");
            let ordered = visited.and_then(|visited| visited.first_ordered);
            assert_eq!(ordered.is_some(), pairs.iter().any(precedes), "seed {seed}");
            assert!(ordered.is_none_or(|(access, free)| pairs.contains(&(free, access)) && precedes(&(free, access))));
            frees_in_all += after.len();
            assert_eq!(
                after,
                pairs.into_iter().filter(|pair| !precedes(pair)).collect(),
                "seed {seed}"
            );
        }
    }
    assert!(frees_in_all > 100, "{frees_in_all} uses after free say little");
    assert!(visited_in_all > 1_000, "{visited_in_all} instances say little");
}

#[test]
fn a_scope_keeps_what_it_names_and_tells_apart_what_it_tells_apart() {
    let trace = trace(3);
    let sections = Sections::of(&trace);
    let order = MustHappenBefore::of(&trace);
    let contexts = LockContexts::of(&trace, &sections);
    let needs = Needs::of(&trace, &order, &sections);
    let all = Candidates::of(&trace, &order, &contexts, &needs).list;
    let wanted = all.iter().max_by_key(|candidate| candidate.total).expect("candidates");
    let within = |position: &dyn Fn(EventId) -> CodePosition, pairs: &[(CodePosition, CodePosition)]| {
        let accesses = trace.accesses().map(|access| access.event);
        let scope = Scope {
            positions: accesses.map(|event| (event, position(event))).collect(),
            pairs: pairs.iter().copied().collect(),
            ..Scope::default()
        };
        Candidates::within(&trace, &order, &contexts, &needs, Some(&scope)).list
    };
    let alone = within(&|event| trace.pc(event), &[wanted.positions]);
    assert_eq!(alone.len(), 1);
    assert_eq!((alone[0].total, alone[0].first), (wanted.total, wanted.first));

    // Each position split in two: the four pairs of halves have all the instances between them.
    let half = |event: EventId| 2 * trace.pc(event) + CodePosition::from(event.0 % 2);
    let (a, b) = wanted.positions;
    let halves: Vec<_> = [2 * a, 2 * a + 1]
        .into_iter()
        .flat_map(|x| [2 * b, 2 * b + 1].map(|y| (x.min(y), x.max(y))))
        .collect();
    let split = within(&half, &halves);
    assert!(split.len() > 1, "{split:?}");
    assert_eq!(split.iter().map(|candidate| candidate.total).sum::<u64>(), wanted.total);
}

/// How far apart, and which.
type Instances = BTreeSet<(u32, EventId, EventId)>;

#[test]
fn the_nearest_instances_are_those_of_an_access_with_the_last_one_at_each_other_site() {
    let mut full = 0;
    for seed in 0..8 {
        let trace = trace_of(4000, seed);
        let sections = Sections::of(&trace);
        let order = MustHappenBefore::of(&trace);
        let contexts = LockContexts::of(&trace, &sections);
        let needs = Needs::of(&trace, &order, &sections);
        let mut expected: BTreeMap<(CodePosition, CodePosition), Instances> = BTreeMap::new();
        let mut last = BTreeMap::new();
        for event in trace.events() {
            let Some(access) = trace.access(event) else { continue };
            let (thread, pc) = (trace.thread(event), trace.pc(event));
            for used in trace.uses(access) {
                let of_cell: &mut BTreeMap<_, EventId> = last.entry(used.cell).or_default();
                for (&(other, place, _), &earlier) in of_cell.iter() {
                    let open = trace.conflict(earlier, event).is_some()
                        && !contexts.clash(contexts.of_access(earlier), contexts.of_access(event))
                        && needs.before_pending(event, other) <= trace.place(earlier);
                    if open {
                        let of_pair = expected.entry((pc.min(place), pc.max(place))).or_default();
                        of_pair.insert((event.0 - earlier.0, earlier, event));
                    }
                }
                of_cell.insert((thread, pc, access.kind), event);
            }
        }
        let candidates = Candidates::of(&trace, &order, &contexts, &needs);
        for candidate in &candidates.list {
            // Of those that are as far apart as the last one that is kept, any may be.
            let distances: Vec<u32> = candidate.nearest.iter().map(|(a, b)| b.0 - a.0).collect();
            let expected = expected.get(&candidate.positions).into_iter().flatten();
            let expected: Vec<u32> = expected.map(|&(distance, ..)| distance).take(32).collect();
            full += usize::from(expected.len() == 32);
            assert_eq!(distances, expected, "seed {seed}: {:?}", candidate.positions);
        }
    }
    assert!(full > 10, "{full}");
}
