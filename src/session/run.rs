//! Runs, one after another.

use super::Step;
use crate::record::{
    Launch, Ready, RecordError, Settings, Standing, Started, Translator, asked_to_end, asks_to_end, ended,
    must_be_attached, new_ring, process, settings,
};
use recorder_ring::Ring;
use recorder_ring::plan::Words;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use trace_format::{Meta, ProgramEnd, ReadError, TraceFile};

/// How long to sleep at most while the program has nothing to say: a program that dies does so without a word.
const PAUSE: Duration = Duration::from_millis(1);

/// Bytes that are kept of what a run prints.
const MOST_OUTPUT: u64 = 16 << 20;

/// What ends each run of a session.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A run is ended after this time.
    pub timeout: Option<Duration>,
    /// And when nothing has happened for so long.
    pub patience: Option<Duration>,
    /// And at its first operation after so many events.
    pub max_events: Option<u64>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            timeout: Some(Duration::from_secs(10)),
            patience: None,
            max_events: None,
        }
    }
}

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
    bytes: Vec<u8>,
}

/// Where a run left its prefix. It went on under its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub fn new(launch: &Launch, bounds: Bounds) -> Result<Session, RecordError> {
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
    /// Kinds and, where they are given, code positions are compared while it runs; whether its reads saw what they should is for the
    /// caller to compare. Only the program's first process is recorded and forced.
    ///
    /// # Errors
    /// If the program does not start, or what it sends makes no sense.
    pub fn run(&mut self, prefix: &[Step], then: Settings) -> Result<Ran, RecordError> {
        let plan: Vec<Words> = prefix.iter().map(|step| step.to_plan().encode()).collect();
        self.follow(&[&plan], then)
    }

    /// As [`run`](Self::run), along a prefix in the runtime's words.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn follow(&mut self, plan: &[&[Words]], then: Settings) -> Result<Ran, RecordError> {
        let steps = plan.iter().map(|part| part.len()).sum();
        let settings = Settings {
            most: self.bounds.max_events.unwrap_or(u64::MAX).min(then.most),
            ..then
        };
        let mut ring = match self.rings.take() {
            Some(mut ring) => {
                ring.use_again(settings, plan).map_err(RecordError::Ring)?;
                ring
            }
            None => new_ring(settings, plan)?,
        };
        let meta = Meta {
            policy: settings::text_after(settings, steps),
            seed: settings.seed,
            ..self.meta.clone()
        };
        let mut translator = Translator::in_memory(meta)?;
        self.ready.make_place()?;
        let output = self.keeps_output.then(new_output).transpose();
        let output = output.map_err(RecordError::Output)?;
        let Started { process, beside } = self.ready.start_printing(&ring, output.as_ref())?;
        let followed = follow(process, &mut ring, &mut translator, self.bounds, &|| self.is_over());
        drop(beside);
        let (status, timed_out) = followed?;
        must_be_attached(&ring, Some(status))?;
        let end = ended(status, &ring, timed_out);
        let diverged = diverged(&ring, steps);
        let bytes = translator.into_bytes(end, &ring)?;
        self.rings = Some(ring);
        let output = output.map_or(Ok(Vec::new()), printed).map_err(RecordError::Output)?;
        Ok(Ran {
            end,
            diverged,
            output,
            bytes,
        })
    }
}

/// Takes what the program sends until it has ended, by itself or by its time; how, and whether it was that.
fn follow(
    mut program: Child,
    ring: &mut Ring,
    translator: &mut Translator<Vec<u8>>,
    bounds: Bounds,
    ends_all: &dyn Fn() -> bool,
) -> Result<(ExitStatus, bool), RecordError> {
    let started = Instant::now();
    let mut last = (0, started);
    let ends = process::open(program.id());
    let mut timed_out = false;
    let status = loop {
        if let Err(error) = translator.follow(ring) {
            // It may have ended.
            let _ = program.kill();
            let _ = program.wait();
            return Err(error);
        }
        if let Some(status) = program.try_wait().map_err(RecordError::Wait)? {
            break status;
        }
        if ring.pulse() != last.0 {
            last = (ring.pulse(), Instant::now());
        }
        let is_over = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| since.elapsed() > limit);
        if is_over(started, bounds.timeout) || is_over(last.1, bounds.patience) || ends_all() {
            timed_out = true;
            program.kill().map_err(RecordError::Wait)?;
            break program.wait().map_err(RecordError::Wait)?;
        }
        match &ends {
            // It has said so: what is left is the kernel's part.
            Some(process) if translator.is_finished() => process::wait_for(process, PAUSE),
            _ => ring.wait(PAUSE.as_nanos() as u64),
        }
    };
    translator.follow(ring)?;
    translator.follow_to_end(ring)?;
    Ok((status, timed_out))
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
        fs::write(path, &self.bytes)
    }
}
