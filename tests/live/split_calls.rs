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

/// The comparison of a wait, and that the thread is among those that wait, are one: who joins them in between does so
/// before.
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
    // Who joins and leaves those that wait: the thread that waits, and the one that wakes it.
    let counts = |event: &EventId| {
        let access = trace.access(*event);
        access.is_some_and(|access| access.kind == AccessKind::AtomicRmw && access.addr >= trace_format::NOBODYS)
    };
    let mut joins = (0..events.len()).filter(|&at| counts(&events[at]));
    let (first, second) = (joins.next().unwrap(), joins.next().unwrap());
    let whole: Vec<EventId> = events.drain(first - 1..=first).collect();
    assert_eq!(trace.thread(whole[0]), trace.thread(whole[1]));
    // Between the comparison of the second one and that it joins.
    let between = second - whole.len();
    assert_eq!(trace.thread(events[between - 1]), trace.thread(events[between]));
    events.splice(between..between, whole);
    schedule.slices = slices(&trace, &events);

    let checker = Checker::new(&trace);
    checker.check(&schedule).unwrap();
    let launch = live::launch(&trace, &[], Origin::Here).unwrap();
    let run = live::run(&Planner::new(&checker, [&schedule]), &schedule, &launch).unwrap();
    assert!(matches!(run.outcome, Outcome::Confirmed(_)), "{:?}", run.outcome);
}
