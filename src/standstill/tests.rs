use super::{Standstill, Tail, somebody_waits};
use crate::trace::Trace;
use trace_format::{
    CodePosition, MemRange, Meta, ObjectInfo, ObjectKind, Op, PendingInfo, PendingKind, ProgramEnd, StackId, ThreadId,
    ThreadInfo, TraceFile, TraceWriter, WriterOptions,
};

/// Events of a trace in which two threads write in turns; the first is thread 0's, like every even one.
const EVENTS: u64 = 500;

/// A trace of many blocks, at whose end these threads stood before these numbers of events, about to wait for each
/// other's end; thread 1 has ended if `ended`.
fn trace(pending: &[(u32, u64)], ended: bool) -> TraceFile {
    let options = WriterOptions {
        block_bytes: 64,
        ..WriterOptions::default()
    };
    let mut writer = TraceWriter::to_sink("memory", Vec::new(), &options).expect("memory is writable");
    let threads = [(); 2].map(|()| writer.define_thread(ThreadInfo::default()));
    for number in 0..EVENTS {
        let op = Op::Write {
            mem: MemRange {
                addr: 0x1000 + number * 8,
                size: 8,
            },
            value: number * number,
        };
        let last = ended && number + 1 == EVENTS;
        let op = if last { Op::End } else { op };
        let thread = threads[(number % 2) as usize];
        writer.event(thread, CodePosition::default(), op).expect("an event");
    }
    writer.set_meta(Meta {
        pending: pending
            .iter()
            .map(|&(thread, before)| PendingInfo {
                thread: ThreadId(thread),
                before,
                kind: PendingKind::Join,
                pc: CodePosition::default(),
                stack: StackId::default(),
                addr: u64::from(1 - thread),
            })
            .collect(),
        ..Meta::default()
    });
    let (_, bytes) = writer.finish_sink(ProgramEnd::Deadlock).expect("the end");
    let file = TraceFile::from_bytes("memory", bytes).expect("a trace");
    assert!(file.blocks().len() > 4, "{} blocks", file.blocks().len());
    file
}

/// Whether all of the events say that a thread waits.
fn all_say(file: &TraceFile) -> bool {
    let mut tail = Tail::default();
    for event in file.events() {
        tail.push(&event.expect("an event"));
    }
    !Standstill::at(file, &tail).expect("a trace").waits.is_empty()
}

#[test]
fn the_last_blocks_say_what_all_events_do() {
    // The last event of thread 0 is the one before the last, that of thread 1 the last.
    for (pending, ended, waits) in [
        (&[][..], false, false),
        (&[(0, 0)], false, false),
        (&[(0, EVENTS - 2)], false, false),
        (&[(0, EVENTS - 1)], false, true),
        (&[(1, EVENTS - 1)], false, false),
        (&[(1, EVENTS)], false, true),
        (&[(1, EVENTS)], true, false),
        (&[(0, 10), (1, 20)], false, false),
        (&[(0, 10), (0, EVENTS), (1, 20)], false, true),
        (&[(0, EVENTS), (0, 10)], true, true),
    ] {
        let file = trace(pending, ended);
        let said = somebody_waits(&file).expect("a trace");
        assert_eq!(all_say(&file), waits, "{pending:?}, ended: {ended}");
        assert_eq!(said, waits, "{pending:?}, ended: {ended}");
    }
}

#[test]
fn a_loaded_trace_says_what_its_file_does() {
    let same = |file: &TraceFile| {
        let trace = Trace::from_file(file).expect("a trace");
        let loaded = Standstill::at_end(file, &Tail::of(&trace), Some(&trace)).expect("a trace");
        assert_eq!(loaded, Standstill::of(file).expect("a trace"));
        loaded
    };
    for pending in [&[][..], &[(0, EVENTS)], &[(0, EVENTS), (1, EVENTS)], &[(1, 20)]] {
        for ended in [false, true] {
            same(&trace(pending, ended));
        }
    }
    // Thread 0 holds a lock and reads a flag again and again; thread 1 has done so, too, but not at last.
    let mut writer = TraceWriter::to_sink("memory", Vec::new(), &WriterOptions::default()).expect("memory is writable");
    let threads = [(); 2].map(|()| writer.define_thread(ThreadInfo::default()));
    let lock = writer.define_object(ObjectInfo {
        kind: ObjectKind::Mutex,
        addr: 0x2000,
        name: None,
        initial: 0,
    });
    let attempt = false;
    let take = Op::Acquire { lock, attempt };
    writer
        .event(threads[0], CodePosition::default(), take)
        .expect("an event");
    for number in 0..200 {
        let addr = if number < 190 { 0x1000 } else { 0x1000 + 8 * number };
        for (thread, addr) in [(0, 0x1000), (1, addr)] {
            let mem = MemRange { addr, size: 8 };
            let op = Op::Read { mem, value: 0 };
            writer
                .event(threads[thread], CodePosition::default(), op)
                .expect("an event");
        }
    }
    writer.set_meta(Meta {
        pending: vec![PendingInfo {
            thread: threads[1],
            before: 401,
            kind: PendingKind::Acquire,
            pc: CodePosition::default(),
            stack: StackId::default(),
            addr: 0x2000,
        }],
        ..Meta::default()
    });
    let (_, bytes) = writer.finish_sink(ProgramEnd::TimeLimit).expect("the end");
    let told = same(&TraceFile::from_bytes("memory", bytes).expect("a trace"));
    assert_eq!((told.spins.len(), told.waits.len()), (1, 1));
    assert_eq!((told.spins[0].thread, told.waits[0].held_by[0].thread), (0, 0));
}

#[test]
fn whom_a_thread_waits_for_is_told() {
    let standstill = Standstill::of(&trace(&[(0, EVENTS)], false)).expect("a trace");
    assert_eq!(standstill.waits.len(), 1);
    assert_eq!(standstill.waits[0].waits_for, "the end of thread 1");
}

/// A program that is killed when it has just created the thread that is to wake the first one.
#[test]
fn a_thread_that_has_done_nothing_yet_may_still_wake_others() {
    let thread_0_waits_forever = |child_ends: bool| {
        let options = WriterOptions::default();
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &options).expect("memory is writable");
        let [main, child] = [(); 2].map(|()| writer.define_thread(ThreadInfo::default()));
        let at = CodePosition::default();
        writer.event(main, at, Op::Begin).expect("an event");
        writer.event(main, at, Op::Fork { child }).expect("an event");
        if child_ends {
            writer.event(child, at, Op::Begin).expect("an event");
            writer.event(child, at, Op::End).expect("an event");
            // The one that ends a process ends with its last event.
            writer
                .event(
                    main,
                    at,
                    Op::Write {
                        mem: MemRange { addr: 0x1000, size: 1 },
                        value: 0,
                    },
                )
                .expect("an event");
        }
        writer.set_meta(Meta {
            pending: vec![PendingInfo {
                thread: main,
                before: 10,
                kind: PendingKind::Futex,
                pc: at,
                stack: StackId::default(),
                addr: 0x1000,
            }],
            ..Meta::default()
        });
        let (_, bytes) = writer.finish_sink(ProgramEnd::Signaled(15)).expect("the end");
        let file = TraceFile::from_bytes("memory", bytes).expect("a trace");
        let standstill = Standstill::of(&file).expect("a trace");
        assert_eq!(standstill.waits.len(), 1);
        standstill.is_deadlock()
    };
    assert!(thread_0_waits_forever(true));
    assert!(!thread_0_waits_forever(false));
}
