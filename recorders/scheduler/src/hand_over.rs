//! Giving the baton away, and getting it. A thread gives it away when it blocks on another thread, when its turn is
//! over, when it ends, or around a call that may take long. All state is behind one lock, held for a few dozen
//! instructions; threads that wait sleep on a word of their own.

use crate::host::Host;
use crate::scheduler::{Locked, Scheduler};
use crate::sync::MAX_THREADS;
use crate::thread::state;
use crate::watch::Watch;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use recorder_ring::Settings;

/// The address of no thread, and not what a thread without a record has: who owns the fast path if nobody does.
pub const NOBODY: *mut () = ptr::without_provenance_mut(1);

impl<H: Host> Scheduler<H> {
    /// Starts the run with its first thread, which has the baton.
    pub fn start(&self, settings: Settings, first: &'static H::Thread) {
        let scheduler = self.lock();
        scheduler.choices.start(settings);
        scheduler.most.store(settings.most, Relaxed);
        scheduler.choices.admit(first, None);
        first.state.store(state::RUNNING, Relaxed);
        scheduler.set_holder(Some(first));
        scheduler.took(first);
    }

    /// Locks the scheduler during a fork.
    pub fn freeze(&self) {
        core::mem::forget(self.lock());
    }

    /// Unlocks it again. The caller has frozen it.
    pub fn thaw(&self) {
        drop(Locked(self));
    }

    /// In a forked child, frozen: the calling thread is the only one there is.
    pub fn start_over(&self, settings: Settings, me: &'static H::Thread) {
        for queue in [&self.ready, &self.blocked, &self.interrupted] {
            queue.clear();
        }
        self.sleepers.set(0);
        self.outside.set(0);
        self.woken_in_vain.set(0);
        self.gone.set(0);
        self.watcher.set(None);
        self.leaving.set(0);
        self.last_recorded.set(None);
        self.exiting.start_over();
        self.thaw();
        self.start(settings, me);
    }

    /// The thread has the baton from here on. The scheduler is locked.
    pub(crate) fn took(&self, me: &'static H::Thread) {
        self.begin_turn(me);
        let last = self.last_recorded.replace(Some(me));
        if last.is_none_or(|last| !ptr::eq(last, me)) {
            self.host.switched(last, me);
        }
    }

    /// Sleeps until the baton comes.
    pub(crate) fn wait(&self, me: &'static H::Thread) {
        let mut watch = Watch::new();
        loop {
            let scheduler = self.lock();
            if ptr::eq(scheduler.holder.load(Acquire), me) {
                scheduler.took(me);
                let leaving = scheduler.leaving.replace(0);
                drop(scheduler);
                if leaving != 0 {
                    self.host.await_end(leaving);
                }
                return;
            }
            scheduler.keep_a_watcher(Some(me));
            let nanos = if scheduler.is_watcher(me) {
                match watch.look(&scheduler, me) {
                    Some(nanos) => Some(nanos),
                    None => continue,
                }
            } else if me.interruptible.get() {
                // With a time limit, a futex wait ends after a signal handler even under SA_RESTART.
                Some(3_600_000_000_000)
            } else {
                None
            };
            drop(scheduler);
            let interrupted = self.host.park(me, nanos);
            me.word.store(0, Release);
            if interrupted && me.interruptible.get() || me.deferred.load(SeqCst) != 0 {
                self.wake_for_signal(me);
            }
        }
    }

    /// Gives the baton to whoever is next, which may be the caller, and takes it again.
    pub fn pass_on(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
        scheduler.make_ready(me);
        scheduler.pass(Some(me));
        drop(scheduler);
        self.wait(me);
    }

    /// Takes the baton after having been without: waits for its turn.
    #[cold]
    #[inline(never)]
    pub fn regain(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
        if scheduler.is_holder(me) {
            return;
        }
        if me.state.load(Relaxed) == state::OUTSIDE {
            scheduler.outside.set(scheduler.outside.get() - 1);
            scheduler.woken_in_vain.set(0);
        }
        scheduler.make_ready(me);
        if scheduler.holder().is_none() {
            scheduler.pass(Some(me));
        }
        drop(scheduler);
        self.wait(me);
    }

    /// Gives the baton away before a call that may take long. [`regain`](Self::regain) gets it back.
    pub fn leave(&self, me: &'static H::Thread) {
        let scheduler = self.lock();
        me.state.store(state::OUTSIDE, Relaxed);
        scheduler.outside.set(scheduler.outside.get() + 1);
        scheduler.pass(None);
    }

    /// A thread that does not run yet may do so from now on. The caller has the baton.
    pub fn admit(&self, thread: &'static H::Thread) {
        let scheduler = self.lock();
        let creator = scheduler.holder();
        let until = scheduler.choices.admit(thread, creator.map(|creator| &**creator));
        if let (Some(creator), Some(tick)) = (creator, until) {
            scheduler.end_turn_by(creator, tick);
        }
        scheduler.make_ready(thread);
    }

    /// The calling thread, which has the baton, goes on as another one that no queue has.
    pub fn go_on_as(&self, from: &'static H::Thread, to: &'static H::Thread) {
        let scheduler = self.lock();
        from.state.store(state::NEW, Relaxed);
        to.state.store(state::RUNNING, Relaxed);
        scheduler.set_holder(Some(to));
        scheduler.took(to);
    }

    /// A thread that may run from now on, but waits in no queue.
    pub fn admit_fiber(&self, fiber: &'static H::Thread) {
        self.lock().choices.admit(fiber, None);
    }

    /// The thread's first wait.
    pub fn await_first_turn(&self, me: &'static H::Thread) {
        self.wait(me);
    }

    /// The thread is over: wakes those that join it, and gives the baton away for good. `number` is the kernel's number
    /// of a thread that others go on only after the end of, or 0.
    pub fn retire(&self, me: &'static H::Thread, number: i32) {
        self.wake(ptr::from_ref(me).addr(), usize::MAX);
        let scheduler = self.lock();
        scheduler.interrupted.forget(me);
        me.state.store(state::ENDED, Relaxed);
        scheduler.leaving.set(number);
        scheduler.pass(None);
    }

    /// Makes the holder poll at its next hook.
    #[inline(always)]
    pub fn revoke_fast_path(&self) {
        self.fast_path_owner.store(NOBODY.cast(), Relaxed);
    }

    /// Lets the hooks of the holder do nothing but record.
    #[inline(always)]
    pub fn give_fast_path(&self, holder: &H::Thread) {
        self.fast_path_owner.store(ptr::from_ref(holder).cast_mut(), Relaxed);
    }

    /// The owner of the fast path, or [`NOBODY`].
    #[inline(always)]
    pub fn fast_path_owner(&self) -> *const H::Thread {
        self.fast_path_owner.load(Relaxed)
    }
}

const _: () = assert!(MAX_THREADS.is_power_of_two());
