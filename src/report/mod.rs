//! Reports of an analysis: one exporter a file, behind one small trait.
//!
//! Every report reads the same [`Findings`]. A report may leave things out, and then says how to
//! see them; it never says more than the verdict does: a refutation speaks of this trace only.

mod explain;
mod interleaving;
mod json;
mod live;
mod location;
mod paint;
pub mod results;
mod source_text;
mod text;
mod words;

pub use interleaving::{Detail, Interleaving};
pub use json::Json;
pub use live::{Live, in_short};
pub use paint::Paint;
pub use results::Results;
pub use source_text::SourceText;
pub use text::Text;
pub(crate) use text::{Race, TOLD_RACES};
pub use words::{Words, value};

use crate::symbols::Symbols;
use crate::trace::Trace;
use crate::verdict::{Analysis, Pair, Verdict};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What there is to report.
#[derive(Clone, Copy)]
pub struct Findings<'a> {
    /// The trace that was analysed.
    pub trace: &'a Trace,
    /// Its path, as the user gave it.
    pub path: &'a Path,
    /// What was found.
    pub analysis: &'a Analysis,
    /// Names for addresses.
    pub symbols: &'a Symbols<'a>,
    /// With which options.
    pub options: results::Options,
    /// The folder in which the schedules are stored; `None` if they are not.
    pub folder: Option<&'a Path>,
}

impl<'a> Findings<'a> {
    /// The pairs, the witnessed ones with the number of their witness, from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (Option<usize>, &'a Pair)> + use<'a> {
        let mut witnesses = 0;
        self.analysis.pairs.iter().map(move |pair| {
            let witnessed = matches!(pair.verdict, Verdict::Witnessed(_));
            witnesses += usize::from(witnessed);
            (witnessed.then_some(witnesses), pair)
        })
    }

    /// Words for this trace.
    #[must_use]
    pub fn words(&self) -> Words<'a> {
        Words {
            trace: self.trace,
            symbols: self.symbols,
        }
    }
}

/// The folder in which a trace's results are stored, unless the user says where.
#[must_use]
pub fn folder_of(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace);
    name.push(".witnesses");
    PathBuf::from(name)
}

/// Writes findings in one form.
pub trait Exporter {
    /// Writes all findings.
    ///
    /// # Errors
    /// Only if `out` fails.
    fn export(&self, findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()>;
}
