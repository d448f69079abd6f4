//! Compares the JSON of `witness analyze` with an expectation.

use crate::expectation::{Expectation, Statement, Verdict};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The object that `witness analyze --json` prints, as far as it is relied on here.
#[derive(Debug, Deserialize)]
pub struct Results {
    pub schema: String,
    pub trace: TraceLine,
    pub pairs: Vec<Pair>,
    #[serde(default)]
    pub deadlocks: Vec<Deadlock>,
    pub summary: Summary,
}

#[derive(Debug, Deserialize)]
pub struct Deadlock {
    pub verdict: String,
    pub operations: Vec<Access>,
}

#[derive(Debug, Deserialize)]
pub struct TraceLine {
    pub events: u64,
    pub ending: String,
}

#[derive(Debug, Deserialize)]
pub struct Pair {
    pub verdict: String,
    pub reason: Option<String>,
    #[serde(default)]
    pub explanation: Vec<String>,
    pub a: Access,
    pub b: Access,
    pub schedule: Option<String>,
    pub suppressed: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Access {
    pub file: Option<String>,
    pub line: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Summary {
    pub witnessed: usize,
    pub refuted: usize,
    pub not_in_trace: usize,
    pub unknown: usize,
    #[serde(default)]
    pub suppressed: usize,
}

impl Results {
    /// Parses the output and checks that it agrees with itself and with the exit status.
    pub fn parse(json: &str, status: i32) -> Result<Results> {
        let results: Results = serde_json::from_str(json).with_context(|| format!("not the JSON expected:\n{json}"))?;
        ensure!(results.schema == "witness-results/2", "schema {:?}", results.schema);
        let shown = |p: &&Pair| p.suppressed.is_none();
        let count = |verdict: &str| {
            let shown = results.pairs.iter().filter(shown);
            shown.filter(|p| p.verdict == verdict).count()
        };
        let (witnessed, refuted, unknown) = (count("witnessed"), count("refuted"), count("unknown"));
        let not_in_trace = count("not-in-trace");
        let summary = &results.summary;
        ensure!(
            witnessed + refuted + not_in_trace + unknown + summary.suppressed == results.pairs.len(),
            "a verdict of another name:\n{json}"
        );
        ensure!(
            (
                summary.witnessed,
                summary.refuted,
                summary.not_in_trace,
                summary.unknown
            ) == (witnessed, refuted, not_in_trace, unknown),
            "the summary does not count the pairs:\n{json}"
        );
        let cycles = |verdict: &str| results.deadlocks.iter().filter(|d| d.verdict == verdict).count();
        let expected = match (witnessed + cycles("witnessed"), unknown + cycles("unknown")) {
            (1.., _) => 66,
            (0, 1..) => 3,
            (0, 0) if results.trace.ending == "cut" => 3,
            (0, 0) => 0,
        };
        ensure!(status == expected, "exit status {status}, expected {expected}");
        Ok(results)
    }

    /// The pairs that are witnessed.
    pub fn witnessed(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|p| p.verdict == "witnessed")
    }
}

impl Access {
    /// `file.c:12`, without folders.
    pub fn position(&self) -> String {
        let file = self
            .file
            .as_deref()
            .map(|f| Path::new(f).file_name().unwrap_or_default().to_string_lossy());
        format!("{}:{}", file.unwrap_or_default(), self.line.unwrap_or_default())
    }
}

impl Pair {
    /// Both positions, in text order.
    pub fn positions(&self) -> (String, String) {
        let (a, b) = (self.a.position(), self.b.position());
        if a <= b { (a, b) } else { (b, a) }
    }

    fn stands_at(&self, file: &str, lines: (u64, u64)) -> bool {
        let (a, b) = (format!("{file}:{}", lines.0), format!("{file}:{}", lines.1));
        let (own_a, own_b) = (self.a.position(), self.b.position());
        (own_a == a && own_b == b) || (own_a == b && own_b == a)
    }
}

/// Every way in which the results differ from the expectation; empty if none.
pub fn differences(expectation: &Expectation, results: &Results, fifo: bool) -> Vec<String> {
    let file = expectation.file_name();
    let mut differences = Vec::new();
    let places = |lines: &[u64]| -> BTreeSet<String> { lines.iter().map(|line| format!("{file}:{line}")).collect() };
    let expected: Vec<BTreeSet<String>> = expectation.deadlocks.iter().map(|lines| places(lines)).collect();
    let found = results
        .deadlocks
        .iter()
        .filter(|deadlock| deadlock.verdict == "witnessed");
    let found: Vec<BTreeSet<String>> = found
        .map(|deadlock| deadlock.operations.iter().map(Access::position).collect())
        .collect();
    for missing in expected.iter().filter(|places| !found.contains(places)) {
        differences.push(format!("no deadlock at {missing:?}"));
    }
    for more in found.iter().filter(|places| !expected.contains(places)) {
        differences.push(format!("a deadlock at {more:?} is witnessed, and not expected"));
    }
    for statement in expectation.statements.iter().filter(|s| fifo || !s.fifo_only) {
        let here: Vec<&Pair> = results
            .pairs
            .iter()
            .filter(|p| p.stands_at(&file, statement.lines))
            .collect();
        if let Err(difference) = holds(statement, &file, &here) {
            differences.push(format!("`{}`: {difference}", statement.text));
        }
    }
    for pair in &results.pairs {
        let stated = |wanted: &[Verdict]| {
            let mut statements = expectation.statements.iter().filter(|s| wanted.contains(&s.verdict));
            statements.any(|s| pair.stands_at(&file, s.lines))
        };
        let listed = stated(&[Verdict::Witnessed, Verdict::Possible]);
        let (a, b) = pair.positions();
        match pair.verdict.as_str() {
            "witnessed" if !listed && pair.suppressed.is_none() => {
                differences.push(format!("{a} {b} is witnessed, and should not be"))
            }
            "unknown" if !stated(&[Verdict::Unknown]) => {
                differences.push(format!("{a} {b} is left unknown: {:?}", pair.reason))
            }
            _ => {}
        }
    }
    differences
}

fn holds(statement: &Statement, file: &str, pairs: &[&Pair]) -> Result<()> {
    let verdicts: Vec<&str> = pairs.iter().map(|p| p.verdict.as_str()).collect();
    match statement.verdict {
        Verdict::Possible => {}
        Verdict::Absent => ensure!(pairs.is_empty(), "it is a candidate: {verdicts:?}"),
        Verdict::Witnessed | Verdict::Hidden => {
            let hidden = statement.verdict == Verdict::Hidden;
            let mut witnessed = pairs.iter().filter(|p| p.verdict == "witnessed");
            ensure!(
                witnessed.any(|p| p.suppressed.is_some() == hidden),
                "the verdicts are {verdicts:?}"
            );
        }
        Verdict::Refuted | Verdict::NotInTrace | Verdict::Excluded | Verdict::Unknown => {
            let wanted: &[&str] = match statement.verdict {
                Verdict::Refuted => &["refuted"],
                Verdict::NotInTrace => &["not-in-trace"],
                Verdict::Excluded => &["refuted", "not-in-trace"],
                _ => &["unknown"],
            };
            ensure!(!pairs.is_empty(), "it is not among the candidates");
            for pair in pairs {
                ensure!(wanted.contains(&pair.verdict.as_str()), "the verdicts are {verdicts:?}");
                let reason = pair.reason.as_deref();
                ensure!(
                    statement.because.is_none() || statement.because.as_deref() == reason,
                    "the reason is {reason:?}: {:#?}",
                    pair.explanation
                );
                for line in &statement.naming {
                    let position = format!("{file}:{line}");
                    ensure!(
                        pair.explanation.iter().any(|fact| names(fact, &position)),
                        "the explanation does not name {position}: {:#?}",
                        pair.explanation
                    );
                }
            }
        }
    }
    Ok(())
}

/// Whether the text has the position, and not one whose line number merely begins the same.
fn names(text: &str, position: &str) -> bool {
    text.match_indices(position)
        .any(|(at, _)| !text[at + position.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// The comparison must notice each kind of wrong verdict.
pub fn wrong_verdicts_are_noticed() -> Result<()> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let race = Expectation::read(&programs.join("hidden_race.expect"))?;
    let excluded = Expectation::read(&programs.join("figure3.expect"))?;
    let result = |pairs: &str, status| {
        let count = |verdict: &str| pairs.matches(&format!("\"{verdict}\"")).count();
        let (witnessed, refuted, unknown) = (count("witnessed"), count("refuted"), count("unknown"));
        let not_in_trace = count("not-in-trace");
        Results::parse(
            &format!(
                r#"{{"schema":"witness-results/2","trace":{{"id":"0","path":"t","events":9,"threads":3,"ending":"complete"}},
                "pairs":[{pairs}],
                "summary":{{"witnessed":{witnessed},"refuted":{refuted},"not_in_trace":{not_in_trace},"unknown":{unknown}}}}}"#
            ),
            status,
        )
    };
    let pair = |expectation: &Expectation, lines: (u64, u64), verdict: &str, reason: &str, explanation: &str| {
        let file = expectation.source.display();
        format!(
            r#"{{"verdict":"{verdict}","reason":"{reason}","explanation":["{explanation}"],"schedule":null,
            "a":{{"file":"{file}","line":{}}},"b":{{"file":"{file}","line":{}}}}}"#,
            lines.1, lines.0
        )
    };

    let lines = race.statements[0].lines;
    let found = result(&pair(&race, lines, "witnessed", "", ""), 66)?;
    ensure!(
        differences(&race, &found, true).is_empty(),
        "a right verdict was taken for a wrong one"
    );
    ensure!(
        !differences(&race, &result("", 0)?, true).is_empty(),
        "a missed race passed"
    );
    ensure!(
        result(&pair(&race, lines, "witnessed", "", ""), 0).is_err(),
        "a wrong exit status passed"
    );
    let both = format!(
        "{},{}",
        pair(&race, lines, "witnessed", "", ""),
        pair(&race, (1, 2), "witnessed", "", "")
    );
    ensure!(
        !differences(&race, &result(&both, 66)?, true).is_empty(),
        "a false race passed"
    );
    let both = format!(
        "{},{}",
        pair(&race, lines, "witnessed", "", ""),
        pair(&race, (1, 2), "unknown", "", "")
    );
    ensure!(
        !differences(&race, &result(&both, 66)?, true).is_empty(),
        "an unknown pair passed"
    );

    let statement = &excluded.statements[0];
    let named = format!("{}:{}", excluded.file_name(), statement.naming[0]);
    for (reason, explanation, right) in [
        ("core", format!("the read at {named} saw 10"), true),
        ("lockset", format!("the read at {named} saw 10"), false),
        ("core", format!("the read at {named}0 saw 10"), false),
    ] {
        let results = result(
            &pair(&excluded, statement.lines, "not-in-trace", reason, &explanation),
            0,
        )?;
        ensure!(
            differences(&excluded, &results, true).is_empty() == right,
            "{reason}, {explanation}: should be {right}"
        );
    }
    let refuted = pair(
        &excluded,
        statement.lines,
        "refuted",
        "core",
        &format!("the read at {named} saw 10"),
    );
    ensure!(
        !differences(&excluded, &result(&refuted, 0)?, true).is_empty(),
        "a refutation that rests on a value passed"
    );
    ensure!(
        !differences(&excluded, &result("", 0)?, true).is_empty(),
        "a candidate that is missing passed"
    );
    Ok(())
}
