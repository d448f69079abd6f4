//! Reports of traces written by hand, compared with `tests/cli/snapshots`.

use crate::command::{command, run, witness};
use crate::traces::{figure3, folder, heap, hidden_race, quiet, two_flags};
use insta::assert_snapshot;
use std::fs;
use std::path::Path;

/// A trace in a folder of its own, under a short name.
fn traced(name: &str, write: fn(&Path)) -> std::path::PathBuf {
    let folder = folder(name);
    write(&folder.join("trace.bin"));
    folder
}

/// Output with the trace's identity masked: it changes with the file format.
fn masked(text: &str) -> String {
    let mask = |line: &str| match line.split_once("\"id\": ") {
        // The ids of races, which are shorter, stay as they are.
        Some((indent, id)) if id.len() > 32 => format!("{indent}\"id\": (masked)\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(mask).collect()
}

#[test]
fn text_of_a_hidden_race() {
    let folder = traced("text_hidden", hidden_race);
    assert_snapshot!(witness(&folder, &["analyze", "trace.bin"]).status(66).stdout);
}

#[test]
fn text_of_figure3() {
    let folder = traced("text_figure3", figure3);
    assert_snapshot!(witness(&folder, &["analyze", "trace.bin"]).status(0).stdout);
}

#[test]
fn text_of_heap_races() {
    let folder = traced("text_heap", heap);
    assert_snapshot!(witness(&folder, &["analyze", "trace.bin"]).status(66).stdout);
}

#[test]
fn each_variable_of_two_lines_has_its_own_reason() {
    let folder = traced("text_two_flags", two_flags);
    let text = witness(&folder, &["analyze", "trace.bin"]).status(0).stdout;
    let rows = text
        .lines()
        .filter(|line| line.contains("demo.c:11 and /src/demo.c:21: "));
    assert_eq!(rows.count(), 2, "{text}");
    for stored_at in ["demo.c:12", "demo.c:13"] {
        assert!(text.contains(stored_at), "{text}");
    }
}

#[test]
fn text_of_nothing() {
    let folder = traced("text_quiet", quiet);
    assert_snapshot!(witness(&folder, &["analyze", "trace.bin"]).status(0).stdout);
}

#[test]
fn json_of_figure3() {
    let folder = traced("json_figure3", figure3);
    assert_snapshot!(masked(
        &witness(&folder, &["analyze", "trace.bin", "--json"]).status(0).stdout
    ));
}

#[test]
fn json_of_a_hidden_race() {
    let folder = traced("json_hidden", hidden_race);
    assert_snapshot!(masked(
        &witness(&folder, &["analyze", "trace.bin", "--json"]).status(66).stdout
    ));
}

#[test]
fn replay_of_heap_races() {
    let folder = traced("replay_heap", heap);
    assert_snapshot!(
        witness(&folder, &["replay", "trace.bin", "--witness", "1"])
            .status(66)
            .stdout
    );
}

#[test]
fn the_full_replay_hides_nothing() {
    let folder = traced("replay_full", hidden_race);
    let essential = witness(&folder, &["replay", "trace.bin"]).status(66).stdout;
    let full = witness(&folder, &["replay", "trace.bin", "--full"]).status(66).stdout;
    assert!(essential.contains("more events of thread 2"), "{essential}");
    assert!(!full.contains("more events"), "{full}");
    assert_eq!(full.matches("reads 4 bytes at 0x1008 = 0").count(), 40);
}

#[test]
fn dump_and_info() {
    let folder = traced("dump", heap);
    assert_snapshot!("dump", witness(&folder, &["dump", "trace.bin"]).status(0).stdout);
    let part = witness(
        &folder,
        &[
            "dump",
            "trace.bin",
            "--from",
            "7",
            "--count",
            "3",
            "--thread",
            "1",
            "--json",
        ],
    );
    assert_snapshot!("dump_json", part.status(0).stdout);
    let info = witness(&folder, &["info", "trace.bin"]).status(0).stdout;
    // Sizes and identity change with the format; the rest does not.
    let stable: Vec<&str> = info
        .lines()
        .filter(|line| !line.starts_with("size") && !line.starts_with("trace"))
        .collect();
    assert_snapshot!("info", stable.join("\n"));
    let json = witness(&folder, &["info", "trace.bin", "--json"]).status(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("an object");
    assert_eq!(
        (json["events"].as_u64(), json["complete"].as_bool()),
        (Some(21), Some(true))
    );
}

#[test]
fn colours_only_when_they_are_wanted() {
    let folder = traced("color", hidden_race);
    let coloured = |arguments: &[&str]| witness(&folder, arguments).status(66).stdout.contains('\x1b');
    assert!(!coloured(&["analyze", "trace.bin"]), "a pipe is no terminal");
    assert!(coloured(&["analyze", "trace.bin", "--color", "always"]));
    let by_environment = run(command(&folder)
        .args(["replay", "trace.bin"])
        .env("WITNESS_COLOR", "always"));
    assert!(by_environment.status(66).stdout.contains('\x1b'));
}

#[test]
fn names_cannot_move_the_cursor_or_begin_a_line() {
    let folder = folder("control_characters");
    let trace = "T0|fork(T1)|a\x1b[2J.c:1\nT0|w(x\x1b]0;y\x07)|2\nT1|w(x\x1b]0;y\x07)|3\n";
    fs::write(folder.join("names.std"), trace).expect("a file");
    for command in [&["analyze", "names.std"][..], &["replay", "names.std"]] {
        let outcome = witness(&folder, command).status(66);
        assert!(outcome.stdout.contains(r"x\u{1b}]0;y\u{7}"), "{}", outcome.stdout);
        let control = |letter: char| letter.is_control() && letter != '\n';
        assert!(!outcome.stdout.contains(control), "{}", outcome.stdout);
    }
}
