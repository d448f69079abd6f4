//! Leads a live run to a forked process: its program runs again from the start, scheduled as in the recorded run, and
//! the right child of the right child gets the plan.
//!
//! Nothing that the ancestors do is compared: a child whose plan fits does what it did, however it came about, and one
//! that came about differently departs from the plan.

use super::error::RunError;
use super::process::{self, GRACE, is_over};
use super::settings::of_process;
use super::translate::Translator;
use super::{inspect, rings};
use recorder_ring::ring_broker::{Asked, What};
use recorder_ring::{Ring, RingBroker, Settings};
use rustix::process::{Signal, pidfd_send_signal};
use std::collections::HashMap;
use std::io::Sink;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Instant;

/// The status of a process that was killed.
const KILLED: i32 = 9;

/// Which process that was forked is meant.
#[derive(Clone, Debug)]
pub struct Descent {
    /// How the first process of the recording was scheduled.
    pub settings: Settings,
    /// The steps from that to the process in which the program began.
    pub program: Vec<u32>,
    /// The steps from there to the one that is meant; at least one.
    pub to: Vec<u32>,
}

/// The processes that are there because of one.
#[derive(Debug)]
pub(super) struct ForkChain {
    descent: Descent,
    broker: RingBroker,
    /// By number. What is sent is of no interest.
    rings: Vec<(Ring, Translator<Sink>)>,
    /// The number of the ring of the ancestor that came last, and how many steps led to it.
    last: u32,
    steps: usize,
    /// All that were forked.
    children: Vec<Arc<OwnedFd>>,
    /// The process that is meant, once it is there.
    found: Option<Arc<OwnedFd>>,
    /// Processes that were waited for, and their statuses.
    reaped: HashMap<u32, u32>,
    /// When the first process was seen to have ended.
    over: Option<Instant>,
}

impl ForkChain {
    pub(super) fn new(descent: Descent) -> Result<ForkChain, RunError> {
        let mut chain = ForkChain {
            broker: RingBroker::open().map_err(RunError::Ring)?,
            rings: Vec::new(),
            last: 0,
            steps: 0,
            children: Vec::new(),
            found: None,
            reaped: HashMap::new(),
            over: None,
            descent,
        };
        chain.add_ring()?;
        Ok(chain)
    }

    /// The ring of the process that begins with the program.
    pub(super) fn first(&self) -> &Ring {
        &self.rings[0].0
    }

    /// Makes a ring for the process that as many steps lead to as were taken; its number.
    fn add_ring(&mut self) -> Result<u32, RunError> {
        let steps = [&self.descent.program[..], &self.descent.to[..self.steps]].concat();
        let settings = of_process(self.descent.settings, &steps);
        let ring = rings::in_memory(settings, &[])?;
        let number = self.rings.len() as u32;
        self.broker.introduce(&ring, number);
        self.rings.push((ring, Translator::to_nowhere()?));
        Ok(number)
    }

    /// Answers requests for rings, and takes what the ancestors send.
    pub(super) fn serve(&mut self, wanted: &Ring) -> Result<(), RunError> {
        while let Some(asked) = self.broker.next() {
            self.answer(&asked, wanted)?;
        }
        for (ring, translator) in &mut self.rings {
            translator.follow(ring)?;
            self.reaped.extend(translator.take_reaped());
        }
        Ok(())
    }

    fn answer(&mut self, asked: &Asked, wanted: &Ring) -> Result<(), RunError> {
        let ask = asked.ask;
        match ask.what {
            What::Forked => {
                let child = process::open(ask.process);
                self.children.extend(child.clone());
                let next = self.descent.to.get(self.steps).copied();
                if ask.of != self.last || Some(ask.nth) != next {
                    self.broker.answer(asked, None);
                    return Ok(());
                }
                self.steps += 1;
                if self.steps == self.descent.to.len() {
                    self.found = child;
                    self.broker.answer(asked, Some(wanted));
                } else {
                    self.last = self.add_ring()?;
                    self.broker.answer(asked, Some(&self.rings[self.last as usize].0));
                }
            }
            What::Executes | What::Spawns => {
                // It counts as one if it was one.
                let program = format!("/proc/{}/fd/{}", ask.process, ask.file);
                if inspect::check(Path::new(&program)).is_ok() {
                    let number = self.add_ring()?;
                    self.broker.answer(asked, Some(&self.rings[number as usize].0));
                } else {
                    self.broker.answer(asked, None);
                }
            }
            What::Failed => self.broker.answer(asked, None),
        }
        Ok(())
    }

    /// Changes whenever an ancestor does something.
    pub(super) fn pulse(&self) -> u64 {
        let pulses = self.rings.iter().map(|(ring, _)| ring.pulse());
        pulses.fold(0, u64::wrapping_add)
    }

    /// Whether the process that is meant may still come, though the first one has ended.
    pub(super) fn may_come(&mut self) -> bool {
        let over = *self.over.get_or_insert_with(Instant::now);
        // A child that was announced may still have to ask, unless it was killed before it could.
        let expected = self.broker.expected() > 0 && over.elapsed() < GRACE;
        expected || self.children.iter().any(|child| !is_over(child))
    }

    /// Whether the process that is meant was there.
    pub(super) fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// How that process has ended, if it has.
    pub(super) fn ended(&self, ring: &Ring) -> Option<ExitStatus> {
        self.found.as_ref().filter(|found| is_over(found))?;
        if let Some(code) = ring.exit() {
            return Some(ExitStatus::from_raw(i32::from(code) << 8));
        }
        let number = ring.process().unwrap_or(0);
        let reaped = self.reaped.get(&number).copied();
        let status = reaped.or_else(|| process::status_of_zombie(number));
        // Whoever waited for it did not say how it ended: most likely the runtime has ended it.
        Some(ExitStatus::from_raw(status.map_or(KILLED, |status| status as i32)))
    }

    /// Nobody takes anything any more, and nobody gets an answer.
    pub(super) fn leave(&mut self) {
        self.broker.close();
        for (ring, _) in &self.rings {
            ring.abandon();
        }
    }

    /// Waits until the process that is meant has ended.
    pub(super) fn wait(&self) {
        if let Some(found) = &self.found {
            process::wait(found);
        }
    }

    /// Ends all that were forked.
    pub(super) fn kill(&self) {
        for child in &self.children {
            // It may have ended.
            let _ = pidfd_send_signal(child, Signal::KILL);
        }
    }
}
