//! `witness info`: what a trace holds.

use super::ExitCode;
use super::idle_threads;
use super::input::InputArgs;
use super::output::print;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::ptr;
use trace_format::{Ending, Meta, TraceFile};
use witness::record::{Origin, ProcessNumber, traces_beside};
use witness::session::signal_name;
use witness::standstill::{Standstill, Tail};
use witness::symbols::printable;
use witness::trace::Trace;

/// Show what a trace holds: threads, events by kind, modules, objects, how it ends.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness info trace.bin
  witness info trace.bin --json | jq .events_by_kind")]
pub struct InfoArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print one JSON object.
    #[arg(long, env = "WITNESS_JSON")]
    json: bool,
}

/// The JSON object; the text shows the same.
#[derive(Debug, Serialize)]
struct Info {
    path: String,
    id: String,
    producer: String,
    command: Vec<String>,
    directory: String,
    policy: String,
    seed: u64,
    control_flow_recorded: bool,
    foreign_unlock: bool,
    /// Which process of the recorded program the trace is of, if not the first.
    process: Option<String>,
    /// The traces of its other processes, beside that of the first.
    processes: Vec<ProcessLine>,
    /// Why the trace may lack events or order that the program had.
    degraded: Vec<String>,
    /// Threads that were created and did nothing.
    idle_threads: usize,
    /// In words.
    ending: String,
    /// Threads that waited when the run ended, and what the program died of.
    standstill: Standstill,
    complete: bool,
    bytes: u64,
    events: u64,
    bytes_per_event: f64,
    events_by_kind: BTreeMap<&'static str, u64>,
    threads: Vec<ThreadLine>,
    objects_by_kind: BTreeMap<String, u64>,
    modules: Vec<ModuleLine>,
    /// Null where the trace is longer than [`MODELLED`].
    #[serde(flatten)]
    memory: Memory,
}

/// The longest traces whose memory is counted: that takes the analysis' model of the trace, which grows with its
/// events, where all else is counted while they go by.
const MODELLED: u64 = 2_000_000;

#[derive(Debug, Default, Serialize)]
struct Memory {
    cells: Option<usize>,
    incarnations: Option<usize>,
    /// Cells that unrecorded code changes.
    external_cells: Option<usize>,
    /// Reads of such cells, which keep the recorded writes around them.
    pinned_reads: Option<usize>,
}

impl Memory {
    fn of(file: &TraceFile) -> anyhow::Result<Memory> {
        if file.len() > MODELLED {
            return Ok(Memory::default());
        }
        let trace = Trace::from_file(file)?;
        let pinned = trace
            .accesses()
            .filter(|access| access.kind.reads() && trace.pin(access.event).is_some());
        Ok(Memory {
            cells: Some(trace.cells().len()),
            incarnations: Some(trace.incarnations().len()),
            external_cells: Some(trace.cells().iter().filter(|cell| cell.external()).count()),
            pinned_reads: Some(pinned.count()),
        })
    }
}

#[derive(Debug, Serialize)]
struct ThreadLine {
    thread: usize,
    name: Option<String>,
    parent: Option<u32>,
    events: usize,
}

#[derive(Debug, Serialize)]
struct ProcessLine {
    process: String,
    path: String,
}

fn process_words(number: &ProcessNumber) -> String {
    match number.origin {
        Origin::Forked => format!("{number} (forked)"),
        Origin::Executed => format!("{number} (executed)"),
    }
}

#[derive(Debug, Serialize)]
struct ModuleLine {
    path: String,
    build_id: String,
    base: String,
}

pub fn run(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let info = collect(args)?;
    print(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &info)?;
            writeln!(out)?;
            Ok(())
        } else {
            write_text(&info, out)
        }
    })?;
    Ok(ExitCode::Nothing)
}

fn collect(args: &InfoArgs) -> anyhow::Result<Info> {
    let file = args.input.file()?;
    args.input.must_be_wanted(&file)?;
    let tables = file.tables();
    // Of billions of events, names are not compared letter by letter.
    let mut names: Vec<(&str, u64)> = Vec::new();
    let mut of_thread = vec![0; tables.threads.len()];
    let (mut threads, mut tail) = (idle_threads::Threads::default(), Tail::default());
    for event in file.events() {
        let event = event?;
        let name = event.op.name();
        match names.iter_mut().find(|(known, _)| ptr::eq(*known, name)) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
        let thread = event.thread.index();
        if thread >= of_thread.len() {
            of_thread.resize(thread + 1, 0);
        }
        of_thread[thread] += 1;
        threads.push(&event);
        tail.push(&event);
    }
    let mut events_by_kind = BTreeMap::new();
    for (name, count) in names {
        *events_by_kind.entry(name).or_default() += count;
    }
    let mut objects_by_kind = BTreeMap::new();
    for object in &tables.objects {
        *objects_by_kind.entry(format!("{:?}", object.kind)).or_default() += 1;
    }
    let thread = |(number, &events): (usize, &usize)| {
        let row = tables.threads.get(number).cloned().unwrap_or_default();
        ThreadLine {
            thread: number,
            name: row.name,
            parent: row.parent.map(|parent| parent.0),
            events,
        }
    };
    let modules = tables.modules.iter().map(|module| ModuleLine {
        path: module.path.clone(),
        build_id: module.build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
        base: format!("{:#x}", module.base),
    });
    let bytes = std::fs::metadata(&args.input.trace)
        .with_context(|| args.input.trace.display().to_string())?
        .len();
    let process = ProcessNumber::of(&tables.meta);
    let others = match &process {
        None => traces_beside(&args.input.trace),
        Some(_) => Vec::new(),
    };
    let processes = others.into_iter().map(|(number, path)| ProcessLine {
        process: process_words(&number),
        path: path.display().to_string(),
    });
    let Meta {
        producer,
        command,
        directory,
        policy,
        seed,
        control_flow_recorded,
        foreign_unlock,
        degraded,
        ..
    } = tables.meta.clone();
    let idle = threads.count();
    Ok(Info {
        path: args.input.trace.display().to_string(),
        id: file.id().to_string(),
        producer,
        command,
        directory,
        policy,
        seed,
        control_flow_recorded,
        foreign_unlock,
        process: process.as_ref().map(process_words),
        processes: processes.collect(),
        degraded,
        idle_threads: idle.1,
        ending: file.ending().to_string(),
        standstill: Standstill::at(&file, &tail)?,
        complete: matches!(file.ending(), Ending::Complete { .. }),
        bytes,
        events: file.len(),
        bytes_per_event: bytes as f64 / file.len().max(1) as f64,
        events_by_kind,
        threads: of_thread.iter().enumerate().map(thread).collect(),
        objects_by_kind,
        modules: modules.collect(),
        memory: Memory::of(&file)?,
    })
}

fn write_text(info: &Info, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "trace     {}  (id {})", printable(&info.path), info.id)?;
    if !info.producer.is_empty() {
        writeln!(out, "producer  {}", printable(&info.producer))?;
    }
    if !info.command.is_empty() {
        let command = info.command.join(" ");
        writeln!(
            out,
            "command   {}  (in {})",
            printable(&command),
            printable(&info.directory)
        )?;
    }
    if !info.policy.is_empty() {
        writeln!(out, "policy    {}, seed {}", printable(&info.policy), info.seed)?;
    }
    if let Some(process) = &info.process {
        writeln!(out, "process   {process}")?;
    }
    for line in &info.processes {
        writeln!(out, "process   {}: {}", line.process, printable(&line.path))?;
    }
    writeln!(out, "ending    {}", info.ending)?;
    if let Some(death) = &info.standstill.died {
        writeln!(out, "died      of {}: {death}", signal_name(death.signal))?;
    }
    for wait in &info.standstill.waits {
        writeln!(out, "waiting   {}", printable(&wait.to_string()))?;
    }
    for spin in &info.standstill.spins {
        writeln!(out, "spinning  {}", printable(&spin.to_string()))?;
    }
    let created = info.threads.iter().filter(|line| line.parent.is_some()).count();
    if let Some(warning) = idle_threads::warning((created, info.idle_threads)) {
        writeln!(out, "warning   {warning}")?;
    }
    for reason in &info.degraded {
        writeln!(out, "degraded  {}", printable(reason))?;
    }
    writeln!(
        out,
        "size      {} bytes, {:.2} bytes/event",
        info.bytes, info.bytes_per_event
    )?;
    writeln!(out, "events    {}", info.events)?;
    for (kind, count) in &info.events_by_kind {
        writeln!(out, "          {count:>10} {kind}")?;
    }
    writeln!(out, "threads   {}", info.threads.len())?;
    for line in &info.threads {
        let name = line
            .name
            .as_ref()
            .map_or_else(String::new, |name| format!(" '{}'", printable(name)));
        let parent = line
            .parent
            .map_or_else(String::new, |parent| format!(", created by thread {parent}"));
        writeln!(
            out,
            "          {:>10} events of thread {}{name}{parent}",
            line.events, line.thread
        )?;
    }
    writeln!(out, "objects   {}", info.objects_by_kind.values().sum::<u64>())?;
    for (kind, count) in &info.objects_by_kind {
        writeln!(out, "          {count:>10} {kind}")?;
    }
    if let Memory {
        cells: Some(cells),
        incarnations: Some(incarnations),
        external_cells: Some(external),
        pinned_reads: Some(pinned),
    } = info.memory
    {
        writeln!(out, "memory    {cells} cells in {incarnations} incarnations")?;
        writeln!(
            out,
            "          {external:>10} cells changed by unrecorded code, {pinned} pinned reads"
        )?;
    } else {
        writeln!(out, "memory    not counted where there are more than {MODELLED} events")?;
    }
    writeln!(out, "modules   {}", info.modules.len())?;
    for module in &info.modules {
        let id = if module.build_id.is_empty() {
            "no build id"
        } else {
            module.build_id.as_str()
        };
        writeln!(out, "          {} at {} ({id})", printable(&module.path), module.base)?;
    }
    Ok(())
}
