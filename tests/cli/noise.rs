//! Suppressions and baselines.

use crate::command::witness;
use crate::traces::{folder, heap, hidden_race};
use serde_json::Value;
use std::fs;

#[test]
fn the_line_that_a_report_prints_suppresses_it() {
    let folder = folder("suppressions");
    hidden_race(&folder.join("trace.bin"));
    let told = witness(&folder, &["analyze", "trace.bin"]).status(66).stdout;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("  suppress: "))
        .expect("a suppression");
    fs::write(
        folder.join("supp"),
        format!("# known\n{line}\nrace:no_such_function\nmutex:main\n"),
    )
    .expect("a file");
    let arguments = [
        "analyze",
        "trace.bin",
        "--suppressions",
        "supp",
        "--report",
        "sarif=r.sarif",
        "--report",
        "json=r.json",
    ];
    let quiet = witness(&folder, &arguments).status(0);
    assert!(!quiet.stdout.contains("WARNING"), "{}", quiet.stdout);
    assert!(
        quiet
            .stdout
            .contains("0 data races witnessed, 0 pairs refuted, 0 unknown, 1 suppressed"),
        "{}",
        quiet.stdout
    );
    let unused = "this suppression hides nothing: supp:3: race:no_such_function\n";
    assert!(
        quiet.stderr.contains(unused) && !quiet.stderr.contains("mutex"),
        "{}",
        quiet.stderr
    );
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).expect("a report")).expect("JSON")
    };
    assert_eq!(read("r.json")["pairs"][0]["suppressed"], line);
    let suppressions = &read("r.sarif")["runs"][0]["results"][0]["suppressions"];
    assert_eq!(
        (&suppressions[0]["kind"], &suppressions[0]["justification"]),
        (&"external".into(), &line.into())
    );
    // What is stored can be replayed all the same.
    witness(&folder, &["replay", "trace.bin"]).status(66);
}

#[test]
fn a_baseline_leaves_what_is_new() {
    let folder = folder("baseline");
    heap(&folder.join("trace.bin"));
    let first = witness(&folder, &["analyze", "trace.bin", "--json"]).status(66).stdout;
    let mut known: Value = serde_json::from_str(&first).expect("results");
    let mut older = known.clone();
    older["schema"] = "witness-results/1".into();
    older.as_object_mut().expect("an object").remove("frames");
    for known in [&known, &older] {
        fs::write(folder.join("known.json"), known.to_string()).expect("a file");
        let quiet = witness(&folder, &["analyze", "trace.bin", "--baseline", "known.json"])
            .status(0)
            .stdout;
        assert!(
            quiet.contains("0 data races witnessed") && quiet.contains("5 in the baseline"),
            "{quiet}"
        );
    }
    let id = known["races"][0]["id"].as_str().expect("an id").to_owned();
    // A race that was only unknown then is new, and one that was refuted.
    for verdict in ["unknown", "refuted", "not-in-trace"] {
        let mut undecided = known.clone();
        let pairs = undecided["pairs"].as_array_mut().expect("pairs").iter_mut();
        for pair in pairs.filter(|pair| pair["id"] == id.as_str()) {
            pair["verdict"] = verdict.into();
        }
        fs::write(folder.join("undecided.json"), undecided.to_string()).expect("a file");
        let new = witness(&folder, &["analyze", "trace.bin", "--baseline", "undecided.json"]);
        let new = new.status(66).stdout;
        assert!(
            new.contains("WARNING") && new.contains("4 data races witnessed"),
            "{verdict}: {new}"
        );
    }
    // Without one of its races, that race is new again.
    let pairs = known["pairs"].as_array_mut().expect("pairs");
    pairs.retain(|pair| pair["id"] != id.as_str());
    fs::write(folder.join("known.json"), known.to_string()).expect("a file");
    let again = witness(&folder, &["analyze", "trace.bin", "--baseline", "known.json", "--json"])
        .status(66)
        .stdout;
    let again: Value = serde_json::from_str(&again).expect("results");
    let new: Vec<&Value> = again["pairs"]
        .as_array()
        .expect("pairs")
        .iter()
        .filter(|pair| pair["verdict"] == "witnessed" && pair["known"].is_null())
        .collect();
    assert!(!new.is_empty() && new.iter().all(|pair| pair["id"] == id.as_str()));
}

#[test]
fn ids_do_not_depend_on_lines_or_folders() {
    let folder = folder("ids");
    let trace = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a trace");
    trace("a.jsonl", &lines("/home/one/queue.c", 10));
    trace("b.jsonl", &lines("/builds/2/queue.c", 25));
    trace("c.jsonl", &lines("/builds/2/stack.c", 25));
    let id = |name: &str| {
        let results = witness(&folder, &["analyze", name, "--json"]).status(66).stdout;
        let results: Value = serde_json::from_str(&results).expect("results");
        results["races"][0]["id"].as_str().expect("an id").to_owned()
    };
    assert_eq!(id("a.jsonl"), id("b.jsonl"));
    assert_ne!(id("a.jsonl"), id("c.jsonl"));
    assert_eq!(id("a.jsonl").len(), 16);
}

/// A race between two threads' writes, at `line` and the line behind it.
fn lines(file: &str, line: u32) -> String {
    let thread = |parent: &str| format!("{{\"thread\":{{\"name\":null,\"parent\":{parent},\"os_id\":0}}}}\n");
    let source = |pc: u32| {
        let line = line + pc;
        format!("{{\"source\":{{\"pc\":{pc},\"function\":\"f{pc}\",\"file\":\"{file}\",\"line\":{line}}}}}\n")
    };
    let write = |thread: u32| {
        let op = "{\"Write\":{\"mem\":{\"addr\":16,\"size\":4},\"value\":1}}";
        format!(
            "{{\"event\":{{\"thread\":{thread},\"pc\":{},\"stack\":0,\"op\":{op}}}}}\n",
            thread + 1
        )
    };
    let rows = [thread("null"), thread("0"), source(1), source(2), write(0), write(1)].concat();
    format!("{{\"trace\":{{\"version\":1}}}}\n{rows}{{\"end\":{{\"Exited\":0}}}}\n")
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = folder("noise_errors");
    hidden_race(&folder.join("trace.bin"));
    fs::write(folder.join("supp"), "race:main\nraces:x\n").expect("a file");
    fs::write(folder.join("old.json"), "{}").expect("a file");
    let refused = |arguments: &[&str], words: &str| {
        let said = witness(&folder, &[&["analyze", "trace.bin"], arguments].concat()).status(2);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    };
    refused(
        &["--suppressions", "supp"],
        "supp:2: 'races:x' is no suppression: expected race:",
    );
    refused(&["--suppressions", "none"], "cannot read the suppressions none");
    refused(
        &["--baseline", "old.json"],
        "the baseline old.json is no results object",
    );
    refused(&["--baseline", "none"], "cannot read the baseline none");
}
