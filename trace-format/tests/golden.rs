//! The bytes themselves: the format cannot change by accident.
//!
//! If one of these fails, files that exist can no longer be read, or newer files no longer by
//! older programs. When that is wanted, raise `FormatVersion::CURRENT`, describe the change in
//! `FORMAT.md`, and run the tests with `WITNESS_BLESS=1` to write the golden files anew.

use std::fmt::Write as _;
use std::path::PathBuf;
use trace_format::{
    Ending, Event, ImageInfo, MarkInfo, MarkKind, MemRange, MemoryOrder, Meta, ModuleInfo, ObjectId, ObjectInfo,
    ObjectKind, Op, PendingInfo, PendingKind, ProgramEnd, SourceInfo, StackId, ThreadId, ThreadInfo, TraceFile,
    TraceWriter, VariableInfo, WaitOutcome, WriterOptions,
};

const STORED: WriterOptions = WriterOptions {
    block_bytes: 256 * 1024,
    zstd_level: 0,
};

fn unhex<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<u8> {
    lines
        .flat_map(|line| line.split_once('#').map_or(line, |(bytes, _)| bytes).split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits"))
        .collect()
}

/// The example of `FORMAT.md`.
fn example() -> Vec<u8> {
    let mut writer = TraceWriter::to_sink("example", Vec::new(), &STORED).unwrap();
    let thread = writer.define_thread(ThreadInfo {
        name: Some("m".into()),
        parent: None,
        os_id: 7,
    });
    let lock = writer.define_object(ObjectInfo {
        kind: ObjectKind::Mutex,
        addr: 0x10,
        name: None,
        initial: 0,
    });
    let write = |addr| Op::Write {
        mem: MemRange { addr, size: 4 },
        value: 1,
    };
    writer.event(thread, 0x100, Op::Begin).unwrap();
    writer
        .event(thread, 0x104, Op::Acquire { lock, attempt: false })
        .unwrap();
    writer.call(thread, 0x108);
    writer.event(thread, 0x200, write(0x2000)).unwrap();
    writer.event(thread, 0x200, write(0x2004)).unwrap();
    writer.event(thread, 0x200, write(0x2008)).unwrap();
    writer.ret(thread);
    writer.event(thread, 0x10c, Op::Release { lock }).unwrap();
    writer.finish_sink(ProgramEnd::Exited(0)).unwrap().1
}

#[test]
fn the_example_in_the_documentation_is_true() {
    let text = include_str!("../FORMAT.md");
    let (_, rest) = text.split_once("```hex\n").expect("FORMAT.md has an example");
    let (hex, _) = rest.split_once("```").expect("the example ends");
    let bytes = example();
    let found: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
    assert_eq!(unhex(hex.lines()), bytes, "the writer makes {found}");
    let id = TraceFile::from_bytes("example", bytes).unwrap().id();
    assert!(text.contains(&format!("`{id}`")), "the identity of the example is {id}");
}

/// Every kind of event and of row once.
fn every_kind() -> Vec<Op> {
    let (object, other, child) = (ObjectId(0), ObjectId(1), ThreadId(1));
    let mem = MemRange {
        addr: 0x7fff_1234,
        size: 8,
    };
    let order = MemoryOrder::SeqCst;
    vec![
        Op::Begin,
        Op::Fork { child },
        Op::Join { child, attempt: true },
        Op::Read { mem, value: 0 },
        Op::Write { mem, value: u64::MAX },
        Op::Read { mem, value: u64::MAX },
        Op::Acquire {
            lock: object,
            attempt: true,
        },
        Op::AcquireShared {
            lock: object,
            attempt: true,
        },
        Op::Release { lock: object },
        Op::AcquireFailed {
            lock: object,
            shared: false,
        },
        Op::AcquireFailed {
            lock: object,
            shared: true,
        },
        Op::WaitBegin {
            condition: other,
            lock: object,
        },
        Op::WaitEnd {
            condition: other,
            lock: object,
            outcome: WaitOutcome::Notified,
            attempt: true,
        },
        Op::WaitEnd {
            condition: other,
            lock: object,
            outcome: WaitOutcome::TimedOut,
            attempt: true,
        },
        Op::Notify { condition: other },
        Op::NotifyAll { condition: other },
        Op::BarrierEnter {
            barrier: other,
            round: 3,
        },
        Op::BarrierExit {
            barrier: other,
            round: 3,
            attempt: false,
        },
        Op::SemPost { semaphore: other },
        Op::SemWait {
            semaphore: other,
            attempt: false,
        },
        Op::OnceBegin { once: other },
        Op::OnceEnd { once: other },
        Op::OnceWait { once: other },
        Op::AtomicLoad {
            mem,
            value: u64::MAX,
            order,
        },
        Op::AtomicStore {
            mem,
            value: 5,
            order: MemoryOrder::Release,
        },
        Op::AtomicRmw {
            mem: MemRange { size: 4, ..mem },
            read: 5,
            written: 4,
            order,
        },
        Op::Fence {
            order: MemoryOrder::AcqRel,
        },
        Op::Alloc { addr: 0x1000, size: 64 },
        Op::Free { addr: 0x1000 },
        Op::Branch,
        Op::Input {
            source: other,
            value: 1 << 40,
        },
        Op::Output { source: other },
        Op::Use { mem },
        Op::SemWaitFailed { semaphore: other },
        Op::SemValue {
            semaphore: other,
            value: 3,
        },
        Op::Destroy { mem, value: 7 },
        Op::End,
    ]
}

/// Two threads that do everything twice, in two blocks.
fn all_kinds(options: &WriterOptions) -> (Vec<u8>, Vec<Event>) {
    let mut writer = TraceWriter::to_sink("golden", Vec::new(), options).unwrap();
    writer.set_meta(Meta {
        producer: "golden 1".into(),
        command: vec!["./a.out".into(), "-x".into()],
        directory: "/tmp".into(),
        environment: vec!["A=b".into()],
        policy: "fifo".into(),
        seed: 42,
        control_flow_recorded: true,
        foreign_unlock: false,
        degraded: vec!["why".into()],
        pending: vec![PendingInfo {
            thread: ThreadId(1),
            before: 3,
            kind: PendingKind::Died(11),
            pc: 0x1234,
            stack: StackId(1),
            addr: 8,
        }],
    });
    let main = writer.define_thread(ThreadInfo {
        name: Some("main".into()),
        parent: None,
        os_id: 1000,
    });
    let other = writer.define_thread(ThreadInfo {
        name: None,
        parent: Some(main),
        os_id: 1001,
    });
    writer.define_object(ObjectInfo {
        kind: ObjectKind::RecursiveMutex,
        addr: 0x10,
        name: None,
        initial: 0,
    });
    let name = Some("s".to_owned());
    writer.define_object(ObjectInfo {
        kind: ObjectKind::Semaphore,
        addr: 0,
        name,
        initial: 2,
    });
    let module = ModuleInfo {
        path: "/lib/l.so".into(),
        build_id: vec![0xab, 0xcd],
        base: 1,
        start: 2,
        end: 3,
    };
    writer.define_module(module);
    let function = Some("f".to_owned());
    writer.define_source(SourceInfo {
        pc: 0x400,
        function,
        file: "a.c".into(),
        line: 12,
    });
    for (addr, size, bytes) in [(0x1000, 4096, Some(vec![7, 8])), (0x2000, 16, None)] {
        writer.define_image(ImageInfo {
            before: 0,
            addr,
            size,
            bytes,
        });
    }
    writer.define_variable(VariableInfo {
        addr: 0x3000,
        size: 8,
        name: "x".into(),
    });
    for kind in [
        MarkKind::Benign,
        MarkKind::Ignores {
            reads: true,
            writes: false,
        },
        MarkKind::Suppressions,
    ] {
        writer.define_mark(MarkInfo {
            kind,
            thread: main,
            before: 0,
            addr: 0x3000,
            size: 8,
            text: "race:x".into(),
        });
    }
    let mut events = Vec::new();
    for turn in 0..4 {
        let thread = if turn % 2 == 0 { main } else { other };
        if turn == 2 {
            writer.flush().unwrap();
            writer.update_thread(
                other,
                ThreadInfo {
                    name: Some("worker".into()),
                    parent: Some(main),
                    os_id: 1001,
                },
            );
        }
        for (number, op) in (0..).zip(every_kind()) {
            if number % 10 == 3 {
                writer.call(thread, 0x500 + number);
            }
            let pc = 0x400 + 4 * number;
            writer.event(thread, pc, op).unwrap();
            events.push(Event {
                thread,
                pc,
                stack: writer.stack_of(thread),
                op,
            });
        }
        writer.ret(thread);
    }
    (writer.finish_sink(ProgramEnd::Signaled(6)).unwrap().1, events)
}

/// The content of a golden file; with `WITNESS_BLESS` set, it is first replaced by `bytes`.
fn golden(name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("WITNESS_BLESS").is_some() {
        let mut text = String::new();
        for line in bytes.chunks(32) {
            let line: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{}", line.join(" ")).unwrap();
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    unhex(std::fs::read_to_string(&path).unwrap().lines())
}

fn check(bytes: Vec<u8>, events: &[Event]) {
    let trace = TraceFile::from_bytes("golden", bytes).unwrap();
    let found: Vec<_> = trace.events().map(Result::unwrap).collect();
    assert_eq!(found, events);
    assert_eq!(
        trace.ending(),
        &Ending::Complete {
            program: ProgramEnd::Signaled(6)
        }
    );
    let tables = trace.tables();
    assert_eq!(tables.threads[1].name.as_deref(), Some("worker"));
    assert_eq!((tables.meta.seed, tables.meta.degraded.len()), (42, 1));
    assert_eq!(tables.objects[1].initial, 2);
    assert_eq!((tables.modules[0].end, tables.sources[0].line), (3, 12));
    let images: Vec<_> = tables.images.iter().map(|image| image.bytes.as_deref()).collect();
    assert_eq!(images, [Some(&[7, 8][..]), None]);
    assert_eq!((tables.variables.len(), tables.variables[0].name.as_str()), (1, "x"));
}

#[test]
fn every_kind_has_the_bytes_it_always_had() {
    let (bytes, events) = all_kinds(&STORED);
    let golden = golden("every_kind.hex", &bytes);
    assert!(golden == bytes, "the format has changed: see the head of this file");
    check(golden, &events);
}

#[test]
fn compressed_files_of_the_past_can_be_read() {
    // What zstd makes of a block may differ from release to release; what it means may not.
    let (bytes, events) = all_kinds(&WriterOptions::default());
    check(golden("compressed.hex", &bytes), &events);
}
