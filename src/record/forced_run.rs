//! Running a program along a plan.
//!
//! The run is recorded like any other, into a trace of its own, up to the moment when both racing
//! accesses are pending or the program went another way. The program then stands still, or is no
//! more; what it did is in that trace, to be compared with what it was to do.

use super::RecordError;
use super::companions::Beside;
use super::fork_chain::ForkChain;
use super::launch::{Launch, Started};
use super::translate::Translator;
use recorder_ring::{Decision, Ring, Settings, Standing, plan::Words};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use trace_format::{Meta, ProgramEnd, StackId, ThreadId, TraceWriter, WriterOptions};

/// How long to sleep between two looks.
const PAUSE: Duration = Duration::from_micros(500);

/// An access that a thread is stopped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The thread, by its number in the trace.
    pub thread: ThreadId,
    /// The code position.
    pub pc: u64,
    /// The call stack, in the trace of this run.
    pub stack: StackId,
    /// The operation's whole range; of a block that ends, only its address counts.
    pub range: (u64, u64),
}

/// A run along a plan, come to a stop. The program is killed when this is dropped.
#[derive(Debug)]
pub struct Stopped {
    /// The first process of the program.
    process: Child,
    /// What runs beside it, if anything does.
    #[expect(dead_code, reason = "what it names ends when it is dropped")]
    beside: Option<Beside>,
    /// That of the process that follows the plan.
    ring: Ring,
    /// If it is not the first one.
    chain: Option<ForkChain>,
    /// Where it stands.
    pub standing: Standing,
    /// The first step of the plan that is not done.
    pub step: usize,
    /// Accesses that threads are stopped before, in the order in which they came there.
    pub parked: Vec<Parked>,
    /// How the program ended, if it did so by itself.
    pub ended: Option<ExitStatus>,
}

/// Runs a program along `plan`; what it does goes into the trace file `trace`.
///
/// # Errors
/// If the program cannot be run under the recorder, or the trace cannot be written.
pub fn run_forced(launch: &Launch, plan: &[&[Words]], trace: &Path) -> Result<Stopped, RecordError> {
    let ready = launch.prepare()?;
    let settings = Settings {
        policy: super::Policy::Schedule,
        seed: 0,
        depth: 0,
        steps: 0,
        most: u64::MAX,
        clocks_stand_at: 0,
    };
    let ring = super::new_ring(settings, plan)?;
    let chain = launch.descent.clone().map(ForkChain::new).transpose()?;
    let writer = TraceWriter::create(trace, &WriterOptions::default())?;
    let mut translator = Translator::new(writer, Meta::default());

    let first = chain.as_ref().map_or(&ring, ForkChain::first);
    ready.make_place()?;
    let Started { process, beside } = ready.start(first)?;
    let mut stopped = Stopped {
        beside,
        process,
        ring,
        chain,
        standing: Standing::Running,
        step: 0,
        parked: Vec::new(),
        ended: None,
    };
    stopped.follow(&mut translator, launch.patience)?;
    let first = stopped.chain.as_ref().map_or(&stopped.ring, ForkChain::first);
    super::must_be_attached(first, None)?;
    translator.finish(ProgramEnd::Unknown, &stopped.ring)?;
    Ok(stopped)
}

impl Stopped {
    /// Takes what the program sends until it stands still, has ended, or does nothing any more.
    fn follow(&mut self, translator: &mut Translator, patience: Duration) -> Result<(), RecordError> {
        let mut last = (0, Instant::now());
        loop {
            let at_race = self.ring.standing() == Standing::AtRace;
            let ended = self.ended()?;
            translator.follow(&mut self.ring)?;
            let mut pulse = self.ring.pulse();
            if let Some(chain) = &mut self.chain {
                chain.serve(&self.ring)?;
                if !chain.is_found() {
                    pulse = chain.pulse();
                }
            }
            if pulse != last.0 {
                last = (pulse, Instant::now());
            }
            let stalled = last.1.elapsed() > patience;
            if stalled {
                // Nothing must change any more.
                self.kill();
            }
            if at_race || stalled || ended.is_some() {
                translator.follow(&mut self.ring)?;
                translator.follow_to_end(&mut self.ring)?;
                self.parked = translator.take_parked();
                self.standing = self.ring.standing();
                self.step = self.ring.step() as usize;
                // A run that left its plan was ended by the runtime, not by itself.
                self.ended = ended.filter(|_| self.standing == Standing::Running);
                return Ok(());
            }
            self.ring.wait(PAUSE.as_nanos() as u64);
        }
    }

    /// How the process that follows the plan has ended, if it has: or the first one, if it came to no other.
    fn ended(&mut self) -> Result<Option<ExitStatus>, RecordError> {
        match &mut self.chain {
            None => self.process.try_wait().map_err(RecordError::Wait),
            Some(chain) if chain.is_found() => Ok(chain.ended(&self.ring)),
            Some(chain) => {
                let ended = self.process.try_wait().map_err(RecordError::Wait)?;
                Ok(ended.filter(|_| !chain.may_come()))
            }
        }
    }

    /// Ends all processes of the program.
    fn kill(&mut self) {
        // They may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(chain) = &self.chain {
            chain.kill();
            chain.wait();
        }
    }

    /// The process that follows the plan.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.ring.process().unwrap_or_else(|| self.process.id())
    }

    /// The kernel's numbers of the threads that are stopped, in the plan's order.
    #[must_use]
    pub fn os_threads(&self) -> [Option<u32>; 2] {
        self.ring.parked()
    }

    /// Lets the program go on, one of the accesses first, unrecorded; how it ended.
    ///
    /// # Errors
    /// [`RecordError::Wait`].
    pub fn go_on(self, first: Decision) -> Result<ExitStatus, RecordError> {
        self.ring.decide(first);
        self.wait()
    }

    /// Waits until the program has ended, or goes on by somebody else's doing and ends.
    ///
    /// # Errors
    /// [`RecordError::Wait`].
    pub fn wait(mut self) -> Result<ExitStatus, RecordError> {
        self.ring.abandon();
        if let Some(chain) = &mut self.chain {
            chain.leave();
            chain.wait();
        }
        let status = self.process.wait().map_err(RecordError::Wait);
        // What still runs was left behind by the program itself.
        self.chain = None;
        status
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.kill();
    }
}
