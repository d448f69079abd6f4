//! What is worked out of a trace once, by whoever plans its analysis, so that workers need not do it again.
//!
//! The edges of what is needed before what, the search for which takes most of the time before anything is decided; and
//! what the nearest instances decide, with schedules that the checker has accepted: it executes the trace once for all
//! of them, where each shard would execute it for its own.

use super::decider::Decider;
use super::timing::stage;
use super::{Decision, Follow, Options, Work, with_decider};
use crate::candidates::Candidate;
use crate::prune::Edge;
use crate::trace::Trace;
use std::num::NonZeroUsize;

/// What is known of a trace before its shards are decided.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// What reads add to must-happen-before.
    pub needed: Vec<Edge>,
    /// The same if no access were pinned; `None` if none is.
    pub unpinned: Option<Vec<Edge>>,
    /// What the nearest instances decide, in the order of the candidates. They leave all others open.
    pub near: Vec<Decision>,
}

impl Prepared {
    /// Whether it can be that of a trace with so many candidates: nothing in it leads out of the trace.
    #[must_use]
    pub fn fits(&self, trace: &Trace, candidates: usize) -> bool {
        let is_edge = |edge: &Edge| {
            edge.from < edge.to && edge.to.index() < trace.len() && trace.thread(edge.from) != trace.thread(edge.to)
        };
        let is_one = |near: &Decision| (near.number as usize) < candidates && near.pair.is_of(trace);
        self.needed.iter().chain(self.unpinned.iter().flatten()).all(is_edge)
            && self.unpinned.is_some() == trace.has_pins()
            && self.near.iter().all(is_one)
            && self.near.is_sorted_by(|one, next| one.number < next.number)
    }
}

/// Calls `then` with the candidates of a trace for what is looked for, in the order in which they are numbered, with the
/// number of those that are not listed, and with what workers need not work out again; `None` if there was no time for
/// it, or if they have to find out for themselves what is wrong.
pub fn prepare<R>(
    trace: &Trace,
    options: &Options,
    threads: NonZeroUsize,
    follow: &impl Follow,
    then: impl FnOnce(&[Candidate], usize, Option<Prepared>) -> R,
) -> R {
    if !options.finds().pairs() {
        return then(&[], 0, None);
    }
    let work = Work {
        threads,
        ..Work::default()
    };
    with_decider(trace, options, &work, follow, |known| {
        let prepared = of(known, threads, follow);
        then(&known.candidates.list, known.candidates.unlisted, prepared)
    })
}

fn of(known: &Decider<'_>, threads: NonZeroUsize, follow: &impl Follow) -> Option<Prepared> {
    let candidates: Vec<(u32, &Candidate)> = (0..).zip(&known.candidates.list).collect();
    let mut near = known.nearest(threads, &candidates, follow).ok()?;
    let rejected = stage(follow, "checking", || known.check(&mut near, &|_| false, &|_| true));
    let unpinned = match &known.unpinned {
        Some(unpinned) => Some(unpinned.needs.found()?),
        None => None,
    };
    let needed = known.needs.found()?;
    let is_whole = rejected.is_empty() && !known.options.out_of_time();
    is_whole.then_some(Prepared { needed, unpinned, near })
}
