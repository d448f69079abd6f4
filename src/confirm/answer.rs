//! From the verdicts on all pairs, or cycles, that a question may mean to the answer.

use super::About;
use super::matching::{How, Place};
use super::scope::{Asked, ChoiceId, pairs};
use crate::semantics::locks::Step;
use crate::trace::{AccessKind, CellId, EventId, ThreadId, Trace};
use crate::verdict::{Analysis, Refutation, Verdict};
use hashbrown::{HashMap, HashSet};

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What was found.
    pub finding: Finding,
    /// What each side was taken for; `None` if it is not in the trace, or may be several places.
    pub places: Vec<Option<Place>>,
    /// If all that was asked about is refuted, or not in this trace: a witnessed pair of the analysis, in the same
    /// functions on the same memory.
    pub related_race: Option<usize>,
}

impl Answer {
    fn new(finding: Finding, places: impl Into<Vec<Option<Place>>>) -> Answer {
        Answer {
            finding,
            places: places.into(),
            related_race: None,
        }
    }

    /// The verdict that it rests on, in the analysis that it is of; `None` if it rests on none.
    #[must_use]
    pub fn verdict<'a>(&self, analysis: &'a Analysis) -> Option<&'a Verdict> {
        match &self.finding {
            Finding::Pairs(pairs) => Some(&analysis.pairs[pairs[0]].verdict),
            Finding::Deadlocks(rows) => Some(&analysis.deadlocks[rows[0]].verdict),
            Finding::Ended(_) | Finding::BothAtomic(..) | Finding::Attempt(_) | Finding::Unknown(_) => None,
        }
    }

    /// Whether a schedule, or the run itself, shows what was asked about.
    #[must_use]
    pub fn is_witnessed(&self, analysis: &Analysis) -> bool {
        matches!(self.finding, Finding::Ended(_)) || matches!(self.verdict(analysis), Some(Verdict::Witnessed(_)))
    }

    /// Whether it holds only if the sides were taken for the right places.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.places.iter().flatten().any(Place::is_guess)
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The verdict of these pairs of the analysis, the one that speaks for all of them first: a witnessed one, else one
    /// that is not decided, else one that is not in this trace, else (all are refuted) the one that needed the
    /// strongest argument.
    Pairs(Vec<usize>),
    /// The verdict of these deadlocks of the analysis, the one that speaks for all of them first, in the same order.
    Deadlocks(Vec<usize>),
    /// Witnessed: the recorded run itself ended in this deadlock. Who waits for whom.
    Ended(Vec<String>),
    /// Refuted: wherever the two sides share memory, both accesses are atomic. These two, for one.
    BothAtomic(EventId, EventId),
    /// Refuted: this acquisition, like all at one of the places, only tries to take its lock, and goes on without it.
    Attempt(EventId),
    /// The trace cannot answer.
    Unknown(Unmatched),
}

/// Why a trace cannot answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// These sides do not occur in it.
    NotInTrace(Vec<bool>),
    /// One side is an allocation, which is no access in a trace.
    Allocation,
    /// The report gives the place of no side.
    NotGiven,
    /// Both occur, but never access the same memory.
    NoSharedMemory,
    /// All occur, with the same memory or locks, but always in this one thread.
    OneThread(ThreadId),
    /// All of these acquisitions occur, but nowhere does each want a lock that the next one's thread holds.
    NoCycle {
        /// Some of them are by readers.
        readers: bool,
    },
    /// The acquisitions may be part of cycles that were too many to be looked at, or are not what this analysis
    /// decides.
    NotLookedAt,
    /// Both occur and access the same memory, but neither writes.
    OnlyReads,
    /// Each of these pairs, or cycles, of places may be meant, and their verdicts differ.
    Ambiguous(Vec<Vec<String>>),
}

/// The answer to a question, given what the analysis found.
pub(super) fn answer(trace: &Trace, asked: &Asked, analysis: &Analysis, question: usize) -> Answer {
    let sides = &asked.choices[question];
    let place = |side: &[ChoiceId]| match side {
        [one] => Some(asked.places[*one as usize].clone()),
        _ => None,
    };
    let both = || [place(&sides[0]), place(&sides[1])];
    if asked.about[question] == About::Deadlock {
        return deadlock(
            trace,
            asked,
            analysis,
            question,
            sides.iter().map(|side| place(side)).collect(),
        );
    }
    let missing = [sides[0].is_empty(), sides[1].is_empty()];
    let partner = |side: usize| {
        let places = sides[side].iter().map(|&choice| asked.places[choice as usize].how);
        !missing[side] && places.into_iter().all(|how| how == How::Partner)
    };
    if missing[0] || missing[1] {
        let why = if asked.allocates[question] {
            Unmatched::Allocation
        } else {
            Unmatched::NotInTrace(missing.into())
        };
        return Answer::new(Finding::Unknown(why), both());
    }
    if partner(0) && partner(1) {
        return Answer::new(Finding::Unknown(Unmatched::NotGiven), [None, None]);
    }
    let decided: Vec<((ChoiceId, ChoiceId), Vec<usize>)> = pairs(sides)
        .map(|(a, b)| ((a, b), decided(asked, analysis, a, b)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let places = |(a, b): (ChoiceId, ChoiceId)| [a, b].map(|choice| Some(asked.places[choice as usize].clone()));
    let class = |found: &[usize]| class(&analysis.pairs[found[0]].verdict);
    match &decided[..] {
        // Where some of the places that may be meant share no memory, the others are.
        [] => Answer::new(undecided(trace, asked, question), both()),
        [(choices, found)] => Answer::new(Finding::Pairs(found.clone()), places(*choices)),
        [(choices, first), others @ ..] if others.iter().all(|(_, found)| class(found) == class(first)) => {
            let all = first.iter().chain(others.iter().flat_map(|(_, found)| found));
            let mut all: Vec<usize> = all.copied().collect();
            let mut seen = HashSet::new();
            all.retain(|&pair| seen.insert(pair));
            Answer::new(Finding::Pairs(all), places(*choices))
        }
        _ => {
            let at = |choice: ChoiceId| asked.places[choice as usize].at.clone();
            let meant = decided.iter().map(|&((a, b), _)| vec![at(a), at(b)]);
            let ambiguous = Finding::Unknown(Unmatched::Ambiguous(meant.collect()));
            Answer::new(ambiguous, both())
        }
    }
}

/// What speaks for several comes first.
fn class(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Witnessed(_) => 0,
        Verdict::Unknown(_) => 1,
        Verdict::NotInTrace(_) => 2,
        Verdict::Refuted(_) => 3,
    }
}

/// The answer to a question about acquisitions that wait for each other.
fn deadlock(trace: &Trace, asked: &Asked, analysis: &Analysis, question: usize, places: Vec<Option<Place>>) -> Answer {
    let sides = &asked.choices[question];
    let unknown = |why: Unmatched, places| Answer::new(Finding::Unknown(why), places);
    if sides.is_empty() {
        return unknown(Unmatched::NotGiven, places);
    }
    if sides.iter().any(Vec::is_empty) {
        let missing = sides.iter().map(Vec::is_empty).collect();
        return unknown(Unmatched::NotInTrace(missing), places);
    }
    let cycle = asked.cycle(question);
    let class = |row: usize| class(&analysis.deadlocks[row].verdict);
    let is_meant = |row: &usize| {
        let events = analysis.deadlocks[*row].example.iter();
        let labels = events.map(|event| asked.scope.positions[event]);
        cycle.has(&labels.collect::<Vec<_>>())
    };
    let mut rows: Vec<usize> = (0..analysis.deadlocks.len()).filter(is_meant).collect();
    rows.sort_by_key(|&row| (class(row), row));
    let (Some(&best), Some(&last)) = (rows.first(), rows.last()) else {
        let finding = match analysis.more_cycles {
            true => Finding::Unknown(Unmatched::NotLookedAt),
            false => without_cycle(trace, asked, question),
        };
        return Answer::new(finding, places);
    };
    // One place that may be several differs from several cycles through the same places.
    if class(best) != class(last) && sides.iter().any(|side| side.len() > 1) {
        let at = |event: &EventId| {
            let choices = sides.iter().flatten().copied();
            let mut here = choices.filter(|&choice| asked.events[choice as usize].contains(event));
            here.next()
                .map_or_else(String::new, |choice| asked.places[choice as usize].at.clone())
        };
        let meant = rows
            .iter()
            .map(|&row| analysis.deadlocks[row].example.iter().map(at).collect());
        return unknown(Unmatched::Ambiguous(meant.collect()), places);
    }
    Answer::new(Finding::Deadlocks(rows), places)
}

/// What keeps acquisitions that occur from being a cycle.
fn without_cycle(trace: &Trace, asked: &Asked, question: usize) -> Finding {
    let sides = &asked.choices[question];
    let of_side = |side: &Vec<ChoiceId>| -> Vec<EventId> {
        let events = side.iter().flat_map(|&choice| &asked.events[choice as usize]);
        events.copied().collect()
    };
    let sides: Vec<Vec<EventId>> = sides.iter().map(of_side).collect();
    let step = |event: EventId| Step::of(trace.op(event)).map(|(_, step)| step);
    let attempts = |event: &EventId| {
        trace.is_attempt(*event) && !matches!(step(*event), Some(Step::TakeAgain))
            || matches!(step(*event), Some(Step::FindHeld { .. }))
    };
    if let Some(side) = sides.iter().find(|side| side.iter().all(attempts)) {
        return Finding::Attempt(side[0]);
    }
    let threads: HashSet<ThreadId> = sides.iter().flatten().map(|&event| trace.thread(event)).collect();
    let mut threads = threads.into_iter();
    Finding::Unknown(match (threads.next(), threads.next()) {
        (Some(only), None) if sides.len() > 1 => Unmatched::OneThread(only),
        _ => Unmatched::NoCycle {
            readers: sides
                .iter()
                .flatten()
                .any(|&event| step(event) == Some(Step::Take { shared: true })),
        },
    })
}

/// The pairs of the analysis that two choices come to, the one that speaks for all of them first.
pub(super) fn decided(asked: &Asked, analysis: &Analysis, a: ChoiceId, b: ChoiceId) -> Vec<usize> {
    let label = |event: EventId| asked.scope.positions[&event];
    let (of_a, of_b) = (&asked.labels[a as usize], &asked.labels[b as usize]);
    let rows = analysis.pairs.iter().enumerate().filter(|(_, pair)| {
        let (x, y) = (label(pair.example.0), label(pair.example.1));
        of_a.contains(&x) && of_b.contains(&y) || of_a.contains(&y) && of_b.contains(&x)
    });
    let mut found: Vec<usize> = rows.map(|(row, _)| row).collect();
    found.sort_by_key(|&row| {
        let pair = &analysis.pairs[row];
        // Of refutations, the strongest argument that was needed.
        let class = match &pair.verdict {
            Verdict::Witnessed(_) => 0,
            Verdict::Unknown(_) => 1,
            Verdict::NotInTrace(_) => 2,
            // Of pairs, nothing is said in a file.
            Verdict::Refuted(Refutation::Core(_) | Refutation::Priority { .. } | Refutation::Reality { .. }) => 3,
            Verdict::Refuted(Refutation::LockHistory { .. }) => 4,
            Verdict::Refuted(Refutation::CommonLock { .. } | Refutation::VariableLock { .. }) => 5,
            Verdict::Refuted(Refutation::MustHappenBefore(_)) => 6,
        };
        (class, std::cmp::Reverse(pair.instances.total), row)
    });
    found
}

/// What keeps two sides that occur from being a pair of conflicting accesses.
fn undecided(trace: &Trace, asked: &Asked, question: usize) -> Finding {
    let sides = [0, 1].map(|side: usize| {
        let side = &asked.choices[question][side];
        let events = side.iter().flat_map(|&choice| &asked.events[choice as usize]);
        events.copied().collect::<Vec<EventId>>()
    });
    // By cell, threads and kinds: few, however many events there are.
    let mut seen: HashMap<CellId, HashSet<(ThreadId, AccessKind)>> = HashMap::new();
    let mut example: HashMap<(CellId, ThreadId, AccessKind), EventId> = HashMap::new();
    for &event in &sides[0] {
        let Some(access) = trace.access(event) else { continue };
        for used in trace.uses(access) {
            let who = (trace.thread(event), access.kind);
            seen.entry(used.cell).or_default().insert(who);
            example.entry((used.cell, who.0, who.1)).or_insert(event);
        }
    }
    let (mut one_thread, mut reads, mut atomic) = (None, false, None);
    for &event in &sides[1] {
        let Some(access) = trace.access(event) else { continue };
        let thread = trace.thread(event);
        for used in trace.uses(access) {
            for &(other, kind) in seen.get(&used.cell).into_iter().flatten() {
                if other == thread {
                    one_thread.get_or_insert(thread);
                } else if kind.is_atomic() && access.kind.is_atomic() && (kind.writes() || access.kind.writes()) {
                    atomic.get_or_insert((example[&(used.cell, other, kind)], event));
                } else {
                    reads = true;
                }
            }
        }
    }
    match (atomic, reads, one_thread) {
        (Some((a, b)), ..) => Finding::BothAtomic(a, b),
        (None, true, _) => Finding::Unknown(Unmatched::OnlyReads),
        (None, false, Some(thread)) => Finding::Unknown(Unmatched::OneThread(thread)),
        (None, false, None) => Finding::Unknown(Unmatched::NoSharedMemory),
    }
}
