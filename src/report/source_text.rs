//! Source lines, where the sources are at hand.

use hashbrown::HashMap;
use std::cell::RefCell;
use std::fs;

/// Lines of source files, read once. A file that is not there has no lines: the reports then show
/// positions only. Whether a file was edited since it was compiled is not known here.
#[derive(Debug, Default)]
pub struct SourceText {
    files: RefCell<HashMap<String, Vec<String>>>,
}

/// Longer files are generated; their lines help nobody.
const LARGEST: u64 = 8 << 20;

impl SourceText {
    /// A line of a file, without the blanks around it; lines count from 1.
    #[must_use]
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry_ref(file).or_insert_with(|| read(file).unwrap_or_default());
        let text = lines.get((line as usize).checked_sub(1)?)?;
        (!text.is_empty()).then(|| text.clone())
    }
}

fn read(file: &str) -> Option<Vec<String>> {
    let small = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let bytes = small.then(|| fs::read(file).ok())??;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(|line| line.trim().to_owned()).collect())
}
