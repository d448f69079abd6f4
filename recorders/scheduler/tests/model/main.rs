//! The hand-over of the baton, in every interleaving of a few threads, with every value that their loads may see.
//!
//! The scheduler's own files, with `loom`'s atomics and cells in place of the usual ones. Whoever has the baton changes
//! a variable that nothing else protects: `loom` ends the test if two threads do so unordered, or if nobody can go on.
//! Nothing here ends a sleep but a wake: a thread that needed the watcher's clock to be found would sleep for ever.
//!
//! Not here: taking the baton from a sleeping thread (`Scheduler::steal`), which rests on a barrier in other processors
//! that `loom` does not know; plans; deadlines but at the end.

#![allow(dead_code, reason = "the recorder uses more of the scheduler than these tests")]
#![allow(unused_imports, reason = "as above")]
#![allow(missing_docs, reason = "nobody uses a test")]

#[macro_use]
mod sync;
#[path = "../../src/exiting.rs"]
mod exiting;
#[path = "../../src/hand_over.rs"]
mod hand_over;
#[path = "../../src/host.rs"]
mod host;
#[path = "../../src/intent.rs"]
mod intent;
#[path = "../../src/plan_follower.rs"]
mod plan_follower;
#[path = "../../src/policy.rs"]
mod policy;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/scheduler.rs"]
mod scheduler;
#[path = "../../src/spin.rs"]
mod spin;
#[macro_use]
#[path = "../../src/thread.rs"]
mod thread;
#[path = "../../src/turns.rs"]
mod turns;
#[path = "../../src/waits.rs"]
mod waits;
#[path = "../../src/watch.rs"]
mod watch;
mod world;

use crate::host::Host;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread::{self as os, JoinHandle};
use recorder_ring::{Policy, Settings};
use thread::{NEVER, Scheduled, Woken, state};
use world::{Thread, World};

type Scheduler = scheduler::Scheduler<World>;

/// What the program's threads have in common.
struct Program {
    scheduler: Scheduler,
    /// Changed by whoever has the baton.
    counter: UnsafeCell<u32>,
}

// SAFETY: that the counter is used by one thread at a time is what is tested.
unsafe impl Sync for Program {}

impl Program {
    /// A program whose first thread runs.
    fn start(policy: Policy) -> (&'static Program, &'static Thread) {
        Self::start_in(World::new(), policy)
    }

    fn start_in(world: World, policy: Policy) -> (&'static Program, &'static Thread) {
        let program: &'static Program = Box::leak(Box::new(Program {
            scheduler: Scheduler::new(world),
            counter: UnsafeCell::new(0),
        }));
        let first = Thread::new(0);
        let settings = Settings {
            policy,
            seed: 7,
            ..Settings::fifo()
        };
        program.scheduler.start(settings, first);
        (program, first)
    }

    /// Makes a thread, as one that has the baton; what it does ends with its end.
    fn fork(
        &'static self,
        number: u32,
        work: impl FnOnce(&'static Thread) + 'static,
    ) -> (JoinHandle<()>, &'static Thread) {
        let thread = Thread::new(number);
        let handle = os::spawn(move || {
            self.scheduler.await_first_turn(thread);
            work(thread);
            self.scheduler.retire(thread, 0);
        });
        self.scheduler.admit(thread);
        (handle, thread)
    }

    /// Waits for the end of a thread, and gives the baton away for good.
    fn end(&self, me: &'static Thread, others: impl IntoIterator<Item = (JoinHandle<()>, &'static Thread)>) {
        for (handle, thread) in others {
            while thread.state.load(core::sync::atomic::Ordering::Relaxed) != state::ENDED {
                self.scheduler.block(me, core::ptr::from_ref(thread).addr(), NEVER);
            }
            handle.join().expect("it does not panic");
        }
    }

    /// What a thread does that has the baton.
    fn touch(&self) {
        // SAFETY: as for `Program`.
        self.counter.with_mut(|counter| unsafe { *counter += 1 });
    }

    fn count(&self) -> u32 {
        // SAFETY: as for `Program`.
        self.counter.with(|counter| unsafe { *counter })
    }
}

/// Tries all interleavings with at most so many preemptions, or all that there are.
fn model(preemptions: Option<usize>, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 10_000;
    builder.check(test);
}

/// Calls outside of the program: each thread comes back and finds the baton free, or waits for it.
#[test]
fn threads_that_leave_and_come_back_run_one_at_a_time() {
    model(Some(2), || {
        let (program, first) = Program::start(Policy::Fifo);
        let away = |me| {
            program.touch();
            program.scheduler.leave(me);
            program.scheduler.regain(me);
            program.touch();
        };
        let other = program.fork(1, away);
        away(first);
        program.end(first, [other]);
        assert_eq!(program.count(), 4);
    });
}

/// A turn ends: the baton goes to the one that has waited longest, and comes back.
#[test]
fn turns_go_round() {
    model(Some(2), || {
        let (program, first) = Program::start(Policy::Fifo);
        let turns = |me| {
            program.touch();
            program.scheduler.pass_on(me);
            program.touch();
        };
        let other = program.fork(1, turns);
        turns(first);
        program.end(first, [other]);
        assert_eq!(program.count(), 4);
    });
}

/// No wake is lost, whichever of the two comes first: the one that waits looks again.
#[test]
fn a_thread_that_waits_is_woken() {
    for policy in [Policy::Fifo, Policy::Random, Policy::Pct] {
        let test = move || {
            const KEY: usize = 64;
            let (program, first) = Program::start(policy);
            let other = program.fork(1, |me| {
                program.scheduler.pass_on(me);
                program.touch();
                program.scheduler.wake(KEY, 1);
            });
            while program.count() == 0 {
                assert_eq!(program.scheduler.block(first, KEY, NEVER), Woken::Thread);
            }
            program.end(first, [other]);
        };
        let mut builder = Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(test);
    }
}

/// One is away when the other waits for it: nobody has the baton meanwhile, and whoever comes back takes it.
#[test]
fn a_free_baton_is_found() {
    model(Some(2), || {
        const KEY: usize = 64;
        let (program, first) = Program::start(Policy::Fifo);
        let other = program.fork(1, |me| {
            program.scheduler.leave(me);
            program.scheduler.regain(me);
            program.touch();
            program.scheduler.wake(KEY, usize::MAX);
        });
        while program.count() == 0 {
            program.scheduler.block(first, KEY, NEVER);
        }
        program.end(first, [other]);
    });
}

/// One looks again and again for what only another process could give, with time skipped each time. The other ends the
/// process: it goes on when its patience is over, however much later than the scheduler the watcher looks at the clock.
#[test]
fn a_thread_that_looks_again_does_not_keep_the_process() {
    // What is left of the patience when it does not suffice any more depends on how time passes.
    for milliseconds in [20, 25, 30, 35, 40, 45] {
        model(Some(1), move || {
            const KEY: usize = 64;
            let step = milliseconds * 1_000_000;
            let (program, first) = Program::start_in(World::with_time(step), Policy::Pos);
            let other = program.fork(1, move |me| {
                while program.count() == 0 {
                    let soon = program.scheduler.host.now() + 15 * step;
                    program.scheduler.block(me, KEY, soon);
                }
            });
            program.scheduler.let_others_finish(first);
            program.touch();
            program.scheduler.wake(KEY, 1);
            program.end(first, [other]);
        });
    }
}
