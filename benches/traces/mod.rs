//! The traces that all benches run on: mostly disciplined ones, where the work is in dismissing
//! pairs, and very racy ones with few values, where the solver has to work.

use std::path::Path;
use trace_format::{Event, ProgramEnd, StackId, Tables, TraceWriter, WriterOptions};
use witness::generate::{Generator, Shape};
use witness::trace::Trace;

/// 10 threads, 100 variables, 20 locks; 0.05 % of accesses leak out of their lock.
#[allow(dead_code, reason = "not every bench uses every shape")]
pub fn disciplined(events: u64) -> Shape {
    Shape {
        events,
        ..Shape::default()
    }
}

/// 5 threads, 8 variables of 2 values, 3 locks; 30 % of accesses unprotected.
#[allow(dead_code, reason = "not every bench uses every shape")]
pub fn hard(events: u64) -> Shape {
    Shape {
        events,
        threads: 5,
        variables: 8,
        locks: 3,
        unprotected: 0.3,
        values: 2,
        seed: 1,
        waits: 0.0,
    }
}

/// The events of a shape and their tables.
#[allow(dead_code, reason = "not every bench uses every shape")]
pub fn events(shape: Shape) -> (Tables, Vec<Event>) {
    let generator = Generator::new(shape);
    let tables = Tables {
        threads: generator.threads(),
        objects: generator.objects(),
        sources: generator.sources(),
        ..Tables::default()
    };
    let event = |(thread, pc, op)| Event {
        thread,
        pc,
        stack: StackId::EMPTY,
        op,
    };
    (tables, generator.map(event).collect())
}

/// The trace of a shape.
#[allow(dead_code, reason = "not every bench uses every shape")]
pub fn trace(shape: Shape) -> Trace {
    let (tables, events) = events(shape);
    Trace::from_events(tables, &events)
}

/// The trace file of a shape, in memory.
#[allow(dead_code, reason = "not every bench uses every shape")]
pub fn file(tables: &Tables, events: &[Event]) -> Vec<u8> {
    let options = WriterOptions::default();
    let mut writer = TraceWriter::to_sink(Path::new("bench"), Vec::new(), &options).expect("memory can be written");
    for thread in &tables.threads {
        writer.define_thread(thread.clone());
    }
    for object in &tables.objects {
        writer.define_object(object.clone());
    }
    for source in &tables.sources {
        writer.define_source(source.clone());
    }
    for event in events {
        writer
            .event(event.thread, event.pc, event.op)
            .expect("generated events are valid");
    }
    writer
        .finish_sink(ProgramEnd::Unknown)
        .expect("memory can be written")
        .1
}
