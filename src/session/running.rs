//! The processes of a run, and what ends it.

use super::companions::Beside;
use super::due_signals::DueSignals;
use super::error::RunError;
use super::follow::{Followed, follow};
use super::fork_chain::ForkChain;
use super::process;
use super::signals::asked_to_end;
use super::translate::Translator;
use recorder_ring::plan::Words;
use recorder_ring::{Ring, Standing};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace_format::ThreadInfo;

/// How long to sleep at most while the program has nothing to say: a program that dies does so without a word.
const PAUSE: Duration = Duration::from_millis(1);

/// What ends each run of a session.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A run is ended after this time.
    pub timeout: Option<Duration>,
    /// And when nothing has happened for so long.
    pub patience: Option<Duration>,
    /// And at its first operation after so many events.
    pub max_events: Option<u64>,
    /// How long a run takes that nothing ends, as far as is known. A run leaves its prefix at a step that takes much
    /// longer than that; never if this is `None`.
    pub usual: Option<Duration>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            timeout: Some(Duration::from_secs(10)),
            patience: None,
            max_events: None,
            usual: None,
        }
    }
}

/// The processes of a program that runs. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Processes {
    pub(super) first: Child,
    /// What runs beside it, if anything does.
    #[expect(dead_code, reason = "what it names ends when it is dropped")]
    pub(super) beside: Option<Beside>,
    /// The way to the process that follows the plan, if that is not the first one.
    pub(super) chain: Option<ForkChain>,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    /// It has ended by itself.
    Ended(ExitStatus),
    /// It stands before the accesses of a race.
    AtRace,
    /// It was ended: the time was up, nothing happened any more, or somebody asked for it.
    Late(ExitStatus),
}

/// What ends a run, beside its own end and the race that it is forced to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    pub(super) bounds: Bounds,
    /// When it ends, however long it has taken.
    pub(super) by: Option<Instant>,
    /// Whether it ends when [this process is asked to](asked_to_end).
    pub(super) asked: bool,
}

impl Bounds {
    /// For how long a step of a prefix may take. Its thread may compute, or wait for something outside; but it may also
    /// wait, unrecorded, for what another thread does, which the prefix does not bring.
    fn of_a_step(&self) -> Option<Duration> {
        const MORE: Duration = Duration::from_millis(500);
        const LONGER: u32 = 3;
        Some(LONGER * self.usual? + MORE)
    }
}

impl Processes {
    /// Takes what the one that follows the plan sends, into these rings, until the run is over. Nothing changes then
    /// any more.
    pub(super) fn follow<W: Write>(
        &mut self,
        ring: &mut Ring,
        translator: &mut Translator<W>,
        plan: &[&[Words]],
        until: Until,
    ) -> Result<Over, RunError> {
        let now = Instant::now();
        let mut watched = Watched {
            handle: process::open(self.first.id()),
            processes: self,
            signals: DueSignals::new(plan),
            until,
            started: now,
            last: (0, now),
            step: (0, now),
            over: Over::AtRace,
        };
        follow(&mut watched, ring, translator)?;
        Ok(watched.over)
    }

    /// How the process that follows the plan has ended, if it has: or the first one, if it came to no other.
    fn ended(&mut self, ring: &Ring) -> Result<Option<ExitStatus>, RunError> {
        match &mut self.chain {
            None => self.first.try_wait().map_err(RunError::Wait),
            Some(chain) if chain.is_found() => Ok(chain.ended(ring)),
            Some(chain) => {
                let ended = self.first.try_wait().map_err(RunError::Wait)?;
                Ok(ended.filter(|_| !chain.may_come()))
            }
        }
    }

    /// The rings that the first one finds, if those of the one that follows the plan are these.
    pub(super) fn first_ring<'a>(&'a self, ring: &'a Ring) -> &'a Ring {
        self.chain.as_ref().map_or(ring, ForkChain::first)
    }

    /// Ends them all; how the first one did.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        // They may have ended.
        let _ = self.first.kill();
        let status = self.first.wait();
        if let Some(chain) = &self.chain {
            chain.kill();
            chain.wait();
        }
        status
    }

    /// Waits until the program has ended, which nobody takes anything from any more.
    pub(super) fn wait(mut self) -> Result<ExitStatus, RunError> {
        if let Some(chain) = &mut self.chain {
            chain.leave();
            chain.wait();
        }
        let status = self.first.wait().map_err(RunError::Wait);
        // What still runs was left behind by the program itself.
        self.chain = None;
        status
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Nobody asks how.
        let _ = self.kill();
    }
}

/// A run that somebody waits for.
struct Watched<'a> {
    processes: &'a mut Processes,
    /// Those that came from outside when it was recorded.
    signals: DueSignals<'a>,
    /// Of the first one.
    handle: Option<Arc<OwnedFd>>,
    until: Until,
    started: Instant,
    /// The last [pulse](Ring::pulse) that was another one than before, and when.
    last: (u64, Instant),
    /// The same of the [step](Ring::step) of the plan that is next.
    step: (u64, Instant),
    over: Over,
}

impl Watched<'_> {
    fn pulse(&self, ring: &Ring) -> u64 {
        let chain = self.processes.chain.as_ref().filter(|chain| !chain.is_found());
        chain.map_or_else(|| ring.pulse(), ForkChain::pulse)
    }

    /// Makes the run leave its plan where it has not come further for too long. Until its first step it is being
    /// loaded.
    fn leave_if_stuck(&mut self, ring: &Ring) {
        let step = ring.step();
        if step != self.step.0 {
            self.step = (step, Instant::now());
        } else if step > 0
            && ring.standing() == Standing::Running
            && (self.until.bounds.of_a_step()).is_some_and(|limit| self.step.1.elapsed() > limit)
        {
            ring.leave_plan_at(step);
        }
    }
}

impl Followed for Watched<'_> {
    fn is_over(&mut self, ring: &Ring) -> Result<bool, RunError> {
        let is_at_race = ring.standing() == Standing::AtRace;
        if let Some(status) = self.processes.ended(ring)? {
            self.over = Over::Ended(status);
            return Ok(true);
        }
        if is_at_race {
            self.over = Over::AtRace;
            return Ok(true);
        }
        let pulse = self.pulse(ring);
        if pulse != self.last.0 {
            self.last = (pulse, Instant::now());
        }
        self.leave_if_stuck(ring);
        let Until { bounds, by, asked } = self.until;
        let is_over = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| since.elapsed() > limit);
        let late = is_over(self.started, bounds.timeout)
            || is_over(self.last.1, bounds.patience)
            || by.is_some_and(|by| Instant::now() >= by)
            || asked && asked_to_end();
        if late {
            self.over = Over::Late(self.processes.kill().map_err(RunError::Wait)?);
        }
        Ok(late)
    }

    fn attend(&mut self, ring: &Ring, _reaped: Vec<(u32, u32)>, threads: &[ThreadInfo]) -> Result<(), RunError> {
        let process = ring.process().unwrap_or_else(|| self.processes.first.id());
        self.signals.send(ring, process, threads);
        match &mut self.processes.chain {
            Some(chain) => chain.serve(ring),
            None => Ok(()),
        }
    }

    fn wait(&self, ring: &Ring, is_finished: bool) {
        match &self.handle {
            // It has said so: what is left is the kernel's part.
            Some(handle) if is_finished => process::wait_for(handle, PAUSE),
            _ => ring.wait(PAUSE.as_nanos() as u64),
        }
    }
}
