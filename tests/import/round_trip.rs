//! What survives a way through another format.

#[allow(dead_code, reason = "the oracle uses all of it, and this test its traces")]
#[path = "../oracle/random_trace/mod.rs"]
mod random_trace;

use crate::describe;
use proptest::prelude::*;
use trace_format::{
    Event, ImageInfo, Meta, ModuleInfo, Op, ProgramEnd, StackId, Tables, ThreadId, ThreadInfo, TraceFile, TraceWriter,
    VariableInfo, WriterOptions,
};
use witness::generate::{Generator, Shape};
use witness::import::{Format, read, write_json_lines, write_native, write_std};
use witness::trace::Trace;

fn written(write: impl FnOnce(&mut TraceWriter<&mut Vec<u8>>), end: Option<ProgramEnd>) -> TraceFile {
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::to_sink("memory", &mut bytes, &WriterOptions::default()).expect("a writer");
    write(&mut writer);
    match end {
        Some(end) => drop(writer.finish_sink(end).expect("the trace can be finished")),
        None => writer.flush().expect("the trace can be flushed"),
    }
    TraceFile::from_bytes("memory", bytes).expect("what was written can be read")
}

fn generated(shape: Shape) -> TraceFile {
    let generator = Generator::new(shape);
    let write = |writer: &mut TraceWriter<&mut Vec<u8>>| {
        generator.threads().into_iter().for_each(|row| {
            writer.define_thread(row);
        });
        generator.objects().into_iter().for_each(|row| {
            writer.define_object(row);
        });
        generator
            .sources()
            .into_iter()
            .for_each(|row| writer.define_source(row));
        for (thread, pc, op) in generator {
            writer.event(thread, pc, op).expect("the generator's events are valid");
        }
    };
    written(write, Some(ProgramEnd::Unknown))
}

/// A trace with events of every kind.
fn random(seed: u64) -> TraceFile {
    let (tables, events) = random_trace::generate(seed);
    let write = |writer: &mut TraceWriter<&mut Vec<u8>>| {
        writer.set_meta(tables.meta.clone());
        let threads = events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(1);
        let rows = tables
            .threads
            .iter()
            .cloned()
            .chain(std::iter::repeat(ThreadInfo::default()));
        rows.take(threads.max(tables.threads.len())).for_each(|row| {
            writer.define_thread(row);
        });
        tables.objects.iter().cloned().for_each(|row| {
            writer.define_object(row);
        });
        for event in &events {
            let _ = writer.event(event.thread, event.pc, event.op);
        }
    };
    written(write, Some(ProgramEnd::Signaled(11)))
}

fn content(file: &TraceFile) -> (Tables, Vec<Event>, String) {
    let events: Result<Vec<Event>, _> = file.events().collect();
    let ending = match file.ending() {
        trace_format::Ending::Complete { program } => format!("{program:?}"),
        trace_format::Ending::Cut { .. } => "cut".to_owned(),
    };
    (file.tables().clone(), events.expect("the events can be read"), ending)
}

fn through_json_lines(file: &TraceFile) -> TraceFile {
    let mut text = Vec::new();
    write_json_lines(file, &mut text).expect("the trace can be written");
    let opened = read("memory", text, None, false).expect("what was written can be read");
    assert_eq!(opened.format, Format::JsonLines);
    opened.file
}

fn through_std(file: &TraceFile) -> TraceFile {
    let trace = Trace::from_file(file).expect("the trace can be loaded");
    let mut text = Vec::new();
    let left_out = write_std(&trace, &mut text).expect("STD can say it");
    assert!(left_out.is_empty(), "{left_out:?}");
    let opened = read("memory", text, Some(Format::Std), false).expect("what was written can be read");
    opened.file
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1u64..400, 2u32..6, 1u32..20, 0u32..5, 0.0..1.0f64, any::<u64>()).prop_map(
        |(events, threads, variables, locks, unprotected, seed)| Shape {
            events,
            threads,
            variables,
            locks,
            unprotected,
            seed,
            ..Shape::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn json_lines_lose_nothing(shape in shapes()) {
        let file = generated(shape);
        prop_assert_eq!(content(&through_json_lines(&file)), content(&file));
    }

    #[test]
    fn json_lines_lose_no_kind_of_event(seed in any::<u64>()) {
        let file = random(seed);
        prop_assert!(!file.is_empty());
        prop_assert_eq!(content(&through_json_lines(&file)), content(&file));
    }

    #[test]
    fn std_loses_only_values(shape in shapes()) {
        let file = generated(shape);
        let back = through_std(&file);
        prop_assert_eq!(describe::events(&back, false), describe::events(&file, false));
    }

    #[test]
    fn no_input_makes_the_importers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            for repair in [false, true] {
                let _ = read("memory", bytes.clone(), Some(format), repair);
            }
        }
    }

    /// Lines of valid events in any order: refused, or mended into an execution.
    #[test]
    fn any_events_can_be_mended(lines in proptest::collection::vec((0usize..4, 0usize..14, 0usize..3), 0..60)) {
        let operations = [
            "acq(l#)", "rel(l#)", "acq(l0)", "rel(l0)", "r(x#)", "w(x#)", "fork(T#)", "join(T#)", "begin", "end",
            "wait(l#)", "notify(l#)", "notifyAll(l#)", "wait(c)",
        ];
        let mut text = String::from("T0|w(x0)|0\n");
        for (thread, operation, object) in lines {
            let operation = operations[operation].replace('#', &object.to_string());
            text += &format!("T{thread}|{operation}|1\n");
        }
        let opened = read("memory", text.clone().into_bytes(), Some(Format::Std), true).expect("it is mended");
        let trace = Trace::from_file(&opened.file).expect("the trace can be loaded");
        let valid = witness::check::validate(&trace);
        prop_assert!(valid.is_ok(), "{}: {:?}\n{text}", valid.unwrap_err(), opened.repairs);
        let strict = read("memory", text.into_bytes(), Some(Format::Std), false);
        prop_assert_eq!(strict.is_ok(), opened.repairs.is_empty());
    }
}

/// Stacks, modules, and a recording that was killed.
fn with_stacks(end: Option<ProgramEnd>) -> TraceFile {
    let write = |writer: &mut TraceWriter<&mut Vec<u8>>| {
        writer.set_meta(Meta {
            command: vec!["a b".into(), "\"\u{1}".into()],
            ..Meta::default()
        });
        let threads: Vec<ThreadId> = (0..2).map(|_| writer.define_thread(ThreadInfo::default())).collect();
        writer.define_image(ImageInfo {
            before: 0,
            addr: 4096,
            size: 8,
            bytes: Some(vec![1]),
        });
        writer.define_variable(VariableInfo {
            addr: 4096,
            size: 8,
            name: "x \u{1}".into(),
        });
        writer.define_module(ModuleInfo {
            path: "/bin/a".into(),
            build_id: vec![1, 2],
            base: u64::MAX,
            ..ModuleInfo::default()
        });
        for step in 0..40u64 {
            let thread = threads[step as usize % 2];
            match step % 5 {
                0 | 1 | 3 => writer.call(thread, u64::MAX - step % 7),
                _ => writer.ret(thread),
            }
            writer.event(thread, step, Op::Branch).expect("a valid event");
            if step % 20 == 7 {
                writer.define_image(ImageInfo {
                    before: step,
                    addr: step,
                    size: 1,
                    bytes: None,
                });
            }
        }
    };
    written(write, end)
}

#[test]
fn stacks_keep_their_numbers() {
    let file = with_stacks(Some(ProgramEnd::Exited(3)));
    assert!(
        file.events()
            .any(|event| event.expect("it can be read").stack > StackId(3))
    );
    assert_eq!(content(&through_json_lines(&file)), content(&file));
}

#[test]
fn a_cut_trace_stays_cut() {
    let file = with_stacks(None);
    let back = through_json_lines(&file);
    assert_eq!(content(&back), content(&file));
    assert_eq!(content(&back).2, "cut");
}

#[test]
fn copying_keeps_everything() {
    for end in [None, Some(ProgramEnd::Unknown)] {
        let file = with_stacks(end);
        let mut bytes = Vec::new();
        write_native(&file, &mut bytes).expect("the trace can be copied");
        let copy = TraceFile::from_bytes("memory", bytes).expect("the copy can be read");
        assert_eq!(content(&copy), content(&file));
    }
}

#[test]
fn the_same_text_gives_the_same_identity() {
    let open = || read("a.std", b"T0|w(x)|1\nT1|r(x)|2\n".to_vec(), None, false).expect("a trace");
    assert_eq!(open().file.id(), open().file.id());
}
