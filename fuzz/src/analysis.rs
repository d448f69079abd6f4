//! What must hold of the verdicts on every trace.

#[path = "../../tests/oracle/brute_force.rs"]
mod brute_force;
#[allow(dead_code, reason = "the oracle itself asks for more")]
#[path = "../../tests/oracle/execution.rs"]
mod execution;
#[allow(dead_code, reason = "the oracle itself asks for more")]
#[path = "../../tests/oracle/machine.rs"]
mod machine;

use execution::Execution;
use std::collections::BTreeSet;
use std::path::Path;
use trace_format::TraceFile;
use witness::analyze::{Options, Solver, analyze};
use witness::check::Checker;
use witness::report::{FORMS, Filters, Findings, NO_ROOT, Noise, Words};
use witness::results;
use witness::schedule::{Goal, Schedule};
use witness::symbols::Symbols;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Regions, Verdict};

/// Longer traces cost more than they show.
const LONGEST: usize = 120;
/// States that the oracle may visit.
const STATES: usize = 3_000;

/// How much is tried of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All kinds of goals, both solvers, every report.
    Whole,
    /// What needs no context of Z3, which takes longer to make than all else together: the usual kinds, our own solver.
    Quick,
}

/// Analyses a trace that is an execution, with a small budget: each witness has to be accepted by a checker of its own
/// and to survive its text form, every report has to be written, and where exhaustive search ends soon enough, each
/// verdict has to agree with it.
pub fn all(file: &TraceFile, trace: &Trace, effort: Effort) {
    if trace.len() > LONGEST {
        return;
    }
    let options = Options {
        instances: None,
        budget: 500_000,
        find: Find::of(&Kind::ALL),
        regions: Regions::All,
        ..Options::default()
    };
    let options = match effort {
        Effort::Whole => options,
        Effort::Quick => Options {
            solver: Solver::Native,
            find: Find::default(),
            ..options
        },
    };
    let analysis = analyze(trace, &options);
    if let Some(rejected) = analysis.rejected.first() {
        panic!("the checker rejected a schedule: {}", rejected.reason);
    }
    let Ok(events) = file.events().collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let feasible = brute_force::search(&Execution::new(file.tables(), &events), STATES);
    let between = |position: (u64, u64)| (position.0.min(position.1), position.0.max(position.1));
    let racing: Option<BTreeSet<(u64, u64)>> = feasible.as_ref().map(|feasible| {
        let all = feasible.races.iter().chain(&feasible.after_free);
        all.map(|&(a, b)| between((trace.pc(a), trace.pc(b)))).collect()
    });
    let checker = Checker::new(trace);
    let mut decided = BTreeSet::new();
    for pair in &analysis.pairs {
        let positions = between(pair.positions);
        decided.insert(positions);
        match &pair.verdict {
            Verdict::Witnessed(schedule) => {
                if let Err(rejection) = checker.check(schedule) {
                    panic!("the checker rejects a witness: {rejection}\n{schedule}");
                }
                assert_eq!(schedule.to_string().parse::<Schedule>().as_ref(), Ok(schedule));
                let known = match (&feasible, &schedule.goal) {
                    (Some(feasible), &Goal::Race(a, b)) => feasible.races.contains(&(a, b)),
                    (Some(feasible), &Goal::UseAfterFree { free, access }) => {
                        feasible.after_free.contains(&(free, access))
                    }
                    _ => true,
                };
                assert!(known, "a false alarm: {schedule}");
            }
            Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => {
                let raced = racing.as_ref().is_some_and(|racing| racing.contains(&positions));
                assert!(!raced, "{positions:?} race, and are refuted: {refutation:?}");
            }
            Verdict::Unknown(_) => {}
        }
    }
    if let Some(missed) = racing.as_ref().and_then(|racing| racing.difference(&decided).next()) {
        panic!("{missed:?} race, and are no candidates");
    }
    for violation in &analysis.atomicity_violations {
        if let Verdict::Witnessed(schedule) = &violation.verdict {
            if let Err(rejection) = checker.check(schedule) {
                panic!("the checker rejects a witness: {rejection}\n{schedule}");
            }
            assert_eq!(schedule.to_string().parse::<Schedule>().as_ref(), Ok(schedule));
        }
    }
    let symbols = Symbols::new(trace.tables());
    let words = Words {
        trace,
        symbols: &symbols,
    };
    let noise = Noise::of(&words, &analysis, &Filters::default());
    let findings = Findings {
        trace,
        checker: None,
        path: Path::new("fuzz"),
        analysis: &analysis,
        symbols: &symbols,
        options: results::Options {
            find: options.find,
            regions: options.regions,
            instances: options.instances,
            explanations: options.explanations,
            budget: options.budget,
            solver: options.solver,
            model: options.form,
            max_pairs: options.most_pairs,
            first_events: None,
        },
        folder: None,
        noise: &noise,
        root: &NO_ROOT,
        attached_warnings: &[],
        exploration: None,
    };
    if effort == Effort::Quick {
        return;
    }
    for (_, exporter) in FORMS {
        exporter
            .export(&[findings], &mut Vec::new())
            .expect("a vector can be written");
    }
}
