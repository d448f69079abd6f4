//! The threads that wait on a condition, and those that have been notified.

use trace_format::WaitOutcome;

/// The condition of one lock.
///
/// A notify wakes one of those who wait, and which one shows only when a wait ends: the first of them that does.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    /// Thread, event at which it began to wait, and whether a notify-all has woken it.
    waiting: Vec<(u32, u64, bool)>,
    /// Events that notify one of those who began before, and have not found it yet.
    notified: Vec<u64>,
}

impl Condition {
    pub(super) fn begin(&mut self, thread: u32, at: u64) {
        self.waiting.push((thread, at, false));
    }

    pub(super) fn notify(&mut self, at: u64, all: bool) {
        if all {
            self.notified.clear();
            self.waiting.iter_mut().for_each(|waiting| waiting.2 = true);
            return;
        }
        let asleep = self.waiting.iter().filter(|&&(_, _, woken)| !woken).count();
        // With nobody left to wake, it is lost.
        if self.notified.len() < asleep {
            self.notified.push(at);
        }
    }

    pub(super) fn is_woken(&self, thread: u32) -> bool {
        let own = self.waiting.iter().find(|&&(waiting, _, _)| waiting == thread);
        own.is_some_and(|&(_, since, woken)| woken || self.notified.iter().any(|&at| at > since))
    }

    /// Ends the wait of a thread.
    pub(super) fn end(&mut self, thread: u32) -> WaitOutcome {
        let place = self.waiting.iter().position(|&(waiting, _, _)| waiting == thread);
        let (_, since, woken) = self.waiting.swap_remove(place.expect("the thread waits"));
        if woken {
            return WaitOutcome::Notified;
        }
        match self.notified.iter().position(|&at| at > since) {
            Some(notify) => {
                self.notified.remove(notify);
                WaitOutcome::Notified
            }
            None => WaitOutcome::TimedOut,
        }
    }
}
