//! Stale pointers, against exhaustive search: on traces of threads that allocate blocks, store their addresses, follow
//! what is stored, and free blocks, under locks or not. Addresses are given out again, and blocks overlap earlier ones.
//!
//! Section 3 of `docs/SEMANTICS.md` says when a read that is followed could see an address of what was freed. Each row
//! that the analysis gives has to be one of these; reads that can and have no row are counted, since only the nearest
//! writes are asked about. The checker is asked in all states about every free and read.

use super::checker::schedule_of;
use super::execution::Execution;
use super::machine::State;
use super::null_pointers::{Making, POINTERS, follower, is_followed};
use super::other_values::about_to_see;
use super::states::each_state;
use super::{LIMIT, compare_all, every_instance, solver_of};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, EventId, Op, Tables};
use witness::analyze::{Options, Solver, analyze};
use witness::check::{Checker, validate};
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Verdict};

/// Where blocks begin: two that overlap, and one that lies apart.
const BLOCKS: [u64; 3] = [0x10_000, 0x10_008, 0x20_000];
const SIZE: u64 = 16;

fn overlap(one: u64, other: u64) -> bool {
    one < other + SIZE && other < one + SIZE
}

/// Allocates, or frees what lives.
fn allocate_or_free(making: &mut Making, thread: u32, live: &mut BTreeSet<u64>) {
    let addr = making.one_of(BLOCKS);
    if live.remove(&addr) {
        making.emit(thread, Op::Free { addr });
    } else if !live.iter().any(|&other| overlap(addr, other)) {
        live.insert(addr);
        making.emit(thread, Op::Alloc { addr, size: SIZE });
        // A fresh block is not what the one before it was.
        making.memory.retain(|&byte, _| !(addr..addr + SIZE).contains(&byte));
        if making.random.u32(..3) > 0 {
            let pointer = making.one_of(POINTERS);
            making.write(thread, pointer, addr);
        }
    }
}

fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (threads, length) = (random.u32(2..4), random.usize(9..20));
    let mut making = Making::new(random, BTreeMap::new());
    let mut live = BTreeSet::new();
    if making.random.u32(..3) == 0 {
        making.begin(threads);
    }
    let length = length + making.events.len();
    while making.events.len() < length {
        let thread = making.random.u32(..threads);
        match making.random.u32(..10) {
            0..3 => making.lock(thread),
            3..6 => allocate_or_free(&mut making, thread, &mut live),
            6 => {
                let (pointer, block) = (making.one_of(POINTERS), making.one_of(BLOCKS));
                let value = making.one_of([0, block, block + 8]);
                making.write(thread, pointer, value);
            }
            _ => making.follow(thread),
        }
    }
    making.into_trace(threads)
}

/// A block of the trace.
struct Block {
    addr: u64,
    alloc: EventId,
    free: Option<EventId>,
}

impl Block {
    fn has(&self, addr: u64) -> bool {
        (self.addr..self.addr + SIZE).contains(&addr)
    }
}

/// The blocks, each with the first free at its address that follows.
fn blocks(execution: &Execution) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for event in execution.ids() {
        match *execution.op(event) {
            Op::Alloc { addr, .. } => blocks.push(Block {
                addr,
                alloc: event,
                free: None,
            }),
            Op::Free { addr } => {
                let last = blocks.iter_mut().rev().find(|block| block.addr == addr);
                if let Some(block) = last.filter(|block| block.free.is_none()) {
                    block.free = Some(event);
                }
            }
            _ => {}
        }
    }
    blocks
}

/// Whether some write in the trace stores this address while the block is the last one there.
fn is_pointed_to(execution: &Execution, blocks: &[Block], free: EventId, value: u64) -> bool {
    execution.ids().any(|write| {
        let written = match *execution.op(write) {
            Op::Write { value, .. } | Op::AtomicStore { value, .. } => value,
            _ => return false,
        };
        let mut there = blocks.iter().filter(|block| block.has(value) && block.alloc < write);
        written == value && there.next_back().is_some_and(|block| block.free == Some(free))
    })
}

/// Whether a read that is next would see an address of what an event has freed, and nothing lives there.
fn is_stale(execution: &Execution, blocks: &[Block], state: &State, read: EventId, free: EventId) -> Option<u64> {
    let value = about_to_see(execution, state, read)?;
    let is_external = execution
        .uses(read)
        .iter()
        .any(|used| execution.cells[used.cell].external);
    let done = |event| state.is_done(execution, event);
    let freed = blocks.iter().any(|block| block.free == Some(free) && block.has(value)) && done(free);
    let lives = |block: &Block| block.has(value) && done(block.alloc) && !block.free.is_some_and(done);
    (freed && !is_external && !blocks.iter().any(lives)).then_some(value)
}

#[derive(Default)]
struct Counts {
    followed: u64,
    stale: u64,
    rows: u64,
    /// Those of which the read sees the number that it saw in π.
    same_number: u64,
    uses: u64,
    /// Whoever stored the address did so before the block was there, or behind another one.
    by_chance: u64,
    not_found: u64,
    accepted: u64,
    rejected: u64,
}

fn compare(tables: &Tables, events: &[Event], solver: Solver, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let blocks = blocks(&execution);
    let followed: BTreeSet<EventId> = execution.ids().filter(|&read| is_followed(&execution, read)).collect();
    let mut stale: BTreeSet<(EventId, EventId, u64)> = BTreeSet::new();
    let all = each_state(&execution, LIMIT / 8, &mut |state, path, next| {
        for &read in next {
            let seen = about_to_see(&execution, state, read).unwrap_or(1);
            for free in execution.ids() {
                let is_stale = is_stale(&execution, &blocks, state, read, free).filter(|_| followed.contains(&read));
                stale.extend(is_stale.map(|value| (free, read, value)));
                // Wrong ones, too: what frees nothing, what is not followed, another value.
                let is_asked =
                    matches!(execution.op(free), Op::Free { .. }) || (free.0 + path.len() as u32).is_multiple_of(7);
                if !is_asked {
                    continue;
                }
                for value in [seen, BLOCKS[path.len() % 3]] {
                    let goal = Goal::StalePointer { free, read, value };
                    let said = checker.check(&schedule_of(&execution, path, goal));
                    if said.is_ok() != (is_stale == Some(value)) {
                        return Err(format!(
                            "after {path:?}, {read:?} of {value:#x} behind {free:?} is {is_stale:x?}, and the checker \
                             says {said:?}"
                        ));
                    }
                    *if said.is_ok() {
                        &mut counts.accepted
                    } else {
                        &mut counts.rejected
                    } += 1;
                }
            }
        }
        Ok(())
    })?;
    if !all {
        return Ok(());
    }
    counts.followed += followed.len() as u64;
    let options = Options {
        find: Find::of(&[Kind::StalePointer]),
        solver,
        ..every_instance()
    };
    let analysis = analyze(&trace, &options);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let mut found = BTreeSet::new();
    for pair in &analysis.pairs {
        let Verdict::Witnessed(schedule) = &pair.verdict else {
            return Err(format!("a row that is not witnessed: {pair:?}"));
        };
        let Goal::StalePointer { free, read, value } = schedule.goal else {
            return Err(format!("another goal: {:?}", schedule.goal));
        };
        if !stale.contains(&(free, read, value)) || checker.check(schedule).is_err() {
            return Err(format!("{read:?} does not see what {free:?} has freed"));
        }
        let saw = matches!(*execution.op(read), Op::Read { value: saw, .. } | Op::AtomicLoad { value: saw, .. } if saw == value);
        counts.same_number += u64::from(saw);
        found.insert((execution.pc(free), execution.pc(read)));
        counts.rows += 1;
    }
    for &(free, read, value) in &stale {
        counts.stale += 1;
        // What the thread uses next in the trace itself is in that block: a use after free.
        let next = follower(&execution, read);
        if next.is_some_and(|next| execution.block(next).is_some() && execution.block(next) == execution.block(free)) {
            counts.uses += 1;
        } else if !found.contains(&(execution.pc(free), execution.pc(read))) {
            match is_pointed_to(&execution, &blocks, free, value) {
                true => counts.not_found += 1,
                false => counts.by_chance += 1,
            }
        }
    }
    Ok(())
}

#[test]
fn stale_pointers_are_reads_that_can_see_what_was_freed() {
    let mut counts = Counts::default();
    let compared = compare_all("stale", generate, &mut |seed, tables, events| {
        compare(tables, events, solver_of(seed), &mut counts)
    });
    let Counts {
        followed,
        stale,
        rows,
        same_number,
        uses,
        by_chance,
        not_found,
        accepted,
        rejected,
    } = counts;
    println!(
        "{} traces: {followed} reads that are followed, {stale} stale pointers; {rows} rows, {same_number} of them with \
         the number of the trace; without one {uses} whose thread uses the freed block in the trace, {by_chance} of \
         addresses that were stored when another block was there, and {not_found} others; the checker accepted {accepted} and rejected {rejected}",
        compared.traces
    );
    let traces = compared.or_panic();
    if traces >= 2_000 {
        let least = [rows, same_number, uses, accepted, rejected];
        assert!(least.iter().all(|&count| count > 0), "some kind never came up");
        assert!(not_found * 20 < stale, "too many stale pointers are not found");
    }
}
