//! The trace event format of Chrome, which Perfetto and `chrome://tracing` show.
//!
//! Each witness is a process and each thread a lane in it. A step takes ten microseconds, in the order of the schedule;
//! its real duration is not known. Arrows show creation and joining of threads, locks released and then acquired,
//! wakes, and reads from other threads' writes; critical sections are tracks of their own.

use super::links::{Kind, Links};
use super::{Exporter, Findings, Race, Unfinished};
use crate::replay::{PendingAccess, Replay};
use crate::schedule::Schedule;
use crate::trace::{EventId, Op, ThreadId};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Microseconds of a step.
const STEP: usize = 10;

/// Witnesses that are written; more make no picture.
const WITNESSES: usize = 100;

/// Writes trace events as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChromeTrace;

impl Exporter for ChromeTrace {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        let mut events = Vec::new();
        let mut process = 0;
        for findings in findings {
            let checker = findings.checker();
            let races = findings.shown_races();
            let schedules: Vec<&Schedule> = races.iter().take(WITNESSES).map(|race| race.schedule).collect();
            for (race, replay) in races.iter().zip(Replay::of_all(&checker, &schedules)) {
                if let Ok(replay) = replay {
                    process += 1;
                    Picture {
                        findings,
                        replay: &replay,
                        process,
                    }
                    .write(race, &mut events);
                }
            }
        }
        let trace = json!({
            "displayTimeUnit": "ns",
            "otherData": { "tool": crate::results::tool(), "time": "ten microseconds a step of the schedule" },
            "traceEvents": events,
        });
        serde_json::to_writer(&mut *out, &trace)?;
        writeln!(out)
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        let trace = json!({
            "otherData": { "tool": crate::results::tool(), "unfinished": analysis.in_one_line() },
            "traceEvents": [],
        });
        serde_json::to_writer(&mut *out, &trace)?;
        writeln!(out)
    }
}

struct Picture<'a> {
    findings: &'a Findings<'a>,
    replay: &'a Replay,
    process: usize,
}

impl Picture<'_> {
    fn write(&self, race: &Race<'_>, events: &mut Vec<Value>) {
        let (words, trace) = (self.findings.words(), self.findings.trace);
        let pair = race.first().of;
        let (a, b) = (words.place(pair.example.0), words.place(pair.example.1));
        let name = format!("witness {}: {a} and {b}", race.number());
        events.push(self.about("process_name", 0, &name));
        let mut threads: BTreeSet<ThreadId> = self.replay.accesses.iter().map(|access| access.thread).collect();
        threads.extend(self.replay.executed.iter().map(|step| trace.thread(step.event)));
        for &thread in &threads {
            events.push(self.about("thread_name", thread.0, &words.thread(thread)));
        }
        for (index, step) in self.replay.executed.iter().enumerate() {
            let name = words.describe_event(step.event, &step.step.woken);
            events.push(self.slice(step.event, index, &name, category(trace.op(step.event))));
        }
        let last = self.replay.executed.len();
        for pending in self.replay.accesses.iter().filter(|access| access.is_next) {
            events.push(self.pending(pending, last));
        }
        let found = Links::of(trace, self.replay);
        for (number, link) in found.links.iter().enumerate() {
            let [from, to] = [link.from, link.to].map(|step| self.replay.executed[step].event);
            self.arrow(number, link.kind, (link.from, from), (link.to, to), events);
        }
        // Threads that take no step here have no lane.
        let held = found.held.iter().filter(|held| threads.contains(&held.thread));
        for (number, held) in held.enumerate() {
            let how = if held.shared { " for reading" } else { "" };
            let name = format!("{}{how} ({})", words.object(held.lock), words.thread(held.thread));
            let ends = [
                ("b", held.from.unwrap_or(0)),
                ("e", held.to.map_or(last + 1, |to| to + 1)),
            ];
            for (phase, step) in ends {
                events.push(json!({
                    "ph": phase, "cat": "critical section", "name": name, "id": format!("{}.{number}", self.process),
                    "pid": self.process, "tid": held.thread.0, "ts": step * STEP,
                }));
            }
        }
    }

    fn about(&self, what: &str, thread: u32, name: &str) -> Value {
        json!({ "ph": "M", "name": what, "pid": self.process, "tid": thread, "args": { "name": name } })
    }

    fn slice(&self, event: EventId, step: usize, name: &str, category: &str) -> Value {
        let words = self.findings.words();
        json!({
            "ph": "X", "cat": category, "name": name, "pid": self.process, "tid": self.findings.trace.thread(event).0,
            "ts": step * STEP, "dur": STEP,
            "args": { "event": event.0, "step": step + 1, "place": words.place(event) },
        })
    }

    fn pending(&self, pending: &PendingAccess, step: usize) -> Value {
        let words = self.findings.words();
        let intent = self.findings.trace.access(pending.event);
        let intent = intent.map_or_else(String::new, |access| words.intent(access));
        self.slice(pending.event, step, &format!("race: {intent}"), "race")
    }

    /// An arrow from the middle of one step to the middle of another.
    fn arrow(&self, number: usize, kind: Kind, from: (usize, EventId), to: (usize, EventId), events: &mut Vec<Value>) {
        let id = format!("{}.{number}", self.process);
        for (phase, (step, event)) in [("s", from), ("f", to)] {
            let mut end = json!({
                "ph": phase, "cat": "order", "name": kind.name(), "id": id, "pid": self.process,
                "tid": self.findings.trace.thread(event).0, "ts": step * STEP + STEP / 2,
            });
            if phase == "f" {
                end["bp"] = json!("e");
            }
            events.push(end);
        }
    }
}

fn category(op: Op) -> &'static str {
    match op {
        Op::Access => "access",
        Op::Begin | Op::End | Op::Fork { .. } | Op::Join { .. } => "thread",
        _ => "synchronization",
    }
}
