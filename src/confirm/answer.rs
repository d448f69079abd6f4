//! From the verdicts on all pairs that a question may mean to the answer.

use super::matching::{How, Place};
use super::scope::{Asked, ChoiceId, pairs};
use crate::trace::{AccessKind, CellId, EventId, ThreadId, Trace};
use crate::verdict::{Analysis, Refutation, Verdict};
use hashbrown::{HashMap, HashSet};

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What was found.
    pub finding: Finding,
    /// What each side was taken for; `None` if it is not in the trace, or may be several places.
    pub places: [Option<Place>; 2],
    /// If all that was asked about is refuted, or not in this trace: a witnessed pair of the analysis, in the same functions on the same memory.
    pub related_race: Option<usize>,
}

impl Answer {
    fn new(finding: Finding, places: [Option<Place>; 2]) -> Answer {
        Answer {
            finding,
            places,
            related_race: None,
        }
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
    /// The verdict of these pairs of the analysis, the one that speaks for all of them first: a
    /// witnessed one, else one that is not decided, else one that is not in this trace, else (all are refuted) the one that
    /// needed the strongest argument.
    Decided(Vec<usize>),
    /// Refuted: wherever the two sides share memory, both accesses are atomic. These two, for one.
    BothAtomic(EventId, EventId),
    /// The trace cannot answer.
    Unknown(Unmatched),
}

/// Why a trace cannot answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// These sides do not occur in it.
    NotInTrace([bool; 2]),
    /// One side is an allocation, which is no access in a trace.
    Allocation,
    /// The report gives the place of neither side.
    NotGiven,
    /// Both occur, but never access the same memory.
    NoSharedMemory,
    /// Both occur and access the same memory, but always in this one thread.
    OneThread(ThreadId),
    /// Both occur and access the same memory, but neither writes.
    OnlyReads,
    /// Each of these pairs of places may be meant, and their verdicts differ.
    Ambiguous(Vec<[String; 2]>),
}

/// The answer to a question, given what the analysis found.
pub(super) fn answer(trace: &Trace, asked: &Asked, analysis: &Analysis, question: usize) -> Answer {
    let sides = &asked.choices[question];
    let place = |side: usize| match &sides[side][..] {
        [one] => Some(asked.places[*one as usize].clone()),
        _ => None,
    };
    let missing = [sides[0].is_empty(), sides[1].is_empty()];
    let partner = |side: usize| {
        let places = sides[side].iter().map(|&choice| asked.places[choice as usize].how);
        !missing[side] && places.into_iter().all(|how| how == How::Partner)
    };
    if missing[0] || missing[1] {
        let why = if asked.allocates[question] {
            Unmatched::Allocation
        } else {
            Unmatched::NotInTrace(missing)
        };
        return Answer::new(Finding::Unknown(why), [place(0), place(1)]);
    }
    if partner(0) && partner(1) {
        return Answer::new(Finding::Unknown(Unmatched::NotGiven), [None, None]);
    }
    let decided: Vec<((ChoiceId, ChoiceId), Vec<usize>)> = pairs(sides)
        .map(|(a, b)| ((a, b), decided(asked, analysis, a, b)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let places = |(a, b): (ChoiceId, ChoiceId)| [a, b].map(|choice| Some(asked.places[choice as usize].clone()));
    let class = |found: &[usize]| match analysis.pairs[found[0]].verdict {
        Verdict::Witnessed(_) => 0,
        Verdict::Unknown(_) => 1,
        Verdict::NotInTrace(_) => 2,
        Verdict::Refuted(_) => 3,
    };
    match &decided[..] {
        // Where some of the places that may be meant share no memory, the others are.
        [] => Answer::new(undecided(trace, asked, question), [place(0), place(1)]),
        [(choices, found)] => Answer::new(Finding::Decided(found.clone()), places(*choices)),
        [(choices, first), others @ ..] if others.iter().all(|(_, found)| class(found) == class(first)) => {
            let all = first.iter().chain(others.iter().flat_map(|(_, found)| found));
            let mut all: Vec<usize> = all.copied().collect();
            let mut seen = HashSet::new();
            all.retain(|&pair| seen.insert(pair));
            Answer::new(Finding::Decided(all), places(*choices))
        }
        _ => {
            let at = |choice: ChoiceId| asked.places[choice as usize].at.clone();
            let meant = decided.iter().map(|&((a, b), _)| [at(a), at(b)]);
            let ambiguous = Finding::Unknown(Unmatched::Ambiguous(meant.collect()));
            Answer::new(ambiguous, [place(0), place(1)])
        }
    }
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
            Verdict::Refuted(Refutation::Core(_)) => 3,
            Verdict::Refuted(Refutation::LockHistory { .. }) => 4,
            Verdict::Refuted(Refutation::CommonLock { .. } | Refutation::AtomicLock { .. }) => 5,
            Verdict::Refuted(Refutation::MustHappenBefore(_)) => 6,
        };
        (class, std::cmp::Reverse(pair.instances.total), row)
    });
    found
}

/// What keeps two sides that occur from being a pair of conflicting accesses.
fn undecided(trace: &Trace, asked: &Asked, question: usize) -> Finding {
    let sides = asked.choices[question].each_ref().map(|side| {
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
