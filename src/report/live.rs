//! The outcome of a live run, for people.

use super::paint::Paint;
use super::words::{Words, value};
use crate::replay::live::{
    Actual, Again, BadPointer, Changed, Deadlocked, Difference, Divergence, Outcome, Run, Sameness, Shortest, Shown,
    UnsetReads, Why, changed, stretches,
};
use crate::schedule::{Goal, Schedule};
use crate::symbols::{Symbols, printable};
use crate::trace::{EventId, Trace};
use std::io::{self, Write};
use std::path::Path;
use trace_format::ProgramEnd;

/// Stretches of one thread that are listed of a failing run.
const SHOWN_STRETCHES: usize = 60;

/// Writes about live runs of one trace.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// The recorded trace.
    pub words: Words<'a>,
    /// Colors.
    pub paint: Paint,
}

impl Live<'_> {
    /// Writes what became of a run along `schedule`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, number: usize, schedule: &Schedule, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        match &run.outcome {
            Outcome::Confirmed(shown) => self.confirmed(number, &schedule.goal, run, shown, out)?,
            Outcome::Diverged(divergence) => {
                let title = format!("DIVERGED: witness {number}: the program did not do what the schedule says");
                let place = self.place_in(schedule, divergence.step, divergence.expected);
                self.diverged(&title, &place, &run.trace, divergence, out)?;
            }
            Outcome::NotReached { step, due, why } => {
                let title = format!("NOT REACHED: witness {number}: the program did not come to the race");
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  why: {}", why_text(why))?;
                writeln!(out, "  at:  {}", self.place_in(schedule, *step, *due))?;
                writeln!(out, "  due: {}", self.words.sentence(*due))?;
                self.changed(&run.trace, out)?;
            }
        }
        self.unset_reads(run.unset_reads, out)
    }

    /// Writes what became of a run that was to end in a deadlock.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_deadlock(
        &self,
        number: usize,
        goal: &Goal,
        outcome: &Deadlocked,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let words = self.words;
        let waiting: Vec<EventId> = goal.pending().collect();
        let waiting = waiting.as_slice();
        match outcome {
            Deadlocked::Confirmed(waits) => {
                let how = match goal {
                    Goal::PartialDeadlock(_) => "the threads wait until the run ends, though others can go on",
                    _ if words.stands_still(waiting) => "the threads wait for ever, and nobody else is left",
                    _ => "the threads wait for each other for ever",
                };
                let title = format!("CONFIRMED: witness {number}: {how}");
                writeln!(out, "{}", self.paint.warning(title))?;
                waits.iter().try_for_each(|wait| writeln!(out, "  {wait}"))
            }
            Deadlocked::Diverged(expected) => {
                let title = format!("DIVERGED: witness {number}: the program did not do what the schedule says");
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  expected: {}", words.sentence(*expected))
            }
            Deadlocked::NotReached { due, end } => {
                let title = format!("NOT REACHED: witness {number}: the program did not come to the deadlock");
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  why: {}", end_text(*end))?;
                due.iter().try_for_each(|&event| {
                    let thread = words.thread(words.trace.thread(event));
                    writeln!(
                        out,
                        "  due: {thread} {} at {}",
                        words.wait(event, waiting),
                        words.place(event)
                    )
                })
            }
        }
    }

    /// Writes what became of a run whose thread was to use what a null or stale pointer points to.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_bad_pointer(
        &self,
        number: usize,
        goal: &Goal,
        outcome: &BadPointer,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let reads = match goal {
            Goal::StalePointer { .. } => "the address of what was freed",
            _ => "0",
        };
        match outcome {
            BadPointer::Died { addr } => {
                let title =
                    format!("CONFIRMED: witness {number}: the thread reads {reads}, and the program dies of it");
                writeln!(out, "{}", self.paint.warning(title))?;
                writeln!(out, "  by an access of address {addr:#x}")
            }
            BadPointer::Used { addr } => {
                let title = format!("CONFIRMED: witness {number}: the thread reads {reads}, and uses it");
                writeln!(out, "{}", self.paint.warning(title))?;
                writeln!(out, "  by an access of address {addr:#x}")
            }
            BadPointer::Diverged(expected) => {
                let title = format!("DIVERGED: witness {number}: the program did not do what the schedule says");
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  expected: {}", self.words.sentence(*expected))
            }
            BadPointer::NotReached { end } => {
                let what = match goal {
                    Goal::StalePointer { .. } => "the thread does not use what was freed",
                    _ => "the thread reads 0, and the program does not die of it",
                };
                let title = format!("NOT REACHED: witness {number}: {what}");
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  why: {}", end_text(*end))
            }
        }
    }

    /// Writes what the shortest failing run that was found does; `before` has the stretches and events of the recorded
    /// one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_shortest(
        &self,
        shortest: &Shortest,
        before: (usize, usize),
        file: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let words = self.words;
        let all = stretches(words.trace);
        let switches = |stretches: usize| match stretches.saturating_sub(1) {
            1 => "1 context switch".to_owned(),
            count => format!("{count} context switches"),
        };
        let (now, events, runs) = (switches(all.len()), words.trace.len(), shortest.runs);
        let title = match file {
            Some(file) => format!(
                "SHORTENED: {now} instead of {}, {events} events instead of {} ({runs} runs): {}",
                before.0.saturating_sub(1),
                before.1,
                file.display()
            ),
            None => format!("NOT SHORTENED: no run with less than {now} and {events} events was found ({runs} runs)"),
        };
        writeln!(out, "{}", self.paint.warning(title))?;
        writeln!(out, "  events  up to")?;
        for one in all.iter().take(SHOWN_STRETCHES) {
            let last = EventId((one.events.end - 1) as u32);
            writeln!(out, "  {:>6}  {}", one.events.len(), words.sentence(last))?;
        }
        if let more @ 1.. = all.len().saturating_sub(SHOWN_STRETCHES) {
            writeln!(out, "  … and {more} more context switches")?;
        }
        writeln!(out)
    }

    /// Writes how far a run was the recorded one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_again(&self, again: &Again, out: &mut dyn Write) -> io::Result<()> {
        let (words, live) = (self.words, &again.trace);
        let place = |event: EventId| {
            let thread = words.thread(words.trace.thread(event));
            format!("event {} of {}, {thread}", event.0, words.trace.len())
        };
        match &again.outcome {
            Sameness::Reproduced(end) => {
                let title = format!("REPRODUCED: {}", end_text(*end));
                writeln!(out, "{}", self.paint.warning(title))?;
                writeln!(out, "  all {} events are those of the recorded run", words.trace.len())?;
            }
            Sameness::Diverged(divergence) => {
                let title = "DIVERGED: the program did not do what it did when it was recorded";
                self.diverged(title, &place(divergence.expected), live, divergence, out)?;
                writeln!(out, "  then:     {}", end_text(*live.program_end()))?;
            }
            Sameness::More(event) => {
                let title = "DIVERGED: the program did more than when it was recorded";
                writeln!(out, "{}", self.paint.access(title))?;
                let symbols = Symbols::new(live.tables());
                let live = Words {
                    trace: live,
                    symbols: &symbols,
                };
                writeln!(out, "  first:    {}", live.sentence(*event))?;
                self.changed(live.trace, out)?;
            }
            Sameness::OtherEnd { recorded, live: end } => {
                let title = "DIVERGED: the program did the same, and ended otherwise";
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  expected: {}", end_text(*recorded))?;
                writeln!(out, "  actual:   {}", end_text(*end))?;
                self.changed(live, out)?;
            }
            Sameness::NotReached { due, end } => {
                let title = "NOT REACHED: the program ended before it had done all that it did when it was recorded";
                writeln!(out, "{}", self.paint.access(title))?;
                writeln!(out, "  why: {}", end_text(*end))?;
                writeln!(out, "  at:  {}", place(*due))?;
                writeln!(out, "  due: {}", words.sentence(*due))?;
                self.changed(live, out)?;
            }
        }
        self.unset_reads(again.unset_reads, out)
    }

    /// Says which reads saw bytes that no recorded code had set, and others than in the recorded run.
    fn unset_reads(&self, reads: UnsetReads, out: &mut dyn Write) -> io::Result<()> {
        let Some((first, sees)) = reads.first else {
            return Ok(());
        };
        let which = match reads.count {
            1 => "one read saw".to_owned(),
            count => format!("{count} reads, the first of which is this one, saw"),
        };
        writeln!(
            out,
            "  {which} other bytes than in the recorded run, which no recorded code had set:"
        )?;
        writeln!(out, "    {}: {}", self.words.sentence(first), value(sees))
    }

    fn confirmed(&self, number: usize, goal: &Goal, run: &Run, shown: &[Shown], out: &mut dyn Write) -> io::Result<()> {
        let how = match goal {
            Goal::UnorderedRace(..) => {
                "the first access is done, the second is pending, and nothing synchronizes the two"
            }
            Goal::AtomicityViolation { both_next: true, .. } => {
                "the first access is done, and both the other thread's and the second are pending"
            }
            Goal::AtomicityViolation { .. } => {
                "the first access and the other thread's are done, the second is pending"
            }
            Goal::TornPair { unfinished: true, .. } => {
                "the other thread has written one of the two variables, and the second read is pending"
            }
            Goal::TornPair { .. } => "the other thread has written behind the first read, and the second is pending",
            Goal::UseAfterFree { .. } => "the memory is freed, and the access of it is pending",
            Goal::Order { .. } => "the access is pending, and what has to come first has not happened",
            // Of the last four, the program is not stopped before anything.
            Goal::Race(..)
            | Goal::OtherValue { .. }
            | Goal::StalePointer { .. }
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_) => "both accesses are pending at once",
        };
        let title = format!("CONFIRMED: witness {number}: {how}");
        writeln!(out, "{}", self.paint.warning(title))?;
        let symbols = Symbols::new(run.trace.tables());
        for (letter, shown) in letters(shown) {
            let trace = self.words.trace;
            let Some(access) = trace.access(shown.event) else {
                continue;
            };
            let thread = self.words.thread(trace.thread(shown.event));
            let state = if shown.pending { "about to happen" } else { "done" };
            let what = self.words.access_noun(access);
            let touched = self.words.touched(access, shown.addr);
            let head = format!("{letter}: {what} of {touched} by {thread}, {state}:");
            writeln!(out, "  {}", self.paint.access(head))?;
            let frames = symbols.stack(shown.pc, shown.stack);
            let named = frames
                .iter()
                .rposition(|frame| frame.file.is_some() || frame.function.is_some());
            for (at, frame) in frames[..named.map_or(frames.len(), |last| last + 1)].iter().enumerate() {
                writeln!(out, "    #{at} {frame}")?;
            }
        }
        if goal.is_unordered() {
            writeln!(
                out,
                "  Shown live: the schedule. Not shown: that the processor or the compiler makes use of the\n  \
                 missing order; the program ran one thread at a time."
            )?;
        }
        Ok(())
    }

    fn diverged(
        &self,
        title: &str,
        place: &str,
        run: &Trace,
        divergence: &Divergence,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let words = self.words;
        writeln!(out, "{}", self.paint.access(title))?;
        writeln!(out, "  at:       {place}")?;
        writeln!(out, "  expected: {}", words.sentence(divergence.expected))?;
        let symbols = Symbols::new(run.tables());
        let live = Words {
            trace: run,
            symbols: &symbols,
        };
        let thread = words.thread(words.trace.thread(divergence.expected));
        let actual = match &divergence.actual {
            Actual::Did(done, Difference::Event) => live.sentence(*done),
            Actual::Did(done, Difference::Object) => format!("{}: another object", live.sentence(*done)),
            Actual::Did(done, Difference::Memory(Some(expected))) => {
                format!("{}: other memory, not {expected:#x}", live.sentence(*done))
            }
            Actual::Did(done, Difference::Memory(None)) => format!("{}: other memory", live.sentence(*done)),
            Actual::Did(done, Difference::Value(saw, sees)) => {
                format!("{}: {}, not {}", live.sentence(*done), value(*sees), value(*saw))
            }
            Actual::Waits => format!("{thread} waits, for something that the schedule does not bring"),
            Actual::Gone => format!("{thread} has ended, or was never created"),
            Actual::OtherMemory { addr } => {
                format!("{thread} is stopped there, but about to access other memory, at {addr:#x}")
            }
            Actual::Unrecorded => format!("{thread} did something that is no event of the trace"),
        };
        writeln!(out, "  actual:   {actual}")?;
        self.changed(run, out)
    }

    /// Says of which libraries the run had another build.
    fn changed(&self, run: &Trace, out: &mut dyn Write) -> io::Result<()> {
        for Changed { path, is_there } in changed(self.words.trace, run) {
            let what = if is_there {
                "is not the build that was recorded"
            } else {
                "is not there any more"
            };
            writeln!(out, "  {} {what}: put that back, or record again.", printable(&path))?;
        }
        Ok(())
    }

    /// `slice 3 of 9, thread 2, event 117`.
    fn place_in(&self, schedule: &Schedule, step: usize, event: EventId) -> String {
        let mut end = schedule.as_recorded as usize;
        let slice = schedule.slices.iter().position(|slice| {
            end += slice.events as usize;
            step < end
        });
        let slice = match slice {
            _ if step < schedule.as_recorded as usize => {
                format!("the first {} events, as recorded", schedule.as_recorded)
            }
            Some(at) => format!("slice {} of {}", at + 1, schedule.slices.len()),
            None => "the race".to_owned(),
        };
        let thread = self.words.thread(self.words.trace.thread(event));
        format!("{slice}, {thread}, event {}", event.0)
    }
}

/// How a program ended, in a sentence.
/// The letters of the accesses of a goal that are there: the one that has to come first, and does not, has the first.
pub fn letters(shown: &[Shown]) -> impl Iterator<Item = (&'static str, &Shown)> {
    let missing = 2_usize.saturating_sub(shown.len());
    ["a", "b"].into_iter().skip(missing).zip(shown)
}

/// What became of a run that was to end in a deadlock, in one line.
#[must_use]
pub fn deadlock_in_short(outcome: &Deadlocked) -> String {
    match outcome {
        Deadlocked::Confirmed(_) => "confirmed live".to_owned(),
        Deadlocked::Diverged(_) => "witnessed; the live run diverged".to_owned(),
        Deadlocked::NotReached { end, .. } => {
            format!("witnessed; the live run did not reach it: {}", end_text(*end))
        }
    }
}

/// What became of a run whose thread was to use what a null or stale pointer points to, in one line.
#[must_use]
pub fn bad_pointer_in_short(outcome: &BadPointer) -> String {
    match outcome {
        BadPointer::Died { .. } | BadPointer::Used { .. } => "confirmed live".to_owned(),
        BadPointer::Diverged(_) => "witnessed; the live run diverged".to_owned(),
        BadPointer::NotReached { end } => {
            format!("witnessed; the live run did not use the pointer: {}", end_text(*end))
        }
    }
}

fn end_text(end: ProgramEnd) -> String {
    match end {
        ProgramEnd::Exited(code) => format!("the program exited with status {code}"),
        ProgramEnd::Signaled(signal) => format!("signal {signal} killed the program"),
        ProgramEnd::Deadlock => "the program's threads wait for one another for ever".to_owned(),
        ProgramEnd::EventLimit | ProgramEnd::TimeLimit => "a limit ended the program".to_owned(),
        ProgramEnd::Unknown => "how the program ended is not known".to_owned(),
    }
}

fn why_text(why: &Why) -> String {
    use std::os::unix::process::ExitStatusExt;
    match why {
        Why::Ended(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("it ended with status {code}"),
            (None, Some(signal)) => format!("signal {signal} killed it"),
            (None, None) => "it ended".to_owned(),
        },
        Why::Stalled(patience) => format!("nothing happened for {} s", patience.as_secs_f64()),
    }
}

/// One line about a run: `confirmed live`, or why not.
#[must_use]
pub fn in_short(goal: &Goal, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Confirmed(_) if goal.is_unordered() => "confirmed live (unordered)".to_owned(),
        Outcome::Confirmed(_) => "confirmed live".to_owned(),
        Outcome::Diverged(_) => "witnessed; the live run diverged".to_owned(),
        Outcome::NotReached { why, .. } => format!("witnessed; the live run did not reach it: {}", why_text(why)),
    }
}
