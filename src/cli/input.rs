//! The trace that a subcommand reads, in whatever format it is.

use super::output::say;
use super::watch::Bytes;
use anyhow::ensure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;
use trace_format::TraceFile;
use witness::import::{self, Format, Repair};
use witness::record::{self, Salvage};
use witness::trace::Trace;

/// A trace, and how to read it.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// The trace: recorded, or in another tool's format (see `witness convert --help`).
    pub trace: PathBuf,
    /// The trace's format: witness, std, rapidbin, roadrunner, rv-predict or jsonl [default: recognized by its
    /// content].
    #[arg(long, env = "WITNESS_FORMAT", value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Mend a foreign trace that no execution can have, and list each repair.
    #[arg(long, env = "WITNESS_REPAIR")]
    pub repair: bool,
    /// Refuse a trace with more events [default: as many as the memory that the machine has left can hold].
    #[arg(long = "max-events", env = "WITNESS_MOST_EVENTS", value_name = "N")]
    pub most_events: Option<u64>,
}

/// What an event takes at least, once it is loaded.
const BYTES_OF_EVENT: u64 = 32;

/// How many events the machine has room for.
fn room() -> Option<u64> {
    Bytes::of_machine().map(|bytes| bytes.number() / BYTES_OF_EVENT)
}

impl InputArgs {
    /// Opens the trace file; says on stderr what was repaired.
    pub fn file(&self) -> anyhow::Result<TraceFile> {
        take_what_was_left(&self.trace)?;
        let opened = import::open(&self.trace, self.format, self.repair)?;
        list_repairs(&opened.repairs);
        Ok(opened.file)
    }

    /// The flags that make another process read the trace in the same way.
    pub fn flags(&self) -> Vec<OsString> {
        let format = self.format.map(|format| format!("--format={format}"));
        let repair = self.repair.then(|| "--repair".to_owned());
        let most = self.most_events.map(|most| format!("--max-events={most}"));
        [format, repair, most]
            .into_iter()
            .flatten()
            .map(OsString::from)
            .collect()
    }

    /// Loads the trace.
    pub fn load(&self) -> anyhow::Result<Trace> {
        let started = Instant::now();
        let trace = self.model(&self.file()?)?;
        tracing::info!(stage = "reading", us = started.elapsed().as_micros() as u64, "stage");
        Ok(trace)
    }
}

impl InputArgs {
    /// Loads the trace of an open file, if there is room for it.
    pub fn model(&self, file: &TraceFile) -> anyhow::Result<Trace> {
        self.beginning(file, None)
    }

    /// Loads the first so many events of an open file, or all, if there is room for them.
    pub fn beginning(&self, file: &TraceFile, first: Option<u64>) -> anyhow::Result<Trace> {
        self.must_fit_up_to(file, first)?;
        Ok(Trace::beginning(file, first)?)
    }

    /// As [`must_fit`](InputArgs::must_fit), of the first so many events.
    pub fn must_fit_up_to(&self, file: &TraceFile, first: Option<u64>) -> anyhow::Result<()> {
        self.must_fit_into(room(), file, first)
    }

    /// An error if there is no room for all events: few bytes can stand for many of them.
    pub fn must_fit(&self, file: &TraceFile) -> anyhow::Result<()> {
        self.must_fit_up_to(file, None)
    }

    /// Where there is room for so many events, `None` if nobody knows.
    fn must_fit_into(&self, room: Option<u64>, file: &TraceFile, first: Option<u64>) -> anyhow::Result<()> {
        self.must_be_wanted(file)?;
        match room.filter(|&room| first.is_none_or(|first| first > room)) {
            Some(room) if self.most_events.is_none() => self.at_most(
                file,
                room,
                "what the machine's memory can hold; --max-events allows more",
            ),
            _ => Ok(()),
        }
    }

    /// An error if there are more events than the user wants to be read.
    pub fn must_be_wanted(&self, file: &TraceFile) -> anyhow::Result<()> {
        self.most_events
            .map_or(Ok(()), |most| self.at_most(file, most, "--max-events"))
    }

    fn at_most(&self, file: &TraceFile, most: u64, why: &str) -> anyhow::Result<()> {
        ensure!(
            file.len() <= most,
            "{} has {} events, more than {most} ({why}); a shorter recording has fewer (`witness record --max-events`)",
            self.trace.display(),
            file.len()
        );
        Ok(())
    }
}

/// Appends to a trace whose recorder was killed what that could not write any more; says so on stderr.
fn take_what_was_left(trace: &Path) -> anyhow::Result<()> {
    let shown = trace.display();
    match record::salvage(trace)? {
        Salvage::Nothing => {}
        Salvage::Running { process } => {
            say!(
                "witness: {shown}: the program is still running (pid {process}); its last events are not in the file yet"
            );
        }
        Salvage::NotBegun => {
            say!("witness: {shown}: its recorder was killed before it had recorded anything of the program");
        }
        Salvage::Damaged { events, word } => {
            say!(
                "witness: {shown}: added {events} events that the killed recorder had not written; the rest is lost, since the program wrote over the memory that it shared with the recorder (damaged at word {word})"
            );
        }
        Salvage::Done {
            events,
            overflowed,
            ended,
        } => {
            let more = match (overflowed, ended) {
                (true, _) => "; what the program did after that was not recorded".to_owned(),
                (false, Some(status)) => format!(", and nothing is missing: the program ended with status {status}"),
                (false, None) => String::new(),
            };
            say!("witness: {shown}: added {events} events that the killed recorder had not written{more}");
        }
    }
    Ok(())
}

/// Says on stderr what was changed in a trace that was mended.
pub fn list_repairs(repairs: &[Repair]) {
    for repair in repairs {
        say!("witness: {repair}");
    }
    if !repairs.is_empty() {
        say!("witness: {} repairs; verdicts are only as good as these", repairs.len());
    }
}

#[cfg(test)]
mod tests {
    use super::InputArgs;
    use trace_format::{Op, ProgramEnd, ThreadId, ThreadInfo, TraceFile, TraceWriter, WriterOptions};

    #[test]
    fn a_beginning_needs_no_room_for_the_rest() {
        let mut writer = TraceWriter::to_sink("t", Vec::new(), &WriterOptions::default()).unwrap();
        writer.define_thread(ThreadInfo::default());
        for _ in 0..100 {
            writer.event(ThreadId(0), 1, Op::Branch).unwrap();
        }
        let (_, bytes) = writer.finish_sink(ProgramEnd::Exited(0)).unwrap();
        let file = TraceFile::from_bytes("t", bytes).unwrap();
        let fits = |room, first, most_events| {
            let input = InputArgs {
                trace: "t".into(),
                format: None,
                repair: false,
                most_events,
            };
            input.must_fit_into(room, &file, first).is_ok()
        };
        for (room, first, most_events, expected) in [
            (Some(99), None, None, false),
            (Some(100), None, None, true),
            (None, None, None, true),
            (Some(99), Some(99), None, true),
            (Some(9), Some(10), None, false),
            (Some(9), Some(9), None, true),
            // As many as the user wants, whatever the machine has.
            (Some(9), None, Some(100), true),
            (Some(9), Some(9), Some(99), false),
        ] {
            let found = fits(room, first, most_events);
            assert_eq!(found, expected, "{room:?} {first:?} {most_events:?}");
        }
    }
}
