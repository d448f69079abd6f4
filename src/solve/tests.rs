//! Questions one after another, put to the same session.

use super::z3_session::Z3Session;
use super::{Answer, Session};
use crate::prune::{Grounds, MustHappenBefore};
use crate::schedule::Goal;
use crate::trace::{EventId, MemoryOrder, Sections, ThreadId, Trace};
use trace_format::{Event, MemRange, Op, StackId, Tables, ThreadInfo};

/// Threads that write under a lock made of an atomic, in turns, and the writes in the order of the trace.
fn under_spin_lock(threads: u32, turns: u32) -> (Trace, Vec<EventId>) {
    let (flag, data) = (MemRange { addr: 0x10, size: 4 }, MemRange { addr: 0x20, size: 4 });
    let order = MemoryOrder::SeqCst;
    let (read, written, value) = (0, 1, 0);
    let section = [
        Op::AtomicRmw {
            mem: flag,
            read,
            written,
            order,
        },
        Op::Write { mem: data, value: 1 },
        Op::AtomicStore {
            mem: flag,
            value,
            order,
        },
    ];
    let mut events = Vec::new();
    for thread in (0..turns).flat_map(|_| 0..threads).map(ThreadId) {
        events.extend(section.map(|op| Event {
            thread,
            pc: 1,
            stack: StackId::EMPTY,
            op,
        }));
    }
    let tables = Tables {
        threads: vec![ThreadInfo::default(); threads as usize],
        ..Tables::default()
    };
    let writes = (1..events.len() as u32).step_by(section.len()).map(EventId).collect();
    (Trace::from_events(tables, &events), writes)
}

#[test]
fn a_question_after_one_that_ran_out_of_budget_is_asked_in_full() {
    let (trace, writes) = under_spin_lock(3, 5);
    let (order, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
    let mut session = Session::new(&trace, &order, &sections, 100_000);
    let mut gave_up = false;
    for pair in writes.windows(2).rev() {
        match session.ask(&Goal::race(pair[0], pair[1])) {
            Answer::Feasible(prefix) => panic!("two threads hold the lock after {prefix:?}"),
            Answer::Infeasible => {}
            Answer::Budget => gave_up = true,
        }
    }
    assert!(gave_up, "the budget is too large for this test");
}

#[test]
fn an_explanation_costs_no_more_than_a_few_questions_however_many_facts_it_needs() {
    let (trace, writes) = under_spin_lock(4, 20);
    let (order, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
    let budget = 1_000_000;
    let session = Session::new(&trace, &order, &sections, budget);
    let meter = Z3Session::new(budget);
    let before = meter.spent();
    let last = &writes[writes.len() - 2..];
    let race = Goal::race(last[0], last[1]);
    let _facts = session.explain(Grounds::Outcomes, &race, 2 * u64::from(budget));
    let spent = meter.spent().wrapping_sub(before);
    assert!(spent <= 3 * budget, "{spent} resource units for an explanation");
    // A clause costs more than Z3 counts, and none is asserted for which nothing is left.
    assert_eq!(session.explain(Grounds::Outcomes, &race, 1_000), None);
}
