//! Uses after free, against exhaustive search: on traces in which threads free, under locks, what others access under
//! locks.
//!
//! The verdicts are judged as all are (`judge`): witnessed after a free if and only if, in some feasible prefix, the
//! free has been performed and the access of another thread is next (section 3 of `docs/SEMANTICS.md`). The checker is
//! asked in some of all states that a prefix can reach, about every free and access, and about events that are neither.

use super::brute_force::is_free;
use super::checker::schedule_of;
use super::execution::{Execution, is_used_after};
use super::states::each_state;
use super::{Judged, LIMIT, environment, judge, random_trace, stored};
use std::collections::BTreeMap;
use trace_format::{Event, Tables};
use witness::check::Checker;
use witness::schedule::Goal;
use witness::trace::Trace;

#[derive(Default)]
struct Counts {
    accepted: u64,
    rejected: u64,
}

/// Asks the checker in some of the states whether each pair of events is a use after free.
fn checked(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    let checker = Checker::new(&trace);
    each_state(&execution, LIMIT / 100, &mut |state, path, next| {
        if random.u64(..100) < 5 {
            for free in execution.ids() {
                for access in execution.ids() {
                    if !is_free(&execution, free) && random.u64(..100) > 2 {
                        continue;
                    }
                    let expected = is_used_after(&execution, free, access)
                        && state.is_done(&execution, free)
                        && next.contains(&access)
                        && execution.conflict(free, access);
                    let goal = Goal::UseAfterFree { free, access };
                    let said = checker.check(&schedule_of(&execution, path, goal));
                    if said.is_ok() != expected {
                        return Err(format!(
                            "after {path:?}, {access:?} after {free:?} is {expected}, and the checker says {said:?}"
                        ));
                    }
                    if expected {
                        counts.accepted += 1;
                    } else {
                        counts.rejected += 1;
                    }
                }
            }
        }
        Ok(())
    })
    .map(drop)
}

#[test]
fn uses_after_free_are_found_exactly() {
    let (first, traces) = (
        environment("WITNESS_ORACLE_SEED", 0),
        environment("WITNESS_ORACLE_TRACES", 2_000),
    );
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut counts = Counts::default();
    let (mut skipped, mut wrong) = (0, Vec::new());
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate_freeing(seed);
        let mut fault = |what: String| {
            let file = stored::leave_behind(&format!("freed-{seed}"), &tables, &events);
            wrong.push(format!("seed {seed}: {what}\n  {file}"));
        };
        match judge(&tables, &events) {
            Judged::Right(found) => {
                for (outcome, count) in found {
                    *outcomes.entry(outcome).or_default() += count;
                }
            }
            Judged::TooLarge => skipped += 1,
            Judged::Wrong(what) => fault(what),
        }
        let mut random = fastrand::Rng::with_seed(seed);
        if seed % 4 == 0
            && let Err(what) = checked(&tables, &events, &mut random, &mut counts)
        {
            fault(what);
        }
    }
    let Counts { accepted, rejected } = counts;
    println!(
        "{traces} traces, {skipped} too large: {outcomes:#?}; the checker accepted {accepted} and rejected {rejected}"
    );
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    if traces >= 2_000 {
        let after_free = outcomes.get("witnessed, after free").copied().unwrap_or_default();
        assert!(
            after_free * 20 > traces && accepted > 0 && rejected > 0,
            "the generator has become too tame"
        );
        assert!(skipped * 20 < traces, "too many traces are too large");
    }
}
