//! Walks the files of `dialects` and `malformed`.

use crate::describe;
use std::fs;
use std::path::{Path, PathBuf};
use witness::check::validate;
use witness::import::{Format, Opened, read};
use witness::trace::Trace;

/// The files of a folder of `tests` that are not expectations, in order.
pub fn of(folder: &str, expectation: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let is_case = |path: &PathBuf| path.extension().is_some_and(|ending| ending != expectation);
    let mut paths: Vec<PathBuf> = paths.filter(is_case).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    paths
}

/// The content of a file; `.hex` files are bytes in hexadecimal, with comments after `#`.
fn content(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("the file can be read");
    if path.extension().is_none_or(|ending| ending != "hex") {
        return bytes;
    }
    let text = String::from_utf8(bytes).expect("a text");
    let words = text.lines().filter_map(|line| line.split('#').next());
    let digits: String = words.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn opened(path: &Path, format: Option<Format>, repair: bool) -> Result<Opened, String> {
    let name = path.file_name().expect("a name").to_string_lossy();
    read(&name, content(path), format, repair).map_err(|error| error.to_string())
}

/// An opened trace: its format, what was repaired, its events. It has to be an execution.
fn shown(path: &Path, opened: &Opened) -> String {
    let trace = Trace::from_file(&opened.file).expect("an imported trace can be loaded");
    if let Err(violation) = validate(&trace) {
        panic!("{}: the imported trace is no execution: {violation}", path.display());
    }
    let repairs = opened.repairs.iter().map(|repair| format!("{repair}\n"));
    let events = describe::events(&opened.file, true).into_iter();
    let lines = repairs.chain(events.map(|event| format!("    {event}\n")));
    format!("{}\n{}", opened.format, lines.collect::<String>())
}

/// What becomes of a file; if it is refused, why, and then what `--repair` makes of it.
fn outcome(path: &Path) -> String {
    match opened(path, None, false) {
        Ok(accepted) => {
            let found = shown(path, &accepted);
            let mended = opened(path, None, true).expect("what is accepted can be mended");
            assert_eq!(shown(path, &mended), found, "what is accepted needs no repair");
            found
        }
        Err(refusal) => match opened(path, None, true) {
            Ok(opened) => format!("refused: {refusal}\n{}", shown(path, &opened)),
            Err(again) => format!("refused: {refusal}\nnot repaired: {again}\n"),
        },
    }
}

fn walk(folder: &str, is_refused: bool) {
    for path in of(folder, "expected") {
        let found = outcome(&path);
        assert_eq!(found.starts_with("refused"), is_refused, "{}:\n{found}", path.display());
        let beside = path.with_extension("expected");
        if std::env::var_os("WITNESS_BLESS").is_some() {
            fs::write(&beside, &found).expect("the expectation can be written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn dialects_are_understood() {
    walk("import/dialects", false);
}

#[test]
fn malformed_traces_are_refused_and_mended() {
    walk("import/malformed", true);
}
