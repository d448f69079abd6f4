//! Pointers to blocks that get used addresses, against exhaustive search: on traces of threads that hand blocks to each
//! other, under a lock or not, and free what they got.
//!
//! `docs/SEMANTICS.md` says under *Pointers* that equal numbers may differ. All verdicts have to be those of the search,
//! and the checker has to agree with it event by event. How often the numbers alone would say something else is counted:
//! such a race is one that cannot happen.

use super::execution::Execution;
use super::null_pointers::{Making, POINTERS};
use super::{Judged, LIMIT, brute_force, checker, compare_all, event_kind, every_instance, judge_with};
use std::collections::BTreeMap;
use trace_format::{Event, MemRange, MemoryOrder, Op, Tables};
use witness::check::validate;
use witness::trace::Trace;

/// Where blocks begin: few places, of which two overlap.
const BLOCKS: [u64; 3] = [0x10_000, 0x10_008, 0x20_000];
const SIZE: u64 = 16;

/// What a thread is about to do with a block that it has, by its address.
#[derive(Clone, Copy)]
enum Busy {
    Fills(u64),
    Has(u64),
}

fn is_free(live: &[u64], addr: u64) -> bool {
    live.iter().all(|&other| addr + SIZE <= other || other + SIZE <= addr)
}

fn step(making: &mut Making, thread: u32, busy: &mut [Option<Busy>], live: &mut Vec<u64>) {
    // Mostly the same place, so that several threads find pointers there.
    let slot = making.one_of([POINTERS[0], POINTERS[0], POINTERS[1]]);
    match busy[thread as usize] {
        None if making.random.bool() => {
            let addr = BLOCKS[making.random.usize(..12).saturating_sub(9)];
            if is_free(live, addr) {
                live.push(addr);
                making.emit(thread, Op::Alloc { addr, size: SIZE });
                making.memory.retain(|&byte, _| !(addr..addr + SIZE).contains(&byte));
                busy[thread as usize] = Some(Busy::Fills(addr));
            }
        }
        None => {
            let pointer = match making.random.u32(..3) {
                0 => exchange(making, thread, slot),
                _ => making.read(thread, slot),
            };
            let is_there = live.contains(&pointer);
            busy[thread as usize] = is_there.then_some(Busy::Has(pointer));
        }
        Some(Busy::Fills(addr)) => {
            if making.random.bool() {
                making.write(thread, addr, 7);
            }
            making.write(thread, slot, addr);
            busy[thread as usize] = None;
        }
        Some(Busy::Has(addr)) => {
            if making.random.u32(..4) > 0 {
                _ = making.read(thread, addr);
            }
            if making.random.bool() && live.contains(&addr) {
                live.retain(|&other| other != addr);
                making.emit(thread, Op::Free { addr });
            }
            busy[thread as usize] = None;
        }
    }
}

/// Takes what is there, and leaves 0.
fn exchange(making: &mut Making, thread: u32, addr: u64) -> u64 {
    let read = making.value(addr);
    making.memory.insert(addr, 0);
    let (mem, order) = (MemRange { addr, size: 8 }, MemoryOrder::SeqCst);
    let written = 0;
    making.emit(
        thread,
        Op::AtomicRmw {
            mem,
            read,
            written,
            order,
        },
    );
    read
}

fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (threads, length) = (random.u32(2..4), random.usize(14..26));
    let mut making = Making::new(random, BTreeMap::new());
    let mut busy = vec![None; threads as usize];
    let mut live = Vec::new();
    while making.events.len() < length {
        let thread = making.random.u32(..threads);
        match making.random.u32(..4) {
            0 => making.lock(thread),
            _ => step(&mut making, thread, &mut busy, &mut live),
        }
        // Now and then a part of a pointer is accessed: then all of it are numbers.
        if making.random.u32(..40) == 0 {
            let addr = making.one_of(POINTERS);
            let (mem, value) = (MemRange { addr, size: 4 }, making.value(addr) & 0xffff_ffff);
            making.emit(thread, Op::Read { mem, value });
        }
    }
    let (mut tables, events) = making.into_trace(threads);
    tables.meta.control_flow_recorded = seed.is_multiple_of(5);
    (tables, events)
}

#[test]
fn pointers_to_different_blocks_are_told_apart() {
    let (mut confused, mut confused_traces, mut witnessed) = (0, 0, 0);
    let mut compare = |seed: u64, tables: &Tables, events: &[Event]| {
        let trace = Trace::from_events(tables.clone(), events);
        if let Err(violation) = validate(&trace) {
            return Err(format!("the trace itself is refused: {violation}"));
        }
        let execution = Execution::new(tables, events);
        let of_numbers = brute_force::search(&Execution::new(tables, events).with_numbers_alone(), LIMIT);
        if let (Some(numbers), Some(found)) = (of_numbers, brute_force::search(&execution, LIMIT)) {
            let of = |found: &brute_force::Found| found.races.len() + found.after_free.len();
            confused += of(&numbers) - of(&found);
            confused_traces += u64::from(of(&numbers) > of(&found));
        }
        match judge_with(&trace, &execution, &every_instance(), seed.is_multiple_of(4)) {
            Judged::Right(counts) => witnessed += counts.get("witnessed").copied().unwrap_or(0),
            Judged::TooLarge => {}
            Judged::Wrong(what) => return Err(format!("{what}\n{}", event_kind::describe(events))),
        }
        checker::agrees(tables, events, seed)
    };
    let traces = compare_all("reused-addresses", generate, &mut compare).or_panic();
    println!(
        "{traces} traces: {witnessed} pairs witnessed; in {confused_traces}, {confused} more by the numbers alone"
    );
    assert!(
        witnessed > traces && confused_traces > traces / 200,
        "{witnessed} {confused_traces}"
    );
}
