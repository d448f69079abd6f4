//! A world in which nothing happens but what the threads do: no signals, no plan, and no time, unless it passes with
//! every look at the clock.

use crate::host::Host;
use crate::intent::Access;
use crate::thread::{Handled, Scheduled};
use core::ops::Deref;
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use loom::sync::{Condvar, Mutex};
use loom::thread::yield_now;
use recorder_ring::Decision;
use recorder_ring::layout::Progress;

pub struct Thread {
    scheduled: Scheduled,
    /// The kernel's: who looks at the word and falls asleep does so in one step.
    gate: Mutex<()>,
    woken: Condvar,
}

// SAFETY: what the scheduler's rule about its cells says; that it is kept is what is tested.
unsafe impl Sync for Thread {}

impl Thread {
    pub fn new(number: u32) -> &'static Thread {
        let thread = Thread {
            scheduled: Scheduled::new(),
            gate: Mutex::new(()),
            woken: Condvar::new(),
        };
        thread.index.set(number);
        Box::leak(Box::new(thread))
    }
}

impl Deref for Thread {
    type Target = Scheduled;
    fn deref(&self) -> &Scheduled {
        &self.scheduled
    }
}

pub struct World {
    progress: Progress,
    now: AtomicI64,
    /// How much time passes when somebody looks at the clock.
    step: i64,
}

impl World {
    pub fn new() -> World {
        World {
            progress: Progress::default(),
            now: AtomicI64::new(0),
            step: 0,
        }
    }

    /// One in which time passes, may be skipped, and ends sleeps.
    pub fn with_time(step: i64) -> World {
        World { step, ..World::new() }
    }
}

impl Host for World {
    type Thread = Thread;

    fn now(&self) -> i64 {
        self.now.fetch_add(self.step, Relaxed)
    }

    fn real_now(&self) -> i64 {
        0
    }

    fn may_skip_time(&self) -> bool {
        self.step != 0
    }

    fn value(&self, _access: &Access) -> Option<u64> {
        None
    }

    fn is_on_stack(&self, _: &Self::Thread, _: usize) -> bool {
        false
    }

    fn skip_to(&self, moment: i64) -> i64 {
        (moment - self.now.fetch_max(moment, Relaxed)).max(0)
    }

    /// However short a sleep is meant to be, only a wake ends it where no time passes.
    fn park(&self, thread: &Thread, nanos: Option<u64>) -> bool {
        if self.step != 0 && nanos.is_some() {
            yield_now();
            return false;
        }
        let asleep = thread.gate.lock().expect("nobody panics");
        if thread.word.load(Relaxed) == 0 {
            drop(thread.woken.wait(asleep).expect("nobody panics"));
        }
        false
    }

    fn unpark(&self, thread: &Thread) {
        let _gate = thread.gate.lock().expect("nobody panics");
        thread.woken.notify_one();
    }

    fn relax(&self, _tries: u32) {
        yield_now();
    }

    fn rest(&self, _nanos: u64) {
        yield_now();
    }

    fn await_end(&self, _number: i32) {}

    fn events(&self) -> u64 {
        0
    }

    fn switched(&self, _from: Option<&Thread>, _to: &Thread) {}

    fn count_hooks(&self, _thread: &Thread) {}

    fn poll(&self, _me: &'static Thread, _most: u64) {}

    fn ends_at_hook(&self, _me: &Thread) -> bool {
        false
    }

    fn handle_signals(&self, _me: &'static Thread) -> Handled {
        Handled::Nothing
    }

    fn waits_again(&self, _me: &Thread, _deadline: i64) {}

    fn how_far(&self, _holder: &Thread) -> (u64, u64) {
        (0, 0)
    }

    fn time_used(&self, _thread: &Thread) -> i64 {
        0
    }

    fn sleeps(&self, _thread: &Thread) -> bool {
        false
    }

    fn is_gone(&self, _thread: &Thread) -> bool {
        false
    }

    fn interrupt_if_due(&self, _holder: &Thread, _used: i64) -> bool {
        false
    }

    fn barrier_everywhere(&self) -> bool {
        false
    }

    fn settle(&self, _thread: &Thread) {}

    fn stolen(&self, _from: &'static Thread) {}

    fn handles_signals(&self) -> bool {
        false
    }

    fn threads_may_come(&self) -> bool {
        false
    }

    fn may_come(&self, _thread: u32) -> bool {
        false
    }

    fn deadlock(&self) -> ! {
        panic!("every thread waits for another one")
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn is_on_its_way(&self, _thread: &Thread) -> bool {
        false
    }

    fn parks(&self, _thread: &Thread, _accesses: impl Iterator<Item = Access>) -> u32 {
        0
    }

    fn await_decision(&self) -> Decision {
        Decision::First
    }

    fn end(&self) -> ! {
        panic!("there is no plan")
    }
}
