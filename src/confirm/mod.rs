//! Decides which pairs of a trace a question means, and answers it.
//!
//! A question names two accesses: as another tool's warning describes them, or by their numbers in the trace. Or it
//! names the acquisitions of locks by which threads are said to wait for each other. `matching` matches the
//! descriptions with places in the trace. The analysis decides the resulting pairs alone, or cycles, distinguished by
//! call stack and variable (`scope`). The verdicts of all pairs that a question may mean make its answer. An uncertain
//! match is called a guess; if several matches would give different verdicts, the answer is *ambiguous*.

mod answer;
mod attached_warnings;
mod frames;
mod matching;
mod outcome;
mod related_races;
mod results;
mod scope;
mod standstill;
mod suppressed;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Finding, Unmatched};
pub use matching::{How, Place};
pub use outcome::{Class, Confirmed, Outcome, Run, decided};
pub use results::{ConfirmResults, ConfirmSummary, OtherResult, SCHEMA, SideResult, WarningResult};
pub use suppressed::Suppressed;
pub use text::Text;
pub use words::described;

use crate::analyze::{Options, Order, analyze_within};
use crate::semantics::locks::Step;
use crate::symbols::Symbols;
use crate::trace::{EventId, Trace};
use crate::verdict::Analysis;
use crate::warnings::{Kind, Location, Side, Stack, Warning};
use frames::is_intercepted;
use hashbrown::HashMap;
use matching::Spots;
use scope::Asked;

/// What somebody asks about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Whether the sides race, or wait for each other.
    pub about: About,
    /// The two accesses, or the acquisitions each of which waits for a lock that the thread of the next one holds. One
    /// acquisition alone stands for each cycle that it is part of.
    pub sides: Vec<Sought>,
    /// The global variable that they are said to share.
    pub variable: Option<String>,
}

/// How the sides of a question stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// They are two accesses that race.
    Race,
    /// They are acquisitions that wait for each other for ever.
    Deadlock,
}

/// One access or acquisition that somebody asks about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sought {
    /// As a report describes it. Without a stack, any access that conflicts with the other side is meant.
    Described(Side),
    /// This access.
    Event(EventId),
}

impl Question {
    /// What a warning asks.
    #[must_use]
    pub fn of(warning: &Warning) -> Question {
        // Threads have other names in a trace; without them, what was warned of twice is asked once.
        let sought = |side: Side| {
            Sought::Described(Side {
                thread: None,
                size: None,
                ..side
            })
        };
        let about = match warning.kind {
            Kind::LockOrder => About::Deadlock,
            _ => About::Race,
        };
        // An acquisition without a place is as good as none; an access without one is any that conflicts.
        let has_place = |side: &&Side| match &side.stack {
            _ if about == About::Race => true,
            Stack::Frames(frames) => !frames.iter().all(is_intercepted),
            Stack::NotGiven | Stack::NotRestored => false,
        };
        Question {
            about,
            sides: warning.sides.iter().filter(has_place).cloned().map(sought).collect(),
            variable: match &warning.location {
                Some(Location::Global { name }) => Some(name.clone()),
                _ => None,
            },
        }
    }
}

/// The answers, and the analysis that they refer to.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// The verdicts on all pairs that were meant.
    pub analysis: Analysis,
    /// One answer for each question.
    pub answers: Vec<Answer>,
}

/// Answers questions about a trace.
#[must_use]
pub fn confirm(trace: &Trace, symbols: &Symbols<'_>, questions: &[Question], options: &Options) -> Confirmation {
    decide(trace, symbols, questions, options).1
}

/// As [`confirm`], and looks for races related to the questions that are refuted ([`Answer::related_race`]). What is
/// asked several times is decided once.
#[must_use]
pub fn confirm_all(trace: &Trace, symbols: &Symbols<'_>, questions: &[Question], options: &Options) -> Confirmation {
    let mut numbers: HashMap<&Question, usize> = HashMap::new();
    let mut unique: Vec<Question> = Vec::new();
    let rows: Vec<usize> = questions
        .iter()
        .map(|question| {
            *numbers.entry(question).or_insert_with(|| {
                unique.push(question.clone());
                unique.len() - 1
            })
        })
        .collect();
    let (asked, mut confirmation) = decide(trace, symbols, &unique, options);
    related_races::find(trace, symbols, &asked, options, &mut confirmation);
    confirmation.answers = rows.iter().map(|&row| confirmation.answers[row].clone()).collect();
    confirmation
}

/// An order as somebody names it: no access at the second place before the first one at the first. Places that are but
/// a guess do not count.
///
/// # Errors
/// Which of the two is not in the trace.
pub fn order(trace: &Trace, symbols: &Symbols<'_>, name: &str, sides: [Side; 2]) -> Result<Order, [bool; 2]> {
    let question = Question {
        about: About::Race,
        sides: sides.map(Sought::Described).into(),
        variable: None,
    };
    let spots = Spots::of_accesses(trace, symbols);
    let of_acquisitions = Spots::of_acquisitions(trace, symbols, &[]);
    let asked = Asked::of(trace, symbols, (&spots, &of_acquisitions), &[], &[question]);
    let events = |side: usize| {
        let choices = asked.choices[0][side].iter().map(|&choice| choice as usize);
        let certain = choices.filter(|&choice| !asked.places[choice].is_guess());
        let mut events: Vec<EventId> = certain.flat_map(|choice| asked.events[choice].clone()).collect();
        events.sort_unstable();
        events.dedup();
        events
    };
    let (first, then) = (events(0), events(1));
    if first.is_empty() || then.is_empty() {
        return Err([first.is_empty(), then.is_empty()]);
    }
    Ok(Order {
        name: name.to_owned(),
        first,
        then,
    })
}

fn decide(trace: &Trace, symbols: &Symbols<'_>, questions: &[Question], options: &Options) -> (Asked, Confirmation) {
    let spots = Spots::of_accesses(trace, symbols);
    let acquisitions = match questions.iter().any(|question| question.about == About::Deadlock) {
        true => acquisitions(trace),
        false => Vec::new(),
    };
    let of_acquisitions = Spots::of_acquisitions(trace, symbols, &acquisitions);
    let asked = Asked::of(trace, symbols, (&spots, &of_acquisitions), &acquisitions, questions);
    let analysis = analyze_within(trace, options, &asked.scope);
    let answers = (0..questions.len()).map(|question| answer::answer(trace, &asked, &analysis, question));
    let answers = answers.collect();
    (asked, Confirmation { analysis, answers })
}

/// The operations by which threads take locks, or try to.
fn acquisitions(trace: &Trace) -> Vec<EventId> {
    let acquires = |event: &EventId| match Step::of(trace.op(*event)) {
        Some((_, step)) => step.takes() || matches!(step, Step::FindHeld { .. }),
        None => false,
    };
    trace.events().filter(acquires).collect()
}
