//! Writes that are left out of a trace, as code that is not recorded does them.
//!
//! The trace with the write is the truth. Without it, the analysis may find fewer races, and must
//! not find one that the truth does not have.

use super::execution::Execution;
use super::{LIMIT, brute_force, environment, event_kind, random_trace};
use trace_format::{Event, Op};
use witness::trace::EventId;

#[test]
fn a_write_that_was_not_recorded_adds_no_race() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let (mut tried, mut fewer) = (0_u64, 0_u64);
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let whole = Execution::new(&tables, &events);
        if whole.cells.iter().any(|cell| cell.external) {
            continue;
        }
        for hidden in (0..events.len()).filter(|&at| shows(&events, at)) {
            let mut rest = events.clone();
            rest.remove(hidden);
            let part = Execution::new(&tables, &rest);
            let (Some(truth), Some(found)) = (brute_force::search(&whole, LIMIT), brute_force::search(&part, LIMIT))
            else {
                continue;
            };
            let in_whole = |event: EventId| EventId(event.0 + u32::from(event.index() >= hidden));
            for (found, truth) in [(&found.races, &truth.races), (&found.after_free, &truth.after_free)] {
                for &(a, b) in found {
                    assert!(
                        truth.contains(&(in_whole(a), in_whole(b))),
                        "seed {seed}: without {hidden}, {a:?} and {b:?} race, or come in this order\n{}",
                        event_kind::describe(&events)
                    );
                }
            }
            tried += 1;
            fewer += u64::from(found.races.len() < truth.races.len());
        }
    }
    println!("{tried} writes left out, {fewer} of them at the price of a race");
    assert!(tried * 20 > traces, "only {tried} writes could be left out");
}

/// Whether π without the write at `at` shows that something wrote: the next access of each of its
/// words reads another value than the one before it left. (Nothing can tell otherwise. Nor that a
/// block must be there before something unrecorded writes into it: such writes stay in.)
pub fn shows(events: &[Event], at: usize) -> bool {
    let Op::Write { mem, .. } = events[at].op else {
        return false;
    };
    let in_block = events
        .iter()
        .any(|event| matches!(event.op, Op::Alloc { addr, size } if (addr..addr + size).contains(&mem.addr)));
    if in_block {
        return false;
    }
    // The thread that wrote is seen to run just then.
    let beside = |other: Option<usize>| {
        other
            .and_then(|other| events.get(other))
            .is_some_and(|event| event.thread == events[at].thread)
    };
    let words = (mem.addr..mem.addr + u64::from(mem.size)).step_by(4);
    (beside(at.checked_sub(1)) || beside(Some(at + 1)))
        && words.into_iter().all(|word| {
            let before = events[..at].iter().rev().find_map(|event| values(&event.op, word));
            let after = events[at + 1..].iter().find_map(|event| values(&event.op, word));
            matches!((before, after), (Some((_, Some(left))), Some((Some(seen), _))) if left != seen)
        })
}

/// What an access of four bytes or more sees in a word, and what it leaves there.
fn values(op: &Op, word: u64) -> Option<(Option<u64>, Option<u64>)> {
    let slice = |addr: u64, value: u64| value >> (8 * (word - addr)) & 0xffff_ffff;
    let covers = |addr: u64, size: u64| (addr..addr + size).contains(&word);
    match *op {
        Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } if covers(mem.addr, mem.size.into()) => {
            let seen = slice(mem.addr, value);
            Some((Some(seen), Some(seen)))
        }
        Op::Write { mem, value } | Op::AtomicStore { mem, value, .. } if covers(mem.addr, mem.size.into()) => {
            Some((None, Some(slice(mem.addr, value))))
        }
        Op::AtomicRmw { mem, read, written, .. } if covers(mem.addr, mem.size.into()) => {
            Some((Some(slice(mem.addr, read)), Some(slice(mem.addr, written))))
        }
        _ => None,
    }
}
