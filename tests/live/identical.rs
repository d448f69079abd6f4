//! Live runs that did exactly what was recorded need no model of what they did: that is what makes long ones cheap.

use crate::command::{run, witness};
use crate::program::Program;
use witness::check::Checker;
use witness::replay::live::{self, Outcome};
use witness::store;
use witness::trace::{EventId, Trace};

/// Runs the program along its only witness; the outcome, and how many events of the run were looked at once more.
fn outcome(program: &Program, same_addresses: bool) -> (Outcome, usize) {
    let file = program.folder.join("trace.bin");
    let trace = Trace::open(&file).unwrap();
    let stored = store::load(&program.folder.join("trace.bin.witnesses"), trace.id()).unwrap();
    let schedule = &stored.unwrap().schedules[0];
    let launch = live::launch(&trace, &[]).unwrap();
    let launch = witness::record::Launch {
        same_addresses,
        ..launch
    };
    let scratch = program.folder.join("live.bin");
    let run = live::run(&Checker::new(&trace), schedule, &launch, &scratch).unwrap();
    (run.outcome.clone(), run.trace.len())
}

/// The two accesses of a run that is confirmed.
fn confirmed(outcome: Outcome) -> [(EventId, bool); 2] {
    match outcome {
        Outcome::Confirmed(shown) => shown.map(|one| (one.event, one.pending)),
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
