//! Reports of an analysis: one exporter per file, behind one small trait.
//!
//! Every report reads the same [`Findings`]. A report may leave things out, and then says how to see them; it never
//! claims more than the verdict does.

mod atomicity;
mod chrome_trace;
mod command;
mod condense;
mod csv;
mod deadlocks;
mod explain;
mod frames;
mod github;
mod html;
mod interleaving;
mod json;
mod junit;
mod links;
mod live;
mod location;
mod lock_sets;
pub mod noise;
mod others;
mod paint;
mod paths;
mod races;
mod results;
mod rows;
mod run_end;
mod sarif;
mod snippet;
mod source_text;
mod text;
mod unfinished;
mod words;

pub use chrome_trace::ChromeTrace;
pub use command::{quoted, run_again};
pub use csv::Csv;
pub use github::GitHub;
pub use html::Html;
pub use interleaving::{Detail, Interleaving};
pub use json::Json;
pub use junit::JUnit;
pub use live::{Live, bad_pointer_in_short, deadlock_in_short, in_short, letters};
pub use noise::{Filters, Noise};
pub use others::Other;
pub use paint::Paint;
pub use paths::{NO_ROOT, SourceRoot};
pub use races::{AttachedWarning, Race};
pub use rows::{Decided, Row};
pub use sarif::Sarif;
pub use source_text::SourceText;
pub use text::Text;
pub(crate) use text::{TOLD_RACES, Told};
pub use unfinished::Unfinished;
pub use words::{Words, name_of, value};

use crate::check::{Checker, Lazily};
use crate::results::{ExplorationResult, Options};
use crate::symbols::Symbols;
use crate::trace::Trace;
use crate::verdict::Analysis;
use std::io::{self, Write};
use std::path::Path;

/// The forms that a report can have, by their names on the command line.
pub const FORMS: [(&str, &dyn Exporter); 9] = [
    (
        "text",
        &Text {
            paint: Paint { on: false },
        },
    ),
    ("json", &Json),
    ("sarif", &Sarif),
    ("junit", &JUnit),
    ("github", &GitHub),
    ("html", &Html),
    ("csv", &Csv),
    ("chrome-trace", &ChromeTrace),
    ("perfetto", &ChromeTrace),
];

/// What there is to report.
#[derive(Clone, Copy)]
pub struct Findings<'a> {
    /// The trace that was analyzed.
    pub trace: &'a Trace,
    /// Its checker, if there is one already.
    pub checker: Option<&'a Checker<'a>>,
    /// Its path, as the user gave it.
    pub path: &'a Path,
    /// What was found.
    pub analysis: &'a Analysis,
    /// Names for addresses.
    pub symbols: &'a Symbols<'a>,
    /// With which options.
    pub options: Options,
    /// The folder in which the schedules are stored; `None` if they are not.
    pub folder: Option<&'a Path>,
    /// What the pairs are called, and which are not shown.
    pub noise: &'a Noise,
    /// The folder of the sources.
    pub root: &'a SourceRoot,
    /// Other tools' warnings that were asked about; empty after an analysis of everything.
    pub attached_warnings: &'a [AttachedWarning],
    /// What was found of all schedules, if the traces are of an exploration.
    pub exploration: Option<&'a ExplorationResult>,
}

impl<'a> Findings<'a> {
    /// Words for this trace.
    #[must_use]
    pub fn words(&self) -> Words<'a> {
        Words {
            trace: self.trace,
            symbols: self.symbols,
        }
    }

    /// What the schedules are replayed by.
    #[must_use]
    pub fn checker(&self) -> Lazily<'a> {
        Lazily::of(self.trace, self.checker)
    }
}

/// Writes findings in one form.
pub trait Exporter {
    /// Writes the findings on each of some traces; most often there is one.
    ///
    /// # Errors
    /// Only if `out` fails.
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()>;

    /// Writes that there are no findings yet, and why: whole in its form, so that nobody takes it for an all-clear.
    ///
    /// # Errors
    /// Only if `out` fails.
    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()>;
}
