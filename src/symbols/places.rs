//! Which places a program has, whether or not a run comes there: the lines, functions and variables of its modules.
//!
//! What a user or a report names and no run executes is either never executed, or does not exist. Only the debug
//! information tells these apart.

use super::same_function;
use std::collections::{BTreeMap, BTreeSet};

/// The places of all modules of a trace.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// By source file, as recorded by the compiler.
    pub(super) lines: BTreeMap<String, BTreeSet<u32>>,
    pub(super) functions: BTreeSet<String>,
    pub(super) variables: BTreeSet<String>,
}

impl Places {
    /// Whether any module has lines: without, a place that is not found may exist.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The files of this name, or whose path ends so.
    fn files<'p>(&'p self, path: &'p str) -> impl Iterator<Item = (&'p String, &'p BTreeSet<u32>)> + 'p {
        let path = path.strip_prefix("./").unwrap_or(path);
        let ends = |long: &str, short: &str| {
            let before = long.strip_suffix(short);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let fits = move |file: &str| ends(file, path) || ends(path, file);
        self.lines.iter().filter(move |(file, _)| fits(file))
    }

    /// Whether there is a file of this name.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.files(path).next().is_some()
    }

    /// Whether a file has code at this line.
    #[must_use]
    pub fn has_line(&self, path: &str, line: u32) -> bool {
        self.files(path).any(|(_, lines)| lines.contains(&line))
    }

    /// The lines with code next to this one, before and after it.
    #[must_use]
    pub fn lines_near(&self, path: &str, line: u32) -> Vec<u32> {
        let mut near = BTreeSet::new();
        for (_, lines) in self.files(path) {
            near.extend(lines.range(..line).next_back());
            near.extend(lines.range(line..).next());
        }
        near.into_iter().collect()
    }

    /// Whether there is a function or variable of this name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        let mut all = self.functions.iter().chain(&self.variables);
        all.any(|known| known == name || same_function(known, name))
    }

    /// The name of a function or variable that is closest to this one, if any is close.
    #[must_use]
    pub fn name_near(&self, name: &str) -> Option<&str> {
        let all = self.functions.iter().chain(&self.variables);
        let close = all.map(|known| (strsim::damerau_levenshtein(known, name), known.as_str()));
        let (distance, nearest) = close.min()?;
        (distance <= 1 + name.len() / 4).then_some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_from_those_that_do_not_exist() {
        let places = Places {
            lines: [("/src/queue.c".to_owned(), BTreeSet::from([3, 17, 29]))].into(),
            functions: BTreeSet::from(["push(int)".to_owned()]),
            variables: BTreeSet::from(["head".to_owned()]),
        };
        assert!(places.has_line("queue.c", 17) && places.has_line("./src/queue.c", 29));
        assert!(!places.has_file("old/queue.c"));
        assert!(!places.has_line("queue.c", 18) && places.has_file("queue.c"));
        assert_eq!(places.lines_near("queue.c", 18), [17, 29]);
        assert!(!places.has_file("ueue.c"));
        assert!(places.has_name("push") && places.has_name("head") && !places.has_name("tail"));
        assert_eq!(places.name_near("haed"), Some("head"));
        assert_eq!(places.name_near("completely_else"), None);
    }
}
