//! SARIF 2.1.0, for code scanning.
//!
//! Each race is one result. Its schedule appears twice: as a code flow with a thread flow for each thread, in which
//! `executionOrder` is the position in the schedule (equal for the two racing accesses, since nothing orders them), and
//! as one flat thread flow, for viewers that show only the first. Refuted pairs are no results; undecided ones are, of
//! kind `open`; pairs that are not in this trace are results of kind `open` if a warning asks about them, and otherwise
//! counted. Suppressed races have their suppression, known ones are `unchanged`.
//!
//! The limits are those that GitHub documents for uploads: it would show only a part of more results and steps.

use super::command::{another_run, replay_command};
use super::condense::{Line, lines};
use super::noise::Hidden;
use super::paths::{folder_uri, seen};
use super::words::{capitalized, name_of};
use super::{Exporter, Findings, Race, Unfinished};
use crate::replay::Replay;
use crate::results::{FoundResult, Summary, UNPROVEN_RACE, refutation_name, unknown_name};
use crate::schedule::{Goal, Schedule};
use crate::symbols::Frame;
use crate::trace::{EventId, Op, ThreadId};
use crate::verdict::{Pair, Verdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Steps of one schedule. GitHub shows 1,000 of all thread flows of a result; each step is there twice.
const MAX_STEPS: usize = 450;

/// Races whose schedule is written; each replay of a long trace takes its time, and GitHub takes 10 MB.
const FLOWS: usize = 200;

/// Results. GitHub shows 5,000 of a run.
const MAX_RESULTS: usize = 5_000;

const RULES: [(&str, &str, &str, &str); 13] = [
    (
        "data-race",
        "DataRace",
        "Two accesses to the same memory, one of them a write, can happen at the same time.",
        "A schedule of the recorded events leads to both accesses at once; an independent checker has executed it. \
         Guard both accesses by a common lock, or make them atomic.",
    ),
    (
        "unordered-data-race",
        "UnorderedDataRace",
        "Two accesses to the same memory, one of them a write, are ordered by nothing but weak atomics.",
        "In the schedule the accesses come one after the other, and nothing synchronizes them, though a flag of relaxed \
         order lies between them. Use acquire and release on the flag, or guard both accesses by a common lock.",
    ),
    (
        "undecided-pair",
        "UndecidedPair",
        "Two conflicting accesses whose race is neither witnessed nor refuted.",
        "The reason says what is missing: more of the solver's budget, more instances, another run, instrumented code, or the end of a trace that is cut.",
    ),
    (
        "deadlock",
        "Deadlock",
        "Threads can come to wait for one another forever.",
        "A run that was forced there ended so. Take locks in one order, and change what a condition stands for under its mutex.",
    ),
    (
        "partial-deadlock",
        "PartialDeadlock",
        "Threads can come to wait for what nobody else does, while others go on.",
        "A schedule of the recorded events leads there, and no other thread ends these waits anywhere in the recorded run, or has anything left to do in it. \
         Do not wait for a signal, a post or a barrier while holding what somebody needs who is to give it.",
    ),
    (
        "use-after-free",
        "UseAfterFree",
        "Memory can be accessed after another thread has freed it.",
        "A schedule of the recorded events frees the block and leads to the access then; an independent checker has executed it. \
         Let the block live until nobody can come to it any more: by a count of references, or by joining the threads first.",
    ),
    (
        "atomicity-violation",
        "AtomicityViolation",
        "Another thread's access can come between two that belong together.",
        "A schedule of the recorded events performs the three in this order; an independent checker has executed it. \
         Hold one lock from the first of the two to the second, or check again what was seen before.",
    ),
    (
        "failure",
        "Failure",
        "In some schedule the program fails.",
        "A run that was forced there failed. Its trace, replayed live as recorded, fails again.",
    ),
    (
        "hang",
        "Hang",
        "In some schedule the program does not end.",
        "A run that was forced there was ended by its time limit.",
    ),
    (
        UNPROVEN_RACE,
        "UnprovenRace",
        "A data race was found by searching, and no trace proves it.",
        "Raise the bound of runs, or the budget of the analysis.",
    ),
    (
        "order-violation",
        "OrderViolation",
        "An access can come before another one that has to come first.",
        "A schedule of the recorded events leads to the access while the other one has not happened; an independent checker has \
         executed it. Initialize before other threads are started, or let them wait until it is done.",
    ),
    (
        "null-pointer",
        "NullPointer",
        "A pointer that is followed can be null.",
        "A schedule of the recorded events leads to the read of the pointer while it is 0; an independent checker has executed it. \
         Look at the pointer and follow it under one lock, under which it is set, too.",
    ),
    (
        "stale-pointer",
        "StalePointer",
        "A pointer that is followed can point to what was freed.",
        "A schedule of the recorded events leads to the read of the pointer behind the free of what it points to then; an \
         independent checker has executed it. Take the pointer away under a lock before what it points to is freed.",
    ),
];

/// Writes SARIF 2.1.0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sarif;

impl Exporter for Sarif {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        let mut results = Vec::new();
        for findings in findings {
            results.extend(races(findings));
            results.extend(others(findings));
            results.extend(unknowns(findings));
            results.extend(unmatched(findings));
        }
        let exploration = findings.first().and_then(|first| first.exploration);
        results.extend(exploration.into_iter().flat_map(|all| &all.found).map(found));
        let dropped = results.len().saturating_sub(MAX_RESULTS);
        results.truncate(MAX_RESULTS);
        let mut run = json!({
            "tool": { "driver": driver() },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(findings, dropped),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        });
        if let Some(root) = findings
            .first()
            .map(|findings| findings.root.folder.as_path())
            .filter(|root| root.is_absolute())
        {
            run["originalUriBaseIds"] = json!({ "%SRCROOT%": { "uri": folder_uri(root) } });
        }
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        });
        serde_json::to_writer(&mut *out, &log)?;
        writeln!(out)
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": driver() },
                "invocations": [{
                    "executionSuccessful": false,
                    "toolExecutionNotifications": [
                        { "level": "error", "message": { "text": analysis.in_one_line() } },
                    ],
                }],
                "columnKind": "unicodeCodePoints",
                "results": [],
            }],
        });
        serde_json::to_writer(&mut *out, &log)?;
        writeln!(out)
    }
}

/// What an exploration has found besides witnessed races.
fn found(found: &FoundResult) -> Value {
    let rule = RULES.iter().position(|(id, ..)| *id == found.kind).unwrap_or(UNDECIDED);
    let open = found.kind == UNPROVEN_RACE;
    let facts = found.details.iter().chain(&found.replay).map(String::as_str);
    let text: Vec<&str> = [found.title.as_str()].into_iter().chain(facts).collect();
    json!({
        "ruleId": RULES[rule].0,
        "ruleIndex": rule,
        "kind": if open { "open" } else { "fail" },
        "level": if open { "none" } else { "error" },
        "message": { "text": text.join("\n") },
        "properties": { "trace": found.trace, "replay": found.replay },
    })
}

fn driver() -> Value {
    let rules = RULES.iter().enumerate().map(|(row, (id, name, short, help))| {
        let level = if row == UNDECIDED { "note" } else { "error" };
        json!({
            "id": id,
            "name": name,
            "shortDescription": { "text": short },
            "fullDescription": { "text": short },
            "help": { "text": help },
            "defaultConfiguration": { "level": level },
            "properties": { "tags": ["concurrency", "correctness"], "precision": "very-high" },
        })
    });
    json!({
        "name": "witness",
        "version": env!("CARGO_PKG_VERSION"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules.collect::<Vec<_>>(),
    })
}

/// The row of the rule for undecided pairs.
const UNDECIDED: usize = 2;

fn notifications(findings: &[Findings<'_>], dropped: usize) -> Vec<Value> {
    let mut said = Vec::new();
    for findings in findings {
        let path = findings.path.display();
        if let Some(cut) = findings.trace.cut() {
            said.push(format!("{path} is cut ({}): nothing is refuted", cut.cause));
        }
        if let count @ 1.. = Summary::of(findings).not_in_trace
            && findings.exploration.is_none()
        {
            let another = another_run(findings.trace).map_or_else(String::new, |command| format!(": {command}"));
            said.push(format!(
                "{path}: {count} pairs are not in this trace; another run may show them{another}"
            ));
        }
        let degraded = &findings.trace.tables().meta.degraded;
        said.extend(
            degraded
                .iter()
                .map(|why| format!("{path} may lack events or order: {why}")),
        );
        said.extend(findings.symbols.problems().iter().map(ToString::to_string));
    }
    if let Some(all) = findings.first().and_then(|first| first.exploration) {
        let statement = all.statement(Summary::total(findings).has_no_race());
        let lines = [&statement].into_iter().chain(&all.not_exhausted).map(String::as_str);
        said.push(lines.collect::<Vec<_>>().join("\n"));
    }
    if dropped > 0 {
        said.push(format!(
            "{dropped} more results are left out; the JSON report has them all"
        ));
    }
    let said = said.into_iter();
    said.map(|text| json!({ "level": "warning", "message": { "text": text } }))
        .collect()
}

fn races(findings: &Findings<'_>) -> Vec<Value> {
    let checker = findings.checker();
    let mut results = Vec::new();
    // A race is shown if one of its pairs is, else it is listed as what hides it.
    let shown = findings.shown_races();
    let hidden = findings.races(|row| row.hidden.is_some());
    let alone = |race: &Race<'_>| shown.iter().all(|other| other.first().id != race.first().id);
    let all = shown.iter().chain(hidden.iter().filter(|race| alone(race)));
    let all: Vec<&Race<'_>> = all.take(MAX_RESULTS).collect();
    let schedules: Vec<&Schedule> = all.iter().take(FLOWS).map(|race| race.schedule).collect();
    let mut replays = Replay::of_all(&checker, &schedules).into_iter();
    for race in all {
        results.push(match replays.next() {
            Some(Ok(replay)) => result(findings, race, Some(&replay)),
            // Never a race that the checker does not accept.
            Some(Err(_)) => continue,
            None => result(findings, race, None),
        });
    }
    results
}

fn result(findings: &Findings<'_>, race: &Race<'_>, replay: Option<&Replay>) -> Value {
    let pair = race.first().of;
    let (rule, what, how) = match race.schedule.goal {
        Goal::UnorderedRace(..) => (
            "unordered-data-race",
            "Data race",
            "The first comes before the second, and nothing synchronizes them.",
        ),
        Goal::Order { .. } => (
            "order-violation",
            "Order violation",
            "The second is next, and the first, which has to come before it, has not happened.",
        ),
        Goal::UseAfterFree { .. } => (
            "use-after-free",
            "Use after free",
            "The block is freed, and then the other access is next.",
        ),
        Goal::OtherValue { .. } => (
            "null-pointer",
            "Null pointer",
            "The read is next, and the pointer is 0.",
        ),
        Goal::StalePointer { .. } => (
            "stale-pointer",
            "Stale pointer",
            "The block is freed, and then the pointer to it is about to be read.",
        ),
        Goal::Race(..)
        | Goal::Deadlock(_)
        | Goal::PartialDeadlock(_)
        | Goal::AtomicityViolation { .. }
        | Goal::TornPair { .. } => (
            "data-race",
            "Data race",
            "Nothing orders the two accesses: both are next.",
        ),
    };
    let rule = RULES.iter().position(|(id, ..)| *id == rule).unwrap_or(UNDECIDED);
    let [a, b] = [pair.example.0, pair.example.1].map(|event| findings.access(event));
    let command = replay_command(findings, race.number());
    let warnings = findings.warnings_about(race.first().entry);
    let warned = match &warnings[..] {
        [] => String::new(),
        warnings => format!("\nWarned of by {}.", warnings.join(", ")),
    };
    let count = match race.rows.len() {
        1 => String::new(),
        count => format!("\n{count} pairs of instructions in these functions race."),
    };
    let text = format!("{what}: {a}; [{b}](1). {how}{count}{warned}\nShow it again: {command}");
    let mut related = location(findings, pair.example.1, &b);
    related["id"] = json!(1);
    let mut result = json!({
        "ruleId": RULES[rule].0,
        "ruleIndex": rule,
        "kind": "fail",
        "level": "error",
        "message": { "text": text },
        "locations": [location(findings, pair.example.0, &a)],
        "relatedLocations": [related],
        "partialFingerprints": { "witnessRace/v1": race.first().id },
        "occurrenceCount": race.rows.len(),
        "properties": {
            "events": [pair.example.0.0, pair.example.1.0],
            "replay": command,
            "suppression": findings.suppression(pair),
        },
    });
    if let Some(replay) = replay {
        result["codeFlows"] = code_flows(findings, replay);
    }
    match race.first().hidden {
        Some(Hidden::Suppressed(line)) => {
            result["suppressions"] = json!([{ "kind": "external", "justification": line }]);
        }
        Some(Hidden::Known | Hidden::Elsewhere) => result["baselineState"] = json!("unchanged"),
        None => {}
    }
    result
}

/// Witnessed deadlocks and atomicity violations, the same once.
fn others(findings: &Findings<'_>) -> Vec<Value> {
    let words = findings.words();
    let results = findings.witnessed_others().map(|(number, other)| {
        let rule = RULES.iter().position(|(id, ..)| *id == other.name().replace(' ', "-"));
        let rule = rule.unwrap_or(UNDECIDED);
        let command = replay_command(findings, number);
        let (title, headline) = (capitalized(other.name()), other.headline(findings));
        let places = other.example().iter().enumerate().map(|(at, &event)| {
            let mut place = location(findings, event, &other.sentence(&words, event));
            place["id"] = json!(at);
            place
        });
        let places: Vec<Value> = places.collect();
        json!({
            "ruleId": RULES[rule].0,
            "ruleIndex": rule,
            "kind": "fail",
            "level": "error",
            "message": { "text": format!("{title}: {headline}.\nShow it again: {command}") },
            "locations": [places[0]],
            "relatedLocations": places[1..],
            "partialFingerprints": { "witnessRace/v1": other.id },
            "properties": { "replay": command },
        })
    });
    results.collect()
}

/// Undecided pairs, the same once.
fn unknowns(findings: &Findings<'_>) -> Vec<Value> {
    let mut by_id: BTreeMap<(&str, &str), (&Pair, &str, usize)> = BTreeMap::new();
    for row in findings.shown() {
        let asked = || {
            findings
                .attached_warnings
                .iter()
                .any(|warning| warning.row == Some(row.entry))
        };
        let (what, reason) = match &row.of.verdict {
            Verdict::Unknown(unknown) => ("Not decided", unknown_name(unknown)),
            Verdict::NotInTrace(why) if asked() => ("Not in this trace", refutation_name(why)),
            _ => continue,
        };
        let known = by_id.entry((row.id, what)).or_insert((row.of, reason, 0));
        known.2 += 1;
    }
    let results = by_id.into_iter().map(|((id, what), (pair, reason, count))| {
        let text = format!("{what} ({reason}): {}", findings.headline(pair));
        let explanation = findings.words().explanation(pair).join("; ");
        json!({
            "ruleId": RULES[UNDECIDED].0,
            "ruleIndex": UNDECIDED,
            "kind": "open",
            "level": "none",
            "message": { "text": format!("{text}. {explanation}") },
            "locations": [location(findings, pair.example.0, "")],
            "partialFingerprints": { "witnessRace/v1": id },
            "occurrenceCount": count,
        })
    });
    results.collect()
}

/// Other tools' warnings that nothing in the trace answers.
fn unmatched(findings: &Findings<'_>) -> Vec<Value> {
    let open = findings
        .attached_warnings
        .iter()
        .filter(|warning| warning.row.is_none() && warning.verdict == "unknown");
    let results = open.map(|warning| {
        let text = format!(
            "{} warns of {}, which is not decided. {}",
            warning.tool,
            warning.sides.join(" and "),
            warning.explanation.join("; ")
        );
        let (file, line) = match &warning.place {
            Some((file, line)) => (file.as_str(), Some(*line)),
            None => (warning.origin.split(':').next().unwrap_or_default(), None),
        };
        json!({
            "ruleId": RULES[UNDECIDED].0,
            "ruleIndex": UNDECIDED,
            "kind": "open",
            "level": "none",
            "message": { "text": text },
            "locations": [{ "physicalLocation": physical(findings, file, line) }],
        })
    });
    results.collect()
}

/// The steps of a schedule that are shown, each with its place in it, then the race.
fn code_flows(findings: &Findings<'_>, replay: &Replay) -> Value {
    let words = findings.words();
    let lines = lines(findings.trace, replay, false);
    let steps = lines.iter().filter_map(|line| match *line {
        Line::Event { index } => Some(index),
        Line::Switch { .. } | Line::Condensed { .. } => None,
    });
    let steps: Vec<usize> = steps.collect();
    let steps = &steps[steps.len().saturating_sub(MAX_STEPS)..];
    let mut flat = Vec::new();
    let goal = &replay.accepted.goal;
    for &index in steps {
        let step = &replay.executed[index];
        let thread = findings.trace.thread(step.event);
        let essential = goal.performed().any(|event| event == step.event);
        let text = format!(
            "{} {}",
            words.thread(thread),
            words.describe_event(step.event, &step.step.woken)
        );
        flat.push((thread, flow_location(findings, step.event, &text, index + 1, essential)));
    }
    let last = replay.executed.len() + 1;
    for event in goal.pending() {
        let text = format!("{}: {}", name_of(goal), findings.access(event));
        flat.push((
            findings.trace.thread(event),
            flow_location(findings, event, &text, last, true),
        ));
    }
    let mut threads: BTreeMap<ThreadId, Vec<Value>> = BTreeMap::new();
    for (thread, location) in &flat {
        threads.entry(*thread).or_default().push(location.clone());
    }
    let threads = threads.into_iter().map(|(thread, locations)| {
        let name = words.thread(thread);
        json!({ "id": name, "message": { "text": name }, "locations": locations })
    });
    let flat: Vec<Value> = flat.into_iter().map(|(_, location)| location).collect();
    json!([
        { "message": { "text": "The schedule, thread by thread" }, "threadFlows": threads.collect::<Vec<_>>() },
        { "message": { "text": "The schedule, step by step" }, "threadFlows": [{ "id": "schedule", "locations": flat }] },
    ])
}

fn flow_location(findings: &Findings<'_>, event: EventId, text: &str, order: usize, essential: bool) -> Value {
    let op = findings.trace.op(event);
    let kinds: &[&str] = match op {
        Op::Acquire { .. } | Op::AcquireShared { .. } | Op::WaitEnd { .. } => &["acquire", "lock"],
        Op::Release { .. } | Op::WaitBegin { .. } => &["release", "lock"],
        Op::Access => &["memory"],
        Op::Begin => &["enter", "function"],
        Op::End => &["exit", "function"],
        _ => &["scope"],
    };
    let importance = match op {
        _ if essential => "essential",
        Op::Access | Op::Begin | Op::End => "unimportant",
        _ => "important",
    };
    json!({
        "location": location(findings, event, text),
        "executionOrder": order,
        "importance": importance,
        "kinds": kinds,
    })
}

/// Where an event is: a line of a source file, else a place in a module, else only its thread.
fn location(findings: &Findings<'_>, event: EventId, text: &str) -> Value {
    let frame = findings.words().frame(event);
    let mut location = Map::new();
    if let Some(place) = of_frame(findings, &frame) {
        location.insert("physicalLocation".to_owned(), place);
    }
    if let Some(function) = &frame.function {
        let logical = json!([{ "fullyQualifiedName": function, "kind": "function" }]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    if !text.is_empty() {
        location.insert("message".to_owned(), json!({ "text": text }));
    }
    Value::Object(location)
}

fn of_frame(findings: &Findings<'_>, frame: &Frame) -> Option<Value> {
    match (&frame.file, &frame.module) {
        (Some(file), _) => Some(physical(findings, file, frame.line)),
        (None, Some((module, offset))) => {
            let mut place = physical(findings, module, None);
            place["address"] = json!({ "relativeAddress": offset, "kind": "instruction" });
            Some(place)
        }
        (None, None) => None,
    }
}

fn physical(findings: &Findings<'_>, file: &str, line: Option<u32>) -> Value {
    let seen = seen(file, &findings.root.folder);
    let mut artifact = json!({ "uri": seen.uri() });
    if seen.below {
        artifact["uriBaseId"] = json!("%SRCROOT%");
    }
    let mut place = json!({ "artifactLocation": artifact });
    if let Some(line) = line.filter(|&line| line > 0) {
        place["region"] = json!({ "startLine": line });
    }
    place
}
