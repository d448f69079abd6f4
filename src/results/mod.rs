//! The results of an analysis as one documented object, `witness-results/2`.
//!
//! It is what `witness analyze --json` prints and what is stored beside the trace. Addresses are
//! strings of hexadecimal digits. Fields are only ever added within one schema version.

mod exploration;

pub use exploration::{ExplorationResult, FoundResult, UNPROVEN_RACE};

use crate::analyze::{self, Solver};
use crate::encode::Form;
use crate::schedule::Goal;
use crate::session::failure_of;
use crate::standstill::Standstill;
use crate::trace::Trace;
use crate::verdict::{DeadlockKind, Find, Kind, Refutation, Regions, Unknown, Verdict};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use trace_format::ProgramEnd;

/// The value of [`Results::schema`].
pub const SCHEMA: &str = "witness-results/2";

/// All that one analysis found. Its pairs may be whatever is written as a list of [`PairResult`]: of many, this takes
/// more memory than all that was known of them. The frames, which only the pairs tell, may be what is written as a list
/// of [`FrameResult`] behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results<P = Vec<PairResult>, F = Vec<FrameResult>> {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name and version of what wrote this.
    pub tool: String,
    /// The options of the analysis.
    pub options: Options,
    /// The trace.
    pub trace: TraceSummary,
    /// The traces of other runs that add something, if several were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_traces: Vec<TraceSummary>,
    /// One entry per pair of code positions, ordered by their first conflict in the trace; of several traces, one trace
    /// behind the other.
    pub pairs: P,
    /// The witnessed pairs, the same race once.
    #[serde(default)]
    pub races: Vec<RaceResult>,
    /// One entry per cycle of code positions at which threads wait for each other; those of further traces behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deadlocks: Vec<DeadlockResult>,
    /// One entry per triple of code positions of which the second may be out of place between the others; those of
    /// further traces behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atomicity_violations: Vec<AtomicityResult>,
    /// The activations of which the call stacks of all of these consist, each once, and behind its caller.
    pub frames: F,
    /// If the candidates are those of lock sets alone: what these warn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_sets: Option<LockSetResult>,
    /// The pairs that are shown, counted.
    pub summary: Summary,
    /// What `witness explore` can say of all schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<ExplorationResult>,
}

/// What lock sets alone warn of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockSetResult {
    /// How many variables several threads access, one of which writes.
    pub variables: usize,
    /// The warnings, in the order of the trace.
    pub warnings: Vec<LockSetWarningResult>,
}

/// A variable that several threads access without a lock that protects all of that, and what is decided of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockSetWarningResult {
    /// The memory, in words.
    pub memory: String,
    /// The access at which no lock was left.
    pub event: u32,
    /// Where that is.
    pub place: String,
    /// `race`, if one of its pairs is witnessed; `false alarm`, if all are refuted, or there are none; else `open`.
    pub verdict: String,
    /// How many of its pairs are witnessed.
    pub witnessed: usize,
    /// How many are refuted.
    pub refuted: usize,
    /// How many are not in this trace.
    pub not_in_trace: usize,
    /// How many are not decided.
    pub unknown: usize,
}

/// A race: the witnessed pairs of one kind in the same functions of the same files, about the same variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceResult {
    /// What it is called from run to run: 16 hexadecimal digits.
    pub id: String,
    /// How many pairs of instructions there are.
    pub count: usize,
    /// The numbers of their witnesses.
    pub witnesses: Vec<usize>,
    /// The trace that shows it, if that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The line of a suppression file that hides it.
    pub suppression: Option<String>,
}

/// The options that verdicts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Dynamic instances tried per pair; null for all.
    pub instances: Option<u32>,
    /// Refutations by the solver whose facts were worked out; null for all.
    pub explanations: Option<u32>,
    /// Solver resource units per query.
    pub budget: u32,
    /// Who decided what the fast predictors left open: `both`, `native`, `z3` or `z3-reference`.
    pub solver: Solver,
    /// What was linearized: `prefix` or `whole-trace`.
    pub model: Form,
    /// What was looked for; absent if nobody said what.
    #[serde(default, skip_serializing_if = "Find::is_default")]
    pub find: Find,
    /// Where atomicity violations were looked for: `serial`, `any` or `all`; absent if nobody said where.
    #[serde(default, skip_serializing_if = "Regions::is_default")]
    pub regions: Regions,
    /// How many pairs were decided at most; absent if nobody said how many.
    #[serde(default = "default_most_pairs", skip_serializing_if = "is_default_most_pairs")]
    pub max_pairs: u32,
    /// How many events of the trace were analyzed; absent if all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_events: Option<u64>,
}

fn default_most_pairs() -> u32 {
    analyze::Options::default().most_pairs
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_default_most_pairs(most: &u32) -> bool {
    *most == default_most_pairs()
}

/// The trace that was analyzed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// Its identity, 32 hexadecimal digits.
    pub id: String,
    /// Its path, as given.
    pub path: String,
    /// Number of events.
    pub events: usize,
    /// Number of threads.
    pub threads: usize,
    /// `complete`, `cut`, `deadlock`, `event-limit` or `time-limit`.
    pub ending: String,
    /// If the program failed: how, in words that follow *the program*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_failed: Option<String>,
    /// Where it was cut; null if it is complete.
    pub cut: Option<CutSummary>,
    /// Which threads waited, or spun, at its end, and what the program died of.
    #[serde(default, skip_serializing_if = "Standstill::is_empty")]
    pub standstill: Standstill,
}

/// Where a trace was cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutSummary {
    /// Events before the cut.
    pub events: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// What is wrong there, in words.
    pub cause: String,
}

/// The verdict on one pair of code positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairResult {
    /// What it is called from run to run: 16 hexadecimal digits over the kind of race, the two functions and files, and
    /// the variable.
    #[serde(default)]
    pub id: String,
    /// `witnessed`, `refuted`, `not-in-trace` or `unknown`.
    pub verdict: String,
    /// What the schedule of a witnessed pair shows: `co-enabled`, `unordered`, `use-after-free` or `order`; else null.
    pub kind: Option<String>,
    /// If it is not asked whether the two race, but whether one comes too early: what the order is called,
    /// `initialization` if nobody named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Refuted, not in this trace: `must-happen-before`, `lockset`, `lock history`, `core`. Unknown: `budget`, `steps`,
    /// `instances`, `time`, `rejected`, `cut`, `unrecorded code`, `unrecorded synchronization`. Witnessed: null.
    pub reason: Option<String>,
    /// The reason in words, one fact a sentence.
    pub explanation: Vec<String>,
    /// If the pair is not in this trace only because of what a racing read saw: the number of that race's witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<usize>,
    /// The access that comes earlier in the trace.
    pub a: AccessResult,
    /// The other access.
    pub b: AccessResult,
    /// How the dynamic instances of the pair fell.
    pub instances: InstancesResult,
    /// The file of the schedule; null if the pair is not witnessed, or nothing was stored.
    pub schedule: Option<String>,
    /// The line of a suppression file that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// Whether the baseline has it; absent without a baseline, or if it has not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The trace that it is of, if that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Dynamic instances of a pair, by what became of them. A pair is not looked at further once it is witnessed, so only
/// `total` counts all of its instances then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstancesResult {
    /// All.
    pub total: u64,
    /// Refuted by must-happen-before.
    pub ordered: u64,
    /// Refuted by locks.
    pub locked: u64,
    /// Looked at one by one; the solvers were asked about few of these.
    pub tried: u64,
}

/// One access of a pair, in the instance that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessResult {
    /// Its thread.
    pub thread: u32,
    /// The thread's name.
    pub thread_name: Option<String>,
    /// Its number in the trace.
    pub event: u32,
    /// `read`, `write`, `free`, `atomic read`, `atomic write`, `atomic read-modify-write`.
    pub op: String,
    /// First byte, hexadecimal.
    pub address: String,
    /// Length in bytes.
    pub size: u64,
    /// The variable that it lies in, if that is static and has a name.
    #[serde(default)]
    pub variable: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Function.
    pub function: Option<String>,
    /// The innermost activation of its call stack, the access itself: its number, from 0, among [`Results::frames`].
    pub stack: Option<usize>,
}

/// The verdict on one cycle of code positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlockResult {
    /// What it is called from run to run: 16 hexadecimal digits over the functions and files.
    pub id: String,
    /// `cycle`, `standstill` or `partial`.
    #[serde(default)]
    pub kind: DeadlockKind,
    /// `witnessed`, `refuted`, `not-in-trace` or `unknown`.
    pub verdict: String,
    /// As of a [`PairResult`].
    pub reason: Option<String>,
    /// The reason in words, one fact a sentence.
    pub explanation: Vec<String>,
    /// The operations: of a cycle, each of which waits for the thread of the next one, and the last for that of the first.
    pub operations: Vec<WaitResult>,
    /// How many sets of operations at these positions were looked at.
    pub tried: u64,
    /// The file of the schedule; null if it is not witnessed, or nothing was stored.
    pub schedule: Option<String>,
    /// The line of a suppression file that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// Whether the baseline has it; absent without a baseline, or if it has not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The trace that it is of, if that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// One operation of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitResult {
    /// Its thread.
    pub thread: u32,
    /// The thread's name.
    pub thread_name: Option<String>,
    /// Its number in the trace.
    pub event: u32,
    /// What it waits for, in words: `mutex m`, `the end of thread 2`.
    pub waits_for: String,
    /// Source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Function.
    pub function: Option<String>,
    /// The innermost activation of its call stack, the operation itself: its number, from 0, among [`Results::frames`].
    pub stack: Option<usize>,
}

/// The verdict on an access that may come between two of another thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicityResult {
    /// What it is called from run to run: 16 hexadecimal digits over the functions and files, and the variable.
    pub id: String,
    /// `atomicity-violation`.
    pub kind: String,
    /// `witnessed`, `refuted`, `not-in-trace` or `unknown`.
    pub verdict: String,
    /// As of a [`PairResult`].
    pub reason: Option<String>,
    /// The reason in words, one fact a sentence.
    pub explanation: Vec<String>,
    /// Why the two belong together: `section`, `call`, `successive`, or `atomic`; of two variables, `redundant` or
    /// `compared`.
    pub region: String,
    /// What the region is called that is to be atomic; or the two variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<String>,
    /// The lock that is given back and taken again between them, of a `section`.
    pub lock: Option<String>,
    /// The first of the two accesses.
    pub first: AccessResult,
    /// The other thread's. Of two variables, its write of the one that is read first.
    pub between: AccessResult,
    /// Of two variables, the other thread's write of the one that is read second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_too: Option<AccessResult>,
    /// The second of the two.
    pub second: AccessResult,
    /// How many instances no simple argument excluded.
    pub tried: u64,
    /// The file of the schedule; null if it is not witnessed, or nothing was stored.
    pub schedule: Option<String>,
    /// The line of a suppression file that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// Whether the baseline has it; absent without a baseline, or if it has not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The trace that it is of, if that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// One function activation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FrameResult {
    /// Function.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// The module's path, for native code.
    pub module: Option<String>,
    /// Offset in the module, hexadecimal.
    pub offset: Option<String>,
    /// The activation that called it: its number, which is less than its own; null if it is the outermost.
    pub caller: Option<usize>,
}

/// What an object of any schema begins with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Schema {
    /// Its name and version.
    pub schema: String,
}

impl<P> Results<P> {
    /// The call stack whose innermost activation has this number, innermost first.
    pub fn stack(&self, innermost: Option<usize>) -> impl Iterator<Item = &FrameResult> {
        let mut next = innermost;
        std::iter::from_fn(move || {
            let number = next?;
            let frame = self.frames.get(number)?;
            // A file that somebody else wrote could lead round in a circle.
            next = frame.caller.filter(|&caller| caller < number);
            Some(frame)
        })
    }
}

/// The pairs, counted by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Witnessed pairs.
    pub witnessed: usize,
    /// Refuted pairs.
    pub refuted: usize,
    /// Pairs that only what happened in this trace excludes.
    #[serde(default)]
    pub not_in_trace: usize,
    /// Undecided pairs, also those that are not listed.
    pub unknown: usize,
    /// Those of them that are not listed, since there are more pairs than `--max-pairs`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: usize,
    /// Pairs that are not shown, since a suppression hides them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: usize,
    /// Pairs that are not shown, since the baseline has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known: usize,
    /// Those of the witnessed pairs that are uses after free, not races.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uses_after_free: usize,
    /// Those of the witnessed pairs that are violations of an order, not races.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub orders: usize,
    /// Those of the witnessed pairs that are pointers that may be null, not races.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub null_pointers: usize,
    /// Those of the witnessed pairs that are pointers to what may be freed, not races.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stale_pointers: usize,
    /// Witnessed deadlocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deadlocks: usize,
    /// Undecided deadlocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_cycles: usize,
    /// Witnessed atomicity violations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub atomicity_violations: usize,
    /// Undecided triples of positions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_interruptions: usize,
    /// What was looked for; absent if nobody said what.
    #[serde(default, skip_serializing_if = "Find::is_default")]
    pub find: Find,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let &Summary {
            witnessed,
            refuted,
            not_in_trace,
            unknown,
            unlisted,
            suppressed,
            known,
            uses_after_free,
            orders,
            null_pointers,
            stale_pointers,
            deadlocks,
            unknown_cycles,
            atomicity_violations,
            unknown_interruptions,
            find,
        } = self;
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let races = witnessed - uses_after_free - orders - null_pointers - stale_pointers;
        let all = [
            (Kind::Races, races, format!("data race{}", plural(races))),
            (
                Kind::UseAfterFree,
                uses_after_free,
                format!("use{} after free", plural(uses_after_free)),
            ),
            (Kind::Order, orders, format!("order violation{}", plural(orders))),
            (
                Kind::NullPointer,
                null_pointers,
                format!("null pointer{}", plural(null_pointers)),
            ),
            (
                Kind::StalePointer,
                stale_pointers,
                format!("stale pointer{}", plural(stale_pointers)),
            ),
            (Kind::Deadlocks, deadlocks, format!("deadlock{}", plural(deadlocks))),
            (
                Kind::Atomicity,
                atomicity_violations,
                format!("atomicity violation{}", plural(atomicity_violations)),
            ),
        ];
        // How many there are of the first kind is always said, and of the others, if there are any.
        let first = all.iter().position(|&(kind, ..)| find.has(kind)).unwrap_or(0);
        let (_, count, name) = &all[first];
        write!(f, "{count} {name} witnessed")?;
        if self.has_pairs() {
            write!(f, ", {refuted} pair{} refuted", plural(refuted))?;
            if not_in_trace > 0 {
                write!(f, ", {not_in_trace} not in this trace")?;
            }
            write!(f, ", {unknown} unknown")?;
            if unlisted > 0 {
                write!(f, " ({unlisted} beyond --max-pairs)")?;
            }
        }
        if suppressed > 0 {
            write!(f, ", {suppressed} suppressed")?;
        }
        if known > 0 {
            write!(f, ", {known} in the baseline")?;
        }
        for (_, count, name) in all.iter().skip(first + 1).filter(|(_, count, _)| *count > 0) {
            write!(f, "; {count} {name} witnessed")?;
        }
        if unknown_cycles > 0 {
            write!(
                f,
                "; {unknown_cycles} possible deadlock{} unknown",
                plural(unknown_cycles)
            )?;
        }
        if unknown_interruptions > 0 {
            let plural = plural(unknown_interruptions);
            write!(f, "; {unknown_interruptions} possible interruption{plural} unknown")?;
        }
        Ok(())
    }
}

impl Summary {
    /// Whether pairs of accesses are asked about.
    #[must_use]
    pub fn has_pairs(&self) -> bool {
        self.find.pairs()
            || self.find.has(Kind::Order)
            || self.find.has(Kind::NullPointer)
            || self.find.has(Kind::StalePointer)
            || self.witnessed + self.refuted + self.not_in_trace + self.unknown > 0
    }

    /// Whether there is no race, not even one that is not shown.
    #[must_use]
    pub fn has_no_race(&self) -> bool {
        self.witnessed + self.suppressed + self.known == 0
    }

    /// Counts one more verdict.
    pub fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Witnessed(schedule) => {
                self.witnessed += 1;
                self.uses_after_free += usize::from(matches!(schedule.goal, Goal::UseAfterFree { .. }));
                self.orders += usize::from(matches!(schedule.goal, Goal::Order { .. }));
                self.null_pointers += usize::from(matches!(schedule.goal, Goal::OtherValue { .. }));
                self.stale_pointers += usize::from(matches!(schedule.goal, Goal::StalePointer { .. }));
            }
            Verdict::Refuted(_) => self.refuted += 1,
            Verdict::NotInTrace(_) => self.not_in_trace += 1,
            Verdict::Unknown(_) => self.unknown += 1,
        }
    }
}

impl TraceSummary {
    /// What there is to say of a trace.
    #[must_use]
    pub fn of(trace: &Trace, path: &Path) -> TraceSummary {
        let cut = trace.cut().map(|cut| CutSummary {
            events: cut.events,
            offset: cut.offset,
            cause: cut.cause.clone(),
        });
        TraceSummary {
            id: trace.id().to_string(),
            path: path.display().to_string(),
            events: trace.len(),
            threads: trace.threads(),
            ending: match trace.program_end() {
                _ if cut.is_some() => "cut",
                ProgramEnd::EventLimit => "event-limit",
                ProgramEnd::TimeLimit => "time-limit",
                ProgramEnd::Deadlock => "deadlock",
                ProgramEnd::Unknown | ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) => "complete",
            }
            .to_owned(),
            program_failed: failure_of(*trace.program_end()),
            cut,
            // Of a trace in another tool's format there is nothing to say, nor of an end that is not looked at.
            standstill: match trace.first_events() {
                None => Standstill::of_loaded(trace, path).unwrap_or_default(),
                Some(_) => Standstill::default(),
            },
        }
    }
}

/// The folder in which a trace's results are stored, unless the user says where.
#[must_use]
pub fn folder_of(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace);
    name.push(".witnesses");
    PathBuf::from(name)
}

/// Name and version of this program.
#[must_use]
pub fn tool() -> String {
    format!("witness {}", env!("CARGO_PKG_VERSION"))
}

/// The name of a reason, as the JSON has it.
pub(crate) fn refutation_name(refutation: &Refutation) -> &'static str {
    match refutation {
        Refutation::MustHappenBefore(_) => "must-happen-before",
        Refutation::CommonLock { .. } | Refutation::VariableLock { .. } => "lockset",
        Refutation::LockHistory { .. } => "lock history",
        Refutation::Core(_) => "core",
        Refutation::Priority { .. } => "priority, by your file",
        Refutation::Reality { .. } => "reality, by your file",
    }
}

pub(crate) fn unknown_name(unknown: &Unknown) -> &'static str {
    match unknown {
        Unknown::Budget => "budget",
        Unknown::Steps => "steps",
        Unknown::Instances => "instances",
        Unknown::Time => "time",
        Unknown::Rejected => "rejected",
        Unknown::Cut(_) => "cut",
        Unknown::Unrecorded(_) => "unrecorded code",
        Unknown::Unsynchronized { .. } => "unrecorded synchronization",
    }
}
