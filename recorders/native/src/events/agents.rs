//! Order through what acts for the program without being one of its threads: processes that came of this one, and what the
//! system does later on, when a timer has run down, say. What a process sends, or that it ends, may be its answer to
//! anything that it was told before, through whichever channel, or by a signal; a timer's signal or thread comes of its
//! being set. What happens in between leaves nothing in this trace.
//!
//! So each time a thread tells such an agent something is a variable of the runtime's own. Who hears from it looks at the
//! last one of each thread, of those that were about what it hears of, if that is known. Between those who tell, or hear,
//! there is no order.

use crate::events::images;
use crate::events::variable::{find_set, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::slot;
use core::cell::UnsafeCell;
use std::vec::Vec;

/// What acts for the program.
pub struct Agents {
    told: UnsafeCell<Vec<Told>>,
    /// What tells their variables from those of others.
    bit: u64,
}

/// The last time that a thread told them something about a thing.
#[derive(Clone, Copy)]
struct Told {
    thread: u32,
    about: u64,
    /// How often it had told them something.
    number: u64,
}

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Agents {}

/// Processes that came of this one.
pub static CHILDREN: Agents = Agents::with(0);

/// The system: its timers, and what it tells of messages and of input and output.
pub static SYSTEM: Agents = Agents::with(1 << 3);

/// The calling thread's number, where order matters.
fn caller() -> Option<u32> {
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    let thread = unsafe { slot().as_ref() }.filter(|_| images::are_taken())?;
    Some(thread.index.get())
}

impl Agents {
    const fn with(bit: u64) -> Agents {
        Agents {
            told: UnsafeCell::new(Vec::new()),
            bit,
        }
    }

    #[expect(clippy::mut_from_ref, reason = "nothing that is called meanwhile comes back here")]
    fn told(&self) -> &mut Vec<Told> {
        // SAFETY: only the thread with the baton gets here, and none keeps it.
        unsafe { &mut *self.told.get() }
    }

    /// The variable of one time: among those of channels, of which the call that tells is one.
    fn variable(&self, told: Told) -> u64 {
        NOBODYS | 1 << 61 | 1 << 59 | u64::from(told.thread) << 36 | told.number << 4 | self.bit
    }

    /// The calling thread is about to tell them something.
    pub fn tells(&self, pc: usize) {
        self.tells_about(0, pc);
    }

    /// The same about this.
    pub fn tells_about(&self, about: u64, pc: usize) {
        let Some(thread) = caller() else {
            return;
        };
        let told = self.told();
        let own = told.iter().filter(|time| time.thread == thread);
        let number = 1 + own.map(|time| time.number).max().unwrap_or(0);
        let now = Told { thread, about, number };
        match told
            .iter_mut()
            .find(|time| (time.thread, time.about) == (thread, about))
        {
            Some(last) => *last = now,
            None => told.push(now),
        }
        set(self.variable(now), pc);
    }

    /// It has heard something that one of them has done.
    pub fn hears(&self, pc: usize) {
        self.hears_if(|_| true, pc);
    }

    /// The same of what was about this.
    pub fn hears_about(&self, about: u64, pc: usize) {
        self.hears_if(|other| other == about, pc);
    }

    fn hears_if(&self, is_it: impl Fn(u64) -> bool, pc: usize) {
        let Some(me) = caller() else {
            return;
        };
        let others = self.told().iter().filter(|time| time.thread != me && is_it(time.about));
        for &time in others {
            find_set(self.variable(time), pc);
        }
    }
}

/// In a forked child: what its parent told others is not in its trace.
pub fn start_over() {
    for agents in [&CHILDREN, &SYSTEM] {
        agents.told().clear();
    }
}
