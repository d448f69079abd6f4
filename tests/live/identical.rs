//! Live runs that did exactly what was recorded need no model of what they did: that is what makes long ones cheap.

use crate::command::{run, witness};
use crate::program::Program;
use std::ffi::OsString;
use witness::check::Checker;
use witness::own::Origin;
use witness::replay::live::{self, Outcome, Planner};
use witness::store::{self, Binding, Found};
use witness::trace::{EventId, Trace};

/// Runs the program along its only witness; the outcome, and how many events of the run were looked at once more.
fn outcome(program: &Program, same_addresses: bool) -> (Outcome, usize) {
    outcome_of(program, same_addresses, &[])
}

/// As [`outcome`], of another command line if there is one.
fn outcome_of(program: &Program, same_addresses: bool, command: &[OsString]) -> (Outcome, usize) {
    let file = program.folder.join("trace.bin");
    let trace = Trace::open(&file).unwrap();
    let stored = store::load(
        &program.folder.join("trace.bin.witnesses"),
        trace.id(),
        &Binding::of(&file),
    )
    .unwrap();
    let Found::Stored(stored) = stored else {
        panic!("they are stored")
    };
    let schedule = &stored.schedules[0];
    let launch = live::launch(&trace, command, Origin::Here).unwrap();
    let launch = witness::session::Launch {
        same_addresses,
        ..launch
    };
    let checker = Checker::new(&trace);
    let run = live::run(&Planner::new(&checker, [schedule]), schedule, &launch).unwrap();
    (run.outcome.clone(), run.trace.len())
}

/// The two accesses of a run that is confirmed.
fn confirmed(outcome: Outcome) -> [(EventId, bool); 2] {
    match outcome {
        Outcome::Confirmed(shown) => {
            let shown: Vec<_> = shown.iter().map(|one| (one.event, one.pending)).collect();
            shown.try_into().expect("two accesses")
        }
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn both_comparisons_say_the_same() {
    // A co-enabled race, an unordered one, values from outside, the race of a freed block.
    let programs = [
        ("wrong_lock", "../../programs/wrong_lock.c"),
        ("relaxed_flag", "../../programs/relaxed_flag.c"),
        ("outside", "outside.c"),
        ("heap_free", "../../programs/heap_free.c"),
    ];
    let programs = programs.map(|(name, source)| {
        let program = Program::of(&format!("identical-{name}"), source);
        program.record(&[], &[]);
        let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"]));
        analysis.unwrap().expect(&[66]).unwrap();
        program
    });
    // In this order: a process that was once told to keep its children's addresses in place goes on with it.
    let elsewhere = programs.each_ref().map(|program| outcome(program, false));
    for (program, (outcome_elsewhere, modelled)) in programs.iter().zip(elsewhere) {
        assert!(modelled > 0, "{}", program.file().display());
        let (outcome, modelled) = outcome(program, true);
        assert_eq!(modelled, 0, "{}", program.file().display());
        assert_eq!(confirmed(outcome), confirmed(outcome_elsewhere));
    }
}

#[test]
fn blocks_that_are_as_recorded_are_told_by_their_bytes() {
    let program = Program::of("identical-blocks", "long_prefix.c");
    program.record(&[], &["1"]);
    let trace = Trace::open(&program.folder.join("trace.bin")).unwrap();
    let digests: Vec<_> = trace.blocks().iter().map(|block| block.digest).collect();
    assert!(digests.len() > 3, "{digests:?}");
    let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"]));
    analysis.unwrap().expect(&[66]).unwrap();
    let (same, modelled) = outcome(&program, true);
    assert_eq!((confirmed(same).len(), modelled), (2, 0));
    // Other numbers at the same places: what was read differs, in a block that is skipped where it is the same.
    let other = [program.file().as_os_str().to_owned(), "2".into()];
    let (other, modelled) = outcome_of(&program, true, &other);
    assert!(matches!(other, Outcome::Diverged(_)) && modelled > 0, "{other:?}");
}
