//! Who waits for what, and who gets the baton next. All of it is used with the scheduler locked.

use crate::exiting::Exiting;
use crate::hand_over::NOBODY;
use crate::host::Host;
use crate::intent::Intent;
use crate::plan_follower::Plan;
use crate::policy::Choices;
use crate::queue::Queue;
use crate::spin::Look;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Cell, MAX_THREADS};
use crate::thread::{NEVER, Woken, state};
use crate::waits::ASLEEP;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Who waits for what.
pub struct Scheduler<H: Host> {
    /// The thread that runs; null if none can. Changed only with the scheduler locked.
    pub(crate) holder: AtomicPtr<H::Thread>,
    /// The holder, as long as all that its next hook has to do is to record: it is outside of the runtime, its turn is
    /// not over, no signal waits, and there is no plan, under which every turn is over at once. Else [`NOBODY`]. The
    /// holder says so when it leaves the runtime, and takes it back when it enters; anybody may take it back.
    pub(crate) fast_path_owner: AtomicPtr<H::Thread>,
    pub(crate) locked: AtomicBool,
    /// Threads that could run, longest wait first.
    pub(crate) ready: Queue<H::Thread>,
    /// Threads that wait for another one or for their deadline, longest wait first.
    pub(crate) blocked: Queue<H::Thread>,
    /// Threads that would be among them, but run a signal handler meanwhile: once for each of their waits, innermost
    /// last.
    pub(crate) interrupted: Queue<H::Thread>,
    /// How many of those that are blocked [`may_wake`](crate::Scheduled::may_wake) at any point.
    pub(crate) sleepers: Cell<usize>,
    /// How often the running thread, alone, gave way to nobody.
    yields_in_vain: Cell<u32>,
    /// Number of threads in calls that the runtime does not model.
    pub(crate) outside: Cell<usize>,
    /// How many of them the kernel has ended: they do not come back, nor say so.
    pub(crate) gone: Cell<usize>,
    /// How often threads that slept were woken, as nobody else could go on, since somebody came back from outside.
    pub(crate) woken_in_vain: Cell<u32>,
    pub(crate) watcher: Cell<Option<&'static H::Thread>>,
    /// Those that are to be woken when the scheduler is unlocked.
    roused: [Cell<Option<&'static H::Thread>>; 2],
    /// The kernel's number of a thread that is over, and whose end nobody has waited for; or 0. The C library still
    /// gives its memory back, and what the next thread gets of it must not depend on who is faster.
    pub(crate) leaving: Cell<i32>,
    /// How many events the trace shall have.
    pub(crate) most: AtomicU64,
    /// The thread that runs, as far as the trace knows.
    pub(crate) last_recorded: Cell<Option<&'static H::Thread>>,
    /// Who is about to end the process.
    pub(crate) exiting: Exiting<H::Thread>,
    pub(crate) choices: Choices,
    /// Whether the thread that runs waits in a loop.
    pub(crate) look: Look<H::Thread>,
    /// What the run follows, if it follows a plan.
    pub(crate) plan: Plan<H::Thread>,
    pub(crate) host: H,
}

// SAFETY: the cells are used with the lock held, which orders their users; those of `plan` with the lock or the baton,
// and whoever hands that on has the lock. Threads are shared by all, and so is the host.
unsafe impl<H: Host + Sync> Sync for Scheduler<H> {}

/// The scheduler, locked; unlocks when dropped.
pub struct Locked<'a, H: Host>(pub(crate) &'a Scheduler<H>);

impl<H: Host> core::ops::Deref for Locked<'_, H> {
    type Target = Scheduler<H>;
    fn deref(&self) -> &Scheduler<H> {
        self.0
    }
}

impl<H: Host> Drop for Locked<'_, H> {
    fn drop(&mut self) {
        let roused = self.0.roused.each_ref().map(Cell::take);
        self.0.locked.store(false, Release);
        // Only now: it would take the lock at once.
        for thread in roused.into_iter().flatten() {
            self.0.host.unpark(thread);
        }
    }
}

impl<H: Host> Scheduler<H> {
    constant! {
        /// One without threads.
        pub fn new(host: H) -> Self {
            Self {
                holder: AtomicPtr::new(ptr::null_mut()),
                fast_path_owner: AtomicPtr::new(NOBODY.cast()),
                locked: AtomicBool::new(false),
                ready: Queue::new(),
                blocked: Queue::new(),
                interrupted: Queue::new(),
                sleepers: Cell::new(0),
                yields_in_vain: Cell::new(0),
                outside: Cell::new(0),
                gone: Cell::new(0),
                woken_in_vain: Cell::new(0),
                watcher: Cell::new(None),
                roused: [Cell::new(None), Cell::new(None)],
                leaving: Cell::new(0),
                most: AtomicU64::new(u64::MAX),
                last_recorded: Cell::new(None),
                exiting: Exiting::new(),
                choices: Choices::new(),
                look: Look::new(),
                plan: Plan::new(),
                host,
            }
        }
    }

    /// Locks it. Its holder never blocks, but may lose the processor.
    pub fn lock(&self) -> Locked<'_, H> {
        let mut tries = 0_u32;
        while self
            .locked
            .compare_exchange_weak(false, true, Acquire, Relaxed)
            .is_err()
        {
            tries += 1;
            self.host.relax(tries);
        }
        Locked(self)
    }

    /// The thread that has the baton.
    #[inline(always)]
    pub fn holder(&self) -> Option<&'static H::Thread> {
        // SAFETY: null or a thread, which lives for ever.
        unsafe { self.holder.load(Relaxed).as_ref() }
    }

    /// Whether the thread has the baton.
    #[inline(always)]
    pub fn is_holder(&self, thread: &H::Thread) -> bool {
        ptr::eq(self.holder.load(Relaxed), thread)
    }

    /// From here on another thread has the baton, or none.
    pub(crate) fn set_holder(&self, thread: Option<&'static H::Thread>) {
        self.revoke_fast_path();
        let thread = thread.map_or(ptr::null(), ptr::from_ref);
        self.holder.store(thread.cast_mut(), SeqCst);
    }

    /// Makes a thread ready whose state was another.
    pub(crate) fn make_ready(&self, thread: &'static H::Thread) {
        thread.state.store(state::READY, Relaxed);
        self.ready.push(thread);
        let running = self.holder().filter(|running| !ptr::eq(*running, thread));
        if let Some(running) = running.filter(|running| self.choices.precedes(thread, running)) {
            self.end_turn_by(running, 0);
        }
    }

    /// Takes the thread that runs next out of the queue.
    fn next(&self) -> Option<&'static H::Thread> {
        if self.plan.is_followed() {
            let next = self.next_along_plan();
            if next.is_some() || self.plan.is_followed() {
                return next;
            }
        }
        if self.plan.is_ending() {
            self.leave_plan();
        }
        if let Some(exiting) = self.exits_now() {
            return Some(exiting);
        }
        if let Some(first) = self.plan.next_after_race()
            && let Some(at) = self.ready.position(first)
        {
            return Some(self.ready.remove(at));
        }
        let ready = self.ready.len();
        let most = if self.time_goes_on_by_itself() { 0 } else { usize::MAX };
        let sleepers = self.sleepers().take(most);
        let next = match self
            .choices
            .pick(self.ready.iter().chain(sleepers).map(|thread| &**thread))
        {
            Some(at) if at < ready => self.ready.remove(at),
            Some(at) => {
                let sleeper = self.sleepers().nth(at - ready)?;
                let in_vain = self.woken_in_vain.get();
                self.woken_in_vain.set(in_vain + u32::from(self.waits_for_outside()));
                self.wake_at_its_deadline(sleeper)?
            }
            None => self.wake_at_its_deadline(self.next_deadline()?)?,
        };
        self.choices.perform(next, self.ready.iter().map(|thread| &**thread));
        Some(next)
    }

    /// Gives the baton to the next thread, or to nobody. `from` is the caller if it will wait now.
    pub(crate) fn pass(&self, from: Option<&'static H::Thread>) {
        match self.next() {
            Some(next) => self.hand(next, from),
            None => {
                self.set_holder(None);
                self.keep_a_watcher(from);
            }
        }
    }

    /// Gives the baton to `next`, which is in no queue.
    pub(crate) fn hand(&self, next: &'static H::Thread, from: Option<&'static H::Thread>) {
        next.state.store(state::RUNNING, Relaxed);
        self.yields_in_vain.set(0);
        self.set_holder(Some(next));
        if self.is_watcher(next) {
            self.watcher.set(None);
        }
        self.keep_a_watcher(from);
        if from.is_none_or(|from| !ptr::eq(from, next)) {
            self.rouse(next);
        }
    }

    /// Makes a waiting thread look around, once the scheduler is unlocked.
    fn rouse(&self, thread: &'static H::Thread) {
        thread.word.store(1, Release);
        match self.roused.iter().find(|place| place.get().is_none()) {
            Some(place) => place.set(Some(thread)),
            None => self.host.unpark(thread),
        }
    }

    pub(crate) fn is_watcher(&self, thread: &H::Thread) -> bool {
        self.watcher.get().is_some_and(|watcher| ptr::eq(watcher, thread))
    }

    /// Makes a waiting thread the watcher if there is none: the caller if it will wait.
    pub(crate) fn keep_a_watcher(&self, caller: Option<&'static H::Thread>) {
        if let Some(exiting) = self.exiting.thread() {
            // It sees how long nothing happens.
            if !self.is_watcher(exiting) {
                self.watcher.set(Some(exiting));
                if caller.is_none_or(|caller| !ptr::eq(caller, exiting)) {
                    self.rouse(exiting);
                }
            }
            return;
        }
        if self.watcher.get().is_some() {
            return;
        }
        if let Some(caller) = caller.filter(|caller| !self.is_holder(caller)) {
            self.watcher.set(Some(caller));
        } else if let Some(other) = self.ready.get(0).or_else(|| self.blocked.get(0)) {
            self.watcher.set(Some(other));
            self.rouse(other);
        }
    }

    /// The threads that may wake at any point.
    pub(crate) fn sleepers(&self) -> impl Iterator<Item = &'static H::Thread> + Clone {
        let most = if self.sleepers.get() == 0 { 0 } else { usize::MAX };
        let latest = self.exiting.latest(|| self.host.now());
        let may_wake = move |thread: &&'static H::Thread| thread.may_wake.get() && thread.deadline.get() <= latest;
        self.blocked.iter().take(most).filter(may_wake)
    }

    /// Whether nobody can go on but those who sleep, while others wait for somebody outside of the program.
    fn waits_for_outside(&self) -> bool {
        self.ready.is_empty() && self.outside.get() > 0
    }

    /// Whether those who sleep do so until their time is over: they have woken again and again, and nobody came back
    /// from outside. A loop that sleeps until a server has nothing more to do would record millions of events otherwise,
    /// and skip a month.
    fn time_goes_on_by_itself(&self) -> bool {
        /// So often in a row they may wake at once.
        const FEW: u32 = 8;
        self.waits_for_outside() && self.woken_in_vain.get() >= FEW
    }

    /// Whether the running thread is the only one that can run.
    pub(crate) fn is_alone(&self) -> bool {
        self.ready.is_empty() && self.sleepers().next().is_none()
    }

    /// Whether there is somebody to give the baton to.
    pub(crate) fn has_successor(&self) -> bool {
        !self.is_alone() || self.exiting.thread().is_some()
    }

    /// The thread whose deadline comes first, if only time goes on, and time may be skipped.
    fn next_deadline(&self) -> Option<&'static H::Thread> {
        let skips = self.choices.skip_time() || self.host.clocks_stand();
        let may_skip = skips && self.host.may_skip_time() && self.outside.get() == 0;
        let blocked = self.blocked.iter().filter(|_| may_skip);
        let first = blocked.min_by_key(|thread| thread.deadline.get())?;
        let latest = self.exiting.latest(|| self.host.now());
        (first.deadline.get() <= latest).then_some(first)
    }

    /// The running thread, which is alone, gives way, or has used up its turn: if it does so again and again, it waits
    /// for somebody who sleeps, and the time until the first of these is skipped. Whether that is so.
    pub(crate) fn hurry_sleep(&self, yields: bool) -> bool {
        // A turn that is used up says as much as that, where nobody else can tell how time goes on.
        const FEW: u32 = 8;
        const MANY: u32 = 1000;
        let (more, most) = match (self.host.clocks_stand(), yields) {
            (true, true) => (1, FEW),
            (true, false) => (FEW, FEW),
            (false, true) => (1, MANY),
            (false, false) => (0, MANY),
        };
        let in_vain = self.yields_in_vain.get().saturating_add(more);
        self.yields_in_vain.set(in_vain);
        let may_skip = self.host.may_skip_time() && self.outside.get() == 0 && !self.plan.is_followed();
        if in_vain < most || !may_skip {
            return false;
        }
        let asleep = self
            .blocked
            .iter()
            .filter(|thread| thread.key.get() == ASLEEP && thread.deadline.get() != NEVER);
        let Some(first) = asleep.min_by_key(|thread| thread.deadline.get()) else {
            return false;
        };
        let Some(at) = self.blocked.position(first) else {
            return false;
        };
        if first.deadline.get() > self.exiting.latest(|| self.host.now()) {
            return false;
        }
        self.exiting.lose_patience(self.host.skip_to(first.deadline.get()));
        self.unblock(at, Woken::Deadline);
        true
    }

    /// Skips the time until the blocked thread's deadline; takes the thread out of the queue.
    fn wake_at_its_deadline(&self, thread: &'static H::Thread) -> Option<&'static H::Thread> {
        let at = self.blocked.position(thread)?;
        self.exiting.lose_patience(self.host.skip_to(thread.deadline.get()));
        self.unblock(at, Woken::Deadline);
        let at = self.ready.position(thread)?;
        Some(self.ready.remove(at))
    }

    /// Ends the wait of the blocked thread at `at`.
    pub(crate) fn unblock(&self, at: usize, why: Woken) {
        let thread = self.blocked.remove(at);
        thread.woken_by.set(why);
        thread.deadline.set(NEVER);
        if thread.may_wake.replace(false) {
            self.sleepers.set(self.sleepers.get() - 1);
        }
        self.choices.arrive(thread, &Intent::NONE);
        self.make_ready(thread);
    }

    /// A signal handler interrupts the wait of the blocked thread at `at`, which goes on afterwards.
    pub(crate) fn interrupt(&self, at: usize) {
        let Some(thread) = self.blocked.get(at) else { return };
        if self.interrupted.len() == MAX_THREADS {
            // Handlers that never came back.
            self.interrupted.remove(0);
        }
        self.interrupted.push(thread);
        thread
            .interrupted
            .set(self.interruptions(thread, thread.key.get()).count());
        self.unblock(at, Woken::Signal);
    }

    /// The waits of a thread on `key` that signal handlers interrupt, by their positions.
    fn interruptions(&self, thread: &H::Thread, key: usize) -> impl Iterator<Item = usize> {
        let all = self.interrupted.waiting(key);
        all.filter(move |(_, other)| ptr::eq(*other, thread)).map(|(at, _)| at)
    }

    /// A wait that a signal handler interrupted may go on: whether anybody woke the thread meanwhile.
    pub(crate) fn resume(&self, thread: &'static H::Thread, key: usize, interruptions: usize) -> bool {
        if self.interruptions(thread, key).count() < interruptions {
            return true;
        }
        self.end_interrupted(thread, key);
        false
    }

    /// Ends the innermost wait of a thread on `key` that a signal handler interrupts.
    pub(crate) fn end_interrupted(&self, thread: &H::Thread, key: usize) {
        if let Some(at) = self.interruptions(thread, key).last() {
            self.interrupted.remove(at);
        }
    }

    /// Wakes all whose deadline is not after `now`, but for those that may wake at any point: when, must not depend on
    /// the machine, unless only time goes on. The earliest deadline of the others.
    pub(crate) fn expire(&self, now: i64) -> i64 {
        if self.plan.is_followed() {
            return NEVER;
        }
        loop {
            let all = self.holder().is_none() && self.time_goes_on_by_itself();
            let earliest = (0..)
                .zip(self.blocked.iter())
                .filter(|(_, thread)| all || !thread.may_wake.get())
                .min_by_key(|(_, thread)| thread.deadline.get());
            match earliest {
                Some((at, thread)) if thread.deadline.get() <= now => self.unblock(at, Woken::Deadline),
                Some((_, thread)) => return thread.deadline.get(),
                None => return NEVER,
            }
        }
    }

    /// Lets a ready thread run if none does. Along a plan, whoever's turn it is: that nobody may be, is for the plan to
    /// say.
    pub(crate) fn dispatch(&self) {
        let is_some = || self.plan.is_followed() || !self.ready.is_empty();
        if self.holder().is_none() && is_some() {
            self.pass(None);
        }
    }

    /// Takes the baton from `holder`, which was asleep and not inside the runtime, and is where it was when it
    /// had come as `far`, for the thread that is next. False if it moved after all.
    ///
    /// Exactness rests on the order here. The baton goes first, then every processor passes a barrier: a hook of
    /// `holder` either sees that the baton is gone, or has seen before that it has the fast path. Such a hook does not
    /// sleep, unless it says that it is busy: asleep and not busy after the barrier, `holder` is in none. It may have
    /// published something and then fallen asleep, which is seen, or announced a write, whose store is done then.
    pub(crate) fn steal(&self, holder: &'static H::Thread, far: (u64, u64), thief: &'static H::Thread) -> bool {
        self.set_holder(Some(thief));
        let exact = self.host.barrier_everywhere();
        let has_fast_path = || ptr::eq(self.fast_path_owner.load(SeqCst), holder);
        let is_inside = || holder.busy.load(SeqCst) != 0 || has_fast_path();
        if !exact || !self.host.sleeps(holder) || is_inside() || self.host.how_far(holder) != far {
            self.set_holder(Some(holder));
            return false;
        }
        self.host.count_hooks(holder);
        // Asleep in the kernel, its last store is done.
        self.host.settle(holder);
        holder.state.store(state::OUTSIDE, Relaxed);
        self.outside.set(self.outside.get() + 1);
        self.gone.set(self.gone.get() + usize::from(self.host.is_gone(holder)));
        self.host.stolen(holder);
        self.pass(None);
        true
    }
}
