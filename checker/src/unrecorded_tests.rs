//! Memory that changes without an event: what is pinned, what was there at first.

use crate::unrecorded::Pin;
use crate::{Checker, Events};
use trace_format::{
    Event, EventId, ImageInfo, MemRange, MemoryOrder, ModuleInfo, NOBODYS, Op, StackId, Tables, ThreadId, ThreadInfo,
    TraceId,
};

fn mem(addr: u64, size: u8) -> MemRange {
    MemRange { addr, size }
}

fn read(at: MemRange, value: u64) -> Op {
    Op::Read { mem: at, value }
}

fn write(at: MemRange, value: u64) -> Op {
    Op::Write { mem: at, value }
}

/// The pin of an event; thread, code position and operation of each event.
fn pin(tables: Tables, events: &[(u32, u64, Op)], event: u32) -> Option<(u32, u32)> {
    let event_of = |&(thread, pc, op): &(u32, u64, Op)| Event {
        thread: ThreadId(thread),
        pc,
        stack: StackId::EMPTY,
        op,
    };
    let events = Events::new(TraceId([0; 16]), tables, events.iter().map(event_of).collect());
    let pin = Checker::new(&events).unrecorded.pin(EventId(event));
    pin.map(|Pin { from, until }| (from.0, until.0))
}

fn plain(events: &[(u32, Op)], event: u32) -> Option<(u32, u32)> {
    let events: Vec<_> = events.iter().map(|&(thread, op)| (thread, 0, op)).collect();
    pin(Tables::default(), &events, event)
}

#[test]
fn an_access_keeps_its_place_between_what_preceded_its_value_and_what_followed_who_saw_it() {
    let flag = mem(0x10, 4);
    let events = [
        (0, write(flag, 1)),
        (1, read(flag, 1)),
        (0, Op::Branch),
        (1, read(flag, 2)),
        (0, read(flag, 2)),
        (1, Op::Branch),
        (0, write(flag, 3)),
        (
            1,
            Op::AtomicRmw {
                mem: flag,
                read: 3,
                written: 4,
                order: MemoryOrder::Relaxed,
            },
        ),
        (0, Op::Use { mem: flag }),
    ];
    let pins: Vec<_> = (0..9).map(|event| plain(&events, event)).collect();
    let expected = [
        Some((0, 1)),
        Some((1, 1)),
        None,
        Some((3, 4)),
        Some((3, 4)),
        None,
        Some((6, 7)),
        Some((7, 7)),
        None,
    ];
    assert_eq!(pins, expected);
}

#[test]
fn a_byte_is_pinned_for_itself() {
    // The low byte changes while thread 1 has events, the high one while only thread 0 has.
    let word = mem(0x10, 2);
    let events = |low: u64, high: u64| {
        [
            (0, write(word, 0)),
            (1, Op::Branch),
            (0, read(word, low)),
            (0, read(word, low | high << 8)),
            (1, Op::Branch),
        ]
    };
    let pins = |low, high| [0, 2, 3].map(|event| plain(&events(low, high), event));
    assert_eq!(pins(0, 1), [None; 3], "the change is its thread's own");
    assert_eq!(pins(1, 0), [Some((0, 0)), Some((2, 3)), Some((2, 3))]);
    assert_eq!(pins(1, 1), pins(1, 0), "the second change does not matter");
}

fn image(before: u64, addr: u64, size: u64, bytes: Option<&[u8]>) -> ImageInfo {
    let bytes = bytes.map(<[u8]>::to_vec);
    ImageInfo {
        before,
        addr,
        size,
        bytes,
    }
}

/// Whether a read that is an access's first, behind five other events, sees what was there from the start.
fn explains(block: bool, images: &[ImageInfo], at: MemRange, value: u64) -> bool {
    let tables = Tables {
        images: images.to_vec(),
        ..Tables::default()
    };
    let alloc = match block {
        true => Op::Alloc { addr: 100, size: 1000 },
        false => Op::Branch,
    };
    let mut events = vec![(0, 0, Op::Branch); 5];
    events[3] = (0, 0, alloc);
    events.extend([(1, 0, Op::Branch), (0, 0, read(at, value))]);
    pin(tables, &events, 6).is_none()
}

#[test]
fn a_value_is_explained_by_the_newest_image_of_each_byte() {
    let all = [
        image(5, 100, 20, Some(&[1, 2])),
        image(5, 200, 50, None),
        image(6, 104, 4, Some(&[7])),
    ];
    assert!(explains(false, &all, mem(100, 4), 0x0201));
    assert!(!explains(false, &all, mem(100, 4), 0x0301));
    assert!(explains(false, &all, mem(104, 4), 7) && !explains(false, &all, mem(104, 4), 0));
    assert!(explains(false, &all, mem(102, 4), 0x0007_0000), "in two images");
    assert!(explains(false, &all, mem(248, 2), 0xffff), "nobody changes it");
    assert!(!explains(false, &all, mem(249, 2), 0), "a byte that no image shows");
    assert!(!explains(false, &all, mem(90, 2), 0));
    assert!(
        explains(false, &[image(7, 100, 20, None)], mem(7, 4), 9),
        "before the first image nothing is doubted"
    );
    assert!(explains(false, &[], mem(7, 4), 9));
}

#[test]
fn a_block_is_zero_unless_an_image_of_it_says_more() {
    let newer = [image(5, 100, 20, Some(&[1]))];
    assert!(explains(true, &newer, mem(100, 1), 1) && !explains(true, &newer, mem(100, 1), 0));
    let older = [image(3, 100, 20, Some(&[1]))];
    assert!(explains(true, &older, mem(100, 1), 0) && !explains(true, &older, mem(100, 1), 1));
    assert!(explains(true, &newer, mem(500, 1), 0) && !explains(true, &newer, mem(500, 1), 1));
}

const STACK: u64 = 0x7000;
const LOCAL: MemRange = MemRange {
    addr: STACK + 0x80,
    size: 4,
};
/// Where the program's code is, and a library's.
const CODE: u64 = 0x100;
const LIBRARY: u64 = 0x1100;

fn module(path: &str, start: u64) -> ModuleInfo {
    ModuleInfo {
        path: path.to_owned(),
        build_id: Vec::new(),
        base: 0,
        start,
        end: start + 0x1000,
    }
}

/// A local variable that changes while another thread runs, between two reads of its own thread; after some events of
/// that. Whether its reads are pinned.
fn pinned(library: &str, before: &[(u64, Op)]) -> bool {
    let size = 0x1000;
    let mut events = vec![
        (0, CODE, Op::Begin),
        (0, 0, Op::Alloc { addr: STACK, size }),
        (0, CODE, write(LOCAL, 1)),
    ];
    events.extend(before.iter().map(|&(pc, op)| (0, pc, op)));
    if !before.iter().any(|(_, op)| matches!(op, Op::Fork { .. })) {
        events.push((0, CODE, Op::Fork { child: ThreadId(1) }));
    }
    events.extend([
        (0, CODE, read(LOCAL, 1)),
        (1, CODE, Op::Begin),
        (1, CODE, Op::Branch),
        (0, CODE, read(LOCAL, 2)),
    ]);
    let tables = Tables {
        threads: vec![ThreadInfo::default(); 2],
        modules: vec![module("/app", 0), module(library, 0x1000)],
        ..Tables::default()
    };
    let last = events.len() as u32 - 1;
    pin(tables, &events, last).is_some()
}

#[test]
fn a_change_of_a_local_variable_is_its_own_threads() {
    let within = (CODE, write(mem(STACK + 0x40, 8), LOCAL.addr));
    assert!(!pinned("/lib/libother.so.1", &[]));
    assert!(!pinned("/lib/libother.so.1", &[within]));
}

#[test]
fn unless_its_address_was_given_away() {
    let elsewhere = mem(0x9000, 8);
    let argument = Op::AtomicStore {
        mem: mem(1 << 63, 8),
        value: LOCAL.addr,
        order: MemoryOrder::SeqCst,
    };
    assert!(pinned("/lib/libother.so.1", &[(CODE, write(elsewhere, LOCAL.addr))]));
    let object = (CODE, write(elsewhere, STACK + 0x10));
    assert!(pinned("/lib/libother.so.1", &[object]), "an object that has it");
    assert!(pinned("/lib/libother.so.1", &[(CODE, argument)]));
}

/// As [`pinned`], where the code that is not recorded is the system's.
fn pinned_beside_the_system(before: &[Op]) -> bool {
    let before: Vec<(u64, Op)> = before.iter().map(|&op| (CODE, op)).collect();
    pinned("/lib/libc.so.6", &before)
}

/// Blocks that a thread allocates, and what it stores in them.
const BLOCK: Op = Op::Alloc { addr: 0x9000, size: 64 };
const OTHER: Op = Op::Alloc { addr: 0x9100, size: 64 };

fn store(at: u64, value: u64) -> Op {
    write(mem(at, 8), value)
}

#[test]
fn nor_if_its_address_is_only_in_a_block_of_the_threads_own() {
    let in_block = [BLOCK, store(0x9010, LOCAL.addr)];
    let library = in_block.map(|op| (CODE, op));
    assert!(!pinned_beside_the_system(&in_block));
    assert!(
        pinned("/lib/libother.so.1", &library),
        "it may keep the block for others"
    );
    assert!(pinned("/lib/libglib-2.0.so.0", &library), "it, too");
    let chain = [BLOCK, OTHER, store(0x9010, LOCAL.addr), store(0x9100, 0x9020)];
    assert!(!pinned_beside_the_system(&chain));
    // Where another block was, or comes.
    let at_another_time = [store(0x8000, 0x9010), BLOCK, store(0x9010, LOCAL.addr)];
    assert!(!pinned_beside_the_system(&at_another_time));
}

#[test]
fn unless_others_may_find_that_block() {
    let in_block = |more: &[Op]| [&[BLOCK, OTHER, store(0x9010, LOCAL.addr)], more].concat();
    assert!(pinned_beside_the_system(&in_block(&[store(0x8000, 0x9020)])));
    assert!(pinned_beside_the_system(&in_block(&[
        store(0x9110, 0x9020),
        store(0x8000, 0x9100)
    ])));
    assert!(
        !pinned_beside_the_system(&in_block(&[store(0x8000, 0x9100)])),
        "another one"
    );
    // On the thread's own stack, near to what others may find there, or not.
    let on_stack = |found: u64| {
        let slot = STACK + 0x800;
        pinned_beside_the_system(&in_block(&[store(slot, 0x9020), store(0x8000, found)]))
    };
    assert!(on_stack(STACK + 0x400));
    assert!(on_stack(STACK + 0x807), "its last byte");
    assert!(!on_stack(STACK + 0x808));
    // The other thread begins after all of that.
    let by_another = |events: &[Op]| {
        let mut events: Vec<_> = events.iter().map(|&op| (0, CODE, op)).collect();
        let child = ThreadId(1);
        let size = 0x1000;
        let stack = Op::Alloc { addr: STACK, size };
        events.splice(
            0..0,
            [(0, CODE, Op::Begin), (0, CODE, stack), (0, CODE, write(LOCAL, 1))],
        );
        events.extend([(0, CODE, Op::Fork { child }), (1, CODE, Op::Begin)]);
        events
    };
    let pinned_after = |more: &[(u32, Op)]| {
        let mut events = by_another(&in_block(&[]));
        events.extend(more.iter().map(|&(thread, op)| (thread, CODE, op)));
        events.extend([(1, CODE, Op::Branch), (0, CODE, read(LOCAL, 2))]);
        let tables = Tables {
            threads: vec![ThreadInfo::default(); 2],
            modules: vec![module("/app", 0)],
            ..Tables::default()
        };
        let last = events.len() as u32 - 1;
        pin(tables, &events, last).is_some()
    };
    assert!(!pinned_after(&[]));
    let elsewhere = mem(0x9030, 4);
    assert!(
        pinned_after(&[(1, write(elsewhere, 1))]),
        "another thread uses the block"
    );
    assert!(pinned_after(&[(1, Op::Free { addr: 0x9000 })]), "or frees it");
    assert!(!pinned_after(&[(1, Op::Free { addr: 0x9100 })]));
}

#[test]
fn unless_a_library_that_is_not_recorded_has_threads() {
    let fork = (LIBRARY, Op::Fork { child: ThreadId(1) });
    assert!(pinned("/lib/libother.so.1", &[fork]));
    assert!(!pinned("/lib/libstdc++.so.6", &[fork]), "std::thread is made there");
    let recorded = (LIBRARY, write(mem(0x9000, 8), 1));
    assert!(!pinned("/lib/libother.so.1", &[recorded, fork]), "it is recorded");
}

/// As above, of a variable of the first thread's, whose stack no event allocates.
fn pinned_on_the_first_stack(at: u64, before: &[Op]) -> bool {
    pinned_on_it_below(module("/app", 0), at, before)
}

/// The same where this is all that is loaded.
fn pinned_on_it_below(loaded: ModuleInfo, at: u64, before: &[Op]) -> bool {
    let image = |addr| ImageInfo {
        before: 0,
        addr,
        size: 0x1000,
        bytes: Some(Vec::new()),
    };
    let mut events = vec![(0, CODE, Op::Begin), (0, CODE, write(mem(at, 4), 1))];
    events.extend(before.iter().map(|&op| (0, CODE, op)));
    events.extend([
        (0, CODE, Op::Fork { child: ThreadId(1) }),
        (1, CODE, Op::Begin),
        (1, CODE, Op::Branch),
        (0, CODE, read(mem(at, 4), 2)),
    ]);
    let tables = Tables {
        threads: vec![ThreadInfo::default(); 2],
        modules: vec![loaded],
        images: [
            0x10_0000,
            NOBODYS,
            FIRST,
            FIRST + 0x1000,
            NOBODYS,
            LOCALS,
            NOBODYS,
            0x9000_0000,
        ]
        .map(image)
        .to_vec(),
        ..Tables::default()
    };
    let last = events.len() as u32 - 1;
    pin(tables, &events, last).is_some()
}

const FIRST: u64 = 0x20_7000;
const LOCALS: u64 = 0x18_0000;

#[test]
fn the_first_threads_stack_is_where_its_images_are_and_below() {
    for own in [FIRST + 0x80, FIRST + 0x1080, FIRST - 0x80, LOCALS + 0x1000] {
        assert!(!pinned_on_the_first_stack(own, &[]), "{own:#x}");
    }
    for other in [FIRST + 0x2000, 0x10_0ff0, 0x9000_0010] {
        assert!(pinned_on_the_first_stack(other, &[]), "{other:#x}");
    }
    let local = FIRST + 0x80;
    assert!(!pinned_on_the_first_stack(local, &[store(FIRST + 0x40, local)]));
    assert!(pinned_on_the_first_stack(local, &[store(0x9000, local)]));
    assert!(pinned_on_the_first_stack(local, &[store(0x9000, local - 0x800)]));
    // Of another thread that has forked, say: below the loader.
    assert!(pinned_on_it_below(module("/lib/loader", FIRST + 0x10_0000), local, &[]));
}

#[test]
fn the_first_threads_own_variables_are_told_between_two_images_of_the_recorders() {
    let errno = LOCALS + 0x810;
    assert!(!pinned_on_the_first_stack(errno, &[]));
    assert!(!pinned_on_the_first_stack(errno, &[store(LOCALS + 0x40, errno)]));
    assert!(pinned_on_the_first_stack(errno, &[store(0x9000, errno)]));
    assert!(pinned_on_the_first_stack(errno, &[store(0x9000, LOCALS + 8)]));
    assert!(pinned_on_the_first_stack(LOCALS - 0x10, &[]));
    // Static data.
    assert!(pinned_on_the_first_stack(0x10_0010, &[]));
    assert!(pinned_on_the_first_stack(errno, &[store(0x10_0040, errno)]));
}
