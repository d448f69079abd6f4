//! Races related to refuted warnings: in the same functions, reached through the same calls, on the same memory.
//!
//! A warning names two accesses and often stands for more: ThreadSanitizer remembers one access of a thread to a cell,
//! and compilers leave out the read of `x++`. If the named accesses cannot meet because of a value that was read
//! before, that read may race itself. The warning stays refuted, since its verdict claims no more than the warning
//! says; the related race is reported with it.

use super::Confirmation;
use super::answer::{Finding, decided};
use super::matching::How;
use super::scope::{Asked, ChoiceId};
use crate::analyze::{Options, analyze_within};
use crate::symbols::Symbols;
use crate::trace::{CellId, CodePosition, EventId, StackId, Trace};
use crate::verdict::{Analysis, Verdict};
use hashbrown::{HashMap, HashSet};

/// A side of one of the questions.
type Side = (usize, usize);

/// Looks for races related to the questions that `confirmation` refutes, and adds them to it. `asked` is what it was
/// found with.
pub(super) fn find(
    trace: &Trace,
    symbols: &Symbols<'_>,
    asked: &Asked,
    options: &Options,
    confirmation: &mut Confirmation,
) {
    let is_refuted = |question: &usize| match &confirmation.answers[*question].finding {
        // The first pair speaks for all; a witness or an unknown one would come before a refuted one.
        Finding::Pairs(pairs) => matches!(
            confirmation.analysis.pairs[pairs[0]].verdict,
            Verdict::Refuted(_) | Verdict::NotInTrace(_)
        ),
        Finding::Deadlocks(_)
        | Finding::Ended(_)
        | Finding::BothAtomic(..)
        | Finding::Attempt(_)
        | Finding::Unknown(_) => false,
    };
    let refuted: Vec<usize> = (0..confirmation.answers.len()).filter(is_refuted).collect();
    if refuted.is_empty() {
        return;
    }
    let near = near(trace, symbols, asked, &refuted);
    let analysis = analyze_within(trace, options, &near.scope);
    for (row, &question) in (0..).zip(&refuted) {
        let [a, b] = [2 * row, 2 * row + 1];
        let found = decided(&near, &analysis, a, b);
        let witnessed = found.first().filter(|&&pair| is_witnessed(&analysis, pair));
        if let Some(&pair) = witnessed {
            let number = add(&mut confirmation.analysis, &analysis, pair);
            confirmation.answers[question].related_race = Some(number);
        }
    }
    confirmation.analysis.rejected.extend(analysis.rejected);
}

fn is_witnessed(analysis: &Analysis, pair: usize) -> bool {
    matches!(analysis.pairs[pair].verdict, Verdict::Witnessed(_))
}

/// The row of a pair in `all`, to which it is added if it is not there.
fn add(all: &mut Analysis, found: &Analysis, pair: usize) -> usize {
    let pair = &found.pairs[pair];
    let same = |(row, known): (usize, &crate::verdict::Pair)| {
        (known.positions == pair.positions && is_witnessed(all, row)).then_some(row)
    };
    all.pairs.iter().enumerate().find_map(same).unwrap_or_else(|| {
        all.pairs.push(pair.clone());
        all.pairs.len() - 1
    })
}

/// For each of some questions, what is accessed of its memory in the activations of each side.
fn near(trace: &Trace, symbols: &Symbols<'_>, asked: &Asked, questions: &[usize]) -> Asked {
    let mut functions: HashMap<CodePosition, Option<String>> = HashMap::new();
    let mut activation = |event: EventId| -> Option<(String, StackId)> {
        let pc = trace.pc(event);
        let function = functions
            .entry(pc)
            .or_insert_with(|| symbols.frames(pc).first().and_then(|frame| frame.function.clone()));
        function.clone().map(|function| (function, trace.stack(event)))
    };
    let mut cells: HashMap<CellId, HashSet<usize>> = HashMap::new();
    let mut in_activation: HashMap<(String, StackId), HashSet<Side>> = HashMap::new();
    let mut anywhere: HashSet<Side> = HashSet::new();
    for (row, &question) in questions.iter().enumerate() {
        for (side, choices) in asked.choices[question].iter().enumerate() {
            if choices
                .iter()
                .any(|&choice| asked.places[choice as usize].how == How::Partner)
            {
                anywhere.insert((row, side));
                continue;
            }
            for &event in choices.iter().flat_map(|&choice| &asked.events[choice as usize]) {
                for used in trace.cell_uses(event) {
                    cells.entry(used.cell).or_default().insert(row);
                }
                if let Some(activation) = activation(event) {
                    in_activation.entry(activation).or_default().insert((row, side));
                }
            }
        }
    }
    let mut events: Vec<Vec<EventId>> = vec![Vec::new(); 2 * questions.len()];
    for access in trace.accesses() {
        let rows: HashSet<usize> = trace
            .uses(access)
            .filter_map(|used| cells.get(&used.cell))
            .flatten()
            .copied()
            .collect();
        if rows.is_empty() {
            continue;
        }
        let sides = activation(access.event).and_then(|activation| in_activation.get(&activation));
        for &row in &rows {
            for side in 0..2 {
                let here = (row, side);
                if anywhere.contains(&here) || sides.is_some_and(|sides| sides.contains(&here)) {
                    events[2 * row + side].push(access.event);
                }
            }
        }
    }
    let choices = (0..questions.len() as ChoiceId).map(|row| vec![vec![2 * row], vec![2 * row + 1]]);
    Asked::of_events(trace, choices.collect(), events)
}
