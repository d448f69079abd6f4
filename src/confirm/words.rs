//! Explains the answer to a warning, in words.

use super::frames::{is_intercepted, leads_to_a_lock};
use super::{Confirmed, Finding, How, Unmatched};
use crate::results::{refutation_name, unknown_name};
use crate::symbols::printable;
use crate::verdict::Verdict;
use crate::warnings::{Frame, Kind, Side, Stack};

/// Another place that a reason names before it only counts the rest.
const LISTED: usize = 4;

/// An access, or an acquisition, as its report has it: `write by thread T2: holds_b /tmp/demo/wrong_lock.c:28`.
#[must_use]
pub fn described(side: &Side) -> String {
    let atomic = if side.atomic == Some(true) { "atomic " } else { "" };
    let action = match side.writes {
        _ if side.acquires => "acquisition of a lock",
        Some(true) => "write",
        Some(false) => "read",
        None => "access",
    };
    let thread = side
        .thread
        .as_ref()
        .map_or_else(String::new, |thread| format!(" by {thread}"));
    let place = match &side.stack {
        Stack::NotGiven => "its place is not in the report".to_owned(),
        Stack::NotRestored => "the tool has forgotten its place".to_owned(),
        Stack::Frames(frames) => {
            let is_own = |frame: &&Frame| match side.acquires {
                true => !leads_to_a_lock(frame),
                false => !is_intercepted(frame),
            };
            let frame = frames.iter().find(is_own);
            let through = frames.first().filter(|first| Some(*first) != frame);
            let through = through.and_then(|first| first.function.as_ref());
            let through = through.map_or_else(String::new, |function| format!(", in {function}"));
            format!("{}{through}", frame.unwrap_or(&frames[0]))
        }
    };
    printable(&format!("{atomic}{action}{thread}: {place}")).into_owned()
}

impl Confirmed<'_> {
    /// The name of the reason: that of the verdict, or why there is none; `None` for a witness.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        if self.is_covered() {
            return Some("all schedules");
        }
        Some(match &self.answer.finding {
            Finding::Pairs(_) | Finding::Deadlocks(_) => match self.verdict()? {
                Verdict::Witnessed(_) => return None,
                Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => refutation_name(refutation),
                Verdict::Unknown(unknown) => unknown_name(unknown),
            },
            Finding::Ended(_) => return None,
            Finding::BothAtomic(..) => "both atomic",
            Finding::Attempt(_) => "attempt",
            Finding::Unknown(why) => match why {
                Unmatched::NotInTrace(_) => "not in this trace",
                Unmatched::Allocation => "allocation",
                Unmatched::NotGiven => "no places given",
                Unmatched::NoSharedMemory => "no shared memory",
                Unmatched::OneThread(_) => "one thread",
                Unmatched::OnlyReads => "only reads",
                Unmatched::NoCycle { .. } => "no cycle",
                Unmatched::NotLookedAt => "cycles",
                Unmatched::Ambiguous(_) => "ambiguous",
            },
        })
    }

    /// The reason, one fact a sentence; none for a witness.
    #[must_use]
    pub fn explanation(&self) -> Vec<String> {
        let words = self.findings.words();
        if self.is_covered() {
            return self.by_all_schedules();
        }
        match &self.answer.finding {
            Finding::Pairs(pairs) => {
                let mut sentences = self.pair().map_or_else(Vec::new, |pair| words.explanation(pair));
                if pairs.len() > 1 && self.witness().is_none() {
                    let mut reasons: Vec<&str> = pairs[1..]
                        .iter()
                        .filter_map(|&pair| match &self.findings.analysis.pairs[pair].verdict {
                            Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => {
                                Some(refutation_name(refutation))
                            }
                            Verdict::Unknown(unknown) => Some(unknown_name(unknown)),
                            Verdict::Witnessed(_) => None,
                        })
                        .collect();
                    reasons.sort_unstable();
                    reasons.dedup();
                    let plural = if pairs.len() == 2 { "pair" } else { "pairs" };
                    sentences.push(format!(
                        "{} more {plural} of instructions there: {}",
                        pairs.len() - 1,
                        reasons.join(", ")
                    ));
                }
                sentences
            }
            Finding::Deadlocks(rows) => {
                let deadlock = &self.findings.analysis.deadlocks[rows[0]];
                words.explanation_of_deadlock(deadlock)
            }
            Finding::BothAtomic(a, b) => vec![format!(
                "both accesses are atomic, which is no data race: {}; {}",
                words.sentence(*a),
                words.sentence(*b)
            )],
            Finding::Ended(waits) => {
                let mut sentences = vec!["the recorded run itself ended in this deadlock".to_owned()];
                sentences.extend(waits.iter().cloned());
                sentences
            }
            Finding::Attempt(event) => vec![format!(
                "{} only tries to take {}, at {}, and goes on without it",
                words.thread(words.trace.thread(*event)),
                words.awaited(*event, &[]),
                words.place(*event)
            )],
            Finding::Unknown(why) => vec![self.unmatched(why)],
        }
    }

    /// Why a race that no trace shows is impossible, and what that rests on.
    fn by_all_schedules(&self) -> Vec<String> {
        let all = self.exploration.expect("all schedules were covered");
        let assumed: String = all.assumed.iter().map(|what| format!(", with {what}")).collect();
        let mut sentences = vec![format!(
            "every schedule of this input was covered, {}, under sequential consistency{assumed}: {}",
            all.size(),
            match self.warning.kind {
                Kind::Race => "none brings the two accesses together",
                _ => "in none do threads wait for each other",
            }
        )];
        match &self.answer.finding {
            Finding::Unknown(Unmatched::NotInTrace(missing)) => {
                let sides = self.warning.sides.iter().zip(missing).filter(|(_, missing)| **missing);
                let sides: Vec<String> = sides.map(|(side, _)| described(side)).collect();
                sentences.push(format!("never executed: {}", sides.join("; and ")));
            }
            Finding::Unknown(why) => sentences.push(self.unmatched(why)),
            Finding::Pairs(_)
            | Finding::Deadlocks(_)
            | Finding::Ended(_)
            | Finding::BothAtomic(..)
            | Finding::Attempt(_) => {}
        }
        sentences
    }

    fn unmatched(&self, why: &Unmatched) -> String {
        match why {
            Unmatched::NotInTrace(missing) if self.exploration.is_some() => {
                let sides = self.warning.sides.iter().zip(missing).filter(|(_, missing)| **missing);
                let told = sides.map(|(side, _)| {
                    let what = if self.exists(side) {
                        "no run has executed it"
                    } else {
                        "the program's debug information has no such place"
                    };
                    format!("{}: {what}", described(side))
                });
                told.collect::<Vec<String>>().join("; ")
            }
            Unmatched::NotInTrace(missing) => {
                let sides = self.warning.sides.iter().zip(missing).filter(|(_, missing)| **missing);
                let sides: Vec<String> = sides.map(|(side, _)| described(side)).collect();
                format!(
                    "not in this trace: {}; another run may get there (--run tries some)",
                    sides.join("; and ")
                )
            }
            Unmatched::Allocation => {
                "one side is the allocation of the memory, which is not an access in a trace: each use comes after it"
                    .to_owned()
            }
            Unmatched::NotGiven if self.warning.kind == Kind::LockOrder => {
                "the report does not say where the locks are acquired".to_owned()
            }
            Unmatched::NotGiven => "the report gives the place of neither access".to_owned(),
            Unmatched::NoSharedMemory => {
                "both places are in this trace, but never access the same memory in it".to_owned()
            }
            Unmatched::OneThread(thread) if self.warning.kind == Kind::LockOrder => format!(
                "in this trace, only {} acquires locks at these places, and one thread does not wait for itself",
                self.findings.words().thread(*thread)
            ),
            Unmatched::NoCycle { readers } => {
                let beside = match readers {
                    true => {
                        " (readers do not wait for readers; that one waits behind a writer that waits is not looked at)"
                    }
                    false => "",
                };
                format!(
                    "all of these places are in this trace, but nowhere does each thread want a lock that the next one holds there{beside}"
                )
            }
            Unmatched::NotLookedAt => {
                "this analysis has not looked at all cycles of locks: they are too many, or it is one of whole traces"
                    .to_owned()
            }
            Unmatched::OneThread(thread) => format!(
                "both places are in this trace, but only {} accesses the same memory at both",
                self.findings.words().thread(*thread)
            ),
            Unmatched::OnlyReads => {
                "both places are in this trace, but neither writes to the memory that both access".to_owned()
            }
            Unmatched::Ambiguous(choices) => {
                let listed: Vec<String> = choices.iter().take(LISTED).map(|places| places.join(" and ")).collect();
                let more = choices.len().saturating_sub(LISTED);
                let more = if more > 0 {
                    format!(", or {more} more")
                } else {
                    String::new()
                };
                format!(
                    "ambiguous: it may mean {}{more}, and their verdicts differ; `witness explain` decides each",
                    listed.join(", or ")
                )
            }
        }
    }

    /// What has to be known of how the places were found; the first words say if it is a guess.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (side, place) in self.warning.sides.iter().zip(&self.answer.places) {
            let Some(place) = place else { continue };
            match place.how {
                How::Drift { by } => {
                    let lines = by.unsigned_abs();
                    notes.push(format!(
                        "a guess: {}, {lines} line{} {}, is used for {}",
                        place.at,
                        if lines == 1 { "" } else { "s" },
                        if by > 0 { "further down" } else { "further up" },
                        described(side)
                    ));
                }
                How::Partner => {
                    if let Some(pair) = self.pair() {
                        let words = self.findings.words();
                        let known = self
                            .answer
                            .places
                            .iter()
                            .flatten()
                            .find(|place| place.how != How::Partner);
                        let events = [pair.example.0, pair.example.1];
                        // The event that is not at the known place, or either if both are there.
                        let symbols = words.symbols;
                        let other = events
                            .iter()
                            .find(|&&event| known.is_none_or(|known| symbols.place(words.trace.pc(event)) != known.at));
                        let event = *other.unwrap_or(&events[1]);
                        let found = match &self.answer.finding {
                            Finding::Pairs(pairs) if pairs.len() > 1 => format!("{} pairs, one with", pairs.len()),
                            _ => "found in the trace:".to_owned(),
                        };
                        notes.push(format!(
                            "the report does not say where the other access is; {found} {}",
                            words.place(event)
                        ));
                    }
                }
                _ if place.moved => notes.push(format!(
                    "a guess: {} is in another folder than in the report, and there is no function to compare",
                    place.at
                )),
                _ => {}
            }
            if place.other_kind {
                notes.push(format!(
                    "the trace has no such access at {}; its other accesses there are used instead",
                    place.at
                ));
            }
        }
        notes
    }
}
