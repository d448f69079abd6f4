//! The text form of a schedule: short, versioned, printable.
//!
//! ```text
//! witness-schedule 1
//! trace 5f0c6a1e0b8d4f3a9c2e7d6b1a0f4e3d
//! kind co-enabled
//! race 5 17
//! t0 x12
//! t2 x3
//! wake 14 t1
//! end
//! ```
//!
//! One item a line, in this order; `#` starts a comment, and blank lines count for nothing.
//!
//! | line | meaning |
//! |---|---|
//! | `witness-schedule VERSION` | what the file is; this is version 1 |
//! | `trace ID` | the trace that it belongs to, 32 hexadecimal digits |
//! | `first-events xCOUNT`, or none | it is a schedule of the first COUNT events of the trace alone, at least 1, as if the trace were cut there |
//! | `kind KIND` | what it shows at its end: `co-enabled`, `unordered`, `other-value`, `deadlock`, `use-after-free`, `atomicity-violation`, `torn-pair`, `order`, `stale-pointer` or `partial-deadlock` |
//! | `race EVENT EVENT`, of the first two kinds | the two racing events, by their number in the trace |
//! | `read EVENT sees VALUE`, of the third | the read, and the value that it would see; `?`: one that the trace does not tell |
//! | `waiting EVENT …`, of the fourth and the last | the operations that wait for each other, at least 1, ascending |
//! | `freed-by EVENT accessed-by EVENT`, of the fifth | the free, and the access of what it freed |
//! | `from EVENT to EVENT interrupted-by EVENT`, of the sixth | two accesses of one thread, and the other thread's that comes between; `next-to` instead of `interrupted-by`: that is still to come |
//! | `from EVENT to EVENT torn-by EVENT and EVENT`, of the seventh | two reads of one thread, and the other thread's writes of what they read; `half-by` instead of `torn-by`: only the write that comes first has happened |
//! | `early EVENT before EVENT …`, of the eighth | the access that is next, and those of which none has happened, at least 1, ascending |
//! | `read EVENT sees VALUE freed-by EVENT`, of the ninth | the read, the address that it would see, and the free of the block there |
//! | `as-recorded xCOUNT`, or none | the first COUNT events of the trace, in its order, at least 1 |
//! | `tTHREAD xCOUNT`, any number | a slice: the thread performs its next COUNT events, at least 1 |
//! | `wake EVENT tTHREAD`, any number | the notify EVENT wakes THREAD |
//! | `end` | nothing was lost: a file without it is cut, not shorter |
//!
//! Numbers are decimal and fit 32 bits, values 64.
//!
//! ```
//! use schedule_format::Schedule;
//!
//! let text = "witness-schedule 1\n\
//!             trace 5f0c6a1e0b8d4f3a9c2e7d6b1a0f4e3d\n\
//!             kind co-enabled\n\
//!             race 5 17\n\
//!             t0 x12\n\
//!             end\n";
//! let schedule: Schedule = text.parse().unwrap();
//! assert_eq!(schedule.to_string(), text);
//!
//! let cut = text.replace("end\n", "").parse::<Schedule>().unwrap_err();
//! assert!(cut.to_string().starts_with("line 5: the schedule is cut"));
//! ```

use crate::{Goal, Schedule, Slice};
use std::fmt;
use std::str::{FromStr, SplitAsciiWhitespace};
use trace_format::{EventId, ThreadId, TraceId};

/// The version that this file writes, and the only one that it reads.
pub const VERSION: u32 = 1;

/// The kinds of goals.
const CO_ENABLED: &str = "co-enabled";
const UNORDERED: &str = "unordered";
const OTHER_VALUE: &str = "other-value";
const DEADLOCK: &str = "deadlock";
const PARTIAL_DEADLOCK: &str = "partial-deadlock";
const USE_AFTER_FREE: &str = "use-after-free";
const ATOMICITY_VIOLATION: &str = "atomicity-violation";

/// Whether the access that comes between has happened.
const INTERRUPTED_BY: &str = "interrupted-by";
const NEXT_TO: &str = "next-to";
const TORN_PAIR: &str = "torn-pair";

/// Whether both writes of a pair have happened.
const TORN_BY: &str = "torn-by";
const HALF_BY: &str = "half-by";
const ORDER: &str = "order";
const STALE_POINTER: &str = "stale-pointer";

/// A text that is no schedule, with the line where that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct ParseScheduleError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub cause: Malformed,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Another line was due.
    #[error("expected `{expected}`, found `{found}`")]
    Expected {
        /// The form of the line that was due.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// The text ends before its end mark.
    #[error("the schedule is cut: expected `{expected}`, found the end of the file")]
    Cut {
        /// The form of the line that was due.
        expected: &'static str,
    },
    /// The format is newer than this program.
    #[error("format version {version} is not known; this program reads version {VERSION}")]
    Version {
        /// The version that the file names.
        version: u32,
    },
    /// The kind is not known.
    #[error(
        "`{kind}` is not a kind of goal; known: {CO_ENABLED}, {UNORDERED}, {OTHER_VALUE}, {DEADLOCK}, {USE_AFTER_FREE}, \
         {ATOMICITY_VIOLATION}, {TORN_PAIR}, {ORDER}, {STALE_POINTER}, {PARTIAL_DEADLOCK}"
    )]
    Kind {
        /// What stands there.
        kind: String,
    },
    /// The trace id is none.
    #[error("`{id}` is not a trace id: {why}")]
    Trace {
        /// What stands there.
        id: String,
        /// Why not.
        why: String,
    },
    /// Something follows the end mark.
    #[error("`{found}` after the end")]
    AfterEnd {
        /// What.
        found: String,
    },
}

impl Goal {
    /// What the text calls its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Goal::Race(..) => CO_ENABLED,
            Goal::UnorderedRace(..) => UNORDERED,
            Goal::OtherValue { .. } => OTHER_VALUE,
            Goal::Deadlock(_) => DEADLOCK,
            Goal::PartialDeadlock(_) => PARTIAL_DEADLOCK,
            Goal::UseAfterFree { .. } => USE_AFTER_FREE,
            Goal::AtomicityViolation { .. } => ATOMICITY_VIOLATION,
            Goal::TornPair { .. } => TORN_PAIR,
            Goal::Order { .. } => ORDER,
            Goal::StalePointer { .. } => STALE_POINTER,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "witness-schedule {VERSION}")?;
        writeln!(f, "trace {}", self.trace)?;
        if let Some(first) = self.first_events {
            writeln!(f, "first-events x{first}")?;
        }
        writeln!(f, "kind {}", self.goal.kind())?;
        match &self.goal {
            Goal::Race(a, b) | Goal::UnorderedRace(a, b) => writeln!(f, "race {} {}", a.0, b.0)?,
            Goal::OtherValue {
                read,
                value: Some(value),
            } => writeln!(f, "read {} sees {value}", read.0)?,
            Goal::OtherValue { read, value: None } => writeln!(f, "read {} sees ?", read.0)?,
            Goal::StalePointer { free, read, value } => {
                writeln!(f, "read {} sees {value} freed-by {}", read.0, free.0)?;
            }
            Goal::Deadlock(waiting) | Goal::PartialDeadlock(waiting) => {
                write!(f, "waiting")?;
                waiting.iter().try_for_each(|event| write!(f, " {}", event.0))?;
                writeln!(f)?;
            }
            Goal::Order { awaited, early } => {
                write!(f, "early {} before", early.0)?;
                awaited.iter().try_for_each(|event| write!(f, " {}", event.0))?;
                writeln!(f)?;
            }
            Goal::UseAfterFree { free, access } => writeln!(f, "freed-by {} accessed-by {}", free.0, access.0)?,
            &Goal::AtomicityViolation {
                first,
                between,
                second,
                both_next,
            } => {
                let how = if both_next { NEXT_TO } else { INTERRUPTED_BY };
                writeln!(f, "from {} to {} {how} {}", first.0, second.0, between.0)?;
            }
            &Goal::TornPair {
                first,
                writes: [one, other],
                second,
                unfinished,
            } => {
                let how = if unfinished { HALF_BY } else { TORN_BY };
                writeln!(f, "from {} to {} {how} {} and {}", first.0, second.0, one.0, other.0)?;
            }
        }
        if self.as_recorded > 0 {
            writeln!(f, "as-recorded x{}", self.as_recorded)?;
        }
        for slice in &self.slices {
            writeln!(f, "t{} x{}", slice.thread.0, slice.events)?;
        }
        for (notify, thread) in &self.wakes {
            writeln!(f, "wake {} t{}", notify.0, thread.0)?;
        }
        writeln!(f, "end")
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        schedule.to_string()
    }
}

impl TryFrom<String> for Schedule {
    type Error = ParseScheduleError;

    fn try_from(text: String) -> Result<Schedule, ParseScheduleError> {
        text.parse()
    }
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ParseScheduleError> {
        let mut lines = Lines::of(text);
        lines.one("witness-schedule VERSION", |words| {
            let version = word(words, "witness-schedule").and_then(|()| number(words))?;
            Some(match version {
                VERSION => Ok(()),
                version => Err(Malformed::Version { version }),
            })
        })?;
        let trace = lines.one("trace ID", |words| {
            word(words, "trace")?;
            let id = words.next()?;
            Some(TraceId::from_str(id).map_err(|why| Malformed::Trace {
                id: id.to_owned(),
                why: why.to_string(),
            }))
        })?;
        let first_events = lines.at_most_one(|words| {
            word(words, "first-events")?;
            prefixed(words, 'x').filter(|&events| events > 0)
        });
        let kind = lines.one("kind KIND", |words| {
            word(words, "kind")?;
            Some(match words.next()? {
                CO_ENABLED => Ok(CO_ENABLED),
                UNORDERED => Ok(UNORDERED),
                OTHER_VALUE => Ok(OTHER_VALUE),
                DEADLOCK => Ok(DEADLOCK),
                PARTIAL_DEADLOCK => Ok(PARTIAL_DEADLOCK),
                USE_AFTER_FREE => Ok(USE_AFTER_FREE),
                ATOMICITY_VIOLATION => Ok(ATOMICITY_VIOLATION),
                TORN_PAIR => Ok(TORN_PAIR),
                ORDER => Ok(ORDER),
                STALE_POINTER => Ok(STALE_POINTER),
                kind => Err(Malformed::Kind { kind: kind.to_owned() }),
            })
        })?;
        let goal = if kind == DEADLOCK || kind == PARTIAL_DEADLOCK {
            lines.one("waiting EVENT …", |words| {
                word(words, "waiting")?;
                let goal = match kind == DEADLOCK {
                    true => Goal::Deadlock,
                    false => Goal::PartialDeadlock,
                };
                ascending(words).map(|waiting| Ok(goal(waiting)))
            })?
        } else if kind == ORDER {
            lines.one("early EVENT before EVENT …", |words| {
                word(words, "early")?;
                let early = EventId(number(words)?);
                word(words, "before")?;
                ascending(words).map(|awaited| Ok(Goal::Order { awaited, early }))
            })?
        } else if kind == USE_AFTER_FREE {
            lines.one("freed-by EVENT accessed-by EVENT", |words| {
                word(words, "freed-by")?;
                let free = EventId(number(words)?);
                word(words, "accessed-by")?;
                let access = EventId(number(words)?);
                Some(Ok(Goal::UseAfterFree { free, access }))
            })?
        } else if kind == ATOMICITY_VIOLATION {
            lines.one("from EVENT to EVENT interrupted-by EVENT", |words| {
                word(words, "from")?;
                let first = EventId(number(words)?);
                word(words, "to")?;
                let second = EventId(number(words)?);
                let both_next = match words.next()? {
                    INTERRUPTED_BY => false,
                    NEXT_TO => true,
                    _ => return None,
                };
                let between = EventId(number(words)?);
                Some(Ok(Goal::AtomicityViolation {
                    first,
                    between,
                    second,
                    both_next,
                }))
            })?
        } else if kind == TORN_PAIR {
            lines.one("from EVENT to EVENT torn-by EVENT and EVENT", |words| {
                word(words, "from")?;
                let first = EventId(number(words)?);
                word(words, "to")?;
                let second = EventId(number(words)?);
                let unfinished = match words.next()? {
                    TORN_BY => false,
                    HALF_BY => true,
                    _ => return None,
                };
                let one = EventId(number(words)?);
                word(words, "and")?;
                let writes = [one, EventId(number(words)?)];
                Some(Ok(Goal::TornPair {
                    first,
                    writes,
                    second,
                    unfinished,
                }))
            })?
        } else if kind == OTHER_VALUE {
            lines.one("read EVENT sees VALUE", |words| {
                word(words, "read")?;
                let read = EventId(number(words)?);
                word(words, "sees")?;
                let value = match words.next()? {
                    "?" => None,
                    value => Some(digits(value)?),
                };
                Some(Ok(Goal::OtherValue { read, value }))
            })?
        } else if kind == STALE_POINTER {
            lines.one("read EVENT sees VALUE freed-by EVENT", |words| {
                word(words, "read")?;
                let read = EventId(number(words)?);
                word(words, "sees")?;
                let value = digits(words.next()?)?;
                word(words, "freed-by")?;
                let free = EventId(number(words)?);
                Some(Ok(Goal::StalePointer { free, read, value }))
            })?
        } else {
            lines.one("race EVENT EVENT", |words| {
                word(words, "race")?;
                let (a, b) = (EventId(number(words)?), EventId(number(words)?));
                Some(Ok(match kind {
                    UNORDERED => Goal::UnorderedRace(a, b),
                    _ => Goal::Race(a, b),
                }))
            })?
        };
        let as_recorded = lines.at_most_one(|words| {
            word(words, "as-recorded")?;
            prefixed(words, 'x').filter(|&events| events > 0)
        });
        let slices = lines.many(|words| {
            let thread = ThreadId(prefixed(words, 't')?);
            let events = prefixed(words, 'x').filter(|&events| events > 0)?;
            Some(Slice { thread, events })
        });
        let wakes = lines.many(|words| {
            word(words, "wake")?;
            Some((EventId(number(words)?), ThreadId(prefixed(words, 't')?)))
        });
        let due = if wakes.is_empty() {
            "tTHREAD xCOUNT, wake EVENT tTHREAD, or end"
        } else {
            "wake EVENT tTHREAD, or end"
        };
        lines.one(due, |words| word(words, "end").map(Ok))?;
        lines.nothing_more()?;
        Ok(Schedule {
            trace,
            first_events,
            goal,
            as_recorded: as_recorded.unwrap_or(0),
            slices,
            wakes,
        })
    }
}

fn word(words: &mut SplitAsciiWhitespace<'_>, wanted: &str) -> Option<()> {
    (words.next()? == wanted).then_some(())
}

/// Digits only: what `from_str` takes besides is not in the grammar.
fn digits<N: FromStr>(text: &str) -> Option<N> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn number(words: &mut SplitAsciiWhitespace<'_>) -> Option<u32> {
    digits(words.next()?)
}

/// Events to the end of the line, at least one.
fn ascending(words: &mut SplitAsciiWhitespace<'_>) -> Option<Vec<EventId>> {
    let events: Option<Vec<EventId>> = words.map(|word| digits(word).map(EventId)).collect();
    events.filter(|events| !events.is_empty() && events.is_sorted_by(|a, b| a < b))
}

fn prefixed(words: &mut SplitAsciiWhitespace<'_>, prefix: char) -> Option<u32> {
    digits(words.next()?.strip_prefix(prefix)?)
}

/// The lines that say something, with their numbers.
struct Lines<'a> {
    left: Vec<(usize, &'a str)>,
    last: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        let mut last = 1;
        let mut left = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            last = number;
            let said = line.split('#').next().unwrap_or_default().trim_ascii();
            if !said.is_empty() {
                left.push((number, said));
            }
        }
        left.reverse();
        Lines { left, last }
    }

    /// A line that must be there. `parse` gives `None` where the form is wrong.
    fn one<T>(
        &mut self,
        expected: &'static str,
        parse: impl Fn(&mut SplitAsciiWhitespace<'_>) -> Option<Result<T, Malformed>>,
    ) -> Result<T, ParseScheduleError> {
        let Some((line, text)) = self.left.pop() else {
            let (line, cause) = (self.last, Malformed::Cut { expected });
            return Err(ParseScheduleError { line, cause });
        };
        let mut words = text.split_ascii_whitespace();
        let parsed = parse(&mut words).filter(|_| words.next().is_none());
        let found = text.to_owned();
        let parsed = parsed.unwrap_or(Err(Malformed::Expected { expected, found }));
        parsed.map_err(|cause| ParseScheduleError { line, cause })
    }

    /// As many lines of one form as follow.
    fn at_most_one<T>(&mut self, parse: impl Fn(&mut SplitAsciiWhitespace<'_>) -> Option<T>) -> Option<T> {
        let &(_, text) = self.left.last()?;
        let mut words = text.split_ascii_whitespace();
        let item = parse(&mut words).filter(|_| words.next().is_none())?;
        self.left.pop();
        Some(item)
    }

    fn many<T>(&mut self, parse: impl Fn(&mut SplitAsciiWhitespace<'_>) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        while let Some(item) = self.at_most_one(&parse) {
            found.push(item);
        }
        found
    }

    fn nothing_more(&mut self) -> Result<(), ParseScheduleError> {
        match self.left.pop() {
            None => Ok(()),
            Some((line, text)) => {
                let found = text.to_owned();
                let cause = Malformed::AfterEnd { found };
                Err(ParseScheduleError { line, cause })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "witness-schedule 1\ntrace 000102030405060708090a0b0c0d0e0f\nkind co-enabled\nrace 5 17\n\
                        t0 x12\nt2 x3\nwake 14 t1\nend\n";

    fn schedules() -> impl Strategy<Value = Schedule> {
        let slices = prop::collection::vec((any::<u32>(), 1..=u32::MAX), 0..20);
        let wakes = prop::collection::vec(any::<(u32, u32)>(), 0..5);
        let race = any::<(u32, u32)>();
        let goals = prop_oneof![
            race.prop_map(|(a, b)| Goal::Race(EventId(a), EventId(b))),
            race.prop_map(|(a, b)| Goal::UnorderedRace(EventId(a), EventId(b))),
            race.prop_map(|(free, access)| Goal::UseAfterFree {
                free: EventId(free),
                access: EventId(access)
            }),
            any::<(u32, u32, u32, bool)>().prop_map(|(first, between, second, both_next)| Goal::AtomicityViolation {
                first: EventId(first),
                between: EventId(between),
                second: EventId(second),
                both_next,
            }),
            any::<(u32, u32, u32, u32, bool)>().prop_map(|(first, one, other, second, unfinished)| Goal::TornPair {
                first: EventId(first),
                writes: [EventId(one), EventId(other)],
                second: EventId(second),
                unfinished,
            }),
            any::<(u32, Option<u64>)>().prop_map(|(read, value)| Goal::OtherValue {
                read: EventId(read),
                value
            }),
            any::<(u32, u32, u64)>().prop_map(|(free, read, value)| Goal::StalePointer {
                free: EventId(free),
                read: EventId(read),
                value
            }),
            (prop::collection::btree_set(any::<u32>(), 1..6), any::<bool>()).prop_map(|(waiting, partial)| {
                let waiting = waiting.into_iter().map(EventId).collect();
                match partial {
                    true => Goal::PartialDeadlock(waiting),
                    false => Goal::Deadlock(waiting),
                }
            }),
        ];
        let first = proptest::option::of(1..=u32::MAX);
        let parts = (any::<[u8; 16]>(), first, goals, any::<u32>(), slices, wakes);
        parts.prop_map(|(id, first_events, goal, as_recorded, slices, wakes)| {
            let slice = |(thread, events)| Slice {
                thread: ThreadId(thread),
                events,
            };
            let wake = |(notify, thread)| (EventId(notify), ThreadId(thread));
            Schedule {
                trace: TraceId(id),
                first_events,
                goal,
                as_recorded,
                slices: slices.into_iter().map(slice).collect(),
                wakes: wakes.into_iter().map(wake).collect(),
            }
        })
    }

    proptest! {
        #[test]
        fn round_trip(schedule in schedules()) {
            prop_assert_eq!(schedule.to_string().parse::<Schedule>(), Ok(schedule));
        }

        #[test]
        fn a_cut_text_is_no_schedule(schedule in schedules(), part in 0.0..1.0) {
            let text = schedule.to_string();
            // The last line end may go: the end mark is still there.
            let kept = ((text.len() - 1) as f64 * part) as usize;
            prop_assert!(text[..kept].parse::<Schedule>().is_err());
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".*") {
            let _ = text.parse::<Schedule>();
        }
    }

    #[test]
    fn comments_and_blank_lines_count_for_nothing() {
        let commented = TEXT.replace("t2 x3\n", "\n  # here thread 2\n\tt2  x3   # three events\n");
        assert_eq!(commented.parse::<Schedule>(), TEXT.parse());
        assert_eq!(
            TEXT.parse::<Schedule>().map(|schedule| schedule.to_string()),
            Ok(TEXT.to_owned())
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = |from: &str, to: &str| {
            let text = TEXT.replace(from, to);
            text.parse::<Schedule>().expect_err("malformed").to_string()
        };
        for (from, to, expected) in [
            (
                "schedule 1",
                "schedule 2",
                "line 1: format version 2 is not known; this program reads version 1",
            ),
            (
                "0e0f",
                "0e",
                "line 2: `000102030405060708090a0b0c0d0e` is not a trace id: ",
            ),
            (
                "co-enabled",
                "livelock",
                "line 3: `livelock` is not a kind of goal; known: co-enabled, unordered, other-value, deadlock",
            ),
            ("5 17", "5", "line 4: expected `race EVENT EVENT`, found `race 5`"),
            ("5 17", "5 4294967296", "line 4: expected `race EVENT EVENT`"),
            (
                "x12",
                "x0",
                "line 5: expected `tTHREAD xCOUNT, wake EVENT tTHREAD, or end`, found `t0 x0`",
            ),
            ("x12", "x+12", "line 5: expected `tTHREAD xCOUNT"),
            ("x3", "x3 x4", "line 6: expected `tTHREAD xCOUNT"),
            (
                "14 t1",
                "14",
                "line 7: expected `tTHREAD xCOUNT, wake EVENT tTHREAD, or end`, found `wake 14`",
            ),
            (
                "end\n",
                "t1 x1\nend\n",
                "line 8: expected `wake EVENT tTHREAD, or end`, found `t1 x1`",
            ),
            ("end\n", "end\nt1 x1\n", "line 9: `t1 x1` after the end"),
            (
                "end\n",
                "",
                "line 7: the schedule is cut: expected `wake EVENT tTHREAD, or end`",
            ),
        ] {
            let said = error(from, to);
            assert!(said.starts_with(expected), "{from:?} → {to:?}: {said}");
        }
        let of_read = |line: &str| {
            let text = TEXT.replace("co-enabled", "other-value").replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        let (read, most) = (EventId(5), Some(u64::MAX));
        assert_eq!(
            of_read("read 5 sees 18446744073709551615"),
            Ok(Goal::OtherValue { read, value: most })
        );
        assert_eq!(of_read("read 5 sees ?"), Ok(Goal::OtherValue { read, value: None }));
        for line in [
            "race 5 17",
            "read 5",
            "read 5 sees",
            "read 5 sees 18446744073709551616",
            "read 5 sees ? 1",
        ] {
            let said = of_read(line).expect_err("malformed").to_string();
            assert_eq!(
                said,
                format!("line 4: expected `read EVENT sees VALUE`, found `{line}`")
            );
        }
        let freed = |line: &str| {
            let text = TEXT.replace("co-enabled", "use-after-free").replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        assert_eq!(
            freed("freed-by 17 accessed-by 5"),
            Ok(Goal::UseAfterFree {
                free: EventId(17),
                access: EventId(5)
            })
        );
        for line in [
            "race 5 17",
            "freed-by 17",
            "freed-by 17 accessed-by x",
            "accessed-by 5 freed-by 17",
        ] {
            let said = freed(line).expect_err("malformed").to_string();
            let expected = format!("line 4: expected `freed-by EVENT accessed-by EVENT`, found `{line}`");
            assert_eq!(said, expected);
        }
        let stale = |line: &str| {
            let text = TEXT.replace("co-enabled", "stale-pointer").replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        assert_eq!(
            stale("read 5 sees 4096 freed-by 17"),
            Ok(Goal::StalePointer {
                free: EventId(17),
                read: EventId(5),
                value: 4096
            })
        );
        for line in [
            "read 5 sees 4096",
            "read 5 sees ? freed-by 17",
            "read 5 sees 4096 freed-by",
            "freed-by 17 accessed-by 5",
        ] {
            let said = stale(line).expect_err("malformed").to_string();
            let expected = format!("line 4: expected `read EVENT sees VALUE freed-by EVENT`, found `{line}`");
            assert_eq!(said, expected);
        }
        let interrupted = |line: &str| {
            let text = TEXT
                .replace("co-enabled", "atomicity-violation")
                .replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        for (line, both_next) in [("from 3 to 9 interrupted-by 7", false), ("from 3 to 9 next-to 7", true)] {
            let goal = Goal::AtomicityViolation {
                first: EventId(3),
                between: EventId(7),
                second: EventId(9),
                both_next,
            };
            assert_eq!(interrupted(line), Ok(goal));
        }
        for line in [
            "race 5 17",
            "from 3 to 9",
            "from 3 to 9 by 7",
            "from 3 interrupted-by 7 to 9",
            "from 3 to 9 next-to",
        ] {
            let said = interrupted(line).expect_err("malformed").to_string();
            let expected = format!("line 4: expected `from EVENT to EVENT interrupted-by EVENT`, found `{line}`");
            assert_eq!(said, expected);
        }
        let torn = |line: &str| {
            let text = TEXT.replace("co-enabled", "torn-pair").replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        for (line, unfinished) in [
            ("from 3 to 9 torn-by 8 and 7", false),
            ("from 3 to 9 half-by 8 and 7", true),
        ] {
            let goal = Goal::TornPair {
                first: EventId(3),
                writes: [EventId(8), EventId(7)],
                second: EventId(9),
                unfinished,
            };
            assert_eq!(torn(line), Ok(goal));
        }
        for line in [
            "from 3 to 9 torn-by 8",
            "from 3 to 9 by 8 and 7",
            "from 3 to 9 half-by 8 7",
        ] {
            let said = torn(line).expect_err("malformed").to_string();
            let expected = format!("line 4: expected `from EVENT to EVENT torn-by EVENT and EVENT`, found `{line}`");
            assert_eq!(said, expected);
        }
        let waiting_as = |kind: &str, line: &str| {
            let text = TEXT.replace("co-enabled", kind).replace("race 5 17", line);
            text.parse::<Schedule>().map(|schedule| schedule.goal)
        };
        let waiting = |line: &str| waiting_as("deadlock", line);
        let both = vec![EventId(5), EventId(17)];
        assert_eq!(waiting("waiting 5 17"), Ok(Goal::Deadlock(both.clone())));
        let partial = waiting_as("partial-deadlock", "waiting 5 17");
        assert_eq!(partial, Ok(Goal::PartialDeadlock(both)));
        for line in ["race 5 17", "waiting", "waiting 17 5", "waiting 5 5", "waiting 5 x"] {
            let said = waiting(line).expect_err("malformed").to_string();
            assert_eq!(said, format!("line 4: expected `waiting EVENT …`, found `{line}`"));
        }
        let empty = "".parse::<Schedule>().expect_err("empty");
        assert!(empty.to_string().starts_with("line 1: the schedule is cut"), "{empty}");
    }
}
