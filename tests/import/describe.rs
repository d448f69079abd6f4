//! A trace in words, for comparison: names instead of numbers, places instead of positions.

use std::collections::HashMap;
use trace_format::{Event, MemRange, Op, TraceFile, WaitOutcome};
use witness::symbols::Symbols;

/// Each event of a trace on one line.
pub fn events(file: &TraceFile, with_values: bool) -> Vec<String> {
    let symbols = Symbols::new(file.tables());
    let mut variables = HashMap::new();
    let events = file.events().map(|event| event.expect("the trace can be read"));
    let mut line = |event: Event| {
        let thread = name(file.tables().threads[event.thread.index()].name.as_deref());
        let op = op(file, &event.op, &mut variables, with_values);
        let place = if event.pc == 0 {
            String::new()
        } else {
            symbols.place(event.pc)
        };
        format!("{thread:<4} {op:<24} {place}").trim_end().to_owned()
    };
    events.map(&mut line).collect()
}

fn name(name: Option<&str>) -> String {
    name.unwrap_or("?").to_owned()
}

fn op(file: &TraceFile, op: &Op, variables: &mut HashMap<u64, usize>, with_values: bool) -> String {
    let object = |id| name(file.tables().object(id).and_then(|row| row.name.as_deref()));
    let thread = |id: trace_format::ThreadId| name(file.tables().threads[id.index()].name.as_deref());
    let mut access = |kind: &str, mem: &MemRange, value: u64| {
        let next = variables.len();
        let variable = *variables.entry(mem.addr).or_insert(next);
        let value = if with_values {
            format!(" = {value}")
        } else {
            String::new()
        };
        format!("{kind} v{variable}{value}")
    };
    match op {
        Op::Begin => "begin".into(),
        Op::End => "end".into(),
        Op::Branch => "branch".into(),
        Op::Fork { child } => format!("fork {}", thread(*child)),
        Op::Join { child, .. } => format!("join {}", thread(*child)),
        Op::Read { mem, value } => access("read", mem, *value),
        Op::Write { mem, value } => access("write", mem, *value),
        Op::AtomicLoad { mem, value, .. } => access("load", mem, *value),
        Op::AtomicStore { mem, value, .. } => access("store", mem, *value),
        Op::Acquire { lock, .. } => format!("acquire {}", object(*lock)),
        Op::Release { lock } => format!("release {}", object(*lock)),
        Op::WaitBegin { condition, lock } => format!("wait_begin {} {}", object(*condition), object(*lock)),
        Op::WaitEnd {
            condition,
            lock,
            outcome,
            ..
        } => {
            let outcome = match outcome {
                WaitOutcome::Notified => "notified",
                WaitOutcome::TimedOut => "timed out",
            };
            format!("wait_end {} {} {outcome}", object(*condition), object(*lock))
        }
        Op::Notify { condition } => format!("notify {}", object(*condition)),
        Op::NotifyAll { condition } => format!("notify_all {}", object(*condition)),
        Op::AcquireShared { lock, .. } => format!("AcquireShared {{ lock: {lock:?} }}"),
        other => format!("{other:?}"),
    }
}
