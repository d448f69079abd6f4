//! Small traces on which the meaning of a warning is plain.

use super::*;
use crate::trace::{StackId, Tables, ThreadId};
use crate::verdict::{Refutation, Verdict};
use crate::warnings::{Frame, Stack};
use trace_format::{Event, MemRange, MemoryOrder, Op, SourceInfo, StackNode, VariableInfo};

/// Each position: number, function, file, line.
const PLACES: [(u64, &str, &str, u32); 8] = [
    (1, "put", "/src/one/util.c", 10),
    (2, "put", "/src/two/util.c", 10),
    (3, "get", "/src/main.c", 20),
    (4, "first", "/src/main.c", 30),
    (5, "second", "/src/main.c", 40),
    (6, "moved", "/src/main.c", 50),
    (7, "moved", "/src/main.c", 54),
    (8, "flag", "/src/main.c", 60),
];

fn tables() -> Tables {
    let call = |call_site| StackNode {
        parent: StackId::EMPTY,
        call_site,
    };
    Tables {
        sources: PLACES
            .iter()
            .map(|&(pc, function, file, line)| SourceInfo {
                pc,
                function: Some(function.to_owned()),
                file: file.to_owned(),
                line,
            })
            .collect(),
        stacks: vec![call(4), call(5)],
        ..Tables::default()
    }
}

fn event(thread: u32, pc: u64, stack: u32, op: Op) -> Event {
    Event {
        thread: ThreadId(thread),
        pc,
        stack: StackId(stack),
        op,
    }
}

fn write(thread: u32, pc: u64, addr: u64) -> Event {
    let mem = MemRange { addr, size: 4 };
    event(thread, pc, 0, Op::Write { mem, value: 0 })
}

fn read(thread: u32, pc: u64, stack: u32, addr: u64) -> Event {
    let mem = MemRange { addr, size: 4 };
    event(thread, pc, stack, Op::Read { mem, value: 0 })
}

/// Threads 0 and 1, which nothing orders but a fork of 1 after the first events.
fn trace(before: &[Event], after: &[Event]) -> Trace {
    let fork = event(0, 3, 0, Op::Fork { child: ThreadId(1) });
    let begin = event(1, 3, 0, Op::Begin);
    let events: Vec<Event> = before
        .iter()
        .cloned()
        .chain([fork, begin])
        .chain(after.iter().cloned())
        .collect();
    Trace::from_events(tables(), &events)
}

fn side(frames: &[(&str, &str, u32)], writes: bool) -> Side {
    let frames = frames.iter().map(|&(function, file, line)| Frame {
        function: (!function.is_empty()).then(|| function.to_owned()),
        file: Some(file.to_owned()),
        line: Some(line),
        ..Frame::default()
    });
    Side {
        writes: Some(writes),
        stack: Stack::Frames(frames.collect()),
        ..Side::default()
    }
}

fn ask(trace: &Trace, a: Side, b: Side) -> (Answer, Analysis) {
    let question = Question {
        about: About::Race,
        sides: vec![Sought::Described(a), Sought::Described(b)],
        variable: None,
    };
    let symbols = Symbols::new(trace.tables());
    let Confirmation { analysis, mut answers } = confirm(trace, &symbols, &[question], &Options::default());
    (answers.remove(0), analysis)
}

fn verdict(answer: &Answer, analysis: &Analysis) -> &'static str {
    match &answer.finding {
        Finding::Pairs(pairs) => match &analysis.pairs[pairs[0]].verdict {
            Verdict::Witnessed(_) => "witnessed",
            Verdict::Refuted(Refutation::MustHappenBefore(_)) => "ordered",
            Verdict::Refuted(_) => "refuted",
            Verdict::NotInTrace(_) => "not in this trace",
            Verdict::Unknown(_) => "undecided",
        },
        Finding::BothAtomic(..) => "both atomic",
        Finding::Ended(_) | Finding::Deadlocks(_) | Finding::Attempt(_) | Finding::Unknown(_) => "unknown",
    }
}

#[test]
fn files_of_one_name_are_ambiguous_if_their_verdicts_differ() {
    // one/util.c races with get, two/util.c is ordered before it.
    let differ = trace(
        &[write(0, 2, 16)],
        &[write(0, 1, 32), read(1, 3, 0, 32), read(1, 3, 0, 16)],
    );
    let util = || side(&[("put", "util.c", 10)], true);
    let get = || side(&[("get", "main.c", 20)], false);
    let (answer, _) = ask(&differ, util(), get());
    let Finding::Unknown(Unmatched::Ambiguous(choices)) = &answer.finding else {
        panic!("{answer:?}");
    };
    assert_eq!(choices.len(), 2);
    // A longer path says which.
    let (answer, analysis) = ask(&differ, side(&[("put", "/elsewhere/one/util.c", 10)], true), get());
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    assert!(!answer.is_guess());
    let (answer, analysis) = ask(&differ, side(&[("put", "two/util.c", 10)], true), get());
    assert_eq!(verdict(&answer, &analysis), "ordered");
    // Both race: it does not matter which is meant.
    let same = trace(
        &[],
        &[write(0, 2, 16), write(0, 1, 32), read(1, 3, 0, 16), read(1, 3, 0, 32)],
    );
    let (answer, analysis) = ask(&same, util(), get());
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    // Only one shares memory with the other side: that is the one meant.
    let apart = trace(&[write(0, 2, 16)], &[write(0, 1, 32), read(1, 3, 0, 32)]);
    let (answer, analysis) = ask(&apart, util(), get());
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    assert_eq!(
        answer.places[0].as_ref().map(|place| place.at.as_str()),
        Some("/src/one/util.c:10")
    );
}

#[test]
fn the_calls_tell_accesses_at_one_line_apart() {
    // The read through `first` is ordered after the write, the one through `second` races with another.
    let trace = trace(
        &[write(0, 8, 16)],
        &[read(1, 3, 1, 16), write(0, 8, 32), read(1, 3, 2, 32)],
    );
    let flag = || side(&[("flag", "main.c", 60)], true);
    let through = |call, line| side(&[("get", "main.c", 20), (call, "main.c", line)], false);
    let (answer, analysis) = ask(&trace, flag(), through("first", 30));
    assert_eq!(verdict(&answer, &analysis), "ordered");
    let (answer, analysis) = ask(&trace, flag(), through("second", 40));
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    let (answer, analysis) = ask(&trace, flag(), through("", 0));
    assert_eq!(verdict(&answer, &analysis), "witnessed", "any of them may be meant");
}

#[test]
fn drift_is_a_guess_within_the_function() {
    let trace = trace(
        &[],
        &[write(0, 6, 16), read(0, 7, 0, 16), read(1, 3, 0, 16), write(1, 3, 16)],
    );
    let get = || side(&[("get", "main.c", 20)], false);
    let (answer, analysis) = ask(&trace, side(&[("moved", "main.c", 51)], true), get());
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    assert!(answer.is_guess());
    assert_eq!(
        answer.places[0].as_ref().map(|place| place.how),
        Some(How::Drift { by: -1 })
    );
    // The kind chooses between two lines.
    let (answer, _) = ask(&trace, side(&[("moved", "main.c", 51)], false), get());
    assert_eq!(
        answer.places[0].as_ref().map(|place| place.how),
        Some(How::Drift { by: 3 })
    );
    for (function, line) in [("moved", 120), ("other", 51), ("", 56)] {
        let (answer, _) = ask(&trace, side(&[(function, "main.c", line)], true), get());
        let expected = Finding::Unknown(Unmatched::NotInTrace(vec![true, false]));
        assert_eq!(answer.finding, expected, "{function}:{line}");
    }
}

#[test]
fn why_two_places_are_no_pair() {
    let trace = trace(
        &[],
        &[write(0, 6, 16), read(0, 7, 0, 16), read(1, 3, 0, 16), write(1, 8, 32)],
    );
    let at = |function, line, writes| side(&[(function, "main.c", line)], writes);
    let why = |a, b| ask(&trace, a, b).0.finding;
    let unknown = Finding::Unknown;
    assert_eq!(
        why(at("moved", 50, true), at("moved", 54, false)),
        unknown(Unmatched::OneThread(ThreadId(0)))
    );
    assert_eq!(
        why(at("moved", 54, false), at("get", 20, false)),
        unknown(Unmatched::OnlyReads)
    );
    assert_eq!(
        why(at("moved", 50, true), at("flag", 60, true)),
        unknown(Unmatched::NoSharedMemory)
    );
    assert_eq!(why(Side::default(), Side::default()), unknown(Unmatched::NotGiven));
    assert_eq!(
        why(at("gone", 9, true), Side::default()),
        unknown(Unmatched::NotInTrace(vec![true, false]))
    );
}

#[test]
fn two_atomic_accesses_are_refuted_also_if_the_tool_does_not_know() {
    let mem = MemRange { addr: 16, size: 4 };
    let order = MemoryOrder::SeqCst;
    let store = event(0, 8, 0, Op::AtomicStore { mem, order, value: 1 });
    let load = event(1, 3, 0, Op::AtomicLoad { mem, order, value: 1 });
    let trace = trace(&[], &[store, load]);
    let (answer, analysis) = ask(
        &trace,
        side(&[("flag", "main.c", 60)], true),
        side(&[("get", "main.c", 20)], false),
    );
    assert_eq!(verdict(&answer, &analysis), "both atomic");
}

#[test]
fn without_the_other_side_any_partner_will_do() {
    let trace = trace(&[write(0, 8, 16)], &[read(1, 3, 0, 16), write(0, 6, 16)]);
    let (answer, analysis) = ask(&trace, side(&[("get", "main.c", 20)], false), Side::default());
    assert_eq!(verdict(&answer, &analysis), "witnessed");
    assert_eq!(analysis.pairs.len(), 2, "both writes are partners");
}

#[test]
fn a_variable_that_one_side_does_not_touch_tells_nothing() {
    // The write begins before the variable that the read is of.
    let mem = MemRange { addr: 14, size: 4 };
    let mut tables = tables();
    tables.variables.push(VariableInfo {
        addr: 16,
        size: 4,
        name: "total".to_owned(),
    });
    let events = [
        event(0, 3, 0, Op::Fork { child: ThreadId(1) }),
        event(1, 3, 0, Op::Begin),
        event(0, 8, 0, Op::Write { mem, value: 0 }),
        read(1, 3, 0, 16),
    ];
    let trace = Trace::from_events(tables, &events);
    let question = Question {
        about: About::Race,
        sides: vec![
            Sought::Described(side(&[("flag", "main.c", 60)], true)),
            Sought::Described(side(&[("get", "main.c", 20)], false)),
        ],
        variable: Some("total".to_owned()),
    };
    let symbols = Symbols::new(trace.tables());
    let Confirmation { analysis, answers } = confirm(&trace, &symbols, &[question], &Options::default());
    assert_eq!(verdict(&answers[0], &analysis), "witnessed");
}

/// Which of two traces' answers to one warning counts.
fn better(runs: [(&Trace, &Analysis, &Answer); 2]) -> usize {
    let warning = Warning {
        report: String::new(),
        line: 1,
        format: crate::warnings::Format::Tsan,
        title: "data race".to_owned(),
        kind: Kind::Race,
        sides: vec![Side::default(); 2],
        location: None,
        stacks: Vec::new(),
    };
    let symbols = runs.map(|(trace, ..)| Symbols::new(trace.tables()));
    let noise = crate::report::Noise::default();
    let run = |at: usize| Run {
        findings: crate::report::Findings {
            trace: runs[at].0,
            checker: None,
            path: std::path::Path::new(""),
            analysis: runs[at].1,
            symbols: &symbols[at],
            options: crate::results::Options {
                find: crate::verdict::Find::default(),
                regions: crate::verdict::Regions::default(),
                instances: None,
                explanations: None,
                budget: 0,
                solver: crate::analyze::Solver::Both,
                model: crate::encode::Form::Prefix,
                max_pairs: 0,
                first_events: None,
            },
            folder: None,
            noise: &noise,
            root: &crate::report::NO_ROOT,
            attached_warnings: &[],
            exploration: None,
        },
        answers: std::slice::from_ref(runs[at].2),
    };
    let (warnings, runs) = ([warning], [run(0), run(1)]);
    let outcome = Outcome {
        warnings: &warnings,
        runs: &runs,
        suppressed: &Suppressed::default(),
        exploration: None,
    };
    let best = outcome.confirmed().next().map(|confirmed| confirmed.run);
    best.expect("an answer")
}

#[test]
fn of_several_traces_the_one_that_says_most_counts() {
    let racing = trace(&[], &[write(0, 6, 16), read(1, 3, 0, 16)]);
    let ordered = trace(&[write(0, 6, 16)], &[read(1, 3, 0, 16)]);
    let sides = |line| {
        (
            side(&[("moved", "main.c", line)], true),
            side(&[("get", "main.c", 20)], false),
        )
    };
    let ask = |trace: &Trace, line| {
        let (write, read) = sides(line);
        ask(trace, write, read)
    };
    let (witnessed, refuted, guessed) = (ask(&racing, 50), ask(&ordered, 50), ask(&ordered, 51));
    let (missing, guessed_race) = (ask(&ordered, 90), ask(&racing, 51));
    let related = (
        Answer {
            related_race: Some(0),
            ..refuted.0.clone()
        },
        refuted.1.clone(),
    );
    // From one that says more to one that says less.
    for (more, less) in [
        ((&racing, &witnessed), (&ordered, &refuted)),
        ((&racing, &witnessed), (&racing, &guessed_race)),
        ((&racing, &guessed_race), (&ordered, &refuted)),
        ((&ordered, &related), (&ordered, &refuted)),
        ((&ordered, &related), (&ordered, &guessed)),
        ((&ordered, &refuted), (&ordered, &guessed)),
        ((&ordered, &guessed), (&ordered, &missing)),
    ] {
        let run = |(trace, (answer, analysis)): (_, &'_ (Answer, Analysis))| (trace, answer.clone(), analysis.clone());
        let (more, less): ((&Trace, _, _), (&Trace, _, _)) = (run(more), run(less));
        let (more, less) = ((more.0, &more.2, &more.1), (less.0, &less.2, &less.1));
        assert_eq!(better([more, less]), 0, "{:?} {:?}", more.2, less.2);
        assert_eq!(better([less, more]), 1, "{:?} {:?}", more.2, less.2);
    }
    // Of two that leave it open, the one that has the places.
    let open = (
        Answer {
            finding: Finding::Pairs(vec![0]),
            ..refuted.0.clone()
        },
        {
            let mut analysis = refuted.1.clone();
            analysis.pairs[0].verdict = Verdict::Unknown(crate::verdict::Unknown::Budget);
            analysis
        },
    );
    assert_eq!(
        better([(&ordered, &missing.1, &missing.0), (&ordered, &open.1, &open.0)]),
        1
    );
}

#[test]
fn an_acquisition_is_named_by_the_programs_own_line() {
    let acquisition = |frames: &[(&str, &str, u32)]| Side {
        acquires: true,
        ..side(frames, false)
    };
    let lock = (
        "pthread_mutex_lock",
        "../../../../src/libsanitizer/tsan/tsan_interceptors.cpp",
        1324,
    );
    let wrapper = ("__gthread_mutex_lock(pthread_mutex_t*)", "gthr-default.h", 749);
    let method = ("std::mutex::lock()", "/usr/include/c++/12/bits/std_mutex.h", 100);
    let own = ("transfer", "/src/main.cc", 7);
    assert_eq!(
        described(&acquisition(&[lock, wrapper, method, own])),
        "acquisition of a lock: transfer /src/main.cc:7, in pthread_mutex_lock"
    );
    // An access in a header is where it is.
    assert_eq!(
        described(&side(&[method, own], false)),
        "read: std::mutex::lock() /usr/include/c++/12/bits/std_mutex.h:100"
    );
    // Where no frame is the program's, the report gives no place.
    let warning = |frames: &[&[(&str, &str, u32)]]| Warning {
        sides: frames.iter().map(|frames| acquisition(frames)).collect(),
        report: String::new(),
        line: 1,
        format: crate::warnings::Format::Tsan,
        title: String::new(),
        kind: Kind::LockOrder,
        location: None,
        stacks: Vec::new(),
    };
    assert_eq!(Question::of(&warning(&[&[lock], &[lock]])).sides.len(), 0);
    assert_eq!(Question::of(&warning(&[&[lock, own], &[lock]])).sides.len(), 1);
}
