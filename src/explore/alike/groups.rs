//! Which histories of threads are taken to go on alike.
//!
//! Two histories are in one group if their threads stand at the same place, before the same operation, and the words
//! that matter there are equal, of those that the threads [show](Forest::picture). Which words matter is learnt: at
//! first, none. Where two histories of one group went on differently after the same outcome, some word has to tell them
//! apart. The one is taken that leaves the fewest such differences at that place, and makes the fewest groups for it;
//! then the next, until all that runs have shown is explained, or no word explains it.
//!
//! Where a thread shows nothing, its history is told by the group of the one before it and the outcome since. So is
//! that of a thread that forks others, since these are named by it.

use crate::forest::{Forest, Next, NodeId, Operation, Outcome, TreeId, ValueId};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// No group: nobody knows what the thread does next.
pub(in crate::explore) const NO_GROUP: u32 = u32::MAX;

/// Words of a picture that say where its thread stands: where it goes on, and how much of its stack there is.
const PLACE_WORDS: usize = 2;

/// Which words matter at each place, as far as has been learnt.
#[derive(Clone, Debug, Default)]
pub(in crate::explore) struct Matters {
    places: HashMap<Place, u32>,
    /// Of each place, in the order in which they were learnt.
    words: Vec<Vec<u16>>,
    /// As many histories there were when it was last learnt from none.
    learnt_at: usize,
}

/// A place that a thread shows itself at, or stands at a few steps of its own later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    shown: [u32; PLACE_WORDS],
    position: u64,
    steps: u32,
}

/// Groups of histories.
pub(in crate::explore) struct Groups {
    /// Of each node its group; of those that were left out, and where nothing is known, [`NO_GROUP`].
    pub of: Vec<u32>,
    /// How many there are.
    pub count: u32,
}

/// What tells groups apart.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// Of a thread that has shown itself: the place, what it does next, the words that matter.
    Shown(u32, Next, Box<[u32]>),
    /// Else: the group before it, the outcome there, and what it does next.
    After(u32, Outcome, Next),
    /// All threads that have ended, or end the program, are alike, and so are those that are about to.
    Over(Next),
    First(TreeId),
}

/// A node that is not left out.
struct Row {
    node: NodeId,
    next: Next,
    /// What its thread has shown last, if it has done nothing since that others could tell: a place, and by which node.
    shown: Option<(u32, NodeId)>,
    /// The node before it that is not left out, and the outcome there.
    before: Option<(NodeId, Outcome)>,
    tree: TreeId,
}

/// Where an outcome has led: the group after it, and what was written.
type Led = (u32, Option<ValueId>);

/// An outcome of a node: where it leads.
struct Step {
    row: u32,
    outcome: Outcome,
    to: NodeId,
    wrote: Option<ValueId>,
}

impl Groups {
    /// Groups the nodes, but for those that are `passed` by, each of which is taken for the next one.
    pub(in crate::explore) fn of(forest: &Forest, passed: &[bool], matters: &mut Matters) -> Groups {
        let count = forest.nodes().len();
        // What fits much more than it was learnt from is learnt anew: words that only seemed to matter are dropped.
        if count > 2 * matters.learnt_at {
            matters.learnt_at = count;
            matters.words.iter_mut().for_each(Vec::clear);
        }
        let histories = Histories::of(forest, passed, matters);
        let mut hopeless = HashSet::new();
        loop {
            let groups = histories.group(matters);
            let different = histories.different(&groups);
            let mut learnt = false;
            for (&place, steps) in &different {
                if !hopeless.contains(&place) {
                    match histories.telling_word(forest, &groups, matters, place, steps) {
                        Some(word) => {
                            matters.words[place as usize].push(word);
                            learnt = true;
                        }
                        None => drop(hopeless.insert(place)),
                    }
                }
            }
            if !learnt {
                return groups;
            }
        }
    }
}

/// The forest's nodes, as they are grouped.
struct Histories<'f> {
    forest: &'f Forest,
    rows: Vec<Row>,
    steps: Vec<Step>,
}

impl<'f> Histories<'f> {
    fn of(forest: &'f Forest, passed: &[bool], matters: &mut Matters) -> Histories<'f> {
        let nodes = forest.nodes();
        let forks: HashSet<TreeId> = (nodes.iter())
            .filter(|node| node.operation() == Some(Operation::Fork))
            .map(|node| node.tree)
            .collect();
        // A node that is passed by has one outcome, and comes before the next one.
        let mut onward: Vec<NodeId> = (0..nodes.len() as u32).map(NodeId).collect();
        for index in (0..nodes.len()).rev() {
            if passed[index] {
                onward[index] = onward[nodes[index].edges[0].to.index()];
            }
        }
        let mut before: Vec<Option<(NodeId, Outcome)>> = vec![None; nodes.len()];
        let mut shown: Vec<Option<(u32, NodeId)>> = vec![None; nodes.len()];
        let (mut rows, mut steps) = (Vec::new(), Vec::new());
        for (index, node) in nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            if forest.picture(id).is_some() && !forks.contains(&node.tree) {
                shown[index] = Some((0, id));
            }
            for edge in node
                .edges
                .iter()
                .filter(|edge| nodes[edge.to.index()].parent == Some(id))
            {
                let to = edge.to.index();
                if passed[index] {
                    before[to] = before[index];
                    shown[to] = shown[index].map(|(done, by)| (done + 1, by));
                } else {
                    before[to] = Some((id, edge.outcome));
                }
            }
            if passed[index] {
                continue;
            }
            let row = rows.len() as u32;
            let at = shown[index].map(|(steps, by)| {
                let words = forest.picture(by).unwrap_or_default();
                let place = Place {
                    shown: std::array::from_fn(|word| words.get(word).copied().unwrap_or_default()),
                    position: node.position,
                    steps,
                };
                let place = *matters.places.entry(place).or_insert_with(|| {
                    matters.words.push(Vec::new());
                    matters.words.len() as u32 - 1
                });
                (place, by)
            });
            rows.push(Row {
                node: id,
                next: node.next,
                shown: at,
                before: before[index],
                tree: node.tree,
            });
            steps.extend(node.edges.iter().map(|edge| Step {
                row,
                outcome: edge.outcome,
                to: onward[edge.to.index()],
                wrote: edge.wrote,
            }));
        }
        Histories { forest, rows, steps }
    }

    fn group(&self, matters: &Matters) -> Groups {
        let mut of = vec![NO_GROUP; self.forest.nodes().len()];
        let mut known: HashMap<Key, u32> = HashMap::new();
        for row in &self.rows {
            let key = match (row.next, row.shown, row.before) {
                (Next::Unknown, ..) => continue,
                (Next::Ended | Next::Stops | Next::Operation(Operation::End), ..) => Key::Over(row.next),
                (next, Some((place, by)), _) => {
                    let picture = self.forest.picture(by).unwrap_or_default();
                    let words = &matters.words[place as usize];
                    let words = words
                        .iter()
                        .map(|&word| picture.get(usize::from(word)).copied().unwrap_or(u32::MAX));
                    Key::Shown(place, next, words.collect())
                }
                (next, None, Some((node, outcome))) => Key::After(of[node.index()], outcome, next),
                (_, None, None) => Key::First(row.tree),
            };
            let number = known.len() as u32;
            of[row.node.index()] = *known.entry(key).or_insert(number);
        }
        Groups {
            of,
            count: known.len() as u32,
        }
    }

    /// The steps by which groups go on differently after the same outcome, by the places of their histories.
    fn different(&self, groups: &Groups) -> BTreeMap<u32, Vec<u32>> {
        let mut first: HashMap<(u32, Outcome), (u32, Option<ValueId>)> = HashMap::new();
        let mut differ: HashSet<(u32, Outcome)> = HashSet::new();
        for (group, step, to) in self.known_steps(groups) {
            let known = *first.entry((group, step.outcome)).or_insert((to, step.wrote));
            if known != (to, step.wrote) {
                differ.insert((group, step.outcome));
            }
        }
        let mut at: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, step) in self.steps.iter().enumerate() {
            let row = &self.rows[step.row as usize];
            if let Some((place, _)) = row.shown
                && groups.of[step.to.index()] != NO_GROUP
                && differ.contains(&(groups.of[row.node.index()], step.outcome))
            {
                at.entry(place).or_default().push(number as u32);
            }
        }
        at
    }

    /// The steps that lead to what is known: from which group, and to which.
    fn known_steps<'g>(&'g self, groups: &'g Groups) -> impl Iterator<Item = (u32, &'g Step, u32)> + 'g {
        self.steps.iter().filter_map(|step| {
            let from = groups.of[self.rows[step.row as usize].node.index()];
            let to = groups.of[step.to.index()];
            (from != NO_GROUP && to != NO_GROUP).then_some((from, step, to))
        })
    }

    /// The word that tells best apart what differs at a place; `None` if none does.
    fn telling_word(
        &self,
        forest: &Forest,
        groups: &Groups,
        matters: &Matters,
        place: u32,
        steps: &[u32],
    ) -> Option<u16> {
        let known = &matters.words[place as usize];
        let sample = |number: u32| {
            let step = &self.steps[number as usize];
            let row = &self.rows[step.row as usize];
            let picture = row.shown.and_then(|(_, by)| forest.picture(by)).unwrap_or_default();
            let from = (groups.of[row.node.index()], step.outcome);
            (picture, from, (groups.of[step.to.index()], step.wrote))
        };
        let longest = steps.iter().map(|&number| sample(number).0.len()).max()?;
        let cost = |word: Option<usize>| {
            let mut cells: HashMap<((u32, Outcome), u32), HashMap<Led, u32>> = HashMap::new();
            for &number in steps {
                let (picture, from, to) = sample(number);
                let value = word.map_or(0, |word| picture.get(word).copied().unwrap_or(u32::MAX));
                *cells.entry((from, value)).or_default().entry(to).or_default() += 1;
            }
            let (mut wrong, mut pairs) = (0, 0);
            for ways in cells.values() {
                let all: u32 = ways.values().sum();
                wrong += all - ways.values().max().copied().unwrap_or(0);
                let alike: u64 = ways.values().map(|&count| u64::from(count).pow(2)).sum();
                pairs += u64::from(all).pow(2) - alike;
            }
            (u64::from(wrong) + cells.len() as u64, pairs)
        };
        let (_, all) = cost(None);
        (PLACE_WORDS..longest)
            .filter(|&word| !known.contains(&(word as u16)))
            .map(|word| (cost(Some(word)), word as u16))
            .filter(|&((_, pairs), _)| pairs < all)
            .min()
            .map(|(_, word)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::{Patience, Run, RunOperation, RunPlace, RunStep, RunValue, Stands};

    const STALE: u64 = 77;

    /// A thread reads two variables, and then writes what it read first. It shows that, if it `shows` it, and some other
    /// word that makes no difference to it.
    fn run(first: u64, second: u64, shows: bool) -> Run {
        let at = |offset| RunPlace { block: None, offset };
        let load = |offset, saw| RunOperation::AtomicLoad {
            at: at(offset),
            size: 8,
            saw: RunValue::Number(saw),
        };
        let store = RunOperation::AtomicStore {
            at: at(24),
            size: 8,
            value: RunValue::Number(first),
        };
        let operations = [load(8, first), load(16, second), store, RunOperation::Fence];
        let step = |number: usize| RunStep {
            thread: 0,
            operation: operations[number],
            position: number as u64 + 1,
            patience: Patience::Unknown,
            order: None,
            own_state: None,
            picture: Some(number as u32),
        };
        let picture = |number: usize| -> Box<[u64]> {
            let kept = if shows && number > 0 { first } else { 0 };
            let stale = if number == 0 { STALE } else { 10 * first + second };
            Box::new([number as u64, 0, kept, stale])
        };
        Run {
            threads: vec![Stands::Ended],
            steps: (0..operations.len()).map(step).collect(),
            pictures: (0..operations.len()).map(picture).collect(),
            ..Run::default()
        }
    }

    /// How many groups there are of the histories before each operation.
    fn groups_at(runs: &[Run]) -> Vec<usize> {
        let mut forest = Forest::new();
        for run in runs {
            assert_eq!(forest.add(run).nondeterministic, None);
        }
        let passed = vec![false; forest.nodes().len()];
        let groups = Groups::of(&forest, &passed, &mut Matters::default());
        let at = |position| {
            let nodes = forest.nodes().iter().zip(&groups.of);
            let here = nodes.filter(|(node, _)| node.position == position);
            here.map(|(_, group)| group).collect::<HashSet<_>>().len()
        };
        (1..5).map(at).collect()
    }

    fn runs(shows: bool) -> Vec<Run> {
        let values = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        values.map(|(first, second)| run(first, second, shows)).into()
    }

    #[test]
    fn a_word_matters_where_histories_go_on_differently() {
        // What was read first is told apart until it is written, what was read second nowhere.
        assert_eq!(groups_at(&runs(true)), [1, 3, 3, 1]);
    }

    #[test]
    fn before_anything_differs_histories_are_alike() {
        assert_eq!(groups_at(&runs(true)[..2]), [1, 1, 1, 1]);
    }

    #[test]
    fn where_no_word_of_its_own_tells_another_one_has_to() {
        // The other word tells all histories apart.
        let groups = groups_at(&runs(false));
        assert_eq!(groups[1..], [3, 3, 1], "{groups:?}");
    }

    #[test]
    fn threads_that_show_nothing_are_known_by_their_histories() {
        let mut runs = runs(true);
        for step in runs.iter_mut().flat_map(|run| &mut run.steps) {
            step.picture = None;
        }
        assert_eq!(groups_at(&runs), [1, 3, 6, 6]);
    }
}
