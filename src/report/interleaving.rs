//! A schedule for people: what each thread does, where the context switches, and the race at the end.
//!
//! `condense` decides which steps are shown one by one and which are only counted.

use super::condense::{Line, lines};
use super::paint::Paint;
use super::source_text::SourceText;
use super::words::{Words, value};
use crate::replay::{PendingAccess, Replay};
use crate::schedule::{Goal, Schedule};
use crate::semantics::memory::seen_after;
use crate::symbols::printable;
use crate::trace::{AccessKind, EventId};
use std::io::{self, Write};
use std::path::Path;

/// How long a schedule is.
pub(crate) fn length(schedule: &Schedule) -> String {
    let switches = schedule.switches();
    let plural = if switches == 1 { "switch" } else { "switches" };
    let events = schedule.len();
    match schedule.as_recorded {
        0 => format!("{events} events, {switches} context {plural}"),
        recorded => format!("{events} events, {switches} context {plural} behind the first {recorded}"),
    }
}

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What matters, and of that only the last so many lines.
    Last(usize),
    /// What matters.
    Essential,
    /// Every event.
    Full,
}

/// Writes interleavings of one trace.
pub struct Interleaving<'a> {
    /// How things are called.
    pub words: Words<'a>,
    /// Source lines.
    pub sources: &'a SourceText,
    /// Colors.
    pub paint: Paint,
    /// How much to show.
    pub detail: Detail,
}

impl Interleaving<'_> {
    /// Writes all steps of a replay and the race at its end, each line after `indent`.
    ///
    /// # Errors
    /// Only if `out` fails.
    pub fn write(&self, replay: &Replay, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        if replay.as_recorded > 0 {
            let first = format!("── the first {} events, as recorded", replay.as_recorded);
            writeln!(out, "{indent}{}", self.paint.switch(first))?;
        }
        let lines = lines(self.words.trace, replay, self.detail == Detail::Full);
        let kept = match self.detail {
            Detail::Last(most) if lines.len() > most => &lines[lines.len() - most..],
            _ => &lines[..],
        };
        if kept.len() < lines.len() {
            let more = format!("… {} earlier lines; the replay shows them", lines.len() - kept.len());
            writeln!(out, "{indent}{}", self.paint.faint(more))?;
            let first = kept
                .first()
                .map(|line| line.event(replay))
                .filter(|_| !matches!(kept[0], Line::Switch { .. }));
            if let Some(first) = first {
                self.head("in", first, indent, out)?;
            }
        }
        for line in kept {
            match *line {
                Line::Switch { slice, first } => {
                    self.head(
                        if slice == 1 && replay.as_recorded == 0 {
                            "start"
                        } else {
                            "switch"
                        },
                        first,
                        indent,
                        out,
                    )?;
                }
                Line::Event { index } => {
                    let step = &replay.executed[index];
                    let access = self.words.trace.access(step.event);
                    if access.is_some_and(|access| access.kind == AccessKind::Use) {
                        // The operation that uses the object follows, and says so.
                        continue;
                    }
                    let action = self.words.describe_event(step.event, &step.step.woken);
                    self.line(step.event, &action, indent, out)?;
                }
                Line::Condensed { events, of, .. } => {
                    let thread = self.words.trace.thread(of).0;
                    let more = format!("          … {events} more events of thread {thread}");
                    writeln!(out, "{indent}{}", self.paint.faint(more))?;
                }
            }
        }
        let end = match &replay.accepted.goal {
            Goal::Race(..) => "── race: both are next, nothing orders them".to_owned(),
            Goal::UnorderedRace(first, _) => {
                format!("── race: event {} above does not happen before this", first.0)
            }
            &Goal::UseAfterFree { free, .. } => {
                format!(
                    "── use after free: event {} above has freed what this is about to access",
                    free.0
                )
            }
            Goal::AtomicityViolation {
                first, both_next: true, ..
            } => format!(
                "── atomicity violation: both are next, in this order, behind event {} above",
                first.0
            ),
            Goal::AtomicityViolation { first, between, .. } => format!(
                "── atomicity violation: event {} above came between event {} and this",
                between.0, first.0
            ),
            &Goal::TornPair {
                first,
                writes,
                second,
                unfinished,
            } => {
                let (one, other) = (writes[0].0, writes[1].0);
                match (unfinished, one < other) {
                    (true, true) => format!(
                        "── torn pair: event {} above has come behind event {one}, and event {other} has not happened",
                        first.0
                    ),
                    (true, false) => format!(
                        "── torn pair: event {other} above has happened, and event {one} has not, for which event {} \
                         comes too early",
                        first.0
                    ),
                    (false, _) => format!(
                        "── torn pair: event {one} above came between event {} and event {}, and event {other} before \
                         the latter",
                        first.0, second.0
                    ),
                }
            }
            Goal::Order { awaited, .. } => {
                let first = awaited.first().map_or(0, |event| event.0);
                format!("── order violation: event {first} has not happened, which has to come before this")
            }
            &Goal::StalePointer {
                free,
                read,
                value: seen,
            } => {
                let recorded = self.words.trace.access(read).map(|access| self.words.values(access).0);
                let recorded = recorded.map_or_else(String::new, value);
                format!(
                    "── stale pointer: this would read {}, an address in what event {} above has freed; in the trace, it \
                     read {recorded}",
                    value(seen),
                    free.0
                )
            }
            &Goal::OtherValue { read, value: seen } => {
                let recorded = self.words.trace.access(read).map(|access| self.words.values(access).0);
                let recorded = recorded.map_or_else(String::new, value);
                let seen = match seen {
                    Some(seen) => format!("this would read {}", value(seen)),
                    None => "the trace does not tell what this would read".to_owned(),
                };
                format!("── another value: {seen}; in the trace, it read {recorded}")
            }
            Goal::Deadlock(waiting) if self.words.stands_still(waiting) => {
                "── deadlock: these wait, and nobody else is left".to_owned()
            }
            Goal::Deadlock(_) => "── deadlock: these wait for each other".to_owned(),
            Goal::PartialDeadlock(_) => {
                "── partial deadlock: these wait, and nobody else ends that in the recorded run".to_owned()
            }
        };
        writeln!(out, "{indent}{}", self.paint.warning(end))?;
        let mut pending = replay.accesses.iter().filter(|access| access.is_next);
        let all: Vec<EventId> = replay.accepted.goal.pending().collect();
        pending.try_for_each(|access| self.pending(access, &all, indent, out))?;
        match replay.accepted.goal {
            Goal::OtherValue { read, .. } | Goal::StalePointer { read, .. } => self.writers(replay, read, indent, out),
            Goal::Race(..)
            | Goal::UnorderedRace(..)
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_)
            | Goal::UseAfterFree { .. }
            | Goal::AtomicityViolation { .. }
            | Goal::TornPair { .. }
            | Goal::Order { .. } => Ok(()),
        }
    }

    /// Whose writes a read would see.
    fn writers(&self, replay: &Replay, read: EventId, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let recorded = self.words.trace.events().take(replay.as_recorded as usize);
        let order = recorded.chain(replay.executed.iter().map(|step| step.event));
        let seen = seen_after(self.words.trace, order, read);
        if seen.iter().any(|seen| seen.writer.is_none()) {
            let nobody = "── nobody has written there by then";
            writeln!(out, "{indent}{}", self.paint.switch(nobody))?;
        }
        let mut writers: Vec<EventId> = seen.iter().filter_map(|seen| seen.writer).collect();
        writers.sort_unstable();
        writers.dedup();
        for writer in writers {
            let thread = self.words.thread(self.words.trace.thread(writer));
            let who = self.paint.switch(format!("── written by {thread}:"));
            writeln!(out, "{indent}{who}")?;
            self.line(writer, &self.words.describe_event(writer, &[]), indent, out)?;
        }
        Ok(())
    }

    /// The line before the events of one thread.
    fn head(&self, how: &str, first: EventId, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let thread = self.words.thread(self.words.trace.thread(first));
        writeln!(out, "{indent}{}", self.paint.switch(format!("── {how}: {thread}")))
    }

    fn pending(&self, pending: &PendingAccess, all: &[EventId], indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some(access) = self.words.trace.access(pending.event) else {
            let action = format!("thread {} {}", pending.thread.0, self.words.wait(pending.event, all));
            return self.line(pending.event, &action, indent, out);
        };
        let mut action = format!("thread {} {}", pending.thread.0, self.words.intent(access));
        match (access.kind.reads(), access.kind.writes(), pending.memory) {
            (true, false, Some(memory)) => action += &format!(", now {}", value(memory)),
            (false, true, _) if access.size <= 8 => action += &format!(" = {}", value(self.words.values(access).1)),
            _ => {}
        }
        self.line(pending.event, &action, indent, out)
    }

    fn line(&self, event: EventId, action: &str, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let frame = self.words.frame(event);
        let (place, text) = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => {
                let name = Path::new(file)
                    .file_name()
                    .map_or(file.into(), |name| name.to_string_lossy());
                (format!("{}:{line}", printable(&name)), self.sources.line(file, line))
            }
            _ if frame.pc == 0 => (String::new(), None),
            _ => (frame.place(), None),
        };
        let line = format!("{:>8}  {place:<20} {action:<48}", event.0);
        match text {
            Some(text) => writeln!(out, "{indent}{line} {}", self.paint.faint(format!("│ {text}"))),
            None => writeln!(out, "{indent}{}", line.trim_end()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Checker;
    use crate::schedule::{Goal, Schedule, Slice};
    use crate::symbols::Symbols;
    use crate::trace::{ObjectId, StackId, Tables, ThreadId, Trace, TraceId};
    use trace_format::{Event, MemRange, Op as FileOp};

    /// Thread 1 reads `quiet` bytes of its own, locks, reads two more, and then races with thread 0.
    fn written(quiet: u64, detail: Detail) -> String {
        let event = |thread, op| Event {
            thread: ThreadId(thread),
            pc: 0,
            stack: StackId::EMPTY,
            op,
        };
        let read = |addr| FileOp::Read {
            mem: MemRange { addr, size: 1 },
            value: 0,
        };
        let lock = ObjectId(0);
        let mut events: Vec<Event> = (0..quiet).map(|at| event(1, read(0x100 + at))).collect();
        events.extend(
            [
                FileOp::Acquire { lock, attempt: false },
                read(0x80),
                read(0x10),
                read(0x81),
                read(0x82),
                read(0x83),
            ]
            .map(|op| event(1, op)),
        );
        let mem = MemRange { addr: 0x10, size: 1 };
        events.extend([
            event(1, FileOp::Write { mem, value: 1 }),
            event(0, FileOp::Write { mem, value: 2 }),
        ]);
        let race = (EventId(events.len() as u32 - 2), EventId(events.len() as u32 - 1));
        let trace = Trace::from_events(Tables::default(), &events);
        let schedule = Schedule {
            trace: TraceId([0; 16]),
            first_events: None,
            goal: Goal::Race(race.0, race.1),
            as_recorded: 0,
            slices: vec![Slice {
                thread: ThreadId(1),
                events: events.len() as u32 - 2,
            }],
            wakes: Vec::new(),
        };
        let replay = Replay::of(&Checker::new(&trace), &schedule).expect("a witness");
        let symbols = Symbols::new(trace.tables());
        let interleaving = Interleaving {
            words: Words {
                trace: &trace,
                symbols: &symbols,
            },
            sources: &SourceText::of_own_trace(),
            paint: Paint::default(),
            detail,
        };
        let mut out = Vec::new();
        interleaving.write(&replay, "", &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        // Runs of blanks only align the columns.
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect()
    }

    const RACE: &str = "── race: both are next, nothing orders them\n\
                        1006 thread 1 writes 1 byte at 0x10 = 1\n1007 thread 0 (main) writes 1 byte at 0x10 = 2\n";

    #[test]
    fn condenses_all_but_synchronization_racing_cells_and_the_end() {
        let text = written(1000, Detail::Essential);
        let expected = "── start: thread 1\n\
                        … 1000 more events of thread 1\n\
                        1000 locks object 0\n\
                        1001 reads 1 byte at 0x80 = 0\n\
                        1002 reads 1 byte at 0x10 = 0\n\
                        1003 reads 1 byte at 0x81 = 0\n\
                        1004 reads 1 byte at 0x82 = 0\n\
                        1005 reads 1 byte at 0x83 = 0\n";
        assert_eq!(text, format!("{expected}{}", RACE.replace(" (main)", "")));
    }

    #[test]
    fn the_last_lines_say_whose_they_are() {
        let text = written(1000, Detail::Last(2));
        let expected = "… 6 earlier lines; the replay shows them\n\
                        ── in: thread 1\n\
                        1004 reads 1 byte at 0x82 = 0\n\
                        1005 reads 1 byte at 0x83 = 0\n";
        assert_eq!(text, format!("{expected}{}", RACE.replace(" (main)", "")));
    }

    #[test]
    fn switches_behind_the_recorded_events_are_counted() {
        let slice = |thread| Slice {
            thread: ThreadId(thread),
            events: 5,
        };
        let schedule = |as_recorded, slices| Schedule {
            trace: TraceId([0; 16]),
            first_events: None,
            goal: Goal::Race(EventId(0), EventId(1)),
            as_recorded,
            slices,
            wakes: Vec::new(),
        };
        let from_the_start = schedule(0, vec![slice(0), slice(1)]);
        assert_eq!(length(&from_the_start), "10 events, 1 context switch");
        let later = schedule(100, vec![slice(1), slice(0)]);
        assert_eq!(length(&later), "110 events, 2 context switches behind the first 100");
    }

    #[test]
    fn full_shows_every_event() {
        let text = written(1000, Detail::Full);
        assert_eq!(text.lines().count(), 1 + 1006 + 3);
    }
}
