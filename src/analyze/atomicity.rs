//! Atomicity violations: for each triple of positions, whether a feasible prefix performs an access of one thread, then
//! one of another, and brings the first thread's next access there next (`docs/SEMANTICS.md`, section 3).
//!
//! The questions are those of races and of uses after free, with an order of what is performed. Locks that the thread
//! holds from its first access to its second exclude most instances at once.

use super::decider::Decider;
use super::intent::Intent;
use super::settle::{Settled, settle, with_ending};
use super::{MAX_EVENTS_Z3, case, torn_pairs};
use crate::candidates::{Asked, Interruption, Interruptions, Stretch, TornPair, TornPairs, Twins, shared_cells};
use crate::design::{Design, Meant};
use crate::encode::Form;
use crate::parallel;
use crate::prune::{Grounds, Needs};
use crate::schedule::Goal;
use crate::solve::{self, Steps};
use crate::symbols::Symbols;
use crate::trace::{CellId, CodePosition, EventId, IncarnationId, SectionId, Trace};
use crate::verdict::{Analysis, AtomicityViolation, CutRefutation, Refutation, Region, Rejected, Unknown, Verdict};
use std::num::NonZeroUsize;

/// Instances that are looked at for one triple of positions.
const MOST: usize = 20_000;

/// An instance: the first access, the other thread's, the second.
type Triple = [EventId; 3];

/// What is decided of all candidates.
#[derive(Default)]
pub(super) struct Decided {
    violations: Vec<AtomicityViolation>,
    rejected: Vec<Rejected>,
}

impl Decided {
    pub(super) fn add_to(self, analysis: &mut Analysis) {
        analysis.atomicity_violations = self.violations;
        analysis.rejected.extend(self.rejected);
    }
}

/// Decides every candidate in the regions that are asked about, and every pair of variables that stand for the same.
pub(super) fn decide(known: &Decider<'_>, design: Option<&Design>, threads: NonZeroUsize) -> Decided {
    if known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        // A whole trace has the order of the three in it, and formulas are broken to see what becomes of races.
        return Decided::default();
    }
    let trace = known.trace;
    let symbols = Symbols::new(trace.tables());
    let line = |position: CodePosition| {
        let frame = symbols.frame(position);
        frame.file.zip(frame.line)
    };
    let nothing = Design::default();
    let meant = Meant::of(design.unwrap_or(&nothing), trace, &symbols);
    let asked = Asked {
        regions: known.options.regions,
        apart: &|one, other| line(one).zip(line(other)).is_some_and(|(one, other)| one != other),
        atomic_places: meant.atomic_places(),
        atomic: &|position| meant.atomic(position),
    };
    let mut found = Interruptions::of(trace, known.sections, &asked);
    let intent = Intent::of(&meant, trace, &found.marked);
    found.list.retain_mut(|candidate| {
        candidate.instances.retain(|&(stretch, site)| {
            let second = found.stretches[stretch as usize].second;
            // Of what the thread is about to replace, that matters which another one sees.
            let others = found.intruders[site as usize].events.iter().copied();
            let sees = |event: &EventId| trace.access(*event).is_some_and(|access| access.kind.reads());
            let others: Vec<EventId> = others.filter(sees).collect();
            intent.is_of_interest(trace, &[second]) || intent.is_of_interest(trace, &others)
        });
        !candidate.instances.is_empty()
    });
    let (twins, names) = twins(trace, &symbols, &meant);
    let mut torn = TornPairs::of(trace, &twins, known.options.regions).list;
    torn.retain(|candidate| {
        let seconds = candidate.reads().map(|reads| reads.second);
        intent.is_of_interest(trace, &seconds.collect::<Vec<_>>())
    });
    tracing::info!(
        candidates = found.list.len(),
        stretches = found.stretches.len(),
        pairs = torn.len(),
        "triples of accesses that would be out of place"
    );
    let all = (found.list.len() + torn.len()) as u32;
    let candidates: Vec<Either<'_>> = found
        .list
        .iter()
        .map(Either::Interruption)
        .chain(torn.iter().map(Either::TornPair))
        .collect();
    let (found, intent, names) = (&found, &intent, &names[..]);
    let one = |candidate: &Either<'_>| {
        let decide = || {
            let mut rejected = Vec::new();
            let steps = Steps::of_batch(all);
            let violation = match candidate {
                Either::Interruption(candidate) => {
                    let case = Case { known, found, intent };
                    case.decide(candidate, steps, &mut rejected)
                }
                Either::TornPair(candidate) => {
                    let case = torn_pairs::Case { known, intent, names };
                    case.decide(candidate, steps, &mut rejected)
                }
            };
            (violation, rejected)
        };
        Ok::<_, std::convert::Infallible>(solve::in_own_context(decide))
    };
    let Ok(decided) = parallel::map(threads, &candidates, one);
    let (mut violations, rejected): (Vec<_>, Vec<Vec<Rejected>>) = decided.into_iter().unzip();
    for violation in &mut violations {
        let (first, second) = (violation.first(), violation.second());
        let others = violation.others().iter();
        let pairs = others.flat_map(|&other| [(first, other), (other, second)]);
        if let Some(doubtful) = known.doubts.instead(&violation.verdict, pairs) {
            violation.verdict = doubtful;
        }
    }
    explain(known, &mut violations, threads);
    Decided {
        violations,
        rejected: rejected.into_iter().flatten().collect(),
    }
}

/// What is decided.
enum Either<'a> {
    Interruption(&'a Interruption),
    TornPair(&'a TornPair),
}

/// The variables that stand for the same: those of the design, then those that the program compares, but for what the
/// design has. With their names, and whether it is the program that says so.
fn twins(trace: &Trace, symbols: &Symbols<'_>, meant: &Meant<'_>) -> (Vec<Twins>, Vec<(Vec<String>, bool)>) {
    let (mut twins, mut names) = (Vec::new(), Vec::new());
    for (called, [one, other]) in meant.redundant() {
        twins.push(Twins { one, other });
        names.push((called.to_vec(), false));
    }
    let stated = twins.len();
    for mined in Twins::compared(trace, &shared_cells(trace)) {
        let known = twins[..stated].iter().any(|twins: &Twins| {
            let has = |all: &[CellId], some: &[CellId]| some.iter().all(|cell| all.contains(cell));
            (has(&twins.one, &mined.one) && has(&twins.other, &mined.other))
                || (has(&twins.one, &mined.other) && has(&twins.other, &mined.one))
        });
        if known {
            continue;
        }
        let name = |cells: &[CellId]| {
            let cell = trace.cell(cells[0]);
            let variable = symbols.variable(cell.addr);
            let of_static = variable.filter(|_| cell.incarnation == IncarnationId::STATIC);
            of_static.map_or_else(|| format!("{:#x}", cell.addr), |variable| variable.name)
        };
        names.push((vec![name(&mined.one), name(&mined.other)], true));
        twins.push(mined);
    }
    (twins, names)
}

/// Works out the facts behind the first candidates that no simpler argument excludes, as many as the options say.
fn explain(known: &Decider<'_>, violations: &mut [AtomicityViolation], threads: NonZeroUsize) {
    if known.trace.len() > MAX_EVENTS_Z3 {
        return;
    }
    let limit = known.options.explanations.map_or(usize::MAX, |limit| limit as usize);
    let unexplained = violations
        .iter()
        .enumerate()
        .filter(|(_, violation)| violation.verdict.core().is_some_and(Vec::is_empty));
    let places: Vec<usize> = unexplained.map(|(place, _)| place).take(limit).collect();
    let facts = |&place: &usize| {
        let violation = &violations[place];
        let grounds = match violation.verdict {
            Verdict::Refuted(_) => Grounds::Structure,
            _ => Grounds::Outcomes,
        };
        let goal = match violation.example[..] {
            [first, between, second] => goal([first, between, second], false),
            [first, one, other, second] => torn_pairs::goal(&[first, one, other, second], false),
            _ => return Ok(Vec::new()),
        };
        let most = known.options.of_explanation();
        let explain = || case::session(known, known.order_on(grounds)).explain(grounds, &goal, most);
        let facts = (!known.options.out_of_time()).then(|| solve::in_own_context(explain));
        Ok::<_, std::convert::Infallible>(facts.flatten().unwrap_or_default())
    };
    let Ok(found) = parallel::map(threads, &places, facts);
    for (place, found) in places.into_iter().zip(found) {
        if let Some(facts) = violations[place].verdict.core_mut() {
            *facts = found;
        }
    }
}

fn goal([first, between, second]: Triple, both_next: bool) -> Goal {
    Goal::AtomicityViolation {
        first,
        between,
        second,
        both_next,
    }
}

struct Case<'d, 't> {
    known: &'d Decider<'t>,
    found: &'d Interruptions,
    intent: &'d Intent,
}

impl Case<'_, '_> {
    fn decide(&self, candidate: &Interruption, mut steps: Steps, rejected: &mut Vec<Rejected>) -> AtomicityViolation {
        let known = self.known;
        let mut violation = AtomicityViolation {
            positions: candidate.positions.to_vec(),
            region: self.stretch(candidate.instances[0].0).region,
            stated: Vec::new(),
            example: self.first(candidate).to_vec(),
            verdict: Verdict::Unknown(Unknown::Time),
            tried: 0,
        };
        let (open, more) = self.left_open(candidate, known.needs);
        violation.tried = open.len() as u64;
        let (open, by_design) = self.without_excluded_by_design(open);
        let ways: Vec<(Triple, bool)> = open.iter().flat_map(|&triple| self.ways(triple, known.needs)).collect();
        let goals: Vec<Goal> = ways
            .iter()
            .map(|&(triple, both_next)| goal(triple, both_next))
            .collect();
        let (example, verdict) = match settle(known, &goals, more, &mut steps, rejected) {
            Settled::Witnessed(place, schedule) => (ways[place].0, Verdict::Witnessed(schedule)),
            Settled::Open(unknown) => (self.first(candidate), Verdict::Unknown(unknown)),
            Settled::Excluded(first) => {
                let example = first.map_or_else(|| self.first(candidate), |place| ways[place].0);
                self.excluded(candidate, example, open.is_empty(), by_design)
            }
        };
        violation.region = self.region_of(example).unwrap_or(violation.region);
        violation.example = example.to_vec();
        violation.verdict = verdict;
        if let Region::Atomic { number, .. } = violation.region {
            violation.stated.extend(self.intent.names.get(number as usize).cloned());
        }
        violation
    }

    /// The instances that the design leaves, and the first that it excludes, with the reason.
    fn without_excluded_by_design(&self, open: Vec<Triple>) -> (Vec<Triple>, Option<(Triple, Refutation)>) {
        if !self.intent.speaks_of_threads() {
            return (open, None);
        }
        let mut first = None;
        let mut kept = Vec::with_capacity(open.len());
        for triple @ [a1, between, a2] in open {
            match self.intent.keeps_out(self.known.trace, (a1, a2), between) {
                Some(why) => drop(first.get_or_insert((triple, why))),
                None => kept.push(triple),
            }
        }
        (kept, first)
    }

    fn stretch(&self, number: u32) -> &Stretch {
        &self.found.stretches[number as usize]
    }

    fn region_of(&self, [first, _, second]: Triple) -> Option<Region> {
        let stretches = &self.found.stretches;
        let at = stretches.partition_point(|stretch| (stretch.first, stretch.second) < (first, second));
        stretches.get(at).map(|stretch| stretch.region)
    }

    /// The first instance, whatever becomes of it.
    fn first(&self, candidate: &Interruption) -> Triple {
        let (stretch, site) = candidate.instances[0];
        let stretch = self.stretch(stretch);
        let others = &self.found.intruders[site as usize].events;
        let at = others.partition_point(|&event| event < stretch.second);
        let nearest = others.get(at).or(others.last()).copied();
        [stretch.first, nearest.unwrap_or(stretch.second), stretch.second]
    }

    /// The sections that a thread is in from the first access to the second.
    fn held_throughout(&self, stretch: &Stretch) -> Vec<SectionId> {
        let known = self.known;
        let thread = known.trace.thread(stretch.first);
        let open = |event| known.sections.open_after(thread, known.trace.place(event));
        let now: Vec<SectionId> = open(stretch.second).collect();
        let kept = open(stretch.first).filter(|id| now.contains(id));
        kept.collect()
    }

    /// The sections of which the first is held throughout, and the second at the access that would have to come
    /// between.
    fn common_lock(&self, held: &[SectionId], between: EventId) -> Option<(SectionId, SectionId)> {
        let known = self.known;
        let section = |id| known.sections.get(id);
        let theirs = known
            .sections
            .open_after(known.trace.thread(between), known.trace.place(between));
        let pairs = held
            .iter()
            .flat_map(|&own| theirs.clone().map(move |other| (own, other)));
        pairs
            .into_iter()
            .find(|&(own, other)| section(own).excludes(section(other)))
    }

    /// The ways in which an instance may come about that these needs do not exclude: the other thread's access has
    /// happened, or, where that makes a difference, is next as well.
    fn ways(&self, triple: Triple, needs: &Needs<'_>) -> impl Iterator<Item = (Triple, bool)> + use<> {
        let trace = self.known.trace;
        let between = triple[1];
        let reads = trace.access(between).is_some_and(|access| access.kind.reads());
        // A write can happen wherever it is next.
        let differs = reads || trace.pin(between).is_some();
        let ways = [Some(false), differs.then_some(true)].map(|both_next| {
            both_next.filter(|&both_next| !with_ending(&goal(triple, both_next), |ending| needs.exclude(ending)))
        });
        ways.into_iter().flatten().map(move |both_next| (triple, both_next))
    }

    /// The instances that neither locks nor these needs exclude, the nearest in π first, and whether there are more.
    fn left_open(&self, candidate: &Interruption, needs: &Needs<'_>) -> (Vec<Triple>, bool) {
        let trace = self.known.trace;
        let relation = needs.relation();
        let (mut found, mut looked_at, mut more) = (Vec::new(), 0, false);
        for &(stretch, site) in &candidate.instances {
            let (stretch, site) = (self.stretch(stretch), &self.found.intruders[site as usize]);
            let own = trace.thread(stretch.first);
            let from = relation.count(stretch.first, site.thread);
            let from = site.events.partition_point(|&event| trace.place(event) < from);
            let can_come = |event: &EventId| needs.before_pending(*event, own) <= trace.place(stretch.second);
            let until = site.events.partition_point(can_come).max(from);
            let held = self.held_throughout(stretch);
            for &between in &site.events[from..until] {
                looked_at += 1;
                if looked_at > MOST {
                    more = true;
                    break;
                }
                let triple = [stretch.first, between, stretch.second];
                if self.common_lock(&held, between).is_none() && self.ways(triple, needs).next().is_some() {
                    found.push(triple);
                }
            }
        }
        let spread = |&[first, between, second]: &Triple| match between {
            between if between < first => first.0 - between.0,
            between => between.0.saturating_sub(second.0),
        };
        found.sort_unstable_by_key(|triple| (spread(triple), *triple));
        // Those that share several cells were found for each.
        found.dedup();
        (found, more)
    }

    /// The verdict when none of the instances is feasible that the design leaves, with one that shows why. `by_design`:
    /// what would not be excluded otherwise.
    fn excluded(
        &self,
        candidate: &Interruption,
        example: Triple,
        by_needs: bool,
        by_design: Option<(Triple, Refutation)>,
    ) -> (Triple, Verdict) {
        let known = self.known;
        if known.trace.cut().is_some() {
            return (example, Verdict::Unknown(Unknown::Cut(CutRefutation::Core)));
        }
        let (open, more) = self.left_open(candidate, &known.needs_by_structure());
        // All that structure leaves has to fall by the design.
        let (open, first) = self.without_excluded_by_design(open);
        if open.is_empty() && !more {
            let by_structure = || (example, self.refutation(Grounds::Structure, example));
            let (triple, why) = first.unwrap_or_else(by_structure);
            return (triple, Verdict::Refuted(why));
        }
        let example = if by_needs {
            open.first().copied().unwrap_or(example)
        } else {
            example
        };
        if let Some(unpinned) = &known.unpinned {
            let (open, more) = self.left_open(candidate, unpinned.needs);
            let (open, _) = self.without_excluded_by_design(open);
            let refuted = |&triple: &Triple| {
                self.ways(triple, unpinned.needs).all(|(triple, both_next)| {
                    with_ending(&goal(triple, both_next), |ending| unpinned.native.refutes(ending))
                })
            };
            let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
            if more || open.len() > limit || !open.iter().all(refuted) {
                return (example, Verdict::Unknown(Unknown::Unrecorded(None)));
            }
        }
        let by_outcomes = || (example, self.refutation(Grounds::Outcomes, example));
        let (triple, why) = by_design.unwrap_or_else(by_outcomes);
        (triple, Verdict::NotInTrace(why))
    }

    fn refutation(&self, grounds: Grounds, [first, between, second]: Triple) -> Refutation {
        let known = self.known;
        let order = known.order_on(grounds);
        for (a, b) in [(between, first), (second, between)] {
            if order.before(a, b) {
                return Refutation::MustHappenBefore(order.chain(known.trace, a, b));
            }
        }
        let stretches = &self.found.stretches;
        let at = stretches.partition_point(|stretch| (stretch.first, stretch.second) < (first, second));
        if let Some((own, other)) = stretches
            .get(at)
            .and_then(|stretch| self.common_lock(&self.held_throughout(stretch), between))
        {
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
