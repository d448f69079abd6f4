//! Conflicting pairs: which pairs of code positions may race, and in which of their dynamic instances.
//!
//! Two accesses conflict if they share a cell, come from different threads, at least one writes
//! and not both are atomic. A trace can have billions of such pairs of events, so they are never
//! enumerated one by one. Accesses are grouped into *spots*: thread, code position and kind. One pass over each
//! cell finds the [nearest](Candidate::nearest) instances of each pair of positions, which decide most of them. Only for
//! a pair that they leave open are all instances visited, and then whole spots fall to a common lock, and whole stretches
//! of them, in all cells at once, to what must, or needs to, come before. In cells that many threads access, the accesses
//! at a spot are a *site*, and those of many threads at one position, under the same locks, a *group*.
//!
//! What this drops has no witness (see [`crate::prune`]).

mod calls;
mod cycles;
mod gather;
mod groups;
mod interruptions;
mod lock_sets;
mod marked;
mod nearest;
mod open_pairs;
mod pairs;
mod scope;
mod site;
mod spots;
mod visit;

#[cfg(test)]
mod tests;

pub use cycles::{Cycle, Cycles, Waiting};
pub use interruptions::{Asked, Interruption, Interruptions, Intruders, Positions, Stretch, shared_cells};
pub use lock_sets::{attach_pairs, lock_set_warnings, scope_of_warnings, shared_variables};
pub use pairs::{Reads, TornPair, TornPairs, Twins, Update};
pub use scope::{AskedCycle, Scope};
pub use visit::{Frees, Visited};
pub(crate) use visit::{PairSites, SitePairs};

use crate::prune::{LockContexts, MustHappenBefore, Needs};
use crate::trace::{CodePosition, EventId, Trace};
use crate::verdict::{Find, Kind};
use groups::Crowded;
use hashbrown::{HashMap, HashSet};
use nearest::{Nearest, Search, Sites, Use};
pub(crate) use site::place;
use site::{PairNumbers, Site};
use spots::Spots;
use std::ops::ControlFlow;

/// A pair of code positions with conflicting accesses.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The two positions, the smaller first.
    pub positions: (CodePosition, CodePosition),
    /// Instances that locks and what is needed before do not exclude, the nearest in π first: the nearer, the
    /// less has to be reordered to bring the two together. Few, and possibly none although there are some.
    pub nearest: Vec<(EventId, EventId)>,
    /// The earliest conflicting instance, whatever became of it.
    pub first: (EventId, EventId),
    /// Conflicting instances in all, counted per cell.
    pub total: u64,
}

/// The candidates of a trace, ordered by their earliest instance.
pub struct Candidates<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    contexts: &'t LockContexts,
    needs: &'t Needs<'t>,
    spots: Spots,
    crowded: Vec<Crowded>,
    /// The positions at which something is freed or destroyed.
    ending: HashSet<CodePosition>,
    /// The candidates.
    pub list: Vec<Candidate>,
    /// How many further pairs of positions conflict: there were more than are wanted.
    pub unlisted: usize,
}

/// Which candidates are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'s> {
    /// For these kinds of things: without races, only pairs of which one frees what the other accesses.
    pub find: Find,
    /// In this scope.
    pub scope: Option<&'s Scope>,
    /// Without a scope, so many are listed, and others counted: their number grows with the square of that of the
    /// positions.
    pub most: usize,
    /// Whether with their nearest instances, which whoever knows what these decide need not have.
    pub nearest: bool,
}

/// The accesses that conflict, by spots and groups, before it is known what orders them.
pub struct Conflicts<'t, 's> {
    trace: &'t Trace,
    contexts: &'t LockContexts,
    spots: Spots,
    crowded: Vec<Crowded>,
    listed: Listed<'s>,
    /// Whether only where something is freed.
    freed: bool,
    nearest: bool,
}

impl<'t, 's> Conflicts<'t, 's> {
    /// Finds those of a trace that are wanted.
    #[must_use]
    pub fn of(trace: &'t Trace, contexts: &'t LockContexts, wanted: &Wanted<'s>) -> Conflicts<'t, 's> {
        let freed = !wanted.find.has(Kind::Races);
        let (mut spots, crowded) = match (freed, wanted.find.has(Kind::UseAfterFree)) {
            (true, false) => Spots::of(trace, contexts, Some(&Scope::default()), false),
            _ => Spots::of(trace, contexts, wanted.scope, freed),
        };
        let mut listed = Listed {
            scope: wanted.scope,
            // A scope says by itself how many there are.
            most: wanted.scope.map_or(wanted.most, |_| usize::MAX),
            numbers: HashMap::new(),
            found: Vec::new(),
            is_full: false,
        };
        spots.pair(contexts, freed, |positions, first| listed.number(positions, first));
        for pair in &spots.pairs {
            listed.count(pair.candidate, pair.instances, pair.first);
        }
        Conflicts {
            trace,
            contexts,
            spots,
            crowded,
            listed,
            freed,
            nearest: wanted.nearest,
        }
    }
}

impl<'t> Candidates<'t> {
    /// Finds all candidates of a trace.
    #[must_use]
    pub fn of(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
    ) -> Candidates<'t> {
        Candidates::within(trace, order, contexts, needs, None)
    }

    /// Finds the candidates of a trace that are in scope.
    #[must_use]
    pub fn within(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
        scope: Option<&Scope>,
    ) -> Candidates<'t> {
        let wanted = Wanted {
            find: Find::of(&[Kind::Races]),
            scope,
            most: usize::MAX,
            nearest: true,
        };
        Candidates::among(Conflicts::of(trace, contexts, &wanted), order, needs)
    }

    /// Finds the candidates among accesses that conflict.
    #[must_use]
    pub fn among(conflicts: Conflicts<'t, '_>, order: &'t MustHappenBefore, needs: &'t Needs<'t>) -> Candidates<'t> {
        let Conflicts {
            trace,
            contexts,
            spots,
            crowded,
            mut listed,
            freed,
            nearest,
        } = conflicts;
        let mut search = Search::new(trace, contexts, needs);
        if nearest {
            nearest_at_spots(&mut search, &spots, &mut listed.found);
        }
        let mut uses: Vec<Use> = Vec::new();
        for cell in &crowded {
            let mut pairs = PairNumbers::of(cell.groups());
            cell.each_conflict(|at, other| {
                if freed && !cell.is_pair(at, other, true) {
                    return;
                }
                let Some((x, y)) = cell.first_conflict(at, other) else {
                    return;
                };
                let first = (cell.sites[x as usize].first(), cell.sites[y as usize].first());
                if let Some(number) = listed.number(positions_of(cell.site_of(at).pc, cell.site_of(other).pc), first) {
                    listed.count(number, cell.instances(at, other), first);
                    pairs.set(at, other, number);
                }
            });
            if !nearest {
                continue;
            }
            let numbers = &listed.numbers;
            let number = |a: u32, b: u32| {
                let (at, other) = (&cell.sites[a as usize], &cell.sites[b as usize]);
                if at.thread == other.thread {
                    return None;
                }
                pairs.get(cell.group(a), cell.group(b), || {
                    let positions = positions_of(at.pc, other.pc);
                    at.conflicts(other).then(|| numbers.get(&positions).copied()).flatten()
                })
            };
            uses.clear();
            for (number, site) in (0..).zip(&cell.sites) {
                uses.extend(site.events.iter().map(|&(event, held)| (event, held, number)));
            }
            uses.sort_unstable();
            let sites = Sites::of(cell.sites.iter().map(|site| site.thread).collect());
            search.cell(&sites, number, &uses, &mut listed.found);
        }
        let Listed { found, is_full, .. } = listed;
        let all = match is_full {
            true => count(&spots, &crowded, freed),
            false => found.len(),
        };
        let mut list: Vec<Candidate> = found
            .into_iter()
            .map(|(candidate, nearest)| Candidate {
                nearest: nearest.instances(),
                ..candidate
            })
            .collect();
        list.sort_by_key(|candidate| (candidate.first, candidate.positions));
        let of_spots = spots.list.iter().filter(|spot| spot.is_there());
        let of_spots = of_spots.map(|spot| (spot.key.1, spot.key.2));
        let of_sites = crowded.iter().flat_map(|cell| &cell.sites);
        let ending = of_spots
            .chain(of_sites.map(|site| (site.pc, site.part)))
            .filter(|(_, part)| part.frees || part.destroys);
        Candidates {
            trace,
            order,
            contexts,
            needs,
            ending: ending.map(|(pc, _)| pc).collect(),
            unlisted: all - list.len(),
            spots,
            crowded,
            list,
        }
    }
}

/// The candidates found so far, and which are wanted.
struct Listed<'s> {
    scope: Option<&'s Scope>,
    most: usize,
    numbers: HashMap<(CodePosition, CodePosition), u32>,
    found: Vec<(Candidate, Nearest)>,
    /// Whether there was one too many.
    is_full: bool,
}

impl Listed<'_> {
    /// The number of a candidate, if it is wanted and there is room.
    fn number(&mut self, positions: (CodePosition, CodePosition), first: (EventId, EventId)) -> Option<u32> {
        if self.scope.is_some_and(|scope| !scope.pairs.contains(&positions)) {
            return None;
        }
        if let Some(&number) = self.numbers.get(&positions) {
            return Some(number);
        }
        if self.found.len() == self.most {
            self.is_full = true;
            return None;
        }
        let candidate = Candidate {
            positions,
            nearest: Vec::new(),
            first,
            total: 0,
        };
        let number = self.found.len() as u32;
        self.found.push((candidate, Nearest::default()));
        self.numbers.insert(positions, number);
        Some(number)
    }

    /// Counts instances of a candidate, the earliest of which is this one.
    fn count(&mut self, number: u32, instances: u64, first: (EventId, EventId)) {
        let candidate = &mut self.found[number as usize].0;
        candidate.total += instances;
        candidate.first = candidate.first.min(first);
    }
}

/// Looks for the nearest instances in the cells of spots: only in those that have instances which nothing excludes.
fn nearest_at_spots(search: &mut Search<'_>, spots: &Spots, found: &mut [(Candidate, Nearest)]) {
    let Search {
        trace, contexts, needs, ..
    } = *search;
    let mut is_open = vec![false; spots.cells() as usize];
    for pair in &spots.pairs {
        // Where a pair shares one cell alone, one open instance is enough to know.
        let is_known = pair.cells == 1 && is_open[pair.cell as usize];
        if !pair.all_clash && !is_known {
            let before = |event, thread| needs.before_pending(event, thread);
            let _: ControlFlow<()> =
                spots.each_open_cell(trace, &before, (pair.spots, pair.cells), &mut |cell, _, _| {
                    is_open[cell as usize] = true;
                    match pair.cells {
                        1 => ControlFlow::Break(()),
                        _ => ControlFlow::Continue(()),
                    }
                });
        }
    }
    let (mut numbers, mut accesses, mut uses): (Vec<u32>, _, Vec<Use>) = (Vec::new(), Vec::new(), Vec::new());
    // Neighboring cells often have the same spots.
    let (mut numbers_before, mut table, mut sites) = (Vec::new(), PairNumbers::of(0), Sites::of(Vec::new()));
    for (cell, _) in (0..).zip(is_open).filter(|(_, is_open)| *is_open) {
        spots.in_order(cell, &mut numbers, &mut accesses);
        uses.clear();
        let held = |event| contexts.of_access(event);
        uses.extend(accesses.iter().map(|&(event, number)| (event, held(event), number)));
        let number = |a: u32, b: u32| spots.open_candidate(numbers[a as usize], numbers[b as usize]);
        if numbers != numbers_before {
            sites = Sites::of(numbers.iter().map(|&spot| spots.list[spot as usize].thread()).collect());
            table = PairNumbers::of(numbers.len());
            table.fill(number);
            numbers_before.clone_from(&numbers);
        }
        let number = |a: u32, b: u32| table.get(a, b, || number(a, b));
        search.cell(&sites, number, &uses, found);
    }
}

/// How many pairs of positions conflict, in memory for the positions alone; `freed`: where something is freed.
fn count(spots: &Spots, crowded: &[Crowded], freed: bool) -> usize {
    let mut parts_at: HashMap<CodePosition, Vec<(u32, u32)>> = HashMap::new();
    spots.each_part(|cell, spot| {
        let position = spots.list[spot as usize].key.1;
        parts_at.entry(position).or_default().push((cell, spot));
    });
    let mut groups_at: HashMap<CodePosition, Vec<(&Crowded, u32)>> = HashMap::new();
    for cell in crowded {
        for group in 0..cell.groups() as u32 {
            let at = groups_at.entry(cell.site_of(group).pc).or_default();
            at.push((cell, group));
        }
    }
    let positions: HashSet<CodePosition> = parts_at.keys().chain(groups_at.keys()).copied().collect();
    let mut partners = HashSet::new();
    let mut all = 0;
    for position in positions {
        partners.clear();
        for &part in parts_at.get(&position).into_iter().flatten() {
            spots.each_partner(part, freed, |place| {
                if place >= position {
                    partners.insert(place);
                }
            });
        }
        for &(cell, group) in groups_at.get(&position).into_iter().flatten() {
            for other in 0..cell.groups() as u32 {
                let place = cell.site_of(other).pc;
                if place >= position && !partners.contains(&place) && cell.is_pair(group, other, freed) {
                    partners.insert(place);
                }
            }
        }
        all += partners.len();
    }
    all
}

/// Two positions, the smaller first.
fn positions_of(a: CodePosition, b: CodePosition) -> (CodePosition, CodePosition) {
    (a.min(b), a.max(b))
}
