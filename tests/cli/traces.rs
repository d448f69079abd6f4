//! Small traces, written by hand.

use std::path::{Path, PathBuf};
use trace_format::{
    MemRange, MemoryOrder, Meta, ObjectId, ObjectInfo, ObjectKind, Op, ProgramEnd, SourceInfo, ThreadId, ThreadInfo,
    TraceWriter, VariableInfo, WriterOptions,
};

/// The file that the source lines of all traces are in. It does not exist.
pub const SOURCE: &str = "/src/demo.c";

/// `x`, `y` and a heap block.
pub const X: MemRange = MemRange { addr: 0x1000, size: 4 };
pub const Y: MemRange = MemRange { addr: 0x1008, size: 4 };
const BLOCK: u64 = 0x9000;

/// An empty folder for one test.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A trace in the making. Code positions are line numbers of [`SOURCE`].
pub struct Script {
    writer: TraceWriter,
}

impl Script {
    /// Threads 'main', 'left' and 'right', lock `m` (object 0) and condition `c` (object 1).
    pub fn new(path: &Path) -> Script {
        let mut writer = TraceWriter::create(path, &WriterOptions::default()).expect("a trace file");
        writer.set_meta(Meta {
            producer: "tests".to_owned(),
            ..Meta::default()
        });
        for (number, name) in ["main", "left", "right"].into_iter().enumerate() {
            writer.define_thread(ThreadInfo {
                name: Some(name.to_owned()),
                parent: (number > 0).then_some(ThreadId(0)),
                os_id: 0,
            });
        }
        for (kind, name) in [(ObjectKind::Mutex, "m"), (ObjectKind::Condition, "c")] {
            writer.define_object(ObjectInfo {
                kind,
                addr: 0,
                name: Some(name.to_owned()),
                initial: 0,
            });
        }
        // Two instructions a line: the line number, and 100 more.
        for pc in (1..=40).chain(101..=140) {
            let line = pc % 100;
            let function = match line {
                0..10 => "main",
                10..20 => "left",
                20..30 => "right",
                _ => "helper",
            };
            writer.define_source(SourceInfo {
                pc,
                function: Some(function.to_owned()),
                file: SOURCE.to_owned(),
                line: line as u32,
            });
        }
        Script { writer }
    }

    pub fn event(&mut self, thread: u32, line: u64, op: Op) -> &mut Script {
        self.writer.event(ThreadId(thread), line, op).expect("an event");
        self
    }

    fn call(&mut self, thread: u32, line: u64) -> &mut Script {
        self.writer.call(ThreadId(thread), line);
        self
    }

    /// Main creates both threads.
    fn start(&mut self) -> &mut Script {
        self.event(0, 1, Op::Begin);
        for child in [1, 2] {
            self.event(0, 1 + u64::from(child), Op::Fork { child: ThreadId(child) });
        }
        self.event(1, 10, Op::Begin).event(2, 20, Op::Begin)
    }

    pub fn finish(self) {
        self.writer.finish(ProgramEnd::Exited(0)).expect("a finished trace");
    }
}

pub const M: ObjectId = ObjectId(0);
const C: ObjectId = ObjectId(1);
pub const LOCK: Op = Op::Acquire {
    lock: M,
    attempt: false,
};
pub const UNLOCK: Op = Op::Release { lock: M };

pub fn read(mem: MemRange, value: u64) -> Op {
    Op::Read { mem, value }
}

pub fn write(mem: MemRange, value: u64) -> Op {
    Op::Write { mem, value }
}

/// The write of `x` at 11 and the read at 24 race, behind an unrelated critical section. Uneventful
/// reads of `y` come before.
pub fn hidden_race(path: &Path) {
    let mut script = Script::new(path);
    script.start();
    for _ in 0..40 {
        script.event(2, 21, read(Y, 0));
    }
    script.call(1, 12);
    script
        .event(1, 31, write(X, 10))
        .event(1, 13, LOCK)
        .event(1, 14, UNLOCK);
    script.event(2, 22, LOCK).event(2, 23, UNLOCK).event(2, 24, read(X, 10));
    script.event(1, 19, Op::End).event(2, 29, Op::End);
    script
        .event(
            0,
            4,
            Op::Join {
                child: ThreadId(1),
                attempt: false,
            },
        )
        .event(
            0,
            5,
            Op::Join {
                child: ThreadId(2),
                attempt: false,
            },
        );
    script.event(0, 6, Op::End);
    script.finish();
}

/// Figure 3 of the paper: `y` is accessed without a common lock, but the second access comes only
/// after a read that needs the first thread's later write.
pub fn figure3(path: &Path) {
    let mut script = Script::new(path);
    script.start();
    script
        .event(1, 11, write(Y, 5))
        .event(1, 12, LOCK)
        .event(1, 13, write(X, 10))
        .event(1, 14, UNLOCK);
    script
        .event(2, 21, LOCK)
        .event(2, 22, read(X, 10))
        .event(2, 23, UNLOCK)
        .event(2, 24, write(Y, 6));
    script.event(1, 19, Op::End).event(2, 29, Op::End);
    script.finish();
}

/// Two races at the same two lines, in a heap block, after a wait; and a pair under a common lock.
pub fn heap(path: &Path) {
    let condition = C;
    let lock = M;
    let wait = Op::WaitBegin { condition, lock };
    let woken = Op::WaitEnd {
        condition,
        lock,
        outcome: trace_format::WaitOutcome::Notified,
        attempt: false,
    };
    let field = |offset| MemRange {
        addr: BLOCK + offset,
        size: 8,
    };
    let mut script = Script::new(path);
    script.event(0, 1, Op::Begin);
    script.event(0, 2, Op::Alloc { addr: BLOCK, size: 32 });
    for child in [1, 2] {
        script.event(0, 3, Op::Fork { child: ThreadId(child) });
    }
    script.event(2, 20, Op::Begin).event(2, 21, LOCK).event(2, 22, wait);
    script
        .event(1, 10, Op::Begin)
        .event(1, 11, LOCK)
        .event(1, 12, write(X, 1));
    script.event(1, 13, Op::Notify { condition }).event(1, 14, UNLOCK);
    script
        .event(2, 22, woken)
        .event(2, 23, write(X, 2))
        .event(2, 24, UNLOCK);
    script
        .event(1, 15, write(field(0), 0x1234_5678_9abc))
        .event(1, 115, write(field(8), 7));
    script
        .event(2, 25, read(field(0), 0x1234_5678_9abc))
        .event(2, 125, read(field(8), 7));
    script.event(2, 26, write(X, 3)).event(1, 16, write(X, 4));
    script.finish();
}

/// `x` and `y` are written in one line and read in another, each behind a flag of its own.
pub fn two_flags(path: &Path) {
    let mut script = Script::new(path);
    for (name, mem) in [("x", X), ("y", Y)] {
        script.writer.define_variable(VariableInfo {
            addr: mem.addr,
            size: mem.size.into(),
            name: name.to_owned(),
        });
    }
    script.start();
    let flags = [0x2000, 0x2008].map(|addr| MemRange { addr, size: 4 });
    let order = MemoryOrder::SeqCst;
    for (number, (mem, flag)) in (0..).zip([X, Y].into_iter().zip(flags)) {
        script.event(1, 11 + 100 * number, write(mem, 1));
        script.event(
            1,
            12 + number,
            Op::AtomicStore {
                mem: flag,
                value: 1,
                order,
            },
        );
    }
    for (number, (mem, flag)) in (0..).zip([X, Y].into_iter().zip(flags)) {
        script.event(
            2,
            22 + number,
            Op::AtomicLoad {
                mem: flag,
                value: 1,
                order,
            },
        );
        script.event(2, 21 + 100 * number, read(mem, 1));
    }
    script.event(1, 19, Op::End).event(2, 29, Op::End).event(0, 9, Op::End);
    script.finish();
}

/// Nothing shared.
pub fn quiet(path: &Path) {
    let mut script = Script::new(path);
    script.start();
    script.event(1, 11, write(X, 1)).event(2, 21, write(Y, 1));
    script.finish();
}

/// No sequentially consistent execution: `m` is taken while it is held.
pub fn overlapping_locks(path: &Path) {
    let mut script = Script::new(path);
    script.start();
    script
        .event(1, 11, LOCK)
        .event(2, 21, LOCK)
        .event(1, 12, UNLOCK)
        .event(2, 22, UNLOCK);
    script.finish();
}
