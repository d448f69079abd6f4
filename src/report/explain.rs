//! Explains why a pair is refuted, not in this trace, or undecided, in words with source lines.

use super::words::{Words, value};
use crate::schedule::Goal;
use crate::symbols::Suspects;
use crate::trace::{CellId, EventId, IncarnationId, ObjectId};
use crate::verdict::{CutRefutation, Fact, Instances, Pair, Refutation, Unknown, Verdict};

/// How many events a sentence lists before it only counts the rest.
const LISTED: usize = 3;

impl Words<'_> {
    /// One sentence for each fact that a verdict leans on; none for a witnessed pair.
    #[must_use]
    pub fn explanation(&self, pair: &Pair) -> Vec<String> {
        match &pair.verdict {
            Verdict::Witnessed(_) => Vec::new(),
            Verdict::Refuted(refutation) => self.refutation(pair, refutation, "must happen before"),
            Verdict::NotInTrace(why) => self.refutation(pair, why, "comes, in this run, before"),
            Verdict::Unknown(unknown) => vec![self.unknown(unknown, &pair.instances)],
        }
    }

    fn refutation(&self, pair: &Pair, refutation: &Refutation, precedes: &str) -> Vec<String> {
        let (a, b) = pair.example;
        match refutation {
            Refutation::MustHappenBefore(chain) => {
                let ends = [chain.first().copied().unwrap_or(a), chain.last().copied().unwrap_or(b)];
                let [first, last] = ends.map(|event| format!("{} in {}", self.place(event), self.thread_of(event)));
                let inner = chain.iter().copied().filter(|&event| event != a && event != b);
                let order = format!("{first} {precedes} {last}");
                std::iter::once(order)
                    .chain(inner.map(|event| self.sentence(event)))
                    .collect()
            }
            Refutation::CommonLock { lock, acquired } => {
                let side = |access: EventId, taken: Option<EventId>| {
                    let (thread, since) = (self.thread_of(access), self.since(taken));
                    format!(
                        "{thread} holds {} at {}, {since}",
                        self.object(*lock),
                        self.place(access)
                    )
                };
                vec![format!("{}; {}", side(a, acquired.0), side(b, acquired.1))]
            }
            Refutation::VariableLock { taken } => {
                let lock = self
                    .trace
                    .access(taken.0)
                    .map_or_else(String::new, |access| self.memory(access));
                let side = |access: EventId, taken: EventId| {
                    let (thread, since) = (self.thread_of(access), self.since(Some(taken)));
                    let place = self.place(access);
                    format!("{thread} holds {lock}, which was a lock in this run, at {place}, {since}")
                };
                vec![format!("{}; {}", side(a, taken.0), side(b, taken.1))]
            }
            Refutation::LockHistory { first, second } => {
                let side = |access: EventId, holds: ObjectId, (wants, took): (ObjectId, EventId)| {
                    format!(
                        "{} holds {} at {}, and has since locked {} at {}",
                        self.thread_of(access),
                        self.object(holds),
                        self.place(access),
                        self.object(wants),
                        self.place(took)
                    )
                };
                vec![
                    side(a, first.0, *second),
                    side(b, second.0, *first),
                    "so the thread that takes its lock first keeps the other from getting there".to_owned(),
                ]
            }
            &Refutation::Priority { interrupted, by, lines } => {
                let (interrupted, by) = (self.thread(interrupted), self.thread(by));
                vec![format!(
                    "by lines {} and {} of your file, {by} has no higher priority than {interrupted}, so it does not \
                     come between what {interrupted} does without waiting",
                    lines.0, lines.1
                )]
            }
            &Refutation::Reality { threads, line } => vec![format!(
                "by line {line} of your file, {} and {} never run at the same time",
                self.thread(threads.0),
                self.thread(threads.1)
            )],
            Refutation::Core(facts) if facts.is_empty() => {
                vec![
                    "its facts were not computed; --explanations all, and where that does not suffice a larger --budget, computes them, in traces of up to 50,000 events"
                        .to_owned(),
                ]
            }
            Refutation::Core(facts) => facts.iter().map(|fact| self.fact(pair, fact)).collect(),
        }
    }

    fn unknown(&self, unknown: &Unknown, instances: &Instances) -> String {
        match unknown {
            Unknown::Budget => "the solver's budget ran out on at least one instance; --budget raises it".to_owned(),
            Unknown::Steps => {
                "witness's own solver did not decide it within its steps, and Z3 was not asked: --solver both asks it, \
                 in traces of up to 50,000 events; of a longer run, record less (record --max-events), or give the \
                 program less to do. Where other pairs are unknown for unrecorded code, build that with \
                 -fsanitize=thread first: what it changes, the solver has to leave in its place"
                    .to_owned()
            }
            Unknown::Instances => {
                let open = instances.total.saturating_sub(instances.ordered + instances.locked);
                if open == 0 {
                    return "no instance is a race, but whether one is a use after free, the solvers were asked of the \
                            nearest alone; --instances asks of more"
                        .to_owned();
                }
                format!(
                    "neither order nor locks exclude up to {open} instances; the solvers tried only the nearest, and found \
                     no schedule; --instances tries more"
                )
            }
            Unknown::Time => {
                "the time limit ended the analysis before the pair was decided; --time-limit raises it".to_owned()
            }
            Unknown::Unrecorded(access) => self.unrecorded(*access),
            Unknown::Unsynchronized {
                library,
                schedule,
                recorded,
            } => {
                let (what, build) = if *recorded {
                    (
                        format!("assembly in {library}, or a part of it that was built without -fsanitize=thread,"),
                        "build all of it with `witness cc`, which records inline assembly, too, or use the compiler's atomics there".to_owned(),
                    )
                } else {
                    (
                        format!("{library}, which was not recorded,"),
                        format!("build {library} with -fsanitize=thread, too"),
                    )
                };
                match schedule.goal {
                    Goal::OtherValue { .. } => format!(
                        "a schedule brings the read next while the pointer is 0, but {what} may synchronize between them; `witness run` \
                         tries it in the program itself, or {build}"
                    ),
                    Goal::StalePointer { .. } => format!(
                        "a schedule brings the read next while the pointer is to what was freed, but {what} may synchronize between \
                         them; `witness run` tries it in the program itself, or {build}"
                    ),
                    Goal::Deadlock(_) | Goal::PartialDeadlock(_) => format!(
                        "a schedule brings the threads to where they wait, but {what} may synchronize them before, or decide on what \
                         it shares whether they wait; `witness run` tries it in the program itself, or {build}"
                    ),
                    Goal::Race(..) | Goal::AtomicityViolation { .. } | Goal::TornPair { .. } => {
                        format!(
                            "a schedule brings both accesses next, but {what} may synchronize between them; `witness run` tries it in the \
                         program itself, or {build}"
                        )
                    }
                    Goal::Order { .. } => format!(
                        "a schedule brings the access next before the other one, but {what} may synchronize between them; `witness run` tries \
                         it in the program itself, or {build}"
                    ),
                    Goal::UseAfterFree { .. } => format!(
                        "a schedule brings the access behind the free, but {what} may synchronize between them; `witness run` tries it \
                         in the program itself, or {build}"
                    ),
                    Goal::UnorderedRace(..) => format!(
                        "nothing that was recorded synchronizes the two accesses, but {what} may do so between them, and no live run can show the opposite: {build}"
                    ),
                }
            }
            Unknown::Rejected => {
                "the checker rejected the schedule that was found: this is a bug in witness".to_owned()
            }
            Unknown::Cut(how) => {
                let how = match how {
                    CutRefutation::MustHappenBefore => "by must-happen-before",
                    CutRefutation::Locks => "by locks",
                    CutRefutation::Core => "by the solver",
                };
                match self.trace.first_events() {
                    Some(events) => format!("refuted {how} in the first {events} events; the others may show the race"),
                    None => {
                        format!("refuted {how} up to the point where the trace is cut; the lost part may show the race")
                    }
                }
            }
        }
    }

    /// What unrecorded code has to do with it.
    fn unrecorded(&self, access: Option<EventId>) -> String {
        let Some(access) = access else {
            return "excluded only if unrecorded code, which changed memory here, keeps its place; build it with \
                    -fsanitize=thread, too, and record again"
                .to_owned();
        };
        let Suspects { calls, lacks_flags } = self.symbols.unrecorded().before_pinned(self.trace, access);
        let module = lacks_flags
            .iter()
            .map(|module| format!("what gcc left out in {module}"));
        let suspects: Vec<String> = module.chain(calls).collect();
        let code = match &suspects[..] {
            [] => String::new(),
            suspects => format!(" (perhaps {})", suspects.join(", or ")),
        };
        let build = match lacks_flags {
            Some(module) => format!(
                "{module} was compiled without flags by which gcc leaves nothing out: build it with `witness cc` or `witness c++`, \
                 which pass them"
            ),
            None if suspects.iter().any(|call| call.starts_with("assembly in ")) => {
                "Build it with `witness cc`, which records inline assembly, too".to_owned()
            }
            None => "Build it with -fsanitize=thread, too".to_owned(),
        };
        format!(
            "unrecorded code{code} changed what this saw: {}; that code may order the two accesses, or not. {build}, and record again",
            self.sentence(access)
        )
    }

    fn fact(&self, pair: &Pair, fact: &Fact) -> String {
        match fact {
            Fact::Read {
                read,
                cell,
                writers,
                initial,
            } => self.read_fact(pair, *read, *cell, writers, *initial),
            Fact::Lock { lock, first, second } => {
                let section = |&(acquire, release): &(Option<EventId>, Option<EventId>)| {
                    let thread = acquire
                        .or(release)
                        .map_or_else(String::new, |event| self.thread_of(event));
                    let until = release.map_or("to the end".to_owned(), |event| format!("to {}", self.place(event)));
                    format!("{thread} holds it {} {until}", self.from(acquire))
                };
                format!(
                    "{} is held by one thread at a time: {}; {}",
                    self.object(*lock),
                    section(first),
                    section(second)
                )
            }
            Fact::HandedOver { lock } => format!(
                "{}, which threads release for each other, is acquired only when free and released only when held",
                self.object(*lock)
            ),
            Fact::Wait { end, notifies } => format!(
                "the wait of {} returns at {} only after a notify wakes it: {}",
                self.thread_of(*end),
                self.place(*end),
                self.any_of(notifies)
            ),
            Fact::NotifyOnce { notify, ends } => format!(
                "{}, which wakes one waiter only, so these cannot share it: {}",
                self.sentence(*notify),
                self.any_of(ends)
            ),
            Fact::FailedAcquire { attempt, holders } => format!(
                "{}, which needs another thread to hold it: {}",
                self.sentence(*attempt),
                self.any_of(holders)
            ),
            Fact::Semaphore { wait, posts } => {
                format!("{}, which needs a post: {}", self.sentence(*wait), self.any_of(posts))
            }
            Fact::FailedWait { attempt, posts } if posts.is_empty() => {
                format!(
                    "{}, which needs every initial permit to be taken before",
                    self.sentence(*attempt)
                )
            }
            Fact::FailedWait { attempt, posts } => format!(
                "{}, which needs a wait before it for every post before it: {}",
                self.sentence(*attempt),
                self.any_of(posts)
            ),
            Fact::Count { look, posts, waits } if posts.is_empty() && waits.is_empty() => {
                format!("{}, which needs every initial permit to be there", self.sentence(*look))
            }
            Fact::Count { look, posts, waits } => {
                let changes: Vec<EventId> = posts.iter().chain(waits).copied().collect();
                format!(
                    "{}, which needs the posts and waits before it to leave just that count: {}",
                    self.sentence(*look),
                    self.any_of(&changes)
                )
            }
            Fact::Once { wait, ends } => format!(
                "{}, which needs an initialization to end before: {}",
                self.sentence(*wait),
                self.any_of(ends)
            ),
            Fact::Pinned { read, cell } => format!(
                "{}; unrecorded code changes {}, so this access keeps its place among the events of other threads",
                self.sentence(*read),
                self.cell(*cell)
            ),
        }
    }

    /// The heart of most refutations: who has to have written what a thread read on its way.
    fn read_fact(&self, pair: &Pair, read: EventId, cell: CellId, writers: &[EventId], initial: bool) -> String {
        let uses = self.trace.access(read).map(|read| self.trace.numbers(read));
        let seen = uses
            .into_iter()
            .flatten()
            .filter(|used| used.cell == cell)
            .map(|used| value(used.read))
            .next();
        // Pointers to other blocks may be the same number.
        let block = self.trace.alloc_of_pointer(read).map_or(String::new(), |alloc| {
            format!(
                " (the block that {} allocates at {})",
                self.thread_of(alloc),
                self.place(alloc)
            )
        });
        let what = format!(
            "{} = {}{block} at {}",
            self.cell(cell),
            seen.unwrap_or_default(),
            self.place(read)
        );
        let thread = self.thread_of(read);
        let goal = [pair.example.0, pair.example.1]
            .into_iter()
            .find(|&access| self.trace.thread(access) == self.trace.thread(read));
        let head = match goal {
            Some(access) => format!("{thread} can only reach {} after it read {what}", self.place(access)),
            None => format!("{thread} read {what}"),
        };
        let tail = match (writers, initial) {
            ([], _) => "which only the initial value explains".to_owned(),
            ([one], false) => {
                format!(
                    "which only the write of {} at {} can have left",
                    self.thread_of(*one),
                    self.place(*one)
                )
            }
            (many, initial) => {
                let initial = if initial { ", or the initial value" } else { "" };
                let places = self.listed(many, |event| {
                    format!("{} of {}", self.place(event), self.thread_of(event))
                });
                format!("which only the writes at {places}{initial} can have left")
            }
        };
        let is_new = self.trace.cell(cell).incarnation != IncarnationId::STATIC;
        let aside = match is_new && !writers.is_empty() && self.trace.initial(cell).is_none() {
            true => " (what is in a new block does not count)",
            false => "",
        };
        format!("{head}, {tail}{aside}")
    }

    pub(super) fn thread_of(&self, event: EventId) -> String {
        self.thread(self.trace.thread(event))
    }

    fn since(&self, taken: Option<EventId>) -> String {
        taken.map_or("from before the trace began".to_owned(), |event| {
            format!("locked at {}", self.place(event))
        })
    }

    fn from(&self, acquire: Option<EventId>) -> String {
        acquire.map_or("from before the trace began".to_owned(), |event| {
            format!("from {}", self.place(event))
        })
    }

    fn any_of(&self, events: &[EventId]) -> String {
        if events.is_empty() {
            return "there is none".to_owned();
        }
        self.listed(events, |event| self.sentence(event))
    }

    fn listed(&self, events: &[EventId], word: impl Fn(EventId) -> String) -> String {
        let mut words: Vec<String> = events.iter().take(LISTED).map(|&event| word(event)).collect();
        if events.len() > LISTED {
            words.push(format!("{} more", events.len() - LISTED));
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use crate::trace::{StackId, Tables, ThreadId, Trace};
    use trace_format::{Event, MemRange, ObjectInfo, ObjectKind, Op, SourceInfo};

    /// Eight accesses to one variable by threads 0 and 1 in turn, event `n` at `a.c:n`.
    fn trace() -> Trace {
        let mut tables = Tables::default();
        tables.sources.extend((1..=8).map(|line| SourceInfo {
            pc: line,
            function: None,
            file: "a.c".to_owned(),
            line: line as u32,
        }));
        tables.objects.extend(["l", "k"].map(|name| ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: 0,
            name: Some(name.to_owned()),
            initial: 0,
        }));
        let mem = MemRange { addr: 0x10, size: 4 };
        let event = |line: u32| Event {
            thread: ThreadId(line % 2),
            pc: u64::from(line),
            stack: StackId::EMPTY,
            op: if line < 5 {
                Op::Write { mem, value: 7 }
            } else {
                Op::Read { mem, value: 7 }
            },
        };
        let lines: Vec<Event> = std::iter::once(8).chain(1..8).map(event).collect();
        Trace::from_events(tables, &lines)
    }

    fn explained(verdict: Verdict) -> Vec<String> {
        let trace = trace();
        let symbols = Symbols::new(trace.tables());
        let words = Words {
            trace: &trace,
            symbols: &symbols,
        };
        let example = (EventId(1), EventId(6));
        let instances = Instances {
            total: 9,
            ordered: 1,
            locked: 2,
            tried: 2,
        };
        words.explanation(&Pair {
            positions: (1, 6),
            example,
            verdict,
            instances,
            behind: None,
            order: None,
        })
    }

    fn fact(fact: Fact) -> String {
        explained(Verdict::Refuted(Refutation::Core(vec![fact]))).concat()
    }

    #[test]
    fn refutations_in_words() {
        let chain = Refutation::MustHappenBefore(vec![EventId(1), EventId(3), EventId(6)]);
        assert_eq!(
            explained(Verdict::Refuted(chain)),
            [
                "a.c:1 in thread 1 must happen before a.c:6 in thread 0 (main)",
                "thread 1 writes 4 bytes at 0x10 = 7 at a.c:3"
            ]
        );
        let (l, k) = (ObjectId(0), ObjectId(1));
        let common = Refutation::CommonLock {
            lock: l,
            acquired: (None, Some(EventId(2))),
        };
        assert_eq!(
            explained(Verdict::Refuted(common)),
            [
                "thread 1 holds mutex l at a.c:1, from before the trace began; thread 0 (main) holds mutex l at a.c:6, locked at a.c:2"
            ]
        );
        let history = Refutation::LockHistory {
            first: (l, EventId(4)),
            second: (k, EventId(3)),
        };
        assert_eq!(
            explained(Verdict::Refuted(history)),
            [
                "thread 1 holds mutex l at a.c:1, and has since locked mutex k at a.c:3",
                "thread 0 (main) holds mutex k at a.c:6, and has since locked mutex l at a.c:4",
                "so the thread that takes its lock first keeps the other from getting there"
            ]
        );
    }

    #[test]
    fn a_read_names_who_can_have_written_its_value() {
        let cell = CellId(0);
        let read = |writers: &[u32], initial| {
            fact(Fact::Read {
                read: EventId(6),
                cell,
                writers: writers.iter().copied().map(EventId).collect(),
                initial,
            })
        };
        let head = "thread 0 (main) can only reach a.c:6 after it read 0x10 = 7 at a.c:6, which only ";
        assert_eq!(
            read(&[3], false),
            format!("{head}the write of thread 1 at a.c:3 can have left")
        );
        assert_eq!(read(&[], true), format!("{head}the initial value explains"));
        assert_eq!(
            read(&[1, 2, 3, 4], true),
            format!(
                "{head}the writes at a.c:1 of thread 1, a.c:2 of thread 0 (main), a.c:3 of thread 1, 1 more, or the initial value can have left"
            )
        );
    }

    #[test]
    fn other_facts_in_words() {
        let lock = Fact::Lock {
            lock: ObjectId(0),
            first: (Some(EventId(1)), Some(EventId(3))),
            second: (Some(EventId(2)), None),
        };
        assert_eq!(
            fact(lock),
            "mutex l is held by one thread at a time: thread 1 holds it from a.c:1 to a.c:3; thread 0 (main) holds it from a.c:2 to the end"
        );
        let wait = Fact::Wait {
            end: EventId(6),
            notifies: Vec::new(),
        };
        assert_eq!(
            fact(wait),
            "the wait of thread 0 (main) returns at a.c:6 only after a notify wakes it: there is none"
        );
        let pinned = Fact::Pinned {
            read: EventId(5),
            cell: CellId(0),
        };
        assert!(fact(pinned).contains("unrecorded code changes 0x10"));
    }

    #[test]
    fn unknown_says_what_would_help() {
        let said = |unknown| explained(Verdict::Unknown(unknown)).concat();
        assert!(said(Unknown::Budget).contains("--budget"));
        assert!(said(Unknown::Time).contains("--time-limit"));
        assert_eq!(
            said(Unknown::Instances),
            "neither order nor locks exclude up to 6 instances; the solvers tried only the nearest, and found no schedule; --instances tries more"
        );
        assert!(said(Unknown::Cut(CutRefutation::Core)).contains("where the trace is cut"));
    }
}
