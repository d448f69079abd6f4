//! Results beside the trace: when `replay` uses them, and when it does not.

use crate::command::{command, run, witness};
use crate::traces::{figure3, folder, heap, hidden_race};
use std::fs;

#[test]
fn replay_analyses_first_if_nothing_is_stored() {
    let folder = folder("replay_first");
    hidden_race(&folder.join("race.bin"));
    let first = witness(&folder, &["replay", "race.bin"]).status(66);
    assert!(folder.join("race.bin.witnesses/results.json").is_file());
    let second = witness(&folder, &["replay", "race.bin"]).status(66);
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn replay_uses_what_is_stored() {
    let folder = folder("replay_stored");
    hidden_race(&folder.join("race.bin"));
    witness(&folder, &["analyze", "race.bin"]).status(66);
    let schedule = folder.join("race.bin.witnesses/1.sched");
    fs::write(&schedule, "no schedule\n").expect("a file");
    let outcome = witness(&folder, &["replay", "race.bin"]).status(2);
    assert!(
        outcome.stderr.contains("1.sched: line 1: expected"),
        "{}",
        outcome.stderr
    );
    fs::remove_file(&schedule).expect("the schedule");
    let outcome = witness(&folder, &["replay", "race.bin"]).status(2);
    assert!(outcome.stderr.contains("1.sched"), "{}", outcome.stderr);
}

#[test]
fn a_stored_schedule_is_checked_again() {
    let folder = folder("replay_checks");
    hidden_race(&folder.join("race.bin"));
    witness(&folder, &["analyze", "race.bin"]).status(66);
    let schedule = folder.join("race.bin.witnesses/1.sched");
    let text = fs::read_to_string(&schedule).expect("a schedule");
    let (head, _) = text.split_once("\nt0 ").expect("slices");
    fs::write(&schedule, format!("{head}\nend\n")).expect("a file");
    let outcome = witness(&folder, &["replay", "race.bin"]).status(2);
    assert!(
        outcome.stderr.contains("the checker rejects witness 1"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn results_of_another_trace_or_version_are_not_used() {
    let folder = folder("replay_other");
    let trace = folder.join("trace.bin");
    heap(&trace);
    let all = witness(&folder, &["replay", "trace.bin"]).status(66);
    figure3(&trace);
    let outcome = witness(&folder, &["replay", "trace.bin"]).status(0);
    assert!(outcome.stdout.contains("nothing to replay"), "{}", outcome.stdout);
    assert!(
        !folder.join("trace.bin.witnesses/1.sched").exists(),
        "schedules of the other trace are left"
    );

    let results = folder.join("trace.bin.witnesses/results.json");
    heap(&trace);
    for (has, had) in [
        (&["\"tool\": \"witness "][..], "\"tool\": \"witness 0.0.0-"),
        // As it was when stacks stood at each access.
        (
            &["\"schema\": \"witness-results/2\"", "\"frames\":"],
            "\"schema\": \"witness-results/1\"",
        ),
    ] {
        witness(&folder, &["analyze", "trace.bin"]).status(66);
        let json = fs::read_to_string(&results).expect("results");
        let mut older = json.replace(has[0], had);
        for gone in &has[1..] {
            older = older.replace(gone, "\"of-another-version\":");
        }
        assert_ne!(older, json);
        fs::write(&results, older).expect("a file");
        fs::write(folder.join("trace.bin.witnesses/1.sched"), "of another version\n").expect("a file");
        let again = witness(&folder, &["replay", "trace.bin"]).status(66);
        assert_eq!(all.stdout, again.stdout, "{had}");
    }
}

#[test]
fn one_witness_can_be_chosen() {
    let folder = folder("replay_one");
    heap(&folder.join("trace.bin"));
    let all = witness(&folder, &["replay", "trace.bin"]).status(66).stdout;
    let second = witness(&folder, &["replay", "trace.bin", "--witness", "1"])
        .status(66)
        .stdout;
    assert!(all.contains(&second) && second.starts_with("Witness 1:"), "{second}");
    for number in ["0", "99"] {
        let outcome = witness(&folder, &["replay", "trace.bin", "--witness", number]).status(2);
        let expected = format!("witness: there is no witness {number}: witnesses are numbered from 1 to ");
        assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
    }
}

#[test]
fn a_folder_that_cannot_be_written_does_not_hide_the_race() {
    let folder = folder("store_fails");
    hidden_race(&folder.join("race.bin"));
    fs::write(folder.join("occupied"), "").expect("a file");
    let outcome = witness(&folder, &["analyze", "race.bin", "--json", "--store", "occupied"]).status(66);
    assert!(
        outcome.stderr.contains("cannot store the results: occupied"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stdout.contains("\"schedule\": null"), "{}", outcome.stdout);
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    let folder = folder("same_bytes");
    heap(&folder.join("trace.bin"));
    let json = || witness(&folder, &["analyze", "trace.bin", "--json"]).status(66).stdout;
    assert_eq!(json(), json());
}

/// Where memory lies, and so how tables of hashes are ordered, changes nothing: not even which facts Z3 names that an
/// argument needs, which depends on the order in which it gets its terms back.
#[test]
fn an_analysis_says_the_same_each_time() {
    let folder = folder("says_the_same");
    let shape = "--events 10000 --threads 6 --locks 100 --variables 50 --unprotected 0.02 --seed 8 -o hard.bin";
    let words: Vec<&str> = ["generate"].into_iter().chain(shape.split(' ')).collect();
    witness(&folder, &words).status(0);
    let said = [1, 500, 2000, 3000, 5001].map(|len| {
        let mut analyze = command(&folder);
        // Moves the stack.
        analyze.env("PADDING", "x".repeat(len));
        run(analyze.args(["analyze", "--json", "hard.bin"])).status(66).stdout
    });
    assert!(said.iter().all(|other| *other == said[0]));
}
