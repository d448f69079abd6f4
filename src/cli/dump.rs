//! `witness dump`: the events of a trace as they are in the file.

use super::ExitCode;
use super::event::{fields, line};
use super::input::InputArgs;
use super::output::{print, say};
use serde_json::{Value, json};
use std::io::Write;
use trace_format::Ending;
use witness::symbols::Symbols;

/// Print the events of a trace.
///
/// Prints one event per line: its number, thread, kind and fields, and its place in the source.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness dump trace.bin --from 1000 --count 20
  witness dump trace.bin --thread 2 --json | jq 'select(.kind == \"write\")'")]
pub struct DumpArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Number of the first event to print; events are numbered from 0.
    #[arg(long, env = "WITNESS_FROM", value_name = "EVENT", default_value_t = 0)]
    from: u64,
    /// Maximum number of events to print.
    #[arg(long, env = "WITNESS_COUNT", value_name = "N")]
    count: Option<u64>,
    /// Only the events of this thread.
    #[arg(long, env = "WITNESS_THREAD", value_name = "THREAD")]
    thread: Option<u32>,
    /// Print one JSON object per line.
    #[arg(long, env = "WITNESS_JSON")]
    json: bool,
}

pub fn run(args: &DumpArgs) -> anyhow::Result<ExitCode> {
    let file = args.input.file()?;
    let symbols = Symbols::new(file.tables());
    let count = args.count.unwrap_or(u64::MAX);
    let mut left = count;
    print(|out| {
        for (number, event) in (args.from..).zip(file.events_from(args.from)) {
            let event = event?;
            if args.thread.is_some_and(|thread| event.thread.0 != thread) {
                continue;
            }
            if left == 0 {
                break;
            }
            left -= 1;
            let frame = symbols.frame(event.pc);
            if args.json {
                let mut object = json!({"event": number, "thread": event.thread.0, "kind": event.op.name()});
                if let Value::Object(object) = &mut object {
                    object.extend(fields(&event.op));
                    object.insert("pc".to_owned(), json!(format!("{:#x}", event.pc)));
                    object.insert("file".to_owned(), json!(frame.file));
                    object.insert("line".to_owned(), json!(frame.line));
                    object.insert("function".to_owned(), json!(frame.function));
                }
                writeln!(out, "{object}")?;
            } else {
                let place = if event.pc == 0 { String::new() } else { frame.place() };
                let text = format!("{number:>8}  t{:<3} {:<52} {place}", event.thread.0, line(&event.op));
                writeln!(out, "{}", text.trim_end())?;
            }
        }
        Ok(())
    })?;
    if let Ending::Cut { .. } = file.ending() {
        say!("witness: {} is {}", args.input.trace.display(), file.ending());
    }
    Ok(ExitCode::Nothing)
}
