//! Annotations of GitHub Actions: workflow commands, which the runner takes from a job's output.
//!
//! Writes an error for each race, at its first access, and a notice for each undecided pair. GitHub shows ten of each
//! kind per step; SARIF has no such limit.

use super::command::replay_command;
use super::paths::seen;
use super::{Exporter, Findings, Unfinished};
use crate::escape::printable;
use crate::results::{Summary, unknown_name};
use crate::trace::EventId;
use crate::verdict::Verdict;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes workflow commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct GitHub;

impl Exporter for GitHub {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        for findings in findings {
            for race in findings.shown_races() {
                let pair = race.first().of;
                let how = match race.rows.len() {
                    1 => String::new(),
                    count => format!("\n{count} pairs of instructions in these functions"),
                };
                let shown = replay_command(findings, race.number());
                let text = format!("{}{how}\n{shown}", findings.headline(pair));
                command(findings, "error", race.name(), pair.example.0, &text, out)?;
            }
            for (number, other) in findings.witnessed_others() {
                let (headline, shown) = (other.headline(findings), replay_command(findings, number));
                let text = format!("{headline}\n{shown}");
                command(findings, "error", other.name(), other.example()[0], &text, out)?;
            }
            if let Some(end) = findings.run_end() {
                let (level, title) = match end.is_deadlock {
                    true => ("error", "deadlock"),
                    false => ("notice", "end of the run"),
                };
                writeln!(out, "::{level} title={title}::{}", data(&end.lines()))?;
            }
            let mut seen = BTreeSet::new();
            for row in findings.shown() {
                // What is only not in this trace would be on every line of a program that uses flags and queues.
                if let Verdict::Unknown(unknown) = &row.of.verdict
                    && seen.insert(row.id)
                {
                    let text = format!("{}: {}", unknown_name(unknown), findings.headline(row.of));
                    command(findings, "notice", "undecided pair", row.of.example.0, &text, out)?;
                }
            }
        }
        let exploration = findings.first().and_then(|first| first.exploration);
        let Some(all) = exploration else {
            return Ok(());
        };
        for found in &all.found {
            let facts = found.details.iter().chain(&found.replay);
            let text: Vec<&str> = [&found.title].into_iter().chain(facts).map(String::as_str).collect();
            writeln!(
                out,
                "::error title={}::{}",
                property(&found.kind),
                data(&text.join("\n"))
            )?;
        }
        let statement = all.statement(Summary::total(findings).has_no_race());
        let text: Vec<&str> = [&statement]
            .into_iter()
            .chain(&all.not_exhausted)
            .map(String::as_str)
            .collect();
        writeln!(out, "::notice title=every schedule::{}", data(&text.join("\n")))
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "::error title=analysis not finished::{}",
            data(&analysis.in_one_line())
        )
    }
}

fn command(
    findings: &Findings<'_>,
    level: &str,
    title: &str,
    event: EventId,
    text: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let frame = findings.words().frame(event);
    write!(out, "::{level} ")?;
    if let Some(file) = &frame.file {
        write!(out, "file={},", property(&seen(file, &findings.root.folder).path))?;
        if let Some(line) = frame.line {
            write!(out, "line={line},")?;
        }
    }
    writeln!(out, "title={}::{}", property(title), data(text))
}

/// The text of a command: it ends with the line.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    printable(&text).into_owned()
}

/// The value of a property: it also ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(data("50%\r\na: b, c"), "50%25%0D%0Aa: b, c");
        assert_eq!(property("a\u{1b}[2J\u{202e}b"), "a\\u{1b}[2J\\u{202e}b");
        assert_eq!(property("C:/a,b.c\n"), "C%3A/a%2Cb.c%0A");
    }
}
