//! JUnit XML, for viewers of test results.
//!
//! Each trace is a test suite, each race or pair of places a test case: a witnessed race fails, a refuted pair passes;
//! an undecided pair is skipped, and so is one that is not in this trace or that the user hides. An analysis that was
//! ended is an error.

use super::command::replay_command;
use super::noise::Hidden;
use super::text::Told;
use super::{Exporter, Findings, Paint, SourceText, Unfinished};
use crate::replay::Replay;
use crate::results::{ExplorationResult, Summary, refutation_name, unknown_name};
use crate::schedule::Schedule;
use crate::symbols::printable;
use crate::verdict::{Pair, Verdict};
use hashbrown::HashMap;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Races that are told from their first step to their last.
const TOLD: usize = 100;

/// Writes JUnit XML.
#[derive(Clone, Copy, Debug, Default)]
pub struct JUnit;

impl Exporter for JUnit {
    fn export(&self, findings: &[Findings<'_>], out: &mut dyn Write) -> io::Result<()> {
        let mut report = Report::new("witness");
        for findings in findings {
            report.add_test_suite(suite(findings)?);
        }
        if let Some(all) = findings.first().and_then(|first| first.exploration) {
            report.add_test_suite(exploration(all, Summary::total(findings).has_no_race()));
        }
        report.serialize(&mut *out).map_err(io::Error::other)?;
        writeln!(out)
    }

    fn unfinished(&self, analysis: &Unfinished<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("unfinished");
        status.set_message(analysis.in_one_line());
        let mut suite = TestSuite::new(analysis.trace.display().to_string());
        suite.add_test_case(TestCase::new("analysis", status));
        let mut report = Report::new("witness");
        report.add_test_suite(suite);
        report.serialize(&mut *out).map_err(io::Error::other)?;
        writeln!(out)
    }
}

/// The cases of one suite. No two have one name: viewers take the second for the first once more, and show one of them.
struct Cases {
    suite: TestSuite,
    /// How often each name was used, without its number.
    used: HashMap<(Option<String>, String), usize>,
}

impl Cases {
    fn push(&mut self, mut case: TestCase) {
        let of = case.classname.as_ref().map(|name| name.as_str().to_owned());
        let times = self.used.entry((of, case.name.as_str().to_owned())).or_default();
        *times += 1;
        if *times > 1 {
            case.name = format!("{} ({times})", case.name.as_str()).into();
        }
        self.suite.add_test_case(case);
    }
}

fn suite(findings: &Findings<'_>) -> io::Result<TestSuite> {
    let mut suite = Cases {
        suite: TestSuite::new(findings.path.display().to_string()),
        used: HashMap::new(),
    };
    let checker = findings.checker();
    let sources = SourceText::of_findings(std::slice::from_ref(findings));
    let races = findings.shown_races();
    let schedules: Vec<&Schedule> = races.iter().take(TOLD).map(|race| race.schedule).collect();
    let mut replays = Replay::of_all(&checker, &schedules).into_iter();
    for race in races {
        let pair = race.first().of;
        let mut body = Vec::new();
        if let Some(Ok(replay)) = replays.next() {
            let told = Told {
                findings,
                paint: Paint::default(),
                sources: &sources,
                number: race.number(),
                rows: &race.rows,
            };
            told.body(pair, race.schedule, &replay, &mut body)?;
        }
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(race.name());
        status.set_message(findings.headline(pair));
        status.set_description(String::from_utf8_lossy(&body).into_owned());
        suite.push(case(findings, pair, status));
    }
    let embedded = sources.shown();
    if !embedded.is_empty() {
        suite
            .suite
            .add_property(("source lines of", embedded.join(", ").as_str()));
    }
    if let Some(end) = findings.run_end() {
        suite.suite.add_property(("end of the run", end.sentence.as_str()));
        if end.is_deadlock {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("deadlock");
            status.set_message(end.sentence.as_str());
            status.set_description(end.facts.join("\n"));
            suite.push(TestCase::new("the recorded run", status));
        }
    }
    // The other pairs, once for each two places and verdict.
    let mut others: BTreeMap<(String, &str), (&Pair, TestCaseStatus)> = BTreeMap::new();
    for row in findings.rows() {
        let (verdict, status) = match (&row.of.verdict, row.hidden) {
            (_, Some(Hidden::Suppressed(line))) => ("suppressed", skipped(&format!("suppressed by {line}"))),
            (_, Some(Hidden::Known | Hidden::Elsewhere)) => ("known", skipped("in the baseline")),
            (Verdict::Refuted(refutation), None) => {
                let mut status = TestCaseStatus::success();
                status.set_message(refutation_name(refutation));
                ("refuted", status)
            }
            (Verdict::NotInTrace(refutation), None) => {
                let why = findings.words().explanation(row.of).join("; ");
                let why = format!("not in this trace: {}: {why}", refutation_name(refutation));
                ("not-in-trace", skipped(&why))
            }
            (Verdict::Unknown(unknown), None) => {
                let why = findings.words().explanation(row.of).join("; ");
                ("unknown", skipped(&format!("{}: {why}", unknown_name(unknown))))
            }
            (Verdict::Witnessed(_), None) => continue,
        };
        others
            .entry((name(findings, row.of), verdict))
            .or_insert((row.of, status));
    }
    for (pair, status) in others.into_values() {
        suite.push(case(findings, pair, status));
    }
    for other in findings.shown_others() {
        let words = findings.words();
        let explanation = other.explanation(&words).join("; ");
        let status = match other.verdict() {
            Verdict::Witnessed(_) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type(other.name());
                status.set_message(other.headline(findings));
                let commands = other.numbers.iter().map(|&number| replay_command(findings, number));
                status.set_description(commands.collect::<Vec<_>>().join("\n"));
                status
            }
            Verdict::Refuted(refutation) => {
                let mut status = TestCaseStatus::success();
                status.set_message(refutation_name(refutation));
                status
            }
            Verdict::NotInTrace(refutation) => skipped(&format!(
                "not in this trace: {}: {explanation}",
                refutation_name(refutation)
            )),
            Verdict::Unknown(unknown) => skipped(&format!("{}: {explanation}", unknown_name(unknown))),
        };
        suite.push(TestCase::new(other.at_places(&words), status));
    }
    for warning in findings
        .attached_warnings
        .iter()
        .filter(|warning| warning.row.is_none())
    {
        let mut status = match warning.verdict {
            "refuted" => TestCaseStatus::success(),
            _ => TestCaseStatus::skipped(),
        };
        status.set_message(warning.explanation.join("; "));
        let mut case = TestCase::new(warning.sides.join(" and "), status);
        case.set_classname(warning.origin.as_str());
        suite.push(case);
    }
    Ok(suite.suite)
}

/// What an exploration has found besides races, and whether it covered every schedule.
fn exploration(all: &ExplorationResult, no_race: bool) -> TestSuite {
    let mut suite = TestSuite::new("every schedule");
    for found in &all.found {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(found.kind.as_str());
        status.set_message(found.title.as_str());
        let facts = found.details.iter().chain(&found.replay).map(String::as_str);
        status.set_description(facts.collect::<Vec<_>>().join("\n"));
        suite.add_test_case(TestCase::new(found.title.as_str(), status));
    }
    let statement = all.statement(no_race);
    let status = if all.exhausted {
        TestCaseStatus::success()
    } else {
        skipped(&all.not_exhausted.join("; "))
    };
    let mut case = TestCase::new("exhausted", status);
    case.set_system_out(statement);
    suite.add_test_case(case);
    suite
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn case(findings: &Findings<'_>, pair: &Pair, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name(findings, pair), status);
    let frame = findings.words().frame(pair.example.0);
    case.set_classname(printable(frame.file.as_deref().unwrap_or("unknown")).into_owned());
    case
}

/// The two places, in text order.
fn name(findings: &Findings<'_>, pair: &Pair) -> String {
    let mut places = [pair.example.0, pair.example.1].map(|event| findings.words().place(event));
    places.sort();
    places.join(" and ")
}
