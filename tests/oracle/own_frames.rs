//! Which local variables may be changed by code of other threads, against a second reading of section 1 of
//! `docs/SEMANTICS.md`, *External bytes*: on random traces of native programs that store addresses of stacks and blocks
//! in stacks, blocks and elsewhere. Blocks come and go, and are given out again. What is the first thread's own is
//! sometimes memory that nothing allocates, like its thread-local variables.
//!
//! At the end of each trace a local variable has changed since its thread stored to it, while another thread had events.
//! The analysis says whether the read of it is pinned; the checker, whether it may come before what the other thread did
//! last.

use super::environment;
use std::collections::BTreeSet;
use trace_format::{
    Event, EventId, ImageInfo, MemRange, ModuleInfo, NOBODYS, Op, StackId, Tables, ThreadId, ThreadInfo,
};
use witness::check::Checker;
use witness::trace::Trace;

const THREADS: u32 = 3;
const CODE: u64 = 0x100;
const STACK: u64 = 0x3000;
const BLOCKS: [u64; 3] = [0x10_0000, 0x10_0040, 0x20_0000];
const BLOCK: u64 = 0x80;
const ELSEWHERE: u64 = 0x30_0000;

fn stack_of(thread: u32) -> u64 {
    0x100_0000 + 0x10_0000 * u64::from(thread)
}

/// Of each thread.
fn local_of(thread: u32) -> MemRange {
    let addr = stack_of(thread) + 0x1800;
    MemRange { addr, size: 4 }
}

fn store(addr: u64, value: u64) -> Op {
    let mem = MemRange { addr, size: 8 };
    Op::Write { mem, value }
}

/// A trace, and the events of another thread and of the thread of the local variable that it ends with.
fn generate(seed: u64) -> (Tables, Vec<(u32, Op)>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut events = Vec::new();
    let is_told = random.bool();
    for thread in 0..THREADS {
        let (addr, size) = (stack_of(thread), STACK);
        events.push((thread, Op::Begin));
        if thread > 0 || !is_told {
            events.push((thread, Op::Alloc { addr, size }));
        }
        let first = Op::Write {
            mem: local_of(thread),
            value: 1,
        };
        events.push((thread, first));
        if thread + 1 < THREADS {
            let child = ThreadId(thread + 1);
            events.push((thread, Op::Fork { child }));
        }
    }
    let mut live = BTreeSet::new();
    for _ in 0..random.usize(4..24) {
        // Mostly one thread, whose addresses then stay together.
        let thread = random.u32(..THREADS + 3).saturating_sub(3);
        let place = |random: &mut fastrand::Rng| {
            let of = random.u32(..THREADS + 2).saturating_sub(2);
            match random.u32(..8) {
                0..4 => BLOCKS[random.usize(..3)] + 8 * random.u64(..16),
                4..7 => stack_of(of) + [0x400, 0x801, 0x1000, 0x17f8, 0x1900, 0x2400][random.usize(..6)],
                _ => ELSEWHERE,
            }
        };
        let addr = BLOCKS[random.usize(..3)];
        let op = match random.u32(..8) {
            0..2 if !live.iter().any(|&block: &u64| block.abs_diff(addr) < BLOCK) => {
                live.insert(addr);
                Op::Alloc { addr, size: BLOCK }
            }
            2 if live.remove(&addr) => Op::Free { addr },
            _ => store(place(&mut random), place(&mut random)),
        };
        events.push((thread, op));
    }
    let thread = random.u32(..THREADS);
    let other = (thread + 1) % THREADS;
    let changed = Op::Read {
        mem: local_of(thread),
        value: 2,
    };
    events.extend([(other, Op::Branch), (thread, changed)]);
    let name = ["/lib/libc.so.6", "/lib/libc.so.6", "/lib/libother.so"][random.usize(..3)];
    let module = |path: &str, start| ModuleInfo {
        path: path.to_owned(),
        build_id: Vec::new(),
        base: 0,
        start,
        end: start + 0x1000,
    };
    let image = |addr, size| ImageInfo {
        before: 0,
        addr,
        size,
        bytes: Some(Vec::new()),
    };
    let images = match is_told {
        true => vec![
            image(ELSEWHERE, 0x1000),
            image(NOBODYS, 0x1000),
            image(NOBODYS, 0x1000),
            image(stack_of(0), 0x1000),
            image(stack_of(0) + 0x1000, STACK - 0x1000),
            image(NOBODYS, 0x1000),
        ],
        false => Vec::new(),
    };
    let tables = Tables {
        threads: vec![ThreadInfo::default(); THREADS as usize],
        modules: vec![module("/app", 0), module(name, 0x1000)],
        images,
        ..Tables::default()
    };
    (tables, events)
}

/// The block that an address belonged to before an event: the `alloc`, and its thread. The event behind the first
/// stands for what the images tell of.
fn block_at(events: &[(u32, Op)], before: usize, at: u64) -> Option<(usize, u32)> {
    let is_told = !matches!(events[1].1, Op::Alloc { .. });
    if is_told && (stack_of(0)..stack_of(0) + STACK).contains(&at) {
        return Some((1, 0));
    }
    let covers = |op| matches!(op, Op::Alloc { addr, size } if (addr..addr + size).contains(&at));
    let covering = events[..before].iter().rposition(|&(_, op)| covers(op))?;
    Some((covering, events[covering].0))
}

fn is_stack(events: &[(u32, Op)], block: usize) -> bool {
    events[block - 1].1 == Op::Begin
}

/// The address that an event accesses or frees.
fn accesses(op: Op) -> Option<u64> {
    match op {
        Op::Write { mem, .. } | Op::Read { mem, .. } => Some(mem.addr),
        Op::Free { addr } => Some(addr),
        _ => None,
    }
}

/// Whether code of another thread may have the address of the last event's variable.
fn others_may_have_it(tables: &Tables, events: &[(u32, Op)]) -> bool {
    let system = tables.modules[1].path.contains("libc");
    let is_own = |(block, thread): (usize, u32)| {
        let foreign = |(at, &(by, op)): (usize, &(u32, Op))| {
            let used = accesses(op).and_then(|addr| block_at(events, at, addr));
            by != thread && used == Some((block, thread))
        };
        is_stack(events, block) || (system && !events.iter().enumerate().any(foreign))
    };
    // What others have the address of.
    let mut had: BTreeSet<(usize, u64)> = BTreeSet::new();
    let may_look = |had: &BTreeSet<(usize, u64)>, block: usize, bytes: std::ops::Range<u64>| {
        let mut had = had.iter().filter(|&&(of, _)| of == block);
        had.any(|&(_, from)| !is_stack(events, block) || bytes.clone().any(|byte| byte >= from && byte - from < 4096))
    };
    loop {
        let before = had.len();
        for (at, &(_, op)) in events.iter().enumerate() {
            let Op::Write { mem, value } = op else { continue };
            let Some(of) = block_at(events, at, value).filter(|&of| mem.size == 8 && is_own(of)) else {
                continue;
            };
            let where_it_is = block_at(events, at, mem.addr).filter(|&there| is_own(there) && there.1 == of.1);
            if where_it_is.is_none_or(|there| may_look(&had, there.0, mem.addr..mem.addr + 8)) {
                had.insert((of.0, value));
            }
        }
        if had.len() == before {
            break;
        }
    }
    let (last, addr) = (
        events.len() - 1,
        accesses(events[events.len() - 1].1).expect("it reads"),
    );
    let (stack, _) = block_at(events, last, addr).expect("it is on a stack");
    (addr..addr + 4).any(|byte| may_look(&had, stack, byte..byte + 1))
}

#[test]
fn what_changes_on_a_threads_stack_is_its_own_unless_others_may_have_its_address() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let mut kept = 0;
    for seed in first..first + traces {
        let (tables, events) = generate(seed);
        let others = others_may_have_it(&tables, &events);
        let in_file = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: CODE,
            stack: StackId::EMPTY,
            op,
        };
        let in_file: Vec<Event> = events.iter().map(in_file).collect();
        let trace = Trace::from_events(tables, &in_file);
        let last = EventId(events.len() as u32 - 1);
        let pinned = trace.pin(last).is_some();
        assert_eq!(pinned, others, "seed {seed}: {events:#x?}");
        let checker = Checker::new(&trace);
        let mut state = checker.start();
        for event in (0..last.0 - 1).map(EventId) {
            assert!(state.step(event, None).is_ok(), "seed {seed}: {event:?}");
        }
        let before_the_other = state.step(last, None).is_ok();
        assert_eq!(before_the_other, !others, "seed {seed}, checker: {events:#x?}");
        kept += u64::from(!others);
    }
    println!("{kept} of {traces} variables are their threads' own");
    assert!(
        kept * 10 > traces && kept * 10 < traces * 9,
        "only one of the two is tried: {kept}"
    );
}
