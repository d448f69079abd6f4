//! The search against a look at every pair of events.

use super::*;
use crate::generate::{Generator, Shape};
use crate::prune::LockContextId;
use crate::trace::{Op, Sections};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use trace_format::{Event, StackId, Tables};

fn trace(seed: u64) -> Trace {
    let shape = Shape {
        events: 300,
        threads: 4,
        variables: 5,
        locks: 3,
        unprotected: 0.3,
        values: 3,
        seed,
        ..Shape::default()
    };
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

/// What a look at every pair of events finds.
#[derive(Default)]
struct Expected {
    total: u64,
    open: BTreeSet<(EventId, EventId)>,
}

#[test]
fn every_instance_is_counted_and_those_that_nothing_excludes_are_visited() {
    let mut visited_in_all = 0;
    for seed in 0..20 {
        let trace = trace(seed);
        let sections = Sections::of(&trace);
        let order = MustHappenBefore::of(&trace);
        let contexts = LockContexts::of(&trace, &sections);
        let needs = Needs::of(&trace, &order, &sections);
        let context = |event: EventId| -> LockContextId {
            match trace.op(event) {
                Op::Access(access) => contexts.of_access(access),
                _ => unreachable!("only accesses conflict"),
            }
        };
        let mut expected: BTreeMap<(CodePosition, CodePosition), Expected> = BTreeMap::new();
        for a in trace.events() {
            for b in trace.events().filter(|&b| a < b && trace.conflict(a, b).is_some()) {
                let key = (trace.pc(a).min(trace.pc(b)), trace.pc(a).max(trace.pc(b)));
                let expected = expected.entry(key).or_default();
                expected.total += 1;
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
            let nearest: BTreeSet<_> = candidate.nearest.iter().copied().collect();
            assert!(nearest.is_subset(&expected.open));
            let mut open = BTreeSet::new();
            let visited = candidates.visit(&sites[&candidate.positions], &mut |a, b| {
                open.insert((a, b));
                ControlFlow::Continue(())
            });
            assert_eq!(open, expected.open, "seed {seed}: {:?}", candidate.positions);
            let fallen = visited.ordered + visited.locked + visited.needed;
            assert_eq!(fallen + open.len() as u64, candidate.total);
            visited_in_all += open.len();
        }
    }
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
