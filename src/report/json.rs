//! The results object as JSON: one object, also for several traces.

use super::{Exporter, Findings};
use crate::results::Results;
use std::io::{self, Write};

/// Writes [`Results`] as JSON, indented, with a line end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Exporter for Json {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        if let Some(results) = Results::merged(findings) {
            serde_json::to_writer_pretty(&mut *out, &results)?;
            writeln!(out)?;
        }
        Ok(())
    }
}
