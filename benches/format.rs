//! Writing and reading the trace format, per event.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod traces;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trace_format::TraceFile;

fn format(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("format");
    for (name, shape) in [
        ("disciplined", traces::disciplined(200_000)),
        ("hard", traces::hard(200_000)),
    ] {
        let (tables, events) = traces::events(shape);
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(format!("write/{name}"), |bencher| {
            bencher.iter(|| traces::file(black_box(&tables), black_box(&events)));
        });
        let bytes = traces::file(&tables, &events);
        println!(
            "{name}: {:.2} bytes an event on file",
            bytes.len() as f64 / events.len() as f64
        );
        let file = TraceFile::from_bytes("bench", bytes).expect("a finished trace can be read");
        group.bench_function(format!("read/{name}"), |bencher| {
            bencher.iter(|| {
                file.events()
                    .map(|event| event.expect("a good block").pc)
                    .fold(0, u64::wrapping_add)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, format);
criterion_main!(benches);
