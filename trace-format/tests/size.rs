//! What an event costs: a trace like that of a program must take few bytes an event.
//!
//! The bounds stand a little above what was measured when they were set; a change of the encoding
//! that makes traces larger shows here.

use trace_format::{
    MemRange, MemoryOrder, ObjectInfo, ObjectKind, Op, ProgramEnd, ThreadId, ThreadInfo, TraceFile, TraceWriter,
    WriterOptions,
};

/// xorshift64*: all the chance that a made-up program needs.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

const TEXT: u64 = 0x5555_5555_0000;
const HEAP: u64 = 0x7fff_f000_0000;

/// Four threads that take turns: each walks over an array, follows a linked list, and counts under
/// one of several locks, with functions called in between.
fn program(options: &WriterOptions, turns: u64) -> (u64, Vec<u8>) {
    let mut writer = TraceWriter::to_sink("test", Vec::new(), options).unwrap();
    let mut chance = Chance(88_172_645_463_325_252);
    let threads: Vec<ThreadId> = (0..4).map(|_| writer.define_thread(ThreadInfo::default())).collect();
    let locks: Vec<_> = (0..8)
        .map(|n| ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: HEAP + 64 * n,
            name: None,
            initial: 0,
        })
        .map(|info| writer.define_object(info))
        .collect();
    let mut counters = [0; 8];
    let mut events = 0;
    for turn in 0..turns {
        let thread = threads[chance.below(4) as usize];
        let mut event = |writer: &mut TraceWriter<_>, pc, op| {
            writer.event(thread, TEXT + pc, op).unwrap();
            events += 1;
        };
        let at = |addr, size| MemRange { addr, size };
        for repeat in 0..1 + chance.below(40) {
            writer.call(thread, TEXT + 0x10);
            let base = HEAP + 0x10000 + 4 * (turn % 1000);
            event(
                &mut writer,
                0x100,
                Op::Read {
                    mem: at(base + 4 * repeat, 4),
                    value: 7 * repeat % 5,
                },
            );
            event(
                &mut writer,
                0x108,
                Op::Write {
                    mem: at(base + 4 * repeat, 4),
                    value: 7 * repeat % 5 + 1,
                },
            );
            writer.ret(thread);
            let node = HEAP + 0x20000 + 48 * chance.below(500);
            event(
                &mut writer,
                0x120,
                Op::Read {
                    mem: at(node, 8),
                    value: node + 48,
                },
            );
            event(
                &mut writer,
                0x124,
                Op::Read {
                    mem: at(node + 8, 4),
                    value: node & 0xff,
                },
            );
        }
        let which = chance.below(8) as usize;
        let (lock, addr) = (locks[which], HEAP + 0x30000 + 8 * which as u64);
        event(&mut writer, 0x200, Op::Acquire { lock, attempt: false });
        writer.call(thread, TEXT + 0x208);
        event(
            &mut writer,
            0x300,
            Op::Read {
                mem: at(addr, 8),
                value: counters[which],
            },
        );
        counters[which] += 1;
        event(
            &mut writer,
            0x308,
            Op::Write {
                mem: at(addr, 8),
                value: counters[which],
            },
        );
        writer.ret(thread);
        event(&mut writer, 0x210, Op::Release { lock });
        let order = MemoryOrder::AcqRel;
        event(
            &mut writer,
            0x220,
            Op::AtomicRmw {
                mem: at(HEAP, 4),
                read: turn,
                written: turn + 1,
                order,
            },
        );
    }
    (events, writer.finish_sink(ProgramEnd::Exited(0)).unwrap().1)
}

#[test]
fn an_event_takes_about_three_bytes_and_one_compressed() {
    let (events, bytes) = program(&WriterOptions::default(), 5000);
    let trace = TraceFile::from_bytes("test", bytes).unwrap();
    assert_eq!(trace.len(), events);
    let raw: u64 = trace.blocks().iter().map(|block| u64::from(block.raw_bytes)).sum();
    let stored: u64 = trace.blocks().iter().map(|block| block.stored_bytes).sum();
    let (raw, stored) = (raw as f64 / events as f64, stored as f64 / events as f64);
    println!("{events} events: {raw:.2} bytes an event, {stored:.2} compressed");
    assert!(raw < 3.0, "{raw:.2} bytes an event");
    assert!(stored < 1.1, "{stored:.2} bytes an event, compressed");
}
