//! Live runs along schedules that have something between what a call does at once.

use crate::command::{run, witness};
use crate::program::Program;
use witness::check::Checker;
use witness::own::Origin;
use witness::replay::live::{self, Outcome, Planner};
use witness::schedule::{Schedule, Slice};
use witness::store::{self, Binding, Found};
use witness::trace::{AccessKind, EventId, ThreadId, Trace};

/// The events of a schedule in their order.
fn order(trace: &Trace, schedule: &Schedule) -> Vec<EventId> {
    let mut next = vec![0_usize; trace.threads()];
    let mut events = Vec::new();
    for slice in &schedule.slices {
        for _ in 0..slice.events {
            let at = next[slice.thread.index()];
            next[slice.thread.index()] += 1;
            events.push(trace.program_order(slice.thread).get(at).unwrap());
        }
    }
    events
}

fn slices(trace: &Trace, order: &[EventId]) -> Vec<Slice> {
    let threads: Vec<ThreadId> = order.iter().map(|&event| trace.thread(event)).collect();
    let slices = threads.chunk_by(|a, b| a == b);
    slices
        .map(|slice| Slice {
            thread: slice[0],
            events: slice.len() as u32,
        })
        .collect()
}

/// The comparison of a wait, and that the thread is among those that wait, are one: who stores to the word in between does
/// so behind.
#[test]
fn a_wait_for_a_futex_is_in_one_piece() {
    let program = Program::of("split-wait", "split_wait.c");
    program.record(&["--policy", "fifo"], &[]);
    let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"]));
    analysis.unwrap().expect(&[66]).unwrap();
    let file = program.folder.join("trace.bin");
    let trace = Trace::open(&file).unwrap();
    let folder = program.folder.join("trace.bin.witnesses");
    let Found::Stored(stored) = store::load(&folder, trace.id(), &Binding::of(&file)).unwrap() else {
        panic!("they are stored")
    };
    let mut schedule = stored.schedules[0].clone();
    assert_eq!(schedule.as_recorded, 0);
    let mut events = order(&trace, &schedule);
    let does = |event: EventId, kind, of_program| {
        let access = trace.access(event);
        access.is_some_and(|access| access.kind == kind && (access.addr < trace_format::NOBODYS) == of_program)
    };
    // Who joins those that wait, and who stores what they wait for, with all that comes before.
    let mut joins = (0..events.len()).filter(|&at| does(events[at], AccessKind::AtomicRmw, false));
    let second = joins.nth(1).unwrap();
    assert!(does(events[second - 1], AccessKind::AtomicLoad, true));
    let stores = (second..events.len()).find(|&at| does(events[at], AccessKind::AtomicStore, true));
    let store = events[stores.unwrap()];
    let comes_first = |&event: &EventId| trace.thread(event) == trace.thread(store) && event <= store;
    let (moved, rest): (Vec<_>, Vec<_>) = events.drain(second..).partition(comes_first);
    assert_eq!(moved.last(), Some(&store));
    events.extend(moved.into_iter().chain(rest));
    schedule.slices = slices(&trace, &events);

    let checker = Checker::new(&trace);
    checker.check(&schedule).unwrap();
    let launch = live::launch(&trace, &[], Origin::Here).unwrap();
    let run = live::run(&Planner::new(&checker, [&schedule]), &schedule, &launch).unwrap();
    assert!(matches!(run.outcome, Outcome::Confirmed(_)), "{:?}", run.outcome);
}
