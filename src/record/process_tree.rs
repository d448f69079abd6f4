//! The other processes of a recorded program: children that it forked, programs that its processes start or become.
//!
//! Each asks at the [`ring_broker`](recorder_ring::ring_broker) for a ring of its own, gets a thread that empties it,
//! and a trace beside that of the first one. They are numbered by the order in which they came of the process that they
//! came of, so that the same run gives the same names: the second child of the first child is process 1.2.

use super::number::{Origin, ProcessNumber, traces_beside};
use super::salvage::ring_path;
use super::{Options, RunError};
use crate::session::end::ended_by_the_runtime;
use crate::session::process::{GRACE, describe, is_over, open, status_of_zombie};
use crate::session::settings::of_process;
use crate::session::{Followed, Translator, follow, inspect, rings};
use recorder_ring::ring_broker::{Asked, What};
use recorder_ring::{Flag, Ring, RingBroker, Settings};
use rustix::process::{Signal, pidfd_send_signal};
use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use trace_format::{Meta, ProgramEnd, Summary, ThreadInfo};

/// How long to sleep at most while a process has nothing to say, and when it said that it ends.
const PAUSE: Duration = Duration::from_millis(10);
const SHORT_PAUSE: Duration = Duration::from_millis(1);
/// How long to wait for the status of a process that somebody else waits for.
const STATUS_GRACE: Duration = Duration::from_millis(100);

/// The trace of another process of the recorded program.
#[derive(Debug)]
pub struct Process {
    /// Which one.
    pub number: ProcessNumber,
    /// The kernel's number of it.
    pub os_id: u32,
    /// What was written.
    pub summary: Summary,
    /// Why the trace may lack something.
    pub degraded: Vec<String>,
    /// The runtime ended the process because each of its threads waited for another.
    pub deadlock: bool,
    /// The trace has as many events as were wanted, and the process was ended.
    pub full: bool,
    /// The recording ended before the process did.
    pub goes_on: bool,
}

/// A process that was given a ring.
struct Member {
    /// Of the first process, no steps.
    steps: Vec<u32>,
    /// Of the process in which its program began.
    program: Mutex<Vec<u32>>,
    meta: Mutex<Meta>,
    /// It did not come about after all.
    failed: AtomicBool,
}

/// The processes of one recording.
pub(super) struct ProcessTree<'a> {
    broker: RingBroker,
    settings: Settings,
    options: &'a Options,
    /// The runtime's.
    folder: &'a Path,
    /// By the number of the ring.
    members: Mutex<Vec<Arc<Member>>>,
    /// Processes that were waited for, and their statuses.
    reaped: Mutex<HashMap<u32, u32>>,
    running: Mutex<HashMap<u32, Arc<OwnedFd>>>,
    done: Mutex<Done>,
    /// When the first process ended.
    over: Mutex<Option<Instant>>,
    /// Nobody shall be recorded any longer.
    stopped: AtomicBool,
}

/// Another process than the first, which only the kernel knows the end of.
struct Other<'a> {
    process: Option<&'a OwnedFd>,
    tree: &'a ProcessTree<'a>,
    ended: bool,
}

impl Followed for Other<'_> {
    fn is_over(&mut self, _ring: &Ring) -> Result<bool, RunError> {
        self.ended = self.process.is_none_or(is_over);
        Ok(self.ended || self.tree.is_stopped())
    }

    fn attend(&mut self, _ring: &Ring, reaped: Vec<(u32, u32)>, _threads: &[ThreadInfo]) -> Result<(), RunError> {
        self.tree.reaped(reaped);
        Ok(())
    }

    fn wait(&self, ring: &Ring, is_finished: bool) {
        let pause = if is_finished { SHORT_PAUSE } else { PAUSE };
        ring.wait(pause.as_nanos() as u64);
    }
}

/// What became of them.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) processes: Vec<Process>,
    /// Which were not recorded, and why, in words.
    pub(super) failures: Vec<String>,
    /// How many are being followed.
    active: usize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> ProcessTree<'a> {
    /// Of the program whose first process has `ring`.
    pub(super) fn new(
        options: &'a Options,
        settings: Settings,
        folder: &'a Path,
        meta: &Meta,
        ring: &Ring,
    ) -> Result<Self, RunError> {
        let broker = RingBroker::open().map_err(RunError::Ring)?;
        broker.introduce(ring, 0);
        let first = Member {
            steps: Vec::new(),
            program: Mutex::default(),
            meta: Mutex::new(meta.clone()),
            failed: AtomicBool::new(false),
        };
        Ok(ProcessTree {
            broker,
            settings,
            options,
            folder,
            members: Mutex::new(vec![Arc::new(first)]),
            reaped: Mutex::default(),
            running: Mutex::default(),
            done: Mutex::default(),
            over: Mutex::new(None),
            stopped: AtomicBool::new(false),
        })
    }

    /// What became of the processes. They have all ended.
    pub(super) fn into_done(self) -> Done {
        let mut done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.processes.sort_by(|a, b| a.number.steps.cmp(&b.number.steps));
        done
    }

    /// A process that came of the program was waited for.
    pub(super) fn reaped(&self, statuses: impl IntoIterator<Item = (u32, u32)>) {
        locked(&self.reaped).extend(statuses);
    }

    /// The first process has ended.
    pub(super) fn first_is_over(&self) {
        *locked(&self.over) = Some(Instant::now());
        self.broker.wake();
    }

    /// Whether there is no other process any more, once the first has ended.
    pub(super) fn is_over(&self) -> bool {
        let Some(over) = *locked(&self.over) else { return false };
        // A child that was announced may still have to ask, unless it was killed before it could.
        let expected = self.broker.expected() > 0 && over.elapsed() < GRACE;
        locked(&self.done).active == 0 && (!expected || self.is_stopped())
    }

    /// Ends the recording of all that still run; they go on by themselves.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.broker.wake();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends all processes but the first.
    pub(super) fn kill(&self) {
        for process in locked(&self.running).values() {
            // It may have ended.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }

    /// Gives rings to those that ask, until all have ended.
    pub(super) fn serve<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while !self.is_over() {
            while let Some(asked) = self.broker.next() {
                self.serve_one(&asked, scope);
            }
            self.broker.wait(PAUSE.as_nanos() as u64);
        }
        self.broker.close();
    }

    fn serve_one<'scope>(&'scope self, asked: &Asked, scope: &'scope Scope<'scope, '_>) {
        let ask = asked.ask;
        let Some(parent) = locked(&self.members).get(ask.of as usize).cloned() else {
            return self.broker.answer(asked, None);
        };
        let mut steps = parent.steps.clone();
        steps.push(ask.nth);
        if ask.what == What::Failed {
            for member in locked(&self.members).iter().filter(|member| member.steps == steps) {
                member.failed.store(true, Ordering::Release);
            }
            return self.broker.answer(asked, None);
        }
        let origin = match ask.what {
            What::Forked => Origin::Forked,
            _ => Origin::Executed,
        };
        let program = format!("/proc/{}/fd/{}", ask.process, ask.file);
        if self.is_stopped() || origin == Origin::Executed && inspect::check(Path::new(&program)).is_err() {
            return self.broker.answer(asked, None);
        }
        let program = match origin {
            Origin::Forked => locked(&parent.program).clone(),
            Origin::Executed => steps.clone(),
        };
        let number = ProcessNumber { steps, origin, program };
        // Not known yet if it is still to be started.
        let process = open(ask.process).filter(|_| ask.what != What::Spawns);
        match self.prepare(&number, &parent) {
            Ok((member, ring)) => {
                locked(&self.done).active += 1;
                self.broker.answer(asked, Some(&ring));
                scope.spawn(move || {
                    let followed = self.follow(&member, &number, ring, process);
                    let mut done = locked(&self.done);
                    match followed {
                        Ok(Some(process)) => done.processes.push(process),
                        Ok(None) => {}
                        Err(error) => done.failures.push(failure(&number, &error)),
                    }
                    done.active -= 1;
                    drop(done);
                    self.broker.wake();
                });
            }
            Err(error) => {
                self.broker.answer(asked, None);
                locked(&self.done).failures.push(failure(&number, &error));
            }
        }
    }

    /// Makes a ring for a process.
    fn prepare(&self, number: &ProcessNumber, parent: &Member) -> Result<(Arc<Member>, Ring), RunError> {
        let settings = of_process(self.settings, &number.steps);
        let ring_file = ring_path(&number.beside(&self.options.output));
        let ring = rings::on_file(&ring_file, settings)?;
        if number.origin == Origin::Executed {
            ring.wants_to_look();
        }
        let member = Arc::new(Member {
            steps: number.steps.clone(),
            program: Mutex::new(number.program.clone()),
            meta: Mutex::new(Meta {
                degraded: Vec::new(),
                ..locked(&parent.meta).clone()
            }),
            failed: AtomicBool::new(false),
        });
        let mut members = locked(&self.members);
        self.broker.introduce(&ring, members.len() as u32);
        members.push(Arc::clone(&member));
        Ok((member, ring))
    }

    /// Records a process until it ends. `None` if it never was.
    fn follow(
        &self,
        member: &Member,
        number: &ProcessNumber,
        mut ring: Ring,
        process: Option<Arc<OwnedFd>>,
    ) -> Result<Option<Process>, RunError> {
        while !ring.has(Flag::Attached) {
            let gone = match &process {
                Some(process) => is_over(process),
                // It was gone before it could be found, or it is still to come.
                None => locked(&self.over).is_some_and(|over| over.elapsed() > GRACE),
            };
            let gone = gone || member.failed.load(Ordering::Acquire) || self.is_stopped();
            if gone && !ring.has(Flag::Attached) {
                return Ok(None);
            }
            ring.wait(PAUSE.as_nanos() as u64);
        }
        let os_id = ring.process().unwrap_or(0);
        let process = process.or_else(|| open(os_id));
        if let Some(process) = &process {
            locked(&self.running).insert(os_id, Arc::clone(process));
        }
        let followed = self.write(member, number, &mut ring, process.as_deref(), os_id);
        if followed.is_err() {
            ring.leave();
        }
        locked(&self.running).remove(&os_id);
        followed.map(Some)
    }

    fn write(
        &self,
        member: &Member,
        number: &ProcessNumber,
        ring: &mut Ring,
        process: Option<&OwnedFd>,
        os_id: u32,
    ) -> Result<Process, RunError> {
        let mut meta = locked(&member.meta).clone();
        if number.origin == Origin::Executed {
            describe(os_id, self.folder, &self.options.keep_env, &mut meta);
            locked(&member.meta).clone_from(&meta);
            ring.look();
        }
        number.put_into(&mut meta);
        let mut translator = Translator::create(&number.beside(&self.options.output), meta)?;
        let mut other = Other {
            process,
            tree: self,
            ended: false,
        };
        follow(&mut other, ring, &mut translator)?;
        let ended = other.ended;
        let end = if ended {
            ended_by_the_runtime(ring).unwrap_or_else(|| self.end_of(os_id, ring))
        } else {
            ProgramEnd::Unknown
        };
        if !ended {
            translator.degrade("the recording ended before the process did");
        }
        let (summary, degraded) = translator.finish(end, ring)?;
        Ok(Process {
            number: number.clone(),
            os_id,
            summary,
            degraded,
            deadlock: ring.has(Flag::Deadlock),
            full: ring.has(Flag::Full),
            goes_on: !ended,
        })
    }

    /// How a process that is not our child has ended: it said so, or whoever waited for it did, or nobody has waited
    /// yet.
    fn end_of(&self, process: u32, ring: &Ring) -> ProgramEnd {
        if let Some(code) = ring.exit() {
            return ProgramEnd::Exited(code.into());
        }
        let begun = Instant::now();
        loop {
            let reaped = locked(&self.reaped).get(&process).copied();
            match reaped.or_else(|| status_of_zombie(process)) {
                Some(status) if status & 0x7f == 0 => return ProgramEnd::Exited((status >> 8 & 0xff) as i32),
                Some(status) if status & 0x7f != 0x7f => return ProgramEnd::Signaled((status & 0x7f) as i32),
                _ if begun.elapsed() > STATUS_GRACE => return ProgramEnd::Unknown,
                _ => thread::sleep(SHORT_PAUSE),
            }
        }
    }

    /// Removes traces that an earlier recording to the same place has left of processes that there were none of now.
    pub(super) fn remove_others(&self) {
        let done = locked(&self.done);
        for (number, path) in traces_beside(&self.options.output) {
            if done
                .processes
                .iter()
                .all(|process| process.number.steps != number.steps)
            {
                // Whoever keeps it from being removed wants to keep it.
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn failure(number: &ProcessNumber, error: &RunError) -> String {
    let mut text = format!("process {number} is not recorded: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
