//! Source lines, where the sources are at hand.

use crate::symbols::printable;
use hashbrown::HashMap;
use std::cell::RefCell;
use std::fs;

/// Lines of source files, read once. A file that is not there has no lines: the reports then show
/// positions only. Whether a file was edited since it was compiled is not known here.
#[derive(Debug, Default)]
pub struct SourceText {
    files: RefCell<HashMap<String, Vec<String>>>,
}

/// Letters of a line that are shown.
const LONGEST: usize = 60;

/// Longer files are generated; their lines help nobody.
const LARGEST: u64 = 8 << 20;

impl SourceText {
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
        let lines = files.entry_ref(file).or_insert_with(|| read(file).unwrap_or_default());
        lines.get((line as usize).checked_sub(1)?).cloned()
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

fn read(file: &str) -> Option<Vec<String>> {
    let small = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let bytes = small.then(|| fs::read(file).ok())??;
    let text = String::from_utf8_lossy(&bytes);
    // Indentation stays; what else is a control character might move the cursor.
    let shown = |line: &str| {
        let parts: Vec<_> = line.trim_end().split('\t').map(printable).collect();
        parts.join("\t")
    };
    Some(text.lines().map(shown).collect())
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
        let sources = SourceText::default();
        assert_eq!(sources.line("/no/such/file.c", 1), None);
        assert_eq!(sources.line(file!(), 0), None);
        let first = sources.line(concat!(env!("CARGO_MANIFEST_DIR"), "/", file!()), 1);
        assert_eq!(
            first.as_deref(),
            Some("//! Source lines, where the sources are at hand.")
        );
    }
}
