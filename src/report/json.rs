//! The results object as JSON.

use super::{Exporter, Findings, Results};
use std::io::{self, Write};

/// Writes [`Results`] as JSON, indented, with a line end; one object a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Exporter for Json {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        for findings in findings {
            serde_json::to_writer_pretty(&mut *out, &Results::of(findings))?;
            writeln!(out)?;
        }
        Ok(())
    }
}
