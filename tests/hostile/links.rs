//! Links under the names that files will have, to files that matter.

use crate::command::run;
use crate::place::Place;
use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

/// Names that commands derive from that of the trace.
const DERIVED: [&str; 11] = [
    "trace.bin.partial",
    "trace.bin.ring",
    "trace.bin.witnesses/results.json",
    "trace.bin.witnesses/results.partial",
    "trace.bin.witnesses/results.json.partial",
    "trace.bin.witnesses/plan.partial",
    "trace.bin.witnesses/plan.json.partial",
    "trace.bin.witnesses/plan.prepared",
    "trace.bin.witnesses/plan.prepared.partial",
    "trace.bin.witnesses/1.sched",
    "trace.bin.witnesses/shards/1-of-1.partial",
];

#[test]
fn nothing_is_written_through_links() {
    let place = Place::new("links");
    let precious = place.precious(&DERIVED);
    place.record();
    precious.is_whole();
    place.witness(&["analyze", "trace.bin"]).status(66);
    place.witness(&["plan", "trace.bin"]).status(0);
    place.witness(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    place.witness(&["merge", "trace.bin"]).status(66);
    place.witness(&["replay", "trace.bin", "--live"]).status(66);
    precious.is_whole();
    for report in ["html=r.html", "sarif=r.sarif"] {
        let (_, file) = report.split_once('=').expect("a file");
        for name in [file.to_owned(), format!("{file}.part")] {
            symlink(place.path("precious"), place.path(&name)).expect("a link");
        }
        place.witness(&["analyze", "trace.bin", "--report", report]).status(66);
        assert!(place.path(file).symlink_metadata().expect("the report").is_file());
    }
    symlink(place.path("precious"), place.path("trace.std.partial")).expect("a link");
    place
        .witness(&["convert", "trace.bin", "--to", "std", "trace.std"])
        .status(0);
    precious.is_whole();
}

#[test]
fn a_journal_that_is_a_link_is_refused() {
    for name in ["journal", "shards/1-of-1.journal"] {
        let place = Place::new("linked-journal");
        place.record();
        place.witness(&["plan", "trace.bin"]).status(0);
        let precious = place.precious(&[&format!("trace.bin.witnesses/{name}")]);
        // A whole analysis can do without.
        let (how, status): (&[&str], _) = if name == "journal" {
            (&[], 66)
        } else {
            (&["--shard", "1/1"], 2)
        };
        let outcome = place.witness(&[&["analyze", "trace.bin"], how].concat()).status(status);
        assert!(
            status == 66 || outcome.stderr.contains("symbolic link"),
            "{}",
            outcome.stderr
        );
        precious.is_whole();
    }
}

#[test]
fn an_exploration_writes_through_no_link() {
    let place = Place::new("linked-exploration");
    place.compile(&[]);
    let links = (1..=9).flat_map(|run| [format!("out/{run}.bin"), format!("out/{run}.bin.partial")]);
    let links: Vec<String> = links.collect();
    let precious = place.precious(&links.iter().map(String::as_str).collect::<Vec<_>>());
    place.witness(&["explore", "-o", "out", "--", "./racy"]).status(66);
    precious.is_whole();
    let linked = place.precious(&["other/exploration.journal"]);
    let outcome = place.witness(&["explore", "-o", "other", "--", "./racy"]).status(2);
    assert!(outcome.stderr.contains("symbolic link"), "{}", outcome.stderr);
    linked.is_whole();
}

#[test]
fn a_linked_folder_of_results_is_not_emptied() {
    let place = Place::new("linked-folder");
    place.record();
    fs::create_dir(place.path("mine")).expect("a folder");
    for name in ["1.sched", "7.sched", "results.json"] {
        fs::write(place.path("mine").join(name), "mine").expect("a file");
    }
    symlink(place.path("mine"), place.path("trace.bin.witnesses")).expect("a link");
    let outcome = place.witness(&["analyze", "trace.bin"]).status(66);
    assert!(
        outcome.stderr.contains("cannot store the results"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("symbolic link"), "{}", outcome.stderr);
    for name in ["1.sched", "7.sched", "results.json"] {
        assert_eq!(fs::read(place.path("mine").join(name)).expect("a file"), b"mine");
    }
    // Said by its own name, it is a folder like any other.
    place.witness(&["analyze", "trace.bin", "--store", "mine"]).status(66);
}

/// A reader of a trace that was cut appends what is in the ring beside it, behind what was kept: a ring that says that
/// little was, and a trace that is a link to something else, or has a second name.
#[test]
fn a_ring_does_not_truncate_what_the_partial_trace_leads_to() {
    let place = Place::new("hostile-ring");
    place.record();
    let trace = fs::read(place.path("trace.bin")).expect("a trace");
    for hard in [false, true] {
        let (victim, partial) = (place.path("victim"), place.path("cut.bin.partial"));
        let _ = fs::remove_file(&partial);
        fs::write(&victim, &trace).expect("a file");
        if hard {
            fs::hard_link(&victim, &partial).expect("a link");
        } else {
            symlink(&victim, &partial).expect("a link");
        }
        fs::write(place.path("cut.bin.ring"), ring(100)).expect("a ring");
        let outcome = place.witness(&["info", "cut.bin.partial"]);
        assert_eq!(fs::read(&victim).expect("the file"), trace, "{outcome:?}");
    }
}

/// The file of a ring whose process is gone, and whose recorder has kept so many bytes: as a recorder makes it.
pub fn ring(kept: u64) -> Vec<u8> {
    let path = std::env::temp_dir().join(safe_files::random_name("hostile-ring"));
    let settings = recorder_ring::Settings::fifo();
    let mut ring = recorder_ring::Ring::create_at(&path, 512, 4096, settings).expect("a ring");
    ring.release(kept);
    let bytes = fs::read(&path).expect("its file");
    drop(ring);
    bytes
}

#[test]
fn two_analyses_of_one_trace_both_store() {
    let place = Place::new("two-analyses");
    // Many witnesses, whose files take some time to be written and renamed.
    crate::bombs::crowded(&place, "trace.bin", 60);
    let analyze = || run(&mut place.command(&["analyze", "trace.bin"])).status(66);
    for _ in 0..3 {
        thread::scope(|scope| {
            let runs: Vec<_> = (0..6).map(|_| scope.spawn(analyze)).collect();
            for run in runs {
                let said = run.join().expect("an outcome").stderr;
                assert!(!said.contains("cannot store"), "{said}");
            }
        });
    }
    let replayed = place.witness(&["replay", "trace.bin"]).status(66);
    assert!(
        !replayed.stderr.contains("not stored here by you"),
        "{}",
        replayed.stderr
    );
    let inside = fs::read_dir(place.path("trace.bin.witnesses"))
        .expect("results")
        .flatten();
    let drafts = inside.filter(|entry| entry.file_name().to_string_lossy().ends_with(".partial"));
    assert_eq!(drafts.count(), 0);
}
