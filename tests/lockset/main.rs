//! `--candidates lockset`: the variables that lock sets alone warn of, and what is decided of each. The programs are
//! situations of Mund et al. (*The Quest for Precision*, 2014): conditions that are signalled, threads that are
//! cancelled, locks that other threads give back; each with a race, and with none.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

use program::Program;
use serde_json::Value;

const FIFO: &[&str] = &["--policy", "fifo"];

fn compiled(name: &str) -> Program {
    Program::of_tests("lockset", "decided", name)
}

fn analyzed(program: &Program, layer: &str) -> (Value, i32) {
    let outcome = program.witness(&["analyze", "trace.bin", "--candidates", layer, "--json"]);
    (serde_json::from_str(&outcome.stdout).unwrap(), outcome.status)
}

/// What is said of the one variable that is warned of.
fn decided(name: &str) -> (String, i32) {
    let program = compiled(name);
    program.record(FIFO, &[]);
    let (results, status) = analyzed(&program, "lockset");
    let warnings = results["lock_sets"]["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else {
        panic!("{name}: {warnings:#?}")
    };
    // At least one of its pairs is that of the marked lines.
    let marked = ["write", "read"].map(|mark| program.line(mark));
    let pairs = results["pairs"].as_array().unwrap();
    let is_marked = |pair: &&Value| {
        let places = ["a", "b"].map(|side| program::place(&pair[side]));
        marked.iter().all(|line| places.contains(line))
    };
    assert!(pairs.iter().any(|pair| is_marked(&pair)), "{name}: {pairs:#?}");
    (warning["verdict"].as_str().unwrap().to_owned(), status)
}

#[test]
fn a_condition_that_is_signalled_orders() {
    // Only what was read keeps the two apart, so another run might be otherwise.
    assert_eq!(decided("signalled"), ("open".to_owned(), 0));
    assert_eq!(decided("signalled_late"), ("race".to_owned(), 66));
}

#[test]
fn a_cancelled_thread_ends_once_its_handlers_have_run() {
    assert_eq!(decided("cancelled"), ("false alarm".to_owned(), 0));
    assert_eq!(decided("cancelled_unjoined"), ("race".to_owned(), 66));
}

#[test]
fn a_lock_that_another_thread_gives_back_protects_nothing_behind() {
    assert_eq!(decided("unlocked_by_other"), ("race".to_owned(), 66));
    assert_eq!(decided("unlocked_in_time"), ("false alarm".to_owned(), 0));
}

#[test]
fn the_handler_of_a_signal_is_a_part_of_its_thread() {
    assert_eq!(decided("handler"), ("race".to_owned(), 66));
}

#[test]
fn the_layers_stand_side_by_side() {
    let program = compiled("signalled_late");
    program.record(FIFO, &[]);
    let text = program.witness(&["analyze", "trace.bin", "--candidates", "lockset"]);
    assert_eq!(text.status, 66);
    for line in [
        "Variables that lock sets warn of, 1 of 2:\n",
        ": race; pairs: ",
        "  1 of these race, 0 are false alarms, 0 are open\n",
    ] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    // The lock protects the flag, so its pairs are not even asked about.
    let ready = |results: &Value| {
        let pairs = results["pairs"].as_array().unwrap().clone();
        pairs.iter().filter(|pair| pair["a"]["variable"] == "ready").count()
    };
    let (all, _) = analyzed(&program, "conflicts");
    let (warned, _) = analyzed(&program, "lockset");
    assert!(ready(&all) > 0 && ready(&warned) == 0);
    assert!(all["lock_sets"].is_null());
}

#[test]
fn nothing_but_pairs_is_decided() {
    let program = compiled("cancelled");
    program.record(FIFO, &[]);
    for command in ["explain", "plan", "confirm"] {
        let arguments: &[&str] = match command {
            "explain" => &["trace.bin", "main", "main"],
            "plan" => &["trace.bin"],
            _ => &["trace.bin", "report"],
        };
        let mut all = vec![command];
        all.extend(arguments);
        all.extend(["--candidates", "lockset"]);
        let refused = program.witness(&all);
        assert_eq!(refused.status, 2, "{command}: {}", refused.stdout);
        assert!(
            refused.stderr.contains("--candidates lockset"),
            "{command}: {}",
            refused.stderr
        );
    }
}
