//! Source lines, where the sources are at hand.

use super::Findings;
use super::paths::SourceRoot;
use crate::own::Origin;
use crate::symbols::printable;
use hashbrown::HashMap;
use std::cell::{OnceCell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of source files, read once. A file that is not there has no lines: the reports then show
/// positions only. Whether a file was edited since it was compiled is not known here.
///
/// A trace names whatever files it likes, and reports travel. So only the sources of traces that were recorded here are
/// read wherever they lie; of others, those below the folder that the user has named.
#[derive(Debug)]
pub struct SourceText {
    files: RefCell<HashMap<String, Vec<String>>>,
    /// The traces whose sources they are.
    traces: Vec<PathBuf>,
    origin: OnceCell<Origin>,
    root: SourceRoot,
}

/// Letters of a line that are shown.
const LONGEST: usize = 60;

/// Longer files are generated; their lines help nobody.
const LARGEST: u64 = 8 << 20;

impl SourceText {
    /// Of some traces, with the folder of their sources.
    pub fn of<'a>(traces: impl IntoIterator<Item = &'a Path>, root: &SourceRoot) -> SourceText {
        SourceText {
            files: RefCell::default(),
            traces: traces.into_iter().map(Path::to_owned).collect(),
            origin: OnceCell::new(),
            root: root.clone(),
        }
    }

    /// Of the traces of some findings.
    #[must_use]
    pub fn of_findings(findings: &[Findings<'_>]) -> SourceText {
        let root = findings.first().map(|findings| findings.root.clone());
        SourceText::of(findings.iter().map(|findings| findings.path), &root.unwrap_or_default())
    }

    /// Whose lines are shown if they are there.
    #[cfg(test)]
    pub(crate) fn of_own_trace() -> SourceText {
        let all = SourceText::of([], &SourceRoot::default());
        let _ = all.origin.set(Origin::Here);
        all
    }

    /// The files of which lines were shown, as traces name them.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let files = self.files.borrow();
        let read = files.iter().filter(|(_, lines)| !lines.is_empty());
        let mut shown: Vec<_> = read.map(|(file, _)| printable(file).into_owned()).collect();
        shown.sort();
        shown
    }

    /// A line of a file, shortened; lines count from 1.
    #[must_use]
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = shortened(&self.whole(file, line)?.replace('\t', " "));
        (!text.is_empty()).then_some(text)
    }

    /// A line of a file as it is, but for control characters; lines count from 1.
    #[must_use]
    pub fn whole(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files
            .entry_ref(file)
            .or_insert_with(|| self.read(file).unwrap_or_default());
        lines.get((line as usize).checked_sub(1)?).cloned()
    }
}

impl SourceText {
    fn read(&self, file: &str) -> Option<Vec<String>> {
        let origin = self.origin.get_or_init(|| {
            let here = |trace: &PathBuf| Origin::of(trace) == Origin::Here;
            if !self.traces.is_empty() && self.traces.iter().all(here) {
                Origin::Here
            } else {
                Origin::Elsewhere
            }
        });
        let path = match origin {
            Origin::Here => PathBuf::from(file),
            Origin::Elsewhere => self.below_root(file)?,
        };
        Some(lines(&safe_files::read_named(&path, LARGEST).ok()?))
    }

    /// Where a file really lies, if that is below the folder that the user has named.
    fn below_root(&self, file: &str) -> Option<PathBuf> {
        let root = self.root.is_named.then(|| fs::canonicalize(&self.root.folder).ok())??;
        let path = fs::canonicalize(root.join(file)).ok()?;
        path.starts_with(&root).then_some(path)
    }
}

/// A line without the blanks around it, cut where it gets too long to stand beside anything.
fn shortened(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    // Indentation stays; what else is a control character might move the cursor.
    let shown = |line: &str| {
        let parts: Vec<_> = line.trim_end().split('\t').map(printable).collect();
        parts.join("\t")
    };
    text.lines().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_trimmed_and_cut() {
        assert_eq!(shortened("\tx = 1;  "), "x = 1;");
        let long = "ä".repeat(LONGEST + 1);
        assert_eq!(shortened(&long), format!("{}…", "ä".repeat(LONGEST)));
    }

    #[test]
    fn a_file_that_is_not_there_has_no_lines() {
        let sources = SourceText::of_own_trace();
        assert_eq!(sources.line("/no/such/file.c", 1), None);
        assert_eq!(sources.line(file!(), 0), None);
        let first = sources.line(concat!(env!("CARGO_MANIFEST_DIR"), "/", file!()), 1);
        assert_eq!(
            first.as_deref(),
            Some("//! Source lines, where the sources are at hand.")
        );
    }

    #[test]
    fn of_a_trace_from_elsewhere_only_sources_below_the_named_folder_are_read() {
        let root = SourceRoot {
            folder: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report")),
            is_named: true,
        };
        let trace = Path::new("/no/such/trace.bin");
        let sources = SourceText::of([trace], &root);
        assert!(sources.line("source_text.rs", 1).is_some());
        assert!(
            sources
                .line(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/mod.rs"), 1)
                .is_some()
        );
        for file in [
            "../lib.rs",
            "/etc/passwd",
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs"),
        ] {
            assert_eq!(sources.line(file, 1), None, "{file}");
        }
        let unnamed = SourceRoot {
            is_named: false,
            ..root
        };
        assert_eq!(SourceText::of([trace], &unnamed).line("source_text.rs", 1), None);
    }
}
