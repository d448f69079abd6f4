//! From the model of a trace to candidates: must-happen-before, sections, lock contexts, pairing.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod traces;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use witness::candidates::Candidates;
use witness::prune::{LockContexts, MustHappenBefore, Needs};
use witness::trace::{Sections, Trace};

fn prune(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prune");
    group.sample_size(10);
    for (name, shape) in [
        ("disciplined", traces::disciplined(100_000)),
        ("hard", traces::hard(10_000)),
    ] {
        let (tables, events) = traces::events(shape);
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(format!("model/{name}"), |bencher| {
            bencher.iter(|| Trace::from_events(tables.clone(), black_box(&events)));
        });
        let trace = Trace::from_events(tables, &events);
        group.bench_function(format!("must-happen-before/{name}"), |bencher| {
            bencher.iter(|| MustHappenBefore::of(black_box(&trace)));
        });
        let order = MustHappenBefore::of(&trace);
        let sections = Sections::of(&trace);
        group.bench_function(format!("lock-contexts/{name}"), |bencher| {
            bencher.iter(|| LockContexts::of(black_box(&trace), &Sections::of(&trace)));
        });
        let contexts = LockContexts::of(&trace, &sections);
        group.bench_function(format!("unique-writers/{name}"), |bencher| {
            bencher.iter(|| Needs::of(black_box(&trace), &order, &sections));
        });
        let needs = Needs::of(&trace, &order, &sections);
        group.bench_function(format!("candidates/{name}"), |bencher| {
            bencher.iter(|| Candidates::of(black_box(&trace), &order, &contexts, &needs));
        });
    }
    group.finish();
}

criterion_group!(benches, prune);
criterion_main!(benches);
