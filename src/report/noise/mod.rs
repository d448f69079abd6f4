//! Identity and noise: the id of a race from run to run, and which races are hidden.
//!
//! Two pairs of instructions are the same race if they are of the same kind, in the same two functions of the same two
//! files, and concern the same variable, if that is a static one. Lines are not part of that, since they move with
//! every edit, nor are folders, since the same sources lie elsewhere on another machine. Only the user, or the program
//! itself, hides a race; it is counted, and stays in the results.

mod baseline;
mod suppressions;

pub use baseline::{Baseline, BaselineError};
pub use suppressions::{Names, ReportType, Reported, SuppressionError, Suppressions};

use super::Words;
use super::words::name_of;
use crate::symbols::{Frame, file_name};
use crate::trace::{EventId, Op};
use crate::verdict::{Analysis, AtomicityViolation, Deadlock, Entry, Pair, Verdict};
use hashbrown::HashMap;
use twox_hash::XxHash64;

/// What the user does not want to see.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Suppression files.
    pub suppressions: Suppressions,
    /// What is known already.
    pub baseline: Option<Baseline>,
}

/// Why something is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// By this line of a suppression file, `race:queue_push`, or by what the program says of its own races.
    Suppressed(String),
    /// The baseline has it.
    Known,
    /// Another trace of the same program says more of it, or says it first.
    Elsewhere,
}

/// What the findings of an analysis are called, and which of them are hidden.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    named: HashMap<Entry, Named>,
    used: Vec<bool>,
}

/// What a finding is called, and why it is not shown.
#[derive(Clone, Debug)]
struct Named {
    id: String,
    hidden: Option<Hidden>,
}

impl Noise {
    /// Names what an analysis says something of, and filters it.
    #[must_use]
    pub fn of(words: &Words<'_>, analysis: &Analysis, filters: &Filters) -> Noise {
        let mut used = vec![false; filters.suppressions.len()];
        let own = Suppressions::of_program(&words.trace.tables().marks);
        let mut named: HashMap<Entry, Named> = HashMap::with_capacity(analysis.pairs.len());
        for (row, pair) in analysis.pairs.iter().enumerate() {
            let id = id(words, pair);
            let hidden = hidden(words, pair, &id, (filters, &own), &mut used);
            named.insert(Entry::Pair(row), Named { id, hidden });
        }
        for (row, deadlock) in analysis.deadlocks.iter().enumerate() {
            let id = id_of_deadlock(words, deadlock);
            let about = About {
                of: ReportType::Deadlock,
                events: &deadlock.example,
                verdict: &deadlock.verdict,
                access: None,
            };
            let hidden = hidden_by(words, &about, &id, (filters, &own), &mut used);
            named.insert(Entry::Deadlock(row), Named { id, hidden });
        }
        for (row, violation) in analysis.atomicity_violations.iter().enumerate() {
            let id = id_of_atomicity_violation(words, violation);
            let about = About {
                of: ReportType::AtomicityViolation,
                events: &violation.example,
                verdict: &violation.verdict,
                access: Some(violation.first()),
            };
            let hidden = hidden_by(words, &about, &id, (filters, &own), &mut used);
            named.insert(Entry::AtomicityViolation(row), Named { id, hidden });
        }
        Noise { named, used }
    }

    /// The id of a finding: 16 hexadecimal digits.
    #[must_use]
    pub fn id(&self, entry: Entry) -> &str {
        self.named.get(&entry).map_or("", |named| &named.id)
    }

    /// Why a finding is not shown; `None` if it is.
    #[must_use]
    pub fn hidden(&self, entry: Entry) -> Option<&Hidden> {
        self.named.get(&entry)?.hidden.as_ref()
    }

    /// Which suppressions hide something.
    #[must_use]
    pub fn used(&self) -> &[bool] {
        &self.used
    }

    /// Hides a finding because whoever warned of it is not to be listened to. What is refuted is hidden from nobody.
    pub fn hide(&mut self, entry: Entry, verdict: &Verdict, why: &Hidden) {
        if let Some(named) = self.named.get_mut(&entry)
            && !matches!(verdict, Verdict::Refuted(_))
        {
            named.hidden.get_or_insert_with(|| why.clone());
        }
    }

    /// Without the findings whose ids another trace speaks for.
    #[must_use]
    pub fn only(&self, own: impl Fn(&str) -> bool) -> Noise {
        let mut all = self.clone();
        for named in all.named.values_mut().filter(|named| !own(&named.id)) {
            named.hidden = Some(Hidden::Elsewhere);
        }
        all
    }

    /// How many findings are hidden: by suppressions, and by the baseline.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let all = self.named.values().filter_map(|named| named.hidden.as_ref());
        let all = all.filter(|hidden| **hidden != Hidden::Elsewhere);
        let known = all.clone().filter(|hidden| **hidden == Hidden::Known).count();
        (all.count() - known, known)
    }
}

/// The function of an event, as far as it stays from run to run.
fn side(words: &Words<'_>, event: EventId) -> String {
    let frame = words.frame(event);
    let file = frame.file.as_deref().map_or("", file_name).to_owned();
    match (frame.function, frame.module) {
        (Some(function), _) => format!("{file}\0{function}"),
        // Nothing but the place in the module tells such functions apart.
        (None, Some((module, offset))) => format!("{}\0+{offset:#x}", file_name(&module)),
        (None, None) => format!("{file}\0{}", frame.line.unwrap_or(0)),
    }
}

/// That of a deadlock: its functions, and what is waited for in them.
fn id_of_deadlock(words: &Words<'_>, deadlock: &Deadlock) -> String {
    let of = |&event: &EventId| {
        let op = words.trace.op(event);
        let object = match op {
            Op::SemWait { semaphore } => Some(semaphore),
            Op::BarrierExit { barrier, .. } => Some(barrier),
            Op::OnceWait { once } => Some(once),
            _ => op.lock(),
        };
        let lock = object.and_then(|object| words.trace.tables().object(object));
        // Only what has a name is the same in the next run.
        let named = lock.is_some_and(|lock| lock.name.is_some() || words.symbols.variable(lock.addr).is_some());
        let awaited = if named {
            words.awaited(event, &deadlock.example)
        } else {
            String::new()
        };
        format!("{}\0{awaited}", side(words, event))
    };
    let mut sides: Vec<String> = deadlock.example.iter().map(of).collect();
    sides.sort();
    format!(
        "{:016x}",
        XxHash64::oneshot(0, format!("deadlock\0{}", sides.join("\0")).as_bytes())
    )
}

/// The variable that an access is of, if that is static and has a name.
fn variable(words: &Words<'_>, event: EventId) -> Option<String> {
    let access = words.trace.access(event);
    access.and_then(|access| words.variable(access))
}

/// That of an atomicity violation: its functions, in their order, and the variable.
fn id_of_atomicity_violation(words: &Words<'_>, violation: &AtomicityViolation) -> String {
    let sides: Vec<String> = violation.example.iter().map(|&event| side(words, event)).collect();
    let mut variables = variable(words, violation.first()).unwrap_or_default();
    if violation.others().len() > 1 {
        variables.push('\0');
        variables.push_str(&variable(words, violation.second()).unwrap_or_default());
    }
    let name = format!("atomicity violation\0{}\0{variables}", sides.join("\0"));
    format!("{:016x}", XxHash64::oneshot(0, name.as_bytes()))
}

/// What suppressions and baselines look at.
struct About<'a> {
    of: ReportType,
    events: &'a [EventId],
    verdict: &'a Verdict,
    /// The access whose variable it is about.
    access: Option<EventId>,
}

fn hidden_by(
    words: &Words<'_>,
    about: &About<'_>,
    id: &str,
    (filters, own): (&Filters, &Suppressions),
    used: &mut [bool],
) -> Option<Hidden> {
    let witnessed = match about.verdict {
        Verdict::Witnessed(_) => true,
        Verdict::Unknown(_) | Verdict::NotInTrace(_) => false,
        Verdict::Refuted(_) => return None,
    };
    if filters.suppressions.is_empty() && own.is_empty() && filters.baseline.is_none() {
        return None;
    }
    let (trace, symbols) = (words.trace, words.symbols);
    let stacks = about
        .events
        .iter()
        .map(|&event| symbols.stack(trace.pc(event), trace.stack(event)));
    let stacks: Vec<Vec<Frame>> = stacks.collect();
    let stacks: Vec<Vec<Names<'_>>> = stacks.iter().map(|stack| stack.iter().map(names).collect()).collect();
    let variable = about.access.and_then(|event| variable(words, event));
    let reported = Reported {
        of: about.of,
        // A trace has the caller where others have what is intercepted.
        callers: stacks.iter().filter_map(|stack| stack.first().copied()).collect(),
        stacks,
        variable: variable.as_deref(),
    };
    let line = filters.suppressions.find(&reported, used);
    if let Some(line) = line.or_else(|| own.find(&reported, &mut vec![false; own.len()])) {
        return Some(Hidden::Suppressed(line));
    }
    let baseline = filters.baseline.as_ref();
    baseline
        .is_some_and(|baseline| baseline.knows(id, witnessed))
        .then_some(Hidden::Known)
}

fn id(words: &Words<'_>, pair: &Pair) -> String {
    let kind = match &pair.verdict {
        _ if pair.order.is_some() => "order",
        Verdict::Witnessed(schedule) => name_of(&schedule.goal),
        _ => "data race",
    };
    let mut sides = [side(words, pair.example.0), side(words, pair.example.1)];
    sides.sort();
    let variable = variable(words, pair.example.0);
    let name = format!("{kind}\0{}\0{}\0{}", sides[0], sides[1], variable.unwrap_or_default());
    format!("{:016x}", XxHash64::oneshot(0, name.as_bytes()))
}

/// Of a pair, the program itself may excuse it, too.
fn hidden(
    words: &Words<'_>,
    pair: &Pair,
    id: &str,
    filters: (&Filters, &Suppressions),
    used: &mut [bool],
) -> Option<Hidden> {
    let trace = words.trace;
    let events = [pair.example.0, pair.example.1];
    let mut accesses = events.iter().filter_map(|&event| trace.access(event));
    if !matches!(pair.verdict, Verdict::Refuted(_))
        && let Some(excuse) = accesses.find_map(|access| trace.excuse(access))
    {
        return Some(Hidden::Suppressed(excuse));
    }
    let about = About {
        of: ReportType::Race,
        events: &events,
        verdict: &pair.verdict,
        access: Some(pair.example.0),
    };
    hidden_by(words, &about, id, filters, used)
}

fn names(frame: &Frame) -> Names<'_> {
    Names {
        function: frame.function.as_deref(),
        file: frame.file.as_deref(),
        module: frame.module.as_ref().map(|(path, _)| path.as_str()),
    }
}

/// The line of a suppression file that hides a race in which these frames are innermost: by function, else by file,
/// else by module.
#[must_use]
pub fn suppression_for(frame: &Frame) -> Option<String> {
    let module = || frame.module.as_ref().map(|(path, _)| file_name(path).to_owned());
    let file = || frame.file.as_deref().map(|file| file_name(file).to_owned());
    let template = frame.function.clone().or_else(file).or_else(module)?;
    // A line break in a name would begin another suppression.
    (!template.contains(char::is_control)).then(|| format!("race_top:{template}"))
}
