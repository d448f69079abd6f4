//! What synchronizes two accesses, asked from the first one on and in a whole schedule.

use super::{environment, random_trace};
use witness::check::{Checker, Rejection};
use witness::schedule::{RaceKind, Schedule};
use witness::trace::{EventId, ObjectId, Sections, ThreadId, Trace, Wakes};

/// Who holds which lock as a reader before an event of π.
fn readers(trace: &Trace, sections: &Sections, before: EventId) -> Vec<(ObjectId, ThreadId)> {
    let threads = (0..trace.threads() as u32).map(ThreadId);
    let open = threads.flat_map(|thread| sections.open_after(thread, trace.events_before(thread, before)));
    let open = open.map(|&id| sections.get(id)).filter(|section| section.shared);
    open.map(|section| (section.lock, section.thread)).collect()
}

#[test]
fn what_synchronizes_from_the_first_access_on_is_what_a_whole_schedule_has() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let (mut chains, mut none, mut missed) = (0_u64, 0_u64, 0_u64);
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let trace = Trace::from_events(tables, &events);
        let checker = Checker::new(&trace);
        let (sections, wakes) = (Sections::of(&trace), Wakes::of(&trace, trace.events()));
        let accesses: Vec<EventId> = trace.events().filter(|&event| trace.access(event).is_some()).collect();
        for (at, &a) in accesses.iter().enumerate() {
            for &b in accesses[at + 1..]
                .iter()
                .filter(|&&b| trace.thread(a) != trace.thread(b))
            {
                // The recorded run itself, up to the second access.
                let schedule = Schedule {
                    trace: trace.id(),
                    kind: RaceKind::Unordered,
                    race: (a, b),
                    as_recorded: b.0,
                    slices: Vec::new(),
                    wakes: Vec::new(),
                };
                let whole = match checker.check(&schedule) {
                    Ok(_) | Err(Rejection::NoConflict { .. }) => false,
                    Err(Rejection::Synchronized { .. }) => true,
                    Err(_) => continue,
                };
                let stretch: Vec<EventId> = (a.0..b.0).map(EventId).collect();
                let found = checker.synchronizes(&stretch, readers(&trace, &sections, a), &wakes, trace.thread(b));
                assert!(whole || !found, "seed {seed}: nothing synchronizes {a:?} and {b:?}");
                // A wait that began before the stretch is not followed.
                missed += u64::from(whole && !found);
                chains += u64::from(whole);
                none += u64::from(!whole);
            }
        }
    }
    println!(
        "{chains} pairs synchronized, {missed} of them not seen from the first access on; {none} not synchronized"
    );
    assert!(none > traces && chains > traces && missed * 50 < chains);
}
