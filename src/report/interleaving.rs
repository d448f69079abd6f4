//! A schedule as people read it: who does what, where the context switches, and the race at the end.
//!
//! Synchronization, accesses to the racing cells and the last events before the race are always
//! shown; long stretches of other events of one thread are condensed to a count.

use super::paint::Paint;
use super::source_text::SourceText;
use super::words::{Words, value};
use crate::replay::{PendingAccess, Replay};
use crate::trace::{EventId, Op};
use std::io::{self, Write};
use std::path::Path;

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

/// Events of each racing thread that are shown just before the race, whatever they are.
const LAST: usize = 3;

/// Writes interleavings of one trace.
pub struct Interleaving<'a> {
    /// How things are called.
    pub words: Words<'a>,
    /// Source lines.
    pub sources: &'a SourceText,
    /// Colours.
    pub paint: Paint,
    /// How much to show.
    pub detail: Detail,
}

/// A line of the interleaving.
enum Line {
    Switch { slice: usize, first: EventId },
    Event { index: usize },
    Condensed { events: usize, of: EventId },
}

impl Interleaving<'_> {
    /// Writes all steps of a replay and the race at its end, each line after `indent`.
    ///
    /// # Errors
    /// Only if `out` fails.
    pub fn write(&self, replay: &Replay, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let lines = self.lines(replay);
        let kept = match self.detail {
            Detail::Last(most) if lines.len() > most => &lines[lines.len() - most..],
            _ => &lines[..],
        };
        if kept.len() < lines.len() {
            let more = format!("… {} earlier lines; the replay shows them", lines.len() - kept.len());
            writeln!(out, "{indent}{}", self.paint.faint(more))?;
        }
        for line in kept {
            match *line {
                Line::Switch { slice, first } => {
                    let thread = self.words.thread(self.words.trace.thread(first));
                    let arrow = if slice == 1 { "start" } else { "switch" };
                    writeln!(out, "{indent}{}", self.paint.switch(format!("── {arrow}: {thread}")))?;
                }
                Line::Event { index } => {
                    let step = &replay.executed[index];
                    let deed = self.words.deed(step.event, &step.step.woken);
                    self.line(step.event, &deed, indent, out)?;
                }
                Line::Condensed { events, of } => {
                    let thread = self.words.trace.thread(of).0;
                    let plural = if events == 1 { "event" } else { "events" };
                    let more = format!("          … {events} more {plural} of thread {thread}");
                    writeln!(out, "{indent}{}", self.paint.faint(more))?;
                }
            }
        }
        let race = "── race: both are next, nothing orders them";
        writeln!(out, "{indent}{}", self.paint.warning(race))?;
        for pending in [&replay.race.0, &replay.race.1] {
            self.pending(pending, indent, out)?;
        }
        Ok(())
    }

    fn pending(&self, pending: &PendingAccess, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some(access) = self.words.trace.access(pending.event) else {
            return Ok(());
        };
        let mut deed = format!("thread {} {}", pending.thread.0, self.words.intent(access));
        match (access.kind.reads(), access.kind.writes(), pending.memory) {
            (true, false, Some(memory)) => deed += &format!(", now {}", value(memory)),
            (false, true, _) if access.size <= 8 => deed += &format!(" = {}", value(self.words.values(access).1)),
            _ => {}
        }
        self.line(pending.event, &deed, indent, out)
    }

    fn line(&self, event: EventId, deed: &str, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let frame = self.words.symbols.frame(self.words.trace.pc(event));
        let (place, text) = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => {
                let name = Path::new(file)
                    .file_name()
                    .map_or(file.into(), |name| name.to_string_lossy());
                (format!("{name}:{line}"), self.sources.line(file, line))
            }
            _ if frame.pc == 0 => (String::new(), None),
            _ => (frame.place(), None),
        };
        let line = format!("{:>8}  {place:<20} {deed:<48}", event.0);
        match text {
            Some(text) => writeln!(out, "{indent}{line} {}", self.paint.faint(format!("│ {text}"))),
            None => writeln!(out, "{indent}{}", line.trim_end()),
        }
    }

    fn lines(&self, replay: &Replay) -> Vec<Line> {
        let shown = self.shown(replay);
        let mut lines = Vec::new();
        let mut slice = 0;
        let mut index = 0;
        while index < replay.executed.len() {
            let step = &replay.executed[index];
            if step.slice != slice {
                slice = step.slice;
                lines.push(Line::Switch {
                    slice,
                    first: step.event,
                });
            }
            if shown[index] {
                lines.push(Line::Event { index });
                index += 1;
                continue;
            }
            let rest = &replay.executed[index..];
            let hidden = rest
                .iter()
                .zip(&shown[index..])
                .take_while(|(step, shown)| step.slice == slice && !**shown);
            let events = hidden.count();
            // A line that says "1 more event" is no shorter than the event.
            lines.push(match events {
                1 => Line::Event { index },
                events => Line::Condensed { events, of: step.event },
            });
            index += events;
        }
        lines
    }

    /// Which of the executed events are shown one by one.
    fn shown(&self, replay: &Replay) -> Vec<bool> {
        let trace = self.words.trace;
        let racing = [&replay.race.0, &replay.race.1];
        let cells: Vec<_> = racing
            .iter()
            .flat_map(|pending| trace.cell_uses(pending.event))
            .map(|used| used.cell)
            .collect();
        let mut shown: Vec<bool> = Vec::with_capacity(replay.executed.len());
        for step in &replay.executed {
            shown.push(match trace.op(step.event) {
                _ if self.detail == Detail::Full => true,
                Op::Access(_) => trace
                    .cell_uses(step.event)
                    .iter()
                    .any(|used| cells.contains(&used.cell)),
                Op::Alloc { .. } | Op::Branch | Op::Fence { .. } | Op::Input { .. } | Op::Output { .. } => false,
                _ => true,
            });
        }
        for pending in racing {
            let steps = replay.executed.iter().enumerate().rev();
            let own = steps.filter(|(_, step)| trace.thread(step.event) == pending.thread);
            for (index, _) in own.take(LAST) {
                shown[index] = true;
            }
        }
        shown
    }
}
