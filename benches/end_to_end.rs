//! From the bytes of a trace file to verdicts.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod traces;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trace_format::TraceFile;
use witness::analyze::{Options, analyze};
use witness::trace::Trace;

fn end_to_end(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("end-to-end");
    group.sample_size(10);
    for (name, shape) in [
        ("disciplined-5000", traces::disciplined(5_000)),
        ("hard-300", traces::hard(300)),
    ] {
        let (tables, events) = traces::events(shape);
        let bytes = traces::file(&tables, &events);
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let file = TraceFile::from_bytes("bench", black_box(bytes.clone())).expect("a finished trace");
                let trace = Trace::from_file(&file).expect("a good trace");
                analyze(&trace, &Options::default()).pairs.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, end_to_end);
criterion_main!(benches);
