//! A prefix is followed to its end, or left where the run says; then the policy decides, to the program's own end.

use crate::program::Program;
use std::path::Path;
use std::time::Duration;
use trace_format::ProgramEnd;
use witness::check;
use witness::session::{Bounds, Choice, Diverged, Ran, Session, Step};
use witness::session::{Launch, Policy, Settings, plan};
use witness::trace::{AccessKind, EventId, Op, ThreadId, Trace};

const MAIN: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;

pub fn session(source: &str, arguments: &[&str], name: &str) -> Session {
    session_within(Bounds::default(), source, arguments, name)
}

fn session_within(bounds: Bounds, source: &str, arguments: &[&str], name: &str) -> Session {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/session/programs")
        .join(source);
    let program = Program::compile(&format!("session-{name}"), &source, &[]);
    let arguments = arguments.iter().map(Into::into).collect();
    let launch = Launch {
        output: false,
        ..Launch::here(program.file().into(), arguments)
    };
    Session::new(&launch, bounds).unwrap()
}

pub fn random(seed: u64) -> Settings {
    Settings {
        policy: Policy::Random,
        seed,
        ..Settings::fifo()
    }
}

/// The trace of a run, which is an execution.
fn trace(ran: &Ran) -> Trace {
    let trace = Trace::from_file(&ran.trace().unwrap()).unwrap();
    check::validate(&trace).unwrap();
    trace
}

/// So many events of each of these threads in turn, as a trace has them.
pub fn prefix(trace: &Trace, slices: &[(u32, usize)]) -> Vec<Step> {
    let mut done = vec![0; trace.threads()];
    let mut steps = Vec::new();
    for &(thread, events) in slices {
        let from = done[thread as usize];
        let events = trace.program_order(ThreadId(thread)).excerpt(from..from + events);
        done[thread as usize] += events.len();
        steps.extend(events.map(|event| Step::of(trace, event, None)));
    }
    steps
}

/// How many events a thread has before the first one that `is_it`.
fn before(trace: &Trace, thread: u32, is_it: impl Fn(Op) -> bool) -> usize {
    let mut events = trace.program_order(ThreadId(thread));
    events.position(|event| is_it(trace.op(event))).unwrap()
}

pub fn all(trace: &Trace, thread: u32) -> usize {
    trace.program_order(ThreadId(thread)).len()
}

pub fn is_acquire(op: Op) -> bool {
    matches!(op, Op::Acquire { .. })
}

/// The trace begins with just these steps.
fn begins_with(trace: &Trace, steps: &[Step]) {
    for (at, step) in steps.iter().enumerate() {
        let done = Step::of(trace, EventId(at as _), None);
        let without_choice = |step: &Step| (step.thread, step.kind, step.pc);
        assert_eq!(without_choice(&done), without_choice(step), "step {at}");
    }
}

fn policies() -> Vec<Settings> {
    let with = |policy, depth| Settings {
        policy,
        seed: 3,
        depth,
        ..Settings::fifo()
    };
    vec![
        with(Policy::Fifo, 0),
        with(Policy::Random, 0),
        with(Policy::Pct, 3),
        with(Policy::Pos, 0),
        with(Policy::InTurn, 0),
    ]
}

#[test]
fn a_prefix_is_followed_to_its_end_and_the_run_to_its_own() {
    let mut session = session("counter.c", &[], "counter");
    let first = session.run(&[], Settings::fifo()).unwrap();
    assert_eq!((first.end, first.diverged), (ProgramEnd::Exited(0), None));
    let recorded = trace(&first);
    // The second thread takes the lock first; in the middle of its section, the first one begins.
    let joins = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
    let inside = before(&recorded, SECOND, is_acquire) + 2;
    let begun = before(&recorded, FIRST, is_acquire);
    let steps = prefix(&recorded, &[(MAIN, joins), (SECOND, inside), (FIRST, begun)]);
    for then in policies() {
        let ran = session.run(&steps, then).unwrap();
        assert_eq!((ran.end, ran.diverged), (ProgramEnd::Exited(0), None), "{then:?}");
        let forced = trace(&ran);
        begins_with(&forced, &steps);
        // Its own events are all there, after the prefix as well.
        for thread in [MAIN, FIRST, SECOND] {
            assert_eq!(all(&forced, thread), all(&recorded, thread), "{then:?}");
        }
    }
}

#[test]
fn every_length_of_a_prefix_can_be_followed() {
    let mut session = session("counter.c", &[], "lengths");
    let recorded = trace(&session.run(&[], random(5)).unwrap());
    let steps: Vec<Step> = (0..recorded.len())
        .map(|event| Step::of(&recorded, EventId(event as _), None))
        .collect();
    for length in 0..=steps.len() {
        let ran = session.run(&steps[..length], random(length as u64)).unwrap();
        assert_eq!((ran.end, ran.diverged), (ProgramEnd::Exited(0), None), "{length}");
        begins_with(&trace(&ran), &steps[..length]);
    }
}

#[test]
fn the_same_prefix_and_seed_give_the_same_run() {
    let mut session = session("counter.c", &[], "seeds");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let forks = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
    let steps = prefix(&recorded, &[(MAIN, forks)]);
    let mut orders = std::collections::HashSet::new();
    for seed in 0..10 {
        let order = |ran: Ran| -> Vec<ThreadId> {
            let trace = trace(&ran);
            (0..trace.len())
                .map(|event| trace.thread(EventId(event as _)))
                .collect()
        };
        let [one, other] = [(); 2].map(|()| order(session.run(&steps, random(seed)).unwrap()));
        assert_eq!(one, other, "seed {seed}");
        orders.insert(one);
    }
    assert!(orders.len() > 3, "{}", orders.len());
}

#[test]
fn where_the_program_leaves_its_prefix_it_says_so_and_goes_on() {
    let mut session = session("counter.c", &[], "leaves");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let joins = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
    let locks = before(&recorded, FIRST, is_acquire);
    for then in policies() {
        // The thread locks where it is to give back.
        let mut steps = prefix(&recorded, &[(MAIN, joins), (FIRST, locks + 1), (SECOND, 1)]);
        steps[joins + locks].kind = plan::kind::RELEASE;
        let ran = session.run(&steps, then).unwrap();
        let left = trace(&ran);
        let event = (joins + locks) as u64;
        assert_eq!(
            ran.diverged,
            Some(Diverged::Did {
                step: joins + locks,
                event
            })
        );
        let event = EventId(event as _);
        assert!(is_acquire(left.op(event)) && left.thread(event) == ThreadId(FIRST));
        assert_eq!(ran.end, ProgramEnd::Exited(0));
        assert_eq!(left.len(), recorded.len());

        // Both are to have the lock.
        let both = [
            (MAIN, joins),
            (FIRST, locks + 1),
            (SECOND, before(&recorded, SECOND, is_acquire) + 1),
        ];
        let steps = prefix(&recorded, &both);
        let ran = session.run(&steps, then).unwrap();
        assert_eq!(
            ran.diverged,
            Some(Diverged::Waits { step: steps.len() - 1 }),
            "{then:?}"
        );
        assert_eq!((ran.end, trace(&ran).len()), (ProgramEnd::Exited(0), recorded.len()));

        // Nobody has created that one.
        let mut steps = prefix(&recorded, &[(MAIN, 3)]);
        steps.push(Step {
            thread: ThreadId(9),
            ..steps[0]
        });
        let ran = session.run(&steps, then).unwrap();
        assert_eq!(ran.diverged, Some(Diverged::Gone { step: 3 }));
        assert_eq!((ran.end, trace(&ran).len()), (ProgramEnd::Exited(0), recorded.len()));

        // It has no more events than that.
        let mut steps = prefix(&recorded, &[(MAIN, joins), (FIRST, all(&recorded, FIRST))]);
        steps.extend(steps.last().copied());
        let ran = session.run(&steps, then).unwrap();
        assert_eq!(ran.diverged, Some(Diverged::Gone { step: steps.len() - 1 }));
        assert_eq!((ran.end, trace(&ran).len()), (ProgramEnd::Exited(0), recorded.len()));
    }
}

#[test]
fn a_program_that_ends_before_its_prefix_says_where() {
    let mut session = session("counter.c", &[], "ends");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let steps = prefix(
        &recorded,
        &[(MAIN, before(&recorded, MAIN, |op| matches!(op, Op::Join { .. })))],
    );
    let bounded = Bounds {
        max_events: Some(2),
        ..Bounds::default()
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live/session-ends/program");
    let launch = Launch {
        output: false,
        ..Launch::here(program.into(), Vec::new())
    };
    let mut session = Session::new(&launch, bounded).unwrap();
    let ran = session.run(&steps, Settings::fifo()).unwrap();
    assert_eq!(ran.end, ProgramEnd::EventLimit);
    assert!(
        matches!(ran.diverged, Some(Diverged::Ended { step }) if step < steps.len()),
        "{:?}",
        ran.diverged
    );
}

#[test]
fn a_deadlock_can_be_forced() {
    let mut session = session("opposite_locks.c", &[], "deadlock");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let joins = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
    let one = |thread| (thread, before(&recorded, thread, is_acquire) + 1);
    let steps = prefix(&recorded, &[(MAIN, joins), one(FIRST), one(SECOND)]);
    for then in policies() {
        let ran = session.run(&steps, then).unwrap();
        assert_eq!((ran.end, ran.diverged), (ProgramEnd::Deadlock, None), "{then:?}");
        begins_with(&trace(&ran), &steps);
    }
}

#[test]
fn a_lost_update_can_be_forced_and_a_crash() {
    for (arguments, end) in [
        (&[][..], ProgramEnd::Exited(7)),
        (&["abort"][..], ProgramEnd::Signaled(6)),
    ] {
        let mut session = session("lost_update.c", arguments, &format!("lost-{}", arguments.len()));
        let first = session.run(&[], Settings::fifo()).unwrap();
        assert_eq!(first.end, ProgramEnd::Exited(0));
        let recorded = trace(&first);
        let joins = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
        let reads = |thread| {
            let mut events = recorded.program_order(ThreadId(thread));
            let is_read = |event: EventId| Step::of(&recorded, event, None).kind == plan::kind::READ;
            events.rposition(is_read).unwrap() + 1
        };
        let steps = prefix(
            &recorded,
            &[(MAIN, joins), (FIRST, reads(FIRST)), (SECOND, reads(SECOND))],
        );
        for then in policies() {
            let ran = session.run(&steps, then).unwrap();
            assert_eq!((ran.end, ran.diverged), (end, None), "{then:?}");
        }
    }
}

#[test]
fn who_wakes_is_chosen() {
    let mut session = session("who_wakes.c", &[], "wakes");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let is_notify = |op| matches!(op, Op::Notify { .. });
    let until = before(&recorded, MAIN, is_notify);
    let notify = recorded.program_order(ThreadId(MAIN)).at(until);
    let mut steps: Vec<Step> = (0..=notify.0 as usize)
        .map(|event| Step::of(&recorded, EventId(event as _), None))
        .collect();
    for thread in [FIRST, SECOND] {
        // The last step of the prefix.
        steps.last_mut().unwrap().choice = Choice::Wakes(ThreadId(thread));
        let ran = session.run(&steps, Settings::fifo()).unwrap();
        assert_eq!(ran.diverged, None);
        assert_eq!(ran.end, ProgramEnd::Exited(thread as i32));
    }
}

#[test]
fn a_wait_times_out_where_the_prefix_says_so() {
    let mut session = session("who_wakes.c", &["timed"], "timed");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    let waits = |thread| before(&recorded, thread, |op| matches!(op, Op::WaitBegin { .. })) + 1;
    let joins = before(
        &recorded,
        MAIN,
        |op| matches!(op, Op::Fork { child } if child.0 == SECOND),
    ) + 1;
    let mut steps = prefix(
        &recorded,
        &[(MAIN, joins), (SECOND, waits(SECOND)), (FIRST, waits(FIRST))],
    );
    let ends = recorded.program_order(ThreadId(FIRST)).at(waits(FIRST));
    steps.push(Step {
        choice: Choice::TimesOut(true),
        ..Step::of(&recorded, ends, None)
    });
    let ran = session.run(&steps, Settings::fifo()).unwrap();
    assert_eq!((ran.end, ran.diverged), (ProgramEnd::Exited(FIRST as i32), None));
    let forced = trace(&ran);
    let end = forced.op(EventId((steps.len() - 1) as _));
    assert!(
        matches!(
            end,
            Op::WaitEnd {
                outcome: witness::trace::WaitOutcome::TimedOut,
                ..
            }
        ),
        "{end:?}"
    );
}

#[test]
fn a_run_that_does_not_end_is_ended() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/spins.c");
    let program = Program::compile("session-spins", &source, &[]);
    let launch = Launch {
        output: false,
        ..Launch::here(program.file().into(), Vec::new())
    };
    let bounds = Bounds {
        timeout: Some(Duration::from_millis(200)),
        ..Bounds::default()
    };
    let mut session = Session::new(&launch, bounds).unwrap();
    for _ in 0..2 {
        let ran = session.run(&[], Settings::fifo()).unwrap();
        assert_eq!((ran.end, ran.diverged), (ProgramEnd::TimeLimit, None));
        assert!(ran.trace().unwrap().len() > 1000);
    }
}

/// A thread that waits unrecorded for another one, which the prefix keeps back.
#[test]
fn a_step_that_takes_too_long_is_left() {
    for how in ["yields", "sleeps", "spins"] {
        let bounds = Bounds {
            usual: Some(Duration::ZERO),
            ..Bounds::default()
        };
        let mut session = session_within(bounds, "unseen_lock.c", &[how], &format!("unseen-{how}"));
        let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
        let inside = before(&recorded, FIRST, is_acquire) + 1;
        let before_section = before(&recorded, MAIN, is_acquire);
        let steps = prefix(&recorded, &[(MAIN, before_section), (FIRST, inside)]);
        let ran = session.run(&steps, Settings::fifo()).unwrap();
        // The first thread has the lock when it is stopped at its next event. The policy lets it give it back.
        let step = before_section + inside - 1;
        let left = Some(Diverged::Stuck { step });
        assert_eq!((ran.end, ran.diverged), (ProgramEnd::Exited(0), left), "{how}");
        begins_with(&trace(&ran), &steps[..step]);
    }
}

/// The threads of the atomic stores, in order, but for the first thread's.
fn storing(trace: &Trace) -> Vec<u32> {
    let stores = trace.accesses().filter(|access| access.kind == AccessKind::AtomicStore);
    let threads = stores.map(|access| trace.thread(access.event).0);
    threads.filter(|&thread| thread != MAIN).collect()
}

#[test]
fn threads_go_on_in_turn_behind_a_prefix() {
    let mut session = session("alternating.c", &[], "alternating");
    let recorded = trace(&session.run(&[], Settings::fifo()).unwrap());
    assert_eq!(storing(&recorded), [1, 1, 1, 1, 2, 2, 2, 2]);
    let joins = before(&recorded, MAIN, |op| matches!(op, Op::Join { .. }));
    let begins = 1;
    let steps = prefix(&recorded, &[(MAIN, joins), (FIRST, begins), (SECOND, begins)]);
    let mut in_turn = |operations, left| {
        let then = Settings {
            policy: Policy::InTurn,
            seed: left,
            steps: operations,
            ..Settings::fifo()
        };
        storing(&trace(&session.run(&steps, then).unwrap()))
    };
    assert_eq!(in_turn(1, 1), [2, 1, 2, 1, 2, 1, 2, 1]);
    assert_eq!(in_turn(2, 2), [2, 2, 1, 1, 2, 2, 1, 1]);
    assert_eq!(in_turn(2, 1), [2, 1, 1, 2, 2, 1, 1, 2]);
    assert_eq!(in_turn(1, 0), [1, 2, 1, 2, 1, 2, 1, 2]);
}
