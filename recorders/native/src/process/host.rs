//! The scheduler's world: this process, its clocks, its threads and its trace.

use crate::events::pending;
use crate::libraries;
use crate::platform::{memory, sys};
use crate::runtime::guard::{Above, RuntimeGuard};
use crate::scheduling::baton::Process;
use crate::scheduling::recording::RING;
use crate::scheduling::register;
use crate::scheduling::thread::Thread;
use crate::scheduling::{clocks, fast_path, plan};
use crate::signals::outside::Place;
use crate::signals::{Afterwards, caught_signals, interrupt, notifications};
use crate::{events, pthread, signals};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use recorder_ring::layout::Progress;
use recorder_ring::{Decision, Flag, Record, futex};
use recorder_scheduler::{Access, Handled, Host};

impl Host for Process {
    type Thread = Thread;

    fn now(&self) -> i64 {
        clocks::now(libc::CLOCK_MONOTONIC)
    }

    fn real_now(&self) -> i64 {
        sys::now(libc::CLOCK_MONOTONIC)
    }

    fn may_skip_time(&self) -> bool {
        clocks::may_be_skipped()
    }

    fn clocks_stand(&self) -> bool {
        clocks::stand()
    }

    fn is_on_stack(&self, thread: &Thread, addr: usize) -> bool {
        (thread.stack.get()..thread.stack_end.get()).contains(&addr)
    }

    fn skip_to(&self, moment: i64) -> i64 {
        clocks::skip_to(moment)
    }

    fn park(&self, thread: &Thread, nanos: Option<u64>) -> bool {
        futex::wait(&thread.word, 0, nanos, false)
    }

    fn unpark(&self, thread: &Thread) {
        futex::wake(&thread.word, 1, false);
    }

    fn relax(&self, tries: u32) {
        if tries.is_multiple_of(64) {
            sys::yield_processor();
        }
        core::hint::spin_loop();
    }

    fn rest(&self, nanos: u64) {
        // Nobody wakes it.
        futex::wait(&AtomicU32::new(0), 0, Some(nanos), false);
    }

    fn value(&self, access: &Access) -> Option<u64> {
        let (addr, size) = (access.addr, access.size);
        let is_there = size <= 8 && memory::readable(addr, size) == size;
        is_there.then(|| memory::load(addr, size))
    }

    fn await_end(&self, number: i32) {
        sys::await_end(number);
    }

    fn events(&self) -> u64 {
        // SAFETY: the ring is attached while there are threads to schedule.
        unsafe { RING.events() }
    }

    fn switched(&self, from: Option<&Thread>, to: &Thread) {
        events::switch(from, to);
    }

    fn count_hooks(&self, thread: &Thread) {
        fast_path::count_hooks(thread);
    }

    fn poll(&self, me: &'static Thread, most: u64) {
        if me.deferred.load(Relaxed) != 0 {
            signals::deliver(&RuntimeGuard::of(me), Place::Hook, Afterwards::AsItSays);
        }
        signals::take_those_of_plan(&RuntimeGuard::of(me), Place::Hook, Afterwards::AsItSays);
        pthread::cancel::end_if_wanted(me);
        if self.events() >= most {
            // SAFETY: attached, as in `events`; whatever is published is read.
            unsafe { RING.flag(Flag::Full) };
            sys::die("");
        }
    }

    fn ends_at_hook(&self, me: &Thread) -> bool {
        me.ends_at_hook()
    }

    fn handle_signals(&self, me: &'static Thread) -> Handled {
        signals::deliver(&RuntimeGuard::of(me), Place::Wait, Afterwards::AsBefore)
    }

    fn waits_again(&self, me: &Thread, deadline: i64) {
        if let Some((what, addr, pc)) = me.waits_for.get() {
            pending::waits(me, what, addr, pc, deadline);
        }
    }

    fn how_far(&self, holder: &Thread) -> (u64, u64) {
        fast_path::how_far(holder)
    }

    fn time_used(&self, thread: &Thread) -> i64 {
        interrupt::time_of(thread)
    }

    fn sleeps(&self, thread: &Thread) -> bool {
        sys::sleeps(thread.os_id.load(Relaxed))
    }

    fn is_gone(&self, thread: &Thread) -> bool {
        sys::is_gone(thread.os_id.load(Relaxed))
    }

    fn interrupt_if_due(&self, holder: &Thread, used: i64) -> bool {
        let due = interrupt::is_due(holder, used);
        if due {
            interrupt::send_to(holder);
        }
        due
    }

    fn barrier_everywhere(&self) -> bool {
        sys::barrier_everywhere()
    }

    fn settle(&self, thread: &Thread) {
        pending::settle(thread);
    }

    fn stolen(&self, from: &'static Thread) {
        // SAFETY: attached, as in `events`.
        unsafe { RING.count_steal() };
        if from.deferred.load(SeqCst) != 0 {
            // It waits for the hook behind the call, which only its handler may end.
            interrupt::send_to(from);
        }
    }

    fn handles_signals(&self) -> bool {
        caught_signals::are_there()
    }

    fn threads_may_come(&self) -> bool {
        notifications::may_come()
    }

    fn may_come(&self, thread: u32) -> bool {
        notifications::may_come() && register::next_uncreated() == Some(thread)
    }

    fn deadlock(&self) -> ! {
        // SAFETY: attached, as in `events`.
        unsafe { RING.flag(Flag::Deadlock) };
        sys::die("witness: deadlock: every thread of the program waits for another one; ending it\n")
    }

    fn progress(&self) -> &Progress {
        // SAFETY: attached, as in `events`.
        unsafe { RING.progress() }
    }

    fn is_on_its_way(&self, thread: &Thread) -> bool {
        signals::is_on_its_way(thread)
    }

    fn parks(&self, thread: &Thread, accesses: impl Iterator<Item = Access>) -> u32 {
        for access in accesses {
            let (pc, addr, size) = (access.pc as u64, access.addr as u64, access.size as u64);
            pending::push(Record::Parked { pc, addr, size });
        }
        thread.os_id.load(Relaxed) as u32
    }

    fn await_decision(&self) -> Decision {
        plan::await_decision()
    }

    fn end(&self) -> ! {
        plan::end()
    }
}

impl Above for Process {
    fn adopt() -> &'static Thread {
        pthread::thread::adopt()
    }

    fn thread_ends(guard: &RuntimeGuard) {
        libraries::thread_ends(guard);
    }

    fn note_cancellation(thread: &Thread) {
        pthread::cancel::note(thread);
    }

    fn handle_signals(inside: &RuntimeGuard) {
        signals::deliver(inside, Place::Hook, Afterwards::AsBefore);
        signals::take_those_of_plan(inside, Place::Hook, Afterwards::AsBefore);
    }

    fn has_waited(inside: &RuntimeGuard) {
        signals::take_those_of_plan(inside, Place::Wait, Afterwards::AsBefore);
    }
}
