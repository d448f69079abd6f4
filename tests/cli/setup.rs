//! The set-up: `doctor`, completions, manual pages.

use crate::command::{command, run, witness};
use crate::traces::folder;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn doctor_tries_everything_that_is_needed() {
    let folder = folder("doctor");
    let said = witness(&folder, &["doctor"]).status(0).stdout;
    for check in [
        "solver: Z3 4.",
        "compiler: cc: ",
        "recorder: ",
        "analysis: 1 data race",
        "live replay: both accesses",
    ] {
        assert!(said.contains(&format!("ok    {check}")), "{check}: {said}");
    }
}

#[test]
fn doctor_names_what_is_missing_and_the_remedy() {
    let folder = folder("doctor_fails");
    let without = run(command(&folder).arg("doctor").env("WITNESS_CC", "no-such-compiler"))
        .status(2)
        .stdout;
    assert!(
        without.contains("FAIL  compiler: cannot run the compiler no-such-compiler"),
        "{without}"
    );
    assert!(without.contains("apt-get install build-essential"), "{without}");
    assert!(!without.contains("recorder"), "nothing to record: {without}");
    let broken = run(command(&folder).arg("doctor").env("WITNESS_CC", "false"))
        .status(2)
        .stdout;
    assert!(
        broken.contains("FAIL  compiler: false does not build with -fsanitize=thread"),
        "{broken}"
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = folder("complete");
    let help = witness(&folder, &["--help"]).status(0).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names: BTreeSet<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(
        names.contains("analyze") && names.contains("doctor") && names.len() > 15,
        "{names:?}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let script = witness(&folder, &["completions", shell]).status(0).stdout;
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
        assert!(script.contains("baseline"), "{shell} knows no flags");
    }
    witness(&folder, &["man", "pages"]).status(0);
    for name in names.iter().filter(|name| **name != "help") {
        let page = fs::read_to_string(folder.join(format!("pages/witness-{name}.1"))).expect("a page");
        assert!(
            page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"),
            "{name}: {page}"
        );
    }
    let page = witness(&folder, &["man"]).status(0).stdout;
    assert!(page.contains(".TH witness 1"), "{page}");
}

#[test]
fn flags_are_set_in_the_environment_as_people_write_it() {
    let folder = folder("environment");
    crate::traces::hidden_race(&folder.join("trace.bin"));
    let is_json = |value: &str| {
        let said = run(command(&folder)
            .args(["analyze", "trace.bin"])
            .env("WITNESS_JSON", value));
        said.status(66).stdout.starts_with('{')
    };
    for yes in ["1", "true", "yes", "on"] {
        assert!(is_json(yes), "{yes}");
    }
    for no in ["0", "false", "no", "off", ""] {
        assert!(!is_json(no), "{no}");
    }
}

#[test]
fn that_nobody_listens_does_not_change_how_it_ends() {
    let folder = folder("unheard");
    crate::traces::hidden_race(&folder.join("trace.bin"));
    let unheard = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        writer
    };
    fs::write(folder.join("supp"), "race:nothing\n").expect("a file");
    for (arguments, status) in [
        (&["analyze", "trace.bin"][..], 66),
        (&["analyze", "trace.bin", "--suppressions", "supp"], 66),
        (&["analyze", "trace.bin", "--report", "html=."], 2),
        (&["info", "none.bin"], 2),
        (&["dump", "trace.bin"], 0),
        (&["cc", "--show", "a.c"], 0),
        (&["completions", "bash"], 0),
    ] {
        let ended = command(&folder)
            .args(arguments)
            .stdout(unheard())
            .stderr(unheard())
            .status()
            .expect("witness starts");
        assert_eq!(ended.code(), Some(status), "{arguments:?}");
    }
}

#[test]
fn cargo_keeps_what_is_recorded_from_printing_backtraces() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder("cargo_backtraces");
    let program = |name: &str, script: &str| {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    };
    // What stands in for them says what a program that cargo starts would find.
    program(
        "cargo",
        "case $1 in locate-project) echo \"$PWD/Cargo.toml\";; *) echo \"$RUST_BACKTRACE $RUST_LIB_BACKTRACE\";; esac",
    );
    program("rustc", "pwd");
    let library = folder.join("lib/rustlib/src/rust/library");
    fs::create_dir_all(&library).expect("a folder");
    fs::write(library.join("Cargo.lock"), "").expect("a file");
    let path = std::env::join_paths(
        std::iter::once(folder.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.expect("a path");
    let cargo = |flags: &[&str], backtrace: &str| {
        let mut command = command(&folder);
        command.arg("cargo").args(flags).arg("test").env("PATH", &path);
        command
            .env("RUST_BACKTRACE", backtrace)
            .env_remove("RUST_LIB_BACKTRACE")
            .env_remove("CARGO_TARGET_DIR");
        run(&mut command).status(0)
    };
    let without = cargo(&[], "1");
    assert_eq!(without.stdout, "0 \n");
    assert!(without.stderr.contains("RUST_BACKTRACE is 0"), "{}", without.stderr);
    assert!(!cargo(&[], "0").stderr.contains("BACKTRACE"));
    assert_eq!(cargo(&["--backtraces"], "full").stdout, "full \n");
    // It is the instrumented library that takes long.
    assert_eq!(cargo(&["--plain-std"], "1").stdout, "1 \n");
}
