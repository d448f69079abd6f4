//! `witness test`: programs that a command starts, however far down, are recorded, and nobody notices.

use crate::program::Program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a script that runs the program `t` in several ways; `test` names it.
fn suite(test: &str, script: &str) -> PathBuf {
    let program = Program::instrumented("suite", test);
    let folder = program.path.with_file_name("suite files");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(&program.path, folder.join("t")).expect("the program");
    fs::write(folder.join("tests.sh"), script).expect("a script");
    folder
}

fn run(folder: &Path, flags: &[&str], command: &[&str]) -> Output {
    let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WITNESS_") {
            witness.env_remove(name);
        }
    }
    witness
        .arg("test")
        .args(flags)
        .arg("--")
        .args(command)
        .current_dir(folder);
    witness.output().expect("witness runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Files in the folder of the traces.
fn traces(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("witness-test")).expect("the folder of the traces");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".bin")).collect();
    names.sort();
    names
}

#[test]
fn programs_below_shells_are_recorded_and_reported_once() {
    let script = "./t alone && ./t races && (sh -c './t races'; ./t locks) && env A=b ./t starts\n";
    let folder = suite("suite_shells", script);
    let output = run(&folder, &["--report", "junit=races.xml"], &["sh", "tests.sh"]);
    let (said, report) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(66), "{said}{report}");
    // One that is alone, two that race, one that locks; one that starts a shell that starts another.
    assert!(
        said.contains("witness: 6 processes recorded, 4 with more than one thread"),
        "{said}"
    );
    assert!(
        report.contains("SUMMARY: witness: 2 data races witnessed, "),
        "{report}"
    );
    // The second run of the same race adds nothing.
    assert!(traces(&folder).len() <= 3, "{:?}", traces(&folder));
    let junit = fs::read_to_string(folder.join("races.xml")).expect("a report");
    assert_eq!(junit.matches("<failure").count(), 2, "{junit}");
}

#[test]
fn tests_see_what_they_would_see() {
    let script = "./t name; echo x | ./t input; ./t fails; echo $?; ./t killed; echo $?; ./t aborts; echo $?\n";
    let folder = suite("suite_unseen", script);
    let output = run(&folder, &[], &["sh", "tests.sh"]);
    let seen = text(&output.stdout);
    assert!(
        seen.starts_with("./t\nx\n7\n137\n134\n"),
        "{seen}\n{}",
        text(&output.stderr)
    );
    let said = text(&output.stderr);
    assert!(said.contains("t fails: the program exited with status 7"), "{said}");
    assert!(said.contains("t aborts: died of SIGABRT: thread 0, at "), "{said}");
}

#[test]
fn a_program_that_a_limit_ended_did_not_fail_by_itself() {
    let folder = suite("suite_limit", "./t locks\n");
    let said = text(&run(&folder, &["--max-events", "30"], &["sh", "tests.sh"]).stderr);
    assert!(
        said.contains("t locks: the program was ended by --max-events"),
        "{said}"
    );
    assert!(!said.contains("SIGKILL"), "{said}");
}

#[test]
fn jobs_that_run_at_once_have_traces_of_their_own() {
    let script = "for i in 1 2 3 4 5 6; do ./t locks & done; wait\n";
    let folder = suite("suite_jobs", script);
    let output = run(&folder, &["--keep"], &["sh", "tests.sh"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(traces(&folder).len(), 6, "{output:?}");
}

#[test]
fn the_command_s_own_status_comes_after_races() {
    let folder = suite("suite_status", "./t \"$1\"; exit 9\n");
    for (how, status) in [("races", 66), ("locks", 9)] {
        let output = run(&folder, &[], &["sh", "tests.sh", how]);
        assert_eq!(output.status.code(), Some(status), "{how}: {output:?}");
    }
    // Nothing was recorded: that is no success.
    let output = run(&folder, &[], &["true"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("no instrumented program was started"),
        "{output:?}"
    );
}

#[test]
fn whoever_kills_a_test_kills_the_program() {
    let script =
        "./t sleeps > out & p=$!; while ! grep -q ready out; do sleep 0.1; done; kill -KILL $p; wait $p; sleep 0.5\n";
    let folder = suite("suite_killed", script);
    let output = run(&folder, &[], &["sh", "tests.sh"]);
    let left = fs::read_dir("/proc").expect("processes").flatten().filter(|entry| {
        let program = fs::read_link(entry.path().join("exe"));
        program.is_ok_and(|program| program == folder.join("t"))
    });
    assert_eq!(left.count(), 0, "{output:?}");
}

#[test]
fn an_interpreter_with_instrumented_modules_is_recorded_or_named() {
    let interpreter = Program::compile("interpreter", "suite_interpreter", &[]);
    let module = Program::compile(
        "interpreted",
        "suite_interpreter",
        &["-fsanitize=thread", "-shared", "-fPIC"],
    );
    let folder = interpreter.path.parent().expect("a folder");
    let (program, module) = (interpreter.path.to_string_lossy(), module.path.to_string_lossy());
    let output = run(folder, &[], &[&program, &module]);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "ran\n", "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("interpreted: not recorded: the program is not instrumented, and has loaded modules that are"),
        "{said}"
    );
    // Beside programs that are recorded, it is counted.
    fs::copy(
        Program::instrumented("suite", "suite_interpreter").path,
        folder.join("t"),
    )
    .expect("the program");
    let both = format!("./t locks && '{program}' '{module}'");
    let output = run(folder, &[], &["sh", "-c", &both]);
    let said = text(&output.stderr);
    assert!(
        said.contains("witness: 1 process recorded, 1 with more than one thread") && said.contains("; 1 not recorded"),
        "{said}"
    );

    let preloaded = ["env", "LD_PRELOAD=libtsan.so.2", &program, &module];
    let output = run(folder, &["--live"], &preloaded);
    let (said, report) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(66), "{said}{report}");
    assert!(report.contains("1 confirmed live, 0 witnessed only"), "{said}{report}");
}

#[test]
fn further_runs_find_what_the_first_does_not_and_are_shown_live() {
    // In the first run, the check comes before the other thread's turn.
    let folder = suite("suite_runs", "./t hidden\n");
    let said = |output: &Output| text(&output.stderr) + &text(&output.stdout);
    let output = run(&folder, &[], &["sh", "tests.sh"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = run(&folder, &["--runs", "8", "--live"], &["sh", "tests.sh"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(
        said(&output).contains("1 confirmed live, 0 witnessed only"),
        "{}",
        said(&output)
    );
    // A run of its own for each, of which only those that say something stay.
    assert!(traces(&folder).len() <= 2, "{:?}", traces(&folder));
}

#[test]
fn only_what_a_test_has_recorded_is_removed() {
    let folder = suite("suite_folder", "./t races\n");
    fs::write(folder.join("mine.bin"), "mine").expect("a file");
    let output = run(&folder, &["--traces", "."], &["sh", "tests.sh"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("contains mine.bin"), "{output:?}");
    assert!(folder.join("mine.bin").exists());
    let results = folder.join("results");
    let store = ["--store", &results.to_string_lossy()];
    let both = "./t races; ./t races_too";
    for _ in 0..2 {
        let output = run(&folder, &store, &["sh", "-c", both]);
        assert_eq!(output.status.code(), Some(66), "{output:?}");
        // Each trace's results have a place of their own there.
        assert_eq!(fs::read_dir(&results).expect("the results").count(), 2, "{output:?}");
    }
}
