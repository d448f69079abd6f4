//! Torn pairs: for two reads of variables that stand for the same, and another thread's writes of both, whether a
//! feasible prefix brings the second read next where exactly one of the reads has the write of its variable before it
//! (`docs/SEMANTICS.md`, section 3).

use super::decider::Decider;
use super::intent::Intent;
use super::settle::{Settled, settle, with_ending};
use crate::candidates::{Reads, TornPair, Update};
use crate::prune::{Grounds, Needs};
use crate::schedule::Goal;
use crate::solve::Steps;
use crate::trace::{EventId, SectionId};
use crate::verdict::{AtomicityViolation, CutRefutation, Refutation, Region, Rejected, Unknown, Verdict};

/// Instances that are looked at for one candidate.
const MOST: usize = 20_000;

/// An instance, and whether only the first of the writes has happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    reads: Reads,
    update: Update,
    unfinished: bool,
}

impl Way {
    fn goal(&self) -> Goal {
        goal(&self.example(), self.unfinished)
    }

    fn example(&self) -> [EventId; 4] {
        let (reads, update) = (self.reads, self.update);
        [reads.first, update.of_first, update.of_second, reads.second]
    }

    /// Whether the first read sees what the other thread has written.
    fn first_sees(&self) -> bool {
        self.unfinished && self.update.of_first < self.update.of_second
    }

    fn distance(&self) -> u32 {
        let far = |event: EventId| event.0.abs_diff(self.reads.second.0);
        far(self.update.of_first).max(far(self.update.of_second))
    }
}

/// What a pair that is torn ends in.
pub(super) fn goal(&[first, of_first, of_second, second]: &[EventId; 4], unfinished: bool) -> Goal {
    Goal::TornPair {
        first,
        writes: [of_first, of_second],
        second,
        unfinished,
    }
}

pub(super) struct Case<'d, 't> {
    pub known: &'d Decider<'t>,
    pub intent: &'d Intent,
    /// The names of the variables, and whether it is the program that compares them.
    pub names: &'d [(Vec<String>, bool)],
}

impl Case<'_, '_> {
    pub(super) fn decide(
        &self,
        candidate: &TornPair,
        mut steps: Steps,
        rejected: &mut Vec<Rejected>,
    ) -> AtomicityViolation {
        let known = self.known;
        let (all, more) = self.ways(candidate);
        let open: Vec<Way> = all
            .iter()
            .copied()
            .filter(|way| self.is_open(way, known.needs))
            .collect();
        let tried = open.len() as u64;
        let mut by_design = None;
        let open: Vec<Way> = open
            .into_iter()
            .filter(|way| match self.keeps_out(way) {
                Some(why) => {
                    by_design.get_or_insert((*way, why));
                    false
                }
                None => true,
            })
            .collect();
        let goals: Vec<Goal> = open.iter().map(Way::goal).collect();
        let (way, verdict) = match settle(known, &goals, more, &mut steps, rejected) {
            Settled::Witnessed(place, schedule) => (open[place], Verdict::Witnessed(schedule)),
            Settled::Open(unknown) => (all[0], Verdict::Unknown(unknown)),
            Settled::Excluded(first) => {
                let way = first.map_or(all[0], |place| open[place]);
                self.excluded(&all, way, by_design)
            }
        };
        let (names, mined) = &self.names[candidate.twins];
        AtomicityViolation {
            positions: candidate.positions.to_vec(),
            region: Region::Redundant { mined: *mined },
            stated: names.clone(),
            example: way.example().to_vec(),
            verdict,
            tried,
        }
    }

    /// All ways in which the pair may be torn, the nearest in π first, and whether there are more.
    fn ways(&self, candidate: &TornPair) -> (Vec<Way>, bool) {
        let trace = self.known.trace;
        let (mut ways, mut more) = (Vec::new(), false);
        let all = candidate.groups.iter();
        let all = all.flat_map(|(reads, updates)| {
            reads
                .iter()
                .flat_map(move |&reads| updates.iter().map(move |&update| (reads, update)))
        });
        for (reads, update) in all.filter(|(reads, update)| trace.thread(update.of_first) != trace.thread(reads.first))
        {
            if ways.len() >= MOST {
                more = true;
                break;
            }
            ways.extend([false, true].map(|unfinished| Way {
                reads,
                update,
                unfinished,
            }));
        }
        ways.sort_unstable_by_key(|way| (way.distance(), *way));
        (ways, more)
    }

    /// Whether neither locks nor these needs exclude it.
    fn is_open(&self, way: &Way, needs: &Needs<'_>) -> bool {
        self.common_lock(way).is_none() && !with_ending(&way.goal(), |ending| needs.exclude(ending))
    }

    fn sections_at(&self, event: EventId) -> Vec<SectionId> {
        let known = self.known;
        let open = known
            .sections
            .open_after(known.trace.thread(event), known.trace.place(event));
        open.collect()
    }

    /// The sections that a thread is in at both.
    fn held_throughout(&self, one: EventId, other: EventId) -> Vec<SectionId> {
        let there = self.sections_at(other);
        let both = self.sections_at(one).into_iter();
        both.filter(|id| there.contains(id)).collect()
    }

    /// The sections of both threads that exclude it: the reading one's, then the writing one's.
    fn common_lock(&self, way: &Way) -> Option<(SectionId, SectionId)> {
        let (reads, update) = (way.reads, way.update);
        let excludes = |own: &[SectionId], theirs: &[SectionId]| {
            let section = |id| self.known.sections.get(id);
            let pairs = own
                .iter()
                .flat_map(|&own| theirs.iter().map(move |&other| (own, other)));
            pairs
                .into_iter()
                .find(|&(own, other)| section(own).excludes(section(other)))
        };
        if way.unfinished {
            // The writes are both to come around a read.
            let theirs = self.held_throughout(update.of_first, update.of_second);
            let around_first = way
                .first_sees()
                .then(|| excludes(&self.sections_at(reads.first), &theirs));
            return around_first
                .flatten()
                .or_else(|| excludes(&self.sections_at(reads.second), &theirs));
        }
        // And here the reads around a write.
        let own = self.held_throughout(reads.first, reads.second);
        excludes(&own, &self.sections_at(update.of_first)).or_else(|| {
            let behind = update.of_second > update.of_first;
            behind
                .then(|| excludes(&own, &self.sections_at(update.of_second)))
                .flatten()
        })
    }

    /// Why it never happens, by the design.
    fn keeps_out(&self, way: &Way) -> Option<Refutation> {
        if !self.intent.speaks_of_threads() {
            return None;
        }
        let (reads, update) = (way.reads, way.update);
        match way.unfinished {
            true => {
                let writes = (
                    update.of_first.min(update.of_second),
                    update.of_first.max(update.of_second),
                );
                self.intent.keeps_out(self.known.trace, writes, reads.second)
            }
            false => self
                .intent
                .keeps_out(self.known.trace, (reads.first, reads.second), update.of_first),
        }
    }

    /// The verdict when none is feasible that the design leaves, with one that shows why. `by_design`: what would not be
    /// excluded otherwise.
    fn excluded(&self, all: &[Way], example: Way, by_design: Option<(Way, Refutation)>) -> (Way, Verdict) {
        let known = self.known;
        if known.trace.cut().is_some() {
            return (example, Verdict::Unknown(Unknown::Cut(CutRefutation::Core)));
        }
        // All that an argument leaves has to fall by the design.
        let open_on = |needs: &Needs<'_>| -> Result<Option<(Way, Refutation)>, Vec<Way>> {
            let open: Vec<Way> = all.iter().copied().filter(|way| self.is_open(way, needs)).collect();
            let kept: Vec<Way> = open
                .iter()
                .copied()
                .filter(|way| self.keeps_out(way).is_none())
                .collect();
            if !kept.is_empty() {
                return Err(kept);
            }
            Ok(open.first().and_then(|&way| Some((way, self.keeps_out(&way)?))))
        };
        let needs = known.needs_by_structure();
        if let Ok(first) = open_on(&needs) {
            let by_structure = || (example, self.refutation(Grounds::Structure, &example));
            let (way, why) = first.unwrap_or_else(by_structure);
            return (way, Verdict::Refuted(why));
        }
        if let Some(unpinned) = &known.unpinned
            && let Err(open) = open_on(unpinned.needs)
        {
            let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
            let refuted = |way: &Way| with_ending(&way.goal(), |ending| unpinned.native.refutes(ending));
            if open.len() > limit || !open.iter().all(refuted) {
                return (example, Verdict::Unknown(Unknown::Unrecorded(None)));
            }
        }
        let by_outcomes = || (example, self.refutation(Grounds::Outcomes, &example));
        let (way, why) = by_design.unwrap_or_else(by_outcomes);
        (way, Verdict::NotInTrace(why))
    }

    fn refutation(&self, grounds: Grounds, way: &Way) -> Refutation {
        let known = self.known;
        let order = known.order_on(grounds);
        let (reads, update) = (way.reads, way.update);
        for (one, other) in [
            (reads.second, update.of_first.min(update.of_second)),
            (update.of_first.max(update.of_second), reads.first),
        ] {
            if order.before(one, other) {
                return Refutation::MustHappenBefore(order.chain(known.trace, one, other));
            }
        }
        if let Some((own, other)) = self.common_lock(way) {
            let (own, other) = (known.sections.get(own), known.sections.get(other));
            return Refutation::CommonLock {
                lock: own.lock,
                acquired: (own.acquire, other.acquire),
            };
        }
        // The facts come at the very end, and for so many only.
        Refutation::Core(Vec::new())
    }
}
