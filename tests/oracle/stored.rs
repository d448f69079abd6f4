//! Traces as files: in `traces/` those that were once judged wrongly, or that only some mistake judges wrongly, and
//! those that a failing test leaves behind.
//!
//! They are JSON lines, so what the generator does with a seed may change without their changing.

use super::{Judged, judge};
use std::path::{Path, PathBuf};
use trace_format::{Event, Tables};
use witness::import::{Format, ImportError, read};

/// Writes a trace where a test can leave it, and says where; to be moved into `traces/` once it is understood.
pub fn leave_behind(name: &str, tables: &Tables, events: &[Event]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{name}.jsonl"));
    match std::fs::write(&path, json_lines(tables, events)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("nowhere: {error}"),
    }
}

fn json_lines(tables: &Tables, events: &[Event]) -> String {
    let mut rows = vec![
        serde_json::json!({"trace": {"version": 1}}),
        serde_json::json!({"meta": tables.meta}),
    ];
    rows.extend(tables.threads.iter().map(|row| serde_json::json!({"thread": row})));
    rows.extend(tables.objects.iter().map(|row| serde_json::json!({"object": row})));
    rows.extend(events.iter().map(|row| serde_json::json!({"event": row})));
    rows.push(serde_json::json!({"end": {"Exited": 0}}));
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// The files of `traces/`, or of one folder in it.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracle/traces")
        .join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds no traces", folder.display());
    paths
}

fn open(path: &Path) -> Result<(Tables, Vec<Event>), ImportError> {
    let bytes = std::fs::read(path).expect("a stored trace");
    let opened = read(&path.display().to_string(), bytes, Some(Format::JsonLines), false)?;
    let events = opened.file.events().map(|event| event.expect("an event"));
    Ok((opened.file.tables().clone(), events.collect()))
}

/// All of `traces/`, each with its name.
pub fn all() -> Vec<(String, Tables, Vec<Event>)> {
    let read = |path: PathBuf| {
        let (tables, events) = open(&path).unwrap_or_else(|error| panic!("{error}"));
        (
            path.file_stem().expect("a name").to_string_lossy().into_owned(),
            tables,
            events,
        )
    };
    files("").into_iter().map(read).collect()
}

#[test]
fn traces_that_were_once_judged_wrongly() {
    for path in files("") {
        let (tables, events) = open(&path).unwrap_or_else(|error| panic!("{error}"));
        match judge(&tables, &events) {
            Judged::Right(_) => {}
            Judged::TooLarge => panic!("{}: too large to enumerate", path.display()),
            Judged::Wrong(what) => panic!("{}: {what}", path.display()),
        }
    }
}

#[test]
fn traces_that_no_execution_has_are_refused() {
    for path in files("refused") {
        let name = path.display();
        match open(&path) {
            Ok(_) => panic!("{name} is accepted"),
            Err(ImportError::NoExecution { .. }) => {}
            Err(other) => panic!("{name} is refused for another reason: {other}"),
        }
    }
}
