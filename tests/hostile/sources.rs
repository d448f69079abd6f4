//! Traces that name files of the reader's machine as their sources.

use crate::command::{Outcome, run};
use crate::place::Place;
use std::fs;
use std::path::Path;

/// Records a program whose debug information says that it was compiled from `source`.
fn record(place: &Place, source: &Path) {
    let program = fs::read_to_string(place.path("racy.c")).unwrap_or_else(|_| {
        place.compile(&[]);
        fs::read_to_string(place.path("racy.c")).expect("a source")
    });
    let named = format!("#line 1 \"{}\"\n{program}", source.display());
    fs::write(place.path("named.c"), named).expect("a source");
    place.gcc(&["-fsanitize=thread", "named.c", "-o", "named"]);
    place.witness(&["record", "-o", "trace.bin", "--", "./named"]).status(0);
}

/// Analyzes the trace in all forms that show sources; everything that was written.
fn reported(place: &Place, state: &str, more: &[&str]) -> String {
    let mut said = String::new();
    let reports: &[&[&str]] = &[
        &[
            "analyze",
            "trace.bin",
            "--report",
            "html=r.html",
            "--report",
            "junit=r.xml",
        ],
        &["replay", "trace.bin"],
    ];
    for arguments in reports {
        let mut command = place.command(&[arguments, more].concat());
        command
            .env("XDG_STATE_HOME", place.path(state))
            .env("MARKER", "the environment of witness itself");
        let Outcome { stdout, stderr, .. } = run(&mut command).status(66);
        said += &(stdout + &stderr);
    }
    for report in ["r.html", "r.xml"] {
        said += &fs::read_to_string(place.path(report)).expect("a report");
    }
    said
}

#[test]
fn a_trace_from_elsewhere_shows_no_file_of_this_machine() {
    let place = Place::new("sources");
    let lines: String = (1..30).map(|line| format!("secret of line {line}\n")).collect();
    let folder = place.path("private");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("passwords"), lines).expect("a file");
    record(&place, &folder.join("passwords"));
    assert!(!reported(&place, "of-somebody-else", &[]).contains("secret of line"));
    // Recorded here, or below the folder that the user has named, it is what it says: a source.
    assert!(reported(&place, "state", &[]).contains("secret of line"));
    let root = folder.display().to_string();
    assert!(reported(&place, "of-somebody-else", &["--source-root", &root]).contains("secret of line"));
    let other = place.path("state").display().to_string();
    assert!(!reported(&place, "of-somebody-else", &["--source-root", &other]).contains("secret of line"));
}

#[test]
fn what_the_system_tells_of_itself_is_no_source() {
    let place = Place::new("procfs");
    record(&place, Path::new("/proc/self/environ"));
    assert!(!reported(&place, "state", &["--source-root", "/"]).contains("the environment of witness itself"));
}

#[test]
fn nobody_waits_for_a_pipe_that_is_named_as_a_source() {
    let place = Place::new("fifo");
    let pipe = place.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    record(&place, &pipe);
    reported(&place, "state", &[]);
    // Also as a module: the program's own file becomes a pipe.
    fs::remove_file(place.path("named")).expect("the program");
    fs::rename(&pipe, place.path("named")).expect("a pipe in its place");
    reported(&place, "state", &[]);
}

#[test]
fn reports_say_which_sources_they_embed() {
    let place = Place::new("embedded");
    place.record();
    reported(&place, "state", &[]);
    let html = fs::read_to_string(place.path("r.html")).expect("a report");
    assert!(html.contains("This page holds source lines of"), "{html}");
    let junit = fs::read_to_string(place.path("r.xml")).expect("a report");
    assert!(
        junit.contains("racy.c") && junit.contains("name=\"source lines of\""),
        "{junit}"
    );
}
