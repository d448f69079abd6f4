//! Runs, one after another.

use super::end::{ended, must_be_attached};
use super::error::RunError;
use super::fork_chain::ForkChain;
use super::launch::{Launch, Ready, Started};
use super::running::{Bounds, Over, Processes, Until};
use super::signals::{asked_to_end, asks_to_end};
use super::stopped::Stopped;
use super::translate::Translator;
use super::{Step, rings, settings};
use crate::forest::Picture;
use crate::own;
use recorder_ring::plan::Words;
use recorder_ring::{Policy, Ring, Settings, Standing};
use safe_files::Readers;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::{Meta, ProgramEnd, ReadError, TraceFile};

/// Bytes that are kept of what a run prints.
const MOST_OUTPUT: u64 = 16 << 20;

/// A program that is run again and again.
#[derive(Debug)]
pub struct Session {
    ready: Ready,
    bounds: Bounds,
    meta: Meta,
    rings: Option<Ring>,
    keeps_output: bool,
    /// When a run is ended, however long it has taken.
    until: Option<Instant>,
}

/// A run of a session.
#[derive(Debug)]
pub struct Ran {
    /// How the program ended.
    pub end: ProgramEnd,
    /// Where it left its prefix, if it did.
    pub diverged: Option<Diverged>,
    /// What it printed, on standard output and standard error, if its session keeps that: the first 16 MiB.
    pub output: Vec<u8>,
    /// What threads showed of themselves, if that was [asked for](recorder_ring::Settings::pictures).
    pub pictures: Vec<Picture>,
    bytes: Vec<u8>,
}

/// Where a run left its prefix. It went on under its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Diverged {
    /// In place of this step its thread did something else: the event with this number in the run's trace.
    Did {
        /// Which step of the prefix, from 0.
        step: usize,
        /// The event's number, from 0.
        event: u64,
    },
    /// The thread of this step waits for something that the prefix does not bring.
    Waits {
        /// Which step.
        step: usize,
    },
    /// This step takes so long that its thread is taken to wait for something that nobody records.
    Stuck {
        /// Which step.
        step: usize,
    },
    /// The thread of this step has ended, or was never created.
    Gone {
        /// Which step.
        step: usize,
    },
    /// The program ended before this step: the end of the run says how.
    Ended {
        /// Which step.
        step: usize,
    },
}

impl Diverged {
    /// The first step that was not done.
    #[must_use]
    pub fn step(self) -> usize {
        match self {
            Diverged::Did { step, .. }
            | Diverged::Waits { step }
            | Diverged::Stuck { step }
            | Diverged::Gone { step }
            | Diverged::Ended { step } => step,
        }
    }
}

impl Session {
    /// Finds the program, and makes ready what all runs need.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn new(launch: &Launch, bounds: Bounds) -> Result<Session, RunError> {
        Ok(Session {
            ready: launch.prepare()?,
            bounds,
            meta: launch.describe(),
            rings: None,
            keeps_output: false,
            until: None,
        })
    }

    /// Keeps what each run prints: [`Ran::output`].
    #[must_use]
    pub fn keeping_output(self) -> Session {
        Session {
            keeps_output: true,
            ..self
        }
    }

    /// How long a run takes that nothing ends, as far as is known.
    pub(crate) fn usual(&self) -> Option<Duration> {
        self.bounds.usual
    }

    /// As other sessions of the program have found.
    pub(crate) fn expect(&mut self, usual: Option<Duration>) {
        self.bounds.usual = usual;
    }

    /// Ends each further run at its first operation after so many events.
    pub(crate) fn end_after(&mut self, events: u64) {
        self.bounds.max_events = Some(events);
    }

    /// Ends each further run by then at the latest.
    pub(crate) fn end_by(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Whether a run that others ended was ended because the time of all is over, or because somebody asked for it.
    pub(crate) fn is_over(&self) -> bool {
        asked_to_end() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The program's file.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.ready.program()
    }

    /// Runs the program: first along the prefix, then under the policy, to its end. What it does is recorded.
    ///
    /// Kinds and, where they are given, code positions are compared while it runs; whether its reads saw what they
    /// should is for the caller to compare. Only the program's first process is recorded and forced.
    ///
    /// # Errors
    /// If the program does not start, or what it sends makes no sense.
    pub fn run(&mut self, prefix: &[Step], then: Settings) -> Result<Ran, RunError> {
        self.follow(&[&words_of(prefix)], then)
    }

    /// As [`run`](Self::run), along a prefix in the runtime's words.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn follow(&mut self, plan: &[&[Words]], then: Settings) -> Result<Ran, RunError> {
        let steps = plan.iter().map(|part| part.len()).sum();
        let output = self.keeps_output.then(new_output).transpose();
        let output = output.map_err(RunError::Output)?;
        let Running {
            mut processes,
            mut ring,
            mut translator,
        } = self.start(plan, then, output.as_ref())?;
        let until = Until {
            bounds: self.bounds,
            by: self.until,
            asked: true,
        };
        let started = Instant::now();
        let (status, was_late) = match processes.follow(&mut ring, &mut translator, plan, until)? {
            Over::Ended(status) => (Some(status), false),
            Over::Late(status) => (Some(status), true),
            // A plan of it has no such steps.
            Over::AtRace => (None, true),
        };
        // One that was ended for the sake of all may not have come that far.
        if !(was_late && self.is_over()) {
            must_be_attached(processes.first_ring(&ring), status)?;
        }
        drop(processes);
        let end = status.map_or(ProgramEnd::Unknown, |status| ended(status, &ring, was_late));
        let diverged = diverged(&ring, steps);
        if let Some(usual) = &mut self.bounds.usual
            && !was_late
            && !matches!(diverged, Some(Diverged::Stuck { .. }))
        {
            *usual = started.elapsed().max(*usual);
        }
        let pictures = translator.take_pictures();
        let bytes = translator.into_bytes(end, &ring)?;
        self.rings = Some(ring);
        let output = output.map_or(Ok(Vec::new()), printed).map_err(RunError::Output)?;
        Ok(Ran {
            end,
            diverged,
            output,
            pictures,
            bytes,
        })
    }

    /// Runs the program along a plan that ends in a race, and stops before its accesses, or where it leaves the plan.
    /// With it comes its trace, as the bytes of a file in the usual format.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn stop_at_race(mut self, plan: &[&[Words]]) -> Result<(Stopped, Vec<u8>), RunError> {
        let then = Settings {
            policy: Policy::Schedule,
            ..Settings::fifo()
        };
        let Running {
            mut processes,
            mut ring,
            mut translator,
        } = self.start(plan, then, None)?;
        let until = Until {
            bounds: self.bounds,
            by: None,
            asked: false,
        };
        let ended = match processes.follow(&mut ring, &mut translator, plan, until)? {
            Over::Ended(status) => Some(status),
            Over::AtRace | Over::Late(_) => None,
        };
        must_be_attached(processes.first_ring(&ring), ended)?;
        let standing = ring.standing();
        let stopped = Stopped {
            standing,
            step: ring.step() as usize,
            parked: translator.take_parked(),
            // A run that left its plan was ended by the runtime, not by itself.
            ended: ended.filter(|_| standing == Standing::Running),
            processes,
            ring,
        };
        let bytes = translator.into_bytes(ProgramEnd::Unknown, &stopped.ring)?;
        Ok((stopped, bytes))
    }

    /// Starts a run along a plan, and then under a policy. What it prints goes to this file, if there is one.
    fn start(&mut self, plan: &[&[Words]], then: Settings, output: Option<&File>) -> Result<Running, RunError> {
        let settings = Settings {
            most: self.bounds.max_events.unwrap_or(u64::MAX).min(then.most),
            ..then
        };
        let ring = match self.rings.take() {
            Some(mut ring) => {
                ring.use_again(settings, plan).map_err(RunError::Ring)?;
                ring
            }
            None => rings::in_memory(settings, plan)?,
        };
        let chain = self.ready.descent().map(ForkChain::new).transpose()?;
        let translator = Translator::in_memory(Meta {
            policy: settings::text_after(settings, plan.iter().map(|part| part.len()).sum()),
            seed: settings.seed,
            ..self.meta.clone()
        })?;
        self.ready.make_place()?;
        let first = chain.as_ref().map_or(&ring, ForkChain::first);
        let Started { process, beside } = self.ready.start(first, output)?;
        Ok(Running {
            processes: Processes {
                first: process,
                beside,
                chain,
            },
            ring,
            translator,
        })
    }
}

/// A prefix in the runtime's words.
pub(crate) fn words_of(prefix: &[Step]) -> Vec<Words> {
    prefix.iter().map(|step| step.to_plan().encode()).collect()
}

/// A run that has been started.
struct Running {
    processes: Processes,
    /// Of the process that follows the plan.
    ring: Ring,
    translator: Translator<Vec<u8>>,
}

/// A file in memory for what a run prints.
pub(crate) fn new_output() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create(c"output of a run", MemfdFlags::CLOEXEC)?))
}

fn printed(mut file: File) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    file.rewind()?;
    file.take(MOST_OUTPUT).read_to_end(&mut all)?;
    Ok(all)
}

/// Where a run left a prefix of so many steps.
fn diverged(ring: &Ring, steps: usize) -> Option<Diverged> {
    let step = ring.step() as usize;
    match ring.standing() {
        Standing::Done => None,
        Standing::Diverged => Some(match ring.instead() {
            Some(event) => Diverged::Did { step, event },
            None => Diverged::Waits { step },
        }),
        Standing::Blocked => Some(Diverged::Waits { step }),
        Standing::Gone => Some(Diverged::Gone { step }),
        Standing::Stuck => Some(Diverged::Stuck { step }),
        Standing::Running | Standing::AtRace => (steps > 0).then_some(Diverged::Ended { step }),
    }
}

impl Ran {
    /// Whether the program was ended, by its time or by who asked it to.
    pub(crate) fn end_is_of_others(&self) -> bool {
        match self.end {
            ProgramEnd::TimeLimit => true,
            ProgramEnd::Signaled(signal) => asks_to_end(signal),
            ProgramEnd::Exited(_) | ProgramEnd::Deadlock | ProgramEnd::EventLimit | ProgramEnd::Unknown => false,
        }
    }

    /// What the program did.
    ///
    /// # Errors
    /// [`ReadError`], of a trace that is not what its writer wrote.
    pub fn trace(&self) -> Result<TraceFile, ReadError> {
        TraceFile::from_bytes("the run's trace", self.bytes.clone())
    }

    /// The trace, as the bytes of a file in the usual format.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Keeps the trace: a file in the usual format.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        safe_files::write(path, &self.bytes, Readers::Owner)?;
        own::remember(path);
        Ok(())
    }
}
