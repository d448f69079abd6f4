//! Loops that wait for memory to change: a thread that accesses the same, with the same values, again and again.
//!
//! Such a thread gives way. If all that could run do the same for long, it rests for a while: a program that waits a
//! second for somebody outside would record a hundred million reads meanwhile, of which nothing can be learnt that a
//! few do not say, and to record and to read them takes minutes. But a loop may also count in a register, so rests are
//! short at first, and grow: a million turns of a loop cost none, ten million some seconds.
//!
//! To look at every hook would be expensive. So a thread is looked at now and then, for some hooks in a row, and more
//! often once it was seen to spin: the more often, the more often it found something new meanwhile, as threads do that
//! hand work to each other. What it writes counts by what was there before: who writes the same again finds it there.
//! Not so on its own stack, of which a function that is called anew finds anything.
//!
//! A rest takes no interleaving away and orders nothing: the thread is away, as in a call outside. Nobody rests along a
//! plan, where clocks stand, nor while the process ends, which waits for a number of events.

use crate::host::Host;
use crate::intent::Intent;
use crate::policy::{mixed, some_more};
use crate::scheduler::Scheduler;
use crate::sync::Cell;
use crate::thread::{Scheduled, UNTIL_LOOKED_AT, state};
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::plan::kind;

/// Hooks that are looked at in a row, if the first of them repeat themselves, and the longest loop among them.
const LOOKED_AT: usize = 144;
const FIRST: usize = 64;
const LONGEST: usize = 48;
/// Hooks between two looks at a thread that did spin, and the fewest of one that found something new each time.
const OFTEN: u64 = 1 << 12;
const AT_LEAST: u64 = 1 << 8;
/// By how much a rest is longer after so many looks in vain, and the longest.
const LOOKS: usize = 256;
const LONGER_NANOS: u64 = 1_000_000;
const LONGEST_NANOS: u64 = 16_000_000;

const _: () = assert!(LOOKED_AT >= 3 * LONGEST && FIRST > LONGEST);

/// What is known of the running thread. Used by whoever has the baton, with the scheduler locked or not.
pub(crate) struct Look<T: 'static> {
    thread: Cell<Option<&'static T>>,
    /// What the last hooks in a row did, and how many they are.
    steps: [Cell<u64>; LOOKED_AT],
    count: Cell<usize>,
    /// How many turns have ended because of what was seen, without others between them but such as end by a
    /// yield, or while a thread spins, and without anything new for those that spin.
    in_vain: Cell<usize>,
    /// The turn that ends is one of these.
    ends_so: Cell<bool>,
}

impl<T: Deref<Target = Scheduled>> Look<T> {
    constant! {
        /// At nobody.
        pub fn new() -> Self {
            Self {
                thread: Cell::new(None),
                steps: cells![Cell::new(0); LOOKED_AT],
                count: Cell::new(0),
                in_vain: Cell::new(0),
                ends_so: Cell::new(false),
            }
        }
    }

    /// The thread runs from here on.
    fn begin(&self, thread: &'static T) {
        if self.thread.get().is_none_or(|before| !ptr::eq(before, thread)) {
            self.thread.set(Some(thread));
            self.count.set(0);
            if !self.ends_so.replace(false) {
                self.in_vain.set(0);
            }
        }
    }

    /// The running thread gives way.
    pub(crate) fn yields(&self) {
        self.ends_so.set(true);
    }

    /// One more hook of the running thread; `None` if what it does is no part of waiting. Whether the thread spins.
    fn step(&self, me: &Scheduled, step: Option<u64>) -> bool {
        let count = self.count.get();
        if let Some(step) = step {
            self.steps[count].set(step);
            self.count.set(count + 1);
            if count + 1 < LOOKED_AT && (count + 1 != FIRST || self.turn_of_loop().is_some()) {
                return false;
            }
        }
        let turn = step
            .filter(|_| count + 1 == LOOKED_AT)
            .and_then(|_| self.turn_of_loop());
        self.count.set(0);
        let spins = turn.is_some();
        let finds_news = turn.is_some_and(|turn| me.turn_of_loop.replace(turn) != turn);
        let until_next = match (spins, me.between_looks.get()) {
            (false, before) => (2 * before).min(UNTIL_LOOKED_AT),
            (true, before) if finds_news => (before / 2).clamp(AT_LEAST, OFTEN),
            (true, _) => OFTEN,
        };
        me.between_looks.set(until_next);
        let now = me.ticks.load(Relaxed);
        me.looked_at_from.set(now + until_next + some_more(now));
        me.waits_in_loop.set(spins);
        self.ends_so.set(spins);
        self.in_vain.set(match spins {
            true if finds_news => 1,
            true => self.in_vain.get() + 1,
            false => 0,
        });
        spins
    }

    /// What the last hooks did in one turn of the loop that they are in, wherever it began; `None` if they are in none.
    fn turn_of_loop(&self) -> Option<u64> {
        let steps = &self.steps[..self.count.get()];
        let repeats = |len: &usize| {
            steps[*len..]
                .iter()
                .zip(steps)
                .all(|(later, earlier)| later.get() == earlier.get())
        };
        let len = (1..=LONGEST).find(repeats)?;
        // Unless they are mixed, sums of steps that differ by the same bits are often the same.
        let steps = steps[..len].iter().map(|step| mixed(step.get()));
        Some(steps.fold(0, u64::wrapping_add))
    }

    /// How long to rest.
    fn rest(&self) -> u64 {
        let longer = (self.in_vain.get() / LOOKS) as u64;
        (longer * LONGER_NANOS).min(LONGEST_NANOS)
    }
}

impl<H: Host> Scheduler<H> {
    /// The tick from which on the hooks of a thread are looked at.
    pub(crate) fn looks_from(&self, me: &H::Thread) -> u64 {
        match self.plan.is_followed() || self.host.clocks_stand() {
            true => u64::MAX,
            false => me.looked_at_from.get(),
        }
    }

    /// The thread's turn begins. Within it, it passes at least so many hooks: policies whose turns are short would not
    /// let anybody see that it spins.
    pub(crate) fn begin_look(&self, me: &'static H::Thread) -> u64 {
        self.look.begin(me);
        match me.ticks.load(Relaxed) < self.looks_from(me) {
            true => 0,
            false => (LOOKED_AT - self.look.count.get()) as u64,
        }
    }

    /// Whether the thread, which has the baton and is about to do this, is seen to spin.
    pub(crate) fn spins(&self, me: &'static H::Thread, intent: &Intent) -> bool {
        me.ticks.load(Relaxed) >= self.looks_from(me) && self.look.step(me, self.fingerprint(me, intent))
    }

    /// Tells what the thread is about to do, where, and with which values, from anything else; `None` if that is no
    /// access and no fence, or too long an access.
    fn fingerprint(&self, me: &H::Thread, intent: &Intent) -> Option<u64> {
        let mix = |one: u64, other: u64| (one.rotate_left(5) ^ other).wrapping_mul(0x517c_c1b7_2722_0a95);
        if let Some(pc) = intent.position_of_fence() {
            return Some(mix(0, pc as u64));
        }
        let mut accesses = intent.accesses.iter().filter(|access| access.size > 0).peekable();
        accesses.peek()?;
        accesses.try_fold(0, |all, access| {
            let value = match access.kind {
                kind::USE => 0,
                kind::WRITE if self.host.is_on_stack(me, access.addr) => 0,
                _ => self.host.value(access)?,
            };
            let place = [access.pc as u64, access.addr as u64, access.size as u64];
            Some(place.into_iter().chain([value]).fold(all, mix))
        })
    }

    /// The thread, which spins, gives way: for a while, if all that can run have done nothing else for long.
    pub(crate) fn rest(&self, me: &'static H::Thread, intent: &Intent) {
        let scheduler = self.lock();
        let nanos = scheduler.look.rest();
        let others_do_more =
            scheduler.look.in_vain.get() <= scheduler.ready.len() || scheduler.sleepers().next().is_some();
        if nanos == 0 || others_do_more || scheduler.exiting.thread().is_some() {
            drop(scheduler);
            return self.yield_baton(me, intent, true);
        }
        scheduler.choices.end_turn(me, true);
        scheduler.choices.arrive(me, intent);
        me.state.store(state::OUTSIDE, Relaxed);
        scheduler.outside.set(scheduler.outside.get() + 1);
        scheduler.pass(None);
        drop(scheduler);
        self.host.rest(nanos);
        self.regain(me);
    }
}
