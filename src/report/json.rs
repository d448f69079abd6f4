//! The results object as JSON: one object, also for several traces.

use super::{Exporter, Findings, Unfinished};
use crate::results::Results;
use std::io::{self, BufWriter, Write};

/// Bytes that are written at once.
const ROOM: usize = 1 << 16;

/// Writes [`Results`] as JSON, indented, with a line end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Exporter for Json {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        if let Some(results) = Results::merged(findings) {
            // It consists of small pieces, and `out` looks at each that it gets for what a terminal must not see.
            let mut json = BufWriter::with_capacity(ROOM, out);
            serde_json::to_writer_pretty(&mut json, &results)?;
            writeln!(json)?;
            json.flush()?;
        }
        Ok(())
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        let object = serde_json::json!({
            "schema": "witness-unfinished/1",
            "trace": analysis.trace.display().to_string(),
            "why": analysis.why,
            "summary": analysis.summary,
        });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)
    }
}
