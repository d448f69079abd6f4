//! Comma-separated values (RFC 4180), for spreadsheets and databases: a row for each witnessed race, deadlock and
//! atomicity violation.
//!
//! Pairs that are refuted, unknown or not in the trace are no findings and have no rows; the results object has them.

use super::command::replay_command;
use super::paths::seen;
use super::{Exporter, Findings, Unfinished};
use crate::escape::printable;
use crate::trace::EventId;
use std::io::{self, Write};

const COLUMNS: [&str; 13] = [
    "trace",
    "kind",
    "id",
    "pairs",
    "memory",
    "first file",
    "first line",
    "first function",
    "second file",
    "second line",
    "second function",
    "description",
    "replay",
];

/// Writes comma-separated values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Csv;

/// A row; a field that it does not fill is empty.
type Fields = [String; COLUMNS.len()];

impl Exporter for Csv {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        write_row(&COLUMNS.map(str::to_owned), out)?;
        for findings in findings {
            let trace = findings.path.display().to_string();
            for race in findings.shown_races() {
                let pair = race.first().of;
                let (first, second) = pair.example;
                let mut row = Fields::default();
                [row[0], row[1], row[2]] = [trace.clone(), race.name().to_owned(), race.first().id.to_owned()];
                row[3] = race.rows.len().to_string();
                row[4] = findings
                    .trace
                    .access(first)
                    .map_or_else(String::new, |access| findings.words().memory(access));
                row[5..8].clone_from_slice(&place(findings, first));
                row[8..11].clone_from_slice(&place(findings, second));
                [row[11], row[12]] = [findings.headline(pair), replay_command(findings, race.number())];
                write_row(&row, out)?;
            }
            for (number, other) in findings.witnessed_others() {
                let mut row = Fields::default();
                [row[0], row[1], row[2]] = [trace.clone(), other.name().to_owned(), other.id.to_owned()];
                row[3] = other.numbers.len().to_string();
                row[4] = other.memory(findings).unwrap_or_default();
                // Of more than two operations, the description has the others.
                for (at, &event) in (5..).step_by(3).zip(other.example().iter().take(2)) {
                    row[at..at + 3].clone_from_slice(&place(findings, event));
                }
                [row[11], row[12]] = [other.headline(findings), replay_command(findings, number)];
                write_row(&row, out)?;
            }
        }
        let exploration = findings.first().and_then(|first| first.exploration);
        for found in exploration.iter().flat_map(|all| &all.found) {
            let mut row = Fields::default();
            [row[1], row[11]] = [found.kind.clone(), found.title.clone()];
            row[12] = found.replay.clone().unwrap_or_default();
            write_row(&row, out)?;
        }
        Ok(())
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        write_row(&COLUMNS.map(str::to_owned), out)?;
        let mut row = Fields::default();
        [row[0], row[1]] = [analysis.trace.display().to_string(), "analysis not finished".to_owned()];
        row[11] = analysis.in_one_line();
        write_row(&row, out)
    }
}

/// File, line and function of an event.
fn place(findings: &Findings<'_>, event: EventId) -> [String; 3] {
    let frame = findings.words().frame(event);
    let file = frame.file.as_ref().map(|file| seen(file, &findings.root.folder).path);
    let line = frame.line.map(|line| line.to_string());
    [file, line, frame.function].map(|text| printable(&text.unwrap_or_default()).into_owned())
}

fn write_row(fields: &Fields, out: &mut dyn Write) -> io::Result<()> {
    let fields: Vec<String> = fields.iter().map(|text| field(text)).collect();
    write!(out, "{}\r\n", fields.join(","))
}

/// A field, quoted where it would otherwise end early. A spreadsheet takes what begins like a formula for one, whatever
/// quotes are around it, but for an apostrophe.
fn field(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return field(&format!("'{text}"));
    }
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn nothing_ends_a_field_early() {
        assert_eq!(field("a.c"), "a.c");
        assert_eq!(field("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
        assert_eq!(field("-[Cell draw]"), "'-[Cell draw]");
        assert_eq!(field("f(int, int)"), "\"f(int, int)\"");
        assert_eq!(field("a \"b\"\r\nc"), "\"a \"\"b\"\"\r\nc\"");
    }
}
