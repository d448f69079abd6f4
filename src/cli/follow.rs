//! Follows a running analysis: reports its progress, and keeps a journal so that an interrupted analysis can continue.

use super::output::say;
use super::watch::Watch;
use anyhow::{Context, bail};
use std::collections::HashSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use witness::analyze::{Decision, Follow, Shard};
use witness::candidates::Candidate;
use witness::results::Options;
use witness::store::{Binding, Journal, Plan};
use witness::trace::TraceId;

/// Follows the analysis of one shard.
pub struct Following<'a> {
    trace: TraceId,
    binding: Binding,
    options: Options,
    shard: Shard,
    /// The file of the journal.
    path: PathBuf,
    /// The plan that the shard belongs to; `None` for an analysis without one.
    plan: Option<&'a Plan>,
    watch: &'a Watch,
    begun: OnceLock<Mutex<Kept>>,
}

/// Tells of the stages alone.
pub struct Stages<'a>(pub &'a Watch);

impl Follow for Stages<'_> {
    type Error = Infallible;

    fn stage(&self, name: &'static str) {
        self.0.stage(name);
    }

    fn begin(&self, _: &[Candidate], _: usize) -> Result<Vec<Decision>, Infallible> {
        Ok(Vec::new())
    }

    fn decided(&self, _: &Decision) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Another process has the journal of a shard.
#[derive(Debug, thiserror::Error)]
#[error("{}: another process analyzes this shard", .0.display())]
pub struct ShardIsTaken(PathBuf);

struct Kept {
    /// `None` if there cannot be one.
    journal: Option<Journal>,
    decided: HashSet<u32>,
}

impl<'a> Following<'a> {
    /// Follows an analysis without a plan.
    pub fn whole(
        (trace, binding): (TraceId, Binding),
        options: Options,
        journal: &Path,
        watch: &'a Watch,
    ) -> Following<'a> {
        Following {
            trace,
            binding,
            options,
            shard: Shard::WHOLE,
            path: journal.to_owned(),
            plan: None,
            watch,
            begun: OnceLock::new(),
        }
    }

    /// Follows the analysis of a shard of a plan.
    pub fn shard(
        trace: (TraceId, Binding),
        plan: &'a Plan,
        shard: Shard,
        journal: &Path,
        watch: &'a Watch,
    ) -> Following<'a> {
        Following {
            shard,
            plan: Some(plan),
            ..Following::whole(trace, plan.options, journal, watch)
        }
    }

    fn open(&self, plan: &Plan) -> anyhow::Result<Option<(Journal, Vec<Decision>)>> {
        let opened = Journal::open(&self.path, &plan.id(), self.shard, self.binding);
        match (opened, self.plan) {
            (Ok(Some(opened)), _) => Ok(Some(opened)),
            (Ok(None), Some(_)) => Err(ShardIsTaken(self.path.clone()).into()),
            (Err(error), Some(_)) => Err(error).context("cannot store the shard's decisions"),
            // A whole analysis can do without; if nothing can be stored at all, that is said at its end.
            (Ok(None), None) => Ok(None),
            (Err(error), None) => {
                tracing::warn!(%error, "no journal");
                Ok(None)
            }
        }
    }
}

impl Follow for Following<'_> {
    type Error = anyhow::Error;

    fn stage(&self, name: &'static str) {
        self.watch.stage(name);
    }

    fn begin(&self, candidates: &[Candidate], unlisted: usize) -> anyhow::Result<Vec<Decision>> {
        let plan = Plan::new(self.trace, self.options, candidates, unlisted);
        if self.plan.is_some_and(|planned| *planned != plan) {
            bail!("the trace's candidates differ from its plan's; run `witness plan` again");
        }
        let (journal, earlier) = self.open(&plan)?.unzip();
        let earlier = earlier.unwrap_or_default();
        if !earlier.is_empty() {
            say!(
                "witness: continuing an interrupted analysis: {} of {} pairs are decided",
                earlier.len(),
                plan.share(self.shard)
            );
        }
        self.watch
            .pairs(plan.share(self.shard), earlier.len(), journal.is_some());
        earlier.iter().for_each(|decision| self.watch.taken_up(decision));
        let decided = earlier.iter().map(|decision| decision.number).collect();
        let kept = Mutex::new(Kept { journal, decided });
        assert!(self.begun.set(kept).is_ok(), "an analysis begins once");
        Ok(earlier)
    }

    fn checked(&self, decision: &Decision) {
        self.watch.checked(decision);
    }

    fn decided(&self, decision: &Decision) -> anyhow::Result<()> {
        let begun = self.begun.get().expect("begin comes first");
        let mut kept = kept(begun);
        if let Some(Err(error)) = kept.journal.as_mut().map(|journal| journal.append(decision)) {
            if self.plan.is_some() {
                return Err(error).context("cannot store the shard's decisions");
            }
            say!("witness: if this analysis is interrupted, it cannot be continued: {error}");
            kept.journal = None;
            self.watch.lost();
        }
        if kept.decided.insert(decision.number) {
            self.watch.decided(decision);
        }
        Ok(())
    }
}

fn kept(begun: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    begun.lock().unwrap_or_else(PoisonError::into_inner)
}
