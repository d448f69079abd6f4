//! What the commands do with a native trace whose checksums are right, and whose content may be anything: a trace from
//! the tests, with some of its fields, rows and events changed.
//!
//! What must hold: nothing panics, the two readers agree on what is an execution, and of what is one, an analysis in
//! shards that are written, read back and merged comes to the verdicts of an analysis in one.

use crate::analysis::Effort;
use crate::{analysis, native};
use safe_files::ScratchFolder;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use trace_format::{Event, EventId, ProgramEnd, Tables, ThreadId, TraceFile, TraceWriter, WriterOptions};
use witness::analyze::{Options, Shard, Solver, Unfollowed, Work, analyze, decide_with, join, prepare};
use witness::check::{Checker, validate};
use witness::encode::Form;
use witness::import;
use witness::replay::Replay;
use witness::schedule::{Goal, Schedule, Slice};
use witness::standstill::Standstill;
use witness::store::{self, Binding, Plan};
use witness::symbols::Symbols;
use witness::trace::Trace;

const SEEDS: [&str; 5] = [
    include_str!("../seeds/every_kind.jsonl"),
    include_str!("../../tests/litmus/genc_2019_section_with_unused_read.jsonl"),
    include_str!("../../tests/litmus/genc_2019_value_used.jsonl"),
    include_str!("../../tests/litmus/genc_2019_branch_behind_the_race.jsonl"),
    include_str!("../../tests/litmus/huang_2014_branch_between.jsonl"),
];

/// What a trace holds.
#[derive(Clone)]
struct Content {
    tables: Tables,
    events: Vec<Event>,
}

static CONTENTS: LazyLock<Vec<Content>> = LazyLock::new(|| {
    let content = |text: &&str| {
        let file = import::read("seed", text.as_bytes().to_vec(), None, false)
            .expect("a trace")
            .file;
        Content {
            tables: file.tables().clone(),
            events: file.events().collect::<Result<_, _>>().expect("whole"),
        }
    };
    SEEDS.iter().map(content).collect()
});

/// One in so many traces is analyzed in every way. (Where an input ends, there are zeros: most are analyzed quickly.)
const WHOLE_ONE_IN: usize = 16;

/// Numbers at which something ends or begins.
const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    3,
    8,
    0x1000,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 47,
    u64::MAX - 7,
    u64::MAX - 1,
    u64::MAX,
];
const TEXTS: [&str; 7] = [
    "",
    "x",
    "/proc/self/environ",
    "/dev/zero",
    "\u{1b}[2J\u{202e}",
    "\n::error::",
    "a\0b",
];

/// The words of the input, one after another; zeros behind its end.
struct Input<'i>(&'i [u8]);

impl Input<'_> {
    fn byte(&mut self) -> usize {
        let (&first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        first.into()
    }

    fn number(&mut self) -> u64 {
        match self.byte() {
            at @ 0..=199 => NUMBERS[at % NUMBERS.len()],
            _ => (self.byte() | self.byte() << 8) as u64,
        }
    }
}

/// Changes one field of a row or an event, if what comes of it is one.
fn edit<T: Serialize + DeserializeOwned>(row: &mut T, input: &mut Input<'_>) {
    let mut json = serde_json::to_value(&*row).expect("rows are written as JSON");
    let leaves = count(&json);
    if leaves == 0 {
        return;
    }
    let mut at = input.byte() % leaves;
    change(&mut json, &mut at, input);
    if let Ok(changed) = serde_json::from_value(json) {
        *row = changed;
    }
}

fn count(json: &Value) -> usize {
    match json {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 1,
    }
}

/// Changes the leaf of this number, and counts down to it.
fn change(json: &mut Value, at: &mut usize, input: &mut Input<'_>) -> bool {
    match json {
        Value::Array(values) => values.iter_mut().any(|value| change(value, at, input)),
        Value::Object(fields) => fields.values_mut().any(|value| change(value, at, input)),
        _ if *at > 0 => {
            *at -= 1;
            false
        }
        leaf => {
            *leaf = match leaf {
                Value::String(_) => TEXTS[input.byte() % TEXTS.len()].into(),
                Value::Bool(value) => (!*value).into(),
                _ if input.byte().is_multiple_of(8) => Value::Null,
                _ => input.number().into(),
            };
            true
        }
    }
}

/// A row is changed, repeated or removed.
fn edit_rows<T: Serialize + DeserializeOwned + Clone>(rows: &mut Vec<T>, input: &mut Input<'_>) {
    if rows.is_empty() {
        return;
    }
    let at = input.byte() % rows.len();
    match input.byte() % 8 {
        0 => drop(rows.remove(at)),
        1 if rows.len() < 200 => rows.push(rows[at].clone()),
        _ => edit(&mut rows[at], input),
    }
}

fn edit_events(events: &mut Vec<Event>, input: &mut Input<'_>) {
    if events.is_empty() {
        return;
    }
    let at = input.byte() % events.len();
    let other = input.byte() % events.len();
    match input.byte() % 10 {
        0 => drop(events.remove(at)),
        1 if events.len() < 200 => events.insert(other, events[at]),
        2 => events.swap(at, other),
        3 => events[at].thread = ThreadId(input.byte() as u32 % 4),
        4 => events[at].op = events[other].op,
        5 => events[at].pc = events[other].pc,
        6 => events.truncate(at.max(1)),
        _ => edit(&mut events[at].op, input),
    }
}

/// As a file, cut if it has no end; `None` if the writer refuses its rows.
fn write(content: &Content, end: Option<ProgramEnd>) -> Option<Vec<u8>> {
    let options = WriterOptions {
        block_bytes: 256,
        zstd_level: 1,
    };
    let mut writer = TraceWriter::to_sink("fuzz", Vec::new(), &options).ok()?;
    let tables = &content.tables;
    writer.set_meta(tables.meta.clone());
    for thread in &tables.threads {
        writer.define_thread(thread.clone());
    }
    for module in &tables.modules {
        writer.define_module(module.clone());
    }
    for object in &tables.objects {
        writer.define_object(object.clone());
    }
    tables
        .sources
        .iter()
        .for_each(|source| writer.define_source(source.clone()));
    tables
        .images
        .iter()
        .for_each(|image| writer.define_image(image.clone()));
    tables
        .variables
        .iter()
        .for_each(|variable| writer.define_variable(variable.clone()));
    tables.marks.iter().for_each(|mark| writer.define_mark(mark.clone()));
    for event in &content.events {
        // What mentions what is not defined is left out.
        let _ = writer.event(event.thread, event.pc, event.op);
    }
    let (_, bytes) = writer.finish_sink(end.unwrap_or(ProgramEnd::Unknown)).ok()?;
    let kept = if end.is_some() {
        bytes.len()
    } else {
        bytes.len().saturating_sub(30)
    };
    Some(bytes[..kept].to_vec())
}

/// The file that the input stands for, and what is left of it; `None` if the writer refuses its rows.
fn made(input: &[u8]) -> Option<(Vec<u8>, Input<'_>)> {
    let mut input = Input(input);
    let mut content = CONTENTS[input.byte() % CONTENTS.len()].clone();
    let end = match input.byte() % 4 {
        0 => None,
        1 => Some(ProgramEnd::Deadlock),
        _ => Some(ProgramEnd::Exited(0)),
    };
    let tables = &mut content.tables;
    for _ in 0..input.byte() % 12 {
        match input.byte() % 24 {
            0 => edit(&mut tables.meta, &mut input),
            1 => edit_rows(&mut tables.threads, &mut input),
            2 => edit_rows(&mut tables.modules, &mut input),
            3 | 4 => edit_rows(&mut tables.objects, &mut input),
            5 => edit_rows(&mut tables.sources, &mut input),
            6 | 7 => edit_rows(&mut tables.images, &mut input),
            8 => edit_rows(&mut tables.variables, &mut input),
            9 => edit_rows(&mut tables.marks, &mut input),
            _ => edit_events(&mut content.events, &mut input),
        }
    }
    Some((write(&content, end)?, input))
}

/// The trace file that the input stands for.
pub fn file(input: &[u8]) -> Option<Vec<u8>> {
    made(input).map(|(bytes, _)| bytes)
}

/// Does with that trace what the commands do.
pub fn all(input: &[u8]) {
    let Some((bytes, mut input)) = made(input) else { return };
    let Ok(file) = TraceFile::from_bytes("fuzz", bytes) else {
        return;
    };
    if native::walk(&file).is_none() {
        return;
    }
    // `info`, `check`, and the beginning of all others.
    let _ = Standstill::of(&file);
    let symbols = Symbols::new(file.tables());
    for event in file.events().flatten().take(8) {
        let _ = symbols.frame(event.pc);
    }
    let alone = checker::Events::of_file(&file).map(|events| checker::Checker::new(&events).validate().is_ok());
    let Ok(trace) = Trace::from_file(&file) else { return };
    let valid = validate(&trace).is_ok();
    if let Ok(alone) = alone {
        assert_eq!(alone, valid, "the two readers agree");
    }
    let schedule = schedule(&trace, &mut input);
    let checker = Checker::new(&trace);
    if checker.check(&schedule).is_ok() {
        assert!(Replay::of(&checker, &schedule).is_ok(), "checker and replay agree");
    }
    // The commands refuse any other.
    if valid {
        let effort = match input.byte() % WHOLE_ONE_IN {
            1 => Effort::Whole,
            _ => Effort::Quick,
        };
        analysis::all(&file, &trace, effort);
        in_parts(&trace, effort);
    }
}

/// Any schedule.
fn schedule(trace: &Trace, input: &mut Input<'_>) -> Schedule {
    let beyond = trace.len() as u32 + 2;
    let goal = Goal::race(
        EventId(input.byte() as u32 % beyond),
        EventId(input.byte() as u32 % beyond),
    );
    let goal = match input.byte() % 5 {
        0 => Goal::OtherValue {
            read: EventId(input.byte() as u32),
            value: None,
        },
        2 => Goal::StalePointer {
            free: EventId(input.byte() as u32),
            read: EventId(input.byte() as u32),
            value: input.byte() as u64,
        },
        1 => Goal::deadlock(vec![EventId(input.byte() as u32), EventId(input.byte() as u32)]),
        _ => goal,
    };
    let slice = |_| Slice {
        thread: ThreadId(input.byte() as u32 % 4),
        events: match input.byte() {
            255 => u32::MAX,
            few => few as u32 % 16,
        },
    };
    let slices = (0..8).map(slice).collect();
    Schedule {
        trace: trace.id(),
        first_events: None,
        goal,
        as_recorded: input.byte() as u32 % 16,
        slices,
        wakes: vec![(EventId(input.byte() as u32), ThreadId(input.byte() as u32 % 4))],
    }
}

/// `analyze --model whole-trace`, if all is to be tried; `plan`, `analyze --shard` and `merge`.
fn in_parts(trace: &Trace, effort: Effort) {
    let options = Options {
        instances: None,
        budget: 100_000,
        solver: match effort {
            Effort::Whole => Solver::Both,
            Effort::Quick => Solver::Native,
        },
        ..Options::default()
    };
    if effort == Effort::Whole {
        let form = Form::WholeTrace;
        let whole = analyze(trace, &Options { form, ..options });
        assert!(
            whole.rejected.is_empty(),
            "the checker rejects a witness of the whole trace"
        );
    }
    let stored = witness::results::Options {
        instances: options.instances,
        explanations: options.explanations,
        budget: options.budget,
        solver: options.solver,
        model: options.form,
        find: options.find,
        regions: options.regions,
        max_pairs: options.most_pairs,
        first_events: None,
    };
    let folder = ScratchFolder::new("witness-fuzz-commands").expect("a folder");
    let threads = NonZeroUsize::MIN;
    let (plan, prepared) = prepare(
        trace,
        &options,
        threads,
        &Unfollowed,
        |candidates, unlisted, prepared| (Plan::new(trace.id(), stored, candidates, unlisted), prepared),
    );
    assert!(
        prepared
            .iter()
            .all(|prepared| prepared.fits(trace, plan.candidates.len()))
    );
    let binding = Binding::of(Path::new("/no/such/trace"));
    plan.save(folder.path(), &binding).expect("a plan");
    let (plan, _) = Plan::load(folder.path(), trace.id(), &binding).expect("the plan");
    for number in 1..=2 {
        let shard = Shard::new(number, 2).expect("a shard");
        let work = Work {
            shard,
            // One worker works out for itself what the other one takes.
            prepared: prepared.as_ref().filter(|_| number == 2),
            ..Work::default()
        };
        let Ok(decisions) = decide_with(trace, &options, &work, &Unfollowed);
        store::save_shard(folder.path(), &plan.id(), shard, decisions, &binding).expect("a shard");
    }
    let shards = store::load_shards(folder.path(), &plan, &binding).expect("the shards");
    let merged = join(trace, &options, threads, prepared.as_ref(), shards.decisions);
    let one = analyze(trace, &options);
    let verdicts = |analysis: &witness::verdict::Analysis| -> Vec<_> {
        analysis
            .pairs
            .iter()
            .map(|pair| (pair.positions, format!("{:?}", pair.verdict)))
            .collect()
    };
    assert_eq!(verdicts(&merged), verdicts(&one), "one analysis, in one and in parts");
}
