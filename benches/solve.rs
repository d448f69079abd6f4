//! One window: the formula of a trace encoded and asked of Z3 for a number of candidates, and the
//! fast predictor on the same ones.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod traces;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use witness::candidates::Candidates;
use witness::predict::SyncPreserving;
use witness::prune::{LockContexts, MustHappenBefore, Needs};
use witness::schedule::Goal;
use witness::solve::Session;
use witness::trace::Sections;

/// Instances asked in one go; what the first ones teach the solver helps with the later ones.
const INSTANCES: usize = 20;
/// Z3 resource units per check.
const BUDGET: u32 = 20_000_000;

fn solve(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("solve");
    group.sample_size(10);
    for (name, shape) in [
        ("disciplined-2000", traces::disciplined(2_000)),
        ("hard-300", traces::hard(300)),
    ] {
        let trace = traces::trace(shape);
        let order = MustHappenBefore::of(&trace);
        let sections = Sections::of(&trace);
        let contexts = LockContexts::of(&trace, &sections);
        let needs = Needs::of(&trace, &order, &sections);
        let found = Candidates::of(&trace, &order, &contexts, &needs);
        let instances: Vec<_> = found
            .list
            .iter()
            .flat_map(|pair| pair.nearest.iter().copied().take(3))
            .take(INSTANCES)
            .collect();
        if instances.is_empty() {
            continue;
        }
        group.throughput(Throughput::Elements(instances.len() as u64));
        group.bench_function(format!("z3/{name}"), |bencher| {
            bencher.iter_batched(
                || Session::new(&trace, &order, &sections, BUDGET),
                |mut session| {
                    instances
                        .iter()
                        .map(|&(a, b)| black_box(session.ask(&Goal::race(a, b))))
                        .count()
                },
                BatchSize::PerIteration,
            );
        });
        let predictor = SyncPreserving::new(&trace, &needs, &sections);
        group.bench_function(format!("sync-preserving/{name}"), |bencher| {
            bencher.iter(|| {
                instances
                    .iter()
                    .filter(|&&(a, b)| predictor.predict(&[a, b]).is_some())
                    .count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, solve);
criterion_main!(benches);
