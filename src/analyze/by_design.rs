//! Races that priorities or reality exclude: what the user's file says of two threads (`docs/SEMANTICS.md`, section 4).
//!
//! The file excludes instances of a pair, by their threads, and a pair is decided as a whole. So pairs are decided
//! without the file first. Of those witnessed by what the file excludes, the instances that it leaves are then decided
//! alone, by their threads; and of what is excluded, whether it is a use after free.

use super::decider::Decider;
use super::intent::Intent;
use super::{Work, collect, with_decider};
use crate::candidates::{Scope, place};
use crate::encode::Form;
use crate::schedule::Goal;
use crate::trace::{CodePosition, EventId, ThreadId, Trace};
use crate::verdict::{Analysis, CutRefutation, Find, Kind, Pair, Refutation, Unknown, Verdict};
use hashbrown::{HashMap, HashSet};

/// Accesses that the file does not tell apart: where they are, whose, and whether nothing comes before them there.
type Site = (CodePosition, ThreadId, bool);

/// Takes back what is witnessed of races that the file excludes.
pub(super) fn apply(known: &Decider<'_>, work: &Work<'_>, analysis: &mut Analysis) {
    let trace = known.trace;
    let intent = Intent::of_threads(work.design, trace);
    if !intent.speaks_of_threads() || known.options.form == Form::WholeTrace || known.options.mutation.is_some() {
        return;
    }
    let excluded = |pair: &Pair| match pair.verdict {
        Verdict::Witnessed(ref schedule) => match schedule.goal {
            Goal::Race(a, b) => intent.excludes_race(trace, a, b),
            _ => None,
        },
        _ => None,
    };
    let rows: Vec<(usize, Refutation)> = (0..)
        .zip(&analysis.pairs)
        .filter_map(|(row, pair)| Some((row, excluded(pair)?)))
        .collect();
    if rows.is_empty() {
        return;
    }
    let asked: Vec<(CodePosition, CodePosition)> = rows
        .iter()
        .map(|&(row, _)| places(trace, &analysis.pairs[row]))
        .collect();
    let parts = Parts::of(trace, &intent, &asked);
    let mut found = decide(known, work, &parts, &parts.left, known.options.find);
    if known.options.find.has(Kind::UseAfterFree) {
        let uses = decide(known, work, &parts, &parts.excluded, Find::of(&[Kind::UseAfterFree]));
        for (positions, pairs) in uses {
            found.entry(positions).or_default().extend(pairs);
        }
    }
    for (row, why) in rows {
        let pair = &mut analysis.pairs[row];
        let parts = found.remove(&places(trace, pair)).unwrap_or_default();
        decide_by(pair, parts, why, trace.cut().is_some());
    }
}

/// Where the accesses of a pair are, as candidates are told apart, the lower place first.
fn places(trace: &Trace, pair: &Pair) -> (CodePosition, CodePosition) {
    let place = |event: EventId| {
        trace
            .access(event)
            .map_or_else(|| trace.pc(event), |access| place(trace, access))
    };
    let (a, b) = (place(pair.example.0), place(pair.example.1));
    (a.min(b), a.max(b))
}

/// What becomes of a pair by the verdicts on its parts that are left. A trace that is cut lacks instances.
fn decide_by(pair: &mut Pair, parts: Vec<Pair>, why: Refutation, is_cut: bool) {
    let rank = |part: &Pair| match part.verdict {
        Verdict::Witnessed(_) => 0,
        Verdict::Unknown(_) => 1,
        Verdict::NotInTrace(_) => 2,
        Verdict::Refuted(_) => 3,
    };
    match parts.into_iter().min_by_key(rank) {
        Some(part) if rank(&part) < 2 => (pair.example, pair.verdict) = (part.example, part.verdict),
        _ if is_cut => pair.verdict = Verdict::Unknown(Unknown::Cut(CutRefutation::Core)),
        Some(part) if rank(&part) == 2 => pair.verdict = Verdict::NotInTrace(why),
        _ => pair.verdict = Verdict::Refuted(why),
    }
}

/// Pairs of positions, in parts by the threads.
struct Parts {
    /// By access, the number of its site, which stands for its position.
    positions: HashMap<EventId, CodePosition>,
    left: HashSet<(CodePosition, CodePosition)>,
    excluded: HashSet<(CodePosition, CodePosition)>,
}

impl Parts {
    fn of(trace: &Trace, intent: &Intent, asked: &[(CodePosition, CodePosition)]) -> Parts {
        let places: HashSet<CodePosition> = asked.iter().flat_map(|&(a, b)| [a, b]).collect();
        let mut events: HashMap<Site, Vec<EventId>> = HashMap::new();
        for access in trace.accesses() {
            let (event, at) = (access.event, place(trace, access));
            if places.contains(&at) {
                let is_first = trace.predecessor(event).is_none();
                events
                    .entry((at, trace.thread(event), is_first))
                    .or_default()
                    .push(event);
            }
        }
        let mut sites: Vec<Site> = events.keys().copied().collect();
        sites.sort_unstable();
        let mut parts = Parts {
            positions: HashMap::new(),
            left: HashSet::new(),
            excluded: HashSet::new(),
        };
        for (number, site) in (0..).zip(&sites) {
            parts
                .positions
                .extend(events[site].iter().map(|&event| (event, number)));
        }
        let asked: HashSet<(CodePosition, CodePosition)> = asked.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        for (one, &(pc, ..)) in sites.iter().enumerate() {
            for (other, &(other_pc, ..)) in sites.iter().enumerate().skip(one) {
                if !asked.contains(&(pc.min(other_pc), pc.max(other_pc))) {
                    continue;
                }
                let [a, b] = [one, other].map(|number| events[&sites[number]][0]);
                let part = (one as CodePosition, other as CodePosition);
                match intent.excludes_race(trace, a, b) {
                    Some(_) => parts.excluded.insert(part),
                    None => parts.left.insert(part),
                };
            }
        }
        parts
    }
}

/// The verdicts on some of the parts, by the positions that they are parts of.
fn decide(
    known: &Decider<'_>,
    work: &Work<'_>,
    parts: &Parts,
    some: &HashSet<(CodePosition, CodePosition)>,
    find: Find,
) -> HashMap<(CodePosition, CodePosition), Vec<Pair>> {
    let mut found: HashMap<_, Vec<Pair>> = HashMap::new();
    if some.is_empty() {
        return found;
    }
    let scope = Scope {
        positions: parts.positions.clone(),
        pairs: some.clone(),
        cycles: Vec::new(),
    };
    let options = super::Options { find, ..known.options };
    let of_parts = Work {
        scope: Some(&scope),
        threads: work.threads,
        checker: work.checker,
        ..Work::default()
    };
    let decided = with_decider(known.trace, &options, &of_parts, &super::Unfollowed, |known| {
        known.decide(&of_parts, Vec::new(), &super::Unfollowed)
    });
    let Ok(decisions) = decided;
    for pair in collect(&known.doubts, decisions).pairs {
        found.entry(places(known.trace, &pair)).or_default().push(pair);
    }
    found
}
