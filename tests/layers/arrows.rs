//! Which files of a crate use which: paths that begin with `crate` or `super` are what a file names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each file uses, by module.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The module that a file is.
fn module(file: &Path, root: &Path) -> String {
    let path = file.strip_prefix(root).expect("below the root").with_extension("");
    let mut parts: Vec<&str> = path.iter().map(|part| part.to_str().expect("plain letters")).collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts.join("::")
}

/// The paths that a text names after `start`, those in braces one by one.
fn paths(text: &str, start: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(start) {
        let before = text[..at].chars().next_back();
        if !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            expand(&text[at + start.len()..], String::new(), &mut found);
        }
    }
    found
}

/// Reads one path, or a list in braces, from the start of a text; how long it is.
fn expand(text: &str, mut path: String, found: &mut Vec<String>) -> usize {
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        match letter {
            '{' => {
                at += 1;
                loop {
                    at += expand(&text[at..], path.clone(), found);
                    let rest = text[at..].trim_start();
                    at = text.len() - rest.len();
                    match rest.chars().next() {
                        Some(',') => at += 1,
                        _ => return at + 1,
                    }
                }
            }
            ' ' | '\n' if path.is_empty() || path.ends_with("::") => at += 1,
            letter if letter.is_alphanumeric() || letter == '_' || letter == ':' => {
                path.push(letter);
                at += 1;
            }
            _ => break,
        }
    }
    found.push(path);
    at
}

/// What each file below `root` uses. What their unit tests use does not count.
pub fn arrows(root: &Path) -> Arrows {
    let mut all = Vec::new();
    files(root, &mut all);
    let modules: BTreeSet<String> = all.iter().map(|file| module(file, root)).collect();
    let known = |path: &str| {
        let parts: Vec<&str> = path.split("::").filter(|part| *part != "self").collect();
        let prefixes = (1..=parts.len()).rev().map(|len| parts[..len].join("::"));
        prefixes.into_iter().find(|prefix| modules.contains(prefix))
    };
    let mut arrows = Arrows::new();
    for file in &all {
        let own = module(file, root);
        if own == "lib" || own == "main" || own.ends_with("tests") {
            continue;
        }
        let text = fs::read_to_string(file).expect("it can be read");
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<&str> = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(line))
            .collect();
        let code = code.join("\n");
        let parent = own.rsplit_once("::").map_or("", |(parent, _)| parent);
        let from_super = paths(&code, "super::")
            .into_iter()
            .map(|path| format!("{parent}::{path}"));
        let used = paths(&code, "crate::").into_iter().chain(from_super);
        let used = used.filter_map(|path| known(&path)).filter(|used| *used != own);
        arrows.insert(own.clone(), used.collect());
    }
    arrows
}

/// The files that use a higher folder than their own. `layers` are the folders, lowest first, those side by side in one
/// line.
pub fn upward(arrows: &Arrows, layers: &[&str]) -> Vec<String> {
    let layer = |module: &str| {
        let folder = module.split("::").next().unwrap_or(module);
        let found = layers
            .iter()
            .position(|layer| layer.split(' ').any(|name| name == folder));
        found.unwrap_or_else(|| panic!("{module} is in no layer: name its folder"))
    };
    let all = arrows
        .iter()
        .flat_map(|(file, used)| used.iter().map(move |used| (file, used)));
    let up = all.filter(|(file, used)| layer(used) > layer(file));
    up.map(|(file, used)| format!("{file} uses {used}")).collect()
}

/// The files that use themselves through others.
pub fn in_circles(arrows: &Arrows) -> Vec<&str> {
    let reaches = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = next.pop() {
            for used in arrows.get(&file).into_iter().flatten() {
                if seen.insert(used.clone()) {
                    next.push(used.clone());
                }
            }
        }
        seen
    };
    let circle = arrows.keys().filter(|file| reaches(file).contains(*file));
    circle.map(String::as_str).collect()
}
