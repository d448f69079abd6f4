//! `--run`: the program is recorded until the places of each warning meet.

use crate::command::witness;
use crate::recorded::{compile, folder, reports};
use witness::confirm::ConfirmResults;

#[test]
fn runs_are_recorded_until_the_places_meet() {
    let folder = folder("run");
    compile(&folder, "figure2", &[]);
    let report = reports().join("figure2.helgrind").display().to_string();
    let said = witness(
        &folder,
        &["confirm", "--run", "--json", "-o", "t.bin", &report, "--", "./figure2"],
    );
    assert_eq!(said.status, 66, "{}", said.stderr);
    assert!(said.stderr.contains("run 1 (fifo)"), "{}", said.stderr);
    let results: ConfirmResults = serde_json::from_str(&said.stdout).expect("results");
    assert_eq!(results.summary.witnessed, 2);
    assert!(folder.join("t.bin").exists());
}

#[test]
fn traces_that_show_nothing_more_are_not_kept() {
    let folder = folder("run-unmatched");
    compile(&folder, "wrong_lock", &[]);
    std::fs::write(
        folder.join("pairs"),
        "wrong_lock.c:19 wrong_lock.c:28\nnowhere.c:1 wrong_lock.c:28\n",
    )
    .expect("a file");
    let said = witness(
        &folder,
        &[
            "confirm",
            "--run",
            "--runs",
            "3",
            "--json",
            "-o",
            "t.bin",
            "pairs",
            "--",
            "./wrong_lock",
        ],
    );
    assert_eq!(said.status, 66, "{}", said.stderr);
    assert!(said.stderr.contains("run 3 (pct, seed 1)"), "{}", said.stderr);
    let results: ConfirmResults = serde_json::from_str(&said.stdout).expect("results");
    assert_eq!((results.summary.witnessed, results.summary.unknown), (1, 1));
    assert_eq!(results.traces.len(), 1);
    assert!(folder.join("t.bin").exists() && !folder.join("t-2.bin").exists());
}
