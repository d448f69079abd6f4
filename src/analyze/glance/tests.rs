use super::*;
use trace_format::{MemRange, ObjectId, ObjectInfo, ObjectKind, Op, ProgramEnd, ThreadId, ThreadInfo, TraceWriter};

const M: ObjectId = ObjectId(0);
const N: ObjectId = ObjectId(1);
const PERMITS: ObjectId = ObjectId(2);

/// Where the flag is that nobody protects; next to it is what the lock protects.
const FLAG: u64 = 0x1000;
const COUNT: u64 = 0x1004;

fn mem(addr: u64) -> MemRange {
    MemRange { addr, size: 4 }
}

fn write(addr: u64, value: u64) -> Op {
    Op::Write { mem: mem(addr), value }
}

fn acquire(lock: ObjectId) -> Op {
    Op::Acquire { lock, attempt: false }
}

/// A trace of three threads; the first one forks the others first. Each event has the position that is said.
struct Making {
    events: Vec<(u32, u64, Op)>,
}

impl Making {
    fn new() -> Making {
        let mut making = Making { events: Vec::new() };
        making.add(0, 1, Op::Begin);
        for child in [1, 2] {
            making.add(0, 2, Op::Fork { child: ThreadId(child) });
            making.add(child, 3, Op::Begin);
        }
        making
    }

    fn add(&mut self, thread: u32, position: u64, op: Op) -> &mut Making {
        self.events.push((thread, position, op));
        self
    }

    /// What threads do alone, and under the lock in turn.
    fn work(&mut self, rounds: usize) -> &mut Making {
        for thread in (0..rounds).flat_map(|_| [1, 2]) {
            for place in 0..50 {
                self.add(thread, 10, write(0x10_0000 * u64::from(thread) + 4 * place, 1));
            }
            self.add(thread, 11, acquire(M))
                .add(thread, 12, write(COUNT, thread.into()));
            self.add(thread, 13, Op::Release { lock: M });
        }
        self
    }

    fn file(&self) -> TraceFile {
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &trace_format::WriterOptions::default()).unwrap();
        for parent in [None, Some(ThreadId(0)), Some(ThreadId(0))] {
            let (name, os_id) = (None, 0);
            writer.define_thread(ThreadInfo { name, parent, os_id });
        }
        for (addr, kind) in [
            (0x2000, ObjectKind::Mutex),
            (0x2040, ObjectKind::Mutex),
            (0x2080, ObjectKind::Semaphore),
        ] {
            let (name, initial) = (None, 0);
            writer.define_object(ObjectInfo {
                kind,
                addr,
                name,
                initial,
            });
        }
        for &(thread, position, op) in &self.events {
            writer.event(ThreadId(thread), position, op).unwrap();
        }
        let (_, bytes) = writer.finish_sink(ProgramEnd::Exited(0)).unwrap();
        TraceFile::from_bytes("memory", bytes).unwrap()
    }
}

/// What a look says of a trace, after one at a trace in which threads work only, and what it says when it is made
/// again.
fn looks(making: &mut Making) -> [bool; 2] {
    let mut glance = Glance::new();
    glance.begin(&Making::new().work(100).file()).unwrap();
    let file = making.file();
    [(); 2].map(|()| glance.is_worthwhile(&file).unwrap())
}

#[test]
fn work_under_a_lock_shows_nothing() {
    assert_eq!(looks(Making::new().work(100)), [false, false]);
}

#[test]
fn a_race_in_the_middle_is_worth_one_analysis() {
    let mut making = Making::new();
    making.work(60).add(1, 20, write(FLAG, 1));
    // What lies next to it does not hide it.
    making.work(2).add(2, 21, write(FLAG, 2)).work(60);
    assert_eq!(looks(&mut making), [true, false]);
}

#[test]
fn so_is_a_write_of_what_others_have_read_and_a_read_of_what_they_have_written() {
    let read = Op::Read {
        mem: mem(FLAG),
        value: 0,
    };
    for (earlier, later) in [(read, write(FLAG, 0)), (write(FLAG, 0), read)] {
        let mut making = Making::new();
        making.work(60).add(1, 20, earlier);
        making.work(2).add(2, 21, later).work(60);
        assert_eq!(looks(&mut making), [true, false]);
    }
    let mut making = Making::new();
    making.work(60).add(1, 20, read).work(2).add(2, 21, read).work(60);
    assert_eq!(looks(&mut making), [false, false]);
}

#[test]
fn the_same_under_a_lock_is_not() {
    let mut making = Making::new();
    making.work(60);
    for (thread, position) in [(1, 20), (2, 21)] {
        making.add(thread, 30, acquire(M)).add(thread, position, write(FLAG, 1));
        making.add(thread, 31, Op::Release { lock: M });
    }
    assert_eq!(looks(making.work(60)), [false, false]);
}

#[test]
fn what_forks_and_joins_keep_apart_is_not() {
    let mut making = Making { events: Vec::new() };
    making
        .add(0, 1, Op::Begin)
        .add(0, 20, write(FLAG, 1))
        .add(0, 2, Op::Fork { child: ThreadId(1) });
    making
        .add(1, 3, Op::Begin)
        .add(1, 21, write(FLAG, 2))
        .add(1, 4, Op::End);
    let join = Op::Join {
        child: ThreadId(1),
        attempt: false,
    };
    making.add(0, 5, join).add(0, 22, write(FLAG, 3));
    assert_eq!(looks(&mut making), [false, false]);
}

#[test]
fn a_window_knows_what_was_held_and_counted_before_it() {
    let mut making = Making::new();
    making.add(1, 40, acquire(N));
    for _ in 0..3 {
        making.add(2, 41, Op::SemPost { semaphore: PERMITS });
    }
    for place in 0..2_000 {
        making.add(1, 10, write(0x10_0000 + 4 * (place % 50), 1));
    }
    making
        .add(
            1,
            42,
            Op::SemWait {
                semaphore: PERMITS,
                attempt: false,
            },
        )
        .add(1, 20, write(FLAG, 1));
    making.add(1, 43, Op::Release { lock: N }).add(2, 21, write(FLAG, 2));
    making.add(
        2,
        44,
        Op::SemWait {
            semaphore: PERMITS,
            attempt: false,
        },
    );
    assert_eq!(looks(&mut making), [true, false]);
    // As it was before: where a permit is missing, nothing is an execution, and nothing is shown.
    making.events.retain(|&(.., op)| !matches!(op, Op::SemPost { .. }));
    assert_eq!(looks(&mut making), [false, false]);
}

#[test]
fn a_block_that_began_long_before_is_known_when_it_is_freed() {
    let mut making = Making::new();
    let (addr, size) = (0x9_0000, 64);
    making.add(1, 50, Op::Alloc { addr, size });
    making
        .work(60)
        .add(2, 51, write(addr + 8, 1))
        .add(1, 52, Op::Free { addr })
        .work(60);
    assert_eq!(looks(&mut making), [true, false]);
}

#[test]
fn code_that_no_trace_has_executed_is_worth_an_analysis_however_far_apart_it_is() {
    let mut making = Making::new();
    making.add(1, 20, write(FLAG, 1)).work(100).add(2, 21, write(FLAG, 2));
    assert_eq!(
        looks(&mut making),
        [true, true],
        "another order may show what this one does not"
    );
}

/// Thread 1 writes what thread 2 accesses after the long time in which both work.
fn far_apart(between: &[(u32, u64, Op)]) -> [bool; 2] {
    let mut making = Making::new();
    making.add(1, 20, write(FLAG, 1));
    making.events.extend(between);
    making.work(100);
    let read = Op::Read {
        mem: mem(FLAG),
        value: 1,
    };
    looks(making.add(2, 21, read))
}

#[test]
fn what_is_kept_apart_by_what_threads_do_to_one_another_is_not() {
    assert_eq!(far_apart(&[]), [true, true]);
    let post = Op::SemPost { semaphore: PERMITS };
    let wait = Op::SemWait {
        semaphore: PERMITS,
        attempt: false,
    };
    assert_eq!(far_apart(&[(1, 30, post), (2, 31, wait)]), [false, false]);
    // Under a lock, one says that it is done, and the other one looks.
    let (done, release) = (0x3000, Op::Release { lock: N });
    let told = [
        (1, 30, acquire(N)),
        (1, 31, write(done, 1)),
        (1, 32, release),
        (2, 33, acquire(N)),
        (
            2,
            34,
            Op::Read {
                mem: mem(done),
                value: 1,
            },
        ),
        (2, 35, release),
    ];
    assert_eq!(far_apart(&told), [false, false]);
    // If it looks at something else, nothing keeps them apart.
    let mut other = told;
    other[4].2 = Op::Read {
        mem: mem(0x3100),
        value: 1,
    };
    assert_eq!(far_apart(&other), [true, true]);
}

/// A pair of places that a semaphore orders in the first trace, and what a look says of one in which `accesses` are those
/// of these two places, behind many others that it orders.
fn once_ordered(accesses: impl FnOnce(&mut Making)) -> bool {
    let ordered = |making: &mut Making, position: u64, addr: u64| {
        making
            .add(1, position, write(addr, 1))
            .add(1, 70, Op::SemPost { semaphore: PERMITS });
        let wait = Op::SemWait {
            semaphore: PERMITS,
            attempt: false,
        };
        making.add(2, 71, wait).add(2, position + 1, write(addr, 2));
    };
    // Of different variables, and so far from one another that no window has two.
    let others = |making: &mut Making| {
        for other in 0..60 {
            ordered(making, 1_000 + 2 * other, 0x4000 + 4 * other);
            making.work(15);
        }
    };
    let mut first = Making::new();
    ordered(&mut first, 20, FLAG);
    others(&mut first);
    let mut second = Making::new();
    others(&mut second);
    accesses(&mut second);
    let mut glance = Glance::new();
    glance.begin(&first.file()).unwrap();
    glance.is_worthwhile(&second.file()).unwrap()
}

#[test]
fn what_nothing_orders_this_time_is_looked_at_before_all_else() {
    for between in [700, 7_000] {
        let apart = |making: &mut Making| {
            making.add(1, 20, write(FLAG, 1));
            for place in 0..between {
                making.add(2, 10, write(0x10_0000 + 4 * (place % 50), 1));
            }
            making.add(2, 21, write(FLAG, 2));
        };
        assert!(once_ordered(apart), "{between}");
        let ordered = |making: &mut Making| {
            making
                .add(1, 20, write(FLAG, 1))
                .add(1, 70, Op::SemPost { semaphore: PERMITS });
            for place in 0..between {
                making.add(2, 10, write(0x10_0000 + 4 * (place % 50), 1));
            }
            let wait = Op::SemWait {
                semaphore: PERMITS,
                attempt: false,
            };
            making.add(2, 71, wait).add(2, 21, write(FLAG, 2));
        };
        assert!(!once_ordered(ordered), "{between}");
    }
}

#[test]
fn what_was_unknown_is_compared_however_much_was_accessed_between() {
    let mut making = Making::new();
    making.add(1, 20, write(FLAG, 1));
    // All of the table of pieces, twice.
    for place in 0..1 << 15 {
        making.add(1, 10, write(0x10_0000 + 4 * place, 1));
    }
    let file = making.add(2, 21, write(FLAG, 2)).file();
    for is_unknown in [false, true] {
        let mut glance = Glance::new();
        glance.begin(&Making::new().work(100).file()).unwrap();
        if is_unknown {
            glance.pairs.insert((20, 21), [0; 2]);
            glance.far.insert((20, 21), 0);
        }
        assert_eq!(glance.is_worthwhile(&file).unwrap(), is_unknown);
    }
}

/// As many looks as there are, and what is said of those that say nothing.
#[test]
fn what_was_not_analyzed_is_told() {
    let mut glance = Glance::new();
    let file = Making::new().work(100).file();
    glance.begin(&file).unwrap();
    assert_eq!(glance.left_open(), None);
    for runs in ["of 1 further run, a look", "of 2 further runs, a look"] {
        assert!(!glance.is_worthwhile(&file).unwrap());
        let words = glance.left_open().unwrap();
        assert!(words.starts_with(runs) && !words.contains("of them"), "{words}");
    }
}

#[test]
fn locks_that_are_taken_in_a_circle_are_worth_an_analysis() {
    let mut making = Making::new();
    for (thread, outer, inner) in [(1, M, N), (2, N, M)] {
        making
            .work(60)
            .add(thread, 60, acquire(outer))
            .add(thread, 61, acquire(inner));
        making
            .add(thread, 62, Op::Release { lock: inner })
            .add(thread, 63, Op::Release { lock: outer });
    }
    assert_eq!(looks(&mut making), [true, false]);
}

/// The looks that say that a trace is worth its analysis, if each has a new pair far apart, and analyses prove nothing.
fn analyses_in_vain(mut is_free: impl FnMut(&mut Glance)) -> Vec<u64> {
    let mut glance = Glance::new();
    glance.begin(&Making::new().work(100).file()).unwrap();
    let mut analyses = Vec::new();
    for run in 1..=64 {
        let mut making = Making::new();
        making.add(1, 100 + 2 * run, write(FLAG, 1)).work(100);
        let file = making.add(2, 101 + 2 * run, write(FLAG, 2)).file();
        is_free(&mut glance);
        if glance.is_worthwhile(&file).unwrap() {
            analyses.push(run);
            let trace = Trace::from_events(file.tables().clone(), &[]);
            glance.note(&trace, &Analysis::default());
        }
    }
    analyses
}

#[test]
fn analyses_for_new_code_become_fewer_if_they_prove_nothing() {
    let digests_cost_nothing = |glance: &mut Glance| glance.digested = 0;
    assert_eq!(analyses_in_vain(digests_cost_nothing), [1, 2, 4, 8, 16, 32, 64]);
}

#[test]
fn after_the_first_looks_digests_of_what_something_orders_wait_until_they_are_little_of_all() {
    let digests_are_large = |glance: &mut Glance| glance.digested += 100_000;
    assert_eq!(analyses_in_vain(digests_are_large), [1, 2, 4, 8]);
    assert_eq!(analyses_in_vain(|_| {}), [1, 2, 4, 8, 16, 32, 64]);
}
