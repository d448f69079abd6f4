//! Random traces: what a program could do to a [`TraceWriter`], and what it must read like.

use proptest::prelude::*;
use std::io::Write;
use trace_format::{
    Event, MemRange, MemoryOrder, Meta, ModuleInfo, ObjectId, ObjectInfo, ObjectKind, Op, ProgramEnd, SourceInfo,
    StackId, ThreadId, ThreadInfo, TraceFile, TraceWriter, WaitOutcome, WriterOptions,
};

pub const THREADS: u32 = 4;
pub const OBJECTS: u32 = 5;

/// One call of the writer.
#[derive(Clone, Debug)]
pub enum Step {
    Event(ThreadId, u64, Op),
    Call(ThreadId, u64),
    Return(ThreadId),
    Rename(ThreadId, String),
    Flush,
}

fn mem() -> impl Strategy<Value = MemRange> {
    let addr = prop_oneof![
        (0..16u64).prop_map(|word| 0x7fff_0000 + 8 * word),
        0..0x1000u64,
        (0..=u64::MAX - 8).boxed(),
        Just(u64::MAX - 8),
    ];
    (addr, 1..=8u8).prop_map(|(addr, size)| MemRange { addr, size })
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..4u64, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(1 << 63)]
}

fn access() -> impl Strategy<Value = (MemRange, u64, u64)> {
    (mem(), value(), value()).prop_map(|(mem, first, second)| {
        let mask = u64::MAX >> (64 - 8 * u32::from(mem.size));
        (mem, first & mask, second & mask)
    })
}

fn order() -> impl Strategy<Value = MemoryOrder> {
    (0..6u8).prop_map(MemoryOrder::from_c)
}

/// Every kind of operation.
pub fn op() -> impl Strategy<Value = Op> {
    let object = || (0..OBJECTS).prop_map(ObjectId);
    let child = || (0..THREADS).prop_map(ThreadId);
    let outcome = prop_oneof![Just(WaitOutcome::Notified), Just(WaitOutcome::TimedOut)];
    let round = prop_oneof![0..4u32, any::<u32>()];
    let data = prop_oneof![
        access().prop_map(|(mem, value, _)| Op::Read { mem, value }),
        access().prop_map(|(mem, value, _)| Op::Write { mem, value }),
        (access(), order()).prop_map(|((mem, value, _), order)| Op::AtomicLoad { mem, value, order }),
        (access(), order()).prop_map(|((mem, value, _), order)| Op::AtomicStore { mem, value, order }),
        (access(), order()).prop_map(|((mem, read, written), order)| Op::AtomicRmw {
            mem,
            read,
            written,
            order
        }),
        order().prop_map(|order| Op::Fence { order }),
        (0..=u64::MAX / 2, 0..=u64::MAX / 2).prop_map(|(addr, size)| Op::Alloc { addr, size }),
        any::<u64>().prop_map(|addr| Op::Free { addr }),
        access().prop_map(|(mem, ..)| Op::Use { mem }),
        access().prop_map(|(mem, value, _)| Op::Destroy { mem, value }),
        Just(Op::Branch),
    ];
    let locks = prop_oneof![
        (object(), any::<bool>()).prop_map(|(lock, attempt)| Op::Acquire { lock, attempt }),
        (object(), any::<bool>()).prop_map(|(lock, attempt)| Op::AcquireShared { lock, attempt }),
        object().prop_map(|lock| Op::Release { lock }),
        (object(), any::<bool>()).prop_map(|(lock, shared)| Op::AcquireFailed { lock, shared }),
        (object(), object()).prop_map(|(condition, lock)| Op::WaitBegin { condition, lock }),
        (object(), object(), outcome, any::<bool>()).prop_map(|(condition, lock, outcome, attempt)| Op::WaitEnd {
            condition,
            lock,
            outcome,
            attempt,
        }),
        object().prop_map(|condition| Op::Notify { condition }),
        object().prop_map(|condition| Op::NotifyAll { condition }),
    ];
    let others = prop_oneof![
        Just(Op::Begin),
        Just(Op::End),
        child().prop_map(|child| Op::Fork { child }),
        (child(), any::<bool>()).prop_map(|(child, attempt)| Op::Join { child, attempt }),
        (object(), round.clone()).prop_map(|(barrier, round)| Op::BarrierEnter { barrier, round }),
        (object(), round, any::<bool>()).prop_map(|(barrier, round, attempt)| Op::BarrierExit {
            barrier,
            round,
            attempt
        }),
        object().prop_map(|semaphore| Op::SemPost { semaphore }),
        (object(), any::<bool>()).prop_map(|(semaphore, attempt)| Op::SemWait { semaphore, attempt }),
        object().prop_map(|semaphore| Op::SemWaitFailed { semaphore }),
        (object(), any::<u32>()).prop_map(|(semaphore, value)| Op::SemValue { semaphore, value }),
        object().prop_map(|once| Op::OnceBegin { once }),
        object().prop_map(|once| Op::OnceEnd { once }),
        object().prop_map(|once| Op::OnceWait { once }),
        (object(), value()).prop_map(|(source, value)| Op::Input { source, value }),
        object().prop_map(|source| Op::Output { source }),
    ];
    prop_oneof![3 => data, 1 => locks, 1 => others]
}

/// Code positions repeat, as in a program, and sometimes do not.
fn pc() -> impl Strategy<Value = u64> {
    prop_oneof![8 => (0..12u64).prop_map(|n| 0x5555_0000 + 4 * n), 1 => any::<u64>()]
}

pub fn step() -> impl Strategy<Value = Step> {
    let thread = || (0..THREADS).prop_map(ThreadId);
    prop_oneof![
        12 => (thread(), pc(), op()).prop_map(|(thread, pc, op)| Step::Event(thread, pc, op)),
        2 => (thread(), pc()).prop_map(|(thread, pc)| Step::Call(thread, pc)),
        2 => thread().prop_map(Step::Return),
        1 => (thread(), "[a-z]{0,4}").prop_map(|(thread, name)| Step::Rename(thread, name)),
        1 => Just(Step::Flush),
    ]
}

/// What a trace must read like: each event with the frames that were active, outermost first.
#[derive(Debug, Default, PartialEq)]
pub struct Expected {
    pub events: Vec<(Event, Vec<u64>)>,
    pub names: Vec<Option<String>>,
}

/// Defines the rows that [`op`] mentions.
pub fn define<W: Write>(writer: &mut TraceWriter<W>) {
    writer.set_meta(Meta {
        producer: "test".into(),
        command: vec!["a.out".into()],
        seed: 7,
        ..Meta::default()
    });
    for number in 0..THREADS {
        let parent = number.checked_sub(1).map(ThreadId);
        let id = writer.define_thread(ThreadInfo {
            name: None,
            parent,
            os_id: 100 + number,
        });
        assert_eq!(id, ThreadId(number));
    }
    for number in 0..OBJECTS {
        let info = ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: 0x1000,
            name: Some(format!("L{number}")),
            initial: 0,
        };
        assert_eq!(writer.define_object(info), ObjectId(number));
    }
    writer.define_module(ModuleInfo {
        path: "/bin/x".into(),
        build_id: vec![1, 2],
        base: 1,
        start: 2,
        end: 3,
    });
    writer.define_source(SourceInfo {
        pc: 3,
        function: None,
        file: "x.c".into(),
        line: 4,
    });
}

/// Runs the steps, on a writer and on a model of it.
pub fn write<W: Write>(writer: &mut TraceWriter<W>, steps: &[Step]) -> Expected {
    define(writer);
    let mut frames = vec![Vec::new(); THREADS as usize];
    let mut expected = Expected {
        events: Vec::new(),
        names: vec![None; THREADS as usize],
    };
    for step in steps {
        match step.clone() {
            Step::Event(thread, pc, op) => {
                let number = writer.event(thread, pc, op).unwrap();
                assert_eq!(number, expected.events.len() as u64);
                let event = Event {
                    thread,
                    pc,
                    stack: writer.stack_of(thread),
                    op,
                };
                expected.events.push((event, frames[thread.index()].clone()));
            }
            Step::Call(thread, site) => {
                writer.call(thread, site);
                frames[thread.index()].push(site);
            }
            Step::Return(thread) => {
                writer.ret(thread);
                frames[thread.index()].pop();
                assert_eq!(
                    writer.stack_of(thread) == StackId::EMPTY,
                    frames[thread.index()].is_empty()
                );
            }
            Step::Rename(thread, name) => {
                writer.update_thread(
                    thread,
                    ThreadInfo {
                        name: Some(name.clone()),
                        ..ThreadInfo::default()
                    },
                );
                expected.names[thread.index()] = Some(name);
            }
            Step::Flush => writer.flush().unwrap(),
        }
    }
    expected
}

/// The bytes of a complete trace.
pub fn file(steps: &[Step], options: &WriterOptions) -> (Vec<u8>, Expected) {
    let mut writer = TraceWriter::to_sink("test", Vec::new(), options).unwrap();
    let expected = write(&mut writer, steps);
    let (summary, bytes) = writer.finish_sink(ProgramEnd::Exited(3)).unwrap();
    assert_eq!(summary.events, expected.events.len() as u64);
    assert_eq!(summary.bytes, bytes.len() as u64);
    (bytes, expected)
}

/// What a trace reads like.
pub fn read(trace: &TraceFile) -> Result<Expected, trace_format::ReadError> {
    let mut found = Expected {
        events: Vec::new(),
        names: Vec::new(),
    };
    for event in trace.events() {
        let event = event?;
        let mut frames: Vec<_> = trace.tables().frames(event.stack).collect();
        frames.reverse();
        found.events.push((event, frames));
    }
    found.names = trace
        .tables()
        .threads
        .iter()
        .map(|thread| thread.name.clone())
        .collect();
    Ok(found)
}
